/* box_text.c - a box_spec as JSON, and back */
#include "node/container/box_internal.h"

#include "json/json.h"

#include <inttypes.h>
#include <limits.h>
#include <sys/resource.h>

enum { MAX_TEXT = 64 << 20 };

/* ---- the plain members ---- */

static const struct {
    const char *name;
    size_t at;
    bool is_path; /* empty or absolute */
} texts[] = {
    { "name", offsetof(struct box_spec, name), false }, { "cwd", offsetof(struct box_spec, cwd), true },
    { "root", offsetof(struct box_spec, root), true },  { "upper", offsetof(struct box_spec, upper), true },
    { "user", offsetof(struct box_spec, user), false }, { "over", offsetof(struct box_spec, over), true },
};

typedef VEC(struct str) str_vec;

static const struct {
    const char *name;
    size_t at;
} lists[] = {
    { "argv", offsetof(struct box_spec, argv) },          { "env", offsetof(struct box_spec, env) },
    { "hidden", offsetof(struct box_spec, hidden) },      { "addCaps", offsetof(struct box_spec, add_caps) },
    { "dropCaps", offsetof(struct box_spec, drop_caps) },
};

static const struct {
    const char *name;
    size_t at;
} flags[] = {
    { "notRoot", offsetof(struct box_spec, must_not_be_root) },
    { "privileged", offsetof(struct box_spec, is_privileged) },
    { "noNewPrivileges", offsetof(struct box_spec, has_new_privileges_off) },
    { "noSeccomp", offsetof(struct box_spec, has_no_seccomp) },
    { "readOnly", offsetof(struct box_spec, is_root_read_only) },
    { "hostPids", offsetof(struct box_spec, has_host_pids) },
    { "tty", offsetof(struct box_spec, has_tty) },
};

static void *member(const struct box_spec *s, size_t at)
{
    return (char *)s + at;
}

/* ---- writing ---- */

/* Bytes that are no UTF-8 (an image's environment may have some) travel as base64 in a list of one. */
static struct json *text_node(struct arena *a, struct str s)
{
    autobuf out = { 0 };
    struct json *list;

    if (str_is_utf8(s))
        return json_str(a, s);
    buf_base64(&out, s);
    list = json_array(a);
    json_push(list, json_str(a, arena_str(a, buf_view(&out))));
    return list;
}

static struct json *add(struct json *tree, const char *key, struct json *take)
{
    return json_add(tree, str_of(key), take);
}

static void encode_plain(struct arena *a, struct json *tree, const struct box_spec *s)
{
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        add(tree, texts[i].name, text_node(a, *(struct str *)member(s, texts[i].at)));
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        struct json *list = add(tree, lists[i].name, json_array(a));
        str_vec *v = member(s, lists[i].at);

        VEC_FOREACH(text, v)
            json_push(list, text_node(a, *text));
    }
    for (size_t i = 0; i < ARRAY_LEN(flags); i++)
        add(tree, flags[i].name, json_bool_new(a, *(bool *)member(s, flags[i].at)));
    add(tree, "uid", json_int(a, s->uid));
    add(tree, "gid", json_int(a, s->gid));
    add(tree, "shm", json_int(a, s->shm_bytes));
    add(tree, "oom", json_int(a, s->oom_score_adj));
}

static void encode_lists(struct arena *a, struct json *tree, const struct box_spec *s)
{
    struct json *mounts = add(tree, "mounts", json_array(a)), *devices = add(tree, "devices", json_array(a)),
                *groups = add(tree, "groups", json_array(a)), *limits = add(tree, "limits", json_array(a)), *item;

    VEC_FOREACH(m, &s->mounts)
        json_push(mounts, text_node(a, m->target));
    VEC_FOREACH(d, &s->devices) {
        item = json_push(devices, json_object(a));
        add(item, "host", text_node(a, d->host));
        add(item, "path", text_node(a, d->path));
    }
    VEC_FOREACH(g, &s->groups)
        json_push(groups, json_int(a, *g));
    VEC_FOREACH(l, &s->limits) { /* "no limit" is the largest number there is: as text */
        item = json_push(limits, json_object(a));
        add(item, "resource", json_int(a, l->resource));
        add(item, "soft", json_fmt(a, "%" PRIu64, l->soft));
        add(item, "hard", json_fmt(a, "%" PRIu64, l->hard));
    }
}

void box_encode(struct buf *out, const struct box_spec *s)
{
    autoarena a = { 0 };
    struct json *tree = json_object(&a);

    encode_plain(&a, tree, s);
    encode_lists(&a, tree, s);
    json_print(out, tree);
}

/* ---- reading ---- */

static int bad(struct err *e, const char *name)
{
    return err_set(e, ERR_INVALID, "container: \"%s\" is not as it should be", name);
}

static int read_text(struct arena *a, const struct json *j, const char *name, struct str *ret, struct err *e)
{
    autobuf raw = { 0 };

    if (json_is(j, JSON_STRING))
        *ret = arena_str(a, json_text(j, STR_NULL)); /* with a NUL after it */
    else if (json_is(j, JSON_ARRAY) && json_count(j) == 1 && json_is(json_at(j, 0), JSON_STRING) &&
             buf_unbase64(&raw, json_text(json_at(j, 0), STR_NULL)) == 0)
        *ret = arena_str(a, buf_view(&raw));
    else
        return bad(e, name);
    return str_has_char(*ret, '\0') ? bad(e, name) : 0;
}

/* Absolute, without "." and "..". */
static bool is_clean(struct str path)
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

