/* peer.c - a little HTTP/1.1 server with bad manners */
#include "http/test/peer.h"

#include "base/buf.h"
#include "base/util.h"

#include <arpa/inet.h>
#include <assert.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>

enum { MAX_CONNS = 4096, MAX_SEEN = 65536 };

struct peer_conn {
    struct peer *peer;
    pthread_t thread;
    int fd;
    SSL *ssl;
    unsigned number, n_requests;
    struct buf in;
};

struct peer {
    struct peer_options opt;
    SSL_CTX *ctx;
    int fd, port;
    pthread_t thread;
    pthread_mutex_t lock;
    bool stops, is_shut;
    struct peer_conn conns[MAX_CONNS];
    unsigned n_conns;
    char seen[MAX_SEEN][64];
    unsigned n_seen;
};

/* ---- bytes ---- */

static ssize_t conn_read(struct peer_conn *c, char *p, size_t n)
{
    return c->ssl ? SSL_read(c->ssl, p, (int)n) : read(c->fd, p, n);
}

static bool conn_write(struct peer_conn *c, const char *p, size_t n)
{
    while (n) {
        ssize_t part = c->ssl ? SSL_write(c->ssl, p, (int)n) : send(c->fd, p, n, MSG_NOSIGNAL);

        if (part <= 0)
            return false;
        p += part;
        n -= (size_t)part;
    }
    return true;
}

static bool say(struct peer_conn *c, const char *text)
{
    return conn_write(c, text, strlen(text));
}

bool peer_answer(struct peer_conn *c, int status, const char *headers, struct str body)
{
    autobuf out = { 0 };

    buf_fmt(&out, "HTTP/1.1 %d Whatever\r\nContent-Length: %zu\r\n%s\r\n", status, body.n, headers);
    buf_str(&out, body);
    return conn_write(c, out.p, out.n);
}

bool peer_write(struct peer_conn *c, struct str bytes)
{
    return conn_write(c, bytes.p, bytes.n);
}

static bool stopped(struct peer *p)
{
    bool stops;

    pthread_mutex_lock(&p->lock);
    stops = p->stops;
    pthread_mutex_unlock(&p->lock);
    return stops;
}

