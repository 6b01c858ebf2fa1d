/* device.c - tests: GPUs of a made-up driver tree, configured devices, handing out and taking back */
#include "os/test/testing.h"

#include "node/device/device.h"

struct fixture {
    char root[64];
    struct arena a;
    struct devices *d;
    struct err e;
};

/* A file below the root, with the directories above it. */
static void put(struct fixture *f, const char *path, const char *text)
{
    char full[512];

    (void)snprintf(full, sizeof(full), "%s%s", f->root, path);
    put_file(full, str_of(text));
    assert_int_equal(chmod(full, 0755), 0);
}

static int setup(void **state)
{
    struct fixture *f = xcalloc(1, sizeof(*f));

    (void)snprintf(f->root, sizeof(f->root), "/tmp/pumice-device.XXXXXX");
    if (!mkdtemp(f->root))
        return -1;
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    devices_free(f->d);
    arena_done(&f->a);
    remove_tree(f->root);
    free(f);
    return 0;
}

static void open_devices(struct fixture *f, bool ignores_gpus)
{
    f->d = devices_new(&(struct device_options){ .root = f->root, .ignores_gpus = ignores_gpus });
}

static void put_gpu(struct fixture *f, const char *pci, int minor, const char *uuid)
{
    char path[128], text[256];

    (void)snprintf(path, sizeof(path), "/proc/driver/nvidia/gpus/%s/information", pci);
    (void)snprintf(
        text, sizeof(text),
        "Model: \t\t NVIDIA H200\nIRQ:   \t\t 41\nGPU UUID: \t %s\nDMA Size: \t 52 bits\nDevice Minor: \t %d\n", uuid,
        minor);
    put(f, path, text);
    (void)snprintf(path, sizeof(path), "/dev/nvidia%d", minor);
    put(f, path, "");
}

/* Four GPUs, their order on the bus not that of their numbers, and the driver's files. */
static void put_machine(struct fixture *f)
{
    put_gpu(f, "0000:41:00.0", 2, "GPU-22222222-0000");
    put_gpu(f, "0000:01:00.0", 3, "GPU-33333333-0000");
    put_gpu(f, "0000:81:00.0", 0, "GPU-00000000-0000");
    put_gpu(f, "0000:c1:00.0", 1, "GPU-11111111-0000");
    put(f, "/dev/nvidiactl", "");
    put(f, "/dev/nvidia-uvm", "");
    put(f, "/usr/lib/x86_64-linux-gnu/libcuda.so.1", "");
    put(f, "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1", "");
    put(f, "/usr/lib/x86_64-linux-gnu/libcudart.so.12", "");
    put(f, "/usr/bin/nvidia-smi", "");
}

static struct json *parse(struct fixture *f, const char *text)
{
    struct json *j = NULL;

    assert_int_equal(json_parse(&f->a, str_of(text), NULL, &j, NULL), 0);
    return j;
}

/* Everything of a grant in one line; or the error. */
static const char *take(struct fixture *f, const char *owner, const char *limits)
{
    struct device_grant g;
    struct buf out = { 0 };
    const char *text;

    if (devices_take(f->d, &f->a, &(struct device_claim){ str_of(owner), parse(f, limits) }, &g, &f->e) < 0)
        return arena_fmt(&f->a, "%s: %s", err_code_name(f->e.code), f->e.text).p;
    VEC_FOREACH(node, &g.nodes)
        buf_fmt(&out, "%.*s ", STR_ARG(*node));
    VEC_FOREACH(env, &g.env)
        buf_fmt(&out, "%.*s ", STR_ARG(*env));
    text = arena_str(&f->a, str_trim(buf_view(&out))).p;
    buf_done(&out);
    return text;
}

#define GPU(n) "/dev/nvidia" #n
#define COMMON "/dev/nvidiactl /dev/nvidia-uvm"

