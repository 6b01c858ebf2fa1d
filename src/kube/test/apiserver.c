/* apiserver.c - a little Kubernetes API server on a store */
#include "kube/test/apiserver.h"

#include "api/meta.h"
#include "api/selector.h"
#include "base/rand.h"
#include "base/util.h"
#include "http/test/peer.h"

#include <assert.h>
#include <pthread.h>

enum { SEEN_MAX = 65536 };

struct apiserver {
    struct store *store;
    struct apiserver_options opt;
    struct peer *peer;
    pthread_mutex_t lock;
    struct fault fault;
    char url[64];
    char (*seen)[160];
    unsigned n_seen, busy, most;
};

struct target { /* what a path names */
    const struct resource_type *type;
    char namespace[64], name[256], sub[32];
    struct str query;
};

/* ---- paths ---- */

static const struct resource_type *type_of(const char *group, const char *version, const char *plural)
{
    for (size_t i = 0; i < n_resource_types; i++)
        if (!strcmp(resource_types[i].group, group) && !strcmp(resource_types[i].version, version) &&
            !strcmp(resource_types[i].plural, plural))
            return &resource_types[i];
    return NULL;
}

static void unescape(char *s)
{
    char *out = s;

    for (; *s; s++, out++) {
        unsigned byte;

        if (*s == '%' && sscanf(s + 1, "%2x", &byte) == 1) {
            *out = (char)byte;
            s += 2;
        } else {
            *out = *s;
        }
    }
    *out = '\0';
}

static bool query(const struct target *t, const char *key, char *out, size_t size)
{
    struct str rest = t->query, part;

    while (str_split(&rest, '&', &part))
        if (str_starts(part, str_of(key)) && part.n > strlen(key) && part.p[strlen(key)] == '=') {
            (void)snprintf(out, size, "%.*s", STR_ARG(str_from(part, strlen(key) + 1)));
            unescape(out);
            return true;
        }
    *out = '\0';
    return false;
}

static void target_parse(char *path, struct target *t)
{
    char *seg[10] = { 0 }, *q = strchr(path, '?'), *save = NULL;
    size_t n = 0, at;
    const char *group = "", *version;

    *t = (struct target){ 0 };
    if (q)
        *q++ = '\0';
    t->query = str_of(q);
    for (char *s = strtok_r(path, "/", &save); s && n < ARRAY_LEN(seg); s = strtok_r(NULL, "/", &save)) {
        unescape(s);
        seg[n++] = s;
    }
    at = n && !strcmp(seg[0], "apis") ? 2 : 1;
    if (n < at + 2)
        return;
    group = at == 2 ? seg[1] : "";
    version = seg[at++];
    if (!strcmp(seg[at], "namespaces") && n > at + 2) {
        (void)snprintf(t->namespace, sizeof(t->namespace), "%s", seg[at + 1]);
        at += 2;
    }
    t->type = type_of(group, version, seg[at]);
    if (n > at + 1)
        (void)snprintf(t->name, sizeof(t->name), "%s", seg[at + 1]);
    if (n > at + 2)
        (void)snprintf(t->sub, sizeof(t->sub), "%s", seg[at + 2]);
}

/* ---- answers ---- */

static void status_print(struct buf *out, int code, const char *reason, const char *message, const char *field)
{
    autoarena a = { 0 };
    struct json *j = object_new(&a, "v1", "Status", STR_NULL, STR_NULL);

    json_remove(j, "metadata");
    json_set(j, "status", json_str(&a, STR("Failure")));
    json_set(j, "code", json_int(&a, code));
    json_set(j, "reason", json_str(&a, str_of(reason)));
    json_set(j, "message", json_str(&a, str_of(message)));
    if (field) {
        struct json *cause = json_object(&a), *details = json_set(j, "details", json_object(&a));

        json_set(cause, "field", json_str(&a, str_of(field)));
        json_push(json_set(details, "causes", json_array(&a)), cause);
    }
    json_print(out, j);
}

