/* image.c - tests: names of images, layouts, docker archives, the store, what a container gets */
#include "image/test/image_maker.h"
#include "image/reference.h"

#include <dirent.h>
#include <sys/file.h>

static void test_references(void **state)
{
    static const struct {
        const char *text, *want; /* NULL: not a reference */
    } cases[] = {
        { "busybox", "docker.io/library/busybox:latest" },
        { "busybox:1.36", "docker.io/library/busybox:1.36" },
        { "docker.io/busybox", "docker.io/library/busybox:latest" },
        { "index.docker.io/library/busybox", "docker.io/library/busybox:latest" },
        { "volcanosh/example-mpi:0.0.1", "docker.io/volcanosh/example-mpi:0.0.1" },
        { "localhost/a", "localhost/a:latest" },
        { "localhost:5000/a/b:t", "localhost:5000/a/b:t" },
        { "host:5000/a", "host:5000/a:latest" },
        { "gcr.io/p/a@sha256:0123456789012345678901234567890123456789012345678901234567890123",
          "gcr.io/p/a@sha256:0123456789012345678901234567890123456789012345678901234567890123" },
        { "a:t@sha256:0123456789012345678901234567890123456789012345678901234567890123",
          "docker.io/library/a@sha256:0123456789012345678901234567890123456789012345678901234567890123" },
        { "a__b/c-d", "docker.io/a__b/c-d:latest" },
        { "", NULL },
        { "Busybox", NULL },
        { "a//b", NULL },
        { "/a", NULL },
        { "a/", NULL },
        { "a:", NULL },
        { "a@sha256:12", NULL },
        { "a@sha/256:0123456789012345678901234567890123456789012345678901234567890123", NULL },
        { "a@sha256:01234567890123456789012345678901234567890123456789012345678901:3", NULL },
        { "a b", NULL },
        { "../a", NULL },
        { "a:-x", NULL },
        { "https://a/b", NULL },
    };
    autoarena a = { 0 };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct str got = STR_NULL;
        int rc = reference_normal(&a, str_of(cases[i].text), &got, NULL);

        if (rc != (cases[i].want ? 0 : -1) || (rc == 0 && !str_is(got, cases[i].want)))
            fail_msg("%s: %d %.*s", cases[i].text, rc, STR_ARG(got));
    }
}

static void add(struct fixture *f, const char *name, const char *path)
{
    if (images_add(f->images, arena_fmt(&f->a, "%s=%s", name, path), &f->e) < 0)
        fail_msg("%s", f->e.text);
}

static void expect_bad(struct fixture *f, const char *name, const char *path, const char *part)
{
    if (images_add(f->images, arena_fmt(&f->a, "%s=%s", name, path), &f->e) == 0)
        fail_msg("%s=%s went well", name, path);
    if (!strstr(f->e.text, part) || !strstr(f->e.text, path))
        fail_msg("\"%s\" does not say \"%s\" and the path", f->e.text, part);
}

static struct str in_image(struct fixture *f, const struct image *i, const char *path)
{
    return get_text(f, arena_fmt(&f->a, "%.*s/%s", STR_ARG(i->root), path).p);
}

/* Two layers; the second removes and replaces. */
static size_t two_layers(struct fixture *f, struct str ret[2])
{
    ret[0] = tar_of(
        f, (struct tar_file[]){ { "bin/a", '0', "one" }, { "etc/x", '0', "old" }, { "etc/y", '0', "y" }, { 0 } });
    ret[1] = tar_of(f, (struct tar_file[]){ { "etc/x", '0', "new" }, { "etc/.wh.y", '0', "" }, { 0 } });
    return 2;
}

