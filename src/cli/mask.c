/* mask.c - what must not end up in a terminal, a log or a bug report */
#include "cli/mask.h"

#include "api/meta.h"

static struct json *masked(struct arena *a, const struct json *value)
{
    struct json *j = json_str(a, STR("(hidden)")); /* not even its length: that differs from key to key */

    j->mark = value->mark;
    return j;
}

static void mask_members(struct arena *a, struct json *map)
{
    struct json *next;

    for (struct json *m = json_first(map); m; m = next) {
        next = m->next;
        json_replace(map, m, masked(a, m));
    }
}

/* The name of an argument as the plugins match it: without dashes in front, '-' and '_' and letter case aside. */
static bool is_private_key_flag(struct str arg)
{
    static const char want[] = "sshprivatekey";
    size_t at = 0;

    for (size_t i = 0; i < arg.n; i++) {
        char c = arg.p[i];

        if (c == '-' || c == '_' || c == ' ' || (c >= '\t' && c <= '\r'))
            continue;
        if (c >= 'A' && c <= 'Z')
            c = (char)(c + 32);
        if (at == sizeof(want) - 1 || c != want[at++])
            return false;
    }
    return at == sizeof(want) - 1;
}

static bool mask_arguments(struct arena *a, struct json *args)
{
    bool is_next = false, any = false;
    struct json *next;

    for (struct json *arg = json_first(args); arg; arg = next) {
        struct str text = json_text(arg, STR_NULL);
        ptrdiff_t eq = str_find_char(text, '=');

        next = arg->next;
        if (is_next) {
            json_replace(args, arg, masked(a, arg));
            any = true;
        } else if (eq >= 0 && is_private_key_flag(str_sub(text, 0, (size_t)eq))) {
            json_replace(args, arg, json_fmt(a, "%.*s=(hidden)", (int)eq, text.p));
            any = true;
        }
        is_next = !is_next && eq < 0 && is_private_key_flag(text);
    }
    return any;
}

void mask_object(struct arena *a, struct json *object)
{
    static const char applied[] = "kubectl.kubernetes.io/last-applied-configuration";
    struct json *notes = json_find(object, "metadata", "annotations", NULL);

    if (str_is(object_kind(object), "Secret")) {
        mask_members(a, json_get(object, "data"));
        mask_members(a, json_get(object, "stringData"));
        json_remove(notes, applied);
    } else if (mask_arguments(a, json_find(object, "spec", "plugins", "ssh", NULL)) && json_get(notes, applied)) {
        json_set(notes, applied, masked(a, json_get(notes, applied)));
    }
}
