/* out.h - standard output without blocking
 *
 * Bytes wait in a queue while the reader is slow, so that the run does not. After the reader has closed its end, output is dropped.
 */
#ifndef PROGRAM_RUN_OUT_H
#define PROGRAM_RUN_OUT_H

#include "base/buf.h"

struct run_out {
    int fd;
    struct buf queue; /* append here */
    size_t at;        /* written so far */
    bool is_file, is_gone;
    int failed_errno; /* not EPIPE */
};
enum { RUN_OUT_MAX = 16 << 20 }; /* beyond this containers wait for the reader of the run */

void run_out_init(struct run_out *o, int fd);
void run_out_done(struct run_out *o);
/* Write what can be written now; true: nothing is left. */
bool run_out_flush(struct run_out *o);
static inline size_t run_out_left(const struct run_out *o)
{
    return o->queue.n - o->at;
}

#endif
