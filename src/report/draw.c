/* draw.c - what charts and pages share */
#include "report/draw.h"

#include "base/span.h"
#include "base/util.h"
#include "report/gantt.h"

/* Without CSS variables: viewers other than browsers do not know them. */
const char draw_style[] =
    "svg{font:12px system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif}"
    "svg text{fill:#1c2430}svg .d{fill:#6b7685}svg .e{text-anchor:end}svg .m{text-anchor:middle}"
    "svg .h{font-weight:600;font-size:13px}svg .t{font-weight:600;font-size:18px}svg .bg{fill:#fff}"
    "svg .g{stroke:#e3e7ec}svg .cap{stroke:#6b7685;stroke-dasharray:4 3}"
    "svg .w{fill:#c9d0d8}svg .a{fill:#e8c268}svg .x{fill:#d1495b}svg .p{opacity:.45}svg .u{fill:#4e79a7}"
    "svg .q0{fill:#4e79a7}svg .q1{fill:#f28e2b}svg .q2{fill:#59a14f}svg .q3{fill:#b07aa1}svg .q4{fill:#76b7b2}"
    "svg .q5{fill:#e15759}svg .q6{fill:#9c755f}svg .q7{fill:#edc948}"
    "@media(prefers-color-scheme:dark){svg text{fill:#e6eaf0}svg .d{fill:#8d98a7}svg .bg{fill:#14181e}"
    "svg .g{stroke:#2a313b}svg .cap{stroke:#8d98a7}svg .w{fill:#465060}svg .a{fill:#8f7431}svg .x{fill:#ef6f7f}}";

const char draw_page_style[] =
    ":root{--bg:#fff;--fg:#1c2430;--dim:#6b7685;--line:#e3e7ec;--wait:#c9d0d8;--adm:#e8c268;--bad:#d1495b}"
    "@media(prefers-color-scheme:dark){:root{--bg:#14181e;--fg:#e6eaf0;--dim:#8d98a7;--line:#2a313b;--wait:#465060;"
    "--adm:#8f7431;--bad:#ef6f7f}}"
    "body{margin:0 auto;max-width:1240px;padding:28px 20px;background:var(--bg);color:var(--fg);"
    "font:15px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,sans-serif}"
    "h1{font-size:24px;margin:0 0 2px}h2{font-size:17px;margin:34px 0 8px}p.s{color:var(--dim);margin:0 0 "
    "20px}p.headline{font-size:19px;font-weight:600;margin:0 0 18px}"
    ".cards{display:flex;flex-wrap:wrap;gap:12px}.card{border:1px solid var(--line);border-radius:8px;padding:10px "
    "16px;"
    "min-width:120px}.card b{display:block;font-size:22px;font-weight:600}.card span{color:var(--dim);font-size:13px}"
    ".card i{font-style:normal;color:#59a14f;font-size:13px}.card i.x{color:var(--bad)}"
    ".chart,.wide{overflow-x:auto}.chart svg{max-width:100%;min-width:760px;height:auto}"
    "table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}th{text-align:left;color:var(--dim);"
    "font-weight:500;font-size:13px}th,td{padding:5px 14px 5px 0;border-bottom:1px solid "
    "var(--line);vertical-align:top}"
    "td.n,th.n{text-align:right}.d{color:var(--dim)}.good{color:#59a14f}.bad{color:var(--bad)}"
    ".key span{margin-right:18px;color:var(--dim);font-size:13px}.key i{display:inline-block;width:22px;height:9px;"
    "border-radius:2px;margin-right:6px}footer{margin-top:40px;color:var(--dim);font-size:13px}";

void markup_text(struct buf *out, struct str text)
{
    for (size_t at = 0, n; at < text.n; at += n) {
        unsigned char c = (unsigned char)text.p[at];
        size_t good = str_utf8_front(str_from(text, at));

        n = MAX_OF(good, 1);
        if (c == '&')
            buf_str(out, STR("&amp;"));
        else if (c == '<')
            buf_str(out, STR("&lt;"));
        else if (c == '>')
            buf_str(out, STR("&gt;"));
        else if (c == '"')
            buf_str(out, STR("&quot;"));
        else if (c == '\'')
            buf_str(out, STR("&#39;"));
        else if (!good || (c < 0x20 && c != '\t' && c != '\n') || c == 0x7f)
            buf_str(out, STR("\xef\xbf\xbd"));
        else
            buf_append(out, text.p + at, n);
    }
}

/* ---- charts ---- */

void draw_begin(struct buf *out, int y, int height)
{
    buf_fmt(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" y=\"%d\">\n",
            DRAW_WIDTH, height, DRAW_WIDTH, height, y);
}

void draw_text(struct buf *out, const char *class, double x, double y, struct str text)
{
    buf_fmt(out, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\">", class, x, y);
    markup_text(out, text);
    buf_str(out, STR("</text>\n"));
}

void draw_label(struct buf *out, struct str text, double y, const char *class)
{
    size_t at = 0, n = 0;

    for (; at < text.n && n < 28; n++)
        at += MAX_OF(str_utf8_front(str_from(text, at)), 1);
    buf_fmt(out, "<text class=\"%s\" x=\"%d\" y=\"%.1f\"><title>", class, DRAW_LEFT - 10, y);
    markup_text(out, text);
    buf_str(out, STR("</title>"));
    markup_text(out, str_sub(text, 0, at));
    if (at < text.n)
        buf_str(out, STR("…"));
    buf_str(out, STR("</text>\n"));
}

static int64_t draw_span_ms(const struct draw_span *s)
{
    return MAX_OF(s->end_ms - s->begin_ms, 1);
}

double draw_x(const struct draw_span *s, int64_t at_ms)
{
    double part = (double)(at_ms - s->begin_ms) / (double)draw_span_ms(s);

    return DRAW_LEFT + (DRAW_WIDTH - DRAW_LEFT - DRAW_RIGHT) * (part < 0 ? 0 : part > 1 ? 1 : part);
}

/* axis_step() begins with a second; a run may be over by then. */
static int64_t fine_step(int64_t ms, int64_t n)
{
    static const int64_t steps_ms[] = { 1, 2, 5, 10, 20, 50, 100, 200, 500 };

    for (size_t i = 0; i < ARRAY_LEN(steps_ms); i++)
        if (ms / steps_ms[i] < n)
            return steps_ms[i];
    return axis_step(ms, (size_t)n);
}

void draw_axis(struct buf *out, const struct draw_span *s, int top, int bottom)
{
    int64_t step_ms = fine_step(draw_span_ms(s), 12);

    for (int64_t ms = 0; ms <= draw_span_ms(s); ms += step_ms) {
        double x = draw_x(s, s->begin_ms + ms);
        autobuf text = { 0 };

        buf_char(&text, '+');
        span_print(&text, ms);
        buf_fmt(out, "<line class=\"g\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>\n", x, x, top, bottom);
        draw_text(out, "d m", x, top - 6, buf_view(&text));
    }
}
