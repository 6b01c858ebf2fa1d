/* svc.c - stable names for all pods: headless Service, host files, host variables, NetworkPolicy
 *
 * The host files are keys of the ConfigMap "<job>-svc", mounted on /etc/volcano. Files that do not fit into one go
 * to "<job>-svc-1", "<job>-svc-2" …, mounted as one projected volume. Files of other plugins are further
 * keys. The annotation pumice.dev/generation holds metadata.generation of the Job whose hosts they are; it is left out
 * before the API server has given one.
 */
#include "plugin/plugin_internal.h"

#include "api/name.h"
#include "base/util.h"
#include "plugin/pod.h"

enum {
    MAP_BYTES_MAX = 900 * 1024,   /* of keys and values; the API server stops at 1 MiB */
    ALIAS_BYTES_MAX = 512 * 1024, /* beyond this no second name for tasks with '-' */
    SMALL_KEY_BYTES = 1024,       /* such keys stay in the first ConfigMap when it is split */
    EXECUTABLE_MODE = 0555,
};

static const char mount_path[] = "/etc/volcano";

struct svc_args {
    bool publish_not_ready, no_policy, inject_hosts, dns_search, keep_user_env;
    struct str allow_ingress;
};

static const struct plugin_arg svc_table[] = {
    { "publish-not-ready-addresses", ARG_BOOL, offsetof(struct svc_args, publish_not_ready), "false", NULL, NULL,
      "DNS names exist before pods are ready" },
    { "disable-network-policy", ARG_BOOL, offsetof(struct svc_args, no_policy), "false", NULL, NULL,
      "create no NetworkPolicy" },
    { "inject-hosts-env", ARG_BOOL, offsetof(struct svc_args, inject_hosts), "true", NULL, NULL,
      "VC_<TASK>_HOSTS and VC_<TASK>_NUM in all containers" },
    { "dns-search", ARG_BOOL, offsetof(struct svc_args, dns_search), "false", NULL, NULL,
      "bare pod names resolve too; on by itself with mpi --impl=intel or mpich" },
    { "allow-ingress", ARG_LIST, offsetof(struct svc_args, allow_ingress), NULL, NULL, NULL,
      "<port>[/namespace|/cluster]: let other pods of the namespace (default) or the cluster reach a port" },
    { "keep-user-env", ARG_BOOL, offsetof(struct svc_args, keep_user_env), "false", NULL, NULL,
      "keep variables that the template sets" },
};

static const char *const svc_adds[] = {
    "ConfigMap <job>-svc: <task>.host, VC_<TASK>_HOSTS, VC_<TASK>_NUM, mounted on /etc/volcano",
    "headless Service <job>, and one for each other subdomain in the templates",
    "NetworkPolicy <job>: only pods of the job reach each other",
    "pods: hostname, subdomain, env VC_<TASK>_HOSTS, VC_<TASK>_NUM",
    NULL,
};

struct svc_key { /* one key of the ConfigMaps */
    struct str name, text;
    size_t map; /* which of them holds it */
    size_t seq; /* order of adding: the last of equal names wins */
    size_t env; /* the variable that refers to it: 1 + its position in svc_state.env; 0: none */
};

struct svc_state {
    VEC(struct svc_key) keys; /* by name */
    size_t n_maps;
    bool has_executable;
    VEC(struct json *) env; /* the entries all containers get; copied into each */
};

/* ---- names ---- */

static struct str map_name(struct plugin_call *call, size_t map)
{
    struct str job = call->job->meta.name;

    return map ? arena_fmt(call->arena, "%.*s-svc-%zu", STR_ARG(job), map)
               : arena_fmt(call->arena, "%.*s-svc", STR_ARG(job));
}

/* "param-server" as it stands in keys: '-' becomes '_'. */
static struct str key_name(struct arena *a, struct str task)
{
    char *p = (char *)arena_str(a, task).p;

