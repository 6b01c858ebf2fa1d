/* managed.h - metadata.managedFields: who set which field
 *
 * One entry for each manager, operation (Apply or Update), version and subresource; a manager that only updates
 * and one of the same name that applies are two. An entry without fields does not exist.
 */
#ifndef PATCH_MANAGED_H
#define PATCH_MANAGED_H

#include "patch/fieldset.h"

struct manager {
    struct manager *next;
    struct str name, api_version, subresource, time; /* time: "" if it is not known */
    bool is_apply;                                   /* else Update */
    struct fieldset *fields;
};

struct managed {
    struct manager *first;
};

/* From the list of an object; NULL and null are an empty one. ERR_INVALID names the entry and what is wrong with it,
 * ERR_TOO_BIG if there are more than 250; then '*ret' is as empty as if there were none. */
int managed_decode(struct arena *a, const struct json *list, struct managed *ret, struct err *e);

/* As the API server writes it: Apply before Update, then by time, name, version, subresource. NULL if there are none. */
struct json *managed_encode(struct arena *a, const struct managed *m);

/* The entry of the same identity: name, operation and subresource, and for updates the version. NULL: there is none. */
struct manager *managed_find(const struct managed *m, const struct manager *like);
struct manager *managed_need(struct arena *a, struct managed *m, const struct manager *like); /* made if missing */
void managed_remove(struct managed *m, struct manager *gone);

/* The fields that anybody owns. */
struct fieldset *managed_all(struct arena *a, const struct managed *m);

/* Did the writer ask to forget all of it, by [] or [{}]? */
bool managed_is_reset(const struct json *list);

/* Updates of at most ten managers are kept; the oldest of the rest become one entry, "ancient-changes". */
void managed_cap(struct arena *a, struct managed *m);

/* In messages: "name" with subresource "status" using v1. */
struct str manager_print(struct arena *a, const struct manager *m);

/* The name of a writer who gave none: its User-Agent up to the first slash, what can be printed of it, at most 128
 * bytes. */
struct str manager_of_user_agent(struct arena *a, struct str user_agent);

#endif
