/* volume.c - what volumes hold, where they are mounted, how they change and go */
#include "node/volume/test/volumes.h"

#include <sys/socket.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <sys/un.h>

/* ---- configMap, secret, downwardAPI, projected ---- */

#define CM(data)     "{kind: ConfigMap, metadata: {name: cm}, " data "}"
#define SECRET(data) "{kind: Secret, metadata: {name: s}, " data "}"

static const struct {
    const char *name, *objects, *volume, *want; /* files as list_fd() prints them, or a part of the error */
    enum err_code code;
} configs[] = {
    { "data and binaryData", CM("data: {a: one, b.txt: \"\"}, binaryData: {c: AQID}"), "configMap: {name: cm}",
      "a 644 one; b.txt 644 ; c 644 \001\002\003; " },
    { "no data", CM(""), "configMap: {name: cm}", "" },
    { "null data", CM("data: null, binaryData: {a: null}"), "configMap: {name: cm}", "a 644 ; " },
    { "defaultMode", CM("data: {a: x}"), "configMap: {name: cm, defaultMode: 0400}", "a 400 x; " },
    { "defaultMode 0", CM("data: {a: x}"), "configMap: {name: cm, defaultMode: 0}", "a 0 x; " },
    { "items", CM("data: {a: x, b: y, c: z}"),
      "configMap: {name: cm, defaultMode: 0640, items: [{key: a, path: d/e/f}, {key: b, path: d/g, mode: 0755}]}",
      "d/e/f 640 x; d/g 755 y; " },
    { "one key twice", CM("data: {a: x}"), "configMap: {name: cm, items: [{key: a, path: p}, {key: a, path: q}]}",
      "p 644 x; q 644 x; " },
    { "the last of one path", CM("data: {a: x, b: y}"),
      "configMap: {name: cm, items: [{key: a, path: p}, {key: b, path: ./p}]}", "p 644 y; " },
    { "path is cleaned", CM("data: {a: x}"), "configMap: {name: cm, items: [{key: a, path: .//d/./f}]}",
      "d/f 644 x; " },
    { "hidden names", CM("data: {.a: x, '...': y}"), "configMap: {name: cm, items: [{key: .a, path: .d/..f}]}", "",
      ERR_OK }, /* ..f is hidden from the listing; it is there */
    { "optional, there is none", "", "configMap: {name: cm, optional: true}", "" },
    { "optional key", CM("data: {a: x}"),
      "configMap: {name: cm, optional: true, items: [{key: b, path: b}, {key: a, path: a}]}", "a 644 x; " },
    { "not found", "", "configMap: {name: cm}", "volume \"v\": configmap \"cm\" not found", ERR_NOT_FOUND },
    { "secret not found", CM(""), "secret: {secretName: cm}", "volume \"v\": secret \"cm\" not found", ERR_NOT_FOUND },
    { "no such key", CM("data: {a: x}"), "configMap: {name: cm, items: [{key: b, path: b}]}",
      "volume \"v\": configmap \"cm\": key \"b\": no such key", ERR_NOT_FOUND },
    { "bad base64", CM("binaryData: {a: '*'}"), "configMap: {name: cm}",
      "volume \"v\": configmap \"cm\": key \"a\": value is not valid base64", ERR_INVALID },
    { "value of another type", CM("data: {a: 3}"), "configMap: {name: cm}",
      "key \"a\": value must be a string, not a number", ERR_INVALID },
    { "bad key", CM("data: {a/b: x}"), "configMap: {name: cm}", "key \"a/b\": must ", ERR_INVALID },
    { "key with dots", CM("data: {..a: x}"), "configMap: {name: cm}", "key \"..a\": must ", ERR_INVALID },
    { "mode too big", CM("data: {a: x}"), "configMap: {name: cm, defaultMode: 01000}", "defaultMode: mode must be",
      ERR_INVALID },
    { "mode of a key", CM("data: {a: x}"), "configMap: {name: cm, items: [{key: a, path: a, mode: -1}]}",
      "key \"a\": mode must be", ERR_INVALID },
    { "mode as text", CM("data: {a: x}"), "configMap: {name: cm, items: [{key: a, path: a, mode: '0600'}]}",
      "mode must be", ERR_INVALID },
    { "path upwards", CM("data: {a: x}"), "configMap: {name: cm, items: [{key: a, path: d/../../x}]}",
      "key \"a\": path \"d/../../x\" must not contain \"..\"", ERR_INVALID },
    { "absolute path", CM("data: {a: x}"), "configMap: {name: cm, items: [{key: a, path: /x}]}", "must be relative",
      ERR_INVALID },
    { "our names", CM("data: {a: x}"), "configMap: {name: cm, items: [{key: a, path: ..data}]}",
      "must not begin with \"..\"", ERR_INVALID },
    { "no path", CM("data: {a: x}"), "configMap: {name: cm, items: [{key: a}]}", "names no file", ERR_INVALID },
    { "file and directory", CM("data: {a: x}"),
      "configMap: {name: cm, items: [{key: a, path: d/f}, {key: a, path: d-x}, {key: a, path: d}]}",
      "\"d\" cannot be both a file and the directory of \"d/f\"", ERR_INVALID },

    { "secret", SECRET("data: {k: c2VjcmV0, nl: \"c2Vj\\ncmV0\"}"), "secret: {secretName: s, defaultMode: 0600}",
      "k 600 secret; nl 600 secret; " },
    { "stringData wins", SECRET("data: {k: c2VjcmV0}, stringData: {k: plain}"), "secret: {secretName: s}",
      "k 644 plain; " },
    { "as the ssh plugin has it", SECRET("data: {id_rsa: a2V5, id_rsa.pub: cHVi, authorized_keys: cHVi, config: Y2Zn}"),
      "secret: {secretName: s, defaultMode: 384, items: [{key: id_rsa, path: .ssh/id_rsa}, "
      "{key: id_rsa.pub, path: .ssh/id_rsa.pub}, {key: authorized_keys, path: .ssh/authorized_keys}, "
      "{key: config, path: .ssh/config}]}",
      ".ssh/authorized_keys 600 pub; .ssh/config 600 cfg; .ssh/id_rsa 600 key; .ssh/id_rsa.pub 600 pub; " },

    { "downward", "",
      "downwardAPI: {defaultMode: 0440, items: [{path: name, fieldRef: {fieldPath: metadata.name}}, "
      "{path: labels, mode: 0444, fieldRef: {fieldPath: metadata.labels}}, "
      "{path: d/cpu, resourceFieldRef: {containerName: c, resource: limits.cpu, divisor: 1m}}]}",
      "d/cpu 440 1500; labels 444 a=\"1\\n\"\nb=\"2\"; name 440 p; " },
    { "downward, no such field", "", "downwardAPI: {items: [{path: x, fieldRef: {fieldPath: spec.x}}]}",
      "volume \"v\": downwardAPI file \"x\": unsupported fieldPath \"spec.x\"", ERR_INVALID },
    { "downward, neither", "", "downwardAPI: {items: [{path: x}]}", "fieldRef or resourceFieldRef is required",
      ERR_INVALID },

    { "projected", CM("data: {a: x, b: y}") "\n---\n" SECRET("data: {k: c2VjcmV0}"),
      "projected: {defaultMode: 0400, sources: [{configMap: {name: cm, items: [{key: a, path: c/a, mode: 0444}]}}, "
      "{secret: {name: s}}, {downwardAPI: {items: [{path: c/n, fieldRef: {fieldPath: metadata.name}}]}}, "
      "{secret: {name: none, optional: true}}, {configMap: {name: cm, items: [{key: b, path: k}]}}]}",
      "c/a 444 x; c/n 400 p; k 400 y; " },
    { "projected, not found", "", "projected: {sources: [{secret: {name: s}}]}", "secret \"s\" not found",
      ERR_NOT_FOUND },
    { "projected, empty", "", "projected: {sources: []}", "" },
    { "token refused", "", "projected: {sources: [{serviceAccountToken: {path: token}}]}",
      "volume \"v\": serviceAccountToken: not supported on this node", ERR_INVALID },
    { "other projection", "", "projected: {sources: [{clusterTrustBundle: {path: x}}]}",
      "a clusterTrustBundle source is not supported", ERR_INVALID },

    { "two types", "", "emptyDir: {}, configMap: {name: cm}",
      "may not have more than 1 type: has emptyDir and configMap", ERR_INVALID },
    { "not ours", "", "nfs: {server: x, path: /}", "volume \"v\": nfs volumes are not supported on this node",
      ERR_INVALID },
    { "not an object", "", "configMap: cm", "configMap must be an object, not a string", ERR_INVALID },
    { "huge pages", "", "emptyDir: {medium: HugePages}", "medium \"HugePages\" is not supported", ERR_INVALID },
};

