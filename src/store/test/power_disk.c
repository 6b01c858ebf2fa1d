/* power_disk.c - a disk in memory below SQLite, whose power can be cut */
#include "store/test/power_disk.h"

#include "base/buf.h"
#include "base/rand.h"
#include "base/util.h"

#include <assert.h>
#include <sqlite3.h>

enum { FILES_MAX = 8, SECTOR = 512 };
#define STORE_FILE "store.db"

struct change { /* not synced: bytes at a place, or a new length */
    struct change *next;
    size_t at, n;
    bool is_truncate;
    char bytes[];
};

struct disk_file {
    char name[256];        /* empty: not used */
    struct buf seen, disk; /* what reads give; what is on the disk for sure */
    struct change *changes, **tail;
    bool is_seen, is_on_disk;
    bool is_new; /* made since; its first sync is one of the directory, too */
};

struct power_disk {
    sqlite3_vfs vfs;
    char name[32];
    struct rand rand;
    struct disk_file files[FILES_MAX];
    uint64_t cut_in; /* calls until the power is cut; 0: it stays */
    bool is_cut;
    unsigned generation; /* of processes */
    uint64_t fail_in[POWER_CALL_MAX];
    int fail_rc[POWER_CALL_MAX];
};

struct handle { /* what SQLite has of a file */
    sqlite3_file base;
    struct power_disk *disk;
    struct disk_file *file;
    unsigned generation;
    void *shm[16];
    int shm_bytes;
};

/* ---- bytes ---- */

static void put_bytes(struct buf *b, size_t at, const char *p, size_t n)
{
    if (at + n > b->n) {
        size_t more = at + n - b->n;

        memset(buf_reserve(b, more), 0, more);
        b->n += more;
    }
    memcpy(b->p + at, p, n);
}

static void set_length(struct buf *b, size_t n)
{
    if (n > b->n)
        put_bytes(b, n - 1, "", 1);
    else
        b->n = n;
}

static void add_change(struct disk_file *f, size_t at, size_t n, const char *bytes)
{
    struct change *c = xmalloc(sizeof(*c) + n);

    *c = (struct change){ .at = at, .n = n, .is_truncate = !bytes };
    if (bytes)
        memcpy(c->bytes, bytes, n);
    *f->tail = c;
    f->tail = &c->next;
}

static void forget_changes(struct disk_file *f)
{
    for (struct change *c = f->changes, *next; c; c = next) {
        next = c->next;
        free(c);
    }
    f->changes = NULL;
    f->tail = &f->changes;
}

/* All of it reached the disk. */
static void make_durable(struct disk_file *f)
{
    buf_reset(&f->disk);
    if (f->seen.n)
        buf_append(&f->disk, f->seen.p, f->seen.n);
    forget_changes(f);
}

/* A part of a change reaches the disk: 'luck' of 4 sectors do, a few of them in part. */
static void leak(struct power_disk *d, struct disk_file *f, const struct change *c, unsigned luck)
{
    if (c->is_truncate) {
        if (rand_chance(&d->rand, luck, 4))
            set_length(&f->disk, c->at);
        return;
    }
    for (size_t at = 0; at < c->n;) {
        size_t n = MIN_OF(SECTOR - (c->at + at) % SECTOR, c->n - at);

        if (rand_chance(&d->rand, luck, 4))
            put_bytes(&f->disk, c->at + at, c->bytes + at,
                      rand_chance(&d->rand, 1, 16) ? (size_t)rand_below(&d->rand, n) + 1 : n);
        at += n;
    }
}

static void leak_all(struct power_disk *d)
{
    for (size_t i = 0; i < FILES_MAX; i++) {
        struct disk_file *f = &d->files[i];
        unsigned luck = (unsigned)rand_below(&d->rand, 5); /* from nothing to everything */

        for (const struct change *c = f->changes; c; c = c->next)
            leak(d, f, c, luck);
        if (f->is_seen != f->is_on_disk && rand_chance(&d->rand, 1, 2))
            f->is_on_disk = f->is_seen;
    }
}

