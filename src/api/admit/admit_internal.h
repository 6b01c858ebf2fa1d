/* admit_internal.h - what the admission files share: reporting without repeats, walking places, sets of names
 *
 * A rule runs only on what has the right shape; what has a wrong shape was reported by the schema check. A rule that
 * complains about a place the schema check has already complained about stays silent (see check_error), so that one
 * mistake gives one message.
 */
#ifndef API_ADMIT_ADMIT_INTERNAL_H
#define API_ADMIT_ADMIT_INTERNAL_H

#include "api/admit/admit.h"
#include "api/quantity.h"

/* ---- text to number ---- */

struct name_map { /* zeroed is empty; lives in an arena; keys are borrowed */
    struct name_slot {
        struct str key;
        size_t value;
        bool is_used;
    } * slots;
    size_t n, cap;
};

/* Add a name. False, with the first value in '*ret_first' (may be NULL), if it is there already. */
bool name_map_add(struct arena *a, struct name_map *m, struct str key, size_t value, size_t *ret_first);
bool name_map_find(const struct name_map *m, struct str key, size_t *ret_value);

/* ---- reporting ---- */

struct check {
    struct problems *ps;
    struct arena *arena;      /* scratch, that of 'ps' */
    size_t start;             /* problems before this one belong to other documents */
    struct name_map reported; /* places that have an error already */
    bool is_pod;              /* by the rules of API servers, which Volcano's admission of templates has not followed */
};

/* Rules begin: from problem 'start' of 'ps' on, the errors found so far are not to be repeated. */
struct check check_begin(struct problems *ps, size_t start);

