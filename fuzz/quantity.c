/* quantity.c - fuzz: what parses prints, and parses back to the same; durations too */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "api/duration.h"
#include "api/quantity.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_quantity(struct str text)
{
    struct quantity q, back;
    autobuf b = { 0 }, again = { 0 };
    struct err e;

    if (quantity_parse(text, &q, &e) < 0) {
        assert(e.code == ERR_INVALID && e.text[0] && str_is_utf8(str_of(e.text)));
        return;
    }
    quantity_print(&b, q);
    assert(quantity_parse(buf_view(&b), &back, &e) == 0);
    assert(quantity_cmp(q, back) == 0);
    quantity_print(&again, back);
    assert(q.format != back.format || str_eq(buf_view(&b), buf_view(&again))); /* 1584.9609375Ki is 1623000 is 1623k */
    (void)quantity_milli(q);                                                   /* must only not overflow */
}

static void try_duration(struct str text)
{
    autobuf b = { 0 };
    int64_t ns, back;
    struct err e;

    if (duration_parse(text, &ns, &e) < 0) {
        assert(e.code == ERR_INVALID && e.text[0] && str_is_utf8(str_of(e.text)));
        return;
    }
    duration_print(&b, ns);
    assert(duration_parse(buf_view(&b), &back, &e) == 0 && back == ns);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = { (const char *)data, size };

    try_quantity(text);
    try_duration(text);
    return 0;
}
