/* parts.c - tests: names, challenges, logins and manifests, as text */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/util.h"
#include "image/challenge.h"
#include "image/login.h"
#include "image/manifest.h"
#include "image/reference.h"
#include "image/registry.h"

#include <sys/utsname.h>

#define HEX            "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define IS(view, text) assert_string_equal(arena_cstr(&a, view), text)

static void references(void **state)
{
    static const struct {
        const char *text, *host, *path, *tag, *digest;
    } cases[] = {
        { "busybox", "docker.io", "library/busybox", "latest", "" },
        { "a/b:1", "docker.io", "a/b", "1", "" },
        { "index.docker.io/b", "docker.io", "library/b", "latest", "" },
        { "localhost:5000/a/b/c:x", "localhost:5000", "a/b/c", "x", "" },
        { "h.io/a:1@sha256:" HEX, "h.io", "a", "1", "sha256:" HEX },
        { "h.io/a@sha256:" HEX, "h.io", "a", "", "sha256:" HEX },
        { "", 0 },
        { "A", 0 },
        { "a:", 0 },
        { "a@", 0 },
        { "a//b", 0 },
        { "h.io/", 0 },
        { "a b", 0 },
        { "../a", 0 },
    };
    autoarena a = { 0 };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct reference r = { 0 };
        int rc = reference_parse(&a, str_of(cases[i].text), &r, NULL);

        assert_int_equal(rc, cases[i].host ? 0 : -1);
        if (rc < 0)
            continue;
        IS(r.host, cases[i].host);
        IS(r.path, cases[i].path);
        IS(r.tag, cases[i].tag);
        IS(r.digest, cases[i].digest);
    }
    assert_true(reference_is_latest(STR("a")) && reference_is_latest(STR("a:latest")));
    assert_false(reference_is_latest(STR("a:1")) || reference_is_latest(STR("a@sha256:" HEX)));
}

static void challenges(void **state)
{
    static const struct {
        const char *text;
        bool bearer, basic;
        const char *realm, *service, *scope;
    } cases[] = {
        { "Bearer realm=\"https://a/token\",service=\"s\",scope=\"repository:x:pull,push\"", true, false,
          "https://a/token", "s", "repository:x:pull,push" },
        { "bearer realm=r , scope = \"q\\\"q\"", true, false, "r", "", "q\"q" },
        { "Basic realm=\"x\", Bearer realm=\"https://y\"", true, true, "https://y", "", "" },
        { "Basic realm=\"Registry\"", false, true, "", "", "" },
        { "Negotiate", false, false, "", "", "" },
        { "", false, false, "", "", "" },
        { "Bearer realm=\"no end", true, false, "no end", "", "" },
        { "Bearer \"\"", true, false, "", "", "" },
    };
    autoarena a = { 0 };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct challenge c;

        challenge_read(&a, str_of(cases[i].text), &c);
        assert_int_equal(c.is_bearer, cases[i].bearer);
        assert_int_equal(c.is_basic, cases[i].basic);
        IS(c.realm, cases[i].realm);
        IS(c.service, cases[i].service);
        IS(c.scope, cases[i].scope);
    }
}

static void logins(void **state)
{
    static const char file[] =
        "{\"auths\": {\"https://index.docker.io/v1/\": {\"auth\": \"dTpwOnE=\"}, \"h.io\": {\"username\": \"a\", "
        "\"password\": \"b\"}, \"h.io/team\": {\"username\": \"t\", \"password\": \"b\"}, \"e.io\": {}, \"i.io\": "
        "{\"auth\": \"MDp4\", \"identitytoken\": \"long\"}}, \"credHelpers\": {\"x.io\": \"ecr-login\"}, "
        "\"credsStore\": "
        "\"desktop\"}";
    static const struct {
        const char *image, *user, *password, *identity, *helper;
    } cases[] = {
        { "busybox", "u", "p:q", "", "" },  { "h.io/x", "a", "b", "", "" },        { "h.io/team/x", "t", "b", "", "" },
        { "h.io/teams", "a", "b", "", "" }, { "x.io/y", "", "", "", "ecr-login" }, { "e.io/y", "", "", "", "desktop" },
        { "i.io/y", "0", "x", "long", "" }, { "hh.io/x", "", "", "", "desktop" },
    };
    autoarena a = { 0 };
    struct reference r;
    struct login l;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_int_equal(reference_parse(&a, str_of(cases[i].image), &r, NULL), 0);
        assert_int_equal(login_find(&a, str_of(file), &r, &l, NULL), cases[i].user[0] ? 1 : 0);
        IS(l.user, cases[i].user);
        IS(l.password, cases[i].password);
        IS(l.identity, cases[i].identity);
        IS(l.helper, cases[i].helper);
    }
    assert_int_equal(reference_parse(&a, STR("h.io/x"), &r, NULL), 0);
    assert_int_equal(login_find(&a, STR("{\"h.io\": {\"auth\": \"dTpw\"}}"), &r, &l, NULL), 1); /* .dockercfg */
    assert_int_equal(login_find(&a, STR("{\"auths\": {\"h.io\": {\"auth\": \"!\"}}}"), &r, &l, NULL), -1);
    assert_int_equal(login_find(&a, STR("{"), &r, &l, NULL), -1);
    assert_int_equal(login_find(&a, STR("[]"), &r, &l, NULL), 0);
}

