/* id_range.h - ranges of ids on the machine, one for the pods of each namespace
 *
 * Pods of tenants (api/pod/security.h) map their ids 0…65535 to a range of their own, one for each namespace: pods of
 * one namespace can share files, pods of different namespaces cannot. Ranges avoid the ids used by distributions,
 * systemd and directory services, and all ids in /etc/passwd, /etc/group, /etc/subuid and /etc/subgid. A namespace
 * keeps its range: the list is an append-only file in the state directory, shared by all processes that use the
 * directory.
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
    int dir;         /* the state directory with the list */
    const char *etc; /* "/etc" */
    void *ctx;
    bool (*is_used)(void *ctx, struct str namespace); /* is this namespace in use? Else its range may be reassigned */
};

/* The first id of the namespace's range, which is assigned if it has none. ERR_CONFLICT: all ranges are in use. */
int id_range_of(const struct id_range_options *o, struct str namespace, uint32_t *ret, struct err *e);

#endif
