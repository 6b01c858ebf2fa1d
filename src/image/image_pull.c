/* image_pull.c - pulls an image from a registry into the store */
#include "image/image_pull.h"

#include "image/image_internal.h"
#include "image/manifest.h"

#include <errno.h>
#include <sys/file.h>
#include <sys/statvfs.h>

enum { INDEX_DEPTH = 3, ROOM_BYTES = 64 << 20 }; /* an index may point at another; a pull leaves this much disk free */

struct pull {
    const struct image_pull *q;
    struct arena arena;
    struct reference ref;
    struct registry *registry;
    int store;
    struct manifest manifest;
    struct str manifest_digest; /* of the one for this machine */
    struct image_pulled *ret;
    struct str repository; /* that serves blobs to this login; empty: to all users here */
    int64_t before, total; /* bytes that were there already, and all of them */
};

static void image_pull_tell(struct pull *p, enum image_doing doing, int64_t bytes)
{
    if (p->q->progress)
        p->q->progress(p->q->ctx, doing, bytes, p->total);
}

/* ---- the manifest ---- */

/* By its tag or digest: asked for, and kept. */
static int get_manifest(struct pull *p, struct str name, struct str *ret_digest, struct err *e)
{
    autobuf text = { 0 };
    struct image_digest digest;
    struct str kept;

    if (registry_manifest(p->registry, name, &text, &digest, e) < 0)
        return -1;
    kept = arena_str(&p->arena, buf_view(&text));
    *ret_digest = arena_str(&p->arena, str_of(digest.text));
    if (manifest_read(&p->arena, kept, &p->manifest, e) < 0)
        return -1;
    return image_blob_put(p->store, *ret_digest, kept, e);
}

static int image_pull_resolve(struct pull *p, struct err *e)
{
    struct str digest, name = p->ref.digest.n ? p->ref.digest : p->ref.tag;

    if (p->ref.digest.n && !image_digest_is_good(p->ref.digest))
        return err_set(e, ERR_INVALID, "its digest is not sha256 and cannot be verified");
    image_pull_tell(p, IMAGE_ASKS, 0);
    if (get_manifest(p, name, &digest, e) < 0)
        return -1;
    (void)snprintf(p->ret->digest.text, sizeof(p->ret->digest.text), "%s", digest.p);
    for (int depth = 0; p->manifest.is_index; depth++)
        if (depth == INDEX_DEPTH)
            return err_set(e, ERR_INVALID, "indexes are nested too deeply");
        else if (get_manifest(p, p->manifest.chosen.digest, &digest, e) < 0)
            return -1;
    p->manifest_digest = digest;
    p->ret->bytes = p->manifest.bytes;
    return 0;
}

/* ---- blobs ---- */

static void image_pull_on_progress(void *ctx, int64_t bytes)
{
    struct pull *p = ctx;

    image_pull_tell(p, IMAGE_FETCHES, p->before + bytes);
}

static int by_digest(const void *x, const void *y)
{
    return str_cmp(((const struct descriptor *)x)->digest, ((const struct descriptor *)y)->digest);
}

static int check_room(struct pull *p, int64_t bytes, struct err *e)
{
    struct statvfs fs;

    if (fstatvfs(p->store, &fs) < 0 || (uint64_t)(bytes + ROOM_BYTES) / MAX_OF(fs.f_frsize, 1) < fs.f_bavail)
        return 0;
    return err_set(e, ERR_TOO_BIG, "the disk of %s is full: the image needs %lld MiB, and %llu MiB are free",
                   p->q->store, (long long)(bytes + ROOM_BYTES) >> 20,
                   (unsigned long long)fs.f_bavail * fs.f_frsize >> 20);
}

struct image_pull_parts {
    struct registry_blob *v;
    bool *is_spare; /* the store has it: it is fetched only to see that it is given */
    size_t n;
};

/* ---- blobs in the store that a tenant may not read ----
 *
 * The manifest of a tenant's own registry can name any digest. So a tenant gets a stored blob only if this repository
 * has served it before, or it came without a login; and a pull never continues the part of another user. */

