/* lease.c - tests: candidates on a bad network, with clocks of their own, stopped, killed and cut off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "api/meta.h"
#include "base/clock.h"
#include "base/util.h"
#include "cluster/test/sim_net.h"
#include "kube/lease.h"
#include "store/store.h"

enum { CANDIDATES = 3, BEGIN_MS = 1000 };

static const struct election_times usual = { 15000, 10000, 2000 };
static const struct election_times tight = { 15000, 14800, 100 }; /* as little room for mistakes as there can be */

struct own_clock { /* of one machine: its wall clock is wrong, its other one began at another time */
    struct clock clock;
    struct clock_manual *world;
    int64_t wall_us, mono_us;
};

struct candidate {
    struct own_clock clock;
    struct cluster *door;
    struct lease *lease;
    char name[8];
    int64_t stopped_until_ms; /* SIGSTOP: it does nothing, and does not know */
};

struct world {
    struct clock_manual clock;
    struct store *store;
    struct sim_net *net;
    struct sim_faults faults;
    struct candidate all[CANDIDATES];
    uint64_t generation;
    const struct election_times *times;
};

static int64_t own_now(struct clock *c)
{
    struct own_clock *o = (struct own_clock *)c;

    return o->world->now_us + o->wall_us;
}

static int64_t own_mono(struct clock *c)
{
    struct own_clock *o = (struct own_clock *)c;

    return o->world->mono_us + o->mono_us;
}

/* ---- the world ---- */

static void candidate_start(struct world *w, int i)
{
    static const int64_t skew_s[CANDIDATES] = { 0, 3600, -86400 };
    struct candidate *c = &w->all[i];
    struct lease_options opt = {
        .namespace = STR("ns"), .name = STR("lead"), .times = *w->times, .seed = 7 + (uint64_t)i
    };

    c->clock =
        (struct own_clock){ { own_now, own_mono }, &w->clock, skew_s[i] * 1000000, (int64_t)(i + 1) * 1234567890 };
    (void)snprintf(c->name, sizeof(c->name), "%c%llu", 'a' + i, (unsigned long long)w->generation++);
    c->door = cluster_sim_new(w->net, (uint32_t)i);
    opt.cluster = c->door;
    opt.clock = &c->clock.clock;
    opt.identity = str_of(c->name);
    c->lease = lease_new(&opt);
    c->stopped_until_ms = 0;
}

static void candidate_kill(struct candidate *c)
{
    lease_free(c->lease);
    cluster_free(c->door);
    c->lease = NULL;
    c->door = NULL;
}

static void begin(struct world *w, uint64_t seed)
{
    *w = (struct world){ .times = &usual };
    clock_manual_init(&w->clock, 1767225600000);
    w->clock.mono_us = BEGIN_MS * 1000;
    w->store = store_new(&(struct store_options){ .clock = &w->clock.clock, .seed = 1 });
    w->net = sim_net_new(
        &(struct sim_options){ .store = w->store, .clock = &w->clock, .seed = seed, .faults = &w->faults });
}

static void end(struct world *w)
{
    for (int i = 0; i < CANDIDATES; i++)
        candidate_kill(&w->all[i]);
    sim_net_free(w->net);
    store_free(w->store);
}

static int64_t mono(const struct world *w)
{
    return w->clock.mono_us / 1000;
}

static bool is_valid(const struct world *w, int i)
{
    return w->all[i].lease && lease_is_valid(w->all[i].lease);
}

static int leader(const struct world *w)
{
    int found = -1;

    for (int i = 0; i < CANDIDATES; i++)
        if (is_valid(w, i)) {
            assert_int_equal(found, -1); /* never two */
            found = i;
        }
    return found;
}

