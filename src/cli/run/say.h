/* say.h - somebody who is told sentences for people */
#ifndef CLI_RUN_SAY_H
#define CLI_RUN_SAY_H

#include "base/str.h"

struct run_say {
    void *ctx;
    void (*say)(void *ctx, struct str sentence);
};

#endif