/* ---- calls ---- */

static void cut(struct power_disk *d)
{
    leak_all(d);
    d->is_cut = true;
}

/* Does the power go in this call? */
static bool goes_out(struct power_disk *d)
{
    if (d->is_cut || d->cut_in == 0 || --d->cut_in > 0)
        return d->is_cut;
    cut(d);
    return true;
}

static int fault(struct power_disk *d, enum power_call call)
{
    if (d->fail_in[call] == 0)
        return SQLITE_OK;
    if (d->fail_in[call] > 1) {
        d->fail_in[call]--;
        return SQLITE_OK;
    }
    return d->fail_rc[call];
}

static bool is_dead(const struct handle *h)
{
    return h->disk->is_cut || h->generation != h->disk->generation;
}

static int file_close(sqlite3_file *base)
{
    return SQLITE_OK;
}

static int file_read(sqlite3_file *base, void *to, int n, sqlite3_int64 at)
{
    struct handle *h = (struct handle *)base;
    const struct buf *b = &h->file->seen;
    size_t have = b->n > (size_t)at ? MIN_OF(b->n - (size_t)at, (size_t)n) : 0;
    int rc = fault(h->disk, POWER_READ);

    if (is_dead(h) || rc)
        return is_dead(h) ? SQLITE_IOERR_READ : rc;
    if (have)
        memcpy(to, b->p + at, have);
    memset((char *)to + have, 0, (size_t)n - have);
    return have == (size_t)n ? SQLITE_OK : SQLITE_IOERR_SHORT_READ;
}

static int file_write(sqlite3_file *base, const void *from, int n, sqlite3_int64 at)
{
    struct handle *h = (struct handle *)base;
    int rc = fault(h->disk, POWER_WRITE);

    if (is_dead(h) || rc)
        return is_dead(h) ? SQLITE_IOERR_WRITE : rc;
    add_change(h->file, (size_t)at, (size_t)n, from);
    if (goes_out(h->disk))
        return SQLITE_IOERR_WRITE;
    put_bytes(&h->file->seen, (size_t)at, from, (size_t)n);
    return SQLITE_OK;
}

static int file_truncate(sqlite3_file *base, sqlite3_int64 n)
{
    struct handle *h = (struct handle *)base;

    if (is_dead(h) || goes_out(h->disk))
        return SQLITE_IOERR_TRUNCATE;
    add_change(h->file, (size_t)n, 0, NULL);
    set_length(&h->file->seen, (size_t)n);
    return SQLITE_OK;
}

static int file_sync(sqlite3_file *base, int flags)
{
    struct handle *h = (struct handle *)base;
    int rc = fault(h->disk, POWER_SYNC);

    if (is_dead(h) || rc || goes_out(h->disk))
        return rc ? rc : SQLITE_IOERR_FSYNC;
    make_durable(h->file);
    for (size_t i = 0; h->file->is_new && i < FILES_MAX; i++) /* as SQLite does with a new journal or WAL */
        h->disk->files[i].is_on_disk = h->disk->files[i].is_seen;
    h->file->is_new = false;
    return SQLITE_OK;
}

static int file_size(sqlite3_file *base, sqlite3_int64 *ret)
{
    *ret = (sqlite3_int64)((struct handle *)base)->file->seen.n;
    return SQLITE_OK;
}

static int file_lock(sqlite3_file *base, int level)
{
    return SQLITE_OK;
}

static int file_is_reserved(sqlite3_file *base, int *ret)
{
    *ret = 0;
    return SQLITE_OK;
}

static int file_control(sqlite3_file *base, int op, void *arg)
{
    return SQLITE_NOTFOUND;
}

static int file_sector(sqlite3_file *base)
{
    return SECTOR;
}

