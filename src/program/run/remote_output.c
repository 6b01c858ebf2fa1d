/* remote_output.c - the node of a run whose pods are a server's: what their containers write
 *
 * Each pod that has a node has a stream of records (src/kubelet/records.c). One that breaks off is opened again and goes
 * on behind the last record that came: records of a container come in the order in which they were written; attempt and
 * time identify them. While the reader of the run is far behind, streams are closed, and opened again when there
 * is room.
 */
#include "program/run/remote.h"

#include "base/clock.h"
#include "base/util.h"
#include "driver/cache.h"
#include "kube/path.h"

#include <sys/epoll.h>

enum {
    RETRY_MIN_MS = 100,
    RETRY_MAX_MS = 2000,
    SILENT_MS = 3000, /* before it is said */
};

struct remote_container {
    struct str name;
    int64_t ended;    /* attempts */
    int64_t attempt;  /* the last record: of this attempt … */
    int64_t at_ns;    /* … written then … */
    int64_t n_at;     /* … the so many of that time */
    int64_t n_passed; /* … of which so many came again */
    bool is_again;    /* the stream was opened again, and nothing that is new has come since */
};

struct remote_pod {
    struct list_link link;
    struct run_remote *remote;
    struct arena arena;
    struct object *object; /* as it is now */
    struct kube_stream *stream;
    struct buf text; /* records that were not taken yet, the last of them in part */
    bool is_over;    /* no more will come */
    bool has_lost;   /* something, which was said */
    int64_t retry_ms, due_ms;
    VEC(struct remote_container *) containers;
};

static int64_t remote_output_mono(void)
{
    return clock_mono_ms(&clock_real);
}

static struct remote_pod *pod_of(const struct run_remote *m, struct str uid)
{
    LIST_FOREACH(struct remote_pod, p, &m->pods, link)
        if (str_eq(p->object->uid, uid))
            return p;
    return NULL;
}

static struct remote_container *remote_output_container_of(struct remote_pod *p, struct str name)
{
    struct remote_container *made;

    VEC_FOREACH(c, &p->containers)
        if (str_eq((*c)->name, name))
            return *c;
    made = arena_new(&p->arena, struct remote_container);
    made->name = arena_str(&p->arena, name);
    made->attempt = -1;
    *vec_push(&p->arena, &p->containers) = made;
    return made;
}

/* ---- records ---- */

/* Containers of a server do not wait for the reader: old output is discarded in the end. */
static void tell_loss(struct remote_pod *p)
{
    const struct history_pod *pod = history_pod(p->remote->run->history, p->object->uid);

    if (!p->has_lost)
        run_say(p->remote->run, arena_fmt(p->remote->arena,
                                          "%.*s writes faster than it is read: some lines are lost (a server keeps the "
                                          "last 50 MiB of a container)",
                                          STR_ARG(pod->label)));
    p->has_lost = true;
}

/* Has it come before? After a pause the server repeats the last records that it still keeps. */
static bool is_old(struct remote_pod *p, struct remote_container *c, int64_t attempt, int64_t at_ns)
{
    if (attempt != c->attempt || at_ns != c->at_ns) {
        if (attempt < c->attempt || (attempt == c->attempt && at_ns < c->at_ns))
            return true;
        if (c->is_again && attempt == c->attempt && !c->n_passed)
            tell_loss(p);
        c->is_again = false;
        c->attempt = attempt;
        c->at_ns = at_ns;
        c->n_at = c->n_passed = 0;
    }
    if (c->n_passed < c->n_at) {
        c->n_passed++;
        return true;
    }
    c->n_passed = ++c->n_at;
    return false;
}

static void take_usage(struct remote_pod *p, struct str rest)
{
    int64_t n[3] = { -1, -1, -1 };
    struct str word;

    for (size_t i = 0; i < ARRAY_LEN(n) && str_split(&rest, ' ', &word); i++)
        (void)str_to_i64(word, &n[i]);
    history_usage(
        p->remote->run->history, p->object->uid,
        (struct history_sample){ .at_ms = clock_now_ms(p->remote->run->clock), .cpu_us = n[0], .memory_bytes = n[1] },
        n[2]);
}

