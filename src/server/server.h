/* server.h - the Kubernetes API on a store: what kubectl and client libraries talk to
 *
 *     struct server *s = server_new(&options);
 *     http_server_options.on_request = server_request, .ctx = s;
 *     for (;;) { http_server_turn(…); due_ms = server_turn(s); }
 *
 * A request is parsed by tables (path, verb, what the client accepts), its user is known and allowed (auth/auth.h,
 * access.c), objects are defaulted and checked (admission.c), written to the store, and answered in the same turn:
 * as JSON, YAML, a Table or metadata only. server_turn() feeds watches from the changes of the store, whether they
 * came from a client or from another part of the program.
 *
 * The kubelet (kubelet/kubelet.h) serves logs, exec, attach and port-forward: its code takes over the call. Without one
 * these subresources answer 503.
 *
 * One thread. Nothing here blocks.
 */
#ifndef SERVER_SERVER_H
#define SERVER_SERVER_H

#include "api/types.h"
#include "base/err.h"
#include "http/server.h"
#include "json/json.h"

struct auth;
struct clock;
struct kubelet;
struct runas_policy;
struct server;
struct store;

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
    struct clock *clock;              /* that of the store */
    struct kubelet *kubelet;          /* NULL: there are no pods on this machine. Outlives the server's requests */
    struct auth *auth;                /* who asks, and may they. Outlives it, and the HTTP server's calls */
    const struct runas_policy *runas; /* as whom pods of people run (auth/runas.h); NULL: as that says */
    bool
        enters_all; /* exec, attach, port-forward: whatever RBAC allows. Else only pods that one could create as they are */
    server_patch_f patch;
    void *patch_ctx;
    struct str pod_address; /* where programs in pods reach this server, at 'pod_port'; empty: nowhere */
    uint16_t pod_port;
    struct str scheduler_name; /* of pods that name none, or Kubernetes' own; empty: "volcano" */
    /* More lines for /metrics; NULL: none. */
    void (*metrics)(void *ctx, struct buf *out);
    /* Why does this job wait? Takes over the call and answers with the JSON of `pumice explain`, or server_refuse()s. NULL:
     * not offered. */
    void (*explain)(void *ctx, struct http_call *call, struct str namespace, struct str name);
    /* Is all ready? Else say why in 'out'. NULL: yes. */
    bool (*ready)(void *ctx, struct buf *out);
    /* Called when a CustomResourceDefinition adds a kind, which is never freed. NULL: not needed. */
    void (*on_type)(void *ctx, const struct resource_type *type);
    void *ctx;
};

/* Makes the namespaces, queues and priority classes that are always there. */
struct server *server_new(const struct server_options *opt);
/* Ends watches, and frees it. Before the HTTP server is freed. NULL is fine. */
void server_free(struct server *s);

void server_head(void *server, struct http_call *call);    /* http_server_options.on_head */
void server_request(void *server, struct http_call *call); /* http_server_options.on_request */

/* Answer a call with a Status of this code: for those who take over calls (kubelet_options.refuse). */
void server_refuse(struct http_call *call, int code, struct str why);

/* Defaults and quotas of what others in this process create, as those of what clients do (cluster_complete_f). */
int server_complete(void *server, struct arena *a, const struct resource_type *type, struct json *body, struct err *e);

/* Feed watches, end namespaces, forget old events. Milliseconds until it is due again even if nothing happens. */
int64_t server_turn(struct server *s);

/* Other rules for pods that are asked for from now on. Outlives it, or the next call. */
void server_set_runas(struct server *s, const struct runas_policy *policy, bool enters_all);

/* auth_turn() says that keys have changed: pods get the new CA. */
void server_keys_changed(struct server *s);

/* It goes: watches are ended in an orderly way, /readyz fails. */
void server_stop(struct server *s);

#endif
