/* meta.h - the parts all objects share: apiVersion, kind, metadata, owner */
#ifndef API_META_H
#define API_META_H

#include "json/json.h"
#include "json/problem.h"

struct schema;

struct meta { /* typed view of metadata; text borrowed from the tree */
    struct json *raw;
    struct str name, generate_name, namespace, uid, resource_version;
    struct str creation_timestamp, deletion_timestamp;
    int64_t generation;
    struct json *labels, *annotations, *finalizers, *owner_references;
};

extern const struct schema schema_meta;          /* metadata of an object */
extern const struct schema schema_template_meta; /* metadata of a pod template */

/* A new object: apiVersion, kind, metadata{name, namespace}. */
struct json *object_new(struct arena *a, const char *api_version, const char *kind, struct str namespace,
                        struct str name);

struct str object_kind(const struct json *obj);
struct str object_api_version(const struct json *obj);
struct str object_name(const struct json *obj);
struct str object_namespace(const struct json *obj);
struct str object_uid(const struct json *obj);
struct str object_label(const struct json *obj, const char *key);
struct str object_annotation(const struct json *obj, const char *key);
void object_set_label(struct arena *a, struct json *obj, const char *key, struct str value);
void object_set_annotation(struct arena *a, struct json *obj, const char *key, struct str value);

/* The one ownerReference of what a Job makes: controller and blockOwnerDeletion are true. */
void object_set_controller(struct arena *a, struct json *obj, const struct json *owner);

/* The ownerReference with controller: true, NULL if there is none; and its uid, empty if there is none. */
const struct json *object_controller(const struct json *obj);
struct str object_controller_uid(const struct json *obj);

/* Names, labels, annotations (sizes too), finalizers, ownerReferences. 'name_check' from name.h; NULL: subdomain. */
void meta_check(const struct place *at_object, const char *(*name_check)(struct arena *, struct str),
                bool needs_namespace, struct problems *ps);

#endif
