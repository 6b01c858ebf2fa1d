/* problem.h - all that is wrong with a document, not only the first thing
 *
 * Checks add problems as they meet them and go on; at the end the list is sorted by place in the file and shown. A
 * problem has a path ("spec.tasks[0].replicas"), a place (line and column, 0 if the program made the node), and a
 * sentence that says what is wrong and, where it helps, what to do.
 */
#ifndef JSON_PROBLEM_H
#define JSON_PROBLEM_H

#include "base/vec.h"
#include "json/json.h"

enum problem_level { PROBLEM_WARNING, PROBLEM_ERROR };

/* What a program has to know of a problem; the text is for the reader, and only these still look into one of ours:
 *
 *     server/status.c    moves the value, "must … (got X)", to where Kubernetes has it, and takes the field off an error
 *                        of the store, "metadata.name: …": the form changes, nothing is decided
 *     cli/hint.c         looks for "Insufficient cpu" in why a job waits: with a server that is a condition of its
 *                        PodGroup, text that the scheduler of that cluster wrote
 *     node/doctor        takes "run: COMMAND" off an error, to show it as the cure
 *
 * Texts of others (the kernel, registries, API servers, OCI runtimes, programs in pods) have no kind. */
enum problem_kind {
    PROBLEM_ADVICE,      /* any other warning */
    PROBLEM_UNKNOWN,     /* a warning: a field that is not known */
    PROBLEM_INVALID,     /* any other error */
    PROBLEM_SHAPE,       /* the value does not have the form of the field */
    PROBLEM_REQUIRED,    /* nothing is there */
    PROBLEM_UNSUPPORTED, /* none of the values that the field can have */
    PROBLEM_DUPLICATE,
    PROBLEM_FORBIDDEN, /* it may not be set, or may not change */
    PROBLEM_KIND_MAX,
};

struct problem {
    enum problem_level level; /* that of its kind, until problems_merge() makes an error of a misspelling */
    enum problem_kind kind;
    struct str path;
    struct str text;
    uint32_t line, col;
    uint32_t seq;     /* order of finding, for equal places */
    struct str meant; /* PROBLEM_UNKNOWN: the path of the field that was probably meant; else empty */
};

/* A document can be wrong a million times; this many errors, and as many warnings, are worth keeping. */
#define PROBLEMS_MAX 1000

struct problems {
    struct arena *arena; /* owns paths and texts */
    VEC(struct problem) list;
    size_t n_errors; /* all of them, kept or not */
    size_t n_shapes; /* of those: PROBLEM_SHAPE */
};

/* Where a check is in the document: frames on the stack of the walking functions, so that no path is ever built
 * unless there is a problem to report. Root: { 0 } with .node set. */
struct place {
    const struct place *up;
    const struct json *node; /* may be NULL: the member is missing */
    struct str key;          /* member name; empty for an element of a list */
    size_t index;            /* element of a list */
};

/* The place of a member or element below 'up'; the node may be NULL. */
static inline struct place place_member(const struct place *up, const char *key)
{
    return (struct place){ up, json_get(up->node, key), { key, strlen(key) }, 0 };
}
static inline struct place place_item(const struct place *up, const struct json *node, size_t index)
{
    return (struct place){ up, node, STR_NULL, index };
}
/* "spec.tasks[0].replicas"; keys with dots or slashes are written [app.kubernetes.io/name]. Root: "". */
struct str place_path(struct arena *a, const struct place *at);

/* Report at a place. If the node is missing, the nearest one above it gives line and column. A PROBLEM_SHAPE is kept
 * also where the list is full, in the place of the last. */
void problem_of(struct problems *ps, enum problem_kind kind, const struct place *at, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
#define problem_error(ps, at, ...) problem_of((ps), PROBLEM_INVALID, (at), __VA_ARGS__)
#define problem_warn(ps, at, ...)  problem_of((ps), PROBLEM_ADVICE, (at), __VA_ARGS__)

/* Warn of an unknown field; 'near' (may be NULL) is the name that was probably meant. */
void problem_unknown(struct problems *ps, const struct place *at, const char *near);

/* Was this member, which is missing, probably meant by one of its neighbours? */
bool problems_misspelt(const struct problems *ps, const struct place *missing);

/* One mistake, one message: where a misspelt field is why another is missing, the errors about that one go, and the
 * misspelling is the error. */
void problems_merge(struct problems *ps);

/* Is there an error at this place or below it? Rules that look at several fields ask this first, so that one mistake
 * gives one message. */
bool problems_error_below(const struct problems *ps, const struct place *at);

/* By line, column, then order of finding. */
void problems_sort(struct problems *ps);

/* "spec.queue: unknown queue; spec.tasks[0].replicas: must not be negative": all errors, for one message. */
struct str problems_join(struct arena *a, const struct problems *ps);

#endif
