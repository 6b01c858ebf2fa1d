/* box_prepare.c - work done once for all containers, in a common ancestor */
#include "node/container/box_internal.h"

void box_prepare(void)
{
    box_seccomp_prepare();
    box_caps_prepare();
    box_program_prepare();
    box_mounts_prepare();
}

void box_refresh(void)
{
    box_mounts_refresh();
    box_fill_refresh();
}

void box_recheck(void)
{
    box_mounts_recheck();
}
