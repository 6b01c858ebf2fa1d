/* json.c - our JSON tree against json-c, jansson and cJSON on a pod
 *
 * usage: json [POD.JSON [ROUNDS]]
 *
 * Each library parses the document, prints it compact and frees everything; and copies a parsed tree. Rounds of all
 * libraries alternate, so that a change of the machine's speed hits all of them alike. Times are CPU time of the
 * process for one iteration; the ratio is theirs over ours, by the best round.
 *
 * The libraries are loaded at run time: json-c, jansson and we use the same names (json_object, json_copy ...), so no
 * two of them can be linked together. A library that is not installed is left out.
 */
#include "base/util.h"
#include "json/json.h"

#include <dlfcn.h>
#include <time.h>

#ifndef BENCH_DATA
#define BENCH_DATA "bench/data"
#endif

enum { ITERATIONS = 500, ROUNDS_DEFAULT = 60 };

static struct arena arena;
static struct buf out;
static size_t sink; /* keeps the compiler from dropping the work */

static void die(const char *what)
{
    (void)fprintf(stderr, "bench: %s\n", what);
    exit(1);
}

/* ---- ours ---- */

static void *pumice_parse(const char *text, size_t n)
{
    static struct arena keep;
    struct json *j;

    if (json_parse(&keep, (struct str){ text, n }, NULL, &j, NULL) < 0)
        die("pumice cannot parse");
    return j;
}

static void pumice_trip(const char *text, size_t n)
{
    struct json *j;

    arena_reset(&arena);
    buf_reset(&out);
    if (json_parse(&arena, (struct str){ text, n }, NULL, &j, NULL) < 0)
        die("pumice cannot parse");
    json_print(&out, j);
    sink += out.n;
}

static void pumice_copy(void *tree)
{
    arena_reset(&arena);
    sink += json_copy(&arena, tree)->n;
}

/* ---- json-c ---- */

enum { JSONC_COMPACT = 0, JSONC_NO_SLASH_ESCAPE = 1 << 4 };

static struct {
    void *(*tokener_new)(void);
    void *(*parse)(void *tokener, const char *text, int n);
    void (*tokener_free)(void *tokener);
    const char *(*print)(void *tree, int flags, size_t *ret_n);
    int (*copy)(void *tree, void **ret, void *shallow_copy);
    int (*put)(void *tree);
} jsonc;

static void *jsonc_parse(const char *text, size_t n)
{
    void *tokener = jsonc.tokener_new();
    void *j = jsonc.parse(tokener, text, (int)n);

    if (!j)
        die("json-c cannot parse");
    jsonc.tokener_free(tokener);
    return j;
}

static void jsonc_trip(const char *text, size_t n)
{
    void *j = jsonc_parse(text, n);
    size_t len;

    (void)jsonc.print(j, JSONC_COMPACT | JSONC_NO_SLASH_ESCAPE, &len);
    sink += len;
    jsonc.put(j);
}

static void jsonc_copy(void *tree)
{
    void *copy = NULL;

    if (jsonc.copy(tree, &copy, NULL) < 0)
        die("json-c cannot copy");
    jsonc.put(copy);
}

/* ---- jansson ---- */

enum { JANSSON_COMPACT = 0x20 };

static struct {
    void *(*parse)(const char *text, size_t n, size_t flags, void *error);
    char *(*print)(const void *tree, size_t flags);
    void *(*copy)(const void *tree);
    void (*delete)(void *tree);
} jansson;

static void *jansson_parse(const char *text, size_t n)
{
    void *j = jansson.parse(text, n, 0, NULL);

    if (!j)
        die("jansson cannot parse");
    return j;
}

static void jansson_trip(const char *text, size_t n)
{
    void *j = jansson_parse(text, n);
    char *printed = jansson.print(j, JANSSON_COMPACT);

    sink += strlen(printed);
    free(printed);
    jansson.delete(j); /* the only reference is ours */
}

static void jansson_copy(void *tree)
{
    jansson.delete(jansson.copy(tree));
}

/* ---- cJSON ---- */

static struct {
    void *(*parse)(const char *text, size_t n);
    char *(*print)(const void *tree);
    void *(*copy)(const void *tree, int deep);
    void (*delete)(void *tree);
} cjson;

static void *cjson_parse(const char *text, size_t n)
{
    void *j = cjson.parse(text, n);

    if (!j)
        die("cJSON cannot parse");
    return j;
}

static void cjson_trip(const char *text, size_t n)
{
    void *j = cjson_parse(text, n);
    char *printed = cjson.print(j);

    sink += strlen(printed);
    free(printed);
    cjson.delete(j);
}

static void cjson_copy(void *tree)
{
    cjson.delete(cjson.copy(tree, 1));
}

/* ---- loading ---- */

