/* span.h - how long something took or takes, in few characters */
#ifndef BASE_SPAN_H
#define BASE_SPAN_H

#include "base/buf.h"

/* "1h5m", "12m30s", "1.5s", "250ms", "0s", "3d4h": two parts at most, rounded to what is shown. Not below 0. */
void span_print(struct buf *out, int64_t ms);

/* "4.20s", "42.0s", "12m30s": the same, and finer below 100 seconds, for those who compare. Below 0 is 0. */
void span_print_fine(struct buf *out, int64_t ms);

#endif
