/* fields.h - rows of schema tables, one short line each, and the formats of text
 *
 *     SCHEMA(static, env_var, "EnvVar",
 *         F_STR("name", NEEDED, .check = format_env),
 *         F_STR("value"),
 *         F_OBJ("valueFrom", &env_source));
 *
 * F_… rows are checked only; D_… rows also name the struct member they decode into. After the fixed arguments come
 * more members of 'struct field' (.max = 63, .check = …) or the short hands below.
 */
#ifndef API_FIELDS_H
#define API_FIELDS_H

#include "base/util.h"
#include "json/schema.h"

#define SCHEMA(storage, var, title, ...)                                                                               \
    static const struct field var##_fields[] = { __VA_ARGS__ };                                                        \
    storage const struct schema var = { title, var##_fields, ARRAY_LEN(var##_fields), 0, FIELD_NO_OFFSET }

/* A schema that decodes into 'type'; 'raw' is where the node goes: offsetof(type, raw) or FIELD_NO_OFFSET. */
#define SCHEMA_DECODED(storage, var, title, type, raw, ...)                                                            \
    static const struct field var##_fields[] = { __VA_ARGS__ };                                                        \
    storage const struct schema var = { title, var##_fields, ARRAY_LEN(var##_fields), sizeof(type), raw }

#define FIELD_ROW(n, k, s, at, ...)                                                                                    \
    {                                                                                                                  \
        .name = n, .name_n = sizeof(n) - 1, .kind = k, .shape = s, .offset = at, __VA_ARGS__                           \
    }
#define F_ROW(n, k, s, ...) FIELD_ROW(n, k, s, FIELD_NO_OFFSET, __VA_ARGS__)

/* ---- checked ---- */

#define F_STR(n, ...)        F_ROW(n, FIELD_STR, SHAPE_ONE, __VA_ARGS__)
#define F_BOOL(n, ...)       F_ROW(n, FIELD_BOOL, SHAPE_ONE, __VA_ARGS__)
#define F_INT(n, ...)        F_ROW(n, FIELD_INT32, SHAPE_ONE, __VA_ARGS__)
#define F_LONG(n, ...)       F_ROW(n, FIELD_INT64, SHAPE_ONE, __VA_ARGS__)
#define F_INT_OR_STR(n, ...) F_ROW(n, FIELD_INT_OR_STR, SHAPE_ONE, __VA_ARGS__)
#define F_OBJ(n, s, ...)     F_ROW(n, FIELD_OBJECT, SHAPE_ONE, .sub = s, __VA_ARGS__)
#define F_ENUM(n, v, ...)    F_ROW(n, FIELD_STR, SHAPE_ONE, .values = v, __VA_ARGS__)
#define F_TIME(n, ...)       F_ROW(n, FIELD_STR, SHAPE_ONE, .check = format_time, __VA_ARGS__)
#define F_DURATION(n, ...)   F_ROW(n, FIELD_STR, SHAPE_ONE, .check = format_duration, __VA_ARGS__)
#define F_QUANTITY(n, ...)   F_ROW(n, FIELD_ANY, SHAPE_ONE, .check = format_quantity, __VA_ARGS__)

#define F_STRS(n, ...)    F_ROW(n, FIELD_STR, SHAPE_LIST, __VA_ARGS__)
#define F_INTS(n, ...)    F_ROW(n, FIELD_INT32, SHAPE_LIST, __VA_ARGS__)
#define F_LONGS(n, ...)   F_ROW(n, FIELD_INT64, SHAPE_LIST, __VA_ARGS__)
#define F_OBJS(n, s, ...) F_ROW(n, FIELD_OBJECT, SHAPE_LIST, .sub = s, __VA_ARGS__)

#define F_STR_MAP(n, ...)    F_ROW(n, FIELD_STR, SHAPE_MAP, __VA_ARGS__)
#define F_INT_MAP(n, ...)    F_ROW(n, FIELD_INT32, SHAPE_MAP, __VA_ARGS__)
#define F_OBJ_MAP(n, s, ...) F_ROW(n, FIELD_OBJECT, SHAPE_MAP, .sub = s, __VA_ARGS__)
#define F_RESOURCES(n, ...)  F_ROW(n, FIELD_ANY, SHAPE_MAP, .check = format_quantity, __VA_ARGS__)

/* apiVersion and kind, which every object begins with. */
#define F_TYPE F_STR("apiVersion"), F_STR("kind")

/* ---- checked and decoded into member 'm' of 't' ---- */

#define D_STR(n, t, m, ...)     FIELD_ROW(n, FIELD_STR, SHAPE_ONE, offsetof(t, m), __VA_ARGS__)
#define D_INT(n, t, m, ...)     FIELD_ROW(n, FIELD_INT32, SHAPE_ONE, offsetof(t, m), __VA_ARGS__)
#define D_LONG(n, t, m, ...)    FIELD_ROW(n, FIELD_INT64, SHAPE_ONE, offsetof(t, m), __VA_ARGS__)
#define D_OBJ(n, t, m, s, ...)  FIELD_ROW(n, FIELD_OBJECT, SHAPE_ONE, offsetof(t, m), .sub = s, __VA_ARGS__)
#define D_STRS(n, t, m, ...)    FIELD_ROW(n, FIELD_STR, SHAPE_LIST, offsetof(t, m), __VA_ARGS__)
#define D_OBJS(n, t, m, s, ...) FIELD_ROW(n, FIELD_OBJECT, SHAPE_LIST, offsetof(t, m), .sub = s, __VA_ARGS__)
#define D_STR_MAP(n, t, m, ...) FIELD_ROW(n, FIELD_STR, SHAPE_MAP, offsetof(t, m), __VA_ARGS__)
#define D_ANY_MAP(n, t, m, ...) FIELD_ROW(n, FIELD_ANY, SHAPE_MAP, offsetof(t, m), __VA_ARGS__)

/* ---- short hands ---- */

#define REQUIRED       .flags = FIELD_REQUIRED
#define NEEDED         .flags = FIELD_REQUIRED | FIELD_NOT_EMPTY /* required, and neither "" nor [] */
#define NOT_EMPTY      .flags = FIELD_NOT_EMPTY
#define POINTER        .flags = FIELD_POINTER
#define DEPRECATED     .flags = FIELD_DEPRECATED
#define MERGED_AS_SET  .flags = FIELD_MERGE
#define MERGED_BY(key) .merge_key = key
#define REPLACED       .flags = FIELD_REPLACE
#define SECRET         .flags = FIELD_SECRET
#define RANGE(lo, hi)  .min = lo, .max = hi
#define AT_LEAST(lo)   .min = lo, .max = INT64_MAX
#define ONE_OF(...)                                                                                                    \
    .values = (const char *const[])                                                                                    \
    {                                                                                                                  \
        __VA_ARGS__, NULL                                                                                              \
    }
#define PORT_NUMBER .min = 1, .max = 65535
#define DOC(text)   .doc = text

/* ---- formats: for .check; "" is fine where Kubernetes reads it as "not set" ---- */

const char *format_quantity(struct arena *a, const struct json *value); /* number or text; with FIELD_ANY */
const char *format_duration(struct arena *a, const struct json *value); /* "1h30m" */
const char *format_time(struct arena *a, const struct json *value);     /* RFC 3339 */
const char *format_base64(struct arena *a, const struct json *value);
const char *format_label(struct arena *a, const struct json *value); /* DNS label */
const char *format_subdomain(struct arena *a, const struct json *value);
const char *format_qualified(struct arena *a, const struct json *value);
const char *format_label_value(struct arena *a, const struct json *value);
const char *format_env(struct arena *a, const struct json *value);
const char *format_config_key(struct arena *a, const struct json *value);
const char *format_port(struct arena *a, const struct json *value);       /* name of a port */
const char *format_port_ref(struct arena *a, const struct json *value);   /* number or name of a port */
const char *format_mount_path(struct arena *a, const struct json *value); /* no ':' */
const char *format_cidr(struct arena *a, const struct json *value);       /* "10.9.8.0/24", "2001:db8::/64" */
const char *format_percent(struct arena *a, const struct json *value);    /* whole number ≥ 0, or "25%" */
const char *format_arguments(struct arena *a, const struct json *value);  /* list of strings; with FIELD_ANY */

#endif
