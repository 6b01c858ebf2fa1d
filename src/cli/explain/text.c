/* text.c - advice in plain words */
#include "cli/explain/explain.h"

#include "base/clock.h"
#include "base/span.h"
#include "base/util.h"
#include "base/term.h"

enum { NODES_SHOWN = 3, AHEAD_SHOWN = 5, NAMES_SHOWN = 4 };

struct saying {
    struct arena *a;
    struct buf *out;
    const struct advice *advice;
    int64_t now_ms;
    bool has_colour;
    bool shows_pods; /* "pods" as a resource */
};

/* ---- words ---- */

/* To whole seconds: the start of a job cannot be predicted better. */
static struct str duration(struct arena *a, int64_t ms)
{
    autobuf out = { 0 };

    span_print(&out, MAX_OF(ms, 0) / 1000 * 1000);
    return arena_str(a, buf_view(&out));
}

static struct str text_clean(struct saying *s, struct str text)
{
    autobuf out = { 0 };

    term_text(&out, text);
    return arena_str(s->a, buf_view(&out));
}

/* The number of pods is said in words; of nodes only where it is what is short. */
static bool text_is_shown(const struct saying *s, struct str resource)
{
    return !str_is(resource, "pods") || (s->shows_pods && str_is(s->advice->why_resource, "pods"));
}

/* 8000, not 8k: people count devices. */
static void plain_amount(struct buf *out, struct quantity q)
{
    const int64_t one = 1000000000, many = 1000000;

    if (q.format == QUANTITY_DECIMAL_SI && q.nano % one == 0 && q.nano / one < many)
        buf_fmt(out, "%lld", (long long)(q.nano / one));
    else
        quantity_print(out, q);
}

/* "8 cpu, 32Gi memory"; cpu and memory first, as people say it. */
static struct str text_amounts(struct saying *s, const struct resources *r)
{
    static const char *const first[] = { "cpu", "memory" };
    autobuf out = { 0 };

    for (size_t i = 0; i < ARRAY_LEN(first); i++) {
        const struct quantity *q = resources_get(r, str_of(first[i]));

        if (q) {
            buf_str(&out, out.n ? STR(", ") : STR(""));
            plain_amount(&out, *q);
            buf_fmt(&out, " %s", first[i]);
        }
    }
    VEC_FOREACH(one, &r->list) {
        if (str_is(one->name, "cpu") || str_is(one->name, "memory") || !text_is_shown(s, one->name))
            continue;
        buf_str(&out, out.n ? STR(", ") : STR(""));
        plain_amount(&out, one->q);
        buf_char(&out, ' ');
        term_text(&out, one->name);
    }
    return out.n ? arena_str(s->a, buf_view(&out)) : STR("no cpu or memory");
}

static void label(struct saying *s, const char *word)
{
    autobuf padded = { 0 };

    buf_fmt(&padded, "  %-8s ", word);
    term_style(s->out, s->has_colour, STYLE_DIM, buf_view(&padded));
}

static void indent(struct saying *s)
{
    buf_repeat(s->out, ' ', 11);
}

static struct str plural_of(struct saying *s, int64_t n, const char *noun)
{
    return plural(s->a, n, noun);
}

/* ---- parts ---- */

static struct str task_phrase(struct saying *s, const struct advice_task *t)
{
    struct str name = str_empty(t->name) ? STR("pod") : text_clean(s, t->name);

    return arena_fmt(s->a, "%lld × %.*s (%.*s)", (long long)t->missing, STR_ARG(name),
                     STR_ARG(text_amounts(s, &t->each)));
}

static bool has_amounts(const struct saying *s, const struct resources *r)
{
    VEC_FOREACH(one, &r->list)
        if (text_is_shown(s, one->name))
            return true;
    return false;
}

