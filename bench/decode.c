/* decode.c - what reading a Pod costs: JSON through the controller's mask against protobuf
 *
 * usage: decode json|proto|least [ROUNDS [POD.JSON]]; count with perf stat -e instructions:u
 *
 * json: the text, of which only the fields that the job controller keeps become nodes. proto: the whole message becomes
 * nodes, as proto_decode() does it. least: a message that has nothing but those fields, which is less than any masked
 * decoder of protobuf could do, for it had to step over the rest.
 */
#include "base/util.h"
#include "json/mask.h"
#include "kube/cluster.h"
#include "proto/proto.h"

#ifndef BENCH_DATA
#define BENCH_DATA "bench/data"
#endif

enum { ROUNDS_DEFAULT = 100000 };

static void die(const char *what)
{
    (void)fprintf(stderr, "decode: %s\n", what);
    exit(1);
}

static struct str read_all(struct arena *a, const char *path)
{
    FILE *f = fopen(path, "r");
    autobuf text = { 0 };
    char piece[4096];

    if (!f)
        die(path);
    for (size_t n; (n = fread(piece, 1, sizeof(piece), f)) > 0;)
        buf_append(&text, piece, n);
    (void)fclose(f);
    return arena_str(a, buf_view(&text));
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "json";
    long rounds = argc > 2 ? strtol(argv[2], NULL, 10) : ROUNDS_DEFAULT;
    autoarena keep = { 0 }, a = { 0 };
    struct str text = read_all(&keep, argc > 3 ? argv[3] : BENCH_DATA "/pod.json");
    struct json_mask *mask = json_mask_make(&keep, kube_pod_fields);
    struct json *whole, *least, *got = NULL;
    autobuf message = { 0 };
    bool is_json = strcmp(what, "json") == 0;
    struct err e = { 0 };

    if (json_parse(&keep, text, NULL, &whole, &e) < 0 || json_parse_masked(&keep, text, mask, &least, &e) < 0 ||
        proto_encode(&keep, &message, strcmp(what, "least") == 0 ? least : whole, &e) < 0)
        die(e.text);
    for (long i = 0; i < rounds; i++) {
        arena_reset(&a);
        if ((is_json ? json_parse_masked(&a, text, mask, &got, &e) : proto_decode(&a, buf_view(&message), &got, &e)) <
            0)
            die(e.text);
    }
    printf("%s: %zu bytes, %ld times\n", what, is_json ? text.n : message.n, rounds);
    return 0;
}
