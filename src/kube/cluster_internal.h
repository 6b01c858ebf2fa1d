/* cluster_internal.h - what the files of cluster_kube share
 *
 * cluster.c    the door: events to deliver, timers, one turn
 * reflector.c  one type: list, watch, and what to do when either ends
 * call.c       writes and reads: sent, answered
 * gather.c     deletes that can wait, many in one request
 * decode.c     from the server's text to objects and errors
 * path.c       where objects are
 */
#ifndef KUBE_CLUSTER_INTERNAL_H
#define KUBE_CLUSTER_INTERNAL_H

#include "base/list.h"
#include "base/log.h"
#include "base/rand.h"
#include "json/mask.h"
#include "json/stream.h"
#include "kube/cluster.h"
#include "kube/credential.h"
#include "kube/pace.h"
#include "kube/path.h"

enum {
    OBJECT_MAX = 16 << 20, /* bytes of one object; servers take a tenth of that */
    ANSWER_MS = 30000,     /* an answer to a write or read is whole within this time */
    PATIENCE_MS = 50000,   /* a write that could not even be sent is given up; the driver's own patience is 60 s */
    PAGE_ITEMS = 500,
    GATHER_IDLE_MS = 1000,  /* a delete that can wait does so until nothing was sent for this long … */
    GATHER_BUSY_MS = 10000, /* … at most this long … */
    GATHER_MAX = 128,       /* … or until there are so many; also the number of names in one selector */
    WATCH_MIN_S = 300,
    WATCH_MAX_S = 600,
    WATCH_IDLE_MS = 150000, /* bookmarks come every minute */
    BACKOFF_MIN_MS = 200,
    BACKOFF_MAX_MS = 30000,
    ABSENT_MS = 30000,
};

struct kube;

struct kind { /* how one type is read */
    const struct resource_type *type;
    const struct kube_view *view; /* NULL: all of it */
    const struct json_mask *object, *event;
    struct str api_version;
};

struct news { /* one thing to tell */
    struct list_link link;
    enum cluster_event_kind kind;
    const struct resource_type *type;
    struct object *object;
    uint64_t rev;
    struct answer *answer; /* CLUSTER_RESULT */
};

struct answer {
    uint64_t token;
    struct err err;
    bool is_unknown;
};

enum reflector_state {
    REFLECTOR_RESTS, /* until 'due_ms' */
    REFLECTOR_LISTS, /* a page is on its way */
    REFLECTOR_WATCHES,
};

struct reflector {
    struct list_link link;
    struct kube *kube;
    const struct kind *kind;
    enum reflector_state state;
    int64_t due_ms;
    struct http_exchange *exchange;
    uint64_t generation; /* of the credential it was sent with */
    struct buf version;  /* go on from here; empty: list first */
    struct buf next;     /* the next page of the list; empty: the first */
    bool is_listing;     /* CLUSTER_RELIST was reported and CLUSTER_SYNCED was not */
    bool is_initial;     /* the watch began with a list, which has not ended */
    bool only_lists;     /* the server cannot do that for this type */
    bool is_absent;      /* the server does not know the type: told as empty */
    struct json_items items;
    struct json_lines lines;
    int64_t began_ms;
    uint64_t n_events;
    unsigned failures; /* in a row */
    uint64_t lag_rev;  /* a version that was written here, of which the watch has not told; 0: none */
    int64_t lag_us;    /* … and when */
    struct err trouble;
    struct followed *followed; /* it is about one object; NULL: about all that the view has */
};

struct followed {
    struct str namespace, name, selector; /* the bytes follow */
    struct object *object;                /* as told last; NULL: it is not there */
    bool is_seen;                         /* by the list that is being read */
    uint64_t token;                       /* to be answered; 0: it was */
};

struct gathered { /* what a delete that can wait is about; the bytes follow */
    struct str namespace, label, uid;
    bool waits; /* in kube.gathering */
};

struct call {
    struct list_link link; /* kube.waiting, kube.flying, kube.gathering, or the members of another */
    struct kube *kube;
    uint64_t token;
    const struct kind *kind;
    bool is_read;
    enum op_kind op;
    const char *method, *body_type, *accept;
    struct buf path, body;
    int64_t accepted_ms, sent_ms;
    uint64_t generation;
    bool has_new_identity; /* the second try after a 401 */
    kube_asked_f asked;    /* cluster_kube_ask(): there is no kind and no token */
    void *asked_ctx;
    struct gathered *gathered; /* it can wait for others; NULL: it cannot */
    struct list *members;      /* calls that it stands for; NULL: it stands for itself */
    struct http_exchange *exchange;
};

