/* fair.h - in which order requests are served: whoever has cost least is first
 *
 * A request is served whole and alone, so the others wait for it. What it took is charged to its client, and of those
 * who wait the client with the smallest account comes next: one who asks for much waits for himself, however many
 * connections he has, and a small request waits for no more than the one that is being served. Who was idle begins with
 * what the one served last had: rest earns no credit, so nobody can save up for a burst.
 *
 * A client is known by a number. Two numbers may turn out to be one client (a token and its user): fair_same().
 * Accounts are few and forgotten when they say nothing: memory is bounded.
 */
#ifndef HTTP_FAIR_H
#define HTTP_FAIR_H

#include "base/heap.h"
#include "base/list.h"
#include "base/map.h"

#include <stdint.h>

struct fair_client;

struct fair_ticket { /* inside of what waits; zeroed: it does not */
    struct list_link link;
    struct fair_client *client;
};

struct fair {
    struct map_u64 clients;
    struct heap waiting; /* clients that have somebody waiting, by account */
    int64_t now_us;      /* the account of whoever was served last */
    uint64_t seq;
};

void fair_init(struct fair *f);
void fair_done(struct fair *f); /* nobody waits any more */

void fair_push(struct fair *f, uint64_t key, struct fair_ticket *t); /* one more of this client waits */
struct fair_ticket *fair_first(const struct fair *f);                /* who is next; NULL: nobody waits */
struct fair_ticket *fair_pop(struct fair *f);                        /* the same, and it waits no longer */
void fair_leave(struct fair *f, struct fair_ticket *t);              /* it waits no longer; fine if it does not */
void fair_charge(struct fair *f, uint64_t key, int64_t us);          /* what it took */

/* What comes as 'key' is 'client's from now on. */
void fair_same(struct fair *f, uint64_t key, uint64_t client);

static inline bool fair_is_empty(const struct fair *f)
{
    return heap_first(&f->waiting) == NULL;
}

#endif
