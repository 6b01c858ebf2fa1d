/* run.c - the command `pumice run`: a Job, really, on this machine */
#include "cli/run.h"

#include "api/duration.h"
#include "api/meta.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "cli/commands.h"
#include "cli/render.h"
#include "report/report.h"
#include "report/term.h"
#include "node/device/device.h"
#include "node/doctor/host.h"
#include "node/image/image.h"
#include "node/oci/oci.h"
#include "os/proc.h"
#include "node/container/reexec.h"
#include "node/userns/user.h"
#include "os/io.h"
#include "os/path.h"
#include "plugin/plugin.h"
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/stat.h>

struct report { /* --report or --trace: opened before anything runs, written at the end */
    const char *flag, *path;
    int fd;
    void (*print)(struct buf *out, const struct history *h, struct str title);
};

struct session { /* what one `pumice run` holds */
    struct run run;
    struct load *load;
    struct agent *agent;
    struct cluster *agent_door;
    struct images *images;
    struct devices *devices;
    struct json *capacity;
    struct report reports[2];
    struct hints hints;
    size_t n_reports;
    int64_t from_ms; /* when the history begins: before anything is made ready */
    struct str state;
    struct user_root root;
    int log_pipe[2];
};

static int fail(const struct err *e, int status)
{
    autobuf text = { 0 };

    term_text(&text, str_of(e->text));
    fprintf(stderr, "pumice run: %s\n", text.p);
    return status;
}

/* ---- options ---- */

static int read_timeout(struct session *s, const char *text, struct err *e)
{
    int64_t ns;

    s->run.timeout_ms = INT64_MAX;
    if (!text)
        return 0;
    if (duration_parse(str_of(text), &ns, e) < 0)
        return err_wrap(e, "--timeout");
    if (ns <= 0)
        return err_set(e, ERR_INVALID, "--timeout: must be more than nothing");
    s->run.timeout_ms = ns / 1000000;
    return 0;
}

static int read_options(struct session *s, const struct run_options *o, struct err *e)
{
    if (read_timeout(s, o->timeout, e) < 0)
        return -1;
    if (o->node && run_capacity(s->run.arena, str_of(o->node), &s->capacity, e) < 0)
        return err_wrap(e, "--node %s", o->node);
    return 0;
}

static int absolute(struct arena *a, const char *path, struct str *ret, struct err *e)
{
    char here[PATH_MAX];

    if (path[0] == '/') {
        *ret = str_of(path);
        return 0;
    }
    if (!getcwd(here, sizeof(here)))
        return err_errno(e, "the directory we are in");
    *ret = arena_fmt(a, "%s/%s", here, path);
    return 0;
}

/* ---- files ---- */

struct changing {
    const struct run_options *o;
    struct err err;
    bool is_bad;
};

static void on_loaded(void *ctx, struct load *l)
{
    struct changing *c = ctx;

    c->is_bad = run_change(l, c->o, &c->err) < 0;
}

static size_t count_kind(const struct load *l, const char *kind)
{
    size_t n = 0;

    for (size_t i = 0; i < l->docs.n; i++)
        n += l->docs.v[i]->type && strcmp(l->docs.v[i]->type->kind, kind) == 0;
    return n;
}

static int load_all(struct load *l, const struct run_options *o, const struct text_list *files)
{
    struct changing c = { .o = o };

    l->change = on_loaded;
    l->ctx = &c;
    load_files(l, files);
    l->change = NULL;
    l->ctx = NULL;
    if (c.is_bad)
        return fail(&c.err, EXIT_USAGE);
    if (o->restricted)
        run_restrict(l);
    if (load_report(l))
        return EXIT_FAILED;
    if (load_count_jobs(l) == 0 && (count_kind(l, "Pod") == 0 || o->dry_run)) {
        fprintf(stderr, "pumice run: no Volcano Job in %.*s\n",
                STR_ARG(files->list.n == 1 ? load_file_name(files->list.v[0]) : STR("these files")));
        return EXIT_FAILED;
    }
    return EXIT_FINE;
}

