/* pattern.h - regular expressions as Kubernetes objects have them
 *
 * The usual part of Go's way of writing, read with the C library's matcher: groups, lists, repetition, \d \D \w \s,
 * (?:…). A pattern matches anywhere in a name unless it is tied down with ^ and $. What costs much is refused: longer
 * than 256 bytes, counted repetition beyond 1000 in all, back references.
 */
#ifndef BASE_PATTERN_H
#define BASE_PATTERN_H

#include "base/arena.h"

struct pattern;

/* What is wrong with it as a regular expression, in Go's words; NULL: nothing, though it may be beyond pattern_parse(). */
const char *pattern_wrong(struct arena *a, struct str text);

/* In the arena, but pattern_done() must be called before that goes. -1: refused. */
int pattern_parse(struct arena *a, struct str text, struct pattern **ret);
void pattern_done(struct pattern *p);
bool pattern_matches(const struct pattern *p, struct str name);

/* What every name that matches begins with: "^rack-1-[0-9]+" gives "rack-1-". Often nothing. */
struct str pattern_beginning(const struct pattern *p);

#endif
