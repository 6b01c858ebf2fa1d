/* scenario.c - objects by name, and changing them */
#include "cli/plan/scenario.h"

#include "api/meta.h"
#include "api/quantity.h"
#include "base/map.h"
#include "base/util.h"
#include "job/admit.h"

enum { NODES_MAX = 100000, REPLICAS_MAX = 1000000, NAMES_SHOWN = 8 };

struct json *scenario_add(struct scenario *s, struct json *object)
{
    *vec_push(s->arena, &s->objects) = object;
    return object;
}

void scenario_copy(struct scenario *to, const struct scenario *from)
{
    for (size_t i = 0; i < from->objects.n; i++)
        scenario_add(to, json_copy(to->arena, from->objects.v[i]));
}

static bool scenario_is_kind(const struct json *object, const char *kind)
{
    return str_is(object_kind(object), kind);
}

size_t scenario_count(const struct scenario *s, const char *kind)
{
    size_t n = 0;

    for (size_t i = 0; i < s->objects.n; i++)
        n += scenario_is_kind(s->objects.v[i], kind);
    return n;
}

/* ---- by name ---- */

/* no Job "x" (known: a, b, c and 5 more) */
static int no_such(const struct scenario *s, const char *kind, struct str name, struct err *e)
{
    autobuf list = { 0 };
    size_t n = 0;

    for (size_t i = 0; i < s->objects.n; i++)
        if (scenario_is_kind(s->objects.v[i], kind) && n++ < NAMES_SHOWN)
            buf_fmt(&list, "%s%.*s", n > 1 ? ", " : "", STR_ARG(object_name(s->objects.v[i])));
    if (n > NAMES_SHOWN)
        buf_fmt(&list, " and %zu more", n - NAMES_SHOWN);
    return err_set(e, ERR_NOT_FOUND, "no %s \"%.*s\" (%s%s)", kind, STR_ARG(name), n ? "known: " : "there are none",
                   list.n ? list.p : "");
}

static bool scenario_is_named(const struct json *object, struct str name)
{
    ptrdiff_t slash = str_find_char(name, '/');

    if (slash < 0)
        return str_eq(object_name(object), name);
    return str_eq(object_namespace(object), str_sub(name, 0, (size_t)slash)) &&
           str_eq(object_name(object), str_from(name, (size_t)slash + 1));
}

static int find_one(const struct scenario *s, const char *kind, struct str name, struct json **ret, struct err *e)
{
    struct json *found = NULL;

    for (size_t i = 0; i < s->objects.n; i++) {
        if (!scenario_is_kind(s->objects.v[i], kind) || !scenario_is_named(s->objects.v[i], name))
            continue;
        if (found)
            return err_set(e, ERR_INVALID, "%s \"%.*s\" is in several namespaces; use %.*s/%.*s", kind, STR_ARG(name),
                           STR_ARG(object_namespace(found)), STR_ARG(name));
        found = s->objects.v[i];
    }
    if (!found)
        return no_such(s, kind, name, e);
    *ret = found;
    return 0;
}

int scenario_job(const struct scenario *s, struct str name, struct json **ret, struct err *e)
{
    return find_one(s, JOB_KIND, name, ret, e);
}

int scenario_task(const struct scenario *s, struct str name, struct json **ret_job, struct json **ret, struct err *e)
{
    ptrdiff_t slash = str_rfind_char(name, '/');
    struct json *job;
    autobuf names = { 0 };

    if (slash <= 0)
        return err_set(e, ERR_INVALID, "\"%.*s\" must be JOB/TASK", STR_ARG(name));
    if (scenario_job(s, str_sub(name, 0, (size_t)slash), &job, e) < 0)
        return -1;
    JSON_FOREACH(task, json_find(job, "spec", "tasks", NULL)) {
        struct str own = json_member_text(task, "name");

        if (str_eq(own, str_from(name, (size_t)slash + 1))) {
            *ret_job = job;
            *ret = task;
            return 0;
        }
        buf_fmt(&names, "%s%.*s", names.n ? ", " : "", STR_ARG(own));
    }
    return err_set(e, ERR_NOT_FOUND, "Job %.*s has no task \"%.*s\" (it has: %s)", STR_ARG(object_name(job)),
                   STR_ARG(str_from(name, (size_t)slash + 1)), names.n ? names.p : "none");
}

