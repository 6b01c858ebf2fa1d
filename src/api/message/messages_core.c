/* messages_core.c - written by tools/messages.py; see message.h for what a row says */
#include "api/message/message_rows.h"

/* clang-format off */

static const struct message_field msg_host_path_volume_source_fields[] = {
    ONE(1, "path", TEXT, FLAGS(ALWAYS)),
    ONE(2, "type", TEXT, FLAGS(POINTER)),
};
MESSAGE(msg_host_path_volume_source, "HostPathVolumeSource", false);

static const struct message_field msg_empty_dir_volume_source_fields[] = {
    ONE(1, "medium", TEXT),
    ONE(2, "sizeLimit", QUANTITY, FLAGS(POINTER)),
};
MESSAGE(msg_empty_dir_volume_source, "EmptyDirVolumeSource", false);

static const struct message_field msg_gce_persistent_disk_volume_source_fields[] = {
    ONE(1, "pdName", TEXT, FLAGS(ALWAYS)),
    ONE(2, "fsType", TEXT),
    ONE(3, "partition", INT32),
    ONE(4, "readOnly", BOOL),
};
MESSAGE(msg_gce_persistent_disk_volume_source, "GCEPersistentDiskVolumeSource", false);

static const struct message_field msg_aws_elastic_block_store_volume_source_fields[] = {
    ONE(1, "volumeID", TEXT, FLAGS(ALWAYS)),
    ONE(2, "fsType", TEXT),
    ONE(3, "partition", INT32),
    ONE(4, "readOnly", BOOL),
};
MESSAGE(msg_aws_elastic_block_store_volume_source, "AWSElasticBlockStoreVolumeSource", false);

static const struct message_field msg_git_repo_volume_source_fields[] = {
    ONE(1, "repository", TEXT, FLAGS(ALWAYS)),
    ONE(2, "revision", TEXT),
    ONE(3, "directory", TEXT),
};
MESSAGE(msg_git_repo_volume_source, "GitRepoVolumeSource", false);

static const struct message_field msg_key_to_path_fields[] = {
    ONE(1, "key", TEXT, FLAGS(ALWAYS)),
    ONE(2, "path", TEXT, FLAGS(ALWAYS)),
    ONE(3, "mode", INT32, FLAGS(POINTER)),
};
MESSAGE(msg_key_to_path, "KeyToPath", false);

static const struct message_field msg_secret_volume_source_fields[] = {
    ONE(1, "secretName", TEXT),
    LIST(2, "items", OF(msg_key_to_path)),
    ONE(3, "defaultMode", INT32, FLAGS(POINTER)),
    ONE(4, "optional", BOOL, FLAGS(POINTER)),
};
MESSAGE(msg_secret_volume_source, "SecretVolumeSource", false);

static const struct message_field msg_nfs_volume_source_fields[] = {
    ONE(1, "server", TEXT, FLAGS(ALWAYS)),
    ONE(2, "path", TEXT, FLAGS(ALWAYS)),
    ONE(3, "readOnly", BOOL),
};
MESSAGE(msg_nfs_volume_source, "NFSVolumeSource", false);

static const struct message_field msg_local_object_reference_fields[] = {
    ONE(1, "name", TEXT),
};
MESSAGE(msg_local_object_reference, "LocalObjectReference", true);

static const struct message_field msg_iscsi_volume_source_fields[] = {
    ONE(1, "targetPortal", TEXT, FLAGS(ALWAYS)),
    ONE(2, "iqn", TEXT, FLAGS(ALWAYS)),
    ONE(3, "lun", INT32, FLAGS(ALWAYS)),
    ONE(4, "iscsiInterface", TEXT),
    ONE(5, "fsType", TEXT),
    ONE(6, "readOnly", BOOL),
    LIST(7, "portals", TEXT),
    ONE(8, "chapAuthDiscovery", BOOL),
    ONE(10, "secretRef", OF(msg_local_object_reference), FLAGS(POINTER)),
    ONE(11, "chapAuthSession", BOOL),
    ONE(12, "initiatorName", TEXT, FLAGS(POINTER)),
};
MESSAGE(msg_iscsi_volume_source, "ISCSIVolumeSource", false);

static const struct message_field msg_glusterfs_volume_source_fields[] = {
    ONE(1, "endpoints", TEXT, FLAGS(ALWAYS)),
    ONE(2, "path", TEXT, FLAGS(ALWAYS)),
    ONE(3, "readOnly", BOOL),
};
MESSAGE(msg_glusterfs_volume_source, "GlusterfsVolumeSource", false);

static const struct message_field msg_persistent_volume_claim_volume_source_fields[] = {
    ONE(1, "claimName", TEXT, FLAGS(ALWAYS)),
    ONE(2, "readOnly", BOOL),
};
MESSAGE(msg_persistent_volume_claim_volume_source, "PersistentVolumeClaimVolumeSource", false);

static const struct message_field msg_rbd_volume_source_fields[] = {
    LIST(1, "monitors", TEXT, FLAGS(ALWAYS)),
    ONE(2, "image", TEXT, FLAGS(ALWAYS)),
    ONE(3, "fsType", TEXT),
    ONE(4, "pool", TEXT),
    ONE(5, "user", TEXT),
    ONE(6, "keyring", TEXT),
    ONE(7, "secretRef", OF(msg_local_object_reference), FLAGS(POINTER)),
    ONE(8, "readOnly", BOOL),
};
MESSAGE(msg_rbd_volume_source, "RBDVolumeSource", false);

static const struct message_field msg_flex_volume_source_fields[] = {
    ONE(1, "driver", TEXT, FLAGS(ALWAYS)),
    ONE(2, "fsType", TEXT),
    ONE(3, "secretRef", OF(msg_local_object_reference), FLAGS(POINTER)),
    ONE(4, "readOnly", BOOL),
    MAP(5, "options", TEXT),
};
MESSAGE(msg_flex_volume_source, "FlexVolumeSource", false);

static const struct message_field msg_cinder_volume_source_fields[] = {
    ONE(1, "volumeID", TEXT, FLAGS(ALWAYS)),
    ONE(2, "fsType", TEXT),
    ONE(3, "readOnly", BOOL),
    ONE(4, "secretRef", OF(msg_local_object_reference), FLAGS(POINTER)),
};
MESSAGE(msg_cinder_volume_source, "CinderVolumeSource", false);

static const struct message_field msg_ceph_fs_volume_source_fields[] = {
    LIST(1, "monitors", TEXT, FLAGS(ALWAYS)),
    ONE(2, "path", TEXT),
    ONE(3, "user", TEXT),
    ONE(4, "secretFile", TEXT),
    ONE(5, "secretRef", OF(msg_local_object_reference), FLAGS(POINTER)),
    ONE(6, "readOnly", BOOL),
};
MESSAGE(msg_ceph_fs_volume_source, "CephFSVolumeSource", false);

static const struct message_field msg_flocker_volume_source_fields[] = {
    ONE(1, "datasetName", TEXT),
    ONE(2, "datasetUUID", TEXT),
};
MESSAGE(msg_flocker_volume_source, "FlockerVolumeSource", false);

static const struct message_field msg_object_field_selector_fields[] = {
    ONE(1, "apiVersion", TEXT),
    ONE(2, "fieldPath", TEXT, FLAGS(ALWAYS)),
};
MESSAGE(msg_object_field_selector, "ObjectFieldSelector", true);

static const struct message_field msg_resource_field_selector_fields[] = {
    ONE(1, "containerName", TEXT),
    ONE(2, "resource", TEXT, FLAGS(ALWAYS)),
    ONE(3, "divisor", QUANTITY, FLAGS(ALWAYS)),
};
MESSAGE(msg_resource_field_selector, "ResourceFieldSelector", true);

static const struct message_field msg_downward_api_volume_file_fields[] = {
    ONE(1, "path", TEXT, FLAGS(ALWAYS)),
    ONE(2, "fieldRef", OF(msg_object_field_selector), FLAGS(POINTER)),
    ONE(3, "resourceFieldRef", OF(msg_resource_field_selector), FLAGS(POINTER)),
    ONE(4, "mode", INT32, FLAGS(POINTER)),
};
MESSAGE(msg_downward_api_volume_file, "DownwardAPIVolumeFile", false);

static const struct message_field msg_downward_api_volume_source_fields[] = {
    LIST(1, "items", OF(msg_downward_api_volume_file)),
    ONE(2, "defaultMode", INT32, FLAGS(POINTER)),
};
MESSAGE(msg_downward_api_volume_source, "DownwardAPIVolumeSource", false);

static const struct message_field msg_fc_volume_source_fields[] = {
    LIST(1, "targetWWNs", TEXT),
    ONE(2, "lun", INT32, FLAGS(POINTER)),
    ONE(3, "fsType", TEXT),
    ONE(4, "readOnly", BOOL),
    LIST(5, "wwids", TEXT),
};
MESSAGE(msg_fc_volume_source, "FCVolumeSource", false);

static const struct message_field msg_azure_file_volume_source_fields[] = {
    ONE(1, "secretName", TEXT, FLAGS(ALWAYS)),
    ONE(2, "shareName", TEXT, FLAGS(ALWAYS)),
    ONE(3, "readOnly", BOOL),
};
MESSAGE(msg_azure_file_volume_source, "AzureFileVolumeSource", false);

static const struct message_field msg_config_map_volume_source_fields[] = {
    ONE(1, NULL, OF(msg_local_object_reference)),
    LIST(2, "items", OF(msg_key_to_path)),
    ONE(3, "defaultMode", INT32, FLAGS(POINTER)),
    ONE(4, "optional", BOOL, FLAGS(POINTER)),
};
MESSAGE(msg_config_map_volume_source, "ConfigMapVolumeSource", false);

static const struct message_field msg_vsphere_virtual_disk_volume_source_fields[] = {
    ONE(1, "volumePath", TEXT, FLAGS(ALWAYS)),
    ONE(2, "fsType", TEXT),
    ONE(3, "storagePolicyName", TEXT),
    ONE(4, "storagePolicyID", TEXT),
};
MESSAGE(msg_vsphere_virtual_disk_volume_source, "VsphereVirtualDiskVolumeSource", false);

static const struct message_field msg_quobyte_volume_source_fields[] = {
    ONE(1, "registry", TEXT, FLAGS(ALWAYS)),
    ONE(2, "volume", TEXT, FLAGS(ALWAYS)),
    ONE(3, "readOnly", BOOL),
    ONE(4, "user", TEXT),
    ONE(5, "group", TEXT),
    ONE(6, "tenant", TEXT),
};
MESSAGE(msg_quobyte_volume_source, "QuobyteVolumeSource", false);

static const struct message_field msg_azure_disk_volume_source_fields[] = {
    ONE(1, "diskName", TEXT, FLAGS(ALWAYS)),
    ONE(2, "diskURI", TEXT, FLAGS(ALWAYS)),
    ONE(3, "cachingMode", TEXT, FLAGS(POINTER)),
    ONE(4, "fsType", TEXT, FLAGS(POINTER)),
    ONE(5, "readOnly", BOOL, FLAGS(POINTER)),
    ONE(6, "kind", TEXT, FLAGS(POINTER)),
};
MESSAGE(msg_azure_disk_volume_source, "AzureDiskVolumeSource", false);

static const struct message_field msg_photon_persistent_disk_volume_source_fields[] = {
    ONE(1, "pdID", TEXT, FLAGS(ALWAYS)),
    ONE(2, "fsType", TEXT),
};
MESSAGE(msg_photon_persistent_disk_volume_source, "PhotonPersistentDiskVolumeSource", false);

static const struct message_field msg_secret_projection_fields[] = {
    ONE(1, NULL, OF(msg_local_object_reference)),
    LIST(2, "items", OF(msg_key_to_path)),
    ONE(4, "optional", BOOL, FLAGS(POINTER)),
};
MESSAGE(msg_secret_projection, "SecretProjection", false);

static const struct message_field msg_downward_api_projection_fields[] = {
    LIST(1, "items", OF(msg_downward_api_volume_file)),
};
MESSAGE(msg_downward_api_projection, "DownwardAPIProjection", false);

static const struct message_field msg_config_map_projection_fields[] = {
    ONE(1, NULL, OF(msg_local_object_reference)),
    LIST(2, "items", OF(msg_key_to_path)),
    ONE(4, "optional", BOOL, FLAGS(POINTER)),
};
MESSAGE(msg_config_map_projection, "ConfigMapProjection", false);

static const struct message_field msg_service_account_token_projection_fields[] = {
    ONE(1, "audience", TEXT),
    ONE(2, "expirationSeconds", INT64, FLAGS(POINTER)),
    ONE(3, "path", TEXT, FLAGS(ALWAYS)),
};
MESSAGE(msg_service_account_token_projection, "ServiceAccountTokenProjection", false);

