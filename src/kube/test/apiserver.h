/* apiserver.h - a little Kubernetes API server on a store, with faults on request, for tests of the client
 *
 * What it answers follows a real one (lists in pages, watches with bookmarks, watches that begin with a list, Statuses,
 * preconditions) as far as the client uses it. The tests in tests/kube run the same suite on a real one.
 */
#ifndef KUBE_TEST_APISERVER_H
#define KUBE_TEST_APISERVER_H

#include "store/store.h"

struct apiserver;

enum fault_kind {
    FAULT_NONE,
    FAULT_STATUS,     /* answer 'status' instead, with Retry-After if 'seconds' is given */
    FAULT_CUT_BEFORE, /* close before anything is done */
    FAULT_CUT_AFTER,  /* do it, then close without an answer */
    FAULT_HANG,       /* do it and never answer */
    FAULT_CUT_STREAM, /* a watch or list: close in the middle of the first event or item */
    FAULT_GARBAGE,    /* a watch: a line that is no JSON */
    FAULT_END,        /* a watch: end it at once, as if its time were over */
};

struct fault {
    enum fault_kind kind;
    const char *method, *part; /* of requests with this method (NULL: any) and this text in their path */
    int times;                 /* so many of them; -1: all */
    int status, seconds;
};

struct apiserver_options {
    bool has_no_initial; /* sendInitialEvents is refused with 422, as older servers do */
    bool is_deaf;        /* … or not even looked at, as the oldest do */
    bool chops;          /* streams are cut into pieces of any size */
    const char *token;   /* who does not send this one is answered 401; NULL: anybody is welcome */
};

struct apiserver *apiserver_start(struct store *s, const struct apiserver_options *opt);
void apiserver_stop(struct apiserver *a);

const char *apiserver_url(const struct apiserver *a);

/* The store belongs to the server; between these two it is the caller's. */
void apiserver_lock(struct apiserver *a);
void apiserver_unlock(struct apiserver *a);

void apiserver_set_token(struct apiserver *a, const char *token); /* a constant */
void apiserver_fault(struct apiserver *a, struct fault f);        /* one at a time; FAULT_NONE: no more */
void apiserver_shut(struct apiserver *a, bool is_shut);           /* nobody gets through */
unsigned apiserver_count(struct apiserver *a, const char *method, const char *part); /* requests so far */
unsigned apiserver_most(struct apiserver *a);                                        /* writes at a time, at most */

#endif
