/* oci_call.c - calling the runtime
 *
 * It may be missing, fail without a message, or hang: it is called through os/proc.h with a time limit and killed
 * after that.
 */
#include "node/oci/oci_internal.h"

#include "base/util.h"
#include "json/json.h"
#include "os/io.h"
#include "os/proc.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>

enum { LOG_MAX_BYTES = 64 << 10, VERSION_MS = 10000 };

void oci_run_init(struct oci_run *r, const struct oci_place *p)
{
    char *id = (char *)arena_cstr(&r->arena, str_of(p->id));

    for (char *c = id; *c; c++) /* the characters that both runtimes allow */
        if (!memchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-", *c, 65))
            *c = '-';
    r->place = p;
    r->id = id[0] == '-' || id[0] == '.' ? arena_fmt(&r->arena, "x%s", id).p : id;
    r->state = arena_fmt(&r->arena, "%s/run", p->bundle).p;
    r->log = arena_fmt(&r->arena, "%s/log", p->bundle).p;
    r->pids = arena_fmt(&r->arena, "%s/pids", p->bundle).p;
    r->dev = arena_fmt(&r->arena, "%s/dev", p->bundle).p;
    r->pid_file = arena_fmt(&r->arena, "%s/pid", p->bundle).p;
}

/* ---- calling ---- */

struct oci_command {
    const char *const *argv;
    const char *verb; /* of argv, for messages */
    enum proc_streams streams;
    int ms; /* time limit */
};

/* Processes that it leaves behind are the container. A shim has no environment, since programs in the pod could read
 * it; PATH lets the runtime find its helpers. */
static int oci_execute(const struct oci_command *c, struct buf *said, struct err *e)
{
    static const char *const env[] = { "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", NULL };
    struct proc_how how = { .streams = c->streams, .may_leave = true, .env = *environ ? NULL : env };
    struct proc_end end;
    struct proc p;

    if (proc_begin(c->argv[0], c->argv, &how, &p, e) < 0)
        return -1;
    end = proc_end(&p, c->ms, said);
    if (end.is_late)
        return err_set(e, ERR_IO, "\"%s %s\" timed out after %d s", c->argv[0], c->verb, (c->ms + 999) / 1000);
    if (end.status == PROC_CANNOT_RUN)
        return err_set(e, ERR_IO, "cannot run %s", c->argv[0]);
    if (end.signo == SIGKILL)
        return err_set(e, ERR_IO, "\"%s %s\" was killed; it counts against the memory limit of the container",
                       c->argv[0], c->verb);
    if (end.signo)
        return err_set(e, ERR_IO, "\"%s %s\" was killed by signal %d", c->argv[0], c->verb, end.signo);
    return end.status ? err_set(e, ERR_IO, "\"%s %s\" exited with status %d", c->argv[0], c->verb, end.status) : 0;
}

static int ask_version(const char *path, struct buf *said, struct err *e)
{
    const char *const argv[] = { path, "--version", NULL };

    return oci_execute(&(struct oci_command){ argv, argv[1], PROC_WORDS, VERSION_MS }, said, e);
}

/* ---- kinds ---- */

static const struct oci_kind kinds[] = {
    { "crun", "--cgroup-manager=disabled", true, false },
    { "runc", "--rootless=true", false, true }, /* affects cgroups only: it ignores those it cannot create */
    { 0 },
};

static const struct oci_kind *kind_in(struct str words)
{
    size_t i = 0;

    while (kinds[i].name && !str_has(words, str_of(kinds[i].name)))
        i++;
    return &kinds[i];
}

/* A runtime with another name may be one of them by its version text: those of GPU vendors are modified runc. */
const struct oci_kind *oci_kind(struct oci_run *r)
{
    struct str path = str_of(r->place->runtime);
    autobuf words = { 0 };

    if (!r->kind)
        r->kind = kind_in(str_from(path, (size_t)(str_rfind_char(path, '/') + 1)));
    if (!r->kind->name && !r->has_asked) {
        r->has_asked = true;
        if (ask_version(r->place->runtime, &words, NULL) == 0)
            r->kind = kind_in(buf_view(&words));
    }
    return r->kind;
}

/* ---- why it failed ---- */

struct str oci_file_read(struct arena *a, const char *path)
{
    return file_text(a, AT_FDCWD, path, LOG_MAX_BYTES);
}

/* The last error in its log, without the runtime's own prefixes. Empty: none. */
static struct str last_error(struct oci_run *r)
{
    static const char *const preambles[] = { "runc create failed: ", "unable to start container process: ",
                                             "container create failed: " };
    struct str rest = oci_file_read(&r->arena, r->log), line, found = STR_NULL;
    struct json *entry;

    while (str_split(&rest, '\n', &line))
        if (line.n && json_parse(&r->arena, line, NULL, &entry, NULL) == 0 &&
            !str_is(json_member_text(entry, "level"), "warning"))
            found = json_member_text(entry, "msg");
    for (size_t i = 0; i < ARRAY_LEN(preambles); i++)
        if (str_starts(found, str_of(preambles[i])))
            found = str_from(found, strlen(preambles[i]));
    return found;
}

int oci_call(struct oci_run *r, const char *const *verb, bool is_quiet, int ms, struct err *e)
{
    const char *argv[20], *flag = r->place->group ? NULL : oci_kind(r)->flag, *name = verb[0];
    struct str why;
    size_t n = 0;

    argv[n++] = r->place->runtime;
    if (flag)
        argv[n++] = flag;
    argv[n++] = "--root";
    argv[n++] = r->state;
    argv[n++] = "--log";
    argv[n++] = r->log;
    argv[n++] = "--log-format";
    argv[n++] = "json";
    while (*verb && n < ARRAY_LEN(argv) - 1)
        argv[n++] = *verb++;
    argv[n] = NULL;
    if (oci_execute(&(struct oci_command){ argv, name, is_quiet ? PROC_SILENT : PROC_OURS, ms }, NULL, e) == 0)
        return 0;
    why = last_error(r);
    return why.n ? err_set(e, ERR_IO, "%.*s", STR_ARG(why)) : -1;
}

/* ---- finding one ---- */

int oci_find(struct arena *a, const char *name, const char **ret, struct err *e)
{
    char found[PATH_MAX];
    const char *path = NULL;
    autobuf words = { 0 };

    if (strchr(name, '/') ? access(name, X_OK) == 0 && realpath(name, found) : proc_find(name, found, sizeof(found)))
        path = arena_str(a, str_of(found)).p;
    if (!path && strchr(name, '/'))
        return err_set(e, ERR_NOT_FOUND, "%s: no such program", name);
    if (!path)
        return err_set(e, ERR_NOT_FOUND, "%s is not installed; give its path, or run: apt-get install %s", name, name);
    if (ask_version(path, &words, e) < 0) {
        if (e)
            e->code = ERR_INVALID;
        return err_wrap(e, "%s does not work on this machine", path);
    }
    *ret = path;
    return 0;
}
