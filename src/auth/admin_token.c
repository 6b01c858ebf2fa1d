/* admin_token.c - the administrator's token in a file */
#include "auth/admin_token.h"

#include "pki/certificate.h"
#include "pki/secret_file.h"
#include "base/codec.h"
#include "base/rand.h"
#include "base/util.h"

#include <openssl/crypto.h>

#define TOKEN_FILE "admin.token"

enum { TOKEN_BYTES = 32 };

int admin_token_rotate(int dir, struct err *e)
{
    unsigned char bytes[TOKEN_BYTES];
    autosecret text = { 0 };

    rand_os_bytes((char *)bytes, sizeof(bytes));
    buf_hex(&text, bytes, sizeof(bytes));
    OPENSSL_cleanse(bytes, sizeof(bytes));
    return secret_file_write(dir, TOKEN_FILE, buf_view(&text), e);
}

static int admin_token_load(struct admin_token *t, struct err *e)
{
    struct str text;

    secret_wipe(&t->text);
    if (secret_file_read(t->dir, TOKEN_FILE, &t->text, NULL, e) < 0)
        return -1;
    text = str_trim(buf_view(&t->text));
    if (text.n < TOKEN_BYTES || text.p != t->text.p) {
        secret_wipe(&t->text);
        return err_set(e, ERR_INVALID,
                       TOKEN_FILE ": is too short for a token; replace it with 'pumice server rotate admin-token'");
    }
    t->text.n = text.n;
    return 0;
}

int admin_token_open(int dir, struct admin_token *ret, struct err *e)
{
    struct stat none = { 0 };

    *ret = (struct admin_token){ .dir = dir };
    if (!secret_file_changed(dir, TOKEN_FILE, &none) && admin_token_rotate(dir, e) < 0)
        return -1;
    (void)secret_file_changed(dir, TOKEN_FILE, &ret->seen);
    return admin_token_load(ret, e);
}

void admin_token_done(struct admin_token *t)
{
    secret_wipe(&t->text);
}

bool admin_token_is(const struct admin_token *t, struct str token)
{
    return t->text.n && token.n == t->text.n && CRYPTO_memcmp(token.p, t->text.p, token.n) == 0;
}

int admin_token_refresh(struct admin_token *t, bool *ret_changed, struct err *e)
{
    *ret_changed = secret_file_changed(t->dir, TOKEN_FILE, &t->seen);
    return *ret_changed ? admin_token_load(t, e) : 0;
}
