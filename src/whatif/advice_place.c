/* advice_place.c - where its pods may go: cordons, taints, selectors, affinity, spread, network topology */
#include "whatif/advice_internal.h"

#include "api/meta.h"
#include "api/pod/taint.h"
#include "base/util.h"
#include "sched/fit/nodematch.h"

enum { PLACES_TRIED = 6 };
static const char required[] = "requiredDuringSchedulingIgnoredDuringExecution";

/* ---- nodes that refuse ---- */

static bool keeps_away(const struct json *taint)
{
    struct str effect = json_member_text(taint, "effect");

    return str_is(effect, "NoSchedule") || str_is(effect, "NoExecute");
}

static bool is_cordoned(const struct json *node)
{
    return json_bool(json_find(node, "spec", "unschedulable", NULL), false);
}

static struct str taint_text(struct arena *a, const struct json *taint)
{
    struct str value = json_member_text(taint, "value");

    return arena_fmt(a, "%.*s%s%.*s:%.*s", STR_ARG(json_member_text(taint, "key")), str_empty(value) ? "" : "=",
                     STR_ARG(value), STR_ARG(json_member_text(taint, "effect")));
}

struct str node_refuses(struct arena *a, const struct json *node, const struct json *pod_spec)
{
    const struct json *tolerations = json_get(pod_spec, "tolerations"),
                      *taint = taint_untolerated(json_find(node, "spec", "taints", NULL), tolerations, TAINT_HARD);
    struct sched_node as_scheduled = { .name = object_name(node),
                                       .labels = json_find(node, "metadata", "labels", NULL) };

    if (is_cordoned(node) && !tolerates_unschedulable(tolerations))
        return STR("cordoned");
    if (taint)
        return arena_fmt(a, "taint %.*s", STR_ARG(taint_text(a, taint)));
    JSON_FOREACH(want, json_get(pod_spec, "nodeSelector")) {
        struct str have = json_text(json_get_str(as_scheduled.labels, json_key(want)), STR(""));

        if (!str_eq(have, json_text(want, STR(""))))
            return arena_fmt(a, "not %.*s=%.*s", STR_ARG(json_key(want)), STR_ARG(json_text(want, STR(""))));
    }
    if (!node_rule_matches(node_rule_new(a, NULL, json_find(pod_spec, "affinity", "nodeAffinity", required, NULL)),
                           &as_scheduled))
        return STR("not in its node affinity");
    return STR_NULL;
}

/* ---- cordons ---- */

static void build_uncordon(struct advising *v, const struct json *node, struct suggestion *s)
{
    size_t i = 0;

    edit_set(v, s, node, STR("/spec/unschedulable"), json_bool_new(v->a, false));
    JSON_FOREACH(taint, json_find(node, "spec", "taints", NULL)) { /* goes with the cordon */
        if (str_is(json_member_text(taint, "key"), "node.kubernetes.io/unschedulable"))
            edit_set(v, s, node, arena_fmt(v->a, "/spec/taints/%zu", i), NULL);
        else
            i++;
    }
    s->kind = ADVISE_UNCORDON;
}

static void advise_uncordon(struct advising *v)
{
    struct suggestion all = { 0 };
    autobuf names = { 0 };
    size_t n = 0;

    VEC_FOREACH(o, &v->world.list) {
        struct suggestion s = { 0 };

        if (!is_kind(*o, "Node") || !is_cordoned(*o) || n++ >= PLACES_TRIED)
            continue;
        build_uncordon(v, *o, &s);
        build_uncordon(v, *o, &all);
        s.target = object_name(*o);
        s.text = arena_fmt(v->a, "uncordon node %.*s", STR_ARG(s.target));
        buf_fmt(&names, "%s%.*s", names.n ? ", " : "", STR_ARG(s.target));
        if (trial_suggestion(v, &s, NULL)) {
            suggest_keep(v, &s);
            return;
        }
    }
    if (n < 2 || n > PLACES_TRIED)
        return;
    all.target = arena_str(v->a, buf_view(&names));
    all.text = arena_fmt(v->a, "uncordon nodes %.*s", STR_ARG(all.target));
    if (trial_suggestion(v, &all, NULL))
        suggest_keep(v, &all);
}