static void test_config(void **state)
{
    struct fixture *t = *state;

    for (size_t i = 0; i < ARRAY_LEN(configs); i++) {
        const char *volumes = arena_fmt(&t->a, "[{name: v, %s}]", configs[i].volume).p, *got;
        int rc;

        fixture_objects(t, configs[i].objects);
        rc = fixture_make(t, volumes);
        if ((rc < 0) != (configs[i].code != ERR_OK))
            fail_msg("%s: %s", configs[i].name, rc < 0 ? t->e.text : "was made");
        if (rc < 0 && (t->e.code != configs[i].code || !strstr(t->e.text, configs[i].want)))
            fail_msg("%s: error %d: %s", configs[i].name, t->e.code, t->e.text);
        if (rc < 0 && exists(t->dir))
            fail_msg("%s: a failed try left files behind", configs[i].name);
        got = rc < 0 ? configs[i].want : list_fd(t, fixture_root(t, "v"));
        if (strcmp(got, configs[i].want) != 0)
            fail_msg("%s: got %s", configs[i].name, got);
    }
}

/* What ssh and sshd demand of /root/.ssh, mounted as the ssh plugin does it. */
static void test_ssh(void **state)
{
    struct fixture *t = *state;
    struct volume_mount m;
    struct stat st;

    fixture_objects(t, SECRET("data: {id_rsa: a2V5, authorized_keys: cHVi}"));
    fixture_must_make(t,
                      "[{name: v, secret: {secretName: s, defaultMode: 384, items: [{key: id_rsa, path: .ssh/id_rsa}, "
                      "{key: authorized_keys, path: .ssh/authorized_keys}]}}]");
    assert_int_equal(fixture_mount(t, "{name: v, mountPath: /root/.ssh, subPath: .ssh}", &m), 0);
    assert_true(m.is_read_only && !m.is_file);
    assert_int_equal(fstat(m.fd, &st), 0);
    assert_int_equal(st.st_mode, S_IFDIR | 0755); /* no other may write */
    assert_int_equal(st.st_uid, geteuid());
    assert_string_equal(list_fd(t, m.fd), "authorized_keys 600 pub; id_rsa 600 key; ");
}

static void test_token(void **state)
{
    static const char volume[] = "[{name: v, projected: {sources: [{serviceAccountToken: {path: t/token, audience: me, "
                                 "expirationSeconds: 600}}]}}]";
    struct fixture *t = *state;

    t->source.token = fixture_token;
    assert_int_equal(fixture_make(t, volume), -1);
    assert_string_equal(t->e.text, "volume \"v\": serviceAccountToken: no token today");
    t->token = "T";
    fixture_must_make(t, volume);
    assert_string_equal(list_fd(t, fixture_root(t, "v")), "t/token 644 T for me, 600 s; ");
}

