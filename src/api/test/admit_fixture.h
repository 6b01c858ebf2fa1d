/* admit_fixture.h - for the admission tests: a base document, edits to it, and what must be said about the result
 *
 * An edit is "path: value" in YAML; the value "<gone>" removes the member. What is wanted is "path: words": one problem
 * must be at that path and contain those words. By default it is the only error; with a leading "W " it is a warning
 * and there is no error.
 */
#ifndef API_TEST_ADMIT_FIXTURE_H
#define API_TEST_ADMIT_FIXTURE_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "api/admit/admit.h"
#include "base/util.h"
#include "yaml/yaml.h"

#define EDITS_MAX 6

struct admit_row {
    const char *name;
    const char *edits[EDITS_MAX];
    const char *want;     /* NULL: no error */
    size_t n_errors;      /* 0: 1 if an error is wanted */
    const char *not_said; /* words that no problem may contain; NULL: any */
};

static struct arena arena;

static inline int forget(void **state)
{
    (void)state;
    arena_done(&arena);
    return 0;
}

static inline struct json *doc(const char *yaml)
{
    struct yaml_docs docs = { 0 };
    struct err e = { 0 };

    if (yaml_parse(&arena, str_of(yaml), NULL, &docs, &e) < 0 || docs.n != 1)
        fail_msg("bad document in the test: %s\n%s", e.text, yaml);
    return docs.v[0];
}

/* Where the last step of a path begins: "spec.tasks[0]" → at "[0]", "spec.queue" → at ".queue". */
static inline size_t last_step(struct str path)
{
    size_t at = path.n;

    if (path.n && path.p[path.n - 1] == ']')
        return (size_t)str_rfind_char(path, '[');
    while (at > 0 && path.p[at - 1] != '.')
        at--;
    return at ? at - 1 : 0;
}

static inline void edit(struct json *root, const char *text)
{
    struct str all = str_of(text), path, key, up_path;
    const char *colon = strstr(text, ": ");
    struct json *up = root, *value;
    struct err e = { 0 };
    size_t at;
    int64_t index;

    assert_non_null(colon);
    path = str_sub(all, 0, (size_t)(colon - text));
    at = last_step(path);
    up_path = str_sub(path, 0, at);
    key = str_from(path, at);
    if (key.n && key.p[0] == '[')
        key = str_sub(key, 1, key.n - 2);
    else if (key.n && key.p[0] == '.')
        key = str_from(key, 1);
    if (up_path.n && !(up = json_path(root, up_path, &e)))
        fail_msg("edit \"%s\": %s", text, e.text);
    if (strcmp(colon + 2, "<gone>") == 0) {
        json_remove_key(up, key);
        return;
    }
    value = doc(arena_cstr(&arena, str_from(all, (size_t)(colon - text) + 2)));
    if (json_is(up, JSON_OBJECT))
        json_set_key(up, arena_str(&arena, key), value);
    else if (str_to_i64(key, &index) == 0 && json_at(up, (size_t)index))
        json_replace(up, json_at(up, (size_t)index), value);
    else
        json_push(up, value);
}

static inline void dump(const char *row, const struct problems *ps)
{
    VEC_FOREACH(p, &ps->list)
        print_error("%s: %s %.*s: %.*s\n", row, p->level == PROBLEM_ERROR ? "error" : "warning", STR_ARG(p->path),
                    STR_ARG(p->text));
}

static inline bool said(const struct problems *ps, const char *want)
{
    enum problem_level level = strncmp(want, "W ", 2) == 0 ? PROBLEM_WARNING : PROBLEM_ERROR;
    struct str text = str_of(level == PROBLEM_WARNING ? want + 2 : want), path;
    const char *colon = strstr(text.p, ": ");

    assert_non_null(colon);
    path = str_sub(text, 0, (size_t)(colon - text.p));
    VEC_FOREACH(p, &ps->list)
        if (p->level == level && str_eq(p->path, path) && str_has(p->text, str_of(colon + 2)))
            return true;
    return false;
}

static inline bool never_said(const struct problems *ps, const char *words)
{
    VEC_FOREACH(p, &ps->list)
        if (words && str_has(p->text, str_of(words)))
            return false;
    return true;
}

/* Is this what the row wants? If not, say so. */
static inline bool row_holds(const struct admit_row *row, const struct problems *ps)
{
    bool wants_error = row->want && strncmp(row->want, "W ", 2) != 0;
    size_t n_errors = row->n_errors ? row->n_errors : wants_error;

    if (ps->n_errors == n_errors && (!row->want || said(ps, row->want)) && never_said(ps, row->not_said))
        return true;
    print_error("%s: wanted %zu errors, \"%s\"; got %zu:\n", row->name, n_errors, row->want ? row->want : "",
                ps->n_errors);
    dump(row->name, ps);
    return false;
}

static inline struct json *edited(const char *base, const struct admit_row *row)
{
    struct json *root = doc(base);

    for (size_t i = 0; i < EDITS_MAX && row->edits[i]; i++)
        edit(root, row->edits[i]);
    return root;
}

static inline struct str printed(const struct json *j)
{
    autobuf out = { 0 };

    json_print(&out, j);
    return arena_str(&arena, buf_view(&out));
}

/* ---- a cluster ---- */

struct fake_cluster {
    struct json *queues, *namespaces; /* lists */
};

static inline const struct json *fake_find(const struct json *list, struct str name)
{
    JSON_FOREACH(item, list)
        if (str_eq(json_member_text(json_get(item, "metadata"), "name"), name))
            return item;
    return NULL;
}

static inline const struct json *fake_queue(void *ctx, struct str name)
{
    return fake_find(((struct fake_cluster *)ctx)->queues, name);
}

static inline const struct json *fake_namespace(void *ctx, struct str name)
{
    return fake_find(((struct fake_cluster *)ctx)->namespaces, name);
}

static inline void fake_each(void *ctx, void (*each)(void *arg, const struct json *queue), void *arg)
{
    JSON_FOREACH(item, ((struct fake_cluster *)ctx)->queues)
        each(arg, item);
}

static inline struct admit_env fake_env(struct fake_cluster *cluster)
{
    return (struct admit_env){
        .ctx = cluster, .find_queue = fake_queue, .each_queue = fake_each, .find_namespace = fake_namespace, .mark = 5
    };
}

#endif