static void say_needs(struct saying *s)
{
    const struct advice *v = s->advice;
    int64_t missing = MAX_OF(v->min - v->ready, 0);
    size_t shown = 0;

    label(s, "needs");
    VEC_FOREACH(t, &v->tasks)
        if (t->missing > 0)
            buf_fmt(s->out, "%s%.*s", shown++ ? " + " : "", STR_ARG(task_phrase(s, t)));
    if (!shown)
        buf_fmt(s->out, "%.*s", STR_ARG(plural_of(s, missing, "pod")));
    buf_fmt(s->out, "%s\n", missing > 1 ? ", all at once" : "");
    if (missing > 1 && has_amounts(s, &v->needs)) {
        indent(s);
        buf_fmt(s->out, "= %.*s for %.*s\n", STR_ARG(text_amounts(s, &v->needs)),
                STR_ARG(plural_of(s, missing, "pod")));
    }
    if (v->ready > 0) {
        indent(s);
        buf_fmt(s->out, "%lld of %lld pods have their places already\n", (long long)v->ready, (long long)v->min);
    }
}

static void say_free(struct saying *s)
{
    const struct advice *v = s->advice;
    size_t shown = 0, fitting = 0;

    s->shows_pods = true;
    label(s, "free");
    if (v->n_nodes == 0) {
        buf_fmt(s->out, "there are no nodes\n");
        return;
    }
    if (v->n_usable == 0) {
        if (v->n_nodes == 1)
            buf_str(s->out, STR("the only node does not take its pods"));
        else
            buf_fmt(s->out, "none of the %zu nodes takes its pods", v->n_nodes);
        buf_fmt(s->out, " (%.*s: %.*s)\n", STR_ARG(text_clean(s, v->nodes.v[0].name)),
                STR_ARG(text_clean(s, v->nodes.v[0].refuses)));
        return;
    }
    buf_fmt(s->out, "%.*s", STR_ARG(text_amounts(s, &v->free)));
    if (v->n_usable < v->n_nodes)
        buf_fmt(s->out, " on the %zu of %zu nodes it may use\n", v->n_usable, v->n_nodes);
    else
        buf_fmt(s->out, " on %.*s\n", STR_ARG(plural_of(s, (int64_t)v->n_nodes, "node")));
    VEC_FOREACH(n, &v->nodes)
        fitting += n->fits > 0;
    VEC_FOREACH(n, &v->nodes) {
        if (n->refuses.n || shown == NODES_SHOWN || (fitting && !n->fits))
            break;
        shown++;
        indent(s);
        buf_fmt(s->out, "%.*s: %.*s", STR_ARG(text_clean(s, n->name)), STR_ARG(text_amounts(s, &n->free)));
        buf_fmt(s->out, n->fits ? ", room for %.*s\n" : ", too little for one pod\n",
                STR_ARG(plural_of(s, n->fits, "pod")));
    }
    if (v->n_usable > shown) {
        indent(s);
        buf_fmt(s->out, "and %.*s more%s\n", STR_ARG(plural_of(s, (int64_t)(v->n_usable - shown), "node")),
                fitting > shown ? ""
                : fitting       ? ", without room for one pod"
                                : "");
    }
}

static struct str without_stop(struct str text)
{
    return str_ends(text, STR(".")) ? str_sub(text, 0, text.n - 1) : text;
}

static void say_why(struct saying *s)
{
    const struct advice *v = s->advice;
    struct str text = without_stop(text_clean(s, v->why_text));

    label(s, "stopped");
    term_style(s->out, s->has_colour, STYLE_YELLOW, text);
    buf_fmt(s->out, " (%s)\n", why_names[v->why.kind]);
}

