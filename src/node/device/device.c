/* device.c - devices: counted, handed out, taken back */
#include "node/device/device_internal.h"

#include "api/name.h"
#include "api/quantity.h"

#include <sys/stat.h>

const char *device_path(struct devices *d, const char *path)
{
    return arena_fmt(&d->arena, "%s%s", d->root, path).p;
}

bool device_is_node(struct devices *d, const char *path)
{
    struct stat st;

    if (stat(device_path(d, path), &st) < 0)
        return false;
    return S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode) || (d->root[0] && S_ISREG(st.st_mode));
}

struct devices *devices_new(const struct device_options *opt)
{
    struct devices *d = xcalloc(1, sizeof(*d));

    d->root = opt && opt->root && strcmp(opt->root, "/") != 0 ? arena_cstr(&d->arena, str_of(opt->root)) : "";
    if (!opt || !opt->ignores_gpus)
        device_find_nvidia(d);
    return d;
}

void devices_free(struct devices *d)
{
    if (!d)
        return;
    devices_give(d, STR(""));
    arena_done(&d->arena);
    free(d);
}

static struct device_kind *device_find_kind(const struct devices *d, struct str name)
{
    VEC_FOREACH(k, &d->kinds)
        if (str_eq(k->name, name))
            return k;
    return NULL;
}

/* ---- configured ones ---- */

/* An extended resource of Kubernetes: with a prefix that is not Kubernetes' own. */
static int device_check_name(struct arena *a, struct str name, struct err *e)
{
    const char *problem = name_check_qualified(a, name);
    ptrdiff_t slash = str_find_char(name, '/');
    struct str prefix = str_sub(name, 0, slash > 0 ? (size_t)slash : 0);

    if (problem)
        return err_set(e, ERR_INVALID, "resource name: %s", problem);
    if (prefix.n == 0)
        return err_set(e, ERR_INVALID, "resource name \"%.*s\" needs a prefix, for example \"example.com/%.*s\"",
                       STR_ARG(name), STR_ARG(name));
    if (str_is(prefix, "kubernetes.io") || str_ends(prefix, STR(".kubernetes.io")) ||
        str_starts(prefix, STR("requests.")))
        return err_set(e, ERR_INVALID, "resource name \"%.*s\" is reserved for Kubernetes", STR_ARG(name));
    return 0;
}

static int check_node(struct devices *d, struct str node, struct err *e)
{
    bool is_good = str_starts(node, STR("/dev/")) && node.n > 5 && node.n < 200 && !memchr(node.p, '\0', node.n);

    for (struct str rest = str_from(node, 1), part; is_good && str_split(&rest, '/', &part);)
        is_good = part.n && !str_is(part, ".") && !str_is(part, "..");
    if (!is_good)
        return err_set(e, ERR_INVALID, "device path \"%.*s\" must have the form /dev/NAME", STR_ARG(node));
    if (!device_is_node(d, arena_cstr(&d->arena, node)))
        return err_set(e, ERR_NOT_FOUND, "device %.*s does not exist", STR_ARG(node));
    return 0;
}

static int add_unit(struct devices *d, struct device_kind *k, struct str text, struct err *e)
{
    struct device_unit *u = vec_push(&d->arena, &k->units);

    for (struct str node; str_split(&text, '+', &node);) {
        if (check_node(d, node, e) < 0)
            return -1;
        *vec_push(&d->arena, &u->nodes) = arena_str(&d->arena, node);
    }
    return 0;
}

int devices_add(struct devices *d, struct str text, struct err *e)
{
    ptrdiff_t equals = str_find_char(text, '=');
    struct str rest = str_from(text, (size_t)(equals + 1));
    struct device_kind k = { 0 };

    if (equals <= 0 || rest.n == 0)
        return err_set(e, ERR_INVALID, "\"%.*s\" must have the form NAME=/dev/NODE[+/dev/NODE…][,…]", STR_ARG(text));
    k.name = arena_str(&d->arena, str_sub(text, 0, (size_t)equals));
    if (device_check_name(&d->arena, k.name, e) < 0)
        return -1;
    if (device_find_kind(d, k.name))
        return err_set(e, ERR_EXISTS, "resource %.*s is given twice, or was found on this machine", STR_ARG(k.name));
    for (struct str part; str_split(&rest, ',', &part);)
        if (add_unit(d, &k, part, e) < 0)
            return err_wrap(e, "%.*s", STR_ARG(k.name));
    *vec_push(&d->arena, &d->kinds) = k;
    return 0;
}

/* ---- counting ---- */

void devices_count(const struct devices *d, struct arena *a, struct json *into)
{
    VEC_FOREACH(k, &d->kinds)
        (void)json_set_key(into, arena_str(a, k->name), json_fmt(a, "%zu", k->units.n));
}

void devices_say(const struct devices *d, struct buf *out)
{
    VEC_FOREACH(k, &d->kinds)
        for (size_t i = 0; i < k->units.n; i++) {
            const struct device_unit *u = &k->units.v[i];

            buf_fmt(out, "%.*s %zu: ", STR_ARG(k->name), i);
            if (u->model.n)
                buf_fmt(out, "%.*s, ", STR_ARG(u->model));
            if (u->id.n)
                buf_fmt(out, "%.*s, ", STR_ARG(u->id));
            for (size_t n = 0; n < u->nodes.n; n++)
                buf_fmt(out, "%s%.*s", n ? " " : "", STR_ARG(u->nodes.v[n]));
            buf_char(out, '\n');
        }
}

/* ---- handing out ---- */

