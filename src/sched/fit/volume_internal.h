/* volume_internal.h - what volume.c, volume_match.c and volume_limit.c share
 *
 * A claim is known by its key as soon as its object exists, or a pod with a place or a volume (spec.claimRef) names it.
 * It is forgotten when the last of these has left.
 */
#ifndef SCHED_FIT_VOLUME_INTERNAL_H
#define SCHED_FIT_VOLUME_INTERNAL_H

#include "sched/fit/volume.h"

struct selector; /* api/selector.h */

struct volume_want { /* what a claim asks of a volume, or a volume has */
    __int128 bytes_nano;
    uint32_t modes; /* bits: ReadWriteOnce … */
    bool is_block;
    struct str class, attributes; /* storageClassName, volumeAttributesClassName */
};

struct volume_claim {
    struct str key; /* "namespace/name"; behind this struct */

    /* what the object says */
    bool exists;
    struct str uid, volume, node; /* node: the one that was selected for it */
    struct volume_want want;
    const struct selector *selector;
    bool matches_nothing; /* its selector is no selector */
    struct arena arena;

    uint32_t uses;            /* by pods with a place, tried out or real */
    struct fit_volume *taken; /* kept for it while it is not bound; NULL: none */
    struct list named_by;     /* struct fit_volume.in_order, the smallest first */
};

struct storage_class {
    struct str name;
    bool waits; /* for the first consumer */
    struct str provisioner;
    const struct node_rule *rule; /* NULL: everywhere */
    struct arena arena;
};

struct zone_label { /* an old volume says where it is by labels; "a__b": in both */
    struct str key, value;
};

struct fit_volume {
    struct str name; /* behind this struct */
    struct str driver;
    struct volume_want has;
    const struct json *labels;    /* or NULL */
    const struct node_rule *rule; /* NULL: everywhere */
    struct str host;              /* the only host its rule has; empty: it may have several */
    VEC(struct zone_label) zones;
    bool is_available; /* its phase, and it is not being deleted */
    bool is_going;
    struct arena arena;

    struct volume_claim *claim;    /* spec.claimRef; NULL: none */
    struct str claim_uid;          /* … empty: whatever its uid is */
    struct volume_shelf *shelf;    /* NULL: it is not free */
    struct list_link in_order;     /* volume_claim.named_by or volume_shelf.volumes */
    struct volume_claim *taken_by; /* its 'taken' is this one */
};

static inline struct str volume_claim_key(struct arena *a, struct str namespace, struct str name)
{
    return arena_fmt(a, "%.*s/%.*s", STR_ARG(namespace), STR_ARG(name));
}

#define VOLUME_HOST_KEY "kubernetes.io/hostname"
#define NO_PROVISIONER  "kubernetes.io/no-provisioner"

static inline bool class_has_provisioner(const struct storage_class *c)
{
    return !str_is(c->provisioner, NO_PROVISIONER);
}

/* ---- volume.c ---- */

struct volume_claim *volume_claim_need(struct sched_model *m, struct str key);
void volume_claim_release(struct sched_model *m, struct volume_claim *c); /* freed unless an object names it */
bool volume_reaches(const struct fit_volume *v, const struct sched_node *n);

/* The class of a claim that is not bound and takes a volume when its pod has a place; NULL: it does not. */
const struct storage_class *volume_waiting_class(const struct sched_model *m, const struct volume_claim *c);

/* ---- volume_match.c ---- */

/* The object of a volume came or goes: out before its members change, in after. */
void volume_shelve(struct sched_model *m, struct fit_volume *v);
void volume_unshelve(struct sched_model *m, struct fit_volume *v);
void volume_untake(struct sched_model *m, struct volume_claim *c); /* its volume is free again */
void volume_shelves_done(struct sched_model *m);

/* News of a volume, or of the claim it names: is it still kept for the right one? */
void volume_taken_check(struct sched_model *m, struct fit_volume *v);

/* Is there a volume for it that the node reaches, taken or not? */
bool volume_is_near(const struct sched_model *m, const struct volume_claim *c, const struct sched_node *n);

/* A pod of the class sits down on the node: volumes are kept for its claims; or it leaves. */
void volume_match_take(struct sched_model *m, struct sched_node *n, const struct pod_class *c);
void volume_match_give(struct sched_model *m, const struct pod_class *c);

/* ---- volume_limit.c ---- */

/* What a CSINode says; NULL: there is none. False: that changes nothing. */
bool volume_limits_put(struct sched_model *m, struct str node, const struct json *drivers);

#endif
