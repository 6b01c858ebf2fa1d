/* spdy_dictionary.c - the header dictionary of SPDY/3 for zlib
 *
 * Words with their lengths in front (32 bits), then text without any. The protocol fixes every byte.
 */
#include "http/spdy.h"

/* "\0\0\0" begins every length: no word is long. */
#define WORD(length, text) "\0\0\0" length text

/* clang-format off */
static const char dictionary[] =
    WORD("\x07", "options") WORD("\x04", "head") WORD("\x04", "post") WORD("\x03", "put") WORD("\x06", "delete")
    WORD("\x05", "trace") WORD("\x06", "accept") WORD("\x0e", "accept-charset") WORD("\x0f", "accept-encoding")
    WORD("\x0f", "accept-language") WORD("\x0d", "accept-ranges") WORD("\x03", "age") WORD("\x05", "allow")
    WORD("\x0d", "authorization") WORD("\x0d", "cache-control") WORD("\x0a", "connection")
    WORD("\x0c", "content-base") WORD("\x10", "content-encoding") WORD("\x10", "content-language")
    WORD("\x0e", "content-length") WORD("\x10", "content-location") WORD("\x0b", "content-md5")
    WORD("\x0d", "content-range") WORD("\x0c", "content-type") WORD("\x04", "date") WORD("\x04", "etag")
    WORD("\x06", "expect") WORD("\x07", "expires") WORD("\x04", "from") WORD("\x04", "host") WORD("\x08", "if-match")
    WORD("\x11", "if-modified-since") WORD("\x0d", "if-none-match") WORD("\x08", "if-range")
    WORD("\x13", "if-unmodified-since") WORD("\x0d", "last-modified") WORD("\x08", "location")
    WORD("\x0c", "max-forwards") WORD("\x06", "pragma") WORD("\x12", "proxy-authenticate")
    WORD("\x13", "proxy-authorization") WORD("\x05", "range") WORD("\x07", "referer") WORD("\x0b", "retry-after")
    WORD("\x06", "server") WORD("\x02", "te") WORD("\x07", "trailer") WORD("\x11", "transfer-encoding")
    WORD("\x07", "upgrade") WORD("\x0a", "user-agent") WORD("\x04", "vary") WORD("\x03", "via")
    WORD("\x07", "warning") WORD("\x10", "www-authenticate") WORD("\x06", "method") WORD("\x03", "get")
    WORD("\x06", "status") WORD("\x06", "200 OK") WORD("\x07", "version") WORD("\x08", "HTTP/1.1") WORD("\x03", "url")
    WORD("\x06", "public") WORD("\x0a", "set-cookie") WORD("\x0a", "keep-alive") WORD("\x06", "origin")
    "10010120120220520630030230330430530630740240540640740840"
    "9410411412413414415416417502504505"
    "203 Non-Authoritative Information204 No Content301 "
    "Moved Permanently400 Bad Request401 Unauthorized"
    "403 Forbidden404 Not Found500 Internal Server Error501 "
    "Not Implemented503 Service Unavailable"
    "Jan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec "
    "00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMT"
    "chunked,text/html,image/png,image/jpg,image/"
    "gif,application/xml,application/xhtml+xml,text/plain,"
    "text/"
    "javascript,publicprivatemax-age=gzip,deflate,"
    "sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0.";
/* clang-format on */

_Static_assert(sizeof(dictionary) == 1423 + 1, "SPDY/3 has 1423 bytes");

struct str spdy_dictionary(void)
{
    return (struct str){ dictionary, sizeof(dictionary) - 1 };
}
