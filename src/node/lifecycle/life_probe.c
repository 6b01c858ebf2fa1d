/* life_probe.c - startup, liveness and readiness of a running container */
#include "node/lifecycle/life_internal.h"

static const struct {
    const char *title;    /* "Liveness probe failed: …" */
    const char *verb;     /* "Container main failed liveness probe" */
    bool kills;           /* kill the container when it fails */
    bool goes_on_in_stop; /* continue while the container is being stopped */
} kinds[LIFE_PROBE_KIND_MAX] = {
    [LIFE_STARTUP] = { "Startup", "startup", true, false },
    [LIFE_LIVENESS] = { "Liveness", "liveness", true, false },
    [LIFE_READINESS] = { "Readiness", "readiness", false, true },
};

/* A missing or zero number means the default of the API. */
static int64_t life_probe_number(const struct json *spec, const char *key, int64_t fallback)
{
    int64_t n = json_i64(json_get(spec, key), 0);

    return n > 0 ? MIN_OF(n, INT32_MAX) : fallback;
}

void life_probes_begin(struct life_con *c)
{
    for (size_t i = 0; i < LIFE_PROBE_KIND_MAX; i++) {
        struct life_probe *p = &c->probes[i];

        p->next_ms = life_add(c->started_ms, life_probe_number(p->spec, "initialDelaySeconds", 0) * 1000);
    }
}

bool life_con_is_started(const struct life_con *c)
{
    return life_con_is_up(c) && (!c->probes[LIFE_STARTUP].spec || c->probes[LIFE_STARTUP].is_ok);
}

bool life_con_is_ready(const struct life_con *c)
{
    return life_con_is_started(c) && (!c->probes[LIFE_READINESS].spec || c->probes[LIFE_READINESS].is_ok);
}

static bool is_probe_wanted(const struct life_con *c, enum life_probe_kind kind)
{
    const struct life_probe *p = &c->probes[kind];

    if (!p->spec || p->id || p->is_over || c->stop.is_killed || (c->stop.is_on && !kinds[kind].goes_on_in_stop))
        return false;
    return life_con_is_started(c) != (kind == LIFE_STARTUP);
}

static bool life_probe_ask(struct life *l, struct life_con *c, struct life_probe *p, struct life_pass *k)
{
    if (!life_is_due(k, p->next_ms))
        return false;
    p->id = ++l->last_id;
    p->next_ms = life_add(k->now_ms, life_probe_number(p->spec, "periodSeconds", 10) * 1000);
    life_action_of(k, LIFE_PROBE, c);
    k->ret->id = p->id;
    k->ret->spec = p->spec;
    k->ret->timeout_ms = life_probe_number(p->spec, "timeoutSeconds", 1) * 1000;
    return true;
}

bool life_probe_step(struct life *l, struct life_con *c, struct life_pass *k)
{
    if (!life_con_is_up(c))
        return false;
    for (enum life_probe_kind i = 0; i < LIFE_PROBE_KIND_MAX; i++)
        if (is_probe_wanted(c, i) && life_probe_ask(l, c, &c->probes[i], k))
            return true;
    return false;
}

static void kill_for(struct life *l, struct life_con *c, enum life_probe_kind kind, int64_t now_ms)
{
    autoarena a = { 0 };
    bool restarts = l->policy != LIFE_NEVER || c->is_sidecar;
    int64_t grace_ms = life_seconds(c->probes[kind].spec, "terminationGracePeriodSeconds", life_spec_grace(l) / 1000);

    if (c->stop.is_on)
        return;
    life_con_stop(l, c, grace_ms, now_ms,
                  arena_fmt(&a, "Container %.*s failed %s probe%s", STR_ARG(c->name), kinds[kind].verb,
                            restarts ? ", will be restarted" : ""));
    c->stop.restarts = true;
}

/* A threshold of equal results was reached. */
static void life_probe_decide(struct life *l, struct life_con *c, enum life_probe_kind kind, bool is_ok, int64_t now_ms)
{
    struct life_probe *p = &c->probes[kind];

    if (p->is_ok != is_ok && kind != LIFE_LIVENESS)
        l->is_changed = true;
    p->is_ok = is_ok;
    p->is_over = kind == LIFE_STARTUP || (kind == LIFE_LIVENESS && !is_ok);
    if (!is_ok && kinds[kind].kills)
        kill_for(l, c, kind, now_ms);
    life_check_init(c);
}

static void life_probe_take(struct life *l, struct life_con *c, enum life_probe_kind kind, const struct life_result *r,
                            int64_t now_ms)
{
    struct life_probe *p = &c->probes[kind];
    int64_t enough = r->is_ok ? life_probe_number(p->spec, "successThreshold", 1)
                              : life_probe_number(p->spec, "failureThreshold", 3);

    p->id = 0;
    if (r->is_ok && r->message.n && json_get(p->spec, "httpGet")) /* a redirect that was not followed */
        life_warn(l, c, STR("ProbeWarning"), "%s probe warning: %.*s", kinds[kind].title, STR_ARG(r->message));
    if (!r->is_ok)
        life_warn(l, c, STR("Unhealthy"), "%s probe failed: %.*s", kinds[kind].title, STR_ARG(r->message));
    p->n_same = p->n_same && p->was_ok == r->is_ok ? MIN_OF(p->n_same, INT32_MAX - 1) + 1 : 1;
    p->was_ok = r->is_ok;
    if (p->n_same >= enough)
        life_probe_decide(l, c, kind, r->is_ok, now_ms);
}

bool life_probe_result(struct life *l, struct life_con *c, const struct life_result *r, int64_t now_ms)
{
    for (enum life_probe_kind i = 0; i < LIFE_PROBE_KIND_MAX; i++) {
        if (c->probes[i].id != r->id)
            continue;
        life_probe_take(l, c, i, r, now_ms);
        return true;
    }
    return false;
}
