/* manifest.c - indexes and manifests of images, as OCI and docker write them */
#include "image/manifest.h"

#include "base/buf.h"
#include "base/util.h"
#include "json/json.h"
#include "image/digest.h"

#include <sys/utsname.h>

enum { PLATFORMS_TOLD = 8 };

/* ---- this machine ---- */

static const struct {
    const char *machine, *arch, *also; /* uname's, the image's, one it can run too */
} archs[] = {
    { "x86_64", "amd64", "386" }, { "aarch64", "arm64", "arm" }, { "riscv64", "riscv64", "" },
    { "ppc64le", "ppc64le", "" }, { "s390x", "s390x", "" },
};

static const char *arch_of(const char *machine)
{
    for (size_t i = 0; i < ARRAY_LEN(archs); i++)
        if (strcmp(archs[i].machine, machine) == 0)
            return archs[i].arch;
    return machine;
}

bool platform_is_ours(struct str arch, bool is_exact)
{
    struct utsname here;

    if (arch.n == 0 || uname(&here) < 0)
        return !is_exact;
    for (size_t i = 0; i < ARRAY_LEN(archs); i++)
        if (strcmp(archs[i].machine, here.machine) == 0)
            return str_is(arch, archs[i].arch) || (!is_exact && str_is(arch, archs[i].also));
    return str_is(arch, here.machine);
}

/* ---- descriptors ---- */

static int read_descriptor(const struct json *j, const char *what, int64_t max, struct descriptor *ret, struct err *e)
{
    ret->digest = json_member_text(j, "digest");
    if (!image_digest_is_good(ret->digest))
        return err_set(e, ERR_INVALID, "the manifest names a %s \"%.*s\", which is not a sha256 digest", what,
                       STR_ARG(str_cut(ret->digest, 100)));
    if (json_to_i64(json_get(j, "size"), &ret->size) < 0 || ret->size < 0 || ret->size > max)
        return err_set(e, ERR_INVALID, "the manifest has no valid size for a %s", what);
    return 0;
}

/* ---- an index: one image, many machines ---- */

/* 0: not for here; of the others the higher the better. Attestations are of the platform "unknown". */
static int fitness(const struct json *entry)
{
    const struct json *platform = json_get(entry, "platform");
    struct str os = json_member_text(platform, "os"), arch = json_member_text(platform, "architecture");

    if (platform && ((os.n && !str_is(os, "linux")) || !platform_is_ours(arch, false)))
        return 0;
    if (!platform)
        return 1;
    return 2 + (platform_is_ours(arch, true) ? 2 : 0) + (json_member_text(platform, "variant").n ? 0 : 1);
}

/* "linux/arm/v7" */
static void put_platform(struct buf *out, const struct json *platform)
{
    static const char *const parts[] = { "os", "architecture", "variant" };

    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        struct str part = json_member_text(platform, parts[i]);

        if (part.n && i)
            buf_char(out, '/');
        for (size_t k = 0; k < MIN_OF(part.n, 40); k++) /* a stranger's text, for a terminal */
            buf_char(out, part.p[k] > ' ' && part.p[k] < 0x7f ? part.p[k] : '?');
    }
}

static int not_for_us(const struct json *list, struct err *e)
{
    autobuf there = { 0 };
    struct utsname here = { 0 };
    size_t n = 0;

    JSON_FOREACH(entry, list) {
        struct str os = json_member_text(json_get(entry, "platform"), "os");

        if (!os.n || str_is(os, "unknown") || ++n > PLATFORMS_TOLD) /* attestations are of the platform "unknown" */
            continue;
        buf_str(&there, n == 1 ? STR("; available for ") : STR(", "));
        put_platform(&there, json_get(entry, "platform"));
    }
    if (n > PLATFORMS_TOLD)
        buf_fmt(&there, " and %zu more", n - PLATFORMS_TOLD);
    (void)uname(&here);
    return err_set(e, ERR_NOT_FOUND, "the image is not available for linux/%s%.*s", arch_of(here.machine),
                   STR_ARG(buf_view(&there)));
}

