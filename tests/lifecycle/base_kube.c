/* base_kube.c - the small cluster on a real API server: a namespace of it
 *
 * A store knows at once what was written; here it is known when the watches have told of it. Every write goes through
 * one of our doors, so the answers say what each watch has yet to tell: all is quiet when nothing is on its way and
 * every watch has told of every write.
 *
 * What tests look at comes from a door of the harness itself, which keeps the objects it was told of (the mirror).
 */
#include "harness_internal.h"

#include "api/meta.h"
#include "base/log.h"
#include "kube/cluster.h"

#include <poll.h>

enum { PATIENCE_MS = 20000, TYPES_MAX = 64 };

struct written { /* an answer: the watches of the type tell of this sooner or later */
    const struct resource_type *type;
    struct str uid, name;
    uint64_t rev;
    bool is_gone;
    bool is_shown; /* controllers see it: they watch the pods of Jobs, and no Secrets */
};

struct told { /* the last that a watch told of an object */
    uint64_t rev;
    bool is_gone;
};

struct flight {
    enum op_kind kind;
    bool is_write;
    bool is_final; /* a delete without grace */
    const struct resource_type *type;
    struct str uid, name;
};

struct kdoor {
    struct cluster cluster;
    struct cluster *inner;
    struct h *h;
    bool is_fenced; /* the harness turns its wheels, and waits for it */
    unsigned n_flying;
    struct map_u64 flights; /* struct flight by token */
    struct map told;        /* struct told by uid */
    struct type_state {
        bool is_wanted, is_synced;
        size_t from; /* what was written before the list is in it */
    } types[TYPES_MAX];
    struct object *lent;
};

struct ground {
    struct arena arena;
    struct kube_config config;
    struct kube_view views[TYPES_MAX], full_views[TYPES_MAX];
    size_t n_views;
    VEC(struct kdoor *) doors;
    struct kdoor *eyes;
    struct map mirror;      /* struct object by "plural/name" */
    struct map born, dying; /* text of the time by uid */
    VEC(struct written) written;
    size_t n_known;           /* of them, from the first on: told by all watches that are waited for */
    VEC(const char *) litter; /* objects without namespace that the test made */
};

static struct ground *ground_of(struct h *h)
{
    return h->ground;
}

static struct type_state *state_of(struct kdoor *d, const struct resource_type *type)
{
    return &d->types[type - resource_types];
}

/* ---- time ---- */

static struct str first_seen(struct h *h, struct map *times, struct str uid, int64_t plus_s)
{
    struct ground *g = ground_of(h);
    char *text = map_get(times, uid);
    autobuf made = { 0 };

    if (!text) {
        clock_print(&made, clock_now_ms(&h->clock.clock) + plus_s * 1000);
        text = (char *)arena_str(&g->arena, buf_view(&made)).p;
        map_put(times, arena_str(&g->arena, uid), text);
    }
    return str_of(text);
}

/* The same object in the time of the test. */
static struct object *warp(struct h *h, const struct object *o)
{
    struct ground *g = ground_of(h);
    autoarena a = { 0 };
    struct json *tree = json_copy(&a, o->root), *meta = json_get(tree, "metadata");

    if (json_get(meta, "creationTimestamp"))
        json_set(meta, "creationTimestamp", json_str(&a, first_seen(h, &g->born, o->uid, 0)));
    if (json_get(meta, "deletionTimestamp"))
        json_set(
            meta, "deletionTimestamp",
            json_str(&a, first_seen(h, &g->dying, o->uid, json_i64(json_get(meta, "deletionGracePeriodSeconds"), 0))));
    return object_make(o->type, tree, o->rev);
}

/* ---- a door ---- */

/* A write that leaves nothing to wait for takes the object away, and no watch tells of it as it was written. */
static bool takes_away(const struct flight *f, const struct object *o)
{
    const struct json *meta = json_get(o->root, "metadata");

    if (!json_get(meta, "deletionTimestamp"))
        return f->kind == OP_DELETE;
    if (json_count(json_get(meta, "finalizers")))
        return false;
    return f->is_final || (f->kind == OP_UPDATE && json_i64(json_get(meta, "deletionGracePeriodSeconds"), 0) == 0);
}

