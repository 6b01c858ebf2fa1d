/* key_maker.h - a thread that makes RSA keys for the ssh plugin
 *
 * Making a pair of RSA keys takes 50 to 500 ms, too long for the event loop. So a thread of low priority makes the
 * pairs one after the other while the jobs wait. Pairs are interchangeable: a job takes any pair that is ready. The
 * thread starts with the first request and sleeps while no job waits. Keys of other types take less than a millisecond;
 * callers make them directly.
 */
#ifndef DRIVER_KEY_MAKER_H
#define DRIVER_KEY_MAKER_H

#include "plugin/plugin.h"

struct key_maker;

struct key_maker *key_maker_new(void);
void key_maker_free(struct key_maker *m); /* waits until the current pair is finished; NULL is fine */

/* A pair, copied into 'a'. Empty texts: none is ready. */
int key_maker_take(struct key_maker *m, struct arena *a, struct ssh_keys *ret, struct err *e);

/* Set the number of jobs that wait; the thread makes that many pairs, up to a limit. */
void key_maker_want(struct key_maker *m, size_t n);

size_t key_maker_ready(struct key_maker *m); /* pairs, or errors, that key_maker_take() can return now */

#endif
