/* run_page.c - the report: verdict, figures, chart of pods, decisions, failures, use */
#include "report/report_internal.h"

#include "base/clock.h"
#include "base/span.h"
#include "base/util.h"
#include "report/draw.h"
#include "base/term.h"

enum {
    DECISIONS_SHOWN = 200,
    FAILURES_SHOWN = 20,
    NAMES_SHOWN = 40,    /* of pods that failed in the same way */
    PODS_UNFOLDED = 100, /* with more the chart is one of tasks */
};

static const char style[] =
    ":root{--ok:#3f8f4a;--fail:#d1495b;--kill:#8d84ad;--open:#4e79a7;--start:#9cc3e6;--warn:#c77700;--soft:#f6f8fa;--"
    "on:#fff}"
    "@media(prefers-color-scheme:dark){:root{--ok:#5cb26a;--fail:#ef6f7f;--kill:#8f86b5;--open:#6d9bcf;--start:#40658a;"
    "--warn:#e0a13c;--soft:#1b212a;--on:#14181e}}"
    "svg .ok{fill:var(--ok)}svg .fa{fill:var(--fail)}svg .ki{fill:var(--kill)}svg .op{fill:var(--open)}"
    "svg .st{fill:var(--start)}svg .in{fill:var(--open)}svg .re{fill:var(--warn)}svg .sp{fill:var(--kill);opacity:.5}"
    "svg .tick{stroke:var(--fg);stroke-width:2;fill:none}svg .cross{stroke:var(--fail);stroke-width:2;fill:none}"
    "svg .brace{stroke:var(--dim);fill:none}svg .dl{stroke:var(--dim);stroke-dasharray:2 3;opacity:.7;fill:none}"
    "svg .row:hover rect{stroke:var(--fg);stroke-width:.6}svg .cpu{fill:var(--open);opacity:.75}svg .mem{fill:#b07aa1;"
    "opacity:.75}svg path.cap{fill:none}svg path.ask,svg path.lim{fill:none;stroke:var(--open);stroke-dasharray:5 "
    "3}svg path.lim{stroke:var(--fail)}svg path.g{fill:none}.spark{display:block;height:18px}"
    ".mark rect{fill:var(--fail)}.mark.good rect{fill:var(--ok)}.mark.warn rect{fill:var(--warn)}"
    "svg .mark "
    "text{fill:var(--on);font-size:11px;font-weight:600;text-anchor:middle}a{color:inherit;text-decoration:none}"
    ".verdict{border-left:6px solid var(--ok);background:var(--soft);border-radius:6px;padding:12px "
    "18px;font-size:19px;"
    "font-weight:600;margin:14px 0 18px;overflow-wrap:anywhere}.verdict.bad{border-color:var(--fail)}"
    ".verdict.open{border-color:var(--warn)}.verdict.bad{color:var(--fg)}.card{min-width:78px}.key "
    "span{display:inline-block}td.sp{width:110px}"
    "ol.list{list-style:none;margin:0;padding:0}ol.list li{display:grid;grid-template-columns:44px 74px "
    "1fr;gap:8px;padding:6px "
    "0;border-bottom:1px solid var(--line);overflow-wrap:anywhere}ol.list li:target{background:var(--soft)}"
    ".no{display:inline-block;min-width:15px;padding:0 "
    "5px;border-radius:10px;text-align:center;color:var(--on);font-size:12px;"
    "font-weight:600;line-height:19px;height:19px;justify-self:start;background:var(--fail);margin-top:2px}"
    ".no.good{background:var(--ok)}.no.warn{background:var(--warn)}"
    ".fail{border:1px solid var(--line);border-left:4px solid var(--fail);border-radius:6px;margin:0 0 12px}"
    ".fail p{margin:8px 14px;overflow-wrap:anywhere}.fail pre{margin:0;padding:10px "
    "14px;background:var(--soft);overflow:auto;max-height:300px;"
    "font:12.5px/1.45 ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace;border-radius:0 0 6px "
    "6px;white-space:pre-wrap;"
    "overflow-wrap:anywhere}.wide "
    "table{font-size:13.5px;white-space:nowrap}td.text{white-space:normal;"
    "overflow-wrap:anywhere}.dot{display:inline-block;width:9px;height:9px;border-radius:50%;margin-right:7px}"
    "td a:hover{text-decoration:underline}td "
    "a+a{color:var(--dim);font-size:12px}tr:target,details:target{background:var(--soft)}"
    "svg .row:target rect{stroke:var(--fg);stroke-width:1.2}svg .why{fill:var(--fail);font-size:11px}svg "
    ".why.on{fill:var(--on)}"
    ".tools{margin:0 0 6px}.tools button{font:inherit;font-size:13px;margin-right:6px;padding:1px 10px;border:1px "
    "solid "
    "var(--line);border-radius:5px;background:var(--soft);color:var(--fg)}#find{font:inherit;padding:4px "
    "10px;width:280px;border:1px solid var(--line);border-radius:5px;background:var(--bg);color:var(--fg)}"
    "details{border-bottom:1px solid var(--line);padding:5px 0;overflow-wrap:anywhere}summary{cursor:pointer}"
    "details pre{margin:4px 0;padding:8px 14px;background:var(--soft);white-space:pre-wrap;overflow-wrap:anywhere;"
    "font:12.5px/1.45 ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace;max-height:420px;overflow:auto}"
    "@media print{body{max-width:none}.fail pre{max-height:none}}";

