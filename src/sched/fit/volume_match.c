/* volume_match.c - volumes that are there already, for claims that wait for the first consumer
 *
 * No provisioner makes local disks: an administrator has made a PersistentVolume for each, which names its node. A
 * claim gets the smallest that is large enough, has its access modes, mode, labels and class, and can be reached from
 * the node the pod goes to; of equals the first by name. A volume whose claimRef names the claim is the claim's, and
 * no other will do.
 *
 * A volume is taken when a pod sits down, in a trial as well, and given back when the last pod of the claim gets up: so
 * two pods never count on one volume, and a claim that pods share keeps them together. The claim's volumeName, or a
 * claimRef that names another claim, ends that.
 *
 * Free volumes stand on shelves by class and host, so that a node looks at its own: a job of 1,000 pods with a disk
 * each on 1,000 nodes is 1,000 classes of pods, and each of them asks every node.
 */
#include "sched/fit/volume_internal.h"

#include "api/selector.h"
#include "base/util.h"
#include "sched/fit/fit.h"

struct volume_shelf {
    struct str key;      /* "class/host"; behind this struct */
    struct list volumes; /* struct fit_volume.in_order, the smallest first */
};

/* ---- shelves ---- */

static int volume_cmp(const struct fit_volume *a, const struct fit_volume *b)
{
    if (a->has.bytes_nano != b->has.bytes_nano)
        return a->has.bytes_nano < b->has.bytes_nano ? -1 : 1;
    return str_cmp(a->name, b->name);
}

static struct str shelf_key(struct arena *a, struct str class, struct str host)
{
    return arena_fmt(a, "%.*s/%.*s", STR_ARG(class), STR_ARG(host));
}

static struct volume_shelf *shelf_need(struct sched_model *m, struct str class, struct str host)
{
    autoarena a = { 0 };
    struct str key = shelf_key(&a, class, host);
    struct volume_shelf *shelf = map_get(&m->volume_shelves, key);

    if (shelf)
        return shelf;
    shelf = xcalloc(1, sizeof(*shelf) + key.n);
    memcpy(shelf + 1, key.p, key.n);
    shelf->key = (struct str){ (char *)(shelf + 1), key.n };
    list_init(&shelf->volumes);
    map_put(&m->volume_shelves, shelf->key, shelf);
    return shelf;
}

/* Behind those that are smaller. */
static void put_in_order(struct list *l, struct fit_volume *v)
{
    LIST_FOREACH(struct fit_volume, other, l, in_order)
        if (volume_cmp(v, other) < 0) {
            list_insert_before(&other->in_order, &v->in_order);
            return;
        }
    list_push(l, &v->in_order);
}

void volume_shelve(struct sched_model *m, struct fit_volume *v)
{
    if (v->claim) {
        put_in_order(&v->claim->named_by, v);
    } else if (v->is_available) {
        v->shelf = shelf_need(m, v->has.class, v->host);
        put_in_order(&v->shelf->volumes, v);
    }
}

void volume_unshelve(struct sched_model *m, struct fit_volume *v)
{
    struct volume_claim *c = v->claim;

    list_remove(&v->in_order);
    if (v->shelf && list_is_empty(&v->shelf->volumes)) {
        map_remove(&m->volume_shelves, v->shelf->key);
        free(v->shelf);
    }
    v->shelf = NULL;
    v->claim = NULL;
    if (c)
        volume_claim_release(m, c);
}

void volume_shelves_done(struct sched_model *m)
{
    MAP_FOREACH(struct volume_shelf *, s, &m->volume_shelves)
        free(s);
    map_done(&m->volume_shelves);
}

/* ---- which one ---- */

/* The choices made so far for the claims of one pod. */
struct choice {
    struct volume_claim *claim;
    struct fit_volume *volume; /* NULL: one is made for it */
};
struct choices {
    VEC(struct choice) list;
    struct arena arena;
};

static bool is_chosen(const struct choices *made, const struct fit_volume *v)
{
    if (made)
        VEC_FOREACH(c, &made->list)
            if (c->volume == v)
                return true;
    return false;
}

static bool is_large_enough(const struct volume_claim *c, const struct fit_volume *v)
{
    return v->has.bytes_nano >= c->want.bytes_nano && v->has.is_block == c->want.is_block && !v->is_going;
}

static bool suits(const struct volume_claim *c, const struct fit_volume *v)
{
    return is_large_enough(c, v) && (c->want.modes & ~v->has.modes) == 0 && str_eq(c->want.class, v->has.class) &&
           str_eq(c->want.attributes, v->has.attributes) && !c->matches_nothing &&
           (!c->selector || selector_matches(c->selector, v->labels));
}

/* The one whose claimRef names it. */
static struct fit_volume *named_volume(const struct volume_claim *c)
{
    LIST_FOREACH(struct fit_volume, v, &c->named_by, in_order)
        if ((str_empty(v->claim_uid) || str_eq(v->claim_uid, c->uid)) && is_large_enough(c, v))
            return v;
    return NULL;
}

/* 'made' NULL: also those that are taken. */
static struct fit_volume *smallest_on(const struct sched_model *m, const struct volume_claim *c, struct str host,
                                      const struct sched_node *n, const struct choices *made)
{
    autoarena a = { 0 };
    const struct volume_shelf *shelf = map_get(&m->volume_shelves, shelf_key(&a, c->want.class, host));

    if (!shelf)
        return NULL;
    LIST_FOREACH(struct fit_volume, v, &shelf->volumes, in_order)
        if (suits(c, v) && (!made || (!v->taken_by && !is_chosen(made, v))) && volume_reaches(v, n))
            return v;
    return NULL;
}

