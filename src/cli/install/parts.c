/* parts.c - the manifests of `pumice install`, but the roles */
#include "cli/install/install.h"

#include "crd/crd.h"
#include "api/types.h"
#include "base/util.h"
#include "yaml/yaml.h"

#define LABELS                                                                                                         \
    "  labels:\n"                                                                                                      \
    "    app.kubernetes.io/name: pumice\n"                                                                             \
    "    app.kubernetes.io/component: controller\n"

#define SELECTOR                                                                                                       \
    "      app.kubernetes.io/name: pumice\n"                                                                           \
    "      app.kubernetes.io/component: controller\n"

static const char namespace_text[] = "apiVersion: v1\n"
                                     "kind: Namespace\n"
                                     "metadata:\n"
                                     "  name: @namespace@\n"
                                     "  labels:\n"
                                     "    app.kubernetes.io/name: pumice\n"
                                     "    pod-security.kubernetes.io/enforce: restricted\n"
                                     "    pod-security.kubernetes.io/audit: restricted\n"
                                     "    pod-security.kubernetes.io/warn: restricted\n";

static const char controller_text[] = "apiVersion: v1\n"
                                      "kind: ServiceAccount\n"
                                      "metadata:\n"
                                      "  name: pumice-controller\n"
                                      "  namespace: @namespace@\n" LABELS "---\n"
                                      "apiVersion: apps/v1\n"
                                      "kind: Deployment\n"
                                      "metadata:\n"
                                      "  name: pumice-controller\n"
                                      "  namespace: @namespace@\n" LABELS "spec:\n"
                                      "  # One leads, the others wait for its lease.\n"
                                      "  replicas: @replicas@\n"
                                      "  selector:\n"
                                      "    matchLabels:\n" SELECTOR "  template:\n"
                                      "    metadata:\n"
                                      "      labels:\n"
                                      "        app.kubernetes.io/name: pumice\n"
                                      "        app.kubernetes.io/component: controller\n"
                                      "    spec:\n"
                                      "      serviceAccountName: pumice-controller\n"
                                      "@chart@\n"
                                      "      {{- with .Values.imagePullSecrets }}\n"
                                      "      imagePullSecrets:\n"
                                      "        {{- toYaml . | nindent 8 }}\n"
                                      "      {{- end }}\n"
                                      "      {{- with .Values.affinity }}\n"
                                      "      affinity:\n"
                                      "        {{- toYaml . | nindent 8 }}\n"
                                      "      {{- end }}\n"
                                      "      {{- with .Values.tolerations }}\n"
                                      "      tolerations:\n"
                                      "        {{- toYaml . | nindent 8 }}\n"
                                      "      {{- end }}\n"
                                      "@end chart@\n"
                                      "      priorityClassName: system-cluster-critical\n"
                                      "      nodeSelector:\n"
                                      "        kubernetes.io/os: linux\n"
                                      "@chart@\n"
                                      "        {{- with .Values.nodeSelector }}\n"
                                      "        {{- toYaml . | nindent 8 }}\n"
                                      "        {{- end }}\n"
                                      "@end chart@\n"
                                      "      topologySpreadConstraints:\n"
                                      "      - maxSkew: 1\n"
                                      "        topologyKey: kubernetes.io/hostname\n"
                                      "        whenUnsatisfiable: ScheduleAnyway\n"
                                      "        labelSelector:\n"
                                      "          matchLabels:\n"
                                      "            app.kubernetes.io/name: pumice\n"
                                      "            app.kubernetes.io/component: controller\n"
                                      "      securityContext:\n"
                                      "        runAsNonRoot: true\n"
                                      "        runAsUser: 65532\n"
                                      "        runAsGroup: 65532\n"
                                      "        seccompProfile:\n"
                                      "          type: RuntimeDefault\n"
                                      "      containers:\n"
                                      "      - name: controller\n"
                                      "        image: @image@\n"
                                      "        command:\n"
                                      "        - /pumice\n"
                                      "        - controller\n"
                                      "        - --listen-address=:8081\n"
                                      "@if scheduler@\n"
                                      "        - --scheduler\n"
                                      "        - --scheduler-config=" SCHEDULER_DIR "/" SCHEDULER_FILE "\n"
                                      "@end@\n"
                                      "@if native@\n"
                                      "        - --native-podgroups\n"
                                      "@end@\n"
                                      "@if webhook@\n"
                                      "        - --webhook\n"
                                      "@end@\n"
                                      "@chart@\n"
                                      "        {{- with .Values.logLevel }}\n"
                                      "        - --log-level={{ . }}\n"
                                      "        {{- end }}\n"
                                      "        {{- range .Values.extraArgs }}\n"
                                      "        - {{ . | quote }}\n"
                                      "        {{- end }}\n"
                                      "@end chart@\n"
                                      "        ports:\n"
                                      "        - name: http\n"
                                      "          containerPort: 8081\n"
                                      "@if webhook@\n"
                                      "        - name: webhook\n"
                                      "          containerPort: 8443\n"
                                      "@end@\n"
                                      "        startupProbe:\n"
                                      "          httpGet:\n"
                                      "            path: /livez\n"
                                      "            port: http\n"
                                      "          failureThreshold: 30\n"
                                      "          periodSeconds: 2\n"
                                      "        livenessProbe:\n"
                                      "          httpGet:\n"
                                      "            path: /livez\n"
                                      "            port: http\n"
                                      "        readinessProbe:\n"
                                      "          httpGet:\n"
                                      "            path: /readyz\n"
                                      "            port: http\n"
                                      "        resources:\n"
                                      "@plain@\n"
                                      "          requests:\n"
                                      "            cpu: 50m\n"
                                      "            memory: 32Mi\n"
                                      "          limits:\n"
                                      "            memory: 512Mi\n"
                                      "@end plain@\n"
                                      "@chart@\n"
                                      "          {{- toYaml .Values.resources | nindent 10 }}\n"
                                      "@end chart@\n"
                                      "        securityContext:\n"
                                      "          allowPrivilegeEscalation: false\n"
                                      "          readOnlyRootFilesystem: true\n"
                                      "          capabilities:\n"
                                      "            drop:\n"
                                      "            - ALL\n"
                                      "@if scheduler@\n"
                                      "        volumeMounts:\n"
                                      "        - name: scheduler-config\n"
                                      "          mountPath: " SCHEDULER_DIR "\n"
                                      "          readOnly: true\n"
                                      "      volumes:\n"
                                      "      - name: scheduler-config\n"
                                      "        configMap:\n"
                                      "          name: " SCHEDULER_MAP "\n"
                                      "@end@\n"
                                      "---\n"
                                      "apiVersion: policy/v1\n"
                                      "kind: PodDisruptionBudget\n"
                                      "metadata:\n"
                                      "  name: pumice-controller\n"
                                      "  namespace: @namespace@\n" LABELS "spec:\n"
                                      "  maxUnavailable: 1\n"
                                      "  selector:\n"
                                      "    matchLabels:\n" SELECTOR;

