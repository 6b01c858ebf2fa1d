/* written.c - what pods wrote that goes with them: counted, told in one line, copied out by --keep
 *
 * A tree is counted when its pod is unmade, while other pods run: so there is a bound on how much is looked at. Copying
 * waits for the end, when it delays no pod; until then the trees stay where they are.
 */
#include "program/run/written.h"

#include "base/clock.h"
#include "base/util.h"
#include "program/run/run.h"
#include "os/dir.h"
#include "os/path.h"
#include "os/signals.h"
#include "os/tree.h"
#include "base/term.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/stat.h>

enum {
    LOOK_MAX = 100000, /* entries, some 2 µs each */
    DIR_PARTS = 3,     /* of a path: what is further down counts for the directory above */
    DIRS_SHOWN = 3,
    NAMES_TRIED = 10000,
    COPY_TOLD = 256 << 20, /* bytes from which on it is said that they are copied */
};

struct run_written_dir {
    struct str path;
    int64_t bytes;
};

struct run_kept {
    struct agent_written w; /* its texts are ours */
};

int run_written_open(struct run_written *w, const struct run_options *o, struct err *e)
{
    w->keep_fd = -1;
    w->keep = o->keep;
    map_init(&w->pods, map_seed_default());
    map_init(&w->dirs, map_seed_default());
    map_init(&w->places, map_seed_default());
    if (!o->keep)
        return 0;
    if (access(o->keep, F_OK) < 0 && make_dirs(o->keep, 0777, e) < 0)
        return err_wrap(e, "--keep");
    w->keep_fd = open(o->keep, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (w->keep_fd < 0 && errno == ENOTDIR)
        return err_set(e, ERR_INVALID, "--keep %s: not a directory", o->keep);
    if (w->keep_fd < 0 || faccessat(w->keep_fd, ".", W_OK, AT_EACCESS) < 0)
        return err_errno(e, "--keep %s", o->keep);
    return 0;
}

void run_written_done(struct run_written *w)
{
    MAP_FOREACH(void *, fd, &w->places)
        close((int)(intptr_t)fd - 1);
    map_done(&w->pods);
    map_done(&w->dirs);
    map_done(&w->places);
    if (w->keep && w->keep_fd >= 0) /* it may never have been opened */
        close(w->keep_fd);
    arena_done(&w->arena);
}

/* ---- counting ---- */

struct written_counting {
    struct run_written *w;
    const struct agent_written *tree;
    struct str head; /* before the path, in what is shown */
    int64_t n;
};

/* The directory of a file, DIR_PARTS names of it at most. */
static void put_dir(struct buf *out, struct str path)
{
    ptrdiff_t slash = str_rfind_char(path, '/');
    struct str rest = str_sub(path, 0, slash > 0 ? (size_t)slash : 0), name;

    for (size_t n = 0; n < DIR_PARTS && str_split(&rest, '/', &name);)
        if (name.n) {
            buf_char(out, '/');
            buf_str(out, name);
            n++;
        }
    if (slash <= 0 || !out->n)
        buf_char(out, '/');
}

static void add_to_dir(struct written_counting *c, struct str path, int64_t bytes)
{
    autobuf whole = { 0 }, key = { 0 };
    struct run_written_dir *d;

    buf_str(&whole, c->tree->at.n > 1 ? c->tree->at : STR(""));
    buf_str(&whole, path);
    buf_str(&key, c->head);
    put_dir(&key, buf_view(&whole));
    d = map_get(&c->w->dirs, buf_view(&key));
    if (!d) {
        d = arena_new(&c->w->arena, struct run_written_dir);
        d->path = arena_str(&c->w->arena, buf_view(&key));
        map_put(&c->w->dirs, d->path, d);
    }
    d->bytes += bytes;
}

static enum tree_step count_entry(void *ctx, const struct tree_entry *entry)
{
    struct written_counting *c = ctx;
    int64_t bytes;

    if (entry->is_left)
        return TREE_GO;
    if (++c->w->n_looked > LOOK_MAX)
        return TREE_STOP;
    if (agent_written_is_ours(c->tree, entry))
        return TREE_PASS;
    if (!S_ISREG(entry->st.st_mode) && !S_ISLNK(entry->st.st_mode))
        return TREE_GO; /* what an overlay deleted is a device here */
    bytes = S_ISREG(entry->st.st_mode) ? tree_data_bytes(&entry->st) : 0;
    c->n++;
    c->w->files++;
    c->w->bytes += bytes;
    add_to_dir(c, entry->path, bytes);
    return TREE_GO;
}

static int64_t count_tree(struct run_written *w, const struct agent_written *tree, struct str head)
{
    struct written_counting c = { .w = w, .tree = tree, .head = head };

    w->is_more |= tree_walk(tree->fd, count_entry, &c);
    w->n_pods += c.n && map_add(&w->pods, &w->arena, tree->uid);
    return c.n;
}

/* ---- keeping ---- */

static void written_keep(struct run_written *w, const struct agent_written *tree)
{
    struct run_kept *k = arena_new(&w->arena, struct run_kept);
    struct str *mounts = arena_array(&w->arena, struct str, tree->n_mounts + 1);
    struct str *const texts[] = { &k->w.namespace, &k->w.pod, &k->w.uid, &k->w.container, &k->w.at, &k->w.path };

    k->w = *tree;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        *texts[i] = arena_str(&w->arena, *texts[i]);
    for (size_t i = 0; i < tree->n_mounts; i++)
        mounts[i] = arena_str(&w->arena, tree->mounts[i]);
    k->w.mounts = mounts;
    k->w.fd = -1;
    *vec_push(&w->arena, &w->kept) = k;
}

bool run_written_take(struct run *r, const struct agent_written *tree)
{
    struct run_written *w = &r->written;
    int64_t n;

    if (w->is_over)
        return false;
    n = count_tree(w, tree, STR(""));
    if (!w->keep || (!n && !w->is_more))
        return false;
    written_keep(w, tree);
    return true;
}

/* A new directory for what one start of a container wrote: "worker-0", "worker-0.main", "worker-0.2" where that is
 * taken. Never one that is there. */
static int make_place(struct run_written *w, const struct agent_written *tree)
{
    char name[NAME_MAX + 1];
    const char *dot = tree->is_only ? "" : ".";
    struct str container = tree->is_only ? STR("") : tree->container;

    for (int i = 1; i <= NAMES_TRIED; i++) {
        int n = snprintf(name, sizeof(name), "%.*s%s%.*s", (int)MIN_OF(tree->pod.n, (size_t)150), tree->pod.p, dot,
                         (int)MIN_OF(container.n, (size_t)80), container.p);

        if (i > 1)
            (void)snprintf(name + n, sizeof(name) - (size_t)n, ".%d", i);
        if (mkdirat(w->keep_fd, name, 0777) == 0) {
            if (i > 1 && !w->n_renamed++)
                w->renamed = arena_str(&w->arena, str_of(name));
            return openat(w->keep_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        }
        if (errno != EEXIST)
            return -1;
    }
    return -1;
}

static int written_place_of(struct run_written *w, const struct agent_written *tree)
{
    struct str key = arena_fmt(&w->arena, "%.*s/%.*s/%d", STR_ARG(tree->uid), STR_ARG(tree->container), tree->attempt);
    void *known = map_get(&w->places, key);
    int fd = known ? (int)(intptr_t)known - 1 : make_place(w, tree);

    if (!known && fd >= 0)
        map_put(&w->places, key, (void *)(intptr_t)(fd + 1));
    return fd;
}

struct written_copying {
    struct run *run;
    const struct agent_written *tree;
};

static enum tree_step choose_entry(void *ctx, const struct tree_entry *entry)
{
    return agent_written_is_ours(((struct written_copying *)ctx)->tree, entry) ? TREE_PASS : TREE_GO;
}

/* Ctrl-C while it is copied: what is there stays. */
static bool written_is_stopped(void *ctx)
{
    int number = signals_next(((struct written_copying *)ctx)->run->signal_fd);

    return number == SIGINT || number == SIGTERM || number == SIGHUP;
}

/* Where the container had it, below the place. */
static int open_at(int place, struct str at)
{
    struct make_below how = { .root = place, .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS, .mode = 0755 };
    autobuf path = { 0 };
    struct str name;
    int fd = -1;

    while (str_split(&at, '/', &name))
        if (name.n && !str_is(name, ".") && !str_is(name, ".."))
            buf_fmt(&path, "%s%.*s", path.n ? "/" : "", STR_ARG(name));
    return make_dirs_below(&how, buf_view(&path), &fd, NULL) < 0 ? -1 : fd;
}

static void add_copied(struct run_written *w, const struct agent_written *tree, const struct tree_copy *c)
{
    struct run_copied *sum = &w->copied;

    sum->files += c->files;
    sum->bytes += c->bytes;
    sum->left_out += c->left_out;
    if (!sum->not_copied && c->not_copied) {
        sum->first_errno = c->first_errno;
        sum->first = arena_fmt(&w->arena, "%.*s:%.*s%s", STR_ARG(tree->pod),
                               STR_ARG(tree->at.n > 1 ? tree->at : STR("")), c->first);
    }
    sum->not_copied += c->not_copied;
    sum->is_ended |= c->is_ended;
}

static void copy_out(struct run *r, const struct agent_written *tree)
{
    struct run_written *w = &r->written;
    struct written_copying ctx = { r, tree };
    autoclose int from = open(arena_cstr(&w->arena, tree->path), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int place = from < 0 || w->copied.is_ended ? -1 : written_place_of(w, tree);
    autoclose int to = place < 0 ? -1 : open_at(place, tree->at);
    int error = w->copied.is_ended ? 0 : to < 0 ? errno : 0;
    struct tree_copy c = { .to = to, .choose = choose_entry, .ctx = &ctx, .is_stopped = written_is_stopped };

    if (from < 0) { /* its files are unknown */
        c.not_copied = 1;
        c.first_errno = error;
    } else {
        c.is_ended = to < 0; /* then each is counted as not copied */
        tree_copy(from, &c);
    }
    if (to < 0 && c.not_copied && error)
        c.first_errno = error;
    add_copied(w, tree, &c);
}

/* ---- the end ---- */

/* Claims without a directory given by the user. */
static void take_claims(struct run *r, const char *run_dir)
{
    struct run_written *w = &r->written;
    autodir *all = dir_open(AT_FDCWD, arena_fmt(&w->arena, "%s/claims", run_dir).p);

    for (struct dirent *namespace; (namespace = dir_next(all));) {
        autodir *d = dir_open(dirfd(all), namespace->d_name);

        for (struct dirent *claim; (claim = dir_next(d));) {
            autoclose int fd = openat(dirfd(d), claim->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
            struct agent_written tree = {
                .uid = arena_fmt(&w->arena, "%s/%s", namespace->d_name, claim->d_name),
                .pod = arena_fmt(&w->arena, "claim-%s", claim->d_name),
                .is_only = true,
                .at = STR("/"),
                .fd = fd,
                .path = arena_fmt(&w->arena, "%s/claims/%s/%s", run_dir, namespace->d_name, claim->d_name),
            };

            if (fd >= 0 && count_tree(w, &tree, arena_fmt(&w->arena, "claim %s:", claim->d_name)) && w->keep)
                written_keep(w, &tree);
        }
    }
}

/* It takes a while, and nothing else moves. */
static void tell_copying(struct run *r)
{
    autobuf text = { 0 };

    buf_str(&text, STR("copying the files that pods wrote,  "));
    bytes_print(&text, r->written.bytes);
    buf_fmt(&text, ", to %s; Ctrl-C stops it", r->written.keep);
    run_notice(r, buf_view(&text));
}

void run_written_end(struct run *r, const char *run_dir)
{
    struct run_written *w = &r->written;

    if (!r->o->machine.claims)
        take_claims(r, run_dir);
    w->is_over = true;
    if (w->kept.n && w->bytes > COPY_TOLD)
        tell_copying(r);
    VEC_FOREACH(k, &w->kept)
        copy_out(r, &(*k)->w);
}

/* ---- in words ---- */

static int by_bytes(const void *x, const void *y)
{
    const struct run_written_dir *a = *(struct run_written_dir *const *)x, *b = *(struct run_written_dir *const *)y;

    return a->bytes != b->bytes ? (a->bytes < b->bytes ? 1 : -1) : str_cmp(a->path, b->path);
}

struct dirs {
    struct run_written_dir **v;
    size_t n;
};

/* "/a/b": "/a"; empty: it is the root, or in it. */
static struct str dir_above(struct str path)
{
    ptrdiff_t slash = str_rfind_char(path, '/');

    return slash <= 0 || path.p[slash - 1] == ':' ? STR_NULL : str_sub(path, 0, (size_t)slash);
}

static struct run_written_dir *dir_in(struct arena *a, struct map *all, struct str path)
{
    struct run_written_dir *d = map_get(all, path);

    if (!d) {
        d = arena_new(a, struct run_written_dir);
        d->path = path;
        map_put(all, path, d);
    }
    return d;
}

/* If a directory has more files than are shown, it is shown instead: "/root/out", not three of the hundred in it. */
static void written_fold(struct arena *a, struct dirs *dirs)
{
    struct map beside, all;

    map_init(&beside, map_seed_default());
    map_init(&all, map_seed_default());
    for (size_t i = 0; i < dirs->n; i++)
        dir_in(a, &beside, dir_above(dirs->v[i]->path))->bytes++;
    for (size_t i = 0; i < dirs->n; i++) {
        struct str path = dirs->v[i]->path, above = dir_above(path);
        bool is_one_of_many = above.n && dir_in(a, &beside, above)->bytes > DIRS_SHOWN;

        dir_in(a, &all, is_one_of_many ? above : path)->bytes += dirs->v[i]->bytes;
    }
    dirs->n = 0;
    MAP_FOREACH(struct run_written_dir *, d, &all)
        dirs->v[dirs->n++] = d;
    map_done(&beside);
    map_done(&all);
}

/* The largest first. */
static struct dirs all_dirs(const struct run_written *w, struct arena *a)
{
    struct dirs dirs = { arena_array(a, struct run_written_dir *, map_count(&w->dirs) + 1), 0 };

    MAP_FOREACH(struct run_written_dir *, d, &w->dirs)
        dirs.v[dirs.n++] = d;
    for (int i = 1; i < DIR_PARTS && dirs.n > DIRS_SHOWN; i++)
        written_fold(a, &dirs);
    qsort(dirs.v, dirs.n, sizeof(*dirs.v), by_bytes);
    return dirs;
}

static void put_amount(struct buf *out, int64_t files, int64_t bytes, bool is_more)
{
    buf_fmt(out, "%s%lld %s (", is_more ? "more than " : "", (long long)files, files == 1 ? "file" : "files");
    bytes_print(out, bytes);
    buf_char(out, ')');
}

static void put_lost(struct buf *out, const struct run_written *w)
{
    autoarena a = { 0 };
    struct dirs dirs = all_dirs(w, &a);
    size_t n = MIN_OF(dirs.n, (size_t)DIRS_SHOWN);

    buf_fmt(out, "pumice: deleted with the %s: ", w->n_pods == 1 ? "pod" : "pods");
    put_amount(out, w->files, w->bytes, w->is_more);
    buf_str(out, STR(": "));
    for (size_t i = 0; i < n; i++) {
        buf_str(out, i ? STR(", ") : STR(""));
        term_text(out, dirs.v[i]->path);
        buf_str(out, dirs.v[i]->bytes ? STR(" ") : STR(""));
        if (dirs.v[i]->bytes)
            bytes_print(out, dirs.v[i]->bytes);
    }
    buf_fmt(out, "%s (--keep DIR copies %s out)\n", dirs.n > n ? " …" : "", w->files == 1 ? "it" : "them");
}

static void put_kept(struct buf *out, const struct run_written *w)
{
    const struct run_copied *sum = &w->copied;

    if (sum->files) {
        buf_str(out, STR("pumice: copied "));
        put_amount(out, sum->files, sum->bytes, false);
        buf_str(out, STR(" that pods wrote to "));
        term_text(out, str_of(w->keep));
        if (w->n_renamed)
            buf_fmt(out, ", next to existing files: %.*s%s", STR_ARG(w->renamed), w->n_renamed > 1 ? " …" : "");
        if (sum->left_out)
            buf_fmt(out, "; skipped %lld that %s no regular file, or too deep", (long long)sum->left_out,
                    sum->left_out == 1 ? "is" : "are");
        buf_char(out, '\n');
    }
    if (sum->not_copied) {
        buf_str(out, STR("pumice run: --keep "));
        term_text(out, str_of(w->keep));
        buf_fmt(out, ": %s: %lld of %lld files were not copied, ",
                sum->first_errno == ECANCELED ? "stopped" : strerror(sum->first_errno), (long long)sum->not_copied,
                (long long)(sum->not_copied + sum->files));
        buf_str(out, sum->not_copied == 1 ? STR("which is ") : STR("from this one on: "));
        term_text(out, sum->first);
        buf_char(out, '\n');
    }
}

void run_written_tell(struct run *r)
{
    const struct run_written *w = &r->written;
    autobuf text = { 0 };

    if (w->keep && (!r->o->quiet || w->copied.not_copied) && (!r->is_json || w->copied.not_copied))
        put_kept(&text, w);
    else if (!w->keep && w->files && !r->o->quiet && !r->is_json)
        put_lost(&text, w);
    (void)term_write(stderr, &text); /* a broken stderr cannot be reported */
}

void run_event_written(struct run_events *ev, const struct run_written *w, int64_t now_ms)
{
    autoarena a = { 0 };
    struct json *o = json_object(&a), *list = json_array(&a), *kept;
    struct dirs dirs = all_dirs(w, &a);
    autobuf time = { 0 };

    if (!w->files)
        return;
    clock_print_us(&time, now_ms * 1000);
    json_set(o, "type", json_str(&a, STR("written")));
    json_set(o, "time", json_str(&a, arena_str(&a, buf_view(&time))));
    json_set(o, "files", json_int(&a, w->files));
    json_set(o, "bytes", json_int(&a, w->bytes));
    if (w->is_more)
        json_set(o, "more", json_bool_new(&a, true));
    for (size_t i = 0; i < dirs.n && i < DIRS_SHOWN; i++) {
        struct json *d = json_object(&a);

        json_set(d, "path", json_str(&a, dirs.v[i]->path));
        json_set(d, "bytes", json_int(&a, dirs.v[i]->bytes));
        json_push(list, d);
    }
    json_set(o, "directories", list);
    if (w->keep) {
        kept = json_object(&a);
        json_set(kept, "directory", json_str(&a, str_of(w->keep)));
        json_set(kept, "files", json_int(&a, w->copied.files));
        json_set(kept, "bytes", json_int(&a, w->copied.bytes));
        json_set(kept, "notCopied", json_int(&a, w->copied.not_copied));
        json_set(o, "kept", kept);
    }
    json_print(&ev->out->queue, o);
    buf_char(&ev->out->queue, '\n');
}
