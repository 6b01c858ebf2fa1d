/* messages_meta.c - written by tools/messages.py; see message.h for what a row says */
#include "api/message/message_rows.h"

/* clang-format off */

static const struct message_field msg_meta_preconditions_fields[] = {
    ONE(1, "uid", TEXT, FLAGS(POINTER)),
    ONE(2, "resourceVersion", TEXT, FLAGS(POINTER)),
};
MESSAGE(msg_meta_preconditions, "Preconditions", false);

static const struct message_field msg_meta_delete_options_fields[] = {
    ONE(1, "gracePeriodSeconds", INT64, FLAGS(POINTER)),
    ONE(2, "preconditions", OF(msg_meta_preconditions), FLAGS(POINTER)),
    ONE(3, "orphanDependents", BOOL, FLAGS(POINTER)),
    ONE(4, "propagationPolicy", TEXT, FLAGS(POINTER)),
    LIST(5, "dryRun", TEXT),
    ONE(6, "ignoreStoreReadErrorWithClusterBreakingPotential", BOOL, FLAGS(POINTER)),
};
MESSAGE(msg_meta_delete_options, "DeleteOptions", false);

static const struct message_field msg_meta_list_options_fields[] = {
    ONE(1, "labelSelector", TEXT),
    ONE(2, "fieldSelector", TEXT),
    ONE(3, "watch", BOOL),
    ONE(4, "resourceVersion", TEXT),
    ONE(5, "timeoutSeconds", INT64, FLAGS(POINTER)),
    ONE(7, "limit", INT64),
    ONE(8, "continue", TEXT),
    ONE(9, "allowWatchBookmarks", BOOL),
    ONE(10, "resourceVersionMatch", TEXT),
    ONE(11, "sendInitialEvents", BOOL, FLAGS(POINTER)),
    ONE(15, "shardSelector", TEXT),
};
MESSAGE(msg_meta_list_options, "ListOptions", false);

static const struct message_field msg_meta_get_options_fields[] = {
    ONE(1, "resourceVersion", TEXT),
};
MESSAGE(msg_meta_get_options, "GetOptions", false);

static const struct message_field msg_meta_create_options_fields[] = {
    LIST(1, "dryRun", TEXT),
    ONE(3, "fieldManager", TEXT),
    ONE(4, "fieldValidation", TEXT),
};
MESSAGE(msg_meta_create_options, "CreateOptions", false);

static const struct message_field msg_meta_update_options_fields[] = {
    LIST(1, "dryRun", TEXT),
    ONE(2, "fieldManager", TEXT),
    ONE(3, "fieldValidation", TEXT),
};
MESSAGE(msg_meta_update_options, "UpdateOptions", false);

static const struct message_field msg_meta_patch_options_fields[] = {
    LIST(1, "dryRun", TEXT),
    ONE(2, "force", BOOL, FLAGS(POINTER)),
    ONE(3, "fieldManager", TEXT),
    ONE(4, "fieldValidation", TEXT),
};
MESSAGE(msg_meta_patch_options, "PatchOptions", false);

static const struct message_field msg_meta_shard_info_fields[] = {
    ONE(1, "selector", TEXT, FLAGS(ALWAYS)),
};
MESSAGE(msg_meta_shard_info, "ShardInfo", false);

static const struct message_field msg_meta_list_meta_fields[] = {
    ONE(1, "selfLink", TEXT),
    ONE(2, "resourceVersion", TEXT),
    ONE(3, "continue", TEXT),
    ONE(4, "remainingItemCount", INT64, FLAGS(POINTER)),
    ONE(5, "shardInfo", OF(msg_meta_shard_info), FLAGS(POINTER)),
};
MESSAGE(msg_meta_list_meta, "ListMeta", false);

static const struct message_field msg_meta_status_cause_fields[] = {
    ONE(1, "reason", TEXT),
    ONE(2, "message", TEXT),
    ONE(3, "field", TEXT),
};
MESSAGE(msg_meta_status_cause, "StatusCause", false);

static const struct message_field msg_meta_status_details_fields[] = {
    ONE(1, "name", TEXT),
    ONE(2, "group", TEXT),
    ONE(3, "kind", TEXT),
    LIST(4, "causes", OF(msg_meta_status_cause)),
    ONE(5, "retryAfterSeconds", INT32),
    ONE(6, "uid", TEXT),
};
MESSAGE(msg_meta_status_details, "StatusDetails", false);

