/* schema_volume.c - volumes of core/v1: every source, and the claim */
#include "api/schema/schemas.h"

#include "api/fields.h"
#include "api/meta.h"

/* clang-format off */

#define FILE_MODE RANGE(0, 0777)

/* ---- made from objects of the cluster ---- */

SCHEMA(, schema_secret_ref, "SecretReference",
    F_STR("name"),
    F_STR("namespace"));

SCHEMA(, schema_key_to_path, "KeyToPath",
    F_STR("key", NEEDED),
    F_STR("path", NEEDED),
    F_INT("mode", FILE_MODE));

SCHEMA(static, config_map_source, "ConfigMapVolumeSource",
    F_STR("name"),
    F_OBJS("items", &schema_key_to_path),
    F_INT("defaultMode", FILE_MODE),
    F_BOOL("optional"));

SCHEMA(static, secret_source, "SecretVolumeSource",
    F_STR("secretName"),
    F_OBJS("items", &schema_key_to_path),
    F_INT("defaultMode", FILE_MODE),
    F_BOOL("optional"));

SCHEMA(static, downward_file, "DownwardAPIVolumeFile",
    F_STR("path", NEEDED),
    F_OBJ("fieldRef", &schema_field_ref),
    F_OBJ("resourceFieldRef", &schema_resource_ref),
    F_INT("mode", FILE_MODE));

SCHEMA(static, downward_source, "DownwardAPIVolumeSource",
    F_OBJS("items", &downward_file),
    F_INT("defaultMode", FILE_MODE));

SCHEMA(static, projected_keys, "ConfigMapProjection",
    F_STR("name"),
    F_OBJS("items", &schema_key_to_path),
    F_BOOL("optional"));

SCHEMA(static, projected_downward, "DownwardAPIProjection",
    F_OBJS("items", &downward_file));

SCHEMA(static, projected_token, "ServiceAccountTokenProjection",
    F_STR("audience"),
    F_LONG("expirationSeconds"),
    F_STR("path", NEEDED));

SCHEMA(static, projected_trust, "ClusterTrustBundleProjection",
    F_STR("name"),
    F_STR("signerName"),
    F_OBJ("labelSelector", &schema_label_selector),
    F_BOOL("optional"),
    F_STR("path", NEEDED));

SCHEMA(static, projected_certificate, "PodCertificateProjection",
    F_STR("signerName", NEEDED),
    F_STR("keyType", NEEDED),
    F_INT("maxExpirationSeconds"),
    F_STR("credentialBundlePath"),
    F_STR("keyPath"),
    F_STR("certificateChainPath"),
    F_STR_MAP("userAnnotations"));

SCHEMA(static, projection, "VolumeProjection",
    F_OBJ("secret", &projected_keys),
    F_OBJ("downwardAPI", &projected_downward),
    F_OBJ("configMap", &projected_keys),
    F_OBJ("serviceAccountToken", &projected_token),
    F_OBJ("clusterTrustBundle", &projected_trust),
    F_OBJ("podCertificate", &projected_certificate));

SCHEMA(static, projected_source, "ProjectedVolumeSource",
    F_OBJS("sources", &projection),
    F_INT("defaultMode", FILE_MODE));

/* ---- on the node ---- */

SCHEMA(static, empty_dir, "EmptyDirVolumeSource",
    F_STR("medium"),
    F_QUANTITY("sizeLimit"));

SCHEMA(static, host_path, "HostPathVolumeSource",
    F_STR("path", NEEDED),
    F_STR("type", ONE_OF("DirectoryOrCreate", "Directory", "FileOrCreate", "File", "Socket", "CharDevice",
                         "BlockDevice")));

SCHEMA(static, image_source, "ImageVolumeSource",
    F_STR("reference"),
    F_ENUM("pullPolicy", image_pull_policies));

SCHEMA(static, git_source, "GitRepoVolumeSource",
    F_STR("repository", NEEDED),
    F_STR("revision"),
    F_STR("directory"));

/* ---- claims ---- */

SCHEMA(static, typed_ref, "TypedObjectReference",
    F_STR("apiGroup"),
    F_STR("kind", NEEDED),
    F_STR("name", NEEDED),
    F_STR("namespace"));

SCHEMA(static, volume_resources, "VolumeResourceRequirements",
    F_RESOURCES("limits"),
    F_RESOURCES("requests"));

