/* recorder.c - writes down what a run leaves to be looked at later: lines as history/record.h has them
 *
 * Facts are written at the end of each turn, so a run that is killed has a record up to then. Nothing of it holds the
 * run up or ends it: if it cannot be written, a notice says so once.
 */
#include "program/run/recorder.h"

#include "api/meta.h"
#include "base/clock.h"
#include "base/util.h"
#include "cli/mask.h"
#include "cli/records.h"
#include "program/run/run.h"
#include "os/io.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

enum {
    LINE_MAX_BYTES = 64 << 10, /* of one line of output */
    DOCUMENTS_MAX = 1 << 20,
    SUMMARY_MAX = 64 << 10,
};

struct recorder_part {        /* of a line that is not finished */
    struct agent_output line; /* the newest part; its names are ours */
    struct buf text;
};

struct run_recorder {
    struct arena arena;
    struct str id;
    int home; /* the directory of all; -1: there is none */
    struct record_files files;
    struct scrub scrub;
    struct buf facts, lines; /* to be written */
    struct buf key, clean;   /* scratch: lines are many */
    int64_t n_facts, facts_bytes, log_bytes, old_bytes, dropped;
    bool has_no_log, is_cut;
    bool is_off;      /* nothing more is written */
    struct map parts; /* struct recorder_part by pod, container and stream */
    struct err trouble;
};

struct run_recorder *run_recorder_find(const struct run_options *o)
{
    struct run_recorder *c;

    if (o->no_record)
        return NULL;
    c = xcalloc(1, sizeof(*c));
    c->files = (struct record_files){ -1, -1, -1 };
    c->has_no_log = o->no_record_logs;
    map_init(&c->parts, map_seed_default());
    map_init(&c->scrub.known, map_seed_default());
    c->home = -1;
    if (records_open(&c->arena, true, &c->home, &c->trouble) < 0)
        c->is_off = true;
    return c;
}

void run_recorder_free(struct run_recorder *c)
{
    if (!c)
        return;
    MAP_FOREACH(struct recorder_part *, part, &c->parts)
        buf_done(&part->text);
    map_done(&c->parts);
    scrub_done(&c->scrub);
    buf_done(&c->facts);
    buf_done(&c->lines);
    buf_done(&c->key);
    buf_done(&c->clean);
    for (int *const fds[] = { &c->home, &c->files.dir, &c->files.facts, &c->files.log }, *const *fd = fds;
         fd < fds + ARRAY_LEN(fds); fd++)
        if (**fd >= 0)
            close(**fd);
    arena_done(&c->arena);
    free(c);
}

/* ---- writing ---- */

static void recorder_fail(struct run *r, const char *what)
{
    struct run_recorder *c = r->recorder;

    if (c->is_off)
        return;
    c->is_off = true;
    run_notice(r, arena_fmt(r->arena, "the record of this run %s (--no-record: without one)", what));
}

