/* batch.c - a Job of batch/v1: pods that need not run together, done when enough have succeeded
 *
 * Each completion is a pod of one task. There is no gang: minAvailable is 1, and minSuccess says when it is done. A pod
 * that failed is replaced (RestartPod) as often as backoffLimit says.
 */
#include "convert/convert_internal.h"

#include "base/util.h"

struct batch { /* what the rows leave for later */
    struct part *part;
    int64_t parallelism, completions; /* -1: not given */
    bool is_indexed;
};

static void take_parallelism(void *to, const struct place *at)
{
    struct batch *b = to;

    b->parallelism = json_i64(at->node, -1);
}

static void take_completions(void *to, const struct place *at)
{
    struct batch *b = to;

    b->completions = json_i64(at->node, -1);
}

static void take_mode(void *to, const struct place *at)
{
    struct batch *b = to;

    b->is_indexed = str_is(json_text(at->node, STR_NULL), "Indexed");
}

static void batch_take_backoff(void *to, const struct place *at)
{
    struct batch *b = to;

    b->part->all->retries = MAX_OF(b->part->all->retries, json_i64(at->node, -1));
}

static void take_deadline(void *to, const struct place *at)
{
    struct batch *b = to;
    struct conversion *c = b->part->all;

    if (!json_get(b->part->pod, "activeDeadlineSeconds"))
        json_set(b->part->pod, "activeDeadlineSeconds", json_copy(c->arena, at->node));
    problem_warn(c->problems, at, "now a limit of each pod, counted from its own start; a Volcano Job has no deadline");
}

static void take_batch_ttl(void *to, const struct place *at)
{
    take_ttl(((struct batch *)to)->part->all, at);
}

static void take_batch_suspend(void *to, const struct place *at)
{
    take_suspend(((struct batch *)to)->part->all, at);
}

/* ---- podFailurePolicy ---- */

static const struct {
    const char *theirs, *ours;
} failure_actions[] = {
    { "FailJob", "TerminateJob" },
    { "Ignore", "RestartPod" },
    { "Count", "RestartPod" },
};

static const char *failure_action(struct str theirs)
{
    for (size_t i = 0; i < ARRAY_LEN(failure_actions); i++)
        if (str_is(theirs, failure_actions[i].theirs))
            return failure_actions[i].ours;
    return NULL;
}

static void take_failure_rule(struct batch *b, const struct place *rule)
{
    struct conversion *c = b->part->all;
    struct place action = place_member(rule, "action"),
                 codes = place_member(rule, "onExitCodes"), operator= place_member(&codes, "operator"),
                 conditions = place_member(rule, "onPodConditions");
    const char *ours = failure_action(json_text(action.node, STR_NULL));

    if (!ours) {
        problem_warn(c->problems, &action, "not carried over: a policy has nothing like %.*s",
                     STR_ARG(json_text(action.node, STR("this"))));
    } else if (conditions.node) {
        problem_warn(c->problems, &conditions, "not carried over: a policy looks at events and exit codes only");
    } else if (!str_is(json_text(operator.node, STR_NULL), "In")) {
        problem_warn(c->problems, &operator, "not carried over: a policy names the exit codes it is for");
    } else {
        JSON_FOREACH(code, json_get(codes.node, "values"))
            part_policy(b->part, NULL, json_i64(code, 0), ours);
    }
}

static void take_failure_policy(void *to, const struct place *at)
{
    struct place rules = place_member(at, "rules");
    size_t i = 0;

    JSON_FOREACH(node, rules.node) {
        struct place rule = place_item(&rules, node, i++);

        take_failure_rule(to, &rule);
    }
}

/* ---- the whole ---- */

static const struct row rows[] = {
    { "template", NULL, NULL },
    { "selector", NULL, NULL },
    { "manualSelector", NULL, NULL },
    { "parallelism", take_parallelism, NULL },
    { "completions", take_completions, NULL },
    { "completionMode", take_mode, NULL },
    { "backoffLimit", batch_take_backoff, NULL },
    { "activeDeadlineSeconds", take_deadline, NULL },
    { "ttlSecondsAfterFinished", take_batch_ttl, NULL },
    { "suspend", take_batch_suspend, NULL },
    { "podFailurePolicy", take_failure_policy, NULL },
    { "backoffLimitPerIndex", NULL, "maxRetry counts for the whole job" },
    { "maxFailedIndexes", NULL, "a job is done when minSuccess of its pods have succeeded" },
    { "successPolicy", NULL, "a job is done when minSuccess of its pods have succeeded, whichever they are" },
    { "podReplacementPolicy", NULL, "a pod is replaced when it has ended" },
    { "managedBy", NULL, "the controller of Volcano Jobs manages it" },
};

/* "JOB_COMPLETION_INDEX", which programs of indexed Jobs read. */
static void add_index(struct part *p)
{
    struct json *source = json_object(p->all->arena), *field = json_set(source, "fieldRef", json_object(p->all->arena));

    json_set(field, "fieldPath", json_str(p->all->arena, STR("metadata.labels['volcano.sh/task-index']")));
    part_env(p, "JOB_COMPLETION_INDEX", source);
}

static void set_size(struct batch *b, const struct place *spec, int64_t times)
{
    struct conversion *c = b->part->all;
    struct place parallelism = place_member(spec, "parallelism");
    int64_t at_once = b->parallelism < 0 ? 1 : b->parallelism, pods = b->completions < 0 ? at_once : b->completions;

    if (parallelism.node && at_once < pods)
        problem_warn(c->problems, &parallelism,
                     "not carried over: all %lld pods may run at once, as far as there is room; what a queue may use "
                     "bounds them",
                     (long long)pods);
    if (b->completions < 0 && at_once > 1)
        problem_warn(
            c->problems, &parallelism,
            "without completions the first success ends such a Job's others; now all %lld pods have to succeed",
            (long long)pods);
    part_replicas(b->part, pods * times);
}

struct part convert_batch_spec(struct conversion *c, struct str name, const struct place *spec,
                               const struct batch_defaults *defaults)
{
    struct place template = place_member(spec, "template"), pod = place_member(&template, "spec"),
                 restart = place_member(&pod, "restartPolicy");
    struct part part = convert_task(c, name, &template);
    struct batch b = { &part, -1, -1, defaults->is_indexed };
    struct str policy = json_text(restart.node, str_of(defaults->restart));

    if (!str_is(policy, "Never") && !str_is(policy, "OnFailure"))
        problem_error(c->problems, &restart, "must be OnFailure or Never");
    convert_rows(c, spec, rows, ARRAY_LEN(rows), &b);
    set_size(&b, spec, defaults->times);
    part_never_in_place(&part, &restart);
    if (b.is_indexed)
        add_index(&part);
    return part;
}

void convert_batch_job(struct conversion *c, const struct place *root)
{
    struct place spec = place_member(root, "spec");
    struct part part;

    c->retries = json_i64(json_get(spec.node, "backoffLimit"), BACKOFF_LIMIT);
    part = convert_batch_spec(c, STR("main"), &spec, &(struct batch_defaults){ .times = 1 });
    json_set(c->spec, "minAvailable", json_int(c->arena, MIN_OF(part.replicas, 1)));
    json_set(c->spec, "minSuccess", json_int(c->arena, part.replicas));
    part_on_failure(&part, "RestartPod");
}
