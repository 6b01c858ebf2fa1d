/* zoneinfo.h - the time zone files of this machine
 *
 * As they are when they are asked for: an update of the zones is seen without a restart.
 */
#ifndef OS_ZONEINFO_H
#define OS_ZONEINFO_H

#include "base/buf.h"
#include "base/str.h"

/* The bytes of a zone's file, such as "Europe/Berlin", below $TZDIR or /usr/share/zoneinfo; never of one outside. An
 * empty name is the zone this machine is set to: $TZ, else /etc/localtime. -1 with errno: there is none. */
int zoneinfo_read(struct str name, struct buf *out);

#endif
