/* net_sweep.c - remove what a killed program left in the host's namespace: the table of its egress
 *
 * Everything else was in a private namespace and went with it; also the link, whose other end was there. So the link
 * says whether a run lives, to everybody in this network namespace, whatever files he sees: a table without its link is
 * what a dead run left. It is made after the link and removed before it; who looks for tables first and for links then
 * cannot take a new run for a dead one.
 */
#include "node/net/net_internal.h"

#include "base/codec.h"
#include "base/util.h"
#include "base/vec.h"
#include "node/net/net_nat.h"

struct link_id {
    char id[NET_ID_DIGITS + 1];
};

struct living {
    struct arena *arena;
    VEC(struct link_id) list;
};

/* "pm3fa91ch": copies the id. */
static bool name_is_ours(const char *name, char id[NET_ID_DIGITS + 1])
{
    if (strlen(name) != 2 + NET_ID_DIGITS + 1 || name[0] != 'p' || name[1] != 'm' ||
        !hex_is_small(str_sub(str_of(name), 2, NET_ID_DIGITS), NET_ID_DIGITS) || name[2 + NET_ID_DIGITS] != 'h')
        return false;
    memcpy(id, name + 2, NET_ID_DIGITS);
    id[NET_ID_DIGITS] = '\0';
    return true;
}

static bool is_living(const struct living *l, const char *id)
{
    VEC_FOREACH(link, &l->list)
        if (strcmp(link->id, id) == 0)
            return true;
    return false;
}

static bool note_link(void *ctx, const struct nlmsghdr *m)
{
    struct living *living = ctx;
    const char *name = "";
    const struct nlattr *a;
    uint32_t group = 0;
    struct link_id link;

    if (m->nlmsg_type != RTM_NEWLINK || mnl_nlmsg_get_payload_len(m) < sizeof(struct ifinfomsg))
        return true;
    mnl_attr_for_each(a, m, sizeof(struct ifinfomsg)) {
        if (mnl_attr_get_type(a) == IFLA_IFNAME && mnl_attr_validate(a, MNL_TYPE_NUL_STRING) >= 0)
            name = mnl_attr_get_str(a);
        else if (mnl_attr_get_type(a) == IFLA_GROUP && mnl_attr_validate(a, MNL_TYPE_U32) >= 0)
            group = mnl_attr_get_u32(a);
    }
    if (name_is_ours(name, link.id) && group == net_group(link.id)) /* the name alone could be anybody's */
        *vec_push(living->arena, &living->list) = link;
    return true;
}

static int remove_locked(struct nl *l, const char *id)
{
    int lock = -1;

    (void)net_lock(&lock, NULL); /* another run hangs: go on without */
    return net_uplink_remove(l, id, lock);
}

int net_sweep(void)
{
    struct nat_tables tables = { 0 };
    struct living living = { 0 };
    struct nl l = { 0 };
    autoarena a = { 0 };
    int removed = 0;

    if (nat_list(&a, -1, &tables, NULL) < 0 || !tables.list.n) /* ordinary users may not look, and left nothing */
        return 0;
    living.arena = &a;
    if (nl_open(&l, NULL) < 0)
        return 0;
    (void)nl_begin(&l, RTM_GETLINK, 0, "list links", sizeof(struct ifinfomsg));
    if (nl_dump(&l, note_link, &living, NULL) == 0)
        VEC_FOREACH(t, &tables.list)
            if (!is_living(&living, t->id))
                removed += remove_locked(&l, t->id);
    nl_close(&l);
    return removed;
}

int net_sweep_run(const char *id)
{
    struct nl l = { 0 };
    int removed = 0;

    if (hex_is_small(str_of(id), NET_ID_DIGITS) && netns_is_ours() && nl_open(&l, NULL) == 0) {
        removed = remove_locked(&l, id);
        nl_close(&l);
    }
    return removed;
}
