/* plan_page.c - tests of picture and page: well-formed, complete, harmless */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/util.h"
#include "report/plan_page.h"
#include "history/test/timeline_story.h"

static void story_three(struct story *s)
{
    story_begin(s);
    story_node(s, "n1", 8);
    story_queue(s, "ml");
    story_queue(s, "idle");
    story_life(s, "first", "ml", 0, 600);
    story_life(s, "second", "batch", 600, 1200);
    story_job(s, 0, "bad", "ml", 1, "Failed");
    history_finish(s->h, s->h->begin_ms + 1200000);
}

/* Every element that is opened is closed again, in order. Void elements of HTML have no end. */
static void check_nesting(struct str text)
{
    static const char *const voids[] = { "meta", "!DOCTYPE" };
    struct str open[64];
    size_t depth = 0;

    for (size_t at = 0; at < text.n; at++) {
        struct str tag;
        size_t end;
        bool is_void = false;

        if (text.p[at] != '<')
            continue;
        end = (size_t)str_find_char(str_from(text, at), '>');
        tag = str_sub(text, at + 1, end - 1);
        if (str_starts(tag, STR("/"))) {
            if (depth == 0 || !str_eq(open[--depth], str_from(tag, 1)))
                fail_msg("</%.*s> closes nothing", STR_ARG(tag));
            continue;
        }
        for (size_t i = 0; i < ARRAY_LEN(voids); i++)
            is_void |= str_starts(tag, str_of(voids[i]));
        if (is_void || str_ends(tag, STR("/")))
            continue;
        assert_true(depth < ARRAY_LEN(open));
        open[depth++] = str_has_char(tag, ' ') ? str_sub(tag, 0, (size_t)str_find_char(tag, ' ')) : tag;
    }
    if (depth)
        fail_msg("<%.*s> is never closed", STR_ARG(open[depth - 1]));
}

static void check_document(struct str text)
{
    static const char *const outside[] = { "<script", "<link", "@import", "url(", "src=", "href=" };

    check_nesting(text);
    assert_true(str_is_utf8(text));
    for (size_t i = 0; i < ARRAY_LEN(outside); i++)
        if (str_has(text, str_of(outside[i])))
            fail_msg("it loads something: %s", outside[i]);
}

static void test_documents(void **state)
{
    struct story s;
    autobuf svg = { 0 }, html = { 0 };
    struct page_options opt = { .title = STR("Three jobs") };

    (void)state;
    story_three(&s);
    page_svg(&svg, s.h, &opt);
    page_html(&html, s.h, &opt);
    check_document(buf_view(&svg));
    check_document(buf_view(&html));
    assert_true(str_starts(buf_view(&svg), STR("<svg xmlns=\"http://www.w3.org/2000/svg\"")));
    assert_true(str_starts(buf_view(&html), STR("<!DOCTYPE html>")));
    assert_true(str_has(buf_view(&html), STR("0/1 nodes are unavailable")));
    assert_true(str_has(buf_view(&html), STR("+20m")));
    story_done(&s);
}

static void test_names_are_text(void **state)
{
    struct story s;
    autobuf html = { 0 }, svg = { 0 };
    struct page_options opt = { .title = STR("<b>\"&'\x01\xff") };

    (void)state;
    story_begin(&s);
    story_job(&s, 0, "</text><script>alert(1)</script>", "q", 1, "");
    history_finish(s.h, s.h->begin_ms + 1000);
    page_html(&html, s.h, &opt);
    page_svg(&svg, s.h, &opt);
    check_document(buf_view(&html));
    check_document(buf_view(&svg));
    assert_true(str_has(buf_view(&html), STR("&lt;script&gt;")));
    assert_true(str_has(buf_view(&html), STR("&lt;b&gt;&quot;&amp;&#39;\xef\xbf\xbd\xef\xbf\xbd")));
    story_done(&s);
}

static void test_change_is_shown(void **state)
{
    struct story before, after;
    autobuf html = { 0 };
    struct page_options opt = { .title = STR("x"), .change = STR("2 more nodes") };

    (void)state;
    story_three(&before);
    story_begin(&after);
    story_life(&after, "first", "ml", 0, 600);
    story_life(&after, "second", "batch", 0, 600);
    history_finish(after.h, after.h->begin_ms + 600000);
    opt.before = before.h;
    page_html(&html, after.h, &opt);
    check_document(buf_view(&html));
    assert_true(str_has(buf_view(&html), STR("2 more nodes")));
    assert_true(str_has(buf_view(&html), STR("+20m → </span>+10m")));
    assert_true(str_has(buf_view(&html), STR("The last job ends at +10m, 10m sooner.")));
    assert_true(str_has(buf_view(&html), STR("<th>Change</th>")));
    assert_true(str_has(buf_view(&html), STR("<td class=\"change\">10m sooner</td>")));
    story_done(&before);
    story_done(&after);
}

static void test_empty(void **state)
{
    struct story s;
    autobuf html = { 0 };

    (void)state;
    story_begin(&s);
    history_finish(s.h, s.h->begin_ms);
    page_html(&html, s.h, &(struct page_options){ .title = STR("nothing") });
    check_document(buf_view(&html));
    story_done(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_documents),
        cmocka_unit_test(test_names_are_text),
        cmocka_unit_test(test_change_is_shown),
        cmocka_unit_test(test_empty),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
