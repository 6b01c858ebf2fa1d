/* life.c - pods live through scripts on a virtual clock
 *
 * A script is lines of:
 *     [@MS] [what happened] > actions that follow, with "; " between them
 *     ? phase = Running           also: a path into the status
 *     ? c NAME = state; ready started xRESTARTS; lastState
 *     ? cond TYPE = STATUS REASON message @SECONDS
 *     ! Reason: message           the next event
 *     due MS | never              when the next step is due
 * Times count from the birth of the pod.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "node/lifecycle/test/life_world.h"
#include "yaml/yaml.h"

#include <signal.h>
#include <sys/wait.h>

struct world {
    struct arena arena;
    const char *name; /* of the case */
    struct str line;
    struct object *pod;
    struct life *life;
    int64_t now_ms;
    struct buf got;
    VEC(struct life_found) found; /* for "adopted" */
};

#define DIE(w, ...)                                                                                                    \
    do {                                                                                                               \
        autobuf b_ = { 0 };                                                                                            \
        buf_fmt(&b_, __VA_ARGS__);                                                                                     \
        fail_msg("%s: \"%.*s\": %s", (w)->name, STR_ARG((w)->line), b_.p);                                             \
    } while (0)

static int64_t number(struct world *w, struct str text)
{
    int64_t v;

    if (str_to_i64(text, &v) < 0)
        DIE(w, "no number: %.*s", STR_ARG(text));
    return v;
}

static struct str word(struct str *rest)
{
    struct str w = STR_NULL;

    *rest = str_trim(*rest);
    (void)str_split(rest, ' ', &w); /* no word is left: empty */
    return w;
}

/* ---- telling ---- */

static void update(struct world *w, struct object *next)
{
    life_update(w->life, next, w->now_ms);
    object_unref(w->pod);
    w->pod = next;
}

static void tell_delete(struct world *w, struct str rest)
{
    int64_t grace_s = number(w, word(&rest));

    update(w, life_pod_echo(&w->arena, w->pod, life_status(w->life, &w->arena), grace_s, w->now_ms));
}

static void tell_condition(struct world *w, struct str rest)
{
    struct arena *a = &w->arena;
    struct json *status = life_status(w->life, a), *one = json_push(json_get(status, "conditions"), json_object(a));

    json_set(one, "type", json_str(a, word(&rest)));
    json_set(one, "status", json_str(a, word(&rest)));
    update(w, life_pod_echo(a, w->pod, status, -1, w->now_ms));
}

static void tell_phase(struct world *w, struct str rest)
{
    struct json *status = life_status(w->life, &w->arena);

    json_set(status, "phase", json_str(&w->arena, word(&rest)));
    json_set(status, "reason", json_str(&w->arena, word(&rest)));
    update(w, life_pod_echo(&w->arena, w->pod, status, -1, w->now_ms));
}

static void tell_deadline(struct world *w, struct str rest)
{
    struct json *pod = json_copy(&w->arena, w->pod->root);

    json_set(json_get(pod, "spec"), "activeDeadlineSeconds", json_int(&w->arena, number(w, word(&rest))));
    update(w, object_make(w->pod->type, pod, w->pod->rev + 1));
}

static void tell_made(struct world *w, struct str rest)
{
    (void)rest;
    life_made(w->life, STR("10.0.0.7"), STR("192.168.1.2"), w->now_ms);
}

static void tell_unmade(struct world *w, struct str rest)
{
    (void)rest;
    life_unmade(w->life, w->now_ms);
}

static void tell_failed(struct world *w, struct str rest)
{
    struct str reason = word(&rest);

    life_failed(w->life, false, reason, str_trim(rest), w->now_ms);
}

static void tell_delayed(struct world *w, struct str rest)
{
    struct str reason = word(&rest);

    life_delayed(w->life, reason, str_trim(rest));
}

static void tell_refused(struct world *w, struct str rest)
{
    struct str reason = word(&rest);

    life_failed(w->life, true, reason, str_trim(rest), w->now_ms);
}

static void tell_lost(struct world *w, struct str rest)
{
    life_lost(w->life, rest, w->now_ms);
}

static void tell_started(struct world *w, struct str rest)
{
    struct str c = word(&rest);

    life_started(w->life, c, arena_fmt(&w->arena, "pumice://%.*s", STR_ARG(c)), w->now_ms);
}

static void tell_start_failed(struct world *w, struct str rest)
{
    struct str c = word(&rest), reason = word(&rest);

    life_start_failed(w->life, c, &(struct life_failure){ 128, reason, str_trim(rest) }, w->now_ms);
}

static void end(struct world *w, struct str *rest, bool is_signal, bool is_oom)
{
    struct str c = word(rest);
    int64_t n = number(w, word(rest));
    struct life_end e = { .status = is_signal ? (int)n : W_EXITCODE((int)n, 0),
                          .is_oom = is_oom,
                          .message = str_trim(*rest) };

    life_ended(w->life, c, &e, w->now_ms);
}

static void tell_exit(struct world *w, struct str rest)
{
    end(w, &rest, false, false);
}

static void tell_leave(struct world *w, struct str rest)
{
    struct life_end e = { .by_itself = true };

    life_ended(w->life, word(&rest), &e, w->now_ms);
}

static void tell_signal(struct world *w, struct str rest)
{
    end(w, &rest, true, false);
}

static void tell_oom(struct world *w, struct str rest)
{
    end(w, &rest, true, true);
}

static void tell_ok(struct world *w, struct str rest)
{
    uint64_t id = (uint64_t)number(w, word(&rest));

    life_result(w->life, id, true, str_trim(rest), w->now_ms);
}

static void tell_bad(struct world *w, struct str rest)
{
    life_result(w->life, (uint64_t)number(w, word(&rest)), false, STR("no answer"), w->now_ms);
}

static void tell_stop(struct world *w, struct str rest)
{
    int64_t grace_ms = number(w, word(&rest));
    struct str reason = word(&rest);

    life_stop(w->life, grace_ms, reason, str_trim(rest), w->now_ms);
}

/* The one who kept it is killed, and another begins with what he had written. */
static void tell_reborn(struct world *w, struct str rest)
{
    struct object *next = life_pod_echo(&w->arena, w->pod, life_status(w->life, &w->arena), -1, w->now_ms);

    (void)rest;
    life_free(w->life);
    w->life = life_new(next, w->now_ms);
    object_unref(w->pod);
    w->pod = next;
}

/* "kept a ended 0 1000 5000 3": attempt 0, from 1 s to 5 s, exit code 3. */
static void tell_kept(struct world *w, struct str rest)
{
    static const char *const states[] = { "starting", "running", "ended", "failed" };
    struct life_found *f = vec_push(&w->arena, &w->found);
    struct life_end *end = arena_new(&w->arena, struct life_end);
    struct str state;

    f->name = f->id = word(&rest);
    state = word(&rest);
    while ((size_t)f->state < ARRAY_LEN(states) && !str_is(state, states[f->state]))
        f->state++;
    f->attempt = (int)number(w, word(&rest));
    f->started_ms = LIFE_T0_MS + number(w, word(&rest));
    if (f->state < LIFE_FOUND_ENDED)
        return;
    f->ended_ms = LIFE_T0_MS + number(w, word(&rest));
    f->failure.exit_code = (int)number(w, word(&rest));
    f->failure.reason = STR("StartError");
    *end = (struct life_end){ .status = W_EXITCODE(f->failure.exit_code, 0), .by_itself = true };
    f->end = end;
}

/* The one who kept it is killed, and what it kept is not. */
static void tell_adopted(struct world *w, struct str rest)
{
    struct object *next = life_pod_echo(&w->arena, w->pod, life_status(w->life, &w->arena), -1, w->now_ms);

    (void)rest;
    life_free(w->life);
    w->life = life_adopt(next, &(struct life_sandbox){ STR("10.0.0.7"), STR("10.0.0.1"), w->found.v, w->found.n },
                         w->now_ms);
    object_unref(w->pod);
    w->pod = next;
    w->found.n = 0;
}

static void tell_debug(struct world *w, struct str rest)
{
    struct object *next = life_pod_echo(&w->arena, w->pod, life_status(w->life, &w->arena), -1, w->now_ms);
    struct json *pod = json_copy(&w->arena, next->root), *list, *one = json_object(&w->arena);

    json_set(one, "name", json_str(&w->arena, word(&rest)));
    json_set(one, "image", json_str(&w->arena, STR("tools")));
    list = json_set(json_get(pod, "spec"), "ephemeralContainers", json_array(&w->arena));
    json_push(list, one);
    object_unref(w->pod);
    w->pod = object_make(next->type, pod, next->rev);
    object_unref(next);
    life_update(w->life, w->pod, w->now_ms);
}

static void tell_retry(struct world *w, struct str rest)
{
    (void)rest;
    life_retry(w->life, w->now_ms);
}

static const struct {
    const char *word;
    void (*tell)(struct world *w, struct str rest);
} news[] = {
    { "made", tell_made },
    { "unmade", tell_unmade },
    { "failed", tell_failed },
    { "delayed", tell_delayed },
    { "refused", tell_refused },
    { "lost", tell_lost },
    { "started", tell_started },
    { "nostart", tell_start_failed },
    { "exit", tell_exit },
    { "signal", tell_signal },
    { "leave", tell_leave },
    { "oom", tell_oom },
    { "ok", tell_ok },
    { "bad", tell_bad },
    { "delete", tell_delete },
    { "stop", tell_stop },
    { "condition", tell_condition },
    { "phase", tell_phase },
    { "deadline", tell_deadline },
    { "reborn", tell_reborn },
    { "debug", tell_debug },
    { "kept", tell_kept },
    { "adopted", tell_adopted },
    { "retry", tell_retry },
};

static void tell(struct world *w, struct str what)
{
    struct str first;

    what = str_trim(what);
    if (str_starts(what, STR("@"))) {
        first = word(&what);
        w->now_ms = LIFE_T0_MS + number(w, str_from(first, 1));
    }
    first = word(&what);
    if (first.n == 0)
        return;
    for (size_t i = 0; i < ARRAY_LEN(news); i++)
        if (str_is(first, news[i].word)) {
            news[i].tell(w, what);
            return;
        }
    DIE(w, "unknown news");
}

/* ---- looking ---- */

static const char *probe_name(const struct life_action *act)
{
    static const char *const names[] = { "startup", "liveness", "readiness" };
    autoarena a = { 0 };

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (act->spec == json_get(act->container, arena_fmt(&a, "%sProbe", names[i]).p))
            return names[i];
    return act->spec == json_find(act->container, "lifecycle", "preStop", NULL) ? "pre" : "post";
}

