/* lease.c - the Lease of a node: written every ten seconds, by one machine only
 *
 * In kube-node-lease, by the name of the Node, as a kubelet's: node controllers read renewTime. The holder is
 * the name and an id of this machine and state directory, so that a second one of the same name sees that it is not
 * the first, while one that was killed and started again finds its own. A holder that has not renewed for the Lease's
 * duration is dead; clocks of a cluster are expected to agree that well, as its nodes' have to anyway.
 *
 * An API server that does not answer changes nothing: pods go on, and renewals are tried again.
 */
#include "program/node/node.h"

#include "api/meta.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"

enum { DURATION_S = 40, RENEW_MS = 10000, RETRY_MS = 1000, PATIENCE_MS = 15000 };

#define LEASE_NAMESPACE STR("kube-node-lease")

struct node_lease {
    struct cluster *door;
    struct buf node, identity, holder, node_uid;
    const struct resource_type *type;
    struct object *seen; /* as it is there, as far as we know */
    enum node_lease_state state;
    enum { FLIGHT_NONE, FLIGHT_READ, FLIGHT_WRITE, FLIGHT_NODE } flight;
    uint64_t token;
    int64_t sent_ms, due_ms;
    struct err trouble;
    int64_t pause_ms; /* after a failure */
    bool was_read, gives;
};

static int64_t lease_mono(void)
{
    return clock_mono_ms(&clock_real);
}

struct node_lease *node_lease_new(struct cluster *door, struct str node, struct str identity)
{
    struct node_lease *l = xcalloc(1, sizeof(*l));

    l->door = door;
    l->type = type_by_kind(STR("coordination.k8s.io/v1"), STR("Lease"));
    buf_str(&l->node, node);
    buf_str(&l->identity, identity);
    return l;
}

void node_lease_free(struct node_lease *l)
{
    if (!l)
        return;
    object_unref(l->seen);
    buf_done(&l->node);
    buf_done(&l->identity);
    buf_done(&l->holder);
    buf_done(&l->node_uid);
    free(l);
}

/* ---- sending ---- */

static void sent(struct node_lease *l, int flight, uint64_t token)
{
    l->flight = flight;
    l->token = token;
    l->sent_ms = lease_mono();
}

static void add_owner(struct node_lease *l, struct arena *a, struct json *lease)
{
    struct json *owner;

    if (!l->node_uid.n || json_find(lease, "metadata", "ownerReferences", NULL))
        return;
    owner = json_object(a);
    json_set(owner, "apiVersion", json_str(a, STR("v1")));
    json_set(owner, "kind", json_str(a, STR("Node")));
    json_set(owner, "name", json_str(a, buf_view(&l->node)));
    json_set(owner, "uid", json_str(a, buf_view(&l->node_uid)));
    json_push(json_set(json_get(lease, "metadata"), "ownerReferences", json_array(a)), owner);
}

static void write_it(struct node_lease *l)
{
    autoarena a = { 0 };
    autobuf now = { 0 };
    struct op op = { .kind = l->seen ? OP_UPDATE : OP_CREATE,
                     .type = l->type,
                     .namespace = LEASE_NAMESPACE,
                     .name = buf_view(&l->node) };
    struct json *spec;

    op.body = l->seen ? json_copy(&a, l->seen->root)
                      : object_new(&a, "coordination.k8s.io/v1", "Lease", LEASE_NAMESPACE, buf_view(&l->node));
    add_owner(l, &a, op.body);
    spec = json_need_object(&a, op.body, "spec");
    clock_print_us(&now, clock_now_us(&clock_real));
    json_set(spec, "holderIdentity", json_str(&a, l->gives ? STR_NULL : buf_view(&l->identity)));
    json_set(spec, "leaseDurationSeconds", json_int(&a, DURATION_S));
    json_set(spec, "renewTime", json_str(&a, buf_view(&now)));
    sent(l, FLIGHT_WRITE, cluster_write(l->door, &op));
}

/* The Node is known after the agent has made it: the Lease is to go with it. */
static bool lacks_owner(const struct node_lease *l)
{
    return l->state == LEASE_OURS && l->seen && !l->node_uid.n && !l->gives &&
           !json_find(l->seen->root, "metadata", "ownerReferences", NULL);
}

