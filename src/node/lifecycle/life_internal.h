/* life_internal.h - shared by the files of life.h: the records of the pod and its containers
 *
 * Decisions are made in one place: life_step() walks over the pod and returns the first action that can be taken now.
 * Every check of a time goes through life_is_due(), which also remembers the earliest time in the future. So a walk
 * that finds no action has seen every timer, and life_due_ms() cannot miss one.
 */
#ifndef NODE_LIFE_INTERNAL_H
#define NODE_LIFE_INTERNAL_H

#include "base/buf.h"
#include "base/list.h"
#include "base/util.h"
#include "base/vec.h"
#include "node/lifecycle/life.h"

enum {
    LIFE_GRACE_S = 30, /* default of terminationGracePeriodSeconds */
    LIFE_TERM_MS =
        2000, /* minimum between SIGTERM and SIGKILL, however long a hook took (none with a grace period of 0) */
    LIFE_BACKOFF_MS = 10 *
                      1000, /* before the second restart; the first is immediate, each further one doubles the delay */
    LIFE_BACKOFF_MAX_MS = 300 * 1000,
    LIFE_RETRY_MS = 1000, /* before retrying a failed sandbox or start */
    LIFE_RETRY_MAX_MS = 60 * 1000,
    LIFE_HOOK_MS = 24 * 3600 * 1000, /* postStart has no limit in Kubernetes; the longest on the wire is a day */
    LIFE_MESSAGE_MAX = 4096,         /* as Kubernetes cuts termination messages */
    LIFE_EVENTS_MAX = 100,           /* kept if the owner does not fetch them */
};

enum life_phase { LIFE_PENDING, LIFE_RUNNING, LIFE_SUCCEEDED, LIFE_FAILED, LIFE_PHASE_MAX };
extern const char *const life_phase_names[LIFE_PHASE_MAX];

struct life_pass { /* one walk of life_step() */
    int64_t now_ms;
    int64_t due_ms; /* the earliest time in the future that was checked */
    struct life_action *ret;
};

static inline bool life_is_due(struct life_pass *k, int64_t at_ms)
{
    if (at_ms <= k->now_ms)
        return true;
    k->due_ms = MIN_OF(k->due_ms, at_ms);
    return false;
}

/* Saturating; both must not be negative. */
static inline int64_t life_add(int64_t a, int64_t b)
{
    return a > INT64_MAX - b ? INT64_MAX : a + b;
}

/* ---- a container ---- */

enum life_probe_kind { LIFE_STARTUP, LIFE_LIVENESS, LIFE_READINESS, LIFE_PROBE_KIND_MAX };

struct life_probe {          /* of the attempt that runs */
    const struct json *spec; /* NULL: the container has none */
    int64_t next_ms;         /* not before */
    uint64_t id;             /* of the running probe; 0: none */
    int32_t n_same;          /* consecutive results equal to the last one */
    bool was_ok;             /* the last one */
    bool is_ok;              /* the last result that met its threshold; false at first */
    bool is_over;            /* final: startup decided, or liveness failed */
};

enum life_hook_state { LIFE_HOOK_NONE, LIFE_HOOK_TODO, LIFE_HOOK_RUNS, LIFE_HOOK_DONE };

struct life_hook {
    const struct json *spec; /* NULL: none */
    enum life_hook_state state;
    uint64_t id;      /* 0: not running */
    int64_t until_ms; /* end of a sleep hook; INT64_MAX: another kind of hook */
};

struct life_end_of_con { /* progress of stopping a container */
    bool is_on, is_forced, is_termed, is_killed;
    bool restarts;    /* restart it afterwards whatever its exit code, unless restartPolicy is Never */
    int64_t until_ms; /* the end of its grace period */
    int64_t termed_ms;
};

struct life_past { /* an ended attempt */
    bool is_set;
    int exit_code, signo;
    const char *reason;
    struct buf message, id;
    int64_t started_ms, finished_ms;
};

enum life_con_state { LIFE_CON_IDLE, LIFE_CON_STARTING, LIFE_CON_RUNNING };