static const struct message_field msg_cluster_trust_bundle_projection_fields[] = {
    ONE(1, "name", TEXT, FLAGS(POINTER)),
    ONE(2, "signerName", TEXT, FLAGS(POINTER)),
    ONE(3, "labelSelector", OF(msg_meta_label_selector), FLAGS(POINTER)),
    ONE(4, "path", TEXT, FLAGS(ALWAYS)),
    ONE(5, "optional", BOOL, FLAGS(POINTER)),
};
MESSAGE(msg_cluster_trust_bundle_projection, "ClusterTrustBundleProjection", false);

static const struct message_field msg_pod_certificate_projection_fields[] = {
    ONE(1, "signerName", TEXT),
    ONE(2, "keyType", TEXT),
    ONE(3, "maxExpirationSeconds", INT32, FLAGS(POINTER)),
    ONE(4, "credentialBundlePath", TEXT),
    ONE(5, "keyPath", TEXT),
    ONE(6, "certificateChainPath", TEXT),
    MAP(7, "userAnnotations", TEXT),
};
MESSAGE(msg_pod_certificate_projection, "PodCertificateProjection", false);

static const struct message_field msg_volume_projection_fields[] = {
    ONE(1, "secret", OF(msg_secret_projection), FLAGS(POINTER)),
    ONE(2, "downwardAPI", OF(msg_downward_api_projection), FLAGS(POINTER)),
    ONE(3, "configMap", OF(msg_config_map_projection), FLAGS(POINTER)),
    ONE(4, "serviceAccountToken", OF(msg_service_account_token_projection), FLAGS(POINTER)),
    ONE(5, "clusterTrustBundle", OF(msg_cluster_trust_bundle_projection), FLAGS(POINTER)),
    ONE(6, "podCertificate", OF(msg_pod_certificate_projection), FLAGS(POINTER)),
};
MESSAGE(msg_volume_projection, "VolumeProjection", false);

static const struct message_field msg_projected_volume_source_fields[] = {
    LIST(1, "sources", OF(msg_volume_projection), FLAGS(ALWAYS)),
    ONE(2, "defaultMode", INT32, FLAGS(POINTER)),
};
MESSAGE(msg_projected_volume_source, "ProjectedVolumeSource", false);

static const struct message_field msg_portworx_volume_source_fields[] = {
    ONE(1, "volumeID", TEXT, FLAGS(ALWAYS)),
    ONE(2, "fsType", TEXT),
    ONE(3, "readOnly", BOOL),
};
MESSAGE(msg_portworx_volume_source, "PortworxVolumeSource", false);

static const struct message_field msg_scale_io_volume_source_fields[] = {
    ONE(1, "gateway", TEXT, FLAGS(ALWAYS)),
    ONE(2, "system", TEXT, FLAGS(ALWAYS)),
    ONE(3, "secretRef", OF(msg_local_object_reference), FLAGS(POINTER | ALWAYS)),
    ONE(4, "sslEnabled", BOOL),
    ONE(5, "protectionDomain", TEXT),
    ONE(6, "storagePool", TEXT),
    ONE(7, "storageMode", TEXT),
    ONE(8, "volumeName", TEXT),
    ONE(9, "fsType", TEXT),
    ONE(10, "readOnly", BOOL),
};
MESSAGE(msg_scale_io_volume_source, "ScaleIOVolumeSource", false);

static const struct message_field msg_storage_os_volume_source_fields[] = {
    ONE(1, "volumeName", TEXT),
    ONE(2, "volumeNamespace", TEXT),
    ONE(3, "fsType", TEXT),
    ONE(4, "readOnly", BOOL),
    ONE(5, "secretRef", OF(msg_local_object_reference), FLAGS(POINTER)),
};
MESSAGE(msg_storage_os_volume_source, "StorageOSVolumeSource", false);

static const struct message_field msg_csi_volume_source_fields[] = {
    ONE(1, "driver", TEXT, FLAGS(ALWAYS)),
    ONE(2, "readOnly", BOOL, FLAGS(POINTER)),
    ONE(3, "fsType", TEXT, FLAGS(POINTER)),
    MAP(4, "volumeAttributes", TEXT),
    ONE(5, "nodePublishSecretRef", OF(msg_local_object_reference), FLAGS(POINTER)),
};
MESSAGE(msg_csi_volume_source, "CSIVolumeSource", false);

static const struct message_field msg_volume_resource_requirements_fields[] = {
    MAP(1, "limits", QUANTITY),
    MAP(2, "requests", QUANTITY),
};
MESSAGE(msg_volume_resource_requirements, "VolumeResourceRequirements", false);

static const struct message_field msg_typed_local_object_reference_fields[] = {
    ONE(1, "apiGroup", TEXT, FLAGS(POINTER | ALWAYS)),
    ONE(2, "kind", TEXT, FLAGS(ALWAYS)),
    ONE(3, "name", TEXT, FLAGS(ALWAYS)),
};
MESSAGE(msg_typed_local_object_reference, "TypedLocalObjectReference", true);

static const struct message_field msg_typed_object_reference_fields[] = {
    ONE(1, "apiGroup", TEXT, FLAGS(POINTER | ALWAYS)),
    ONE(2, "kind", TEXT, FLAGS(ALWAYS)),
    ONE(3, "name", TEXT, FLAGS(ALWAYS)),
    ONE(4, "namespace", TEXT, FLAGS(POINTER)),
};
MESSAGE(msg_typed_object_reference, "TypedObjectReference", false);

static const struct message_field msg_persistent_volume_claim_spec_fields[] = {
    LIST(1, "accessModes", TEXT),
    ONE(2, "resources", OF(msg_volume_resource_requirements), FLAGS(ALWAYS)),
    ONE(3, "volumeName", TEXT),
    ONE(4, "selector", OF(msg_meta_label_selector), FLAGS(POINTER)),
    ONE(5, "storageClassName", TEXT, FLAGS(POINTER)),
    ONE(6, "volumeMode", TEXT, FLAGS(POINTER)),
    ONE(7, "dataSource", OF(msg_typed_local_object_reference), FLAGS(POINTER)),
    ONE(8, "dataSourceRef", OF(msg_typed_object_reference), FLAGS(POINTER)),
    ONE(9, "volumeAttributesClassName", TEXT, FLAGS(POINTER)),
};
MESSAGE(msg_persistent_volume_claim_spec, "PersistentVolumeClaimSpec", false);

static const struct message_field msg_persistent_volume_claim_template_fields[] = {
    ONE(1, "metadata", OF(msg_meta_object_meta), FLAGS(ALWAYS)),
    ONE(2, "spec", OF(msg_persistent_volume_claim_spec), FLAGS(ALWAYS)),
};
MESSAGE(msg_persistent_volume_claim_template, "PersistentVolumeClaimTemplate", false);

static const struct message_field msg_ephemeral_volume_source_fields[] = {
    ONE(1, "volumeClaimTemplate", OF(msg_persistent_volume_claim_template), FLAGS(POINTER)),
};
MESSAGE(msg_ephemeral_volume_source, "EphemeralVolumeSource", false);

static const struct message_field msg_image_volume_source_fields[] = {
    ONE(1, "reference", TEXT),
    ONE(2, "pullPolicy", TEXT),
};
MESSAGE(msg_image_volume_source, "ImageVolumeSource", false);

static const struct message_field msg_volume_source_fields[] = {
    ONE(1, "hostPath", OF(msg_host_path_volume_source), FLAGS(POINTER)),
    ONE(2, "emptyDir", OF(msg_empty_dir_volume_source), FLAGS(POINTER)),
    ONE(3, "gcePersistentDisk", OF(msg_gce_persistent_disk_volume_source), FLAGS(POINTER)),
    ONE(4, "awsElasticBlockStore", OF(msg_aws_elastic_block_store_volume_source), FLAGS(POINTER)),
    ONE(5, "gitRepo", OF(msg_git_repo_volume_source), FLAGS(POINTER)),
    ONE(6, "secret", OF(msg_secret_volume_source), FLAGS(POINTER)),
    ONE(7, "nfs", OF(msg_nfs_volume_source), FLAGS(POINTER)),
    ONE(8, "iscsi", OF(msg_iscsi_volume_source), FLAGS(POINTER)),
    ONE(9, "glusterfs", OF(msg_glusterfs_volume_source), FLAGS(POINTER)),
    ONE(10, "persistentVolumeClaim", OF(msg_persistent_volume_claim_volume_source), FLAGS(POINTER)),
    ONE(11, "rbd", OF(msg_rbd_volume_source), FLAGS(POINTER)),
    ONE(12, "flexVolume", OF(msg_flex_volume_source), FLAGS(POINTER)),
    ONE(13, "cinder", OF(msg_cinder_volume_source), FLAGS(POINTER)),
    ONE(14, "cephfs", OF(msg_ceph_fs_volume_source), FLAGS(POINTER)),
    ONE(15, "flocker", OF(msg_flocker_volume_source), FLAGS(POINTER)),
    ONE(16, "downwardAPI", OF(msg_downward_api_volume_source), FLAGS(POINTER)),
    ONE(17, "fc", OF(msg_fc_volume_source), FLAGS(POINTER)),
    ONE(18, "azureFile", OF(msg_azure_file_volume_source), FLAGS(POINTER)),
    ONE(19, "configMap", OF(msg_config_map_volume_source), FLAGS(POINTER)),
    ONE(20, "vsphereVolume", OF(msg_vsphere_virtual_disk_volume_source), FLAGS(POINTER)),
    ONE(21, "quobyte", OF(msg_quobyte_volume_source), FLAGS(POINTER)),
    ONE(22, "azureDisk", OF(msg_azure_disk_volume_source), FLAGS(POINTER)),
    ONE(23, "photonPersistentDisk", OF(msg_photon_persistent_disk_volume_source), FLAGS(POINTER)),
    ONE(24, "portworxVolume", OF(msg_portworx_volume_source), FLAGS(POINTER)),
    ONE(25, "scaleIO", OF(msg_scale_io_volume_source), FLAGS(POINTER)),
    ONE(26, "projected", OF(msg_projected_volume_source), FLAGS(POINTER)),
    ONE(27, "storageos", OF(msg_storage_os_volume_source), FLAGS(POINTER)),
    ONE(28, "csi", OF(msg_csi_volume_source), FLAGS(POINTER)),
    ONE(29, "ephemeral", OF(msg_ephemeral_volume_source), FLAGS(POINTER)),
    ONE(30, "image", OF(msg_image_volume_source), FLAGS(POINTER)),
};
MESSAGE(msg_volume_source, "VolumeSource", false);

static const struct message_field msg_volume_fields[] = {
    ONE(1, "name", TEXT, FLAGS(ALWAYS)),
    ONE(2, NULL, OF(msg_volume_source)),
};
MESSAGE(msg_volume, "Volume", false);

static const struct message_field msg_container_port_fields[] = {
    ONE(1, "name", TEXT),
    ONE(2, "hostPort", INT32),
    ONE(3, "containerPort", INT32, FLAGS(ALWAYS)),
    ONE(4, "protocol", TEXT),
    ONE(5, "hostIP", TEXT),
};
MESSAGE(msg_container_port, "ContainerPort", false);

static const struct message_field msg_config_map_env_source_fields[] = {
    ONE(1, NULL, OF(msg_local_object_reference)),
    ONE(2, "optional", BOOL, FLAGS(POINTER)),
};
MESSAGE(msg_config_map_env_source, "ConfigMapEnvSource", false);

static const struct message_field msg_secret_env_source_fields[] = {
    ONE(1, NULL, OF(msg_local_object_reference)),
    ONE(2, "optional", BOOL, FLAGS(POINTER)),
};
MESSAGE(msg_secret_env_source, "SecretEnvSource", false);

static const struct message_field msg_env_from_source_fields[] = {
    ONE(1, "prefix", TEXT),
    ONE(2, "configMapRef", OF(msg_config_map_env_source), FLAGS(POINTER)),
    ONE(3, "secretRef", OF(msg_secret_env_source), FLAGS(POINTER)),
};
MESSAGE(msg_env_from_source, "EnvFromSource", false);

static const struct message_field msg_config_map_key_selector_fields[] = {
    ONE(1, NULL, OF(msg_local_object_reference)),
    ONE(2, "key", TEXT, FLAGS(ALWAYS)),
    ONE(3, "optional", BOOL, FLAGS(POINTER)),
};
MESSAGE(msg_config_map_key_selector, "ConfigMapKeySelector", true);

