/* durable.c - a store with a log: flush or undo, replay, compaction
 *
 * The log has one row for each change, under its revision. In use are the rows of the history, for watches, the rows
 * that those replaced, for lists of an earlier revision, and the last row of each object that is there; all others are
 * dead and deleted, a few with each flush, so the log is as large as what is in memory. When a change leaves the history
 * the row is dead that it replaced, and its own if it tells of a delete.
 *
 * The history's begin is written down in steps ("compacted"), before rows behind it are deleted: a watch after a
 * restart gets every change or ERR_GONE, never a part.
 *
 * No client has seen a change that is lost in a crash: no answer was sent and no watch reported it. So its revisions
 * may be given again after a restart, and to clients revisions never repeat.
 */
#include "store/store_internal.h"

#include "base/log.h"
#include "base/util.h"

#include <assert.h>

enum {
    COMPACT_STEP = 1024, /* changes that leave the history together; fewer where it is short */
    DELETES_MIN = 256,   /* rows deleted with one flush at most, and two for each write */
    RECENT_MAX = 2048,   /* changes whose objects are in memory, so that watches do not ask the disk */
    RETRY_MS = 1000,
};

/* ---- writing ---- */

void durable_add(struct store *s, enum watch_kind what, const struct object *now, struct object *take_before)
{
    struct durable *d = s->durable;

    *vec_push(&d->pending_mem, &d->pending) = (struct log_write){ what, object_ref(now), take_before };
}

static void forget_pending(struct durable *d)
{
    VEC_FOREACH(w, &d->pending) {
        object_unref(w->now);
        object_unref(w->before);
    }
    d->pending.n = 0;
}

/* Back to what was before one change. Later ones are undone already. */
static void undo(struct store *s, const struct log_write *w)
{
    struct index *x = store_index_of(s, w->now->type);
    struct entry *entry = index_find(x, w->now->namespace, w->now->name);
    uint64_t before = history_undo(s, store_kind_of(w->now->type), w->now->rev);

    if (w->what == WATCH_DELETED) {
        (void)index_add(x, object_ref(w->before), &before); /* its entry is there still */
        return;
    }
    assert(entry && entry->object == w->now);
    if (w->what == WATCH_MODIFIED)
        entry->object = object_ref(w->before);
    else if (before > s->dropped)
        index_delete(x, entry, before);
    else
        index_remove(x, entry);
    object_unref(w->now); /* the index's */
}

static void undo_all(struct store *s)
{
    struct durable *d = s->durable;

    *vec_push(&d->undone_mem, &d->undone) = (struct undone){ s->flushed + 1, s->rev };
    for (size_t i = d->pending.n; i > 0; i--)
        undo(s, &d->pending.v[i - 1]);
}

int store_outcome(const struct store *s, uint64_t rev)
{
    if (rev > s->flushed)
        return 0;
    for (size_t i = s->durable ? s->durable->undone.n : 0; i > 0 && s->durable->undone.v[i - 1].last >= rev; i--)
        if (s->durable->undone.v[i - 1].first <= rev)
            return -1;
    return 1;
}

uint64_t store_flushed(const struct store *s)
{
    return s->flushed;
}

int store_writable(struct store *s, struct err *e)
{
    struct durable *d = s->durable;

    if (!d || !d->failure.code || clock_mono_ms(s->clock) >= d->retry_ms)
        return 0;
    if (e)
        *e = d->failure;
    return -1;
}

void store_stats(const struct store *s, struct store_stats *ret)
{
    const struct durable *d = s->durable;

    *ret = d ? d->stats : (struct store_stats){ 0 };
    if (!d)
        return;
    ret->compacted = s->dropped;
    ret->failure = d->failure.code ? &d->failure : NULL;
}

bool store_is_cut(const struct store *s)
{
    return s->durable && s->durable->is_cut;
}

/* ---- compaction ---- */

static void add_dead(struct durable *d, uint64_t rev)
{
    *vec_push(&d->dead_mem, &d->dead) = rev;
}

void durable_drop(struct durable *d, enum watch_kind what, uint64_t rev, uint64_t before)
{
    if (before)
        add_dead(d, before);
    if (what == WATCH_DELETED) /* behind what it deleted: alone that would come back */
        add_dead(d, rev);
}

/* In steps, so that not every flush has to write down where the history begins. */
static void durable_compact(struct store *s)
{
    struct durable *d = s->durable;

    if (s->dropped < d->compacted + MIN_OF(s->history / 4 + 1, (size_t)COMPACT_STEP))
        return;
    d->compacted = s->dropped;
    d->dead_end = d->dead.n;
}