static const struct symbol {
    const char *file, *name;
    void *to;
} symbols[] = {
    { "libjson-c.so.5", "json_tokener_new", &jsonc.tokener_new },
    { "libjson-c.so.5", "json_tokener_parse_ex", &jsonc.parse },
    { "libjson-c.so.5", "json_tokener_free", &jsonc.tokener_free },
    { "libjson-c.so.5", "json_object_to_json_string_length", &jsonc.print },
    { "libjson-c.so.5", "json_object_deep_copy", &jsonc.copy },
    { "libjson-c.so.5", "json_object_put", &jsonc.put },
    { "libjansson.so.4", "json_loadb", &jansson.parse },
    { "libjansson.so.4", "json_dumps", &jansson.print },
    { "libjansson.so.4", "json_deep_copy", &jansson.copy },
    { "libjansson.so.4", "json_delete", &jansson.delete },
    { "libcjson.so.1", "cJSON_ParseWithLength", &cjson.parse },
    { "libcjson.so.1", "cJSON_PrintUnformatted", &cjson.print },
    { "libcjson.so.1", "cJSON_Duplicate", &cjson.copy },
    { "libcjson.so.1", "cJSON_Delete", &cjson.delete },
};

static bool load(const char *file)
{
    void *lib = dlopen(file, RTLD_NOW | RTLD_LOCAL);

    for (size_t i = 0; lib && i < ARRAY_LEN(symbols); i++) {
        void *at = strcmp(symbols[i].file, file) == 0 ? dlsym(lib, symbols[i].name) : NULL;

        if (at)
            memcpy(symbols[i].to, &at, sizeof(at));
        else if (strcmp(symbols[i].file, file) == 0)
            die(symbols[i].name);
    }
    return lib != NULL;
}

/* ---- measuring ---- */

static struct library {
    const char *name, *file; /* NULL: linked in */
    void *(*parse)(const char *text, size_t n);
    void (*trip)(const char *text, size_t n);
    void (*copy)(void *tree);
    void *tree;
    double *trip_us, *copy_us; /* one per round */
} libraries[] = {
    { "pumice", NULL, pumice_parse, pumice_trip, pumice_copy },
    { "json-c", "libjson-c.so.5", jsonc_parse, jsonc_trip, jsonc_copy },
    { "jansson", "libjansson.so.4", jansson_parse, jansson_trip, jansson_copy },
    { "cJSON", "libcjson.so.1", cjson_parse, cjson_trip, cjson_copy },
};

static double now_us(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
    return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec / 1e3;
}

static void run_round(struct library *lib, const char *text, size_t n, size_t round)
{
    double start = now_us(), middle;

    for (int i = 0; i < ITERATIONS; i++)
        lib->trip(text, n);
    middle = now_us();
    for (int i = 0; i < ITERATIONS; i++)
        lib->copy(lib->tree);
    lib->trip_us[round] = (middle - start) / ITERATIONS;
    lib->copy_us[round] = (now_us() - middle) / ITERATIONS;
}

static int by_value(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;

    return (a > b) - (a < b);
}

static void read_file(const char *path, struct buf *ret)
{
    autofile FILE *f = fopen(path, "re");
    char chunk[4096];
    size_t n;

    if (!f)
        die("cannot open the document");
    while ((n = fread(chunk, 1, sizeof(chunk), f)) > 0)
        buf_append(ret, chunk, n);
}

/* One table; returns ours against the fastest of the others. */
static double report(const char *title, size_t rounds, size_t offset)
{
    double ours = 0, fastest = 0;

    printf("%-12s %10s %10s %8s\n", title, "min us", "median us", "ratio");
    for (size_t i = 0; i < ARRAY_LEN(libraries); i++) {
        double *v = *(double **)((char *)&libraries[i] + offset);

        if (!libraries[i].tree) {
            printf("%-12s not installed\n", libraries[i].name);
            continue;
        }
        qsort(v, rounds, sizeof(*v), by_value);
        if (i == 0)
            ours = v[0];
        else if (fastest == 0 || v[0] < fastest)
            fastest = v[0];
        printf("%-12s %10.2f %10.2f %7.2fx\n", libraries[i].name, v[0], v[rounds / 2], v[0] / ours);
    }
    return fastest / ours;
}

int main(int argc, char **argv)
{
    size_t rounds = argc > 2 ? strtoul(argv[2], NULL, 10) : ROUNDS_DEFAULT;
    autobuf text = { 0 };
    double trip, copy;

    read_file(argc > 1 ? argv[1] : BENCH_DATA "/pod.json", &text);
    rounds = MAX_OF(MIN_OF(rounds, 100000), 1);
    for (size_t i = 0; i < ARRAY_LEN(libraries); i++) {
        if (libraries[i].file && !load(libraries[i].file))
            continue;
        libraries[i].tree = libraries[i].parse(text.p, text.n);
        libraries[i].trip_us = xcalloc(rounds, sizeof(double));
        libraries[i].copy_us = xcalloc(rounds, sizeof(double));
    }
    for (size_t round = 0; round < rounds; round++)
        for (size_t i = 0; i < ARRAY_LEN(libraries); i++)
            if (libraries[i].tree)
                run_round(&libraries[i], text.p, text.n, round);
    printf("%zu bytes, %zu rounds of %d\n", text.n, rounds, ITERATIONS);
    trip = report("parse+print", rounds, offsetof(struct library, trip_us));
    copy = report("deep copy", rounds, offsetof(struct library, copy_us));
    printf("against the fastest of the others: parse+print %.2fx, deep copy %.2fx\n", trip, copy);
    return sink == 0;
}