/* 30,000 keys: nothing may be quadratic; and the limit on bytes. */
static void test_many_keys(void **state)
{
    struct fixture *t = *state;
    struct json *cm = fixture_yaml(t, "{kind: ConfigMap, metadata: {name: cm}, data: {}}"),
                *data = json_get(cm, "data");
    struct volume_call call = { .arena = &t->a, .pod = cm, .source = &t->source };
    struct json *spec = fixture_yaml(t, "{name: cm, items: []}"), *items = json_get(spec, "items");
    struct volume_files files;

    fixture_objects(t, "");
    t->objects.v = &cm;
    t->objects.n = 1;
    for (int i = 0; i < 30000; i++) {
        struct json *item = json_push(items, json_object(&t->a));

        json_add(data, arena_fmt(&t->a, "key%d", i), json_str(&t->a, STR("x")));
        json_add(item, STR("key"), json_fmt(&t->a, "key%d", i));
        json_add(item, STR("path"), json_fmt(&t->a, "d%d/f", i % 100));
    }
    assert_int_equal(volume_files_of(&call, "configMap", spec, &files, &t->e), 0);
    assert_int_equal(files.list.n, 100);
    json_remove(spec, "items");
    assert_int_equal(volume_files_of(&call, "configMap", spec, &files, &t->e), 0);
    assert_int_equal(files.list.n, 30000);
    json_add(data, STR("big"), json_str(&t->a, (struct str){ arena_zalloc(&t->a, 40 << 20), 40 << 20 }));
    assert_int_equal(volume_files_of(&call, "configMap", spec, &files, &t->e), -1);
    assert_int_equal(t->e.code, ERR_TOO_BIG);
}

/* ---- emptyDir ---- */

static void test_empty_dir(void **state)
{
    struct fixture *t = *state;
    struct stat st;

    fixture_must_make(t, "[{name: v, emptyDir: {sizeLimit: 1Gi}}, {name: w}, {name: x, emptyDir: null}]");
    assert_int_equal(fstat(fixture_root(t, "v"), &st), 0);
    assert_int_equal(st.st_mode, S_IFDIR | 0777);
    assert_int_equal(fstat(fixture_root(t, "w"), &st), 0);
    assert_int_equal(st.st_mode, S_IFDIR | 0777);
    assert_int_equal(mode_of(t->dir), 0755);
    assert_int_equal(mode_of(below(t, t->dir, "data")), 0700);
    assert_string_equal(list_fd(t, fixture_root(t, "x")), "");
}

static void test_empty_dir_in_memory(void **state)
{
    static const struct {
        const char *volume;
        int64_t bytes;
    } cases[] = {
        { "{sizeLimit: 1Mi, medium: Memory}", 1 << 20 },
        { "{medium: Memory}", 64 << 20 },                 /* the pod's limit */
        { "{sizeLimit: 1Gi, medium: Memory}", 64 << 20 }, /* likewise */
        { "{sizeLimit: '0', medium: Memory}", 64 << 20 },
    };
    static char megabytes[2 << 20];
    struct fixture *t = *state;
    struct statfs fs;
    struct stat st;

    NEEDS_MOUNT();
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        fixture_must_make(t, arena_fmt(&t->a, "[{name: v, emptyDir: %s}]", cases[i].volume).p);
        assert_int_equal(fstatfs(fixture_root(t, "v"), &fs), 0);
        assert_int_equal(fs.f_type, 0x01021994);
        if ((int64_t)fs.f_blocks * fs.f_bsize != cases[i].bytes)
            fail_msg("%s: %lld bytes", cases[i].volume, (long long)fs.f_blocks * fs.f_bsize);
        assert_int_equal(fstat(fixture_root(t, "v"), &st), 0);
        assert_int_equal(st.st_mode, S_IFDIR | 01777);
        if (i == 0) {
            autoclose int fd = openat(fixture_root(t, "v"), "f", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
            ssize_t n = write(fd, megabytes, sizeof(megabytes));

            assert_true(n < (1 << 20) + 1); /* full */
        }
    }
    assert_int_equal(fixture_make(t, "[{name: v, emptyDir: {medium: Memory, sizeLimit: lots}}]"), -1);
    assert_non_null(strstr(t->e.text, "volume \"v\": sizeLimit: "));
    assert_false(has_mounts(t));
}

static int64_t size_of(struct fixture *t, const char *volume)
{
    struct statfs fs;

    assert_int_equal(fstatfs(fixture_root(t, volume), &fs), 0);
    return (int64_t)fs.f_blocks * fs.f_bsize;
}

/* Nothing says how much: what the node has does. */
static void test_memory_without_limits(void **state)
{
    struct fixture *t = *state;
    struct json *pod;

    NEEDS_MOUNT();
    t->source.allocatable = fixture_yaml(t, "{memory: 16Mi}");
    pod = fixture_pod(t,
                      "[{name: a, emptyDir: {medium: Memory}}, {name: b, emptyDir: {medium: Memory, sizeLimit: '0'}}, "
                      "{name: c, emptyDir: {medium: Memory, sizeLimit: 1Gi}}, {name: d, emptyDir: {}}]");
    json_remove(json_at(json_find(pod, "spec", "containers", NULL), 0), "resources");
    assert_int_equal(volumes_make(t->dir, pod, fixture_source(t, true), &t->set, &t->e), 0);
    assert_int_equal(size_of(t, "a"), 4 << 20);
    assert_int_equal(size_of(t, "b"), 4 << 20);
    assert_int_equal(size_of(t, "c"), 16 << 20);
}

/* Without mounts everything is a directory. */
static void test_without_mounts(void **state)
{
    struct fixture *t = *state;

    fixture_objects(t, SECRET("data: {k: c2VjcmV0}"));
    assert_int_equal(
        volumes_make(t->dir,
                     fixture_pod(t, "[{name: v, emptyDir: {medium: Memory}}, {name: s, secret: {secretName: s}}]"),
                     fixture_source(t, false), &t->set, &t->e),
        0);
    assert_string_equal(list_fd(t, fixture_root(t, "s")), "k 644 secret; ");
    assert_int_equal(mode_of(below(t, t->dir, "config")), 0700);
    assert_false(has_mounts(t));
    volumes_free(t->set, true);
    t->set = NULL;
    assert_false(exists(t->dir));
}

/* ---- hostPath ---- */

