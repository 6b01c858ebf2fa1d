/* cgroup_v2.c - version 2: one tree with all controllers
 *
 * The rule that shapes everything here: a group other than the top may either hold processes or pass controllers on to
 * groups below it. So our own group, where this program runs, can be the base only when no other process is in it: then we
 * move ourselves into a group "<name>-self" beside ours (this is what a service with Delegate=yes may do). Otherwise
 * the base is the nearest group above that our user may write to and that passes on the most.
 */
#include "node/cgroup/cgroup_internal.h"

#include "base/clock.h"
#include "base/util.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

enum { LIMITS = CGROUP_CTRL_CPU | CGROUP_CTRL_MEMORY | CGROUP_CTRL_PIDS };

/* ---- where: pure ---- */

unsigned cgroup_spot_gain(const struct cgroup_spot *s)
{
    if (!s->may_make || !s->is_domain)
        return 0;
    if (s->may_pass && (s->is_top || !s->has_others))
        return s->offered;
    return s->passed & s->offered;
}

enum cgroup_hitch cgroup_spot_hitch(const struct cgroup_spot *s, unsigned wanted)
{
    unsigned missing = wanted & ~cgroup_spot_gain(s);

    if (!missing)
        return CGROUP_HITCH_NONE;
    if (!s->may_make || !s->is_domain)
        return CGROUP_HITCH_DENIED;
    if (!(missing & s->offered))
        return CGROUP_HITCH_NOT_OFFERED;
    return s->may_pass ? CGROUP_HITCH_CROWDED : CGROUP_HITCH_DENIED;
}

/* ---- whose processes ---- */

static pid_t cgroup_v2_parent_of(pid_t pid)
{
    char path[40];
    autobuf text = { 0 };
    struct str rest, word;
    ptrdiff_t at;
    int64_t ppid;

    /* "7 (name) S 1 …": the name may hold blanks and brackets */
    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    if (cgroup_file_read(AT_FDCWD, path, &text) < 0 || (at = str_rfind_char(buf_view(&text), ')')) < 0)
        return 0;
    rest = str_from(buf_view(&text), (size_t)at + 2);
    if (!str_split(&rest, ' ', &word) || !str_split(&rest, ' ', &word) || str_to_i64(word, &ppid) < 0)
        return 0;
    return ppid > 0 && ppid <= INT32_MAX ? (pid_t)ppid : 0;
}

/* Ourselves, or a child of ours, or a child of one. */
static bool cgroup_v2_is_ours(int64_t pid)
{
    pid_t self = getpid();

    if (pid <= 0 || pid > INT32_MAX)
        return false; /* 0: outside of our pid namespace */
    for (int steps = 0; pid > 1 && pid != self && steps < 64; steps++)
        pid = cgroup_v2_parent_of((pid_t)pid);
    return pid == self;
}

static bool has_others(int dir)
{
    autobuf procs = { 0 };
    struct str rest, line;
    int64_t pid;

    if (cgroup_file_read(dir, "cgroup.procs", &procs) < 0)
        return true; /* EOPNOTSUPP in a threaded group: not for us */
    rest = str_trim(buf_view(&procs));
    while (rest.n && str_split(&rest, '\n', &line))
        if (str_to_i64(line, &pid) < 0 || !cgroup_v2_is_ours(pid))
            return true;
    return false;
}

/* ---- where: looking ---- */

static unsigned ctrls_of(int dir, const char *file)
{
    autobuf text = { 0 };

    return cgroup_file_read(dir, file, &text) < 0 ? 0 : cgroup_ctrl_read(buf_view(&text), ' ');
}

static bool cgroup_v2_may_write(int dir, const char *file)
{
    return faccessat(dir, file, W_OK, AT_EACCESS) == 0;
}

static struct cgroup_spot cgroup_v2_look(int dir)
{
    autobuf type = { 0 };
    struct cgroup_spot s = { .offered = ctrls_of(dir, "cgroup.controllers"),
                             .passed = ctrls_of(dir, "cgroup.subtree_control") };