    for (size_t i = 0; i < task.n; i++)
        if (p[i] == '-')
            p[i] = '_';
    return (struct str){ p, task.n };
}

/* "VC_PARAM_SERVER_HOSTS" */
static struct str env_name(struct arena *a, struct str task, const char *suffix)
{
    struct str key = key_name(a, task), name = arena_fmt(a, "VC_%.*s%s", STR_ARG(key), suffix);
    char *p = (char *)name.p;

    for (size_t i = 0; i < name.n; i++)
        if (p[i] >= 'a' && p[i] <= 'z')
            p[i] -= 'a' - 'A';
    return name;
}

static bool hosts_fit_env(const struct task_hosts *hosts)
{
    return hosts->comma.n <= ENV_TEXT_MAX;
}

/* ---- the keys ---- */

static void key_add(struct plugin_call *call, struct svc_state *s, struct str name, struct str text)
{
    *vec_push(call->arena, &s->keys) = (struct svc_key){ name, text, 0, s->keys.n, 0 };
}

static size_t keys_bytes(const struct svc_state *s)
{
    size_t n = 0;

    VEC_FOREACH(k, &s->keys)
        n += k->name.n + k->text.n;
    return n;
}

static void add_task_keys(struct plugin_call *call, struct svc_state *s)
{
    struct arena *a = call->arena;

    for (size_t i = 0; i < call->job->spec.tasks.n; i++) {
        struct str task = call->job->spec.tasks.v[i].name, key = key_name(a, task);
        const struct task_hosts *hosts = plugin_set_hosts(call->set, i);

        key_add(call, s, arena_fmt(a, "%.*s.host", STR_ARG(key)), hosts->lines);
        key_add(call, s, env_name(a, task, "_HOSTS"), hosts->comma);
        key_add(call, s, env_name(a, task, "_NUM"), arena_fmt(a, "%zu", hosts->n));
    }
}

/* Older programs look for "<task>.host" with the task's real name. */
static void add_alias_keys(struct plugin_call *call, struct svc_state *s)
{
    size_t bytes = keys_bytes(s), n = call->job->spec.tasks.n;

    for (size_t i = 0; i < n; i++)
        if (str_has_char(call->job->spec.tasks.v[i].name, '-'))
            bytes += call->job->spec.tasks.v[i].name.n + strlen(".host") + plugin_set_hosts(call->set, i)->lines.n;
    for (size_t i = 0; bytes <= ALIAS_BYTES_MAX && i < n; i++) {
        struct str task = call->job->spec.tasks.v[i].name;

        if (str_has_char(task, '-'))
            key_add(call, s, arena_fmt(call->arena, "%.*s.host", STR_ARG(task)), plugin_set_hosts(call->set, i)->lines);
    }
}

static int add_plugin_files(struct plugin_call *call, struct svc_state *s, struct err *e)
{
    struct plugin_files files = { 0 };

    if (plugin_set_files(call->set, call->arena, &files, e) < 0)
        return -1;
    VEC_FOREACH(f, &files.list) {
        key_add(call, s, f->name, f->text);
        s->has_executable |= f->is_executable;
    }
    return 0;
}

static int svc_key_cmp(const void *x, const void *y)
{
    const struct svc_key *a = x, *b = y;
    int c = str_cmp(a->name, b->name);

    return c ? c : (a->seq > b->seq) - (a->seq < b->seq);
}

static void keys_sort(struct svc_state *s)
{
    size_t n = 0;

    if (!s->keys.n)
        return;
    qsort(s->keys.v, s->keys.n, sizeof(*s->keys.v), svc_key_cmp);
    for (size_t i = 0; i < s->keys.n; i++)
        if (i + 1 == s->keys.n || !str_eq(s->keys.v[i].name, s->keys.v[i + 1].name))
            s->keys.v[n++] = s->keys.v[i];
    s->keys.n = n;
}

