/* columns.h - what columns*.c share: cells that most kinds have */
#ifndef SERVER_COLUMNS_H
#define SERVER_COLUMNS_H

#include "server/server_internal.h"

#define CREATED "metadata.creationTimestamp"
#define NAME                                                                                                           \
    {                                                                                                                  \
        "Name", "string", false, "metadata.name", NULL, "name"                                                         \
    }
#define AGE                                                                                                            \
    {                                                                                                                  \
        "Age", "string", false, NULL, cell_created                                                                     \
    }
#define COLUMNS(list) (list), ARRAY_LEN(list)

struct json *cell_created(struct arena *a, const struct json *object, int64_t now_ms);

struct columns { /* of one kind */
    const char *resource, *group;
    const struct column *columns;
    size_t n;
};

/* Roles, bindings, storage; and kinds that have no columns of their own. */
const struct column *columns_of_other(const struct resource_type *t, size_t *ret_n);

#endif
