/* host_internal.h - what the checks of host.h share */
#ifndef NODE_HOST_INTERNAL_H
#define NODE_HOST_INTERNAL_H

#include "node/doctor/host.h"
#include "node/net/net.h"
#include "node/userns/user.h"

enum { HOST_PODS = 500 }; /* as many at once should fit */

struct exam { /* the examination, in a child process */
    struct arena *arena;
    const char *state_dir;
    struct user_root root;
    bool is_inside; /* root and in a mount namespace of our own; else nothing can be tried */
    struct net *net;
};

/* Each sets the verdict and says something; all start as HOST_FINE without words. */
typedef void host_look_f(struct exam *x, struct host_check *c);

/* host_try.c: those that try; called when 'is_inside' only */
host_look_f host_try_ids, host_try_overlay, host_try_proc, host_try_cgroups, host_try_network, host_try_nftables,
    host_try_out;

/* host_look.c: those that look */
host_look_f host_look_kernel, host_look_names, host_look_seccomp, host_look_size, host_look_processes, host_look_files,
    host_look_gpus, host_look_sshd, host_look_mpi;

void host_say(struct exam *x, struct host_check *c, enum host_verdict v, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* The same with a sentence that ends with what helps, "…; run: COMMAND": the command becomes the fix. */
void host_say_why(struct exam *x, struct host_check *c, enum host_verdict v, const char *why);

/* -1: this kernel is too old. */
int host_kernel(struct err *e);
/* In a new pid namespace. 0, or the errno. */
int host_try_mount_proc(void);

#endif