static int read_index(const struct json *list, struct manifest *ret, struct err *e)
{
    const struct json *best = NULL;

    JSON_FOREACH(entry, list)
        if (fitness(entry) > (best ? fitness(best) : 0))
            best = entry;
    if (!best)
        return not_for_us(list, e);
    ret->is_index = true;
    return read_descriptor(best, "manifest", MANIFEST_BYTES, &ret->chosen, e);
}

/* ---- a manifest ---- */

static bool manifest_is_one_of(struct str media, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (str_is(media, list[i]))
            return true;
    return false;
}

static int check_config_media(const struct json *config, struct err *e)
{
    static const char *const known[] = { "", "application/vnd.oci.image.config.v1+json",
                                         "application/vnd.docker.container.image.v1+json" };
    struct str media = json_member_text(config, "mediaType");

    if (manifest_is_one_of(media, known, ARRAY_LEN(known)))
        return 0;
    return err_set(e, ERR_INVALID, "not a container image: its config has type %.*s", STR_ARG(str_cut(media, 100)));
}

static int check_layer_media(const struct json *layer, struct err *e)
{
    static const char *const known[] = {
        "",
        "application/vnd.oci.image.layer.v1.tar",
        "application/vnd.oci.image.layer.v1.tar+gzip",
        "application/vnd.oci.image.layer.v1.tar+zstd",
        "application/vnd.oci.image.layer.nondistributable.v1.tar",
        "application/vnd.oci.image.layer.nondistributable.v1.tar+gzip",
        "application/vnd.oci.image.layer.nondistributable.v1.tar+zstd",
        "application/vnd.docker.image.rootfs.diff.tar",
        "application/vnd.docker.image.rootfs.diff.tar.gzip",
        "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip",
    };
    struct str media = json_member_text(layer, "mediaType");

    if (manifest_is_one_of(media, known, ARRAY_LEN(known)))
        return 0;
    return err_set(e, ERR_INVALID, "cannot unpack a layer of type %.*s", STR_ARG(str_cut(media, 100)));
}

static int read_layers(struct arena *a, const struct json *layers, struct manifest *ret, struct err *e)
{
    if (json_count(layers) > MANIFEST_LAYERS)
        return err_set(e, ERR_TOO_BIG, "the image has more than %d layers", MANIFEST_LAYERS);
    JSON_FOREACH(layer, layers) {
        struct descriptor *d = vec_push(a, &ret->layers);

        if (check_layer_media(layer, e) < 0 || read_descriptor(layer, "layer", INT64_MAX / 2048, d, e) < 0)
            return -1;
        ret->bytes += d->size;
    }
    return 0;
}

int manifest_read(struct arena *a, struct str text, struct manifest *ret, struct err *e)
{
    struct json *j, *list;

    *ret = (struct manifest){ 0 };
    if (text.n > MANIFEST_BYTES)
        return err_set(e, ERR_TOO_BIG, "the manifest is larger than %d MiB", MANIFEST_BYTES >> 20);
    if (json_parse(a, text, NULL, &j, e) < 0)
        return err_wrap(e, "the manifest");
    if (json_i64(json_get(j, "schemaVersion"), 2) == 1)
        return err_set(e, ERR_INVALID,
                       "the manifest has schema 1, which is not supported; push the image again with a current tool");
    list = json_get(j, "manifests");
    if (json_is(list, JSON_ARRAY))
        return read_index(list, ret, e);
    if (!json_is(json_get(j, "config"), JSON_OBJECT) || !json_is(json_get(j, "layers"), JSON_ARRAY))
        return err_set(e, ERR_INVALID, "not an image manifest: it has neither config nor layers");
    if (check_config_media(json_get(j, "config"), e) < 0 ||
        read_descriptor(json_get(j, "config"), "config", MANIFEST_CONFIG_BYTES, &ret->config, e) < 0)
        return -1;
    return read_layers(a, json_get(j, "layers"), ret, e);
}
