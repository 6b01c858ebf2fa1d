/* life_random.c - random pods, random fates: what must hold whatever happens
 *
 * A model of the owner carries out what life_step() asks for, some time later, well or badly; and things happen that
 * nobody asked for. LIFE_SEEDS=FROM-TO runs other seeds than the few of every day.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/rand.h"
#include "node/lifecycle/test/life_world.h"

#include <signal.h>
#include <sys/wait.h>

enum { CONS = 6, TASKS = 256, SLOW_MS = 400, QUICK_SEEDS = 300 };

enum task_kind { MADE, UNMADE, STARTED, ENDED, RESULT, DELETE, STOP, LOST, GATE, NOISE, TASK_KIND_MAX };

struct task { /* something that will happen */
    int64_t at_ms;
    enum task_kind kind;
    int con;
    int attempt; /* ENDED: of this one */
    uint64_t id;
    int64_t grace_ms;
};

struct con { /* what is so, whatever life thinks */
    struct str name;
    bool is_init, is_sidecar;
    bool is_starting, is_running, was_termed, was_killed, ignores_term;
    bool is_done; /* init, in this sandbox */
    int n_attempts;
    int64_t termed_ms;
};

struct world {
    uint64_t seed;
    struct rand r;
    struct arena arena, scratch;
    struct object *pod;
    struct life *life;
    int64_t now_ms;
    struct con cons[CONS];
    int n, n_init;
    enum { ALWAYS, ON_FAILURE, NEVER } policy;
    enum { NONE, MAKING, MADE_BOX, BROKEN, UNMAKING } box;
    bool is_deleted, is_stopping, was_forced, is_gone, has_ended, was_lost;
    int64_t ends_by_ms, deleted_ms;
    struct task tasks[TASKS];
    size_t n_tasks;
    struct arena old_arena; /* of 'old' */
    struct json *old;       /* the status before */
    bool is_new_pod;        /* told since */
    bool was_changed;       /* said before somebody looked in between */
};

#define DIE(w, ...)                                                                                                    \
    do {                                                                                                               \
        autobuf b_ = { 0 };                                                                                            \
        buf_fmt(&b_, __VA_ARGS__);                                                                                     \
        fail_msg("seed %llu at %lld ms: %s", (unsigned long long)(w)->seed, (long long)((w)->now_ms - LIFE_T0_MS),     \
                 b_.p);                                                                                                \
    } while (0)

static bool chance(struct world *w, uint64_t percent)
{
    return rand_chance(&w->r, percent, 100);
}

static int64_t below(struct world *w, int64_t n)
{
    return (int64_t)rand_below(&w->r, (uint64_t)n);
}

/* ---- a random pod ---- */

static void put_int(struct world *w, struct json *j, const char *key, int64_t max)
{
    if (chance(w, 60))
        json_set(j, key, json_int(&w->arena, below(w, max + 1)));
}

static struct json *random_handler(struct world *w)
{
    static const char *const kinds[] = { "exec", "httpGet", "tcpSocket" };
    struct json *j = json_object(&w->arena);

    json_set(j, kinds[below(w, 3)], json_object(&w->arena));
    return j;
}

static struct json *random_hook(struct world *w)
{
    struct json *j;

    if (!chance(w, 30))
        return random_handler(w);
    j = json_object(&w->arena);
    json_set(json_set(j, "sleep", json_object(&w->arena)), "seconds", json_int(&w->arena, below(w, 8)));
    return j;
}

static struct json *random_probe(struct world *w, bool may_have_grace)
{
    struct json *j = random_handler(w);

    put_int(w, j, "initialDelaySeconds", 5);
    put_int(w, j, "periodSeconds", 5);
    put_int(w, j, "successThreshold", may_have_grace ? 1 : 3);
    put_int(w, j, "failureThreshold", 3);
    if (may_have_grace)
        json_set(j, "terminationGracePeriodSeconds", json_int(&w->arena, 1 + below(w, 9)));
    return j;
}

