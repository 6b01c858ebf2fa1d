/* share.c - what each queue is entitled to, and what follows from it
 *
 * One resource is worked out at a time, in columns over the flat tree of queues.
 */
#include "sched/queue/share_internal.h"

#include "base/util.h"
#include "sched/queue/waterfill.h"

/* ---- one resource ---- columns over the tree ---- */

struct share_columns {
    struct arena *arena;
    const struct share_tree *tree;
    int64_t *guarantee, *deserved, *limit, *own, *ask, *fair;
    struct tub *tubs;
    struct waterfill_step *steps;
};

static int64_t plus(int64_t v)
{
    return v > 0 ? v : 0;
}

static int64_t requested(const struct sched_queue *q, int dim)
{
    return plus(amount_add(amount_add(q->allocated.v[dim], q->going.v[dim]), q->demand.v[dim]));
}

/* Bottom up: what is guaranteed and deserved below a queue is so for the queue. */
static void sum_promises(struct share_columns *c, int dim)
{
    for (size_t i = c->tree->n; i-- > 0;) {
        const struct spot *s = &c->tree->v[i];
        int64_t guarantee = 0, deserved = 0;

        for (uint32_t k = s->first; k < s->first + s->n; k++) {
            guarantee = amount_add(guarantee, c->guarantee[k]);
            deserved = amount_add(deserved, c->deserved[k]);
        }
        guarantee = MAX_OF(guarantee, s->q->guarantee.v[dim]);
        c->guarantee[i] = MIN_OF(guarantee, plus(s->q->capability.v[dim]));
        c->deserved[i] = s->q->has_deserved ? plus(s->q->deserved.v[dim]) : deserved;
    }
}

/* Top down. Guarantees that together pass what is there do not take each other's whole room: the first term. */
static void cut_limits(struct share_columns *c, int dim, int64_t total)
{
    c->limit[0] = MIN_OF(total, plus(c->tree->v[0].q->capability.v[dim]));
    for (size_t i = 0; i < c->tree->n; i++) {
        const struct spot *s = &c->tree->v[i];
        int64_t promised = 0;

        for (uint32_t k = s->first; k < s->first + s->n; k++)
            promised = amount_add(promised, c->guarantee[k]);
        for (uint32_t k = s->first; k < s->first + s->n; k++) {
            int64_t kept = MIN_OF(c->guarantee[k], c->limit[i]);
            int64_t left = c->limit[i] - promised + c->guarantee[k];

            left = MAX_OF(kept, left);
            c->limit[k] = MIN_OF(left, plus(c->tree->v[k].q->capability.v[dim]));
        }
    }
}

/* Bottom up: what a queue can make use of. 'own' is what its groups ask for themselves; only leaves should have any. */
static void sum_asks(struct share_columns *c, int dim)
{
    for (size_t i = c->tree->n; i-- > 0;) {
        const struct spot *s = &c->tree->v[i];
        int64_t below = 0, idle = 0; /* idle: guarantees that are not asked for now; they are not lent */

        c->own[i] = requested(s->q, dim);
        for (uint32_t k = s->first; k < s->first + s->n; k++) {
            below = amount_add(below, c->ask[k]);
            idle = amount_add(idle, plus(c->guarantee[k] - c->ask[k]));
            c->own[i] -= requested(c->tree->v[k].q, dim);
        }
        c->own[i] = plus(c->own[i]);
        c->ask[i] = amount_add(c->own[i], below);
        c->ask[i] = MIN_OF(c->ask[i], plus(c->limit[i] - idle));
    }
}

enum stage { STAGE_GUARANTEE, STAGE_DESERVED, STAGE_WEIGHT, STAGE_MAX };

/* The tub of queue 'k' in a stage. */
static struct tub tub_of(const struct share_columns *c, size_t k, enum stage stage)
{
    int64_t ask = c->ask[k], deserved = c->deserved[k], promised = MIN_OF(ask, c->guarantee[k]);
    int64_t weight = c->tree->v[k].q->weight;

