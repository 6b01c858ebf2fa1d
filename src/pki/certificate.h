/* certificate.h - a CA of our own, and certificates of servers and clients by it, made by OpenSSL
 *
 * Clients get the CA, so no public CA is needed. Keys are EC (P-256), text is PEM. Times are milliseconds since 1970.
 */
#ifndef PKI_CERTIFICATE_H
#define PKI_CERTIFICATE_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>

/* ---- a server and its CA ---- */

struct certificate_set {
    const char *title;     /* what the subjects are called, for people who look: "pumice webhook"; borrowed */
    struct buf ca, ca_key; /* 'ca': ours first, then older ones that are still trusted */
    struct buf cert, key;
};

#define autocertificates __attribute__((cleanup(certificate_set_done))) struct certificate_set

void certificate_set_done(struct certificate_set *s); /* keys are wiped */

/* Make a certificate for these names ("svc.ns.svc", "127.0.0.1"), good for 'life_ms' from 'now_ms' on (and an hour
 * before, for clocks that are behind). The CA in 'set' signs it; where there is none, or one that ends before the
 * certificate would, a new one is created, valid for ten times as long, and the old one stays trusted. */
int certificate_make(struct certificate_set *set, const char *const *names, int64_t now_ms, int64_t life_ms,
                     struct err *e);

/* Check the certificate and return its validity. ERR_INVALID says what is wrong: malformed PEM, a key that does not
 * match, a CA that did not sign it, a missing name. */
int certificate_check(const struct certificate_set *set, const char *const *names, int64_t *ret_begin_ms,
                      int64_t *ret_end_ms, struct err *e);

/* ---- one by one ---- */

struct certificate_spec {
    struct str common_name;          /* of a client: the user */
    const struct str *organizations; /* and the groups */
    size_t n_organizations;
    const char *const *names; /* of a server, ended by NULL; NULL: it is a client's */
    int64_t now_ms, life_ms;  /* as of certificate_make; it never outlives its CA */
};

/* A new key and a certificate to it, signed by the first CA of 'set'. Both buffers are replaced. */
int certificate_sign(const struct certificate_set *set, const struct certificate_spec *spec, struct buf *ret_cert,
                     struct buf *ret_key, struct err *e);

/* A new CA, with a new key ('ca_key' empty) or with the one that is there: who trusts an older certificate of the same
 * key and title trusts what this one signs, and the other way round. */
struct certificate_ca {
    const char *title;
    int64_t now_ms, life_ms;
};
int certificate_make_ca(const struct certificate_ca *spec, struct buf *ret_ca, struct buf *ca_key, struct err *e);

/* Are these a certificate (the first of them) and its key? For files that are replaced one after the other. */
bool certificate_fits(const struct buf *cert, const struct buf *key);

/* When the first certificate of the text ends. ERR_INVALID: it is none. */
int certificate_end(struct str cert, int64_t *ret_ms, struct err *e);

/* For keys and other secrets: overwritten, then released. */
void secret_wipe(struct buf *b);
#define autosecret __attribute__((cleanup(secret_wipe))) struct buf

#endif
