/* objects.c - making, changing, finding and counting objects of the small cluster */
#include "harness_internal.h"

#include "api/meta.h"
#include "job/admit.h"
#include "yaml/yaml.h"

static struct json *parse_yaml(struct h *h, const char *text)
{
    struct yaml_docs docs = { 0 };
    struct err e = { 0 };

    if (yaml_parse(&h->arena, str_of(text), NULL, &docs, &e) < 0 || docs.n != 1)
        fail_msg("the test's own YAML: %s\n%s", e.text, text);
    return docs.v[0];
}

const char *h_keep(struct h *h, struct str s)
{
    return arena_str(&h->arena, s).p;
}

static const char *create_tree(struct h *h, struct json *tree, bool wants_uid)
{
    struct op op = { .kind = OP_CREATE, .type = type_by_kind(object_api_version(tree), object_kind(tree)) };
    struct object *made = NULL;
    struct err e = { 0 };
    const char *ret;

    if (str_is(object_namespace(tree), "default"))
        json_set(json_get(tree, "metadata"), "namespace", json_str(&h->arena, h->namespace));
    op.namespace = object_namespace(tree);
    op.name = object_name(tree);
    op.body = tree;
    if (h->base->apply(h, &op, &made, &e) < 0)
        fail_msg("create %.*s: %s", STR_ARG(object_name(tree)), e.text);
    ret = h_keep(h, wants_uid ? made->uid : made->name);
    object_unref(made);
    return ret;
}

const char *h_create(struct h *h, const char *yaml)
{
    return create_tree(h, parse_yaml(h, yaml), false);
}

const char *h_job(struct h *h, const char *yaml)
{
    static const struct plugin_world world = { .make_keys = h_fake_keys };
    struct admit_env env = { .mark = MARK_DEFAULT };
    struct problems problems = { .arena = &h->arena };
    struct json *tree = parse_yaml(h, yaml);
    struct plugin_world mine = world;

    mine.ctx = h;
    (void)job_admit(&h->arena, tree, &(struct job_admit_env){ .env = &env, .world = &mine }, NULL, &problems);
    if (problems.n_errors)
        fail_msg("the test's own job: %.*s", STR_ARG(problems_join(&h->arena, &problems)));
    h->n_keys = 0; /* admission makes a pair only to see that it can */
    return create_tree(h, tree, true);
}

const char *h_running(struct h *h, const char *yaml)
{
    const char *uid = h_job(h, yaml);

    h_run(h);
    h_go(h, "j");
    h_expect_phase(h, "j", "Running");
    return uid;
}

/* The stored object of "type/name"; NULL if there is none. Borrowed until the next write. */
static const struct object *find(struct h *h, const char *what)
{
    const char *slash = strchr(what, '/');
    struct str name = str_of(slash + 1);
    const struct resource_type *t = h_type(arena_fmt(&h->arena, "%.*s", (int)(slash - what), what).p);
    const struct object *o;

    if (h_is_kind(t, "PodGroup")) {
        const struct object *job = h->base->get(h, h_type("jobs"), name);

        if (job) {
            struct str full = arena_fmt(&h->arena, "%.*s-%.*s", STR_ARG(name), STR_ARG(job->uid));

            o = h->base->get(h, t, full);
            if (o)
                return o;
        }
    }
    return h->base->get(h, t, name);
}

const struct object *h_must_find(struct h *h, const char *what)
{
    const struct object *o = find(h, what);

    if (!o)
        fail_msg("there is no %s", what);
    return o;
}

bool h_exists(struct h *h, const char *what)
{
    return find(h, what) != NULL;
}

const char *h_uid(struct h *h, const char *what)
{
    const struct object *o = find(h, what);

    return o ? h_keep(h, o->uid) : "";
}

const char *h_get(struct h *h, const char *what, const char *path)
{
    const struct object *o = h_must_find(h, what);
    struct err ignored;
    struct json *j = json_path((struct json *)o->root, str_of(path), &ignored);

    if (!j)
        return "";
    switch ((enum json_type)j->type) {
    case JSON_STRING:
    case JSON_NUMBER:
        return h_keep(h, (struct str){ j->text, j->n });
    case JSON_BOOL:
        return json_bool(j, false) ? "true" : "false";
    case JSON_ARRAY:
    case JSON_OBJECT:
        return arena_fmt(&h->arena, "(%zu)", json_count(j)).p;
    default:
        return "";
    }
}

