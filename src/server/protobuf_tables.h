/* protobuf_tables.h - how the tables of messages are written, and those that several files use
 *
 * A row is a message: the numbers of its fields as the interface is published, and their names in JSON. "_KEPT": a
 * member that may be there and empty.
 */
#ifndef SERVER_PROTOBUF_TABLES_H
#define SERVER_PROTOBUF_TABLES_H

#include "base/util.h"
#include "server/protobuf.h"

#define MESSAGE(type, ...)                                                                                             \
    static const struct proto_field fields_of_##type[] = { __VA_ARGS__ };                                              \
    const struct proto_message proto_##type = { #type, fields_of_##type, ARRAY_LEN(fields_of_##type) };

#define FIELD(n, f, what, how)                                                                                         \
    {                                                                                                                  \
        .number = (n), .name = #f, .kind = (what), .shape = (how)                                                      \
    }
#define KEPT(n, f, what)                                                                                               \
    {                                                                                                                  \
        .number = (n), .name = #f, .kind = (what), .is_kept = true                                                     \
    }

#define TEXT(n, f)         FIELD(n, f, PROTO_TEXT, PROTO_ONE)
#define TEXT_KEPT(n, f)    KEPT(n, f, PROTO_TEXT)
#define INT(n, f)          FIELD(n, f, PROTO_INT, PROTO_ONE)
#define INT_KEPT(n, f)     KEPT(n, f, PROTO_INT)
#define BOOL(n, f)         FIELD(n, f, PROTO_BOOL, PROTO_ONE)
#define BOOL_KEPT(n, f)    KEPT(n, f, PROTO_BOOL)
#define FLOAT(n, f)        FIELD(n, f, PROTO_FLOAT, PROTO_ONE)
#define BYTES(n, f)        FIELD(n, f, PROTO_BYTES, PROTO_ONE)
#define BYTES_KEPT(n, f)   KEPT(n, f, PROTO_BYTES)
#define TIME(n, f)         FIELD(n, f, PROTO_TIME, PROTO_ONE)
#define MICRO_TIME(n, f)   FIELD(n, f, PROTO_MICRO_TIME, PROTO_ONE)
#define QUANTITY(n, f)     FIELD(n, f, PROTO_QUANTITY, PROTO_ONE)
#define PORT(n, f)         KEPT(n, f, PROTO_PORT)
#define RAW(n, f)          FIELD(n, f, PROTO_RAW, PROTO_ONE)
#define TEXTS(n, f)        FIELD(n, f, PROTO_TEXT, PROTO_LIST)
#define INTS(n, f)         FIELD(n, f, PROTO_INT, PROTO_LIST)
#define TEXT_MAP(n, f)     FIELD(n, f, PROTO_TEXT, PROTO_MAP)
#define BYTES_MAP(n, f)    FIELD(n, f, PROTO_BYTES, PROTO_MAP)
#define QUANTITY_MAP(n, f) FIELD(n, f, PROTO_QUANTITY, PROTO_MAP)
#define TIME_MAP(n, f)     FIELD(n, f, PROTO_TIME, PROTO_MAP)

#define OBJECT(n, f, type)                                                                                             \
    {                                                                                                                  \
        .number = (n), .name = #f, .kind = PROTO_OBJECT, .sub = &proto_##type                                          \
    }
#define OBJECT_KEPT(n, f, type)                                                                                        \
    {                                                                                                                  \
        .number = (n), .name = #f, .kind = PROTO_OBJECT, .is_kept = true, .sub = &proto_##type                         \
    }
#define LIST(n, f, type)                                                                                               \
    {                                                                                                                  \
        .number = (n), .name = #f, .kind = PROTO_OBJECT, .shape = PROTO_LIST, .sub = &proto_##type                     \
    }
#define OBJECT_MAP(n, f, type)                                                                                         \
    {                                                                                                                  \
        .number = (n), .name = #f, .kind = PROTO_OBJECT, .shape = PROTO_MAP, .sub = &proto_##type                      \
    }
#define INLINE(n, type)                                                                                                \
    {                                                                                                                  \
        .number = (n), .name = #type, .kind = PROTO_INLINE, .sub = &proto_##type                                       \
    }

extern const struct proto_message proto_AttachedVolume, proto_Binding, proto_CSINode, proto_Condition;
extern const struct proto_message proto_ConfigMap, proto_DeleteOptions, proto_EndpointSlice, proto_Endpoints;
extern const struct proto_message proto_Event, proto_EventSource, proto_EventsEvent, proto_Eviction;
extern const struct proto_message proto_FieldSelectorRequirement, proto_ImageVolumeStatus, proto_LabelSelector;
extern const struct proto_message proto_LabelSelectorRequirement, proto_Lease, proto_LocalObjectReference;
extern const struct proto_message proto_LocalSubjectAccessReview, proto_Namespace, proto_NetworkPolicy, proto_Node;
extern const struct proto_message proto_NodeSelector, proto_ObjectFieldSelector, proto_ObjectMeta;
extern const struct proto_message proto_ObjectReference, proto_PersistentVolume, proto_PersistentVolumeClaim;
extern const struct proto_message proto_Pod, proto_PodDisruptionBudget, proto_PriorityClass;
extern const struct proto_message proto_ResourceFieldSelector, proto_ResourceQuota, proto_Secret;
extern const struct proto_message proto_SecretReference, proto_SelfSubjectAccessReview, proto_SelfSubjectReview;
extern const struct proto_message proto_SelfSubjectRulesReview, proto_Service, proto_ServiceAccount;
extern const struct proto_message proto_StorageClass, proto_SubjectAccessReview, proto_TokenRequest;
extern const struct proto_message proto_TokenReview, proto_TopologySelectorTerm, proto_TypedLocalObjectReference;
extern const struct proto_message proto_TypedObjectReference, proto_Volume;

#endif
