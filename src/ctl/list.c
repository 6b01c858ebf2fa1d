/* list.c - lists, and with --watch what becomes of what is in them
 *
 * The watch is a conversation of its own: what a row shows may have to be asked for while it goes on.
 */
#include "api/meta.h"
#include "base/clock.h"
#include "base/util.h"
#include "ctl/verb.h"

struct list_shown { /* what was printed last of an object */
    struct str uid, version;
};

struct follow {
    struct ctl_verb *v;
    const struct verb_list *l;
    struct arena *arena;
    struct ctl_options *o; /* the verb's, but for the headers, which stand once */
    VEC(struct list_shown) shown;
    struct err err;
    bool has_failed;
};

static bool list_is_named(const struct ctl_verb *v, const struct json *object)
{
    for (size_t i = 0; i < v->args.n; i++)
        if (str_is(object_name(object), v->args.v[i]))
            return true;
    return !v->args.n;
}

static bool list_is_wanted(const struct ctl_verb *v, const struct verb_list *l, const struct json *object)
{
    return list_is_named(v, object) && (v->args.n || !l->wants || l->wants(v, object));
}

static int list_read_all(struct ctl_verb *v, const struct verb_list *l, struct ctl_objects *ret, struct err *e)
{
    struct ctl_objects all = { 0 };

    for (size_t i = 0; i < v->args.n; i++)
        if (ctl_get(&v->ctl, (struct ctl_name){ l->type, l->which.namespace, str_of(v->args.v[i]) },
                    vec_push(v->arena, &ret->v), e) < 0)
            return -1;
    if (!v->args.n && ctl_list(&v->ctl, l->type, &l->which, &all, e) < 0)
        return -1;
    VEC_FOREACH(object, &all.v)
        if (list_is_wanted(v, l, *object))
            *vec_push(v->arena, &ret->v) = *object;
    return 0;
}

/* After an interruption the server repeats everything. */
static bool is_news(struct follow *f, const struct json *object)
{
    struct str version = json_text(json_find(object, "metadata", "resourceVersion", NULL), STR_NULL);

    VEC_FOREACH(s, &f->shown)
        if (str_eq(s->uid, object_uid(object))) {
            bool is_same = str_eq(s->version, version);

            s->version = is_same ? s->version : arena_str(f->arena, version);
            return !is_same;
        }
    *vec_push(f->arena, &f->shown) = (struct list_shown){ arena_str(f->arena, object_uid(object)),
                                                          arena_str(f->arena, version) };
    return true;
}

static int show_one(struct ctl_verb *v, const struct verb_list *l, const struct json *object, struct err *e)
{
    struct ctl_objects one = { 0 };
    struct json *copy = json_copy(v->arena, object);

    json_set(copy, "apiVersion", json_str(v->arena, type_api_version(v->arena, l->type)));
    json_set(copy, "kind", json_str(v->arena, str_of(l->type->kind)));
    *vec_push(v->arena, &one.v) = copy;
    return l->show(v, &one, true, e) < 0 ? -1 : verb_flush(v, e);
}

/* Each row has memory of its own: a watch may last for days. */
static bool list_on_event(void *ctx, struct str type, const struct json *object)
{
    struct follow *f = ctx;
    struct ctl_verb *v = f->v;
    struct arena *before = v->arena;
    autoarena own = { 0 };

    (void)type; /* a deleted object is shown once more, as it was */
    if (!object || !list_is_wanted(v, f->l, object) || !is_news(f, object))
        return false;
    v->arena = v->ctl.arena = &own;
    v->ctl.now_ms = clock_now_ms(&clock_real);
    f->has_failed = show_one(v, f->l, object, &f->err) < 0;
    v->arena = v->ctl.arena = before;
    f->o->no_headers = true;
    v->ctl.said = NULL; /* it was in the memory of the row */
    v->ctl.asked = (struct kube_call){ 0 };
    return f->has_failed;
}

static int list_watch(struct ctl_verb *v, const struct verb_list *l, const struct ctl_objects *seen, struct err *e)
{
    struct follow f = { .v = v, .l = l, .arena = v->arena, .o = arena_new(v->arena, struct ctl_options) };
    struct ctl_where where = { .kubeconfig = v->o->kubeconfig, .context = v->o->context, .server = v->o->server };
    autoctl other = { 0 };
    int rc;

    VEC_FOREACH(object, &seen->v)
        (void)is_news(&f, *object); /* it is, the first time */
    if (verb_flush(v, e) < 0 || ctl_open(&other, v->arena, &where, e) < 0)
        return -1;
    *f.o = *v->o;
    f.o->no_headers = f.o->no_headers || seen->v.n;
    v->o = f.o;
    rc = ctl_watch(&other, l->type, &l->which, &(struct ctl_watcher){ -1, list_on_event, &f }, e);
    if (f.has_failed)
        *e = f.err;
    return f.has_failed ? -1 : rc;
}

int verb_list(struct ctl_verb *v, const struct verb_list *l, struct err *e)
{
    struct ctl_objects list = { 0 };

    if (list_read_all(v, l, &list, e) < 0 || l->show(v, &list, v->args.n == 1, e) < 0)
        return -1;
    return v->o->watch ? list_watch(v, l, &list, e) : 0;
}
