/* authn.c - fuzz: headers of a request, which name nobody that they should not
 *
 * Nobody is known here, so nobody can be found: 401, or anonymous where nothing was shown. And whoever may impersonate
 * one user becomes that one or nobody.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "auth/authn.h"
#include "auth/rbac.h"
#include "base/buf.h"
#include "http/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct rbac *the_rbac(void)
{
    static const char text[] =
        "[{\"apiVersion\":\"rbac.authorization.k8s.io/"
        "v1\",\"kind\":\"ClusterRole\",\"metadata\":{\"name\":\"r\"},\"rules\":["
        "{\"verbs\":[\"impersonate\"],\"apiGroups\":[\"\"],\"resources\":[\"users\"],\"resourceNames\":[\"ann\"]}]},"
        "{\"apiVersion\":\"rbac.authorization.k8s.io/"
        "v1\",\"kind\":\"ClusterRoleBinding\",\"metadata\":{\"name\":\"b\"},\"roleRef\":"
        "{\"kind\":\"ClusterRole\",\"name\":\"r\"},\"subjects\":[{\"kind\":\"User\",\"name\":\"boss\"}]}]";
    static struct rbac *rbac;
    autoarena a = { 0 };
    struct json *all;

    if (rbac)
        return rbac;
    rbac = rbac_new();
    if (json_parse(&a, str_of(text), NULL, &all, NULL) < 0)
        abort();
    JSON_FOREACH(o, all)
        rbac_put(rbac, o);
    return rbac;
}

/* As the HTTP server hands them over: only what it has checked. */
static bool as_fields(struct arena *a, struct str text, struct str *ret)
{
    autobuf head = { 0 };
    struct http_head parsed;
    size_t at = 0;

    buf_fmt(&head, "GET / HTTP/1.1\r\nHost: x\r\n");
    for (size_t i = 0; i < text.n; i++)
        if (text.p[i] == '\n')
            buf_str(&head, STR("\r\n"));
        else
            buf_char(&head, text.p[i]);
    buf_fmt(&head, "\r\n\r\n");
    if (http_head_scan(buf_view(&head), &at) != HTTP_SCAN_END ||
        http_head_parse(arena_str(a, str_sub(buf_view(&head), 0, at)), &parsed) != 0)
        return false;
    *ret = parsed.fields;
    return true;
}

static void impersonate(struct arena *a, struct str fields)
{
    struct identity who = { .user = STR("boss") };
    struct err e;
    int rc = authn_impersonate(the_rbac(), a, fields, &who, &e);

    if (rc < 0)
        assert(e.code == ERR_FORBIDDEN || e.code == ERR_INVALID);
    else if (rc)
        assert(str_is(who.user, "ann") && !identity_has_group(&who, STR(GROUP_MASTERS)) && !who.uid.n && !who.n_extra);
    else
        assert(str_is(who.user, "boss"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct http_peer peer = { .address = "10.0.0.1", .port = 1, .uid = -1 };
    struct authn authn = { .allows_anonymous = true, .owner_uid = -1 };
    struct str text = { (const char *)data, size }, fields, value;
    autoarena a = { 0 };
    struct identity who;
    size_t at = 0;

    (void)authn_host_is_ours(text, (const char *const[]){ "localhost", NULL });
    (void)authn_origin_is_ours(text, STR("localhost:6443"));
    if (!as_fields(&a, text, &fields))
        return 0;
    if (authn_identify(&authn, &a, &(struct authn_request){ &peer, fields }, 1800000000000, &who) == 0) {
        assert(str_is(who.user, USER_ANONYMOUS));
        assert(!http_fields_next(fields, STR("Authorization"), &at, &value)); /* what is shown is never passed over */
    }
    impersonate(&a, fields);
    (void)authn_websocket_protocols(&a, text);
    return 0;
}