static void make_host_files(struct fixture *t)
{
    struct sockaddr_un addr = { .sun_family = AF_UNIX };
    autoclose int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/socket", t->outside);
    assert_int_equal(bind(fd, (const struct sockaddr *)&addr, sizeof(addr)), 0);
    write_text(below(t, t->outside, "file"), "text");
    assert_int_equal(mkdir(below(t, t->outside, "dir"), 0755), 0);
    assert_int_equal(symlink("dir", below(t, t->outside, "link")), 0);
    assert_int_equal(mkfifo(below(t, t->outside, "fifo"), 0600), 0);
}

static const struct {
    const char *path, *type; /* path below the outside directory, or absolute */
    const char *error;       /* NULL: fine */
    enum err_code code;
    bool is_file;
} hosts[] = {
    { "dir", "", NULL },
    { "dir", "Directory", NULL },
    { "link", "Directory", NULL }, /* links of the host are the administrator's */
    { "dir", "DirectoryOrCreate", NULL },
    { "new/a/b", "DirectoryOrCreate", NULL },
    { "new2", "", NULL },
    { "file", "", NULL, ERR_OK, true },
    { "fifo", "", NULL, ERR_OK, true },
    { "file", "File", NULL, ERR_OK, true },
    { "file", "FileOrCreate", NULL, ERR_OK, true },
    { "newfile", "FileOrCreate", NULL, ERR_OK, true },
    { "socket", "Socket", NULL, ERR_OK, true },
    { "/dev/null", "CharDevice", NULL, ERR_OK, true },
    { "file", "Directory", "file is not a directory", ERR_INVALID },
    { "file", "DirectoryOrCreate", "file is not a directory", ERR_INVALID },
    { "dir", "File", "dir is not a file", ERR_INVALID },
    { "socket", "File", "socket is not a file", ERR_INVALID },
    { "dir", "FileOrCreate", "dir is not a file", ERR_INVALID },
    { "file", "Socket", "file is not a socket", ERR_INVALID },
    { "/dev/null", "BlockDevice", "/dev/null is not a block device", ERR_INVALID },
    { "file", "CharDevice", "file is not a character device", ERR_INVALID },
    { "none", "Directory", "none: No such file", ERR_NOT_FOUND },
    { "none", "File", "none: No such file", ERR_NOT_FOUND },
    { "none", "Socket", "none: No such file", ERR_NOT_FOUND },
    { "none/file", "FileOrCreate", "create the file", ERR_IO }, /* parents are not made */
    { "dir", "Folder", "unknown hostPath type \"Folder\"", ERR_INVALID },
    { "dir/../dir", "", "must not contain \"..\"", ERR_INVALID },
};

static void test_host_path(void **state)
{
    struct fixture *t = *state;
    struct volume_mount m;

    make_host_files(t);
    for (size_t i = 0; i < ARRAY_LEN(hosts); i++) {
        const char *path = *hosts[i].path == '/' ? hosts[i].path : below(t, t->outside, hosts[i].path);
        int rc = fixture_make(
            t, arena_fmt(&t->a, "[{name: v, hostPath: {path: %s, type: \"%s\"}}]", path, hosts[i].type).p);

        if ((rc < 0) != (hosts[i].error != NULL))
            fail_msg("%s as %s: %s", path, hosts[i].type, rc < 0 ? t->e.text : "was made");
        if (rc < 0 && (t->e.code != hosts[i].code || !strstr(t->e.text, hosts[i].error)))
            fail_msg("%s as %s: error %d: %s", path, hosts[i].type, t->e.code, t->e.text);
        if (rc < 0)
            continue;
        assert_int_equal(fixture_mount(t, "{name: v, mountPath: /x}", &m), 0);
        if (m.is_file != hosts[i].is_file || m.is_read_only || m.is_recursive_host)
            fail_msg("%s as %s: wrong mount", path, hosts[i].type);
    }
    assert_false(exists(below(t, t->outside, "none")));
    volumes_free(t->set, true);
    t->set = NULL;
    assert_true(exists(below(t, t->outside, "new/a/b")) && exists(below(t, t->outside, "file"))); /* they stay */
    assert_int_equal(fixture_make(t, "[{name: v, hostPath: {path: relative}}]"), -1);
    assert_non_null(strstr(t->e.text, "must be an absolute path"));
    fixture_must_make(t, "[{name: v, hostPath: {path: /}}]");
    assert_int_equal(fixture_mount(t, "{name: v, mountPath: /x, mountPropagation: HostToContainer}", &m), 0);
    assert_true(m.is_recursive_host);
    assert_int_equal(fixture_mount(t, "{name: v, mountPath: /x, mountPropagation: Bidirectional}", &m), -1);
}

static void test_host_block_device(void **state)
{
    struct fixture *t = *state;
    const char *path = below(t, t->outside, "block");

    NEEDS_ROOT();
    if (mknod(path, S_IFBLK | 0600, makedev(7, 200)) < 0) {
        print_message("skipped: no device can be made\n");
        skip();
    }
    fixture_must_make(t, arena_fmt(&t->a, "[{name: v, hostPath: {path: %s, type: BlockDevice}}]", path).p);
}

/* ---- claims ---- */

#define CLAIM(name, more) "{kind: PersistentVolumeClaim, metadata: {name: " name more "}}"

