/* work_queue.c - the work queue of keys */
#include "driver/work_queue.h"

#include "base/util.h"

struct work {
    struct list_link link; /* in 'ready' */
    struct heap_node node; /* in 'waiting' */
    int64_t at_ms;
    uint64_t seq;      /* of the wait: equal times come out in order of arrival */
    unsigned failures; /* since the last work_queue_forget() */
    bool is_popped;    /* given out last: its text must live until the next pop */
    struct str key;    /* the bytes follow this struct */
};

static int work_queue_earlier(const struct heap_node *a, const struct heap_node *b)
{
    const struct work *x = HEAP_ITEM(a, const struct work, node), *y = HEAP_ITEM(b, const struct work, node);

    if (x->at_ms != y->at_ms)
        return x->at_ms < y->at_ms ? -1 : 1;
    return (x->seq > y->seq) - (x->seq < y->seq);
}

void work_queue_init(struct work_queue *q, uint64_t seed)
{
    *q = (struct work_queue){ 0 };
    map_init(&q->keys, seed);
    list_init(&q->ready);
    heap_init(&q->waiting, work_queue_earlier);
}

void work_queue_done(struct work_queue *q)
{
    heap_done(&q->waiting);
    MAP_FOREACH(struct work *, w, &q->keys)
        free(w);
    map_done(&q->keys);
}

static struct work *work_need(struct work_queue *q, struct str key)
{
    struct work *w = map_get(&q->keys, key);
    char *text;

    if (w)
        return w;
    w = xcalloc(1, sizeof(*w) + key.n + 1);
    text = (char *)(w + 1);
    memcpy(text, key.p, key.n);
    w->key = (struct str){ text, key.n };
    map_put(&q->keys, w->key, w);
    return w;
}

/* A key is kept as long as it waits or has failures to remember. */
static void work_let_go(struct work_queue *q, struct work *w)
{
    if (list_is_linked(&w->link) || heap_has(&w->node) || w->failures || w->is_popped)
        return;
    map_remove(&q->keys, w->key);
    free(w);
}

void work_queue_add(struct work_queue *q, struct str key)
{
    struct work *w = work_need(q, key);

    heap_remove(&q->waiting, &w->node);
    if (!list_is_linked(&w->link))
        list_push(&q->ready, &w->link);
}

void work_queue_add_at(struct work_queue *q, struct str key, int64_t at_ms)
{
    struct work *w = work_need(q, key);

    if (list_is_linked(&w->link) || (heap_has(&w->node) && w->at_ms <= at_ms))
        return;
    heap_remove(&q->waiting, &w->node);
    w->at_ms = at_ms;
    w->seq = q->seq++;
    heap_push(&q->waiting, &w->node);
}

int64_t work_queue_add_failed(struct work_queue *q, struct str key, int64_t now_ms)
{
    struct work *w = work_need(q, key);
    int64_t delay = WORK_BACKOFF_MAX_MS;

    if (w->failures < 16) /* 5 ms << 16 is more than five minutes */
        delay = MIN_OF((int64_t)WORK_BACKOFF_MIN_MS << w->failures, delay);
    w->failures++;
    work_queue_add_at(q, key, now_ms + delay);
    return delay;
}

void work_queue_forget(struct work_queue *q, struct str key)
{
    struct work *w = map_get(&q->keys, key);

    if (!w)
        return;
    w->failures = 0;
    work_let_go(q, w);
}

static void let_go_of_last(struct work_queue *q)
{
    struct work *w = q->last;

    if (!w)
        return;
    q->last = NULL;
    w->is_popped = false;
    work_let_go(q, w);
}

bool work_queue_pop(struct work_queue *q, int64_t now_ms, struct str *ret)
{
    struct heap_node *first;
    struct work *w;

    while ((first = heap_first(&q->waiting)) && HEAP_ITEM(first, struct work, node)->at_ms <= now_ms) {
        heap_pop(&q->waiting);
        list_push(&q->ready, &HEAP_ITEM(first, struct work, node)->link);
    }
    let_go_of_last(q);
    w = list_is_empty(&q->ready) ? NULL : LIST_ITEM(list_pop_front(&q->ready), struct work, link);
    if (!w)
        return false;
    w->is_popped = true;
    q->last = w;
    *ret = w->key;
    return true;
}

void work_queue_drop(struct work_queue *q, struct str key)
{
    struct work *w = map_get(&q->keys, key);

    if (!w)
        return;
    heap_remove(&q->waiting, &w->node);
    list_remove(&w->link);
    w->failures = 0;
    work_let_go(q, w);
}

int64_t work_queue_due(const struct work_queue *q)
{
    struct heap_node *first = heap_first(&q->waiting);

    if (!list_is_empty(&q->ready))
        return INT64_MIN;
    return first ? HEAP_ITEM(first, struct work, node)->at_ms : INT64_MAX;
}

size_t work_queue_count(const struct work_queue *q)
{
    size_t n = heap_count(&q->waiting);

    for (const struct list_link *at = q->ready.head.next; at != &q->ready.head; at = at->next)
        n++;
    return n;
}