    switch (stage) {
    case STAGE_GUARANTEE:
        return (struct tub){ .high = promised, .weight = c->guarantee[k] };
    case STAGE_DESERVED:
        deserved = MIN_OF(ask, deserved);
        return (struct tub){ .low = promised, .high = MAX_OF(promised, deserved), .weight = c->deserved[k] };
    case STAGE_WEIGHT:
    default:
        return (struct tub){ .base = deserved, .low = promised, .high = ask, .weight = MAX_OF(weight, 1) };
    }
}

/* Share what queue 'i' got among its children. The first stage that does not get all it wants is the last. */
static void share_out(struct share_columns *c, size_t i)
{
    const struct spot *s = &c->tree->v[i];
    int64_t amount = plus(c->fair[i] - c->own[i]), wanted = 0;

    for (enum stage stage = 0; stage < STAGE_MAX && wanted <= amount; stage++) {
        wanted = 0;
        for (uint32_t k = 0; k < s->n; k++) {
            c->tubs[k] = tub_of(c, s->first + k, stage);
            c->tubs[k].got = c->tubs[k].high;
            wanted = amount_add(wanted, c->tubs[k].high);
        }
    }
    if (wanted > amount)
        fill(c->tubs, s->n, amount, c->steps);
    for (uint32_t k = 0; k < s->n; k++)
        c->fair[s->first + k] = c->tubs[k].got;
}

/* True: a queue may use more than before. */
static bool share_publish(const struct share_columns *c, int dim)
{
    bool is_more = false;

    for (size_t i = 0; i < c->tree->n; i++) {
        struct sched_queue *q = c->tree->v[i].q;
        uint32_t bit = (uint32_t)1 << dim;

        is_more |= c->limit[i] > q->limit.v[dim] || (q->lacking & bit && c->fair[i] > q->fair.v[dim]);
        q->limit.v[dim] = c->limit[i];
        q->promised.v[dim] = c->guarantee[i];
        q->keeps &= ~bit;
        if (c->guarantee[i] > 0 && q->parent)
            q->parent->keeps |= bit; /* parents come first */
        q->fair.v[dim] = c->fair[i];
        q->lacking = c->fair[i] < c->ask[i] ? q->lacking | bit : q->lacking & ~bit;
    }
    return is_more;
}

static bool update_dim(struct share_columns *c, const struct sched_model *m, int dim)
{
    const struct sched_queue *root = m->root;
    int64_t foreign = m->used.v[dim] - root->allocated.v[dim] - root->going.v[dim];

    sum_promises(c, dim);
    cut_limits(c, dim, plus(m->usable.v[dim] - plus(foreign)));
    sum_asks(c, dim);
    c->fair[0] = c->ask[0];
    for (size_t i = 0; i < c->tree->n; i++)
        share_out(c, i);
    return share_publish(c, dim);
}

void share_update(struct sched_model *m)
{
    autoarena a = { 0 };
    struct share_tree tree;
    struct share_columns c = { .arena = &a, .tree = &tree };
    int64_t **columns[] = { &c.guarantee, &c.deserved, &c.limit, &c.own, &c.ask, &c.fair };
    bool is_more = false;

    usable_update(m);
    if (!m->shares_changed && !m->queues_changed)
        return;
    tree = share_flat(m, &a);
    if (m->queues_changed || tree.n != map_count(&m->queues)) {
        share_link(m);
        tree = share_flat(m, &a);
    }
    for (size_t i = 0; i < ARRAY_LEN(columns); i++)
        *columns[i] = arena_array(&a, int64_t, tree.n);
    c.tubs = arena_array(&a, struct tub, tree.n);
    c.steps = arena_array(&a, struct waterfill_step, 2 * tree.n);
    for (int dim = 0; dim < m->dims.n; dim++)
        is_more |= update_dim(&c, m, dim);
    m->room_gen += is_more;
    m->shares_changed = false;
}

/* ---- asking ---- */

static int depth_of(const struct sched_queue *q)
{
    int depth = 0;

    for (; q->parent; q = q->parent)
        depth++;
    return depth;
}

/* The two queues just below the common ancestor; where one is above the other, that one twice in its place. */
static void step_apart(const struct sched_queue **a, const struct sched_queue **b)
{
    int da = depth_of(*a), db = depth_of(*b);

    for (; da > db; da--)
        *a = (*a)->parent;
    for (; db > da; db--)
        *b = (*b)->parent;
    while (*a != *b && (*a)->parent != (*b)->parent) {
        *a = (*a)->parent;
        *b = (*b)->parent;
    }
}

