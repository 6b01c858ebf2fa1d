/* control.c - the control socket of a run */
#include "program/run/control.h"

#include "base/clock.h"
#include "base/util.h"
#include "program/run/publish.h"
#include "program/run/run.h"
#include "driver/cache.h"
#include "kubelet/kubelet.h"
#include "os/io.h"
#include "server/server.h"
#include "store/store.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/stat.h>

enum { END_MS = 2000 }; /* for those who still read, at the end */

struct run_control {
    struct run *run;
    struct agent *agent;
    struct run_publishes *publishes;
    struct http_server *http;
    struct kubelet *kubelet;
    int dir, epoll;
    struct list published; /* struct published */
};

struct published { /* a port that leads to a pod while a client waits */
    struct list_link link;
    struct http_call *call;
    struct run_publish *port;
};

/* ---- who asks ---- */

/* The numbers of a process, from our pid namespace to its own: "4711\t7" of one in a pod. Empty: it cannot be seen. */
static struct str numbers_of(struct arena *a, pid_t pid)
{
    struct str text = file_text(a, AT_FDCWD, arena_fmt(a, "/proc/%d/status", (int)pid).p, 16 << 10), line;

    while (str_split(&text, '\n', &line))
        if (str_starts(line, STR("NSpid:")))
            return str_trim(str_from(line, strlen("NSpid:")));
    return STR_NULL;
}

static bool is_of_machine(pid_t pid)
{
    autoarena a = { 0 };
    struct str numbers = numbers_of(&a, pid);

    return numbers.n && !str_has_char(numbers, '\t');
}

/* ---- what is asked ---- */

struct question {
    struct run_control *control;
    struct http_call *call;
    struct arena *arena;
    struct agent_place place;
};

static void control_answer(const struct question *q, const struct buf *json)
{
    http_answer(q->call, &(struct http_reply){ .status = 200, .type = "application/json" }, buf_view(json));
}

static void answer_tree(const struct question *q, const struct json *tree)
{
    autobuf out = { 0 };

    json_print(&out, tree);
    control_answer(q, &out);
}

static struct json *text_json(struct arena *a, struct str text)
{
    return json_str(a, arena_str(a, text));
}

static struct json *about_run(const struct run_control *c, struct arena *a)
{
    const struct run *r = c->run;
    struct json *about = json_object(a), *jobs;
    autobuf began = { 0 };

    clock_print(&began, r->begin_ms);
    json_set(about, "id", text_json(a, str_of(agent_id(c->agent))));
    json_set(about, "pid", json_int(a, getpid()));
    json_set(about, "began", text_json(a, buf_view(&began)));
    jobs = json_set(about, "jobs", json_array(a));
    VEC_FOREACH(j, &r->history->jobs) {
        struct json *job = json_push(jobs, json_object(a));

        json_set(job, "namespace", text_json(a, (*j)->namespace));
        json_set(job, "name", text_json(a, (*j)->name));
        json_set(job, "phase", text_json(a, (*j)->phase));
    }
    return about;
}

static void tell_run(const struct question *q)
{
    answer_tree(q, about_run(q->control, q->arena));
}

static void add_use(void *ctx, const struct agent_place *of, const struct cgroup_stats *s)
{
    struct json *list = ((void **)ctx)[0], *row;
    const struct question *q = ((void **)ctx)[1];

    if (of->container.n)
        return;
    row = json_push(list, json_object(q->arena));
    json_set(row, "namespace", text_json(q->arena, of->namespace));
    json_set(row, "pod", text_json(q->arena, of->pod));
    json_set(row, "cpuMicroseconds", json_int(q->arena, s->cpu_us));
    json_set(row, "memoryBytes", json_int(q->arena, s->memory_bytes));
}

static void tell_use(const struct question *q)
{
    struct json *list = json_array(q->arena);
    void *ctx[] = { list, (void *)q };

    agent_usage(q->control->agent, add_use, ctx);
    answer_tree(q, list);
}

static void control_add_pod(void *ctx, const struct object *o)
{
    struct buf *out = ctx;

    buf_str(out, str_ends(buf_view(out), STR("[")) ? STR("") : STR(","));
    json_print(out, o->root);
}