static const struct message_field msg_meta_status_fields[] = {
    ONE(1, "metadata", OF(msg_meta_list_meta), FLAGS(ALWAYS)),
    ONE(2, "status", TEXT),
    ONE(3, "message", TEXT),
    ONE(4, "reason", TEXT),
    ONE(5, "details", OF(msg_meta_status_details), FLAGS(POINTER)),
    ONE(6, "code", INT32),
};
MESSAGE(msg_meta_status, "Status", false);

static const struct message_field msg_meta_watch_event_fields[] = {
    ONE(1, "type", TEXT, FLAGS(ALWAYS)),
    ONE(2, "object", RAW, FLAGS(ALWAYS)),
};
MESSAGE(msg_meta_watch_event, "WatchEvent", false);

static const struct message_field msg_meta_owner_reference_fields[] = {
    ONE(1, "kind", TEXT, FLAGS(ALWAYS)),
    ONE(3, "name", TEXT, FLAGS(ALWAYS)),
    ONE(4, "uid", TEXT, FLAGS(ALWAYS)),
    ONE(5, "apiVersion", TEXT, FLAGS(ALWAYS)),
    ONE(6, "controller", BOOL, FLAGS(POINTER)),
    ONE(7, "blockOwnerDeletion", BOOL, FLAGS(POINTER)),
};
MESSAGE(msg_meta_owner_reference, "OwnerReference", true);

static const struct message_field msg_meta_managed_fields_entry_fields[] = {
    ONE(1, "manager", TEXT),
    ONE(2, "operation", TEXT),
    ONE(3, "apiVersion", TEXT),
    ONE(4, "time", TIME, FLAGS(POINTER)),
    ONE(6, "fieldsType", TEXT),
    ONE(7, "fieldsV1", FIELDS, FLAGS(POINTER)),
    ONE(8, "subresource", TEXT),
};
MESSAGE(msg_meta_managed_fields_entry, "ManagedFieldsEntry", false);

static const struct message_field msg_meta_object_meta_fields[] = {
    ONE(1, "name", TEXT),
    ONE(2, "generateName", TEXT),
    ONE(3, "namespace", TEXT),
    ONE(4, "selfLink", TEXT),
    ONE(5, "uid", TEXT),
    ONE(6, "resourceVersion", TEXT),
    ONE(7, "generation", INT64),
    ONE(8, "creationTimestamp", TIME),
    ONE(9, "deletionTimestamp", TIME, FLAGS(POINTER)),
    ONE(10, "deletionGracePeriodSeconds", INT64, FLAGS(POINTER)),
    MAP(11, "labels", TEXT),
    MAP(12, "annotations", TEXT),
    LIST(13, "ownerReferences", OF(msg_meta_owner_reference), KEYS("uid"), MERGED("uid")),
    LIST(14, "finalizers", TEXT, KEYS(""), MERGED("")),
    LIST(17, "managedFields", OF(msg_meta_managed_fields_entry)),
};
MESSAGE(msg_meta_object_meta, "ObjectMeta", false);

static const struct message_field msg_meta_label_selector_requirement_fields[] = {
    ONE(1, "key", TEXT, FLAGS(ALWAYS)),
    ONE(2, "operator", TEXT, FLAGS(ALWAYS)),
    LIST(3, "values", TEXT),
};
MESSAGE(msg_meta_label_selector_requirement, "LabelSelectorRequirement", false);

static const struct message_field msg_meta_label_selector_fields[] = {
    MAP(1, "matchLabels", TEXT),
    LIST(2, "matchExpressions", OF(msg_meta_label_selector_requirement)),
};
MESSAGE(msg_meta_label_selector, "LabelSelector", true);

static const struct message_field msg_meta_condition_fields[] = {
    ONE(1, "type", TEXT, FLAGS(ALWAYS)),
    ONE(2, "status", TEXT, FLAGS(ALWAYS)),
    ONE(3, "observedGeneration", INT64),
    ONE(4, "lastTransitionTime", TIME, FLAGS(ALWAYS)),
    ONE(5, "reason", TEXT, FLAGS(ALWAYS)),
    ONE(6, "message", TEXT, FLAGS(ALWAYS)),
};
MESSAGE(msg_meta_condition, "Condition", false);

static const struct message_field msg_meta_field_selector_requirement_fields[] = {
    ONE(1, "key", TEXT, FLAGS(ALWAYS)),
    ONE(2, "operator", TEXT, FLAGS(ALWAYS)),
    LIST(3, "values", TEXT),
};
MESSAGE(msg_meta_field_selector_requirement, "FieldSelectorRequirement", false);
