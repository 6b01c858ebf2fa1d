/* pem.h - certificates and keys as text, for a TLS context */
#ifndef HTTP_PEM_H
#define HTTP_PEM_H

#include "base/err.h"
#include "base/str.h"

#include <openssl/types.h>

/* ERR_INVALID: what is wrong with it, 'what' in front. */
int pem_error(struct err *e, const char *what);

/* The first certificate is ours, the others are on the way to the CA. */
int pem_use_chain(SSL_CTX *t, struct str pem, struct err *e);
/* After the certificate: they must belong together. */
int pem_use_key(SSL_CTX *t, struct str pem, struct err *e);
/* Whom to trust; of a server also: whose certificates clients are asked for. There must be one. */
int pem_use_authorities(SSL_CTX *t, struct str pem, bool of_clients, struct err *e);

#endif
