/* config.c - tests: which file counts, what of it, and that every mistake is told with file and field */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/util.h"
#include "kube/config.h"

#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>

static char top[64];

static const char *path_of(const char *name)
{
    static char ring[64][160];
    static size_t at;
    char *out = ring[at++ % ARRAY_LEN(ring)];

    (void)snprintf(out, sizeof(ring[0]), "%s/%s", top, name);
    return out;
}

static void put(const char *name, const char *text)
{
    FILE *f = fopen(path_of(name), "w");

    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, strlen(text), f), strlen(text));
    assert_int_equal(fclose(f), 0);
}

static struct arena arena;

static int load(struct kube_config_options opt, struct kube_config *ret, struct err *e)
{
    arena_reset(&arena);
    *e = (struct err){ 0 };
    return kube_config_load(&arena, &opt, ret, e);
}

static void load_file(const char *name, struct kube_config *ret)
{
    struct err e;

    if (load((struct kube_config_options){ .file = path_of(name) }, ret, &e) < 0)
        fail_msg("%s", e.text);
}

#define assert_text(got, want)                                                                                         \
    do {                                                                                                               \
        struct str got_ = (got);                                                                                       \
        if (!str_is(got_, (want)))                                                                                     \
            fail_msg("want: %s\n got: %.*s", (want), STR_ARG(got_));                                                   \
    } while (0)

#define PEM_BASE64 "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCg=="

#define CONTEXT                                                                                                        \
    "current-context: c\n"                                                                                             \
    "contexts: [{name: c, context: {cluster: k, user: u}}]\n"
#define CLUSTER "clusters: [{name: k, cluster: {server: 'https://k:6443'}}]\n"
#define USER    "users: [{name: u, user: {token: t}}]\n"

static void reads_all_of_it(void **state)
{
    struct kube_config c;

    (void)state;
    put("ca.crt", "-----BEGIN CERTIFICATE-----\n");
    put("token", "abc\n");
    put("all", "apiVersion: v1\nkind: Config\npreferences: {colors: true}\n"
               "current-context: dev\n"
               "contexts:\n- name: dev\n  context: {cluster: k, user: u, namespace: team}\n"
               "clusters:\n- name: k\n  cluster:\n    server: https://10.0.0.1:6443\n"
               "    certificate-authority: ca.crt\n    tls-server-name: api.test\n    proxy-url: socks5://p:1\n"
               "    disable-compression: true\n"
               "users:\n- name: u\n  user:\n    tokenFile: token\n    token: old\n"
               "    client-certificate-data: " PEM_BASE64 "\n    client-key: ca.crt\n"
               "    as: jane\n    as-groups: [a, b]\n    as-uid: '7'\n    as-user-extra: {'x/y': [v]}\n");
    load_file("all", &c);
    assert_text(c.server, "https://10.0.0.1:6443");
    assert_text(c.namespace, "team");
    assert_text(c.tls.ca_file, path_of("ca.crt"));
    assert_text(c.tls.server_name, "api.test");
    assert_text(c.tls.cert_pem, "-----BEGIN CERTIFICATE-----\n");
    assert_text(c.tls.key_file, path_of("ca.crt"));
    assert_text(c.proxy, "socks5://p:1");
    assert_text(c.token_file, path_of("token"));
    assert_text(c.token, ""); /* the file wins */
    assert_true(c.is_plain);
    assert_string_equal(c.headers[0], "Impersonate-User: jane");
    assert_string_equal(c.headers[1], "Impersonate-Uid: 7");
    assert_string_equal(c.headers[2], "Impersonate-Group: a");
    assert_string_equal(c.headers[3], "Impersonate-Group: b");
    assert_string_equal(c.headers[4], "Impersonate-Extra-x%2Fy: v");
    assert_null(c.headers[5]);
    assert_int_equal(c.warnings.n, 0);
    assert_text(c.origin, arena_fmt(&arena, "context dev of %s", path_of("all")).p);
}

