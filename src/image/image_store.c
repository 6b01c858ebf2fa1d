/* image_store.c - unpacked images on disk, named only when complete
 *
 * A process unpacks an image in a directory of its own, which it locks, syncs and then renames. So a directory named by
 * a digest is whole, also after a power cut, and of two processes that unpack the same image one wins.
 */
#include "image/image_internal.h"

#include "base/codec.h"
#include "os/dir.h"
#include "os/path.h"
#include "os/tree.h"

#include <errno.h>
#include <limits.h>
#include <sys/file.h>

int image_store_open(const char *store, bool makes, int *ret_fd, struct err *e)
{
    int fd;

    if (makes && make_dirs(store, 0700, e) < 0) /* an image may have setuid programs */
        return err_wrap(e, "the image store");
    fd = open(store, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return err_errno(e, "open the image store %s", store);
    *ret_fd = fd;
    return 0;
}

void image_store_name(const struct image_digest *id, char ret[80])
{
    (void)snprintf(ret, 80, "sha256-%s", id->text + 7);
}

bool image_store_has(int store, const struct image_digest *id)
{
    char name[80];

    image_store_name(id, name);
    return faccessat(store, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* ---- a place to unpack ---- */

int image_stage_begin(int store, struct image_stage *ret, struct err *e)
{
    static unsigned counter;
    struct image_stage s = { .store = store };
    struct stat st;

    for (int tries = 0; tries < 100; tries++) {
        (void)snprintf(s.name, sizeof(s.name), ".part-%d-%u", (int)getpid(), counter++);
        if (mkdirat(store, s.name, 0700) < 0) {
            if (errno == EEXIST)
                continue;
            return err_errno(e, "create a directory in the image store");
        }
        s.dir = openat(store, s.name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        /* Another process may have swept it before we had the lock. */
        if (s.dir >= 0 && flock(s.dir, LOCK_EX | LOCK_NB) == 0 && fstat(s.dir, &st) == 0 && st.st_nlink > 0) {
            *ret = s;
            return 0;
        }
        if (s.dir >= 0)
            close(s.dir);
    }
    return err_set(e, ERR_IO, "cannot create a directory in the image store");
}

int image_stage_publish(struct image_stage *s, const struct image_digest *id, struct err *e)
{
    char name[80];

    image_store_name(id, name);
    if (syncfs(s->dir) < 0)
        return err_errno(e, "sync the image store");
    if (renameat(s->store, s->name, s->store, name) < 0 && errno != EEXIST && errno != ENOTEMPTY)
        return err_errno(e, "name the image in the store");
    return 0;
}

void image_stage_drop(struct image_stage *s)
{
    if (s->dir < 0)
        return;
    (void)tree_remove(s->store, s->name, NULL); /* what stays is found by images_sweep() */
    close(s->dir);
    s->dir = -1;
}

static bool sweep_part(int store, const char *name, struct err *e)
{
    autoclose int fd = openat(store, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0)
        return true; /* another process works in it */
    return tree_remove(store, name, e) == 0;
}

int images_sweep(const char *store, struct err *e)
{
    autodir *d = dir_take(open(store, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    int rc = 0;

    if (!d)
        return errno == ENOENT ? 0 : err_errno(e, "open the image store %s", store);
    for (struct dirent *entry; (entry = dir_next(d));)
        if (str_starts(str_of(entry->d_name), STR(".part-")) && !sweep_part(dirfd(d), entry->d_name, e))
            rc = -1;
    return rc;
}

/* ---- links ---- */

/* "docker.io/library/a:1" as a file name. */
static int link_name(struct str key, char ret[NAME_MAX + 1])
{
    autobuf name = { 0 };

    for (size_t i = 0; i < key.n; i++)
        if (key.p[i] == '/' || key.p[i] == '%' || (i == 0 && key.p[i] == '.'))
            percent_print_char(&name, key.p[i]);
        else
            buf_char(&name, key.p[i]);
    if (!name.n || name.n + 3 > NAME_MAX)
        return -1;
    memcpy(ret, name.p, name.n + 1);
    return 0;
}

static int put_link(int store, const char *dir, struct str key, const char *target, struct err *e)
{
    char name[NAME_MAX + 1], part[48];
    autoclose int fd = -1;

    if (link_name(key, name) < 0)
        return 0; /* too long for a file name: it is only not remembered */
    (void)snprintf(part, sizeof(part), ".part-%d", (int)getpid());
    if (mkdirat(store, dir, 0700) < 0 && errno != EEXIST)
        return err_errno(e, "create %s in the image store", dir);
    fd = openat(store, dir, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return err_errno(e, "open %s in the image store", dir);
    (void)unlinkat(fd, part, 0); /* of an earlier process with our number */
    if (symlinkat(target, fd, part) < 0 || renameat(fd, part, fd, name) < 0)
        return err_errno(e, "write %s/%s in the image store", dir, name);
    return 0;
}

/* What the link says, if it is 'skip' bytes, "sha256", a sign and 64 hex digits. */
static int get_link(int store, const char *dir, struct str key, size_t skip, struct image_digest *ret)
{
    char name[NAME_MAX + 1], path[NAME_MAX + 16], target[96];
    ssize_t n;

    if (link_name(key, name) < 0)
        return 0;
    (void)snprintf(path, sizeof(path), "%s/%s", dir, name);
    n = readlinkat(store, path, target, sizeof(target) - 1);
    if (n != (ssize_t)skip + 71)
        return 0;
    target[n] = '\0';
    (void)snprintf(ret->text, sizeof(ret->text), "sha256:%.64s", target + skip + 7);
    return image_digest_is_good(str_of(ret->text));
}

int image_link_put(int store, const char *dir, struct str key, const struct image_digest *id, struct err *e)
{
    char target[96] = "../";

    image_store_name(id, target + 3);
    return put_link(store, dir, key, target, e);
}

int image_link_get(int store, const char *dir, struct str key, struct image_digest *ret)
{
    struct image_digest id;

    if (!get_link(store, dir, key, 3, &id) || !image_store_has(store, &id))
        return 0;
    *ret = id;
    return 1;
}

int image_note_put(int store, const char *dir, struct str key, const struct image_digest *what, struct err *e)
{
    return put_link(store, dir, key, what->text, e);
}

int image_note_get(int store, const char *dir, struct str key, struct image_digest *ret)
{
    return get_link(store, dir, key, 0, ret);
}

void image_link_drop(int store, const char *dir, struct str key)
{
    char name[NAME_MAX + 1], path[NAME_MAX + 16];

    if (link_name(key, name) < 0)
        return;
    (void)snprintf(path, sizeof(path), "%s/%s", dir, name);
    (void)unlinkat(store, path, 0);
}

struct str image_link_key(struct arena *a, const char *name)
{
    autobuf key = { 0 };

    return arena_str(a, percent_parse(str_of(name), false, &key) < 0 ? str_of(name) : buf_view(&key));
}
