/* webhook_keys.c - the Secret with the certificate, and the configurations that must trust it
 *
 * Replicas race for both, and the API server decides: a write names the version it was made from, who comes too late
 * reads what the other wrote. So nothing here needs a leader.
 */
#include "api/meta.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "webhook/webhook_internal.h"

enum { AGAIN_MS = 3000, TRUST_MS = 10000 };

static int64_t webhook_keys_mono(void)
{
    return clock_mono_ms(&clock_real);
}

/* ---- the Secret ---- */

static const struct {
    const char *key;
    size_t offset;
} secret_fields[] = {
    { "ca.crt", offsetof(struct certificate_set, ca) },
    { "ca.key", offsetof(struct certificate_set, ca_key) },
    { "tls.crt", offsetof(struct certificate_set, cert) },
    { "tls.key", offsetof(struct certificate_set, key) },
};

static struct buf *webhook_keys_field_of(const struct certificate_set *set, size_t i)
{
    return (struct buf *)((char *)set + secret_fields[i].offset);
}

static void read_secret(const struct object *o, struct certificate_set *ret)
{
    const struct json *data = o ? json_get(o->root, "data") : NULL;

    for (size_t i = 0; i < ARRAY_LEN(secret_fields); i++)
        (void)buf_unbase64(webhook_keys_field_of(ret, i),
                           json_member_text(data, secret_fields[i].key)); /* seen when it is checked */
}

static struct json *secret_body(struct webhook *w, struct arena *a, const struct certificate_set *set)
{
    const struct object *old = w->keys.secret;
    struct json *body, *data;

    if (old)
        body = json_copy(a, old->root);
    else
        body = object_new(a, "v1", "Secret", buf_view(&w->namespace), buf_view(&w->service));
    if (!old)
        json_set(body, "type", json_str(a, STR("kubernetes.io/tls")));
    data = json_set(body, "data", json_object(a));
    for (size_t i = 0; i < ARRAY_LEN(secret_fields); i++) {
        autobuf coded = { 0 };

        buf_base64(&coded, buf_view(webhook_keys_field_of(set, i)));
        json_set(data, secret_fields[i].key, json_str(a, arena_str(a, buf_view(&coded))));
    }
    return body;
}

static void write_secret(struct webhook *w)
{
    struct webhook_keys *k = &w->keys;
    autoarena a = { 0 };
    autocertificates fresh = { .title = "pumice webhook" };
    struct op op = { .kind = k->secret ? OP_UPDATE : OP_CREATE,
                     .type = w->secret_type,
                     .namespace = buf_view(&w->namespace),
                     .name = buf_view(&w->service) };
    struct err e;

    k->again_ms = webhook_keys_mono() + AGAIN_MS;
    read_secret(k->secret, &fresh);
    if (certificate_make(&fresh, w->shared_names, clock_now_ms(&clock_real), w->life_ms, &e) < 0) {
        log_error("Failed to create webhook certificate", LOG_TEXT("error", e.text));
        return;
    }
    op.body = secret_body(w, &a, &fresh);
    k->token = cluster_write(w->door, &op);
}

static void take_secret(struct webhook *w, const struct object *o)
{
    struct webhook_keys *k = &w->keys;
    struct certificate_set fresh = { 0 };
    struct err e;

    if (o && k->secret && o->rev < k->secret->rev)
        return;
    object_unref(k->secret);
    k->secret = object_ref(o);
    read_secret(o, &fresh);
    if (o && certificate_check(&fresh, w->shared_names, &k->begin_ms, &k->end_ms, &e) == 0) {
        if (!k->is_good || !str_eq(buf_view(&fresh.cert), buf_view(&k->set.cert))) {
            certificate_set_done(&k->set);
            k->set = fresh;
            fresh = (struct certificate_set){ 0 };
            k->is_used = false;
            k->use_ms = 0;
            buf_reset(&k->bundle);
            buf_base64(&k->bundle, buf_view(&k->set.ca));
        }
        k->is_good = true;
    } else if (o) {
        log_warn("Replacing invalid webhook Secret", LOG_STR("secret", buf_view(&w->service)),
                 LOG_TEXT("error", e.text));
        k->is_good = false;
    }
    certificate_set_done(&fresh);
    k->is_good = k->is_good && o;
}

static bool webhook_keys_is_due(const struct webhook_keys *k)
{
    return !k->is_good || clock_now_ms(&clock_real) >= k->begin_ms + (k->end_ms - k->begin_ms) * 2 / 3;
}

/* ---- configurations ---- */