static void first_one_wins(void **state)
{
    struct kube_config_options opt = { 0 };
    struct kube_config c;
    struct err e;

    (void)state;
    assert_int_equal(mkdir(path_of("one"), 0700), 0);
    assert_int_equal(mkdir(path_of("two"), 0700), 0);
    put("one/c", "contexts: [{name: c, context: {cluster: k, user: u}}]\n"
                 "users: [{name: u, user: {tokenFile: t}}]\n");
    put("one/t", "x");
    put("two/c",
        "current-context: c\n"
        "contexts: [{name: c, context: {cluster: other, namespace: other}}, {name: d, context: {cluster: k}}]\n"
        "users: [{name: u, user: {token: discarded, as: discarded}}]\n"
        "clusters: [{name: k, cluster: {server: 'https://two', certificate-authority: ca}}]\n");
    put("two/ca", "-----BEGIN CERTIFICATE-----\n");
    opt.env.kubeconfig =
        arena_fmt(&arena, "%s:%s::%s:%s", path_of("missing"), path_of("one/c"), path_of("two/c"), path_of("one/c")).p;
    opt.env.kubeconfig = strdup(opt.env.kubeconfig);
    if (load(opt, &c, &e) < 0)
        fail_msg("%s", e.text);
    assert_text(c.server, "https://two");
    assert_text(c.tls.ca_file, path_of("two/ca"));
    assert_text(c.token_file, path_of("one/t"));
    assert_text(c.namespace, "default");
    assert_null(c.headers);
    opt.context = "d";
    assert_int_equal(load(opt, &c, &e), 0);
    assert_text(c.token_file, "");
    opt.file = path_of("two/c"); /* that one alone */
    opt.context = "c";
    assert_int_equal(load(opt, &c, &e), -1);
    assert_non_null(strstr(e.text, "contexts[0].context.cluster: no cluster \"other\""));
    free((char *)opt.env.kubeconfig);
}

static void home_and_pod(void **state)
{
    struct kube_config_options opt = { .env = { .home = path_of("home") } };
    struct kube_config c;
    struct err e;

    (void)state;
    assert_int_equal(load(opt, &c, &e), -1);
    assert_int_equal(e.code, ERR_NOT_FOUND);
    assert_non_null(strstr(e.text, "home/.kube/config: no such file"));
    opt.env.service_host = "10.0.0.1";
    opt.env.service_port = "443";
    opt.env.account_dir = path_of("account");
    assert_int_equal(load(opt, &c, &e), -1);
    assert_non_null(strstr(e.text, "account/token: "));
    assert_non_null(strstr(e.text, "automountServiceAccountToken"));
    assert_int_equal(mkdir(path_of("account"), 0700), 0);
    put("account/token", "t");
    put("account/ca.crt", "-----BEGIN CERTIFICATE-----\n");
    put("account/namespace", "team\n");
    assert_int_equal(load(opt, &c, &e), 0);
    assert_text(c.server, "https://10.0.0.1:443");
    assert_text(c.namespace, "team");
    assert_text(c.token_file, path_of("account/token"));
    opt.env.service_host = "fd00::1";
    assert_int_equal(load(opt, &c, &e), 0);
    assert_text(c.server, "https://[fd00::1]:443");
    assert_int_equal(mkdir(path_of("home"), 0700), 0);
    assert_int_equal(mkdir(path_of("home/.kube"), 0700), 0);
    put("home/.kube/config", CONTEXT CLUSTER USER);
    assert_int_equal(load(opt, &c, &e), 0);
    assert_text(c.server, "https://k:6443"); /* a file comes before the pod */
    opt.file = path_of("missing");
    assert_int_equal(load(opt, &c, &e), -1);
    assert_int_equal(e.code, ERR_NOT_FOUND);
}

static void warns(void **state)
{
    struct kube_config c;

    (void)state;
    put("c", CONTEXT "clusters: [{name: k, cluster: {server: 'https://k', insecure-skip-tls-verify: true, sever: x}}]\n"
                     "users: [{name: u, user: {client-certificate: nowhere, client-certificate-data: " PEM_BASE64
                     ", client-key-data: " PEM_BASE64 "}}]\n");
    load_file("c", &c);
    assert_int_equal(c.warnings.n, 3);
    assert_true(str_has(c.warnings.v[0], STR("sever")));
    assert_true(str_has(c.warnings.v[1], STR("insecure-skip-tls-verify: the server's certificate is not verified")));
    assert_true(str_has(c.warnings.v[2], STR("client-certificate: ignored, because")));
    assert_true(c.tls.is_insecure);
}