static bool is_owned_by(const struct device_unit *u, struct str owner)
{
    return u->owner && str_is(owner, u->owner);
}

/* How many of 'k' these limits ask for. */
static int device_wanted(const struct json *limits, const struct device_kind *k, int64_t *ret, struct err *e)
{
    const struct json *value = json_get_str(limits, k->name);
    struct quantity q;

    *ret = 0;
    if (!value || value->type == JSON_NULL)
        return 0;
    if (value->type != JSON_STRING && value->type != JSON_NUMBER)
        return err_set(e, ERR_INVALID, "%.*s: must be a number, not a %s", STR_ARG(k->name),
                       json_type_name(value->type));
    if (quantity_parse((struct str){ value->text, value->n }, &q, e) < 0)
        return err_wrap(e, "%.*s", STR_ARG(k->name));
    if (!quantity_is_whole(q) || q.nano < 0)
        return err_set(e, ERR_INVALID, "%.*s: must be a whole number of devices, not %.*s", STR_ARG(k->name),
                       (int)value->n, value->text);
    *ret = quantity_units(q);
    return 0;
}

/* Is there enough for this owner? What it has counts. */
static int check_free(const struct device_kind *k, struct str owner, int64_t n, struct err *e)
{
    int64_t n_free = 0;

    for (size_t i = 0; i < k->units.n; i++)
        n_free += !k->units.v[i].owner || is_owned_by(&k->units.v[i], owner);
    if (n <= n_free)
        return 0;
    return err_set(e, ERR_TOO_BIG, "%.*s: requested %lld, %lld of %zu free", STR_ARG(k->name), (long long)n,
                   (long long)n_free, k->units.n);
}

static void add_once(struct arena *a, struct device_grant *grant, struct str node)
{
    VEC_FOREACH(old, &grant->nodes)
        if (str_eq(*old, node))
            return;
    *vec_push(a, &grant->nodes) = arena_str(a, node);
}

static void clear_owner(struct device_unit *u)
{
    free(u->owner);
    u->owner = NULL;
}

static void set_owner(struct device_unit *u, struct str owner)
{
    clear_owner(u);
    u->owner = xmalloc(owner.n + 1);
    if (owner.n)
        memcpy(u->owner, owner.p, owner.n);
    u->owner[owner.n] = '\0';
}

/* Those it has first, so that asking again gives the same; then the first free ones. */
static void device_choose(struct device_kind *k, struct str owner, int64_t n, bool *is_chosen)
{
    for (size_t i = 0; i < k->units.n && n > 0; i++)
        if (is_owned_by(&k->units.v[i], owner)) {
            is_chosen[i] = true;
            n--;
        }
    for (size_t i = 0; i < k->units.n && n > 0; i++)
        if (!k->units.v[i].owner) {
            is_chosen[i] = true;
            n--;
        }
}

static void take_units(struct device_kind *k, struct arena *a, struct str owner, int64_t n, struct device_grant *grant)
{
    bool *is_chosen = arena_array(a, bool, k->units.n);
    const struct device_unit **mine = arena_array(a, const struct device_unit *, k->units.n);
    size_t n_mine = 0;

    device_choose(k, owner, n, is_chosen);
    for (size_t i = 0; i < k->units.n; i++) {
        struct device_unit *u = &k->units.v[i];

        if (!is_chosen[i]) {
            if (is_owned_by(u, owner)) /* it asks for fewer than before */
                clear_owner(u);
            continue;
        }
        set_owner(u, owner);
        mine[n_mine++] = u;
        VEC_FOREACH(node, &u->nodes)
            add_once(a, grant, *node);
    }
    if (k->is_nvidia && n_mine)
        device_nvidia_env(a, mine, n_mine, grant);
    else if (k->is_nvidia)
        *vec_push(a, &grant->env) = STR("NVIDIA_VISIBLE_DEVICES=void");
    if (!n_mine)
        return;
    VEC_FOREACH(node, &k->common)
        add_once(a, grant, *node);
    VEC_FOREACH(library, &k->libraries)
        *vec_push(a, &grant->libraries) = arena_str(a, *library);
    if (k->library_path.n)
        grant->library_path = arena_str(a, k->library_path);
}

int devices_take(struct devices *d, struct arena *a, const struct device_claim *claim, struct device_grant *ret,
                 struct err *e)
{
    int64_t *n = arena_array(a, int64_t, d->kinds.n);
    struct device_grant grant = { 0 };

    for (size_t i = 0; i < d->kinds.n; i++) /* look first: all or nothing */
        if (device_wanted(claim->limits, &d->kinds.v[i], &n[i], e) < 0 ||
            check_free(&d->kinds.v[i], claim->owner, n[i], e) < 0)
            return -1;
    for (size_t i = 0; i < d->kinds.n; i++)
        take_units(&d->kinds.v[i], a, claim->owner, n[i], &grant);
    *ret = grant;
    return 0;
}

static bool is_among(struct str node, const struct str *nodes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (str_eq(nodes[i], node))
            return true;
    return false;
}

void devices_hold(struct devices *d, struct str owner, const struct str *nodes, size_t n)
{
    VEC_FOREACH(k, &d->kinds)
        VEC_FOREACH(u, &k->units)
            if (!u->owner && u->nodes.n && is_among(u->nodes.v[0], nodes, n))
                set_owner(u, owner);
}

void devices_give(struct devices *d, struct str owner_prefix)
{
    VEC_FOREACH(k, &d->kinds)
        VEC_FOREACH(u, &k->units)
            if (u->owner && str_starts(str_of(u->owner), owner_prefix))
                clear_owner(u);
}
