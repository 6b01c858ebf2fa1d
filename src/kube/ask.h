/* ask.h - one question, one answer: for commands that look at a cluster and end
 *
 * Each call waits until its answer is there. For programs that stay and watch, see cluster.h.
 *
 * Errors are those of cluster.h: ERR_NOT_FOUND, ERR_FORBIDDEN with the server's own sentence ("pods is forbidden: User
 * …"), ERR_IO when it cannot be reached, with what to do. Requests to a busy server (429, 503 with Retry-After)
 * are retried for up to half a minute; a rejected credential is renewed once.
 */
#ifndef KUBE_ASK_H
#define KUBE_ASK_H

#include "api/types.h"
#include "base/vec.h"
#include "kube/config.h"

struct kube_ask;

int kube_ask_open(const struct kube_config *config, struct kube_ask **ret, struct err *e); /* the config outlives it */
void kube_ask_close(struct kube_ask *k);                                                   /* NULL is fine */

/* The document at 'path', in 'a'. */
int kube_ask_get(struct kube_ask *k, struct arena *a, struct str path, struct json **ret, struct err *e);

/* A document that is not JSON: "/metrics". */
int kube_ask_text(struct kube_ask *k, struct arena *a, struct str path, struct str *ret, struct err *e);

/* One object; the namespace is ignored for kinds that have none. */
int kube_ask_object(struct kube_ask *k, struct arena *a, const struct object_key *key, struct json **ret,
                    struct err *e);

/* Any request. '*ret' is the answer; after a failure it is the server's Status with all that 'e' has no room for, or NULL
 * if it sent none. 'ret' may be NULL. */
struct kube_call {
    const char *method;
    struct str path;
    struct str body;       /* empty: none */
    const char *body_type; /* NULL: application/json */
    const char *accept;    /* NULL: application/json */
};
int kube_ask_call(struct kube_ask *k, struct arena *a, const struct kube_call *call, struct json **ret, struct err *e);

struct kube_list {
    VEC(struct json *) items; /* each with apiVersion and kind */
};

/* All objects of a type, of one namespace (empty: of all), page by page; appended to '*ret'. The key's name is ignored.
 * Of Pods only the fields that a scheduler reads. */
int kube_ask_list(struct kube_ask *k, struct arena *a, const struct object_key *what, struct kube_list *ret,
                  struct err *e);

/* ---- what lasts: logs that are followed, watches, terminals ---- nothing here waits ---- */

struct kube_stream; /* gone when on_end returns */

struct kube_stream_events {
    void *ctx;
    void (*on_open)(void *ctx); /* a WebSocket is there. May be NULL */
    void (*on_data)(void *ctx, struct str data);
    void (*on_end)(void *ctx, const struct err *e); /* NULL: the server ended it. Exactly once */
};

/* GET 'path'. Fails at once (-1) if there is no credential; all other errors come by on_end. */
int kube_ask_stream(struct kube_ask *k, struct str path, const struct kube_stream_events *events,
                    struct kube_stream **ret, struct err *e);

/* The same, as a WebSocket of the protocol of exec (v5.channel.k8s.io): on_data has a whole message. */
int kube_ask_websocket(struct kube_ask *k, struct str path, const struct kube_stream_events *events,
                       struct kube_stream **ret, struct err *e);
void kube_stream_write(struct kube_stream *s, struct str first, struct str rest); /* one message of both */
size_t kube_stream_queued(const struct kube_stream *s);
void kube_stream_end(struct kube_stream *s); /* no more callbacks */

int kube_ask_fd(const struct kube_ask *k); /* readable: call kube_ask_turn(), in which all callbacks are made */
void kube_ask_turn(struct kube_ask *k);

#endif
