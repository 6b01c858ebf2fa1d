/* live.h - the state of a real cluster, read once, where a command could also have it from files
 *
 * Only gets and lists. A command has these three options; one of them, or no file at all, means the cluster:
 *
 *     --cluster           the one that kubectl uses
 *     --kubeconfig FILE
 *     --context NAME
 */
#ifndef CLI_LIVE_H
#define CLI_LIVE_H

#include "cli/load.h"
#include "kube/ask.h"

struct live_options {
    bool cluster;
    const char *kubeconfig, *context;
};

#define LIVE_OPTIONS(type, field)                                                                                      \
    OPTION_ROW(0, "cluster", OPTION_FLAG, offsetof(type, field.cluster), NULL, NULL,                                   \
               "read the state of the cluster that kubectl uses"),                                                     \
        OPTION_ROW(0, "kubeconfig", OPTION_TEXT, offsetof(type, field.kubeconfig), "FILE", NULL,                       \
                   "read that of the cluster in this file"),                                                           \
        OPTION_ROW(0, "context", OPTION_TEXT, offsetof(type, field.context), "NAME", NULL,                             \
                   "of the kubeconfig (default: its current one)")

static inline bool live_is_asked(const struct live_options *o)
{
    return o->cluster || o->kubeconfig || o->context;
}

struct live {
    struct arena *arena;
    const char *command; /* for warnings */
    struct kube_config config;
    struct kube_ask *ask;
};

/* Warnings of the kubeconfig are printed ("pumice COMMAND: warning: …"). Where none of the options asked for a cluster
 * and none is configured, the error says that files are missing. */
int live_open(struct live *l, struct arena *a, const struct live_options *o, const char *command, struct err *e);
void live_close(struct live *l); /* also one that was never opened */
#define autolive __attribute__((cleanup(live_close))) struct live

/* What the scheduler looks at, of all namespaces, and PodGroups of scheduling.k8s.io, which have no type of ours. Kinds
 * that are not installed count as empty. Jobs, PodGroups, Pods, Queues and Nodes must be readable; of the rest,
 * unreadable kinds are reported. */
int live_read_state(struct live *l, struct load *into, struct err *e);
/* JobFlows and JobTemplates; who may not list them goes on without. */
int live_read_flows(struct live *l, struct load *into, struct err *e);

/* What could be in the way of the objects that 'jobs' would make, or is theirs already: of their namespaces, and of no
 * Secrets but those with their names. */
int live_read_around(struct live *l, struct load *into, const struct load *jobs, struct err *e);

#endif
