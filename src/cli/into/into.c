/* into.c - which runs there are, and which pod is meant */
#include "cli/into/into.h"

#include "api/meta.h"
#include "base/clock.h"
#include "base/codec.h"
#include "base/util.h"
#include "program/run/control.h"
#include "kube/path.h"
#include "node/doctor/host.h"
#include "os/dir.h"
#include "os/io.h"
#include "base/term.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

enum {
    ANSWER_MS = 5000,
    NAMES_BYTES = 200,
    REST_BYTES = 64 << 20,
};

#define JOB_LABEL "volcano.sh/job-name"

#define ELSEWHERE                                                                                                      \
    "this command is for runs of this machine; for a server or a cluster use 'pumice job', 'pumice pod' or kubectl"
const struct foreign_option into_foreign[] = {
    { "kubeconfig", true, true, ELSEWHERE },
    { "context", true, true, ELSEWHERE },
    { "server", true, true, ELSEWHERE },
    { 0 },
};

int into_fail(const char *command, const struct err *e)
{
    return command_fail(command, e, e->code == ERR_SYNTAX ? EXIT_USAGE : EXIT_FAILED);
}

/* ---- questions ---- */

struct into_reply {
    struct buf text;
    struct err err;
    bool is_over;
};

static void into_on_data(void *ctx, struct str data)
{
    buf_str(&((struct into_reply *)ctx)->text, data);
}

static void into_on_end(void *ctx, const struct err *e)
{
    struct into_reply *r = ctx;

    r->is_over = true;
    if (e)
        r->err = *e;
}

/* A run that was stopped (Ctrl-Z) takes connections and says nothing. */
static int into_wait_for(struct into_run *r, struct kube_stream *s, struct into_reply *reply, struct err *e)
{
    int64_t until_ms = clock_mono_ms(&clock_real) + ANSWER_MS, left_ms;

    while (!reply->is_over && (left_ms = until_ms - clock_mono_ms(&clock_real)) > 0) {
        (void)poll(&(struct pollfd){ kube_ask_fd(r->ask), POLLIN, 0 }, 1, (int)left_ms);
        kube_ask_turn(r->ask);
    }
    if (!reply->is_over) {
        kube_stream_end(s);
        return err_set(e, ERR_IO, "no answer: is the run stopped (Ctrl-Z)?");
    }
    if (reply->err.code == ERR_OK)
        return 0;
    *e = reply->err;
    return -1;
}

int into_get(struct into *x, struct into_run *r, struct str path, struct json **ret, struct err *e)
{
    struct into_reply reply = { 0 };
    struct kube_stream_events events = { .ctx = &reply, .on_data = into_on_data, .on_end = into_on_end };
    struct kube_stream *s;
    int rc = kube_ask_stream(r->ask, path, &events, &s, e);

    if (rc == 0)
        rc = into_wait_for(r, s, &reply, e);
    if (rc == 0)
        rc = json_parse(x->arena, arena_str(x->arena, buf_view(&reply.text)), NULL, ret, e);
    buf_done(&reply.text);
    return rc;
}

/* ---- runs ---- */

/* Does a process listen, and which? The socket of a killed run stays until the next run sweeps. */
static bool is_alive(const char *path, pid_t *ret_pid)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    autoclose int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct ucred who = { 0 };
    socklen_t n = sizeof(who);

    (void)snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
    if (fd < 0 || connect(fd, (struct sockaddr *)&at, sizeof(at)) < 0)
        return fd >= 0 && errno == EAGAIN; /* too many wait there already */
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n) == 0)
        *ret_pid = who.pid;
    return true;
}

/* ---- stopped ones ---- */

static bool into_is_stopped(struct arena *a, pid_t pid)
{
    struct str stat = file_text(a, AT_FDCWD, arena_fmt(a, "/proc/%d/stat", (int)pid).p, 4096);
    ptrdiff_t end = str_rfind_char(stat, ')'); /* of its name, which may be anything */

    return pid > 0 && end >= 0 && str_starts(str_from(stat, (size_t)end + 1), STR(" T"));
}

