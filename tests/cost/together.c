/* together.c - objects in which several lists grow together, and refer to each other
 *
 * In a template << and >> stand around what is repeated n times, with commas between; '#' is the number of the item, '~'
 * that of the one before it.
 */
#include "cost.h"

#include "base/util.h"

#include <string.h>

#define META            "\"metadata\":{\"name\":\"NAME\""
#define POD_SPEC        "{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}"
#define TASK(more)      "{\"name\":\"t#\",\"replicas\":1" more ",\"template\":{\"spec\":" POD_SPEC "}}"
#define JOB(spec)       "{" META "},\"spec\":{" spec "}}"
#define POD(spec, more) "{" META "},\"spec\":{" spec "\"containers\":[{\"name\":\"c\",\"image\":\"i\"" more "}]}}"

const struct together togethers[] = {
    { "", "ConfigMap", "keys of data and binaryData",
      "{" META "},\"data\":{<<\"a#\":\"\">>},\"binaryData\":{<<\"b#\":\"\">>}}" },
    { "", "Secret", "keys of data and stringData",
      "{" META "},\"data\":{<<\"a#\":\"\">>},\"stringData\":{<<\"a#\":\"x\">>}}" },
    { "", "ConfigMap", "labels and annotations",
      "{" META ",\"labels\":{<<\"a#\":\"b\">>},\"annotations\":{<<\"a#\":\"b\">>}}}" },
    { "", "Service", "NodePorts",
      "{" META "},\"spec\":{\"type\":\"NodePort\",\"ports\":[<<{\"name\":\"p#\",\"port\":#}>>]}}" },
    { "", "Pod", "volumes and mounts",
      POD("\"volumes\":[<<{\"name\":\"v#\",\"emptyDir\":{}}>>],",
          ",\"volumeMounts\":[<<{\"name\":\"v#\",\"mountPath\":\"/m#\"}>>]") },
    { "", "Pod", "mounts below each other",
      POD("\"volumes\":[{\"name\":\"v\",\"emptyDir\":{}}],",
          ",\"volumeMounts\":[<<{\"name\":\"v\",\"mountPath\":\"/m/#\"}>>]") },
    { "", "Pod", "claims and their use",
      POD("\"resourceClaims\":[<<{\"name\":\"c#\",\"resourceClaimName\":\"c#\"}>>],",
          ",\"resources\":{\"claims\":[<<{\"name\":\"c#\"}>>]}") },
    { "", "Pod", "requests and limits",
      POD("", ",\"resources\":{\"requests\":{<<\"x.io/r#\":\"1\">>},\"limits\":{<<\"x.io/r#\":\"1\">>}}") },
    { "", "Pod", "containers, each with a resource",
      "{" META "},\"spec\":{\"containers\":[<<{\"name\":\"c#\",\"image\":\"i\",\"resources\":{\"limits\":{\"x.io/"
      "r#\":\"1\"}}}>>]}}" },
    { "", "Pod", "sidecars, each with a resource",
      POD("\"initContainers\":[<<{\"name\":\"s#\",\"image\":\"i\",\"restartPolicy\":\"Always\",\"resources\":{"
          "\"limits\":{\"x.io/r#\":"
          "\"1\"}}}>>],",
          "") },
    { "", "Pod", "containers and their ports",
      "{" META
      "},\"spec\":{\"containers\":[<<{\"name\":\"c#\",\"image\":\"i\",\"ports\":[{\"name\":\"p#\",\"containerPort\":#,"
      "\"hostPort\":#}]}>>]}}" },
    { "", "Pod", "variables that name the ones before",
      POD("", ",\"env\":[<<{\"name\":\"V#\",\"value\":\"$(V~)\"}>>]") },
    { "", "Pod", "labels and selectors of affinity",
      "{" META ",\"labels\":{<<\"a#\":\"b\">>}},\"spec\":{\"affinity\":{\"podAntiAffinity\":{"
      "\"requiredDuringSchedulingIgnoredDuringExecution\":[<<{\"topologyKey\":\"k#\",\"labelSelector\":{"
      "\"matchLabels\":{\"a#\":"
      "\"b\"}}}>>]}},\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}" },
    { "", "Pod", "labels and liked neighbours",
      "{" META ",\"labels\":{<<\"a#\":\"b\">>}},\"spec\":{\"affinity\":{\"podAffinity\":{"
      "\"preferredDuringSchedulingIgnoredDuringExecution\":[<<{\"weight\":1,\"podAffinityTerm\":{\"topologyKey\":\"k#"
      "\",\"labelSelector\":"
      "{\"matchLabels\":{\"a#\":\"b\"}}}}>>]}},\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}" },
    { "", "Pod", "spread constraints",
      "{" META ",\"labels\":{<<\"a#\":\"b\">>}},\"spec\":{\"topologySpreadConstraints\":[<<{\"maxSkew\":1,"
      "\"topologyKey\":\"k#\","
      "\"whenUnsatisfiable\":\"DoNotSchedule\",\"labelSelector\":{\"matchLabels\":{\"a#\":\"b\"}}}>>],\"containers\":[{"
      "\"name\":\"c\","
      "\"image\":\"i\"}]}}" },
    { "", "Pod", "tolerations and a node's selector",
      POD("\"nodeSelector\":{<<\"a#\":\"b\">>},\"tolerations\":[<<{\"key\":\"k#\",\"operator\":\"Exists\"}>>],", "") },
    { "", "Pod", "owners",
      "{" META
      ",\"ownerReferences\":[<<{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"name\":\"o#\",\"uid\":\"u#\"}>>]},"
      "\"spec\":" POD_SPEC "}" },
    { "batch.volcano.sh", "Job", "tasks in a chain",
      JOB("\"tasks\":[<<" TASK(
          ",\"dependsOn\":{\"name\":[\"t~\"]}") ">>,{\"name\":\"t0\",\"replicas\":1,\"template\":{\"spec\":" POD_SPEC
                                                "}}]") },
    { "batch.volcano.sh", "Job", "a task that depends on all",
      JOB("\"tasks\":[<<" TASK("") ">>,{\"name\":\"last\",\"replicas\":1,\"dependsOn\":{\"name\":[<<\"t#\">>]},"
                                   "\"template\":{\"spec\":" POD_SPEC "}}]") },
    { "batch.volcano.sh", "Job", "tasks with plugins",
      JOB("\"plugins\":{\"svc\":[],\"env\":[],\"ssh\":[]},\"tasks\":[<<" TASK("") ">>]") },
    { "batch.volcano.sh", "Job", "volumes of tasks",
      JOB("\"volumes\":[<<{\"mountPath\":\"/v#\",\"volumeClaimName\":\"c#\"}>>],\"tasks\":[" TASK("") "]") },
    { "batch.volcano.sh", "Job", "policies of job and task",
      JOB("\"policies\":[<<{\"action\":\"AbortJob\",\"exitCode\":#}>>],\"tasks\":[" TASK(
          ",\"policies\":[<<{\"action\":\"AbortJob\",\"exitCode\":#}>>]") "]") },
    { "batch.volcano.sh", "Job", "arguments of plugins",
      JOB("\"plugins\":{\"svc\":[<<\"--x#=1\">>]},\"tasks\":[" TASK("") "]") },
    { "flow.volcano.sh", "JobFlow", "flows in a chain",
      "{" META "},\"spec\":{\"jobRetainPolicy\":\"retain\",\"flows\":[{\"name\":\"f0\"},<<{\"name\":\"f#\","
      "\"dependsOn\":{\"targets\":[\"f~\"]}}>>]}}" },
    { "flow.volcano.sh", "JobFlow", "a flow that depends on all",
      "{" META "},\"spec\":{\"jobRetainPolicy\":\"retain\",\"flows\":[<<{\"name\":\"f#\"}>>,{\"name\":\"l\","
      "\"dependsOn\":{\"targets\":[<<\"f#\">>]}}]}}" },
    { "networking.k8s.io", "NetworkPolicy", "peers and ports",
      "{" META "},\"spec\":{\"podSelector\":{\"matchLabels\":{<<\"a#\":\"b\">>}},\"ingress\":[{\"from\":[<<{"
      "\"podSelector\":{\"matchLabels\":{\"a#\":"
      "\"b\"}}}>>],\"ports\":[<<{\"port\":#}>>]}]}}" },
    { "rbac.authorization.k8s.io", "ClusterRole", "rules of each other's resources",
      "{" META "},\"rules\":[<<{\"apiGroups\":[\"g#\"],\"resources\":[\"r#\"],\"verbs\":[\"get\",\"v#\"]}>>]}" },
    { "rbac.authorization.k8s.io", "Role", "one rule with everything",
      "{" META "},\"rules\":[{\"apiGroups\":[<<\"g#\">>],\"resources\":[<<\"r#\">>],\"resourceNames\":[<<\"n#\">>],"
      "\"verbs\":[<<\"v#\">>]}]}" },
    { "", "ResourceQuota", "hard", "{" META "},\"spec\":{\"hard\":{<<\"count/r#.x.io\":\"1\">>}}}" },
    { "", "LimitRange", "limits of everything",
      "{" META "},\"spec\":{\"limits\":[{\"type\":\"Container\",\"max\":{<<\"x.io/r#\":\"4\">>},\"min\":{<<\"x.io/"
      "r#\":\"1\">>},\"default\":{<<\"x.io/r#\":"
      "\"2\">>},\"defaultRequest\":{<<\"x.io/r#\":\"1\">>}}]}}" },
    { "scheduling.volcano.sh", "Queue", "amounts",
      "{" META "},\"spec\":{\"weight\":1,\"capability\":{<<\"x.io/r#\":\"4\">>},\"deserved\":{<<\"x.io/"
      "r#\":\"2\">>},\"guarantee\":{\"resource\":{<<\"x.io/r#\":"
      "\"1\">>}}}}" },
    { "topology.volcano.sh", "HyperNode", "members",
      "{" META "},\"spec\":{\"tier\":1,\"members\":[<<{\"type\":\"Node\",\"selector\":{\"exactMatch\":{\"name\":\"n#\"}"
      "}}>>]}}" },
    { "", "Namespace", "labels", "{" META ",\"labels\":{<<\"a#\":\"b\">>}}}" },
    { "", "Node", "labels, taints, images, amounts",
      "{" META ",\"labels\":{<<\"a#\":\"b\">>}},\"spec\":{\"taints\":[<<{\"key\":\"k#\",\"effect\":\"NoSchedule\"}>>]},"
      "\"status\":{\"images\":[<<{\"names\":"
      "[\"i#\"],\"sizeBytes\":1}>>],\"allocatable\":{<<\"x.io/r#\":\"1\">>}}}" },
    { "apiextensions.k8s.io", "CustomResourceDefinition", "properties and what is required",
      "{\"metadata\":{\"name\":\"NAME.x.io\"},\"spec\":{\"group\":\"x.io\",\"scope\":\"Namespaced\",\"names\":{"
      "\"plural\":\"NAME\",\"singular\":\"NAME\","
      "\"kind\":\"KNAME\",\"listKind\":\"KNAMEList\"},\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,"
      "\"schema\":{\"openAPIV3Schema\":{\"type\":"
      "\"object\",\"properties\":{\"spec\":{\"type\":\"object\",\"required\":[<<\"p#\">>],\"properties\":{<<\"p#\":{"
      "\"type\":\"string\",\"default\":\"x\"}>>}}}}}}]}}" },
    { "apiextensions.k8s.io", "CustomResourceDefinition", "versions",
      "{\"metadata\":{\"name\":\"NAME.x.io\"},\"spec\":{\"group\":\"x.io\",\"scope\":\"Namespaced\",\"names\":{"
      "\"plural\":\"NAME\",\"singular\":\"NAME\","
      "\"kind\":\"KNAME\",\"listKind\":\"KNAMEList\"},\"versions\":[{\"name\":\"v0\",\"served\":true,\"storage\":true,"
      "\"schema\":{\"openAPIV3Schema\":{\"type\":"
      "\"object\"}}},<<{\"name\":\"v#\",\"served\":true,\"storage\":false,\"schema\":{\"openAPIV3Schema\":{\"type\":"
      "\"object\"}}}>>]}}" },
};
const size_t n_togethers = ARRAY_LEN(togethers);

static void print_item(struct buf *out, struct str form, size_t i)
{
    for (size_t k = 0; k < form.n; k++)
        if (form.p[k] == '#')
            buf_fmt(out, "%zu", i);
        else if (form.p[k] == '~')
            buf_fmt(out, "%zu", i - 1);
        else
            buf_char(out, form.p[k]);
}

void together_print(struct buf *out, const struct together *t, struct str name, size_t n)
{
    for (const char *p = t->form; *p;) {
        const char *end = strncmp(p, "<<", 2) == 0 ? strstr(p, ">>") : NULL;

        if (end) {
            for (size_t i = 1; i <= n; i++) {
                print_item(out, (struct str){ p + 2, (size_t)(end - p) - 2 }, i);
                if (i < n)
                    buf_char(out, ',');
            }
            p = end + 2;
        } else if (strncmp(p, "NAME", 4) == 0) {
            buf_str(out, name);
            p += 4;
        } else {
            print_item(out, (struct str){ p++, 1 }, 1);
        }
    }
}
