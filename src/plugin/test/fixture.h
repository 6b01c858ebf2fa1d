/* fixture.h - tests of plugins as tables: a job in YAML, a place in what the plugins make of it, the text expected
 * there
 *
 * The job is called "j" in namespace "ns" with uid "u-1". A place is one of
 *
 *     worker/1                 pod 1 of task worker, and 'path' a path in it: spec.containers[0].command (compact JSON)
 *     worker/1 env:0           the plain variables of container 0, "A=1 B=2"; init:0 for init containers
 *     object:Service/j         an object, and a path in it
 *     file:hostfile            the text of a file below /etc/volcano
 *     error, warning           the problems, joined by "; "
 *
 * 'want' is the whole text; NULL: nothing is there; with '~' in front: a part of the text.
 */
#ifndef PLUGIN_TEST_FIXTURE_H
#define PLUGIN_TEST_FIXTURE_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/util.h"
#include "plugin/plugin.h"
#include "yaml/yaml.h"

#define POD_OF(spec)     "template: {spec: {" spec "}}"
#define TASK(name, n)    "- {name: " name ", replicas: " n ", " POD_OF("containers: [{name: main, image: i}]") "}\n"
#define QUIET_SVC        "svc: [--inject-hosts-env=false]"
#define FIXTURE_UNUSED   __attribute__((unused))
#define RUN_CASES(cases) fixture_run((cases), ARRAY_LEN(cases))

struct plugin_case {
    const char *name, *plugins, *tasks, *place, *path, *want;
};

struct fixture {
    struct arena arena;
    struct json *raw;
    struct job job;
    struct problems ps;
    struct plugin_world world;
    struct plugin_set *set;
};

static int fixture_keys(void *ctx, struct arena *a, const char *type, struct ssh_keys *ret, struct err *e)
{
    *ret = (struct ssh_keys){ STR("private\n"), STR("ssh-rsa AAAA\n") };
    return 0;
}

static void fixture_open(struct fixture *f, const char *plugins, const char *tasks)
{
    struct yaml_docs docs = { 0 };
    struct err e = { 0 };
    struct str text;

    *f = (struct fixture){ .world = { .make_keys = fixture_keys } };
    text = arena_fmt(&f->arena,
                     "{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, metadata: {name: j, namespace: ns, uid: u-1},"
                     " spec: {plugins: {%s}, tasks: []}}\n",
                     plugins);
    if (yaml_parse(&f->arena, text, NULL, &docs, &e) < 0)
        fail_msg("plugins %s: %s", plugins, e.text);
    f->raw = docs.v[0];
    docs = (struct yaml_docs){ 0 };
    if (yaml_parse(&f->arena, str_of(tasks), NULL, &docs, &e) < 0)
        fail_msg("tasks %s: %s", tasks, e.text);
    if (docs.n)
        json_set(json_get(f->raw, "spec"), "tasks", docs.v[0]);
    plugin_default(&f->arena, f->raw, MARK_DEFAULT);
    job_decode(&f->arena, f->raw, &f->job);
    f->ps.arena = &f->arena;
    f->set = plugin_set_new(&f->arena, &f->job, &f->world, &f->ps);
}

static void fixture_done(struct fixture *f)
{
    arena_done(&f->arena);
}

/* A pod as the job controller hands it over: template, name, labels. */
static struct pod_draft fixture_draft(struct fixture *f, const struct job_task *task, size_t pos, uint32_t index)
{
    struct arena *a = &f->arena;
    struct pod_draft pod = { .task = task, .task_pos = pos, .index = index };
    struct json *spec = json_get(task->template, "spec"), *meta = json_get(task->template, "metadata");

    pod.name = job_pod_name(a, &f->job, task, index);
    pod.root = json_object(a);
    pod.meta = json_set(pod.root, "metadata", json_is(meta, JSON_OBJECT) ? json_copy(a, meta) : json_object(a));
    pod.spec = json_set(pod.root, "spec", json_is(spec, JSON_OBJECT) ? json_copy(a, spec) : json_object(a));
    json_set(pod.meta, "name", json_str(a, pod.name));
    object_set_label(a, pod.root, "volcano.sh/task-index", arena_fmt(a, "%u", index));
    object_set_annotation(a, pod.root, "volcano.sh/task-spec", task->name);
    return pod;
}

