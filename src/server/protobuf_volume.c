/* protobuf_volume.c - messages: volumes of pods, and what is claimed */
#include "server/protobuf_tables.h"

/* clang-format off */

MESSAGE(HostPathVolumeSource, TEXT_KEPT(1, path), TEXT_KEPT(2, type))
MESSAGE(EmptyDirVolumeSource, TEXT(1, medium), QUANTITY(2, sizeLimit))
MESSAGE(GCEPersistentDiskVolumeSource, TEXT_KEPT(1, pdName), TEXT(2, fsType), INT(3, partition), BOOL(4, readOnly))
MESSAGE(AWSElasticBlockStoreVolumeSource, TEXT_KEPT(1, volumeID), TEXT(2, fsType), INT(3, partition),
        BOOL(4, readOnly))
MESSAGE(GitRepoVolumeSource, TEXT_KEPT(1, repository), TEXT(2, revision), TEXT(3, directory))
MESSAGE(KeyToPath, TEXT_KEPT(1, key), TEXT_KEPT(2, path), INT_KEPT(3, mode))
MESSAGE(SecretVolumeSource, TEXT(1, secretName), LIST(2, items, KeyToPath), INT_KEPT(3, defaultMode),
        BOOL_KEPT(4, optional))
MESSAGE(NFSVolumeSource, TEXT_KEPT(1, server), TEXT_KEPT(2, path), BOOL(3, readOnly))
MESSAGE(ISCSIVolumeSource, TEXT_KEPT(1, targetPortal), TEXT_KEPT(2, iqn), INT_KEPT(3, lun), TEXT(4, iscsiInterface),
        TEXT(5, fsType), BOOL(6, readOnly), TEXTS(7, portals), BOOL(8, chapAuthDiscovery), BOOL(11, chapAuthSession),
        OBJECT_KEPT(10, secretRef, LocalObjectReference), TEXT_KEPT(12, initiatorName))
MESSAGE(GlusterfsVolumeSource, TEXT_KEPT(1, endpoints), TEXT_KEPT(2, path), BOOL(3, readOnly))
MESSAGE(PersistentVolumeClaimVolumeSource, TEXT_KEPT(1, claimName), BOOL(2, readOnly))
MESSAGE(RBDVolumeSource, TEXTS(1, monitors), TEXT_KEPT(2, image), TEXT(3, fsType), TEXT(4, pool), TEXT(5, user),
        TEXT(6, keyring), OBJECT_KEPT(7, secretRef, LocalObjectReference), BOOL(8, readOnly))
MESSAGE(FlexVolumeSource, TEXT_KEPT(1, driver), TEXT(2, fsType), OBJECT_KEPT(3, secretRef, LocalObjectReference),
        BOOL(4, readOnly), TEXT_MAP(5, options))
MESSAGE(CinderVolumeSource, TEXT_KEPT(1, volumeID), TEXT(2, fsType), BOOL(3, readOnly),
        OBJECT_KEPT(4, secretRef, LocalObjectReference))
MESSAGE(CephFSVolumeSource, TEXTS(1, monitors), TEXT(2, path), TEXT(3, user), TEXT(4, secretFile),
        OBJECT_KEPT(5, secretRef, LocalObjectReference), BOOL(6, readOnly))
MESSAGE(FlockerVolumeSource, TEXT(1, datasetName), TEXT(2, datasetUUID))
MESSAGE(DownwardAPIVolumeFile, TEXT_KEPT(1, path), OBJECT_KEPT(2, fieldRef, ObjectFieldSelector),
        OBJECT_KEPT(3, resourceFieldRef, ResourceFieldSelector), INT_KEPT(4, mode))
