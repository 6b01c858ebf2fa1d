/* run_output.c - the last lines of every container, folded by pod */
#include "report/report_internal.h"

#include "base/util.h"
#include "report/draw.h"
#include "base/term.h"

enum { PODS_SHOWN = 500 }; /* 4 KiB of each container is kept */

bool page_has_output(const struct history_pod *p)
{
    VEC_FOREACH(c, &p->containers)
        if ((*c)->tail.n)
            return true;
    return false;
}

static void run_output_container(struct buf *out, const struct history_container *c, bool is_only)
{
    autobuf lines = { 0 };

    if (c->tail.n == 0)
        return;
    if (!is_only) {
        buf_str(out, STR("<p class=\"d\">container "));
        markup_text(out, c->name);
        buf_str(out, STR("</p>"));
    }
    plain_lines(&lines, buf_view(&c->tail));
    buf_str(out, STR("<pre>\n")); /* HTML drops the first line break of <pre> */
    markup_text(out, buf_view(&lines));
    buf_str(out, STR("</pre>"));
}

/* What failed stands above already, so all are closed. */
static void run_output_pod(struct buf *out, const struct history *h, const struct history_pod *p)
{
    buf_str(out, STR("<details"));
    page_id(out, 'o', p);
    buf_str(out, STR("><summary>"));
    markup_text(out, p->name);
    buf_fmt(out, " <span class=\"%s\">%s</span> ", p->end == END_FAILED ? "bad" : "d", pod_end_names[p->end]);
    page_time(out, h, p->ended_ms);
    buf_str(out, STR("</summary>"));
    VEC_FOREACH(c, &p->containers)
        run_output_container(out, *c, p->containers.n == 1);
    buf_str(out, STR("</details>\n"));
}

void page_output(struct buf *out, const struct history *h)
{
    size_t n = 0;

    for (size_t i = 0; i < h->pods.n; i++) {
        if (!page_has_output(h->pods.v[i]) || n++ >= PODS_SHOWN)
            continue;
        if (n == 1)
            buf_str(out, STR("<h2>The last lines of every pod</h2>\n<div id=\"output\">\n"));
        run_output_pod(out, h, h->pods.v[i]);
    }
    if (n)
        buf_str(out, STR("</div>\n"));
    page_more(out, n, PODS_SHOWN);
}
