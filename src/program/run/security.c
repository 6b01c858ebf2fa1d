/* security.c - pods that ask for more than their own walls: refused with --restricted, else told once */
#include "program/run/documents.h"

#include "api/pod/security.h"
#include "base/util.h"
#include "cli/pod_specs.h"
#include "job/pod.h"

typedef void visit_f(void *ctx, const struct place *pod, struct loaded *doc);

/* A pod of a job as it would be made, plugins included, at the place of its template. */
static void visit_task(struct arena *a, const struct pod_spec *p, visit_f *visit, void *ctx)
{
    const struct job *job = &p->doc->job;
    struct place root = { .node = p->doc->root }, spec = place_member(&root, "spec"),
                 tasks = place_member(&spec, "tasks"),
                 task = place_item(&tasks, json_at(tasks.node, p->task_index), p->task_index),
                 template = place_member(&task, "template");
    struct pod_draft pod = { .task_pos = p->task_index };
    struct err ignored; /* a plugin that fails says so when the pod is made */

    if (p->replicas > 0 && job_pod_new(a, job, p->doc->set, &pod, &ignored) == 0)
        template.node = pod.root;
    visit(ctx, &template, p->doc);
}

static void visit_pods(const struct load *l, visit_f *visit, void *ctx)
{
    const struct loaded *doc = NULL;
    bool is_bad = false; /* it was before we came: the visitor may find more */
    struct pod_specs all;

    pod_specs_of(l->arena, l, &all);
    VEC_FOREACH(p, &all.list) {
        struct place root = { .node = p->doc->root };

        if (p->doc != doc)
            is_bad = p->doc->problems.n_errors > 0;
        doc = p->doc;
        if (!p->doc->set)
            visit(ctx, &root, p->doc);
        else if (!is_bad)
            visit_task(l->arena, p, visit, ctx);
    }
}

/* ---- --restricted ---- */

static void security_check_pod(void *ctx, const struct place *pod, struct loaded *doc)
{
    (void)ctx;
    pod_security_check(pod, &doc->problems);
    problems_sort(&doc->problems);
}

void run_restrict(struct load *l)
{
    visit_pods(l, security_check_pod, NULL);
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

static void find_dangers(void *ctx, const struct place *pod, struct loaded *doc)
{
    (void)doc;
    pod_security_walk(pod, add_danger, ctx);
}

void run_tell_dangers(const struct load *l, const struct run_listener *say)
{
    struct dangers d = { .arena = l->arena };

    visit_pods(l, find_dangers, &d);
    for (size_t i = 0; i < d.n; i++) {
        struct str more = d.list[i].n > 1 ? arena_fmt(l->arena, " (and %zu more)", d.list[i].n - 1) : STR("");

        say->say(say->ctx, arena_fmt(l->arena, "%.*s%.*s: %s; --restricted refuses it", STR_ARG(d.list[i].field),
                                     STR_ARG(more), d.list[i].danger));
    }
}
