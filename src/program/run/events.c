/* events.c - `pumice run -o json`: one JSON object on each line; docs/run.md describes them */
#include "program/run/events.h"

#include "base/clock.h"
#include "base/util.h"
#include "cli/hint.h"
#include "program/run/out.h"
#include "program/run/summary.h"
#include "program/run/written.h"
#include "history/failure.h"
#include "node/agent/agent.h"

/* Written straight into the queue: a line of output costs no tree. */

/* Many events share a millisecond. */
static void events_put_time(struct run_events *ev, struct buf *b, int64_t now_ms)
{
    if (ev->time_ms != now_ms || !ev->time_n) {
        autobuf text = { 0 };

        clock_print_us(&text, now_ms * 1000);
        ev->time_n = MIN_OF(text.n, sizeof(ev->time));
        memcpy(ev->time, text.p, ev->time_n);
        ev->time_ms = now_ms;
    }
    buf_append(b, ev->time, ev->time_n);
}

static struct buf *events_begin(struct run_events *ev, const char *type, int64_t now_ms)
{
    struct buf *b = &ev->out->queue;

    buf_str(b, STR("{\"type\":\""));
    buf_str(b, str_of(type));
    buf_str(b, STR("\",\"time\":\""));
    events_put_time(ev, b, now_ms);
    buf_char(b, '"');
    return b;
}

static void events_end(struct buf *b)
{
    buf_str(b, STR("}\n"));
}

static void events_text(struct buf *b, const char *key, struct str value)
{
    buf_fmt(b, ",\"%s\":", key);
    json_print_str(b, value);
}

static void text_if(struct buf *b, const char *key, struct str value)
{
    if (value.n)
        events_text(b, key, value);
}

static void events_number(struct buf *b, const char *key, int64_t value)
{
    buf_fmt(b, ",\"%s\":%lld", key, (long long)value);
}

static void pod_names(struct buf *b, const struct history_pod *p)
{
    if (!p)
        return;
    if (p->job)
        events_text(b, "job", p->job->name);
    if (p->task)
        events_text(b, "task", p->task->name);
    if (p->index >= 0)
        events_number(b, "index", p->index);
}

void run_event_start(struct run_events *ev, const char *id, const struct load *l, int64_t now_ms)
{
    struct buf *b = events_begin(ev, "start", now_ms);
    bool any = false;

    events_text(b, "run", str_of(id));
    buf_str(b, STR(",\"jobs\":["));
    for (size_t i = 0; i < l->docs.n; i++) {
        const struct job *job = &l->docs.v[i]->job;

        if (!l->docs.v[i]->set)
            continue;
        buf_fmt(b, "%s{\"namespace\":", any ? "," : "");
        json_print_str(b, job->meta.namespace);
        events_text(b, "job", job->meta.name);
        buf_str(b, STR(",\"tasks\":["));
        for (size_t k = 0; k < job->spec.tasks.n; k++) {
            buf_fmt(b, "%s{\"task\":", k ? "," : "");
            json_print_str(b, job->spec.tasks.v[k].name);
            events_number(b, "replicas", job->spec.tasks.v[k].replicas);
            buf_char(b, '}');
        }
        buf_str(b, STR("]}"));
        any = true;
    }
    buf_char(b, ']');
    events_end(b);
}

static void job_fields(struct buf *b, const struct history_job *j)
{
    events_text(b, "namespace", j->namespace);
    events_text(b, "job", j->name);
    events_text(b, "phase", str_of(job_phase_shown(j)));
    text_if(b, "reason", j->reason);
    text_if(b, "message", j->message);
    if (j->retries)
        events_number(b, "retries", j->retries);
}

void run_event_job(struct run_events *ev, const struct history_job *j, int64_t now_ms)
{
    struct buf *b = events_begin(ev, "job", now_ms);

    job_fields(b, j);
    events_end(b);
}

void run_event_pod(struct run_events *ev, const struct history_pod *p, int64_t now_ms)
{
    struct buf *b = events_begin(ev, "pod", now_ms);

    events_text(b, "namespace", p->namespace);
    events_text(b, "pod", p->name);
    events_text(b, "uid", p->uid);
    pod_names(b, p);
    events_text(b, "state", str_of(history_state_names[p->state]));
    if (p->state == HISTORY_FAILED) {
        text_if(b, "container", p->failure.container);
        if (p->failure.exit_code)
            events_number(b, "exitCode", p->failure.exit_code);
        events_text(b, "reason", p->failure.reason);
        text_if(b, "message", p->failure.message);
    } else if (!state_is_over(p->state)) {
        if (p->waits.n)
            events_text(b, "reason", failure_reason(p->waits));
        text_if(b, "message", p->waits_why);
    }
    if (pod_main_restarts(p))
        events_number(b, "restarts", pod_main_restarts(p));
    events_end(b);
}

void run_event_names(struct buf *out, const struct history_pod *p, const struct agent_output *line)
{
    events_text(out, "namespace", line->namespace);
    events_text(out, "pod", line->pod);
    pod_names(out, p);
    events_text(out, "container", line->container);
}

