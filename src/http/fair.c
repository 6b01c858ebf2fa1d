/* fair.c - accounts of clients, and who is next: start-time fair queueing */
#include "http/fair.h"

#include "base/util.h"

enum { CLIENTS_MAX = 8192 };

struct fair_client {
    uint64_t key, same; /* 'same': the client that this one is; 0: itself */
    int64_t account_us;
    uint64_t seq; /* of two with equal accounts, who has waited longer */
    struct list waiting;
    struct heap_node node; /* fair.waiting */
};

static int by_account(const struct heap_node *a, const struct heap_node *b)
{
    const struct fair_client *x = HEAP_ITEM(a, struct fair_client, node), *y = HEAP_ITEM(b, struct fair_client, node);

    if (x->account_us != y->account_us)
        return x->account_us < y->account_us ? -1 : 1;
    return (x->seq > y->seq) - (x->seq < y->seq);
}

void fair_init(struct fair *f)
{
    *f = (struct fair){ 0 };
    map_u64_init(&f->clients, map_seed_default());
    heap_init(&f->waiting, by_account);
}

void fair_done(struct fair *f)
{
    MAP_FOREACH(struct fair_client *, c, &f->clients.map)
        free(c);
    map_u64_done(&f->clients);
    heap_done(&f->waiting);
}

/* ---- clients ---- */

/* Who owes nothing is like a new one. Where all owe something, those who do not wait are forgiven: it takes thousands of
 * names to come to that. */
static void forget_clients(struct fair *f)
{
    for (int pass = 0; pass < 2 && f->clients.map.n >= CLIENTS_MAX; pass++)
        MAP_FOREACH(struct fair_client *, c, &f->clients.map)
            if (!heap_has(&c->node) && (pass || c->account_us <= f->now_us)) {
                map_u64_remove(&f->clients, c->key);
                free(c);
            }
}

static struct fair_client *client_get(struct fair *f, uint64_t key)
{
    struct fair_client *c = map_u64_get(&f->clients, key);

    if (!c) {
        if (f->clients.map.n >= CLIENTS_MAX)
            forget_clients(f);
        c = xcalloc(1, sizeof(*c));
        *c = (struct fair_client){ .key = key, .account_us = f->now_us };
        list_init(&c->waiting);
        map_u64_put(&f->clients, key, c);
    }
    return c;
}

static struct fair_client *client_of(struct fair *f, uint64_t key)
{
    struct fair_client *c = client_get(f, key);

    return c->same ? client_get(f, c->same) : c;
}

void fair_same(struct fair *f, uint64_t key, uint64_t client)
{
    if (key != client)
        client_get(f, key)->same = client;
}

/* ---- waiting ---- */

void fair_push(struct fair *f, uint64_t key, struct fair_ticket *t)
{
    struct fair_client *c = client_of(f, key);

    list_push(&c->waiting, &t->link);
    t->client = c;
    if (heap_has(&c->node))
        return;
    c->account_us = MAX_OF(c->account_us, f->now_us);
    c->seq = f->seq++;
    heap_push(&f->waiting, &c->node);
}

void fair_leave(struct fair *f, struct fair_ticket *t)
{
    struct fair_client *c = t->client;

    if (!c)
        return;
    list_remove(&t->link);
    t->client = NULL;
    if (list_is_empty(&c->waiting))
        heap_remove(&f->waiting, &c->node);
}

struct fair_ticket *fair_first(const struct fair *f)
{
    struct heap_node *first = heap_first(&f->waiting);

    return first ? LIST_FIRST(&HEAP_ITEM(first, struct fair_client, node)->waiting, struct fair_ticket, link) : NULL;
}

struct fair_ticket *fair_pop(struct fair *f)
{
    struct fair_ticket *t = fair_first(f);
    struct fair_client *c;

    if (!t)
        return NULL;
    c = t->client;
    f->now_us = MAX_OF(f->now_us, c->account_us);
    fair_leave(f, t);
    if (heap_has(&c->node)) { /* behind those who have as much */
        c->seq = f->seq++;
        heap_moved(&f->waiting, &c->node);
    }
    return t;
}

void fair_charge(struct fair *f, uint64_t key, int64_t us)
{
    struct fair_client *c = client_of(f, key);

    c->account_us = MAX_OF(c->account_us, f->now_us) + us;
    if (heap_has(&c->node))
        heap_moved(&f->waiting, &c->node);
}
