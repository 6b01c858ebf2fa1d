/* plan_page.c - the charts as one picture, and the page around them */
#include "report/plan_page.h"

#include "base/clock.h"
#include "base/util.h"
#include "report/plan_page_internal.h"
#include "base/term.h"

enum { HEAD = 46, SECTION = 34 };

/* ---- SVG ---- */

static void heading(struct buf *out, int y, const char *text)
{
    buf_fmt(out, "<text class=\"h\" x=\"16\" y=\"%d\">%s</text>\n", y, text);
}

void page_svg(struct buf *out, const struct history *h, const struct page_options *opt)
{
    autobuf body = { 0 };
    int y = HEAD;

    heading(&body, y + 12, "Jobs");
    y += chart_jobs(&body, h, y) + 4;
    heading(&body, y + 16, "Queues");
    y += SECTION;
    y += chart_queues(&body, h, y) + 4;
    heading(&body, y + 16, "Nodes");
    y += SECTION - 12;
    y += chart_nodes(&body, h, y);
    buf_fmt(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\">\n"
            "<style>%s</style>\n<rect class=\"bg\" width=\"100%%\" height=\"100%%\"/>\n",
            PAGE_WIDTH, y, PAGE_WIDTH, y, draw_style);
    buf_str(out, STR("<text class=\"t\" x=\"16\" y=\"30\">"));
    markup_text(out, opt->title);
    buf_str(out, STR("</text>\n"));
    buf_str(out, buf_view(&body));
    buf_str(out, STR("</svg>\n"));
}

/* ---- HTML ---- */

static void plan_page_card(struct buf *out, struct str value, const char *what)
{
    buf_str(out, STR("<div class=\"card\"><b>"));
    markup_text(out, value);
    buf_fmt(out, "</b><span>%s</span></div>\n", what);
}

static int64_t mean_wait(const struct history *h)
{
    int64_t sum = 0, n = 0;

    for (size_t i = 0; i < h->jobs.n; i++)
        if (!h->jobs.v[i]->was_over) {
            sum += job_wait_ms(h, h->jobs.v[i]);
            n++;
        }
    return n ? sum / n : 0;
}

static void span_card(struct buf *out, int64_t ms, const char *what)
{
    autobuf text = { 0 };

    page_span(&text, ms);
    plan_page_card(out, buf_view(&text), what);
}

static void percent_card(struct buf *out, const struct history *h)
{
    int dims[AMOUNT_DIMS], n = history_dims(h, dims);
    int64_t end = MAX_OF(history_last_end(h), h->begin_ms + 1);

    for (int i = 0; i < n && i < 3; i++) {
        autobuf value = { 0 }, what = { 0 };
        double sum = 0;

        for (size_t k = 0; k < h->nodes.n; k++)
            sum += place_mean(h->nodes.v[k], dims[i], h->begin_ms, end);
        if (h->total.v[dims[i]] <= 0)
            continue;
        buf_fmt(&value, "%.0f%%", 100 * sum / (double)h->total.v[dims[i]]);
        buf_str(&what, STR("of "));
        markup_text(&what, h->dims.names[dims[i]]);
        buf_str(&what, STR(" used on average"));
        plan_page_card(out, buf_view(&value), what.p);
    }
}

/* What one wants to know first: "The last job ends at +2h, 45m sooner." */
static void headline(struct buf *out, const struct history *h, const struct history *before)
{
    struct history_job now = { .finished_ms = history_last_end(h) }, old = { .finished_ms = -1 };
    autobuf gain = { 0 };

    buf_str(out, STR("<p class=\"headline\">"));
    if (now.finished_ms < 0) {
        buf_str(out, h->jobs.n ? STR("No job ends in this plan") : STR("There are no jobs"));
    } else {
        buf_str(out, STR("The last job ends at "));
        offset_print(out, h, now.finished_ms);
    }
    if (before) {
        old.finished_ms = history_last_end(before);
        gain_print(&gain, h, &now, before, &old);
        buf_str(out, gain.n ? STR(", ") : STR(", no sooner and no later"));
        buf_str(out, buf_view(&gain));
    }
    buf_str(out, STR(".</p>\n"));
}

static void plan_page_cards(struct buf *out, const struct history *h)
{
    int64_t end = history_last_end(h);
    size_t unfinished = 0;
    autobuf n = { 0 };

    for (size_t i = 0; i < h->jobs.n; i++)
        unfinished += h->jobs.v[i]->finished_ms < 0;
    buf_str(out, STR("<div class=\"cards\">\n"));
    buf_fmt(&n, "%zu", h->jobs.n);
    plan_page_card(out, buf_view(&n), h->jobs.n == 1 ? "job" : "jobs");
    if (unfinished) {
        buf_reset(&n);
        buf_fmt(&n, "%zu", unfinished);
        plan_page_card(out, buf_view(&n), "do not end in this plan");
    }
    span_card(out, end < 0 ? -1 : end - h->begin_ms, "until the last job ends");
    span_card(out, mean_wait(h), "average wait");
    percent_card(out, h);
    buf_str(out, STR("</div>\n"));
}

static void cell_offset(struct buf *out, const struct history *h, int64_t now_ms, const struct history *before,
                        int64_t before_ms)
{
    buf_str(out, STR("<td>"));
    if (before && (now_ms < 0) + (before_ms < 0) < 2 &&
        (now_ms - h->begin_ms != before_ms - before->begin_ms || (now_ms < 0) != (before_ms < 0))) {
        buf_str(out, STR("<span class=\"d\">"));
        offset_print(out, before, before_ms);
        buf_str(out, STR(" → </span>"));
    }
    offset_print(out, h, now_ms);
    buf_str(out, STR("</td>"));
}

