/* roles.c - what the controller may do in a cluster: the least that works, and why
 *
 * Roles are made from one table. A rule that only the scheduler needs is in a role of its own, so that a cluster with
 * another scheduler does not grant it.
 */
#include "cli/install/install.h"

#include "base/util.h"

enum roles_role {
    ROLE_CONTROLLER,  /* always */
    ROLE_SCHEDULER,   /* with --scheduler */
    ROLE_NATIVE,      /* with --native-podgroups */
    ROLE_WEBHOOK,     /* with --webhook */
    ROLE_LEADER,      /* in the controller's own namespace only */
    ROLE_CERTIFICATE, /* the same, with --webhook */
    ROLE_VIEW,        /* for people: joins the cluster's role "view" … */
    ROLE_EDIT,        /* … and "edit" */
    ROLE_NODE,        /* for machines that run `pumice node`: what a kubelet's rights lack */
    ROLE_MAX,
};

struct roles_rule {
    enum roles_role role;
    const char *group, *resources, *verbs; /* words with blanks between */
    const char *why;
    const char *names; /* resourceNames: words, or one of the two below; NULL: all */
};

static const char mutating_hooks[] = "", validating_hooks[] = ""; /* those of webhook.c */

static const struct roles_rule rules[] = {
    { ROLE_CONTROLLER, "batch.volcano.sh", "jobs", "get list watch create update delete",
      "jobs: those of flows and schedules, the names of their claims, and their end when their time to live is over" },
    { ROLE_CONTROLLER, "batch.volcano.sh", "jobs/status", "update", "what a job is doing" },
    { ROLE_CONTROLLER, "batch.volcano.sh", "jobs/finalizers", "update",
      "pods that keep their job until they are deleted, where the cluster asks for this right" },
    { ROLE_CONTROLLER, "batch.volcano.sh", "cronjobs", "get list watch", "schedules" },
    { ROLE_CONTROLLER, "flow.volcano.sh", "jobflows jobtemplates", "get list watch", "flows" },
    { ROLE_CONTROLLER, "batch.volcano.sh", "cronjobs/status cronjobs/finalizers", "update",
      "when a schedule ran last; its jobs keep it until they are deleted" },
    { ROLE_CONTROLLER, "flow.volcano.sh", "jobflows/status jobflows/finalizers jobtemplates/status", "update",
      "how far a flow is; the same" },
    { ROLE_CONTROLLER, "bus.volcano.sh", "commands", "get list watch delete", "suspend and resume" },
    { ROLE_CONTROLLER, "scheduling.volcano.sh", "podgroups", "get list watch create patch delete deletecollection",
      "one for each job, and for pods that name our scheduler; those of jobs that have ended go together" },
    { ROLE_CONTROLLER, "scheduling.volcano.sh", "queues", "get list watch create patch",
      "the queues root and default, and the parent of those that name none" },
    { ROLE_CONTROLLER, "scheduling.volcano.sh", "queues/status", "update patch", "open and closed" },
    { ROLE_CONTROLLER, "", "pods", "get list watch create patch delete", "the pods of jobs" },
    { ROLE_CONTROLLER, "", "services", "get list watch create delete deletecollection", "plugin svc" },
    { ROLE_CONTROLLER, "", "configmaps", "get list watch create patch delete deletecollection", "plugin svc: hosts" },
    { ROLE_CONTROLLER, "", "secrets", "get create delete", "keys of the ssh plugin; never a list of all secrets" },
    { ROLE_CONTROLLER, "", "persistentvolumeclaims", "get list watch create", "volumes of jobs" },
    { ROLE_CONTROLLER, "networking.k8s.io", "networkpolicies", "get list watch create delete deletecollection",
      "plugin svc" },
    { ROLE_CONTROLLER, "scheduling.k8s.io", "priorityclasses", "list watch", "which job goes first" },
    { ROLE_CONTROLLER, "apps", "replicasets statefulsets daemonsets", "get", "owners of pods that name our scheduler" },
    { ROLE_CONTROLLER, "batch", "jobs", "get", "the same" },
    { ROLE_CONTROLLER, "", "replicationcontrollers", "get", "the same" },
    { ROLE_CONTROLLER, "", "events", "create patch", "what happened, for people, and how often" },

    { ROLE_SCHEDULER, "", "pods/binding", "create", "placing" },
    { ROLE_SCHEDULER, "", "pods/status", "patch", "why a pod waits, and the node it is promised" },
    { ROLE_SCHEDULER, "", "nodes namespaces persistentvolumes", "list watch", "where there is room" },
    { ROLE_SCHEDULER, "", "persistentvolumeclaims", "patch", "claims that wait for a node" },
    { ROLE_SCHEDULER, "", "persistentvolumes", "get patch", "local volumes: the claim each is taken for" },
    { ROLE_SCHEDULER, "storage.k8s.io", "storageclasses csinodes", "list watch", "which node a volume can be on" },
    { ROLE_SCHEDULER, "policy", "poddisruptionbudgets", "list watch", "whom not to evict" },
    { ROLE_SCHEDULER, "topology.volcano.sh", "hypernodes", "list watch", "which nodes are near each other" },

    { ROLE_NATIVE, "scheduling.k8s.io", "workloads", "get list watch create delete", "gangs for kube-scheduler" },
    { ROLE_NATIVE, "scheduling.k8s.io", "podgroups", "get list watch create patch delete",
      "the same; one that is replaced is let go" },

    { ROLE_WEBHOOK, "admissionregistration.k8s.io", "mutatingwebhookconfigurations validatingwebhookconfigurations",
      "list watch", "those that are labelled as ours" },
    { ROLE_WEBHOOK, "admissionregistration.k8s.io", "mutatingwebhookconfigurations", "update", "the CA that they trust",
      mutating_hooks },
    { ROLE_WEBHOOK, "admissionregistration.k8s.io", "validatingwebhookconfigurations", "update", "the same",
      validating_hooks },
    { ROLE_WEBHOOK, "", "namespaces", "get", "the queue that a namespace names" },
    { ROLE_CERTIFICATE, "", "secrets", "list watch update", "the certificate that all replicas show",
      "pumice-webhook" },

    { ROLE_LEADER, "coordination.k8s.io", "leases", "create", "one leader; what does not exist has no name yet" },
    { ROLE_LEADER, "coordination.k8s.io", "leases", "get update", "the same", "vc-controller-manager" },

    { ROLE_VIEW, "batch.volcano.sh", "jobs cronjobs", "get list watch", NULL },
    { ROLE_VIEW, "scheduling.volcano.sh", "podgroups queues", "get list watch", NULL },
    { ROLE_VIEW, "flow.volcano.sh", "jobflows jobtemplates", "get list watch", NULL },
    { ROLE_EDIT, "batch.volcano.sh", "jobs cronjobs", "create update patch delete deletecollection", NULL },
    { ROLE_EDIT, "bus.volcano.sh", "commands", "create", "suspend and resume" },
    { ROLE_EDIT, "flow.volcano.sh", "jobflows jobtemplates", "create update patch delete deletecollection", NULL },

    { ROLE_NODE, "", "namespaces", "list watch", "network policies select by their labels" },
    { ROLE_NODE, "networking.k8s.io", "networkpolicies", "list watch", "no pod starts before those for it are known" },
};

