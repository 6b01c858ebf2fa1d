/* schema_container.c - the container of core/v1 and its parts */
#include "api/schema/schemas.h"

#include "api/fields.h"

/* clang-format off */

const char *const port_protocols[] = { "TCP", "UDP", "SCTP", NULL };

static const char *const url_schemes[] = { "HTTP", "HTTPS", NULL };

/* ---- references ---- */

SCHEMA(, schema_field_ref, "ObjectFieldSelector",
    F_STR("apiVersion"),
    F_STR("fieldPath", NEEDED));

SCHEMA(, schema_resource_ref, "ResourceFieldSelector",
    F_STR("containerName"),
    F_STR("resource", NEEDED),
    F_QUANTITY("divisor"));

SCHEMA(static, key_ref, "ConfigMapKeySelector",
    F_STR("name"),
    F_STR("key", NEEDED, .check = format_config_key),
    F_BOOL("optional"));

SCHEMA(static, file_key_ref, "FileKeySelector",
    F_STR("volumeName", NEEDED),
    F_STR("path", NEEDED),
    F_STR("key", NEEDED),
    F_BOOL("optional"));

SCHEMA(static, optional_ref, "ConfigMapEnvSource",
    F_STR("name"),
    F_BOOL("optional"));

/* ---- environment ---- */

SCHEMA(static, env_source, "EnvVarSource",
    F_OBJ("fieldRef", &schema_field_ref),
    F_OBJ("resourceFieldRef", &schema_resource_ref),
    F_OBJ("configMapKeyRef", &key_ref),
    F_OBJ("secretKeyRef", &key_ref),
    F_OBJ("fileKeyRef", &file_key_ref));

SCHEMA(static, env_var, "EnvVar",
    F_STR("name", NEEDED, .check = format_env),
    F_STR("value"),
    F_OBJ("valueFrom", &env_source));

SCHEMA(static, env_from, "EnvFromSource",
    F_STR("prefix", .check = format_env),
    F_OBJ("configMapRef", &optional_ref),
    F_OBJ("secretRef", &optional_ref));

/* ---- ports, resources, mounts ---- */

SCHEMA(static, container_port, "ContainerPort",
    F_STR("name", .check = format_port),
    F_INT("hostPort", RANGE(0, 65535)),
    F_INT("containerPort", REQUIRED, PORT_NUMBER),
    F_ENUM("protocol", port_protocols),
    F_STR("hostIP"));

SCHEMA(static, resource_claim, "ResourceClaim",
    F_STR("name", NEEDED),
    F_STR("request"));

SCHEMA(, schema_requirements, "ResourceRequirements",
    F_RESOURCES("limits"),
    F_RESOURCES("requests"),
    F_OBJS("claims", &resource_claim));

SCHEMA(static, resize_policy, "ContainerResizePolicy",
    F_STR("resourceName", NEEDED),
    F_STR("restartPolicy", REQUIRED, ONE_OF("NotRequired", "RestartContainer")));

SCHEMA(static, exit_codes, "ContainerRestartRuleOnExitCodes",
    F_STR("operator", REQUIRED, ONE_OF("In", "NotIn")),
    F_INTS("values"));

SCHEMA(static, restart_rule, "ContainerRestartRule",
    F_STR("action", REQUIRED, ONE_OF("Restart", "RestartAllContainers")),
    F_OBJ("exitCodes", &exit_codes));

SCHEMA(static, volume_mount, "VolumeMount",
    F_STR("name", NEEDED),
    F_BOOL("readOnly"),
    F_STR("recursiveReadOnly", ONE_OF("Disabled", "IfPossible", "Enabled")),
    F_STR("mountPath", NEEDED),
    F_STR("subPath"),
    F_STR("mountPropagation", ONE_OF("None", "HostToContainer", "Bidirectional")),
    F_STR("subPathExpr"));

SCHEMA(static, volume_device, "VolumeDevice",
    F_STR("name", NEEDED),
    F_STR("devicePath", NEEDED));

/* ---- probes and hooks ---- */

SCHEMA(static, exec_action, "ExecAction",
    F_STRS("command"));

SCHEMA(static, http_header, "HTTPHeader",
    F_STR("name", NEEDED),
    F_STR("value", REQUIRED));

SCHEMA(static, http_action, "HTTPGetAction",
    F_STR("path"),
    F_INT_OR_STR("port", REQUIRED, .check = format_port_ref),
    F_STR("host"),
    F_ENUM("scheme", url_schemes),
    F_OBJS("httpHeaders", &http_header));

SCHEMA(static, tcp_action, "TCPSocketAction",
    F_INT_OR_STR("port", REQUIRED, .check = format_port_ref),
    F_STR("host"));

SCHEMA(static, grpc_action, "GRPCAction",
    F_INT("port", REQUIRED, PORT_NUMBER),
    F_STR("service"));

