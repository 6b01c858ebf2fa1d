/* blobs.c - downloads of blobs: a few at a time, each until it is complete or stalls
 *
 * An interrupted download continues where it stopped, after a pause. Bytes are hashed as they arrive; those of an
 * earlier download are read once for that.
 */
#include "image/registry_internal.h"

#include "base/clock.h"
#include "base/util.h"
#include "os/io.h"

#include <errno.h>

enum {
    AT_A_TIME = 3,
    TRIES = 5,             /* in a row, without a byte more */
    PAUSE_MS = 500,        /* after a failure, twice as long each time */
    SLOW_STALLS = 2,       /* in twice the time that one may be silent … */
    SLOW_BYTES = 64 << 10, /* … no less than so many */
    TOKENS = 3,            /* asked for in vain */
};

enum blob_state { BLOB_WAITS, BLOB_RUNS, BLOB_WHOLE, BLOB_FAILED };

struct transfer {
    struct registry *registry;
    struct registry_blob *blob;
    struct fetch fetch;
    struct image_hash *hash;
    enum blob_state state;
    int64_t due_ms;            /* WAITS: not before */
    int64_t begun;             /* bytes that were there when this try began */
    int64_t looked_ms, looked; /* when its speed was looked at, and what was there */
    int tries, tokens;
    bool is_stuck; /* it is our own fault: nothing comes of trying again */
    struct err err;
};

static int64_t now(void)
{
    return clock_mono_ms(&clock_real);
}

/* ---- bytes ---- */

static void start_over(struct transfer *t)
{
    (void)!ftruncate(t->blob->fd, 0); /* what stays is written over, and what is left at the end is too long */
    t->blob->have = 0;
    image_hash_free(t->hash);
    t->hash = image_hash_new();
}

/* Bytes on disk count if they can be read. */
static void take_old(struct transfer *t)
{
    static char bytes[256 << 10];
    struct image_digest is;
    int64_t at = 0;

    t->hash = image_hash_new();
    if (t->blob->have > t->blob->size)
        start_over(t);
    while (at < t->blob->have) {
        ssize_t n = pread(t->blob->fd, bytes, MIN_OF(sizeof(bytes), (size_t)(t->blob->have - at)), at);

        if (n <= 0) {
            start_over(t);
            return;
        }
        image_hash_add(t->hash, (struct str){ bytes, (size_t)n });
        at += n;
    }
    if (at == t->blob->size) { /* only its name was missing */
        image_hash_end(t->hash, &is);
        t->state = str_is(t->blob->digest, is.text) ? BLOB_WHOLE : BLOB_WAITS;
        if (t->state == BLOB_WAITS)
            start_over(t);
    }
}

static bool blobs_on_head(void *ctx, struct fetch *f, const struct http_answer *a)
{
    struct transfer *t = ctx;
    struct str range = http_header(a, "Content-Range");
    struct str wanted = arena_fmt(&t->registry->arena, "bytes %lld-", (long long)t->blob->have);

    if (f->status == 206 && !str_starts(range, wanted)) {
        (void)err_set(&f->err, ERR_INVALID, "%.*s sent another part of a layer than requested",
                      STR_ARG(t->registry->place->known));
        return false;
    }
    if (f->status == 200 && t->blob->have > 0)
        start_over(t); /* it knows no parts */
    return true;
}

static bool blobs_on_data(void *ctx, struct fetch *f, struct str data)
{
    struct transfer *t = ctx;

    if ((int64_t)data.n > t->blob->size - t->blob->have) {
        (void)err_set(&f->err, ERR_INVALID, "%.*s sent more of %.*s than the %lld bytes in its manifest",
                      STR_ARG(t->registry->place->known), STR_ARG(t->blob->digest), (long long)t->blob->size);
        return false;
    }
    if (pwrite_all(t->blob->fd, data, (off_t)t->blob->have) < 0) {
        (void)(errno == ENOSPC || errno == EDQUOT
                   ? err_set(&f->err, ERR_TOO_BIG, "cannot store the image: the disk is full")
                   : err_errno(&f->err, "write a layer of the image"));
        t->is_stuck = true;
        return false;
    }
    image_hash_add(t->hash, data);
    t->blob->have += (int64_t)data.n;
    return true;
}

/* ---- one blob ---- */

static void blobs_fail(struct transfer *t, const struct err *e)
{
    t->err = *e;
    t->state = BLOB_FAILED;
}

static void blobs_begin(struct transfer *t)
{
    struct registry *r = t->registry;

    fetch_done(&t->fetch);
    t->fetch = (struct fetch){ .registry = r,
                               .url = place_url(r, &r->arena, "blobs", t->blob->digest),
                               .accept = "*/*",
                               .authorization = r->authorization,
                               .from = t->blob->have,
                               .max_bytes = 1 << 20,
                               .ctx = t,
                               .on_head = blobs_on_head,
                               .on_data = blobs_on_data };
    t->state = BLOB_RUNS;
    t->begun = t->looked = t->blob->have;
    t->looked_ms = now();
    fetch_begin(&t->fetch);
}

