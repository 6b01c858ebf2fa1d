/* list.c - list many: selectors, pages, and as which kind of list
 *
 * A list is always of now. One that is read page by page keeps the objects of its first page's revision (snapshot.c);
 * when those are forgotten the answer is 410, with a token that goes on from the same place in what is there now.
 */
#include "server/server_internal.h"

/* ---- what is selected ---- */

int selection_parse(struct arena *a, const struct resource_type *t, struct str labels, struct str fields,
                    struct selection *ret, struct err *e)
{
    const char *allowed[24] = { "metadata.name", "metadata.namespace" };
    size_t n = 2;

    *ret = (struct selection){ .labels_text = labels, .fields_text = fields };
    for (const char *const *f = t->fields; f && *f && n < ARRAY_LEN(allowed) - 1; f++)
        allowed[n++] = *f;
    if (labels.n && selector_parse(a, labels, &ret->labels, e) < 0)
        return err_wrap(e, "unable to parse requirement");
    if (fields.n && field_selector_parse(a, fields, allowed, &ret->fields, e) < 0)
        return -1;
    ret->name = fields.n ? field_selector_value(ret->fields, "metadata.name") : STR_NULL;
    return 0;
}

int selection_read(struct request *rq, struct selection *ret)
{
    struct str labels = STR_NULL, fields = STR_NULL;
    struct err e;

    (void)param(rq, "labelSelector", &labels);
    (void)param(rq, "fieldSelector", &fields);
    if (rq->view)
        fields = view_fields(rq->arena, fields);
    if (rq->target.name.n) /* the old form of a watch of one */
        fields = arena_fmt(rq->arena, "metadata.name=%.*s%s%.*s", STR_ARG(rq->target.name), fields.n ? "," : "",
                           STR_ARG(fields));
    if (selection_parse(rq->arena, rq->type, labels, fields, ret, &e) < 0)
        return fail_with(rq, REASON_BAD_REQUEST, "%s", e.text);
    return 0;
}

bool selection_has_object(const struct selection *s, const struct object *o, struct arena *scratch)
{
    if (!s->labels && !s->fields)
        return true;
    return (!s->name.n || str_eq(s->name, o->name)) && selection_has(s, object_glance(o, scratch));
}

bool selection_has(const struct selection *s, const struct json *root)
{
    return (!s->labels || selector_matches(s->labels, json_find(root, "metadata", "labels", NULL))) &&
           (!s->fields || field_selector_matches(s->fields, root));
}

/* ---- tokens of pages ---- {"v":"meta.k8s.io/v1","rv":12,"start":"namespace/name"} in base64; rv -1: of now ---- */

struct page {
    int64_t rev;
    struct str after; /* "namespace/name" of the last one given */
};

static struct str page_token(struct arena *a, int64_t rev, const struct object *last)
{
    struct json *j = json_object(a);
    autobuf text = { 0 }, coded = { 0 };

    json_add(j, STR("v"), json_str(a, STR("meta.k8s.io/v1")));
    json_add(j, STR("rv"), json_int(a, rev));
    json_add(j, STR("start"), json_fmt(a, "%.*s/%.*s", STR_ARG(last->namespace), STR_ARG(last->name)));
    json_print(&text, j);
    buf_base64(&coded, buf_view(&text));
    for (size_t i = 0; i < coded.n; i++) /* it goes into a URL */
        coded.p[i] = coded.p[i] == '+' ? '-' : coded.p[i] == '/' ? '_' : coded.p[i];
    return arena_str(a, buf_view(&coded));
}

