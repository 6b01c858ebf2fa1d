/* conformance_watch.c - what every store tells its watches, and a long random history against a simple model */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "store_fixture.h"

#include "base/map.h"
#include "base/rand.h"

static struct watch *open_watch(const struct resource_type *type, const char *namespace, uint64_t from)
{
    struct watch *w = NULL;

    if (watch_open(store, type, str_of(namespace), from, &w, &err) < 0)
        fail_msg("watch from %llu: %s", (unsigned long long)from, err.text);
    return w;
}

/* Everything there is to read: "+p1@3 *p1@4 -p1@5 |@5": added, modified, deleted, bookmark, with revisions. */
static const char *read_all(struct watch *w)
{
    static const char signs[WATCH_KIND_MAX] = {
        [WATCH_ADDED] = '+', [WATCH_MODIFIED] = '*', [WATCH_DELETED] = '-', [WATCH_BOOKMARK] = '|'
    };
    struct watch_event event;
    autobuf out = { 0 };
    int got;

    while ((got = watch_next(w, &event, &err)) == 1) {
        struct str name = event.object ? event.object->name : STR_NULL;

        assert_int_equal(!event.object, event.kind == WATCH_BOOKMARK);
        if (event.object)
            assert_int_equal(event.object->rev, event.rev);
        buf_fmt(&out, "%s%c%.*s@%llu", out.n ? " " : "", signs[event.kind], STR_ARG(name),
                (unsigned long long)event.rev);
    }
    if (got < 0)
        buf_fmt(&out, "%s%s", out.n ? " " : "", err_code_name(err.code));
    return arena_cstr(&arena, buf_view(&out));
}

static void touch(const struct resource_type *type, const char *name)
{
    static int n;
    char text[60];

    (void)snprintf(text, sizeof(text), "{'metadata':{'labels':{'n':'%d'}}}", ++n);
    if (patch(type, name, text) < 0)
        fail_msg("%s", err.text);
}

static void tells_of_its_type(void **state)
{
    struct watch *pod_watch = open_watch(pods, "", 0), *job_watch = open_watch(jobs, "", 0);

    (void)state;
    assert_string_equal(read_all(pod_watch), "");
    must_create(body_of(pods, "p", ""));         /* 1 */
    must_create(body_of(jobs, "j", ""));         /* 2 */
    touch(pods, "p");                            /* 3 */
    must_update(copy_of(pods, "p"), STORE_MAIN); /* a change of nothing is not told */
    assert_string_equal(read_all(pod_watch), "+p@1 *p@3");
    assert_string_equal(read_all(pod_watch), "");
    assert_int_equal(del(pods, "p", 0, PROPAGATE_BACKGROUND), 0); /* 4 */
    must_create(body_of(pods, "p", ""));                          /* 5 */
    assert_string_equal(read_all(pod_watch), "-p@4 +p@5");
    assert_string_equal(read_all(job_watch), "+j@2");
    watch_close(pod_watch);
    watch_close(job_watch);
    watch_close(NULL);
}

/* What was replaced can be asked for, as long as it is kept. */
static void tells_what_was_before(void **state)
{
    struct watch *w = open_watch(pods, "", 0);
    struct watch_event ev;

    (void)state;
    must_create(body_of(pods, "p", "")); /* 1 */
    touch(pods, "p");                    /* 2 */
    touch(pods, "p");                    /* 3 */
    assert_int_equal(watch_next(w, &ev, &err), 1);
    assert_null(watch_before(w));
    assert_int_equal(watch_next(w, &ev, &err), 1);
    assert_int_equal(ev.kind, WATCH_MODIFIED);
    assert_int_equal(watch_before(w)->rev, 1);
    assert_ptr_equal(watch_before(w), watch_before(w));
    assert_non_null(json_get(watch_before(w)->root, "metadata"));
    assert_int_equal(watch_next(w, &ev, &err), 1);
    assert_int_equal(watch_before(w)->rev, 2);
    assert_int_equal(del(pods, "p", 0, PROPAGATE_BACKGROUND), 0); /* 4 */
    assert_int_equal(watch_next(w, &ev, &err), 1);
    assert_null(watch_before(w));
    watch_close(w);
}

