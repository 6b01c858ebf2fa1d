/* sqlite_row.c - a change as a row of SQLite: sealed if configured, verified when read */
#include "store/sqlite_internal.h"

#include "base/util.h"

#include <zlib.h>

/* ---- kinds ---- */

static bool is_of_users(const struct resource_type *t)
{
    return type_row(t) >= n_resource_types;
}

/* "pods", "jobs.batch.volcano.sh". A kind of users says all that a store needs to know of it, since the definition is
 * an object like others and may come later: "widgets.example.com v1 Widget Namespaced". */
static char *row_kind_name(const struct resource_type *t)
{
    char *name;
    const char *scope = t->scope == SCOPE_CLUSTER ? "Cluster" : "Namespaced";
    int rc = is_of_users(t) ? asprintf(&name, "%s.%s %s %s %s", t->plural, t->group, t->version, t->kind, scope)
                            : asprintf(&name, "%s%s%s", t->plural, t->group[0] ? "." : "", t->group);

    if (rc < 0)
        abort();
    return name;
}

/* The kind that such a name tells of; NULL: it is none. */
static const struct resource_type *type_of_users(struct str name)
{
    autoarena a = { 0 };
    struct str rest = name, resource, version, kind, scope;
    struct resource_type like = { .use = TYPE_STORED };
    const struct resource_type *t;
    ptrdiff_t dot;

    if (!str_split(&rest, ' ', &resource) || !str_split(&rest, ' ', &version) || !str_split(&rest, ' ', &kind) ||
        !str_split(&rest, ' ', &scope) || (dot = str_find_char(resource, '.')) <= 0)
        return NULL;
    t = type_defined(str_from(resource, (size_t)dot + 1), str_sub(resource, 0, (size_t)dot));
    like.scope = str_is(scope, "Cluster") ? SCOPE_CLUSTER : SCOPE_NAMESPACED;
    if (t && t->use == TYPE_STORED && t->scope == like.scope && str_is(kind, t->kind) && str_is(version, t->version))
        return t;
    like.plural = arena_cstr(&a, str_sub(resource, 0, (size_t)dot));
    like.group = arena_cstr(&a, str_from(resource, (size_t)dot + 1));
    like.version = arena_cstr(&a, version);
    like.kind = arena_cstr(&a, kind);
    return type_define(&like);
}

int row_codec_init(struct row_codec *c, const char *const *key_files, const char *path, struct err *e)
{
    *c = (struct row_codec){ .path = path };
    if (seal_keys_load(key_files, &c->keys, e) < 0)
        return -1;
    c->kinds = xcalloc(n_type_rows, sizeof(*c->kinds));
    for (size_t i = 0; i < n_resource_types; i++)
        c->kinds[i] = row_kind_name(&resource_types[i]);
    return 0;
}

void row_codec_done(struct row_codec *c)
{
    for (size_t i = 0; c->kinds && i < n_type_rows; i++)
        free(c->kinds[i]);
    free(c->kinds);
    seal_keys_free(c->keys);
    buf_done(&c->body);
    *c = (struct row_codec){ 0 };
}

static const struct resource_type *row_type_of(struct row_codec *c, struct str kind)
{
    for (size_t i = 0; i < n_resource_types; i++) { /* rows of a kind come in crowds */
        size_t at = (c->last_kind + i) % n_resource_types;

        if (str_is(kind, c->kinds[at])) {
            c->last_kind = at;
            return &resource_types[at];
        }
    }
    return type_of_users(kind);
}

static struct str row_name_of(struct row_codec *c, const struct resource_type *t)
{
    size_t row = type_row(t);

    if (is_of_users(t)) { /* its definition may have changed */
        free(c->kinds[row]);
        c->kinds[row] = row_kind_name(t);
    }
    return str_of(c->kinds[row]);
}

static bool row_is_secret(const struct resource_type *t)
{
    return t && !t->group[0] && strcmp(t->kind, "Secret") == 0;
}

/* ---- checksums ---- */

static uint32_t add_sum(uint32_t sum, struct str s)
{
    unsigned char n[8];

    for (int i = 0; i < 8; i++)
        n[i] = (unsigned char)((uint64_t)s.n >> (8 * i));
    sum = (uint32_t)crc32(sum, n, sizeof(n));
    return s.n ? (uint32_t)crc32_z(sum, (const unsigned char *)s.p, s.n) : sum;
}

static int64_t sum_of(struct str kind, enum watch_kind what, const struct object_record *r, struct str body)
{
    char head[48];
    int n = snprintf(head, sizeof(head), "%llu %d", (unsigned long long)r->rev, (int)what);
    uint32_t sum = add_sum(0, (struct str){ head, (size_t)n });

    sum = add_sum(add_sum(sum, kind), r->namespace);
    return add_sum(add_sum(add_sum(sum, r->name), r->uid), body);
}

/* ---- writing ---- */

