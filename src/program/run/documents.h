/* documents.h - the documents of the files, made ready for a run before they are put in (create.h)
 *
 *     change.c    --set, --replicas, --env              security.c   --restricted, and what opens this machine
 *     files.c     --mount, --here, --workdir            ignored.c    fields that have no effect here
 *     fit.c       --fit
 */
#ifndef PROGRAM_RUN_DOCUMENTS_H
#define PROGRAM_RUN_DOCUMENTS_H

#include "cli/load.h"
#include "program/run/say.h"

struct run_options;

/* ---- before they are admitted ---- */

/* Change the Jobs among them. Errors name the flag and its value. */
int run_change(struct load *l, const struct run_options *o, struct err *e);

/* A user watches, so Python prints without a buffer, as on a terminal, unless a container says otherwise. */
void run_unbuffer(struct load *l);

/* Files of this machine in the pods, and hostPaths that are relative. */
int run_place_files(struct load *l, const struct run_options *o, struct err *e);

/* ---- after that ---- */

/* What Pod Security "restricted" refuses in the pods becomes an error of its document. */
void run_restrict(struct load *l);

/* Requests of Jobs that are larger than the machine are reduced to its size; each is reported to 'say'. */
void run_fit(struct load *l, const struct json *capacity, const struct run_listener *say);

/* What opens this machine to pods (privileged, hostPath, …): one sentence to 'say' for each kind. */
void run_tell_dangers(const struct load *l, const struct run_listener *say);
/* A notice for each field that has no effect on this machine, however many pods have it. */
void run_tell_ignored(const struct load *l, const struct run_listener *say);

#endif
