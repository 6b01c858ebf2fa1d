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

static int set_up(struct nl *l, struct err *e)
{
    int on = 1;

    if (mnl_socket_bind(l->sock, 0, MNL_SOCKET_AUTOPID) < 0) {
        err_errno(e, "bind a netlink socket");
        nl_close(l);
        return -1;
    }
    (void)mnl_socket_setsockopt(l->sock, NETLINK_EXT_ACK, &on, sizeof(on)); /* old kernels: errors without words */
    /* Answers without our own request in them. */
    (void)mnl_socket_setsockopt(l->sock, NETLINK_CAP_ACK, &on, sizeof(on));
    return 0;
}

int nl_open(struct nl *l, struct err *e)
{
    *l = (struct nl){ .seq = 1 };
    l->sock = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
    return l->sock ? set_up(l, e) : err_errno(e, "open a netlink socket");
}

int nl_open_fd(struct nl *l, int take_fd, struct err *e)
{
    *l = (struct nl){ .seq = 1 };
    l->sock = mnl_socket_fdopen(take_fd);
    if (l->sock)
        return set_up(l, e);
    (void)err_errno(e, "use a netlink socket");
    close(take_fd);
    return -1;
}

void nl_close(struct nl *l)
{
    if (l->sock)
        (void)mnl_socket_close(l->sock); /* nothing is buffered */
    l->sock = NULL;
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

void nl_begin(struct nl *l, uint16_t type, uint16_t flags, const char *what, const void *head, size_t n)
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
    memcpy(take_room(l, n), head, n);
    l->requests[l->n_requests++] = (struct nl_request){ what, false };
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

/* What fails is told in any case, before what comes after it. So only the last one is to be answered always. */
int nl_send(struct nl *l, struct err *e)
{
    _Alignas(NLMSG_ALIGNTO) char reply[REPLY_BYTES];
    size_t n_requests = l->n_requests;
    bool is_over = !n_requests;
    ssize_t n = 0;

    l->error = 0;
    if (n_requests) {
        l->now->nlmsg_flags |= NLM_F_ACK;
        n = mnl_socket_sendto(l->sock, l->bytes, l->n_bytes);
    }
    l->n_requests = l->n_bytes = 0;
    l->now = NULL;
    if (n < 0) {
        l->error = errno;
        return err_errno(e, "send to netlink");
    }
    while (!is_over) {
        n = mnl_socket_recvfrom(l->sock, reply, sizeof(reply));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            l->error = n < 0 ? errno : EPIPE;
            return err_errno(e, "read from netlink");
        }
        is_over = read_acks(l, reply, (int)n, n_requests, e);
    }
    l->seq += (uint32_t)n_requests;
    return l->error ? -1 : 0;
}

/* ---- looking ---- */

struct dump {
    bool (*on_message)(void *ctx, const struct nlmsghdr *m);
    void *ctx;
    bool is_over, is_stopped;
    int error;
};

static void dump_read(struct dump *d, const char *bytes, int n, uint32_t seq)
{
    for (const struct nlmsghdr *m = (const void *)bytes; mnl_nlmsg_ok(m, n); m = mnl_nlmsg_next(m, &n)) {
        if (m->nlmsg_seq != seq)
            continue;
        if (m->nlmsg_type == NLMSG_DONE) {
            d->is_over = true;
        } else if (m->nlmsg_type == NLMSG_ERROR) {
            const struct nlmsgerr *answer = mnl_nlmsg_get_payload(m);

            d->is_over = true;
            d->error = -answer->error;
        } else if (!d->is_stopped) {
            d->is_stopped = !d->on_message(d->ctx, m);
        }
    }
}

/* One request, heard to its end: the answers of a dump must be read, or the next request finds them. */
static int netlink_ask(struct nl *l, struct dump *d, bool is_dump, struct err *e)
{
    _Alignas(NLMSG_ALIGNTO) char reply[REPLY_BYTES];
    uint32_t seq = l->seq;
    ssize_t n;

    l->now->nlmsg_flags = NLM_F_REQUEST | (is_dump ? NLM_F_DUMP : NLM_F_ACK);
    n = mnl_socket_sendto(l->sock, l->bytes, l->n_bytes);
    l->seq++;
    l->n_requests = l->n_bytes = 0;
    l->now = NULL;
    while (n >= 0 && !d->is_over) {
        n = mnl_socket_recvfrom(l->sock, reply, sizeof(reply));
        if (n < 0 && errno == EINTR)
            n = 0;
        else if (n > 0)
            dump_read(d, reply, (int)n, seq);
    }
    if (n < 0)
        d->error = errno;
    errno = d->error;
    return d->error ? err_errno(e, "ask netlink") : 0;
}

int nl_dump(struct nl *l, uint16_t type, uint8_t family, bool (*on_message)(void *ctx, const struct nlmsghdr *m),
            void *ctx, struct err *e)
{
    struct dump d = { on_message, ctx, false, false, 0 };
    struct ifinfomsg head = { .ifi_family = family }; /* at least as long as the heads of routes and addresses */

    assert(l->n_requests == 0);
    nl_begin(l, type, 0, "dump", &head, sizeof(head));
    return netlink_ask(l, &d, true, e);
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
    struct dump d = { take_link, &link, false, false, 0 };
    struct ifinfomsg head = { .ifi_family = AF_UNSPEC };

    assert(l->n_requests == 0);
    nl_begin(l, RTM_GETLINK, 0, "find link", &head, sizeof(head));
    nl_put_text(l, IFLA_IFNAME, name);
    nl_put_u32(l, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
    if (netlink_ask(l, &d, false, NULL) < 0 && d.error != ENODEV) {
        errno = d.error;
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
