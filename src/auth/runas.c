/* runas.c - the UNIX user and the permissions of a user's pods */
#include "auth/runas.h"

#include "api/pod/container.h"
#include "api/meta.h"
#include "api/pod/security.h"
#include "base/util.h"
#include "base/vec.h"
#include "os/path.h"

#include <pwd.h>

struct texts {
    const struct str *v;
    size_t n;
};

struct runas_rule {
    struct texts users, groups, namespaces, paths;
    enum runas_mode mode;
    bool is_own, has_host_files, has_host_services;
    int64_t uid, gid;
};

struct runas_policy {
    VEC(struct runas_rule) rules;
};

static const char *const mode_names[] = { "nobody", "restricted", "user", "any" };
_Static_assert(ARRAY_LEN(mode_names) == RUNAS_MODE_MAX, "name every mode");

const char *runas_mode_name(enum runas_mode mode)
{
    return mode_names[mode];
}

/* ---- the configuration ---- */

static struct texts read_texts(struct arena *a, const struct place *rule, const char *key, struct problems *ps)
{
    struct place at = place_member(rule, key);
    struct str *v = arena_array(a, struct str, json_count(at.node));
    struct texts t = { v, 0 };

    if (at.node && !json_is(at.node, JSON_ARRAY))
        problem_error(ps, &at, "must be a list");
    else
        JSON_FOREACH(j, at.node) {
            struct place item = place_item(&at, j, t.n);

            if (!json_is(j, JSON_STRING) || !json_text(j, STR_NULL).n)
                problem_error(ps, &item, "must be text");
            v[t.n++] = arena_str(a, json_text(j, STR_NULL));
        }
    return t;
}

static int64_t read_id(const struct place *run_as, const char *key, struct problems *ps)
{
    struct place at = place_member(run_as, key);
    int64_t id;

    if (json_to_i64(at.node, &id) == 0 && id > 0 && id < UINT32_MAX)
        return id;
    problem_error(ps, &at, "must be greater than 0; for root use \"any\"");
    return UINT32_MAX - 1; /* of no user */
}

static void runas_read_mode(const struct place *rule, struct runas_rule *ret, struct problems *ps)
{
    struct place at = place_member(rule, "runAs");
    struct str word = json_text(at.node, STR_NULL);

    ret->mode = RUNAS_NOBODY;
    if (json_is(at.node, JSON_OBJECT)) {
        ret->mode = RUNAS_USER;
        ret->uid = read_id(&at, "uid", ps);
        ret->gid = read_id(&at, "gid", ps);
    } else if (str_is(word, "own")) {
        ret->mode = RUNAS_USER;
        ret->is_own = true;
    } else if (str_is(word, "any")) {
        ret->mode = RUNAS_ANY;
    } else if (str_is(word, "restricted")) {
        ret->mode = RUNAS_RESTRICTED;
    } else if (!str_is(word, "nobody")) {
        problem_error(ps, &at, "must be own, restricted, any, nobody or {uid, gid}");
    }
}

static bool read_flag(const struct place *rule, const char *key, struct runas_rule *r, struct problems *ps)
{
    struct place at = place_member(rule, key);

    if (at.node && !json_is(at.node, JSON_BOOL))
        problem_error(ps, &at, "must be true or false");
    if (r->mode == RUNAS_ANY && at.node && !json_bool(at.node, true))
        problem_error(ps, &at, "is always true for pods that run as \"any\"");
    return r->mode == RUNAS_ANY || json_bool(at.node, false);
}

static void check_paths(const struct place *rule, const struct runas_rule *r, struct problems *ps)
{
    struct place at = place_member(rule, "paths");

    if (r->paths.n && r->mode != RUNAS_USER)
        problem_error(ps, &at, "is only for pods that run as a UNIX user");
    for (size_t i = 0; i < r->paths.n; i++) {
        struct place item = place_item(&at, json_at(at.node, i), i);

        if (!r->paths.v[i].n || r->paths.v[i].p[0] != '/' || str_has(r->paths.v[i], STR("..")))
            problem_error(ps, &item, "must be an absolute path without ..");
    }
}

