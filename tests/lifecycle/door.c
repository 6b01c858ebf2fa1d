/* door.c - a cluster that counts writes and refuses some of them */
#include "harness_internal.h"

struct h_answer { /* to a write that never got through */
    uint64_t token;
    const struct resource_type *type;
    struct err err;
};

enum { H_ANSWERS = 20000 };

/* Of answers that the door gives itself; the store's own count from 1. */
#define DOOR_TOKEN (UINT64_C(1) << 62)

const struct resource_type *h_type(const char *name)
{
    const struct resource_type *t = type_by_name(str_of(name));

    if (!t)
        fail_msg("the test's own type: %s", name);
    return t;
}

bool h_is_kind(const struct resource_type *t, const char *kind)
{
    return strcmp(t->kind, kind) == 0 && strcmp(t->group, "events.k8s.io") != 0;
}

static void door_count(struct h *h, const struct op *op)
{
    if (h_is_kind(op->type, "Event"))
        return;
    h->writes[op->kind]++;
    h->blind_deletes += op->kind == OP_DELETE && str_empty(op->uid);
    h->pod_creates += h_is_kind(op->type, "Pod") && op->kind == OP_CREATE;
    h->pod_deletes += h_is_kind(op->type, "Pod") && op->kind == OP_DELETE;
    h->job_writes += h_is_kind(op->type, "Job");
    h->status_writes += h_is_kind(op->type, "Job") && op->kind == OP_UPDATE_STATUS;
}

static struct h_fault *door_fault(struct h *h, const struct op *op)
{
    for (size_t i = 0; i < h->n_faults; i++)
        if (h->faults[i].n && h->faults[i].kind == op->kind && h->faults[i].type == op->type)
            return &h->faults[i];
    return NULL;
}

/* What comes of it is for the controller to find out. */
static uint64_t lose(struct h_door *door, uint64_t token, const struct h_fault *fault)
{
    struct err *e = arena_new(&door->h->arena, struct err);

    (void)err_set(e, fault->code, "%s", fault->text);
    map_u64_put(&door->lost, token, e);
    return token;
}

static uint64_t door_write(struct cluster *c, const struct op *op)
{
    struct h_door *door = (struct h_door *)c;
    struct h_fault *fault = door_fault(door->h, op);
    struct h_answer *answer;

    door_count(door->h, op);
    if (!fault)
        return cluster_write(door->inner, op);
    fault->n--;
    if (fault->takes_effect)
        return lose(door, cluster_write(door->inner, op), fault);
    if (door->n == H_ANSWERS)
        fail_msg("more than %d answers waiting", H_ANSWERS);
    answer = &door->answers[(door->first + door->n++) % H_ANSWERS];
    *answer = (struct h_answer){ .token = DOOR_TOKEN + ++door->last_token, .type = op->type };
    err_set(&answer->err, fault->code, "%s", fault->text);
    return answer->token;
}

static bool inner_next(struct h_door *door, struct cluster_event *ret)
{
    const struct err *lost;

    if (!cluster_next(door->inner, ret))
        return false;
    lost = ret->kind == CLUSTER_RESULT ? map_u64_get(&door->lost, ret->token) : NULL;
    if (lost) {
        ret->err = *lost;
        ret->is_unknown = true;
        ret->object = NULL;
    }
    return true;
}

static bool door_next(struct cluster *c, struct cluster_event *ret)
{
    struct h_door *door = (struct h_door *)c;
    struct h_answer *answer = &door->answers[door->first];

    if (!door->n)
        return inner_next(door, ret);
    *ret = (struct cluster_event){ .kind = CLUSTER_RESULT, .type = answer->type, .token = answer->token };
    ret->err = answer->err;
    door->first = (door->first + 1) % H_ANSWERS;
    door->n--;
    return true;
}

static void door_want(struct cluster *c, const struct resource_type *type)
{
    cluster_want(((struct h_door *)c)->inner, type);
}

static uint64_t door_read(struct cluster *c, const struct resource_type *type, struct str namespace, struct str name)
{
    return cluster_read(((struct h_door *)c)->inner, type, namespace, name);
}

static int64_t door_now_ms(struct cluster *c)
{
    return cluster_now_ms(((struct h_door *)c)->inner);
}

static void door_free(struct cluster *c)
{
    struct h_door *door = (struct h_door *)c;

    door->h->base->shut(door->h, door->inner);
    map_u64_done(&door->lost);
    free(door->answers);
    free(door);
}

static const struct cluster_class door_class = {
    .free = door_free,
    .want = door_want,
    .write = door_write,
    .read = door_read,
    .next = door_next,
    .now_ms = door_now_ms,
};

struct h_door *h_door_new(struct h *h)
{
    struct h_door *door = xcalloc(1, sizeof(*door));

    door->cluster.class = &door_class;
    door->inner = h->base->door(h);
    map_u64_init(&door->lost, 1);
    door->answers = xcalloc(H_ANSWERS, sizeof(*door->answers));
    door->h = h;
    return door;
}