static void reads_exec(void **state)
{
    struct kube_config c;
    autobuf told = { 0 };

    (void)state;
    put("ca.crt", "-----BEGIN CERTIFICATE-----\n");
    put("c", CONTEXT "clusters: [{name: k, cluster: {server: 'https://k', certificate-authority: ca.crt, extensions: ["
                     "{name: client.authentication.k8s.io/exec, extension: {audience: x}}]}}]\n"
                     "users: [{name: u, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: ./login, "
                     "args: [a, b], env: [{name: N, value: V}], interactiveMode: Never, provideClusterInfo: true, "
                     "installHint: get it}}}]\n");
    load_file("c", &c);
    assert_non_null(c.exec);
    assert_true(str_ends(c.exec->command, STR("/./login")) && c.exec->command.p[0] == '/');
    assert_int_equal(c.exec->args.n, 2);
    assert_text(c.exec->args.v[1], "b");
    assert_text(c.exec->env.v[0].name, "N");
    assert_int_equal(c.exec->mode, EXEC_NEVER);
    json_print(&told, c.exec->cluster);
    assert_text(buf_view(&told), "{\"server\":\"https://k\",\"certificate-authority-data\":\"" PEM_BASE64
                                 "\",\"config\":{\"audience\":\"x\"}}");
    put("c", CONTEXT CLUSTER
        "users: [{name: u, user: {exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: login}}}]\n");
    load_file("c", &c);
    assert_text(c.exec->command, "login"); /* by PATH */
    assert_int_equal(c.exec->mode, EXEC_IF_AVAILABLE);
    assert_null(c.exec->cluster);
}

#define EXEC(rest) CONTEXT CLUSTER "users: [{name: u, user: {exec: {" rest "}}}]\n"

