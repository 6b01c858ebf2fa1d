/* box_user.c - the user and groups of the program, from the root's own /etc/passwd and /etc/group */
#include "node/container/box_internal.h"

enum { MAX_FILE = 4 << 20, MAX_ID = 7 };

/* Read a file of the root; empty if it is missing, not a regular file or too long. */
static struct str read_etc(struct box *b, const char *path)
{
    autoclose int fd = path_open_in(b->root, str_of(path), O_RDONLY | O_NONBLOCK | O_NOCTTY);
    autobuf text = { 0 };

    return fd >= 0 && file_read_fd(fd, MAX_FILE, &text) == 0 ? arena_str(&b->arena, buf_view(&text)) : STR_NULL;
}

/* Split "a:b:c" into at most 'max' fields; the rest are empty. */
static void box_user_split(struct str line, struct str *fields, size_t max)
{
    for (size_t i = 0; i < max; i++)
        if (!str_split(&line, ':', &fields[i]))
            fields[i] = STR_NULL;
}

static int parse_id(struct str text, uint32_t *ret)
{
    uint64_t v;

    if (str_to_u64(text, &v) < 0 || v >= UINT32_MAX)
        return -1;
    *ret = (uint32_t)v;
    return 0;
}

/* ---- passwd ---- */

struct passwd_line {
    struct str name, home;
    uint32_t uid, gid;
};

static bool parse_user(struct str line, struct passwd_line *ret)
{
    struct str f[MAX_ID];

    box_user_split(line, f, ARRAY_LEN(f)); /* name:x:uid:gid:comment:home:shell */
    ret->name = f[0];
    ret->home = f[5];
    return f[0].n && parse_id(f[2], &ret->uid) == 0 && parse_id(f[3], &ret->gid) == 0;
}

/* By name, or by number if 'name' is empty. */
static bool find_user(struct str passwd, struct str name, uint32_t uid, struct passwd_line *ret)
{
    struct str line;

    while (str_split(&passwd, '\n', &line))
        if (parse_user(line, ret) && (name.n ? str_eq(ret->name, name) : ret->uid == uid))
            return true;
    return false;
}

/* ---- group ---- */

static bool group_has_member(struct str members, struct str name)
{
    struct str one;

    while (str_split(&members, ',', &one))
        if (str_eq(one, name))
            return true;
    return false;
}

static int find_group(struct str group, struct str name, uint32_t *ret, struct err *e)
{
    struct str line, f[4];

    if (parse_id(name, ret) == 0)
        return 0;
    while (str_split(&group, '\n', &line)) {
        box_user_split(line, f, ARRAY_LEN(f)); /* name:x:gid:members */
        if (str_eq(f[0], name) && parse_id(f[2], ret) == 0)
            return 0;
    }
    return err_set(e, ERR_NOT_FOUND, "unable to find group %.*s: no matching entries in group file", STR_ARG(name));
}

static void add_group(struct box *b, uint32_t gid)
{
    VEC_FOREACH(g, &b->who.groups)
        if (*g == gid)
            return;
    *vec_push(&b->arena, &b->who.groups) = gid;
}

static void user_add_groups(struct box *b, struct str group)
{
    struct str line, f[4];
    uint32_t gid;

    VEC_FOREACH(g, &b->spec->groups)
        add_group(b, *g);
    while (!b->spec->has_only_groups && b->who.name.n && str_split(&group, '\n', &line)) {
        box_user_split(line, f, ARRAY_LEN(f));
        if (group_has_member(f[3], b->who.name) && parse_id(f[2], &gid) == 0)
            add_group(b, gid);
    }
}

/* ---- the rules ---- */

/* The user: securityContext.runAsUser, else the image's, else root. */
static int find_uid(struct box *b, struct str passwd, struct str name, struct err *e)
{
    struct passwd_line line = { 0 };
    uint32_t uid = 0;
    bool by_number = b->spec->uid >= 0 || name.n == 0 || parse_id(name, &uid) == 0;

    if (b->spec->uid >= 0)
        uid = (uint32_t)b->spec->uid;
    if (!find_user(passwd, by_number ? STR_NULL : name, uid, &line)) {
        if (!by_number)
            return err_set(e, ERR_NOT_FOUND, "unable to find user %.*s: no matching entries in passwd file",
                           STR_ARG(name));
        line = (struct passwd_line){ .uid = uid };
    }
    b->who = (struct box_who){ .uid = line.uid, .gid = line.gid, .name = line.name, .home = line.home };
    return 0;
}

static int check_non_root(const struct box *b, struct err *e)
{
    if (!b->spec->must_not_be_root || b->who.uid != 0)
        return 0;
    return err_set(e, ERR_FORBIDDEN,
                   b->spec->uid == 0 ? "container's runAsUser breaks non-root policy (container: %.*s)"
                                     : "container has runAsNonRoot and image will run as root (container: %.*s)",
                   STR_ARG(b->spec->name));
}

int box_find_who(struct box *b, struct err *e)
{
    const struct box_spec *s = b->spec;
    struct str passwd = read_etc(b, "etc/passwd"), group = read_etc(b, "etc/group"), rest = s->user, name, of_group;

    if (!str_split(&rest, ':', &name))
        name = STR_NULL;
    of_group = rest;
    if (find_uid(b, passwd, name, e) < 0)
        return -1;
    if (s->gid >= 0)
        b->who.gid = (gid_t)s->gid;
    else if (of_group.n && s->uid < 0 && find_group(group, of_group, &b->who.gid, e) < 0)
        return -1;
    if (check_non_root(b, e) < 0)
        return -1;
    if (s->groups.n && box_groups_are_fixed()) /* the seccomp filter would pretend that setgroups() worked */
        return err_set(e, ERR_FORBIDDEN,
                       "supplementary groups: this user has no subordinate ids for them; run: pumice doctor");
    user_add_groups(b, group);
    return box_ids_fit(b, e);
}
