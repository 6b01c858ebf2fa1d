/* config.c - settings of the scheduler, and Volcano's configuration file
 *
 * Four tables say what each name in the file means here: actions, plugins, their switches and their arguments. A
 * name that Volcano knows but that changes nothing here is a warning, so that users do not wait for an effect.
 */
#include "sched/model/config.h"

#include "api/duration.h"
#include "base/util.h"
#include "json/schema.h"

const char *const score_names[SCORE_KIND_MAX] = {
    [SCORE_BINPACK] = "binpack",
    [SCORE_LEAST_REQUESTED] = "leastrequested",
    [SCORE_MOST_REQUESTED] = "mostrequested",
    [SCORE_BALANCED] = "balancedresource",
    [SCORE_NODE_AFFINITY] = "nodeaffinity",
    [SCORE_POD_AFFINITY] = "podaffinity",
    [SCORE_TAINTS] = "tainttoleration",
    [SCORE_IMAGES] = "imagelocality",
    [SCORE_SPREAD] = "podtopologyspread",
    [SCORE_TASK_TOPOLOGY] = "task-topology",
    [SCORE_NETWORK] = "network-topology",
};

void sched_config_default(struct sched_config *ret)
{
    *ret = (struct sched_config){
        .scheduler_name = STR("volcano"),
        .admits = true,
        .places = true,
        .preempts = true,
        .reclaims = true,
        .weights = {
            [SCORE_BINPACK] = 1,
            [SCORE_BALANCED] = 1,
            [SCORE_NODE_AFFINITY] = 2,
            [SCORE_POD_AFFINITY] = 2,
            [SCORE_TAINTS] = 3,
            [SCORE_IMAGES] = 1,
            [SCORE_SPREAD] = 2,
            [SCORE_TASK_TOPOLOGY] = 1,
            [SCORE_NETWORK] = 1,
        },
        .overcommit = 1.2,
        .has_drf = true,
        .has_conformance = true,
        .knows_claims = true,
        .reserve_after_ms = 60 * 1000,
        .admission_ms = 5 * 60 * 1000,
        .min_run_ms = 60 * 1000,
        .patience_ms = 3600 * 1000,
        .unbind_ms = 60 * 1000,
        .status_ms = 1000,
        .retell = 64,
        .retell_ms = 1000,
        .coming_ms = 30000,
        .rewrite_ms = 60000,
        .max_depth = 5,
    };
}

/* ---- tables ---- */

#define OF(member) offsetof(struct sched_config, member)
#define NOTHING    ((size_t)-1)

static const struct action {
    const char *name;
    size_t flag; /* bool it sets; NOTHING: no effect here. backfill: pods without requests are placed like all others;
                    shuffle: it evicts what plugins choose that are missing here */
} actions[] = {
    { "enqueue", OF(admits) },       { "allocate", OF(places) },  { "backfill", NOTHING },
    { "preempt", OF(preempts) },     { "reclaim", OF(reclaims) }, { "gangpreempt", OF(preempts) },
    { "gangreclaim", OF(reclaims) }, { "shuffle", NOTHING },
};

static const struct plugin {
    const char *name;
    size_t flag;     /* bool that says whether it is listed; NOTHING: always on, or only arguments count */
    bool is_missing; /* Volcano has it, we have not */
} plugins[] = {
    { "binpack", NOTHING, false },
    { "capacity", NOTHING, false },
    { "cdp", NOTHING, false },
    { "conformance", OF(has_conformance), false },
    { "deviceshare", NOTHING, true },
    { "drf", OF(has_drf), false },
    { "extender", NOTHING, true },
    { "gang", NOTHING, false },
    { "network-topology-aware", NOTHING, false },
    { "nodegroup", NOTHING, false },
    { "nodeorder", NOTHING, false },
    { "numaaware", NOTHING, true },
    { "overcommit", NOTHING, false },
    { "pdb", NOTHING, false },
    { "predicates", NOTHING, false },
    { "priority", NOTHING, false },
    { "proportion", NOTHING, false },
    { "rescheduling", NOTHING, true },
    { "resource-strategy-fit", NOTHING, true },
    { "resourcequota", NOTHING, true },
    { "sla", NOTHING, false },
    { "task-topology", NOTHING, false },
    { "tdm", NOTHING, true },
    { "usage", NOTHING, true },
};