struct life_con {
    const struct json *spec;
    struct object *from;          /* the object that owns 'spec' */
    const struct json *resources; /* in force; may be NULL */
    struct object *sized;         /* the object that owns 'resources'; NULL: they are part of 'spec' */
    bool is_resizing;             /* it is restarting for a resize */
    struct str name;
    bool is_init, is_sidecar, is_ephemeral;
    enum life_con_state state;
    bool is_done;     /* init container: the next one may start */
    bool is_over;     /* will not be started again */
    bool is_unknown;  /* the pod ended before its first start */
    int n_attempts;   /* attempts that ran, or failed for good */
    int64_t start_ms; /* not before */
    int64_t backoff_ms, backoff_set_ms;
    int64_t retry_ms;
    struct buf wait_reason, wait_message; /* why it waits; empty: no special reason */
    struct buf image_id;                  /* empty: not known yet */

    int64_t started_ms; /* the attempt that runs */
    struct buf id;
    struct life_hook post, pre;
    struct life_probe probes[LIFE_PROBE_KIND_MAX];
    struct life_end_of_con stop;
    struct life_past last, before; /* the two last ended attempts, 'before' is the older one */
};

/* ---- the pod ---- */

enum life_condition_type {
    LIFE_COND_SANDBOX,
    LIFE_COND_INITIALIZED,
    LIFE_COND_READY,
    LIFE_COND_CONTAINERS,
    LIFE_COND_SCHEDULED,
    LIFE_COND_MAX,
};
extern const char *const life_condition_names[LIFE_COND_MAX];

struct life_condition {
    bool is_known; /* since_ms is valid */
    bool is_true;
    const char *reason; /* NULL: none */
    struct buf message;
    int64_t since_ms;
};

enum life_box { LIFE_BOX_NONE, LIFE_BOX_MAKING, LIFE_BOX_MADE, LIFE_BOX_UNMAKING };

struct life_said { /* an event that was not fetched yet */
    struct list_link link;
    bool is_warning;
    struct str container;
    struct buf reason, message;
};

struct life {
    struct object *first;              /* the pod at life_new(): its spec counts */
    struct object *pod;                /* the newest pod object */
    VEC(struct life_con) cons;         /* init, main, then ephemeral containers; on the heap */
    VEC(struct life_con) inits, mains; /* parts of it */
    enum { LIFE_ALWAYS, LIFE_ON_FAILURE, LIFE_NEVER } policy;
    int64_t start_ms; /* the pod's startTime */
    const char *qos;

    enum life_box box;
    bool is_broken; /* the sandbox died: remove it and create another */
    int64_t make_ms, make_retry_ms;
    struct buf make_reason, make_message; /* why creating it failed */
    struct buf pod_ip, host_ip;

    struct {
        bool is_on; /* no container is started from now on */
        bool is_forced, keeps_waiting;
        int64_t until_ms;
        bool has_phase; /* the final phase is decided: */
        enum life_phase phase;
        struct buf reason, message;
    } stop;
    struct {
        bool waits, is_error; /* waits for room, or (is_error) for lower usage */
        int64_t generation, since_ms;
        struct buf why;
    } resize;
    bool has_ended, is_past; /* is_past: had ended at life_new() */
    bool said_gone;

    enum life_phase phase;
    struct life_condition conditions[LIFE_COND_MAX];
    bool is_changed;
    uint64_t last_id;
    int64_t due_ms;

    struct list events;
    size_t n_events;
    struct life_said *told; /* the event returned last */
};

/* life.c */
void life_set_text(struct buf *b, struct str text); /* truncates to LIFE_MESSAGE_MAX */
int64_t life_seconds(const struct json *parent, const char *key, int64_t fallback_s); /* in ms; never negative */
int64_t life_spec_grace(const struct life *l);                                        /* ms */
#define LIFE_RESIZE_PENDING     "PodResizePending"
#define LIFE_RESIZE_IN_PROGRESS "PodResizeInProgress"
/* Which of the two conditions holds; NULL: none. '*ret_reason' may be NULL. */
const char *life_resize_condition(const struct life *l, const char **ret_reason);
void life_resize_take(struct life *l, struct life_con *c,
                      const struct json *status); /* takes the amounts in its earlier status */
