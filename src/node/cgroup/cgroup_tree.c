/* cgroup_tree.c - files and groups below a descriptor
 *
 * Everything goes by descriptor, so a renamed or replaced path above us does not matter. Functions set errno.
 */
#include "node/cgroup/cgroup_internal.h"

#include "base/util.h"
#include "os/dir.h"
#include "os/io.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>

enum {
    TEXT_MAX = 4 << 20,  /* cgroup.procs of a group with half a million processes */
    SHORT_MAX = 1 << 10, /* a number, or a dozen of them by name */
    DEPTH_MAX = 64,      /* of groups a pod made inside its own; deeper ones keep the group from being removed */
};

int cgroup_file_write(int dir, const char *file, const char *text)
{
    return control_write(dir, file, str_of(text));
}

int cgroup_file_read(int dir, const char *file, struct buf *out)
{
    buf_reset(out);
    return file_read(dir, file, O_NOFOLLOW, TEXT_MAX, out) < 0 ? -1 : 0;
}

/* A short file is read at once: the kernel writes it whole. */
static struct str read_short(int dir, const char *file, char ret[SHORT_MAX])
{
    autoclose int fd = openat(dir, file, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, ret, SHORT_MAX);

    return (struct str){ ret, n < 0 ? 0 : (size_t)n };
}

int64_t cgroup_file_number(int dir, const char *file)
{
    char text[SHORT_MAX];
    int64_t value;

    return str_to_i64(str_trim(read_short(dir, file, text)), &value) < 0 ? -1 : value;
}

int64_t cgroup_file_count(int dir, const char *file, const char *key)
{
    char text[SHORT_MAX];

    return cgroup_host_count(read_short(dir, file, text), key);
}

