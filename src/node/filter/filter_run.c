/* filter_run.c - the kernel at work on a batch: a thread of its own waits for it
 *
 * A table must not be deleted and made again in one transaction. A packet reads which generation of the rules is in
 * force several times on its way, in each base chain and in each set; if that changes meanwhile, it may meet old rules
 * with the new sets, or two chains when each of them is empty, and pass where neither the old nor the new rules let it.
 * So there are two transactions: the new table comes while the old one is whole, then the old one goes while the new
 * one is whole. Between them a packet must be let pass by both.
 *
 * The last of the two, thread or caller, frees what they share.
 */
#include "node/filter/filter.h"

#include "base/util.h"
#include "os/nft.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>

struct filter_run {
    int fd, ns_fd;
    struct buf new, old; /* a batch that makes a table, one that deletes the other */
    int rc;              /* this and the next are the thread's until 'fd' is readable */
    struct err e;
    atomic_int users;
};

static void filter_run_leave(struct filter_run *r)
{
    if (atomic_fetch_sub(&r->users, 1) > 1)
        return;
    autoclose_done(&r->fd);
    autoclose_done(&r->ns_fd);
    buf_done(&r->new);
    buf_done(&r->old);
    free(r);
}

static void *filter_run_work(void *arg)
{
    struct filter_run *r = arg;

    (void)prctl(PR_SET_NAME, "pumice-filter"); /* for ps and debuggers */
    r->rc = nft_send(buf_view(&r->new), r->ns_fd, &r->e);
    if (r->rc == 0)
        r->rc = nft_send(buf_view(&r->old), r->ns_fd, &r->e);
    (void)eventfd_write(r->fd, 1); /* it holds one */
    filter_run_leave(r);
    return NULL;
}

static int filter_run_start(struct filter_run *r)
{
    sigset_t all, old;
    pthread_t thread;
    int rc;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &old); /* signals are for the program's own threads */
    rc = pthread_create(&thread, NULL, filter_run_work, r);
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    errno = rc;
    return rc ? -1 : pthread_detach(thread);
}

enum { TABLE_NAME = 32 };

static void name_table(char ret[TABLE_NAME], const char *id, bool is_second)
{
    (void)snprintf(ret, TABLE_NAME, "pumice_%.20s_%c", id, is_second ? 'b' : 'a');
}

static void write_delete(const char *name, struct buf *out)
{
    autonft t;

    nft_init(&t, NFPROTO_INET, name);
    nft_table(&t, NULL); /* it need not be there */
    nft_table_delete(&t);
    nft_batch(&t, out);
}

static void write_batches(struct filter_run *r, const struct filter_table *t, struct str batch)
{
    char new[TABLE_NAME], old[TABLE_NAME];

    name_table(new, t->id, t->is_second);
    name_table(old, t->id, !t->is_second);
    nft_for_table(batch, new, &r->new);
    write_delete(old, &r->old);
}

int filter_begin(const struct filter_table *t, struct str batch, struct filter_run **ret, struct err *e)
{
    struct filter_run *r = xcalloc(1, sizeof(*r));

    r->users = 2;
    r->ns_fd = t->ns_fd < 0 ? -1 : fcntl(t->ns_fd, F_DUPFD_CLOEXEC, 0);
    r->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    write_batches(r, t, batch);
    if (r->fd < 0 || (t->ns_fd >= 0 && r->ns_fd < 0) || filter_run_start(r) < 0) {
        (void)err_errno(e, "start the packet filter thread");
        r->users = 1;
        filter_run_leave(r);
        return -1;
    }
    *ret = r;
    return 0;
}

int filter_fd(const struct filter_run *r)
{
    return r->fd;
}

int filter_end(struct filter_run *r, struct err *e)
{
    eventfd_t n;
    int rc = -1;

    if (eventfd_read(r->fd, &n) < 0)
        (void)err_set(e, ERR_IO, "nf_tables did not answer within %d s", FILTER_PATIENCE_MS / 1000);
    else if ((rc = r->rc) < 0 && e)
        *e = r->e;
    filter_run_leave(r);
    return rc;
}

/* ---- what is in force ---- */

struct tables {
    char names[2][TABLE_NAME];
    bool is_there[2];
};

static bool look_at_table(void *ctx, const struct nlmsghdr *m)
{
    const struct nfgenmsg *head = mnl_nlmsg_get_payload(m);
    struct tables *t = ctx;
    const struct nlattr *a;

    if (head->nfgen_family != NFPROTO_INET)
        return true;
    mnl_attr_for_each(a, m, sizeof(struct nfgenmsg))
        for (size_t i = 0; i < ARRAY_LEN(t->names); i++)
            if (mnl_attr_get_type(a) == NFTA_TABLE_NAME && mnl_attr_validate(a, MNL_TYPE_NUL_STRING) >= 0 &&
                strcmp(mnl_attr_get_str(a), t->names[i]) == 0)
                t->is_there[i] = true;
    return true;
}

bool filter_look(const char *id, int ns_fd, bool *ret_is_second)
{
    struct tables t = { 0 };
    autobuf batch = { 0 };

    name_table(t.names[0], id, false);
    name_table(t.names[1], id, true);
    (void)nft_dump(ns_fd, NFT_MSG_GETTABLE, look_at_table, &t, NULL); /* no nftables here: then no table either */
    if (t.is_there[0] && t.is_there[1]) {
        write_delete(t.names[0], &batch);
        (void)nft_send(buf_view(&batch), ns_fd, NULL); /* it goes with the next one that comes into force */
    }
    *ret_is_second = t.is_there[1];
    return t.is_there[0] || t.is_there[1];
}