static void tell_pods(const struct question *q)
{
    autobuf out = { 0 };

    buf_str(&out, STR("{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"metadata\":{},\"items\":["));
    store_list(q->control->run->store, known_types()->pod, STR_NULL, control_add_pod, &out);
    buf_str(&out, STR("]}"));
    control_answer(q, &out);
}

static void tell_log(const struct question *q)
{
    kubelet_take(q->control->kubelet, q->call, KUBELET_LOGS, &q->place);
}

static void do_exec(const struct question *q)
{
    kubelet_take(q->control->kubelet, q->call, KUBELET_EXEC, &q->place);
}

static void do_attach(const struct question *q)
{
    kubelet_take(q->control->kubelet, q->call, KUBELET_ATTACH, &q->place);
}

/* Has it a root of its own, and not that of this machine? */
static bool is_inside(pid_t pid)
{
    char path[64];
    struct stat theirs, ours;

    (void)snprintf(path, sizeof(path), "/proc/%d/root/", (int)pid);
    return pid > 0 && stat(path, &theirs) == 0 && stat("/", &ours) == 0 &&
           (theirs.st_ino != ours.st_ino || theirs.st_dev != ours.st_dev);
}

struct control_search {
    struct str uid, container;
    pid_t found;
};

static void control_look_at(void *ctx, const struct agent_process *p)
{
    struct control_search *s = ctx;
    autoarena a = { 0 };

    if (str_eq(p->uid, s->uid) && str_eq(p->container, s->container) && is_inside(p->pid) &&
        !str_ends(numbers_of(&a, p->pid), STR("\t1")) && (!s->found || p->pid < s->found))
        s->found = p->pid;
}

/* With another runtime the first process is outside of the container, and process 1 in it is ours and has an empty root:
 * then the oldest of the others. */
static pid_t process_of(const struct question *q)
{
    pid_t first = agent_first_process(q->control->agent, &q->place);
    const struct object *pod = store_get(q->control->run->store, known_types()->pod, q->place.namespace, q->place.pod);
    struct control_search s = { .container = q->place.container };

    if (!first || !pod || is_inside(first))
        return pod ? first : 0;
    s.uid = pod->uid;
    agent_processes(q->control->agent, control_look_at, &s);
    return s.found;
}

static void tell_process(const struct question *q)
{
    pid_t pid = process_of(q);
    struct json *about = json_object(q->arena);

    json_set(about, "pid", json_int(q->arena, pid));
    if (pid)
        answer_tree(q, about);
    else
        server_refuse(q->call, 409,
                      arena_fmt(q->arena, "container \"%.*s\" of pod \"%.*s\" has no process with visible files",
                                STR_ARG(q->place.container), STR_ARG(q->place.pod)));
}

/* ---- a port while a client waits ---- */

static void published_end(struct published *p)
{
    list_remove(&p->link);
    run_publish_end(p->port);
    free(p);
}

static void control_on_gone(void *ctx, struct http_call *call)
{
    (void)call;
    published_end(ctx);
}

static void on_trouble(void *ctx, struct str sentence)
{
    struct published *p = ctx;
    autobuf line = { 0 };

    buf_fmt(&line, "%.*s\n", STR_ARG(sentence));
    http_answer_write(p->call, buf_view(&line));
}

static bool control_read_port(const struct question *q, const char *name, uint16_t *ret)
{
    autobuf text = { 0 };
    uint64_t number;

    if (!http_call_param(q->call, name, &text) || str_to_u64(buf_view(&text), &number) < 0 || number > UINT16_MAX)
        return false;
    *ret = (uint16_t)number;
    return true;
}

