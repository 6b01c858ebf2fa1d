/* oci_config.c - fuzz: any container that can be told can be told to a runtime: its config is JSON, and says what the
 * container says */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "json/json.h"
#include "node/oci/oci.h"
#include "os/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_config(const struct box_spec *s, const struct json *config)
{
    const struct json *process = json_get(config, "process");
    size_t i = 0;

    assert(json_find(config, "root", "path", NULL) && json_get(config, "ociVersion"));
    JSON_FOREACH(arg, json_get(process, "args")) {
        assert(arg->type == JSON_STRING && i < s->argv.n);
        if (str_is_utf8(s->argv.v[i]))
            assert(str_eq((struct str){ arg->text, arg->n }, s->argv.v[i]));
        i++;
    }
    assert(i == s->argv.n);
    assert(json_member_text(process, "cwd").n > 0 && json_member_text(process, "cwd").p[0] == '/');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct wire_msg m = { .fds = { 0, 1 } };
    static const struct oci_place place = {
        .runtime = "/bin/false", .id = "pod-a", .bundle = "/b", .group = "/pumice/pod/a"
    };
    static const struct oci_process who = { .uid = 1000, .gid = 100, .caps = 5, .pids = "/proc/1/ns/pid" };
    struct str input = { (const char *)data, size };

    for (m.n_fds = 0; m.n_fds <= 2; m.n_fds++) {
        autoarena a = { 0 };
        autobuf out = { 0 };
        struct box_spec spec;
        struct json *config;

        if (box_decode(&a, input, &m, &spec, NULL) < 0)
            continue;
        oci_config(&out, &spec, &place, &who, "/rootfs");
        assert(json_parse(&a, buf_view(&out), NULL, &config, NULL) == 0);
        check_config(&spec, config);
    }
    return 0;
}
