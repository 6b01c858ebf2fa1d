/* parse.c - from libyaml's events to JSON trees
 *
 * libyaml gives events (start of a list, scalar, alias …); a stack of open lists and mappings turns them into trees.
 * Limits are checked as events come, so that a hostile file costs no more than it is long.
 */
#include "yaml/yaml_internal.h"

#include "base/util.h"

#include <yaml.h>

enum {
    MAX_BYTES = 64 << 20,
    MAX_DEPTH = 256,
    MAX_NODES = 4000000,
    MIN_NODES = 10000, /* even for a tiny file */
    NODES_PER_BYTE = 64,
};

int yaml_fail(struct yaml_reader *r, enum err_code code, struct yaml_place at, const char *fmt, ...)
{
    char sentence[400];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(sentence, sizeof(sentence), fmt, ap);
    va_end(ap);
    if (r->opt->ret_spot)
        *r->opt->ret_spot = (struct json_spot){ (uint32_t)at.line, (uint32_t)at.col };
    if (at.line && !r->opt->ret_spot)
        err_set(r->e, code, "line %zu, column %zu: %s", at.line, at.col, sentence);
    else
        err_set(r->e, code, "%s", sentence);
    return r->opt->file ? err_wrap(r->e, "%s", r->opt->file) : -1;
}

int yaml_count_node(struct yaml_reader *r, size_t line, size_t col)
{
    if (r->nodes++ < r->max_nodes)
        return 0;
    return yaml_fail(r, ERR_TOO_BIG, (struct yaml_place){ line, col }, "more than %zu values%s", r->max_nodes,
                     r->copied ? " after expanding aliases (*) and merge keys (<<)" : "");
}

static int fail_event(struct yaml_reader *r, const yaml_event_t *ev, enum err_code code, const char *sentence)
{
    return yaml_fail(r, code, (struct yaml_place){ ev->start_mark.line + 1, ev->start_mark.column + 1 }, "%s",
                     sentence);
}

/* ---- words ---- */

static void words_grow(struct yaml_reader *r)
{
    size_t slots = r->word_slots ? r->word_slots * 2 : 64;
    struct yaml_word **words = xcalloc(slots, sizeof(*words));

    for (size_t i = 0; i < r->word_slots; i++) {
        size_t at;

        if (!r->words[i])
            continue;
        for (at = r->words[i]->hash; words[at & (slots - 1)]; at++)
            ;
        words[at & (slots - 1)] = r->words[i];
    }
    free(r->words);
    r->words = words;
    r->word_slots = slots;
}

static struct yaml_word *yaml_parse_word(struct yaml_reader *r, struct str text)
{
    uint64_t hash = str_hash(text, (uintptr_t)r); /* an address the file's author does not know */
    struct yaml_word *w, **slot;

    if (r->word_count * 2 >= r->word_slots)
        words_grow(r);
    for (size_t at = hash;; at++) {
        slot = &r->words[at & (r->word_slots - 1)];
        if (!*slot)
            break;
        if ((*slot)->hash == hash && str_eq((*slot)->text, text))
            return *slot;
    }
    *slot = w = arena_new(r->arena, struct yaml_word);
    w->text = arena_str(r->arena, text);
    w->hash = hash;
    r->word_count++;
    return w;
}

/* ---- nodes ---- */

static void set_position(struct json *j, const yaml_event_t *ev)
{
    j->line = (uint32_t)MIN_OF(ev->start_mark.line + 1, UINT32_MAX);
    j->col = (uint16_t)MIN_OF(ev->start_mark.column + 1, UINT16_MAX);
}

static struct json *yaml_parse_node_new(struct yaml_reader *r, const yaml_event_t *ev, enum json_type type)
{
    struct json *j;

    if (yaml_count_node(r, ev->start_mark.line + 1, ev->start_mark.column + 1) < 0)
        return NULL;
    j = arena_new(r->arena, struct json);
    j->type = (uint8_t)type;
    set_position(j, ev);
    return j;
}

static struct yaml_frame *top(struct yaml_reader *r)
{
    return r->stack.n ? &r->stack.v[r->stack.n - 1] : NULL;
}

static bool is_key_next(struct yaml_reader *r)
{
    struct yaml_frame *f = top(r);

    return f && f->node->type == JSON_OBJECT && !f->key.p;
}