/* Switches of a plugin, without the "enable" or "enabled" before them. */
static const char *const switches[] = {
    "Allocatable",      "BestNode",    "ClusterOrder",    "Hierarchy",   "HyperNodeGradient", "HyperNodeOrder",
    "JobEnqueued",      "JobOrder",    "JobPipelined",    "JobReady",    "JobStarving",       "NodeOrder",
    "Overused",         "Predicate",   "Preemptable",     "Preemptive",  "QueueOrder",        "Reclaimable",
    "ReservedNodes",    "SubJobOrder", "SubJobPipelined", "SubJobReady", "TargetJob",         "TaskOrder",
    "VictimQueueOrder", "Victim",
};

/* Those that mean something when they are off. The others belong to steps that we do another way. */
static const struct off {
    const char *plugin, *name;
    size_t flag; /* bool that they clear; NOTHING: people expect an effect and there is none, which is a warning */
} offs[] = {
    { "drf", "JobOrder", OF(has_drf) },
    { "priority", "JobOrder", NOTHING },
    { "priority", "TaskOrder", NOTHING },
    { "priority", "Preemptable", OF(preempts) },
    { "gang", "JobReady", NOTHING },
    { "predicates", "Predicate", NOTHING },
    { "proportion", "Reclaimable", OF(reclaims) },
    { "capacity", "Reclaimable", OF(reclaims) },
};

enum argument_kind {
    ARG_INERT,    /* known to Volcano, no effect here */
    ARG_WEIGHT,   /* int */
    ARG_FACTOR,   /* double, at least 1 */
    ARG_DURATION, /* int64_t, ms */
};

static const struct argument {
    const char *owner; /* plugin or action */
    const char *name;  /* "x.*": all that begin with "x." */
    enum argument_kind kind;
    size_t at;     /* offset of what it sets */
    int64_t value; /* ARG_WEIGHT: when the plugin is listed without it; ARG_DURATION: the least */
} arguments[] = {
    { "nodeorder", "leastrequested.weight", ARG_WEIGHT, OF(weights[SCORE_LEAST_REQUESTED]), 1 },
    { "nodeorder", "mostrequested.weight", ARG_WEIGHT, OF(weights[SCORE_MOST_REQUESTED]), 0 },
    { "nodeorder", "balancedresource.weight", ARG_WEIGHT, OF(weights[SCORE_BALANCED]), 1 },
    { "nodeorder", "nodeaffinity.weight", ARG_WEIGHT, OF(weights[SCORE_NODE_AFFINITY]), 2 },
    { "nodeorder", "podaffinity.weight", ARG_WEIGHT, OF(weights[SCORE_POD_AFFINITY]), 2 },
    { "nodeorder", "tainttoleration.weight", ARG_WEIGHT, OF(weights[SCORE_TAINTS]), 3 },
    { "nodeorder", "imagelocality.weight", ARG_WEIGHT, OF(weights[SCORE_IMAGES]), 1 },
    { "nodeorder", "podtopologyspread.weight", ARG_WEIGHT, OF(weights[SCORE_SPREAD]), 2 },
    { "binpack", "binpack.weight", ARG_WEIGHT, OF(weights[SCORE_BINPACK]), 1 },
    { "binpack", "binpack.cpu", ARG_INERT, NOTHING, 0 },
    { "binpack", "binpack.memory", ARG_INERT, NOTHING, 0 },
    { "binpack", "binpack.resources", ARG_INERT, NOTHING, 0 },
    { "binpack", "binpack.resources.*", ARG_INERT, NOTHING, 0 },
    { "task-topology", "task-topology.weight", ARG_WEIGHT, OF(weights[SCORE_TASK_TOPOLOGY]), 1 },
    { "network-topology-aware", "weight", ARG_WEIGHT, OF(weights[SCORE_NETWORK]), 1 },
    { "network-topology-aware", "hypernode.*", ARG_INERT, NOTHING, 0 },
    { "predicates", "predicate.*", ARG_INERT, NOTHING, 0 },
    { "capacity", "ancestorReclaimLevel", ARG_INERT, NOTHING, 0 },
    { "overcommit", "overcommit-factor", ARG_FACTOR, OF(overcommit), 0 },
    { "sla", "sla-waiting-time", ARG_DURATION, OF(sla_ms), 1 },
    { "enqueue", "overcommit-factor", ARG_FACTOR, OF(overcommit), 0 },
    { "allocate", "predicateErrorCacheEnable", ARG_INERT, NOTHING, 0 },
    { "preempt", "enableTopologyAwarePreemption", ARG_INERT, NOTHING, 0 },
    { "preempt", "topologyAwarePreemptWorkerNum", ARG_INERT, NOTHING, 0 },
    { "preempt", "minCandidateNodesPercentage", ARG_INERT, NOTHING, 0 },
    { "preempt", "minCandidateNodesAbsolute", ARG_INERT, NOTHING, 0 },
    { "preempt", "maxCandidateNodesAbsolute", ARG_INERT, NOTHING, 0 },
    { "gangpreempt", "maxDomains", ARG_INERT, NOTHING, 0 },
    { "gangpreempt", "allowWholeBundle", ARG_INERT, NOTHING, 0 },
    { "gangreclaim", "maxDomains", ARG_INERT, NOTHING, 0 },
    { "gangreclaim", "allowWholeBundle", ARG_INERT, NOTHING, 0 },
    { "pumice", "reserve-after", ARG_DURATION, OF(reserve_after_ms), 0 },
    { "pumice", "admission-timeout", ARG_DURATION, OF(admission_ms), 1 },
    { "pumice", "min-run", ARG_DURATION, OF(min_run_ms), 0 },
    { "pumice", "patience", ARG_DURATION, OF(patience_ms), 0 },
    { "pumice", "unbind-after", ARG_DURATION, OF(unbind_ms), 0 },
};

