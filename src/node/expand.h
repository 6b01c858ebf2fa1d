/* expand.h - $(VAR) in texts of a container: command, args, env values, subPathExpr
 *
 * "$(NAME)" becomes the variable's value, "$$" becomes "$"; everything else stays as it is, also a reference to a
 * variable that is not there.
 */
#ifndef NODE_EXPAND_H
#define NODE_EXPAND_H

#include "base/arena.h"

/* The value of a variable in 'env': "NAME=value" entries, each followed by a NUL; the last one counts. false: not
 * there. */
bool env_find(struct str env, struct str name, struct str *ret);

/* '*ret_missing' (may be NULL) is the name of the first variable that was not there, borrowed from 'text'; its p is
 * NULL if all were there. */
struct str expand_vars(struct arena *a, struct str text, struct str env, struct str *ret_missing);

#endif
