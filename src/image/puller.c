/* puller.c - the puller process, and its side in the program
 *
 *     program ◀──socket──▶ puller ──fork──▶ one child for each pull, which tells the program by the same socket
 *
 * The puller only starts children, a few at a time, and waits for them; it reports a child that died without an answer
 * as failed. It exits when the program closes the socket, and its children with it.
 *
 * The first is a fork of the program while that has one thread. If it is killed, another is started when an image is
 * asked for next. The program has threads by then, so that one is the program executed anew, and gets its options as
 * the first message.
 */
#include "image/puller.h"

#include "base/list.h"
#include "base/util.h"
#include "os/proc.h"
#include "os/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { AT_A_TIME = 3, TELL_MS = 200, PATIENCE_S = 5, STOP_MS = 10000, LOOK_MS = 1000 };
enum puller_word { PULLER_ASK, PULLER_CANCEL, PULLER_PROGRESS, PULLER_OVER, PULLER_BEGIN };

static const char puller_name[] = "pumice-puller";

/* ---- events ---- */

static void tell_over(int sock, uint64_t id, const struct image_pulled *pulled, const struct err *e)
{
    autobuf out = { 0 };

    wire_put_i64(&out, (int64_t)id);
    wire_put_str(&out, str_of(pulled->id.text));
    wire_put_str(&out, str_of(pulled->digest.text));
    wire_put_i64(&out, pulled->bytes);
    wire_put_i64(&out, pulled->is_new);
    wire_put_i64(&out, pulled->is_unreached);
    wire_put_i64(&out, e->code);
    wire_put_str(&out, str_of(e->text));
    (void)wire_send(sock, &(struct wire_msg){ .kind = PULLER_OVER, .payload = buf_view(&out) }, NULL);
}

/* ---- a child: one pull ---- */

struct puller_work {
    int sock;
    uint64_t id;
    struct timespec told;
    enum image_doing doing;
};

static int64_t since_ms(const struct timespec *then)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (now.tv_sec - then->tv_sec) * 1000 + (now.tv_nsec - then->tv_nsec) / 1000000;
}

static void puller_on_progress(void *ctx, enum image_doing doing, int64_t bytes, int64_t total)
{
    struct puller_work *w = ctx;
    autobuf out = { 0 };

    if (doing == w->doing && since_ms(&w->told) < TELL_MS)
        return;
    w->doing = doing;
    clock_gettime(CLOCK_MONOTONIC, &w->told);
    wire_put_i64(&out, (int64_t)w->id);
    wire_put_i64(&out, doing);
    wire_put_i64(&out, bytes);
    wire_put_i64(&out, total);
    (void)wire_try(w->sock, &(struct wire_msg){ .kind = PULLER_PROGRESS, .payload = buf_view(&out) }, NULL);
}

struct puller_asked {
    struct list_link link;
    uint64_t id;
    struct str reference; /* these: bytes in 'text' */
    struct login login;
    bool is_tenant;
    struct buf text;
    pid_t pid; /* 0: it waits for its turn */
    int pidfd;
};

static _Noreturn void child_main(const struct puller_options *o, const struct puller_asked *q)
{
    struct registry_options registry = o->registry;
    struct puller_work w = { .sock = PROC_KEPT, .id = q->id, .doing = IMAGE_DOING_MAX };
    struct image_pull pull = { o->store, q->reference, &registry, &w, puller_on_progress, q->is_tenant };
    struct image_pulled pulled = { 0 };
    struct err e = { 0 };

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    registry.login = q->login;
    if (image_pull(&pull, &pulled, &e) == 0)
        e.code = ERR_OK; /* a mirror may have failed before */
    tell_over(PROC_KEPT, q->id, &pulled, &e);
    _exit(0);
}

/* ---- the puller ---- */

struct pulls {
    const struct puller_options *options;
    struct list list; /* struct puller_asked */
    size_t n, running;
};

static void puller_forget(struct pulls *all, struct puller_asked *q)
{
    list_remove(&q->link);
    all->n--;
    if (q->pid) {
        (void)kill(q->pid, SIGKILL);
        (void)proc_wait(q->pid);
        close(q->pidfd);
        all->running--;
    }
    buf_done(&q->text);
    free(q);
}

