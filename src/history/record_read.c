/* record_read.c - a run from its record: the facts again, in their order */
#include "history/record.h"

#include "base/util.h"

struct record_read_reading {
    struct record *r;
    struct str logs;
    struct record_line next;
    bool has_next;
    int64_t n_facts;
};

/* ---- one line ---- */

static void read_head(const struct json *line, struct record *r)
{
    r->head.id = json_member_text(line, "id");
    r->head.version = json_member_text(line, "version");
    r->head.directory = json_member_text(line, "directory");
    r->head.files = json_get(line, "files");
    r->head.names = json_get(line, "names");
    r->head.begin_ms = json_i64(json_get(line, "begin"), 0);
    r->head.n_jobs = (size_t)MAX_OF(json_i64(json_get(line, "jobs"), 1), 0);
    r->head.has_namespaces = json_bool(json_get(line, "namespaces"), false);
    r->head.is_shared = json_bool(json_get(line, "shared"), false);
}

static void read_end(const struct json *line, struct record *r)
{
    const struct json *end = json_get(line, "end");

    r->has_ended = true;
    r->end = (struct record_end){ .status = json_i64(json_get(end, "status"), 0),
                                  .begin_ms = json_i64(json_get(end, "begin"), r->head.begin_ms),
                                  .end_ms = json_i64(json_get(line, "t"), 0),
                                  .reason = json_member_text(end, "reason"),
                                  .summary = json_member_text(line, "summary"),
                                  .log_dropped = json_i64(json_get(end, "dropped"), 0),
                                  .has_no_log = json_bool(json_get(end, "noLog"), false),
                                  .is_cut = json_bool(json_get(end, "cut"), false) };
}

static int check_head(const struct json *line, struct err *e)
{
    int64_t form = json_i64(json_get(line, "pumice"), 0);

    if (!json_is(line, JSON_OBJECT) || form < 1)
        return err_set(e, ERR_INVALID, "not a record of a run");
    if (form > RECORD_FORM)
        return err_set(e, ERR_INVALID, "it was written by a newer version of pumice (%.*s)",
                       STR_ARG(json_member_text(line, "version")));
    return 0;
}

static void read_object(struct record *r, const struct json *root, bool is_gone, int64_t now_ms)
{
    const struct resource_type *type = type_by_kind(json_member_text(root, "apiVersion"),
                                                    json_member_text(root, "kind"));
    autounref struct object *o = type ? object_make(type, root, 1) : NULL;

    if (o)
        history_changed(r->history, o, is_gone, now_ms);
}

static void read_use(struct record *r, const struct json *line)
{
    struct str uid = json_member_text(line, "use");

    JSON_FOREACH(s, json_get(line, "samples"))
        history_usage(r->history, uid,
                      (struct history_sample){ .at_ms = json_i64(json_at(s, 0), 0),
                                               .cpu_us = json_i64(json_at(s, 1), -1),
                                               .memory_bytes = json_i64(json_at(s, 2), -1) },
                      -1);
    history_usage(r->history, uid, (struct history_sample){ .cpu_us = -1, .memory_bytes = -1 },
                  json_i64(json_get(line, "peak"), 0));
}

static void read_fact(struct record *r, const struct json *line)
{
    int64_t now_ms = json_i64(json_get(line, "t"), 0);
    struct history_job *j;

    if (json_get(line, "put"))
        read_object(r, json_get(line, "put"), false, now_ms);
    else if (json_get(line, "gone"))
        read_object(r, json_get(line, "gone"), true, now_ms);
    else if (json_get(line, "note"))
        history_note(r->history, json_member_text(line, "note"), now_ms);
    else if (json_get(line, "use"))
        read_use(r, line);
    else if (json_get(line, "stopped") && (j = map_get(&r->history->jobs_uid, json_member_text(line, "stopped"))))
        history_stopped(j);
    else if (json_get(line, "why") && (j = map_get(&r->history->jobs_uid, json_member_text(line, "job"))))
        (void)history_why(r->history, j, (enum why_kind)json_i64(json_get(line, "kind"), WHY_NOT),
                          json_member_text(line, "why"), now_ms);
}

/* ---- all of it ---- */

/* What containers wrote before this fact. */
static void catch_up(struct record_read_reading *d, int64_t fact)
{
    while (d->has_next && d->next.fact < fact) {
        history_output(d->r->history, d->next.uid, d->next.container, d->next.text, false);
        d->has_next = record_next_line(&d->logs, &d->next);
    }
}

static void read_line(struct arena *a, struct record_read_reading *d, struct str text)
{
    struct json *line;

    if (!text.n)
        return;
    if (json_parse(a, text, NULL, &line, NULL) < 0) {
        d->r->n_bad++;
        return;
    }
    if (json_get(line, "documents")) {
        d->r->documents = json_get(line, "documents");
        return;
    }
    if (json_get(line, "end")) {
        read_end(line, d->r);
        return;
    }
    catch_up(d, ++d->n_facts);
    read_fact(d->r, line);
    if (!d->r->has_ended)
        d->r->end.end_ms = MAX_OF(d->r->end.end_ms, json_i64(json_get(line, "t"), 0));
}

int record_read_ends(struct arena *a, struct str first, struct str last, struct record *ret, struct err *e)
{
    struct json *line;

    *ret = (struct record){ 0 };
    if (json_parse(a, first, NULL, &line, e) < 0 || check_head(line, e) < 0)
        return -1;
    read_head(line, ret);
    ret->end.end_ms = ret->end.begin_ms = ret->head.begin_ms;
    if (json_parse(a, last, NULL, &line, NULL) == 0 && json_get(line, "end"))
        read_end(line, ret);
    else if (json_is(line, JSON_OBJECT))
        ret->end.end_ms = json_i64(json_get(line, "t"), ret->head.begin_ms);
    return 0;
}

int record_read(struct arena *a, struct str facts, struct str logs, struct record *ret, struct err *e)
{
    struct record_read_reading d = { .r = ret, .logs = logs };
    struct history_options opt = { 0 };
    struct str line;

    if (!str_split(&facts, '\n', &line))
        return err_set(e, ERR_INVALID, "not a record of a run");
    if (record_read_ends(a, line, STR("{}"), ret, e) < 0)
        return -1;
    ret->logs = logs;
    opt.begin_ms = ret->head.begin_ms;
    opt.n_jobs = ret->head.n_jobs;
    opt.has_namespaces = ret->head.has_namespaces;
    opt.is_shared = ret->head.is_shared;
    ret->history = history_new(&opt);
    d.has_next = record_next_line(&d.logs, &d.next);
    while (str_split(&facts, '\n', &line))
        read_line(a, &d, line);
    catch_up(&d, INT64_MAX);
    history_finish(ret->history, ret->end.end_ms);
    return 0;
}

void record_done(struct record *r)
{
    history_free(r->history);
}
