/* project.c - tests: ids are nobody else's, taken once and handed down; a file system that does not count says so
 *
 * Few kernels that run tests have project quotas, so the kernel is played here: attributes by inode, a count by id.
 */
#include "os/test/testing.h"

#include "base/arena.h"
#include "os/project.h"
#include "os/project_internal.h"

enum { FILES = 16 };

static struct {
    struct {
        ino_t ino;
        uint32_t id, flags;
    } files[FILES];
    size_t n_files;
    int attributes_errno, quota_errno, set_errno;
    int64_t bytes;     /* that an id which somebody has counts */
    int n_used;        /* so many of the next ids that are asked for are in use */
    int n_limited;     /* … have a limit */
    int n_named;       /* … stand in one of the files */
    int n_contested;   /* … are taken by another at the same moment */
    uint32_t last_set; /* 0: given back */
    int n_set;
    uint32_t asked;
} fake;

static char top[64];
static int dir;

static ino_t ino_of(int fd)
{
    struct stat st;

    assert_int_equal(fstat(fd, &st), 0);
    return st.st_ino;
}

static size_t file_of(int fd)
{
    ino_t ino = ino_of(fd);

    for (size_t i = 0; i < fake.n_files; i++)
        if (fake.files[i].ino == ino)
            return i;
    assert_true(fake.n_files < FILES);
    fake.files[fake.n_files].ino = ino;
    return fake.n_files++;
}

static int fails(int with_errno)
{
    errno = with_errno;
    return with_errno ? -1 : 0;
}

int project_get_attributes(int fd, struct fsxattr *ret)
{
    size_t i = file_of(fd);

    ret->fsx_projid = fake.files[i].id;
    ret->fsx_xflags = fake.files[i].flags;
    return fails(fake.attributes_errno);
}

int project_set_attributes(int fd, const struct fsxattr *attributes)
{
    size_t i = file_of(fd);

    if (fake.set_errno)
        return fails(fake.set_errno);
    fake.files[i].id = fake.last_set = attributes->fsx_projid;
    fake.files[i].flags = attributes->fsx_xflags;
    fake.n_set++;
    return 0;
}

static bool next_of(int *n)
{
    if (*n == 0)
        return false;
    (*n)--;
    return true;
}

int project_get_quota(int fd, uint32_t id, struct if_dqblk *ret)
{
    (void)fd;
    for (size_t i = 0; i < fake.n_files; i++)
        ret->dqb_curinodes += fake.files[i].id == id;
    if (ret->dqb_curinodes)
        ret->dqb_curinodes += next_of(&fake.n_contested), ret->dqb_curspace = (uint64_t)fake.bytes;
    else if (next_of(&fake.n_used))
        ret->dqb_curinodes = 1;
    else if (next_of(&fake.n_limited))
        ret->dqb_bhardlimit = 1;
    fake.asked = id;
    return fails(fake.quota_errno);
}

/* By turns in one file and in the other. */
struct str project_file(struct arena *a, const char *path)
{
    bool is_ids = strcmp(path, "/etc/projects") == 0;

    if (fake.n_named == 0 || is_ids != (fake.n_named % 2 == 0))
        return STR_NULL;
    fake.n_named--;
    return is_ids ? arena_fmt(a, "# ours\n1:/srv\n%u:/home\n", fake.asked) : arena_fmt(a, "a:1\nhome:%u", fake.asked);
}

static int set_up(void **state)
{
    (void)state;
    memset(&fake, 0, sizeof(fake));
    (void)snprintf(top, sizeof(top), "/tmp/pumice-project.XXXXXX");
    dir = mkdtemp(top) ? open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    return dir < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
    (void)state;
    close(dir);
    return rmdir(top);
}

static void a_new_directory_is_counted(void **state)
{
    struct project_use use;
    uint32_t id;

    (void)state;
    assert_int_equal(project_use(dir, &use), -1);
    assert_true(project_begin(dir));
    id = fake.last_set;
    assert_true(id >= 0x50000000 && id < 0x60000000);
    assert_true(fake.files[file_of(dir)].flags & FS_XFLAG_PROJINHERIT);
    fake.bytes = 12345;
    assert_int_equal(project_use(dir, &use), 0);
    assert_int_equal(use.bytes, 12345);
    assert_int_equal(use.files, 1);
    assert_true(project_begin(dir)); /* as after a restart of the agent: it is the same */
    assert_int_equal(fake.n_set, 1);
}

static void ids_of_others_are_left_alone(void **state)
{
    (void)state;
    fake.n_used = 2;
    fake.n_limited = 1;
    fake.n_named = 2;
    assert_true(project_begin(dir));
    assert_int_equal(fake.n_used + fake.n_limited + fake.n_named, 0);
    assert_int_equal(fake.n_set, 1); /* none of those was tried on the directory */
}

static void two_who_take_one_both_take_another(void **state)
{
    (void)state;
    fake.n_contested = 1;
    assert_true(project_begin(dir));
    assert_int_equal(fake.n_set, 3); /* taken, given back, taken */
    fake.files[file_of(dir)].id = 0;
    fake.n_contested = 100;
    assert_false(project_begin(dir)); /* then it is looked through */
    assert_int_equal(fake.files[file_of(dir)].id, 0);
    assert_false(fake.files[file_of(dir)].flags & FS_XFLAG_PROJINHERIT);
}

static void a_directory_of_somebody_stays_his(void **state)
{
    struct project_use use;

    (void)state;
    fake.files[file_of(dir)].id = 7;
    assert_false(project_begin(dir));
    assert_int_equal(fake.n_set, 0);
    assert_int_equal(project_use(dir, &use), -1);
}

/* A run inside a tree that is counted: what it inherits is the count of the whole. */
static void what_was_inherited_is_not_its_own(void **state)
{
    autoclose int above = openat(dir, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct project_use use;

    (void)state;
    fake.files[file_of(above)].id = fake.files[file_of(dir)].id = 0x50000001;
    fake.files[file_of(dir)].flags = FS_XFLAG_PROJINHERIT;
    assert_false(project_begin(dir));
    assert_int_equal(project_use(dir, &use), -1);
}

static void not_every_file_system_counts(void **state)
{
    (void)state;
    fake.attributes_errno = ENOTTY;
    assert_false(project_begin(dir));
    fake.attributes_errno = 0;
    for (size_t i = 0; i < 3; i++) {
        fake.quota_errno = (int[]){ ESRCH, EPERM, ENOSYS }[i];
        assert_false(project_begin(dir));
    }
    fake.quota_errno = 0;
    fake.set_errno = EOPNOTSUPP;
    assert_false(project_begin(dir));
    assert_int_equal(fake.n_set, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_new_directory_is_counted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(ids_of_others_are_left_alone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(two_who_take_one_both_take_another, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_directory_of_somebody_stays_his, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_was_inherited_is_not_its_own, set_up, tear_down),
        cmocka_unit_test_setup_teardown(not_every_file_system_counts, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
