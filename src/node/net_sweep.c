/* net_sweep.c - remove what a killed program left in the host's namespace: the link of its way out and the table with it
 *
 * Everything else was in a private namespace and went with it.
 */
#include "node/net_internal.h"

#include "base/util.h"
#include "base/vec.h"
#include "node/net_nat.h"

struct leftover {
    char id[NET_ID_DIGITS + 1];
};

struct sweep {
    struct arena arena;
    VEC(struct leftover) list;
};

/* "pm3fa91ch": copies the id. */
static bool name_is_ours(const char *name, char id[NET_ID_DIGITS + 1])
{
    if (strlen(name) != 2 + NET_ID_DIGITS + 1 || name[0] != 'p' || name[1] != 'm' ||
        strspn(name + 2, "0123456789abcdef") != NET_ID_DIGITS || name[2 + NET_ID_DIGITS] != 'h')
        return false;
    memcpy(id, name + 2, NET_ID_DIGITS);
    id[NET_ID_DIGITS] = '\0';
    return true;
}

static void sweep_note(struct sweep *s, const char *id)
{
    struct leftover *new;

    VEC_FOREACH(old, &s->list)
        if (strcmp(old->id, id) == 0)
            return;
    new = vec_push(&s->arena, &s->list);
    memcpy(new->id, id, sizeof(new->id));
}

static bool sweep_link(void *ctx, const struct nlmsghdr *m)
{
    const char *name = "";
    const struct nlattr *a;
    uint32_t group = 0;
    char id[NET_ID_DIGITS + 1];

    if (m->nlmsg_type != RTM_NEWLINK || mnl_nlmsg_get_payload_len(m) < sizeof(struct ifinfomsg))
        return true;
    mnl_attr_for_each(a, m, sizeof(struct ifinfomsg))
    {
        if (mnl_attr_get_type(a) == IFLA_IFNAME && mnl_attr_validate(a, MNL_TYPE_NUL_STRING) >= 0)
            name = mnl_attr_get_str(a);
        else if (mnl_attr_get_type(a) == IFLA_GROUP && mnl_attr_validate(a, MNL_TYPE_U32) >= 0)
            group = mnl_attr_get_u32(a);
    }
    if (name_is_ours(name, id) && group == net_group(id)) /* the name alone could be anybody's */
        sweep_note(ctx, id);
    return true;
}

static int remove_locked(struct nl *l, const char *id)
{
    int lock = -1;

    (void)net_lock(&lock, NULL); /* somebody hangs: go on without */
    return net_uplink_remove(l, id, lock);
}

int net_sweep(bool (*is_alive)(void *ctx, const char *id), void *ctx)
{
    struct nat_tables tables = { 0 };
    struct sweep s = { 0 };
    struct nl l = { 0 };
    int removed = 0;

    if (nl_open(&l, NULL) < 0)
        return 0;
    (void)nl_dump(&l, RTM_GETLINK, AF_UNSPEC, sweep_link, &s, NULL); /* what was seen until then */
    (void)nat_list(&s.arena, -1, &tables, NULL);                     /* ordinary users may not look, and left nothing */
    VEC_FOREACH(t, &tables.list)
        sweep_note(&s, t->id);
    VEC_FOREACH(old, &s.list)
        if (!(is_alive && is_alive(ctx, old->id)) && !net_alive(old->id) && !net_ending(old->id))
            removed += remove_locked(&l, old->id);
    arena_done(&s.arena);
    nl_close(&l);
    return removed;
}

int net_sweep_run(const char *id)
{
    struct nl l = { 0 };
    int removed = 0;

    if (strlen(id) == NET_ID_DIGITS && strspn(id, "0123456789abcdef") == NET_ID_DIGITS && !net_ending(id) &&
        nl_open(&l, NULL) == 0) {
        removed = remove_locked(&l, id);
        nl_close(&l);
    }
    return removed;
}
