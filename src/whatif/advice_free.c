/* advice_free.c - which running job, or the fewest of them, would have to go?
 *
 * Candidates are tried one by one, the cheapest first: lower priority, fewer pods, younger. If no single one is enough
 * they are added up in that order until it is, and then each is left out again if it can be.
 */
#include "whatif/advice_internal.h"

#include "api/meta.h"
#include "api/pod/status.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/util.h"
#include "store/store.h"

enum { SINGLES_TRIED = 16, SET_FROM = 64, PRUNED_MAX = 16, SET_MAX = 6 };

struct advice_free_tenant { /* a job, or a bare group, that has places */
    struct str title;
    const char *kind;
    struct str namespace, name;
    struct resources has;
    int64_t pods, priority, started_ms;
    bool waits; /* has no places, but stands in the way */
};

struct tenants {
    struct advising *v;
    struct future *f;
    struct map index;
    VEC(struct advice_free_tenant *) list;
};

/* ---- finding ---- */

static struct advice_free_tenant *advice_free_tenant_of(struct tenants *t, const struct json *pod)
{
    struct arena *a = t->v->a;
    struct str job = object_annotation(pod, "volcano.sh/job-name"),
               group = object_annotation(pod, "scheduling.k8s.io/group-name"), namespace = namespace_of(pod);
    struct str title = full_name(a, namespace, str_empty(job) ? group : job);
    struct advice_free_tenant *n = map_get(&t->index, title);
    struct sched_group_view g;
    bool is_known;

    if (n)
        return n;
    is_known = sched_group_view(future_sched(t->f), namespace, group, &g);
    n = arena_new(a, struct advice_free_tenant);
    *n = (struct advice_free_tenant){ .title = title,
                                      .kind = str_empty(job) ? "PodGroup" : JOB_KIND,
                                      .namespace = arena_str(a, namespace),
                                      .name = arena_str(a, str_empty(job) ? group : job),
                                      .priority = is_known ? g.priority : 0 };
    map_put(&t->index, n->title, n);
    *vec_push(a, &t->list) = n;
    return n;
}

static void advice_free_count_pod(void *ctx, const struct object *o)
{
    struct tenants *t = ctx;
    struct resources asked;
    struct advice_free_tenant *n;
    int64_t ms;

    if (!pod_uses_node(o->root) || str_empty(object_annotation(o->root, "scheduling.k8s.io/group-name")))
        return;
    n = advice_free_tenant_of(t, o->root);
    pod_requests(&t->v->scratch, json_get(o->root, "spec"), &asked);
    VEC_FOREACH(r, &asked.list)
        resources_add(t->v->a, &n->has, arena_str(t->v->a, r->name), r->q);
    n->pods++;
    if (clock_parse(json_text(json_find(o->root, "status", "startTime", NULL), STR("")), &ms, NULL) == 0)
        n->started_ms = MAX_OF(n->started_ms, ms);
}

/* The one that keeps it waiting without having a place: first in a fifo queue, or with places kept for it. */
static void add_other(struct tenants *t)
{
    struct str title = arena_str(t->v->a, str_of(t->v->now.why.other)), name;
    ptrdiff_t slash = str_find_char(title, '/');
    struct advice_free_tenant *n;

    if (slash <= 0 || map_get(&t->index, title))
        return;
    name = str_from(title, (size_t)slash + 1);
    n = arena_new(t->v->a, struct advice_free_tenant);
    *n = (struct advice_free_tenant){
        .title = title, .namespace = str_sub(title, 0, (size_t)slash), .name = name, .waits = true
    };
    n->kind = future_get(t->f, type_by_name(STR(JOB_KIND)), n->namespace, name) ? JOB_KIND : "PodGroup";
    n->priority = INT64_MIN;
    if (!future_get(t->f, type_by_name(str_of(n->kind)), n->namespace, name))
        return;
    map_put(&t->index, n->title, n);
    *vec_push(t->v->a, &t->list) = n;
}

static int by_cost(const void *x, const void *y)
{
    const struct advice_free_tenant *a = *(const struct advice_free_tenant *const *)x,
                                    *b = *(const struct advice_free_tenant *const *)y;

    if (a->priority != b->priority)
        return a->priority < b->priority ? -1 : 1;
    if (a->pods != b->pods)
        return a->pods < b->pods ? -1 : 1;
    if (a->started_ms != b->started_ms)
        return a->started_ms > b->started_ms ? -1 : 1;
    return str_cmp(a->title, b->title);
}

