/* admin_token.h - the administrator's token, in a file: valid regardless of users and roles
 *
 * It lets an administrator who has locked himself out back in. It is admin.token below the directory (secret_file.h),
 * is created if it is missing, and is part of the administrator's kubeconfig.
 */
#ifndef AUTH_ADMIN_TOKEN_H
#define AUTH_ADMIN_TOKEN_H

#include "base/buf.h"
#include "base/err.h"

#include <sys/stat.h>

struct admin_token {
    int dir; /* borrowed */
    struct buf text;
    struct stat seen;
};

int admin_token_open(int dir, struct admin_token *ret, struct err *e);
void admin_token_done(struct admin_token *t); /* wiped */

/* Compare in constant time. */
bool admin_token_is(const struct admin_token *t, struct str token);

/* Reload the file if another process has replaced it. While that fails no token is the administrator's. */
int admin_token_refresh(struct admin_token *t, bool *ret_changed, struct err *e);

/* Replace the token; the old one ends now. */
int admin_token_rotate(int dir, struct err *e);

#endif
