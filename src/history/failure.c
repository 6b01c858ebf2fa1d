/* failure.c - how a container or a pod failed, in words */
#include "history/failure.h"

#include "api/pod/container.h"

#include <signal.h>

const char *const failure_reasons[] = {
    /* a container ended */
    "Error",
    "OOMKilled",
    "StartError",
    "ContainerCannotRun",
    "ContainerStatusUnknown",
    /* a pod was ended */
    "Evicted",
    "DeadlineExceeded",
    "Killed",
    /* it waits */
    "CrashLoopBackOff",
    "CreateContainerConfigError",
    "CreateContainerError",
    "ErrImagePull",
    "ErrImageNeverPull",
    "ImagePullBackOff",
    "InvalidImageName",
    "FailedMount",
    "FailedCreatePodSandBox",
    "NetworkNotReady",
    "ContainerCreating",
    "PodInitializing",
    NULL,
};

struct str failure_reason(struct str reason)
{
    for (size_t i = 0; failure_reasons[i]; i++)
        if (str_is(reason, failure_reasons[i]))
            return str_of(failure_reasons[i]);
    return STR("Error");
}

int failure_signal(const struct failure *f)
{
    if (f->signo)
        return f->signo;
    return f->exit_code > 128 && f->exit_code < 128 + NSIG ? f->exit_code - 128 : 0;
}

static const char *signal_name(int signo)
{
    const char *name = signo > 0 && signo < NSIG ? sigabbrev_np(signo) : NULL;

    return name ? name : "";
}

void failure_words(struct buf *out, const struct failure *f)
{
    const char *name = signal_name(failure_signal(f));

    if (f->reason.n && !str_is(f->reason, "Error") && !str_is(f->reason, "Completed")) {
        buf_str(out, f->reason);
        if (str_trim(f->message).n)
            buf_fmt(out, ": %.*s", STR_ARG(str_trim(f->message)));
    } else if (f->exit_code < 0 || (!f->exit_code && !f->signo)) {
        buf_str(out, STR("failed"));
    } else if (f->signo && *name) {
        buf_fmt(out, "killed by SIG%s", name);
    } else {
        buf_fmt(out, "exit code %d", f->exit_code);
        if (*name)
            buf_fmt(out, " (SIG%s)", name);
    }
}

static struct str limit_in(struct arena *a, const struct json *spec)
{
    const struct json *limit = json_find(spec, "resources", "limits", "memory", NULL);

    if (json_is(limit, JSON_NUMBER)) /* bytes */
        return arena_fmt(a, "%lld", (long long)json_i64(limit, 0));
    return json_text(limit, STR_NULL);
}

struct str failure_memory_limit(struct arena *a, const struct json *pod, struct str container)
{
    const struct json *spec = json_get(pod, "spec");
    struct str pod_limit = limit_in(a, spec), own = limit_in(a, container_named(spec, container));

    if (own.n)
        return arena_fmt(a, "its memory limit is %.*s", STR_ARG(own));
    return pod_limit.n ? arena_fmt(a, "the memory limit of its pod is %.*s", STR_ARG(pod_limit)) : STR_NULL;
}