static struct webhook_config *config_of(struct webhook *w, const struct object *o)
{
    LIST_FOREACH(struct webhook_config, c, &w->keys.configs, link)
        if (c->object->type == o->type && str_eq(c->object->name, o->name))
            return c;
    return NULL;
}

static void config_free(struct webhook_config *c)
{
    list_remove(&c->link);
    object_unref(c->object);
    free(c);
}

/* Our role names the configurations that we may write. Another one with our label is its author's to keep. */
static void webhook_keys_take_config(struct webhook *w, const struct object *o)
{
    struct webhook_config *c = config_of(w, o);

    if (!str_starts(o->name, STR(WEBHOOK_CONFIG_NAMES)))
        return;
    if (!c) {
        c = xcalloc(1, sizeof(*c));
        list_push(&w->keys.configs, &c->link);
    } else if (o->rev < c->object->rev) {
        c->is_told = true;
        return;
    } else {
        object_unref(c->object);
    }
    c->object = object_ref(o);
    c->is_told = true;
}

/* One that names another service trusts another's certificate, whatever the label of its configuration says: Volcano's
 * have the same names, and who installs those over ours may leave our label on them. */
static bool is_our_hook(const struct webhook *w, const struct json *hook)
{
    const struct json *service = json_find(hook, "clientConfig", "service", NULL);

    return !service || (str_eq(json_member_text(service, "name"), buf_view(&w->service)) &&
                        str_eq(json_member_text(service, "namespace"), buf_view(&w->namespace)));
}

static bool is_trusting(const struct webhook *w, const struct object *o)
{
    JSON_FOREACH(hook, json_get(o->root, "webhooks"))
        if (is_our_hook(w, hook) &&
            !str_eq(json_member_text(json_get(hook, "clientConfig"), "caBundle"), buf_view(&w->keys.bundle)))
            return false;
    return true;
}

static void webhook_keys_write_config(struct webhook *w, struct webhook_config *c)
{
    autoarena a = { 0 };
    struct json *body = json_copy(&a, c->object->root);
    struct op op = { .kind = OP_UPDATE, .type = c->object->type, .name = c->object->name, .body = body };

    JSON_FOREACH(hook, json_get(body, "webhooks")) {
        struct json *client = json_need_object(&a, hook, "clientConfig");

        if (client && is_our_hook(w, hook))
            json_set(client, "caBundle", json_str(&a, buf_view(&w->keys.bundle)));
    }
    c->again_ms = webhook_keys_mono() + AGAIN_MS;
    c->token = cluster_write(w->door, &op);
}

/* True: all configurations trust our CA. */
static bool webhook_keys_publish(struct webhook *w)
{
    bool is_done = w->keys.configs_are_listed[0] && w->keys.configs_are_listed[1];

    LIST_FOREACH(struct webhook_config, c, &w->keys.configs, link) {
        if (is_trusting(w, c->object))
            continue;
        is_done = false;
        if (!c->token && webhook_keys_mono() >= c->again_ms)
            webhook_keys_write_config(w, c);
    }
    return is_done;
}

static struct str first_of(struct str certificates)
{
    static const char end[] = "-----END CERTIFICATE-----";
    const char *at = certificates.n ? memmem(certificates.p, certificates.n, end, strlen(end)) : NULL;

    return at ? str_sub(certificates, 0, (size_t)(at - certificates.p) + strlen(end)) : certificates;
}

/* A replica with an address of its own has a certificate of its own, by the CA that all share. Were its address in the
 * Secret, each replica would miss its own there and write the Secret anew. */
static int sign_own(struct webhook *w, struct buf *ret_cert, struct buf *ret_key, struct err *e)
{
    const struct webhook_keys *k = &w->keys;
    int64_t now_ms = clock_now_ms(&clock_real);
    struct certificate_spec spec = {
        .common_name = buf_view(&w->name), .names = w->names, .now_ms = now_ms, .life_ms = k->end_ms - now_ms
    };

    return certificate_sign(&k->set, &spec, ret_cert, ret_key, e);
}

static void webhook_keys_show(struct webhook *w)
{
    struct webhook_keys *k = &w->keys;
    struct http_server_tls tls = { buf_view(&k->set.cert), buf_view(&k->set.key), STR_NULL };
    autobuf end = { 0 }, cert = { 0 };
    autosecret key = { 0 };
    bool is_own = w->names[1];
    struct err e;
    int rc = is_own ? sign_own(w, &cert, &key, &e) : 0;

    if (is_own)
        tls = (struct http_server_tls){ buf_view(&cert), buf_view(&key), STR_NULL };
    if (rc < 0 || http_server_set_tls(w->server, &tls, &e) < 0) {
        log_error("Failed to serve webhook certificate", LOG_TEXT("error", e.text));
        k->is_good = false;
        return;
    }
    clock_print(&end, k->end_ms);
    log_info("Serving webhook certificate", LOG_STR("until", buf_view(&end)));
    k->is_used = k->was_used = true;
    buf_reset(&k->shown_ca);
    buf_str(&k->shown_ca, first_of(buf_view(&k->set.ca)));
}

