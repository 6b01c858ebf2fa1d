/* agent_written.c - files that pods wrote and that are removed with them
 *
 * Reported when a sandbox is unmade: the processes of the pod have ended, and its files are about to be removed. A file
 * to keep is left out of that, or moved to the layers if it is below a volume; it is removed with the run.
 */
#include "node/agent/agent_internal.h"

#include "os/dir.h"
#include "os/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

/* ---- files that are not the work of a pod ---- */

/* Records of logins, what belongs to running programs, and what Python makes again by itself. */
static const char *const noise_paths[] = { "/var/log/wtmp",    "/var/log/btmp", "/var/log/lastlog",
                                           "/var/log/faillog", "/etc/mtab",     "/run" };
static const char *const noise_dirs[] = { "__pycache__" };

static bool agent_written_is_one_of(const char *const *list, size_t n, struct str text)
{
    for (size_t i = 0; i < n; i++)
        if (str_is(text, list[i]))
            return true;
    return false;
}

/* Has the machine a link there too, or is it the place for a file of the machine? */
static bool is_of_host(const struct tree_entry *entry)
{
    char path[PATH_MAX];
    struct stat st;

    if (S_ISDIR(entry->st.st_mode) || (S_ISREG(entry->st.st_mode) && entry->st.st_size))
        return false;
    (void)snprintf(path, sizeof(path), "%.*s", STR_ARG(entry->path));
    return fstatat(AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           (st.st_mode & S_IFMT) == (entry->st.st_mode & S_IFMT);
}

bool agent_written_is_ours(const struct agent_written *w, const struct tree_entry *entry)
{
    struct str below = w->at.n > 1 ? w->at : STR(""), path = entry->path;

    if (S_ISDIR(entry->st.st_mode) && agent_written_is_one_of(noise_dirs, ARRAY_LEN(noise_dirs), str_of(entry->name)))
        return true;
    if (w->at.n <= 1 && agent_written_is_one_of(noise_paths, ARRAY_LEN(noise_paths), path))
        return true;
    for (size_t i = 0; i < w->n_mounts; i++)
        if (w->mounts[i].n == below.n + path.n && str_starts(w->mounts[i], below) && str_ends(w->mounts[i], path))
            return true;
    return w->is_composed && is_of_host(entry);
}

void agent_layer_mounts(struct agent_pod *p, const struct box_spec *s)
{
    struct agent_layer *l = &p->layers.v[p->layers.n - 1];
    struct str *mounts;

    if (!p->agent->opt.hooks.written)
        return;
    mounts = arena_array(&p->arena, struct str, s->mounts.n + 1);
    VEC_FOREACH(m, &s->mounts)
        mounts[l->n_mounts++] = arena_str(&p->arena, m->target);
    l->mounts = mounts;
}

/* ---- telling ---- */

static bool is_only(const struct agent_pod *p)
{
    const struct json *spec = json_get(p->object->root, "spec");

    return json_count(json_get(spec, "containers")) + json_count(json_get(spec, "initContainers")) == 1;
}

static bool agent_written_tell(struct agent_pod *p, const struct agent_layer *l, struct agent_written *w)
{
    const struct agent_hooks *hooks = &p->agent->opt.hooks;

    w->namespace = p->object->namespace;
    w->pod = p->object->name;
    w->uid = p->object->uid;
    w->container = l->container;
    w->attempt = l->attempt;
    w->is_only = is_only(p);
    w->mounts = l->mounts;
    w->n_mounts = l->n_mounts;
    return w->fd >= 0 && hooks->written(hooks->ctx, w);
}

/* "upper0" lies where "at0" says; see box.h. */
static struct str agent_written_place_of(struct arena *a, int dir, const char *name)
{
    char at[32], path[PATH_MAX];
    ssize_t n;

    if (strncmp(name, "tmp", 3) == 0)
        return STR("/tmp");
    (void)snprintf(at, sizeof(at), "at%.20s", name + strcspn(name, "0123456789"));
    n = readlinkat(dir, at, path, sizeof(path));
    return n <= 0 ? STR("/") : arena_str(a, (struct str){ path, (size_t)n });
}

static void tell_layer(struct agent_pod *p, struct agent_layer *l)
{
    static const char *const kinds[] = { "upper", "root", "tmp" };
    autoarena a = { 0 };
    autodir *d = dir_open(p->agent->run.dir_fd, l->dir.p);

    for (struct dirent *entry; (entry = dir_next(d));) {
        autoclose int fd = -1;
        struct agent_written w;
        size_t kind = 0;

        while (kind < ARRAY_LEN(kinds) && strncmp(entry->d_name, kinds[kind], strlen(kinds[kind])) != 0)
            kind++;
        if (kind == ARRAY_LEN(kinds))
            continue;
        fd = openat(dirfd(d), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        w = (struct agent_written){ .at = agent_written_place_of(&a, dirfd(d), entry->d_name),
                                    .fd = fd,
                                    .path = arena_fmt(&a, "%s/%s/%s", p->agent->run.dir.p, l->dir.p, entry->d_name),
                                    .is_composed = kind == 1 };
        l->is_kept |= agent_written_tell(p, l, &w);
    }
}

/* ---- emptyDirs ---- */

/* The container that sees all of the volume first, and where. */
static struct str mount_path(const struct agent_pod *p, struct str volume, struct str *ret_container)
{
    static const char *const lists[] = { "containers", "initContainers" };

    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        JSON_FOREACH(c, json_find(p->object->root, "spec", lists[i], NULL))
            JSON_FOREACH(m, json_get(c, "volumeMounts")) {
                struct str at = json_member_text(m, "mountPath");

                if (!str_eq(json_member_text(m, "name"), volume) || json_get(m, "subPath") ||
                    json_get(m, "subPathExpr") || !str_starts(at, STR("/")))
                    continue;
                while (at.n > 1 && at.p[at.n - 1] == '/')
                    at.n--;
                *ret_container = json_member_text(c, "name");
                return at;
            }
    return STR_NULL;
}

static struct agent_layer *newest_layer(struct agent_pod *p, struct str container)
{
    struct agent_layer *newest = NULL;

    VEC_FOREACH(l, &p->layers)
        if (!container.n || str_eq(l->container, container))
            newest = l;
    return newest;
}

static void tell_volume(struct agent_pod *p, const struct json *volume)
{
    autoarena a = { 0 };
    struct str name = json_member_text(volume, "name"), container = STR_NULL, at = mount_path(p, name, &container);
    struct str from = arena_fmt(&a, "pods/%.*s/volumes/data/%.*s", STR_ARG(p->object->uid), STR_ARG(name)),
               to = arena_fmt(&a, "layers/%.*s.volume-%.*s", STR_ARG(p->object->uid), STR_ARG(name));
    const struct agent_layer *l = newest_layer(p, container);
    autoclose int fd = -1;
    struct agent_written w;

    if (!l) /* nothing ran */
        return;
    fd = openat(p->agent->run.dir_fd, from.p, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    w = (struct agent_written){ .at = at.n ? at : arena_fmt(&a, "/volume-%.*s", STR_ARG(name)),
                                .fd = fd,
                                .path = arena_fmt(&a, "%s/%s", p->agent->run.dir.p, to.p) };
    if (agent_written_tell(p, l, &w) && renameat(p->agent->run.dir_fd, from.p, p->agent->run.dir_fd, to.p) < 0)
        agent_event(p->agent, p->object->root, true, "NotKept", str_of(strerror(errno)));
}

void agent_pod_written(struct agent_pod *p)
{
    if (!p->agent->opt.hooks.written)
        return;
    VEC_FOREACH(l, &p->layers)
        if (!l->is_gone)
            tell_layer(p, l);
    JSON_FOREACH(v, json_find(p->object->root, "spec", "volumes", NULL))
        if (json_get(v, "emptyDir") && !str_is(json_member_text(json_get(v, "emptyDir"), "medium"), "Memory"))
            tell_volume(p, v);
}