static bool has_namespaces(const struct load *l)
{
    struct str first = STR_NULL;

    for (size_t i = 0; i < l->docs.n; i++) {
        struct str own = object_namespace(l->docs.v[i]->root);

        if (!l->docs.v[i]->set)
            continue;
        if (str_empty(first))
            first = own;
        else if (!str_eq(first, own))
            return true;
    }
    return false;
}

/* ---- reports ---- */

static void print_trace(struct buf *out, const struct history *h, struct str title)
{
    (void)title;
    report_trace(out, h);
}

static int open_reports(struct session *s, const struct run_options *o, struct err *e)
{
    const struct report wanted[] = { { "--report", o->report, -1, report_html },
                                     { "--trace", o->trace, -1, print_trace } };

    for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
        struct report *r = &s->reports[s->n_reports];

        if (!wanted[i].path)
            continue;
        *r = wanted[i];
        r->fd = open(r->path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
        if (r->fd < 0)
            return err_errno(e, "%s %s", r->flag, r->path);
        s->n_reports++;
    }
    return 0;
}

static struct str title_of(const struct session *s)
{
    const struct history *h = s->run.history;

    if (h->jobs.n == 1)
        return h->jobs.v[0]->name;
    return arena_fmt(s->run.arena, "%zu jobs", h->jobs.n);
}

static int write_reports(struct session *s)
{
    int rc = 0;

    for (size_t i = 0; i < s->n_reports; i++) {
        const struct report *r = &s->reports[i];
        autobuf text = { 0 };

        r->print(&text, s->run.history, title_of(s));
        if ((ftruncate(r->fd, 0) < 0 && errno != EINVAL) || write_all(r->fd, buf_view(&text)) < 0) {
            fprintf(stderr, "pumice run: cannot write %s: %s\n", r->path, strerror(errno));
            rc = -1;
        }
    }
    return rc;
}

/* ---- the machine ---- */

static void on_output(void *ctx, const struct agent_output *line)
{
    struct session *s = ctx;

    history_output(s->run.history, line->uid, line->container, line->text, line->is_partial);
    if (s->run.stage != RUN_KILLED || run_out_left(&s->run.out) < RUN_OUT_MAX) /* killed: nobody waits any more */
        run_logs_line(&s->run.logs, line);
}

static size_t on_room(void *ctx)
{
    const struct run *r = &((struct session *)ctx)->run;
    size_t left = run_out_left(&r->out);

    return r->stage == RUN_KILLED ? RUN_OUT_MAX : left < RUN_OUT_MAX ? RUN_OUT_MAX - left : 0;
}

static void on_usage(void *ctx, struct str pod_uid, const struct cgroup_stats *stats, int64_t now_ms)
{
    history_usage(((struct session *)ctx)->run.history, pod_uid, stats->cpu_us, stats->memory_bytes,
                  stats->memory_peak_bytes, now_ms);
}

static void on_notice(void *ctx, struct str sentence)
{
    struct session *s = ctx;

    if (!s->run.o->quiet || s->run.is_json)
        run_say(&s->run, sentence);
    else
        history_note(s->run.history, sentence, clock_now_ms(s->run.clock));
}

static int64_t node_turn(void *ctx, bool *ret_busy)
{
    struct session *s = ctx;
    int64_t due_ms = agent_turn(s->agent, ret_busy);

    if (agent_is_broken(s->agent) && s->run.stage == RUN_GOES) {
        struct str why = STR("a part of this program, its spawner, was killed: no pod can start any more");

        run_say(&s->run, why);
        run_stop(&s->run, EXIT_FAILED, why);
    }
    return due_ms;
}

static size_t node_pods(void *ctx)
{
    return agent_pods(((struct session *)ctx)->agent);
}