/* What is more than programs that compute need. */
static void test_asked_nodes(void **state)
{
    static const struct {
        const char *limits, *asked, *want;
    } rows[] = {
        { "{\"nvidia.com/gpu\": 1}", "", "" },
        { "{\"nvidia.com/gpu\": 1}", "compute,utility,video", "" },
        { "{\"nvidia.com/gpu\": 1}", "allow,graphicsx", "" },
        { "{\"nvidia.com/gpu\": 1}", "compute, graphics", "/dev/nvidia-modeset " },
        { "{\"nvidia.com/gpu\": 1}", "display", "/dev/nvidia-modeset " },
        { "{\"nvidia.com/gpu\": 1}", "all", "/dev/nvidia-modeset /dev/nvidia-uvm-tools " },
        { "{\"nvidia.com/gpu\": 0}", "all", "" },
        { "{}", "all", "" },
    };
    struct fixture *f = *state;

    put_machine(f);
    put(f, "/dev/nvidia-modeset", "");
    put(f, "/dev/nvidia-uvm-tools", "");
    open_devices(f, false);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct device_grant g;
        autobuf got = { 0 };
        size_t known;

        assert_int_equal(
            devices_take(f->d, &f->a, &(struct device_claim){ STR("p/a/"), parse(f, rows[i].limits) }, &g, &f->e), 0);
        known = g.nodes.n;
        devices_ask(f->d, &f->a, str_of(rows[i].asked), &g);
        for (size_t n = known; n < g.nodes.n; n++)
            buf_fmt(&got, "%.*s ", STR_ARG(g.nodes.v[n]));
        if (!str_is(buf_view(&got), rows[i].want))
            fail_msg("%s, \"%s\": \"%s\"", rows[i].limits, rows[i].asked, got.p);
        VEC_FOREACH(node, &g.nodes)
            assert_true(!str_has(*node, STR("tools")) || strcmp(rows[i].asked, "all") == 0);
        devices_give(f->d, STR("p/"));
    }
}

static void test_gpus_in_order(void **state)
{
    struct fixture *f = *state;

    put_machine(f);
    open_devices(f, false);
    assert_string_equal(take(f, "p1/main", "{\"nvidia.com/gpu\": 2, \"cpu\": \"500m\"}"),
                        GPU(0) " " GPU(1) " " COMMON " NVIDIA_VISIBLE_DEVICES=GPU-00000000-0000,GPU-11111111-0000 "
                                          "CUDA_VISIBLE_DEVICES=0,1");
    /* Another pod's first GPU is number 2 outside and 0 inside. */
    assert_string_equal(take(f, "p2/main", "{\"nvidia.com/gpu\": \"1\"}"),
                        GPU(2) " " COMMON " NVIDIA_VISIBLE_DEVICES=GPU-22222222-0000 CUDA_VISIBLE_DEVICES=0");
    /* The same owner has the same again. */
    assert_string_equal(take(f, "p2/main", "{\"nvidia.com/gpu\": \"1\"}"),
                        GPU(2) " " COMMON " NVIDIA_VISIBLE_DEVICES=GPU-22222222-0000 CUDA_VISIBLE_DEVICES=0");
}

static void test_all_or_nothing(void **state)
{
    struct fixture *f = *state;

    put_machine(f);
    put(f, "/dev/fpga0", "");
    open_devices(f, false);
    assert_int_equal(devices_add(f->d, STR("example.com/fpga=/dev/fpga0"), &f->e), 0);
    assert_string_equal(take(f, "p1/a", "{\"nvidia.com/gpu\": 2, \"example.com/fpga\": 2}"),
                        "RequestEntityTooLarge: example.com/fpga: requested 2, 1 of 1 free");
    assert_non_null(strstr(take(f, "p1/b", "{\"nvidia.com/gpu\": 4}"), "CUDA_VISIBLE_DEVICES=0,1,2,3"));
    assert_string_equal(take(f, "p1/a", "{\"nvidia.com/gpu\": 1}"),
                        "RequestEntityTooLarge: nvidia.com/gpu: requested 1, 0 of 4 free");
    /* An owner's prefix is not another owner: "p1" is not "p10". */
    devices_give(f->d, STR("p/"));
    assert_string_equal(take(f, "p1/a", "{\"nvidia.com/gpu\": 1}"),
                        "RequestEntityTooLarge: nvidia.com/gpu: requested 1, 0 of 4 free");
    devices_give(f->d, STR("p1/"));
    assert_non_null(strstr(take(f, "p1/a", "{\"nvidia.com/gpu\": 1}"), GPU(0)));
}

