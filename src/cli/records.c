/* records.c - the directory of records: where it is, what is in it, what goes when there are too many */
#include "cli/records.h"

#include "base/log.h"
#include "base/util.h"
#include "node/doctor/host.h"
#include "os/dir.h"
#include "os/io.h"
#include "os/lock.h"
#include "os/path.h"
#include "os/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

enum { LAST_BYTES = 256 << 10, FIRST_BYTES = 64 << 10, WAIT_MS = 2000 };

int records_open(struct arena *a, bool makes, int *ret_dir, struct err *e)
{
    const char *xdg = getenv("XDG_STATE_HOME");
    struct str state = xdg && xdg[0] == '/' ? arena_fmt(a, "%s/pumice", xdg) : host_state_dir(a);
    const char *path;

    if (str_empty(state))
        return err_set(e, ERR_NOT_FOUND, "no home directory");
    path = arena_fmt(a, "%.*s/runs", STR_ARG(state)).p;
    if (makes && make_dirs(path, 0700, e) < 0)
        return -1;
    return lock_dir_open(path, ret_dir, e);
}

/* ---- reading ---- */

static bool records_is_name(const char *name)
{
    size_t n = strlen(name);

    return n >= 6 && n < 32 && strspn(name, "0123456789abcdef-") == n && name[0] != '-';
}

static struct str read_tail(struct arena *a, int fd, int64_t size)
{
    int64_t from = MAX_OF(size - LAST_BYTES, 0);
    char *p = arena_alloc(a, (size_t)(size - from) + 1);
    ssize_t n = pread(fd, p, (size_t)(size - from), from);
    struct str text = { p, n > 0 ? (size_t)n : 0 };
    ptrdiff_t newline;

    while (text.n && text.p[text.n - 1] != '\n')
        text.n--; /* a line that breaks off */
    text.n -= text.n > 0;
    newline = str_rfind_char(text, '\n');
    return str_from(text, (size_t)(newline + 1));
}

static struct str read_first(struct arena *a, int fd)
{
    char *p = arena_alloc(a, FIRST_BYTES);
    ssize_t n = pread(fd, p, FIRST_BYTES, 0);
    struct str text = { p, n > 0 ? (size_t)n : 0 }, line;

    return str_split(&text, '\n', &line) ? line : STR_NULL;
}

static int64_t size_at(int dir, const char *name)
{
    struct stat st;

    return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ? 0 : (int64_t)st.st_size;
}

