/* certificate.h - a CA of our own and a server's certificate by it, made by OpenSSL
 *
 * For webhooks: whoever calls is given the CA, so nobody else needs to know it. Keys are EC (P-256), text is PEM. Times
 * are milliseconds since 1970.
 */
#ifndef AUTH_CERTIFICATE_H
#define AUTH_CERTIFICATE_H

#include "base/buf.h"
#include "base/err.h"

struct certificate_set {
    struct buf ca, ca_key; /* 'ca': ours first, then older ones that are still trusted */
    struct buf cert, key;
};

#define autocertificates __attribute__((cleanup(certificate_set_done))) struct certificate_set

void certificate_set_done(struct certificate_set *s); /* keys are wiped */

/* Make a certificate for these names ("svc.ns.svc", "127.0.0.1"), good for 'life_ms' from 'now_ms' on (and an hour
 * before, for clocks that are behind). The CA in 'set' signs it; where there is none, or one that ends before the
 * certificate would, a new one is made, good for ten times as long, and the old one stays trusted beside it. */
int certificate_make(struct certificate_set *set, const char *const *names, int64_t now_ms, int64_t life_ms,
                     struct err *e);

/* Can it be used, and until when? ERR_INVALID says what is wrong: text that is none, a key that does not fit, a CA that
 * did not sign it, a name that is missing. */
int certificate_check(const struct certificate_set *set, const char *const *names, int64_t *ret_begin_ms,
                      int64_t *ret_end_ms, struct err *e);

#endif
