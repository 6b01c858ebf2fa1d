/* runas.h - the UNIX user and the permissions that a user's pods run with on this machine
 *
 * A user who can create pods can run programs here. So pods of ordinary users get no more than their user has: they run
 * as its UNIX user, or within the Pod Security Standard "restricted" (api/pod/security.h). A configuration says which:
 *
 *     jobs:
 *     - users: [ann]                 # users, groups and namespaces that are given must match; the first rule that
 *       namespaces: [lab]            # matches counts
 *       runAs: own                   # the UNIX user that the identity is (pumice server user add --unix-uid)
 *       paths: [/home/ann, /data]    # that its hostPath volumes may be in
 *     - groups: [students]
 *       runAs: {uid: 2000, gid: 2000}
 *       hostFiles: true              # an image that cannot be pulled may be the host's files
 *       hostServices: true           # its pods reach what listens at addresses of the host
 *     - groups: [operators]
 *       runAs: any                   # as the pod says; root and privileged too
 *     - users: [guest]
 *       runAs: nobody                # no pods at all
 *     - runAs: restricted            # all others; also the default if no rule matches
 *
 * Members of system:masters may do anything if no rule matches them. Pure, except that it looks up a user's group.
 */
#ifndef AUTH_RUNAS_H
#define AUTH_RUNAS_H

#include "auth/identity.h"
#include "json/problem.h"

struct runas_policy;

/* Read the list; NULL: no rules. Problems name the fields ("jobs[0].runAs"). The policy lives in the arena. */
struct runas_policy *runas_parse(struct arena *a, const struct place *jobs, struct problems *ps);

bool runas_needs_root(const struct runas_policy *policy); /* a rule has pods run as another user */

enum runas_mode { RUNAS_NOBODY, RUNAS_RESTRICTED, RUNAS_USER, RUNAS_ANY, RUNAS_MODE_MAX };
const char *runas_mode_name(enum runas_mode mode); /* "nobody", "restricted", "user", "any" */

struct runas_decision {
    enum runas_mode mode;
    int64_t uid, gid;                       /* RUNAS_USER */
    bool has_host_files, has_host_services; /* what the rule opens; RUNAS_ANY has both */
};

/* Decide how a Pod or a template ({metadata, spec}) runs. Adds an error for each field that asks for more than allowed;
 * without errors the pod may run, after runas_apply(). 'policy' may be NULL. */
struct runas_decision runas_decide(const struct runas_policy *policy, const struct identity *who, struct str namespace,
                                   const struct place *pod, struct problems *ps);

/* Write the decision into the pod. RUNAS_USER sets user, group and the other restricting fields where the pod has none,
 * and always the user that opens its host paths (HOST_USER_ANNOTATION). RUNAS_USER and RUNAS_RESTRICTED set the owner
 * of the pod (TENANT_ANNOTATION). RUNAS_ANY changes nothing. */
void runas_apply(struct arena *a, const struct runas_decision *decision, struct json *pod);

/* Extra of an identity that is a UNIX user here too. */
#define RUNAS_UID_EXTRA "pumice/unix-uid"

#endif
