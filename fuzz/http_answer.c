/* http_answer.c - the head and the chunks of any answer */
#include "http/client_internal.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* In pieces as long as the first byte says: where they are cut must not matter. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct response r = { 0 };
    struct http_chunks chunks = { 0 };
    struct str rest = { (const char *)data + 1, n ? n - 1 : 0 };
    size_t piece = n && data[0] ? data[0] : 4096;
    bool is_whole = false;
    autobuf body = { 0 };

    while (rest.n && !is_whole) {
        ptrdiff_t used = response_take(&r, str_sub(rest, 0, piece), &is_whole);

        if (used < 0)
            break;
        rest = str_from(rest, (size_t)used);
    }
    if (is_whole && (r.status < 200 || r.fields.p < r.text.p || r.fields.n > r.text.n))
        abort();
    while (is_whole && r.is_chunked && rest.n && !chunks.is_done) {
        ptrdiff_t used = http_chunks_take(&chunks, str_sub(rest, 0, piece), SIZE_MAX, &body);

        if (used < 0)
            break;
        rest = str_from(rest, (size_t)used);
    }
    buf_done(&r.text);
    return 0;
}
