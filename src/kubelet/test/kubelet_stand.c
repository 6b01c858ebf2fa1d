/* kubelet_stand.c - the agent and the API server of tests, and the loop around them */
#include "kubelet/test/kubelet_stand.h"

struct stand *stand;

/* ---- the agent ---- */

const char *stand_log(struct stand *s, int attempt)
{
    return arena_fmt(&s->arena, "%s/logs/c.%d.log", s->dir, attempt).p;
}

int agent_log_find(struct agent *g, struct arena *a, const struct agent_log_query *q, struct agent_log_place *ret,
                   struct err *e)
{
    const struct agent_place *where = q->place;

    stand->asked_for = (struct agent_place){ arena_str(&stand->arena, where->namespace),
                                             arena_str(&stand->arena, where->pod),
                                             arena_str(&stand->arena, where->container) };
    stand->asked_previous = q->is_previous;
    if (stand->log_fails.code)
        return err_set(e, stand->log_fails.code, "%s", stand->log_fails.text);
    *ret = (struct agent_log_place){ arena_str(a, str_of(stand_log(stand, q->is_previous ? 0 : 1))), STR("uid"), 1 };
    return 0;
}

bool agent_log_grows(const struct agent *g, const struct agent_log_place *log, struct str container)
{
    return stand->log_grows;
}

/* At most one pod, which has not begun; records of pods that run are of the real agent, see tests/run_server.py. */
bool agent_containers(const struct agent *g, struct arena *a, struct str pod_uid, struct agent_containers *ret)
{
    *ret = (struct agent_containers){ .namespace = STR("ns"), .pod = STR("pod"), .is_over = true };
    return stand->pod_uid.n && str_eq(stand->pod_uid, pod_uid);
}

struct str agent_log_file(const struct agent *g, struct arena *a, struct str pod_uid, struct str container, int attempt)
{
    return STR_NULL;
}

bool agent_pod_usage(const struct agent *g, struct str pod_uid, struct cgroup_stats *ret)
{
    return false;
}

struct json *agent_pods_show(struct agent *g, struct arena *a)
{
    struct json *list = json_object(a);

    json_set(list, "kind", json_str(a, STR("PodList")));
    return list;
}

void agent_usage(struct agent *g, agent_usage_f f, void *ctx)
{
}

uint64_t agent_exec(struct agent *g, const struct agent_session_spec *spec, struct err *e)
{
    return (uint64_t)err_set(e, ERR_INVALID, "nothing runs here") * 0;
}

uint64_t agent_attach_to(struct agent *g, const struct agent_session_spec *spec, struct err *e)
{
    return (uint64_t)err_set(e, ERR_INVALID, "nothing runs here") * 0;
}

uint64_t agent_forward(struct agent *g, const struct agent_session_spec *spec, struct err *e)
{
    return (uint64_t)err_set(e, ERR_INVALID, "nothing listens here") * 0;
}

int agent_pod_address(const struct agent *g, struct arena *a, struct str pod_uid, struct str *ret, struct err *e)
{
    return err_set(e, ERR_CONFLICT, "nothing runs here");
}

int agent_socket(const struct agent *g, int type)
{
    return -1;
}

void agent_session_end(struct agent *g, uint64_t id)
{
}

/* ---- the API server ---- */

static void note_access(struct stand *s, const struct json *review)
{
    const struct json *spec = json_get(review, "spec"), *what = json_get(spec, "resourceAttributes");
    bool is_first = true;

    buf_fmt(&s->reviewed, "%.*s ", STR_ARG(json_member_text(spec, "user")));
    JSON_FOREACH(g, json_get(spec, "groups")) {
        buf_fmt(&s->reviewed, "%s%.*s", is_first ? "" : ",", STR_ARG(json_text(g, STR_NULL)));
        is_first = false;
    }
    buf_fmt(&s->reviewed, " %.*s %.*s\n", STR_ARG(json_member_text(what, "verb")),
            STR_ARG(json_member_text(what, "subresource")));
    assert_true(str_is(json_member_text(what, "resource"), "nodes") && str_is(json_member_text(what, "name"), "n1"));
}

void cluster_kube_ask(struct cluster *c, const struct kube_question *q)
{
    struct stand_review *r = xcalloc(1, sizeof(*r));

    assert_string_equal(q->method, "POST");
    *r = (struct stand_review){ .asked = q->asked, .ctx = q->ctx };
    buf_str(&r->path, q->path);
    if (str_ends(q->path, STR("/subjectaccessreviews")))
        note_access(stand, q->body);
    else
        stand->n_tokens++;
    list_push(&stand->reviews, &r->link);
}

static struct json *answer_of(struct stand *s, struct arena *a, struct str path)
{
    struct json *answer = json_object(a), *status = json_set(answer, "status", json_object(a)), *user;

    if (str_ends(path, STR("/subjectaccessreviews"))) {
        json_set(status, "allowed", json_bool_new(a, s->allows));
        return answer;
    }
    json_set(status, "authenticated", json_bool_new(a, s->knows_token));
    user = json_set(status, "user", json_object(a));
    json_set(user, "username", json_str(a, STR("system:serviceaccount:ns:robot")));
    json_push(json_set(user, "groups", json_array(a)), json_str(a, STR("robots")));
    return answer;
}

