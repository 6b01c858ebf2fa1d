/* challenge.h - how a registry wants clients to authenticate: the header WWW-Authenticate */
#ifndef IMAGE_CHALLENGE_H
#define IMAGE_CHALLENGE_H

#include "base/arena.h"

#include <stdbool.h>

struct challenge {
    bool is_bearer, is_basic;         /* which are offered */
    struct str realm, service, scope; /* of "Bearer": where a token is to be had, and what for */
};

/* Of several the first of a kind counts; what cannot be read is as if it were not there. */
void challenge_read(struct arena *a, struct str header, struct challenge *ret);

#endif
