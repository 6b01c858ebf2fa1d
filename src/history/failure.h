/* failure.h - how a container or a pod failed, in the same words on the terminal, in -o json and in the report
 *
 * 'reason' is a word of a fixed list (failure_reasons[], docs/run.md), which programs can compare. 'message' has the
 * details: the termination message, the last lines of the log, or a sentence of the node. For people both are printed
 * as one line.
 */
#ifndef HISTORY_FAILURE_H
#define HISTORY_FAILURE_H

#include "base/buf.h"
#include "json/json.h"

struct failure {
    int exit_code; /* -1: no program ran */
    int signo;     /* 0: it was not killed by a signal */
    struct str reason, message;
};

/* NULL at the end. */
extern const char *const failure_reasons[];

/* The word of the list; "Error" for what is not in it. */
struct str failure_reason(struct str reason);

/* The signal that ended it; of an exit status alone (128 + n) that is a guess that shells have made a rule. 0: none. */
int failure_signal(const struct failure *f);

/* "exit code 3", "exit code 143 (SIGTERM)", "killed by SIGSEGV", "OOMKilled: its memory limit is 64Mi", "StartError: no
 * such file: trian". */
void failure_words(struct buf *out, const struct failure *f);

/* "its memory limit is 64Mi", from the spec of the pod; empty: no limit is known. */
struct str failure_memory_limit(struct arena *a, const struct json *pod, struct str container);

#endif
