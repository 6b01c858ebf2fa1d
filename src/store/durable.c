/* durable.c - a store with a log: flush or undo, replay, compaction
 *
 * The log has one row for each change, under its revision. In use are the rows of the history, for watches, and the
 * last row of each object that is there; all others are dead and deleted, a few with each flush, so the log is as large
 * as what is in memory. A row is dead
 *
 * - when a newer one of the same object is written, if it has left the history by then;
 * - when it leaves the history, if there is a newer one by then, or if it tells of a delete.
 *
 * The history's begin is written down in steps ("compacted"), before rows behind it are deleted: a watch after a
 * restart is told everything or ERR_GONE, never a part.
 *
 * What of a turn is lost in a crash was told to nobody: no answer was sent and no watch told of it. So its revisions
 * may be given again after a restart, and to clients revisions never repeat.
 */
#include "store/store_internal.h"

#include "base/log.h"
#include "base/util.h"

#include <assert.h>

enum {
    SWEEP_STEP = 1024, /* rows that leave the history together; fewer where it is short */
    DELETES_MIN = 256, /* rows deleted with one flush at most, and two for each write */
    RECENT_MAX = 2048, /* changes whose objects are in memory, so that watches do not ask the disk */
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

    history_undo(s, store_kind_of(w->now->type), w->now->rev);
    if (w->what == WATCH_DELETED) {
        index_add(x, object_ref(w->before));
        return;
    }
    assert(entry && entry->object == w->now);
    if (w->what == WATCH_ADDED)
        index_remove(x, entry);
    else
        entry->object = object_ref(w->before);
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

/* ---- compaction ---- */

static void add_dead(struct durable *d, uint64_t rev)
{
    *vec_push(&d->dead_mem, &d->dead) = rev;
}

static bool is_in_use(const struct store *s, const struct log_row *row)
{
    const struct object_record *r = &row->record;
    const struct entry *entry;

    if (!r->type) /* a program that knows the kind may want it */
        return true;
    entry = index_find(store_index_of(s, r->type), r->namespace, r->name);
    return entry && entry->object->rev == r->rev;
}

static void sweep_row(void *ctx, const struct log_row *row)
{
    struct store *s = ctx;

    if (!is_in_use(s, row))
        add_dead(s->durable, row->record.rev);
}

/* Rows that left the history since the last time. They are looked at when all changes are durable. */
static int sweep(struct store *s, struct err *e)
{
    struct durable *d = s->durable;
    uint64_t to = MIN_OF(s->dropped, s->flushed);

    if (to < d->swept + MIN_OF(s->history / 4 + 1, (size_t)SWEEP_STEP))
        return 0;
    to = MIN_OF(to, d->swept + 4 * (uint64_t)SWEEP_STEP);
    if (d->log->scan(d->log, d->swept, to, false, sweep_row, s, e) < 0)
        return -1;
    d->swept = to;
    return 0;
}

static struct log_batch next_batch(const struct durable *d)
{
    return (struct log_batch){ .writes = d->pending.v,
                               .n_writes = d->pending.n,
                               .dead = d->dead.n ? d->dead.v + d->dead_at : NULL,
                               .n_dead = MIN_OF(d->dead.n - d->dead_at, DELETES_MIN + 2 * d->pending.n),
                               .compacted = d->swept };
}

/* The batch is durable: these rows are gone, and those that it made old are dead. */
static void batch_done(struct store *s, const struct log_batch *b)
{
    struct durable *d = s->durable;

    d->compacted = b->compacted;
    d->stats.rows_deleted += b->n_dead;
    d->dead_at += b->n_dead;
    if (d->dead_at == d->dead.n) {
        d->dead_at = d->dead.n = 0;
        d->dead.v = NULL;
        d->dead.cap = 0;
        arena_reset(&d->dead_mem);
    }
    VEC_FOREACH(w, &d->pending) {
        if (w->before && w->before->rev <= d->swept)
            add_dead(d, w->before->rev);
        if (w->before && w->before->rev <= d->forgotten)
            history_forget(s, store_kind_of(w->before->type), w->before->rev);
    }
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

struct reading {
    struct object *object;
    uint64_t rev;
};

static void take_row(void *ctx, const struct log_row *row)
{
    struct reading *r = ctx;

    if (row->record.type && row->record.rev == r->rev)
        r->object = object_read(&row->record);
}

struct object *durable_read(struct store *s, uint64_t rev)
{
    struct reading r = { .rev = rev };
    struct store_log *log = s->durable->log;
    struct err e = { 0 };

    if (log->scan(log, rev - 1, rev, true, take_row, &r, &e) < 0)
        log_error("an old change cannot be read, its watchers list again", LOG_U64("revision", rev),
                  LOG_TEXT("why", e.text));
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
        log_error("the store is read-only", LOG_TEXT("why", why->text));
    d->failure = *why;
    d->retry_ms = d->log->is_full ? clock_mono_ms(s->clock) + RETRY_MS : INT64_MAX;
}

static int commit(struct store *s, const struct log_batch *b, struct err *e)
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

static int flush(struct store *s, struct err *e)
{
    struct durable *d = s->durable;
    struct log_batch batch = next_batch(d);

    if (commit(s, &batch, e) < 0)
        return -1;
    batch_done(s, &batch);
    if (d->failure.code)
        log_info("the store takes writes again");
    d->failure = (struct err){ 0 };
    return 0;
}

/* After a commit: the log is looked after while nothing waits. What fails here fails no write, but the next. */
static void look_after(struct store *s)
{
    struct durable *d = s->durable;
    struct err e = { 0 };

    if (d->log->failure.code)
        turn_read_only(s, &d->log->failure);
    else if (sweep(s, &e) < 0)
        turn_read_only(s, &e);
}

int store_flush(struct store *s, struct err *e)
{
    struct durable *d = s->durable;
    struct err why = { 0 };
    int ret = 0;

    if (!d)
        return 0;
    if (d->pending.n > 0) {
        ret = flush(s, &why);
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
    warm_trim(s);
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

static struct entry *replay_remove(struct replay *r, const struct object_record *record, uint64_t *ret_before)
{
    struct store *s = r->store;
    struct entry *entry = index_find(store_index_of(s, record->type), record->namespace, record->name);

    *ret_before = entry ? entry->object->rev : 0;
    if (!entry)
        return NULL;
    if (entry->object->rev <= s->durable->swept)
        add_dead(s->durable, entry->object->rev);
    if (entry->object->rev <= r->recent)
        history_forget(s, store_kind_of(record->type), entry->object->rev);
    object_unref(entry->object);
    entry->object = NULL;
    return entry;
}

static void replay_history(struct replay *r, enum watch_kind what, const struct object *o, uint64_t before)
{
    struct store *s = r->store;

    if (o->rev <= s->dropped)
        return;
    history_skip(s, o->rev - 1);
    s->rev = o->rev;
    history_add(s, store_kind_of(o->type), what, o, before);
    if (what == WATCH_DELETED && o->rev <= r->recent)
        history_forget(s, store_kind_of(o->type), o->rev);
}

static void replay_row(void *ctx, const struct log_row *row)
{
    struct replay *r = ctx;
    struct store *s = r->store;
    struct entry *entry;
    struct object *o;
    uint64_t before;

    if (!row->record.type) {
        r->unknown++;
        return;
    }
    entry = replay_remove(r, &row->record, &before);
    o = object_read(&row->record);
    replay_history(r, row->what, o, before);
    if (row->what == WATCH_DELETED) {
        if (entry)
            index_remove(store_index_of(s, o->type), entry);
        if (o->rev <= s->durable->swept)
            add_dead(s->durable, o->rev);
        object_unref(o);
    } else if (entry) {
        entry->object = o;
    } else {
        index_add(store_index_of(s, o->type), o);
    }
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

    d->compacted = d->swept = d->log->compacted;
    s->dropped = MAX_OF(d->compacted, last > s->history ? last - s->history : 0);
    s->rev = s->dropped;
    r.recent = d->forgotten = before_recent(s, last);
    if (d->log->scan(d->log, 0, UINT64_MAX, false, replay_row, &r, e) < 0 ||
        d->log->scan(d->log, 0, UINT64_MAX, true, replay_text, &r, e) < 0)
        return -1;
    if (d->log->wants_commit && d->log->commit(d->log, &(struct log_batch){ .compacted = d->swept }, e) < 0)
        return -1;
    history_skip(s, last);
    s->flushed = s->rev;
    if (r.unknown)
        log_warn("objects of kinds that this version does not know are kept and not shown", LOG_U64("rows", r.unknown));
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
