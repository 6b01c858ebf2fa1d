/* kubeconfig.c - a kubeconfig for a client of this server */
#include "auth/kubeconfig.h"

#include "pki/certificate.h"
#include "json/json.h"
#include "yaml/yaml.h"

static struct json *kubeconfig_entry(struct arena *a, struct json *config, const char *list, struct str name,
                                     const char *what)
{
    struct json *j = json_push(json_set(config, list, json_array(a)), json_object(a));

    json_set(j, "name", json_str(a, name));
    return json_set(j, what, json_object(a));
}

static void set_data(struct arena *a, struct json *j, const char *key, struct str bytes)
{
    autosecret text = { 0 };

    buf_base64(&text, bytes);
    json_set(j, key, json_str(a, arena_str(a, buf_view(&text))));
}

void kubeconfig_print(struct buf *out, const struct kubeconfig_spec *spec)
{
    autoarena a = { 0 };
    struct json *config = json_object(&a), *cluster, *user, *context;
    struct str name = STR("pumice");

    json_set(config, "apiVersion", json_str(&a, STR("v1")));
    json_set(config, "kind", json_str(&a, STR("Config")));
    cluster = kubeconfig_entry(&a, config, "clusters", name, "cluster");
    json_set(cluster, "server", json_str(&a, spec->server));
    set_data(&a, cluster, "certificate-authority-data", spec->ca);
    user = kubeconfig_entry(&a, config, "users", spec->user, "user");
    if (spec->token.n)
        json_set(user, "token", json_str(&a, spec->token));
    if (spec->cert.n) {
        set_data(&a, user, "client-certificate-data", spec->cert);
        set_data(&a, user, "client-key-data", spec->key);
    }
    context = kubeconfig_entry(&a, config, "contexts", name, "context");
    json_set(context, "cluster", json_str(&a, name));
    json_set(context, "user", json_str(&a, spec->user));
    if (spec->namespace.n)
        json_set(context, "namespace", json_str(&a, spec->namespace));
    json_set(config, "current-context", json_str(&a, name));
    yaml_print(out, config, NULL);
}
