/* volume_safe.c - what containers may try: links, "..", renames in the middle, other users, odd objects */
#include "node/volume/test/volumes.h"

#include "base/log.h"
#include "base/rand.h"
#include "os/tree.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define SECRET_YAML "{kind: Secret, metadata: {name: s}, data: {k: c2VjcmV0, l: c2VjcmV0}}"
#define CLAIM_YAML  "{kind: PersistentVolumeClaim, metadata: {name: data}}"

/* Where an fd leads, as the kernel sees it. */
static bool is_inside(int fd, const char *dir)
{
    char link[40], path[4096];
    ssize_t n;

    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    n = readlink(link, path, sizeof(path) - 1);
    assert_true(n > 0);
    path[n] = '\0';
    return strncmp(path, dir, strlen(dir)) == 0 && (path[strlen(dir)] == '/' || path[strlen(dir)] == '\0');
}

/* ---- links that wait ---- */

static const struct {
    const char *link, *target; /* planted in the volume; %s is the outside directory */
    const char *sub_path;
    bool is_fine;
} links[] = {
    { "l", "%s", "l", false },
    { "l", "%s", "l/new", false },
    { "l", "%s/none", "l", false }, /* must not be made there */
    { "l", "/", "l", false },
    { "l", "/proc/self/root", "l/etc", false },
    { "l", "/proc/self/cwd", "l", false },
    { "l", "..", "l", false },
    { "l", "../..", "l/new", false },
    { "l", "d/../..", "l", false },
    { "l", "d/../../v/d", "l", false }, /* out and in again */
    { "d/l", "../../../../outside", "d/l", false },
    { "d/l", "../../../../outside", "d/l/a/b", false },
    { "l", "l", "l", false },       /* a loop */
    { "l", "nowhere", "l", false }, /* a link to nothing is not made */
    { "l", "d", "l", true },
    { "l", "d", "l/new/x", true },
    { "d/l", "../d/e", "d/l", true },
    { "l", "d/file", "l", true },
    { "l", "d/file", "l/x", false },
    { "l", ".", "l/l/l/d", true },
};

static void try_link(struct fixture *t, size_t i, const char *volume)
{
    struct volume_mount m;
    const char *link = below(t, volume, links[i].link);
    char target[200];
    int rc;

    (void)snprintf(target, sizeof(target), "%s", links[i].target);
    if (str_starts(str_of(target), STR("%s")))
        (void)snprintf(target, sizeof(target), "%s%s", t->outside, links[i].target + 2);
    (void)unlink(link);
    assert_int_equal(symlink(target, link), 0);
    rc = fixture_mount(t, arena_fmt(&t->a, "{name: v, mountPath: /x, subPath: %s}", links[i].sub_path).p, &m);
    if ((rc == 0) != links[i].is_fine)
        fail_msg("%s -> %s, subPath %s: %s", link, target, links[i].sub_path, rc < 0 ? t->e.text : "was mounted");
    if (rc == 0 && !is_inside(m.fd, volume))
        fail_msg("%s -> %s, subPath %s leads outside", link, target, links[i].sub_path);
    if (rc < 0 && !strstr(t->e.text, "container \"c\": volume \"v\": subPath: "))
        fail_msg("%s", t->e.text);
    if (n_entries(t->outside) != 0)
        fail_msg("%s -> %s, subPath %s: something was made outside", link, target, links[i].sub_path);
    (void)unlink(link);
}

static void test_links(void **state)
{
    static const char *const volumes[][2] = {
        { "[{name: v}]", "pod/data/v" },
        { "[{name: v, emptyDir: {medium: Memory}}]", "pod/data/v" },
        { "[{name: v, persistentVolumeClaim: {claimName: data}}]", "claims/ns/data" },
    };
    struct fixture *t = *state;

    fixture_objects(t, CLAIM_YAML);
    for (size_t k = 0; k < ARRAY_LEN(volumes); k++) {
        const char *volume = below(t, t->base, volumes[k][1]);

        fixture_must_make(t, volumes[k][0]);
        (void)mkdir(below(t, volume, "d"), 0755);
        (void)mkdir(below(t, volume, "d/e"), 0755);
        write_text(below(t, volume, "d/file"), "x");
        for (size_t i = 0; i < ARRAY_LEN(links); i++)
            try_link(t, i, volume);
    }
}