static void set_anchor(struct yaml_reader *r, const yaml_char_t *name, struct json *node, bool is_open, bool is_float)
{
    struct yaml_word *w;

    if (!name)
        return;
    w = yaml_parse_word(r, str_of((const char *)name));
    w->node = node;
    w->doc = r->doc;
    w->is_open = is_open;
    w->is_float = is_float;
    if (is_open)
        top(r)->anchor = w;
}

static void set_key(struct yaml_reader *r, const struct json *at, struct str key)
{
    struct yaml_frame *f = top(r);

    f->key = key.p == yaml_merge_key ? key : yaml_parse_word(r, key)->text;
    f->key_line = at->line;
    f->key_col = at->col;
}

/* A scalar where a key is expected: make its text as Kubernetes' reader does. */
static int use_as_key(struct yaml_reader *r, const struct json *node, bool is_float)
{
    struct str text = { node->text, node->n };

    switch ((enum json_type)node->type) {
    case JSON_STRING:
        break;
    case JSON_NUMBER:
        text = is_float ? yaml_float_key(r->arena, text) : text;
        break;
    case JSON_BOOL:
        text = node->n ? STR("true") : STR("false");
        break;
    case JSON_NULL:
        return yaml_fail(r, ERR_INVALID, (struct yaml_place){ node->line, node->col },
                         "a key must not be null; quote it if it is text");
    default:
        return yaml_fail(r, ERR_INVALID, (struct yaml_place){ node->line, node->col },
                         "a list or mapping cannot be a key");
    }
    set_key(r, node, text);
    return 0;
}

/* Put a finished or just begun node where it belongs: into the list or mapping on top, or at the root. */
static void parse_place(struct yaml_reader *r, struct json *node)
{
    struct yaml_frame *f = top(r);

    if (!f) {
        *vec_push(r->arena, &r->docs) = node;
    } else if (f->node->type == JSON_ARRAY) {
        json_push(f->node, node);
    } else {
        node->line = f->key_line;
        node->col = f->key_col;
        json_add(f->node, f->key, node);
        f->key = STR_NULL;
    }
}

/* ---- scalars ---- */

/* Tags that say how to read a scalar. Any other tag makes it text. */
static const struct {
    const char *name;
    enum yaml_kind kind;
} tags[] = {
    { "int", YAML_INT },
    { "float", YAML_FLOAT },
    { "bool", YAML_BOOL },
    { "null", YAML_NULL },
};

static struct str event_text(const yaml_event_t *ev)
{
    return (struct str){ (const char *)ev->data.scalar.value, ev->data.scalar.length };
}

static bool parse_has_tag(const yaml_event_t *ev, const char *name)
{
    const struct str prefix = STR("tag:yaml.org,2002:"); /* !! */
    struct str tag = str_of((const char *)ev->data.scalar.tag);

    return str_starts(tag, prefix) && str_is(str_from(tag, prefix.n), name);
}

static int fill_text(struct yaml_reader *r, struct json *node, struct str text)
{
    node->type = JSON_STRING;
    node->text = arena_str(r->arena, text).p;
    node->n = (uint32_t)text.n;
    return 0;
}

static int fill_number(struct json *node, struct str number)
{
    node->type = JSON_NUMBER;
    node->text = number.p;
    node->n = (uint32_t)number.n;
    return 0;
}

/* !!binary: the bytes, which must be text for JSON to hold them. Line breaks and blanks do not count. */
static int fill_binary(struct yaml_reader *r, struct json *node, const yaml_event_t *ev)
{
    autobuf packed = { 0 }, bytes = { 0 };
    struct str text = event_text(ev);

    for (size_t i = 0; i < text.n; i++)
        if (text.p[i] != ' ' && text.p[i] != '\t' && text.p[i] != '\n' && text.p[i] != '\r')
            buf_char(&packed, text.p[i]);
    if (buf_unbase64(&bytes, buf_view(&packed)) < 0)
        return fail_event(r, ev, ERR_INVALID, "!!binary: not base64");
    if (!str_is_utf8(buf_view(&bytes)))
        return fail_event(r, ev, ERR_INVALID, "!!binary: the bytes are not UTF-8 text, which JSON cannot hold");
    return fill_text(r, node, buf_view(&bytes));
}

