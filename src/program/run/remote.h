/* remote.h - a run whose pods are a server's: `pumice run --server`
 *
 *     remote_choose.c  which server, which options go with one, --detach
 *     remote.c         the connection; objects are created, and deleted at the end
 *     remote_watch.c   the eyes of the run: watches, in the order in which things happened
 *     remote_output.c  the node of the run: what containers write
 *
 * The loop, the history and all that is shown are those of a run on this machine (run.h): they see the same objects
 * change, and hear the same lines. Two things follow from a server in another process:
 *
 *     order      Jobs, pods, groups and Events come by watches of their own. Changes are held for a moment and then
 *                reported by revision, the order in which the server made them. The end of a container is reported
 *                after all of its output.
 *     outages    the server may go and come again. Watches go on where they were, records too, and deletions are
 *                repeated until they are answered.
 */
#ifndef PROGRAM_RUN_REMOTE_H
#define PROGRAM_RUN_REMOTE_H

#include "base/list.h"
#include "program/run/run.h"
#include "cluster/cluster.h"
#include "cluster/relist.h"
#include "kube/ask.h"

struct remote_object { /* made for this run */
    const struct resource_type *type;
    struct str namespace, name, uid;
};

struct run_remote {
    struct run *run;
    struct arena *arena;
    struct kube_config config;
    struct kube_ask *ask;     /* questions that wait for their answer */
    struct kube_ask *streams; /* of records */
    VEC(struct remote_object) made;
    struct map ours; /* uids of what was made for this run, by us or by the server's controllers */
    struct remote_eyes *eyes;
    struct list pods; /* struct remote_pod: whose records are read */
    int epoll;
    int64_t silent_ms; /* mono time: since when the server does not answer; -1: it does */
    bool is_told;      /* … and this was said */
    bool is_deaf;      /* logs may not be read, which was said */
};

/* ---- remote.c ---- */

/* Connect to a server and check that it is Pumice. Afterwards r->sink creates objects there. 'kubeconfig' is the file
 * with its address and the user's credentials; NULL: the one that kubectl would use. */
int run_remote_open(struct run *r, const char *kubeconfig, struct run_remote **ret, struct err *e);
/* Follow the objects that will be created: r->eyes, r->node. */
int run_remote_follow(struct run_remote *m, const struct load *l, struct err *e);
/* Delete what was created for the run, and wait until its jobs have disappeared; report what cannot be deleted. */
void run_remote_clear(struct run_remote *m);
void run_remote_close(struct run_remote *m); /* NULL is fine; r->eyes go by themselves */

bool remote_is_ours(struct run_remote *m, const struct object *o); /* and remembers it */

/* ---- remote_watch.c ---- */

struct remote_eyes;
/* Of these namespaces. 'has_flows': the server makes jobs too. */
int remote_eyes_open(struct run_remote *m, const struct load *l, struct err *e);
void remote_eyes_hear(struct run_remote *m);                     /* take what came */
bool remote_eyes_wait(struct run_remote *m, int64_t ms);         /* until all lists are there; false: they are not */
int64_t remote_eyes_due(const struct run_remote *m);             /* when there may be something without any news */
bool remote_eyes_trouble(struct run_remote *m, struct err *ret); /* what keeps it from the server */
bool remote_eyes_are_empty(const struct run_remote *m);          /* all changes were reported */
void remote_eyes_kill(struct run_remote *m);                     /* all pods, without grace */

/* ---- remote_output.c ---- */

/* A pod of ours, as it is now: its records are read once it has a node. */
void remote_pod_seen(struct run_remote *m, const struct object *pod);
/* Is all there that its containers wrote before they ended as this says? */
bool remote_pod_is_read(struct run_remote *m, const struct object *pod, bool is_gone);

struct run_node remote_node(struct run_remote *m);
void remote_pods_done(struct run_remote *m);

/* ---- remote_choose.c ---- */

struct run_place {          /* where a run is to be */
    bool is_server;         /* else on this machine, by ourselves */
    const char *kubeconfig; /* NULL: as kubectl finds it */
    struct str notice;      /* what to say of a server that is not used; may be empty */
};

/* --server, or what a server of this machine says. ERR_INVALID: an option does not go with it. */
int run_place_find(struct arena *a, const struct run_options *o, struct run_place *ret, struct err *e);
/* The same of an option that does not go with what is in the files. */
int run_place_check(const struct run_options *o, const struct load *l, struct err *e);
/* --detach: submit, say how to go on, and end. */
int run_detach(struct arena *a, const struct run_options *o, struct load *l, const char *kubeconfig);

#endif
