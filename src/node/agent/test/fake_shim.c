/* fake_shim.c - shim.h without processes */
#include "node/agent/test/fake_host.h"
#include "os/wire.h"

#include <arpa/inet.h>
#include <signal.h>
#include <sys/eventfd.h>

struct spawner {
    int fd; /* readable: it is dead */
    struct buf note;
    struct spawner_kept kept;
    struct shim *next; /* of spawner_next_shim() */
    bool has_begun, is_found;
};

struct news {
    struct list_link link;
    struct shim_event event;
};

struct question {
    struct list_link link;
    uint64_t id;
};

struct shim {
    struct list_link link;
    int fd; /* counts the news */
    struct arena arena;
    struct str pod;
    struct shim_options opt;
    struct list news, containers, questions;
    bool is_ready, is_lost, is_gone;
};

static void ask(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static void ask(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    if (fake.asked.n)
        buf_str(&fake.asked, STR("; "));
    buf_vfmt(&fake.asked, fmt, ap);
    va_end(ap);
}

const char *fake_asked(void)
{
    buf_reset(&fake.said);
    buf_str(&fake.said, buf_view(&fake.asked));
    buf_reset(&fake.asked);
    buf_char(&fake.said, '\0');
    return fake.said.p;
}

/* ---- the spawner ---- */

int spawner_start(const struct spawner_options *opt, struct spawner **ret, struct err *e)
{
    autoclose int mark = -1;

    fake.spawner = *ret = xcalloc(1, sizeof(**ret));
    fake.spawner->fd = eventfd(0, EFD_CLOEXEC);
    if (opt->outlives) /* where the next agent looks for it */
        mark = openat(opt->socket_dir, "spawner.1", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    return 0;
}

void spawner_stop(struct spawner *s)
{
    if (!s)
        return;
    close(s->fd);
    for (size_t i = 0; i < s->kept.n_fds; i++)
        close(s->kept.fds[i]);
    buf_done(&s->note);
    fake.spawner = fake.spawner == s ? NULL : fake.spawner;
    fake.old = fake.old == s ? NULL : fake.old;
    free(s);
}

int spawner_keep(struct spawner *s, struct str note, const int *fds, size_t n, struct err *e)
{
    buf_reset(&s->note);
    buf_str(&s->note, note);
    for (s->kept.n_fds = 0; s->kept.n_fds < n; s->kept.n_fds++)
        s->kept.fds[s->kept.n_fds] = fcntl(fds[s->kept.n_fds], F_DUPFD_CLOEXEC, 3);
    return 0;
}

void spawner_leave(struct spawner *s)
{
    if (!s || s->is_found) { /* of the previous agent: its shims have a new program, and it may go */
        spawner_stop(s);
        return;
    }
    fake.old = s;
    s->is_found = true;
    fake.spawner = NULL;
}

int spawner_find(int dir, const char *name, struct spawner **ret, struct err *e)
{
    if (!fake.old)
        return err_set(e, ERR_NOT_FOUND, "nobody listens");
    *ret = fake.old;
    (*ret)->kept.note = buf_view(&(*ret)->note);
    (*ret)->has_begun = false;
    return 0;
}

const struct spawner_kept *spawner_kept(const struct spawner *s)
{
    return &s->kept;
}

struct shim *spawner_next_shim(struct spawner *s)
{
    struct list_link *next = s->has_begun ? s->next->link.next : fake.shims.head.next;

    s->has_begun = true;
    s->next = next == &fake.shims.head ? NULL : LIST_ITEM(next, struct shim, link);
    return s->next;
}

int spawner_fd(const struct spawner *s)
{
    return s->fd;
}

void spawner_resume(const struct spawner *s)
{
}

void fake_spawner_dies(void)
{
    (void)eventfd_write(fake.spawner->fd, 1);
}

/* ---- news ---- */

static struct shim_event *tell(struct shim *s, enum shim_event_kind kind)
{
    struct news *n = arena_new(&s->arena, struct news);

    n->event = (struct shim_event){ .kind = kind, .net_fd = -1, .nl_fd = -1 };
    list_push(&s->news, &n->link);
    (void)eventfd_write(s->fd, 1);
    return &n->event;
}

static struct shim_event *tell_of(struct shim *s, enum shim_event_kind kind, const struct fake_container *c)
{
    struct shim_event *ev = tell(s, kind);

    ev->container = c->name;
    ev->attempt = c->attempt;
    return ev;
}

static void tell_ready(struct shim *s)
{
    struct shim_event *ev = tell(s, SHIM_READY);

    s->is_ready = true;
    ev->net_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (!s->opt.has_host_network)
        ev->nl_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void tell_started(struct shim *s, struct fake_container *c)
{
    c->is_running = true;
    c->is_starting = false;
    tell_of(s, SHIM_STARTED, c)->pid = 4711;
}

static void tell_ended(struct shim *s, struct fake_container *c, int status, bool is_oom)
{
    struct shim_event *ev;

    conlog_close(c->log);
    c->log = NULL;
    c->is_running = false;
    c->status = status;
    c->is_oom = is_oom;
    ev = tell_of(s, SHIM_ENDED, c);
    ev->status = status;
    ev->is_oom = is_oom;
}

int shim_next(struct shim *s, struct shim_event *ret)
{
    struct list_link *link = s->is_gone ? NULL : list_pop_front(&s->news);
    eventfd_t n;

    if (!link)
        return 0;
    (void)eventfd_read(s->fd, &n);
    *ret = LIST_ITEM(link, struct news, link)->event;
    s->is_gone = ret->kind == SHIM_GONE;
    if (s->is_gone)
        (void)eventfd_write(s->fd, 1); /* as a socket whose other end is closed */
    return 1;
}

/* ---- orders ---- */

static struct str own(struct shim *s, struct str text)
{
    return arena_str(&s->arena, text);
}

int shim_new(struct spawner *spawner, const struct shim_options *opt, struct shim **ret, struct err *e)
{
    struct shim *s;

    assert_ptr_equal(spawner, fake.spawner); /* never one of the previous agent */
    ask("shim %.*s", STR_ARG(opt->hostname));
    if (fake.fails_new.code)
        return err_set(e, fake.fails_new.code, "%s", fake.fails_new.text);
    s = *ret = xcalloc(1, sizeof(**ret));
    s->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE);
    s->opt = *opt;
    s->pod = s->opt.hostname = own(s, opt->hostname);
    s->opt.log_dir = own(s, str_of(opt->log_dir)).p;
    s->opt.group = own(s, str_of(opt->group)).p;
    s->opt.note = own(s, opt->note);
    list_init(&s->news);
    list_init(&s->containers);
    list_init(&s->questions);
    list_push(&fake.shims, &s->link);
    if (!fake.holds_ready)
        tell_ready(s);
    return 0;
}

static void drop_news(struct shim *s)
{
    eventfd_t n;

    LIST_FOREACH(struct news, news, &s->news, link) {
        if (news->event.net_fd >= 0)
            close(news->event.net_fd);
        if (news->event.nl_fd >= 0)
            close(news->event.nl_fd);
        list_remove(&news->link);
        (void)eventfd_read(s->fd, &n);
    }
}

void shim_leave(struct shim *s)
{
}

void shim_stop(struct shim *s)
{
    ask("stop %.*s", STR_ARG(s->pod));
    drop_news(s);
    tell(s, SHIM_GONE);
}

int shim_adopt(struct shim *s, struct arena *a, struct shim_found *ret, struct err *e)
{
    *ret = (struct shim_found){ .group = str_of(s->opt.group), .note = s->opt.note };
    ask("adopt %.*s", STR_ARG(s->pod));
    drop_news(s);
    list_init(&s->questions);
    LIST_FOREACH(struct fake_container, c, &s->containers, link) {
        struct shim_con *con = vec_push(a, &ret->cons);

        *con = (struct shim_con){ .name = c->name,
                                  .attempt = c->attempt,
                                  .state = c->is_running    ? SHIM_CON_RUNNING
                                           : c->is_starting ? SHIM_CON_STARTING
                                                            : SHIM_CON_ENDED,
                                  .started_ms = clock_now_ms(fake.clock),
                                  .ended_ms = clock_now_ms(fake.clock),
                                  .status = c->status,
                                  .is_oom = c->is_oom };
    }
    return 0;
}

void shim_free(struct shim *s)
{
    if (!s)
        return;
    ask("free %.*s", STR_ARG(s->pod));
    drop_news(s);
    LIST_FOREACH(struct fake_container, c, &s->containers, link)
        conlog_close(c->log);
    list_remove(&s->link);
    close(s->fd);
    arena_done(&s->arena);
    free(s);
}

int shim_fd(const struct shim *s)
{
    return s->fd;
}

static struct fake_container *find(const struct shim *s, struct str name)
{
    LIST_FOREACH(struct fake_container, c, &s->containers, link)
        if (str_eq(c->name, name))
            return c;
    return NULL;
}

int shim_start(struct shim *s, const struct box_spec *spec, const struct cgroup_limits *limits, int attempt,
               struct err *e)
{
    struct fake_container *c = find(s, spec->name);
    struct wire_msg m = { .n_fds = spec->mounts.n };
    autobuf text = { 0 };

    ask("start %.*s/%.*s#%d", STR_ARG(s->pod), STR_ARG(spec->name), attempt);
    if (fake.fails_start.code)
        return err_set(e, fake.fails_start.code, "%s", fake.fails_start.text);
    if (c && c->is_running)
        fail_msg("%.*s/%.*s is started while it runs", STR_ARG(s->pod), STR_ARG(spec->name));
    if (!c) {
        c = arena_new(&s->arena, struct fake_container);
        list_push(&s->containers, &c->link);
    }
    box_encode(&text, spec);
    if (box_decode(&s->arena, own(s, buf_view(&text)), &m, &c->spec, e) < 0)
        fail_msg("%s", e->text);
    c->name = own(s, spec->name);
    c->limits = *limits;
    c->attempt = attempt;
    c->is_starting = true;
    c->is_killed = false;
    if (!fake.holds_start)
        tell_started(s, c);
    return 0;
}

int shim_signal(struct shim *s, struct str container, int signo, struct err *e)
{
    struct fake_container *c = find(s, container);

    if (signo == SIGTERM || signo == SIGKILL)
        ask("%s %.*s/%.*s", signo == SIGTERM ? "TERM" : "KILL", STR_ARG(s->pod), STR_ARG(container));
    else
        ask("SIG%d %.*s/%.*s", signo, STR_ARG(s->pod), STR_ARG(container));
    if (c && signo == SIGKILL)
        c->is_killed = true;
    if (c && c->is_killed && c->is_running && !fake.holds_kill)
        tell_ended(s, c, SIGKILL, false);
    return 0;
}

int shim_log_read(struct shim *s, struct str container, int attempt, int64_t bytes, struct err *e)
{
    ask("read %.*s/%.*s#%d %lld", STR_ARG(s->pod), STR_ARG(container), attempt, (long long)bytes);
    return 0;
}

static void question(struct shim *s, uint64_t id)
{
    struct question *q = arena_new(&s->arena, struct question);

    q->id = id;
    list_push(&s->questions, &q->link);
}

int shim_exec(struct shim *s, uint64_t id, const struct shim_command *command, int64_t timeout_ms, struct err *e)
{
    ask("exec %.*s/%.*s", STR_ARG(s->pod), STR_ARG(command->container));
    for (size_t i = 0; i < command->n; i++)
        buf_fmt(&fake.asked, " %.*s", STR_ARG(command->argv[i]));
    question(s, id);
    return 0;
}

int shim_exec_on(struct shim *s, uint64_t id, const struct shim_command *command, const int fds[3], struct err *e)
{
    ask("exec on %.*s/%.*s", STR_ARG(s->pod), STR_ARG(command->container));
    question(s, id);
    return 0;
}

int shim_attach(struct shim *s, uint64_t id, const struct shim_attachment *attachment, struct err *e)
{
    ask("attach %.*s/%.*s", STR_ARG(s->pod), STR_ARG(attachment->container));
    question(s, id);
    return 0;
}

int shim_forward(struct shim *s, uint64_t id, uint16_t port, int fd, struct err *e)
{
    ask("forward %.*s:%d", STR_ARG(s->pod), port);
    question(s, id);
    return 0;
}

int shim_cancel(struct shim *s, uint64_t id, struct err *e)
{
    ask("cancel %.*s", STR_ARG(s->pod));
    return 0;
}

int shim_probe(struct shim *s, uint64_t id, const struct probe_target *t, int64_t timeout_ms, struct err *e)
{
    static const char *const names[PROBE_KIND_MAX] = { "http", "https", "tcp", "grpc" };

    ask("%s %.*s %.*s:%d%.*s", names[t->kind], STR_ARG(s->pod), STR_ARG(t->host), t->port, STR_ARG(t->path));
    question(s, id);
    return 0;
}

/* ---- what the test says ---- */

static struct shim *shim_of(const char *pod)
{
    LIST_FOREACH(struct shim, s, &fake.shims, link)
        if (str_is(s->pod, pod))
            return s;
    return NULL;
}

static struct shim *need_shim(const char *pod)
{
    struct shim *s = shim_of(pod);

    if (!s)
        fail_msg("pod %s has no sandbox", pod);
    return s;
}

static struct fake_container *need_container(const char *pod, const char *container)
{
    struct fake_container *c = find(need_shim(pod), str_of(container));

    if (!c)
        fail_msg("container %s/%s was not started", pod, container);
    return c;
}

bool fake_has_pod(const char *pod)
{
    return shim_of(pod) != NULL;
}

bool fake_runs(const char *pod, const char *container)
{
    const struct shim *s = shim_of(pod);
    const struct fake_container *c = s ? find(s, str_of(container)) : NULL;

    return c && c->is_running;
}

const struct shim_options *fake_pod(const char *pod)
{
    return &need_shim(pod)->opt;
}

const struct fake_container *fake_container(const char *pod, const char *container)
{
    return need_container(pod, container);
}

const char *fake_env(const char *pod, const char *container, const char *name)
{
    const struct fake_container *c = need_container(pod, container);

    VEC_FOREACH(v, &c->spec.env)
        if (str_starts(*v, str_of(name)) && v->n > strlen(name) && v->p[strlen(name)] == '=')
            return arena_cstr(&fake.arena, str_from(*v, strlen(name) + 1));
    return NULL;
}

void fake_ready(const char *pod)
{
    tell_ready(need_shim(pod));
}

void fake_started(const char *pod, const char *container)
{
    tell_started(need_shim(pod), need_container(pod, container));
}

void fake_not_started(const char *pod, const char *container, int code, const char *reason, const char *text)
{
    struct shim_event *ev = tell_of(need_shim(pod), SHIM_FAILED, need_container(pod, container));

    need_container(pod, container)->is_starting = false;
    ev->report.status = code;
    (void)snprintf(ev->report.reason, sizeof(ev->report.reason), "%s", reason);
    (void)snprintf(ev->report.text, sizeof(ev->report.text), "%s", text);
}

static void end(const char *pod, const char *container, int status, bool is_oom)
{
    struct fake_container *c = need_container(pod, container);

    if (!c->is_running)
        fail_msg("%s/%s does not run", pod, container);
    tell_ended(need_shim(pod), c, status, is_oom);
}

void fake_exit(const char *pod, const char *container, int code)
{
    end(pod, container, W_EXITCODE(code, 0), false);
}

void fake_killed(const char *pod, const char *container, int signo, bool is_oom)
{
    end(pod, container, signo, is_oom);
}

static void answer(struct shim *s, bool is_ok, struct str text)
{
    struct list_link *link = list_pop_front(&s->questions);
    struct shim_event *ev;

    if (!link)
        fail_msg("nothing was asked of pod %.*s", STR_ARG(s->pod));
    ev = tell(s, SHIM_RESULT);
    ev->id = LIST_ITEM(link, struct question, link)->id;
    ev->is_ok = is_ok;
    ev->text = own(s, text);
}

void fake_answer(const char *pod, bool is_ok, const char *text)
{
    answer(need_shim(pod), is_ok, str_of(text));
}

void fake_lost(const char *pod, const char *why)
{
    struct shim *s = need_shim(pod);

    LIST_FOREACH(struct fake_container, c, &s->containers, link)
        c->is_running = c->is_starting = false;
    s->is_lost = true;
    tell(s, SHIM_GONE)->text = own(s, str_of(why));
}

void fake_says(const char *pod, const char *container, const char *text)
{
    struct shim *s = need_shim(pod);
    struct fake_container *c = need_container(pod, container);
    autoarena a = { 0 };
    struct err e;

    if (!c->log && conlog_open(arena_fmt(&a, "%s/%s.%d.log", s->opt.log_dir, container, c->attempt).p, s->opt.log_bytes,
                               &c->log, &e) < 0)
        fail_msg("%s", e.text);
    conlog_put(c->log, CONLOG_STDOUT, str_of(text), 1000000000);
    conlog_flush(c->log);
    tell_of(s, SHIM_LOG, c)->log_bytes = conlog_bytes(c->log);
}

/* ---- by chance ---- */

static void random_of(struct rand *r, struct shim *s, struct fake_container *c)
{
    autoarena a = { 0 };
    const char *pod = arena_cstr(&a, s->pod), *name = arena_cstr(&a, c->name);

    if (c->is_starting && rand_chance(r, 1, 4))
        fake_not_started(pod, name, 128, rand_chance(r, 1, 2) ? "StartError" : "CreateContainerError", "by chance");
    else if (c->is_starting)
        tell_started(s, c);
    else if (c->is_running && rand_chance(r, 1, 3))
        fake_says(pod, name, "a line\nand half a line");
    else if (c->is_running && rand_chance(r, 1, 3))
        fake_killed(pod, name, SIGKILL, rand_chance(r, 1, 2));
    else if (c->is_running)
        fake_exit(pod, name, (int)rand_below(r, 3));
}

static void random_to(struct rand *r, struct shim *s)
{
    autoarena a = { 0 };
    const char *pod = arena_cstr(&a, s->pod);

    if (s != shim_of(pod) || s->is_lost) /* two of this name: the younger one has its turn later */
        return;
    if (rand_chance(r, 1, 20))
        fake_lost(pod, "by chance");
    else if (!s->is_ready)
        tell_ready(s);
    else if (!list_is_empty(&s->questions) && rand_chance(r, 1, 2))
        fake_answer(pod, rand_chance(r, 2, 3), "by chance");
    else
        LIST_FOREACH(struct fake_container, c, &s->containers, link)
            if (rand_chance(r, 1, 2))
                random_of(r, s, c);
}

void fake_random(struct rand *r)
{
    LIST_FOREACH(struct shim, s, &fake.shims, link)
        if (rand_chance(r, 1, 3))
            random_to(r, s);
}

void fake_release(void)
{
    fake.holds_ready = fake.holds_start = fake.holds_kill = fake.holds_nft = false;
    if (fake.nft)
        fake_nft_ends(NULL);
    LIST_FOREACH(struct shim, s, &fake.shims, link) {
        if (!s->is_ready && !s->is_lost)
            tell_ready(s);
        while (!list_is_empty(&s->questions))
            answer(s, true, STR_NULL);
        LIST_FOREACH(struct fake_container, c, &s->containers, link)
            if (c->is_starting)
                tell_started(s, c);
            else if (c->is_running && c->is_killed)
                tell_ended(s, c, SIGKILL, false);
    }
}
