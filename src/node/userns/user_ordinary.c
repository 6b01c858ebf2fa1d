/* user_ordinary.c - was this process an ordinary user before it entered a user namespace? */
#include "node/userns/user.h"

#include "base/util.h"

#include <stdio.h>
#include <unistd.h>

static bool has_entered; /* inherited by forks */

bool user_is_ordinary(void)
{
    return has_entered || geteuid() != 0;
}

void user_note_ordinary(void)
{
    has_entered = true;
}

uint32_t user_ids(void)
{
    autofile FILE *f = fopen("/proc/self/uid_map", "re");
    unsigned inside, outside, n;
    uint64_t sum = 0;

    while (f && fscanf(f, "%u %u %u", &inside, &outside, &n) == 3)
        sum += n;
    return (uint32_t)MIN_OF(sum, UINT32_MAX);
}
