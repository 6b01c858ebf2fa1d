/* podview.c - from a Pod to the few bytes the job controller keeps of it */
#include "driver/cache.h"

#include "api/meta.h"
#include "api/pod/status.h"
#include "base/clock.h"
#include "base/util.h"

/* The ownerReference of the controlling Job, or NULL. */
static const struct json *job_ref(const struct json *root)
{
    const struct json *ref = object_controller(root);

    return str_is(json_member_text(ref, "kind"), JOB_KIND) &&
                   str_starts(json_member_text(ref, "apiVersion"), STR("batch.volcano.sh/"))
               ? ref
               : NULL;
}

struct str object_job_uid(const struct json *root)
{
    return json_member_text(job_ref(root), "uid");
}

struct str object_job_name(const struct json *root)
{
    return json_member_text(job_ref(root), "name");
}

static int64_t podview_time_of(const struct json *text)
{
    int64_t ms = 0;

    (void)clock_parse(json_text(text, STR_NULL), &ms, NULL); /* what cannot be read is not known: 0 */
    return ms;
}

static int32_t podview_int32_of(int64_t v)
{
    return (int32_t)MAX_OF(MIN_OF(v, INT32_MAX), INT32_MIN);
}

static uint8_t podview_phase_of(struct str text)
{
    if (str_empty(text)) /* the kubelet has not reported it yet */
        return POD_PENDING;
    for (uint8_t i = 0; i < POD_PHASE_MAX; i++)
        if (str_is(text, pod_phase_names[i]))
            return i;
    return POD_UNKNOWN;
}

/* Restarts, exit codes and end of the containers of one list. Returns whether all of them are ready. */
static bool look_at_containers(const struct json *statuses, struct pod_view *v)
{
    int64_t restarts = v->restarts;
    bool all_ready = json_count(statuses) > 0;

    JSON_FOREACH(status, statuses) {
        const struct json *ended = json_find(status, "state", "terminated", NULL);
        int64_t code = json_i64(json_get(ended, "exitCode"), 0);
        int64_t end_ms = podview_time_of(json_get(ended, "finishedAt"));

        restarts += MAX_OF(json_i64(json_get(status, "restartCount"), 0), 0);
        restarts = MIN_OF(restarts, INT32_MAX);
        all_ready &= json_bool(json_get(status, "ready"), false);
        v->finished_ms = MAX_OF(v->finished_ms, end_ms);
        if (code && v->n_exit_codes < POD_EXIT_CODES)
            v->exit_codes[v->n_exit_codes++] = podview_int32_of(code);
    }
    v->restarts = (int32_t)restarts;
    return all_ready;
}

/* Annotation first, then label: both are written by us, a user may have lost one. */
static struct str note_of(const struct json *root, const char *key)
{
    struct str text = object_annotation(root, key);

    return str_empty(text) ? object_label(root, key) : text;
}

static uint32_t podview_index_of(const struct object *o)
{
    struct str text = note_of(o->root, "volcano.sh/task-index");
    uint64_t index;

    if (str_empty(text))
        text = str_from(o->name, (size_t)(str_rfind_char(o->name, '-') + 1));
    return str_to_u64(text, &index) < 0 || index >= UINT32_MAX ? UINT32_MAX : (uint32_t)index;
}

/* A number in an annotation; -1 if there is none. */
static int32_t podview_number_of(const struct json *pod, const char *key)
{
    int64_t n;

    return str_to_i64(object_annotation(pod, key), &n) < 0 ? -1 : podview_int32_of(n);
}

/* In the native PodGroup of its job, which has the name of Volcano's. A template may name
 * another group, which we ignore. */
static bool is_in_own_group(const struct json *pod)
{
    struct str name = json_text(json_find(pod, "spec", "schedulingGroup", "podGroupName", NULL), STR_NULL);

    return name.n && str_eq(name, object_annotation(pod, "scheduling.k8s.io/group-name"));
}

void pod_view_decode(const struct object *o, struct pod_view *ret, struct str *ret_task, uint32_t *ret_index)
{
    const struct json *meta = json_get(o->root, "metadata"), *status = json_get(o->root, "status");
    struct str uid = str_sub(o->uid, 0, sizeof(ret->uid) - 1);

    *ret = (struct pod_view){ .rev = o->rev };
    if (uid.n)
        memcpy(ret->uid, uid.p, uid.n);
    ret->created_ms = podview_time_of(json_get(meta, "creationTimestamp"));
    ret->version = podview_number_of(o->root, "volcano.sh/job-version");
    ret->retry = podview_number_of(o->root, "volcano.sh/job-retry-count");
    ret->phase = podview_phase_of(json_member_text(status, "phase"));
    ret->is_deleting = !str_empty(json_member_text(meta, "deletionTimestamp"));
    ret->is_ready = look_at_containers(json_get(status, "containerStatuses"), ret);
    (void)look_at_containers(json_get(status, "initContainerStatuses"), ret); /* they are never "ready" when done */
    ret->is_marked = json_get(json_get(meta, "annotations"), "volcano.sh/controller-out-of-sync");
    ret->is_disrupted = condition_is_true(status, "DisruptionTarget");
    ret->is_native = is_in_own_group(o->root);
    *ret_task = note_of(o->root, "volcano.sh/task-spec");
    *ret_index = podview_index_of(o);
}
