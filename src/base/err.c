/* err.c - making and wrapping errors */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const err_code_names[ERR_CODE_MAX] = {
    [ERR_OK] = "OK",
    [ERR_INVALID] = "Invalid",
    [ERR_SYNTAX] = "BadRequest",
    [ERR_TOO_BIG] = "RequestEntityTooLarge",
    [ERR_NOT_FOUND] = "NotFound",
    [ERR_EXISTS] = "AlreadyExists",
    [ERR_CONFLICT] = "Conflict",
    [ERR_GONE] = "Expired",
    [ERR_FORBIDDEN] = "Forbidden",
    [ERR_IO] = "InternalError",
    [ERR_INTERNAL] = "InternalError",
};

const char *err_code_name(enum err_code code)
{
    return code >= 0 && code < ERR_CODE_MAX ? err_code_names[code] : "InternalError";
}

/* A cut sentence must look cut, or the reader trusts half a message. It ends with a whole UTF-8 character. */
static void mark_cut(struct err *e, int wanted)
{
    size_t at = sizeof(e->text) - 4;

    if (wanted < (int)sizeof(e->text))
        return;
    while (at > sizeof(e->text) - 8 && (e->text[at] & 0xc0) == 0x80)
        at--;
    memcpy(e->text + at, "...", 4);
}

int err_set(struct err *e, enum err_code code, const char *fmt, ...)
{
    va_list ap;

    if (!e)
        return -1;
    e->code = code;
    va_start(ap, fmt);
    mark_cut(e, vsnprintf(e->text, sizeof(e->text), fmt, ap));
    va_end(ap);
    return -1;
}

static enum err_code code_of_errno(int no)
{
    switch (no) {
    case ENOENT:
    case ENOTDIR:
        return ERR_NOT_FOUND;
    case EEXIST:
        return ERR_EXISTS;
    case EACCES:
    case EPERM:
        return ERR_FORBIDDEN;
    case EFBIG:
        return ERR_TOO_BIG;
    default:
        return ERR_IO;
    }
}

int err_errno(struct err *e, const char *fmt, ...)
{
    int no = errno;
    char what[sizeof(e->text)];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(what, sizeof(what), fmt, ap); /* err_set marks the cut */
    va_end(ap);
    return err_set(e, code_of_errno(no), "%s: %s", what, strerror(no));
}

int err_wrap(struct err *e, const char *fmt, ...)
{
    char front[sizeof(e->text)], back[sizeof(e->text)];
    va_list ap;

    if (!e)
        return -1;
    va_start(ap, fmt);
    (void)vsnprintf(front, sizeof(front), fmt, ap);
    va_end(ap);
    memcpy(back, e->text, sizeof(back));
    return err_set(e, e->code, "%s: %s", front, back);
}
