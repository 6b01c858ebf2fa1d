/* heap.h - a binary min-heap of items that know their place
 *
 *     struct timer { int64_t at_ms; struct heap_node node; };
 *     static int timer_cmp(const struct heap_node *a, const struct heap_node *b);
 *
 *     struct heap timers;
 *     heap_init(&timers, timer_cmp);
 *     heap_push(&timers, &t->node);
 *     while ((node = heap_first(&timers)) && HEAP_ITEM(node, struct timer, node)->at_ms <= now_ms)
 *         fire(HEAP_ITEM(heap_pop(&timers), struct timer, node));
 *
 * Items are borrowed and stay where they are; an item is in one heap at most. Each knows its index, so it can be
 * removed or moved in O(log n). Items that compare equal come out in any order: compare a number of their own as well
 * where the order must be the same in every run. A zeroed node is in no heap.
 */
#ifndef BASE_HEAP_H
#define BASE_HEAP_H

#include <stdbool.h>
#include <stddef.h>

struct heap_node {
    size_t place; /* index + 1; 0: in no heap */
};

/* <0, 0, >0 as 'a' comes out before, with or after 'b'. */
typedef int heap_cmp_f(const struct heap_node *a, const struct heap_node *b);

struct heap {
    struct heap_node **v;
    size_t n, cap;
    heap_cmp_f *cmp;
};

#define HEAP_ITEM(node, type, member) ((type *)((char *)(node)-offsetof(type, member)))

void heap_init(struct heap *h, heap_cmp_f *cmp);
void heap_done(struct heap *h); /* release; items that are still inside are marked as outside */

static inline size_t heap_count(const struct heap *h)
{
    return h->n;
}
static inline bool heap_has(const struct heap_node *node) /* is it in a heap? */
{
    return node->place != 0;
}

void heap_push(struct heap *h, struct heap_node *node);

/* The least item: looked at, or taken out. NULL if the heap is empty. */
struct heap_node *heap_first(const struct heap *h);
struct heap_node *heap_pop(struct heap *h);

/* Take out any item; nothing happens if it is in no heap. */
void heap_remove(struct heap *h, struct heap_node *node);

/* Call after the key of an item in the heap changed, before anything else is done with the heap. */
void heap_moved(struct heap *h, struct heap_node *node);

#endif