static void answer_reviews(struct stand *s)
{
    struct list_link *link;

    while (!s->holds && (link = list_pop_front(&s->reviews))) {
        struct stand_review *r = LIST_ITEM(link, struct stand_review, link);
        autoarena a = { 0 };
        struct err e;

        (void)err_set(&e, ERR_IO, "the API server is away");
        r->asked(r->ctx, s->fails ? NULL : answer_of(s, &a, buf_view(&r->path)), s->fails ? &e : NULL);
        buf_done(&r->path);
        free(r);
    }
}

/* ---- the loop ---- */

void stand_turn(struct stand *s, int ms)
{
    struct pollfd p[] = { { .fd = http_fd(s->client), .events = POLLIN },
                          { .fd = http_fd(s->certified), .events = POLLIN },
                          { .fd = kubelet_fd(s->kubelet), .events = POLLIN } };
    int64_t due_ms = kubelet_turn(s->kubelet);

    (void)poll(p, ARRAY_LEN(p), (int)MIN_OF(due_ms, ms));
    http_turn(s->client);
    http_turn(s->certified);
    answer_reviews(s);
}

static void on_data(void *ctx, struct str data)
{
    struct stand *s = ctx;

    buf_str(&s->body, data);
}

static void on_end(void *ctx, const struct http_answer *a)
{
    struct stand *s = ctx;

    s->is_over = true;
    s->status = a->err.code ? -1 : a->status;
    if (a->status >= 300)
        buf_str(&s->body, a->body);
    buf_append(&s->body, "", 0);
}

struct http_exchange *stand_send(struct stand *s, const char *method, const char *path, enum stand_who who)
{
    const char *headers[] = { s->authorization, NULL };
    struct http_request r = { .method = method,
                              .path = str_of(path),
                              .total_ms = 20000,
                              .token = who == TOKEN ? STR("secret") : STR_NULL,
                              .headers = who == OTHER ? headers : NULL,
                              .ctx = s,
                              .on_data = on_data,
                              .on_end = on_end };

    s->is_over = false;
    buf_reset(&s->body);
    return http_send(who == ALICE ? s->certified : s->client, &r);
}

int stand_ask(struct stand *s, const char *method, const char *path, enum stand_who who)
{
    (void)stand_send(s, method, path, who);
    while (!s->is_over)
        stand_turn(s, 20);
    return s->status;
}

/* ---- begin and end ---- */

static const char make_certificates[] =
    "cd %s && exec 2>/dev/null && "
    "key='-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2' && "
    "openssl req -x509 $key -keyout ca.key -out ca.crt -subj /CN=ca && "
    "openssl req -x509 $key -keyout server.key -out server.crt -subj /CN=server -addext subjectAltName=IP:127.0.0.1 "
    "-addext basicConstraints=CA:FALSE -CA ca.crt -CAkey ca.key && "
    "openssl req -x509 $key -keyout client.key -out client.crt -subj /O=devs/CN=alice -addext "
    "basicConstraints=CA:FALSE -CA ca.crt -CAkey ca.key";

static struct { /* made once */
    struct arena arena;
    struct str ca, server_cert, server_key, client_cert, client_key;
} pki;

static void make_pki(const char *dir)
{
    const struct {
        const char *name;
        struct str *text;
    } files[] = { { "ca.crt", &pki.ca },
                  { "server.crt", &pki.server_cert },
                  { "server.key", &pki.server_key },
                  { "client.crt", &pki.client_cert },
                  { "client.key", &pki.client_key } };
    char command[1024];

    (void)snprintf(command, sizeof(command), make_certificates, dir);
    assert_int_equal(system(command), 0); /* NOLINT: a constant and a path of ours */
    for (size_t i = 0; i < ARRAY_LEN(files); i++)
        *files[i].text = file_text(&pki.arena, AT_FDCWD, arena_fmt(&pki.arena, "%s/%s", dir, files[i].name).p, 1 << 16);
}

struct stand *stand_new(void)
{
    struct stand *s = stand = xcalloc(1, sizeof(*s));
    struct kubelet_options opt = { .address = "127.0.0.1:0", .node_name = STR("n1") };
    struct http_options client = { 0 };
    struct err e;

    (void)signal(SIGPIPE, SIG_IGN);
    list_init(&s->reviews);
    (void)snprintf(s->dir, sizeof(s->dir), "/tmp/pumice-kubelet.XXXXXX");
    assert_non_null(mkdtemp(s->dir));
    if (!pki.ca.n)
        make_pki(s->dir);
    opt.tls = (struct http_server_tls){ pki.server_cert, pki.server_key, pki.ca };
    if (kubelet_open(&opt, &s->kubelet, &e) < 0)
        fail_msg("%s", e.text);
    client.url = arena_fmt(&s->arena, "https://127.0.0.1:%u", kubelet_port(s->kubelet));
    client.tls.ca_pem = pki.ca;
    assert_int_equal(http_client_new(&client, &s->client, NULL), 0);
    client.tls.cert_pem = pki.client_cert;
    client.tls.key_pem = pki.client_key;
    assert_int_equal(http_client_new(&client, &s->certified, NULL), 0);
    return s;
}

void stand_free(struct stand *s)
{
    http_client_free(s->client);
    http_client_free(s->certified);
    kubelet_close(s->kubelet);
    LIST_FOREACH(struct stand_review, r, &s->reviews, link) {
        list_remove(&r->link);
        buf_done(&r->path);
        free(r);
    }
    remove_tree(s->dir);
    buf_done(&s->reviewed);
    buf_done(&s->body);
    arena_done(&s->arena);
    free(s);
    stand = NULL;
}
