/* image_config.c - fuzz: any set of files is an image or is refused, and no path in it leads out of its directory
 *
 * The input is several texts with a line "---" between them. All but the last are blobs, under their digests; the last
 * is index.json, or manifest.json if it begins with '['. "@0@" in a text is the digest of the first blob, and so on: a
 * digest that is right cannot be guessed.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "base/util.h"
#include "image/image_internal.h"

#include <fcntl.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TEXTS = 6 };

static char top[64];

static void leave(void)
{
    char command[100];

    (void)snprintf(command, sizeof(command), "rm -rf %s", top);
    if (system(command) != 0)
        (void)fprintf(stderr, "%s stays\n", top);
}

static int begin(void)
{
    const char *where = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    int dir;

    if (!top[0]) {
        (void)snprintf(top, sizeof(top), "%s/pumice-fuzz-%d", where, (int)getpid());
        (void)mkdir(top, 0700);
        (void)atexit(leave);
    }
    dir = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert(dir >= 0);
    (void)mkdirat(dir, "blobs", 0700);
    (void)mkdirat(dir, "blobs/sha256", 0700);
    (void)unlinkat(dir, "index.json", 0);
    (void)unlinkat(dir, "manifest.json", 0);
    return dir;
}

static void write_file(int dir, const char *path, struct str text)
{
    int fd = openat(dir, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    assert(fd >= 0 && write(fd, text.p, text.n) == (ssize_t)text.n);
    close(fd);
}

/* "@0@" and so on. */
static struct str fill_in(struct arena *a, struct str text, const struct image_digest *blobs, size_t n)
{
    autobuf out = { 0 };

    for (size_t i = 0; i < text.n; i++) {
        size_t which = i + 2 < text.n && text.p[i] == '@' && text.p[i + 2] == '@' ? (size_t)(uint8_t)text.p[i + 1] - '0'
                                                                                  : n;

        if (which >= n) {
            buf_char(&out, text.p[i]);
            continue;
        }
        buf_str(&out, str_of(blobs[which].text));
        i += 2;
    }
    return arena_str(a, buf_view(&out));
}

static void try_layout(int dir)
{
    autoarena a = { 0 };
    struct image_layout layout = { 0 };
    struct image image = { 0 };

    if (image_layout_read(&a, dir, STR("docker.io/library/x:1"), &layout, NULL) != 1)
        return;
    VEC_FOREACH(layer, &layout.layers)
        assert(layer->path && strlen(layer->path) > 0);
    (void)image_config_read(&a, layout.config, &image, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str rest = { (const char *)data, size }, texts[TEXTS];
    struct image_digest blobs[TEXTS];
    autoclose int dir = begin();
    autoarena a = { 0 };
    size_t n = 0, n_blobs = 0;

    for (const char *end; n < TEXTS - 1 && (end = memmem(rest.p, rest.n, "\n---\n", 5));) {
        texts[n++] = (struct str){ rest.p, (size_t)(end - rest.p) };
        rest = str_from(rest, (size_t)(end - rest.p) + 5);
    }
    texts[n] = rest;
    for (; n_blobs < n; n_blobs++) {
        struct str text = fill_in(&a, texts[n_blobs], blobs, n_blobs);

        image_digest_of(text, &blobs[n_blobs]);
        write_file(dir, arena_fmt(&a, "blobs/sha256/%s", blobs[n_blobs].text + 7).p, text);
    }
    rest = fill_in(&a, rest, blobs, n_blobs);
    write_file(dir, "oci-layout", STR("{\"imageLayoutVersion\": \"1.0.0\"}"));
    write_file(dir, str_starts(rest, STR("[")) ? "manifest.json" : "index.json", rest);
    try_layout(dir);
    for (size_t i = 0; i < n_blobs; i++)
        (void)unlinkat(dir, arena_fmt(&a, "blobs/sha256/%s", blobs[i].text + 7).p, 0);
    return 0;
}