enum { WEIGHT_MAX = 10000, NAMES_MAX = 64 };
_Static_assert(ARRAY_LEN(arguments) <= NAMES_MAX && ARRAY_LEN(plugins) <= NAMES_MAX, "suggestions need room");

/* ---- helpers ---- */

struct config_reading {
    struct arena *arena; /* of suggestions */
    struct problems *ps;
    struct sched_config c;
};

static void *target(struct config_reading *r, size_t offset)
{
    return (char *)&r->c + offset;
}

/* " (did you mean x?)" or nothing. */
static struct str config_hint(const struct config_reading *r, struct str word, const char *const *names, size_t n)
{
    const char *near = suggest(word, names, n);

    return near ? arena_fmt(r->arena, " (did you mean %s?)", near) : STR("");
}

/* Is the node of this type? A missing or null one is not, silently. */
static bool is_type(const struct config_reading *r, const struct place *at, enum json_type type, const char *words)
{
    if (!at->node || at->node->type == JSON_NULL)
        return false;
    if (at->node->type == type)
        return true;
    problem_error(r->ps, at, "must be %s, not %s", words, json_type_name(at->node->type));
    return false;
}

static struct place config_place_of(const struct place *up, const struct json *member)
{
    return (struct place){ up, member, json_key(member), 0 };
}

/* ---- values ---- */

/* A whole number, or text that is one: Volcano takes both. */
static bool read_weight(struct config_reading *r, const struct place *at, int *ret)
{
    int64_t v = -1;

    if (json_is(at->node, JSON_STRING))
        (void)str_to_i64(json_text(at->node, STR_NULL), &v);
    else
        v = json_i64(at->node, -1);
    if (v < 0 || v > WEIGHT_MAX) {
        problem_error(r->ps, at, "must be a whole number from 0 to %d", WEIGHT_MAX);
        return false;
    }
    *ret = (int)v;
    return true;
}

static bool read_factor(struct config_reading *r, const struct place *at, double *ret)
{
    bool is_number = json_is(at->node, JSON_NUMBER) || json_is(at->node, JSON_STRING);
    struct str text = is_number ? (struct str){ at->node->text, at->node->n } : STR_NULL;
    struct quantity q;

    if (quantity_parse(text, &q, NULL) < 0 || q.nano < 0 ||
        quantity_cmp(q, quantity_of_i64(SCHED_OVERCOMMIT_MAX, QUANTITY_DECIMAL_SI)) > 0) {
        problem_error(r->ps, at, "must be a number from 1 to %d", SCHED_OVERCOMMIT_MAX);
        return false;
    }
    *ret = (double)q.nano / 1e9;
    if (*ret < 1) { /* as Volcano: less than there is would be promised */
        *ret = 1.2;
        problem_warn(r->ps, at, "is less than 1; 1.2 is used");
    }
    return true;
}

