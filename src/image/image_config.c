/* image_config.c - metadata of images: OCI layouts, docker save, and the config both have
 *
 *     OCI:     oci-layout, index.json ─▶ (index ─▶) manifest ─▶ config and layers, all in blobs/sha256/<hex>
 *     docker:  manifest.json ─▶ config and layers, by file name
 *
 * Every file that is named by its digest is checked against it. A layer is checked twice: as it lies there, and
 * unpacked.
 */
#include "image/image_internal.h"
#include "os/io.h"
#include "os/path.h"
#include "image/manifest.h"
#include "image/reference.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>

enum { FILE_MAX = 16 << 20, INDEX_DEPTH = 4, LAYERS_MAX = 1024 };

/* ---- files ---- */

int image_file_read(struct arena *a, int dir, const char *path, struct str *ret, struct err *e)
{
    /* O_NONBLOCK: a FIFO must not stop us. */
    autoclose int fd = path_open_below(dir, path, O_RDONLY | O_NONBLOCK, 0);
    autobuf text = { 0 };
    int rc;

    if (fd < 0)
        return err_errno(e, "%s", path);
    rc = file_read_fd(fd, FILE_MAX, &text);
    if (rc > 0)
        return err_set(e, ERR_TOO_BIG, "%s: is larger than %d MiB", path, FILE_MAX >> 20);
    if (rc < 0 && errno == EINVAL)
        return err_set(e, ERR_INVALID, "%s: is not a regular file", path);
    if (rc < 0)
        return err_errno(e, "read %s", path);
    *ret = arena_str(a, buf_view(&text));
    return 0;
}

static int read_json(struct arena *a, int dir, const char *path, struct json **ret, struct err *e)
{
    struct str text;

    if (image_file_read(a, dir, path, &text, e) < 0)
        return -1;
    return json_parse(a, text, NULL, ret, e) < 0 ? err_wrap(e, "%s", path) : 0;
}

/* A blob that is JSON, checked. */
static int read_blob(struct arena *a, int dir, struct str digest, struct str *ret, struct err *e)
{
    struct image_digest is;

    if (!image_digest_is_good(digest))
        return err_set(e, ERR_INVALID, "\"%.*s\" is not a sha256 digest", STR_ARG(digest));
    if (image_file_read(a, dir, image_blob_path(a, digest), ret, e) < 0)
        return -1;
    image_digest_of(*ret, &is);
    if (!str_is(digest, is.text))
        return err_set(e, ERR_INVALID, "%s is damaged: its digest is %s", image_blob_path(a, digest), is.text);
    return 0;
}

static int check_platform(const struct json *config, struct err *e)
{
    struct str os = json_member_text(config, "os"), arch = json_member_text(config, "architecture");

    if (os.n && !str_is(os, "linux"))
        return err_set(e, ERR_INVALID, "the image is for %.*s, not for Linux", STR_ARG(os));
    if (!platform_is_ours(arch, false))
        return err_set(e, ERR_INVALID, "the image is for %.*s machines, not for this one", STR_ARG(arch));
    return 0;
}

/* ---- the config and its layers ---- */

static int image_config_take(struct arena *a, struct str text, struct image_layout *ret, const struct json **ret_diffs,
                             struct err *e)
{
    struct json *config;

    if (json_parse(a, text, NULL, &config, e) < 0)
        return err_wrap(e, "config of the image");
    if (check_platform(config, e) < 0)
        return -1;
    *ret_diffs = json_find(config, "rootfs", "diff_ids", NULL);
    if (!json_is(*ret_diffs, JSON_ARRAY))
        return err_set(e, ERR_INVALID, "is not a container image: its config has no rootfs.diff_ids");
    JSON_FOREACH(diff, *ret_diffs)
        if (!image_digest_is_good(json_text(diff, STR_NULL)))
            return err_set(e, ERR_INVALID, "config of the image: rootfs.diff_ids: not a sha256 digest");
    ret->config = text;
    image_digest_of(text, &ret->id);
    return 0;
}

static int check_layers(const struct json *diffs, const struct json *layers, struct err *e)
{
    if (json_count(layers) != json_count(diffs))
        return err_set(e, ERR_INVALID, "the image has %zu layers but its config lists %zu", json_count(layers),
                       json_count(diffs));
    if (json_count(layers) > LAYERS_MAX)
        return err_set(e, ERR_TOO_BIG, "the image has more than %d layers", LAYERS_MAX);
    return 0;
}

/* ---- OCI layout ---- */

static bool same_reference(struct arena *a, struct str text, struct str reference)
{
    struct str normal;

    return text.n && reference_normal(a, text, &normal, NULL) == 0 && str_eq(normal, reference);
}

