/* job_keys.c - jobs that wait for ssh keys
 *
 * If no key pair is ready when a plan needs one, the plan stops and the job waits here. When a pair is ready, the job
 * goes back into the work queue and is planned again. Jobs get their keys in the order of their first request.
 */
#include "base/util.h"
#include "driver/driver_internal.h"
#include "plugin/sshkey.h"

enum { LOOK_AGAIN_MS = 10 };

struct key_waiter {
    struct list_link link; /* driver.keys.waiting */
    struct str key;        /* of the work queue; the bytes follow */
};

void job_keys_init(struct driver *d, uint64_t seed)
{
    list_init(&d->keys.waiting);
    map_init(&d->keys.by_key, seed);
}

static void waiter_free(struct driver *d, struct key_waiter *w)
{
    (void)map_remove(&d->keys.by_key, w->key);
    list_remove(&w->link);
    free(w);
}

void job_keys_done(struct driver *d)
{
    LIST_FOREACH(struct key_waiter, w, &d->keys.waiting, link)
        waiter_free(d, w);
    map_done(&d->keys.by_key);
    key_maker_free(d->keys.maker);
}

static void wait_for_keys(struct driver *d, struct str key)
{
    struct key_waiter *w;
    char *text;

    if (map_get(&d->keys.by_key, key))
        return;
    w = xmalloc(sizeof(*w) + key.n);
    text = (char *)(w + 1);
    *w = (struct key_waiter){ .key = text_put(&text, key) };
    list_push(&d->keys.waiting, &w->link);
    (void)map_put(&d->keys.by_key, w->key, w); /* it was not there */
    d->keys.due_ms = d->run_ms + LOOK_AGAIN_MS;
    if (d->keys.maker)
        key_maker_want(d->keys.maker, map_count(&d->keys.by_key));
}

static int job_keys_make(struct driver *d, struct arena *a, const char *type, struct ssh_keys *ret, struct err *e)
{
    if (d->opt.make_keys)
        return d->opt.make_keys(d->opt.keys_ctx, a, type, ret, e);
    if (strcmp(type, "rsa") != 0)
        return ssh_keys_generate(a, type, ret, e);
    if (!d->keys.maker)
        d->keys.maker = key_maker_new();
    return key_maker_take(d->keys.maker, a, ret, e);
}

int job_keys_take(struct driver *d, struct arena *a, const char *type, struct ssh_keys *ret, struct err *e)
{
    struct key_waiter *w = map_get(&d->keys.by_key, d->planned);

    if (job_keys_make(d, a, type, ret, e) < 0)
        return -1;
    if (!ret->private_pem.n)
        wait_for_keys(d, d->planned);
    else if (w)
        waiter_free(d, w);
    return 0;
}

/* Queue as many jobs as there are pairs. */
void job_keys_tick(struct driver *d)
{
    size_t n = d->keys.maker ? key_maker_ready(d->keys.maker) : SIZE_MAX;

    if (!map_count(&d->keys.by_key) || d->run_ms < d->keys.due_ms)
        return;
    d->keys.due_ms = d->run_ms + LOOK_AGAIN_MS;
    LIST_FOREACH(struct key_waiter, w, &d->keys.waiting, link) {
        if (!n--)
            break;
        work_queue_add(&d->queue, w->key);
        waiter_free(d, w);
    }
    if (d->keys.maker)
        key_maker_want(d->keys.maker, map_count(&d->keys.by_key));
}

int64_t job_keys_due(const struct driver *d)
{
    return map_count(&d->keys.by_key) ? d->keys.due_ms : INT64_MAX;
}
