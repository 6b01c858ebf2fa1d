/* schema.c - walking a document by its table: check and decode */
#include "json/schema.h"

#include "base/util.h"

#include <inttypes.h>

#define TYPE_BIT(type) (1u << (type))

static const struct {
    const char *want;
    unsigned types;
} kinds[FIELD_KIND_MAX] = {
    [FIELD_ANY] = { "a value", ~0u },
    [FIELD_STR] = { "a string", TYPE_BIT(JSON_STRING) },
    [FIELD_BOOL] = { "true or false", TYPE_BIT(JSON_BOOL) },
    [FIELD_INT32] = { "a whole number", TYPE_BIT(JSON_NUMBER) },
    [FIELD_INT64] = { "a whole number", TYPE_BIT(JSON_NUMBER) },
    [FIELD_NUMBER] = { "a number", TYPE_BIT(JSON_NUMBER) },
    [FIELD_INT_OR_STR] = { "a whole number or a string", TYPE_BIT(JSON_NUMBER) | TYPE_BIT(JSON_STRING) },
    [FIELD_OBJECT] = { "an object", TYPE_BIT(JSON_OBJECT) },
};

const struct field *schema_field(const struct schema *s, struct str name)
{
    for (const struct field *f = s->fields; f < s->fields + s->n_fields; f++)
        if (f->name_n ? f->name_n == name.n && memcmp(f->name, name.p, name.n) == 0 : str_is(name, f->name))
            return f;
    return NULL;
}

/* ---- did you mean …? ---- */

#define SUGGEST_MAX 63 /* the longest word str_distance looks at */
#define SUGGEST_MIN 5  /* less of a name could be anything */

/* Lower-case, without '-' and '_'. Empty if it is too long to be a name. */
static struct str plain_word(struct str word, char room[SUGGEST_MAX])
{
    size_t n = 0;

    for (size_t i = 0; i < word.n; i++) {
        char c = word.p[i];

        if (c == '-' || c == '_')
            continue;
        if (n == SUGGEST_MAX)
            return STR_NULL;
        room[n++] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
    }
    return (struct str){ room, n };
}

/* 'names' begins with a 'const char *' every 'stride' bytes: an array of names, or of rows that begin with one. */
static const char *nearest(struct str word, const void *names, size_t stride, size_t n)
{
    char room[2][SUGGEST_MAX];
    struct str plain = plain_word(word, room[0]);
    size_t limit = plain.n <= 4 ? 1 : plain.n <= 8 ? 2 : 3;
    const char *best = NULL;

    for (size_t i = 0; i < n && plain.n; i++) {
        const char *name = *(const char *const *)((const char *)names + i * stride);
        size_t d = str_distance(plain, plain_word(str_of(name), room[1]), limit);

        if (d > limit || d >= plain.n)
            continue;
        best = name;
        if (d == 0)
            break;
        limit = d - 1; /* only something nearer is better */
    }
    return best;
}

/* The only name that begins with 'word', as priorityClassName does with priorityClass; NULL: none or several do. */
static const char *only_longer(struct str word, const void *names, size_t stride, size_t n)
{
    char room[2][SUGGEST_MAX];
    struct str plain = plain_word(word, room[0]);
    const char *only = NULL;

    for (size_t i = 0; i < n && plain.n >= SUGGEST_MIN; i++) {
        const char *name = *(const char *const *)((const char *)names + i * stride);

        if (!str_starts(plain_word(str_of(name), room[1]), plain))
            continue;
        if (only)
            return NULL;
        only = name;
    }
    return only;
}

static const char *meant(struct str word, const void *names, size_t stride, size_t n)
{
    const char *near = nearest(word, names, stride, n);

    return near ? near : only_longer(word, names, stride, n);
}

const char *suggest(struct str word, const char *const *names, size_t n)
{
    return meant(word, names, sizeof(*names), n);
}

/* ---- sentences ---- */

static const char *with_article(enum json_type type)
{
    static const char *const names[JSON_TYPE_MAX] = {
        "null", "a boolean", "a number", "a string", "a list", "an object"
    };

    return names[type];
}

/* The value as a user would recognise it, not too long; empty for lists and objects. */
static struct str schema_shown(struct arena *a, const struct json *j)
{
    enum { CUT = 40 };
    size_t n = j->n;
    autobuf out = { 0 };

    switch ((enum json_type)j->type) {
    case JSON_BOOL:
        return j->n ? STR("true") : STR("false");
    case JSON_NUMBER:
        return arena_fmt(a, "%.*s%s", (int)MIN_OF(n, CUT), j->text, n > CUT ? "..." : "");
    case JSON_STRING:
        if (n > CUT)
            for (n = CUT; n && (j->text[n] & 0xc0) == 0x80;) /* not inside a letter */
                n--;
        json_print_str(&out, (struct str){ j->text, n });
        return arena_fmt(a, "%.*s%s", STR_ARG(buf_view(&out)), n < j->n ? "..." : "");
    default:
        return STR_NULL;
    }
}

