/* proto.c - tests of objects as protobuf: worked cases, hostile bodies, and there and back for random objects */
#include "proto/proto.h"

#include "api/message/message.h"
#include "base/rand.h"
#include "base/util.h"
#include "json/patch.h"
#include "proto/wire.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

static const char *text_of(struct arena *a, const struct json *j)
{
    autobuf out = { 0 };

    json_print(&out, j);
    for (size_t i = 0; i < out.n; i++)
        if (out.p[i] == '"')
            out.p[i] = '\'';
    return arena_cstr(a, buf_view(&out));
}

/* An envelope of that kind around 'raw'. */
static struct str envelope(struct arena *a, const char *api_version, const char *kind, struct str raw)
{
    autobuf out = { 0 };
    size_t begun;

    buf_append(&out, "k8s\0", 4);
    begun = wire_begin(&out, 1);
    wire_put_bytes(&out, 1, str_of(api_version));
    wire_put_bytes(&out, 2, str_of(kind));
    wire_end(&out, begun);
    wire_put_bytes(&out, 2, raw);
    return arena_str(a, buf_view(&out));
}

/* ---- reading ---- */

#define BYTES(literal)                                                                                                 \
    {                                                                                                                  \
        ("" literal), sizeof(literal) - 1                                                                              \
    }