MESSAGE(DownwardAPIVolumeSource, LIST(1, items, DownwardAPIVolumeFile), INT_KEPT(2, defaultMode))
MESSAGE(FCVolumeSource, TEXTS(1, targetWWNs), INT_KEPT(2, lun), TEXT(3, fsType), BOOL(4, readOnly), TEXTS(5, wwids))
MESSAGE(AzureFileVolumeSource, TEXT_KEPT(1, secretName), TEXT_KEPT(2, shareName), BOOL(3, readOnly))
MESSAGE(ConfigMapVolumeSource, INLINE(1, LocalObjectReference), LIST(2, items, KeyToPath), INT_KEPT(3, defaultMode),
        BOOL_KEPT(4, optional))
MESSAGE(VsphereVirtualDiskVolumeSource, TEXT_KEPT(1, volumePath), TEXT(2, fsType), TEXT(3, storagePolicyName),
        TEXT(4, storagePolicyID))
MESSAGE(QuobyteVolumeSource, TEXT_KEPT(1, registry), TEXT_KEPT(2, volume), BOOL(3, readOnly), TEXT(4, user),
        TEXT(5, group), TEXT(6, tenant))
MESSAGE(AzureDiskVolumeSource, TEXT_KEPT(1, diskName), TEXT_KEPT(2, diskURI), TEXT_KEPT(3, cachingMode),
        TEXT_KEPT(4, fsType), BOOL_KEPT(5, readOnly), TEXT_KEPT(6, kind))
MESSAGE(PhotonPersistentDiskVolumeSource, TEXT_KEPT(1, pdID), TEXT(2, fsType))
MESSAGE(SecretProjection, INLINE(1, LocalObjectReference), LIST(2, items, KeyToPath), BOOL_KEPT(4, optional))
MESSAGE(DownwardAPIProjection, LIST(1, items, DownwardAPIVolumeFile))
MESSAGE(ConfigMapProjection, INLINE(1, LocalObjectReference), LIST(2, items, KeyToPath), BOOL_KEPT(4, optional))
MESSAGE(ServiceAccountTokenProjection, TEXT(1, audience), INT_KEPT(2, expirationSeconds), TEXT_KEPT(3, path))
MESSAGE(ClusterTrustBundleProjection, TEXT_KEPT(1, name), TEXT_KEPT(2, signerName),
        OBJECT_KEPT(3, labelSelector, LabelSelector), BOOL_KEPT(5, optional), TEXT_KEPT(4, path))
MESSAGE(PodCertificateProjection, TEXT(1, signerName), TEXT(2, keyType), INT_KEPT(3, maxExpirationSeconds),
        TEXT(4, credentialBundlePath), TEXT(5, keyPath), TEXT(6, certificateChainPath), TEXT_MAP(7, userAnnotations))
MESSAGE(VolumeProjection, OBJECT_KEPT(1, secret, SecretProjection),
        OBJECT_KEPT(2, downwardAPI, DownwardAPIProjection), OBJECT_KEPT(3, configMap, ConfigMapProjection),
        OBJECT_KEPT(4, serviceAccountToken, ServiceAccountTokenProjection),
        OBJECT_KEPT(5, clusterTrustBundle, ClusterTrustBundleProjection),
        OBJECT_KEPT(6, podCertificate, PodCertificateProjection))
MESSAGE(ProjectedVolumeSource, LIST(1, sources, VolumeProjection), INT_KEPT(2, defaultMode))
MESSAGE(PortworxVolumeSource, TEXT_KEPT(1, volumeID), TEXT(2, fsType), BOOL(3, readOnly))
MESSAGE(ScaleIOVolumeSource, TEXT_KEPT(1, gateway), TEXT_KEPT(2, system),
        OBJECT_KEPT(3, secretRef, LocalObjectReference), BOOL(4, sslEnabled), TEXT(5, protectionDomain),
        TEXT(6, storagePool), TEXT(7, storageMode), TEXT(8, volumeName), TEXT(9, fsType), BOOL(10, readOnly))
MESSAGE(StorageOSVolumeSource, TEXT(1, volumeName), TEXT(2, volumeNamespace), TEXT(3, fsType), BOOL(4, readOnly),
        OBJECT_KEPT(5, secretRef, LocalObjectReference))
