/* fence.c - the program ends at a moment, whatever it is doing then */
#include "os/fence.h"

#include "base/util.h"

#include <signal.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

static struct {
    timer_t timer;
    bool is_open;
    int fd, status;
    char words[256];
    size_t n;
} fence;

/* Only what a handler may call. */
static void on_time(int signal)
{
    (void)signal;
    (void)!write(fence.fd, fence.words, fence.n); /* no other way is left to report it */
    _exit(fence.status);
}

int fence_open(int fd, struct str last_words, int status, struct err *e)
{
    struct sigaction act = { .sa_handler = on_time };
    struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGALRM };

    fence.fd = fd;
    fence.status = status;
    fence.n = MIN_OF(last_words.n, sizeof(fence.words));
    memcpy(fence.words, last_words.p, fence.n);
    event.sigev_notify_thread_id = gettid(); /* another thread would leave this one an instant */
    if (sigaction(SIGALRM, &act, NULL) < 0 || timer_create(CLOCK_BOOTTIME, &event, &fence.timer) < 0)
        return err_errno(e, "create a timer");
    fence.is_open = true;
    return 0;
}

void fence_set(int64_t boot_ms)
{
    struct itimerspec at = { 0 }; /* none */

    if (boot_ms != INT64_MAX)
        at.it_value = (struct timespec){ MAX_OF(boot_ms, 1) / 1000, MAX_OF(boot_ms, 1) % 1000 * 1000000 };
    (void)timer_settime(fence.timer, TIMER_ABSTIME, &at, NULL); /* all is valid */
}

void fence_close(void)
{
    if (fence.is_open)
        (void)timer_delete(fence.timer); /* it is there */
    fence.is_open = false;
}
