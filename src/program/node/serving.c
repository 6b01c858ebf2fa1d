/* serving.c - the kubelet API of this node: where it listens, and by which certificates it is known and knows
 *
 *     ours      --tls-cert-file; else one that the cluster signs (a CertificateSigningRequest for
 *               kubernetes.io/kubelet-serving, if an admin approves it), which is kept below --state, as is the request;
 *               until then a self-signed one
 *     clients'  signed by a CA of --client-ca-file; else by the one the API server itself believes, as it says in
 *               kube-system/extension-apiserver-authentication, if we may read that
 *
 * Files are read again when they have changed; what does not fit together is being replaced, and the old ones hold
 * meanwhile.
 */
#include "api/meta.h"
#include "api/pod/status.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "program/node/node.h"
#include "pki/certificate.h"
#include "kubelet/csr.h"
#include "kubelet/kubelet.h"
#include "os/io.h"

#include <fcntl.h>
#include <unistd.h>

enum { FILE_MAX = 1 << 20, LOOK_MS = 2000, LOOK_MAX_MS = 60000, FILES_MS = 2000, PATH_BYTES = 300 };

#define OWN_MS   ((int64_t)365 * 24 * 3600 * 1000)
#define REQUESTS "/apis/certificates.k8s.io/v1/certificatesigningrequests"
#define CA_MAP   "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"

struct serving {
    struct node *node;
    struct kubelet *kubelet;
    struct buf cert, key, client_ca;
    struct buf next_key;   /* of the request that is not answered yet */
    struct str files;      /* of what is kept from one start to the next, without their ends */
    char path[PATH_BYTES]; /* of the request; empty: there is none */
    bool has_begun, is_busy;
    bool was_told;  /* that the certificate is self-signed */
    int64_t due_ms; /* mono time of the next step; INT64_MAX: none */
    int64_t pause_ms;
    int64_t files_ms; /* mono time of the next look at them; INT64_MAX: there are none */
    bool is_torn;     /* they do not fit, and that was logged */
};

static int64_t serving_mono(void)
{
    return clock_mono_ms(&clock_real);
}

static struct http_server_tls tls_of(const struct serving *s)
{
    return (struct http_server_tls){ buf_view(&s->cert), buf_view(&s->key), buf_view(&s->client_ca) };
}

static void put_in_force(struct serving *s)
{
    struct http_server_tls tls = tls_of(s);
    struct err e;

    if (kubelet_set_tls(s->kubelet, &tls, &e) < 0)
        log_error("Failed to load the certificates; keeping the old ones", LOG_TEXT("error", e.text));
}

/* ---- who clients are signed by ---- */

static void on_client_ca(void *ctx, const struct json *answer, const struct err *e)
{
    struct serving *s = ctx;
    struct str ca = json_member_text(json_get(answer, "data"), "client-ca-file");

    if (!ca.n) {
        log_warn("Client certificates are not accepted; kubectl logs and exec may fail",
                 LOG_TEXT("error", e ? e->text : "the API server publishes no client CA; use --client-ca-file"));
        return;
    }
    buf_str(&s->client_ca, ca);
    put_in_force(s);
}

/* ---- what is kept ---- so that a node asks once, and not at each start ----
 *
 *     .crt .key        what the cluster signed, and its key
 *     .csr .next.key   the request that is not answered yet, by name, and its key
 */

static const char *kept_path(const struct serving *s, const char *end)
{
    return arena_fmt(s->node->arena, "%.*s%s", STR_ARG(s->files), end).p;
}

static void serving_keep(const struct serving *s, const char *end, struct str text)
{
    if (file_write(AT_FDCWD, kept_path(s, end), O_TRUNC, 0600, text) < 0) /* the next start asks again, then */
        log_warn("Failed to store the serving certificate", LOG_TEXT("file", kept_path(s, end)));
}

static bool read_kept(const struct serving *s, const char *end, struct buf *out)
{
    return file_read(AT_FDCWD, kept_path(s, end), 0, FILE_MAX, out) == 0 && out->n;
}

