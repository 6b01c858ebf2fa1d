/* stream.c - fuzz: lists and lines come out the same however they are cut, and a mask keeps what it names and nothing
 * else
 *
 * The first byte decides about the cuts.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "base/rand.h"
#include "base/util.h"
#include "json/mask.h"
#include "json/stream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_BYTES = 4096 };

static const char *const paths[] = { "type",        "metadata.name", "object", "-object.metadata.managedFields",
                                     "-object.a.b", "items.a",       "a.b.c",  NULL };

static void note(void *ctx, struct str text)
{
    struct buf *out = ctx;

    buf_str(out, text);
    buf_char(out, '\0');
}

static int items(struct str text, struct rand *r, struct buf *out)
{
    struct json_items s;
    struct str rest;
    int rc = 0;

    json_items_init(&s, note, out, MAX_BYTES);
    while (text.n && rc == 0) {
        size_t some = r ? 1 + rand_below(r, 9) : text.n, n = MIN_OF(some, text.n);
        autofree char *piece = memcpy(xmalloc(n), text.p, n);

        rc = json_items_feed(&s, (struct str){ piece, n }, NULL);
        text = str_from(text, n);
    }
    if (rc == 0 && (rc = json_items_end(&s, &rest, NULL)) == 0)
        note(out, rest);
    json_items_done(&s);
    return rc;
}

static int lines(struct str text, struct rand *r, struct buf *out)
{
    struct json_lines s;
    int rc = 0;

    json_lines_init(&s, note, out, MAX_BYTES);
    while (text.n && rc == 0) {
        size_t some = r ? 1 + rand_below(r, 9) : text.n, n = MIN_OF(some, text.n);
        autofree char *piece = memcpy(xmalloc(n), text.p, n);

        rc = json_lines_feed(&s, (struct str){ piece, n }, NULL);
        text = str_from(text, n);
    }
    json_lines_done(&s);
    return rc;
}

static void check_cuts(struct str text, uint64_t seed, int (*take)(struct str, struct rand *, struct buf *))
{
    autobuf whole = { 0 }, cut = { 0 };
    struct rand r;
    int rc = take(text, NULL, &whole);

    rand_seed(&r, seed);
    if (take(text, &r, &cut) == rc && rc == 0)
        assert(str_eq(buf_view(&whole), buf_view(&cut)));
    else
        assert(rc < 0 || text.n > MAX_BYTES); /* what is too much is found sooner or later */
}

/* ---- masks ---- */

static bool is_below(struct str path, struct str other)
{
    return str_starts(path, other) && (path.n == other.n || path.p[other.n] == '.');
}

/* 1: all of it, 0: what is below decides, -1: nothing. */
static int verdict(struct str path)
{
    int keeps = -1;

    for (size_t i = 0; paths[i]; i++) {
        bool drops = paths[i][0] == '-';
        struct str p = str_of(paths[i] + drops);

        if (drops && is_below(path, p))
            return -1;
        if (!drops && is_below(path, p))
            keeps = 1;
        else if (!drops && is_below(p, path) && keeps < 0)
            keeps = 0;
    }
    return keeps;
}

/* What the mask should leave of a whole tree. */
static struct json *reference(struct arena *a, const struct json *j, struct str path)
{
    struct json *out;

    if (j->type < JSON_ARRAY)
        return json_copy(a, j);
    out = j->type == JSON_ARRAY ? json_array(a) : json_object(a);
    JSON_FOREACH(m, j) {
        struct str below;

        if (j->type == JSON_ARRAY) {
            json_push(out, reference(a, m, path));
            continue;
        }
        below = path.n ? arena_fmt(a, "%.*s.%.*s", STR_ARG(path), STR_ARG(json_key(m))) : json_key(m);
        if (verdict(below) >= 0)
            json_add(out, json_key(m), reference(a, m, below));
    }
    return out;
}

static void ignore(void *ctx, struct json_duplicate dup)
{
    (void)ctx, (void)dup;
}

static bool has_odd_key(const struct json *j)
{
    JSON_FOREACH(m, j)
        if ((m->key && (str_has_char(json_key(m), '.') || !m->key_n)) || has_odd_key(m))
            return true;
    return false;
}

static void check_mask(struct str text)
{
    struct json_parse_options lenient = { .on_duplicate = ignore };
    autoarena a = { 0 };
    struct json *whole, *masked;

    if (json_parse(&a, text, &lenient, &whole, NULL) < 0) {
        (void)json_parse_masked(&a, text, json_mask_make(&a, paths), &masked, NULL);
        return;
    }
    assert(json_parse_masked(&a, text, json_mask_make(&a, paths), &masked, NULL) == 0);
    if (!has_odd_key(whole)) /* a key with a dot in it cannot be told from two in a path */
        assert(json_equal(masked, reference(&a, whole, STR_NULL)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = { (const char *)data, size };
    uint64_t seed = size ? data[0] : 0;

    check_cuts(str_from(text, 1), seed, items);
    check_cuts(str_from(text, 1), seed, lines);
    check_mask(str_from(text, 1));
    return 0;
}
