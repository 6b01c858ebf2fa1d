/* vc_view.c - vcctl job view, vjobs -n: all about one job, as those tools lay it out */
#include "api/meta.h"
#include "api/quantity.h"
#include "base/util.h"
#include "ctl/vc.h"

static void vc_view_line(struct vc *v, unsigned level, const char *key, struct str value)
{
    buf_repeat(&v->out, ' ', 2 * level);
    buf_fmt(&v->out, "%s\t%.*s\n", key, STR_ARG(value));
}

static void vc_view_head(struct vc *v, unsigned level, const char *text)
{
    buf_repeat(&v->out, ' ', 2 * level);
    buf_fmt(&v->out, "%s\n", text);
}

/* ---- values ---- */

/* A map as one line of JSON, its keys sorted, what a web page would read as markup escaped. */
static struct str map_of(struct vc *v, const struct json *map)
{
    struct json *sorted;
    autobuf plain = { 0 }, out = { 0 };

    if (!json_count(map))
        return STR("<none>");
    sorted = json_copy(v->arena, map);
    json_sort_keys(sorted, false);
    json_print(&plain, sorted);
    for (size_t i = 0; i < plain.n; i++)
        if (strchr("<>&", plain.p[i]))
            buf_fmt(&out, "\\u%04x", (unsigned)plain.p[i]);
        else
            buf_char(&out, plain.p[i]);
    return arena_str(v->arena, buf_view(&out));
}

static struct str vc_view_list_of(struct vc *v, const struct json *list)
{
    autobuf out = { 0 };

    JSON_FOREACH(item, list)
        buf_fmt(&out, "%s%.*s", out.n ? " " : "", STR_ARG(json_text(item, STR_NULL)));
    return arena_fmt(v->arena, "[%.*s]", STR_ARG(buf_view(&out)));
}

static struct str vc_view_amount_of(struct vc *v, const struct json *list, const char *resource)
{
    const struct json *j = json_get(list, resource);
    struct quantity q;
    autobuf out = { 0 };
    struct str text = json_is(j, JSON_NUMBER) ? (struct str){ j->text, j->n } : json_text(j, STR_NULL);

    if (!text.n || quantity_parse(text, &q, NULL) < 0)
        return STR("0");
    quantity_print(&out, q);
    return arena_str(v->arena, buf_view(&out));
}

/* ---- spec ---- */

static void put_amounts(struct vc *v, const char *title, const struct json *list)
{
    vc_view_head(v, 6, title);
    vc_view_line(v, 7, "Cpu:   ", vc_view_amount_of(v, list, "cpu"));
    vc_view_line(v, 7, "Memory:", vc_view_amount_of(v, list, "memory"));
}

static void put_container(struct vc *v, const struct json *c)
{
    vc_view_head(v, 5, "Command:");
    JSON_FOREACH(word, json_get(c, "command")) {
        buf_repeat(&v->out, ' ', 12);
        buf_fmt(&v->out, "%.*s\n", STR_ARG(json_text(word, STR_NULL)));
    }
    vc_view_line(v, 5, "Image:", json_member_text(c, "image"));
    vc_view_line(v, 5, "Name: ", json_member_text(c, "name"));
    vc_view_head(v, 5, "Ports:");
    JSON_FOREACH(port, json_get(c, "ports")) {
        vc_view_line(v, 6, "Container Port:", vc_number(v, json_get(port, "containerPort")));
        vc_view_line(v, 6, "Name:          ", json_member_text(port, "name"));
    }
    vc_view_head(v, 5, "Resources:");
    put_amounts(v, "Limits:", json_find(c, "resources", "limits", NULL));
    put_amounts(v, "Requests:", json_find(c, "resources", "requests", NULL));
    vc_view_line(v, 6, "Working Dir:", json_member_text(c, "workingDir"));
}