/* Again when four fifths of its time are over. */
static void renew_later(struct serving *s, int64_t end_ms)
{
    s->due_ms = serving_mono() + MAX_OF((end_ms - clock_now_ms(&clock_real)) / 5 * 4, (int64_t)LOOK_MAX_MS);
}

/* That of an earlier start, if it is still good. */
static bool take_kept(struct serving *s)
{
    autobuf cert = { 0 };
    autosecret key = { 0 };
    int64_t end_ms;
    struct err e;

    if (!read_kept(s, ".crt", &cert) || !read_kept(s, ".key", &key) || !certificate_fits(&cert, &key) ||
        certificate_end(buf_view(&cert), &end_ms, &e) < 0 || end_ms <= clock_now_ms(&clock_real))
        return false;
    buf_str(&s->cert, buf_view(&cert));
    buf_str(&s->key, buf_view(&key));
    renew_later(s, end_ms);
    return true;
}

/* The request of an earlier start that has no answer yet. */
static void take_kept_request(struct serving *s)
{
    autobuf name = { 0 };

    if (read_kept(s, ".csr", &name) && read_kept(s, ".next.key", &s->next_key))
        (void)snprintf(s->path, sizeof(s->path), REQUESTS "/%.*s", STR_ARG(str_trim(buf_view(&name))));
}

/* ---- a certificate that the cluster signs ---- */

static void look_later(struct serving *s)
{
    s->is_busy = false;
    s->pause_ms = MIN_OF(MAX_OF(2 * s->pause_ms, (int64_t)LOOK_MS), (int64_t)LOOK_MAX_MS);
    s->due_ms = serving_mono() + s->pause_ms;
}

static void serving_give_up(struct serving *s, const char *why)
{
    log_warn("No signed serving certificate; serving with a self-signed one", LOG_TEXT("why", why));
    s->is_busy = false;
    s->due_ms = INT64_MAX;
}

static void take_certificate(struct serving *s, struct str base64)
{
    autobuf pem = { 0 };
    int64_t end_ms;
    struct err e;

    if (buf_unbase64(&pem, base64) < 0 || certificate_end(buf_view(&pem), &end_ms, &e) < 0) {
        serving_give_up(s, "what came is no certificate");
        return;
    }
    buf_reset(&s->cert);
    buf_reset(&s->key);
    buf_str(&s->cert, buf_view(&pem));
    buf_str(&s->key, buf_view(&s->next_key));
    buf_reset(&s->next_key);
    put_in_force(s);
    log_info("Serving with a certificate signed by the cluster");
    s->path[0] = '\0';
    s->is_busy = false;
    s->pause_ms = 0;
    serving_keep(s, ".crt", buf_view(&s->cert));
    serving_keep(s, ".key", buf_view(&s->key));
    (void)unlink(kept_path(s, ".csr")); /* not there: as it should be */
    (void)unlink(kept_path(s, ".next.key"));
    renew_later(s, end_ms);
}

static void on_request_seen(void *ctx, const struct json *answer, const struct err *e)
{
    struct serving *s = ctx;
    const struct json *status = json_get(answer, "status");
    struct str cert = json_member_text(status, "certificate");
    bool is_denied = condition_find(status, STR("Denied")) || condition_find(status, STR("Failed"));

    if (e && e->code == ERR_FORBIDDEN) {
        serving_give_up(s, e->text);
    } else if (e && e->code == ERR_NOT_FOUND) { /* too old: it was taken away */
        s->path[0] = '\0';
        look_later(s);
    } else if (!e && is_denied) {
        serving_give_up(s, "the request was denied");
    } else if (cert.n) {
        take_certificate(s, cert);
    } else {
        look_later(s);
    }
}

