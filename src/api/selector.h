/* selector.h - label and field selectors
 *
 * Parsed once, matched often. A selector lives in the arena it was made in; the empty selector matches everything.
 */
#ifndef API_SELECTOR_H
#define API_SELECTOR_H

#include "json/json.h"

struct selector;

/* "app=web,tier in (a,b),!canary,cpu>4": the query form. ERR_SYNTAX names the column. */
int selector_parse(struct arena *a, struct str text, struct selector **ret, struct err *e);

/* { matchLabels: {…}, matchExpressions: [{key, operator: In|NotIn|Exists|DoesNotExist, values}] }: the object form.
 * NULL or {} matches everything. ERR_INVALID names the field. */
int selector_from_json(struct arena *a, const struct json *j, struct selector **ret, struct err *e);

/* 'labels' is an object of text members (NULL: none). */
bool selector_matches(const struct selector *s, const struct json *labels);

/* Canonical query form: requirements sorted by key, then as parsed. */
void selector_print(struct buf *out, const struct selector *s);

/* "metadata.name=x,status.phase!=Running": fields by path in the object, missing is "". The caller says which paths
 * are allowed (NULL-terminated; NULL: any); another gives ERR_INVALID "field label not supported: …". */
struct field_selector;
int field_selector_parse(struct arena *a, struct str text, const char *const *allowed, struct field_selector **ret,
                         struct err *e);
bool field_selector_matches(const struct field_selector *s, const struct json *object);
/* The value that the field must have to match; empty: several have a chance. */
struct str field_selector_value(const struct field_selector *s, const char *path);
void field_selector_print(struct buf *out, const struct field_selector *s);

#endif
