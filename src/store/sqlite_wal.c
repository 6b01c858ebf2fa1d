/* sqlite_wal.c - is the end of the WAL torn or damaged?
 *
 * SQLite reads a WAL up to the first frame whose checksum is wrong and forgets the rest, because that is how a power
 * cut looks. But a bit that turned around in the middle looks the same, and then the rest was acknowledged. But there
 * is a difference: a commit is written only when the one before it was synced, so what a power cut leaves behind the
 * bad frame belongs to one commit. Where the ends of two are found, the first of them was whole once.
 *
 * The file is as https://www.sqlite.org/fileformat2.html#walformat says: a header of 32 bytes, then frames of 24 bytes
 * and a page; numbers are big-endian; checksums go on from frame to frame. Frames of an older round have other salts.
 */
#include "store/sqlite_internal.h"

#include "base/util.h"
#include "os/io.h"

#include <errno.h>

enum { WAL_HEADER = 32, WAL_FRAME = 24, WAL_MAGIC = 0x377f0682, PAGE_MIN = 512, PAGE_MAX = 65536 };

struct wal {
    int fd;
    uint32_t page, salt[2], sum[2];
    bool is_big; /* words of checksums are big-endian */
};

static uint32_t big(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static uint32_t wal_word(const struct wal *w, const unsigned char *p)
{
    return w->is_big ? big(p) : (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[1] << 8 | p[0];
}

static void add_sum(struct wal *w, const unsigned char *p, size_t n)
{
    for (size_t i = 0; i + 8 <= n; i += 8) {
        w->sum[0] += wal_word(w, p + i) + w->sum[1];
        w->sum[1] += wal_word(w, p + i + 4) + w->sum[0];
    }
}

/* 1: all of it was read; 0: the file ends before; -1 and errno. */
static int read_at(int fd, unsigned char *to, size_t n, off_t at)
{
    size_t have = 0;

    while (have < n) {
        ssize_t got = pread(fd, to + have, n - have, at + (off_t)have);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return (int)got;
        have += (size_t)got;
    }
    return 1;
}

/* False: there is no WAL that SQLite would read. */
static bool read_header(struct wal *w)
{
    unsigned char h[WAL_HEADER];

    if (read_at(w->fd, h, sizeof(h), 0) <= 0 || (big(h) & ~1u) != WAL_MAGIC)
        return false;
    w->is_big = big(h) & 1;
    w->page = big(h + 8);
    w->salt[0] = big(h + 16);
    w->salt[1] = big(h + 20);
    add_sum(w, h, 24);
    return w->page >= PAGE_MIN && w->page <= PAGE_MAX && w->sum[0] == big(h + 24) && w->sum[1] == big(h + 28);
}

/* Ends of commits at or behind the first bad frame; -1 and errno. */
static int count_behind(struct wal *w)
{
    autofree unsigned char *frame = xmalloc(WAL_FRAME + w->page);
    size_t bytes = WAL_FRAME + w->page;
    bool is_good = true;
    int got, ends = 0;

    for (off_t at = WAL_HEADER; (got = read_at(w->fd, frame, bytes, at)) > 0; at += (off_t)bytes) {
        if (big(frame + 8) != w->salt[0] || big(frame + 12) != w->salt[1])
            is_good = false; /* of an older round, or bad itself */
        if (is_good) {
            add_sum(w, frame, 8);
            add_sum(w, frame + WAL_FRAME, w->page);
            is_good = w->sum[0] == big(frame + 16) && w->sum[1] == big(frame + 20);
        }
        if (!is_good && big(frame + 8) == w->salt[0] && big(frame + 12) == w->salt[1] && big(frame + 4) != 0)
            ends++;
    }
    return got < 0 ? -1 : ends;
}

int sql_wal_check(int dir, const char *path, struct err *e)
{
    autoclose int fd = openat(dir, STORE_FILE "-wal", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct wal w = { .fd = fd };
    int ends;

    if (fd < 0)
        return errno == ENOENT ? 0 : err_errno(e, "open %s-wal", path);
    if (!read_header(&w))
        return 0;
    if ((ends = count_behind(&w)) < 0)
        return io_errno(e, "read %s-wal", path);
    if (ends < 2)
        return 0;
    (void)err_set(
        e, ERR_IO,
        "%s-wal: the file is damaged, and at least %d acknowledged commits follow the damage; restore a backup "
        "with \"pumice server restore\", or, to continue without them, copy the directory and run: sqlite3 %s 'PRAGMA "
        "wal_checkpoint(TRUNCATE)'",
        path, ends - 1, path);
    return 1;
}