static int file_characteristics(sqlite3_file *base)
{
    return SQLITE_IOCAP_POWERSAFE_OVERWRITE;
}

static int shm_map(sqlite3_file *base, int page, int bytes, int extend, void volatile **ret)
{
    struct handle *h = (struct handle *)base;

    assert(page < (int)ARRAY_LEN(h->shm));
    if (!h->shm[page] && extend)
        h->shm[page] = xcalloc(1, (size_t)bytes);
    *ret = h->shm[page];
    return SQLITE_OK;
}

static int shm_lock(sqlite3_file *base, int at, int n, int flags)
{
    return SQLITE_OK;
}

static void shm_barrier(sqlite3_file *base)
{
}

static int shm_unmap(sqlite3_file *base, int is_delete)
{
    struct handle *h = (struct handle *)base;

    for (size_t i = 0; i < ARRAY_LEN(h->shm); i++) {
        free(h->shm[i]);
        h->shm[i] = NULL;
    }
    return SQLITE_OK;
}

static const sqlite3_io_methods methods = { .iVersion = 2,
                                            .xClose = file_close,
                                            .xRead = file_read,
                                            .xWrite = file_write,
                                            .xTruncate = file_truncate,
                                            .xSync = file_sync,
                                            .xFileSize = file_size,
                                            .xLock = file_lock,
                                            .xUnlock = file_lock,
                                            .xCheckReservedLock = file_is_reserved,
                                            .xFileControl = file_control,
                                            .xSectorSize = file_sector,
                                            .xDeviceCharacteristics = file_characteristics,
                                            .xShmMap = shm_map,
                                            .xShmLock = shm_lock,
                                            .xShmBarrier = shm_barrier,
                                            .xShmUnmap = shm_unmap };

/* ---- files ---- */

static struct disk_file *find(struct power_disk *d, const char *name)
{
    for (size_t i = 0; i < FILES_MAX; i++)
        if (d->files[i].name[0] && strcmp(d->files[i].name, name) == 0)
            return &d->files[i];
    return NULL;
}

static struct disk_file *need(struct power_disk *d, const char *name)
{
    struct disk_file *f = find(d, name);

    for (size_t i = 0; !f && i < FILES_MAX; i++)
        if (!d->files[i].name[0])
            f = &d->files[i];
    assert(f);
    (void)snprintf(f->name, sizeof(f->name), "%s", name);
    if (!f->tail)
        f->tail = &f->changes;
    f->is_new |= !f->is_seen && strstr(name, STORE_FILE "-");
    f->is_seen = true;
    return f;
}

static int vfs_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *base, int flags, int *ret_flags)
{
    struct power_disk *d = vfs->pAppData;
    struct handle *h = (struct handle *)base;

    memset(h, 0, sizeof(*h));
    if (d->is_cut)
        return SQLITE_CANTOPEN;
    h->disk = d;
    h->file = need(d, name);
    h->generation = d->generation;
    h->base.pMethods = &methods;
    if (ret_flags)
        *ret_flags = flags;
    return SQLITE_OK;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *name, int is_synced)
{
    struct power_disk *d = vfs->pAppData;
    struct disk_file *f = find(d, name);

    if (d->is_cut || goes_out(d))
        return SQLITE_IOERR_DELETE;
    if (!f || !f->is_seen)
        return SQLITE_IOERR_DELETE_NOENT;
    f->is_seen = false;
    buf_reset(&f->seen);
    forget_changes(f);
    add_change(f, 0, 0, NULL); /* a new file of that name begins empty */
    if (is_synced)
        f->is_on_disk = false;
    return SQLITE_OK;
}

static int vfs_access(sqlite3_vfs *vfs, const char *name, int flags, int *ret)
{
    const struct disk_file *f = find(vfs->pAppData, name);

    *ret = f && f->is_seen;
    return SQLITE_OK;
}

static int vfs_full_name(sqlite3_vfs *vfs, const char *name, int n, char *ret)
{
    (void)snprintf(ret, (size_t)n, "%s", name);
    return SQLITE_OK;
}

