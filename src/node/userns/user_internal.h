/* user_internal.h - shared by the files of user.h */
#ifndef NODE_USER_INTERNAL_H
#define NODE_USER_INTERNAL_H

#include "base/str.h"
#include "node/userns/user.h"

#include <signal.h>

struct user_range {
    uint32_t first, n; /* n 0: no range */
};

/* The largest range for a user, by name or number, in the text of /etc/subuid or /etc/subgid. */
struct user_range user_range_find(struct str text, const char *name, uid_t uid);

/* A helper process that stays outside of the user namespace and maps its parent's ids once that is inside. If ranges
 * or the programs are missing, there is none, and 'why' says what is missing. */
struct user_helper {
    pid_t pid; /* 0: none */
    int go, words;
    uint32_t n_ids;
    char why[300];
    sigset_t mask; /* signal mask to restore: signals that would end us wait until the helper has ended */
};
void user_helper_start(struct user_helper *h);
int user_helper_finish(struct user_helper *h); /* 0: the maps are written; -1: see 'why' */
void user_helper_cancel(struct user_helper *h);

/* Set the error for a refused user namespace: 'error' is its errno. Returns -1. */
int user_refused(int error, struct err *e);

#endif
