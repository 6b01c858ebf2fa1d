/* path.h - where the objects of a Kubernetes API are */
#ifndef KUBE_PATH_H
#define KUBE_PATH_H

#include "api/types.h"
#include "base/buf.h"

/* "/apis/batch.volcano.sh/v1alpha1/namespaces/n/jobs"; namespace empty: of all. */
void path_collection(struct buf *out, const struct resource_type *type, struct str namespace);
/* The same and "/name", and "/status" where 'sub' is given. */
void path_object(struct buf *out, const struct resource_type *type, struct str namespace, struct str name,
                 const char *sub);
/* "?key=value" or "&key=value", escaped; nothing if the value is empty. */
void path_query(struct buf *path, const char *key, struct str value);

#endif
