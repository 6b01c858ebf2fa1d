/* supervisor.c - sockets from systemd, and words for it */
#include "os/supervisor.h"

#include "base/clock.h"
#include "base/str.h"
#include "base/util.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { FIRST_FD = 3 };

static uint64_t supervisor_number_of(const char *name)
{
    const char *text = getenv(name);
    uint64_t n = 0;

    return text && str_to_u64(str_of(text), &n) == 0 ? n : 0;
}

/* Is what was said meant for us? A child of the one it was meant for has the same words. */
static bool is_for_us(const char *name)
{
    return !getenv(name) || supervisor_number_of(name) == (uint64_t)getpid();
}

static bool is_listening(int fd)
{
    int yes = 0;
    socklen_t n = sizeof(yes);

    return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &yes, &n) == 0 && yes;
}

static void take_sockets(struct supervisor *s)
{
    uint64_t n = getenv("LISTEN_PID") && is_for_us("LISTEN_PID") ? supervisor_number_of("LISTEN_FDS") : 0;

    for (uint64_t i = 0; i < n && s->n_sockets < SUPERVISOR_SOCKETS; i++) {
        int fd = FIRST_FD + (int)i;

        if (!is_listening(fd) || fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
            continue;
        s->sockets[s->n_sockets++] = fd;
    }
    s->sockets[s->n_sockets] = -1;
}

void supervisor_init(struct supervisor *s)
{
    static const char *const names[] = { "LISTEN_PID",    "LISTEN_FDS",    "LISTEN_FDNAMES",
                                         "NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID" };
    const char *notify = getenv("NOTIFY_SOCKET");

    *s = (struct supervisor){ 0 };
    take_sockets(s);
    if (notify && (notify[0] == '/' || notify[0] == '@') && strlen(notify) < sizeof(s->notify))
        (void)snprintf(s->notify, sizeof(s->notify), "%s", notify);
    if (s->notify[0] && is_for_us("WATCHDOG_PID"))
        s->watchdog_ms = (int64_t)(supervisor_number_of("WATCHDOG_USEC") / 1000);
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        (void)unsetenv(names[i]); /* the names are good */
}

void supervisor_tell(const struct supervisor *s, const char *words)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    size_t n = strlen(s->notify);
    autoclose int fd = -1;

    if (!n)
        return;
    memcpy(at.sun_path, s->notify, n);
    if (at.sun_path[0] == '@')
        at.sun_path[0] = '\0';
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd >= 0)
        (void)!sendto(fd, words, strlen(words), MSG_NOSIGNAL | MSG_DONTWAIT, (struct sockaddr *)&at,
                      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n)); /* failed: the receiver has exited */
}

void supervisor_tell_reload(const struct supervisor *s)
{
    char words[80];

    (void)snprintf(words, sizeof(words), "RELOADING=1\nMONOTONIC_USEC=%lld", (long long)clock_mono_us(&clock_real));
    supervisor_tell(s, words);
}

int64_t supervisor_turn(struct supervisor *s, int64_t mono_ms)
{
    if (!s->watchdog_ms)
        return INT64_MAX;
    if (mono_ms - s->told_ms >= s->watchdog_ms / 2) {
        s->told_ms = mono_ms;
        supervisor_tell(s, "WATCHDOG=1");
    }
    return MAX_OF(s->told_ms + s->watchdog_ms / 2 - mono_ms, 1);
}