static void names_file_and_field(void **state)
{
    static const struct {
        const char *text, *says;
    } rows[] = {
        { "{", "line 2, column 1" },
        { "a: 1\n---\nb: 1\n", "has 2 documents" },
        { "[]", "must be an object" },
        { "kind: Pod\n", "line 1: kind: must be one of Config" },
        { "", "contexts: is empty" },
        { "contexts: [{name: a, context: {}}, {name: b, context: {}}]\n",
          "current-context: is not set; name one with --context: a, b" },
        { "current-context: x\ncontexts: [{name: a, context: {}}]\n", "current-context: no context \"x\"; it has a" },
        { "current-context: a\ncontexts: [{name: a, context: {}}]\n",
          "line 2: contexts[0].context.cluster: is missing" },
        { "contexts: [{name: a}, {name: a}]\n", "contexts[1].name: duplicate \"a\"" },
        { "contexts: [{context: {}}]\n", "contexts[0].name: is required" },
        { "clusters: {name: k}\n", "clusters: must be a list" },
        { CONTEXT CLUSTER, "contexts[0].context.user: no user \"u\"" },
        { CONTEXT USER "clusters: [{name: k}]\n", "clusters[0].cluster.server: is missing" },
        { CONTEXT USER "clusters: [{name: k, cluster: {server: 'k:6443'}}]\n", "server: must begin with https://" },
        { CONTEXT USER "clusters: [{name: k, cluster: {server: 6443}}]\n", "server: must be a string" },
        { CONTEXT USER "clusters: [{name: k, cluster: {server: 'https://k', proxy-url: 'ftp://p'}}]\n",
          "clusters[0].cluster.proxy-url: must begin with" },
        { CONTEXT USER "clusters: [{name: k, cluster: {server: 'https://k', certificate-authority: nowhere}}]\n",
          "clusters[0].cluster.certificate-authority: " },
        { CONTEXT USER "clusters: [{name: k, cluster: {server: 'https://k', certificate-authority: .}}]\n",
          "is not a regular file" },
        { CONTEXT USER "clusters: [{name: k, cluster: {server: 'https://k', certificate-authority: token}}]\n",
          "has no PEM" },
        { CONTEXT USER "clusters: [{name: k, cluster: {server: 'https://k', certificate-authority-data: '*'}}]\n",
          "certificate-authority-data: is not base64" },
        { CONTEXT USER "clusters: [{name: k, cluster: {server: 'https://k', certificate-authority-data: aGk=}}]\n",
          "certificate-authority-data: has no PEM" },
        { CONTEXT USER "clusters: [{name: k, cluster: {server: 'https://k', insecure-skip-tls-verify: true, "
                       "certificate-authority-data: " PEM_BASE64 "}}]\n",
          "insecure-skip-tls-verify: contradicts" },
        { CONTEXT CLUSTER "users: [{name: u, user: {client-certificate: c}}]\n", "client-key: is missing" },
        { CONTEXT CLUSTER "users: [{name: u, user: {client-key-data: c}}]\n", "client-certificate: is missing" },
        { CONTEXT CLUSTER "users: [{name: u, user: {tokenFile: nowhere}}]\n", "users[0].user.tokenFile: " },
        { CONTEXT CLUSTER "users: [{name: u, user: {token: \"a\\nb\"}}]\n", "token: must be one line" },
        { CONTEXT CLUSTER "users: [{name: u, user: {username: a}}]\n", "passwords were removed in Kubernetes 1.19" },
        { CONTEXT CLUSTER "users: [{name: u, user: {auth-provider: {name: gcp}}}]\n", "use an exec plugin" },
        { CONTEXT CLUSTER "users: [{name: u, user: {as-groups: [a]}}]\n", "users[0].user.as: is missing" },
        { CONTEXT CLUSTER "users: [{name: u, user: {as: \"a\\r\\nX: y\"}}]\n", "must be one line" },
        { EXEC("apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never"), "exec.command: is required" },
        { EXEC("command: x, interactiveMode: Never"), "exec.apiVersion: is required" },
        { EXEC("command: x, apiVersion: client.authentication.k8s.io/v1alpha1"), "exec.apiVersion: must be one of" },
        { EXEC("command: x, apiVersion: client.authentication.k8s.io/v1"), "exec.interactiveMode: is missing" },
        { EXEC("command: x, apiVersion: client.authentication.k8s.io/v1, interactiveMode: Perhaps"),
          "exec.interactiveMode: must be one of" },
        { EXEC("command: x, apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, env: [{value: x}]"),
          "exec.env[0].name: is required" },
        { CONTEXT CLUSTER "users: [{name: u, user: {token: x, exec: {command: x, interactiveMode: Never, apiVersion: "
                          "client.authentication.k8s.io/v1}}}]\n",
          "users[0].user.exec: cannot be combined with a token" },
    };

    (void)state;
    put("token", "abc");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct kube_config c;
        struct err e;

        put("c", rows[i].text);
        if (load((struct kube_config_options){ .file = path_of("c") }, &c, &e) == 0 || !strstr(e.text, rows[i].says) ||
            !strstr(e.text, path_of("c")))
            fail_msg("row %zu: want: %s\n got: %s", i, rows[i].says, e.text);
    }
}

/* A mistake in a secret is told without the secret. */
static void keeps_secrets(void **state)
{
    static const char *const texts[] = {
        CONTEXT CLUSTER "users: [{name: u, user: {token: 31415}}]\n",
        CONTEXT CLUSTER "users: [{name: u, user: {client-key-data: 31415}}]\n",
        CONTEXT CLUSTER "users: [{name: u, user: {password: 31415}}]\n",
        EXEC("command: x, apiVersion: client.authentication.k8s.io/v1, env: [{name: P, value: 31415}]"),
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct kube_config c;
        struct err e;

        put("c", texts[i]);
        assert_int_equal(load((struct kube_config_options){ .file = path_of("c") }, &c, &e), -1);
        assert_non_null(strstr(e.text, "must be a string"));
        assert_null(strstr(e.text, "31415"));
    }
}

static int drop(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

static int set_up(void **state)
{
    (void)state;
    (void)snprintf(top, sizeof(top), "/tmp/pumice-config.XXXXXX");
    return mkdtemp(top) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    arena_done(&arena);
    return nftw(top, drop, 8, FTW_DEPTH | FTW_PHYS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_all_of_it), cmocka_unit_test(first_one_wins), cmocka_unit_test(home_and_pod),
        cmocka_unit_test(warns),           cmocka_unit_test(reads_exec),     cmocka_unit_test(names_file_and_field),
        cmocka_unit_test(keeps_secrets),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
