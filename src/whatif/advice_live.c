/* advice_live.c - a change, made in a cluster that runs
 *
 * As a user would do it with kubectl: a patch of the stored object, a delete that the garbage collector follows up, a
 * file submitted (again). The controllers and the scheduler see it as any other change; what they have promised to
 * others before stands.
 */
#include "whatif/advice_internal.h"

#include "api/meta.h"
#include "base/util.h"
#include "store/store.h"

static int set_field(struct advising *v, struct future *f, const struct advice_edit *e)
{
    const struct object *o = future_get(f, type_by_name(str_of(e->kind)), e->namespace, e->name);
    const struct json *edited = o ? edit_object(&v->scratch, o->root, e) : NULL;
    bool is_status = str_starts(e->path, STR("/status/"));

    return edited ? store_update(future_store(f), edited, is_status ? STORE_STATUS : STORE_MAIN, NULL, NULL) : -1;
}

static int delete_object(struct future *f, const char *kind, struct str namespace, struct str name)
{
    struct store_delete_options opt = { .grace_s = -1, .propagation = PROPAGATE_BACKGROUND };

    return store_delete(future_store(f), &(struct object_key){ type_by_name(str_of(kind)), namespace, name }, &opt,
                        NULL, NULL);
}

struct advice_live_members {
    struct advising *v;
    struct str group;
    VEC(struct str) pods;
};

static void find_member(void *ctx, const struct object *o)
{
    struct advice_live_members *m = ctx;

    if (is_pod_of_group(o->root, o->namespace, m->group))
        *vec_push(&m->v->scratch, &m->pods) = arena_str(&m->v->scratch, o->name);
}

/* A PodGroup without a Job does not own its pods: they are deleted one by one. */
static int delete_group(struct advising *v, struct future *f, const struct advice_edit *e)
{
    struct advice_live_members m = { .v = v, .group = e->name };
    int rc = delete_object(f, e->kind, e->namespace, e->name);

    store_list(future_store(f), type_by_name(STR("Pod")), e->namespace, find_member, &m);
    for (size_t i = 0; rc == 0 && i < m.pods.n; i++)
        rc = delete_object(f, "Pod", e->namespace, m.pods.v[i]);
    return rc;
}

static int advice_live_add_nodes(struct advising *v, struct future *f, const struct advice_edit *e)
{
    const struct json *like = world_find(&v->world, "Node", STR_NULL, e->name);
    int rc = like ? 0 : -1;

    for (int64_t i = 1; rc == 0 && i <= e->count; i++)
        rc = future_add(f, node_like(&v->scratch, like, i), NULL);
    return rc;
}

static int advice_live_change(struct advising *v, struct future *f, const struct advice_edit *e)
{
    switch (e->op) {
    case EDIT_SET:
    case EDIT_UNSET:
        return set_field(v, f, e);
    case EDIT_CREATE:
        return future_add(f, e->value, NULL);
    case EDIT_DELETE:
        return strcmp(e->kind, "PodGroup") == 0 ? delete_group(v, f, e)
                                                : delete_object(f, e->kind, e->namespace, e->name);
    case EDIT_ADD_NODES:
        return advice_live_add_nodes(v, f, e);
    case EDIT_OP_MAX:
        break;
    }
    return -1;
}

/* ---- the job's own file ---- */

static bool is_of_file(const struct advising *v, const struct advice_edit *e)
{
    return (e->op == EDIT_SET || e->op == EDIT_UNSET) && strcmp(e->kind, JOB_KIND) == 0 && v->is_job &&
           str_eq(e->name, v->name) && str_eq(e->namespace, v->namespace);
}

/* kubectl replace --force, or create where it is not there yet. */
static int advice_live_submit(struct advising *v, struct future *f, const struct suggestion *s)
{
    const struct json *job = as_submitted(&v->scratch, v->root);

    VEC_FOREACH(e, &s->edits)
        if (is_of_file(v, e) && !(job = edit_object(&v->scratch, job, e)))
            return -1;
    if (!v->is_new) {
        if (delete_object(f, JOB_KIND, v->namespace, v->name) < 0)
            return -1;
        (void)future_settle(f); /* the name is free when all is deleted */
    }
    return future_add(f, job, NULL);
}

static int change_all(struct advising *v, struct future *f, const struct suggestion *s, bool has_file)
{
    VEC_FOREACH(e, &s->edits)
        if (!(has_file && is_of_file(v, e)) && advice_live_change(v, f, e) < 0)
            return -1;
    return 0;
}

int live_edit(struct advising *v, struct future *f, const struct suggestion *s)
{
    bool has_file = v->is_new || s->recreates;

    if (v->prefix && change_all(v, f, v->prefix, false) < 0)
        return -1;
    if (change_all(v, f, s, has_file) < 0)
        return -1;
    return has_file ? advice_live_submit(v, f, s) : 0;
}
