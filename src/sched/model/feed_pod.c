/* feed_pod.c - Pods */
#include "api/pod/gate.h"
#include "api/pod/status.h"
#include "base/util.h"
#include "sched/fit/class.h"
#include "sched/model/feed_internal.h"

struct pod_news {
    struct head head;
    struct str key;
    const struct json *root, *spec, *status;
    struct str node, group, role;
    enum pod_state state;
    bool is_ours; /* for us to place: our scheduler's, and in a group */
    bool is_gated;
    enum queue_gate queue_gate;
};

/* ---- reading ---- */

/* Where a pod stands: what it said last, and whether it is going. */
static enum pod_state feed_pod_state_of(struct str phase, bool is_deleting, bool has_node)
{
    if (str_is(phase, "Succeeded"))
        return POD_SUCCEEDED;
    if (str_is(phase, "Failed"))
        return POD_FAILED;
    if (str_is(phase, "Running"))
        return is_deleting ? POD_GOING : POD_RUNNING;
    if (str_empty(phase) || str_is(phase, "Pending")) /* empty: no kubelet has seen it yet */
        return is_deleting ? POD_GOING : has_node ? POD_BOUND : POD_PENDING;
    return POD_UNKNOWN;
}

static bool news_read(struct sched_model *m, const struct json *root, struct pod_news *ret)
{
    *ret = (struct pod_news){ .root = root, .spec = json_get(root, "spec"), .status = json_get(root, "status") };
    if (!head_read(root, &ret->head))
        return false;
    ret->key = key_of(m, ret->head.namespace, ret->head.name);
    if (str_empty(ret->head.uid))
        ret->head.uid = ret->key;
    ret->node = json_member_text(ret->spec, "nodeName");
    ret->group = json_member_text(json_get(ret->head.meta, "annotations"), "scheduling.k8s.io/group-name");
    ret->role = annotation_of(ret->head.meta, "volcano.sh/task-spec");
    ret->state = feed_pod_state_of(json_member_text(ret->status, "phase"),
                                   !str_empty(json_member_text(ret->head.meta, "deletionTimestamp")),
                                   !str_empty(ret->node));
    ret->is_ours = str_eq(json_member_text(ret->spec, "schedulerName"), m->config.scheduler_name) &&
                   !str_empty(ret->group);
    ret->is_gated = json_count(json_get(ret->spec, "schedulingGates")) > 0;
    if (queue_gate_is_wanted(root))
        ret->queue_gate = !ret->is_gated             ? QUEUE_GATE_OPEN
                          : queue_gate_is_last(root) ? QUEUE_GATE_CLOSED
                                                     : QUEUE_GATE_NONE;
    return true;
}

static bool feed_pod_is_finished(enum pod_state state)
{
    return state == POD_SUCCEEDED || state == POD_FAILED;
}

static uint32_t feed_pod_index_of(struct str name)
{
    uint64_t index;

    if (str_to_u64(str_from(name, (size_t)(str_rfind_char(name, '-') + 1)), &index) < 0 || index >= UINT32_MAX)
        return UINT32_MAX;
    return (uint32_t)index;
}

/* ---- what it is ---- */

static bool is_critical(const struct pod_news *news)
{
    struct str class = json_member_text(news->spec, "priorityClassName");

    return str_is(news->head.namespace, "kube-system") || str_is(class, "system-cluster-critical") ||
           str_is(class, "system-node-critical");
}

/* Its own number: the annotation, else the one it was admitted with. */
static bool own_priority(const struct pod_news *news, int32_t *ret)
{
    struct str note = json_member_text(json_get(news->head.meta, "annotations"), "volcano.sh/task-priority");
    int64_t v;

    if (str_to_i64(note, &v) == 0 && v == int32_of(v)) {
        *ret = (int32_t)v;
        return true;
    }
    if (json_to_i64(json_get(news->spec, "priority"), &v) < 0)
        return false;
    *ret = int32_of(v);
    return true;
}