static const struct message_field msg_secret_key_selector_fields[] = {
    ONE(1, NULL, OF(msg_local_object_reference)),
    ONE(2, "key", TEXT, FLAGS(ALWAYS)),
    ONE(3, "optional", BOOL, FLAGS(POINTER)),
};
MESSAGE(msg_secret_key_selector, "SecretKeySelector", true);

static const struct message_field msg_file_key_selector_fields[] = {
    ONE(1, "volumeName", TEXT, FLAGS(ALWAYS)),
    ONE(2, "path", TEXT, FLAGS(ALWAYS)),
    ONE(3, "key", TEXT, FLAGS(ALWAYS)),
    ONE(4, "optional", BOOL, FLAGS(POINTER)),
};
MESSAGE(msg_file_key_selector, "FileKeySelector", true);

static const struct message_field msg_env_var_source_fields[] = {
    ONE(1, "fieldRef", OF(msg_object_field_selector), FLAGS(POINTER)),
    ONE(2, "resourceFieldRef", OF(msg_resource_field_selector), FLAGS(POINTER)),
    ONE(3, "configMapKeyRef", OF(msg_config_map_key_selector), FLAGS(POINTER)),
    ONE(4, "secretKeyRef", OF(msg_secret_key_selector), FLAGS(POINTER)),
    ONE(5, "fileKeyRef", OF(msg_file_key_selector), FLAGS(POINTER)),
};
MESSAGE(msg_env_var_source, "EnvVarSource", false);

static const struct message_field msg_env_var_fields[] = {
    ONE(1, "name", TEXT, FLAGS(ALWAYS)),
    ONE(2, "value", TEXT),
    ONE(3, "valueFrom", OF(msg_env_var_source), FLAGS(POINTER)),
};
MESSAGE(msg_env_var, "EnvVar", false);

static const struct message_field msg_resource_claim_fields[] = {
    ONE(1, "name", TEXT, FLAGS(ALWAYS)),
    ONE(2, "request", TEXT),
};
MESSAGE(msg_resource_claim, "ResourceClaim", false);

static const struct message_field msg_resource_requirements_fields[] = {
    MAP(1, "limits", QUANTITY),
    MAP(2, "requests", QUANTITY),
    LIST(3, "claims", OF(msg_resource_claim), KEYS("name")),
};
MESSAGE(msg_resource_requirements, "ResourceRequirements", false);

static const struct message_field msg_container_resize_policy_fields[] = {
    ONE(1, "resourceName", TEXT, FLAGS(ALWAYS)),
    ONE(2, "restartPolicy", TEXT, FLAGS(ALWAYS)),
};
MESSAGE(msg_container_resize_policy, "ContainerResizePolicy", false);

static const struct message_field msg_container_restart_rule_on_exit_codes_fields[] = {
    ONE(1, "operator", TEXT),
    LIST(2, "values", INT32, KEYS("")),
};
MESSAGE(msg_container_restart_rule_on_exit_codes, "ContainerRestartRuleOnExitCodes", false);

static const struct message_field msg_container_restart_rule_fields[] = {
    ONE(1, "action", TEXT),
    ONE(2, "exitCodes", OF(msg_container_restart_rule_on_exit_codes), FLAGS(POINTER)),
};
MESSAGE(msg_container_restart_rule, "ContainerRestartRule", false);

static const struct message_field msg_volume_mount_fields[] = {
    ONE(1, "name", TEXT, FLAGS(ALWAYS)),
    ONE(2, "readOnly", BOOL),
    ONE(3, "mountPath", TEXT, FLAGS(ALWAYS)),
    ONE(4, "subPath", TEXT),
    ONE(5, "mountPropagation", TEXT, FLAGS(POINTER)),
    ONE(6, "subPathExpr", TEXT),
    ONE(7, "recursiveReadOnly", TEXT, FLAGS(POINTER)),
};
MESSAGE(msg_volume_mount, "VolumeMount", false);

static const struct message_field msg_volume_device_fields[] = {
    ONE(1, "name", TEXT, FLAGS(ALWAYS)),
    ONE(2, "devicePath", TEXT, FLAGS(ALWAYS)),
};
MESSAGE(msg_volume_device, "VolumeDevice", false);

static const struct message_field msg_exec_action_fields[] = {
    LIST(1, "command", TEXT),
};
MESSAGE(msg_exec_action, "ExecAction", false);

static const struct message_field msg_http_header_fields[] = {
    ONE(1, "name", TEXT, FLAGS(ALWAYS)),
    ONE(2, "value", TEXT, FLAGS(ALWAYS)),
};
MESSAGE(msg_http_header, "HTTPHeader", false);

static const struct message_field msg_http_get_action_fields[] = {
    ONE(1, "path", TEXT),
    ONE(2, "port", INT_OR_STR, FLAGS(ALWAYS)),
    ONE(3, "host", TEXT),
    ONE(4, "scheme", TEXT),
    LIST(5, "httpHeaders", OF(msg_http_header)),
};
MESSAGE(msg_http_get_action, "HTTPGetAction", false);

static const struct message_field msg_tcp_socket_action_fields[] = {
    ONE(1, "port", INT_OR_STR, FLAGS(ALWAYS)),
    ONE(2, "host", TEXT),
};
MESSAGE(msg_tcp_socket_action, "TCPSocketAction", false);

static const struct message_field msg_grpc_action_fields[] = {
    ONE(1, "port", INT32, FLAGS(ALWAYS)),
    ONE(2, "service", TEXT, FLAGS(POINTER | ALWAYS)),
};
MESSAGE(msg_grpc_action, "GRPCAction", false);

static const struct message_field msg_probe_handler_fields[] = {
    ONE(1, "exec", OF(msg_exec_action), FLAGS(POINTER)),
    ONE(2, "httpGet", OF(msg_http_get_action), FLAGS(POINTER)),
    ONE(3, "tcpSocket", OF(msg_tcp_socket_action), FLAGS(POINTER)),
    ONE(4, "grpc", OF(msg_grpc_action), FLAGS(POINTER)),
};
MESSAGE(msg_probe_handler, "ProbeHandler", false);

static const struct message_field msg_probe_fields[] = {
    ONE(1, NULL, OF(msg_probe_handler)),
    ONE(2, "initialDelaySeconds", INT32),
    ONE(3, "timeoutSeconds", INT32),
    ONE(4, "periodSeconds", INT32),
    ONE(5, "successThreshold", INT32),
    ONE(6, "failureThreshold", INT32),
    ONE(7, "terminationGracePeriodSeconds", INT64, FLAGS(POINTER)),
};
MESSAGE(msg_probe, "Probe", false);

static const struct message_field msg_sleep_action_fields[] = {
    ONE(1, "seconds", INT64, FLAGS(ALWAYS)),
};
MESSAGE(msg_sleep_action, "SleepAction", false);

static const struct message_field msg_lifecycle_handler_fields[] = {
    ONE(1, "exec", OF(msg_exec_action), FLAGS(POINTER)),
    ONE(2, "httpGet", OF(msg_http_get_action), FLAGS(POINTER)),
    ONE(3, "tcpSocket", OF(msg_tcp_socket_action), FLAGS(POINTER)),
    ONE(4, "sleep", OF(msg_sleep_action), FLAGS(POINTER)),
};
MESSAGE(msg_lifecycle_handler, "LifecycleHandler", false);

static const struct message_field msg_lifecycle_fields[] = {
    ONE(1, "postStart", OF(msg_lifecycle_handler), FLAGS(POINTER)),
    ONE(2, "preStop", OF(msg_lifecycle_handler), FLAGS(POINTER)),
    ONE(3, "stopSignal", TEXT, FLAGS(POINTER)),
};
MESSAGE(msg_lifecycle, "Lifecycle", false);

static const struct message_field msg_capabilities_fields[] = {
    LIST(1, "add", TEXT),
    LIST(2, "drop", TEXT),
};
MESSAGE(msg_capabilities, "Capabilities", false);

static const struct message_field msg_se_linux_options_fields[] = {
    ONE(1, "user", TEXT),
    ONE(2, "role", TEXT),
    ONE(3, "type", TEXT),
    ONE(4, "level", TEXT),
};
MESSAGE(msg_se_linux_options, "SELinuxOptions", false);

static const struct message_field msg_windows_security_context_options_fields[] = {
    ONE(1, "gmsaCredentialSpecName", TEXT, FLAGS(POINTER)),
    ONE(2, "gmsaCredentialSpec", TEXT, FLAGS(POINTER)),
    ONE(3, "runAsUserName", TEXT, FLAGS(POINTER)),
    ONE(4, "hostProcess", BOOL, FLAGS(POINTER)),
};
MESSAGE(msg_windows_security_context_options, "WindowsSecurityContextOptions", false);

static const struct message_field msg_seccomp_profile_fields[] = {
    ONE(1, "type", TEXT, FLAGS(ALWAYS)),
    ONE(2, "localhostProfile", TEXT, FLAGS(POINTER)),
};
MESSAGE(msg_seccomp_profile, "SeccompProfile", false);

static const struct message_field msg_app_armor_profile_fields[] = {
    ONE(1, "type", TEXT, FLAGS(ALWAYS)),
    ONE(2, "localhostProfile", TEXT, FLAGS(POINTER)),
};
MESSAGE(msg_app_armor_profile, "AppArmorProfile", false);

static const struct message_field msg_security_context_fields[] = {
    ONE(1, "capabilities", OF(msg_capabilities), FLAGS(POINTER)),
    ONE(2, "privileged", BOOL, FLAGS(POINTER)),
    ONE(3, "seLinuxOptions", OF(msg_se_linux_options), FLAGS(POINTER)),
    ONE(4, "runAsUser", INT64, FLAGS(POINTER)),
    ONE(5, "runAsNonRoot", BOOL, FLAGS(POINTER)),
    ONE(6, "readOnlyRootFilesystem", BOOL, FLAGS(POINTER)),
    ONE(7, "allowPrivilegeEscalation", BOOL, FLAGS(POINTER)),
    ONE(8, "runAsGroup", INT64, FLAGS(POINTER)),
    ONE(9, "procMount", TEXT, FLAGS(POINTER)),
    ONE(10, "windowsOptions", OF(msg_windows_security_context_options), FLAGS(POINTER)),
    ONE(11, "seccompProfile", OF(msg_seccomp_profile), FLAGS(POINTER)),
    ONE(12, "appArmorProfile", OF(msg_app_armor_profile), FLAGS(POINTER)),
};
MESSAGE(msg_security_context, "SecurityContext", false);

static const struct message_field msg_container_fields[] = {
    ONE(1, "name", TEXT, FLAGS(ALWAYS)),
    ONE(2, "image", TEXT),
    LIST(3, "command", TEXT),
    LIST(4, "args", TEXT),
    ONE(5, "workingDir", TEXT),
    LIST(6, "ports", OF(msg_container_port), KEYS("containerPort,protocol=TCP"), MERGED("containerPort")),
    LIST(7, "env", OF(msg_env_var), KEYS("name"), MERGED("name")),
    ONE(8, "resources", OF(msg_resource_requirements), FLAGS(ALWAYS)),
    LIST(9, "volumeMounts", OF(msg_volume_mount), KEYS("mountPath"), MERGED("mountPath")),
    ONE(10, "livenessProbe", OF(msg_probe), FLAGS(POINTER)),
    ONE(11, "readinessProbe", OF(msg_probe), FLAGS(POINTER)),
    ONE(12, "lifecycle", OF(msg_lifecycle), FLAGS(POINTER)),
    ONE(13, "terminationMessagePath", TEXT),
    ONE(14, "imagePullPolicy", TEXT),
    ONE(15, "securityContext", OF(msg_security_context), FLAGS(POINTER)),
    ONE(16, "stdin", BOOL),
    ONE(17, "stdinOnce", BOOL),
    ONE(18, "tty", BOOL),
    LIST(19, "envFrom", OF(msg_env_from_source)),
    ONE(20, "terminationMessagePolicy", TEXT),
    LIST(21, "volumeDevices", OF(msg_volume_device), KEYS("devicePath"), MERGED("devicePath")),
    ONE(22, "startupProbe", OF(msg_probe), FLAGS(POINTER)),
    LIST(23, "resizePolicy", OF(msg_container_resize_policy)),
    ONE(24, "restartPolicy", TEXT, FLAGS(POINTER)),
    LIST(25, "restartPolicyRules", OF(msg_container_restart_rule)),
};
MESSAGE(msg_container, "Container", false);

