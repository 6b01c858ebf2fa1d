/* life_stop.c - stopping containers: preStop, SIGTERM, SIGKILL, in order
 *
 *     hook runs ──▶ its turn ──▶ SIGTERM ──▶ SIGKILL
 *
 * Hook and turn may take until the end of the grace period; then SIGTERM is sent anyway. SIGKILL follows at the end
 * of the grace period, at least LIFE_TERM_MS after SIGTERM. A grace period of 0 means SIGKILL only.
 */
#include "node/lifecycle/life_internal.h"

#include <signal.h>

static void stop_shorten(struct life_con *c, int64_t grace_ms, int64_t now_ms)
{
    c->stop.until_ms = MIN_OF(c->stop.until_ms, life_add(now_ms, grace_ms));
    c->stop.is_forced |= grace_ms == 0;
}

void life_con_stop(struct life *l, struct life_con *c, int64_t grace_ms, int64_t now_ms, struct str why)
{
    if (c->stop.is_on) {
        stop_shorten(c, grace_ms, now_ms);
        return;
    }
    life_say(l, c, STR("Killing"), "%.*s", STR_ARG(why));
    c->stop = (struct life_end_of_con){ .is_on = true, .until_ms = INT64_MAX };
    stop_shorten(c, grace_ms, now_ms);
    c->pre.state = c->pre.spec ? LIFE_HOOK_TODO : LIFE_HOOK_NONE;
    if (!life_con_is_up(c)) { /* the result of postStart no longer matters */
        c->post.state = LIFE_HOOK_DONE;
        c->post.id = 0;
        l->is_changed = true;
    }
}

void life_con_join_stop(struct life *l, struct life_con *c, int64_t now_ms)
{
    autoarena a = { 0 };
    int64_t left_ms = l->stop.is_forced ? 0 : MAX_OF(l->stop.until_ms - now_ms, 1);

    life_con_stop(l, c, left_ms, now_ms, arena_fmt(&a, "Stopping container %.*s", STR_ARG(c->name)));
}

void life_begin_stop(struct life *l, int64_t grace_ms, int64_t now_ms)
{
    if (l->has_ended)
        return;
    if (!l->stop.is_on)
        l->is_changed = true; /* containers no longer wait for a restart */
    l->stop.until_ms = MIN_OF(l->stop.is_on ? l->stop.until_ms : INT64_MAX, life_add(now_ms, grace_ms));
    l->stop.is_forced |= grace_ms == 0;
    l->stop.is_on = true;
    VEC_FOREACH(c, &l->cons)
        if (c->state == LIFE_CON_RUNNING)
            life_con_join_stop(l, c, now_ms);
}

/* When the pod stops, a sidecar waits for the main containers and for later sidecars. */
static bool waits_for_turn(const struct life *l, const struct life_con *c)
{
    if (!c->is_sidecar || !l->stop.is_on)
        return false;
    for (const struct life_con *later = c + 1; later < l->cons.v + l->cons.n; later++)
        if (life_con_is_active(later) && (later->is_sidecar || !later->is_init) && !later->is_ephemeral)
            return true;
    return false;
}

static bool stop_send(struct life_con *c, int signo, struct life_pass *k)
{
    life_action_of(k, LIFE_SIGNAL, c);
    k->ret->signo = signo;
    return true;
}

static bool kill_now(struct life_con *c, struct life_pass *k)
{
    c->stop.is_killed = true;
    return stop_send(c, SIGKILL, k);
}

/* Has the hook ended? It may take the whole grace period. '*ret_given': an action was set instead. */
static bool is_past_hook(struct life *l, struct life_con *c, struct life_pass *k, bool *ret_given)
{
    if (c->pre.state == LIFE_HOOK_NONE || c->pre.state == LIFE_HOOK_DONE)
        return true;
    if (life_is_due(k, c->stop.until_ms)) {
        c->pre.state = LIFE_HOOK_DONE;
        c->pre.id = 0;
        return true;
    }
    *ret_given = life_hook_step(l, c, &c->pre, c->stop.until_ms - k->now_ms, k);
    return c->pre.state == LIFE_HOOK_DONE;
}

bool life_stop_step(struct life *l, struct life_con *c, struct life_pass *k)
{
    struct life_end_of_con *s = &c->stop;
    bool was_given = false;

    /* A starting container cannot get SIGTERM. A start is quick, or it hangs: kill it at the end of the grace period. */
    if (c->state == LIFE_CON_STARTING)
        return l->stop.is_on && !s->is_killed && (l->stop.is_forced || life_is_due(k, l->stop.until_ms)) &&
               kill_now(c, k);
    if (c->state != LIFE_CON_RUNNING || !s->is_on || s->is_killed)
        return false;
    if (s->is_forced)
        return kill_now(c, k);
    if (!s->is_termed) {
        if (!is_past_hook(l, c, k, &was_given))
            return was_given;
        if (waits_for_turn(l, c) && !life_is_due(k, s->until_ms))
            return false;
        s->is_termed = true;
        s->termed_ms = k->now_ms;
        return stop_send(c, SIGTERM, k);
    }
    return life_is_due(k, MAX_OF(s->until_ms, life_add(s->termed_ms, LIFE_TERM_MS))) && kill_now(c, k);
}