bool pod_set_priority(const struct sched_model *m, struct sched_pod *p)
{
    const struct sched_priority *class = map_get(&m->priorities, p->priority_class);
    int32_t old = p->priority;

    if (!p->has_own_priority)
        p->priority = class ? class->value : 1; /* 1 where nothing is said */
    if (!p->has_own_policy)
        p->never_preempts = class && class->never_preempts;
    return p->priority != old;
}

static int64_t started_of(const struct pod_news *news, const struct json *scheduled)
{
    int64_t ms = time_of(json_get(news->status, "startTime"));

    if (!ms && str_is(json_member_text(scheduled, "status"), "True"))
        ms = time_of(json_get(scheduled, "lastTransitionTime"));
    return ms;
}

/* Returns whether anything changed that the order of pods follows. */
static bool set_traits(struct sched_model *m, struct sched_pod *p, const struct pod_news *news)
{
    const struct json *meta = news->head.meta, *scheduled = condition_find(news->status, STR("PodScheduled"));
    const struct json *policy = json_get(news->spec, "preemptionPolicy");
    struct str nominated = json_member_text(news->status, "nominatedNodeName");
    struct str cooldown = json_member_text(json_get(meta, "labels"), "volcano.sh/cooldown-time");
    int32_t old_priority = p->priority;
    int64_t started_ms = started_of(news, scheduled);
    bool was_safe;

    p->index = feed_pod_index_of(p->name);
    p->created_ms = time_of(json_get(meta, "creationTimestamp"));
    if (started_ms || news->state == POD_PENDING)
        p->started_ms = started_ms;
    was_safe = p->node && !p->is_preemptable;
    p->is_preemptable = truth_of(annotation_of(meta, "volcano.sh/preemptable"), true);
    if (was_safe && p->is_preemptable)
        m->room_gen++; /* for groups that could use its place */
    p->is_critical = is_critical(news);
    p->has_own_policy = json_is(policy, JSON_STRING);
    p->never_preempts = str_is(json_text(policy, STR_NULL), "Never");
    if (str_empty(cooldown)) /* a label comes first here, elsewhere an annotation */
        cooldown = annotation_of(meta, "volcano.sh/cooldown-time");
    p->cooldown_ms = duration_of(cooldown);
    p->written = scheduled
                     ? hash_of_condition(json_member_text(scheduled, "status"), json_member_text(scheduled, "reason"),
                                         json_member_text(scheduled, "message"))
                     : 0;
    model_nominate(m, p, news->is_ours && !str_empty(nominated) ? model_need_node(m, nominated) : NULL);
    p->api_priority = int32_of(json_i64(json_get(news->spec, "priority"), INT32_MIN));
    p->has_own_priority = own_priority(news, &p->priority);
    (void)pod_set_priority(m, p);
    return p->priority != old_priority;
}

/* ---- where it belongs ---- */

static void feed_pod_set_text(struct sched_model *m, struct sched_pod *p, const struct pod_news *news)
{
    struct str labels = labels_text(&m->scratch_arena, json_get(news->head.meta, "labels"));
    struct str class = json_member_text(news->spec, "priorityClassName");

    if (str_eq(labels, p->labels) && str_eq(class, p->priority_class))
        return;
    p->labels = labels;
    p->priority_class = class;
    text_pack(&p->text, (struct str *const[]){ &p->labels, &p->priority_class }, 2);
}

