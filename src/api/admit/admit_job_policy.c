/* admit_job_policy.c - lists of lifecycle policies (B52) */
#include "api/admit/admit_internal.h"

#include "api/duration.h"
#include "api/job.h"
#include "api/schema/schemas.h"
#include "base/util.h"

struct policy_list { /* one list under check; each list stands alone */
    struct check *c;
    struct policy_scope scope;
    struct name_map events, exit_codes;
    bool has_any; /* '*' */
};

struct policy_events { /* of one policy, each once, with where it stands first */
    VEC(struct place) list;
};

static size_t count_names(const char *const *names)
{
    size_t n = 0;

    while (names[n])
        n++;
    return n;
}

/* ""x" (did you mean "y"?); valid events are [a b c]": a list full of mistakes gets the long form only at first. */
static void report_word(struct check *c, const struct place *at, const char *what, const char *const *valid)
{
    struct str word = json_text(at->node, STR("")), all = STR("");

    if (check_is_full(c)) {
        check_error_instead(c, at, "invalid policy %s", what);
        return;
    }
    for (size_t i = 0; valid[i]; i++)
        all = arena_fmt(c->arena, "%.*s%s%s", STR_ARG(all), i ? " " : "", valid[i]);
    check_error_instead(c, at, "invalid policy %s \"%.*s\"%.*s; valid %ss are [%.*s]", what, STR_ARG(word),
                        STR_ARG(check_hint(c->arena, word, valid, count_names(valid))), what, STR_ARG(all));
}

static bool admit_job_policy_is_one_of(struct str word, const char *const *names)
{
    for (; *names; names++)
        if (str_is(word, *names))
            return true;
    return false;
}

static bool is_targeted(struct str action)
{
    static const char *const targeted[] = { "RestartTask", "RestartPod", "RestartPartition", NULL };

    return admit_job_policy_is_one_of(action, targeted);
}

/* ---- events ---- */

static void add_event(struct policy_list *pl, struct policy_events *pe, struct name_map *own, struct place at)
{
    struct str event = json_text(at.node, STR(""));

    if (event.n && name_map_add(pl->c->arena, own, event, pe->list.n, NULL))
        *vec_push(pl->c->arena, &pe->list) = at;
}

static void check_event(struct policy_list *pl, const struct place *policy, const struct place *at)
{
    struct str event = json_text(at->node, STR("")), action = json_member_text(policy->node, "action");
    bool has_timeout = is_set(json_get(policy->node, "timeout"));
    size_t first;

    if (!admit_job_policy_is_one_of(event, job_policy_events))
        report_word(pl->c, at, "event", job_policy_events);
    if (!name_map_add(pl->c->arena, &pl->events, event, policy->index, &first))
        check_error(pl->c, at, "duplicate event %.*s  across different policy: policies[%zu] has it already",
                    STR_ARG(event), first); /* the two blanks are Volcano's */
    pl->has_any |= str_eq(event, STR("*"));
    if (str_eq(event, STR("JobUpdated")))
        check_warn(pl->c, at, "the event JobUpdated never fires: this policy has no effect");
    if (str_eq(event, STR("PodPending")) && !has_timeout)
        check_warn(pl->c, at, "the event PodPending needs a timeout: without one this policy never acts");
    if (str_eq(event, STR("Unknown")) && is_targeted(action))
        check_error(pl->c, at,
                    "the event Unknown concerns the whole job, so %.*s has no target; use an action on the job such as "
                    "RestartJob",
                    STR_ARG(action));
}

/* ---- the other fields ---- */

static void check_exit_code(struct policy_list *pl, const struct place *policy)
{
    struct place at = place_member(policy, "exitCode");
    struct str text;
    size_t first;
    int64_t code;

    if (json_to_i64(at.node, &code) < 0)
        return;
    if (code == 0)
        check_error(pl->c, &at, "0 is not a valid error code: use the event TaskCompleted to act on success");
    else if (code < 0 || code > 255)
        check_warn(pl->c, &at, "exit codes are 1 to 255: this policy has no effect");
    text = arena_fmt(pl->c->arena, "%lld", (long long)code);
    if (!name_map_add(pl->c->arena, &pl->exit_codes, text, policy->index, &first))
        check_error(pl->c, &at, "duplicate exitCode %lld: policies[%zu] has it already", (long long)code, first);
}

static void check_action(struct policy_list *pl, const struct place *policy)
{
    struct place at = place_member(policy, "action");
    struct str action = json_text(at.node, STR(""));

    if (is_set(at.node) && at.node->type != JSON_STRING)
        return;
    if (!admit_job_policy_is_one_of(action, job_actions))
        report_word(pl->c, &at, "action", job_actions);
    if (str_eq(action, STR("RestartPartition")) && !pl->scope.has_partition)
        check_error(pl->c, &at, "RestartPartition needs a partitionPolicy, and %s",
                    pl->scope.is_task ? "this task has none" : "no task of the job has one");
}

static void check_timeout(struct policy_list *pl, const struct place *policy)
{
    struct place at = place_member(policy, "timeout");
    struct err e = { 0 };
    int64_t ns;

    if (!json_is(at.node, JSON_STRING))
        return;
    if (duration_parse(json_text(at.node, STR("")), &ns, &e) < 0)
        check_error(pl->c, &at, "%s", e.text);
    else if (ns < 0)
        check_error(pl->c, &at, "must not be negative");
    else if (ns == 0)
        check_warn(pl->c, &at, "is zero: the action does not wait; leave the timeout out or give it a length");
}

/* ---- all together ---- */

/* Is there an event of whatever type, so that a wrong one is not reported as a missing one too? */
static bool has_any_event(const struct place *policy)
{
    const struct json *event = json_get(policy->node, "event"), *events = json_get(policy->node, "events");

    if (is_set(event))
        return true; /* "" is one too: the schema check says that it must not be empty */
    return is_set(events) && !(events->type == JSON_ARRAY && events->n == 0);
}

static void check_policy(struct policy_list *pl, const struct place *policy)
{
    struct place events = place_list(policy, "events"), exit_code = place_member(policy, "exitCode");
    bool has_event = has_any_event(policy), has_code = is_set(exit_code.node);
    struct policy_events pe = { 0 };
    struct name_map own = { 0 };

    PLACE_FOREACH(event, &events)
        add_event(pl, &pe, &own, event);
    add_event(pl, &pe, &own, place_member(policy, "event"));
    if (has_event && has_code)
        check_error(pl->c, &exit_code, "must not specify event and exitCode simultaneously: make two policies of it");
    if (!has_event && !has_code)
        check_error(pl->c, policy, "either event and exitCode should be specified: add one of them");
    VEC_FOREACH(event, &pe.list)
        check_event(pl, policy, event);
    check_exit_code(pl, policy);
    check_action(pl, policy);
    check_timeout(pl, policy);
}

void policy_rules(struct check *c, const struct place *policies, struct policy_scope scope)
{
    struct policy_list pl = { .c = c, .scope = scope };

    PLACE_FOREACH(policy, policies)
        if (json_is(policy.node, JSON_OBJECT))
            check_policy(&pl, &policy);
    if (pl.has_any && pl.events.n > 1)
        check_error(c, policies,
                    "if there's * here, no other policy should be here: '*' covers every event; only exitCode "
                    "policies may stand beside it");
}
