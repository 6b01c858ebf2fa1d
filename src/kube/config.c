/* config.c - from kubeconfig files to one server and one user */
#include "kube/config.h"

#include "base/codec.h"
#include "base/log.h"
#include "base/util.h"
#include "kube/kube_internal.h"
#include "yaml/yaml.h"

#define ACCOUNT_DIR "/var/run/secrets/kubernetes.io/serviceaccount"
#define EXEC_GROUP  "client.authentication.k8s.io"

enum { CONFIG_MAX = 8 << 20, CERT_MAX = 1 << 20, TOKEN_MAX = 1 << 20, ENTRIES_MAX = 4096 };

struct file { /* one kubeconfig */
    struct str path, dir;
    struct config_part part;
};

struct loader {
    struct arena *arena;
    const struct kube_config_options *opt;
    struct kube_config *ret;
    VEC(struct file) files;
    VEC(struct str) missing; /* files that were looked for */
    struct err *e;
};

struct field_at { /* for messages: which field of which file */
    const struct file *file;
    const struct json *node; /* gives the line; may be NULL */
    struct str entry;        /* "users[0].user" */
};

struct kube_env kube_env_real(void)
{
    return (struct kube_env){ getenv("KUBECONFIG"), getenv("HOME"), getenv("KUBERNETES_SERVICE_HOST"),
                              getenv("KUBERNETES_SERVICE_PORT"), ACCOUNT_DIR };
}

/* ---- messages ---- */

static void config_warn(struct loader *l, struct str sentence)
{
    *vec_push(l->arena, &l->ret->warnings) = sentence;
}

static struct str config_place_text(struct arena *a, const struct field_at *at, const char *field)
{
    const struct json *node = field ? json_get(at->node, field) : NULL;

    node = node ? node : at->node;
    return arena_fmt(a, "%.*s: %s%.*s%s%s", STR_ARG(at->file->path),
                     node && node->line ? arena_fmt(a, "line %u: ", node->line).p : "", STR_ARG(at->entry),
                     field ? "." : "", field ? field : "");
}

static int config_bad(struct loader *l, const struct field_at *at, const char *field, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

static int config_bad(struct loader *l, const struct field_at *at, const char *field, const char *fmt, ...)
{
    va_list ap;
    struct str what;

    va_start(ap, fmt);
    what = arena_vfmt(l->arena, fmt, ap);
    va_end(ap);
    return err_set(l->e, ERR_INVALID, "%.*s: %.*s", STR_ARG(config_place_text(l->arena, at, field)), STR_ARG(what));
}

/* ---- reading files ---- */

static struct str problem_text(const struct file *f, struct arena *a, const struct problem *p)
{
    return arena_fmt(a, "%.*s: line %u: %.*s%s%.*s", STR_ARG(f->path), p->line, STR_ARG(p->path), p->path.n ? ": " : "",
                     STR_ARG(p->text));
}

static int file_check(struct loader *l, const struct file *f, const struct json *tree)
{
    struct problems ps = { .arena = l->arena };
    struct place root = { .node = tree };

    schema_check(&schema_kubeconfig, &root, &ps);
    problems_sort(&ps);
    VEC_FOREACH(p, &ps.list) {
        if (p->level == PROBLEM_ERROR)
            return err_set(l->e, ERR_INVALID, "%.*s", STR_ARG(problem_text(f, l->arena, p)));
        config_warn(l, problem_text(f, l->arena, p));
    }
    return 0;
}

enum entry_kind { ENTRY_CLUSTER, ENTRY_USER, ENTRY_CONTEXT, ENTRY_KIND_MAX };

/* The three lists of a file; every entry begins with its name. */
static const struct {
    const char *list;
    size_t at, size;
} entries[ENTRY_KIND_MAX] = {
    [ENTRY_CLUSTER] = { "clusters", offsetof(struct config_part, clusters), sizeof(struct named_cluster) },
    [ENTRY_USER] = { "users", offsetof(struct config_part, users), sizeof(struct named_user) },
    [ENTRY_CONTEXT] = { "contexts", offsetof(struct config_part, contexts), sizeof(struct named_context) },
};

struct entry_list {
    const char *v;
    size_t n;
};

static const struct entry_list *config_list_of(const struct file *f, enum entry_kind kind)
{
    return (const void *)((const char *)&f->part + entries[kind].at);
}

static const void *entry_at(const struct file *f, enum entry_kind kind, size_t i)
{
    return config_list_of(f, kind)->v + i * entries[kind].size;
}

static struct str name_at(const struct file *f, enum entry_kind kind, size_t i)
{
    return *(const struct str *)entry_at(f, kind, i);
}

static int config_check_names(struct loader *l, const struct file *f, enum entry_kind kind)
{
    size_t n = config_list_of(f, kind)->n;

    if (n > ENTRIES_MAX)
        return err_set(l->e, ERR_TOO_BIG, "%.*s: %s: more than %d", STR_ARG(f->path), entries[kind].list, ENTRIES_MAX);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++)
            if (str_eq(name_at(f, kind, i), name_at(f, kind, k)))
                return err_set(l->e, ERR_INVALID, "%.*s: %s[%zu].name: duplicate \"%.*s\"", STR_ARG(f->path),
                               entries[kind].list, i, STR_ARG(name_at(f, kind, i)));
    return 0;
}