static void tells_of_its_namespace(void **state)
{
    struct watch *w = open_watch(pods, "b", 0), *queue_watch = open_watch(queues, "b", 0);

    (void)state;
    must_create(body_of(pods, "p", ""));
    must_create(js("{'apiVersion':'v1','kind':'Pod','metadata':{'name':'q','namespace':'b'}}"));
    must_create(body_of(queues, "q", ""));
    touch(pods, "p");
    assert_string_equal(read_all(w), "+q@2");
    assert_string_equal(read_all(queue_watch), "+q@3"); /* cluster-scoped: the namespace is ignored */
    watch_close(w);
    watch_close(queue_watch);
}

static void starts_after_a_revision(void **state)
{
    static const struct {
        uint64_t from;
        const char *want;
    } cases[] = {
        { 1, "*p@2 *p@3 -p@5" }, { 2, "*p@3 -p@5" }, { 3, "-p@5" }, { 4, "-p@5" }, { 5, "" }, { 0, "" },
    };

    (void)state;
    must_create(body_of(pods, "p", ""));
    touch(pods, "p");
    touch(pods, "p");
    must_create(body_of(jobs, "j", ""));
    assert_int_equal(del(pods, "p", 0, PROPAGATE_BACKGROUND), 0);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct watch *w = open_watch(pods, "", cases[i].from);

        assert_string_equal(read_all(w), cases[i].want);
        watch_close(w);
    }
}

static void waits_for_a_revision_to_come(void **state)
{
    struct watch *w = open_watch(pods, "", 3);

    (void)state;
    watch_want_bookmark(w);
    must_create(body_of(pods, "p1", ""));
    must_create(body_of(pods, "p2", ""));
    assert_string_equal(read_all(w), "");
    must_create(body_of(pods, "p3", ""));
    must_create(body_of(pods, "p4", ""));
    assert_string_equal(read_all(w), "|@3 +p4@4");
    watch_close(w);
}

/* A watch that is closed and opened again where it was misses nothing and repeats nothing. */
static void resumes(void **state)
{
    struct watch *w = open_watch(pods, "", 0);
    struct watch_event event;
    uint64_t last = 0;
    char name[20];

    (void)state;
    for (int i = 0; i < 50; i++) {
        (void)snprintf(name, sizeof(name), "p%d", i);
        must_create(body_of(pods, name, ""));
        must_create(body_of(jobs, name, ""));
    }
    for (int i = 0; i < 50; i++) {
        (void)snprintf(name, sizeof(name), "p%d", i);
        assert_int_equal(watch_next(w, &event, &err), 1);
        assert_true(str_is(event.object->name, name));
        assert_true(event.rev > last);
        last = event.rev;
        watch_close(w);
        w = open_watch(pods, "", last);
    }
    assert_int_equal(watch_next(w, &event, &err), 0);
    watch_close(w);
}

static void deleted_is_the_last_state(void **state)
{
    struct watch *w;
    struct watch_event event;

    (void)state;
    must_create(body_of(pods, "p", "'spec':{'x':5}"));
    w = open_watch(pods, "", 0);
    assert_int_equal(del(pods, "p", -1, PROPAGATE_BACKGROUND), 0);
    assert_int_equal(watch_next(w, &event, &err), 1);
    assert_int_equal(event.kind, WATCH_DELETED);
    assert_int_equal(event.rev, 2);
    assert_string_equal(meta_text(event.object, "resourceVersion"), "2");
    assert_string_equal(printed(json_get(event.object->root, "spec")), "{\"x\":5}");
    assert_int_equal(event.object->uid.n, 36);
    watch_close(w);
}

