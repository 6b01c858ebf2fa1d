/* protobuf_meta.c - messages: metadata and options */
#include "server/protobuf_tables.h"

/* clang-format off */

MESSAGE(OwnerReference, TEXT_KEPT(5, apiVersion), TEXT_KEPT(1, kind), TEXT_KEPT(3, name), TEXT_KEPT(4, uid),
        BOOL_KEPT(6, controller), BOOL_KEPT(7, blockOwnerDeletion))
MESSAGE(ManagedFieldsEntry, TEXT(1, manager), TEXT(2, operation), TEXT(3, apiVersion), TIME(4, time),
        TEXT(6, fieldsType), RAW(7, fieldsV1), TEXT(8, subresource))
MESSAGE(ObjectMeta, TEXT(1, name), TEXT(2, generateName), TEXT(3, namespace), TEXT(4, selfLink), TEXT(5, uid),
        TEXT(6, resourceVersion), INT(7, generation), TIME(8, creationTimestamp), TIME(9, deletionTimestamp),
        INT_KEPT(10, deletionGracePeriodSeconds), TEXT_MAP(11, labels), TEXT_MAP(12, annotations),
        LIST(13, ownerReferences, OwnerReference), TEXTS(14, finalizers), LIST(17, managedFields, ManagedFieldsEntry))
MESSAGE(LabelSelectorRequirement, TEXT_KEPT(1, key), TEXT_KEPT(2, operator), TEXTS(3, values))
MESSAGE(LabelSelector, TEXT_MAP(1, matchLabels), LIST(2, matchExpressions, LabelSelectorRequirement))
MESSAGE(Condition, TEXT_KEPT(1, type), TEXT_KEPT(2, status), INT(3, observedGeneration), TIME(4, lastTransitionTime),
        TEXT_KEPT(5, reason), TEXT_KEPT(6, message))
MESSAGE(Preconditions, TEXT_KEPT(1, uid), TEXT_KEPT(2, resourceVersion))
MESSAGE(DeleteOptions, INT_KEPT(1, gracePeriodSeconds), OBJECT_KEPT(2, preconditions, Preconditions),
        BOOL_KEPT(3, orphanDependents), TEXT_KEPT(4, propagationPolicy), TEXTS(5, dryRun),
        BOOL_KEPT(6, ignoreStoreReadErrorWithClusterBreakingPotential))
MESSAGE(FieldSelectorRequirement, TEXT_KEPT(1, key), TEXT_KEPT(2, operator), TEXTS(3, values))
