/* read.h - whole files into memory, with a limit */
#ifndef CLI_READ_H
#define CLI_READ_H

#include "base/arena.h"
#include "base/err.h"

enum { READ_MAX_BYTES = 64 * 1024 * 1024 };

/* The bytes of 'path' ("-": standard input), in 'a'. The error does not repeat the path: "is a directory; …". A file
 * above READ_MAX_BYTES is refused before it is read. */
int read_file(struct arena *a, const char *path, struct str *ret, struct err *e);

#endif
