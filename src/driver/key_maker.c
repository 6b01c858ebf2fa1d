/* key_maker.c - RSA keys for the ssh plugin, made by a thread of their own */
#include "driver/key_maker.h"

#include "base/util.h"
#include "plugin/sshkey.h"

#include <openssl/crypto.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

enum { PAIRS_MAX = 16, NICE = 10, STACK_BYTES = 512 << 10 };

struct maker_pair {
    struct arena arena;
    struct ssh_keys keys;
    struct err e; /* ERR_OK: there are keys */
};

struct key_maker {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
    bool has_thread;
    bool is_over;    /* locked, as all that follows */
    size_t n_wanted; /* by those who wait */
    struct maker_pair *ready[PAIRS_MAX];
    size_t n_ready;
};

/* ---- pairs ---- */

static struct maker_pair *pair_make(void)
{
    struct maker_pair *p = xcalloc(1, sizeof(*p));

    if (ssh_keys_generate(&p->arena, "rsa", &p->keys, &p->e) == 0)
        p->e.code = ERR_OK;
    return p;
}

static void pair_free(struct maker_pair *p)
{
    if (p->keys.private_pem.n)
        OPENSSL_cleanse((char *)p->keys.private_pem.p, p->keys.private_pem.n);
    arena_done(&p->arena);
    free(p);
}

/* ---- the thread ---- */

static bool must_make(const struct key_maker *m)
{
    return m->n_ready < MIN_OF(m->n_wanted, (size_t)PAIRS_MAX);
}

static void *make_pairs(void *ctx)
{
    struct key_maker *m = ctx;
    struct maker_pair *p;

    (void)setpriority(PRIO_PROCESS, (id_t)gettid(), NICE); /* of this thread: the loop comes first */
    pthread_mutex_lock(&m->lock);
    while (!m->is_over) {
        if (!must_make(m)) {
            pthread_cond_wait(&m->changed, &m->lock);
            continue;
        }
        pthread_mutex_unlock(&m->lock);
        p = pair_make();
        pthread_mutex_lock(&m->lock);
        m->ready[m->n_ready++] = p; /* only this thread adds any */
    }
    pthread_mutex_unlock(&m->lock);
    return NULL;
}

/* Signals are for the loop. */
static void thread_start(struct key_maker *m)
{
    pthread_attr_t attr;
    sigset_t all, was;

    (void)sigfillset(&all);
    (void)pthread_attr_init(&attr);
    (void)pthread_attr_setstacksize(&attr, STACK_BYTES);
    (void)pthread_sigmask(SIG_SETMASK, &all, &was);
    m->has_thread = pthread_create(&m->thread, &attr, make_pairs, m) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &was, NULL);
    (void)pthread_attr_destroy(&attr);
}

/* ---- */

struct key_maker *key_maker_new(void)
{
    struct key_maker *m = xcalloc(1, sizeof(*m));

    pthread_mutex_init(&m->lock, NULL);
    pthread_cond_init(&m->changed, NULL);
    return m;
}

void key_maker_free(struct key_maker *m)
{
    if (!m)
        return;
    pthread_mutex_lock(&m->lock);
    m->is_over = true;
    pthread_cond_signal(&m->changed);
    pthread_mutex_unlock(&m->lock);
    if (m->has_thread)
        pthread_join(m->thread, NULL);
    for (size_t i = 0; i < m->n_ready; i++)
        pair_free(m->ready[i]);
    pthread_cond_destroy(&m->changed);
    pthread_mutex_destroy(&m->lock);
    free(m);
}

int key_maker_take(struct key_maker *m, struct arena *a, struct ssh_keys *ret, struct err *e)
{
    struct maker_pair *p = NULL;
    int rc = 0;

    *ret = (struct ssh_keys){ 0 };
    pthread_mutex_lock(&m->lock);
    if (m->n_ready)
        p = m->ready[--m->n_ready];
    pthread_mutex_unlock(&m->lock);
    if (!p)
        return 0;
    if (p->e.code != ERR_OK)
        rc = err_set(e, p->e.code, "%s", p->e.text);
    else
        *ret = (struct ssh_keys){ arena_str(a, p->keys.private_pem), arena_str(a, p->keys.public_line) };
    pair_free(p);
    return rc;
}

void key_maker_want(struct key_maker *m, size_t n)
{
    pthread_mutex_lock(&m->lock);
    m->n_wanted = n;
    if (must_make(m))
        pthread_cond_signal(&m->changed);
    pthread_mutex_unlock(&m->lock);
    if (n && !m->has_thread)
        thread_start(m);
}

size_t key_maker_ready(struct key_maker *m)
{
    size_t n;

    pthread_mutex_lock(&m->lock);
    n = m->n_ready;
    pthread_mutex_unlock(&m->lock);
    return n;
}