static void puller_begin(struct pulls *all, struct puller_asked *q)
{
    struct err e;

    q->pid = fork();
    if (q->pid == 0)
        child_main(all->options, q);
    q->pidfd = q->pid > 0 ? (int)syscall(SYS_pidfd_open, q->pid, 0) : -1;
    if (q->pidfd >= 0) {
        all->running++;
        return;
    }
    (void)err_errno(&e, "start pull process");
    if (q->pid > 0) { /* its end would not be seen */
        (void)kill(q->pid, SIGKILL);
        (void)proc_wait(q->pid);
    }
    q->pid = 0;
    tell_over(PROC_KEPT, q->id, &(struct image_pulled){ 0 }, &e);
    puller_forget(all, q);
}

static void take_ask(struct pulls *all, struct str payload)
{
    struct puller_asked *q = xcalloc(1, sizeof(*q));
    struct wire_read r;

    buf_str(&q->text, payload);
    r = (struct wire_read){ .rest = buf_view(&q->text) };
    q->id = (uint64_t)wire_get_i64(&r);
    q->reference = wire_get_str(&r);
    q->login.user = wire_get_str(&r);
    q->login.password = wire_get_str(&r);
    q->login.identity = wire_get_str(&r);
    q->is_tenant = wire_get_i64(&r);
    list_push(&all->list, &q->link);
    all->n++;
}

static void take_cancel(struct pulls *all, struct str payload)
{
    struct wire_read r = { .rest = payload };
    uint64_t id = (uint64_t)wire_get_i64(&r);

    LIST_FOREACH(struct puller_asked, q, &all->list, link)
        if (q->id == id)
            puller_forget(all, q);
}

/* false: the program has ended. */
static bool take_words(struct pulls *all, struct wire_in *in)
{
    struct wire_msg m = { 0 };
    struct err e;
    int rc;

    while ((rc = wire_recv(PROC_KEPT, false, in, &m, &e)) > 0) {
        if (m.kind == PULLER_ASK)
            take_ask(all, m.payload);
        else if (m.kind == PULLER_CANCEL)
            take_cancel(all, m.payload);
        wire_close_fds(&m);
    }
    return rc == 0;
}

/* What ended well has told so itself. */
static void take_ended(struct pulls *all, struct puller_asked *q)
{
    struct err e;
    int status = proc_wait(q->pid);

    q->pid = 0;
    close(q->pidfd);
    all->running--;
    if (WIFSIGNALED(status)) {
        (void)err_set(&e, ERR_INTERNAL, "the pull process was killed by signal %d", WTERMSIG(status));
        tell_over(PROC_KEPT, q->id, &(struct image_pulled){ 0 }, &e);
    }
    puller_forget(all, q);
}

static _Noreturn void puller_main(const struct puller_options *o, pid_t parent)
{
    struct pulls all = { .options = o };
    struct pollfd fds[1 + AT_A_TIME];
    struct puller_asked *who[1 + AT_A_TIME];
    struct wire_in in = { 0 };

    (void)prctl(PR_SET_NAME, puller_name);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(0);
    (void)signal(SIGINT, SIG_IGN); /* the program decides what Ctrl-C means */
    (void)signal(SIGTERM, SIG_IGN);
    (void)signal(SIGPIPE, SIG_IGN);
    list_init(&all.list);
    for (;;) {
        nfds_t n = 1;

        LIST_FOREACH(struct puller_asked, q, &all.list, link)
            if (!q->pid && all.running < AT_A_TIME)
                puller_begin(&all, q);
        fds[0] = (struct pollfd){ PROC_KEPT, POLLIN, 0 };
        LIST_FOREACH(struct puller_asked, q, &all.list, link)
            if (q->pid) {
                who[n] = q;
                fds[n++] = (struct pollfd){ q->pidfd, POLLIN, 0 };
            }
        if (poll(fds, n, n > 1 ? LOOK_MS : -1) < 0 && errno != EINTR)
            _exit(1); /* the program sees that */
        for (nfds_t i = 1; i < n; i++)
            if (fds[i].revents)
                take_ended(&all, who[i]);
            else
                proc_go_on(who[i]->pid);
        if (fds[0].revents && !take_words(&all, &in)) {
            LIST_FOREACH(struct puller_asked, q, &all.list, link)
                puller_forget(&all, q);
            _exit(0);
        }
    }
}

/* ---- one that is executed ---- */

static void put_list(struct buf *out, const struct str *v, size_t n)
{
    wire_put_i64(out, (int64_t)n);
    for (size_t i = 0; i < n; i++)
        wire_put_str(out, v[i]);
}

