/* cp.c - the command `pumice cp`: files between this machine and a pod of a run
 *
 * Nothing runs in the pod, so its image needs no tar. A container's files are below /proc/PID/root of its first process, with
 * all that is mounted there; an ordinary user enters the user namespace of the run first, in which he is root, so that
 * what belongs to other users of the container can be read and given. How such a path is walked: see root_copy.h.
 */
#include "api/meta.h"
#include "base/util.h"
#include "cli/commands.h"
#include "cli/into/into.h"
#include "kube/path.h"
#include "os/root_copy.h"
#include "os/io.h"
#include "base/term.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>

struct cp_side { /* one of the two arguments */
    struct str pod, path;
};

/* "POD:PATH". A slash before the colon means a file of ours, as with other programs; but "namespace/pod:path". */
static struct cp_side side_of(const char *text)
{
    struct str all = str_of(text);
    ptrdiff_t colon = str_find_char(all, ':');
    struct str front = colon > 0 ? str_sub(all, 0, (size_t)colon) : STR_NULL;

    if (!front.n || front.p[0] == '/' || front.p[0] == '.')
        return (struct cp_side){ STR_NULL, all };
    return (struct cp_side){ front, str_from(all, (size_t)colon + 1) };
}

/* ---- the container's files ---- */

static int first_process(struct into *x, const struct into_pod *p, pid_t *ret, struct err *e)
{
    autobuf path = { 0 };
    struct json *about;

    into_path(&path, p, "process");
    path_query(&path, "container", p->container);
    if (into_get(x, p->run, buf_view(&path), &about, e) < 0)
        return -1;
    *ret = (pid_t)json_i64(json_get(about, "pid"), 0);
    return *ret > 0 ? 0 : err_set(e, ERR_NOT_FOUND, "pod %.*s is not running", STR_ARG(object_name(p->pod)));
}

/* As root there is nothing to enter. */
static int enter_user_namespace(pid_t pid, struct err *e)
{
    char path[64];
    struct stat ours, theirs;
    autoclose int fd = -1;

    (void)snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_errno(e, "the container's users (%s)", path);
    if (stat("/proc/self/ns/user", &ours) == 0 && fstat(fd, &theirs) == 0 && ours.st_ino == theirs.st_ino)
        return 0;
    return setns(fd, CLONE_NEWUSER) < 0 ? err_errno(e, "become root of the run's user namespace") : 0;
}

/* Whose the container's program is: kubectl's tar would run as that one. Process 1 is ours, and root; its first child is
 * the program. */
static void find_owner(struct arena *a, pid_t pid, struct root_copy *c)
{
    struct str comm = file_text(a, AT_FDCWD, arena_fmt(a, "/proc/%d/comm", (int)pid).p, 64), child;
    struct str children = file_text(a, AT_FDCWD, arena_fmt(a, "/proc/%d/task/%d/children", (int)pid, (int)pid).p, 4096);
    struct str path = arena_fmt(a, "/proc/%d", (int)pid);
    struct stat st;

    if (str_is(str_trim(comm), "pumice-init") && str_split(&children, ' ', &child) && child.n)
        path = arena_fmt(a, "/proc/%.*s", STR_ARG(child));
    if (stat(path.p, &st) < 0)
        return;
    c->owner = st.st_uid;
    c->group = st.st_gid;
}

/* The number of a process that has ended may be another's: it is the container's if it still is when all is open. */
static int open_root(struct into *x, const struct into_pod *p, struct root_copy *c, int *ret_root, struct err *e)
{
    char path[64];
    struct stat st, ours;
    pid_t pid, again;

    if (first_process(x, p, &pid, e) < 0 || enter_user_namespace(pid, e) < 0)
        return -1;
    (void)snprintf(path, sizeof(path), "/proc/%d/root", (int)pid);
    *ret_root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (*ret_root < 0)
        return err_errno(e, "the container's files (%s)", path);
    if (fstat(*ret_root, &st) < 0 || stat("/", &ours) < 0 || (st.st_ino == ours.st_ino && st.st_dev == ours.st_dev))
        return err_set(e, ERR_CONFLICT, "cannot tell the container's files from this machine's; nothing was copied");
    find_owner(x->arena, pid, c);
    if (first_process(x, p, &again, e) == 0 && again == pid)
        return 0;
    return err_set(e, ERR_CONFLICT, "the container has just been restarted; try again");
}

/* ---- the command ---- */

static void on_left_out(void *ctx, struct str path, const char *why)
{
    autobuf line = { 0 };

    (void)ctx;
    buf_str(&line, STR("pumice cp: left out: "));
    term_text(&line, path);
    buf_fmt(&line, ": %s\n", why);
    (void)term_write(stderr, &line); /* a broken stderr cannot be reported */
}

static int copy(struct into *x, const struct text_list *words, int *ret_status, struct err *e)
{
    struct root_copy c = { .from_root = AT_FDCWD, .to_root = AT_FDCWD, .owner = (uid_t)-1, .left_out = on_left_out };
    struct cp_side from, to;
    autoclose int root = -1;
    struct into_pod p;
    int rc;

    if (words->list.n != 2)
        return err_set(e, ERR_SYNTAX, "usage: pumice cp FILE POD:PATH, or pumice cp POD:PATH FILE");
    from = side_of(words->list.v[0]);
    to = side_of(words->list.v[1]);
    if (!from.pod.n == !to.pod.n || !from.path.n || !to.path.n)
        return err_set(e, ERR_SYNTAX, "exactly one of FROM and TO must be POD:PATH");
    if (str_is(from.path, "-") || str_is(to.path, "-"))
        return err_set(
            e, ERR_SYNTAX,
            "\"-\" is not a file (a file of this name is \"./-\"); for a stream, use 'pumice exec POD -- tar c DIR' or "
            "'tar c DIR | pumice exec -i POD -- tar x -C DIR'");
    if (into_open(x, e) < 0 || into_pick(x, from.pod.n ? from.pod : to.pod, &p, e) < 0 ||
        open_root(x, &p, &c, &root, e) < 0)
        return -1;
    *(from.pod.n ? &c.from_root : &c.to_root) = root;
    if (from.pod.n) {
        c.keeps_links_in = true;
        c.owner = (uid_t)-1;
    }
    rc = root_copy(&c, from.path, to.path, e);
    *ret_status = c.n_left_out ? EXIT_FAILED : EXIT_FINE;
    return rc;
}

static int cp_run(struct arena *a, const void *options, const struct text_list *arguments)
{
    autointo x = { .arena = a, .o = options };
    int status = EXIT_FINE;
    struct err e;

    return copy(&x, arguments, &status, &e) < 0 ? into_fail("cp", &e) : status;
}

static const struct option cp_options[] = { INTO_CONTAINER, INTO_POD };

static const char *const cp_examples[] = { "pumice cp worker-0:/tmp/model.pt .", "a file out of a pod",
                                           "pumice cp data worker-0:/data", "a directory into one", NULL };

const struct command command_cp = {
    .name = "cp",
    .arguments = "[FROM TO]",
    .summary = "copy files and directories out of or into a pod of a run",
    .about =
        "One of FROM and TO is POD:PATH. Works like 'cp -r': if TO is a directory, it copies into it. The image needs "
        "no tar.\n"
        "Files copied in belong to the container's user. Copying out of a pod skips links that lead out of the copied\n"
        "directory, and all that is not a file, directory or link: it names each, and exits with status 1.",
    .options = cp_options,
    .n_options = ARRAY_LEN(cp_options),
    .options_size = sizeof(struct into_options),
    .foreign = into_foreign,
    .examples = cp_examples,
    .run = cp_run,
};
