/* security.h - what a pod asks for beyond its own walls: the Pod Security Standard "restricted"
 *
 * One table holds the rules of "restricted" (those of "baseline" are among them), as Kubernetes 1.37 has them. Some of
 * what they forbid only lacks a line that closes a door; the rest opens one to the machine, and that is a danger by
 * itself.
 *
 * One rule of Kubernetes is not here: with `hostUsers: false` it asks less of a pod. Pods of tenants have users of
 * their own (TENANT_ANNOTATION), whatever that field says, and it changes nothing.
 */
#ifndef API_POD_SECURITY_H
#define API_POD_SECURITY_H

#include "json/problem.h"

struct security_rule {
    const char *must;   /* the rest of the sentence "<field> …", for an error */
    const char *danger; /* what the pod gets by it, for a notice; NULL: nothing */
};

/* Call 'each' for every field of the pod or pod template at 'pod' ({metadata, spec}) that is against the standard. A
 * required field that is missing is reported at its place. */
typedef void (*security_finding_f)(void *ctx, const struct place *at, const struct security_rule *rule);
void pod_security_walk(const struct place *pod, security_finding_f each, void *ctx);

/* Each of them as an error. */
void pod_security_check(const struct place *pod, struct problems *ps);

/* Annotation "UID:GID" of a pod whose creator is only that UNIX user: its host paths and the files below them are
 * opened and created as that user. */
#define HOST_USER_ANNOTATION "pumice/host-paths-as"

/* An annotation of a pod that an identity other than "runAs: any" asked for (auth/runas.h): words that commas separate.
 * "ids": its user and group ids are of the range of its namespace; "user": they are those of one UNIX user. What the
 * configuration opens to it: "host-files", "host-services". Words that are not known open nothing. */
#define TENANT_ANNOTATION "pumice/tenant"

enum { TENANT_IDS = 65536, TENANT_ID_MAX = TENANT_IDS - 1 }; /* of a range: as many as Kubernetes gives a pod */

struct tenant {
    bool is_tenant;         /* false: there is no such annotation, and nothing below holds */
    bool has_own_ids;       /* of its namespace's range; else those the pod has are right */
    bool has_host_files;    /* the host's files may be its root */
    bool has_host_services; /* it may reach what listens at addresses of the host */
};

struct tenant tenant_of(const struct json *pod);
struct str tenant_text(struct arena *a, const struct tenant *t); /* the annotation; is_tenant */

#endif
