/* floor.c - the least a pod can cost: clone3 with the namespaces of a container, exec of a program, wait
 *
 *     bench_floor N [PROGRAM]
 *
 * One after the other; no root, no network, no cgroup, no log. What any runtime adds stands on top of this.
 */
#include <errno.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    long n = argc > 1 ? strtol(argv[1], NULL, 10) : 100;
    const char *program = argc > 2 ? argv[2] : "/bin/true";

    for (long i = 0; i < n; i++) {
        struct clone_args args = { .flags = CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS,
                                   .exit_signal = SIGCHLD };
        long pid = syscall(SYS_clone3, &args, sizeof(args));

        if (pid == 0) {
            execl(program, program, (char *)NULL);
            _exit(127);
        }
        if (pid < 0 || waitpid((pid_t)pid, NULL, 0) < 0) {
            fprintf(stderr, "clone3: %s\n", strerror(errno));
            return 1;
        }
    }
    return 0;
}