/* The older half goes when the newer one is full. */
static int turn_over(struct run_recorder *c)
{
    if (c->files.log >= 0)
        close(c->files.log);
    c->files.log = -1;
    c->dropped += c->old_bytes;
    c->old_bytes = c->log_bytes;
    c->log_bytes = 0;
    if (c->old_bytes && renameat(c->files.dir, "log", c->files.dir, "log.old") < 0)
        return -1;
    c->files.log = openat(c->files.dir, "log", O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
    return c->files.log < 0 ? -1 : 0;
}

static int write_lines(struct run_recorder *c)
{
    if (!c->lines.n)
        return 0;
    if ((c->files.log < 0 || c->log_bytes + (int64_t)c->lines.n > RECORD_LOG_MAX) && turn_over(c) < 0)
        return -1;
    c->log_bytes += (int64_t)c->lines.n;
    return write_all(c->files.log, buf_view(&c->lines));
}

void run_record_flush(struct run *r)
{
    struct run_recorder *c = r->recorder;
    bool is_bad;

    if (!c || c->is_off)
        return;
    is_bad = (c->facts.n && write_all(c->files.facts, buf_view(&c->facts)) < 0) || write_lines(c) < 0;
    if (is_bad)
        recorder_fail(r, arena_fmt(r->arena, "ends here: %s", strerror(errno)).p);
    buf_reset(&c->facts);
    buf_reset(&c->lines);
}

/* May another fact be written? Then count it. */
static bool is_room(struct run_recorder *c, size_t before)
{
    c->facts_bytes += (int64_t)(c->facts.n - before);
    c->n_facts++;
    c->is_cut |= c->facts_bytes > RECORD_FACTS_MAX;
    return !c->is_cut;
}

static struct run_recorder *recorder_wanted(struct run *r)
{
    return r->recorder && !r->recorder->is_off && !r->recorder->is_cut ? r->recorder : NULL;
}

void run_record_object(struct run *r, const struct object *o, bool is_gone, int64_t now_ms)
{
    struct run_recorder *c = recorder_wanted(r);
    size_t n;

    if (!c)
        return;
    if (strcmp(o->type->kind, "Secret") == 0 && !is_gone)
        scrub_add_secret(&c->scrub, o->root);
    n = c->facts.n;
    if (record_put_object(&c->facts, &c->scrub, o, is_gone, now_ms))
        (void)is_room(c, n); /* the next one will not be written */
}

void run_record_note(struct run *r, struct str sentence, int64_t now_ms)
{
    struct run_recorder *c = recorder_wanted(r);
    size_t n = c ? c->facts.n : 0;

    if (!c)
        return;
    record_put_note(&c->facts, &c->scrub, sentence, now_ms);
    (void)is_room(c, n);
}

void run_record_why(struct run *r, const struct history_job *j, int64_t now_ms)
{
    struct run_recorder *c = recorder_wanted(r);
    size_t n = c ? c->facts.n : 0;

    if (!c)
        return;
    record_put_why(&c->facts, j, now_ms);
    (void)is_room(c, n);
}

void run_record_stopped(struct run *r, const struct history_job *j)
{
    struct run_recorder *c = recorder_wanted(r);
    size_t n = c ? c->facts.n : 0;

    if (!c)
        return;
    record_put_stopped(&c->facts, j, clock_now_ms(r->clock));
    (void)is_room(c, n);
}

void run_record_pod(struct run *r, const struct history_pod *p)
{
    struct run_recorder *c = recorder_wanted(r);
    size_t n = c ? c->facts.n : 0;

    if (!c || !state_is_over(p->state))
        return;
    record_put_use(&c->facts, p);
    (void)is_room(c, n);
}

/* ---- what containers write ---- */

static void recorder_put_line(struct run *r, const struct agent_output *line, struct str text)
{
    struct run_recorder *c = r->recorder;
    const struct history_pod *p = history_pod(r->history, line->uid);
    struct record_line l = { .fact = c->n_facts,
                             .at_ms = line->at_ms,
                             .uid = line->uid,
                             .label = p ? p->label : line->pod,
                             .container = line->container,
                             .is_error = line->stream == CONLOG_STDERR };

    buf_reset(&c->clean);
    c->dropped += text.n > LINE_MAX_BYTES ? (int64_t)text.n - LINE_MAX_BYTES : 0;
    scrub_text(&c->scrub, &c->clean, str_sub(text, 0, LINE_MAX_BYTES));
    for (size_t i = 0; i < c->clean.n; i++) /* a line that came with others in it would be several */
        c->clean.p[i] = c->clean.p[i] == '\n' ? ' ' : c->clean.p[i];
    l.text = buf_view(&c->clean);
    record_put_line(&c->lines, &l);
    if (c->lines.n > RECORD_LOG_MAX / 8)
        run_record_flush(r);
}

static void recorder_put_part(struct run *r, struct recorder_part *part)
{
    recorder_put_line(r, &part->line, buf_view(&part->text));
    buf_reset(&part->text);
}

/* A line that comes in parts is put together first: a secret may lie across two of them. */
void run_record_line(struct run *r, const struct agent_output *line)
{
    struct run_recorder *c = r->recorder;
    struct recorder_part *part;

    if (!c || c->is_off || c->has_no_log)
        return;
    buf_reset(&c->key);
    buf_fmt(&c->key, "%.*s/%.*s/%d", STR_ARG(line->uid), STR_ARG(line->container), (int)line->stream);
    part = map_get(&c->parts, buf_view(&c->key));
    if (!part && !line->is_partial) {
        recorder_put_line(r, line, line->text);
        return;
    }
    if (!part) {
        part = arena_new(&c->arena, struct recorder_part);
        part->line = (struct agent_output){ .pod = arena_str(&c->arena, line->pod),
                                            .uid = arena_str(&c->arena, line->uid),
                                            .container = arena_str(&c->arena, line->container),
                                            .stream = line->stream };
        map_put(&c->parts, arena_str(&c->arena, buf_view(&c->key)), part);
    }
    part->line.at_ms = line->at_ms;
    if (part->text.n <= LINE_MAX_BYTES)
        buf_str(&part->text, line->text);
    else
        c->dropped += (int64_t)line->text.n;
    if (!line->is_partial)
        recorder_put_part(r, part);
}

/* ---- what was run ---- */

/* Mask secret values wherever there are environment variables. */
static void mask_variables(struct run_recorder *c, struct arena *a, struct json *j)
{
    struct json *env = json_is(j, JSON_OBJECT) ? json_get(j, "env") : NULL;

    JSON_FOREACH(v, env) {
        struct json *value = json_is(v, JSON_OBJECT) ? json_get(v, "value") : NULL;

        if (value && scrub_is_private(json_member_text(v, "name"))) {
            scrub_add(&c->scrub, json_text(value, STR_NULL));
            json_set(v, "value", json_str(a, STR("(hidden)")));
        }
    }
    if (json_is(j, JSON_OBJECT) || json_is(j, JSON_ARRAY))
        JSON_FOREACH(m, j)
            mask_variables(c, a, m);
}

static void put_documents(struct run_recorder *c, const struct load *l)
{
    autoarena a = { 0 };
    struct json *list = json_array(&a);
    autobuf text = { 0 };

    VEC_FOREACH(doc, &l->docs)
        if (str_is(object_kind((*doc)->root), "Secret"))
            scrub_add_secret(&c->scrub, (*doc)->root);
    VEC_FOREACH(doc, &l->docs) {
        struct json *copy = json_copy(&a, (*doc)->root);

        mask_object(&a, copy);
        mask_variables(c, &a, copy);
        json_push(list, copy);
    }
    scrub_tree(&c->scrub, &a, list); /* when all secrets are known */
    record_put_documents(&text, list);
    if (text.n <= DOCUMENTS_MAX)
        buf_str(&c->facts, buf_view(&text));
}

static void recorder_put_head(struct run *r, const struct load *l)
{
    struct run_recorder *c = r->recorder;
    autoarena a = { 0 };
    char here[PATH_MAX] = "";
    struct json *files = json_array(&a), *names = json_array(&a);
    struct record_head head = { .id = c->id,
                                .version = STR(PUMICE_VERSION),
                                .begin_ms = r->history->begin_ms,
                                .n_jobs = r->history->n_jobs,
                                .has_namespaces = r->history->has_namespaces,
                                .is_shared = r->history->is_shared,
                                .files = files,
                                .names = names };
    const char *last = NULL;

    head.directory = str_of(getcwd(here, sizeof(here)) ? here : "");
    VEC_FOREACH(doc, &l->docs) {
        if ((*doc)->file && (!last || strcmp(last, (*doc)->file) != 0))
            json_push(files, json_str(&a, str_of((*doc)->file)));
        last = (*doc)->file;
        if ((*doc)->set || (l->docs.n == 1 && json_count(names) == 0))
            json_push(names, json_str(&a, object_name((*doc)->root)));
    }
    record_put_head(&c->facts, &head);
}

void run_record_begin(struct run *r, const char *id, const struct load *l)
{
    struct run_recorder *c = r->recorder;
    autobuf early = { 0 };
    struct err e;

    if (!c)
        return;
    if (c->is_off) {
        c->is_off = false;
        recorder_fail(r, arena_fmt(r->arena, "cannot be created: %s", c->trouble.text).p);
        return;
    }
    c->id = arena_str(&c->arena, str_of(id));
    if (records_new(&c->arena, c->home, &c->id, &c->files, &e) < 0) {
        recorder_fail(r, arena_fmt(r->arena, "cannot be created: %s", e.text).p);
        return;
    }
    early = c->facts; /* notices that came before it had an id */
    c->facts = (struct buf){ 0 };
    recorder_put_head(r, l);
    put_documents(c, l);
    buf_str(&c->facts, buf_view(&early));
    run_record_flush(r);
}

void run_record_end(struct run *r, int status)
{
    struct run_recorder *c = r->recorder;
    struct record_end end = {
        .status = status, .begin_ms = r->end.begin_ms, .end_ms = r->end.end_ms, .reason = r->end.reason
    };
    autobuf summary = { 0 };

    if (!c || c->is_off)
        return;
    VEC_FOREACH(p, &r->history->pods)
        if (!c->is_cut) /* there may be more than when it ended */
            record_put_use(&c->facts, *p);
    MAP_FOREACH(struct recorder_part *, part, &c->parts)
        if (part->text.n) /* a line without a newline yet */
            recorder_put_part(r, part);
    run_summary(&summary, r->history, &r->end, &(struct run_summary_options){ .hints = r->hints });
    end.summary = str_sub(buf_view(&summary), 0, SUMMARY_MAX);
    end.log_dropped = c->dropped;
    end.has_no_log = c->has_no_log;
    end.is_cut = c->is_cut;
    record_put_end(&c->facts, &c->scrub, &end);
    run_record_flush(r);
}
