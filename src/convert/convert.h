/* convert.h - jobs of other systems as Volcano Jobs
 *
 * Knows Job of batch/v1, JobSet of jobset.x-k8s.io, PyTorchJob and MPIJob of kubeflow.org. The result does what the
 * original does as nearly as a Volcano Job can; every field that could not be carried over, or that means something else
 * there, is a warning at its place. Pure: a tree in, a tree out.
 */
#ifndef CONVERT_CONVERT_H
#define CONVERT_CONVERT_H

#include "json/problem.h"

/* Is it one of these kinds? */
bool convert_knows(const struct json *object);

/* The Volcano Job. NULL: it is none of these kinds, or there is an error in 'ps'. Shares text with 'object'. */
struct json *convert_object(struct arena *a, const struct json *object, struct problems *ps);

#endif
