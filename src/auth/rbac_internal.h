/* rbac_internal.h - roles as they are matched, bindings as they are found */
#ifndef AUTH_RBAC_INTERNAL_H
#define AUTH_RBAC_INTERNAL_H

#include "auth/rbac.h"
#include "base/map.h"
#include "base/vec.h"

struct selector;
struct watch;

struct words {
    const struct str *v;
    size_t n;
    bool has_all; /* "*" is among them */
};

struct rule {
    uint32_t verbs; /* bits of the usual ones; all of them for "*" */
    struct words verb_list, groups, resources, names, urls;
    const struct json *raw;
};

struct role {       /* one that is there, or that a binding names */
    struct str key; /* "namespace/name", "/name": in 'memory' */
    struct str name;
    struct arena memory;
    size_t n_bindings; /* that name it */
    bool is_there, is_aggregate;

    struct arena arena; /* of all that follows; of an aggregate the rules are in those that it selects */
    const struct json *labels;
    VEC(struct selector *) selectors;
    VEC(const struct rule *) rules;
    struct arena aggregated;
};

struct subject_ref {
    struct str kind, name, namespace; /* as written */
    struct str key;                   /* "u:NAME", "g:NAME"; empty: it can never be anybody */
};

struct rbac_binding {
    struct arena arena;
    struct str key, namespace, name;
    struct str role_kind, role_name;
    struct role *role; /* NULL: of a kind that is none */
    VEC(struct subject_ref) subjects;
};

struct grants { /* sorted by the binding's name */
    const struct rbac_binding **v;
    size_t n, cap;
};

struct rbac_space {
    struct grants grants;
    size_t n;
    char namespace[];
};

struct subject { /* who has bindings */
    struct grants everywhere;
    struct map spaces; /* by namespace: struct rbac_space */
    char key[];
};

enum { RBAC_KINDS = 4 };

struct rbac {
    struct map roles, bindings, subjects; /* by their keys */
    bool aggregates_are_stale;
    struct store *store;
    struct watch *watches[RBAC_KINDS];
    uint64_t seen_rev, changes;
};

/* ---- rules ---- */

struct asked { /* a question, made ready for many rules */
    const struct rbac_question *q;
    uint32_t verb; /* its bit; 0: none of the usual ones */
};
struct asked asked_of(const struct rbac_question *q);
bool rule_allows(const struct rule *rule, const struct asked *asked);
/* 'sub' has one verb, and one URL or one group, resource and at most one name. */
bool rule_covers(const struct rule *owner, const struct rule *sub);

struct words words_of(struct arena *a, const struct json *list);
bool words_have(const struct words *w, struct str word);
const struct rule *rule_compile(struct arena *a, const struct json *raw);

/* ---- the index ---- */

struct str role_key(struct arena *a, struct str namespace, struct str name);
const struct role *rbac_role(struct rbac *r, struct str namespace, struct str name); /* NULL: not there */
/* Call for each binding that reaches 'who' in 'namespace', clusterwide ones first, until it returns false. */
typedef bool each_binding_f(void *ctx, const struct rbac_binding *b);
void rbac_each_binding(struct rbac *r, const struct identity *who, struct str namespace, each_binding_f *each,
                       void *ctx);
void rbac_settle(struct rbac *r); /* aggregates are right after it */
void rbac_unfollow(struct rbac *r);

#endif
