/* supervisor.h - messages between a service and systemd, or another supervisor with its protocols
 *
 *     struct supervisor sup;
 *
 *     supervisor_init(&sup);                       first of all: sockets are taken, the environment is cleared
 *     …sup.sockets, sup.n_sockets…                 they listen already
 *     supervisor_tell(&sup, "READY=1");
 *     for (;;) supervisor_turn(&sup)               milliseconds until it wants to hear of us again
 *
 * The protocols are those of sd_listen_fds(3), sd_notify(3) and sd_watchdog_enabled(3). Without a supervisor all of this
 * does nothing.
 */
#ifndef OS_SUPERVISOR_H
#define OS_SUPERVISOR_H

#include <stddef.h>
#include <stdint.h>

enum { SUPERVISOR_SOCKETS = 16 };

struct supervisor {
    int sockets[SUPERVISOR_SOCKETS + 1]; /* that listen, ended by -1; close-on-exec, and the caller's */
    size_t n_sockets;
    char notify[108];             /* where it listens; empty: nowhere */
    int64_t watchdog_ms, told_ms; /* it wants a word so often, 0: never; mono time of the last */
};

/* Children that run other programs are not told of any of it. */
void supervisor_init(struct supervisor *s);

/* "READY=1", "STOPPING=1", "STATUS=…", several with newlines between. A message that cannot be sent is lost. */
void supervisor_tell(const struct supervisor *s, const char *words);
void supervisor_tell_reload(const struct supervisor *s); /* READY=1 follows */

/* Still alive. Milliseconds until the next call is due; INT64_MAX: never. */
int64_t supervisor_turn(struct supervisor *s, int64_t mono_ms);

#endif
