/* runas.c - tests: whose pods run as whom, and what they may not ask for */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "api/meta.h"
#include "api/pod/security.h"
#include "auth/runas.h"

#include "auth/test/place.h"

static struct runas_policy *policy(const char *text, struct problems *ps)
{
    *ps = (struct problems){ .arena = &here.arena };
    struct json *root = parse(text);
    struct place at = { .node = root }, jobs = place_member(&at, "jobs");

    return runas_parse(&here.arena, &jobs, ps);
}

static const char rules[] =
    "{'jobs':[{'users':['ann'],'namespaces':['lab'],'runAs':'own','paths':['/home/ann']},"
    "{'groups':['students'],'runAs':{'uid':2000,'gid':2001}},{'groups':['operators'],'runAs':'any'},"
    "{'users':['guest'],'runAs':'nobody'}]}";

static struct identity who_is(const char *user, const char *group, const char *uid)
{
    struct str g = str_of(group);
    struct identity who = identity_make(&here.arena, str_of(user), &g, g.n ? 1 : 0, STR_NULL);

    identity_add_extra(&here.arena, &who, RUNAS_UID_EXTRA, str_of(uid));
    return who;
}

/* The mode, and what is wrong. */
static const char *decide(const struct identity *who, const char *namespace, const char *pod)
{
    struct problems ps;
    struct runas_policy *p = policy(rules, &ps);
    struct json *root = parse(pod);
    struct place at = { .node = root };
    struct runas_decision d = runas_decide(p, who, str_of(namespace), &at, &ps);

    return arena_fmt(&here.arena, "%s %lld:%lld %.*s", runas_mode_name(d.mode), (long long)d.uid, (long long)d.gid,
                     STR_ARG(problems_join(&here.arena, &ps)))
        .p;
}

static const char plain[] = "{'spec':{'containers':[{'name':'c'}]}}";

static void modes(void **state)
{
    struct identity ann = who_is("ann", "", "54321"), rootly = who_is("ann", "", "0"), lost = who_is("ann", "", "");
    struct identity student = who_is("joe", "students", ""), chief = who_is("op", "operators", ""),
                    guest = who_is("guest", "", "");
    struct identity admin = who_is("adm", GROUP_MASTERS, "");

    (void)state;
    assert_string_equal(decide(&ann, "lab", plain), "user 54321:54321 ");
    assert_non_null(strstr(decide(&ann, "other", plain), "restricted 0:0 spec."));
    assert_non_null(strstr(decide(&rootly, "lab", plain), "nobody 0:0 spec: ann has no UNIX user"));
    assert_non_null(strstr(decide(&lost, "lab", plain), "spec: ann has no UNIX user"));
    assert_string_equal(decide(&student, "lab", plain), "user 2000:2001 ");
    assert_string_equal(
        decide(&chief, "lab",
               "{'spec':{'hostPID':true,'containers':[{'name':'c','securityContext':{'privileged':true}}]}}"),
        "any 0:0 ");
    assert_string_equal(decide(&guest, "lab", plain), "nobody 0:0 spec: guest may not run pods on this machine");
    assert_string_equal(decide(&admin, "lab", plain), "any 0:0 ");
}

static void fields(void **state)
{
    static const struct {
        const char *pod, *want; /* NULL: it is fine */
    } cases[] = {
        { "{'spec':{'securityContext':{'runAsUser':2000,'runAsGroup':2001,'fsGroup':2001},'containers':[{'name':'c'}]}"
          "}",
          NULL },
        { "{'spec':{'securityContext':{'runAsUser':0},'containers':[{'name':'c'}]}}",
          "spec.securityContext.runAsUser: must be absent or 2000" },
        { "{'spec':{'securityContext':{'runAsGroup':0},'containers':[{'name':'c'}]}}",
          "spec.securityContext.runAsGroup" },
        { "{'spec':{'securityContext':{'fsGroup':4},'containers':[{'name':'c'}]}}", "spec.securityContext.fsGroup" },
        { "{'spec':{'securityContext':{'supplementalGroups':[2001,27]},'containers':[{'name':'c'}]}}",
          "spec.securityContext.supplementalGroups[1]" },
        { "{'spec':{'containers':[{'name':'c','securityContext':{'runAsUser':1}}]}}",
          "spec.containers[0].securityContext.runAsUser" },
        { "{'spec':{'initContainers':[{'name':'c','securityContext':{'runAsUser':'2000'}}]}}",
          "spec.initContainers[0].securityContext.runAsUser" },
        { "{'spec':{'containers':[{'name':'c','securityContext':{'privileged':true}}]}}",
          "spec.containers[0].securityContext.privileged" },
        { "{'spec':{'containers':[{'name':'c','securityContext':{'allowPrivilegeEscalation':true}}]}}",
          "allowPrivilegeEscalation" },
        { "{'spec':{'containers':[{'name':'c','securityContext':{'capabilities':{'add':['SYS_ADMIN']}}}]}}",
          "capabilities.add" },
        { "{'spec':{'hostNetwork':true,'containers':[{'name':'c'}]}}", "spec.hostNetwork" },
        { "{'spec':{'volumes':[{'name':'v','hostPath':{'path':'/etc'}}],'containers':[{'name':'c'}]}}",
          "spec.volumes[0].hostPath" },
    };
    struct identity student = who_is("joe", "students", ""), ann = who_is("ann", "", "54321");

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *got = decide(&student, "lab", cases[i].pod);

        if (cases[i].want ? !strstr(got, cases[i].want) : strcmp(got, "user 2000:2001 ") != 0)
            fail_msg("%s: %s", cases[i].pod, got);
    }