int64_t h_int(struct h *h, const char *what, const char *path)
{
    int64_t v = 0;

    (void)str_to_i64(str_of(h_get(h, what, path)), &v); /* not there: 0 */
    return v;
}

const char *h_phase(struct h *h, const char *job)
{
    return h_get(h, arena_fmt(&h->arena, "job/%s", job).p, "status.state.phase");
}

static bool has_status_part(const struct resource_type *t)
{
    for (size_t i = 0; t->subresources[i]; i++)
        if (strcmp(t->subresources[i], "status") == 0)
            return true;
    return false;
}

struct json *h_copy(struct h *h, const struct object *o)
{
    autobuf text = { 0 };
    struct json *tree;
    struct err e;

    json_print(&text, o->root);
    if (json_parse(&h->arena, arena_str(&h->arena, buf_view(&text)), NULL, &tree, &e) < 0)
        fail_msg("copy: %s", e.text);
    return tree;
}

void h_apply(struct h *h, const char *what, const struct op *op)
{
    struct err e = { 0 };

    if (h->base->apply(h, op, NULL, &e) < 0)
        fail_msg("%s: %s", what, e.text);
}

void h_update(struct h *h, const char *what, struct json *tree, enum op_kind kind)
{
    struct op op = { .kind = kind, .type = type_by_kind(object_api_version(tree), object_kind(tree)), .body = tree };

    op.namespace = object_namespace(tree);
    op.name = object_name(tree);
    h_apply(h, what, &op);
}

void h_set(struct h *h, const char *what, const char *path, const char *yaml)
{
    struct json *tree = h_copy(h, h_must_find(h, what)), *node, *value = parse_yaml(h, yaml);
    struct err e = { 0 };

    node = json_path(tree, str_of(path), &e);
    if (!node)
        fail_msg("%s: %s: %s", what, path, e.text);
    value->key = node->key;
    value->key_n = node->key_n;
    value->next = node->next;
    *node = *value; /* in place: the parent need not be known */
    h_update(h, what, tree, OP_UPDATE);
}

void h_put_status(struct h *h, const char *what, struct json *status)
{
    const struct object *o = h_must_find(h, what);
    enum op_kind kind = has_status_part(o->type) ? OP_UPDATE_STATUS : OP_UPDATE;
    struct json *tree = h_copy(h, o);

    json_set(tree, "status", status);
    h_update(h, what, tree, kind);
}

void h_set_status(struct h *h, const char *what, const char *yaml)
{
    h_put_status(h, what, parse_yaml(h, yaml));
}

void h_scale(struct h *h, const char *job, int task, int replicas, int job_min)
{
    struct json *tree = h_copy(h, h_must_find(h, arena_fmt(&h->arena, "job/%s", job).p));
    struct json *spec = json_get(tree, "spec"), *t = json_at(json_get(spec, "tasks"), (size_t)task);

    json_set(t, "replicas", json_int(&h->arena, replicas));
    json_set(t, "minAvailable", json_int(&h->arena, MIN_OF(replicas, json_i64(json_get(t, "minAvailable"), 0))));
    json_set(spec, "minAvailable", json_int(&h->arena, job_min));
    h_update(h, job, tree, OP_UPDATE);
}

static void delete_with(struct h *h, const char *what, struct op op)
{
    const struct object *o = h_must_find(h, what);

    op.kind = OP_DELETE;
    op.type = o->type;
    op.namespace = str_of(h_keep(h, o->namespace));
    op.name = str_of(h_keep(h, o->name));
    h_apply(h, what, &op);
}

void h_delete(struct h *h, const char *what, int64_t grace_s)
{
    delete_with(h, what, (struct op){ .grace_s = grace_s });
}

void h_delete_foreground(struct h *h, const char *what)
{
    delete_with(h, what, (struct op){ .grace_s = -1, .propagation = PROPAGATE_FOREGROUND });
}