static void put_begin(struct buf *out, const struct puller_options *o)
{
    wire_put_str(out, str_of(o->store));
    wire_put_str(out, str_of(o->registry.auth_file)); /* empty: none */
    wire_put_i64(out, o->registry.connect_ms);
    wire_put_i64(out, o->registry.stall_ms);
    put_list(out, o->registry.mirrors.v, o->registry.mirrors.n);
    put_list(out, o->registry.insecure.v, o->registry.insecure.n);
}

static bool get_begin(struct arena *a, struct str payload, struct puller_options *ret)
{
    struct wire_read r = { .rest = payload };
    struct str auth_file;

    ret->store = arena_str(a, wire_get_str(&r)).p;
    auth_file = wire_get_str(&r);
    ret->registry.auth_file = auth_file.n ? arena_str(a, auth_file).p : NULL;
    ret->registry.connect_ms = wire_get_i64(&r);
    ret->registry.stall_ms = wire_get_i64(&r);
    for (size_t n = wire_get_count(&r, 1); n; n--)
        *vec_push(a, &ret->registry.mirrors) = arena_str(a, wire_get_str(&r));
    for (size_t n = wire_get_count(&r, 1); n; n--)
        *vec_push(a, &ret->registry.insecure) = arena_str(a, wire_get_str(&r));
    return wire_is_read(&r);
}

int puller_program(char **argv)
{
    struct puller_options o = { 0 };
    autoarena a = { 0 };
    struct wire_in in = { 0 };
    struct wire_msg m = { 0 };
    pid_t parent = getppid();

    if (!argv[0] || strcmp(argv[0], puller_name) != 0)
        return -1;
    if (wire_recv(PROC_KEPT, true, &in, &m, NULL) != 1 || m.kind != PULLER_BEGIN || !get_begin(&a, m.payload, &o))
        return 1;
    wire_in_done(&in);
    puller_main(&o, parent);
}

/* After fork, with threads elsewhere: system calls only. */
static _Noreturn void execute_puller(int sock)
{
    char *const argv[] = { (char *)puller_name, NULL };
    sigset_t none;

    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL); /* cannot fail */
    if (sock != PROC_KEPT && dup2(sock, PROC_KEPT) < 0)
        _exit(PROC_CANNOT_RUN);
    (void)fcntl(PROC_KEPT, F_SETFD, 0);
    (void)close_range(PROC_KEPT + 1, ~0U, CLOSE_RANGE_CLOEXEC);
    (void)execv("/proc/self/exe", argv);
    _exit(PROC_CANNOT_RUN);
}

/* ---- the program's side ---- */

struct puller {
    const struct puller_options *options;
    pid_t pid;
    int sock;
    uint64_t last;
    struct wire_in in;
    bool is_gone;
    VEC(uint64_t) open; /* asked for, and not over */
    struct arena arena;
};

int puller_start(const struct puller_options *o, struct puller **ret, struct err *e)
{
    pid_t us = getpid(), pid;
    int pair[2];

    if (wire_pair(pair, e) < 0)
        return err_wrap(e, "start the puller");
    pid = proc_fork_alone(pair[1], true);
    if (pid == 0)
        puller_main(o, us);
    close(pair[1]);
    if (pid < 0) {
        close(pair[0]);
        return err_errno(e, "start the puller");
    }
    wire_patience(pair[0], PATIENCE_S);
    *ret = xcalloc(1, sizeof(**ret));
    **ret = (struct puller){ .options = o, .pid = pid, .sock = pair[0] };
    return 0;
}

static void puller_let_go(struct puller *p)
{
    if (p->sock < 0)
        return;
    (void)shutdown(p->sock, SHUT_RDWR); /* processes that we have forked since then may have it open too */
    close(p->sock);
    p->sock = -1;
    (void)proc_wait_gone(p->pid, STOP_MS);
    p->pid = 0;
}

bool puller_is_gone(const struct puller *p)
{
    return p->is_gone;
}

bool puller_has_lost(const struct puller *p)
{
    return p->is_gone && p->open.n;
}

void puller_look(struct puller *p)
{
    proc_go_on(p->pid);
}

int puller_restart(struct puller *p, struct err *e)
{
    struct wire_msg m = { .kind = PULLER_BEGIN };
    autobuf text = { 0 };
    int pair[2];

    puller_let_go(p);
    if (wire_pair(pair, e) < 0)
        return err_wrap(e, "start the puller");
    p->pid = fork();
    if (p->pid == 0)
        execute_puller(pair[1]);
    close(pair[1]);
    p->sock = pair[0];
    wire_patience(p->sock, PATIENCE_S);
    put_begin(&text, p->options);
    m.payload = buf_view(&text);
    if (p->pid < 0 ? err_errno(e, "fork") : wire_send(p->sock, &m, e) < 0) {
        puller_let_go(p);
        return err_wrap(e, "start the puller");
    }
    p->is_gone = false;
    return 0;
}

