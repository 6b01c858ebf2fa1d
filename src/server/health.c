/* health.c - health checks, version and metrics */
#include "server/server_internal.h"

#include "api/version.h"

int handle_version(struct server_request *rq)
{
    static const char *const members[][2] = {
        { "major", KUBERNETES_MAJOR },
        { "minor", KUBERNETES_MINOR },
        { "emulationMajor", KUBERNETES_MAJOR },
        { "emulationMinor", KUBERNETES_MINOR },
        { "minCompatibilityMajor", KUBERNETES_MAJOR },
        { "minCompatibilityMinor", "35" },
        { "gitVersion", "v" KUBERNETES_VERSION ".0+pumice-" PUMICE_VERSION },
        { "gitCommit", "" },
        { "gitTreeState", "clean" },
        { "buildDate", "1970-01-01T00:00:00Z" },
        { "goVersion", "" },
        { "compiler", "cc" },
        { "platform", "linux/" BUILD_ARCH },
    };
    struct json *j = json_object(rq->arena);

    for (size_t i = 0; i < ARRAY_LEN(members); i++)
        json_add(j, str_of(members[i][0]), json_str(rq->arena, str_of(members[i][1])));
    rq->accept.media = MEDIA_JSON;
    rq->is_pretty = true;
    reply_json(rq, 200, j);
    return 0;
}

/* ---- health ---- */

static bool check_ping(struct server_request *rq, struct buf *why)
{
    (void)rq;
    (void)why;
    return true;
}

static bool check_ready(struct server_request *rq, struct buf *why)
{
    const struct server_options *opt = &rq->server->opt;

    return !opt->ready || opt->ready(opt->ctx, why);
}

static bool check_going(struct server_request *rq, struct buf *why)
{
    if (rq->server->is_stopping)
        buf_str(why, STR("the server is stopping"));
    return !rq->server->is_stopping;
}

static const struct {
    const char *name;
    bool only_ready; /* not for /livez: no reason for a restart */
    bool (*check)(struct server_request *rq, struct buf *why);
} checks[] = {
    { "ping", false, check_ping },
    { "controllers", true, check_ready },
    { "shutdown", true, check_going },
};

static bool is_excluded(const struct server_request *rq, const char *name)
{
    autobuf text = { 0 };

    for (size_t at = 0; http_call_next_param(rq->call, "exclude", &at, &text);)
        if (str_is(buf_view(&text), name))
            return true;
    return false;
}

int handle_health(struct server_request *rq)
{
    struct str path = rq->call->path, rest = str_from(path, 1), root, one = STR_NULL;
    bool is_ready, is_good = true, is_known = false;
    autobuf out = { 0 };

    (void)str_split(&rest, '/', &root);
    one = rest;
    is_ready = !str_is(root, "livez");
    for (size_t i = 0; i < ARRAY_LEN(checks); i++) {
        autobuf why = { 0 };
        bool is_fine;

        if ((checks[i].only_ready && !is_ready) || (one.n && !str_is(one, checks[i].name)) ||
            is_excluded(rq, checks[i].name))
            continue;
        is_known = true;
        is_fine = checks[i].check(rq, &why);
        is_good &= is_fine;
        buf_fmt(&out, is_fine ? "[+]%s ok\n" : "[-]%s failed: %s\n", checks[i].name, why.p ? why.p : "");
    }
    if (one.n && !is_known)
        return fail_with(rq, REASON_NOT_FOUND, "no such check");
    buf_fmt(&out, "%.*s check %s\n", STR_ARG(root), is_good ? "passed" : "failed");
    if (is_good && !param_flag(rq, "verbose"))
        reply_text(rq, 200, NULL, STR("ok"), NULL);
    else
        reply_text(rq, is_good ? 200 : 500, NULL, buf_view(&out), NULL);
    return 0;
}

/* ---- metrics ---- */

int handle_metrics(struct server_request *rq)
{
    const struct server *s = rq->server;
    autobuf out = { 0 };

    buf_fmt(&out,
            "# HELP pumice_server_requests_total Requests received\n# TYPE pumice_server_requests_total counter\n"
            "pumice_server_requests_total %llu\n"
            "# HELP pumice_server_watches Open watches\n# TYPE pumice_server_watches gauge\n"
            "pumice_server_watches %zu\n"
            "# HELP pumice_server_watch_events_total Events sent to watches\n"
            "# TYPE pumice_server_watch_events_total counter\npumice_server_watch_events_total %llu\n"
            "# HELP pumice_server_revision Revision of the store\n# TYPE pumice_server_revision counter\n"
            "pumice_server_revision %llu\n"
            "# HELP pumice_json_refused_changes_total Changes of objects that were not made because a value was of the "
            "wrong type. Each is a defect of the program.\n"
            "# TYPE pumice_json_refused_changes_total counter\npumice_json_refused_changes_total %llu\n"
            "# HELP pumice_server_objects Stored objects\n# TYPE pumice_server_objects gauge\n",
            (unsigned long long)s->stats.requests, s->stats.watches, (unsigned long long)s->stats.watch_events,
            (unsigned long long)store_revision(s->opt.store), (unsigned long long)json_refused());
    for (size_t i = 0; i < n_type_rows; i++)
        if (type_at(i) && type_at(i)->use == TYPE_STORED)
            buf_fmt(&out, "pumice_server_objects{resource=\"%.*s\"} %zu\n",
                    STR_ARG(type_resource(rq->arena, type_at(i))), store_count(s->opt.store, type_at(i)));
    if (s->opt.metrics)
        s->opt.metrics(s->opt.ctx, &out);
    reply_text(rq, 200, "text/plain; version=0.0.4; charset=utf-8", buf_view(&out), NULL);
    return 0;
}

/* ---- / ---- */

int handle_root(struct server_request *rq)
{
    static const char *const others[] = { "/healthz",    "/livez",  "/metrics", "/openapi/v2",
                                          "/openapi/v3", "/readyz", "/version" };
    struct json *j = json_object(rq->arena), *paths = json_add(j, STR("paths"), json_array(rq->arena));
    const struct resource_type **types;
    size_t n = types_served(rq->server, rq->arena, &types);

    json_push(paths, json_str(rq->arena, STR("/api")));
    json_push(paths, json_str(rq->arena, STR("/api/v1")));
    json_push(paths, json_str(rq->arena, STR("/apis")));
    for (size_t i = 0; i < n; i++) {
        bool is_first = types[i]->group[0];

        for (size_t k = 0; k < i && is_first; k++)
            is_first = strcmp(types[k]->group, types[i]->group) != 0 ||
                       strcmp(types[k]->version, types[i]->version) != 0;
        if (is_first)
            json_push(paths, json_fmt(rq->arena, "/apis/%s/%s", types[i]->group, types[i]->version));
    }
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        json_push(paths, json_str(rq->arena, str_of(others[i])));
    rq->is_pretty = true;
    reply_json(rq, 200, j);
    return 0;
}
