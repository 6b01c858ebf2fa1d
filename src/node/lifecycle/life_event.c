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

void life_say(struct life *l, bool is_warning, struct str reason, const struct life_con *c, const char *fmt, ...)
{
    struct life_said *s;
    va_list ap;

    if (l->n_events == LIFE_EVENTS_MAX)
        return;
    s = xcalloc(1, sizeof(*s));
    s->is_warning = is_warning;
    s->container = c ? c->name : STR_NULL;
    buf_str(&s->reason, reason);
    va_start(ap, fmt);
    buf_vfmt(&s->message, fmt, ap);
    va_end(ap);
    list_push(&l->events, &s->link);
    l->n_events++;
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
