/* hide_internal.h - shared by the hide*.c files
 *
 *     hide.c         whiteouts; paths that are hidden whatever their modes
 *     hide_home.c    homes
 *     hide_walk.c    searching directories by modes and names
 *     hide_table.c   the lists
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
    VEC(struct hide_home) homes; /* handled by hide_home.c, wherever they are */
    struct str home;             /* our own home that is being searched */
    struct str here;             /* the current directory in it, once it has been searched */
    bool has_software;           /* software was found in it */
    struct str parent;           /* the directory of the tree that was used last, and its descriptor */
    int parent_fd;
};

/* ---- hide.c ---- */

struct str hide_real_dir(struct arena *a, const char *path); /* the path without links; empty: no such directory */
bool hide_is_open(struct str path);                          /* may others enter this directory and all its parents? */
int hide_path(struct hiding *h, struct str path);     /* hide it and the target of its links; ignores a missing path */
int hide_whiteout(struct hiding *h, struct str path); /* absolute, without links */
int hide_empty(struct hiding *h, struct str dir);     /* show it as an empty directory. Not in a user namespace */

/* ---- hide_home.c ---- */

void hide_homes_find(struct hiding *h); /* h->homes */
int hide_homes(struct hiding *h);

/* ---- hide_walk.c ---- */

enum hide_place {
    PLACE_PLAIN,
    PLACE_SETTLED, /* skip: hidden already, or handled elsewhere (a home, the current directory) */
    PLACE_ABOVE,   /* a parent of such a directory: keep it, closed or not */
};

struct hide_walk {
    void *ctx;
    bool is_inner; /* root of a user namespace: files that we may not read are safe anyway */
    bool has_dots; /* a home whose dot files have been handled */
    enum hide_place (*place)(void *ctx, struct str path); /* how to treat a directory */
    int (*hide)(void *ctx, struct str path);              /* -1: stop */
};

/* Hide what is found below 'top', an absolute path without links. -1: 'hide' failed. hide_walk_some() looks at a
 * limited number of entries. In a home that is closed to others ('is_private') everything but software is hidden;
 * 'ret_shown': some software was found. */
int hide_walk_machine(const struct hide_walk *how, const char *top);
int hide_walk_some(const struct hide_walk *how, const char *top);
int hide_walk_home(const struct hide_walk *how, const char *top, bool is_private, bool *ret_shown);

#endif
