/* path.c - what URLs are about, and which verb that makes */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "server/server_internal.h"

static void paths(void **state)
{
    static const struct {
        const char *path, *group, *version, *resource, *namespace, *name, *subresource;
    } rows[] = {
        { "/api", "", "", "", "", "", "" },
        { "/apis", "", "", "", "", "", "" },
        { "/apis/policy", "policy", "", "", "", "", "" },
        { "/api/v1", "", "v1", "", "", "", "" },
        { "/apis/policy/v1/", "policy", "v1", "", "", "", "" },
        { "/api/v1/pods", "", "v1", "pods", "", "", "" },
        { "/api/v1/namespaces", "", "v1", "namespaces", "", "", "" },
        { "/api/v1/namespaces/a", "", "v1", "namespaces", "", "a", "" },
        { "/api/v1/namespaces/a/status", "", "v1", "namespaces", "", "a", "status" },
        { "/api/v1/namespaces/a/finalize", "", "v1", "namespaces", "", "a", "finalize" },
        { "/api/v1/namespaces/a/pods", "", "v1", "pods", "a", "", "" },
        { "/api/v1/namespaces/a/pods/b", "", "v1", "pods", "a", "b", "" },
        { "/api/v1/namespaces/a/pods/b/log", "", "v1", "pods", "a", "b", "log" },
        { "/api/v1/namespaces/a/pods/%62/", "", "v1", "pods", "a", "b", "" },
        { "/api/v1/watch/namespaces/a/pods", "", "v1", "pods", "a", "", "" },
        { "/apis/batch.volcano.sh/v1alpha1/namespaces/a/jobs/b/status", "batch.volcano.sh", "v1alpha1", "jobs", "a",
          "b", "status" },
        { "/apis/scheduling.volcano.sh/v1beta1/queues/q", "scheduling.volcano.sh", "v1beta1", "queues", "", "q", "" },
        { "/healthz", "", "", "", "", "", "" },
        { "/", "", "", "", "", "", "" },
    };
    autoarena a = { 0 };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct server_target t;

        assert_int_equal(path_parse(&a, str_of(rows[i].path), &t), 0);
        if (!str_is(t.group, rows[i].group) || !str_is(t.version, rows[i].version) ||
            !str_is(t.resource, rows[i].resource) || !str_is(t.namespace, rows[i].namespace) ||
            !str_is(t.name, rows[i].name) || !str_is(t.subresource, rows[i].subresource))
            fail_msg("%s: %.*s|%.*s|%.*s|%.*s|%.*s|%.*s", rows[i].path, STR_ARG(t.group), STR_ARG(t.version),
                     STR_ARG(t.resource), STR_ARG(t.namespace), STR_ARG(t.name), STR_ARG(t.subresource));
        assert_int_equal(t.is_api, str_starts(str_of(rows[i].path), STR("/api")));
        assert_int_equal(t.is_watch, str_has(str_of(rows[i].path), STR("/watch/")));
    }
}

/* What follows the subresource proxy is passed on as it came; it is not looked at. */
static void proxied_paths(void **state)
{
    static const struct {
        const char *path, *name, *subresource, *rest;
    } rows[] = {
        { "/api/v1/namespaces/a/pods/b/proxy", "b", "proxy", "" },
        { "/api/v1/namespaces/a/pods/b/proxy/", "b", "proxy", "/" },
        { "/api/v1/namespaces/a/services/b:80/proxy/c//d/%2F/%zz/", "b:80", "proxy", "/c//d/%2F/%zz/" },
        { "/api/v1/namespaces/a/pods/https%3Ab%3A443/proxy/../x", "https:b:443", "proxy", "/../x" },
        { "/api/v1/namespaces/a/pods/b/proxy/1/2/3/4/5/6/7/8/9/10/11", "b", "proxy", "/1/2/3/4/5/6/7/8/9/10/11" },
        { "/api/v1/nodes/n/proxy/logs/", "n", "proxy", "/logs/" },
        { "/api/v1/namespaces/a/pods/proxy", "proxy", "", "" },
        { "/api/v1/namespaces/proxy/pods/proxy/log", "proxy", "log", "" },
        { "/apis/policy/v1/namespaces/a/x/proxy", "proxy", "", "" },
    };
    autoarena a = { 0 };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct server_target t;

        assert_int_equal(path_parse(&a, str_of(rows[i].path), &t), 0);
        if (!str_is(t.name, rows[i].name) || !str_is(t.subresource, rows[i].subresource) ||
            !str_is(t.rest, rows[i].rest))
            fail_msg("%s: %.*s|%.*s|%.*s", rows[i].path, STR_ARG(t.name), STR_ARG(t.subresource), STR_ARG(t.rest));
    }
}

static void bad_paths(void **state)
{
    static const char *const rows[] = { "/api//v1", "/api/v1/pods/%zz", "/api/v1/pods/%00",
                                        "/api/1/2/3/4/5/6/7/8/9/10/11/12/13" };
    autoarena a = { 0 };
    struct server_target t;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_int_equal(path_parse(&a, str_of(rows[i]), &t), -1);
}

