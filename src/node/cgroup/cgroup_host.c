/* cgroup_host.c - mountinfo and /proc/self/cgroup, read into places */
#include "node/cgroup/cgroup_host.h"

#include "base/codec.h"
#include "base/util.h"

static const struct {
    const char *name;
    enum cgroup_ctrl ctrl;
} ctrl_names[] = {
    { "cpu", CGROUP_CTRL_CPU },   { "cpuacct", CGROUP_CTRL_CPUACCT }, { "memory", CGROUP_CTRL_MEMORY },
    { "pids", CGROUP_CTRL_PIDS }, { "freezer", CGROUP_CTRL_FREEZER }, { "cpuset", CGROUP_CTRL_CPUSET },
};

unsigned cgroup_ctrl_read(struct str words, char sep)
{
    unsigned ctrls = 0;
    struct str word;

    words = str_trim(words);
    while (str_split(&words, sep, &word))
        for (size_t i = 0; i < ARRAY_LEN(ctrl_names); i++)
            if (str_is(word, ctrl_names[i].name))
                ctrls |= ctrl_names[i].ctrl;
    return ctrls;
}

const char *cgroup_ctrl_name(enum cgroup_ctrl ctrl)
{
    for (size_t i = 0; i < ARRAY_LEN(ctrl_names); i++)
        if (ctrl_names[i].ctrl == ctrl)
            return ctrl_names[i].name;
    return "?";
}

/* ---- mountinfo ---- */

struct cgroup_host_mount {
    struct str root, point, options, type, super;
};

/* "36 35 98:0 ROOT POINT OPTIONS [tag[:value]]… - TYPE SOURCE SUPER" */
static bool read_mount(struct arena *a, struct str line, struct cgroup_host_mount *ret)
{
    struct str word, head[6], tail[3];
    size_t n = 0;

    while (n < ARRAY_LEN(head))
        if (!str_split(&line, ' ', &head[n++]))
            return false;
    do
        if (!str_split(&line, ' ', &word))
            return false;
    while (!str_is(word, "-"));
    for (n = 0; n < ARRAY_LEN(tail); n++)
        if (!str_split(&line, ' ', &tail[n]))
            return false;
    *ret = (struct cgroup_host_mount){ octal_unescape(a, head[3]), octal_unescape(a, head[4]), head[5], tail[0],
                                       tail[2] };
    return str_starts(ret->point, STR("/"));
}

static bool has_option(struct str options, const char *option)
{
    struct str word;

    while (str_split(&options, ',', &word))
        if (str_is(word, option))
            return true;
    return false;
}

/* ---- own groups ---- */

/* The path of our group in the hierarchy: "0::/path" for v2, "4:cpu,cpuacct:/path" for v1. */
static bool own_group(struct str self, bool is_v2, unsigned ctrls, struct str *ret)
{
    struct str line, id, names;

    while (str_split(&self, '\n', &line)) {
        if (!str_split(&line, ':', &id) || !str_split(&line, ':', &names) || !str_starts(line, STR("/")))
            continue;
        if (is_v2 ? str_is(id, "0") && names.n == 0 : (cgroup_ctrl_read(names, ',') & ctrls) != 0) {
            *ret = line; /* may hold colons itself */
            return true;
        }
    }
    return false;
}

static bool is_parent_step(struct str path)
{
    struct str part;

    while (str_split(&path, '/', &part))
        if (str_is(part, ".."))
            return true;
    return false;
}

bool cgroup_host_below(struct str root, struct str own, struct str *ret_rest)
{
    /* "/../x": outside of our cgroup namespace, so its place in the mount is unknown. */
    if (is_parent_step(own) || is_parent_step(root))
        return false;
    if (str_is(root, "/"))
        root = STR("");
    if (!str_starts(own, root))
        return false;
    own = str_from(own, root.n);
    if (str_is(own, "/"))
        own = STR("");
    if (own.n && own.p[0] != '/')
        return false; /* "/docker/ab" is not below "/docker/a" */
    *ret_rest = own;
    return true;
}

/* ---- both together ---- */

static int quality(const struct cgroup_place *p)
{
    return p->is_reachable * 2 + !p->is_readonly;
}

static void add_place(struct arena *a, struct cgroup_host *host, struct cgroup_place place)
{
    VEC_FOREACH(p, &host->places) {
        if (p->is_v2 != place.is_v2 || p->ctrls != place.ctrls)
            continue;
        /* A later mount on the same point hides the earlier one. */
        if (quality(&place) > quality(p) || str_eq(place.mount, p->mount))
            *p = place;
        return;
    }
    *(struct cgroup_place *)vec_push(a, &host->places) = place;
}

static void read_places(struct arena *a, struct str mountinfo, struct str self, bool is_v2, struct cgroup_host *host)
{
    struct str line, own, rest;
    struct cgroup_host_mount m;

    while (str_split(&mountinfo, '\n', &line)) {
        if (!read_mount(a, line, &m) || !str_is(m.type, is_v2 ? "cgroup2" : "cgroup"))
            continue;
        unsigned ctrls = is_v2 ? 0 : cgroup_ctrl_read(m.super, ',');
        if ((!is_v2 && !ctrls) || !own_group(self, is_v2, ctrls, &own))
            continue;
        struct cgroup_place place = { .is_v2 = is_v2, .ctrls = ctrls, .mount = m.point, .own = STR("") };
        place.is_readonly = has_option(m.options, "ro") || has_option(m.super, "ro");
        place.is_reachable = cgroup_host_below(m.root, own, &rest);
        if (place.is_reachable)
            place.own = arena_str(a, rest);
        add_place(a, host, place);
    }
}

void cgroup_host_read(struct arena *a, struct str mountinfo, struct str self, struct cgroup_host *ret)
{
    *ret = (struct cgroup_host){ 0 };
    read_places(a, mountinfo, self, true, ret);
    read_places(a, mountinfo, self, false, ret);
}

int64_t cgroup_host_count(struct str text, const char *key)
{
    struct str line, word;
    int64_t value;

    while (str_split(&text, '\n', &line))
        if (str_split(&line, ' ', &word) && str_is(word, key) && str_to_i64(str_trim(line), &value) == 0)
            return value;
    return -1;
}