MESSAGE(CSIVolumeSource, TEXT_KEPT(1, driver), BOOL_KEPT(2, readOnly), TEXT_KEPT(3, fsType),
        TEXT_MAP(4, volumeAttributes), OBJECT_KEPT(5, nodePublishSecretRef, LocalObjectReference))
MESSAGE(VolumeResourceRequirements, QUANTITY_MAP(1, limits), QUANTITY_MAP(2, requests))
MESSAGE(PersistentVolumeClaimSpec, TEXTS(1, accessModes), OBJECT_KEPT(4, selector, LabelSelector),
        OBJECT(2, resources, VolumeResourceRequirements), TEXT(3, volumeName), TEXT_KEPT(5, storageClassName),
        TEXT_KEPT(6, volumeMode), OBJECT_KEPT(7, dataSource, TypedLocalObjectReference),
        OBJECT_KEPT(8, dataSourceRef, TypedObjectReference), TEXT_KEPT(9, volumeAttributesClassName))
MESSAGE(PersistentVolumeClaimTemplate, OBJECT(1, metadata, ObjectMeta), OBJECT(2, spec, PersistentVolumeClaimSpec))
MESSAGE(EphemeralVolumeSource, OBJECT_KEPT(1, volumeClaimTemplate, PersistentVolumeClaimTemplate))
MESSAGE(ImageVolumeSource, TEXT(1, reference), TEXT(2, pullPolicy))
MESSAGE(VolumeSource, OBJECT_KEPT(1, hostPath, HostPathVolumeSource), OBJECT_KEPT(2, emptyDir, EmptyDirVolumeSource),
        OBJECT_KEPT(3, gcePersistentDisk, GCEPersistentDiskVolumeSource),
        OBJECT_KEPT(4, awsElasticBlockStore, AWSElasticBlockStoreVolumeSource),
        OBJECT_KEPT(5, gitRepo, GitRepoVolumeSource), OBJECT_KEPT(6, secret, SecretVolumeSource),
        OBJECT_KEPT(7, nfs, NFSVolumeSource), OBJECT_KEPT(8, iscsi, ISCSIVolumeSource),
        OBJECT_KEPT(9, glusterfs, GlusterfsVolumeSource),
        OBJECT_KEPT(10, persistentVolumeClaim, PersistentVolumeClaimVolumeSource),
        OBJECT_KEPT(11, rbd, RBDVolumeSource), OBJECT_KEPT(12, flexVolume, FlexVolumeSource),
        OBJECT_KEPT(13, cinder, CinderVolumeSource), OBJECT_KEPT(14, cephfs, CephFSVolumeSource),
        OBJECT_KEPT(15, flocker, FlockerVolumeSource), OBJECT_KEPT(16, downwardAPI, DownwardAPIVolumeSource),
        OBJECT_KEPT(17, fc, FCVolumeSource), OBJECT_KEPT(18, azureFile, AzureFileVolumeSource),
        OBJECT_KEPT(19, configMap, ConfigMapVolumeSource),
        OBJECT_KEPT(20, vsphereVolume, VsphereVirtualDiskVolumeSource), OBJECT_KEPT(21, quobyte, QuobyteVolumeSource),
        OBJECT_KEPT(22, azureDisk, AzureDiskVolumeSource),
        OBJECT_KEPT(23, photonPersistentDisk, PhotonPersistentDiskVolumeSource),
        OBJECT_KEPT(26, projected, ProjectedVolumeSource), OBJECT_KEPT(24, portworxVolume, PortworxVolumeSource),
        OBJECT_KEPT(25, scaleIO, ScaleIOVolumeSource), OBJECT_KEPT(27, storageos, StorageOSVolumeSource),
        OBJECT_KEPT(28, csi, CSIVolumeSource), OBJECT_KEPT(29, ephemeral, EphemeralVolumeSource),
        OBJECT_KEPT(30, image, ImageVolumeSource))
