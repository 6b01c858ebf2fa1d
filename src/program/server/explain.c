/* explain.c - why does a job wait: for the page of the server
 *
 * Working it out tries changes on copies of the cluster, which can take a second: too long for a loop with one thread. A
 * child does it. Being forked it has the whole cluster as it was at that moment, at no cost; what it finds is left in a
 * memory file, and its end is the news.
 */
#include "program/server/server.h"

#include "base/util.h"
#include "cli/explain/explain.h"
#include "os/io.h"
#include "os/proc.h"
#include "sched/sched.h"
#include "server/server.h"
#include "store/store.h"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum { AT_ONCE = 4, LIMIT_MS = 30000, NOT_FOUND = 3 };

struct explanation {
    struct http_call *call; /* NULL: the slot is free */
    pid_t pid;
    int pid_fd, out_fd;
    int64_t until_ms; /* mono */
};

struct explanations {
    int epoll_fd;
    struct explanation slots[AT_ONCE];
};

/* ---- the child ---- */

struct objects {
    struct arena *arena;
    VEC(const struct json *) list;
};

static void explain_add_object(void *ctx, const struct object *o)
{
    struct objects *all = ctx;

    *vec_push(all->arena, &all->list) = o->root;
}

static int work_out(struct serve *s, struct str namespace, struct str name, struct buf *out)
{
    autoarena a = { 0 };
    struct objects all = { .arena = &a };
    struct sched_config config = s->sched; /* the configuration that the server's scheduler works by */
    struct advice_input in = { .namespace = namespace, .name = name, .config = &config, .may_fork = true };
    struct advice advice;
    struct err e;

    for (size_t i = 0; i < n_resource_types; i++)
        if (sched_wants(type_api_version(&a, &resource_types[i]), str_of(resource_types[i].kind)))
            store_list(s->store, &resource_types[i], STR_NULL, explain_add_object, &all);
    config.knows_claims = true;
    in.objects = all.list.v;
    in.n = all.list.n;
    in.now_ms = clock_now_ms(&s->clock.clock);
    if (advice_make(&a, &in, &advice, &e) < 0) {
        buf_str(out, str_of(e.text));
        return e.code == ERR_NOT_FOUND ? NOT_FOUND : EXIT_FAILED;
    }
    json_print(out, explain_json(&a, &advice, in.now_ms));
    buf_char(out, '\n');
    return EXIT_FINE;
}

static _Noreturn void child(struct serve *s, struct str namespace, struct str name)
{
    autobuf out = { 0 };
    int status;

    status = work_out(s, namespace, name, &out);
    if (write_all(PROC_KEPT, buf_view(&out)) < 0)
        status = EXIT_FAILED;
    _exit(status);
}

/* ---- the server ---- */

/* 'has_ended': it was waited for. */
static void explain_release(struct explanation *slot, bool has_ended)
{
    if (!has_ended) {
        (void)kill(slot->pid, SIGKILL); /* it is ours, so it is there */
        (void)proc_wait(slot->pid);
    }
    autoclose_done(&slot->pid_fd); /* and is waited for no more */
    autoclose_done(&slot->out_fd);
    *slot = (struct explanation){ 0 };
}

static void explain_on_gone(void *ctx, struct http_call *call)
{
    struct serve *s = ctx;

    for (size_t i = 0; i < AT_ONCE; i++)
        if (s->explanations->slots[i].call == call)
            explain_release(&s->explanations->slots[i], false);
}

static int explain_begin(struct serve *s, struct explanation *slot, struct str namespace, struct str name)
{
    struct epoll_event news = { .events = EPOLLIN };

    slot->out_fd = memory_file("explain", STR_NULL);
    slot->pid = slot->out_fd < 0 ? -1 : proc_fork_alone(slot->out_fd, true);
    if (slot->pid == 0)
        child(s, namespace, name);
    if (slot->pid < 0) {
        autoclose_done(&slot->out_fd);
        return -1;
    }
    slot->until_ms = clock_mono_ms(&s->clock.clock) + LIMIT_MS;
    slot->pid_fd = pidfd_open(slot->pid, 0);
    if (slot->pid_fd >= 0 && epoll_ctl(s->explanations->epoll_fd, EPOLL_CTL_ADD, slot->pid_fd, &news) == 0)
        return 0;
    explain_release(slot, false);
    return -1;
}

void serve_explain(void *serve, struct http_call *call, struct str namespace, struct str name)
{
    struct serve *s = serve;
    struct explanation *slot = NULL;

    for (size_t i = 0; i < AT_ONCE && !slot; i++)
        if (!s->explanations->slots[i].call)
            slot = &s->explanations->slots[i];
    if (!slot || explain_begin(s, slot, namespace, name) < 0) {
        server_refuse(call, 503, STR("too many requests; retry in a moment"));
        return;
    }
    slot->call = call;
    http_call_watch(call, &(struct http_call_events){ .ctx = s, .on_gone = explain_on_gone });
}

static void explain_answer(struct explanation *slot, int status)
{
    struct http_call *call = slot->call;
    autobuf text = { 0 };

    if (!WIFEXITED(status) || lseek(slot->out_fd, 0, SEEK_SET) < 0 || read_all(slot->out_fd, SIZE_MAX, &text) < 0)
        server_refuse(call, 500, STR("internal error: no explanation"));
    else if (WEXITSTATUS(status) == EXIT_FINE)
        http_answer(call, &(struct http_reply){ .status = 200, .type = "application/json" }, buf_view(&text));
    else
        server_refuse(call, WEXITSTATUS(status) == NOT_FOUND ? 404 : 500, buf_view(&text));
    explain_release(slot, true);
}

int64_t serve_explain_turn(struct serve *s)
{
    int64_t now_ms = clock_mono_ms(&s->clock.clock), due_ms = INT64_MAX;

    for (size_t i = 0; i < AT_ONCE; i++) {
        struct explanation *slot = &s->explanations->slots[i];
        int status;

        if (!slot->call)
            continue;
        if (waitpid(slot->pid, &status, WNOHANG) == slot->pid) {
            explain_answer(slot, status);
        } else if (now_ms >= slot->until_ms) {
            server_refuse(slot->call, 504, STR("timed out; 'pumice explain' waits longer"));
            explain_release(slot, false);
        } else {
            due_ms = MIN_OF(due_ms, slot->until_ms - now_ms);
        }
    }
    return due_ms;
}

int serve_explain_fd(const struct serve *s)
{
    return s->explanations->epoll_fd;
}

int serve_explain_open(struct serve *s, struct err *e)
{
    s->explanations = arena_new(s->arena, struct explanations);
    s->explanations->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    return s->explanations->epoll_fd < 0 ? err_errno(e, "epoll_create1") : 0;
}

void serve_explain_close(struct serve *s)
{
    for (size_t i = 0; s->explanations && i < AT_ONCE; i++)
        if (s->explanations->slots[i].call)
            explain_release(&s->explanations->slots[i], false);
    if (s->explanations)
        autoclose_done(&s->explanations->epoll_fd);
}
