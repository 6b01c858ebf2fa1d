/* http_mhd.c - the peer of bench/http: libmicrohttpd with one thread and epoll, answering as http_echo does
 *
 *     bench_http_mhd [CERT KEY]       prints "port N", serves until its stdin ends
 */
#include <fcntl.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char event[] = "{\"type\":\"BOOKMARK\"}\n", body[] = "GET /echo?\nfrom 127.0.0.1 tls=0 cn= o=\nbody 0 \n";

struct watch {
    struct MHD_Connection *connection;
    int has_begun;
};

/* One piece, then silence. */
static ssize_t next_piece(void *ctx, uint64_t at, char *to, size_t n)
{
    struct watch *w = ctx;

    (void)at;
    if (w->has_begun) {
        MHD_suspend_connection(w->connection);
        return 0;
    }
    w->has_begun = 1;
    if (n < sizeof(event) - 1)
        return 0;
    memcpy(to, event, sizeof(event) - 1);
    return sizeof(event) - 1;
}

static enum MHD_Result on_request(void *ctx, struct MHD_Connection *c, const char *url, const char *method,
                                  const char *version, const char *upload, size_t *upload_n, void **state)
{
    struct MHD_Response *response;
    enum MHD_Result result;

    (void)ctx, (void)method, (void)version, (void)upload, (void)upload_n;
    if (!*state) { /* it is called once for the head, once for the rest */
        *state = c;
        return MHD_YES;
    }
    if (strcmp(url, "/watch") == 0) {
        struct watch *w = calloc(1, sizeof(*w));

        w->connection = c;
        response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 4096, next_piece, w, free);
    } else {
        response = MHD_create_response_from_buffer(sizeof(body) - 1, (void *)body, MHD_RESPMEM_PERSISTENT);
    }
    result = MHD_queue_response(c, 200, response);
    MHD_destroy_response(response);
    return result;
}

static char *file(const char *path)
{
    char *text = calloc(1, 65536);
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0 || read(fd, text, 65535) < 0)
        abort();
    close(fd);
    return text;
}

int main(int argc, char **argv)
{
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | (argc > 2 ? MHD_USE_TLS : 0);
    struct MHD_Daemon *d = argc > 2
                               ? MHD_start_daemon(flags, 0, NULL, NULL, on_request, NULL, MHD_OPTION_CONNECTION_LIMIT,
                                                  20000u, MHD_OPTION_HTTPS_MEM_CERT, file(argv[1]),
                                                  MHD_OPTION_HTTPS_MEM_KEY, file(argv[2]), MHD_OPTION_END)
                               : MHD_start_daemon(flags, 0, NULL, NULL, on_request, NULL, MHD_OPTION_CONNECTION_LIMIT,
                                                  20000u, MHD_OPTION_END);
    const union MHD_DaemonInfo *info = d ? MHD_get_daemon_info(d, MHD_DAEMON_INFO_BIND_PORT) : NULL;
    char byte;

    if (!info)
        return 1;
    printf("port %u\n", info->port);
    (void)fflush(stdout);
    (void)!read(STDIN_FILENO, &byte, 1);
    _exit(0); /* connections are suspended */
}
