/* rbac_decide.c - decisions, and the rules of a user */
#include "auth/rbac_internal.h"

#include "base/util.h"

enum { KEY_MAX = 512 }; /* longer names are looked up too, a little slower */

/* ---- bindings of a user ---- */

static const struct subject *find_subject(const struct rbac *r, char kind, struct str name)
{
    char small[KEY_MAX];
    autofree char *large = name.n + 2 > sizeof(small) ? xmalloc(name.n + 2) : NULL;
    char *key = large ? large : small;

    key[0] = kind;
    key[1] = ':';
    if (name.n)
        memcpy(key + 2, name.p, name.n);
    return map_get(&r->subjects, (struct str){ key, name.n + 2 });
}

static bool rbac_decide_walk(const struct grants *g, each_binding_f *each, void *ctx)
{
    for (size_t i = 0; i < g->n; i++)
        if (!each(ctx, g->v[i]))
            return false;
    return true;
}

static bool walk_space(const struct subject *s, struct str namespace, each_binding_f *each, void *ctx)
{
    const struct rbac_space *space = s && namespace.n ? map_get(&s->spaces, namespace) : NULL;

    return !space || rbac_decide_walk(&space->grants, each, ctx);
}

void rbac_each_binding(struct rbac *r, const struct identity *who, struct str namespace, each_binding_f *each,
                       void *ctx)
{
    enum { FEW = 16 };
    const struct subject *few[FEW + 1];
    autofree const struct subject **many = who->n_groups > FEW ? xcalloc(who->n_groups + 1, sizeof(*many)) : NULL;
    const struct subject **found = many ? many : few;

    rbac_settle(r);
    found[0] = find_subject(r, 'u', who->user);
    for (size_t i = 0; i < who->n_groups; i++)
        found[i + 1] = find_subject(r, 'g', who->groups[i]);
    for (size_t i = 0; i <= who->n_groups; i++)
        if (found[i] && !rbac_decide_walk(&found[i]->everywhere, each, ctx))
            return;
    for (size_t i = 0; i <= who->n_groups; i++)
        if (!walk_space(found[i], namespace, each, ctx))
            return;
}

/* ---- asking ---- */

struct rbac_decision {
    struct asked asked;
    const struct rbac_binding *by;
};

static bool try_binding(void *ctx, const struct rbac_binding *b)
{
    struct rbac_decision *d = ctx;

    for (size_t i = 0; b->role && i < b->role->rules.n; i++)
        if (rule_allows(b->role->rules.v[i], &d->asked)) {
            d->by = b;
            return false;
        }
    return true;
}

struct rbac_verdict rbac_decide(struct rbac *r, const struct identity *who, const struct rbac_question *q)
{
    struct rbac_decision d = { .asked = asked_of(q) };

    if (identity_has_group(who, STR(GROUP_MASTERS)))
        return (struct rbac_verdict){ .is_allowed = true };
    rbac_each_binding(r, who, q->path.n ? STR_NULL : q->namespace, try_binding, &d);
    return (struct rbac_verdict){ d.by != NULL, d.by };
}

bool rbac_allows(struct rbac *r, const struct identity *who, const struct rbac_question *q)
{
    return rbac_decide(r, who, q).is_allowed;
}

/* ---- all rules ---- */

struct rbac_listing {
    struct arena *arena;
    struct json *rules;
};

static bool list_rules(void *ctx, const struct rbac_binding *b)
{
    struct rbac_listing *l = ctx;

    for (size_t i = 0; b->role && i < b->role->rules.n; i++)
        json_push(l->rules, json_clone(l->arena, b->role->rules.v[i]->raw));
    return true;
}

void rbac_rules_for(struct rbac *r, struct arena *a, const struct identity *who, struct str namespace,
                    struct json *ret_rules)
{
    rbac_each_binding(r, who, namespace, list_rules, &(struct rbac_listing){ a, ret_rules });
}

struct json *rbac_aggregated(struct rbac *r, struct arena *a, struct str cluster_role)
{
    const struct role *role = rbac_role(r, STR_NULL, cluster_role);
    struct json *rules = json_array(a);

    if (!role || !role->is_aggregate)
        return NULL;
    for (size_t i = 0; i < role->rules.n; i++) {
        bool is_new = true;

        for (size_t k = 0; k < i && is_new; k++)
            is_new = !json_equal(role->rules.v[i]->raw, role->rules.v[k]->raw);
        if (is_new)
            json_push(rules, json_clone(a, role->rules.v[i]->raw));
    }
    return rules;
}
