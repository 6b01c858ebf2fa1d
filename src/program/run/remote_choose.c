/* remote_choose.c - which server a run goes to, what goes with one, and --detach */
#include "program/run/remote.h"

#include "api/meta.h"
#include "base/clock.h"
#include "base/util.h"
#include "cli/commands.h"
#include "program/server/server.h"
#include "driver/cache.h"
#include "base/term.h"

#include <assert.h>
#include <sys/stat.h>

/* ---- options that are the server's business ---- */

struct own_option { /* of a run on this machine */
    const char *name, *instead;
};

static const struct own_option own_options[] = {
    { "node", "the server says what its node has (pumice server --capacity)" },
    { "image", "the server has the images (pumice server --image)" },
    { "image-store", "the server has the images (pumice server --image-store)" },
    { "pull", "the server pulls images (pumice server --pull)" },
    { "auth-file", "the server pulls images (pumice server --auth-file); or imagePullSecrets" },
    { "mirror", "the server pulls images (pumice server --mirror)" },
    { "insecure-registry", "the server pulls images (pumice server --insecure-registry)" },
    { "registry-timeout", "the server pulls images (pumice server --registry-timeout)" },
    { "device", "the server has the devices (pumice server --device)" },
    { "network", "the server has the network (pumice server --network)" },
    { "allow-unfiltered", "the server has the network (pumice server --allow-unfiltered)" },
    { "runtime", "the server starts the containers (pumice server --runtime)" },
    { "claims", "the server keeps claims (pumice server --claims)" },
    { "state", "the files of pods are the server's (pumice server --data-dir)" },
    { "keep", "the files of pods are the server's; --log-dir keeps what they write" },
    { "keep-state", "the files of pods are the server's; --log-dir keeps what they write" },
    { "publish", "the pods are the server's; 'kubectl port-forward' leads to them" },
    { "fit", "a job that does not fit the server waits; give it smaller requests (--set)" },
    { "stacks", "the processes are the server's; look into a pod with 'pumice job exec'" },
};

static bool is_given(const struct run_options *o, const char *name)
{
    static const struct run_options none;

    for (size_t i = 0; i < command_run.n_options; i++)
        if (strcmp(command_run.options[i].name, name) == 0)
            return !option_is_same(&command_run.options[i], o, &none);
    assert(!"a name that is no option of run");
    return false;
}

static int choose_check_options(const struct run_options *o, struct err *e)
{
    for (size_t i = 0; i < ARRAY_LEN(own_options); i++)
        if (is_given(o, own_options[i].name))
            return err_set(e, ERR_INVALID,
                           "--%s: cannot be used with a server: %s; to run without the server: --server=none",
                           own_options[i].name, own_options[i].instead);
    return 0;
}

/* ---- which one ---- */

/* The administrator's file, where it can be read; else the user's own, if it is of that server. */
static bool may_use(struct arena *a, const struct announced *server, const char **ret_kubeconfig)
{
    struct kube_config_options opt = { .env = kube_env_real() };
    struct kube_config own;
    struct err e;

    *ret_kubeconfig = arena_cstr(a, server->kubeconfig);
    if (access(*ret_kubeconfig, R_OK) == 0)
        return true;
    *ret_kubeconfig = NULL;
    return kube_config_load(a, &opt, &own, &e) == 0 && str_eq(own.server, server->server);
}

/* A directory is a server's --data-dir. */
static int named(struct arena *a, const char *where, const char **ret, struct err *e)
{
    struct stat st;

    if (stat(where, &st) < 0)
        return err_errno(e, "--server=%s", where);
    *ret = S_ISDIR(st.st_mode) ? arena_fmt(a, "%s/admin.kubeconfig", where).p : where;
    if (access(*ret, R_OK) < 0)
        return err_errno(e, "--server=%s: read %s", where, *ret);
    return 0;
}

static int find_any(struct arena *a, struct run_place *ret, struct err *e)
{
    struct kube_config_options opt = { .env = kube_env_real() };
    struct announced server;
    struct kube_config config;

    ret->is_server = true;
    if (announced_find(a, &server) && may_use(a, &server, &ret->kubeconfig))
        return 0;
    ret->kubeconfig = NULL;
    if (kube_config_load(a, &opt, &config, e) == 0)
        return 0;
    return err_wrap(e, "--server: no server of this machine is up that you may use (pumice server starts one, "
                       "--server=KUBECONFIG names one), and");
}

