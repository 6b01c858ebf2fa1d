/* proc.h - the few programs of the host that we use: find one, run it, wait for it
 *
 * Such a program may be missing, be a script, fail without a message, or never end. So each runs in a process group of
 * its own, which is killed as a whole at the end (unless 'may_leave'). It dies with the thread that started it, and
 * inherits no descriptor and no blocked signal. Its output goes into memory files, so that it never blocks, and a
 * grandchild that keeps a pipe open does not delay us.
 *
 * Between fork() and execve() there are system calls only, so all of it may be called with other threads about.
 */
#ifndef OS_PROC_H
#define OS_PROC_H

#include "base/buf.h"
#include "base/err.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

/* ---- finding ---- */

/* Where 'name' is: by PATH, then where PATH, as ordinary users have it, does not say (/usr/sbin …). */
bool proc_find(const char *name, char *out, size_t size);

/* The first of 'dirs' ("/usr/bin:/bin") that has a program 'name'. Only absolute ones count: not wherever we happen
 * to be. 'skips' says which are passed over; may be NULL. */
bool proc_find_in(struct str dirs, const char *name, bool (*skips)(struct str dir), char *out, size_t size);

/* ---- running ---- */

enum proc_streams {
    PROC_WORDS,    /* nothing to read; what it says, on either stream, is kept */
    PROC_SILENT,   /* nothing to read; its output is dropped */
    PROC_OURS,     /* it has our own three */
    PROC_APART,    /* nothing to read; its output is kept, and its words (standard error) apart from that */
    PROC_TERMINAL, /* its output is kept; it may ask at our terminal, and stays in our group for that */
    PROC_STREAMS_MAX
};

struct proc_how { /* zeroed: with nothing to read, its words kept, with our environment */
    enum proc_streams streams;
    bool may_leave;         /* processes that it leaves running are not killed if it ends in time */
    const char *const *env; /* NULL: ours */
    struct str input;       /* what it reads where there is nothing to read else; empty: nothing */
};

struct proc {
    pid_t pid;
    int fd;            /* a pidfd: readable once it has ended */
    int words, output; /* -1: not kept */
    bool may_leave, is_group;
};

enum { PROC_CANNOT_RUN = 127 }; /* exit status: there is no such program */

struct proc_end {
    bool is_late; /* it was killed because it had not ended */
    int signo;    /* that ended it; 0: none */
    int status;   /* of its exit; 0: all is well */
};

/* Start 'path'. proc_end() must follow. */
int proc_begin(const char *path, const char *const argv[], const struct proc_how *how, struct proc *ret, struct err *e);

/* Wait until it ends, at most 'wait_ms' (-1: for ever), and kill the rest of its group. Its words are appended to
 * 'said' (may be NULL), at most 4 KiB. */
struct proc_end proc_end(struct proc *p, int wait_ms, struct buf *said);

/* What it wrote to standard output, before proc_end(). 0; 1: it is more than 'max' bytes; -1 with errno. */
int proc_output(const struct proc *p, size_t max, struct buf *out);

/* Both, for those who have time. Its exit status; -1 if it could not be run or was killed. */
int proc_run(const char *path, const char *const argv[], struct buf *said, struct err *e);

/* ---- copies of ourselves ---- */

/* fork(), for a child that works on a copy of our memory and runs no other program: beside 0, 1 and 2 it has one
 * descriptor, 'keep', which has the number PROC_KEPT there. The child closes all others before the parent goes on:
 * else files that the parent closes would stay open, and its epoll would still report them. Not for programs with
 * threads. */
enum { PROC_KEPT = 3 };
pid_t proc_fork_alone(int keep, bool dies_with_us); /* the second: the kernel kills it with us, stopped or not */

/* fork(), for a child that is waited for at once, by the second: signals that would end us wait meanwhile, and the
 * kernel kills it with us. */
pid_t proc_fork_bound(sigset_t *ret_old);
int proc_wait_bound(pid_t pid, const sigset_t *old);

/* Signals that would end us wait, until the caller sets the mask back: for as long as a new child cannot be left alone,
 * since it may be stopped and has not yet asked to be killed with us. */
void proc_hold_signals(sigset_t *ret_old);

/* ---- waiting ---- */

/* Wait for a child of ours; one that is stopped goes on. Its status as waitpid() gives it; -1: there is no such child
 * (also if 'pid' is not above 0). */
int proc_wait(pid_t pid);

/* The same for a child that was asked to end: resumes it if it is stopped, and kills it after 'ms'. */
int proc_wait_gone(pid_t pid, int ms);

/* Resume a stopped child, without reaping it. */
void proc_go_on(pid_t pid);

/* A memory file to take a program's words, for those who start it themselves; the words in it; -1. */
int proc_words_open(void);
void proc_words(int fd, struct buf *out);

#endif