static struct fit_volume *match(const struct sched_model *m, const struct volume_claim *c, const struct sched_node *n,
                                const struct choices *made)
{
    struct fit_volume *own = c->taken && made ? c->taken : named_volume(c), *far;
    struct str host = json_text(json_get(n->labels, VOLUME_HOST_KEY), STR_NULL);

    if (own)
        return volume_reaches(own, n) ? own : NULL;
    own = str_empty(host) ? NULL : smallest_on(m, c, host, n, made);
    far = smallest_on(m, c, STR_NULL, n, made);
    return !own || (far && volume_cmp(far, own) < 0) ? far : own;
}

bool volume_is_near(const struct sched_model *m, const struct volume_claim *c, const struct sched_node *n)
{
    return match(m, c, n, NULL);
}

/* ---- all claims of a pod ---- */

static int match_by_size(const void *x, const void *y)
{
    const struct choice *a = x, *b = y;

    if (a->claim->want.bytes_nano != b->claim->want.bytes_nano)
        return a->claim->want.bytes_nano < b->claim->want.bytes_nano ? -1 : 1;
    return str_cmp(a->claim->key, b->claim->key);
}

/* Claims without a volume, the smallest first: then none takes the volume that only another could use for its size. */
static void match_collect(const struct sched_model *m, const struct pod_class *c, struct choices *ret)
{
    VEC_FOREACH(want, &c->claims) {
        struct volume_claim *claim = map_get(&m->claims, volume_claim_key(&ret->arena, c->namespace, want->name));
        bool is_new = claim && volume_waiting_class(m, claim) && str_empty(claim->node);

        VEC_FOREACH(have, &ret->list)
            is_new = is_new && have->claim != claim;
        if (is_new)
            *vec_push(&ret->arena, &ret->list) = (struct choice){ claim, NULL };
    }
    if (ret->list.n > 1)
        qsort(ret->list.v, ret->list.n, sizeof(*ret->list.v), match_by_size);
}

/* A volume for each, as long as there are; false: not for all. */
static bool match_choose(const struct sched_model *m, const struct pod_class *c, const struct sched_node *n,
                         struct choices *ret)
{
    bool is_whole = true;

    if (!m->config.waits_for_volumes)
        return true;
    match_collect(m, c, ret);
    VEC_FOREACH(choice, &ret->list) {
        choice->volume = match(m, choice->claim, n, ret);
        is_whole = is_whole && (choice->volume || class_has_provisioner(volume_waiting_class(m, choice->claim)));
    }
    return is_whole;
}

bool volume_is_free(const struct sched_model *m, const struct pod_class *c, const struct sched_node *n)
{
    struct choices choices = { 0 };
    bool is_free = match_choose(m, c, n, &choices);

    arena_done(&choices.arena);
    return is_free;
}

/* ---- taking ---- */

void volume_untake(struct sched_model *m, struct volume_claim *c)
{
    if (!c->taken)
        return;
    c->taken->taken_by = NULL;
    c->taken = NULL;
    fit_volume_taken(m);
}

static void match_keep(struct sched_model *m, struct volume_claim *c, struct fit_volume *v)
{
    if (c->taken == v || v->taken_by)
        return;
    volume_untake(m, c);
    c->taken = v;
    v->taken_by = c;
    fit_volume_taken(m);
}

void volume_match_take(struct sched_model *m, struct sched_node *n, const struct pod_class *c)
{
    struct choices choices = { 0 };

    VEC_FOREACH(want, &c->claims)
        volume_claim_need(m, volume_claim_key(&choices.arena, c->namespace, want->name))->uses++;
    (void)match_choose(m, c, n, &choices); /* a pod that is there already sits where it sits */
    VEC_FOREACH(choice, &choices.list)
        if (choice->volume)
            match_keep(m, choice->claim, choice->volume);
    arena_done(&choices.arena);
}

void volume_match_give(struct sched_model *m, const struct pod_class *c)
{
    autoarena a = { 0 };

    VEC_FOREACH(want, &c->claims) {
        struct volume_claim *claim = map_get(&m->claims, volume_claim_key(&a, c->namespace, want->name));

        if (!claim || !claim->uses || --claim->uses)
            continue;
        volume_untake(m, claim);
        volume_claim_release(m, claim);
    }
}

void volume_taken_check(struct sched_model *m, struct fit_volume *v)
{
    struct volume_claim *c = v->taken_by;

    if (c && (v->claim ? v != named_volume(c) : !v->is_available || !suits(c, v)))
        volume_untake(m, c);
    c = v->claim;
    if (c && c->uses && volume_waiting_class(m, c) && v == named_volume(c)) /* whatever was meant for it */
        match_keep(m, c, v);
}

enum volume_way volume_way(const struct sched_model *m, const struct pod_class *c, const struct class_claim *want,
                           struct str *ret_volume)
{
    autoarena a = { 0 };
    const struct volume_claim *claim = map_get(&m->claims, volume_claim_key(&a, c->namespace, want->name));
    const struct storage_class *class = claim ? volume_waiting_class(m, claim) : NULL;

    *ret_volume = STR_NULL;
    if (!m->config.waits_for_volumes || !claim || claim->volume.n)
        return VOLUME_IS_THERE;
    if (!class || !claim->taken)
        return class && class_has_provisioner(class) ? VOLUME_IS_MADE : VOLUME_IS_LOST;
    *ret_volume = claim->taken->name;
    if (claim->taken->claim != claim)
        return VOLUME_IS_TAKEN;
    return claim->taken->claim_uid.n ? VOLUME_KNOWS_CLAIM : VOLUME_IS_RESERVED;
}
