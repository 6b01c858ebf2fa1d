/* zone.h - time zones: how far local time is ahead of UTC, and until when
 *
 * A zone is read from the bytes of a TZif file (RFC 9636, as every system keeps them below /usr/share/zoneinfo); who
 * reads the file is not said here. Behind the last change that the file lists its own rule for later years goes on.
 */
#ifndef FLOW_ZONE_H
#define FLOW_ZONE_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

struct zone;

enum { ZONE_FILE_MAX = 1 << 18 }; /* the largest of them have 4 KiB */

/* ERR_SYNTAX: it is no such file. 'bytes' need not stay. */
int zone_parse(struct arena *a, struct str bytes, struct zone **ret, struct err *e);

/* Seconds that local time is ahead of UTC at 'at_s' (of UTC, since 1970). '*ret_until_s' (may be NULL): the first second
 * for which that may no longer be so; INT64_MAX: there is none. A zone that is NULL is UTC. */
int32_t zone_offset(const struct zone *z, int64_t at_s, int64_t *ret_until_s);

/* "2026-03-01T10:30:00+01:00", "…Z" for UTC: RFC 3339 in local time. */
void zone_print(struct buf *out, const struct zone *z, int64_t at_s);

/* May this be the name of a zone? NULL: it may; else a sentence. What is well formed never leads out of a folder. */
const char *zone_check_name(struct str name);

#endif
