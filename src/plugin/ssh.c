/* ssh.c - password-free ssh between all pods: one key pair and one config for the job
 *
 * Keys are made once, when the Secret is missing. A Secret that this job owns is wanted exactly as it is: it is
 * mounted by subPath, and changing it would empty the directory in running pods (vector 27).
 *
 * --ssh-key-secret keeps private keys out of the Job: the volume takes them from the named Secret by reference,
 * and "<job>-ssh" holds only the config (and the public key, if the named Secret has none and can be read).
 */
#include "plugin/plugin_internal.h"

#include "base/util.h"
#include "plugin/pod.h"
#include "plugin/sshkey.h"

#include <openssl/crypto.h>

enum {
    MODE_PRIVATE = 0600,
    MODE_SHARED = 0644,
    PORT_SSH = 22,
};

struct ssh_args {
    struct str path, private_key, public_key, key_mode, key_type, key_secret;
    int64_t port;
    bool wildcard, copy;
};

static const char default_path[] = "/root/.ssh";
static const char *const key_type_values[] = { "rsa", "ed25519", "ecdsa", NULL };

static const struct plugin_arg ssh_table[] = {
    { "ssh-key-file-path", ARG_STR, offsetof(struct ssh_args, path), default_path, NULL, NULL,
      "directory of the keys in every container" },
    { "ssh-private-key", ARG_RAW, offsetof(struct ssh_args, private_key), NULL, NULL, NULL,
      "private key to use instead of a new one; better: ssh-key-secret" },
    { "ssh-public-key", ARG_RAW, offsetof(struct ssh_args, public_key), NULL, NULL, NULL,
      "its public key; found by itself where possible" },
    { "ssh-port", ARG_PORT, offsetof(struct ssh_args, port), "22", NULL, NULL,
      "port in the ssh config; without it the one of mpi --port, unless the job shows that its sshd has another",
      true },
    { "ssh-config-wildcard", ARG_BOOL, offsetof(struct ssh_args, wildcard), "false", NULL, NULL,
      "one block per task instead of one per host; on by itself for very large jobs" },
    { "ssh-key-mode", ARG_STR, offsetof(struct ssh_args, key_mode), NULL, NULL, NULL,
      "octal file mode of the keys; by default 0600 for root, else 0644" },
    { "ssh-key-type", ARG_STR, offsetof(struct ssh_args, key_type), "rsa", NULL, key_type_values,
      "kind of key to make" },
    { "ssh-key-secret", ARG_STR, offsetof(struct ssh_args, key_secret), NULL, NULL, NULL,
      "existing Secret with ssh-privatekey and ssh-publickey (or id_rsa, id_rsa.pub, authorized_keys)" },
    { "ssh-copy", ARG_BOOL, offsetof(struct ssh_args, copy), "false", NULL, NULL,
      "an initContainer copies the keys, so that they belong to the container's user (needed with fsGroup)" },
};

static const char *const ssh_adds[] = {
    "Secret <job>-ssh: id_rsa, id_rsa.pub, authorized_keys, config",
    "pods: the Secret mounted as ~/.ssh (--ssh-key-file-path) in all containers and initContainers",
    NULL,
};

/* A file of the directory and the key it has in each form of Secret, in the order of upstream's volume items. */
static const struct key_file {
    const char *name;    /* below .ssh, and in our own Secret */
    const char *in_auth; /* in a Secret of type kubernetes.io/ssh-auth */
    bool is_private;
} key_files[] = {
    { "id_rsa", "ssh-privatekey", true },
    { "id_rsa.pub", "ssh-publickey", false },
    { "authorized_keys", "ssh-publickey", false },
};

struct ssh_state {
    struct str secret;         /* "<job>-ssh" */
    struct str path;           /* cleaned */
    int64_t port, mode;        /* mode < 0: by the pod */
    struct ssh_keys user_keys; /* given by arguments; empty: none */
    bool has_foreign_keys;     /* --ssh-key-secret */
    struct str derived_public; /* it has no public key: made from the private one, kept in our Secret */
    const char *foreign_key[ARRAY_LEN(key_files)]; /* where it has each file; NULL: our Secret has it */
};

/* ---- arguments ---- */

/* "0600", "600" or "0o600". */
static int mode_parse(struct str text, int64_t *ret)
{
    int64_t v = 0;

    if (str_starts(text, STR("0o")))
        text = str_from(text, 2);
    if (str_empty(text) || text.n > 4)
        return -1;
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] < '0' || text.p[i] > '7')
            return -1;
        v = v * 8 + (text.p[i] - '0');
    }
    if (v > 0777)
        return -1;
    *ret = v;
    return 0;
}

