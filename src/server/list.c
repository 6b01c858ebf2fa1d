/* list.c - list: selectors, pages and formats
 *
 * A list is of now, unless it says of when. Nothing is kept between the pages of one: a token has the revision of the
 * first, and the store knows what was there then as long as watches could begin there. Later the answer is 410, with a
 * token that goes on from the same place in what is there now.
 */
#include "server/server_internal.h"

/* ---- what is selected ---- */

int selection_parse(struct arena *a, const struct resource_type *t, struct selection *s, struct err *e)
{
    struct str labels = s->labels_text, fields = s->fields_text;
    const char *allowed[24] = { "metadata.name", "metadata.namespace" };
    size_t n = 2;

    for (const char *const *f = t->fields; f && *f && n < ARRAY_LEN(allowed) - 1; f++)
        allowed[n++] = *f;
    if (labels.n && selector_parse(a, labels, &s->labels, e) < 0)
        return err_wrap(e, "unable to parse requirement");
    if (fields.n && field_selector_parse(a, fields, allowed, &s->fields, e) < 0)
        return -1;
    s->name = fields.n ? field_selector_value(s->fields, "metadata.name") : STR_NULL;
    return 0;
}

int selection_read(struct server_request *rq, struct selection *ret)
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
    *ret = (struct selection){ .labels_text = labels, .fields_text = fields };
    if (selection_parse(rq->arena, rq->type, ret, &e) < 0)
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

/* ---- tokens of pages ---- {"v":"meta.k8s.io/v1","rv":12,"start":"namespace/name","left":5} in base64 ---- */

struct page {
    int64_t rev;                /* PAGE_OF_NOW: whatever is there */
    struct str namespace, name; /* of the last one given */
    int64_t left;               /* how many follow; -1: unknown */
};
enum { PAGE_OF_NOW = -1 };

static struct str page_token(struct arena *a, const struct page *page)
{
    struct json *j = json_object(a);
    autobuf text = { 0 }, coded = { 0 };

    json_add(j, STR("v"), json_str(a, STR("meta.k8s.io/v1")));
    json_add(j, STR("rv"), json_int(a, page->rev));
    json_add(j, STR("start"), json_fmt(a, "%.*s/%.*s", STR_ARG(page->namespace), STR_ARG(page->name)));
    if (page->left >= 0)
        json_add(j, STR("left"), json_int(a, page->left));
    json_print(&text, j);
    buf_base64(&coded, buf_view(&text));
    for (size_t i = 0; i < coded.n; i++) /* it goes into a URL */
        coded.p[i] = coded.p[i] == '+' ? '-' : coded.p[i] == '/' ? '_' : coded.p[i];
    return arena_str(a, buf_view(&coded));
}

static int page_read(struct server_request *rq, struct str token, struct page *ret)
{
    autobuf coded = { 0 }, text = { 0 };
    struct json *j = NULL;
    struct str start;
    ptrdiff_t slash = -1;
    struct err e;

    for (size_t i = 0; i < token.n; i++)
        buf_char(&coded, token.p[i] == '-' ? '+' : token.p[i] == '_' ? '/' : token.p[i]);
    if (buf_unbase64(&text, buf_view(&coded)) == 0 &&
        json_parse(rq->arena, arena_str(rq->arena, buf_view(&text)), NULL, &j, &e) == 0)
        slash = str_find_char(start = json_member_text(j, "start"), '/');
    if (slash < 0 || json_to_i64(json_get(j, "rv"), &ret->rev) < 0 || ret->rev < PAGE_OF_NOW || ret->rev == 0)
        return fail_with(rq, REASON_BAD_REQUEST, "continue key is not valid: this server did not issue it");
    ret->namespace = str_sub(start, 0, (size_t)slash);
    ret->name = str_from(start, (size_t)slash + 1);
    ret->left = json_i64(json_get(j, "left"), -1);
    return 0;
}

/* ---- the objects ---- */

struct list_listing {
    struct server_request *rq;
    struct selection sel;
    bool has_page;
    struct page page;        /* what the client has of it */
    uint64_t exact;          /* of when it is to be; 0: of now */
    int64_t limit;           /* 0: none */
    struct object **objects; /* of this page, in order; references. They may be without trees */
    size_t n, cap;
    bool has_more;
    uint64_t rev;
    int64_t left;     /* objects that follow; -1: unknown */
    struct str token; /* empty: this is the last page */
    struct arena scratch;
};

static bool list_take(void *ctx, const struct object *o)
{
    struct list_listing *l = ctx;

    if (!selection_has_object(&l->sel, o, &l->scratch))
        return true;
    if (l->limit && l->n == (size_t)l->limit) {
        l->has_more = true;
        return false;
    }
    if (l->n == l->cap) {
        l->cap = MAX_OF(l->cap * 2, 64u);
        l->objects = xrealloc(l->objects, l->cap * sizeof(struct object *));
    }
    l->objects[l->n++] = object_ref(o);
    return true;
}

