/* message.c - finding messages and their fields */
#include "api/message/message.h"

#include "base/util.h"

/* Options of requests are sent under the version of whatever they are for. */
static bool is_of_meta(const struct message_kind *k)
{
    return str_is(STR("v1"), k->api_version) && str_ends(str_of(k->kind), STR("Options"));
}

const struct message *message_by_kind(struct str api_version, struct str kind)
{
    for (const struct message_kind *k = message_kinds; k < message_kinds + n_message_kinds; k++)
        if (str_is(kind, k->kind) && (str_is(api_version, k->api_version) || is_of_meta(k)))
            return k->message;
    return NULL;
}

const struct message_field *message_field(const struct message *m, struct str name)
{
    const struct message_field *found;

    for (const struct message_field *f = m->fields; f < m->fields + m->n_fields; f++) {
        if (f->name && f->name_n == name.n && memcmp(f->name, name.p, name.n) == 0)
            return f;
        if (!f->name && (found = message_field(f->sub, name)))
            return found;
    }
    return NULL;
}
