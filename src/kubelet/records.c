/* records.c - all output of the containers of a pod, of every attempt, from their start to the end of the pod
 *
 * Kubernetes' log of a pod is for people: it begins when a container has, ends with that attempt, and does not say which
 * stream a line came from. A client that shows a pod as it runs (`pumice run --server`) asks for records instead, one
 * on each line:
 *
 *     NAME ATTEMPT out F NANOSECONDS TEXT    a line (P: the beginning of one), of stdout or (err) stderr
 *     NAME ATTEMPT lost                      more was written than is kept before it could be sent
 *     NAME ATTEMPT end                       that attempt has ended, and all that it wrote stands above
 *     - usage CPU_US MEMORY PEAK             of the whole pod, about once a second while it runs; -1: not measured
 *
 * The answer begins at once, also for a pod that has no node yet, and ends when no container of the pod can run again.
 * A pod that is removed is read to its end first (kubelet_pod_leaves()), and what it wrote is kept in memory for a
 * while: a pod may come and go before a client that has heard of it can ask, or while the client has no connection.
 * 'since' leaves out what is older, so that a client which lost the connection goes on where it was.
 */
#include "kubelet/kubelet_internal.h"

#include "base/clock.h"

enum {
    TURN_BYTES = 1 << 20,
    QUEUE_BYTES = 256 << 10,
    LEAVE_BYTES = 16 << 20, /* of a pod that is removed, however slow its reader is */
    LOOK_MIN_MS = 5,        /* after something came … */
    LOOK_MAX_MS = 100,      /* … and when nothing does */
    USAGE_MS = 1000,
    LEFT_MS = 60000,       /* so long something is kept of a pod that is removed … */
    LEFT_BYTES = 64 << 10, /* … so much of it: one that came and went in a moment has not written more … */
    LEFT_ALL = 16 << 20,   /* … and of all of them */
};

struct left_pod { /* one that was removed */
    struct list_link link;
    struct buf text; /* its records */
    struct arena arena;
    struct str uid, namespace, name;
    int64_t until_ms;
};

struct follower { /* of one container */
    struct str name;
    int attempt; /* that is read */
    struct conlog_reader *reader;
};

struct record_stream {
    struct list_link link;
    struct kubelet *kubelet;
    struct http_call *call; /* NULL: 'kept' is where it goes */
    struct buf *kept;
    struct arena arena;
    struct str uid;
    int64_t since_ns;
    bool was_here;
    int64_t pace_ms, next_ms, usage_ms;
    VEC(struct follower *) followers;
};

static int64_t records_mono(void)
{
    return clock_mono_ms(&clock_real);
}

static void stream_free(struct record_stream *s)
{
    VEC_FOREACH(f, &s->followers)
        conlog_reader_free((*f)->reader);
    list_remove(&s->link);
    arena_done(&s->arena);
    free(s);
}

static void records_put(struct record_stream *s, struct str text)
{
    if (s->call)
        http_answer_write(s->call, text);
    else
        buf_str(s->kept, text);
}

static void records_end(struct record_stream *s)
{
    http_answer_end(s->call);
    stream_free(s);
}

/* ---- one container ---- */

static struct follower *follower_of(struct record_stream *s, struct str name)
{
    struct follower *made;

    VEC_FOREACH(f, &s->followers)
        if (str_eq((*f)->name, name))
            return *f;
    made = arena_new(&s->arena, struct follower);
    made->name = arena_str(&s->arena, name);
    *vec_push(&s->arena, &s->followers) = made;
    return made;
}

static void records_tell(struct record_stream *s, const struct follower *f, const char *what)
{
    autobuf out = { 0 };

    buf_fmt(&out, "%.*s %d %s\n", STR_ARG(f->name), f->attempt, what);
    records_put(s, buf_view(&out));
}