/* Does the entry of an index carry the name we look for? Tools write the whole reference, or only its tag. */
static bool image_config_is_named(struct arena *a, const struct json *manifest, struct str reference)
{
    const struct json *notes = json_get(manifest, "annotations");
    struct str tag = json_member_text(notes, "org.opencontainers.image.ref.name");
    ptrdiff_t colon = str_rfind_char(reference, ':');

    return same_reference(a, json_member_text(notes, "io.containerd.image.name"), reference) ||
           same_reference(a, tag, reference) ||
           (tag.n && colon > 0 && str_eq(tag, str_from(reference, (size_t)colon + 1)));
}

static bool is_for_here(const struct json *manifest)
{
    const struct json *platform = json_get(manifest, "platform");
    struct str os = json_member_text(platform, "os");

    return !platform ||
           ((os.n == 0 || str_is(os, "linux")) && platform_is_ours(json_member_text(platform, "architecture"), true));
}

static int choose_manifest(struct arena *a, const struct json *index, struct str reference, struct str *ret,
                           struct err *e)
{
    const struct json *list = json_get(index, "manifests"), *found = NULL;
    size_t n_here = 0, n_named = 0;

    JSON_FOREACH(m, list) {
        bool named = image_config_is_named(a, m, reference);

        if (!is_for_here(m) || (n_named && !named))
            continue;
        if (named && n_named++ == 0)
            n_here = 0;
        if (n_here++ == 0)
            found = m;
    }
    if (n_here == 0)
        return err_set(e, ERR_NOT_FOUND, "none of its %zu images is for this machine", json_count(list));
    if (n_here > 1)
        return err_set(e, ERR_INVALID, "has %zu images, and not exactly one is named %.*s", n_here, STR_ARG(reference));
    *ret = json_member_text(found, "digest");
    return 0;
}

static int take_manifest(struct arena *a, int dir, const struct json *manifest, struct image_layout *ret, struct err *e)
{
    const struct json *layers = json_get(manifest, "layers"), *diff, *diffs;
    struct str config;

    if (read_blob(a, dir, json_member_text(json_get(manifest, "config"), "digest"), &config, e) < 0)
        return err_wrap(e, "config of the image");
    if (image_config_take(a, config, ret, &diffs, e) < 0 || check_layers(diffs, layers, e) < 0)
        return -1;
    diff = json_first(diffs);
    JSON_FOREACH(layer, layers) {
        struct str blob = json_member_text(layer, "digest");

        if (!image_digest_is_good(blob))
            return err_set(e, ERR_INVALID, "\"%.*s\" is not a sha256 digest", STR_ARG(blob));
        *vec_push(a, &ret->layers) = (struct image_layer){ image_blob_path(a, blob), blob, json_text(diff, STR_NULL) };
        diff = diff->next;
    }
    return 0;
}

static int read_oci(struct arena *a, int dir, struct str reference, struct image_layout *ret, struct err *e)
{
    struct json *tree;
    struct str digest, text;

    if (read_json(a, dir, "index.json", &tree, e) < 0)
        return -1;
    for (int depth = 0; depth < INDEX_DEPTH; depth++) { /* an index may point at another: one image, many machines */
        if (choose_manifest(a, tree, reference, &digest, e) < 0 || read_blob(a, dir, digest, &text, e) < 0)
            return -1;
        if (json_parse(a, text, NULL, &tree, e) < 0)
            return err_wrap(e, "%.*s", STR_ARG(digest));
        if (!json_get(tree, "manifests"))
            return take_manifest(a, dir, tree, ret, e) < 0 ? -1 : 1;
    }
    return err_set(e, ERR_INVALID, "index.json: indexes are nested too deeply");
}

/* ---- docker save ---- */

static bool image_config_has_tag(struct arena *a, const struct json *image, struct str reference)
{
    JSON_FOREACH(tag, json_get(image, "RepoTags"))
        if (same_reference(a, json_text(tag, STR_NULL), reference))
            return true;
    return false;
}

static int take_docker(struct arena *a, int dir, const struct json *image, struct image_layout *ret, struct err *e)
{
    const struct json *layers = json_get(image, "Layers"), *diff, *diffs;
    struct str name = json_member_text(image, "Config"), text;
    struct str stem = str_from(name, (size_t)(str_rfind_char(name, '/') + 1));

    if (image_file_read(a, dir, arena_cstr(a, name), &text, e) < 0)
        return err_wrap(e, "config of the image");
    if (image_config_take(a, text, ret, &diffs, e) < 0 || check_layers(diffs, layers, e) < 0)
        return -1;
    if (str_ends(stem, STR(".json")))
        stem = str_sub(stem, 0, stem.n - 5);
    stem = arena_fmt(a, "sha256:%.*s", STR_ARG(stem));
    if (image_digest_is_good(stem) && !str_is(stem, ret->id.text))
        return err_set(e, ERR_INVALID, "%.*s is damaged: its digest is %s", STR_ARG(name), ret->id.text);
    diff = json_first(diffs);
    JSON_FOREACH(layer, layers) {
        *vec_push(a, &ret->layers) = (struct image_layer){ arena_cstr(a, json_text(layer, STR_NULL)), STR_NULL,
                                                           json_text(diff, STR_NULL) };
        diff = diff->next;
    }
    return 0;
}