/* The first ConfigMap with room for 'bytes'; a new one if there is none. 'fill' has room for one each key. */
static size_t map_with_room(struct svc_state *s, size_t *fill, size_t bytes)
{
    size_t map = 0;

    while (map < s->n_maps && fill[map] + bytes > MAP_BYTES_MAX)
        map++;
    if (map == s->n_maps)
        s->n_maps++;
    fill[map] += bytes;
    return map;
}

/* Small keys first: what environment variables refer to then stays in the first ConfigMap, however the job grows. */
static int keys_split(struct plugin_call *call, struct svc_state *s, struct err *e)
{
    size_t *fill = arena_array(call->arena, size_t, s->keys.n + 1);

    s->n_maps = 1;
    for (int small = 1; small >= 0; small--)
        VEC_FOREACH(k, &s->keys) {
            size_t bytes = k->name.n + k->text.n;

            if (bytes > MAP_BYTES_MAX)
                return err_set(
                    e, ERR_TOO_BIG,
                    "file %.*s would have %zu KiB, but a ConfigMap holds %d KiB at most: use fewer replicas, "
                    "more tasks of fewer replicas each, or shorter names",
                    STR_ARG(k->name), bytes / 1024, MAP_BYTES_MAX / 1024);
            if ((bytes <= SMALL_KEY_BYTES) == small)
                k->map = map_with_room(s, fill, bytes);
        }
    return 0;
}

/* NULL if there is no such key. */
static struct svc_key *key_find(const struct svc_state *s, struct str name)
{
    size_t lo = 0, hi = s->keys.n;

