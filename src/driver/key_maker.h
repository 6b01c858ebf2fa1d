/* key_maker.h - RSA keys for the ssh plugin, made by a thread of their own
 *
 * A pair of RSA keys takes some 50 to 500 ms, in which the loop would serve nobody. So a thread makes them, one after the
 * other, and the job waits: whoever asks gets a pair that is ready, or is told to ask again. All pairs are equal; which
 * job gets which does not matter. The thread starts with the first question, rests while nobody waits, and gives way to
 * the loop. Keys of other types take less than a millisecond and are made by whoever needs them.
 */
#ifndef DRIVER_KEY_MAKER_H
#define DRIVER_KEY_MAKER_H

#include "plugin/plugin.h"

struct key_maker;

struct key_maker *key_maker_new(void);
void key_maker_free(struct key_maker *m); /* waits for the pair that is being made; NULL is fine */

/* A pair, copied into 'a'. Empty texts: none is ready. */
int key_maker_take(struct key_maker *m, struct arena *a, struct ssh_keys *ret, struct err *e);

/* So many wait for a pair: have that many made, as far as there is room for them. */
void key_maker_want(struct key_maker *m, size_t n);

size_t key_maker_ready(struct key_maker *m); /* pairs that can be taken now, or errors that can be told */

#endif
