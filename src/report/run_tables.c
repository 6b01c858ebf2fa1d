/* run_tables.c - the report's tables: jobs, waits, pods, warnings, notices */
#include "report/report_internal.h"

#include "base/clock.h"
#include "base/span.h"
#include "base/util.h"
#include "report/draw.h"
#include "base/term.h"

enum {
    PODS_SHOWN = 100,   /* at once; more unfold … */
    PODS_LISTED = 2500, /* … and the chart has no more than these */
    ROWS_SHOWN = 60,    /* of other tables */
};

void page_more(struct buf *out, size_t n, size_t shown)
{
    if (n > shown)
        buf_fmt(out, "<p class=\"d\">and %zu more</p>\n", n - shown);
}

void page_id(struct buf *out, char what, const struct history_pod *p)
{
    buf_fmt(out, " id=\"%c-", what);
    markup_text(out, p->uid);
    buf_char(out, '"');
}

void page_time(struct buf *out, const struct history *h, int64_t at_ms)
{
    autobuf clock = { 0 };

    if (at_ms < 0) {
        history_offset(out, h, at_ms);
        return;
    }
    clock_print_us(&clock, at_ms * 1000);
    buf_fmt(out, "<span class=\"t\" title=\"%.23sZ\">", clock.p); /* milliseconds */
    history_offset(out, h, at_ms);
    buf_str(out, STR("</span>"));
}

/* To what else the page has of this pod. */
static void link_to(struct buf *out, char what, const struct history_pod *p, struct str text)
{
    buf_fmt(out, "<a href=\"#%c-", what);
    markup_text(out, p->uid);
    buf_str(out, STR("\">"));
    markup_text(out, text);
    buf_str(out, STR("</a>"));
}

static void cell_text(struct buf *out, struct str text)
{
    buf_str(out, STR("<td>"));
    markup_text(out, text);
    buf_str(out, STR("</td>"));
}

static void cell_time(struct buf *out, const struct history *h, int64_t at_ms)
{
    buf_str(out, STR("<td class=\"n\">"));
    page_time(out, h, at_ms);
    buf_str(out, STR("</td>"));
}

static void result(struct buf *out, const struct history_pod *p)
{
    static const char *const colours[POD_END_MAX] = { "--open", "--ok", "--fail", "--kill" };
    autobuf reason = { 0 };

    buf_fmt(out, "<td><span class=\"dot\" style=\"background:var(%s)\"></span>%s", colours[p->end],
            pod_end_names[p->end]);
    if (p->end == END_FAILED) {
        VEC_FOREACH(c, &p->containers)
            if ((*c)->attempts.n && (*c)->attempts.v[(*c)->attempts.n - 1].is_failed && reason.n == 0)
                attempt_reason(&reason, &(*c)->attempts.v[(*c)->attempts.n - 1]);
        if (reason.n == 0)
            buf_str(&reason, p->reason);
        buf_str(out, reason.n ? STR(": ") : STR(""));
        markup_text(out, str_cut(buf_view(&reason), 40));
    }
    buf_str(out, STR("</td>"));
}

static void pod_row(struct buf *out, const struct history *h, const struct history_pod *p, bool with_use)
{
    buf_str(out, STR("<tr"));
    page_id(out, 'p', p);
    buf_str(out, STR("><td>"));
    link_to(out, 'b', history_pod_named(h, p->namespace, p->name), p->name); /* pods of one name share a bar */
    if (page_has_output(p)) {
        buf_char(out, ' ');
        link_to(out, 'o', p, STR("output"));
    }
    buf_str(out, STR("</td>"));
    result(out, p);
    cell_time(out, h, p->created_ms);
    cell_time(out, h, p->scheduled_ms);
    cell_time(out, h, p->started_ms);
    cell_time(out, h, p->ready.n ? p->ready.v[0].from_ms : -1);
    cell_time(out, h, p->ended_ms);
    buf_str(out, STR("<td class=\"n\">"));
    if (p->started_ms >= 0)
        span_print_fine(out, MAX_OF(pod_until_ms(h, p) - p->started_ms, 0));
    else
        buf_str(out, STR("–"));
    buf_fmt(out, "</td><td class=\"n\">%lld</td>", (long long)pod_restarts(p));
    if (with_use)
        report_sparks(out, h, p);
    buf_str(out, STR("</tr>\n"));
}

static void pods_table(struct buf *out, const struct history *h, const struct history_pod *const *pods, size_t n,
                       bool with_use)
{
    buf_str(out,
            STR("<div class=\"wide\"><table><tr><th>Pod</th><th>Result</th><th class=\"n\">Created</th>"
                "<th class=\"n\">Scheduled</th><th class=\"n\">Started</th><th class=\"n\">Ready</th><th class=\"n\">"
                "Ended</th><th class=\"n\">Ran</th><th class=\"n\">Restarts</th>"));
    if (with_use)
        buf_str(out, STR("<th class=\"n\">Cpu</th><th></th><th class=\"n\">Memory</th><th></th>"));
    buf_str(out, STR("</tr>\n"));
    for (size_t i = 0; i < n; i++)
        pod_row(out, h, pods[i], with_use);
    buf_str(out, STR("</table></div>\n"));
}