static bool answer_status(struct peer_conn *c, int code, const char *reason, const char *message, const char *field)
{
    autobuf out = { 0 };

    status_print(&out, code, reason, message, field);
    return peer_answer(c, code, "Content-Type: application/json\r\n", buf_view(&out));
}

static bool answer_error(struct peer_conn *c, const struct err *e)
{
    static const int codes[ERR_CODE_MAX] = {
        [ERR_INVALID] = 422, [ERR_SYNTAX] = 400,   [ERR_TOO_BIG] = 413, [ERR_NOT_FOUND] = 404,
        [ERR_EXISTS] = 409,  [ERR_CONFLICT] = 409, [ERR_GONE] = 410,    [ERR_FORBIDDEN] = 403
    };

    return answer_status(c, codes[e->code] ? codes[e->code] : 500, err_code_name(e->code), e->text, NULL);
}

static bool answer_object(struct peer_conn *c, int code, const struct object *o)
{
    autobuf out = { 0 };

    json_print(&out, o->root);
    return peer_answer(c, code, "Content-Type: application/json\r\n", buf_view(&out));
}

/* A piece of a stream, as one chunk or as several. */
static bool chunk(struct apiserver *a, struct peer_conn *c, struct rand *r, struct str text)
{
    while (text.n) {
        size_t some = a->opt.chops ? 1 + rand_below(r, 200) : text.n, n = MIN_OF(some, text.n);
        autobuf out = { 0 };

        buf_fmt(&out, "%zx\r\n", n);
        buf_str(&out, str_sub(text, 0, n));
        buf_str(&out, STR("\r\n"));
        if (!peer_write(c, buf_view(&out)))
            return false;
        text = str_from(text, n);
    }
    return true;
}

#define STREAM_HEAD "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"

/* ---- lists and watches ---- */

struct wanted { /* by selectors; NULL: all */
    struct selector *labels;
    struct field_selector *fields;
};

static bool is_wanted(const struct wanted *w, const struct object *o)
{
    return (!w->labels || selector_matches(w->labels, json_find(o->root, "metadata", "labels", NULL))) &&
           (!w->fields || field_selector_matches(w->fields, o->root));
}

struct listing {
    struct buf out;
    struct wanted want;
    size_t at, from, limit, n;
    bool is_stream, is_bare;
};

static void print_event(struct buf *out, const char *type, const struct json *object)
{
    buf_fmt(out, "{\"type\":\"%s\",\"object\":", type);
    json_print(out, object);
    buf_str(out, STR("}\n"));
}

/* Lists of built-in kinds leave out kind and apiVersion. */
static void print_item(struct buf *out, const struct object *o)
{
    autoarena a = { 0 };
    struct json *copy = json_copy(&a, o->root);

    if (!o->type->group[0]) {
        json_remove(copy, "kind");
        json_remove(copy, "apiVersion");
    }
    json_print(out, copy);
}

static void list_one(void *ctx, const struct object *o)
{
    struct listing *l = ctx;

    if (!is_wanted(&l->want, o))
        return;
    if (l->at++ < l->from || (l->limit && l->n >= l->limit))
        return;
    if (l->is_stream) {
        print_event(&l->out, "ADDED", o->root);
    } else {
        buf_str(&l->out, l->n ? STR(",") : STR_NULL);
        print_item(&l->out, o);
    }
    l->n++;
}

static struct wanted wanted_of(struct arena *a, const struct target *t)
{
    struct wanted w = { 0 };
    char text[256];

    if (query(t, "labelSelector", text, sizeof(text)))
        assert(selector_parse(a, arena_str(a, str_of(text)), &w.labels, NULL) == 0);
    if (query(t, "fieldSelector", text, sizeof(text)))
        assert(field_selector_parse(a, arena_str(a, str_of(text)), NULL, &w.fields, NULL) == 0);
    return w;
}

