/* rbac.h - authorization: Roles, ClusterRoles and their bindings, as Kubernetes evaluates them
 *
 * An index over the four kinds of rbac.authorization.k8s.io: from a name or a group to the bindings that name it, from
 * there to the rules. It is kept up to date by calls (rbac_put, rbac_remove) or by watching a store, and answers from
 * memory: a question costs about a microsecond.
 *
 * As in Kubernetes:
 *   - Nothing is allowed unless a rule allows it, and no rule forbids. The group system:masters may do everything.
 *   - A RoleBinding gives the rules of its role in its own namespace only, also those of a ClusterRole; a
 *     ClusterRoleBinding gives them everywhere and for paths. A Role is found in the namespace of the binding.
 *   - A binding to a role that is not there gives nothing, and gives it when the role comes.
 *   - A ClusterRole with an aggregationRule has the rules of those that it selects, and what these select in turn; its
 *     own are not looked at.
 *   - A user cannot grant permissions that he does not have: rbac_check_write().
 */
#ifndef AUTH_RBAC_H
#define AUTH_RBAC_H

#include "auth/identity.h"
#include "json/problem.h"

#define RBAC_GROUP "rbac.authorization.k8s.io"

struct rbac;
struct store;

struct rbac *rbac_new(void);
void rbac_free(struct rbac *r); /* NULL is fine */

/* ---- updates ---- other kinds are ignored ---- */

void rbac_put(struct rbac *r, const struct json *object); /* new, or instead of the one of that name */
void rbac_remove(struct rbac *r, const struct json *object);

/* Read all from a store and follow it; rbac_turn() takes in what has changed since. Call it before a question when the
 * store may have changed: it costs nothing when it has not. The store must outlive it. */
int rbac_follow(struct rbac *r, struct store *store, struct err *e);
int rbac_turn(struct rbac *r, struct err *e);

/* ---- asking ---- */

struct rbac_question { /* a resource, or a path */
    struct str verb;   /* "get", "list", …; of a path: the method in small letters */
    struct str path;   /* not empty: "/healthz", and what follows is not looked at */
    struct str namespace, group, resource, subresource, name;
};

struct rbac_binding;
struct rbac_verdict {
    bool is_allowed;
    const struct rbac_binding
        *by; /* that allows it; NULL: it is not, or by system:masters. Until the next rbac_put … */
};

struct rbac_verdict rbac_decide(struct rbac *r, const struct identity *who, const struct rbac_question *q);
bool rbac_allows(struct rbac *r, const struct identity *who, const struct rbac_question *q);

/* ---- saying why ---- */

/* 'RBAC: allowed by ClusterRoleBinding "x" of ClusterRole "y" to Group "z"'; where it is not allowed, roles that are
 * bound and missing: 'RBAC: role.rbac.authorization.k8s.io "x" not found'. May be empty. */
struct str rbac_reason(struct rbac *r, struct arena *a, const struct identity *who, const struct rbac_question *q,
                       const struct rbac_verdict *verdict);

/* 'User "x" cannot list resource "pods" in API group "" in the namespace "default"' */
struct str rbac_sentence(struct arena *a, const struct identity *who, const struct rbac_question *q);
/* 'pods "p" is forbidden: User …: RBAC: …', and the whole Status of a 403. */
struct str rbac_forbidden(struct arena *a, const struct identity *who, const struct rbac_question *q,
                          struct str reason);
struct json *rbac_forbidden_status(struct arena *a, const struct identity *who, const struct rbac_question *q,
                                   struct str reason);

/* ---- looking ---- */

/* All rules that hold in a namespace (empty: those that hold everywhere), as PolicyRules. */
void rbac_rules_for(struct rbac *r, struct arena *a, const struct identity *who, struct str namespace,
                    struct json *ret_rules);

/* The aggregated rules of a ClusterRole, to be written into the object. NULL: it has no aggregationRule, or does not
 * exist. */
struct json *rbac_aggregated(struct rbac *r, struct arena *a, struct str cluster_role);

/* Write these rules into the ClusterRoles of the watched store if they differ, as the controller of Kubernetes does.
 * Goes on after a failed write, and returns -1 with the first error. */
int rbac_fill(struct rbac *r, struct err *e);
uint64_t rbac_changes(const struct rbac *r); /* another number after each role or binding that came, changed or went */

struct rbac_stats {
    size_t roles, bindings, subjects;
};
struct rbac_stats rbac_stats(const struct rbac *r);

/* ---- writing roles and bindings ---- */

/* Defaults (apiGroup of subjects and of roleRef) and validation of one of the four kinds; 'old' NULL: it is new. */
void rbac_admit_defaults(struct arena *a, struct json *object);
void rbac_admit_check(const struct place *object, const struct json *old, struct problems *ps);

/* May this user write it? To write a role takes its rules or the verb "escalate"; to bind one takes its rules or the
 * verb "bind". ERR_FORBIDDEN with the words of Kubernetes, ERR_NOT_FOUND: the role to bind does not exist. A write
 * that changes neither rules, subjects nor role is always allowed. */
struct rbac_write {
    const struct identity *who;
    const struct json *object, *old; /* 'old' NULL: it is created */
};
int rbac_check_write(struct rbac *r, struct arena *a, const struct rbac_write *write, struct err *e);

/* ---- default roles ---- */

/* cluster-admin, admin, edit, view, system:discovery, system:basic-user, system:public-info-viewer, … and their
 * bindings, appended as objects. A server creates the missing ones when it starts, so that changes by an
 * administrator stay. */
void rbac_default_objects(struct arena *a, struct json *ret_list);
int rbac_make_defaults(struct store *store, struct err *e);

#endif
