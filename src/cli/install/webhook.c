/* webhook.c - the webhook configurations and the Service before the webhook, from one table
 *
 * The configurations have the names of Volcano's: applied to a cluster that has those, they take their place, and the
 * other way round. The API server never asks about kube-system and about our own namespace, so that nothing that the
 * webhook itself needs can wait for it.
 *
 * failurePolicy is Ignore where the controller does or checks the same again (defaults, PodGroups, flows, schedules,
 * budgets, HyperNodes). Jobs and Queues are refused while the webhook does not answer.
 */
#include "cli/install/install.h"

#include "api/pod/gate.h"
#include "base/util.h"
#include "webhook/webhook.h"

struct hook {
    const char *resource, *kind, *group, *version;
    bool mutates, is_cluster_wide, may_be_ignored;
    const char *operations; /* words with blanks between */
    const char *condition;  /* CEL; NULL: always */
};

static const struct hook hooks[] = {
    { "jobs", "job", "batch.volcano.sh", "v1alpha1", true, false, true, "CREATE", NULL },
    { "jobs", "job", "batch.volcano.sh", "v1alpha1", false, false, false, "CREATE UPDATE", NULL },
    { "queues", "queue", "scheduling.volcano.sh", "v1beta1", true, true, true, "CREATE", NULL },
    { "queues", "queue", "scheduling.volcano.sh", "v1beta1", false, true, false, "CREATE UPDATE DELETE", NULL },
    { "podgroups", "podgroup", "scheduling.volcano.sh", "v1beta1", true, false, true, "CREATE",
      "!has(object.spec) || !has(object.spec.queue) || object.spec.queue == 'default'" },
    { "podgroups", "podgroup", "scheduling.volcano.sh", "v1beta1", false, false, true, "CREATE", NULL },
    { "jobflows", "jobflow", "flow.volcano.sh", "v1alpha1", false, false, true, "CREATE UPDATE", NULL },
    { "jobtemplates", "jobtemplate", "flow.volcano.sh", "v1alpha1", false, false, true, "CREATE UPDATE", NULL },
    { "cronjobs", "cronjob", "batch.volcano.sh", "v1alpha1", false, false, true, "CREATE UPDATE", NULL },
    { "hypernodes", "hypernode", "topology.volcano.sh", "v1alpha1", false, true, true, "CREATE UPDATE", NULL },
    { "pods", "pod", "", "v1", true, false, true, "CREATE",
      "has(object.metadata.annotations) && '" QUEUE_GATE "' in object.metadata.annotations" },
    { "pods", "pod", "", "v1", false, false, true, "CREATE",
      "has(object.metadata.annotations) && ('volcano.sh/jdb-min-available' in object.metadata.annotations || "
      "'volcano.sh/jdb-max-unavailable' in object.metadata.annotations)" },
};

static const char service_text[] = "@if webhook@\n"
                                   "apiVersion: v1\n"
                                   "kind: Service\n"
                                   "metadata:\n"
                                   "  name: pumice-webhook\n"
                                   "  namespace: @namespace@\n"
                                   "  labels:\n"
                                   "    app.kubernetes.io/name: pumice\n"
                                   "    app.kubernetes.io/component: controller\n"
                                   "spec:\n"
                                   "  selector:\n"
                                   "    app.kubernetes.io/name: pumice\n"
                                   "    app.kubernetes.io/component: controller\n"
                                   "  ports:\n"
                                   "  - name: webhook\n"
                                   "    port: 443\n"
                                   "    targetPort: 8443\n";

static void print_rule(struct buf *out, const struct hook *h)
{
    struct str rest = str_of(h->operations), word;

    buf_fmt(out, "  rules:\n  - apiGroups:\n    - %s\n    apiVersions:\n    - %s\n    operations:\n",
            h->group[0] ? h->group : "\"\"", h->version);
    while (str_split(&rest, ' ', &word))
        buf_fmt(out, "    - %.*s\n", STR_ARG(word));
    buf_fmt(out, "    resources:\n    - %s\n    scope: %s\n", h->resource,
            h->is_cluster_wide ? "Cluster" : "Namespaced");
}

static void print_config_name(struct buf *out, const struct hook *h)
{
    buf_fmt(out, WEBHOOK_CONFIG_NAMES "%s-%s", h->resource, h->mutates ? "mutate" : "validate");
}

void install_print_hook_names(struct buf *out, bool mutates)
{
    for (size_t i = 0; i < ARRAY_LEN(hooks); i++) {
        if (hooks[i].mutates != mutates)
            continue;
        buf_fmt(out, "  - ");
        print_config_name(out, &hooks[i]);
        buf_char(out, '\n');
    }
}

static void print_hook(struct buf *out, const struct hook *h)
{
    const char *verb = h->mutates ? "mutate" : "validate";

    buf_fmt(out, "---\napiVersion: admissionregistration.k8s.io/v1\nkind: %sWebhookConfiguration\nmetadata:\n  name: ",
            h->mutates ? "Mutating" : "Validating");
    print_config_name(out, h);
    buf_fmt(out,
            "\n  labels:\n    app.kubernetes.io/name: pumice\n"
            "webhooks:\n- name: %s%s.volcano.sh\n  admissionReviewVersions:\n  - v1\n  clientConfig:\n"
            "    # The controller adds the caBundle.\n    service:\n      name: pumice-webhook\n"
            "      namespace: @namespace@\n      path: /%s/%s\n",
            verb, h->kind, h->resource, verb);
    print_rule(out, h);
    if (!h->is_cluster_wide)
        buf_fmt(out, "  namespaceSelector:\n    matchExpressions:\n    - key: kubernetes.io/metadata.name\n"
                     "      operator: NotIn\n      values:\n      - kube-system\n      - @namespace@\n");
    if (h->condition)
        buf_fmt(out, "  matchConditions:\n  - name: is-ours\n    expression: >-\n      %s\n", h->condition);
    buf_fmt(out, "  failurePolicy: %s\n  matchPolicy: Equivalent\n  sideEffects: None\n  timeoutSeconds: %d\n",
            h->may_be_ignored ? "Ignore" : "Fail", h->may_be_ignored ? 5 : 10);
}

void install_print_webhook(struct buf *out)
{
    buf_fmt(out, "%s", service_text);
    for (size_t i = 0; i < ARRAY_LEN(hooks); i++)
        print_hook(out, &hooks[i]);
    buf_fmt(out, "@end@\n");
}