static void deletion_in_steps(void **state)
{
    struct watch *w = open_watch(jobs, "", 0);

    (void)state;
    must_create(body_of(jobs, "j", ""));
    assert_int_equal(del(jobs, "j", -1, PROPAGATE_FOREGROUND), 0);
    assert_int_equal(del(jobs, "j", -1, PROPAGATE_FOREGROUND), 0); /* changes nothing, tells nothing */
    assert_string_equal(read_all(w), "+j@1 *j@2");
    assert_int_equal(patch(jobs, "j", "{'metadata':{'finalizers':[]}}"), 0);
    assert_string_equal(read_all(w), "-j@3");
    watch_close(w);
}

static void bookmarks(void **state)
{
    struct watch *w = open_watch(pods, "", 0), *idle = open_watch(jobs, "", 0);

    (void)state;
    watch_want_bookmark(idle);
    assert_string_equal(read_all(idle), "|@0");
    must_create(body_of(pods, "p", ""));
    must_create(body_of(maps, "m", ""));
    watch_want_bookmark(w);
    watch_want_bookmark(w); /* asked twice is asked once */
    touch(pods, "p");       /* after the asking: the bookmark does not wait for it */
    assert_string_equal(read_all(w), "+p@1 |@2 *p@3");
    assert_string_equal(read_all(w), "");
    watch_want_bookmark(idle);
    assert_string_equal(read_all(idle), "|@3"); /* nothing of its type, but it may resume from here */
    watch_close(idle);
    store_compact(store, 3);
    idle = open_watch(jobs, "", 3);
    assert_string_equal(read_all(idle), "");
    watch_close(idle);
    watch_close(w);
}

static void compaction(void **state)
{
    struct watch *behind, *abreast, *never;

    (void)state;
    must_create(body_of(pods, "p", ""));
    behind = open_watch(pods, "", 1);
    abreast = open_watch(pods, "", 1);
    touch(pods, "p");
    touch(pods, "p");
    touch(pods, "p"); /* 4 */
    assert_string_equal(read_all(abreast), "*p@2 *p@3 *p@4");
    store_compact(store, 3);
    err = (struct err){ 0 };
    assert_string_equal(read_all(behind), "Expired");
    assert_string_equal(read_all(behind), "Expired"); /* and stays so */
    touch(pods, "p");
    assert_string_equal(read_all(abreast), "*p@5");
    assert_refused(watch_open(store, pods, STR_NULL, 2, &never, &err), ERR_GONE);
    assert_refused(watch_open(store, jobs, STR_NULL, 1, &never, &err), ERR_GONE); /* of any type */
    watch_close(behind);
    behind = open_watch(pods, "", 3); /* everything after 3 is kept */
    assert_string_equal(read_all(behind), "*p@4 *p@5");
    store_compact(store, 1000); /* beyond the end: up to now */
    assert_string_equal(read_all(behind), "");
    must_create(body_of(pods, "q", ""));
    assert_string_equal(read_all(behind), "+q@6");
    assert_non_null(stored(pods, "p")); /* objects are not history */
    watch_close(behind);
    watch_close(abreast);
}

/* The history is limited over all types: many changes of one push out those of another. */
static void limited_history(void **state)
{
    struct store *unlimited = store;
    struct watch *slow, *quiet, *fast, *w = NULL;

    (void)state;
    store = open_store(1, 10);
    must_create(body_of(pods, "p", ""));
    slow = open_watch(pods, "", 1);
    fast = open_watch(pods, "", 1);
    quiet = open_watch(jobs, "", 1);
    for (int i = 0; i < 1000; i++) {
        touch(pods, "p");
        (void)read_all(fast);
        if (i == 8)
            assert_int_equal(watch_open(store, pods, STR_NULL, 1, &w, &err), 0);
    }
    assert_string_equal(read_all(slow), "Expired");
    assert_string_equal(read_all(w), "Expired");
    must_create(body_of(jobs, "j", ""));
    assert_string_equal(read_all(quiet), "+j@1002"); /* it missed nothing of its type */
    assert_string_equal(read_all(fast), "");
    watch_close(w);
    assert_int_equal(watch_open(store, pods, STR_NULL, 992, &w, &err), 0);
    watch_close(w);
    assert_int_equal(watch_open(store, pods, STR_NULL, 991, &w, &err), -1);
    watch_close(slow);
    watch_close(fast);
    watch_close(quiet);
    store_free(store);
    store = unlimited;
}

