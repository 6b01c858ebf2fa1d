/* audit.h - the audit log: a line for each request, with its user and its result
 *
 * JSON lines of audit.k8s.io/v1 Events, stage ResponseComplete (ResponseStarted for what has no end, such as a watch),
 * level Metadata, or Request for writes if bodies are enabled. The file has mode 0600 and is rotated when it is full:
 * audit.log, audit.log.1 (the one before), … The oldest is deleted.
 *
 * Never logged: tokens and other credentials, bodies of Secrets, TokenRequests, TokenReviews and ConfigMaps (as in
 * the audit policy of Kubernetes), and bodies above a limit.
 *
 * A full disk does not stop the server. Events that cannot be written are lost and counted. The first is logged as an
 * error, and when writing works again the audit log gets an event with their number.
 */
#ifndef AUTH_AUDIT_H
#define AUTH_AUDIT_H

#include "auth/identity.h"
#include "auth/rbac.h"
#include "base/err.h"

struct audit;
struct clock;

struct audit_options {
    const char *path;    /* copied */
    size_t max_bytes;    /* of one file; 0: 100 MiB */
    unsigned keeps;      /* older ones; 0: 4 */
    bool has_bodies;     /* level Request for writes */
    struct clock *clock; /* borrowed; NULL: the real one */
};

int audit_open(const struct audit_options *opt, struct audit **ret, struct err *e);
void audit_free(struct audit *a); /* NULL is fine */

/* Open the file again, after an administrator has moved it. */
void audit_reopen(struct audit *a);
bool audit_has_bodies(const struct audit *a);

struct audit_event {
    struct str id; /* Audit-ID; empty: one is made */
    struct str uri, address, agent;
    const struct identity *who;           /* NULL: unauthenticated */
    const struct identity *impersonated;  /* NULL: none */
    const struct rbac_question *question; /* what was asked for */
    struct str version;                   /* of the API */
    int status;                           /* HTTP */
    struct str reason;                    /* of a refusal or failure; may be empty */
    bool is_allowed;
    struct str why;          /* rbac_reason(); may be empty */
    const struct json *body; /* NULL: none */
    int64_t received_us;     /* wall clock */
    bool is_started;         /* the answer has begun and has no end yet */
};

void audit_write(struct audit *a, const struct audit_event *ev);

struct audit_stats {
    uint64_t written, lost, rotations;
};
struct audit_stats audit_stats(const struct audit *a);

#endif
