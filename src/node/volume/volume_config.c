/* volume_config.c - the files of a configMap, secret, downwardAPI or projected volume; writes nothing */
#include "node/volume/volume_internal.h"

#include "api/name.h"
#include "node/env/downward.h"

enum { MODE_DEFAULT = 0644, TOKEN_SECONDS_DEFAULT = 3600 };

struct collect {
    const struct volume_call *call;
    struct volume_files *files;
    mode_t mode; /* defaultMode */
};

typedef int (*collect_f)(struct collect *c, const struct json *spec, struct err *e);

/* ---- one file ---- */

static int volume_config_read_mode(const struct json *j, mode_t fallback, mode_t *ret, struct err *e)
{
    int64_t mode;

    *ret = fallback;
    if (!j || j->type == JSON_NULL)
        return 0;
    if (json_to_i64(j, &mode) < 0 || mode < 0 || mode > 0777)
        return err_set(e, ERR_INVALID, "mode must be a number from 0 to 0777 (decimal 511)");
    *ret = (mode_t)mode;
    return 0;
}

static int volume_config_add_file(struct collect *c, struct str path, struct str data, mode_t mode, struct err *e)
{
    struct volume_files *files = c->files;
    struct str clean;

    if (volume_path_clean(files->arena, path, &clean, e) < 0)
        return -1;
    if (str_starts(clean, STR(".."))) /* reserved: ..data and similar */
        return err_set(e, ERR_INVALID, "path \"%.*s\" must not begin with \"..\"", STR_ARG(path));
    files->n_bytes += clean.n + data.n + 64;
    if (files->n_bytes > VOLUME_FILES_MAX_BYTES)
        return err_set(e, ERR_TOO_BIG, "files are larger than %d MiB", VOLUME_FILES_MAX_BYTES >> 20);
    *vec_push(files->arena, &files->list) = (struct volume_file){ clean, data, mode };
    return 0;
}

/* ---- ConfigMap and Secret ---- */

struct object_kind {
    const char *kind, *word; /* kind in the API; word in messages */
    struct {
        const char *member;
        bool is_base64;
    } maps[2]; /* the later one wins, as the API server merges stringData into data */
};

static const struct object_kind config_map = { "ConfigMap",
                                               "configmap",
                                               { { "data", false }, { "binaryData", true } } };
static const struct object_kind secret = { "Secret", "secret", { { "data", true }, { "stringData", false } } };

/* Line breaks are allowed: people paste the output of base64. */
static int decode_base64(struct arena *a, struct str text, struct str *ret)
{
    autobuf plain = { 0 };
    autobuf out = { 0 };

    for (size_t i = 0; i < text.n; i++)
        if (text.p[i] != '\n' && text.p[i] != '\r')
            buf_char(&plain, text.p[i]);
    if (plain.n && buf_unbase64(&out, buf_view(&plain)) < 0)
        return -1;
    *ret = arena_str(a, buf_view(&out));
    return 0;
}

struct source_key {
    struct str key;
    const struct json *value;
    unsigned map; /* of kind->maps */
};

struct object_keys { /* sorted, without duplicates: an object and a list of items may both be long */
    const struct object_kind *kind;
    struct source_key *v;
    size_t n;
};

static int object_key_cmp(const void *x, const void *y)
{
    const struct source_key *a = x, *b = y;
    int cmp = str_cmp(a->key, b->key);

    return cmp ? cmp : (a->map > b->map) - (a->map < b->map);
}

static struct object_keys object_keys(struct arena *a, const struct object_kind *kind, const struct json *object)
{
    const struct json *maps[] = { json_get(object, kind->maps[0].member), json_get(object, kind->maps[1].member) };
    struct object_keys keys = { kind, arena_array(a, struct source_key, json_count(maps[0]) + json_count(maps[1])), 0 };
    size_t n = 0;

    for (unsigned i = 0; i < ARRAY_LEN(maps); i++)
        JSON_FOREACH(value, maps[i])
            if (value->key)
                keys.v[n++] = (struct source_key){ json_key(value), value, i };
    if (n)
        qsort(keys.v, n, sizeof(*keys.v), object_key_cmp);
    for (size_t i = 0; i < n; i++)
        if (i + 1 == n || !str_eq(keys.v[i].key, keys.v[i + 1].key))
            keys.v[keys.n++] = keys.v[i];
    return keys;
}

