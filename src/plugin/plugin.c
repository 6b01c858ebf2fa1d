/* plugin.c - the registry, and all plugins of one job */
#include "plugin/plugin.h"

#include "base/util.h"
#include "json/schema.h"
#include "plugin/plugin_internal.h"

const struct job_plugin *const job_plugins[] = {
#define PLUGIN(name) &plugin_##name,
#include "plugin/plugin_list.h"
#undef PLUGIN
};
const size_t n_job_plugins = ARRAY_LEN(job_plugins);

_Static_assert(MARK_PLUGIN_0 + ARRAY_LEN(job_plugins) <= 64, "a mark has six bits");

const struct job_plugin *plugin_by_name(struct str name)
{
    for (size_t i = 0; i < n_job_plugins; i++)
        if (str_is(name, job_plugins[i]->name))
            return job_plugins[i];
    return NULL;
}

const char *mark_name(uint8_t mark)
{
    static const char *const names[MARK_PLUGIN_0] = {
        [MARK_USER] = "",
        [MARK_DEFAULT] = "default",
        [MARK_JOB] = "job",
    };

    if (mark < MARK_PLUGIN_0)
        return names[mark];
    return (size_t)(mark - MARK_PLUGIN_0) < n_job_plugins ? job_plugins[mark - MARK_PLUGIN_0]->name : "";
}

/* ---- defaulting ---- */

/* Does 'plugin' with the arguments in 'list' want 'forced'? Problems are for plugin_set_new() to report. */
static bool is_forced(struct arena *a, const struct job_plugin *plugin, const struct json *list, const char *forced)
{
    struct problems ignored = { .arena = a };
    struct place at = { .node = list };
    struct plugin_use use = { .plugin = plugin };

    if (!plugin->needs)
        return true;
    use.args = arena_zalloc(a, plugin->args_size);
    use.given = arena_array(a, bool, plugin->n_args);
    plugin_args_parse(a, &use, &at, &ignored);
    return plugin->needs(use.args, forced);
}

static bool force_for(struct arena *a, struct json *plugins, const struct job_plugin *plugin, uint8_t mark)
{
    const struct json *list = json_get(plugins, plugin->name);
    bool has_added = false;

    for (size_t i = 0; list && i < ARRAY_LEN(plugin->forces) && plugin->forces[i]; i++)
        if (!json_get(plugins, plugin->forces[i]) && is_forced(a, plugin, list, plugin->forces[i])) {
            json_mark(json_set(plugins, plugin->forces[i], json_array(a)), mark);
            has_added = true;
        }
    return has_added;
}

void plugin_default(struct arena *a, struct json *job, uint8_t mark)
{
    struct json *plugins = json_find(job, "spec", "plugins", NULL);
    bool again = json_is(plugins, JSON_OBJECT);

    while (again) { /* a forced plugin may force others; each turn adds one at least */
        again = false;
        for (size_t i = 0; i < n_job_plugins; i++)
            again |= force_for(a, plugins, job_plugins[i], mark);
    }
}

/* ---- the set ---- */

static struct plugin_call call_of(const struct plugin_set *set, const struct plugin_use *use, struct arena *a)
{
    return (struct plugin_call){ a, set->job, set, &set->world, use->args, use->state, use->mark };
}

static void plugin_report_unknown(const struct place *at, struct str name, struct problems *ps)
{
    const char *names[ARRAY_LEN(job_plugins)], *near;

    for (size_t i = 0; i < n_job_plugins; i++)
        names[i] = job_plugins[i]->name;
    near = suggest(name, names, n_job_plugins);
    problem_error(ps, at, "unable to find job plugin: %.*s%s%s%s", STR_ARG(name), near ? " (did you mean " : "",
                  near ? near : "", near ? "?)" : "");
}