static void check_two_layers(struct fixture *f, const struct image *i)
{
    assert_true(str_is(in_image(f, i, "bin/a"), "one"));
    assert_true(str_is(in_image(f, i, "etc/x"), "new"));
    assert_null(in_image(f, i, "etc/y").p);
    assert_true(str_starts(i->id, STR("sha256:")));
    assert_int_equal(i->env.n, 2);
    assert_true(str_is(i->env.v[1], "A=b"));
    assert_true(str_is(i->entrypoint.v[0], "/entry"));
    assert_int_equal(i->cmd.n, 2);
    assert_true(str_is(i->cwd, "/work"));
    assert_true(str_is(i->user, "app:grp"));
    assert_int_equal(i->stop_signal, 2);
}

/* What is in the store, without the directories for links. */
static size_t count_store(struct fixture *f, const char *prefix)
{
    DIR *d = opendir(f->store);
    size_t n = 0;

    for (struct dirent *entry; d && (entry = readdir(d));)
        n += strncmp(entry->d_name, prefix, strlen(prefix)) == 0;
    if (d)
        closedir(d);
    return n;
}

static void test_host(void **state)
{
    struct fixture *f = *state;
    const struct image *i = images_find(f->images, STR("busybox"));

    assert_true(str_is(i->name, "busybox"));
    assert_int_equal(i->root.n, 0);
    assert_true(str_is(i->id, "host"));
    assert_true(str_is(i->said, "the host's files"));
    assert_ptr_equal(i, images_find(f->images, STR("busybox")));
    assert_int_equal(images_find(f->images, STR("Not A Reference"))->root.n, 0);
    assert_int_equal(access(f->store, F_OK), -1); /* nothing is made for nothing */
}

static void test_directory(void **state)
{
    struct fixture *f = *state;
    const struct image *i;

    put_bytes(f, "rootfs/bin/sh", STR("#!"));
    put_bytes(f, "rootfs/manifest.json", STR("{\"name\":\"a web app has such a file too\"}"));
    add(f, "app:1", in_top(f, "rootfs"));
    i = images_find(f->images, STR("docker.io/library/app:1"));
    assert_true(str_is(i->root, in_top(f, "rootfs")));
    assert_true(str_starts(i->said, STR("directory /")));
    assert_true(str_starts(i->id, STR("dir:/")));
    assert_int_equal(images_find(f->images, STR("app:2"))->root.n, 0);
    add(f, "*", in_top(f, "rootfs"));
    i = images_find(f->images, STR("app:2"));
    assert_int_not_equal(i->root.n, 0);
    assert_true(str_is(i->name, "app:2"));
}

static void test_layout(void **state)
{
    struct fixture *f = *state;
    struct str layers[2];
    const char *dir = put_layout(f, "oci", layers, two_layers(f, layers), "\"os\":\"linux\",");

    add(f, "app", dir);
    check_two_layers(f, images_find(f->images, STR("app")));
    assert_int_equal(count_store(f, "sha256-"), 1);
    assert_int_equal(count_store(f, ".part"), 0);
}

/* A later run finds it by its name alone; '*' is not remembered. */
static void test_remembered(void **state)
{
    struct fixture *f = *state;
    struct str layers[2];
    const char *dir = put_layout(f, "oci", layers, two_layers(f, layers), "");

    add(f, "team/app:v1", dir);
    add(f, "*", dir);
    images_free(f->images);
    f->images = images_new(f->store);
    check_two_layers(f, images_find(f->images, STR("team/app:v1")));
    assert_int_equal(images_find(f->images, STR("other"))->root.n, 0);
}

static const char *put_archive(struct fixture *f, const char *name, const struct tar_file *list)
{
    return put_bytes(f, name, tar_of(f, list));
}