static bool read_duration(struct config_reading *r, const struct place *at, int64_t least_ms, int64_t *ret)
{
    struct err e = { 0 };
    int64_t ns;

    if (!json_is(at->node, JSON_STRING)) {
        problem_error(r->ps, at, "must be a duration such as \"60s\" or \"5m\"");
        return false;
    }
    if (duration_parse(json_text(at->node, STR_NULL), &ns, &e) < 0) {
        problem_error(r->ps, at, "%s", e.text);
        return false;
    }
    if (ns < 0 || ns / 1000000 < least_ms) {
        problem_error(r->ps, at, least_ms > 0 ? "must be longer than nothing" : "must not be negative");
        return false;
    }
    *ret = ns / 1000000;
    return true;
}

/* ---- arguments ---- */

static bool name_fits(const char *pattern, struct str name)
{
    struct str p = str_of(pattern);

    return str_ends(p, STR("*")) ? str_starts(name, str_sub(p, 0, p.n - 1)) : str_eq(p, name);
}

static void unknown_argument(const struct config_reading *r, const struct place *at, const char *owner)
{
    const char *names[NAMES_MAX];
    struct str near;
    size_t n = 0;

    for (size_t i = 0; i < ARRAY_LEN(arguments); i++)
        if (str_is(str_of(owner), arguments[i].owner))
            names[n++] = arguments[i].name;
    near = config_hint(r, at->key, names, n);
    problem_warn(r->ps, at, "unknown argument of %s, ignored%.*s", owner, STR_ARG(near));
}

static void read_argument(struct config_reading *r, const struct place *at, const char *owner)
{
    const struct argument *a = NULL;

    for (size_t i = 0; i < ARRAY_LEN(arguments) && !a; i++)
        if (str_is(str_of(owner), arguments[i].owner) && name_fits(arguments[i].name, at->key))
            a = &arguments[i];
    if (!a) {
        unknown_argument(r, at, owner);
        return;
    }
    switch (a->kind) {
    case ARG_INERT:
        problem_warn(r->ps, at, "has no effect here");
        break;
    case ARG_WEIGHT:
        read_weight(r, at, target(r, a->at));
        break;
    case ARG_FACTOR:
        read_factor(r, at, target(r, a->at));
        break;
    case ARG_DURATION:
        read_duration(r, at, a->value, target(r, a->at));
        break;
    }
}

static void read_arguments(struct config_reading *r, const struct place *up, const char *owner)
{
    struct place at = place_member(up, "arguments");

    if (!is_type(r, &at, JSON_OBJECT, "an object"))
        return;
    JSON_FOREACH(member, at.node) {
        struct place argument = config_place_of(&at, member);

        if (member->type != JSON_NULL)
            read_argument(r, &argument, owner);
    }
}

/* ---- actions ---- */

static const struct action *find_action(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(actions); i++)
        if (str_is(name, actions[i].name))
            return &actions[i];
    return NULL;
}

static void unknown_action(const struct config_reading *r, const struct place *at, struct str name)
{
    const char *names[ARRAY_LEN(actions)];
    autobuf all = { 0 };
    struct str near;

    for (size_t i = 0; i < ARRAY_LEN(actions); i++) {
        names[i] = actions[i].name;
        buf_fmt(&all, "%s%s", i ? ", " : "", names[i]);
    }
    near = config_hint(r, name, names, ARRAY_LEN(actions));
    problem_error(r->ps, at, "unknown action \"%.*s\"%.*s; there are %s", STR_ARG(name), STR_ARG(near), all.p);
}

static void read_actions(struct config_reading *r, const struct place *root)
{
    struct place at = place_member(root, "actions");
    struct str rest, name;
    bool knows_all = true;

    if (!is_type(r, &at, JSON_STRING, "text: names with commas between"))
        return;
    rest = json_text(at.node, STR_NULL);
    r->c.admits = r->c.places = r->c.preempts = r->c.reclaims = false;
    if (str_empty(str_trim(rest))) {
        problem_error(r->ps, &at, "must name at least one action");
        return;
    }
    while (str_split(&rest, ',', &name)) {
        const struct action *action = find_action(str_trim(name));

        knows_all &= action != NULL;
        if (!action)
            unknown_action(r, &at, str_trim(name));
        else if (action->flag != NOTHING)
            *(bool *)target(r, action->flag) = true;
    }
    if (knows_all && !r->c.places)
        problem_warn(r->ps, &at, "without the action allocate no pod is placed");
}

/* ---- plugins ---- */

static struct str switch_name(struct str key)
{
    if (str_starts(key, STR("enabled")))
        return str_from(key, strlen("enabled"));
    return str_starts(key, STR("enable")) ? str_from(key, strlen("enable")) : STR_NULL;
}