static void test_fewer_than_before(void **state)
{
    struct fixture *f = *state;

    put_machine(f);
    open_devices(f, false);
    assert_non_null(strstr(take(f, "p/a", "{\"nvidia.com/gpu\": 4}"), GPU(3)));
    assert_null(strstr(take(f, "p/a", "{\"nvidia.com/gpu\": 1}"), GPU(1)));
    assert_non_null(strstr(take(f, "q/a", "{\"nvidia.com/gpu\": 3}"), GPU(3)));
}

static void test_none_asked_for(void **state)
{
    struct fixture *f = *state;

    put_machine(f);
    open_devices(f, false);
    assert_string_equal(take(f, "p/a", "{\"cpu\": 1}"), "NVIDIA_VISIBLE_DEVICES=void");
    assert_string_equal(take(f, "p/a", "{\"nvidia.com/gpu\": 0}"), "NVIDIA_VISIBLE_DEVICES=void");
    assert_int_equal(
        devices_take(f->d, &f->a, &(struct device_claim){ STR("p/b"), NULL }, &(struct device_grant){ 0 }, &f->e), 0);
}

static void test_no_gpus(void **state)
{
    struct fixture *f = *state;
    struct json *into = json_object(&f->a);

    open_devices(f, false);
    assert_string_equal(take(f, "p/a", "{\"cpu\": 1}"), "");
    devices_count(f->d, &f->a, into);
    assert_int_equal(json_count(into), 0);
}

/* What `pumice doctor` says of GPUs that are there and cannot be used. */
static void test_trouble(void **state)
{
    static const struct {
        const char *put[6];
        const char *what; /* a part of it; NULL: nothing is wrong */
    } cases[] = {
        { { "/dev/null" }, NULL },
        { { "/dev/nvidia0", "/dev/nvidiactl", "/dev/nvidia-uvm", "/usr/lib64/libcuda.so.1" }, NULL },
        { { "/dev/nvidia0", "/dev/nvidiactl", "/usr/lib64/libcuda.so.1" }, "/dev/nvidia-uvm" },
        { { "/dev/nvidia0", "/dev/nvidiactl", "/dev/nvidia-uvm" }, "libcuda.so.1" },
        { { "card" }, "its driver is not loaded" },
        { { "card", "/proc/driver/nvidia/version" }, "/dev/nvidia0 does not exist" },
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct str what = STR(""), fix = STR("");
        bool is_bad;

        remove_tree(f->root);
        (void)mkdir(f->root, 0700);
        for (size_t k = 0; k < ARRAY_LEN(cases[i].put) && cases[i].put[k]; k++) {
            if (strcmp(cases[i].put[k], "card") != 0) {
                put(f, cases[i].put[k], "");
                continue;
            }
            put(f, "/sys/bus/pci/devices/0000:41:00.0/vendor", "0x10de\n");
            put(f, "/sys/bus/pci/devices/0000:41:00.0/class", "0x030200\n");
        }
        devices_free(f->d);
        open_devices(f, false);
        is_bad = devices_trouble(f->d, &what, &fix);
        if (is_bad != (cases[i].what != NULL) || (is_bad && (!str_has(what, str_of(cases[i].what)) || !fix.n)))
            fail_msg("case %zu: %d, %.*s, %.*s", i, is_bad, STR_ARG(what), STR_ARG(fix));
    }
}

static void test_ignored(void **state)
{
    struct fixture *f = *state;
    struct json *into = json_object(&f->a);

    put_machine(f);
    open_devices(f, true);
    devices_count(f->d, &f->a, into);
    assert_int_equal(json_count(into), 0);
}

static void test_bad_limits(void **state)
{
    static const struct {
        const char *limits, *want;
    } cases[] = {
        { "{\"nvidia.com/gpu\": \"1500m\"}", "Invalid: nvidia.com/gpu: must be a whole number of devices, not 1500m" },
        { "{\"nvidia.com/gpu\": -1}", "Invalid: nvidia.com/gpu: must be a whole number of devices, not -1" },
        { "{\"nvidia.com/gpu\": [1]}", "Invalid: nvidia.com/gpu: must be a number, not a list" },
        { "{\"nvidia.com/gpu\": 5}", "RequestEntityTooLarge: nvidia.com/gpu: requested 5, 4 of 4 free" },
        { "{\"nvidia.com/gpu\": \"9223372036854775807\"}",
          "RequestEntityTooLarge: nvidia.com/gpu: requested 9223372036854775807, 4 of 4 free" },
    };
    struct fixture *f = *state;

    put_machine(f);
    open_devices(f, false);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_string_equal(take(f, "p/a", cases[i].limits), cases[i].want);
    assert_string_not_equal(take(f, "p/a", "{\"nvidia.com/gpu\": \"lots\"}"), "");
    assert_int_equal(f->e.code, ERR_INVALID);
}