    s.is_top = cgroup_file_read(dir, "cgroup.type", &type) < 0 && errno == ENOENT;
    s.is_domain = s.is_top || str_is(str_trim(buf_view(&type)), "domain");
    /* Moving a process needs the right to write to the group it goes to and to the nearest one above both. */
    s.may_make = cgroup_v2_may_write(dir, ".") && cgroup_v2_may_write(dir, "cgroup.procs");
    s.may_pass = cgroup_v2_may_write(dir, "cgroup.subtree_control");
    s.has_others = !s.is_top && s.may_make && has_others(dir);
    return s;
}

static int weight(unsigned ctrls)
{
    return __builtin_popcount(ctrls & LIMITS);
}

/* Look at one group; keep it if it is better than what we have. 'path' is kept. */
static void consider(const char *path, bool is_own, struct cgroup_hier *h, int *best)
{
    int dir = cgroup_dir_open(AT_FDCWD, path);
    struct cgroup_spot s;
    struct statfs fs;

    if (dir < 0)
        return;
    if (fstatfs(dir, &fs) < 0 || fs.f_type != CGROUP2_SUPER_MAGIC)
        goto no;
    s = cgroup_v2_look(dir);
    if (is_own) {
        h->offered = s.offered;
        h->hitch = cgroup_spot_hitch(&s, LIMITS);
    }
    if (!s.may_make || !s.is_domain || weight(cgroup_spot_gain(&s)) <= *best)
        goto no;
    *best = weight(cgroup_spot_gain(&s));
    if (h->base >= 0)
        close(h->base);
    h->base = dir;
    h->path = path;
    h->offered = s.offered;
    h->hitch = cgroup_spot_hitch(&s, LIMITS);
    h->gain = cgroup_spot_gain(&s) & LIMITS;
    h->moves_self = is_own && !s.is_top && (h->gain & ~s.passed) != 0;
    return;
no:
    close(dir);
}

/* We may sit in the group we moved to when we opened before, and did not take it away: the base is the one above. */
static struct str without_self(struct str own, const char *name)
{
    char tail[256];

    (void)snprintf(tail, sizeof(tail), "/%s-self", name);
    return str_ends(own, str_of(tail)) ? str_sub(own, 0, own.n - strlen(tail)) : own;
}

int cgroup_v2_find(struct arena *a, const struct cgroup_place *place, const char *name, struct cgroup_hier *h)
{
    struct str own = without_self(place->own, name);
    bool was_moved = own.n != place->own.n;
    int best = -1;

    h->path = arena_fmt(a, "%.*s%.*s", STR_ARG(place->mount), STR_ARG(own)).p;
    if (!place->is_reachable || place->is_readonly) {
        h->hitch = place->is_reachable ? CGROUP_HITCH_READONLY : CGROUP_HITCH_UNREACHABLE;
        return -1;
    }
    for (bool is_own = true;; is_own = false) { /* our own group, then upwards: the nearest of the best wins */
        consider(arena_fmt(a, "%.*s%.*s", STR_ARG(place->mount), STR_ARG(own)).p, is_own, h, &best);
        if (is_own && h->base >= 0 && was_moved)
            h->moves_self = true;
        if (!own.n || best == weight(LIMITS))
            break;
        own = str_sub(own, 0, (size_t)str_rfind_char(own, '/'));
    }
    if (h->base >= 0)
        return 0;
    if (!h->hitch)
        h->hitch = CGROUP_HITCH_DENIED; /* a host whose v2 has no controller of ours has none to miss */
    return -1;
}

/* ---- making room ---- */

int cgroup_v2_pass(int dir, unsigned ctrls, char sign)
{
    unsigned done = 0;

    for (unsigned bit = 1; bit <= ctrls;
         bit <<= 1) { /* one by one: a controller that is refused must not stop the rest */
        char word[20];

        if (!(ctrls & bit))
            continue;
        (void)snprintf(word, sizeof(word), "%c%s", sign, cgroup_ctrl_name(bit));
        if (cgroup_file_write(dir, "cgroup.subtree_control", word) == 0)
            done |= bit;
    }
    return (int)done;
}

static void move_all(int from, int to)
{
    autobuf procs = { 0 };
    struct str rest, line;
    char pid[24];

    if (cgroup_file_read(from, "cgroup.procs", &procs) < 0)
        return;
    rest = str_trim(buf_view(&procs));
    while (rest.n && str_split(&rest, '\n', &line)) {
        (void)snprintf(pid, sizeof(pid), "%.*s", STR_ARG(line));
        (void)cgroup_file_write(to, "cgroup.procs", pid); /* it may have ended */
    }
}

