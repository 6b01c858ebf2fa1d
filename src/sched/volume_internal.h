/* volume_internal.h - what volume.c and volume_limit.c share */
#ifndef SCHED_VOLUME_INTERNAL_H
#define SCHED_VOLUME_INTERNAL_H

#include "sched/volume.h"

struct volume_claim {
    struct str key;                 /* "namespace/name" */
    struct str volume, class, node; /* node: the one that was selected for it */
    struct arena arena;
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

struct volume {
    struct str name, driver;
    const struct node_rule *rule; /* NULL: everywhere */
    VEC(struct zone_label) zones;
    struct arena arena;
};

static inline struct str volume_claim_key(struct arena *a, struct str namespace, struct str name)
{
    return arena_fmt(a, "%.*s/%.*s", STR_ARG(namespace), STR_ARG(name));
}

/* What a CSINode says; NULL: there is none. False: that changes nothing. */
bool volume_limits_put(struct sched_model *m, struct str node, const struct json *drivers);

#endif