/* ---- taints ---- */

static struct json *toleration_for(struct advising *v, const struct json *taint)
{
    struct json *t = json_object(v->a);
    struct str value = json_member_text(taint, "value");

    json_add(t, STR("key"), json_str(v->a, json_member_text(taint, "key")));
    json_add(t, STR("operator"), json_str(v->a, str_empty(value) ? STR("Exists") : STR("Equal")));
    if (!str_empty(value))
        json_add(t, STR("value"), json_str(v->a, value));
    json_add(t, STR("effect"), json_str(v->a, json_member_text(taint, "effect")));
    return t;
}

/* In every task that lacks it. */
static void build_toleration(struct advising *v, const struct json *taint, struct suggestion *s)
{
    for (size_t i = 0; i < v->job.spec.tasks.n; i++) {
        const struct json *have = json_get(job_task_pod_spec(&v->job.spec.tasks.v[i]), "tolerations");
        struct json *list = json_is(have, JSON_ARRAY) ? json_copy(v->a, have) : json_array(v->a);

        if (taint_is_tolerated(taint, have))
            continue;
        json_push(list, toleration_for(v, taint));
        edit_job(v, s, arena_fmt(v->a, "/spec/tasks/%zu/template/spec/tolerations", i), list);
    }
    s->kind = ADVISE_TOLERATION;
    s->recreates = !v->is_new;
    s->target = v->name;
    s->what = taint_text(v->a, taint);
    s->text = arena_fmt(v->a, "tolerate the taint %.*s", STR_ARG(s->what));
}

static bool advice_place_is_listed(const struct str *list, size_t n, struct str word)
{
    for (size_t i = 0; i < n; i++)
        if (str_eq(list[i], word))
            return true;
    return false;
}

static bool try_taint(struct advising *v, const struct json *taint)
{
    struct suggestion s = { 0 };

    build_toleration(v, taint, &s);
    if (s.edits.n == 0 || !trial_suggestion(v, &s, NULL))
        return false;
    suggest_keep(v, &s);
    return true;
}

static void advise_taints(struct advising *v)
{
    struct str tried[PLACES_TRIED];
    size_t n = 0;

    VEC_FOREACH(o, &v->world.list) {
        if (!is_kind(*o, "Node"))
            continue;
        JSON_FOREACH(taint, json_find(*o, "spec", "taints", NULL)) {
            struct str text = taint_text(v->a, taint);

            if (n == PLACES_TRIED || !keeps_away(taint) ||
                str_starts(json_member_text(taint, "key"), STR("node.kubernetes.io/")) || /* the node is not well */
                advice_place_is_listed(tried, n, text))
                continue;
            tried[n++] = text;
            if (try_taint(v, taint))
                return;
        }
    }
}

/* ---- nodeSelector ---- */

static void build_selector(struct advising *v, struct str key, struct str value, struct suggestion *s)
{
    for (size_t i = 0; i < v->job.spec.tasks.n; i++) {
        const struct json *have = json_get_str(json_get(job_task_pod_spec(&v->job.spec.tasks.v[i]), "nodeSelector"),
                                               key);

        if (have && str_eq(json_text(have, STR("")), value))
            edit_job(
                v, s,
                arena_fmt(v->a, "/spec/tasks/%zu/template/spec/nodeSelector/%.*s", i, STR_ARG(pointer_part(v->a, key))),
                NULL);
    }
    s->kind = ADVISE_SELECTOR;
    s->recreates = !v->is_new;
    s->target = v->name;
    s->what = arena_fmt(v->a, "%.*s=%.*s", STR_ARG(key), STR_ARG(value));
    s->text = arena_fmt(v->a, "drop nodeSelector %.*s", STR_ARG(s->what));
}

/* Values that nodes have for the key, at most three: it may be a typing error. */
static struct str values_of(struct advising *v, struct str key)
{
    struct str seen[3];
    autobuf out = { 0 };
    size_t n = 0;

