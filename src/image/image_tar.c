/* image_tar.c - archives in the forms of tar: v7, ustar, pax, and GNU's with long names
 *
 * A header of 512 bytes, the data of a file filled up to such blocks, and so on; a block of zeros ends it. Fields
 * too long for a header stand in an entry before it, which is no file: 'x' (pax: lines "LENGTH KEY=VALUE"), 'L' and 'K'
 * (GNU: a name, where a link leads). Only files have data, whatever the header of another kind says its size is.
 *
 * As docker's reader does, so not here: what a pax header says of all entries ('g'), and files with holes, which no
 * tool that makes images writes.
 */
#include "image/image_internal.h"

enum { BLOCK = 512, TEXT_BYTES = 1 << 20, EXTRA_MAX = 16, CAPABILITY_BYTES = 64 };

struct tar_header { /* as it lies there; numbers are octal digits, or from a first byte of 0x80 on binary */
    char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], sum[8], type, link[100], magic[8], user[32],
        group[32], major[8], minor[8], prefix[155], fill[12];
};
_Static_assert(sizeof(struct tar_header) == BLOCK, "a header is a block");

struct extra { /* of the entries before one */
    struct str path, link, capability;
    int64_t uid, gid, size; /* -1: not said */
    struct timespec mtime;
    bool has_mtime;
};

struct image_tar {
    struct image_stream *stream;
    struct arena arena; /* text of this entry */
    int64_t left;       /* bytes of its data that were not read yet */
    int64_t at, fill;   /* of those that were; what fills the last block */
    bool has_begun, is_over;
};

static int damaged(struct err *e, const char *why)
{
    return err_set(e, ERR_INVALID, "is damaged: %s", why);
}

/* ---- bytes ---- */

/* 'n' bytes into 'to' (NULL: nowhere). 1; 0: there was not one; -1: there were less, and for other reasons. */
static int read_exactly(struct image_tar *t, char *to, int64_t n, struct err *e)
{
    int64_t at = 0;
    struct str some;

    while (at < n) {
        int rc = image_stream_read(t->stream, (size_t)(n - at), &some, e);

        if (rc < 0)
            return -1;
        if (rc == 0)
            return at ? damaged(e, "it is truncated") : 0;
        if (to)
            memcpy(to + at, some.p, some.n);
        at += (int64_t)some.n;
    }
    return 1;
}

static int read_all_of(struct image_tar *t, char *to, int64_t n, struct err *e)
{
    int rc = read_exactly(t, to, n, e);

    return rc == 0 && n ? damaged(e, "it is truncated") : rc < 0 ? -1 : 0;
}

static int64_t fill_of(int64_t size)
{
    return (BLOCK - size % BLOCK) % BLOCK;
}

/* ---- fields ---- */

static struct str tar_text_of(const char *field, size_t n)
{
    return (struct str){ field, strnlen(field, n) };
}

static int read_binary(const char *field, size_t n, int64_t *ret)
{
    bool is_negative = (unsigned char)field[0] == 0xff;
    uint64_t v = is_negative ? UINT64_MAX : (unsigned char)field[0] & 0x7f;

    for (size_t i = 1; i < n; i++) {
        if (v >> 55 != (is_negative ? 0x1ff : 0))
            return -1;
        v = v << 8 | (unsigned char)field[i];
    }
    *ret = (int64_t)v;
    return 0;
}

static int tar_read_number(const char *field, size_t n, int64_t *ret)
{
    size_t i = 0;
    int64_t v = 0;

    if (field[0] & 0x80)
        return read_binary(field, n, ret);
    while (i < n && (field[i] == ' ' || field[i] == '\0'))
        i++;
    for (; i < n && field[i] >= '0' && field[i] <= '7'; i++)
        v = v * 8 + (field[i] - '0'); /* 12 digits at most */
    if (i < n && field[i] != ' ' && field[i] != '\0')
        return -1;
    *ret = v;
    return 0;
}

