/* harness_internal.h - what the parts of the harness share */
#ifndef LIFECYCLE_HARNESS_INTERNAL_H
#define LIFECYCLE_HARNESS_INTERNAL_H

#include "harness.h"

/* ---- door.c ---- */

struct h_answer;

struct h_door {
    struct cluster cluster;
    struct cluster *inner;
    struct h *h;
    struct h_answer *answers; /* a ring */
    size_t first, n;
    uint64_t last_token;
};

struct h_door *h_door_new(struct h *h);

const struct resource_type *h_type(const char *name); /* fails the test if there is none */
bool h_is_kind(const struct resource_type *t, const char *kind);

/* ---- objects.c ---- */

const char *h_keep(struct h *h, struct str s);                   /* a copy until the end of the test */
const struct object *h_must_find(struct h *h, const char *what); /* borrowed until the next write */
struct json *h_copy(struct h *h, const struct object *o);        /* to be changed and stored again */
void h_update(struct h *h, const char *what, const struct json *tree, enum store_part part);
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