static void put_task(struct vc *v, const struct json *task)
{
    const struct json *meta = json_find(task, "template", "metadata", NULL), *notes = json_get(meta, "annotations");
    const struct json *spec = json_find(task, "template", "spec", NULL);

    vc_view_line(v, 2, "Name:", json_member_text(task, "name"));
    vc_view_line(v, 2, "Replicas:", vc_number(v, json_get(task, "replicas")));
    vc_view_head(v, 2, "Template:");
    vc_view_head(v, 3, "Metadata:");
    vc_view_head(v, 4, "Annotations:");
    vc_view_line(v, 5,
                 "Cri . Cci . Io / Container - Type:          ", json_member_text(notes, "cri.cci.io/container-type"));
    vc_view_line(
        v, 5, "Kubernetes . Io / Availablezone:            ", json_member_text(notes, "kubernetes.io/availablezone"));
    vc_view_line(v, 5, "Network . Alpha . Kubernetes . Io / Network:",
                 json_member_text(notes, "network.alpha.kubernetes.io/network"));
    vc_view_line(v, 4, "Creation Timestamp:", vc_time(v, json_member_text(meta, "creationTimestamp")));
    vc_view_head(v, 3, "Spec:");
    vc_view_head(v, 4, "Containers:");
    JSON_FOREACH(c, json_get(spec, "containers"))
        put_container(v, c);
    vc_view_head(v, 4, "Image Pull Secrets:");
    JSON_FOREACH(secret, json_get(spec, "imagePullSecrets"))
        vc_view_line(v, 5, "Name:     ", json_member_text(secret, "name"));
    vc_view_line(v, 4, "Restart Policy:   ", json_member_text(spec, "restartPolicy"));
}

static void put_spec(struct vc *v, const struct json *spec)
{
    vc_view_head(v, 0, "Spec:");
    vc_view_line(v, 1, "Min Available:     ", vc_number(v, json_get(spec, "minAvailable")));
    vc_view_head(v, 1, "Plugins:");
    vc_view_line(v, 2, "Env:", vc_view_list_of(v, json_find(spec, "plugins", "env", NULL)));
    vc_view_line(v, 2, "Ssh:", vc_view_list_of(v, json_find(spec, "plugins", "ssh", NULL)));
    vc_view_line(v, 1, "Scheduler Name:    ", json_member_text(spec, "schedulerName"));
    vc_view_head(v, 1, "Tasks:");
    JSON_FOREACH(task, json_get(spec, "tasks"))
        put_task(v, task);
}

/* ---- the rest ---- */

static void put_meta(struct vc *v, const struct json *job)
{
    const struct json *meta = json_get(job, "metadata");

    vc_view_line(v, 0, "Name:       ", object_name(job));
    vc_view_line(v, 0, "Namespace:  ", object_namespace(job));
    vc_view_line(v, 0, "Labels:     ", map_of(v, json_get(meta, "labels")));
    vc_view_line(v, 0, "Annotations:", map_of(v, json_get(meta, "annotations")));
    vc_view_line(v, 0, "API Version:", STR_NULL); /* those tools never know them */
    vc_view_line(v, 0, "Kind:       ", STR_NULL);
    vc_view_head(v, 0, "Metadata:");
    vc_view_line(v, 1, "Creation Timestamp:", vc_time(v, json_member_text(meta, "creationTimestamp")));
    vc_view_line(v, 1, "Generate Name:     ", json_member_text(meta, "generateName"));
    vc_view_line(v, 1, "Generation:        ", vc_number(v, json_get(meta, "generation")));
    vc_view_line(v, 1, "Resource Version:  ", json_member_text(meta, "resourceVersion"));
    vc_view_line(v, 1, "UID:               ", object_uid(job));
}

