/* ssh.c - keys, config, mounts */
#include "jobtest.h"

#include "plugin/sshkey.h"

#include <sys/stat.h>

static int made; /* how often keys were asked for */

static int fake_keys(void *ctx, struct arena *a, const char *type, struct ssh_keys *ret, struct err *e)
{
    (void)ctx, (void)e;
    made++;
    *ret = (struct ssh_keys){ arena_fmt(a, "PRIVATE %s %d\n", type, made), arena_fmt(a, "ssh-%s %d\n", type, made) };
    return 0;
}

static void load(struct jobtest *t, const char *plugins, const char *tasks)
{
    t->world.make_keys = fake_keys;
    jobtest_job(t, plugins, tasks);
}

/* A value of the Secret, decoded. */
static const char *secret(struct jobtest *t, const char *key)
{
    autobuf text = { 0 };
    struct json *obj = jobtest_object(t, "Secret", "job-ssh");

    assert_non_null(obj);
    if (!json_find(obj, "data", key, NULL))
        return "(none)";
    assert_int_equal(buf_unbase64(&text, json_member_text(json_get(obj, "data"), key)), 0);
    return arena_str(&t->a, buf_view(&text)).p;
}

#define HEAD "StrictHostKeyChecking no\nUserKnownHostsFile /dev/null\n"
#define ITEMS                                                                                                          \
    "[{\"key\":\"id_rsa\",\"path\":\".ssh/id_rsa\"},{\"key\":\"id_rsa.pub\",\"path\":\".ssh/id_rsa.pub\"},"            \
    "{\"key\":\"authorized_keys\",\"path\":\".ssh/authorized_keys\"},{\"key\":\"config\",\"path\":\".ssh/config\"}]"

static const char one_task[] =
    "[{name: w, replicas: 2, template: {spec: {initContainers: [{name: i}], containers: [{name: c, image: im}]}}}]";

static void test_defaults(void **state)
{
    autojobtest t = { 0 };
    struct json *obj, *pod;

    (void)state;
    load(&t, "{ssh: [], svc: []}", one_task);
    jobtest_must_be_good(&t);
    assert_string_equal(jobtest_problems(&t), "");
    obj = jobtest_object(&t, "Secret", "job-ssh");
    assert_at(&t, obj, "type", "\"Opaque\"");
    assert_at(&t, obj, "metadata.ownerReferences[0].uid", "\"u1\"");
    assert_at(&t, obj, "metadata.labels[volcano.sh/job-name]", "\"job\"");
    assert_int_equal(json_count(json_get(obj, "data")), 4);
    assert_true(str_is(json_key(json_first(json_get(obj, "data"))), "authorized_keys")); /* sorted */
    assert_contains(secret(&t, "id_rsa"), "PRIVATE rsa ");
    assert_contains(secret(&t, "id_rsa.pub"), "ssh-rsa ");
    assert_string_equal(secret(&t, "authorized_keys"), secret(&t, "id_rsa.pub"));
    assert_string_equal(secret(&t, "config"), HEAD "Host job-w-0\n  HostName job-w-0.job\n  Port 22\n"
                                                   "Host job-w-1\n  HostName job-w-1.job\n  Port 22\n");
    pod = jobtest_pod(&t, 0, 0);
    assert_at(&t, pod, "spec.volumes[1]",
              "{\"name\":\"job-ssh\",\"secret\":{\"secretName\":\"job-ssh\",\"items\":" ITEMS ",\"defaultMode\":384}}");
    assert_at(&t, pod, "spec.containers[0].volumeMounts[1]",
              "{\"name\":\"job-ssh\",\"mountPath\":\"/root/.ssh\",\"subPath\":\".ssh\"}");
    assert_at(&t, pod, "spec.initContainers[0].volumeMounts[1]",
              "{\"name\":\"job-ssh\",\"mountPath\":\"/root/.ssh\",\"subPath\":\".ssh\"}");
}