static int vfs_random(sqlite3_vfs *vfs, int n, char *ret)
{
    rand_bytes(&((struct power_disk *)vfs->pAppData)->rand, ret, (size_t)n);
    return n;
}

static int vfs_sleep(sqlite3_vfs *vfs, int us)
{
    return us;
}

static int vfs_now(sqlite3_vfs *vfs, double *ret)
{
    *ret = 2461000.5;
    return SQLITE_OK;
}

static int vfs_last_error(sqlite3_vfs *vfs, int n, char *ret)
{
    return 0;
}

struct power_disk *power_disk_new(uint64_t seed)
{
    static unsigned n;
    struct power_disk *d = xcalloc(1, sizeof(*d));

    (void)snprintf(d->name, sizeof(d->name), "power-%u", n++);
    rand_seed(&d->rand, seed);
    d->vfs = (sqlite3_vfs){ .iVersion = 1,
                            .szOsFile = sizeof(struct handle),
                            .mxPathname = 255,
                            .zName = d->name,
                            .pAppData = d,
                            .xOpen = vfs_open,
                            .xDelete = vfs_delete,
                            .xAccess = vfs_access,
                            .xFullPathname = vfs_full_name,
                            .xRandomness = vfs_random,
                            .xSleep = vfs_sleep,
                            .xCurrentTime = vfs_now,
                            .xGetLastError = vfs_last_error };
    if (sqlite3_vfs_register(&d->vfs, 0) != SQLITE_OK)
        abort();
    return d;
}

void power_disk_free(struct power_disk *d)
{
    (void)sqlite3_vfs_unregister(&d->vfs); /* it was registered */
    for (size_t i = 0; i < FILES_MAX; i++) {
        if (d->files[i].tail)
            forget_changes(&d->files[i]);
        buf_done(&d->files[i].seen);
        buf_done(&d->files[i].disk);
    }
    free(d);
}

const char *power_disk_vfs(const struct power_disk *d)
{
    return d->name;
}

/* ---- power ---- */

void power_disk_cut_after(struct power_disk *d, uint64_t n)
{
    d->cut_in = n;
}

bool power_disk_is_cut(const struct power_disk *d)
{
    return d->is_cut;
}

void power_disk_boot(struct power_disk *d)
{
    if (!d->is_cut)
        cut(d);
    d->is_cut = false;
    d->cut_in = 0;
    d->generation++;
    for (size_t i = 0; i < FILES_MAX; i++) {
        struct disk_file *f = &d->files[i];

        if (!f->tail)
            continue;
        forget_changes(f);
        f->is_seen = f->is_on_disk;
        if (!f->is_on_disk)
            buf_reset(&f->disk);
        buf_reset(&f->seen);
        if (f->disk.n)
            buf_append(&f->seen, f->disk.p, f->disk.n);
    }
}

void power_disk_fail(struct power_disk *d, enum power_call call, uint64_t n, int rc)
{
    d->fail_in[call] = rc ? n : 0;
    d->fail_rc[call] = rc;
}

static struct disk_file *ending(const struct power_disk *d, const char *text)
{
    for (size_t i = 0; i < FILES_MAX; i++)
        if (d->files[i].is_seen && str_ends(str_of(d->files[i].name), str_of(text)))
            return (struct disk_file *)&d->files[i];
    return NULL;
}

size_t power_disk_size(const struct power_disk *d, const char *name)
{
    const struct disk_file *f = ending(d, name);

    return f ? f->seen.n : 0;
}

bool power_disk_flip(struct power_disk *d, const char *name, size_t at)
{
    struct disk_file *f = ending(d, name);

    if (!f || at >= f->seen.n)
        return false;
    f->seen.p[at] ^= 0x10;
    if (at < f->disk.n)
        f->disk.p[at] ^= 0x10;
    return true;
}
