/* rbac_escalate.c - privilege escalation: no user grants permissions that he does not have
 *
 * The rules that are to be given are broken down to single grants (one verb, one resource, one name); each must be
 * covered by a rule that the giver has where the role will be good. The error lists the missing grants, put together
 * again by resource, in the words of Kubernetes.
 */
#include "api/meta.h"
#include "auth/rbac_internal.h"
#include "base/util.h"

/* ---- single grants ---- */

struct grant {
    struct str verb, group, resource, name, url; /* url, or group and resource */
    bool has_name;
};

struct escalate_check {
    struct arena *arena;
    VEC(const struct rule *) owned;
    VEC(struct grant) missing;
    VEC(const struct rbac_binding *) broken; /* bindings of the giver to roles that are not there */
    size_t n; /* looked at: rules that multiply to more than anybody writes are refused */
};

enum { GRANTS_MAX = 100000 };

static struct words one(const struct str *s)
{
    return (struct words){ s, 1, str_is(*s, "*") };
}

static void escalate_look_at(struct escalate_check *c, struct grant g)
{
    struct rule sub = { .verb_list = one(&g.verb) };

    c->n++;
    if (g.url.n)
        sub.urls = one(&g.url);
    else {
        sub.groups = one(&g.group);
        sub.resources = one(&g.resource);
    }
    if (g.has_name)
        sub.names = one(&g.name);
    VEC_FOREACH(own, &c->owned)
        if (rule_covers(*own, &sub))
            return;
    *vec_push(c->arena, &c->missing) = g;
}

static void break_down_resource(struct escalate_check *c, const struct rule *r, struct grant g)
{
    for (size_t v = 0; v < r->verb_list.n && c->n < GRANTS_MAX; v++) {
        g.verb = r->verb_list.v[v];
        g.has_name = r->names.n > 0;
        for (size_t i = 0; i < r->names.n; i++) {
            g.name = r->names.v[i];
            escalate_look_at(c, g);
        }
        if (!r->names.n)
            escalate_look_at(c, g);
    }
}

static void break_down(struct escalate_check *c, const struct rule *r)
{
    for (size_t g = 0; g < r->groups.n; g++)
        for (size_t i = 0; i < r->resources.n && c->n < GRANTS_MAX; i++)
            break_down_resource(c, r, (struct grant){ .group = r->groups.v[g], .resource = r->resources.v[i] });
    for (size_t u = 0; u < r->urls.n; u++)
        for (size_t v = 0; v < r->verb_list.n && c->n < GRANTS_MAX; v++)
            escalate_look_at(c, (struct grant){ .url = r->urls.v[u], .verb = r->verb_list.v[v] });
}

/* ---- telling ---- */

static void print_list(struct buf *out, const char *name, struct str only)
{
    buf_fmt(out, "%s%s:[", out->p[out->n - 1] == '{' ? "" : ", ", name);
    buf_quote(out, only, SIZE_MAX);
    buf_char(out, ']');
}

static bool is_same_place(const struct grant *a, const struct grant *b)
{
    return !a->url.n && !b->url.n && str_eq(a->group, b->group) && str_eq(a->resource, b->resource) &&
           a->has_name == b->has_name && str_eq(a->name, b->name);
}

/* The grant at 'at' and those after it that differ in the verb only. */
static struct str escalate_describe(struct escalate_check *c, size_t at)
{
    const struct grant *g = &c->missing.v[at];
    autobuf out = { 0 };

    buf_char(&out, '{');
    if (g->url.n)
        print_list(&out, "NonResourceURLs", g->url);
    else {
        print_list(&out, "APIGroups", g->group);
        print_list(&out, "Resources", g->resource);
    }
    if (g->has_name)
        print_list(&out, "ResourceNames", g->name);
    buf_fmt(&out, ", Verbs:[");
    buf_quote(&out, g->verb, SIZE_MAX);
    for (size_t i = at + 1; i < c->missing.n; i++)
        if (is_same_place(g, &c->missing.v[i])) {
            buf_char(&out, ' ');
            buf_quote(&out, c->missing.v[i].verb, SIZE_MAX);
        }
    buf_fmt(&out, "]}");
    return arena_str(c->arena, buf_view(&out));
}

