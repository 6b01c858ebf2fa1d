/* chart.c - the Helm chart: what it asks, what it says, and what only it has
 *
 *     Chart.yaml  values.yaml  values.schema.json  crds → ../crds
 *     templates/PART.yaml        the parts of the plain manifest, with Helm's marks
 *     templates/monitoring.yaml  ServiceMonitor and alert rules, for clusters with the Prometheus operator
 *     templates/checks.yaml      settings that contradict each other
 *     templates/NOTES.txt
 *
 * Values, their defaults, their types and the lines about them are one table.
 */
#include "cli/install/install.h"

#include "base/util.h"

#include <errno.h>
#include <unistd.h>

#define MADE "# Made by 'pumice install --output'; do not edit.\n"

struct chart_value {
    const char *name;  /* "webhook.enabled": at most one dot; those of one object stand together */
    const char *about; /* NULL: as the one before */
    const char *start; /* YAML; NULL: that of 'parameter' */
    enum install_parameter parameter;
    const char *schema; /* members of its JSON schema */
};

#define BOOLEAN  "\"type\": \"boolean\""
#define OBJECT   "\"type\": \"object\""
#define LIST(of) "\"type\": \"array\", \"items\": {" of "}"
#define TEXT     "\"type\": \"string\""

static const struct chart_value values[] = {
    { "image", "Image of the controller.", NULL, INSTALL_IMAGE, TEXT ", \"minLength\": 1" },
    { "imagePullSecrets", "Secrets to pull it with: [{name: registry}].", "[]", 0, LIST(OBJECT) },
    { "replicas", "Controllers, of which one leads.", NULL, INSTALL_REPLICAS,
      "\"type\": \"integer\", \"minimum\": 0, \"maximum\": 100" },
    { "scheduler", "Schedule pods too, and the rights for it.", NULL, INSTALL_SCHEDULER, BOOLEAN },
    { "schedulerConfig",
      "Settings of the scheduler, as Volcano's volcano-scheduler.conf. A change takes effect without a restart.", NULL,
      INSTALL_CONFIG, TEXT },
    { "nativePodGroups", "Gangs as PodGroups of scheduling.k8s.io, for kube-scheduler; not together with scheduler.",
      NULL, INSTALL_NATIVE, BOOLEAN },
    { "webhook.enabled", "Refuse bad objects when they are written, by a webhook, and the rights for it.", NULL,
      INSTALL_WEBHOOK, BOOLEAN },
    { "resources", "Of the controller's container.",
      "\n  requests:\n    cpu: 50m\n    memory: 32Mi\n  limits:\n    memory: 512Mi", 0, OBJECT },
    { "nodeSelector", "Where its pods run, besides kubernetes.io/os: linux.", "{}", 0, OBJECT },
    { "affinity", NULL, "{}", 0, OBJECT },
    { "tolerations", NULL, "[]", 0, LIST(OBJECT) },
    { "logLevel", "debug, info, warn or error; empty: info.", "\"\"", 0,
      "\"enum\": [\"\", \"debug\", \"info\", \"warn\", \"error\"]" },
    { "extraArgs", "More options of `pumice controller`: [--leader-elect-lease-duration=30s].", "[]", 0, LIST(TEXT) },
    { "networkPolicy.apiServerPorts",
      "Ports by which the pods reach the API server: as its address says, after the Service's address is replaced.",
      "[443, 6443, 8443]", 0, LIST("\"type\": \"integer\", \"minimum\": 1, \"maximum\": 65535") },
    { "monitoring.serviceMonitor", "A ServiceMonitor and alert rules, for the Prometheus operator.", "false", 0,
      BOOLEAN },
    { "monitoring.alertRules", NULL, "false", 0, BOOLEAN },
    { "monitoring.labels", "Labels of both, by which Prometheus selects them.", "{}", 0, OBJECT },
};