static void note_written(struct kdoor *d, const struct flight *f, const struct object *o)
{
    struct ground *g = ground_of(d->h);
    struct written w = { .type = f->type, .uid = f->uid, .name = f->name };

    if (o)
        w.uid = arena_str(&g->arena, o->uid);
    w.rev = o ? o->rev : 0;
    w.is_shown = !h_is_kind(f->type, "Secret") &&
                 (!h_is_kind(f->type, "Pod") || !o || object_label(o->root, KUBE_PODS_OF_JOBS).n);
    w.is_gone = o ? takes_away(f, o) : f->kind == OP_DELETE;
    if (str_empty(w.uid) || (!o && !w.is_gone)) /* a binding: what it did shows with the next write */
        return;
    *vec_push(&g->arena, &g->written) = w;
}

static void note_told(struct kdoor *d, const struct object *o, bool is_gone)
{
    struct ground *g = ground_of(d->h);
    struct told *t = map_get(&d->told, o->uid);

    if (!t) {
        t = arena_new(&g->arena, struct told);
        map_put(&d->told, arena_str(&g->arena, o->uid), t);
    }
    t->rev = MAX_OF(t->rev, o->rev);
    t->is_gone |= is_gone;
}

static bool kdoor_next(struct cluster *c, struct cluster_event *ret)
{
    struct kdoor *d = (struct kdoor *)c;
    struct flight *f;

    if (!cluster_next(d->inner, ret))
        return false;
    if (ret->object) {
        object_unref(d->lent);
        ret->object = d->lent = warp(d->h, ret->object);
    }
    if (ret->kind == CLUSTER_RESULT) {
        d->n_flying--;
        f = map_u64_remove(&d->flights, ret->token);
        if (f && f->is_write && ret->err.code == ERR_OK)
            note_written(d, f, ret->object);
    } else if (ret->kind == CLUSTER_PUT || ret->kind == CLUSTER_GONE) {
        note_told(d, ret->object, ret->kind == CLUSTER_GONE);
    } else if (ret->kind == CLUSTER_SYNCED) {
        state_of(d, ret->type)->is_synced = true;
        state_of(d, ret->type)->from = ground_of(d->h)->written.n;
    }
    return true;
}

static void kdoor_want(struct cluster *c, const struct resource_type *type)
{
    struct kdoor *d = (struct kdoor *)c;

    state_of(d, type)->is_wanted = true;
    cluster_want(d->inner, type);
}

/* What the server gave is not ours to send back. */
static struct json *without_times(struct arena *a, const struct json *body)
{
    struct json *tree = json_copy(a, body), *meta = json_get(tree, "metadata");

    json_remove(meta, "creationTimestamp");
    json_remove(meta, "deletionTimestamp");
    return tree;
}

static uint64_t remember(struct kdoor *d, uint64_t token, const struct op *op)
{
    struct ground *g = ground_of(d->h);
    struct flight *f = arena_new(&g->arena, struct flight);

    d->n_flying++;
    if (op) {
        *f = (struct flight){ .kind = op->kind, .is_write = true, .type = op->type };
        f->is_final = op->kind == OP_DELETE && op->grace_s == 0 && h_is_kind(op->type, "Pod");
        f->uid = arena_str(&g->arena, op->uid);
        f->name = arena_str(&g->arena, op->name);
    }
    map_u64_put(&d->flights, token, f);
    return token;
}

static uint64_t kdoor_write(struct cluster *c, const struct op *op)
{
    struct kdoor *d = (struct kdoor *)c;
    autoarena a = { 0 };
    struct op sent = *op;

    if (op->body && (op->kind == OP_UPDATE || op->kind == OP_UPDATE_STATUS))
        sent.body = without_times(&a, op->body);
    return remember(d, cluster_write(d->inner, &sent), op);
}

static uint64_t kdoor_read(struct cluster *c, const struct resource_type *type, struct str namespace, struct str name)
{
    struct kdoor *d = (struct kdoor *)c;

    return remember(d, cluster_read(d->inner, type, namespace, name), NULL);
}

static int64_t kdoor_now_ms(struct cluster *c)
{
    return clock_now_ms(&((struct kdoor *)c)->h->clock.clock);
}