/* A key squeezed into one line has "\n" written out; and ssh wants a newline at the end. */
static struct str private_key_text(struct arena *a, struct str given)
{
    autobuf text = { 0 };
    struct str ret;

    buf_reserve(&text, given.n + 1);
    for (size_t i = 0; i < given.n; i++) {
        bool is_escape = given.p[i] == '\\' && i + 1 < given.n && given.p[i + 1] == 'n';

        if (is_escape && !str_has_char(given, '\n')) {
            buf_char(&text, '\n');
            i++;
        } else {
            buf_char(&text, given.p[i]);
        }
    }
    if (text.n && text.p[text.n - 1] != '\n')
        buf_char(&text, '\n');
    ret = arena_str(a, buf_view(&text));
    OPENSSL_cleanse(text.p, text.cap);
    return ret;
}

/* The pair the arguments give; both empty when there is no private key. -1 when the public half is not known. */
static int user_keys(struct plugin_call *call, struct ssh_keys *ret, struct err *e)
{
    const struct ssh_args *args = call->args;

    *ret = (struct ssh_keys){ 0 };
    if (str_empty(args->private_key))
        return 0;
    ret->private_pem = private_key_text(call->arena, args->private_key);
    ret->public_line = args->public_key;
    if (!str_empty(args->public_key))
        return 0;
    return ssh_public_from_private(call->arena, ret->private_pem, &ret->public_line, e);
}

static const struct json *ssh_world_find(struct plugin_call *call, struct str secret)
{
    const struct plugin_world *w = call->world;

    return w->find ? w->find(w->ctx, "Secret", secret) : NULL;
}

/* ---- admission ---- */

static void check_values(struct plugin_call *call, const struct place *at, struct problems *ps)
{
    const struct ssh_args *args = call->args;
    int64_t ignored;

    if (str_empty(args->path) || str_has_char(args->path, ':'))
        problem_error(ps, at, "plugin ssh: argument ssh-key-file-path: bad value \"%.*s\" (must be a path without ':')",
                      STR_ARG(args->path));
    if (!str_empty(args->key_mode) && mode_parse(args->key_mode, &ignored) < 0)
        problem_error(ps, at, "plugin ssh: argument ssh-key-mode: bad value \"%.*s\" (must be octal, 0000-0777)",
                      STR_ARG(args->key_mode));
}

static void ssh_check_keys(struct plugin_call *call, const struct place *at, struct problems *ps)
{
    const struct ssh_args *args = call->args;
    struct ssh_keys keys;
    struct err e;

    if (!str_empty(args->key_secret) && !str_empty(args->private_key))
        problem_error(ps, at, "plugin ssh: ssh-key-secret and ssh-private-key exclude each other");
    else if (user_keys(call, &keys, &e) < 0)
        problem_warn(ps, at, "plugin ssh: no public key: give --ssh-public-key, or a private key that can be read (%s)",
                     e.text);
    if (str_empty(args->private_key) && !str_empty(args->public_key))
        problem_warn(ps, at, "plugin ssh: ssh-public-key without ssh-private-key is ignored; a new pair is made");
}

static bool runs_as_root(const struct json *pod_spec, bool when_unknown)
{
    JSON_FOREACH(c, json_get(pod_spec, "containers")) {
        int64_t pod = json_i64(json_find(pod_spec, "securityContext", "runAsUser", NULL), -1);
        int64_t user = json_i64(json_find(c, "securityContext", "runAsUser", NULL), pod); /* -1: the image decides */

        if (user == 0 || (user < 0 && when_unknown))
            return true;
    }
    return false;
}

/* What a template has that ssh will not like. */
static void ssh_check_template(struct plugin_call *call, const struct job_task *task, const struct place *at,
                               struct problems *ps)
{
    const struct ssh_args *args = call->args;
    const struct json *spec = job_task_pod_spec(task);
    bool is_root = runs_as_root(spec, str_is(path_clean(args->path), default_path));

