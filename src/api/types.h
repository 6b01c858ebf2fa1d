/* types.h - every kind of object the program knows, in one table
 *
 * Discovery, routing, storage keys, printing, short names on the command line and admission all read these rows. Kinds
 * that users define while the program runs get rows behind those of the table: type_define().
 */
#ifndef API_TYPES_H
#define API_TYPES_H

#include "base/str.h"

struct json;
struct schema;

enum type_scope { SCOPE_NAMESPACED, SCOPE_CLUSTER };

enum type_use {
    TYPE_STORED,
    TYPE_ASKED,     /* a question or an order: create only, and nothing is kept of it */
    TYPE_ELSEWHERE, /* other clusters have it */
    TYPE_MEASURED,  /* what this machine does now: get and list, and nothing is kept of it */
};

struct type_column { /* of a table of such objects */
    const char *name, *type, *format, *description;
    const char *path; /* JSONPath: ".spec.replicas" */
    bool is_wide;
};

struct type_custom {           /* what a CustomResourceDefinition says of one version */
    const struct json *schema; /* OpenAPI, structural, with apiVersion, kind and metadata */
    const struct type_column *columns;
    size_t n_columns;
    const char *const *short_names, *const *categories; /* NULL-terminated */
    const char *replicas, *status_replicas, *selector;  /* JSONPaths of the scale subresource; NULL: none */
    const char *warning;                                /* for those who still use it; NULL: none */
    bool has_defaults;                                  /* somewhere in the schema */
};

struct resource_type {
    const char *group;          /* "" for the core group */
    const char *version;        /* "v1" */
    const char *kind;           /* "Job" */
    const char *plural;         /* "jobs" */
    const char *short_names[4]; /* NULL-terminated */
    enum type_scope scope;
    const char *subresources[12]; /* "status", …; NULL-terminated */
    const struct schema *schema;  /* whole object; NULL: not described */
    const char *const *fields;    /* allowed in field selectors beyond metadata.name and .namespace; NULL: none */
    enum type_use use;
    const char *category;             /* that `kubectl get CATEGORY` shows it in; NULL: none */
    const char *singular, *list_kind; /* NULL: made of the kind */
    const struct type_custom *custom; /* NULL: it is of this program */
};

struct object_key { /* names one object */
    const struct resource_type *type;
    struct str namespace, name; /* namespace: empty for kinds that have none */
};

extern const struct resource_type resource_types[];
extern const size_t n_resource_types;

/* Behind those: workloads of other controllers, which own pods. They can be read from a cluster that has them; here
 * they are neither stored, nor named by users, nor found by the functions below. */
extern const size_t n_foreign_types;
const struct resource_type *type_foreign(struct str api_version, struct str kind); /* NULL: none of them */
static inline bool type_is_foreign(const struct resource_type *t)
{
    return t >= resource_types + n_resource_types && t < resource_types + n_resource_types + n_foreign_types;
}

/* Last: gangs as kube-scheduler knows them, "Workload" and "PodGroup" of scheduling.k8s.io. A PodGroup is also a kind
 * of Volcano's, so only this function finds these: all other lookups of a PodGroup find Volcano's. */
const struct resource_type *type_native(const char *kind);
#define NATIVE_GROUP "scheduling.k8s.io"

/* Of the version that the cluster serves, and it serves one. Who talks to a cluster finds out and says so before anybody
 * asks for these types; else it is the first. */
enum native_version {
    NATIVE_V1BETA1,  /* Kubernetes 1.37 */
    NATIVE_V1ALPHA2, /* Kubernetes 1.36, which has no other */
    NATIVE_VERSION_MAX,
};
void type_native_choose(enum native_version v);
enum native_version type_native_version(void);

extern const size_t n_all_types; /* all rows of the table */

/* ---- kinds of users ---- */

enum { TYPE_CUSTOM_MAX = 128 }; /* CustomResourceDefinitions at a time, and of other names since the program began */

/* A row for the kind: that of the same group and plural if there was one, with all else as 'like' has it now; a row
 * keeps its place as long as the program runs. Names are copied; 'fields' and 'custom' must live until it is defined
 * anew or retired. NULL: there is no room. */
const struct resource_type *type_define(const struct resource_type *like);
void type_retire(const struct resource_type *t);                               /* lookups no longer find it */
const struct resource_type *type_defined(struct str group, struct str plural); /* also one that is retired; or NULL */

/* Rows of stored kinds, those of users behind those of the table: for arrays by kind. */
extern const size_t n_type_rows;
size_t type_row(const struct resource_type *t);
const struct resource_type *type_at(size_t row); /* NULL: nothing is defined there, or it is retired */

/* "batch.volcano.sh/v1alpha1", "v1". */
struct arena;
struct str type_api_version(struct arena *a, const struct resource_type *t);

/* "job", "JobList": what one of them is called, and a list of them. */
struct str type_singular(struct arena *a, const struct resource_type *t);
struct str type_list_kind(struct arena *a, const struct resource_type *t);

/* "pods", "jobs.batch.volcano.sh". */
struct str type_resource(struct arena *a, const struct resource_type *t);

bool type_has_subresource(const struct resource_type *t, struct str name);

/* By what stands in a URL. NULL if unknown. */
const struct resource_type *type_by_plural(struct str group, struct str version, struct str plural);

/* By what stands in a manifest. NULL if unknown. */
const struct resource_type *type_by_kind(struct str api_version, struct str kind);

/* By what a user types: plural, singular, kind, short name, any of them with ".group"; letter case does not count.
 * Where two groups share a name, Volcano's wins over Kubernetes' ("jobs" is ours). */
const struct resource_type *type_by_name(struct str name);

#endif
