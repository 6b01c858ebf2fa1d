/* ctl.h - a client of a Kubernetes API: a Pumice server, or any cluster that has Volcano's kinds
 *
 * All commands of this folder use it: ctl_open(), then requests, each of which blocks until its answer. Returned
 * objects are trees in the arena of the client.
 *
 * Functions return -1 with an error that has the message of the server. An error may truncate it; ctl_message() has the
 * whole message, and ctl_exit() the exit status for an error.
 */
#ifndef CTL_CTL_H
#define CTL_CTL_H

#include "kube/ask.h"

/* Exit statuses of all commands that use an API. Wrong use is 2, as everywhere in this program. */
enum ctl_exit {
    CTL_FINE = 0,
    CTL_FAILED = 1, /* a file, the network or the server failed */
    CTL_USAGE = 2,
    CTL_REFUSED = 3, /* the server refused it: forbidden, invalid, already exists */
    CTL_TIMEOUT = 4,
    CTL_NOT_FOUND = 5,
};

struct ctl_where {           /* which API */
    const char *kubeconfig;  /* NULL: as kubectl finds it */
    const char *context;     /* NULL: the current one */
    const char *server;      /* an address instead of the one in the kubeconfig; NULL: that one */
    bool falls_on_localhost; /* without a configuration: http://localhost:8080, as old clients do */
};

/* What becomes of orders */
enum ctl_dry {
    CTL_DRY_NONE,   /* they are carried out */
    CTL_DRY_CLIENT, /* they are not sent, and succeed */
    CTL_DRY_SERVER, /* the server checks them and stores nothing */
};

struct ctl {
    struct arena *arena;
    struct kube_config config;
    struct kube_ask *ask;
    const struct json *said; /* the Status of the last refusal; NULL: it was none */
    struct kube_call asked;  /* the last request; its text lives in the arena */
    int64_t now_ms;          /* of ages */
    enum ctl_dry dry;
};

int ctl_open(struct ctl *c, struct arena *a, const struct ctl_where *where, struct err *e);
void ctl_close(struct ctl *c); /* also one that was never opened */
#define autoctl __attribute__((cleanup(ctl_close))) struct ctl

struct str ctl_message(const struct ctl *c, const struct err *e);
int ctl_exit(const struct err *e);

/* ---- types, by the names of types.h: type_by_name(STR("Job")) ---- */

const struct resource_type *ctl_type(const char *kind);

struct ctl_name {
    const struct resource_type *type;
    struct str namespace; /* ignored for kinds that have none */
    struct str name;
};
struct ctl_name ctl_name(const char *kind, struct str namespace, struct str name);
struct ctl_name ctl_name_of(const char *kind, const struct json *object);

/* ---- reading ---- */

int ctl_get(struct ctl *c, struct ctl_name name, struct json **ret, struct err *e);

struct ctl_select {
    struct str namespace, labels, fields; /* selectors; empty: all */
};
struct ctl_objects {
    VEC(struct json *) v; /* each with apiVersion and kind, without managedFields */
};
/* Page by page, appended. */
int ctl_list(struct ctl *c, const struct resource_type *type, const struct ctl_select *which, struct ctl_objects *ret,
             struct err *e);

/* The Table that the server makes of them, all pages in one, each row with its whole object. */
int ctl_rows(struct ctl *c, const struct resource_type *type, const struct ctl_select *which, struct json **ret,
             struct err *e);

/* ---- writing ---- */

/* The name is the one in 'body', not the one in 'where'. 'ret' may be NULL. */
int ctl_create(struct ctl *c, struct ctl_name where, const struct json *body, struct json **ret, struct err *e);
int ctl_delete(struct ctl *c, struct ctl_name name, struct err *e);
int ctl_merge(struct ctl *c, struct ctl_name name, const struct json *patch, struct err *e);

/* Create a Command for 'object': AbortJob, ResumeJob, OpenQueue … */
int ctl_command(struct ctl *c, struct str namespace, const struct json *object, const char *action, struct err *e);

/* ---- watching ---- */

struct ctl_watcher {
    int64_t timeout_ms; /* -1: none */
    /* True: stop watching. 'type' is "ADDED", "MODIFIED", "DELETED", or "NONE" without an object: none matches. */
    bool (*on_event)(void *ctx, struct str type, const struct json *object);
    void *ctx;
};

/* Pass the matching objects, then each change of them, to on_event() until it returns true. ERR_GONE: the timeout has
 * passed. The watch is renewed when the server ends it, also when the server restarts. */
int ctl_watch(struct ctl *c, const struct resource_type *type, const struct ctl_select *which,
              const struct ctl_watcher *watcher, struct err *e);

/* ---- text ---- */

/* "5m12s" since an RFC 3339 time, as kubectl writes ages; "<unknown>" without one. */
struct str ctl_age(struct arena *a, struct str since, int64_t now_ms);
void ctl_age_print(struct buf *out, int64_t age_ms);

#endif