#define MONITORING_METADATA                                                                                            \
    "metadata:\n"                                                                                                      \
    "  name: pumice-controller\n"                                                                                      \
    "  namespace: {{ .Release.Namespace }}\n"                                                                          \
    "  labels:\n"                                                                                                      \
    "    app.kubernetes.io/name: pumice\n"                                                                             \
    "    {{- with .Values.monitoring.labels }}\n"                                                                      \
    "    {{- toYaml . | nindent 4 }}\n"                                                                                \
    "    {{- end }}\n"

static const char monitoring_text[] = "{{- if .Values.monitoring.serviceMonitor }}\n"
                                      "apiVersion: monitoring.coreos.com/v1\n"
                                      "kind: ServiceMonitor\n" MONITORING_METADATA "spec:\n"
                                      "  selector:\n"
                                      "    matchLabels:\n"
                                      "      app.kubernetes.io/name: pumice\n"
                                      "      app.kubernetes.io/component: controller\n"
                                      "  endpoints:\n"
                                      "  - port: http\n"
                                      "{{- end }}\n"
                                      "{{- if .Values.monitoring.alertRules }}\n"
                                      "---\n"
                                      "apiVersion: monitoring.coreos.com/v1\n"
                                      "kind: PrometheusRule\n" MONITORING_METADATA "spec:\n"
                                      "  groups:\n"
                                      "  - name: pumice\n"
                                      "    rules:\n";

/* Alerts for on-call, each with its remedy. */
static const struct alert {
    const char *name, *expression, *wait, *severity, *summary;
} alerts[] = {
    { "PumiceNoLeader", "(sum(pumice_leader) or vector(0)) < 1", "5m", "critical",
      "No controller leads: Jobs get no pods. See the logs of pumice-controller and its Lease." },
    { "PumiceNotSynced", "max(pumice_synced) == 0", "10m", "critical",
      "The controller has not listed everything: GET /readyz says why." },
    { "PumiceWritesFail", "sum(rate(pumice_writes_total{result=~\"refused|error|noanswer\"}[10m])) > 0.1", "15m",
      "warning", "The API server refuses writes: the log of the controller says which and why." },
    { "PumiceThrottled", "sum(rate(pumice_throttled_total[10m])) > 0", "15m", "warning",
      "The API server throttles the controller: give it a FlowSchema (docs/controller.md)." },
    { "PumiceSchedulerConfig", "max(pumice_scheduler_config_warnings) > 0", "5m", "warning",
      "Settings of the scheduler have no effect: the log of the controller and the Queue's Events say which." },
};

static const char checks_text[] =
    "{{- /* Made by 'pumice install --output'; do not edit. */}}\n"
    "{{- if and .Values.scheduler .Values.nativePodGroups }}\n"
    "{{- fail \"nativePodGroups: leave scheduler out: kube-scheduler places the pods of such gangs\" }}\n"
    "{{- end }}\n";

static const char notes_text[] =
    "Pumice {{ .Chart.AppVersion }} runs Jobs of batch.volcano.sh"
    "{{ if .Values.scheduler }} and schedules pods of schedulerName \"volcano\"{{ end }}.\n"
    "\n"
    "  kubectl -n {{ .Release.Namespace }} rollout status deployment/pumice-controller\n"
    "  kubectl create -f job.yaml && kubectl get vcjob -w\n"
    "  pumice doctor --cluster          # what may be missing\n"
    "\n"
    "helm uninstall leaves the kinds, and so all Jobs and their pods: docs/install.md, Uninstalling.\n";

/* ---- printing ---- */

static struct str chart_part_of(struct str name, struct str *ret_group)
{
    struct str first = STR_NULL, rest = name;

    (void)str_split(&rest, '.', &first);
    *ret_group = rest.n ? first : STR_NULL;
    return rest.n ? rest : first;
}

static const char *start_of(const struct chart_value *v, const struct install *in)
{
    if (v->start)
        return v->start;
    if (v->parameter == INSTALL_IMAGE || v->parameter == INSTALL_REPLICAS || v->parameter == INSTALL_CONFIG)
        return in->value[v->parameter];
    return in->value[v->parameter][0] ? "true" : "false";
}