/* The program reads it again when it changes; the kubelet brings a change into the pod within a minute or so. */
static const char scheduler_text[] = "@if scheduler@\n"
                                     "apiVersion: v1\n"
                                     "kind: ConfigMap\n"
                                     "metadata:\n"
                                     "  name: " SCHEDULER_MAP "\n"
                                     "  namespace: @namespace@\n" LABELS "data:\n"
                                     "  " SCHEDULER_FILE ": |\n"
                                     "@config@\n"
                                     "@end@\n";

static const char network_text[] =
    "apiVersion: v1\n"
    "kind: Service\n"
    "metadata:\n"
    "  name: pumice-controller-metrics\n"
    "  namespace: @namespace@\n" LABELS "  annotations:\n"
    "    prometheus.io/scrape: \"true\"\n"
    "    prometheus.io/port: \"8081\"\n"
    "spec:\n"
    "  selector:\n"
    "    app.kubernetes.io/name: pumice\n"
    "    app.kubernetes.io/component: controller\n"
    "  ports:\n"
    "  - name: http\n"
    "    port: 8081\n"
    "    targetPort: http\n"
    "---\n"
    "# In: metrics and probes. Out: names, and the API server, whose address and port differ from cluster to cluster.\n"
    "apiVersion: networking.k8s.io/v1\n"
    "kind: NetworkPolicy\n"
    "metadata:\n"
    "  name: pumice-controller\n"
    "  namespace: @namespace@\n" LABELS "spec:\n"
    "  podSelector:\n"
    "    matchLabels:\n" SELECTOR "  policyTypes:\n"
    "  - Ingress\n"
    "  - Egress\n"
    "  ingress:\n"
    "  - ports:\n"
    "    - port: http\n"
    "      protocol: TCP\n"
    "@if webhook@\n"
    "    - port: webhook\n"
    "      protocol: TCP\n"
    "@end@\n"
    "  egress:\n"
    "  - ports:\n"
    "    - port: 53\n"
    "      protocol: UDP\n"
    "    - port: 53\n"
    "      protocol: TCP\n"
    "@plain@\n"
    "    - port: 443\n"
    "      protocol: TCP\n"
    "    - port: 6443\n"
    "      protocol: TCP\n"
    "    - port: 8443\n"
    "      protocol: TCP\n"
    "@end plain@\n"
    "@chart@\n"
    "    {{- range .Values.networkPolicy.apiServerPorts }}\n"
    "    - port: {{ . }}\n"
    "      protocol: TCP\n"
    "    {{- end }}\n"
    "@end chart@\n";

