/* map_internal.h - what a map is made of: see map.c */
#ifndef BASE_MAP_INTERNAL_H
#define BASE_MAP_INTERNAL_H

#include "base/map.h"

struct map_slot {
    uint64_t hash; /* 0: the slot is empty; the top bit of a real hash is set */
    struct str key;
    void *value;
};

enum { MAP_CAP_MIN = 8 };

#endif
