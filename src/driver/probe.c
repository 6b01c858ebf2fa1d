/* probe.c - one connection for each question and pod
 *
 *     NEW ──address known──▶ CONNECTS ──writable──▶ (TCP) PASSED
 *      ▲                        │ (HTTP) request sent ──▶ READS ──"HTTP/1.1 2xx or 3xx"──▶ PASSED
 *      └── RESTS ◀──refused, another answer, or nothing for a second──┘
 */
#include "driver/probe.h"

#include "api/meta.h"
#include "base/clock.h"
#include "base/util.h"
#include "driver/driver_internal.h"
#include "flow/flow.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

enum { ANSWER_MS = 1000, REST_MS = 1000, LOOK_MS = 20 };

enum probe_state { PROBE_NEW, PROBE_CONNECTS, PROBE_READS, PROBE_RESTS, PROBE_PASSED };

struct probe {
    enum probe_state state;
    int fd;
    int64_t due_ms;        /* by the machine's own clock: a network knows no other */
    char head[16];         /* of the answer */
    size_t n;              /* bytes of it */
    struct str key, asker; /* the bytes follow this struct */
};

struct pod_address {
    struct str uid, ip; /* the bytes follow this struct */
};

void probes_init(struct driver *d)
{
    map_init(&d->probes.by_key, d->opt.seed);
    map_init(&d->probes.addresses, d->opt.seed);
}

static void hang_up(struct probe *p)
{
    if (p->fd >= 0)
        close(p->fd);
    p->fd = -1;
}

static void probe_free(struct probe *p)
{
    hang_up(p);
    free(p);
}

void probes_done(struct driver *d)
{
    MAP_FOREACH(struct probe *, p, &d->probes.by_key)
        probe_free(p);
    MAP_FOREACH(struct pod_address *, a, &d->probes.addresses)
        free(a);
    map_done(&d->probes.by_key);
    map_done(&d->probes.addresses);
}

void probes_forget(struct driver *d, struct str key)
{
    struct map_iter it = map_iter(&d->probes.by_key);
    struct probe *p;

    while ((p = map_next(&it)))
        if (str_eq(p->asker, key)) {
            map_remove(&d->probes.by_key, p->key);
            probe_free(p);
        }
    if (map_count(&d->probes.by_key))
        return;
    MAP_FOREACH(struct pod_address *, a, &d->probes.addresses)
        free(a);
    map_clear(&d->probes.addresses);
}

/* ---- addresses ---- */

static bool probe_is_wanted(const struct driver *d, struct str uid)
{
    MAP_FOREACH(const struct probe *, p, &d->probes.by_key)
        if (str_starts(p->key, uid))
            return true;
    return false;
}

void probe_seen(struct driver *d, const struct object *pod)
{
    struct str ip = json_text(json_find(pod->root, "status", "podIP", NULL), STR(""));
    struct pod_address *a;
    char *text;

    if (!map_count(&d->probes.by_key) || !ip.n || map_get(&d->probes.addresses, pod->uid) ||
        !probe_is_wanted(d, pod->uid))
        return;
    a = xcalloc(1, sizeof(*a) + pod->uid.n + ip.n);
    text = (char *)(a + 1);
    a->uid = text_put(&text, pod->uid);
    a->ip = text_put(&text, ip);
    map_put(&d->probes.addresses, a->uid, a);
}

/* ---- one connection ---- */

static void probe_rest(struct probe *p, int64_t now_ms)
{
    hang_up(p);
    p->state = PROBE_RESTS;
    p->due_ms = now_ms + REST_MS;
}

static socklen_t probe_address_of(struct str ip, uint16_t port, struct sockaddr_storage *ret)
{
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)ret;
    struct sockaddr_in *four = (struct sockaddr_in *)ret;
    char text[INET6_ADDRSTRLEN] = "";

    *ret = (struct sockaddr_storage){ 0 };
    if (ip.n >= sizeof(text))
        return 0;
    memcpy(text, ip.p, ip.n);
    if (inet_pton(AF_INET, text, &four->sin_addr) == 1) {
        four->sin_family = AF_INET;
        four->sin_port = htons(port);
        return sizeof(*four);
    }
    if (inet_pton(AF_INET6, text, &six->sin6_addr) != 1)
        return 0;
    six->sin6_family = AF_INET6;
    six->sin6_port = htons(port);
    return sizeof(*six);
}