#define NUMBER(field, ret) tar_read_number((field), sizeof(field), (ret))

/* Of all bytes, its own field as blanks; some add them up with signs. */
static bool is_sum_good(const struct tar_header *h)
{
    const char *bytes = (const char *)h;
    int64_t sum = 0, with_sign = 0, said;

    for (size_t i = 0; i < BLOCK; i++) {
        bool is_own = i >= offsetof(struct tar_header, sum) && i < offsetof(struct tar_header, type);

        sum += is_own ? ' ' : (unsigned char)bytes[i];
        with_sign += is_own ? ' ' : (signed char)bytes[i];
    }
    return NUMBER(h->sum, &said) == 0 && (said == sum || said == with_sign);
}

/* ---- pax ---- */

/* "1350244992.023960108" */
static int tar_read_time(struct str text, struct timespec *ret)
{
    struct str whole, part = text;
    bool is_negative = str_starts(text, STR("-"));
    int64_t s, ns = 0;

    (void)str_split(&part, '.', &whole);
    if (str_to_i64(whole, &s) < 0)
        return -1;
    for (size_t i = 0, scale = 100000000; i < part.n && scale; i++, scale /= 10) {
        if (part.p[i] < '0' || part.p[i] > '9')
            return -1;
        ns += (part.p[i] - '0') * (int64_t)scale;
    }
    if (is_negative && ns) {
        s--;
        ns = 1000000000 - ns;
    }
    *ret = (struct timespec){ s, ns };
    return 0;
}

static int tar_take_number(struct str value, int64_t *to)
{
    int64_t v;

    if (str_to_i64(value, &v) < 0 || v < 0)
        return -1;
    *to = v;
    return 0;
}

static int take_path(struct str value, struct str *to)
{
    if (str_has_char(value, '\0'))
        return -1;
    *to = value;
    return 0;
}

/* Nothing as a value: as if it were not said. */
static int take_pax(struct extra *x, struct str key, struct str value, struct err *e)
{
    int rc = 0;

    if (str_starts(key, STR("GNU.sparse.")))
        return err_set(e, ERR_INVALID,
                       "has a file with holes (GNU.sparse), which is not supported; create it without --sparse");
    if (!value.n)
        return 0;
    if (str_is(key, "path"))
        rc = take_path(value, &x->path);
    else if (str_is(key, "linkpath"))
        rc = take_path(value, &x->link);
    else if (str_is(key, "size"))
        rc = tar_take_number(value, &x->size);
    else if (str_is(key, "uid"))
        rc = tar_take_number(value, &x->uid);
    else if (str_is(key, "gid"))
        rc = tar_take_number(value, &x->gid);
    else if (str_is(key, "mtime"))
        x->has_mtime = (rc = tar_read_time(value, &x->mtime)) == 0;
    else if (str_is(key, "SCHILY.xattr.security.capability") && value.n <= CAPABILITY_BYTES)
        x->capability = value;
    return rc < 0 ? damaged(e, "a pax header has an invalid value") : 0;
}

static int read_pax(struct extra *x, struct str text, struct err *e)
{
    while (text.n) {
        ptrdiff_t blank = str_find_char(text, ' '), equals;
        struct str line, body;
        uint64_t n;

        if (blank <= 0 || str_to_u64(str_sub(text, 0, (size_t)blank), &n) < 0 || n <= (uint64_t)blank + 1 ||
            n > text.n || text.p[n - 1] != '\n')
            return damaged(e, "a pax header has an invalid line");
        line = str_sub(text, 0, (size_t)n - 1);
        body = str_from(line, (size_t)blank + 1);
        equals = str_find_char(body, '=');
        if (equals <= 0)
            return damaged(e, "a pax header has an invalid line");
        if (take_pax(x, str_sub(body, 0, (size_t)equals), str_from(body, (size_t)equals + 1), e) < 0)
            return -1;
        text = str_from(text, (size_t)n);
    }
    return 0;
}

