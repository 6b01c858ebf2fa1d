/* report_story.c - writes the page and the trace of a run told by hand: report_story PODS PAGE.html TRACE.json */
#include "history/test/story.h"

#include "report/report.h"
#include "base/term.h"

static int write_file(const char *path, const struct buf *text)
{
    FILE *f = fopen(path, "w");
    int rc = f ? term_write(f, text) : -1;

    if (f && fclose(f) != 0)
        rc = -1;
    if (rc < 0)
        perror(path);
    return rc;
}

int main(int argc, char **argv)
{
    autobuf page = { 0 }, trace = { 0 };
    int64_t pods = 0;
    struct story s;

    if (argc != 4 || str_to_i64(str_of(argv[1]), &pods) < 0 || pods < 3 || pods > 10000) {
        (void)fprintf(stderr, "usage: report_story PODS PAGE.html TRACE.json\n");
        return 2;
    }
    story_begin(&s);
    if (pods == 3)
        story_small(&s);
    else
        story_many(&s, (int)pods);
    report_html(&page, s.h, pods == 3 ? STR("train: a run told by hand") : STR("bag: a run told by hand"));
    report_trace(&trace, s.h);
    story_done(&s);
    return write_file(argv[2], &page) < 0 || write_file(argv[3], &trace) < 0;
}