/* Until nothing is due now. */
static int64_t settle(struct world *w)
{
    int64_t due_ms;

    do {
        sim_net_run(w->net);
        due_ms = sim_net_due_ms(w->net);
        for (int i = 0; i < CANDIDATES; i++) {
            struct candidate *c = &w->all[i];
            int64_t wait_ms;

            if (!c->lease)
                continue;
            if (mono(w) < c->stopped_until_ms) {
                due_ms = MIN_OF(due_ms, c->stopped_until_ms);
                continue;
            }
            wait_ms = lease_turn(c->lease);
            if (wait_ms != INT64_MAX)
                due_ms = MIN_OF(due_ms, mono(w) + wait_ms);
            due_ms = MIN_OF(due_ms, cluster_sim_due_ms(c->door));
        }
    } while (MIN_OF(due_ms, sim_net_due_ms(w->net)) <= mono(w));
    (void)leader(w);
    return due_ms;
}

static void run_ms(struct world *w, int64_t ms)
{
    int64_t until_ms = mono(w) + ms;

    for (;;) {
        int64_t due_ms = MIN_OF(settle(w), mono(w) + 500);

        if (mono(w) >= until_ms)
            return;
        clock_manual_advance(&w->clock, MAX_OF(MIN_OF(due_ms, until_ms) - mono(w), 1));
        (void)leader(w);
    }
}

/* Until one leads: 'i', or anybody (-1). How long that took. */
static int64_t until_one_leads(struct world *w, int i)
{
    int64_t from_ms = mono(w);

    while (leader(w) < 0 || (i >= 0 && leader(w) != i)) {
        assert_true(mono(w) < from_ms + 120000);
        run_ms(w, 50);
    }
    return mono(w) - from_ms;
}

static const struct json *spec(struct world *w)
{
    const struct resource_type *type = type_by_kind(STR("coordination.k8s.io/v1"), STR("Lease"));
    const struct object *o = store_get(w->store, type, STR("ns"), STR("lead"));

    return o ? json_get(o->root, "spec") : NULL;
}

static int64_t transitions(struct world *w)
{
    return json_i64(json_get(spec(w), "leaseTransitions"), -1);
}

static struct str holder(struct world *w)
{
    return json_member_text(spec(w), "holderIdentity");
}

static void delete_lease(struct world *w)
{
    const struct resource_type *type = type_by_kind(STR("coordination.k8s.io/v1"), STR("Lease"));

    assert_int_equal(store_delete(w->store, &(struct object_key){ type, STR("ns"), STR("lead") },
                                  &(struct store_delete_options){ .grace_s = -1 }, NULL, NULL),
                     0);
}

/* Somebody changes the object, and not what it says. */
static void label_lease(struct world *w, const char *value)
{
    struct cluster *c = cluster_embedded_new(w->store, &w->clock.clock);
    autoarena a = { 0 };
    struct json *patch = json_object(&a);
    struct op op = { .kind = OP_MERGE_PATCH,
                     .type = type_by_kind(STR("coordination.k8s.io/v1"), STR("Lease")),
                     .namespace = STR("ns"),
                     .name = STR("lead"),
                     .body = patch };

    json_set(json_need_object(&a, json_need_object(&a, patch, "metadata"), "labels"), "by",
             json_str(&a, str_of(value)));
    (void)cluster_write(c, &op);
    cluster_free(c);
}

static struct str label(struct world *w)
{
    const struct resource_type *type = type_by_kind(STR("coordination.k8s.io/v1"), STR("Lease"));

    return json_text(
        json_find(store_get(w->store, type, STR("ns"), STR("lead"))->root, "metadata", "labels", "by", NULL), STR(""));
}

/* ---- cases ---- */