#define WITH_PATH(p) "{'spec':{'volumes':[{'name':'v','hostPath':{'path':'" p "'}}],'containers':[{'name':'c'}]}}"
    assert_string_equal(decide(&ann, "lab", WITH_PATH("/home/ann")), "user 54321:54321 ");
    assert_string_equal(decide(&ann, "lab", WITH_PATH("/home/ann/data")), "user 54321:54321 ");
    assert_non_null(strstr(decide(&ann, "lab", WITH_PATH("/home/anna")), "hostPath"));
    assert_non_null(strstr(decide(&ann, "lab", WITH_PATH("/home/ann/../bob")), "hostPath"));
    assert_non_null(strstr(decide(&ann, "lab", WITH_PATH("")), "hostPath"));
}

static void applied(void **state)
{
    struct runas_decision d = { RUNAS_USER, 2000, 2001 }, any = { .mode = RUNAS_ANY };
    struct json *pod = parse(plain);

    (void)state;
    runas_apply(&here.arena, &any, pod);
    assert_string_equal(print(pod), "{\"spec\":{\"containers\":[{\"name\":\"c\"}]}}");
    runas_apply(&here.arena, &d, pod);
    assert_string_equal(
        print(pod),
        "{\"spec\":{\"containers\":[{\"name\":\"c\",\"securityContext\":{\"allowPrivilegeEscalation\":false,"
        "\"capabilities\":{"
        "\"drop\":[\"ALL\"]}}}],\"securityContext\":{\"runAsUser\":2000,\"runAsGroup\":2001,\"runAsNonRoot\":true,"
        "\"seccompProfile\":{\"type\":\"RuntimeDefault\"}}},"
        "\"metadata\":{\"annotations\":{\"pumice/tenant\":\"user\",\"pumice/host-paths-as\":\"2000:2001\"}}}");
}

/* Whatever the pod says of itself, its annotation says what the rule opens. */
static void tenants(void **state)
{
    static const struct {
        const char *rule, *want;
    } cases[] = {
        { "'restricted'", "ids" },
        { "'restricted','hostFiles':true", "ids,host-files" },
        { "'restricted','hostServices':true", "ids,host-services" },
        { "{'uid':5,'gid':6},'hostFiles':true,'hostServices':true", "user,host-files,host-services" },
        { "'any'", "ids,host-files,host-services,x" },
    };
    struct identity joe = who_is("joe", "students", ""), eve = who_is("eve", "", "");

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct problems ps = { .arena = &here.arena };
        struct runas_policy *p = policy(arena_fmt(&here.arena, "{'jobs':[{'runAs':%s}]}", cases[i].rule).p, &ps);
        struct json *pod = parse(
            "{'metadata':{'annotations':{'pumice/tenant':'ids,host-files,host-services,x'}},'spec':{}}");
        struct place at = { .node = pod };
        struct runas_decision d = runas_decide(p, &joe, STR("lab"), &at, &ps);

        runas_apply(&here.arena, &d, pod);
        assert_string_equal(arena_cstr(&here.arena, object_annotation(pod, TENANT_ANNOTATION)), cases[i].want);
        assert_int_equal(tenant_of(pod).has_host_files, strstr(cases[i].want, "host-files") != NULL);
    }
    assert_false(tenant_of(parse(plain)).is_tenant);
    assert_non_null(
        strstr(decide(&eve, "x", "{'spec':{'securityContext':{'runAsUser':65536}}}"), "must be 0 to 65535"));
}

static void bad_rules(void **state)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        { "{'jobs':{}}", "jobs: must be a list" },
        { "{'jobs':['x']}", "jobs[0]" },
        { "{'jobs':[{}]}", "jobs[0].runAs" },
        { "{'jobs':[{'runAs':'root'}]}", "jobs[0].runAs" },
        { "{'jobs':[{'runAs':{'uid':0,'gid':1}}]}", "jobs[0].runAs.uid" },
        { "{'jobs':[{'runAs':{'uid':5}}]}", "jobs[0].runAs.gid" },
        { "{'jobs':[{'user':['ann'],'runAs':'any'}]}", "jobs[0].user: is not known" },
        { "{'jobs':[{'users':'ann','runAs':'any'}]}", "jobs[0].users: must be a list" },
        { "{'jobs':[{'users':[7],'runAs':'any'}]}", "jobs[0].users[0]" },
        { "{'jobs':[{'runAs':'any','paths':['/x']}]}", "jobs[0].paths" },
        { "{'jobs':[{'runAs':'any','hostFiles':false}]}", "jobs[0].hostFiles" },
        { "{'jobs':[{'runAs':'own','hostServices':'yes'}]}", "jobs[0].hostServices" },
        { "{'jobs':[{'runAs':'own','paths':['x']}]}", "jobs[0].paths[0]" },
        { "{'jobs':[{'runAs':'own','paths':['/x/../y']}]}", "jobs[0].paths[0]" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct problems ps;

        (void)policy(cases[i].text, &ps);
        if (!str_has(problems_join(&here.arena, &ps), str_of(cases[i].want)))
            fail_msg("%s: %.*s", cases[i].text, STR_ARG(problems_join(&here.arena, &ps)));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(modes, place_begin, place_end),
        cmocka_unit_test_setup_teardown(fields, place_begin, place_end),
        cmocka_unit_test_setup_teardown(tenants, place_begin, place_end),
        cmocka_unit_test_setup_teardown(applied, place_begin, place_end),
        cmocka_unit_test_setup_teardown(bad_rules, place_begin, place_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