SCHEMA(, schema_pvc_spec, "PersistentVolumeClaimSpec",
    F_STRS("accessModes", ONE_OF("ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod")),
    F_OBJ("selector", &schema_label_selector),
    F_OBJ("resources", &volume_resources),
    F_STR("volumeName", .check = format_subdomain),
    F_STR("storageClassName", .check = format_subdomain),
    F_STR("volumeMode", ONE_OF("Filesystem", "Block")),
    F_OBJ("dataSource", &typed_ref),
    F_OBJ("dataSourceRef", &typed_ref),
    F_STR("volumeAttributesClassName"));

SCHEMA(static, claim_template, "PersistentVolumeClaimTemplate",
    F_OBJ("metadata", &schema_template_meta),
    F_OBJ("spec", &schema_pvc_spec, REQUIRED));

SCHEMA(static, ephemeral_source, "EphemeralVolumeSource",
    F_OBJ("volumeClaimTemplate", &claim_template));

SCHEMA(static, claim_source, "PersistentVolumeClaimVolumeSource",
    F_STR("claimName", NEEDED, .check = format_subdomain),
    F_BOOL("readOnly"));

/* ---- on the network ---- */

SCHEMA(static, csi_source, "CSIVolumeSource",
    F_STR("driver", NEEDED),
    F_BOOL("readOnly"),
    F_STR("fsType"),
    F_STR_MAP("volumeAttributes"),
    F_OBJ("nodePublishSecretRef", &schema_local_ref));

SCHEMA(static, nfs_source, "NFSVolumeSource",
    F_STR("server", NEEDED),
    F_STR("path", NEEDED),
    F_BOOL("readOnly"));

SCHEMA(static, iscsi_source, "ISCSIVolumeSource",
    F_STR("targetPortal", NEEDED),
    F_STR("iqn", NEEDED),
    F_INT("lun", REQUIRED, RANGE(0, 255)),
    F_STR("iscsiInterface"),
    F_STR("fsType"),
    F_BOOL("readOnly"),
    F_STRS("portals"),
    F_BOOL("chapAuthDiscovery"),
    F_BOOL("chapAuthSession"),
    F_OBJ("secretRef", &schema_local_ref),
    F_STR("initiatorName"));

SCHEMA(static, glusterfs_source, "GlusterfsVolumeSource",
    F_STR("endpoints", NEEDED),
    F_STR("path", NEEDED),
    F_BOOL("readOnly"));

SCHEMA(static, rbd_source, "RBDVolumeSource",
    F_STRS("monitors", NEEDED),
    F_STR("image", NEEDED),
    F_STR("fsType"),
    F_STR("pool"),
    F_STR("user"),
    F_STR("keyring"),
    F_OBJ("secretRef", &schema_local_ref),
    F_BOOL("readOnly"));

SCHEMA(static, cephfs_source, "CephFSVolumeSource",
    F_STRS("monitors", NEEDED),
    F_STR("path"),
    F_STR("user"),
    F_STR("secretFile"),
    F_OBJ("secretRef", &schema_local_ref),
    F_BOOL("readOnly"));

SCHEMA(static, cinder_source, "CinderVolumeSource",
    F_STR("volumeID", NEEDED),
    F_STR("fsType"),
    F_BOOL("readOnly"),
    F_OBJ("secretRef", &schema_local_ref));

SCHEMA(static, fc_source, "FCVolumeSource",
    F_STRS("targetWWNs"),
    F_INT("lun", RANGE(0, 255)),
    F_STR("fsType"),
    F_BOOL("readOnly"),
    F_STRS("wwids"));

SCHEMA(static, flex_source, "FlexVolumeSource",
    F_STR("driver", NEEDED),
    F_STR("fsType"),
    F_OBJ("secretRef", &schema_local_ref),
    F_BOOL("readOnly"),
    F_STR_MAP("options"));

SCHEMA(static, flocker_source, "FlockerVolumeSource",
    F_STR("datasetName"),
    F_STR("datasetUUID"));

SCHEMA(static, quobyte_source, "QuobyteVolumeSource",
    F_STR("registry", NEEDED),
    F_STR("volume", NEEDED),
    F_BOOL("readOnly"),
    F_STR("user"),
    F_STR("group"),
    F_STR("tenant"));

