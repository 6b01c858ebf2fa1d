/* spawner_program.c - pumice-spawner, a small program without libraries: all that it has is copied for every shim, and for
 * process 1 of every container. See docs/design/node.md. */
#include "node/shim/shim.h"

int main(int argc, char **argv)
{
    (void)argc;
    return spawner_program(argv) != 0; /* called by another name there is nothing that it does */
}
