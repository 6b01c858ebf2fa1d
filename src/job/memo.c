/* memo.c - notes to text and back */
#include "job/memo.h"

#include "base/util.h"

#define RESTART "pumice-restart"
#define TIMER   "pumice-timer-"
#define COMMAND "pumice-command-"

static const char *const scope_names[] = {
    [RESTART_NONE] = "", [RESTART_TASK] = "task", [RESTART_POD] = "pod", [RESTART_PARTITION] = "partition"
};

static void read_restart(struct str text, struct memo *m)
{
    struct str scope = STR_NULL, task = STR_NULL;
    uint64_t number = 0;

    if (!str_split(&text, ' ', &scope) || !str_split(&text, ' ', &task))
        return;
    for (size_t i = RESTART_TASK; i < ARRAY_LEN(scope_names); i++) {
        if (!str_is(scope, scope_names[i]) || (i != RESTART_TASK && str_to_u64(text, &number) < 0) ||
            number > UINT32_MAX)
            continue;
        m->scope = (enum restart_scope)i;
        m->task = task;
        m->number = (uint32_t)number;
    }
}

static bool read_timer(struct str about, struct str text, struct memo_timer *ret)
{
    struct str event = STR_NULL, action = STR_NULL, deadline = STR_NULL;

    *ret = (struct memo_timer){ .about = about, .event = JOB_EVENT_MAX };
    if (!str_split(&text, ' ', &event) || !str_split(&text, ' ', &action) || !str_split(&text, ' ', &deadline))
        return false;
    for (int i = 0; i < JOB_EVENT_MAX; i++)
        if (str_is(event, job_event_name((enum job_event)i)))
            ret->event = (enum job_event)i;
    ret->action = job_action_of(action);
    ret->uid = text;
    return ret->event != JOB_EVENT_MAX && ret->action != ACTION_NONE && str_to_i64(deadline, &ret->deadline_ms) == 0;
}

static void read_command(struct arena *a, struct str uid, struct str text, struct memo *m)
{
    struct memo_command c = { .uid = uid };

    (void)str_to_i64(text, &c.obeyed_ms); /* obeyed it was, whenever */
    *vec_push(a, &m->commands) = c;
}

void memo_read(struct arena *a, const struct json *controlled, struct memo *ret)
{
    *ret = (struct memo){ 0 };
    if (!json_is(controlled, JSON_OBJECT))
        return;
    JSON_FOREACH(note, controlled) {
        struct str key = json_key(note), text = json_text(note, STR(""));
        struct memo_timer timer;

        if (str_eq(key, STR(RESTART)))
            read_restart(text, ret);
        else if (str_starts(key, STR(TIMER)) && read_timer(str_from(key, strlen(TIMER)), text, &timer))
            *vec_push(a, &ret->timers) = timer;
        else if (str_starts(key, STR(COMMAND)))
            read_command(a, str_from(key, strlen(COMMAND)), text, ret);
    }
}

static void memo_forget(struct json *controlled)
{
    struct json *next;

    for (struct json *note = json_first(controlled); note; note = next) {
        struct str key = json_key(note);

        next = note->next;
        if (str_eq(key, STR(RESTART)) || str_starts(key, STR(TIMER)) || str_starts(key, STR(COMMAND)))
            json_unlink(controlled, note);
    }
}

void memo_write(struct arena *a, const struct memo *m, struct json *controlled)
{
    memo_forget(controlled);
    if (m->scope == RESTART_TASK)
        json_set(controlled, RESTART, json_fmt(a, "task %.*s", STR_ARG(m->task)));
    else if (m->scope != RESTART_NONE)
        json_set(controlled, RESTART, json_fmt(a, "%s %.*s %u", scope_names[m->scope], STR_ARG(m->task), m->number));
    VEC_FOREACH(t, &m->timers)
        json_set_key(controlled, arena_cat(a, STR(TIMER), t->about),
                     json_fmt(a, "%s %s %lld %.*s", job_event_name(t->event), job_action_name(t->action),
                              (long long)t->deadline_ms, STR_ARG(t->uid)));
    VEC_FOREACH(c, &m->commands)
        json_set_key(controlled, arena_cat(a, STR(COMMAND), c->uid), json_fmt(a, "%lld", (long long)c->obeyed_ms));
}

const struct memo_timer *memo_timer_find(const struct memo *m, struct str about)
{
    VEC_FOREACH(t, &m->timers)
        if (str_eq(t->about, about))
            return t;
    return NULL;
}

bool memo_has_command(const struct memo *m, struct str uid)
{
    VEC_FOREACH(c, &m->commands)
        if (str_eq(c->uid, uid))
            return true;
    return false;
}
