/* vars.c - $(VAR) expansion in strings of a container */
#include "node/env/vars.h"

#include "base/buf.h"
#include "base/util.h"

#include <sys/resource.h>

enum {
    SUM_MIN = 128 * 1024,      /* the kernel's limit for all strings: a quarter of the stack limit, within these */
    SUM_MAX = 6 * 1024 * 1024, /* (ARG_MAX is the result for the default stack, 2 MiB) */
    SUM_SPARE = 16 * 1024,     /* for the program's path and variables that are added later (HOME) */
};

static size_t sum_max(void)
{
    struct rlimit stack;
    size_t limit = SUM_MAX;

    if (getrlimit(RLIMIT_STACK, &stack) == 0 && stack.rlim_cur / 4 < SUM_MAX)
        limit = MAX_OF((size_t)stack.rlim_cur / 4, (size_t)SUM_MIN);
    return limit - SUM_SPARE;
}

void vars_init(struct vars *v, struct arena *a)
{
    *v = (struct vars){ .arena = a, .max = sum_max() };
    map_init(&v->index, map_seed_default());
}

void vars_done(struct vars *v)
{
    map_done(&v->index);
}

int vars_take(struct vars *v, struct str word, const char *what, struct err *e)
{
    size_t room = word.n + 1 + sizeof(char *);

    if (word.n >= VARS_TEXT_MAX)
        return err_set(e, ERR_INVALID, "%s is longer than %d bytes, the kernel's limit for one argument or variable",
                       what, VARS_TEXT_MAX - 1);
    if (room > v->max - v->bytes)
        return err_set(e, ERR_INVALID,
                       "%s does not fit: command and variables together are longer than %zu bytes, the kernel's limit",
                       what, v->max);
    v->bytes += room;
    return 0;
}

int vars_put(struct vars *v, struct str name, struct str value, struct err *e)
{
    struct str what = arena_fmt(v->arena, "env %.*s", STR_ARG(name)), entry;
    uintptr_t at = (uintptr_t)map_get(&v->index, name);

    if (value.n >= VARS_TEXT_MAX) /* check before copying it */
        return vars_take(v, value, what.p, e);
    entry = arena_fmt(v->arena, "%.*s=%.*s", STR_ARG(name), STR_ARG(value));
    if (vars_take(v, entry, what.p, e) < 0)
        return -1;
    if (at) {
        v->list.v[at - 1] = entry; /* the index keeps its key: the old string lives as long */
        return 0;
    }
    *vec_push(v->arena, &v->list) = entry;
    map_put(&v->index, str_sub(entry, 0, name.n), (void *)v->list.n);
    return 0;
}

bool vars_get(const struct vars *v, struct str name, struct str *ret)
{
    uintptr_t at = v ? (uintptr_t)map_get(&v->index, name) : 0;

    if (!at)
        return false;
    *ret = str_from(v->list.v[at - 1], name.n + 1);
    return true;
}

/* The length of a reference at the start of 'text'; 0: none. '*has_end' becomes false when no ')' follows, so that a
 * long text is not searched again and again. */
static size_t reference_length(struct str text, bool *has_end)
{
    ptrdiff_t end;

    if (!*has_end || !str_starts(text, STR("$(")))
        return 0;
    end = str_find_char(text, ')');
    *has_end = end >= 0;
    return end < 0 ? 0 : (size_t)end + 1;
}

int vars_expand(const struct vars *v, struct str text, struct str *ret, struct str *ret_missing, struct err *e)
{
    autobuf out = { 0 };
    struct str missing = STR_NULL, name, value;
    bool has_end = true;

    while (text.n) {
        size_t n = reference_length(text, &has_end);

        if (n) {
            name = str_sub(text, 2, n - 3);
            value = str_sub(text, 0, n);
            if (!vars_get(v, name, &value) && !missing.p)
                missing = name;
        } else {
            value = str_sub(text, 0, 1);
            n = str_starts(text, STR("$$")) ? 2 : 1;
        }
        if (out.n + value.n >= VARS_TEXT_MAX)
            return err_set(e, ERR_INVALID,
                           "expanded text is longer than %d bytes, the kernel's limit for one argument or variable",
                           VARS_TEXT_MAX - 1);
        buf_str(&out, value);
        text = str_from(text, n);
    }
    if (ret_missing)
        *ret_missing = missing;
    *ret = arena_str(v->arena, buf_view(&out));
    return 0;
}
