/* maker.c - users who have their jobs made: JobTemplates, JobFlows and CronJobs, and what is done to them */
#include "world.h"

#include "api/meta.h"
#include "flow/admit.h"

#include <inttypes.h>

enum { TEMPLATES = 5, FLOWS = 3, CRONS = 3 };

/* Admitted as the server would, then made; one that is refused is in the history. */
static void create(struct world *w, struct arena *a, struct json *object)
{
    struct admit_env env = { .mark = MARK_DEFAULT };
    struct flow_env flow = { .admit = &env };
    struct problems ps = { .arena = a };

    (void)admit_flow_kind(a, object, NULL, &flow, &ps); /* it is one */
    if (ps.n_errors)
        world_log(w, "user", "%.*s refused: %.*s", STR_ARG(object_kind(object)), STR_ARG(problems_join(a, &ps)));
    else
        (void)world_create(w, "user", object); /* reported as broken inside */
}

static struct json *parse(struct world *w, struct arena *a, const struct buf *text)
{
    struct json *j = NULL;
    struct err e = { 0 };

    if (json_parse(a, arena_str(a, buf_view(text)), NULL, &j, &e) < 0)
        world_break(w, "the simulation's own object: %s", e.text);
    return j;
}

static struct json *random_spec(struct world *w, struct arena *a)
{
    autobuf text = { 0 };

    user_random_job(w, &text, "x");
    return json_get(parse(w, a, &text), "spec");
}

static bool has(struct world *w, enum kind kind, const char *prefix, int64_t n)
{
    char name[16];

    snprintf(name, sizeof(name), "%s%" PRId64, prefix, n);
    return world_get(w, kind, str_of(name));
}

static void remove_one(struct world *w, enum kind kind, const char *prefix, int64_t n)
{
    char name[16];

    snprintf(name, sizeof(name), "%s%" PRId64, prefix, n);
    (void)world_delete(w, "user", kind, str_of(name), -1,
                       world_chance(w, 50) ? PROPAGATE_FOREGROUND : PROPAGATE_BACKGROUND); /* not there is fine */
}

/* ---- templates and flows ---- */

static void create_template(struct world *w, int64_t n)
{
    autoarena a = { 0 };
    autobuf text = { 0 };
    struct json *template, *spec;

    buf_fmt(&text,
            "{\"apiVersion\":\"flow.volcano.sh/v1alpha1\",\"kind\":\"JobTemplate\",\"metadata\":{\"name\":\"t%" PRId64
            "\",\"namespace\":\"" SIM_NS "\"}}",
            n);
    template = parse(w, &a, &text);
    spec = random_spec(w, &a);
    if (template && spec)
        json_set(template, "spec", json_copy(&a, spec));
    if (!world_is_broken(w))
        create(w, &a, template);
}

static void template_step(struct world *w)
{
    int64_t n = world_between(w, 0, TEMPLATES - 1);

    if (!has(w, KIND_TEMPLATE, "t", n))
        create_template(w, n);
    else if (world_chance(w, 50))
        remove_one(w, KIND_TEMPLATE, "t", n);
}

/* Each vertex waits for some of those before it: that is never a circle. */
static void random_vertices(struct world *w, struct buf *out)
{
    int64_t n = world_between(w, 1, TEMPLATES), first = world_between(w, 0, TEMPLATES - 1);

    for (int64_t i = 0; i < n; i++) {
        bool is_any = false;

        buf_fmt(out, "%s{\"name\":\"t%" PRId64 "\"", i ? "," : "", (first + i) % TEMPLATES);
        for (int64_t k = 0; k < i; k++)
            if (world_chance(w, 50)) {
                buf_fmt(out, "%s\"t%" PRId64 "\"", is_any ? "," : ",\"dependsOn\":{\"targets\":[",
                        (first + k) % TEMPLATES);
                is_any = true;
            }
        buf_fmt(out, "%s}", is_any ? "]}" : "");
    }
}

