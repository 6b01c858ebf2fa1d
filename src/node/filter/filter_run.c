/* filter_run.c - nft at work on a table: a program of the host, so it may be missing or hang */
#include "node/filter/filter.h"

#include "base/util.h"
#include "os/proc.h"

struct filter_run {
    struct proc nft;
};

int filter_begin(struct str text, int ns_fd, struct filter_run **ret, struct err *e)
{
    const char *const argv[] = { "nft", "-f", "-", NULL };
    struct proc_how how = { .input = text, .has_netns = ns_fd >= 0, .netns = ns_fd };
    struct filter_run r;
    char program[256];

    if (!proc_find("nft", program, sizeof(program)))
        return err_set(e, ERR_NOT_FOUND, "there is no program nft; install nftables (apt-get install nftables)");
    if (proc_begin(program, argv, &how, &r.nft, e) < 0)
        return -1;
    *ret = xmalloc(sizeof(r));
    **ret = r;
    return 0;
}

int filter_fd(const struct filter_run *r)
{
    return r->nft.fd;
}

static int complain(struct str said, struct err *e)
{
    struct str line = STR_NULL, quote = STR_NULL;

    said = str_trim(said);
    (void)str_split(&said, '\n', &line);  /* where and what */
    (void)str_split(&said, '\n', &quote); /* and the line it is about; what follows are marks below it */
    return err_set(e, ERR_IO, "nft: %.*s%s%.*s", STR_ARG(line.n ? line : STR("it failed without a word")),
                   quote.n ? ": " : "", STR_ARG(str_trim(quote)));
}

static int end_within(struct filter_run *r, int wait_ms, struct err *e)
{
    autobuf said = { 0 };
    struct proc_end end = proc_end(&r->nft, wait_ms, &said);

    free(r);
    if (end.is_late)
        return err_set(e, ERR_IO, "nft did not end within %d s", FILTER_PATIENCE_MS / 1000);
    if (end.signo)
        return err_set(e, ERR_IO, "nft was ended by signal %d", end.signo);
    if (end.status == PROC_CANNOT_ENTER)
        return err_set(e, ERR_FORBIDDEN, "nft: cannot enter the network namespace");
    if (end.status == PROC_CANNOT_RUN)
        return err_set(e, ERR_IO, "nft cannot be run");
    return end.status ? complain(buf_view(&said), e) : 0;
}

int filter_end(struct filter_run *r, struct err *e)
{
    return end_within(r, 0, e);
}

int filter_apply(struct str text, int ns_fd, struct err *e)
{
    struct filter_run *r;

    return filter_begin(text, ns_fd, &r, e) < 0 ? -1 : end_within(r, FILTER_PATIENCE_MS, e);
}