/* Failed ones first: where the table is cut, they are there. */
void page_pods_table(struct buf *out, const struct history *h)
{
    autoarena a = { 0 };
    const struct history_pod **pods = arena_alloc(&a, (h->pods.n + 1) * sizeof(*pods));
    size_t n = 0, shown = MIN_OF(h->pods.n, (size_t)PODS_SHOWN), listed = MIN_OF(h->pods.n, (size_t)PODS_LISTED);

    for (int failed = 1; failed >= 0; failed--)
        for (size_t i = 0; i < h->pods.n; i++)
            if ((h->pods.v[i]->end == END_FAILED) == failed)
                pods[n++] = h->pods.v[i];
    if (n == 0)
        return;
    buf_str(out, STR("<h2>Pods</h2>\n"));
    pods_table(out, h, pods, shown, report_has_use(h));
    if (listed > shown) {
        buf_fmt(out, "<details><summary>%zu more</summary>\n", listed - shown);
        pods_table(out, h, pods + shown, listed - shown, false);
        buf_str(out, STR("</details>\n"));
    }
    page_more(out, n, listed);
}

void page_jobs_table(struct buf *out, const struct history *h)
{
    size_t shown = MIN_OF(h->jobs.n, (size_t)PODS_SHOWN);

    if (h->jobs.n < 2)
        return;
    buf_str(out, STR("<h2>Jobs</h2>\n<table><tr><th>Job</th><th>Queue</th><th class=\"n\">Submitted</th><th>How it went"
                     "</th></tr>\n"));
    for (size_t i = 0; i < shown; i++) {
        const struct history_job *j = h->jobs.v[i];
        autobuf verdict = { 0 };

        job_verdict(&verdict, h, j);
        buf_str(out, STR("<tr>"));
        cell_text(out, j->name);
        cell_text(out, j->queue);
        cell_time(out, h, j->submitted_ms);
        buf_fmt(out, "<td class=\"text %s\">", job_is_ok(j) ? "good" : job_is_final(j) ? "bad" : "d");
        markup_text(out, str_cut(buf_view(&verdict), 400));
        buf_str(out, STR("</td></tr>\n"));
    }
    buf_str(out, STR("</table>\n"));
    page_more(out, h->jobs.n, shown);
}

void page_waits_table(struct buf *out, const struct history *h)
{
    size_t n = 0;

    for (size_t i = 0; i < h->jobs.n; i++)
        VEC_FOREACH(w, &h->jobs.v[i]->waits) {
            if (w->until_ms == w->from_ms || n++ >= ROWS_SHOWN)
                continue;
            if (n == 1)
                buf_str(out,
                        STR("<h2>Why it waited</h2>\n<table><tr><th>Job</th><th class=\"n\">From</th><th class=\"n\">To"
                            "</th><th>Reason</th></tr>\n"));
            buf_str(out, STR("<tr>"));
            cell_text(out, h->jobs.v[i]->name);
            cell_time(out, h, w->from_ms);
            cell_time(out, h, w->until_ms < 0 ? history_end_ms(h) : w->until_ms);
            buf_str(out, STR("<td class=\"text\"><b>"));
            markup_text(out, w->reason);
            buf_str(out, STR("</b> "));
            markup_text(out, w->message);
            buf_str(out, STR("</td></tr>\n"));
        }
    if (n)
        buf_str(out, STR("</table>\n"));
    page_more(out, n, ROWS_SHOWN);
}

void page_warnings_table(struct buf *out, const struct history *h)
{
    size_t shown = MIN_OF(h->warnings.n, (size_t)ROWS_SHOWN);

    if (h->warnings.n == 0)
        return;
    buf_str(out,
            STR("<h2>Warnings</h2>\n<table><tr><th class=\"n\">Last</th><th>About</th><th>Reason</th><th>Message</th>"
                "</tr>\n"));
    for (size_t i = 0; i < shown; i++) {
        const struct history_warning *w = &h->warnings.v[i];

        buf_str(out, STR("<tr>"));
        cell_time(out, h, w->at_ms);
        cell_text(out, w->name);
        cell_text(out, w->reason);
        buf_str(out, STR("<td class=\"text\">"));
        markup_text(out, w->message);
        if (w->count > 1)
            buf_fmt(out, " <span class=\"d\">(%lld times)</span>", (long long)w->count);
        buf_str(out, STR("</td></tr>\n"));
    }
    buf_str(out, STR("</table>\n"));
    page_more(out, h->warnings.n, shown);
}

void page_notices(struct buf *out, const struct history *h)
{
    size_t shown = MIN_OF(h->notes.n, (size_t)ROWS_SHOWN);

    if (h->notes.n == 0)
        return;
    buf_str(out, STR("<h2>Notices</h2>\n<ol class=\"list\">\n"));
    for (size_t i = 0; i < shown; i++) {
        buf_str(out, STR("<li><span></span><span class=\"d\">"));
        page_time(out, h, h->notes.v[i].at_ms);
        buf_str(out, STR("</span><span>"));
        markup_text(out, h->notes.v[i].text);
        buf_str(out, STR("</span></li>\n"));
    }
    buf_str(out, STR("</ol>\n"));
    page_more(out, h->notes.n, shown);
}
