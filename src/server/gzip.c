/* gzip.c - large answers, compressed for clients that can read that
 *
 * From 128 KiB on, as Kubernetes does, and quickly rather than well. Not for clients of this machine, by loopback or a
 * socket: there it costs both sides more time than the bytes do. Nor for answers so large that all others would wait for
 * it, since there is one thread. Watches are never compressed: each change has to be seen when it comes.
 */
#include "server/server_internal.h"

#include <zlib.h>

enum { LEAST_BYTES = 128 << 10, MOST_BYTES = 8 << 20 };
enum { GZIP_BITS = 15 + 16, MEMORY_LEVEL = 8 }; /* zlib's: a gzip header */

/* "q=0" and "q=0.000" say no. */
static bool is_refused(struct str parameters)
{
    struct str part;

    while (str_split(&parameters, ';', &part)) {
        struct str text = str_trim(part);
        size_t i = 2;

        if (!str_starts(text, STR("q=0")))
            continue;
        while (i < text.n && (text.p[i] == '0' || text.p[i] == '.'))
            i++;
        return i == text.n;
    }
    return false;
}

static bool can_read(const struct http_call *call)
{
    struct str value, item, word;
    size_t at = 0;

    while (http_call_next_header(call, "Accept-Encoding", &at, &value))
        while (str_split(&value, ',', &item))
            if (str_split(&item, ';', &word) && str_eq_nocase(str_trim(word), STR("gzip")))
                return !is_refused(item);
    return false;
}

static bool is_of_this_machine(const struct http_peer *peer)
{
    static const char *const heads[] = { "127.", "::1", "::ffff:127.", "unix" };

    for (size_t i = 0; i < ARRAY_LEN(heads); i++)
        if (str_starts(str_of(peer->address), str_of(heads[i])))
            return true;
    return false;
}

bool gzip_is_wanted(const struct http_call *call, size_t bytes)
{
    return bytes >= LEAST_BYTES && bytes <= MOST_BYTES && !is_of_this_machine(call->peer) && can_read(call);
}

int gzip_pack(struct str in, struct buf *out)
{
    z_stream z = { 0 };
    int rc;

    if (deflateInit2(&z, Z_BEST_SPEED, Z_DEFLATED, GZIP_BITS, MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK)
        return -1;
    buf_reserve(out, deflateBound(&z, in.n));
    z.next_in = (Bytef *)in.p;
    z.avail_in = (uInt)in.n;
    z.next_out = (Bytef *)out->p;
    z.avail_out = (uInt)out->cap;
    rc = deflate(&z, Z_FINISH);
    out->n = z.total_out;
    (void)deflateEnd(&z);
    return rc == Z_STREAM_END ? 0 : -1;
}
