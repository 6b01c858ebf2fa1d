/* check.h - is the inside as it must be? Each of these stops the program if not */
#ifndef BASE_TEST_CHECK_H
#define BASE_TEST_CHECK_H

#include "base/heap.h"
#include "base/list.h"
#include "base/map.h"

void heap_check(const struct heap *h);
void map_check(const struct map *m);
size_t list_check(const struct list *l); /* the number of items */

#endif