static bool serve_list(struct apiserver *a, struct peer_conn *c, struct target *t, const struct fault *f)
{
    autoarena arena = { 0 };
    autobuf out = { 0 };
    struct listing l = { .want = wanted_of(&arena, t) };
    unsigned long long rev = store_revision(a->store);
    struct rand r;
    char text[64];

    rand_seed(&r, 1);
    if (query(t, "limit", text, sizeof(text)))
        l.limit = strtoul(text, NULL, 10);
    if (query(t, "continue", text, sizeof(text)))
        (void)sscanf(text, "%llu:%zu", &rev, &l.from);
    store_list(a->store, t->type, str_of(t->namespace), list_one, &l);
    buf_fmt(&out, "{\"kind\":\"%sList\",\"apiVersion\":\"x\",\"metadata\":{\"resourceVersion\":\"%llu\"", t->type->kind,
            rev);
    if (l.limit && l.at > l.from + l.n)
        buf_fmt(&out, ",\"continue\":\"%llu:%zu\"", rev, l.from + l.n);
    buf_fmt(&out, "},\"items\":[%.*s]}\n", STR_ARG(buf_view(&l.out)));
    buf_done(&l.out);
    if (!peer_write(c, STR(STREAM_HEAD)))
        return false;
    if (f->kind == FAULT_CUT_STREAM) {
        (void)chunk(a, c, &r, str_sub(buf_view(&out), 0, out.n / 2));
        return false;
    }
    return chunk(a, c, &r, buf_view(&out)) && peer_write(c, STR("0\r\n\r\n"));
}

static void print_bookmark(struct buf *out, const struct target *t, unsigned long long rev, bool is_end)
{
    buf_fmt(out, "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"%s\",\"metadata\":{\"resourceVersion\":\"%llu\"%s}}}\n",
            t->type->kind, rev, is_end ? ",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}" : "");
}

/* All there is now; -1: the watch ends with what is in 'out'. */
static int watch_take(struct apiserver *a, struct watch *w, const struct wanted *want, struct buf *out)
{
    static const char *const names[] = { "ADDED", "MODIFIED", "DELETED" };
    struct watch_event ev;
    struct err e = { 0 };
    int rc;

    apiserver_lock(a);
    while ((rc = watch_next(w, &ev, &e)) > 0)
        if (ev.object && is_wanted(want, ev.object))
            print_event(out, names[ev.kind], ev.object->root);
    apiserver_unlock(a);
    if (rc == 0)
        return 0;
    buf_str(out, STR("{\"type\":\"ERROR\",\"object\":"));
    status_print(out, 410, "Expired", e.text, NULL);
    buf_str(out, STR("}\n"));
    return -1;
}

static bool stream(struct apiserver *a, struct peer_conn *c, struct watch *w, const struct wanted *want,
                   struct buf *out, const struct fault *f)
{
    struct rand r;
    int rc = 0;

    rand_seed(&r, 2);
    if (!peer_write(c, STR(STREAM_HEAD)))
        return false;
    if (f->kind == FAULT_GARBAGE)
        buf_str(out, STR("{\"type\":\"ADDED\",\"object\":{]\n"));
    while (rc == 0) {
        if (w)
            rc = watch_take(a, w, want, out);
        if (out->n && f->kind == FAULT_CUT_STREAM) {
            (void)chunk(a, c, &r, str_sub(buf_view(out), 0, out->n / 2));
            return false;
        }
        if (!chunk(a, c, &r, buf_view(out)))
            return false;
        buf_reset(out);
        if (!w || f->kind == FAULT_END)
            break;
        if (rc == 0 && !peer_rest(c, 5))
            return false;
    }
    return peer_write(c, STR("0\r\n\r\n"));
}

