/* relay.h - bytes both ways between pairs of sockets
 *
 * Nothing is read from one side while the other has not taken what was read before, so a pair holds RELAY_BYTES at most
 * each way. When one side ends, the other is shut down for writing; the pair ends when both have ended or one fails.
 * There is no callback: the programs at the sockets see it.
 */
#ifndef OS_RELAY_H
#define OS_RELAY_H

#include <stddef.h>

enum { RELAY_BYTES = 64 << 10 };

struct relay;

struct relay *relay_new(void);       /* NULL: there is no descriptor left; errno says why */
void relay_free(struct relay *r);    /* cuts all pairs. NULL is fine */
int relay_fd(const struct relay *r); /* readable: relay_turn() has something to do */
void relay_turn(struct relay *r);

/* Both do not block; 'take_to' may be on its way to be connected. */
void relay_add(struct relay *r, int take_from, int take_to);
size_t relay_count(const struct relay *r);

#endif