static void print_action(struct buf *out, const struct life_action *act)
{
    static const char *const plain[LIFE_ACTION_KIND_MAX] = {
        [LIFE_MAKE] = "MAKE", [LIFE_UNMAKE] = "UNMAKE", [LIFE_GONE] = "GONE"
    };

    if (plain[act->kind])
        buf_fmt(out, "%s", plain[act->kind]);
    else if (act->kind == LIFE_START)
        buf_fmt(out, "START %.*s %d", STR_ARG(act->name), act->attempt);
    else if (act->kind == LIFE_SIGNAL)
        buf_fmt(out, "%s %.*s",
                act->signo == SIGTERM   ? "TERM"
                : act->signo == SIGKILL ? "KILL"
                                        : "?",
                STR_ARG(act->name));
    else
        buf_fmt(out, "%s %llu %.*s %s %llds", act->kind == LIFE_PROBE ? "PROBE" : "HOOK", (unsigned long long)act->id,
                STR_ARG(act->name), probe_name(act), (long long)act->timeout_ms / 1000);
}

static void step(struct world *w)
{
    struct life_action act;

    buf_reset(&w->got);
    while (life_step(w->life, w->now_ms, &act)) {
        buf_fmt(&w->got, "%s", w->got.n ? "; " : "");
        print_action(&w->got, &act);
    }
    if (life_due_ms(w->life) <= w->now_ms)
        DIE(w, "due in the past with nothing to do");
}

static int64_t seconds(const struct json *j, const char *key)
{
    int64_t ms = LIFE_T0_MS - 99000;

    (void)clock_parse(json_member_text(j, key), &ms, NULL); /* not there: -99 */
    return (ms - LIFE_T0_MS) / 1000;
}

static void print_state(struct buf *out, const struct json *state)
{
    const struct json *j;

    if ((j = json_get(state, "waiting")))
        buf_fmt(out, "waiting %.*s", STR_ARG(json_member_text(j, "reason")));
    if ((j = json_get(state, "running")))
        buf_fmt(out, "running %lld", (long long)seconds(j, "startedAt"));
    if ((j = json_get(state, "terminated"))) {
        buf_fmt(out, "%.*s %lld", STR_ARG(json_member_text(j, "reason")),
                (long long)json_i64(json_get(j, "exitCode"), -1));
        if (json_get(j, "signal"))
            buf_fmt(out, " sig %lld", (long long)json_i64(json_get(j, "signal"), -1));
        buf_fmt(out, " %lld-%lld", (long long)seconds(j, "startedAt"), (long long)seconds(j, "finishedAt"));
    }
    JSON_FOREACH(any, state)
        if (json_member_text(any, "message").n)
            buf_fmt(out, " (%.*s)", STR_ARG(json_member_text(any, "message")));
    if (json_count(state) == 0)
        buf_char(out, '-');
}

static void print_container(struct world *w, const struct json *status, struct str name)
{
    static const char *const lists[] = { "initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses" };

    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        JSON_FOREACH(c, json_get(status, lists[i])) {
            if (!str_eq(json_member_text(c, "name"), name))
                continue;
            print_state(&w->got, json_get(c, "state"));
            buf_fmt(&w->got, "; %s%sx%lld; ", json_bool(json_get(c, "ready"), false) ? "ready " : "",
                    json_bool(json_get(c, "started"), false) ? "started " : "",
                    (long long)json_i64(json_get(c, "restartCount"), -1));
            print_state(&w->got, json_get(c, "lastState"));
        }
}

static void print_condition(struct world *w, const struct json *status, struct str type)
{
    static const char *const texts[] = { "status", "reason", "message" };

    JSON_FOREACH(c, json_get(status, "conditions")) {
        if (!str_eq(json_member_text(c, "type"), type))
            continue;
        for (size_t i = 0; i < ARRAY_LEN(texts); i++)
            if (json_member_text(c, texts[i]).n)
                buf_fmt(&w->got, "%.*s ", STR_ARG(json_member_text(c, texts[i])));
        buf_fmt(&w->got, "@%lld", (long long)seconds(c, "lastTransitionTime"));
    }
}

static void look(struct world *w, struct str what)
{
    struct json *status = life_status(w->life, &w->arena), *at;
    struct str first = word(&what);

    buf_reset(&w->got);
    if (str_is(first, "c"))
        print_container(w, status, str_trim(what));
    else if (str_is(first, "cond"))
        print_condition(w, status, str_trim(what));
    else if ((at = json_path(status, first, NULL)) && at->type == JSON_STRING)
        buf_str(&w->got, json_text(at, STR_NULL));
    else if (at)
        json_print(&w->got, at);
    else
        buf_fmt(&w->got, "-");
}

static void hear(struct world *w)
{
    struct life_event ev;

    buf_reset(&w->got);
    if (life_next_event(w->life, &ev))
        buf_fmt(&w->got, "%s: %.*s", ev.reason, STR_ARG(ev.message));
    else
        buf_fmt(&w->got, "-");
}

static void see_due(struct world *w)
{
    int64_t due = life_due_ms(w->life);

    buf_reset(&w->got);
    if (due == INT64_MAX)
        buf_fmt(&w->got, "never");
    else
        buf_fmt(&w->got, "%lld", (long long)(due - LIFE_T0_MS));
}

static void expect(struct world *w, struct str want)
{
    want = str_trim(want);
    if (!str_eq(want, buf_view(&w->got)))
        DIE(w, "got \"%.*s\"", STR_ARG(buf_view(&w->got)));
}

static struct str after(struct str s, char c)
{
    ptrdiff_t i = str_find_char(s, c);

    return i < 0 ? STR_NULL : str_from(s, (size_t)i + 1);
}

static void run_line(struct world *w)
{
    struct str line = w->line;
    const char *problem;

    if (str_starts(line, STR("? "))) {
        look(w, str_sub(line, 2, (size_t)str_find_char(line, '=') - 2));
        expect(w, after(line, '='));
    } else if (str_starts(line, STR("! "))) {
        hear(w);
        expect(w, str_from(line, 2));
    } else if (str_starts(line, STR("due "))) {
        see_due(w);
        expect(w, str_from(line, 4));
    } else {
        tell(w, str_sub(line, 0, (size_t)MAX_OF(str_find_char(line, '>'), 0)));
        step(w);
        expect(w, after(line, '>'));
    }
    if ((problem = life_status_problem(&w->arena, life_status(w->life, &w->arena))))
        DIE(w, "%s", problem);
}

static struct json *yaml(struct arena *a, const char *text)
{
    struct yaml_docs docs = { 0 };
    struct err e = { 0 };

    if (yaml_parse(a, str_of(text), NULL, &docs, &e) < 0)
        fail_msg("%s: %s", text, e.text);
    return docs.v[0];
}

static void world_init(struct world *w, const char *name, const char *spec)
{
    *w = (struct world){ .name = name, .now_ms = LIFE_T0_MS };
    w->pod = life_pod(&w->arena, yaml(&w->arena, spec));
    w->life = life_new(w->pod, w->now_ms);
}

static void world_done(struct world *w)
{
    life_free(w->life);
    object_unref(w->pod);
    buf_done(&w->got);
    arena_done(&w->arena);
}

static void run_script(const char *name, const char *spec, const char *script)
{
    struct str rest = str_of(script);
    struct world w;

    world_init(&w, name, spec);
    while (str_split(&rest, '\n', &w.line))
        if ((w.line = str_trim(w.line)).n)
            run_line(&w);
    world_done(&w);
}

/* ---- the cases ---- */

#define ONE(policy) "{restartPolicy: " policy ", containers: [{name: a, image: i}]}"
#define UP          "> MAKE\n made > START a 0\n started a >\n" /* of a pod with one container */
#define UP_PROBED                                                                                                      \
    "> MAKE\n made > START a 0\n started a > PROBE 1 a startup 1s\n ok 1 > PROBE 2 a readiness 1s\n ok 2 >\n"