const struct sched_queue *share_common(const struct sched_queue *a, const struct sched_queue *b)
{
    step_apart(&a, &b);
    return a == b ? a : a->parent;
}

struct queue_share_test {
    const struct amounts *ask;
    enum share_test kind;
};

/* The guarantees of its children other than 'below' that are not in use: no other queue may have them. */
static int64_t idle_promises(const struct sched_queue *q, const struct sched_queue *below, int dim)
{
    int64_t sum = 0;

    if (!(q->keeps & (uint32_t)1 << dim))
        return 0;
    VEC_FOREACH(c, &q->children)
        if (*c != below)
            sum = amount_add(sum, plus((*c)->promised.v[dim] - (*c)->allocated.v[dim] - (*c)->going.v[dim]));
    return sum;
}

static const struct sched_queue *root_of(const struct sched_queue *q)
{
    while (q->parent)
        q = q->parent;
    return q;
}

/* Has the queue less than the cluster, by its own limits or because others have their share? */
static bool is_bounded(const struct queue_share_test *t, const struct sched_queue *q, int dim)
{
    const struct sched_queue *root = root_of(q);

    return q != root &&
           (q->limit.v[dim] < root->limit.v[dim] || (t->kind == SHARE_FAIR && q->fair.v[dim] < q->limit.v[dim]));
}

/* The limit of the queue, less the guarantees of others below it. If the guarantees exceed the cluster (nodes were
 * lost), they must not block every queue: within its own guarantee a queue may take what is free. */
static int64_t most_of(const struct sched_queue *q, const struct sched_queue *below, int dim)
{
    int64_t has = q->allocated.v[dim] + q->going.v[dim], own = 0;

    if (below)
        own = plus(below->promised.v[dim] - below->allocated.v[dim] - below->going.v[dim]);
    return MIN_OF(q->limit.v[dim], MAX_OF(q->limit.v[dim] - idle_promises(q, below, dim), amount_add(has, own)));
}

/* How much of what the queue may have is kept for others. Where only the nodes are the bound, the seats that are kept
 * say it better; where it is the nodes less the guarantees of others, reservations on places in use would count
 * twice. */
static int64_t kept_of(const struct queue_share_test *t, const struct sched_queue *q, const struct sched_queue *below,
                       int dim)
{
    int64_t seated = t->kind == SHARE_ADMISSION ? 0 : q->seated.v[dim];

    if (is_bounded(t, q, dim))
        return amount_add(q->owed.v[dim], seated);
    return idle_promises(q, below, dim) > 0 ? amount_add(q->cleared.v[dim], seated) : 0;
}

static int64_t left_of(const struct queue_share_test *t, const struct sched_queue *q, const struct sched_queue *below,
                       int dim)
{
    int64_t most = most_of(q, below, dim);
    int64_t left;

    if (t->kind == SHARE_FAIR) /* another queue may be above its share, and guarantees must be kept all the same. Where
                                  as much goes as comes, a queue above both has no more than before. */
        most = MIN_OF(most, MAX_OF(q->fair.v[dim], q->out.v[dim] ? q->allocated.v[dim] + q->out.v[dim] : 0));
    left = most - q->allocated.v[dim] - q->going.v[dim];
    left -= kept_of(t, q, below, dim);
    if (t->kind == SHARE_ADMISSION)
        left -= q->admitted.v[dim];
    return left;
}

/* The queue on the way up that refuses and has least left in this resource, the lowest of several; NULL: none does.
 * If none has a bound of its own, it is the uppermost. */
static const struct sched_queue *refusing(const struct queue_share_test *t, const struct sched_queue *q, int dim,
                                          int64_t *ret_left)
{
    const struct sched_queue *worst = NULL;
    bool is_own = false;
    int64_t least = 0;

    for (const struct sched_queue *below = NULL; q; below = q, q = q->parent) {
        int64_t left = left_of(t, q, below, dim);
        /* Children inherit a limit: the queue that sets it is the one to name. The root stands for the cluster. */
        bool has_own = t->kind == SHARE_FAIR || (q->parent && q->limit.v[dim] < q->parent->limit.v[dim]);

        if (left >= t->ask->v[dim] || (is_own && (!has_own || left >= least)))
            continue;
        worst = q;
        is_own = has_own;
        least = left;
    }
    *ret_left = plus(least);
    return worst;
}

