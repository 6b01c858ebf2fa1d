/* vc.c - tests of the command lines of Volcano's own tools: commands, flags and what is wrong with them */
#include "ctl/vc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/util.h"

enum { WORDS = 12 };

static const struct vc_command *tool_by_name(const char *name)
{
    for (const struct vc_command *const *t = vc_tools; *t; t++)
        if (strcmp((*t)->name, name) == 0)
            return *t;
    fail_msg("there is no tool %s", name);
    return NULL;
}

static int read_line(struct arena *a, const char *text, struct vc_line *ret, struct buf *wrong)
{
    char *words[WORDS] = { NULL };
    struct str rest = str_of(text), word;
    size_t n = 0;
    const struct vc_command *tool;

    (void)str_split(&rest, ' ', &word);
    tool = tool_by_name(arena_cstr(a, word));
    while (rest.n && str_split(&rest, ' ', &word)) {
        assert_true(n + 1 < WORDS);
        words[n++] = (char *)arena_cstr(a, word);
    }
    return vc_parse(a, tool, words, ret, wrong);
}

static void commands(void **state)
{
    static const struct {
        const char *line, *command; /* the last of its path */
        size_t depth;
    } rows[] = {
        { "vcctl", "vcctl", 1 },
        { "vcctl job", "job", 2 },
        { "vcctl job list", "list", 3 },
        { "vcctl -n a job list", "list", 3 },
        { "vcctl job -n list view", "view", 3 }, /* a value is no command */
        { "vcctl job list -n view", "list", 3 },
        { "vcctl queue create", "create", 3 },
        { "vjobs -n a", "vjobs", 1 },
        { "vcctl help job", "vcctl", 1 },
    };
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        autoarena a = { 0 };
        autobuf wrong = { 0 };
        struct vc_line line;

        (void)read_line(&a, rows[i].line, &line, &wrong);
        if (line.depth != rows[i].depth || strcmp(line.path[line.depth - 1]->name, rows[i].command) != 0)
            fail_msg("%s: %s", rows[i].line, line.path[line.depth - 1]->name);
    }
}

static void flags(void **state)
{
    static const char *const lines[] = { "vcctl job list -n a -q b",      "vcctl job list --namespace a --queue=b",
                                         "vcctl job list -na -q=b",       "vcctl job -n a list -q b",
                                         "vcctl job list --queue b -n=a", "vcctl job list -n x -n a -q b" };
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        autoarena a = { 0 };
        autobuf wrong = { 0 };
        struct vc_line line;

        if (read_line(&a, lines[i], &line, &wrong) < 0)
            fail_msg("%s: %.*s", lines[i], STR_ARG(buf_view(&wrong)));
        assert_string_equal(line.values.namespace, "a");
        assert_string_equal(line.values.queue, "b");
    }
}

static void fallbacks(void **state)
{
    autoarena a = { 0 };
    autobuf wrong = { 0 };
    struct vc_line line;
    (void)state;

    assert_int_equal(read_line(&a, "vcctl queue create", &line, &wrong), 0);
    assert_string_equal(line.values.name, "test");
    assert_string_equal(line.values.state, "Open");
    assert_string_equal(line.values.kubeconfig, "");
    assert_int_equal(line.values.weight, 1);
    assert_int_equal(read_line(&a, "vcctl queue create --weight 0x10 -S Closed", &line, &wrong), 0);
    assert_string_equal(line.values.state, "Closed");
    assert_int_equal(line.values.weight, 16);
}

static void mistakes(void **state)
{
    static const struct {
        const char *line, *wrong; /* a part of it */
    } rows[] = {
        { "vcctl jub", "unknown command \"jub\" for \"vcctl\"\n\nDid you mean this?\n\tjob\n" },
        { "vcctl everything", "unknown command \"everything\" for \"vcctl\"" },
        { "vcctl job list --colour", "unknown flag: --colour" },
        { "vcctl job list -z", "unknown shorthand flag: 'z' in -z" },
        { "vcctl job list -n", "flag needs an argument: 'n' in -n" },
        { "vcctl job list --queue", "flag needs an argument: --queue" },
        { "vcctl queue create -w many",
          "invalid argument \"many\" for \"-w, --weight\" flag: strconv.ParseInt: parsing \"many\": invalid syntax" },
        { "vcctl queue create -w 2147483648", "invalid argument \"2147483648\" for \"-w, --weight\" flag: "
                                              "strconv.ParseInt: parsing \"2147483648\": value out "
                                              "of range" },
    };
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        autoarena a = { 0 };
        autobuf wrong = { 0 };
        struct vc_line line;

        assert_int_equal(read_line(&a, rows[i].line, &line, &wrong), -1);
        if (!str_has(buf_view(&wrong), str_of(rows[i].wrong)))
            fail_msg("%s: %.*s", rows[i].line, STR_ARG(buf_view(&wrong)));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commands),
        cmocka_unit_test(flags),
        cmocka_unit_test(fallbacks),
        cmocka_unit_test(mistakes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
