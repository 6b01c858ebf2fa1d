/* admit_job_update.c - what an update of a Job's spec may change (B56)
 *
 * Old and new are walked side by side, and every field that differs and may not is reported at its own path. Equal
 * means what it means to a typed client that reads and writes the object: a missing list and an empty one, "1" CPU
 * and "1000m", "1m" and "1m0s" are the same.
 */
#include "api/admit/admit_internal.h"

#include "api/duration.h"
#include "base/util.h"

static const char *const mutable_fields[] = {
    "minAvailable",
    "priorityClassName",
    "ttlSecondsAfterFinished",
    "maxRetry",
    "tasks[].replicas",
    "tasks[].minAvailable",
    "tasks[].partitionPolicy.totalPartitions", /* replicas must follow it: partitions × size */
};

/* Members that a typed writer leaves out when they are {}, 0 or false. Elsewhere such a value means something:
 * emptyDir: {}, terminationGracePeriodSeconds: 0, automountServiceAccountToken: false. */
static const char *const omitted_fields[] = {
    "annotations", "hostIPC",  "hostNetwork",  "hostPID",  "labels",   "limits",
    "matchLabels", "metadata", "nodeSelector", "readOnly", "replicas", "requests",
    "resources",   "stdin",    "stdinOnce",    "strategy", "tty",
};

static bool admit_job_update_is_listed(struct str word, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (str_is(word, list[i]))
            return true;
    return false;
}

/* Does the value read as "not there"? */
static bool is_nothing(struct str key, const struct json *j)
{
    if (!is_set(j))
        return true;
    if ((j->type == JSON_STRING || j->type == JSON_ARRAY) && j->n == 0)
        return true;
    if (!admit_job_update_is_listed(key, omitted_fields, ARRAY_LEN(omitted_fields)))
        return false;
    if (j->type == JSON_OBJECT) { /* metadata: { creationTimestamp: null } is nothing either */
        JSON_FOREACH(m, j)
            if (!is_nothing(json_key(m), m))
                return false;
        return true;
    }
    return (j->type == JSON_BOOL && !j->n) || (j->type == JSON_NUMBER && json_i64(j, 1) == 0);
}

static bool is_amount(const struct place *at)
{
    return str_is(at->key, "sizeLimit") ||
           (at->up && (str_is(at->up->key, "limits") || str_is(at->up->key, "requests")));
}

static bool is_same_value(const struct place *at, const struct json *old)
{
    struct quantity q, q_old;
    int64_t ns, ns_old;

    if (json_equal(at->node, old))
        return true;
    if (is_amount(at) && quantity_from_json(at->node, &q) && quantity_from_json(old, &q_old))
        return quantity_cmp(q, q_old) == 0;
    if (str_is(at->key, "timeout") || str_is(at->key, "runningEstimate"))
        return duration_parse(json_text(at->node, STR("")), &ns, NULL) == 0 &&
               duration_parse(json_text(old, STR("")), &ns_old, NULL) == 0 && ns == ns_old;
    return false;
}

struct update {
    struct check *c;
    const struct place *spec;
};

static bool is_mutable(struct update *u, const struct place *at)
{
    struct str pattern = place_pattern(u->c->arena, at, u->spec);

    if (admit_job_update_is_listed(pattern, mutable_fields, ARRAY_LEN(mutable_fields)))
        return true;
    /* The controller itself writes the name of the claim it made. */
    return str_is(pattern, "volumes[].volumeClaimName") && is_set(json_get(at->up->node, "volumeClaim"));
}

static void diff(struct update *u, const struct place *at, const struct json *old);

/* Members by key. Objects of the program are small, but labels may come by the ten thousand. */
struct admit_job_update_members {
    const struct json *object;
    struct name_map index;
    const struct json **member;
};

static void members_init(struct arena *a, struct admit_job_update_members *m, const struct json *object)
{
    size_t i = 0;

    m->object = object;
    if (json_count(object) < 32)
        return;
    m->member = arena_array(a, const struct json *, json_count(object));
    JSON_FOREACH(item, object) {
        m->member[i] = item;
        (void)name_map_add(a, &m->index, json_key(item), i++, NULL); /* a parsed object has each key once */
    }
}

static const struct json *members_get(const struct admit_job_update_members *m, struct str key)
{
    size_t i;

    if (!m->member)
        return json_get_str(m->object, key);
    return name_map_find(&m->index, key, &i) ? m->member[i] : NULL;
}

/* Those of the new object, then those only the old one has. */
static void diff_members(struct update *u, const struct place *at, const struct json *old)
{
    struct admit_job_update_members was = { 0 }, is = { 0 };

    members_init(u->c->arena, &was, old);
    members_init(u->c->arena, &is, at->node);
    JSON_FOREACH(m, at->node) {
        struct place below = { at, m, json_key(m), 0 };

        diff(u, &below, members_get(&was, json_key(m)));
    }
    JSON_FOREACH(m, old) {
        struct place below = { at, NULL, json_key(m), 0 };

        if (!members_get(&is, json_key(m)))
            diff(u, &below, m);
    }
}

static void diff_items(struct update *u, const struct place *at, const struct json *old)
{
    const struct json *other = old->first;

    PLACE_FOREACH(item, at) {
        diff(u, &item, other);
        other = other->next;
    }
}

static void diff(struct update *u, const struct place *at, const struct json *old)
{
    const struct json *new = at->node;

    if (is_nothing(at->key, new) && is_nothing(at->key, old))
        return;
    if (json_is(new, JSON_OBJECT) && json_is(old, JSON_OBJECT)) {
        diff_members(u, at, old);
        return;
    }
    if (json_is(new, JSON_ARRAY) && json_is(old, JSON_ARRAY) && new->n == old->n) {
        diff_items(u, at, old);
        return;
    }
    if (is_same_value(at, old) || is_mutable(u, at))
        return;
    if (str_is(place_pattern(u->c->arena, at, u->spec), "tasks"))
        check_error(u->c, at, "job updates may not add or remove tasks (had %zu, got %zu)", json_count(old),
                    json_count(new));
    else
        check_error(u->c, at,
                    "is immutable: job updates may not change fields other than `minAvailable`, `tasks[*].replicas "
                    "under spec` and `PriorityClassName` (and here maxRetry, ttlSecondsAfterFinished, and of tasks "
                    "minAvailable and partitionPolicy.totalPartitions); delete the job and create it again");
}

void job_update_rules(struct check *c, const struct place *spec, const struct json *old_spec)
{
    struct update u = { c, spec };

    diff(&u, spec, old_spec);
}
