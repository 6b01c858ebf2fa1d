/* netlink.c - rtnetlink requests, answers and dumps; going into a network namespace and back */
#include "os/netlink.h"

#include "base/util.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/nsfs.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

enum { REPLY_BYTES = 32 * 1024 }; /* the kernel fills dumps up to this */

/* Old kernels have neither: errors without words, and answers with our own request in them. */
static void ask_for_words(int fd)
{
    int on = 1;

    (void)setsockopt(fd, SOL_NETLINK, NETLINK_EXT_ACK, &on, sizeof(on));
    (void)setsockopt(fd, SOL_NETLINK, NETLINK_CAP_ACK, &on, sizeof(on));
}

int nl_socket(int bus)
{
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, bus);

    if (fd >= 0)
        ask_for_words(fd);
    return fd;
}

void nl_open_fd(struct nl *l, int take_fd)
{
    *l = (struct nl){ .fd = take_fd, .is_open = true, .seq = 1 };
    ask_for_words(take_fd);
}

int nl_open(struct nl *l, struct err *e)
{
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

    *l = (struct nl){ 0 };
    if (fd < 0)
        return err_errno(e, "open a netlink socket");
    nl_open_fd(l, fd);
    return 0;
}

void nl_close(struct nl *l)
{
    if (l->is_open)
        (void)close(l->fd); /* nothing is buffered */
    l->is_open = false;
}

/* One datagram with answers. */
static ssize_t nl_receive(const struct nl *l, void *bytes, size_t size)
{
    ssize_t n;

    do
        n = recv(l->fd, bytes, size, MSG_TRUNC);
    while (n < 0 && errno == EINTR);
    if (n >= 0 && (n == 0 || (size_t)n > size)) {
        errno = n ? ENOSPC : EPIPE;
        return -1;
    }
    return n;
}

/* ---- a batch ---- */

/* Room for 'n' more bytes of the request being built. */
static void *take_room(struct nl *l, size_t n)
{
    void *p = l->bytes + l->n_bytes;

    n = NLMSG_ALIGN(n);
    assert(l->n_bytes + n <= sizeof(l->bytes));
    memset(p, 0, n);
    l->n_bytes += n;
    if (l->now)
        l->now->nlmsg_len += (uint32_t)n;
    return p;
}

void *nl_begin(struct nl *l, uint16_t type, uint16_t flags, const char *what, size_t n)
{
    struct nlmsghdr *m;

    assert(l->n_requests < NL_REQUESTS_MAX);
    l->now = NULL;
    m = take_room(l, sizeof(*m));
    m->nlmsg_type = type;
    m->nlmsg_flags = NLM_F_REQUEST | flags;
    m->nlmsg_seq = l->seq + (uint32_t)l->n_requests;
    m->nlmsg_len = sizeof(*m);
    l->now = m;
    l->requests[l->n_requests++] = (struct nl_request){ what, false };
    return take_room(l, n);
}

void nl_optional(struct nl *l)
{
    l->requests[l->n_requests - 1].is_optional = true;
}

void nl_put(struct nl *l, uint16_t type, const void *p, size_t n)
{
    struct nlattr *a = take_room(l, sizeof(*a) + n);

    a->nla_type = type;
    a->nla_len = (uint16_t)(sizeof(*a) + n);
    if (n)
        memcpy(a + 1, p, n);
}

void nl_put_u32(struct nl *l, uint16_t type, uint32_t v)
{
    nl_put(l, type, &v, sizeof(v));
}

void nl_put_text(struct nl *l, uint16_t type, const char *text)
{
    nl_put(l, type, text, strlen(text) + 1);
}

struct nlattr *nl_nest(struct nl *l, uint16_t type)
{
    struct nlattr *a = take_room(l, sizeof(*a));

    a->nla_type = type;
    return a;
}

void nl_nest_end(struct nl *l, struct nlattr *nest)
{
    nest->nla_len = (uint16_t)(l->bytes + l->n_bytes - (char *)nest);
}

void *nl_put_room(struct nl *l, size_t n)
{
    return take_room(l, n);
}

/* The kernel's own words about a failure; NULL if it gave none. */
static const char *ack_words(const struct nlmsghdr *m)
{
    const struct nlattr *a;

    if (!(m->nlmsg_flags & NLM_F_ACK_TLVS) || !(m->nlmsg_flags & NLM_F_CAPPED))
        return NULL;
    mnl_attr_for_each(a, m, sizeof(struct nlmsgerr))
        if (mnl_attr_get_type(a) == NLMSGERR_ATTR_MSG && mnl_attr_validate(a, MNL_TYPE_NUL_STRING) >= 0)
            return mnl_attr_get_str(a);
    return NULL;
}