/* ---- headers ---- */

/* The data of an entry that is no file. */
static int tar_read_text(struct image_tar *t, int64_t size, struct str *ret, struct err *e)
{
    char *text;

    if (size > TEXT_BYTES)
        return damaged(e, "a name or a pax header is larger than 1 MiB");
    text = arena_alloc(&t->arena, (size_t)size + 1);
    text[size] = '\0';
    *ret = (struct str){ text, (size_t)size };
    return read_all_of(t, text, size, e) < 0 ? -1 : read_all_of(t, NULL, fill_of(size), e);
}

/* 1: it was such an entry. */
static int take_extra(struct image_tar *t, const struct tar_header *h, struct extra *x, struct err *e)
{
    struct str text = STR_NULL;
    int64_t size;

    if (!h->type || !strchr("xgLK", h->type))
        return 0;
    if (NUMBER(h->size, &size) < 0 || size < 0)
        return damaged(e, "a header has an invalid number");
    if (tar_read_text(t, size, &text, e) < 0)
        return -1;
    if (h->type == 'x')
        return read_pax(x, text, e) < 0 ? -1 : 1;
    if (h->type == 'L')
        x->path = tar_text_of(text.p, text.n);
    if (h->type == 'K')
        x->link = tar_text_of(text.p, text.n);
    return 1;
}

static int tar_kind_of(const struct tar_header *h, struct str path, enum image_tar_kind *ret, struct err *e)
{
    static const struct {
        char type;
        enum image_tar_kind kind;
    } kinds[] = {
        { '0', TAR_FILE },  { '\0', TAR_FILE }, { '7', TAR_FILE }, { '1', TAR_HARDLINK }, { '2', TAR_SYMLINK },
        { '3', TAR_OTHER }, { '4', TAR_OTHER }, { '5', TAR_DIR },  { '6', TAR_FIFO },     { 'V', TAR_OTHER },
    };

    if (h->type == 'S')
        return err_set(e, ERR_INVALID,
                       "has a file with holes (%.*s), which is not supported; create it without --sparse",
                       STR_ARG(str_cut(path, 200)));
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (kinds[i].type == h->type) {
            *ret = kinds[i].kind == TAR_FILE && str_ends(path, STR("/")) ? TAR_DIR : kinds[i].kind; /* v7 has no '5' */
            return 0;
        }
    return err_set(e, ERR_INVALID, "is damaged: %.*s has unknown type 0x%02x", STR_ARG(str_cut(path, 200)),
                   (unsigned char)h->type);
}

static struct str path_of(struct image_tar *t, const struct tar_header *h, const struct extra *x)
{
    struct str name = tar_text_of(h->name, sizeof(h->name)), prefix = tar_text_of(h->prefix, sizeof(h->prefix));

    if (x->path.n)
        return x->path;
    if (memcmp(h->magic, "ustar", 6) == 0 && prefix.n) /* GNU's has "ustar ", and other things there */
        return arena_fmt(&t->arena, "%.*s/%.*s", STR_ARG(prefix), STR_ARG(name));
    return arena_str(&t->arena, name);
}

static int take_entry(struct image_tar *t, const struct tar_header *h, const struct extra *x,
                      struct image_tar_entry *ret, struct err *e)
{
    struct image_tar_entry n = { .path = path_of(t, h, x), .capability = x->capability };
    int64_t mode, mtime;

