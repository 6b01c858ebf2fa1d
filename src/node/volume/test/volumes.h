/* volumes.h - what the tests of volumes share: a private mount namespace, a directory, objects from YAML, listings */
#ifndef NODE_TEST_VOLUMES_H
#define NODE_TEST_VOLUMES_H

#include "os/test/testing.h"

#include "api/meta.h"
#include "node/env/vars.h"
#include "node/volume/volume_internal.h"
#include "yaml/yaml.h"

#include <dirent.h>
#include <sys/mount.h>

static bool can_mount; /* in a mount namespace of our own */
static bool is_root;   /* every user and group is there, and we may give files to them */
static char top[64];   /* all directories of this run: a tmpfs of our own where we can mount, so that tests are quick */

#define NEEDS_MOUNT()                                                                                                  \
    if (!can_mount) {                                                                                                  \
        print_message("skipped: no mount namespace for this user\n");                                                  \
        skip();                                                                                                        \
    }
#define NEEDS_ROOT()                                                                                                   \
    if (!is_root) {                                                                                                    \
        print_message("skipped: needs root\n");                                                                        \
        skip();                                                                                                        \
    }

struct fixture {
    struct arena a;
    char base[64], dir[96], claims[96], outside[96];
    struct yaml_docs objects;
    struct volume_source source;
    struct volume_set *set;
    struct err e;
    const char *token; /* what the token source gives; NULL: it fails */
};