static int file_parse(struct loader *l, struct str path, struct str text)
{
    struct yaml_options yaml = { .file = arena_cstr(l->arena, path), .max_bytes = CONFIG_MAX };
    struct yaml_docs docs = { 0 };
    struct file *f = vec_push(l->arena, &l->files);
    ptrdiff_t slash = str_rfind_char(path, '/');

    f->path = path;
    f->dir = slash < 0 ? STR(".") : slash == 0 ? STR("/") : str_sub(path, 0, (size_t)slash);
    if (yaml_parse(l->arena, text, &yaml, &docs, l->e) < 0)
        return -1;
    if (docs.n > 1)
        return err_set(l->e, ERR_INVALID, "%.*s: has %zu documents; a kubeconfig is one", STR_ARG(path), docs.n);
    if (!docs.n)
        return 0; /* an empty file, as kubectl writes when the last entry goes */
    if (file_check(l, f, docs.v[0]) < 0)
        return -1;
    schema_decode(l->arena, &schema_kubeconfig, docs.v[0], &f->part);
    for (enum entry_kind kind = 0; kind < ENTRY_KIND_MAX; kind++)
        if (config_check_names(l, f, kind) < 0)
            return -1;
    return 0;
}

/* One that is not there is passed over. */
static int file_load(struct loader *l, struct str path)
{
    autobuf text = { 0 };
    struct err e = { 0 };

    VEC_FOREACH(f, &l->files)
        if (str_eq(f->path, path))
            return 0;
    if (kube_file_read(arena_cstr(l->arena, path), CONFIG_MAX, &text, &e) < 0) {
        if (e.code != ERR_NOT_FOUND)
            return err_set(l->e, e.code, "%.*s: %s", STR_ARG(path), e.text);
        *vec_push(l->arena, &l->missing) = path;
        return 0;
    }
    return file_parse(l, path, buf_view(&text));
}

static int config_load_files(struct loader *l)
{
    const struct kube_env *env = &l->opt->env;
    struct str rest = str_of(env->kubeconfig), path;

    if (l->opt->file) {
        if (file_load(l, str_of(l->opt->file)) < 0)
            return -1;
        return l->files.n ? 0 : err_set(l->e, ERR_NOT_FOUND, "%s: no such file", l->opt->file);
    }
    if (rest.n) {
        while (str_split(&rest, ':', &path))
            if (path.n && file_load(l, path) < 0)
                return -1;
        return 0;
    }
    return env->home && *env->home ? file_load(l, arena_fmt(l->arena, "%s/.kube/config", env->home)) : 0;
}

/* ---- entries ---- */

/* A path of a file is relative to that file. */
static struct str config_resolve(struct loader *l, const struct file *f, struct str path)
{
    if (!path.n || path.p[0] == '/')
        return path;
    return arena_fmt(l->arena, "%.*s/%.*s", STR_ARG(f->dir), STR_ARG(path));
}

/* PEM as base64, as Go reads it: line breaks do not count. */
static int decode_data(struct loader *l, const struct field_at *at, const char *field, struct str data, struct str *ret)
{
    autobuf plain = { 0 }, bytes = { 0 };

    for (size_t i = 0; i < data.n; i++)
        if (data.p[i] != '\n' && data.p[i] != '\r')
            buf_char(&plain, data.p[i]);
    if (buf_unbase64(&bytes, buf_view(&plain)) < 0)
        return config_bad(l, at, field, "is not base64");
    if (!str_has(buf_view(&bytes), STR("-----BEGIN ")))
        return config_bad(l, at, field, "has no PEM (-----BEGIN …)");
    *ret = arena_str(l->arena, buf_view(&bytes));
    return 0;
}

