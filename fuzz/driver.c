/* driver.c - runs a fuzz target over the files of folders given as arguments: the corpus as a test */
#include "base/buf.h"
#include "os/dir.h"
#include "os/io.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t run_folder(const char *folder)
{
    autodir *dir = opendir(folder);
    size_t n = 0;

    if (!dir) {
        fprintf(stderr, "%s: %s\n", folder, strerror(errno));
        exit(1);
    }
    for (struct dirent *entry; (entry = dir_next(dir)); n++) {
        autobuf text = { 0 };
        char *exact;

        if (file_read(dirfd(dir), entry->d_name, 0, SIZE_MAX, &text) < 0) {
            fprintf(stderr, "%s/%s: %s\n", folder, entry->d_name, strerror(errno));
            exit(1);
        }
        exact = malloc(text.n + !text.n); /* exact size, so that a read beyond the end is seen */
        memcpy(exact, text.p, text.n);
        LLVMFuzzerTestOneInput((const uint8_t *)exact, text.n);
        free(exact);
    }
    return n;
}

int main(int argc, char **argv)
{
    size_t n = 0;

    for (int i = 1; i < argc; i++)
        n += run_folder(argv[i]);
    printf("cases: %zu passed, 0 failed\n", n);
    return n == 0; /* an empty corpus proves nothing */
}
