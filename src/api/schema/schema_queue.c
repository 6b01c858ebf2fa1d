/* schema_queue.c - PodGroup, Queue and HyperNode: what the scheduler looks at */
#include "api/schema/schemas.h"

#include "api/fields.h"
#include "api/meta.h"

/* clang-format off */

/* ---- PodGroup ---- */

SCHEMA(static, sub_group, "SubGroupPolicySpec",
    F_STR("name", .max = 253, DOC("name of the policy")),
    F_OBJ("networkTopology", &schema_network_topology, DOC("how near the pods of one sub-group must be")),
    F_INT("subGroupSize", AT_LEAST(1), DOC("pods in a sub-group; default 1")),
    F_INT("minSubGroups", AT_LEAST(0), DOC("sub-groups that must be placeable together")),
    F_OBJ("labelSelector", &schema_label_selector, DOC("the pods it is about")),
    F_STRS("matchLabelKeys", DOC("labels whose values tell the sub-groups apart")));

SCHEMA(, schema_podgroup_spec, "PodGroupSpec",
    F_INT("minMember", AT_LEAST(0), DOC("pods that must be placeable together")),
    F_INT_MAP("minTaskMember", DOC("the same for each task")),
    F_STR("queue", .max = 253, .check = format_subdomain, DOC("queue that pays for the pods; default default")),
    F_STR("priorityClassName", .max = 253, DOC("priority of the group")),
    F_RESOURCES("minResources", DOC("what must be free in the queue before the group is admitted")),
    F_OBJ("networkTopology", &schema_network_topology, DOC("how near the pods must be to each other")),
    F_OBJS("subGroupPolicy", &sub_group, DOC("sub-groups with their own minimum and topology")));

SCHEMA(static, podgroup_condition, "PodGroupCondition",
    F_STR("type"),
    F_STR("status"),
    F_STR("transitionID"),
    F_TIME("lastTransitionTime"),
    F_STR("reason"),
    F_STR("message"));

SCHEMA(static, podgroup_status, "PodGroupStatus",
    F_STR("phase", ONE_OF("Pending", "Inqueue", "Running", "Unknown", "Completed")),
    F_OBJS("conditions", &podgroup_condition),
    F_INT("running"),
    F_INT("succeeded"),
    F_INT("failed"));

SCHEMA(, schema_podgroup, "PodGroup",
    F_TYPE,
    F_OBJ("metadata", &schema_meta),
    F_OBJ("spec", &schema_podgroup_spec),
    F_OBJ("status", &podgroup_status));

/* ---- Queue ---- */

SCHEMA(static, queue_guarantee, "Guarantee",
    F_RESOURCES("resource"));

SCHEMA(static, group_affinity, "NodeGroupAffinity",
    F_STRS("requiredDuringSchedulingIgnoredDuringExecution"),
    F_STRS("preferredDuringSchedulingIgnoredDuringExecution"));

SCHEMA(static, queue_affinity, "Affinity",
    F_OBJ("nodeGroupAffinity", &group_affinity),
    F_OBJ("nodeGroupAntiAffinity", &group_affinity));

SCHEMA(static, queue_cluster, "Cluster",
    F_STR("name"),
    F_INT("weight"),
    F_RESOURCES("capacity"));

SCHEMA(, schema_queue_spec, "QueueSpec",
    F_INT("weight", RANGE(1, 65535), DOC("share of the cluster against other queues; default 1")),
    F_RESOURCES("capability", DOC("never more than this")),
    F_RESOURCES("deserved", DOC("the queue's due; others must give it back")),
    F_OBJ("guarantee", &queue_guarantee, DOC("kept free for the queue")),
    F_BOOL("reclaimable", DOC("may others take back what the queue uses beyond its due? default true")),
    F_INT("priority", AT_LEAST(0), DOC("queues with more go first")),
    F_STR("parent", .max = 253, .check = format_subdomain, DOC("queue above this one; default root")),
    F_OBJ("affinity", &queue_affinity, DOC("node groups the queue may, should or must not use")),
    F_OBJS("extendClusters", &queue_cluster, DOC("other clusters jobs may be sent to")),
    F_STR("type", .max = 253),
    F_STR("dequeueStrategy", NOT_EMPTY, ONE_OF("fifo", "traverse"),
          DOC("fifo: wait for the first job; traverse: look past it; default traverse")));

SCHEMA(static, queue_reservation, "Reservation",
    F_STRS("nodes"),
    F_RESOURCES("resource"));

SCHEMA(static, queue_status, "QueueStatus",
    F_STR("state", ONE_OF("Open", "Closed", "Closing", "Unknown")),
    F_INT("unknown"),
    F_INT("pending"),
    F_INT("running"),
    F_INT("inqueue"),
    F_INT("completed"),
    F_RESOURCES("allocated"),
    F_OBJ("reservation", &queue_reservation));

SCHEMA(, schema_queue, "Queue",
    F_TYPE,
    F_OBJ("metadata", &schema_meta),
    F_OBJ("spec", &schema_queue_spec),
    F_OBJ("status", &queue_status));

/* ---- HyperNode ---- */

SCHEMA(static, exact_match, "ExactMatch",
    F_STR("name", NEEDED, .check = format_subdomain));

SCHEMA(static, regex_match, "RegexMatch",
    F_STR("pattern", NEEDED));

SCHEMA(static, member_selector, "MemberSelector",
    F_OBJ("exactMatch", &exact_match, DOC("the one of this name")),
    F_OBJ("regexMatch", &regex_match, DOC("all whose name matches")),
    F_OBJ("labelMatch", &schema_label_selector, DOC("all whose labels match; Nodes only")));

SCHEMA(static, hypernode_member, "MemberSpec",
    F_STR("type", NEEDED, ONE_OF("Node", "HyperNode")),
    F_OBJ("selector", &member_selector, REQUIRED, DOC("which of them; one of its members is set")));

SCHEMA(static, hypernode_spec, "HyperNodeSpec",
    F_INT("tier", REQUIRED, AT_LEAST(0), DOC("the lower, the nearer its members are to each other")),
    F_STR("tierName", .max = 253),
    F_OBJS("members", &hypernode_member));

SCHEMA(static, hypernode_status, "HyperNodeStatus",
    F_OBJS("conditions", &schema_condition, MERGED_BY("type")),
    F_LONG("nodeCount", AT_LEAST(0)));

SCHEMA(, schema_hypernode, "HyperNode",
    F_TYPE,
    F_OBJ("metadata", &schema_meta),
    F_OBJ("spec", &hypernode_spec),
    F_OBJ("status", &hypernode_status));
