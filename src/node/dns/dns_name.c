/* dns_name.c - names as packets have them */
#include "node/dns/dns_internal.h"

#include "base/util.h"

#include <assert.h>

static char dns_name_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

struct dns_name dns_name_under(struct str label, const struct dns_name *parent)
{
    struct dns_name name;

    name.n = 0;
    if (label.n == 0 || label.n > DNS_LABEL_MAX || parent->n == 0 || 1 + label.n + parent->n > DNS_NAME_MAX)
        return name;
    name.wire[0] = (uint8_t)label.n;
    memcpy(name.wire + 1, label.p, label.n);
    memcpy(name.wire + 1 + label.n, parent->wire, parent->n);
    name.n = 1 + label.n + parent->n;
    return name;
}

int dns_name_parse(struct str dotted, struct dns_name *ret)
{
    struct dns_name name = { { 0 }, 1 };

    if (str_ends(dotted, STR(".")))
        dotted.n--;
    if (dotted.n == 0)
        return -1;
    while (dotted.n) { /* from the last label */
        size_t from = (size_t)(str_rfind_char(dotted, '.') + 1);
        char text[DNS_LABEL_MAX];
        struct str label = str_from(dotted, from);

        if (label.n == 0 || label.n > DNS_LABEL_MAX || (from == 1 && dotted.p[0] == '.'))
            return -1;
        for (size_t i = 0; i < label.n; i++)
            text[i] = dns_name_lower(label.p[i]);
        label.p = text;
        name = dns_name_under(label, &name);
        if (!dns_is_label(label) || name.n == 0)
            return -1;
        dotted.n = from ? from - 1 : 0;
    }
    *ret = name;
    return 0;
}

/* 'wire' is a whole name, checked by ldns or by one of the functions above. */
void dns_labels_of(struct dns_labels *l, const uint8_t *wire, size_t n)
{
    assert(n <= DNS_NAME_MAX);
    l->n = 0;
    for (size_t at = 0; at < n && wire[at]; at += 1 + wire[at]) {
        struct str *label = &l->v[l->n++];

        assert(wire[at] <= DNS_LABEL_MAX && at + wire[at] < n && l->n <= DNS_LABELS_MAX);
        *label = (struct str){ l->text + at, wire[at] };
        for (size_t i = 0; i < label->n; i++)
            l->text[at + i] = dns_name_lower((char)wire[at + 1 + i]);
    }
}

bool dns_is_label(struct str s)
{
    if (s.n == 0 || s.n > DNS_LABEL_MAX || s.p[0] == '_')
        return false;
    for (size_t i = 0; i < s.n; i++)
        if (!((s.p[i] >= 'a' && s.p[i] <= 'z') || (s.p[i] >= '0' && s.p[i] <= '9') || s.p[i] == '-' || s.p[i] == '_'))
            return false;
    return true;
}