static void print_values(struct buf *out, const struct install *in)
{
    struct str last = STR_NULL;

    for (size_t i = 0; i < ARRAY_LEN(values); i++) {
        const struct chart_value *v = &values[i];
        const char *start = start_of(v, in), *indent;
        struct str group, name = chart_part_of(str_of(v->name), &group);

        if (v->about && (!group.n || !str_eq(group, last)))
            buf_fmt(out, "# %s\n", v->about);
        if (group.n && !str_eq(group, last))
            buf_fmt(out, "%.*s:\n", STR_ARG(group));
        else if (v->about && group.n)
            buf_fmt(out, "  # %s\n", v->about);
        indent = group.n ? "  " : "";
        buf_fmt(out, "%s%.*s:%s%s\n", indent, STR_ARG(name),
                start[0] == '\n'                              ? ""
                : !v->start && v->parameter == INSTALL_CONFIG ? " |\n"
                                                              : " ",
                start);
        last = group;
    }
}

static void print_schema(struct buf *out)
{
    struct str last = STR_NULL;

    buf_fmt(out, "{\n  \"$schema\": \"http://json-schema.org/draft-07/schema#\",\n  \"type\": \"object\",\n"
                 "  \"additionalProperties\": false,\n  \"properties\": {\n    \"global\": {},\n    ");
    for (size_t i = 0; i < ARRAY_LEN(values); i++) {
        struct str group, name = chart_part_of(str_of(values[i].name), &group);
        bool is_new = !str_eq(group, last);

        if (i && last.n && is_new)
            buf_fmt(out, " } }");
        if (i)
            buf_fmt(out, ",\n    ");
        if (group.n && is_new)
            buf_fmt(out, "\"%.*s\": { \"type\": \"object\", \"additionalProperties\": false, \"properties\": {\n    ",
                    STR_ARG(group));
        buf_fmt(out, "%s\"%.*s\": { %s }", group.n ? "  " : "", STR_ARG(name), values[i].schema);
        last = group;
    }
    buf_fmt(out, "%s\n  }\n}\n", last.n ? " } }" : "");
}

static void print_monitoring(struct buf *out)
{
    buf_fmt(out, "%s", monitoring_text);
    for (size_t i = 0; i < ARRAY_LEN(alerts); i++)
        buf_fmt(out,
                "    - alert: %s\n      expr: %s\n      for: %s\n      labels:\n        severity: %s\n"
                "      annotations:\n        summary: \"%s\"\n",
                alerts[i].name, alerts[i].expression, alerts[i].wait, alerts[i].severity, alerts[i].summary);
    buf_fmt(out, "{{- end }}\n");
}

static void print_about(struct buf *out)
{
    buf_fmt(out,
            MADE "apiVersion: v2\nname: pumice\ndescription: Controller and gang scheduler for Volcano Jobs\n"
                 "type: application\nversion: %s\nappVersion: \"%s\"\n",
            PUMICE_VERSION, PUMICE_VERSION);
}

int install_write_chart(int at, const struct install *in, struct err *e)
{
    struct install chart = *in;
    autobuf about = { 0 }, settings = { 0 }, schema = { 0 }, monitoring = { 0 }, checks = { 0 }, notes = { 0 };

    chart.is_chart = true;
    print_about(&about);
    print_values(&settings, in);
    print_schema(&schema);
    print_monitoring(&monitoring);
    buf_fmt(&checks, "%s", checks_text);
    buf_fmt(&notes, "%s", notes_text);
    if (install_write_file(at, "helm/Chart.yaml", &about, e) < 0 ||
        install_write_file(at, "helm/values.yaml", &settings, e) < 0 ||
        install_write_file(at, "helm/values.schema.json", &schema, e) < 0 ||
        install_write_file(at, "helm/templates/monitoring.yaml", &monitoring, e) < 0 ||
        install_write_file(at, "helm/templates/NOTES.txt", &notes, e) < 0 ||
        install_write_file(at, "helm/templates/checks.yaml", &checks, e) < 0)
        return -1;
    if (symlinkat("../crds", at, "helm/crds") < 0 && errno != EEXIST)
        return err_errno(e, "make helm/crds");
    return install_write_parts(at, "helm/templates", &chart, NULL, e);
}