/* .inf and .nan are keys for Kubernetes, but never values. */
static int fill_not_finite(struct yaml_reader *r, struct json *node, const yaml_event_t *ev)
{
    struct str text = event_text(ev);

    if (!is_key_next(r))
        return yaml_fail(r, ERR_INVALID, (struct yaml_place){ ev->start_mark.line + 1, ev->start_mark.column + 1 },
                         "%.*s is not a number JSON can hold; quote it if it is text", STR_ARG(text));
    if (text.p[0] == '-')
        return fill_text(r, node, STR("-.inf"));
    return fill_text(r, node, (text.p[text.n - 1] | 0x20) == 'f' ? STR(".inf") : STR(".nan"));
}

static int fill_resolved(struct yaml_reader *r, struct json *node, const yaml_event_t *ev, struct yaml_scalar s)
{
    struct str text = event_text(ev);

    switch (s.kind) {
    case YAML_NULL:
        node->type = JSON_NULL;
        return 0;
    case YAML_BOOL:
        node->type = JSON_BOOL;
        node->n = s.truth;
        return 0;
    case YAML_INT:
    case YAML_FLOAT:
        return s.is_extreme ? fill_text(r, node, text) : fill_number(node, yaml_number(r->arena, text));
    case YAML_NOT_FINITE:
        return fill_not_finite(r, node, ev);
    default:
        return fill_text(r, node, text);
    }
}

static int fill_tagged(struct yaml_reader *r, struct json *node, const yaml_event_t *ev, struct yaml_scalar *s)
{
    struct str text = event_text(ev);

    if (parse_has_tag(ev, "binary"))
        return fill_binary(r, node, ev);
    for (size_t i = 0; i < ARRAY_LEN(tags); i++) {
        if (!parse_has_tag(ev, tags[i].name))
            continue;
        *s = yaml_resolve(text);
        if (s->kind != tags[i].kind &&
            !(tags[i].kind == YAML_FLOAT && (s->kind == YAML_INT || s->kind == YAML_NOT_FINITE)))
            return yaml_fail(r, ERR_INVALID, (struct yaml_place){ ev->start_mark.line + 1, ev->start_mark.column + 1 },
                             "\"%.*s\" is not a value for !!%s", STR_ARG(str_sub(text, 0, 100)), tags[i].name);
        if (s->is_extreme && yaml_is_json_number(text)) /* our printer tags such numbers, see print.c */
            return fill_number(node, arena_str(r->arena, text));
        return fill_resolved(r, node, ev, *s);
    }
    return fill_text(r, node, text);
}

static struct json *scalar_new(struct yaml_reader *r, const yaml_event_t *ev, struct yaml_scalar *s)
{
    struct json *node = yaml_parse_node_new(r, ev, JSON_STRING);

    if (!node)
        return NULL;
    if ((ev->data.scalar.tag ? fill_tagged(r, node, ev, s) : fill_resolved(r, node, ev, *s)) < 0)
        return NULL;
    set_anchor(r, ev->data.scalar.anchor, node, false, s->kind == YAML_FLOAT);
    return node;
}

static int on_key(struct yaml_reader *r, const yaml_event_t *ev, struct yaml_scalar s)
{
    bool is_merge = str_eq(event_text(ev), STR("<<")) && (ev->data.scalar.plain_implicit || parse_has_tag(ev, "merge"));
    struct json *node, at = { 0 };

    set_position(&at, ev);
    if (is_merge) {
        set_key(r, &at, (struct str){ yaml_merge_key, 2 });
        return 0;
    }
    if (s.kind == YAML_TEXT && !ev->data.scalar.tag && !ev->data.scalar.anchor) { /* nearly all: no node is needed */
        set_key(r, &at, event_text(ev));
        return 0;
    }
    node = scalar_new(r, ev, &s);
    return node ? use_as_key(r, node, s.kind == YAML_FLOAT) : -1;
}

