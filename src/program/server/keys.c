/* keys.c - what the server and its administrator know each other by, below --data-dir
 *
 *     pki/                   the CA, certificates and users: auth/auth.h
 *     pki/admin.token        the administrator's
 *     admin.kubeconfig       all that a client needs
 */
#include "auth/auth.h"
#include "pki/certificate.h"
#include "base/log.h"
#include "base/util.h"
#include "program/server/server.h"
#include "json/json.h"
#include "os/io.h"
#include "os/path.h"
#include "yaml/yaml.h"

#include <fcntl.h>

int serve_keys_load(struct serve *s, const char *const *names, struct err *e)
{
    struct audit_options audit = { .path = s->o->audit_log,
                                   .has_bodies = s->o->audit_level && strcmp(s->o->audit_level, "Request") == 0,
                                   .clock = &s->clock.clock };

    if (s->o->audit_level && !s->o->audit_log)
        return err_set(e, ERR_INVALID, "--audit-level: needs --audit-log FILE");
    if (auth_open(&(struct auth_options){ .dir = arena_fmt(s->arena, "%.*s/pki", STR_ARG(s->data_dir)).p,
                                          .names = names,
                                          .store = s->store,
                                          .clock = &s->clock.clock,
                                          .limits = &s->policy.limits,
                                          .audit = s->o->audit_log ? &audit : NULL },
                  &s->auth, e) < 0)
        return -1;
    auth_set_token_life(s->auth, s->policy.token_life_s);
    return 0;
}

/* ---- the kubeconfig ---- */

static struct json *keys_entry(struct arena *a, struct json *config, const char *list, const char *name,
                               const char *what)
{
    struct json *j = json_push(json_add(config, str_of(list), json_array(a)), json_object(a));

    json_add(j, STR("name"), json_str(a, str_of(name)));
    return json_add(j, str_of(what), json_object(a));
}

static struct json *kubeconfig_of(struct arena *a, const struct serve *s)
{
    struct json *config = json_object(a), *cluster, *context;
    autobuf ca = { 0 };

    json_add(config, STR("apiVersion"), json_str(a, STR("v1")));
    json_add(config, STR("kind"), json_str(a, STR("Config")));
    cluster = keys_entry(a, config, "clusters", "pumice", "cluster");
    json_add(cluster, STR("server"), json_str(a, s->url));
    buf_base64(&ca, auth_tls(s->auth)->client_ca);
    json_add(cluster, STR("certificate-authority-data"), json_str(a, arena_str(a, buf_view(&ca))));
    json_add(keys_entry(a, config, "users", "admin", "user"), STR("token"), json_str(a, auth_admin_token(s->auth)));
    context = keys_entry(a, config, "contexts", "pumice", "context");
    json_add(context, STR("cluster"), json_str(a, STR("pumice")));
    json_add(context, STR("user"), json_str(a, STR("admin")));
    json_add(config, STR("current-context"), json_str(a, STR("pumice")));
    return config;
}

int serve_kubeconfig_write(struct serve *s, struct err *e)
{
    autoarena a = { 0 };
    autoclose int dir = open(arena_cstr(s->arena, s->data_dir), O_DIRECTORY | O_RDONLY | O_CLOEXEC);
    autosecret text = { 0 };

    if (dir < 0)
        return err_errno(e, "open %.*s", STR_ARG(s->data_dir));
    yaml_print(&text, kubeconfig_of(&a, s), NULL);
    (void)unlinkat(dir, "admin.kubeconfig.new", 0); /* one that was killed left it */
    if (file_write(dir, "admin.kubeconfig.new", O_EXCL, 0600, buf_view(&text)) < 0 ||
        renameat(dir, "admin.kubeconfig.new", dir, "admin.kubeconfig") < 0)
        return err_errno(e, "write %.*s/admin.kubeconfig", STR_ARG(s->data_dir));
    s->kubeconfig = arena_fmt(s->arena, "%.*s/admin.kubeconfig", STR_ARG(s->data_dir));
    return 0;
}