/* Is the process stopped? Then the file that it left is all we have; if something else than Ctrl-Z stopped it, not even
 * that. */
static bool into_read_rest(struct into *x, struct into_run *r, int dir)
{
    struct json *all = NULL;

    if (json_parse(x->arena, file_text(x->arena, dir, RUN_RESTS, REST_BYTES), NULL, &all, NULL) < 0)
        all = NULL;
    if (!r->pid)
        r->pid = (pid_t)json_i64(json_find(all, "run", "pid", NULL), 0);
    if (!into_is_stopped(x->arena, r->pid))
        return false;
    r->is_stopped = true;
    r->about = json_get(all, "run");
    r->pods = json_get(all, "pods");
    return true;
}

static struct str stopped_words(struct arena *a, const struct into_run *r)
{
    return arena_fmt(a, "run %.*s is stopped (Ctrl-Z): 'fg' at its terminal, or 'kill -CONT %d', continues it",
                     STR_ARG(r->id), (int)r->pid);
}

void into_tell_stopped(const struct into_run *r)
{
    autoarena a = { 0 };

    fprintf(stderr, "pumice: %s\n", stopped_words(&a, r).p);
}

static int ask_run(struct into *x, struct into_run *r, struct err *e)
{
    struct json *about, *pods;

    if (kube_ask_open(&r->config, &r->ask, e) < 0 || into_get(x, r, STR("/run"), &about, e) < 0 ||
        into_get(x, r, STR("/api/v1/pods"), &pods, e) < 0)
        return -1;
    r->about = about;
    r->pods = json_get(pods, "items");
    return 0;
}

/* Only our own: a directory of another user could contain anything. The descriptor stays: the socket is
 * reached by it, whatever the length of the path. */
