/* rbac_rule.c - one rule: what it allows, and whether it covers another */
#include "auth/rbac_internal.h"

#include "base/util.h"

static const char *const usual_verbs[] = { "get",    "list",  "watch",    "create",
                                           "update", "patch", "delete",   "deletecollection",
                                           "bind",   "use",   "escalate", "impersonate" };
#define ALL_VERBS UINT32_MAX

static uint32_t verb_bit(struct str verb)
{
    for (size_t i = 0; i < ARRAY_LEN(usual_verbs); i++)
        if (str_is(verb, usual_verbs[i]))
            return 1U << i;
    return 0;
}

/* ---- making ---- */

struct words words_of(struct arena *a, const struct json *list)
{
    struct str *v = arena_array(a, struct str, json_count(list));
    struct words w = { v, 0, false };

    if (json_is(list, JSON_ARRAY))
        JSON_FOREACH(item, list)
            if (json_is(item, JSON_STRING)) {
                v[w.n++] = json_text(item, STR_NULL);
                w.has_all |= str_is(json_text(item, STR_NULL), "*");
            }
    return w;
}

bool words_have(const struct words *w, struct str word)
{
    for (size_t i = 0; i < w->n; i++)
        if (str_eq(w->v[i], word))
            return true;
    return false;
}

const struct rule *rule_compile(struct arena *a, const struct json *raw)
{
    struct rule *r = arena_new(a, struct rule);

    r->raw = raw;
    r->verb_list = words_of(a, json_get(raw, "verbs"));
    r->groups = words_of(a, json_get(raw, "apiGroups"));
    r->resources = words_of(a, json_get(raw, "resources"));
    r->names = words_of(a, json_get(raw, "resourceNames"));
    r->urls = words_of(a, json_get(raw, "nonResourceURLs"));
    for (size_t i = 0; i < r->verb_list.n; i++)
        r->verbs |= verb_bit(r->verb_list.v[i]);
    if (r->verb_list.has_all)
        r->verbs = ALL_VERBS;
    return r;
}

/* ---- asking ---- */

struct asked asked_of(const struct rbac_question *q)
{
    return (struct asked){ q, verb_bit(q->verb) };
}

/* "pods", "pods/exec" and "*" stand in rules, and "* /exec" without the blank: any resource's. */
static bool resource_matches(struct str rule, const struct rbac_question *q)
{
    size_t n = q->resource.n;

    if (!q->subresource.n)
        return str_eq(rule, q->resource);
    if (rule.n == n + 1 + q->subresource.n && str_starts(rule, q->resource) && rule.p[n] == '/' &&
        str_ends(rule, q->subresource))
        return true;
    return rule.n == 2 + q->subresource.n && str_starts(rule, STR("*/")) && str_ends(rule, q->subresource);
}

static bool resources_match(const struct words *w, const struct rbac_question *q)
{
    if (w->has_all)
        return true;
    for (size_t i = 0; i < w->n; i++)
        if (resource_matches(w->v[i], q))
            return true;
    return false;
}

/* A star at the end stands for the rest, whatever number of them there is. */
static bool url_covers(struct str rule, struct str path)
{
    struct str front = rule;

    if (str_eq(rule, path))
        return true;
    while (front.n && front.p[front.n - 1] == '*')
        front.n--;
    return front.n < rule.n && str_starts(path, front);
}

static bool url_matches(const struct words *w, struct str path)
{
    for (size_t i = 0; i < w->n; i++)
        if (url_covers(w->v[i], path))
            return true;
    return false;
}

bool rule_allows(const struct rule *r, const struct asked *asked)
{
    const struct rbac_question *q = asked->q;
    bool has_verb = asked->verb ? (r->verbs & asked->verb) != 0
                                : r->verb_list.has_all || words_have(&r->verb_list, q->verb);

    if (!has_verb)
        return false;
    if (q->path.n)
        return url_matches(&r->urls, q->path);
    return (r->groups.has_all || words_have(&r->groups, q->group)) && resources_match(&r->resources, q) &&
           (!r->names.n || words_have(&r->names, q->name));
}

/* ---- covering ---- */

static bool covers_word(const struct words *owner, const struct words *sub)
{
    return owner->has_all || !sub->n || words_have(owner, sub->v[0]);
}

static bool covers_resource(const struct words *owner, struct str resource)
{
    ptrdiff_t slash = str_find_char(resource, '/');

    if (owner->has_all || words_have(owner, resource))
        return true;
    for (size_t i = 0; slash >= 0 && i < owner->n; i++)
        if (str_starts(owner->v[i], STR("*/")) && str_eq(str_from(owner->v[i], 1), str_from(resource, (size_t)slash)))
            return true;
    return false;
}

bool rule_covers(const struct rule *owner, const struct rule *sub)
{
    return covers_word(&owner->verb_list, &sub->verb_list) && covers_word(&owner->groups, &sub->groups) &&
           (!sub->resources.n || covers_resource(&owner->resources, sub->resources.v[0])) &&
           (!owner->names.n || (sub->names.n && words_have(&owner->names, sub->names.v[0]))) &&
           (!sub->urls.n || url_matches(&owner->urls, sub->urls.v[0]));
}
