/* pod.c - the ways plugins change a pod */
#include "plugin/pod.h"

#include "api/quantity.h"
#include "base/util.h"
#include "plugin/plugin_internal.h"

/* ---- new nodes ---- */

static struct json *stamp(const struct plugin_call *call, struct json *j)
{
    j->mark = call->mark & 63;
    return j;
}

struct json *mk_str(struct plugin_call *call, struct str text)
{
    return stamp(call, json_str(call->arena, text));
}

struct json *mk_int(struct plugin_call *call, int64_t v)
{
    return stamp(call, json_int(call->arena, v));
}

struct json *mk_bool(struct plugin_call *call, bool v)
{
    return stamp(call, json_bool_new(call->arena, v));
}

struct json *mk_object(struct plugin_call *call)
{
    return stamp(call, json_object(call->arena));
}

struct json *mk_array(struct plugin_call *call)
{
    return stamp(call, json_array(call->arena));
}

struct str plugin_namespace(const struct job *job)
{
    return str_empty(job->meta.namespace) ? STR("default") : job->meta.namespace;
}

bool plugin_job_owns(const struct job *job, const struct json *obj)
{
    return obj && !str_empty(job->meta.uid) && str_eq(object_controller_uid(obj), job->meta.uid);
}

struct json *mk_owned(struct plugin_call *call, const char *api_version, const char *kind, struct str name)
{
    struct str namespace = plugin_namespace(call->job);
    struct json *obj = object_new(call->arena, api_version, kind, namespace, name);

    object_set_label(call->arena, obj, "volcano.sh/job-name", call->job->meta.name);
    object_set_label(call->arena, obj, "volcano.sh/job-namespace", namespace);
    object_set_controller(call->arena, obj, call->job->raw);
    return json_mark(obj, call->mark);
}

struct json *mk_job_selector(struct plugin_call *call)
{
    struct json *labels = mk_object(call);

    json_set(labels, "volcano.sh/job-name", mk_str(call, call->job->meta.name));
    json_set(labels, "volcano.sh/job-namespace", mk_str(call, plugin_namespace(call->job)));
    return labels;
}

struct json *need_member(struct plugin_call *call, struct json *j, const char *key, enum json_type type)
{
    struct json *m = json_get(j, key);

    if (!json_is(j, JSON_OBJECT))
        return NULL;
    if (!m || m->type == JSON_NULL)
        return json_set(j, key, type == JSON_ARRAY ? mk_array(call) : mk_object(call));
    return m->type == type ? m : NULL;
}

/* The last element whose 'field' is 'text'. */
static struct json *find_by(const struct json *list, const char *field, struct str text)
{
    struct json *found = NULL;

    JSON_FOREACH(item, list)
        if (str_eq(json_member_text(item, field), text))
            found = item;
    return found;
}

/* ---- containers ---- */

static struct json *skip_to_object(struct json *item)
{
    while (item && item->type != JSON_OBJECT)
        item = item->next;
    return item;
}

static struct json *pod_list(const struct pod_draft *pod, const char *key)
{
    struct json *list = json_get(pod->spec, key);

    return json_is(list, JSON_ARRAY) ? list : NULL;
}

struct json *pod_container_next(const struct pod_draft *pod, enum pod_containers which, const struct json *after)
{
    struct json *init = which & POD_INIT ? pod_list(pod, "initContainers") : NULL;
    struct json *main_ones = which & POD_MAIN ? pod_list(pod, "containers") : NULL;
    struct json *next = skip_to_object(after ? after->next : json_first(init));
    bool is_last_init = false;

    if (next)
        return next;
    JSON_FOREACH(c, init) /* nothing follows: was it the end of the first list? */
        is_last_init |= c == after;
    return !after || is_last_init ? skip_to_object(json_first(main_ones)) : NULL;
}

/* ---- environment ---- */

bool container_set_env(struct plugin_call *call, struct json *container, const char *name, struct str value,
                       bool keep_user)
{
    struct json *env = need_member(call, container, "env", JSON_ARRAY), *old = find_by(env, "name", str_of(name)),
                *entry;

    if (!env || (old && keep_user))
        return false;
    entry = mk_object(call);
    json_set(entry, "name", mk_str(call, str_of(name)));
    json_set(entry, "value", mk_str(call, value));
    if (old)
        json_replace(env, old, entry);
    else
        json_push(env, entry);
    return true;
}

/* ---- ports, mounts, command ---- */

static bool has_port(const struct json *container, int64_t port)
{
    JSON_FOREACH(p, json_get(container, "ports"))
        if (json_i64(json_get(p, "containerPort"), 0) == port)
            return true;
    return false;
}

void container_open_port(struct plugin_call *call, struct json *container, const char *name, int64_t port)
{
    struct json *ports = need_member(call, container, "ports", JSON_ARRAY), *entry;

    if (!ports || has_port(container, port))
        return;
    entry = mk_object(call);
    if (!find_by(ports, "name", str_of(name))) /* names are unique in a container; the number is what counts */
        json_set(entry, "name", mk_str(call, str_of(name)));
    json_set(entry, "containerPort", mk_int(call, port));
    json_push(ports, entry);
}