static int page_read(struct request *rq, struct str token, struct page *ret)
{
    autobuf coded = { 0 }, text = { 0 };
    struct json *j = NULL;
    struct err e;

    for (size_t i = 0; i < token.n; i++)
        buf_char(&coded, token.p[i] == '-' ? '+' : token.p[i] == '_' ? '/' : token.p[i]);
    if (buf_unbase64(&text, buf_view(&coded)) < 0 ||
        json_parse(rq->arena, arena_str(rq->arena, buf_view(&text)), NULL, &j, &e) < 0 ||
        !json_member_text(j, "start").n || json_to_i64(json_get(j, "rv"), &ret->rev) < 0)
        return fail_with(rq, REASON_BAD_REQUEST, "continue key is not valid: it is none that this server has given");
    ret->after = json_member_text(j, "start");
    return 0;
}

/* ---- the objects ---- */

struct listing {
    struct request *rq;
    struct selection sel;
    struct object **objects; /* in order; they may be without trees */
    size_t n, cap;
    uint64_t rev;
    size_t from, to; /* of this page */
    struct str token;
    struct arena scratch;
};

static void take(void *ctx, const struct object *o)
{
    struct listing *l = ctx;

    if (!selection_has_object(&l->sel, o, &l->scratch))
        return;
    if (l->n == l->cap) {
        l->cap = MAX_OF(l->cap * 2, 64u);
        l->objects = xrealloc(l->objects, l->cap * sizeof(struct object *));
    }
    l->objects[l->n++] = (struct object *)o; /* borrowed: nothing is written before it is printed */
}

static int compare_key(const struct object *o, struct str key)
{
    ptrdiff_t slash = str_find_char(key, '/');
    struct str namespace = str_sub(key, 0, slash < 0 ? 0 : (size_t)slash);
    int c = str_cmp(o->namespace, namespace);

    return c ? c : str_cmp(o->name, str_from(key, (size_t)(slash + 1)));
}