/* As an ordinary user a user namespace makes us root of our own mounts. */
static inline int enter_namespace(void **state)
{
    (void)state;
    can_mount = unshare(CLONE_NEWNS) == 0 || (own_user_namespace() == 0 && unshare(CLONE_NEWNS) == 0);
    if (can_mount && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        can_mount = false;
    umask(027); /* modes must not depend on it */
    (void)snprintf(top, sizeof(top), "/tmp/pumice-volume-%d-XXXXXX", (int)getpid());
    if (!mkdtemp(top))
        return -1;
    if (can_mount && mount("tmpfs", top, "tmpfs", 0, NULL) < 0)
        can_mount = false;
    is_root = chown(top, 0, 4711) == 0 && chown(top, 0, getegid()) == 0;
    return chmod(top, 0755); /* only the volumes keep other users out */
}

static inline int leave_namespace(void **state)
{
    (void)state;
    (void)umount2(top, MNT_DETACH); /* else it goes with the namespace, but the directory would stay */
    return rmdir(top);
}

static inline const struct json *fixture_find(void *ctx, const char *kind, struct str name)
{
    struct fixture *t = ctx;

    for (size_t i = t->objects.n; i-- > 0;)
        if (str_is(object_kind(t->objects.v[i]), kind) && str_eq(object_name(t->objects.v[i]), name))
            return t->objects.v[i];
    return NULL;
}

static inline int fixture_token(void *ctx, struct str audience, int64_t expiration_s, struct buf *out, struct err *e)
{
    struct fixture *t = ctx;

    if (!t->token)
        return err_set(e, ERR_FORBIDDEN, "no token today");
    buf_fmt(out, "%s for %.*s, %lld s", t->token, STR_ARG(audience), (long long)expiration_s);
    return 0;
}

static inline int fixture_start(void **state)
{
    struct fixture *t = xcalloc(1, sizeof(*t));

    (void)snprintf(t->base, sizeof(t->base), "%.40s/XXXXXX", top);
    if (!mkdtemp(t->base)) {
        free(t);
        return -1;
    }
    (void)snprintf(t->dir, sizeof(t->dir), "%s/pod", t->base);
    (void)snprintf(t->claims, sizeof(t->claims), "%s/claims", t->base);
    (void)snprintf(t->outside, sizeof(t->outside), "%s/outside", t->base);
    (void)mkdir(t->outside, 0755);
    (void)chmod(t->base, 0755);
    t->source =
        (struct volume_source){ .ctx = t, .find = fixture_find, .claims_dir = t->claims, .allows_host_path = true };
    *state = t;
    return 0;
}

static inline int fixture_end(void **state)
{
    struct fixture *t = *state;

    volumes_free(t->set, true);
    (void)volumes_sweep(t->dir, NULL);
    remove_tree(t->base);
    arena_done(&t->a);
    free(t);
    return 0;
}

#define VOLUME_TEST(f) cmocka_unit_test_setup_teardown(f, fixture_start, fixture_end)

static inline struct json *fixture_yaml(struct fixture *t, const char *yaml)
{
    struct yaml_docs docs = { 0 };
    struct err e = { 0 };

    if (yaml_parse(&t->a, str_of(yaml), NULL, &docs, &e) < 0)
        fail_msg("%s in: %s", e.text, yaml);
    assert_true(docs.n > 0);
    return docs.v[0];
}

/* Objects the source finds; "" for none. */
static inline void fixture_objects(struct fixture *t, const char *yaml)
{
    struct err e = { 0 };

    t->objects = (struct yaml_docs){ 0 };
    if (yaml_parse(&t->a, str_of(yaml), NULL, &t->objects, &e) < 0)
        fail_msg("%s in: %s", e.text, yaml);
}

/* A pod "p" in "ns" with these volumes (a YAML list in one line) and one container. */
static inline struct json *fixture_pod(struct fixture *t, const char *volumes)
{
    return fixture_yaml(t, arena_fmt(&t->a,
                                     "metadata: {name: p, namespace: ns, uid: u1, labels: {b: '2', a: \"1\\n\"}, "
                                     "annotations: {n: note}}\n"
                                     "spec:\n  nodeName: here\n  serviceAccountName: robot\n"
                                     "  containers: [{name: c, resources: {limits: {cpu: 1500m, memory: 64Mi}}}]\n"
                                     "  volumes: %s\n"
                                     "status: {podIP: 10.0.0.7, hostIP: 10.0.0.1}\n",
                                     volumes)
                               .p);
}

static inline const struct volume_source *fixture_source(struct fixture *t, bool may_mount)
{
    t->source.may_mount = may_mount;
    return &t->source;
}

static inline int fixture_make(struct fixture *t, const char *volumes)
{
    volumes_free(t->set, true);
    t->set = NULL;
    return volumes_make(t->dir, fixture_pod(t, volumes), fixture_source(t, can_mount), &t->set, &t->e);
}

static inline void fixture_must_make(struct fixture *t, const char *volumes)
{
    if (fixture_make(t, volumes) < 0)
        fail_msg("%s: %s", volumes, t->e.text);
}

static inline int fixture_mounts(struct fixture *t, const struct json *container, struct volume_mount **ret,
                                 size_t *ret_n)
{
    static const struct {
        const char *name, *value;
    } env[] = { { "POD", "p-0" }, { "EMPTY", "" }, { "UP", "../.." }, { "ROOT", "/etc" } };
    struct volume_mounts mounts;
    struct vars vars;
    int rc;

    vars_init(&vars, &t->a);
    for (size_t i = 0; i < ARRAY_LEN(env); i++)
        assert_int_equal(vars_put(&vars, str_of(env[i].name), str_of(env[i].value), &t->e), 0);
    rc = volumes_mounts(t->set, container, &vars, &mounts, &t->e);
    if (rc == 0) {
        *ret = mounts.v;
        *ret_n = mounts.n;
    }
    vars_done(&vars);
    return rc;
}

/* One mount of container c: "{name: v, mountPath: /x}". -1 with t->e. */
static inline int fixture_mount(struct fixture *t, const char *mount, struct volume_mount *ret)
{
    struct json *container = fixture_yaml(t, arena_fmt(&t->a, "{name: c, volumeMounts: [%s]}", mount).p);
    struct volume_mount *mounts;
    size_t n;

    if (fixture_mounts(t, container, &mounts, &n) < 0)
        return -1;
    assert_int_equal(n, 1);
    *ret = mounts[0];
    return 0;
}

static inline int fixture_root(struct fixture *t, const char *volume)
{
    struct volume_mount m;

    if (fixture_mount(t, arena_fmt(&t->a, "{name: %s, mountPath: /x}", volume).p, &m) < 0)
        fail_msg("%s: %s", volume, t->e.text);
    return m.fd;
}

static inline int name_cmp(const struct dirent **x, const struct dirent **y)
{
    return strcmp((*x)->d_name, (*y)->d_name);
}

static inline int visible(const struct dirent *d)
{
    return strncmp(d->d_name, "..", 2) != 0 && strcmp(d->d_name, ".") != 0;
}

/* "path mode text; " of all files a container sees, links followed. */
static inline void list_into(struct buf *out, int dir, const char *path, const char *above)
{
    autoclose int fd = openat(dir, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct dirent **names;
    int n = scandirat(fd, ".", &names, visible, name_cmp);

    assert_true(n >= 0);
    for (int i = 0; i < n; i++) {
        char name[600], text[4096] = { 0 };
        struct stat st;

        (void)snprintf(name, sizeof(name), "%s%s%s", above, *above ? "/" : "", names[i]->d_name);
        assert_int_equal(fstatat(fd, names[i]->d_name, &st, 0), 0);
        if (S_ISDIR(st.st_mode)) {
            list_into(out, fd, names[i]->d_name, name);
        } else {
            autoclose int f = openat(fd, names[i]->d_name, O_RDONLY | O_CLOEXEC);

            if (f < 0 && errno == EACCES) { /* mode 0, and we are an ordinary user */
                assert_int_equal(fchmodat(fd, names[i]->d_name, 0400, 0), 0);
                f = openat(fd, names[i]->d_name, O_RDONLY | O_CLOEXEC);
                assert_int_equal(fchmodat(fd, names[i]->d_name, st.st_mode & 07777, 0), 0);
            }
            assert_true(f >= 0 && read(f, text, sizeof(text) - 1) >= 0);
            buf_fmt(out, "%s %o %s; ", name, (unsigned)st.st_mode & 07777, text);
        }
        free(names[i]);
    }
    free(names);
}

static inline const char *list_fd(struct fixture *t, int fd)
{
    autobuf out = { 0 };

    list_into(&out, fd, ".", "");
    return arena_str(&t->a, buf_view(&out)).p;
}

static inline unsigned mode_of(const char *path)
{
    struct stat st;

    return lstat(path, &st) < 0 ? 0 : st.st_mode & 07777;
}

static inline bool exists(const char *path)
{
    return access(path, F_OK) == 0 || errno != ENOENT;
}

static inline const char *below(struct fixture *t, const char *dir, const char *name)
{
    return arena_fmt(&t->a, "%s/%s", dir, name).p;
}

static inline size_t n_entries(const char *path)
{
    DIR *d = opendir(path);
    size_t n = 0;

    assert_non_null(d);
    while (readdir(d))
        n++;
    closedir(d);
    return n - 2;
}

/* Is anything mounted below the fixture's directory? */
static inline bool has_mounts(const struct fixture *t)
{
    FILE *f = fopen("/proc/self/mountinfo", "re");
    char line[4096];
    bool found = false;

    assert_non_null(f);
    while (fgets(line, sizeof(line), f))
        found = found || strstr(line, t->base);
    (void)fclose(f);
    return found;
}

#endif