struct kube {
    struct cluster cluster;
    struct cluster_kube_options opt;
    struct clock *clock;
    struct http_client *http;    /* of calls */
    struct http_client *streams; /* of lists and watches */
    struct credential *credential;
    struct buf certificate; /* the one the client has from a plugin */
    struct rand rand;
    struct pace pace;
    struct arena arena;   /* kinds and their masks */
    struct arena scratch; /* one document */
    struct kind **kinds;  /* by row of resource_types; NULL: not needed yet */
    struct buf agent, manager;

    struct list reflectors, waiting, flying;
    struct list gathering; /* deletes that wait for others, 'n_gathering' of them */
    size_t n_gathering;
    bool never_gathers; /* the server does not let us */
    struct list news;
    struct object *lent; /* of the event given out last */
    unsigned n_given;    /* events since cluster_next() last said no */
    uint64_t tokens;
    int64_t expired_ms; /* when waiting requests were last looked at */
    int64_t sent_ms;    /* when the last request was sent */

    int epoll, timer, plugin; /* plugin: the descriptor of one that runs and is in the epoll; -1 */
    int64_t armed_ms;
    bool only_lists; /* the server has no sendInitialEvents */
    struct kube_stats stats;
    struct err logged; /* the trouble logged last, and when */
    int64_t logged_ms;
};

/* ---- cluster.c ---- */

int64_t kube_mono_ms(const struct kube *k);
const struct kind *kube_kind(struct kube *k, const struct resource_type *type);

/* Takes the object. */
void kube_tell(struct kube *k, enum cluster_event_kind kind, const struct resource_type *type, struct object *take,
               uint64_t rev);
void kube_answer(struct kube *k, const struct resource_type *type, struct object *take, const struct answer *answer);

/* The identity to send with. READY: put it into the request. */
enum credential_state kube_identify(struct kube *k, struct http_request *r, uint64_t *ret_generation, struct err *e);

/* ---- reflector.c ---- */

struct reflector *reflector_new(struct kube *k, const struct kind *kind);
struct reflector *reflector_follow(struct kube *k, const struct kind *kind, struct str namespace, struct str name);
bool reflector_follows(const struct reflector *r, const struct resource_type *type, struct str namespace,
                       struct str name);
void reflector_free(struct reflector *r);
void reflector_turn(struct reflector *r, int64_t now_ms);
/* A write has made this version: how long until the watch tells? */
void reflectors_expect(struct kube *k, const struct resource_type *type, uint64_t rev);

/* ---- call.c ---- */

uint64_t call_write(struct kube *k, const struct op *op);
uint64_t call_read(struct kube *k, const struct resource_type *type, struct str namespace, struct str name);
void call_ask(struct kube *k, const struct kube_question *q);
void calls_recall(struct kube *k); /* the right to write has ended: all writes fail */
void calls_turn(struct kube *k, int64_t now_ms);
int64_t calls_due(const struct kube *k);
void call_free(struct call *r);

struct call *call_new(struct kube *k, const struct resource_type *type);
void call_give_up(struct call *c, const struct err *e, bool is_unknown);
void call_delete_body(struct buf *out, const struct op *op);

/* ---- gather.c ---- */

/* Is this a delete that may wait for others, and be done together with them? Then it is kept here. */
bool gather_take(struct call *c, const struct op *op);
/* Send what waits, if it is time. */
void gather_turn(struct kube *k, int64_t now_ms);
int64_t gather_due(const struct kube *k);
/* The answer to a call with members: each is answered, or sent by itself. Frees the call. */
void gather_done(struct call *c, struct str body);
void gather_failed(struct call *c, const struct http_answer *a);
void gather_free(struct call *c); /* what call_free() does for it */

/* ---- decode.c ---- */

/* The object of a tree that was read by the kind's mask; NULL with an error if it has no name or version. */
struct object *decode_tree(struct kube *k, const struct kind *kind, struct json *tree, struct err *e);
/* Of its text. */
struct object *decode_object(struct kube *k, const struct kind *kind, struct str text, struct err *e);

/* An answer that is no success (status 300 and above), as an error: a Status if the body is one. 'a' keeps nothing. */
void decode_failure(struct kube *k, const struct http_answer *a, struct err *ret);
/* The error of a Status of that HTTP code. */
void decode_status(int code, const struct json *status, struct err *ret);
/* What Retry-After asks for; 0: nothing. */
int64_t decode_retry_ms(const struct http_answer *a);

#endif