static const struct message_field msg_ephemeral_container_common_fields[] = {
    ONE(1, "name", TEXT, FLAGS(ALWAYS)),
    ONE(2, "image", TEXT),
    LIST(3, "command", TEXT),
    LIST(4, "args", TEXT),
    ONE(5, "workingDir", TEXT),
    LIST(6, "ports", OF(msg_container_port), KEYS("containerPort,protocol=TCP"), MERGED("containerPort")),
    LIST(7, "env", OF(msg_env_var), KEYS("name"), MERGED("name")),
    ONE(8, "resources", OF(msg_resource_requirements), FLAGS(ALWAYS)),
    LIST(9, "volumeMounts", OF(msg_volume_mount), KEYS("mountPath"), MERGED("mountPath")),
    ONE(10, "livenessProbe", OF(msg_probe), FLAGS(POINTER)),
    ONE(11, "readinessProbe", OF(msg_probe), FLAGS(POINTER)),
    ONE(12, "lifecycle", OF(msg_lifecycle), FLAGS(POINTER)),
    ONE(13, "terminationMessagePath", TEXT),
    ONE(14, "imagePullPolicy", TEXT),
    ONE(15, "securityContext", OF(msg_security_context), FLAGS(POINTER)),
    ONE(16, "stdin", BOOL),
    ONE(17, "stdinOnce", BOOL),
    ONE(18, "tty", BOOL),
    LIST(19, "envFrom", OF(msg_env_from_source)),
    ONE(20, "terminationMessagePolicy", TEXT),
    LIST(21, "volumeDevices", OF(msg_volume_device), KEYS("devicePath"), MERGED("devicePath")),
    ONE(22, "startupProbe", OF(msg_probe), FLAGS(POINTER)),
    LIST(23, "resizePolicy", OF(msg_container_resize_policy)),
    ONE(24, "restartPolicy", TEXT, FLAGS(POINTER)),
    LIST(25, "restartPolicyRules", OF(msg_container_restart_rule)),
};
MESSAGE(msg_ephemeral_container_common, "EphemeralContainerCommon", false);

static const struct message_field msg_ephemeral_container_fields[] = {
    ONE(1, NULL, OF(msg_ephemeral_container_common)),
    ONE(2, "targetContainerName", TEXT),
};
MESSAGE(msg_ephemeral_container, "EphemeralContainer", false);

static const struct message_field msg_sysctl_fields[] = {
    ONE(1, "name", TEXT, FLAGS(ALWAYS)),
    ONE(2, "value", TEXT, FLAGS(ALWAYS)),
};
MESSAGE(msg_sysctl, "Sysctl", false);

static const struct message_field msg_pod_security_context_fields[] = {
    ONE(1, "seLinuxOptions", OF(msg_se_linux_options), FLAGS(POINTER)),
    ONE(2, "runAsUser", INT64, FLAGS(POINTER)),
    ONE(3, "runAsNonRoot", BOOL, FLAGS(POINTER)),
    LIST(4, "supplementalGroups", INT64),
    ONE(5, "fsGroup", INT64, FLAGS(POINTER)),
    ONE(6, "runAsGroup", INT64, FLAGS(POINTER)),
    LIST(7, "sysctls", OF(msg_sysctl)),
    ONE(8, "windowsOptions", OF(msg_windows_security_context_options), FLAGS(POINTER)),
    ONE(9, "fsGroupChangePolicy", TEXT, FLAGS(POINTER)),
    ONE(10, "seccompProfile", OF(msg_seccomp_profile), FLAGS(POINTER)),
    ONE(11, "appArmorProfile", OF(msg_app_armor_profile), FLAGS(POINTER)),
    ONE(12, "supplementalGroupsPolicy", TEXT, FLAGS(POINTER)),
    ONE(13, "seLinuxChangePolicy", TEXT, FLAGS(POINTER)),
};
MESSAGE(msg_pod_security_context, "PodSecurityContext", false);

static const struct message_field msg_node_selector_requirement_fields[] = {
    ONE(1, "key", TEXT, FLAGS(ALWAYS)),
    ONE(2, "operator", TEXT, FLAGS(ALWAYS)),
    LIST(3, "values", TEXT),
};
MESSAGE(msg_node_selector_requirement, "NodeSelectorRequirement", false);

static const struct message_field msg_node_selector_term_fields[] = {
    LIST(1, "matchExpressions", OF(msg_node_selector_requirement)),
    LIST(2, "matchFields", OF(msg_node_selector_requirement)),
};
MESSAGE(msg_node_selector_term, "NodeSelectorTerm", true);

static const struct message_field msg_node_selector_fields[] = {
    LIST(1, "nodeSelectorTerms", OF(msg_node_selector_term), FLAGS(ALWAYS)),
};
MESSAGE(msg_node_selector, "NodeSelector", true);

static const struct message_field msg_preferred_scheduling_term_fields[] = {
    ONE(1, "weight", INT32, FLAGS(ALWAYS)),
    ONE(2, "preference", OF(msg_node_selector_term), FLAGS(ALWAYS)),
};
MESSAGE(msg_preferred_scheduling_term, "PreferredSchedulingTerm", false);

static const struct message_field msg_node_affinity_fields[] = {
    ONE(1, "requiredDuringSchedulingIgnoredDuringExecution", OF(msg_node_selector), FLAGS(POINTER)),
    LIST(2, "preferredDuringSchedulingIgnoredDuringExecution", OF(msg_preferred_scheduling_term)),
};
MESSAGE(msg_node_affinity, "NodeAffinity", false);

static const struct message_field msg_pod_affinity_term_fields[] = {
    ONE(1, "labelSelector", OF(msg_meta_label_selector), FLAGS(POINTER)),
    LIST(2, "namespaces", TEXT),
    ONE(3, "topologyKey", TEXT, FLAGS(ALWAYS)),
    ONE(4, "namespaceSelector", OF(msg_meta_label_selector), FLAGS(POINTER)),
    LIST(5, "matchLabelKeys", TEXT),
    LIST(6, "mismatchLabelKeys", TEXT),
};
MESSAGE(msg_pod_affinity_term, "PodAffinityTerm", false);

static const struct message_field msg_weighted_pod_affinity_term_fields[] = {
    ONE(1, "weight", INT32, FLAGS(ALWAYS)),
    ONE(2, "podAffinityTerm", OF(msg_pod_affinity_term), FLAGS(ALWAYS)),
};
MESSAGE(msg_weighted_pod_affinity_term, "WeightedPodAffinityTerm", false);

static const struct message_field msg_pod_affinity_fields[] = {
    LIST(1, "requiredDuringSchedulingIgnoredDuringExecution", OF(msg_pod_affinity_term)),
    LIST(2, "preferredDuringSchedulingIgnoredDuringExecution", OF(msg_weighted_pod_affinity_term)),
};
MESSAGE(msg_pod_affinity, "PodAffinity", false);

static const struct message_field msg_pod_anti_affinity_fields[] = {
    LIST(1, "requiredDuringSchedulingIgnoredDuringExecution", OF(msg_pod_affinity_term)),
    LIST(2, "preferredDuringSchedulingIgnoredDuringExecution", OF(msg_weighted_pod_affinity_term)),
};
MESSAGE(msg_pod_anti_affinity, "PodAntiAffinity", false);

static const struct message_field msg_affinity_fields[] = {
    ONE(1, "nodeAffinity", OF(msg_node_affinity), FLAGS(POINTER)),
    ONE(2, "podAffinity", OF(msg_pod_affinity), FLAGS(POINTER)),
    ONE(3, "podAntiAffinity", OF(msg_pod_anti_affinity), FLAGS(POINTER)),
};
MESSAGE(msg_affinity, "Affinity", false);

static const struct message_field msg_toleration_fields[] = {
    ONE(1, "key", TEXT),
    ONE(2, "operator", TEXT),
    ONE(3, "value", TEXT),
    ONE(4, "effect", TEXT),
    ONE(5, "tolerationSeconds", INT64, FLAGS(POINTER)),
};
MESSAGE(msg_toleration, "Toleration", false);

static const struct message_field msg_host_alias_fields[] = {
    ONE(1, "ip", TEXT, FLAGS(ALWAYS)),
    LIST(2, "hostnames", TEXT),
};
MESSAGE(msg_host_alias, "HostAlias", false);

static const struct message_field msg_pod_dns_config_option_fields[] = {
    ONE(1, "name", TEXT),
    ONE(2, "value", TEXT, FLAGS(POINTER)),
};
MESSAGE(msg_pod_dns_config_option, "PodDNSConfigOption", false);

static const struct message_field msg_pod_dns_config_fields[] = {
    LIST(1, "nameservers", TEXT),
    LIST(2, "searches", TEXT),
    LIST(3, "options", OF(msg_pod_dns_config_option)),
};
MESSAGE(msg_pod_dns_config, "PodDNSConfig", false);

static const struct message_field msg_pod_readiness_gate_fields[] = {
    ONE(1, "conditionType", TEXT, FLAGS(ALWAYS)),
};
MESSAGE(msg_pod_readiness_gate, "PodReadinessGate", false);

static const struct message_field msg_topology_spread_constraint_fields[] = {
    ONE(1, "maxSkew", INT32, FLAGS(ALWAYS)),
    ONE(2, "topologyKey", TEXT, FLAGS(ALWAYS)),
    ONE(3, "whenUnsatisfiable", TEXT, FLAGS(ALWAYS)),
    ONE(4, "labelSelector", OF(msg_meta_label_selector), FLAGS(POINTER)),
    ONE(5, "minDomains", INT32, FLAGS(POINTER)),
    ONE(6, "nodeAffinityPolicy", TEXT, FLAGS(POINTER)),
    ONE(7, "nodeTaintsPolicy", TEXT, FLAGS(POINTER)),
    LIST(8, "matchLabelKeys", TEXT),
};
MESSAGE(msg_topology_spread_constraint, "TopologySpreadConstraint", false);

static const struct message_field msg_pod_os_fields[] = {
    ONE(1, "name", TEXT, FLAGS(ALWAYS)),
};
MESSAGE(msg_pod_os, "PodOS", false);

static const struct message_field msg_pod_scheduling_gate_fields[] = {
    ONE(1, "name", TEXT, FLAGS(ALWAYS)),
};
MESSAGE(msg_pod_scheduling_gate, "PodSchedulingGate", false);

static const struct message_field msg_pod_resource_claim_fields[] = {
    ONE(1, "name", TEXT, FLAGS(ALWAYS)),
    ONE(3, "resourceClaimName", TEXT, FLAGS(POINTER)),
    ONE(4, "resourceClaimTemplateName", TEXT, FLAGS(POINTER)),
};
MESSAGE(msg_pod_resource_claim, "PodResourceClaim", false);

static const struct message_field msg_pod_scheduling_group_fields[] = {
    ONE(1, "podGroupName", TEXT, FLAGS(POINTER)),
};
MESSAGE(msg_pod_scheduling_group, "PodSchedulingGroup", false);

static const struct message_field msg_pod_spec_fields[] = {
    LIST(1, "volumes", OF(msg_volume), KEYS("name"), MERGED("name")),
    LIST(2, "containers", OF(msg_container), KEYS("name"), MERGED("name"), FLAGS(ALWAYS)),
    ONE(3, "restartPolicy", TEXT),
    ONE(4, "terminationGracePeriodSeconds", INT64, FLAGS(POINTER)),
    ONE(5, "activeDeadlineSeconds", INT64, FLAGS(POINTER)),
    ONE(6, "dnsPolicy", TEXT),
    MAP(7, "nodeSelector", TEXT, FLAGS(ATOMIC)),
    ONE(8, "serviceAccountName", TEXT),
    ONE(9, "serviceAccount", TEXT),
    ONE(10, "nodeName", TEXT),
    ONE(11, "hostNetwork", BOOL),
    ONE(12, "hostPID", BOOL),
    ONE(13, "hostIPC", BOOL),
    ONE(14, "securityContext", OF(msg_pod_security_context), FLAGS(POINTER)),
    LIST(15, "imagePullSecrets", OF(msg_local_object_reference), KEYS("name="), MERGED("name")),
    ONE(16, "hostname", TEXT),
    ONE(17, "subdomain", TEXT),
    ONE(18, "affinity", OF(msg_affinity), FLAGS(POINTER)),
    ONE(19, "schedulerName", TEXT),
    LIST(20, "initContainers", OF(msg_container), KEYS("name"), MERGED("name")),
    ONE(21, "automountServiceAccountToken", BOOL, FLAGS(POINTER)),
    LIST(22, "tolerations", OF(msg_toleration)),
    LIST(23, "hostAliases", OF(msg_host_alias), KEYS("ip"), MERGED("ip")),
    ONE(24, "priorityClassName", TEXT),
    ONE(25, "priority", INT32, FLAGS(POINTER)),
    ONE(26, "dnsConfig", OF(msg_pod_dns_config), FLAGS(POINTER)),
    ONE(27, "shareProcessNamespace", BOOL, FLAGS(POINTER)),
    LIST(28, "readinessGates", OF(msg_pod_readiness_gate)),
    ONE(29, "runtimeClassName", TEXT, FLAGS(POINTER)),
    ONE(30, "enableServiceLinks", BOOL, FLAGS(POINTER)),
    ONE(31, "preemptionPolicy", TEXT, FLAGS(POINTER)),
    MAP(32, "overhead", QUANTITY),
    LIST(33, "topologySpreadConstraints", OF(msg_topology_spread_constraint), KEYS("topologyKey,whenUnsatisfiable"), MERGED("topologyKey")),
    LIST(34, "ephemeralContainers", OF(msg_ephemeral_container), KEYS("name"), MERGED("name")),
    ONE(35, "setHostnameAsFQDN", BOOL, FLAGS(POINTER)),
    ONE(36, "os", OF(msg_pod_os), FLAGS(POINTER)),
    ONE(37, "hostUsers", BOOL, FLAGS(POINTER)),
    LIST(38, "schedulingGates", OF(msg_pod_scheduling_gate), KEYS("name"), MERGED("name")),
    LIST(39, "resourceClaims", OF(msg_pod_resource_claim), KEYS("name"), MERGED("name")),
    ONE(40, "resources", OF(msg_resource_requirements), FLAGS(POINTER)),
    ONE(41, "hostnameOverride", TEXT, FLAGS(POINTER)),
    ONE(43, "schedulingGroup", OF(msg_pod_scheduling_group), FLAGS(POINTER)),
};
MESSAGE(msg_pod_spec, "PodSpec", false);

