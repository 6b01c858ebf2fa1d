/* wait.c - until an object is what an order wants it to be, or gone */
#include "api/meta.h"
#include "base/util.h"
#include "ctl/verb.h"

struct wait {
    struct arena *arena;
    const struct verb_goal *goal;
    struct str state;
    bool is_gone;
};

static bool wait_on_event(void *ctx, struct str type, const struct json *object)
{
    struct wait *w = ctx;

    w->is_gone = !object || str_is(type, "DELETED");
    if (w->is_gone)
        return true;
    w->state = arena_str(w->arena, w->goal->state ? w->goal->state(object) : STR("there"));
    for (const char *const *s = w->goal->states; s && *s; s++)
        if (str_is(w->state, *s))
            return true;
    return false;
}

int verb_wait(struct ctl_verb *v, const struct verb_goal *goal, struct str *ret_state, struct err *e)
{
    struct wait w = { .arena = v->arena, .goal = goal };
    struct ctl_select which = { .namespace = goal->namespace,
                                .fields = arena_cat(v->arena, STR("metadata.name="), goal->name) };
    int64_t timeout_ms;

    if (!v->o->wait || v->o->dry_run)
        return 0;
    if (verb_timeout(v, &timeout_ms, e) < 0 || verb_flush(v, e) < 0)
        return -1;
    if (ctl_watch(&v->ctl, goal->type, &which, &(struct ctl_watcher){ timeout_ms, wait_on_event, &w }, e) < 0)
        return e->code != ERR_GONE ? -1
                                   : err_set(e, ERR_GONE, "%s %.*s is still %.*s after %s", goal->type->kind,
                                             STR_ARG(goal->name), STR_ARG(w.state), v->o->timeout);
    if (w.is_gone && goal->states)
        return err_set(e, ERR_NOT_FOUND, "%s %.*s was deleted during the wait", goal->type->kind, STR_ARG(goal->name));
    if (ret_state)
        *ret_state = w.state;
    return 0;
}
