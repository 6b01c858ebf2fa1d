/* rbac.c - tests: what rules allow, in the words of Kubernetes, and against an evaluator that is too simple to be wrong */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "auth/rbac.h"

#include "api/meta.h"
#include "auth/test/place.h"
#include "base/rand.h"

static struct rbac *rbac;

static int begin(void **state)
{
    if (place_begin(state) < 0)
        return -1;
    rbac = rbac_new();
    return rbac_follow(rbac, here.store, NULL);
}

static int end(void **state)
{
    rbac_free(rbac);
    return place_end(state);
}

/* ---- short forms ---- */

#define HEAD(kind, meta) "{'apiVersion':'rbac.authorization.k8s.io/v1','kind':'" kind "','metadata':{" meta "},"

static struct identity who_is(const char *user, const char *groups)
{
    struct str rest = str_of(groups), g, v[8];
    size_t n = 0;

    while (groups[0] && str_split(&rest, ' ', &g))
        v[n++] = g;
    return identity_make(&here.arena, str_of(user), v, n, STR_NULL);
}

/* "get pods", "get pods/log p ns", "create jobs@batch.volcano.sh - ns", "get /healthz" */
static struct rbac_question question(const char *text)
{
    struct str rest = str_of(text), verb, what, name = STR_NULL, namespace = STR_NULL, resource, group;
    struct rbac_question q = { 0 };

    (void)str_split(&rest, ' ', &verb);
    (void)str_split(&rest, ' ', &what);
    (void)str_split(&rest, ' ', &name);
    (void)str_split(&rest, ' ', &namespace);
    q.verb = verb;
    if (what.p[0] == '/') {
        q.path = what;
        return q;
    }
    group = what;
    (void)str_split(&group, '@', &resource);
    q.group = group;
    q.subresource = resource;
    (void)str_split(&q.subresource, '/', &q.resource);
    q.name = str_is(name, "-") ? STR_NULL : name;
    q.namespace = namespace;
    return q;
}

static bool may(const char *user, const char *groups, const char *text)
{
    struct identity who = who_is(user, groups);
    struct rbac_question q = question(text);

    assert_int_equal(rbac_turn(rbac, NULL), 0);
    return rbac_allows(rbac, &who, &q);
}

static const char *why(const char *user, const char *groups, const char *text)
{
    struct identity who = who_is(user, groups);
    struct rbac_question q = question(text);
    struct rbac_verdict v;

    assert_int_equal(rbac_turn(rbac, NULL), 0);
    v = rbac_decide(rbac, &who, &q);
    return rbac_reason(rbac, &here.arena, &who, &q, &v).p;
}

static void drop(const char *kind, const char *namespace, const char *name)
{
    assert_int_equal(store_delete(here.store,
                                  &(struct object_key){ type_by_kind(STR(RBAC_GROUP "/v1"), str_of(kind)),
                                                        str_of(namespace), str_of(name) },
                                  &(struct store_delete_options){ 0 }, NULL, NULL),
                     0);
}

/* ---- rules ---- */

