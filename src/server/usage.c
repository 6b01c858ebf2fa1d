/* usage.c - metrics.k8s.io: what containers and the node use now, as `kubectl top` reads it
 *
 * CPU is a rate, and the machine only counts. The counters of now are compared with those of an earlier request, of 1
 * to 15 seconds ago if requests are frequent; without one, with the start of the container. So nothing is measured
 * between requests.
 */
#include "server/server_internal.h"

#include "kubelet/kubelet.h"
#include "node/agent/agent.h"

#include <time.h>

enum { LEAST_MS = 1000, KEPT_MS = 15000 };

struct look {
    struct arena arena;
    int64_t at_ms;   /* mono */
    struct map rows; /* struct kubelet_use by "namespace/pod/container"; "//": the machine */
};

static struct str row_key(struct arena *a, const struct agent_place *of)
{
    return arena_fmt(a, "%.*s/%.*s/%.*s", STR_ARG(of->namespace), STR_ARG(of->pod), STR_ARG(of->container));
}

static void look_free(struct look *l)
{
    if (!l)
        return;
    map_done(&l->rows);
    arena_done(&l->arena);
    free(l);
}

static void keep_row(void *ctx, const struct agent_place *of, const struct kubelet_use *u)
{
    struct look *l = ctx;
    struct kubelet_use *use = arena_new(&l->arena, struct kubelet_use);

    *use = *u;
    map_put(&l->rows, row_key(&l->arena, of), use);
}

static struct look *look_new(struct server *s)
{
    struct look *l = xcalloc(1, sizeof(*l));

    l->at_ms = clock_mono_ms(s->opt.clock);
    map_init(&l->rows, map_seed_default());
    kubelet_usage(s->opt.kubelet, keep_row, l);
    return l;
}

void usage_done(struct server *s)
{
    look_free(s->look);
    s->look = NULL;
}

/* ---- rates ---- */

struct asking {
    struct server_request *rq;
    const struct look *now, *before; /* before: NULL, none that is old enough */
    struct selection sel;
    struct json *items, *table;
    struct str include;
};

/* Cores in use, and over which time. 'age_ms': of what is measured. */
static double cores(const struct asking *q, struct str key, const struct kubelet_use *use, int64_t age_ms,
                    int64_t *ret_ms)
{
    const struct kubelet_use *old = q->before ? map_get(&q->before->rows, key) : NULL;

    if (old && old->cpu_s <= use->cpu_s) { /* else it began anew */
        *ret_ms = q->now->at_ms - q->before->at_ms;
        return (use->cpu_s - old->cpu_s) * 1000 / (double)*ret_ms;
    }
    *ret_ms = MAX_OF(age_ms, (int64_t)LEAST_MS);
    return use->cpu_s * 1000 / (double)*ret_ms;
}

static struct json *use_json(struct arena *a, double cpu_cores, int64_t memory_bytes)
{
    struct json *j = json_object(a);

    json_add(j, STR("cpu"), json_fmt(a, "%.0fn", cpu_cores * 1e9));
    json_add(j, STR("memory"), json_fmt(a, "%lldKi", (long long)(memory_bytes / 1024)));
    return j;
}

static struct json *metrics_new(struct asking *q, const struct json *of)
{
    static const char *const kept[] = { "name", "namespace", "creationTimestamp", "labels" };
    struct arena *a = q->rq->arena;
    struct json *j = json_object(a), *meta;
    autobuf now = { 0 };

    json_add(j, STR("kind"), json_str(a, str_of(q->rq->type->kind)));
    json_add(j, STR("apiVersion"), json_str(a, type_api_version(a, q->rq->type)));
    meta = json_add(j, STR("metadata"), json_object(a));
    for (size_t i = 0; i < ARRAY_LEN(kept); i++)
        if (json_find(of, "metadata", kept[i], NULL))
            json_add(meta, str_of(kept[i]), json_copy(a, json_find(of, "metadata", kept[i], NULL)));
    clock_print(&now, server_now_ms(q->rq->server));
    json_add(j, STR("timestamp"), json_str(a, arena_str(a, buf_view(&now))));
    return j;
}

static void set_window(struct arena *a, struct json *j, int64_t ms)
{
    json_add(j, STR("window"), json_fmt(a, "%lld.%03llds", (long long)(ms / 1000), (long long)(ms % 1000)));
}

static int64_t age_of(const struct asking *q, const struct json *status)
{
    int64_t at_ms, now_ms = server_now_ms(q->rq->server);

    if (clock_parse(json_text(json_find(status, "state", "running", "startedAt", NULL), STR_NULL), &at_ms, NULL) < 0)
        return 0;
    return now_ms - at_ms;
}

