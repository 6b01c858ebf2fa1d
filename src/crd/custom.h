/* custom.h - kinds that users define: CustomResourceDefinitions, and objects by their schemas
 *
 *     definition_default(a, crd); definition_check(&place, old, ps);     a definition that a user writes
 *     custom_kind_new(crd) → its versions, as rows of api/types.h        a definition that is served
 *     structural_unknown(), _prune(), _default(), _check()               an object of such a kind
 *     jsonpath_find()                                                    a cell of its table
 *
 * Pure: nothing here knows of a store or of requests. A definition with rules in CEL (x-kubernetes-validations) is
 * accepted, with a warning that they are not evaluated.
 */
#ifndef CRD_CUSTOM_H
#define CRD_CUSTOM_H

#include "api/types.h"
#include "base/vec.h"
#include "json/json.h"
#include "json/problem.h"

/* ---- definitions ---- */

void definition_default(struct arena *a, struct json *crd);
/* 'old': the stored one; NULL on create. What an established one says about group, scope and names stays. */
void definition_check(const struct place *crd, const struct json *old, struct problems *ps);

/* ---- kinds ---- */

struct custom_version {
    struct resource_type type; /* as clients of this version know it */
    struct type_custom custom;
    bool is_served, is_storage;
};

struct custom_kind { /* of one definition */
    struct arena arena;
    struct str name;    /* of the definition */
    int64_t generation; /* of the definition it was made of */
    struct custom_version *versions;
    size_t n_versions;
    const struct resource_type *type; /* how they are stored; NULL: they are not (yet) */
    bool is_ending;                   /* no more are taken */
};

/* A definition that is valid. */
struct custom_kind *custom_kind_new(const struct json *crd);
void custom_kind_free(struct custom_kind *k); /* NULL is fine */

struct custom_version *custom_version_find(struct custom_kind *k, struct str name); /* NULL: there is none */
struct custom_version *custom_version_stored(struct custom_kind *k);

/* ---- objects ---- */

/* Warn of each field that the schema does not have. */
void structural_unknown(const struct json *schema, const struct place *at, struct problems *ps);
void structural_prune(const struct json *schema, struct json *object);
void structural_default(struct arena *a, const struct json *schema, struct json *object);
bool structural_has_defaults(const struct json *schema); /* here or in what it describes */
void structural_check(const struct json *schema, const struct place *at, struct problems *ps);

/* ---- paths ---- */

/* The first value that a JSONPath such as .status.conditions[?(@.type=="Ready")].status finds; NULL: none, or the path
 * is none. Fields (.a or ['a']), [n], [*] and filters of equality are known. */
const struct json *jsonpath_find(const struct json *root, struct str path);
bool jsonpath_is_good(struct str path);

#endif