/* A pair of fields, "x" (a file) and "x-data". */
struct pem_pair {
    const char *field;
    struct str file, data;
    struct str *ret_file, *ret_pem;
};

/* The data win, a file must exist. */
static int take_pem(struct loader *l, const struct field_at *at, const struct pem_pair *x)
{
    autobuf text = { 0 };
    struct err e = { 0 };

    if (x->data.n) {
        if (x->file.n)
            config_warn(l, arena_fmt(l->arena, "%.*s: ignored, because %s-data is set too",
                                     STR_ARG(config_place_text(l->arena, at, x->field)), x->field));
        return decode_data(l, at, arena_fmt(l->arena, "%s-data", x->field).p, x->data, x->ret_pem);
    }
    if (!x->file.n)
        return 0;
    *x->ret_file = config_resolve(l, at->file, x->file);
    if (kube_file_read(arena_cstr(l->arena, *x->ret_file), CERT_MAX, &text, &e) < 0)
        return config_bad(l, at, x->field, "%.*s: %s", STR_ARG(*x->ret_file), e.text);
    if (!str_has(buf_view(&text), STR("-----BEGIN ")))
        return config_bad(l, at, x->field, "%.*s: has no PEM (-----BEGIN …)", STR_ARG(*x->ret_file));
    return 0;
}

static int take_proxy(struct loader *l, const struct field_at *at, const struct cluster_part *c)
{
    static const char *const schemes[] = { "http://", "https://", "socks5://", "socks5h://" };

    if (!c->proxy.n)
        return 0;
    for (size_t i = 0; i < ARRAY_LEN(schemes); i++)
        if (str_starts(c->proxy, str_of(schemes[i])) && c->proxy.n > strlen(schemes[i])) {
            l->ret->proxy = c->proxy;
            return 0;
        }
    return config_bad(l, at, "proxy-url", "must begin with http://, https:// or socks5://");
}

static int take_cluster(struct loader *l, const struct file *f, const struct named_cluster *n)
{
    const struct cluster_part *c = &n->part;
    struct field_at at = { f, c->raw, arena_fmt(l->arena, "clusters[%zu].cluster", (size_t)(n - f->part.clusters.v)) };
    struct http_tls *tls = &l->ret->tls;

    if (!c->server.n)
        return config_bad(l, &at, "server", "is missing; it is the address of the API server, as https://host:6443");
    if (!str_starts(c->server, STR("https://")) && !str_starts(c->server, STR("http://")))
        return config_bad(l, &at, "server", "must begin with https:// or http://");
    l->ret->server = c->server;
    l->ret->is_plain = c->is_plain;
    tls->server_name = c->server_name;
    tls->is_insecure = c->is_insecure;
    if (c->is_insecure && (c->ca_file.n || c->ca_data.n))
        return config_bad(l, &at, "insecure-skip-tls-verify", "contradicts certificate-authority; remove one of them");
    if (c->is_insecure)
        config_warn(l,
                    arena_fmt(l->arena,
                              "%.*s: the server's certificate is not verified: an attacker on the network can read and "
                              "change everything, secrets included",
                              STR_ARG(config_place_text(l->arena, &at, "insecure-skip-tls-verify"))));
    if (take_pem(l, &at,
                 &(struct pem_pair){ "certificate-authority", c->ca_file, c->ca_data, &tls->ca_file, &tls->ca_pem }) <
        0)
        return -1;
    return take_proxy(l, &at, c);
}