static const struct message_field msg_pod_condition_fields[] = {
    ONE(1, "type", TEXT, FLAGS(ALWAYS)),
    ONE(2, "status", TEXT, FLAGS(ALWAYS)),
    ONE(3, "lastProbeTime", TIME, FLAGS(ALWAYS)),
    ONE(4, "lastTransitionTime", TIME, FLAGS(ALWAYS)),
    ONE(5, "reason", TEXT),
    ONE(6, "message", TEXT),
    ONE(7, "observedGeneration", INT64),
};
MESSAGE(msg_pod_condition, "PodCondition", false);

static const struct message_field msg_host_ip_fields[] = {
    ONE(1, "ip", TEXT, FLAGS(ALWAYS)),
};
MESSAGE(msg_host_ip, "HostIP", false);

static const struct message_field msg_pod_ip_fields[] = {
    ONE(1, "ip", TEXT, FLAGS(ALWAYS)),
};
MESSAGE(msg_pod_ip, "PodIP", false);

static const struct message_field msg_container_state_waiting_fields[] = {
    ONE(1, "reason", TEXT),
    ONE(2, "message", TEXT),
};
MESSAGE(msg_container_state_waiting, "ContainerStateWaiting", false);

static const struct message_field msg_container_state_running_fields[] = {
    ONE(1, "startedAt", TIME, FLAGS(ALWAYS)),
};
MESSAGE(msg_container_state_running, "ContainerStateRunning", false);

static const struct message_field msg_container_state_terminated_fields[] = {
    ONE(1, "exitCode", INT32, FLAGS(ALWAYS)),
    ONE(2, "signal", INT32),
    ONE(3, "reason", TEXT),
    ONE(4, "message", TEXT),
    ONE(5, "startedAt", TIME, FLAGS(ALWAYS)),
    ONE(6, "finishedAt", TIME, FLAGS(ALWAYS)),
    ONE(7, "containerID", TEXT),
};
MESSAGE(msg_container_state_terminated, "ContainerStateTerminated", false);

static const struct message_field msg_container_state_fields[] = {
    ONE(1, "waiting", OF(msg_container_state_waiting), FLAGS(POINTER)),
    ONE(2, "running", OF(msg_container_state_running), FLAGS(POINTER)),
    ONE(3, "terminated", OF(msg_container_state_terminated), FLAGS(POINTER)),
};
MESSAGE(msg_container_state, "ContainerState", false);

static const struct message_field msg_image_volume_status_fields[] = {
    ONE(1, "imageRef", TEXT),
};
MESSAGE(msg_image_volume_status, "ImageVolumeStatus", false);

static const struct message_field msg_volume_status_fields[] = {
    ONE(1, "image", OF(msg_image_volume_status), FLAGS(POINTER)),
};
MESSAGE(msg_volume_status, "VolumeStatus", false);

static const struct message_field msg_volume_mount_status_fields[] = {
    ONE(1, "name", TEXT, FLAGS(ALWAYS)),
    ONE(2, "mountPath", TEXT, FLAGS(ALWAYS)),
    ONE(3, "readOnly", BOOL),
    ONE(4, "recursiveReadOnly", TEXT, FLAGS(POINTER)),
    ONE(5, "volumeStatus", OF(msg_volume_status), FLAGS(POINTER)),
};
MESSAGE(msg_volume_mount_status, "VolumeMountStatus", false);

static const struct message_field msg_linux_container_user_fields[] = {
    ONE(1, "uid", INT64, FLAGS(ALWAYS)),
    ONE(2, "gid", INT64, FLAGS(ALWAYS)),
    LIST(3, "supplementalGroups", INT64),
};
MESSAGE(msg_linux_container_user, "LinuxContainerUser", false);

static const struct message_field msg_container_user_fields[] = {
    ONE(1, "linux", OF(msg_linux_container_user), FLAGS(POINTER)),
};
MESSAGE(msg_container_user, "ContainerUser", false);

static const struct message_field msg_resource_health_fields[] = {
    ONE(1, "resourceID", TEXT, FLAGS(ALWAYS)),
    ONE(2, "health", TEXT),
    ONE(6, "message", TEXT, FLAGS(POINTER)),
};
MESSAGE(msg_resource_health, "ResourceHealth", false);

static const struct message_field msg_resource_status_fields[] = {
    ONE(1, "name", TEXT, FLAGS(ALWAYS)),
    LIST(2, "resources", OF(msg_resource_health), KEYS("resourceID")),
};
MESSAGE(msg_resource_status, "ResourceStatus", false);

static const struct message_field msg_container_status_fields[] = {
    ONE(1, "name", TEXT, FLAGS(ALWAYS)),
    ONE(2, "state", OF(msg_container_state), FLAGS(ALWAYS)),
    ONE(3, "lastState", OF(msg_container_state), FLAGS(ALWAYS)),
    ONE(4, "ready", BOOL, FLAGS(ALWAYS)),
    ONE(5, "restartCount", INT32, FLAGS(ALWAYS)),
    ONE(6, "image", TEXT, FLAGS(ALWAYS)),
    ONE(7, "imageID", TEXT, FLAGS(ALWAYS)),
    ONE(8, "containerID", TEXT),
    ONE(9, "started", BOOL, FLAGS(POINTER)),
    MAP(10, "allocatedResources", QUANTITY),
    ONE(11, "resources", OF(msg_resource_requirements), FLAGS(POINTER)),
    LIST(12, "volumeMounts", OF(msg_volume_mount_status), KEYS("mountPath"), MERGED("mountPath")),
    ONE(13, "user", OF(msg_container_user), FLAGS(POINTER)),
    LIST(14, "allocatedResourcesStatus", OF(msg_resource_status), KEYS("name"), MERGED("name")),
    ONE(15, "stopSignal", TEXT, FLAGS(POINTER)),
};
MESSAGE(msg_container_status, "ContainerStatus", false);

static const struct message_field msg_pod_resource_claim_status_fields[] = {
    ONE(1, "name", TEXT, FLAGS(ALWAYS)),
    ONE(2, "resourceClaimName", TEXT, FLAGS(POINTER)),
};
MESSAGE(msg_pod_resource_claim_status, "PodResourceClaimStatus", false);

static const struct message_field msg_container_extended_resource_request_fields[] = {
    ONE(1, "containerName", TEXT, FLAGS(ALWAYS)),
    ONE(2, "resourceName", TEXT, FLAGS(ALWAYS)),
    ONE(3, "requestName", TEXT, FLAGS(ALWAYS)),
};
MESSAGE(msg_container_extended_resource_request, "ContainerExtendedResourceRequest", false);

static const struct message_field msg_pod_extended_resource_claim_status_fields[] = {
    LIST(1, "requestMappings", OF(msg_container_extended_resource_request), FLAGS(ALWAYS)),
    ONE(2, "resourceClaimName", TEXT, FLAGS(ALWAYS)),
};
MESSAGE(msg_pod_extended_resource_claim_status, "PodExtendedResourceClaimStatus", false);

static const struct message_field msg_node_allocatable_resource_claim_status_fields[] = {
    ONE(1, "resourceClaimName", TEXT, FLAGS(ALWAYS)),
    LIST(2, "containers", TEXT, KEYS("")),
    MAP(3, "resources", QUANTITY, FLAGS(ALWAYS)),
};
MESSAGE(msg_node_allocatable_resource_claim_status, "NodeAllocatableResourceClaimStatus", false);

static const struct message_field msg_pod_status_fields[] = {
    ONE(1, "phase", TEXT),
    LIST(2, "conditions", OF(msg_pod_condition), KEYS("type"), MERGED("type")),
    ONE(3, "message", TEXT),
    ONE(4, "reason", TEXT),
    ONE(5, "hostIP", TEXT),
    ONE(6, "podIP", TEXT),
    ONE(7, "startTime", TIME, FLAGS(POINTER)),
    LIST(8, "containerStatuses", OF(msg_container_status)),
    ONE(9, "qosClass", TEXT),
    LIST(10, "initContainerStatuses", OF(msg_container_status)),
    ONE(11, "nominatedNodeName", TEXT),
    LIST(12, "podIPs", OF(msg_pod_ip), KEYS("ip"), MERGED("ip")),
    LIST(13, "ephemeralContainerStatuses", OF(msg_container_status)),
    ONE(14, "resize", TEXT),
    LIST(15, "resourceClaimStatuses", OF(msg_pod_resource_claim_status), KEYS("name"), MERGED("name")),
    LIST(16, "hostIPs", OF(msg_host_ip), MERGED("ip")),
    ONE(17, "observedGeneration", INT64),
    ONE(18, "extendedResourceClaimStatus", OF(msg_pod_extended_resource_claim_status), FLAGS(POINTER)),
    MAP(19, "allocatedResources", QUANTITY),
    ONE(20, "resources", OF(msg_resource_requirements), FLAGS(POINTER)),
    LIST(21, "nodeAllocatableResourceClaimStatuses", OF(msg_node_allocatable_resource_claim_status)),
};
MESSAGE(msg_pod_status, "PodStatus", false);

static const struct message_field msg_pod_fields[] = {
    ONE(1, "metadata", OF(msg_meta_object_meta), FLAGS(ALWAYS)),
    ONE(2, "spec", OF(msg_pod_spec), FLAGS(ALWAYS)),
    ONE(3, "status", OF(msg_pod_status), FLAGS(ALWAYS)),
};
MESSAGE(msg_pod, "Pod", false);

static const struct message_field msg_pod_list_fields[] = {
    ONE(1, "metadata", OF(msg_meta_list_meta), FLAGS(ALWAYS)),
    LIST(2, "items", OF(msg_pod), FLAGS(ALWAYS)),
};
MESSAGE(msg_pod_list, "PodList", false);

static const struct message_field msg_service_port_fields[] = {
    ONE(1, "name", TEXT),
    ONE(2, "protocol", TEXT),
    ONE(3, "port", INT32, FLAGS(ALWAYS)),
    ONE(4, "targetPort", INT_OR_STR, FLAGS(ALWAYS)),
    ONE(5, "nodePort", INT32),
    ONE(6, "appProtocol", TEXT, FLAGS(POINTER)),
};
MESSAGE(msg_service_port, "ServicePort", false);

static const struct message_field msg_client_ip_config_fields[] = {
    ONE(1, "timeoutSeconds", INT32, FLAGS(POINTER)),
};
MESSAGE(msg_client_ip_config, "ClientIPConfig", false);

static const struct message_field msg_session_affinity_config_fields[] = {
    ONE(1, "clientIP", OF(msg_client_ip_config), FLAGS(POINTER)),
};
MESSAGE(msg_session_affinity_config, "SessionAffinityConfig", false);