static void verbs(void **state)
{
    static const struct {
        const char *method, *path;
        bool is_watch;
        enum verb verb;
    } rows[] = {
        { "GET", "/api/v1/pods", false, VERB_LIST },
        { "GET", "/api/v1/pods", true, VERB_WATCH },
        { "GET", "/api/v1/watch/pods", false, VERB_WATCH },
        { "GET", "/api/v1/namespaces/a/pods/b", false, VERB_GET },
        { "GET", "/api/v1/namespaces/a/pods/b", true, VERB_WATCH },
        { "GET", "/api/v1/namespaces/a/pods/b/log", true, VERB_GET },
        { "HEAD", "/api/v1/namespaces/a/pods/b", false, VERB_GET },
        { "POST", "/api/v1/namespaces/a/pods", false, VERB_CREATE },
        { "POST", "/api/v1/namespaces/a/pods/b/exec", false, VERB_CREATE },
        { "PUT", "/api/v1/namespaces/a/pods/b", false, VERB_UPDATE },
        { "PUT", "/api/v1/namespaces/a/pods", false, VERB_NONE },
        { "PATCH", "/api/v1/namespaces/a/pods/b", false, VERB_PATCH },
        { "DELETE", "/api/v1/namespaces/a/pods/b", false, VERB_DELETE },
        { "DELETE", "/api/v1/namespaces/a/pods", false, VERB_DELETE_COLLECTION },
        { "OPTIONS", "/api/v1/namespaces/a/pods", false, VERB_NONE },
        { "get", "/api/v1/namespaces/a/pods", false, VERB_NONE },
    };
    autoarena a = { 0 };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct server_target t;

        assert_int_equal(path_parse(&a, str_of(rows[i].path), &t), 0);
        if (verb_of(str_of(rows[i].method), &t, rows[i].is_watch) != rows[i].verb)
            fail_msg("%s %s", rows[i].method, rows[i].path);
    }
}

static void accepts(void **state)
{
    static const struct {
        const char *header;
        bool is_discovery;
        int rc;
        enum accept_form form;
        enum accept_media media;
        const char *version;
    } rows[] = {
        { "", false, 0, ACCEPT_OBJECT, MEDIA_JSON, "" },
        { "*/*", false, 0, ACCEPT_OBJECT, MEDIA_JSON, "" },
        { "application/json, */*", false, 0, ACCEPT_OBJECT, MEDIA_JSON, "" },
        { "application/yaml", false, 0, ACCEPT_OBJECT, MEDIA_YAML, "" },
        { "application/vnd.kubernetes.protobuf,application/json", false, 0, ACCEPT_OBJECT, MEDIA_JSON, "" },
        { "application/vnd.kubernetes.protobuf", false, -1, ACCEPT_OBJECT, MEDIA_JSON, "" },
        { "application/json;as=Table;v=v1;g=meta.k8s.io,application/json", false, 0, ACCEPT_TABLE, MEDIA_JSON, "v1" },
        { "application/json;as=Table;g=meta.k8s.io;v=v1beta1", false, 0, ACCEPT_TABLE, MEDIA_JSON, "v1beta1" },
        { "application/json;as=Table;v=v9;g=meta.k8s.io,application/json", false, 0, ACCEPT_OBJECT, MEDIA_JSON, "" },
        { "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io", false, 0, ACCEPT_PARTIAL, MEDIA_JSON,
          "v1" },
        { "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json", true, 0,
          ACCEPT_DISCOVERY, MEDIA_JSON, "v2" },
        { "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json", false, 0,
          ACCEPT_OBJECT, MEDIA_JSON, "" },
        { "application/json;as=Table;v=v1;g=meta.k8s.io", true, -1, ACCEPT_OBJECT, MEDIA_JSON, "" },
        { "text/html,application/xhtml+xml,*/*;q=0.8", false, 0, ACCEPT_OBJECT, MEDIA_JSON, "" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct accept got;
        int rc = accept_parse(str_of(rows[i].header),
                              rows[i].is_discovery ? ACCEPT_ALLOWS_DISCOVERY : ACCEPT_ALLOWS_TABLE, &got);

        if (rc != rows[i].rc)
            fail_msg("%s: %d", rows[i].header, rc);
        if (rc == 0 &&
            (got.form != rows[i].form || got.media != rows[i].media || !str_is(got.version, rows[i].version)))
            fail_msg("%s: form %d, media %d, version %.*s", rows[i].header, got.form, got.media, STR_ARG(got.version));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths), cmocka_unit_test(proxied_paths), cmocka_unit_test(bad_paths),
        cmocka_unit_test(verbs), cmocka_unit_test(accepts),
    };

    return cmocka_run_group_tests_name("server/path", tests, NULL, NULL);
}