static void rules(void **state)
{
    static const struct {
        const char *rule, *ask;
        bool want;
    } cases[] = {
        { "'verbs':['get'],'apiGroups':[''],'resources':['pods']", "get pods p ns", true },
        { "'verbs':['get'],'apiGroups':[''],'resources':['pods']", "list pods - ns", false },
        { "'verbs':['get'],'apiGroups':[''],'resources':['pods']", "get pods/log p ns", false },
        { "'verbs':['get'],'apiGroups':['apps'],'resources':['pods']", "get pods p ns", false },
        { "'verbs':['*'],'apiGroups':['*'],'resources':['*']", "dance jobs/leap@x.y n ns", true },
        { "'verbs':['*'],'apiGroups':['*'],'resources':['*']", "get /healthz", false },
        { "'verbs':['get'],'apiGroups':[''],'resources':['*']", "get pods/log p ns", true },
        { "'verbs':['get'],'apiGroups':[''],'resources':['pods/*']", "get pods/log p ns", false },
        { "'verbs':['get'],'apiGroups':[''],'resources':['*/log']", "get pods/log p ns", true },
        { "'verbs':['get'],'apiGroups':[''],'resources':['*/log']", "get pods p ns", false },
        { "'verbs':['get'],'apiGroups':[''],'resources':['*/og']", "get pods/log p ns", false },
        { "'verbs':['get'],'apiGroups':[''],'resources':['pods/log']", "get pods/log p ns", true },
        { "'verbs':['get'],'apiGroups':[''],'resources':['pods'],'resourceNames':['p']", "get pods p ns", true },
        { "'verbs':['get'],'apiGroups':[''],'resources':['pods'],'resourceNames':['p']", "get pods q ns", false },
        { "'verbs':['list'],'apiGroups':[''],'resources':['pods'],'resourceNames':['p']", "list pods - ns", false },
        { "'verbs':['get'],'apiGroups':[''],'resources':['pods'],'resourceNames':['*']", "get pods p ns", false },
        { "'verbs':['sign'],'apiGroups':[''],'resources':['pods']", "sign pods p ns", true },
        { "'verbs':['Get'],'apiGroups':[''],'resources':['pods']", "get pods p ns", false },
        { "'verbs':['get'],'nonResourceURLs':['/healthz']", "get /healthz", true },
        { "'verbs':['get'],'nonResourceURLs':['/healthz']", "get /healthz/", false },
        { "'verbs':['get'],'nonResourceURLs':['/healthz/*']", "get /healthz/x/y", true },
        { "'verbs':['get'],'nonResourceURLs':['/healthz/*']", "get /healthz", false },
        { "'verbs':['get'],'nonResourceURLs':['/h**']", "get /hello", true },
        { "'verbs':['get'],'nonResourceURLs':['/*/z']", "get /a/z", false },
        { "'verbs':['get'],'nonResourceURLs':['*']", "post /a", false },
        { "'verbs':[],'apiGroups':['*'],'resources':['*']", "get pods p ns", false },
        { "'verbs':'*','apiGroups':'*','resources':'*'", "get pods p ns", false },
    };

    (void)state;
    put(HEAD("ClusterRoleBinding",
             "'name':'b'") "'roleRef':{'kind':'ClusterRole','name':'r'},'subjects':[{'kind':'User','name':'ann'}]}");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        put(arena_fmt(&here.arena, HEAD("ClusterRole", "'name':'r'") "'rules':[{%s}]}", cases[i].rule).p);
        if (may("ann", "", cases[i].ask) != cases[i].want)
            fail_msg("{%s}: %s", cases[i].rule, cases[i].ask);
        assert_false(may("bob", "", cases[i].ask));
        assert_true(may("bob", "system:masters", cases[i].ask));
        drop("ClusterRole", "", "r");
        assert_false(may("ann", "", cases[i].ask));
    }
}

#define GET_PODS "'rules':[{'verbs':['get'],'apiGroups':[''],'resources':['pods']}]}"
#define GET_ALL                                                                                                        \
    "'rules':[{'verbs':['get'],'apiGroups':[''],'resources':['*']},{'verbs':['get'],'nonResourceURLs':['*']}]}"

static void bindings(void **state)
{
    (void)state;
    put(HEAD("Role", "'name':'r','namespace':'a'") GET_PODS);
    put(HEAD("ClusterRole", "'name':'r'") GET_ALL);
    put(HEAD("RoleBinding", "'name':'role','namespace':'a'") "'roleRef':{'kind':'Role','name':'r'},"
                                                             "'subjects':[{'kind':'Group','name':'dev'},{'kind':'"
                                                             "ServiceAccount','name':'bot'}]}");
    put(HEAD(
        "RoleBinding",
        "'name':'cluster','namespace':'b'") "'roleRef':{'kind':'ClusterRole','name':'r'},"
                                            "'subjects':[{'kind':'User','name':'ann'},{'kind':'User','name':'ann'}]}");
    put(HEAD("ClusterRoleBinding", "'name':'c'") "'roleRef':{'kind':'ClusterRole','name':'r'},"
                                                 "'subjects':[{'kind':'ServiceAccount','name':'nowhere'},{'kind':'"
                                                 "ServiceAccount','name':'s','namespace':'k'}]}");
    put(HEAD(
        "RoleBinding",
        "'name':'lost','namespace':'b'") "'roleRef':{'kind':'Role','name':'r'},"
                                         "'subjects':[{'kind':'User','name':'bob'},{'kind':'Robot','name':'eve'}]}");
    assert_true(may("x", "other dev", "get pods p a"));
    assert_false(may("x", "other dev", "get pods p b"));
    assert_false(may("dev", "", "get pods p a")); /* a user of a group's name */
    assert_true(may("system:serviceaccount:a:bot", "", "get pods p a"));
    assert_false(may("system:serviceaccount:b:bot", "", "get pods p a"));
    assert_true(may("ann", "", "get secrets s b"));
    assert_false(may("ann", "", "get secrets s a") || may("ann", "", "get nodes n") || may("ann", "", "get /x"));
    assert_true(may("system:serviceaccount:k:s", "", "get nodes n") && may("system:serviceaccount:k:s", "", "get /x"));
    assert_false(may("system:serviceaccount::nowhere", "", "get nodes n"));
    assert_false(may("bob", "", "get pods p b") ||
                 may("eve", "", "get pods p b")); /* the role is in another namespace */
    assert_string_equal(why("x", "dev", "get pods p a"),
                        "RBAC: allowed by RoleBinding \"role/a\" of Role \"r\" to Group \"dev\"");
    assert_string_equal(why("system:serviceaccount:a:bot", "", "get pods p a"),
                        "RBAC: allowed by RoleBinding \"role/a\" of Role \"r\" to ServiceAccount \"bot/a\"");
    assert_string_equal(why("system:serviceaccount:k:s", "", "get nodes n"),
                        "RBAC: allowed by ClusterRoleBinding \"c\" of ClusterRole \"r\" to ServiceAccount \"s/k\"");
    assert_string_equal(why("bob", "", "get pods p b"), "RBAC: role.rbac.authorization.k8s.io \"r\" not found");
    assert_string_equal(why("x", "", "get pods p b"), "");
    put(HEAD("Role", "'name':'r','namespace':'b'") GET_PODS); /* it comes later */
    assert_true(may("bob", "", "get pods p b"));
    drop("RoleBinding", "b", "lost");
    assert_false(may("bob", "", "get pods p b"));
}

