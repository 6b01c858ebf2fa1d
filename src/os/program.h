/* program.h - finding and running the few programs of the host that we use */
#ifndef OS_PROGRAM_H
#define OS_PROGRAM_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>

/* Where 'name' is: by PATH, then where PATH, as ordinary users have it, does not say (/usr/sbin …). */
bool program_find(const char *name, char *out, size_t size);

/* Run it with nothing to read and wait for it. Its exit status; -1 if it could not be run or was killed. What it said, on
 * either stream, is appended to 'said' (may be NULL), at most 4 KiB. Safe to call with other threads about. */
int program_run(const char *path, const char *const argv[], struct buf *said, struct err *e);

/* A memory file to take a program's words; the words in it; -1. */
int program_words_open(void);
void program_words(int fd, struct buf *out);

#endif