static size_t index_after(const struct listing *l, struct str key)
{
    size_t low = 0, high = l->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (compare_key(l->objects[middle], key) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int expired(struct listing *l, const struct page *page)
{
    struct request *rq = l->rq;
    struct json *j = json_object(rq->arena);
    autobuf text = { 0 }, coded = { 0 };

    json_add(j, STR("v"), json_str(rq->arena, STR("meta.k8s.io/v1")));
    json_add(j, STR("rv"), json_int(rq->arena, -1));
    json_add(j, STR("start"), json_str(rq->arena, page->after));
    json_print(&text, j);
    buf_base64(&coded, buf_view(&text));
    for (size_t i = 0; i < coded.n; i++)
        coded.p[i] = coded.p[i] == '+' ? '-' : coded.p[i] == '/' ? '_' : coded.p[i];
    fail_with(
        rq, REASON_EXPIRED,
        "The provided continue parameter is too old to display a consistent list result. You can start a new list "
        "without the continue parameter, or use the continue token in this response to retrieve the remainder of the "
        "results. Continuing with the provided token results in an inconsistent list.");
    rq->failure.continue_ = arena_str(rq->arena, buf_view(&coded));
    return -1;
}

/* What the page is a part of: what was kept for it, or what is there now. */
static int collect(struct listing *l, const struct page *page)
{
    struct store *store = l->rq->server->opt.store;
    const struct snapshot *kept = NULL;

    l->rev = store_revision(store);
    if (page && page->rev > 0 && (uint64_t)page->rev != l->rev) {
        kept = snapshot_find(l->rq->server, l->rq, &l->sel, (uint64_t)page->rev);
        if (!kept)
            return expired(l, page);
        l->rev = kept->rev;
    }
    if (kept) {
        l->objects = xmalloc(MAX_OF(kept->n, 1u) * sizeof(struct object *));
        memcpy(l->objects, kept->objects, kept->n * sizeof(struct object *));
        l->n = kept->n;
    } else {
        store_walk(store, l->rq->type, l->rq->target.namespace, take, l);
    }
    return 0;
}

static void cut_page(struct listing *l, const struct page *page, int64_t limit)
{
    struct request *rq = l->rq;

    l->from = page ? index_after(l, page->after) : 0;
    l->to = limit > 0 && (size_t)limit < l->n - l->from ? l->from + (size_t)limit : l->n;
    if (l->to == l->n)
        return;
    l->token = page_token(rq->arena, page && page->rev < 0 ? -1 : (int64_t)l->rev, l->objects[l->to - 1]);
    if (!page || page->rev == (int64_t)store_revision(rq->server->opt.store))
        (void)snapshot_keep(rq->server, rq, &l->sel, l->objects, l->n, l->rev); /* kept by the server */
}

/* ---- the list ---- */

static void print_meta(const struct listing *l, struct buf *out)
{
    buf_fmt(out, "\"metadata\":{\"resourceVersion\":\"%llu\"", (unsigned long long)l->rev);
    if (l->token.n)
        buf_fmt(out, ",\"continue\":\"%.*s\"", STR_ARG(l->token));
    if (l->token.n && !l->sel.labels && !l->sel.fields)
        buf_fmt(out, ",\"remainingItemCount\":%zu", l->n - l->to);
    buf_char(out, '}');
}

/* As the store has it, or as the client wants it. */
static void print_item(const struct listing *l, const struct object *o, struct buf *out)
{
    struct request *rq = l->rq;

    if (o->text.n && rq->accept.form == ACCEPT_OBJECT && !rq->view) {
        buf_str(out, o->text);
        return;
    }
    store_warm(rq->server->opt.store, o);
    json_print(out, rq->accept.form == ACCEPT_PARTIAL ? partial_of(rq->arena, o->root)
                                                      : view_show(rq->arena, rq->view, o->root));
}

static void print_head(const struct listing *l, struct buf *out)
{
    struct request *rq = l->rq;
    bool is_partial = rq->accept.form == ACCEPT_PARTIAL;

    buf_fmt(out, "{\"kind\":\"%.*s\",\"apiVersion\":\"%.*s\",",
            STR_ARG(is_partial ? STR("PartialObjectMetadataList") : type_list_kind(rq->arena, rq->type)),
            STR_ARG(is_partial ? STR("meta.k8s.io/v1") : type_api_version(rq->arena, rq->view ? rq->view : rq->type)));
    print_meta(l, out);
    buf_str(out, STR(",\"items\":["));
}

/* Printed straight: a list of many is no tree of its own. */
static void reply_items(struct listing *l)
{
    struct request *rq = l->rq;
    autobuf out = { 0 };

    print_head(l, &out);
    if (rq->accept.form == ACCEPT_OBJECT && !rq->view && l->to > l->from &&
        items_are_many(rq, l->objects + l->from, l->to - l->from)) {
        items_reply(rq, buf_view(&out), l->objects + l->from, l->to - l->from);
        return;
    }
    for (size_t i = l->from; i < l->to; i++) {
        if (i > l->from)
            buf_char(&out, ',');
        print_item(l, l->objects[i], &out);
    }
    buf_str(&out, STR("]}\n"));
    reply_text(rq, 200, "application/json", buf_view(&out), NULL);
}

static struct json *list_tree(struct listing *l)
{
    struct request *rq = l->rq;
    bool is_table = rq->accept.form == ACCEPT_TABLE;
    struct json *j = is_table ? table_new(rq->arena, shown_as(rq), true) : json_object(rq->arena), *meta, *items;
    struct str include = STR("Metadata");

    (void)param(rq, "includeObject", &include);
    if (!is_table) {
        json_add(j, STR("kind"), json_str(rq->arena, type_list_kind(rq->arena, rq->type)));
        json_add(j, STR("apiVersion"),
                 json_str(rq->arena, type_api_version(rq->arena, rq->view ? rq->view : rq->type)));
        json_add(j, STR("metadata"), json_object(rq->arena));
        json_add(j, STR("items"), json_array(rq->arena));
    }
    meta = json_get(j, "metadata");
    items = json_get(j, "items");
    json_set(meta, "resourceVersion", json_fmt(rq->arena, "%llu", (unsigned long long)l->rev));
    if (l->token.n)
        json_set(meta, "continue", json_str(rq->arena, l->token));
    if (l->token.n && !l->sel.labels && !l->sel.fields)
        json_set(meta, "remainingItemCount", json_int(rq->arena, (int64_t)(l->n - l->to)));
    for (size_t i = l->from; i < l->to; i++) {
        store_warm(rq->server->opt.store, l->objects[i]);
        if (is_table)
            table_add(rq->arena, j, shown_as(rq), l->objects[i]->root, include, server_now_ms(rq->server));
        else
            json_push(items, json_copy(rq->arena, view_show(rq->arena, rq->view, l->objects[i]->root)));
    }
    return j;
}

/* ---- which revision ---- */

static int check_revision(struct request *rq, bool has_page)
{
    struct str text = STR_NULL, match = STR_NULL;
    uint64_t rev = 0, now = store_revision(rq->server->opt.store);
    bool has_rev = param(rq, "resourceVersion", &text) && text.n;

    (void)param(rq, "resourceVersionMatch", &match);
    if (has_rev && str_to_u64(text, &rev) < 0)
        return fail_with(rq, REASON_BAD_REQUEST, "resourceVersion: invalid value \"%.*s\"",
                         STR_ARG(str_sub(text, 0, 40)));
    if (has_page && has_rev && rev)
        return fail_with(rq, REASON_BAD_REQUEST, "specifying resource version is not allowed when using continue");
    if (match.n && (!has_rev || has_page || (str_is(match, "Exact") && !rev)))
        return fail_field(rq, "FieldValueForbidden", "resourceVersionMatch",
                          "Forbidden: resourceVersionMatch is forbidden %s",
                          has_page  ? "when continue is provided"
                          : has_rev ? "with \"Exact\" for resourceVersion \"0\""
                                    : "unless resourceVersion is provided");
    if (match.n && !str_is(match, "Exact") && !str_is(match, "NotOlderThan"))
        return fail_field(rq, "FieldValueNotSupported", "resourceVersionMatch",
                          "Unsupported value: \"%.*s\": supported values: \"Exact\", \"NotOlderThan\"",
                          STR_ARG(str_sub(match, 0, 40)));
    if (str_is(match, "Exact") && rev < now)
        return fail_with(rq, REASON_EXPIRED, "The resourceVersion for the provided list is too old.");
    if (rev <= now)
        return 0;
    fail_with(rq, REASON_TIMEOUT, "Too large resource version: %llu, current: %llu", (unsigned long long)rev,
              (unsigned long long)now);
    fail_cause(rq, "ResourceVersionTooLarge", STR_NULL, STR("Too large resource version"));
    rq->failure.retry_s = 1;
    return -1;
}

int handle_list(struct request *rq)
{
    struct listing l = { .rq = rq };
    struct page page;
    struct str token = STR_NULL, rev = STR_NULL;
    bool has_page = param(rq, "continue", &token) && token.n;
    int64_t limit;

    if (param_flag(rq, "sendInitialEvents"))
        return fail_field(rq, "FieldValueForbidden", "sendInitialEvents",
                          "Forbidden: sendInitialEvents is forbidden for list");
    if (selection_read(rq, &l.sel) < 0 || param_number(rq, "limit", 0, &limit) < 0 ||
        check_revision(rq, has_page) < 0 || (has_page && page_read(rq, token, &page) < 0) ||
        collect(&l, has_page ? &page : NULL) < 0)
        return -1;
    if (param(rq, "resourceVersion", &rev) && str_is(rev, "0"))
        limit = 0; /* as it has always been: what is at hand, all of it */
    cut_page(&l, has_page ? &page : NULL, limit);
    if (rq->accept.form == ACCEPT_TABLE || rq->accept.media != MEDIA_JSON || rq->is_pretty)
        reply_json(rq, 200, list_tree(&l));
    else
        reply_items(&l);
    free(l.objects);
    arena_done(&l.scratch);
    return 0;
}
