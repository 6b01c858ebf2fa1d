/* image_list.c - lists and removes images of the store
 *
 * A name leads to an image, and to the manifest it was pulled by; that leads to blobs. Images and blobs without a name
 * can be removed, but not during a pull (lock of the store), nor while a pod uses the image (lock of its directory).
 */
#include "image/image_internal.h"
#include "os/dir.h"
#include "os/io.h"
#include "os/tree.h"
#include "image/manifest.h"
#include "image/reference.h"

#include "base/map.h"

#include <errno.h>
#include <sys/file.h>

/* ---- looking ---- */

static bool is_used(int store, const char *name)
{
    autoclose int fd = openat(store, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    return fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK;
}

static int64_t bytes_of(int store, const char *name)
{
    autoarena a = { 0 };
    int64_t bytes;

    return str_to_i64(file_text(&a, store, arena_fmt(&a, "%s/bytes", name).p, 32), &bytes) < 0 ? -1 : bytes;
}

static void image_list_fill(struct arena *a, int store, const struct image_digest *id, struct image_entry *ret)
{
    char name[80];

    image_store_name(id, name);
    ret->id = arena_str(a, str_of(id->text));
    ret->bytes = bytes_of(store, name);
    ret->is_used = is_used(store, name);
}

static void image_list_names(struct arena *a, int store, struct image_entries *ret)
{
    autodir *d = dir_open(store, "names");

    for (struct dirent *entry; d && (entry = dir_next(d));) {
        struct str name = image_link_key(a, entry->d_name);
        struct image_digest id, digest;
        struct image_entry *one;
        struct stat st;

        if (entry->d_name[0] == '.' || !image_link_get(store, "names", name, &id))
            continue;
        one = vec_push(a, &ret->list);
        one->name = name;
        if (image_note_get(store, "pulled", name, &digest))
            one->digest = arena_str(a, str_of(digest.text));
        if (fstatat(dirfd(d), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
            one->since_ms = (int64_t)st.st_mtim.tv_sec * 1000;
        image_list_fill(a, store, &id, one);
    }
}

static bool has_id(const struct image_entries *all, struct str id)
{
    VEC_FOREACH(one, &all->list)
        if (str_eq(one->id, id))
            return true;
    return false;
}

static void list_nameless(struct arena *a, int store, struct image_entries *ret)
{
    autodir *d = dir_open(store, ".");

    for (struct dirent *entry; d && (entry = dir_next(d));) {
        struct image_digest id;
        struct image_entry *one;

        if (strlen(entry->d_name) != 71 || !str_starts(str_of(entry->d_name), STR("sha256-")))
            continue;
        (void)snprintf(id.text, sizeof(id.text), "sha256:%.64s", entry->d_name + 7);
        if (!image_digest_is_good(str_of(id.text)) || has_id(ret, str_of(id.text)))
            continue;
        one = vec_push(a, &ret->list);
        image_list_fill(a, store, &id, one);
    }
}

static int image_list_by_name(const void *x, const void *y)
{
    const struct image_entry *a = x, *b = y;

    return !a->name.n != !b->name.n ? (a->name.n ? -1 : 1) : str_cmp(a->name, b->name);
}

static void list_all(struct arena *a, int store, struct image_entries *ret)
{
    *ret = (struct image_entries){ 0 };
    image_list_names(a, store, ret);
    list_nameless(a, store, ret);
    if (ret->list.n)
        qsort(ret->list.v, ret->list.n, sizeof(*ret->list.v), image_list_by_name);
}

/* 1: there is none. */
static int open_store(const char *store, int *ret, struct err *e)
{
    struct err why;

    if (image_store_open(store, false, ret, &why) == 0)
        return 0;
    return why.code == ERR_NOT_FOUND ? 1 : err_set(e, why.code, "%s", why.text);
}

int images_list(struct arena *a, const char *store, struct image_entries *ret, struct err *e)
{
    autoclose int fd = -1;
    int rc = open_store(store, &fd, e);

    *ret = (struct image_entries){ 0 };
    if (rc == 0)
        list_all(a, fd, ret);
    return rc < 0 ? -1 : 0;
}

/* ---- blobs that nothing leads to ---- */

struct marks {
    struct arena arena;
    struct map kept; /* hex digits of blobs */
};

static void image_list_mark(struct marks *m, struct str digest)
{
    if (digest.n > 7)
        (void)map_add(&m->kept, &m->arena, str_from(digest, 7));
}

/* A manifest, and what it names. Of an index the manifest that was chosen then may not be the one now: whatever is
 * there is kept. */
static void mark_manifest(struct marks *m, int store, struct str digest, int depth)
{
    struct json *j;
    struct str text;

    if (depth > 4 || map_get(&m->kept, str_from(digest, 7)) || !image_digest_is_good(digest) ||
        image_file_read(&m->arena, store, image_blob_path(&m->arena, digest), &text, NULL) < 0 ||
        json_parse(&m->arena, text, NULL, &j, NULL) < 0)
        return;
    image_list_mark(m, digest);
    JSON_FOREACH(one, json_get(j, "manifests"))
        mark_manifest(m, store, json_member_text(one, "digest"), depth + 1);
    image_list_mark(m, json_member_text(json_get(j, "config"), "digest"));
    JSON_FOREACH(one, json_get(j, "layers"))
        image_list_mark(m, json_member_text(one, "digest"));
}

static int64_t remove_file(DIR *d, const char *name)
{
    struct stat st;

    if (fstatat(dirfd(d), name, &st, AT_SYMLINK_NOFOLLOW) < 0 || unlinkat(dirfd(d), name, 0) < 0)
        return 0;
    return st.st_size;
}

static int64_t sweep_blobs(int store, const struct image_entries *all)
{
    struct marks m = { 0 };
    autodir *whole = dir_open(store, "blobs/sha256"), *parts = dir_open(store, "blobs");
    int64_t bytes = 0;

    map_init(&m.kept, map_seed_default());
    VEC_FOREACH(one, &all->list)
        if (one->digest.n)
            mark_manifest(&m, store, one->digest, 0);
    for (struct dirent *entry; whole && (entry = dir_next(whole));)
        if (!map_get(&m.kept, str_of(entry->d_name)))
            bytes += remove_file(whole, entry->d_name);
    for (struct dirent *entry; parts && (entry = dir_next(parts));)
        if (str_starts(str_of(entry->d_name), STR("part-")))
            bytes += remove_file(parts, entry->d_name);
    map_done(&m.kept);
    arena_done(&m.arena);
    return bytes;
}

/* ---- removing ---- */

/* Remove its name first, so that it cannot be found. */
static int remove_image(int store, struct str id, struct err *e)
{
    struct image_digest digest;
    char name[80], gone[96];
    autoclose int fd = -1;

    (void)snprintf(digest.text, sizeof(digest.text), "%.*s", STR_ARG(id));
    image_store_name(&digest, name);
    fd = openat(store, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return err_errno(e, "open %s in the image store", name);
    if (flock(fd, LOCK_EX | LOCK_NB) < 0)
        return err_set(e, ERR_CONFLICT, "image %.12s is in use by a running job", name + 7);
    (void)snprintf(gone, sizeof(gone), ".part-%.32s", name + 7);
    if (renameat(store, name, store, gone) < 0)
        return err_errno(e, "remove %s from the image store", name);
    return tree_remove(store, gone, e);
}

static void drop_names(int store, const struct image_entries *all, struct str id)
{
    VEC_FOREACH(one, &all->list)
        if (str_eq(one->id, id) && one->name.n) {
            image_link_drop(store, "names", one->name);
            image_link_drop(store, "pulled", one->name);
        }
}

static size_t image_list_names_of(const struct image_entries *all, struct str id)
{
    size_t n = 0;

    VEC_FOREACH(one, &all->list)
        n += str_eq(one->id, id) && one->name.n;
    return n;
}

/* By its name, or by its id, or the first digits of that. */
static const struct image_entry *image_list_find(struct arena *a, const struct image_entries *all, struct str name,
                                                 bool *ret_by_id)
{
    struct str normal, hex = str_starts(name, STR("sha256:")) ? str_from(name, 7) : name;
    const struct image_entry *found = NULL;

    *ret_by_id = false;
    if (reference_normal(a, name, &normal, NULL) == 0)
        VEC_FOREACH(one, &all->list)
            if (str_eq(one->name, normal))
                return one;
    *ret_by_id = true;
    VEC_FOREACH(one, &all->list)
        if (hex.n >= 6 && str_starts(str_from(one->id, 7), hex) && (!found || str_eq(found->id, one->id)))
            found = one;
    return found;
}

static int image_list_remove_one(struct arena *a, int store, struct str name, int64_t *ret_bytes, struct err *e)
{
    struct image_entries all;
    const struct image_entry *one;
    bool by_id;

    list_all(a, store, &all);
    one = image_list_find(a, &all, name, &by_id);
    if (!one)
        return err_set(e, ERR_NOT_FOUND, "image %.*s not found; run `pumice images` to list images", STR_ARG(name));
    if (!by_id && image_list_names_of(&all, one->id) > 1) {
        image_link_drop(store, "names", one->name);
        image_link_drop(store, "pulled", one->name);
        return 0;
    }
    if (remove_image(store, one->id, e) < 0)
        return -1;
    drop_names(store, &all, one->id);
    *ret_bytes += MAX_OF(one->bytes, 0);
    list_all(a, store, &all);
    *ret_bytes += sweep_blobs(store, &all);
    return 0;
}

int images_remove(const char *store, struct str name, int64_t *ret_bytes, struct err *e)
{
    autoarena a = { 0 };
    autoclose int fd = -1, lock = -1;
    int rc = open_store(store, &fd, e);

    *ret_bytes = 0;
    if (rc > 0)
        return err_set(e, ERR_NOT_FOUND, "image %.*s not found: no image store at %s", STR_ARG(name), store);
    if (rc < 0 || image_store_lock(fd, true, &lock, e) < 0)
        return -1;
    return image_list_remove_one(&a, fd, name, ret_bytes, e);
}

int images_prune(const char *store, bool all, size_t *ret_images, int64_t *ret_bytes, struct err *e)
{
    autoarena a = { 0 };
    autoclose int fd = -1, lock = -1;
    struct image_entries list;
    int rc = open_store(store, &fd, e);

    *ret_images = 0;
    *ret_bytes = 0;
    if (rc)
        return rc < 0 ? -1 : 0;
    if (image_store_lock(fd, true, &lock, e) < 0)
        return -1;
    (void)images_sweep(store, NULL); /* leftovers are harmless */
    list_all(&a, fd, &list);
    VEC_FOREACH(one, &list.list) {
        if ((one->name.n && !all) || one->is_used || remove_image(fd, one->id, NULL) < 0)
            continue; /* in use since a moment ago, or gone with another name */
        drop_names(fd, &list, one->id);
        *ret_bytes += MAX_OF(one->bytes, 0);
        (*ret_images)++;
    }
    list_all(&a, fd, &list);
    *ret_bytes += sweep_blobs(fd, &list);
    return 0;
}