/* ---- nodes ---- */

static bool is_name_taken(const struct scenario *s, const char *kind, struct str name)
{
    for (size_t i = 0; i < s->objects.n; i++)
        if (scenario_is_kind(s->objects.v[i], kind) && str_eq(object_name(s->objects.v[i]), name))
            return true;
    return false;
}

/* "prefix" and the first 'n' numbers that are free, from 1. */
static struct str *free_names(const struct scenario *s, struct str prefix, int64_t n)
{
    struct str *names = arena_array(s->arena, struct str, (size_t)n);
    struct map taken = { 0 };

    for (size_t i = 0; i < s->objects.n; i++)
        if (scenario_is_kind(s->objects.v[i], "Node"))
            map_put(&taken, object_name(s->objects.v[i]), s->objects.v[i]);
    for (int64_t i = 0, number = 1; i < n; number++) {
        names[i] = arena_fmt(s->arena, "%.*s-%lld", STR_ARG(prefix), (long long)number);
        i += !map_get(&taken, names[i]);
    }
    map_done(&taken);
    return names;
}

/* "N" or "N=rest". */
static int split_count(struct str text, int64_t *ret_n, struct str *ret_rest, struct err *e)
{
    ptrdiff_t eq = str_find_char(text, '=');

    if (str_to_i64(eq < 0 ? text : str_sub(text, 0, (size_t)eq), ret_n) < 0 || *ret_n < 1 || *ret_n > NODES_MAX)
        return err_set(e, ERR_INVALID, "\"%.*s\" must begin with a number of nodes (1 to %d)", STR_ARG(text),
                       NODES_MAX);
    *ret_rest = eq < 0 ? STR_NULL : str_from(text, (size_t)eq + 1);
    return 0;
}

static int read_size(struct scenario *s, struct str text, struct json *amounts, struct err *e)
{
    struct str part;

    while (str_split(&text, ',', &part)) {
        ptrdiff_t colon = str_rfind_char(part, ':');
        struct quantity q;

        if (colon <= 0)
            return err_set(e, ERR_INVALID, "\"%.*s\" must be RESOURCE:AMOUNT, such as cpu:8", STR_ARG(part));
        if (quantity_parse(str_from(part, (size_t)colon + 1), &q, e) < 0)
            return err_wrap(e, "%.*s", STR_ARG(part));
        if (q.nano < 0)
            return err_set(e, ERR_INVALID, "%.*s: must not be negative", STR_ARG(part));
        json_set_key(amounts, str_sub(part, 0, (size_t)colon), json_str(s->arena, str_from(part, (size_t)colon + 1)));
    }
    if (!json_get(amounts, "pods"))
        json_set(amounts, "pods", json_str(s->arena, STR("110"))); /* what a kubelet says unless told otherwise */
    return 0;
}

static struct json *new_node(struct scenario *s, struct str name, const struct json *amounts)
{
    struct arena *a = s->arena;
    struct json *node = object_new(a, "v1", "Node", STR_NULL, name), *status, *ready;

    object_set_label(a, node, "kubernetes.io/hostname", name);
    status = json_set(node, "status", json_object(a));
    json_set(status, "capacity", json_copy(a, amounts));
    json_set(status, "allocatable", json_copy(a, amounts));
    ready = json_push(json_set(status, "conditions", json_array(a)), json_object(a));
    json_set(ready, "type", json_str(a, STR("Ready")));
    json_set(ready, "status", json_str(a, STR("True")));
    return scenario_add(s, node);
}

int scenario_make_nodes(struct scenario *s, struct str text, struct err *e)
{
    struct json *amounts = json_object(s->arena);
    struct str size, *names;
    int64_t n;

    if (split_count(text, &n, &size, e) < 0)
        return -1;
    if (str_empty(size))
        return err_set(e, ERR_INVALID, "the size of the nodes is missing: use %lld=cpu:8,memory:32Gi", (long long)n);
    if (read_size(s, size, amounts, e) < 0)
        return -1;
    names = free_names(s, STR("node"), n);
    for (int64_t i = 0; i < n; i++)
        new_node(s, names[i], amounts);
    return 0;
}

