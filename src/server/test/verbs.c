/* verbs.c - tests: an object of every kind is the same, whichever way it was created */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "proto/proto.h"
#include "api/test/shapes_base.h"
#include "api/types.h"
#include "json/json.h"
#include "server/server_internal.h"
#include "server/test/shapes_world.h"

#include <stdio.h>

static char sent[32768];

/* What the server would otherwise choose by chance. */
static const struct chosen {
    const char *kind, *key, *value;
} chosen[] = {
    { "Pod", "automountServiceAccountToken", "false" },
    { "Service", "clusterIP", "\"10.96.0.77\"" },
};

static struct json *new_object(struct arena *a, const struct resource_type *t)
{
    struct json *j, *meta = json_object(a);

    assert_int_equal(json_parse(a, str_of(shapes_base(t->kind)), NULL, &j, NULL), 0);
    json_remove(j, "regarding"); /* of the other kind of Event */
    json_set(j, "apiVersion", json_str(a, type_api_version(a, t)));
    json_set(j, "kind", json_str(a, str_of(t->kind)));
    json_set(j, "metadata", meta);
    json_set(meta, "name", json_str(a, STR("new")));
    for (size_t i = 0; i < ARRAY_LEN(chosen); i++)
        if (strcmp(chosen[i].kind, t->kind) == 0) {
            struct json *value;

            assert_int_equal(json_parse(a, str_of(chosen[i].value), NULL, &value, NULL), 0);
            json_set(json_get(j, "spec"), chosen[i].key, value);
        }
    return j;
}

/* Kubernetes' own types write a zero for a field that is not set, and omit empty lists. An object created as JSON keeps both as
 * they were sent. */
static void drop_zeros(struct json *j)
{
    for (struct json *v = j->first, *next; v; v = next) {
        next = v->next;
        if (json_is(v, JSON_OBJECT) || json_is(v, JSON_ARRAY))
            drop_zeros(v);
        if (json_is(j, JSON_OBJECT) && json_is_zero(v))
            json_unlink(j, v);
    }
}

/* Without what differs by time and by the way. NULL: the kind has no form for this way. */
static const char *created(struct shapes_world *w, struct arena *a, const struct resource_type *t, const char *media)
{
    static const char *const passing[] = { "managedFields", "uid", "creationTimestamp", "resourceVersion", NULL };
    struct json *j = new_object(a, t);
    bool applies = strstr(media, "apply");
    struct shapes_ask q = { .method = applies ? "PATCH" : "POST",
                            .path = shapes_path(t, applies ? "new" : NULL, NULL),
                            .query = applies ? "?fieldManager=m&dryRun=All" : "?dryRun=All",
                            .media = media };
    struct shapes_reply reply;
    autobuf body = { 0 }, text = { 0 };

    if (!strstr(media, "protobuf"))
        json_print(&body, j);
    else if (proto_encode(a, &body, j, NULL) < 0)
        return NULL;
    q.body = buf_view(&body);
    reply = shapes_ask(w, &q, sent, sizeof(sent));
    if (reply.code != 201 || json_parse(a, reply.body, NULL, &j, NULL) < 0)
        return arena_fmt(a, "%d %.*s", reply.code, STR_ARG(reply.body)).p;
    for (size_t i = 0; passing[i]; i++)
        json_remove(json_get(j, "metadata"), passing[i]);
    drop_zeros(j);
    json_sort_keys(j, true);
    json_print(&text, j);
    return arena_cstr(a, buf_view(&text));
}

static void is_the_same_by_every_verb(void **state)
{
    static const char *const ways[] = { "application/apply-patch+yaml", "application/vnd.kubernetes.protobuf" };
    struct shapes_world *w = shapes_world_new();
    size_t n_differ = 0;

    (void)state;
    for (size_t i = 0; i < n_resource_types; i++) {
        const struct resource_type *t = &resource_types[i];
        autoarena a = { 0 };
        const char *plain;

        /* A base has one CustomResourceDefinition, which is there; views are kept under another kind's names. */
        if (t->use != TYPE_STORED || view_stored(t) || strcmp(t->kind, "CustomResourceDefinition") == 0 ||
            !type_allows(t, VERB_CREATE) || !type_allows(t, VERB_PATCH))
            continue;
        plain = created(w, &a, t, "application/json");
        for (size_t k = 0; k < ARRAY_LEN(ways); k++) {
            const char *other = created(w, &a, t, ways[k]);

            if (other && strcmp(plain, other) != 0 && ++n_differ)
                printf("%s by %s:\n  %s\n  created as JSON:\n  %s\n", t->kind, ways[k], other, plain);
        }
    }
    shapes_world_free(w);
    assert_int_equal(n_differ, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(is_the_same_by_every_verb) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
