/* driver.c - runs a fuzz target over the files of folders given as arguments: the corpus as a test */
#include "base/arena.h"
#include "cli/read.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t run_folder(const char *folder)
{
    DIR *dir = opendir(folder);
    size_t n = 0;

    if (!dir) {
        fprintf(stderr, "%s: %s\n", folder, strerror(errno));
        exit(1);
    }
    for (struct dirent *entry; (entry = readdir(dir));) {
        struct arena a = { 0 };
        struct str text;
        struct err e;
        char *exact;

        if (entry->d_name[0] == '.')
            continue;
        if (read_file(&a, arena_fmt(&a, "%s/%s", folder, entry->d_name).p, &text, &e) < 0) {
            fprintf(stderr, "%s/%s: %s\n", folder, entry->d_name, e.text);
            exit(1);
        }
        exact = malloc(text.n + !text.n); /* exact size, so that a read beyond the end is seen */
        memcpy(exact, text.p, text.n);
        LLVMFuzzerTestOneInput((const uint8_t *)exact, text.n);
        free(exact);
        arena_done(&a);
        n++;
    }
    closedir(dir);
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