static void test_paths_upwards(void **state)
{
    static const char *const bad[] = {
        "subPath: ..",
        "subPath: a/..",
        "subPath: a/../../b",
        "subPath: /etc",
        "subPath: ../outside",
        "subPath: ./../../etc",
        "subPathExpr: $(UP)",
        "subPathExpr: $(ROOT)",
        "subPathExpr: a/$(UP)/b",
        "subPathExpr: x/.$(EMPTY)./y",
        "subPath: \"a\\0b\"",
        "subPath: .",
    };
    struct fixture *t = *state;
    struct volume_mount m;

    fixture_objects(t, SECRET_YAML);
    fixture_must_make(t, "[{name: v}, {name: s, secret: {secretName: s}}]");
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        for (int k = 0; k < 2; k++)
            if (fixture_mount(t, arena_fmt(&t->a, "{name: %s, mountPath: /x, %s}", k ? "s" : "v", bad[i]).p, &m) == 0 ||
                t->e.code != ERR_INVALID)
                fail_msg("%s: %s", bad[i], t->e.text);
    assert_int_equal(n_entries(below(t, t->dir, "data/v")), 0);
    /* the links of a configMap are ours, not a way in */
    assert_int_equal(fixture_mount(t, "{name: s, mountPath: /x, subPath: ..data}", &m), -1);
    assert_int_equal(fixture_mount(t, "{name: s, mountPath: /x, subPath: ..data/k}", &m), -1);
    assert_int_equal(fixture_mount(t, "{name: s, mountPath: \"/x\\0y\"}", &m), -1);
}

static void test_names(void **state)
{
    static const char *const bad[] = {
        "[{name: ../x}]",
        "[{name: ..}]",
        "[{name: ''}]",
        "[{}]",
        "[{name: a/b}]",
        "[{name: \"a\\0b\"}]",
        "[{name: a}, {name: a}]",
        "[{name: a, persistentVolumeClaim: {claimName: ../x}}]",
        "[{name: a, persistentVolumeClaim: {claimName: ..}}]",
        "[{name: a, persistentVolumeClaim: {}}]",
        "[{name: a, hostPath: {path: \"/tmp\\0x\"}}]",
        "[3]",
        "[[]]",
    };
    struct fixture *t = *state;
    struct json *pod = fixture_pod(t, "[{name: a, persistentVolumeClaim: {claimName: data}}]");

    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        if (fixture_make(t, bad[i]) == 0 || t->e.code != ERR_INVALID)
            fail_msg("%s: %s", bad[i], t->set ? "was made" : t->e.text);
    fixture_objects(t, CLAIM_YAML);
    json_set(json_get(pod, "metadata"), "namespace", json_str(&t->a, STR("../x")));
    assert_int_equal(volumes_make(t->dir, pod, fixture_source(t, false), &t->set, &t->e), -1);
    assert_int_equal(t->e.code, ERR_INVALID);
    assert_false(exists(t->dir));
}

/* A claim's directory that became a link is not followed. */
static void test_claim_is_a_link(void **state)
{
    struct fixture *t = *state;

    fixture_objects(t, CLAIM_YAML);
    assert_int_equal(mkdir(t->claims, 0700), 0);
    assert_int_equal(mkdir(below(t, t->claims, "ns"), 0700), 0);
    assert_int_equal(symlink(t->outside, below(t, t->claims, "ns/data")), 0);
    assert_int_equal(fixture_make(t, "[{name: v, persistentVolumeClaim: {claimName: data}}]"), -1);
    assert_int_equal(t->e.code, ERR_IO);
}