static size_t send_record(struct record_stream *s, const struct follower *f, const struct conlog_line *line)
{
    autobuf out = { 0 };

    if (line->at_ns < s->since_ns)
        return 0;
    buf_fmt(&out, "%.*s %d %s %c %lld ", STR_ARG(f->name), f->attempt, line->stream == CONLOG_STDERR ? "err" : "out",
            line->is_partial ? 'P' : 'F', (long long)line->at_ns);
    buf_str(&out, line->text);
    buf_char(&out, '\n');
    records_put(s, buf_view(&out));
    return out.n;
}

/* What an attempt has written so far. True: all of it. */
static bool read_attempt(struct record_stream *s, struct follower *f, size_t *left)
{
    struct conlog_line line;

    if (!f->reader) {
        autoarena a = { 0 };

        f->reader = conlog_reader_new(
            arena_cstr(&a, agent_log_file(s->kubelet->opt.agent, &a, s->uid, f->name, f->attempt)));
    }
    while (*left) {
        if (!conlog_next(f->reader, &line))
            return true;
        s->pace_ms = LOOK_MIN_MS;
        if (conlog_has_lost(f->reader))
            records_tell(s, f, "lost");
        *left -= MIN_OF(*left, send_record(s, f, &line) + CONLOG_EXTRA);
    }
    return false;
}

/* True: there is nothing more of it for now. 'c' is how it stood before this began. */
static bool records_follow(struct record_stream *s, const struct agent_container *c, size_t *left)
{
    struct follower *f = follower_of(s, c->name);

    while (f->attempt <= c->attempt) {
        if (!read_attempt(s, f, left))
            return false;
        if (f->attempt == c->attempt && c->is_running)
            return true;
        records_tell(s, f, "end");
        conlog_reader_free(f->reader);
        f->reader = NULL;
        f->attempt++;
        s->pace_ms = LOOK_MIN_MS;
    }
    return true;
}

/* ---- the pod ---- */

static void tell_usage(struct record_stream *s)
{
    struct cgroup_stats stats;
    autobuf out = { 0 };

    if (!s->call || records_mono() < s->usage_ms || !agent_pod_usage(s->kubelet->opt.agent, s->uid, &stats))
        return;
    buf_fmt(&out, "- usage %lld %lld %lld\n", (long long)stats.cpu_us, (long long)stats.memory_bytes,
            (long long)stats.memory_peak_bytes);
    records_put(s, buf_view(&out));
    s->usage_ms = records_mono() + USAGE_MS;
}

/* False: it is over, or the pod no longer exists. */
static bool records_look(struct record_stream *s, size_t left)
{
    autoarena a = { 0 };
    struct agent_containers now;
    bool is_read = true;

    if (!agent_containers(s->kubelet->opt.agent, &a, s->uid, &now))
        return !s->was_here;
    s->was_here = true;
    tell_usage(s);
    VEC_FOREACH(c, &now.list)
        is_read = records_follow(s, c, &left) && is_read;
    return !(now.is_over && is_read);
}

static void records_step(struct record_stream *s)
{
    s->pace_ms = MIN_OF(s->pace_ms * 2, (int64_t)LOOK_MAX_MS);
    if (!records_look(s, TURN_BYTES)) {
        records_end(s);
        return;
    }
    s->next_ms = records_mono() + s->pace_ms;
}

/* ---- deleted pods ---- */

static void left_free(struct kubelet *k, struct left_pod *p)
{
    k->left_bytes -= p->text.n;
    list_remove(&p->link);
    buf_done(&p->text);
    arena_done(&p->arena);
    free(p);
}

static void forget_old(struct kubelet *k)
{
    LIST_FOREACH(struct left_pod, p, &k->left, link)
        if (records_mono() >= p->until_ms || k->left_bytes > LEFT_ALL)
            left_free(k, p);
}

static void records_keep(struct kubelet *k, const struct agent_place *pod, struct str uid)
{
    struct left_pod *p = xcalloc(1, sizeof(*p));
    struct record_stream *s = xcalloc(1, sizeof(*s));

    *s = (struct record_stream){ .kubelet = k, .kept = &p->text, .uid = uid };
    if (records_look(s, LEFT_BYTES) && s->followers.n)
        records_tell(s, s->followers.v[0], "lost"); /* there is more, or it was removed while it ran */
    stream_free(s);
    p->uid = arena_str(&p->arena, uid);
    p->namespace = arena_str(&p->arena, pod->namespace);
    p->name = arena_str(&p->arena, pod->pod);
    p->until_ms = records_mono() + LEFT_MS;
    list_push(&k->left, &p->link);
    k->left_bytes += p->text.n;
    forget_old(k);
}