static void sentences(void **state)
{
    struct identity who = who_is("x \"y\"", "");
    static const struct {
        const char *ask, *want;
    } cases[] = {
        { "list pods - default",
          "pods is forbidden: User \"x \\\"y\\\"\" cannot list resource \"pods\" in API group \"\" in "
          "the namespace \"default\"" },
        { "get jobs/status@batch.volcano.sh j ns", "jobs.batch.volcano.sh \"j\" is forbidden: User \"x \\\"y\\\"\" "
                                                   "cannot get resource \"jobs/status\" in API group "
                                                   "\"batch.volcano.sh\" in the namespace \"ns\"" },
        { "get nodes n",
          "nodes \"n\" is forbidden: User \"x \\\"y\\\"\" cannot get resource \"nodes\" in API group \"\" at the "
          "cluster scope" },
        { "get /metrics", "forbidden: User \"x \\\"y\\\"\" cannot get path \"/metrics\"" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct rbac_question q = question(cases[i].ask);

        assert_string_equal(rbac_forbidden(&here.arena, &who, &q, STR_NULL).p, cases[i].want);
        assert_non_null(
            strstr(print(rbac_forbidden_status(&here.arena, &who, &q, STR("why"))), "why\",\"reason\":\"Forbidden\""));
    }
}

/* ---- aggregates ---- */

static void aggregates(void **state)
{
    (void)state;
    put(HEAD("ClusterRoleBinding",
             "'name':'b'") "'roleRef':{'kind':'ClusterRole','name':'top'},'subjects':[{'kind':'User','name':'ann'}]}");
    put(HEAD("ClusterRole",
             "'name':'top'") "'rules':[{'verbs':['*'],'apiGroups':['*'],'resources':['*']}],"
                             "'aggregationRule':{'clusterRoleSelectors':[{'matchLabels':{'to':'top'}}]}}");
    assert_false(may("ann", "", "get pods p ns")); /* its own rules do not count */
    put(HEAD("ClusterRole", "'name':'leaf','labels':{'to':'middle'}") GET_PODS);
    put(HEAD("ClusterRole", "'name':'middle','labels':{'to':'top'}") "'aggregationRule':{'clusterRoleSelectors':["
                                                                     "{'matchLabels':{'to':'middle'}},{'matchLabels':{'"
                                                                     "to':'top'}}]}}"); /* itself too */
    assert_true(may("ann", "", "get pods p ns"));
    put(HEAD("ClusterRole",
             "'name':'ring','labels':{'to':'middle'}") "'aggregationRule':{'clusterRoleSelectors':["
                                                       "{'matchExpressions':[{'key':'to','operator':'Exists'}]}]}}");
    assert_true(may("ann", "", "get pods p ns"));
    assert_int_equal(json_count(rbac_aggregated(rbac, &here.arena, STR("ring"))), 1);
    assert_null(rbac_aggregated(rbac, &here.arena, STR("leaf")));
    drop("ClusterRole", "", "leaf");
    assert_false(may("ann", "", "get pods p ns"));
    put(HEAD("ClusterRole", "'name':'leaf','labels':{'of':'nobody'}") GET_PODS);
    assert_false(may("ann", "", "get pods p ns"));
}

/* ---- the beginning ---- */

static void defaults(void **state)
{
    static const struct {
        const char *role, *can, *cannot;
    } cases[] = {
        { "view", "get pods p ns", "get secrets s ns" },
        { "view", "watch jobs@batch.volcano.sh - ns", "create jobs@batch.volcano.sh - ns" },
        { "view", "get pods/log p ns", "create pods/exec p ns" },
        { "edit", "create jobs@batch.volcano.sh - ns", "create rolebindings@rbac.authorization.k8s.io - ns" },
        { "edit", "create pods/exec p ns", "create nodes" },
        { "edit", "get secrets s ns", "update namespaces n" },
        { "edit", "create commands@bus.volcano.sh - ns", "create queues@scheduling.volcano.sh" },
        { "edit", "create jobflows@flow.volcano.sh - ns", "patch pods/status p ns" },
        { "edit", "get pods p ns", "impersonate users u" },
        { "admin", "create rolebindings@rbac.authorization.k8s.io - ns", "create resourcequotas - ns" },
        { "admin", "deletecollection jobs@batch.volcano.sh - ns", "escalate roles@rbac.authorization.k8s.io r ns" },
        { "cluster-admin", "dance anything@any.where x ns", NULL },
        { "cluster-admin", "get /metrics", NULL },
    };

    (void)state;
    assert_int_equal(rbac_make_defaults(here.store, NULL), 0);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        put(arena_fmt(&here.arena,
                      HEAD("ClusterRoleBinding", "'name':'b'") "'roleRef':{'kind':'ClusterRole','name':'%s'},"
                                                               "'subjects':[{'kind':'User','name':'ann'}]}",
                      cases[i].role)
                .p);
        if (!may("ann", "", cases[i].can))
            fail_msg("%s cannot %s", cases[i].role, cases[i].can);
        if (cases[i].cannot && may("ann", "", cases[i].cannot))
            fail_msg("%s can %s", cases[i].role, cases[i].cannot);
        drop("ClusterRoleBinding", "", "b");
    }
    assert_true(may("x", "system:authenticated", "get /apis/batch.volcano.sh/v1alpha1"));
    assert_true(may("x", "system:authenticated", "create selfsubjectaccessreviews@authorization.k8s.io"));
    assert_true(may("x", "system:unauthenticated", "get /healthz") && may("x", "system:unauthenticated", "get /ui/"));
    assert_false(may("x", "system:unauthenticated", "get /apis") || may("x", "system:unauthenticated", "get /metrics"));
    assert_false(may("x", "system:authenticated", "get pods p default"));
}

