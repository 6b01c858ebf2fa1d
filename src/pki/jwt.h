/* jwt.h - signed tokens (RFC 7519), ES256 only: made, and read with suspicion
 *
 * Pure: keys, text and nothing else. A reader that lets the token choose how it is checked has lost, so there is one
 * algorithm, keys are found by the 'kid' that is the hash of the key itself, and everything that is not exactly what
 * jwt_sign() writes in form (three parts, base64url without padding, one JSON object each, no key twice) is no token.
 * What the claims mean is the caller's business: see account.h.
 */
#ifndef PKI_JWT_H
#define PKI_JWT_H

#include "base/vec.h"
#include "json/json.h"

enum { JWT_MAX = 16 << 10 }; /* bytes; nothing longer is looked at */

struct jwt_key;

/* ---- keys ---- */

struct jwt_key *jwt_key_new(struct err *e);                                 /* EC P-256 */
int jwt_key_read(struct str pem, struct jwt_key **ret, struct err *e);      /* the first of the text */
int jwt_key_print(const struct jwt_key *k, struct buf *out, struct err *e); /* PEM, appended */
void jwt_key_free(struct jwt_key *k);                                       /* NULL is fine */

/* SHA-256 of the public key, base64url: its name in tokens. */
struct str jwt_key_id(const struct jwt_key *k);

/* The public half as a JSON Web Key, for /openid/v1/jwks. */
struct json *jwt_key_public(struct arena *a, const struct jwt_key *k);

/* ---- tokens ---- */

/* Append a token with these claims. */
int jwt_sign(const struct jwt_key *k, const struct json *claims, struct buf *out, struct err *e);

/* The claims of a token that one of the keys has signed; NULL: it is none, for whatever reason. Their text is in the
 * arena. */
struct json *jwt_verify(struct arena *a, struct str token, struct jwt_key *const *keys, size_t n_keys);

/* The claims of a token that jwt_verify() has said yes to before, with keys that are still good: for those who remember
 * that. NULL: it has not the form of one. */
struct json *jwt_claims(struct arena *a, struct str token);

/* Could this be one of ours? By form only: three parts. So a server can tell it from another kind of token. */
bool jwt_looks_like(struct str token);

/* ---- base64url without padding (RFC 4648, 5) ---- refuses what an encoder does not write ---- */

void base64url_print(struct buf *out, struct str bytes);
int base64url_parse(struct str text, struct buf *out);

#endif
