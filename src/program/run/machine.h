/* machine.h - this machine as the node of the run: its agent, images, devices */
#ifndef PROGRAM_RUN_MACHINE_H
#define PROGRAM_RUN_MACHINE_H

#include "cli/load.h"
#include "cli/machine.h"

struct run;
struct run_options;

struct run_machine {
    struct run *run;
    const struct load *load;
    struct json *capacity; /* NULL: what the machine has */
    struct machine machine;
    struct agent *agent;
};

int run_machine_find(struct run_machine *m, const struct run_options *o, struct err *e); /* can it do what is asked? */
int run_machine_prepare(struct run_machine *m, const struct run_options *o, struct err *e); /* users, images, devices */
int run_machine_open(struct run_machine *m, const struct run_options *o, struct err *e);    /* the agent: run.node */

#endif