static void on_request_made(void *ctx, const struct json *answer, const struct err *e)
{
    struct serving *s = ctx;
    struct str name = object_name(answer);

    if (e && (e->code == ERR_FORBIDDEN || e->code == ERR_INVALID)) {
        serving_give_up(s, e->text);
        return;
    }
    if (name.n) {
        (void)snprintf(s->path, sizeof(s->path), REQUESTS "/%.*s", STR_ARG(name));
        serving_keep(s, ".next.key", buf_view(&s->next_key));
        serving_keep(s, ".csr", name);
    }
    if (name.n && !s->was_told)
        log_info("Requested a serving certificate; serving with a self-signed one until it is issued",
                 LOG_STR("request", name), LOG_TEXT("advice", "kubectl certificate approve NAME, or --tls-cert-file"));
    s->was_told |= name.n > 0;
    look_later(s);
}

static void serving_ask(struct serving *s)
{
    static const char *const usages[] = { "digital signature", "server auth" };
    autoarena a = { 0 };
    autobuf pem = { 0 }, base64 = { 0 };
    struct json *request = object_new(&a, "certificates.k8s.io/v1", "CertificateSigningRequest", STR_NULL, STR_NULL),
                *spec = json_set(request, "spec", json_object(&a)), *list;
    struct err e;

    buf_reset(&s->next_key);
    if (csr_make(s->node->name, s->node->ip, &pem, &s->next_key, &e) < 0) {
        serving_give_up(s, e.text);
        return;
    }
    buf_base64(&base64, buf_view(&pem));
    json_set(json_get(request, "metadata"), "generateName", json_str(&a, STR("csr-")));
    json_set(spec, "request", json_str(&a, buf_view(&base64)));
    json_set(spec, "signerName", json_str(&a, STR("kubernetes.io/kubelet-serving")));
    list = json_set(spec, "usages", json_array(&a));
    for (size_t i = 0; i < ARRAY_LEN(usages); i++)
        json_push(list, json_str(&a, str_of(usages[i])));
    cluster_kube_ask(s->node->door, &(struct kube_question){ "POST", STR(REQUESTS), request, on_request_made, s });
}

/* ---- beginning, turns, end ---- */

static int serving_read_file(const char *flag, const char *path, struct buf *out, struct err *e)
{
    if (file_read(AT_FDCWD, path, 0, FILE_MAX, out) < 0)
        return err_errno(e, "--%s %s", flag, path);
    return 0;
}

/* Signed by a CA of our own, which clients do not know. */
static int make_own(struct serving *s, struct err *e)
{
    autocertificates set = { .title = "pumice node" };
    const char *names[] = { s->node->name.p, arena_cstr(s->node->arena, s->node->ip), NULL };

    if (certificate_make(&set, names, clock_now_ms(&clock_real), OWN_MS, e) < 0)
        return -1;
    buf_str(&s->cert, buf_view(&set.cert));
    buf_str(&s->key, buf_view(&set.key));
    return 0;
}

/* --client-ca-file, --tls-cert-file and its key, those that are given. */
static int read_files(const struct node_options *o, struct buf *cert, struct buf *key, struct buf *ca, struct err *e)
{
    if (o->client_ca && serving_read_file("client-ca-file", o->client_ca, ca, e) < 0)
        return -1;
    if (o->cert && (serving_read_file("tls-cert-file", o->cert, cert, e) < 0 ||
                    serving_read_file("tls-private-key-file", o->key, key, e) < 0))
        return -1;
    return 0;
}

static int find_certificates(struct serving *s, struct err *e)
{
    const struct node_options *o = s->node->o;

    s->files_ms = o->client_ca || o->cert ? serving_mono() + FILES_MS : INT64_MAX;
    if (read_files(o, &s->cert, &s->key, &s->client_ca, e) < 0)
        return -1;
    if (o->cert)
        return 0;
    /* A certificate for an old address of the node is useless, so the address is in the name. */
    s->files = arena_fmt(s->node->arena, "%.*s/node-%.*s-%.*s", STR_ARG(s->node->machine.state), STR_ARG(s->node->name),
                         STR_ARG(s->node->ip));
    take_kept_request(s);
    return take_kept(s) ? 0 : make_own(s, e);
}

