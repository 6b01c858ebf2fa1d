/* expand.h - the variables of a container, and $(VAR) in its texts: command, args, env values, subPathExpr
 *
 * "$(NAME)" becomes the variable's value, "$$" becomes "$"; everything else stays as it is, also a reference to a
 * variable that is not there.
 *
 * What a program is started with has bounds in the kernel, and both hold here from the first byte, so that variables
 * made of variables cannot grow without end: one text (a word of the command line, or "NAME=value") has at most
 * VARS_TEXT_MAX bytes, and all together at most vars.max. An entry that a later one replaces counts too.
 */
#ifndef NODE_EXPAND_H
#define NODE_EXPAND_H

#include "base/arena.h"
#include "base/err.h"
#include "base/map.h"
#include "base/vec.h"

enum { VARS_TEXT_MAX = 128 * 1024 }; /* with its NUL: MAX_ARG_STRLEN */

struct vars {
    struct arena *arena;
    VEC(struct str) list; /* "NAME=value", in the order in which the names came */
    struct map index;     /* position in 'list' + 1 by name */
    size_t bytes, max;    /* used of what the kernel gives, and what it gives: texts, their NULs and pointers */
};

void vars_init(struct vars *v, struct arena *a);
void vars_done(struct vars *v); /* the texts stay in the arena; zeroed is fine */

/* A later one of the same name takes the place of an earlier one. Fails when it is too long; the error names it. */
int vars_put(struct vars *v, struct str name, struct str value, struct err *e);
bool vars_get(const struct vars *v, struct str name, struct str *ret);

/* Make room for a word of the command line. 'what' names it in the error. */
int vars_take(struct vars *v, struct str word, const char *what, struct err *e);

/* '*ret_missing' (may be NULL) is the name of the first variable that was not there, borrowed from 'text'; its p is
 * NULL if all were there. Fails when the result is too long for one text. */
int vars_expand(const struct vars *v, struct str text, struct str *ret, struct str *ret_missing, struct err *e);

#endif