static struct log_batch next_batch(const struct durable *d)
{
    return (struct log_batch){ .writes = d->pending.v,
                               .n_writes = d->pending.n,
                               .dead = d->dead.n ? d->dead.v + d->dead_at : NULL,
                               .n_dead = MIN_OF(d->dead_end - d->dead_at, DELETES_MIN + 2 * d->pending.n),
                               .compacted = d->compacted };
}

/* The batch is durable: these rows are deleted, and older states that it replaced are in the log only. */
static void batch_done(struct store *s, const struct log_batch *b)
{
    struct durable *d = s->durable;

    d->stats.rows_deleted += b->n_dead;
    d->dead_at += b->n_dead;
    if (d->dead_at == d->dead.n) {
        d->dead_at = d->dead_end = d->dead.n = 0;
        d->dead.v = NULL;
        d->dead.cap = 0;
        arena_reset(&d->dead_mem);
    }
    VEC_FOREACH(w, &d->pending)
        if (w->before && w->before->rev <= d->forgotten)
            history_forget(s, store_kind_of(w->before->type), w->before->rev);
}

/* Objects of changes up to this one are in memory only while they are the present ones. */
static uint64_t before_recent(const struct store *s, uint64_t rev)
{
    uint64_t recent = MIN_OF(s->history / 2, (size_t)RECENT_MAX);

    return rev > recent ? rev - recent : 0;
}

static void forget_old(struct store *s)
{
    struct durable *d = s->durable;
    uint64_t to = before_recent(s, s->flushed);

    if (to <= d->forgotten)
        return;
    history_forget_old(s, d->forgotten, to);
    d->forgotten = to;
}

struct durable_reading {
    struct object *object;
    uint64_t rev;
};

static void take_row(void *ctx, const struct log_row *row)
{
    struct durable_reading *r = ctx;

    if (row->record.type && row->record.rev == r->rev)
        r->object = object_read(&row->record);
}

struct object *durable_read(struct store *s, uint64_t rev)
{
    struct durable_reading r = { .rev = rev };
    struct store_log *log = s->durable->log;
    struct err e = { 0 };

    if (log->scan(log, &(struct log_scan){ rev - 1, rev, true, take_row, &r }, &e) < 0)
        log_error("Failed to read an old change; its watchers must list again", LOG_U64("revision", rev),
                  LOG_TEXT("error", e.text));
    return r.object;
}

struct object *durable_before(struct store *s, uint64_t rev)
{
    struct durable *d = s->durable;

    if (!d->before || d->before->rev != rev) {
        object_unref(d->before);
        d->before = durable_read(s, rev);
    }
    return object_ref(d->before);
}

/* ---- flush ---- */

static void turn_read_only(struct store *s, const struct err *why)
{
    struct durable *d = s->durable;

    if (!d->failure.code)
        log_error("Store is read-only", LOG_TEXT("error", why->text));
    d->failure = *why;
    d->retry_ms = d->log->is_full ? clock_mono_ms(s->clock) + RETRY_MS : INT64_MAX;
}

static int durable_commit(struct store *s, const struct log_batch *b, struct err *e)
{
    struct durable *d = s->durable;
    int64_t begin_us = clock_mono_us(s->clock);
    int rc = d->log->commit(d->log, b, e);
    uint64_t took_us = (uint64_t)MAX_OF(clock_mono_us(s->clock) - begin_us, 0);

    d->stats.flushes++;
    d->stats.failures += rc < 0;
    d->stats.changes += rc < 0 ? 0 : b->n_writes;
    d->stats.flush_us += took_us;
    d->stats.slowest_us = MAX_OF(d->stats.slowest_us, took_us);
    return rc;
}

static int durable_flush(struct store *s, struct err *e)
{
    struct durable *d = s->durable;
    struct log_batch batch = next_batch(d);

    if (durable_commit(s, &batch, e) < 0)
        return -1;
    batch_done(s, &batch);
    if (d->failure.code)
        log_info("Store is writable again");
    d->failure = (struct err){ 0 };
    return 0;
}

/* After a commit: the log is looked after while nothing waits. What fails here fails no write, but the next. */
static void look_after(struct store *s)
{
    if (s->durable->log->failure.code)
        turn_read_only(s, &s->durable->log->failure);
    else
        durable_compact(s);
}

int store_flush(struct store *s, struct err *e)
{
    struct durable *d = s->durable;
    struct err why = { 0 };
    int ret = 0;

    if (!d)
        return 0;
    warm_trim(s); /* not after it: watches are about to read what was written */
    if (d->pending.n > 0) {
        ret = durable_flush(s, &why);
        if (ret < 0) {
            undo_all(s);
            turn_read_only(s, &why);
            if (e)
                *e = why;
        }
        forget_pending(d);
        s->flushed = s->rev;
        if (ret == 0)
            look_after(s);
        forget_old(s);
    }
    return ret;
}

/* ---- replay ---- */

