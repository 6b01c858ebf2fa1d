/* record_write.c - the facts of a run as lines of JSON */
#include "history/record.h"

#include "api/meta.h"
#include "base/util.h"

static void record_write_put(struct buf *out, const struct json *line)
{
    json_print(out, line);
    buf_char(out, '\n');
}

static struct json *record_write_begin(struct arena *a, int64_t now_ms)
{
    struct json *line = json_object(a);

    json_set(line, "t", json_int(a, now_ms));
    return line;
}

static struct str record_write_clean(struct arena *a, const struct scrub *s, struct str text)
{
    autobuf out = { 0 };

    scrub_text(s, &out, text);
    return arena_str(a, buf_view(&out));
}

void record_put_head(struct buf *out, const struct record_head *h)
{
    autoarena a = { 0 };
    struct json *line = json_object(&a);

    json_set(line, "pumice", json_int(&a, RECORD_FORM));
    json_set(line, "id", json_str(&a, h->id));
    json_set(line, "version", json_str(&a, h->version));
    json_set(line, "begin", json_int(&a, h->begin_ms));
    json_set(line, "jobs", json_int(&a, (int64_t)h->n_jobs));
    json_set(line, "namespaces", json_bool_new(&a, h->has_namespaces));
    json_set(line, "shared", json_bool_new(&a, h->is_shared));
    json_set(line, "directory", json_str(&a, h->directory));
    if (h->files)
        json_set(line, "files", json_copy(&a, h->files));
    if (h->names)
        json_set(line, "names", json_copy(&a, h->names));
    record_write_put(out, line);
}

void record_put_documents(struct buf *out, struct json *list)
{
    autoarena a = { 0 };
    struct json *line = json_object(&a);

    json_set(line, "documents", json_copy(&a, list));
    record_write_put(out, line);
}

/* ---- objects: what a history looks at ---- */

static struct json *record_write_take(struct arena *a, const struct json *from, const char *const *names)
{
    struct json *out = json_object(a);

    for (; *names; names++)
        if (json_get(from, *names))
            json_set(out, *names, json_copy(a, json_get(from, *names)));
    return out;
}

static struct json *record_write_each(struct arena *a, const struct json *list, const char *const *names)
{
    struct json *out = json_array(a);

    JSON_FOREACH(m, list)
        json_push(out, record_write_take(a, m, names));
    return out;
}

static const char *const meta_names[] = {
    "name", "namespace", "uid", "ownerReferences", "creationTimestamp", "deletionTimestamp", NULL
};
static const char *const note_names[] = { "volcano.sh/task-spec", "volcano.sh/task-index",
                                          "scheduling.k8s.io/group-name", NULL };

static struct json *pod_spec(struct arena *a, const struct json *spec)
{
    static const char *const names[] = { "restartPolicy", "nodeName", "terminationGracePeriodSeconds",
                                         "resources",     "overhead", NULL };
    static const char *const container[] = { "name", "resources", "restartPolicy", NULL };
    static const char *const lists[] = { "initContainers", "containers" };
    struct json *out = record_write_take(a, spec, names);

    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        if (json_get(spec, lists[i]))
            json_set(out, lists[i], record_write_each(a, json_get(spec, lists[i]), container));
    return out;
}

/* Most of what is written of a run: each pod has a handful of these. */
static struct json *pod_status(struct arena *a, const struct json *status)
{
    static const char *const names[] = { "phase", "reason", "message", NULL };
    static const char *const condition[] = { "type", "status", NULL };
    static const char *const container[] = { "name", "state", "lastState", "restartCount", NULL };
    static const char *const lists[] = { "initContainerStatuses", "containerStatuses" };
    struct json *out = record_write_take(a, status, names), *conditions = json_array(a);

    JSON_FOREACH(c, json_get(status, "conditions"))
        if (str_is(json_member_text(c, "type"), "Ready"))
            json_push(conditions, record_write_take(a, c, condition));
    if (json_count(conditions))
        json_set(out, "conditions", conditions);
    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        if (json_get(status, lists[i]))
            json_set(out, lists[i], record_write_each(a, json_get(status, lists[i]), container));
    return out;
}

static struct json *job_spec(struct arena *a, const struct json *spec)
{
    static const char *const names[] = { "queue", "priorityClassName", "minAvailable", "maxRetry", "policies", NULL };
    static const char *const task[] = { "name", "replicas", "minAvailable", "policies", "maxRetry", NULL };
    struct json *out = record_write_take(a, spec, names);

    json_set(out, "tasks", record_write_each(a, json_get(spec, "tasks"), task));
    return out;
}

static struct json *record_write_whole(struct arena *a, const struct json *part)
{
    return part ? json_copy(a, part) : json_object(a);
}

static const struct {
    const char *kind, *group;
    struct json *(*spec)(struct arena *a, const struct json *spec); /* NULL: it has none */
    struct json *(*status)(struct arena *a, const struct json *status);
} kinds[] = { { "Pod", "", pod_spec, pod_status },
              { "Job", "batch.volcano.sh", job_spec, record_write_whole },
              { "PodGroup", "scheduling.volcano.sh", record_write_whole, record_write_whole },
              { "Event", "", NULL, NULL } };

static struct json *smaller(struct arena *a, const struct json *root, size_t kind)
{
    static const char *const names[] = { "apiVersion", "kind", "involvedObject", "reason",
                                         "message",    "type", "count",          NULL };
    const struct json *meta = json_get(root, "metadata");
    struct json *out = record_write_take(a, root, names), *own = record_write_take(a, meta, meta_names);