static void kdoor_free(struct cluster *c)
{
    struct kdoor *d = (struct kdoor *)c;

    cluster_free(d->inner);
    object_unref(d->lent);
    map_u64_done(&d->flights);
    map_done(&d->told);
    free(d);
}

static const struct cluster_class kdoor_class = {
    .free = kdoor_free,
    .want = kdoor_want,
    .write = kdoor_write,
    .read = kdoor_read,
    .next = kdoor_next,
    .now_ms = kdoor_now_ms,
};

static struct kdoor *kdoor_new(struct h *h, const struct kube_view *views)
{
    struct ground *g = ground_of(h);
    struct kdoor *d = xcalloc(1, sizeof(*d));
    struct cluster_kube_options opt = { .config = &g->config, .views = views, .n_views = g->n_views };
    struct err e = { 0 };

    d->cluster.class = &kdoor_class;
    d->h = h;
    map_u64_init(&d->flights, 1);
    map_init(&d->told, 1);
    if (cluster_kube_new(&opt, &d->inner, &e) < 0)
        fail_msg("%s", e.text);
    *vec_push(&g->arena, &g->doors) = d;
    return d;
}

static struct cluster *door(struct h *h)
{
    struct kdoor *d = kdoor_new(h, ground_of(h)->views);

    d->is_fenced = true;
    return &d->cluster;
}

/* ---- quiet ---- */

static bool has_told(struct kdoor *d, size_t i)
{
    const struct written *w = &ground_of(d->h)->written.v[i];
    const struct type_state *s = state_of(d, w->type);
    const struct told *t;

    if (!s->is_wanted || (!w->is_shown && d != ground_of(d->h)->eyes))
        return true;
    if (!s->is_synced)
        return false;
    if (i < s->from)
        return true;
    t = map_get(&d->told, w->uid);
    return t && (t->is_gone || (!w->is_gone && t->rev >= w->rev));
}

static bool is_listed(const struct kdoor *d)
{
    for (size_t i = 0; i < TYPES_MAX; i++)
        if (d->types[i].is_wanted && !d->types[i].is_synced)
            return false;
    return true;
}

static bool knows_all(struct kdoor *d, size_t from)
{
    if (d->n_flying || !is_listed(d))
        return false;
    for (size_t i = from; i < ground_of(d->h)->written.n; i++)
        if (!has_told(d, i))
            return false;
    return true;
}

/* By the harness. Others have news for a test that looks later: to wait for those would be not to wait. */
static bool is_turned(const struct ground *g, const struct kdoor *d)
{
    return d->is_fenced || d == g->eyes;
}

static void poll_door(struct kdoor *d, struct h *h)
{
    struct ground *g = ground_of(h);
    struct pollfd fds[8];
    struct err e = { 0 };
    nfds_t n = 0;

    for (size_t i = 0; i < g->doors.n && n < ARRAY_LEN(fds); i++)
        if (d ? g->doors.v[i] == d : is_turned(g, g->doors.v[i]))
            fds[n++] = (struct pollfd){ cluster_kube_fd(g->doors.v[i]->inner), POLLIN, 0 };
    if (poll(fds, n, PATIENCE_MS) > 0)
        return;
    for (size_t i = 0; i < g->doors.n; i++)
        (void)cluster_kube_trouble(g->doors.v[i]->inner, &e);
    for (size_t k = g->n_known; k < g->written.n; k++)
        for (size_t i = 0; i < g->doors.n; i++)
            if (!has_told(g->doors.v[i], k))
                print_error("not told: %s %.*s rev %llu%s\n", g->written.v[k].type->kind, STR_ARG(g->written.v[k].name),
                            (unsigned long long)g->written.v[k].rev, g->written.v[k].is_gone ? " (gone)" : "");
    fail_msg("nothing happens for a minute, and it is not over; trouble: %s", e.text);
}

/* ---- the mirror ---- */

static struct str mirror_key(struct arena *a, const struct resource_type *type, struct str name)
{
    return arena_fmt(a, "%s.%s/%.*s", type->plural, type->group, STR_ARG(name));
}

static void mirror_take(struct ground *g, const struct cluster_event *ev)
{
    struct str key = mirror_key(&g->arena, ev->type, ev->object->name);
    struct object *old = map_get(&g->mirror, key);

    if (ev->kind == CLUSTER_PUT && (!old || old->rev < ev->object->rev)) {
        map_put(&g->mirror, key, object_ref(ev->object));
        object_unref(old);
    } else if (ev->kind == CLUSTER_GONE && old && str_eq(old->uid, ev->object->uid)) {
        map_remove(&g->mirror, key);
        object_unref(old);
    }
}

