/* server_client.c - the clients of bench/server: many connections to a Kubernetes API server, one request at a time each
 *
 *     bench_server_client ready URL
 *     bench_server_client send METHOD CONNECTIONS COUNT PATH [FILE]
 *     bench_server_client fan WATCHES CHANGES PATH NAME
 *     bench_server_client load WATCHES CLIENTS CHANGES PATH
 *
 * ready: until /readyz of a server that may not be there yet is 200; when that was, by the monotonic clock.
 * send: COUNT requests; '@' in PATH and in the body of FILE is the number of the request.
 * fan: all watch PATH, and the object NAME there is changed again when all have heard of the change before.
 * load: each client changes its object PATH/load-N and reads it; each watch is of one of these objects, must see what was
 * written to it once and in order, and begins before the clients do. Somebody else reads all the time.
 *
 * KUBECONFIG says where, and who we are. SERVERS has the pids of the servers: their CPU seconds are part of what is said,
 * which is one line of JSON for each phase. With 'load' a line of input is waited for after each.
 */
#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/util.h"
#include "http/client.h"
#include "kube/config.h"

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>

enum { LIMIT_MS = 120000, STREAM_MS = 3600000, OPENING = 64, PATIENCE_US = 1000 };

static struct http_client *http;
static struct str token;
static unsigned in_flight, failed;

static int64_t now_us(void)
{
    return clock_mono_us(&clock_real);
}

static void run_while(bool (*is_busy)(void *ctx), void *ctx)
{
    while (is_busy(ctx)) {
        (void)poll(&(struct pollfd){ http_fd(http), POLLIN, 0 }, 1, 1000);
        http_turn(http);
    }
}

static bool has_requests(void *ctx)
{
    (void)ctx;
    return in_flight > 0;
}

static void request(struct http_request r)
{
    r.head_ms = r.head_ms ? r.head_ms : LIMIT_MS;
    r.body_type = r.body_type ? r.body_type : "application/json";
    r.token = token;
    in_flight++;
    (void)http_send(http, &r); /* it ends with on_end, and not here */
}

/* The first few are told; whoever asked goes on. */
static bool is_fine(const struct http_answer *a)
{
    in_flight--;
    if (a->status == 200 || a->status == 201)
        return true;
    if (failed++ < 3)
        (void)fprintf(stderr, "%d %s%.*s\n", a->status, a->err.code ? a->err.text : "", STR_ARG(str_cut(a->body, 500)));
    return false;
}

/* ---- what the servers and we take ---- */

