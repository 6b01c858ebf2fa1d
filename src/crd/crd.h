/* crd.h - CustomResourceDefinitions: our kinds as a cluster defines them, made from the schema tables
 *
 * The rows that check a manifest here become the structural schema there, so the two cannot drift: types, ranges,
 * enums, formats, required fields, descriptions. The rows of crd_rules.c add the rest: defaults, list maps, and CEL
 * rules between fields, so that a cluster without webhooks refuses a bad job as well.
 *
 * Below a pod template all known fields are checked and unknown ones are kept (x-kubernetes-preserve-unknown-fields).
 * The template is Kubernetes' type, which grows with each release: a schema that lists it whole makes the server drop,
 * without a word, every field that is younger than the CRD. The other fields of a job are ours, and unknown ones are
 * pruned, so that a misspelt field is reported by kubectl.
 */
#ifndef CRD_CRD_H
#define CRD_CRD_H

#include "json/json.h"

struct resource_type;
struct schema;

/* Is the kind one that a cluster must be taught? */
bool crd_is_needed(const struct resource_type *t);

/* The whole CustomResourceDefinition, in the order people read one. */
struct json *crd_make(struct arena *a, const struct resource_type *t);

/* The structural schema of an object, as OpenAPI has it; for kinds that no cluster must be taught too. */
struct json *crd_schema(struct arena *a, const struct schema *s);

/* ---- what schemas cannot say: crd_rules.c ---- */

enum crd_extra {
    CRD_DEFAULT,   /* 'text': the value as JSON */
    CRD_REQUIRED,  /* here, though not everywhere the table is used */
    CRD_ENUM,      /* 'values' */
    CRD_MAP_KEYS,  /* 'text': the key that tells the items of a list apart */
    CRD_MAX_ITEMS, /* 'text': a number. CEL counts the worst case beforehand and wants to know one */
    CRD_MAX_TEXT,  /* the same for characters */
    CRD_LEFT_OUT,  /* not described: kept below a pod template, pruned elsewhere */
    CRD_RULE,      /* 'text': a CEL rule, 'message': what is wrong when it does not hold */
    CRD_EXTRA_MAX,
};

struct crd_row {
    const char *schema; /* its name */
    const char *field;  /* NULL: the object itself */
    enum crd_extra what;
    const char *text, *message;
    const char *at; /* CRD_RULE: the field to blame, as ".minAvailable"; NULL: where the rule is */
    const char *const *values;
};

extern const struct crd_row crd_rows[];
extern const size_t n_crd_rows;

#endif