static bool is_switch(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(switches); i++)
        if (str_is(name, switches[i]))
            return true;
    return false;
}

/* A plugin's part in placing or admission is all or nothing: its weights, its factor. */
static void switch_off(struct config_reading *r, const struct place *at, const char *plugin, struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(offs); i++) {
        if (!str_is(name, offs[i].name) || !str_is(str_of(plugin), offs[i].plugin))
            continue;
        if (offs[i].flag == NOTHING)
            problem_warn(r->ps, at, "has no effect here: plugin %s is always on", plugin);
        else
            *(bool *)target(r, offs[i].flag) = false;
    }
    for (size_t i = 0; i < ARRAY_LEN(arguments); i++) {
        const struct argument *a = &arguments[i];

        if (!str_is(str_of(plugin), a->owner))
            continue;
        if (a->kind == ARG_WEIGHT && str_is(name, "NodeOrder"))
            *(int *)target(r, a->at) = 0;
        else if (a->kind == ARG_FACTOR && str_is(name, "JobEnqueued"))
            *(double *)target(r, a->at) = SCHED_OVERCOMMIT_MAX;
        else if (a->kind == ARG_DURATION && str_is(name, "JobEnqueued"))
            *(int64_t *)target(r, a->at) = 0;
    }
}

static void read_switch(struct config_reading *r, const struct place *at, const char *plugin)
{
    struct str name = switch_name(at->key), near;
    const char *names[ARRAY_LEN(switches) + 1];

    if (is_switch(name)) {
        if (is_type(r, at, JSON_BOOL, "true or false") && !json_bool(at->node, true))
            switch_off(r, at, plugin, name);
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(switches); i++)
        names[i] = arena_fmt(r->arena, "enable%s", switches[i]).p;
    names[ARRAY_LEN(switches)] = "arguments";
    near = config_hint(r, at->key, names, ARRAY_LEN(names));
    problem_warn(r->ps, at, "unknown setting of %s, ignored%.*s", plugin, STR_ARG(near));
}

/* What holds when the plugin is listed with nothing else said. */
static void switch_on(struct config_reading *r, const struct plugin *p)
{
    struct sched_config usual;

    sched_config_default(&usual);
    if (p->flag != NOTHING)
        *(bool *)target(r, p->flag) = true;
    for (size_t i = 0; i < ARRAY_LEN(arguments); i++) {
        if (!str_is(str_of(p->name), arguments[i].owner))
            continue;
        if (arguments[i].kind == ARG_WEIGHT)
            *(int *)target(r, arguments[i].at) = (int)arguments[i].value;
        else if (arguments[i].kind == ARG_FACTOR)
            r->c.overcommit = usual.overcommit;
    }
}

static const struct plugin *find_plugin(const struct config_reading *r, const struct place *at)
{
    const char *names[NAMES_MAX];
    struct str name = json_text(at->node, STR_NULL), near;

    for (size_t i = 0; i < ARRAY_LEN(plugins); i++) {
        names[i] = plugins[i].name;
        if (str_is(name, names[i]))
            return &plugins[i];
    }
    near = config_hint(r, name, names, ARRAY_LEN(plugins));
    problem_warn(r->ps, at, "unknown plugin \"%.*s\", ignored%.*s", STR_ARG(name), STR_ARG(near));
    return NULL;
}

static void read_plugin(struct config_reading *r, const struct place *at)
{
    struct place name = place_member(at, "name");
    const struct plugin *p;

    if (!is_type(r, at, JSON_OBJECT, "an object"))
        return;
    if (!is_type(r, &name, JSON_STRING, "text")) {
        if (!json_get(at->node, "name"))
            problem_error(r->ps, at, "a plugin needs a name");
        return;
    }
    p = find_plugin(r, &name);
    if (p && p->is_missing)
        problem_warn(r->ps, &name, "plugin %s does nothing here", p->name);
    if (!p || p->is_missing)
        return;
    switch_on(r, p);
    read_arguments(r, at, p->name);
    JSON_FOREACH(member, at->node) {
        struct place setting = config_place_of(at, member);

        if (!str_is(setting.key, "name") && !str_is(setting.key, "arguments"))
            read_switch(r, &setting, p->name);
    }
}