/* ---- a long random history against a simple model ---- */

enum { N_TYPES = 3, N_SPACES = 2, N_NAMES = 4, N_STEPS = 4000 };
enum { F_ONE = 1, F_TWO = 2, F_FOREGROUND = 4, F_ORPHAN = 8 };

struct cell { /* all that can be known of one name */
    bool exists, is_bound, is_deleting;
    uint64_t rev, born_rev;
    int64_t spec, status, label, generation, grace_s;
    unsigned finalizers;
    char uid[40];
};

struct world {
    struct rand rand;
    struct cell cells[N_TYPES][N_SPACES][N_NAMES];
    uint64_t rev;
};

static const char *const finalizer_names[] = { "x/one", "x/two", "foregroundDeletion", "orphan" };

static const struct resource_type *row_at(size_t t)
{
    return t == 0 ? pods : t == 1 ? jobs : groups;
}

static struct json *cell_body(const struct cell *c, size_t t, size_t space, size_t name)
{
    struct json *body = object_new(&arena, type_api_version(&arena, row_at(t)).p, row_at(t)->kind,
                                   space ? STR("b") : STR("a"), arena_fmt(&arena, "n%zu", name));
    struct json *meta = json_get(body, "metadata"), *spec = json_set(body, "spec", json_object(&arena));

    json_set(json_set(meta, "labels", json_object(&arena)), "l", json_fmt(&arena, "%lld", (long long)c->label));
    if (c->finalizers || c->label) { /* [] and nothing mean the same */
        struct json *list = json_set(meta, "finalizers", json_array(&arena));

        for (size_t i = 0; i < ARRAY_LEN(finalizer_names); i++)
            if (c->finalizers >> i & 1)
                json_push(list, json_str(&arena, str_of(finalizer_names[i])));
    }
    json_set(spec, "n", json_int(&arena, c->spec));
    if (c->is_bound)
        json_set(spec, "nodeName", json_str(&arena, STR("node")));
    json_set(json_set(body, "status", json_object(&arena)), "n", json_int(&arena, c->status));
    return body;
}

static void cell_check(const struct world *w, size_t t, size_t space, size_t name, int step)
{
    const struct cell *c = &w->cells[t][space][name];
    const struct object *o = store_get(store, row_at(t), space ? STR("b") : STR("a"), arena_fmt(&arena, "n%zu", name));
    unsigned finalizers = 0;

    if (!o != !c->exists)
        fail_msg("step %d: the object is %s", step, o ? "there" : "not there");
    if (!o)
        return;
    JSON_FOREACH(item, json_find(o->root, "metadata", "finalizers", NULL))
        for (size_t i = 0; i < ARRAY_LEN(finalizer_names); i++)
            finalizers |= (unsigned)str_is(json_text(item, STR_NULL), finalizer_names[i]) << i;
    if (o->rev != c->rev || !str_is(o->uid, c->uid) || finalizers != c->finalizers ||
        json_i64(json_find(o->root, "spec", "n", NULL), -1) != c->spec ||
        json_i64(json_find(o->root, "status", "n", NULL), -1) != c->status ||
        meta_int(o, "generation") != c->generation ||
        (meta_text(o, "deletionTimestamp")[0] != '\0') != c->is_deleting ||
        (c->is_deleting && meta_int(o, "deletionGracePeriodSeconds") != c->grace_s))
        fail_msg("step %d: rev %llu, finalizers %u, spec %lld, status %lld, generation %lld, but %s", step,
                 (unsigned long long)c->rev, c->finalizers, (long long)c->spec, (long long)c->status,
                 (long long)c->generation, printed(o->root));
}

static void changed(struct world *w, struct cell *c)
{
    c->rev = ++w->rev;
    if (c->is_deleting && !c->finalizers && c->grace_s == 0)
        c->exists = false;
}

