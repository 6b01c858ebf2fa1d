/* authn.c - tests: who a request is from, whatever it says of itself */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "auth/authn.h"

#include "auth/account.h"
#include "pki/jwt.h"
#include "auth/rbac.h"
#include "auth/review.h"
#include "auth/test/place.h"
#include "auth/users.h"

static struct users *users;
static struct accounts *accounts;
static struct authn authn;
static struct buf token, account_token;
static const struct str *ann_groups;
static size_t n_ann_groups;

static int begin(void **state)
{
    struct str dev = STR("dev");
    struct user_spec ann = { .name = STR("ann"), .groups = &dev, .n_groups = 1, .unix_uid = -1 };
    struct user_spec joe = { .name = STR("joe"), .unix_uid = 4711 };
    struct json *answer;

    if (place_begin(state) < 0 || users_open(here.dir, &users, NULL) < 0 ||
        users_add(users, &ann, now_ms, NULL, NULL) < 0 || users_add(users, &joe, now_ms, NULL, NULL) < 0 ||
        users_add_token(users, &(struct user_term){ STR("ann"), now_ms, DAY_MS }, &token, NULL) < 0 ||
        users_add_certificate(users, STR("ann"), now_ms + DAY_MS, NULL) < 0 ||
        accounts_open(&(struct accounts_options){ here.dir, here.store, NULL }, &accounts, NULL) < 0)
        return -1;
    ann_groups = users_organizations(users, &here.arena, STR("ann"), &n_ann_groups);
    put("{'apiVersion':'v1','kind':'ServiceAccount','metadata':{'name':'bot','namespace':'ns'}}");
    if (accounts_request(accounts, &here.arena, &(struct account_request){ STR("ns"), STR("bot"), parse("{}"), now_ms },
                         &answer, NULL) < 0)
        return -1;
    buf_str(&account_token, json_member_text(json_get(answer, "status"), "token"));
    authn = (struct authn){ users, accounts, true, 1000 };
    return 0;
}

static int end(void **state)
{
    users_free(users);
    accounts_free(accounts);
    buf_done(&token);
    buf_done(&account_token);
    return place_end(state);
}

static const struct http_peer far = { .address = "10.0.0.9", .port = 4000, .uid = -1, .is_tls = true };

static struct http_peer with_certificate(struct str name, const struct str *organizations, size_t n, int64_t end_ms)
{
    struct http_peer p = far;

    p.common_name = name;
    p.organizations = organizations;
    p.n_organizations = n;
    p.certificate_end_ms = end_ms;
    return p;
}

/* The user, or "401". '%t' is ann's token, '%a' the account's; \n ends a line. */
static const char *ask(const struct http_peer *peer, const char *headers)
{
    autobuf fields = { 0 };
    struct identity who;

    for (const char *p = headers; *p; p++)
        if (*p == '\n')
            buf_str(&fields, STR("\r\n"));
        else if (*p == '%' && (p[1] == 't' || p[1] == 'a'))
            buf_str(&fields, buf_view(*++p == 't' ? &token : &account_token));
        else
            buf_char(&fields, *p);
    if (authn_identify(&authn, &here.arena, &(struct authn_request){ peer, arena_str(&here.arena, buf_view(&fields)) },
                       now_ms, &who))
        return "401";
    assert_int_equal(identity_has_group(&who, STR(GROUP_AUTHENTICATED)), !str_is(who.user, USER_ANONYMOUS));
    return arena_cstr(&here.arena, who.user);
}

#define BOT "system:serviceaccount:ns:bot"