static void take_record(struct remote_pod *p, struct str rest)
{
    struct str name, attempt, what, tag, at;
    struct remote_container *c;
    int64_t number, at_ns;

    if (!str_split(&rest, ' ', &name) || !str_split(&rest, ' ', &attempt))
        return;
    if (str_is(name, "-")) {
        take_usage(p, rest);
        return;
    }
    if (str_to_i64(attempt, &number) < 0 || !str_split(&rest, ' ', &what))
        return;
    c = remote_output_container_of(p, name);
    if (str_is(what, "lost")) {
        tell_loss(p);
        return;
    }
    if (str_is(what, "end")) {
        c->ended = MAX_OF(c->ended, number + 1);
        return;
    }
    if (!str_split(&rest, ' ', &tag) || !str_split(&rest, ' ', &at) || str_to_i64(at, &at_ns) < 0 ||
        is_old(p, c, number, at_ns))
        return;
    run_output(p->remote->run, &(struct agent_output){ .namespace = p->object->namespace,
                                                       .pod = p->object->name,
                                                       .uid = p->object->uid,
                                                       .container = c->name,
                                                       .root = p->object->root,
                                                       .stream = str_is(what, "err") ? CONLOG_STDERR : CONLOG_STDOUT,
                                                       .is_partial = str_is(tag, "P"),
                                                       .at_ms = at_ns / 1000000,
                                                       .text = rest });
}

/* Lines have the label of their pod: nothing is taken before the history knows it. */
static void take_records(struct remote_pod *p)
{
    struct str rest = buf_view(&p->text);
    ptrdiff_t end;

    if (!rest.n || !history_pod(p->remote->run->history, p->object->uid))
        return;
    while ((end = str_find_char(rest, '\n')) >= 0) {
        take_record(p, str_sub(rest, 0, (size_t)end));
        rest = str_from(rest, (size_t)end + 1);
    }
    memmove(p->text.p, rest.p, rest.n);
    p->text.n = rest.n;
}

static void remote_output_on_data(void *ctx, struct str data)
{
    struct remote_pod *p = ctx;

    p->retry_ms = 0;
    buf_str(&p->text, data);
    take_records(p);
}

/* Without an error the server has sent everything. A pod that it has forgotten has no more output either. */
static void remote_output_on_end(void *ctx, const struct err *e)
{
    struct remote_pod *p = ctx;

    p->stream = NULL;
    p->is_over = !e || e->code == ERR_NOT_FOUND || e->code == ERR_FORBIDDEN;
    if (e && e->code == ERR_FORBIDDEN && !p->remote->is_deaf)
        run_say(p->remote->run, arena_fmt(p->remote->arena, "cannot show the output of containers: %s", e->text));
    p->remote->is_deaf |= e && e->code == ERR_FORBIDDEN;
    p->retry_ms = MIN_OF(MAX_OF(p->retry_ms * 2, (int64_t)RETRY_MIN_MS), (int64_t)RETRY_MAX_MS);
    p->due_ms = remote_output_mono() + p->retry_ms;
}

/* ---- streams ---- */

/* Nothing older is needed; 0: there are containers that wrote nothing yet. */
static int64_t since_ns(const struct remote_pod *p)
{
    const struct json *spec = json_get(p->object->root, "spec");
    int64_t ns = INT64_MAX;

    if (p->containers.n < json_count(json_get(spec, "containers")) + json_count(json_get(spec, "initContainers")))
        return 0;
    VEC_FOREACH(c, &p->containers)
        ns = MIN_OF(ns, (*c)->at_ns);
    return ns == INT64_MAX ? 0 : ns;
}

static void open_stream(struct remote_pod *p)
{
    struct kube_stream_events events = { .ctx = p, .on_data = remote_output_on_data, .on_end = remote_output_on_end };
    autobuf path = { 0 };
    struct err e;

    buf_reset(&p->text);
    VEC_FOREACH(c, &p->containers) {
        (*c)->n_passed = 0;
        (*c)->is_again = true;
    }
    path_object(&path, known_types()->pod, p->object->namespace, p->object->name, "log");
    path_query(&path, "records", STR("true"));
    path_query(&path, "uid", p->object->uid);
    buf_fmt(&path, "&since=%lld", (long long)since_ns(p));
    if (kube_ask_stream(p->remote->streams, buf_view(&path), &events, &p->stream, &e) < 0) {
        p->stream = NULL;
        p->due_ms = remote_output_mono() + RETRY_MAX_MS; /* no credential: the user may renew it */
    }
}

static void close_stream(struct remote_pod *p)
{
    if (p->stream)
        kube_stream_end(p->stream);
    p->stream = NULL;
}