struct role_info {
    const char *name, *flag, *aggregate;
    bool is_namespaced;
};

static const struct role_info roles[ROLE_MAX] = {
    [ROLE_CONTROLLER] = { "pumice-controller", NULL, NULL, false },
    [ROLE_SCHEDULER] = { "pumice-scheduler", "scheduler", NULL, false },
    [ROLE_NATIVE] = { "pumice-native-podgroups", "native", NULL, false },
    [ROLE_WEBHOOK] = { "pumice-webhook", "webhook", NULL, false },
    [ROLE_CERTIFICATE] = { "pumice-certificate", "webhook", NULL, true },
    [ROLE_LEADER] = { "pumice-leader", NULL, NULL, true },
    [ROLE_VIEW] = { "pumice-view", NULL, "view", false },
    [ROLE_EDIT] = { "pumice-edit", NULL, "edit", false },
    [ROLE_NODE] = { "pumice-node", NULL, NULL, false },
};

static void print_words(struct buf *out, const char *key, const char *words)
{
    struct str rest = str_of(words), word;

    buf_fmt(out, "  %s:\n", key);
    while (str_split(&rest, ' ', &word))
        buf_fmt(out, "  - %.*s\n", STR_ARG(word));
}

static void print_rule(struct buf *out, const struct roles_rule *r)
{
    if (r->why)
        buf_fmt(out, "# %s\n", r->why);
    buf_fmt(out, "- apiGroups:\n  - %s\n", r->group[0] ? r->group : "\"\"");
    print_words(out, "resources", r->resources);
    print_words(out, "verbs", r->verbs);
    if (r->names == mutating_hooks || r->names == validating_hooks) {
        buf_fmt(out, "  resourceNames:\n");
        install_print_hook_names(out, r->names == mutating_hooks);
    } else if (r->names) {
        print_words(out, "resourceNames", r->names);
    }
}