/* Trust first, then the certificate: API servers hear of configurations one after the other. Where what is shown now is
 * trusted no longer (the Secret was deleted, and with it the CA), every moment counts instead. */
static void webhook_keys_adopt(struct webhook *w)
{
    struct webhook_keys *k = &w->keys;
    bool may_wait = k->was_used && str_has(buf_view(&k->set.ca), buf_view(&k->shown_ca));

    if (!webhook_keys_publish(w) || k->is_used)
        return;
    if (!k->use_ms)
        k->use_ms = webhook_keys_mono() + (may_wait ? MIN_OF((int64_t)TRUST_MS, w->life_ms / 20) : 0);
    if (webhook_keys_mono() >= k->use_ms)
        webhook_keys_show(w);
}

/* ---- news ---- */

static void end_list(struct webhook *w, size_t kind)
{
    LIST_FOREACH(struct webhook_config, c, &w->keys.configs, link)
        if (c->object->type == w->config_types[kind] && !c->is_told)
            config_free(c);
    w->keys.configs_are_listed[kind] = true;
}

static void take_config_event(struct webhook *w, const struct cluster_event *ev, size_t kind)
{
    struct webhook_config *c = ev->object ? config_of(w, ev->object) : NULL;

    if (ev->kind == CLUSTER_PUT) {
        webhook_keys_take_config(w, ev->object);
    } else if (ev->kind == CLUSTER_GONE && c) {
        config_free(c);
    } else if (ev->kind == CLUSTER_RELIST) {
        LIST_FOREACH(struct webhook_config, each, &w->keys.configs, link)
            each->is_told = each->is_told && each->object->type != ev->type;
    } else if (ev->kind == CLUSTER_SYNCED) {
        end_list(w, kind);
    }
}

static void take_result(struct webhook *w, const struct cluster_event *ev)
{
    struct webhook_keys *k = &w->keys;
    bool is_race = ev->err.code == ERR_CONFLICT || ev->err.code == ERR_EXISTS;
    bool is_ours = ev->token == k->token;

    if (is_ours)
        k->token = 0;
    LIST_FOREACH(struct webhook_config, c, &k->configs, link)
        if (ev->token == c->token) {
            c->token = 0;
            is_ours = true;
            if (ev->err.code == ERR_OK && ev->object)
                webhook_keys_take_config(w, ev->object);
        }
    if (!is_ours)
        return;
    if (ev->err.code == ERR_OK && ev->object && ev->object->type == w->secret_type)
        take_secret(w, ev->object);
    else if (ev->err.code != ERR_OK && !is_race)
        log_warn("Failed to write webhook configuration; retrying", LOG_TEXT("error", ev->err.text));
}

void keys_take(struct webhook *w, const struct cluster_event *ev)
{
    struct webhook_keys *k = &w->keys;

    if (ev->kind == CLUSTER_RESULT) {
        if (ev->token)
            take_result(w, ev);
        return;
    }
    for (size_t i = 0; i < WEBHOOK_KINDS; i++)
        if (ev->type == w->config_types[i])
            take_config_event(w, ev, i);
    if (ev->type != w->secret_type)
        return;
    if (ev->kind == CLUSTER_PUT)
        take_secret(w, ev->object);
    else if (ev->kind == CLUSTER_GONE && k->secret && ev->object->rev >= k->secret->rev)
        take_secret(w, NULL);
    k->is_listed = k->is_listed || ev->kind == CLUSTER_SYNCED;
}

int64_t keys_turn(struct webhook *w)
{
    struct webhook_keys *k = &w->keys;

    if (k->is_listed && !k->token && webhook_keys_mono() >= k->again_ms && webhook_keys_is_due(k))
        write_secret(w);
    if (k->is_good)
        webhook_keys_adopt(w);
    return k->is_used && !webhook_keys_is_due(k) ? MIN_OF((int64_t)60000, w->life_ms / 20) : 500;
}

void keys_init(struct webhook *w)
{
    list_init(&w->keys.configs);
}

void keys_done(struct webhook *w)
{
    LIST_FOREACH(struct webhook_config, c, &w->keys.configs, link)
        config_free(c);
    object_unref(w->keys.secret);
    certificate_set_done(&w->keys.set);
    buf_done(&w->keys.bundle);
    buf_done(&w->keys.shown_ca);
}