static const struct {
    const char *name, *spec, *script;
} cases[] = {
    { "a plain pod", ONE("Never"),
      "? phase = Pending\n"
      "? c a = waiting ContainerCreating; x0; -\n"
      "? cond Ready = False ContainersNotReady containers with unready status: [a] @0\n"
      "? cond ContainersReady = False ContainersNotReady containers with unready status: [a] @0\n"
      "? cond Initialized = True @0\n"
      "? cond PodScheduled = True @0\n"
      "? cond PodReadyToStartContainers = False @0\n"
      "> MAKE\n >\n due never\n"
      "@1000 made > START a 0\n"
      "? cond PodReadyToStartContainers = True @1\n"
      "? phase = Pending\n"
      "@2999 started a >\n"
      "! Started: Started container a\n ! -\n"
      "? phase = Running\n"
      "? c a = running 2; ready started x0; -\n"
      "? cond Ready = True @2\n"
      "? cond ContainersReady = True @2\n"
      "? containerStatuses[0].containerID = pumice://a\n"
      "? podIP = 10.0.0.7\n ? podIPs = [{\"ip\":\"10.0.0.7\"}]\n ? hostIPs[0].ip = 192.168.1.2\n"
      "? qosClass = BestEffort\n ? startTime = 2026-03-01T00:00:00Z\n"
      "@5000 exit a 0 > UNMAKE\n"
      "? phase = Succeeded\n"
      "? c a = Completed 0 2-5; x0; -\n"
      "? cond Ready = False PodCompleted @5\n"
      "? cond ContainersReady = False PodCompleted @5\n"
      "? cond Initialized = True PodCompleted @0\n"
      "? cond PodReadyToStartContainers = False @5\n"
      "@6000 unmade >\n ? podIP = 10.0.0.7\n due never\n"
      "@9000 delete 30 > GONE\n >\n ? phase = Succeeded\n" },
    { "a failed pod", ONE("Never"),
      UP "@1000 exit a 3 it broke > UNMAKE\n"
         "? phase = Failed\n ? c a = Error 3 0-1 (it broke); x0; -\n"
         "? cond Ready = False PodFailed @1\n ? cond Initialized = True @0\n" },
    { "two containers: the pod ends with the last", "{restartPolicy: Never, containers: [{name: a}, {name: b}]}",
      "> MAKE\n made > START a 0\n started a > START b 0\n ? phase = Pending\n"
      "? cond Ready = False ContainersNotReady containers with unready status: [b] @0\n"
      "started b >\n ? phase = Running\n"
      "@1000 exit a 1 >\n ? phase = Running\n"
      "? cond Ready = False ContainersNotReady containers with unready status: [a] @1\n"
      "@2000 exit b 0 > UNMAKE\n ? phase = Failed\n" },
    { "OnFailure", ONE("OnFailure"),
      UP "@1000 exit a 1 > START a 1\n ? c a = Error 1 0-1; x0; -\n ? phase = Running\n"
         "@1500 started a >\n ? c a = running 1; ready started x1; Error 1 0-1\n"
         "@2000 exit a 0 > UNMAKE\n ? phase = Succeeded\n ? c a = Completed 0 1-2; x1; Error 1 0-1\n" },
    { "Always, and the back-off", ONE("Always"),
      UP
      "! Started: Started container a\n"
      "@1000 exit a 0 > START a 1\n started a >\n ! Started: Started container a\n ! -\n"
      "@2000 exit a 1 >\n due 12000\n ? phase = Running\n"
      "? c a = waiting CrashLoopBackOff (back-off 10s restarting failed container=a pod=p_ns(u-1)); x1; Error 1 1-2\n"
      "! BackOff: Back-off restarting failed container a in pod p_ns(u-1)\n"
      "@11999 >\n @12000 > START a 2\n ? c a = waiting CrashLoopBackOff (back-off 10s restarting failed container=a "
      "pod=p_ns(u-1)); x1; Error 1 1-2\n"
      "started a >\n @13000 exit a 1 >\n due 33000\n"
      "@33000 > START a 3\n started a >\n @34000 exit a 1 >\n due 74000\n"
      "@74000 > START a 4\n started a >\n @75000 exit a 1 >\n due 155000\n"
      "? containerStatuses[0].state.waiting.message = back-off 1m20s restarting failed container=a pod=p_ns(u-1)\n"
      "@155000 > START a 5\n started a >\n exit a 1 >\n due 315000\n"
      "@315000 > START a 6\n started a >\n exit a 1 >\n due 615000\n"
      "? containerStatuses[0].state.waiting.message = back-off 5m0s restarting failed container=a pod=p_ns(u-1)\n"
      "@615000 > START a 7\n started a >\n @1215000 exit a 1 >\n due 1515000\n" /* 10 min exactly: not forgotten */
      "@1515000 > START a 8\n started a >\n @2115001 exit a 1 > START a 9\n"    /* and 1 ms more: at once again */
      "started a >\n exit a 1 >\n due 2125001\n" },
    { "init containers, one after the other",
      "{restartPolicy: Never, initContainers: [{name: i}, {name: j}], containers: [{name: a}]}",
      "? c i = waiting PodInitializing; x0; -\n ? c a = waiting PodInitializing; x0; -\n"
      "? cond Initialized = False ContainersNotInitialized containers with incomplete status: [i j] @0\n"
      "> MAKE\n made > START i 0\n started i >\n ? c i = running 0; started x0; -\n ? phase = Pending\n"
      "@1000 exit i 0 > START j 0\n ? c i = Completed 0 0-1; ready x0; -\n"
      "? cond Initialized = False ContainersNotInitialized containers with incomplete status: [j] @0\n"
      "started j >\n @2000 exit j 0 > START a 0\n ? cond Initialized = True @2\n ? phase = Pending\n"
      "@3000 started a >\n ? phase = Running\n @4000 exit a 0 > UNMAKE\n ? phase = Succeeded\n" },
    { "an init container fails: Never", "{restartPolicy: Never, initContainers: [{name: i}], containers: [{name: a}]}",
      "> MAKE\n made > START i 0\n started i >\n @1000 exit i 2 > UNMAKE\n ? phase = Failed\n"
      "? c i = Error 2 0-1; x0; -\n ? c a = waiting PodInitializing; x0; -\n"
      "? cond Initialized = False ContainersNotInitialized containers with incomplete status: [i] @0\n"
      "? cond Ready = False PodFailed @0\n" },
    { "an init container fails: Always", "{initContainers: [{name: i}], containers: [{name: a}]}",
      "> MAKE\n made > START i 0\n started i >\n @1000 exit i 2 > START i 1\n started i >\n @2000 exit i 2 >\n"
      "? phase = Pending\n due 12000\n @12000 > START i 2\n started i >\n exit i 0 > START a 0\n" },
    { "sidecars",
      "{restartPolicy: Never, initContainers: [{name: s, restartPolicy: Always}, {name: i}, {name: t, restartPolicy: "
      "Always,"
      " startupProbe: {tcpSocket: {port: 1}, periodSeconds: 1}}], containers: [{name: a}]}",
      "> MAKE\n made > START s 0\n started s > START i 0\n ? c s = running 0; ready started x0; -\n"
      "? cond Initialized = False ContainersNotInitialized containers with incomplete status: [i t] @0\n"
      "exit s 1 >\n" /* it waits for i to have started */
      "started i > START s 1\n started s >\n"
      "exit i 0 > START t 0\n started t > PROBE 1 t startup 1s\n ? phase = Pending\n"
      "@500 bad 1 >\n due 1000\n @1000 > PROBE 2 t startup 1s\n @1100 ok 2 > START a 0\n ? cond Initialized = True @1\n"
      "@1200 started a >\n ? phase = Running\n ? cond Ready = True @1\n"
      "@2000 exit t 0 > START t 1\n ? phase = Running\n ? cond Initialized = True @1\n"
      "started t > PROBE 3 t startup 1s\n ? phase = Running\n ok 3 >\n"
      "@3000 exit a 0 > TERM t\n ? phase = Running\n"
      "@3100 signal t 15 > TERM s\n due 33000\n @3200 exit s 1 > UNMAKE\n ? phase = Succeeded\n"
      "? c t = Error 143 sig 15 2-3; x1; Completed 0 0-2\n" },
    { "deletion: TERM, KILL, GONE", ONE("Always"),
      UP "@1000 delete 5 > TERM a\n due 6000\n ? phase = Running\n ! Started: Started container a\n"
         "! Killing: Stopping container a\n ! -\n"
         "@5999 >\n @6000 > KILL a\n due never\n @6001 signal a 9 > UNMAKE\n ? phase = Failed\n"
         "? c a = Error 137 sig 9 0-6; x0; -\n @7000 unmade > GONE\n >\n delete 0 >\n" },
    { "deletion: it ends between TERM and KILL", ONE("Always"),
      UP "@1000 delete 5 > TERM a\n @2000 exit a 0 > UNMAKE\n ? phase = Succeeded\n due never\n @7000 >\n unmade > "
         "GONE\n" },
    { "deletion: grace 0", ONE("Always"), UP "@1000 delete 0 > KILL a\n >\n signal a 9 > UNMAKE\n unmade > GONE\n" },
    { "deletion: grace 1 still leaves 2 s", ONE("Always"), UP "@1000 delete 1 > TERM a\n due 3000\n @3000 > KILL a\n" },
    { "deletion: a second, shorter one", ONE("Always"),
      UP "@1000 delete 60 > TERM a\n due 61000\n @10000 delete 5 >\n due 15000\n @11000 delete 50 >\n due 15000\n"
         "@12000 delete 0 > KILL a\n" },
    { "deletion: before MAKE", ONE("Always"),
      "delete 30 > GONE\n ? phase = Failed\n >\n due never\n ? c a = ContainerStatusUnknown 137 -99--99 (The container "
      "could not be "
      "located when the pod was terminated); x0; -\n" },
    { "deletion: during MAKE", ONE("Always"),
      "> MAKE\n delete 30 >\n ? phase = Failed\n made > UNMAKE\n unmade > GONE\n" },
    { "a MAKE that takes long says why, once", ONE("Always"),
      "> MAKE\n delayed NetworkNotReady no nft >\n ? c a = waiting NetworkNotReady (no nft); x0; -\n ! "
      "NetworkNotReady: no nft\n"
      " delayed NetworkNotReady no nft >\n !\n made > START a 0\n ? c a = waiting ContainerCreating; x0; -\n"
      " delayed NetworkNotReady no nft >\n ? c a = waiting ContainerCreating; x0; -\n" },
    { "deletion: during a MAKE that fails", ONE("Always"), "> MAKE\n delete 30 >\n failed FailedMount no > GONE\n" },
    { "deletion: during the wait for another MAKE", ONE("Always"),
      "> MAKE\n failed FailedMount no >\n delete 30 > GONE\n" },
    { "deletion: during START", ONE("Always"),
      "> MAKE\n made > START a 0\n delete 5 >\n ? phase = Pending\n @1000 started a > TERM a\n due 5000\n exit a 0 > "
      "UNMAKE\n" },
    { "deletion: during a START that fails", ONE("Always"),
      "> MAKE\n made > START a 0\n delete 5 >\n nostart a CreateContainerConfigError no > UNMAKE\n unmade > GONE\n ? "
      "phase = Failed\n" },
    { "deletion: START comes after the grace", ONE("Always"),
      "> MAKE\n made > START a 0\n delete 5 >\n @9000 started a > TERM a\n due 11000\n" },
    { "deletion: during init", "{initContainers: [{name: i}], containers: [{name: a}]}",
      "> MAKE\n made > START i 0\n started i >\n @1000 delete 5 > TERM i\n signal i 15 > UNMAKE\n ? phase = Failed\n"
      "? c i = Error 143 sig 15 0-1; x0; -\n ? c a = waiting PodInitializing; x0; -\n unmade > GONE\n" },
    { "deletion: an init container that ends well starts nothing",
      "{initContainers: [{name: i}], containers: [{name: a}]}",
      "> MAKE\n made > START i 0\n started i >\n delete 5 > TERM i\n exit i 0 > UNMAKE\n ? phase = Failed\n" },
    { "deletion: nothing more is started", "{containers: [{name: a}, {name: b}]}",
      "> MAKE\n made > START a 0\n delete 5 >\n started a > TERM a\n exit a 0 > UNMAKE\n ? phase = Failed\n" },
    { "deletion: no word of a restart", ONE("Always"),
      UP "exit a 1 > START a 1\n started a >\n ! Started: Started container a\n ! Started: Started container a\n"
         "delete 5 > TERM a\n exit a 1 > UNMAKE\n ! Killing: Stopping container a\n ! -\n" },
    { "deletion: in back-off", ONE("Always"),
      UP "exit a 1 > START a 1\n started a >\n exit a 4 >\n delete 30 > UNMAKE\n ? phase = Failed\n ? c a = Error 4 "
         "0-0; x1; Error 1 0-0\n" },
    { "deletion: no grace in the object", "{terminationGracePeriodSeconds: 7, containers: [{name: a}]}",
      UP "stop -1 > TERM a\n due 7000\n" },
    { "deletion: sidecars in reverse, main ones first",
      "{initContainers: [{name: s, restartPolicy: Always}, {name: t, restartPolicy: Always}], containers: [{name: a}, "
      "{name: b}]}",
      "> MAKE\n made > START s 0\n started s > START t 0\n started t > START a 0\n started a > START b 0\n started b "
      ">\n"
      "@1000 delete 10 > TERM a; TERM b\n due 11000\n exit a 0 >\n exit b 0 > TERM t\n exit t 0 > TERM s\n exit s 0 > "
      "UNMAKE\n" },
    { "deletion: sidecars when the grace is over",
      "{initContainers: [{name: s, restartPolicy: Always}], containers: [{name: a}]}",
      "> MAKE\n made > START s 0\n started s > START a 0\n started a >\n"
      "@1000 delete 10 > TERM a\n @11000 > TERM s; KILL a\n due 13000\n signal a 9 >\n @13000 > KILL s\n" },
    { "preStop: part of the grace", "{containers: [{name: a, lifecycle: {preStop: {exec: {command: [x]}}}}]}",
      UP "@1000 delete 10 > HOOK 1 a pre 10s\n due 11000\n @4000 ok 1 > TERM a\n due 11000\n @11000 > KILL a\n" },
    { "preStop: takes all of the grace", "{containers: [{name: a, lifecycle: {preStop: {exec: {command: [x]}}}}]}",
      UP "@1000 delete 10 > HOOK 1 a pre 10s\n @11000 > TERM a\n due 13000\n ok 1 >\n @13000 > KILL a\n" },
    { "preStop: fails", "{containers: [{name: a, lifecycle: {preStop: {httpGet: {port: 1}}}}]}",
      UP "@1000 delete 10 > HOOK 1 a pre 10s\n bad 1 > TERM a\n ! Started: Started container a\n ! Killing: Stopping "
         "container a\n"
         "! FailedPreStopHook: PreStopHook failed\n" },
    { "preStop: sleeps", "{containers: [{name: a, lifecycle: {preStop: {sleep: {seconds: 3}}}}]}",
      UP "@1000 delete 10 >\n due 4000\n @4000 > TERM a\n due 11000\n" },
    { "a start that hangs is killed when the grace is over", ONE("Never"),
      "> MAKE\n made > START a 0\n @1000 delete 10 >\n due 11000\n @11000 > KILL a\n due never\n nostart a StartError "
      "killed > UNMAKE\n" },
    { "a start that hangs is killed at once without grace", ONE("Never"),
      "> MAKE\n made > START a 0\n delete 0 > KILL a\n started a > KILL a\n" },
    { "preStop: none without grace", "{containers: [{name: a, lifecycle: {preStop: {sleep: {seconds: 3}}}}]}",
      UP "delete 0 > KILL a\n" },
    { "preStop: cut short by a second deletion", "{containers: [{name: a, lifecycle: {preStop: {exec: {}}}}]}",
      UP
      "delete 60 > HOOK 1 a pre 60s\n @1000 delete 2 >\n due 3000\n @3000 > TERM a\n due 5000\n delete 0 > KILL a\n" },
    { "preStop: the container ends meanwhile", "{containers: [{name: a, lifecycle: {preStop: {exec: {}}}}]}",
      UP "delete 60 > HOOK 1 a pre 60s\n exit a 0 > UNMAKE\n ok 1 >\n" },
    { "preStop: a sidecar's runs at once, SIGTERM waits",
      "{initContainers: [{name: s, restartPolicy: Always, lifecycle: {preStop: {exec: {}}}}], containers: [{name: a}]}",
      "> MAKE\n made > START s 0\n started s > START a 0\n started a >\n"
      "delete 10 > HOOK 1 s pre 10s; TERM a\n ok 1 >\n exit a 0 > TERM s\n" },
    { "postStart: holds back the rest",
      "{containers: [{name: a, lifecycle: {postStart: {exec: {}}}, readinessProbe: {tcpSocket: {port: 1}}}, {name: "
      "b}]}",
      "> MAKE\n made > START a 0\n started a > HOOK 1 a post 86400s\n ? c a = waiting ContainerCreating; x0; -\n ? "
      "phase = Pending\n"
      "@3000 ok 1 > START b 0; PROBE 2 a readiness 1s\n ? c a = running 0; started x0; -\n" },
    { "postStart: fails",
      "{containers: [{name: a, lifecycle: {postStart: {httpGet: {port: 1}}, preStop: {exec: {}}}}]}",
      "> MAKE\n made > START a 0\n started a > HOOK 1 a post 86400s\n @1000 bad 1 > HOOK 2 a pre 30s\n ok 2 > TERM a\n "
      "due 31000\n"
      "! Started: Started container a\n ! FailedPostStartHook: PostStartHook failed\n ! Killing: FailedPostStartHook\n"
      "@2000 signal a 15 > START a 1\n" },
    { "postStart: fails, Never", "{restartPolicy: Never, containers: [{name: a, lifecycle: {postStart: {exec: {}}}}]}",
      "> MAKE\n made > START a 0\n started a > HOOK 1 a post 86400s\n bad 1 > TERM a\n signal a 15 > UNMAKE\n ? phase "
      "= Failed\n" },
    { "postStart: sleeps", "{containers: [{name: a, lifecycle: {postStart: {sleep: {seconds: 2}}}}, {name: b}]}",
      "> MAKE\n made > START a 0\n started a >\n due 2000\n @2000 > START b 0\n ? c a = running 0; ready started x0; "
      "-\n" },
    { "postStart: the container ends meanwhile",
      "{restartPolicy: Never, containers: [{name: a, lifecycle: {postStart: {exec: {}}}}, {name: b}]}",
      "> MAKE\n made > START a 0\n started a > HOOK 1 a post 86400s\n exit a 1 > START b 0\n ok 1 >\n started b >\n "
      "exit b 0 > UNMAKE\n ? phase = Failed\n" },
    { "postStart: deletion meanwhile", "{containers: [{name: a, lifecycle: {postStart: {exec: {}}}}]}",
      "> MAKE\n made > START a 0\n started a > HOOK 1 a post 86400s\n delete 5 > TERM a\n bad 1 >\n exit a 0 > "
      "UNMAKE\n" },
    { "readiness",
      "{containers: [{name: a, readinessProbe: {httpGet: {port: 1}, initialDelaySeconds: 5, periodSeconds: 4, "
      "timeoutSeconds: 3,"
      " successThreshold: 2, failureThreshold: 2}}]}",
      UP "due 5000\n ? c a = running 0; started x0; -\n ? phase = Running\n @5000 > PROBE 1 a readiness 3s\n due "
         "never\n @5100 ok 1 >\n due 9000\n"
         "? cond Ready = False ContainersNotReady containers with unready status: [a] @0\n"
         "@9000 > PROBE 2 a readiness 3s\n ok 2 >\n ? c a = running 0; ready started x0; -\n ? cond Ready = True @9\n"
         "@13000 > PROBE 3 a readiness 3s\n bad 3 >\n ? cond Ready = True @9\n"
         "@17000 > PROBE 4 a readiness 3s\n bad 4 >\n ? cond Ready = False ContainersNotReady containers with unready "
         "status: [a] @17\n"
         "! Started: Started container a\n ! Unhealthy: Readiness probe failed: no answer\n"
         "@21000 > PROBE 5 a readiness 3s\n @26000 ok 5 > PROBE 6 a readiness 3s\n" /* late: the next one at once */
         "delete 30 > TERM a\n ok 6 >\n ? cond Ready = True @26\n @30000 > PROBE 7 a readiness 3s\n" },
    { "a warning of a probe",
      "{containers: [{name: a, livenessProbe: {httpGet: {port: 1}, failureThreshold: 1}, startupProbe: {exec: {}}}]}",
      "> MAKE\n made > START a 0\n started a > PROBE 1 a startup 1s\n ok 1 output > PROBE 2 a liveness 1s\n"
      "ok 2 gone elsewhere >\n ? c a = running 0; ready started x0; -\n"
      "! Started: Started container a\n ! ProbeWarning: Liveness probe warning: gone elsewhere\n" },
    { "defaults of a probe", "{containers: [{name: a, readinessProbe: {exec: {}}}]}",
      "> MAKE\n made > START a 0\n started a > PROBE 1 a readiness 1s\n ok 1 >\n due 10000\n @10000 > PROBE 2 a "
      "readiness 1s\n bad 2 >\n @20000 > PROBE 3 a readiness 1s\n bad 3 >\n ? cond Ready = True @0\n"
      "@30000 > PROBE 4 a readiness 1s\n bad 4 >\n ? cond Ready = False ContainersNotReady containers with unready "
      "status: [a] @30\n" },
    { "liveness",
      "{terminationGracePeriodSeconds: 20, containers: [{name: a, livenessProbe: {tcpSocket: {port: 1}, periodSeconds: "
      "1, failureThreshold: 2,"
      " terminationGracePeriodSeconds: 4}}]}",
      "> MAKE\n made > START a 0\n started a > PROBE 1 a liveness 1s\n bad 1 >\n @1000 > PROBE 2 a liveness 1s\n ok 2 "
      ">\n"
      "@2000 > PROBE 3 a liveness 1s\n bad 3 >\n @3000 > PROBE 4 a liveness 1s\n bad 4 > TERM a\n due 7000\n ? phase = "
      "Running\n"
      "! Started: Started container a\n ! Unhealthy: Liveness probe failed: no answer\n ! Unhealthy: Liveness probe "
      "failed: no answer\n"
      "! Unhealthy: Liveness probe failed: no answer\n ! Killing: Container a failed liveness probe, will be "
      "restarted\n"
      "@7000 > KILL a\n signal a 9 > START a 1\n bad 4 >\n started a > PROBE 5 a liveness 1s\n bad 4 >\n due never\n" },
    { "liveness: Never",
      "{restartPolicy: Never, containers: [{name: a, livenessProbe: {exec: {}, failureThreshold: 1}}]}",
      "> MAKE\n made > START a 0\n started a > PROBE 1 a liveness 1s\n bad 1 > TERM a\n ! Started: Started container "
      "a\n"
      "! Unhealthy: Liveness probe failed: no answer\n ! Killing: Container a failed liveness probe\n"
      "signal a 15 > UNMAKE\n ? phase = Failed\n" },
    { "liveness: OnFailure restarts even after exit 0",
      "{restartPolicy: OnFailure, containers: [{name: a, livenessProbe: {exec: {}, failureThreshold: 1}}]}",
      "> MAKE\n made > START a 0\n started a > PROBE 1 a liveness 1s\n bad 1 > TERM a\n exit a 0 > START a 1\n ? phase "
      "= Running\n" },
    { "liveness: one that left before the signal came has not failed",
      "{restartPolicy: OnFailure, containers: [{name: a, livenessProbe: {exec: {}, failureThreshold: 1}}]}",
      "> MAKE\n made > START a 0\n started a > PROBE 1 a liveness 1s\n bad 1 > TERM a\n leave a > UNMAKE\n ? phase "
      "= Succeeded\n" },
    { "liveness: a preStop hook may have ended it",
      "{restartPolicy: OnFailure, containers: [{name: a, livenessProbe: {exec: {}, failureThreshold: 1}, lifecycle: "
      "{preStop: {exec: {}}}}]}",
      "> MAKE\n made > START a 0\n started a > PROBE 1 a liveness 1s\n bad 1 > HOOK 2 a pre 30s\n leave a > START a "
      "1\n" },
    { "liveness stops with the deletion", "{containers: [{name: a, livenessProbe: {exec: {}, failureThreshold: 1}}]}",
      "> MAKE\n made > START a 0\n started a > PROBE 1 a liveness 1s\n delete 60 > TERM a\n bad 1 >\n due 60000\n exit "
      "a 0 > UNMAKE\n" },
    { "liveness is not asked after the deletion",
      "{containers: [{name: a, livenessProbe: {exec: {}, periodSeconds: 1}}]}",
      "> MAKE\n made > START a 0\n started a > PROBE 1 a liveness 1s\n ok 1 >\n due 1000\n delete 60 > TERM a\n due "
      "60000\n @1000 >\n" },
    { "startup holds back the others",
      "{containers: [{name: a, startupProbe: {exec: {}, periodSeconds: 2, failureThreshold: 3}, livenessProbe: {exec: "
      "{}},"
      " readinessProbe: {exec: {}}}]}",
      "> MAKE\n made > START a 0\n started a > PROBE 1 a startup 1s\n ? c a = running 0; x0; -\n bad 1 >\n due 2000\n"
      "@2000 > PROBE 2 a startup 1s\n @2500 ok 2 > PROBE 3 a liveness 1s; PROBE 4 a readiness 1s\n ? c a = running 0; "
      "started x0; -\n"
      "@2600 ok 3 >\n ok 4 >\n due 12500\n ? c a = running 0; ready started x0; -\n" },
    { "startup fails", "{containers: [{name: a, startupProbe: {exec: {}, periodSeconds: 2, failureThreshold: 2}}]}",
      "> MAKE\n made > START a 0\n started a > PROBE 1 a startup 1s\n bad 1 >\n @2000 > PROBE 2 a startup 1s\n bad 2 > "
      "TERM a\n"
      "! Started: Started container a\n ! Unhealthy: Startup probe failed: no answer\n ! Unhealthy: Startup probe "
      "failed: no answer\n"
      "! Killing: Container a failed startup probe, will be restarted\n" },
    { "a program that is not there: Never", ONE("Never"),
      "> MAKE\n made > START a 0\n @1000 nostart a StartError exec: \"x\": not found > UNMAKE\n ? phase = Failed\n"
      "? c a = StartError 128 1-1 (exec: \"x\": not found); x0; -\n ! Failed: Error: exec: \"x\": not found\n" },
    { "a program that is not there: Always", ONE("Always"),
      "> MAKE\n made > START a 0\n nostart a StartError no > START a 1\n nostart a StartError no >\n due 10000\n"
      "? c a = waiting CrashLoopBackOff (back-off 10s restarting failed container=a pod=p_ns(u-1)); x1; StartError 128 "
      "0-0 (no)\n" },
    { "a ConfigMap that is not there", ONE("Never"),
      "> MAKE\n made > START a 0\n nostart a CreateContainerConfigError configmap \"c\" not found >\n due 1000\n ? "
      "phase = Pending\n"
      "? c a = waiting CreateContainerConfigError (configmap \"c\" not found); x0; -\n"
      "@1000 > START a 0\n nostart a CreateContainerConfigError no >\n due 3000\n @3000 > START a 0\n @3500 started a "
      ">\n"
      "? c a = running 3; ready started x0; -\n exit a 0 > UNMAKE\n" },
    { "retries of a start have their limit", ONE("Always"),
      "> MAKE\n made > START a 0\n nostart a X no >\n @1000 > START a 0\n nostart a X no >\n @3000 > START a 0\n "
      "nostart a X no >\n"
      "@7000 > START a 0\n nostart a X no >\n @15000 > START a 0\n nostart a X no >\n @31000 > START a 0\n nostart a X "
      "no >\n"
      "@63000 > START a 0\n nostart a X no >\n due 123000\n @123000 > START a 0\n nostart a X no >\n due 183000\n" },
    { "a start that is tried again is no restart", ONE("Always"),
      UP "exit a 1 > START a 1\n nostart a X no >\n ? c a = waiting X (no); x0; Error 1 0-0\n due 1000\n @1000 > START "
         "a 1\n started a >\n"
         "@2000 exit a 1 >\n due 12000\n" },
    { "the others start when one cannot", "{containers: [{name: a}, {name: b}]}",
      "> MAKE\n made > START a 0\n nostart a CreateContainerError no > START b 0\n started b >\n ? phase = Pending\n "
      "due 1000\n" },
    { "MAKE fails", ONE("Never"),
      "> MAKE\n failed FailedMount no disk >\n due 1000\n ? c a = waiting FailedMount (no disk); x0; -\n ! "
      "FailedMount: no disk\n ? phase = Pending\n"
      "@1000 > MAKE\n failed FailedMount no disk >\n due 3000\n @3000 > MAKE\n made > START a 0\n ? c a = waiting "
      "ContainerCreating; x0; -\n" },
    { "MAKE fails for good", ONE("Always"),
      "> MAKE\n refused FailedCreatePodSandBox sysctl not allowed >\n due never\n ? phase = Failed\n ? reason = "
      "FailedCreatePodSandBox\n"
      "? message = sysctl not allowed\n ? c a = waiting FailedCreatePodSandBox (sysctl not allowed); x0; -\n ? cond "
      "Ready = False PodFailed @0\n"
      "delete 30 > GONE\n" },
    { "the sandbox dies: Never", ONE("Never"),
      UP "@1000 lost the shim was killed > UNMAKE\n ? phase = Failed\n ? c a = Error 137 sig 9 0-1 (the shim was "
         "killed); x0; -\n unmade >\n" },
    { "the sandbox dies before all were started: Never", "{restartPolicy: Never, containers: [{name: a}, {name: b}]}",
      "> MAKE\n made > START a 0\n started a > START b 0\n lost x > UNMAKE\n ? phase = Failed\n ? c b = "
      "ContainerStatusUnknown 137 -99--99 (The container "
      "could not be located when the pod was terminated); x0; -\n" },
    { "the sandbox dies before anything was started: Never", ONE("Never"),
      "> MAKE\n made > START a 0\n lost x > UNMAKE\n ? phase = Pending\n unmade >\n due 1000\n @1000 > MAKE\n made > "
      "START a 0\n" },
    { "the sandbox dies: Always", "{initContainers: [{name: i}], containers: [{name: a}]}",
      "> MAKE\n made > START i 0\n started i >\n exit i 0 > START a 0\n started a >\n ? cond PodReadyToStartContainers "
      "= True @0\n"
      "@1000 lost x > UNMAKE\n ? cond PodReadyToStartContainers = False @1\n ? phase = Running\n unmade >\n due 2000\n "
      "@2000 > MAKE\n made > START i 1\n started i >\n"
      "exit i 0 > START a 1\n started a >\n ? phase = Running\n ? c a = running 2; ready started x1; Error 137 sig 9 "
      "0-1 (x)\n" },
    { "a sandbox that was made forgets the failures before", ONE("Always"),
      "> MAKE\n failed X no >\n @1000 > MAKE\n failed X no >\n @3000 > MAKE\n made > START a 0\n lost x > UNMAKE\n "
      "unmade >\n @4000 > MAKE\n"
      "failed X no >\n due 5000\n" },
    { "the sandbox dies: OnFailure, one is done", "{restartPolicy: OnFailure, containers: [{name: a}, {name: b}]}",
      "> MAKE\n made > START a 0\n started a > START b 0\n started b >\n exit a 0 >\n lost x > UNMAKE\n unmade >\n "
      "@1000 > MAKE\n made > START b 1\n started b >\n"
      "exit b 0 > UNMAKE\n ? phase = Succeeded\n" },
    { "the sandbox dies: deletion", ONE("Always"), UP "delete 30 > TERM a\n lost x > UNMAKE\n unmade > GONE\n" },
    { "the sandbox dies while it is made", ONE("Always"), "> MAKE\n lost x >\n due 1000\n @1000 > MAKE\n" },
    { "activeDeadlineSeconds", "{activeDeadlineSeconds: 10, terminationGracePeriodSeconds: 5, containers: [{name: a}]}",
      UP "due 10000\n @9999 >\n @10000 > TERM a\n due 15000\n ? phase = Running\n ? reason = -\n @11000 exit a 0 > "
         "UNMAKE\n ? phase = Failed\n"
         "? reason = DeadlineExceeded\n ? message = Pod was active on the node longer than the specified deadline\n"
         "! Started: Started container a\n ! DeadlineExceeded: Pod was active on the node longer than the specified "
         "deadline\n" },
    { "activeDeadlineSeconds before it was made", "{activeDeadlineSeconds: 10, containers: [{name: a}]}",
      "> MAKE\n due 10000\n @10000 >\n ? phase = Failed\n ? reason = DeadlineExceeded\n made > UNMAKE\n" },
    { "activeDeadlineSeconds set later", ONE("Always"), UP "due never\n @5000 deadline 3 > TERM a\n" },
    { "stop with a reason", ONE("Always"),
      UP "@1000 stop 2000 Evicted the node is full > TERM a\n due 3000\n ? reason = -\n exit a 0 > UNMAKE\n ? phase = "
         "Failed\n ? reason = Evicted\n"
         "? message = the node is full\n unmade >\n delete 30 > GONE\n" },
    { "stop without a reason", ONE("Always"),
      UP "stop 2000 > TERM a\n stop 0 > KILL a\n signal a 9 > UNMAKE\n ? phase = Failed\n ? reason = -\n" },
    { "stop of a pod that has ended", ONE("Never"),
      UP "exit a 0 > UNMAKE\n stop 0 Killed x >\n ? phase = Succeeded\n ? reason = -\n" },
    { "stop while only sidecars are left",
      "{restartPolicy: Never, initContainers: [{name: s, restartPolicy: Always}], containers: [{name: a}]}",
      "> MAKE\n made > START s 0\n started s > START a 0\n started a >\n exit a 0 > TERM s\n stop 0 Killed x > KILL "
      "s\n signal s 9 > UNMAKE\n"
      "? phase = Succeeded\n ? reason = -\n" },
    { "somebody else says it failed", ONE("Always"),
      UP "phase Failed NodeLost > TERM a\n exit a 0 > UNMAKE\n ? phase = Failed\n ? reason = NodeLost\n" },
    { "readiness gates", "{readinessGates: [{conditionType: x/y}, {conditionType: z}], containers: [{name: a}]}",
      UP "? cond ContainersReady = True @0\n"
         "? cond Ready = False ReadinessGatesNotReady corresponding condition of pod readiness gate \"x/y\" does not "
         "exist., corresponding condition of "
         "pod readiness gate \"z\" does not exist. @0\n"
         "condition x/y False >\n condition z True >\n"
         "? cond Ready = False ReadinessGatesNotReady the status of pod readiness gate \"x/y\" is not \"True\", but "
         "False @0\n"
         "? cond x/y = False @-99\n" },
    { "OOM", ONE("Never"), UP "@1000 oom a 9 > UNMAKE\n ? c a = OOMKilled 137 sig 9 0-1; x0; -\n ? phase = Failed\n" },
    { "nonsense is not heard", ONE("Always"),
      "> MAKE\n started a >\n exit a 0 >\n unmade >\n ok 1 >\n bad 0 >\n ? phase = Pending\n made > START a 0\n made "
      ">\n failed X y >\n started b >\n"
      "nostart b StartError x >\n exit b 1 >\n started a >\n started a >\n nostart a X y >\n refused X y >\n ? c a = "
      "running 0; ready started x0; -\n" },
    { "an end that comes without a start", ONE("Never"),
      "> MAKE\n made > START a 0\n exit a 0 > UNMAKE\n ? phase = Succeeded\n" },
    { "a pod without containers", "{containers: []}", ">\n ? phase = Succeeded\n" },
    { "the agent is killed: Always", "{initContainers: [{name: i}], containers: [{name: a}]}",
      "> MAKE\n made > START i 0\n started i >\n exit i 0 > START a 0\n started a >\n @2000 reborn > MAKE\n ? phase = "
      "Running\n made > START i 1\n started i >\n exit i 0 > START a 1\n started a >\n"
      "? c a = running 2; ready started x1; Error 137 sig 9 0-2 (the container ended with the agent of this "
      "node)\n" },
    { "the agent is killed: Never", ONE("Never"),
      UP "@1000 reborn >\n ? phase = Failed\n due never\n"
         "? c a = Error 137 sig 9 0-1 (the container ended with the agent of this node); x0; -\n"
         "delete 30 > GONE\n" },
    { "the agent is killed: OnFailure, one is done", "{restartPolicy: OnFailure, containers: [{name: a}, {name: b}]}",
      "> MAKE\n made > START a 0\n started a > START b 0\n started b >\n exit a 0 >\n @1000 reborn > MAKE\n made > "
      "START "
      "b 1\n started b >\n exit b 0 > UNMAKE\n ? phase = Succeeded\n" },
    { "the agent is killed before it wrote that all was done",
      "{restartPolicy: Never, containers: [{name: a}, {name: b}]}",
      "> MAKE\n made > START a 0\n started a > START b 0\n started b >\n exit a 0 >\n @1000 reborn >\n ? phase = "
      "Failed\n"
      "? c a = Completed 0 0-0; x0; -\n" },
    { "the agent is killed while a container waits for its restart", ONE("Always"),
      UP "exit a 1 > START a 1\n started a >\n exit a 1 >\n ? c a = waiting CrashLoopBackOff (back-off 10s restarting "
         "failed "
         "container=a pod=p_ns(u-1)); x1; Error 1 0-0\n @1000 reborn > MAKE\n made > START a 2\n" },
    { "what it waited for is there", ONE("Always"),
      "> MAKE\n failed FailedMount no >\n @1000 > MAKE\n failed FailedMount no >\n @1500 retry > MAKE\n made > START a "
      "0\n"
      "nostart a CreateContainerConfigError no >\n @1600 retry > START a 0\n started a >\n retry >\n" },
    { "the agent is killed before anything was started", ONE("Never"), "> MAKE\n reborn > MAKE\n made > START a 0\n" },
    { "an ephemeral container runs once, beside the others", ONE("Always"),
      UP "debug d > START d 0\n ? c d = waiting ContainerCreating; x0; -\n @1000 started d >\n"
         "? c d = running 1; x0; -\n ? cond Ready = True @0\n ? phase = Running\n"
         "exit d 3 >\n ? c d = Error 3 1-1; x0; -\n due never\n ? phase = Running\n ? c a = running 0; ready started "
         "x0; -\n" },
    { "an ephemeral container does not keep the pod", ONE("Never"),
      UP "debug d > START d 0\n started d >\n exit a 0 > TERM d\n ? phase = Running\n exit d 143 > UNMAKE\n"
         "? phase = Succeeded\n ? c d = Error 143 0-0; x0; -\n" },
    { "an ephemeral container looks at an init container that hangs",
      "{restartPolicy: Never, initContainers: [{name: i}], containers: [{name: a}]}",
      "> MAKE\n made > START i 0\n debug d > START d 0\n started d >\n started i >\n ? phase = Pending\n"
      "exit i 0 > START a 0\n" },
    { "an ephemeral container that cannot start yet, and one that never can", ONE("Always"),
      UP
      "debug d > START d 0\n nostart d CreateContainerError no >\n ? c d = waiting CreateContainerError (no); x0; -\n"
      "@1000 > START d 0\n nostart d StartError no >\n ? c d = StartError 128 1-1 (no); x0; -\n due never\n" },
    { "what an ephemeral container was ends with its sandbox", ONE("Always"),
      UP
      "debug d > START d 0\n started d >\n lost > UNMAKE\n unmade >\n @1000 > MAKE\n made > START a 1\n started a >\n"
      "? c d = Error 137 sig 9 0-0; x0; -\n" },
    { "an ephemeral container ended while the agent was away", ONE("Always"),
      UP "debug d > START d 0\n started d >\n @9000 kept a running 0 400 >\n kept d ended 0 400 5000 2 >\n adopted >\n"
         "? c d = Error 2 0-5; x0; -\n due never\n" },
    { "an ephemeral container of an agent that was killed", ONE("Always"),
      UP "debug d > START d 0\n started d >\n @1000 reborn > MAKE\n made > START a 1\n started a >\n due never\n" },
    { "adopted: it runs on", ONE("Never"),
      UP "@9000 kept a running 0 400 >\n adopted >\n ? phase = Running\n ? c a = running 0; ready started x0; -\n"
         "? cond Ready = True @0\n ? podIP = 10.0.0.7\n due never\n @10000 exit a 4 > UNMAKE\n"
         "? c a = Error 4 0-10; x0; -\n" },
    { "adopted: it ended in the gap", ONE("Never"),
      UP "@9000 kept a ended 0 400 5000 3 >\n adopted > UNMAKE\n ? phase = Failed\n ? c a = Error 3 0-5; x0; -\n"
         "? cond Ready = False PodFailed @5\n" },
    { "adopted: it ended in the gap, and is started again", ONE("Always"),
      UP "@2000 exit a 1 > START a 1\n started a >\n @9000 kept a ended 1 2100 5000 0 >\n adopted >\n"
         "due 15000\n @15000 > START a 2\n started a >\n"
         "? c a = running 15; ready started x2; Completed 0 2-5\n" },
    { "adopted: a restart that was not written", ONE("Always"),
      UP "@9000 kept a running 3 7000 >\n adopted >\n ? c a = running 7; ready started x3; -\n"
         "@10000 exit a 1 >\n due 50000\n" },
    { "adopted: deleted in the gap", ONE("Never"),
      UP "@1000 delete 30 > TERM a\n @2000 kept a running 0 0 >\n adopted > TERM a\n due 32000\n exit a 0 > UNMAKE\n"
         "unmade > GONE\n" },
    { "adopted: a start on its way", ONE("Never"),
      "> MAKE\n made > START a 0\n kept a starting 0 0 >\n adopted >\n ? phase = Pending\n @100 started a >\n"
      "? c a = running 0; ready started x0; -\n" },
    { "adopted: a start that failed", ONE("Never"),
      "> MAKE\n made > START a 0\n kept a failed 0 0 500 128 >\n @900 adopted > UNMAKE\n ? phase = Failed\n"
      "? c a = StartError 128 0-0; x0; -\n" },
    { "adopted: init containers that are over stay so, the next one starts",
      "{restartPolicy: Never, initContainers: [{name: i, image: i}, {name: s, image: i, restartPolicy: Always}],"
      "containers: [{name: a, image: i}]}",
      "> MAKE\n made > START i 0\n started i >\n kept i ended 0 0 1000 0 >\n @2000 adopted > START s 0\n"
      "started s > START a 0\n started a >\n @3000 kept i ended 0 0 1000 0 >\n kept s running 0 2000 >\n"
      "kept a ended 0 2000 2500 0 >\n adopted > TERM s\n exit s 0 > UNMAKE\n ? phase = Succeeded\n"
      "? c i = Completed 0 0-1; ready x0; -\n" },
    { "adopted: probes go on from what is known",
      "{restartPolicy: Always, containers: [{name: a, image: i, startupProbe: {tcpSocket: {port: 1}},"
      "readinessProbe: {tcpSocket: {port: 1}}}]}",
      UP_PROBED "@5000 kept a running 0 0 >\n adopted > PROBE 1 a readiness 1s\n"
                "? c a = running 0; ready started x0; -\n bad 1 >\n @15000 > PROBE 2 a readiness 1s\n" },
    { "adopted: a hook that was not known to be over is run again",
      "{restartPolicy: Never, containers: [{name: a, image: i, lifecycle: {postStart: {exec: {command: [x]}}}}]}",
      "> MAKE\n made > START a 0\n started a > HOOK 1 a post 86400s\n kept a running 0 0 >\n"
      "adopted > HOOK 1 a post 86400s\n ok 1 >\n kept a running 0 0 >\n adopted >\n"
      "? c a = running 0; ready started x0; -\n" },
    { "adopted: it had ended, and its sandbox had not gone", ONE("Never"),
      UP "exit a 0 > UNMAKE\n kept a ended 0 0 0 0 >\n adopted > UNMAKE\n unmade >\n ? phase = Succeeded\n" },
};

