/* spawner_begin.c - start of the spawner, in its own program or in ours
 *
 * spawner_start() executes it with its socket as SPAWNER_FD; the first message has its options.
 */
#include "node/shim/shim_internal.h"

#include "base/clock.h"
#include "node/userns/user.h"

#include <unistd.h>

const char spawner_program_name[] = "pumice-spawner";

/* A clock that continues the program's: see clock.h. */
static struct clock *continue_clock(const struct spawner_begin *b)
{
    static struct clock_follower follower;
    static struct clock_steady steady;

    if (b->opt.outlives) {
        clock_follower_init(&follower, &clock_real);
        follower.now_us = b->now_us;
        follower.mono_us = b->mono_us;
        return &follower.clock;
    }
    clock_steady_init(&steady, &clock_real);
    steady.ahead_us = b->now_us - b->mono_us;
    return &steady.clock;
}

int spawner_program(char **argv)
{
    static struct spawner_begin begin; /* used by all shims: never freed */
    static struct arena arena;
    struct wire_in in = { 0 };
    struct wire_msg m = { 0 };
    struct err e;

    if (!argv[0] || strcmp(argv[0], spawner_program_name) != 0)
        return -1;
    if (wire_recv(SPAWNER_FD, true, &in, &m, &e) != 1 || spawner_get_begin(&arena, &m, &begin, &e) < 0)
        return 1; /* the program has ended, or has another version */
    (void)log_setup((struct log_config){ STDERR_FILENO, begin.log_level, begin.log_format, NULL });
    if (begin.is_ordinary)
        user_note_ordinary();
    if (cgroups_adopt(begin.group.p, begin.place, &begin.opt.cgroups, NULL, &e) < 0) {
        log_error("Failed to open the cgroups of the spawner", LOG_TEXT("why", e.text));
        return 1;
    }
    wire_in_done(&in);
    begin.opt.clock = continue_clock(&begin);
    spawner_main(&begin.opt, SPAWNER_FD);
}
