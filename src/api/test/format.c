/* format.c - formats of scalar fields */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "api/fields.h"

static struct arena arena;

static int forget(void **state)
{
    (void)state;
    arena_done(&arena);
    return 0;
}

typedef const char *(*format_f)(struct arena *a, const struct json *value);

static const struct {
    format_f format;
    const char *name;
    const char *good[12], *bad[12]; /* JSON */
} cases[] = {
    { format_quantity,
      "quantity",
      { "1", "0.5", "1e3", "\"500m\"", "\"1Gi\"", "\"-1\"" },
      { "\"\"", "\"1 Gi\"", "\"lots\"", "true", "[]", "{}" } },
    { format_duration, "duration", { "\"90s\"", "\"1h30m\"", "\"0\"", "\"1.5h\"" }, { "\"\"", "\"90\"", "\"1d\"" } },
    { format_time,
      "time",
      { "\"2026-01-31T12:00:00Z\"", "\"2026-01-31T12:00:00.123456Z\"", "\"2026-01-31T12:00:00+02:00\"",
        "\"2026-01-31t12:00:00z\"", "\"2026-06-30T23:59:60Z\"" },
      { "\"\"", "\"2026-01-31\"", "\"2026-13-31T12:00:00Z\"", "\"2026-01-31T24:00:00Z\"", "\"2026-01-31T12:00:00\"",
        "\"2026-01-31T12:00:00.Z\"", "\"2026-01-31T12:00:00Zx\"", "\"2026-01-31T12:00:00+2:00\"", "\"20\"", "\"x\"",
        "\"2026-01-31T12:00:00\\u0000\"" } },
    { format_base64,
      "base64",
      { "\"\"", "\"YQ==\"", "\"YWJj\"", "\"YW\\nJj\\n\"" },
      { "\"a\"", "\"YQ\"", "\"Y!==\"" } },
    { format_cidr,
      "cidr",
      { "\"10.9.8.0/24\"", "\"0.0.0.0/0\"", "\"2001:db8::/64\"" },
      { "\"10.9.8.0\"", "\"10.9.8.0/33\"", "\"x/8\"", "\"::/129\"", "\"10.9.8.0/24/1\"" } },
    { format_label, "label", { "\"\"", "\"a-b\"", "\"0\"" }, { "\"A\"", "\"a.b\"", "\"-\"" } },
    { format_subdomain, "subdomain", { "\"\"", "\"a.b\"" }, { "\"a..b\"", "\"A\"" } },
    { format_qualified, "qualified", { "\"\"", "\"a.b/C_d\"" }, { "\"a/b/c\"", "\"/a\"", "\"a b\"" } },
    { format_label_value, "label value", { "\"\"", "\"A_b.c\"" }, { "\"-\"", "\"a b\"" } },
    { format_env, "env", { "\"\"", "\"PATH_1\"" }, { "\"A=B\"" } },
    { format_config_key, "config key", { "\"\"", "\"a.b-c_D\"" }, { "\"a/b\"", "\"..\"" } },
    { format_port, "port", { "\"\"", "\"http-alt\"" }, { "\"80\"", "\"HTTP\"" } },
    { format_port_ref, "port ref", { "1", "65535", "\"http\"" }, { "0", "65536", "-1", "1.5", "\"\"", "\"a_b\"" } },
    { format_mount_path, "mount path", { "\"/a\"", "\"a\"" }, { "\"/a:b\"" } },
    { format_percent, "percent", { "0", "7", "\"25%\"" }, { "-1", "\"7\"", "\"%\"", "\"x%\"", "\"\"" } },
    { format_arguments, "arguments", { "[]", "[\"a\",\"b\"]", "[1]" }, { "\"a\"", "{}", "7" } },
};

static void try_one(size_t i, const char *text, bool is_good)
{
    struct json *j = NULL;
    const char *wrong;
    struct err e;

    if (json_parse(&arena, str_of(text), NULL, &j, &e) < 0)
        fail_msg("%s: %s", text, e.text);
    wrong = cases[i].format(&arena, j);
    if (is_good != !wrong)
        fail_msg("%s %s: %s", cases[i].name, text, wrong ? wrong : "taken");
}

static void formats(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        for (size_t k = 0; k < ARRAY_LEN(cases[i].good) && cases[i].good[k]; k++)
            try_one(i, cases[i].good[k], true);
        for (size_t k = 0; k < ARRAY_LEN(cases[i].bad) && cases[i].bad[k]; k++)
            try_one(i, cases[i].bad[k], false);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(formats) };

    cmocka_set_message_output(CM_OUTPUT_STDOUT);
    return cmocka_run_group_tests(tests, NULL, forget);
}
