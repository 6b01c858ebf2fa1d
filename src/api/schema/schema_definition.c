/* schema_definition.c - CustomResourceDefinitions (apiextensions.k8s.io) */
#include "api/schema/schemas.h"

#include "api/fields.h"
#include "api/meta.h"

/* clang-format off */

SCHEMA(static, names, "CustomResourceDefinitionNames",
    F_STR("plural", NEEDED, DOC("As in URLs: widgets")),
    F_STR("singular"),
    F_STRS("shortNames"),
    F_STR("kind", NEEDED, DOC("As in manifests: Widget")),
    F_STR("listKind"),
    F_STRS("categories"));

SCHEMA(static, validation, "CustomResourceValidation",
    F_OBJ("openAPIV3Schema", NULL));

SCHEMA(static, scale, "CustomResourceSubresourceScale",
    F_STR("specReplicasPath", NEEDED),
    F_STR("statusReplicasPath", NEEDED),
    F_STR("labelSelectorPath"));

SCHEMA(static, subresources, "CustomResourceSubresources",
    F_OBJ("status", NULL),
    F_OBJ("scale", &scale));

SCHEMA(static, column, "CustomResourceColumnDefinition",
    F_STR("name", NEEDED),
    F_STR("type", NEEDED, ONE_OF("integer", "number", "string", "boolean", "date")),
    F_STR("format"),
    F_STR("description"),
    F_INT("priority"),
    F_STR("jsonPath", NEEDED));

SCHEMA(static, selectable, "SelectableField",
    F_STR("jsonPath", NEEDED));

SCHEMA(static, version, "CustomResourceDefinitionVersion",
    F_STR("name", NEEDED, .check = format_label),
    F_BOOL("served", REQUIRED),
    F_BOOL("storage", REQUIRED),
    F_BOOL("deprecated"),
    F_STR("deprecationWarning"),
    F_OBJ("schema", &validation),
    F_OBJ("subresources", &subresources),
    F_OBJS("additionalPrinterColumns", &column),
    F_OBJS("selectableFields", &selectable));

SCHEMA(static, conversion, "CustomResourceConversion",
    F_STR("strategy", NEEDED, ONE_OF("None", "Webhook")),
    F_OBJ("webhook", NULL));

SCHEMA(static, spec, "CustomResourceDefinitionSpec",
    F_STR("group", NEEDED, .check = format_subdomain),
    F_OBJ("names", &names, REQUIRED),
    F_STR("scope", NEEDED, ONE_OF("Cluster", "Namespaced")),
    F_OBJS("versions", &version, NEEDED),
    F_OBJ("conversion", &conversion),
    F_BOOL("preserveUnknownFields"));

SCHEMA(static, status, "CustomResourceDefinitionStatus",
    F_OBJS("conditions", &schema_condition),
    F_OBJ("acceptedNames", &names),
    F_STRS("storedVersions"),
    F_LONG("observedGeneration"));

SCHEMA(, schema_definition, "CustomResourceDefinition",
    F_TYPE,
    F_OBJ("metadata", &schema_meta),
    F_OBJ("spec", &spec, REQUIRED),
    F_OBJ("status", &status));