static int probe_open_socket(const struct driver *d, sa_family_t family)
{
    if (d->opt.open_socket && family == AF_INET)
        return d->opt.open_socket(d->opt.socket_ctx);
    return socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

static void probe_begin(const struct driver *d, struct probe *p, struct str ip, const struct flow_question *q,
                        int64_t now_ms)
{
    struct sockaddr_storage to;
    socklen_t n = probe_address_of(ip, q->port, &to);

    p->n = 0;
    p->fd = n ? probe_open_socket(d, to.ss_family) : -1;
    if (p->fd < 0 || (connect(p->fd, (struct sockaddr *)&to, n) < 0 && errno != EINPROGRESS)) {
        probe_rest(p, now_ms);
        return;
    }
    p->state = PROBE_CONNECTS;
    p->due_ms = now_ms + ANSWER_MS;
}

/* It fits into what a new connection takes at once. */
static bool send_request(const struct probe *p, struct str ip, const struct flow_question *q)
{
    bool is_six = str_has_char(ip, ':');
    autobuf text = { 0 };

    buf_fmt(&text, "GET %.*s HTTP/1.1\r\nHost: %s%.*s%s:%u\r\nUser-Agent: pumice-probe\r\nAccept: */*\r\n",
            STR_ARG(q->path.n ? q->path : STR("/")), is_six ? "[" : "", STR_ARG(ip), is_six ? "]" : "", q->port);
    if (q->header_name.n)
        buf_fmt(&text, "%.*s: %.*s\r\n", STR_ARG(q->header_name), STR_ARG(q->header_value));
    buf_str(&text, STR("Connection: close\r\n\r\n"));
    return send(p->fd, text.p, text.n, MSG_NOSIGNAL) == (ssize_t)text.n;
}

static void probe_connected(struct probe *p, struct str ip, const struct flow_question *q, int64_t now_ms)
{
    socklen_t n = sizeof(int);
    int failed = 0;

    if (getsockopt(p->fd, SOL_SOCKET, SO_ERROR, &failed, &n) < 0 || failed || (q->is_http && !send_request(p, ip, q))) {
        probe_rest(p, now_ms);
        return;
    }
    p->state = q->is_http ? PROBE_READS : PROBE_PASSED;
    p->due_ms = now_ms + ANSWER_MS;
    if (!q->is_http)
        hang_up(p);
}

/* "HTTP/1.1 204": the first twelve bytes say it all. */
static void readable(struct probe *p, int64_t now_ms)
{
    enum { STATUS_AT = 9, HEAD = 12 };
    ssize_t n = recv(p->fd, p->head + p->n, HEAD - p->n, 0);

    if (n <= 0) {
        if (n == 0 || (errno != EAGAIN && errno != EINTR))
            probe_rest(p, now_ms);
        return;
    }
    p->n += (size_t)n;
    if (p->n < HEAD)
        return;
    if (memcmp(p->head, "HTTP/1.", 7) == 0 && (p->head[STATUS_AT] == '2' || p->head[STATUS_AT] == '3')) {
        p->state = PROBE_PASSED;
        hang_up(p);
    } else {
        probe_rest(p, now_ms);
    }
}

static void probe_look(const struct driver *d, struct probe *p, struct str ip, const struct flow_question *q,
                       int64_t now_ms)
{
    struct pollfd poller = { .fd = p->fd, .events = p->state == PROBE_CONNECTS ? POLLOUT : POLLIN };

    if (p->state == PROBE_NEW || (p->state == PROBE_RESTS && now_ms >= p->due_ms)) {
        probe_begin(d, p, ip, q, now_ms);
        poller = (struct pollfd){ .fd = p->fd, .events = POLLOUT };
    }
    if (p->fd < 0)
        return;
    if (poll(&poller, 1, 0) > 0) {
        if (p->state == PROBE_CONNECTS)
            probe_connected(p, ip, q, now_ms);
        else if (p->state == PROBE_READS)
            readable(p, now_ms);
    } else if (now_ms >= p->due_ms) {
        probe_rest(p, now_ms);
    }
}

/* ---- pods ---- */

static struct probe *probe_need(struct driver *d, struct str asker, struct str uid, const struct flow_question *q)
{
    autoarena scratch = { 0 };
    struct str key = arena_fmt(&scratch, "%.*s %u %d %.*s %.*s:%.*s", STR_ARG(uid), q->port, q->is_http,
                               STR_ARG(q->path), STR_ARG(q->header_name), STR_ARG(q->header_value));
    struct probe *p = map_get(&d->probes.by_key, key);
    char *text;

    if (p)
        return p;
    p = xcalloc(1, sizeof(*p) + key.n + asker.n);
    text = (char *)(p + 1);
    p->key = text_put(&text, key);
    p->asker = text_put(&text, asker);
    p->fd = -1;
    map_put(&d->probes.by_key, p->key, p);
    return p;
}

/* When to look again, in milliseconds; 0: it has passed. */
static int64_t probe_pod(struct driver *d, struct str key, const struct cache_job *job, const struct job_pod *pod,
                         const struct flow_question *q)
{
    struct str uid = str_of(pod->view.uid);
    struct probe *p = probe_need(d, key, uid, q);
    const struct pod_address *at = map_get(&d->probes.addresses, uid);
    int64_t now_ms = clock_mono_ms(&clock_real);

    if (p->state == PROBE_PASSED)
        return 0;
    if (!at && now_ms >= p->due_ms) {
        p->due_ms = now_ms + REST_MS; /* it may have none yet */
        request_read(d, key, (struct object_id){ known_types()->pod, job->object->namespace, pod->name, uid });
    }
    if (!at)
        return REST_MS;
    probe_look(d, p, at->ip, q, now_ms);
    if (p->state == PROBE_PASSED)
        return 0;
    return p->state == PROBE_CONNECTS || p->state == PROBE_READS ? LOOK_MS : REST_MS;
}

bool probe_task(struct driver *d, struct str key, const struct cache_job *job, const struct flow_question *q,
                int64_t *again_ms)
{
    bool do_all = true;

    for (size_t i = 0; i < job->pods.n_tasks; i++) {
        const struct task_pods *t = &job->pods.tasks[i];

        for (uint32_t k = 0; str_eq(job->pods.task_names[i], q->task) && k < t->n; k++) {
            const struct job_pod *pod = t->slots[k].pod;

            if (!pod || (pod->view.phase != POD_RUNNING && pod->view.phase != POD_SUCCEEDED)) {
                do_all = false; /* there will be news of it */
                continue;
            }
            if (pod->view.phase == POD_RUNNING && !d->opt.assumes_answers) {
                int64_t ms = probe_pod(d, key, job, pod, q);

                do_all &= ms == 0;
                *again_ms = ms ? MIN_OF(*again_ms, ms) : *again_ms;
            }
        }
    }
    return do_all;
}
