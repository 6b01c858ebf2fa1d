/* place.h - what the tests of files share: a directory of their own, open, and empty before each test */
#ifndef OS_TEST_PLACE_H
#define OS_TEST_PLACE_H

#include "os/test/testing.h"

static char place_path[64];
static int place;

static inline int place_make(void **state)
{
    (void)snprintf(place_path, sizeof(place_path), "/tmp/pumice-os.XXXXXX");
    if (!mkdtemp(place_path))
        return -1;
    place = open(place_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return place < 0 ? -1 : 0;
}

static inline int place_drop(void **state)
{
    int rc = tree_empty(place, NULL);

    close(place);
    return rmdir(place_path) < 0 ? -1 : rc;
}

static inline void put(const char *path, const char *text)
{
    assert_int_equal(file_write(place, path, O_TRUNC, 0644, str_of(text)), 0);
}

static inline bool is_there(const char *path)
{
    return faccessat(place, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static inline mode_t mode_of(const char *path)
{
    struct stat st;

    assert_int_equal(fstatat(place, path, &st, AT_SYMLINK_NOFOLLOW), 0);
    return st.st_mode & 07777;
}

static inline void assert_closes_on_exec(int fd)
{
    assert_true(fd >= 0);
    assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
}

#endif
