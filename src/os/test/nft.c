/* nft.c - tests of batches: what the kernel says to good, bad and very long ones */
#include "os/test/testing.h"

#include "os/nft.h"

#include "os/netlink.h"

#include <arpa/inet.h>
#include <sys/resource.h>

static bool has_nftables;

#define NEED_NFTABLES()                                                                                                \
    do {                                                                                                               \
        if (!has_nftables) {                                                                                           \
            print_message("skipped: no nftables in a network of our own\n");                                           \
            skip();                                                                                                    \
        }                                                                                                              \
    } while (0)

/* Each test begins without tables: in a new network. */
static int own_network(void **state)
{
    return has_nftables && unshare(CLONE_NEWNET) < 0 ? -1 : 0;
}

static int finish(struct nft *t, struct err *e)
{
    autobuf batch = { 0 };

    nft_batch(t, &batch);
    return nft_send(buf_view(&batch), -1, e);
}

static bool count(void *ctx, const struct nlmsghdr *m)
{
    (void)m;
    ++*(int *)ctx;
    return true;
}

static int count_all(uint16_t type)
{
    int n = 0;

    assert_int_equal(nft_dump(-1, type, count, &n, NULL), 0);
    return n;
}

/* The rule comes before what it names, and a set is filled while another is made. */
static void any_order_will_do(void **state)
{
    struct nft_set a = { .name = "a", .key_type = NFT_TYPE_ADDRESS, .key_bytes = 4, .has_verdicts = true };
    struct nft_set b = { .key_type = NFT_TYPE_PORT, .key_bytes = 2, .has_ranges = true };
    struct err e;
    autonft t;

    NEED_NFTABLES();
    nft_init(&t, NFPROTO_INET, "order");
    nft_rule(&t, "from");
    nft_verdict(&t, NFT_JUMP, "to");
    nft_set(&t, &a);
    nft_element_goto(&t, &a, &(uint32_t){ htonl(1) }, "to");
    nft_set(&t, &b);
    nft_element_range(&t, &b, 0, 79);
    nft_element_goto(&t, &a, &(uint32_t){ htonl(2) }, "from");
    nft_element_range(&t, &b, 65000, 65535);
    nft_rule(&t, "to");
    nft_load(&t, 0, NFT_DPORT);
    nft_match_set(&t, 0, &b);
    nft_chain(&t, "from", NULL, "with a comment");
    nft_chain(&t, "to", NULL, NULL);
    nft_table(&t, NULL);
    if (finish(&t, &e) < 0)
        fail_msg("%s", e.text);
    assert_int_equal(count_all(NFT_MSG_GETCHAIN), 2);
    assert_int_equal(count_all(NFT_MSG_GETSET), 2);
    assert_int_equal(count_all(NFT_MSG_GETRULE), 2);
}

/* ---- what is refused ---- */

static void put_no_chain(struct nft *t)
{
    nft_table(t, NULL);
    nft_rule(t, "absent");
    nft_verdict(t, NF_ACCEPT, NULL);
}

static void put_no_type(struct nft *t)
{
    nft_table(t, NULL);
    nft_chain(t, "c", &(struct nft_hook){ "sieve", NF_INET_FORWARD, 0, false }, NULL);
}

static void put_no_set(struct nft *t)
{
    nft_table(t, NULL);
    nft_chain(t, "c", NULL, NULL);
    nft_rule(t, "c");
    nft_load(t, 0, NFT_SADDR);
    nft_match_set(t, 0, &(struct nft_set){ .name = "absent", .number = 7 });
}

static void put_overlap(struct nft *t)
{
    struct nft_set set = { .name = "s", .key_type = NFT_TYPE_ADDRESS, .key_bytes = 4, .has_ranges = true };

    nft_table(t, NULL);
    nft_set(t, &set);
    nft_element_range(t, &set, 10, 20);
    nft_element_range(t, &set, 15, 30);
}

/* As many errors as rules: more than a socket has room for. */
static void put_thousands_of_errors(struct nft *t)
{
    nft_table(t, NULL);
    for (int i = 0; i < 5000; i++) {
        nft_rule(t, "absent");
        nft_verdict(t, NF_ACCEPT, NULL);
    }
    nft_chain(t, "good", NULL, NULL);
}

