/* review.h - questions about rights and identities as objects: what `kubectl auth can-i` and `whoami` send
 *
 * Each takes the object that was sent and gives a copy of it with status filled in, which is the answer (201; nothing is
 * stored). ERR_INVALID names the field.
 */
#ifndef AUTH_REVIEW_H
#define AUTH_REVIEW_H

#include "auth/identity.h"
#include "base/err.h"

struct authn;
struct rbac;

struct review_env {
    struct rbac *rbac;
    const struct authn *authn;  /* for TokenReview */
    const struct identity *who; /* that asks */
    struct str namespace;       /* of the request: LocalSubjectAccessReview */
    int64_t now_ms;
};

typedef int review_f(const struct review_env *env, struct arena *a, const struct json *object, struct json **ret,
                     struct err *e);

review_f review_subject_access;       /* SubjectAccessReview: may spec.user, spec.groups …? */
review_f review_local_subject_access; /* the same, in the namespace of the request */
review_f review_self_subject_access;  /* SelfSubjectAccessReview: may I …? */
review_f review_self_subject_rules;   /* SelfSubjectRulesReview: what may I in spec.namespace? */
review_f review_self_subject;         /* SelfSubjectReview: who am I? */
review_f review_token;                /* TokenReview: whose is spec.token? */

/* The one for a kind; NULL: it is no review. */
review_f *review_for(struct str kind);

#endif