static void test_libraries(void **state)
{
    struct fixture *f = *state;
    struct device_grant g;

    put_machine(f);
    open_devices(f, false);
    assert_int_equal(
        devices_take(f->d, &f->a, &(struct device_claim){ STR("p/a"), parse(f, "{\"nvidia.com/gpu\": 1}") }, &g, &f->e),
        0);
    assert_int_equal(g.libraries.n, 3); /* the toolkit's libcudart belongs to the image */
    assert_true(str_is(g.libraries.v[0], "/usr/lib/x86_64-linux-gnu/libcuda.so.1"));
    assert_true(str_is(g.libraries.v[1], "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1"));
    assert_true(str_is(g.libraries.v[2], "/usr/bin/nvidia-smi"));
    assert_true(str_is(g.library_path, "/usr/lib/x86_64-linux-gnu"));
}

/* /proc lists a GPU of the host that this container may not use. */
static void test_node_missing(void **state)
{
    struct fixture *f = *state;
    struct json *into = json_object(&f->a);
    struct buf said = { 0 };
    char node[128];

    put_machine(f);
    (void)snprintf(node, sizeof(node), "%s/dev/nvidia1", f->root);
    assert_int_equal(unlink(node), 0);
    open_devices(f, false);
    devices_count(f->d, &f->a, into);
    assert_true(str_is(json_member_text(into, "nvidia.com/gpu"), "3"));
    devices_say(f->d, &said);
    assert_string_equal(said.p, "nvidia.com/gpu 0: NVIDIA H200, GPU-00000000-0000, /dev/nvidia0\n"
                                "nvidia.com/gpu 1: NVIDIA H200, GPU-22222222-0000, /dev/nvidia2\n"
                                "nvidia.com/gpu 2: NVIDIA H200, GPU-33333333-0000, /dev/nvidia3\n");
    buf_done(&said);
}

static void test_nodes_alone(void **state)
{
    struct fixture *f = *state;

    put(f, "/dev/nvidia0", "");
    put(f, "/dev/nvidia10", "");
    put(f, "/dev/nvidiactl", "");
    put(f, "/dev/nvidia-uvm", "");
    put(f, "/dev/nvidia1x", "");
    open_devices(f, false);
    assert_string_equal(take(f, "p/a", "{\"nvidia.com/gpu\": 2}"),
                        GPU(0) " " GPU(10) " " COMMON " NVIDIA_VISIBLE_DEVICES=0,10 CUDA_VISIBLE_DEVICES=0,1");
}

/* The driver's text goes into variables and messages: nonsense must not. */
static void test_odd_information(void **state)
{
    struct fixture *f = *state;

    put_gpu(f, "a", 0, "GPU-1;x=$(y)");
    put_gpu(f, "b", 1, "../../x y");
    put(f, "/proc/driver/nvidia/gpus/c/information", "Device Minor: 99999999999999999999\n");
    put(f, "/proc/driver/nvidia/gpus/d/information", "");
    open_devices(f, false);
    assert_string_equal(take(f, "p/a", "{\"nvidia.com/gpu\": 2}"),
                        GPU(0) " " GPU(1) " NVIDIA_VISIBLE_DEVICES=0,1 CUDA_VISIBLE_DEVICES=0,1");
}