static void blobs_finish(struct transfer *t)
{
    struct image_digest is;
    struct err e;

    image_hash_end(t->hash, &is);
    if (str_is(t->blob->digest, is.text)) {
        t->state = BLOB_WHOLE;
        return;
    }
    start_over(t);
    (void)err_set(&e, ERR_INVALID, "%.*s sent a layer with a wrong digest: expected %.*s, got %s",
                  STR_ARG(t->registry->place->known), STR_ARG(t->blob->digest), is.text);
    blobs_fail(t, &e);
}

/* Once more, after a pause; unless it was often enough. */
static void try_again(struct transfer *t, const struct err *e)
{
    int64_t pause_ms = PAUSE_MS;

    t->tries = t->blob->have > t->begun ? 1 : t->tries + 1;
    if (t->tries >= TRIES) {
        blobs_fail(t, e);
        return;
    }
    for (int i = 1; i < t->tries; i++)
        pause_ms *= 2;
    pause_ms = fetch_pause_ms(&t->fetch, pause_ms);
    if (pause_ms < 0) {
        blobs_fail(t, e);
        return;
    }
    t->due_ms = now() + pause_ms;
    t->state = BLOB_WAITS;
}

static void answer_401(struct transfer *t, const struct err *why)
{
    struct err e = { 0 };

    if (++t->tokens > TOKENS || token_get(t->registry, buf_view(&t->fetch.challenge), &e) < 0)
        blobs_fail(t, e.code ? &e : why);
    else
        t->state = BLOB_WAITS;
}

/* Its fetch is over. */
static void blobs_ended(struct transfer *t)
{
    const struct fetch *f = &t->fetch;
    struct err e;

    if ((f->status == 200 || f->status == 206) && t->blob->have == t->blob->size) {
        blobs_finish(t);
        return;
    }
    if (f->status == 416) { /* what is there is more than all of it */
        start_over(t);
        t->begun = 0;
    }
    if (f->status == 200 || f->status == 206)
        (void)err_set(&e, ERR_IO, "%.*s sent less of a layer than the manifest says",
                      STR_ARG(t->registry->place->known));
    else
        (void)status_error(t->registry, f, "a layer of the image", &e);
    if (f->status == 0 && f->err.code == ERR_INVALID && !t->is_stuck)
        start_over(t); /* it lies: what came before need not be better */
    if (f->status == 401)
        answer_401(t, &e);
    else if (t->is_stuck || (f->status == 0 && f->err.code != ERR_IO) || f->status == 403 || f->status == 404)
        blobs_fail(t, &e);
    else
        try_again(t, &e);
}

static void check_speed(struct transfer *t)
{
    int64_t window_ms = SLOW_STALLS * registry_stall_ms(t->registry);
    struct err e;

    if (now() - t->looked_ms < window_ms)
        return;
    if (t->blob->have - t->looked < SLOW_BYTES) {
        fetch_done(&t->fetch);
        (void)err_set(&e, ERR_IO, "%.*s sent less than %d KiB of a layer in %.3g s", STR_ARG(t->registry->place->known),
                      SLOW_BYTES >> 10, (double)window_ms / 1000);
        t->begun = t->blob->have;
        try_again(t, &e);
    }
    t->looked = t->blob->have;
    t->looked_ms = now();
}

static void blobs_step(struct transfer *t)
{
    if (t->state == BLOB_WAITS && now() >= t->due_ms)
        blobs_begin(t);
    if (t->state == BLOB_RUNS && t->fetch.is_over)
        blobs_ended(t);
    else if (t->state == BLOB_RUNS)
        check_speed(t);
}

/* ---- all of them ---- */

static int64_t blobs_sum(const struct registry_blob *blobs, size_t n)
{
    int64_t all = 0;

    for (size_t i = 0; i < n; i++)
        all += blobs[i].have;
    return all;
}

/* false: there is nothing left to do. */
static bool step_all(struct transfer *all, size_t n, struct err *ret_why)
{
    size_t busy = 0;

    for (size_t i = 0; i < n && busy < AT_A_TIME; i++) {
        if (all[i].state == BLOB_WHOLE)
            continue;
        if (!all[i].hash)
            take_old(&all[i]);
        blobs_step(&all[i]);
        if (all[i].state == BLOB_FAILED) {
            *ret_why = all[i].err;
            return false;
        }
        busy += all[i].state != BLOB_WHOLE;
    }
    return busy > 0;
}

int registry_blobs(struct registry *r, struct registry_blob *blobs, size_t n, const struct registry_watch *watch,
                   struct err *e)
{
    struct transfer *all = xcalloc(MAX_OF(n, 1), sizeof(*all));
    struct err why = { 0 };

    for (size_t i = 0; i < n; i++)
        all[i] = (struct transfer){ .registry = r, .blob = &blobs[i] };
    while (step_all(all, n, &why)) {
        registry_turn(r, 100);
        if (watch && watch->progress)
            watch->progress(watch->ctx, blobs_sum(blobs, n));
    }
    for (size_t i = 0; i < n; i++) {
        fetch_done(&all[i].fetch);
        image_hash_free(all[i].hash);
    }
    free(all);
    return why.code ? err_set(e, why.code, "%s", why.text) : 0;
}