void run_event_log(struct run_events *ev, const struct agent_output *line, struct str names, struct str written)
{
    struct buf *b = events_begin(ev, "log", line->at_ms);

    buf_str(b, names);
    buf_str(b, line->stream == CONLOG_STDERR ? STR(",\"stream\":\"stderr\",\"text\":")
                                             : STR(",\"stream\":\"stdout\",\"text\":"));
    json_print_str(b, written);
    if (!str_is_utf8(written)) { /* the text has U+FFFD for what is none: here are the bytes */
        buf_str(b, STR(",\"base64\":\""));
        buf_base64(b, written);
        buf_char(b, '"');
    }
    if (line->is_partial)
        buf_str(b, STR(",\"partial\":true"));
    events_end(b);
}

void run_event_decision(struct run_events *ev, const struct history_job *j, struct str reason, struct str message,
                        int64_t now_ms)
{
    struct buf *b = events_begin(ev, "decision", now_ms);

    events_text(b, "namespace", j->namespace);
    events_text(b, "job", j->name);
    events_text(b, "reason", reason);
    text_if(b, "message", message);
    events_end(b);
}

void run_event_timer(struct run_events *ev, const struct history_decision *d, int64_t now_ms)
{
    struct buf *b = events_begin(ev, "timer", now_ms);
    autobuf sentence = { 0 };

    events_text(b, "namespace", d->job->namespace);
    events_text(b, "job", d->job->name);
    text_if(b, "pod", d->pod);
    events_text(b, "action", d->action);
    decision_sentence(&sentence, d);
    events_text(b, "message", buf_view(&sentence));
    events_end(b);
}

void run_event_wait(struct run_events *ev, const struct history_job *j, int64_t now_ms)
{
    struct buf *b = events_begin(ev, "wait", now_ms);
    autobuf hint = { 0 };

    events_text(b, "namespace", j->namespace);
    events_text(b, "job", j->name);
    events_text(b, "reason", str_of(why_names[j->why]));
    events_text(b, "message", j->why_text);
    if (j->why == WHY_NEVER_FITS)
        hint_wait(&hint, ev->hints, j->namespace, j->name, j->why_text);
    text_if(b, "hint", buf_view(&hint));
    events_end(b);
}

void run_event_notice(struct run_events *ev, struct str sentence, int64_t now_ms)
{
    struct buf *b = events_begin(ev, "notice", now_ms);

    events_text(b, "text", sentence);
    events_end(b);
}

static void end_jobs(struct buf *b, const struct history *h)
{
    buf_str(b, STR(",\"jobs\":["));
    for (size_t i = 0; i < h->jobs.n; i++) {
        const struct history_job *j = h->jobs.v[i];
        autobuf fields = { 0 };

        job_fields(&fields, j);
        if (!job_is_ok(j) && j->failed)
            events_number(&fields, "exitCode", j->failed->failure.exit_code);
        buf_fmt(b, "%s{%s,\"tasks\":[", i ? "," : "", fields.p + 1);
        for (size_t k = 0; k < j->tasks.n; k++) {
            buf_fmt(b, "%s{\"task\":", k ? "," : "");
            json_print_str(b, j->tasks.v[k]->name);
            for (int s = 0; s < HISTORY_STATE_MAX; s++)
                events_number(b, history_state_names[s], j->tasks.v[k]->n[s]);
            buf_char(b, '}');
        }
        buf_str(b, STR("]}"));
    }
    buf_char(b, ']');
}

static void failure_fields(struct run_events *ev, struct buf *b, const struct history_failure *f)
{
    autobuf hint = { 0 };

    hint_failure(&hint, ev->hints, f);
    text_if(b, "container", f->container);
    if (f->exit_code >= 0)
        events_number(b, "exitCode", f->exit_code);
    events_text(b, "reason", f->reason);
    text_if(b, "message", f->message);
    events_number(b, "failures", f->failures);
    text_if(b, "hint", buf_view(&hint));
    events_text(b, "tail", f->tail);
}

void run_event_failure(struct run_events *ev, const struct history *h, const struct history_failure *f, int64_t now_ms)
{
    struct buf *b = events_begin(ev, "failure", now_ms);

    events_text(b, "namespace", f->namespace);
    events_text(b, "pod", f->pod);
    events_text(b, "uid", f->uid);
    pod_names(b, history_pod(h, f->uid));
    failure_fields(ev, b, f);
    events_end(b);
}

static void end_failed(struct run_events *ev, struct buf *b, const struct history *h)
{
    struct history_failure f;

    buf_str(b, STR(",\"failed\":["));
    for (size_t i = 0; history_failed(h, i, &f); i++) {
        buf_fmt(b, "%s{\"namespace\":", i ? "," : "");
        json_print_str(b, f.namespace);
        events_text(b, "pod", f.pod);
        text_if(b, "task", f.task);
        failure_fields(ev, b, &f);
        buf_char(b, '}');
    }
    buf_char(b, ']');
}

void run_event_end(struct run_events *ev, const struct history *h, const struct run_end *e)
{
    struct buf *b = events_begin(ev, "end", e->end_ms);

    events_number(b, "status", e->status);
    text_if(b, "reason", e->reason);
    text_if(b, "hint", e->hint);
    events_number(b, "milliseconds", e->end_ms - e->begin_ms);
    end_jobs(b, h);
    end_failed(ev, b, h);
    events_end(b);
}
