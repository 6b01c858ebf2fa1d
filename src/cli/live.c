/* live.c - the state of a real cluster, read once */
#include "cli/live.h"
#include "cli/native.h"

#include "api/meta.h"
#include "base/util.h"
#include "base/term.h"
#include "sched/sched.h"

#include <signal.h>

/* ---- opening ---- */

static void live_warn(const struct live *l, struct str text)
{
    autobuf out = { 0 };

    buf_fmt(&out, "pumice %s: warning: ", l->command);
    term_text(&out, text);
    buf_char(&out, '\n');
    (void)term_write(stderr, &out); /* a broken stderr cannot be reported */
}

int live_open(struct live *l, struct arena *a, const struct live_options *o, const char *command, struct err *e)
{
    struct kube_config_options opt = { kube_env_real(), o->kubeconfig, o->context };

    l->arena = a;
    l->command = command;
    if (kube_config_load(a, &opt, &l->config, e) < 0)
        return live_is_asked(o) ? -1 : err_wrap(e, "no STATE given with -f");
    VEC_FOREACH(text, &l->config.warnings)
        live_warn(l, *text);
    (void)signal(SIGPIPE, SIG_IGN); /* as http/client.h asks */
    return kube_ask_open(&l->config, &l->ask, e);
}

void live_close(struct live *l)
{
    kube_ask_close(l->ask);
    l->ask = NULL;
}

/* ---- lists ---- */

static const char *origin_of(const struct live *l)
{
    return arena_cstr(l->arena, l->config.server);
}

/* -1: it cannot be had. Kinds that are not installed are as good as empty. */
static int live_list(struct live *l, const struct resource_type *type, struct str namespace, struct kube_list *ret,
                     struct err *e)
{
    if (kube_ask_list(l->ask, l->arena, &(struct object_key){ type, namespace }, ret, e) == 0 ||
        e->code == ERR_NOT_FOUND)
        return 0;
    return -1;
}

/* Without these a job cannot be explained; a wrong answer would be worse than none. */
static bool is_needed(const struct resource_type *type)
{
    static const char *const needed[] = { "Job", "PodGroup", "Pod", "Queue", "Node" };

    for (size_t i = 0; i < ARRAY_LEN(needed); i++)
        if (type == type_by_name(str_of(needed[i]))) /* not of another group that has the kind, too */
            return true;
    return false;
}

static int list_or_warn(struct live *l, const struct resource_type *type, struct str namespace, struct kube_list *ret,
                        struct err *e)
{
    if (live_list(l, type, namespace, ret, e) == 0)
        return 0;
    if (e->code != ERR_FORBIDDEN)
        return -1;
    if (is_needed(type))
        return err_set(e, ERR_FORBIDDEN,
                       "%.*s: you may not list %s there; the cluster's role \"view\" lets you, and a "
                       "role that may list nodes",
                       STR_ARG(l->config.origin), type->plural);
    live_warn(l, arena_fmt(l->arena, "you may not list %s of the cluster, so they are not looked at", type->plural));
    return 0;
}

int live_read_state(struct live *l, struct load *into, struct err *e)
{
    struct kube_list all = { 0 };

    for (size_t i = 0; i < n_resource_types; i++) {
        const struct resource_type *type = &resource_types[i];

        if (!sched_wants(type_api_version(l->arena, type), str_of(type->kind)))
            continue;
        if (list_or_warn(l, type, STR_NULL, &all, e) < 0)
            return -1;
    }
    if (native_find(l->ask, e) == 0 && live_list(l, type_native("PodGroup"), STR_NULL, &all, e) < 0 &&
        e->code != ERR_FORBIDDEN)
        return -1;
    load_objects(into, origin_of(l), all.items.v, all.items.n);
    return 0;
}

int live_read_flows(struct live *l, struct load *into, struct err *e)
{
    static const char *const kinds[] = { "JobFlow", "JobTemplate" };
    struct kube_list all = { 0 };

    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (live_list(l, type_by_name(str_of(kinds[i])), STR_NULL, &all, e) < 0 && e->code != ERR_FORBIDDEN)
            return -1;
    load_objects(into, origin_of(l), all.items.v, all.items.n);
    return 0;
}

/* ---- around jobs ---- */

static bool is_job(const struct loaded *doc)
{
    return doc->type && str_is(object_kind(doc->root), JOB_KIND);
}

static bool is_first_in_namespace(const struct load *jobs, size_t at, struct str namespace)
{
    for (size_t i = 0; i < at; i++)
        if (is_job(jobs->docs.v[i]) && str_eq(object_namespace(jobs->docs.v[i]->root), namespace))
            return false;
    return true;
}

/* Our Secrets have the name of the job in theirs; the others do not concern us. */
static int read_secret(struct live *l, struct str namespace, struct str job, struct kube_list *ret, struct err *e)
{
    const struct resource_type *secret = type_by_kind(STR("v1"), STR("Secret"));
    struct json *found;

    if (kube_ask_object(l->ask, l->arena,
                        &(struct object_key){ secret, namespace, arena_cat(l->arena, job, STR("-ssh")) }, &found,
                        e) < 0)
        return e->code == ERR_NOT_FOUND || e->code == ERR_FORBIDDEN ? 0 : -1;
    *vec_push(l->arena, &ret->items) = found;
    return 0;
}

static int read_namespace(struct live *l, struct str namespace, struct kube_list *ret, struct err *e)
{
    static const char *const kinds[] = {
        "Job", "PodGroup", "Pod", "ConfigMap", "Service", "NetworkPolicy", "PersistentVolumeClaim"
    };

    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (list_or_warn(l, type_by_name(str_of(kinds[i])), namespace, ret, e) < 0)
            return -1;
    return 0;
}

int live_read_around(struct live *l, struct load *into, const struct load *jobs, struct err *e)
{
    struct kube_list all = { 0 };

    if (list_or_warn(l, type_by_name(STR("Queue")), STR_NULL, &all, e) < 0 ||
        list_or_warn(l, type_by_name(STR("PriorityClass")), STR_NULL, &all, e) < 0)
        return -1;
    for (size_t i = 0; i < jobs->docs.n; i++) {
        const struct json *job = jobs->docs.v[i]->root;
        struct str own = object_namespace(job), namespace = own.n ? own : str_of(into->namespace);

        if (!is_job(jobs->docs.v[i]))
            continue;
        if (read_secret(l, namespace, object_name(job), &all, e) < 0)
            return -1;
        if (is_first_in_namespace(jobs, i, own) && read_namespace(l, namespace, &all, e) < 0)
            return -1;
    }
    load_objects(into, origin_of(l), all.items.v, all.items.n);
    return 0;
}