struct str path_clean(struct str path)
{
    while (path.n > 1 && path.p[path.n - 1] == '/')
        path.n--;
    return path;
}

void container_mount(struct plugin_call *call, struct json *container, struct str volume, struct str path,
                     const char *sub_path)
{
    struct json *mounts = need_member(call, container, "volumeMounts", JSON_ARRAY), *entry;

    if (!mounts)
        return;
    JSON_FOREACH(m, mounts)
        if (str_eq(path_clean(json_member_text(m, "mountPath")), path_clean(path)))
            return;
    entry = mk_object(call);
    json_set(entry, "name", mk_str(call, volume));
    json_set(entry, "mountPath", mk_str(call, path));
    if (sub_path)
        json_set(entry, "subPath", mk_str(call, str_of(sub_path)));
    json_push(mounts, entry);
}

void container_copy_member(struct plugin_call *call, struct json *to, const struct json *from, const char *key)
{
    const struct json *value = json_get(from, key);

    if (value)
        json_set(to, key, json_mark(json_copy(call->arena, value), call->mark));
}

void container_set_shell(struct plugin_call *call, struct json *container, struct str script)
{
    struct json *command = mk_array(call);

    json_push(command, mk_str(call, STR("sh")));
    json_push(command, mk_str(call, STR("-c")));
    json_push(command, mk_str(call, script));
    json_set(container, "command", command);
}

/* Is the number another main container's already? Init containers run one by one and share nothing. */
static bool is_taken_on_node(const struct pod_draft *pod, const struct json *container, int64_t port)
{
    bool is_main = false, is_taken = false;

    POD_FOREACH_CONTAINER(c, pod, POD_MAIN) {
        is_main |= c == container;
        is_taken |= has_port(c, port);
    }
    return is_main && is_taken;
}

void pod_open_port_in(struct plugin_call *call, struct pod_draft *pod, struct json *container, const char *name,
                      int64_t port)
{
    if (!pod_is_host_network(pod) || !is_taken_on_node(pod, container, port))
        container_open_port(call, container, name, port);
}

void pod_open_port(struct plugin_call *call, struct pod_draft *pod, enum pod_containers which, const char *name,
                   int64_t port)
{
    POD_FOREACH_CONTAINER(c, pod, which)
        pod_open_port_in(call, pod, c, name, port);
}

/* ---- the pod ---- */

struct json *pod_add_volume(struct plugin_call *call, struct pod_draft *pod, struct str name)
{
    struct json *volumes = need_member(call, pod->spec, "volumes", JSON_ARRAY), *volume;

    if (!volumes || find_by(volumes, "name", name))
        return NULL;
    volume = mk_object(call);
    json_set(volume, "name", mk_str(call, name));
    return json_push(volumes, volume);
}

struct json *pod_add_init_container(struct plugin_call *call, struct pod_draft *pod, struct str name)
{
    struct json *list = need_member(call, pod->spec, "initContainers", JSON_ARRAY), *container;

    if (!list || find_by(list, "name", name))
        return NULL;
    container = mk_object(call);
    json_set(container, "name", mk_str(call, name));
    return json_push(list, container);
}

void pod_default_text(struct plugin_call *call, struct pod_draft *pod, const char *field, struct str value)
{
    if (str_empty(json_member_text(pod->spec, field)))
        json_set(pod->spec, field, mk_str(call, value));
}

void pod_set_annotation(struct plugin_call *call, struct pod_draft *pod, const char *key, struct str value)
{
    struct json *annotations = need_member(call, pod->meta, "annotations", JSON_OBJECT);

    if (annotations)
        json_set(annotations, key, mk_str(call, value));
}

bool pod_is_host_network(const struct pod_draft *pod)
{
    return json_bool(json_get(pod->spec, "hostNetwork"), false);
}

/* ---- accelerators ---- */

static bool name_has(struct str name, const char *const *words)
{
    for (; *words; words++)
        for (size_t i = 0, n = strlen(*words); i + n <= name.n; i++)
            if (str_eq_nocase(str_sub(name, i, n), str_of(*words)))
                return true;
    return false;
}

/* "nvidia.com/gpu" and "volcano.sh/vgpu-number" count devices; their memory and cores do not. */
static bool is_accelerator(struct str resource)
{
    static const char *const devices[] = { "gpu", "npu", "xpu", "mlu", "dcu", NULL };
    static const char *const shares[] = { "mem", "core", "percent", NULL };

    return name_has(resource, devices) && !name_has(resource, shares);
}

int64_t task_accelerators(const struct job_task *task)
{
    struct json *first = json_at(json_get(job_task_pod_spec(task), "containers"), 0);
    struct quantity q;
    int64_t n = 0;

    JSON_FOREACH(limit, json_find(first, "resources", "limits", NULL)) {
        int64_t units;

        if (!is_accelerator(json_key(limit)) || !quantity_from_json(limit, &q) || !quantity_is_whole(q))
            continue;
        units = quantity_units(q);
        if (units > 0 && __builtin_add_overflow(n, units, &n))
            n = INT64_MAX;
    }
    return MAX_OF(n, 1);
}
