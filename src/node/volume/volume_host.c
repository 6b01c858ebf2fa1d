/* volume_host.c - hostPath: a file or directory of this machine, where that is allowed
 *
 * The path comes from the administrator, not from a container, so its links are followed, and the opened file is
 * checked. With HOST_USER_ANNOTATION the path belongs to another user, who must be able to open it: otherwise a link
 * in that user's directory could lead into closed directories of others.
 */
#include "node/volume/volume_internal.h"

#include "api/meta.h"
#include "api/pod/security.h"

#include <errno.h>
#include <limits.h>
#include <sys/stat.h>

enum creates { CREATES_NOTHING, CREATES_DIR, CREATES_FILE };

static const struct host_type {
    const char *name;
    mode_t format; /* S_IF…; 0: any */
    const char *word;
    enum creates creates;
} host_types[] = {
    /* No check; created as a directory if missing, as in container runtimes. */
    { "", 0, NULL, CREATES_DIR },
    { "DirectoryOrCreate", S_IFDIR, "a directory", CREATES_DIR },
    { "Directory", S_IFDIR, "a directory", CREATES_NOTHING },
    { "FileOrCreate", S_IFREG, "a file", CREATES_FILE },
    { "File", S_IFREG, "a file", CREATES_NOTHING },
    { "Socket", S_IFSOCK, "a socket", CREATES_NOTHING },
    { "CharDevice", S_IFCHR, "a character device", CREATES_NOTHING },
    { "BlockDevice", S_IFBLK, "a block device", CREATES_NOTHING },
};

static const struct host_type *find_type(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(host_types); i++)
        if (str_is(name, host_types[i].name))
            return &host_types[i];
    return NULL;
}

static int volume_host_check_path(struct str path, struct err *e)
{
    struct str rest = path, part;

    if (!str_starts(path, STR("/")))
        return err_set(e, ERR_INVALID, "hostPath \"%.*s\": must be an absolute path", STR_ARG(path));
    if (str_has_char(path, '\0') || path.n >= PATH_MAX)
        return err_set(e, ERR_INVALID, "hostPath: must be shorter than %d bytes and contain no NUL", PATH_MAX);
    while (rest.n && str_split(&rest, '/', &part))
        if (str_is(part, ".."))
            return err_set(e, ERR_INVALID, "hostPath \"%.*s\": must not contain \"..\"", STR_ARG(path));
    return 0;
}

/* Parents are not created, as in Kubernetes. */
static int volume_host_make_file(const char *path, struct err *e)
{
    autoclose int fd = open(path, O_RDONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);

    return fd < 0 && errno != EEXIST ? io_errno(e, "hostPath %s: create the file", path) : 0;
}

static int open_or_make(struct arena *a, struct str path, enum creates creates, struct err *e)
{
    const char *name = arena_cstr(a, path);
    int fd = open(name, O_PATH | O_CLOEXEC);
    struct err why;

    if (fd >= 0 || errno != ENOENT || creates == CREATES_NOTHING)
        goto done;
    if (creates == CREATES_DIR && make_dirs(name, 0755, &why) < 0)
        return err_set(e, ERR_IO, "hostPath %s: %s", name, why.text);
    if (creates == CREATES_FILE && volume_host_make_file(name, e) < 0)
        return -1;
    fd = open(name, O_PATH | O_CLOEXEC);
done:
    if (fd < 0)
        (void)err_errno(e, "hostPath %s", name); /* ERR_NOT_FOUND: it may appear later */
    return fd;
}

/* ---- the user ---- */

static int64_t volume_host_id_of(struct str text)
{
    int64_t id;

    return str_to_i64(text, &id) == 0 && id > 0 && id < UINT32_MAX ? id : -1;
}

int volume_host_user(const struct json *pod, struct volume_user *ret, struct err *e)
{
    struct str text = object_annotation(pod, HOST_USER_ANNOTATION), rest = text, uid;

    *ret = (struct volume_user){ .is_given = text.n > 0 };
    if (!text.n)
        return 0;
    if (!str_split(&rest, ':', &uid) || volume_host_id_of(uid) < 0 || volume_host_id_of(rest) < 0)
        return err_set(e, ERR_INVALID, "metadata.annotations[" HOST_USER_ANNOTATION "]: must be UID:GID (got \"%.*s\")",
                       STR_ARG(str_cut(text, 40)));
    ret->uid = (uid_t)volume_host_id_of(uid);
    ret->gid = (gid_t)volume_host_id_of(rest);
    return 0;
}

int volume_host_begin(const struct volume_set *s, struct fs_user *ret, struct err *e)
{
    ret->is_other = false;
    return s->host_user.is_given ? fs_user_begin(ret, s->host_user.uid, s->host_user.gid, e) : 0;
}

int volume_make_host(struct volume_call *c, struct volume *v, const struct json *spec, struct err *e)
{
    struct str path = json_member_text(spec, "path"), type_name = json_member_text(spec, "type");
    const struct host_type *type = find_type(type_name);
    autoclose int fd = -1;
    struct fs_user as;
    struct stat st;

    if (!c->source->allows_host_path)
        return err_set(e, ERR_FORBIDDEN, "hostPath %.*s: host paths are not allowed on this node", STR_ARG(path));
    if (!type)
        return err_set(e, ERR_INVALID, "unknown hostPath type \"%.*s\"", STR_ARG(type_name));
    if (volume_host_check_path(path, e) < 0)
        return -1;
    if (volume_host_begin(c->set, &as, e) < 0)
        return -1;
    fd = open_or_make(c->arena, path, type->creates, e);
    fs_user_end(&as);
    if (fd < 0)
        return -1;
    if (fstat(fd, &st) < 0)
        return io_errno(e, "hostPath %.*s", STR_ARG(path));
    if (type->format && (st.st_mode & S_IFMT) != type->format)
        return err_set(e, ERR_INVALID, "hostPath type check failed: %.*s is not %s", STR_ARG(path), type->word);
    v->is_file = !S_ISDIR(st.st_mode);
    v->fd = fd;
    fd = -1;
    return 0;
}
