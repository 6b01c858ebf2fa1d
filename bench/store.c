/* store.c - what a durable store costs: creates for each sync of the disk, memory for each object, time to open
 *
 * usage: bench_store [DIR [PODS]]
 *
 * DIR is on the disk to be measured (default: here). Pods are created in turns of 1, 16 and 64: a turn is what so many
 * clients that wait for their answers make a server flush together. Before each comes the disk's own limit: the same
 * bytes appended to a file and synced, as often as it goes. Then PODS (default 100,000) are made; the memory is what the process
 * has more than before, with 'history' at its default and every pod changed once after it was made.
 */
#include "base/rand.h"
#include "base/util.h"
#include "os/tree.h"
#include "store/store.h"

#include <fcntl.h>
#include <malloc.h>
#include <sys/stat.h>

#ifndef BENCH_DATA
#define BENCH_DATA "bench/data"
#endif

enum { SECONDS = 2 };

static char dir[4096];
static struct arena arena;
static struct json *pod;
static size_t pod_bytes; /* of its text */

static _Noreturn void die(const char *what, const struct err *e)
{
    (void)fprintf(stderr, "bench_store: %s: %s\n", what, e->text);
    exit(1);
}

static double now_s(void)
{
    return (double)clock_mono_us(&clock_real) / 1e6;
}

static double cpu_s(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); /* it is there */
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Kilobytes that the process has for itself. */
static long private_kb(void)
{
    autofile FILE *f = fopen("/proc/self/smaps_rollup", "re");
    long kb = 0, n;
    char line[256];

    (void)malloc_trim(0);
    while (f && fgets(line, sizeof(line), f))
        if (sscanf(line, "Private_Dirty: %ld kB", &n) == 1)
            kb += n;
    return kb;
}

/* ---- the disk ---- */

static double syncs_per_s(size_t bytes)
{
    static char page[1 << 20];
    char path[4200];
    double start, took;
    int fd, n = 0;

    (void)snprintf(path, sizeof(path), "%s/sync", dir);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    start = now_s();
    for (took = 0; took < SECONDS; took = now_s() - start, n++)
        if (fd < 0 || write(fd, page, bytes) != (ssize_t)bytes || fdatasync(fd) < 0)
            die(path, &(struct err){ .text = "cannot be written" });
    close(fd);
    (void)unlink(path);
    return n / took;
}

/* ---- the store ---- */

static void read_pod(const char *path)
{
    struct err e = { 0 };
    autobuf print = { 0 };
    static struct buf text;
    autofile FILE *f = fopen(path, "re");
    char part[4096];
    size_t n;

    while (f && (n = fread(part, 1, sizeof(part), f)) > 0)
        buf_append(&text, part, n);
    if (json_parse(&arena, buf_view(&text), NULL, &pod, &e) < 0)
        die(path, &e);
    json_print(&print, pod);
    pod_bytes = print.n;
}

static struct store *open_store(const char *name)
{
    struct store_options opt = { .clock = &clock_real, .seed = rand_os_u64() };
    struct err e = { 0 };
    struct store *s;
    char path[4200];

    (void)snprintf(path, sizeof(path), "%s/%s", dir, name);
    if (store_open(path, &opt, &s, &e) < 0)
        die("open", &e);
    return s;
}

static void create(struct store *s, uint64_t i)
{
    struct err e = { 0 };
    autoarena a = { 0 };
    struct json *body = json_copy(&a, pod), *meta = json_get(body, "metadata");

    json_remove(meta, "resourceVersion");
    json_remove(meta, "uid");
    json_set(meta, "name", json_fmt(&a, "job-%llu-worker-%llu", (unsigned long long)(i / 100), (unsigned long long)i));
    if (store_restore(s, body, NULL, &e) < 0) /* with its status: as it is when it runs */
        die("create", &e);
}

static void flush(struct store *s)
{
    struct err e = { 0 };

    if (store_flush(s, &e) < 0)
        die("flush", &e);
}