/* Old docker: layers in directories, one a link to another; the config by its digest. */
static void test_docker_archive(void **state)
{
    struct fixture *f = *state;
    struct str layers[3], config, manifest;
    struct buf out = { 0 };
    const char *path, *name;
    struct stat st;

    (void)two_layers(f, layers);
    layers[2] = layers[1];
    config = config_of(f, layers, 3, "");
    name = arena_fmt(&f->a, "%s.json", digest_of(f, config) + 7).p;
    manifest = arena_fmt(&f->a,
                         "[{\"Config\":\"%s\",\"RepoTags\":[\"x:1\"],\"Layers\":[\"l1/layer.tar\",\"l2/layer.tar\","
                         "\"l3/layer.tar\"]}]",
                         name);
    tar_add(&out, &(struct tar_file){ name, '0', config.p });
    for (int i = 0; i < 2; i++) { /* tar_add() is for text */
        tar_header(&out, &(struct tar_file){ i ? "l2/layer.tar" : "l1/layer.tar", '0', NULL }, layers[i].n);
        buf_str(&out, layers[i]);
    }
    tar_add(&out, &(struct tar_file){ "l3/layer.tar", '2', "../l2/layer.tar" });
    tar_add(&out, &(struct tar_file){ "manifest.json", '0', manifest.p });
    tar_end(&out);
    path = put_bytes(f, "save.tar", buf_view(&out));
    add(f, "app", path);
    check_two_layers(f, images_find(f->images, STR("app")));
    assert_true(str_is(images_find(f->images, STR("app"))->said, arena_fmt(&f->a, "archive %s", path).p));
    if (pack(f, "gzip", path, in_top(f, "save.tar.gz"))) {
        add(f, "packed", in_top(f, "save.tar.gz"));
        check_two_layers(f, images_find(f->images, STR("packed")));
    }
    assert_int_equal(count_store(f, "sha256-"), 1); /* the same image */
    assert_int_equal(count_store(f, ".part"), 0);
    assert_int_equal(stat(f->store, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    buf_done(&out);
}

static void test_root_archive(void **state)
{
    struct fixture *f = *state;
    const char *path = put_archive(f, "root.tar", (struct tar_file[]){ { "./bin/a", '0', "one" }, { 0 } });
    const struct image *i;

    add(f, "app", path);
    i = images_find(f->images, STR("app"));
    assert_true(str_is(in_image(f, i, "bin/a"), "one"));
    assert_int_equal(i->env.n + i->cmd.n + i->entrypoint.n, 0);
    assert_true(str_is(i->id, digest_of(f, tar_of(f, (struct tar_file[]){ { "./bin/a", '0', "one" }, { 0 } }))));
}

/* An archive that did not change is not read again; one that did is. */
static void test_read_once(void **state)
{
    struct fixture *f = *state;
    const char *path = put_archive(f, "root.tar", (struct tar_file[]){ { "a", '0', "one" }, { 0 } });
    struct stat before, after;
    struct str root;

    add(f, "app", path);
    root = images_find(f->images, STR("app"))->root;
    assert_int_equal(stat(arena_cstr(&f->a, root), &before), 0);
    add(f, "app", path);
    assert_int_equal(stat(arena_cstr(&f->a, root), &after), 0);
    assert_int_equal(before.st_ino, after.st_ino);
    put_archive(f, "root.tar", (struct tar_file[]){ { "a", '0', "two and more" }, { 0 } });
    add(f, "app", path);
    assert_true(str_is(in_image(f, images_find(f->images, STR("app")), "a"), "two and more"));
}

/* index.json: several images and machines. */
static void test_choice(void **state)
{
    struct fixture *f = *state;
    struct str one = tar_of(f, (struct tar_file[]){ { "a", '0', "one" }, { 0 } });
    struct str two = tar_of(f, (struct tar_file[]){ { "a", '0', "two" }, { 0 } });
    const char *m1 = put_manifest(f, "oci", &one, 1, ""), *m2 = put_manifest(f, "oci", &two, 1, "");
#ifdef __x86_64__
    const char *here = "amd64", *there = "arm64";
#else
    const char *here = "arm64", *there = "amd64";
#endif
    const char *nested;

    put_bytes(f, "oci/oci-layout", STR("{}"));
    put_bytes(
        f, "oci/index.json",
        arena_fmt(&f->a,
                  "{\"manifests\":[{\"digest\":\"%s\",\"annotations\":{\"org.opencontainers.image.ref.name\":\"one\"}},"
                  "{\"digest\":\"%s\",\"annotations\":{\"io.containerd.image.name\":\"docker.io/library/app:two\"}}]}",
                  m1, m2));
    add(f, "app:one", in_top(f, "oci"));
    add(f, "app:two", in_top(f, "oci"));
    assert_true(str_is(in_image(f, images_find(f->images, STR("app:one")), "a"), "one"));
    assert_true(str_is(in_image(f, images_find(f->images, STR("app:two")), "a"), "two"));
    expect_bad(f, "app:three", in_top(f, "oci"), "has 2 images");

    nested = put_blob(
        f, "oci",
        arena_fmt(&f->a,
                  "{\"manifests\":[{\"digest\":\"%s\",\"platform\":{\"os\":\"linux\",\"architecture\":\"%s\"}},"
                  "{\"digest\":\"%s\",\"platform\":{\"os\":\"linux\",\"architecture\":\"%s\"}},"
                  "{\"digest\":\"%s\",\"platform\":{\"os\":\"unknown\",\"architecture\":\"unknown\"}}]}",
                  m1, there, m2, here, m1));
    put_bytes(f, "oci/index.json", arena_fmt(&f->a, "{\"manifests\":[{\"digest\":\"%s\"}]}", nested));
    add(f, "many", in_top(f, "oci"));
    assert_true(str_is(in_image(f, images_find(f->images, STR("many")), "a"), "two"));
}

/* Each thing that can be wrong with a layout. Nothing is left in the store. */
static void test_bad_layouts(void **state)
{
    struct fixture *f = *state;
    struct str layer = tar_of(f, (struct tar_file[]){ { "a", '0', "one" }, { 0 } });
    struct str other = tar_of(f, (struct tar_file[]){ { "a", '0', "two" }, { 0 } });
    struct str config = config_of(f, &layer, 1, "");
    const char *manifest, *digest;

    put_layout(f, "gone", &layer, 1, "");
    assert_int_equal(unlink(in_top(f, arena_fmt(&f->a, "gone/blobs/sha256/%s", digest_of(f, layer) + 7).p)), 0);
    expect_bad(f, "x", in_top(f, "gone"), "No such file");

    put_layout(f, "spoilt", &layer, 1, "");
    put_bytes(f, arena_fmt(&f->a, "spoilt/blobs/sha256/%s", digest_of(f, layer) + 7).p, other);
    expect_bad(f, "x", in_top(f, "spoilt"), "is damaged: wrong digest: expected");

    put_layout(f, "config", &layer, 1, "");
    put_bytes(f, arena_fmt(&f->a, "config/blobs/sha256/%s", digest_of(f, config) + 7).p, STR("{}"));
    expect_bad(f, "x", in_top(f, "config"), "is damaged: its digest");

    put_layout(f, "windows", &layer, 1, "\"os\":\"windows\",");
    expect_bad(f, "x", in_top(f, "windows"), "not for Linux");
    put_layout(f, "arch", &layer, 1, "\"architecture\":\"s390\",");
    expect_bad(f, "x", in_top(f, "arch"), "for s390 machines");

    /* The blob is what the manifest says, but not what the config says. */
    put_bytes(f, "diff/oci-layout", STR("{}"));
    digest = put_blob(f, "diff", other);
    manifest = put_blob(f, "diff",
                        arena_fmt(&f->a, "{\"config\":{\"digest\":\"%s\"},\"layers\":[{\"digest\":\"%s\"}]}",
                                  put_blob(f, "diff", config), digest));
    put_bytes(f, "diff/index.json", arena_fmt(&f->a, "{\"manifests\":[{\"digest\":\"%s\"}]}", manifest));
    expect_bad(f, "x", in_top(f, "diff"), "is damaged: wrong digest: expected");

    manifest = put_blob(f, "diff",
                        arena_fmt(&f->a, "{\"config\":{\"digest\":\"%s\"},\"layers\":[]}", digest_of(f, config)));
    put_bytes(f, "diff/index.json", arena_fmt(&f->a, "{\"manifests\":[{\"digest\":\"%s\"}]}", manifest));
    expect_bad(f, "x", in_top(f, "diff"), "has 0 layers but its config lists 1");

    put_bytes(f, "diff/index.json", STR("{\"manifests\":[{\"digest\":\"sha256:../../../../etc/passwd\"}]}"));
    expect_bad(f, "x", in_top(f, "diff"), "is not a sha256 digest");
    put_bytes(f, "diff/index.json", STR("[}"));
    expect_bad(f, "x", in_top(f, "diff"), "index.json");
    put_bytes(f, "diff/index.json", STR("{\"manifests\":[]}"));
    expect_bad(f, "x", in_top(f, "diff"), "images is for this machine");

    assert_int_equal(count_store(f, "sha256-"), 0);
    assert_int_equal(count_store(f, ".part"), 0);
}

/* manifest.json names any file: it must not lead out of the archive. */
static void test_docker_paths(void **state)
{
    struct fixture *f = *state;
    struct str layer = tar_of(f, (struct tar_file[]){ { "a", '0', "one" }, { 0 } });
    struct str config = config_of(f, &layer, 1, "");

    put_bytes(f, "secret.tar", layer);
    put_bytes(f, "d/config.json", config);
    put_bytes(f, "d/manifest.json", STR("[{\"Config\":\"config.json\",\"Layers\":[\"../secret.tar\"]}]"));
    expect_bad(f, "x", in_top(f, "d"), "../secret.tar");
    put_bytes(f, "d/manifest.json",
              arena_fmt(&f->a, "[{\"Config\":\"config.json\",\"Layers\":[\"%s\"]}]", in_top(f, "secret.tar")));
    expect_bad(f, "x", in_top(f, "d"), "secret.tar");
    assert_int_equal(symlink("../secret.tar", in_top(f, "d/link")), 0);
    put_bytes(f, "d/manifest.json", STR("[{\"Config\":\"config.json\",\"Layers\":[\"link\"]}]"));
    expect_bad(f, "x", in_top(f, "d"), "link");
    put_bytes(f, "d/manifest.json", STR("[{\"Config\":\"../d/config.json\",\"Layers\":[]}]"));
    expect_bad(f, "x", in_top(f, "d"), "config of the image");
    put_bytes(f, "d/layer.tar", layer);
    put_bytes(f, "d/manifest.json", STR("[{\"Config\":\"config.json\",\"Layers\":[\"layer.tar\"]}]"));
    add(f, "x", in_top(f, "d"));
}

static void test_bad_text(void **state)
{
    struct fixture *f = *state;
    static const char *const bad[] = { "", "x", "x=", "=/tmp", "A B=/tmp" };

    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        if (images_add(f->images, str_of(bad[i]), &f->e) == 0)
            fail_msg("\"%s\" went well", bad[i]);
    expect_bad(f, "x", in_top(f, "nowhere"), "No such file");
    expect_bad(f, "x", "/dev/null", "neither a directory nor an archive");
    expect_bad(f, "x", put_bytes(f, "text.tar", STR("hello")), "is not a tar archive");
    assert_int_equal(count_store(f, ".part"), 0);
    images_free(f->images);
    f->images = images_new(NULL);
    expect_bad(f, "x", put_archive(f, "a.tar", (struct tar_file[]){ { "a", '0', "x" }, { 0 } }),
               "no image store to unpack");
}

static void test_bad_config(void **state)
{
    static const struct {
        const char *text;
        int rc, stop_signal;
    } cases[] = {
        { "{}", 0, 0 },
        { "{\"config\":null}", 0, 0 },
        { "{\"config\":{\"Env\":null,\"Cmd\":null}}", 0, 0 },
        { "{\"config\":{\"Env\":[\"=x\",\"novalue\"]}}", 0, 0 },
        { "{\"config\":{\"StopSignal\":\"9\"}}", 0, 9 },
        { "{\"config\":{\"StopSignal\":\"QUIT\"}}", 0, 3 },
        { "{\"config\":{\"StopSignal\":\"SIGRTMIN+3\"}}", 0, 37 },
        { "{\"config\":{\"StopSignal\":\"SIGWHAT\"}}", 0, 0 },
        { "{\"config\":{\"StopSignal\":\"999\"}}", 0, 0 },
        { "{\"config\":{\"Cmd\":\"sh\"}}", -1, 0 },
        { "{\"config\":{\"Cmd\":[1]}}", -1, 0 },
        { "{\"config\":{\"Env\":[\"A=\\u0000\"]}}", -1, 0 },
        { "{\"config\":{\"User\":\"\\u0000\"}}", -1, 0 },
        { "nonsense", -1, 0 },
    };
    autoarena a = { 0 };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct image image = { 0 };
        int rc = image_config_read(&a, str_of(cases[i].text), &image, NULL);

        if (rc != cases[i].rc || (rc == 0 && (image.stop_signal != cases[i].stop_signal || image.env.n)))
            fail_msg("%s: %d %d", cases[i].text, rc, image.stop_signal);
    }
}

/* What a crash left is removed; what somebody works in is not. */
static void test_sweep(void **state)
{
    struct fixture *f = *state;
    int fd;

    assert_int_equal(images_sweep(f->store, &f->e), 0); /* no store at all */
    put_bytes(f, "state/images/.part-1-0/root/a/b", STR("x"));
    put_bytes(f, "state/images/.part-2-0/root/a", STR("x"));
    put_bytes(f, "state/images/sha256-0/root/a", STR("x"));
    fd = open(in_top(f, "state/images/.part-2-0"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    assert_int_equal(images_sweep(f->store, &f->e), 0);
    assert_int_equal(count_store(f, ".part"), 1);
    close(fd);
    assert_int_equal(images_sweep(f->store, &f->e), 0);
    assert_int_equal(count_store(f, ".part"), 0);
    assert_int_equal(count_store(f, "sha256-"), 1);
}

/* Two unpack the same at the same time. */
static void test_two_at_once(void **state)
{
    struct fixture *f = *state;
    const char *path = put_archive(f, "root.tar", (struct tar_file[]){ { "a", '0', "one" }, { 0 } });
    pid_t pids[4];
    int status;

    for (size_t i = 0; i < ARRAY_LEN(pids); i++) {
        pids[i] = fork();
        if (pids[i] == 0)
            _exit(images_add(f->images, arena_fmt(&f->a, "app=%s", path), &f->e) < 0 ? 1 : 0);
    }
    for (size_t i = 0; i < ARRAY_LEN(pids); i++) {
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_int_equal(status, 0);
    }
    assert_true(str_is(in_image(f, images_find(f->images, STR("app")), "a"), "one"));
    assert_int_equal(count_store(f, "sha256-"), 1);
    assert_int_equal(count_store(f, ".part"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_references),
        cmocka_unit_test_setup_teardown(test_host, setup, teardown),
        cmocka_unit_test_setup_teardown(test_directory, setup, teardown),
        cmocka_unit_test_setup_teardown(test_layout, setup, teardown),
        cmocka_unit_test_setup_teardown(test_remembered, setup, teardown),
        cmocka_unit_test_setup_teardown(test_docker_archive, setup, teardown),
        cmocka_unit_test_setup_teardown(test_root_archive, setup, teardown),
        cmocka_unit_test_setup_teardown(test_read_once, setup, teardown),
        cmocka_unit_test_setup_teardown(test_choice, setup, teardown),
        cmocka_unit_test_setup_teardown(test_bad_layouts, setup, teardown),
        cmocka_unit_test_setup_teardown(test_docker_paths, setup, teardown),
        cmocka_unit_test_setup_teardown(test_bad_text, setup, teardown),
        cmocka_unit_test(test_bad_config),
        cmocka_unit_test_setup_teardown(test_sweep, setup, teardown),
        cmocka_unit_test_setup_teardown(test_two_at_once, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