static struct pod_draft fixture_pod(struct fixture *f, struct str task_name, uint32_t index)
{
    size_t pos = 0;
    const struct job_task *task = job_task_by_name(&f->job, task_name, &pos);
    struct pod_draft pod, again;
    autobuf first = { 0 }, second = { 0 };
    struct err e = { 0 };

    if (!task)
        fail_msg("there is no task %.*s", STR_ARG(task_name));
    pod = fixture_draft(f, task, pos, index);
    if (plugin_set_pod(f->set, &f->arena, &pod, &e) < 0)
        fail_msg("pod %.*s: %s", STR_ARG(pod.name), e.text);
    again = fixture_draft(f, task, pos, index); /* pure: the same draft gives the same pod */
    (void)plugin_set_pod(f->set, &f->arena, &again, NULL);
    json_print(&first, pod.root);
    json_print(&second, again.root);
    assert_string_equal(first.p, second.p);
    return pod;
}

static struct json *fixture_object(struct fixture *f, struct str kind, struct str name)
{
    struct plugin_objects out = { .arena = &f->arena };
    struct err e = { 0 };

    if (plugin_set_objects(f->set, &out, &e) < 0)
        fail_msg("objects: %s", e.text);
    VEC_FOREACH(obj, &out.list)
        if (str_eq(object_kind(*obj), kind) && str_eq(object_name(*obj), name))
            return *obj;
    return NULL;
}

static bool fixture_file(struct fixture *f, struct str name, struct plugin_file *ret)
{
    struct plugin_files out = { 0 };
    struct err e = { 0 };

    if (plugin_set_files(f->set, &f->arena, &out, &e) < 0)
        fail_msg("files: %s", e.text);
    VEC_FOREACH(file, &out.list)
        if (str_eq(file->name, name)) {
            *ret = *file;
            return true;
        }
    return false;
}

/* ---- places as text ---- */

static struct str fixture_env_text(struct fixture *f, const struct pod_draft *pod, const char *list, struct str index)
{
    autobuf out = { 0 };
    int64_t i = 0;

    (void)str_to_i64(index, &i);
    JSON_FOREACH(env, json_get(json_at(json_get(pod->spec, list), (size_t)i), "env"))
        buf_fmt(&out, "%s%.*s=%.*s", out.n ? " " : "", STR_ARG(json_member_text(env, "name")),
                STR_ARG(json_member_text(env, "value")));
    return arena_str(&f->arena, buf_view(&out));
}

static struct str fixture_problems(struct fixture *f, enum problem_level level)
{
    autobuf out = { 0 };

    VEC_FOREACH(p, &f->ps.list)
        if (p->level == level)
            buf_fmt(&out, "%s%.*s", out.n ? "; " : "", STR_ARG(p->text));
    return out.n ? arena_str(&f->arena, buf_view(&out)) : STR_NULL;
}

/* Text as it is, everything else as compact JSON; NULL if there is nothing. */
static struct str fixture_at(struct fixture *f, struct json *root, const char *path)
{
    struct json *j = root && path && *path ? json_path(root, str_of(path), NULL) : root;
    autobuf out = { 0 };

    if (!j)
        return STR_NULL;
    if (j->type == JSON_STRING)
        return arena_str(&f->arena, json_text(j, STR_NULL));
    json_print(&out, j);
    return arena_str(&f->arena, buf_view(&out));
}

static struct str fixture_get(struct fixture *f, const char *place, const char *path)
{
    struct str left = str_of(place), right = STR_NULL, rest = left;
    struct plugin_file file;
    struct pod_draft pod;
    int64_t index = 0;