static void read_rule(struct arena *a, const struct place *at, struct runas_rule *ret, struct problems *ps)
{
    static const char *const known[] = {
        "users", "groups", "namespaces", "paths", "runAs", "hostFiles", "hostServices"
    };

    JSON_FOREACH(j, at->node) {
        struct place member = { at, j, json_key(j), 0 };
        bool is_known = false;

        for (size_t i = 0; i < ARRAY_LEN(known); i++)
            is_known |= str_is(json_key(j), known[i]);
        if (!is_known) /* a misread rule could grant access */
            problem_error(
                ps, &member,
                "is not known; a rule has users, groups, namespaces, runAs, paths, hostFiles and hostServices");
    }
    ret->users = read_texts(a, at, "users", ps);
    ret->groups = read_texts(a, at, "groups", ps);
    ret->namespaces = read_texts(a, at, "namespaces", ps);
    ret->paths = read_texts(a, at, "paths", ps);
    runas_read_mode(at, ret, ps);
    ret->has_host_files = read_flag(at, "hostFiles", ret, ps);
    ret->has_host_services = read_flag(at, "hostServices", ret, ps);
    check_paths(at, ret, ps);
}

struct runas_policy *runas_parse(struct arena *a, const struct place *jobs, struct problems *ps)
{
    struct runas_policy *p = arena_new(a, struct runas_policy);
    size_t i = 0;

    if (jobs->node && !json_is(jobs->node, JSON_ARRAY)) {
        problem_error(ps, jobs, "must be a list of rules");
        return p;
    }
    JSON_FOREACH(j, jobs->node) {
        struct place at = place_item(jobs, j, i++);

        if (!json_is(j, JSON_OBJECT))
            problem_error(ps, &at, "must be a rule");
        else
            read_rule(a, &at, vec_push(a, &p->rules), ps);
    }
    return p;
}

bool runas_needs_root(const struct runas_policy *p)
{
    VEC_FOREACH(r, &p->rules)
        if (r->mode == RUNAS_USER)
            return true;
    return false;
}

/* ---- which rule ---- */

static bool has_text(const struct texts *t, struct str text)
{
    for (size_t i = 0; i < t->n; i++)
        if (str_eq(t->v[i], text))
            return true;
    return false;
}

static bool has_group(const struct texts *t, const struct identity *who)
{
    for (size_t i = 0; i < t->n; i++)
        if (identity_has_group(who, t->v[i]))
            return true;
    return false;
}

static const struct runas_rule *rule_for(const struct runas_policy *p, const struct identity *who, struct str namespace)
{
    for (size_t i = 0; p && i < p->rules.n; i++) {
        const struct runas_rule *r = &p->rules.v[i];

        if ((!r->users.n || has_text(&r->users, who->user)) && (!r->groups.n || has_group(&r->groups, who)) &&
            (!r->namespaces.n || has_text(&r->namespaces, namespace)))
            return r;
    }
    return NULL;
}

static int64_t own_uid(const struct identity *who)
{
    int64_t uid;

    for (size_t i = 0; i < who->n_extra; i++)
        if (str_is(who->extra[i].key, RUNAS_UID_EXTRA) && who->extra[i].n_values == 1 &&
            str_to_i64(who->extra[i].values[0], &uid) == 0)
            return uid;
    return -1;
}

static int64_t runas_group_of(int64_t uid)
{
    struct passwd entry, *found = NULL;
    char text[4096];

    if (getpwuid_r((uid_t)uid, &entry, text, sizeof(text), &found) != 0 || !found)
        return uid; /* not in the database: a group of its own */
    return found->pw_gid;
}

/* ---- what the pod asks for ---- */

struct runas_check {
    const struct runas_decision *decision;
    const struct texts *paths;
    const struct identity *who;
    struct problems *ps;
};

