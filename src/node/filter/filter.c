/* filter.c - the table as text: its frame, ranges, the sorted pods
 *
 *     forward: established? allowed. ── by sender ──▶ egress_N ── by policy ──▶ policy_N_egress ──▶ ingress
 *              no policy for the sender ─────────────────────────────────────────────────────────▶ ingress
 *     ingress: ── by receiver ──▶ ingress_N ── by policy ──▶ policy_N_ingress ──▶ accept
 *
 * Pods that the same policies select share a chain egress_N or ingress_N: it calls the chains of these policies and
 * ends in refusing. A chain of a policy leaves by 'goto' or 'accept' when a rule fits and falls through otherwise. So
 * the rules of a policy stand once, and a packet looks at no policy but those of its two pods.
 */
#include "node/filter/filter_internal.h"

#include "base/map.h"
#include "base/util.h"

#include <arpa/inet.h>

/* ---- ranges ---- */

void ranges_add(struct arena *a, struct ranges *r, uint32_t low, uint32_t high)
{
    *vec_push(a, &r->list) = (struct range){ low, high };
}

void ranges_cut(struct arena *a, struct ranges *r, uint32_t low, uint32_t high)
{
    struct ranges left = { 0 };

    VEC_FOREACH(x, &r->list) {
        if (x->low < low)
            ranges_add(a, &left, x->low, MIN_OF(x->high, low - 1));
        if (x->high > high)
            ranges_add(a, &left, MAX_OF(x->low, high + 1), x->high);
    }
    *r = left;
}

static int range_cmp(const void *x, const void *y)
{
    const struct range *a = x, *b = y;

    return a->low != b->low ? (a->low > b->low) - (a->low < b->low) : (a->high > b->high) - (a->high < b->high);
}

void ranges_join(struct ranges *r)
{
    size_t n = 0;

    if (!r->list.n)
        return;
    qsort(r->list.v, r->list.n, sizeof(*r->list.v), range_cmp);
    VEC_FOREACH(x, &r->list) {
        struct range *last = n ? &r->list.v[n - 1] : NULL;

        if (last && (last->high == UINT32_MAX || x->low <= last->high + 1))
            last->high = MAX_OF(last->high, x->high);
        else
            r->list.v[n++] = *x;
    }
    r->list.n = n;
}

static void print_number(struct buf *out, uint32_t v, bool is_address)
{
    if (is_address)
        filter_address(out, v);
    else
        buf_i64(out, v);
}

void ranges_print(struct buf *out, struct ranges *r, bool is_address)
{
    bool is_single;

    ranges_join(r);
    is_single = r->list.n == 1 && r->list.v[0].low == r->list.v[0].high;
    if (!is_single)
        buf_str(out, STR("{ "));
    VEC_FOREACH(x, &r->list) {
        if (x > r->list.v)
            buf_str(out, STR(", "));
        print_number(out, x->low, is_address);
        if (x->low == x->high)
            continue;
        buf_char(out, '-');
        print_number(out, x->high, is_address);
    }
    if (!is_single)
        buf_str(out, STR(" }"));
}

/* ---- pieces of text ---- */

void filter_address(struct buf *out, uint32_t address)
{
    buf_fmt(out, "%u.%u.%u.%u", address >> 24, address >> 16 & 255, address >> 8 & 255, address & 255);
}

/* Names come from outside: nothing in them may end the line. */
static void put_name(struct buf *out, struct str name)
{
    for (size_t i = 0; i < name.n && i < 253; i++) {
        char c = name.p[i];
        bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                        c == '.';

        buf_char(out, is_plain ? c : '?');
    }
}

void filter_note(struct buf *out, struct str namespace, struct str name)
{
    buf_str(out, STR("\t\t# "));
    put_name(out, namespace);
    buf_char(out, '/');
    put_name(out, name);
    buf_char(out, '\n');
}

void filter_set_begin(struct buf *out, const char *kind, const char *name, const char *type)
{
    buf_fmt(out, "\t%s %s {\n\t\ttype %s\n\t\telements = {", kind, name, type);
}

void filter_element(struct buf *out, size_t index)
{
    buf_fmt(out, "%s\n\t\t\t", index ? "," : "");
}

void filter_set_end(struct buf *out)
{
    buf_str(out, STR("\n\t\t}\n\t}\n"));
}