/* ---- head ---- */

static void run_page_card(struct buf *out, struct str value, const char *what)
{
    buf_str(out, STR("<div class=\"card\"><b>"));
    markup_text(out, value);
    buf_fmt(out, "</b><span>%s</span></div>\n", what);
}

static void count_card(struct buf *out, int64_t n, const char *one, const char *many)
{
    autobuf text = { 0 };

    buf_i64(&text, n);
    run_page_card(out, buf_view(&text), n == 1 ? one : many);
}

static void span_card(struct buf *out, int64_t ms, const char *what)
{
    autobuf text = { 0 };

    span_print_fine(&text, ms);
    run_page_card(out, buf_view(&text), what);
}

struct figures {
    int64_t ends[POD_END_MAX], restarts, cpu_us, start_ms, n_started, queued_ms;
};

static void sum_up(const struct history *h, struct figures *f)
{
    *f = (struct figures){ 0 };
    for (size_t i = 0; i < h->pods.n; i++) {
        const struct history_pod *p = h->pods.v[i];

        f->ends[p->end]++;
        f->restarts += pod_restarts(p);
        f->cpu_us += pod_cpu_us(p);
        if (p->started_ms >= 0 && p->scheduled_ms >= 0) {
            f->start_ms += p->started_ms - p->scheduled_ms;
            f->n_started++;
        }
    }
    for (size_t i = 0; i < h->jobs.n; i++)
        VEC_FOREACH(s, &h->jobs.v[i]->queued)
            f->queued_ms = MAX_OF(f->queued_ms, (s->until_ms < 0 ? history_end_ms(h) : s->until_ms) - s->from_ms);
}

static void run_page_cards(struct buf *out, const struct history *h)
{
    struct figures f;
    autobuf text = { 0 };

    sum_up(h, &f);
    buf_str(out, STR("<div class=\"cards\">\n"));
    span_card(out, history_end_ms(h) - h->begin_ms, "from beginning to end");
    if (h->jobs.n > 1)
        count_card(out, (int64_t)h->jobs.n, "job", "jobs");
    count_card(out, (int64_t)h->pods.n, "pod", "pods");
    if (f.ends[END_FAILED])
        count_card(out, f.ends[END_FAILED], "pod failed", "pods failed");
    if (f.ends[END_STOPPED])
        count_card(out, f.ends[END_STOPPED], "pod stopped", "pods stopped");
    if (f.restarts)
        count_card(out, f.restarts, "container restart", "container restarts");
    count_card(out, (int64_t)h->decisions.n, "decision", "decisions");
    if (f.queued_ms)
        span_card(out, f.queued_ms, "longest in line");
    if (f.n_started)
        span_card(out, f.start_ms / f.n_started, "to start a pod, on average");
    if (f.cpu_us) {
        buf_fmt(&text, f.cpu_us < 99500000 ? "%.1fs" : "%.0fs", (double)f.cpu_us / 1e6);
        run_page_card(out, buf_view(&text), "of cpu time");
    }
    buf_str(out, STR("</div>\n"));
}

