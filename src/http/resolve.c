/* resolve.c - from a name to addresses
 *
 * The C library waits while it asks, so a thread does that, one for a client at a time; all requests that need the
 * addresses wait for the same answer. The thread and the client share a struct lookup; the one that lets go last frees
 * it. So a client can go while a name server makes the thread wait.
 */
#include "http/client_internal.h"

#include "base/util.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/un.h>
#include <unistd.h>

enum { KNOWN_MS = 10000, STACK_BYTES = 256 << 10 };

struct lookup {
    atomic_int holders;
    int event; /* it is over */
    struct address v[ADDRESSES_MAX];
    size_t n;
    char *host, *port;
};

static void lookup_unref(struct lookup *k)
{
    if (atomic_fetch_sub(&k->holders, 1) > 1)
        return;
    (void)close(k->event);
    free(k->host);
    free(k->port);
    free(k);
}

static void resolve_keep(const struct addrinfo *list, struct address *v, size_t *n)
{
    *n = 0;
    for (const struct addrinfo *a = list; a && *n < ADDRESSES_MAX; a = a->ai_next) {
        memcpy(&v[*n].a, a->ai_addr, a->ai_addrlen);
        v[(*n)++].n = a->ai_addrlen;
    }
}

static void look_up(const char *host, const char *port, int flags, struct address *v, size_t *n)
{
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV | flags }, *list = NULL;

    *n = 0;
    if (getaddrinfo(host, port, &hints, &list) != 0) /* whatever the reason: none is known */
        return;
    resolve_keep(list, v, n);
    freeaddrinfo(list);
}

static void *resolve_work(void *arg)
{
    struct lookup *k = arg;
    uint64_t one = 1;

    look_up(k->host, k->port, 0, k->v, &k->n);
    (void)!write(k->event, &one, sizeof(one)); /* there is room for it */
    lookup_unref(k);
    return NULL;
}

/* Signals are for the loop. */
static int thread_start(struct lookup *k)
{
    pthread_attr_t attr;
    sigset_t all, was;
    pthread_t thread;
    int rc;

    (void)sigfillset(&all);
    (void)pthread_attr_init(&attr);
    (void)pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    (void)pthread_attr_setstacksize(&attr, STACK_BYTES);
    (void)pthread_sigmask(SIG_SETMASK, &all, &was);
    rc = pthread_create(&thread, &attr, resolve_work, k);
    (void)pthread_sigmask(SIG_SETMASK, &was, NULL);
    (void)pthread_attr_destroy(&attr);
    return rc;
}

static bool lookup_start(struct http_client *c, const struct url *u)
{
    struct lookup *k = xcalloc(1, sizeof(*k));
    struct epoll_event ev = { .events = EPOLLIN };

    k->host = strdup(u->host);
    k->port = strdup(u->port);
    k->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    atomic_init(&k->holders, 2);
    ev.data.ptr = &c->resolver;
    if (k->event < 0 || epoll_ctl(c->epoll, EPOLL_CTL_ADD, k->event, &ev) < 0 || thread_start(k) != 0) {
        atomic_store(&k->holders, 1);
        lookup_unref(k);
        return false;
    }
    c->resolver.lookup = k;
    return true;
}

/* A path is its own address. */
static void resolve_socket(struct http_client *c)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };

    memcpy(at.sun_path, c->socket, strlen(c->socket)); /* its length was looked at */
    memcpy(&c->resolver.v[0].a, &at, sizeof(at));
    c->resolver.v[0].n = sizeof(at);
    c->resolver.n = 1;
}

bool resolve(struct http_client *c)
{
    const struct url *u = c->proxy.host ? &c->proxy : &c->server;
    struct resolver *r = &c->resolver;

    if (c->socket) {
        resolve_socket(c);
        return true;
    }
    if (r->lookup)
        return false;
    if (r->n && http_mono_ms() < r->known_ms + KNOWN_MS)
        return true;
    look_up(u->host, u->port, AI_NUMERICHOST, r->v, &r->n);
    r->known_ms = http_mono_ms();
    return r->n || !lookup_start(c, u);
}

void resolve_heard(struct http_client *c)
{
    struct resolver *r = &c->resolver;

    memcpy(r->v, r->lookup->v, sizeof(r->v));
    r->n = r->lookup->n;
    r->known_ms = http_mono_ms();
    resolve_done(c);
    LIST_FOREACH(struct link, l, &c->links, link)
        if (l->state == LINK_RESOLVES)
            link_resolved(l);
}

void resolve_done(struct http_client *c)
{
    struct lookup *k = c->resolver.lookup;

    if (!k)
        return;
    c->resolver.lookup = NULL;
    (void)epoll_ctl(c->epoll, EPOLL_CTL_DEL, k->event, NULL); /* the thread may keep it open for a while */
    lookup_unref(k);
}