static const struct {
    const char *kind;
    struct str raw;
    const char *want; /* NULL: an error */
    const char *error;
} bodies[] = {
    /* what kubectl sends: every field that is no pointer is there */
    { "Namespace",
      BYTES("\x0a\x11\x0a\x01x\x12\x00\x1a\x00\x22\x00\x2a\x00\x32\x00\x38\x00\x42\x00\x12\x00\x1a\x02\x0a\x00"),
      "{'apiVersion':'v1','kind':'Namespace','metadata':{'name':'x'}}", NULL },
    { "Namespace", BYTES(""), "{'apiVersion':'v1','kind':'Namespace'}", NULL },
    /* twice: the last text, messages merged, lists go on */
    { "Namespace", BYTES("\x0a\x03\x0a\x01x\x0a\x06\x0a\x01y\x1a\x01n"),
      "{'apiVersion':'v1','kind':'Namespace','metadata':{'name':'y','namespace':'n'}}", NULL },
    { "Namespace", BYTES("\x0a\x03\x72\x01p\x0a\x03\x72\x01q"),
      "{'apiVersion':'v1','kind':'Namespace','metadata':{'finalizers':['p','q']}}", NULL },
    { "ConfigMap", BYTES("\x12\x06\x0a\x01k\x12\x01v\x12\x06\x0a\x01l\x12\x01w\x12\x06\x0a\x01k\x12\x01z\x12\x00"),
      "{'apiVersion':'v1','kind':'ConfigMap','data':{'l':'w','k':'z','':''}}", NULL },
    /* fields nobody knows: all wire types, and a group in a group */
    { "ConfigMap",
      BYTES("\xa0\x06\x01\xa1\x06\x31\x32\x33\x34\x35\x36\x37\x38\xa5\x06\x31\x32\x33\x34\xa2\x06\x01x"
            "\xa3\x06\x0b\x0c\xa4\x06\x20\x01"),
      "{'apiVersion':'v1','kind':'ConfigMap','immutable':true}", NULL },
    /* pointers keep their zero */
    { "ConfigMap", BYTES("\x20\x00"), "{'apiVersion':'v1','kind':'ConfigMap','immutable':false}", NULL },
    { "Secret", BYTES("\x12\x07\x0a\x01k\x12\x02hi\x1a\x00"), "{'apiVersion':'v1','kind':'Secret','data':{'k':'aGk='}}",
      NULL },
    /* numbers in one piece */
    { "Pod", BYTES("\x12\x08\x72\x06\x22\x02\x01\x02\x20\x03"),
      "{'apiVersion':'v1','kind':'Pod','spec':{'securityContext':{'supplementalGroups':[1,2,3]}}}", NULL },
    /* volumes: a message on the wire, members among others in JSON */
    { "Pod", BYTES("\x12\x0a\x0a\x08\x0a\x01v\x12\x03\x12\x01\x0a"), NULL,
      "Pod.spec: PodSpec.volumes: Volume.VolumeSource" },
    { "Pod", BYTES("\x12\x09\x0a\x07\x0a\x01v\x12\x02\x12\x00"),
      "{'apiVersion':'v1','kind':'Pod','spec':{'volumes':[{'name':'v','emptyDir':{}}]}}", NULL },
    /* broken */
    { "Pod", BYTES("\x0a"), NULL, "invalid or truncated" },
    { "Pod", BYTES("\x0a\x05\x0a"), NULL, "invalid or truncated" },
    { "Pod", BYTES("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), NULL, "invalid or truncated" },
    { "Pod", BYTES("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f"), NULL, "invalid or truncated" },
    { "Pod", BYTES("\x00\x00"), NULL, "invalid or truncated" },
    { "Pod", BYTES("\x0f"), NULL, "invalid or truncated" },
    { "Pod", BYTES("\x0c"), NULL, "invalid or truncated" },
    { "Pod", BYTES("\xa3\x06\xac\x06"), NULL, "invalid or truncated" }, /* a group that another number ends */
    { "Pod", BYTES("\x08\x01"), NULL, "Pod.metadata: wrong wire type 0" },
    { "Pod", BYTES("\x0a\x02\x08\x01"), NULL, "Pod.metadata: ObjectMeta.name: wrong wire type 0" },
    { "Pod", BYTES("\x0a\x03\x0a\x01\xff"), NULL, "ObjectMeta.name: the string is not UTF-8" },
    { "ConfigMap", BYTES("\x12\x06\x0a\x01\xff\x12\x01v"), NULL, "the key is not UTF-8" },
    { "Nothing", BYTES(""), NULL, "kind \"Nothing\" of \"v1\" has no protobuf form" },
};

static void reads(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
        autoarena a = { 0 };
        struct json *obj = NULL;
        struct err e = { 0 };
        int got = proto_decode(&a, envelope(&a, "v1", bodies[i].kind, bodies[i].raw), &obj, &e);

        if (bodies[i].want && (got < 0 || strcmp(text_of(&a, obj), bodies[i].want) != 0))
            fail_msg("case %zu: %s", i, got < 0 ? e.text : text_of(&a, obj));
        if (!bodies[i].want && (got == 0 || !strstr(e.text, bodies[i].error)))
            fail_msg("case %zu: %s", i, got < 0 ? e.text : text_of(&a, obj));
    }
}

static void reads_envelopes(void **state)
{
    autoarena a = { 0 };
    struct json *obj;
    struct err e;

    assert_int_equal(proto_decode(&a, STR("k8s\0\x12\x00"), &obj, &e), -1); /* without a kind */
    assert_int_equal(e.code, ERR_NOT_FOUND);
    assert_int_equal(proto_decode(&a, STR("k8s\0\x1a\x04gzip"), &obj, &e), -1);
    assert_int_equal(proto_decode(&a,
                                  STR("k8s\0\x22\x10"
                                      "application/json"),
                                  &obj, &e),
                     -1);
    assert_int_equal(proto_decode(&a, STR("k8s"), &obj, &e), -1);
    assert_int_equal(proto_decode(&a, STR("{}"), &obj, &e), -1);
    /* options are sent under the group of what they are for */
    assert_int_equal(proto_decode(&a, envelope(&a, "policy/v1", "DeleteOptions", STR("\x08\x00")), &obj, &e), 0);
    assert_string_equal(text_of(&a, obj), "{'apiVersion':'policy/v1','kind':'DeleteOptions','gracePeriodSeconds':0}");
}

static void stops_at_too_many(void **state)
{
    autoarena a = { 0 };
    autobuf raw = { 0 };
    struct json *obj;
    struct err e;

    for (int i = 0; i < 1000001; i++)
        buf_append(&raw, "\x72\x00", 2); /* a finalizer without letters */
    {
        autobuf pod = { 0 };

        wire_put_bytes(&pod, 1, buf_view(&raw));
        assert_int_equal(proto_decode(&a, envelope(&a, "v1", "Pod", buf_view(&pod)), &obj, &e), -1);
    }
    assert_int_equal(e.code, ERR_TOO_BIG);
}

/* ---- writing ---- */

static void refuses_to_write(void **state)
{
    static const struct {
        const char *obj, *error;
    } rows[] = {
        { "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":1}}",
          "metadata: name: expected text, got number" },
        { "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"spec\":{\"priority\":1.5}}",
          "spec: priority: expected a whole number" },
        { "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"spec\":{\"priority\":3000000000}}", "a whole number that fits" },
        { "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"spec\":{\"containers\":[{\"tty\":1}]}}",
          "spec: containers: [0]: tty: expected true or false" },
        { "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"data\":{\"a\":\"?\"}}", "data: [a]: must be base64" },
        { "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"data\":[]}", "data: expected an object" },
        { "{\"apiVersion\":\"batch.volcano.sh/v1alpha1\",\"kind\":\"Job\"}", "has no protobuf form" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        autoarena a = { 0 };
        autobuf out = { 0 };
        struct json *obj;
        struct err e;

        assert_int_equal(json_parse(&a, str_of(rows[i].obj), NULL, &obj, &e), 0);
        assert_int_equal(proto_encode(&a, &out, obj, &e), -1);
        assert_int_equal(out.n, 0);
        if (!strstr(e.text, rows[i].error))
            fail_msg("%s: %s", rows[i].obj, e.text);
    }
}

