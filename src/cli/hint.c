/* hint.c - what the user can do about a problem here and now */
#include "cli/hint.h"

#include "api/pod/container.h"
#include "api/quantity.h"
#include "base/util.h"
#include "cli/pod_specs.h"
#include "image/image.h"
#include "os/proc.h"
#include "image/reference.h"

#include <limits.h>

/* ---- a program that is not there ---- */

static const struct pod_spec *spec_of(const struct pod_specs *all, const struct history_failure *w)
{
    VEC_FOREACH(p, &all->list)
        if (str_eq(p->job, w->job) && str_eq(p->task, w->task) && str_eq(p->namespace, w->namespace) &&
            (w->job.n || str_eq(p->name, w->pod)))
            return p;
    return NULL;
}

static struct str hint_unquoted(struct str s)
{
    static const char *const quotes[] = { "'", "\"", "`", "\xe2\x80\x98", "\xe2\x80\x99" };

    s = str_trim(s);
    for (size_t i = 0; i < ARRAY_LEN(quotes); i++) {
        if (str_starts(s, str_of(quotes[i])))
            s = str_from(s, strlen(quotes[i]));
        if (str_ends(s, str_of(quotes[i])))
            s.n -= strlen(quotes[i]);
    }
    return s;
}

/* "sh: 1: trainer: not found", "bash: line 1: trainer: command not found", "env: 'trainer': No such file or directory"
 * → trainer. */
static struct str program_in(struct str lines)
{
    static const char *const ends[] = { ": not found", ": command not found", ": No such file or directory" };
    struct str line, found = STR_NULL;

    while (str_split(&lines, '\n', &line)) {
        line = str_trim(line);
        for (size_t i = 0; i < ARRAY_LEN(ends); i++)
            if (str_ends(line, str_of(ends[i]))) {
                struct str front = str_sub(line, 0, line.n - strlen(ends[i]));

                found = hint_unquoted(str_from(front, (size_t)(str_rfind_char(front, ':') + 1)));
            }
    }
    return found;
}

#define POD_PATH                                                                                                       \
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" /* of a container that says nothing else */

/* Pods have their own of these. */
static bool is_hidden(struct str dir)
{
    static const char *const own[] = { "/tmp", "/run", "/dev", "/proc", "/sys" };
    struct str rest = dir, top;

    (void)str_split(&rest, '/', &top);
    (void)str_split(&rest, '/', &top);
    for (size_t i = 0; i < ARRAY_LEN(own); i++)
        if (str_is(top, own[i] + 1))
            return true;
    return false;
}

/* The directory of 'path' that has it; empty: none. */
static struct str dir_of(struct arena *a, const char *path, struct str name)
{
    char found[PATH_MAX];

    if (!name.n || !proc_find_in(str_of(path), arena_cstr(a, name), is_hidden, found, sizeof(found)))
        return STR_NULL;
    return arena_str(a, str_sub(str_of(found), 0, (size_t)str_rfind_char(str_of(found), '/')));
}

/* python → python3, pip → pip3; python3.11 → python3, python. */
static struct str another(struct arena *a, struct str name)
{
    struct str longer = arena_fmt(a, "%.*s3", STR_ARG(name));

    if (dir_of(a, POD_PATH, longer).n)
        return longer;
    for (; name.n > 1 && strchr("0123456789.", name.p[name.n - 1]);) {
        name.n--;
        if (dir_of(a, POD_PATH, name).n)
            return name;
    }
    return STR_NULL;
}

struct hint_missing { /* a program */
    struct str name, image;
    const struct pod_spec *pod;
    const struct json *container;
    bool is_command; /* the container's own, not one in a script of it */
    bool is_host;    /* its files are the host's */
    enum image_from from;
};

static bool find_missing(const struct hints *h, const struct pod_specs *all, const struct history_failure *w,
                         struct hint_missing *ret)
{
    bool is_start = str_is(w->reason, "StartError") || str_is(w->reason, "ContainerCannotRun");

