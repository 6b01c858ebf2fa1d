/* schedule.c - when the scheduler is asked, and the Events that come of it */
#include "driver/driver_internal.h"

#include "api/meta.h"
#include "base/clock.h"
#include "base/util.h"

#include <assert.h>

/* More Events than this waiting for room are not worth sending. */
enum { NOTICES_MAX = 20000, MESSAGE_MAX = 1024 /* of an Event; the API server refuses longer ones */ };

struct notice { /* an Event that waits for room */
    struct list_link link;
    const char *kind, *type;
    struct str namespace, name, uid, reason, message; /* the bytes follow this struct */
    struct str group, group_uid;                      /* Pod: its PodGroup, which may be deleted when this is sent */
};

void schedule_init(struct driver *d)
{
    struct schedule *s = &d->schedule;
    struct sched_config config;

    list_init(&s->events);
    s->wake_ms = INT64_MAX;
    sched_feed_init(d);
    sched_writes_init(d);
    if (!d->opt.schedules)
        return;
    if (d->opt.sched_config) {
        s->sched = sched_new(d->opt.sched_config, d->opt.seed);
        return;
    }
    sched_config_default(&config);
    config.scheduler_name = d->opt.scheduler_name;
    s->sched = sched_new(&config, d->opt.seed);
}

void schedule_done(struct driver *d)
{
    struct list_link *link;

    while ((link = list_pop_front(&d->schedule.events)))
        free(LIST_ITEM(link, struct notice, link));
    sched_writes_done(d);
    sched_feed_done(d);
    sched_free(d->schedule.sched);
    arena_done(&d->schedule.round.arena);
}

/* ---- rounds ---- */

static bool is_time(const struct driver *d)
{
    const struct schedule *s = &d->schedule;

    /* While too many writes are on their way a decision could not be sent, and would be made with old news. */
    if (!s->sched || d->is_full)
        return false;
    return s->wake_ms <= d->run_ms || (s->has_news && !sched_is_idle(s->sched));
}

/* Evictions for one group stand together. */
static void count_evictions(struct driver *d, const struct sched_round *r)
{
    struct str last = STR_NULL;

    VEC_FOREACH(what, &r->list) {
        if (what->kind != DECIDE_EVICT || str_empty(what->other) || str_eq(what->other, last))
            continue;
        last = what->other;
        d->stats.preempts += str_is(what->reason, "preempt");
        d->stats.reclaims += str_is(what->reason, "reclaim");
    }
}

static void count_decision(struct driver *d, const struct decision *what)
{
    const struct object *group;
    int64_t created_ms;

    d->stats.refusals += what->kind == DECIDE_POD_STATUS;
    if (what->kind != DECIDE_EVENT || strcmp(what->event_kind, "PodGroup") != 0 || !str_is(what->reason, "Scheduled"))
        return;
    group = cache_find(&d->cache, known_types()->group, what->namespace, what->name);
    if (group &&
        clock_parse(json_member_text(json_get(group->root, "metadata"), "creationTimestamp"), &created_ms, NULL) == 0)
        latency_add(&d->stats.gang_latency, (d->last_now_ms - created_ms) * 1000);
}

static void decided(struct driver *d, const struct decision *what)
{
    count_decision(d, what);
    if (what->kind == DECIDE_EVENT)
        schedule_tell(d, what);
    else
        sched_write_add(d, what);
}

bool schedule_turn(struct driver *d)
{
    struct schedule *s = &d->schedule;
    struct sched_round *r = &s->round;
    int64_t now_ms = d->last_now_ms;

    if (!is_time(d))
        return false;
    arena_reset(&r->arena);
    *r = (struct sched_round){ .arena = r->arena };
    s->has_news = false;
    sched_round(s->sched, now_ms, r);
    d->stats.rounds++;
    count_evictions(d, r);
    VEC_FOREACH(what, &r->list)
        decided(d, what);
    s->has_news |= r->list.n > 0; /* a round that did something may have left something */
    s->wake_ms = r->wake_ms ? d->run_ms + MAX_OF(r->wake_ms - now_ms, 1) : INT64_MAX;
    return r->list.n > 0;
}

