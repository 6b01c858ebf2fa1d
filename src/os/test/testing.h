/* testing.h - what most unit tests of the machine's side begin with: cmocka, files, children, namespaces */
#ifndef OS_TEST_TESTING_H
#define OS_TEST_TESTING_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/buf.h"
#include "base/util.h"
#include "os/io.h"
#include "os/path.h"
#include "os/proc.h"
#include "os/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* Also one of /proc. */
static inline int write_text(const char *path, const char *text)
{
    return file_write(AT_FDCWD, path, O_TRUNC, 0644, str_of(text));
}

/* The file, with the directories above it. */
static inline void put_file(const char *path, struct str bytes)
{
    autobuf dir = { 0 };
    struct err e;

    buf_str(&dir, str_sub(str_of(path), 0, (size_t)str_rfind_char(str_of(path), '/')));
    if (make_dirs(dir.p, 0755, &e) < 0)
        fail_msg("%s", e.text);
    assert_int_equal(file_write(AT_FDCWD, path, O_TRUNC, 0644, bytes), 0);
}

/* An absolute path and all below it, but no mounts of others. */
static inline void remove_tree(const char *path)
{
    autobuf above = { 0 };
    autoclose int dir = -1;
    const char *slash = strrchr(path, '/');

    buf_append(&above, path, (size_t)(slash - path) + 1);
    dir = open(above.p, O_PATH | O_DIRECTORY | O_CLOEXEC);
    (void)tree_remove(dir, slash + 1, NULL); /* what stays is seen by whoever looks at /tmp */
}

/* Run in a child; the value it returns, 128 if it was killed. */
static inline int in_child(int (*run)(void))
{
    pid_t pid = fork();
    int status;

    assert_true(pid >= 0);
    if (pid == 0)
        _exit(run());
    status = proc_wait(pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

/* Become root of a user namespace of our own, which has this one id. -1: that is not allowed. */
static inline int own_user_namespace(void)
{
    char uid[40], gid[40];

    (void)snprintf(uid, sizeof(uid), "0 %u 1", geteuid());
    (void)snprintf(gid, sizeof(gid), "0 %u 1", getegid());
    (void)prctl(PR_SET_DUMPABLE, 1); /* or the files below are not ours after a change of user */
    if (unshare(CLONE_NEWUSER) < 0 || write_text("/proc/self/setgroups", "deny") < 0)
        return -1;
    return write_text("/proc/self/uid_map", uid) < 0 || write_text("/proc/self/gid_map", gid) < 0 ? -1 : 0;
}

#endif