    if (!h->images || (!is_start && w->exit_code != 127) || !(ret->pod = spec_of(all, w)) ||
        !(ret->container = container_named(ret->pod->spec, w->container)))
        return false;
    ret->image = json_member_text(ret->container, "image");
    ret->is_command = is_start;
    ret->name = is_start ? json_text(json_at(json_get(ret->container, "command"), 0), STR_NULL) : program_in(w->tail);
    ret->from = images_find(h->images, ret->image)->from;
    ret->is_host = images_find(h->images, ret->image)->root.n == 0;
    return (ret->is_host || ret->from == IMAGE_STORED) && ret->name.n;
}

/* An image was pulled, and the job was meant for what this machine has. */
static void tell_lacking(struct buf *out, struct arena *a, const struct hint_missing *m)
{
    if (str_has_char(m->name, '/') ? access(arena_cstr(a, m->name), X_OK) == 0 : dir_of(a, POD_PATH, m->name).n > 0)
        buf_fmt(out, "image \"%.*s\" has no %.*s, but this machine has; to use the host's files: --image %.*s=host",
                STR_ARG(m->image), STR_ARG(m->name), STR_ARG(m->image));
}

static void tell_missing(struct buf *out, struct arena *a, const struct hint_missing *m)
{
    bool is_path = str_has_char(m->name, '/');
    struct str dir = is_path ? STR_NULL : dir_of(a, getenv("PATH"), m->name),
               other = is_path ? STR_NULL : another(a, m->name);

    if (!is_path && dir_of(a, POD_PATH, m->name).n) /* it is there: this is about something else */
        return;

    if (dir.n) {
        buf_fmt(out, "%.*s is in %.*s here, which is not in the container's PATH: -e PATH=\"$PATH\"", STR_ARG(m->name),
                STR_ARG(dir));
        return;
    }
    buf_fmt(out, "image \"%.*s\" uses the host's files, and the host has no %.*s", STR_ARG(m->image), STR_ARG(m->name));
    if (other.n && m->is_command)
        buf_fmt(out, ", but %.*s: --set '%.*s.containers[%.*s].command[0]=%.*s'", STR_ARG(other), STR_ARG(m->pod->path),
                STR_ARG(json_member_text(m->container, "name")), STR_ARG(other));
    else
        buf_fmt(out, "%s%.*s; to use the image's own files: --image %.*s=DIR", other.n ? ", but " : "", STR_ARG(other),
                STR_ARG(m->image));
}

void hint_failure(struct buf *out, const struct hints *h, const struct history_failure *w)
{
    autoarena a = { 0 };
    struct pod_specs all;
    struct hint_missing m = { 0 };

    if (!h || !h->load)
        return;
    pod_specs_of(&a, h->load, &all);
    if (!find_missing(h, &all, w, &m))
        return;
    if (m.is_host)
        tell_missing(out, &a, &m);
    else
        tell_lacking(out, &a, &m);
}

/* ---- what does not fit ---- */

/* What one pod asks for; where only a limit is given, that is the request. */
static struct quantity ask_of(const struct json *pod, struct str resource)
{
    struct quantity sum = { 0 }, one;

    JSON_FOREACH(c, json_get(pod, "containers")) {
        const struct json *asked = NULL;

        JSON_FOREACH(list, json_get(c, "resources"))
            JSON_FOREACH(amount, list)
                if (str_eq(json_key(amount), resource) && (!asked || str_is(json_key(list), "requests")))
                    asked = amount;
        if (json_is(asked, JSON_NUMBER))
            sum = quantity_add(sum, quantity_of_i64(json_i64(asked, 0), QUANTITY_DECIMAL_SI));
        else if (quantity_parse(json_text(asked, STR_NULL), &one, NULL) == 0)
            sum = quantity_add(sum, one);
    }
    return sum;
}

static struct str sum_of(struct arena *a, const struct pod_specs *all, struct str namespace, struct str job,
                         struct str resource)
{
    struct quantity sum = { 0 };
    autobuf text = { 0 };

    VEC_FOREACH(p, &all->list)
        if (str_eq(p->job, job) && str_eq(p->namespace, namespace))
            sum = quantity_add(sum, quantity_mul(ask_of(p->spec, resource), p->replicas));
    if (!sum.nano)
        return STR_NULL;
    quantity_print(&text, sum);
    return arena_str(a, buf_view(&text));
}

