/* launch.h - what the plugins of distributed frameworks have in common */
#ifndef PLUGIN_LAUNCH_H
#define PLUGIN_LAUNCH_H

#include "plugin/pod.h"

/* Processes of one pod: "auto" (the accelerators of its task) or a number from 1 to 65536. */
bool slots_is_valid(struct str text);
int64_t slots_of(struct str text, const struct job_task *task); /* "" and what is not valid read as "auto" */

/* Report 'text' as a bad value of argument 'arg' unless slots_is_valid(). */
void slots_check(const struct place *at, const char *arg, struct str text, struct problems *ps);

/* Report a time to wait that is negative or too long for a shell. */
void timeout_check(const struct place *at, const char *arg, int64_t timeout_s, struct problems *ps);

/* Set a variable in all containers, or in the main ones only. 'keep_user': unless the user has set it. */
void pod_set_env(struct plugin_call *call, struct pod_draft *pod, const char *name, struct str value, bool keep_user);
void pod_set_main_env(struct plugin_call *call, struct pod_draft *pod, const char *name, struct str value,
                      bool keep_user);

/* Open 'port' in the first main container. */
void pod_open_first_port(struct plugin_call *call, struct pod_draft *pod, const char *name, int64_t port);

/* The value of a boolean argument of another plugin of the job; the fallback when it is not used. */
bool plugin_set_flag(const struct plugin_set *set, const char *plugin, const char *arg, bool fallback);

#endif
