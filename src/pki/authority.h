/* authority.h - the CA of a server, on disk: issues the certificates of the server and its clients
 *
 * Below the directory (0700) are ca.pem and server.pem, each a key and certificates, and ca.crt, a copy of what clients
 * trust; all have mode 0600. A certificate that is missing, near its end or for other names is replaced. A damaged CA
 * is an error and never overwritten: a new CA would lock out all clients.
 *
 * The CA is valid for ten years, a server's certificate for one. In its last two years the CA is *renewed*: a new
 * certificate of the same key. Issued certificates stay valid until their own end, and new ones last longer. It is
 * *rotated* (a new key) only on request, because clients must be given the new CA. Client certificates of the old key
 * stay valid, unless the key was lost.
 */
#ifndef PKI_AUTHORITY_H
#define PKI_AUTHORITY_H

#include "pki/certificate.h"

struct authority;

struct authority_options {
    int dir;                  /* borrowed; see secret_dir_open() */
    const char *const *names; /* of the server: host names and addresses, ended by NULL; copied. NULL: none is needed */
    int64_t now_ms;
};

int authority_open(const struct authority_options *opt, struct authority **ret, struct err *e);
void authority_free(struct authority *a); /* NULL is fine; keys are wiped */

/* Renew what is due. '*ret_changed' says whether the server must show another certificate (http_server_set_tls). Cheap
 * when nothing is due: call it now and then. */
int authority_turn(struct authority *a, int64_t now_ms, bool *ret_changed, struct err *e);

/* PEM; borrowed until the next call that is not const. */
struct str authority_ca(const struct authority *a);            /* what clients trust, and what they are known by */
const char *const *authority_names(const struct authority *a); /* ended by NULL; NULL: none is needed */
struct str authority_server_cert(const struct authority *a);
struct str authority_server_key(const struct authority *a);

/* Issue a client certificate with a new key. The buffers are replaced. */
int authority_issue(const struct authority *a, const struct certificate_spec *spec, struct buf *ret_cert,
                    struct buf *ret_key, struct err *e);

/* Reload the CA if another process has rotated it; '*ret_changed' is true then. */
int authority_refresh(struct authority *a, int64_t now_ms, bool *ret_changed, struct err *e);

/* Rotate the CA: a new key, and a new server certificate. 'keeps_old': certificates by the old key stay valid. */
int authority_rotate(struct authority *a, bool keeps_old, int64_t now_ms, struct err *e);

#endif
