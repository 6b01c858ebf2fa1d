/* image.c - the root file system for an image: given on the command line, in the store, or the host's */
#include "image/image_internal.h"
#include "os/io.h"
#include "os/path.h"
#include "os/tree.h"
#include "image/reference.h"

#include "base/map.h"

#include <errno.h>
#include <limits.h>
#include <sys/file.h>

struct images {
    struct arena arena;
    const char *store;   /* NULL: none */
    struct map given;    /* normalised name → struct image */
    struct image *other; /* for "*"; NULL: not given */
    struct map found;    /* what was asked for → the answer, so that each is looked up once */
    struct map held;     /* directories of images in use, locked against removal: by name */
};

struct image_held {
    int fd;
    char name[80];
};

struct images *images_new(const char *store)
{
    struct images *i = xcalloc(1, sizeof(*i));

    i->store = store ? arena_cstr(&i->arena, str_of(store)) : NULL;
    map_init(&i->given, map_seed_default());
    map_init(&i->found, map_seed_default());
    map_init(&i->held, map_seed_default());
    return i;
}

void images_free(struct images *i)
{
    if (!i)
        return;
    MAP_FOREACH(struct image_held *, h, &i->held)
        close(h->fd);
    map_done(&i->held);
    map_done(&i->given);
    map_done(&i->found);
    arena_done(&i->arena);
    free(i);
}

/* ---- images of the store ---- */

int images_stored(const struct images *i, struct arena *a, struct image_entries *ret, struct err *e)
{
    *ret = (struct image_entries){ 0 };
    return i && i->store ? images_list(a, i->store, ret, e) : 0;
}

