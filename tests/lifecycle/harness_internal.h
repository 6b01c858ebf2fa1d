/* harness_internal.h - what the parts of the harness share */
#ifndef LIFECYCLE_HARNESS_INTERNAL_H
#define LIFECYCLE_HARNESS_INTERNAL_H

#include "base/map.h"
#include "harness.h"

/* ---- base_store.c, base_kube.c: what the small cluster stands on ---- */

struct h_base {
    void (*open)(struct h *h);
    void (*close)(struct h *h); /* after the controllers */

    /* Borrowed until the next call. NULL: there is none. 'namespace' counts for kinds that have one. */
    const struct object *(*get)(struct h *h, const struct resource_type *type, struct str name);
    /* In order of names; 'each' must not call back. */
    void (*list)(struct h *h, const struct resource_type *type, void (*each)(void *ctx, const struct object *o),
                 void *ctx);
    /* A write, and its answer. '*ret' may be NULL. */
    int (*apply)(struct h *h, const struct op *op, struct object **ret, struct err *e);

    struct cluster *(*door)(struct h *h); /* for a controller, or somebody who looks */
    void (*shut)(struct h *h, struct cluster *door);
    /* Nothing happens now. True: something may, and was waited for; false: all that was written is known everywhere. */
    bool (*wait)(struct h *h);
    bool (*wait_for)(struct h *h, struct cluster *door); /* the same for a door that only somebody who looks has */
};

extern const struct h_base h_base_store, h_base_kube;

/* ---- door.c ---- */

struct h_answer;

struct h_door {
    struct cluster cluster;
    struct cluster *inner;
    struct h *h;
    struct h_answer *answers; /* a ring */
    size_t first, n;
    uint64_t last_token;
    struct map_u64 lost; /* of writes that take effect, but whose answers do not come: struct err by token */
};

struct h_door *h_door_new(struct h *h);

const struct resource_type *h_type(const char *name); /* fails the test if there is none */
bool h_is_kind(const struct resource_type *t, const char *kind);

/* ---- objects.c ---- */

const char *h_keep(struct h *h, struct str s);                   /* a copy until the end of the test */
const struct object *h_must_find(struct h *h, const char *what); /* borrowed until the next write */
struct json *h_copy(struct h *h, const struct object *o);        /* to be changed and stored again */
void h_update(struct h *h, const char *what, struct json *tree, enum op_kind kind);
void h_apply(struct h *h, const char *what, const struct op *op); /* fails the test if that is refused */
void h_put_status(struct h *h, const char *what, struct json *status);
bool h_is_deleting(const struct json *root);

struct h_list {
    struct h *h;
    struct str job_uid;
    const char *task, *phase, *reason, *text;
    bool is_terminating;
    size_t n;
    VEC(const char *) names;
};

struct h_list h_list_pods(struct h *h, const char *job, const char *task, const char *phase, bool terminating);

/* ---- harness.c ---- */

int h_fake_keys(void *ctx, struct arena *a, const char *type, struct ssh_keys *ret, struct err *e);

#endif