static void headers(void **state)
{
    static const struct {
        const char *headers, *want;
    } cases[] = {
        { "", "system:anonymous" },
        { "Authorization: Bearer %t\n", "ann" },
        { "authorization: bearer   %t  \n", "ann" },
        { "Authorization: Bearer %a\n", BOT },
        { "Authorization: Bearer x%t\n", "401" },
        { "Authorization: Bearer %t%t\n", "401" },
        { "Authorization: Bearer %t %t\n", "401" },
        { "Authorization: Bearer %t,\n", "401" },
        { "Authorization: Bearer\n", "401" },
        { "Authorization: Bearer \n", "401" },
        { "Authorization:\n", "401" },
        { "Authorization: %t\n", "401" },
        { "Authorization: Bearer%t\n", "401" },
        { "Authorization: Basic YW5uOmFubg==\n", "401" },
        { "Authorization: Bearer %t\nAuthorization: Bearer %t\n", "401" },
        { "Authorization: Bearer %t\nAuthorization: Basic x\n", "401" },
        { "Authorization: Bearer a.b.c\n", "401" },
        { "X-Remote-User: admin\nX-Remote-Group: system:masters\nX-Forwarded-User: admin\n", "system:anonymous" },
        { "Authorization_: Bearer %t\n", "system:anonymous" },
        { "Sec-WebSocket-Protocol: v5.channel.k8s.io\n", "system:anonymous" },
        { "Sec-WebSocket-Protocol: base64url.bearer.authorization.k8s.io.eA, v5.channel.k8s.io\n", "401" },
        { "Sec-WebSocket-Protocol: base64url.bearer.authorization.k8s.io.\n", "401" },
        { "Sec-WebSocket-Protocol: base64url.bearer.authorization.k8s.io.!!\n", "401" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (strcmp(ask(&far, cases[i].headers), cases[i].want) != 0)
            fail_msg("%s: %s", cases[i].headers, ask(&far, cases[i].headers));
    authn.allows_anonymous = false;
    assert_string_equal(ask(&far, ""), "401");
}

static void websocket(void **state)
{
    autobuf line = { 0 }, coded = { 0 };
    static const char prefix[] = "base64url.bearer.authorization.k8s.io.";

    (void)state;
    base64url_print(&coded, buf_view(&token));
    buf_fmt(&line, "Sec-WebSocket-Protocol: v4.channel.k8s.io, %s%s\n", prefix, coded.p);
    assert_string_equal(ask(&far, line.p), "ann");
    buf_fmt(&line, "Authorization: Bearer %%t\n");
    assert_string_equal(ask(&far, line.p), "401"); /* two are one too many */
    buf_reset(&line);
    buf_fmt(&line, "a, %s%s,b", prefix, coded.p);
    assert_string_equal(authn_websocket_protocols(&here.arena, buf_view(&line)).p, "a, b");
}

static void certificates(void **state)
{
    struct http_peer ann = with_certificate(STR("ann"), ann_groups, n_ann_groups, now_ms + 1);
    struct http_peer late = with_certificate(STR("ann"), ann_groups, n_ann_groups, now_ms);
    struct http_peer other = with_certificate(STR("joe"), ann_groups, n_ann_groups, now_ms + 1);
    struct str masters[] = { STR("system:masters") };
    struct http_peer forged = with_certificate(STR("ann"), masters, 1, now_ms + 1);
    struct http_peer nameless = with_certificate(STR_NULL, masters, 1, now_ms + 1);

    (void)state;
    assert_int_equal(n_ann_groups, 2);
    assert_string_equal(ask(&ann, ""), "ann");
    assert_string_equal(ask(&ann, "Authorization: Bearer nonsense\n"), "ann"); /* as Kubernetes does */
    assert_string_equal(ask(&late, ""), "401");
    assert_string_equal(ask(&late, "Authorization: Bearer %a\n"), BOT);
    assert_string_equal(ask(&other, ""), "401");
    assert_string_equal(ask(&forged, ""), "401");
    assert_string_equal(ask(&nameless, ""), "401");
    assert_int_equal(users_remove(users, STR("ann"), NULL), 0);
    assert_string_equal(ask(&ann, ""), "401"); /* at once */
    assert_string_equal(ask(&far, "Authorization: Bearer %t\n"), "401");
}

static void sockets(void **state)
{
    struct http_peer peer = { .address = "unix", .uid = 1000 };
    struct identity who;

    (void)state;
    assert_int_equal(authn_identify(&authn, &here.arena, &(struct authn_request){ &peer, STR_NULL }, now_ms, &who), 0);
    assert_true(identity_has_group(&who, STR(GROUP_MASTERS)));
    assert_string_equal(ask(&peer, "Authorization: Bearer %t\n"), "ann");
    assert_string_equal(ask(&peer, "Authorization: Bearer x\n"), "401"); /* not passed over */
    peer.uid = 1001;
    assert_int_equal(authn_identify(&authn, &here.arena, &(struct authn_request){ &peer, STR_NULL }, now_ms, &who), 0);
    assert_false(identity_has_group(&who, STR(GROUP_MASTERS)));
    assert_true(str_is(who.user, "unix:1001"));
    peer.uid = 4711;
    assert_string_equal(ask(&peer, ""), "joe");
    peer.uid = -1;
    assert_string_equal(ask(&peer, ""), "system:anonymous");
}

static void as_somebody_else(void **state)
{
    static const struct {
        const char *headers, *want;
    } cases[] = {
        { "", "boss: boss,system:authenticated" },
        { "Impersonate-User: ann\n", "ann: system:authenticated" },
        { "impersonate-user: ann\nImpersonate-Group: dev\nImpersonate-Group: ops\n",
          "ann: dev,ops,system:authenticated" },
        { "Impersonate-User: ann\nImpersonate-Group: system:authenticated\n", "ann: system:authenticated" },
        { "Impersonate-User: system:serviceaccount:ns:bot\n",
          BOT ": system:serviceaccounts,system:serviceaccounts:ns,system:authenticated" },
        { "Impersonate-User: system:anonymous\n", "system:anonymous: system:unauthenticated" },
        { "Impersonate-User: ann\nImpersonate-Uid: 7\n", "ann: system:authenticated uid=7" },
        { "Impersonate-User: ann\nImpersonate-Extra-acme.com%2Fproject: x\nImpersonate-Extra-ACME.com%2fProject: y\n",
          "ann: system:authenticated acme.com/project=x,y" },
        { "Impersonate-User: root\n", "users \"root\" is forbidden: User \"boss\" cannot impersonate resource "
                                      "\"users\" in API group \"\" at the cluster scope" },
        { "Impersonate-User: ann\nImpersonate-Group: system:masters\n",
          "groups \"system:masters\" is forbidden: User \"boss\" cannot impersonate resource \"groups\" in API group "
          "\"\" at the cluster scope" },
        { "Impersonate-User: ann\nImpersonate-Extra-scopes: x\n",
          "userextras.authentication.k8s.io \"x\" is forbidden: User \"boss\" cannot impersonate resource "
          "\"userextras/scopes\" in API group "
          "\"authentication.k8s.io\" at the cluster scope" },
        { "Impersonate-User: system:serviceaccount:other:bot\n",
          "serviceaccounts \"bot\" is forbidden: User \"boss\" cannot impersonate resource \"serviceaccounts\" in API "
          "group \"\" in the "
          "namespace \"other\"" },
        { "Impersonate-Group: dev\n", "Impersonate-User: is missing; groups, uid and extra need a user" },
        { "Impersonate-User: ann\nImpersonate-User: root\n",
          "Impersonate-User: must be given once and must not be empty" },
        { "Impersonate-User: \n", "Impersonate-User: must be given once and must not be empty" },
        { "Impersonate-User: ann\nImpersonate-Shoe-Size: 7\n", "Impersonate-Shoe-Size: unknown impersonation header" },
        { "Impersonate-User: ann\nImpersonate-Extra-: 7\n", "Impersonate-Extra-: unknown impersonation header" },
        { "Impersonate_User: root\n", "boss: boss,system:authenticated" },
    };
    struct str groups[] = { STR("boss") };
    struct identity boss = identity_make(&here.arena, STR("boss"), groups, 1, STR(GROUP_AUTHENTICATED));
    struct rbac *rbac = rbac_new();

    (void)state;
    rbac_put(rbac,
             parse("{'apiVersion':'rbac.authorization.k8s.io/v1','kind':'ClusterRole','metadata':{'name':'r'},'rules':["
                   "{'verbs':['impersonate'],'apiGroups':[''],'resources':['users'],'resourceNames':['ann','system:"
                   "anonymous']},"
                   "{'verbs':['impersonate'],'apiGroups':[''],'resources':['groups'],'resourceNames':['dev','ops','"
                   "system:authenticated']},"
                   "{'verbs':['impersonate'],'apiGroups':['authentication.k8s.io'],'resources':['userextras/acme.com/"
                   "project','uids']}]}"));
    rbac_put(rbac, parse("{'apiVersion':'rbac.authorization.k8s.io/"
                         "v1','kind':'Role','metadata':{'name':'r','namespace':'ns'},'rules':["
                         "{'verbs':['impersonate'],'apiGroups':[''],'resources':['serviceaccounts']}]}"));
    rbac_put(rbac,
             parse("{'apiVersion':'rbac.authorization.k8s.io/v1','kind':'ClusterRoleBinding','metadata':{'name':'b'},"
                   "'roleRef':{'kind':'ClusterRole','name':'r'},'subjects':[{'kind':'Group','name':'boss'}]}"));
    rbac_put(rbac, parse("{'apiVersion':'rbac.authorization.k8s.io/"
                         "v1','kind':'RoleBinding','metadata':{'name':'b','namespace':'ns'},"
                         "'roleRef':{'kind':'Role','name':'r'},'subjects':[{'kind':'User','name':'boss'}]}"));
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autobuf fields = { 0 }, got = { 0 };
        struct identity who = boss;
        struct err e;

        for (const char *p = cases[i].headers; *p; p++)
            buf_fmt(&fields, "%s%c", *p == '\n' ? "\r" : "", *p);
        if (authn_impersonate(rbac, &here.arena, buf_view(&fields), &who, &e) < 0) {
            buf_fmt(&got, "%s", e.text);
        } else {
            buf_fmt(&got, "%.*s: ", STR_ARG(who.user));
            for (size_t k = 0; k < who.n_groups; k++)
                buf_fmt(&got, "%s%.*s", k ? "," : "", STR_ARG(who.groups[k]));
            if (who.uid.n)
                buf_fmt(&got, " uid=%.*s", STR_ARG(who.uid));
            for (size_t k = 0; k < who.n_extra; k++) {
                buf_fmt(&got, " %.*s=", STR_ARG(who.extra[k].key));
                for (size_t v = 0; v < who.extra[k].n_values; v++)
                    buf_fmt(&got, "%s%.*s", v ? "," : "", STR_ARG(who.extra[k].values[v]));
            }
        }
        if (!str_is(buf_view(&got), cases[i].want))
            fail_msg("%s: %s", cases[i].headers, got.p);
    }
    rbac_free(rbac);
}

static void hosts(void **state)
{
    static const char *const names[] = { "localhost", "127.0.0.1", "::1", "gpu.example.org", NULL };
    static const char *const ours[] = { "localhost",  "localhost:6443", "LOCALHOST",       "127.0.0.1:6443",
                                        "[::1]:6443", "[::1]",          "gpu.example.org", "localhost." };
    static const char *const theirs[] = { "",
                                          "evil.example.org",
                                          "localhost.evil.example.org",
                                          "127.0.0.1.evil.example.org",
                                          "localhost:",
                                          "localhost:x",
                                          "localhost:99999",
                                          "[::1",
                                          "[::1]x",
                                          "127.1",
                                          "0.0.0.0",
                                          "[]",
                                          ":6443",
                                          "localhost:6443:1",
                                          "localhost@evil.example.org" };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(ours); i++)
        if (!authn_host_is_ours(str_of(ours[i]), names))
            fail_msg("ours: %s", ours[i]);
    for (size_t i = 0; i < ARRAY_LEN(theirs); i++)
        if (authn_host_is_ours(str_of(theirs[i]), names))
            fail_msg("not ours: %s", theirs[i]);
    assert_true(authn_origin_is_ours(STR_NULL, STR("localhost:1")));
    assert_true(authn_origin_is_ours(STR("https://localhost:1"), STR("localhost:1")));
    assert_false(authn_origin_is_ours(STR("https://localhost:2"), STR("localhost:1")));
    assert_false(authn_origin_is_ours(STR("null"), STR("localhost:1")));
    assert_false(authn_origin_is_ours(STR("file://localhost:1"), STR("localhost:1")));
    assert_false(authn_origin_is_ours(STR("https://localhost:1.evil.example.org"), STR("localhost:1")));
}

