/* user_map.c - subordinate ids of a user, and a helper that maps them for its parent
 *
 * Only a process outside of a new user namespace can map more than the user's own id into it, and only newuidmap and
 * newgidmap, which are set-uid root, have the permission. So the helper is forked first, waits until its parent is
 * inside, and runs them on it.
 */
#include "base/buf.h"
#include "base/util.h"
#include "os/proc.h"
#include "node/userns/user_internal.h"
#include "os/io.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>

enum { FILE_MAX = 1024 * 1024, IDS_MAX = 1024 * 1024 };

struct user_range user_range_find(struct str text, const char *name, uid_t uid)
{
    struct user_range best = { 0, 0 };
    struct str line, rest, who, first;
    char number[16];

    (void)snprintf(number, sizeof(number), "%u", uid);
    while (str_split(&text, '\n', &line)) {
        uint64_t from, n;

        rest = line;
        if (!str_split(&rest, ':', &who) || !str_split(&rest, ':', &first) ||
            !(str_is(who, number) || (name && str_is(who, name))) || str_to_u64(first, &from) < 0 ||
            str_to_u64(str_trim(rest), &n) < 0)
            continue;
        if (from == 0 || from > UINT32_MAX || n > UINT32_MAX - from ||
            n <= best.n) /* 0: root itself, surely a mistake */
            continue;
        best = (struct user_range){ (uint32_t)from, (uint32_t)n };
    }
    best.n = MIN_OF(best.n, IDS_MAX);
    return best;
}

static struct user_range subordinate_range(const char *path, const char *name, uid_t uid)
{
    autobuf text = { 0 };

    (void)file_read(AT_FDCWD, path, 0, FILE_MAX, &text); /* unreadable: no range */
    return user_range_find(buf_view(&text), name, uid);
}

/* ---- the helper ---- */

static const struct {
    const char *program, *file;
} kinds[] = { { "newuidmap", "/etc/subuid" }, { "newgidmap", "/etc/subgid" } };

struct task {
    char program[ARRAY_LEN(kinds)][256];
    struct user_range range[ARRAY_LEN(kinds)];
    uint32_t own[ARRAY_LEN(kinds)];
};

static bool user_map_prepare(struct task *t, struct user_helper *h)
{
    const struct passwd *pw = getpwuid(geteuid());
    const char *name = pw ? pw->pw_name : NULL;

    if (!name) { /* newuidmap needs a user name */
        (void)snprintf(h->why, sizeof(h->why), "user %u has no name; as root run: useradd -u %u NAME", geteuid(),
                       geteuid());
        return false;
    }
    t->own[0] = geteuid();
    t->own[1] = getegid();
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        t->range[i] = subordinate_range(kinds[i].file, name, geteuid());
        if (!proc_find(kinds[i].program, t->program[i], sizeof(t->program[i]))) {
            (void)snprintf(h->why, sizeof(h->why), "%s is not installed; as root run: apt-get install uidmap",
                           kinds[i].program);
            return false;
        }
    }
    if (!t->range[0].n || !t->range[1].n) {
        (void)snprintf(
            h->why, sizeof(h->why), "%s has no ids for this user; as root run: echo %s:%u:65536 | tee -a%s%s%s%s",
            kinds[t->range[0].n ? 1 : 0].file, name, 1000000 + (geteuid() % 60000) * 65536, t->range[0].n ? "" : " ",
            t->range[0].n ? "" : kinds[0].file, t->range[1].n ? "" : " ", t->range[1].n ? "" : kinds[1].file);
        return false;
    }
    h->n_ids = MIN_OF(t->range[0].n, t->range[1].n) + 1;
    return true;
}

enum { HELPER_MS = 30000 }; /* takes milliseconds unless it is stopped */

static int run_mapper(const struct task *t, size_t i, const char *pid, struct buf *said)
{
    char own[16], first[16], n[16];
    const char *const argv[] = { kinds[i].program, pid, "0", own, "1", "1", first, n, NULL };

    (void)snprintf(own, sizeof(own), "%u", t->own[i]);
    (void)snprintf(first, sizeof(first), "%u", t->range[i].first);
    (void)snprintf(n, sizeof(n), "%u", t->range[i].n);
    return proc_run(t->program[i], argv, said, NULL);
}

static _Noreturn void be_helper(const struct task *t, int go, int words, pid_t parent)
{
    autobuf said = { 0 };
    char pid[16], c;
    ssize_t n;
    int rc = 0;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* also when it is stopped by a signal: no one would resume it */
    if (getppid() != parent)
        _exit(1);
    (void)snprintf(pid, sizeof(pid), "%d", parent);
    do
        n = read(go, &c, 1);
    while (n < 0 && errno == EINTR);
    if (n != 1)
        _exit(1);
    for (size_t i = 0; i < ARRAY_LEN(kinds) && rc == 0; i++)
        rc = run_mapper(t, i, pid, &said);
    if (rc != 0 && words >= 0)
        (void)!write(words, said.p ? said.p : "", said.n); /* best effort */
    _exit(rc != 0);
}

void user_helper_start(struct user_helper *h)
{
    struct task t = { 0 };
    pid_t self = getpid();
    int go[2];

    *h = (struct user_helper){ .go = -1, .words = -1 };
    if (!user_map_prepare(&t, h))
        return;
    if (pipe2(go, O_CLOEXEC) < 0) {
        (void)snprintf(h->why, sizeof(h->why), "cannot make a pipe for a helper: %s", strerror(errno));
        return;
    }
    h->words = proc_words_open();
    proc_hold_signals(&h->mask);
    h->pid = fork();
    if (h->pid == 0) {
        close(go[1]);
        be_helper(&t, go[0], h->words, self);
    }
    if (h->pid < 0) {
        (void)snprintf(h->why, sizeof(h->why), "cannot start a helper: %s", strerror(errno));
        (void)sigprocmask(SIG_SETMASK, &h->mask, NULL);
        close(go[1]);
        go[1] = -1;
        h->pid = 0;
    }
    close(go[0]);
    h->go = go[1];
}

static int helper_wait(struct user_helper *h)
{
    int status;

    if (h->go < 0)
        return -1;
    close(h->go);
    h->go = -1;
    status = proc_wait_gone(h->pid, HELPER_MS);
    (void)sigprocmask(SIG_SETMASK, &h->mask, NULL);
    return status;
}

int user_helper_finish(struct user_helper *h)
{
    autobuf said = { 0 };
    struct str line;
    int status;

    (void)!write(h->go, "x", 1); /* errors show in its exit status */
    status = helper_wait(h);
    proc_words(h->words, &said);
    close(h->words);
    if (status == 0)
        return 0;
    line = str_trim(buf_view(&said));
    (void)snprintf(
        h->why, sizeof(h->why),
        "%.*s; newuidmap and newgidmap must be set-uid root: as root run: apt-get install --reinstall uidmap",
        line.n ? (int)MIN_OF(line.n, 150) : 16, line.n ? line.p : "newuidmap failed");
    return -1;
}

void user_helper_cancel(struct user_helper *h)
{
    (void)helper_wait(h);
    if (h->words >= 0)
        close(h->words);
}