static void says_what_was_refused(void **state)
{
    static const struct {
        void (*put)(struct nft *t);
        const char *text;
    } cases[] = {
        { put_no_chain, "nf_tables: rule in chain absent (absent): No such file or directory" },
        { put_no_type, "nf_tables: chain c (sieve): No such file or directory" },
        { put_no_set, "nf_tables: rule in chain c" },
        { put_overlap, "nf_tables: element of set s: File exists" },
        { nft_table_delete, "nf_tables: delete table t (t): No such file or directory" },
        { put_thousands_of_errors, "nf_tables: rule in chain absent (absent): No such file or directory" },
    };
    struct err e;

    NEED_NFTABLES();
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autonft t;

        nft_init(&t, NFPROTO_INET, "t");
        cases[i].put(&t);
        assert_int_equal(finish(&t, &e), -1);
        if (!str_starts(str_of(e.text), str_of(cases[i].text)))
            fail_msg("\"%s\" instead of \"%s\"", e.text, cases[i].text);
        assert_int_equal(count_all(NFT_MSG_GETTABLE), 0);
    }
}

/* ---- who may not ---- */

static int forbidden_test(void)
{
    struct err e;
    autonft t;

    if (geteuid() == 0 && setgid(65534) == 0)
        (void)setuid(65534); /* the network is not ours any more */
    nft_init(&t, NFPROTO_INET, "t");
    nft_table(&t, NULL);
    if (finish(&t, &e) == 0 || e.code != ERR_FORBIDDEN || !strstr(e.text, "nf_tables: Operation not permitted"))
        return 1;
    return nft_check(&e) < 0 && strstr(e.text, "network namespace") ? 0 : 2;
}

static void says_when_it_is_not_allowed(void **state)
{
    NEED_NFTABLES();
    if (geteuid() != 0)
        skip();
    assert_int_equal(in_child(forbidden_test), 0);
}

/* ---- very many ---- */

static void put_elements(struct nft *t, struct nft_set *set, size_t bytes)
{
    nft_table_replace(t);
    nft_set(t, set);
    for (uint32_t i = 0; t->parts[NFT_PART_SETS].bytes.n < bytes; i++)
        nft_element(t, set, &(uint32_t){ htonl(i) }, NULL);
}

static size_t most_bytes(void)
{
    autobuf text = { 0 };
    int64_t n = 0;

    assert_int_equal(file_read(AT_FDCWD, "/proc/sys/net/core/wmem_max", 0, 100, &text), 0);
    assert_int_equal(str_to_i64(str_trim(buf_view(&text)), &n), 0);
    return 2 * (size_t)n;
}

static int too_big_test(void)
{
    struct nft_set set = { .name = "s", .key_type = NFT_TYPE_ADDRESS, .key_bytes = 4 };
    struct err e;
    autonft t;

    if (geteuid() == 0 && setgid(65534) == 0)
        (void)setuid(65534);
    if (own_user_namespace() < 0 || unshare(CLONE_NEWNET) < 0)
        return 77;
    nft_init(&t, NFPROTO_INET, "t");
    put_elements(&t, &set, most_bytes() + 1);
    if (finish(&t, &e) == 0 || e.code != ERR_TOO_BIG || !strstr(e.text, "net.core.wmem_max="))
        return 1;
    return count_all(NFT_MSG_GETTABLE) == 0 ? 0 : 2;
}

static void says_when_it_is_too_much(void **state)
{
    int rc;

    NEED_NFTABLES();
    rc = in_child(too_big_test);
    if (rc == 77)
        skip();
    assert_int_equal(rc, 0);
}

#define IN_NETWORK(name) cmocka_unit_test_setup(name, own_network)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_NETWORK(any_order_will_do),
        IN_NETWORK(says_what_was_refused),
        IN_NETWORK(says_when_it_is_not_allowed),
        IN_NETWORK(says_when_it_is_too_much),
    };

    has_nftables = unshare(CLONE_NEWNET) == 0 || (own_user_namespace() == 0 && unshare(CLONE_NEWNET) == 0);
    has_nftables = has_nftables && nft_check(NULL) == 0;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
