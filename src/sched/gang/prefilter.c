/* prefilter.c - would the gang find places? Answered by counting, without a trial
 *
 * Pods that are all alike, and whose places depend on nothing but the room of each node, fill the nodes in any order:
 * there are as many places as the nodes have room for together. A trial seats them one by one, and asks the queue
 * before each: so the first pod that is refused, and by whom, is known from two numbers, how many the nodes take and
 * how many the queue.
 */
#include "sched/gang/gang.h"

#include "base/util.h"
#include "sched/gang/gang_class.h"
#include "sched/queue/share.h"

struct filter {
    struct sched_model *m;
    struct sched_group *g;
    const struct gang_options *opt;
    const struct gang_class *c;
    int64_t places; /* on the nodes; where the gang must be in one domain: in the one that has most … */
    bool is_exact;  /* … or fewer */
    bool is_hard;   /* no other domains will do */
};

/* ---- nodes ---- */

static void prefilter_count(struct filter *f, struct fit_range range)
{
    struct fit_question q = { f->c->pod, f->g, f->opt->room };
    struct fit_count places = fit_places(f->m, &q, range, f->opt->is_unkept);

    f->places = MAX_OF(f->places, places.n);
    f->is_exact &= places.is_exact;
}

/* False: there is none. */
static bool count_domains(struct filter *f, struct arena *a)
{
    struct domain_list all;

    topology_candidates(f->m, a, f->g->spec.topology, NULL, &all);
    f->is_hard = all.is_hard;
    VEC_FOREACH(d, &all.list)
        prefilter_count(f, (*d)->range);
    return all.list.n > 0;
}

/* So many pods find places at most, however what is free is spread over the nodes. */
static int64_t places_at_most(const struct filter *f)
{
    const struct pod_class *pod = f->c->pod;
    int64_t most = f->c->lacks;

    if (f->opt->room != FIT_NOW)
        return most;
    for (uint32_t left = pod->ask_dims; left; left &= left - 1) {
        int d = __builtin_ctz(left);
        int64_t free = f->m->idle.v[d]; /* on all nodes */

        if (!f->opt->is_unkept)
            free = MIN_OF(free, amount_add(f->m->open.v[d], f->m->lifted_sum.v[d]));
        most = MIN_OF(most, free / pod->ask.v[d]);
    }
    return most;
}

/* ---- the queue ---- */

static struct amounts ask_of(const struct filter *f, int64_t n)
{
    struct amounts ask = { { 0 } };

    amounts_add_times(&ask, &f->c->pod->ask, n, f->m->dims.n);
    return ask;
}

static enum share_test test_of(const struct filter *f)
{
    return f->opt->limit == GANG_FAIR ? SHARE_FAIR : SHARE_LIMIT;
}

static bool queue_takes(const struct filter *f, int64_t n)
{
    struct amounts ask;

    if (f->opt->limit == GANG_NO_LIMIT)
        return true;
    ask = ask_of(f, n);
    return share_allows(f->m, f->g->queue, &ask, test_of(f), NULL);
}

/* The first pod that the queue refuses, of 'n' that it does not take together. */
static int64_t first_refused(const struct filter *f, int64_t n)
{
    int64_t taken = 0;

    while (n - taken > 1) {
        int64_t middle = taken + (n - taken) / 2;

        if (queue_takes(f, middle))
            taken = middle;
        else
            n = middle;
    }
    return n;
}

/* ---- why not ---- */

/* The first resource of which there is too little in sum. */
static int lacking_with(const struct filter *f, int64_t seats)
{
    struct amounts free = f->m->total;

    amounts_sub(&free, &f->m->used, f->m->dims.n);
    amounts_add_times(&free, &f->c->pod->ask, -seats, f->m->dims.n);
    return amounts_lacking(&free, &f->c->needs, f->m->dims.n);
}

/* What can be said without looking at each node: gang_complete() adds the rest. As a trial says it, with 'seats'
 * taken. */
static void prefilter_say_room(const struct filter *f, int64_t seats, struct why *ret)
{
    *ret = (struct why){ .kind = f->is_hard ? WHY_TOPOLOGY : WHY_NO_ROOM,
                         .dim = lacking_with(f, seats),
                         .have = seats,
                         .need = f->c->lacks,
                         .needs = f->c->needs,
                         .n_nodes = f->m->n_order,
                         .is_brief = true };
}

/* The queue refuses pod number 'n'. */
static void prefilter_say_limit(const struct filter *f, int64_t n, struct why *ret)
{
    struct amounts ask = ask_of(f, n);
    struct share_refusal no;

    share_refusal(f->m, f->g->queue, &ask, test_of(f), &no);
    if (no.bound == BOUND_CLUSTER) {
        prefilter_say_room(f, n - 1, ret);
        return;
    }
    *ret = (struct why){ .dim = -1 };
    gang_say_refusal(&no, ret);
    ret->need = MAX_OF(f->c->needs.v[no.dim], f->c->pod->ask.v[no.dim]);
}

/* It is refused: by whom? */
static void prefilter_say(const struct filter *f, struct why *ret)
{
    int64_t turn = MIN_OF(f->places + 1, f->c->lacks); /* of the last that can have one */

    if (queue_takes(f, turn))
        prefilter_say_room(f, f->places, ret);
    else
        prefilter_say_limit(f, first_refused(f, turn), ret);
}

/* Nothing but the room of each node decides about its places: see fit_places(). */
static bool is_plain(const struct filter *f)
{
    const struct pod_class *pod = f->c->pod;

    return !json_is(f->g->spec.topology, JSON_OBJECT) && !f->g->queue->affinity && !pod->is_coupled &&
           pod->ports.n == 0 && pod->claims.n == 0;
}

/* There are places for 'most' at most, which is too few. Is the refusal the same, however many there are? Then they need
 * not be counted: 'have' is left to gang_complete(). */
static bool say_short(const struct filter *f, int64_t most, struct why *ret)
{
    int64_t first = queue_takes(f, f->c->lacks) ? INT64_MAX : first_refused(f, f->c->lacks);

    if (!is_plain(f) || lacking_with(f, 0) != lacking_with(f, most))
        return false;
    if (first <= most + 1) { /* the queue may refuse one before the nodes do */
        prefilter_say_limit(f, first, ret);
        if (ret->kind != WHY_NO_ROOM)
            return first == 1;
    }
    prefilter_say_room(f, 0, ret);
    return true;
}

/* ---- the answer ---- */

enum gang_answer gang_prefilter(struct sched_model *m, struct sched_group *g, const struct gang_options *opt,
                                struct arena *a, struct why *ret_why)
{
    struct filter f = { .m = m, .g = g, .opt = opt, .c = gang_facts(g), .is_exact = true };
    bool can_count = f.c && f.c->pod && (opt->is_virtual || f.c->has_pods) && !opt->has_extras;
    int64_t most;

    if (!can_count)
        return GANG_UNKNOWN;
    most = places_at_most(&f);
    if (most < f.c->lacks && (!ret_why || say_short(&f, most, ret_why)))
        return GANG_REFUSED;
    if (!json_is(g->spec.topology, JSON_OBJECT))
        prefilter_count(&f, fit_all(m));
    else if (!count_domains(&f, a))
        return GANG_UNKNOWN;
    if (f.places >= f.c->lacks && queue_takes(&f, f.c->lacks))
        return f.is_exact ? GANG_FITS : GANG_UNKNOWN;
    if (!ret_why)
        return GANG_REFUSED;
    if (!f.is_exact)
        return GANG_UNKNOWN;
    prefilter_say(&f, ret_why);
    return GANG_REFUSED;
}