/* spec.cluster of the input of an exec plugin, with the configuration that the file has for it. */
static int tell_cluster(struct loader *l, const struct file *f, const struct named_cluster *n, struct json **ret)
{
    const struct cluster_part *c = &n->part;
    struct json *j = json_object(l->arena);
    autobuf pem = { 0 }, data = { 0 };

    json_set(j, "server", json_str(l->arena, c->server));
    if (c->server_name.n)
        json_set(j, "tls-server-name", json_str(l->arena, c->server_name));
    if (c->is_insecure)
        json_set(j, "insecure-skip-tls-verify", json_bool_new(l->arena, true));
    if (c->proxy.n)
        json_set(j, "proxy-url", json_str(l->arena, c->proxy));
    if (c->is_plain)
        json_set(j, "disable-compression", json_bool_new(l->arena, true));
    if (!c->ca_data.n && c->ca_file.n &&
        kube_file_read(arena_cstr(l->arena, config_resolve(l, f, c->ca_file)), CERT_MAX, &pem, NULL) == 0)
        buf_base64(&data, buf_view(&pem));
    if (c->ca_data.n || data.n)
        json_set(j, "certificate-authority-data",
                 json_str(l->arena, c->ca_data.n ? c->ca_data : arena_str(l->arena, buf_view(&data))));
    JSON_FOREACH(ext, c->extensions)
        if (str_is(json_member_text(ext, "name"), EXEC_GROUP "/exec") && json_get(ext, "extension"))
            json_set(j, "config", json_copy(l->arena, json_get(ext, "extension")));
    *ret = j;
    return 0;
}

static int take_exec(struct loader *l, const struct field_at *user, const struct kube_exec *x,
                     const struct file *cluster_file, const struct named_cluster *cluster)
{
    struct field_at at = { user->file, x->raw, arena_fmt(l->arena, "%.*s.exec", STR_ARG(user->entry)) };
    struct kube_exec *exec = arena_new(l->arena, struct kube_exec);

    *exec = *x;
    if (!x->interactive.n && str_is(x->api_version, EXEC_GROUP "/v1"))
        return config_bad(l, &at, "interactiveMode", "is missing: Never, IfAvailable or Always");
    exec->mode = str_is(x->interactive, "Never")    ? EXEC_NEVER
                 : str_is(x->interactive, "Always") ? EXEC_ALWAYS
                                                    : EXEC_IF_AVAILABLE;
    if (str_has_char(x->command, '/'))
        exec->command = config_resolve(l, user->file, x->command);
    if (x->tells_cluster && tell_cluster(l, cluster_file, cluster, &exec->cluster) < 0)
        return -1;
    l->ret->exec = exec;
    return 0;
}

/* ---- impersonation ---- */

static bool is_one_line(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] < 0x20 || s.p[i] == 0x7f)
            return false;
    return true;
}

static struct str escape_key(struct arena *a, struct str key)
{
    autobuf out = { 0 };

    percent_print(&out, key, "");
    return arena_str(a, buf_view(&out));
}

static int take_impersonation(struct loader *l, const struct field_at *at, const struct user_part *u)
{
    VEC(const char *) lines = { 0 };

    if (!u->as.n && (u->as_uid.n || u->as_groups.n || json_count(u->as_extra)))
        return config_bad(l, at, "as", "is missing: groups, uid and extra need a user");
    if (!u->as.n)
        return 0;
    *vec_push(l->arena, &lines) = arena_fmt(l->arena, "Impersonate-User: %.*s", STR_ARG(u->as)).p;
    if (u->as_uid.n)
        *vec_push(l->arena, &lines) = arena_fmt(l->arena, "Impersonate-Uid: %.*s", STR_ARG(u->as_uid)).p;
    for (size_t i = 0; i < u->as_groups.n; i++)
        *vec_push(l->arena, &lines) = arena_fmt(l->arena, "Impersonate-Group: %.*s", STR_ARG(u->as_groups.v[i])).p;
    if (u->as_extra && !json_is(u->as_extra, JSON_OBJECT))
        return config_bad(l, at, "as-user-extra", "must be an object of lists");
    JSON_FOREACH(m, u->as_extra)
        JSON_FOREACH(v, m)
            *vec_push(l->arena, &lines) = arena_fmt(l->arena, "Impersonate-Extra-%.*s: %.*s",
                                                    STR_ARG(escape_key(l->arena, json_key(m))),
                                                    STR_ARG(json_text(v, STR_NULL)))
                                              .p;
    VEC_FOREACH(line, &lines)
        if (!is_one_line(str_of(*line)))
            return config_bad(l, at, "as", "users, groups and extra must be one line");
    *vec_push(l->arena, &lines) = NULL;
    l->ret->headers = lines.v;
    return 0;
}

/* ---- users ---- */