static const struct message_field msg_service_spec_fields[] = {
    LIST(1, "ports", OF(msg_service_port), KEYS("port,protocol=TCP"), MERGED("port")),
    MAP(2, "selector", TEXT, FLAGS(ATOMIC)),
    ONE(3, "clusterIP", TEXT),
    ONE(4, "type", TEXT),
    LIST(5, "externalIPs", TEXT),
    ONE(7, "sessionAffinity", TEXT),
    ONE(8, "loadBalancerIP", TEXT),
    LIST(9, "loadBalancerSourceRanges", TEXT),
    ONE(10, "externalName", TEXT),
    ONE(11, "externalTrafficPolicy", TEXT),
    ONE(12, "healthCheckNodePort", INT32),
    ONE(13, "publishNotReadyAddresses", BOOL),
    ONE(14, "sessionAffinityConfig", OF(msg_session_affinity_config), FLAGS(POINTER)),
    ONE(17, "ipFamilyPolicy", TEXT, FLAGS(POINTER)),
    LIST(18, "clusterIPs", TEXT),
    LIST(19, "ipFamilies", TEXT),
    ONE(20, "allocateLoadBalancerNodePorts", BOOL, FLAGS(POINTER)),
    ONE(21, "loadBalancerClass", TEXT, FLAGS(POINTER)),
    ONE(22, "internalTrafficPolicy", TEXT, FLAGS(POINTER)),
    ONE(23, "trafficDistribution", TEXT, FLAGS(POINTER)),
};
MESSAGE(msg_service_spec, "ServiceSpec", false);

static const struct message_field msg_port_status_fields[] = {
    ONE(1, "port", INT32, FLAGS(ALWAYS)),
    ONE(2, "protocol", TEXT, FLAGS(ALWAYS)),
    ONE(3, "error", TEXT, FLAGS(POINTER)),
};
MESSAGE(msg_port_status, "PortStatus", false);

static const struct message_field msg_load_balancer_ingress_fields[] = {
    ONE(1, "ip", TEXT),
    ONE(2, "hostname", TEXT),
    ONE(3, "ipMode", TEXT, FLAGS(POINTER)),
    LIST(4, "ports", OF(msg_port_status)),
};
MESSAGE(msg_load_balancer_ingress, "LoadBalancerIngress", false);

static const struct message_field msg_load_balancer_status_fields[] = {
    LIST(1, "ingress", OF(msg_load_balancer_ingress)),
};
MESSAGE(msg_load_balancer_status, "LoadBalancerStatus", false);

static const struct message_field msg_service_status_fields[] = {
    ONE(1, "loadBalancer", OF(msg_load_balancer_status), FLAGS(ALWAYS)),
    LIST(2, "conditions", OF(msg_meta_condition), KEYS("type"), MERGED("type")),
};
MESSAGE(msg_service_status, "ServiceStatus", false);

static const struct message_field msg_service_fields[] = {
    ONE(1, "metadata", OF(msg_meta_object_meta), FLAGS(ALWAYS)),
    ONE(2, "spec", OF(msg_service_spec), FLAGS(ALWAYS)),
    ONE(3, "status", OF(msg_service_status), FLAGS(ALWAYS)),
};
MESSAGE(msg_service, "Service", false);

static const struct message_field msg_service_list_fields[] = {
    ONE(1, "metadata", OF(msg_meta_list_meta), FLAGS(ALWAYS)),
    LIST(2, "items", OF(msg_service), FLAGS(ALWAYS)),
};
MESSAGE(msg_service_list, "ServiceList", false);

static const struct message_field msg_config_map_fields[] = {
    ONE(1, "metadata", OF(msg_meta_object_meta), FLAGS(ALWAYS)),
    MAP(2, "data", TEXT),
    MAP(3, "binaryData", BYTES),
    ONE(4, "immutable", BOOL, FLAGS(POINTER)),
};
MESSAGE(msg_config_map, "ConfigMap", false);

static const struct message_field msg_config_map_list_fields[] = {
    ONE(1, "metadata", OF(msg_meta_list_meta), FLAGS(ALWAYS)),
    LIST(2, "items", OF(msg_config_map), FLAGS(ALWAYS)),
};
MESSAGE(msg_config_map_list, "ConfigMapList", false);

static const struct message_field msg_secret_fields[] = {
    ONE(1, "metadata", OF(msg_meta_object_meta), FLAGS(ALWAYS)),
    MAP(2, "data", BYTES),
    ONE(3, "type", TEXT),
    MAP(4, "stringData", TEXT),
    ONE(5, "immutable", BOOL, FLAGS(POINTER)),
};
MESSAGE(msg_secret, "Secret", false);

static const struct message_field msg_secret_list_fields[] = {
    ONE(1, "metadata", OF(msg_meta_list_meta), FLAGS(ALWAYS)),
    LIST(2, "items", OF(msg_secret), FLAGS(ALWAYS)),
};
MESSAGE(msg_secret_list, "SecretList", false);

static const struct message_field msg_namespace_spec_fields[] = {
    LIST(1, "finalizers", TEXT),
};
MESSAGE(msg_namespace_spec, "NamespaceSpec", false);

static const struct message_field msg_namespace_condition_fields[] = {
    ONE(1, "type", TEXT, FLAGS(ALWAYS)),
    ONE(2, "status", TEXT, FLAGS(ALWAYS)),
    ONE(4, "lastTransitionTime", TIME, FLAGS(ALWAYS)),
    ONE(5, "reason", TEXT),
    ONE(6, "message", TEXT),
};
MESSAGE(msg_namespace_condition, "NamespaceCondition", false);

static const struct message_field msg_namespace_status_fields[] = {
    ONE(1, "phase", TEXT),
    LIST(2, "conditions", OF(msg_namespace_condition), KEYS("type"), MERGED("type")),
};
MESSAGE(msg_namespace_status, "NamespaceStatus", false);

static const struct message_field msg_namespace_fields[] = {
    ONE(1, "metadata", OF(msg_meta_object_meta), FLAGS(ALWAYS)),
    ONE(2, "spec", OF(msg_namespace_spec), FLAGS(ALWAYS)),
    ONE(3, "status", OF(msg_namespace_status), FLAGS(ALWAYS)),
};
MESSAGE(msg_namespace, "Namespace", false);

static const struct message_field msg_namespace_list_fields[] = {
    ONE(1, "metadata", OF(msg_meta_list_meta), FLAGS(ALWAYS)),
    LIST(2, "items", OF(msg_namespace), FLAGS(ALWAYS)),
};
MESSAGE(msg_namespace_list, "NamespaceList", false);

static const struct message_field msg_taint_fields[] = {
    ONE(1, "key", TEXT, FLAGS(ALWAYS)),
    ONE(2, "value", TEXT),
    ONE(3, "effect", TEXT, FLAGS(ALWAYS)),
    ONE(4, "timeAdded", TIME, FLAGS(POINTER)),
};
MESSAGE(msg_taint, "Taint", false);

static const struct message_field msg_config_map_node_config_source_fields[] = {
    ONE(1, "namespace", TEXT, FLAGS(ALWAYS)),
    ONE(2, "name", TEXT, FLAGS(ALWAYS)),
    ONE(3, "uid", TEXT),
    ONE(4, "resourceVersion", TEXT),
    ONE(5, "kubeletConfigKey", TEXT, FLAGS(ALWAYS)),
};
MESSAGE(msg_config_map_node_config_source, "ConfigMapNodeConfigSource", false);

static const struct message_field msg_node_config_source_fields[] = {
    ONE(2, "configMap", OF(msg_config_map_node_config_source), FLAGS(POINTER)),
};
MESSAGE(msg_node_config_source, "NodeConfigSource", false);

static const struct message_field msg_node_spec_fields[] = {
    ONE(1, "podCIDR", TEXT),
    ONE(2, "externalID", TEXT),
    ONE(3, "providerID", TEXT),
    ONE(4, "unschedulable", BOOL),
    LIST(5, "taints", OF(msg_taint)),
    ONE(6, "configSource", OF(msg_node_config_source), FLAGS(POINTER)),
    LIST(7, "podCIDRs", TEXT, KEYS(""), MERGED("")),
};
MESSAGE(msg_node_spec, "NodeSpec", false);

static const struct message_field msg_node_condition_fields[] = {
    ONE(1, "type", TEXT, FLAGS(ALWAYS)),
    ONE(2, "status", TEXT, FLAGS(ALWAYS)),
    ONE(3, "lastHeartbeatTime", TIME, FLAGS(ALWAYS)),
    ONE(4, "lastTransitionTime", TIME, FLAGS(ALWAYS)),
    ONE(5, "reason", TEXT),
    ONE(6, "message", TEXT),
};
MESSAGE(msg_node_condition, "NodeCondition", false);

static const struct message_field msg_node_address_fields[] = {
    ONE(1, "type", TEXT, FLAGS(ALWAYS)),
    ONE(2, "address", TEXT, FLAGS(ALWAYS)),
};
MESSAGE(msg_node_address, "NodeAddress", false);

static const struct message_field msg_daemon_endpoint_fields[] = {
    ONE(1, "Port", INT32, FLAGS(ALWAYS)),
};
MESSAGE(msg_daemon_endpoint, "DaemonEndpoint", false);

static const struct message_field msg_node_daemon_endpoints_fields[] = {
    ONE(1, "kubeletEndpoint", OF(msg_daemon_endpoint), FLAGS(ALWAYS)),
};
MESSAGE(msg_node_daemon_endpoints, "NodeDaemonEndpoints", false);

static const struct message_field msg_node_swap_status_fields[] = {
    ONE(1, "capacity", INT64, FLAGS(POINTER)),
};
MESSAGE(msg_node_swap_status, "NodeSwapStatus", false);

static const struct message_field msg_node_system_info_fields[] = {
    ONE(1, "machineID", TEXT, FLAGS(ALWAYS)),
    ONE(2, "systemUUID", TEXT, FLAGS(ALWAYS)),
    ONE(3, "bootID", TEXT, FLAGS(ALWAYS)),
    ONE(4, "kernelVersion", TEXT, FLAGS(ALWAYS)),
    ONE(5, "osImage", TEXT, FLAGS(ALWAYS)),
    ONE(6, "containerRuntimeVersion", TEXT, FLAGS(ALWAYS)),
    ONE(7, "kubeletVersion", TEXT, FLAGS(ALWAYS)),
    ONE(8, "kubeProxyVersion", TEXT, FLAGS(ALWAYS)),
    ONE(9, "operatingSystem", TEXT, FLAGS(ALWAYS)),
    ONE(10, "architecture", TEXT, FLAGS(ALWAYS)),
    ONE(11, "swap", OF(msg_node_swap_status), FLAGS(POINTER)),
};
MESSAGE(msg_node_system_info, "NodeSystemInfo", false);

static const struct message_field msg_container_image_fields[] = {
    LIST(1, "names", TEXT, FLAGS(ALWAYS)),
    ONE(2, "sizeBytes", INT64),
};
MESSAGE(msg_container_image, "ContainerImage", false);

static const struct message_field msg_attached_volume_fields[] = {
    ONE(1, "name", TEXT, FLAGS(ALWAYS)),
    ONE(2, "devicePath", TEXT, FLAGS(ALWAYS)),
};
MESSAGE(msg_attached_volume, "AttachedVolume", false);

static const struct message_field msg_node_config_status_fields[] = {
    ONE(1, "assigned", OF(msg_node_config_source), FLAGS(POINTER)),
    ONE(2, "active", OF(msg_node_config_source), FLAGS(POINTER)),
    ONE(3, "lastKnownGood", OF(msg_node_config_source), FLAGS(POINTER)),
    ONE(4, "error", TEXT),
};
MESSAGE(msg_node_config_status, "NodeConfigStatus", false);

static const struct message_field msg_node_runtime_handler_features_fields[] = {
    ONE(1, "recursiveReadOnlyMounts", BOOL, FLAGS(POINTER)),
    ONE(2, "userNamespaces", BOOL, FLAGS(POINTER)),
};
MESSAGE(msg_node_runtime_handler_features, "NodeRuntimeHandlerFeatures", false);

static const struct message_field msg_node_runtime_handler_fields[] = {
    ONE(1, "name", TEXT, FLAGS(ALWAYS)),
    ONE(2, "features", OF(msg_node_runtime_handler_features), FLAGS(POINTER)),
};
MESSAGE(msg_node_runtime_handler, "NodeRuntimeHandler", false);

static const struct message_field msg_node_features_fields[] = {
    ONE(1, "supplementalGroupsPolicy", BOOL, FLAGS(POINTER)),
};
MESSAGE(msg_node_features, "NodeFeatures", false);

static const struct message_field msg_node_status_fields[] = {
    MAP(1, "capacity", QUANTITY),
    MAP(2, "allocatable", QUANTITY),
    ONE(3, "phase", TEXT),
    LIST(4, "conditions", OF(msg_node_condition), KEYS("type"), MERGED("type")),
    LIST(5, "addresses", OF(msg_node_address), KEYS("type"), MERGED("type")),
    ONE(6, "daemonEndpoints", OF(msg_node_daemon_endpoints), FLAGS(ALWAYS)),
    ONE(7, "nodeInfo", OF(msg_node_system_info), FLAGS(ALWAYS)),
    LIST(8, "images", OF(msg_container_image)),
    LIST(9, "volumesInUse", TEXT),
    LIST(10, "volumesAttached", OF(msg_attached_volume)),
    ONE(11, "config", OF(msg_node_config_status), FLAGS(POINTER)),
    LIST(12, "runtimeHandlers", OF(msg_node_runtime_handler)),
    ONE(13, "features", OF(msg_node_features), FLAGS(POINTER)),
    LIST(14, "declaredFeatures", TEXT),
};
MESSAGE(msg_node_status, "NodeStatus", false);

