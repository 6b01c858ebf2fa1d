/* value.c - ages, Slurm's values, words, resources, paths */
#include "ctl/ctl.h"
#include "ctl/job_form.h"
#include "ctl/output.h"
#include "ctl/slurm.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/util.h"

static void ages(void **state)
{
    static const struct {
        int64_t s;
        const char *text;
    } rows[] = {
        { -5, "<invalid>" },  { -1, "0s" },        { 0, "0s" },      { 119, "119s" },      { 120, "2m" },
        { 121, "2m1s" },      { 599, "9m59s" },    { 600, "10m" },   { 10799, "179m" },    { 10800, "3h" },
        { 10860, "3h1m" },    { 28799, "7h59m" },  { 28800, "8h" },  { 172799, "47h" },    { 172800, "2d" },
        { 176400, "2d1h" },   { 691199, "7d23h" }, { 691200, "8d" }, { 63071999, "729d" }, { 63072000, "2y" },
        { 63158400, "2y1d" }, { 252288000, "8y" },
    };
    autoarena a = { 0 };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        autobuf text = { 0 };

        ctl_age_print(&text, rows[i].s * 1000);
        assert_string_equal(text.p, rows[i].text);
    }
    assert_true(str_is(ctl_age(&a, STR_NULL, 0), "<unknown>"));
    assert_true(str_is(ctl_age(&a, STR("nonsense"), 0), "<unknown>"));
    assert_true(str_is(ctl_age(&a, STR("1970-01-01T00:00:00Z"), 5000), "5s"));
}

static void times(void **state)
{
    static const struct {
        const char *text;
        int64_t s; /* -1: none */
    } rows[] = {
        { "90", 5400 },     { "90:30", 5430 },     { "1:30:00", 5400 },
        { "2-12", 216000 }, { "2-12:30", 217800 }, { "1-0:0:1", 86401 },
        { "UNLIMITED", 0 }, { "infinite", 0 },     { "0", 0 },
        { "", -1 },         { "x", -1 },           { "1:2:3:4", -1 },
        { "-5", -1 },       { "1-", -1 },          { "99999999999999999999", -1 },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int64_t s = -1;
        struct err e;
        int rc = slurm_time(str_of(rows[i].text), &s, &e);

        assert_int_equal(rc, rows[i].s < 0 ? -1 : 0);
        assert_int_equal(s, rows[i].s);
    }
}

static void sizes(void **state)
{
    int64_t n = 0;
    struct str kind;
    struct err e;

    assert_int_equal(slurm_memory(STR("4G"), &n, &e), 0);
    assert_int_equal(n, 4LL << 30);
    assert_int_equal(slurm_memory(STR("500"), &n, &e), 0);
    assert_int_equal(n, 500 << 20);
    assert_int_equal(slurm_memory(STR("2gb"), &n, &e), 0);
    assert_int_equal(n, 2LL << 30);
    assert_int_equal(slurm_memory(STR(""), &n, &e), -1);
    assert_int_equal(slurm_memory(STR("G"), &n, &e), -1);
    assert_int_equal(slurm_memory(STR("-1M"), &n, &e), -1);
    assert_int_equal(slurm_gres(STR("gpu:a100:2"), &n, &kind, &e), 0);
    assert_true(n == 2 && str_is(kind, "a100"));
    assert_int_equal(slurm_gres(STR("gpu:3"), &n, &kind, &e), 0);
    assert_true(n == 3 && !kind.n);
    assert_int_equal(slurm_gres(STR("gpu"), &n, &kind, &e), 0);
    assert_int_equal(n, 1);
    assert_int_equal(slurm_gres(STR("gpu:v100"), &n, &kind, &e), 0);
    assert_true(n == 1 && str_is(kind, "v100"));
    assert_int_equal(slurm_gres(STR("fpga:1"), &n, &kind, &e), -1);
    assert_int_equal(slurm_gres(STR("gpu:a:b"), &n, &kind, &e), -1);
    assert_int_equal(slurm_gres(STR("gpu:a:1:2"), &n, &kind, &e), -1);
}

static void lists(void **state)
{
    autoarena a = { 0 };
    struct slurm_array array;
    struct slurm_dependencies d = { 0 };
    struct err e;

    assert_int_equal(slurm_array(&a, STR("1-10:3,15%4"), &array, &e), 0);
    assert_true(array.index.n == 5 && array.index.v[3] == 10 && array.index.v[4] == 15 && array.at_a_time == 4);
    for (size_t i = 0; i < 7; i++)
        assert_int_equal(
            slurm_array(&a, str_of((const char *[]){ "", "x", "3-1", "1-5:0", "1%0", "1,", "0-99999" }[i]), &array, &e),
            -1);
    assert_int_equal(slurm_dependencies(&a, STR("afterok:12:13,afterany:a"), &d, &e), 0);
    assert_true(d.v.n == 3 && d.v.v[1].after == AFTER_OK && str_is(d.v.v[2].job, "a") && d.v.v[2].after == AFTER_ANY);
    assert_int_equal(slurm_dependencies(&a, STR("singleton"), &d, &e), -1);
    assert_int_equal(slurm_dependencies(&a, STR("afterok"), &d, &e), -1);
    assert_true(str_is(slurm_elapsed(&a, 7), "0:07"));
    assert_true(str_is(slurm_elapsed(&a, 93784), "1-02:03:04"));
    assert_string_equal(slurm_state(STR("Terminated")), "CA");
    assert_string_equal(slurm_state_long(STR("")), "PENDING");
}