static int read_number(const struct json *tree, const char *name, int64_t min, int64_t max, int64_t *ret, struct err *e)
{
    int64_t v;

    if (json_to_i64(json_get(tree, name), &v) < 0 || v < min || v > max)
        return bad(e, name);
    *ret = v;
    return 0;
}

static int read_list(struct arena *a, const struct json *list, const char *name, str_vec *ret, struct err *e)
{
    if (!json_is(list, JSON_ARRAY))
        return bad(e, name);
    JSON_FOREACH(item, list)
        if (read_text(a, item, name, vec_push(a, ret), e) < 0)
            return -1;
    return 0;
}

static int decode_plain(struct arena *a, const struct json *tree, struct box_spec *s, struct err *e)
{
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct str *text = member(s, texts[i].at);

        if (read_text(a, json_get(tree, texts[i].name), texts[i].name, text, e) < 0)
            return -1;
        if (texts[i].is_path && text->n && (text->p[0] != '/' || text->n >= PATH_MAX))
            return bad(e, texts[i].name);
    }
    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        if (read_list(a, json_get(tree, lists[i].name), lists[i].name, member(s, lists[i].at), e) < 0)
            return -1;
    for (size_t i = 0; i < ARRAY_LEN(flags); i++) {
        const struct json *flag = json_get(tree, flags[i].name);

        if (!json_is(flag, JSON_BOOL))
            return bad(e, flags[i].name);
        *(bool *)member(s, flags[i].at) = json_bool(flag, false);
    }
    return 0;
}

static int decode_numbers(const struct json *tree, struct box_spec *s, struct err *e)
{
    int64_t oom = 0;

    if (read_number(tree, "uid", -1, UINT32_MAX - 1, &s->uid, e) < 0 ||
        read_number(tree, "gid", -1, UINT32_MAX - 1, &s->gid, e) < 0 ||
        read_number(tree, "shm", 0, INT64_MAX, &s->shm_bytes, e) < 0 ||
        read_number(tree, "oom", -1000, 1000, &oom, e) < 0)
        return -1;
    s->oom_score_adj = (int)oom;
    return 0;
}

static int decode_mounts(struct arena *a, const struct json *list, const int *fds, size_t n_fds, struct box_spec *s,
                         struct err *e)
{
    if (!json_is(list, JSON_ARRAY) || json_count(list) != n_fds)
        return bad(e, "mounts");
    JSON_FOREACH(item, list) {
        struct box_mount *m = vec_push(a, &s->mounts);

        m->fd = fds[s->mounts.n - 1];
        if (read_text(a, item, "mounts", &m->target, e) < 0)
            return -1;
        if (!is_clean(m->target))
            return bad(e, "mounts");
    }
    return 0;
}

static int decode_devices(struct arena *a, const struct json *list, struct box_spec *s, struct err *e)
{
    if (!json_is(list, JSON_ARRAY))
        return bad(e, "devices");
    JSON_FOREACH(item, list) {
        struct box_device *d = vec_push(a, &s->devices);

        if (read_text(a, json_get(item, "host"), "devices", &d->host, e) < 0 ||
            read_text(a, json_get(item, "path"), "devices", &d->path, e) < 0)
            return -1;
        if (!is_clean(d->host) || (d->path.n && !is_clean(d->path)))
            return bad(e, "devices");
    }
    return 0;
}

static int decode_limits(struct arena *a, const struct json *list, struct box_spec *s, struct err *e)
{
    int64_t resource = 0;

    if (!json_is(list, JSON_ARRAY))
        return bad(e, "limits");
    JSON_FOREACH(item, list) {
        struct box_limit *l = vec_push(a, &s->limits);

        if (read_number(item, "resource", 0, RLIM_NLIMITS - 1, &resource, e) < 0)
            return -1;
        if (str_to_u64(json_member_text(item, "soft"), &l->soft) < 0 ||
            str_to_u64(json_member_text(item, "hard"), &l->hard) < 0)
            return bad(e, "limits");
        l->resource = (int)resource;
    }
    return 0;
}

static int decode_groups(struct arena *a, const struct json *list, struct box_spec *s, struct err *e)
{
    int64_t v;

    if (!json_is(list, JSON_ARRAY))
        return bad(e, "groups");
    JSON_FOREACH(item, list) {
        if (json_to_i64(item, &v) < 0 || v < 0 || v >= UINT32_MAX)
            return bad(e, "groups");
        *vec_push(a, &s->groups) = (uint32_t)v;
    }
    return 0;
}

int box_decode(struct arena *a, struct str text, const int *fds, size_t n_fds, struct box_spec *ret, struct err *e)
{
    const struct json_parse_options opt = { .limits = { .max_bytes = MAX_TEXT, .max_depth = 4 } };
    struct box_spec s = { 0 };
    struct json *tree;

    if (json_parse(a, text, &opt, &tree, e) < 0) {
        (void)err_wrap(e, "container");
        if (e)
            e->code = ERR_INVALID;
        return -1;
    }
    if (decode_plain(a, tree, &s, e) < 0 || decode_numbers(tree, &s, e) < 0 ||
        decode_mounts(a, json_get(tree, "mounts"), fds, n_fds, &s, e) < 0 ||
        decode_devices(a, json_get(tree, "devices"), &s, e) < 0 ||
        decode_limits(a, json_get(tree, "limits"), &s, e) < 0 || decode_groups(a, json_get(tree, "groups"), &s, e) < 0)
        return -1;
    *ret = s;
    return 0;
}