static void one_takes_it_and_renews(void **state)
{
    struct world w;
    struct str renewed;
    char first[40];

    (void)state;
    begin(&w, 1);
    candidate_start(&w, 0);
    assert_false(is_valid(&w, 0));
    run_ms(&w, 100);
    assert_int_equal(leader(&w), 0);
    assert_true(str_is(holder(&w), "a0"));
    assert_int_equal(transitions(&w), 0);
    assert_int_equal(json_i64(json_get(spec(&w), "leaseDurationSeconds"), 0), 15);
    renewed = json_member_text(spec(&w), "renewTime");
    assert_int_equal(renewed.n, strlen("2026-01-01T00:00:00.000000Z"));
    assert_true(str_eq(renewed, json_member_text(spec(&w), "acquireTime")));
    (void)snprintf(first, sizeof(first), "%.*s", STR_ARG(renewed));
    run_ms(&w, 60000);
    assert_int_equal(leader(&w), 0);
    assert_true(str_is(json_member_text(spec(&w), "acquireTime"), first));
    assert_false(str_is(json_member_text(spec(&w), "renewTime"), first));
    assert_int_equal(transitions(&w), 0);
    end(&w);
}

/* Their wall clocks are an hour and a day apart. */
static void another_waits_until_the_first_is_silent(void **state)
{
    struct world w;

    (void)state;
    begin(&w, 2);
    candidate_start(&w, 0);
    run_ms(&w, 100);
    candidate_start(&w, 1);
    candidate_start(&w, 2);
    run_ms(&w, 60000);
    assert_int_equal(leader(&w), 0);
    candidate_kill(&w.all[0]);
    assert_in_range(until_one_leads(&w, -1), 13000, 15000 + 4400 + 1000); /* the last renewal was up to 2 s before */
    assert_int_equal(transitions(&w), 1);
    end(&w);
}

static void a_released_one_is_taken_at_once(void **state)
{
    struct world w;

    (void)state;
    begin(&w, 3);
    candidate_start(&w, 0);
    run_ms(&w, 100);
    candidate_start(&w, 1);
    run_ms(&w, 30000);
    lease_release(w.all[0].lease);
    assert_false(is_valid(&w, 0)); /* not one write more */
    assert_in_range(until_one_leads(&w, 1), 0, 4400 + 100);
    assert_int_equal(lease_state(w.all[0].lease), ELECTION_OVER);
    assert_int_equal(transitions(&w), 1);
    lease_release(w.all[1].lease);
    run_ms(&w, 1000);
    assert_true(str_is(holder(&w), ""));
    end(&w);
}

static void a_stopped_leader_writes_no_more(void **state)
{
    struct world w;

    (void)state;
    begin(&w, 4);
    candidate_start(&w, 0);
    run_ms(&w, 100);
    candidate_start(&w, 1);
    run_ms(&w, 10000);
    w.all[0].stopped_until_ms = mono(&w) + 60000;
    run_ms(&w, 59000);
    assert_int_equal(leader(&w), 1);
    assert_false(is_valid(&w, 0)); /* asked before its first turn */
    run_ms(&w, 5000);
    assert_int_equal(lease_state(w.all[0].lease), ELECTION_LOST);
    assert_int_equal(leader(&w), 1);
    end(&w);
}

/* The answer to a renewal is there when the program goes on: it came too late all the same. */
static void an_answer_that_waited_does_not_count(void **state)
{
    struct world w;

    (void)state;
    begin(&w, 5);
    candidate_start(&w, 0);
    run_ms(&w, 2100);
    w.faults.latency_ms = 0;
    run_ms(&w, 1900); /* the next renewal is about to be sent */
    w.all[0].stopped_until_ms = 0;
    clock_manual_advance(&w.clock, 50);
    (void)lease_turn(w.all[0].lease); /* sends it */
    sim_net_run(w.net);               /* it takes effect, and the answer is there */
    clock_manual_advance(&w.clock, 12000);
    (void)lease_turn(w.all[0].lease);
    assert_int_equal(lease_state(w.all[0].lease), ELECTION_LOST);
    end(&w);
}