struct replay {
    struct store *store;
    uint64_t recent; /* older changes are kept without objects */
    size_t unknown;
};

/* Twice through the log. The first time without texts: which states are the present ones is known at its end. Texts of
 * old states are not read at all then, or memory would be half holes where they were. */

/* The state that a row replaced. */
static void replay_before(struct replay *r, const struct object *o)
{
    struct store *s = r->store;

    if (o->rev <= r->recent)
        history_forget(s, store_kind_of(o->type), o->rev);
    object_unref(o);
}

static void replay_change(struct replay *r, enum watch_kind what, const struct object *o, uint64_t before,
                          struct entry *entry)
{
    struct store *s = r->store;

    if (o->rev > s->dropped) {
        history_skip(s, o->rev - 1);
        s->rev = s->flushed = o->rev;
        history_add(s, what, o, before, entry);
        if (what == WATCH_DELETED && o->rev <= r->recent)
            history_forget(s, store_kind_of(o->type), o->rev);
        return;
    }
    durable_drop(s->durable, what, o->rev, before);
    if (what == WATCH_DELETED && entry)
        index_remove(store_index_of(s, o->type), entry);
}

static void replay_row(void *ctx, const struct log_row *row)
{
    struct replay *r = ctx;
    const struct object_record *record = &row->record;
    struct index *x;
    struct entry *entry;
    struct object *o, *old;
    uint64_t before;

    if (!record->type) {
        r->unknown++;
        return;
    }
    x = store_index_of(r->store, record->type);
    o = object_read(record);
    entry = index_find(x, record->namespace, record->name);
    old = entry ? entry->object : NULL;
    before = old ? old->rev : 0;
    if (row->what == WATCH_DELETED && entry)
        index_delete(x, entry, record->rev);
    else if (row->what != WATCH_DELETED && entry)
        entry->object = object_ref(o);
    else if (row->what != WATCH_DELETED)
        entry = index_add(x, object_ref(o), &before);
    replay_change(r, row->what, o, before, entry);
    if (old)
        replay_before(r, old);
    object_unref(o);
}

/* The second time: what is in the index, and what is new, gets its text. */
static void replay_text(void *ctx, const struct log_row *row)
{
    struct replay *r = ctx;
    const struct object_record *record = &row->record;
    struct entry *entry = NULL;
    struct object *o;

    if (!record->type)
        return;
    entry = index_find(store_index_of(r->store, record->type), record->namespace, record->name);
    if (entry && entry->object->rev != record->rev)
        entry = NULL;
    if (!entry && record->rev <= r->recent)
        return;
    o = object_read(record);
    history_replace(r->store, o);
    if (entry) {
        object_unref(entry->object);
        entry->object = object_ref(o);
    }
    object_unref(o);
}

static int replay(struct store *s, struct err *e)
{
    struct durable *d = s->durable;
    struct replay r = { .store = s };
    uint64_t last = d->log->rev;

    d->compacted = d->log->compacted;
    s->dropped = s->flushed = MAX_OF(d->compacted, last > s->history ? last - s->history : 0);
    s->rev = s->dropped;
    r.recent = d->forgotten = before_recent(s, last);
    if (d->log->scan(d->log, &(struct log_scan){ 0, UINT64_MAX, false, replay_row, &r }, e) < 0 ||
        d->log->scan(d->log, &(struct log_scan){ 0, UINT64_MAX, true, replay_text, &r }, e) < 0)
        return -1;
    if (d->log->wants_commit && !d->log->failure.code &&
        d->log->commit(d->log, &(struct log_batch){ .compacted = d->compacted }, e) < 0)
        return -1;
    history_skip(s, last);
    s->flushed = s->rev;
    d->compacted = s->dropped;
    d->dead_end = d->dead.n;
    if (r.unknown)
        log_warn("Kept objects of unknown kinds; they are not served", LOG_U64("rows", r.unknown));
    return 0;
}

int store_open(const char *dir, const struct store_options *opt, struct store **ret, struct err *e)
{
    struct store_log *log;
    struct store *s;

    if (log_open_sqlite(dir, opt, &log, e) < 0)
        return -1;
    s = store_new(opt);
    s->durable = xcalloc(1, sizeof(*s->durable));
    s->durable->log = log;
    if (replay(s, e) < 0) {
        store_free(s);
        return -1;
    }
    if (log->failure.code) {
        s->durable->is_cut = true;
        turn_read_only(s, &log->failure);
    }
    *ret = s;
    return 0;
}

void durable_done(struct durable *d)
{
    if (!d)
        return;
    forget_pending(d);
    object_unref(d->before);
    d->log->close(d->log);
    arena_done(&d->pending_mem);
    arena_done(&d->dead_mem);
    arena_done(&d->undone_mem);
    buf_done(&d->print);
    free(d);
}