static void run_page_head(struct buf *out, const struct history *h, struct str title)
{
    autobuf verdict = { 0 };
    bool is_ok, is_over;

    history_verdict(&verdict, h, &is_ok, &is_over);
    buf_str(out, STR("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
                     "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">"
                     "<meta name=\"color-scheme\" content=\"light dark\">\n<title>"));
    markup_text(out, title);
    buf_fmt(out, "</title>\n<style>%s%s%s</style></head><body>\n<h1>", draw_style, draw_page_style, style);
    markup_text(out, title);
    buf_str(out, STR("</h1>\n<p class=\"s\">from "));
    clock_print(out, h->begin_ms);
    buf_str(out, STR(" to "));
    clock_print(out, history_end_ms(h));
    buf_fmt(out, "</p>\n<p class=\"verdict%s\">%s ",
            is_ok     ? ""
            : is_over ? " bad"
                      : " open",
            is_ok     ? "✓"
            : is_over ? "✕"
                      : "…");
    markup_text(out, str_cut(buf_view(&verdict), 600));
    buf_str(out, STR("</p>\n"));
    run_page_cards(out, h);
}

/* ---- chart ---- */

static void gantt(struct buf *out, const struct history *h)
{
    static const struct {
        const char *colour, *what;
    } keys[] = {
        { "var(--wait)", "queued" },       { "var(--adm)", "admitted: waits for a place, or for other tasks" },
        { "var(--start)", "starting" },    { "var(--open)", "runs at the end" },
        { "var(--ok)", "ran, succeeded" }, { "var(--fail)", "failed" },
        { "var(--kill)", "stopped" },
    };
    autoarena a = { 0 };
    struct report_rows v;

    report_rows(&a, h, &v);
    buf_str(out, STR("<h2>Pods over time</h2>\n<div class=\"chart time\">\n"));
    report_gantt(out, h, &v, v.n_rows > PODS_UNFOLDED);
    buf_str(out, STR("</div>\n"));
    if (v.n_rows > PODS_UNFOLDED) {
        buf_fmt(out, "<details><summary>All %zu pods, a row for each</summary><div class=\"chart time\">\n", v.n_rows);
        report_gantt(out, h, &v, false);
        buf_str(out, STR("</div></details>\n"));
    }
    buf_str(out, STR("<p class=\"key\">"));
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        buf_fmt(out, "<span><i style=\"background:%s\"></i>%s</span> ", keys[i].colour, keys[i].what);
    buf_str(out, STR("<span><i style=\"background:linear-gradient(90deg,var(--wait) 50%,var(--ok) 50%)\"></i>pale: not "
                     "ready</span> <span>thin end: being stopped</span> <span>│ a container starts again"
                     "</span></p>\n"));
}

/* ---- decisions ---- */

static void decision(struct buf *out, const struct history *h, size_t i)
{
    const struct history_decision *d = &h->decisions.v[i];

    buf_fmt(out, "<li id=\"d%zu\" data-decision=\"%zu\"><span class=\"no %s\">%zu</span><span class=\"d\">", i + 1,
            i + 1, decision_class(d), i + 1);
    page_time(out, h, d->at_ms);
    buf_str(out, STR("</span><span><b>"));
    markup_text(out, d->action);
    buf_str(out, STR("</b> "));
    markup_text(out, d->when);
    if (h->jobs.n > 1 && d->job) {
        buf_str(out, STR(" of job "));
        markup_text(out, d->job->name);
    }
    if (d->because.n) {
        buf_str(out, STR(" because "));
        markup_text(out, d->because);
    }
    if (d->more.n) {
        buf_str(out, STR(", "));
        markup_text(out, d->more);
    }
    if (d->policy.n) {
        buf_str(out, STR(" <span class=\"d\">policy "));
        markup_text(out, d->policy);
        buf_str(out, STR("</span>"));
    }
    buf_str(out, STR("</span></li>\n"));
}

