/* refusal.h - why a request is refused: what a Status says */
#ifndef PATCH_REFUSAL_H
#define PATCH_REFUSAL_H

#include "json/json.h"

struct refusal {
    int code;            /* of HTTP */
    const char *reason;  /* "Conflict", "BadRequest", … */
    struct str message;  /* in the words of the API server, which clients print and some look for */
    struct str detail;   /* more than those words say, for logs and people; may be empty */
    struct json *causes; /* details.causes, an array of {reason, message, field}; NULL: none */
};

/* Fill it in, with the code of that reason; returns -1. */
int refuse(struct arena *a, struct refusal *why, const char *reason, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

#endif
