/* vec.h - an array that grows, in an arena
 *
 *     VEC(struct task) tasks = { 0 };
 *     *vec_push(a, &tasks) = task;
 *     VEC_FOREACH(t, &tasks) …
 *
 * Growing leaves the old array in the arena (at most as much again as is used). A pointer to an element is valid
 * until the next push.
 */
#ifndef BASE_VEC_H
#define BASE_VEC_H

#include "base/arena.h"

#define VEC(type)                                                                                                      \
    struct {                                                                                                           \
        type *v;                                                                                                       \
        size_t n, cap;                                                                                                 \
    }

void *vec_grow(struct arena *a, void *old, size_t n, size_t *cap, size_t size); /* behind vec_push */

/* Room for one more, cleared; returns a pointer to it. */
#define vec_push(a, vec)                                                                                               \
    ((vec)->n == (vec)->cap ? (void)((vec)->v = vec_grow((a), (vec)->v, (vec)->n, &(vec)->cap, sizeof(*(vec)->v)))     \
                            : (void)0,                                                                                 \
     memset(&(vec)->v[(vec)->n], 0, sizeof(*(vec)->v)), &(vec)->v[(vec)->n++])

#define VEC_FOREACH(item, vec)                                                                                         \
    for (__typeof__(*(vec)->v) *item = (vec)->v; (vec)->n && item < (vec)->v + (vec)->n; item++)

#endif
