/* announce.c - tells `pumice run` that a server is up on this machine */
#include "base/log.h"
#include "base/util.h"
#include "program/server/server.h"
#include "json/json.h"
#include "node/doctor/host.h"
#include "os/io.h"
#include "os/path.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#define ANNOUNCE_NAME "server.json"
#define ANNOUNCE_ROOT "/run/pumice"

enum { ANNOUNCE_BYTES = 4096 };

const char *const announce_runs[] = { "submit", "tell", "beside", NULL };

/* ---- directories ---- */

static struct str session_dir(struct arena *a)
{
    const char *xdg = getenv("XDG_RUNTIME_DIR");

    return xdg && xdg[0] == '/' ? arena_fmt(a, "%s/pumice", xdg) : STR_NULL;
}

static bool is_usual(struct serve *s)
{
    struct str usual;
    struct err e;

    return server_dir_find(s->arena, NULL, &usual, &e) == 0 && str_eq(usual, s->data_dir);
}

void serve_announce_find(struct serve *s)
{
    struct str session = session_dir(s->arena);

    if (s->o->runs ? strcmp(s->o->runs, "beside") != 0 : is_usual(s))
        s->announce_dir = session.n ? session : geteuid() == 0 ? STR(ANNOUNCE_ROOT) : host_state_dir(s->arena);
}

/* ---- locks ---- */

/* Of the process: it is not inherited, so nothing that the server leaves behind looks like the server. */
static struct flock whole_file(short type)
{
    return (struct flock){ .l_type = type, .l_whence = SEEK_SET };
}

static bool is_held(int fd)
{
    struct flock lock = whole_file(F_RDLCK);

    return fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

/* ---- the server ---- */

static void announce_print(struct buf *out, const struct serve *s)
{
    autoarena a = { 0 };
    struct json *j = json_object(&a);

    json_add(j, STR("server"), json_str(&a, s->url));
    json_add(j, STR("kubeconfig"), json_str(&a, s->kubeconfig));
    json_add(j, STR("runs"), json_str(&a, str_of(s->o->runs ? s->o->runs : "tell")));
    json_print(out, j);
    buf_char(out, '\n');
}

static bool is_announced(const char *path)
{
    autoclose int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

    return fd >= 0 && is_held(fd);
}

/* Locked before it has its name, so readers never see it unlocked. */
static int announce_write_file(struct serve *s, const char *path, struct err *e)
{
    const char *draft = arena_fmt(s->arena, "%s.%d", path, (int)getpid()).p;
    autoclose int fd = open(draft, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    struct flock lock = whole_file(F_WRLCK);
    autobuf text = { 0 };

    announce_print(&text, s);
    if (fd < 0)
        return err_errno(e, "create %s", draft);
    if (fchmod(fd, 0644) < 0 || fcntl(fd, F_SETLK, &lock) < 0 || write_all(fd, buf_view(&text)) < 0 ||
        rename(draft, path) < 0) {
        (void)err_errno(e, "write %s", path);
        (void)unlink(draft);
        return -1;
    }
    s->announce_fd = fd;
    fd = -1;
    return 0;
}

void serve_announce(struct serve *s)
{
    const char *dir = arena_cstr(s->arena, s->announce_dir), *path = arena_fmt(s->arena, "%s/" ANNOUNCE_NAME, dir).p;
    struct err e;

    if (!s->announce_dir.n || !s->kubeconfig.n)
        return;
    if (make_dirs(dir, 0755, &e) == 0 && is_announced(path))
        (void)err_set(&e, ERR_EXISTS, "another server of this machine is: %s", path);
    else if (announce_write_file(s, path, &e) == 0)
        return;
    log_warn("Failed to announce this server to 'pumice run'", LOG_TEXT("why", e.text));
}

void serve_announce_end(struct serve *s)
{
    if (s->announce_fd < 0)
        return;
    (void)unlink(arena_fmt(s->arena, "%.*s/" ANNOUNCE_NAME, STR_ARG(s->announce_dir)).p); /* it would say nothing */
    autoclose_done(&s->announce_fd);
}

/* ---- those who look ---- */

static bool is_trusted(const struct stat *st)
{
    return (st->st_uid == 0 || st->st_uid == geteuid()) && !(st->st_mode & 022);
}

static bool announce_read_file(struct arena *a, struct str dir, struct announced *ret)
{
    const char *path = arena_fmt(a, "%.*s/" ANNOUNCE_NAME, STR_ARG(dir)).p;
    autoclose int fd = dir.n ? open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) : -1;
    char *text = arena_array(a, char, ANNOUNCE_BYTES);
    struct stat file, above;
    struct json *j;
    ssize_t n;

    if (fd < 0 || fstat(fd, &file) < 0 || !S_ISREG(file.st_mode) || !is_trusted(&file) ||
        stat(arena_cstr(a, dir), &above) < 0 || !is_trusted(&above) || !is_held(fd))
        return false;
    n = read(fd, text, ANNOUNCE_BYTES);
    if (n <= 0 || json_parse(a, (struct str){ text, (size_t)n }, NULL, &j, NULL) < 0)
        return false;
    *ret = (struct announced){ json_member_text(j, "server"), json_member_text(j, "kubeconfig"),
                               json_member_text(j, "runs") };
    return ret->server.n && ret->kubeconfig.n;
}

bool announced_find(struct arena *a, struct announced *ret)
{
    return announce_read_file(a, session_dir(a), ret) || announce_read_file(a, STR(ANNOUNCE_ROOT), ret) ||
           announce_read_file(a, host_state_dir(a), ret);
}
