/* create.h - documents become objects, in the order in which they are needed */
#ifndef PROGRAM_RUN_CREATE_H
#define PROGRAM_RUN_CREATE_H

#include "cli/load.h"
#include "program/run/say.h"

struct store;

struct run_sink { /* where they go: the store of the run, or a server (remote.c) */
    void *ctx;
    int (*create)(void *ctx, const struct resource_type *type, struct json *object, struct err *e);
    /* Is there such an object? Its uid is empty where it may not be looked at. */
    bool (*find)(void *ctx, const struct resource_type *type, struct str namespace, struct str name,
                 struct str *ret_uid);
    bool is_server; /* whose controllers make groups of pods, and name claims */
};
struct run_sink run_sink_store(struct store *s);

/* Put everything in: namespaces as needed, then what Jobs may refer to, Jobs, pods, Commands. Kinds
 * that no controller here acts on are skipped, with a sentence to 'say'. */
int run_create(const struct run_sink *s, struct load *l, const struct run_listener *say, struct err *e);

/* Documents with the annotation pumice.dev/submit-after: "5s" are created later, as if they were submitted then:
 * those of the time after 'from_ms' up to 'to_ms' since the beginning. run_create() puts in those up to 0. */
int run_create_later(const struct run_sink *s, struct load *l, int64_t from_ms, int64_t to_ms, struct err *e);
int64_t run_create_due(const struct load *l, int64_t after_ms); /* when the next ones are; INT64_MAX: there are none */

/* The body of what a controller makes: of the Job of a JobFlow the spec is that of its document, as options have changed
 * it. 'ctx' is the struct run. For cluster_embedded_complete(). */
int run_complete(void *ctx, struct arena *a, const struct resource_type *type, struct json *body, struct err *e);

#endif