SCHEMA(static, sleep_action, "SleepAction",
    F_LONG("seconds", REQUIRED, AT_LEAST(0)));

SCHEMA(static, probe, "Probe",
    F_OBJ("exec", &exec_action),
    F_OBJ("httpGet", &http_action),
    F_OBJ("tcpSocket", &tcp_action),
    F_OBJ("grpc", &grpc_action),
    F_INT("initialDelaySeconds", AT_LEAST(0)),
    F_INT("timeoutSeconds", AT_LEAST(0)),
    F_INT("periodSeconds", AT_LEAST(0)),
    F_INT("successThreshold", AT_LEAST(0)),
    F_INT("failureThreshold", AT_LEAST(0)),
    F_LONG("terminationGracePeriodSeconds", AT_LEAST(1)));

SCHEMA(static, hook, "LifecycleHandler",
    F_OBJ("exec", &exec_action),
    F_OBJ("httpGet", &http_action),
    F_OBJ("tcpSocket", &tcp_action),
    F_OBJ("sleep", &sleep_action));

SCHEMA(static, lifecycle, "Lifecycle",
    F_OBJ("postStart", &hook),
    F_OBJ("preStop", &hook),
    F_STR("stopSignal"));

/* ---- security ---- */

SCHEMA(static, capabilities, "Capabilities",
    F_STRS("add"),
    F_STRS("drop"));

SCHEMA(, schema_selinux, "SELinuxOptions",
    F_STR("user"),
    F_STR("role"),
    F_STR("type"),
    F_STR("level"));

SCHEMA(, schema_windows_security, "WindowsSecurityContextOptions",
    F_STR("gmsaCredentialSpecName"),
    F_STR("gmsaCredentialSpec"),
    F_STR("runAsUserName"),
    F_BOOL("hostProcess"));

SCHEMA(, schema_seccomp, "SeccompProfile",
    F_STR("type", REQUIRED, ONE_OF("Localhost", "RuntimeDefault", "Unconfined")),
    F_STR("localhostProfile"));

SCHEMA(static, security, "SecurityContext",
    F_OBJ("capabilities", &capabilities),
    F_BOOL("privileged"),
    F_OBJ("seLinuxOptions", &schema_selinux),
    F_OBJ("windowsOptions", &schema_windows_security),
    F_LONG("runAsUser", RANGE(0, INT32_MAX)),
    F_LONG("runAsGroup", RANGE(0, INT32_MAX)),
    F_BOOL("runAsNonRoot"),
    F_BOOL("readOnlyRootFilesystem"),
    F_BOOL("allowPrivilegeEscalation"),
    F_STR("procMount", ONE_OF("Default", "Unmasked")),
    F_OBJ("seccompProfile", &schema_seccomp),
    F_OBJ("appArmorProfile", &schema_seccomp));

/* ---- containers ---- */

/* An ephemeral container is a container and one field more. */
#define CONTAINER_FIELDS                                                                                               \
    F_STR("name", NEEDED, .check = format_label),                                                                      \
    F_STR("image"),                                                                                                    \
    F_STRS("command"),                                                                                                 \
    F_STRS("args"),                                                                                                    \
    F_STR("workingDir"),                                                                                               \
    F_OBJS("ports", &container_port, MERGED_BY("containerPort")),                                                      \
    F_OBJS("envFrom", &env_from),                                                                                      \
    F_OBJS("env", &env_var, MERGED_BY("name")),                                                                        \
    F_OBJ("resources", &schema_requirements),                                                                          \
    F_OBJS("resizePolicy", &resize_policy),                                                                            \
    F_STR("restartPolicy", ONE_OF("Always", "OnFailure", "Never")),                                                    \
    F_OBJS("restartPolicyRules", &restart_rule),                                                                       \
    F_OBJS("volumeMounts", &volume_mount, MERGED_BY("mountPath")),                                                     \
    F_OBJS("volumeDevices", &volume_device, MERGED_BY("devicePath")),                                                  \
    F_OBJ("livenessProbe", &probe),                                                                                    \
    F_OBJ("readinessProbe", &probe),                                                                                   \
    F_OBJ("startupProbe", &probe),                                                                                     \
    F_OBJ("lifecycle", &lifecycle),                                                                                    \
    F_STR("terminationMessagePath"),                                                                                   \
    F_STR("terminationMessagePolicy", ONE_OF("File", "FallbackToLogsOnError")),                                        \
    F_ENUM("imagePullPolicy", image_pull_policies),                                                                    \
    F_OBJ("securityContext", &security),                                                                               \
    F_BOOL("stdin"),                                                                                                   \
    F_BOOL("stdinOnce"),                                                                                               \
    F_BOOL("tty")

SCHEMA(, schema_container, "Container", CONTAINER_FIELDS);

SCHEMA(, schema_ephemeral_container, "EphemeralContainer", CONTAINER_FIELDS,
    F_STR("targetContainerName", .check = format_label));
