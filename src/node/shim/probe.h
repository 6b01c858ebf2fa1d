/* probe.h - does something answer? httpGet, tcpSocket and grpc probes
 *
 * As the kubelet asks: HTTP without following redirects to other hosts, any status from 200 to 399 is fine, from 300 on
 * with a warning, HTTPS without looking at the certificate; TCP: a connection; gRPC: grpc.health.v1.Health/Check says SERVING.
 */
#ifndef NODE_PROBE_H
#define NODE_PROBE_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

enum probe_kind { PROBE_HTTP, PROBE_HTTPS, PROBE_TCP, PROBE_GRPC, PROBE_KIND_MAX };

struct probe_header {
    struct str name, value;
};

struct probe_target {
    enum probe_kind kind;
    struct str host; /* an IPv4 address; a name only with hostNetwork */
    uint16_t port;
    struct str path;                  /* HTTP: empty: "/" */
    struct str service;               /* gRPC; may be empty */
    VEC(struct probe_header) headers; /* "Host" replaces ours; User-Agent is "kube-probe/1.32" unless given */
};

enum probe_verdict { PROBE_FAILED, PROBE_FINE, PROBE_MISSES_LIBS };

/* Ask and wait for the answer, at most 'timeout_ms'. 'out' gets the reason in the kubelet's words
 * ("HTTP probe failed with statuscode: 500"), at most a few hundred bytes; of one that is fine: a warning, or nothing. Blocks: called in a process of its own. */
enum probe_verdict probe_run(const struct probe_target *t, int64_t timeout_ms, struct buf *out);

/* TLS and the names of hosts are for those who have called probe_use_libs(), which the spawner's program has not. Its
 * shims then have probe_main() ask: that of the program, executed by the name "pumice-probe" with the time as its argument
 * and the probe, encoded, as its input. It writes '+' or '-' and the reason. -1: it was not called so. */
void probe_use_libs(void);
int probe_main(int argc, char **argv);
enum { PROBE_REASON_MAX = 4096 };
void probe_answer(int fd, enum probe_verdict verdict, struct str reason);

/* For the wire. */
void probe_encode(struct buf *out, const struct probe_target *t);
int probe_decode(struct arena *a, struct str text, struct probe_target *ret, struct err *e);

#endif