void life_resize_started(struct life *l, struct life_con *c);
void life_resize_update(struct life *l);           /* the pod object changed: its resize may be obsolete */
int64_t life_generation(const struct object *pod); /* 0: unset */
struct str life_pod_text(const struct life *l, struct arena *a); /* "name_namespace(uid)" */

/* life_container.c */
/* 'list': the member of the pod's spec that it is in. */
void life_con_init(struct life_con *c, const struct object *pod, const struct json *spec, const char *list);
void life_con_done(struct life_con *c);
static inline bool life_con_is_active(const struct life_con *c)
{
    return c->state != LIFE_CON_IDLE;
}
/* Its program is running and its postStart hook, if any, has ended. */
static inline bool life_con_is_up(const struct life_con *c)
{
    return c->state == LIFE_CON_RUNNING && (c->post.state == LIFE_HOOK_NONE || c->post.state == LIFE_HOOK_DONE);
}
bool life_con_is_started(const struct life_con *c); /* up, and its startup probe succeeded */
bool life_con_is_ready(const struct life_con *c);
bool life_start_step(struct life *l, struct life_pass *k);
bool life_post_step(struct life *l, struct life_con *c, struct life_pass *k);
void life_con_killed(struct life *l, struct life_con *c, struct str message, int64_t now_ms); /* for life_lost() */
/* Restore its state from an earlier status. */
void life_con_take(struct life *l, struct life_con *c, const struct json *old, int64_t now_ms);
/* The same for a container that was found; 'old' may be NULL. If it has ended, life_ended() follows. */
void life_con_found(struct life *l, struct life_con *c, const struct json *old, const struct life_found *f);
void life_con_again(struct life_con *c, int64_t now_ms); /* for a new sandbox: start from the beginning */
void life_check_init(struct life_con *c);                /* mark a sidecar as done if the next container may start */
void life_action_of(struct life_pass *k, enum life_action_kind kind, const struct life_con *c);
/* One step of a hook. True: an action was set. */
bool life_hook_step(struct life *l, struct life_con *c, struct life_hook *h, int64_t timeout_ms, struct life_pass *k);

/* life_probe.c */
void life_probes_begin(struct life_con *c);
bool life_probe_step(struct life *l, struct life_con *c, struct life_pass *k);
struct life_result { /* of a probe or hook */
    uint64_t id;
    bool is_ok;
    struct str message;
};
bool life_probe_result(struct life *l, struct life_con *c, const struct life_result *r, int64_t now_ms);

/* life_stop.c */
/* Stop the pod: start nothing more and stop what runs; if it is stopping already, maybe shorten the grace period. */
void life_begin_stop(struct life *l, int64_t grace_ms, int64_t now_ms);
/* Stop one container. 'why' is the message of the Killing event. */
void life_con_stop(struct life *l, struct life_con *c, int64_t grace_ms, int64_t now_ms, struct str why);
void life_con_join_stop(struct life *l, struct life_con *c, int64_t now_ms); /* of the pod */
bool life_stop_step(struct life *l, struct life_con *c, struct life_pass *k);

/* life_phase.c */
enum life_shown { LIFE_SHOWS_WAITING, LIFE_SHOWS_RUNNING, LIFE_SHOWS_ENDED };
enum life_shown life_shown(const struct life *l, const struct life_con *c); /* as its status says */
bool life_shows_last(const struct life *l, const struct life_con *c);       /* lastState shows 'last'; else 'before' */
bool life_shows_ready(const struct life *l, const struct life_con *c);
bool life_is_finished(const struct life *l); /* all its containers have ended for good, or an init container failed */
bool life_is_active(const struct life *l);   /* a container is running or starting */
/* Update phase and conditions. Called at the end of every function that reports an event. */
void life_settle(struct life *l, int64_t now_ms);

/* life_event.c */
/* Queue an Event, normal or a warning, of a container (NULL: of the pod). */
void life_say(struct life *l, const struct life_con *c, struct str reason, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void life_warn(struct life *l, const struct life_con *c, struct str reason, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void life_events_done(struct life *l);

#endif