static void set_read(struct plugin_set *set, const struct place *plugins, struct problems *ps)
{
    JSON_FOREACH(list, plugins->node) {
        struct place at = { plugins, list, json_key(list), 0 };

        if (!plugin_by_name(json_key(list)))
            plugin_report_unknown(&at, json_key(list), ps);
    }
    for (size_t i = 0; i < n_job_plugins; i++) {
        const struct job_plugin *plugin = job_plugins[i];
        struct place at = place_member(plugins, plugin->name);
        struct plugin_use *use = &set->use[set->n_use];

        if (!at.node)
            continue;
        *use = (struct plugin_use){ plugin, NULL, NULL, NULL, (uint8_t)(MARK_PLUGIN_0 + i) };
        use->args = arena_zalloc(set->arena, MAX_OF(plugin->args_size, 1u)); /* never NULL: NULL means "not used" */
        use->given = arena_array(set->arena, bool, plugin->n_args);
        plugin_args_parse(set->arena, use, &at, ps);
        set->n_use++;
    }
}

static bool size_check(const struct plugin_set *set, const struct place *job, struct problems *ps)
{
    struct place spec = place_member(job, "spec"), tasks = place_member(&spec, "tasks");
    int64_t pods = 0;

    for (size_t i = 0; i < set->job->spec.tasks.n; i++)
        pods += task_pods(&set->job->spec.tasks.v[i]);
    if (pods <= PLUGIN_PODS_MAX)
        return true;
    problem_error(ps, &tasks, "%lld pods in one job are too many for its plugins; the limit is %d", (long long)pods,
                  PLUGIN_PODS_MAX);
    return false;
}

static void set_check(struct plugin_set *set, const struct place *plugins, struct problems *ps)
{
    for (size_t i = 0; i < set->n_use; i++) {
        struct plugin_use *use = &set->use[i];
        struct place at = place_member(plugins, use->plugin->name);
        struct plugin_call call = call_of(set, use, set->arena);

        if (use->plugin->check)
            use->plugin->check(&call, &at, ps);
    }
}

static void set_prepare(struct plugin_set *set, bool last, const struct place *plugins, struct problems *ps)
{
    for (size_t i = 0; i < set->n_use; i++) {
        struct plugin_use *use = &set->use[i];
        struct place at = place_member(plugins, use->plugin->name);
        struct plugin_call call = call_of(set, use, set->arena);
        struct err e = { 0 };

        if (!use->plugin->prepare || use->plugin->prepares_last != last)
            continue;
        if (use->plugin->prepare(&call, &e) < 0)
            problem_error(ps, &at, "plugin %s: %s", use->plugin->name, e.text);
        use->state = call.state;
    }
}

/* Are names and numbers of the tasks readable? If not, what plugins say about tasks would only repeat that. */
static bool tasks_are_readable(const struct place *spec, const struct problems *ps)
{
    struct place tasks = place_member(spec, "tasks");
    size_t i = 0;

    if (ps->n_errors == 0)
        return true;
    if (!json_is(tasks.node, JSON_ARRAY))
        return false;
    JSON_FOREACH(node, tasks.node) {
        struct place task = place_item(&tasks, node, i++);
        struct place name = place_member(&task, "name"), replicas = place_member(&task, "replicas");

        if (!json_is(node, JSON_OBJECT) || problems_error_below(ps, &name) || problems_error_below(ps, &replicas))
            return false;
    }
    return true;
}

struct plugin_set *plugin_set_new(struct arena *a, const struct job *job, const struct plugin_world *world,
                                  struct problems *ps)
{
    struct plugin_set *set = arena_new(a, struct plugin_set);
    struct place root = { .node = job->raw }, spec = place_member(&root, "spec");
    struct place plugins = place_member(&spec, "plugins");
    size_t errors = ps->n_errors;

    *set = (struct plugin_set){ .arena = a, .job = job };
    if (world)
        set->world = *world;
    set->hosts = arena_array(a, struct task_hosts, job->spec.tasks.n);
    set->use = arena_array(a, struct plugin_use, n_job_plugins);
    if (plugins.node && plugins.node->type != JSON_OBJECT && plugins.node->type != JSON_NULL) {
        if (!problems_error_below(ps, &plugins)) /* else admission has said it */
            problem_error(ps, &plugins, "must be an object of plugin names and argument lists, not %s",
                          json_type_name(plugins.node->type));
        return set;
    }
    set_read(set, &plugins, ps);
    if (!tasks_are_readable(&spec, ps) || !size_check(set, &root, ps))
        return set;
    plugin_hosts_build(set);
    plugin_rules_check(set, &root, ps);
    set_check(set, &plugins, ps);
    if (ps->n_errors == errors)
        set_prepare(set, false, &plugins, ps);
    if (ps->n_errors == errors)
        set_prepare(set, true, &plugins, ps);
    return set;
}

