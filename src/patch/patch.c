/* patch.c - the types of PATCH, and how the API server refuses them */
#include "patch/patch.h"

#include "base/util.h"
#include "json/patch.h"

enum { OPS_MAX = 10000, MANAGER_MAX = 128 };

/* What the API server says for every patch that does not go through. */
#define REJECTED "the server rejected our request due to an error in our request"

static const char *const content_types[PATCH_TYPE_MAX] = {
    [PATCH_JSON] = "application/json-patch+json",
    [PATCH_MERGE] = "application/merge-patch+json",
    [PATCH_STRATEGIC] = "application/strategic-merge-patch+json",
    [PATCH_APPLY] = "application/apply-patch+yaml",
};

int patch_type_of(struct arena *a, struct str content_type, bool is_custom, enum patch_type *ret, struct refusal *why)
{
    struct str rest = content_type, name = STR_NULL;
    autobuf accepted = { 0 };

    (void)str_split(&rest, ';', &name); /* nothing: no type */
    for (int type = 0; type < PATCH_TYPE_MAX; type++) {
        if (is_custom && type == PATCH_STRATEGIC)
            continue;
        if (str_eq_nocase(str_trim(name), str_of(content_types[type]))) {
            *ret = (enum patch_type)type;
            return 0;
        }
        buf_fmt(&accepted, "%s%s", accepted.n ? ", " : "", content_types[type]);
    }
    return refuse(a, why, "UnsupportedMediaType",
                  "the body of the request was in an unknown format - accepted media types include: %.*s",
                  STR_ARG(buf_view(&accepted)));
}

/* ---- options ---- */

static int refuse_option(struct arena *a, struct refusal *why, const char *field, const char *reason, struct str text)
{
    struct json *cause = json_object(a);

    (void)refuse(a, why, "Invalid", "PatchOptions.meta.k8s.io \"\" is invalid: %s: %.*s", field, STR_ARG(text));
    json_add(cause, STR("reason"), json_str(a, str_of(reason)));
    json_add(cause, STR("message"), json_str(a, text));
    json_add(cause, STR("field"), json_str(a, str_of(field)));
    why->causes = json_array(a);
    json_push(why->causes, cause);
    return -1;
}

/* The place of the first byte that cannot be printed; -1: all can. */
static ptrdiff_t find_unprintable(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] < 0x20 || s.p[i] == 0x7f)
            return (ptrdiff_t)i;
    return -1;
}

int patch_options(struct arena *a, enum patch_type type, const struct patch_options *opt, struct refusal *why)
{
    autobuf quoted = { 0 };
    ptrdiff_t at;

    if (type == PATCH_APPLY && !opt->field_manager.n)
        return refuse_option(a, why, "fieldManager", "FieldValueRequired",
                             STR("Required value: is required for apply patch"));
    if (type != PATCH_APPLY && opt->has_force)
        return refuse_option(a, why, "force", "FieldValueForbidden",
                             STR("Forbidden: may not be specified for non-apply patch"));
    if (opt->field_manager.n > MANAGER_MAX)
        return refuse_option(a, why, "fieldManager", "FieldValueTooLong",
                             arena_fmt(a, "Too long: may not be more than %d bytes", MANAGER_MAX));
    at = find_unprintable(opt->field_manager);
    if (at < 0)
        return 0;
    json_print_str(&quoted, opt->field_manager);
    return refuse_option(a, why, "fieldManager", "FieldValueInvalid",
                         arena_fmt(a, "Invalid value: %.*s: invalid character U+%04X (at position %td)",
                                   STR_ARG(buf_view(&quoted)), (unsigned char)opt->field_manager.p[at], at));
}

/* ---- bodies ---- */

/* Nothing of the kind that this type of patch is. */
static int check_body(struct arena *a, enum patch_type type, const struct json *body, struct refusal *why)
{
    static const char *const go_words[JSON_TYPE_MAX] = { "null", "bool", "number", "string", "array", "object" };
    static const char *const wanted[PATCH_TYPE_MAX] = {
        [PATCH_JSON] = "[]handlers.jsonPatchOp",
        [PATCH_MERGE] = "map[string]interface {}",
        [PATCH_STRATEGIC] = "map[string]interface {}",
    };

    if (body->type == (type == PATCH_JSON ? JSON_ARRAY : JSON_OBJECT)) {
        if (type == PATCH_JSON && body->n > OPS_MAX)
            return refuse(a, why, "RequestEntityTooLarge",
                          "Request entity too large: The allowed maximum operations in a JSON patch is %d, got %u",
                          OPS_MAX, body->n);
        return 0;
    }
    return refuse(a, why, "BadRequest", "%sjson: cannot unmarshal %s into Go value of type %s",
                  type == PATCH_STRATEGIC ? "" : "error decoding patch: ", go_words[body->type], wanted[type]);
}

int patch_object(struct arena *a, const struct patch *patch, const struct json *live, struct json **ret,
                 struct refusal *why)
{
    struct json *result = NULL;
    struct err e;

    if (check_body(a, patch->type, patch->body, why) < 0)
        return -1;
    if (patch->type == PATCH_JSON)
        (void)json_patch(a, live, patch->body, &result, &e);
    else if (patch->type == PATCH_MERGE)
        result = json_merge_patch(a, live, patch->body);
    else
        result = json_strategic_patch(a, patch->schema, live, patch->body, &e);
    if (json_is(result, JSON_OBJECT)) {
        *ret = result;
        return 0;
    }
    (void)refuse(a, why, !result && e.code == ERR_TOO_BIG ? "RequestEntityTooLarge" : "Invalid", REJECTED);
    why->detail = arena_str(a, result ? STR("the result is not an object") : str_of(e.text));
    return -1;
}
