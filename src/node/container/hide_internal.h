/* hide_internal.h - what the hide*.c files share
 *
 * hide.c         whiteouts; what goes whatever its mode
 * hide_home.c    homes
 * hide_walk.c    looking through directories, by modes and names
 * hide_table.c   the lists
 */
#ifndef NODE_HIDE_INTERNAL_H
#define NODE_HIDE_INTERNAL_H

#include "node/container/hide.h"

#include <fcntl.h>
#include <sys/stat.h>

enum { HIDE_NEVER_WAIT = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT };

struct hide_home {
    struct str path; /* without links */
    uid_t uid;       /* -1: not known */
};

struct hiding {
    struct arena *arena;
    const struct hide_options *opt;
    struct hidden *hidden;
    int over;
    bool is_inner; /* root of a user namespace */
    struct err *e;
    VEC(struct hide_home) homes; /* they have rules of their own, wherever they lie */
    struct str home;             /* of ours, that is being looked through */
    struct str here;             /* the current directory, in it, once that has been looked through */
    bool has_software;           /* there is something in it to see */
    struct str parent;           /* the directory of the tree that was used last */
    int parent_fd;
};

/* ---- hide.c ---- */

struct str hide_real_dir(struct arena *a, const char *path); /* without links; empty: there is none */
bool hide_is_open(struct str path);                          /* may others get into this directory, from "/" on? */
int hide_path(struct hiding *h, struct str path);            /* and where it leads; not there: nothing */
int hide_whiteout(struct hiding *h, struct str path);        /* absolute, without links */
int hide_empty(struct hiding *h, struct str dir); /* it is there, with nothing in it. Not in a user namespace */

/* ---- hide_home.c ---- */

void hide_homes_find(struct hiding *h); /* h->homes */
int hide_homes(struct hiding *h);

/* ---- hide_walk.c ---- */

enum hide_place {
    PLACE_PLAIN,
    PLACE_SETTLED, /* hidden already, or with rules of its own: a home, or in a home the current directory */
    PLACE_ABOVE,   /* on the way to one: stays, closed or not */
};

struct hide_walk {
    void *ctx;
    bool is_inner; /* root of a user namespace: what we may not read is no secret of ours */
    bool has_dots; /* a home: what begins with a dot right in 'top' has been seen to */
    enum hide_place (*place)(void *ctx, struct str path); /* of a directory */
    int (*hide)(void *ctx, struct str path);              /* -1: stop */
};

/* Hide what is found below 'top', an absolute path without links. -1: as 'hide' said. The third looks at some thousands
 * of entries only. A home that is closed to others ('is_private') has what is software and nothing else; 'ret_shown':
 * it has some. */
int hide_walk_machine(const struct hide_walk *how, const char *top);
int hide_walk_some(const struct hide_walk *how, const char *top);
int hide_walk_home(const struct hide_walk *how, const char *top, bool is_private, bool *ret_shown);

#endif
