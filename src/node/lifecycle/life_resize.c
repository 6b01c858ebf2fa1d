/* life_resize.c - resizing containers: amounts in force, requested amounts, and their conditions
 *
 * The amounts in force are those of the spec at life_new(), or those in the status. life_resize() puts those of the
 * newest spec in force; a container whose resizePolicy is RestartContainer for a changed resource is stopped, and its
 * next start has them.
 */
#include "node/lifecycle/life_internal.h"

#include "api/pod/container.h"
#include "api/pod/resources.h"

static const char *const amount_lists[] = { "requests", "limits" };

/* Init containers that are not sidecars keep their amounts. */
static bool is_sizable(const struct life_con *c)
{
    return !c->is_ephemeral && (!c->is_init || c->is_sidecar);
}

static const struct json *requested_of(const struct life *l, const struct life_con *c)
{
    return json_get(container_named(json_get(l->pod->root, "spec"), c->name), "resources");
}

static bool differs_from_request(const struct life *l, const struct life_con *c)
{
    const struct json *wish = requested_of(l, c);

    for (size_t i = 0; is_sizable(c) && i < ARRAY_LEN(amount_lists); i++)
        if (!resources_same(json_get(c->resources, amount_lists[i]), json_get(wish, amount_lists[i])))
            return true;
    return false;
}

bool life_wants_resize(const struct life *l)
{
    VEC_FOREACH(c, &l->cons)
        if (!l->is_past && differs_from_request(l, c))
            return true;
    return false;
}

const struct json *life_sized_spec(const struct life *l, struct arena *a)
{
    const struct json *spec = json_get(l->pod->root, "spec");
    struct json *copy;

    if (!life_wants_resize(l))
        return spec;
    copy = json_copy(a, spec);
    VEC_FOREACH(c, &l->cons)
        if (differs_from_request(l, c)) {
            json_remove(container_named(copy, c->name), "resources");
            if (c->resources)
                json_set(container_named(copy, c->name), "resources", json_copy(a, c->resources));
        }
    return copy;
}

void life_resize_take(struct life *l, struct life_con *c, const struct json *status)
{
    if (!is_sizable(c) || !json_get(status, "resources"))
        return;
    object_unref(c->sized);
    c->sized = object_ref(l->pod);
    c->resources = json_get(status, "resources");
}

/* ---- events ---- */

static void say_resize(struct life *l, bool is_warning, const char *reason, const char *words, struct str error)
{
    autoarena a = { 0 };
    struct json *all = json_object(&a), *list = json_add(all, STR("containers"), json_array(&a));
    autobuf text = { 0 };

    VEC_FOREACH(c, &l->cons) {
        struct json *one;

        if (!is_sizable(c))
            continue;
        one = json_push(list, json_object(&a));
        json_add(one, STR("name"), json_str(&a, c->name));
        if (requested_of(l, c))
            json_add(one, STR("resources"), json_copy(&a, requested_of(l, c)));
    }
    json_add(all, STR("generation"), json_int(&a, life_generation(l->pod)));
    if (error.n)
        json_add(all, STR("error"), json_str(&a, error));
    json_print(&text, all);
    (is_warning ? life_warn : life_say)(l, NULL, str_of(reason), "Pod resize %s: %.*s", words,
                                        STR_ARG(buf_view(&text)));
}

static bool is_resizing(const struct life *l)
{
    VEC_FOREACH(c, &l->cons)
        if (c->is_resizing)
            return true;
    return false;
}

void life_resize_started(struct life *l, struct life_con *c)
{
    bool was = c->is_resizing;

    c->is_resizing = false;
    if (was && !is_resizing(l))
        say_resize(l, false, "ResizeCompleted", "completed", STR_NULL);
}

void life_resize_waits(struct life *l, bool is_error, struct str why, int64_t now_ms)
{
    bool is_news = !l->resize.waits || l->resize.is_error != is_error ||
                   l->resize.generation != life_generation(l->pod);

    if (!is_news && str_eq(buf_view(&l->resize.why), why))
        return;
    if (is_news && is_error)
        say_resize(l, true, "ResizeError", "error", why);
    else if (is_news)
        say_resize(l, true, "ResizeDeferred", "Deferred", why);
    if (is_news)
        l->resize.since_ms = now_ms;
    l->resize.waits = true;
    l->resize.is_error = is_error;
    l->resize.generation = life_generation(l->pod);
    life_set_text(&l->resize.why, why);
    l->is_changed = true;
}

void life_resize_update(struct life *l)
{
    if (!l->resize.waits || life_wants_resize(l))
        return;
    l->resize.waits = false;
    l->is_changed = true;
}

static bool is_policy(const struct life_con *c, const char *resource)
{
    JSON_FOREACH(p, json_get(c->spec, "resizePolicy"))
        if (str_is(json_member_text(p, "resourceName"), resource))
            return str_is(json_member_text(p, "restartPolicy"), "RestartContainer");
    return false;
}

static bool needs_restart(const struct life_con *c, const struct json *wish)
{
    static const char *const names[] = { "cpu", "memory" };

    for (size_t i = 0; i < ARRAY_LEN(amount_lists); i++)
        for (size_t k = 0; k < ARRAY_LEN(names); k++)
            if (is_policy(c, names[k]) && !json_equal(json_find(c->resources, amount_lists[i], names[k], NULL),
                                                      json_find(wish, amount_lists[i], names[k], NULL)))
                return true;
    return false;
}

static void con_resize(struct life *l, struct life_con *c, int64_t now_ms)
{
    autoarena a = { 0 };
    const struct json *wish = requested_of(l, c);
    bool restarts = c->state == LIFE_CON_RUNNING && needs_restart(c, wish);

    object_unref(c->sized);
    c->sized = object_ref(l->pod);
    c->resources = wish;
    if (!restarts)
        return;
    life_con_stop(l, c, life_spec_grace(l), now_ms,
                  arena_fmt(&a, "Container %.*s resize requires restart", STR_ARG(c->name)));
    c->stop.restarts = c->is_resizing = true;
}

void life_resize(struct life *l, int64_t now_ms)
{
    say_resize(l, false, "ResizeStarted", "started", STR_NULL);
    l->resize.waits = false;
    l->resize.since_ms = now_ms;
    VEC_FOREACH(c, &l->cons)
        if (differs_from_request(l, c))
            con_resize(l, c, now_ms);
    if (!is_resizing(l))
        say_resize(l, false, "ResizeCompleted", "completed", STR_NULL);
    l->is_changed = true;
    life_settle(l, now_ms);
}

/* ---- condition ---- */

const char *life_resize_condition(const struct life *l, const char **ret_reason)
{
    *ret_reason = l->resize.waits && l->resize.is_error ? "Error" : l->resize.waits ? "Deferred" : NULL;
    if (l->has_ended)
        return NULL;
    if (l->resize.waits && !l->resize.is_error)
        return LIFE_RESIZE_PENDING;
    return l->resize.waits || is_resizing(l) ? LIFE_RESIZE_IN_PROGRESS : NULL;
}