static enum err_code model_create(struct world *w, struct cell *c, size_t t, struct cell want)
{
    if (c->exists)
        return ERR_EXISTS;
    *c = want;
    c->exists = true;
    c->generation = 1;
    if (t != 2)
        c->status = -1;
    changed(w, c);
    c->born_rev = c->rev;
    return ERR_OK;
}

static enum err_code model_update(struct world *w, struct cell *c, size_t t, struct cell want)
{
    bool spec_changes = c->spec != want.spec || c->is_bound != want.is_bound || (t == 2 && c->status != want.status);

    if (!c->exists)
        return ERR_NOT_FOUND;
    if (want.rev && want.rev != c->rev)
        return ERR_CONFLICT;
    if (c->is_deleting && (want.finalizers & ~c->finalizers))
        return ERR_INVALID;
    if (!spec_changes && c->label == want.label && c->finalizers == want.finalizers)
        return ERR_OK;
    c->spec = want.spec;
    c->is_bound = want.is_bound;
    c->label = want.label;
    c->finalizers = want.finalizers;
    if (t == 2)
        c->status = want.status;
    c->generation += spec_changes;
    changed(w, c);
    return ERR_OK;
}

static enum err_code model_status(struct world *w, struct cell *c, size_t t, struct cell want)
{
    if (!c->exists)
        return ERR_NOT_FOUND;
    if (want.rev && want.rev != c->rev)
        return ERR_CONFLICT;
    if (t == 2)
        return ERR_NOT_FOUND;
    if (c->status == want.status)
        return ERR_OK;
    c->status = want.status;
    changed(w, c);
    return ERR_OK;
}

static enum err_code model_delete(struct world *w, struct cell *c, size_t t, const struct store_delete_options *opt)
{
    if (!c->exists)
        return ERR_NOT_FOUND;
    if (opt->uid.n && !str_is(opt->uid, c->uid))
        return ERR_CONFLICT;
    if (c->is_deleting) {
        if (opt->grace_s == -1 || opt->grace_s >= c->grace_s)
            return ERR_OK;
        c->grace_s = opt->grace_s;
        changed(w, c);
        return ERR_OK;
    }
    c->is_deleting = true;
    c->grace_s = t != 0 || !c->is_bound ? 0 : opt->grace_s == -1 ? 30 : opt->grace_s;
    if (opt->propagation != PROPAGATE_BACKGROUND)
        c->finalizers = (c->finalizers & (F_ONE | F_TWO)) |
                        (opt->propagation == PROPAGATE_FOREGROUND ? F_FOREGROUND : F_ORPHAN);
    c->generation++;
    changed(w, c);
    return ERR_OK;
}

