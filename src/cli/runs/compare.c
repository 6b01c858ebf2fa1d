/* compare.c - two runs side by side */
#include "cli/runs/runs.h"

#include "api/meta.h"
#include "base/span.h"
#include "base/util.h"
#include "base/term.h"

enum { DIFFERENCES_MAX = 60, VALUE_MAX = 60 };

/* ---- results ---- */

struct compare_sums { /* of one task of one run */
    bool is_there;
    uint32_t n[HISTORY_STATE_MAX];
    int64_t restarts, longest_ms, peak_bytes, cpu_us;
};

static void compare_add_pod(struct compare_sums *s, const struct history_pod *p)
{
    if (!p->is_replaced)
        s->n[p->state]++;
    s->restarts += pod_main_restarts(p) + p->is_replaced;
    if (p->running_ms >= 0 && p->ended_ms >= 0)
        s->longest_ms = MAX_OF(s->longest_ms, p->ended_ms - p->running_ms);
    s->peak_bytes = MAX_OF(s->peak_bytes, pod_peak_bytes(p));
    s->cpu_us += pod_cpu_us(p);
}

static struct compare_sums sums_of(const struct record *r, size_t job, struct str task)
{
    struct compare_sums s = { 0 };
    const struct history_job *j = job < r->history->jobs.n ? r->history->jobs.v[job] : NULL;

    VEC_FOREACH(p, &r->history->pods)
        if (j && (*p)->job == j && (*p)->task && str_eq((*p)->task->name, task)) {
            s.is_there = true;
            compare_add_pod(&s, *p);
        }
    return s;
}

static struct str compare_text_of(struct arena *a, const struct buf *b)
{
    return b->n ? arena_str(a, buf_view(b)) : STR("-");
}

static struct str show_pods(struct arena *a, const struct compare_sums *s)
{
    autobuf out = { 0 };

    for (int k = HISTORY_STATE_MAX - 1; k >= 0; k--)
        if (s->n[k])
            buf_fmt(&out, "%s%u %s", out.n ? ", " : "", s->n[k], history_state_names[k]);
    return compare_text_of(a, &out);
}

static struct str show_restarts(struct arena *a, const struct compare_sums *s)
{
    return s->is_there ? arena_fmt(a, "%lld", (long long)s->restarts) : STR("-");
}

static struct str show_longest(struct arena *a, const struct compare_sums *s)
{
    autobuf out = { 0 };

    if (s->is_there)
        span_print_fine(&out, s->longest_ms);
    return compare_text_of(a, &out);
}

static struct str show_memory(struct arena *a, const struct compare_sums *s)
{
    autobuf out = { 0 };

    if (s->peak_bytes > 0)
        bytes_print(&out, s->peak_bytes);
    return compare_text_of(a, &out);
}

static struct str show_cpu(struct arena *a, const struct compare_sums *s)
{
    autobuf out = { 0 };

    if (s->cpu_us > 0)
        span_print_fine(&out, s->cpu_us / 1000);
    return compare_text_of(a, &out);
}

static const struct {
    const char *name;
    struct str (*show)(struct arena *a, const struct compare_sums *s);
} rows[] = { { "pods", show_pods },
             { "restarts", show_restarts },
             { "longest pod", show_longest },
             { "most memory of a pod", show_memory },
             { "processor time", show_cpu } };

static void compare_row(struct table *t, struct str name, struct str a, struct str b)
{
    table_cell(t, name);
    table_cell(t, a);
    table_cell(t, b);
}

static void task_rows(struct table *t, const struct record r[2], size_t job, struct str task, bool names_job)
{
    const struct history *h = r[job < r[0].history->jobs.n ? 0 : 1].history;
    struct str label = names_job ? arena_fmt(t->arena, "%.*s/%.*s", STR_ARG(h->jobs.v[job]->name), STR_ARG(task))
                                 : task;
    struct compare_sums s[2] = { sums_of(&r[0], job, task), sums_of(&r[1], job, task) };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        compare_row(t, arena_fmt(t->arena, "%.*s: %s", STR_ARG(label), rows[i].name), rows[i].show(t->arena, &s[0]),
                    rows[i].show(t->arena, &s[1]));
}

static bool has_task(const struct history_job *j, struct str name)
{
    VEC_FOREACH(t, &j->tasks)
        if (str_eq((*t)->name, name))
            return true;
    return false;
}

static struct str compare_verdict(struct arena *a, const struct record *r, size_t job)
{
    autobuf out = { 0 };

    if (job < r->history->jobs.n)
        buf_fmt(&out, "%.*s %s", STR_ARG(r->history->jobs.v[job]->name), job_phase_shown(r->history->jobs.v[job]));
    return compare_text_of(a, &out);
}

static void job_rows(struct table *t, const struct record r[2], size_t job)
{
    bool names_job = r[0].history->jobs.n > 1 || r[1].history->jobs.n > 1;

    compare_row(t, STR("job"), compare_verdict(t->arena, &r[0], job), compare_verdict(t->arena, &r[1], job));
    for (size_t i = 0; i < 2; i++) {
        const struct history_job *j = job < r[i].history->jobs.n ? r[i].history->jobs.v[job] : NULL;
        const struct history_job *other = job < r[0].history->jobs.n ? r[0].history->jobs.v[job] : NULL;

        for (size_t k = 0; j && k < j->tasks.n; k++)
            if (i == 0 || !other || !has_task(other, j->tasks.v[k]->name))
                task_rows(t, r, job, j->tasks.v[k]->name, names_job);
    }
}

static struct str compare_took(struct arena *a, const struct record *r)
{
    autobuf out = { 0 };

