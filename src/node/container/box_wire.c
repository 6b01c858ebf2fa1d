/* box_wire.c - encode and decode a box_spec: its members in the order of the tables below */
#include "node/container/box_internal.h"

#include "os/wire.h"

#include <limits.h>
#include <sys/resource.h>

/* ---- the plain members ---- */

static const struct {
    const char *name;
    size_t at;
    bool is_path; /* empty or absolute */
} texts[] = {
    { "name", offsetof(struct box_spec, name), false }, { "cwd", offsetof(struct box_spec, cwd), true },
    { "root", offsetof(struct box_spec, root), true },  { "upper", offsetof(struct box_spec, upper), true },
    { "user", offsetof(struct box_spec, user), false }, { "over", offsetof(struct box_spec, over), true },
    { "veil", offsetof(struct box_spec, veil), true },
};

typedef VEC(struct str) str_vec;

static const struct {
    const char *name;
    size_t at;
} lists[] = {
    { "argv", offsetof(struct box_spec, argv) },           { "env", offsetof(struct box_spec, env) },
    { "hidden", offsetof(struct box_spec, hidden) },       { "add_caps", offsetof(struct box_spec, add_caps) },
    { "drop_caps", offsetof(struct box_spec, drop_caps) }, { "homes", offsetof(struct box_spec, homes) },
};

static const size_t flags[] = {
    /* bit i */
    offsetof(struct box_spec, must_not_be_root),
    offsetof(struct box_spec, is_privileged),
    offsetof(struct box_spec, has_new_privileges_off),
    offsetof(struct box_spec, has_no_seccomp),
    offsetof(struct box_spec, is_root_read_only),
    offsetof(struct box_spec, has_host_pids),
    offsetof(struct box_spec, has_tty),
    offsetof(struct box_spec, has_stdin),
    offsetof(struct box_spec, is_stdin_once),
    offsetof(struct box_spec, has_only_groups),
    offsetof(struct box_spec, has_no_root_group),
};

static void *spec_member(const struct box_spec *s, size_t at)
{
    return (char *)s + at;
}

/* ---- writing ---- */

static void put_plain(struct buf *out, const struct box_spec *s)
{
    int64_t bits = 0;

    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        wire_put_str(out, *(struct str *)spec_member(s, texts[i].at));
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        str_vec *list = spec_member(s, lists[i].at);

        wire_put_i64(out, (int64_t)list->n);
        VEC_FOREACH(text, list)
            wire_put_str(out, *text);
    }
    for (size_t i = 0; i < ARRAY_LEN(flags); i++)
        bits |= *(const bool *)spec_member(s, flags[i]) ? INT64_C(1) << i : 0;
    wire_put_i64(out, bits);
    wire_put_i64(out, s->uid);
    wire_put_i64(out, s->gid);
    wire_put_i64(out, s->shm_bytes);
    wire_put_i64(out, s->oom_score_adj);
}

void box_encode(struct buf *out, const struct box_spec *s)
{
    put_plain(out, s);
    wire_put_i64(out, (int64_t)s->mounts.n);
    VEC_FOREACH(m, &s->mounts)
        wire_put_str(out, m->target);
    wire_put_i64(out, (int64_t)s->devices.n);
    VEC_FOREACH(d, &s->devices) {
        wire_put_str(out, d->host);
        wire_put_str(out, d->path);
    }
    wire_put_i64(out, (int64_t)s->groups.n);
    VEC_FOREACH(g, &s->groups)
        wire_put_i64(out, *g);
    wire_put_i64(out, (int64_t)s->limits.n);
    VEC_FOREACH(l, &s->limits) {
        wire_put_i64(out, l->resource);
        wire_put_i64(out, (int64_t)l->soft); /* all 64 bits: RLIM_INFINITY is the largest number */
        wire_put_i64(out, (int64_t)l->hard);
    }
    if (s->target.n) /* optional: shims of an older version do not know this member */
        wire_put_str(out, s->target);
}

/* ---- reading ---- the first invalid member is remembered and reported at the end ---- */

struct box_wire_reading {
    struct arena *arena;
    struct wire_read wire;
    const char *bad; /* the first invalid spec_member; NULL: none */
};

static void box_wire_check(struct box_wire_reading *r, bool is_good, const char *name)
{
    if (!r->bad && (!is_good || r->wire.is_bad))
        r->bad = name;
}

/* Terminated by a NUL; must not contain one. */
static struct str get_spec_text(struct box_wire_reading *r, const char *name)
{
    struct str text = arena_str(r->arena, wire_get_str(&r->wire));

    box_wire_check(r, !str_has_char(text, '\0'), name);
    return text;
}

