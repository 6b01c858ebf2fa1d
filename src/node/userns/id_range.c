/* id_range.c - ranges of ids on the machine, one for the pods of each namespace
 *
 * The list has a line "BASE NAMESPACE" for each assigned range; for each range the last line counts. A line without a
 * newline was cut off by a crash before its range was used.
 */
#include "node/userns/id_range.h"

#include "base/buf.h"
#include "base/util.h"
#include "os/io.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>

enum { LIST_MAX = 16 << 20, SLOTS = (0x7FFD0000 - 0x78000000) / ID_RANGE_SIZE };

struct id_ranges {
    struct str owner[SLOTS]; /* namespace, borrowed from the text; empty: free */
    bool is_foreign[SLOTS];  /* overlaps ids that the machine uses */
};

static uint32_t range_base(size_t slot)
{
    return ID_RANGE_FIRST + (uint32_t)slot * ID_RANGE_SIZE;
}

/* ---- the list ---- */

static void range_read(struct id_ranges *r, struct str text)
{
    struct str line, base;
    uint64_t first;

    while (str_find_char(text, '\n') >= 0 && str_split(&text, '\n', &line))
        if (str_split(&line, ' ', &base) && str_to_u64(base, &first) == 0 && first >= ID_RANGE_FIRST &&
            first < ID_RANGE_END && (first - ID_RANGE_FIRST) % ID_RANGE_SIZE == 0)
            r->owner[(first - ID_RANGE_FIRST) / ID_RANGE_SIZE] = line;
}

/* Append after the last whole line. */
static int range_write(int fd, struct str text, size_t slot, struct str namespace, struct err *e)
{
    off_t end = (off_t)str_rfind_char(text, '\n') + 1;
    autobuf line = { 0 };

    buf_fmt(&line, "%u %.*s\n", range_base(slot), STR_ARG(namespace));
    if (ftruncate(fd, end) < 0 || pwrite_all(fd, buf_view(&line), end) < 0 || fdatasync(fd) < 0)
        return err_errno(e, "write id-ranges");
    return 0;
}

/* ---- ids that the machine uses ---- */

static void range_avoid(struct id_ranges *r, uint64_t first, uint64_t n)
{
    for (size_t i = 0; i < SLOTS; i++)
        if (first < (uint64_t)range_base(i) + ID_RANGE_SIZE && range_base(i) < first + n)
            r->is_foreign[i] = true;
}

/* Lines of fields: in /etc/passwd and /etc/group the id is the third; in /etc/subuid and /etc/subgid the second, with
 * a count in the third. */
static void range_avoid_file(struct id_ranges *r, const char *etc, const char *name, bool is_range)
{
    autobuf text = { 0 }, path = { 0 };
    struct str rest, line, field[3] = { 0 };
    uint64_t first, n = 1;

    buf_fmt(&path, "%s/%s", etc, name);
    (void)file_read(AT_FDCWD, path.p, 0, LIST_MAX, &text); /* a missing file has no ids */
    rest = buf_view(&text);
    while (str_split(&rest, '\n', &line)) {
        size_t k = 0;

        while (k < ARRAY_LEN(field) && str_split(&line, ':', &field[k]))
            k++;
        if (k == ARRAY_LEN(field) && str_to_u64(str_trim(field[is_range ? 1 : 2]), &first) == 0 &&
            (!is_range || str_to_u64(str_trim(field[2]), &n) == 0))
            range_avoid(r, first, n);
    }
}

/* ---- choosing ---- */

static size_t range_find(const struct id_ranges *r, struct str namespace)
{
    for (size_t i = 0; i < SLOTS; i++)
        if (str_eq(r->owner[i], namespace))
            return i;
    return SLOTS;
}

/* Start at a slot chosen by the hash of the name: servers of one machine do not know each other's lists. */
static size_t range_choose(const struct id_ranges *r, const struct id_range_options *o, struct str namespace)
{
    size_t start = (size_t)(str_hash(namespace, (uint64_t)getpid()) % SLOTS);

    for (int pass = 0; pass < 2; pass++)
        for (size_t k = 0; k < SLOTS; k++) {
            size_t i = (start + k) % SLOTS;

            if (!r->is_foreign[i] && (!r->owner[i].n || (pass && !o->is_used(o->ctx, r->owner[i]))))
                return i;
        }
    return SLOTS;
}

/* Find the range of a namespace in the list, which is open and locked, or assign one. */
static int range_assign(const struct id_range_options *o, int fd, struct str namespace, uint32_t *ret, struct err *e)
{
    static const struct {
        const char *name;
        bool is_range;
    } files[] = { { "passwd", false }, { "group", false }, { "subuid", true }, { "subgid", true } };
    struct id_ranges r = { 0 };
    autobuf text = { 0 };
    int rc = read_all(fd, LIST_MAX, &text);
    size_t slot;

    if (rc < 0)
        return err_errno(e, "read id-ranges");
    if (rc > 0)
        return err_set(e, ERR_TOO_BIG, "id-ranges is larger than %d MiB; delete it while no pod is running",
                       LIST_MAX >> 20);
    range_read(&r, buf_view(&text));
    slot = range_find(&r, namespace);
    if (slot == SLOTS) {
        for (size_t i = 0; i < ARRAY_LEN(files); i++)
            range_avoid_file(&r, o->etc, files[i].name, files[i].is_range);
        slot = range_choose(&r, o, namespace);
        if (slot == SLOTS)
            return err_set(e, ERR_CONFLICT, "no free range of user ids: all %d are in use", SLOTS);
        if (range_write(fd, buf_view(&text), slot, namespace, e) < 0)
            return -1;
    }
    *ret = range_base(slot);
    return 0;
}

int id_range_of(const struct id_range_options *o, struct str namespace, uint32_t *ret, struct err *e)
{
    autoclose int fd = openat(o->dir, "id-ranges", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

    if (fd < 0 || flock(fd, LOCK_EX) < 0)
        return err_errno(e, "open id-ranges");
    return range_assign(o, fd, namespace, ret, e);
}