    span_print_fine(&out, r->end.end_ms - r->head.begin_ms);
    return compare_text_of(a, &out);
}

static void put_results(struct arena *a, struct buf *out, struct record_entry *const entry[2], const struct record r[2])
{
    struct table t = { .arena = a, .columns = 3 };

    compare_row(&t, STR("run"), entry[0]->id, entry[1]->id);
    compare_row(&t, STR("started"), runs_time(a, r[0].head.begin_ms), runs_time(a, r[1].head.begin_ms));
    compare_row(&t, STR("result"), runs_state(a, entry[0]), runs_state(a, entry[1]));
    compare_row(&t, STR("took"), compare_took(a, &r[0]), compare_took(a, &r[1]));
    for (size_t i = 0; i < MAX_OF(r[0].history->jobs.n, r[1].history->jobs.n); i++)
        job_rows(&t, r, i);
    table_print(out, &t, "");
}

/* ---- what they ran ---- */

struct leaf {
    struct str path, value[2];
    bool is_in[2];
};

struct leaves {
    struct arena *arena;
    struct map by_path;
    VEC(struct leaf *) list; /* as they come */
};

static void add_leaf(struct leaves *l, struct str path, struct str value, size_t side)
{
    struct leaf *leaf = map_get(&l->by_path, path);

    if (!leaf) {
        leaf = arena_new(l->arena, struct leaf);
        leaf->path = path;
        map_put(&l->by_path, path, leaf);
        *vec_push(l->arena, &l->list) = leaf;
    }
    leaf->value[side] = value;
    leaf->is_in[side] = true;
}

/* Elements of lists are known by their names, where they have any. */
static void flatten(struct leaves *l, const struct json *j, struct str path, size_t side)
{
    size_t i = 0;

    if (json_is(j, JSON_OBJECT)) {
        JSON_FOREACH(m, j)
            flatten(l, m, arena_fmt(l->arena, "%.*s%s%.*s", STR_ARG(path), path.n ? "." : "", STR_ARG(json_key(m))),
                    side);
    } else if (json_is(j, JSON_ARRAY)) {
        JSON_FOREACH(m, j) {
            struct str name = json_is(m, JSON_OBJECT) ? json_member_text(m, "name") : STR_NULL;

            flatten(l, m,
                    name.n ? arena_fmt(l->arena, "%.*s[%.*s]", STR_ARG(path), STR_ARG(name))
                           : arena_fmt(l->arena, "%.*s[%zu]", STR_ARG(path), i),
                    side);
            i++;
        }
    } else {
        autobuf text = { 0 };

        json_print(&text, j);
        add_leaf(l, path, arena_str(l->arena, buf_view(&text)), side);
    }
}

/* What every run has of its own. */
static bool is_dull(struct str path)
{
    static const char *const parts[] = { "metadata.uid", "metadata.creationTimestamp", "metadata.resourceVersion",
                                         "metadata.generation" };

    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        if (str_ends(path, str_of(parts[i])))
            return true;
    return false;
}

static void put_value(struct buf *out, const struct leaf *leaf, size_t side)
{
    if (!leaf->is_in[side]) {
        buf_str(out, STR("(not set)"));
        return;
    }
    term_text(out, str_cut(leaf->value[side], VALUE_MAX));
    if (leaf->value[side].n > VALUE_MAX)
        buf_str(out, STR("…"));
}

/* Documents are matched by kind, the first to the first. */
static void take_documents(struct leaves *l, const struct json *list, size_t side)
{
    struct map counts;

    map_init(&counts, map_seed_default());
    JSON_FOREACH(doc, list) {
        struct str kind = object_kind(doc);
        size_t n = (size_t)(uintptr_t)map_get(&counts, kind) + 1;

        map_put(&counts, kind, (void *)(uintptr_t)n);
        flatten(l, doc, n == 1 && str_is(kind, "Job") ? STR("") : arena_fmt(l->arena, "%.*s %zu: ", STR_ARG(kind), n),
                side);
    }
    map_done(&counts);
}

static void put_differences(struct arena *a, struct buf *out, const struct record r[2])
{
    struct leaves l = { .arena = a };
    size_t n = 0;

    map_init(&l.by_path, map_seed_default());
    for (size_t i = 0; i < 2; i++)
        take_documents(&l, r[i].documents, i);
    VEC_FOREACH(at, &l.list) {
        const struct leaf *leaf = *at;

        if ((leaf->is_in[0] == leaf->is_in[1] && str_eq(leaf->value[0], leaf->value[1])) || is_dull(leaf->path))
            continue;
        if (n++ >= DIFFERENCES_MAX)
            continue;
        buf_str(out, n == 1 ? STR("\nwhat they ran differs:\n  ") : STR("  "));
        term_text(out, leaf->path);
        buf_str(out, STR(": "));
        put_value(out, leaf, 0);
        buf_str(out, STR(" → "));
        put_value(out, leaf, 1);
        buf_char(out, '\n');
    }
    if (n > DIFFERENCES_MAX)
        buf_fmt(out, "  and %zu more\n", n - DIFFERENCES_MAX);
    if (!n && r[0].documents && r[1].documents)
        buf_str(out, STR("\nwhat they ran is the same\n"));
    else if (!r[0].documents || !r[1].documents)
        buf_str(out, STR("\none of the records does not have what was run: it was too much\n"));
    map_done(&l.by_path);
}

void runs_compare(struct arena *a, struct buf *out, struct record_entry *const entry[2], const struct record r[2])
{
    put_results(a, out, entry, r);
    put_differences(a, out, r);
}
