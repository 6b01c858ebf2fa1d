/* run_page.c - tests of the page and the trace of a run: well-formed, complete, harmless */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/util.h"
#include "history/test/story.h"
#include "report/report.h"

static void check_has(const char *what, struct str text, const char *part)
{
    if (!str_has(text, str_of(part)))
        fail_msg("%s lacks \"%s\":\n%.*s", what, part, (int)MIN_OF(text.n, 3000u), text.p ? text.p : "");
}

static void check_lacks(const char *what, struct str text, const char *part)
{
    if (str_has(text, str_of(part)))
        fail_msg("%s has \"%s\"", what, part);
}

/* Every element that is opened is closed again, in order. */
static void check_nesting(struct str text)
{
    struct str open[64];
    size_t depth = 0;

    assert_true(str_is_utf8(text));
    for (size_t at = 0; at < text.n; at++) {
        struct str tag;

        if (text.p[at] != '<')
            continue;
        tag = str_sub(text, at + 1, (size_t)str_find_char(str_from(text, at), '>') - 1);
        if (str_starts(tag, STR("/"))) {
            if (depth == 0 || !str_eq(open[--depth], str_from(tag, 1)))
                fail_msg("</%.*s> closes nothing", STR_ARG(tag));
        } else if (!str_starts(tag, STR("meta")) && !str_starts(tag, STR("!DOCTYPE")) && !str_ends(tag, STR("/"))) {
            assert_true(depth < ARRAY_LEN(open));
            open[depth++] = str_has_char(tag, ' ') ? str_sub(tag, 0, (size_t)str_find_char(tag, ' ')) : tag;
        }
    }
    if (depth)
        fail_msg("<%.*s> is never closed", STR_ARG(open[depth - 1]));
}

/* The page's own, at its end, and no other. */
static void check_one_script(struct str page)
{
    const char *first = memmem(page.p, page.n, "<script", 7);
    autobuf rest = { 0 };

    assert_true(str_ends(page, STR("</script>\n</body></html>\n")));
    assert_non_null(first);
    assert_null(memmem(first + 1, (size_t)(page.p + page.n - first - 1), "<script", 7));
    buf_append(&rest, page.p, (size_t)(first - page.p));
    buf_str(&rest, STR("</body></html>\n"));
    check_nesting(buf_view(&rest));
}

static void check_documents(const struct history *h)
{
    autoarena a = { 0 };
    autobuf page = { 0 }, trace = { 0 };
    struct json *tree;
    struct err e;

    report_html(&page, h, STR("<t>"));
    check_one_script(buf_view(&page));
    check_lacks("the page", buf_view(&page), "src=");
    check_lacks("the page", buf_view(&page), "nan");
    report_trace(&trace, h);
    if (json_parse(&a, buf_view(&trace), NULL, &tree, &e) < 0)
        fail_msg("the trace: %s", e.text);
}

/* A run with all there is: restarts, init containers, evictions, use. */
static void test_documents(void **state)
{
    struct story s;

    (void)state;
    story_begin(&s);
    story_small(&s);
    check_documents(s.h);
    story_done(&s);
}

static void test_page(void **state)
{
    static const char *const parts[] = {
        "Completed in 4.20s",
        "data-pod=\"default/train-worker-1\"",
        "PodFailed: train-worker-1 exited with 3, retry 1 of 3",
        "policy spec.tasks[1].policies[1]",
        "&lt;script&gt;alert(",
        "image &quot;pytorch:2.1&quot;",
        "Readiness probe failed",
        "Insufficient cpu",
    };
    struct story s;
    autobuf page = { 0 };

    (void)state;
    story_begin(&s);
    story_small(&s);
    report_html(&page, s.h, STR("t"));
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        check_has("the page", buf_view(&page), parts[i]);
    story_done(&s);
}

static void test_empty_and_many(void **state)
{
    struct story s;
    autobuf page = { 0 };

    (void)state;
    story_begin(&s);
    check_documents(s.h);
    history_finish(s.h, STORY_BEGIN_MS);
    check_documents(s.h);
    story_done(&s);
    story_begin(&s);
    story_many(&s, 3000);
    check_documents(s.h);
    report_html(&page, s.h, STR("t"));
    check_has("the page", buf_view(&page), "and 500 more pods");
    check_has("the page", buf_view(&page), "<p class=\"d\">and 503 more</p>");
    assert_true(page.n < 4u << 20);
    story_done(&s);
}

/* Names that no cluster would allow must not break the documents. */
static void test_names_are_text(void **state)
{
    static const char bad[] = "'</text>\"<script>&\\u0001 \xc3\xa4'";
    struct story s;
    struct str text;

    (void)state;
    story_begin(&s);
    text = arena_fmt(
        &s.arena,
        "{apiVersion: v1, kind: Pod, metadata: {name: %s, namespace: %s, uid: %s, annotations:"
        " {volcano.sh/task-spec: %s}}, spec: {nodeName: %s}, status: {phase: Failed, reason: %s, message: %s,"
        " containerStatuses: [{name: %s, state: {terminated: {exitCode: 1, reason: %s, message: %s}}}]}}",
        bad, bad, bad, bad, bad, bad, bad, bad, bad, bad);
    story_tell(&s, 1, false, text);
    history_note(s.h, STR("</p><script>\x01\xff"), STORY_BEGIN_MS + 2);
    check_documents(s.h);
    story_done(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_documents),
        cmocka_unit_test(test_page),
        cmocka_unit_test(test_empty_and_many),
        cmocka_unit_test(test_names_are_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