static void flow_step(struct world *w)
{
    static const char *const policies[] = { "", "\"jobRetainPolicy\":\"retain\",", "\"jobRetainPolicy\":\"delete\"," };
    int64_t n = world_between(w, 0, FLOWS - 1);
    autoarena a = { 0 };
    autobuf text = { 0 };
    struct json *flow;

    if (has(w, KIND_FLOW, "f", n)) {
        if (world_chance(w, 25))
            remove_one(w, KIND_FLOW, "f", n);
        return;
    }
    for (int64_t i = 0; i < TEMPLATES; i++) /* most are there, some come late or never */
        if (!has(w, KIND_TEMPLATE, "t", i) && world_chance(w, 70))
            create_template(w, i);
    buf_fmt(&text,
            "{\"apiVersion\":\"flow.volcano.sh/v1alpha1\",\"kind\":\"JobFlow\",\"metadata\":{\"name\":\"f%" PRId64
            "\",\"namespace\":\"" SIM_NS "\"},\"spec\":{%s\"flows\":[",
            n, policies[world_between(w, 0, ARRAY_LEN(policies) - 1)]);
    random_vertices(w, &text);
    buf_fmt(&text, "]}}");
    flow = parse(w, &a, &text);
    if (!world_is_broken(w))
        create(w, &a, flow);
}

/* ---- schedules ---- */

static void change_cron(struct world *w, int64_t n)
{
    char name[16];

    snprintf(name, sizeof(name), "c%" PRId64, n);
    if (world_chance(w, 40))
        making_delete_newest(w, str_of(name));
    else if (world_chance(w, 30))
        remove_one(w, KIND_CRON, "c", n);
    else if (world_chance(w, 60))
        (void)world_patch(w, "user", KIND_CRON, str_of(name), "{\"spec\":{\"suspend\":%s}}",
                          world_chance(w, 40) ? "true" : "false"); /* gone is fine */
    else
        (void)world_patch(w, "user", KIND_CRON, str_of(name), "{\"spec\":{\"schedule\":\"*/%" PRId64 " * * * *\"}}",
                          world_between(w, 1, 4)); /* gone is fine */
}

static void cron_step(struct world *w)
{
    static const char *const policies[] = { "Allow", "Forbid", "Replace" };
    int64_t n = world_between(w, 0, CRONS - 1), every = world_between(w, 1, 4);
    autoarena a = { 0 };
    autobuf text = { 0 };
    struct json *cron, *spec;

    if (has(w, KIND_CRON, "c", n)) {
        change_cron(w, n);
        return;
    }
    buf_fmt(&text,
            "{\"apiVersion\":\"batch.volcano.sh/v1alpha1\",\"kind\":\"CronJob\",\"metadata\":{\"name\":\"c%" PRId64
            "\",\"namespace\":\"" SIM_NS "\"},\"spec\":{\"concurrencyPolicy\":\"%s\"",
            n, policies[world_between(w, 0, ARRAY_LEN(policies) - 1)]);
    if (world_chance(w, 30))
        buf_fmt(&text, ",\"schedule\":\"@every %" PRId64 "s\"", 30 * every + 30);
    else
        buf_fmt(&text, ",\"schedule\":\"*/%" PRId64 " * * * *\"", every);
    if (world_chance(w, 30))
        buf_fmt(&text, ",\"startingDeadlineSeconds\":%" PRId64, world_between(w, 10, 200));
    if (world_chance(w, 30))
        buf_fmt(&text, ",\"successfulJobsHistoryLimit\":%" PRId64 ",\"failedJobsHistoryLimit\":%" PRId64,
                world_between(w, 0, 2), world_between(w, 0, 2));
    buf_fmt(&text, ",\"jobTemplate\":{}}}");
    cron = parse(w, &a, &text);
    spec = random_spec(w, &a);
    if (cron && spec)
        json_set(json_find(cron, "spec", "jobTemplate", NULL), "spec", json_copy(&a, spec));
    if (!world_is_broken(w))
        create(w, &a, cron);
}

void maker_step(struct world *w)
{
    int64_t dice = world_between(w, 0, 99);

    if (dice < 20)
        template_step(w);
    else if (dice < 65)
        flow_step(w);
    else
        cron_step(w);
}

/* Nothing that starts jobs for ever comes to rest. */
void maker_calm(struct world *w)
{
    char name[16];

    for (int64_t n = 0; n < CRONS; n++)
        if (has(w, KIND_CRON, "c", n)) {
            snprintf(name, sizeof(name), "c%" PRId64, n);
            (void)world_patch(w, "user", KIND_CRON, str_of(name), "{\"spec\":{\"suspend\":true}}"); /* it is there */
        }
}