/* One random write to store and model; they must agree on the answer and on what is there then. */
static void step(struct world *w, int n)
{
    size_t t = rand_below(&w->rand, N_TYPES), space = rand_below(&w->rand, N_SPACES);
    size_t name = rand_below(&w->rand, N_NAMES), what = rand_below(&w->rand, 8);
    struct cell *c = &w->cells[t][space][name], want = { 0 };
    struct store_delete_options opt = { .grace_s = rand_between(&w->rand, -1, 6) };
    struct json *body;
    enum err_code code = ERR_OK, model = ERR_OK;
    int failed = 0;

    want.spec = (int64_t)rand_below(&w->rand, 3);
    want.status = (int64_t)rand_below(&w->rand, 3);
    want.label = (int64_t)rand_below(&w->rand, 2);
    want.is_bound = rand_chance(&w->rand, 2, 3);
    want.finalizers = (unsigned)rand_below(&w->rand, rand_chance(&w->rand, 1, 2) ? 4 : 1);
    if (c->exists && rand_chance(&w->rand, 1, 3))
        want.finalizers = c->finalizers & (unsigned)rand_below(&w->rand, 16);
    body = cell_body(&want, t, space, name);
    if (what >= 2 && rand_chance(&w->rand, 2, 3)) {
        want.rev = rand_chance(&w->rand, 4, 5) && c->exists ? c->rev : 1 + rand_below(&w->rand, w->rev + 1);
        json_set(json_get(body, "metadata"), "resourceVersion", json_fmt(&arena, "%llu", (unsigned long long)want.rev));
    }
    if (rand_chance(&w->rand, 1, 4))
        opt.uid = rand_chance(&w->rand, 1, 2) ? STR("wrong") : str_of(c->uid);
    opt.propagation = (enum propagation)rand_below(&w->rand, 3);

    err.code = ERR_OK;
    if (what < 2)
        failed = store_create(store, body, NULL, &err), model = model_create(w, c, t, want);
    else if (what < 5)
        failed = store_update(store, body, STORE_MAIN, NULL, &err), model = model_update(w, c, t, want);
    else if (what < 6)
        failed = store_update(store, body, STORE_STATUS, NULL, &err), model = model_status(w, c, t, want);
    else
        failed = store_delete(store, &(struct object_key){ row_at(t), object_namespace(body), object_name(body) }, &opt,
                              NULL, &err),
        model = model_delete(w, c, t, &opt);
    code = failed ? err.code : ERR_OK;
    if (code != model)
        fail_msg("step %d: %s (%s), but the model says %s", n, err_code_name(code), err.text, err_code_name(model));
    if (store_revision(store) != w->rev)
        fail_msg("step %d: revision %llu, but the model has %llu", n, (unsigned long long)store_revision(store),
                 (unsigned long long)w->rev);
    if (what < 2 && !failed) {
        const struct object *o = store_get(store, row_at(t), object_namespace(body), object_name(body));

        assert_non_null(o);
        (void)snprintf(c->uid, sizeof(c->uid), "%.*s", STR_ARG(o->uid));
    }
    cell_check(w, t, space, name, n);
}

/* What somebody knows who only reads a watch, and lists when told to. */
struct replica {
    const struct resource_type *type;
    struct str namespace;
    struct watch *watch;
    struct map objects; /* struct object by uid */
    uint64_t rev;
    int n_lists;
};

static void replica_clear(struct replica *r)
{
    MAP_FOREACH(struct object *, o, &r->objects)
        object_unref(o);
    map_clear(&r->objects);
    watch_close(r->watch);
    r->watch = NULL;
}

static void replica_add(void *ctx, const struct object *o)
{
    struct replica *r = ctx;

    object_ref(o);
    assert_null(map_put(&r->objects, o->uid, (void *)o));
}

static void replica_list(struct replica *r)
{
    replica_clear(r);
    store_list(store, r->type, r->namespace, replica_add, r);
    r->rev = store_revision(store);
    r->n_lists++;
    assert_int_equal(watch_open(store, r->type, r->namespace, r->rev, &r->watch, &err), 0);
}

static void replica_event(struct replica *r, const struct watch_event *event)
{
    struct object *known = map_get(&r->objects, event->object->uid);

    assert_true(event->rev > r->rev);
    assert_int_equal(!known, event->kind == WATCH_ADDED); /* ADDED first, then the others */
    r->rev = event->rev;
    if (event->kind == WATCH_DELETED)
        map_remove(&r->objects, event->object->uid);
    else
        map_put(&r->objects, event->object->uid, object_ref(event->object));
    object_unref(known);
}

struct compared {
    struct replica *replica;
    size_t n;
};

static void compare_one(void *ctx, const struct object *o)
{
    struct compared *c = ctx;

    c->n++;
    assert_ptr_equal(map_get(&c->replica->objects, o->uid), o); /* the very same object, not only an equal one */
}

/* Read up to 'limit' events; with none left the replica must be the state. */
static void replica_read(struct replica *r, uint64_t limit)
{
    struct compared c = { r, 0 };
    struct watch_event event;
    int got = 0;

    while (limit-- > 0 && (got = watch_next(r->watch, &event, &err)) == 1)
        replica_event(r, &event);
    if (got < 0) {
        assert_int_equal(err.code, ERR_GONE);
        replica_list(r);
    } else if (got == 0) {
        store_list(store, r->type, r->namespace, compare_one, &c);
        assert_int_equal(c.n, map_count(&r->objects));
    }
}