/* The server took a renewal when it was sent, for all we know, not when its answer came. */
static void the_right_begins_with_the_request(void **state)
{
    struct lease_record r = { .holder = STR("me"), .duration_ms = 15000, .renewed = STR("1"), .rev = 1 };
    struct election e;

    (void)state;
    election_init(&e, STR("me"), &usual, 1);
    assert_int_equal(election_step(&e, 100), ELECTION_READS);
    election_saw(&e, NULL, 200);
    assert_int_equal(election_step(&e, 300), ELECTION_CREATES);
    election_wrote(&e, &r, 4300);
    assert_true(election_is_valid(&e, 10299));
    assert_false(election_is_valid(&e, 10300));
    assert_true(election_due_ms(&e) <= 4300); /* the next renewal is due */
    assert_int_equal(election_step(&e, 4400), ELECTION_UPDATES);
    r.renewed = STR("2");
    election_wrote(&e, &r, 10299); /* just in time */
    assert_true(election_is_valid(&e, 14399));
    assert_false(election_is_valid(&e, 14400));
    election_done(&e);
}

static void outages(void **state)
{
    struct world w;

    (void)state;
    for (int is_long = 0; is_long < 2; is_long++) {
        begin(&w, 6);
        w.faults.timeout_ms = 3000;
        candidate_start(&w, 0);
        run_ms(&w, 20000);
        sim_net_outage(w.net, mono(&w) + (is_long ? 20000 : 7000));
        run_ms(&w, 7500);
        assert_true(is_valid(&w, 0)); /* sent at most 2 s before the outage, good for 10 s */
        run_ms(&w, 5000);
        assert_int_equal(lease_state(w.all[0].lease), is_long ? ELECTION_LOST : ELECTION_LEADER);
        assert_int_equal(is_valid(&w, 0), !is_long);
        end(&w);
    }
}

static void a_deleted_lease_is_made_again(void **state)
{
    struct world w;

    (void)state;
    begin(&w, 7);
    candidate_start(&w, 0);
    run_ms(&w, 5000);
    delete_lease(&w);
    run_ms(&w, 3000);
    assert_int_equal(leader(&w), 0);
    assert_true(str_is(holder(&w), "a0"));
    end(&w);
}

static void who_was_replaced_stops(void **state)
{
    struct world w;

    (void)state;
    begin(&w, 8);
    candidate_start(&w, 0);
    run_ms(&w, 2500);
    delete_lease(&w);
    w.all[0].stopped_until_ms = mono(&w) + 1000; /* another is quicker */
    candidate_start(&w, 1);
    lease_turn(w.all[1].lease);
    for (int i = 0; i < 20; i++) {
        sim_net_run(w.net);
        (void)lease_turn(w.all[1].lease);
    }
    assert_true(is_valid(&w, 1));
    clock_manual_advance(&w.clock, 2000);
    for (int i = 0; i < 20; i++) {
        (void)lease_turn(w.all[0].lease);
        sim_net_run(w.net);
    }
    assert_int_equal(lease_state(w.all[0].lease), ELECTION_LOST);
    run_ms(&w, 1000);
    assert_int_equal(leader(&w), 1);
    end(&w);
}

static void what_others_put_there_stays(void **state)
{
    struct world w;

    (void)state;
    begin(&w, 9);
    candidate_start(&w, 0);
    run_ms(&w, 1000);
    label_lease(&w, "me"); /* the next renewal conflicts */
    run_ms(&w, 30000);
    assert_int_equal(leader(&w), 0);
    assert_true(str_is(label(&w), "me"));
    assert_true(str_is(holder(&w), "a0"));
    end(&w);
}

static void a_label_is_no_sign_of_life(void **state)
{
    struct world w;
    char text[16];

    (void)state;
    begin(&w, 10);
    candidate_start(&w, 0);
    run_ms(&w, 100);
    candidate_kill(&w.all[0]);
    candidate_start(&w, 1);
    for (int i = 0; i < 10; i++) {
        run_ms(&w, 2000);
        (void)snprintf(text, sizeof(text), "n%d", i);
        label_lease(&w, text);
    }
    assert_int_equal(leader(&w), 1);
    end(&w);
}