static void directives(void **state)
{
    autoarena a = { 0 };
    struct err e;
    char **words = slurm_directives(
        &a,
        STR("#!/bin/sh\n#SBATCH -n 2 --wrap='a b' # rest\n#SBATCHx -c 1\n\n# no\n#SBATCH\t-J x\necho\n#SBATCH -p q\n"),
        &e);

    assert_string_equal(words[0], "-n");
    assert_string_equal(words[1], "2");
    assert_string_equal(words[2], "--wrap=a b");
    assert_string_equal(words[3], "-J");
    assert_string_equal(words[4], "x");
    assert_null(words[5]);
    assert_null(slurm_directives(&a, STR("#!/bin/sh\n#SBATCH -J 'open\n"), &e));
}

static void lsf(void **state)
{
    static const struct {
        const char *line, *options; /* NULL: it cannot be carried */
    } rows[] = {
        { "-J train -q night -n 4,8 -W 1:30 -K",
          "--job-name=train --partition=night --ntasks=4 --time=1:30:00 --wait" },
        { "-J 'a[1-9:2]%3' -W 90/host", "--job-name=a --array=1-9:2%3 --time=90" },
        { "-J [1-4] -rn", "--array=1-4 --no-requeue" },
        { "-M 4G -gpu num=2:mode=shared", "--mem-per-cpu=4G --gpus-per-node=2" },
        { "-R 'span[ptile=2] rusage[mem=512, x=1]'", "--mem-per-cpu=512 --ntasks-per-node=2" },
        { "-R span[hosts=1] -cwd /w -env A=b", "--chdir=/w --export=A=b" },
        { "-o out.%J.%I -e err.%J", "--output=out.%j.%a --error=err.%j" },
        { "-w 'done(a) && ended(12) && exit(\"b\") && started(c)'",
          "--dependency=afterok:a,afterany:12,afternotok:b,after:c" },
        { "-w a", "--dependency=afterok:a" },
        { "-P x -u me -N", "--account=x --mail-user=me --mail-type=END" },
        { "-w 'done(a) || done(b)'", NULL },
        { "-w 'numdone(a,*)'", NULL },
        { "-R 'select[type==x]'", NULL },
        { "-gpu mode=shared", NULL },
        { "-J 'a]['", NULL },
        { "-n", NULL },
        { "-app x", NULL },
        { "train.sh", NULL },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        autoarena a = { 0 };
        autobuf text = { 0 };
        struct err e = { 0 };
        char **got = slurm_directives(&a, arena_fmt(&a, "#!/bin/sh\n#BSUB %s\necho\n#BSUB -q late\n", rows[i].line),
                                      &e);

        if (!rows[i].options) {
            assert_null(got);
            assert_int_equal(e.code, ERR_SYNTAX);
            continue;
        }
        assert_non_null(got);
        for (; *got; got++)
            buf_fmt(&text, "%s%s", text.n ? " " : "", *got);
        assert_string_equal(text.p, rows[i].options);
    }
}

static void words(void **state)
{
    static const char *const bad[] = { "'a", "\"a", "a\\" };
    autoarena a = { 0 };
    struct json *list;
    autobuf text = { 0 };
    struct err e;

    assert_int_equal(job_words(&a, STR(" sh -c \"echo 'hi' \\\"x\\\"\" 'a b'c '' # rest"), &list, &e), 0);
    json_print(&text, list);
    assert_string_equal(text.p, "[\"sh\",\"-c\",\"echo 'hi' \\\"x\\\"\",\"a bc\",\"\"]");
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_int_equal(job_words(&a, str_of(bad[i]), &list, &e), -1);
}

static void amounts(void **state)
{
    static const char *const bad[] = { "cpu", "cpu=", "cpu=1=2", "cpu=x", "cpu=1,", "=" };
    autoarena a = { 0 };
    struct json *list;
    autobuf text = { 0 };
    struct err e;

    assert_int_equal(job_amounts(&a, STR("cpu=1000m,memory=1024Mi"), &list, &e), 0);
    json_print(&text, list);
    assert_string_equal(text.p, "{\"cpu\":\"1\",\"memory\":\"1Gi\"}");
    assert_int_equal(job_amounts(&a, STR_NULL, &list, &e), 0);
    assert_null(list);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_int_equal(job_amounts(&a, str_of(bad[i]), &list, &e), -1);
}

static void paths(void **state)
{
    static const struct {
        const char *path, *found; /* NULL: no path */
    } rows[] = {
        { ".a.b", "1" },      { "a.b", "1" },          { "{.a.b}", "1" },         { ".c[0].n", "x" },
        { ".c[*].n", "x,y" }, { ".c[9].n", "<none>" }, { ".no.where", "<none>" }, { ".d['e.f']", "z" },
        { ".d.e\\.f", "z" },  { ".c[", NULL },         { ".c]", NULL },           { ".c[?(@.n)]", NULL },
        { "", NULL },         { ".a", "{\"b\":1}" },
    };
    autoarena a = { 0 };
    struct json *o;
    struct err e;

    assert_int_equal(json_parse(&a, STR("{\"a\":{\"b\":1},\"c\":[{\"n\":\"x\"},{\"n\":\"y\"}],\"d\":{\"e.f\":\"z\"}}"),
                                NULL, &o, &e),
                     0);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct str found = STR_NULL;
        int rc = output_path(&a, o, str_of(rows[i].path), &found, &e);

        assert_int_equal(rc, rows[i].found ? 0 : -1);
        if (rows[i].found)
            assert_true(str_is(found, rows[i].found));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ages),  cmocka_unit_test(times),   cmocka_unit_test(sizes),
        cmocka_unit_test(lists), cmocka_unit_test(words),   cmocka_unit_test(directives),
        cmocka_unit_test(lsf),   cmocka_unit_test(amounts), cmocka_unit_test(paths),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
