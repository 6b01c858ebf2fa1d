/* protobuf.c - fuzz target: the body of a request, or (without the first four bytes) a Pod
 *
 * What can be read must print as JSON that parses, and be written again. What is written has every field that its kind
 * always has, so from then on it must be read as the same object.
 */
#include "base/util.h"
#include "proto/proto.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void must(bool ok)
{
    if (!ok)
        abort();
}

/* Written and read again; NULL: it cannot be written (a time beyond the years that have four digits, and the like). */
static struct json *again(struct arena *a, const struct json *obj)
{
    autobuf bytes = { 0 };
    struct json *back;
    struct err e;

    if (proto_encode(a, &bytes, obj, &e) < 0)
        return NULL;
    must(proto_decode(a, arena_str(a, buf_view(&bytes)), &back, &e) == 0);
    return back;
}

static void check(struct arena *a, struct str body)
{
    autobuf text = { 0 };
    struct json *obj, *back;
    struct err e;

    if (proto_decode(a, body, &obj, &e) < 0)
        return;
    json_print(&text, obj);
    must(json_parse(a, buf_view(&text), NULL, &back, &e) == 0);
    obj = again(a, back);
    if (obj) {
        back = again(a, obj);
        must(back && json_equal(obj, back));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct str body = { (const char *)data, n };
    autobuf pod = { 0 };
    autoarena a = { 0 };

    if (n > 100000)
        return 0;
    if (proto_is(body)) {
        check(&a, body);
        return 0;
    }
    buf_append(&pod, "k8s\0\x12", 5); /* its length is a varint of five bytes, which any length fits in */
    for (int i = 0; i < 5; i++)
        buf_char(&pod, (char)((n >> (7 * i) & 0x7f) | (i < 4 ? 0x80 : 0)));
    buf_str(&pod, body);
    check(&a, buf_view(&pod));
    return 0;
}