static const struct source_key *object_keys_find(const struct object_keys *keys, struct str key)
{
    size_t lo = 0, hi = keys->n;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (str_cmp(keys->v[mid].key, key) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < keys->n && str_eq(keys->v[lo].key, key) ? &keys->v[lo] : NULL;
}

static int key_bytes(struct arena *a, const struct object_kind *kind, const struct source_key *key, struct str *ret,
                     struct err *e)
{
    *ret = STR("");
    if (key->value->type == JSON_NULL)
        return 0;
    if (key->value->type != JSON_STRING)
        return err_set(e, ERR_INVALID, "value must be a string, not a %s", json_type_name(key->value->type));
    *ret = json_text(key->value, STR(""));
    if (kind->maps[key->map].is_base64 && decode_base64(a, *ret, ret) < 0)
        return err_set(e, ERR_INVALID, "value is not valid base64");
    return 0;
}

static int volume_config_add_key(struct collect *c, const struct object_kind *kind, const struct source_key *key,
                                 struct err *e)
{
    const char *problem = name_check_config_key(c->files->arena, key->key);
    struct str data;

    if (problem)
        return err_set(e, ERR_INVALID, "%s", problem);
    if (key_bytes(c->files->arena, kind, key, &data, e) < 0)
        return -1;
    return volume_config_add_file(c, key->key, data, c->mode, e);
}

static int add_all_keys(struct collect *c, const struct object_keys *keys, struct err *e)
{
    for (size_t i = 0; i < keys->n; i++)
        if (volume_config_add_key(c, keys->kind, &keys->v[i], e) < 0)
            return err_wrap(e, "key \"%.*s\"", STR_ARG(keys->v[i].key));
    return 0;
}

static int volume_config_add_item(struct collect *c, const struct object_keys *keys, const struct json *item,
                                  bool is_optional, struct err *e)
{
    const struct source_key *key = object_keys_find(keys, json_member_text(item, "key"));
    struct str data;
    mode_t mode;

    if (volume_config_read_mode(json_get(item, "mode"), c->mode, &mode, e) < 0)
        return -1;
    if (!key && is_optional) {
        c->files->lacks_optional = true;
        return 0;
    }
    if (!key)
        return err_set(e, ERR_NOT_FOUND, "no such key");
    if (key_bytes(c->files->arena, keys->kind, key, &data, e) < 0)
        return -1;
    return volume_config_add_file(c, json_member_text(item, "path"), data, mode, e);
}

static int add_keys(struct collect *c, const struct object_kind *kind, const struct json *object,
                    const struct json *spec, struct err *e)
{
    struct object_keys keys = object_keys(c->files->arena, kind, object);
    const struct json *items = json_get(spec, "items");

    if (json_count(items) == 0)
        return add_all_keys(c, &keys, e);
    JSON_FOREACH(item, items)
        if (volume_config_add_item(c, &keys, item, json_bool(json_get(spec, "optional"), false), e) < 0)
            return err_wrap(e, "key \"%.*s\"", STR_ARG(json_member_text(item, "key")));
    return 0;
}

static int volume_config_add_object(struct collect *c, const struct object_kind *kind, struct str name,
                                    const struct json *spec, struct err *e)
{
    const struct volume_source *source = c->call->source;
    const struct json *object = source->find ? source->find(source->ctx, kind->kind, name) : NULL;

    if (!object && json_bool(json_get(spec, "optional"), false)) {
        c->files->lacks_optional = true;
        return 0;
    }
    if (!object)
        return err_set(e, ERR_NOT_FOUND, "%s \"%.*s\" not found", kind->word, STR_ARG(name));
    if (add_keys(c, kind, object, spec, e) < 0)
        return err_wrap(e, "%s \"%.*s\"", kind->word, STR_ARG(name));
    return 0;
}

static int collect_config_map(struct collect *c, const struct json *spec, struct err *e)
{
    return volume_config_add_object(c, &config_map, json_member_text(spec, "name"), spec, e);
}

static int collect_secret(struct collect *c, const struct json *spec, struct err *e)
{
    return volume_config_add_object(c, &secret, json_member_text(spec, "secretName"), spec, e);
}

static int collect_projected_secret(struct collect *c, const struct json *spec, struct err *e)
{
    return volume_config_add_object(c, &secret, json_member_text(spec, "name"), spec, e);
}

/* ---- downwardAPI ---- */

static int downward_value(struct collect *c, const struct json *item, struct str *ret, struct err *e)
{
    const struct json *field = json_get(item, "fieldRef"), *resource = json_get(item, "resourceFieldRef");
    struct arena *a = c->files->arena;

    if (json_is(field, JSON_OBJECT))
        return downward_field(a, c->call->pod, json_member_text(field, "fieldPath"), ret, e);
    if (json_is(resource, JSON_OBJECT))
        return downward_resource(a,
                                 &(struct downward){ .pod = c->call->pod, .allocatable = c->call->source->allocatable },
                                 resource, ret, e);
    return err_set(e, ERR_INVALID, "fieldRef or resourceFieldRef is required");
}

static int add_downward(struct collect *c, const struct json *item, struct err *e)
{
    struct str data;
    mode_t mode;

    if (volume_config_read_mode(json_get(item, "mode"), c->mode, &mode, e) < 0 || downward_value(c, item, &data, e) < 0)
        return -1;
    return volume_config_add_file(c, json_member_text(item, "path"), data, mode, e);
}

static int collect_downward(struct collect *c, const struct json *spec, struct err *e)
{
    JSON_FOREACH(item, json_get(spec, "items"))
        if (add_downward(c, item, e) < 0)
            return err_wrap(e, "downwardAPI file \"%.*s\"", STR_ARG(json_member_text(item, "path")));
    return 0;
}

/* ---- projected ---- */

static int collect_token(struct collect *c, const struct json *spec, struct err *e)
{
    const struct volume_source *source = c->call->source;
    int64_t seconds = json_i64(json_get(spec, "expirationSeconds"), TOKEN_SECONDS_DEFAULT);
    autobuf token = { 0 };

    if (!source->token)
        return err_set(e, ERR_INVALID, "serviceAccountToken: not supported on this node");
    if (source->token(source->ctx, json_member_text(spec, "audience"), seconds, &token, e) < 0)
        return err_wrap(e, "serviceAccountToken");
    if (volume_config_add_file(c, json_member_text(spec, "path"), arena_str(c->files->arena, buf_view(&token)), c->mode,
                               e) < 0)
        return err_wrap(e, "serviceAccountToken");
    return 0;
}

static const struct {
    const char *member;
    collect_f collect;
} projections[] = {
    { "configMap", collect_config_map },
    { "secret", collect_projected_secret },
    { "downwardAPI", collect_downward },
    { "serviceAccountToken", collect_token },
};

static int collect_projection(struct collect *c, const struct json *source, struct err *e)
{
    JSON_FOREACH(member, source) {
        collect_f collect = NULL;

        if (!member->key || member->type == JSON_NULL)
            continue;
        for (size_t i = 0; i < ARRAY_LEN(projections); i++)
            if (str_is(json_key(member), projections[i].member))
                collect = projections[i].collect;
        if (!collect)
            return err_set(e, ERR_INVALID, "a %.*s source is not supported on this node", STR_ARG(json_key(member)));
        if (collect(c, member, e) < 0)
            return -1;
    }
    return 0;
}

static int collect_projected(struct collect *c, const struct json *spec, struct err *e)
{
    JSON_FOREACH(source, json_get(spec, "sources"))
        if (collect_projection(c, source, e) < 0)
            return -1;
    return 0;
}

/* ---- a whole volume ---- */

static const struct {
    const char *member;
    collect_f collect;
} kinds[] = {
    { "configMap", collect_config_map },
    { "secret", collect_secret },
    { "downwardAPI", collect_downward },
    { "projected", collect_projected },
};

struct ordered { /* qsort is not stable */
    struct volume_file file;
    size_t at;
};

static int ordered_cmp(const void *x, const void *y)
{
    const struct ordered *a = x, *b = y;
    int cmp = volume_path_cmp(a->file.path, b->file.path);

    return cmp ? cmp : (a->at > b->at) - (a->at < b->at);
}

/* Sort, keep the last of equal paths, and refuse a file that is also a directory. */
static int volume_config_settle(struct volume_files *files, struct err *e)
{
    struct ordered *all = arena_array(files->arena, struct ordered, files->list.n);
    size_t n = files->list.n;

    for (size_t i = 0; i < n; i++)
        all[i] = (struct ordered){ files->list.v[i], i };
    qsort(all, n, sizeof(*all), ordered_cmp);
    files->list.n = 0;
    for (size_t i = 0; i < n; i++) {
        if (i + 1 < n && str_eq(all[i].file.path, all[i + 1].file.path))
            continue;
        if (i + 1 < n && path_is_below(all[i + 1].file.path, all[i].file.path))
            return err_set(e, ERR_INVALID, "\"%.*s\" cannot be both a file and the directory of \"%.*s\"",
                           STR_ARG(all[i].file.path), STR_ARG(all[i + 1].file.path));
        files->list.v[files->list.n++] = all[i].file;
    }
    return 0;
}

int volume_files_of(const struct volume_call *call, const char *member, const struct json *spec,
                    struct volume_files *ret, struct err *e)
{
    struct collect c = { .call = call, .files = ret };

    *ret = (struct volume_files){ .arena = call->arena };
    if (volume_config_read_mode(json_get(spec, "defaultMode"), MODE_DEFAULT, &c.mode, e) < 0)
        return err_wrap(e, "defaultMode");
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (strcmp(member, kinds[i].member) == 0 && kinds[i].collect(&c, spec, e) < 0)
            return -1;
    return volume_config_settle(ret, e);
}