static void random_container(struct world *w, struct json *list, bool is_init)
{
    static const char *const probes[] = { "readinessProbe", "livenessProbe", "startupProbe" };
    struct arena *a = &w->arena;
    struct con *c = &w->cons[w->n++];
    struct json *j = json_push(list, json_object(a)), *hooks;

    *c = (struct con){ .is_init = is_init, .is_sidecar = is_init && chance(w, 40), .ignores_term = chance(w, 25) };
    c->name = arena_fmt(a, "c%d", w->n);
    json_set(j, "name", json_str(a, c->name));
    if (c->is_sidecar)
        json_set(j, "restartPolicy", json_str(a, STR("Always")));
    if (is_init && !c->is_sidecar)
        return;
    for (size_t i = 0; i < ARRAY_LEN(probes); i++)
        if (chance(w, 25))
            json_set(j, probes[i], random_probe(w, i > 0));
    hooks = json_set(j, "lifecycle", json_object(a));
    if (chance(w, 20))
        json_set(hooks, "postStart", random_hook(w));
    if (chance(w, 25))
        json_set(hooks, "preStop", random_hook(w));
}

static struct json *random_spec(struct world *w)
{
    static const char *const policies[] = { "Always", "OnFailure", "Never" };
    struct arena *a = &w->arena;
    struct json *spec = json_object(a), *init = json_set(spec, "initContainers", json_array(a)),
                *list = json_set(spec, "containers", json_array(a)), *gates;

    w->policy = (int)below(w, 3);
    json_set(spec, "restartPolicy", json_str(a, str_of(policies[w->policy])));
    w->n_init = (int)below(w, 4);
    for (int i = 0; i < w->n_init; i++)
        random_container(w, init, true);
    for (int64_t i = 1 + below(w, 3); i > 0; i--)
        random_container(w, list, false);
    put_int(w, spec, "terminationGracePeriodSeconds", 20);
    w->was_forced = json_i64(json_get(spec, "terminationGracePeriodSeconds"), 1) == 0;
    if (chance(w, 15))
        json_set(spec, "activeDeadlineSeconds", json_int(a, 1 + below(w, 60)));
    if (chance(w, 20)) {
        gates = json_set(spec, "readinessGates", json_array(a));
        json_set(json_push(gates, json_object(a)), "conditionType", json_str(a, STR("gate")));
    }
    return spec;
}

/* ---- what will happen ---- */

static struct task *plan(struct world *w, enum task_kind kind, int64_t in_ms)
{
    struct task *t = &w->tasks[w->n_tasks++];

    if (w->n_tasks == TASKS)
        DIE(w, "too much going on");
    *t = (struct task){ .kind = kind, .at_ms = w->now_ms + in_ms };
    return t;
}

static void plan_end(struct world *w, int con, int64_t in_ms)
{
    struct task *t = plan(w, ENDED, in_ms);

    t->con = con;
    t->attempt = w->cons[con].n_attempts;
}

static int find_con(struct world *w, struct str name)
{
    for (int i = 0; i < w->n; i++)
        if (str_eq(w->cons[i].name, name))
            return i;
    DIE(w, "no such container: %.*s", STR_ARG(name));
    return -1;
}

static const struct json *find_named(const struct json *list, const char *key, struct str name)
{
    JSON_FOREACH(j, list)
        if (str_eq(json_member_text(j, key), name))
            return j;
    return NULL;
}

/* ---- actions ---- */

/* A sidecar is far enough once it has shown as started. */
static void look_at_sidecars(struct world *w)
{
    const struct json *status;

    w->was_changed |= life_is_changed(w->life);
    status = life_status(w->life, &w->scratch);
    for (int i = 0; i < w->n; i++) {
        struct con *c = &w->cons[i];

        if (c->is_sidecar &&
            json_bool(json_get(find_named(json_get(status, "initContainerStatuses"), "name", c->name), "started"),
                      false))
            c->is_done = true;
    }
}

static void check_start(struct world *w, int con, const struct life_action *act)
{
    const struct con *c = &w->cons[con];

    if (w->is_stopping || w->has_ended || w->box != MADE_BOX)
        DIE(w, "START of a pod that ends, or without a sandbox");
    if (c->is_starting || c->is_running)
        DIE(w, "two of %.*s", STR_ARG(c->name));
    if (act->attempt != c->n_attempts || act->is_init != c->is_init)
        DIE(w, "%.*s: attempt %d, not %d", STR_ARG(c->name), act->attempt, c->n_attempts);
    if (c->is_done && !c->is_sidecar)
        DIE(w, "init container again");
    for (int i = 0; i < w->n; i++) {
        if (w->cons[i].is_starting)
            DIE(w, "two start at a time");
        if (w->cons[i].is_init && i < con && !w->cons[i].is_done)
            DIE(w, "%.*s before %.*s was done", STR_ARG(c->name), STR_ARG(w->cons[i].name));
        if (!c->is_init && !w->cons[i].is_init && i == con && w->policy == NEVER && c->n_attempts)
            DIE(w, "restart of a main container that must not");
    }
}

