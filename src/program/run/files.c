/* files.c - files of this machine in the pods: --mount, --here, --workdir, and hostPaths that are relative
 *
 * All of them become hostPath volumes of the pods, before admission: what is said about a hostPath in a file holds for
 * them too.
 */
#include "program/run/documents.h"

#include "api/pod/container.h"
#include "api/meta.h"
#include "base/util.h"
#include "program/run/options.h"

#include <errno.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

struct files_mount { /* of one flag */
    struct str host; /* as it was given */
    struct str pod;  /* empty: where the host has it */
    bool is_readonly;
    const char *name; /* of the volume */
};

/* ---- pods ---- */

struct pod { /* a pod of the files, or a template of pods */
    struct json *spec;
    const char *file;
};

struct pods {
    struct arena *arena;
    VEC(struct pod) list;
};

/* Malformed volumes are skipped; admission reports them. */
static void files_add_pod(struct pods *p, struct json *spec, const char *file)
{
    if (json_is(spec, JSON_OBJECT))
        *vec_push(p->arena, &p->list) = (struct pod){ spec, file };
}

static void find_pods(struct load *l, struct pods *ret)
{
    *ret = (struct pods){ .arena = l->arena };
    VEC_FOREACH(at, &l->docs) {
        const struct loaded *doc = *at;

        if (doc->type && strcmp(doc->type->kind, "Pod") == 0)
            files_add_pod(ret, json_get(doc->root, "spec"), doc->file);
        JSON_FOREACH(task, doc->type ? json_find(doc->root, "spec", "tasks", NULL) : NULL)
            files_add_pod(ret, json_find(task, "template", "spec", NULL), doc->file);
    }
}

static void each_container(struct arena *a, struct json *spec,
                           void (*change)(struct arena *a, struct json *container, const void *ctx), const void *ctx)
{
    CONTAINER_FOREACH(c, spec)
        if (json_is(c, JSON_OBJECT))
            change(a, c, ctx);
}

/* ---- paths ---- */

/* Empty: it was deleted, or its path cannot be found. */
static struct str working_dir(struct arena *a)
{
    char path[PATH_MAX];

    return getcwd(path, sizeof(path)) ? arena_str(a, str_of(path)) : STR_NULL;
}

static struct str dir_of(struct arena *a, const char *file)
{
    ptrdiff_t slash = str_rfind_char(str_of(file), '/');
    char path[PATH_MAX];

    if (slash < 0 || strcmp(file, "-") == 0)
        return working_dir(a);
    return realpath(arena_cstr(a, str_sub(str_of(file), 0, (size_t)slash + 1)), path) ? arena_str(a, str_of(path))
                                                                                      : working_dir(a);
}

/* "/a/b" and "../c/./d": "/a/c/d". By the text: what it names may be made later. Empty where 'dir' is and it matters. */
static struct str files_join(struct arena *a, struct str dir, struct str path)
{
    struct str rest = arena_fmt(a, "%.*s/%.*s", STR_ARG(str_starts(path, STR("/")) ? STR("") : dir), STR_ARG(path));
    struct str part;
    autobuf out = { 0 };

    if (str_empty(dir) && !str_starts(path, STR("/")))
        return STR_NULL;
    while (str_split(&rest, '/', &part))
        if (str_is(part, ".."))
            out.n = (size_t)MAX_OF(str_rfind_char(buf_view(&out), '/'), 0);
        else if (part.n && !str_is(part, "."))
            buf_fmt(&out, "/%.*s", STR_ARG(part));
    return out.n ? arena_str(a, buf_view(&out)) : STR("/");
}

/* "./x" is seen from where the user is, as a shell sees it; "x" lies beside the file that needs it. */
static struct str host_path(struct arena *a, struct str path, const char *file)
{
    bool is_here = str_is(path, ".") || str_is(path, "..") || str_starts(path, STR("./")) ||
                   str_starts(path, STR("../"));

    return files_join(a, is_here ? working_dir(a) : dir_of(a, file), path);
}

/* ---- hostPaths of the files ---- */

static void make_absolute(struct pods *pods)
{
    struct arena *a = pods->arena;

    VEC_FOREACH(pod, &pods->list)
        JSON_FOREACH(volume, json_get(pod->spec, "volumes")) {
            struct json *source = json_get(volume, "hostPath");
            struct str path = json_member_text(source, "path");

            struct str whole = path.n ? files_join(a, dir_of(a, pod->file), path) : path;

            if (whole.n && path.p[0] != '/')
                json_set(source, "path", json_str(a, whole));
        }
}

/* ---- --mount ---- */

