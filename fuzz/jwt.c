/* jwt.c - fuzz: tokens as they come, which nobody has signed, and claims that we have signed and that mean nothing
 *
 * The key is made for this test and stands here, so that what was found can be found again.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "pki/jwt.h"
#include "base/util.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char pem[] = "-----BEGIN PRIVATE KEY-----\n"
                          "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg8eoqxGusPpCUib3B\n"
                          "KlQT9POvT/lvFFU+d9yXVv8XSoChRANCAASikARB8OHk/G1YRKkOTflgNOd9VMFm\n"
                          "CGlSBx9TDG15pqeuWUAlIjhVG4wzvH2SOxosk6UoVjALjfHCKNEAQWzJ\n"
                          "-----END PRIVATE KEY-----\n";

static struct jwt_key *the_key(void)
{
    static struct jwt_key *key;

    if (!key && jwt_key_read(str_of(pem), &key, NULL) < 0)
        abort();
    return key;
}

/* Whatever is believed was signed by us: base64url has one text for each value, so it is the same token. */
static void try_claims(struct arena *a, struct str text, struct jwt_key *key)
{
    autobuf token = { 0 };
    struct json *claims, *back;

    if (json_parse(a, text, NULL, &claims, NULL) < 0 || !json_is(claims, JSON_OBJECT) ||
        jwt_sign(key, claims, &token, NULL) < 0)
        return;
    back = jwt_verify(a, buf_view(&token), &key, 1);
    assert(!back || json_equal(back, claims));
    token.p[token.n / 2] ^= 1;
    assert(!jwt_verify(a, buf_view(&token), &key, 1));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = { (const char *)data, size };
    struct jwt_key *key = the_key();
    autobuf bytes = { 0 }, again = { 0 };
    autoarena a = { 0 };

    (void)jwt_verify(&a, text, &key, 1);
    if (base64url_parse(text, &bytes) == 0) {
        base64url_print(&again, buf_view(&bytes));
        assert(str_eq(buf_view(&again), text));
    }
    try_claims(&a, text, key);
    return 0;
}