static void node_kill(void *ctx)
{
    agent_kill_all(((struct session *)ctx)->agent);
}

static int find_images(struct session *s, const struct run_options *o, struct err *e)
{
    const char *store = o->image_store ? o->image_store
                                       : arena_cstr(s->run.arena, arena_cat(s->run.arena, s->state, STR("/images")));

    (void)images_sweep(store, NULL); /* what stays is in nobody's way */
    s->images = images_new(store);
    VEC_FOREACH(text, &o->image.list)
        if (images_add(s->images, str_of(*text), e) < 0)
            return err_wrap(e, "--image %s", *text);
    s->devices = devices_new(&(struct device_options){ 0 });
    VEC_FOREACH(text, &o->device.list)
        if (devices_add(s->devices, str_of(*text), e) < 0)
            return err_wrap(e, "--device %s", *text);
    return 0;
}

static const char *const network_names[] = {
    [AGENT_NET_AUTO] = "auto", [AGENT_NET_PRIVATE] = "private", [AGENT_NET_OPEN] = "open", [AGENT_NET_MAX] = NULL
};

static enum agent_network network_of(const char *name)
{
    for (int i = 0; name && i < AGENT_NET_MAX; i++)
        if (strcmp(name, network_names[i]) == 0)
            return (enum agent_network)i;
    return AGENT_NET_AUTO;
}

static int open_agent(struct session *s, const struct run_options *o, struct err *e)
{
    struct agent_options opt = {
        .state_dir = arena_cstr(s->run.arena, s->state),
        .capacity = s->capacity,
        .images = s->images,
        .devices = s->devices,
        .network = network_of(o->network),
        .allows_unfiltered = o->allow_unfiltered,
        .keeps_state = o->keep,
        .clock = s->run.clock,
        .hooks = { s, on_output, on_room, on_usage, on_notice },
    };
    struct str claims = STR_NULL;

    if (o->runtime && oci_find(s->run.arena, o->runtime, &opt.oci_runtime, e) < 0)
        return err_wrap(e, "--runtime %s", o->runtime);
    if (o->claims) {
        if (absolute(s->run.arena, o->claims, &claims, e) < 0 ||
            make_dirs(arena_cstr(s->run.arena, claims), 0755, e) < 0)
            return err_wrap(e, "--claims");
        opt.claims_dir = arena_cstr(s->run.arena, claims);
    }
    if (agent_open(&opt, &s->agent, e) < 0)
        return -1;
    s->run.node = (struct run_node){ s, agent_fd(s->agent), node_turn, node_pods, node_kill };
    return 0;
}

/* Before anything is made that would have to be removed again. What the agent starts sets its own signals. */
static int take_over_signals(struct session *s, struct err *e)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGWINCH);
    (void)sigprocmask(SIG_BLOCK, &set, NULL); /* cannot fail with these arguments */
    (void)signal(SIGPIPE, SIG_IGN);
    s->run.signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return s->run.signal_fd < 0 ? err_errno(e, "signals") : 0;
}

/* While there is a block on the screen, lines of our own log must not go right through it. */
static void take_over_log(struct session *s)
{
    struct log_config c = { .fd = STDERR_FILENO, .level = LOG_LEVEL_WARN };

    if (s->run.progress.is_live && pipe2(s->log_pipe, O_CLOEXEC | O_NONBLOCK) == 0) {
        c.fd = s->log_pipe[1];
        s->run.log_fd = s->log_pipe[0];
    }
    (void)log_setup(c); /* the old one is the default */
}

static void give_back_log(struct session *s)
{
    (void)log_setup((struct log_config){ .fd = STDERR_FILENO, .level = LOG_LEVEL_WARN });
    for (int i = 0; i < 2; i++)
        if (s->log_pipe[i] >= 0)
            close(s->log_pipe[i]);
    s->run.log_fd = -1;
}

/* ---- running ---- */

