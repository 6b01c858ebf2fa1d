/* secret_file.h - private files with keys, tokens and users, replaced atomically
 *
 * They are in a directory of mode 0700 and have mode 0600. A link, or a file that another user owns or can access, is
 * refused with a hint what to do: other users may know a key that they could read.
 */
#ifndef PKI_SECRET_FILE_H
#define PKI_SECRET_FILE_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <sys/stat.h>

enum { SECRET_FILE_MAX = 16 << 20 };

/* Open the directory (O_PATH would not do: it is synced), made with 0700 if it is not there. */
int secret_dir_open(const char *path, int *ret_dir, struct err *e);

/* ERR_NOT_FOUND: there is none. 'ret_stat' may be NULL. */
int secret_file_read(int dir, const char *name, struct buf *out, struct stat *ret_stat, struct err *e);

/* Is it another file than the one last seen here? '*seen' is what it is now; zeroed: none. */
bool secret_file_changed(int dir, const char *name, struct stat *seen);

/* The old file or the new one, whatever happens, power cuts included. */
int secret_file_write(int dir, const char *name, struct str bytes, struct err *e);

#endif
