/* vars.h - the environment of a container, and $(VAR) in its strings: command, args, env values, subPathExpr
 *
 * "$(NAME)" becomes the variable's value, "$$" becomes "$"; everything else stays unchanged, including references to
 * unknown variables.
 *
 * The kernel limits what a program is started with. Both limits are enforced while strings are added, so that
 * variables that refer to variables cannot grow without bound: one string (an argument, or "NAME=value") has at most
 * VARS_TEXT_MAX bytes, and all together have at most vars.max. A variable that a later one replaces counts too.
 */
#ifndef NODE_VARS_H
#define NODE_VARS_H

#include "base/arena.h"
#include "base/err.h"
#include "base/map.h"
#include "base/vec.h"

enum { VARS_TEXT_MAX = 128 * 1024 }; /* with the NUL: the kernel's MAX_ARG_STRLEN */

struct vars {
    struct arena *arena;
    VEC(struct str) list; /* "NAME=value", in the order of their first definition */
    struct map index;     /* position in 'list' + 1 by name */
    size_t bytes, max;    /* used and allowed: strings, their NULs and pointers */
};

void vars_init(struct vars *v, struct arena *a);
void vars_done(struct vars *v); /* the strings stay in the arena; a zeroed struct is fine */

/* A later variable of the same name replaces the earlier one. Fails if it is too long; the error names it. */
int vars_put(struct vars *v, struct str name, struct str value, struct err *e);
bool vars_get(const struct vars *v, struct str name, struct str *ret);

/* Account for an argument of the command line. 'what' names it in the error. */
int vars_take(struct vars *v, struct str word, const char *what, struct err *e);

/* '*ret_missing' (may be NULL): the name of the first unknown variable, borrowed from 'text'; its p is NULL if there
 * is none. Fails if the result is too long for one string. */
int vars_expand(const struct vars *v, struct str text, struct str *ret, struct str *ret_missing, struct err *e);

#endif