static void do_start(struct world *w, int con)
{
    w->cons[con].is_starting = true;
    plan(w, STARTED, below(w, SLOW_MS))->con = con;
}

static void do_signal(struct world *w, int con, int signo)
{
    struct con *c = &w->cons[con];

    if (!c->is_running || c->was_killed || (signo == SIGTERM && c->was_termed))
        DIE(w, "signal %d to %.*s", signo, STR_ARG(c->name));
    if (signo == SIGKILL && !c->was_termed && !w->was_forced)
        DIE(w, "KILL without TERM");
    if (signo == SIGKILL && c->was_termed && !w->was_forced && w->now_ms < c->termed_ms + 2000)
        DIE(w, "KILL too soon");
    if (signo == SIGKILL) {
        c->was_killed = true;
        plan_end(w, con, below(w, 50));
    } else {
        c->was_termed = true;
        c->termed_ms = w->now_ms;
        if (!c->ignores_term)
            plan_end(w, con, below(w, 3000));
    }
}

/* It may come too late. */
static void do_kill_start(struct world *w, struct con *c, int signo)
{
    if (signo != SIGKILL || c->was_killed || !w->is_stopping)
        DIE(w, "signal %d to %.*s, which starts", signo, STR_ARG(c->name));
    c->was_killed = true;
}

static bool anything_runs(const struct world *w)
{
    for (int i = 0; i < w->n; i++)
        if (w->cons[i].is_running || w->cons[i].is_starting)
            return true;
    return false;
}

static void carry_out(struct world *w, const struct life_action *act)
{
    int con = act->name.n ? find_con(w, act->name) : -1;

    if (w->is_gone)
        DIE(w, "action %d after GONE", act->kind);
    if (con >= 0 && act->kind == LIFE_SIGNAL && w->cons[con].is_starting) {
        do_kill_start(w, &w->cons[con], act->signo);
        return;
    }
    if (con >= 0 && act->kind != LIFE_START && !w->cons[con].is_running)
        DIE(w, "action %d of %.*s, which does not run", act->kind, STR_ARG(act->name));
    if (w->has_ended && act->kind != LIFE_UNMAKE && act->kind != LIFE_GONE)
        DIE(w, "action %d of a pod that has ended", act->kind);
    switch (act->kind) {
    case LIFE_MAKE:
        if (w->box != NONE || w->is_stopping)
            DIE(w, "MAKE");
        w->box = MAKING;
        plan(w, MADE, below(w, SLOW_MS));
        break;
    case LIFE_START:
        look_at_sidecars(w);
        check_start(w, con, act);
        do_start(w, con);
        break;
    case LIFE_SIGNAL:
        do_signal(w, con, act->signo);
        break;
    case LIFE_PROBE:
    case LIFE_HOOK:
        if (act->timeout_ms <= 0 || !act->spec || json_get(act->spec, "sleep"))
            DIE(w, "a question without time or handler");
        plan(w, RESULT, below(w, chance(w, 90) ? SLOW_MS : 20000))->id = act->id;
        break;
    case LIFE_UNMAKE:
        if ((w->box != MADE_BOX && w->box != BROKEN) || anything_runs(w))
            DIE(w, "UNMAKE while something runs or there is no sandbox");
        w->box = UNMAKING;
        plan(w, UNMADE, below(w, SLOW_MS));
        break;
    case LIFE_GONE:
        if (w->box != NONE || !w->is_deleted || !life_has_ended(w->life) || anything_runs(w))
            DIE(w, "GONE too soon");
        w->is_gone = true;
        break;
    default:
        DIE(w, "action %d", act->kind);
    }
}

/* ---- news ---- */

static void happen_made(struct world *w, const struct task *t)
{
    bool is_final = chance(w, 3);

    (void)t;
    if (chance(w, 85)) {
        w->box = MADE_BOX;
        life_made(w->life, STR("10.0.0.1"), STR("10.0.0.2"), w->now_ms);
        return;
    }
    w->box = NONE;
    life_failed(w->life, is_final, STR("FailedMount"), STR("no"), w->now_ms);
    w->is_stopping |= is_final;
}

static void happen_unmade(struct world *w, const struct task *t)
{
    (void)t;
    w->box = NONE;
    life_unmade(w->life, w->now_ms);
}

