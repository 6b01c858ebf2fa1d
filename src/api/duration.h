/* duration.h - Go-style durations: "300ms", "1.5h", "2h45m" */
#ifndef API_DURATION_H
#define API_DURATION_H

#include "base/buf.h"
#include "base/err.h"

/* Signed sequence of decimal numbers with unit ns, us (µs), ms, s, m, h; "0" alone is fine. Nanoseconds. */
int duration_parse(struct str text, int64_t *ret_ns, struct err *e);

/* As Go prints it: "1h30m0s", "1.5s", "0s". */
void duration_print(struct buf *out, int64_t ns);

#endif