static void test_host_path_refused(void **state)
{
    struct fixture *t = *state;

    t->source.allows_host_path = false;
    assert_int_equal(
        fixture_make(t,
                     arena_fmt(&t->a, "[{name: v, hostPath: {path: %s/new, type: DirectoryOrCreate}}]", t->outside).p),
        -1);
    assert_int_equal(t->e.code, ERR_FORBIDDEN);
    assert_non_null(strstr(t->e.text, "volume \"v\": hostPath "));
    assert_int_equal(n_entries(t->outside), 0);
}

/* ---- renames in the middle ---- */

struct swapper { /* a container that exchanges a directory and a link to the outside as fast as it can */
    char dir[160], link[160];
    atomic_bool ends;
    size_t n;
};

static void *swap(void *ctx)
{
    struct swapper *s = ctx;

    while (!atomic_load(&s->ends))
        s->n += renameat2(AT_FDCWD, s->dir, AT_FDCWD, s->link, RENAME_EXCHANGE) == 0;
    return NULL;
}

static void swapper_init(struct swapper *s, const char *volume, const char *outside)
{
    memset(s, 0, sizeof(*s));
    (void)snprintf(s->dir, sizeof(s->dir), "%s/a", volume);
    (void)snprintf(s->link, sizeof(s->link), "%s/b", volume);
    (void)mkdir(s->dir, 0777);
    assert_int_equal(symlink(outside, s->link), 0);
}

/* Half of the names are there outside already, so that opening a wrong one shows; the others must not be made there. */
static void test_race_of_sub_path(void **state)
{
    enum { ROUNDS = 20000 };
    struct fixture *t = *state;
    const char *volume = below(t, t->dir, "data/v");
    autoclose int root = -1;
    struct swapper s;
    pthread_t thread;
    size_t n_made = 0, n_wrong = 0;

    fixture_must_make(t, "[{name: v}]");
    root = dup(fixture_root(t, "v"));
    for (int i = 0; i < ROUNDS; i += 2)
        assert_int_equal(mkdir(arena_fmt(&t->a, "%s/%d", t->outside, i).p, 0755), 0);
    swapper_init(&s, volume, t->outside);
    assert_int_equal(pthread_create(&thread, NULL, swap, &s), 0);
    for (int i = 0; i < ROUNDS; i++) {
        autoclose int fd = -1;
        struct make_below how = { .root = root, .resolve = RESOLVE_BENEATH, .mode = 0777 };
        int rc = make_dirs_below(&how, arena_fmt(&t->a, "a/%d%s", i, i % 3 ? "" : "/deep"), &fd, NULL);

        n_made += rc == 0;
        n_wrong += rc == 0 && !is_inside(fd, volume);
    }
    atomic_store(&s.ends, true);
    pthread_join(thread, NULL);
    assert_int_equal(n_wrong, 0);
    assert_int_equal(n_entries(t->outside), ROUNDS / 2);
    assert_true(n_made > 0 && s.n > 0); /* both had their turns, or nothing was shown */
}

/* The same as a container sees it: open what is there, make what is not. */
static void test_race_of_mounts(void **state)
{
    enum { ROUNDS = 1000 };
    struct fixture *t = *state;
    const char *volume = below(t, t->dir, "data/v"), *wrong = NULL;
    struct swapper s;
    pthread_t thread;
    size_t n_made = 0;

    fixture_must_make(t, "[{name: v}]");
    swapper_init(&s, volume, t->outside);
    assert_int_equal(pthread_create(&thread, NULL, swap, &s), 0);
    for (int i = 0; i < ROUNDS && !wrong; i++) {
        struct volume_mount m;
        const char *mount = arena_fmt(&t->a, "{name: v, mountPath: /x, subPath: %s}", i % 2 ? "a" : "a/x/y").p;

        if (fixture_mount(t, mount, &m) < 0)
            continue;
        n_made++;
        if (!is_inside(m.fd, volume))
            wrong = mount;
    }
    atomic_store(&s.ends, true);
    pthread_join(thread, NULL);
    assert_null(wrong);
    assert_int_equal(n_entries(t->outside), 0);
    assert_true(n_made > 0 && s.n > 0);
}