static void test_scripts(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        run_script(cases[i].name, cases[i].spec, cases[i].script);
}

/* ---- exit codes ---- */

static const struct {
    int status;
    bool is_oom;
    int code, signo;
    const char *reason, *phase;
} ends[] = {
    { W_EXITCODE(0, 0), false, 0, 0, "Completed", "Succeeded" },
    { W_EXITCODE(1, 0), false, 1, 0, "Error", "Failed" },
    { W_EXITCODE(127, 0), false, 127, 0, "Error", "Failed" },
    { W_EXITCODE(143, 0), false, 143, 0, "Error", "Failed" },
    { W_EXITCODE(255, 0), false, 255, 0, "Error", "Failed" },
    { W_EXITCODE(0, SIGTERM), false, 143, SIGTERM, "Error", "Failed" },
    { W_EXITCODE(0, SIGKILL), false, 137, SIGKILL, "Error", "Failed" },
    { W_EXITCODE(0, SIGSEGV) | 0x80, false, 139, SIGSEGV, "Error", "Failed" }, /* with a core */
    { W_EXITCODE(0, SIGHUP), false, 129, SIGHUP, "Error", "Failed" },
    { W_EXITCODE(0, SIGKILL), true, 137, SIGKILL, "OOMKilled", "Failed" },
    { W_EXITCODE(1, 0), true, 1, 0, "OOMKilled", "Failed" },
    { W_EXITCODE(0, 0), true, 0, 0, "OOMKilled", "Succeeded" },
};

