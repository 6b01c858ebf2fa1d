/* plugin_internal.h - what the files of plugin/ share among themselves */
#ifndef PLUGIN_PLUGIN_INTERNAL_H
#define PLUGIN_PLUGIN_INTERNAL_H

#include "plugin/hosts.h"
#include "plugin/plugin.h"

#define PLUGIN(name) extern const struct job_plugin plugin_##name;
#include "plugin/plugin_list.h"
#undef PLUGIN

/* More pods than this in one job are refused: host lists would fill the memory. */
enum { PLUGIN_PODS_MAX = 1000000 };

struct plugin_use { /* one plugin of one job */
    const struct job_plugin *plugin;
    void *args;  /* plugin->args_size bytes, in its own layout */
    bool *given; /* plugin->n_args: was it in the list? */
    void *state; /* from prepare() */
    uint8_t mark;
};

struct plugin_set {
    struct arena *arena;
    const struct job *job;
    struct plugin_world world;
    struct task_hosts *hosts; /* one for each task of the job */
    struct plugin_use *use;   /* in registry order, only those the job names */
    size_t n_use;
};

/* args.c: read the list at 'at->node' (a list of texts; null and missing: empty) by the plugin's table. Fills what
 * use->args (defaults first) and use->given point to. Problems are reported at the element they are about. */
void plugin_args_parse(struct arena *a, struct plugin_use *use, const struct place *at, struct problems *ps);

/* The row of that documented name, or NULL. */
const struct plugin_arg *plugin_arg_by_name(const struct job_plugin *plugin, const char *name);

/* hosts.c: fill set->hosts. The sum of replicas must have been checked. */
void plugin_hosts_build(struct plugin_set *set);

/* rules.c: rules for the whole job that follow from the plugins it uses (what they are called among them). 'job' is the
 * place of the Job itself. */
void plugin_rules_check(const struct plugin_set *set, const struct place *job, struct problems *ps);

/* Replicas as a number of pods: a negative count, which admission refuses, is none. */
static inline uint32_t task_pods(const struct job_task *task)
{
    return task->replicas > 0 ? (uint32_t)task->replicas : 0;
}

/* sshconfig.c: the text of ~/.ssh/config for all hosts of the job. 'wildcard': one block per task; very large jobs get
 * that anyway. */
void ssh_config_write(struct plugin_call *call, int64_t port, bool wildcard, struct buf *out);

/* sshport.c: where the sshd of the pods listens, as far as arguments and templates tell. */
int64_t ssh_port(struct arena *a, const struct plugin_set *set);

/* Is 'obj' (may be NULL) controlled by this very job, not by an older one of the same name? */
bool plugin_job_owns(const struct job *job, const struct json *obj);

/* Namespace of the job; "default" before admission has filled it in. */
struct str plugin_namespace(const struct job *job);

#endif
