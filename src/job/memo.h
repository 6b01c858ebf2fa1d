/* memo.h - state of the controller that survives a crash, as notes in status.controlledResources
 *
 * A real API server drops unknown fields of the status, but keeps this map of strings. So one write has both a decision
 * and all that carrying it out needs:
 *
 *     pumice-restart            "task <task>", "pod <task> <index>", "partition <task> <id>": the target being
 *                               restarted
 *     pumice-timer-<pod|task|>  "<event> <action> <deadline ms> <pod uid>": a delayed action
 *     pumice-command-<uid>      "<ms>": a Command that was obeyed then; kept a while after its deletion, because another
 *                               controller may still see it
 *     pumice-seen-<task>        "0-3,7": indices that had a pod in this version
 *     pumice-done-<task>        the same of pods that Succeeded
 *     pumice-started            when the job first ran
 */
#ifndef JOB_MEMO_H
#define JOB_MEMO_H

#include "base/vec.h"
#include "job/policy.h"

enum restart_scope { RESTART_NONE, RESTART_TASK, RESTART_POD, RESTART_PARTITION };

struct memo_timer {
    struct str about; /* pod name, "task/<name>", or "" for the whole job */
    enum job_event event;
    enum job_action action;
    int64_t deadline_ms;
    struct str uid; /* of the pod; empty: none */
};

struct memo_command {
    struct str uid;
    int64_t obeyed_ms;
};

struct memo {
    enum restart_scope scope;
    struct str task; /* of the restart */
    uint32_t number; /* pod index or partition */
    VEC(struct memo_timer) timers;
    VEC(struct memo_command) commands;
};

/* Read the notes; those that are malformed are left out. Text is borrowed. */
void memo_read(struct arena *a, const struct json *controlled, struct memo *ret);

/* Replace the notes about restart, timers and commands in 'controlled'. */
void memo_write(struct arena *a, const struct memo *m, struct json *controlled);

const struct memo_timer *memo_timer_find(const struct memo *m, struct str about);
bool memo_has_command(const struct memo *m, struct str uid);

#endif