static bool was_told(const struct escalate_check *c, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (is_same_place(&c->missing.v[i], &c->missing.v[at]))
            return true;
    return false;
}

static int escalate_by_text(const void *a, const void *b)
{
    return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

static void print_groups(struct buf *out, const struct identity *who)
{
    buf_char(out, '[');
    for (size_t i = 0; i < who->n_groups; i++) {
        if (i)
            buf_char(out, ' ');
        buf_quote(out, who->groups[i], SIZE_MAX);
    }
    buf_char(out, ']');
}

/* Those that hold everywhere first, by their names. */
static int by_place(const void *a, const void *b)
{
    const struct rbac_binding *x = *(const struct rbac_binding *const *)a, *y = *(const struct rbac_binding *const *)b;

    return x->namespace.n && !y->namespace.n ? 1 : !x->namespace.n && y->namespace.n ? -1 : str_cmp(x->name, y->name);
}

static void print_broken(struct buf *out, struct escalate_check *c)
{
    const char *before = "; resolution errors: [";

    if (c->broken.n)
        qsort(c->broken.v, c->broken.n, sizeof(*c->broken.v), by_place);
    for (size_t i = 0; i < c->broken.n; i++) {
        const struct rbac_binding *b = c->broken.v[i];

        if (i && b == c->broken.v[i - 1]) /* reached by the name and by a group */
            continue;
        buf_fmt(out, "%s%ss." RBAC_GROUP " ", before, str_is(b->role_kind, "Role") ? "role" : "clusterrole");
        buf_quote(out, b->role_name, SIZE_MAX);
        buf_fmt(out, " not found");
        before = " ";
    }
    if (c->broken.n)
        buf_char(out, ']');
}

static struct str escalate_tell(struct escalate_check *c, const struct identity *who)
{
    enum { TOLD_MAX = 50 };
    VEC(struct str) lines = { 0 };
    autobuf out = { 0 };

    for (size_t i = 0; i < c->missing.n && lines.n < TOLD_MAX; i++)
        if (!was_told(c, i))
            *vec_push(c->arena, &lines) = escalate_describe(c, i);
    if (lines.n)
        qsort(lines.v, lines.n, sizeof(*lines.v), escalate_by_text);
    buf_fmt(&out, "user ");
    buf_quote(&out, who->user, SIZE_MAX);
    buf_fmt(&out, " (groups=");
    print_groups(&out, who);
    buf_fmt(&out, ") is attempting to grant RBAC permissions not currently held:");
    for (size_t i = 0; i < lines.n; i++)
        if (!i || !str_eq(lines.v[i], lines.v[i - 1]))
            buf_fmt(&out, "\n%.*s", STR_ARG(lines.v[i]));
    print_broken(&out, c);
    return arena_str(c->arena, buf_view(&out));
}

/* ---- the question ---- */

struct write { /* of one object by one person */
    struct rbac *rbac;
    struct arena *arena;
    const struct identity *who;
    const struct json *object, *old;
    struct str namespace;
    const char *plural;
};

static int escalate_refuse(const struct write *w, struct str why, struct err *e)
{
    return err_set(e, ERR_FORBIDDEN, "%s." RBAC_GROUP " \"%.*s\" is forbidden: %.*s", w->plural,
                   STR_ARG(object_name(w->object)), STR_ARG(why));
}

static bool own_rules(void *ctx, const struct rbac_binding *b)
{
    struct escalate_check *c = ctx;

    if (!b->role || !b->role->is_there)
        *vec_push(c->arena, &c->broken) = b;
    for (size_t i = 0; b->role && i < b->role->rules.n; i++)
        *vec_push(c->arena, &c->owned) = b->role->rules.v[i];
    return true;
}

static int confirm(const struct write *w, const struct rule *const *rules, size_t n, struct err *e)
{
    struct escalate_check c = { .arena = w->arena };

    rbac_each_binding(w->rbac, w->who, w->namespace, own_rules, &c);
    for (size_t i = 0; i < n; i++)
        break_down(&c, rules[i]);
    if (c.n >= GRANTS_MAX)
        return escalate_refuse(w, STR("it has too many rules to check: use \"*\" or several roles"), e);
    return c.missing.n ? escalate_refuse(w, escalate_tell(&c, w->who), e) : 0;
}

static bool may(const struct write *w, const char *verb, const char *plural, struct str name)
{
    return rbac_allows(w->rbac, w->who,
                       &(struct rbac_question){ .verb = str_of(verb),
                                                .group = STR(RBAC_GROUP),
                                                .resource = str_of(plural),
                                                .namespace = w->namespace,
                                                .name = name });
}

static bool is_equal(const struct write *w, const char *field)
{
    const struct json *a = json_get(w->object, field), *b = json_get(w->old, field);

    return (!json_count(a) && !json_count(b)) || (a && b && json_equal(a, b));
}

/* An aggregated role gets the rules of all roles that are labelled later, so only a cluster-admin may write one. */
static int check_aggregation(const struct write *w, struct err *e)
{
    static const char all[] = "[{\"apiGroups\":[\"*\"],\"resources\":[\"*\"],\"verbs\":[\"*\"]},"
                              "{\"nonResourceURLs\":[\"*\"],\"verbs\":[\"*\"]}]";
    struct json *rules;
    const struct rule *both[2];

    if (json_parse(w->arena, str_of(all), NULL, &rules, e) < 0)
        return -1;
    both[0] = rule_compile(w->arena, json_at(rules, 0));
    both[1] = rule_compile(w->arena, json_at(rules, 1));
    if (confirm(w, both, 2, NULL) == 0)
        return 0;
    return escalate_refuse(w, STR("must have cluster-admin privileges to use the aggregationRule"), e);
}

static int check_role(const struct write *w, struct err *e)
{
    VEC(const struct rule *) rules = { 0 };
    bool aggregates = json_is(json_get(w->object, "aggregationRule"), JSON_OBJECT);

    if (w->old && is_equal(w, "rules") && is_equal(w, "aggregationRule"))
        return 0;
    if (may(w, "escalate", w->plural, w->old ? object_name(w->object) : STR_NULL)) /* a create has no name there */
        return 0;
    if (aggregates && check_aggregation(w, e) < 0)
        return -1;
    JSON_FOREACH(rule, json_get(w->object, "rules"))
        *vec_push(w->arena, &rules) = rule_compile(w->arena, rule);
    return confirm(w, rules.v, rules.n, e);
}

static int check_binding(const struct write *w, struct err *e)
{
    const struct json *ref = json_get(w->object, "roleRef");
    struct str kind = json_member_text(ref, "kind"), name = json_member_text(ref, "name");
    bool is_cluster = str_is(kind, "ClusterRole");
    const struct role *role;

    if (w->old && is_equal(w, "roleRef") && is_equal(w, "subjects"))
        return 0;
    if (may(w, "bind", is_cluster ? "clusterroles" : "roles", name))
        return 0;
    role = rbac_role(w->rbac, is_cluster ? STR_NULL : w->namespace, name);
    if (!role || (!is_cluster && !w->namespace.n))
        return err_set(e, ERR_NOT_FOUND, "%ss." RBAC_GROUP " \"%.*s\" not found", is_cluster ? "clusterrole" : "role",
                       STR_ARG(name));
    return confirm(w, role->rules.v, role->rules.n, e);
}

int rbac_check_write(struct rbac *r, struct arena *a, const struct rbac_write *write, struct err *e)
{
    static const struct {
        const char *kind, *plural;
        int (*check)(const struct write *w, struct err *e);
        bool is_cluster;
    } rows[] = {
        { "Role", "roles", check_role, false },
        { "ClusterRole", "clusterroles", check_role, true },
        { "RoleBinding", "rolebindings", check_binding, false },
        { "ClusterRoleBinding", "clusterrolebindings", check_binding, true },
    };
    const struct json *object = write->object;
    struct write w = { r, a, write->who, object, write->old, STR_NULL, NULL };

    if (identity_has_group(write->who, STR(GROUP_MASTERS)))
        return 0;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (str_is(object_kind(object), rows[i].kind)) {
            w.plural = rows[i].plural;
            w.namespace = rows[i].is_cluster ? STR_NULL : object_namespace(object);
            return rows[i].check(&w, e);
        }
    return 0;
}