    if (str_eq(left, STR("error")) || str_eq(left, STR("warning")))
        return fixture_problems(f, str_eq(left, STR("error")) ? PROBLEM_ERROR : PROBLEM_WARNING);
    if (f->ps.n_errors)
        fail_msg("%s: %.*s", place, STR_ARG(fixture_problems(f, PROBLEM_ERROR)));
    if (str_starts(left, STR("file:")))
        return fixture_file(f, str_from(left, 5), &file) ? arena_str(&f->arena, file.text) : STR_NULL;
    (void)str_split(&rest, '/', &left);
    if (str_starts(left, STR("object:")))
        return fixture_at(f, fixture_object(f, str_from(left, 7), rest), path);
    right = rest;
    (void)str_split(&rest, ' ', &right);
    (void)str_to_i64(right, &index);
    pod = fixture_pod(f, left, (uint32_t)index);
    if (str_starts(rest, STR("env:")))
        return fixture_env_text(f, &pod, "containers", str_from(rest, 4));
    if (str_starts(rest, STR("init:")))
        return fixture_env_text(f, &pod, "initContainers", str_from(rest, 5));
    return fixture_at(f, pod.root, path);
}

FIXTURE_UNUSED static void fixture_run(const struct plugin_case *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct plugin_case *c = &cases[i];
        struct fixture f;
        struct str got;
        bool ok;

        fixture_open(&f, c->plugins, c->tasks);
        got = fixture_get(&f, c->place, c->path);
        if (!c->want)
            ok = !got.p;
        else if (c->want[0] == '~')
            ok = str_has(got, str_of(c->want + 1));
        else
            ok = got.p && str_is(got, c->want);
        if (!ok)
            fail_msg("%s\n  want %s\n  got  %.*s", c->name, c->want ? c->want : "(nothing)", STR_ARG(got));
        fixture_done(&f);
    }
}

/* Jobs no plugin may stumble over: they are refused or run, but nothing breaks. */
FIXTURE_UNUSED static void fixture_survives(const char *plugins)
{
    static const char *const odd[] = {
        "",
        "[]",
        TASK("other", "2"),
        TASK("master", "0") TASK("worker", "0") TASK("head", "0") TASK("ps", "0"),
        TASK("master", "1") TASK("head", "1"),
        TASK("worker", "3"),
        "- {name: master, replicas: 1}\n- {name: worker, replicas: 1, template: {}}\n- {name: head, replicas: 1}\n",
        "- {name: master, replicas: 1, " POD_OF(
            "containers: []") "}\n"
                              "- {name: worker, replicas: 2, " POD_OF(
                                  "containers: null, initContainers: null") "}\n"
                                                                            "- {name: head, replicas: 1, " POD_OF(
                                                                                "containers: [null, 5, []]") "}\n",
        "- {name: master, replicas: 2, " POD_OF(
            "hostname: h, subdomain: s, affinity: 3, containers: [{}]") "}\n"
                                                                        "- {name: worker, replicas: 2, " POD_OF(
                                                                            "hostNetwork: true, initContainers: "
                                                                            "[{name: a, env: 1}], "
                                                                            "containers: [{name: b, ports: x, env: [1, "
                                                                            "{}], command: no}]") "}\n"
                                                                                                  "- {name: head, "
                                                                                                  "replicas: 1, "
                                                                                                  "template: "
                                                                                                  "{metadata: 7, spec: "
                                                                                                  "7}}\n",
        "- {name: master, replicas: -5}\n- {name: worker, replicas: 1}\n- {name: head, replicas: 1}\n",
    };

    for (size_t i = 0; i < ARRAY_LEN(odd); i++) {
        struct plugin_objects objects;
        struct plugin_files files = { 0 };
        struct fixture f;

        fixture_open(&f, plugins, odd[i]);
        for (size_t t = 0; !f.ps.n_errors && t < f.job.spec.tasks.n; t++)
            for (int32_t k = 0; k < f.job.spec.tasks.v[t].replicas; k++)
                (void)fixture_pod(&f, f.job.spec.tasks.v[t].name, (uint32_t)k);
        objects = (struct plugin_objects){ .arena = &f.arena };
        if (!f.ps.n_errors) {
            assert_int_equal(plugin_set_objects(f.set, &objects, NULL), 0);
            assert_int_equal(plugin_set_files(f.set, &f.arena, &files, NULL), 0);
        }
        fixture_done(&f);
    }
}

/* A task with a number of replicas that a table cannot hold. */
FIXTURE_UNUSED static const char *fixture_big_task(struct arena *a, const char *name, unsigned replicas)
{
    return arena_fmt(a, "- {name: %s, replicas: %u, " POD_OF("containers: [{name: main, image: i}]") "}\n", name,
                     replicas)
        .p;
}

#endif
