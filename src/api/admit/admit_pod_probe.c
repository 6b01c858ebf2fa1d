/* admit_pod_probe.c - probes and lifecycle hooks of a container: exactly one handler each, and what fits where */
#include "api/admit/admit_internal.h"

#include "base/util.h"

#include <ctype.h>

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

static void check_headers(struct check *c, const struct place *http)
{
    struct place headers = place_list(http, "httpHeaders");

    PLACE_FOREACH(header, &headers) {
        struct place at = place_member(&header, "name");
        struct str name = json_text(at.node, STR(""));

        for (size_t i = 0; i < name.n; i++)
            if (!isalnum((unsigned char)name.p[i]) && name.p[i] != '-') {
                check_error(c, &at, "must be letters, digits and '-', as in X-Header-Name (got \"%.*s\")",
                            STR_ARG(name));
                break;
            }
    }
}

/* One handler, and what the schema does not ask of it. */
static void check_handler(struct check *c, const struct place *at, const char *const *kinds, size_t n)
{
    struct place exec = place_object(at, "exec"), command = place_member(&exec, "command");
    struct place http = place_object(at, "httpGet");

    check_headers(c, &http);
    (void)check_one_of(c, at, kinds, n, "handler type");
    if (exec.node && (!is_set(command.node) || (command.node->type == JSON_ARRAY && command.node->n == 0)))
        check_of(c, PROBLEM_REQUIRED, &command, "is required");
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

#define GRACE_DEFAULT 30

/* The kubelet kills a hook that sleeps longer than the pod's grace period. */
static void check_sleep(struct check *c, const struct place *hook, const struct place *spec)
{
    int64_t grace = json_i64(json_get(spec->node, "terminationGracePeriodSeconds"), GRACE_DEFAULT);
    struct place sleep = place_object(hook, "sleep"), at = place_member(&sleep, "seconds");
    int64_t seconds = json_i64(at.node, 0);

    grace = grace < 0 ? 1 : grace; /* as the API server reads it */
    if (seconds > grace)
        check_error(c, &at, "must not be more than terminationGracePeriodSeconds (%lld > %lld)", (long long)seconds,
                    (long long)grace);
}

/* "SIGTERM", "SIGRTMIN+3", "SIGRTMAX-1". */
static bool is_signal(struct str s)
{
    static const char *const names[] = {
        "ABRT", "ALRM", "BUS",  "CHLD", "CLD",  "CONT", "FPE",    "HUP",    "ILL",  "INT",  "IO",    "IOT",
        "KILL", "PIPE", "POLL", "PROF", "PWR",  "QUIT", "SEGV",   "STKFLT", "STOP", "SYS",  "TERM",  "TRAP",
        "TSTP", "TTIN", "TTOU", "URG",  "USR1", "USR2", "VTALRM", "WINCH",  "XCPU", "XFSZ", "RTMIN", "RTMAX",
    };
    int64_t n;

    if (!str_starts(s, STR("SIG")))
        return false;
    s = str_from(s, 3);
    if (str_starts(s, STR("RTMIN+")))
        return str_to_i64(str_from(s, 6), &n) == 0 && n >= 1 && n <= 15;
    if (str_starts(s, STR("RTMAX-")))
        return str_to_i64(str_from(s, 6), &n) == 0 && n >= 1 && n <= 14;
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_is(s, names[i]))
            return true;
    return false;
}

static void check_stop_signal(struct check *c, const struct place *lifecycle, const struct place *spec)
{
    struct place at = place_member(lifecycle, "stopSignal");
    struct str signal = json_text(at.node, STR(""));

    if (!json_is(at.node, JSON_STRING))
        return;
    if (str_empty(json_member_text(json_get(spec->node, "os"), "name")))
        check_error(c, &at, "may not be set unless spec.os.name is");
    else if (!is_signal(signal))
        check_error(c, &at, "must be a signal such as SIGTERM or SIGRTMIN+3 (got \"%.*s\")", STR_ARG(signal));
}

static void check_lifecycle(struct check *c, const struct place *lifecycle, const struct place *spec)
{
    static const char *const hooks[] = { "postStart", "preStop" };

    check_stop_signal(c, lifecycle, spec);

    for (size_t i = 0; i < ARRAY_LEN(hooks); i++) {
        struct place hook = place_object(lifecycle, hooks[i]);

        if (!hook.node)
            continue;
        check_handler(c, &hook, hook_handlers, ARRAY_LEN(hook_handlers));
        check_sleep(c, &hook, spec);
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
        check_lifecycle(pc->c, &lifecycle, pc->spec);
}
