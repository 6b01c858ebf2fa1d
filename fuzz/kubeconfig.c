/* kubeconfig.c - fuzz: any files are a configuration or an error that says where, and nothing in them gets out of its
 * line
 *
 * The input is one file, or several with a line "#next" between them, as KUBECONFIG lists them. The whole is also read
 * as what a credential plugin printed.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "base/util.h"
#include "kube/config.h"
#include "kube/exec_plugin.h"

#include <sys/mman.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FILES = 3 };

static void check_config(const struct kube_config *c)
{
    assert(str_starts(c->server, STR("http")) && c->namespace.n && c->origin.n);
    assert(!c->tls.cert_pem.n || str_has(c->tls.cert_pem, STR("-----BEGIN ")));
    assert((c->token.n > 0) + (c->token_file.n > 0) + (c->exec != NULL) <= 1);
    assert(!str_has_char(c->token, '\n'));
    for (const char *const *line = c->headers; line && *line; line++)
        assert(!strpbrk(*line, "\r\n") && strstr(*line, ": "));
    if (c->exec) {
        autobuf info = { 0 };
        autoarena a = { 0 };
        struct json *j;

        exec_plugin_info(&info, c->exec, false);
        assert(json_parse(&a, buf_view(&info), NULL, &j, NULL) == 0);
    }
}

static void check_plugin(struct str text)
{
    struct kube_exec x = { .command = STR("x"), .api_version = STR("client.authentication.k8s.io/v1") };
    struct exec_credential got;
    autoarena a = { 0 };
    struct err e = { 0 };

    if (exec_plugin_parse(&a, &x, text, &got, &e) < 0)
        assert(e.text[0]);
    else
        assert((got.token.n || got.cert_pem.n) && !str_has_char(got.token, '\n'));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = { (const char *)data, size }, rest = text;
    struct kube_config_options opt = { 0 };
    struct kube_config config;
    autobuf list = { 0 };
    autoarena a = { 0 };
    int fds[FILES], n = 0;
    struct err e = { 0 };

    check_plugin(text);
    for (bool is_last = false; !is_last && n < FILES; n++) {
        const char *end = rest.n && n < FILES - 1 ? memmem(rest.p, rest.n, "\n#next\n", 7) : NULL;
        struct str part = end ? str_sub(rest, 0, (size_t)(end - rest.p)) : rest;

        is_last = !end;
        rest = end ? str_from(rest, part.n + 7) : rest;
        fds[n] = memfd_create("kubeconfig", MFD_CLOEXEC);
        assert(fds[n] >= 0 && write(fds[n], part.p, part.n) == (ssize_t)part.n);
        buf_fmt(&list, "%s/proc/self/fd/%d", n ? ":" : "", fds[n]);
    }
    opt.env.kubeconfig = list.p;
    if (kube_config_load(&a, &opt, &config, &e) < 0)
        assert(e.code != ERR_OK && strstr(e.text, "/proc/self/fd/"));
    else
        check_config(&config);
    while (n)
        close(fds[--n]);
    return 0;
}