const char *h_command_to(struct h *h, const char *api_version, const char *kind, const char *name, const char *uid,
                         const char *action)
{
    struct str text = arena_fmt(&h->arena,
                                "{apiVersion: bus.volcano.sh/v1alpha1, kind: Command, "
                                "metadata: {generateName: %s-, namespace: default}, action: %s, "
                                "target: {apiVersion: %s, kind: %s, name: %s, uid: '%s'}}",
                                name, action, api_version, kind, name, uid);

    return h_create(h, text.p);
}

void h_command(struct h *h, const char *job, const char *action)
{
    const char *uid = h_uid(h, arena_fmt(&h->arena, "job/%s", job).p);

    h_command_to(h, "batch.volcano.sh/v1alpha1", "Job", job, uid, action);
}

/* ---- lists ---- */

bool h_is_deleting(const struct json *root)
{
    return !str_empty(json_member_text(json_get(root, "metadata"), "deletionTimestamp"));
}

static void pod_each(void *ctx, const struct object *o)
{
    struct h_list *l = ctx;
    struct str phase = json_text(json_find(o->root, "status", "phase", NULL), STR("Pending"));

    if (!str_eq(object_controller_uid(o->root), l->job_uid) || h_is_deleting(o->root) != l->is_terminating)
        return;
    if (l->task && *l->task && !str_is(object_label(o->root, "volcano.sh/task-spec"), l->task))
        return;
    if (l->phase && *l->phase && !str_is(phase, l->phase))
        return;
    l->n++;
    *vec_push(&l->h->arena, &l->names) = h_keep(l->h, o->name);
}

struct h_list h_list_pods(struct h *h, const char *job, const char *task, const char *phase, bool terminating)
{
    struct h_list l = { .h = h, .task = task, .phase = phase, .is_terminating = terminating };

    l.job_uid = str_of(h_uid(h, arena_fmt(&h->arena, "job/%s", job).p));
    h->base->list(h, h_type("pods"), pod_each, &l);
    return l;
}

size_t h_count_pods(struct h *h, const char *job, const char *task, const char *phase)
{
    return h_list_pods(h, job, task, phase, false).n;
}

size_t h_count_terminating(struct h *h, const char *job)
{
    return h_list_pods(h, job, NULL, NULL, true).n;
}

static void count_each(void *ctx, const struct object *o)
{
    (void)o;
    ++*(size_t *)ctx;
}

size_t h_count(struct h *h, const char *type)
{
    size_t n = 0;

    h->base->list(h, h_type(type), count_each, &n);
    return n;
}

static void event_each(void *ctx, const struct object *o)
{
    struct h_list *l = ctx;

    l->n += str_is(json_member_text(o->root, "reason"), l->reason) &&
            str_is(json_member_text(json_get(o->root, "involvedObject"), "name"), "j") &&
            str_has(json_member_text(o->root, "message"), str_of(l->text));
}

size_t h_events(struct h *h, const char *reason)
{
    struct h_list l = { .reason = reason, .text = "" };

    h->base->list(h, h_type("events"), event_each, &l);
    return l.n;
}

bool h_event_says(struct h *h, const char *reason, const char *text)
{
    struct h_list l = { .reason = reason, .text = text };

    h->base->list(h, h_type("events"), event_each, &l);
    return l.n > 0;
}

bool h_was(struct h *h, const char *job, const char *phase)
{
    const struct object *o = h_must_find(h, arena_fmt(&h->arena, "job/%s", job).p);

    JSON_FOREACH(c, json_find(o->root, "status", "conditions", NULL))
        if (str_is(json_member_text(c, "status"), phase))
            return true;
    return false;
}

/* ---- asserting ---- */

void h_expect_at(struct h *h, const char *what, const char *path, const char *want, const char *file, int line)
{
    const char *got = h_get(h, what, path);

    if (strcmp(got, want) == 0 || (!*got && strcmp(want, "0") == 0))
        return;
    print_error("%s: %s: want \"%s\", got \"%s\"\n", what, path, want, got);
    _fail(file, line);
}

void h_expect_phase_at(struct h *h, const char *job, const char *want, const char *file, int line)
{
    h_expect_at(h, arena_fmt(&h->arena, "job/%s", job).p, "status.state.phase", want, file, line);
}