/* Sleep, but not beyond the end; false: it is the end, or the client has gone. */
bool peer_rest(struct peer_conn *c, int ms)
{
    char byte;

    for (int i = 0; i < ms; i += 5) {
        struct pollfd fd = { c->fd, POLLRDHUP, 0 };

        if (stopped(c->peer) || (poll(&fd, 1, 0) > 0 && recv(c->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0))
            return false;
        (void)usleep(5000);
    }
    return true;
}

/* ---- requests ---- */

/* One request: the head up to the empty line, and the body that Content-Length says. */
static bool read_request(struct peer_conn *c, struct buf *head, struct buf *body)
{
    char *end;
    size_t length = 0;

    buf_reset(head);
    buf_reset(body);
    while (!c->in.n || !(end = memmem(c->in.p, c->in.n, "\r\n\r\n", 4))) {
        ssize_t n = conn_read(c, buf_reserve(&c->in, 65536), 65536);

        if (n <= 0)
            return false;
        c->in.n += (size_t)n;
        if (c->in.p[0] < 'A' || c->in.p[0] > 'Z') { /* a TLS handshake, say */
            (void)say(c, "HTTP/1.0 400 Bad Request\r\n\r\n");
            return false;
        }
    }
    buf_append(head, c->in.p, (size_t)(end - c->in.p) + 4);
    for (char *at = head->p; (at = strchr(at, '\n')); at++)
        if (strncasecmp(at + 1, "content-length:", 15) == 0)
            length = strtoul(at + 16, NULL, 10);
    while (c->in.n < head->n + length) {
        ssize_t n = conn_read(c, buf_reserve(&c->in, 65536), 65536);

        if (n <= 0)
            return false;
        c->in.n += (size_t)n;
    }
    buf_append(body, c->in.p + head->n, length);
    memmove(c->in.p, c->in.p + head->n + length, c->in.n - head->n - length);
    c->in.n -= head->n + length;
    return true;
}

static void note(struct peer *p, const char *path)
{
    pthread_mutex_lock(&p->lock);
    assert(p->n_seen < MAX_SEEN);
    (void)snprintf(p->seen[p->n_seen++], sizeof(p->seen[0]), "%.60s", path);
    pthread_mutex_unlock(&p->lock);
}

static const char gzipped[] = "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xcb\x48\xcd\xc9\xc9\x07\x00\x86\xa6\x10\x36\x05"
                              "\x00\x00\x00";

static bool drip(struct peer_conn *c, int n, int ms)
{
    autobuf line = { 0 };

    if (!say(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"))
        return false;
    for (int i = 0; i < n; i++) {
        char text[32];

        buf_reset(&line);
        (void)snprintf(text, sizeof(text), "line %d\n", i);
        buf_fmt(&line, "%zx\r\n%s\r\n", strlen(text), text);
        if (!conn_write(c, line.p, line.n) || !peer_rest(c, ms))
            return false;
    }
    return say(c, "0\r\n\r\n");
}

static bool big(struct peer_conn *c, size_t n)
{
    autobuf body = { 0 };

    buf_repeat(&body, 'x', n);
    return peer_answer(c, 200, "", buf_view(&body));
}

static int connect_to(uint16_t port)
{
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    to.sin_port = htons(port);
    if (connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0)
        return fd;
    (void)close(fd);
    return -1;
}

static void pass_on(struct peer_conn *c, int fd)
{
    char bytes[32768];

    while (!stopped(c->peer)) {
        struct pollfd fds[2] = { { c->fd, POLLIN, 0 }, { fd, POLLIN, 0 } };
        ssize_t n = 1;

        if (poll(fds, 2, 20) <= 0)
            continue;
        if (fds[0].revents && (n = conn_read(c, bytes, sizeof(bytes))) > 0)
            n = send(fd, bytes, (size_t)n, MSG_NOSIGNAL);
        if (n > 0 && fds[1].revents && (n = read(fd, bytes, sizeof(bytes))) > 0)
            n = conn_write(c, bytes, (size_t)n) ? n : 0;
        if (n <= 0)
            break;
    }
}

static bool tunnel(struct peer_conn *c, const char *head)
{
    const char *colon = strchr(head, ':');
    autoclose int fd = connect_to((uint16_t)strtoul(colon ? colon + 1 : "0", NULL, 10));

    if (fd < 0)
        return peer_answer(c, 502, "", STR_NULL);
    (void)say(c, "HTTP/1.1 200 Connection established\r\n\r\n");
    pass_on(c, fd);
    return false;
}

static bool take_bytes(struct peer_conn *c, unsigned char *to, size_t n)
{
    return recv(c->fd, to, n, MSG_WAITALL) == (ssize_t)n;
}

/* Whoever offers to log in has to; all may but "bad". Addresses are IPv4. */
static void socks(struct peer_conn *c)
{
    unsigned char b[512], user[256] = { 0 };
    autoclose int fd = -1;

    if (!take_bytes(c, b, 2) || !take_bytes(c, b + 2, b[1]))
        return;
    if (b[1] == 2) {
        if (!conn_write(c, "\x05\x02", 2) || !take_bytes(c, b, 2) || !take_bytes(c, user, b[1]) ||
            !take_bytes(c, b, 1) || !take_bytes(c, b + 1, b[0]) ||
            !conn_write(c, memcmp(user, "bad", 4) == 0 ? "\x01\x01" : "\x01\x00", 2))
            return;
    } else if (!conn_write(c, "\x05\x00", 2)) {
        return;
    }
    if (!take_bytes(c, b, 10) || b[3] != 1)
        return;
    note(c->peer, b[1] == 1 ? "socks" : "?");
    fd = connect_to((uint16_t)(b[8] << 8 | b[9]));
    if (conn_write(c, fd < 0 ? "\x05\x05\x00\x01\0\0\0\0\0\0" : "\x05\x00\x00\x01\0\0\0\0\0\0", 10) && fd >= 0)
        pass_on(c, fd);
}

static bool is_socks(struct peer_conn *c)
{
    char first = 0;

    return !c->ssl && recv(c->fd, &first, 1, MSG_PEEK) == 1 && first == 5;
}

/* True: the connection stays open. */
static bool serve(struct peer_conn *c, const struct buf *head, const struct buf *body)
{
    struct peer_request r = { .head = buf_view(head), .body = buf_view(body) };
    const char *path = r.path;
    char count[32];
    int a = 0, b = 0;

    (void)sscanf(head->p, "%15s %1023s", r.method, r.path);
    note(c->peer, path);
    c->n_requests++;
    if (c->peer->opt.serve)
        return c->peer->opt.serve(c->peer->opt.ctx, c, &r);
    if (strcmp(r.method, "CONNECT") == 0)
        return tunnel(c, head->p);
    if (strcmp(path, "/hello") == 0)
        return peer_answer(c, 200, "", STR("hello"));
    if (strcmp(path, "/echo") == 0) {
        autobuf both = { 0 };

        buf_str(&both, buf_view(head));
        buf_str(&both, buf_view(body));
        return peer_answer(c, 200, "", buf_view(&both));
    }
    if (strcmp(path, "/conn") == 0) {
        (void)snprintf(count, sizeof(count), "%u %u", c->number, c->n_requests);
        return peer_answer(c, 200, "", str_of(count));
    }
    if (sscanf(path, "/status/%d", &a) == 1)
        return peer_answer(c, a, "Retry-After: 7\r\n", STR("no"));
    if (sscanf(path, "/big/%d", &a) == 1)
        return big(c, (size_t)a);
    if (strcmp(path, "/gzip") == 0)
        return strcasestr(head->p, "\naccept-encoding: gzip")
                   ? peer_answer(c, 200, "Content-Encoding: gzip\r\n", (struct str){ gzipped, sizeof(gzipped) - 1 })
                   : peer_answer(c, 200, "", STR("plain"));
    if (strcmp(path, "/badgzip") == 0)
        return peer_answer(c, 200, "Content-Encoding: gzip\r\n", STR("this is no gzip"));
    if (sscanf(path, "/slow/%d", &a) == 1)
        return peer_rest(c, a) && peer_answer(c, 200, "", STR("hello"));
    if (sscanf(path, "/drip/%d/%d", &a, &b) == 2)
        return drip(c, a, b);
    if (strcmp(path, "/stall") == 0)
        return say(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7\r\nline 0\n\r\n") && peer_rest(c, 60000);
    if (strcmp(path, "/silent") == 0)
        return peer_rest(c, 60000);
    if (strcmp(path, "/cuthead") == 0)
        return say(c, "HTTP/1.1 200 OK\r\nContent-Le") && false;
    if (strcmp(path, "/short") == 0)
        return say(c, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n0123456789") && false;
    if (strcmp(path, "/chunkcut") == 0)
        return say(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n64\r\n0123456789") && false;
    if (strcmp(path, "/garbage") == 0)
        return say(c, "SSH-2.0-OpenSSH_9.2\r\n") && false;
    if (strcmp(path, "/early") == 0)
        return say(c, "HTTP/1.1 100 Continue\r\n\r\n") && peer_answer(c, 200, "", STR("hello"));
    if (strcmp(path, "/untilclose") == 0)
        return say(c, "HTTP/1.0 200 OK\r\n\r\nhello") && false;
    if (strcmp(path, "/redirect") == 0)
        return peer_answer(c, 302, "Location: /hello\r\n", STR_NULL);
    if (strcmp(path, "/last") == 0)
        (void)shutdown(c->peer->fd, SHUT_RDWR);
    if (strcmp(path, "/cut") == 0 || strcmp(path, "/last") == 0)
        return false;
    return peer_answer(c, 404, "", STR("not here"));
}

static void *conn_main(void *arg)
{
    struct peer_conn *c = arg;
    autobuf head = { 0 }, body = { 0 };
    bool is_open = true;

    if (c->peer->ctx) {
        c->ssl = SSL_new(c->peer->ctx);
        SSL_set_fd(c->ssl, c->fd);
        is_open = SSL_accept(c->ssl) == 1;
    }
    if (is_socks(c)) {
        socks(c);
        is_open = false;
    }
    while (is_open && read_request(c, &head, &body))
        is_open = serve(c, &head, &body);
    SSL_free(c->ssl);
    (void)shutdown(c->fd, SHUT_RDWR); /* closed at the end: its number stays taken */
    buf_done(&c->in);
    return NULL;
}

static void *peer_main(void *arg)
{
    struct peer *p = arg;

    while (!stopped(p)) {
        struct pollfd fd = { p->fd, POLLIN, 0 };
        struct peer_conn *c;
        int client;

        if (poll(&fd, 1, 20) <= 0 || (client = accept4(p->fd, NULL, NULL, SOCK_CLOEXEC)) < 0)
            continue;
        pthread_mutex_lock(&p->lock);
        assert(p->n_conns < MAX_CONNS);
        c = &p->conns[p->n_conns++];
        *c = (struct peer_conn){ .peer = p, .fd = client, .number = p->n_conns };
        if (p->is_shut)
            (void)shutdown(client, SHUT_RDWR);
        pthread_mutex_unlock(&p->lock);
        assert(pthread_create(&c->thread, NULL, conn_main, c) == 0);
    }
    return NULL;
}

/* ---- life ---- */

static SSL_CTX *tls_new(const struct peer_options *opt)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());

    assert(SSL_CTX_use_certificate_chain_file(ctx, opt->cert) == 1);
    assert(SSL_CTX_use_PrivateKey_file(ctx, opt->key, SSL_FILETYPE_PEM) == 1);
    if (opt->client_ca) {
        assert(SSL_CTX_load_verify_locations(ctx, opt->client_ca, NULL) == 1);
        SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    }
    return ctx;
}

struct peer *peer_start(const struct peer_options *opt)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    struct peer *p = xcalloc(1, sizeof(*p));
    socklen_t n = sizeof(at);

    p->opt = *opt;
    p->ctx = opt->cert ? tls_new(opt) : NULL;
    p->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert(bind(p->fd, (struct sockaddr *)&at, sizeof(at)) == 0 && listen(p->fd, 128) == 0);
    assert(getsockname(p->fd, (struct sockaddr *)&at, &n) == 0);
    p->port = ntohs(at.sin_port);
    pthread_mutex_init(&p->lock, NULL);
    assert(pthread_create(&p->thread, NULL, peer_main, p) == 0);
    return p;
}

void peer_stop(struct peer *p)
{
    pthread_mutex_lock(&p->lock);
    p->stops = true;
    pthread_mutex_unlock(&p->lock);
    pthread_join(p->thread, NULL);
    for (unsigned i = 0; i < p->n_conns; i++) {
        (void)shutdown(p->conns[i].fd, SHUT_RDWR);
        pthread_join(p->conns[i].thread, NULL);
        close(p->conns[i].fd);
    }
    close(p->fd);
    SSL_CTX_free(p->ctx);
    pthread_mutex_destroy(&p->lock);
    free(p);
}

void peer_shut(struct peer *p, bool is_shut)
{
    pthread_mutex_lock(&p->lock);
    p->is_shut = is_shut;
    for (unsigned i = 0; is_shut && i < p->n_conns; i++)
        (void)shutdown(p->conns[i].fd, SHUT_RDWR);
    pthread_mutex_unlock(&p->lock);
}

int peer_port(const struct peer *p)
{
    return p->port;
}

unsigned peer_requests(const struct peer *p, const char *path)
{
    struct peer *mine = (struct peer *)p;
    unsigned n = 0;

    pthread_mutex_lock(&mine->lock);
    for (unsigned i = 0; i < p->n_seen; i++)
        n += strncmp(p->seen[i], path, strlen(path)) == 0;
    pthread_mutex_unlock(&mine->lock);
    return n;
}

unsigned peer_connections(const struct peer *p)
{
    struct peer *mine = (struct peer *)p;
    unsigned n;

    pthread_mutex_lock(&mine->lock);
    n = p->n_conns;
    pthread_mutex_unlock(&mine->lock);
    return n;
}