static void defaults_are_kept_up(void **state)
{
    uint64_t rev;

    (void)state;
    put(HEAD("ClusterRole", "'name':'system:basic-user'") GET_PODS); /* somebody's own rule, and ours are missing */
    put(HEAD("ClusterRole",
             "'name':'system:discovery','annotations':{'rbac.authorization.kubernetes.io/autoupdate':'false'}")
            GET_PODS);
    assert_int_equal(rbac_make_defaults(here.store, NULL), 0);
    assert_true(may("x", "system:authenticated", "get pods p ns"));
    assert_true(may("x", "system:authenticated", "create selfsubjectreviews@authentication.k8s.io"));
    assert_false(may("x", "system:authenticated", "get /apis"));
    rev = store_revision(here.store);
    assert_int_equal(rbac_make_defaults(here.store, NULL), 0);
    assert_int_equal(store_revision(here.store), rev);
}

/* ---- giving ---- */

static const char *give(const char *object, const char *old)
{
    struct identity who = who_is("ann", "dev system:authenticated");
    struct err e = { 0 };

    assert_int_equal(rbac_turn(rbac, NULL), 0);
    return rbac_check_write(rbac, &here.arena, &(struct rbac_write){ &who, parse(object), old ? parse(old) : NULL },
                            &e) < 0
               ? arena_str(&here.arena, str_of(e.text)).p
               : "";
}