static void random_history(uint64_t seed, size_t history)
{
    struct replica replicas[] = { { .type = pods },
                                  { .type = jobs },
                                  { .type = groups },
                                  { .type = pods, .namespace = STR("b") },
                                  { .type = jobs, .namespace = STR("a") } };
    struct world w = { 0 };
    int n_lists = 0;

    store_free(store);
    store = open_store(seed, history);
    rand_seed(&w.rand, seed);
    for (size_t i = 0; i < ARRAY_LEN(replicas); i++)
        replica_list(&replicas[i]);
    for (int n = 0; n < N_STEPS; n++) {
        step(&w, n);
        if (rand_chance(&w.rand, 1, 5)) /* each once in 25 steps, sometimes not to the end */
            replica_read(&replicas[rand_below(&w.rand, ARRAY_LEN(replicas))], 1 + rand_below(&w.rand, 20));
        if (rand_chance(&w.rand, 1, 100))
            store_compact(store, w.rev - rand_below(&w.rand, MIN_OF(w.rev, 50) + 1));
        if (n % 64 == 0)
            arena_reset(&arena);
    }
    for (size_t i = 0; i < ARRAY_LEN(replicas); i++) {
        replica_read(&replicas[i], UINT64_MAX);
        replica_read(&replicas[i], UINT64_MAX); /* after a gap: once more to the end */
        n_lists += replicas[i].n_lists;
        replica_clear(&replicas[i]);
        map_done(&replicas[i].objects);
    }
    assert_true(n_lists > (int)ARRAY_LEN(replicas)); /* falling behind was tested too */
}

static void model_with_long_history(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++)
        random_history(seed, 0); /* compacted now and then */
}

static void model_with_short_history(void **state)
{
    (void)state;
    for (uint64_t seed = 4; seed <= 8; seed++)
        random_history(seed, seed * 5);
}

/* From nothing to the end with the whole history kept: replay = state. */
static void replay_is_the_state(void **state)
{
    struct replica r = { .type = pods };
    struct world w = { 0 };

    (void)state;
    rand_seed(&w.rand, 11);
    replica_list(&r); /* of an empty store */
    for (int n = 0; n < N_STEPS; n++)
        step(&w, n);
    replica_read(&r, UINT64_MAX);
    assert_int_equal(r.n_lists, 1);
    assert_true(map_count(&r.objects) > 0 && map_count(&r.objects) == store_count(store, pods));
    replica_clear(&r);
    map_done(&r.objects);
}

/* ---- page by page ---- */

struct past { /* a list as it was, and somebody who reads it a few at a time while others write */
    const struct resource_type *type;
    struct str namespace;
    uint64_t rev;
    VEC(struct object *) objects; /* references */
    size_t n_read, n_pages;
    struct arena arena;
};

static void past_add(void *ctx, const struct object *o)
{
    struct past *p = ctx;

    *vec_push(&p->arena, &p->objects) = object_ref(o);
}

static void past_begin(struct past *p, struct rand *r)
{
    static const char *const spaces[] = { "", "a", "b" };

    *p = (struct past){ .type = row_at(rand_below(r, N_TYPES)), .namespace = str_of(spaces[rand_below(r, 3)]) };
    if (p->type->scope == SCOPE_CLUSTER)
        p->namespace = STR_NULL;
    p->rev = store_revision(store);
    store_walk(store, p->type, p->namespace, past_add, p);
    assert_int_equal(store_count_after(store, p->type, p->namespace, STR_NULL, STR_NULL), p->objects.n);
}

static void past_end(struct past *p)
{
    VEC_FOREACH(o, &p->objects)
        object_unref(*o);
    arena_done(&p->arena);
    *p = (struct past){ 0 };
}

struct reading {
    struct past *past;
    size_t limit;
};