static const struct message_field msg_node_fields[] = {
    ONE(1, "metadata", OF(msg_meta_object_meta), FLAGS(ALWAYS)),
    ONE(2, "spec", OF(msg_node_spec), FLAGS(ALWAYS)),
    ONE(3, "status", OF(msg_node_status), FLAGS(ALWAYS)),
};
MESSAGE(msg_node, "Node", false);

static const struct message_field msg_node_list_fields[] = {
    ONE(1, "metadata", OF(msg_meta_list_meta), FLAGS(ALWAYS)),
    LIST(2, "items", OF(msg_node), FLAGS(ALWAYS)),
};
MESSAGE(msg_node_list, "NodeList", false);

static const struct message_field msg_object_reference_fields[] = {
    ONE(1, "kind", TEXT),
    ONE(2, "namespace", TEXT),
    ONE(3, "name", TEXT),
    ONE(4, "uid", TEXT),
    ONE(5, "apiVersion", TEXT),
    ONE(6, "resourceVersion", TEXT),
    ONE(7, "fieldPath", TEXT),
};
MESSAGE(msg_object_reference, "ObjectReference", true);

static const struct message_field msg_event_source_fields[] = {
    ONE(1, "component", TEXT),
    ONE(2, "host", TEXT),
};
MESSAGE(msg_event_source, "EventSource", false);

static const struct message_field msg_event_series_fields[] = {
    ONE(1, "count", INT32),
    ONE(2, "lastObservedTime", MICRO_TIME, FLAGS(ALWAYS)),
};
MESSAGE(msg_event_series, "EventSeries", false);

static const struct message_field msg_event_fields[] = {
    ONE(1, "metadata", OF(msg_meta_object_meta), FLAGS(ALWAYS)),
    ONE(2, "involvedObject", OF(msg_object_reference), FLAGS(ALWAYS)),
    ONE(3, "reason", TEXT),
    ONE(4, "message", TEXT),
    ONE(5, "source", OF(msg_event_source), FLAGS(ALWAYS)),
    ONE(6, "firstTimestamp", TIME, FLAGS(ALWAYS)),
    ONE(7, "lastTimestamp", TIME, FLAGS(ALWAYS)),
    ONE(8, "count", INT32),
    ONE(9, "type", TEXT),
    ONE(10, "eventTime", MICRO_TIME, FLAGS(ALWAYS)),
    ONE(11, "series", OF(msg_event_series), FLAGS(POINTER)),
    ONE(12, "action", TEXT),
    ONE(13, "related", OF(msg_object_reference), FLAGS(POINTER)),
    ONE(14, "reportingComponent", TEXT, FLAGS(ALWAYS)),
    ONE(15, "reportingInstance", TEXT, FLAGS(ALWAYS)),
};
MESSAGE(msg_event, "Event", false);

static const struct message_field msg_event_list_fields[] = {
    ONE(1, "metadata", OF(msg_meta_list_meta), FLAGS(ALWAYS)),
    LIST(2, "items", OF(msg_event), FLAGS(ALWAYS)),
};
MESSAGE(msg_event_list, "EventList", false);

static const struct message_field msg_glusterfs_persistent_volume_source_fields[] = {
    ONE(1, "endpoints", TEXT, FLAGS(ALWAYS)),
    ONE(2, "path", TEXT, FLAGS(ALWAYS)),
    ONE(3, "readOnly", BOOL),
    ONE(4, "endpointsNamespace", TEXT, FLAGS(POINTER)),
};
MESSAGE(msg_glusterfs_persistent_volume_source, "GlusterfsPersistentVolumeSource", false);

static const struct message_field msg_secret_reference_fields[] = {
    ONE(1, "name", TEXT),
    ONE(2, "namespace", TEXT),
};
MESSAGE(msg_secret_reference, "SecretReference", true);

static const struct message_field msg_rbd_persistent_volume_source_fields[] = {
    LIST(1, "monitors", TEXT, FLAGS(ALWAYS)),
    ONE(2, "image", TEXT, FLAGS(ALWAYS)),
    ONE(3, "fsType", TEXT),
    ONE(4, "pool", TEXT),
    ONE(5, "user", TEXT),
    ONE(6, "keyring", TEXT),
    ONE(7, "secretRef", OF(msg_secret_reference), FLAGS(POINTER)),
    ONE(8, "readOnly", BOOL),
};
MESSAGE(msg_rbd_persistent_volume_source, "RBDPersistentVolumeSource", false);

static const struct message_field msg_iscsi_persistent_volume_source_fields[] = {
    ONE(1, "targetPortal", TEXT, FLAGS(ALWAYS)),
    ONE(2, "iqn", TEXT, FLAGS(ALWAYS)),
    ONE(3, "lun", INT32, FLAGS(ALWAYS)),
    ONE(4, "iscsiInterface", TEXT),
    ONE(5, "fsType", TEXT),
    ONE(6, "readOnly", BOOL),
    LIST(7, "portals", TEXT),
    ONE(8, "chapAuthDiscovery", BOOL),
    ONE(10, "secretRef", OF(msg_secret_reference), FLAGS(POINTER)),
    ONE(11, "chapAuthSession", BOOL),
    ONE(12, "initiatorName", TEXT, FLAGS(POINTER)),
};
MESSAGE(msg_iscsi_persistent_volume_source, "ISCSIPersistentVolumeSource", false);

static const struct message_field msg_cinder_persistent_volume_source_fields[] = {
    ONE(1, "volumeID", TEXT, FLAGS(ALWAYS)),
    ONE(2, "fsType", TEXT),
    ONE(3, "readOnly", BOOL),
    ONE(4, "secretRef", OF(msg_secret_reference), FLAGS(POINTER)),
};
MESSAGE(msg_cinder_persistent_volume_source, "CinderPersistentVolumeSource", false);

static const struct message_field msg_ceph_fs_persistent_volume_source_fields[] = {
    LIST(1, "monitors", TEXT, FLAGS(ALWAYS)),
    ONE(2, "path", TEXT),
    ONE(3, "user", TEXT),
    ONE(4, "secretFile", TEXT),
    ONE(5, "secretRef", OF(msg_secret_reference), FLAGS(POINTER)),
    ONE(6, "readOnly", BOOL),
};
MESSAGE(msg_ceph_fs_persistent_volume_source, "CephFSPersistentVolumeSource", false);

static const struct message_field msg_flex_persistent_volume_source_fields[] = {
    ONE(1, "driver", TEXT, FLAGS(ALWAYS)),
    ONE(2, "fsType", TEXT),
    ONE(3, "secretRef", OF(msg_secret_reference), FLAGS(POINTER)),
    ONE(4, "readOnly", BOOL),
    MAP(5, "options", TEXT),
};
MESSAGE(msg_flex_persistent_volume_source, "FlexPersistentVolumeSource", false);

static const struct message_field msg_azure_file_persistent_volume_source_fields[] = {
    ONE(1, "secretName", TEXT, FLAGS(ALWAYS)),
    ONE(2, "shareName", TEXT, FLAGS(ALWAYS)),
    ONE(3, "readOnly", BOOL),
    ONE(4, "secretNamespace", TEXT, FLAGS(POINTER | ALWAYS)),
};
MESSAGE(msg_azure_file_persistent_volume_source, "AzureFilePersistentVolumeSource", false);

static const struct message_field msg_scale_io_persistent_volume_source_fields[] = {
    ONE(1, "gateway", TEXT, FLAGS(ALWAYS)),
    ONE(2, "system", TEXT, FLAGS(ALWAYS)),
    ONE(3, "secretRef", OF(msg_secret_reference), FLAGS(POINTER | ALWAYS)),
    ONE(4, "sslEnabled", BOOL),
    ONE(5, "protectionDomain", TEXT),
    ONE(6, "storagePool", TEXT),
    ONE(7, "storageMode", TEXT),
    ONE(8, "volumeName", TEXT),
    ONE(9, "fsType", TEXT),
    ONE(10, "readOnly", BOOL),
};
MESSAGE(msg_scale_io_persistent_volume_source, "ScaleIOPersistentVolumeSource", false);

static const struct message_field msg_local_volume_source_fields[] = {
    ONE(1, "path", TEXT, FLAGS(ALWAYS)),
    ONE(2, "fsType", TEXT, FLAGS(POINTER)),
};
MESSAGE(msg_local_volume_source, "LocalVolumeSource", false);

static const struct message_field msg_storage_os_persistent_volume_source_fields[] = {
    ONE(1, "volumeName", TEXT),
    ONE(2, "volumeNamespace", TEXT),
    ONE(3, "fsType", TEXT),
    ONE(4, "readOnly", BOOL),
    ONE(5, "secretRef", OF(msg_object_reference), FLAGS(POINTER)),
};
MESSAGE(msg_storage_os_persistent_volume_source, "StorageOSPersistentVolumeSource", false);

static const struct message_field msg_csi_persistent_volume_source_fields[] = {
    ONE(1, "driver", TEXT, FLAGS(ALWAYS)),
    ONE(2, "volumeHandle", TEXT, FLAGS(ALWAYS)),
    ONE(3, "readOnly", BOOL),
    ONE(4, "fsType", TEXT),
    MAP(5, "volumeAttributes", TEXT),
    ONE(6, "controllerPublishSecretRef", OF(msg_secret_reference), FLAGS(POINTER)),
    ONE(7, "nodeStageSecretRef", OF(msg_secret_reference), FLAGS(POINTER)),
    ONE(8, "nodePublishSecretRef", OF(msg_secret_reference), FLAGS(POINTER)),
    ONE(9, "controllerExpandSecretRef", OF(msg_secret_reference), FLAGS(POINTER)),
    ONE(10, "nodeExpandSecretRef", OF(msg_secret_reference), FLAGS(POINTER)),
};
MESSAGE(msg_csi_persistent_volume_source, "CSIPersistentVolumeSource", false);

static const struct message_field msg_persistent_volume_source_fields[] = {
    ONE(1, "gcePersistentDisk", OF(msg_gce_persistent_disk_volume_source), FLAGS(POINTER)),
    ONE(2, "awsElasticBlockStore", OF(msg_aws_elastic_block_store_volume_source), FLAGS(POINTER)),
    ONE(3, "hostPath", OF(msg_host_path_volume_source), FLAGS(POINTER)),
    ONE(4, "glusterfs", OF(msg_glusterfs_persistent_volume_source), FLAGS(POINTER)),
    ONE(5, "nfs", OF(msg_nfs_volume_source), FLAGS(POINTER)),
    ONE(6, "rbd", OF(msg_rbd_persistent_volume_source), FLAGS(POINTER)),
    ONE(7, "iscsi", OF(msg_iscsi_persistent_volume_source), FLAGS(POINTER)),
    ONE(8, "cinder", OF(msg_cinder_persistent_volume_source), FLAGS(POINTER)),
    ONE(9, "cephfs", OF(msg_ceph_fs_persistent_volume_source), FLAGS(POINTER)),
    ONE(10, "fc", OF(msg_fc_volume_source), FLAGS(POINTER)),
    ONE(11, "flocker", OF(msg_flocker_volume_source), FLAGS(POINTER)),
    ONE(12, "flexVolume", OF(msg_flex_persistent_volume_source), FLAGS(POINTER)),
    ONE(13, "azureFile", OF(msg_azure_file_persistent_volume_source), FLAGS(POINTER)),
    ONE(14, "vsphereVolume", OF(msg_vsphere_virtual_disk_volume_source), FLAGS(POINTER)),
    ONE(15, "quobyte", OF(msg_quobyte_volume_source), FLAGS(POINTER)),
    ONE(16, "azureDisk", OF(msg_azure_disk_volume_source), FLAGS(POINTER)),
    ONE(17, "photonPersistentDisk", OF(msg_photon_persistent_disk_volume_source), FLAGS(POINTER)),
    ONE(18, "portworxVolume", OF(msg_portworx_volume_source), FLAGS(POINTER)),
    ONE(19, "scaleIO", OF(msg_scale_io_persistent_volume_source), FLAGS(POINTER)),
    ONE(20, "local", OF(msg_local_volume_source), FLAGS(POINTER)),
    ONE(21, "storageos", OF(msg_storage_os_persistent_volume_source), FLAGS(POINTER)),
    ONE(22, "csi", OF(msg_csi_persistent_volume_source), FLAGS(POINTER)),
};
MESSAGE(msg_persistent_volume_source, "PersistentVolumeSource", false);