    if (is_root && !args->copy && json_find(spec, "securityContext", "fsGroup", NULL))
        problem_warn(ps, at,
                     "plugin ssh: task \"%.*s\" has fsGroup, which opens the private key to its group, and ssh refuses "
                     "such a key; add --ssh-copy",
                     STR_ARG(task->name));
    if (ssh_port(call->arena, call->set) == PORT_SSH && json_bool(json_get(spec, "hostNetwork"), false) &&
        !plugin_set_args(call->set, "mpi")) /* which has said it */
        problem_warn(ps, at,
                     "plugin ssh: task \"%.*s\" uses the network of the node, where port 22 is usually taken; choose "
                     "another with --ssh-port",
                     STR_ARG(task->name));
}

/* One number cannot be right for both: say which was taken, and how to decide it. */
static void check_port(struct plugin_call *call, const struct place *at, struct problems *ps)
{
    int64_t port = ssh_port(call->arena, call->set), wanted = plugin_set_int(call->set, "mpi", "port", port);

    if (port != wanted && !plugin_set_given(call->set, "ssh", "ssh-port"))
        problem_warn(
            ps, at,
            "plugin ssh: the pods show that their sshd listens on port %lld, so that is in the ssh config, and "
            "not mpi's --port=%lld; --ssh-port decides it",
            (long long)port, (long long)wanted);
}

static void ssh_check(struct plugin_call *call, const struct place *at, struct problems *ps)
{
    check_values(call, at, ps);
    ssh_check_keys(call, at, ps);
    check_port(call, at, ps);
    for (size_t i = 0; i < call->job->spec.tasks.n; i++)
        ssh_check_template(call, &call->job->spec.tasks.v[i], at, ps);
    if (!plugin_set_args(call->set, "svc"))
        problem_warn(ps, at, "plugin ssh: without the svc plugin the host names in the ssh config do not resolve");
}

/* ---- what pods share ---- */

/* A value of a Secret, decoded into 'out'; false if it is missing or no base64. */
static bool secret_value(const struct json *secret, const char *key, struct buf *out)
{
    struct str text = json_member_text(json_get(secret, "data"), key);

    buf_reserve(out, text.n);
    return !str_empty(text) && buf_unbase64(out, text) == 0;
}

/* The public key of a private key in a Secret; empty if it cannot be read. */
static struct str public_from_secret(struct plugin_call *call, const struct json *secret, const char *private_key)
{
    autobuf pem = { 0 };
    struct str line = STR_NULL;

    if (secret_value(secret, private_key, &pem))
        (void)ssh_public_from_private(call->arena, buf_view(&pem), &line, NULL); /* else: stays empty */
    if (pem.p)
        OPENSSL_cleanse(pem.p, pem.cap);
    return line;
}

/* --ssh-key-secret: which names has it, and is the public key there? If we cannot see it, it is of type ssh-auth. */
static void foreign_look(struct plugin_call *call, struct ssh_state *s)
{
    const struct ssh_args *args = call->args;
    const struct json *secret = ssh_world_find(call, args->key_secret), *data = json_get(secret, "data");
    bool has_our_names = json_get(data, "id_rsa") && !json_get(data, "ssh-privatekey");
    const char *public_key = has_our_names ? "id_rsa.pub" : "ssh-publickey";

    s->has_foreign_keys = true;
    if (data && !json_get(data, public_key))
        s->derived_public = public_from_secret(call, secret, has_our_names ? "id_rsa" : "ssh-privatekey");
    for (size_t i = 0; i < ARRAY_LEN(key_files); i++) {
        const struct key_file *f = &key_files[i];

        if (has_our_names && json_get(data, f->name))
            s->foreign_key[i] = f->name;
        else if (f->is_private || str_empty(s->derived_public))
            s->foreign_key[i] = has_our_names ? public_key : f->in_auth;
    }
}

static int ssh_prepare(struct plugin_call *call, struct err *e)
{
    const struct ssh_args *args = call->args;
    struct ssh_state *s = arena_new(call->arena, struct ssh_state);

    (void)e;
    call->state = s;
    s->secret = arena_fmt(call->arena, "%.*s-ssh", STR_ARG(call->job->meta.name));
    s->path = path_clean(args->path);
    s->port = ssh_port(call->arena, call->set);
    if (mode_parse(args->key_mode, &s->mode) < 0)
        s->mode = -1;
    if (!str_empty(args->key_secret))
        foreign_look(call, s);
    else
        (void)user_keys(call, &s->user_keys, NULL); /* no public key: ssh_check() has warned */
    return 0;
}

/* ---- the Secret ---- */

