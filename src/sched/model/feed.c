/* feed.c - which decoder takes an object, and what the decoders share */
#include "sched/model/feed.h"

#include "api/duration.h"
#include "base/clock.h"
#include "base/util.h"
#include "sched/model/feed_internal.h"
#include "sched/fit/topology.h"
#include "sched/fit/volume.h"

/* ---- kinds ---- */

static void hypernode_gone(struct sched_model *m, struct str namespace, struct str name, struct str uid)
{
    topology_gone(m, name);
}

static void volume_is_gone(struct sched_model *m, struct str namespace, struct str name, struct str uid)
{
    volume_gone(m, STR("PersistentVolume"), namespace, name);
}

static void claim_is_gone(struct sched_model *m, struct str namespace, struct str name, struct str uid)
{
    volume_gone(m, STR("PersistentVolumeClaim"), namespace, name);
}

static void storage_class_is_gone(struct sched_model *m, struct str namespace, struct str name, struct str uid)
{
    volume_gone(m, STR("StorageClass"), namespace, name);
}

static void csi_node_is_gone(struct sched_model *m, struct str namespace, struct str name, struct str uid)
{
    volume_gone(m, STR("CSINode"), namespace, name);
}

static const struct model_feed_kind {
    const char *kind, *api; /* api: the whole apiVersion, or the group with its '/' */
    void (*put)(struct sched_model *m, const struct json *root);
    void (*gone)(struct sched_model *m, struct str namespace, struct str name, struct str uid);
} kinds[] = {
    { "Pod", "v1", pod_put, pod_gone },
    { "Node", "v1", node_put, node_gone },
    { "PodGroup", "scheduling.volcano.sh/", group_put, group_gone },
    { "Job", "batch.volcano.sh/", job_put, job_gone },
    { "Queue", "scheduling.volcano.sh/", queue_put, queue_gone },
    { "PriorityClass", "scheduling.k8s.io/", priority_put, priority_gone },
    { "PodDisruptionBudget", "policy/", budget_put, budget_gone },
    { "Namespace", "v1", namespace_put, namespace_gone },
    { "HyperNode", "topology.volcano.sh/", topology_put, hypernode_gone },
    { "PersistentVolume", "v1", volume_put, volume_is_gone },
    { "PersistentVolumeClaim", "v1", volume_put, claim_is_gone },
    { "StorageClass", "storage.k8s.io/", volume_put, storage_class_is_gone },
    { "CSINode", "storage.k8s.io/", volume_put, csi_node_is_gone },
};

static const struct model_feed_kind *kind_find(struct str kind)
{
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (str_is(kind, kinds[i].kind))
            return &kinds[i];
    return NULL;
}

static bool is_api(const struct model_feed_kind *k, struct str api_version)
{
    struct str api = str_of(k->api);

    return str_ends(api, STR("/")) ? str_starts(api_version, api) : str_eq(api_version, api);
}

bool feed_wants(struct str api_version, struct str kind)
{
    const struct model_feed_kind *k = kind_find(kind);

    return k && is_api(k, api_version);
}

void feed_put(struct sched_model *m, const struct json *root)
{
    const struct model_feed_kind *k = kind_find(json_member_text(root, "kind"));

    if (!k || !is_api(k, json_member_text(root, "apiVersion")))
        return;
    k->put(m, root);
    model_sync_dims(m);
    arena_reset(&m->scratch_arena);
}

void feed_gone(struct sched_model *m, struct str kind, struct str namespace, struct str name, struct str uid)
{
    const struct model_feed_kind *k = kind_find(kind);

    if (!k)
        return;
    k->gone(m, namespace, name, uid);
    arena_reset(&m->scratch_arena);
}

/* ---- reading ---- */

bool head_read(const struct json *root, struct head *ret)
{
    const struct json *meta = json_get(root, "metadata");

    *ret = (struct head){ .meta = meta,
                          .namespace = json_member_text(meta, "namespace"),
                          .name = json_member_text(meta, "name"),
                          .uid = json_member_text(meta, "uid") };
    (void)str_to_u64(json_member_text(meta, "resourceVersion"), &ret->rev); /* no number: no order known */
    return !str_empty(ret->name);
}

bool is_old_news(uint64_t rev, uint64_t known)
{
    return rev && rev < known;
}

struct str key_of(struct sched_model *m, struct str namespace, struct str name)
{
    struct buf key = { arena_alloc(&m->scratch_arena, namespace.n + name.n + 2), 0, namespace.n + name.n + 2 };

    buf_str(&key, namespace); /* every event of a pod comes here: no printf; there is room, so it never grows */
    buf_char(&key, '/');
    buf_str(&key, name);
    return buf_view(&key);
}

struct str annotation_of(const struct json *meta, const char *key)
{
    struct str text = json_member_text(json_get(meta, "annotations"), key);

    return str_empty(text) ? json_member_text(json_get(meta, "labels"), key) : text;
}

bool truth_of(struct str text, bool if_empty)
{
    static const char *const yes[] = { "1", "t", "T", "true", "TRUE", "True" };

    if (str_empty(text))
        return if_empty;
    for (size_t i = 0; i < ARRAY_LEN(yes); i++)
        if (str_is(text, yes[i]))
            return true;
    return false;
}

int64_t time_of(const struct json *text)
{
    int64_t ms = 0;

    (void)clock_parse(json_text(text, STR_NULL), &ms, NULL); /* what cannot be read is not known: 0 */
    return ms;
}

int64_t duration_of(struct str text)
{
    int64_t ns;

    if (str_empty(text) || duration_parse(text, &ns, NULL) < 0 || ns <= 0)
        return 0;
    return MAX_OF(ns / (1000 * 1000), 1);
}

int64_t number_of(const struct json *j, int64_t low, int64_t high, int64_t fallback)
{
    int64_t v = json_i64(j, fallback);

    return v < low ? low : v > high ? high : v;
}

int32_t int32_of(int64_t v)
{
    return (int32_t)MAX_OF(MIN_OF(v, INT32_MAX), INT32_MIN);
}

static int feed_by_key(const void *x, const void *y)
{
    const struct json *a = *(const struct json *const *)x, *b = *(const struct json *const *)y;

    return str_cmp(json_key(a), json_key(b));
}

/* What would break the lines cannot be a label either. */
static bool is_label(const struct json *j)
{
    return json_is(j, JSON_STRING) && !str_has_char(json_key(j), '=') && !str_has_char(json_key(j), '\n') &&
           !str_has_char((struct str){ j->text, j->n }, '\n');
}

struct str labels_text(struct arena *a, const struct json *labels)
{
    const struct json **list = arena_array(a, const struct json *, json_count(labels) + 1);
    autobuf out = { 0 };
    size_t n = 0;

    if (!json_is(labels, JSON_OBJECT))
        return STR_NULL;
    JSON_FOREACH(l, labels)
        if (is_label(l))
            list[n++] = l;
    qsort(list, n, sizeof(*list), feed_by_key);
    for (size_t i = 0; i < n; i++) {
        buf_str(&out, json_key(list[i]));
        buf_char(&out, '=');
        buf_str(&out, json_text(list[i], STR_NULL));
        buf_char(&out, '\n');
    }
    return arena_str(a, buf_view(&out));
}