static void do_publish(const struct question *q)
{
    struct publish what = { .namespace = q->place.namespace, .pod = q->place.pod };
    struct published *p = xcalloc(1, sizeof(*p));
    autobuf address = { 0 }, line = { 0 };
    struct err e;

    if (http_call_param(q->call, "address", &address)) /* without: this machine's own */
        what.address = buf_view(&address);
    if (!control_read_port(q, "port", &what.port) || !control_read_port(q, "to", &what.to) || !what.to) {
        free(p);
        server_refuse(q->call, 400, STR("port and to must be port numbers"));
        return;
    }
    if (run_publish_add(q->control->publishes, &what, &(struct run_listener){ p, on_trouble }, &p->port, &e) < 0) {
        free(p);
        server_refuse(q->call, e.code == ERR_CONFLICT ? 409 : e.code == ERR_FORBIDDEN ? 403 : 400, str_of(e.text));
        return;
    }
    p->call = q->call;
    list_push(&q->control->published, &p->link);
    http_call_watch(q->call, &(struct http_call_events){ .ctx = p, .on_gone = control_on_gone });
    buf_fmt(&line, "%.*s\n", STR_ARG(run_publish_address(p->port, q->arena)));
    http_answer_begin(q->call, &(struct http_reply){ .status = 200 });
    http_answer_write(q->call, buf_view(&line));
}

/* ---- requests ---- */

static const struct control_route {
    const char *path; /* whole; or of a pod, behind its name */
    bool is_pods;
    void (*serve)(const struct question *q);
} routes[] = {
    { "/run", false, tell_run },       { "/use", false, tell_use },     { "/api/v1/pods", false, tell_pods },
    { "log", true, tell_log },         { "exec", true, do_exec },       { "attach", true, do_attach },
    { "process", true, tell_process }, { "publish", true, do_publish },
};

/* "/api/v1/namespaces/NS/pods/POD/WHAT"; names are those of DNS: nothing in them is escaped. */
static struct str read_place(struct question *q)
{
    static const char *const words[] = { "", "api", "v1", "namespaces", NULL, "pods", NULL, NULL };
    struct str rest = q->call->path, part, parts[ARRAY_LEN(words)] = { 0 };
    autobuf container = { 0 };
    size_t n = 0;

    while (str_split(&rest, '/', &part)) {
        if (n == ARRAY_LEN(words) || (words[n] && !str_is(part, words[n])))
            return STR_NULL;
        parts[n++] = part;
    }
    if (!http_call_param(q->call, "container", &container))
        buf_reset(&container);
    q->place = (struct agent_place){ arena_str(q->arena, parts[4]), arena_str(q->arena, parts[6]),
                                     arena_str(q->arena, buf_view(&container)) };
    return n == ARRAY_LEN(words) ? parts[7] : STR_NULL;
}

static void control_on_request(void *ctx, struct http_call *call)
{
    autoarena a = { 0 };
    struct question q = { .control = ctx, .call = call, .arena = &a };
    struct str of_pod = read_place(&q);

    if (call->peer->uid != (int)geteuid() || !is_of_machine(call->peer->pid)) {
        server_refuse(call, 403, STR("only the user who started the run may ask, and no program in a pod"));
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(routes); i++)
        if (str_is(routes[i].is_pods ? of_pod : call->path, routes[i].path)) {
            routes[i].serve(&q);
            return;
        }
    server_refuse(call, 404, STR("not found; is the run of another version of pumice?"));
}

/* ---- life ---- */

static int control_watch(struct run_control *c, int fd, struct err *e)
{
    if (epoll_ctl(c->epoll, EPOLL_CTL_ADD, fd, &(struct epoll_event){ .events = EPOLLIN }) < 0)
        return err_errno(e, "epoll");
    return 0;
}

/* Only the owner of the run can connect; a pager (`pumice logs | less`) may stay idle for a day. */
enum { PATIENCE_MS = 24 * 3600 * 1000 };

/* By way of a descriptor: a path may be too long for a socket. */
static int listen_in(struct run_control *c, struct err *e)
{
    struct kubelet_options kubelet = { .agent = c->agent, .refuse = server_refuse };
    struct http_server_options http = { .ctx = c,
                                        .on_request = control_on_request,
                                        .limits = { .connections = 4096, .send_ms = PATIENCE_MS } };
    char address[64];

    c->dir = open(agent_dir(c->agent), O_PATH | O_DIRECTORY | O_CLOEXEC);
    c->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (c->dir < 0 || c->epoll < 0)
        return err_errno(e, "%s", agent_dir(c->agent));
    (void)snprintf(address, sizeof(address), "unix:/proc/self/fd/%d/" RUN_CONTROL, c->dir);
    http.address = address;
    if (kubelet_open(&kubelet, &c->kubelet, e) < 0 || http_server_new(&http, &c->http, e) < 0)
        return -1;
    return control_watch(c, http_server_fd(c->http), e) < 0 || control_watch(c, kubelet_fd(c->kubelet), e) < 0 ? -1 : 0;
}