static bool look(struct h *h, struct cluster_event *ret)
{
    struct ground *g = ground_of(h);

    if (!cluster_next(&g->eyes->cluster, ret))
        return false;
    if (ret->kind == CLUSTER_PUT || ret->kind == CLUSTER_GONE)
        mirror_take(g, ret);
    return true;
}

/* Until the mirror shows all that was written. */
static void look_at_all(struct h *h)
{
    struct ground *g = ground_of(h);
    struct cluster_event ev;

    for (;;) {
        while (look(h, &ev))
            ;
        if (knows_all(g->eyes, g->n_known))
            return;
        poll_door(g->eyes, h);
    }
}

static void need_type(struct h *h, const struct resource_type *type)
{
    struct kdoor *eyes = ground_of(h)->eyes;

    if (!state_of(eyes, type)->is_wanted)
        cluster_want(&eyes->cluster, type);
    look_at_all(h);
}

static const struct object *get(struct h *h, const struct resource_type *type, struct str name)
{
    struct ground *g = ground_of(h);

    need_type(h, type);
    return map_get(&g->mirror, mirror_key(&g->arena, type, name));
}

static int by_name(const void *a, const void *b)
{
    return str_cmp((*(const struct object *const *)a)->name, (*(const struct object *const *)b)->name);
}

static void list(struct h *h, const struct resource_type *type, void (*each)(void *ctx, const struct object *o),
                 void *ctx)
{
    VEC(const struct object *) all = { 0 };
    autoarena a = { 0 };

    need_type(h, type);
    MAP_FOREACH(const struct object *, o, &ground_of(h)->mirror)
        if (o->type == type)
            *vec_push(&a, &all) = o;
    if (all.n)
        qsort(all.v, all.n, sizeof(*all.v), by_name);
    for (size_t i = 0; i < all.n; i++)
        each(ctx, all.v[i]);
}

static int apply(struct h *h, const struct op *op, struct object **ret, struct err *e)
{
    struct ground *g = ground_of(h);
    struct cluster_event ev;
    const struct object *known;
    struct op sent = *op;
    uint64_t token;

    if (op->kind == OP_DELETE && str_empty(op->uid) && (known = get(h, op->type, op->name)))
        sent.uid = known->uid; /* else nobody would know what is gone */
    token = cluster_write(&g->eyes->cluster, &sent);
    for (;;) {
        while (!look(h, &ev))
            poll_door(g->eyes, h);
        if (ev.kind == CLUSTER_RESULT && ev.token == token)
            break;
    }
    *e = ev.err;
    if (ev.err.code != ERR_OK)
        return -1;
    if (op->kind == OP_CREATE && op->type->scope == SCOPE_CLUSTER && ev.object && !h_is_kind(op->type, "Namespace"))
        *vec_push(&g->arena, &g->litter) =
            arena_fmt(&g->arena, "%s.%s/%.*s", op->type->plural, op->type->group, STR_ARG(ev.object->name)).p;
    if (ret)
        *ret = object_ref(ev.object);
    if (op->kind == OP_BIND) { /* its answer does not show the pod */
        token = cluster_read(&g->eyes->cluster, op->type, op->namespace, op->name);
        do
            while (!look(h, &ev))
                poll_door(g->eyes, h);
        while (ev.kind != CLUSTER_RESULT || ev.token != token);
        if (ev.object)
            note_written(g->eyes, &(struct flight){ .kind = OP_UPDATE, .type = op->type, .name = op->name }, ev.object);
    }
    look_at_all(h);
    return 0;
}

static bool wait(struct h *h)
{
    struct ground *g = ground_of(h);
    struct cluster_event ev;
    bool is_quiet = true;

    while (look(h, &ev))
        ;
    for (size_t i = 0; i < g->doors.n; i++)
        is_quiet &= !g->doors.v[i]->is_fenced || knows_all(g->doors.v[i], g->n_known);
    is_quiet &= knows_all(g->eyes, g->n_known);
    if (is_quiet) {
        g->n_known = g->written.n;
        return false;
    }
    poll_door(NULL, h);
    return true;
}