static void netlink_note_failure(struct nl *l, const struct nl_request *r, const struct nlmsghdr *m, int error,
                                 struct err *e)
{
    const char *words = ack_words(m);

    if (r->is_optional || l->error)
        return;
    l->error = errno = error;
    if (words)
        (void)err_errno(e, "%s (%s)", r->what, words); /* the caller sees l->error */
    else
        (void)err_errno(e, "%s", r->what);
}

/* Take the answers out of one datagram. True: that to the last request is among them. */
static bool read_acks(struct nl *l, const char *bytes, int n, size_t n_requests, struct err *e)
{
    bool is_over = false;

    for (const struct nlmsghdr *m = (const void *)bytes; mnl_nlmsg_ok(m, n); m = mnl_nlmsg_next(m, &n)) {
        const struct nlmsgerr *answer = mnl_nlmsg_get_payload(m);
        uint32_t at = m->nlmsg_seq - l->seq;

        if (m->nlmsg_type != NLMSG_ERROR || at >= n_requests || mnl_nlmsg_get_payload_len(m) < sizeof(*answer))
            continue;
        is_over |= at == n_requests - 1;
        if (answer->error)
            netlink_note_failure(l, &l->requests[at], m, -answer->error, e);
    }
    return is_over;
}

/* A failed request is always answered, and before those after it. So only the last one asks for an answer. */
int nl_send(struct nl *l, struct err *e)
{
    _Alignas(NLMSG_ALIGNTO) char reply[REPLY_BYTES];
    size_t n_requests = l->n_requests;
    bool is_over = !n_requests;
    ssize_t n = 0;

    l->error = 0;
    if (n_requests) {
        l->now->nlmsg_flags |= NLM_F_ACK;
        n = send(l->fd, l->bytes, l->n_bytes, 0);
    }
    l->n_requests = l->n_bytes = 0;
    l->now = NULL;
    if (n < 0) {
        l->error = errno;
        return err_errno(e, "send to netlink");
    }
    while (!is_over) {
        n = nl_receive(l, reply, sizeof(reply));
        if (n < 0) {
            l->error = errno;
            return err_errno(e, "read from netlink");
        }
        is_over = read_acks(l, reply, (int)n, n_requests, e);
    }
    l->seq += (uint32_t)n_requests;
    return l->error ? -1 : 0;
}

/* ---- looking ---- */

struct dump {
    nl_message_f on_message; /* may be NULL */
    void *ctx;
    bool is_over;
};

static void dump_read(struct nl *l, struct dump *d, const char *bytes, int n)
{
    for (const struct nlmsghdr *m = (const void *)bytes; mnl_nlmsg_ok(m, n); m = mnl_nlmsg_next(m, &n)) {
        if (m->nlmsg_seq != l->seq)
            continue;
        l->was_torn |= (m->nlmsg_flags & NLM_F_DUMP_INTR) != 0;
        if (m->nlmsg_type == NLMSG_DONE) {
            d->is_over = true;
        } else if (m->nlmsg_type == NLMSG_ERROR) {
            d->is_over = true;
            l->error = -((const struct nlmsgerr *)mnl_nlmsg_get_payload(m))->error;
        } else if (d->on_message && !d->on_message(d->ctx, m)) {
            d->on_message = NULL;
        }
    }
}

/* One request, heard to its end: the answers of a dump must be read, or the next request finds them. */
static int netlink_ask(struct nl *l, struct dump *d, uint16_t flags, struct err *e)
{
    _Alignas(NLMSG_ALIGNTO) char reply[REPLY_BYTES];
    const char *what = l->requests[0].what;
    ssize_t n;

    assert(l->n_requests == 1);
    l->now->nlmsg_flags = NLM_F_REQUEST | flags;
    n = send(l->fd, l->bytes, l->n_bytes, 0);
    l->n_requests = l->n_bytes = 0;
    l->now = NULL;
    l->error = 0;
    l->was_torn = false;
    while (n >= 0 && !d->is_over) {
        n = nl_receive(l, reply, sizeof(reply));
        if (n > 0)
            dump_read(l, d, reply, (int)n);
    }
    l->seq++;
    if (n < 0)
        l->error = errno;
    errno = l->error;
    return l->error ? err_errno(e, "%s", what) : 0;
}