static int too_old(struct list_listing *l)
{
    struct server_request *rq = l->rq;

    if (!l->has_page)
        return fail_with(rq, REASON_EXPIRED, "The resourceVersion for the provided list is too old.");
    fail_with(
        rq, REASON_EXPIRED,
        "The provided continue parameter is too old to display a consistent list result. You can start a new list "
        "without the continue parameter, or use the continue token in this response to retrieve the remainder of the "
        "results. Continuing with the provided token results in an inconsistent list.");
    rq->failure.continue_ = page_token(rq->arena,
                                       &(struct page){ PAGE_OF_NOW, l->page.namespace, l->page.name, .left = -1 });
    return -1;
}

/* The token of what follows, and how many that are. */
static void point_on(struct list_listing *l)
{
    const struct object *last = l->objects[l->n - 1];
    struct server_request *rq = l->rq;
    struct store *store = rq->server->opt.store;

    l->left = l->page.left < 0 ? -1 : MAX_OF(l->page.left - (int64_t)l->n, 1);
    if (l->rev == store_revision(store))
        l->left = (int64_t)store_count_after(store, rq->type, rq->target.namespace, last->namespace, last->name);
    if (l->sel.labels || l->sel.fields)
        l->left = -1;
    l->token = page_token(rq->arena,
                          &(struct page){ l->has_page && l->page.rev == PAGE_OF_NOW ? PAGE_OF_NOW : (int64_t)l->rev,
                                          last->namespace, last->name, l->left });
}

static int list_collect(struct list_listing *l)
{
    struct store *store = l->rq->server->opt.store;
    uint64_t rev = l->has_page && l->page.rev > 0 ? (uint64_t)l->page.rev : l->exact;
    struct store_page page = { .namespace = l->rq->target.namespace,
                               .after_namespace = l->page.namespace,
                               .after_name = l->page.name,
                               .rev = rev,
                               .each = list_take,
                               .ctx = l };
    struct err e;

    if (store_page(store, l->rq->type, &page, &e) < 0)
        return too_old(l);
    l->rev = rev ? rev : store_revision(store);
    if (l->has_more)
        point_on(l);
    return 0;
}

/* ---- the list ---- */

static void print_meta(const struct list_listing *l, struct buf *out)
{
    buf_fmt(out, "\"metadata\":{\"resourceVersion\":\"%llu\"", (unsigned long long)l->rev);
    if (l->token.n)
        buf_fmt(out, ",\"continue\":\"%.*s\"", STR_ARG(l->token));
    if (l->token.n && l->left >= 0)
        buf_fmt(out, ",\"remainingItemCount\":%lld", (long long)l->left);
    buf_char(out, '}');
}

/* As the store has it, or as the client wants it. */
static void print_item(const struct list_listing *l, const struct object *o, struct buf *out)
{
    struct server_request *rq = l->rq;

    if (o->text.n && rq->accept.form == ACCEPT_OBJECT && !rq->view) {
        buf_str(out, o->text);
        return;
    }
    store_warm(rq->server->opt.store, o);
    json_print(out, rq->accept.form == ACCEPT_PARTIAL ? partial_of(rq->arena, o->root)
                                                      : view_show(rq->arena, rq->view, o->root));
}

static void print_head(const struct list_listing *l, struct buf *out)
{
    struct server_request *rq = l->rq;
    bool is_partial = rq->accept.form == ACCEPT_PARTIAL;

    buf_fmt(out, "{\"kind\":\"%.*s\",\"apiVersion\":\"%.*s\",",
            STR_ARG(is_partial ? STR("PartialObjectMetadataList") : type_list_kind(rq->arena, rq->type)),
            STR_ARG(is_partial ? STR("meta.k8s.io/v1") : type_api_version(rq->arena, rq->view ? rq->view : rq->type)));
    print_meta(l, out);
    buf_str(out, STR(",\"items\":["));
}

/* Printed straight: a list of many is no tree of its own. */
static void reply_items(struct list_listing *l)
{
    struct server_request *rq = l->rq;
    autobuf out = { 0 };

    print_head(l, &out);
    if (rq->accept.form == ACCEPT_OBJECT && !rq->view && l->n > 0 && items_are_many(rq, l->objects, l->n)) {
        items_reply(rq, buf_view(&out), l->objects, l->n);
        return;
    }
    for (size_t i = 0; i < l->n; i++) {
        if (i > 0)
            buf_char(&out, ',');
        print_item(l, l->objects[i], &out);
    }
    buf_str(&out, STR("]}\n"));
    reply_text(rq, 200, "application/json", buf_view(&out), NULL);
}