/* The usual slip in YAML: quotes where there should be none, or none where there should be some. */
static const char *quotes_hint(enum field_kind want, const struct json *j)
{
    struct str text = json_text(j, STR_NULL);
    int64_t v;

    if (want == FIELD_STR && (j->type == JSON_NUMBER || j->type == JSON_BOOL))
        return "; put it in quotes";
    if (want == FIELD_BOOL && (str_is(text, "true") || str_is(text, "false")))
        return "; leave out the quotes";
    if ((want == FIELD_INT32 || want == FIELD_INT64) && str_to_i64(text, &v) == 0)
        return "; leave out the quotes";
    return "";
}

/* 'hint' is about the value; NULL: it is not shown. */
static void report_type(const struct place *at, const char *want, const char *hint, struct problems *ps)
{
    struct str got = hint ? schema_shown(ps->arena, at->node) : STR_NULL;
    const char *is = with_article(at->node->type);

    if (got.n)
        problem_of(ps, PROBLEM_SHAPE, at, "must be %s, not %s (got %.*s%s)", want, is, STR_ARG(got), hint);
    else
        problem_of(ps, PROBLEM_SHAPE, at, "must be %s, not %s", want, is);
}

static const char *enum_wrong(struct arena *a, const struct field *f, const struct json *j)
{
    struct str text = { j->text, j->n }, got;
    const char *near;
    size_t n = 0;
    autobuf all = { 0 };

    if (text.n == 0 && !(f->flags & (FIELD_REQUIRED | FIELD_NOT_EMPTY)))
        return NULL; /* written out as "not set" */
    for (; f->values[n]; n++)
        if (str_is(text, f->values[n]))
            return NULL;
    for (size_t i = 0; i < n; i++)
        buf_fmt(&all, "%s%s", i ? ", " : "", f->values[i]);
    got = schema_shown(a, j);
    near = suggest(text, f->values, n);
    if (near)
        return arena_fmt(a, "must be one of %s (got %.*s; did you mean \"%s\"?)", all.p, STR_ARG(got), near).p;
    return arena_fmt(a, "must be one of %s (got %.*s)", all.p, STR_ARG(got)).p;
}

/* Letters, not bytes: that is what Kubernetes counts. */
static size_t schema_letters(struct str s)
{
    size_t n = 0;

    for (size_t i = 0; i < s.n; i++)
        n += (s.p[i] & 0xc0) != 0x80;
    return n;
}

static const char *text_wrong(struct arena *a, const struct field *f, const struct json *j)
{
    size_t n = schema_letters((struct str){ j->text, j->n });

    if (f->values)
        return enum_wrong(a, f, j);
    if (j->n == 0 && f->flags & FIELD_NOT_EMPTY)
        return "must not be empty";
    if (f->max && n > (size_t)f->max)
        return arena_fmt(a, "must be at most %" PRId64 " characters long (has %zu)", f->max, n).p;
    return NULL;
}

static const char *int_wrong(struct arena *a, const struct field *f, const struct json *j)
{
    bool is_wide = f->kind == FIELD_INT64, has_range = f->min || f->max;
    int64_t least = is_wide ? INT64_MIN : INT32_MIN, most = is_wide ? INT64_MAX : INT32_MAX, v;
    int64_t min = has_range ? MAX_OF(f->min, least) : least, max = has_range ? MIN_OF(f->max, most) : most;
    bool is_whole = json_to_i64(j, &v) == 0;
    struct str got;

    if (is_whole && v >= min && v <= max)
        return NULL;
    got = schema_shown(a, j);
    if (!is_whole && memchr(j->text, '.', j->n)) /* has a fraction; said plainly */
        return arena_fmt(a, "must be a whole number (got %.*s)", STR_ARG(got)).p;
    if (max == most && min > least && is_whole && v < min)
        return arena_fmt(a, "must be at least %" PRId64 " (got %.*s)", min, STR_ARG(got)).p;
    return arena_fmt(a, "must be a whole number from %" PRId64 " to %" PRId64 " (got %.*s)", min, max, STR_ARG(got)).p;
}

/* ---- check ---- */

/* Does a number fit the C type that it is read as? */
static bool int_fits(const struct field *f, const struct json *j)
{
    int64_t v;

    return json_to_i64(j, &v) == 0 && (f->kind == FIELD_INT64 || (v >= INT32_MIN && v <= INT32_MAX));
}