/* A path in a pod begins with '/' and has no ':', so one of ours may have some. */
static int files_parse(struct str text, struct files_mount *ret, struct err *e)
{
    const char *place = memmem(text.p, text.n, ":/", 2);
    ptrdiff_t colon = place ? place - text.p : str_find_char(text, ':');
    struct str rest = colon < 0 ? STR_NULL : str_from(text, (size_t)colon + 1), how;

    ret->host = colon < 0 ? text : str_sub(text, 0, (size_t)colon);
    colon = str_find_char(rest, ':');
    ret->pod = colon < 0 ? rest : str_sub(rest, 0, (size_t)colon);
    how = colon < 0 ? STR_NULL : str_from(rest, (size_t)colon + 1);
    if (str_empty(ret->host) || (how.n && !str_is(how, "ro") && !str_is(how, "rw")))
        return err_set(e, ERR_INVALID, "must be HOST, HOST:POD or HOST:POD:ro");
    if (ret->pod.n && (ret->pod.p[0] != '/' || str_is(ret->pod, "/")))
        return err_set(e, ERR_INVALID, "\"%.*s\" must be an absolute path below /", STR_ARG(ret->pod));
    ret->is_readonly = str_is(how, "ro");
    return 0;
}

struct files_placed {
    const struct files_mount *mount;
    struct str path; /* in the pod */
};

/* In the place of what the file has there. */
static void mount_in(struct arena *a, struct json *container, const void *ctx)
{
    const struct files_placed *p = ctx;
    struct json *list = json_need_array(a, container, "volumeMounts"), *entry;

    if (!list) /* admission says what is wrong there */
        return;
    JSON_FOREACH(old, list)
        if (str_eq(json_member_text(old, "mountPath"), p->path))
            json_unlink(list, old);
    entry = json_push(list, json_object(a));
    json_set(entry, "name", json_str(a, str_of(p->mount->name)));
    json_set(entry, "mountPath", json_str(a, p->path));
    if (p->mount->is_readonly)
        json_set(entry, "readOnly", json_bool_new(a, true));
}

static int mount_pod(struct arena *a, const struct pod *pod, const struct files_mount *m, struct err *e)
{
    struct str host = host_path(a, m->host, pod->file);
    struct files_placed placed = { m, m->pod.n ? m->pod : host };
    struct json *volumes = json_need_array(a, pod->spec, "volumes"), *volume;
    struct stat st;

    if (str_empty(host))
        return err_set(e, ERR_NOT_FOUND, "the current directory was deleted; change to another");
    if (stat(arena_cstr(a, host), &st) < 0)
        return err_set(e, ERR_NOT_FOUND, "%.*s: %s", STR_ARG(host), strerror(errno));
    if (str_is(placed.path, "/"))
        return err_set(e, ERR_INVALID, "/ of this machine cannot be / of a pod; use --mount HOST:POD");
    if (str_has_char(placed.path, ':'))
        return err_set(e, ERR_INVALID, "\"%.*s\" has a ':', which a path in a pod must not have; use --mount HOST:POD",
                       STR_ARG(placed.path));
    if (!volumes)
        return 0;
    volume = json_push(volumes, json_object(a));
    json_set(volume, "name", json_str(a, str_of(m->name)));
    json_set(json_set(volume, "hostPath", json_object(a)), "path", json_str(a, host));
    each_container(a, pod->spec, mount_in, &placed);
    return 0;
}

static int mount_all(struct pods *pods, struct files_mount *m, size_t number, struct err *e)
{
    m->name = arena_fmt(pods->arena, "pumice-mount-%zu", number).p;
    VEC_FOREACH(pod, &pods->list)
        if (mount_pod(pods->arena, pod, m, e) < 0)
            return -1;
    return 0;
}

/* ---- --workdir ---- */

static void set_workdir(struct arena *a, struct json *container, const void *ctx)
{
    json_set(container, "workingDir", json_str(a, *(const struct str *)ctx));
}

static int change_workdir(struct pods *pods, struct str dir, struct err *e)
{
    if (str_empty(dir) || dir.p[0] != '/')
        return err_set(e, ERR_INVALID, "\"%.*s\" must be an absolute path", STR_ARG(dir));
    VEC_FOREACH(pod, &pods->list)
        each_container(pods->arena, pod->spec, set_workdir, &dir);
    return 0;
}

/* ---- all of them ---- */

static int go_here(struct pods *pods, bool has_workdir, struct err *e)
{
    struct files_mount m = { .host = STR(".") };

    if (mount_all(pods, &m, 0, e) < 0)
        return -1;
    return has_workdir ? 0 : change_workdir(pods, working_dir(pods->arena), e);
}

int run_place_files(struct load *l, const struct run_options *o, struct err *e)
{
    struct pods pods;

    find_pods(l, &pods);
    make_absolute(&pods);
    if (o->restricted && (o->here || o->mounts.list.n))
        return err_set(e, ERR_INVALID, "--%s: --restricted refuses files of this machine in pods",
                       o->here ? "here" : "mount");
    if (o->here && go_here(&pods, o->workdir, e) < 0)
        return err_wrap(e, "--here");
    for (size_t i = 0; i < o->mounts.list.n; i++) {
        struct files_mount m = { 0 };

        if (files_parse(str_of(o->mounts.list.v[i]), &m, e) < 0 || mount_all(&pods, &m, i + 1, e) < 0)
            return err_wrap(e, "--mount %s", o->mounts.list.v[i]);
    }
    if (o->workdir && change_workdir(&pods, str_of(o->workdir), e) < 0)
        return err_wrap(e, "--workdir");
    return 0;
}