    if (json_get(meta, "annotations"))
        json_set(own, "annotations", record_write_take(a, json_get(meta, "annotations"), note_names));
    json_set(out, "metadata", own);
    if (kinds[kind].spec) {
        json_set(out, "spec", kinds[kind].spec(a, json_get(root, "spec")));
        json_set(out, "status", kinds[kind].status(a, json_get(root, "status")));
    }
    return out;
}

/* Events of the usual course tell a history nothing. */
static bool is_dull(const struct object *o)
{
    struct str reason = json_member_text(o->root, "reason");

    return strcmp(o->type->kind, "Event") == 0 && !str_is(json_member_text(o->root, "type"), "Warning") &&
           !str_is(reason, "CommandIssued") && !str_is(reason, "Evict");
}

bool record_put_object(struct buf *out, const struct scrub *s, const struct object *o, bool is_gone, int64_t now_ms)
{
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        autoarena a = { 0 };
        struct json *line, *object;

        if (strcmp(o->type->kind, kinds[i].kind) != 0 || strcmp(o->type->group, kinds[i].group) != 0 || is_dull(o))
            continue;
        line = record_write_begin(&a, now_ms);
        object = smaller(&a, o->root, i);
        scrub_tree(s, &a, json_get(object, "status"));
        if (json_get(object, "message"))
            json_set(object, "message", json_str(&a, record_write_clean(&a, s, json_member_text(object, "message"))));
        json_set(line, is_gone ? "gone" : "put", object);
        record_write_put(out, line);
        return true;
    }
    return false;
}

/* ---- the rest ---- */

void record_put_note(struct buf *out, const struct scrub *s, struct str sentence, int64_t now_ms)
{
    autoarena a = { 0 };
    struct json *line = record_write_begin(&a, now_ms);

    json_set(line, "note", json_str(&a, record_write_clean(&a, s, sentence)));
    record_write_put(out, line);
}

void record_put_why(struct buf *out, const struct history_job *j, int64_t now_ms)
{
    autoarena a = { 0 };
    struct json *line = record_write_begin(&a, now_ms);

    json_set(line, "why", json_str(&a, j->why_text));
    json_set(line, "kind", json_int(&a, j->why));
    json_set(line, "job", json_str(&a, j->uid));
    record_write_put(out, line);
}

void record_put_stopped(struct buf *out, const struct history_job *j, int64_t now_ms)
{
    autoarena a = { 0 };
    struct json *line = record_write_begin(&a, now_ms);

    json_set(line, "stopped", json_str(&a, j->uid));
    record_write_put(out, line);
}

/* All samples at once: a history keeps only some, which is enough. */
void record_put_use(struct buf *out, const struct history_pod *p)
{
    buf_str(out, STR("{\"use\":"));
    json_print_str(out, p->uid);
    buf_fmt(out, ",\"peak\":%lld,\"samples\":[", (long long)p->memory_peak_bytes);
    VEC_FOREACH(s, &p->samples)
        buf_fmt(out, "%s[%lld,%lld,%lld]", s == p->samples.v ? "" : ",", (long long)s->at_ms, (long long)s->cpu_us,
                (long long)s->memory_bytes);
    buf_str(out, STR("]}\n"));
}

void record_put_end(struct buf *out, const struct scrub *s, const struct record_end *e)
{
    autoarena a = { 0 };
    struct json *line = record_write_begin(&a, e->end_ms), *end = json_object(&a);

    json_set(end, "status", json_int(&a, e->status));
    json_set(end, "begin", json_int(&a, e->begin_ms));
    json_set(end, "reason", json_str(&a, record_write_clean(&a, s, e->reason)));
    json_set(end, "dropped", json_int(&a, e->log_dropped));
    json_set(end, "noLog", json_bool_new(&a, e->has_no_log));
    json_set(end, "cut", json_bool_new(&a, e->is_cut));
    json_set(line, "end", end);
    json_set(line, "summary", json_str(&a, record_write_clean(&a, s, e->summary)));
    record_write_put(out, line);
}

/* ---- lines of containers ---- fields with tabs between, and the text as it is ---- */

void record_put_line(struct buf *out, const struct record_line *l)
{
    buf_fmt(out, "%lld\t%lld\t%.*s\t%.*s\t%.*s\t%c\t", (long long)l->fact, (long long)l->at_ms, STR_ARG(l->uid),
            STR_ARG(l->label), STR_ARG(l->container), l->is_error ? 'e' : 'o');
    buf_str(out, l->text);
    buf_char(out, '\n');
}

bool record_next_line(struct str *rest, struct record_line *ret)
{
    struct str line, field[6];
    bool is_good;

    do {
        if (!str_split(rest, '\n', &line))
            return false;
        is_good = true;
        for (size_t i = 0; i < ARRAY_LEN(field) && is_good; i++)
            is_good = str_has_char(line, '\t') && str_split(&line, '\t', &field[i]);
        is_good = is_good && str_to_i64(field[0], &ret->fact) == 0 && str_to_i64(field[1], &ret->at_ms) == 0;
    } while (!is_good); /* one that breaks off */
    ret->uid = field[2];
    ret->label = field[3];
    ret->container = field[4];
    ret->is_error = str_is(field[5], "e");
    ret->text = line;
    return true;
}
