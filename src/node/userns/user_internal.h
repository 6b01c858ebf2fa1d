/* user_internal.h - what the parts of user.h share */
#ifndef NODE_USER_INTERNAL_H
#define NODE_USER_INTERNAL_H

#include "base/str.h"
#include "node/userns/user.h"

#include <signal.h>

struct user_range {
    uint32_t first, n; /* n 0: none */
};

/* The largest range of /etc/subuid or /etc/subgid (their text) for a user, by name or number. */
struct user_range user_range_find(struct str text, const char *name, uid_t uid);

/* A helper process that stays outside and gives its parent ids, once that is in its user namespace. Without ranges or
 * the programs there is none, and 'why' says what is missing. */
struct user_helper {
    pid_t pid; /* 0: none */
    int go, words;
    uint32_t n_ids;
    char why[300];
    sigset_t
        mask; /* signals as they were: until it has ended those that would end us wait, or it might stay, stopped */
};
void user_helper_start(struct user_helper *h);
int user_helper_finish(struct user_helper *h); /* the maps are written; -1: they are not, see 'why' */
void user_helper_cancel(struct user_helper *h);

/* Why the kernel said no to a user namespace: 'error' is its errno. Returns -1. */
int user_refused(int error, struct err *e);

#endif