static void send_due(struct node_lease *l)
{
    if (l->flight != FLIGHT_NONE || lease_mono() < l->due_ms || l->state >= LEASE_TAKEN)
        return;
    if (!l->was_read)
        sent(l, FLIGHT_READ, cluster_read(l->door, l->type, LEASE_NAMESPACE, buf_view(&l->node)));
    else if (lacks_owner(l))
        sent(l, FLIGHT_NODE, cluster_read(l->door, type_by_kind(STR("v1"), STR("Node")), STR_NULL, buf_view(&l->node)));
    else
        write_it(l);
}

/* ---- answers ---- */

/* Another's, which has not run out. */
static bool lease_is_taken(const struct node_lease *l, const struct object *o)
{
    const struct json *spec = json_get(o->root, "spec");
    struct str holder = json_member_text(spec, "holderIdentity");
    int64_t renewed_ms = 0, duration_ms = json_i64(json_get(spec, "leaseDurationSeconds"), DURATION_S) * 1000;

    if (!holder.n || str_eq(holder, buf_view(&l->identity)) ||
        clock_parse(json_member_text(spec, "renewTime"), &renewed_ms, NULL) < 0)
        return false;
    return clock_now_ms(&clock_real) < renewed_ms + duration_ms;
}

static void saw(struct node_lease *l, const struct object *o)
{
    object_unref(l->seen);
    l->seen = o ? object_ref(o) : NULL;
    l->was_read = true;
    l->due_ms = lease_mono();
    if (!o || !lease_is_taken(l, o))
        return;
    l->state = LEASE_TAKEN;
    buf_reset(&l->holder);
    buf_str(&l->holder, json_member_text(json_get(o->root, "spec"), "holderIdentity"));
}

static void wrote(struct node_lease *l, const struct object *o)
{
    object_unref(l->seen);
    l->seen = o ? object_ref(o) : NULL;
    l->state = l->gives ? LEASE_GIVEN : LEASE_OURS;
    l->due_ms = lease_mono() + (lacks_owner(l) ? RETRY_MS : RENEW_MS);
}

static void saw_node(struct node_lease *l, const struct object *o)
{
    if (o)
        buf_str(&l->node_uid, o->uid);
    l->due_ms = o ? lease_mono() : lease_mono() + RETRY_MS;
}

static void node_lease_answered(struct node_lease *l, const struct cluster_event *ev)
{
    int flight = l->flight;

    l->flight = FLIGHT_NONE;
    l->trouble = ev->err;
    l->pause_ms = ev->err.code == ERR_OK ? 0 : MIN_OF(MAX_OF(2 * l->pause_ms, (int64_t)RETRY_MS), (int64_t)RENEW_MS);
    if (ev->err.code == ERR_CONFLICT || ev->err.code == ERR_EXISTS || (ev->err.code == ERR_NOT_FOUND && l->seen))
        /* Another writer was faster: see who. */
        sent(l, FLIGHT_READ, cluster_read(l->door, l->type, LEASE_NAMESPACE, buf_view(&l->node)));
    else if (ev->err.code != ERR_OK)
        l->due_ms = lease_mono() + l->pause_ms;
    else if (flight == FLIGHT_READ)
        saw(l, ev->object);
    else if (flight == FLIGHT_WRITE)
        wrote(l, ev->object);
    else
        saw_node(l, ev->object);
}

int64_t node_lease_turn(struct node_lease *l)
{
    struct cluster_event ev;

    while (cluster_next(l->door, &ev))
        if (ev.kind == CLUSTER_RESULT && l->flight != FLIGHT_NONE && ev.token == l->token)
            node_lease_answered(l, &ev);
    if (l->flight != FLIGHT_NONE && lease_mono() >= l->sent_ms + PATIENCE_MS) {
        l->flight = FLIGHT_NONE;
        (void)err_set(&l->trouble, ERR_IO, "no answer within %d s", PATIENCE_MS / 1000);
    }
    send_due(l);
    if (l->state >= LEASE_TAKEN)
        return INT64_MAX;
    return MAX_OF((l->flight != FLIGHT_NONE ? l->sent_ms + PATIENCE_MS : l->due_ms) - lease_mono(), 0);
}

enum node_lease_state node_lease_state(const struct node_lease *l)
{
    return l->state;
}

struct str node_lease_holder(const struct node_lease *l)
{
    return buf_view(&l->holder);
}

const struct err *node_lease_trouble(const struct node_lease *l)
{
    return l->trouble.code == ERR_OK ? NULL : &l->trouble;
}

void node_lease_give(struct node_lease *l)
{
    l->gives = true;
    l->due_ms = lease_mono();
}
