/* shapes_base.h - for tests made from the tables: an object of every kind that a server takes, and values that fit nowhere */
#ifndef API_TEST_SHAPES_BASE_H
#define API_TEST_SHAPES_BASE_H

#include "base/util.h"

#include <string.h>

#define SHAPES_POD_SPEC "{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}],\"restartPolicy\":\"Never\"}"
#define SHAPES_JOB_SPEC                                                                                                \
    "{\"minAvailable\":1,\"schedulerName\":\"volcano\",\"queue\":\"default\",\"tasks\":[{\"name\":\"w\","              \
    "\"replicas\":1,\"template\":{\"spec\":" SHAPES_POD_SPEC "}}]}"
#define SHAPES_RULES "[{\"apiGroups\":[\"\"],\"resources\":[\"pods\"],\"verbs\":[\"get\"]}]"
#define SHAPES_SUBJECTS                                                                                                \
    "[{\"kind\":\"User\",\"apiGroup\":\"rbac.authorization.k8s.io\",\"name\":\"bob\"}],\"roleRef\":{\"apiGroup\":"     \
    "\"rbac.authorization.k8s.io\",\"kind\":\"ClusterRole\",\"name\":\"x\"}"

/* What an object of a kind has besides apiVersion, kind and metadata, so that it is taken. Kinds that are not listed
 * need nothing. */
