/* publish.h - ports of this machine that lead to pods: --publish, hostPort, and `pumice port-forward` */
#ifndef PROGRAM_RUN_PUBLISH_H
#define PROGRAM_RUN_PUBLISH_H

#include "base/list.h"
#include "cli/load.h"
#include "program/run/say.h"

struct agent;
struct run;
struct run_options;

/* What --publish says: "8265", "8265:POD", "8265:9000", "8265:POD:9000", each with "ADDRESS:" in front, or with "/udp"
 * behind its first or last part. */
struct publish {
    struct str address;   /* empty: 127.0.0.1 */
    uint16_t port;        /* 0: one that is free */
    struct str namespace; /* empty: any */
    struct str pod;       /* its name, or as the output of the run calls it; empty: the one that has the port */
    uint16_t to;          /* port of the pod */
    bool is_host_port;    /* of the pods whose hostPort it is */
    bool is_udp;          /* not TCP */
};
int publish_parse(struct str text, struct publish *ret, struct err *e);

/* ---- all of a run ---- */

struct run_publishes {
    struct run *run; /* NULL: there are none */
    struct agent *agent;
    int epoll;
    struct list list; /* struct run_publish */
};

int run_publishes_init(struct run_publishes *all, struct run *r, struct agent *agent, struct err *e);
/* --publish, and hostPorts of the files: nothing is reported; a port that cannot be bound is an error. */
int run_publishes_open(struct run_publishes *all, const struct run_options *o, const struct load *l, struct err *e);
void run_publishes_turn(struct run_publishes *all); /* 'epoll' is readable */
void run_publishes_done(struct run_publishes *all); /* after agent_close() */

/* ---- one that listens ---- */

struct run_publish;

/* 'say' receives failures of connections. ERR_CONFLICT, ERR_FORBIDDEN: as listening has it, with what to do. */
int run_publish_add(struct run_publishes *all, const struct publish *what, const struct run_listener *say,
                    struct run_publish **ret, struct err *e);
struct str run_publish_address(const struct run_publish *p, struct arena *a); /* "127.0.0.1:8265" */
void run_publish_end(struct run_publish *p);                                  /* and its connections */

#endif
