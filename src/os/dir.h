/* dir.h - what is in a directory
 *
 *     autodir *d = dir_open(parent, "name");
 *
 *     for (struct dirent *entry; (entry = dir_next(d));)
 *         … dirfd(d), entry->d_name …
 */
#ifndef OS_DIR_H
#define OS_DIR_H

#include <dirent.h>
#include <stdbool.h>

#define autodir __attribute__((cleanup(dir_done))) DIR
void dir_done(DIR **d);

/* The directory 'path' below 'parent' (AT_FDCWD: as it says), no link. NULL and errno. */
DIR *dir_open(int parent, const char *path);
DIR *dir_take(int take_fd); /* one that is open for reading; -1 gives NULL */

/* The next entry, never "." nor ".."; NULL at the end, and if 'd' is NULL. Valid until the next call. */
struct dirent *dir_next(DIR *d);

#endif