static int open_spare(struct pull *p, struct registry_blob *b, struct err *e)
{
    const char *name = arena_fmt(&p->arena, ".spare-%d", (int)getpid()).p;

    b->have = 0;
    b->fd = openat(p->store, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (b->fd < 0) { /* not every file system has them */
        (void)unlinkat(p->store, name, 0);
        b->fd = openat(p->store, name, O_CREAT | O_EXCL | O_RDWR | O_NOFOLLOW | O_CLOEXEC, 0600);
        (void)unlinkat(p->store, name, 0);
    }
    return b->fd < 0 ? err_errno(e, "create a file in the image store") : 0;
}

/* 0: it is to be fetched into b->fd; 1: it is there. */
static int open_part(struct pull *p, struct registry_blob *b, bool *ret_spare, struct err *e)
{
    bool must = p->q->is_tenant && !image_served(p->store, p->repository, b->digest);
    int rc = image_part_open(p->store, b, e);

    *ret_spare = rc == 1 && must;
    if (*ret_spare)
        return open_spare(p, b, e);
    if (rc == 0 && must && b->have) {
        b->have = 0;
        if (ftruncate(b->fd, 0) < 0)
            return err_errno(e, "restart a layer");
    }
    return rc;
}

/* All get their names; or what came of them stays for the next time, unless the disk needs it more. */
static int close_parts(struct pull *p, struct image_pull_parts *parts, int rc, struct err *e)
{
    bool is_full = rc < 0 && e->code == ERR_TOO_BIG;

    for (size_t i = 0; i < parts->n; i++) {
        const struct registry_blob *b = &parts->v[i];

        if (rc == 0 && ((!parts->is_spare[i] && image_part_publish(p->store, b->digest, b->fd, e) < 0) ||
                        image_served_put(p->store, p->repository, b->digest, e) < 0))
            rc = -1;
        else if (rc < 0 && !parts->is_spare[i] && (b->have == 0 || is_full))
            image_part_remove(p->store, b->digest);
        close(b->fd);
    }
    return rc;
}

/* 'list' is sorted: who locks in one order never waits for who waits for us. */
static int image_pull_open_parts(struct pull *p, const struct descriptor *list, size_t n, struct image_pull_parts *ret,
                                 struct err *e)
{
    for (size_t i = 0; i < n; i++) {
        struct registry_blob *b = &ret->v[ret->n];
        int rc = i && str_eq(list[i].digest, list[i - 1].digest) ? 1 : 0; /* twice the same layer */

        *b = (struct registry_blob){ .digest = list[i].digest, .size = list[i].size };
        if (rc == 0)
            rc = open_part(p, b, &ret->is_spare[ret->n], e);
        if (rc < 0)
            return -1;
        if (rc == 0)
            ret->n++;
        else
            p->before += list[i].size;
    }
    return 0;
}

static int fetch_blobs(struct pull *p, struct descriptor *list, size_t n, struct err *e)
{
    struct registry_watch watch = { p, image_pull_on_progress };
    struct image_pull_parts parts = { arena_array(&p->arena, struct registry_blob, n), arena_array(&p->arena, bool, n),
                                      0 };
    int64_t missing = 0;
    int rc;

    qsort(list, n, sizeof(*list), by_digest);
    p->before = 0;
    rc = image_pull_open_parts(p, list, n, &parts, e);
    for (size_t i = 0; i < parts.n; i++)
        missing += parts.v[i].size - MIN_OF(parts.v[i].have, parts.v[i].size);
    if (rc == 0 && parts.n)
        rc = check_room(p, missing, e);
    if (rc == 0)
        rc = registry_blobs(p->registry, parts.v, parts.n, &watch, e);
    return close_parts(p, &parts, rc, e);
}

static int fetch_layers(struct pull *p, struct err *e)
{
    const struct manifest *m = &p->manifest;
    struct descriptor *list = arena_array(&p->arena, struct descriptor, m->layers.n + 1);

    p->total = m->bytes;
    if (m->layers.n)
        memcpy(list, m->layers.v, m->layers.n * sizeof(*list));
    return fetch_blobs(p, list, m->layers.n, e);
}

/* ---- unpacking ---- */

/* One at a time for each image: who comes second finds it done. */
static int lock_image(struct pull *p, int *ret_fd, struct err *e)
{
    int fd = openat(p->store, image_blob_path(&p->arena, p->manifest.config.digest), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0)
        return err_errno(e, "open the config of the image");
    if (flock(fd, LOCK_EX) < 0) {
        close(fd);
        return err_errno(e, "lock the image");
    }
    *ret_fd = fd;
    return 0;
}

/* The image is there. Do we know that this manifest makes it, and that its layers are given to us? */
static bool image_pull_is_ours(const struct pull *p)
{
    struct image_digest made;

    if (!p->q->is_tenant)
        return true;
    VEC_FOREACH(layer, &p->manifest.layers)
        if (!image_served(p->store, p->repository, layer->digest))
            return false;
    return image_note_get(p->store, "unpacked", p->manifest_digest, &made) && strcmp(made.text, p->ret->id.text) == 0;
}

static int unpack_layers(struct pull *p, struct err *e)
{
    struct image_layout layout;

    if (image_layout_of(&p->arena, p->store, p->manifest_digest, &layout, e) < 0)
        return -1;
    if ((image_store_has(p->store, &p->ret->id) ? image_check_layout(p->store, &layout, e)
                                                : image_add_layout(p->store, p->store, &layout, e)) < 0)
        return -1;
    return image_note_put(p->store, "unpacked", p->manifest_digest, &p->ret->id, e);
}

static int image_pull_unpack(struct pull *p, struct err *e)
{
    autoclose int lock = -1;

    if (image_store_has(p->store, &p->ret->id) && image_pull_is_ours(p))
        return 0;
    if (fetch_layers(p, e) < 0 || lock_image(p, &lock, e) < 0)
        return -1;
    image_pull_tell(p, IMAGE_UNPACKS, p->total);
    if (unpack_layers(p, e) == 0)
        return 0;
    if (e->code == ERR_INVALID) /* a layer is damaged since it was checked: fetch them again the next time */
        VEC_FOREACH(layer, &p->manifest.layers)
            image_blob_remove(p->store, layer->digest);
    return -1;
}

/* The digest is noted first: a name without one is an image that came from no registry, and is everybody's. */
static int set_name(struct pull *p, struct err *e)
{
    struct image_digest old_id, old;
    struct str name = p->ref.normal;
    bool was = image_link_get(p->store, "names", name, &old_id) && strcmp(old_id.text, p->ret->id.text) == 0,
         was_noted = image_note_get(p->store, "pulled", name, &old) && strcmp(old.text, p->ret->digest.text) == 0;

    p->ret->is_new = !was;
    if (was && was_noted)
        return 0;
    if (image_note_put(p->store, "pulled", name, &p->ret->digest, e) < 0)
        return -1;
    return image_link_put(p->store, "names", name, &p->ret->id, e);
}

static int pull_from_place(struct pull *p, struct err *e)
{
    const struct login *l = &p->q->registry->login;

    p->repository = l->user.n || l->identity.n
                        ? arena_fmt(&p->arena, "%.*s/%.*s", STR_ARG(p->ref.host), STR_ARG(p->ref.path))
                        : STR_NULL;
    if (image_pull_resolve(p, e) < 0 || fetch_blobs(p, &p->manifest.config, 1, e) < 0)
        return -1;
    (void)snprintf(p->ret->id.text, sizeof(p->ret->id.text), "%.*s", STR_ARG(p->manifest.config.digest));
    if (image_pull_unpack(p, e) < 0 || set_name(p, e) < 0)
        return -1;
    return image_opened_put(p->store, p->ref.normal, l, &p->ret->digest, e);
}

/* Try the mirrors, then the registry, whose error is returned. 'is_unreached' is set if none of them could be reached,
 * and not if only a layer failed. */
static int pull_from_places(struct pull *p, struct err *e)
{
    bool is_unreached = true;

    while (registry_next(p->registry) == 0) {
        p->manifest_digest = STR_NULL;
        if (pull_from_place(p, e) == 0)
            return 0;
        is_unreached &= registry_is_unreached(p->registry) && !p->manifest_digest.n;
    }
    p->ret->is_unreached = is_unreached;
    return -1;
}

int image_pull(const struct image_pull *q, struct image_pulled *ret, struct err *e)
{
    struct err ignored = { 0 };
    struct pull p = { .q = q, .store = -1, .ret = ret };
    int lock = -1, rc;

    *ret = (struct image_pulled){ 0 };
    e = e ? e : &ignored;
    rc = reference_parse(&p.arena, q->reference, &p.ref, e) < 0 || image_store_open(q->store, true, &p.store, e) < 0 ||
                 image_store_lock(p.store, false, &lock, e) < 0 ||
                 registry_open(q->registry, &p.ref, &p.registry, e) < 0
             ? -1
             : pull_from_places(&p, e);
    registry_free(p.registry);
    if (lock >= 0)
        close(lock);
    if (p.store >= 0)
        close(p.store);
    arena_done(&p.arena);
    return rc;
}