static void print_head(struct buf *out, const struct role_info *info, const char *what)
{
    buf_fmt(out, "apiVersion: rbac.authorization.k8s.io/v1\nkind: %s%s\nmetadata:\n  name: %s\n",
            info->is_namespaced ? "" : "Cluster", what, info->name);
    if (info->is_namespaced)
        buf_fmt(out, "  namespace: @namespace@\n");
    buf_fmt(out, "  labels:\n    app.kubernetes.io/name: pumice\n");
}

static void print_role(struct buf *out, enum roles_role role)
{
    const struct role_info *info = &roles[role];

    print_head(out, info, "Role");
    if (info->aggregate)
        buf_fmt(out, "    rbac.authorization.k8s.io/aggregate-to-%s: \"true\"\n", info->aggregate);
    buf_fmt(out, "rules:\n");
    for (size_t i = 0; i < ARRAY_LEN(rules); i++)
        if (rules[i].role == role)
            print_rule(out, &rules[i]);
}

static void print_binding(struct buf *out, enum roles_role role)
{
    const struct role_info *info = &roles[role];

    buf_fmt(out, "---\n");
    print_head(out, info, "RoleBinding");
    buf_fmt(out, "roleRef:\n  apiGroup: rbac.authorization.k8s.io\n  kind: %s\n  name: %s\nsubjects:\n%s",
            info->is_namespaced ? "Role" : "ClusterRole", info->name,
            role == ROLE_NODE ? "- kind: Group\n  apiGroup: rbac.authorization.k8s.io\n  name: system:nodes\n"
                              : "- kind: ServiceAccount\n  name: pumice-controller\n  namespace: @namespace@\n");
}

static void print_whole(struct buf *out, enum roles_role role)
{
    print_role(out, role);
    if (!roles[role].aggregate)
        print_binding(out, role);
}

void install_print_roles(struct buf *out)
{
    for (int role = 0; role < ROLE_NODE; role++) {
        if (roles[role].flag)
            buf_fmt(out, "@if %s@\n", roles[role].flag);
        if (role > 0)
            buf_fmt(out, "---\n");
        print_whole(out, role);
        if (roles[role].flag)
            buf_fmt(out, "@end@\n");
    }
}

void install_print_webhook_roles(struct buf *out)
{
    print_whole(out, ROLE_WEBHOOK);
    buf_fmt(out, "---\n");
    print_whole(out, ROLE_CERTIFICATE);
}

void install_print_scheduler_roles(struct buf *out)
{
    print_whole(out, ROLE_SCHEDULER);
}

void install_print_node_role(struct buf *out)
{
    print_whole(out, ROLE_NODE);
}

void install_print_native_roles(struct buf *out)
{
    print_whole(out, ROLE_NATIVE);
}

/* ---- one by one ---- */

static void each_verb(const struct roles_rule *rule, struct str resource,
                      void (*each)(void *ctx, const struct install_right *r), void *ctx)
{
    struct install_right right = { .group = str_of(rule->group),
                                   .name = rule->names ? str_of(rule->names) : STR_NULL, /* one name, of those roles */
                                   .is_own_namespace = roles[rule->role].is_namespaced };
    struct str verbs = str_of(rule->verbs);

    (void)str_split(&resource, '/', &right.resource);
    right.subresource = resource;
    while (str_split(&verbs, ' ', &right.verb))
        each(ctx, &right);
}

void install_rights(bool schedules, void (*each)(void *ctx, const struct install_right *r), void *ctx)
{
    for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
        enum roles_role role = rules[i].role;
        struct str resources = str_of(rules[i].resources), resource;

        if (role != ROLE_CONTROLLER && role != ROLE_LEADER && !(role == ROLE_SCHEDULER && schedules))
            continue;
        while (str_split(&resources, ' ', &resource))
            each_verb(&rules[i], resource, each, ctx);
    }
}
