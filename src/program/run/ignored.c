/* ignored.c - fields of pods that have no effect on this machine: told once each
 *
 * A row is a field and why nothing comes of it. When something here begins to honour a field, its row goes.
 */
#include "program/run/documents.h"

#include "base/util.h"
#include "cli/pod_specs.h"

struct ignored {
    const char *path;  /* from the pod's spec, or from a container; "[]" stands for each item of a list */
    const char *value; /* only this one; NULL: any that is not false, 0 or empty */
    const char *why;
};

static const struct ignored of_pods[] = {
    { "runtimeClassName", NULL, "--runtime names the runtime of all pods" },
    { "serviceAccountName", NULL,
      "there is no API server that a pod could talk to; only the account's imagePullSecrets are used" },
    { "hostUsers", NULL, "pods have the users of the run" },
    { "setHostnameAsFQDN", NULL, "the host name of a pod is the short one" },
    { "securityContext.seLinuxOptions", NULL, "no label is set" },
    { "securityContext.appArmorProfile", NULL, "no profile is set" },
};

static const struct ignored of_containers[] = {
    { "resizePolicy", NULL, "the resources of a pod that runs do not change" },
    { "lifecycle.stopSignal", NULL, "the image's signal or SIGTERM is sent" },
    { "securityContext.seLinuxOptions", NULL, "no label is set" },
    { "securityContext.appArmorProfile", NULL, "no profile is set" },
    { "securityContext.procMount", "Unmasked", "/proc is always masked" },
};

enum { ROWS = ARRAY_LEN(of_pods) + ARRAY_LEN(of_containers) };

struct ignored_finding { /* of one row */
    const struct ignored *row;
    struct str field; /* the first that has it */
    size_t n;
};

struct ignored_search {
    struct arena *arena;
    struct ignored_finding found[ROWS];
};

static bool says_something(const struct json *j, const char *value)
{
    if (value)
        return str_is(json_text(j, STR_NULL), value);
    return j && !json_is(j, JSON_NULL) && !(json_is(j, JSON_BOOL) && !json_bool(j, false)) &&
           !(json_is(j, JSON_NUMBER) && json_i64(j, 1) == 0) &&
           !(json_is(j, JSON_STRING) && !json_text(j, STR_NULL).n) &&
           !((json_is(j, JSON_ARRAY) || json_is(j, JSON_OBJECT)) && !json_count(j));
}

static void ignored_find(struct ignored_search *s, struct ignored_finding *f, const struct json *at, struct str rest,
                         struct str path)
{
    struct str name;
    size_t i = 0;

    if (str_empty(rest)) {
        if (!says_something(at, f->row->value))
            return;
        if (!f->n++)
            f->field = path;
        return;
    }
    (void)str_split(&rest, '.', &name);
    if (!str_ends(name, STR("[]"))) {
        ignored_find(s, f, json_get_str(at, name), rest,
                     arena_fmt(s->arena, "%.*s.%.*s", STR_ARG(path), STR_ARG(name)));
        return;
    }
    name.n -= 2;
    JSON_FOREACH(item, json_get_str(at, name))
        ignored_find(s, f, item, rest, arena_fmt(s->arena, "%.*s.%.*s[%zu]", STR_ARG(path), STR_ARG(name), i++));
}

static void find_in_pod(struct ignored_search *s, const struct pod_spec *p)
{
    static const char *const lists[] = { "initContainers", "containers" };

    for (size_t r = 0; r < ROWS; r++) {
        struct ignored_finding *f = &s->found[r];

        f->row = r < ARRAY_LEN(of_pods) ? &of_pods[r] : &of_containers[r - ARRAY_LEN(of_pods)];
        if (r < ARRAY_LEN(of_pods)) {
            ignored_find(s, f, p->spec, str_of(f->row->path), p->path);
            continue;
        }
        for (size_t k = 0; k < ARRAY_LEN(lists); k++)
            JSON_FOREACH(c, json_get(p->spec, lists[k]))
                ignored_find(s, f, c, str_of(f->row->path),
                             arena_fmt(s->arena, "%.*s.%s[%.*s]", STR_ARG(p->path), lists[k],
                                       STR_ARG(json_member_text(c, "name"))));
    }
}

void run_tell_ignored(const struct load *l, const struct run_listener *say)
{
    struct ignored_search s = { .arena = l->arena };
    struct pod_specs all;

    pod_specs_of(l->arena, l, &all);
    VEC_FOREACH(p, &all.list)
        find_in_pod(&s, p);
    for (size_t r = 0; r < ROWS; r++) {
        const struct ignored_finding *f = &s.found[r];
        struct str more = f->n > 1 ? arena_fmt(l->arena, " (and %zu more)", f->n - 1) : STR("");

        if (f->n)
            say->say(say->ctx, arena_fmt(l->arena, "%.*s%.*s has no effect here: %s", STR_ARG(f->field), STR_ARG(more),
                                         f->row->why));
    }
}
