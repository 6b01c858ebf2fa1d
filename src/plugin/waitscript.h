/* waitscript.h - a shell script that waits until hosts answer
 *
 * The script is plain POSIX sh and brings nothing along: it takes the first of the tools it knows that the image has.
 * It prints what it waits for and how far it is, and exits 1 when it times out. Long lists are read from the files
 * below /etc/volcano when it runs, so its size does not grow with the job.
 *
 * Kubernetes replaces $(NAME) and $$ in commands before the shell sees them; the script has neither.
 */
#ifndef PLUGIN_WAITSCRIPT_H
#define PLUGIN_WAITSCRIPT_H

#include "plugin/pod.h"

enum { WAIT_TIMEOUT_MAX_S = 1000 * 1000 * 1000 }; /* fits the arithmetic of every shell */

struct wait_script {
    bool dns_only;         /* a name that resolves is enough; else a TCP connection to 'port' must succeed */
    struct str host;       /* one host; may be empty */
    struct str_list files; /* and all hosts of these files below /etc/volcano */
    struct str skip;       /* never waited for: the pod's own name */
    int64_t port;
    int64_t timeout_s; /* 0: one try */
    int64_t min;       /* number of hosts to wait for; 0: all */
};

struct str wait_script_text(struct plugin_call *call, const struct wait_script *w);

/* The same in a subshell, to stand before a command: its variables and "$@" do not mix with those of the rest. */
struct str wait_script_prefix(struct plugin_call *call, const struct wait_script *w);

/* Append an init container that runs the script. With the image "pod" (or none) it is the image of the first container,
 * with its imagePullPolicy, resources and securityContext. /etc/volcano is mounted if it reads files. Does nothing when
 * an init container of that name is there, or when there is no container to take the image from. */
void pod_add_wait(struct plugin_call *call, struct pod_draft *pod, struct str name, struct str image,
                  const struct wait_script *w);

/* "<task>.host" with '_' for '-': the file of svc that lists the hosts of a task. */
struct str host_file_name(struct arena *a, struct str task);

/* 's' as one word of a shell command. */
struct str shell_word(struct arena *a, struct str s);

#endif