/* The beginning and the end tell most. */
static void run_page_decisions(struct buf *out, const struct history *h)
{
    size_t n = h->decisions.n, front = n > DECISIONS_SHOWN ? DECISIONS_SHOWN * 3 / 4 : n;

    buf_str(out, STR("<h2>What was decided, and why</h2>\n"));
    if (n == 0) {
        buf_str(out, STR("<p class=\"d\">Nothing.</p>\n"));
        return;
    }
    buf_str(out, STR("<ol class=\"list\">\n"));
    for (size_t i = 0; i < front; i++)
        decision(out, h, i);
    if (n > front) {
        buf_fmt(out, "<li><span></span><span></span><span class=\"d\">… %zu more …</span></li>\n", n - DECISIONS_SHOWN);
        for (size_t i = n - DECISIONS_SHOWN / 4; i < n; i++)
            decision(out, h, i);
    }
    buf_str(out, STR("</ol>\n"));
}

/* ---- failures ---- */

static void alike_head(struct buf *out, const struct history *h, const struct history_alike *k)
{
    const struct history_failure *w = &k->first;

    buf_str(out, STR("<p><b>"));
    markup_text(out, w->pod);
    buf_str(out, STR("</b>"));
    if (w->container.n) {
        buf_str(out, STR(" <span class=\"d\">container "));
        markup_text(out, w->container);
        buf_str(out, STR("</span>"));
    }
    buf_str(out, STR(" <b class=\"bad\">"));
    markup_text(out, w->words);
    buf_str(out, STR("</b> <span class=\"d\">"));
    page_time(out, h, w->at_ms);
    if (w->failures > 1)
        buf_fmt(out, " · failed %lld times", (long long)w->failures);
    if (w->node.n) {
        buf_str(out, STR(" · on node "));
        markup_text(out, w->node);
    }
    buf_str(out, STR("</span></p>"));
}

static void alike_others(struct buf *out, const struct history_alike *k)
{
    if (k->others.n == 0)
        return;
    buf_fmt(out, "<p class=\"d\">%zu more in the same way: ", k->others.n);
    for (size_t i = 0; i < k->others.n && i < NAMES_SHOWN; i++) {
        buf_str(out, i ? STR(", ") : STR(""));
        markup_text(out, k->others.v[i]);
    }
    buf_str(out, k->others.n > NAMES_SHOWN ? STR(" …</p>") : STR("</p>"));
}

static void failure(struct buf *out, const struct history *h, const struct history_alike *k)
{
    autobuf lines = { 0 };

    plain_lines(&lines, k->first.tail);
    buf_str(out, STR("<div class=\"fail\" data-failed=\""));
    markup_text(out, k->first.namespace);
    buf_char(out, '/');
    markup_text(out, k->first.pod);
    buf_str(out, STR("\">"));
    alike_head(out, h, k);
    alike_others(out, k);
    if (lines.n) {
        buf_str(out, STR("<pre>\n")); /* HTML drops the first line break of <pre> */
        markup_text(out, buf_view(&lines));
        buf_str(out, STR("</pre>"));
    }
    buf_str(out, STR("</div>\n"));
}

static void failures(struct buf *out, const struct history *h)
{
    autoarena a = { 0 };
    struct history_alikes all;

    history_alikes(&a, h, &all);
    if (all.list.n == 0)
        return;
    buf_str(out, STR("<h2>What failed, and its last lines</h2>\n"));
    for (size_t i = 0; i < all.list.n && i < FAILURES_SHOWN; i++)
        failure(out, h, all.list.v[i]);
    page_more(out, all.list.n, FAILURES_SHOWN);
}

void report_html(struct buf *out, const struct history *h, struct str title)
{
    run_page_head(out, h, title);
    failures(out, h); /* who opens the page of a run that failed wants this */
    gantt(out, h);
    run_page_decisions(out, h);
    page_jobs_table(out, h);
    page_waits_table(out, h);
    if (report_has_use(h)) {
        buf_str(out, STR("<h2>Use of all pods together</h2>\n<div class=\"chart\">\n"));
        report_use_chart(out, h);
        buf_str(out, STR("</div>\n"));
    }
    page_pods_table(out, h);
    page_output(out, h);
    page_warnings_table(out, h);
    page_notices(out, h);
    if (h->n_left_out)
        buf_fmt(out, "<p class=\"d\">%zu more decisions, warnings and notices were not kept.</p>\n", h->n_left_out);
    buf_fmt(out,
            "<footer>recorded by pumice %s: every time is the moment at which the change was made</footer>\n"
            "<script>%s</script>\n</body></html>\n",
            PUMICE_VERSION, report_script);
}