int64_t schedule_due(const struct driver *d)
{
    const struct schedule *s = &d->schedule;

    if (is_time(d))
        return d->run_ms;
    return s->sched && !d->is_full ? s->wake_ms : INT64_MAX;
}

void driver_configure(struct driver *d, const struct sched_config *config)
{
    assert(d->schedule.sched);
    sched_configure(d->schedule.sched, config);
    d->schedule.has_news = true;
    d->schedule.wake_ms = d->run_ms;
}

struct sched *driver_sched(struct driver *d)
{
    return d->schedule.sched;
}

/* ---- Events ---- */

void schedule_tell(struct driver *d, const struct decision *event)
{
    const struct sched_known *pod = strcmp(event->event_kind, "Pod") == 0 && d->schedule.sched
                                        ? sched_feed_find(d, known_types()->pod, event->namespace, event->name,
                                                          event->uid)
                                        : NULL;
    struct str group = pod ? pod->group : STR_NULL, group_uid = STR_NULL;
    const struct object *o = group.n ? cache_find(&d->cache, known_types()->group, event->namespace, group) : NULL;
    struct notice *n;
    char *text;

    if (o)
        group_uid = o->uid;
    if (d->opt.is_silent || d->schedule.n_events >= NOTICES_MAX)
        return;
    n = xcalloc(1, sizeof(*n) + event->namespace.n + event->name.n + event->uid.n + event->reason.n + event->message.n +
                       group.n + group_uid.n);
    text = (char *)(n + 1);
    n->kind = event->event_kind;
    n->type = event->event_type;
    n->namespace = text_put(&text, event->namespace);
    n->name = text_put(&text, event->name);
    n->uid = text_put(&text, event->uid);
    n->reason = text_put(&text, event->reason);
    n->message = text_put(&text, event->message);
    n->group = text_put(&text, group);
    n->group_uid = text_put(&text, group_uid);
    list_push(&d->schedule.events, &n->link);
    d->schedule.n_events++;
}

void driver_warn(struct driver *d, struct str reason, struct str message)
{
    schedule_tell(d, &(struct decision){ DECIDE_EVENT, .name = STR("default"), .event_kind = "Queue",
                                         .event_type = "Warning", .reason = reason,
                                         .message = str_sub(message, 0, MESSAGE_MAX) });
}

/* `kubectl describe` finds Events by uid, which driver_warn() may not know yet. */
static struct str notice_uid(struct driver *d, const struct notice *n)
{
    const struct object *queue = n->uid.n ? NULL : cache_find(&d->cache, known_types()->queue, n->namespace, n->name);

    return queue ? object_uid(queue->root) : n->uid;
}

static struct json *notice_about(struct driver *d, const char *kind, struct str namespace, struct str name,
                                 struct str uid)
{
    struct json *about = object_new(&d->arena, strcmp(kind, "Pod") == 0 ? "v1" : "scheduling.volcano.sh/v1beta1", kind,
                                    namespace, name);

    json_set(json_get(about, "metadata"), "uid", json_str(&d->arena, uid));
    return about;
}

static void send_notice(struct driver *d, const struct notice *n)
{
    struct plan plan = { .arena = &d->arena, .now_ms = d->last_now_ms };
    struct op *op;

    arena_reset(&d->arena);
    op = plan_event(&plan, notice_about(d, n->kind, n->namespace, n->name, notice_uid(d, n)), n->type,
                    arena_cstr(&d->arena, n->reason), n->message);
    plan_event_from(&plan, op, d->opt.scheduler_name, STR_NULL); /* tools look for the scheduler's name */
    op->count = COUNT_EACH;                                      /* the scheduler tells what has changed */
    if (n->group.n)
        op->whole = plan_event_ref(&d->arena, notice_about(d, "PodGroup", n->namespace, n->group, n->group_uid));
    request_send(d, STR_NULL, op);
}

bool schedule_flush(struct driver *d)
{
    struct list_link *link;
    bool any = false;

    while (request_has_event_room(d) && (link = list_pop_front(&d->schedule.events))) {
        d->schedule.n_events--;
        send_notice(d, LIST_ITEM(link, struct notice, link));
        free(LIST_ITEM(link, struct notice, link));
        any = true;
    }
    return any;
}