/* ---- looking at others ---- */

static const struct plugin_use *use_of(const struct plugin_set *set, const char *name)
{
    for (size_t i = 0; i < set->n_use; i++)
        if (strcmp(set->use[i].plugin->name, name) == 0)
            return &set->use[i];
    return NULL;
}

const void *plugin_set_args(const struct plugin_set *set, const char *name)
{
    const struct plugin_use *use = use_of(set, name);

    return use ? use->args : NULL;
}

static const struct plugin_arg *arg_of(const struct plugin_use *use, const char *name)
{
    return use ? plugin_arg_by_name(use->plugin, name) : NULL;
}

bool plugin_set_given(const struct plugin_set *set, const char *plugin, const char *arg)
{
    const struct plugin_use *use = use_of(set, plugin);
    const struct plugin_arg *row = arg_of(use, arg);

    return row && use->given[row - use->plugin->args];
}

int64_t plugin_set_int(const struct plugin_set *set, const char *plugin, const char *arg, int64_t fallback)
{
    const struct plugin_use *use = use_of(set, plugin);
    const struct plugin_arg *row = arg_of(use, arg);

    if (!row || (row->kind != ARG_INT && row->kind != ARG_PORT))
        return fallback;
    return *(const int64_t *)((const char *)use->args + row->offset);
}

struct str plugin_set_text(const struct plugin_set *set, const char *plugin, const char *arg, struct str fallback)
{
    const struct plugin_use *use = use_of(set, plugin);
    const struct plugin_arg *row = arg_of(use, arg);

    if (!row || row->kind == ARG_BOOL || row->kind == ARG_INT || row->kind == ARG_PORT)
        return fallback;
    return *(const struct str *)((const char *)use->args + row->offset);
}

/* ---- running ---- */

int plugin_set_files(const struct plugin_set *set, struct arena *a, struct plugin_files *out, struct err *e)
{
    for (size_t i = 0; i < set->n_use; i++) {
        const struct plugin_use *use = &set->use[i];
        struct plugin_call call = call_of(set, use, a);

        if (use->plugin->files && use->plugin->files(&call, out, e) < 0)
            return err_wrap(e, "plugin %s", use->plugin->name);
    }
    return 0;
}

int plugin_set_objects(const struct plugin_set *set, struct plugin_objects *out, struct err *e)
{
    for (size_t i = 0; i < set->n_use; i++) {
        const struct plugin_use *use = &set->use[i];
        struct plugin_call call = call_of(set, use, out->arena);

        if (use->plugin->objects && use->plugin->objects(&call, out, e) < 0)
            return err_wrap(e, "plugin %s", use->plugin->name);
    }
    return 0;
}

int plugin_set_pod(const struct plugin_set *set, struct arena *a, struct pod_draft *pod, struct err *e)
{
    for (size_t i = 0; i < set->n_use; i++) {
        const struct plugin_use *use = &set->use[i];
        struct plugin_call call = call_of(set, use, a);

        if (use->plugin->on_pod && use->plugin->on_pod(&call, pod, e) < 0)
            return err_wrap(e, "plugin %s", use->plugin->name);
    }
    return 0;
}

struct json *plugin_set_markers(const struct plugin_set *set, struct arena *a)
{
    struct json *markers = json_object(a);

    for (size_t i = 0; i < set->n_use; i++) {
        struct str name = str_of(set->use[i].plugin->name);

        if (set->use[i].plugin != &plugin_hcclrank) /* upstream's hcclrank sets none (1.4) */
            json_add(markers, arena_fmt(a, "plugin-%.*s", STR_ARG(name)), json_str(a, name));
    }
    json_sort_keys(markers, false);
    return markers;
}
