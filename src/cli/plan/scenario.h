/* scenario.h - the objects of a plan, and changes to them: "what if …?"
 *
 * A scenario is a list of object trees in an arena. It is made from files, copied, and changed; the changed copy is
 * planned beside the original.
 */
#ifndef CLI_PLAN_SCENARIO_H
#define CLI_PLAN_SCENARIO_H

#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"
#include "cli/options.h"
#include "json/json.h"

struct scenario {
    struct arena *arena;
    VEC(struct json *) objects;
};

struct json *scenario_add(struct scenario *s, struct json *object);
void scenario_copy(struct scenario *to, const struct scenario *from); /* deep; 'to' has an arena and is empty */

size_t scenario_count(const struct scenario *s, const char *kind);

/* The Job of that name, "name" or "namespace/name". ERR_NOT_FOUND lists the names; ERR_INVALID: two
 * namespaces have one of this name. */
int scenario_job(const struct scenario *s, struct str name, struct json **ret, struct err *e);

/* A task: "job/task" or "namespace/job/task". '*ret' is the element of spec.tasks. */
int scenario_task(const struct scenario *s, struct str name, struct json **ret_job, struct json **ret, struct err *e);

/* "4=cpu:8,memory:32Gi": four nodes of that size, node-1 … node-4 (the next free names). */
int scenario_make_nodes(struct scenario *s, struct str text, struct err *e);

struct changes { /* values of the what-if flags, as the user wrote them */
    struct text_list add_nodes, remove_node, set_priority, set_queue, replicas, min_available, without;
};

bool changes_any(const struct changes *c);

/* Make all changes. 'words' gets them as people say them: "2 more nodes, train with priority high". Errors name the
 * flag and what is wrong with it. Jobs that were changed are admitted again. */
int scenario_change(struct scenario *s, const struct changes *c, struct buf *words, struct err *e);

#endif