int run_control_open(struct run *r, struct agent *agent, struct run_publishes *publishes, struct run_control **ret,
                     struct err *e)
{
    struct run_control *c = xcalloc(1, sizeof(*c));

    c->run = r;
    c->agent = agent;
    c->publishes = publishes;
    c->dir = c->epoll = -1;
    list_init(&c->published);
    if (listen_in(c, e) < 0) {
        run_control_free(c);
        return -1;
    }
    *ret = c;
    return 0;
}

/* The directory of the run is <state>/<id>. */
const char *run_control_state(const struct run_control *c, struct arena *a)
{
    struct str dir = str_of(agent_dir(c->agent));

    return arena_cstr(a, str_sub(dir, 0, dir.n - strlen(agent_id(c->agent)) - 1));
}

const char *run_control_id(const struct run_control *c)
{
    return agent_id(c->agent);
}

int run_control_fd(const struct run_control *c)
{
    return c->epoll;
}

int64_t run_control_turn(struct run_control *c)
{
    http_server_turn(c->http);
    return kubelet_turn(c->kubelet);
}

/* ---- while it is stopped ---- */

struct control_note {
    struct arena *arena;
    struct json *pods;
};

/* Not its spec: that may hold what is better not in a file. */
static void note_pod(void *ctx, const struct object *o)
{
    static const char *const parts[] = { "metadata", "status" };
    struct control_note *n = ctx;
    struct json *pod = json_push(n->pods, json_object(n->arena));

    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        if (json_get(o->root, parts[i]))
            json_set(pod, parts[i], json_copy(n->arena, json_get(o->root, parts[i])));
}

void run_control_rest(struct run_control *c, bool is_on)
{
    autoarena a = { 0 };
    autobuf text = { 0 };
    struct json *all = json_object(&a);
    struct control_note n = { .arena = &a };

    if (!c)
        return;
    if (!is_on) {
        (void)unlinkat(c->dir, RUN_RESTS, 0); /* one that is not there was not written */
        return;
    }
    json_set(all, "run", about_run(c, &a));
    n.pods = json_set(all, "pods", json_array(&a));
    store_list(c->run->store, known_types()->pod, STR_NULL, note_pod, &n);
    json_print(&text, all);
    (void)file_write(c->dir, RUN_RESTS, O_TRUNC, 0600, buf_view(&text)); /* without it less is shown */
}

/* The logs of deleted pods are read to their end; their last bytes must still reach the followers. */
void run_control_end(struct run_control *c)
{
    int64_t until_ms = clock_mono_ms(&clock_real) + END_MS, now_ms, due_ms;
    struct http_server_stats left;

    if (!c)
        return;
    LIST_FOREACH(struct published, p, &c->published, link) {
        struct http_call *call = p->call;

        published_end(p);
        http_answer_end(call);
    }
    http_server_stop(c->http);
    for (;;) {
        due_ms = run_control_turn(c);
        http_server_stats(c->http, &left);
        now_ms = clock_mono_ms(&clock_real);
        if (!left.connections || now_ms >= until_ms)
            return;
        (void)poll(&(struct pollfd){ c->epoll, POLLIN, 0 }, 1, (int)MIN_OF(due_ms, until_ms - now_ms));
    }
}

void run_control_free(struct run_control *c)
{
    if (!c)
        return;
    if (c->kubelet)
        kubelet_close(c->kubelet);
    http_server_free(c->http); /* on_gone of all that are left */
    if (c->epoll >= 0)
        close(c->epoll);
    if (c->dir >= 0)
        close(c->dir);
    free(c);
}