static void test_claims(void **state)
{
    struct fixture *t = *state;
    struct volume_mount m;

    fixture_objects(t, CLAIM("data", ""));
    fixture_must_make(t, "[{name: v, persistentVolumeClaim: {claimName: data}}, "
                         "{name: r, persistentVolumeClaim: {claimName: data, readOnly: true}}]");
    assert_int_equal(mode_of(below(t, t->claims, "ns/data")), 0777);
    assert_int_equal(mode_of(t->claims), 0700);
    assert_int_equal(mode_of(below(t, t->claims, "ns")), 0700);
    write_text(below(t, t->claims, "ns/data/f"), "kept");
    assert_int_equal(fixture_mount(t, "{name: r, mountPath: /x}", &m), 0);
    assert_true(m.is_read_only);
    assert_string_equal(list_fd(t, m.fd), arena_fmt(&t->a, "f %o kept; ", mode_of(below(t, t->claims, "ns/data/f"))).p);
    assert_int_equal(fixture_mount(t, "{name: r, mountPath: /x, subPath: new}", &m), -1); /* read-only: not made */
    assert_int_equal(t->e.code, ERR_NOT_FOUND);
    assert_int_equal(fixture_mount(t, "{name: v, mountPath: /x, subPath: new}", &m), 0);
    assert_int_equal(mode_of(below(t, t->claims, "ns/data/new")), 0777);
    volumes_free(t->set, true);
    t->set = NULL;
    assert_true(exists(below(t, t->claims, "ns/data/f")));

    assert_int_equal(fixture_make(t, "[{name: v, persistentVolumeClaim: {claimName: other}}]"), -1);
    assert_int_equal(t->e.code, ERR_NOT_FOUND);
    assert_string_equal(t->e.text, "volume \"v\": persistentvolumeclaim \"other\" not found");
    fixture_objects(t, "{kind: PersistentVolumeClaim, metadata: {name: raw}, spec: {volumeMode: Block}}");
    assert_int_equal(fixture_make(t, "[{name: v, persistentVolumeClaim: {claimName: raw}}]"), -1);
    assert_int_equal(t->e.code, ERR_INVALID);
    fixture_objects(t, CLAIM("data", ""));
    t->source.claims_dir = NULL;
    assert_int_equal(fixture_make(t, "[{name: v, persistentVolumeClaim: {claimName: data}}]"), -1);
    assert_int_equal(t->e.code, ERR_INVALID);
}

static void test_ephemeral(void **state)
{
    static const char volume[] = "[{name: v, ephemeral: {volumeClaimTemplate: {}}}]";
    struct fixture *t = *state;

    assert_int_equal(fixture_make(t, volume), -1);
    assert_int_equal(t->e.code, ERR_NOT_FOUND);
    assert_non_null(strstr(t->e.text, "persistentvolumeclaim \"p-v\" not found"));
    fixture_objects(t, CLAIM("p-v", ", ownerReferences: [{kind: Pod, name: p, uid: u2, controller: true}]"));
    assert_int_equal(fixture_make(t, volume), -1);
    assert_int_equal(t->e.code, ERR_FORBIDDEN);
    fixture_objects(t, CLAIM("p-v", ", ownerReferences: [{kind: Pod, name: p, uid: u1, controller: true}]"));
    fixture_must_make(t, volume);
    assert_int_equal(mode_of(below(t, t->claims, "ns/p-v")), 0777);
}

/* ---- mounts ---- */

#define MANY                                                                                                           \
    "[{name: e}, {name: cm, configMap: {name: cm, items: [{key: a, path: d/a}, {key: a, path: top}]}}, "               \
    "{name: o, secret: {secretName: none, optional: true}}]"

static const struct {
    const char *mount, *target, *error; /* error NULL: fine */
    bool is_read_only, is_file;
    enum err_code code;
} mounts[] = {
    { "{name: e, mountPath: /a/b}", "/a/b", NULL },
    { "{name: e, mountPath: a/b}", "/a/b", NULL },
    { "{name: e, mountPath: //a/./b//../c/}", "/a/c", NULL },
    { "{name: e, mountPath: /../../a}", "/a", NULL },
    { "{name: e, mountPath: /a, readOnly: true}", "/a", NULL, true },
    { "{name: cm, mountPath: /a}", "/a", NULL, true },
    { "{name: cm, mountPath: /a, readOnly: false, subPath: top}", "/a", NULL, true, true },
    { "{name: cm, mountPath: /a, subPath: d}", "/a", NULL, true },
    { "{name: cm, mountPath: /a, subPath: ./d//a}", "/a", NULL, true, true },
    { "{name: o, mountPath: /a, subPath: x/y}", "/a", NULL, true },
    { "{name: e, mountPath: /a, subPath: x/y}", "/a", NULL },
    { "{name: e, mountPath: /a, subPathExpr: $(POD)/$$x}", "/a", NULL },
    { "{name: e, mountPath: /}", NULL, "the root of the container cannot be a volume", .code = ERR_INVALID },
    { "{name: e, mountPath: /a/..}", NULL, "the root of the container cannot be a volume", .code = ERR_INVALID },
    { "{name: e, mountPath: ''}", NULL, "mountPath: must not be empty", .code = ERR_INVALID },
    { "{name: e}", NULL, "mountPath: must not be empty", .code = ERR_INVALID },
    { "{name: x, mountPath: /a}", NULL, "container \"c\": volumeMounts[0]: the pod has no volume \"x\"",
      .code = ERR_INVALID },
    { "{mountPath: /a}", NULL, "the pod has no volume \"\"", .code = ERR_INVALID },
    { "{name: cm, mountPath: /a, subPath: none}", NULL,
      "container \"c\": volume \"cm\": subPath: the volume has no file \"none\"", .code = ERR_NOT_FOUND },
    { "{name: cm, mountPath: /a, subPath: top/x}", NULL, "the volume has no file \"top/x\"", .code = ERR_NOT_FOUND },
    { "{name: e, mountPath: /a, subPath: x, subPathExpr: y}", NULL, "cannot both be set", .code = ERR_INVALID },
    { "{name: e, mountPath: /a, subPathExpr: $(NONE)}", NULL, "has no variable \"NONE\"", .code = ERR_INVALID },
    { "{name: e, mountPath: /a, subPathExpr: $(EMPTY)}", NULL, "expands to an empty path", .code = ERR_INVALID },
};

static void test_mounts(void **state)
{
    struct fixture *t = *state;

    fixture_objects(t, CM("data: {a: x}"));
    fixture_must_make(t, MANY);
    for (size_t i = 0; i < ARRAY_LEN(mounts); i++) {
        struct volume_mount m = { 0 };
        int rc = fixture_mount(t, mounts[i].mount, &m);

        if ((rc < 0) != (mounts[i].error != NULL))
            fail_msg("%s: %s", mounts[i].mount, rc < 0 ? t->e.text : "was mounted");
        if (rc < 0 && (t->e.code != mounts[i].code || !strstr(t->e.text, mounts[i].error)))
            fail_msg("%s: error %d: %s", mounts[i].mount, t->e.code, t->e.text);
        if (rc == 0 && (!str_is(m.target, mounts[i].target) || m.is_read_only != mounts[i].is_read_only ||
                        m.is_file != mounts[i].is_file))
            fail_msg("%s: %.*s %d %d", mounts[i].mount, STR_ARG(m.target), m.is_read_only, m.is_file);
    }
    assert_int_equal(mode_of(below(t, t->dir, "data/e/x/y")), 0777);
    assert_int_equal(mode_of(below(t, t->dir, "data/e/p-0/$x")), 0777);
}

