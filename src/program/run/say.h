/* say.h - sentences for people */
#ifndef PROGRAM_RUN_SAY_H
#define PROGRAM_RUN_SAY_H

#include "base/str.h"

struct run;

struct run_listener { /* receives them */
    void *ctx;
    void (*say)(void *ctx, struct str sentence);
};

/* To the user: a line or an event, and the history. */
void run_say(struct run *r, struct str sentence);
/* The same for what is good to know: -q leaves it to the history. */
void run_notice(struct run *r, struct str sentence);
void run_note(struct run *r, struct str sentence); /* the history alone, and the record */
/* Several lines under a head, as they are. */
void run_tell_text(struct run *r, struct str head, struct str lines);

#endif