static int on_scalar(struct yaml_reader *r, const yaml_event_t *ev)
{
    bool is_plain = ev->data.scalar.plain_implicit;
    struct yaml_scalar s = is_plain ? yaml_resolve(event_text(ev)) : (struct yaml_scalar){ YAML_TEXT };
    struct json *node;

    if (is_key_next(r))
        return on_key(r, ev, s);
    if (!r->stack.n && is_plain && ev->data.scalar.length == 0 && !ev->data.scalar.anchor && !ev->data.scalar.tag)
        return 0; /* an empty document */
    node = scalar_new(r, ev, &s);
    if (!node)
        return -1;
    parse_place(r, node);
    return 0;
}

/* ---- aliases ---- */

/* Text is shared by the copies, but printing the tree costs each of them: so it is counted as well. */
static struct json *parse_copy_node(struct yaml_reader *r, const struct json *from, size_t depth, const struct json *at)
{
    struct json *to;

    if (depth > r->max_depth && from->type >= JSON_ARRAY) {
        yaml_fail(r, ERR_TOO_BIG, (struct yaml_place){ at->line, at->col }, "nested deeper than %zu levels",
                  r->max_depth);
        return NULL;
    }
    r->copied += from->key_n + 1;
    if (from->type == JSON_STRING || from->type == JSON_NUMBER)
        r->copied += from->n;
    if (r->copied > r->max_copied) {
        yaml_fail(r, ERR_TOO_BIG, (struct yaml_place){ at->line, at->col }, "aliases (*) expand to more than %zu bytes",
                  r->max_copied);
        return NULL;
    }
    if (yaml_count_node(r, at->line, at->col) < 0)
        return NULL;
    to = arena_alloc(r->arena, sizeof(*to));
    *to = *from;
    to->next = NULL;
    if (from->type < JSON_ARRAY)
        return to;
    to->first = to->last = NULL;
    to->n = 0;
    JSON_FOREACH(child, from) {
        struct json *copy = parse_copy_node(r, child, depth + 1, at);

        if (!copy)
            return NULL;
        if (from->type == JSON_OBJECT)
            json_add(to, json_key(copy), copy);
        else
            json_push(to, copy);
    }
    return to;
}

static int on_alias(struct yaml_reader *r, const yaml_event_t *ev)
{
    struct yaml_word *w = yaml_parse_word(r, str_of((const char *)ev->data.alias.anchor));
    struct json *copy, at = { 0 };

    set_position(&at, ev);
    if (!w->node || w->doc != r->doc)
        return yaml_fail(r, ERR_INVALID, (struct yaml_place){ at.line, at.col }, "*%.*s: no anchor &%.*s before it",
                         STR_ARG(str_sub(w->text, 0, 100)), STR_ARG(str_sub(w->text, 0, 100)));
    if (w->is_open)
        return yaml_fail(r, ERR_INVALID, (struct yaml_place){ at.line, at.col },
                         "alias *%.*s refers to a value that contains it", STR_ARG(str_sub(w->text, 0, 100)));
    copy = parse_copy_node(r, w->node, r->stack.n + 1, &at);
    if (!copy)
        return -1;
    copy->line = at.line;
    copy->col = at.col;
    if (is_key_next(r))
        return use_as_key(r, copy, w->is_float);
    parse_place(r, copy);
    return 0;
}

/* ---- lists and mappings ---- */

static int open_node(struct yaml_reader *r, const yaml_event_t *ev, enum json_type type, const yaml_char_t *anchor)
{
    struct json *node;

    if (is_key_next(r))
        return fail_event(r, ev, ERR_INVALID, "a list or mapping cannot be a key");
    if (r->stack.n >= r->max_depth)
        return yaml_fail(r, ERR_TOO_BIG, (struct yaml_place){ ev->start_mark.line + 1, ev->start_mark.column + 1 },
                         "nested deeper than %zu levels", r->max_depth);
    node = yaml_parse_node_new(r, ev, type);
    if (!node)
        return -1;
    parse_place(r, node);
    *vec_push(r->arena, &r->stack) = (struct yaml_frame){ .node = node };
    set_anchor(r, anchor, node, true, false);
    return 0;
}

static int on_list_start(struct yaml_reader *r, const yaml_event_t *ev)
{
    return open_node(r, ev, JSON_ARRAY, ev->data.sequence_start.anchor);
}

static int on_mapping_start(struct yaml_reader *r, const yaml_event_t *ev)
{
    return open_node(r, ev, JSON_OBJECT, ev->data.mapping_start.anchor);
}