static void go(struct world *w, const char *line)
{
    w->line = str_of(line);
    tell(w, w->line);
    step(w);
}

static void test_ends(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        struct life_end e = { .status = ends[i].status, .is_oom = ends[i].is_oom };
        const struct json *status, *over;
        struct world w;

        world_init(&w, "exit codes", ONE("Never"));
        go(&w, "");
        go(&w, "made");
        go(&w, "started a");
        life_ended(w.life, STR("a"), &e, w.now_ms);
        status = life_status(w.life, &w.arena);
        over = json_find(json_at(json_get(status, "containerStatuses"), 0), "state", "terminated", NULL);
        if (json_i64(json_get(over, "exitCode"), -1) != ends[i].code ||
            json_i64(json_get(over, "signal"), 0) != ends[i].signo ||
            !str_is(json_member_text(over, "reason"), ends[i].reason) ||
            !str_is(json_member_text(status, "phase"), ends[i].phase))
            fail_msg("row %zu", i);
        world_done(&w);
    }
}

/* ---- the whole text, member by member ---- */

static void test_whole_status(void **state)
{
    static const char want[] =
        "{\"phase\":\"Failed\",\"conditions\":["
        "{\"type\":\"PodReadyToStartContainers\",\"status\":\"False\",\"lastTransitionTime\":\"2026-03-01T00:00:09Z\"},"
        "{\"type\":\"Initialized\",\"status\":\"True\",\"lastTransitionTime\":\"2026-03-01T00:00:00Z\"},"
        "{\"type\":\"Ready\",\"status\":\"False\",\"lastTransitionTime\":\"2026-03-01T00:00:09Z\",\"reason\":"
        "\"PodFailed\"},"
        "{\"type\":\"ContainersReady\",\"status\":\"False\",\"lastTransitionTime\":\"2026-03-01T00:00:09Z\",\"reason\":"
        "\"PodFailed\"},"
        "{\"type\":\"PodScheduled\",\"status\":\"True\",\"lastTransitionTime\":\"2026-03-01T00:00:00Z\"}],"
        "\"message\":\"no room\",\"reason\":\"Evicted\","
        "\"hostIP\":\"192.168.1.2\",\"hostIPs\":[{\"ip\":\"192.168.1.2\"}],\"podIP\":\"10.0.0.7\",\"podIPs\":[{\"ip\":"
        "\"10.0.0.7\"}],"
        "\"startTime\":\"2026-03-01T00:00:00Z\",\"containerStatuses\":[{\"name\":\"a\",\"state\":{\"terminated\":{"
        "\"exitCode\":143,"
        "\"signal\":15,\"reason\":\"Error\",\"message\":\"bye\",\"startedAt\":\"2026-03-01T00:00:00Z\","
        "\"finishedAt\":\"2026-03-01T00:00:09Z\",\"containerID\":\"pumice://a\"}},\"lastState\":{},\"ready\":false,"
        "\"restartCount\":0,\"image\":\"i\",\"imageID\":\"\",\"containerID\":\"pumice://a\",\"started\":false}],"
        "\"qosClass\":\"BestEffort\"}";
    autobuf got = { 0 };
    struct world w;

    (void)state;
    world_init(&w, "whole status", ONE("Always"));
    go(&w, "");
    go(&w, "made");
    go(&w, "started a");
    go(&w, "@9999 stop 1000 Evicted no room");
    go(&w, "signal a 15 bye");
    json_print(&got, life_status(w.life, &w.arena));
    assert_string_equal(got.p, want);
    world_done(&w);
}