static void put_status(struct vc *v, const struct json *status, bool has_conditions)
{
    static const struct {
        const char *key, *title;
    } counts[] = {
        { "succeeded", "Succeeded:    " },  { "pending", "Pending:      " },      { "running", "Running:      " },
        { "failed", "Failed:       " },     { "terminating", "Terminating:  " },  { "unknown", "Unknown:      " },
        { "retryCount", "RetryCount:   " }, { "minAvailable", "Min Available:" }, { "version", "Version:      " },
    };
    int64_t n;

    vc_view_head(v, 0, "Status:");
    for (size_t i = 0; i < ARRAY_LEN(counts); i++)
        if (json_to_i64(json_get(status, counts[i].key), &n) == 0 && n > 0)
            vc_view_line(v, 1, counts[i].title, vc_number(v, json_get(status, counts[i].key)));
    vc_view_head(v, 1, "State:");
    vc_view_line(v, 2, "Phase:", json_text(json_find(status, "state", "phase", NULL), STR_NULL));
    if (json_count(json_get(status, "controlledResources")))
        vc_view_head(v, 1, "Controlled Resources:");
    JSON_FOREACH(r, json_get(status, "controlledResources"))
        buf_fmt(&v->out, "    %.*s: \t%.*s\n", STR_ARG(json_key(r)), STR_ARG(json_text(r, STR_NULL)));
    if (!has_conditions || !json_count(json_get(status, "conditions")))
        return;
    vc_view_head(v, 1, "Conditions:\n    Status\tTransitionTime");
    JSON_FOREACH(c, json_get(status, "conditions")) {
        struct str since = json_member_text(c, "lastTransitionTime");

        buf_fmt(&v->out, "    %.*s \t%.*s \n", STR_ARG(json_member_text(c, "status")),
                STR_ARG(since.n ? vc_time(v, since) : STR("<nil>")));
    }
}

static void put_event(struct vc *v, const struct json *event)
{
    const struct json *source = json_get(event, "source");
    struct str first = ctl_age(v->arena, json_member_text(event, "firstTimestamp"), v->ctl.now_ms);
    struct str from = json_member_text(source, "component"), host = json_member_text(source, "host");
    int64_t count = 0;

    (void)json_to_i64(json_get(event, "count"), &count); /* none is 0 */
    if (count > 1)
        first = arena_fmt(v->arena, "%.*s (x%lld over %.*s)",
                          STR_ARG(ctl_age(v->arena, json_member_text(event, "lastTimestamp"), v->ctl.now_ms)),
                          (long long)count, STR_ARG(first));
    if (host.n)
        from = arena_fmt(v->arena, "%.*s, %.*s", STR_ARG(from), STR_ARG(host));
    buf_fmt(&v->out, "%-15.*s\t%-40.*s\t%-30.*s\t%-40.*s\t%.*s\n", STR_ARG(json_member_text(event, "type")),
            STR_ARG(json_member_text(event, "reason")), STR_ARG(first), STR_ARG(from),
            STR_ARG(str_trim(json_member_text(event, "message"))));
}

/* Those whose names begin with the job's: that is how they are named. */
static void put_events(struct vc *v, const struct json *job)
{
    struct str prefix = arena_cat(v->arena, object_name(job), STR("."));
    struct ctl_select which = { .namespace = str_of(v->values->namespace),
                                .fields = arena_cat(v->arena, STR("involvedObject.name="), object_name(job)) };
    struct ctl_objects events = { 0 };
    bool is_first = true;
    struct err e;

    if (ctl_list(&v->ctl, type_by_kind(STR("v1"), STR("Event")), &which, &events, &e) < 0)
        fprintf(stderr, "Failed to list events: %.*s\n", STR_ARG(ctl_message(&v->ctl, &e)));
    VEC_FOREACH(event, &events.v) {
        if (!str_starts(object_name(*event), prefix))
            continue;
        if (is_first)
            buf_fmt(&v->out, "Events:\n%-15s\t%-40s\t%-30s\t%-40s\t%s\n%-15s\t%-40s\t%-30s\t%-40s\t%s\n", "Type",
                    "Reason", "Age", "Form", "Message", "-------", "-------", "-------", "-------", "-------");
        is_first = false;
        put_event(v, *event);
    }
    if (is_first)
        vc_view_head(v, 0, "Events: \t<none>");
}

int vc_job_view(struct vc *v, struct err *e)
{
    bool is_vjobs = v->values->selector != NULL;
    struct json *job;

    if (!v->values->name[0])
        return err_set(e, ERR_INVALID, "job name (specified by --name or -N) is mandatory to view a particular job");
    if (ctl_get(&v->ctl, ctl_name("Job", str_of(v->values->namespace), str_of(v->values->name)), &job, e) < 0)
        return -1;
    put_meta(v, job);
    put_spec(v, json_get(job, "spec"));
    put_status(v, json_get(job, "status"), !is_vjobs);
    put_events(v, job);
    return 0;
}