static void con_ended(struct world *w, struct con *c, int exit_code)
{
    c->is_running = c->was_termed = c->was_killed = false;
    if (c->is_init && !c->is_sidecar && exit_code == 0)
        c->is_done = true;
    if (c->is_init && !c->is_sidecar && exit_code && w->policy == NEVER)
        w->is_stopping = true;
}

static void happen_started(struct world *w, const struct task *t)
{
    struct con *c = &w->cons[t->con];

    if (!c->is_starting)
        return; /* the sandbox was lost meanwhile */
    c->is_starting = c->was_killed = false;
    if (chance(w, 85)) {
        c->n_attempts++;
        c->is_running = true;
        if (chance(w, 60))
            plan_end(w, t->con, below(w, 40000));
        life_started(w->life, c->name, STR("id"), w->now_ms);
    } else if (chance(w, 50)) {
        c->n_attempts++;
        con_ended(w, c, 128);
        life_start_failed(w->life, c->name, &(struct life_failure){ 128, STR("StartError"), STR("no") }, w->now_ms);
    } else {
        life_start_failed(w->life, c->name, &(struct life_failure){ 128, STR("CreateContainerConfigError"), STR("no") },
                          w->now_ms);
    }
}

static void happen_ended(struct world *w, const struct task *t)
{
    struct con *c = &w->cons[t->con];
    struct life_end end = { .message = chance(w, 50) ? STR("words") : STR_NULL };
    int exit_code = chance(w, 60) ? 0 : (int)below(w, 256);

    if (!c->is_running || c->n_attempts != t->attempt)
        return;
    end.status = c->was_killed ? SIGKILL : W_EXITCODE(exit_code, 0);
    con_ended(w, c, end.status);
    life_ended(w->life, c->name, &end, w->now_ms);
}

static void happen_result(struct world *w, const struct task *t)
{
    life_result(w->life, t->id, chance(w, 65), STR("answer"), w->now_ms);
}

static void tell_pod(struct world *w, struct json *status, int64_t grace_s)
{
    struct object *next = life_pod_echo(&w->scratch, w->pod, status, grace_s, w->now_ms);

    life_update(w->life, next, w->now_ms);
    object_unref(w->pod);
    w->pod = next;
    w->is_new_pod = true;
}

static void promise_end(struct world *w, int64_t grace_ms)
{
    int64_t by_ms = w->now_ms + grace_ms + 2000 + 4 * SLOW_MS; /* start, kill, make, unmake may be under way */

    w->ends_by_ms = w->ends_by_ms ? MIN_OF(w->ends_by_ms, by_ms) : by_ms;
    w->is_stopping = true;
    w->was_forced |= grace_ms == 0;
}

static void happen_delete(struct world *w, const struct task *t)
{
    if (w->is_deleted &&
        t->grace_ms / 1000 >= json_i64(json_find(w->pod->root, "metadata", "deletionGracePeriodSeconds", NULL), 0))
        return; /* the store does not make it longer */
    if (!w->is_deleted)
        w->deleted_ms = w->now_ms;
    w->is_deleted = true;
    tell_pod(w, life_status(w->life, &w->scratch), t->grace_ms / 1000);
    promise_end(w, t->grace_ms);
}

static void happen_stop(struct world *w, const struct task *t)
{
    life_stop(w->life, t->grace_ms, chance(w, 50) ? STR("Evicted") : STR_NULL, STR("words"), w->now_ms);
    promise_end(w, t->grace_ms);
}

static void happen_lost(struct world *w, const struct task *t)
{
    (void)t;
    if (w->box != MADE_BOX)
        return;
    w->box = BROKEN;
    w->was_lost = true;
    for (int i = 0; i < w->n; i++) {
        struct con *c = &w->cons[i];

        c->is_starting = c->is_running = c->is_done = c->was_termed = c->was_killed = false;
    }
    life_lost(w->life, STR("killed"), w->now_ms);
}

static void happen_gate(struct world *w, const struct task *t)
{
    struct arena *a = &w->scratch;
    struct json *status = life_status(w->life, a), *list = json_get(status, "conditions"), *one = NULL;

    (void)t;
    JSON_FOREACH(c, list)
        if (str_is(json_member_text(c, "type"), "gate"))
            one = c;
    if (!one)
        one = json_push(list, json_object(a));
    json_set(one, "type", json_str(a, STR("gate")));
    json_set(one, "status", json_str(a, chance(w, 70) ? STR("True") : STR("False")));
    tell_pod(w, status, -1);
}

