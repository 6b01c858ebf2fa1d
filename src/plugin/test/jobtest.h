/* jobtest.h - a job from YAML with its plugin set, and the objects and pods it leads to, for tests that look closely */
#ifndef PLUGIN_TEST_JOBTEST_H
#define PLUGIN_TEST_JOBTEST_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/util.h"
#include "plugin/hosts.h"
#include "plugin/plugin.h"
#include "plugin/pod.h"
#include "yaml/yaml.h"

struct jobtest {
    struct arena a;
    struct json *root;
    struct job job;
    struct problems ps;
    struct plugin_world world; /* set what is needed before loading */
    struct plugin_set *set;
    struct plugin_objects objects;
};

#define autojobtest __attribute__((cleanup(jobtest_done))) struct jobtest

static inline void jobtest_done(struct jobtest *t)
{
    arena_done(&t->a);
}

/* Value of a container's plain variable (the last of that name); empty if missing or valueFrom. */
static inline struct str jobtest_env(const struct json *container, const char *name)
{
    struct str value = STR_NULL;

    JSON_FOREACH(v, json_get(container, "env"))
        if (str_is(json_member_text(v, "name"), name))
            value = json_member_text(v, "value");
    return value;
}

/* Parse, default, decode and make the set. Problems are left in t->ps. */
static inline void jobtest_load(struct jobtest *t, const char *yaml)
{
    struct yaml_docs docs = { 0 };
    struct err e = { 0 };

    if (yaml_parse(&t->a, str_of(yaml), NULL, &docs, &e) < 0)
        fail_msg("%s in:\n%s", e.text, yaml);
    assert_int_equal(docs.n, 1);
    t->root = docs.v[0];
    t->ps = (struct problems){ .arena = &t->a };
    t->objects = (struct plugin_objects){ .arena = &t->a };
    plugin_default(&t->a, t->root, MARK_DEFAULT);
    job_decode(&t->a, t->root, &t->job);
    t->set = plugin_set_new(&t->a, &t->job, &t->world, &t->ps);
}

/* A job "job" of namespace "ns" with uid "u1": 'plugins' and 'tasks' in flow style. */
static inline void jobtest_job(struct jobtest *t, const char *plugins, const char *tasks)
{
    struct str text = arena_fmt(&t->a,
                                "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\n"
                                "metadata: {name: job, namespace: ns, uid: u1}\n"
                                "spec:\n  plugins: %s\n  tasks: %s\n",
                                plugins, tasks);

    jobtest_load(t, text.p);
}

/* All problems as one text: "E path: text\n" or "W …". */
static inline const char *jobtest_problems(struct jobtest *t)
{
    autobuf b = { 0 };

    VEC_FOREACH(p, &t->ps.list)
        buf_fmt(&b, "%s %.*s: %.*s\n", p->level == PROBLEM_ERROR ? "E" : "W", STR_ARG(p->path), STR_ARG(p->text));
    return arena_str(&t->a, buf_view(&b)).p;
}

static inline void jobtest_must_be_good(struct jobtest *t)
{
    struct err e = { 0 };

    if (t->ps.n_errors)
        fail_msg("unexpected errors:\n%s", jobtest_problems(t));
    if (plugin_set_objects(t->set, &t->objects, &e) < 0)
        fail_msg("objects: %s", e.text);
}

/* The wanted object; NULL if there is none. Call jobtest_must_be_good() first. */
static inline struct json *jobtest_object(struct jobtest *t, const char *kind, const char *name)
{
    VEC_FOREACH(obj, &t->objects.list)
        if (str_is(object_kind(*obj), kind) && str_is(object_name(*obj), name))
            return *obj;
    return NULL;
}

/* A pod after the plugins ran; only name and spec, as the job controller's parts do not matter here. */
static inline struct json *jobtest_pod(struct jobtest *t, size_t task_pos, uint32_t index)
{
    const struct job_task *task = &t->job.spec.tasks.v[task_pos];
    struct pod_draft pod = { .task = task, .task_pos = task_pos, .index = index };
    struct json *spec = job_task_pod_spec(task);
    struct err e = { 0 };

    pod.name = job_pod_name(&t->a, &t->job, task, index);
    pod.root = object_new(&t->a, "v1", "Pod", t->job.meta.namespace, pod.name);
    pod.meta = json_get(pod.root, "metadata");
    pod.spec = json_set(pod.root, "spec", json_is(spec, JSON_OBJECT) ? json_copy(&t->a, spec) : json_object(&t->a));
    if (plugin_set_pod(t->set, &t->a, &pod, &e) < 0)
        fail_msg("pod: %s", e.text);
    return pod.root;
}

static inline const char *text_of(struct jobtest *t, const struct json *j)
{
    autobuf b = { 0 };

    if (j)
        json_print(&b, j);
    return arena_str(&t->a, buf_view(&b)).p;
}

/* The value at a path of the object, compact; "" if there is none. */
static inline const char *at_path(struct jobtest *t, struct json *j, const char *path)
{
    return text_of(t, j ? json_path(j, str_of(path), NULL) : NULL);
}

#define assert_at(t, j, path, want) assert_string_equal(at_path((t), (j), (path)), (want))

static inline void assert_contains(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("\"%s\" is not in:\n%s", part, text);
}

static inline void assert_lacks(const char *text, const char *part)
{
    if (strstr(text, part))
        fail_msg("\"%s\" is in:\n%s", part, text);
}

#endif
