/* plain_client.c - what a Kubernetes API server gives at most: objects created over a number of connections, each with
 * one request at a time, and nothing else
 *
 *     bench_plain_client CONNECTIONS PATH < bodies           one JSON document on a line; KUBECONFIG says where
 *
 * A client certificate or nothing: tokens are not sent.
 */
#include "base/clock.h"
#include "base/util.h"
#include "http/client.h"
#include "kube/config.h"

#include <poll.h>
#include <signal.h>
#include <sys/resource.h>

struct plain {
    struct http_client *http;
    struct str path;
    char *line;
    size_t room;
    unsigned in_flight, created, failed;
};

static void on_end(void *ctx, const struct http_answer *a);

static void send_next(struct plain *p)
{
    ssize_t n = getline(&p->line, &p->room, stdin);
    struct http_request r = { .method = "POST",
                              .path = p->path,
                              .body = { p->line, n > 0 ? (size_t)n : 0 },
                              .body_type = "application/json",
                              .total_ms = 60000,
                              .ctx = p,
                              .on_end = on_end };

    if (n <= 0)
        return;
    p->in_flight++;
    (void)http_send(p->http, &r); /* it ends with on_end, and not here */
}

static void on_end(void *ctx, const struct http_answer *a)
{
    struct plain *p = ctx;

    p->in_flight--;
    p->created += a->status == 201;
    if (a->status != 201 && !p->failed++)
        (void)fprintf(stderr, "%d %s%.*s\n", a->status, a->err.code ? a->err.text : "", STR_ARG(a->body));
    send_next(p);
}

static double cpu_s(void)
{
    struct rusage u;

    (void)getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

int main(int argc, char **argv)
{
    struct kube_config_options where = { .env = kube_env_real() };
    struct kube_config config;
    struct http_options opt;
    struct plain p = { .path = str_of(argc > 2 ? argv[2] : "") };
    autoarena a = { 0 };
    struct err e = { 0 };
    int64_t begin_us;

    (void)signal(SIGPIPE, SIG_IGN);
    if (kube_config_load(&a, &where, &config, &e) < 0)
        goto fail;
    opt = kube_config_http(&config, STR("plain"));
    if (http_client_new(&opt, &p.http, &e) < 0)
        goto fail;
    begin_us = clock_mono_us(&clock_real);
    for (long i = argc > 1 ? strtol(argv[1], NULL, 10) : 16; i > 0; i--)
        send_next(&p);
    while (p.in_flight) {
        (void)poll(&(struct pollfd){ http_fd(p.http), POLLIN, 0 }, 1, 1000);
        http_turn(p.http);
    }
    printf("{\"created\": %u, \"failed\": %u, \"wall_s\": %.3f, \"cpu_s\": %.3f}\n", p.created, p.failed,
           (double)(clock_mono_us(&clock_real) - begin_us) / 1e6, cpu_s());
    http_client_free(p.http);
    free(p.line);
    return p.failed != 0;
fail:
    (void)fprintf(stderr, "%s\n", e.text);
    return 1;
}
