/* id_range.h - which ids of the machine the pods of a namespace have
 *
 * Pods of tenants (api/pod/security.h) have ids 0…65535 of a range of their own: one for each namespace, so that pods of one
 * namespace can share files, and those of two cannot. Ranges are where neither distributions, systemd, nor directory
 * services give ids, and never where /etc/passwd, /etc/group, /etc/subuid or /etc/subgid name one. A range stays the
 * namespace's: the list is a file of the state directory, which is only added to, and known to all who use that directory.
 */
#ifndef NODE_ID_RANGE_H
#define NODE_ID_RANGE_H

#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

enum { ID_RANGE_SIZE = 65536 };
static const uint32_t ID_RANGE_FIRST = 0x78000000, ID_RANGE_END = 0x7FFD0000;

struct id_range_options {
    int dir;         /* of the list */
    const char *etc; /* "/etc" */
    void *ctx;
    bool (*is_used)(void *ctx, struct str namespace); /* may its range not be given to another one? */
};

/* The first id of its range, which is given if it has none. ERR_CONFLICT: all of them are used. */
int id_range_of(const struct id_range_options *o, struct str namespace, uint32_t *ret, struct err *e);

#endif