static bool serve_watch(struct apiserver *a, struct peer_conn *c, struct target *t, const struct fault *f)
{
    autoarena arena = { 0 };
    autobuf first = { 0 };
    struct listing l = { .want = wanted_of(&arena, t), .is_stream = true };
    struct watch *w = NULL;
    struct err e = { 0 };
    char text[64];
    uint64_t from = 0;
    bool is_initial = query(t, "sendInitialEvents", text, sizeof(text)), is_kept;

    if (is_initial && a->opt.has_no_initial)
        return answer_status(c, 422, "Invalid", "sendInitialEvents is forbidden for watch", "sendInitialEvents");
    if (query(t, "resourceVersion", text, sizeof(text)))
        from = strtoull(text, NULL, 10);
    apiserver_lock(a);
    if (is_initial) {
        from = store_revision(a->store);
        store_list(a->store, t->type, str_of(t->namespace), list_one, &l);
        buf_str(&first, buf_view(&l.out));
        if (!a->opt.is_deaf)
            print_bookmark(&first, t, from, true);
    }
    if (watch_open(a->store, t->type, str_of(t->namespace), from, &w, &e) < 0) {
        buf_str(&first, STR("{\"type\":\"ERROR\",\"object\":"));
        status_print(&first, 410, "Expired", e.text, NULL);
        buf_str(&first, STR("}\n"));
    }
    apiserver_unlock(a);
    buf_done(&l.out);
    is_kept = stream(a, c, w, &l.want, &first, f);
    apiserver_lock(a);
    watch_close(w);
    apiserver_unlock(a);
    return is_kept;
}

/* ---- writes ---- */

/* The op that a request stands for. */
static int op_of(struct arena *arena, const struct peer_request *r, struct target *t, struct op *op, struct err *e)
{
    struct json *body = NULL, *only;

    *op = (struct op){ .type = t->type, .namespace = str_of(t->namespace), .name = str_of(t->name), .grace_s = -1 };
    if (r->body.n && json_parse(arena, arena_str(arena, r->body), NULL, &body, e) < 0)
        return -1;
    op->body = body;
    if (!strcmp(r->method, "POST")) {
        op->kind = !strcmp(t->sub, "binding") ? OP_BIND : OP_CREATE;
    } else if (!strcmp(r->method, "PUT")) {
        op->kind = !strcmp(t->sub, "status") ? OP_UPDATE_STATUS : OP_UPDATE;
    } else if (!strcmp(r->method, "PATCH")) {
        op->kind = !strcmp(t->sub, "status") ? OP_PATCH_STATUS : OP_MERGE_PATCH;
    } else {
        op->kind = OP_DELETE;
        only = json_get(body, "preconditions");
        op->uid = json_member_text(only, "uid");
        (void)str_to_u64(json_member_text(only, "resourceVersion"), &op->rev);
        op->grace_s = json_i64(json_get(body, "gracePeriodSeconds"), -1);
        op->propagation = str_is(json_member_text(body, "propagationPolicy"), "Foreground") ? PROPAGATE_FOREGROUND
                          : str_is(json_member_text(body, "propagationPolicy"), "Orphan")   ? PROPAGATE_ORPHAN
                                                                                            : PROPAGATE_BACKGROUND;
    }
    if (op->kind == OP_BIND || op->kind == OP_MERGE_PATCH || op->kind == OP_PATCH_STATUS)
        op->uid = object_uid(body);
    return 0;
}

/* A patch with another uid is one that changes what never changes. */
static bool has_other_uid(struct apiserver *a, const struct op *op)
{
    const struct object *o = store_get(a->store, op->type, op->namespace, op->name);

    return o && op->uid.n && (op->kind == OP_MERGE_PATCH || op->kind == OP_PATCH_STATUS) && !str_eq(o->uid, op->uid);
}

