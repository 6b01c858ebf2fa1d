/* err.h - an error is a code and a sentence, by value on the caller's stack
 *
 * Functions return 0 or -1 and take 'struct err *e' last. The makers below return -1, so that failing is one line:
 *
 *     if (fd < 0)
 *         return err_errno(e, "open %s", path);
 *
 * On success 'e' is not touched. 'e' may be NULL when the caller only wants to know whether it worked. There is nothing
 * to free. Text that does not fit is cut and ends with "...".
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include <stddef.h>

/* Few, and each means something to a client. Keep err_code_name() in step. */
enum err_code {
    ERR_OK,
    ERR_INVALID, /* the input is wrong; trying again will not help */
    ERR_SYNTAX,  /* the input cannot even be read */
    ERR_TOO_BIG, /* a limit on size or depth was passed */
    ERR_NOT_FOUND,
    ERR_EXISTS,
    ERR_CONFLICT, /* another client changed it first */
    ERR_GONE,     /* the revision asked for is no longer kept */
    ERR_FORBIDDEN,
    ERR_IO,       /* the operating system said no */
    ERR_INTERNAL, /* we are wrong, not the input */
    ERR_CODE_MAX,
};

struct err {
    enum err_code code;
    char text[500];
};

/* "Invalid", "NotFound", …: the reason names of the Kubernetes API where one fits. */
const char *err_code_name(enum err_code code);

/* Set code and sentence. Returns -1. The arguments must not point into 'e->text': that is what err_wrap is for. */
int err_set(struct err *e, enum err_code code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Set ERR_IO (ERR_NOT_FOUND for ENOENT, ERR_EXISTS for EEXIST …) and "sentence: strerror(errno)". Returns -1. */
int err_errno(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Put "sentence: " in front of what 'e' already says. Keeps the code. Returns -1. */
int err_wrap(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