static bool passes(const struct sched_model *m, const struct queue_share_test *t, const struct sched_queue *q,
                   struct share_lack *ret)
{
    for (int dim = 0; dim < m->dims.n; dim++) {
        const struct sched_queue *no;
        int64_t left;

        if (t->ask->v[dim] <= 0)
            continue;
        no = refusing(t, q, dim, &left);
        if (!no)
            continue;
        if (ret)
            *ret = (struct share_lack){ no, dim, left };
        return false;
    }
    return true;
}

bool share_allows(const struct sched_model *m, const struct sched_queue *q, const struct amounts *ask,
                  enum share_test test, struct share_lack *ret)
{
    return passes(m, &(struct queue_share_test){ .ask = ask, .kind = test }, q, ret);
}

bool share_is_exceeded(const struct sched_model *m, const struct sched_queue *q, uint32_t dims)
{
    for (; q; q = q->parent)
        for (int dim = 0; dim < m->dims.n; dim++)
            if (dims & 1U << dim && q->allocated.v[dim] + q->going.v[dim] > q->limit.v[dim])
                return true;
    return false;
}

/* ---- which bound? ---- */

/* What is left of a bound for a queue; AMOUNT_UNLIMITED: it is none. */
static int64_t left_by(enum share_bound bound, const struct queue_share_test *t, const struct sched_queue *q,
                       const struct sched_queue *below, int dim)
{
    int64_t has = q->allocated.v[dim] + q->going.v[dim], most = AMOUNT_UNLIMITED;

    switch (bound) {
    case BOUND_CAPABILITY: /* where the cluster has no more than that, the nodes are the bound */
        most = q->capability.v[dim] < root_of(q)->limit.v[dim] ? q->capability.v[dim] : AMOUNT_UNLIMITED;
        break;
    case BOUND_GUARANTEE: /* a limit that is neither its own nor handed down was cut for others */
        if (q->parent && q->limit.v[dim] < MIN_OF(q->parent->limit.v[dim], q->capability.v[dim]))
            most = q->limit.v[dim];
        else if (idle_promises(q, below, dim) > 0)
            most = most_of(q, below, dim);
        break;
    case BOUND_CLUSTER:
        most = q->parent ? AMOUNT_UNLIMITED : q->limit.v[dim];
        break;
    case BOUND_FAIR:
        most = t->kind == SHARE_FAIR ? q->fair.v[dim] : AMOUNT_UNLIMITED;
        break;
    case BOUND_KEPT:
        return kept_of(t, q, below, dim) > 0 || (t->kind == SHARE_ADMISSION && is_bounded(t, q, dim))
                   ? left_of(t, q, below, dim)
                   : AMOUNT_UNLIMITED;
    }
    return most >= AMOUNT_UNLIMITED ? AMOUNT_UNLIMITED : most - has;
}

void share_left(const struct sched_model *m, const struct sched_queue *q, enum share_test test, bool is_admission,
                struct share_left *ret)
{
    struct queue_share_test t = { .kind = is_admission ? SHARE_ADMISSION : test };

    for (int dim = 0; dim < m->dims.n; dim++) {
        const struct sched_queue *below = NULL;
        int64_t any = INT64_MAX, own = INT64_MAX, fair = INT64_MAX;
        uint8_t up = 0;

        for (const struct sched_queue *at = q; at; below = at, at = at->parent, up++) {
            if (left_of(&t, at, below, dim) < any) {
                any = left_of(&t, at, below, dim);
                ret->any_up[dim] = up;
            }
            if (left_by(BOUND_FAIR, &t, at, below, dim) < fair) {
                fair = left_by(BOUND_FAIR, &t, at, below, dim);
                ret->fair_up[dim] = up;
            }
            own = MIN_OF(own, left_by(BOUND_CAPABILITY, &t, at, below, dim));
            own = MIN_OF(own, left_by(BOUND_GUARANTEE, &t, at, below, dim));
            if (is_admission && at->parent)
                own = MIN_OF(own, left_by(BOUND_KEPT, &t, at, below, dim));
        }
        ret->any.v[dim] = any;
        ret->own.v[dim] = own;
        ret->fair.v[dim] = fair;
        ret->cluster.v[dim] = left_by(BOUND_CLUSTER, &t, root_of(q), NULL, dim);
    }
}