static void giving(void **state)
{
    static const char mine[] = HEAD("Role",
                                    "'name':'m','namespace':'ns'") "'rules':[{'verbs':['get','list'],'apiGroups':[''],'"
                                                                   "resources':['pods'],'resourceNames':['p','q']}]}";
    static const char more[] = HEAD(
        "Role", "'name':'m','namespace':'ns'") "'rules':[{'verbs':['get','delete','watch'],'apiGroups':['','apps'],'"
                                               "resources':['pods','pods/log']}]}";
    static const char cluster[] = HEAD(
        "ClusterRole", "'name':'m'") "'rules':[{'verbs':['get'],'apiGroups':[''],'resources':['pods']}]}";
    static const char bind[] = HEAD("RoleBinding",
                                    "'name':'m','namespace':'ns'") "'roleRef':{'kind':'ClusterRole','name':'all'},'"
                                                                   "subjects':[{'kind':'User','name':'ann'}]}";

    (void)state;
    put(HEAD("ClusterRole", "'name':'all'") "'rules':[{'verbs':['*'],'apiGroups':['*'],'resources':['*']}]}");
    put(HEAD("Role", "'name':'r','namespace':'ns'") "'rules':[{'verbs':['get','list'],'apiGroups':[''],'resources':['"
                                                    "pods','*/log']}]}");
    put(HEAD("RoleBinding", "'name':'b','namespace':'ns'") "'roleRef':{'kind':'Role','name':'r'},'subjects':[{'kind':'"
                                                           "User','name':'ann'}]}");
    assert_string_equal(give(mine, NULL), "");
    assert_string_equal(give(more, NULL),
                        "roles.rbac.authorization.k8s.io \"m\" is forbidden: user \"ann\" (groups=[\"dev\" "
                        "\"system:authenticated\"]) is attempting "
                        "to grant RBAC permissions not currently held:\n"
                        "{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"delete\" \"watch\"]}\n"
                        "{APIGroups:[\"\"], Resources:[\"pods/log\"], Verbs:[\"delete\" \"watch\"]}\n"
                        "{APIGroups:[\"apps\"], Resources:[\"pods\"], Verbs:[\"get\" \"delete\" \"watch\"]}\n"
                        "{APIGroups:[\"apps\"], Resources:[\"pods/log\"], Verbs:[\"get\" \"delete\" \"watch\"]}");
    assert_string_equal(give(more, more), "");                     /* labels may be changed by whoever may write it */
    assert_non_null(strstr(give(cluster, NULL), "is attempting")); /* what he has in a namespace is not everywhere */
    assert_non_null(strstr(give(bind, NULL), "{APIGroups:[\"*\"], Resources:[\"*\"], Verbs:[\"*\"]}"));
    assert_string_equal(
        give(HEAD("RoleBinding", "'name':'m','namespace':'ns'") "'roleRef':{'kind':'Role','name':'r'},'subjects':[{'"
                                                                "kind':'User','name':'bob'}]}",
             NULL),
        "");
    assert_string_equal(
        give(
            HEAD("RoleBinding", "'name':'m','namespace':'ns'") "'roleRef':{'kind':'Role','name':'lost'},'subjects':[]}",
            NULL),
        "roles.rbac.authorization.k8s.io \"lost\" not found");
    assert_non_null(
        strstr(give(HEAD("ClusterRole", "'name':'m'") "'aggregationRule':{'clusterRoleSelectors':[]}}", NULL),
               "must have cluster-admin privileges"));
    put(HEAD(
        "Role",
        "'name':'binder','namespace':'ns'") "'rules':[{'verbs':['bind'],'apiGroups':['rbac.authorization.k8s.io'],"
                                            "'resources':['clusterroles'],'resourceNames':['all']},{'verbs':['escalate'"
                                            "],'apiGroups':['rbac.authorization.k8s.io'],'resources':['roles']}]}");
    put(HEAD("RoleBinding", "'name':'binder','namespace':'ns'") "'roleRef':{'kind':'Role','name':'binder'},'subjects':["
                                                                "{'kind':'User','name':'ann'}]}");
    assert_string_equal(give(bind, NULL), "");
    assert_string_equal(give(more, NULL), "");
    assert_non_null(strstr(give(cluster, NULL), "is attempting"));
}