/* What a sealed record cannot be taken away from. */
static struct str belongs(char to[600], struct str kind, const struct object_record *r)
{
    int n = snprintf(to, 600, "%llu %.*s %.*s/%.*s", (unsigned long long)r->rev, STR_ARG(kind), STR_ARG(r->namespace),
                     STR_ARG(r->name));

    return (struct str){ to, (size_t)MIN_OF(n, 599) };
}

static void bind_text(sqlite3_stmt *st, int at, struct str s)
{
    (void)sqlite3_bind_text64(st, at, s.p ? s.p : "", s.n, SQLITE_STATIC, SQLITE_UTF8); /* step fails if it did */
}

void row_bind(struct row_codec *c, sqlite3_stmt *st, enum watch_kind what, const struct object_record *r)
{
    struct str kind = row_name_of(c, r->type), body = r->text;
    char about[600];

    (void)sqlite3_bind_null(st, ROW_KEY + 1);
    if (c->keys && row_is_secret(r->type)) {
        buf_reset(&c->body);
        seal(c->keys, belongs(about, kind, r), r->text, &c->body);
        body = buf_view(&c->body);
        bind_text(st, ROW_KEY + 1, str_of(seal_key_id(c->keys)));
    }
    (void)sqlite3_bind_int64(st, ROW_REV + 1, (sqlite3_int64)r->rev); /* as above */
    (void)sqlite3_bind_int(st, ROW_WHAT + 1, (int)what);
    bind_text(st, ROW_KIND + 1, kind);
    bind_text(st, ROW_NAMESPACE + 1, r->namespace);
    bind_text(st, ROW_NAME + 1, r->name);
    bind_text(st, ROW_UID + 1, r->uid);
    (void)sqlite3_bind_int64(st, ROW_SUM + 1, sum_of(kind, what, r, body));
    (void)sqlite3_bind_blob64(st, ROW_BODY + 1, body.p, body.n, SQLITE_STATIC);
}

/* ---- reading ---- */

static struct str column(sqlite3_stmt *st, int i)
{
    const void *p = sqlite3_column_blob(st, i);

    return (struct str){ p, (size_t)sqlite3_column_bytes(st, i) };
}

static bool row_is_name(struct str s)
{
    return s.n <= STORE_NAME_MAX && !str_has_char(s, '/');
}

/* What the store relies on, whatever the checksum says. */
static const char *row_fault(const struct log_row *row)
{
    const struct object_record *r = &row->record;

    if (r->rev == 0 || r->rev > INT64_MAX / 2)
        return "invalid revision";
    if (row->what >= WATCH_BOOKMARK)
        return "invalid change";
    if (!r->name.n || !row_is_name(r->name) || !row_is_name(r->namespace))
        return "invalid name";
    if (r->type && (r->type->scope == SCOPE_CLUSTER) != (r->namespace.n == 0))
        return "wrong scope";
    return NULL;
}

static int bad_row(const struct row_codec *c, uint64_t rev, const char *what, struct err *e)
{
    return err_set(e, ERR_IO,
                   "%s: the record of revision %llu is damaged (%s); list all damage with \"pumice server check\" and "
                   "restore a backup with \"pumice server restore\"",
                   c->path, (unsigned long long)rev, what);
}

static int read_body(struct row_codec *c, sqlite3_stmt *st, struct str kind, struct log_row *row, struct err *e)
{
    struct str body = column(st, ROW_BODY), key = column(st, ROW_KEY);
    char about[600];

    row->record.uid = column(st, ROW_UID);
    if (sqlite3_column_int64(st, ROW_SUM) != sum_of(kind, row->what, &row->record, body))
        return bad_row(c, row->record.rev, "wrong checksum", e);
    row->is_stale = row_is_secret(row->record.type) && c->keys && !str_is(key, seal_key_id(c->keys));
    row->record.text = body;
    if (!key.n)
        return 0;
    buf_reset(&c->body);
    if (unseal(c->keys, &(struct sealed){ key, belongs(about, kind, &row->record), body }, &c->body, e) < 0)
        return err_wrap(e, "%s: the %.*s \"%.*s/%.*s\" of revision %llu", c->path, STR_ARG(kind),
                        STR_ARG(row->record.namespace), STR_ARG(row->record.name), (unsigned long long)row->record.rev);
    row->record.text = buf_view(&c->body);
    return 0;
}

int row_read(struct row_codec *c, sqlite3_stmt *st, bool with_text, struct log_row *ret, struct err *e)
{
    struct str kind = column(st, ROW_KIND);
    struct log_row row = { .what = (enum watch_kind)sqlite3_column_int(st, ROW_WHAT) };
    const char *fault;

    row.record = (struct object_record){ .type = row_type_of(c, kind),
                                         .rev = (uint64_t)sqlite3_column_int64(st, ROW_REV),
                                         .namespace = column(st, ROW_NAMESPACE),
                                         .name = column(st, ROW_NAME) };
    if ((fault = row_fault(&row)))
        return bad_row(c, row.record.rev, fault, e);
    if (with_text && read_body(c, st, kind, &row, e) < 0)
        return -1;
    *ret = row;
    return 0;
}
