/* ask.h - one question, one answer: for commands that look at a cluster and end
 *
 * Each call waits until its answer is there. For programs that stay and watch, see cluster.h.
 *
 * Errors are those of cluster.h: ERR_NOT_FOUND, ERR_FORBIDDEN with the server's own sentence ("pods is forbidden: User
 * …"), ERR_IO when it cannot be reached, with what to do. A server that is busy (429, 503 with Retry-After) is asked
 * again for up to half a minute; a credential that is refused is renewed once.
 */
#ifndef KUBE_ASK_H
#define KUBE_ASK_H

#include "api/types.h"
#include "base/vec.h"
#include "kube/config.h"

struct kube_ask;

int kube_ask_open(const struct kube_config *config, struct kube_ask **ret, struct err *e); /* the config outlives it */
void kube_ask_close(struct kube_ask *k);                                                   /* NULL is fine */

/* The document at 'path', in 'a'. */
int kube_ask_get(struct kube_ask *k, struct arena *a, struct str path, struct json **ret, struct err *e);

/* What is no JSON: "/metrics". */
int kube_ask_text(struct kube_ask *k, struct arena *a, struct str path, struct str *ret, struct err *e);

/* One object; 'namespace' is ignored for kinds that have none. */
int kube_ask_object(struct kube_ask *k, struct arena *a, const struct resource_type *type, struct str namespace,
                    struct str name, struct json **ret, struct err *e);

/* A review or another question that is asked by a POST and changes nothing. */
int kube_ask_post(struct kube_ask *k, struct arena *a, struct str path, const struct json *body, struct json **ret,
                  struct err *e);

struct kube_list {
    VEC(struct json *) items; /* each with apiVersion and kind */
};

/* All objects of a type, of one namespace (empty: of all), page by page; appended to '*ret'. Of Pods only what a
 * scheduler looks at. */
int kube_ask_list(struct kube_ask *k, struct arena *a, const struct resource_type *type, struct str namespace,
                  struct kube_list *ret, struct err *e);

#endif