static void admission(void **state)
{
    static const struct {
        const char *object, *want;
    } cases[] = {
        { HEAD("Role", "'name':'r'") "'rules':[{'verbs':['get'],'apiGroups':[''],'resources':['pods']}]}", "" },
        { HEAD("Role", "'name':'r'") "'rules':[{'verbs':[],'apiGroups':[''],'resources':['pods']}]}",
          "rules[0].verbs" },
        { HEAD("Role", "'name':'r'") "'rules':[{'verbs':['get'],'nonResourceURLs':['/x']}]}",
          "rules[0].nonResourceURLs" },
        { HEAD("ClusterRole",
               "'name':'r'") "'rules':[{'verbs':['get'],'nonResourceURLs':['/x'],'resources':['pods']}]}",
          "both" },
        { HEAD("ClusterRole", "'name':'r'") "'rules':[{'verbs':['get'],'resources':['pods']}]}", "rules[0].apiGroups" },
        { HEAD("ClusterRole", "'name':'r'") "'rules':[{'verbs':['get'],'apiGroups':['']}]}", "rules[0].resources" },
        { HEAD("RoleBinding",
               "'name':'r'") "'roleRef':{'kind':'Role','name':'x'},'subjects':[{'kind':'User','name':'u'}]}",
          "" },
        { HEAD("RoleBinding", "'name':'r'") "'roleRef':{'kind':'Pod','name':'x'}}", "roleRef.kind" },
        { HEAD("ClusterRoleBinding", "'name':'r'") "'roleRef':{'kind':'Role','name':'x'}}", "roleRef.kind" },
        { HEAD("RoleBinding", "'name':'r'") "'roleRef':{'kind':'Role','name':'a/b'}}", "roleRef.name" },
        { HEAD("RoleBinding",
               "'name':'r'") "'roleRef':{'kind':'Role','name':'x'},'subjects':[{'kind':'Robot','name':'u'}]}",
          "subjects[0].kind" },
        { HEAD("RoleBinding", "'name':'r'") "'roleRef':{'kind':'Role','name':'x'},'subjects':[{'kind':'User','name':'u'"
                                            ",'apiGroup':'x'}]}",
          "subjects[0].apiGroup" },
        { HEAD("ClusterRoleBinding", "'name':'r'") "'roleRef':{'kind':'ClusterRole','name':'x'},'subjects':[{'kind':'"
                                                   "ServiceAccount','name':'u'}]}",
          "subjects[0].namespace" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct json *object = parse(cases[i].object);
        struct problems ps = { .arena = &here.arena };
        struct str text;

        rbac_admit_defaults(&here.arena, object);
        rbac_admit_check(&(struct place){ .node = object }, NULL, &ps);
        text = problems_join(&here.arena, &ps);
        if (cases[i].want[0] ? !str_has(text, str_of(cases[i].want)) : ps.n_errors > 0)
            fail_msg("%s: %.*s", cases[i].object, STR_ARG(text));
    }
    struct json *now = parse(HEAD("RoleBinding", "'name':'r'") "'roleRef':{'kind':'Role','name':'x'}}");
    struct json *old = parse(HEAD("RoleBinding", "'name':'r'") "'roleRef':{'kind':'Role','name':'y'}}");
    struct problems ps = { .arena = &here.arena };
    rbac_admit_defaults(&here.arena, now);
    rbac_admit_defaults(&here.arena, old);
    rbac_admit_check(&(struct place){ .node = now }, old, &ps);
    assert_true(str_has(problems_join(&here.arena, &ps), STR("cannot change roleRef")));
}

/* ---- against an evaluator without any index ---- */

static bool lists(const struct json *list, struct str word)
{
    JSON_FOREACH(j, list)
        if (str_eq(json_text(j, STR_NULL), word))
            return true;
    return false;
}

static bool naive_rule(const struct json *rule, const struct rbac_question *q)
{
    struct str combined = q->subresource.n
                              ? arena_fmt(&here.arena, "%.*s/%.*s", STR_ARG(q->resource), STR_ARG(q->subresource))
                              : q->resource;
    const struct json *names = json_get(rule, "resourceNames");

    if (!lists(json_get(rule, "verbs"), STR("*")) && !lists(json_get(rule, "verbs"), q->verb))
        return false;
    if (q->path.n) {
        JSON_FOREACH(j, json_get(rule, "nonResourceURLs")) {
            struct str url = json_text(j, STR_NULL);

            if (str_eq(url, q->path) || (str_ends(url, STR("*")) && str_starts(q->path, str_sub(url, 0, url.n - 1))))
                return true;
        }
        return false;
    }
    return (lists(json_get(rule, "apiGroups"), STR("*")) || lists(json_get(rule, "apiGroups"), q->group)) &&
           (lists(json_get(rule, "resources"), STR("*")) || lists(json_get(rule, "resources"), combined) ||
            (q->subresource.n &&
             lists(json_get(rule, "resources"), arena_fmt(&here.arena, "*/%.*s", STR_ARG(q->subresource))))) &&
           (!json_count(names) || lists(names, q->name));
}

struct naive {
    const struct identity *who;
    const struct rbac_question *q;
    bool is_allowed;
};

static void naive_binding(void *ctx, const struct object *o)
{
    struct naive *n = ctx;
    const struct json *ref = json_get(o->root, "roleRef");
    bool is_cluster = str_is(json_member_text(ref, "kind"), "ClusterRole"), applies = false;
    const struct object *role;

    if (o->namespace.n && (n->q->path.n || !str_eq(o->namespace, n->q->namespace)))
        return;
    JSON_FOREACH(s, json_get(o->root, "subjects")) {
        struct str kind = json_member_text(s, "kind"), name = json_member_text(s, "name");
        struct str home = json_member_text(s, "namespace").n ? json_member_text(s, "namespace") : o->namespace;

        applies |= str_is(kind, "User") && str_eq(name, n->who->user);
        applies |= str_is(kind, "Group") && identity_has_group(n->who, name);
        applies |= str_is(kind, "ServiceAccount") && home.n &&
                   str_eq(n->who->user,
                          arena_fmt(&here.arena, "system:serviceaccount:%.*s:%.*s", STR_ARG(home), STR_ARG(name)));
    }
    if (!applies || (!is_cluster && !o->namespace.n))
        return;
    role = store_get(here.store, type_by_kind(STR(RBAC_GROUP "/v1"), is_cluster ? STR("ClusterRole") : STR("Role")),
                     o->namespace, json_member_text(ref, "name"));
    JSON_FOREACH(rule, role ? json_get(role->root, "rules") : NULL)
        n->is_allowed |= naive_rule(rule, n->q);
}

static bool naive_allows(const struct identity *who, const struct rbac_question *q)
{
    struct naive n = { who, q, identity_has_group(who, STR("system:masters")) };

    store_list(here.store, type_by_kind(STR(RBAC_GROUP "/v1"), STR("ClusterRoleBinding")), STR_NULL, naive_binding, &n);
    store_list(here.store, type_by_kind(STR(RBAC_GROUP "/v1"), STR("RoleBinding")), STR_NULL, naive_binding, &n);
    return n.is_allowed;
}

static const char *pick(struct rand *r, const char *words)
{
    struct str rest = str_of(words), word = STR_NULL;
    size_t n = 1;

    for (const char *p = words; *p; p++)
        n += *p == ' ';
    for (uint64_t i = rand_below(r, n) + 1; i > 0; i--)
        (void)str_split(&rest, ' ', &word);
    return str_is(word, ".") ? "" : arena_cstr(&here.arena, word);
}

static const char *some(struct rand *r, const char *words, unsigned most)
{
    autobuf b = { 0 };

    buf_char(&b, '[');
    for (uint64_t n = rand_below(r, 2 * most + 1); n > 0; n--)
        buf_fmt(&b, "%s'%s'", b.n > 1 ? "," : "", pick(r, words));
    buf_char(&b, ']');
    return arena_cstr(&here.arena, buf_view(&b));
}

#define VERBS     "get list watch create dance * escalate"
#define GROUPS    ". apps batch.volcano.sh *"
#define RESOURCES "pods pods/log jobs jobs/log */log * secrets"
#define NAMES     "p q * ."
#define URLS      "/a /a/b /a/* /* * /a*"
#define SPACES    "a b"

static const char *random_role(struct rand *r, bool is_cluster)
{
    autobuf b = { 0 };

    buf_fmt(&b, "{'apiVersion':'rbac.authorization.k8s.io/v1','kind':'%s','metadata':{'name':'r%u'%s%s%s},'rules':[",
            is_cluster ? "ClusterRole" : "Role", (unsigned)rand_below(r, 4), is_cluster ? "" : ",'namespace':'",
            is_cluster ? "" : pick(r, SPACES), is_cluster ? "" : "'");
    for (uint64_t n = rand_below(r, 5); n > 0; n--)
        if (rand_chance(r, 1, 4))
            buf_fmt(&b, "{'verbs':%s,'nonResourceURLs':%s},", some(r, VERBS, 2), some(r, URLS, 2));
        else
            buf_fmt(&b, "{'verbs':%s,'apiGroups':%s,'resources':%s,'resourceNames':%s},", some(r, VERBS, 2),
                    some(r, GROUPS, 2), some(r, RESOURCES, 2), rand_chance(r, 2, 3) ? "[]" : some(r, NAMES, 2));
    if (b.p[b.n - 1] == ',')
        b.n--;
    buf_fmt(&b, "]}");
    return arena_cstr(&here.arena, buf_view(&b));
}

static const char *random_binding(struct rand *r, bool is_cluster)
{
    autobuf b = { 0 };

    buf_fmt(&b,
            "{'apiVersion':'rbac.authorization.k8s.io/"
            "v1','kind':'%s','metadata':{'name':'b%u'%s%s%s},'roleRef':{'kind':'%s','name':'r%u'},'subjects':[",
            is_cluster ? "ClusterRoleBinding" : "RoleBinding", (unsigned)rand_below(r, 6),
            is_cluster ? "" : ",'namespace':'", is_cluster ? "" : pick(r, SPACES), is_cluster ? "" : "'",
            rand_chance(r, 1, 2) ? "ClusterRole" : "Role", (unsigned)rand_below(r, 5));
    for (uint64_t n = rand_below(r, 6); n > 0; n--) {
        const char *kind = pick(r, "User Group ServiceAccount");

        buf_fmt(&b, "{'kind':'%s','name':'%s'%s},", kind, pick(r, "ann bob dev ops s"),
                strcmp(kind, "ServiceAccount") == 0 && rand_chance(r, 1, 2) ? ",'namespace':'b'" : "");
    }
    if (b.p[b.n - 1] == ',')
        b.n--;
    buf_fmt(&b, "]}");
    return arena_cstr(&here.arena, buf_view(&b));
}

static void change_something(struct rand *r)
{
    bool is_cluster = rand_chance(r, 1, 2);
    struct json *body = parse(rand_chance(r, 1, 2) ? random_role(r, is_cluster) : random_binding(r, is_cluster));
    const struct resource_type *type = type_by_kind(object_api_version(body), object_kind(body));
    const struct object *have = store_get(here.store, type, object_namespace(body), object_name(body));
    struct err e;

    if (!have)
        assert_int_equal(store_create(here.store, body, NULL, &e), 0);
    else if (rand_chance(r, 1, 4))
        assert_int_equal(store_delete(here.store,
                                      &(struct object_key){ type, object_namespace(body), object_name(body) },
                                      &(struct store_delete_options){ 0 }, NULL, &e),
                         0);
    else if (store_update(here.store, body, STORE_MAIN, NULL, &e) < 0)
        fail_msg("%s", e.text);
}

static void like_the_simple_one(void **state)
{
    struct rand r;
    unsigned allowed = 0, asked = 0;

    rand_seed(&r, 42);
    for (unsigned turn = 0; turn < 3000; turn++) {
        change_something(&r);
        if (turn % 100 == 99) { /* and over a gap in the history */
            change_something(&r);
            store_compact(here.store, store_revision(here.store));
        }
        assert_int_equal(rbac_turn(rbac, NULL), 0);
        for (unsigned i = 0; i < 8; i++, asked++) {
            struct identity who = who_is(
                pick(&r, "ann bob eve system:serviceaccount:a:s system:serviceaccount:b:s system:serviceaccount:a:dev"),
                pick(&r, "dev ops none ann"));
            struct rbac_question q = { .verb = str_of(pick(&r, VERBS)) };
            bool is;

            if (rand_chance(&r, 1, 5))
                q.path = str_of(pick(&r, "/a /a/b /a/b/c /b /ab"));
            q.group = str_of(pick(&r, GROUPS));
            q.resource = str_of(pick(&r, "pods jobs secrets nodes"));
            q.subresource = str_of(pick(&r, ". . log status"));
            q.name = str_of(pick(&r, NAMES));
            q.namespace = str_of(pick(&r, ". a b c"));
            is = rbac_allows(rbac, &who, &q);
            if (is != naive_allows(&who, &q))
                fail_msg("turn %u: %.*s is %s: %.*s", turn, STR_ARG(who.user), is ? "allowed" : "not allowed",
                         STR_ARG(rbac_sentence(&here.arena, &who, &q)));
            allowed += is;
        }
        arena_reset(&here.arena);
    }
    if (allowed < asked / 20 || allowed > asked / 2) /* it asks something */
        fail_msg("%u of %u are allowed", allowed, asked);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rules, begin, end),
        cmocka_unit_test_setup_teardown(bindings, begin, end),
        cmocka_unit_test_setup_teardown(sentences, begin, end),
        cmocka_unit_test_setup_teardown(aggregates, begin, end),
        cmocka_unit_test_setup_teardown(defaults, begin, end),
        cmocka_unit_test_setup_teardown(defaults_are_kept_up, begin, end),
        cmocka_unit_test_setup_teardown(giving, begin, end),
        cmocka_unit_test_setup_teardown(admission, begin, end),
        cmocka_unit_test_setup_teardown(like_the_simple_one, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
