/* user_ordinary.c - who this process was before it became root of a user namespace */
#include "node/userns/user.h"

#include <unistd.h>

static bool has_entered; /* of this process and what it forks */

bool user_is_ordinary(void)
{
    return has_entered || geteuid() != 0;
}

void user_note_ordinary(void)
{
    has_entered = true;
}
