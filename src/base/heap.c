/* heap.c - the usual array form: the children of i are 2i+1 and 2i+2 */
#include "base/heap.h"

#include "base/util.h"

#include <assert.h>

void heap_init(struct heap *h, heap_cmp_f *cmp)
{
    *h = (struct heap){ .cmp = cmp };
}

void heap_done(struct heap *h)
{
    for (size_t i = 0; i < h->n; i++)
        h->v[i]->place = 0;
    free(h->v);
    heap_init(h, h->cmp);
}

static void heap_set(struct heap *h, size_t i, struct heap_node *node)
{
    h->v[i] = node;
    node->place = i + 1;
}

/* Both move a hole from 'i' until 'node' fits into it. */
static void sift_up(struct heap *h, size_t i, struct heap_node *node)
{
    for (; i > 0; i = (i - 1) / 2) {
        struct heap_node *parent = h->v[(i - 1) / 2];

        if (h->cmp(parent, node) <= 0)
            break;
        heap_set(h, i, parent);
    }
    heap_set(h, i, node);
}

static void sift_down(struct heap *h, size_t i, struct heap_node *node)
{
    for (size_t child; (child = 2 * i + 1) < h->n; i = child) {
        if (child + 1 < h->n && h->cmp(h->v[child + 1], h->v[child]) < 0)
            child++;
        if (h->cmp(node, h->v[child]) <= 0)
            break;
        heap_set(h, i, h->v[child]);
    }
    heap_set(h, i, node);
}

/* 'node' is to be near 'i'; only one of the two ways is ever needed. */
static void heap_settle(struct heap *h, size_t i, struct heap_node *node)
{
    if (i > 0 && h->cmp(node, h->v[(i - 1) / 2]) < 0)
        sift_up(h, i, node);
    else
        sift_down(h, i, node);
}

void heap_push(struct heap *h, struct heap_node *node)
{
    assert(!heap_has(node));
    if (h->n == h->cap) {
        h->cap = h->cap ? h->cap * 2 : 16;
        h->v = xrealloc(h->v, h->cap * sizeof(h->v[0]));
    }
    h->n++;
    sift_up(h, h->n - 1, node);
}

struct heap_node *heap_first(const struct heap *h)
{
    return h->n ? h->v[0] : NULL;
}

struct heap_node *heap_pop(struct heap *h)
{
    struct heap_node *first = heap_first(h);

    if (first)
        heap_remove(h, first);
    return first;
}

void heap_remove(struct heap *h, struct heap_node *node)
{
    size_t i = node->place - 1;
    struct heap_node *last;

    if (!heap_has(node))
        return;
    assert(i < h->n && h->v[i] == node);
    last = h->v[--h->n];
    node->place = 0;
    if (last != node)
        heap_settle(h, i, last);
}

void heap_moved(struct heap *h, struct heap_node *node)
{
    size_t i = node->place - 1;

    assert(heap_has(node) && i < h->n && h->v[i] == node);
    heap_settle(h, i, node);
}
