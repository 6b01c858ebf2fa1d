/* node_lease.c - tests: the Lease of a node before an API server that answers what the test says */
#include "os/test/testing.h"

#include "api/meta.h"
#include "base/clock.h"
#include "program/node/node.h"
#include "cluster/cluster.h"
#include "json/json.h"

/* ---- the API server ---- */

struct door {
    struct cluster cluster; /* first */
    struct arena arena;
    uint64_t last;    /* token */
    struct buf asked; /* "read Lease", "create", "update", "read Node"; the last is what waits for its answer */
    struct object *written;
    const struct json *body; /* of the last write */
    struct cluster_event event;
    struct object *object;
    bool has_event;
};

static uint64_t asked(struct door *d, const char *what)
{
    if (d->asked.n)
        buf_str(&d->asked, STR("; "));
    buf_str(&d->asked, str_of(what));
    return ++d->last;
}

static uint64_t on_write(struct cluster *c, const struct op *op)
{
    struct door *d = (struct door *)c;

    object_unref(d->written);
    d->written = object_make(op->type, op->body, 1);
    d->body = d->written->root;
    return asked(d, op->kind == OP_CREATE ? "create" : op->kind == OP_UPDATE ? "update" : "?");
}

static uint64_t on_read(struct cluster *c, const struct resource_type *type, struct str namespace, struct str name)
{
    assert_true(str_is(name, "n1"));
    return asked((struct door *)c, type == type_by_kind(STR("v1"), STR("Node")) ? "read Node" : "read Lease");
}

static bool on_next(struct cluster *c, struct cluster_event *ret)
{
    struct door *d = (struct door *)c;

    if (!d->has_event)
        return false;
    d->has_event = false;
    *ret = d->event;
    return true;
}

static const struct cluster_class door_class = { .write = on_write, .read = on_read, .next = on_next };

struct world {
    struct door door;
    struct node_lease *lease;
};

static int set_up(void **state)
{
    struct world *w = xcalloc(1, sizeof(*w));

    w->door.cluster.class = &door_class;
    w->lease = node_lease_new(&w->door.cluster, STR("n1"), STR("n1_me"));
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;

    node_lease_free(w->lease);
    object_unref(w->door.object);
    object_unref(w->door.written);
    buf_done(&w->door.asked);
    arena_done(&w->door.arena);
    free(w);
    return 0;
}

/* What it asks for now; "" if nothing. */
static const char *asks(struct world *w)
{
    struct door *d = &w->door;
    struct str text;

    buf_reset(&d->asked);
    (void)node_lease_turn(w->lease);
    text = arena_str(&d->arena, buf_view(&d->asked));
    return text.n ? text.p : "";
}

static void answer(struct world *w, enum err_code code, const struct json *root)
{
    struct door *d = &w->door;

    object_unref(d->object);
    d->object = root ? object_make(type_by_kind(STR("coordination.k8s.io/v1"), STR("Lease")), root, 7) : NULL;
    d->event = (struct cluster_event){ .kind = CLUSTER_RESULT, .token = d->last, .object = d->object };
    if (code)
        (void)err_set(&d->event.err, code, "no");
    d->has_event = true;
}

/* As it is there: whose, and how many seconds ago it was renewed. */
static struct json *lease_of(struct world *w, const char *holder, int64_t ago_s)
{
    struct arena *a = &w->door.arena;
    struct json *lease = object_new(a, "coordination.k8s.io/v1", "Lease", STR("kube-node-lease"), STR("n1")), *spec;
    autobuf at = { 0 };

    clock_print_us(&at, clock_now_us(&clock_real) - ago_s * 1000000);
    json_set(json_get(lease, "metadata"), "uid", json_str(a, STR("u")));
    spec = json_set(lease, "spec", json_object(a));
    json_set(spec, "holderIdentity", json_str(a, str_of(holder)));
    json_set(spec, "leaseDurationSeconds", json_int(a, 40));
    json_set(spec, "renewTime", json_str(a, arena_str(a, buf_view(&at))));
    return lease;
}