void puller_stop(struct puller *p)
{
    if (!p)
        return;
    puller_let_go(p);
    wire_in_done(&p->in);
    arena_done(&p->arena);
    free(p);
}

int puller_fd(const struct puller *p)
{
    return p->sock;
}

uint64_t puller_ask(struct puller *p, struct str reference, const struct login *login, bool is_tenant)
{
    static const struct login nobody;
    autobuf out = { 0 };
    const struct login *l = login ? login : &nobody;

    wire_put_i64(&out, (int64_t)++p->last);
    wire_put_str(&out, reference);
    wire_put_str(&out, l->user);
    wire_put_str(&out, l->password);
    wire_put_str(&out, l->identity);
    wire_put_i64(&out, is_tenant);
    *vec_push(&p->arena, &p->open) = p->last;
    if (!p->is_gone && p->pid > 0 &&
        wire_send(p->sock, &(struct wire_msg){ .kind = PULLER_ASK, .payload = buf_view(&out) }, NULL) < 0)
        (void)kill(p->pid, SIGKILL); /* it takes nothing, if it is there at all: its end is seen at the socket */
    return p->last;
}

/* false: it was not open. */
static bool close_one(struct puller *p, uint64_t id)
{
    for (size_t i = 0; i < p->open.n; i++)
        if (p->open.v[i] == id) {
            p->open.v[i] = p->open.v[--p->open.n];
            return true;
        }
    return false;
}

void puller_cancel(struct puller *p, uint64_t id)
{
    autobuf out = { 0 };

    if (!close_one(p, id))
        return;
    wire_put_i64(&out, (int64_t)id);
    (void)wire_try(p->sock, &(struct wire_msg){ .kind = PULLER_CANCEL, .payload = buf_view(&out) }, NULL);
}

static void take_digest(struct wire_read *r, struct image_digest *ret)
{
    struct str text = wire_get_str(r);

    (void)snprintf(ret->text, sizeof(ret->text), "%.*s", STR_ARG(str_cut(text, sizeof(ret->text) - 1)));
}

static void read_over(struct wire_read *r, struct puller_event *ret)
{
    struct str why;

    ret->is_over = true;
    take_digest(r, &ret->pulled.id);
    take_digest(r, &ret->pulled.digest);
    ret->pulled.bytes = wire_get_i64(r);
    ret->pulled.is_new = wire_get_i64(r);
    ret->pulled.is_unreached = wire_get_i64(r);
    ret->err.code = (enum err_code)wire_get_i64(r);
    why = wire_get_str(r);
    if (ret->err.code)
        (void)err_set(&ret->err, ret->err.code, "%.*s", STR_ARG(why));
}

static bool read_event(struct puller *p, const struct wire_msg *m, struct puller_event *ret)
{
    struct wire_read r = { .rest = m->payload };

    *ret = (struct puller_event){ .id = (uint64_t)wire_get_i64(&r) };
    if (m->kind == PULLER_OVER) {
        read_over(&r, ret);
        return wire_is_read(&r) && close_one(p, ret->id);
    }
    ret->doing = (enum image_doing)wire_get_i64(&r);
    ret->bytes = wire_get_i64(&r);
    ret->total = wire_get_i64(&r);
    for (size_t i = 0; i < p->open.n; i++)
        if (p->open.v[i] == ret->id)
            return wire_is_read(&r) && m->kind == PULLER_PROGRESS;
    return false; /* cancelled meanwhile */
}

/* It was killed: all pulls have failed. */
static bool next_lost(struct puller *p, struct puller_event *ret)
{
    if (!p->open.n)
        return false;
    *ret = (struct puller_event){ .id = p->open.v[0], .is_over = true };
    (void)err_set(&ret->err, ERR_INTERNAL, "the puller has died");
    return close_one(p, ret->id);
}

bool puller_next(struct puller *p, struct puller_event *ret)
{
    struct wire_msg m = { 0 };
    struct err e;
    int rc = 0;

    while (!p->is_gone && (rc = wire_recv(p->sock, false, &p->in, &m, &e)) > 0) {
        wire_close_fds(&m);
        if (read_event(p, &m, ret))
            return true;
    }
    p->is_gone |= rc < 0 && e.code != ERR_INVALID;
    return p->is_gone && next_lost(p, ret);
}
