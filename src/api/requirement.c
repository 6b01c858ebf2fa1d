/* requirement.c - one requirement about a label */
#include "api/requirement.h"

#include "base/util.h"

static int cmp_str(const void *a, const void *b)
{
    return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

void requirement_set_values(struct requirement *r, struct str *values, size_t n)
{
    size_t kept = 0;

    if (n)
        qsort(values, n, sizeof(values[0]), cmp_str);
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || !str_eq(values[kept - 1], values[i]))
            values[kept++] = values[i];
    r->values = values;
    r->n = kept;
}

static bool has_value(const struct requirement *r, struct str value)
{
    if (r->n == 1) /* most have one */
        return str_eq(r->values[0], value);
    return r->n && bsearch(&value, r->values, r->n, sizeof(value), cmp_str);
}

bool requirement_holds(const struct requirement *r, bool is_there, struct str value)
{
    int64_t number;

    switch (r->op) {
    case OP_EQUAL:
    case OP_IN:
        return is_there && has_value(r, value);
    case OP_NOT_EQUAL:
    case OP_NOT_IN:
        return !is_there || !has_value(r, value);
    case OP_EXISTS:
        return is_there;
    case OP_ABSENT:
        return !is_there;
    case OP_GREATER:
        return is_there && str_to_i64(value, &number) == 0 && number > r->number;
    case OP_LESS:
        return is_there && str_to_i64(value, &number) == 0 && number < r->number;
    case OP_NEVER:
    case OP_MAX:
        break;
    }
    return false;
}
