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

    if (object && !str_eq(object_name(object), w->goal->object.name))
        return false;
    w->is_gone = !object || str_is(type, "DELETED");
    if (w->is_gone)
        return true;
    w->state = arena_str(w->arena, w->goal->state ? w->goal->state(object) : STR("there"));
    for (const char *const *s = w->goal->states; s && *s; s++)
        if (str_is(w->state, *s))
            return true;
    return false;
}

int verb_wait_for(struct ctl_verb *v, const struct verb_goal *goal, struct str *ret_state, struct err *e)
{
    struct wait w = { .arena = v->arena, .goal = goal };
    struct ctl_select which = { .namespace = goal->object.namespace,
                                .fields = arena_cat(v->arena, STR("metadata.name="), goal->object.name) };
    const char *word = goal->word ? goal->word : goal->object.type->kind;
    int64_t timeout_ms;

    if (verb_timeout(v, &timeout_ms, e) < 0 || verb_flush(v, e) < 0)
        return -1;
    if (ctl_watch(&v->ctl, goal->object.type, &which, &(struct ctl_watcher){ timeout_ms, wait_on_event, &w }, e) < 0)
        return e->code != ERR_GONE ? -1
                                   : err_set(e, ERR_GONE, "%s %.*s is still %.*s after %s", word,
                                             STR_ARG(goal->object.name), STR_ARG(w.state), v->o->timeout);
    if (w.is_gone && goal->states)
        return err_set(e, ERR_NOT_FOUND, "%s %.*s was deleted during the wait", word, STR_ARG(goal->object.name));
    if (ret_state)
        *ret_state = w.is_gone ? STR("deleted") : w.state;
    return 0;
}

int verb_wait(struct ctl_verb *v, const struct verb_goal *goal, struct str *ret_state, struct err *e)
{
    return v->o->wait && !v->o->dry_run ? verb_wait_for(v, goal, ret_state, e) : 0;
}