static const char *member(struct world *w, const char *name)
{
    return arena_cstr(&w->door.arena, json_member_text(json_get(w->door.body, "spec"), name));
}

/* ---- tests ---- */

static void makes_one_that_is_not_there(void **state)
{
    struct world *w = *state;

    assert_string_equal(asks(w), "read Lease");
    assert_string_equal(asks(w), ""); /* one thing at a time */
    assert_int_equal(node_lease_state(w->lease), LEASE_ASKS);
    answer(w, ERR_OK, NULL);
    assert_string_equal(asks(w), "create");
    assert_string_equal(member(w, "holderIdentity"), "n1_me");
    assert_int_equal(json_i64(json_find(w->door.body, "spec", "leaseDurationSeconds", NULL), 0), 40);
    assert_int_equal(strlen(member(w, "renewTime")), strlen("2026-03-01T00:00:00.000000Z"));
    assert_int_equal(node_lease_state(w->lease), LEASE_ASKS); /* not before it is written */
    answer(w, ERR_OK, w->door.body);
    assert_string_equal(asks(w), ""); /* the Node is asked for a moment later */
    assert_int_equal(node_lease_state(w->lease), LEASE_OURS);
    assert_true(node_lease_turn(w->lease) <= 1000);
}

static void is_taken_by_whom(void **state)
{
    static const struct {
        const char *holder;
        int64_t ago_s;
        bool is_taken;
    } cases[] = {
        { "n1_other", 0, true },   { "n1_other", 35, true }, { "n1_other", -30, true }, /* a clock that is ahead */
        { "n1_other", 41, false }, { "n1_me", 0, false },    { "n1_me", 1000, false },
        { "", 0, false }, /* given back */
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        void *own;

        set_up(&own);
        struct world *w = own;
        (void)asks(w);
        answer(w, ERR_OK, lease_of(w, cases[i].holder, cases[i].ago_s));
        if (strcmp(asks(w), cases[i].is_taken ? "" : "update") != 0)
            fail_msg("case %zu", i);
        assert_int_equal(node_lease_state(w->lease), cases[i].is_taken ? LEASE_TAKEN : LEASE_ASKS);
        if (cases[i].is_taken)
            assert_true(str_is(node_lease_holder(w->lease), cases[i].holder));
        tear_down(&own);
    }
}

static void time_that_is_none_keeps_nobody_away(void **state)
{
    struct world *w = *state;
    struct json *lease = lease_of(w, "n1_other", 0);

    (void)asks(w);
    json_set(json_get(lease, "spec"), "renewTime", json_str(&w->door.arena, STR("now")));
    answer(w, ERR_OK, lease);
    assert_string_equal(asks(w), "update");
}

/* Two that write at the same time: the second looks who the first was. */
static void who_comes_second_looks_again(void **state)
{
    struct world *w = *state;

    (void)asks(w);
    answer(w, ERR_OK, NULL);
    assert_string_equal(asks(w), "create");
    answer(w, ERR_EXISTS, NULL);
    assert_string_equal(asks(w), "read Lease");
    answer(w, ERR_OK, lease_of(w, "n1_me", 100)); /* ours of before: there was no other */
    assert_string_equal(asks(w), "update");
    answer(w, ERR_CONFLICT, NULL);
    assert_string_equal(asks(w), "read Lease");
    answer(w, ERR_OK, lease_of(w, "n1_other", 1));
    assert_string_equal(asks(w), "");
    assert_int_equal(node_lease_state(w->lease), LEASE_TAKEN);
    assert_true(node_lease_turn(w->lease) == INT64_MAX); /* nothing more */
}

static void deleted_under_us_is_made_again(void **state)
{
    struct world *w = *state;

    (void)asks(w);
    answer(w, ERR_OK, lease_of(w, "n1_me", 5));
    assert_string_equal(asks(w), "update");
    answer(w, ERR_NOT_FOUND, NULL);
    assert_string_equal(asks(w), "read Lease");
    answer(w, ERR_OK, NULL);
    assert_string_equal(asks(w), "create");
}

