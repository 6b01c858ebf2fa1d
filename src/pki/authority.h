/* authority.h - the CA of a server, on disk: its own certificate, and those of its clients
 *
 * Below the directory (0700) are ca.pem and server.pem, each a key and certificates, and ca.crt, a copy of what clients
 * trust; all of them 0600. What is missing, has come near its end or is not for the names that are wanted is made anew.
 * A CA that is damaged is an error and never overwritten: one that is replaced in silence locks everybody out.
 *
 * The CA is good for ten years, a server's certificate for one. In its last two years the CA is *renewed*: a new
 * certificate of the same key, so that what clients were given stays good until its own end, and what they are given
 * from then on lasts longer. It is *rotated* (another key) only when somebody asks for that, because clients must be
 * given the new one: old ones are still trusted to know clients by, unless the key has been lost to somebody.
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

/* Has somebody beside us rotated it? Then it is read, and '*ret_changed' is true. */
int authority_refresh(struct authority *a, int64_t now_ms, bool *ret_changed, struct err *e);

/* Another key. 'keeps_old': certificates by the old one are still believed. The server's certificate is new too. */
int authority_rotate(struct authority *a, bool keeps_old, int64_t now_ms, struct err *e);

#endif