static bool is_allowed_path(const struct runas_check *c, const struct place *at)
{
    struct str path = json_text(json_get(at->node, "path"), STR_NULL);

    if (!str_is(at->key, "hostPath") || !path.n || str_has(path, STR("..")))
        return false;
    for (size_t i = 0; i < c->paths->n; i++)
        if (str_eq(path, c->paths->v[i]) || path_is_below(path, c->paths->v[i]))
            return true;
    return false;
}

static void on_finding(void *ctx, const struct place *at, const struct security_rule *rule)
{
    const struct runas_check *c = ctx;

    if (!is_allowed_path(c, at))
        problem_error(c->ps, at, "%s (pods of %.*s run as UNIX user %lld)", rule->must, STR_ARG(c->who->user),
                      (long long)c->decision->uid);
}

static void check_id(const struct runas_check *c, const struct place *context, const char *key, int64_t want)
{
    struct place at = place_member(context, key);
    int64_t id;

    if (at.node && at.node->type != JSON_NULL && (json_to_i64(at.node, &id) < 0 || id != want))
        problem_error(c->ps, &at, "must be absent or %lld: pods of %.*s run as this id", (long long)want,
                      STR_ARG(c->who->user));
}

static void check_groups(const struct runas_check *c, const struct place *context)
{
    struct place groups = place_member(context, "supplementalGroups");
    size_t i = 0;

    check_id(c, context, "fsGroup", c->decision->gid);
    JSON_FOREACH(j, groups.node) {
        struct place at = place_item(&groups, j, i++);

        if (json_i64(j, -1) != c->decision->gid)
            problem_error(c->ps, &at, "must be %lld, or the list must be absent", (long long)c->decision->gid);
    }
}

/* Ids of a user namespace (node/userns/id_range.h). */
static void check_in_range(const struct place *at, struct problems *ps)
{
    int64_t id;

    if (json_to_i64(at->node, &id) == 0 && (id < 0 || id > TENANT_ID_MAX))
        problem_error(ps, at, "must be 0 to %d, the ids in the user namespace of the pod", TENANT_ID_MAX);
}

static void runas_check_range(const struct place *pod, struct problems *ps)
{
    static const char *const keys[] = { "runAsUser", "runAsGroup", "fsGroup" };
    struct place spec = place_member(pod, "spec"), context = place_member(&spec, "securityContext"),
                 groups = place_member(&context, "supplementalGroups");
    size_t i = 0;

    for (size_t k = 0; k < ARRAY_LEN(keys); k++) {
        struct place at = place_member(&context, keys[k]);

        check_in_range(&at, ps);
    }
    JSON_FOREACH(j, groups.node) {
        struct place at = place_item(&groups, j, i++);

        check_in_range(&at, ps);
    }
    for (size_t l = 0; l < CONTAINER_LISTS; l++) {
        struct place list = place_member(&spec, container_lists[l]);

        i = 0;
        JSON_FOREACH(j, list.node) {
            struct place item = place_item(&list, j, i++), own = place_member(&item, "securityContext");

            for (size_t k = 0; k < ARRAY_LEN(keys); k++) {
                struct place at = place_member(&own, keys[k]);

                check_in_range(&at, ps);
            }
        }
    }
}

static void check_ids(const struct runas_check *c, const struct place *pod)
{
    struct place spec = place_member(pod, "spec"), context = place_member(&spec, "securityContext");

    check_id(c, &context, "runAsUser", c->decision->uid);
    check_id(c, &context, "runAsGroup", c->decision->gid);
    check_groups(c, &context);
    for (size_t k = 0; k < CONTAINER_LISTS; k++) {
        struct place list = place_member(&spec, container_lists[k]);
        size_t i = 0;

        JSON_FOREACH(j, list.node) {
            struct place at = place_item(&list, j, i++), own = place_member(&at, "securityContext");

            check_id(c, &own, "runAsUser", c->decision->uid);
            check_id(c, &own, "runAsGroup", c->decision->gid);
        }
    }
}

