/* program.c - finding and running the few programs of the host that we use
 *
 * What they say goes into a memory file: nothing blocks however much it is, and nobody waits for a pipe that a grandchild
 * keeps open.
 */
#include "os/program.h"

#include "base/util.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { WORDS_MAX = 4096, CANNOT_RUN = 127 };

static const char extra_path[] = "/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/sbin:/usr/local/bin";

static bool find_in(struct str path, const char *name, char *out, size_t size)
{
    struct str dir;

    while (str_split(&path, ':', &dir)) {
        if (str_empty(dir) || dir.p[0] != '/') /* not from wherever we happen to be */
            continue;
        if ((size_t)snprintf(out, size, "%.*s/%s", STR_ARG(dir), name) < size && access(out, X_OK) == 0)
            return true;
    }
    return false;
}

bool program_find(const char *name, char *out, size_t size)
{
    return find_in(str_of(getenv("PATH")), name, out, size) || find_in(str_of(extra_path), name, out, size);
}

int program_words_open(void)
{
    return memfd_create("words", MFD_CLOEXEC);
}

void program_words(int fd, struct buf *out)
{
    ssize_t n = fd < 0 ? 0 : pread(fd, buf_reserve(out, WORDS_MAX), WORDS_MAX, 0);

    out->n += n > 0 ? (size_t)n : 0;
    buf_str(out, STR_NULL); /* the NUL at the end */
}

/* After fork, perhaps with threads elsewhere: system calls only. */
static _Noreturn void become(const char *path, const char *const argv[], int words)
{
    int nothing = open("/dev/null", O_RDONLY);
    sigset_t none;

    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL); /* cannot fail */
    if (nothing >= 0 && dup2(nothing, 0) >= 0 && dup2(words, 1) >= 0 && dup2(words, 2) >= 0)
        (void)execv(path, (char *const *)argv); /* comes back only if it failed */
    _exit(CANNOT_RUN);
}

int program_run(const char *path, const char *const argv[], struct buf *said, struct err *e)
{
    autoclose int words = program_words_open();
    int status;
    pid_t pid = words < 0 ? -1 : fork();

    if (pid < 0)
        return err_errno(e, "start %s", path);
    if (pid == 0)
        become(path, argv, words);
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return err_errno(e, "wait for %s", path);
    if (said)
        program_words(words, said);
    if (WIFSIGNALED(status))
        return err_set(e, ERR_IO, "%s was ended by signal %d", path, WTERMSIG(status));
    return WEXITSTATUS(status);
}