    while (lo < hi) {
        size_t mid = (lo + hi) / 2;

        if (str_cmp(s->keys.v[mid].name, name) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < s->keys.n && str_eq(s->keys.v[lo].name, name) ? &s->keys.v[lo] : NULL;
}

/* { name, valueFrom: { configMapKeyRef: { name: <ConfigMap>, key: name } } } */
static void env_add(struct plugin_call *call, struct svc_state *s, struct str name)
{
    struct svc_key *key = key_find(s, name); /* it is there: svc_prepare() added it */
    struct json *entry = mk_object(call), *from, *ref;

    json_set(entry, "name", mk_str(call, name));
    from = json_set(entry, "valueFrom", mk_object(call));
    ref = json_set(from, "configMapKeyRef", mk_object(call));
    json_set(ref, "name", mk_str(call, map_name(call, key->map)));
    json_set(ref, "key", mk_str(call, name));
    *vec_push(call->arena, &s->env) = entry;
    key->env = s->env.n;
}

/* The variables are the same for all containers of all pods: make them once. */
static void env_build(struct plugin_call *call, struct svc_state *s)
{
    const struct svc_args *args = call->args;

    for (size_t i = 0; args->inject_hosts && i < call->job->spec.tasks.n; i++) {
        struct str task = call->job->spec.tasks.v[i].name;

        if (hosts_fit_env(plugin_set_hosts(call->set, i))) /* else the kernel would refuse to start the program */
            env_add(call, s, env_name(call->arena, task, "_HOSTS"));
        env_add(call, s, env_name(call->arena, task, "_NUM"));
    }
}

static int svc_prepare(struct plugin_call *call, struct err *e)
{
    struct svc_state *s = arena_new(call->arena, struct svc_state);

    call->state = s;
    add_task_keys(call, s);
    if (add_plugin_files(call, s, e) < 0)
        return -1;
    add_alias_keys(call, s);
    keys_sort(s);
    if (keys_split(call, s, e) < 0)
        return -1;
    env_build(call, s);
    return 0;
}

/* ---- --allow-ingress ---- */

struct ingress {
    int64_t port;
    bool from_cluster; /* else from the namespace */
};

static int ingress_parse(struct str text, struct ingress *ret)
{
    struct str port = STR_NULL, scope = text;
    struct ingress in = { 0 };

    (void)str_split(&scope, '/', &port);
    if (str_to_i64(str_trim(port), &in.port) < 0 || in.port < 1 || in.port > 65535)
        return -1;
    in.from_cluster = str_is(scope, "cluster");
    if (port.n != text.n && !in.from_cluster && !str_is(scope, "namespace"))
        return -1;
    *ret = in;
    return 0;
}

/* { from: [ <peer> ], ports: [ { protocol: TCP, port } ] } */
static struct json *ingress_rule(struct plugin_call *call, const struct ingress *in)
{
    struct json *rule = mk_object(call), *from = json_set(rule, "from", mk_array(call));
    struct json *peer = json_push(from, mk_object(call)), *port;

    json_set(peer, in->from_cluster ? "namespaceSelector" : "podSelector", mk_object(call));
    port = json_push(json_set(rule, "ports", mk_array(call)), mk_object(call));
    json_set(port, "protocol", mk_str(call, STR("TCP")));
    json_set(port, "port", mk_int(call, in->port));
    return rule;
}

/* ---- admission ---- */

static void check_ingress(struct plugin_call *call, const struct place *at, struct problems *ps)
{
    const struct svc_args *args = call->args;
    struct str rest = args->allow_ingress, part;
    struct ingress ignored;

    if (str_empty(rest))
        return;
    if (args->no_policy)
        problem_warn(ps, at, "plugin svc: argument allow-ingress has no effect without a NetworkPolicy");
    while (str_split(&rest, ',', &part))
        if (ingress_parse(str_trim(part), &ignored) < 0)
            problem_error(ps, at,
                          "plugin svc: argument allow-ingress: bad value \"%.*s\" (must be <port>, <port>/namespace or "
                          "<port>/cluster)",
                          STR_ARG(part));
}

static void check_env_size(struct plugin_call *call, const struct place *at, struct problems *ps)
{
    const struct svc_args *args = call->args;

    for (size_t i = 0; args->inject_hosts && i < call->job->spec.tasks.n; i++) {
        const struct task_hosts *hosts = plugin_set_hosts(call->set, i);
        struct str task = call->job->spec.tasks.v[i].name, name = env_name(call->arena, task, "_HOSTS");

        if (!hosts_fit_env(hosts))
            problem_warn(ps, at,
                         "plugin svc: %.*s would have %zu KiB, too much for an environment variable, and is left out; "
                         "read %s/%.*s.host instead",
                         STR_ARG(name), hosts->comma.n / 1024, mount_path, STR_ARG(key_name(call->arena, task)));
    }
}

/* NULL if a Service may have that name. */
static const char *subdomain_problem(struct plugin_call *call, struct str subdomain)
{
    if (str_eq(subdomain, call->job->meta.name)) /* rules.c looks at it */
        return NULL;
    return name_check_dns1035_label(call->arena, subdomain);
}

static void check_subdomains(struct plugin_call *call, const struct place *at, struct problems *ps)
{
    struct str_list list = plugin_set_subdomains(call->set, call->arena);

    for (size_t i = 0; i < list.n; i++) {
        const char *wrong = subdomain_problem(call, list.v[i]);

        if (wrong)
            problem_warn(ps, at,
                         "plugin svc: names of pods below the subdomain \"%.*s\" will not resolve: a Service %s",
                         STR_ARG(list.v[i]), wrong);
    }
}

static void svc_check(struct plugin_call *call, const struct place *at, struct problems *ps)
{
    check_ingress(call, at, ps);
    check_env_size(call, at, ps);
    check_subdomains(call, at, ps);
}

/* ---- objects ---- */

static void add_config_maps(struct plugin_call *call, const struct svc_state *s, struct plugin_objects *out)
{
    struct json **data = arena_array(call->arena, struct json *, s->n_maps);

    for (size_t i = 0; i < s->n_maps; i++) {
        struct json *map = mk_owned(call, "v1", "ConfigMap", map_name(call, i));

        if (call->job->meta.generation > 0)
            object_set_annotation(call->arena, map, PLUGIN_GENERATION_ANNOTATION,
                                  arena_fmt(call->arena, "%lld", (long long)call->job->meta.generation));
        data[i] = json_set(map, "data", mk_object(call));
        *vec_push(out->arena, &out->list) = map;
    }
    VEC_FOREACH(k, &s->keys)
        json_add(data[k->map], k->name, mk_str(call, k->text));
}

static void svc_add_service(struct plugin_call *call, struct str name, struct plugin_objects *out)
{
    const struct svc_args *args = call->args;
    struct json *service = mk_owned(call, "v1", "Service", name), *spec = json_set(service, "spec", mk_object(call));

    json_set(spec, "clusterIP", mk_str(call, STR("None")));
    json_set(spec, "selector", mk_job_selector(call));
    if (args->publish_not_ready) /* false is what the API server leaves out too */
        json_set(spec, "publishNotReadyAddresses", mk_bool(call, true));
    *vec_push(out->arena, &out->list) = service;
}

/* Does a Service of that name exist that is not ours? Then the template's author meant it. */
static bool service_is_foreign(struct plugin_call *call, struct str name)
{
    const struct plugin_world *w = call->world;
    const struct json *found = w->find ? w->find(w->ctx, "Service", name) : NULL;

    return found && !plugin_job_owns(call->job, found);
}

/* Names of pods with a subdomain of their own need a Service of that name. */
static void add_services(struct plugin_call *call, struct plugin_objects *out)
{
    struct str_list list = plugin_set_subdomains(call->set, call->arena);

    svc_add_service(call, call->job->meta.name, out);
    for (size_t i = 0; i < list.n; i++)
        if (!str_eq(list.v[i], call->job->meta.name) && !subdomain_problem(call, list.v[i]) &&
            !service_is_foreign(call, list.v[i]))
            svc_add_service(call, list.v[i], out);
}

static void svc_add_policy(struct plugin_call *call, struct plugin_objects *out)
{
    const struct svc_args *args = call->args;
    struct json *policy = mk_owned(call, "networking.k8s.io/v1", "NetworkPolicy", call->job->meta.name);
    struct json *spec = json_set(policy, "spec", mk_object(call)), *ingress, *peer;
    struct str rest = args->allow_ingress, part;
    struct ingress in;

    json_set(json_set(spec, "podSelector", mk_object(call)), "matchLabels", mk_job_selector(call));
    json_push(json_set(spec, "policyTypes", mk_array(call)), mk_str(call, STR("Ingress")));
    ingress = json_set(spec, "ingress", mk_array(call));
    peer = json_push(json_set(json_push(ingress, mk_object(call)), "from", mk_array(call)), mk_object(call));
    json_set(json_set(peer, "podSelector", mk_object(call)), "matchLabels", mk_job_selector(call));
    while (!str_empty(rest) && str_split(&rest, ',', &part))
        if (ingress_parse(str_trim(part), &in) == 0)
            json_push(ingress, ingress_rule(call, &in));
    *vec_push(out->arena, &out->list) = policy;
}

static int svc_objects(struct plugin_call *call, struct plugin_objects *out, struct err *e)
{
    const struct svc_args *args = call->args;

    (void)e;
    add_config_maps(call, call->state, out);
    add_services(call, out);
    if (!args->no_policy)
        svc_add_policy(call, out);
    return 0;
}

/* ---- pods ---- */

/* Variables that the template sets are replaced in place (or kept, if the user wants that); the rest follows. */
static void add_env(struct plugin_call *call, const struct svc_state *s, struct json *container)
{
    const struct svc_args *args = call->args;
    struct json *env = s->env.n ? need_member(call, container, "env", JSON_ARRAY) : NULL, *next;
    bool *is_there = arena_array(call->arena, bool, s->env.n + 1);

    if (!env)
        return;
    for (struct json *old = json_first(env); old; old = next) {
        const struct svc_key *key = key_find(s, json_member_text(old, "name"));

        next = old->next;
        if (!key || !key->env)
            continue;
        is_there[key->env - 1] = true;
        if (!args->keep_user_env)
            json_replace(env, old, json_copy(call->arena, s->env.v[key->env - 1]));
    }
    for (size_t i = 0; i < s->env.n; i++)
        if (!is_there[i])
            json_push(env, json_copy(call->arena, s->env.v[i]));
}

static void add_volume(struct plugin_call *call, const struct svc_state *s, struct pod_draft *pod)
{
    struct json *volume = pod_add_volume(call, pod, map_name(call, 0)), *source;

    if (!volume)
        return;
    if (s->n_maps == 1) {
        source = json_set(volume, "configMap", mk_object(call));
        json_set(source, "name", mk_str(call, map_name(call, 0)));
    } else {
        struct json *list;

        source = json_set(volume, "projected", mk_object(call));
        list = json_set(source, "sources", mk_array(call));
        for (size_t i = 0; i < s->n_maps; i++) {
            struct json *map = json_set(json_push(list, mk_object(call)), "configMap", mk_object(call));

            json_set(map, "name", mk_str(call, map_name(call, i)));
        }
    }
    if (s->has_executable)
        json_set(source, "defaultMode", mk_int(call, EXECUTABLE_MODE));
}

/* Intel MPI and MPICH hand the launcher's bare host name to the workers. */
static bool wants_search(struct plugin_call *call)
{
    const struct svc_args *args = call->args;
    struct str impl = plugin_set_text(call->set, "mpi", "impl", STR_NULL);

    if (plugin_set_given(call->set, "svc", "dns-search"))
        return args->dns_search;
    return str_is(impl, "intel") || str_is(impl, "mpich");
}

static void add_search(struct plugin_call *call, struct pod_draft *pod)
{
    struct str cluster = str_empty(call->world->cluster_domain) ? STR("cluster.local") : call->world->cluster_domain;
    struct str domain = arena_fmt(call->arena, "%.*s.%.*s.svc.%.*s", STR_ARG(call->job->meta.name),
                                  STR_ARG(plugin_namespace(call->job)), STR_ARG(cluster));
    struct json *config = json_get(pod->spec, "dnsConfig"), *searches;

    if (!config || config->type == JSON_NULL)
        config = json_set(pod->spec, "dnsConfig", mk_object(call));
    searches = json_get(config, "searches");
    if ((!searches || searches->type == JSON_NULL) && config->type == JSON_OBJECT)
        searches = json_set(config, "searches", mk_array(call));
    if (!json_is(searches, JSON_ARRAY))
        return;
    JSON_FOREACH(s, searches)
        if (str_eq(json_text(s, STR_NULL), domain))
            return;
    json_push(searches, mk_str(call, domain));
}

static int svc_on_pod(struct plugin_call *call, struct pod_draft *pod, struct err *e)
{
    const struct svc_state *s = call->state;

    (void)e;
    pod_default_text(call, pod, "hostname", pod->name);
    pod_default_text(call, pod, "subdomain", call->job->meta.name);
    add_volume(call, s, pod);
    POD_FOREACH_CONTAINER(c, pod, POD_ALL) {
        add_env(call, s, c);
        container_mount(call, c, map_name(call, 0), str_of(mount_path), NULL);
    }
    if (wants_search(call))
        add_search(call, pod);
    return 0;
}

const struct job_plugin plugin_svc = {
    .name = "svc",
    .summary = "stable host names for all pods, host lists as files and variables",
    .args = svc_table,
    .n_args = ARRAY_LEN(svc_table),
    .args_size = sizeof(struct svc_args),
    .adds = svc_adds,
    .check = svc_check,
    .prepare = svc_prepare,
    .prepares_last = true,
    .objects = svc_objects,
    .on_pod = svc_on_pod,
};
