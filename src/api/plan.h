/* plan.h - a list of writes: what a controller wants done next
 *
 * Controllers are pure: they look at what was observed and the time, and fill in a plan. The driver applies it, and
 * what comes of it is observed again. Writes of one plan go out in order, but each stands alone: any of them may fail,
 * be repeated, or take effect without an answer, so a plan must be right to start again from any point.
 *
 * A decision (a new phase, a retry, a command obeyed) is one status write and the only write of its plan; what follows
 * from it is planned when that write has come back.
 */
#ifndef API_PLAN_H
#define API_PLAN_H

#include "base/vec.h"
#include "json/json.h"

struct resource_type;

enum op_kind {
    OP_CREATE, /* body */
    OP_UPDATE, /* body: the main resource, spec and metadata; body's metadata.resourceVersion is the precondition */
    OP_UPDATE_STATUS, /* body: only status is taken; the same precondition */
    OP_MERGE_PATCH,   /* body: RFC 7386; 'uid' is a precondition where given */
    OP_DELETE,        /* 'uid' is a precondition where given, and so is 'rev' */
    OP_PATCH_STATUS,  /* body: { status }, a strategic merge patch of the status subresource; 'uid' as above, and the
                         body's metadata.resourceVersion where given */
    OP_BIND,          /* a Pod, to a node: body is the v1 Binding; 'uid' as above. The answer may lack the object */
    OP_KIND_MAX,
};

/* Label of what is deleted when its Job has ended: the Job's uid. */
#define GATHER_LABEL "pumice.dev/job-uid"

enum propagation { PROPAGATE_BACKGROUND, PROPAGATE_FOREGROUND, PROPAGATE_ORPHAN };

/* When does the same Event count once more? */
enum event_count {
    COUNT_STATE,    /* it tells what is so: once in ten minutes */
    COUNT_DECISION, /* of a plan, which may be made again: once for each resourceVersion of its object */
    COUNT_EACH,     /* it tells what was done: each time */
};

struct op {
    enum op_kind kind;
    const struct resource_type *type;
    struct str namespace, name; /* of the object; for creates the body has them too */
    struct str uid;             /* precondition; empty: whatever is there */
    uint64_t rev;               /* OP_DELETE: precondition, the revision it was decided by; 0: whichever */
    struct json *body;
    enum propagation propagation;
    int64_t grace_s;     /* OP_DELETE: -1: the object's own */
    struct str gather;   /* OP_DELETE: all objects of this type and namespace with this GATHER_LABEL are deleted; the
                            cluster may do it a little later, with others in one request; empty: no */
    bool is_best_effort; /* no one waits for the answer; a failure is ignored */

    /* OP_CREATE of an Event (recorder.h) */
    enum event_count count;
    const struct json *whole; /* the gang that its object is a member of, as involvedObject has it; NULL: of none */
};

struct plan {
    struct arena *arena; /* everything in the plan lives here, until it is applied */
    int64_t now_ms;      /* the time it is made for; 0 where no writer of it needs one */
    VEC(struct op) ops;
    int64_t wake_ms; /* plan again at this time even if nothing happens; 0: no need */
};

struct op *plan_create(struct plan *p, const struct resource_type *type, struct json *body);
struct op *plan_update(struct plan *p, const struct resource_type *type, struct json *body);
struct op *plan_update_status(struct plan *p, const struct resource_type *type, struct json *body);

struct object_id {
    const struct resource_type *type;
    struct str namespace, name;
    struct str uid; /* a precondition of writes; empty: none */
};
struct object_id object_id_of(const struct resource_type *type, const struct json *object);

struct op *plan_patch(struct plan *p, struct object_id id, struct json *patch);
struct op *plan_delete(struct plan *p, struct object_id id);

/* 'status' becomes part of the patch: members that are null go, lists with a merge key are merged. Only for kinds with
 * a status subresource; the others take plan_patch(). */
struct op *plan_patch_status(struct plan *p, struct object_id id, struct json *status);
struct op *plan_bind(struct plan *p, struct str namespace, struct str name, struct str uid, struct str node);

/* Wake at 'ms' or earlier. */
void plan_wake(struct plan *p, int64_t ms);

/* A Kubernetes Event about 'about' (a Job …). An op like any other: OP_CREATE of an Event whose name is the object's
 * and the time of the plan, so that the Events of an object are listed in the order they happened. */
struct op *plan_event(struct plan *p, const struct json *about, const char *type, const char *reason,
                      struct str message);
#define plan_event_normal(p, about, reason, ...)                                                                       \
    plan_event((p), (about), "Normal", (reason), arena_fmt((p)->arena, __VA_ARGS__))
#define plan_event_warning(p, about, reason, ...)                                                                      \
    plan_event((p), (about), "Warning", (reason), arena_fmt((p)->arena, __VA_ARGS__))
/* Who says so, where plan_event() says the controllers do: "kubelet" on "host"; host: may be empty. */
void plan_event_from(struct plan *p, struct op *event, struct str component, struct str host);
/* An object as involvedObject has it; and: the Event is about that one. */
struct json *plan_event_ref(struct arena *a, const struct json *about);
void plan_event_about(struct arena *a, struct op *event, const struct json *ref);

#endif