static void add_run(struct into *x, int state, const char *id)
{
    int dir = openat(state, id, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct into_run *r = arena_new(x->arena, struct into_run);
    struct str path;
    struct stat st;
    struct err e;

    if (dir < 0)
        return;
    path = arena_fmt(x->arena, "/proc/self/fd/%d/" RUN_CONTROL, dir);
    if (fstat(dir, &st) < 0 || st.st_uid != geteuid() || !is_alive(path.p, &r->pid)) {
        close(dir);
        return;
    }
    r->id = arena_str(x->arena, str_of(id));
    r->config = (struct kube_config){ .server = arena_cat(x->arena, STR("unix:"), path), .namespace = STR("default") };
    if (into_read_rest(x, r, dir) || ask_run(x, r, &e) == 0 || into_read_rest(x, r, dir)) {
        *vec_push(x->arena, &x->runs) = r;
        return;
    }
    if (e.code != ERR_IO || is_alive(path.p, &r->pid)) { /* else it has just ended */
        fprintf(stderr, "pumice: run %s: %s\n", id, e.text);
        x->n_silent++;
    }
    kube_ask_close(r->ask);
}

static int into_by_age(const void *pa, const void *pb)
{
    const struct into_run *a = *(struct into_run *const *)pa, *b = *(struct into_run *const *)pb;
    int way = str_cmp(json_member_text(a->about, "began"), json_member_text(b->about, "began"));

    return way ? way : str_cmp(a->id, b->id);
}

int into_open(struct into *x, struct err *e)
{
    struct str path = x->o->state ? str_of(x->o->state) : host_state_dir(x->arena);
    autoclose int state = path.n ? open(arena_cstr(x->arena, path), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    autodir *d = state >= 0 ? dir_open(state, ".") : NULL;

    if (!path.n)
        return err_set(e, ERR_SYNTAX, "no home directory; use --state DIR");
    if (state < 0 && (errno != ENOENT || x->o->state))
        return err_errno(e, "--state %.*s", STR_ARG(path));
    for (struct dirent *entry; (entry = dir_next(d));)
        if (hex_is_small(str_of(entry->d_name), 6) && (!x->o->run || strcmp(x->o->run, entry->d_name) == 0))
            add_run(x, state, entry->d_name);
    if (x->runs.n)
        qsort(x->runs.v, x->runs.n, sizeof(struct into_run *), into_by_age);
    if (x->o->run && !x->runs.n && !x->n_silent)
        return err_set(e, ERR_NOT_FOUND, "no run %s in progress here; 'pumice ps' lists all", x->o->run);
    return 0;
}

void into_close(struct into *x)
{
    VEC_FOREACH(r, &x->runs)
        kube_ask_close((*r)->ask);
}

/* ---- pods ---- */

void into_path(struct buf *out, const struct into_pod *p, const char *what)
{
    path_object(out, type_by_name(STR("Pod")), object_namespace(p->pod), object_name(p->pod), what);
}

static bool is_joined(struct str text, struct str front, struct str rest)
{
    return front.n && text.n == front.n + 1 + rest.n && str_starts(text, front) && text.p[front.n] == '/' &&
           str_eq(str_from(text, front.n + 1), rest);
}

/* "NAME", or with "NAMESPACE/" or kubectl's "pod/" in front. */
static bool is_spelled(const struct json *pod, struct str own, struct str name)
{
    return str_eq(own, name) || is_joined(name, object_namespace(pod), own) || is_joined(name, STR("pod"), own);
}

static bool into_is_named(const struct json *pod, struct str name)
{
    return is_spelled(pod, object_name(pod), name);
}

/* As the output of its run has it: "worker-0", of several jobs "train/worker-0". */
static bool into_is_called(const struct json *pod, struct str name)
{
    struct str own = object_name(pod), job = object_label(pod, JOB_LABEL);

    if (!job.n || !str_starts(own, job) || own.n <= job.n + 1)
        return false;
    own = str_from(own, job.n + 1);
    return is_spelled(pod, own, name) || is_joined(name, job, own);
}

static bool is_of_job(const struct json *pod, struct str job)
{
    return !job.n || is_spelled(pod, object_label(pod, JOB_LABEL), job) ||
           is_joined(job, STR("job"), object_label(pod, JOB_LABEL));
}

static const char *const lists[] = { "containers", "initContainers", "ephemeralContainers" };

/* -c, "POD/CONTAINER", what the pod itself says, or the first. */
static int choose_container(const struct into *x, struct into_pod *p, struct str behind, struct err *e)
{
    struct str said = object_annotation(p->pod, "kubectl.kubernetes.io/default-container");
    struct str named = x->o->container ? str_of(x->o->container) : behind.n ? behind : said;
    const struct json *spec = json_get(p->pod, "spec");
    autobuf names = { 0 };

    p->container = json_member_text(json_first(json_get(spec, "containers")), "name");
    if (!named.n)
        return 0;
    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        JSON_FOREACH(c, json_get(spec, lists[i])) {
            buf_fmt(&names, "%s%.*s", names.n ? ", " : "", STR_ARG(json_member_text(c, "name")));
            if (str_eq(json_member_text(c, "name"), named)) {
                p->container = named;
                return 0;
            }
        }
    return err_set(e, ERR_NOT_FOUND, "pod %.*s has no container \"%.*s\" (containers: %s)",
                   STR_ARG(object_name(p->pod)), STR_ARG(named), names.n ? names.p : "none");
}

static int none_called(const struct into *x, struct str name, struct err *e)
{
    autobuf names = { 0 };
    bool is_more = false;

    VEC_FOREACH(r, &x->runs)
        if ((*r)->is_stopped && !(*r)->pods) /* it may be one of those */
            return err_set(e, ERR_CONFLICT, "%s", stopped_words(x->arena, *r).p);

    VEC_FOREACH(r, &x->runs)
        JSON_FOREACH(pod, (*r)->pods) {
            is_more = names.n >= NAMES_BYTES;
            if (!is_more)
                buf_fmt(&names, "%s%.*s", names.n ? ", " : "", STR_ARG(object_name(pod)));
        }
    if (!x->runs.n && x->n_silent)
        return err_set(e, ERR_NOT_FOUND, "no run that answers has a pod \"%.*s\"", STR_ARG(name));
    if (!x->runs.n)
        return err_set(e, ERR_NOT_FOUND,
                       "you have no run in progress here (ended runs: 'pumice runs', 'pumice runs logs'; jobs of a "
                       "server or cluster: 'pumice job')");
    return err_set(e, ERR_NOT_FOUND, "no pod \"%.*s\" (pods: %s%s)", STR_ARG(name), names.n ? names.p : "none yet",
                   is_more ? " …" : "");
}

typedef bool match_f(const struct json *pod, struct str name);

static void into_find(struct into *x, struct str name, match_f *is_it, struct into_pods *ret)
{
    struct str namespace = str_of(x->o->namespace);

    VEC_FOREACH(r, &x->runs)
        JSON_FOREACH(pod, (*r)->pods)
            if ((!namespace.n || str_eq(object_namespace(pod), namespace)) && is_it(pod, name))
                *vec_push(x->arena, &ret->v) = (struct into_pod){ *r, pod, STR_NULL };
}

/* In the first of these ways that any pod is meant by; where it is none, what stands behind the last slash may be a
 * container, as in the output of a run. */
static int find_any(struct into *x, struct str name, match_f *const *ways, struct into_pods *ret, struct err *e)
{
    ptrdiff_t slash = str_rfind_char(name, '/');
    struct str front = str_sub(name, 0, slash > 0 ? (size_t)slash : 0), behind = STR_NULL;

    for (match_f *const *way = ways; *way && !ret->v.n; way++)
        into_find(x, name, *way, ret);
    if (!ret->v.n && front.n)
        behind = str_from(name, (size_t)slash + 1);
    for (match_f *const *way = ways; *way && !ret->v.n && behind.n; way++)
        into_find(x, front, *way, ret);
    if (!ret->v.n)
        return none_called(x, name, e);
    VEC_FOREACH(p, &ret->v)
        if (choose_container(x, p, behind, e) < 0)
            return -1;
    return 0;
}

int into_pick(struct into *x, struct str name, struct into_pod *ret, struct err *e)
{
    static match_f *const ways[] = { into_is_named, into_is_called, NULL };
    struct into_pods found = { 0 };
    autobuf where = { 0 };

    if (find_any(x, name, ways, &found, e) < 0)
        return -1;
    VEC_FOREACH(p, &found.v)
        buf_fmt(&where, "%s%.*s of run %.*s", where.n ? ", " : "", STR_ARG(object_name(p->pod)), STR_ARG(p->run->id));
    if (found.v.n > 1)
        return err_set(e, ERR_CONFLICT, "\"%.*s\" could be %s; use --run ID or the full name", STR_ARG(name), where.p);
    *ret = found.v.v[0];
    if (ret->run->is_stopped)
        return err_set(e, ERR_CONFLICT, "%s", stopped_words(x->arena, ret->run).p);
    return 0;
}

static int leave_stopped(struct into *x, struct into_pods *pods, struct err *e)
{
    const struct into_run *last = NULL;
    size_t n = 0;

    VEC_FOREACH(p, &pods->v)
        n += !p->run->is_stopped;
    if (!n)
        return err_set(e, ERR_CONFLICT, "%s", stopped_words(x->arena, pods->v.v[0].run).p);
    n = 0;
    VEC_FOREACH(p, &pods->v) {
        if (p->run->is_stopped && p->run != last)
            into_tell_stopped(last = p->run);
        if (!p->run->is_stopped)
            pods->v.v[n++] = *p;
    }
    pods->v.n = n;
    return 0;
}

int into_pick_all(struct into *x, struct str name, struct into_pods *ret, struct err *e)
{
    static match_f *const ways[] = { into_is_named, into_is_called, is_of_job, NULL };

    return find_any(x, name, ways, ret, e) < 0 ? -1 : leave_stopped(x, ret, e);
}
