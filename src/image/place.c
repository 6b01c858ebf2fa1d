/* place.c - the servers for an image: its mirrors, then its registry */
#include "image/registry_internal.h"

#include "base/util.h"
#include "os/dir.h"
#include "os/io.h"

#include <fcntl.h>

enum { PEM_BYTES = 1 << 20 };

bool host_is_loopback(struct str host)
{
    ptrdiff_t colon = str_rfind_char(host, ':');

    if (colon > 0 && !str_ends(host, STR("]")))
        host = str_sub(host, 0, (size_t)colon);
    return str_is(host, "localhost") || str_ends(host, STR(".localhost")) || str_starts(host, STR("127.")) ||
           str_is(host, "[::1]");
}

static bool place_is_listed(const struct registry_options *o, struct str host)
{
    VEC_FOREACH(one, &o->insecure)
        if (str_eq(*one, host))
            return true;
    return false;
}

static int find_login(struct arena *a, const struct registry_options *o, const struct reference *ref,
                      struct registry_place *p, struct err *e)
{
    struct reference at = *ref;

    at.host = p->known;
    at.path = p->prefix.n ? arena_fmt(a, "%.*s/%.*s", STR_ARG(str_from(p->prefix, 1)), STR_ARG(ref->path)) : ref->path;
    if (str_eq(p->known, ref->host) && (o->login.user.n || o->login.identity.n)) {
        p->login = o->login;
        return 0;
    }
    return login_of_files(a, o->auth_file, &at, &p->login, e);
}

/* "HOST=[http[s]://]MIRROR[/PREFIX]" */
static int read_mirror(struct arena *a, struct str text, struct str *ret_of, struct registry_place *ret, struct err *e)
{
    ptrdiff_t equals = str_find_char(text, '='), slash;
    struct reference check;
    struct str at;

    *ret = (struct registry_place){ 0 };
    at = str_from(text, (size_t)(equals + 1));
    if (str_starts(at, STR("http://"))) {
        at = str_from(at, 7);
        ret->is_plain = true; /* who writes so has said so */
    } else if (str_starts(at, STR("https://"))) {
        at = str_from(at, 8);
    }
    while (str_ends(at, STR("/")))
        at.n--;
    slash = str_find_char(at, '/');
    ret->host = ret->known = slash < 0 ? at : str_sub(at, 0, (size_t)slash);
    ret->prefix = slash < 0 ? STR("") : str_from(at, (size_t)slash);
    *ret_of = str_sub(text, 0, (size_t)MAX_OF(equals, 0));
    if (equals <= 0 ||
        reference_parse(a, arena_fmt(a, "%.*s%.*s/x", STR_ARG(ret->host), STR_ARG(ret->prefix)), &check, NULL) < 0 ||
        !str_eq(check.host, ret->host))
        return err_set(e, ERR_INVALID, "\"%.*s\": must be HOST=MIRROR, for example docker.io=mirror.example.com:5000",
                       STR_ARG(text));
    return 0;
}

int registry_check(const struct registry_options *o, struct err *e)
{
    autoarena a = { 0 };
    struct reference check;
    struct registry_place p;
    struct str of;

    VEC_FOREACH(mirror, &o->mirrors)
        if (read_mirror(&a, *mirror, &of, &p, e) < 0)
            return -1;
    VEC_FOREACH(host, &o->insecure)
        if (reference_parse(&a, arena_fmt(&a, "%.*s/x", STR_ARG(*host)), &check, NULL) < 0 ||
            !str_eq(check.host, *host))
            return err_set(e, ERR_INVALID, "\"%.*s\": must be HOST or HOST:PORT of a registry", STR_ARG(*host));
    return 0;
}

int registry_find_places(struct registry *r, struct err *e)
{
    struct arena *a = &r->arena;
    const struct registry_options *o = r->options;
    const struct reference *ref = r->reference;
    VEC(struct registry_place) all = { 0 };
    struct registry_place p;
    struct str of;

    VEC_FOREACH(mirror, &o->mirrors) {
        if (read_mirror(a, *mirror, &of, &p, e) < 0)
            return -1;
        if (str_eq(of, ref->host))
            *vec_push(a, &all) = p;
    }
    *vec_push(a, &all) = (struct registry_place){
        .host = str_is(ref->host, "docker.io") ? STR("registry-1.docker.io") : ref->host,
        .known = ref->host,
        .prefix = STR(""),
    };
    VEC_FOREACH(one, &all) {
        one->is_insecure = place_is_listed(o, one->known);
        one->may_be_plain = one->is_insecure || host_is_loopback(one->host);
        if (find_login(a, o, ref, one, e) < 0)
            return -1;
    }
    r->places = all.v;
    r->n_places = all.n;
    return 0;
}

/* ---- certificates ---- */

static void take_dir(struct arena *a, struct str path, struct http_tls *ret)
{
    autodir *d = dir_open(AT_FDCWD, path.p);
    autobuf all = { 0 };

    if (!d)
        return;
    for (struct dirent *entry; (entry = dir_next(d));)
        if (str_ends(str_of(entry->d_name), STR(".crt")))
            (void)file_read(dirfd(d), entry->d_name, 0, PEM_BYTES,
                            &all); /* on failure the server is not trusted, which is an error later */
    ret->ca_pem = arena_str(a, buf_view(&all));
    if (faccessat(dirfd(d), "client.cert", R_OK, 0) == 0 && faccessat(dirfd(d), "client.key", R_OK, 0) == 0) {
        ret->cert_file = arena_fmt(a, "%.*s/client.cert", STR_ARG(path));
        ret->key_file = arena_fmt(a, "%.*s/client.key", STR_ARG(path));
    }
}

void place_tls(struct arena *a, struct str host, struct http_tls *ret)
{
    const char *home = getenv("HOME"), *config = getenv("XDG_CONFIG_HOME");
    const struct str dirs[] = {
        config && *config ? arena_fmt(a, "%s/containers", config)
                          : arena_fmt(a, "%s/.config/containers", home ? home : ""),
        STR("/etc/containers"),
        STR("/etc/docker"),
    };

    for (size_t i = 0; i < ARRAY_LEN(dirs) && !ret->ca_pem.n; i++)
        take_dir(a, arena_fmt(a, "%.*s/certs.d/%.*s", STR_ARG(dirs[i]), STR_ARG(host)), ret);
}