static void trouble_is_told_and_tried_again(void **state)
{
    struct world *w = *state;
    int64_t wait_ms;

    (void)asks(w);
    answer(w, ERR_FORBIDDEN, NULL);
    assert_string_equal(asks(w), ""); /* after a pause */
    assert_int_equal(node_lease_trouble(w->lease)->code, ERR_FORBIDDEN);
    assert_int_equal(node_lease_state(w->lease), LEASE_ASKS);
    wait_ms = node_lease_turn(w->lease);
    assert_true(wait_ms > 0 && wait_ms <= 1000);
    (void)usleep((useconds_t)(wait_ms + 1) * 1000);
    assert_string_equal(asks(w), "read Lease");
    answer(w, ERR_IO, NULL);
    assert_string_equal(asks(w), "");
    assert_true(node_lease_turn(w->lease) > 1000); /* longer each time */
}

/* The API server being away takes nothing from one who has it. */
static void ours_stays_ours(void **state)
{
    struct world *w = *state;

    (void)asks(w);
    answer(w, ERR_OK, lease_of(w, "n1_me", 0));
    (void)asks(w);
    answer(w, ERR_OK, w->door.body);
    (void)asks(w);
    assert_int_equal(node_lease_state(w->lease), LEASE_OURS);
    assert_null(node_lease_trouble(w->lease));
    node_lease_give(w->lease);
    assert_string_equal(asks(w), "update");
    answer(w, ERR_IO, NULL);
    (void)asks(w);
    assert_int_equal(node_lease_state(w->lease), LEASE_OURS);
}

static void is_given_back(void **state)
{
    struct world *w = *state;

    (void)asks(w);
    answer(w, ERR_OK, lease_of(w, "n1_me", 0));
    (void)asks(w);
    answer(w, ERR_OK, w->door.body);
    (void)asks(w);
    node_lease_give(w->lease);
    assert_string_equal(asks(w), "update");
    assert_string_equal(member(w, "holderIdentity"), "");
    answer(w, ERR_OK, w->door.body);
    assert_string_equal(asks(w), "");
    assert_int_equal(node_lease_state(w->lease), LEASE_GIVEN);
}

/* It goes with its Node, once that is there. */
static void belongs_to_its_node(void **state)
{
    struct world *w = *state;
    struct json *node = object_new(&w->door.arena, "v1", "Node", STR_NULL, STR("n1")), *owner;

    json_set(json_get(node, "metadata"), "uid", json_str(&w->door.arena, STR("node-uid")));
    (void)asks(w);
    answer(w, ERR_OK, NULL);
    (void)asks(w);
    answer(w, ERR_OK, w->door.body);
    (void)asks(w);
    (void)usleep(1001 * 1000);
    assert_string_equal(asks(w), "read Node");
    answer(w, ERR_OK, node);
    assert_string_equal(asks(w), "update");
    owner = json_first(json_find(w->door.body, "metadata", "ownerReferences", NULL));
    assert_true(str_is(json_member_text(owner, "uid"), "node-uid") && str_is(json_member_text(owner, "kind"), "Node"));
    answer(w, ERR_OK, w->door.body);
    assert_string_equal(asks(w), "");
    assert_true(node_lease_turn(w->lease) > 5000); /* renewed every ten seconds from here on */
}

static void answers_of_others_do_not_count(void **state)
{
    struct world *w = *state;

    (void)asks(w);
    answer(w, ERR_OK, lease_of(w, "n1_other", 0));
    w->door.event.token += 5;
    assert_string_equal(asks(w), "");
    assert_int_equal(node_lease_state(w->lease), LEASE_ASKS);
}

#define LEASE_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        LEASE_TEST(makes_one_that_is_not_there),
        LEASE_TEST(is_taken_by_whom),
        LEASE_TEST(time_that_is_none_keeps_nobody_away),
        LEASE_TEST(who_comes_second_looks_again),
        LEASE_TEST(deleted_under_us_is_made_again),
        LEASE_TEST(trouble_is_told_and_tried_again),
        LEASE_TEST(ours_stays_ours),
        LEASE_TEST(is_given_back),
        LEASE_TEST(belongs_to_its_node),
        LEASE_TEST(answers_of_others_do_not_count),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
