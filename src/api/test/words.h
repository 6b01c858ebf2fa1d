/* words.h - for tests: the rows of tests/words/volcano.yaml, which says what they mean
 *
 * Rows are read in order: words_open(), then words_next() until it is false.
 */
#ifndef API_TEST_WORDS_H
#define API_TEST_WORDS_H

#include "json/patch.h"
#include "os/test/testing.h"
#include "yaml/yaml.h"

#include <fcntl.h>

struct words {
    struct arena arena;
    const struct json *table, *next; /* the whole file; the row to come */
};

struct words_row {
    const char *kind;
    struct json *object, *old; /* object NULL: old is deleted; old NULL: object is new */
    const struct json *says;   /* a text or a list of them */
};

static inline void words_open(struct words *w)
{
    struct str text = file_text(&w->arena, AT_FDCWD, SOURCE_ROOT "/tests/words/volcano.yaml", 1 << 20);
    struct yaml_docs docs = { 0 };
    struct err e = { 0 };

    if (yaml_parse(&w->arena, text, NULL, &docs, &e) < 0 || docs.n != 1)
        fail_msg("volcano.yaml: %s", e.text);
    w->table = docs.v[0];
    w->next = json_first(json_get(w->table, "rows"));
    assert_non_null(w->next);
}

static inline bool words_next(struct words *w, struct words_row *ret)
{
    const struct json *row = w->next, *base, *old, *change;
    struct str kind = json_member_text(row, "kind"), deleted = json_member_text(row, "delete");

    if (!row)
        return false;
    w->next = row->next;
    base = json_get_str(json_get(w->table, "bases"), kind);
    old = json_get(row, "old");
    change = json_get(row, "change");
    assert_non_null(base);
    *ret = (struct words_row){ .kind = arena_cstr(&w->arena, kind), .says = json_get(row, "says") };
    if (deleted.n) {
        ret->old = json_copy(&w->arena, base);
        json_set(json_get(ret->old, "metadata"), "name", json_str(&w->arena, deleted));
        return true;
    }
    ret->object = json_merge_patch(&w->arena, base, change);
    if (old)
        ret->old = json_merge_patch(&w->arena, base, old);
    return true;
}

/* Fails the test unless 'message' has all the words. */
static inline void words_check(const struct words_row *row, struct str message)
{
    const struct json *says = json_is(row->says, JSON_ARRAY) ? json_first(row->says) : row->says;

    for (; says; says = json_is(row->says, JSON_ARRAY) ? says->next : NULL)
        if (!json_text(says, STR_NULL).n || !str_has(message, json_text(says, STR_NULL)))
            fail_msg("%s: no \"%.*s\" in \"%.*s\"", row->kind, STR_ARG(json_text(says, STR_NULL)), STR_ARG(message));
}

#endif