/* A tree that is deleted or given to a group while a link takes the place of a directory. */
static void test_race_of_trees(void **state)
{
    enum { ROUNDS = 200 };
    struct fixture *t = *state;
    const char *volume = below(t, t->dir, "data/v"), *victim = below(t, t->outside, "victim");
    struct stat before, after;

    NEEDS_ROOT();
    write_text(victim, "x");
    assert_int_equal(chmod(victim, 0600), 0);
    assert_int_equal(stat(victim, &before), 0);
    for (int i = 0; i < ROUNDS; i++) {
        autoclose int root = -1;
        struct swapper s;
        pthread_t thread;

        fixture_must_make(t, "[{name: v}]");
        swapper_init(&s, volume, t->outside);
        write_text(below(t, volume, "a/victim"), "y");
        root = dup(fixture_root(t, "v"));
        assert_int_equal(pthread_create(&thread, NULL, swap, &s), 0);
        (void)tree_own(root, 4711, false, NULL); /* whatever comes of it */
        (void)tree_empty(root, NULL);
        atomic_store(&s.ends, true);
        pthread_join(thread, NULL);
        assert_int_equal(stat(victim, &after), 0);
        assert_int_equal(after.st_gid, before.st_gid);
        assert_int_equal(after.st_mode, before.st_mode);
    }
}

/* ---- trees ---- */

static void test_remove_keeps_outside(void **state)
{
    struct fixture *t = *state;
    const char *volume = below(t, t->dir, "data/v");

    write_text(below(t, t->outside, "kept"), "x");
    fixture_must_make(t, "[{name: v}]");
    (void)mkdir(below(t, volume, "d"), 0755);
    assert_int_equal(symlink(t->outside, below(t, volume, "d/l")), 0);
    assert_int_equal(symlink("/etc", below(t, volume, "l")), 0);
    (void)mkfifo(below(t, volume, "fifo"), 0600);
    volumes_free(t->set, true);
    t->set = NULL;
    assert_false(exists(t->dir));
    assert_true(exists(below(t, t->outside, "kept")));
}

