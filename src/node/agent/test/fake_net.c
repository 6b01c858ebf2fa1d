/* fake_net.c - net.h, the filter and the name server, without a network */
#include "node/agent/test/fake_host.h"

#include "node/filter/filter.h"
#include "node/net/net.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { ADDRESSES = 4096, FIRST = 0x0a580002 }; /* 10.88.0.2 */

struct net {
    bool is_taken[ADDRESSES], is_joined[ADDRESSES];
    unsigned next;
};

static void ask(const char *what, const char *about)
{
    buf_fmt(&fake.asked, "%s%s%s%s", fake.asked.n ? "; " : "", what, *about ? " " : "", about);
}

static void ask_address(const char *what, struct in_addr at)
{
    char text[INET_ADDRSTRLEN];

    ask(what, inet_ntop(AF_INET, &at, text, sizeof(text)));
}

/* ---- the network ---- */

int net_open(const struct net_options *opt, struct net **ret, struct err *e)
{
    *ret = xcalloc(1, sizeof(**ret));
    return 0;
}

pid_t net_close_begin(struct net *n)
{
    free(n);
    return 0;
}

void net_close_end(pid_t remover)
{
}

int net_helper_fd(const struct net *n)
{
    return -1;
}

int net_helper_restart(struct net *n, struct err *e)
{
    return 0;
}

void net_let_go(struct net *n)
{
    fake.kept_net = n;
}

void net_note(const struct net *n, struct buf *out)
{
    buf_str(out, STR("net"));
}

size_t net_fds(const struct net *n, int ret[NET_FDS])
{
    ret[0] = STDIN_FILENO;
    return 1;
}

int net_adopt(const struct net_options *opt, const struct net_kept *kept, struct net **ret, struct err *e)
{
    assert_true(str_is(kept->note, "net") && kept->n_fds == 1 && fake.kept_net);
    *ret = fake.kept_net;
    fake.kept_net = NULL;
    memset((*ret)->is_taken, 0, sizeof((*ret)->is_taken)); /* who holds what is to be told anew */
    memset((*ret)->is_joined, 0, sizeof((*ret)->is_joined));
    fake.n_addresses = fake.n_joined = 0;
    return 0;
}

int net_hold(struct net *n, struct in_addr at, struct err *e)
{
    unsigned i = ntohl(at.s_addr) - FIRST;

    ask_address("hold", at);
    assert_true(i < ADDRESSES && !n->is_taken[i] && !n->is_joined[i]);
    n->is_taken[i] = n->is_joined[i] = true;
    fake.n_addresses++;
    fake.n_joined++;
    return 0;
}

const char *net_way_out(const struct net *n, const char **ret_why)
{
    if (ret_why)
        *ret_why = NULL;
    return NULL;
}

int net_sweep(void)
{
    return 0;
}

int net_sweep_run(const char *id)
{
    return 0;
}

struct in_addr net_gateway(const struct net *n)
{
    return (struct in_addr){ htonl(FIRST - 1) };
}

const char *net_bridge(const struct net *n)
{
    return "br0";
}

int net_ns_fd(const struct net *n)
{
    return -1;
}

static unsigned slot(struct in_addr at)
{
    unsigned i = ntohl(at.s_addr) - FIRST;

    if (i >= ADDRESSES)
        fail_msg("address %08x is none of ours", ntohl(at.s_addr));
    return i;
}

int net_take_address(struct net *n, bool is_fenced, struct in_addr *ret, struct err *e)
{
    (void)is_fenced;
    if (fake.fails_address.code)
        return err_set(e, fake.fails_address.code, "%s", fake.fails_address.text);
    if (n->next == ADDRESSES)
        fail_msg("more than %d addresses in one test", ADDRESSES);
    n->is_taken[n->next] = true;
    fake.n_addresses++;
    ret->s_addr = htonl(FIRST + n->next++);
    return 0;
}

