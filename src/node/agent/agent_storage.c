/* agent_storage.c - pods that use more of the disk than they may: ephemeral-storage limits, emptyDir.sizeLimit
 *
 * The agent measures use and evicts a pod that uses more, as a kubelet does and with its words. Where the file system
 * counts (project.h), it is asked. Elsewhere the files are looked through, and that takes time that everybody else
 * waits for: so there is a pause after each look, as long as leaves nineteen parts of twenty to the others. What lies
 * in memory has a size of its own (volume.h).
 */
#include "node/agent/agent_internal.h"

#include "api/quantity.h"
#include "api/pod/resources.h"
#include "os/dir.h"
#include "os/project.h"
#include "os/tree.h"

#include <fcntl.h>
#include <sys/stat.h>

enum {
    PAUSE_MS = 1000,
    PAUSE_TIMES = 20, /* as long as the last look took */
    WALK_LOOKS = 60,  /* every so many looks also what the file system counts is looked through: see project.h */
    OWN_DIRS = 64,    /* directories of each tree that do not count: places for mounts are ours */
    DIR_BYTES = 4096,
};

/* ---- measuring ---- */

struct measuring {
    int64_t bytes, max;
    size_t n_dirs;
};

static enum tree_step measure_entry(void *ctx, const struct tree_entry *entry)
{
    struct measuring *m = ctx;

    if (entry->is_left || (S_ISDIR(entry->st.st_mode) && ++m->n_dirs <= OWN_DIRS))
        return TREE_GO;
    m->bytes += tree_disk_bytes(&entry->st);
    return m->bytes > m->max ? TREE_STOP : TREE_GO; /* more is too much, however much it is */
}

