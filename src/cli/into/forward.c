/* forward.c - the command `pumice port-forward`: ports of this machine that lead to a pod, for as long as it runs
 *
 * The run itself listens, as it does for --publish, while this program waits: see run/control.h.
 */
#include "api/meta.h"
#include "base/util.h"
#include "cli/commands.h"
#include "cli/into/into.h"
#include "kube/path.h"
#include "base/term.h"

#include <poll.h>

struct forward_port {
    struct str text; /* as it was given, for errors */
    uint16_t to;
    struct buf line; /* not finished */
    bool is_told, is_over;
    struct err err;
    struct kube_stream *stream;
};

/* The first line is where the run listens, the others what goes wrong. */
static void forward_tell(struct forward_port *p, struct str line)
{
    autobuf text = { 0 };

    term_text(&text, line);
    if (p->is_told)
        fprintf(stderr, "pumice port-forward: %s\n", text.p);
    else
        printf("Forwarding from %s -> %u\n", text.p, p->to);
    (void)fflush(stdout); /* a broken stdout cannot be reported */
    p->is_told = true;
}

static void forward_on_data(void *ctx, struct str data)
{
    struct forward_port *p = ctx;
    ptrdiff_t end;

    while ((end = str_find_char(data, '\n')) >= 0) {
        buf_str(&p->line, str_sub(data, 0, (size_t)end));
        forward_tell(p, buf_view(&p->line));
        buf_reset(&p->line);
        data = str_from(data, (size_t)end + 1);
    }
    buf_str(&p->line, data);
}

static void forward_on_end(void *ctx, const struct err *e)
{
    struct forward_port *p = ctx;

    p->stream = NULL;
    p->is_over = true;
    if (e)
        p->err = *e;
}

/* "8080:80", "80" (the same here), ":80" (one that is free). */
static int forward_read_port(struct str text, struct forward_port *ret, struct str *ret_local, struct err *e)
{
    struct str to = text;
    uint64_t n, local;

    *ret_local = text;
    if (str_has_char(text, ':'))
        (void)str_split(&to, ':', ret_local);
    if (!ret_local->n)
        *ret_local = STR("0");
    if (str_to_u64(to, &n) < 0 || !n || n > UINT16_MAX || str_to_u64(*ret_local, &local) < 0 || local > UINT16_MAX)
        return err_set(e, ERR_SYNTAX, "\"%.*s\" must be PORT, LOCAL:PORT or :PORT", STR_ARG(text));
    *ret = (struct forward_port){ .text = text, .to = (uint16_t)n };
    return 0;
}

static int open_port(const struct into *x, const struct into_pod *pod, struct forward_port *p, struct str local,
                     struct err *e)
{
    struct kube_stream_events events = { .ctx = p, .on_data = forward_on_data, .on_end = forward_on_end };
    autobuf path = { 0 };

    into_path(&path, pod, "publish");
    path_query(&path, "address", str_of(x->o->address));
    path_query(&path, "port", local);
    path_query(&path, "to", arena_fmt(x->arena, "%u", p->to));
    return kube_ask_stream(pod->run->ask, buf_view(&path), &events, &p->stream, e);
}

/* Until one of them is over, which says why. */
static int wait_for_end(const struct into_pod *pod, const struct forward_port *ports, size_t n, struct err *e)
{
    for (;;) {
        (void)poll(&(struct pollfd){ kube_ask_fd(pod->run->ask), POLLIN, 0 }, 1, -1);
        kube_ask_turn(pod->run->ask);
        for (size_t i = 0; i < n; i++) {
            if (!ports[i].is_over)
                continue;
            if (ports[i].is_told && ports[i].err.code == ERR_OK)
                return err_set(e, ERR_GONE, "run %.*s has ended", STR_ARG(pod->run->id));
            *e = ports[i].err;
            return err_wrap(e, "%.*s", STR_ARG(ports[i].text));
        }
    }
}

static int forward(struct into *x, const struct text_list *words, struct err *e)
{
    struct forward_port *ports = arena_array(x->arena, struct forward_port, words->list.n);
    struct str *local = arena_array(x->arena, struct str, words->list.n);
    size_t n = words->list.n ? words->list.n - 1 : 0;
    struct into_pod pod;

    if (!n)
        return err_set(e, ERR_SYNTAX, "usage: pumice port-forward POD [LOCAL:]PORT…");
    for (size_t i = 0; i < n; i++)
        if (forward_read_port(str_of(words->list.v[i + 1]), &ports[i], &local[i], e) < 0)
            return -1;
    if (into_open(x, e) < 0 || into_pick(x, str_of(words->list.v[0]), &pod, e) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        if (open_port(x, &pod, &ports[i], local[i], e) < 0)
            return -1;
    (void)wait_for_end(&pod, ports, n, e);
    for (size_t i = 0; i < n; i++)
        buf_done(&ports[i].line);
    return -1;
}

static int forward_run(struct arena *a, const void *options, const struct text_list *arguments)
{
    autointo x = { .arena = a, .o = options };
    struct err e;

    (void)forward(&x, arguments, &e); /* it ends by Ctrl-C, or so */
    return into_fail("port-forward", &e);
}

static const struct option forward_options[] = {
    { 0, "address", OPTION_TEXT, INTO_FIELD(address), "ADDRESS", NULL,
      "where to listen (default: 127.0.0.1; 0.0.0.0: for everybody)" },
    INTO_POD,
};

static const char *const forward_examples[] = { "pumice port-forward head-0 8265",
                                                "a dashboard at http://127.0.0.1:8265",
                                                "pumice port-forward web-0 8080:80 :9090",
                                                "another port here, and one that is free", NULL };

const struct command command_port_forward = {
    .name = "port-forward",
    .arguments = "[POD [LOCAL:]PORT…]",
    .summary = "forward ports of this machine to a pod of a run",
    .about = "Forwards until Ctrl-C or the end of the run. Connections go to 127.0.0.1 in the pod. A pod that restarts "
             "under its\n"
             "name is found again. 'pumice run --publish' does the same for the whole run.",
    .options = forward_options,
    .n_options = ARRAY_LEN(forward_options),
    .options_size = sizeof(struct into_options),
    .foreign = into_foreign,
    .examples = forward_examples,
    .run = forward_run,
};