/* ---- what was there before ---- */

static struct object *parse_pod(struct arena *a, const char *text)
{
    return object_make(type_by_name(STR("Pod")), yaml(a, text), 7);
}

static const char past_yaml[] = "metadata: {name: p, namespace: ns, uid: u}\n"
                                "spec: {containers: [{name: a}]}\n"
                                "status: {phase: Succeeded, x: 1, containerStatuses: [{name: a, restartCount: 3}]}\n";

/* A pod that ended before we saw it: nothing is done, its status stays; when it is deleted it goes. */
static void test_past(void **state)
{
    autoarena a = { 0 };
    autounref struct object *pod = parse_pod(&a, past_yaml), *gone = NULL;
    struct life *l = life_new(pod, LIFE_T0_MS);
    struct life_action act;

    (void)state;
    assert_false(life_step(l, LIFE_T0_MS, &act));
    assert_true(life_due_ms(l) == INT64_MAX);
    assert_true(life_has_ended(l));
    assert_false(life_is_ready(l));
    assert_false(life_is_changed(l));
    assert_true(json_equal(life_status(l, &a), json_get(pod->root, "status")));
    gone = life_pod_echo(&a, pod, json_get(json_copy(&a, pod->root), "status"), 30, LIFE_T0_MS);
    life_update(l, gone, LIFE_T0_MS);
    assert_true(life_step(l, LIFE_T0_MS, &act));
    assert_int_equal(act.kind, LIFE_GONE);
    assert_false(life_step(l, LIFE_T0_MS, &act));
    life_free(l);
}