static bool past_read(void *ctx, const struct object *o)
{
    struct reading *r = ctx;
    struct past *p = r->past;
    const struct object *want;

    assert_true(p->n_read < p->objects.n);
    want = p->objects.v[p->n_read++];
    assert_int_equal(o->rev, want->rev);
    assert_true(str_eq(o->uid, want->uid) && str_eq(o->name, want->name) && str_eq(o->namespace, want->namespace));
    assert_true(str_eq(o->text, want->text));
    return --r->limit > 0;
}

/* The next page. False: it was the last, or the list is too old. */
static bool past_page(struct past *p, struct rand *r, uint64_t dropped)
{
    const struct object *last = p->n_read ? p->objects.v[p->n_read - 1] : NULL;
    struct reading reading = { p, 1 + rand_below(r, 4) };
    struct store_page page = { .namespace = p->namespace,
                               .after_namespace = last ? last->namespace : STR_NULL,
                               .after_name = last ? last->name : STR_NULL,
                               .rev = p->rev,
                               .each = past_read,
                               .ctx = &reading };

    if (store_page(store, p->type, &page, &err) < 0) {
        assert_int_equal(err.code, ERR_GONE);
        assert_true(p->rev < dropped || backend == &backends[0]); /* a log has all that is needed */
        return false;
    }
    p->n_pages++;
    if (reading.limit > 0)
        assert_int_equal(p->n_read, p->objects.n);
    return reading.limit == 0;
}

/* Pages under concurrent writes are those of the list at the first page's revision. */
static size_t random_pages(uint64_t seed, size_t history)
{
    struct past readers[6] = { 0 };
    struct world w = { 0 };
    size_t whole = 0;

    store_free(store);
    store = open_store(seed, history);
    rand_seed(&w.rand, seed);
    must_create(body_of(maps, "first", "")); /* 0 would be now */
    w.rev = 1;
    for (int n = 0; n < N_STEPS; n++) {
        struct past *p = &readers[rand_below(&w.rand, ARRAY_LEN(readers))];

        step(&w, n);
        if (rand_chance(&w.rand, 1, 3))
            assert_int_equal(store_flush(store, &err), 0);
        if (!p->type)
            past_begin(p, &w.rand);
        if (rand_chance(&w.rand, 1, 4) && !past_page(p, &w.rand, history && w.rev > history ? w.rev - history : 0)) {
            whole += p->n_read == p->objects.n && p->n_pages > 1;
            past_end(p);
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(readers); i++)
        past_end(&readers[i]);
    return whole;
}

static void pages_are_of_the_first_ones_revision(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++)
        assert_true(random_pages(seed, 0) > 20);
    for (uint64_t seed = 4; seed <= 8; seed++)
        (void)random_pages(seed, seed * 10); /* some are too old */
}

static void pages_of_what_is_not_known(void **state)
{
    struct store_page page = { .rev = 1, .each = past_read };

    (void)state;
    must_create(body_of(pods, "p", ""));
    touch(pods, "p");
    assert_int_equal(store_flush(store, &err), 0);
    page.rev = 3;
    assert_refused(store_page(store, pods, &page, &err), ERR_GONE);
    store_compact(store, 2);
    page.rev = 1;
    assert_refused(store_page(store, pods, &page, &err), ERR_GONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(pages_are_of_the_first_ones_revision),
        STORE_TEST(pages_of_what_is_not_known),
        STORE_TEST(tells_of_its_type),
        STORE_TEST(tells_what_was_before),
        STORE_TEST(tells_of_its_namespace),
        STORE_TEST(starts_after_a_revision),
        STORE_TEST(waits_for_a_revision_to_come),
        STORE_TEST(resumes),
        STORE_TEST(deleted_is_the_last_state),
        STORE_TEST(deletion_in_steps),
        STORE_TEST(bookmarks),
        STORE_TEST(compaction),
        STORE_TEST(limited_history),
        STORE_TEST(model_with_long_history),
        STORE_TEST(model_with_short_history),
        STORE_TEST(replay_is_the_state),
    };

    return run_suite(tests, ARRAY_LEN(tests));
}