MESSAGE(Volume, TEXT_KEPT(1, name), INLINE(2, VolumeSource))
MESSAGE(ImageVolumeStatus, TEXT(1, imageRef))
MESSAGE(AttachedVolume, TEXT_KEPT(1, name), TEXT_KEPT(2, devicePath))
MESSAGE(PersistentVolumeClaimCondition, TEXT_KEPT(1, type), TEXT_KEPT(2, status), TIME(3, lastProbeTime),
        TIME(4, lastTransitionTime), TEXT(5, reason), TEXT(6, message))
MESSAGE(ModifyVolumeStatus, TEXT(1, targetVolumeAttributesClassName), TEXT_KEPT(2, status))
MESSAGE(PersistentVolumeClaimStatus, TEXT(1, phase), TEXTS(2, accessModes), QUANTITY_MAP(3, capacity),
        LIST(4, conditions, PersistentVolumeClaimCondition), QUANTITY_MAP(5, allocatedResources),
        TEXT_MAP(7, allocatedResourceStatuses), TEXT_KEPT(8, currentVolumeAttributesClassName),
        OBJECT_KEPT(9, modifyVolumeStatus, ModifyVolumeStatus))
MESSAGE(PersistentVolumeClaim, OBJECT(1, metadata, ObjectMeta), OBJECT(2, spec, PersistentVolumeClaimSpec),
        OBJECT(3, status, PersistentVolumeClaimStatus))
MESSAGE(GlusterfsPersistentVolumeSource, TEXT_KEPT(1, endpoints), TEXT_KEPT(2, path), BOOL(3, readOnly),
        TEXT_KEPT(4, endpointsNamespace))
MESSAGE(RBDPersistentVolumeSource, TEXTS(1, monitors), TEXT_KEPT(2, image), TEXT(3, fsType), TEXT(4, pool),
        TEXT(5, user), TEXT(6, keyring), OBJECT_KEPT(7, secretRef, SecretReference), BOOL(8, readOnly))
MESSAGE(ISCSIPersistentVolumeSource, TEXT_KEPT(1, targetPortal), TEXT_KEPT(2, iqn), INT_KEPT(3, lun),
        TEXT(4, iscsiInterface), TEXT(5, fsType), BOOL(6, readOnly), TEXTS(7, portals), BOOL(8, chapAuthDiscovery),
        BOOL(11, chapAuthSession), OBJECT_KEPT(10, secretRef, SecretReference), TEXT_KEPT(12, initiatorName))
MESSAGE(CinderPersistentVolumeSource, TEXT_KEPT(1, volumeID), TEXT(2, fsType), BOOL(3, readOnly),
        OBJECT_KEPT(4, secretRef, SecretReference))
MESSAGE(CephFSPersistentVolumeSource, TEXTS(1, monitors), TEXT(2, path), TEXT(3, user), TEXT(4, secretFile),
        OBJECT_KEPT(5, secretRef, SecretReference), BOOL(6, readOnly))
MESSAGE(FlexPersistentVolumeSource, TEXT_KEPT(1, driver), TEXT(2, fsType), OBJECT_KEPT(3, secretRef, SecretReference),
        BOOL(4, readOnly), TEXT_MAP(5, options))
MESSAGE(AzureFilePersistentVolumeSource, TEXT_KEPT(1, secretName), TEXT_KEPT(2, shareName), BOOL(3, readOnly),
        TEXT_KEPT(4, secretNamespace))
MESSAGE(ScaleIOPersistentVolumeSource, TEXT_KEPT(1, gateway), TEXT_KEPT(2, system),
        OBJECT_KEPT(3, secretRef, SecretReference), BOOL(4, sslEnabled), TEXT(5, protectionDomain),
        TEXT(6, storagePool), TEXT(7, storageMode), TEXT(8, volumeName), TEXT(9, fsType), BOOL(10, readOnly))
