/* signals.c - signals as news for a loop, beside the rest that it waits for */
#include "os/signals.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

int signals_open(const int *numbers, int *ret_fd, struct err *e)
{
    sigset_t set;

    sigemptyset(&set);
    for (size_t i = 0; numbers[i]; i++)
        sigaddset(&set, numbers[i]);
    (void)sigprocmask(SIG_BLOCK, &set, NULL); /* cannot fail with these arguments */
    (void)signal(SIGPIPE, SIG_IGN);
    *ret_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return *ret_fd < 0 ? err_errno(e, "signals") : 0;
}

int signals_next(int fd)
{
    struct signalfd_siginfo info;

    return fd >= 0 && read(fd, &info, sizeof(info)) == (ssize_t)sizeof(info) ? (int)info.ssi_signo : 0;
}