static int take_token(struct loader *l, const struct field_at *at, const struct user_part *u)
{
    autobuf text = { 0 };
    struct err e = { 0 };

    if (!u->token_file.n) {
        if (!is_one_line(u->token))
            return config_bad(l, at, "token", "must be one line");
        l->ret->token = u->token;
        return 0;
    }
    l->ret->token_file = config_resolve(l, at->file, u->token_file);
    if (kube_file_read(arena_cstr(l->arena, l->ret->token_file), TOKEN_MAX, &text, &e) < 0)
        return config_bad(l, at, "tokenFile", "%.*s: %s", STR_ARG(l->ret->token_file), e.text);
    return 0;
}

static int take_user(struct loader *l, const struct file *f, const struct named_user *n,
                     const struct file *cluster_file, const struct named_cluster *cluster)
{
    const struct user_part *u = &n->part;
    struct field_at at = { f, u->raw, arena_fmt(l->arena, "users[%zu].user", (size_t)(n - f->part.users.v)) };
    struct http_tls *tls = &l->ret->tls;
    struct pem_pair cert = { "client-certificate", u->cert_file, u->cert_data, &tls->cert_file, &tls->cert_pem };
    struct pem_pair key = { "client-key", u->key_file, u->key_data, &tls->key_file, &tls->key_pem };
    bool has_cert = u->cert_file.n || u->cert_data.n, has_key = u->key_file.n || u->key_data.n;

    if (u->provider && u->provider->type != JSON_NULL)
        return config_bad(l, &at, "auth-provider", "was removed from Kubernetes; use an exec plugin");
    if (u->username.n || u->password.n)
        return config_bad(l, &at, u->username.n ? "username" : "password",
                          "passwords were removed in Kubernetes 1.19; use a token, a certificate or an exec plugin");
    if (has_cert && !has_key)
        return config_bad(l, &at, "client-key", "is missing, but client-certificate is set");
    if (has_key && !has_cert)
        return config_bad(l, &at, "client-certificate", "is missing, but client-key is set");
    if (u->exec && (u->token.n || u->token_file.n))
        return config_bad(l, &at, "exec", "cannot be combined with a token; remove one of them");
    if (take_pem(l, &at, &cert) < 0 || take_pem(l, &at, &key) < 0 || take_token(l, &at, u) < 0 ||
        take_impersonation(l, &at, u) < 0)
        return -1;
    return u->exec ? take_exec(l, &at, u->exec, cluster_file, cluster) : 0;
}

/* ---- the context ---- */

/* The first file that has one of that name; NULL: none has. */
static const void *find_entry(const struct loader *l, enum entry_kind kind, struct str name,
                              const struct file **ret_file)
{
    VEC_FOREACH(f, &l->files)
        for (size_t i = 0; i < config_list_of(f, kind)->n; i++)
            if (name.n && str_eq(name_at(f, kind, i), name)) {
                *ret_file = f;
                return entry_at(f, kind, i);
            }
    return NULL;
}

static int no_context(struct loader *l, struct str wanted)
{
    autobuf names = { 0 };
    const struct file *f = &l->files.v[0];

    VEC_FOREACH(file, &l->files)
        for (size_t i = 0; i < file->part.contexts.n && names.n < 200; i++)
            buf_fmt(&names, "%s%.*s", names.n ? ", " : "", STR_ARG(file->part.contexts.v[i].name));
    if (!names.n)
        return err_set(l->e, ERR_INVALID, "%.*s: contexts: is empty", STR_ARG(f->path));
    if (!wanted.n)
        return err_set(l->e, ERR_INVALID, "%.*s: current-context: is not set; name one with --context: %s",
                       STR_ARG(f->path), names.p);
    return err_set(l->e, ERR_INVALID, "%.*s: %s: no context \"%.*s\"; it has %s", STR_ARG(f->path),
                   l->opt->context ? "contexts" : "current-context", STR_ARG(wanted), names.p);
}

static struct str wanted_context(const struct loader *l)
{
    if (l->opt->context)
        return str_of(l->opt->context);
    VEC_FOREACH(f, &l->files)
        if (f->part.current.n)
            return f->part.current;
    return STR_NULL;
}

