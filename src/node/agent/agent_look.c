/* agent_look.c - pods, their logs and what they use, for requests such as kubectl logs and top */
#include "node/agent/agent_internal.h"

#include "api/meta.h"
#include "os/dir.h"
#include "os/io.h"

#include <fcntl.h>
#include <string.h>

/* A pod that was deleted may still be going when another of its name is here already. */
struct agent_pod *agent_pod_of(const struct agent *g, struct str namespace, struct str name)
{
    struct agent_pod *found = NULL;

    MAP_FOREACH(struct agent_pod *, p, &g->pods)
        if (str_eq(p->object->name, name) && str_eq(p->object->namespace, namespace) &&
            (!found || p->object->rev > found->object->rev))
            found = p;
    return found;
}

static struct json *agent_look_show(struct agent_pod *p, struct arena *a)
{
    struct json *pod = json_copy(a, p->object->root);
    bool was_changed = life_is_changed(p->life);

    json_set(pod, "status", life_status(p->life, a));
    if (was_changed) /* it is still to be written */
        life_touch(p->life);
    return pod;
}

struct json *agent_pods_show(struct agent *g, struct arena *a)
{
    struct json *list = json_object(a), *items;

    json_set(list, "kind", json_str(a, STR("PodList")));
    json_set(list, "apiVersion", json_str(a, STR("v1")));
    json_set(list, "metadata", json_object(a));
    items = json_set(list, "items", json_array(a));
    MAP_FOREACH(struct agent_pod *, p, &g->pods)
        json_push(items, agent_look_show(p, a));
    return list;
}

/* ---- logs ---- */

static const struct json *agent_look_status_of(const struct json *pod, struct str container)
{
    static const char *const lists[] = { "containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses" };

    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        JSON_FOREACH(s, json_find(pod, "status", lists[i], NULL))
            if (str_eq(json_member_text(s, "name"), container))
                return s;
    return NULL;
}

static bool has_run(const struct json *status)
{
    const struct json *state = json_get(status, "state");

    return json_get(state, "running") || json_get(state, "terminated") ||
           json_find(status, "lastState", "terminated", NULL);
}

int agent_log_find(struct agent *g, struct arena *a, const struct agent_log_query *q, struct agent_log_place *ret,
                   struct err *e)
{
    const struct agent_place *where = q->place;
    struct agent_pod *p = agent_pod_of(g, where->namespace, where->pod);
    const struct json *pod = p ? agent_look_show(p, a) : NULL, *status = agent_look_status_of(pod, where->container);
    int attempt = (int)json_i64(json_get(status, "restartCount"), 0) - q->is_previous;

    if (!p)
        return err_set(e, ERR_NOT_FOUND, "pod \"%.*s\" not found", STR_ARG(where->pod));
    if (!status)
        return err_set(e, ERR_INVALID, "container \"%.*s\" not found in pod \"%.*s\"", STR_ARG(where->container),
                       STR_ARG(where->pod));
    if (attempt < 0)
        return err_set(e, ERR_INVALID, "previous terminated container \"%.*s\" in pod \"%.*s\" not found",
                       STR_ARG(where->container), STR_ARG(where->pod));
    if (!has_run(status))
        return err_set(e, ERR_INVALID, "container \"%.*s\" in pod \"%.*s\" is waiting to start: %.*s",
                       STR_ARG(where->container), STR_ARG(where->pod),
                       STR_ARG(json_member_text(json_find(status, "state", "waiting", NULL), "reason")));
    *ret = (struct agent_log_place){ agent_log_path(p, a, where->container, attempt), arena_str(a, p->object->uid),
                                     attempt };
    return 0;
}

bool agent_log_grows(const struct agent *g, const struct agent_log_place *log, struct str container)
{
    autoarena a = { 0 };
    struct agent_pod *p = map_get(&g->pods, log->uid);
    const struct json *status = p ? agent_look_status_of(agent_look_show(p, &a), container) : NULL;

    return status && json_i64(json_get(status, "restartCount"), 0) == log->attempt &&
           (json_find(status, "state", "running", NULL) || !has_run(status));
}

/* ---- containers ---- */

bool agent_containers(const struct agent *g, struct arena *a, struct str pod_uid, struct agent_containers *ret)
{
    static const char *const lists[] = { "initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses" };
    struct agent_pod *p = map_get(&g->pods, pod_uid);
    const struct json *status = p ? json_get(agent_look_show(p, a), "status") : NULL;

    *ret = (struct agent_containers){ 0 };
    if (p)
        *ret = (struct agent_containers){ .namespace = arena_str(a, p->object->namespace),
                                          .pod = arena_str(a, p->object->name),
                                          .is_over = life_has_ended(p->life) };
    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        JSON_FOREACH(s, json_get(status, lists[i]))
            *vec_push(a, &ret->list) = (struct agent_container){
                .name = json_member_text(s, "name"),
                .attempt = has_run(s) ? (int)json_i64(json_get(s, "restartCount"), 0) : -1,
                .is_running = json_find(s, "state", "running", NULL) != NULL,
            };
    return p;
}

struct str agent_log_file(const struct agent *g, struct arena *a, struct str pod_uid, struct str container, int attempt)
{
    struct agent_pod *p = map_get(&g->pods, pod_uid);

