/* agent_probe.c - probes and hooks: a question of the API as one for the shim
 *
 * life.h decides when to ask and what the answer means. The shim asks, from inside the pod's network or in the
 * container, kills what takes too long, and answers once for each id. A question that cannot be sent is answered here:
 * no.
 */
#include "node/agent/agent_internal.h"

uint16_t agent_port(const struct json *container, const struct json *port)
{
    struct str name = json_text(port, STR_NULL);
    int64_t number = json_i64(port, 0);

    if (name.n && str_to_i64(name, &number) < 0)
        JSON_FOREACH(one, json_get(container, "ports"))
            if (str_eq(json_member_text(one, "name"), name))
                number = json_i64(json_get(one, "containerPort"), 0);
    return number > 0 && number < 65536 ? (uint16_t)number : 0;
}

static void read_target(struct agent_pod *p, struct arena *a, const struct life_action *action,
                        struct probe_target *ret)
{
    const struct json *http = json_get(action->spec, "httpGet"), *tcp = json_get(action->spec, "tcpSocket"),
                      *grpc = json_get(action->spec, "grpc"),
                      *from = http  ? http
                              : tcp ? tcp
                                    : grpc;

    ret->kind = grpc && from == grpc ? PROBE_GRPC : from == tcp ? PROBE_TCP : PROBE_HTTP;
    if (http && str_is(json_member_text(http, "scheme"), "HTTPS"))
        ret->kind = PROBE_HTTPS;
    ret->host = json_member_text(from, "host");
    if (ret->host.n == 0)
        ret->host = p->is_host_network ? STR("127.0.0.1") : agent_address(a, p->address);
    ret->port = agent_port(action->container, json_get(from, "port"));
    ret->path = json_member_text(http, "path");
    ret->service = json_member_text(grpc, "service");
    JSON_FOREACH(h, json_get(http, "httpHeaders"))
        *vec_push(a, &ret->headers) = (struct probe_header){ json_member_text(h, "name"),
                                                             json_member_text(h, "value") };
}

void agent_pod_probe(struct agent_pod *p, const struct life_action *action)
{
    autoarena a = { 0 };
    const struct json *exec = json_get(action->spec, "exec");
    struct probe_target target = { 0 };
    VEC(struct str) argv = { 0 };
    struct err e;
    int rc;

    if (exec) {
        JSON_FOREACH(word, json_get(exec, "command"))
            *vec_push(&a, &argv) = json_text(word, STR_NULL);
        rc = shim_exec(p->shim, action->id, &(struct shim_command){ action->name, argv.v, argv.n }, action->timeout_ms,
                       &e);
    } else {
        read_target(p, &a, action, &target);
        rc = shim_probe(p->shim, action->id, &target, action->timeout_ms, &e);
    }
    if (rc < 0)
        life_result(p->life, action->id, false, str_of(e.text), agent_pod_now(p));
}
