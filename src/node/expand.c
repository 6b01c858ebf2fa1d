/* expand.c - $(VAR) in texts of a container */
#include "node/expand.h"

#include "base/buf.h"

bool env_find(struct str env, struct str name, struct str *ret)
{
    struct str entry;
    bool found = false;

    while (env.n && str_split(&env, '\0', &entry)) {
        if (entry.n <= name.n || entry.p[name.n] != '=' || !str_starts(entry, name))
            continue;
        *ret = str_from(entry, name.n + 1);
        found = true;
    }
    return found;
}

struct str expand_vars(struct arena *a, struct str text, struct str env, struct str *ret_missing)
{
    autobuf out = { 0 };
    struct str missing = STR_NULL, value;
    size_t i = 0;

    while (i < text.n) {
        struct str rest = str_from(text, i), name;
        ptrdiff_t end = str_starts(rest, STR("$(")) ? str_find_char(rest, ')') : -1;

        if (str_starts(rest, STR("$$"))) {
            buf_char(&out, '$');
            i += 2;
            continue;
        }
        if (end < 0) { /* not the start of a reference */
            buf_char(&out, text.p[i++]);
            continue;
        }
        name = str_sub(rest, 2, (size_t)end - 2);
        if (env_find(env, name, &value)) {
            buf_str(&out, value);
        } else {
            missing = missing.p ? missing : name;
            buf_str(&out, str_sub(rest, 0, (size_t)end + 1));
        }
        i += (size_t)end + 1;
    }
    if (ret_missing)
        *ret_missing = missing;
    return arena_str(a, buf_view(&out));
}