static int read_docker(struct arena *a, int dir, struct str reference, struct image_layout *ret, struct err *e)
{
    const struct json *found = NULL;
    struct json *list;

    if (read_json(a, dir, "manifest.json", &list, NULL) < 0 || !json_is(list, JSON_ARRAY) ||
        !json_is(json_get(json_at(list, 0), "Layers"), JSON_ARRAY))
        return 0; /* a root file system may have a file of that name */
    JSON_FOREACH(image, list)
        if (!found && (json_count(list) == 1 || image_config_has_tag(a, image, reference)))
            found = image;
    if (!found)
        return err_set(e, ERR_NOT_FOUND, "has %zu images, and none is named %.*s", json_count(list),
                       STR_ARG(reference));
    return take_docker(a, dir, found, ret, e) < 0 ? -1 : 1;
}

int image_layout_read(struct arena *a, int dir, struct str reference, struct image_layout *ret, struct err *e)
{
    *ret = (struct image_layout){ 0 };
    if (faccessat(dir, "oci-layout", F_OK, AT_SYMLINK_NOFOLLOW) == 0 &&
        faccessat(dir, "index.json", F_OK, AT_SYMLINK_NOFOLLOW) == 0)
        return read_oci(a, dir, reference, ret, e);
    return read_docker(a, dir, reference, ret, e);
}

int image_layout_of(struct arena *a, int store, struct str digest, struct image_layout *ret, struct err *e)
{
    struct json *tree;
    struct str text;

    *ret = (struct image_layout){ 0 };
    if (read_blob(a, store, digest, &text, e) < 0)
        return -1;
    if (json_parse(a, text, NULL, &tree, e) < 0)
        return err_wrap(e, "the manifest");
    return take_manifest(a, store, tree, ret, e);
}

/* ---- what to run ---- */

static int read_signal(struct str text)
{
    int64_t number;

    if (str_to_i64(text, &number) == 0)
        return number > 0 && number < NSIG ? (int)number : 0;
    if (str_starts(text, STR("SIG")))
        text = str_from(text, 3);
    if (str_starts(text, STR("RTMIN+")) && str_to_i64(str_from(text, 6), &number) == 0)
        return number >= 0 && number <= SIGRTMAX - SIGRTMIN ? SIGRTMIN + (int)number : 0;
    for (int s = 1; s < 32; s++)
        if (sigabbrev_np(s) && str_is(text, sigabbrev_np(s)))
            return s;
    return 0; /* unknown: SIGTERM, as if nothing were said */
}

/* No argument, variable or path can have a NUL. */
static bool text_is_good(struct str text)
{
    return text.n == 0 || !memchr(text.p, '\0', text.n);
}

static int image_config_check_list(const struct json *config, const char *key, struct err *e)
{
    const struct json *list = json_get(config, key);

    if (list && list->type != JSON_NULL && list->type != JSON_ARRAY)
        return err_set(e, ERR_INVALID, "config of the image: %s: must be a list", key);
    JSON_FOREACH(item, list)
        if (!json_is(item, JSON_STRING) || !text_is_good(json_text(item, STR_NULL)))
            return err_set(e, ERR_INVALID, "config of the image: %s: must be a list of strings", key);
    return 0;
}

int image_config_read(struct arena *a, struct str text, struct image *into, struct err *e)
{
    struct json *tree, *config;

    if (json_parse(a, text, NULL, &tree, e) < 0)
        return err_wrap(e, "config of the image");
    config = json_get(tree, "config");
    if (image_config_check_list(config, "Env", e) < 0 || image_config_check_list(config, "Entrypoint", e) < 0 ||
        image_config_check_list(config, "Cmd", e) < 0)
        return -1;
    JSON_FOREACH(item, json_get(config, "Env"))
        if (str_find_char(json_text(item, STR_NULL), '=') > 0)
            *vec_push(a, &into->env) = json_text(item, STR_NULL);
    JSON_FOREACH(item, json_get(config, "Entrypoint"))
        *vec_push(a, &into->entrypoint) = json_text(item, STR_NULL);
    JSON_FOREACH(item, json_get(config, "Cmd"))
        *vec_push(a, &into->cmd) = json_text(item, STR_NULL);
    into->cwd = json_member_text(config, "WorkingDir");
    into->user = json_member_text(config, "User");
    if (!text_is_good(into->cwd) || !text_is_good(into->user))
        return err_set(e, ERR_INVALID, "config of the image: WorkingDir or User has a NUL");
    into->stop_signal = read_signal(json_member_text(config, "StopSignal"));
    return 0;
}