static void frames_events(void **state)
{
    autoarena a = { 0 };
    autobuf out = { 0 };
    struct json *obj;
    struct str rest, event;
    struct wire_field f;
    struct err e;

    assert_int_equal(
        json_parse(&a, STR("{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"data\":{\"a\":\"b\"}}"), NULL, &obj, &e),
        0);
    assert_int_equal(proto_encode_event(&a, &out, STR("ADDED"), obj, &e), 0);
    assert_int_equal((unsigned char)out.p[3], out.n - 4); /* it is short */
    event = str_from(buf_view(&out), 4);
    assert_int_equal(wire_next(&event, &f, &e), 1);
    assert_true(f.number == 1 && str_is(f.bytes, "ADDED"));
    assert_int_equal(wire_next(&event, &f, &e), 1);
    rest = f.bytes;
    assert_int_equal(wire_next(&rest, &f, &e), 1);
    assert_int_equal(proto_decode(&a, f.bytes, &obj, &e), 0);
    assert_string_equal(text_of(&a, obj), "{'apiVersion':'v1','kind':'ConfigMap','data':{'a':'b'}}");
}

/* ---- there and back ---- */

static struct json *some_message(struct arena *a, struct rand *r, const struct message *m, struct json *into);

/* Never what the kind's JSON leaves out. */
static struct json *some_value(struct arena *a, struct rand *r, const struct message_field *f)
{
    switch ((enum message_type)f->type) {
    case MESSAGE_BOOL:
        return json_bool_new(a, true);
    case MESSAGE_INT32:
        return json_int(a, rand_below(r, 2) ? -1 : 1 + (int64_t)rand_below(r, INT32_MAX));
    case MESSAGE_INT64:
        return json_int(a, rand_below(r, 2) ? INT64_MIN : 1 + (int64_t)rand_below(r, 1000));
    case MESSAGE_BYTES:
        return json_str(a, STR("AAEC/w=="));
    case MESSAGE_TIME:
        return json_fmt(a, "%d-02-28T23:59:%02dZ", 1969 + (int)rand_below(r, 100), (int)rand_below(r, 60));
    case MESSAGE_MICRO_TIME:
        return json_fmt(a, "%d-02-28T23:59:59.%06dZ", 1969 + (int)rand_below(r, 100), (int)rand_below(r, 1000000));
    case MESSAGE_DURATION:
        return json_str(a, STR("1h0m5s"));
    case MESSAGE_QUANTITY:
        return json_str(a, STR("100m"));
    case MESSAGE_INT_OR_STR:
        return rand_below(r, 2) ? json_int(a, 80) : json_str(a, STR("http"));
    case MESSAGE_RAW:
    case MESSAGE_FIELDS: {
        struct json *j = json_object(a);

        json_set(j, "f:a", json_object(a));
        return j;
    }
    case MESSAGE_TEXTS: {
        struct json *j = json_array(a);

        json_push(j, json_str(a, STR("x")));
        return j;
    }
    case MESSAGE_DOUBLE:
        return json_int(a, -2);
    case MESSAGE_EITHER: /* the message of the two */
        return some_value(a, r, &f->sub->fields[f->sub->fields[0].type != MESSAGE_MESSAGE]);
    case MESSAGE_MESSAGE:
        return some_message(a, r, f->sub, json_object(a));
    default:
        return json_fmt(a, "%c\xc3\xbc%d", (char)('a' + rand_below(r, 26)), (int)rand_below(r, 100));
    }
}