/* Report at a place, unless the schema check already did. */
void check_of(struct check *c, enum problem_kind kind, const struct place *at, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
#define check_error(c, at, ...) check_of((c), PROBLEM_INVALID, (at), __VA_ARGS__)
#define check_warn(c, at, ...)  check_of((c), PROBLEM_ADVICE, (at), __VA_ARGS__)

/* Are there more problems than anybody will read? Then they are only counted, and no words need be made. */
bool check_is_full(const struct check *c);

/* Report at a place in the place of what the schema check said of it: the caller has a better sentence. */
void check_error_instead(struct check *c, const struct place *at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* " (did you mean "x"?)", or empty. */
struct str check_hint(struct arena *a, struct str word, const char *const *names, size_t n);

/* ---- walking ---- null counts as missing everywhere ---- */

static inline bool is_set(const struct json *j)
{
    return j && j->type != JSON_NULL;
}

/* Members of an object or elements of a list, each with its place; nothing for another type. */
#define PLACE_FOREACH(item, parent)                                                                                    \
    for (struct place item = place_step((parent), json_first((parent)->node), 0); item.node;                           \
         item = place_step(item.up, item.node->next, item.index + 1))

static inline struct place place_step(const struct place *up, const struct json *node, size_t index)
{
    return (struct place){ up, node, node && node->key ? json_key(node) : STR_NULL, index };
}

/* The member, if it has that type; else a place without a node. */
static inline struct place place_typed(const struct place *up, const char *key, enum json_type type)
{
    struct place at = place_member(up, key);

    if (!json_is(at.node, type))
        at.node = NULL;
    return at;
}
#define place_object(up, key) place_typed((up), (key), JSON_OBJECT)
#define place_list(up, key)   place_typed((up), (key), JSON_ARRAY)

/* Is the member a text that is not empty? */
bool place_text(const struct place *up, const char *key, struct str *ret);

/* Is the member a whole number? */
bool place_int(const struct place *up, const char *key, int64_t *ret);

/* "tasks[].replicas": the path below 'top' with the numbers left out. */
struct str place_pattern(struct arena *a, const struct place *at, const struct place *top);

/* ---- rules used in many places ---- */

typedef const char *(*name_check_f)(struct arena *, struct str);

/* The text at 'at' must pass; missing, empty or another type: nothing to check. */
void check_name(struct check *c, const struct place *at, name_check_f is_valid);
void check_member_name(struct check *c, const struct place *up, const char *key, name_check_f is_valid);

/* True if the member is there and not empty; an error if not. */
bool check_required(struct check *c, const struct place *up, const char *key);

/* A member that is a whole number must lie in the range. */
void check_range(struct check *c, const struct place *up, const char *key, int64_t min, int64_t max);

/* Exactly one, or at most one, of these members may be set. Returns its number, -1 if none is. */
int check_one_of(struct check *c, const struct place *up, const char *const *keys, size_t n, const char *what);
int check_at_most_one(struct check *c, const struct place *up, const char *const *keys, size_t n, const char *what);

/* { key: value } of labels, of a nodeSelector, of matchLabels; annotations have free values. */
void check_labels(struct check *c, const struct place *labels);
void check_annotations(struct check *c, const struct place *annotations);

/* A quantity (text or number) at 'at'. True if it is one and not negative; else an error. */
bool check_quantity(struct check *c, const struct place *at, struct quantity *ret);

/* A tier by number or by name, not both. 'group': the subGroupPolicy it belongs to; empty: none. */
void check_topology(struct check *c, const struct place *topology, struct str group);

/* networkTopology.mode is "hard" unless said otherwise. */
void default_topology(struct arena *a, struct json *topology, uint8_t mark);

/* Set a member and stamp it, if it is missing, null or "". */
void default_text(struct arena *a, struct json *j, const char *key, struct str value, uint8_t mark);

/* What Volcano says of a queue that does not exist; %.*s is its name. */
#define QUEUE_NOT_FOUND "queue.scheduling.volcano.sh \"%.*s\" not found"

/* The queue a job or a PodGroup names exists and is open. */
void check_queue_open(struct check *c, const struct place *at, const struct admit_env *env, bool is_job);

/* The queues whose parent this one is; none where the cluster's queues are not known. */
struct queue_children {
    size_t n;
    struct str names; /* "a, b"; the first ones */
};
struct queue_children queue_children(struct arena *a, const struct admit_env *env, struct str parent);

/* ---- pods ---- */

struct pod_check { /* one template under check */
    struct check *c;
    const struct place *spec;
    bool is_host_network;
    bool has_broken_volumes;    /* some volume has no readable name: mounts cannot be looked up */
    struct name_map containers; /* of all kinds */
    struct name_map volumes;
    struct name_map claims; /* of devices */
    struct name_map host_ports;
};

void pod_template_rules(struct check *c, const struct place *template);
void pod_container_rules(struct pod_check *pc);
void pod_probe_rules(struct pod_check *pc, const struct place *container, bool is_init);
void pod_volume_rules(struct pod_check *pc);
void pod_mount_rules(struct pod_check *pc, const struct place *container);
void pod_placement_rules(struct check *c, const struct place *spec);
void pod_list_rules(struct check *c, const struct place *spec);
void pod_security_rules(struct check *c, const struct place *spec);
void pod_field_ref_rules(struct check *c, const struct place *ref, bool is_volume);
void pod_resource_ref_rules(struct check *c, const struct place *ref, bool is_volume);
void label_selector_rules(struct check *c, const struct place *selector);

/* requests and limits of a container or a pod; other resource names than a container may have: 'is_container'. */
void resource_rules(struct check *c, const struct place *resources);
void resource_list_rules(struct check *c, const struct place *list, bool is_container);

void check_no_dotdot(struct check *c, const struct place *at); /* a path without ".." */

/* A path inside a volume: relative, without "..". */
void check_inner_path(struct check *c, const struct place *at);

/* IPv4 or IPv6 address. */
bool text_is_ip(struct str s);

/* ---- jobs ---- */

struct policy_scope {
    bool is_task;
    bool has_partition; /* the task is partitioned; for the job's own list: some task is */
};

void policy_rules(struct check *c, const struct place *policies, struct policy_scope scope);
void depends_rules(struct check *c, const struct place *tasks);
void job_update_rules(struct check *c, const struct place *spec, const struct json *old_spec);

#endif
