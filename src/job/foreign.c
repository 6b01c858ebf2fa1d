/* foreign.c - may the Service or NetworkPolicy of another owner stand in for the job's own? */
#include "job/foreign.h"

#include "api/meta.h"
#include "api/selector.h"
#include "base/util.h"
#include "job/pod.h"

struct foreign {
    struct arena *arena;
    const struct job *job;
    const struct json *want, *have; /* their specs */
};

/* ---- which pods ---- */

/* A selector that cannot be read selects nothing. */
static bool foreign_selects(struct arena *a, const struct json *selector, const struct json *labels)
{
    struct selector *s;
    struct err ignored;

    return selector_from_json(a, selector, &s, &ignored) == 0 && selector_matches(s, labels);
}

/* The selector of a Service, which is only a map, in the form of all others. NULL: it selects nothing. */
static struct json *map_selector(struct arena *a, const struct json *map)
{
    struct json *selector = json_object(a);

    if (!json_is(map, JSON_OBJECT) || json_count(map) == 0)
        return NULL;
    json_set(selector, "matchLabels", json_copy(a, map));
    return selector;
}

/* Do both select the same of the job's tasks? 'field' is what the message calls it. */
static const char *selector_problem(const struct foreign *f, const char *field, const struct json *want,
                                    const struct json *have)
{
    for (size_t i = 0; i < f->job->spec.tasks.n; i++) {
        const struct job_task *task = &f->job->spec.tasks.v[i];
        const struct json *labels = job_task_labels(f->arena, f->job, task);
        bool is_wanted = want && foreign_selects(f->arena, want, labels),
             is_there = have && foreign_selects(f->arena, have, labels);

        if (is_wanted != is_there)
            return arena_fmt(f->arena, "%s must %sselect the pods of task %.*s", field, is_wanted ? "" : "not ",
                             STR_ARG(task->name))
                .p;
    }
    return NULL;
}

/* ---- Services ---- */

static bool foreign_is_tcp(const struct json *port)
{
    struct str protocol = json_member_text(port, "protocol");

    return str_empty(protocol) || str_is(protocol, "TCP");
}

static bool has_port(const struct json *ports, const struct json *want)
{
    const struct json *number = json_get(want, "port"), *target = json_get(want, "targetPort");

    JSON_FOREACH(p, ports) {
        const struct json *goes_to = json_get(p, "targetPort");

        if (foreign_is_tcp(p) && json_i64(json_get(p, "port"), 0) == json_i64(number, -1))
            return !goes_to || json_equal(goes_to, number) || json_equal(goes_to, target);
    }
    return false;
}

static const char *service_problem(const struct foreign *f)
{
    bool is_headless = str_is(json_member_text(f->have, "clusterIP"), "None");
    const char *why;

    if (str_is(json_member_text(f->have, "type"), "ExternalName"))
        return "spec.type must not be ExternalName";
    if (str_is(json_member_text(f->want, "clusterIP"), "None") && !is_headless)
        return "spec.clusterIP must be None";
    why = selector_problem(f, "spec.selector", map_selector(f->arena, json_get(f->want, "selector")),
                           map_selector(f->arena, json_get(f->have, "selector")));
    if (why)
        return why;
    JSON_FOREACH(port, json_get(f->want, "ports"))
        if (!is_headless && !has_port(json_get(f->have, "ports"), port))
            return arena_fmt(f->arena, "spec.ports must have port %lld with the same target",
                             (long long)json_i64(json_get(port, "port"), 0))
                .p;
    if (json_bool(json_get(f->want, "publishNotReadyAddresses"), false) &&
        !json_bool(json_get(f->have, "publishNotReadyAddresses"), false))
        return "spec.publishNotReadyAddresses must be true";
    return NULL;
}

/* ---- NetworkPolicies ---- */

static bool has_type(const struct json *policy, const char *type)
{
    const struct json *types = json_get(policy, "policyTypes");

    JSON_FOREACH(t, types)
        if (str_is(json_text(t, STR_NULL), type))
            return true;
    if (json_count(types))
        return false;
    return strcmp(type, "Ingress") == 0 || json_count(json_get(policy, "egress")) > 0;
}

