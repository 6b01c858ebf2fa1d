/* probe.h - httpGet, tcpSocket and grpc probes
 *
 * Like the kubelet's. HTTP: no redirects to other hosts are followed; any status from 200 to 399 succeeds, from 300
 * on with a warning. HTTPS: the certificate is not verified. TCP: a connection succeeds. gRPC:
 * grpc.health.v1.Health/Check answers SERVING.
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
    struct str host; /* IPv4 address; a host name only with hostNetwork */
    uint16_t port;
    struct str path;                  /* HTTP: empty: "/" */
    struct str service;               /* gRPC; may be empty */
    VEC(struct probe_header) headers; /* "Host" overrides the default; User-Agent is "kube-probe/1.32" unless given */
};

enum probe_verdict { PROBE_FAILED, PROBE_FINE, PROBE_MISSES_LIBS };

/* Run a probe for at most 'timeout_ms'. 'out' gets the reason in the kubelet's words ("HTTP probe failed with
 * statuscode: 500"), at most a few hundred bytes; on success a warning, or nothing. Blocks: call it in a process of
 * its own. */
enum probe_verdict probe_run(const struct probe_target *t, int64_t timeout_ms, struct buf *out);

/* TLS and host names need libraries that the spawner's program is not linked with; probe_use_libs() enables them.
 * Shims execute the program under the name "pumice-probe", with the timeout as its argument and the encoded probe on
 * its stdin. It writes '+' or '-' and the reason. -1: executed under another name. */
void probe_use_libs(void);
int probe_main(int argc, char **argv);
enum { PROBE_REASON_MAX = 4096 };
void probe_answer(int fd, enum probe_verdict verdict, struct str reason);

/* For the wire. */
void probe_encode(struct buf *out, const struct probe_target *t);
int probe_decode(struct arena *a, struct str text, struct probe_target *ret, struct err *e);

#endif