static uint64_t random_seed(void)
{
    uint64_t seed = 0;

    if (getrandom(&seed, sizeof(seed), 0) != (ssize_t)sizeof(seed) || !seed)
        seed = map_seed_default();
    return seed;
}

static void on_say(void *ctx, struct str sentence)
{
    run_say(ctx, sentence);
}

static int start(struct session *s, struct err *e)
{
    struct run *r = &s->run;
    struct run_say say = { r, on_say }, notice = { s, on_notice };

    agent_attach(s->agent, s->agent_door);
    if (s->root.why[0])
        on_notice(s, arena_fmt(r->arena, "containers have one user only, root: %s", s->root.why));
    if (r->is_json)
        run_event_start(&r->events, agent_id(s->agent), s->load, r->begin_ms);
    run_tell_dangers(s->load, &notice);
    run_tell_ignored(s->load, &notice);
    r->load = s->load;
    VEC_FOREACH(text, &r->o->image.list) {
        autobuf said = { 0 };

        hint_image(&said, &s->hints, str_of(*text));
        if (said.n)
            on_notice(s, buf_view(&said));
    }
    if (run_create(r->store, s->load, &say, e) < 0)
        return -1;
    if (r->timeout_ms != INT64_MAX)
        r->timeout_ms += r->begin_ms;
    return 0;
}

/* Everything that is still in the queue, unless somebody presses Ctrl-C again. */
static void drain(struct run *r)
{
    while (!run_out_flush(&r->out)) {
        struct pollfd p[] = { { .fd = r->out.fd, .events = POLLOUT }, { .fd = r->signal_fd, .events = POLLIN } };
        struct signalfd_siginfo info;

        (void)poll(p, ARRAY_LEN(p), -1);
        if (p[1].revents && read(r->signal_fd, &info, sizeof(info)) > 0 && info.ssi_signo != SIGWINCH)
            return;
    }
}

static int tell_end(struct session *s)
{
    struct run *r = &s->run;
    autobuf text = { 0 };
    int status = r->end.status;

    run_logs_end(&r->logs);
    if (r->is_json && r->o->keep)
        run_event_notice(&r->events, arena_fmt(r->arena, "the files of the run are kept in %s", agent_dir(s->agent)),
                         r->end.end_ms);
    if (r->is_json)
        run_event_end(&r->events, r->history, &r->end);
    run_progress_hide(&r->progress);
    drain(r);
    if (!r->is_json)
        run_summary(&text, r->history, r->hints, &r->end, r->progress.has_colour, r->o->quiet);
    (void)term_write(stderr, &text); /* nobody is left to tell */
    if (r->logs.dir_errno)
        fprintf(stderr, "pumice run: cannot write below %s: %s\n", r->logs.dir, strerror(r->logs.dir_errno));
    if (r->out.failed_errno)
        fprintf(stderr, "pumice run: cannot write the output: %s\n", strerror(r->out.failed_errno));
    if (write_reports(s) < 0 || r->logs.dir_errno || r->out.failed_errno)
        status = status == EXIT_FINE ? EXIT_FAILED : status;
    return status;
}

/* From here on there is something to clean up. */
static int run_all(struct session *s)
{
    struct run *r = &s->run;
    struct err e;
    int status;

    r->store = store_new(&(struct store_options){ .clock = r->clock, .seed = random_seed() });
    run_begin(r, s->from_ms, load_count_jobs(s->load), r->logs.has_namespaces);
    r->logs.history = r->history;
    s->hints = (struct hints){ s->load, s->images };
    r->hints = r->events.hints = &s->hints;
    s->agent_door = cluster_embedded_new(r->store, r->clock);
    run_progress_init(&r->progress, r->history, &r->out, r->o->quiet, r->is_json, r->begin_ms);
    r->progress.logs = &r->logs;
    r->progress.hints = &s->hints;
    if (take_over_signals(s, &e) < 0 || open_agent(s, r->o, &e) < 0) {
        status = fail(&e, EXIT_FAILED);
        goto done;
    }
    take_over_log(s);
    if (start(s, &e) == 0) {
        run_loop(r);
        history_finish(r->history, r->end.end_ms);
        status = tell_end(s);
    } else {
        status = fail(&e, EXIT_FAILED);
    }
    if (r->o->keep && !r->is_json)
        fprintf(stderr, "pumice: the files of the run are kept in %s\n", agent_dir(s->agent));
    give_back_log(s);
    agent_close(s->agent);
done:
    run_progress_done(&r->progress);
    cluster_free(s->agent_door);
    run_finish(r);
    store_free(r->store);
    if (r->signal_fd >= 0)
        close(r->signal_fd);
    return status;
}

