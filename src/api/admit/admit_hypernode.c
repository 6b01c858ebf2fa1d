/* admit_hypernode.c - HyperNodes: members there are, and patterns that are regular expressions */
#include "api/admit/admit_internal.h"

#include "api/meta.h"
#include "base/pattern.h"
#include "api/schema/schemas.h"

/* An invalid regular expression is refused, as by Volcano; a valid one that our scheduler cannot match is a warning. */
static void check_pattern(struct check *c, const struct place *member)
{
    struct place selector = place_object(member, "selector"), regex = place_object(&selector, "regexMatch");
    struct place at = place_member(&regex, "pattern");
    struct str text = json_text(at.node, STR(""));
    const char *why = pattern_wrong(c->arena, text);
    struct pattern *p;

    if (str_empty(text))
        return;
    if (why)
        check_error(c, &at, "member regexMatch pattern is invalid: error parsing regexp: %s", why);
    else if (pattern_parse(c->arena, text, &p) == 0)
        pattern_done(p);
    else
        check_warn(
            c, &at,
            "uses regular expression syntax that Pumice's scheduler does not support, so the member has no nodes");
}

void admit_hypernode(struct json *node, const struct json *old, struct problems *ps)
{
    struct place root = { .node = node }, spec, members;
    size_t start = ps->list.n;
    struct check c;

    meta_check(&root, NULL, false, ps);
    if (old && json_equal(json_get(node, "spec"), json_get(old, "spec")))
        return; /* a status, a label: not held up by rules about the spec */
    schema_check(&schema_hypernode, &root, ps);
    c = check_begin(ps, start);
    spec = place_object(&root, "spec");
    members = place_member(&spec, "members");
    if (!is_set(members.node) || (members.node->type == JSON_ARRAY && members.node->n == 0))
        check_error(&c, &members, "member must have at least one member");
    members = place_list(&spec, "members");
    PLACE_FOREACH(member, &members)
        check_pattern(&c, &member);
}