/* What was never asked for. */
static void happen_noise(struct world *w, const struct task *t)
{
    const struct con *c = &w->cons[below(w, w->n)];

    (void)t;
    life_result(w->life, (uint64_t)below(w, 1000) + 100000, false, STR("x"), w->now_ms);
    if (!c->is_starting) {
        life_started(w->life, c->name, STR("id"), w->now_ms);
        life_start_failed(w->life, c->name, &(struct life_failure){ 1, STR("StartError"), STR("x") }, w->now_ms);
    }
    if (!c->is_starting && !c->is_running)
        life_ended(w->life, c->name, &(struct life_end){ 0 }, w->now_ms);
    if (w->box != MAKING) {
        life_made(w->life, STR("1.1.1.1"), STR("1.1.1.1"), w->now_ms);
        life_failed(w->life, true, STR("X"), STR("x"), w->now_ms);
    }
    if (w->box != UNMAKING)
        life_unmade(w->life, w->now_ms);
}

static void (*const happen[TASK_KIND_MAX])(struct world *w, const struct task *t) = {
    [MADE] = happen_made,     [UNMADE] = happen_unmade, [STARTED] = happen_started, [ENDED] = happen_ended,
    [RESULT] = happen_result, [DELETE] = happen_delete, [STOP] = happen_stop,       [LOST] = happen_lost,
    [GATE] = happen_gate,     [NOISE] = happen_noise,
};

/* ---- what must hold ---- */

static void check_containers(struct world *w, const struct json *status)
{
    for (int i = 0; i < w->n; i++) {
        const struct con *c = &w->cons[i];
        const struct json *j = find_named(json_get(status, c->is_init ? "initContainerStatuses" : "containerStatuses"),
                                          "name", c->name);

        if (!j || json_count(json_get(j, "state")) != 1)
            DIE(w, "%.*s: no state", STR_ARG(c->name));
        if (json_i64(json_get(j, "restartCount"), -1) != MAX_OF(c->n_attempts - 1, 0))
            DIE(w, "%.*s: restartCount of %d attempts", STR_ARG(c->name), c->n_attempts);
        if (json_find(j, "state", "running", NULL) && !c->is_running)
            DIE(w, "%.*s shows as running", STR_ARG(c->name));
        if (json_find(j, "state", "terminated", NULL) && c->is_running && c->n_attempts == 1)
            DIE(w, "%.*s shows as ended", STR_ARG(c->name));
    }
}

static void check_conditions(struct world *w, const struct json *status)
{
    JSON_FOREACH(c, json_get(status, "conditions")) {
        const struct json *old = find_named(json_get(w->old, "conditions"), "type", json_member_text(c, "type"));
        bool is_same = str_eq(json_member_text(old, "status"), json_member_text(c, "status"));

        if (old && is_same &&
            !str_eq(json_member_text(old, "lastTransitionTime"), json_member_text(c, "lastTransitionTime")))
            DIE(w, "%.*s: a transition without a change", STR_ARG(json_member_text(c, "type")));
    }
}

static void check_ended(struct world *w, const struct json *status)
{
    struct str phase = json_member_text(status, "phase");
    bool ended = str_is(phase, "Succeeded") || str_is(phase, "Failed");

    if (ended != life_has_ended(w->life))
        DIE(w, "phase %.*s", STR_ARG(phase));
    if (w->has_ended && !str_eq(phase, json_member_text(w->old, "phase")))
        DIE(w, "phase %.*s after the end", STR_ARG(phase));
    if (ended && anything_runs(w))
        DIE(w, "ended while something runs");
    if (ended && life_is_ready(w->life))
        DIE(w, "ended and ready");
    w->has_ended = ended;
}

static void check_status(struct world *w)
{
    struct json *status;
    const char *problem;
    autobuf text = { 0 };

    look_at_sidecars(w);
    status = life_status(w->life, &w->scratch);
    problem = life_status_problem(&w->scratch, status);
    if (problem)
        DIE(w, "%s", problem);
    if (!w->was_changed && !w->is_new_pod && w->old && !json_equal(w->old, status))
        DIE(w, "another status, and nothing changed");
    check_containers(w, status);
    check_conditions(w, status);
    check_ended(w, status);
    json_print(&text, status);
    arena_reset(&w->old_arena);
    if (json_parse(&w->old_arena, arena_str(&w->old_arena, buf_view(&text)), NULL, &w->old, NULL) < 0)
        DIE(w, "a status that cannot be read");
    w->is_new_pod = w->was_changed = false;
    arena_reset(&w->scratch);
}

