/* machine.c - this machine: where its files are, who its users are, images and devices */
#include "cli/machine.h"

#include "api/duration.h"
#include "api/name.h"
#include "api/quantity.h"
#include "base/util.h"
#include "node/device/device.h"
#include "node/doctor/host.h"
#include "image/image.h"
#include "image/puller.h"
#include "node/oci/oci.h"
#include "os/path.h"

#include <arpa/inet.h>
#include <limits.h>
#include <netdb.h>

static int absolute(struct arena *a, const char *path, struct str *ret, struct err *e)
{
    char here[PATH_MAX];

    if (path[0] == '/') {
        *ret = str_of(path);
        return 0;
    }
    if (!getcwd(here, sizeof(here)))
        return err_errno(e, "the directory we are in");
    *ret = arena_fmt(a, "%s/%s", here, path);
    return 0;
}

int machine_node_name(struct arena *a, const char *given, struct str *ret, struct err *e)
{
    char host[256] = "localhost";
    const char *problem;

    gethostname(host, sizeof(host) - 1);
    *ret = arena_str(a, str_of(given ? given : host));
    for (size_t i = 0; !given && i < ret->n; i++)
        ((char *)ret->p)[i] |= ret->p[i] >= 'A' && ret->p[i] <= 'Z' ? 0x20 : 0;
    problem = name_check_dns_subdomain(a, *ret);
    return problem ? err_set(e, ERR_INVALID, "--name %.*s: %s", STR_ARG(*ret), problem) : 0;
}

int machine_address(struct arena *a, struct str host, struct str port, struct str *ret, struct err *e)
{
    struct addrinfo hints = { .ai_family = AF_INET, .ai_socktype = SOCK_DGRAM }, *list;
    struct sockaddr_in own = { 0 };
    socklen_t size = sizeof(own);
    autoclose int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    char text[INET_ADDRSTRLEN];
    int rc;

    if (getaddrinfo(arena_cstr(a, host), arena_cstr(a, port), &hints, &list) != 0)
        return err_set(e, ERR_NOT_FOUND, "no IPv4 address of %.*s is known", STR_ARG(host));
    rc = connect(fd, list->ai_addr, list->ai_addrlen);
    freeaddrinfo(list);
    if (rc < 0 || getsockname(fd, (struct sockaddr *)&own, &size) < 0)
        return err_errno(e, "find the way to %.*s", STR_ARG(host));
    *ret = arena_str(a, str_of(inet_ntop(AF_INET, &own.sin_addr, text, sizeof(text))));
    return 0;
}

int machine_find(struct machine *m, const struct machine_options *o, struct err *e)
{
    struct str state = o->state ? str_of(o->state) : host_state_dir(m->arena);

    if (str_empty(state))
        return err_set(e, ERR_INVALID, "no home directory; use --state DIR");
    if (absolute(m->arena, arena_cstr(m->arena, state), &m->state, e) < 0)
        return err_wrap(e, "--state");
    return 0;
}

/* ---- images ---- */

const char *const machine_pull_names[] = {
    [AGENT_PULL_NEVER - 1] = "never", [AGENT_PULL_MISSING - 1] = "missing", [AGENT_PULL_ALWAYS - 1] = "always", NULL
};

static int pull_of(const char *name, const char *where, enum agent_pull *ret, struct err *e)
{
    *ret = AGENT_PULL_AS_SAID;
    if (!name || !*name)
        return 0;
    for (int i = 0; machine_pull_names[i]; i++)
        if (strcmp(name, machine_pull_names[i]) == 0) {
            *ret = (enum agent_pull)(i + 1);
            return 0;
        }
    return err_set(e, ERR_INVALID, "%s: must be never, missing or always (got %s)", where, name);
}

static int read_pull(const struct machine_options *o, enum agent_pull *ret, struct err *e)
{
    return o->pull ? pull_of(o->pull, "--pull", ret, e) : pull_of(getenv("PUMICE_PULL"), "PUMICE_PULL", ret, e);
}

const char *machine_image_store(const struct machine *m, const struct machine_options *o)
{
    return o->image_store ? o->image_store : arena_cstr(m->arena, arena_cat(m->arena, m->state, STR("/images")));
}

static int read_stall(const struct machine_options *o, int64_t *ret_ms, struct err *e)
{
    int64_t ns;

    if (!o->registry_timeout)
        return 0;
    if (duration_parse(str_of(o->registry_timeout), &ns, e) < 0)
        return err_wrap(e, "--registry-timeout");
    if (ns < 100 * 1000000LL || ns > 3600 * 1000000000LL)
        return err_set(e, ERR_INVALID, "--registry-timeout: must be between 100ms and 1h");
    *ret_ms = ns / 1000000;
    return 0;
}

