/* mask.h - hiding secrets in what is printed */
#ifndef CLI_MASK_H
#define CLI_MASK_H

#include "json/json.h"

/* Replace, in place, the values of a Secret, and private keys given as plugin arguments of a Job (its copy in kubectl's
 * last-applied annotation too). Everything else stays. */
void mask_object(struct arena *a, struct json *object);

#endif