/* NULL: nothing of it is measured. */
static struct json *pod_metrics(struct asking *q, const struct json *pod)
{
    struct arena *a = q->rq->arena;
    struct json *list = json_array(a), *j;
    int64_t window_ms = 0;

    JSON_FOREACH(status, json_find(pod, "status", "containerStatuses", NULL)) {
        struct agent_place of = { object_namespace(pod), object_name(pod), json_member_text(status, "name") };
        struct str key = row_key(a, &of);
        const struct kubelet_use *use = map_get(&q->now->rows, key);
        double in_use;

        if (!use)
            continue;
        in_use = cores(q, key, use, age_of(q, status), &window_ms);
        j = json_push(list, json_object(a));
        json_add(j, STR("name"), json_str(a, of.container));
        json_add(j, STR("usage"), use_json(a, in_use, use->memory_bytes));
    }
    if (!list->n)
        return NULL;
    j = metrics_new(q, pod);
    set_window(a, j, window_ms);
    json_add(j, STR("containers"), list);
    return j;
}

static int64_t uptime_ms(void)
{
    struct timespec t;

    return clock_gettime(CLOCK_BOOTTIME, &t) < 0 ? 0 : (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static struct json *node_metrics(struct asking *q, const struct json *node)
{
    const struct kubelet_use *use = map_get(&q->now->rows, STR("//"));
    struct json *j = metrics_new(q, node);
    int64_t window_ms;
    double in_use = cores(q, STR("//"), use, uptime_ms(), &window_ms);

    set_window(q->rq->arena, j, window_ms);
    json_add(j, STR("usage"), use_json(q->rq->arena, in_use, use->memory_bytes));
    return j;
}

/* ---- answers ---- */

static const struct resource_type *subject(const struct asking *q)
{
    return type_by_kind(STR("v1"), q->rq->type->scope == SCOPE_CLUSTER ? STR("Node") : STR("Pod"));
}

static struct json *metrics_of(struct asking *q, const struct object *o)
{
    return q->rq->type->scope == SCOPE_CLUSTER ? node_metrics(q, o->root) : pod_metrics(q, o->root);
}

static void usage_add_item(void *ctx, const struct object *o)
{
    struct asking *q = ctx;
    struct json *j = selection_has(&q->sel, o->root) ? metrics_of(q, o) : NULL;

    if (j && q->table)
        table_add(q->rq->arena, q->table, j,
                  &(struct table_look){ q->rq->type, q->include, server_now_ms(q->rq->server) });
    else if (j)
        json_push(q->items, j);
}

static int answer_all(struct asking *q)
{
    struct server_request *rq = q->rq;
    struct json *j = json_object(rq->arena);

    if (selection_read(rq, &q->sel) < 0)
        return -1;
    if (rq->accept.form == ACCEPT_TABLE) {
        q->include = STR("Metadata");
        (void)param(rq, "includeObject", &q->include);
        j = q->table = table_new(rq->arena, rq->type, true);
    } else {
        json_add(j, STR("kind"), json_str(rq->arena, type_list_kind(rq->arena, rq->type)));
        json_add(j, STR("apiVersion"), json_str(rq->arena, type_api_version(rq->arena, rq->type)));
        json_add(j, STR("metadata"), json_object(rq->arena));
        q->items = json_add(j, STR("items"), json_array(rq->arena));
    }
    store_list(rq->server->opt.store, subject(q), rq->target.namespace, usage_add_item, q);
    reply_json(rq, 200, j);
    return 0;
}

static int answer_one(struct asking *q)
{
    struct server_request *rq = q->rq;
    const struct object *o = store_get(rq->server->opt.store, subject(q), rq->target.namespace, rq->target.name);
    struct json *j = o ? metrics_of(q, o) : NULL;

    if (!j)
        return fail_not_found(rq, rq->type, rq->target.name);
    reply_object(rq, 200, j);
    return 0;
}

int handle_usage(struct server_request *rq)
{
    struct server *s = rq->server;
    struct asking q = { .rq = rq };
    struct look *now;
    int64_t kept_ms;
    int rc;

    if (!s->opt.kubelet)
        return fail_with(rq, REASON_UNAVAILABLE, "this server runs no pods");
    now = look_new(s);
    kept_ms = s->look ? now->at_ms - s->look->at_ms : 0;
    q.now = now;
    q.before = kept_ms >= LEAST_MS ? s->look : NULL;
    rc = rq->verb == VERB_LIST ? answer_all(&q) : answer_one(&q);
    if (s->look && kept_ms < KEPT_MS) {
        look_free(now);
        return rc;
    }
    look_free(s->look);
    s->look = now;
    return rc;
}