static int take_context(struct loader *l)
{
    struct str wanted = wanted_context(l);
    const struct file *file, *cluster_file, *user_file = NULL; /* gcc -O3 cannot see that it is set */
    const struct named_context *context = find_entry(l, ENTRY_CONTEXT, wanted, &file);
    const struct named_cluster *cluster;
    const struct named_user *user;
    struct field_at at;

    if (!context)
        return no_context(l, wanted);
    at = (struct field_at){ file, context->part.raw,
                            arena_fmt(l->arena, "contexts[%zu].context", (size_t)(context - file->part.contexts.v)) };
    cluster = find_entry(l, ENTRY_CLUSTER, context->part.cluster, &cluster_file);
    if (!context->part.cluster.n)
        return config_bad(l, &at, "cluster", "is missing");
    if (!cluster)
        return config_bad(l, &at, "cluster", "no cluster \"%.*s\"", STR_ARG(context->part.cluster));
    user = find_entry(l, ENTRY_USER, context->part.user, &user_file);
    if (context->part.user.n && !user)
        return config_bad(l, &at, "user", "no user \"%.*s\"", STR_ARG(context->part.user));
    l->ret->origin = arena_fmt(l->arena, "context %.*s of %.*s", STR_ARG(wanted), STR_ARG(file->path));
    l->ret->namespace = context->part.namespace.n ? context->part.namespace : STR("default");
    if (take_cluster(l, cluster_file, cluster) < 0)
        return -1;
    return user ? take_user(l, user_file, user, cluster_file, cluster) : 0;
}

/* ---- in a pod ---- */

static int account_file(struct loader *l, const char *name, size_t max, struct str *ret_path, struct buf *text)
{
    struct err e = { 0 };

    *ret_path = arena_fmt(l->arena, "%s/%s", l->opt->env.account_dir, name);
    if (kube_file_read(ret_path->p, max, text, &e) == 0)
        return 0;
    return err_set(l->e, e.code, "%s: %s; the pod needs a service account token (automountServiceAccountToken)",
                   ret_path->p, e.text);
}

static int take_account(struct loader *l)
{
    const struct kube_env *env = &l->opt->env;
    bool is_v6 = strchr(env->service_host, ':');
    autobuf token = { 0 }, ca = { 0 }, namespace = { 0 };
    struct str path;

    if (account_file(l, "token", TOKEN_MAX, &l->ret->token_file, &token) < 0 ||
        account_file(l, "ca.crt", CERT_MAX, &l->ret->tls.ca_file, &ca) < 0)
        return -1;
    if (account_file(l, "namespace", 256, &path, &namespace) < 0)
        l->ret->namespace = STR("default");
    else
        l->ret->namespace = arena_str(l->arena, str_trim(buf_view(&namespace)));
    l->ret->server = arena_fmt(l->arena, "https://%s%s%s:%s", is_v6 ? "[" : "", env->service_host, is_v6 ? "]" : "",
                               env->service_port);
    l->ret->origin = STR("the pod's service account");
    return 0;
}

static int nothing_found(struct loader *l)
{
    autobuf names = { 0 };

    VEC_FOREACH(path, &l->missing)
        buf_fmt(&names, "%s%.*s", names.n ? ", " : "", STR_ARG(*path));
    return err_set(l->e, ERR_NOT_FOUND,
                   "no cluster is configured: %s%s, and this is not a pod; give --kubeconfig FILE or set KUBECONFIG",
                   names.n ? names.p : "HOME and KUBECONFIG are not set", names.n ? ": no such file" : "");
}

int kube_config_load(struct arena *a, const struct kube_config_options *opt, struct kube_config *ret, struct err *e)
{
    struct err ignored = { 0 };
    struct loader l = { .arena = a, .opt = opt, .ret = ret, .e = e ? e : &ignored };
    const struct kube_env *env = &opt->env;
    bool is_in_pod = env->service_host && *env->service_host && env->service_port && *env->service_port &&
                     env->account_dir;

    *ret = (struct kube_config){ 0 };
    if (config_load_files(&l) < 0)
        return -1;
    if (l.files.n)
        return take_context(&l);
    if (is_in_pod)
        return take_account(&l);
    return nothing_found(&l);
}

void kube_config_log_warnings(const struct kube_config *c)
{
    VEC_FOREACH(warning, &c->warnings)
        log_warn("Kubeconfig has a problem", LOG_STR("warning", *warning));
}

struct http_options kube_config_http(const struct kube_config *c, struct str user_agent)
{
    return (struct http_options){ .url = c->server, .tls = c->tls, .proxy = c->proxy, .user_agent = user_agent };
}