static bool wait_for(struct h *h, struct cluster *c)
{
    struct kdoor *d = (struct kdoor *)c;

    d->is_fenced = false; /* whoever looks turns the wheels */
    if (knows_all(d, 0))
        return false;
    poll_door(d, h);
    return true;
}

/* What is on its way has happened when it is shut. */
static void shut(struct h *h, struct cluster *c)
{
    struct ground *g = ground_of(h);
    struct kdoor *d = (struct kdoor *)c;
    struct cluster_event ev;
    size_t n = 0;

    while (d->n_flying)
        if (!cluster_next(c, &ev))
            poll_door(d, h);
    for (size_t i = 0; i < g->doors.n; i++)
        if (g->doors.v[i] != d)
            g->doors.v[n++] = g->doors.v[i];
    g->doors.n = n;
    cluster_free(c);
}

/* ---- opening and closing ---- */

static void make_views(struct ground *g, struct str namespace)
{
    if (getenv("LIFECYCLE_DEBUG"))
        (void)log_setup((struct log_config){ .fd = STDERR_FILENO, .level = LOG_LEVEL_DEBUG });
    assert_true(n_resource_types + n_foreign_types <= TYPES_MAX);
    for (size_t i = 0; i < n_resource_types; i++) {
        struct kube_view view = { .type = &resource_types[i] };

        if (view.type->scope == SCOPE_NAMESPACED)
            view.namespace = namespace;
        g->full_views[g->n_views] = view;
        view.is_unlisted = h_is_kind(view.type, "Secret");
        if (h_is_kind(view.type, "Pod")) {
            view.mask = kube_pod_fields;
            view.labels = STR(KUBE_PODS_OF_JOBS);
        }
        g->views[g->n_views++] = view;
    }
}

static void open_kube(struct h *h)
{
    static unsigned number;
    struct ground *g = h->ground = xcalloc(1, sizeof(*g));
    struct kube_config_options where = { .env = kube_env_real() };
    struct op op = { .kind = OP_CREATE, .type = h_type("namespaces") };
    struct err e = { 0 };

    map_init(&g->mirror, 1);
    map_init(&g->born, 1);
    map_init(&g->dying, 1);
    h->namespace = arena_fmt(&g->arena, "t%ld-%u", (long)getpid(), ++number);
    if (kube_config_load(&g->arena, &where, &g->config, &e) < 0)
        fail_msg("%s", e.text);
    make_views(g, h->namespace);
    g->eyes = kdoor_new(h, g->full_views);
    op.body = object_new(&g->arena, "v1", "Namespace", STR_NULL, h->namespace);
    if (apply(h, &op, NULL, &e) < 0)
        fail_msg("%s", e.text);
}

/* Addresses of Services are few, and the tests name some. */
static void litter_each(void *ctx, const struct object *o)
{
    struct ground *g = ctx;

    *vec_push(&g->arena, &g->litter) = arena_fmt(&g->arena, "services./%.*s", STR_ARG(o->name)).p;
}

static void close_kube(struct h *h)
{
    struct ground *g = ground_of(h);

    list(h, h_type("services"), litter_each, g);
    for (size_t i = 0; i < g->litter.n; i++) {
        const char *slash = strchr(g->litter.v[i], '/');
        struct str type = { g->litter.v[i], (size_t)(slash - g->litter.v[i]) };
        struct op op = { .kind = OP_DELETE, .name = str_of(slash + 1), .namespace = h->namespace };
        struct err e;

        op.type = type_by_name(str_ends(type, STR(".")) ? str_sub(type, 0, type.n - 1) : type);
        if (get(h, op.type, op.name) && !str_is(op.name, "root") && !str_is(op.name, "default"))
            (void)apply(h, &op, NULL, &e); /* the next test will say what is wrong */
    }
    kdoor_free(&g->eyes->cluster);
    MAP_FOREACH(struct object *, o, &g->mirror)
        object_unref(o);
    map_done(&g->mirror);
    map_done(&g->born);
    map_done(&g->dying);
    arena_done(&g->arena);
    free(g);
}

const struct h_base h_base_kube = { open_kube, close_kube, get, list, apply, door, shut, wait, wait_for };
