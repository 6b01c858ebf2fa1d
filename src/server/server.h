/* server.h - the Kubernetes API on a store: what kubectl and client libraries talk to
 *
 *     struct server *s = server_new(&options);
 *     http_server_options.on_request = server_request, .ctx = s;
 *     for (;;) { http_server_turn(…); due_ms = server_turn(s); }
 *
 * A request is parsed by tables (path, verb, what the client accepts), its user is known and allowed (struct
 * server_access), objects are defaulted and checked (admission.c), written to the store, and answered in the same turn:
 * as JSON, YAML, a Table or metadata only. Watches are fed by server_turn(), from the store's own changes; whoever else
 * writes to the store is seen by them like any client.
 *
 * What pods do on this machine (logs, exec, attach, port-forward) is the kubelet's (kubelet/kubelet.h): its code takes
 * over the call. Without one these subresources answer 503.
 *
 * One thread. Nothing here blocks.
 */
#ifndef SERVER_SERVER_H
#define SERVER_SERVER_H

#include "api/types.h"
#include "base/err.h"
#include "http/server.h"
#include "json/json.h"

struct clock;
struct kubelet;
struct server;
struct store;

/* ---- who asks, and may they ---- */

struct server_user {
    struct str name, uid;
    const struct str *groups;
    size_t n_groups;
};

struct server_attributes { /* of a request, as RBAC sees them */
    const struct server_user *user;
    const char *verb;                                 /* "list"; without a resource the method, "get" */
    struct str group, version, resource, subresource; /* resource: empty where there is none */
    struct str namespace, name;                       /* may be empty */
    struct str path;                                  /* of what is no resource: "/metrics" */
};

struct server_access { /* each may be NULL: see access.c for what is done then */
    void *ctx;
    /* The user, in 'a'; whom he asks to be, where he may (Impersonate-User). False: the credentials are wrong (401).
     * Somebody without any is system:anonymous. */
    bool (*authenticate)(void *ctx, struct arena *a, const struct http_call *call, struct server_user *ret);
    /* '*ret_reason' may be set either way. */
    bool (*authorize)(void *ctx, struct arena *a, const struct server_attributes *at, struct str *ret_reason);
    /* May he write this, the verb aside: rights that he gives away, pods that open the machine. 'old': what is there;
     * NULL: nothing. -1: the error is the answer (403 for ERR_FORBIDDEN). */
    int (*write)(void *ctx, struct arena *a, const struct server_user *user, const struct json *object,
                 const struct json *old, struct err *e);
    /* A TokenReview's or TokenRequest's status; NULL: not offered (404). */
    int (*token)(void *ctx, struct arena *a, struct str namespace, struct str account, const struct json *request,
                 struct json **ret_status, struct err *e);
};

/* ---- patches ---- */

enum server_patch_kind { PATCH_JSON, PATCH_MERGE, PATCH_STRATEGIC, PATCH_APPLY, SERVER_PATCH_KIND_MAX };

struct server_patch {
    enum server_patch_kind kind;
    const struct resource_type *type;
    struct str subresource, manager; /* manager: fieldManager, or the beginning of the User-Agent */
    bool is_forced;
    const struct json *live; /* NULL: PATCH_APPLY makes it */
    const struct json *patch;
};

/* What a patch makes of 'live', in 'a'. NULL: JSON patch, merge patch and strategic merge as src/json has them, and
 * apply as src/patch has it. */
typedef int (*server_patch_f)(void *ctx, struct arena *a, const struct server_patch *p, struct json **ret,
                              struct err *e);

/* ---- the server ---- */

struct server_options {
    struct store *store;
    struct clock *clock;     /* that of the store */
    struct kubelet *kubelet; /* NULL: there are no pods on this machine. Outlives the server's requests */
    struct server_access access;
    struct str admin_token; /* of the one user there is without 'access'; outlives it. Empty: nobody needs one */
    struct str root_ca;     /* PEM, for the ConfigMap kube-root-ca.crt of each namespace; may be empty */
    server_patch_f patch;
    void *patch_ctx;
    struct str scheduler_name; /* of pods that name none, or Kubernetes' own; empty: "volcano" */
    /* More lines for /metrics; NULL: none. */
    void (*metrics)(void *ctx, struct buf *out);
    /* Why does this job wait? Takes over the call and answers with the JSON of `pumice explain`, or server_refuse()s. NULL:
     * not offered. */
    void (*explain)(void *ctx, struct http_call *call, struct str namespace, struct str name);
    /* Is all ready? Else say why in 'out'. NULL: yes. */
    bool (*ready)(void *ctx, struct buf *out);
    void *ctx;
};

/* Makes the namespaces, queues and priority classes that are always there. */
struct server *server_new(const struct server_options *opt);
/* Ends watches, and frees it. Before the HTTP server is freed. NULL is fine. */
void server_free(struct server *s);

void server_request(void *server, struct http_call *call); /* http_server_options.on_request */

/* Answer a call with a Status of this code: for those who take over calls (kubelet_options.refuse). */
void server_refuse(struct http_call *call, int code, struct str why);

/* Defaults of what others in this process create, as those of what clients do (cluster_complete_f). */
void server_complete(void *server, struct arena *a, const struct resource_type *type, struct json *body);

/* Feed watches, end namespaces, forget old events. Milliseconds until it is due again even if nothing happens. */
int64_t server_turn(struct server *s);

/* It goes: watches are ended in an orderly way, /readyz fails. */
void server_stop(struct server *s);

#endif
