/* spawner_libs.c - libraries that shims do without
 *
 * Half of what a fork of the spawner copies are the maps and the relocated tables of libraries that only the program
 * uses; each shim, and each process 1 of a container, copied them and threw them away. Memory that is marked so is not
 * there in a child at all. The dynamic loader must not go there either: it looks a function up in one library after the
 * other, so all have to be found before (LD_BIND_NOW, which reexec.h sets), or all stays as it was. Whoever looks up the
 * name of a host may have the loader bring another library (nsswitch.conf), so pods that do have all of them.
 */
#include "node/shim/shim_internal.h"

#include "base/util.h"

#include <link.h>
#include <sys/mman.h>

/* No shim calls them, but for probes. What is not listed stays: a sanitizer, or what somebody preloads. */
static const struct str spare[] = {
    STR_INIT("libbz2.so"), STR_INIT("libcrypto.so"), STR_INIT("libldns.so"),    STR_INIT("liblzma.so"),
    STR_INIT("libm.so"),   STR_INIT("libmnl.so"),    STR_INIT("libsqlite3.so"), STR_INIT("libssl.so"),
    STR_INIT("libyaml-"),  STR_INIT("libz.so"),      STR_INIT("libzstd.so"),
};

static bool is_spare(const char *path)
{
    const char *slash = strrchr(path, '/');
    struct str name = str_of(slash ? slash + 1 : path);

    for (size_t i = 0; i < ARRAY_LEN(spare); i++)
        if (str_starts(name, spare[i]))
            return true;
    return false;
}

static int advise(struct dl_phdr_info *info, size_t size, void *ctx)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = UINTPTR_MAX, to = 0;

    (void)size;
    if (!is_spare(info->dlpi_name))
        return 0;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uintptr_t at = info->dlpi_addr + part->p_vaddr;

        if (part->p_type != PT_LOAD)
            continue;
        from = MIN_OF(from, at & ~(page - 1));
        to = MAX_OF(to, (at + part->p_memsz + page - 1) & ~(page - 1));
    }
    if (to > from)
        (void)madvise((void *)from, to - from, *(const int *)ctx); /* what is copied all the same does no harm */
    return 0;
}

static bool is_bound(void)
{
    const char *now = getenv("LD_BIND_NOW");

    return now && *now;
}

void spawner_share_libs(bool on)
{
    int what = on ? MADV_DOFORK : MADV_DONTFORK;

    if (is_bound())
        (void)dl_iterate_phdr(advise, &what);
}