static void step(struct world *w)
{
    struct life_action act;
    struct life_event ev;
    int n = 0;
    int64_t due;

    while (life_step(w->life, w->now_ms, &act)) {
        carry_out(w, &act);
        if (++n > 100)
            DIE(w, "no end of actions");
    }
    due = life_due_ms(w->life);
    if (due <= w->now_ms)
        DIE(w, "due in the past with nothing to do");
    if (life_step(w->life, w->now_ms, &act) || life_due_ms(w->life) != due)
        DIE(w, "the same step again does something");
    check_status(w);
    if (life_step(w->life, w->now_ms, &act))
        DIE(w, "looking at the status changed it");
    while (chance(w, 90) && life_next_event(w->life, &ev))
        if (!ev.reason[0] || !ev.message.n)
            DIE(w, "an event without words");
}

/* ---- one life ---- */

static size_t first_task(const struct world *w)
{
    size_t first = 0;

    for (size_t i = 1; i < w->n_tasks; i++)
        if (w->tasks[i].at_ms < w->tasks[first].at_ms)
            first = i;
    return first;
}

static void advance(struct world *w)
{
    int64_t due = life_due_ms(w->life);
    size_t i = first_task(w);

    if (w->n_tasks && w->tasks[i].at_ms <= due) {
        struct task t = w->tasks[i];

        w->tasks[i] = w->tasks[--w->n_tasks];
        w->now_ms = MAX_OF(w->now_ms, t.at_ms);
        happen[t.kind](w, &t);
    } else if (due < INT64_MAX) {
        w->now_ms = due + (chance(w, 30) ? below(w, 50) : 0); /* a late wake-up */
    }
    step(w);
}

static void random_fate(struct world *w)
{
    if (chance(w, 30))
        plan(w, DELETE, below(w, 60000))->grace_ms = below(w, 30) * 1000;
    if (chance(w, 15))
        plan(w, DELETE, below(w, 60000))->grace_ms = below(w, 10) * 1000;
    if (chance(w, 10))
        plan(w, STOP, below(w, 60000))->grace_ms = below(w, 3) * 1000;
    if (chance(w, 15))
        plan(w, LOST, below(w, 30000));
    for (int i = 0; i < 3; i++) {
        plan(w, NOISE, below(w, 40000));
        plan(w, GATE, below(w, 40000));
    }
}

static void live(uint64_t seed)
{
    struct world w = { .seed = seed, .now_ms = LIFE_T0_MS };

    rand_seed(&w.r, seed);
    w.pod = life_pod(&w.arena, random_spec(&w));
    w.life = life_new(w.pod, w.now_ms);
    random_fate(&w);
    step(&w);
    for (int64_t n = 20 + below(&w, 150); n > 0 && (w.n_tasks || life_due_ms(w.life) < INT64_MAX) && !w.is_gone; n--)
        advance(&w);
    if (!w.is_deleted) {
        plan(&w, DELETE, 0)->grace_ms = below(&w, 20) * 1000;
        advance(&w);
    }
    while (!w.is_gone && (w.n_tasks || life_due_ms(w.life) < INT64_MAX))
        advance(&w);
    if (!w.is_gone)
        DIE(&w, "it never goes");
    if (w.now_ms > MAX_OF(w.ends_by_ms, w.deleted_ms + 4 * SLOW_MS))
        DIE(&w, "it went too late");
    life_free(w.life);
    object_unref(w.pod);
    arena_done(&w.arena);
    arena_done(&w.scratch);
    arena_done(&w.old_arena);
}

static void test_lives(void **state)
{
    const char *text = getenv("LIFE_SEEDS");
    struct str rest = str_of(text), part = STR_NULL;
    uint64_t from = 1, to = QUICK_SEEDS;

    (void)state;
    if (text && (!str_split(&rest, '-', &part) || str_to_u64(part, &from) < 0 || str_to_u64(rest, &to) < 0))
        fail_msg("LIFE_SEEDS=%s: FROM-TO is wanted", text);
    for (uint64_t seed = from; seed <= to; seed++)
        live(seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_lives) };

    cmocka_set_message_output(CM_OUTPUT_STDOUT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
