/* spawner_program.c - pumice-spawner: a small program with few libraries, because its memory is copied for every shim
 * and for process 1 of every container. See docs/design/node.md. */
#include "node/shim/shim.h"

int main(int argc, char **argv)
{
    (void)argc;
    return spawner_program(argv) != 0; /* -1: executed under another name */
}