/* Nothing was said: the server says what it wants, if there is one. */
static void find_announced(struct arena *a, struct run_place *ret)
{
    struct announced server;

    if (!announced_find(a, &server) || !may_use(a, &server, &ret->kubeconfig))
        return;
    ret->is_server = str_is(server.runs, "submit");
    if (!ret->is_server)
        ret->notice = arena_fmt(a,
                                "a server of this machine is running (%.*s), and this run does not see what its pods "
                                "use; --server submits to it instead",
                                STR_ARG(server.server));
}

int run_place_find(struct arena *a, const struct run_options *o, struct run_place *ret, struct err *e)
{
    *ret = (struct run_place){ 0 };
    if (o->server && strcmp(o->server, "none") != 0) {
        ret->is_server = true;
        if ((strcmp(o->server, "true") == 0 ? find_any(a, ret, e) : named(a, o->server, &ret->kubeconfig, e)) < 0)
            return -1;
    } else if (!o->server) {
        find_announced(a, ret);
    }
    if (o->detach && !ret->is_server)
        return err_set(e, ERR_INVALID, "--detach: needs --server: a run on this machine ends with this command");
    return ret->is_server ? choose_check_options(o, e) : 0;
}

int run_place_check(const struct run_options *o, const struct load *l, struct err *e)
{
    bool changes_jobs = o->set.list.n || o->replicas.list.n || o->env.list.n || o->env_files.list.n ||
                        o->mounts.list.n || o->here || o->workdir;

    VEC_FOREACH(doc, &l->docs)
        if ((*doc)->type == known_types()->flow && changes_jobs)
            return err_set(e, ERR_INVALID,
                           "JobFlow %.*s: the server creates its jobs, so options cannot change them (--set, "
                           "--replicas, -e, --mount …): change its JobTemplates, or run it here with --server=none",
                           STR_ARG(object_name((*doc)->root)));
    return 0;
}

/* ---- --detach ---- */

static void choose_on_say(void *ctx, struct str sentence)
{
    (void)ctx;
    fprintf(stderr, "pumice: %.*s\n", STR_ARG(sentence));
}

static void print_job(struct buf *out, const struct run_remote *m, const struct remote_object *o, const char *config)
{
    struct str name = o->name, namespace = o->namespace;
    bool is_job = o->type == known_types()->job;

    if (!is_job && o->type != known_types()->flow)
        return;
    buf_fmt(out, "%s %.*s/%.*s submitted to %.*s\n", is_job ? "job" : "jobflow", STR_ARG(namespace), STR_ARG(name),
            STR_ARG(m->config.server));
    if (is_job)
        buf_fmt(out,
                "  pumice job logs -f %.*s -n %.*s%s\n  pumice job wait %.*s -n %.*s%s\n  pumice job delete %.*s -n "
                "%.*s%s\n",
                STR_ARG(name), STR_ARG(namespace), config, STR_ARG(name), STR_ARG(namespace), config, STR_ARG(name),
                STR_ARG(namespace), config);
    else
        buf_fmt(out, "  pumice jobflow delete %.*s -n %.*s%s\n", STR_ARG(name), STR_ARG(namespace), config);
}

static int choose_submit(struct run *r, struct load *l, struct run_remote *m, struct err *e)
{
    struct run_listener say = { NULL, choose_on_say };

    if (run_create_due(l, 0) != INT64_MAX)
        return err_set(e, ERR_INVALID,
                       "--detach: cannot be used with the annotation pumice.dev/submit-after: this command submits the "
                       "object later");
    if (run_create(&r->sink, l, &say, e) == 0)
        return 0;
    run_remote_clear(m);
    return -1;
}

int run_detach(struct arena *a, const struct run_options *o, struct load *l, const char *kubeconfig)
{
    bool is_json = o->output && strcmp(o->output, "json") == 0;
    struct run r = { .arena = a, .o = o, .signal_fd = -1 };
    struct run_remote *m = NULL;
    autobuf out = { 0 };
    struct err e;

    if (run_remote_open(&r, kubeconfig, &m, &e) < 0 || choose_submit(&r, l, m, &e) < 0) {
        run_remote_close(m);
        return command_fail("run", &e, EXIT_FAILED);
    }
    if (is_json) {
        run_out_init(&r.out, STDOUT_FILENO);
        r.events.out = &r.out;
        run_event_start(&r.events, arena_cstr(a, m->config.server), l, clock_now_ms(&clock_real));
        buf_str(&out, buf_view(&r.out.queue));
        run_out_done(&r.out);
    }
    VEC_FOREACH(made, &m->made)
        if (!is_json)
            print_job(&out, m, made, kubeconfig ? arena_fmt(a, " --kubeconfig %s", kubeconfig).p : "");
    run_remote_close(m);
    return term_print(&out) == 0 ? EXIT_FINE : EXIT_FAILED;
}
