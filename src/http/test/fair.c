/* fair.c - tests: one who asks for much does not keep the others waiting */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/util.h"
#include "http/fair.h"
#include "http/server.h"

#include <sys/socket.h>
#include <unistd.h>

/* ---- accounts ---- */

struct waiter {
    struct fair_ticket ticket;
    char name;
};

/* Serve all who wait, each for as long as 'cost_us' says by its name; the order as text. */
static const char *served(struct fair *f, int64_t (*cost_us)(char name), size_t most)
{
    static char order[64];
    size_t n = 0;
    struct fair_ticket *t;

    while (n < most && (t = fair_pop(f))) {
        char name = LIST_ITEM(t, struct waiter, ticket)->name;

        order[n++] = name;
        fair_charge(f, (uint64_t)name, cost_us(name));
    }
    order[n] = '\0';
    return order;
}

static int64_t large_costs_more(char name)
{
    return name == 'L' ? 1000 : 100;
}

static void push_all(struct fair *f, struct waiter *v, const char *names)
{
    for (size_t i = 0; names[i]; i++) {
        v[i] = (struct waiter){ .name = names[i] };
        fair_push(f, (uint64_t)names[i], &v[i].ticket);
    }
}

static void test_cheap_clients_are_first(void **state)
{
    struct waiter v[32];
    struct fair f;

    (void)state;
    fair_init(&f);
    push_all(&f, v, "LLLLssss");
    assert_string_equal(served(&f, large_costs_more, 32), "LssssLLL"); /* before the first nobody knows what L costs */
    push_all(&f, v, "LLLLaabb");
    assert_string_equal(served(&f, large_costs_more, 32), "ababLLLL");
    fair_done(&f);
}

static void test_equal_clients_take_turns(void **state)
{
    struct waiter v[32];
    struct fair f;

    (void)state;
    fair_init(&f);
    push_all(&f, v, "aaaaaab");
    assert_string_equal(served(&f, large_costs_more, 32), "abaaaaa");
    push_all(&f, v, "aaaccc");
    assert_string_equal(served(&f, large_costs_more, 32), "cacaca");
    fair_done(&f);
}

/* Who was away does not come back with a right to everything. */
static void test_rest_earns_no_credit(void **state)
{
    struct waiter v[32];
    struct fair f;

    (void)state;
    fair_init(&f);
    push_all(&f, v, "a");
    (void)served(&f, large_costs_more, 32);
    for (int i = 0; i < 100; i++) {
        push_all(&f, v, "b");
        (void)served(&f, large_costs_more, 32);
    }
    push_all(&f, v, "aaabbb");
    assert_string_equal(served(&f, large_costs_more, 32), "ababab");
    fair_done(&f);
}

static void test_who_leaves_is_not_served(void **state)
{
    struct waiter v[32];
    struct fair f;

    (void)state;
    fair_init(&f);
    push_all(&f, v, "abc");
    fair_leave(&f, &v[1].ticket);
    fair_leave(&f, &v[1].ticket); /* twice is fine */
    assert_string_equal(served(&f, large_costs_more, 32), "ac");
    assert_true(fair_is_empty(&f));
    fair_done(&f);
}

static void test_two_names_of_one_client(void **state)
{
    struct waiter v[32];
    struct fair f;

    (void)state;
    fair_init(&f);
    fair_same(&f, 'x', 'u');
    fair_same(&f, 'y', 'u');
    push_all(&f, v, "xyxyab");
    assert_string_equal(served(&f, large_costs_more, 32), "xabyxy");
    fair_done(&f);
}

static void test_names_without_end(void **state)
{
    struct waiter w = { .name = 'a' };
    struct fair f;

    (void)state;
    fair_init(&f);
    for (uint64_t i = 1; i < 100000; i++) {
        fair_push(&f, i, &w.ticket);
        assert_ptr_equal(fair_pop(&f), &w.ticket);
        fair_charge(&f, i, 50);
        assert_true(f.clients.map.n <= 8192);
    }
    fair_done(&f);
}

/* ---- the server ---- */

static struct {
    struct http_server *server;
    struct clock_manual clock;
    struct buf order; /* of paths, without their '/' */
} t;

/* /L…: 300 ms of work; all others take 1 ms. */
static void on_request(void *ctx, struct http_call *call)
{
    (void)ctx;
    buf_str(&t.order, str_from(call->path, 1));
    buf_char(&t.order, ' ');
    clock_manual_advance(&t.clock, str_starts(call->path, STR("/L")) ? 300 : 1);
    http_answer(call, &(struct http_reply){ .status = 200 }, STR("ok"));
}

static int ask(const char *who, const char *path)
{
    int pair[2], n;
    char text[256];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    assert_int_equal(http_server_add(t.server, pair[1], NULL), 0);
    n = snprintf(text, sizeof(text), "GET /%s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n", path, who);
    assert_int_equal(send(pair[0], text, (size_t)n, 0), n);
    return pair[0];
}

static void test_a_small_request_waits_for_one_large(void **state)
{
    struct http_server_options opt = { .clock = &t.clock.clock, .on_request = on_request };
    int fd[16];
    size_t n = 0;

    (void)state;
    clock_manual_init(&t.clock, 0);
    assert_int_equal(http_server_new(&opt, &t.server, NULL), 0);
    for (int i = 0; i < 12; i++)
        fd[n++] = ask("greedy", "L");
    http_server_turn(t.server);
    assert_int_equal(t.order.n, 2); /* one of them, and the turn is over */
    fd[n++] = ask("modest", "s");
    fd[n++] = ask("Greedy2", "t");
    http_server_turn(t.server);
    buf_char(&t.order, '\0');
    assert_string_equal(t.order.p, "L s t L ");
    while (n)
        close(fd[--n]); /* those who have left are not served any more, or are: nothing breaks */
    for (int i = 0; i < 20; i++)
        http_server_turn(t.server);
    http_server_free(t.server);
    buf_done(&t.order);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cheap_clients_are_first),
        cmocka_unit_test(test_equal_clients_take_turns),
        cmocka_unit_test(test_rest_earns_no_credit),
        cmocka_unit_test(test_who_leaves_is_not_served),
        cmocka_unit_test(test_two_names_of_one_client),
        cmocka_unit_test(test_names_without_end),
        cmocka_unit_test(test_a_small_request_waits_for_one_large),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
