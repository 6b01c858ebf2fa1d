/* cron.c - fuzz: any text is a schedule or is refused, any bytes are a zone or are refused; slots come in order
 *
 * Up to the first newline it is a schedule, the rest is the file of a zone.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "flow/cron.h"
#include "flow/zone.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const int64_t begin_s = 1772357400;

/* An offset holds until the second that is said, and that lies ahead. */
static void try_zone(const struct zone *z)
{
    int64_t at = begin_s, until;

    for (int i = 0; i < 50; i++, at = until) {
        int32_t offset = zone_offset(z, at, &until);
        autobuf text = { 0 };

        assert(until > at);
        assert(zone_offset(z, until - 1, NULL) == offset);
        zone_print(&text, z, at);
        assert(text.n >= 20 && text.n <= 25);
        if (until == INT64_MAX || until > begin_s * 2)
            return;
    }
}

static void try_slots(const struct cron *c, const struct zone *z)
{
    int64_t at = begin_s;
    unsigned n;

    for (int i = 0; i < 20; i++) {
        int64_t next = cron_next(c, z, at);

        if (next == CRON_NEVER)
            return;
        assert(next > at);
        assert(cron_last(c, z, at, next, &n) == next && n == 1);
        assert(c->every_s || (next + zone_offset(z, next, NULL)) % 60 == 0);
        at = next;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str rest = { (const char *)data, size }, text = STR_NULL;
    struct zone *z = NULL;
    struct cron c;
    struct err e;
    autoarena a = { 0 };

    if (size > 8192)
        return 0;
    (void)str_split(&rest, '\n', &text);
    if (zone_parse(&a, rest, &z, &e) < 0)
        assert(e.text[0]);
    else
        try_zone(z);
    if (cron_parse(text, &c, &e) < 0)
        assert(e.code == ERR_INVALID && e.text[0]);
    else
        try_slots(&c, z);
    (void)zone_check_name(text);
    return 0;
}