static bool is_int(const struct field *f, const struct json *j)
{
    return f->kind == FIELD_INT32 || f->kind == FIELD_INT64 || (f->kind == FIELD_INT_OR_STR && j->type == JSON_NUMBER);
}

/* What is wrong with a value of the right type; NULL: nothing. */
static const char *value_wrong(struct arena *a, const struct field *f, const struct json *j)
{
    const char *wrong = NULL;

    if (is_int(f, j))
        wrong = int_wrong(a, f, j);
    else if (j->type == JSON_STRING && f->kind != FIELD_ANY)
        wrong = text_wrong(a, f, j);
    return !wrong && f->check ? f->check(a, j) : wrong;
}

/* Of a value that value_wrong() says something about. */
static enum problem_kind kind_of_wrong(const struct field *f, const struct json *j)
{
    if (f->kind == FIELD_ANY ||
        (is_int(f, j) && !int_fits(f, j))) /* checks of FIELD_ANY say which types may be there */
        return PROBLEM_SHAPE;
    if (j->type == JSON_STRING && f->values)
        return PROBLEM_UNSUPPORTED;
    return j->type == JSON_STRING && j->n == 0 && f->flags & FIELD_NOT_EMPTY ? PROBLEM_REQUIRED : PROBLEM_INVALID;
}

static void schema_check_value(const struct field *f, const struct place *at, struct problems *ps)
{
    const struct json *j = at->node;
    const char *wrong;

    if (j->type == JSON_NULL)
        return;
    if (!(kinds[f->kind].types & TYPE_BIT(j->type))) {
        report_type(at, kinds[f->kind].want, f->flags & FIELD_SECRET ? NULL : quotes_hint(f->kind, j), ps);
        return;
    }
    wrong = value_wrong(ps->arena, f, j);
    if (wrong)
        problem_of(ps, kind_of_wrong(f, j), at, "%s", wrong);
    else if (f->kind == FIELD_OBJECT && f->sub)
        schema_check(f->sub, at, ps);
}

/* A member may be null, and is not set then. An element is there, so it must be something. */
static void check_items(const struct field *f, const struct place *at, struct problems *ps)
{
    size_t i = 0;

    JSON_FOREACH(item, at->node) {
        struct place below = { at, item, json_key(item), i++ };

        if (item->type == JSON_NULL && f->shape == SHAPE_LIST && f->kind != FIELD_ANY)
            report_type(&below, kinds[f->kind].want, "", ps);
        else
            schema_check_value(f, &below, ps);
    }
}

static void check_field(const struct field *f, const struct place *at, struct problems *ps)
{
    const struct json *j = at->node;

    if (j->type == JSON_NULL)
        return;
    if (f->flags & FIELD_DEPRECATED)
        problem_warn(ps, at, "is deprecated%s%s", f->doc ? ": " : "", f->doc ? f->doc : "");
    if (f->shape == SHAPE_ONE) {
        schema_check_value(f, at, ps);
    } else if (j->type != (f->shape == SHAPE_LIST ? JSON_ARRAY : JSON_OBJECT)) {
        report_type(at, f->shape == SHAPE_LIST ? "a list" : "an object", f->flags & FIELD_SECRET ? NULL : "", ps);
    } else if (j->n == 0 && f->flags & FIELD_NOT_EMPTY) {
        problem_of(ps, PROBLEM_REQUIRED, at, "must not be empty");
    } else {
        check_items(f, at, ps);
    }
}

static void schema_check_required(const struct schema *s, const struct place *at, struct problems *ps)
{
    for (size_t i = 0; i < s->n_fields; i++) {
        struct place below;

        if (!(s->fields[i].flags & FIELD_REQUIRED))
            continue;
        below = place_member(at, s->fields[i].name);
        if (!below.node || below.node->type == JSON_NULL)
            problem_of(ps, PROBLEM_REQUIRED, &below, "is required");
    }
}

void schema_check(const struct schema *s, const struct place *at, struct problems *ps)
{
    if (!json_is(at->node, JSON_OBJECT)) {
        if (at->node)
            report_type(at, "an object", "", ps);
        else
            problem_of(ps, PROBLEM_REQUIRED, at, "is required");
        return;
    }
    JSON_FOREACH(m, at->node) {
        const struct field *f = schema_field(s, json_key(m));
        struct place below = { at, m, json_key(m), 0 };

        if (f)
            check_field(f, &below, ps);
        else /* looking for a near name costs: not a million times in a document full of unknown fields */
            problem_unknown(ps, &below,
                            ps->list.n < PROBLEMS_MAX ? meant(below.key, s->fields, sizeof(*s->fields), s->n_fields)
                                                      : NULL);
    }
    schema_check_required(s, at, ps);
}

/* ---- prune ---- */

struct prune {
    const struct schema *but;
    bool keeps_unknown; /* at or below an object of 'but' */
};

