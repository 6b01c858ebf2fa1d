/* agent_session.c - commands in containers and connections to their ports, for people who look into a pod
 *
 * The shim runs them on descriptors that it was given; what they say does not pass through here. They go with their
 * client, who ends them, and with the pod.
 */
#include "api/pod/container.h"
#include "node/agent/agent_internal.h"

struct agent_session {
    struct list_link link; /* of the agent: there are few */
    struct agent_pod *pod;
    uint64_t id;
    agent_ended_f ended;
    void *ctx;
};

static const uint64_t session_bit = (uint64_t)SESSION_ID << 63;

static struct agent_session *agent_session_begin(struct agent_pod *p, const struct agent_session_spec *spec)
{
    struct agent_session *s = xcalloc(1, sizeof(*s));

    s->pod = p;
    s->id = session_bit | ++p->agent->last_session;
    s->ended = spec->ended;
    s->ctx = spec->ctx;
    list_push(&p->agent->sessions, &s->link);
    return s;
}

static struct agent_session *agent_session_find(struct agent *g, uint64_t id)
{
    LIST_FOREACH(struct agent_session, s, &g->sessions, link)
        if (s->id == id)
            return s;
    return NULL;
}

static void agent_session_forget(struct agent_session *s)
{
    list_remove(&s->link);
    free(s);
}

static struct agent_pod *running_pod(struct agent *g, struct str namespace, struct str name, struct err *e)
{
    struct agent_pod *p = agent_pod_of(g, namespace, name);

    if (!p)
        (void)err_set(e, ERR_NOT_FOUND, "pod \"%.*s\" not found", STR_ARG(name));
    else if (!p->shim || p->stage != STAGE_MADE)
        (void)err_set(e, ERR_CONFLICT, "pod \"%.*s\" is not running", STR_ARG(name));
    return p && p->shim && p->stage == STAGE_MADE ? p : NULL;
}

static struct agent_pod *pod_with(struct agent *g, const struct agent_place *where, struct err *e)
{
    struct agent_pod *p = running_pod(g, where->namespace, where->pod, e);

    if (!p || container_named(json_get(p->object->root, "spec"), where->container))
        return p;
    (void)err_set(e, ERR_NOT_FOUND, "container \"%.*s\" not found in pod \"%.*s\"", STR_ARG(where->container),
                  STR_ARG(where->pod));
    return NULL;
}

uint64_t agent_attach_to(struct agent *g, const struct agent_session_spec *spec, struct err *e)
{
    struct shim_attachment attachment = { spec->where.container, spec->fds, spec->wants_input };
    struct agent_pod *p = pod_with(g, &spec->where, e);
    struct agent_session *s;

    if (!p)
        return 0;
    s = agent_session_begin(p, spec);
    if (shim_attach(p->shim, s->id, &attachment, e) == 0)
        return s->id;
    agent_session_forget(s);
    return 0;
}

uint64_t agent_exec(struct agent *g, const struct agent_session_spec *spec, struct err *e)
{
    struct agent_pod *p = pod_with(g, &spec->where, e);
    struct shim_command command = {
        .container = spec->where.container, .argv = spec->argv, .n = spec->n_argv, .is_tty = spec->is_tty
    };
    struct agent_session *s;

    if (!p)
        return 0;
    s = agent_session_begin(p, spec);
    if (shim_exec_on(p->shim, s->id, &command, spec->fds, e) == 0)
        return s->id;
    agent_session_forget(s);
    return 0;
}

uint64_t agent_forward(struct agent *g, const struct agent_session_spec *spec, struct err *e)
{
    struct agent_pod *p = running_pod(g, spec->where.namespace, spec->where.pod, e);
    struct agent_session *s;

    if (!p)
        return 0;
    s = agent_session_begin(p, spec);
    if (shim_forward(p->shim, s->id, spec->port, spec->fds[0], e) == 0)
        return s->id;
    agent_session_forget(s);
    return 0;
}

int agent_pod_address(const struct agent *g, struct arena *a, struct str pod_uid, struct str *ret, struct err *e)
{
    const struct agent_pod *p = map_get(&g->pods, pod_uid);

    if (!p || !p->shim || p->stage != STAGE_MADE)
        return err_set(e, ERR_CONFLICT, "the pod is not running on this node");
    if (!p->address.s_addr)
        return err_set(e, ERR_CONFLICT, "the pod uses the network of its host and has no address of its own");
    *ret = agent_address(a, p->address);
    return 0;
}

void agent_session_end(struct agent *g, uint64_t id)
{
    struct agent_session *s = agent_session_find(g, id);

    if (!s)
        return;
    (void)shim_cancel(s->pod->shim, id, NULL); /* a shim that has exited has killed it */
    agent_session_forget(s);
}

bool agent_session_ended(struct agent_pod *p, const struct shim_event *ev)
{
    struct agent_session *s, gone;

    if (!(ev->id & session_bit))
        return false;
    s = agent_session_find(p->agent, ev->id);
    if (!s)
        return true; /* it was cancelled */
    gone = *s;
    agent_session_forget(s);
    gone.ended(gone.ctx, ev->exit_code, ev->text);
    return true;
}

void agent_sessions_lost(struct agent_pod *p, struct str why)
{
    LIST_FOREACH(struct agent_session, s, &p->agent->sessions, link) {
        struct agent_session gone = *s;

        if (s->pod != p)
            continue;
        agent_session_forget(s);
        gone.ended(gone.ctx, 137, why);
    }
}