/* A process that checks the use has the lock for a moment; one that removes the image has taken its name away. */
static bool lock_shared(int store, const char *name, int fd)
{
    while (faccessat(store, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
        if (flock(fd, LOCK_SH | LOCK_NB) == 0)
            return faccessat(store, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
        if (errno != EWOULDBLOCK)
            return false;
        (void)usleep(1000);
    }
    return false;
}

/* Lock it against removal. -1: it was just removed. */
static int image_hold(struct images *i, int store, const char *name, struct err *e)
{
    struct image_held *h;
    int fd;

    if (map_get(&i->held, str_of(name)))
        return 0;
    fd = openat(store, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return err_errno(e, "open %s in the image store", name);
    if (!lock_shared(store, name, fd)) {
        close(fd);
        return err_set(e, ERR_NOT_FOUND, "%s was just removed from the image store", name);
    }
    h = arena_new(&i->arena, struct image_held);
    h->fd = fd;
    (void)snprintf(h->name, sizeof(h->name), "%s", name);
    (void)map_put(&i->held, str_of(h->name), h);
    return 0;
}

/* The unpacked image 'id' of the store. */
static int image_load(struct images *i, int store, const struct image_digest *id, struct image *ret, struct err *e)
{
    char name[80], full[PATH_MAX];
    autoclose int dir = -1;
    struct str config;

    image_store_name(id, name);
    if (image_hold(i, store, name, e) < 0)
        return -1;
    dir = openat(store, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (dir < 0)
        return err_errno(e, "open %s in the image store", name);
    if (!realpath(i->store, full))
        return err_errno(e, "find the image store %s", i->store);
    if (faccessat(dir, "config.json", F_OK, AT_SYMLINK_NOFOLLOW) == 0 &&
        (image_file_read(&i->arena, dir, "config.json", &config, e) < 0 ||
         image_config_read(&i->arena, config, ret, e) < 0))
        return -1;
    ret->root = arena_fmt(&i->arena, "%s/%s/root", full, name);
    ret->id = arena_str(&i->arena, str_of(id->text));
    ret->said = arena_fmt(&i->arena, "image %.12s of the store", id->text + 7);
    ret->from = IMAGE_STORED;
    return 0;
}

/* ---- unpacking ---- */

static int stage_root(const struct image_stage *s, const char *name, int *ret_fd, struct err *e)
{
    if (mkdirat(s->dir, name, 0755) < 0)
        return err_errno(e, "create a directory in the image store");
    *ret_fd = openat(s->dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (*ret_fd < 0)
        return err_errno(e, "open a directory in the image store");
    return fchmod(*ret_fd, 0755) < 0 ? err_errno(e, "set the mode of a directory in the image store") : 0;
}

static int check_digest(struct str wanted, const struct image_digest *is, struct err *e)
{
    if (wanted.n == 0 || str_is(wanted, is->text))
        return 0;
    return err_set(e, ERR_INVALID, "is damaged: wrong digest: expected %.*s, got %s", STR_ARG(wanted), is->text);
}

struct archive_sums {
    struct image_digest file, tar; /* as it is; as a tar that is not compressed */
    int64_t bytes;                 /* of the tar */
};

/* One archive over the directory 'root'. */
static int unpack_fd(int fd, int root, bool is_layer, struct archive_sums *ret, struct err *e)
{
    struct image_tar *t = NULL;
    int rc = -1;

    if (image_tar_open(fd, &t, e) == 0 && image_unpack(root, t, is_layer, e) == 0 &&
        image_tar_finish(t, &ret->file, &ret->tar, e) == 0)
        rc = 0;
    if (rc == 0)
        ret->bytes = image_tar_bytes(t);
    image_tar_close(t);
    return rc;
}

static int unpack_layer(int dir, const struct image_layer *layer, int root, int64_t *bytes, struct err *e)
{
    autoclose int fd = path_open_below(dir, layer->path, O_RDONLY | O_NONBLOCK, 0);
    struct archive_sums sums;

    if (fd < 0)
        return err_errno(e, "open");
    if (unpack_fd(fd, root, true, &sums, e) < 0)
        return -1;
    *bytes += sums.bytes;
    return check_digest(layer->blob, &sums.file, e) < 0 || check_digest(layer->diff, &sums.tar, e) < 0 ? -1 : 0;
}

static int check_layer(int dir, const struct image_layer *layer, struct err *e)
{
    autoclose int fd = path_open_below(dir, layer->path, O_RDONLY | O_NONBLOCK, 0);
    struct image_stream *s = NULL;
    struct image_digest file, tar;
    int rc;

    if (fd < 0)
        return err_errno(e, "open");
    rc = image_stream_open(fd, &s, e) < 0 || image_stream_finish(s, &file, &tar, e) < 0 ? -1 : 0;
    image_stream_close(s);
    return rc < 0 || check_digest(layer->blob, &file, e) < 0 || check_digest(layer->diff, &tar, e) < 0 ? -1 : 0;
}

int image_check_layout(int dir, const struct image_layout *layout, struct err *e)
{
    VEC_FOREACH(layer, &layout->layers)
        if (check_layer(dir, layer, e) < 0)
            return err_wrap(e, "layer %s", layer->path);
    return 0;
}

/* For lists of images: to count it again takes long. */
static int write_bytes(int dir, int64_t bytes, struct err *e)
{
    char text[24];

    (void)snprintf(text, sizeof(text), "%lld", (long long)bytes);
    return file_write(dir, "bytes", O_TRUNC, 0600, str_of(text)) < 0 ? err_errno(e, "write bytes") : 0;
}

/* The layers of a layout in 'dir', one over the other. */
static int unpack_layout(int dir, const struct image_layout *layout, const struct image_stage *s, struct err *e)
{
    autoclose int root = -1;
    int64_t bytes = 0;

    if (stage_root(s, "root", &root, e) < 0)
        return -1;
    for (size_t n = 0; n < layout->layers.n; n++)
        if (unpack_layer(dir, &layout->layers.v[n], root, &bytes, e) < 0)
            return err_wrap(e, "layer %zu (%s)", n + 1, layout->layers.v[n].path);
    if (file_write(s->dir, "config.json", O_EXCL, 0600, layout->config) < 0)
        return err_errno(e, "write config.json");
    return write_bytes(s->dir, bytes, e);
}

struct image_source { /* what images_add() is given */
    const char *path;
    struct str reference; /* normalised, or "*" */
    int fd;
    struct stat st;
};

/* Unpack an archive into the stage, as files first; those may turn out to be the parts of an image. */
static int unpack_archive(struct arena *a, const struct image_source *from, const struct image_stage *s,
                          struct image_digest *ret_id, struct err *e)
{
    autoclose int files = -1;
    struct image_layout layout;
    struct archive_sums sums;
    int rc;

    if (stage_root(s, "files", &files, e) < 0 || unpack_fd(from->fd, files, false, &sums, e) < 0 ||
        write_bytes(s->dir, sums.bytes, e) < 0)
        return -1;
    rc = image_layout_read(a, files, from->reference, &layout, e);
    if (rc < 0)
        return -1;
    if (rc == 0) { /* a root file system */
        *ret_id = sums.tar;
        return renameat(s->dir, "files", s->dir, "root") < 0 ? err_errno(e, "name the root") : 0;
    }
    *ret_id = layout.id;
    if (image_store_has(s->store, ret_id))
        return 0;
    if (unpack_layout(files, &layout, s, e) < 0)
        return -1;
    return tree_remove(s->dir, "files", e);
}

static int add_archive(int store, const struct image_source *from, struct image_digest *ret_id, struct err *e)
{
    autoarena a = { 0 };
    const struct stat *st = &from->st;
    struct str stamp = arena_fmt(&a, "%llx-%llx-%llx-%llx.%lx-%llx.%lx %.*s", (unsigned long long)st->st_dev,
                                 (unsigned long long)st->st_ino, (unsigned long long)st->st_size,
                                 (unsigned long long)st->st_mtim.tv_sec, (unsigned long)st->st_mtim.tv_nsec,
                                 (unsigned long long)st->st_ctim.tv_sec, (unsigned long)st->st_ctim.tv_nsec,
                                 STR_ARG(from->reference)); /* one archive may have several images */
    struct image_stage s = { .dir = -1 };
    int rc;

    if (image_link_get(store, "archives", stamp, ret_id))
        return 0;
    if (image_stage_begin(store, &s, e) < 0)
        return -1;
    rc = unpack_archive(&a, from, &s, ret_id, e);
    if (rc == 0 && !image_store_has(store, ret_id))
        rc = image_stage_publish(&s, ret_id, e);
    image_stage_drop(&s);
    return rc < 0 ? -1 : image_link_put(store, "archives", stamp, ret_id, e);
}

int image_add_layout(int store, int dir, const struct image_layout *layout, struct err *e)
{
    struct image_stage s = { .dir = -1 };
    int rc;

    if (image_store_has(store, &layout->id))
        return 0;
    if (image_stage_begin(store, &s, e) < 0)
        return -1;
    rc = unpack_layout(dir, layout, &s, e);
    if (rc == 0)
        rc = image_stage_publish(&s, &layout->id, e);
    image_stage_drop(&s);
    return rc;
}

/* ---- adding ---- */

static int need_store(struct images *i, int *ret_fd, struct err *e)
{
    if (!i->store)
        return err_set(e, ERR_INVALID, "no image store to unpack images into");
    return image_store_open(i->store, true, ret_fd, e);
}

/* Name an image of the store, for later runs. "*" is for this run only. */
static int name_stored(int store, struct str reference, const struct image_digest *id, struct err *e)
{
    return str_is(reference, "*") ? 0 : image_link_put(store, "names", reference, id, e);
}

static int add_dir(struct images *i, const struct image_source *from, struct image *ret, struct err *e)
{
    autoarena a = { 0 };
    autoclose int store = -1;
    struct image_layout layout;
    char full[PATH_MAX];
    int rc = image_layout_read(&a, from->fd, from->reference, &layout, e);

    if (rc < 0)
        return -1;
    if (!realpath(from->path, full))
        return err_errno(e, "find");
    if (rc == 0) {
        ret->root = arena_str(&i->arena, str_of(full));
        ret->id = arena_fmt(&i->arena, "dir:%s", full);
    } else if (need_store(i, &store, e) < 0 || image_add_layout(store, from->fd, &layout, e) < 0 ||
               name_stored(store, from->reference, &layout.id, e) < 0 || image_load(i, store, &layout.id, ret, e) < 0) {
        return -1;
    }
    ret->said = arena_fmt(&i->arena, "%s %s", rc ? "image layout" : "directory", full);
    return 0;
}

static int image_add_file(struct images *i, const struct image_source *from, struct image *ret, struct err *e)
{
    autoclose int store = -1;
    struct image_digest id;

    if (need_store(i, &store, e) < 0 || add_archive(store, from, &id, e) < 0 ||
        name_stored(store, from->reference, &id, e) < 0 || image_load(i, store, &id, ret, e) < 0)
        return -1;
    ret->said = arena_fmt(&i->arena, "archive %s", from->path);
    return 0;
}

static int image_add_path(struct images *i, const char *path, struct str reference, struct image *ret, struct err *e)
{
    autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct image_source from = { .path = path, .reference = reference, .fd = fd };

    if (fd < 0 || fstat(fd, &from.st) < 0)
        return err_errno(e, "open");
    if (S_ISDIR(from.st.st_mode))
        return add_dir(i, &from, ret, e);
    if (S_ISREG(from.st.st_mode))
        return image_add_file(i, &from, ret, e);
    return err_set(e, ERR_INVALID, "is neither a directory nor an archive");
}

int images_add(struct images *i, struct str text, struct err *e)
{
    ptrdiff_t equals = str_find_char(text, '=');
    struct image *image = arena_new(&i->arena, struct image);
    struct str reference = STR("*");
    const char *path;

    if (equals <= 0 || (size_t)equals + 1 == text.n || memchr(text.p, '\0', text.n))
        return err_set(e, ERR_INVALID, "\"%.*s\": must be NAME=DIR or NAME=ARCHIVE", STR_ARG(text));
    image->name = arena_str(&i->arena, str_sub(text, 0, (size_t)equals));
    path = arena_cstr(&i->arena, str_from(text, (size_t)equals + 1));
    if (!str_is(image->name, "*") && reference_normal(&i->arena, image->name, &reference, e) < 0)
        return -1;
    if (strcmp(path, "host") == 0)
        *image = (struct image){ .name = image->name, .id = STR("host"), .said = STR("the host's files") };
    else if (image_add_path(i, path, reference, image, e) < 0)
        return err_wrap(e, "image %.*s: %s", STR_ARG(image->name), path);
    image->from = IMAGE_GIVEN;
    if (str_is(reference, "*"))
        i->other = image;
    else
        (void)map_put(&i->given, reference, image);
    map_clear(&i->found);
    return 0;
}

/* ---- finding ---- */

static bool find_stored(struct images *i, struct str reference, struct image *ret)
{
    autoclose int store = -1;
    struct image_digest id, digest;
    struct reference parts;

    if (!i->store || image_store_open(i->store, false, &store, NULL) < 0)
        return false;
    if (!image_link_get(store, "names", reference, &id) || image_load(i, store, &id, ret, NULL) < 0)
        return false;
    if (image_note_get(store, "pulled", reference, &digest) && reference_parse(&i->arena, reference, &parts, NULL) == 0)
        ret->id = arena_fmt(&i->arena, "%.*s/%.*s@%s", STR_ARG(parts.host), STR_ARG(parts.path), digest.text);
    return true;
}

static void image_find(struct images *i, struct str reference, struct image *ret)
{
    struct str normal = STR_NULL, name = ret->name;
    const struct image *given = NULL;

    if (reference_normal(&i->arena, reference, &normal, NULL) == 0)
        given = map_get(&i->given, normal);
    if (given)
        *ret = *given;
    else if (normal.n && !i->other && find_stored(i, normal, ret))
        ;
    else if (i->other)
        *ret = *i->other;
    else
        *ret = (struct image){ .id = STR("host"), .said = STR("the host's files") };
    ret->name = name;
}

const struct image *images_find(struct images *i, struct str reference)
{
    struct image *image = map_get(&i->found, reference);

    if (image)
        return image;
    image = arena_new(&i->arena, struct image);
    image->name = arena_str(&i->arena, reference);
    image_find(i, reference, image);
    (void)map_put(&i->found, image->name, image);
    return image;
}

bool images_may_use(struct images *i, const struct image *image, const struct login *login)
{
    autoclose int store = -1;
    autoarena a = { 0 };
    struct image_digest digest;
    struct str name;

    if (image->from != IMAGE_STORED)
        return true;
    if (!i->store || image_store_open(i->store, false, &store, NULL) < 0 ||
        reference_normal(&a, image->name, &name, NULL) < 0)
        return false;
    return !image_note_get(store, "pulled", name, &digest) || image_opened(store, name, NULL, &digest) ||
           image_opened(store, name, login, &digest);
}

void images_look_again(struct images *i)
{
    map_clear(&i->found);
}