static void set_up_output(struct session *s, const struct run_options *o)
{
    struct run *r = &s->run;

    r->is_json = o->output && strcmp(o->output, "json") == 0;
    run_out_init(&r->out, STDOUT_FILENO);
    r->events.out = &r->out;
    r->logs.out = &r->out;
    r->logs.events = r->is_json ? &r->events : NULL;
    r->has_keyboard = isatty(STDIN_FILENO);
    r->logs.is_terminal = isatty(STDOUT_FILENO);
    r->logs.has_colour = term_has_colour(stdout);
}

static bool makes_policy(struct arena *a, const struct loaded *doc)
{
    struct plugin_objects objects = { .arena = a };

    if (doc->type && strcmp(doc->type->kind, "NetworkPolicy") == 0)
        return true;
    if (!doc->set || plugin_set_objects(doc->set, &objects, NULL) < 0)
        return false;
    VEC_FOREACH(object, &objects.list)
        if (str_is(object_kind(*object), "NetworkPolicy"))
            return true;
    return false;
}

/* A policy that nobody enforces is worse than none: somebody relies on it. */
static int check_policies(struct session *s, const struct run_options *o, struct err *e)
{
    char nft[PATH_MAX];

    if (o->allow_unfiltered || proc_find("nft", nft, sizeof(nft)))
        return 0;
    VEC_FOREACH(doc, &s->load->docs)
        if (makes_policy(s->run.arena, *doc))
            return err_set(e, ERR_NOT_FOUND,
                           "%.*s %.*s: there is no program nft to enforce %s NetworkPolicy with; install nftables "
                           "(apt-get install nftables), or run without the protection: --allow-unfiltered",
                           STR_ARG(object_kind((*doc)->root)), STR_ARG(object_name((*doc)->root)),
                           (*doc)->set ? "its" : "this");
    return 0;
}

/* All that can go wrong before anything runs. */
static int prepare(struct session *s, const struct run_options *o, struct err *e)
{
    struct arena *a = s->run.arena;
    struct str state = o->state ? str_of(o->state) : host_state_dir(a);

    if (str_empty(state))
        return err_set(e, ERR_INVALID, "no home directory is known: give --state DIR");
    if (absolute(a, arena_cstr(a, state), &s->state, e) < 0)
        return err_wrap(e, "--state");
    if (check_policies(s, o, e) < 0)
        return -1;
    if (open_reports(s, o, e) < 0 || run_logs_open(&s->run.logs, e) < 0)
        return -1;
    if (host_require(e) < 0 || user_enter(&s->root, e) < 0)
        return -1;
    if (make_dirs(arena_cstr(a, s->state), 0755, e) < 0)
        return err_wrap(e, "--state");
    return find_images(s, o, e);
}

