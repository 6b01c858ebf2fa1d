/* report.c - the files of --report and --trace: opened before anything runs, written at the end */
#include "program/run/report.h"

#include "base/util.h"
#include "program/run/options.h"
#include "os/io.h"
#include "report/report.h"

#include <errno.h>
#include <fcntl.h>

static void print_trace(struct buf *out, const struct history *h, struct str title)
{
    (void)title;
    report_trace(out, h);
}

int run_reports_open(struct run_reports *rs, const struct run_options *o, struct err *e)
{
    const struct run_report wanted[] = { { "--report", o->report, -1, report_html },
                                         { "--trace", o->trace, -1, print_trace } };

    for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
        struct run_report *r = &rs->list[rs->n];

        if (!wanted[i].path)
            continue;
        *r = wanted[i];
        r->fd = open(r->path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
        if (r->fd < 0)
            return err_errno(e, "%s: cannot create %s", r->flag, r->path);
        rs->n++;
    }
    return 0;
}

static void print_title(struct buf *out, const struct history *h)
{
    if (h->jobs.n == 1)
        buf_str(out, h->jobs.v[0]->name);
    else
        buf_fmt(out, "%zu jobs", h->jobs.n);
}

int run_reports_write(const struct run_reports *rs, const struct history *h)
{
    autobuf title = { 0 };
    int rc = 0;

    print_title(&title, h);
    for (size_t i = 0; i < rs->n; i++) {
        const struct run_report *r = &rs->list[i];
        autobuf text = { 0 };

        r->print(&text, h, buf_view(&title));
        if ((ftruncate(r->fd, 0) < 0 && errno != EINVAL) || write_all(r->fd, buf_view(&text)) < 0) {
            fprintf(stderr, "pumice run: cannot write %s: %s\n", r->path, strerror(errno));
            rc = -1;
        }
    }
    return rc;
}

void run_reports_close(struct run_reports *rs)
{
    for (size_t i = 0; i < rs->n; i++)
        close(rs->list[i].fd);
}
