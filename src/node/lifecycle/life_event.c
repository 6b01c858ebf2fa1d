/* life_event.c - the queue of Events of a pod */
#include "node/lifecycle/life_internal.h"

static void said_free(struct life_said *s)
{
    if (!s)
        return;
    buf_done(&s->reason);
    buf_done(&s->message);
    free(s);
}

/* A new Event at the end of the queue; NULL: the queue is full. */
static struct life_said *said_new(struct life *l, const struct life_con *c, struct str reason)
{
    struct life_said *s;

    if (l->n_events == LIFE_EVENTS_MAX)
        return NULL;
    s = xcalloc(1, sizeof(*s));
    s->container = c ? c->name : STR_NULL;
    buf_str(&s->reason, reason);
    list_push(&l->events, &s->link);
    l->n_events++;
    return s;
}

void life_say(struct life *l, const struct life_con *c, struct str reason, const char *fmt, ...)
{
    struct life_said *s = said_new(l, c, reason);
    va_list ap;

    if (!s)
        return;
    va_start(ap, fmt);
    buf_vfmt(&s->message, fmt, ap);
    va_end(ap);
}

void life_warn(struct life *l, const struct life_con *c, struct str reason, const char *fmt, ...)
{
    struct life_said *s = said_new(l, c, reason);
    va_list ap;

    if (!s)
        return;
    s->is_warning = true;
    va_start(ap, fmt);
    buf_vfmt(&s->message, fmt, ap);
    va_end(ap);
}

bool life_next_event(struct life *l, struct life_event *ret)
{
    struct list_link *link = list_pop_front(&l->events);

    said_free(l->told);
    l->told = link ? LIST_ITEM(link, struct life_said, link) : NULL;
    if (!l->told)
        return false;
    l->n_events--;
    *ret = (struct life_event){ .is_warning = l->told->is_warning,
                                .reason = l->told->reason.p,
                                .message = buf_view(&l->told->message),
                                .container = l->told->container };
    return true;
}

void life_events_done(struct life *l)
{
    struct life_event ev;

    while (life_next_event(l, &ev))
        ;
}
