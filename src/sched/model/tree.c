/* tree.c - copies and hashes of JSON */
#include "sched/model/tree.h"

#include "base/util.h"
#include "sched/model/model.h"

static struct json *model_tree_keep(struct arena *a, const struct json *j)
{
    struct json *copy = arena_new(a, struct json);

    copy->type = j->type;
    copy->n = j->type >= JSON_ARRAY ? 0 : j->n;
    if (j->type == JSON_STRING || j->type == JSON_NUMBER)
        copy->text = arena_str(a, (struct str){ j->text, j->n }).p;
    JSON_FOREACH(child, j) {
        if (j->type == JSON_OBJECT)
            json_add(copy, arena_str(a, json_key(child)), model_tree_keep(a, child));
        else
            json_push(copy, model_tree_keep(a, child));
    }
    return copy;
}

struct json *tree_keep(struct arena *a, const struct json *j, enum json_type type)
{
    return json_is(j, type) ? model_tree_keep(a, j) : NULL;
}

uint64_t hash_mix(uint64_t h, uint64_t more)
{
    h = (h ^ more) * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ h >> 32;
}

uint64_t hash_text(uint64_t h, struct str text)
{
    return hash_mix(h, str_hash(text, 0x5eed));
}

/* Times and ids of transitions change without anything having changed. */
static const char *const no_news[] = { "lastTransitionTime", "transitionID", "lastProbeTime", NULL };

static bool tree_is_in(const char *const *list, struct str key)
{
    for (; list && *list; list++)
        if (str_is(key, *list))
            return true;
    return false;
}

/* Go leaves out what is zero or empty, we do not always: it says the same. */
static bool says_nothing(const struct json *j)
{
    switch ((enum json_type)j->type) {
    case JSON_NUMBER:
    case JSON_STRING: /* "0" is a quantity */
        return j->n == 0 || (j->n == 1 && j->text[0] == '0');
    case JSON_ARRAY:
    case JSON_OBJECT:
        return json_count(j) == 0;
    default:
        return j->type == JSON_NULL;
    }
}

/* 'deep': members left out at every level, and with them those that say nothing. */
static uint64_t hash(const struct json *j, const char *const *skip, const char *const *deep)
{
    uint64_t h = hash_mix(1, j ? j->type : JSON_NULL), sum = 0;

    if (!j)
        return h;
    switch ((enum json_type)j->type) {
    case JSON_BOOL:
        return hash_mix(h, j->n);
    case JSON_NUMBER:
    case JSON_STRING:
        return hash_text(h, (struct str){ j->text, j->n });
    case JSON_ARRAY:
        JSON_FOREACH(child, j)
            h = hash_mix(h, hash(child, NULL, deep));
        return h;
    case JSON_OBJECT:
        JSON_FOREACH(child, j) /* a sum, so that the order of the members does not matter */
            if (!tree_is_in(skip, json_key(child)) &&
                !(deep && (tree_is_in(deep, json_key(child)) || says_nothing(child))))
                sum += hash_mix(hash_text(2, json_key(child)), hash(child, NULL, deep));
        return hash_mix(h, sum);
    default:
        return h;
    }
}

uint64_t tree_hash(const struct json *j, const char *const *skip)
{
    uint64_t h = hash(j, skip, NULL);

    return h ? h : 1;
}

uint64_t hash_of_status(const struct json *status)
{
    uint64_t h = status ? hash(status, NULL, no_news) : 0;

    return status && !h ? 1 : h;
}

uint64_t hash_of_condition(struct str status, struct str reason, struct str message)
{
    uint64_t h = hash_text(hash_text(hash_text(3, status), reason), message);

    return h ? h : 1;
}

void text_pack(char **mem, struct str *const list[], size_t n)
{
    size_t size = 0;
    char *text, *at;

    for (size_t i = 0; i < n; i++)
        size += list[i]->n;
    at = text = xmalloc(size + 1);
    for (size_t i = 0; i < n; i++) {
        if (list[i]->n)
            memcpy(at, list[i]->p, list[i]->n);
        list[i]->p = at;
        at += list[i]->n;
    }
    *at = '\0';
    free(*mem); /* after the copy: the list may point into it */
    *mem = text;
}

struct json *labels_json(struct arena *a, struct str text)
{
    struct json *j = json_object(a);
    struct str line, key;

    while (str_split(&text, '\n', &line))
        if (str_split(&line, '=', &key) && !str_empty(key))
            json_add(j, key, json_str(a, line));
    return j;
}
