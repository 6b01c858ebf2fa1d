/* net_sweep.c - remove the links that a killed program left */
#include "node/net_internal.h"

#include "base/util.h"
#include "base/vec.h"

struct leftover {
    char id[NET_ID_DIGITS + 1];
    int n;
};

struct sweep {
    struct arena arena;
    VEC(struct leftover) list;
};

/* "pm3fa91c-br" or "pm3fa91cv1a2b": copies the id. */
static bool name_is_ours(const char *name, char id[NET_ID_DIGITS + 1])
{
    const char *rest;

    if (strlen(name) < 2 + NET_ID_DIGITS || name[0] != 'p' || name[1] != 'm' ||
        strspn(name + 2, "0123456789abcdef") < NET_ID_DIGITS)
        return false;
    rest = name + 2 + NET_ID_DIGITS;
    memcpy(id, name + 2, NET_ID_DIGITS);
    id[NET_ID_DIGITS] = '\0';
    return strcmp(rest, "-br") == 0 ||
           (rest[0] == 'v' && rest[1] && rest[1 + strspn(rest + 1, "0123456789abcdef")] == '\0');
}

static void sweep_note(struct sweep *s, const char *id)
{
    struct leftover *new;

    VEC_FOREACH(old, &s->list)
        if (strcmp(old->id, id) == 0) {
            old->n++;
            return;
        }
    new = vec_push(&s->arena, &s->list);
    memcpy(new->id, id, sizeof(new->id));
    new->n = 1;
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
    if (name_is_ours(name, id) && (group & ~(uint32_t)NET_GROUP_LEFT) == net_group(id))
        sweep_note(ctx, id);
    return true;
}

int net_sweep(bool (*is_alive)(void *ctx, const char *id), void *ctx)
{
    struct sweep s = { 0 };
    struct nl l = { 0 };
    int removed = 0;

    if (nl_open(&l, NULL) < 0)
        return 0;
    if (nl_dump(&l, RTM_GETLINK, AF_UNSPEC, sweep_link, &s, NULL) == 0)
        VEC_FOREACH(old, &s.list)
            if (!is_alive(ctx, old->id)) {
                int rc = net_delete_group(&l, net_group(old->id), NULL);

                removed += net_delete_group(&l, net_group(old->id) | NET_GROUP_LEFT, NULL) == 0 || rc == 0 ? old->n : 0;
            }
    arena_done(&s.arena);
    nl_close(&l);
    return removed;
}