static bool is_refused_by(enum share_bound bound, const struct sched_model *m, const struct queue_share_test *t,
                          const struct sched_queue *q, struct share_refusal *ret)
{
    for (int dim = 0; dim < m->dims.n; dim++) {
        const struct sched_queue *below = NULL;

        for (const struct sched_queue *at = q; t->ask->v[dim] > 0 && at; below = at, at = at->parent) {
            int64_t left = left_by(bound, t, at, below, dim);

            if (left >= t->ask->v[dim])
                continue;
            *ret = (struct share_refusal){ bound, at, dim, plus(left) };
            return true;
        }
    }
    return false;
}

void share_refusal(const struct sched_model *m, const struct sched_queue *q, const struct amounts *ask,
                   enum share_test test, struct share_refusal *ret)
{
    struct queue_share_test t = { .ask = ask, .kind = test };

    *ret = (struct share_refusal){ BOUND_CLUSTER, m->root, 0, 0 };
    for (enum share_bound bound = BOUND_CAPABILITY; bound <= BOUND_KEPT; bound++)
        if (is_refused_by(bound, m, &t, q, ret))
            return;
}

/* Is it above its share of something that helps, and does it keep its guarantee? */
static bool can_lose(const struct sched_queue *q, const struct amounts *lose, const struct amounts *need, int n)
{
    bool is_above = false;

    for (int dim = 0; dim < n; dim++) {
        int64_t has = q->allocated.v[dim];

        if (lose->v[dim] <= 0)
            continue;
        if (q->guarantee.v[dim] > 0 && has - lose->v[dim] < q->guarantee.v[dim])
            return false;
        is_above |= need->v[dim] > 0 && has > q->fair.v[dim];
    }
    return is_above;
}

/* How much of its share it has, of the resources in 'need', without what it loses; in 1/2^20. */
static int64_t share_without(const struct sched_model *m, const struct sched_queue *q, const struct amounts *lose,
                             const struct amounts *need)
{
    struct amounts has = { { 0 } };

    for (int dim = 0; dim < m->dims.n; dim++)
        if (need->v[dim] > 0)
            has.v[dim] = q->allocated.v[dim] - (lose ? lose->v[dim] : 0);
    return amounts_share(&has, &q->fair, m->dims.n);
}

bool share_spares(const struct sched_model *m, const struct sched_queue *q, const struct sched_queue *taker,
                  const struct amounts *lose, const struct amounts *need)
{
    const struct sched_queue *loser = q, *common;

    step_apart(&loser, &taker);
    if (loser == taker) /* itself, or one above the taker: that is not another queue */
        return false;
    for (common = loser->parent; q != common; q = q->parent)
        if (!q->is_reclaimable || !can_lose(q, lose, need, m->dims.n))
            return false;
    return share_without(m, loser, lose, need) >= share_without(m, taker, NULL, need);
}

int64_t share_of(const struct sched_model *m, const struct sched_queue *q)
{
    return amounts_share(&q->allocated, &q->fair, m->dims.n);
}

int share_cmp(const struct sched_model *m, const struct sched_queue *a, const struct sched_queue *b)
{
    int da = depth_of(a), db = depth_of(b);
    int64_t sa, sb;

    step_apart(&a, &b);
    if (a == b)
        return da - db;
    if (a->priority != b->priority)
        return a->priority > b->priority ? -1 : 1;
    sa = share_of(m, a);
    sb = share_of(m, b);
    if (sa != sb)
        return sa < sb ? -1 : 1;
    if (a->created_ms != b->created_ms)
        return a->created_ms < b->created_ms ? -1 : 1;
    return str_cmp(a->name, b->name);
}
