/* admission_config.c - ConfigMaps and Secrets: their keys, how much they hold, and what a type promises */
#include "server/server_internal.h"

#include "json/members.h"

#include "api/name.h"

#include <openssl/crypto.h>

enum { DATA_MAX = 1 << 20 };

static void check_size(struct json *object, struct problems *ps)
{
    static const char *const members[] = { "data", "binaryData" };
    struct place root = { .node = object };
    size_t n = 0;

    for (size_t i = 0; i < ARRAY_LEN(members); i++)
        JSON_FOREACH(value, json_get(object, members[i]))
            n += json_text(value, STR_NULL).n;
    if (n > DATA_MAX)
        problem_error(ps, &root, "Too long: may not be more than %d bytes", DATA_MAX);
}

static void admission_config_check_keys(struct arena *a, struct json *object, const char *member, struct problems *ps)
{
    struct place root = { .node = object }, at = place_member(&root, member);

    JSON_FOREACH(value, at.node) {
        const char *wrong = name_check_config_key(a, json_key(value));

        if (wrong)
            problem_error(ps, &at, "%s", wrong);
    }
}

/* Immutable data cannot change, nor can 'immutable' be unset. */
static void check_immutable(struct json *object, const struct object *old, struct problems *ps)
{
    static const char *const members[] = { "data", "binaryData" };
    struct place root = { .node = object }, word = place_member(&root, "immutable");

    if (!old || !json_bool(json_get(old->root, "immutable"), false))
        return;
    if (!json_bool(word.node, false))
        problem_of(ps, PROBLEM_FORBIDDEN, &word, "field is immutable when `immutable` is set");
    for (size_t i = 0; i < ARRAY_LEN(members); i++) {
        struct place at = place_member(&root, members[i]);

        if (!json_equal(at.node, json_get(old->root, members[i])))
            problem_of(ps, PROBLEM_FORBIDDEN, &at, "field is immutable when `immutable` is set");
    }
}

/* A file of a volume has one content. */
static void check_twice(struct json *object, struct problems *ps)
{
    struct place root = { .node = object }, at = place_member(&root, "data");
    autojson_members binary;

    json_members_init(&binary, json_get(object, "binaryData"), json_count(at.node));
    JSON_FOREACH(value, at.node)
        if (json_members_get(&binary, json_key(value)))
            problem_error(ps, &at, "key \"%.*s\": is in binaryData too", STR_ARG(json_key(value)));
}

void admit_config_write(struct server_request *rq, struct json *object, const struct object *old, struct problems *ps)
{
    check_plain(rq, object, NULL, ps);
    admission_config_check_keys(rq->arena, object, "data", ps);
    admission_config_check_keys(rq->arena, object, "binaryData", ps);
    check_twice(object, ps);
    check_size(object, ps);
    check_immutable(object, old, ps);
}

/* stringData is for those who write: it is kept as data. */
static void fold_text(struct arena *a, struct json *object)
{
    const struct json *texts = json_get(object, "stringData");
    struct json *data, *folded = json_object(a);

    if (!json_is(texts, JSON_OBJECT) || !(data = json_need_object(a, object, "data")))
        return;
    JSON_FOREACH(text, texts) {
        autobuf coded = { 0 };

        buf_base64(&coded, json_text(text, STR_NULL));
        json_add(folded, json_key(text), json_str(a, arena_str(a, buf_view(&coded))));
    }
    json_add_missing(a, folded, data); /* what both have is as stringData says */
    json_sort_keys(folded, false);
    json_set(object, "data", folded);
    json_remove(object, "stringData");
}

/* Secrets of a type that others read have what those look for, and stay of it. */
static void check_type(struct json *object, const struct object *old, struct problems *ps)
{
    static const struct {
        const char *type, *key;
    } rows[] = { { "kubernetes.io/tls", "tls.crt" },
                 { "kubernetes.io/tls", "tls.key" },
                 { "kubernetes.io/dockerconfigjson", ".dockerconfigjson" },
                 { "kubernetes.io/dockercfg", ".dockercfg" },
                 { "kubernetes.io/ssh-auth", "ssh-privatekey" } };
    struct place root = { .node = object }, type = place_member(&root, "type"), data = place_member(&root, "data");
    struct str text = json_text(type.node, STR_NULL);

    if (old && !str_eq(text, json_member_text(old->root, "type")))
        problem_error(ps, &type, "\"%.*s\": field is immutable", STR_ARG(text));
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (str_is(text, rows[i].type) && !json_get(data.node, rows[i].key))
            problem_of(ps, PROBLEM_REQUIRED, &data, "a Secret of type %s has the key %s", rows[i].type, rows[i].key);
    if (str_is(text, "kubernetes.io/basic-auth") && !json_get(data.node, "username") &&
        !json_get(data.node, "password"))
        problem_of(ps, PROBLEM_REQUIRED, &data, "a Secret of this type has the key username, password, or both");
}

/* Logins to registries must be JSON. */
static void check_logins(struct arena *a, struct json *object, struct problems *ps)
{
    struct place root = { .node = object }, data = place_member(&root, "data");
    const struct json *coded = str_is(json_member_text(object, "type"), "kubernetes.io/dockerconfigjson")
                                   ? json_get(data.node, ".dockerconfigjson")
                                   : NULL;
    autobuf bytes = { 0 };
    struct json *parsed;

    if (coded && buf_unbase64(&bytes, json_text(coded, STR_NULL)) == 0 &&
        json_parse(a, buf_view(&bytes), NULL, &parsed, NULL) < 0)
        problem_error(ps, &data, "key \".dockerconfigjson\": must be JSON");
    if (bytes.n)
        OPENSSL_cleanse(bytes.p, bytes.n);
}

/* No token is written into it here: it names the account that one was created for. */
static void check_account(struct json *object, struct problems *ps)
{
    struct place root = { .node = object }, meta = place_member(&root, "metadata"),
                 annotations = place_member(&meta, "annotations");

    if (str_is(json_member_text(object, "type"), "kubernetes.io/service-account-token") &&
        !json_member_text(annotations.node, "kubernetes.io/service-account.name").n)
        problem_of(ps, PROBLEM_REQUIRED, &annotations, "kubernetes.io/service-account.name");
}

void admit_secret_write(struct server_request *rq, struct json *object, const struct object *old, struct problems *ps)
{
    struct place root = { .node = object }, data;

    fold_text(rq->arena, object);
    if (!json_member_text(object, "type").n)
        json_set(object, "type", json_str(rq->arena, STR("Opaque")));
    check_plain(rq, object, NULL, ps);
    admission_config_check_keys(rq->arena, object, "data", ps);
    data = place_member(&root, "data");
    JSON_FOREACH(value, data.node) {
        autobuf bytes = { 0 };

        if (json_is(value, JSON_STRING) && buf_unbase64(&bytes, json_text(value, STR_NULL)) < 0)
            problem_error(ps, &data, "key \"%.*s\": must be base64 (or write it into stringData)",
                          STR_ARG(json_key(value)));
        if (bytes.n)
            OPENSSL_cleanse(bytes.p, bytes.n);
    }
    check_type(object, old, ps);
    check_account(object, ps);
    check_logins(rq->arena, object, ps);
    check_size(object, ps);
    check_immutable(object, old, ps);
}