/* A copy is a node like any other: nothing of the original's own stays. */
static struct json *scenario_copy_node(struct scenario *s, const struct json *like, struct str name)
{
    struct json *node = json_copy(s->arena, like), *meta = json_get(node, "metadata");

    json_set(meta, "name", json_str(s->arena, name));
    json_remove(meta, "uid");
    json_remove(meta, "creationTimestamp");
    json_remove(json_get(node, "spec"), "providerID");
    if (!str_empty(object_label(node, "kubernetes.io/hostname")))
        object_set_label(s->arena, node, "kubernetes.io/hostname", name);
    return scenario_add(s, node);
}

/* ---- one change each ---- */

struct scenario_change {
    struct scenario *s;
    struct str text; /* the value of the flag */
    struct buf *words;
    struct map *changed; /* Jobs to admit again, by name; their trees */
};

static void scenario_say(struct scenario_change *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void scenario_say(struct scenario_change *c, const char *fmt, ...)
{
    va_list ap;

    if (c->words->n)
        buf_str(c->words, STR(", "));
    va_start(ap, fmt);
    buf_vfmt(c->words, fmt, ap);
    va_end(ap);
}

static void mark_changed(struct scenario_change *c, struct json *job)
{
    map_put(c->changed, arena_fmt(c->s->arena, "%.*s/%.*s", STR_ARG(object_namespace(job)), STR_ARG(object_name(job))),
            job);
}

static int scenario_add_nodes(struct scenario_change *c, struct err *e)
{
    struct json *like = NULL;
    struct str name, *names;
    int64_t n;

    if (split_count(c->text, &n, &name, e) < 0)
        return -1;
    if (name.n && find_one(c->s, "Node", name, &like, e) < 0)
        return -1;
    for (size_t i = 0; !like && i < c->s->objects.n; i++)
        if (scenario_is_kind(c->s->objects.v[i], "Node"))
            like = c->s->objects.v[i];
    if (!like)
        return err_set(e, ERR_INVALID, "no node to copy; add nodes with --nodes 4=cpu:8,memory:32Gi");
    scenario_say(c, "%lld more node%s like %.*s", (long long)n, n == 1 ? "" : "s", STR_ARG(object_name(like)));
    names = free_names(c->s, arena_cat(c->s->arena, object_name(like), STR("-more")), n);
    for (int64_t i = 0; i < n; i++)
        scenario_copy_node(c->s, like, names[i]);
    return 0;
}

/* Keep only what 'stays' says. */
static void filter(struct scenario *s, bool (*stays)(const void *ctx, const struct json *object), const void *ctx)
{
    size_t n = 0;

    for (size_t i = 0; i < s->objects.n; i++)
        if (stays(ctx, s->objects.v[i]))
            s->objects.v[n++] = s->objects.v[i];
    s->objects.n = n;
}

static bool is_elsewhere(const void *ctx, const struct json *object)
{
    struct str node = object_name(ctx);

    if (scenario_is_kind(object, "Pod"))
        return !str_eq(json_member_text(json_get(object, "spec"), "nodeName"), node);
    return object != ctx;
}

/* Its pods go with it; the controller makes new ones. */
static int remove_node(struct scenario_change *c, struct err *e)
{
    struct json *node;

    if (find_one(c->s, "Node", c->text, &node, e) < 0)
        return -1;
    scenario_say(c, "node %.*s gone", STR_ARG(c->text));
    filter(c->s, is_elsewhere, node);
    return 0;
}

static bool is_of_another(const void *ctx, const struct json *object)
{
    const struct json *job = ctx;

    if (object == job)
        return false;
    JSON_FOREACH(owner, json_find(object, "metadata", "ownerReferences", NULL))
        if (str_is(json_member_text(owner, "kind"), JOB_KIND) &&
            str_eq(json_member_text(owner, "name"), object_name(job)) &&
            str_eq(object_namespace(object), object_namespace(job)))
            return false;
    return true;
}

static int without(struct scenario_change *c, struct err *e)
{
    struct json *job;

    if (scenario_job(c->s, c->text, &job, e) < 0)
        return -1;
    scenario_say(c, "without %.*s", STR_ARG(c->text));
    filter(c->s, is_of_another, job);
    return 0;
}

/* "NAME=VALUE"; the value must not be empty. */
static int split_value(struct str text, const char *form, struct str *ret_name, struct str *ret_value, struct err *e)
{
    ptrdiff_t eq = str_find_char(text, '=');

    if (eq <= 0 || (size_t)eq + 1 == text.n)
        return err_set(e, ERR_INVALID, "\"%.*s\" is not %s", STR_ARG(text), form);
    *ret_name = str_sub(text, 0, (size_t)eq);
    *ret_value = str_from(text, (size_t)eq + 1);
    return 0;
}

static struct json *spec_of(struct scenario_change *c, struct json *object)
{
    struct json *spec = json_get(object, "spec");

    return json_is(spec, JSON_OBJECT) ? spec : json_set(object, "spec", json_object(c->s->arena));
}

/* The PodGroup of the job, if it is there, is not told by the controller of another queue. */
static void set_both(struct scenario_change *c, struct json *job, const char *field, struct str value)
{
    json_set(spec_of(c, job), field, json_str(c->s->arena, value));
    for (size_t i = 0; i < c->s->objects.n; i++)
        if (scenario_is_kind(c->s->objects.v[i], "PodGroup") && !is_of_another(job, c->s->objects.v[i]))
            json_set(spec_of(c, c->s->objects.v[i]), field, json_str(c->s->arena, value));
    mark_changed(c, job);
}

static struct str class_for(struct scenario_change *c, int64_t value)
{
    struct str name = arena_fmt(c->s->arena, "plan-priority%s%lld", value < 0 ? "-minus-" : "-",
                                (long long)(value < 0 ? -value : value));
    struct json *class;

    if (is_name_taken(c->s, "PriorityClass", name))
        return name;
    class = object_new(c->s->arena, "scheduling.k8s.io/v1", "PriorityClass", STR_NULL, name);
    json_set(class, "value", json_int(c->s->arena, value));
    scenario_add(c->s, class);
    return name;
}

static int set_priority(struct scenario_change *c, struct err *e)
{
    struct str name = STR_NULL, value = STR_NULL;
    struct json *job, *class;
    int64_t number;

    if (split_value(c->text, "JOB=CLASS or JOB=NUMBER", &name, &value, e) < 0 || scenario_job(c->s, name, &job, e) < 0)
        return -1;
    scenario_say(c, "%.*s at priority %.*s", STR_ARG(name), STR_ARG(value));
    if (str_to_i64(value, &number) == 0) {
        if (number < INT32_MIN || number > INT32_MAX)
            return err_set(e, ERR_INVALID, "priority %.*s: must fit into 32 bits", STR_ARG(value));
        value = class_for(c, number);
    } else if (find_one(c->s, "PriorityClass", value, &class, e) < 0) {
        return -1;
    }
    set_both(c, job, "priorityClassName", value);
    return 0;
}

static int set_queue(struct scenario_change *c, struct err *e)
{
    struct str name = STR_NULL, value = STR_NULL;
    struct json *job, *queue;

    if (split_value(c->text, "JOB=QUEUE", &name, &value, e) < 0 || scenario_job(c->s, name, &job, e) < 0)
        return -1;
    if (!str_is(value, "default") && find_one(c->s, "Queue", value, &queue, e) < 0)
        return -1;
    scenario_say(c, "%.*s in queue %.*s", STR_ARG(name), STR_ARG(value));
    set_both(c, job, "queue", value);
    return 0;
}

static int scenario_number_of(struct str text, int64_t *ret, struct err *e)
{
    if (str_to_i64(text, ret) < 0 || *ret < 0 || *ret > REPLICAS_MAX)
        return err_set(e, ERR_INVALID, "\"%.*s\" is not a number from 0 to %d", STR_ARG(text), REPLICAS_MAX);
    return 0;
}

/* What admission filled in follows from the new numbers; what the user wrote stays. */
static void drop_default(struct json *parent, const char *field)
{
    struct json *member = json_get(parent, field);

    if (member && member->mark == MARK_DEFAULT)
        json_remove(parent, field);
}

static int replicas(struct scenario_change *c, struct err *e)
{
    struct json *job, *task;
    struct str name = STR_NULL, value = STR_NULL;
    int64_t n;

    if (split_value(c->text, "JOB/TASK=NUMBER", &name, &value, e) < 0 || scenario_number_of(value, &n, e) < 0 ||
        scenario_task(c->s, name, &job, &task, e) < 0)
        return -1;
    scenario_say(c, "%.*s with %.*s pod%s", STR_ARG(name), STR_ARG(value), n == 1 ? "" : "s");
    json_set(task, "replicas", json_int(c->s->arena, n));
    drop_default(task, "minAvailable");
    drop_default(spec_of(c, job), "minAvailable");
    mark_changed(c, job);
    return 0;
}

static int min_available(struct scenario_change *c, struct err *e)
{
    struct str name = STR_NULL, value = STR_NULL;
    struct json *job;
    int64_t n;

    if (split_value(c->text, "JOB=NUMBER", &name, &value, e) < 0 || scenario_number_of(value, &n, e) < 0 ||
        scenario_job(c->s, name, &job, e) < 0)
        return -1;
    if (n == 0) /* in a Job it means: all */
        return err_set(e, ERR_INVALID, "must be at least 1");
    scenario_say(c, "%.*s with minAvailable %.*s", STR_ARG(name), STR_ARG(value));
    json_set(spec_of(c, job), "minAvailable", json_int(c->s->arena, n));
    mark_changed(c, job);
    return 0;
}

/* ---- all of them ---- */

static const struct {
    const char *flag;
    size_t offset;
    int (*apply)(struct scenario_change *c, struct err *e);
} flags[] = {
    { "without", offsetof(struct changes, without), without },
    { "remove-node", offsetof(struct changes, remove_node), remove_node },
    { "add-nodes", offsetof(struct changes, add_nodes), scenario_add_nodes },
    { "set-priority", offsetof(struct changes, set_priority), set_priority },
    { "set-queue", offsetof(struct changes, set_queue), set_queue },
    { "replicas", offsetof(struct changes, replicas), replicas },
    { "min-available", offsetof(struct changes, min_available), min_available },
};

static const struct text_list *values_of(const struct changes *c, size_t flag)
{
    return (const struct text_list *)((const char *)c + flags[flag].offset);
}

bool changes_any(const struct changes *c)
{
    for (size_t i = 0; i < ARRAY_LEN(flags); i++)
        if (values_of(c, i)->list.n)
            return true;
    return false;
}

static int admit_again(struct scenario *s, const struct map *changed, struct err *e)
{
    struct admit_env env = { .mark = MARK_DEFAULT, .namespace = STR("default") };
    struct plugin_world world = { 0 };

    for (size_t i = 0; i < s->objects.n; i++) {
        struct json *job = s->objects.v[i];
        struct problems ps = { .arena = s->arena };
        struct str key = arena_fmt(s->arena, "%.*s/%.*s", STR_ARG(object_namespace(job)), STR_ARG(object_name(job)));

        if (map_get(changed, key) != job)
            continue;
        (void)job_admit(s->arena, job, &(struct job_admit_env){ .env = &env, .world = &world }, NULL, &ps);
        if (ps.n_errors)
            return err_set(e, ERR_INVALID, "the change makes Job %.*s invalid: %.*s", STR_ARG(object_name(job)),
                           STR_ARG(problems_join(s->arena, &ps)));
    }
    return 0;
}

int scenario_change(struct scenario *s, const struct changes *c, struct buf *words, struct err *e)
{
    struct map changed = { 0 };
    int rc = 0;

    for (size_t i = 0; i < ARRAY_LEN(flags) && rc == 0; i++)
        VEC_FOREACH(value, &values_of(c, i)->list) {
            struct scenario_change change = { s, str_of(*value), words, &changed };

            if (flags[i].apply(&change, e) < 0) {
                rc = err_wrap(e, "--%s %s", flags[i].flag, *value);
                break;
            }
        }
    if (rc == 0)
        rc = admit_again(s, &changed, e);
    map_done(&changed);
    return rc;
}