/* Who has the room that it would take, and until when. */
static void say_holder(struct saying *s)
{
    const struct advice_holder *h = &s->advice->holder;
    autobuf time = { 0 };

    if (!h->name.n)
        return;
    label(s, "kept");
    buf_fmt(s->out, "%.*s for %.*s of %.*s, ", STR_ARG(text_amounts(s, &h->keeps)),
            STR_ARG(plural_of(s, h->pods, "pod")), STR_ARG(text_clean(s, h->name)));
    if (!h->until_ms) {
        buf_str(s->out, STR("until the pods in its way end\n"));
        return;
    }
    clock_print(&time, h->until_ms);
    buf_fmt(s->out, "until %.*s at the latest\n", STR_ARG(buf_view(&time)));
}

static void say_ahead(struct saying *s)
{
    const struct advice *v = s->advice;
    size_t shown = 0;

    s->shows_pods = false;
    if (!v->is_in_line)
        return;
    label(s, "ahead");
    if (v->ahead.n == 0) {
        buf_fmt(s->out, "no jobs: it is first in line\n");
        return;
    }
    buf_fmt(s->out, "%.*s\n", STR_ARG(plural_of(s, (int64_t)v->ahead.n, "job")));
    VEC_FOREACH(j, &v->ahead) {
        if (shown++ == AHEAD_SHOWN)
            break;
        indent(s);
        buf_fmt(s->out, "%.*s: queue %.*s, priority %d, needs %.*s (%.*s)\n", STR_ARG(text_clean(s, j->name)),
                STR_ARG(text_clean(s, j->queue)), j->priority, STR_ARG(plural_of(s, j->pods, "pod")),
                STR_ARG(text_amounts(s, &j->needs)));
    }
    if (v->ahead.n > AHEAD_SHOWN) {
        indent(s);
        buf_fmt(s->out, "and %zu more\n", v->ahead.n - AHEAD_SHOWN);
    }
}

/* "a, b and 3 more" */
static struct str names(struct saying *s, const struct str *list, size_t n)
{
    autobuf out = { 0 };

    for (size_t i = 0; i < n && i < NAMES_SHOWN; i++)
        buf_fmt(&out, "%s%.*s", i == 0 ? "" : i + 1 == n ? " and " : ", ", STR_ARG(text_clean(s, list[i])));
    if (n > NAMES_SHOWN)
        buf_fmt(&out, " and %zu more", n - NAMES_SHOWN);
    return arena_str(s->a, buf_view(&out));
}

static struct str victims(struct saying *s, const struct advice_victim *list, size_t n)
{
    autobuf out = { 0 };

    for (size_t i = 0; i < n && i < NAMES_SHOWN; i++)
        buf_fmt(&out, "%s%.*s of %.*s",
                i == 0       ? ""
                : i + 1 == n ? " and "
                             : ", ",
                STR_ARG(plural_of(s, list[i].pods, "pod")), STR_ARG(text_clean(s, list[i].name)));
    if (n > NAMES_SHOWN)
        buf_fmt(&out, " and of %zu more jobs", n - NAMES_SHOWN);
    return arena_str(s->a, buf_view(&out));
}

static void say_suggestion(struct saying *s, size_t number, const struct suggestion *g)
{
    struct str text = text_clean(s, g->text);
    autobuf head = { 0 };

    buf_fmt(&head, "%c%.*s", text.n && text.p[0] >= 'a' && text.p[0] <= 'z' ? text.p[0] - 32 : text.p[0],
            STR_ARG(str_from(text, 1)));
    buf_fmt(s->out, "  %zu. ", number);
    term_style(s->out, s->has_colour, STYLE_GREEN, buf_view(&head));
    if (g->also.n)
        buf_fmt(s->out, " (also: %.*s)", STR_ARG(names(s, g->also.v, g->also.n)));
    buf_char(s->out, '\n');
    if (g->evicts.n)
        buf_fmt(s->out, "     This evicts %.*s.\n", STR_ARG(victims(s, g->evicts.v, g->evicts.n)));
    VEC_FOREACH(line, &g->how) {
        buf_str(s->out, STR("       "));
        term_style(s->out, s->has_colour, STYLE_CYAN, text_clean(s, *line));
        buf_char(s->out, '\n');
    }
}

