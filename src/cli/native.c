/* native.c - which version of scheduling.k8s.io has a cluster's PodGroups */
#include "cli/native.h"

/* A version may be served for the sake of other kinds. */
static bool has_groups(const struct json *list)
{
    JSON_FOREACH(r, json_get(list, "resources"))
        if (str_is(json_member_text(r, "name"), type_native("PodGroup")->plural))
            return true;
    return false;
}

struct str native_api_version(struct arena *a)
{
    return type_api_version(a, type_native("PodGroup"));
}

int native_find(struct kube_ask *ask, struct err *e)
{
    enum native_version before = type_native_version();
    autoarena scratch = { 0 };
    struct json *list;

    for (int v = 0; v < NATIVE_VERSION_MAX; v++) {
        type_native_choose((enum native_version)v);
        if (kube_ask_get(ask, &scratch, arena_cat(&scratch, STR("/apis/"), native_api_version(&scratch)), &list, e) ==
            0) {
            if (has_groups(list))
                return 0;
        } else if (e->code != ERR_NOT_FOUND) {
            type_native_choose(before);
            return -1;
        }
    }
    type_native_choose(before);
    return err_set(e, ERR_NOT_FOUND, "there are no PodGroups of " NATIVE_NAMES);
}