static struct left_pod *left_of(const struct kubelet *k, struct str uid)
{
    LIST_FOREACH(struct left_pod, p, &k->left, link)
        if (str_eq(p->uid, uid))
            return p;
    return NULL;
}

bool kubelet_knew(const struct kubelet *k, const struct agent_place *pod, struct str pod_uid)
{
    const struct left_pod *left = left_of(k, pod_uid);
    struct agent_containers here;
    autoarena a = { 0 };

    if (left)
        return str_eq(left->namespace, pod->namespace) && str_eq(left->name, pod->pod);
    return agent_containers(k->opt.agent, &a, pod_uid, &here) && str_eq(here.namespace, pod->namespace) &&
           str_eq(here.pod, pod->pod);
}

void kubelet_pod_leaves(struct kubelet *k, const struct agent_place *pod, struct str pod_uid)
{
    records_keep(k, pod, pod_uid);
    LIST_FOREACH(struct record_stream, s, &k->records, link)
        if (str_eq(s->uid, pod_uid)) {
            (void)records_look(s, LEAVE_BYTES); /* it is over whatever it says */
            records_end(s);
        }
}

/* ---- turns ---- */

static bool has_room(const struct record_stream *s)
{
    return http_call_queued(s->call) < QUEUE_BYTES;
}

void records_turn(struct kubelet *k)
{
    forget_old(k);
    LIST_FOREACH(struct record_stream, s, &k->records, link)
        if (records_mono() >= s->next_ms && has_room(s))
            records_step(s);
}

int64_t records_due_ms(const struct kubelet *k)
{
    int64_t due_ms = INT64_MAX;

    LIST_FOREACH(struct record_stream, s, &k->records, link)
        if (has_room(s))
            due_ms = MIN_OF(due_ms, MAX_OF(s->next_ms - records_mono(), 0));
    return due_ms;
}

void records_done(struct kubelet *k)
{
    LIST_FOREACH(struct record_stream, s, &k->records, link) {
        struct http_call *call = s->call;

        stream_free(s);
        http_answer_cut(call);
    }
    LIST_FOREACH(struct left_pod, p, &k->left, link)
        left_free(k, p);
}

/* ---- requests ---- */

static void records_on_ready(void *ctx, struct http_call *call)
{
    (void)ctx; /* the turn goes on with all that are due */
    (void)call;
}

static void records_on_gone(void *ctx, struct http_call *call)
{
    (void)call;
    stream_free(ctx);
}

void serve_records(const struct target *t)
{
    const struct left_pod *left;
    struct record_stream *s;
    autobuf uid = { 0 };
    int64_t since_ns;

    if (!http_call_param(t->call, "uid", &uid) || !uid.n) {
        answer_text(t->kubelet, t->call, 400,
                    "uid: is required: records belong to one pod, not to all pods with its name");
        return;
    }
    if (target_number(t, "since", 0, &since_ns) < 0)
        return;
    left = left_of(t->kubelet, buf_view(&uid));
    if (left) {
        http_answer(t->call, &(struct http_reply){ .status = 200 }, buf_view(&left->text));
        return;
    }
    s = xcalloc(1, sizeof(*s));
    s->kubelet = t->kubelet;
    s->call = t->call;
    s->uid = arena_str(&s->arena, buf_view(&uid));
    s->since_ns = since_ns;
    s->pace_ms = LOOK_MIN_MS;
    list_push(&t->kubelet->records, &s->link);
    http_call_watch(t->call, &(struct http_call_events){ s, records_on_ready, records_on_gone });
    http_answer_begin(t->call, &(struct http_reply){ .status = 200 });
}