static void job_row(struct buf *out, const struct history *h, const struct history_job *j,
                    const struct page_options *opt)
{
    static const struct history_job none = { .started_ms = -1, .finished_ms = -1 };
    const struct history_job *old = opt->before ? history_job(opt->before, j->namespace, j->name) : NULL;
    const struct history *before = opt->before;

    if (!old)
        old = &none;
    buf_str(out, STR("<tr><td>"));
    markup_text(out, j->name);
    buf_str(out, STR("</td><td>"));
    markup_text(out, j->queue);
    buf_fmt(out, "</td><td class=\"n\">%lld</td><td class=\"n\">%lld</td>", (long long)j->priority,
            (long long)j->n_pods);
    cell_offset(out, h, j->started_ms, before, old->started_ms);
    cell_offset(out, h, j->finished_ms, before, old->finished_ms);
    if (before) {
        buf_str(out, STR("<td class=\"change\">"));
        gain_print(out, h, j, before, old == &none ? NULL : old);
        buf_str(out, STR("</td>"));
    }
    buf_str(out, STR("<td>"));
    page_span(out, job_wait_ms(h, j));
    buf_str(out, STR("</td><td>"));
    page_span(out, job_run_ms(h, j));
    buf_str(out, STR("</td><td>"));
    buf_str(out, j->steps.n ? str_of(job_state_names[j->steps.v[j->steps.n - 1].state]) : STR(""));
    buf_str(out, STR("</td></tr>\n"));
}

static void jobs_table(struct buf *out, const struct history *h, const struct page_options *opt)
{
    buf_str(out, STR("<h2>When each job starts and ends</h2>\n<div "
                     "class=\"wide\"><table><tr><th>Job</th><th>Queue</th><th class=\"n\">Priority"
                     "</th><th class=\"n\">Pods</th><th>Start</th><th>End</th>"));
    if (opt->before)
        buf_str(out, STR("<th>Change</th>"));
    buf_str(out, STR("<th>Waits</th><th>Runs</th><th>At the end</th></tr>\n"));
    for (size_t i = 0; i < h->jobs.n; i++)
        job_row(out, h, h->jobs.v[i], opt);
    buf_str(out, STR("</table></div>\n"));
}

static void waits_table(struct buf *out, const struct history *h)
{
    bool any = false;

    for (size_t i = 0; i < h->jobs.n; i++)
        VEC_FOREACH(w, &h->jobs.v[i]->waits) {
            if (!any)
                buf_str(out, STR("<h2>Why jobs wait</h2>\n<div "
                                 "class=\"wide\"><table><tr><th>Job</th><th>From</th><th>To</th><th>Reason</th>"
                                 "</tr>\n"));
            any = true;
            buf_str(out, STR("<tr><td>"));
            markup_text(out, h->jobs.v[i]->name);
            buf_str(out, STR("</td><td>"));
            offset_print(out, h, w->from_ms);
            buf_str(out, STR("</td><td>"));
            if (w->until_ms < 0)
                buf_str(out, STR("end of the plan"));
            else
                offset_print(out, h, w->until_ms);
            buf_str(out, STR("</td><td>"));
            if (w->reason.n) {
                buf_str(out, STR("<b>"));
                markup_text(out, w->reason);
                buf_str(out, STR("</b> "));
            }
            markup_text(out, w->message.n ? w->message : STR("not known"));
            buf_str(out, STR("</td></tr>\n"));
        }
    if (any)
        buf_str(out, STR("</table></div>\n"));
}

static void chart(struct buf *out, const char *title, int (*draw)(struct buf *out, const struct history *h, int y),
                  const struct history *h)
{
    buf_fmt(out, "<h2>%s</h2>\n<div class=\"chart\">\n", title);
    (void)draw(out, h, 0); /* on the page each chart has a place of its own */
    buf_str(out, STR("</div>\n"));
}

static void key(struct buf *out)
{
    buf_str(out,
            STR("<p class=\"key\"><span><i class=\"w\" style=\"background:var(--wait)\"></i>waits for its queue"
                "</span><span><i style=\"background:var(--adm)\"></i>admitted, has no places yet</span>"
                "<span><i style=\"background:#4e79a7\"></i>runs (colour of its queue; pale: fewer pods than it needs)"
                "</span></p>\n"));
}

void page_html(struct buf *out, const struct history *h, const struct page_options *opt)
{
    buf_str(out, STR("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
                     "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<title>"));
    markup_text(out, opt->title);
    buf_fmt(out, "</title>\n<style>%s%s</style></head><body>\n<h1>", draw_style, draw_page_style);
    markup_text(out, opt->title);
    buf_str(out, STR("</h1>\n<p class=\"s\">from "));
    clock_print(out, h->begin_ms);
    buf_str(out, STR(" to "));
    clock_print(out, h->end_ms);
    if (opt->before && opt->change.n) {
        buf_str(out, STR(" · if: "));
        markup_text(out, opt->change);
    }
    buf_str(out, STR("</p>\n"));
    headline(out, h, opt->before);
    plan_page_cards(out, h);
    chart(out, "Jobs over time", chart_jobs, h);
    key(out);
    jobs_table(out, h, opt);
    waits_table(out, h);
    chart(out, "Use of the cluster by queue", chart_queues, h);
    chart(out, "Use of each node", chart_nodes, h);
    buf_fmt(out,
            "<footer>made by pumice plan (%s): the real controllers and scheduler on virtual time</footer>\n"
            "</body></html>\n",
            PUMICE_VERSION);
}
