/* memory.c - giving back what is not needed while nothing happens */
#include "os/memory.h"

#include <link.h>
#include <malloc.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BLOCK_OF_ITS_OWN = 32 << 20 }; /* blocks this large are mapped alone and go back when they are freed */

void memory_keep(size_t bytes)
{
#ifdef __GLIBC__
    (void)mallopt(M_MMAP_THRESHOLD, BLOCK_OF_ITS_OWN);
    (void)mallopt(M_TRIM_THRESHOLD, (int)bytes);
#else
    (void)bytes;
#endif
}

/* Writable segments differ from the file, and so do relocated constants, which are made read-only later. */
static int memory_let_go(struct dl_phdr_info *object, size_t size, void *ctx)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

    (void)size, (void)ctx;
    for (size_t i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *h = &object->dlpi_phdr[i];
        uintptr_t from = (object->dlpi_addr + h->p_vaddr) & ~(page - 1),
                  to = object->dlpi_addr + h->p_vaddr + h->p_memsz;

        if (h->p_type == PT_LOAD && !(h->p_flags & PF_W))
            (void)madvise((void *)from, to - from, MADV_DONTNEED); /* NOLINT: an address; not here: it stays */
    }
    return 0;
}

void memory_settle(void)
{
#ifdef __GLIBC__
    (void)malloc_trim(0); /* nothing to give back is fine */
#endif
    (void)dl_iterate_phdr(memory_let_go, NULL);
}
