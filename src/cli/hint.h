/* hint.h - what the user can do about a problem here and now: one sentence that ends in what to add to the command */
#ifndef CLI_HINT_H
#define CLI_HINT_H

#include "cli/load.h"
#include "history/history.h"

struct images;

struct hints { /* what they are made from */
    const struct load *load;
    struct images *images; /* NULL: nothing is known of images */
};

/* A program that is not there (exit code 127, StartError) where an image fell back to the host's files: where the host
 * has it, or what it has instead, or whose files to give. Nothing is added where there is nothing to say; 'h' may be
 * NULL. */
void hint_failure(struct buf *out, const struct hints *h, const struct history_failure *w);

/* A Job that can never fit: the --node with which it would, or which hostPort is in the way. 'why' is the scheduler's
 * sentence ("Insufficient cpu"). */
void hint_wait(struct buf *out, const struct hints *h, struct str namespace, struct str job, struct str why);

/* --image NAME=WHERE where no container asks for NAME. */
void hint_image(struct buf *out, const struct hints *h, struct str option);

#endif