/* "1 Insufficient cpu, 1 Insufficient nvidia.com/gpu." → each in turn. */
static bool next_short(struct str *why, struct str *ret)
{
    struct str sign = STR("Insufficient ");
    const char *at = why->n ? memmem(why->p, why->n, sign.p, sign.n) : NULL;
    size_t n = 0;

    if (!at)
        return false;
    *why = str_from(*why, (size_t)(at - why->p) + sign.n);
    while (n < why->n && !strchr(" ,;", why->p[n]))
        n++;
    *ret = str_sub(*why, 0, n && why->p[n - 1] == '.' ? n - 1 : n);
    return true;
}

/* A port of the machine that another pod has: which field it is, and what reaches several pods. */
static void tell_port(struct buf *out, const struct pod_specs *all, struct str namespace, struct str job)
{
    VEC_FOREACH(p, &all->list) {
        if (!str_eq(p->namespace, namespace) || !str_eq(p->job, job))
            continue;
        JSON_FOREACH(c, json_get(p->spec, "containers"))
            JSON_FOREACH(port, json_get(c, "ports"))
                if (json_i64(json_get(port, "hostPort"), 0)) {
                    buf_fmt(out,
                            "only one pod can have hostPort %lld (%.*s.containers[%.*s]): leave hostPort out, and "
                            "publish a port for each pod: --publish PORT:POD:%lld",
                            (long long)json_i64(json_get(port, "hostPort"), 0), STR_ARG(p->path),
                            STR_ARG(json_member_text(c, "name")),
                            (long long)json_i64(json_get(port, "containerPort"), 0));
                    return;
                }
    }
}

void hint_wait(struct buf *out, const struct hints *h, struct str namespace, struct str job, struct str why)
{
    autoarena a = { 0 };
    autobuf amounts = { 0 };
    struct pod_specs all;
    struct str resource, sum;
    bool is_device = false;

    if (!h || !h->load)
        return;
    pod_specs_of(&a, h->load, &all);
    if (str_has(why, STR("free ports for the requested pod ports")))
        tell_port(out, &all, namespace, job);
    while (next_short(&why, &resource)) {
        sum = sum_of(&a, &all, namespace, job, resource);
        if (!sum.n)
            continue;
        buf_fmt(&amounts, "%s%.*s=%.*s", amounts.n ? "," : "", STR_ARG(resource), STR_ARG(sum));
        is_device |= str_has_char(resource, '/');
    }
    if (amounts.n)
        buf_fmt(
            out, "%s%s: --node %s", out->n ? "; " : "",
            is_device
                ? "'pumice doctor' lists the devices of this machine; to run without them: --fit; to schedule as if "
                  "they were there"
                : "to scale the requests down to this machine: --fit; to schedule as if the machine were large enough",
            amounts.p);
}

/* ---- images that no pod uses ---- */

/* "busybox" and "docker.io/library/busybox:latest". */
static bool is_same_image(struct arena *a, struct str one, struct str other)
{
    struct str x, y;

    return reference_normal(a, one, &x, NULL) == 0 && reference_normal(a, other, &y, NULL) == 0 && str_eq(x, y);
}

void hint_image(struct buf *out, const struct hints *h, struct str option)
{
    autoarena a = { 0 };
    autobuf names = { 0 };
    struct pod_specs all;
    ptrdiff_t eq = str_find_char(option, '=');
    struct str name = str_sub(option, 0, (size_t)MAX_OF(eq, 0)), root;

    bool is_host = str_is(str_from(option, (size_t)(eq + 1)), "host"); /* others may have the host's files as well */

    if (eq <= 0 || str_is(name, "*"))
        return;
    root = images_find(h->images, name)->root;
    pod_specs_of(&a, h->load, &all);
    VEC_FOREACH(p, &all.list) {
        CONTAINER_FOREACH(c, p->spec) {
            struct str image = json_member_text(c, "image");

            if (is_host ? is_same_image(&a, image, name) : str_eq(images_find(h->images, image)->root, root))
                return;
            if (!str_has(buf_view(&names), arena_fmt(&a, "\"%.*s\"", STR_ARG(image))))
                buf_fmt(&names, "%s\"%.*s\"", names.n ? ", " : "", STR_ARG(image));
        }
    }
    if (names.n)
        buf_fmt(out, "--image %.*s: no container has this image; they have %s. For all of them: --image '*=%.*s'",
                STR_ARG(name), names.p, STR_ARG(str_from(option, (size_t)eq + 1)));
}
