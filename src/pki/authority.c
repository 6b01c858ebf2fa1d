/* authority.c - the CA of a server, on disk */
#include "pki/authority.h"

#include "pki/secret_file.h"
#include "base/util.h"

#define DAY_MS     (24LL * 3600 * 1000)
#define CA_MS      (3650 * DAY_MS)
#define CA_DUE_MS  (730 * DAY_MS) /* before its end */
#define SERVER_MS  (365 * DAY_MS)
#define SERVER_DUE (SERVER_MS / 3)

enum { CAS_MAX = 4 }; /* trusted at once; the oldest is dropped */

#define CA_FILE     "ca.pem"
#define SERVER_FILE "server.pem"

static const char title[] = "pumice server";

struct authority {
    int dir;
    const char **names;
    struct certificate_set set;
    int64_t ca_end_ms, cert_end_ms; /* cert: 0 until there is a good one */
    struct stat seen;               /* ca.pem */
};

/* ---- files ---- key and certificates in one, so that no power cut comes between them ---- */

static int read_pair(struct authority *a, const char *file, struct buf *cert, struct buf *key, struct err *e)
{
    static const char begin[] = "-----BEGIN CERTIFICATE-----";
    autosecret all = { 0 };
    const char *at;

    if (secret_file_read(a->dir, file, &all, NULL, e) < 0)
        return -1;
    at = all.n ? memmem(all.p, all.n, begin, sizeof(begin) - 1) : NULL;
    if (!at)
        return err_set(e, ERR_INVALID, "%s: has no certificate; restore the file", file);
    buf_append(key, all.p, (size_t)(at - all.p));
    buf_append(cert, at, all.n - (size_t)(at - all.p));
    return 0;
}

static int write_pair(struct authority *a, const char *file, const struct buf *cert, const struct buf *key,
                      struct err *e)
{
    autosecret all = { 0 };

    buf_str(&all, buf_view(key));
    buf_str(&all, buf_view(cert));
    return secret_file_write(a->dir, file, buf_view(&all), e);
}

/* ---- the CA ---- */

/* The certificates of a text, one after the other. */
static bool next_pem(struct str *rest, struct str *ret)
{
    static const char end[] = "-----END CERTIFICATE-----\n";
    const char *at = rest->n ? memmem(rest->p, rest->n, end, sizeof(end) - 1) : NULL;

    if (!at)
        return false;
    *ret = (struct str){ rest->p, (size_t)(at - rest->p) + sizeof(end) - 1 };
    *rest = str_from(*rest, ret->n);
    return true;
}

/* 'fresh' in front of those that are still good. */
static void put_in_front(struct authority *a, const struct buf *fresh, bool keeps_old, int64_t now_ms)
{
    struct str rest = buf_view(&a->set.ca), one;
    autobuf all = { 0 };
    int64_t end_ms;

    buf_str(&all, buf_view(fresh));
    for (size_t n = 1; keeps_old && n < CAS_MAX && next_pem(&rest, &one);)
        if (certificate_end(one, &end_ms, NULL) == 0 && end_ms > now_ms) {
            buf_str(&all, one);
            n++;
        }
    buf_reset(&a->set.ca);
    buf_str(&a->set.ca, buf_view(&all));
}

static int make_ca(struct authority *a, bool keeps_old, int64_t now_ms, struct err *e)
{
    autobuf fresh = { 0 };

    if (certificate_make_ca(&(struct certificate_ca){ title, now_ms, CA_MS }, &fresh, &a->set.ca_key, e) < 0)
        return err_wrap(e, CA_FILE);
    put_in_front(a, &fresh, keeps_old, now_ms);
    if (write_pair(a, CA_FILE, &a->set.ca, &a->set.ca_key, e) < 0 ||
        secret_file_write(a->dir, "ca.crt", buf_view(&a->set.ca), e) < 0)
        return -1;
    (void)secret_file_changed(a->dir, CA_FILE, &a->seen); /* our own hand */
    return certificate_end(buf_view(&a->set.ca), &a->ca_end_ms, e);
}

int authority_rotate(struct authority *a, bool keeps_old, int64_t now_ms, struct err *e)
{
    bool changed;

    secret_wipe(&a->set.ca_key);
    a->cert_end_ms = 0;
    if (make_ca(a, keeps_old, now_ms, e) < 0)
        return -1;
    return authority_turn(a, now_ms, &changed, e);
}

/* ---- the server ---- */

static int make_server(struct authority *a, int64_t now_ms, struct err *e)
{
    struct certificate_spec spec = {
        .common_name = str_of(title), .names = a->names, .now_ms = now_ms, .life_ms = SERVER_MS
    };

    if (certificate_sign(&a->set, &spec, &a->set.cert, &a->set.key, e) < 0 ||
        write_pair(a, SERVER_FILE, &a->set.cert, &a->set.key, e) < 0)
        return err_wrap(e, SERVER_FILE);
    return certificate_end(buf_view(&a->set.cert), &a->cert_end_ms, e);
}