static int64_t get_number(struct box_wire_reading *r, const char *name, int64_t min, int64_t max)
{
    int64_t v = wire_get_i64(&r->wire);

    box_wire_check(r, v >= min && v <= max, name);
    return v;
}

/* The number of elements that follow, each of at least 'size' bytes; 0 after an error. */
static size_t get_count(struct box_wire_reading *r, const char *name, size_t size)
{
    size_t n = wire_get_count(&r->wire, size);

    box_wire_check(r, true, name);
    return r->bad ? 0 : n;
}

/* Absolute, without "." and "..". */
static bool is_absolute_clean(struct str path)
{
    struct str rest = str_from(path, 1), part;

    if (path.n == 0 || path.p[0] != '/' || path.n >= PATH_MAX)
        return false;
    if (path.n == 1)
        return true;
    while (str_split(&rest, '/', &part))
        if (part.n == 0 || part.n > NAME_MAX || str_is(part, ".") || str_is(part, ".."))
            return false;
    return true;
}

static void get_plain(struct box_wire_reading *r, struct box_spec *s)
{
    int64_t bits;

    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct str text = get_spec_text(r, texts[i].name);

        box_wire_check(r, !texts[i].is_path || !text.n || (text.p[0] == '/' && text.n < PATH_MAX), texts[i].name);
        *(struct str *)spec_member(s, texts[i].at) = text;
    }
    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        for (size_t n = get_count(r, lists[i].name, sizeof(int64_t)); n > 0; n--)
            *vec_push(r->arena, (str_vec *)spec_member(s, lists[i].at)) = get_spec_text(r, lists[i].name);
    bits = get_number(r, "flags", 0, (1 << ARRAY_LEN(flags)) - 1);
    for (size_t i = 0; i < ARRAY_LEN(flags); i++)
        *(bool *)spec_member(s, flags[i]) = bits >> i & 1;
    s->uid = get_number(r, "uid", -1, UINT32_MAX - 1);
    s->gid = get_number(r, "gid", -1, UINT32_MAX - 1);
    s->shm_bytes = get_number(r, "shm_bytes", 0, INT64_MAX);
    s->oom_score_adj = (int)get_number(r, "oom_score_adj", -1000, 1000);
}

static void get_mounts(struct box_wire_reading *r, const struct wire_msg *msg, struct box_spec *s)
{
    size_t n = get_count(r, "mounts", sizeof(int64_t));

    box_wire_check(r, n == msg->n_fds, "mounts");
    for (size_t i = 0; i < n && !r->bad; i++) {
        struct box_mount *m = vec_push(r->arena, &s->mounts);

        *m = (struct box_mount){ msg->fds[i], get_spec_text(r, "mounts") };
        box_wire_check(r, is_absolute_clean(m->target), "mounts");
    }
}

static void get_devices(struct box_wire_reading *r, struct box_spec *s)
{
    for (size_t n = get_count(r, "devices", 2 * sizeof(int64_t)); n > 0; n--) {
        struct box_device *d = vec_push(r->arena, &s->devices);

        d->host = get_spec_text(r, "devices");
        d->path = get_spec_text(r, "devices");
        box_wire_check(r, is_absolute_clean(d->host) && (!d->path.n || is_absolute_clean(d->path)), "devices");
    }
}

static void get_limits(struct box_wire_reading *r, struct box_spec *s)
{
    for (size_t n = get_count(r, "limits", 3 * sizeof(int64_t)); n > 0; n--) {
        struct box_limit *l = vec_push(r->arena, &s->limits);

        l->resource = (int)get_number(r, "limits", 0, RLIM_NLIMITS - 1);
        l->soft = (uint64_t)wire_get_i64(&r->wire);
        l->hard = (uint64_t)wire_get_i64(&r->wire);
    }
}

int box_decode(struct arena *a, struct str bytes, const struct wire_msg *m, struct box_spec *ret, struct err *e)
{
    struct box_wire_reading r = { .arena = a, .wire = { .rest = bytes } };
    struct box_spec s = { 0 };

    get_plain(&r, &s);
    get_mounts(&r, m, &s);
    get_devices(&r, &s);
    for (size_t n = get_count(&r, "groups", sizeof(int64_t)); n > 0; n--)
        *vec_push(a, &s.groups) = (uint32_t)get_number(&r, "groups", 0, UINT32_MAX - 1);
    get_limits(&r, &s);
    if (!r.bad && !wire_is_read(&r.wire))
        s.target = get_spec_text(&r, "target");
    box_wire_check(&r, wire_is_read(&r.wire), "end");
    if (r.bad)
        return err_set(e, ERR_INVALID, "container specification: invalid field \"%s\"", r.bad);
    *ret = s;
    return 0;
}
