/* admin_token.h - the administrator's own token, in a file: good whatever users and roles say
 *
 * Without it somebody who has locked himself out could not get in again. It is admin.token below the directory
 * (secret_file.h), made when it is not there, and stands in the administrator's kubeconfig.
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

/* Is it this one? As long for every answer. */
bool admin_token_is(const struct admin_token *t, struct str token);

/* Has somebody beside us written another? Then it is read. While it cannot be, nobody is the administrator by it. */
int admin_token_refresh(struct admin_token *t, bool *ret_changed, struct err *e);

/* Another one; the old one is of no use any more. */
int admin_token_rotate(int dir, struct err *e);

#endif