int authority_turn(struct authority *a, int64_t now_ms, bool *ret_changed, struct err *e)
{
    *ret_changed = false;
    if (now_ms >= a->ca_end_ms - CA_DUE_MS) {
        if (make_ca(a, true, now_ms, e) < 0)
            return -1;
        *ret_changed = true; /* the clients' certificates last longer, and so may the server's */
    }
    if (a->names && (*ret_changed || now_ms >= a->cert_end_ms - SERVER_DUE)) {
        if (make_server(a, now_ms, e) < 0)
            return -1;
        *ret_changed = true;
    }
    return 0;
}

/* ---- opening ---- */

/* Does the key fit? What it signs must be good under the certificate. */
static int try_ca(struct authority *a, int64_t now_ms, struct err *e)
{
    struct certificate_spec spec = { .common_name = STR("probe"), .now_ms = now_ms, .life_ms = DAY_MS };
    autobuf cert = { 0 };
    autosecret key = { 0 };
    int64_t begin, end;

    if (certificate_sign(&a->set, &spec, &cert, &key, e) < 0)
        return -1;
    return certificate_check(&(struct certificate_set){ .ca = a->set.ca, .cert = cert, .key = key },
                             (const char *const[]){ NULL }, &begin, &end, e);
}

static int open_ca(struct authority *a, int64_t now_ms, struct err *e)
{
    struct err why;

    if (read_pair(a, CA_FILE, &a->set.ca, &a->set.ca_key, &why) < 0)
        return why.code == ERR_NOT_FOUND ? make_ca(a, false, now_ms, e) : err_set(e, why.code, "%s", why.text);
    if (certificate_end(buf_view(&a->set.ca), &a->ca_end_ms, e) < 0)
        return err_wrap(e, CA_FILE);
    if (now_ms >= a->ca_end_ms) /* renewed below, by the same key */
        return 0;
    return try_ca(a, now_ms, e) < 0 ? err_wrap(e, CA_FILE) : 0;
}

static int open_server(struct authority *a, struct err *e)
{
    int64_t begin;
    struct err why;

    if (!a->names)
        return 0;
    if (read_pair(a, SERVER_FILE, &a->set.cert, &a->set.key, &why) < 0 && why.code != ERR_NOT_FOUND &&
        why.code != ERR_INVALID)
        return err_set(e, why.code, "%s", why.text);
    if (certificate_check(&a->set, a->names, &begin, &a->cert_end_ms, NULL) < 0)
        a->cert_end_ms = 0; /* replaced: only this server has it */
    return 0;
}

static const char **copy_names(const char *const *names)
{
    const char **copy;
    size_t n = 0;

    while (names[n])
        n++;
    copy = xcalloc(n + 1, sizeof(*copy));
    for (size_t i = 0; i < n; i++)
        copy[i] = strdup(names[i]);
    return copy;
}

int authority_open(const struct authority_options *opt, struct authority **ret, struct err *e)
{
    struct authority *a = xcalloc(1, sizeof(*a));
    bool changed;

    a->dir = opt->dir;
    a->set.title = title;
    a->names = opt->names ? copy_names(opt->names) : NULL;
    if (open_ca(a, opt->now_ms, e) < 0 || open_server(a, e) < 0 || authority_turn(a, opt->now_ms, &changed, e) < 0) {
        authority_free(a);
        return -1;
    }
    (void)secret_file_changed(a->dir, CA_FILE, &a->seen);
    *ret = a;
    return 0;
}

/* The old set stays until the new one is verified. */
int authority_refresh(struct authority *a, int64_t now_ms, bool *ret_changed, struct err *e)
{
    struct authority fresh = { .dir = a->dir, .names = a->names, .set.title = title, .seen = a->seen };

    *ret_changed = false;
    if (!secret_file_changed(a->dir, CA_FILE, &fresh.seen))
        return 0;
    a->seen = fresh.seen;
    if (open_ca(&fresh, now_ms, e) < 0 || open_server(&fresh, e) < 0 ||
        authority_turn(&fresh, now_ms, ret_changed, e) < 0) {
        certificate_set_done(&fresh.set);
        return -1;
    }
    certificate_set_done(&a->set);
    *a = fresh;
    *ret_changed = true;
    return 0;
}

void authority_free(struct authority *a)
{
    if (!a)
        return;
    for (size_t i = 0; a->names && a->names[i]; i++)
        free((char *)a->names[i]);
    free(a->names);
    certificate_set_done(&a->set);
    free(a);
}

/* ---- looking, and clients ---- */

struct str authority_ca(const struct authority *a)
{
    return buf_view(&a->set.ca);
}

const char *const *authority_names(const struct authority *a)
{
    return a->names;
}

struct str authority_server_cert(const struct authority *a)
{
    return buf_view(&a->set.cert);
}

struct str authority_server_key(const struct authority *a)
{
    return buf_view(&a->set.key);
}

int authority_issue(const struct authority *a, const struct certificate_spec *spec, struct buf *ret_cert,
                    struct buf *ret_key, struct err *e)
{
    return certificate_sign(&a->set, spec, ret_cert, ret_key, e);
}