static const struct shapes_base {
    const char *kind, *body;
} shapes_bases[] = {
    { "Job", "{\"spec\":" SHAPES_JOB_SPEC "}" },
    { "CronJob", "{\"spec\":{\"schedule\":\"* * * * *\",\"jobTemplate\":{\"spec\":" SHAPES_JOB_SPEC "}}}" },
    { "Command", "{\"action\":\"AbortJob\",\"target\":{\"apiVersion\":\"batch.volcano.sh/"
                 "v1alpha1\",\"kind\":\"Job\",\"name\":\"x\",\"uid\":\"u\"}}" },
    { "PodGroup", "{\"spec\":{\"minMember\":1,\"queue\":\"default\"}}" },
    { "Queue", "{\"spec\":{\"weight\":1}}" },
    { "JobFlow", "{\"spec\":{\"flows\":[{\"name\":\"x\"}]}}" },
    { "JobTemplate", "{\"spec\":" SHAPES_JOB_SPEC "}" },
    { "HyperNode",
      "{\"spec\":{\"tier\":1,\"members\":[{\"type\":\"Node\",\"selector\":{\"exactMatch\":{\"name\":\"n\"}}}]}}" },
    { "Pod", "{\"spec\":" SHAPES_POD_SPEC "}" },
    { "Binding", "{\"target\":{\"name\":\"n\"}}" },
    { "ConfigMap", "{\"data\":{\"a\":\"b\"}}" },
    { "Secret", "{\"data\":{\"a\":\"Yg==\"}}" },
    { "Service", "{\"spec\":{\"ports\":[{\"port\":80}],\"selector\":{\"a\":\"b\"}}}" },
    { "Endpoints", "{\"subsets\":[{\"addresses\":[{\"ip\":\"10.9.9.9\"}],\"ports\":[{\"port\":80}]}]}" },
    { "Event", /* of both groups */
      "{\"involvedObject\":{\"namespace\":\"default\",\"name\":\"x\"},\"regarding\":{\"namespace\":\"default\","
      "\"name\":\"x\"}}" },
    { "Node", "{\"status\":{\"capacity\":{\"cpu\":\"4\",\"memory\":\"8Gi\",\"pods\":\"10\"}}}" },
    { "PersistentVolumeClaim",
      "{\"spec\":{\"accessModes\":[\"ReadWriteOnce\"],\"resources\":{\"requests\":{\"storage\":\"1Gi\"}}}}" },
    { "PersistentVolume", "{\"spec\":{\"accessModes\":[\"ReadWriteOnce\"],\"capacity\":{\"storage\":\"1Gi\"},"
                          "\"hostPath\":{\"path\":\"/x\"}}}" },
    { "ResourceQuota", "{\"spec\":{\"hard\":{\"pods\":\"100000\"}}}" },
    { "LimitRange", "{\"spec\":{\"limits\":[{\"type\":\"Container\",\"default\":{\"cpu\":\"1\"}}]}}" },
    { "Lease", "{\"spec\":{\"holderIdentity\":\"x\"}}" },
    { "NetworkPolicy", "{\"spec\":{\"podSelector\":{},\"ingress\":[{\"from\":[{\"podSelector\":{}}]}]}}" },
    { "PriorityClass", "{\"value\":1}" },
    { "RuntimeClass", "{\"handler\":\"pumice\"}" },
    { "PodDisruptionBudget", "{\"spec\":{\"minAvailable\":1,\"selector\":{\"matchLabels\":{\"a\":\"b\"}}}}" },
    { "EndpointSlice",
      "{\"addressType\":\"IPv4\",\"endpoints\":[{\"addresses\":[\"10.9.9.9\"]}],\"ports\":[{\"port\":80}]}" },
    { "StorageClass", "{\"provisioner\":\"x\"}" },
    { "CSINode", "{\"spec\":{\"drivers\":[]}}" },
    { "CustomResourceDefinition",
      "{\"spec\":{\"group\":\"shapes.test\",\"scope\":\"Namespaced\",\"names\":{\"plural\":\"things\",\"kind\":"
      "\"Thing\"},"
      "\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,\"subresources\":{\"status\":{},\"scale\":{"
      "\"specReplicasPath\":\".spec.replicas\",\"statusReplicasPath\":\".status.replicas\",\"labelSelectorPath\":"
      "\".status.selector\"}},\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\",\"properties\":{"
      "\"spec\":{\"type\":\"object\",\"properties\":{\"replicas\":{\"type\":\"integer\"},\"text\":{\"type\":\"string\"}"
      ","
      "\"flag\":{\"type\":\"boolean\"},\"items\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{"
      "\"name\":{\"type\":\"string\",\"default\":\"d\"}}}},\"map\":{\"type\":\"object\",\"additionalProperties\":{"
      "\"type\":"
      "\"string\"}}}},\"status\":{\"type\":\"object\",\"properties\":{\"replicas\":{\"type\":\"integer\"},\"selector\":"
      "{"
      "\"type\":\"string\"}}}}}}}]}}" },
    { "Thing", "{\"spec\":{\"replicas\":1,\"text\":\"t\",\"items\":[{}],\"map\":{\"a\":\"b\"}}}" },
    { "Role", "{\"rules\":" SHAPES_RULES "}" },
    { "ClusterRole", "{\"rules\":" SHAPES_RULES "}" },
    { "RoleBinding", "{\"subjects\":" SHAPES_SUBJECTS "}" },
    { "ClusterRoleBinding", "{\"subjects\":" SHAPES_SUBJECTS "}" },
};

static inline const char *shapes_base(const char *kind)
{
    for (size_t i = 0; i < ARRAY_LEN(shapes_bases); i++)
        if (strcmp(shapes_bases[i].kind, kind) == 0)
            return shapes_bases[i].body;
    return "{}";
}

#define SHAPES_LONG                                                                                                    \
    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"

/* What every field is given: one of them fits it at most, but for texts and numbers that no rule allows. */
static const char *const shapes_values[] = {
    "null",
    "true",
    "7",
    "-1",
    "0.5",
    "9223372036854775808",
    "1e400",
    "\"\"",
    "\"x\"",
    "\"7\"",
    "\"" SHAPES_LONG SHAPES_LONG SHAPES_LONG "\"",
    "[]",
    "[7]",
    "[null]",
    "[\"x\"]",
    "[[]]",
    "[{}]",
    "[{\"\":null}]",
    "[{\"name\":7}]",
    "{}",
    "{\"\":null}",
    "{\"x\":7}",
    "{\"x\":null}",
    "{\"x\":[]}",
    "{\"x\":{}}",
    "{\"name\":[],\"spec\":[[{}]]}",
};

#endif