    if (!n.path.n)
        return damaged(e, "an entry has an invalid name");
    if (NUMBER(h->mode, &mode) < 0 || NUMBER(h->uid, &n.uid) < 0 || NUMBER(h->gid, &n.gid) < 0 ||
        NUMBER(h->size, &n.size) < 0 || NUMBER(h->mtime, &mtime) < 0)
        return damaged(e, "a header has an invalid number");
    if (tar_kind_of(h, n.path, &n.kind, e) < 0)
        return -1;
    n.link = x->link.n ? x->link : arena_str(&t->arena, tar_text_of(h->link, sizeof(h->link)));
    n.mode = (mode_t)mode & 07777;
    n.uid = x->uid >= 0 ? x->uid : n.uid;
    n.gid = x->gid >= 0 ? x->gid : n.gid;
    n.mtime = x->has_mtime ? x->mtime : (struct timespec){ mtime, 0 };
    n.size = n.kind != TAR_FILE ? 0 : x->size >= 0 ? x->size : n.size;
    if (n.size < 0 || n.size > INT64_MAX - BLOCK)
        return damaged(e, "a header has an invalid size");
    t->left = n.size;
    t->fill = fill_of(n.size);
    t->at = 0;
    *ret = n;
    return 0;
}

/* 1; 0: the archive ends. */
static int read_header(struct image_tar *t, struct tar_header *h, struct err *e)
{
    static const struct tar_header zero;
    int rc = read_exactly(t, (char *)h, BLOCK, e);
    int64_t n = image_stream_bytes(t->stream);

    if (rc < 0)
        return !t->has_begun && n > 0 && n < BLOCK ? err_set(e, ERR_INVALID, "is not a tar archive") : -1;
    if (rc == 0)
        return t->has_begun ? 0 : err_set(e, ERR_INVALID, "is empty");
    if (memcmp(h, &zero, sizeof(zero)) == 0)
        return 0;
    if (!is_sum_good(h))
        return t->has_begun ? damaged(e, "a header has a wrong checksum")
                            : err_set(e, ERR_INVALID, "is not a tar archive");
    t->has_begun = true;
    return 1;
}

int image_tar_next(struct image_tar *t, struct image_tar_entry *ret, struct err *e)
{
    struct extra x = { .uid = -1, .gid = -1, .size = -1 };
    struct tar_header h;

    if (t->is_over)
        return 0;
    if (read_all_of(t, NULL, t->left, e) < 0 || read_all_of(t, NULL, t->fill, e) < 0)
        return -1;
    t->left = t->fill = 0;
    arena_reset(&t->arena);
    for (int i = 0; i <= EXTRA_MAX; i++) {
        int rc = read_header(t, &h, e);

        if (rc == 0 && i)
            return damaged(e, "it is truncated");
        t->is_over = rc == 0;
        if (rc <= 0)
            return rc;
        rc = take_extra(t, &h, &x, e);
        if (rc <= 0)
            return rc < 0 || take_entry(t, &h, &x, ret, e) < 0 ? -1 : 1;
    }
    return damaged(e, "an entry has too many headers");
}

/* ---- data, beginning and end ---- */

int image_tar_data(struct image_tar *t, struct str *ret, int64_t *ret_offset, struct err *e)
{
    int rc;

    if (!t->left)
        return 0;
    rc = image_stream_read(t->stream, (size_t)t->left, ret, e);
    if (rc <= 0)
        return rc < 0 ? -1 : damaged(e, "it is truncated");
    *ret_offset = t->at;
    t->at += (int64_t)ret->n;
    t->left -= (int64_t)ret->n;
    return 1;
}

int image_tar_open(int fd, struct image_tar **ret, struct err *e)
{
    struct image_tar *t = xcalloc(1, sizeof(*t));

    if (image_stream_open(fd, &t->stream, e) < 0) {
        free(t);
        return -1;
    }
    *ret = t;
    return 0;
}

void image_tar_close(struct image_tar *t)
{
    if (!t)
        return;
    image_stream_close(t->stream);
    arena_done(&t->arena);
    free(t);
}

int64_t image_tar_bytes(const struct image_tar *t)
{
    return image_stream_bytes(t->stream);
}

int image_tar_finish(struct image_tar *t, struct image_digest *ret_file, struct image_digest *ret_tar, struct err *e)
{
    return image_stream_finish(t->stream, ret_file, ret_tar, e);
}