static int run_session(struct session *s, const struct run_options *o)
{
    struct run *r = &s->run;
    struct err e;
    int status;

    if (run_logs_init(&r->logs, o, s->load, &e) < 0) {
        status = fail(&e, EXIT_USAGE);
    } else {
        set_up_output(s, o);
        s->from_ms = clock_now_ms(r->clock);
        status = prepare(s, o, &e) < 0 ? fail(&e, EXIT_FAILED) : run_all(s);

        run_out_done(&r->out);
    }
    run_logs_done(&r->logs);
    for (size_t i = 0; i < s->n_reports; i++)
        close(s->reports[i].fd);
    if (s->images)
        images_free(s->images);
    if (s->devices)
        devices_free(s->devices);
    return status;
}

static int run_run(struct arena *a, const void *options, const struct text_list *files)
{
    const struct run_options *o = options;
    autoload l = { .arena = a, .namespace = o->namespace, .fills_uid = o->dry_run };
    struct clock_steady clock;
    struct session s = { .run = { .arena = a, .o = o, .clock = &clock.clock, .signal_fd = -1, .log_fd = -1 },
                         .load = &l,
                         .log_pipe = { -1, -1 } };
    struct text_list all = o->files;
    struct err e;
    int status;

    clock_steady_init(&clock, &clock_real);
    if (read_options(&s, o, &e) < 0)
        return fail(&e, EXIT_USAGE);
    VEC_FOREACH(file, &files->list)
        *vec_push(a, &all.list) = *file;
    if (all.list.n == 0) {
        fprintf(stderr, "pumice run: no file given ('-' reads standard input)\nTry 'pumice run --help'.\n");
        return EXIT_USAGE;
    }
    if (!o->dry_run && reexec_sealed(&e) < 0) /* before standard input is read */
        return fail(&e, EXIT_FAILED);
    status = load_all(&l, o, &all);
    if (status != EXIT_FINE)
        return status;
    if (o->dry_run)
        return render_loaded(a, &l, o->output && strcmp(o->output, "json") == 0 ? "json" : NULL);
    s.run.logs.has_namespaces = has_namespaces(&l);
    return run_session(&s, o);
}

/* ---- the command ---- */

#define FIELD(name) offsetof(struct run_options, name)

static const char *const output_names[] = { "text", "json", NULL };