/* As the scheduler leaves the state: who just got a place has one. */
static void find_tenants(struct tenants *t)
{
    struct advising *v = t->v;
    struct str own = full_name(v->a, v->namespace, v->name);
    struct future_options opt = { .stands_still = true };
    size_t kept = 0;

    t->f = world_future(v, &v->world, &opt);
    (void)future_settle(t->f);
    add_other(t);
    store_list(future_store(t->f), type_by_name(STR("Pod")), STR_NULL, advice_free_count_pod, t);
    for (size_t i = 0; i < t->list.n; i++)
        if (!str_eq(t->list.v[i]->title, own))
            t->list.v[kept++] = t->list.v[i];
    t->list.n = kept;
    if (kept)
        qsort(t->list.v, kept, sizeof(*t->list.v), by_cost);
    future_free(t->f);
    arena_reset(&v->scratch);
}

/* ---- choosing ---- */

/* What the cluster lacks as a whole, in this resource; not above zero: nothing, only its places are scattered. */
static bool is_enough(struct advising *v, const struct advice_free_tenant *n)
{
    VEC_FOREACH(need, &v->out->needs.list) {
        const struct quantity *free = resources_get(&v->out->free, need->name),
                              *has = resources_get(&n->has, need->name);
        struct quantity sum = free ? *free : quantity_of_i64(0, need->q.format);

        if (quantity_cmp(sum, need->q) >= 0)
            continue;
        if (!has || quantity_cmp(quantity_add(sum, *has), need->q) < 0)
            return false;
    }
    return true;
}

static void advice_free_build(struct advising *v, struct advice_free_tenant *const *list, size_t n,
                              struct suggestion *s)
{
    autobuf names = { 0 };
    int64_t pods = 0;

    for (size_t i = 0; i < n; i++) {
        edit_add(v, s, (struct advice_edit){ EDIT_DELETE, list[i]->kind, list[i]->namespace, list[i]->name });
        buf_fmt(&names, "%s%.*s", i == 0 ? "" : i + 1 < n ? ", " : " and ", STR_ARG(list[i]->title));
        pods += list[i]->pods;
    }
    s->kind = ADVISE_FREE;
    s->stops_jobs = true;
    s->target = arena_str(v->a, buf_view(&names));
    if (n == 1 && list[0]->waits)
        s->text = arena_fmt(v->a, "remove %.*s, which waits before it", STR_ARG(s->target));
    else
        s->text = arena_fmt(v->a, "stop %.*s (%lld running pod%s)", STR_ARG(s->target), (long long)pods,
                            pods == 1 ? "" : "s");
}

static bool advice_free_works(struct advising *v, struct advice_free_tenant *const *list, size_t n,
                              struct suggestion *ret)
{
    struct suggestion s = { 0 };

    advice_free_build(v, list, n, &s);
    if (!trial_suggestion(v, &s, NULL))
        return false;
    *ret = s;
    return true;
}

static bool find_single(struct tenants *t, struct suggestion *ret)
{
    size_t tried = 0;
    bool is_room = t->v->now.why.kind == WHY_NO_ROOM;

    for (size_t i = 0; i < t->list.n && tried < SINGLES_TRIED; i++) {
        if (is_room && !t->list.v[i]->waits && !is_enough(t->v, t->list.v[i]))
            continue;
        tried++;
        if (advice_free_works(t->v, &t->list.v[i], 1, ret))
            return true;
    }
    return false;
}

/* The fewest of the first ones that are enough, without those that turn out not to matter. */
static bool find_set(struct tenants *t, struct suggestion *ret)
{
    struct advice_free_tenant **list = arena_array(t->v->a, struct advice_free_tenant *, t->list.n + 1);
    size_t low = 2, n = MIN_OF(t->list.n, (size_t)SET_FROM);

    if (n < 2 || !advice_free_works(t->v, t->list.v, n, ret))
        return false;
    while (low < n) {
        size_t middle = low + (n - low) / 2;

        if (advice_free_works(t->v, t->list.v, middle, ret))
            n = middle;
        else
            low = middle + 1;
    }
    if (n > PRUNED_MAX) /* too many jobs to stop for one */
        return false;
    memcpy(list, t->list.v, n * sizeof(*list));
    for (size_t i = n; i-- > 0 && n > 1;) { /* the dearest first */
        struct advice_free_tenant *left_out = list[i];

        memmove(&list[i], &list[i + 1], (n - i - 1) * sizeof(*list));
        if (advice_free_works(t->v, list, n - 1, ret)) {
            n--;
            continue;
        }
        memmove(&list[i + 1], &list[i], (n - i - 1) * sizeof(*list));
        list[i] = left_out;
    }
    return n <= SET_MAX;
}

void advise_free(struct advising *v)
{
    struct tenants t = { .v = v };
    struct suggestion s = { 0 };

    map_init(&t.index, 0);
    find_tenants(&t);
    if (find_single(&t, &s) || find_set(&t, &s))
        suggest_keep(v, &s);
    map_done(&t.index);
}
