/* puller.h - pulls images in child processes
 *
 * A pull waits for network and disk, unpacks untrusted archives, and may take minutes. So each runs in a child: the
 * loop of the program goes on, a crash ends that child alone, and to cancel a pull is to kill it. The next pull
 * continues with the bytes fetched so far.
 *
 *     puller_start();                      one thread; the child is a copy of what we are now
 *     id = puller_ask("busybox:1.36");
 *     poll puller_fd(); while (puller_next(&ev)) …
 */
#ifndef NODE_PULLER_H
#define NODE_PULLER_H

#include "image/image_pull.h"

struct puller;

struct puller_options { /* stays with the caller until puller_stop() */
    const char *store;
    struct registry_options registry; /* borrowed by the child, as it is now */
};

int puller_start(const struct puller_options *o, struct puller **ret, struct err *e);
void puller_stop(struct puller *p); /* kills all pulls; NULL is fine */

int puller_fd(const struct puller *p);

/* It was killed. puller_next() reports all pulls as failed; do not use its descriptor again. */
bool puller_is_gone(const struct puller *p);
bool puller_has_lost(const struct puller *p);        /* … and puller_next() has pulls left to report */
int puller_restart(struct puller *p, struct err *e); /* another one, also with threads; puller_fd() is new */
void puller_look(struct puller *p);                  /* call it periodically: continues a stopped puller */

/* In main(): what a process that puller_restart() executed does; -1: this is none. */
int puller_program(char **argv);

/* Returns at once; never 0. 'login' (may be NULL): for the registry, before those in files. 'is_tenant': see image_pull.h. */
uint64_t puller_ask(struct puller *p, struct str reference, const struct login *login, bool is_tenant);
void puller_cancel(struct puller *p, uint64_t id); /* no more events */

struct puller_event {
    uint64_t id;
    bool is_over; /* else only how far it is: */
    enum image_doing doing;
    int64_t bytes, total;
    struct image_pulled pulled; /* is_over; this and the next */
    struct err err;             /* code ERR_OK: it is there */
};

/* false: nothing now. */
bool puller_next(struct puller *p, struct puller_event *ret);

#endif
