/* mirror.c - a program for tests: says what cluster_kube tells of the ConfigMaps of a namespace, and writes some
 *
 *     kube_mirror [--http1] [--lists] NAMESPACE      with the cluster that KUBECONFIG leads to
 *
 * Prints RELIST, PUT NAME, GONE NAME, SYNCED, TROUBLE TEXT, WELL, and for each line "create NAME" or "delete NAME" that
 * it reads RESULT NAME ok, RESULT NAME CODE or RESULT NAME unknown. Ends with its input, after a line of figures.
 */
#include "api/meta.h"
#include "base/log.h"
#include "base/util.h"
#include "kube/cluster.h"

#include <poll.h>
#include <signal.h>

enum { ASKED_MAX = 65536 };

struct mirror {
    struct cluster *cluster;
    struct str namespace;
    const struct resource_type *type;
    char (*asked)[64]; /* by token */
    bool is_troubled;
    struct buf in;
};

static void say(struct mirror *m, const struct cluster_event *ev)
{
    static const char *const names[CLUSTER_EVENT_KIND_MAX] = { "PUT", "GONE", "RELIST", "SYNCED", "RESULT" };

    (void)m;
    printf("%s", names[ev->kind]);
    if (ev->kind == CLUSTER_RESULT)
        printf(" %s %s", m->asked[ev->token % ASKED_MAX],
               ev->is_unknown ? "unknown"
               : ev->err.code ? err_code_name(ev->err.code)
                              : "ok");
    else if (ev->object)
        printf(" %.*s", STR_ARG(ev->object->name));
    printf("\n");
}

static void hear(struct mirror *m)
{
    struct err e = { 0 };
    bool is_troubled;

    for (struct cluster_event ev; cluster_next(m->cluster, &ev);)
        say(m, &ev);
    is_troubled = cluster_kube_trouble(m->cluster, &e);
    if (is_troubled != m->is_troubled)
        printf("%s %s\n", is_troubled ? "TROUBLE" : "WELL", e.text);
    m->is_troubled = is_troubled;
    (void)fflush(stdout);
}

static void obey(struct mirror *m, struct str line)
{
    autoarena a = { 0 };
    struct str verb = line, name;
    struct op op = { .type = m->type, .namespace = m->namespace, .grace_s = -1 };
    uint64_t token;

    (void)str_split(&line, ' ', &verb);
    name = line;
    op.name = name;
    op.kind = str_is(verb, "delete") ? OP_DELETE : OP_CREATE;
    op.body = object_new(&a, "v1", "ConfigMap", m->namespace, name);
    token = cluster_write(m->cluster, &op);
    (void)snprintf(m->asked[token % ASKED_MAX], sizeof(m->asked[0]), "%.*s", STR_ARG(name));
}

/* False at the end of the input. */
static bool listen(struct mirror *m)
{
    ssize_t n = read(0, buf_reserve(&m->in, 4096), 4096);
    struct str rest, line;
    char *end;

    if (n <= 0)
        return false;
    m->in.n += (size_t)n;
    while ((end = memchr(m->in.p, '\n', m->in.n))) {
        line = (struct str){ m->in.p, (size_t)(end - m->in.p) };
        obey(m, line);
        rest = str_from(buf_view(&m->in), line.n + 1);
        memmove(m->in.p, rest.p, rest.n);
        m->in.n = rest.n;
    }
    return true;
}

static void report(struct mirror *m)
{
    struct kube_stats s;

    cluster_kube_stats(m->cluster, &s);
    printf("FIGURES lists=%llu watches=%llu relists=%llu writes=%llu connections=%llu\n", (unsigned long long)s.lists,
           (unsigned long long)s.watches, (unsigned long long)s.relists, (unsigned long long)s.writes,
           (unsigned long long)s.connections);
}

int main(int argc, char **argv)
{
    struct kube_config_options where = { .env = kube_env_real() };
    struct mirror m = { .type = type_by_name(STR("configmaps")), .namespace = str_of(argv[argc - 1]) };
    struct kube_view view = { .type = m.type, .namespace = m.namespace };
    struct kube_config config;
    struct cluster_kube_options opt = {
        .config = &config, .views = &view, .n_views = 1, .user_agent = STR("mirror/1")
    };
    autoarena a = { 0 };
    struct err e = { 0 };

    (void)signal(SIGPIPE, SIG_IGN);
    (void)log_setup((struct log_config){ 2, getenv("DEBUG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_WARN });
    for (int i = 1; i < argc - 1; i++)
        opt.only_lists |= strcmp(argv[i], "--lists") == 0;
    if (kube_config_load(&a, &where, &config, &e) < 0 || cluster_kube_new(&opt, &m.cluster, &e) < 0) {
        (void)fprintf(stderr, "%s\n", e.text);
        return 1;
    }
    m.asked = xcalloc(ASKED_MAX, sizeof(m.asked[0]));
    cluster_want(m.cluster, m.type);
    for (bool goes = true; goes;) {
        struct pollfd fds[2] = { { cluster_kube_fd(m.cluster), POLLIN, 0 }, { 0, POLLIN, 0 } };

        hear(&m);
        (void)poll(fds, 2, -1);
        if (fds[1].revents)
            goes = listen(&m);
    }
    report(&m);
    cluster_free(m.cluster);
    buf_done(&m.in);
    free(m.asked);
    return 0;
}