SCHEMA(static, scaleio_source, "ScaleIOVolumeSource",
    F_STR("gateway", NEEDED),
    F_STR("system", NEEDED),
    F_OBJ("secretRef", &schema_local_ref, REQUIRED),
    F_BOOL("sslEnabled"),
    F_STR("protectionDomain"),
    F_STR("storagePool"),
    F_STR("storageMode"),
    F_STR("volumeName"),
    F_STR("fsType"),
    F_BOOL("readOnly"));

SCHEMA(static, storageos_source, "StorageOSVolumeSource",
    F_STR("volumeName"),
    F_STR("volumeNamespace"),
    F_STR("fsType"),
    F_BOOL("readOnly"),
    F_OBJ("secretRef", &schema_local_ref));

SCHEMA(static, portworx_source, "PortworxVolumeSource",
    F_STR("volumeID", NEEDED),
    F_STR("fsType"),
    F_BOOL("readOnly"));

/* ---- clouds ---- */

SCHEMA(static, gce_source, "GCEPersistentDiskVolumeSource",
    F_STR("pdName", NEEDED),
    F_STR("fsType"),
    F_INT("partition", RANGE(0, 255)),
    F_BOOL("readOnly"));

SCHEMA(static, aws_source, "AWSElasticBlockStoreVolumeSource",
    F_STR("volumeID", NEEDED),
    F_STR("fsType"),
    F_INT("partition", RANGE(0, 255)),
    F_BOOL("readOnly"));

SCHEMA(static, azure_file_source, "AzureFileVolumeSource",
    F_STR("secretName", NEEDED),
    F_STR("shareName", NEEDED),
    F_BOOL("readOnly"));

SCHEMA(static, azure_disk_source, "AzureDiskVolumeSource",
    F_STR("diskName", NEEDED),
    F_STR("diskURI", NEEDED),
    F_STR("cachingMode", ONE_OF("None", "ReadOnly", "ReadWrite")),
    F_STR("fsType"),
    F_BOOL("readOnly"),
    F_STR("kind", ONE_OF("Shared", "Dedicated", "Managed")));

SCHEMA(static, vsphere_source, "VsphereVirtualDiskVolumeSource",
    F_STR("volumePath", NEEDED),
    F_STR("fsType"),
    F_STR("storagePolicyName"),
    F_STR("storagePolicyID"));

SCHEMA(static, photon_source, "PhotonPersistentDiskVolumeSource",
    F_STR("pdID", NEEDED),
    F_STR("fsType"));

/* ---- the volume ---- */

SCHEMA(, schema_volume, "Volume",
    F_STR("name", NEEDED, .check = format_label),
    F_OBJ("configMap", &config_map_source),
    F_OBJ("secret", &secret_source),
    F_OBJ("emptyDir", &empty_dir),
    F_OBJ("hostPath", &host_path),
    F_OBJ("persistentVolumeClaim", &claim_source),
    F_OBJ("projected", &projected_source),
    F_OBJ("downwardAPI", &downward_source),
    F_OBJ("ephemeral", &ephemeral_source),
    F_OBJ("csi", &csi_source),
    F_OBJ("image", &image_source),
    F_OBJ("nfs", &nfs_source),
    F_OBJ("iscsi", &iscsi_source),
    F_OBJ("fc", &fc_source),
    F_OBJ("flexVolume", &flex_source),
    F_OBJ("cephfs", &cephfs_source),
    F_OBJ("cinder", &cinder_source),
    F_OBJ("rbd", &rbd_source),
    F_OBJ("glusterfs", &glusterfs_source),
    F_OBJ("gitRepo", &git_source),
    F_OBJ("flocker", &flocker_source),
    F_OBJ("quobyte", &quobyte_source),
    F_OBJ("scaleIO", &scaleio_source),
    F_OBJ("storageos", &storageos_source),
    F_OBJ("portworxVolume", &portworx_source),
    F_OBJ("gcePersistentDisk", &gce_source),
    F_OBJ("awsElasticBlockStore", &aws_source),
    F_OBJ("azureFile", &azure_file_source),
    F_OBJ("azureDisk", &azure_disk_source),
    F_OBJ("vsphereVolume", &vsphere_source),
    F_OBJ("photonPersistentDisk", &photon_source));