/* Class, group, role and gates: what cannot change while it is counted. */
static void set_kind(struct sched_model *m, struct sched_pod *p, const struct pod_news *news)
{
    struct sched_group *old_group = p->group;
    struct sched_group *g = news->is_ours ? model_need_group(m, news->head.namespace, news->group) : NULL;
    struct sched_role *r = g ? group_need_role(g, news->role) : NULL;
    static const char *const skip[] = { "nodeName", NULL }; /* has no part in its class */
    const struct pod_class *old_class = p->class;
    uint64_t hash = hash_mix(tree_hash(news->spec, skip), tree_hash(json_get(news->head.meta, "labels"), NULL));
    bool is_other = !old_class || p->hash != hash;
    /* We decided to open the gate, and the API server has not reported it yet. */
    bool is_opening = news->queue_gate == QUEUE_GATE_CLOSED && p->queue_gate == QUEUE_GATE_OPENING;
    enum queue_gate gate = is_opening ? QUEUE_GATE_OPENING : news->queue_gate;

    if (!is_other && g == old_group && r == p->role && news->is_gated == p->is_gated && gate == p->queue_gate)
        return;
    model_pod_out(m, p);
    if (is_other) {
        p->class = class_ref(m, news->head.namespace, news->root);
        if (old_class) /* a new pod was made with them */
            feed_pod_set_text(m, p, news);
        p->hash = hash;
    }
    p->group = g;
    p->role = r;
    p->is_gated = news->is_gated;
    p->queue_gate = gate;
    model_pod_in(m, p);
    if (p->node)
        m->room_gen++; /* it may take less now */
    if (is_other)
        class_unref(m, old_class);
    if (old_group && old_group != g)
        model_release_group(m, old_group);
}

/* ---- news ---- */

/* The pod of these news, NULL if it is not known; '*ret_is_old': we have newer news of it. Another pod of the same name
 * was deleted, since this one exists. */
static struct sched_pod *feed_pod_find(struct sched_model *m, const struct pod_news *news, bool *ret_is_old)
{
    struct sched_pod *p = map_get(&m->pods, news->head.uid), *same_name;

    *ret_is_old = p && is_old_news(news->head.rev, p->rev);
    if (*ret_is_old)
        return p;
    if (p && !str_eq(p->key, news->key)) {
        model_drop_pod(m, p);
        p = NULL;
    }
    same_name = map_get(&m->pod_names, news->key);
    if (same_name && same_name != p) {
        *ret_is_old = is_old_news(news->head.rev, same_name->rev);
        if (!*ret_is_old)
            model_drop_pod(m, same_name);
    }
    return p;
}

/* What we decided holds until the news show it. */
static void set_state(struct sched_model *m, struct sched_pod *p, const struct pod_news *news)
{
    enum pod_state state = news->state;
    struct sched_node *node, *ours = p->has_told_node ? NULL : p->node;

    p->told = state;
    p->has_told_node = !str_empty(news->node);
    if (feed_pod_is_finished(state)) {
        model_set_pod(m, p, state, NULL);
        return;
    }
    node = str_empty(news->node) ? ours : model_need_node(m, news->node);
    if (p->is_victim)
        state = POD_GOING;
    if (p->state == POD_BINDING && state == POD_PENDING)
        state = POD_BINDING;
    model_set_pod(m, p, state, node);
}

void pod_put(struct sched_model *m, const struct json *root)
{
    struct pod_news news;
    struct sched_pod *p;
    bool is_old;

    if (!news_read(m, root, &news))
        return;
    p = feed_pod_find(m, &news, &is_old);
    if (is_old)
        return;
    if (!news.is_ours && (str_empty(news.node) || feed_pod_is_finished(news.state))) { /* it takes no room */
        if (p)
            model_drop_pod(m, p);
        return;
    }
    if (!p)
        p = model_new_pod(m, &(struct pod_text){
                                 .uid = news.head.uid,
                                 .namespace = news.head.namespace,
                                 .name = news.head.name,
                                 .labels = labels_text(&m->scratch_arena, json_get(news.head.meta, "labels")),
                                 .priority_class = json_member_text(news.spec, "priorityClassName"),
                             });
    p->rev = news.head.rev;
    set_kind(m, p, &news);
    if (set_traits(m, p, &news) && p->group)
        model_touch(m, p->group);
    if (p->group)
        p->group->since.grown_ms = MAX_OF(p->group->since.grown_ms, p->created_ms);
    set_state(m, p, &news);
}

void pod_gone(struct sched_model *m, struct str namespace, struct str name, struct str uid)
{
    struct sched_pod *p = map_get(&m->pod_names, key_of(m, namespace, name));

    if (p && (str_empty(uid) || str_eq(p->uid, uid)))
        model_drop_pod(m, p);
}
