/* kubelet_internal.h - what the files of kubelet.h share
 *
 * kubelet.c   open, turn, close; which request is whose
 * auth.c      who asks, and may they
 * logs.c      output of containers, also as it comes
 * records.c   all that a pod writes, from before it begins to its end
 * exec.c      commands in containers, and attach
 * tunnel.c    connections to ports of pods
 * pod_proxy.c HTTP requests to ports of pods
 * usage.c     what pods use, for metrics-server
 */
#ifndef KUBELET_KUBELET_INTERNAL_H
#define KUBELET_KUBELET_INTERNAL_H

#include "base/list.h"
#include "base/map.h"
#include "base/util.h"
#include "kubelet/kubelet.h"
#include "node/agent/agent.h"

/* ---- kubelet.c ---- */

struct kubelet {
    struct kubelet_options opt;
    struct buf address;
    struct http_server *server; /* NULL: calls come by kubelet_take() */
    int epoll;
    struct list requests; /* struct kubelet_request: those that wait for a review */
    struct map verdicts;  /* struct verdict by who and what */
    struct list logs, records, execs, tunnels, proxies;
    size_t n_proxies;
    struct list left; /* struct left_pod, oldest first */
    size_t left_bytes;
};

struct kubelet_source { /* a descriptor in the kubelet's epoll */
    int fd;             /* -1: none */
    uint32_t events;
    void (*on_ready)(struct kubelet_source *s);
};
void source_watch(struct kubelet *k, struct kubelet_source *s, uint32_t events); /* 0: not for now */
void source_close(struct kubelet *k, struct kubelet_source *s);

/* What a request is about; text is in 'arena'. */
struct target {
    struct kubelet *kubelet;
    struct arena *arena;
    struct http_call *call;
    struct agent_place place;
};
bool target_flag(const struct target *t, const char *name, const char *other); /* there, and not "0" or "false" */
/* A whole number; 'fallback' where there is none. -1: it is none, and the call was answered. */
int target_number(const struct target *t, const char *name, int64_t fallback, int64_t *ret);
void answer_error(struct kubelet *k, struct http_call *call, const struct err *e);
void answer_text(struct kubelet *k, struct http_call *call, int status, const char *text);

/* ---- auth.c ---- */

/* Find out whether the call may be answered, and serve it, now or later; or answer it with 401 or 403. */
void auth_begin(struct kubelet *k, struct http_call *call, const char *subresource, bool acts);
void auth_done(struct kubelet *k);

/* ---- logs.c, records.c, exec.c, tunnel.c, usage.c ---- */

void serve_logs(const struct target *t);
void logs_turn(struct kubelet *k);
int64_t logs_due_ms(const struct kubelet *k); /* until the next turn */
void logs_done(struct kubelet *k);

void serve_records(const struct target *t);
void records_turn(struct kubelet *k);
int64_t records_due_ms(const struct kubelet *k);
void records_done(struct kubelet *k);

void serve_exec(const struct target *t);
void serve_attach(const struct target *t);
void execs_done(struct kubelet *k);

void serve_tunnel(const struct target *t);
void tunnels_done(struct kubelet *k);

void pod_proxies_done(struct kubelet *k);
struct proxy_names { /* of one proxy: what stands before the pod's path, our host, the pod's */
    struct str prefix, host, address;
};
/* Where a Location of the pod's leads for the client: its own pages are below 'prefix', others stay as they are. */
struct str proxy_location(struct arena *a, struct str url, const struct proxy_names *names);

void serve_usage(const struct target *t);

#endif
