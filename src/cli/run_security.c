/* run_security.c - pods that ask for more than their own walls: refused with --restricted, else told once */
#include "api/security.h"
#include "base/util.h"
#include "cli/run.h"
#include "job/pod.h"

/* Every pod of the files as it would be made, plugins included, at the place of its template. */
struct each_pod {
    struct arena *arena;
    void (*pod)(void *ctx, const struct place *pod, struct loaded *doc);
    void *ctx;
};

static void walk_job(const struct each_pod *w, struct loaded *doc)
{
    struct place root = { .node = doc->root }, spec = place_member(&root, "spec"), tasks = place_member(&spec, "tasks");

    for (size_t i = 0; i < doc->job.spec.tasks.n; i++) {
        struct place task = place_item(&tasks, json_at(tasks.node, i), i), template = place_member(&task, "template");
        struct json *pod;
        struct err ignored; /* a plugin that fails says so when the pod is made */

        if (doc->job.spec.tasks.v[i].replicas > 0 &&
            job_pod_new(w->arena, &doc->job, doc->set, i, 0, &pod, &ignored) == 0)
            template.node = pod;
        w->pod(w->ctx, &template, doc);
    }
}

static void walk_pods(const struct load *l, const struct each_pod *w)
{
    for (size_t i = 0; i < l->docs.n; i++) {
        struct loaded *doc = l->docs.v[i];
        struct place root = { .node = doc->root };

        if (doc->set && !doc->problems.n_errors)
            walk_job(w, doc);
        else if (doc->type && strcmp(doc->type->kind, "Pod") == 0)
            w->pod(w->ctx, &root, doc);
    }
}

/* ---- --restricted ---- */

static void check_pod(void *ctx, const struct place *pod, struct loaded *doc)
{
    (void)ctx;
    pod_security_check(pod, &doc->problems);
    problems_sort(&doc->problems);
}

void run_restrict(struct load *l)
{
    struct each_pod w = { l->arena, check_pod, NULL };

    walk_pods(l, &w);
}

/* ---- notices ---- */

enum { DANGERS_MAX = 16 };

struct dangers { /* by what the pod gets: one notice each, however many fields ask for it */
    struct arena *arena;
    struct {
        const char *danger;
        struct str field; /* the first one */
        size_t n;
    } list[DANGERS_MAX];
    size_t n;
};

static void add_danger(void *ctx, const struct place *at, const struct security_rule *rule)
{
    struct dangers *d = ctx;
    size_t i = 0;

    if (!rule->danger)
        return;
    while (i < d->n && strcmp(d->list[i].danger, rule->danger) != 0)
        i++;
    if (i == DANGERS_MAX)
        return;
    if (i == d->n) {
        d->list[d->n].danger = rule->danger;
        d->list[d->n++].field = place_path(d->arena, at);
    }
    d->list[i].n++;
}

static void look_at_pod(void *ctx, const struct place *pod, struct loaded *doc)
{
    (void)doc;
    pod_security_walk(pod, add_danger, ctx);
}

void run_tell_dangers(const struct load *l, const struct run_say *say)
{
    struct dangers d = { .arena = l->arena };
    struct each_pod w = { l->arena, look_at_pod, &d };

    walk_pods(l, &w);
    for (size_t i = 0; i < d.n; i++) {
        struct str more = d.list[i].n > 1 ? arena_fmt(l->arena, " (and %zu more)", d.list[i].n - 1) : STR("");

        say->say(say->ctx, arena_fmt(l->arena, "%.*s%.*s: %s; --restricted refuses it", STR_ARG(d.list[i].field),
                                     STR_ARG(more), d.list[i].danger));
    }
}