static struct json *list_tree(struct list_listing *l)
{
    struct server_request *rq = l->rq;
    bool is_table = rq->accept.form == ACCEPT_TABLE;
    struct json *j = is_table ? table_new(rq->arena, shown_as(rq), true) : json_object(rq->arena), *meta, *items;
    struct table_look look = { shown_as(rq), STR("Metadata"), server_now_ms(rq->server) };

    (void)param(rq, "includeObject", &look.include);
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
    if (l->token.n && l->left >= 0)
        json_set(meta, "remainingItemCount", json_int(rq->arena, l->left));
    for (size_t i = 0; i < l->n; i++) {
        store_warm(rq->server->opt.store, l->objects[i]);
        if (is_table)
            table_add(rq->arena, j, l->objects[i]->root, &look);
        else
            json_push(items, json_copy(rq->arena, view_show(rq->arena, rq->view, l->objects[i]->root)));
    }
    return j;
}

/* ---- which revision ---- */

static int check_match(struct server_request *rq, struct str match, bool has_rev, uint64_t rev, bool has_page)
{
    if (!has_rev || has_page || (str_is(match, "Exact") && !rev))
        return fail_field(rq, "FieldValueForbidden", "resourceVersionMatch",
                          "Forbidden: resourceVersionMatch is forbidden %s",
                          has_page  ? "when continue is provided"
                          : has_rev ? "with \"Exact\" for resourceVersion \"0\""
                                    : "unless resourceVersion is provided");
    if (!str_is(match, "Exact") && !str_is(match, "NotOlderThan"))
        return fail_field(rq, "FieldValueNotSupported", "resourceVersionMatch",
                          "Unsupported value: \"%.*s\": supported values: \"Exact\", \"NotOlderThan\"",
                          STR_ARG(str_sub(match, 0, 40)));
    return 0;
}

/* Of when is the list to be? Now is not older than anything; a revision and a limit together mean that very one, as they
 * did before there was a word for it. */
static int read_revision(struct list_listing *l)
{
    struct server_request *rq = l->rq;
    struct str text = STR_NULL, match = STR_NULL;
    uint64_t rev = 0, now = store_revision(rq->server->opt.store);
    bool has_rev = param(rq, "resourceVersion", &text) && text.n;

    (void)param(rq, "resourceVersionMatch", &match);
    if (has_rev && str_to_u64(text, &rev) < 0)
        return fail_with(rq, REASON_BAD_REQUEST, "resourceVersion: invalid value \"%.*s\"",
                         STR_ARG(str_sub(text, 0, 40)));
    if (l->has_page && has_rev && rev)
        return fail_with(rq, REASON_BAD_REQUEST, "specifying resource version is not allowed when using continue");
    if (match.n && check_match(rq, match, has_rev, rev, l->has_page) < 0)
        return -1;
    if (has_rev && !rev)
        l->limit = 0; /* as it has always been: what is at hand, all of it */
    if (str_is(match, "Exact") || (!match.n && l->limit))
        l->exact = rev;
    if (rev <= now)
        return 0;
    fail_with(rq, REASON_TIMEOUT, "Too large resource version: %llu, current: %llu", (unsigned long long)rev,
              (unsigned long long)now);
    fail_cause(rq, "ResourceVersionTooLarge", STR_NULL, STR("Too large resource version"));
    rq->failure.retry_s = 1;
    return -1;
}

/* ---- the request ---- */

static int read_request(struct list_listing *l)
{
    struct server_request *rq = l->rq;
    struct str token = STR_NULL;
    int64_t seconds; /* a list takes no time, but what is no number is a mistake */

    if (param_flag(rq, "sendInitialEvents"))
        return fail_field(rq, "FieldValueForbidden", "sendInitialEvents",
                          "Forbidden: sendInitialEvents is forbidden for list");
    l->has_page = param(rq, "continue", &token) && token.n;
    if (selection_read(rq, &l->sel) < 0 || param_number(rq, "limit", 0, &l->limit) < 0 ||
        param_number(rq, "timeoutSeconds", 0, &seconds) < 0)
        return -1;
    l->limit = MAX_OF(l->limit, 0);
    if (read_revision(l) < 0)
        return -1;
    return l->has_page ? page_read(rq, token, &l->page) : 0;
}

static void listing_done(struct list_listing *l)
{
    for (size_t i = 0; i < l->n; i++)
        object_unref(l->objects[i]);
    free(l->objects);
    arena_done(&l->scratch);
}

int handle_list(struct server_request *rq)
{
    struct list_listing l = { .rq = rq, .page = { .left = -1 } };
    int ret = read_request(&l) < 0 || list_collect(&l) < 0 ? -1 : 0;

    if (ret == 0 && (rq->accept.form == ACCEPT_TABLE || rq->accept.media != MEDIA_JSON || rq->is_pretty))
        reply_json(rq, 200, list_tree(&l));
    else if (ret == 0)
        reply_items(&l);
    listing_done(&l);
    return ret;
}