static void check_observed(struct life *l, struct arena *a, int64_t want)
{
    const struct json *status = life_status(l, a);

    assert_int_equal(json_i64(json_get(status, "observedGeneration"), 0), want);
    JSON_FOREACH(c, json_get(status, "conditions"))
        assert_int_equal(json_i64(json_get(c, "observedGeneration"), 0), want);
    assert_false(life_is_changed(l));
}

static void test_generation(void **state)
{
    static const char *const pods[] = {
        "{metadata: {name: p, namespace: ns, uid: u, generation: 3}, spec: {containers: [{name: a}]}}",
        "{metadata: {name: p, namespace: ns, uid: u, generation: 3, labels: {a: b}}, spec: {containers: [{name: a}]}}",
        "{metadata: {name: p, namespace: ns, uid: u, generation: 4}, spec: {containers: [{name: a}]}}",
        "{metadata: {name: p, namespace: ns, uid: u}, spec: {containers: [{name: a}]}}", /* of an older server */
    };
    static const int64_t generations[] = { 3, 3, 4, 0 };
    struct life *l = NULL;
    autoarena a = { 0 };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(pods); i++) {
        autounref struct object *pod = parse_pod(&a, pods[i]);

        if (l)
            life_update(l, pod, LIFE_T0_MS);
        else
            l = life_new(pod, LIFE_T0_MS);
        assert_true(life_is_changed(l) == (i == 0 || generations[i] != generations[i - 1]));
        check_observed(l, &a, generations[i]);
    }
    life_free(l);
}

#define SIZED(generation, cpu, memory)                                                                                 \
    "{metadata: {name: p, namespace: ns, uid: u, generation: " generation "}, spec: {containers: [{name: a, "          \
    "resizePolicy: [{resourceName: memory, restartPolicy: RestartContainer}], resources: {requests: {cpu: " cpu        \
    ", memory: " memory "}}}]}}"

static struct str sized_text(struct arena *a, const struct json *container, const char *member)
{
    autobuf text = { 0 };

    json_print(&text, json_get(container, member));
    return arena_str(a, buf_view(&text));
}

static void check_sized(struct life *l, struct arena *a, const char *want, const char *condition)
{
    const struct json *status = life_status(l, a), *first = json_at(json_get(status, "containerStatuses"), 0);
    const struct json *last = NULL;

    assert_true(str_is(sized_text(a, first, "allocatedResources"), want));
    assert_true(str_is(sized_text(a, first, "resources"), arena_fmt(a, "{\"requests\":%s}", want).p));
    JSON_FOREACH(c, json_get(status, "conditions"))
        if (str_starts(json_member_text(c, "type"), STR("PodResize")))
            last = c;
    assert_true(str_is(
        arena_fmt(a, "%.*s %.*s", STR_ARG(json_member_text(last, "type")), STR_ARG(json_member_text(last, "reason"))),
        condition));
}

static void update_with(struct life *l, struct arena *a, const char *text)
{
    autounref struct object *pod = parse_pod(a, text);

    life_update(l, pod, LIFE_T0_MS);
}

static void bring_up(struct life *l)
{
    struct life_action act;

    while (life_step(l, LIFE_T0_MS, &act)) {
        if (act.kind == LIFE_MAKE)
            life_made(l, STR("10.0.0.7"), STR("10.0.0.1"), LIFE_T0_MS);
        if (act.kind == LIFE_START)
            life_started(l, act.name, STR("pumice://a"), LIFE_T0_MS);
    }
}