    return p ? agent_log_path(p, a, container, attempt) : STR_NULL;
}

/* ---- use ---- */

static struct str agent_look_group_of(struct arena *a, const struct agent_pod *p, struct str container)
{
    if (str_eq(container, agent_only_container(p)))
        container = STR_NULL;
    return arena_fmt(a, "pod-%.*s%s%.*s", STR_ARG(p->object->uid), container.n ? "/" : "", STR_ARG(container));
}

struct usage_walk {
    struct agent *agent;
    agent_usage_f f;
    void *ctx;
};

static void tell_group(const struct usage_walk *w, struct arena *a, const struct agent_pod *p, struct str container)
{
    struct agent_place of = { p->object->namespace, p->object->name, container };
    struct cgroup_stats stats;

    if (cgroup_stats(w->agent->cgroups, agent_look_group_of(a, p, container).p, &stats, NULL) == 0)
        w->f(w->ctx, &of, &stats);
}

bool agent_pod_usage(const struct agent *g, struct str pod_uid, struct cgroup_stats *ret)
{
    struct agent_pod *p = map_get(&g->pods, pod_uid);
    autoarena a = { 0 };

    return p && p->stage == STAGE_MADE &&
           cgroup_stats(g->cgroups, agent_look_group_of(&a, p, STR_NULL).p, ret, NULL) == 0;
}

struct process_walk {
    struct agent_process process;
    void (*f)(void *ctx, const struct agent_process *p);
    void *ctx;
};

static void on_pid(void *ctx, pid_t pid)
{
    struct process_walk *w = ctx;

    w->process.pid = pid;
    w->f(w->ctx, &w->process);
}

static pid_t first_of(const struct agent_pod *p, struct str container)
{
    VEC_FOREACH(f, &p->first)
        if (str_eq(f->container, container))
            return f->pid;
    return 0;
}

enum { FAMILY_MAX = 4096 }; /* of one container: others must not wait for it */

struct family {
    VEC(pid_t) pids;
};

static void add_children(struct arena *a, struct family *f, pid_t pid)
{
    struct str task = arena_fmt(a, "/proc/%d/task", (int)pid);
    autodir *threads = dir_open(AT_FDCWD, task.p);

    for (struct dirent *t; (t = dir_next(threads));) {
        struct str rest = file_text(a, AT_FDCWD, arena_fmt(a, "%s/%s/children", task.p, t->d_name).p, 1 << 20), word;
        int64_t child;

        while (f->pids.n < FAMILY_MAX && str_split(&rest, ' ', &word))
            if (str_to_i64(word, &child) == 0 && child > 0 && child <= INT32_MAX)
                *vec_push(a, &f->pids) = (pid_t)child;
    }
}

/* Process 1 of a container and all that descends from it: a process that loses its parent gets this one. */
static void each_of_family(struct arena *a, pid_t first, struct process_walk *w)
{
    struct family f = { 0 };

    if (first > 0)
        *vec_push(a, &f.pids) = first;
    for (size_t i = 0; i < f.pids.n; i++)
        add_children(a, &f, f.pids.v[i]);
    VEC_FOREACH(pid, &f.pids) /* on_pid() may be slow */
        on_pid(w, *pid);
}

pid_t agent_first_process(const struct agent *g, const struct agent_place *where)
{
    const struct agent_pod *p = agent_pod_of(g, where->namespace, where->pod);

    return p ? first_of(p, where->container) : 0;
}

void agent_processes(struct agent *g, void (*f)(void *ctx, const struct agent_process *p), void *ctx)
{
    static const char *const lists[] = { "initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses" };
    bool has_groups = strcmp(cgroups_kind(g->cgroups), "none") != 0;

    MAP_FOREACH(struct agent_pod *, p, &g->pods) {
        autoarena a = { 0 };
        const struct json *status = p->stage == STAGE_MADE ? json_get(agent_look_show(p, &a), "status") : NULL;

        for (size_t i = 0; i < ARRAY_LEN(lists); i++)
            JSON_FOREACH(c, json_get(status, lists[i])) {
                struct process_walk w = { { p->object->uid, json_member_text(c, "name"), 0 }, f, ctx };

                if (json_find(c, "state", "running", NULL) && !has_groups)
                    each_of_family(&a, first_of(p, w.process.container), &w);
                else if (json_find(c, "state", "running", NULL))
                    cgroup_pids(g->cgroups, agent_look_group_of(&a, p, w.process.container).p, on_pid, &w);
            }
    }
}

int agent_freeze(const struct agent *g, bool on)
{
    return cgroup_freeze_all(g->cgroups, on);
}

void agent_usage(struct agent *g, agent_usage_f f, void *ctx)
{
    const struct usage_walk w = { g, f, ctx };

    MAP_FOREACH(struct agent_pod *, p, &g->pods) {
        autoarena a = { 0 };

        if (p->stage != STAGE_MADE || life_has_ended(p->life))
            continue;
        tell_group(&w, &a, p, STR_NULL);
        JSON_FOREACH(status, json_find(agent_look_show(p, &a), "status", "containerStatuses", NULL))
            if (json_find(status, "state", "running", NULL))
                tell_group(&w, &a, p, json_member_text(status, "name"));
    }
}
