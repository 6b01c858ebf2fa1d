/* amount.c - vectors of resource amounts */
#include "sched/model/amount.h"

#include "base/util.h"

/* ---- names ---- */

static const struct str first_names[DIM_OTHERS] = {
    [DIM_CPU] = STR_INIT("cpu"),
    [DIM_MEMORY] = STR_INIT("memory"),
    [DIM_PODS] = STR_INIT("pods"),
};

void dims_init(struct dims *d)
{
    *d = (struct dims){ .n = DIM_OTHERS };
    for (int i = 0; i < DIM_OTHERS; i++)
        d->names[i] = first_names[i];
}

void dims_done(struct dims *d)
{
    arena_done(&d->arena);
    *d = (struct dims){ 0 };
}

int dim_find(const struct dims *d, struct str name)
{
    for (int i = 0; i < d->n; i++)
        if (str_eq(d->names[i], name))
            return i;
    return -1;
}

int dim_of(struct dims *d, struct str name)
{
    int i = dim_find(d, name);

    if (i >= 0)
        return i;
    if (d->n == AMOUNT_DIMS)
        return -1;
    d->names[d->n] = arena_str(&d->arena, name);
    return d->n++;
}

bool is_resource_name(struct str name)
{
    static const struct str known[] = { STR_INIT("cpu"), STR_INIT("memory"), STR_INIT("pods"),
                                        STR_INIT("ephemeral-storage") };
    static const struct str never[] = { STR_INIT("count/"), STR_INIT("requests."), STR_INIT("limits.") };
    static const struct str families[] = { STR_INIT("hugepages-"), STR_INIT("attachable-volumes-") };

    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (str_eq(name, known[i]))
            return true;
    for (size_t i = 0; i < ARRAY_LEN(never); i++)
        if (str_starts(name, never[i]))
            return false;
    for (size_t i = 0; i < ARRAY_LEN(families); i++)
        if (str_starts(name, families[i]))
            return true;
    return str_has_char(name, '/'); /* vendor.com/thing */
}

/* ---- one amount ---- */

static int64_t bounded(int64_t v, int64_t low, int64_t high)
{
    return v < low ? low : v > high ? high : v;
}

int64_t amount_of_quantity(int dim, struct quantity q)
{
    int64_t v = dim == DIM_CPU ? quantity_milli(q) : quantity_units(q);

    return bounded(v, -AMOUNT_UNLIMITED, AMOUNT_UNLIMITED);
}

struct quantity amount_to_quantity(int dim, int64_t v)
{
    const int64_t nano_per_milli = 1000 * 1000;

    if (dim == DIM_CPU)
        return (struct quantity){ (__int128)v * nano_per_milli, QUANTITY_DECIMAL_SI };
    /* Bytes read best in Ki, Mi, Gi; printing falls back to decimal where that is not whole. */
    return quantity_of_i64(v, dim == DIM_MEMORY ? QUANTITY_BINARY_SI : QUANTITY_DECIMAL_SI);
}

int64_t amount_of_node(const struct dims *d, int dim, const struct json *allocatable)
{
    struct quantity q;

    if (!quantity_from_json(json_get_str(allocatable, d->names[dim]), &q))
        return 0;
    return bounded(amount_of_quantity(dim, q), 0, AMOUNT_POD_MAX - 1);
}

/* ---- from and to lists ---- */

/* False: it is lost, for there are too many names. */
static bool set_one(struct dims *d, struct str name, struct quantity q, int64_t most, struct amounts *ret)
{
    int dim;

    if (!is_resource_name(name))
        return true;
    dim = dim_of(d, name);
    if (dim < 0)
        return q.nano <= 0;
    ret->v[dim] = bounded(amount_of_quantity(dim, q), 0, most);
    return true;
}

void amounts_from_json(struct dims *d, const struct json *j, struct amounts *ret, bool *ret_lost)
{
    if (ret_lost)
        *ret_lost = false;
    if (!json_is(j, JSON_OBJECT))
        return;
    JSON_FOREACH(m, j) {
        struct quantity q;

        if (quantity_from_json(m, &q) && !set_one(d, json_key(m), q, AMOUNT_UNLIMITED, ret) && ret_lost)
            *ret_lost = true;
    }
}

