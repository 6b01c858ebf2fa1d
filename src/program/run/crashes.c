/* crashes.c - containers that fail again and again: told once, and with --max-restarts the end of the run
 *
 * Counted by the name of the pod: one that a job's restart has made anew goes on where the last one ended.
 */
#include "program/run/crashes.h"

#include "base/util.h"
#include "program/run/ending.h"
#include "program/run/run.h"

enum { TOLD_AT = 5 }; /* the first few are reported as they happen anyway */

struct crashes {
    int64_t n;
    bool is_told;
};

void run_crashes_done(struct run_crashes *c)
{
    map_done(&c->counts);
    arena_done(&c->arena);
}

static struct crashes *crashes_of(struct run_crashes *c, const struct history_failure *f)
{
    struct str key = arena_fmt(&c->arena, "%.*s/%.*s/%.*s", STR_ARG(f->namespace), STR_ARG(f->pod),
                               STR_ARG(f->container));
    struct crashes *found = map_get(&c->counts, key);

    if (!found) {
        found = arena_new(&c->arena, struct crashes);
        map_put(&c->counts, key, found);
    }
    return found;
}

void run_crashes_add(struct run *r, const struct history_failure *f)
{
    struct crashes *c = crashes_of(&r->crashes, f);
    const struct history_pod *pod = history_pod(r->history, f->uid);
    struct str who = arena_fmt(r->arena, "%.*s%s%.*s", STR_ARG(pod ? pod->label : f->pod), f->is_only ? "" : "/",
                               STR_ARG(f->is_only ? STR("") : f->container));

    c->n++;
    if (r->stage != RUN_GOES)
        return;
    if (c->n > r->max_restarts) {
        struct str times = c->n > 1 ? arena_fmt(r->arena, " %lld times", (long long)c->n) : STR("");

        run_say(r, arena_fmt(r->arena, "%.*s has failed%.*s, %s%.*s; stopping (--max-restarts)", STR_ARG(who),
                             STR_ARG(times), c->n > 1 ? "the last time with " : "with ", STR_ARG(f->words)));
        run_stop(r, f->exit_code > 0 ? f->exit_code : EXIT_FAILED,
                 arena_fmt(r->arena, "%.*s failed%.*s: %.*s", STR_ARG(who), STR_ARG(times), STR_ARG(f->words)));
    } else if (c->n >= TOLD_AT && r->max_restarts == INT64_MAX && !c->is_told) {
        c->is_told = true;
        run_say(r, arena_fmt(r->arena, "%.*s keeps failing (%lld times: %.*s); --max-restarts N ends such a run",
                             STR_ARG(who), (long long)c->n, STR_ARG(f->words)));
    }
}
