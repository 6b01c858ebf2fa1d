/* validate.h - the parts of `pumice validate` */
#ifndef CLI_VALIDATE_VALIDATE_H
#define CLI_VALIDATE_VALIDATE_H

#include "cli/load.h"

/* Everything that is wrong, as 'form' ("json", "sarif"). Returns the number of errors. */
size_t validate_print(struct arena *a, struct buf *out, const struct load *l, const char *form);

#endif
