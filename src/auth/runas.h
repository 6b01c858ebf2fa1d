/* runas.h - as whom the pods of somebody run on this machine
 *
 * Whoever may make pods may run programs here, so an ordinary identity's run with no more than it has: as its own UNIX
 * user, or within the Pod Security Standard "restricted" (api/pod/security.h). A configuration says which:
 *
 *     jobs:
 *     - users: [ann]                 # any of users, groups and namespaces that are given must fit; the first rule that
 *       namespaces: [lab]            # fits counts
 *       runAs: own                   # the UNIX user that the identity is (pumice server user add --unix-uid)
 *       paths: [/home/ann, /data]    # that its hostPath volumes may be in
 *     - groups: [students]
 *       runAs: {uid: 2000, gid: 2000}
 *       hostFiles: true              # an image that is not to be had may be the host's files
 *       hostServices: true           # its pods reach what listens at addresses of the host
 *     - groups: [operators]
 *       runAs: any                   # as the pod says; root and privileged too
 *     - users: [guest]
 *       runAs: nobody                # no pods at all
 *     - runAs: restricted            # everybody else; also what holds where no rule fits
 *
 * Members of system:masters may do anything, where no rule fits them. Pure, but for the look-up of a user's own group.
 */
#ifndef AUTH_RUNAS_H
#define AUTH_RUNAS_H

#include "auth/identity.h"
#include "json/problem.h"

struct runas_policy;

/* Read the list; NULL: no rules. Problems name the fields ("jobs[0].runAs"). The policy lives in the arena. */
struct runas_policy *runas_parse(struct arena *a, const struct place *jobs, struct problems *ps);

bool runas_needs_root(const struct runas_policy *policy); /* a rule has pods run as somebody */

enum runas_mode { RUNAS_NOBODY, RUNAS_RESTRICTED, RUNAS_USER, RUNAS_ANY, RUNAS_MODE_MAX };
const char *runas_mode_name(enum runas_mode mode); /* "nobody", "restricted", "user", "any" */

struct runas_decision {
    enum runas_mode mode;
    int64_t uid, gid;                       /* RUNAS_USER */
    bool has_host_files, has_host_services; /* what the rule opens; RUNAS_ANY has both */
};

/* As whom, and may it? 'pod' is a Pod or a template ({metadata, spec}). Errors are added for each field that asks for
 * more; without any the pod may run, after runas_apply(). 'policy' may be NULL. */
struct runas_decision runas_decide(const struct runas_policy *policy, const struct identity *who, struct str namespace,
                                   const struct place *pod, struct problems *ps);

/* Make the pod what was decided: RUNAS_USER sets user, group and what closes the remaining doors, where the pod says
 * nothing about it, and as whom its host paths are opened (HOST_USER_ANNOTATION), whatever it says. It and
 * RUNAS_RESTRICTED also set whose pod it is (TENANT_ANNOTATION). RUNAS_ANY changes nothing. */
void runas_apply(struct arena *a, const struct runas_decision *decision, struct json *pod);

/* Extra of an identity that is a UNIX user here too. */
#define RUNAS_UID_EXTRA "pumice/unix-uid"

#endif
