/* box_prepare.c - what is done once for all containers, in the process whose children they are */
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

void box_look(void)
{
    box_mounts_look();
}
