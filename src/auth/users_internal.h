/* users_internal.h - the list of users and its file */
#ifndef AUTH_USERS_INTERNAL_H
#define AUTH_USERS_INTERNAL_H

#include "auth/users.h"

#define USERS_FILE "users.json"

struct user_list {
    struct user *v;
    size_t n, cap;
};

void users_print(struct arena *a, const struct user_list *list, struct buf *out);
int users_parse(struct arena *a, struct str text, struct user_list *ret, struct err *e);

#endif