void net_give_address(struct net *n, struct in_addr at)
{
    assert_true(n->is_taken[slot(at)]);
    assert_false(n->is_joined[slot(at)]);
    n->is_taken[slot(at)] = false;
    fake.n_addresses--;
}

int net_join_by(struct net *n, int ns_fd, int take_nl_fd, struct in_addr at, struct err *e)
{
    assert_true(ns_fd >= 0 && take_nl_fd >= 0);
    close(take_nl_fd);
    ask_address("join", at);
    if (fake.fails_join.code)
        return err_set(e, fake.fails_join.code, "%s", fake.fails_join.text);
    assert_true(n->is_taken[slot(at)] && !n->is_joined[slot(at)]);
    n->is_joined[slot(at)] = true;
    fake.n_joined++;
    return 0;
}

int net_leave(struct net *n, struct in_addr at, struct err *e)
{
    ask_address("leave", at);
    assert_true(n->is_joined[slot(at)]);
    n->is_joined[slot(at)] = false;
    fake.n_joined--;
    return 0;
}

int net_listen(const struct net *n, uint16_t port, int *ret_fd, struct err *e)
{
    return err_set(e, ERR_IO, "nobody of these tests listens");
}

int net_socket(const struct net *n, int type, int *ret_fd, struct err *e)
{
    (void)n, (void)type, (void)ret_fd;
    return err_set(e, ERR_IO, "nobody is asked");
}

/* ---- the filter ---- */

struct filter_run {
    int fd; /* readable: it has ended */
    struct buf batch;
    struct err result;
};

int filter_begin(const struct filter_table *t, struct str batch, struct filter_run **ret, struct err *e)
{
    if (fake.nft)
        fail_msg("two batches at a time");
    if (t->is_second == fake.is_second)
        fail_msg("the table in force is overwritten");
    ask("nft", "");
    if (fake.fails_nft.code)
        return err_set(e, fake.fails_nft.code, "%s", fake.fails_nft.text);
    fake.nft = *ret = xcalloc(1, sizeof(**ret));
    fake.nft->fd = eventfd(!fake.holds_nft, EFD_CLOEXEC | EFD_NONBLOCK);
    buf_str(&fake.nft->batch, batch);
    return 0;
}

bool filter_look(const char *id, int ns_fd, bool *ret_is_second)
{
    *ret_is_second = fake.is_second;
    return fake.nft_batch.n > 0;
}

int filter_fd(const struct filter_run *r)
{
    return r->fd;
}

void fake_nft_ends(const char *complaint)
{
    if (!fake.nft)
        fail_msg("the filter is not at work");
    if (complaint)
        (void)err_set(&fake.nft->result, ERR_IO, "nf_tables: %s", complaint);
    (void)eventfd_write(fake.nft->fd, 1);
}

int filter_end(struct filter_run *r, struct err *e)
{
    uint64_t is_done = 0;
    int rc = 0;

    if (read(r->fd, &is_done, sizeof(is_done)) != sizeof(is_done)) /* holds_nft: it was not told to end, so it hangs */
        rc = err_set(e, ERR_IO, "nf_tables: it did not end in time");
    else if (r->result.code)
        rc = err_set(e, r->result.code, "%s", r->result.text);
    if (rc == 0) {
        buf_reset(&fake.nft_batch);
        buf_str(&fake.nft_batch, buf_view(&r->batch));
        fake.is_second = !fake.is_second;
    }
    buf_done(&r->batch);
    close(r->fd);
    free(r);
    fake.nft = NULL;
    return rc;
}

/* ---- the name server ---- */

int dns_server_start(struct dns_zone *z, const struct dns_server_options *opt, struct dns_server **ret, struct err *e)
{
    fake.zone = z;
    *ret = (struct dns_server *)&fake;
    return 0;
}

void dns_server_stop(struct dns_server *s)
{
    fake.zone = NULL;
}

void dns_server_lock(struct dns_server *s)
{
    assert_ptr_equal(s, &fake);
}

void dns_server_unlock(struct dns_server *s)
{
    assert_ptr_equal(s, &fake);
}
