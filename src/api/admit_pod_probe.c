/* admit_pod_probe.c - probes and lifecycle hooks of a container: exactly one handler each, and what fits where */
#include "api/admit_internal.h"

#include "base/util.h"

static const char *const probe_handlers[] = { "exec", "httpGet", "tcpSocket", "grpc" };
static const char *const hook_handlers[] = { "exec", "httpGet", "tcpSocket", "sleep" };

static const struct {
    const char *name;
    bool wants_one_success; /* successThreshold other than 1 means nothing */
    bool may_have_grace;    /* terminationGracePeriodSeconds */
} probes[] = {
    { "livenessProbe", true, true },
    { "readinessProbe", false, false },
    { "startupProbe", true, true },
};

/* One handler, and what the schema does not ask of it. */
static void check_handler(struct check *c, const struct place *at, const char *const *kinds, size_t n)
{
    struct place exec = place_object(at, "exec"), command = place_member(&exec, "command");

    (void)check_one_of(c, at, kinds, n, true, "handler type");
    if (exec.node && (!is_set(command.node) || (command.node->type == JSON_ARRAY && command.node->n == 0)))
        check_error(c, &command, "is required");
}

static void check_probe(struct check *c, const struct place *probe, bool wants_one_success, bool may_have_grace)
{
    struct place success = place_member(probe, "successThreshold");
    struct place grace = place_member(probe, "terminationGracePeriodSeconds");
    int64_t n = json_i64(success.node, 1);

    check_handler(c, probe, probe_handlers, ARRAY_LEN(probe_handlers));
    if (wants_one_success && n > 1)
        check_error(c, &success, "must be 1 for this kind of probe (got %lld)", (long long)n);
    if (!may_have_grace && is_set(grace.node))
        check_error(c, &grace, "must not be set for readinessProbe");
}

static void check_lifecycle(struct check *c, const struct place *lifecycle)
{
    static const char *const hooks[] = { "postStart", "preStop" };

    for (size_t i = 0; i < ARRAY_LEN(hooks); i++) {
        struct place hook = place_object(lifecycle, hooks[i]);

        if (hook.node)
            check_handler(c, &hook, hook_handlers, ARRAY_LEN(hook_handlers));
    }
}

/* An init container that runs to its end is neither probed nor hooked. */
static bool is_refused(struct check *c, const struct place *at, bool is_init)
{
    if (is_init && at->node)
        check_error(c, at, "may not be set for init containers without restartPolicy=Always");
    return is_init || !at->node;
}

void pod_probe_rules(struct pod_check *pc, const struct place *container, bool is_init)
{
    struct place lifecycle = place_object(container, "lifecycle");

    for (size_t i = 0; i < ARRAY_LEN(probes); i++) {
        struct place probe = place_object(container, probes[i].name);

        if (!is_refused(pc->c, &probe, is_init))
            check_probe(pc->c, &probe, probes[i].wants_one_success, probes[i].may_have_grace);
    }
    if (!is_refused(pc->c, &lifecycle, is_init))
        check_lifecycle(pc->c, &lifecycle);
}
