/* common.c - small things that the makers of Jobs share */
#include "flow/flow_internal.h"

#include "base/clock.h"
#include "job/admit.h"

int64_t flow_time(const struct json *text)
{
    int64_t ms;

    return clock_parse(json_text(text, STR_NULL), &ms, NULL) == 0 ? ms : 0;
}

struct json *flow_json_time(struct arena *a, int64_t ms)
{
    autobuf text = { 0 };

    clock_print(&text, ms);
    return json_str(a, arena_str(a, buf_view(&text)));
}

void flow_write_status(const struct json *object, const char *api_version, const char *kind, struct json *status,
                       struct plan *plan)
{
    struct json *body = json_copy(plan->arena, object);

    json_set(body, "status", status);
    plan_update_status(plan, type_by_kind(str_of(api_version), str_of(kind)), body);
}

bool flow_same(const struct json *a, const struct json *b, const char *key)
{
    const struct json *x = json_get(a, key), *y = json_get(b, key);

    return x == y || (x && y && json_equal(x, y));
}

static void set_author(struct arena *a, struct json *job, const char *key, struct str author)
{
    (void)json_remove(json_get(json_get(job, "metadata"), "annotations"), key); /* a CronJob's notes may have one */
    if (author.n)
        object_set_annotation(a, job, key, author);
}

void flow_set_authors(struct arena *a, struct json *job, const struct json *maker, const struct json *template)
{
    set_author(a, job, AUTHOR_KEY, object_annotation(maker, AUTHOR_KEY));
    set_author(a, job, TEMPLATE_AUTHOR_KEY, template ? object_annotation(template, AUTHOR_KEY) : STR_NULL);
}

void flow_create_job(struct json *job, struct str scheduler_name, struct plan *plan)
{
    job_default(plan->arena, job, &(struct admit_env){ .scheduler_name = scheduler_name });
    plan_create(plan, job_type(), job);
}

void flow_tell_trouble(const struct json *object, struct str trouble, struct plan *plan)
{
    if (trouble.n)
        plan_event_warning(plan, object, "FailedCreate", "%.*s", STR_ARG(trouble));
}