static int read_entry(struct arena *a, int dir, const char *name, struct record_entry *ret, struct err *e)
{
    autoclose int own = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    autoclose int facts = own < 0 ? -1 : openat(own, "facts", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    int64_t size;

    if (facts < 0)
        return err_errno(e, "record %s", name);
    size = size_at(own, "facts");
    ret->id = arena_str(a, str_of(name));
    ret->is_running = flock(facts, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
    ret->bytes = size + size_at(own, "log") + size_at(own, "log.old");
    return record_read_ends(a, read_first(a, facts), read_tail(a, facts, size), &ret->ends, e);
}

static int newest_first(const void *x, const void *y)
{
    const struct record_entry *a = *(struct record_entry *const *)x, *b = *(struct record_entry *const *)y;

    if (a->ends.head.begin_ms != b->ends.head.begin_ms)
        return a->ends.head.begin_ms < b->ends.head.begin_ms ? 1 : -1;
    return str_cmp(a->id, b->id);
}

void records_list(struct arena *a, int dir, struct record_list *ret)
{
    autodir *d = dir_open(dir, ".");

    for (struct dirent *entry; (entry = dir_next(d));) {
        struct record_entry *own;

        if (!records_is_name(entry->d_name))
            continue;
        own = arena_new(a, struct record_entry);
        if (read_entry(a, dir, entry->d_name, own, NULL) == 0)
            *vec_push(a, &ret->list) = own;
    }
    if (ret->list.n)
        qsort(ret->list.v, ret->list.n, sizeof(*ret->list.v), newest_first);
}

int records_find(struct arena *a, int dir, const char *word, struct record_entry **ret, struct err *e)
{
    struct record_list all = { 0 };
    struct record_entry *found = NULL;
    autobuf several = { 0 };

    records_list(a, dir, &all);
    VEC_FOREACH(one, &all.list) {
        bool is_last = strcmp(word, "last") == 0 && one == all.list.v;

        if (is_last || str_is((*one)->id, word)) {
            *ret = *one;
            return 0;
        }
        if (word[0] && str_starts((*one)->id, str_of(word))) {
            buf_fmt(&several, "%s%.*s", several.n ? ", " : "", STR_ARG((*one)->id));
            found = found ? NULL : *one;
        }
    }
    if (found && !str_has_char(buf_view(&several), ',')) {
        *ret = found;
        return 0;
    }
    if (several.n)
        return err_set(e, ERR_INVALID, "several runs begin with \"%s\": %s", word, several.p);
    return err_set(e, ERR_NOT_FOUND, "no record of run \"%s\"; 'pumice runs' lists all", word);
}

static struct str read_logs(struct arena *a, int own)
{
    autobuf text = { 0 };

    (void)file_read(own, "log.old", O_NOFOLLOW, RECORD_LOG_MAX * 2, &text); /* there need be none */
    (void)file_read(own, "log", O_NOFOLLOW, RECORD_LOG_MAX * 2, &text);
    return arena_str(a, buf_view(&text));
}

int records_read(struct arena *a, int dir, struct str id, struct record *ret, struct err *e)
{
    autoclose int own = openat(dir, arena_cstr(a, id), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    autobuf text = { 0 };

    if (own < 0 || file_read(own, "facts", O_NOFOLLOW, RECORD_FACTS_MAX * 2, &text) < 0)
        return err_errno(e, "record %.*s", STR_ARG(id));
    if (record_read(a, arena_str(a, buf_view(&text)), read_logs(a, own), ret, e) < 0)
        return err_wrap(e, "record %.*s", STR_ARG(id));
    return 0;
}

/* ---- writing ---- */

static void records_remove_one(int dir, const char *name)
{
    struct err e;

    if (tree_remove(dir, name, &e) < 0)
        log_warn("Failed to delete an old record", LOG_TEXT("why", e.text));
}

struct room { /* what a record takes */
    const char *name;
    int64_t bytes, changed_ns;
};

static int changed_last_first(const void *x, const void *y)
{
    const struct room *a = x, *b = y;

    return (a->changed_ns < b->changed_ns) - (a->changed_ns > b->changed_ns);
}

static bool is_running(int dir, const char *name)
{
    autoclose int own = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    autoclose int facts = own < 0 ? -1 : openat(own, "facts", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

    return facts >= 0 && flock(facts, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
}

static struct room records_look_at(struct arena *a, int dir, const char *name)
{
    struct room r = { .name = arena_str(a, str_of(name)).p };
    static const char *const files[] = { "facts", "log", "log.old" };
    char path[64];
    struct stat st;

    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", name, files[i]);
        if (fstatat(dir, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        r.bytes += st.st_size;
        r.changed_ns = MAX_OF(r.changed_ns, st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec);
    }
    return r;
}

/* Runs that go on stay, whatever they have. No record is read: every run comes by here, and there may be a hundred. */
static void records_make_room(int dir)
{
    VEC(struct room) all = { 0 };
    autodir *d = dir_open(dir, ".");
    autoarena a = { 0 };
    int64_t bytes = 0;
    size_t n = 0;

    for (struct dirent *entry; (entry = dir_next(d));)
        if (records_is_name(entry->d_name))
            *vec_push(&a, &all) = records_look_at(&a, dir, entry->d_name);
    if (all.n)
        qsort(all.v, all.n, sizeof(*all.v), changed_last_first);
    VEC_FOREACH(one, &all) {
        bytes += one->bytes;
        if ((++n >= RECORDS_MAX || bytes > RECORDS_BYTES) && !is_running(dir, one->name))
            records_remove_one(dir, one->name);
    }
}

static int open_files(int dir, const char *name, struct record_files *ret, struct err *e)
{
    ret->dir = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    ret->facts = ret->dir < 0 ? -1
                              : openat(ret->dir, "facts", O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
    if (ret->facts < 0)
        return err_errno(e, "record %s", name);
    return flock(ret->facts, LOCK_EX | LOCK_NB) < 0 ? err_errno(e, "lock the record %s", name) : 0;
}

int records_new(struct arena *a, int dir, struct str *id, struct record_files *ret, struct err *e)
{
    autoclose int lock = -1;
    struct str name = *id;

    *ret = (struct record_files){ -1, -1, -1 };
    if (lock_take(dir, "lock", WAIT_MS, &lock, e) < 0)
        return -1;
    records_make_room(dir);
    for (int i = 2; mkdirat(dir, arena_cstr(a, name), 0700) < 0; i++) {
        if (errno != EEXIST || i > RECORDS_MAX + 2)
            return err_errno(e, "make the record %.*s", STR_ARG(name));
        name = arena_fmt(a, "%.*s-%d", STR_ARG(*id), i);
    }
    *id = name;
    return open_files(dir, arena_cstr(a, name), ret, e);
}