static bool serving_replace(struct buf *old, struct buf *new)
{
    struct buf was = *old;

    if (!new->n || str_eq(buf_view(old), buf_view(new)))
        return false;
    *old = *new;
    *new = was;
    return true;
}

/* 'cert', 'key' and 'ca' become what was in force before. */
static bool swap(struct serving *s, struct buf *cert, struct buf *key, struct buf *ca)
{
    bool is_new = serving_replace(&s->cert, cert);

    is_new |= serving_replace(&s->key, key);
    return serving_replace(&s->client_ca, ca) || is_new;
}

static void torn(struct serving *s, const struct err *e)
{
    if (!s->is_torn)
        log_warn("Failed to reload certificates; keeping the old ones", LOG_TEXT("error", e->text));
    s->is_torn = true;
}

static void look_at_files(struct serving *s)
{
    autobuf cert = { 0 }, key = { 0 }, ca = { 0 };
    struct http_server_tls tls;
    struct err e;

    s->files_ms = serving_mono() + FILES_MS;
    if (read_files(s->node->o, &cert, &key, &ca, &e) < 0) {
        torn(s, &e);
        return;
    }
    if (!swap(s, &cert, &key, &ca)) {
        s->is_torn = false;
        return;
    }
    tls = tls_of(s);
    if (kubelet_set_tls(s->kubelet, &tls, &e) < 0) {
        torn(s, &e);
        (void)swap(s, &cert, &key, &ca);
        return;
    }
    s->is_torn = false;
    log_info("Reloaded certificates");
}

int serving_open(struct node *n, struct serving **ret, struct err *e)
{
    struct serving *s = xcalloc(1, sizeof(*s));
    struct kubelet_options opt = { .agent = n->agent, .door = n->door, .node_name = n->name };
    autobuf address = { 0 };

    s->node = n;
    s->due_ms = INT64_MAX;
    *ret = s;
    buf_fmt(&address, "%s:%s", n->o->address ? n->o->address : "", n->o->port ? n->o->port : "10250");
    opt.address = address.p;
    if (find_certificates(s, e) < 0)
        return -1;
    opt.tls = tls_of(s);
    return kubelet_open(&opt, &s->kubelet, e) < 0 ? err_wrap(e, "the kubelet API at %s", address.p) : 0;
}

void serving_close(struct serving *s)
{
    if (!s)
        return;
    kubelet_close(s->kubelet);
    buf_done(&s->cert);
    buf_done(&s->key);
    buf_done(&s->client_ca);
    buf_done(&s->next_key);
    free(s);
}

unsigned serving_port(const struct serving *s)
{
    return kubelet_port(s->kubelet);
}

int serving_fd(const struct serving *s)
{
    return kubelet_fd(s->kubelet);
}

static void serving_begin(struct serving *s)
{
    s->has_begun = true;
    if (!s->node->o->client_ca)
        cluster_kube_ask(s->node->door, &(struct kube_question){ "GET", STR(CA_MAP), NULL, on_client_ca, s });
    if (!s->node->o->cert && s->due_ms == INT64_MAX)
        s->due_ms = serving_mono();
}

int64_t serving_turn(struct serving *s)
{
    int64_t wait_ms = kubelet_turn(s->kubelet);

    if (!s->has_begun)
        serving_begin(s);
    if (serving_mono() >= s->files_ms)
        look_at_files(s);
    if (s->files_ms != INT64_MAX)
        wait_ms = MIN_OF(wait_ms, MAX_OF(s->files_ms - serving_mono(), 0));
    if (!s->is_busy && serving_mono() >= s->due_ms) {
        s->is_busy = true;
        if (s->path[0])
            cluster_kube_ask(s->node->door,
                             &(struct kube_question){ "GET", str_of(s->path), NULL, on_request_seen, s });
        else
            serving_ask(s);
    }
    if (!s->is_busy && s->due_ms != INT64_MAX)
        wait_ms = MIN_OF(wait_ms, MAX_OF(s->due_ms - serving_mono(), 0));
    return wait_ms;
}