static int parse_on_end(struct yaml_reader *r, const yaml_event_t *ev)
{
    struct yaml_frame *f = top(r);

    if (f->node->type == JSON_OBJECT && yaml_mapping_end(r, f->node) < 0)
        return -1;
    if (f->anchor && f->anchor->node == f->node) /* not if the name was given again inside */
        f->anchor->is_open = false;
    r->stack.n--;
    return 0;
}

static int on_document(struct yaml_reader *r, const yaml_event_t *ev)
{
    r->doc++; /* forgets all anchors */
    return 0;
}

static int (*const handlers[])(struct yaml_reader *r, const yaml_event_t *ev) = {
    [YAML_DOCUMENT_START_EVENT] = on_document, [YAML_ALIAS_EVENT] = on_alias,
    [YAML_SCALAR_EVENT] = on_scalar,           [YAML_SEQUENCE_START_EVENT] = on_list_start,
    [YAML_SEQUENCE_END_EVENT] = parse_on_end,  [YAML_MAPPING_START_EVENT] = on_mapping_start,
    [YAML_MAPPING_END_EVENT] = parse_on_end,
};

/* ---- reading ---- */

static int read_events(struct yaml_reader *r, yaml_parser_t *p)
{
    yaml_event_t ev;
    int rc = 0;

    for (bool is_end = false; rc == 0 && !is_end; yaml_event_delete(&ev)) {
        if (!yaml_parser_parse(p, &ev))
            return yaml_fail_syntax(r, p);
        is_end = ev.type == YAML_STREAM_END_EVENT;
        if ((size_t)ev.type < ARRAY_LEN(handlers) && handlers[ev.type])
            rc = handlers[ev.type](r, &ev);
    }
    return rc;
}

static int read_stream(struct yaml_reader *r)
{
    yaml_parser_t p;
    int rc;

    if (!yaml_parser_initialize(&p))
        return yaml_fail(r, ERR_TOO_BIG, (struct yaml_place){ 0 }, "not enough memory");
    yaml_parser_set_encoding(&p, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&p, (const unsigned char *)(r->text.p ? r->text.p : ""), r->text.n);
    rc = read_events(r, &p);
    yaml_parser_delete(&p);
    free(r->words);
    return rc;
}

/* JSON is YAML, but for libyaml not all of it is: surrogate pairs and long keys are not. So a file that looks like
 * JSON is tried as JSON, as kubectl does; if it is none, nothing has happened. */
static bool read_json(struct yaml_reader *r)
{
    struct str text = str_trim(r->text);
    struct json_parse_options opt = { .limits = { r->text.n + 1, r->max_depth } };
    size_t marks = 1; /* at least as many as there are values */
    struct json *tree;

    if (!str_starts(text, STR("{")) || !str_ends(text, STR("}")))
        return false;
    for (size_t i = 0; i < text.n; i++)
        marks += text.p[i] == ',' || text.p[i] == '{' || text.p[i] == '[';
    if (marks > r->max_nodes || json_parse(r->arena, arena_str(r->arena, r->text), &opt, &tree, NULL) < 0)
        return false;
    *vec_push(r->arena, &r->docs) = tree;
    return true;
}

int yaml_parse(struct arena *a, struct str text, const struct yaml_options *opt, struct yaml_docs *ret, struct err *e)
{
    static const struct yaml_options defaults = { 0 };
    struct yaml_reader r = { .arena = a, .text = text, .opt = opt ? opt : &defaults, .e = e };
    size_t max_bytes = r.opt->max_bytes ? MIN_OF(r.opt->max_bytes, UINT32_MAX / 2) : MAX_BYTES;

    r.max_depth = r.opt->max_depth ? r.opt->max_depth : MAX_DEPTH;
    r.max_nodes = r.opt->max_nodes ? r.opt->max_nodes : MAX_OF(MIN_OF(text.n * NODES_PER_BYTE, MAX_NODES), MIN_NODES);
    r.max_copied = max_bytes;
    if (yaml_check_input(&r, max_bytes) < 0)
        return -1;
    if (!read_json(&r) && read_stream(&r) < 0)
        return -1;
    *ret = r.docs;
    return 0;
}
