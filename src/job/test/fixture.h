/* fixture.h - a job from YAML text, admitted, for the tests of this folder */
#ifndef JOB_TEST_FIXTURE_H
#define JOB_TEST_FIXTURE_H

#include "job/admit.h"
#include "yaml/yaml.h"

struct fixture {
    struct arena arena;
    struct json *root;
    struct job job;
    struct plugin_set *set;
    struct problems problems;
};

static inline void fixture_init(struct fixture *f, const char *text)
{
    struct admit_env env = { .mark = MARK_DEFAULT };
    static const struct plugin_world world = { 0 };
    struct yaml_docs docs = { 0 };
    struct err e = { 0 };

    *f = (struct fixture){ 0 };
    f->problems.arena = &f->arena;
    if (yaml_parse(&f->arena, str_of(text), NULL, &docs, &e) < 0 || docs.n != 1)
        fail_msg("the test's own YAML: %s", e.text);
    f->root = docs.v[0];
    json_set(json_get(f->root, "metadata"), "uid", json_str(&f->arena, STR("u-1")));
    f->set = job_admit(&f->arena, f->root, &(struct job_admit_env){ .env = &env, .world = &world }, &f->job,
                       &f->problems);
    if (f->problems.n_errors)
        fail_msg("the test's own job: %.*s", STR_ARG(problems_join(&f->arena, &f->problems)));
}

static inline void fixture_done(struct fixture *f)
{
    arena_done(&f->arena);
}

#define assert_text(j, want) assert_str(json_text((j), STR("(not a text)")), (want))
#define assert_str(s, want)                                                                                            \
    do {                                                                                                               \
        struct str s_ = (s);                                                                                           \
        if (!str_is(s_, (want)))                                                                                       \
            fail_msg("want \"%s\", got \"%.*s\"", (want), STR_ARG(s_));                                                \
    } while (0)

/* Compare a tree with compact JSON text. */
#define assert_json(j, want)                                                                                           \
    do {                                                                                                               \
        struct buf b_ = { 0 };                                                                                         \
        json_print(&b_, (j));                                                                                          \
        if (!str_is(buf_view(&b_), (want)))                                                                            \
            fail_msg("want %s\n got %s", (want), b_.p);                                                                \
        buf_done(&b_);                                                                                                 \
    } while (0)

#endif