static void data_add(struct plugin_call *call, struct json *data, const char *key, struct str value)
{
    autobuf text = { 0 };

    buf_reserve(&text, (value.n + 2) / 3 * 4);
    buf_base64(&text, value);
    json_set(data, key, mk_str(call, arena_str(call->arena, buf_view(&text))));
    OPENSSL_cleanse(text.p, text.cap);
}

static int ssh_make_keys(struct plugin_call *call, struct ssh_keys *ret, struct err *e)
{
    const struct ssh_args *args = call->args;
    const struct plugin_world *w = call->world;
    const char *type = arena_cstr(call->arena, args->key_type);

    return w->make_keys ? w->make_keys(w->ctx, call->arena, type, ret, e)
                        : ssh_keys_generate(call->arena, type, ret, e);
}

/* '*ret_waits': there are no keys yet. */
static int secret_fill(struct plugin_call *call, struct json *data, bool *ret_waits, struct err *e)
{
    const struct ssh_args *args = call->args;
    const struct ssh_state *s = call->state;
    struct ssh_keys keys = s->user_keys;
    autobuf config = { 0 };

    if (s->has_foreign_keys)
        keys = (struct ssh_keys){ STR_NULL, s->derived_public };
    else if (str_empty(keys.private_pem) && ssh_make_keys(call, &keys, e) < 0)
        return -1;
    *ret_waits = !s->has_foreign_keys && str_empty(keys.private_pem);
    if (*ret_waits)
        return 0;
    ssh_config_write(call, s->port, args->wildcard, &config);
    data_add(call, data, "config", buf_view(&config));
    if (!s->has_foreign_keys)
        data_add(call, data, "id_rsa", keys.private_pem);
    if (!s->has_foreign_keys || !str_empty(keys.public_line)) {
        data_add(call, data, "id_rsa.pub", keys.public_line);
        data_add(call, data, "authorized_keys", keys.public_line);
    }
    json_sort_keys(data, false);
    return 0;
}

static int ssh_objects(struct plugin_call *call, struct plugin_objects *out, struct err *e)
{
    const struct ssh_state *s = call->state;
    const struct json *found = ssh_world_find(call, s->secret);
    struct json *secret;
    bool waits;

    if (plugin_job_owns(call->job, found)) {
        *vec_push(out->arena, &out->list) = json_copy(call->arena, found);
        return 0;
    }
    secret = mk_owned(call, "v1", "Secret", s->secret);
    json_set(secret, "type", mk_str(call, STR("Opaque")));
    if (secret_fill(call, json_set(secret, "data", mk_object(call)), &waits, e) < 0)
        return -1;
    out->is_waiting |= waits;
    if (!waits)
        *vec_push(out->arena, &out->list) = secret;
    return 0;
}

/* ---- pods ---- */

static int64_t mode_of(struct plugin_call *call, const struct pod_draft *pod)
{
    const struct ssh_args *args = call->args;
    const struct ssh_state *s = call->state;

    if (s->mode >= 0)
        return s->mode;
    if (args->copy) /* only the copy is used as a key, and any user must be able to make it */
        return MODE_SHARED;
    return str_is(s->path, default_path) || runs_as_root(pod->spec, false) ? MODE_PRIVATE : MODE_SHARED;
}

/* items: [ { key, path: .ssh/<name> } ] */
static void item_add(struct plugin_call *call, struct json *source, const char *key, const char *name)
{
    struct json *items = json_get(source, "items"), *item;

    if (!items)
        items = json_set(source, "items", mk_array(call));
    item = json_push(items, mk_object(call));
    json_set(item, "key", mk_str(call, str_of(key)));
    json_set(item, "path", mk_str(call, arena_fmt(call->arena, ".ssh/%s", name)));
}

static struct json *source_add(struct plugin_call *call, struct json *sources, struct str secret)
{
    struct json *source = json_set(json_push(sources, mk_object(call)), "secret", mk_object(call));

    json_set(source, "name", mk_str(call, secret));
    return source;
}

/* --ssh-key-secret: keys from there, the config (and a derived public key) from our own. */
static void volume_projected(struct plugin_call *call, struct json *volume, int64_t mode)
{
    const struct ssh_args *args = call->args;
    const struct ssh_state *s = call->state;
    struct json *projected = json_set(volume, "projected", mk_object(call)), *sources, *theirs, *ours;

    json_set(projected, "defaultMode", mk_int(call, mode));
    sources = json_set(projected, "sources", mk_array(call));
    theirs = source_add(call, sources, args->key_secret);
    ours = source_add(call, sources, s->secret);
    for (size_t i = 0; i < ARRAY_LEN(key_files); i++)
        item_add(call, s->foreign_key[i] ? theirs : ours, s->foreign_key[i] ? s->foreign_key[i] : key_files[i].name,
                 key_files[i].name);
    item_add(call, ours, "config", "config");
}