void amounts_from_resources(struct dims *d, const struct resources *r, struct amounts *ret, bool *ret_lost)
{
    if (ret_lost)
        *ret_lost = false;
    VEC_FOREACH(e, &r->list)
        if (!set_one(d, e->name, e->q, AMOUNT_POD_MAX, ret) && ret_lost)
            *ret_lost = true;
}

/* Dimensions are numbered as they came; what people see is sorted: cpu, memory, then by name, pods last. */
static int shown_rank(int dim)
{
    return dim == DIM_CPU ? 0 : dim == DIM_MEMORY ? 1 : dim == DIM_PODS ? 3 : 2;
}

static int shown_order(const struct dims *d, int ret[AMOUNT_DIMS])
{
    for (int i = 0; i < d->n; i++) {
        int at = i;

        while (at > 0 &&
               (shown_rank(ret[at - 1]) > shown_rank(i) ||
                (shown_rank(ret[at - 1]) == shown_rank(i) && str_cmp(d->names[ret[at - 1]], d->names[i]) > 0))) {
            ret[at] = ret[at - 1];
            at--;
        }
        ret[at] = i;
    }
    return d->n;
}

struct json *amounts_to_json(struct arena *a, const struct dims *d, const struct amounts *v)
{
    struct json *j = json_object(a);
    int order[AMOUNT_DIMS], n = shown_order(d, order);

    for (int i = 0; i < n; i++) {
        autobuf text = { 0 };

        if (v->v[order[i]] == 0)
            continue;
        amount_print(&text, d, order[i], v->v[order[i]]);
        json_add(j, arena_str(a, d->names[order[i]]), json_str(a, arena_str(a, buf_view(&text))));
    }
    return j;
}

void amount_print(struct buf *out, const struct dims *d, int dim, int64_t v)
{
    (void)d; /* the unit follows from the number of the dimension */
    quantity_print(out, amount_to_quantity(dim, v));
}

/* ---- sums ---- */

void amounts_add(struct amounts *a, const struct amounts *b, int n)
{
    for (int i = 0; i < n; i++)
        a->v[i] = amount_add(a->v[i], b->v[i]);
}

bool amounts_sub(struct amounts *a, const struct amounts *b, int n)
{
    bool is_exact = true;

    for (int i = 0; i < n; i++) {
        if (b->v[i] && (a->v[i] >= AMOUNT_UNLIMITED || a->v[i] <= -AMOUNT_UNLIMITED))
            is_exact = false;
        a->v[i] = amount_add(a->v[i], -b->v[i]);
    }
    return is_exact;
}

static int64_t amount_times(int64_t v, int64_t times)
{
    __int128 product = (__int128)v * times;

    return product > AMOUNT_UNLIMITED    ? AMOUNT_UNLIMITED
           : product < -AMOUNT_UNLIMITED ? -AMOUNT_UNLIMITED
                                         : (int64_t)product;
}

void amounts_add_times(struct amounts *a, const struct amounts *b, int64_t times, int n)
{
    for (int i = 0; i < n; i++)
        if (b->v[i]) /* mostly a pod asks for a few of many */
            a->v[i] = amount_add(a->v[i], amount_times(b->v[i], times));
}

void amounts_fill(struct amounts *a, int64_t v)
{
    for (int i = 0; i < AMOUNT_DIMS; i++)
        a->v[i] = v;
}

bool amounts_is_zero(const struct amounts *a, int n)
{
    for (int i = 0; i < n; i++)
        if (a->v[i])
            return false;
    return true;
}

bool amounts_equal(const struct amounts *a, const struct amounts *b, int n)
{
    return memcmp(a->v, b->v, (size_t)n * sizeof(a->v[0])) == 0;
}

int amounts_lacking(const struct amounts *have, const struct amounts *ask, int n)
{
    for (int i = 0; i < n; i++)
        if (ask->v[i] > 0 && ask->v[i] > have->v[i])
            return i;
    return -1;
}

/* Large enough to come last, small enough that shares can be added up. */
#define SHARE_MOST (INT64_C(1) << 60)

int64_t amounts_share(const struct amounts *part, const struct amounts *whole, int n)
{
    int64_t most = 0;

    for (int i = 0; i < n; i++) {
        __int128 share;

        if (part->v[i] <= 0)
            continue;
        share = whole->v[i] > 0 ? ((__int128)part->v[i] << 20) / whole->v[i] : SHARE_MOST;
        most = MAX_OF(most, (int64_t)MIN_OF(share, SHARE_MOST));
    }
    return most;
}