MESSAGE(LocalVolumeSource, TEXT_KEPT(1, path), TEXT_KEPT(2, fsType))
MESSAGE(StorageOSPersistentVolumeSource, TEXT(1, volumeName), TEXT(2, volumeNamespace), TEXT(3, fsType),
        BOOL(4, readOnly), OBJECT_KEPT(5, secretRef, ObjectReference))
MESSAGE(CSIPersistentVolumeSource, TEXT_KEPT(1, driver), TEXT_KEPT(2, volumeHandle), BOOL(3, readOnly),
        TEXT(4, fsType), TEXT_MAP(5, volumeAttributes), OBJECT_KEPT(6, controllerPublishSecretRef, SecretReference),
        OBJECT_KEPT(7, nodeStageSecretRef, SecretReference), OBJECT_KEPT(8, nodePublishSecretRef, SecretReference),
        OBJECT_KEPT(9, controllerExpandSecretRef, SecretReference),
        OBJECT_KEPT(10, nodeExpandSecretRef, SecretReference))
MESSAGE(PersistentVolumeSource, OBJECT_KEPT(1, gcePersistentDisk, GCEPersistentDiskVolumeSource),
        OBJECT_KEPT(2, awsElasticBlockStore, AWSElasticBlockStoreVolumeSource),
        OBJECT_KEPT(3, hostPath, HostPathVolumeSource), OBJECT_KEPT(4, glusterfs, GlusterfsPersistentVolumeSource),
        OBJECT_KEPT(5, nfs, NFSVolumeSource), OBJECT_KEPT(6, rbd, RBDPersistentVolumeSource),
        OBJECT_KEPT(7, iscsi, ISCSIPersistentVolumeSource), OBJECT_KEPT(8, cinder, CinderPersistentVolumeSource),
        OBJECT_KEPT(9, cephfs, CephFSPersistentVolumeSource), OBJECT_KEPT(10, fc, FCVolumeSource),
        OBJECT_KEPT(11, flocker, FlockerVolumeSource), OBJECT_KEPT(12, flexVolume, FlexPersistentVolumeSource),
        OBJECT_KEPT(13, azureFile, AzureFilePersistentVolumeSource),
        OBJECT_KEPT(14, vsphereVolume, VsphereVirtualDiskVolumeSource), OBJECT_KEPT(15, quobyte, QuobyteVolumeSource),
        OBJECT_KEPT(16, azureDisk, AzureDiskVolumeSource),
        OBJECT_KEPT(17, photonPersistentDisk, PhotonPersistentDiskVolumeSource),
        OBJECT_KEPT(18, portworxVolume, PortworxVolumeSource),
        OBJECT_KEPT(19, scaleIO, ScaleIOPersistentVolumeSource), OBJECT_KEPT(20, local, LocalVolumeSource),
        OBJECT_KEPT(21, storageos, StorageOSPersistentVolumeSource), OBJECT_KEPT(22, csi, CSIPersistentVolumeSource))
MESSAGE(VolumeNodeAffinity, OBJECT_KEPT(1, required, NodeSelector))
MESSAGE(PersistentVolumeSpec, QUANTITY_MAP(1, capacity), INLINE(2, PersistentVolumeSource), TEXTS(3, accessModes),
        OBJECT_KEPT(4, claimRef, ObjectReference), TEXT(5, persistentVolumeReclaimPolicy), TEXT(6, storageClassName),
        TEXTS(7, mountOptions), TEXT_KEPT(8, volumeMode), OBJECT_KEPT(9, nodeAffinity, VolumeNodeAffinity),
        TEXT_KEPT(10, volumeAttributesClassName))
MESSAGE(PersistentVolumeStatus, TEXT(1, phase), TEXT(2, message), TEXT(3, reason), TIME(4, lastPhaseTransitionTime))
MESSAGE(PersistentVolume, OBJECT(1, metadata, ObjectMeta), OBJECT(2, spec, PersistentVolumeSpec),
        OBJECT(3, status, PersistentVolumeStatus))
