/* span.c - how long something took or takes, in few characters */
#include "base/span.h"

#include "base/util.h"

void span_print(struct buf *out, int64_t ms)
{
    static const struct {
        int64_t ms;
        char unit;
        int64_t rest_ms; /* the smaller unit shown beside it */
        char rest;
        int64_t near_ms; /* so little below it the next smaller form would round up to it */
    } units[] = { { 86400000, 'd', 3600000, 'h', 30000 },
                  { 3600000, 'h', 60000, 'm', 500 },
                  { 60000, 'm', 1000, 's', 50 } };

    for (size_t i = 0; i < ARRAY_LEN(units); i++) {
        int64_t rounded = (ms + units[i].rest_ms / 2) / units[i].rest_ms * units[i].rest_ms;

        if (ms + units[i].near_ms < units[i].ms)
            continue;
        buf_fmt(out, "%lld%c", (long long)(rounded / units[i].ms), units[i].unit);
        if (rounded % units[i].ms)
            buf_fmt(out, "%lld%c", (long long)(rounded % units[i].ms / units[i].rest_ms), units[i].rest);
        return;
    }
    if (ms < 1000 && ms > 0)
        buf_fmt(out, "%lldms", (long long)ms);
    else if (ms % 1000 / 100)
        buf_fmt(out, "%lld.%llds", (long long)(ms / 1000), (long long)(ms % 1000 / 100));
    else
        buf_fmt(out, "%llds", (long long)(ms / 1000));
}

void span_print_fine(struct buf *out, int64_t ms)
{
    if (ms < 0 || ms >= 100000)
        span_print(out, MAX_OF(ms, 0));
    else
        buf_fmt(out, ms < 10000 ? "%.2fs" : "%.1fs", (double)ms / 1000);
}