int cgroup_dir_open(int dir, const char *path)
{
    return openat(dir, path, O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
}

void cgroup_sleep_us(int64_t us)
{
    struct timespec t = { .tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000 };

    (void)nanosleep(&t, NULL); /* shorter is fine: callers look at the clock */
}

/* ---- groups ---- */

/* The next group in the list; NULL at the end. */
static const char *list_next(DIR *list)
{
    struct dirent *entry;

    while ((entry = dir_next(list)))
        if (entry->d_type == DT_DIR)
            return entry->d_name;
    return NULL;
}

static void walk_groups(int dir, cgroup_visit_f visit, void *arg, int depth)
{
    DIR *list;

    visit(dir, arg);
    if (depth == DEPTH_MAX || !cgroup_tree_has_groups(dir) || !(list = dir_open(dir, ".")))
        return;
    for (const char *name; (name = list_next(list));) {
        autoclose int child = cgroup_dir_open(dir, name);

        if (child >= 0)
            walk_groups(child, visit, arg, depth + 1);
    }
    closedir(list);
}

void cgroup_tree_walk(int dir, cgroup_visit_f visit, void *arg)
{
    walk_groups(dir, visit, arg, 0);
}

/* cgroup file systems count a link per group below, so this is one call and no listing. */
bool cgroup_tree_has_groups(int dir)
{
    struct stat st;

    return fstat(dir, &st) == 0 && st.st_nlink > 2;
}

static void find_process(int dir, void *arg)
{
    autobuf procs = { 0 };
    bool *found = arg;

    if (!*found && cgroup_file_read(dir, "cgroup.procs", &procs) == 0 && procs.n)
        *found = true;
}

bool cgroup_tree_is_empty(int dir, bool is_v2)
{
    bool found = false;
    int64_t populated = is_v2 ? cgroup_file_count(dir, "cgroup.events", "populated") : -1;

    if (populated >= 0)
        return populated == 0;
    cgroup_tree_walk(dir, find_process, &found);
    return !found;
}

/* The last process has ended, but the kernel may still be cleaning up: EBUSY for a moment. */
static int cgroup_tree_remove_one(int parent, const char *name)
{
    for (int64_t us = 100; us < 200000; us *= 2) {
        if (unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
            return 0;
        if (errno != EBUSY)
            return -1;
        cgroup_sleep_us(us);
    }
    return -1;
}

static void remove_below(int dir, int depth)
{
    DIR *list;

    if (depth == DEPTH_MAX || !cgroup_tree_has_groups(dir) || !(list = dir_open(dir, ".")))
        return;
    for (const char *name; (name = list_next(list));) {
        autoclose int child = cgroup_dir_open(dir, name);

        if (child >= 0)
            remove_below(child, depth + 1);
        (void)cgroup_tree_remove_one(dir, name); /* the group above will not go then, and says why */
    }
    closedir(list);
}

int cgroup_tree_remove(int parent, const char *name)
{
    autoclose int dir = cgroup_dir_open(parent, name);

    if (dir < 0)
        return errno == ENOENT ? 0 : -1;
    remove_below(dir, 0);
    return cgroup_tree_remove_one(parent, name);
}

/* ---- signals ---- */

/* A number may be given to a stranger between reading it and using it. So a process is held by a pidfd first, and only
 * then is the group read again: who is still listed is ours. */
struct cgroup_tree_held {
    pid_t pid;
    int fd;
};

enum { HELD_MAX = 256 }; /* descriptors open at a time */

static int held_cmp(const void *a, const void *b)
{
    const struct cgroup_tree_held *x = a, *y = b;

    return (x->pid > y->pid) - (x->pid < y->pid);
}

/* Take the next processes out of the listing 'rest'. */
static size_t hold_some(struct str *rest, struct cgroup_tree_held held[HELD_MAX])
{
    struct str line;
    int64_t pid;
    size_t n = 0;

    while (n < HELD_MAX && str_split(rest, '\n', &line)) {
        /* 0: a process outside of our pid namespace. To kill(2) it would mean ourselves. */
        if (str_to_i64(line, &pid) < 0 || pid <= 0 || pid > INT32_MAX)
            continue;
        held[n] = (struct cgroup_tree_held){ (pid_t)pid, (int)syscall(SYS_pidfd_open, (pid_t)pid, 0) };
        if (held[n].fd >= 0 || errno != ESRCH)
            n++;
    }
    qsort(held, n, sizeof(held[0]), held_cmp);
    return n;
}

static void signal_held(struct str again, const struct cgroup_tree_held *held, size_t n, int sig)
{
    struct str line;
    int64_t pid;

    while (str_split(&again, '\n', &line)) {
        const struct cgroup_tree_held *h;

        if (str_to_i64(line, &pid) < 0 || pid <= 0 || pid > INT32_MAX)
            continue;
        h = bsearch(&(struct cgroup_tree_held){ (pid_t)pid, -1 }, held, n, sizeof(held[0]), held_cmp);
        /* Gone meanwhile is fine. Linux before 5.3 has no pidfd. */
        if (h && h->fd >= 0)
            (void)syscall(SYS_pidfd_send_signal, h->fd, sig, NULL, 0);
        else if (h)
            (void)kill(h->pid, sig);
    }
}

static void signal_group(int dir, void *arg)
{
    struct cgroup_tree_held held[HELD_MAX];
    autobuf procs = { 0 }, again = { 0 };
    struct str rest;
    size_t n;

    if (cgroup_file_read(dir, "cgroup.procs", &procs) < 0)
        return;
    rest = buf_view(&procs);
    while ((n = hold_some(&rest, held)) > 0) {
        if (cgroup_file_read(dir, "cgroup.procs", &again) == 0)
            signal_held(buf_view(&again), held, n, *(int *)arg);
        for (size_t i = 0; i < n; i++)
            if (held[i].fd >= 0)
                close(held[i].fd);
    }
}

void cgroup_tree_signal(int dir, int sig)
{
    cgroup_tree_walk(dir, signal_group, &sig);
}