static void creates(int batch)
{
    char name[32];
    double limit = syncs_per_s((size_t)batch * pod_bytes);
    double start = now_s(), cpu = cpu_s(), took;
    struct store *s;
    uint64_t n = 0;

    (void)snprintf(name, sizeof(name), "batch-%d", batch);
    s = open_store(name);
    for (took = 0; took < SECONDS; took = now_s() - start) {
        for (int i = 0; i < batch; i++)
            create(s, n++);
        flush(s);
    }
    cpu = cpu_s() - cpu;
    printf("turns of %-3d  %7.0f creates/s  %6.0f turns/s, the disk %6.0f syncs/s: %4.2f  %5.1f us CPU a create\n",
           batch, (double)n / took, (double)n / batch / took, limit, (double)n / batch / took / limit,
           cpu / (double)n * 1e6);
    store_free(s);
}

static void touch(struct store *s, uint64_t i)
{
    const struct resource_type *type = type_by_kind(STR("v1"), STR("Pod"));
    autoarena a = { 0 };
    struct json *patch = json_object(&a), *meta = json_add(patch, STR("metadata"), json_object(&a));
    struct json *notes = json_add(meta, STR("annotations"), json_object(&a));
    struct str name = arena_fmt(&a, "job-%llu-worker-%llu", (unsigned long long)(i / 100), (unsigned long long)i);
    struct err e = { 0 };

    json_add(notes, STR("touched"), json_str(&a, STR("once")));
    if (store_apply(s,
                    &(struct op){ .kind = OP_MERGE_PATCH,
                                  .type = type,
                                  .namespace = json_member_text(json_get(pod, "metadata"), "namespace"),
                                  .name = name,
                                  .body = patch },
                    NULL, &e) < 0)
        die("patch", &e);
}

static void measure_memory(uint64_t pods)
{
    long before = private_kb();
    struct store *s = open_store("many");

    for (uint64_t i = 0; i < pods; i++) {
        create(s, i);
        if (i % 64 == 63)
            flush(s);
    }
    for (uint64_t i = 0; i < pods; i++) {
        touch(s, i);
        if (i % 64 == 63)
            flush(s);
    }
    flush(s);
    printf("%llu pods of %zu bytes of text, each changed once: %.0f bytes each, %.0f MB\n", (unsigned long long)pods,
           pod_bytes, (double)(private_kb() - before) * 1024 / (double)pods, (double)(private_kb() - before) / 1024);
    store_free(s);
}

static void measure_open(const char *name)
{
    long before = private_kb();
    double start = now_s(), cpu = cpu_s();
    struct store *s = open_store(name);

    printf("open %llu objects: %.1f ms (%.1f ms CPU), %.0f MB\n",
           (unsigned long long)store_count(s, type_by_kind(STR("v1"), STR("Pod"))), (now_s() - start) * 1e3,
           (cpu_s() - cpu) * 1e3, (double)(private_kb() - before) / 1024);
    store_free(s);
}

int main(int argc, char **argv)
{
    static const int batches[] = { 1, 16, 64 };
    uint64_t pods = 100000;
    int fd;

    if (argc > 2 && str_to_u64(str_of(argv[2]), &pods) < 0)
        return 2;
    (void)snprintf(dir, sizeof(dir), "%s/bench-store-XXXXXX", argc > 1 ? argv[1] : ".");
    if (!mkdtemp(dir))
        die(dir, &(struct err){ .text = "cannot be made" });
    read_pod(BENCH_DATA "/pod.json");
    for (size_t i = 0; i < ARRAY_LEN(batches); i++)
        creates(batches[i]);
    measure_memory(pods);
    measure_open("many");
    measure_open("none"); /* it is made */
    measure_open("none");
    if ((fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) >= 0 && tree_empty(fd, NULL) == 0)
        (void)rmdir(dir); /* it is empty */
    return 0;
}
