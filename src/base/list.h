/* list.h - doubly linked lists whose links are inside the items
 *
 *     struct watch { …; struct list_link link; };
 *     struct list watches;
 *     list_init(&watches);
 *     list_push(&watches, &w->link);
 *     LIST_FOREACH(struct watch, w, &watches, link)
 *         …
 *
 * Nothing is allocated and every operation takes constant time. An item is in one list at most for each link it has. A
 * zeroed link is in no list. The list does not move once it has items: they point at it.
 */
#ifndef BASE_LIST_H
#define BASE_LIST_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>

struct list_link {
    struct list_link *next, *prev; /* both NULL: in no list */
};

struct list {
    struct list_link head; /* closes the ring */
};

#define LIST_INIT(list)                                                                                                \
    {                                                                                                                  \
        {                                                                                                              \
            &(list).head, &(list).head                                                                                 \
        }                                                                                                              \
    } /* static struct list all = LIST_INIT(all); */

/* The item around a link. */
#define LIST_ITEM(link, type, member) ((type *)((char *)(link)-offsetof(type, member)))

static inline void list_init(struct list *l)
{
    l->head.next = l->head.prev = &l->head;
}
static inline bool list_is_empty(const struct list *l)
{
    return l->head.next == &l->head;
}
static inline bool list_is_linked(const struct list_link *link)
{
    return link->next != NULL;
}

/* Put 'link', which is in no list, in front of 'before', which is in one. */
static inline void list_insert_before(struct list_link *before, struct list_link *link)
{
    assert(!list_is_linked(link));
    link->prev = before->prev;
    link->next = before;
    before->prev->next = link;
    before->prev = link;
}
static inline void list_push(struct list *l, struct list_link *link) /* at the end */
{
    list_insert_before(&l->head, link);
}
/* Out of its list, whichever that is; nothing happens if it is in none. */
static inline void list_remove(struct list_link *link)
{
    if (!list_is_linked(link))
        return;
    link->prev->next = link->next;
    link->next->prev = link->prev;
    link->next = link->prev = NULL;
}

/* The link at an end, taken out; NULL if the list is empty. */
static inline struct list_link *list_pop_front(struct list *l)
{
    struct list_link *link = l->head.next;

    if (list_is_empty(l))
        return NULL;
    list_remove(link);
    return link;
}

/* All items of 'from' to the end of 'to', in order; 'from' is empty then. */
static inline void list_append(struct list *to, struct list *from)
{
    if (list_is_empty(from))
        return;
    from->head.next->prev = to->head.prev;
    from->head.prev->next = &to->head;
    to->head.prev->next = from->head.next;
    to->head.prev = from->head.prev;
    list_init(from);
}

/* Behind the macros: the item around 'link', NULL when that is the end of the ring. */
static inline void *list_item_at(const struct list *l, struct list_link *link, size_t offset)
{
    return link == &l->head ? NULL : (char *)link - offset;
}

/* First and last item, NULL if there is none. */
#define LIST_FIRST(list, type, member) ((type *)list_item_at((list), (list)->head.next, offsetof(type, member)))
#define LIST_LAST(list, type, member)  ((type *)list_item_at((list), (list)->head.prev, offsetof(type, member)))

/* 'item' may be removed, and freed, inside the loop; its neighbours may not. */
#define LIST_FOREACH(type, item, list, member)                                                                         \
    for (type *item = LIST_FIRST(list, type, member),                                                                  \
              *item##_next = item ? list_item_at((list), item->member.next, offsetof(type, member)) : NULL;            \
         item; item = item##_next,                                                                                     \
              item##_next = item ? list_item_at((list), item->member.next, offsetof(type, member)) : NULL)

#endif