static void print_crds(struct buf *out)
{
    for (size_t i = 0; i < n_resource_types; i++) {
        autoarena a = { 0 };

        if (!crd_is_needed(&resource_types[i]))
            continue;
        if (out->n)
            buf_fmt(out, "---\n");
        yaml_print(out, crd_make(&a, &resource_types[i]), NULL);
    }
}

const struct install_part install_parts[] = {
    { "namespace", namespace_text, NULL, false },      { "crds", NULL, print_crds, false },
    { "roles", NULL, install_print_roles, false },     { "scheduler", scheduler_text, NULL, false },
    { "controller", controller_text, NULL, false },    { "network", network_text, NULL, false },
    { "webhook", NULL, install_print_webhook, false }, { "node", NULL, install_print_node_role, true },
};
const size_t n_install_parts = ARRAY_LEN(install_parts);

/* ---- marks ---- */

struct mark {
    const char *name, *helm;
};

static const struct mark marks[INSTALL_PARAMETER_MAX] = {
    [INSTALL_NAMESPACE] = { "namespace", "{{ .Release.Namespace }}" },
    [INSTALL_IMAGE] = { "image", "{{ .Values.image | quote }}" },
    [INSTALL_REPLICAS] = { "replicas", "{{ .Values.replicas }}" },
    [INSTALL_SCHEDULER] = { "scheduler", ".Values.scheduler" },
    [INSTALL_NATIVE] = { "native", ".Values.nativePodGroups" },
    [INSTALL_WEBHOOK] = { "webhook", ".Values.webhook.enabled" },
    [INSTALL_CONFIG] = { "config", "{{ .Values.schedulerConfig | trim | indent 4 }}" },
};

/* What stands between two '@'. INSTALL_PARAMETER_MAX: not one of ours. */
static enum install_parameter mark_by_name(struct str name)
{
    int i = 0;

    while (i < INSTALL_PARAMETER_MAX && !str_is(name, marks[i].name))
        i++;
    return (enum install_parameter)i;
}

static void print_line(struct buf *out, struct str line, const struct install *in)
{
    ptrdiff_t from, to;

    while ((from = str_find_char(line, '@')) >= 0) {
        struct str rest = str_from(line, (size_t)from + 1);
        enum install_parameter p;

        to = str_find_char(rest, '@');
        p = to < 0 ? INSTALL_PARAMETER_MAX : mark_by_name(str_sub(rest, 0, (size_t)to));
        buf_str(out, str_sub(line, 0, (size_t)from));
        if (p == INSTALL_PARAMETER_MAX) { /* only a '@' */
            buf_char(out, '@');
            line = rest;
            continue;
        }
        buf_fmt(out, "%s", in->is_chart ? marks[p].helm : in->value[p]);
        line = str_from(rest, (size_t)to + 1);
    }
    buf_str(out, line);
    buf_char(out, '\n');
}

static void parts_print_text(struct buf *out, struct str text, const struct install *in)
{
    bool is_left_out = false;
    struct str line;

    while (str_split(&text, '\n', &line)) {
        struct str flag = str_starts(line, STR("@if ")) ? str_sub(line, 4, line.n - 5) : STR_NULL; /* "@if NAME@" */

        if (str_is(line, "@chart@") || str_is(line, "@plain@")) {
            is_left_out = in->is_chart != str_is(line, "@chart@");
        } else if (str_is(line, "@end chart@") || str_is(line, "@end plain@")) {
            is_left_out = false;
        } else if (flag.n) {
            enum install_parameter p = mark_by_name(flag);

            is_left_out = !in->is_chart && !in->value[p][0];
            if (in->is_chart)
                buf_fmt(out, "{{- if %s }}\n", marks[p].helm);
        } else if (str_is(line, "@end@")) {
            is_left_out = false;
            if (in->is_chart)
                buf_fmt(out, "{{- end }}\n");
        } else if (!is_left_out && (line.n || text.n)) {
            print_line(out, line, in);
        }
    }
}

void install_print(struct buf *out, const struct install_part *part, const struct install *in)
{
    autobuf made = { 0 };

    if (part->print)
        part->print(&made);
    parts_print_text(out, part->text ? str_of(part->text) : buf_view(&made), in);
}
