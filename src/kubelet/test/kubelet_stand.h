/* kubelet_stand.h - for tests of the kubelet API: a real server and a real client over TLS; the agent and the API server
 * behind it only pretend
 *
 *     struct stand *s = stand_new();
 *     s->allows = true;
 *     assert_int_equal(stand_ask(s, "GET", "/healthz", ADMIN), 200);
 *     assert_string_equal(s->reviewed, "alice devs,system:authenticated get proxy");
 *     stand_free(s);
 *
 * Reviews are answered as the test says, in a later turn, as a cluster does it.
 */
#ifndef KUBELET_TEST_KUBELET_STAND_H
#define KUBELET_TEST_KUBELET_STAND_H

#include "os/test/testing.h"

#include "http/client.h"
#include "json/json.h"
#include "kube/cluster.h"
#include "kubelet/kubelet_internal.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>

enum stand_who { NOBODY, ALICE, TOKEN, OTHER }; /* OTHER: header 'authorization' as it is */

struct stand_review { /* on its way */
    struct list_link link;
    struct buf path;
    kube_asked_f asked;
    void *ctx;
};

struct stand {
    char dir[64];
    struct kubelet *kubelet;
    struct http_client *client, *certified; /* the second shows a certificate: CN=alice, O=devs */
    /* What the API server says. */
    bool allows, knows_token, holds, fails; /* holds: it does not answer yet */
    struct list reviews;
    struct buf reviewed; /* "USER GROUP,GROUP VERB SUBRESOURCE", a line each */
    unsigned n_tokens;   /* TokenReviews */
    /* What the agent says. */
    struct err log_fails;
    bool log_grows;
    struct str pod_uid; /* of the pod ns/pod; empty: it has none */
    struct agent_place asked_for;
    bool asked_previous;
    struct arena arena;
    /* The last answer. */
    int status;
    struct buf body;
    bool is_over;
    const char *authorization;
};

extern struct stand *stand; /* of the test that runs */

struct stand *stand_new(void);
void stand_free(struct stand *s);
void stand_turn(struct stand *s, int ms); /* client and server once; waits for something to happen, so long at most */
int stand_ask(struct stand *s, const char *method, const char *path, enum stand_who who); /* the status */
struct http_exchange *stand_send(struct stand *s, const char *method, const char *path, enum stand_who who);
const char *stand_log(struct stand *s, int attempt); /* the path of its log */

#endif
