/* box_caps.c - capabilities: the set of a container, and dropping the others */
#include "node/container/box_internal.h"

#include <errno.h>
#include <sys/capability.h>
#include <sys/prctl.h>

/* The default set of container runtimes, without MKNOD: nothing here filters devices by number. (Even with MKNOD
 * added, a new device node cannot be opened on the root or in /dev, but it can in a volume that allows devices.) */
static const char *const default_caps[] = {
    "AUDIT_WRITE", "CHOWN",   "DAC_OVERRIDE", "FOWNER",  "FSETID", "KILL",       "NET_BIND_SERVICE",
    "NET_RAW",     "SETFCAP", "SETGID",       "SETPCAP", "SETUID", "SYS_CHROOT", NULL,
};

static uint64_t cap_bit(cap_value_t cap)
{
    return UINT64_C(1) << cap;
}

/* "NET_ADMIN", "CAP_NET_ADMIN", in any case; -1: no such capability. */
static int cap_by_name(struct str name, cap_value_t *ret)
{
    char text[40];

    if (str_starts(name, STR("CAP_")) || str_starts(name, STR("cap_")))
        name = str_from(name, 4);
    if (name.n == 0 || name.n > 30 || str_has_char(name, '\0'))
        return -1;
    (void)snprintf(text, sizeof(text), "cap_%.*s", STR_ARG(name));
    return cap_from_name(text, ret);
}

/* The capabilities this process can grant: its bounding set. One system call each, so they are read once; forks
 * inherit the answer. */
static uint64_t all_caps(void)
{
    static uint64_t all;
    static bool is_asked;

    for (cap_value_t cap = 0; !is_asked && cap < cap_max_bits() && cap < 64; cap++)
        if (cap_get_bound(cap) > 0)
            all |= cap_bit(cap);
    is_asked = true;
    return all;
}

void box_caps_prepare(void)
{
    (void)all_caps();
}

static bool names_all(const struct str *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (str_eq_nocase(names[i], STR("ALL")))
            return true;
    return false;
}

static int caps_parse(const struct str *names, size_t n, const char *verb, uint64_t *ret, struct err *e)
{
    cap_value_t cap;

    *ret = 0;
    for (size_t i = 0; i < n; i++) {
        if (str_eq_nocase(names[i], STR("ALL")))
            continue;
        if (cap_by_name(names[i], &cap) < 0)
            return err_set(e, ERR_INVALID, "cannot %s capability \"%.*s\": no such capability", verb,
                           STR_ARG(names[i]));
        *ret |= cap_bit(cap);
    }
    return 0;
}

uint64_t box_caps_default(void)
{
    uint64_t set = 0;
    cap_value_t cap;

    for (size_t i = 0; default_caps[i]; i++)
        if (cap_by_name(str_of(default_caps[i]), &cap) == 0)
            set |= cap_bit(cap);
    return set;
}

/* "ALL" first, single names after it, so that { drop: ALL, add: KILL } is KILL. */
int box_find_caps(struct box *b, struct err *e)
{
    const struct box_spec *s = b->spec;
    uint64_t add, drop, all = all_caps(), set;

    if (caps_parse(s->add_caps.v, s->add_caps.n, "add", &add, e) < 0 ||
        caps_parse(s->drop_caps.v, s->drop_caps.n, "drop", &drop, e) < 0)
        return -1;
    set = s->is_privileged || names_all(s->add_caps.v, s->add_caps.n) ? all : box_caps_default();
    if (names_all(s->drop_caps.v, s->drop_caps.n) && !s->is_privileged)
        set = 0;
    if (!s->is_privileged)
        set = (set | add) & ~drop;
    b->caps = set & all;
    return 0;
}

/* ---- dropping ---- */

int box_caps_bound(uint64_t caps, struct err *e)
{
    for (cap_value_t cap = 0; cap < cap_max_bits() && cap < 64; cap++)
        if (!(caps & cap_bit(cap)) && cap_drop_bound(cap) < 0)
            return err_errno(e, "drop capability %d from the bounding set", cap);
    (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); /* empty, unless our parent set some */
    return 0;
}

static int set_caps(uint64_t permitted, uint64_t effective)
{
    cap_t c = cap_init();
    int result = c ? 0 : -1;

    for (cap_value_t cap = 0; c && cap < cap_max_bits() && cap < 64; cap++) {
        if (permitted & cap_bit(cap))
            (void)cap_set_flag(c, CAP_PERMITTED, 1, &cap, CAP_SET);
        if (effective & cap_bit(cap))
            (void)cap_set_flag(c, CAP_EFFECTIVE, 1, &cap, CAP_SET);
    }
    if (c)
        result = cap_set_proc(c);
    cap_free(c);
    return result;
}

void box_caps_raise(void)
{
    (void)set_caps(all_caps(), all_caps());
}

int box_caps_set(uint64_t caps, struct err *e)
{
    return set_caps(caps, caps) < 0 ? err_errno(e, "set capabilities") : 0;
}

void box_keep_cap(int cap)
{
    uint64_t kept = cap < 0 ? 0 : cap_bit(cap);

    (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    (void)set_caps(kept, kept); /* dropping cannot fail */
}