static void test_configured(void **state)
{
    static const struct {
        const char *text;
        enum err_code code; /* ERR_OK: fine */
    } cases[] = {
        { "example.com/fpga=/dev/fpga0,/dev/fpga1", ERR_OK },
        { "amd.com/gpu=/dev/dri/renderD128+/dev/kfd,/dev/dri/renderD129+/dev/kfd", ERR_OK },
        { "example.com/fpga=/dev/fpga0", ERR_EXISTS },
        { "example.com/no=/dev/nope", ERR_NOT_FOUND },
        { "fpga=/dev/fpga0", ERR_INVALID },
        { "cpu=/dev/fpga0", ERR_INVALID },
        { "kubernetes.io/x=/dev/fpga0", ERR_INVALID },
        { "beta.kubernetes.io/x=/dev/fpga0", ERR_INVALID },
        { "a b/c=/dev/fpga0", ERR_INVALID },
        { "example.com/x=", ERR_INVALID },
        { "example.com/x", ERR_INVALID },
        { "=/dev/fpga0", ERR_INVALID },
        { "", ERR_INVALID },
        { "example.com/x=fpga0", ERR_INVALID },
        { "example.com/x=/dev/../etc/passwd", ERR_INVALID },
        { "example.com/x=/dev/", ERR_INVALID },
        { "example.com/x=/dev/fpga0,", ERR_INVALID },
        { "example.com/x=/dev/fpga0++/dev/kfd", ERR_INVALID },
        { "example.com/x=/dev/dri", ERR_NOT_FOUND },
    };
    struct fixture *f = *state;

    put(f, "/dev/fpga0", "");
    put(f, "/dev/fpga1", "");
    put(f, "/dev/kfd", "");
    put(f, "/dev/dri/renderD128", "");
    put(f, "/dev/dri/renderD129", "");
    open_devices(f, false);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int rc = devices_add(f->d, str_of(cases[i].text), &f->e);

        if (rc != (cases[i].code ? -1 : 0) || (rc < 0 && f->e.code != cases[i].code))
            fail_msg("%s: %d, %s", cases[i].text, rc, rc < 0 ? f->e.text : "fine");
    }
    assert_string_equal(take(f, "p/a", "{\"amd.com/gpu\": 2}"), "/dev/dri/renderD128 /dev/kfd /dev/dri/renderD129");
    assert_string_equal(take(f, "p/b", "{\"example.com/fpga\": 1}"), "/dev/fpga0");
    assert_string_equal(take(f, "q/b", "{\"example.com/fpga\": 1}"), "/dev/fpga1");
}

/* Any order of taking and giving: no unit has two owners, none is lost. */
static void test_never_twice(void **state)
{
    struct fixture *f = *state;
    uint32_t seed = 7;
    int held[8] = { 0 };

    put_machine(f);
    open_devices(f, false);
    for (int step = 0; step < 2000; step++) {
        char owner[16], limits[64];
        unsigned who, n;
        int others = 0;
        const char *got;

        seed = seed * 1664525 + 1013904223;
        who = seed >> 29;
        n = (seed >> 20) % 5;
        (void)snprintf(owner, sizeof(owner), "%u/c", who);
        (void)snprintf(limits, sizeof(limits), "{\"nvidia.com/gpu\": %u}", n);
        for (int i = 0; i < 8; i++)
            others += i == (int)who ? 0 : held[i];
        if (seed & 0x10000) {
            (void)snprintf(owner, sizeof(owner), "%u/", who);
            devices_give(f->d, str_of(owner));
            held[who] = 0;
            continue;
        }
        got = take(f, owner, limits);
        assert_int_equal(strncmp(got, "RequestEntityTooLarge", 21) == 0, others + (int)n > 4);
        if (others + (int)n <= 4)
            held[who] = (int)n;
        arena_reset(&f->a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_gpus_in_order, setup, teardown),
        cmocka_unit_test_setup_teardown(test_asked_nodes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_all_or_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(test_fewer_than_before, setup, teardown),
        cmocka_unit_test_setup_teardown(test_none_asked_for, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_gpus, setup, teardown),
        cmocka_unit_test_setup_teardown(test_trouble, setup, teardown),
        cmocka_unit_test_setup_teardown(test_ignored, setup, teardown),
        cmocka_unit_test_setup_teardown(test_bad_limits, setup, teardown),
        cmocka_unit_test_setup_teardown(test_libraries, setup, teardown),
        cmocka_unit_test_setup_teardown(test_node_missing, setup, teardown),
        cmocka_unit_test_setup_teardown(test_nodes_alone, setup, teardown),
        cmocka_unit_test_setup_teardown(test_odd_information, setup, teardown),
        cmocka_unit_test_setup_teardown(test_configured, setup, teardown),
        cmocka_unit_test_setup_teardown(test_never_twice, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
