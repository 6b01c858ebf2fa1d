/* get.c - get one */
#include "server/server_internal.h"

int handle_get(struct server_request *rq)
{
    const struct server_target *t = &rq->target;
    const struct object *o = store_find(rq->server->opt.store, rq->type, t->namespace, t->name);
    struct str text = STR_NULL;
    uint64_t rev = 0;

    if (param(rq, "resourceVersion", &text) && text.n && str_to_u64(text, &rev) < 0)
        return fail_with(rq, REASON_BAD_REQUEST, "resourceVersion: invalid value \"%.*s\"",
                         STR_ARG(str_sub(text, 0, 40)));
    if (!o)
        return fail_not_found(rq, rq->type, t->name);
    reply_stored(rq, 200, o);
    return 0;
}