/* What it lacks is put in first (into a copy): only what it asks for counts against it. */
static void check_user(const struct runas_check *c, const struct place *pod)
{
    autoarena a = { 0 };
    struct place whole = *pod;
    struct json *copy = json_copy(&a, pod->node);

    check_ids(c, pod);
    runas_apply(&a, c->decision, copy);
    whole.node = copy;
    pod_security_walk(&whole, on_finding, (void *)c);
}

static struct runas_decision decision_for(const struct runas_rule *r, const struct identity *who)
{
    struct runas_decision d = { .mode = RUNAS_RESTRICTED };

    if (!r)
        d.mode = identity_has_group(who, STR(GROUP_MASTERS)) ? RUNAS_ANY : RUNAS_RESTRICTED;
    else
        d = (struct runas_decision){ r->mode, r->uid, r->gid, r->has_host_files, r->has_host_services };
    if (r && r->is_own) {
        d.uid = own_uid(who);
        d.gid = d.uid > 0 ? runas_group_of(d.uid) : 0;
    }
    return d;
}

struct runas_decision runas_decide(const struct runas_policy *policy, const struct identity *who, struct str namespace,
                                   const struct place *pod, struct problems *ps)
{
    const struct runas_rule *r = rule_for(policy, who, namespace);
    struct runas_decision d = decision_for(r, who);
    struct place spec = place_member(pod, "spec");

    if (d.mode == RUNAS_USER && (d.uid <= 0 || d.gid <= 0)) {
        problem_error(ps, &spec, "%.*s has no UNIX user other than root to run pods as; see 'pumice server user'",
                      STR_ARG(who->user));
        d.mode = RUNAS_NOBODY;
    } else if (d.mode == RUNAS_NOBODY) {
        problem_error(ps, &spec, "%.*s may not run pods on this machine", STR_ARG(who->user));
    } else if (d.mode == RUNAS_RESTRICTED) {
        pod_security_check(pod, ps);
        runas_check_range(pod, ps);
    } else if (d.mode == RUNAS_USER) {
        check_user(&(struct runas_check){ &d, &r->paths, who, ps }, pod);
    }
    return d;
}

/* ---- making it so ---- */

static void set_missing(struct json *j, const char *key, struct json *value)
{
    const struct json *have = json_get(j, key);

    if (!have || have->type == JSON_NULL)
        json_set(j, key, value);
}

static void close_container(struct arena *a, struct json *container)
{
    struct json *context = json_need_object(a, container, "securityContext"), *capabilities, *drop;

    if (!context)
        return;
    set_missing(context, "allowPrivilegeEscalation", json_bool_new(a, false));
    capabilities = json_need_object(a, context, "capabilities");
    if (!capabilities || json_get(capabilities, "drop"))
        return;
    drop = json_set(capabilities, "drop", json_array(a));
    json_push(drop, json_str(a, STR("ALL")));
}

void runas_apply(struct arena *a, const struct runas_decision *d, struct json *pod)
{
    struct json *spec = json_get(pod, "spec"), *context, *profile;
    struct tenant t = { true, d->mode == RUNAS_RESTRICTED, d->has_host_files, d->has_host_services };

    if (d->mode == RUNAS_RESTRICTED || d->mode == RUNAS_USER)
        object_set_annotation(a, pod, TENANT_ANNOTATION, tenant_text(a, &t));
    context = d->mode == RUNAS_USER ? json_need_object(a, spec, "securityContext") : NULL;
    if (!context)
        return;
    object_set_annotation(a, pod, HOST_USER_ANNOTATION,
                          arena_fmt(a, "%lld:%lld", (long long)d->uid, (long long)d->gid));
    set_missing(context, "runAsUser", json_int(a, d->uid));
    set_missing(context, "runAsGroup", json_int(a, d->gid));
    set_missing(context, "runAsNonRoot", json_bool_new(a, true));
    profile = json_object(a);
    json_set(profile, "type", json_str(a, STR("RuntimeDefault")));
    set_missing(context, "seccompProfile", profile);
    CONTAINER_FOREACH(c, spec)
        close_container(a, c);
}