static void test_mount_order(void **state)
{
    static const char *const want[] = { "/a", "/a/b", "/a/b/c", "/a-b", "/a.d", "/b" };
    struct fixture *t = *state;
    struct json *container = fixture_yaml(
        t, "{name: c, volumeMounts: [{name: e, mountPath: /b}, {name: e, mountPath: /a/b/c}, "
           "{name: e, mountPath: /a.d}, {name: e, mountPath: /a-b}, "
           "{name: e, mountPath: /a/b/}, {name: e, mountPath: /a}]}");
    struct volume_mount *got;
    size_t n;

    fixture_must_make(t, "[{name: e}]");
    assert_int_equal(fixture_mounts(t, container, &got, &n), 0);
    assert_int_equal(n, ARRAY_LEN(want));
    for (size_t i = 0; i < n; i++)
        if (!str_is(got[i].target, want[i]))
            fail_msg("%zu: %.*s, not %s", i, STR_ARG(got[i].target), want[i]);
    container = fixture_yaml(t, "{name: c, volumeMounts: [{name: e, mountPath: /b/}, {name: e, mountPath: //b}]}");
    assert_int_equal(fixture_mounts(t, container, &got, &n), -1);
    assert_string_equal(t->e.text, "container \"c\": two volumes are mounted at \"/b\"");
    container = fixture_yaml(t, "{name: c, volumeDevices: [{name: e, devicePath: /dev/x}]}");
    assert_int_equal(fixture_mounts(t, container, &got, &n), -1);
    container = fixture_yaml(t, "{name: none}");
    assert_int_equal(fixture_mounts(t, container, &got, &n), 0);
    assert_int_equal(n, 0);
}

static size_t n_fds(void)
{
    return n_entries("/proc/self/fd");
}

/* A container that restarts all day must not use up fds; neither may pods that come and go, or fail. */
static void test_fds(void **state)
{
    struct fixture *t = *state;
    struct volume_mount m;
    size_t before = n_fds(), made;

    fixture_objects(t, CM("data: {a: x}"));
    fixture_must_make(t, MANY);
    assert_int_equal(fixture_mount(t, "{name: e, mountPath: /a, subPath: x}", &m), 0);
    made = n_fds();
    for (int i = 0; i < 50; i++)
        assert_int_equal(fixture_mount(t, "{name: e, mountPath: /a, subPath: x/y/z}", &m), 0);
    for (int i = 0; i < 50; i++)
        assert_int_equal(fixture_mount(t, "{name: cm, mountPath: /a, subPath: d}", &m), 0);
    assert_int_equal(n_fds(), made);
    for (int i = 0; i < 10; i++)
        assert_int_equal(fixture_make(t, "[{name: e}, {name: cm, configMap: {name: cm}}, {name: x, nfs: {}}]"), -1);
    assert_int_equal(n_fds(), before);
}

/* ---- a container's view ---- */

static void bind_to(int fd, const char *target, bool is_read_only)
{
    struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY };
    autoclose int tree = open_tree(fd, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);

    assert_true(tree >= 0);
    if (is_read_only)
        assert_int_equal(mount_setattr(tree, "", AT_EMPTY_PATH, &attr, sizeof(attr)), 0);
    assert_int_equal(move_mount(tree, "", AT_FDCWD, target, MOVE_MOUNT_F_EMPTY_PATH), 0);
}

static const char *slurp(struct fixture *t, const char *path)
{
    autofile FILE *f = fopen(path, "re");
    char text[256] = { 0 };

    if (!f)
        return "(none)";
    (void)fread(text, 1, sizeof(text) - 1, f);
    return arena_str(&t->a, str_of(text)).p;
}