static const struct json *listed(const struct json *list, const char *name)
{
    JSON_FOREACH(plugin, list)
        if (str_is(json_member_text(plugin, "name"), name))
            return plugin;
    return NULL;
}

static void read_tier(struct config_reading *r, const struct place *at)
{
    struct place list = place_member(at, "plugins");
    size_t i = 0;

    if (!is_type(r, at, JSON_OBJECT, "an object") || !is_type(r, &list, JSON_ARRAY, "a list"))
        return;
    JSON_FOREACH(plugin, list.node) {
        struct place item = place_item(&list, plugin, i++);

        read_plugin(r, &item);
    }
    if (json_bool(json_get(listed(list.node, "drf"), "enableHierarchy"), false) && listed(list.node, "proportion"))
        problem_error(r->ps, &list, "drf with enableHierarchy and proportion exclude each other in one tier");
    else if (json_bool(json_get(listed(list.node, "drf"), "enableHierarchy"), false))
        problem_warn(r->ps, &list, "drf: enableHierarchy has no effect here; use spec.parent of the queues");
    if (listed(list.node, "capacity") && listed(list.node, "proportion"))
        problem_warn(r->ps, &list, "capacity and proportion are the same here; one is enough");
}

/* Listed plugins are on, all others off. Gangs, priorities, predicates, queues' shares and budgets of disruption (D41)
 * always count. */
static void read_tiers(struct config_reading *r, const struct place *root)
{
    struct place list = place_member(root, "tiers");
    size_t i = 0;

    if (!is_type(r, &list, JSON_ARRAY, "a list"))
        return;
    for (size_t k = 0; k < ARRAY_LEN(plugins); k++)
        if (plugins[k].flag != NOTHING)
            *(bool *)target(r, plugins[k].flag) = false;
    memset(r->c.weights, 0, sizeof(r->c.weights));
    r->c.overcommit = SCHED_OVERCOMMIT_MAX;
    JSON_FOREACH(tier, list.node) {
        struct place item = place_item(&list, tier, i++);

        read_tier(r, &item);
    }
}

/* ---- the whole file ---- */

static void read_configuration(struct config_reading *r, const struct place *at)
{
    struct place name = place_member(at, "name");
    struct str text = json_text(name.node, STR_NULL), near;
    const char *names[ARRAY_LEN(actions) + 1];

    if (!is_type(r, at, JSON_OBJECT, "an object") || !is_type(r, &name, JSON_STRING, "text"))
        return;
    for (size_t i = 0; i < ARRAY_LEN(actions); i++)
        names[i] = actions[i].name;
    names[ARRAY_LEN(actions)] = "pumice";
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_is(text, names[i])) {
            read_arguments(r, at, names[i]);
            return;
        }
    near = config_hint(r, text, names, ARRAY_LEN(names));
    problem_warn(r->ps, &name, "neither an action nor pumice, ignored%.*s", STR_ARG(near));
}

static void read_configurations(struct config_reading *r, const struct place *root)
{
    struct place list = place_member(root, "configurations");
    size_t i = 0;

    if (!is_type(r, &list, JSON_ARRAY, "a list"))
        return;
    JSON_FOREACH(item, list.node) {
        struct place at = place_item(&list, item, i++);

        read_configuration(r, &at);
    }
}

static void config_check_keys(const struct config_reading *r, const struct place *root)
{
    static const char *const keys[] = { "actions", "tiers", "configurations", "metrics" };

    JSON_FOREACH(member, root->node) {
        struct place at = config_place_of(root, member);
        bool is_known = false;

        for (size_t i = 0; i < ARRAY_LEN(keys); i++)
            is_known |= str_is(at.key, keys[i]);
        if (!is_known) {
            struct str near = config_hint(r, at.key, keys, ARRAY_LEN(keys));

            problem_warn(r->ps, &at, "unknown setting, ignored%.*s", STR_ARG(near));
        }
    }
}

int sched_config_read(struct arena *a, struct json *tree, struct sched_config *ret, struct problems *problems)
{
    struct place root = { .node = tree };
    struct config_reading r = { .arena = a, .ps = problems };
    size_t n_before = problems->n_errors;

    sched_config_default(&r.c);
    if (is_type(&r, &root, JSON_OBJECT, "an object")) {
        config_check_keys(&r, &root);
        read_actions(&r, &root);
        read_tiers(&r, &root);
        read_configurations(&r, &root);
    }
    if (problems->n_errors > n_before)
        return -1;
    *ret = r.c;
    return 0;
}