/* ---- the pods ---- */

static struct str space_of(const struct filter_pod *p)
{
    return str_empty(p->namespace) ? STR("default") : p->namespace;
}

static int at_cmp(const void *x, const void *y)
{
    const struct filter_at *a = x, *b = y;
    int c = (a->address > b->address) - (a->address < b->address);

    if (!c)
        c = str_cmp(space_of(a->pod), space_of(b->pod));
    return c ? c : str_cmp(a->pod->name, b->pod->name);
}

static void sort_pods(struct filter_world *w)
{
    size_t n = 0;

    VEC_FOREACH(p, &w->in->pods)
        if (p->address.s_addr)
            *vec_push(w->arena, &w->pods) = (struct filter_at){ p, ntohl(p->address.s_addr) };
    if (w->pods.n)
        qsort(w->pods.v, w->pods.n, sizeof(*w->pods.v), at_cmp);
    for (size_t i = 0; i < w->pods.n; i++) /* an address twice would be an error to nft */
        if (!n || w->pods.v[n - 1].address != w->pods.v[i].address)
            w->pods.v[n++] = w->pods.v[i];
    w->pods.n = n;
}

/* What the API server gives every namespace is there even if nobody made the object. */
static struct json *space_labels(struct filter_world *w, const struct json *object, struct str name)
{
    const struct json *given = json_find(object, "metadata", "labels", NULL);
    struct json *labels = json_is(given, JSON_OBJECT) ? json_copy(w->arena, given) : json_object(w->arena);

    json_set(labels, "kubernetes.io/metadata.name", json_str(w->arena, name));
    return labels;
}

static int space_cmp(const void *x, const void *y)
{
    return str_cmp(((const struct filter_ns *)x)->name, ((const struct filter_ns *)y)->name);
}

static void collect_spaces(struct filter_world *w)
{
    struct map objects = { 0 }, number = { 0 };

    map_init(&objects, map_seed_default());
    map_init(&number, map_seed_default());
    VEC_FOREACH(o, &w->in->namespaces)
        (void)map_put(&objects, json_member_text(json_get(*o, "metadata"), "name"), *o); /* twice: the last one */
    for (size_t i = 0; i < w->pods.n; i++) {
        struct str name = space_of(w->pods.v[i].pod);
        size_t at = (size_t)map_get(&number, name); /* from 1 */

        if (!at) {
            *vec_push(w->arena, &w->spaces) =
                (struct filter_ns){ .name = name, .labels = space_labels(w, map_get(&objects, name), name) };
            at = w->spaces.n;
            (void)map_put(&number, name, (void *)at); /* it was not there */
        }
        *vec_push(w->arena, &w->spaces.v[at - 1].pods) = i;
    }
    if (w->spaces.n)
        qsort(w->spaces.v, w->spaces.n, sizeof(*w->spaces.v), space_cmp);
    map_done(&objects);
    map_done(&number);
}

void filter_world_init(struct filter_world *w, struct arena *a, const struct filter_input *in)
{
    *w = (struct filter_world){ .arena = a, .in = in };
    sort_pods(w);
    collect_spaces(w);
}

const struct filter_ns *filter_ns_find(const struct filter_world *w, struct str name)
{
    struct filter_ns key = { .name = name };

    return w->spaces.n ? bsearch(&key, w->spaces.v, w->spaces.n, sizeof(key), space_cmp) : NULL;
}

/* ---- the table ---- */

void filter_text(struct arena *a, const struct filter_input *in, struct buf *out)
{
    autobuf sets = { 0 }, chains = { 0 };
    struct filter_world w;

    filter_world_init(&w, a, in);
    filter_services(&w, &sets, &chains);
    filter_policies(&w, &sets, &chains);
    /* While there is a chain like this, connections to a Service that has gone since are still translated. */
    if (w.pods.n)
        buf_str(&chains, STR("\tchain translated {\n\t\ttype nat hook postrouting priority srcnat\n\t}\n"));
    buf_fmt(out, "add table inet pumice_%s\ndelete table inet pumice_%s\ntable inet pumice_%s {\n", in->id, in->id,
            in->id);
    buf_str(out, buf_view(&sets));
    buf_str(out, buf_view(&chains));
    buf_str(out, STR("}\n"));
}
