/* controller_internal.h - what the smaller controllers share */
#ifndef CONTROLLER_CONTROLLER_INTERNAL_H
#define CONTROLLER_CONTROLLER_INTERNAL_H

#include "json/json.h"

/* Make a merge patch fail with a conflict unless the object still is what 'meta' (its metadata) says. */
static inline void patch_expect(struct arena *a, struct json *patch, const struct json *meta)
{
    struct str rev = json_member_text(meta, "resourceVersion");
    struct json *to = json_need_object(a, patch, "metadata");

    if (rev.n)
        json_set(to, "resourceVersion", json_str(a, arena_str(a, rev)));
}

#endif