static double ticks_of(const char *pid)
{
    char path[64], text[1024] = "";
    unsigned long user = 0, system = 0;
    ssize_t n;

    (void)snprintf(path, sizeof(path), "/proc/%.20s/stat", pid);
    autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
    n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
    text[MAX_OF(n, 0)] = '\0';
    if (!strrchr(text, ')') ||
        sscanf(strrchr(text, ')') + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system) != 2)
        return 0;
    return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

static double servers_cpu_s(void)
{
    struct str rest = str_of(getenv("SERVERS") ? getenv("SERVERS") : ""), word;
    autoarena a = { 0 };
    double sum = 0;

    while (rest.n && str_split(&rest, ',', &word))
        sum += ticks_of(arena_cstr(&a, word));
    return sum;
}

/* Of the first thread of the first server, to the nanosecond. */
static uint64_t server_cpu_ns(void)
{
    static int fd = -1;
    char path[64], text[128];
    ssize_t n;

    if (fd < 0) {
        (void)snprintf(path, sizeof(path), "/proc/%ld/schedstat",
                       strtol(getenv("SERVERS") ? getenv("SERVERS") : "", NULL, 10));
        fd = open(path, O_RDONLY | O_CLOEXEC);
    }
    n = fd < 0 ? 0 : pread(fd, text, sizeof(text) - 1, 0);
    text[MAX_OF(n, 0)] = '\0';
    return strtoull(text, NULL, 10);
}

static double own_cpu_s(void)
{
    struct rusage u;

    (void)getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

struct span {
    int64_t begin_us;
    double servers_s, own_s;
};

static struct span span_begin(void)
{
    return (struct span){ now_us(), servers_cpu_s(), own_cpu_s() };
}

static void span_print(const struct span *s)
{
    printf("\"wall_s\": %.6f, \"server_cpu_s\": %.2f, \"client_cpu_s\": %.3f, \"failed\": %u",
           (double)(now_us() - s->begin_us) / 1e6, servers_cpu_s() - s->servers_s, own_cpu_s() - s->own_s, failed);
}

/* ---- samples ---- */

struct samples {
    int64_t *v;
    size_t n, cap;
};

static void sample(struct samples *s, int64_t value)
{
    if (s->n == s->cap) {
        s->cap = MAX_OF(s->cap * 2, 1024u);
        s->v = xrealloc(s->v, s->cap * sizeof(*s->v));
    }
    s->v[s->n++] = value;
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static void samples_print(struct samples *s, const char *name)
{
    if (s->n)
        qsort(s->v, s->n, sizeof(*s->v), by_value);
    for (int part = 50; part <= 99; part += 49)
        printf(", \"%s_p%d\": %" PRId64, name, part, s->n ? s->v[(s->n - 1) * (size_t)part / 100] : 0);
}

/* ---- ready ---- */

struct ready {
    bool is_over;
    int64_t at_us;
};

static void on_ready(void *ctx, const struct http_answer *a)
{
    struct ready *r = ctx;

    in_flight--;
    r->is_over = a->status == 200;
    r->at_us = now_us();
}

static int do_ready(void)
{
    struct ready r = { 0 };

    while (!r.is_over) {
        request((struct http_request){ .method = "GET", .path = STR("/readyz"), .ctx = &r, .on_end = on_ready });
        run_while(has_requests, NULL);
        if (!r.is_over)
            (void)usleep(PATIENCE_US);
    }
    printf("{\"at_s\": %.6f}\n", (double)r.at_us / 1e6);
    return 0;
}

/* ---- send ---- */

struct sender {
    const char *method;
    struct str path, body;
    unsigned next, count;
    uint64_t bytes;
    struct samples took_us;
};

static void fill_in(struct buf *to, struct str text, unsigned number)
{
    struct str part;
    bool is_first = true;

    buf_reset(to);
    while (text.n && str_split(&text, '@', &part)) {
        if (!is_first)
            buf_fmt(to, "%u", number);
        is_first = false;
        buf_str(to, part);
    }
}

static void send_end(void *ctx, const struct http_answer *a);

static void send_data(void *ctx, struct str data)
{
    ((struct sender *)ctx)->bytes += data.n;
}

static void send_next(struct sender *s)
{
    autobuf path = { 0 }, body = { 0 };

    if (s->next == s->count)
        return;
    fill_in(&path, s->path, s->next);
    fill_in(&body, s->body, s->next++);
    request((struct http_request){ .method = s->method,
                                   .path = buf_view(&path),
                                   .body = s->body.n ? buf_view(&body) : STR_NULL,
                                   .ctx = s,
                                   .on_data = send_data,
                                   .on_end = send_end });
}

static void send_end(void *ctx, const struct http_answer *a)
{
    struct sender *s = ctx;

    (void)is_fine(a);
    sample(&s->took_us, a->took_us);
    send_next(s);
}

static void on_warm(void *ctx, const struct http_answer *a)
{
    (void)ctx;
    (void)is_fine(a);
}

/* Connections are made and keys exchanged before anything is counted. */
static void connect_all(unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        request((struct http_request){ .method = "GET", .path = STR("/version"), .on_end = on_warm });
    run_while(has_requests, NULL);
}

static int do_send(const char *method, unsigned connections, unsigned count, const char *path, struct str body)
{
    struct sender s = { .method = method, .path = str_of(path), .body = body, .count = count };
    struct span span;

    connect_all(connections);
    span = span_begin();
    for (unsigned i = 0; i < connections; i++)
        send_next(&s);
    run_while(has_requests, NULL);
    printf("{");
    span_print(&span);
    samples_print(&s.took_us, "us");
    printf(", \"bytes\": %" PRIu64 "}\n", s.bytes);
    free(s.took_us.v);
    return failed != 0;
}

/* ---- watches ---- */

/* The first revision in the text: of an event that of its object, of a list its own. */
static uint64_t revision_in(struct str text)
{
    static const char key[] = "\"resourceVersion\":\"";
    const char *at = memmem(text.p, text.n, key, sizeof(key) - 1);

    return at ? strtoull(at + sizeof(key) - 1, NULL, 10) : 0;
}

static void on_listed(void *ctx, const struct http_answer *a)
{
    if (is_fine(a))
        *(uint64_t *)ctx = revision_in(a->body);
}

static uint64_t revision_of(struct str path)
{
    autobuf url = { 0 };
    uint64_t rev = 0;

    buf_fmt(&url, "%.*s?limit=1", STR_ARG(path));
    request((struct http_request){ .method = "GET", .path = buf_view(&url), .ctx = &rev, .on_end = on_listed });
    run_while(has_requests, NULL);
    return rev;
}

/* ---- fan ---- */

struct fan {
    struct str path;
    const char *name;
    unsigned watches, opened, heads;
    unsigned changes, done, heard;
    bool is_answered;
    uint64_t rev;
    int64_t sent_us;
    struct samples took_us;
};

static void fan_open(struct fan *f);
static void fan_change(struct fan *f);

static bool is_opening(void *ctx)
{
    const struct fan *f = ctx;

    return !failed && f->heads < f->watches;
}

static bool is_fanning(void *ctx)
{
    const struct fan *f = ctx;

    return !failed && f->done < f->changes;
}

static void fan_head(void *ctx, const struct http_answer *a)
{
    struct fan *f = ctx;

    f->heads += a->status == 200;
    if (f->opened < f->watches)
        fan_open(f);
}

/* Of one change, all have heard and the writer is answered: the next. */
static void fan_advance(struct fan *f)
{
    if (!f->is_answered || f->heard < f->watches)
        return;
    f->done++;
    if (f->done < f->changes)
        fan_change(f);
}

static void fan_data(void *ctx, struct str data)
{
    struct fan *f = ctx;

    for (size_t i = 0; i < data.n; i++)
        if (data.p[i] == '\n') {
            sample(&f->took_us, now_us() - f->sent_us);
            f->heard++;
        }
    fan_advance(f);
}

static void fan_end(void *ctx, const struct http_answer *a)
{
    (void)ctx;
    failed++; /* none ends by itself */
    (void)fprintf(stderr, "a watch ended: %d %s\n", a->status, a->err.code ? a->err.text : "");
}

static void fan_open(struct fan *f)
{
    autobuf url = { 0 };

    f->opened++;
    buf_fmt(&url, "%.*s?watch=1&resourceVersion=%" PRIu64, STR_ARG(f->path), f->rev);
    request((struct http_request){ .method = "GET",
                                   .path = buf_view(&url),
                                   .idle_ms = STREAM_MS,
                                   .ctx = f,
                                   .on_head = fan_head,
                                   .on_data = fan_data,
                                   .on_end = fan_end });
}

static void fan_answered(void *ctx, const struct http_answer *a)
{
    struct fan *f = ctx;

    f->is_answered = is_fine(a);
    fan_advance(f);
}

static void fan_change(struct fan *f)
{
    autobuf url = { 0 }, body = { 0 };

    f->heard = 0;
    f->is_answered = false;
    buf_fmt(&url, "%.*s/%s", STR_ARG(f->path), f->name);
    buf_fmt(&body, "{\"metadata\":{\"annotations\":{\"change\":\"%u\"}}}", f->done);
    f->sent_us = now_us();
    request((struct http_request){ .method = "PATCH",
                                   .path = buf_view(&url),
                                   .body = buf_view(&body),
                                   .body_type = "application/merge-patch+json",
                                   .ctx = f,
                                   .on_end = fan_answered });
}

static int do_fan(unsigned watches, unsigned changes, const char *path, const char *name)
{
    struct fan f = { .path = str_of(path), .name = name, .watches = watches, .changes = changes };
    struct span span;

    f.rev = revision_of(f.path);
    for (unsigned i = 0; i < MIN_OF(watches, (unsigned)OPENING); i++)
        fan_open(&f);
    run_while(is_opening, &f);
    span = span_begin();
    fan_change(&f);
    run_while(is_fanning, &f);
    printf("{");
    span_print(&span);
    samples_print(&f.took_us, "us");
    printf(", \"events\": %zu}\n", f.took_us.n);
    free(f.took_us.v);
    return failed != 0;
}

/* ---- load ---- */

struct watcher {
    struct load *load;
    unsigned object, seen;
    struct buf line;
    uint64_t *revs; /* 'changes' of them */
};

struct worker {
    struct load *load;
    unsigned object, done;
    uint64_t *revs;
};

struct load {
    struct str path;
    unsigned watches, clients, changes;
    unsigned opened, heads, waiting; /* of the watches: asked for, there, not told all yet */
    unsigned begun, working;         /* of the clients */
    uint64_t rev, events;
    struct watcher *watchers;
    struct worker *workers;
    struct samples probe_us, probe_ns; /* of one who only reads: time, and the server's CPU meanwhile */
    uint64_t probe_cpu_ns;
    unsigned probes; /* at most; 0: while others work */
    bool is_probing;
};

static struct str load_url(struct buf *to, const struct load *l, unsigned object)
{
    buf_reset(to);
    buf_fmt(to, "%.*s/load-%u", STR_ARG(l->path), object);
    return buf_view(to);
}

/* A watch that was told too much is told so at the end. */
static void watcher_line(struct watcher *w, struct str line)
{
    struct load *l = w->load;

    l->events++;
    if (w->seen < l->changes)
        w->revs[w->seen] = revision_in(line);
    if (++w->seen == l->changes)
        l->waiting--;
}

static void watcher_data(void *ctx, struct str data)
{
    struct watcher *w = ctx;

    for (const char *end; data.n && (end = memchr(data.p, '\n', data.n));) {
        size_t n = (size_t)(end - data.p) + 1;

        buf_str(&w->line, str_sub(data, 0, n));
        watcher_line(w, buf_view(&w->line));
        buf_done(&w->line);
        data = str_from(data, n);
    }
    if (data.n)
        buf_str(&w->line, data);
}

static void watcher_open(struct load *l);

static void watcher_head(void *ctx, const struct http_answer *a)
{
    struct load *l = ((struct watcher *)ctx)->load;

    l->heads += a->status == 200;
    if (l->opened < l->watches)
        watcher_open(l);
}

static void watcher_open(struct load *l)
{
    struct watcher *w = &l->watchers[l->opened];
    autobuf url = { 0 };

    *w = (struct watcher){ .load = l, .object = l->opened % l->clients, .revs = xcalloc(l->changes, sizeof(*w->revs)) };
    l->opened++;
    buf_fmt(&url, "%.*s?watch=1&resourceVersion=%" PRIu64 "&fieldSelector=metadata.name%%3Dload-%u&timeoutSeconds=3600",
            STR_ARG(l->path), l->rev, w->object);
    request((struct http_request){ .method = "GET",
                                   .path = buf_view(&url),
                                   .idle_ms = STREAM_MS,
                                   .ctx = w,
                                   .on_head = watcher_head,
                                   .on_data = watcher_data,
                                   .on_end = fan_end });
}

static bool is_load_opening(void *ctx)
{
    const struct load *l = ctx;

    return !failed && l->heads < l->watches;
}

static bool is_load_busy(void *ctx)
{
    const struct load *l = ctx;

    return !failed && (l->working || l->waiting || l->is_probing);
}

static void worker_change(struct worker *w);
static void worker_begin(struct load *l);

static void worker_listed(void *ctx, const struct http_answer *a)
{
    (void)is_fine(a);
    ((struct worker *)ctx)->load->working--;
}

static void worker_list(struct worker *w)
{
    autobuf url = { 0 };

    buf_fmt(&url, "%.*s?limit=50", STR_ARG(w->load->path));
    request((struct http_request){ .method = "GET", .path = buf_view(&url), .ctx = w, .on_end = worker_listed });
}

static void worker_read(void *ctx, const struct http_answer *a)
{
    struct worker *w = ctx;

    if (is_fine(a) && revision_in(a->body) != w->revs[w->done]) {
        (void)fprintf(stderr, "load-%u: what was written last is not what is read\n", w->object);
        failed++;
    }
    if (++w->done < w->load->changes)
        worker_change(w);
    else
        worker_list(w);
}

static void worker_changed(void *ctx, const struct http_answer *a)
{
    struct worker *w = ctx;
    autobuf url = { 0 };

    if (is_fine(a))
        w->revs[w->done] = revision_in(a->body);
    if (!w->done && w->load->begun < w->load->clients)
        worker_begin(w->load);
    request((struct http_request){
        .method = "GET", .path = load_url(&url, w->load, w->object), .ctx = w, .on_end = worker_read });
}

static void worker_change(struct worker *w)
{
    autobuf url = { 0 }, body = { 0 };

    buf_fmt(&body, "{\"metadata\":{\"annotations\":{\"change\":\"%u\"}}}", w->done);
    request((struct http_request){ .method = "PATCH",
                                   .path = load_url(&url, w->load, w->object),
                                   .body = buf_view(&body),
                                   .body_type = "application/merge-patch+json",
                                   .ctx = w,
                                   .on_end = worker_changed });
}

static void worker_begin(struct load *l)
{
    struct worker *w = &l->workers[l->begun];

    *w = (struct worker){ .load = l, .object = l->begun++, .revs = xcalloc(l->changes, sizeof(*w->revs)) };
    worker_change(w);
}

static void probe(struct load *l);

static void probed(void *ctx, const struct http_answer *a)
{
    struct load *l = ctx;

    (void)is_fine(a);
    sample(&l->probe_us, a->took_us);
    sample(&l->probe_ns, (int64_t)(server_cpu_ns() - l->probe_cpu_ns));
    l->is_probing = l->probes ? l->probe_us.n < l->probes : l->working || l->waiting;
    if (l->is_probing)
        probe(l);
}

static void probe(struct load *l)
{
    autobuf url = { 0 };

    l->is_probing = true;
    l->probe_cpu_ns = server_cpu_ns();
    request(
        (struct http_request){ .method = "GET", .path = load_url(&url, l, l->clients), .ctx = l, .on_end = probed });
}

static void phase_end(const char *name, struct load *l, const struct span *span)
{
    char line[8];

    printf("{\"phase\": \"%s\", ", name);
    span_print(span);
    samples_print(&l->probe_us, "get_us");
    samples_print(&l->probe_ns, "get_cpu_ns");
    printf(", \"gets\": %zu, \"events\": %" PRIu64 "}\n", l->probe_us.n, l->events);
    (void)fflush(stdout);
    l->probe_us.n = l->probe_ns.n = 0;
    (void)!fgets(line, sizeof(line), stdin); /* at its end we go on */
}

/* Watches that saw something else than what was written. */
static unsigned count_wrong(const struct load *l)
{
    unsigned wrong = 0;

    for (unsigned i = 0; i < l->watches; i++)
        wrong += l->watchers[i].seen != l->changes ||
                 memcmp(l->watchers[i].revs, l->workers[l->watchers[i].object].revs, l->changes * sizeof(uint64_t)) !=
                     0;
    return wrong;
}

/* Not all connect at once: whoever has to wait for too long before it can speak is sent away. */
static void load_work(struct load *l)
{
    l->working = l->clients;
    l->waiting = l->watches;
    l->probes = 0;
    probe(l);
    for (unsigned i = 0; i < MIN_OF(l->clients, (unsigned)OPENING); i++)
        worker_begin(l);
    run_while(is_load_busy, l);
}

static int do_load(unsigned watches, unsigned clients, unsigned changes, const char *path)
{
    struct load l = { .path = str_of(path), .watches = watches, .clients = clients, .changes = changes, .probes = 500 };
    struct span span;
    unsigned wrong;

    l.watchers = xcalloc(watches, sizeof(*l.watchers));
    l.workers = xcalloc(clients, sizeof(*l.workers));
    l.rev = revision_of(l.path);
    span = span_begin();
    probe(&l);
    run_while(is_load_busy, &l);
    phase_end("quiet", &l, &span);
    span = span_begin();
    while (l.opened < MIN_OF(watches, (unsigned)OPENING))
        watcher_open(&l);
    run_while(is_load_opening, &l);
    phase_end("watches", &l, &span);
    span = span_begin();
    load_work(&l);
    phase_end("clients", &l, &span);
    wrong = count_wrong(&l);
    printf("{\"phase\": \"over\", \"wrong\": %u, \"failed\": %u}\n", wrong, failed);
    return failed || wrong;
}

/* ---- who we are ---- */

static int open_url(const char *url, struct err *e)
{
    struct http_options opt = { .url = str_of(url), .tls.is_insecure = true, .connect_ms = LIMIT_MS };

    return http_client_new(&opt, &http, e);
}

static int open_config(struct arena *a, struct err *e)
{
    struct kube_config_options where = { .env = kube_env_real() };
    struct kube_config config;
    struct http_options opt;

    if (kube_config_load(a, &where, &config, e) < 0)
        return -1;
    opt = kube_config_http(&config, STR("bench"));
    opt.connect_ms = LIMIT_MS;
    token = config.token;
    return http_client_new(&opt, &http, e);
}

static void allow_connections(void)
{
    struct rlimit files;

    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &files); /* else connections fail, and say so */
    }
}

static struct str read_file(struct arena *a, const char *path)
{
    autobuf text = { 0 };
    autofile FILE *f = path ? fopen(path, "r") : NULL;
    size_t n;

    while (f && (n = fread(buf_reserve(&text, 4096), 1, 4096, f)) > 0)
        text.n += n;
    return arena_str(a, buf_view(&text));
}

static unsigned number(const char *text)
{
    return (unsigned)strtoul(text, NULL, 10);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    autoarena a = { 0 };
    struct err e = { 0 };
    int status = 2;

    (void)signal(SIGPIPE, SIG_IGN);
    allow_connections();
    if ((strcmp(mode, "ready") == 0 && argc == 3 ? open_url(argv[2], &e) : open_config(&a, &e)) < 0) {
        (void)fprintf(stderr, "%s\n", e.text);
        return 2;
    }
    if (strcmp(mode, "ready") == 0)
        status = do_ready();
    else if (strcmp(mode, "send") == 0 && argc >= 6)
        status = do_send(argv[2], number(argv[3]), number(argv[4]), argv[5], read_file(&a, argc > 6 ? argv[6] : NULL));
    else if (strcmp(mode, "fan") == 0 && argc == 6)
        status = do_fan(number(argv[2]), number(argv[3]), argv[4], argv[5]);
    else if (strcmp(mode, "load") == 0 && argc == 6)
        status = do_load(number(argv[2]), number(argv[3]), number(argv[4]), argv[5]);
    http_client_free(http);
    return status;
}