static const struct message_field msg_volume_node_affinity_fields[] = {
    ONE(1, "required", OF(msg_node_selector), FLAGS(POINTER)),
};
MESSAGE(msg_volume_node_affinity, "VolumeNodeAffinity", false);

static const struct message_field msg_persistent_volume_spec_fields[] = {
    MAP(1, "capacity", QUANTITY),
    ONE(2, NULL, OF(msg_persistent_volume_source)),
    LIST(3, "accessModes", TEXT),
    ONE(4, "claimRef", OF(msg_object_reference), FLAGS(POINTER)),
    ONE(5, "persistentVolumeReclaimPolicy", TEXT),
    ONE(6, "storageClassName", TEXT),
    LIST(7, "mountOptions", TEXT),
    ONE(8, "volumeMode", TEXT, FLAGS(POINTER)),
    ONE(9, "nodeAffinity", OF(msg_volume_node_affinity), FLAGS(POINTER)),
    ONE(10, "volumeAttributesClassName", TEXT, FLAGS(POINTER)),
};
MESSAGE(msg_persistent_volume_spec, "PersistentVolumeSpec", false);

static const struct message_field msg_persistent_volume_status_fields[] = {
    ONE(1, "phase", TEXT),
    ONE(2, "message", TEXT),
    ONE(3, "reason", TEXT),
    ONE(4, "lastPhaseTransitionTime", TIME, FLAGS(POINTER)),
};
MESSAGE(msg_persistent_volume_status, "PersistentVolumeStatus", false);

static const struct message_field msg_persistent_volume_fields[] = {
    ONE(1, "metadata", OF(msg_meta_object_meta), FLAGS(ALWAYS)),
    ONE(2, "spec", OF(msg_persistent_volume_spec), FLAGS(ALWAYS)),
    ONE(3, "status", OF(msg_persistent_volume_status), FLAGS(ALWAYS)),
};
MESSAGE(msg_persistent_volume, "PersistentVolume", false);

static const struct message_field msg_persistent_volume_list_fields[] = {
    ONE(1, "metadata", OF(msg_meta_list_meta), FLAGS(ALWAYS)),
    LIST(2, "items", OF(msg_persistent_volume), FLAGS(ALWAYS)),
};
MESSAGE(msg_persistent_volume_list, "PersistentVolumeList", false);

static const struct message_field msg_persistent_volume_claim_condition_fields[] = {
    ONE(1, "type", TEXT, FLAGS(ALWAYS)),
    ONE(2, "status", TEXT, FLAGS(ALWAYS)),
    ONE(3, "lastProbeTime", TIME, FLAGS(ALWAYS)),
    ONE(4, "lastTransitionTime", TIME, FLAGS(ALWAYS)),
    ONE(5, "reason", TEXT),
    ONE(6, "message", TEXT),
};
MESSAGE(msg_persistent_volume_claim_condition, "PersistentVolumeClaimCondition", false);

static const struct message_field msg_modify_volume_status_fields[] = {
    ONE(1, "targetVolumeAttributesClassName", TEXT),
    ONE(2, "status", TEXT, FLAGS(ALWAYS)),
};
MESSAGE(msg_modify_volume_status, "ModifyVolumeStatus", false);

static const struct message_field msg_persistent_volume_claim_status_fields[] = {
    ONE(1, "phase", TEXT),
    LIST(2, "accessModes", TEXT),
    MAP(3, "capacity", QUANTITY),
    LIST(4, "conditions", OF(msg_persistent_volume_claim_condition), KEYS("type"), MERGED("type")),
    MAP(5, "allocatedResources", QUANTITY),
    MAP(7, "allocatedResourceStatuses", TEXT),
    ONE(8, "currentVolumeAttributesClassName", TEXT, FLAGS(POINTER)),
    ONE(9, "modifyVolumeStatus", OF(msg_modify_volume_status), FLAGS(POINTER)),
};
MESSAGE(msg_persistent_volume_claim_status, "PersistentVolumeClaimStatus", false);

static const struct message_field msg_persistent_volume_claim_fields[] = {
    ONE(1, "metadata", OF(msg_meta_object_meta), FLAGS(ALWAYS)),
    ONE(2, "spec", OF(msg_persistent_volume_claim_spec), FLAGS(ALWAYS)),
    ONE(3, "status", OF(msg_persistent_volume_claim_status), FLAGS(ALWAYS)),
};
MESSAGE(msg_persistent_volume_claim, "PersistentVolumeClaim", false);

static const struct message_field msg_persistent_volume_claim_list_fields[] = {
    ONE(1, "metadata", OF(msg_meta_list_meta), FLAGS(ALWAYS)),
    LIST(2, "items", OF(msg_persistent_volume_claim), FLAGS(ALWAYS)),
};
MESSAGE(msg_persistent_volume_claim_list, "PersistentVolumeClaimList", false);

static const struct message_field msg_service_account_fields[] = {
    ONE(1, "metadata", OF(msg_meta_object_meta), FLAGS(ALWAYS)),
    LIST(2, "secrets", OF(msg_object_reference), KEYS("name"), MERGED("name")),
    LIST(3, "imagePullSecrets", OF(msg_local_object_reference)),
    ONE(4, "automountServiceAccountToken", BOOL, FLAGS(POINTER)),
};
MESSAGE(msg_service_account, "ServiceAccount", false);

static const struct message_field msg_service_account_list_fields[] = {
    ONE(1, "metadata", OF(msg_meta_list_meta), FLAGS(ALWAYS)),
    LIST(2, "items", OF(msg_service_account), FLAGS(ALWAYS)),
};
MESSAGE(msg_service_account_list, "ServiceAccountList", false);

static const struct message_field msg_scoped_resource_selector_requirement_fields[] = {
    ONE(1, "scopeName", TEXT, FLAGS(ALWAYS)),
    ONE(2, "operator", TEXT, FLAGS(ALWAYS)),
    LIST(3, "values", TEXT),
};
MESSAGE(msg_scoped_resource_selector_requirement, "ScopedResourceSelectorRequirement", false);

static const struct message_field msg_scope_selector_fields[] = {
    LIST(1, "matchExpressions", OF(msg_scoped_resource_selector_requirement)),
};
MESSAGE(msg_scope_selector, "ScopeSelector", true);

static const struct message_field msg_resource_quota_spec_fields[] = {
    MAP(1, "hard", QUANTITY),
    LIST(2, "scopes", TEXT),
    ONE(3, "scopeSelector", OF(msg_scope_selector), FLAGS(POINTER)),
};
MESSAGE(msg_resource_quota_spec, "ResourceQuotaSpec", false);

static const struct message_field msg_resource_quota_status_fields[] = {
    MAP(1, "hard", QUANTITY),
    MAP(2, "used", QUANTITY),
};
MESSAGE(msg_resource_quota_status, "ResourceQuotaStatus", false);

static const struct message_field msg_resource_quota_fields[] = {
    ONE(1, "metadata", OF(msg_meta_object_meta), FLAGS(ALWAYS)),
    ONE(2, "spec", OF(msg_resource_quota_spec), FLAGS(ALWAYS)),
    ONE(3, "status", OF(msg_resource_quota_status), FLAGS(ALWAYS)),
};
MESSAGE(msg_resource_quota, "ResourceQuota", false);

static const struct message_field msg_resource_quota_list_fields[] = {
    ONE(1, "metadata", OF(msg_meta_list_meta), FLAGS(ALWAYS)),
    LIST(2, "items", OF(msg_resource_quota), FLAGS(ALWAYS)),
};
MESSAGE(msg_resource_quota_list, "ResourceQuotaList", false);

static const struct message_field msg_endpoint_address_fields[] = {
    ONE(1, "ip", TEXT, FLAGS(ALWAYS)),
    ONE(2, "targetRef", OF(msg_object_reference), FLAGS(POINTER)),
    ONE(3, "hostname", TEXT),
    ONE(4, "nodeName", TEXT, FLAGS(POINTER)),
};
MESSAGE(msg_endpoint_address, "EndpointAddress", true);

static const struct message_field msg_endpoint_port_fields[] = {
    ONE(1, "name", TEXT),
    ONE(2, "port", INT32, FLAGS(ALWAYS)),
    ONE(3, "protocol", TEXT),
    ONE(4, "appProtocol", TEXT, FLAGS(POINTER)),
};
MESSAGE(msg_endpoint_port, "EndpointPort", true);

static const struct message_field msg_endpoint_subset_fields[] = {
    LIST(1, "addresses", OF(msg_endpoint_address)),
    LIST(2, "notReadyAddresses", OF(msg_endpoint_address)),
    LIST(3, "ports", OF(msg_endpoint_port)),
};
MESSAGE(msg_endpoint_subset, "EndpointSubset", false);

static const struct message_field msg_endpoints_fields[] = {
    ONE(1, "metadata", OF(msg_meta_object_meta), FLAGS(ALWAYS)),
    LIST(2, "subsets", OF(msg_endpoint_subset)),
};
MESSAGE(msg_endpoints, "Endpoints", false);

static const struct message_field msg_endpoints_list_fields[] = {
    ONE(1, "metadata", OF(msg_meta_list_meta), FLAGS(ALWAYS)),
    LIST(2, "items", OF(msg_endpoints), FLAGS(ALWAYS)),
};
MESSAGE(msg_endpoints_list, "EndpointsList", false);

static const struct message_field msg_binding_fields[] = {
    ONE(1, "metadata", OF(msg_meta_object_meta), FLAGS(ALWAYS)),
    ONE(2, "target", OF(msg_object_reference), FLAGS(ALWAYS)),
};
MESSAGE(msg_binding, "Binding", false);

static const struct message_field msg_limit_range_item_fields[] = {
    ONE(1, "type", TEXT, FLAGS(ALWAYS)),
    MAP(2, "max", QUANTITY),
    MAP(3, "min", QUANTITY),
    MAP(4, "default", QUANTITY),
    MAP(5, "defaultRequest", QUANTITY),
    MAP(6, "maxLimitRequestRatio", QUANTITY),
};
MESSAGE(msg_limit_range_item, "LimitRangeItem", false);

static const struct message_field msg_limit_range_spec_fields[] = {
    LIST(1, "limits", OF(msg_limit_range_item), FLAGS(ALWAYS)),
};
MESSAGE(msg_limit_range_spec, "LimitRangeSpec", false);

static const struct message_field msg_limit_range_fields[] = {
    ONE(1, "metadata", OF(msg_meta_object_meta), FLAGS(ALWAYS)),
    ONE(2, "spec", OF(msg_limit_range_spec), FLAGS(ALWAYS)),
};
MESSAGE(msg_limit_range, "LimitRange", false);

static const struct message_field msg_limit_range_list_fields[] = {
    ONE(1, "metadata", OF(msg_meta_list_meta), FLAGS(ALWAYS)),
    LIST(2, "items", OF(msg_limit_range), FLAGS(ALWAYS)),
};
MESSAGE(msg_limit_range_list, "LimitRangeList", false);

static const struct message_field msg_pod_template_spec_fields[] = {
    ONE(1, "metadata", OF(msg_meta_object_meta), FLAGS(ALWAYS)),
    ONE(2, "spec", OF(msg_pod_spec), FLAGS(ALWAYS)),
};
MESSAGE(msg_pod_template_spec, "PodTemplateSpec", false);

static const struct message_field msg_pod_template_fields[] = {
    ONE(1, "metadata", OF(msg_meta_object_meta), FLAGS(ALWAYS)),
    ONE(2, "template", OF(msg_pod_template_spec), FLAGS(ALWAYS)),
};
MESSAGE(msg_pod_template, "PodTemplate", false);

static const struct message_field msg_pod_template_list_fields[] = {
    ONE(1, "metadata", OF(msg_meta_list_meta), FLAGS(ALWAYS)),
    LIST(2, "items", OF(msg_pod_template), FLAGS(ALWAYS)),
};
MESSAGE(msg_pod_template_list, "PodTemplateList", false);

static const struct message_field msg_topology_selector_label_requirement_fields[] = {
    ONE(1, "key", TEXT, FLAGS(ALWAYS)),
    LIST(2, "values", TEXT, FLAGS(ALWAYS)),
};
MESSAGE(msg_topology_selector_label_requirement, "TopologySelectorLabelRequirement", false);

static const struct message_field msg_topology_selector_term_fields[] = {
    LIST(1, "matchLabelExpressions", OF(msg_topology_selector_label_requirement)),
};
MESSAGE(msg_topology_selector_term, "TopologySelectorTerm", true);
