/* fair.h - fair queueing of requests: the client that has used least time is served next
 *
 * Requests are served one after another. The time that a request took is charged to the account of its client, and the
 * waiting client with the smallest account comes next. So a client with many requests delays itself only, however many
 * connections it has, and a small request waits for one request at most. A client that was idle gets the account of the
 * client that was served last: idle time earns no credit for a burst.
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
    struct heap waiting; /* clients with waiting requests, by account */
    int64_t now_us;      /* the account of the client that was served last */
    uint64_t seq;
};

void fair_init(struct fair *f);
void fair_done(struct fair *f); /* call it without waiting tickets */

void fair_push(struct fair *f, uint64_t key, struct fair_ticket *t); /* one more of this client waits */
struct fair_ticket *fair_first(const struct fair *f);                /* the next; NULL: none waits */
struct fair_ticket *fair_pop(struct fair *f);                        /* the same, and it waits no longer */
void fair_leave(struct fair *f, struct fair_ticket *t);              /* it waits no longer; fine if it does not */
void fair_charge(struct fair *f, uint64_t key, int64_t us);          /* what it took */

/* From now on 'key' is a name of 'client'. */
void fair_same(struct fair *f, uint64_t key, uint64_t client);

static inline bool fair_is_empty(const struct fair *f)
{
    return heap_first(&f->waiting) == NULL;
}

#endif