int machine_registry(struct arena *a, const struct machine_options *o, struct registry_options *ret, struct err *e)
{
    *ret = (struct registry_options){ .auth_file = o->auth_file };
    if (read_stall(o, &ret->stall_ms, e) < 0)
        return -1;
    VEC_FOREACH(text, &o->mirror.list)
        *vec_push(a, &ret->mirrors) = str_of(*text);
    VEC_FOREACH(text, &o->insecure_registry.list)
        *vec_push(a, &ret->insecure) = str_of(*text);
    return registry_check(ret, e) < 0 ? err_wrap(e, "--mirror, --insecure-registry") : 0;
}

/* Short, so that a machine without a network fails fast. */
enum { CONNECT_MS = 4000 };

static int start_puller(struct machine *m, const struct machine_options *o, const char *store, struct err *e)
{
    struct puller_options *opt = arena_new(m->arena, struct puller_options);
    enum agent_pull pull;

    if (read_pull(o, &pull, e) < 0 || machine_registry(m->arena, o, &opt->registry, e) < 0)
        return -1;
    if (pull == AGENT_PULL_NEVER)
        return 0;
    opt->registry.connect_ms = CONNECT_MS;
    opt->store = store;
    return puller_start(opt, &m->puller, e);
}

static int find_images(struct machine *m, const struct machine_options *o, struct err *e)
{
    const char *store = machine_image_store(m, o);

    (void)images_sweep(store, NULL); /* leftovers do no harm */
    m->images = images_new(store);
    VEC_FOREACH(text, &o->image.list)
        if (images_add(m->images, str_of(*text), e) < 0)
            return err_wrap(e, "--image %s", *text);
    if (start_puller(m, o, store, e) < 0)
        return -1;
    m->devices = devices_new(&(struct device_options){ 0 });
    VEC_FOREACH(text, &o->device.list)
        if (devices_add(m->devices, str_of(*text), e) < 0)
            return err_wrap(e, "--device %s", *text);
    return 0;
}

int machine_prepare(struct machine *m, const struct machine_options *o, const struct agent_found *found, struct err *e)
{
    if (host_require(e) < 0 || (found ? agent_found_enter(found, &m->root, e) : user_enter(&m->root, e)) < 0)
        return -1;
    if (make_dirs(arena_cstr(m->arena, m->state), 0755, e) < 0)
        return err_wrap(e, "--state");
    return find_images(m, o, e);
}

void machine_done(struct machine *m)
{
    puller_stop(m->puller);
    if (m->images)
        images_free(m->images);
    if (m->devices)
        devices_free(m->devices);
}

/* ---- the agent ---- */

const char *const machine_network_names[] = {
    [AGENT_NET_AUTO] = "auto", [AGENT_NET_PRIVATE] = "private", [AGENT_NET_OPEN] = "open", [AGENT_NET_MAX] = NULL
};

static enum agent_network network_of(const char *name)
{
    for (int i = 0; name && i < AGENT_NET_MAX; i++)
        if (strcmp(name, machine_network_names[i]) == 0)
            return (enum agent_network)i;
    return AGENT_NET_AUTO;
}

int machine_agent(const struct machine *m, const struct machine_options *o, struct agent_options *ret, struct err *e)
{
    struct str claims = STR_NULL;

    ret->state_dir = arena_cstr(m->arena, m->state);
    ret->images = m->images;
    ret->puller = m->puller;
    if (read_pull(o, &ret->pull, e) < 0)
        return -1;
    ret->devices = m->devices;
    ret->network = network_of(o->network);
    if (o->auth_file) {
        struct str path;

        if (absolute(m->arena, o->auth_file, &path, e) < 0)
            return err_wrap(e, "--auth-file");
        ret->auth_file = arena_cstr(m->arena, path);
    }
    ret->allows_unfiltered = o->allow_unfiltered;
    if (o->runtime && oci_find(m->arena, o->runtime, &ret->oci_runtime, e) < 0)
        return err_wrap(e, "--runtime %s", o->runtime);
    if (!o->claims)
        return 0;
    if (absolute(m->arena, o->claims, &claims, e) < 0 || make_dirs(arena_cstr(m->arena, claims), 0755, e) < 0)
        return err_wrap(e, "--claims");
    ret->claims_dir = arena_cstr(m->arena, claims);
    return 0;
}

int machine_capacity(struct arena *a, struct str text, struct json **ret, struct err *e)
{
    struct json *amounts = json_object(a);
    struct str part;

    while (str_split(&text, ',', &part)) {
        ptrdiff_t eq = str_rfind_char(part, '=');
        struct quantity q;

        if (eq <= 0)
            return err_set(e, ERR_INVALID, "\"%.*s\" must be RESOURCE=AMOUNT, such as cpu=8", STR_ARG(part));
        if (quantity_parse(str_from(part, (size_t)eq + 1), &q, e) < 0)
            return err_wrap(e, "%.*s", STR_ARG(part));
        if (q.nano < 0)
            return err_set(e, ERR_INVALID, "%.*s: must not be negative", STR_ARG(part));
        json_set_key(amounts, str_sub(part, 0, (size_t)eq), json_str(a, str_from(part, (size_t)eq + 1)));
    }
    *ret = amounts;
    return 0;
}