static void test_config(void **state)
{
    static const char tasks[] =
        "[{name: w, replicas: 1}, {name: own, replicas: 3, template: {spec: {hostname: h, subdomain: s}}},"
        " {name: none, replicas: 0}, {name: w-x, replicas: 1, template: {spec: {subdomain: s}}}]";
    static const struct {
        const char *plugins, *want;
    } cases[] = {
        { "{ssh: []}", HEAD "Host job-w-0\n  HostName job-w-0.job\n  Port 22\n"
                            "Host h\n  HostName h.s\n  Port 22\n"
                            "Host job-w-x-0\n  HostName job-w-x-0.s\n  Port 22\n" },
        { "{ssh: ['--ssh-port=2022']}", HEAD "Host job-w-0\n  HostName job-w-0.job\n  Port 2022\n"
                                             "Host h\n  HostName h.s\n  Port 2022\n"
                                             "Host job-w-x-0\n  HostName job-w-x-0.s\n  Port 2022\n"
                                             "Host *.job\n  Port 2022\nHost *.s\n  Port 2022\n" },
        { "{ssh: ['--ssh-config-wildcard']}", HEAD "Host h\n  HostName h.s\n  Port 22\n"
                                                   "Host job-none-* !*.*\n  HostName %h.job\n  Port 22\n"
                                                   "Host job-w-x-* !*.*\n  HostName %h.s\n  Port 22\n"
                                                   "Host job-w-* !*.*\n  HostName %h.job\n  Port 22\n" },
        { "{ssh: [--ssh-config-wildcard, --ssh-port=23]}", HEAD "Host h\n  HostName h.s\n  Port 23\n"
                                                                "Host job-none-* !*.*\n  HostName %h.job\n  Port 23\n"
                                                                "Host job-w-x-* !*.*\n  HostName %h.s\n  Port 23\n"
                                                                "Host job-w-* !*.*\n  HostName %h.job\n  Port 23\n"
                                                                "Host *.job\n  Port 23\nHost *.s\n  Port 23\n" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autojobtest t = { 0 };

        load(&t, cases[i].plugins, tasks);
        jobtest_must_be_good(&t);
        assert_string_equal(secret(&t, "config"), cases[i].want);
    }
}

/* mpi --port=2222, and what the pods show of their sshd. */
static void test_port_of_the_pods(void **state)
{
    static const struct {
        const char *container, *port;
    } cases[] = {
        { "image: i", "2222" },
        { "command: [/usr/sbin/sshd, -D]", "22" },
        { "command: [/usr/sbin/sshd, -D, -p, '2222']", "2222" },
        { "command: [/usr/sbin/sshd, -D, -p2022]", "2022" },
        { "command: [/usr/sbin/sshd, -o, Port=2022]", "2022" },
        { "command: [/usr/sbin/sshd, -oport=2022]", "2022" },
        { "command: [/usr/sbin/sshd, -f, /etc/own]", "2222" },
        { "command: [/usr/sbin/sshd, -p, $(PORT)]", "2222" },
        { "command: [/bin/sh, -c, 'mkdir -p /var/run/sshd; /usr/sbin/sshd -D']", "22" },
        { "command: [/bin/sh, -c], args: ['mkdir -p /run/sshd && exec sshd -D -p 2022; sleep 1']", "2022" },
        { "command: [/bin/sh, -c, '/usr/sbin/sshd -D']", "22" },
        { "command: [/bin/sh, -c, 'if true; then /usr/sbin/sshd; fi; cp -p 7 8']", "22" },
        { "command: [/bin/sh, -c, 'mkdir -p /run/sshd; ls /usr/sbin/sshd; run']", "2222" }, /* it is not started */
        { "ports: [{name: ssh, containerPort: 2022}]", "2022" },
        { "ports: [{containerPort: 22}]", "22" },
        { "ports: [{containerPort: 22}, {containerPort: 2222}]", "2222" },
        { "ports: [{containerPort: 22}], command: [sshd, -p, '2222']", "2222" }, /* the command is the plainer sign */
        { "ports: [{name: ssh, containerPort: 99999}]", "2222" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        bool is_other = strcmp(cases[i].port, "2222") != 0;
        autojobtest t = { 0 };
        char tasks[400], want[32];

        snprintf(tasks, sizeof(tasks), "[{name: w, replicas: 1, template: {spec: {containers: [{name: c, %s}]}}}]",
                 cases[i].container);
        snprintf(want, sizeof(want), "  Port %s\n", cases[i].port);
        load(&t, "{mpi: ['--master=w', '--port=2222']}", tasks);
        jobtest_must_be_good(&t);
        if (!strstr(secret(&t, "config"), want) || is_other != (t.ps.list.n == 1))
            fail_msg("%s: want port %s, got %s", cases[i].container, cases[i].port, secret(&t, "config"));
    }
}

static void test_ports(void **state)
{
    static const struct {
        const char *plugins, *port, *problem;
    } cases[] = {
        { "{ssh: ['--ssh-port=70000']}", "  Port 22\n", "W spec.plugins.ssh[0]: plugin ssh: argument ssh-port: 70000" },
        { "{ssh: ['--ssh-port=0']}", "  Port 22\n", "W " },
        { "{ssh: ['--sshPort', '23']}", "  Port 23\n", "" },
        { "{mpi: ['--master=w', '--port=2222']}", "  Port 2222\n", "" },
        { "{mpi: ['--master=w', '--port=2222'], ssh: ['--ssh-port=24']}", "  Port 24\n", "" },
        { "{mpi: ['--master=w']}", "  Port 22\n", "" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autojobtest t = { 0 };

        load(&t, cases[i].plugins, one_task);
        jobtest_must_be_good(&t);
        assert_contains(secret(&t, "config"), cases[i].port);
        assert_contains(jobtest_problems(&t), cases[i].problem);
    }
}

/* 4,000 hosts pass 256 KiB: one block per task by itself. */
static void test_large_config(void **state)
{
    autojobtest t = { 0 };

    (void)state;
    load(&t, "{ssh: []}", "[{name: w, replicas: 10000}]");
    jobtest_must_be_good(&t);
    assert_string_equal(secret(&t, "config"), HEAD "Host job-w-* !*.*\n  HostName %h.job\n  Port 22\n");
}

/* The real ssh must find the same host and port in our config. */
static void test_real_ssh_reads_it(void **state)
{
    static const struct {
        const char *plugins, *host, *hostname, *port;
    } cases[] = {
        { "{ssh: []}", "job-w-x-0", "hostname job-w-x-0.job\n", "port 22\n" },
        { "{ssh: ['--ssh-port=2022']}", "job-w-1.job", "hostname job-w-1.job\n", "port 2022\n" },
        { "{ssh: ['--ssh-config-wildcard']}", "job-w-x-7", "hostname job-w-x-7.s\n", "port 22\n" },
        { "{ssh: ['--ssh-config-wildcard']}", "job-w-12", "hostname job-w-12.job\n", "port 22\n" },
        { "{ssh: ['--ssh-config-wildcard', '--ssh-port=23']}", "job-w-1.job", "hostname job-w-1.job\n", "port 23\n" },
    };
    char path[] = P_tmpdir "/pumice-ssh-config-XXXXXX";
    int fd = mkstemp(path);

    (void)state;
    assert_true(fd >= 0);
    close(fd);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autojobtest t = { 0 };
        char got[16384] = "";
        FILE *f;

        load(&t, cases[i].plugins,
             i == 2 ? "[{name: w, replicas: 2}, {name: w-x, replicas: 1, template: {spec: {subdomain: s}}}]"
                    : "[{name: w, replicas: 2}, {name: w-x, replicas: 1}]");
        jobtest_must_be_good(&t);
        f = fopen(path, "w");
        assert_non_null(f);
        fputs(secret(&t, "config"), f);
        fclose(f);
        f = popen(arena_fmt(&t.a, "ssh -F %s -G %s 2>/dev/null", path, cases[i].host).p, "r");
        assert_non_null(f);
        (void)!fread(got, 1, sizeof(got) - 1, f);
        pclose(f);
        if (!got[0])
            break; /* no ssh here */
        assert_contains(got, cases[i].hostname);
        assert_contains(got, cases[i].port);
    }
    (void)unlink(path);
}

static void test_modes(void **state)
{
    static const struct {
        const char *args, *pod, *mode;
    } cases[] = {
        { "", "", "384" },
        { "--ssh-key-file-path=/root/.ssh/", "", "384" }, /* B9d */
        { "--ssh-key-file-path=/home/u/.ssh", "", "420" },
        { "--ssh-key-file-path=/home/u/.ssh", "securityContext: {runAsUser: 0},", "384" }, /* B9a */
        { "--ssh-key-file-path=/home/u/.ssh", "securityContext: {runAsUser: 1000},", "420" },
        { "--ssh-key-mode=0400", "", "256" },
        { "--ssh-key-mode=640", "securityContext: {runAsUser: 0},", "416" },
        { "--ssh-copy", "", "420" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autojobtest t = { 0 };
        struct str plugins = arena_fmt(&t.a, "{ssh: ['%s']}", cases[i].args);
        struct str tasks = arena_fmt(&t.a, "[{name: w, replicas: 1, template: {spec: {%s containers: [{name: c}]}}}]",
                                     cases[i].pod);

        load(&t, plugins.p, tasks.p);
        if (strcmp(at_path(&t, jobtest_pod(&t, 0, 0), "spec.volumes[0].secret.defaultMode"), cases[i].mode) != 0)
            fail_msg("%s %s gave %s", cases[i].args, cases[i].pod,
                     at_path(&t, jobtest_pod(&t, 0, 0), "spec.volumes[0].secret.defaultMode"));
    }
}

/* The container's own user counts more than the pod's. */
static void test_mode_by_container(void **state)
{
    autojobtest t = { 0 };

    (void)state;
    load(&t, "{ssh: ['--ssh-key-file-path=/x']}",
         "[{name: w, replicas: 1, template: {spec: {securityContext: {runAsUser: 5}, containers: [{name: c, "
         "securityContext: {runAsUser: 0}}]}}}]");
    assert_at(&t, jobtest_pod(&t, 0, 0), "spec.volumes[0].secret.defaultMode", "384");
}

static void test_bad_arguments(void **state)
{
    static const struct {
        const char *args, *want;
    } cases[] = {
        { "'--ssh-key-mode=9'", "E spec.plugins.ssh: plugin ssh: argument ssh-key-mode: bad value \"9\"" },
        { "'--ssh-key-mode=1777'", "bad value \"1777\"" },
        { "'--ssh-key-file-path='", "argument ssh-key-file-path: bad value \"\"" },
        { "'--ssh-key-file-path=/a:b'", "bad value \"/a:b\"" },
        { "'--ssh-key-type=dsa'", "argument ssh-key-type: bad value \"dsa\" (must be rsa|ed25519|ecdsa)" },
        { "'--ssh-port=abc'", "argument ssh-port: bad value \"abc\"" },
        { "'--ssh-key-secret=x', '--ssh-private-key=y'", "exclude each other" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autojobtest t = { 0 };

        load(&t, arena_fmt(&t.a, "{ssh: [%s]}", cases[i].args).p, one_task);
        assert_int_equal(t.ps.n_errors, 1);
        assert_contains(jobtest_problems(&t), cases[i].want);
    }
}

static void test_warnings(void **state)
{
    static const struct {
        const char *plugins, *spec, *want;
    } cases[] = {
        { "{ssh: []}", "", "W spec.plugins.ssh: plugin ssh: without the svc plugin" },
        { "{ssh: [], svc: []}", "hostNetwork: true", "W spec.plugins.ssh: plugin ssh: task \"w\" uses the network" },
        { "{ssh: [], svc: []}", "securityContext: {fsGroup: 5}", "has fsGroup" },
        { "{ssh: ['--ssh-public-key=x'], svc: []}", "", "ssh-public-key without ssh-private-key is ignored" },
        { "{ssh: ['--ssh-private-key=junk'], svc: []}", "", "plugin ssh: no public key: give --ssh-public-key" },
        { "{ssh: ['--no-root'], svc: []}", "", "W spec.plugins.ssh[0]: plugin ssh: unknown argument \"no-root\"" },
    };
    static const struct {
        const char *plugins, *spec;
    } quiet[] = {
        { "{ssh: ['--ssh-port=2022'], svc: []}", "hostNetwork: true" },
        { "{ssh: ['--ssh-copy'], svc: []}", "securityContext: {fsGroup: 5}" },
        { "{ssh: [], svc: []}", "securityContext: {fsGroup: 5, runAsUser: 7}" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autojobtest t = { 0 };
        struct str tasks = arena_fmt(&t.a, "[{name: w, replicas: 1, template: {spec: {containers: [{name: c}]%s%s}}}]",
                                     *cases[i].spec ? ", " : "", cases[i].spec);

        load(&t, cases[i].plugins, tasks.p);
        assert_int_equal(t.ps.n_errors, 0);
        assert_contains(jobtest_problems(&t), cases[i].want);
    }
    for (size_t i = 0; i < ARRAY_LEN(quiet); i++) {
        autojobtest t = { 0 };
        struct str tasks = arena_fmt(&t.a, "[{name: w, replicas: 1, template: {spec: {containers: [{name: c}], %s}}}]",
                                     quiet[i].spec);

        load(&t, quiet[i].plugins, tasks.p);
        assert_string_equal(jobtest_problems(&t), "");
    }
}

/* ---- keys of the user ---- */

static void test_user_keys(void **state)
{
    static const struct {
        const char *args, *private_key, *public_key;
    } cases[] = {
        { "\"--ssh-private-key=PRIV\\nx\\n\", '--ssh-public-key', 'ssh-rsa bm9 me'", "PRIV\nx\n", "ssh-rsa bm9 me" },
        { "\"--ssh-private-key=PRIV\\nx\", \"--ssh-public-key=pub\\n\"", "PRIV\nx\n", "pub\n" },
        { "'--ssh-private-key=PRIV\\nx\\n', '--sshPublicKey=p'", "PRIV\nx\n", "p" },            /* written out "\n" */
        { "\"--ssh-private-key=PRIV\\\\nx\\ny\", '--ssh-public-key=p'", "PRIV\\nx\ny\n", "p" }, /* has real ones */
        { "'--ssh-private-key=junk'", "junk\n", "" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autojobtest t = { 0 };

        made = 0;
        load(&t, arena_fmt(&t.a, "{ssh: [%s]}", cases[i].args).p, one_task);
        jobtest_must_be_good(&t);
        assert_int_equal(made, 0);
        assert_string_equal(secret(&t, "id_rsa"), cases[i].private_key);
        assert_string_equal(secret(&t, "id_rsa.pub"), cases[i].public_key);
        assert_string_equal(secret(&t, "authorized_keys"), cases[i].public_key);
    }
}

static void test_public_is_derived(void **state)
{
    autojobtest t = { 0 };
    struct ssh_keys keys;
    struct json *list;

    (void)state;
    assert_int_equal(ssh_keys_generate(&t.a, "ecdsa", &keys, NULL), 0);
    load(&t, "{ssh: []}", one_task);
    list = json_find(t.root, "spec", "plugins", "ssh", NULL);
    json_push(list, json_fmt(&t.a, "--ssh-private-key=%.*s", STR_ARG(keys.private_pem)));
    t.set = plugin_set_new(&t.a, &t.job, &t.world, &t.ps);
    jobtest_must_be_good(&t);
    assert_string_equal(secret(&t, "id_rsa"), arena_cstr(&t.a, keys.private_pem));
    assert_string_equal(secret(&t, "id_rsa.pub"), arena_cstr(&t.a, keys.public_line));
}

static void test_key_type(void **state)
{
    autojobtest t = { 0 };

    (void)state;
    load(&t, "{ssh: ['--ssh-key-type=ed25519']}", one_task);
    jobtest_must_be_good(&t);
    assert_contains(secret(&t, "id_rsa"), "PRIVATE ed25519");
}

/* Without a callback the keys are real. */
static void test_real_keys(void **state)
{
    autojobtest t = { 0 };
    struct str line;

    (void)state;
    jobtest_job(&t, "{ssh: ['--ssh-key-type=ed25519']}", one_task);
    jobtest_must_be_good(&t);
    assert_int_equal(ssh_public_from_private(&t.a, str_of(secret(&t, "id_rsa")), &line, NULL), 0);
    assert_string_equal(secret(&t, "id_rsa.pub"), line.p);
}

static int no_keys(void *ctx, struct arena *a, const char *type, struct ssh_keys *ret, struct err *e)
{
    (void)ctx, (void)a, (void)type, (void)ret;
    return err_set(e, ERR_INTERNAL, "no entropy");
}

static void test_failure_names_the_plugin(void **state)
{
    autojobtest t = { 0 };
    struct err e;

    (void)state;
    t.world.make_keys = no_keys;
    jobtest_job(&t, "{ssh: []}", one_task);
    assert_int_equal(plugin_set_objects(t.set, &t.objects, &e), -1);
    assert_string_equal(e.text, "plugin ssh: no entropy");
}

/* ---- a Secret that is there already ---- */

static const struct json *find_secret(void *ctx, const char *kind, struct str name)
{
    const struct json *obj = ctx;

    return strcmp(kind, "Secret") == 0 && str_eq(name, object_name(obj)) ? obj : NULL;
}

static void test_key_reuse(void **state)
{
    autojobtest t = { 0 };
    struct json *before;

    (void)state;
    made = 0;
    load(&t, "{ssh: []}", one_task);
    jobtest_must_be_good(&t);
    assert_int_equal(made, 1);
    before = json_copy(&t.a, jobtest_object(&t, "Secret", "job-ssh"));
    json_set(json_get(before, "metadata"), "resourceVersion", json_str(&t.a, STR("77")));

    /* More hosts, same Secret: it is wanted exactly as it is. */
    t.world.find = find_secret;
    t.world.ctx = before;
    load(&t, "{ssh: []}", "[{name: w, replicas: 5}]");
    jobtest_must_be_good(&t);
    assert_int_equal(made, 1);
    assert_true(json_equal(jobtest_object(&t, "Secret", "job-ssh"), before));
    assert_ptr_not_equal(jobtest_object(&t, "Secret", "job-ssh"), before);

    /* One of an older job of the same name is not ours. */
    json_set(json_at(json_find(before, "metadata", "ownerReferences", NULL), 0), "uid", json_str(&t.a, STR("old")));
    load(&t, "{ssh: []}", one_task);
    jobtest_must_be_good(&t);
    assert_int_equal(made, 2);
    assert_false(json_equal(jobtest_object(&t, "Secret", "job-ssh"), before));
}

/* ---- --ssh-key-secret ---- */

static void test_key_secret_unseen(void **state)
{
    autojobtest t = { 0 };

    (void)state;
    made = 0;
    load(&t, "{ssh: ['--ssh-key-secret=mine']}", one_task);
    jobtest_must_be_good(&t);
    assert_int_equal(made, 0);
    assert_string_equal(secret(&t, "id_rsa"), "(none)");
    assert_contains(secret(&t, "config"), HEAD);
    assert_at(&t, jobtest_pod(&t, 0, 0), "spec.volumes[0]",
              "{\"name\":\"job-ssh\",\"projected\":{\"defaultMode\":384,\"sources\":[{\"secret\":{\"name\":\"mine\","
              "\"items\":[{\"key\":\"ssh-privatekey\",\"path\":\".ssh/id_rsa\"},{\"key\":\"ssh-publickey\",\"path\":"
              "\".ssh/id_rsa.pub\"},{\"key\":\"ssh-publickey\",\"path\":\".ssh/authorized_keys\"}]}},{\"secret\":{"
              "\"name\":\"job-ssh\",\"items\":[{\"key\":\"config\",\"path\":\".ssh/config\"}]}}]}}");
}

static void set_data(struct jobtest *t, struct json *obj, const char *key, struct str value)
{
    autobuf text = { 0 };

    buf_base64(&text, value);
    json_set(json_need_object(&t->a, obj, "data"), key, json_str(&t->a, arena_str(&t->a, buf_view(&text))));
}

static void test_key_secret_seen(void **state)
{
    autojobtest t = { 0 };
    struct json *mine = object_new(&t.a, "v1", "Secret", STR("ns"), STR("mine"));
    struct ssh_keys keys;
    const char *theirs = "spec.volumes[0].projected.sources[0].secret.items";
    const char *ours = "spec.volumes[0].projected.sources[1].secret.items";

    (void)state;
    t.world.find = find_secret;
    t.world.ctx = mine;
    set_data(&t, mine, "id_rsa", STR("x"));
    set_data(&t, mine, "id_rsa.pub", STR("x"));
    load(&t, "{ssh: ['--ssh-key-secret=mine']}", one_task);
    assert_at(&t, jobtest_pod(&t, 0, 0), theirs,
              "[{\"key\":\"id_rsa\",\"path\":\".ssh/id_rsa\"},{\"key\":\"id_rsa.pub\",\"path\":\".ssh/id_rsa.pub\"},"
              "{\"key\":\"id_rsa.pub\",\"path\":\".ssh/authorized_keys\"}]");

    /* Only a private key: the public one is made from it and kept with us. */
    json_remove(mine, "data");
    assert_int_equal(ssh_keys_generate(&t.a, "ed25519", &keys, NULL), 0);
    set_data(&t, mine, "ssh-privatekey", keys.private_pem);
    load(&t, "{ssh: ['--ssh-key-secret=mine']}", one_task);
    jobtest_must_be_good(&t);
    assert_at(&t, jobtest_pod(&t, 0, 0), theirs, "[{\"key\":\"ssh-privatekey\",\"path\":\".ssh/id_rsa\"}]");
    assert_at(&t, jobtest_pod(&t, 0, 0), ours,
              "[{\"key\":\"id_rsa.pub\",\"path\":\".ssh/id_rsa.pub\"},{\"key\":\"authorized_keys\",\"path\":"
              "\".ssh/authorized_keys\"},{\"key\":\"config\",\"path\":\".ssh/config\"}]");
    assert_string_equal(secret(&t, "authorized_keys"), arena_cstr(&t.a, keys.public_line));
    assert_string_equal(secret(&t, "id_rsa"), "(none)");
}

/* ---- --ssh-copy ---- */

static void test_copy(void **state)
{
    autojobtest t = { 0 };
    struct json *pod;

    (void)state;
    load(&t, "{ssh: ['--ssh-copy', '--ssh-key-file-path=/home/u/.ssh']}",
         "[{name: w, replicas: 1, template: {spec: {initContainers: [{name: i}], containers: [{name: c, image: im, "
         "securityContext: {runAsUser: 7}, resources: {limits: {cpu: 1}}, command: [x]}]}}}]");
    jobtest_must_be_good(&t);
    pod = jobtest_pod(&t, 0, 0);
    assert_at(&t, pod, "spec.initContainers[0].name", "\"ssh-copy\""); /* before the user's */
    assert_at(&t, pod, "spec.initContainers[0].image", "\"im\"");
    assert_at(&t, pod, "spec.initContainers[0].securityContext", "{\"runAsUser\":7}");
    assert_at(&t, pod, "spec.initContainers[0].resources", "{\"limits\":{\"cpu\":1}}");
    assert_at(&t, pod, "spec.initContainers[0].command[0]", "\"sh\"");
    assert_at(&t, pod, "spec.initContainers[0].volumeMounts",
              "[{\"name\":\"job-ssh\",\"mountPath\":\"/volcano/keys\"},{\"name\":\"volcano-ssh-home\",\"mountPath\":"
              "\"/volcano/home\"}]");
    assert_at(&t, pod, "spec.volumes[1]", "{\"name\":\"volcano-ssh-home\",\"emptyDir\":{\"medium\":\"Memory\"}}");
    assert_at(&t, pod, "spec.containers[0].volumeMounts",
              "[{\"name\":\"volcano-ssh-home\",\"mountPath\":\"/home/u/.ssh\",\"subPath\":\".ssh\"}]");
    assert_at(&t, pod, "spec.initContainers[1].volumeMounts",
              "[{\"name\":\"volcano-ssh-home\",\"mountPath\":\"/home/u/.ssh\",\"subPath\":\".ssh\"}]");
    assert_int_equal(json_count(json_path(pod, STR("spec.initContainers"), NULL)), 2);
}

/* The script makes what it says, here with other paths. */
static void test_copy_script(void **state)
{
    autojobtest t = { 0 };
    char dir[] = P_tmpdir "/pumice-ssh-copy-XXXXXX";
    struct str script, rest, part;
    autobuf command = { 0 };
    struct stat st;

    (void)state;
    load(&t, "{ssh: ['--ssh-copy']}", one_task);
    script = json_text(json_path(jobtest_pod(&t, 0, 0), STR("spec.initContainers[0].command[2]"), NULL), STR_NULL);
    assert_non_null(mkdtemp(dir));
    buf_fmt(&command,
            "cd %s && mkdir -p keys/.ssh home && for f in id_rsa id_rsa.pub authorized_keys config; do echo "
            "$f > keys/.ssh/$f; done\n",
            dir);
    rest = script;
    while (str_split(&rest, '\n', &part)) { /* "/volcano/" becomes the directory */
        const char *at;

        while ((at = memmem(part.p, part.n, "/volcano/", 9))) {
            buf_append(&command, part.p, (size_t)(at - part.p));
            buf_fmt(&command, "%s/", dir);
            part = str_from(part, (size_t)(at - part.p) + 9);
        }
        buf_str(&command, part);
        buf_char(&command, '\n');
    }
    assert_int_equal(system(command.p), 0);
    assert_int_equal(stat(arena_fmt(&t.a, "%s/home/.ssh", dir).p, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    assert_int_equal(stat(arena_fmt(&t.a, "%s/home/.ssh/id_rsa", dir).p, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(st.st_size, 7);
    assert_int_equal(system(arena_fmt(&t.a, "rm -r %s", dir).p), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_config),
        cmocka_unit_test(test_ports),
        cmocka_unit_test(test_port_of_the_pods),
        cmocka_unit_test(test_large_config),
        cmocka_unit_test(test_real_ssh_reads_it),
        cmocka_unit_test(test_modes),
        cmocka_unit_test(test_mode_by_container),
        cmocka_unit_test(test_bad_arguments),
        cmocka_unit_test(test_warnings),
        cmocka_unit_test(test_user_keys),
        cmocka_unit_test(test_public_is_derived),
        cmocka_unit_test(test_key_type),
        cmocka_unit_test(test_real_keys),
        cmocka_unit_test(test_failure_names_the_plugin),
        cmocka_unit_test(test_key_reuse),
        cmocka_unit_test(test_key_secret_unseen),
        cmocka_unit_test(test_key_secret_seen),
        cmocka_unit_test(test_copy),
        cmocka_unit_test(test_copy_script),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
