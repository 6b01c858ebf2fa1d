/* access_pods.c - permission checks beyond the verb: roles that grant permissions, pods with access to the machine
 *
 * A user who can create pods can run programs here, so pods of ordinary users run as auth/runas.h decides. The decision
 * is written into the pod, and into the pod templates of other kinds, when a user writes them. Controllers do not pass
 * here.
 *
 * Two annotations say to the node whose pod it is. An identity that they bind cannot remove them: an update keeps the
 * present ones for any client, and a write that is judged sets them anew.
 */
#include "server/server_internal.h"

#include "api/pod/security.h"
#include "auth/runas.h"
#include "base/map.h"

/* Where the templates of pods are in each kind that becomes pods; "*": each of a list. */
static const struct {
    const char *group, *kind, *path;
} makers[] = {
    { "", "Pod", "" },
    { "batch.volcano.sh", "Job", "spec.tasks.*.template" },
    { "batch.volcano.sh", "CronJob", "spec.jobTemplate.spec.tasks.*.template" },
    { "flow.volcano.sh", "JobTemplate", "spec.tasks.*.template" },
};

struct judge {
    struct server_request *rq;
    struct problems *ps;
    enum runas_mode mode;
};

static void judge_pod(struct judge *j, const struct place *pod)
{
    struct server_request *rq = j->rq;
    struct runas_decision d = runas_decide(rq->server->opt.runas, &rq->caller.who, rq->target.namespace, pod, j->ps);

    j->mode = d.mode;
    if (!j->ps->n_errors)
        runas_apply(rq->arena, &d, (struct json *)pod->node);
}

/* ---- the marks of a pod ---- */

static const char *const marks[] = { HOST_USER_ANNOTATION, TENANT_ANNOTATION };

static void marks_keep_one(struct arena *a, struct json *pod, const struct json *old)
{
    for (size_t i = 0; i < ARRAY_LEN(marks); i++)
        if (json_is(pod, JSON_OBJECT) && json_find(old, "metadata", "annotations", marks[i], NULL))
            object_set_annotation(a, pod, marks[i], arena_str(a, object_annotation(old, marks[i])));
}

static void marks_keep_below(struct arena *a, struct json *at, const struct json *old, struct str path);

/* Items are the same by their names. */
static void marks_keep_list(struct arena *a, struct json *list, const struct json *old_list, struct str path)
{
    struct map by_name;

    map_init(&by_name, map_seed_default());
    JSON_FOREACH(old, old_list)
        (void)map_put(&by_name, json_member_text(old, "name"), old);
    JSON_FOREACH(item, list)
        marks_keep_below(a, item, map_get(&by_name, json_member_text(item, "name")), path);
    map_done(&by_name);
}

static void marks_keep_below(struct arena *a, struct json *at, const struct json *old, struct str path)
{
    struct str word;

    if (!path.n) {
        marks_keep_one(a, at, old);
    } else if (str_split(&path, '.', &word) && !str_is(word, "*")) {
        marks_keep_below(a, json_get_str(at, word), json_get_str(old, word), path);
    } else if (json_is(at, JSON_ARRAY)) {
        marks_keep_list(a, at, old, path);
    }
}

void access_keep_marks(struct server_request *rq, struct json *object, const struct object *old)
{
    for (size_t i = 0; old && i < ARRAY_LEN(makers); i++)
        if (strcmp(makers[i].group, rq->type->group) == 0 && strcmp(makers[i].kind, rq->type->kind) == 0)
            marks_keep_below(rq->arena, object, old->root, str_of(makers[i].path));
}

/* ---- judging ---- */

static void judge_below(struct judge *j, const struct place *at, struct str path)
{
    struct str word;
    size_t i = 0;

    if (!path.n && json_is(at->node, JSON_OBJECT)) {
        judge_pod(j, at);
    } else if (str_split(&path, '.', &word) && !str_is(word, "*")) {
        struct place next = place_member(at, arena_cstr(j->rq->arena, word));

        judge_below(j, &next, path);
    } else if (str_is(word, "*")) {
        JSON_FOREACH(part, at->node) {
            struct place item = place_item(at, part, i++);

            judge_below(j, &item, path);
        }
    }
}

static void check_pods(struct judge *j, struct json *object)
{
    struct place root = { .node = object };

    for (size_t i = 0; i < ARRAY_LEN(makers); i++)
        if (strcmp(makers[i].group, j->rq->type->group) == 0 && strcmp(makers[i].kind, j->rq->type->kind) == 0)
            judge_below(j, &root, str_of(makers[i].path));
}

static int forbid(struct server_request *rq, const struct json *object, const struct judge *j)
{
    autobuf text = { 0 };
    struct str who = rq->caller.who.user;

    VEC_FOREACH(p, &j->ps->list)
        buf_fmt(&text, "%s%.*s: %.*s", text.n ? "; " : "", STR_ARG(p->path), STR_ARG(p->text));
    if (j->mode == RUNAS_RESTRICTED)
        return fail_with(
            rq, REASON_FORBIDDEN,
            "%.*s \"%.*s\" is forbidden: violates PodSecurity \"restricted\", which pods of %.*s must meet: %s",
            STR_ARG(object_kind(object)), STR_ARG(object_name(object)), STR_ARG(who), text.p);
    return fail_with(rq, REASON_FORBIDDEN, "%.*s \"%.*s\" is forbidden: %s", STR_ARG(object_kind(object)),
                     STR_ARG(object_name(object)), text.p);
}

/* The controllers obey a Command in whatever namespace it is: a user who sends one to a queue, which all share, needs
 * the right to that queue. */
static int check_command(struct server_request *rq, const struct json *command)
{
    const struct json *target = json_get(command, "target");
    struct rbac_question q = { .verb = STR("update"),
                               .group = STR("scheduling.volcano.sh"),
                               .resource = STR("queues"),
                               .subresource = STR("status"),
                               .name = json_member_text(target, "name") };
    struct str reason;

    if (!str_is(json_member_text(target, "kind"), "Queue") ||
        auth_allows(rq->server->opt.auth, rq->arena, &rq->caller, &q, &reason))
        return 0;
    return fail_with(rq, REASON_FORBIDDEN, "target: %.*s",
                     STR_ARG(rbac_forbidden(rq->arena, &rq->caller.who, &q, reason)));
}

int access_write(struct server_request *rq, struct json *object, const struct object *old)
{
    struct problems ps = { .arena = rq->arena };
    struct judge j = { .rq = rq, .ps = &ps };
    const struct json *before = old ? old->root : NULL;
    struct err e;

    if (strcmp(rq->type->group, RBAC_GROUP) == 0)
        return auth_check_write(rq->server->opt.auth, rq->arena,
                                &(struct rbac_write){ &rq->caller.who, object, before }, &e) < 0
                   ? fail_err(rq, &e)
                   : 0;
    if (strcmp(rq->type->kind, "Command") == 0 && check_command(rq, object) < 0)
        return -1;
    access_author(rq, object, old);
    if (before && json_equal(json_get(before, "spec"), json_get(object, "spec")))
        return 0; /* a label, a finalizer; marks are as they were */
    if (rq->type == type_by_kind(STR("flow.volcano.sh/v1alpha1"), STR("JobFlow")))
        return access_flow(rq, object);
    if (old && rq->type == type_by_kind(STR("v1"), STR("Pod")) && access_pod(rq, old) < 0)
        return -1; /* a container more, another image */
    check_pods(&j, object);
    return ps.n_errors ? forbid(rq, object, &j) : 0;
}
