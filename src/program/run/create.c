/* create.c - everything from the files into the store or the server, in the order in which it is needed */
#include "program/run/create.h"

#include "api/meta.h"
#include "base/util.h"
#include "program/run/run.h"
#include "driver/cache.h"
#include "job/volume.h"
#include "store/store.h"
#include "whatif/hollow.h"

/* What is put in when; kinds that are not here come with the first. */
static const struct {
    const char *kind;
    int turn; /* -1: never */
    const char *why_not;
} kinds[] = {
    { "Namespace", 0, NULL },
    { JOB_KIND, 2, NULL },
    { "Pod", 3, NULL },
    { "Command", 4, NULL },
    { "Node", -1, "pods of this run are on this machine only" },
    { "JobFlow", 2, NULL },
    { "CronJob", -1, "its job runs once, now; a server runs it on schedule (pumice server, kubectl apply)" },
    { "Event", -1, NULL },
    { "Binding", -1, NULL },
};
enum { TURNS = 5, TURN_OTHERS = 1 };

static int turn_of(const struct loaded *doc, const char **ret_why)
{
    *ret_why = NULL;
    if (!doc->type || !doc->type->schema)
        return -1;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (strcmp(kinds[i].kind, doc->type->kind) == 0) {
            *ret_why = kinds[i].why_not;
            return kinds[i].turn;
        }
    return TURN_OTHERS;
}

/* ---- the store of a run ---- */

static int store_sink_create(void *ctx, const struct resource_type *type, struct json *object, struct err *e)
{
    (void)type;
    return store_create(ctx, object, NULL, e);
}

static bool store_sink_find(void *ctx, const struct resource_type *type, struct str namespace, struct str name,
                            struct str *ret_uid)
{
    const struct object *o = store_get(ctx, type, namespace, name);

    if (o)
        *ret_uid = o->uid;
    return o;
}

struct run_sink run_sink_store(struct store *s)
{
    return (struct run_sink){ .ctx = s, .create = store_sink_create, .find = store_sink_find };
}

/* ---- objects ---- */

static int create_need_namespace(const struct run_sink *s, struct arena *a, struct str name, struct err *e)
{
    const struct resource_type *type = type_by_name(STR("namespaces"));
    struct str uid;

    if (s->find(s->ctx, type, STR_NULL, name, &uid))
        return 0;
    return s->create(s->ctx, type, object_new(a, "v1", "Namespace", STR_NULL, name), e);
}

/* There is one scheduler here, and it does the work of whichever was named. */
static void set_scheduler(struct load *l, const struct loaded *doc)
{
    struct json *spec = json_get(doc->root, "spec");

    if (!json_is(spec, JSON_OBJECT))
        return;
    if (strcmp(doc->type->kind, "Pod") == 0) {
        json_remove(spec, "nodeName");
        json_set(spec, "schedulerName", json_str(l->arena, STR("volcano")));
    } else if (strcmp(doc->type->kind, JOB_KIND) == 0) {
        json_set(spec, "schedulerName", json_str(l->arena, STR("volcano")));
        JSON_FOREACH(task, json_get(spec, "tasks"))
            json_remove(json_find(task, "template", "spec", NULL), "schedulerName");
    }
}

/* The scheduler places groups: a pod of its own is a group of one. */
static int need_group(const struct run_sink *s, struct arena *a, struct json *pod, struct err *e)
{
    static const char key[] = "scheduling.k8s.io/group-name";
    struct str name = arena_fmt(a, "podgroup-%.*s", STR_ARG(object_name(pod))),
               queue = object_annotation(pod, "scheduling.volcano.sh/queue-name");
    struct json *group, *spec;

    if (!str_empty(object_annotation(pod, key)))
        return 0;
    group = object_new(a, "scheduling.volcano.sh/v1beta1", "PodGroup", object_namespace(pod), name);
    spec = json_set(group, "spec", json_object(a));
    json_set(spec, "minMember", json_int(a, 1));
    json_set(spec, "queue", json_str(a, queue.n ? queue : STR("default")));
    if (json_get(json_get(pod, "spec"), "priorityClassName"))
        json_set(spec, "priorityClassName", json_copy(a, json_get(json_get(pod, "spec"), "priorityClassName")));
    object_set_annotation(a, pod, key, name);
    return s->create(s->ctx, known_types()->group, group, e);
}

/* A Command acts on a uid; a file cannot know it yet, so a name is enough. */
static void aim_command(const struct run_sink *s, struct load *l, struct json *command)
{
    struct json *target = json_get(command, "target");
    struct str uid;

    if (str_is(json_member_text(target, "kind"), JOB_KIND) &&
        s->find(s->ctx, known_types()->job, object_namespace(command), json_member_text(target, "name"), &uid))
        json_set(target, "uid", json_str(l->arena, arena_str(l->arena, uid)));
}

/* A Job that is given its name later (generateName) has a claim by what stands there; the second one like it, by that and 2. */
static struct str generated_name(struct load *l, const struct loaded *doc)
{
    struct str name = doc->job.meta.generate_name;
    int number = 1;