static void prune_object(struct prune p, const struct schema *s, struct json *j);

static void prune_field(struct prune p, const struct field *f, struct json *j)
{
    if (f->kind != FIELD_OBJECT || !f->sub)
        return;
    if (f->shape == SHAPE_ONE) {
        prune_object(p, f->sub, j);
        return;
    }
    JSON_FOREACH(item, j)
        prune_object(p, f->sub, item);
}

static void prune_object(struct prune p, const struct schema *s, struct json *j)
{
    struct json *last = NULL;

    if (!json_is(j, JSON_OBJECT))
        return;
    p.keeps_unknown |= s == p.but;
    for (struct json **link = &j->first; *link;) {
        struct json *m = *link;
        const struct field *f = schema_field(s, json_key(m));

        if (f ? m->type == JSON_NULL : !p.keeps_unknown) {
            *link = m->next;
            j->n--;
            continue;
        }
        if (f)
            prune_field(p, f, m);
        last = m;
        link = &m->next;
    }
    j->last = last;
}

void schema_prune(const struct schema *s, struct json *j, const struct schema *but)
{
    prune_object((struct prune){ .but = but }, s, j);
}

/* ---- decode ---- */

static bool has_struct(const struct field *f)
{
    return f->kind == FIELD_OBJECT && f->sub && f->sub->size;
}

/* Of the C value; 0: none, the node itself is kept. */
static size_t value_size(const struct field *f)
{
    static const size_t sizes[FIELD_KIND_MAX] = {
        [FIELD_STR] = sizeof(struct str),
        [FIELD_BOOL] = sizeof(bool),
        [FIELD_INT32] = sizeof(int32_t),
        [FIELD_INT64] = sizeof(int64_t),
    };

    return has_struct(f) ? f->sub->size : sizes[f->kind];
}

/* Is it of the kind, so that decoding it gives something? */
static bool value_fits(const struct field *f, const struct json *j)
{
    if (j->type == JSON_NULL || !(kinds[f->kind].types & TYPE_BIT(j->type)))
        return false;
    return (f->kind != FIELD_INT32 && f->kind != FIELD_INT64) || int_fits(f, j);
}

static void decode_value(struct arena *a, const struct field *f, const struct json *j, void *to)
{
    if (!value_fits(f, j))
        return;
    if (f->kind == FIELD_STR)
        *(struct str *)to = json_text(j, STR_NULL);
    else if (f->kind == FIELD_BOOL)
        *(bool *)to = json_bool(j, false);
    else if (f->kind == FIELD_INT32)
        *(int32_t *)to = (int32_t)json_i64(j, 0);
    else if (f->kind == FIELD_INT64)
        *(int64_t *)to = json_i64(j, 0);
    else if (has_struct(f))
        schema_decode(a, f->sub, j, to);
    else
        *(const struct json **)to = j;
}

static void decode_list(struct arena *a, const struct field *f, const struct json *j, void *to)
{
    struct {
        char *v;
        size_t n;
    } *list = to;
    size_t size = value_size(f) ? value_size(f) : sizeof(struct json *), i = 0;

    list->n = json_count(j);
    list->v = list->n ? arena_zalloc(a, list->n * size) : NULL;
    JSON_FOREACH(item, j)
        decode_value(a, f, item, list->v + size * i++);
}

static void decode_field(struct arena *a, const struct field *f, const struct json *j, void *to)
{
    bool is_kept = f->shape == SHAPE_MAP || (f->shape == SHAPE_LIST && f->flags & FIELD_POINTER);
    enum json_type want = f->shape == SHAPE_MAP ? JSON_OBJECT : JSON_ARRAY;

    if (f->shape != SHAPE_ONE && j->type != want)
        return;
    if (is_kept) {
        *(const struct json **)to = j;
    } else if (f->shape == SHAPE_LIST) {
        decode_list(a, f, j, to);
    } else if (f->flags & FIELD_POINTER && value_size(f)) {
        if (!value_fits(f, j))
            return;
        *(void **)to = arena_zalloc(a, value_size(f));
        decode_value(a, f, j, *(void **)to);
    } else {
        decode_value(a, f, j, to);
    }
}

void schema_decode(struct arena *a, const struct schema *s, const struct json *j, void *ret)
{
    memset(ret, 0, s->size);
    if (!json_is(j, JSON_OBJECT))
        return;
    if (s->raw_offset != FIELD_NO_OFFSET)
        *(const struct json **)((char *)ret + s->raw_offset) = j;
    JSON_FOREACH(m, j) {
        const struct field *f = schema_field(s, json_key(m));

        if (f && f->offset != FIELD_NO_OFFSET && m->type != JSON_NULL)
            decode_field(a, f, m, (char *)ret + f->offset);
    }
}