static bool serve_write(struct apiserver *a, struct peer_conn *c, const struct peer_request *r, struct target *t,
                        const struct fault *f)
{
    autoarena arena = { 0 };
    autounref struct object *o = NULL;
    struct err e = { 0 };
    struct op op;
    bool is_other = false;
    int rc = op_of(&arena, r, t, &op, &e);

    apiserver_lock(a);
    if (rc == 0 && !(is_other = has_other_uid(a, &op)))
        rc = store_apply(a->store, &op, &o, &e);
    apiserver_unlock(a);
    if (f->kind == FAULT_CUT_AFTER)
        return false;
    if (f->kind == FAULT_HANG)
        return peer_rest(c, 120000);
    if (is_other)
        return answer_status(c, 422, "Invalid", "field is immutable", "metadata.uid");
    if (rc < 0)
        return answer_error(c, &e);
    if (op.kind == OP_BIND)
        return peer_answer(c, 201, "",
                           STR("{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Success\",\"code\":201}"));
    if (op.kind == OP_DELETE && strcmp(t->type->plural, "pods") != 0 &&
        !json_find(o->root, "metadata", "finalizers", NULL))
        return peer_answer(c, 200, "", STR("{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Success\"}"));
    return answer_object(c, op.kind == OP_CREATE ? 201 : 200, o);
}

struct doomed {
    struct arena *arena;
    struct wanted want;
    VEC(struct op) ops;
    struct buf out;
};

static void doom(void *ctx, const struct object *o)
{
    struct doomed *d = ctx;

    if (!is_wanted(&d->want, o))
        return;
    buf_str(&d->out, d->ops.n ? STR(",") : STR_NULL);
    print_item(&d->out, o);
    *vec_push(d->arena, &d->ops) = (struct op){ .kind = OP_DELETE,
                                                .type = o->type,
                                                .namespace = arena_str(d->arena, o->namespace),
                                                .name = arena_str(d->arena, o->name),
                                                .grace_s = -1 };
}

/* Everything that the selectors name; the answer shows it as it was before. */
static bool serve_delete_all(struct apiserver *a, struct peer_conn *c, struct target *t, const struct fault *f)
{
    autoarena arena = { 0 };
    autobuf out = { 0 };
    struct doomed d = { .arena = &arena, .want = wanted_of(&arena, t) };

    apiserver_lock(a);
    store_list(a->store, t->type, str_of(t->namespace), doom, &d);
    VEC_FOREACH(op, &d.ops) {
        autounref struct object *o = NULL;

        assert(store_apply(a->store, op, &o, NULL) == 0);
    }
    apiserver_unlock(a);
    buf_fmt(&out, "{\"kind\":\"List\",\"items\":[%.*s]}", STR_ARG(buf_view(&d.out)));
    buf_done(&d.out);
    return f->kind != FAULT_CUT_AFTER && peer_answer(c, 200, "", buf_view(&out));
}

static bool serve_read(struct apiserver *a, struct peer_conn *c, struct target *t)
{
    autounref struct object *o = NULL;
    struct err e = { 0 };

    apiserver_lock(a);
    o = object_ref(store_get(a->store, t->type, str_of(t->namespace), str_of(t->name)));
    apiserver_unlock(a);
    if (o)
        return answer_object(c, 200, o);
    (void)err_set(&e, ERR_NOT_FOUND, "%s \"%s\" not found", t->type->plural, t->name);
    return answer_error(c, &e);
}

/* ---- requests ---- */

static struct fault fault_take(struct apiserver *a, const struct peer_request *r)
{
    struct fault f = a->fault, none = { 0 };

    if (!f.kind || !f.times || (f.method && strcmp(f.method, r->method) != 0) || (f.part && !strstr(r->path, f.part)))
        return none;
    if (a->fault.times > 0)
        a->fault.times--;
    return f;
}

static bool is_welcome(const struct apiserver *a, const struct peer_request *r)
{
    autoarena arena = { 0 };

    return !a->opt.token || str_has(r->head, arena_fmt(&arena, "Authorization: Bearer %s\r\n", a->opt.token));
}