static void add_some(struct arena *a, struct rand *r, const struct message_field *f, struct json *into)
{
    struct json *v;

    if (f->shape == SHAPE_ONE) {
        v = some_value(a, r, f);
        if (f->type == MESSAGE_MESSAGE && !v->n && !(f->flags & MESSAGE_POINTER))
            return;
    } else if (f->shape == SHAPE_LIST) {
        v = json_array(a);
        for (uint64_t i = 0; i <= rand_below(r, 3); i++)
            json_push(v, some_value(a, r, f));
    } else {
        v = json_object(a);
        for (char c = 'z'; c > 'x'; c--)
            json_add(v, arena_fmt(a, "%c", c), some_value(a, r, f));
    }
    json_add(into, str_of(f->name), v);
}

static struct json *some_message(struct arena *a, struct rand *r, const struct message *m, struct json *into)
{
    static int depth; /* schemas hold schemas */
    int max = depth++ > 5;

    for (const struct message_field *f = m->fields; f < m->fields + m->n_fields; f++) {
        if (max && (f->type == MESSAGE_MESSAGE || f->type == MESSAGE_EITHER))
            continue;
        if (!f->name)
            some_message(a, r, f->sub, into);
        else if (rand_below(r, 3) == 0 ||
                 (f->flags & MESSAGE_ALWAYS && (f->type < MESSAGE_TIME || f->type == MESSAGE_QUANTITY)))
            add_some(a, r, f, into);
    }
    depth--;
    return into;
}

static void comes_back(void **state)
{
    struct rand r;

    rand_seed(&r, 3);
    for (size_t i = 0; i < n_message_kinds * 30; i++) {
        const struct message_kind *k = &message_kinds[i % n_message_kinds];
        autoarena a = { 0 };
        autobuf out = { 0 };
        struct json *obj = json_object(&a), *back;
        struct err e;

        json_set(obj, "apiVersion", json_str(&a, str_of(k->api_version)));
        json_set(obj, "kind", json_str(&a, str_of(k->kind)));
        some_message(&a, &r, k->message, obj);
        if (proto_encode(&a, &out, obj, &e) < 0 || proto_decode(&a, arena_str(&a, buf_view(&out)), &back, &e) < 0)
            fail_msg("%s: %s", text_of(&a, obj), e.text);
        if (!json_equal(obj, back))
            fail_msg("%s %s", k->kind, text_of(&a, json_diff(&a, obj, back)));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads),
        cmocka_unit_test(reads_envelopes),
        cmocka_unit_test(stops_at_too_many),
        cmocka_unit_test(refuses_to_write),
        cmocka_unit_test(frames_events),
        cmocka_unit_test(comes_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
