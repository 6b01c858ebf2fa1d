/* netlink.h - talking rtnetlink: several requests in one message to the kernel, their answers, dumps; namespaces
 *
 *     info = nl_begin(&l, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, "create link", sizeof(*info));
 *     nl_put_text(&l, IFLA_IFNAME, name);
 *     nl_begin(…);
 *     if (nl_send(&l, e) < 0) …
 *
 * A socket speaks to the network namespace its thread was in when it was opened, wherever the thread goes afterwards.
 * The kernel works through the requests in order and goes on after one that failed.
 */
#ifndef OS_NETLINK_H
#define OS_NETLINK_H

#include "base/err.h"

#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NL_REQUESTS_MAX = 16, NL_BYTES_MAX = 4096 };

struct nl_request {
    const char *what; /* for the error text; not copied */
    bool is_optional; /* its failure is ignored */
};

struct nl {
    int fd;
    bool is_open;
    bool was_torn; /* the last nl_dump(): what it lists changed meanwhile, so some may be missing or told twice */
    uint32_t seq;  /* of the first request being built */
    struct nl_request requests[NL_REQUESTS_MAX];
    size_t n_requests, n_bytes;
    struct nlmsghdr *now;
    int error; /* errno of the first failure of the last nl_send() or nl_dump(), 0 if none */
    _Alignas(NLMSG_ALIGNTO) char bytes[NL_BYTES_MAX];
};

/* A netlink socket, close-on-exec, with the kernel's own words about failures. 'bus': NETLINK_ROUTE, NETLINK_NETFILTER.
 * -1 and errno. */
int nl_socket(int bus);

int nl_open(struct nl *l, struct err *e);   /* NETLINK_ROUTE */
void nl_open_fd(struct nl *l, int take_fd); /* over a socket of any bus, perhaps opened in another namespace */
void nl_close(struct nl *l);                /* also one that was never opened, if zeroed */

/* ---- a batch ---- it must fit NL_REQUESTS_MAX and NL_BYTES_MAX: all of it is ours, none from outside ---- */

/* Begin a request; the attributes put from now on are its own. Returns its fixed head of 'n' bytes, cleared, to fill in. */
void *nl_begin(struct nl *l, uint16_t type, uint16_t flags, const char *what, size_t n);
void nl_optional(struct nl *l); /* the request begun last may fail */

void nl_put(struct nl *l, uint16_t type, const void *p, size_t n);
void nl_put_u32(struct nl *l, uint16_t type, uint32_t v);
void nl_put_text(struct nl *l, uint16_t type, const char *text);
struct nlattr *nl_nest(struct nl *l, uint16_t type);
void nl_nest_end(struct nl *l, struct nlattr *nest);
void *nl_put_room(struct nl *l, size_t n); /* raw bytes inside a nest, cleared */

/* Send all requests and wait for all answers. Fails with the first failure ("create link: File exists"), errno in
 * l->error. The batch is empty afterwards. */
int nl_send(struct nl *l, struct err *e);

/* ---- looking ---- */

/* Send the one request that was begun (RTM_GETLINK, RTM_GETROUTE …) and hear of every object of that kind. 'on_message'
 * returns false to hear no more; NULL: only whether it works. */
typedef bool (*nl_message_f)(void *ctx, const struct nlmsghdr *m);
int nl_dump(struct nl *l, nl_message_f on_message, void *ctx, struct err *e);

struct nl_link {
    int index;
    bool is_running; /* the kernel sends packets over it; before, it drops them */
};

/* ERR_NOT_FOUND if there is no such link. */
int nl_link_find(struct nl *l, const char *name, struct nl_link *ret, struct err *e);
int nl_link_index(struct nl *l, const char *name, int *ret, struct err *e);

/* ---- namespaces ----
 *
 * Work in another network namespace is done by a short-lived thread. The calling thread never moves: one that is root
 * only in a user namespace could not go back to a network that its user namespace does not own.
 */

/* Run 'work' inside 'fd' (NETNS_NEW: in a new, empty one) and wait for it; what it returned. -1 if there is no way
 * in. */
enum { NETNS_NEW = -1 };
int netns_run(int fd, int (*work)(void *ctx, struct err *e), void *ctx, struct err *e);

int netns_here(int *ret_fd, struct err *e); /* the thread's own */

/* A new, empty network namespace. It lives as long as the descriptor, a process or a socket in it. */
int netns_new(int *ret_fd, struct err *e);

/* A netlink socket that speaks to the namespace 'fd'. */
int nl_open_in(struct nl *l, int fd, struct err *e);

/* May this process make links here? False in a user namespace that does not own the network it sees. */
bool netns_is_ours(void);

#endif
