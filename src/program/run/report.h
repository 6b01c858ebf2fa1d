/* report.h - the files of --report and --trace: opened before anything runs, written at the end */
#ifndef PROGRAM_RUN_REPORT_H
#define PROGRAM_RUN_REPORT_H

#include "base/err.h"
#include "history/history.h"

struct run_options;

struct run_report {
    const char *flag, *path;
    int fd;
    void (*print)(struct buf *out, const struct history *h, struct str title);
};

struct run_reports {
    struct run_report list[2];
    size_t n;
};
int run_reports_open(struct run_reports *rs, const struct run_options *o, struct err *e);
int run_reports_write(const struct run_reports *rs, const struct history *h); /* says itself what went wrong */
void run_reports_close(struct run_reports *rs);

#endif