static void say_suggestions(struct saying *s)
{
    const struct advice *v = s->advice;

    if (v->suggestions.n == 0) {
        buf_fmt(s->out, "\nNo single change was found that would start it now (%u tried).\n", v->n_trials);
        return;
    }
    buf_fmt(s->out, "\n%s would start it now (tried on a copy of this state):\n",
            v->suggestions.n == 1 ? "This" : "Each of these");
    for (size_t i = 0; i < v->suggestions.n; i++) {
        bool stops_jobs = v->suggestions.v[i].stops_jobs;

        if (stops_jobs && (i == 0 || !v->suggestions.v[i - 1].stops_jobs)) /* they are the last */
            buf_str(s->out, STR("  At the cost of other jobs:\n"));
        say_suggestion(s, i + 1, &v->suggestions.v[i]);
    }
}

static void say_estimate(struct saying *s)
{
    const struct advice_estimate *e = &s->advice->estimate;
    autobuf time = { 0 };

    buf_str(s->out, STR("\nWithout a change: "));
    if (e->is_known && e->at_ms <= s->now_ms) {
        buf_fmt(s->out, "any moment now; %.*s should have ended already.\n", STR_ARG(names(s, e->after.v, e->after.n)));
    } else if (e->is_known) {
        clock_print(&time, e->at_ms);
        buf_fmt(s->out, "it starts in about %.*s (%.*s)", STR_ARG(duration(s->a, e->at_ms - s->now_ms)),
                STR_ARG(buf_view(&time)));
        if (e->after.n)
            buf_fmt(s->out, ", when %.*s end%s", STR_ARG(names(s, e->after.v, e->after.n)), e->after.n == 1 ? "s" : "");
        buf_str(s->out, STR(".\n"));
    } else if (!e->is_never) {
        buf_fmt(s->out, "unknown; %.*s do%s not say how long %s (annotation pumice.dev/runtime).\n",
                STR_ARG(names(s, e->silent.v, e->silent.n)), e->silent.n == 1 ? "es" : "",
                e->silent.n == 1 ? "it runs" : "they run");
    } else if (e->silent.n) {
        buf_str(s->out, STR("it does not start by itself, not even when all that runs has ended.\n"));
    } else {
        buf_str(s->out, STR("it does not start by itself.\n"));
    }
}

static void say_held_tasks(struct saying *s)
{
    VEC_FOREACH(t, &s->advice->tasks)
        if (t->held_by.n)
            buf_fmt(s->out, "Task %.*s waits for %.*s (dependsOn).\n", STR_ARG(text_clean(s, t->name)),
                    STR_ARG(text_clean(s, t->held_by)));
}

/* ---- by state ---- */

static void say_waits(struct saying *s)
{
    const struct advice *v = s->advice;

    buf_fmt(s->out, " waits in queue %.*s", STR_ARG(text_clean(s, v->queue)));
    if (v->priority)
        buf_fmt(s->out, " with priority %d", v->priority);
    if (v->created_ms && s->now_ms > v->created_ms)
        buf_fmt(s->out, ", %.*s so far", STR_ARG(duration(s->a, s->now_ms - v->created_ms)));
    buf_str(s->out, STR(".\n\n"));
    say_needs(s);
    say_free(s);
    say_why(s);
    say_holder(s);
    say_ahead(s);
    say_suggestions(s);
    say_estimate(s);
    say_held_tasks(s);
}

static void say_starts(struct saying *s)
{
    const struct advice *v = s->advice;

    if (v->evicts.n)
        buf_fmt(s->out, " starts as soon as %.*s %s ended, to make room for it.\n",
                STR_ARG(victims(s, v->evicts.v, v->evicts.n)),
                v->evicts.n == 1 && v->evicts.v[0].pods == 1 ? "has" : "have");
    else
        buf_fmt(s->out, " can start: the scheduler has places for its %.*s now.\n",
                STR_ARG(plural_of(s, v->ready, "pod")));
    say_held_tasks(s);
}