static bool route(struct apiserver *a, struct peer_conn *c, const struct peer_request *r, const struct fault *f)
{
    char path[1024], retry[64] = "", text[16];
    struct target t;

    if (f->kind == FAULT_CUT_BEFORE)
        return false;
    if (f->seconds)
        (void)snprintf(retry, sizeof(retry), "Retry-After: %d\r\n", f->seconds);
    if (f->kind == FAULT_STATUS)
        return peer_answer(c, f->status, retry, STR("{\"kind\":\"Status\",\"message\":\"as you wish\"}"));
    (void)snprintf(path, sizeof(path), "%s", r->path);
    target_parse(path, &t);
    if (!t.type)
        return peer_answer(c, 404, "", STR("404 page not found\n"));
    if (!strcmp(r->method, "DELETE") && !t.name[0])
        return serve_delete_all(a, c, &t, f);
    if (strcmp(r->method, "GET") != 0)
        return serve_write(a, c, r, &t, f);
    if (t.name[0])
        return serve_read(a, c, &t);
    if (query(&t, "watch", text, sizeof(text)))
        return serve_watch(a, c, &t, f);
    apiserver_lock(a);
    bool is_kept = serve_list(a, c, &t, f);
    apiserver_unlock(a);
    return is_kept;
}

static bool serve(void *ctx, struct peer_conn *c, const struct peer_request *r)
{
    struct apiserver *a = ctx;
    bool is_write = strcmp(r->method, "GET") != 0, is_kept, is_known;
    struct fault f;

    apiserver_lock(a);
    assert(a->n_seen < SEEN_MAX);
    (void)snprintf(a->seen[a->n_seen++], sizeof(a->seen[0]), "%s %.140s", r->method, r->path);
    f = fault_take(a, r);
    is_known = is_welcome(a, r);
    a->busy += is_write;
    a->most = MAX_OF(a->most, a->busy);
    apiserver_unlock(a);
    is_kept = is_known ? route(a, c, r, &f) : answer_status(c, 401, "Unauthorized", "Unauthorized", NULL);
    apiserver_lock(a);
    a->busy -= is_write;
    apiserver_unlock(a);
    return is_kept;
}

/* ---- life ---- */

struct apiserver *apiserver_start(struct store *s, const struct apiserver_options *opt)
{
    struct apiserver *a = xcalloc(1, sizeof(*a));

    a->store = s;
    a->opt = *opt;
    a->seen = xcalloc(SEEN_MAX, sizeof(a->seen[0]));
    pthread_mutex_init(&a->lock, NULL);
    a->peer = peer_start(&(struct peer_options){ .serve = serve, .ctx = a });
    (void)snprintf(a->url, sizeof(a->url), "http://127.0.0.1:%d", peer_port(a->peer));
    return a;
}

void apiserver_stop(struct apiserver *a)
{
    peer_stop(a->peer);
    pthread_mutex_destroy(&a->lock);
    free(a->seen);
    free(a);
}

const char *apiserver_url(const struct apiserver *a)
{
    return a->url;
}

void apiserver_lock(struct apiserver *a)
{
    pthread_mutex_lock(&a->lock);
}

void apiserver_unlock(struct apiserver *a)
{
    pthread_mutex_unlock(&a->lock);
}

void apiserver_set_token(struct apiserver *a, const char *token)
{
    apiserver_lock(a);
    a->opt.token = token;
    apiserver_unlock(a);
}

void apiserver_fault(struct apiserver *a, struct fault f)
{
    apiserver_lock(a);
    a->fault = f;
    apiserver_unlock(a);
}

void apiserver_shut(struct apiserver *a, bool is_shut)
{
    peer_shut(a->peer, is_shut);
}

unsigned apiserver_count(struct apiserver *a, const char *method, const char *part)
{
    unsigned n = 0;

    apiserver_lock(a);
    for (unsigned i = 0; i < a->n_seen; i++)
        n += (!method || strncmp(a->seen[i], method, strlen(method)) == 0) && strstr(a->seen[i], part);
    apiserver_unlock(a);
    return n;
}

unsigned apiserver_most(struct apiserver *a)
{
    unsigned most;

    apiserver_lock(a);
    most = a->most;
    apiserver_unlock(a);
    return most;
}