void remote_pod_seen(struct run_remote *m, const struct object *pod)
{
    struct remote_pod *p = pod_of(m, pod->uid);

    if (!p && !json_member_text(json_get(pod->root, "spec"), "nodeName").n)
        return;
    if (!p) {
        p = xcalloc(1, sizeof(*p));
        p->remote = m;
        list_push(&m->pods, &p->link);
    }
    object_unref(p->object);
    p->object = object_ref(pod);
    if (!p->stream && !p->is_over && remote_output_mono() >= p->due_ms)
        open_stream(p);
}

/* Attempts of a container that have ended, as the pod says. */
static int64_t ended_of(const struct json *status)
{
    const struct json *state = json_get(status, "state");
    int64_t n = json_i64(json_get(status, "restartCount"), 0);

    if (json_get(state, "running"))
        return n;
    return json_get(state, "terminated") || json_find(status, "lastState", "terminated", NULL) ? n + 1 : 0;
}

bool remote_pod_is_read(struct run_remote *m, const struct object *pod, bool is_gone)
{
    static const char *const lists[] = { "initContainerStatuses", "containerStatuses" };
    struct remote_pod *p = pod_of(m, pod->uid);

    if (!p || (p->is_over && !p->text.n) || !history_pod(m->run->history, pod->uid))
        return true;
    if (is_gone)
        return false;
    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        JSON_FOREACH(s, json_find(pod->root, "status", lists[i], NULL))
            if (ended_of(s) > remote_output_container_of(p, json_member_text(s, "name"))->ended)
                return false;
    return true;
}

/* ---- the node ---- */

/* Said once when it is long, and once when it is over. */
static void watch_silence(struct run_remote *m)
{
    struct err e;
    bool is_silent = remote_eyes_trouble(m, &e);

    if (!is_silent) {
        if (m->is_told)
            run_say(m->run, STR("the server answers again"));
        m->silent_ms = -1;
        m->is_told = false;
        return;
    }
    if (m->silent_ms < 0)
        m->silent_ms = remote_output_mono();
    if (m->is_told || remote_output_mono() < m->silent_ms + SILENT_MS)
        return;
    m->is_told = true;
    run_say(m->run,
            arena_fmt(m->arena, "lost the connection to the server; its jobs keep running; retrying: %s", e.text));
}

static void pace_streams(struct run_remote *m)
{
    size_t room = run_output_room(m->run);

    LIST_FOREACH(struct remote_pod, p, &m->pods, link) {
        take_records(p);
        if (room == 0)
            close_stream(p);
        else if (!p->stream && !p->is_over && room > RUN_OUT_MAX / 2 && remote_output_mono() >= p->due_ms)
            open_stream(p);
    }
}

static int64_t node_turn(void *ctx, bool *ret_busy)
{
    struct run_remote *m = ctx;
    int64_t due_ms;

    *ret_busy = false;
    kube_ask_turn(m->streams);
    remote_eyes_hear(m);
    watch_silence(m);
    pace_streams(m);
    due_ms = remote_eyes_due(m);
    LIST_FOREACH(struct remote_pod, p, &m->pods, link)
        if (!p->stream && !p->is_over)
            due_ms = MIN_OF(due_ms, p->due_ms);
    if (m->silent_ms >= 0 && !m->is_told)
        due_ms = MIN_OF(due_ms, m->silent_ms + SILENT_MS);
    return due_ms == INT64_MAX ? due_ms : clock_now_ms(m->run->clock) + MAX_OF(due_ms - remote_output_mono(), 0);
}

static size_t node_pods(void *ctx)
{
    struct run_remote *m = ctx;
    size_t n = !remote_eyes_are_empty(m);

    LIST_FOREACH(struct remote_pod, p, &m->pods, link)
        n += !p->is_over || p->text.n;
    return n;
}

static void node_kill(void *ctx)
{
    remote_eyes_kill(ctx);
}

struct run_node remote_node(struct run_remote *m)
{
    struct epoll_event ev = { .events = EPOLLIN };

    (void)epoll_ctl(m->epoll, EPOLL_CTL_ADD, kube_ask_fd(m->streams), &ev); /* else it is looked at now and then */
    return (struct run_node){ m, m->epoll, node_turn, node_pods, node_kill, NULL };
}

void remote_pods_done(struct run_remote *m)
{
    LIST_FOREACH(struct remote_pod, p, &m->pods, link) {
        close_stream(p);
        list_remove(&p->link);
        object_unref(p->object);
        buf_done(&p->text);
        arena_done(&p->arena);
        free(p);
    }
}