/* What it has stays in its status until there is room; a policy restarts it, and the next start has the new amounts. */
static void test_resize(void **state)
{
    static const char small[] = "{\"cpu\":1,\"memory\":1}", more[] = "{\"cpu\":2,\"memory\":1}",
                      large[] = "{\"cpu\":2,\"memory\":4}";
    autoarena a = { 0 };
    autounref struct object *pod = parse_pod(&a, SIZED("1", "1", "1"));
    struct life *l = life_new(pod, LIFE_T0_MS);
    struct life_action act;

    (void)state;
    bring_up(l);
    assert_false(life_wants_resize(l));
    update_with(l, &a, SIZED("2", "2", "1"));
    assert_true(life_wants_resize(l));
    life_resize_waits(l, false, STR("no room"), LIFE_T0_MS);
    check_sized(l, &a, small, "PodResizePending Deferred");
    assert_true(str_is(sized_text(&a, json_at(json_get(life_sized_spec(l, &a), "containers"), 0), "resources"),
                       "{\"requests\":{\"cpu\":1,\"memory\":1}}"));
    life_resize_waits(l, true, STR("in use"), LIFE_T0_MS);
    check_sized(l, &a, small, "PodResizeInProgress Error");
    life_resize(l, LIFE_T0_MS);
    assert_false(life_wants_resize(l));
    check_sized(l, &a, more, " ");
    assert_false(life_step(l, LIFE_T0_MS, &act));
    update_with(l, &a, SIZED("3", "2", "4"));
    life_resize(l, LIFE_T0_MS);
    check_sized(l, &a, large, "PodResizeInProgress ");
    assert_true(life_step(l, LIFE_T0_MS, &act));
    assert_int_equal(act.kind, LIFE_SIGNAL);
    life_ended(l, STR("a"), &(struct life_end){ .status = 0 }, LIFE_T0_MS);
    assert_true(life_step(l, LIFE_T0_MS, &act));
    assert_int_equal(act.kind, LIFE_START);
    assert_int_equal(json_i64(json_find(act.resources, "requests", "memory", NULL), 0), 4);
    life_started(l, STR("a"), STR("pumice://a"), LIFE_T0_MS);
    check_sized(l, &a, large, " ");
    life_free(l);
}

#define LIMITED(generation, limits)                                                                                    \
    "{metadata: {name: p, namespace: ns, uid: u, generation: " generation "}, spec: {containers: [{name: a, "          \
    "resizePolicy: [{resourceName: memory, restartPolicy: RestartContainer}], resources: {requests: {memory: "         \
    "1}" limits "}}]}}"

/* A limit that was not there before is a change, too. */
static void test_resize_adds_a_limit(void **state)
{
    autoarena a = { 0 };
    autounref struct object *pod = parse_pod(&a, LIMITED("1", ""));
    struct life *l = life_new(pod, LIFE_T0_MS);
    struct life_action act;

    (void)state;
    bring_up(l);
    update_with(l, &a, LIMITED("2", ", limits: {memory: 2}"));
    assert_true(life_wants_resize(l));
    life_resize(l, LIFE_T0_MS);
    assert_true(life_step(l, LIFE_T0_MS, &act));
    assert_int_equal(act.kind, LIFE_SIGNAL);
    life_free(l);
}

static const char bound_yaml[] = "metadata: {name: p, namespace: ns, uid: u}\n"
                                 "spec: {activeDeadlineSeconds: 60, containers: [{name: a}]}\n"
                                 "status:\n"
                                 "  phase: Pending\n"
                                 "  nominatedNodeName: n\n"
                                 "  resize: Proposed\n"
                                 "  startTime: 2026-02-28T23:59:50Z\n"
                                 "  conditions:\n"
                                 "  - {type: PodScheduled, status: 'True', lastTransitionTime: 2026-02-28T23:00:00Z}\n"
                                 "  - {type: Ready, status: 'True', lastTransitionTime: 2026-02-28T23:00:00Z}\n"
                                 "  - {type: DisruptionTarget, status: 'True', reason: PreemptionByScheduler, "
                                 "lastTransitionTime: 2026-02-28T23:00:00Z}\n";

static void test_kept(void **state)
{
    static const char want[] =
        "[{\"type\":\"DisruptionTarget\",\"status\":\"True\",\"reason\":\"PreemptionByScheduler\","
        "\"lastTransitionTime\":"
        "\"2026-02-28T23:00:00Z\"},"
        "{\"type\":\"PodReadyToStartContainers\",\"status\":\"False\",\"lastTransitionTime\":\"2026-03-01T00:00:00Z\"},"
        "{\"type\":\"Initialized\",\"status\":\"True\",\"lastTransitionTime\":\"2026-03-01T00:00:00Z\"},"
        "{\"type\":\"Ready\",\"status\":\"False\",\"lastTransitionTime\":\"2026-03-01T00:00:00Z\",\"reason\":"
        "\"ContainersNotReady\","
        "\"message\":\"containers with unready status: [a]\"},"
        "{\"type\":\"ContainersReady\",\"status\":\"False\",\"lastTransitionTime\":\"2026-03-01T00:00:00Z\",\"reason\":"
        "\"ContainersNotReady\",\"message\":\"containers with unready status: [a]\"},"
        "{\"type\":\"PodScheduled\",\"status\":\"True\",\"lastTransitionTime\":\"2026-02-28T23:00:00Z\"}]";
    autoarena a = { 0 };
    autobuf got = { 0 };
    autounref struct object *pod = parse_pod(&a, bound_yaml);
    struct life *l = life_new(pod, LIFE_T0_MS);
    struct json *status = life_status(l, &a);
    struct life_action act;

    (void)state;
    json_print(&got, json_get(status, "conditions"));
    assert_string_equal(got.p, want);
    assert_true(str_is(json_member_text(status, "startTime"), "2026-02-28T23:59:50Z"));
    assert_true(str_is(json_member_text(status, "resize"), "Proposed"));
    assert_null(json_get(status, "nominatedNodeName"));
    while (life_step(l, LIFE_T0_MS, &act))
        ;
    assert_true(life_due_ms(l) == LIFE_T0_MS + 50000); /* the deadline counts from startTime */
    life_free(l);
}

/* ---- news ---- */

/* A probe that says what it said before is no news; texts are cut at whole characters. */
static void test_changed(void **state)
{
    struct world w;
    autobuf long_text = { 0 };
    const struct json *status;
    struct str message;

    (void)state;
    world_init(&w, "changes",
               "{restartPolicy: Never, containers: [{name: a, readinessProbe: {exec: {}, periodSeconds: 1}, "
               "livenessProbe: {exec: {}}}]}");
    assert_true(life_is_changed(w.life));
    (void)life_status(w.life, &w.arena);
    assert_false(life_is_changed(w.life));
    go(&w, "");
    assert_false(life_is_changed(w.life));
    go(&w, "made");
    assert_true(life_is_changed(w.life));
    go(&w, "started a"); /* liveness 1, readiness 2 */
    (void)life_status(w.life, &w.arena);
    go(&w, "bad 2");
    go(&w, "ok 1");
    assert_false(life_is_changed(w.life));
    go(&w, "@1000");
    go(&w, "ok 3");
    assert_true(life_is_changed(w.life));
    assert_true(life_is_ready(w.life));
    (void)life_status(w.life, &w.arena);
    go(&w, "@2000");
    go(&w, "ok 4");
    assert_false(life_is_changed(w.life));
    buf_repeat(&long_text, 'x', 4095);
    buf_fmt(&long_text, "\xc3\xa9 and more");
    life_ended(w.life, STR("a"), &(struct life_end){ .message = buf_view(&long_text) }, w.now_ms);
    status = life_status(w.life, &w.arena);
    message = json_member_text(
        json_find(json_at(json_get(status, "containerStatuses"), 0), "state", "terminated", NULL), "message");
    assert_int_equal(message.n, 4095);
    world_done(&w);
}

static const struct {
    const char *spec, *qos;
} qos_cases[] = {
    { "{containers: [{name: a}]}", "BestEffort" },
    { "{containers: [{name: a, resources: {limits: {nvidia.com/gpu: 1}}}]}", "BestEffort" },
    { "{containers: [{name: a, resources: {requests: {cpu: 0}}}]}", "BestEffort" },
    { "{containers: [{name: a, resources: {requests: {cpu: 100m}}}]}", "Burstable" },
    { "{containers: [{name: a, resources: {limits: {cpu: 1}}}]}", "Burstable" },
    { "{containers: [{name: a, resources: {limits: {cpu: 1, memory: 1Gi}}}]}", "Guaranteed" },
    { "{containers: [{name: a, resources: {limits: {cpu: 1, memory: 1Gi}, requests: {cpu: 1000m, memory: 1024Mi}}}]}",
      "Guaranteed" },
    { "{containers: [{name: a, resources: {limits: {cpu: 1, memory: 1Gi}, requests: {cpu: 500m}}}]}", "Burstable" },
    { "{containers: [{name: a, resources: {limits: {cpu: 1, memory: 1Gi}}}, {name: b}]}", "Burstable" },
    { "{initContainers: [{name: i}], containers: [{name: a, resources: {limits: {cpu: 1, memory: 1Gi}}}]}",
      "Burstable" },
};

static void test_qos(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(qos_cases); i++) {
        struct world w;
        struct str got;

        world_init(&w, "qos", qos_cases[i].spec);
        got = json_member_text(life_status(w.life, &w.arena), "qosClass");
        if (!str_is(got, qos_cases[i].qos))
            fail_msg("%s: %.*s", qos_cases[i].spec, STR_ARG(got));
        world_done(&w);
    }
}

/* Pods of any shape neither crash nor hang. */
static void test_odd_pods(void **state)
{
    static const char *const pods[] = {
        "{}",
        "{spec: 3, status: [], metadata: x}",
        "{spec: {containers: 3, initContainers: x}}",
        "{spec: {containers: [3, {name: 4}, [], null], initContainers: [{restartPolicy: 7}]}}",
        "{spec: {activeDeadlineSeconds: 9223372036854775807, terminationGracePeriodSeconds: -5, containers: [{name: "
        "a}, {name: a}]}}",
        "{spec: {terminationGracePeriodSeconds: 9223372036854775807, containers: [{name: a, lifecycle: {preStop: "
        "{sleep: "
        "{seconds: 9223372036854775807}}}, readinessProbe: {periodSeconds: 99999999999999, failureThreshold: -1}}]},"
        " metadata: {deletionTimestamp: x, deletionGracePeriodSeconds: -3}}",
        "{spec: {readinessGates: [3, {}], containers: [{name: a, livenessProbe: 3, lifecycle: []}]}, status: "
        "{conditions: [4, {type: Ready}]}}",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(pods); i++) {
        struct world w = { .name = pods[i], .now_ms = LIFE_T0_MS };

        w.pod = parse_pod(&w.arena, pods[i]);
        w.life = life_new(w.pod, w.now_ms);
        go(&w, "");
        go(&w, "made");
        go(&w, "started a");
        go(&w, "stop 30000");
        go(&w, "@40000");
        go(&w, "stop 0");
        go(&w, "exit a 0");
        world_done(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scripts),      cmocka_unit_test(test_ends),
        cmocka_unit_test(test_whole_status), cmocka_unit_test(test_past),
        cmocka_unit_test(test_kept),         cmocka_unit_test(test_generation),
        cmocka_unit_test(test_resize),       cmocka_unit_test(test_resize_adds_a_limit),
        cmocka_unit_test(test_changed),      cmocka_unit_test(test_qos),
        cmocka_unit_test(test_odd_pods),
    };

    cmocka_set_message_output(CM_OUTPUT_STDOUT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