/* Deeper than any path can say, and than any stack or table of fds. */
static void test_remove_deep(void **state)
{
    enum { LEVELS = 2500 };
    struct fixture *t = *state;
    struct rlimit limit, few;
    int fd;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    few = limit;
    few.rlim_cur = 256;

    fixture_must_make(t, "[{name: v}]");
    fd = openat(fixture_root(t, "v"), ".", O_PATH | O_CLOEXEC);
    for (int i = 0; i < LEVELS; i++) {
        int next;

        assert_int_equal(mkdirat(fd, "a", 0777), 0);
        next = openat(fd, "a", O_PATH | O_DIRECTORY | O_CLOEXEC);
        close(fd);
        fd = next;
    }
    close(fd);
    if (is_root) {
        assert_int_equal(volumes_own(t->set, 4711, &t->e), -1); /* a clear word, no crash */
        assert_int_equal(t->e.code, ERR_TOO_BIG);
    }
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    volumes_free(t->set, true);
    t->set = NULL;
    fd = open(t->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* what is left of so many is deleted by the agent */
    assert_int_equal(tree_empty(fd, &t->e), 0);
    close(fd);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(rmdir(t->dir), 0);
}

/* Something mounted inside a volume is neither emptied nor unmounted; all else goes. */
static void test_remove_stops_at_mounts(void **state)
{
    struct fixture *t = *state;
    const char *inner = below(t, t->dir, "data/v/m");
    struct log_config before;

    NEEDS_MOUNT();
    before = log_setup((struct log_config){ .fd = 2, .level = LOG_LEVEL_ERROR });
    fixture_objects(t, SECRET_YAML);
    fixture_must_make(t, "[{name: v}, {name: s, secret: {secretName: s}}]");
    assert_int_equal(mkdir(inner, 0755), 0);
    write_text(below(t, t->dir, "data/v/z"), "x");
    write_text(below(t, t->outside, "kept"), "x");
    assert_int_equal(mount(t->outside, inner, NULL, MS_BIND, NULL), 0);
    volumes_free(t->set, true);
    t->set = NULL;
    assert_true(exists(below(t, t->outside, "kept")));
    assert_false(exists(below(t, t->dir, "data/v/z")));
    assert_false(exists(below(t, t->dir, "config")));
    assert_int_equal(volumes_sweep(t->dir, &t->e), -1);
    assert_non_null(strstr(t->e.text, "a file system is mounted at \"m\""));
    assert_int_equal(umount2(inner, MNT_DETACH), 0);
    assert_int_equal(volumes_sweep(t->dir, &t->e), 0);
    assert_false(exists(t->dir));
    (void)log_setup(before);
}

static void test_own_stays_inside(void **state)
{
    struct fixture *t = *state;
    const char *volume = below(t, t->dir, "data/v"), *victim = below(t, t->outside, "victim");
    struct stat st;

    NEEDS_ROOT();
    write_text(victim, "x");
    assert_int_equal(chmod(victim, 0600), 0);
    fixture_must_make(t, arena_fmt(&t->a, "[{name: v}, {name: h, hostPath: {path: %s}}]", t->outside).p);
    assert_int_equal(symlink(victim, below(t, volume, "l")), 0);
    assert_int_equal(symlink(t->outside, below(t, volume, "d")), 0);
    assert_int_equal(volumes_own(t->set, 4711, &t->e), 0);
    assert_int_equal(stat(victim, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(st.st_gid, 0);
    assert_int_equal(stat(t->outside, &st), 0);
    assert_int_equal(st.st_gid, 0);
    assert_int_equal(lstat(below(t, volume, "l"), &st), 0);
    assert_int_equal(st.st_gid, 4711);
}

/* ---- who reads a secret ---- */

/* Run as another user; true if the file can be read. */
static bool other_can_read(int dir, const char *path)
{
    pid_t pid = fork();
    int status = 0;

    if (pid == 0) {
        int fd = -1;

        if (setgid(65534) == 0 && setuid(65534) == 0)
            fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
        _exit(fd >= 0 ? 0 : errno == EACCES ? 1 : 2);
    }
    assert_true(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) != 2);
    return WEXITSTATUS(status) == 0;
}

static void test_secret_readers(void **state)
{
    struct fixture *t = *state;
    int root;

    NEEDS_ROOT();
    fixture_objects(t, SECRET_YAML);
    fixture_must_make(t, "[{name: s, secret: {secretName: s, items: [{key: k, path: k, mode: 0600}, "
                         "{key: l, path: l, mode: 0444}]}}]");
    root = fixture_root(t, "s");
    assert_false(other_can_read(root, "k")); /* in the pod, by its mode */
    assert_true(other_can_read(root, "l"));
    assert_false(other_can_read(AT_FDCWD, below(t, t->dir, "config/s/l"))); /* on the host, never */
    fixture_must_make(t, "[{name: e}]");
    write_text(below(t, t->dir, "data/e/f"), "x");
    assert_int_equal(chmod(below(t, t->dir, "data/e/f"), 0666), 0);
    assert_false(other_can_read(AT_FDCWD, below(t, t->dir, "data/e/f")));
}

/* What lies below the tmpfs on the disk: look at it through a mount of the disk alone. */
static void test_secret_is_not_on_disk(void **state)
{
    static const char *const volumes =
        "[{name: s, secret: {secretName: s}}, {name: p, projected: {sources: [{secret: {name: s}}]}}]";
    struct fixture *t = *state;
    const char *disk = below(t, t->base, "disk");

    NEEDS_MOUNT();
    fixture_objects(t, SECRET_YAML);
    fixture_must_make(t, volumes);
    assert_int_equal(volumes_update(t->set, fixture_pod(t, volumes), &t->source, &t->e), 0);
    assert_true(n_entries(below(t, t->dir, "config/s")) > 0);
    assert_int_equal(mkdir(disk, 0755), 0);
    assert_int_equal(mount(t->dir, disk, NULL, MS_BIND, NULL), 0); /* not recursive */
    assert_int_equal(n_entries(below(t, disk, "config")), 0);
    assert_int_equal(umount2(disk, MNT_DETACH), 0);
    volumes_free(t->set, true);
    t->set = NULL;
    assert_false(has_mounts(t));
    assert_false(exists(t->dir));
}

/* ---- a reader during updates ---- */

struct reader {
    int root;
    atomic_bool ends;
    size_t n_reads;
    char mixture[100];
};

static bool read_key(int dir, const char *name, char text[32])
{
    autoclose int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, 31);

    if (n < 0)
        return false;
    text[n] = '\0';
    return true;
}

/* Three files of one generation hold the same number; the third exists in even ones only. */
static void read_once(struct reader *r)
{
    char a[32], b[32], c[32] = "";
    autoclose int dir = openat(r->root, "..data", O_PATH | O_DIRECTORY | O_CLOEXEC);

    if (dir < 0 || !read_key(dir, "a", a) || !read_key(dir, "d/b", b))
        return; /* deleted while we looked: look again */
    r->n_reads++;
    if (strcmp(a, b) != 0 || (read_key(dir, "c", c) && strcmp(a, c) != 0))
        (void)snprintf(r->mixture, sizeof(r->mixture), "%s %s %s", a, b, c);
    if (read_key(r->root, "a", a) && strlen(a) != 8) /* half a file */
        (void)snprintf(r->mixture, sizeof(r->mixture), "\"%s\"", a);
}

static void *read_always(void *ctx)
{
    struct reader *r = ctx;

    while (!atomic_load(&r->ends) && !r->mixture[0])
        read_once(r);
    return NULL;
}

static void test_reader(void **state)
{
    enum { ROUNDS = 600 };
    static const char volumes[] = "[{name: v, configMap: {name: cm, optional: true, items: [{key: a, path: a}, {key: "
                                  "b, path: d/b}, {key: c, path: c}]}}]";
    struct fixture *t = *state;
    struct reader r = { 0 };
    pthread_t thread;
    struct json *pod = fixture_pod(t, volumes);

    fixture_objects(t, "{kind: ConfigMap, metadata: {name: cm}, data: {a: '00000000', b: '00000000'}}");
    fixture_must_make(t, volumes);
    r.root = dup(fixture_root(t, "v"));
    assert_int_equal(pthread_create(&thread, NULL, read_always, &r), 0);
    for (int i = 0; i < ROUNDS; i++) {
        struct str text = arena_fmt(&t->a, "%08d", i);
        struct json *data = json_get(t->objects.v[0], "data");

        json_set(data, "a", json_str(&t->a, text));
        json_set(data, "b", json_str(&t->a, text));
        json_remove(data, "c");
        if (i % 2 == 0)
            json_set(data, "c", json_str(&t->a, text));
        assert_int_equal(volumes_update(t->set, pod, &t->source, &t->e), 0);
    }
    atomic_store(&r.ends, true);
    pthread_join(thread, NULL);
    close(r.root);
    assert_string_equal(r.mixture, "");
    assert_true(r.n_reads > 10);
}

/* ---- any pod ---- */

static struct json *any_node(struct rand *r, struct arena *a)
{
    static const char *const texts[] = { "", "v", "..", "/", "a/b", "\xc3\xa9", "-1", "99999999999999999999" };

    switch (rand_below(r, 6)) {
    case 0:
        return json_null(a);
    case 1:
        return json_bool_new(a, rand_chance(r, 1, 2));
    case 2:
        return json_int(a, (int64_t)rand_u64(r) >> rand_below(r, 60));
    case 3:
        return json_array(a);
    case 4:
        return json_object(a);
    default:
        return json_str(a, str_of(texts[rand_below(r, ARRAY_LEN(texts))]));
    }
}

/* Replace one node somewhere below 'j' by another. */
static void spoil(struct rand *r, struct arena *a, struct json *j)
{
    struct json *child = NULL;
    size_t n = json_count(j), pick = n ? rand_below(r, n) : 0;

    JSON_FOREACH(c, j)
        if (pick-- == 0) {
            child = c;
            break;
        }
    if (!child)
        return;
    if (json_count(child) && rand_chance(r, 4, 5))
        spoil(r, a, child);
    else
        json_replace(j, child, any_node(r, a));
}

static void test_any_pod(void **state)
{
    enum { ROUNDS = 600 };
    struct fixture *t = *state;
    struct rand r;

    rand_seed(&r, 5);
    t->source.allows_host_path = false; /* else a spoilt path might make directories anywhere */
    for (int i = 0; i < ROUNDS; i++) {
        struct json *pod = fixture_pod(
            t, "[{name: e}, {name: m, emptyDir: {medium: Memory, sizeLimit: 1Mi}}, "
               "{name: cm, configMap: {name: cm, defaultMode: 0400, items: [{key: a, path: d/a, mode: 0600}]}}, "
               "{name: s, secret: {secretName: s}}, {name: c, persistentVolumeClaim: {claimName: data}}, "
               "{name: d, downwardAPI: {items: [{path: n, fieldRef: {fieldPath: metadata.labels}}, "
               "{path: r, resourceFieldRef: {containerName: c, resource: limits.cpu, divisor: 1m}}]}}, "
               "{name: p, projected: {sources: [{secret: {name: s}}, {configMap: {name: cm}}]}}]");
        struct json *container = fixture_yaml(
            t, "{name: c, volumeMounts: [{name: e, mountPath: /e, subPath: x/y}, "
               "{name: cm, mountPath: /c, subPathExpr: d/a}, {name: s, mountPath: /s}]}");
        struct volume_mount *m;
        size_t n;

        fixture_objects(
            t, "{kind: ConfigMap, metadata: {name: cm}, data: {a: x}, binaryData: {b: AQID}}\n---\n" SECRET_YAML
               "\n---\n" CLAIM_YAML);
        for (size_t k = 0; k < t->objects.n; k++)
            if (rand_chance(&r, 1, 4))
                spoil(&r, &t->a, t->objects.v[k]);
        spoil(&r, &t->a, rand_chance(&r, 3, 4) ? json_get(json_get(pod, "spec"), "volumes") : pod);
        spoil(&r, &t->a, container);
        if (volumes_make(t->dir, pod, fixture_source(t, false), &t->set, &t->e) == 0) {
            (void)fixture_mounts(t, container, &m, &n);
            spoil(&r, &t->a, pod);
            (void)volumes_update(t->set, pod, &t->source, &t->e);
            volumes_free(t->set, true);
            t->set = NULL;
        }
        if (exists(t->dir))
            fail_msg("round %d left files behind", i);
        if (i % 50 == 0)
            arena_reset(&t->a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VOLUME_TEST(test_links),
        VOLUME_TEST(test_paths_upwards),
        VOLUME_TEST(test_names),
        VOLUME_TEST(test_claim_is_a_link),
        VOLUME_TEST(test_host_path_refused),
        VOLUME_TEST(test_race_of_sub_path),
        VOLUME_TEST(test_race_of_mounts),
        VOLUME_TEST(test_race_of_trees),
        VOLUME_TEST(test_remove_keeps_outside),
        VOLUME_TEST(test_remove_deep),
        VOLUME_TEST(test_remove_stops_at_mounts),
        VOLUME_TEST(test_own_stays_inside),
        VOLUME_TEST(test_secret_readers),
        VOLUME_TEST(test_secret_is_not_on_disk),
        VOLUME_TEST(test_reader),
        VOLUME_TEST(test_any_pod),
    };

    return cmocka_run_group_tests(tests, enter_namespace, leave_namespace);
}