static const struct option run_option_table[] = {
    { 'f', "file", OPTION_LIST, FIELD(files), "FILE", NULL,
      "the same as FILE: a file, a directory (its .yaml, .yml and .json), or - (may be repeated)" },
    { 'o', "output", OPTION_TEXT, FIELD(output), "FORM", output_names,
      "text (default), or json: one object on each line, for programs" },
    { 0, "logs", OPTION_TEXT, FIELD(logs), "WHICH", NULL,
      "all (default), failed, none, or tasks: worker, train/worker, with commas between" },
    { 0, "log-dir", OPTION_TEXT, FIELD(log_dir), "DIR", NULL, "write the output of each container to a file here" },
    { 0, "set", OPTION_LIST, FIELD(set), "[JOB/]PATH=VALUE", NULL,
      "change a field of the Job, as spec.tasks[worker].replicas=3 (may be repeated)" },
    { 0, "replicas", OPTION_LIST, FIELD(replicas), "[JOB/]TASK=N", NULL, "run N pods of this task (may be repeated)" },
    { 'e', "env", OPTION_LIST, FIELD(env), "NAME[=VALUE]", NULL,
      "a variable for all containers; without VALUE as it is here (may be repeated)" },
    { 0, "timeout", OPTION_TEXT, FIELD(timeout), "TIME", NULL, "stop after this time, such as 10m; exit status 124" },
    { 0, "fail-on-any", OPTION_FLAG, FIELD(fail_on_any), NULL, NULL,
      "an exit status other than 0 also when Jobs completed and pods of them failed" },
    { 0, "wait", OPTION_FLAG, FIELD(wait), NULL, NULL, "wait also when nothing runs and nothing can start" },
    { 0, "restricted", OPTION_FLAG, FIELD(restricted), NULL, NULL,
      "refuse pods that Pod Security \"restricted\" refuses; for jobs of others" },
    { 0, "report", OPTION_TEXT, FIELD(report), "FILE", NULL, "write a page that shows what happened (HTML, one file)" },
    { 0, "trace", OPTION_TEXT, FIELD(trace), "FILE", NULL, "write a trace for Perfetto or Chrome (JSON)" },
    { 0, "dry-run", OPTION_FLAG, FIELD(dry_run), NULL, NULL, "run nothing: print every object, as render does" },
    { 0, "keep", OPTION_FLAG, FIELD(keep), NULL, NULL, "leave the files and logs of the run, and say where" },
    { 'q', "quiet", OPTION_FLAG, FIELD(quiet), NULL, NULL, "only logs, and what failed" },
    { 'n', "namespace", OPTION_TEXT, FIELD(namespace), "NAME", NULL,
      "namespace of objects that name none (default: default)" },
    { 0, "node", OPTION_TEXT, FIELD(node), "AMOUNTS", NULL,
      "what the node has, as cpu=8,memory=16Gi (default: what the machine has)" },
    { 0, "image", OPTION_LIST, FIELD(image), "NAME=WHERE", NULL,
      "files of an image: a directory, or an archive (may be repeated; '*': all; default: the host's)" },
    { 0, "image-store", OPTION_TEXT, FIELD(image_store), "DIR", NULL, "unpacked images (default: below --state)" },
    { 0, "device", OPTION_LIST, FIELD(device), "NAME=PATH,…", NULL,
      "a resource and its devices, as example.com/fpga=/dev/fpga0 (may be repeated)" },
    { 0, "network", OPTION_TEXT, FIELD(network), "KIND", network_names,
      "auto (default): a way out of the pods' network where there can be one; private: none; open: also a way in" },
    { 0, "allow-unfiltered", OPTION_FLAG, FIELD(allow_unfiltered), NULL, NULL,
      "start pods also where their NetworkPolicies cannot be enforced (no nft)" },
    { 0, "runtime", OPTION_TEXT, FIELD(runtime), "PROGRAM", NULL,
      "run containers with runc, crun or another OCI runtime" },
    { 0, "claims", OPTION_TEXT, FIELD(claims), "DIR", NULL,
      "keep PersistentVolumeClaims here (default: gone with the run)" },
    { 0, "state", OPTION_TEXT, FIELD(state), "DIR", NULL,
      "where runs keep their files (default: /var/lib/pumice; ~/.local/state/pumice)" },
};

static const char *const run_examples[] = {
    "pumice run job.yaml",
    "run it to its end",
    "pumice run --replicas worker=4 -e STEPS=10 job.yaml",
    "the same, larger and shorter",
    "pumice run --logs=failed --report run.html job.yaml",
    "words only of what fails, and a page to look at",
    "pumice run -o json job.yaml | jq .",
    "for programs",
    "pumice run --image app=app.tar job.yaml",
    "with the files of an image",
    NULL,
};

const struct command command_run = {
    .name = "run",
    .arguments = "[FILE…]",
    .summary = "run Jobs to their end on this machine, with real pods",
    .about =
        "Runs all Jobs of the files together, with the real controllers and the real scheduler, as pods of this "
        "machine:\n"
        "isolated, in a network of their own, with names, volumes, ssh and all that a cluster would give them. Root "
        "is\n"
        "not needed. Nothing is left behind.\n\n"
        "What containers write goes to standard output, each line with the name of its pod; progress and the summary "
        "go\n"
        "to standard error. Ctrl-C stops the jobs gracefully, a second time at once.\n\n"
        "Exit status: 0 when all Jobs completed; else that of the first container that failed in the first Job that\n"
        "failed, 1 if there is none; 124 after --timeout, 130 after Ctrl-C, 143 after SIGTERM; 2 for wrong use.",
    .options = run_option_table,
    .n_options = ARRAY_LEN(run_option_table),
    .options_size = sizeof(struct run_options),
    .examples = run_examples,
    .run = run_run,
};
