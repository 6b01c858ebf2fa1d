/* scheduler_config.c - settings of the cluster's scheduler that Pumice ignores or cannot use
 *
 * The scheduler's Deployment names a file on its command line (ours and Volcano's alike); a volume puts a ConfigMap there.
 * So the question can be asked before Pumice replaces Volcano's scheduler, and without a look at its log.
 */
#include "cli/doctor/doctor.h"

#include "api/meta.h"
#include "base/util.h"
#include "cli/config_watch.h"
#include "sched/model/config.h"

struct config_source {
    struct str namespace, map, key; /* a ConfigMap and its entry */
};

/* The value of --scheduler-config, or of Volcano's --scheduler-conf; "--flag=VALUE" or two words. */
static struct str config_path(const struct json *words)
{
    static const char *const flags[] = { "scheduler-config", "scheduler-conf" };
    bool is_next = false;

    JSON_FOREACH(word, words) {
        struct str value = json_text(word, STR("")), name;

        if (is_next)
            return value;
        while (str_starts(value, STR("-")))
            value = str_sub(value, 1, value.n - 1);
        (void)str_split(&value, '=', &name); /* 'value' is empty where there is no '=' */
        for (size_t i = 0; i < ARRAY_LEN(flags); i++)
            if (str_is(name, flags[i])) {
                if (value.n)
                    return value;
                is_next = true;
            }
    }
    return STR_NULL;
}

/* The mount that the file lies in: the longest path counts. */
static const struct json *mount_of(const struct json *container, struct str path)
{
    const struct json *found = NULL;
    size_t longest = 0;

    JSON_FOREACH(mount, json_get(container, "volumeMounts")) {
        struct str at = json_member_text(mount, "mountPath");

        if (at.n >= longest && str_starts(path, at) && path.n > at.n && path.p[at.n] == '/') {
            found = mount;
            longest = at.n;
        }
    }
    return found;
}

/* Where 'items' rename entries of the map, the entry behind the file's name. */
static struct str entry_of(const struct json *config_map, struct str file)
{
    JSON_FOREACH(item, json_get(config_map, "items"))
        if (str_eq(json_member_text(item, "path"), file))
            return json_member_text(item, "key");
    return file;
}

static bool find_source(const struct json *deployment, struct str path, struct config_source *ret)
{
    const struct json *pod = json_find(deployment, "spec", "template", "spec", NULL);
    const struct json *mount = mount_of(json_first(json_get(pod, "containers")), path);

    JSON_FOREACH(volume, json_get(pod, "volumes")) {
        const struct json *map = json_get(volume, "configMap");
        size_t n = json_member_text(mount, "mountPath").n + 1;

        if (!mount || !map || !str_eq(json_member_text(volume, "name"), json_member_text(mount, "name")))
            continue;
        *ret = (struct config_source){ object_namespace(deployment), json_member_text(map, "name"),
                                       entry_of(map, str_sub(path, n, path.n - n)) };
        return true;
    }
    return false;
}

static int read_source(struct cluster_exam *x, const struct config_source *from, struct str *ret, struct err *e)
{
    struct json *map;

    if (kube_ask_object(x->live->ask, x->arena,
                        &(struct object_key){ type_by_kind(STR("v1"), STR("ConfigMap")), from->namespace, from->map },
                        &map, e) < 0)
        return -1;
    *ret = json_member_text(json_get(map, "data"), arena_cstr(x->arena, from->key));
    return ret->n ? 0 : err_set(e, ERR_NOT_FOUND, "it has no entry %.*s", STR_ARG(from->key));
}

static void say_settings(struct cluster_exam *x, const char *where, struct str text)
{
    struct problems ps = { .arena = x->arena };
    struct sched_config config;
    struct err e;

    if (scheduler_config_parse(x->arena, text, &ps, &config, &e) < 0) {
        exam_add(x, (struct host_check){ "settings", HOST_IMPOSSIBLE, arena_fmt(x->arena, "%s: %s", where, e.text),
                                         "Pumice's scheduler does not start with it", STR_NULL });
        return;
    }
    VEC_FOREACH(p, &ps.list) {
        autobuf line = { 0 };

        scheduler_config_print(&line, where, p);
        exam_add(x, (struct host_check){ "settings", HOST_LIMITED, arena_str(x->arena, buf_view(&line)),
                                         "Pumice's scheduler works without it", STR_NULL });
    }
    if (!ps.list.n)
        exam_fine(x, "settings", "%s: every setting has its effect", where);
}

void exam_scheduler_config(struct cluster_exam *x, const struct json *deployment)
{
    const struct json *container = json_first(json_find(deployment, "spec", "template", "spec", "containers", NULL));
    struct str path = config_path(json_get(container, "args")), text;
    struct config_source from;
    const char *where;
    struct err e;

    if (!path.n)
        path = config_path(json_get(container, "command"));
    if (!path.n)
        return; /* the default settings */
    if (!find_source(deployment, path, &from)) {
        exam_fine(x, "settings", "%.*s is not from a ConfigMap, so it cannot be checked here", STR_ARG(path));
        return;
    }
    where = arena_fmt(x->arena, "ConfigMap %.*s/%.*s", STR_ARG(from.namespace), STR_ARG(from.map)).p;
    if (read_source(x, &from, &text, &e) < 0)
        exam_add(x, (struct host_check){ "settings", HOST_LIMITED, arena_fmt(x->arena, "%s: %s", where, e.text),
                                         "the scheduler's settings are unknown", STR_NULL });
    else
        say_settings(x, where, text);
}