static void volume_plain(struct plugin_call *call, struct json *volume, int64_t mode)
{
    const struct ssh_state *s = call->state;
    struct json *secret = json_set(volume, "secret", mk_object(call));

    json_set(secret, "secretName", mk_str(call, s->secret));
    for (size_t i = 0; i < ARRAY_LEN(key_files); i++)
        item_add(call, secret, key_files[i].name, key_files[i].name);
    item_add(call, secret, "config", "config");
    json_set(secret, "defaultMode", mk_int(call, mode));
}

static void add_volume(struct plugin_call *call, struct pod_draft *pod)
{
    const struct ssh_state *s = call->state;
    struct json *volume = pod_add_volume(call, pod, s->secret);

    if (!volume)
        return;
    if (s->has_foreign_keys)
        volume_projected(call, volume, mode_of(call, pod));
    else
        volume_plain(call, volume, mode_of(call, pod));
}

/* B9c: no mode helps when the kubelet adds group read to all files of the volume. The copy is made by a container that
 * runs first, as the same user as the pod's first container, into a directory of its own. */
static const char copy_name[] = "ssh-copy";
static const char copy_volume[] = "volcano-ssh-home";
static const char copy_script[] = "set -e\n"
                                  "umask 077\n"
                                  "mkdir -p /volcano/home/.ssh\n"
                                  "chmod 700 /volcano/home/.ssh\n"
                                  "for f in id_rsa id_rsa.pub authorized_keys config; do\n"
                                  "  cat /volcano/keys/.ssh/$f > /volcano/home/.ssh/$f\n"
                                  "  chmod 600 /volcano/home/.ssh/$f\n"
                                  "done\n";

static void add_copy_container(struct plugin_call *call, struct pod_draft *pod)
{
    static const char *const same_as_first[] = { "image", "imagePullPolicy", "resources", "securityContext" };
    const struct ssh_state *s = call->state;
    const struct json *first = pod_container_next(pod, POD_MAIN, NULL);
    struct json *copy = first ? pod_add_init_container(call, pod, str_of(copy_name)) : NULL;
    struct json *list = json_get(pod->spec, "initContainers");

    if (!copy)
        return;
    for (size_t i = 0; i < ARRAY_LEN(same_as_first); i++)
        container_copy_member(call, copy, first, same_as_first[i]);
    container_set_shell(call, copy, str_of(copy_script));
    container_mount(call, copy, s->secret, STR("/volcano/keys"), NULL);
    container_mount(call, copy, str_of(copy_volume), STR("/volcano/home"), NULL);
    json_unlink(list, copy); /* before the user's own, which may use ssh */
    json_insert(list, 0, copy);
}

static void add_copy(struct plugin_call *call, struct pod_draft *pod)
{
    const struct ssh_state *s = call->state;
    struct json *volume = pod_add_volume(call, pod, str_of(copy_volume));

    if (volume)
        json_set(json_set(volume, "emptyDir", mk_object(call)), "medium", mk_str(call, STR("Memory")));
    add_copy_container(call, pod);
    POD_FOREACH_CONTAINER(c, pod, POD_ALL)
        if (!str_is(json_member_text(c, "name"), copy_name))
            container_mount(call, c, str_of(copy_volume), s->path, ".ssh");
}

static int ssh_on_pod(struct plugin_call *call, struct pod_draft *pod, struct err *e)
{
    const struct ssh_args *args = call->args;
    const struct ssh_state *s = call->state;

    (void)e;
    add_volume(call, pod);
    if (args->copy)
        add_copy(call, pod);
    else
        POD_FOREACH_CONTAINER(c, pod, POD_ALL)
            container_mount(call, c, s->secret, args->path, ".ssh");
    return 0;
}

const struct job_plugin plugin_ssh = {
    .name = "ssh",
    .summary = "ssh between all pods of the job without passwords",
    .args = ssh_table,
    .n_args = ARRAY_LEN(ssh_table),
    .args_size = sizeof(struct ssh_args),
    .adds = ssh_adds,
    .check = ssh_check,
    .prepare = ssh_prepare,
    .objects = ssh_objects,
    .on_pod = ssh_on_pod,
};