static void say_runs(struct saying *s)
{
    const struct advice *v = s->advice;

    buf_fmt(s->out, " is running: %lld of the %lld pods it needs have places", (long long)v->ready, (long long)v->min);
    if (v->pending > 0)
        buf_fmt(s->out, ", %.*s more wait%s for room", STR_ARG(plural_of(s, v->pending, "pod")),
                v->pending == 1 ? "s" : "");
    buf_str(s->out, STR(".\n"));
    say_held_tasks(s);
}

static void say_reason(struct saying *s)
{
    const struct advice *v = s->advice;

    if (v->reason.n)
        buf_fmt(s->out, " (%.*s)", STR_ARG(text_clean(s, v->reason)));
    if (v->message.n)
        buf_fmt(s->out, ": %.*s", STR_ARG(text_clean(s, v->message)));
    buf_str(s->out, STR(".\n"));
}

static void say_ended(struct saying *s)
{
    buf_fmt(s->out, " does not wait: it is %.*s", STR_ARG(text_clean(s, s->advice->phase)));
    say_reason(s);
    if (str_starts(s->advice->phase, STR("Abort")))
        buf_str(s->out, STR("It was suspended; a ResumeJob command starts it again.\n"));
}

static void say_blocked(struct saying *s)
{
    buf_str(s->out,
            str_is(s->advice->reason, "Invalid") ? STR(" would be refused") : STR(" waits before its pods are made"));
    say_reason(s);
}

static void say_native(struct saying *s)
{
    const struct advice *v = s->advice;

    buf_fmt(s->out,
            " is placed by kube-scheduler, as PodGroup %.*s of scheduling.k8s.io: %lld of the %lld pods it needs have "
            "nodes",
            STR_ARG(text_clean(s, v->group)), (long long)v->ready, (long long)v->min);
    say_reason(s);
    if (v->ready < v->min)
        buf_str(s->out, STR("What would help only that scheduler knows: see the Events of its pods.\n"));
}

static void (*const say_state[ADVICE_STATE_MAX])(struct saying *s) = {
    [ADVICE_WAITS] = say_waits, [ADVICE_STARTS] = say_starts,   [ADVICE_RUNS] = say_runs,
    [ADVICE_ENDED] = say_ended, [ADVICE_BLOCKED] = say_blocked, [ADVICE_NATIVE] = say_native,
};

void explain_text(struct arena *a, struct buf *out, const struct advice *advice, int64_t now_ms, bool has_colour)
{
    struct saying s = { a, out, advice, now_ms, has_colour };

    term_style(out, has_colour, STYLE_BOLD, text_clean(&s, advice->name));
    say_state[advice->state](&s);
    VEC_FOREACH(n, &advice->notes)
        buf_fmt(out, "Note: %.*s.\n", STR_ARG(text_clean(&s, *n)));
}

void explain_list_text(struct arena *a, struct buf *out, const struct advice_lines *lines)
{
    struct saying s = { .a = a, .out = out };
    struct table t = { .arena = a, .columns = 5 };
    static const char *const heads[] = { "JOB", "QUEUE", "PRIORITY", "PODS", "WAITS BECAUSE" };

    if (lines->list.n == 0) {
        buf_str(out, STR("No job waits.\n"));
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(heads); i++)
        table_cell(&t, str_of(heads[i]));
    VEC_FOREACH(l, &lines->list) {
        table_cell(&t, text_clean(&s, l->name));
        table_cell(&t, text_clean(&s, l->queue));
        table_cell(&t, arena_fmt(a, "%d", l->priority));
        table_cell(&t, arena_fmt(a, "%lld", (long long)l->pods));
        table_cell(&t, without_stop(text_clean(&s, l->why_text)));
    }
    table_print(out, &t, "");
}
