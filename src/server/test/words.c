/* words.c - tests: the server refuses in Volcano's words what Volcano refuses (tests/words/volcano.yaml) */
#include "api/test/words.h"
#include "api/types.h"
#include "server/test/shapes_world.h"

static char sent[32768];

static struct shapes_reply ask(struct shapes_world *world, const char *method, const char *path,
                               const struct json *body)
{
    struct shapes_ask q = { .method = method, .path = path, .query = "" };
    autobuf text = { 0 };

    if (body) {
        json_print(&text, body);
        q.media = strcmp(method, "PATCH") == 0 ? "application/merge-patch+json" : "application/json";
        q.body = buf_view(&text);
    }
    return shapes_ask(world, &q, sent, sizeof(sent));
}

static void must(struct shapes_reply reply)
{
    if (reply.code != 200 && reply.code != 201)
        fail_msg("%d: %.*s\n%s", reply.code, STR_ARG(reply.body), sent);
}

static const struct resource_type *type_of(const struct json *object)
{
    return type_by_kind(json_member_text(object, "apiVersion"), json_member_text(object, "kind"));
}

static const char *name_of(struct words *w, const struct json *object)
{
    return arena_cstr(&w->arena, json_member_text(json_get(object, "metadata"), "name"));
}

static void set_up(struct words *w, struct shapes_world *world)
{
    const struct json *base = json_find(w->table, "bases", "Queue", NULL);
    const struct resource_type *type = type_of(base);

    JSON_FOREACH(queue, json_get(w->table, "queues")) {
        struct json *whole = json_merge_patch(&w->arena, base, queue);

        must(ask(world, "POST", shapes_path(type, NULL, NULL), whole));
        if (json_get(whole, "status"))
            must(ask(world, "PATCH", shapes_path(type, name_of(w, whole), "status"), whole));
    }
}

static struct shapes_reply send_row(struct words *w, struct shapes_world *world, const struct words_row *row)
{
    const struct resource_type *type = type_of(row->object ? row->object : row->old);

    if (!row->object)
        return ask(world, "DELETE", shapes_path(type, name_of(w, row->old), NULL), NULL);
    if (!row->old)
        return ask(world, "POST", shapes_path(type, NULL, NULL), row->object);
    if (ask(world, "GET", shapes_path(type, name_of(w, row->old), NULL), NULL).code == 404)
        must(ask(world, "POST", shapes_path(type, NULL, NULL), row->old));
    return ask(world, "PATCH", shapes_path(type, name_of(w, row->old), NULL), row->object);
}

static void refuses_in_volcanos_words(void **state)
{
    struct shapes_world *world = shapes_world_new();
    struct words w = { 0 };
    struct words_row row;

    (void)state;
    words_open(&w);
    set_up(&w, world);
    while (words_next(&w, &row)) {
        struct shapes_reply reply = send_row(&w, world, &row);
        struct json *status;

        if (reply.code < 400 || reply.code > 422)
            fail_msg("%d: %.*s\n%s", reply.code, STR_ARG(reply.body), sent);
        assert_int_equal(json_parse(&w.arena, reply.body, NULL, &status, NULL), 0);
        words_check(&row, json_member_text(status, "message"));
    }
    arena_done(&w.arena);
    shapes_world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(refuses_in_volcanos_words) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