    VEC_FOREACH(o, &v->world.list) {
        struct str value;

        if (!is_kind(*o, "Node"))
            continue;
        value = json_text(json_get_str(json_find(*o, "metadata", "labels", NULL), key), STR_NULL);
        if (!value.p || advice_place_is_listed(seen, n, value))
            continue;
        if (n == ARRAY_LEN(seen)) {
            buf_fmt(&out, " …");
            break;
        }
        seen[n++] = value;
        buf_fmt(&out, "%s%.*s", out.n ? ", " : "", STR_ARG(value));
    }
    return arena_str(v->a, buf_view(&out));
}

static void advise_selectors(struct advising *v)
{
    struct str tried[PLACES_TRIED];
    size_t n = 0;

    for (size_t i = 0; i < v->job.spec.tasks.n; i++)
        JSON_FOREACH(want, json_get(job_task_pod_spec(&v->job.spec.tasks.v[i]), "nodeSelector")) {
            struct suggestion s = { 0 };
            struct str have;

            build_selector(v, json_key(want), json_text(want, STR("")), &s);
            if (n == PLACES_TRIED || advice_place_is_listed(tried, n, s.what))
                continue;
            tried[n++] = s.what;
            if (!trial_suggestion(v, &s, NULL))
                continue;
            have = values_of(v, json_key(want));
            s.text = arena_fmt(v->a, "%.*s (%s%.*s)", STR_ARG(s.text),
                               have.n ? "nodes have " : "no node has this label", STR_ARG(have));
            suggest_keep(v, &s);
            return;
        }
}

/* ---- other constraints ---- each as a whole ---- */

static const struct constraint {
    const char *parent, *field; /* of the pod's spec */
    const char *text;
} constraints[] = {
    { "affinity/nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "the required node affinity" },
    { "affinity/podAntiAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "the required pod anti-affinity" },
    { "affinity/podAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "the required pod affinity" },
    { "", "topologySpreadConstraints", "topologySpreadConstraints" },
};

static void build_constraint(struct advising *v, const struct constraint *c, struct suggestion *s)
{
    for (size_t i = 0; i < v->job.spec.tasks.n; i++) {
        struct str base = arena_fmt(v->a, "/spec/tasks/%zu/template/spec/%s%s%s", i, c->parent, c->parent[0] ? "/" : "",
                                    c->field);

        if (json_pointer((struct json *)v->root, base, NULL))
            edit_job(v, s, base, NULL);
    }
    s->kind = ADVISE_CONSTRAINT;
    s->recreates = !v->is_new;
    s->target = v->name;
    s->what = str_of(c->text);
    s->text = arena_fmt(v->a, "drop %s", c->text);
}

static void advise_constraints(struct advising *v)
{
    for (size_t i = 0; i < ARRAY_LEN(constraints); i++) {
        struct suggestion s = { 0 };

        build_constraint(v, &constraints[i], &s);
        if (s.edits.n && trial_suggestion(v, &s, NULL)) {
            suggest_keep(v, &s);
            return;
        }
    }
}

static void advise_topology(struct advising *v)
{
    const struct json *topology = json_find(v->root, "spec", "networkTopology", NULL);
    struct suggestion s = { .kind = ADVISE_CONSTRAINT, .target = v->name, .what = STR("networkTopology") };

    if (!json_is(topology, JSON_OBJECT) || str_is(json_member_text(topology, "mode"), "soft"))
        return;
    edit_job(v, &s, STR("/spec/networkTopology/mode"), json_str(v->a, STR("soft")));
    s.recreates = v->is_job && !v->is_new;
    s.from = STR("hard");
    s.to = STR("soft");
    s.text = STR("allow its pods to be far apart (networkTopology mode: soft)");
    if (trial_suggestion(v, &s, NULL))
        suggest_keep(v, &s);
}

void advise_places(struct advising *v)
{
    advise_uncordon(v);
    advise_topology(v);
    if (!v->is_job)
        return;
    advise_taints(v);
    advise_selectors(v);
    advise_constraints(v);
}