#define CONFIG                                                                                                         \
    "\"config\": {\"mediaType\": \"application/vnd.oci.image.config.v1+json\", \"digest\": \"sha256:" HEX              \
    "\", \"size\": 7}"
#define LAYER(more) "{\"digest\": \"sha256:" HEX "\", \"size\": 5" more "}"

static void manifests(void **state)
{
    static const struct {
        const char *text, *says; /* NULL: it is fine */
    } cases[] = {
        { "{\"schemaVersion\": 2, " CONFIG ", \"layers\": [" LAYER("") ", " LAYER("") "]}", NULL },
        { "{" CONFIG ", \"layers\": []}", NULL },
        { "{\"schemaVersion\": 1, \"fsLayers\": []}", "schema 1" },
        { "{\"schemaVersion\": 2}", "not an image manifest" },
        { "[]", "not an image manifest" },
        { "x", "manifest" },
        { "{" CONFIG
          ", \"layers\": [" LAYER(", \"mediaType\": \"application/vnd.oci.image.layer.v1.tar+gzip+encrypted\"") "]}",
          "cannot unpack a layer of type" },
        { "{\"config\": {\"mediaType\": \"application/vnd.cncf.helm.config.v1+json\"}, \"layers\": []}",
          "not a container image" },
        { "{\"config\": {\"digest\": \"md5:1\", \"size\": 1}, \"layers\": []}", "not a sha256" },
        { "{\"config\": {\"digest\": \"sha256:" HEX "\", \"size\": -1}, \"layers\": []}", "size" },
        { "{\"config\": {\"digest\": \"sha256:" HEX "\", \"size\": 99999999}, \"layers\": []}", "size" },
        { "{\"manifests\": []}", "not available for linux/" },
        { "{\"manifests\": [{\"platform\": {\"os\": \"windows\", \"architecture\": \"amd64\"}}]}",
          "not available for linux/" },
        { "{\"manifests\": [{\"digest\": \"sha256:" HEX "\", \"size\": 5000000}]}", "size" },
    };
    autoarena a = { 0 };
    struct manifest m;
    struct err e;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int rc = manifest_read(&a, str_of(cases[i].text), &m, &e);

        assert_int_equal(rc, cases[i].says ? -1 : 0);
        if (rc < 0)
            assert_non_null(strstr(e.text, cases[i].says));
    }
    assert_int_equal(manifest_read(&a, str_of(cases[0].text), &m, NULL), 0);
    assert_int_equal(m.layers.n, 2);
    assert_int_equal(m.bytes, 10);
}

/* The one for this machine, and of those the plain one. */
static void platforms(void **state)
{
    static const char *const archs[] = { "arm64", "amd64" };
    autoarena a = { 0 };
    struct utsname here;
    struct manifest m;
    struct str text;

    assert_int_equal(uname(&here), 0);
    if (strcmp(here.machine, "x86_64") != 0 && strcmp(here.machine, "aarch64") != 0)
        skip();
    text = arena_fmt(&a,
                     "{\"manifests\": [{\"platform\": {\"os\": \"unknown\", \"architecture\": \"unknown\"}}, "
                     "{\"platform\": {\"os\": "
                     "\"linux\", \"architecture\": \"%s\"}}, {\"platform\": {\"os\": \"linux\", \"architecture\": "
                     "\"%s\", \"variant\": \"v9\"}, "
                     "\"digest\": \"sha256:%064d\", \"size\": 1}, {\"platform\": {\"os\": \"linux\", \"architecture\": "
                     "\"%s\"}, \"digest\": "
                     "\"sha256:%064d\", \"size\": 2}]}",
                     archs[here.machine[0] == 'a'], archs[here.machine[0] == 'x'], 1, archs[here.machine[0] == 'x'], 2);
    assert_int_equal(manifest_read(&a, text, &m, NULL), 0);
    assert_true(m.is_index);
    assert_int_equal(m.chosen.size, 2);
}

static void options(void **state)
{
    static const char *const bad[] = { "docker.io",        "=x", "docker.io=", "docker.io=http://", "docker.io=a b",
                                       "docker.io=ftp://x" };
    autoarena a = { 0 };
    struct err e;

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct registry_options o = { 0 };

        *vec_push(&a, &o.mirrors) = str_of(bad[i]);
        assert_int_equal(registry_check(&o, &e), -1);
    }
    for (size_t i = 0; i < 3; i++) {
        struct registry_options o = { 0 };

        *vec_push(&a, &o.mirrors) = str_of(
            (const char *[]){ "docker.io=localhost:5000", "a=http://m.io/x/y/", "a=https://m.io" }[i]);
        *vec_push(&a, &o.insecure) = STR("m.io:80");
        assert_int_equal(registry_check(&o, &e), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(references), cmocka_unit_test(challenges), cmocka_unit_test(logins),
        cmocka_unit_test(manifests),  cmocka_unit_test(platforms),  cmocka_unit_test(options),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