/* The fds can be mounted; the whole volume follows updates there, a subPath does not. */
static void test_bind(void **state)
{
    struct fixture *t = *state;
    const char *whole = below(t, t->outside, "whole"), *sub = below(t, t->outside, "sub");
    struct volume_mount m;

    NEEDS_MOUNT();
    fixture_objects(t, CM("data: {a: old}"));
    fixture_must_make(t, "[{name: v, configMap: {name: cm}}]");
    assert_int_equal(mkdir(whole, 0755), 0);
    write_text(sub, "");
    assert_int_equal(fixture_mount(t, "{name: v, mountPath: /x}", &m), 0);
    bind_to(m.fd, whole, m.is_read_only);
    assert_int_equal(fixture_mount(t, "{name: v, mountPath: /x, subPath: a}", &m), 0);
    bind_to(m.fd, sub, m.is_read_only);
    assert_string_equal(slurp(t, below(t, whole, "a")), "old");
    assert_string_equal(slurp(t, sub), "old");
    assert_int_equal(open(below(t, whole, "b"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600), -1);
    assert_int_equal(errno, EROFS);
    fixture_objects(t, CM("data: {a: new, b: more}"));
    assert_int_equal(volumes_update(t->set, fixture_pod(t, "[{name: v, configMap: {name: cm}}]"), &t->source, &t->e),
                     0);
    assert_string_equal(slurp(t, below(t, whole, "a")), "new");
    assert_string_equal(slurp(t, below(t, whole, "b")), "more");
    assert_string_equal(slurp(t, sub), "old");
    volumes_free(t->set, true); /* while it is still mounted elsewhere */
    t->set = NULL;
    assert_string_equal(slurp(t, below(t, whole, "a")), "(none)");
    assert_int_equal(umount2(whole, MNT_DETACH), 0);
    assert_int_equal(umount2(sub, MNT_DETACH), 0);
    assert_false(has_mounts(t));
}

/* ---- updates ---- */

static struct stat data_link_of(struct fixture *t)
{
    struct stat st;

    assert_int_equal(fstatat(fixture_root(t, "v"), "..data", &st, AT_SYMLINK_NOFOLLOW), 0);
    return st;
}

static void update(struct fixture *t, const char *objects, const char *volumes, const char *want)
{
    fixture_objects(t, objects);
    if (volumes_update(t->set, fixture_pod(t, volumes), &t->source, &t->e) < 0)
        fail_msg("%s: %s", objects, t->e.text);
    assert_string_equal(list_fd(t, fixture_root(t, "v")), want);
}

static void test_update(void **state)
{
    static const char volumes[] = "[{name: v, configMap: {name: cm}}]";
    struct fixture *t = *state;
    struct stat before;

    fixture_objects(t, CM("data: {a: x, b: y}"));
    fixture_must_make(t, volumes);
    before = data_link_of(t);
    update(t, CM("data: {b: y, a: x}"), volumes, "a 644 x; b 644 y; ");
    assert_int_equal(data_link_of(t).st_ino, before.st_ino); /* nothing changed, nothing written */
    update(t, CM("data: {a: xx, b: y}"), volumes, "a 644 xx; b 644 y; ");
    assert_int_not_equal(data_link_of(t).st_ino, before.st_ino);
    update(t, CM("data: {a: yy, c: z}"), volumes, "a 644 yy; c 644 z; "); /* same size, one gone, one new */
    update(t, CM("data: {c: z}"), volumes, "c 644 z; ");
    assert_int_equal(faccessat(fixture_root(t, "v"), "..data/a", F_OK, 0), -1); /* gone, not only hidden */
    update(t, CM("data: {}"), volumes, "");
    update(t, CM("data: {a: x}"), "[{name: v, configMap: {name: cm, defaultMode: 0400}}]", "a 400 x; ");
    update(t, CM("data: {a: x, b: y}"),
           "[{name: v, configMap: {name: cm, items: [{key: a, path: d/a}, {key: b, path: d/b}]}}]",
           "d/a 644 x; d/b 644 y; ");
    update(t, CM("data: {a: x, b: y}"), "[{name: v, configMap: {name: cm, items: [{key: a, path: d/a}]}}]",
           "d/a 644 x; ");
    update(t, CM("data: {a: x, b: y}"), "[{name: v, configMap: {name: cm, items: [{key: a, path: d}]}}]", "d 644 x; ");
    assert_int_equal(n_entries(below(t, t->dir, "config/v")), 3); /* ..data, its directory, d */
}

/* What fails keeps its files; the others go on. */
static void test_update_fails(void **state)
{
    static const char volumes[] = "[{name: v, configMap: {name: cm}}, {name: s, secret: {secretName: s}}, {name: e}, "
                                  "{name: w, downwardAPI: {items: [{path: l, fieldRef: {fieldPath: metadata.uid}}]}}]";
    struct fixture *t = *state;
    struct json *pod = fixture_pod(t, volumes);

    fixture_objects(t, CM("data: {a: x}") "\n---\n" SECRET("data: {k: c2VjcmV0}"));
    fixture_must_make(t, volumes);
    fixture_objects(t, SECRET("data: {k: '*'}"));
    json_set(json_get(pod, "metadata"), "uid", json_str(&t->a, STR("u9")));
    assert_int_equal(volumes_update(t->set, pod, &t->source, &t->e), -1);
    assert_int_equal(t->e.code, ERR_NOT_FOUND);
    assert_string_equal(t->e.text, "volume \"v\": configmap \"cm\" not found");
    assert_string_equal(list_fd(t, fixture_root(t, "v")), "a 644 x; ");
    assert_string_equal(list_fd(t, fixture_root(t, "s")), "k 644 secret; ");
    assert_string_equal(list_fd(t, fixture_root(t, "w")), "l 644 u9; ");
    assert_int_equal(
        volumes_update(t->set, fixture_yaml(t, "{spec: {volumes: [3, {name: v}, {name: zz}]}}"), &t->source, &t->e), 0);
}

/* A full disk in the middle of an update. */
static void test_update_without_room(void **state)
{
    struct fixture *t = *state;
    const char *small = below(t, t->outside, "small");
    struct volume_files files = { .arena = &t->a };
    char *bytes = arena_zalloc(&t->a, 1 << 20);
    autoclose int root = -1;

    NEEDS_MOUNT();
    assert_int_equal(mkdir(small, 0755), 0);
    assert_int_equal(mount("tmpfs", small, "tmpfs", 0, "size=256k"), 0);
    root = open(small, O_PATH | O_DIRECTORY | O_CLOEXEC);
    *vec_push(&t->a, &files.list) = (struct volume_file){ STR("a"), STR("small"), 0644 };
    assert_int_equal(volume_files_write(root, &files, (struct volume_owner){ 0 }, &t->e), 0);
    files.list.v[0].data = (struct str){ bytes, 1 << 20 };
    assert_int_equal(volume_files_write(root, &files, (struct volume_owner){ 0 }, &t->e), -1);
    assert_string_equal(t->e.text, "file \"a\": write: No space left on device");
    assert_string_equal(list_fd(t, root), "a 644 small; ");
    assert_int_equal(n_entries(small), 3);
    assert_int_equal(umount2(small, MNT_DETACH), 0);
}

/* ---- restart of the program ---- */

static void test_taken_over(void **state)
{
    static const char volumes[] =
        "[{name: v, configMap: {name: cm}}, {name: e}, {name: m, emptyDir: {medium: Memory, sizeLimit: 1Mi}}]";
    struct fixture *t = *state;
    int fd;

    fixture_objects(t, CM("data: {a: x}"));
    fixture_must_make(t, volumes);
    write_text(below(t, t->dir, "data/e/mine"), "1");
    write_text(below(t, t->dir, "data/m/mine"), "2");
    volumes_free(t->set, false);
    t->set = NULL;
    /* what a crash in the middle of an update leaves */
    (void)mkdir(below(t, t->dir, "config/v/..v2"), 0700);
    write_text(below(t, t->dir, "config/v/..v2/half"), "?");
    (void)symlink("..v2", below(t, t->dir, "config/v/..data_tmp"));
    (void)symlink("..data/gone", below(t, t->dir, "config/v/gone"));
    (void)unlink(below(t, t->dir, "config/v/a"));

    fixture_objects(t, "");
    assert_int_equal(volumes_make(t->dir, fixture_pod(t, volumes), fixture_source(t, can_mount), &t->set, &t->e), -1);
    assert_true(exists(below(t, t->dir, "data/e/mine"))); /* a failed try harms nobody */
    fixture_objects(t, CM("data: {a: x}"));
    assert_int_equal(volumes_make(t->dir, fixture_pod(t, volumes), fixture_source(t, can_mount), &t->set, &t->e), 0);
    assert_string_equal(list_fd(t, fixture_root(t, "v")), "a 644 x; ");
    assert_int_equal(n_entries(below(t, t->dir, "config/v")), 3);
    fd = openat(fixture_root(t, "m"), "mine", O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    close(fd);
    volumes_free(t->set, true);
    t->set = NULL;
    assert_false(exists(t->dir));
    assert_false(has_mounts(t));
}

static void test_swept(void **state)
{
    struct fixture *t = *state;

    fixture_objects(t, CM("data: {a: x}"));
    for (int keeps = 0; keeps < 2; keeps++) {
        fixture_must_make(t, "[{name: v, configMap: {name: cm}}, {name: m, emptyDir: {medium: Memory}}, {name: e}]");
        volumes_free(t->set, false);
        t->set = NULL;
        if (keeps)
            write_text(below(t, t->dir, "log"), "the caller's");
        assert_int_equal(volumes_sweep(t->dir, &t->e), 0);
        assert_int_equal(exists(t->dir), keeps);
        assert_false(has_mounts(t));
        assert_int_equal(volumes_sweep(t->dir, &t->e), 0); /* again: nothing to do */
    }
    assert_int_equal(n_entries(t->dir), 1);
}

/* The caller made the directory and keeps it. */
static void test_dir_of_the_caller(void **state)
{
    struct fixture *t = *state;

    assert_int_equal(mkdir(t->dir, 0700), 0);
    fixture_objects(t, CM("data: {a: x}"));
    assert_int_equal(fixture_make(t, "[{name: e}, {name: v, configMap: {name: cm}}, {name: x, nfs: {}}]"), -1);
    assert_int_equal(n_entries(t->dir), 0);
    assert_false(has_mounts(t));
    assert_int_equal(volumes_make(below(t, t->base, "no/pod"), fixture_pod(t, "[{name: e}]"), fixture_source(t, false),
                                  &t->set, &t->e),
                     -1);
    assert_int_equal(t->e.code, ERR_IO); /* not "try again later" */
}

/* ---- fsGroup ---- */

static void test_own(void **state)
{
    static const char volumes[] = "[{name: v, secret: {secretName: s, defaultMode: 0600}}, {name: e}]";
    struct fixture *t = *state;
    struct json *pod = fixture_pod(t, volumes);
    struct stat st;

    NEEDS_ROOT();
    fixture_objects(t, SECRET("data: {k: c2VjcmV0}"));
    fixture_must_make(t, volumes);
    (void)mkdir(below(t, t->dir, "data/e/d"), 0700);
    write_text(below(t, t->dir, "data/e/d/f"), "x");
    (void)chmod(below(t, t->dir, "data/e/d/f"), 04700);
    assert_int_equal(volumes_own(t->set, 4711, &t->e), 0);
    assert_string_equal(list_fd(t, fixture_root(t, "v")), "k 640 secret; ");
    assert_int_equal(mode_of(below(t, t->dir, "data/e")), 02777);
    assert_int_equal(mode_of(below(t, t->dir, "data/e/d")), 02770);
    assert_int_equal(mode_of(below(t, t->dir, "data/e/d/f")), 0760); /* no longer set-uid */
    assert_int_equal(stat(below(t, t->dir, "data/e/d/f"), &st), 0);
    assert_int_equal(st.st_gid, 4711);
    json_set(json_get(pod, "spec"), "securityContext", fixture_yaml(t, "{fsGroup: 4711}"));
    fixture_objects(t, SECRET("data: {k: bmV3}"));
    assert_int_equal(volumes_update(t->set, pod, &t->source, &t->e), 0);
    assert_string_equal(list_fd(t, fixture_root(t, "v")), "k 640 new; ");
    assert_int_equal(fstatat(fixture_root(t, "v"), "k", &st, 0), 0);
    assert_int_equal(st.st_gid, 4711);
    volumes_free(t->set, true);
    assert_int_equal(volumes_make(t->dir, pod, fixture_source(t, can_mount), &t->set, &t->e),
                     0); /* known from the pod too */
    assert_string_equal(list_fd(t, fixture_root(t, "v")), "k 640 new; ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VOLUME_TEST(test_config),
        VOLUME_TEST(test_ssh),
        VOLUME_TEST(test_token),
        VOLUME_TEST(test_many_keys),
        VOLUME_TEST(test_empty_dir),
        VOLUME_TEST(test_empty_dir_in_memory),
        VOLUME_TEST(test_memory_without_limits),
        VOLUME_TEST(test_without_mounts),
        VOLUME_TEST(test_host_path),
        VOLUME_TEST(test_host_block_device),
        VOLUME_TEST(test_claims),
        VOLUME_TEST(test_ephemeral),
        VOLUME_TEST(test_mounts),
        VOLUME_TEST(test_mount_order),
        VOLUME_TEST(test_fds),
        VOLUME_TEST(test_bind),
        VOLUME_TEST(test_update),
        VOLUME_TEST(test_update_fails),
        VOLUME_TEST(test_update_without_room),
        VOLUME_TEST(test_taken_over),
        VOLUME_TEST(test_swept),
        VOLUME_TEST(test_dir_of_the_caller),
        VOLUME_TEST(test_own),
    };

    return cmocka_run_group_tests(tests, enter_namespace, leave_namespace);
}