static int storage_open_dir(const struct agent *g, const char *path)
{
    return openat(g->run.dir_fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* It does not say which of them are directories. -1: it does not count. */
static int64_t counted_below(int dir)
{
    struct project_use use;

    if (project_use(dir, &use) < 0)
        return -1;
    return MAX_OF(use.bytes - MIN_OF(use.files, (int64_t)OWN_DIRS) * DIR_BYTES, 0);
}

/* At least, where it is more than 'max'. */
static int64_t used_below(const struct agent *g, const char *path, int64_t max)
{
    autoclose int dir = storage_open_dir(g, path);
    struct measuring m = { .max = max };
    int64_t counted = dir >= 0 ? counted_below(dir) : -1;

    if (dir >= 0 && (counted < 0 || g->storage_looks % WALK_LOOKS == 0))
        (void)tree_walk(dir, measure_entry, &m); /* unreadable directories hold little */
    return MAX_OF(m.bytes, counted);
}

static int64_t used_by_logs(const struct agent_pod *p, struct str container)
{
    autoarena a = { 0 };
    autodir *d = dir_open(p->agent->run.dir_fd, arena_fmt(&a, "logs/%.*s", STR_ARG(p->object->uid)).p);
    struct str head = arena_fmt(&a, "%.*s.", STR_ARG(container));
    int64_t bytes = 0;
    struct stat st;

    for (struct dirent *entry; (entry = dir_next(d));)
        if (str_starts(str_of(entry->d_name), head) && fstatat(dirfd(d), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
            bytes += tree_disk_bytes(&st);
    return bytes;
}

/* What its newest start changed of its root, and what it wrote to its log. */
static int64_t used_by_container(const struct agent_pod *p, struct str container, int64_t max)
{
    const char *layer = NULL;

    VEC_FOREACH(l, &p->layers)
        if (str_eq(l->container, container))
            layer = l->dir.p;
    return layer ? used_below(p->agent, layer, max) + used_by_logs(p, container) : 0;
}

static const char *volume_dir(struct arena *a, const struct agent_pod *p, struct str volume)
{
    return arena_fmt(a, "pods/%.*s/volumes/data/%.*s", STR_ARG(p->object->uid), STR_ARG(volume)).p;
}

static int64_t used_by_volume(const struct agent_pod *p, struct str volume, int64_t max)
{
    autoarena a = { 0 };

    return used_below(p->agent, volume_dir(&a, p, volume), max);
}

/* ---- limits ---- */

/* Of a quantity in the API; 0: there is none. */
static int64_t storage_limit_of(struct arena *a, const struct json *j, struct str *ret_text)
{
    struct quantity q;
    autobuf text = { 0 };

    if (!j || quantity_parse(json_text(j, (struct str){ j->text, j->n }), &q, NULL) < 0)
        return 0;
    quantity_print(&text, q);
    *ret_text = arena_str(a, buf_view(&text));
    return MAX_OF(quantity_units(q), 0);
}

static bool is_on_disk(const struct json *volume)
{
    const struct json *empty = json_get(volume, "emptyDir");

    return empty && !str_is(json_member_text(empty, "medium"), "Memory");
}

static const char *const container_lists[] = { "initContainers", "containers" };

static bool has_limits(const struct agent_pod *p)
{
    const struct json *spec = json_get(p->object->root, "spec");

    JSON_FOREACH(v, json_get(spec, "volumes"))
        if (is_on_disk(v) && json_find(v, "emptyDir", "sizeLimit", NULL))
            return true;
    for (size_t i = 0; i < ARRAY_LEN(container_lists); i++)
        JSON_FOREACH(c, json_get(spec, container_lists[i]))
            if (json_find(c, "resources", "limits", "ephemeral-storage", NULL))
                return true;
    return false;
}

static bool is_limited(struct agent_pod *p)
{
    if (p->storage == STORAGE_UNKNOWN)
        p->storage = has_limits(p) ? STORAGE_LIMITED : STORAGE_FREE;
    return p->storage == STORAGE_LIMITED;
}

/* ---- counting ---- */

void agent_storage_count(struct agent_pod *p, const char *path)
{
    autoclose int dir = is_limited(p) ? storage_open_dir(p->agent, path) : -1;

    if (dir >= 0)
        (void)project_begin(dir); /* else it is looked through */
}

void agent_storage_count_volumes(struct agent_pod *p)
{
    autoarena a = { 0 };

    JSON_FOREACH(v, json_find(p->object->root, "spec", "volumes", NULL))
        if (is_on_disk(v))
            agent_storage_count(p, volume_dir(&a, p, json_member_text(v, "name")));
}

/* ---- one pod ---- */

struct storage_look {
    struct agent_pod *pod;
    struct arena *arena;
    int64_t used; /* of all containers; each is measured once */
};

/* These say what is too much, in a kubelet's words; empty: nothing is. */

static struct str volume_too_large(struct storage_look *k)
{
    JSON_FOREACH(v, json_find(k->pod->object->root, "spec", "volumes", NULL)) {
        struct str name = json_member_text(v, "name"), text = STR_NULL;
        int64_t max = is_on_disk(v) ? storage_limit_of(k->arena, json_find(v, "emptyDir", "sizeLimit", NULL), &text)
                                    : 0;

        if (max > 0 && used_by_volume(k->pod, name, max) > max)
            return arena_fmt(k->arena, "Usage of EmptyDir volume \"%.*s\" exceeds the limit \"%.*s\". ", STR_ARG(name),
                             STR_ARG(text));
    }
    return STR_NULL;
}

static struct str container_too_large(struct storage_look *k, const struct json *container, int64_t pod_max)
{
    struct str name = json_member_text(container, "name"), text = STR_NULL;
    int64_t max = storage_limit_of(k->arena, json_find(container, "resources", "limits", "ephemeral-storage", NULL),
                                   &text);
    int64_t used = used_by_container(k->pod, name, max > 0 ? max : pod_max);

    k->used += used;
    if (max <= 0 || used <= max)
        return STR_NULL;
    return arena_fmt(k->arena, "Container %.*s exceeded its local ephemeral storage limit \"%.*s\". ", STR_ARG(name),
                     STR_ARG(text));
}

/* All containers and volumes together. A container that is too large is named: that says more. */
static struct str pod_too_large(struct storage_look *k)
{
    const struct json *spec = json_get(k->pod->object->root, "spec");
    struct resources limits = { 0 };
    const struct quantity *limit;
    struct str why = STR_NULL;
    autobuf text = { 0 };
    int64_t max;

    pod_limits(k->arena, spec, &limits);
    limit = resources_get(&limits, STR("ephemeral-storage"));
    max = limit ? quantity_units(*limit) : 0;
    if (max <= 0)
        return STR_NULL;
    for (size_t i = 0; i < ARRAY_LEN(container_lists); i++)
        JSON_FOREACH(c, json_get(spec, container_lists[i]))
            why = why.n ? why : container_too_large(k, c, max);
    JSON_FOREACH(v, json_get(spec, "volumes"))
        k->used += is_on_disk(v) && !why.n ? used_by_volume(k->pod, json_member_text(v, "name"), max) : 0;
    if (why.n || k->used <= max)
        return why;
    quantity_print(&text, *limit);
    return arena_fmt(k->arena, "Pod ephemeral local storage usage exceeds the total limit of containers %s. ", text.p);
}

static void storage_look_at(struct agent_pod *p)
{
    autoarena a = { 0 };
    struct storage_look k = { .pod = p, .arena = &a };
    struct str why = volume_too_large(&k);

    if (!why.n)
        why = pod_too_large(&k);
    if (!why.n)
        return;
    agent_event(p->agent, p->object->root, true, "Evicted", why);
    life_stop(p->life, 0, STR("Evicted"), why, agent_pod_now(p));
    agent_pod_dirty(p);
}

void agent_storage_check(struct agent *g)
{
    int64_t begin_ms = cluster_now_ms(g->cluster);

    if (begin_ms < g->storage_ms)
        return;
    g->storage_looks++;
    MAP_FOREACH(struct agent_pod *, p, &g->pods)
        if (is_limited(p) && p->stage == STAGE_MADE && !life_is_stopping(p->life) && !life_has_ended(p->life))
            storage_look_at(p);
    g->storage_ms = begin_ms + MAX_OF((int64_t)PAUSE_MS, (cluster_now_ms(g->cluster) - begin_ms) * PAUSE_TIMES);
}