static const char *review(const char *kind, const char *object, const struct identity *who, struct rbac *rbac)
{
    struct review_env env = { rbac, &authn, who, STR("ns"), now_ms };
    struct json *answer;
    struct err e;

    if (review_for(str_of(kind))(&env, &here.arena, parse(object), &answer, &e) < 0)
        return arena_str(&here.arena, str_of(e.text)).p;
    return print(json_get(answer, "status"));
}

static void reviews(void **state)
{
    struct identity ann = user_identity(&here.arena, users_find(users, STR("ann")));
    struct str masters = STR(GROUP_MASTERS);
    struct identity root = identity_make(&here.arena, STR("root"), &masters, 1, STR_NULL);
    struct rbac *rbac = rbac_new();
    autobuf text = { 0 };

    (void)state;
    rbac_put(rbac, parse("{'apiVersion':'rbac.authorization.k8s.io/"
                         "v1','kind':'Role','metadata':{'name':'r','namespace':'ns'},'rules':["
                         "{'verbs':['get'],'apiGroups':[''],'resources':['pods']}]}"));
    rbac_put(rbac, parse("{'apiVersion':'rbac.authorization.k8s.io/"
                         "v1','kind':'RoleBinding','metadata':{'name':'b','namespace':'ns'},"
                         "'roleRef':{'kind':'Role','name':'r'},'subjects':[{'kind':'User','name':'ann'}]}"));
#define GET_POD "'resourceAttributes':{'verb':'get','resource':'pods','namespace':'ns'}"
    static const char yes[] = "{\"allowed\":true,\"reason\":\"RBAC: allowed by RoleBinding \\\"b/ns\\\" of Role "
                              "\\\"r\\\" to User \\\"ann\\\"\"}";
    assert_string_equal(review("SelfSubjectAccessReview", "{'spec':{" GET_POD "}}", &ann, rbac), yes);
    assert_string_equal(review("SelfSubjectAccessReview", "{'spec':{" GET_POD "}}", &identity_anonymous, rbac),
                        "{\"allowed\":false}");
    assert_string_equal(review("SelfSubjectAccessReview", "{'spec':{" GET_POD "}}", &root, rbac), "{\"allowed\":true}");
    assert_string_equal(review("SubjectAccessReview", "{'spec':{'user':'ann'," GET_POD "}}", &root, rbac), yes);
    assert_string_equal(review("LocalSubjectAccessReview", "{'spec':{'user':'ann'," GET_POD "}}", &root, rbac), yes);
    assert_non_null(strstr(review("LocalSubjectAccessReview",
                                  "{'spec':{'user':'ann','resourceAttributes':{'namespace':'x'}}}", &root, rbac),
                           "namespace"));
    assert_non_null(strstr(review("SubjectAccessReview", "{'spec':{" GET_POD "}}", &root, rbac), "spec.user"));
    assert_non_null(strstr(review("SubjectAccessReview", "{'spec':{'user':'x'}}", &root, rbac), "exactly one"));
    assert_non_null(strstr(review("SelfSubjectAccessReview", "{}", &root, rbac), "exactly one"));
    assert_string_equal(review("SelfSubjectAccessReview", "{'spec':{'nonResourceAttributes':{}}}", &ann, rbac),
                        "{\"allowed\":false}");
    assert_string_equal(review("SelfSubjectRulesReview", "{'spec':{'namespace':'ns'}}", &ann, rbac),
                        "{\"resourceRules\":[{\"verbs\":[\"get\"],\"apiGroups\":[\"\"],\"resources\":[\"pods\"]}],"
                        "\"nonResourceRules\":[],"
                        "\"incomplete\":false}");
    assert_non_null(strstr(review("SelfSubjectRulesReview", "{'spec':{}}", &ann, rbac), "no namespace"));
    assert_non_null(
        strstr(review("SelfSubjectReview", "{}", &ann, rbac), "{\"userInfo\":{\"username\":\"ann\",\"uid\":\""));
    buf_fmt(&text, "{'spec':{'token':'%s'}}", token.p);
    assert_non_null(
        strstr(review("TokenReview", text.p, &root, rbac), "\"authenticated\":true,\"user\":{\"username\":\"ann\""));
    buf_reset(&text);
    buf_fmt(&text, "{'spec':{'token':'%s','audiences':['x']}}", account_token.p);
    assert_non_null(strstr(review("TokenReview", text.p, &root, rbac), "\"authenticated\":false"));
    assert_null(review_for(STR("Pod")));
    rbac_free(rbac);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(headers, begin, end),
        cmocka_unit_test_setup_teardown(websocket, begin, end),
        cmocka_unit_test_setup_teardown(certificates, begin, end),
        cmocka_unit_test_setup_teardown(sockets, begin, end),
        cmocka_unit_test_setup_teardown(as_somebody_else, begin, end),
        cmocka_unit_test_setup_teardown(hosts, begin, end),
        cmocka_unit_test_setup_teardown(reviews, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