    VEC_FOREACH(at, &l->docs) {
        if (*at == doc)
            break;
        number += (*at)->set && str_eq((*at)->job.meta.generate_name, name) && str_empty(object_name((*at)->root));
    }
    while (name.n && (name.p[name.n - 1] == '-' || name.p[name.n - 1] == '.'))
        name.n--;
    return number == 1 || !name.n ? name : arena_fmt(l->arena, "%.*s-%d", STR_ARG(name), number);
}

/* Claims whose name is left to the controller have the same one in each run of the Job, so that --claims finds them
 * again. */
static void name_claims(struct load *l, const struct loaded *doc)
{
    struct job job = doc->job;

    job.meta.uid = load_uid(l, doc->root);
    if (str_empty(job.meta.name))
        job.meta.name = generated_name(l, doc);
    if (job.meta.name.n)
        (void)job_volumes_name(l->arena, &job);
}

static int create_one(const struct run_sink *s, struct load *l, struct loaded *doc, struct err *e)
{
    struct json *meta = json_get(doc->root, "metadata");

    if (doc->type->scope == SCOPE_NAMESPACED && json_is(meta, JSON_OBJECT)) {
        if (str_empty(object_namespace(doc->root)))
            json_set(meta, "namespace",
                     json_str(l->arena, str_of(l->namespace && l->namespace[0] ? l->namespace : "default")));
        if (create_need_namespace(s, l->arena, object_namespace(doc->root), e) < 0)
            return -1;
    }
    json_remove(meta, "resourceVersion");
    set_scheduler(l, doc);
    if (doc->set && !s->is_server)
        name_claims(l, doc);
    if (strcmp(doc->type->kind, "Command") == 0)
        aim_command(s, l, doc->root);
    if (strcmp(doc->type->kind, "Pod") == 0 && !s->is_server && need_group(s, l->arena, doc->root, e) < 0)
        return -1;
    if (s->create(s->ctx, doc->type, doc->root, e) < 0)
        return err_wrap(e, "%.*s %.*s", STR_ARG(object_kind(doc->root)), STR_ARG(object_name(doc->root)));
    return 0;
}

static void create_leave_out(struct load *l, const struct loaded *doc, const struct run_listener *say, const char *why)
{
    bool is_cron = doc->type && strcmp(doc->type->kind, "CronJob") == 0;

    if (why && say)
        say->say(say->ctx, arena_fmt(l->arena, "%.*s %.*s%s: %s", STR_ARG(object_kind(doc->root)),
                                     STR_ARG(object_name(doc->root)), is_cron ? "" : " is left out", why));
}

static int64_t submit_ms(const struct loaded *doc)
{
    return MAX_OF(annotation_ms(doc->root, SUBMIT_ANNOTATION), 0);
}

/* The turn of a document that is ours to put in; -1: it is left out. */
static int own_turn(const struct loaded *doc, const char **ret_why)
{
    int turn = turn_of(doc, ret_why);

    if (doc->is_of_flow)
        return -1;
    if (turn >= 0 && object_controller_uid(doc->root).n) { /* the controllers make their own */
        *ret_why = "it belongs to an object of another cluster";
        return -1;
    }
    return turn;
}

int run_create_later(const struct run_sink *s, struct load *l, int64_t from_ms, int64_t to_ms, struct err *e)
{
    const char *why;

    for (int turn = 0; turn < TURNS; turn++)
        VEC_FOREACH(doc, &l->docs)
            if (own_turn(*doc, &why) == turn && submit_ms(*doc) > from_ms && submit_ms(*doc) <= to_ms &&
                create_one(s, l, *doc, e) < 0)
                return -1;
    return 0;
}

int64_t run_create_due(const struct load *l, int64_t after_ms)
{
    int64_t due = INT64_MAX;
    const char *why;

    VEC_FOREACH(doc, &l->docs)
        if (submit_ms(*doc) > after_ms && own_turn(*doc, &why) >= 0)
            due = MIN_OF(due, submit_ms(*doc));
    return due;
}

int run_create(const struct run_sink *s, struct load *l, const struct run_listener *say, struct err *e)
{
    VEC_FOREACH(doc, &l->docs) {
        const char *why;

        if (own_turn(*doc, &why) < 0)
            create_leave_out(l, *doc, say, why);
    }
    return run_create_later(s, l, -1, 0, e);
}

int run_complete(void *ctx, struct arena *a, const struct resource_type *type, struct json *body, struct err *e)
{
    struct load *l = ((struct run *)ctx)->load;

    if (type != known_types()->job || !l)
        return 0;
    VEC_FOREACH(at, &l->docs) {
        struct loaded *doc = *at;

        if (!doc->is_of_flow || !str_eq(object_name(doc->root), object_name(body)) ||
            !str_eq(object_namespace(doc->root), object_namespace(body)))
            continue;
        set_scheduler(l, doc);
        name_claims(l, doc);
        json_set(body, "spec", json_copy(a, json_get(doc->root, "spec")));
    }
    return 0;
}