enum reach { REACH_NONE, REACH_JOB, REACH_NAMESPACE, REACH_CLUSTER };

static bool selects_all(const struct foreign *f, const struct json *selector)
{
    for (size_t i = 0; i < f->job->spec.tasks.n; i++)
        if (!foreign_selects(f->arena, selector, job_task_labels(f->arena, f->job, &f->job->spec.tasks.v[i])))
            return false;
    return true;
}

/* How far a peer reaches. The labels of namespaces are not known here: only a selector of all of them counts. */
static enum reach peer_reach(const struct foreign *f, const struct json *peer)
{
    const struct json *namespaces = json_get(peer, "namespaceSelector"), *pods = json_get(peer, "podSelector");

    if (json_is(json_get(peer, "ipBlock"), JSON_OBJECT) || json_count(namespaces))
        return REACH_NONE;
    if (json_count(pods))
        return selects_all(f, pods) ? REACH_JOB : REACH_NONE;
    return json_is(namespaces, JSON_OBJECT) ? REACH_CLUSTER : json_is(pods, JSON_OBJECT) ? REACH_NAMESPACE : REACH_NONE;
}

static enum reach peers_reach(const struct foreign *f, const struct json *peers)
{
    enum reach best = json_count(peers) ? REACH_NONE : REACH_CLUSTER;

    JSON_FOREACH(peer, peers)
        best = MAX_OF(best, peer_reach(f, peer));
    return best;
}

/* Does some rule admit those of 'reach' to 'ports' (NULL: all)? 'side' is where a rule has its peers. */
static bool rules_admit(const struct foreign *f, const struct json *rules, const char *side, enum reach reach,
                        const struct json *ports)
{
    JSON_FOREACH(rule, rules) {
        const struct json *have = json_get(rule, "ports");

        if ((json_count(have) == 0 || (ports && json_equal(have, ports))) &&
            peers_reach(f, json_get(rule, side)) >= reach)
            return true;
    }
    return false;
}

static const char *ingress_problem(const struct foreign *f)
{
    JSON_FOREACH(rule, json_get(f->want, "ingress")) {
        const struct json *ports = json_get(rule, "ports");
        enum reach reach = peers_reach(f, json_get(rule, "from"));

        if (rules_admit(f, json_get(f->have, "ingress"), "from", reach, ports))
            continue;
        if (!ports)
            return "spec.ingress must admit the pods of the job to all ports";
        return arena_fmt(f->arena, "spec.ingress must admit the %s to port %lld",
                         reach == REACH_CLUSTER ? "cluster" : "namespace",
                         (long long)json_i64(json_get(json_first(ports), "port"), 0))
            .p;
    }
    return NULL;
}

static const char *policy_problem(const struct foreign *f)
{
    const char *why = selector_problem(f, "spec.podSelector", json_get(f->want, "podSelector"),
                                       json_get(f->have, "podSelector"));

    if (why)
        return why;
    if (!has_type(f->have, "Ingress"))
        return "spec.policyTypes must have Ingress";
    why = ingress_problem(f);
    if (why)
        return why;
    if (has_type(f->have, "Egress") && !rules_admit(f, json_get(f->have, "egress"), "to", REACH_JOB, NULL))
        return "spec.egress must let the pods of the job reach each other";
    return NULL;
}

/* ---- all kinds ---- */

static const struct {
    const char *kind;
    const char *(*problem)(const struct foreign *f);
} kinds[] = {
    { "Service", service_problem },
    { "NetworkPolicy", policy_problem },
};

const char *foreign_problem(struct arena *a, const struct job *job, const struct json *want, const struct json *have)
{
    struct foreign *f = arena_new(a, struct foreign);

    *f = (struct foreign){ .arena = a, .job = job, .want = json_get(want, "spec"), .have = json_get(have, "spec") };
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (str_is(object_kind(want), kinds[i].kind))
            return kinds[i].problem(f);
    return "it would be overwritten";
}