int nl_dump(struct nl *l, nl_message_f on_message, void *ctx, struct err *e)
{
    return netlink_ask(l, &(struct dump){ .on_message = on_message, .ctx = ctx }, NLM_F_DUMP, e);
}

static bool take_link(void *ctx, const struct nlmsghdr *m)
{
    const struct ifinfomsg *head = mnl_nlmsg_get_payload(m);
    const struct nlattr *a;
    struct nl_link *link = ctx;

    if (m->nlmsg_type != RTM_NEWLINK || mnl_nlmsg_get_payload_len(m) < sizeof(*head))
        return true;
    link->index = head->ifi_index;
    mnl_attr_for_each(a, m, sizeof(*head))
        if (mnl_attr_get_type(a) == IFLA_OPERSTATE && mnl_attr_get_payload_len(a) >= 1)
            link->is_running = mnl_attr_get_u8(a) == IF_OPER_UP;
    return true;
}

int nl_link_find(struct nl *l, const char *name, struct nl_link *ret, struct err *e)
{
    struct nl_link link = { -1, false };
    struct dump d = { .on_message = take_link, .ctx = &link };

    (void)nl_begin(l, RTM_GETLINK, 0, "find link", sizeof(struct ifinfomsg));
    nl_put_text(l, IFLA_IFNAME, name);
    nl_put_u32(l, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
    if (netlink_ask(l, &d, NLM_F_ACK, NULL) < 0 && l->error != ENODEV) {
        errno = l->error;
        return err_errno(e, "find link %s", name);
    }
    if (link.index < 0)
        return err_set(e, ERR_NOT_FOUND, "link %s does not exist", name);
    *ret = link;
    return 0;
}

int nl_link_index(struct nl *l, const char *name, int *ret, struct err *e)
{
    struct nl_link link;

    if (nl_link_find(l, name, &link, e) < 0)
        return -1;
    *ret = link.index;
    return 0;
}

/* ---- namespaces ---- */

struct netlink_visit {
    int fd;
    int (*work)(void *ctx, struct err *e);
    void *ctx;
    int rc;
    struct err e;
};

static void *visit_run(void *arg)
{
    struct netlink_visit *v = arg;

    if (v->fd == NETNS_NEW && unshare(CLONE_NEWNET) < 0)
        v->rc = err_errno(&v->e, "create a network namespace (needs root, or root in a user namespace)");
    else if (v->fd != NETNS_NEW && setns(v->fd, CLONE_NEWNET) < 0)
        v->rc = err_errno(&v->e, "enter a network namespace");
    else
        v->rc = v->work(v->ctx, &v->e);
    return NULL;
}

int netns_run(int fd, int (*work)(void *ctx, struct err *e), void *ctx, struct err *e)
{
    struct netlink_visit v = { .fd = fd, .work = work, .ctx = ctx };
    sigset_t all, old;
    pthread_t thread;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &old); /* signals are for the program's own threads */
    errno = pthread_create(&thread, NULL, visit_run, &v);
    v.rc = errno ? err_errno(&v.e, "start a thread") : (pthread_join(thread, NULL), v.rc);
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (v.rc < 0 && e)
        *e = v.e;
    return v.rc;
}

int netns_here(int *ret_fd, struct err *e)
{
    int fd = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return err_errno(e, "open the network namespace of this thread");
    *ret_fd = fd;
    return 0;
}

static int take_here(void *ctx, struct err *e)
{
    return netns_here(ctx, e);
}

int netns_new(int *ret_fd, struct err *e)
{
    return netns_run(NETNS_NEW, take_here, ret_fd, e);
}

static int open_here(void *ctx, struct err *e)
{
    return nl_open(ctx, e);
}

int nl_open_in(struct nl *l, int fd, struct err *e)
{
    *l = (struct nl){ 0 };
    if (fd < 0)
        return err_set(e, ERR_INVALID, "no network namespace was given");
    return netns_run(fd, open_here, l, e);
}

bool netns_is_ours(void)
{
    autoclose int net = -1, user = -1;
    struct stat own, owner;

    if (netns_here(&net, NULL) < 0)
        return false;
    user = ioctl(net, NS_GET_USERNS); /* EPERM: it belongs further up */
    return user >= 0 && fstat(user, &owner) == 0 && stat("/proc/self/ns/user", &own) == 0 &&
           own.st_ino == owner.st_ino && own.st_dev == owner.st_dev;
}