static void a_lost_answer_is_found_out(void **state)
{
    struct world w;

    (void)state;
    begin(&w, 11);
    w.faults.timeout_ms = 3000;
    w.faults.answer_lost = SIM_CHANCE;
    candidate_start(&w, 0);
    run_ms(&w, 200); /* asked */
    w.faults.answer_lost = 0;
    run_ms(&w, 20000);
    assert_int_equal(leader(&w), 0);
    assert_int_equal(transitions(&w), 0);
    end(&w);
}

/* Answers get lost, requests are slow, programs are stopped, killed and started again: never two at a time, and when it
 * is over somebody leads. */
static void never_two(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct world w;
        struct rand r;
        int64_t led_ms = 0;

        begin(&w, seed);
        w.times = &tight;
        rand_seed(&r, seed);
        w.faults = (struct sim_faults){ .latency_ms = 20,
                                        .slow = 800,
                                        .slow_ms = 12000,
                                        .conflict = 300,
                                        .refused = 500,
                                        .request_lost = 500,
                                        .answer_lost = 500,
                                        .answer_lost_too_soon = 200,
                                        .timeout_ms = 4000 };
        for (int i = 0; i < CANDIDATES; i++)
            candidate_start(&w, i);
        for (int turn = 0; turn < 150; turn++) {
            struct candidate *c = &w.all[rand_below(&r, CANDIDATES)];

            run_ms(&w, rand_between(&r, 10, 4000));
            led_ms += leader(&w) >= 0;
            if (rand_chance(&r, 1, 8))
                c->stopped_until_ms = mono(&w) + rand_between(&r, 100, 30000);
            if (rand_chance(&r, 1, 20))
                candidate_kill(c);
            if (rand_chance(&r, 1, 40))
                sim_net_outage(w.net, mono(&w) + rand_between(&r, 100, 20000));
            for (int i = 0; i < CANDIDATES; i++)
                if (!w.all[i].lease || lease_state(w.all[i].lease) == ELECTION_LOST) {
                    candidate_kill(&w.all[i]);
                    candidate_start(&w, i);
                }
        }
        assert_true(led_ms > 0);
        w.faults = (struct sim_faults){ .timeout_ms = 4000 };
        run_ms(&w, 80000);
        assert_true(leader(&w) >= 0);
        end(&w);
    }
}

static void times_that_make_no_sense(void **state)
{
    static const struct {
        struct election_times times;
        const char *says;
    } cases[] = { { { 15000, 15000, 2000 }, "must be shorter than the lease duration" },
                  { { 15000, 10000, 9000 }, "must be longer than 1.2 retry periods" },
                  { { 15000, 10000, 0 }, "retry period" },
                  { { 500, 400, 100 }, "at least 1 s" } };
    struct err e;

    (void)state;
    assert_int_equal(election_times_check(&usual, &e), 0);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_int_equal(election_times_check(&cases[i].times, &e), -1);
        assert_non_null(strstr(e.text, cases[i].says));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_takes_it_and_renews),
        cmocka_unit_test(another_waits_until_the_first_is_silent),
        cmocka_unit_test(a_released_one_is_taken_at_once),
        cmocka_unit_test(a_stopped_leader_writes_no_more),
        cmocka_unit_test(an_answer_that_waited_does_not_count),
        cmocka_unit_test(the_right_begins_with_the_request),
        cmocka_unit_test(outages),
        cmocka_unit_test(a_deleted_lease_is_made_again),
        cmocka_unit_test(who_was_replaced_stops),
        cmocka_unit_test(what_others_put_there_stays),
        cmocka_unit_test(a_label_is_no_sign_of_life),
        cmocka_unit_test(a_lost_answer_is_found_out),
        cmocka_unit_test(never_two),
        cmocka_unit_test(times_that_make_no_sense),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
