/* admission.h - answers to AdmissionReviews (admission.k8s.io/v1)
 *
 * Pure: a review and what is known of the cluster in, the answer out. The rules are those of `pumice validate` and of
 * the controller (job/admit.h, api/admit/admit.h); paths are those of Volcano's webhooks:
 *
 *     /jobs/mutate       /jobs/validate          defaults; all rules of Jobs and their plugins
 *     /queues/mutate     /queues/validate        defaults; amounts, the hierarchy, what may not be deleted
 *     /podgroups/mutate  /podgroups/validate     the queue that the namespace names; queue and topology
 *     /pods/mutate       /pods/validate          pods of our scheduler: the gate they ask for; disruption budgets
 *
 * Changes are patches of single fields (JSON Patch), so that unknown fields are kept. A denial lists all problems of an
 * object; values of a wrong type are listed alone, and nothing is defaulted then. An object that is
 * being deleted, or whose spec did not change, is allowed.
 */
#ifndef WEBHOOK_ADMISSION_H
#define WEBHOOK_ADMISSION_H

#include "api/admit/admit.h"
#include "base/buf.h"

struct admission_answer {
    int status;      /* of HTTP: 200; 400: no review; 404: no such path */
    bool is_allowed; /* with 200 */
    struct buf body; /* the review with its response; else a sentence */
};

/* 'env': the namespace and the mark are set here. The body of '*ret' is the caller's to release. */
void admission_review(struct str path, struct str body, const struct admit_env *env, struct admission_answer *ret);

#endif
