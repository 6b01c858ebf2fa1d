/* requirement.h - one requirement about a label: its key, an operator, values
 *
 * Label selectors, node selectors and the scheduler's rules are lists of these. Semantics are those of Kubernetes:
 * "not" also holds where the label is missing, Gt and Lt need whole numbers on both sides.
 */
#ifndef API_REQUIREMENT_H
#define API_REQUIREMENT_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

enum requirement_op {
    OP_EQUAL,
    OP_NOT_EQUAL,
    OP_IN,
    OP_NOT_IN,
    OP_EXISTS,
    OP_ABSENT,
    OP_GREATER,
    OP_LESS,
    OP_NEVER, /* unknown operator: never holds */
    OP_MAX,
};

struct requirement {
    struct str key;
    enum requirement_op op;
    struct str *values; /* sorted, none twice */
    size_t n;
    int64_t number; /* the value of OP_GREATER and OP_LESS */
    size_t place;   /* where it stood in a selector's text */
};

/* Sorts 'values', which stay the caller's, and leaves out repeated ones. */
void requirement_set_values(struct requirement *r, struct str *values, size_t n);

/* 'is_there': the object has such a label, and this is its value. */
bool requirement_holds(const struct requirement *r, bool is_there, struct str value);

#endif