static void self_name(char ret[256], const char *name)
{
    (void)snprintf(ret, 256, "%s-self", name);
}

void cgroup_v2_enter(struct cgroup_hier *h, const char *name)
{
    unsigned passed = ctrls_of(h->base, "cgroup.subtree_control") & LIMITS;
    char self[256];

    if (h->moves_self) {
        self_name(self, name);
        if (mkdirat(h->base, self, 0755) < 0 && errno != EEXIST)
            return;
        autoclose int dir = cgroup_dir_open(h->base, self);
        if (dir >= 0)
            move_all(h->base, dir); /* only processes of ours are there, see has_others() */
    }
    /* Never more than the gain: a group with processes would take "+cpu", and become a kind of group (threaded) in
     * which ours cannot hold processes. */
    h->passed = passed | (unsigned)cgroup_v2_pass(h->base, h->gain & ~passed, '+');
}

/* Our group is there: what did it get? All of it goes on to the pods. */
void cgroup_v2_settle(struct cgroup_hier *h)
{
    h->ctrls = ctrls_of(h->ours, "cgroup.controllers") & LIMITS;
    h->ctrls = (unsigned)cgroup_v2_pass(h->ours, h->ctrls, '+');
}

/* In a base that is not ours alone the controllers stay on: other groups may use them by now. */
void cgroup_v2_leave(struct cgroup_hier *h, const char *name)
{
    char self[256];
    struct stat st;

    self_name(self, name);
    if (!h->moves_self) { /* whom we followed may have */
        (void)unlinkat(h->base, self, AT_REMOVEDIR);
        return;
    }
    autoclose int dir = cgroup_dir_open(h->base, self);
    if (dir < 0 || fstat(h->base, &st) < 0 || st.st_nlink > 3)
        return; /* another group was made beside ours: leave it its controllers */
    (void)cgroup_v2_pass(h->base, h->passed, '-');
    move_all(dir, h->base);
    (void)cgroup_tree_remove(h->base, self);
}

/* ---- counts ---- */

static void refused_visit(int dir, void *arg)
{
    int64_t *total = arg, value = cgroup_file_count(dir, "pids.events", "max");

    *total += MAX_OF(value, 0);
}

/* Since Linux 6.11 a refused fork is counted where the limit is and above; before, only where it was tried. The new way
 * came with a new file. */
static int64_t cgroup_v2_refused(int dir)
{
    int64_t own = cgroup_file_count(dir, "pids.events", "max"), total = 0;

    if (own < 0 || faccessat(dir, "pids.events.local", F_OK, 0) == 0)
        return own;
    cgroup_tree_walk(dir, refused_visit, &total);
    return total;
}

void cgroup_v2_stats(int dir, unsigned ctrls, struct cgroup_stats *s)
{
    s->cpu_us = cgroup_file_count(dir, "cpu.stat", "usage_usec"); /* with or without the controller */
    if (ctrls & CGROUP_CTRL_CPU)
        s->throttled_us = cgroup_file_count(dir, "cpu.stat", "throttled_usec");
    if (ctrls & CGROUP_CTRL_MEMORY) {
        s->memory_bytes = cgroup_file_number(dir, "memory.current");
        s->memory_peak_bytes = cgroup_file_number(dir, "memory.peak"); /* Linux 5.19 */
        s->oom_kills = cgroup_file_count(dir, "memory.events", "oom_kill");
    }
    if (ctrls & CGROUP_CTRL_PIDS) {
        s->pids = cgroup_file_number(dir, "pids.current");
        s->pids_refused = cgroup_v2_refused(dir);
    }
}

/* ---- freezer ---- */

int cgroup_v2_freeze(int dir, bool on, int ms)
{
    int64_t until_ms = clock_mono_ms(&clock_real) + ms;

    if (cgroup_file_write(dir, "cgroup.freeze", on ? "1" : "0") < 0)
        return -1;
    for (int64_t us = 50; cgroup_file_count(dir, "cgroup.events", "frozen") != on; us = MIN_OF(us * 2, 5000)) {
        if (clock_mono_ms(&clock_real) > until_ms) {
            errno = ETIMEDOUT;
            return -1;
        }
        cgroup_sleep_us(us);
    }
    return 0;
}
