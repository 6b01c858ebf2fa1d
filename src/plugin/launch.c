/* launch.c - what the plugins of distributed frameworks have in common */
#include "plugin/launch.h"

#include "plugin/plugin_internal.h"
#include "plugin/waitscript.h"

enum { SLOTS_MAX = 65536 };

bool slots_is_valid(struct str text)
{
    int64_t n;

    return str_eq(text, STR("auto")) || (str_to_i64(text, &n) == 0 && n >= 1 && n <= SLOTS_MAX);
}

int64_t slots_of(struct str text, const struct job_task *task)
{
    int64_t n;

    if (slots_is_valid(text) && str_to_i64(text, &n) == 0)
        return n;
    return task ? task_accelerators(task) : 1;
}

void slots_check(const struct place *at, const char *arg, struct str text, struct problems *ps)
{
    if (!slots_is_valid(text))
        problem_error(ps, at, "plugin %.*s: argument %s: bad value \"%.*s\" (must be auto or a number from 1 to %d)",
                      STR_ARG(at->key), arg, STR_ARG(text), SLOTS_MAX);
}

void timeout_check(const struct place *at, const char *arg, int64_t timeout_s, struct problems *ps)
{
    if (timeout_s < 0 || timeout_s > WAIT_TIMEOUT_MAX_S)
        problem_error(ps, at, "plugin %.*s: argument %s: bad value \"%lld\" (must be seconds, 0 to %d)",
                      STR_ARG(at->key), arg, (long long)timeout_s, WAIT_TIMEOUT_MAX_S);
}

void pod_set_env(struct plugin_call *call, struct pod_draft *pod, const char *name, struct str value, bool keep_user)
{
    POD_FOREACH_CONTAINER(c, pod, POD_ALL)
        container_set_env(call, c, name, value, keep_user);
}

void pod_set_main_env(struct plugin_call *call, struct pod_draft *pod, const char *name, struct str value,
                      bool keep_user)
{
    POD_FOREACH_CONTAINER(c, pod, POD_MAIN)
        container_set_env(call, c, name, value, keep_user);
}

void pod_open_first_port(struct plugin_call *call, struct pod_draft *pod, const char *name, int64_t port)
{
    struct json *first = pod_container_next(pod, POD_MAIN, NULL);

    if (first)
        pod_open_port_in(call, pod, first, name, port);
}

bool plugin_set_flag(const struct plugin_set *set, const char *plugin, const char *arg, bool fallback)
{
    const struct job_plugin *p = plugin_by_name(str_of(plugin));
    const struct plugin_arg *row = p ? plugin_arg_by_name(p, arg) : NULL;
    const char *args = plugin_set_args(set, plugin);

    return args && row && row->kind == ARG_BOOL ? *(const bool *)(args + row->offset) : fallback;
}
