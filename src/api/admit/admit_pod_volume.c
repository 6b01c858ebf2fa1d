/* admit_pod_volume.c - volumes of a pod template and their mounts */
#include "api/admit/admit_internal.h"

#include "base/util.h"

/* ---- files in a volume ---- */

static void check_items(struct check *c, const struct place *source)
{
    struct place items = place_list(source, "items");

    PLACE_FOREACH(item, &items) {
        struct place path = place_member(&item, "path");

        check_inner_path(c, &path);
    }
}

static void check_downward_items(struct check *c, const struct place *source)
{
    static const char *const refs[] = { "fieldRef", "resourceFieldRef" };
    struct place items = place_list(source, "items");

    check_items(c, source);
    PLACE_FOREACH(item, &items) {
        struct place field = place_object(&item, refs[0]), resource = place_object(&item, refs[1]);

        (void)check_one_of(c, &item, refs, ARRAY_LEN(refs), "reference");
        if (field.node)
            pod_field_ref_rules(c, &field, true);
        if (resource.node)
            pod_resource_ref_rules(c, &resource, true);
    }
}

/* ---- sources: what the schema tables do not say ---- */

static void config_map_rules(struct check *c, const struct place *source)
{
    (void)check_required(c, source, "name");
    check_items(c, source);
}

static void secret_rules(struct check *c, const struct place *source)
{
    (void)check_required(c, source, "secretName");
    check_items(c, source);
}

static void empty_dir_rules(struct check *c, const struct place *source)
{
    struct place limit = place_member(source, "sizeLimit"), medium = place_member(source, "medium");
    struct str text = json_text(medium.node, STR(""));
    struct quantity q;

    (void)check_quantity(c, &limit, &q);
    if (text.n && !str_is(text, "Memory") && !str_is(text, "HugePages") && !str_starts(text, STR("HugePages-")))
        check_warn(c, &medium, "is not \"\", Memory, HugePages or HugePages-<size> (got \"%.*s\"): no node can make it",
                   STR_ARG(text));
}

static void host_path_rules(struct check *c, const struct place *source)
{
    struct place path = place_member(source, "path");

    check_no_dotdot(c, &path);
}

static void nfs_rules(struct check *c, const struct place *source)
{
    struct place path = place_member(source, "path");
    struct str text = json_text(path.node, STR(""));

    if (text.n && text.p[0] != '/')
        check_error(c, &path, "must be an absolute path (got \"%.*s\")", STR_ARG(text));
}

static void ephemeral_rules(struct check *c, const struct place *source)
{
    (void)check_required(c, source, "volumeClaimTemplate");
}

static void named_rules(struct check *c, const struct place *source)
{
    (void)check_required(c, source, "name");
    check_items(c, source);
}

static void token_rules(struct check *c, const struct place *source)
{
    struct place path = place_member(source, "path");

    check_inner_path(c, &path);
    check_range(c, source, "expirationSeconds", 600, (int64_t)1 << 32); /* Kubernetes' limits: 10 minutes, 136 years */
}

static void trust_rules(struct check *c, const struct place *source)
{
    static const char *const by[] = { "name", "signerName" };
    struct place path = place_member(source, "path");

    check_inner_path(c, &path);
    (void)check_one_of(c, source, by, ARRAY_LEN(by), "choice of bundles");
}

typedef void (*source_rules_f)(struct check *, const struct place *);

struct admit_pod_volume_source {
    const char *name;
    source_rules_f rules; /* NULL: none beyond the schema */
};

static const struct admit_pod_volume_source projections[] = {
    { "secret", named_rules },
    { "configMap", named_rules },
    { "downwardAPI", check_downward_items },
    { "serviceAccountToken", token_rules },
    { "clusterTrustBundle", trust_rules },
    { "podCertificate", NULL },
};

static int source_rules(struct check *c, const struct place *at, const struct admit_pod_volume_source *sources,
                        size_t n, const char *what)
{
    const char *names[40];
    int found;

    for (size_t i = 0; i < n && i < ARRAY_LEN(names); i++)
        names[i] = sources[i].name;
    found = check_at_most_one(c, at, names, MIN_OF(n, ARRAY_LEN(names)), what);
    if (found >= 0 && sources[found].rules) {
        struct place source = place_object(at, sources[found].name);

        if (source.node)
            sources[found].rules(c, &source);
    }
    return found;
}

/* Two files of a projected volume cannot have one path. */
static void check_projected_path(struct check *c, struct name_map *paths, const struct place *up)
{
    struct place at = place_member(up, "path");
    struct str path = json_text(at.node, STR(""));

    if (path.n && !name_map_add(c->arena, paths, path, 0, NULL))
        check_error(c, &at, "conflicting duplicate path \"%.*s\" in this volume", STR_ARG(path));
}

static void projected_rules(struct check *c, const struct place *source)
{
    struct place sources = place_list(source, "sources");
    struct name_map paths = { 0 };

    PLACE_FOREACH(item, &sources) {
        if (!json_is(item.node, JSON_OBJECT))
            continue;
        if (source_rules(c, &item, projections, ARRAY_LEN(projections), "projection") < 0)
            check_warn(c, &item, "names no projection: it adds no files");
        for (size_t i = 0; i < ARRAY_LEN(projections); i++) {
            struct place kind = place_object(&item, projections[i].name), files = place_list(&kind, "items");

            check_projected_path(c, &paths, &kind);
            PLACE_FOREACH(file, &files)
                check_projected_path(c, &paths, &file);
        }
    }
}

static const struct admit_pod_volume_source volume_sources[] = {
    { "emptyDir", empty_dir_rules },
    { "hostPath", host_path_rules },
    { "configMap", config_map_rules },
    { "secret", secret_rules },
    { "persistentVolumeClaim", NULL },
    { "projected", projected_rules },
    { "downwardAPI", check_downward_items },
    { "ephemeral", ephemeral_rules },
    { "csi", NULL },
    { "image", NULL },
    { "nfs", nfs_rules },
    { "iscsi", NULL },
    { "fc", NULL },
    { "flexVolume", NULL },
    { "cephfs", NULL },
    { "cinder", NULL },
    { "rbd", NULL },
    { "glusterfs", NULL },
    { "gitRepo", NULL },
    { "flocker", NULL },
    { "quobyte", NULL },
    { "scaleIO", NULL },
    { "storageos", NULL },
    { "portworxVolume", NULL },
    { "gcePersistentDisk", NULL },
    { "awsElasticBlockStore", NULL },
    { "azureFile", NULL },
    { "azureDisk", NULL },
    { "vsphereVolume", NULL },
    { "photonPersistentDisk", NULL },
};
_Static_assert(ARRAY_LEN(volume_sources) <= 40, "see source_rules");

/* ---- volumes ---- */

/* The API server makes an emptyDir of a volume that has nothing but a name. A source that we do not know is accepted:
 * the schema has warned about it. */
static void check_volume(struct pod_check *pc, const struct place *volume)
{
    struct place at = place_member(volume, "name");
    struct str name = json_text(at.node, STR(""));
    int found;

    if (name.n && !name_map_add(pc->c->arena, &pc->volumes, name, volume->index, NULL))
        check_error(pc->c, &at, "duplicate volume name \"%.*s\"", STR_ARG(name));
    found = source_rules(pc->c, volume, volume_sources, ARRAY_LEN(volume_sources), "volume type");
    if (found < 0 && json_count(volume->node) <= 1)
        check_warn(pc->c, volume, "has no source: it will be an emptyDir; write \"emptyDir: {}\" if that is meant");
}

void pod_volume_rules(struct pod_check *pc)
{
    struct place volumes = place_list(pc->spec, "volumes");
    struct place any = place_member(pc->spec, "volumes");

    pc->has_broken_volumes = problems_error_below(pc->c->ps, &any);
    PLACE_FOREACH(volume, &volumes)
        if (json_is(volume.node, JSON_OBJECT))
            check_volume(pc, &volume);
}

/* ---- mounts ---- */

static void check_volume_name(struct pod_check *pc, const struct place *up)
{
    struct place at = place_member(up, "name");
    struct str name = json_text(at.node, STR(""));

    if (name.n && !pc->has_broken_volumes && !name_map_find(&pc->volumes, name, NULL))
        check_error(pc->c, &at, "not found: the pod has no volume \"%.*s\"", STR_ARG(name));
}

static void check_mount(struct pod_check *pc, const struct place *mount, const struct json *container)
{
    struct place sub = place_member(mount, "subPath"), expr = place_member(mount, "subPathExpr");
    struct place propagation = place_member(mount, "mountPropagation"), deep = place_member(mount, "recursiveReadOnly");
    struct place path = place_member(mount, "mountPath");
    struct str deep_text = json_text(deep.node, STR(""));

    check_volume_name(pc, mount);
    if (str_has_char(json_text(path.node, STR("")), ':'))
        check_warn(pc->c, &path, "contains ':': some container runtimes cannot mount it");
    check_inner_path(pc->c, &sub);
    check_inner_path(pc->c, &expr);
    if (json_text(sub.node, STR("")).n && json_text(expr.node, STR("")).n)
        check_error(pc->c, &expr, "subPathExpr and subPath are mutually exclusive");
    if (str_is(json_text(propagation.node, STR("")), "Bidirectional") &&
        !json_bool(json_find(container, "securityContext", "privileged", NULL), false))
        check_error(pc->c, &propagation, "Bidirectional mount propagation is available only to privileged containers");
    if (deep_text.n && !str_is(deep_text, "Disabled") && !json_bool(json_get(mount->node, "readOnly"), false))
        check_error(pc->c, &deep, "may only be set when readOnly is true");
}

void pod_mount_rules(struct pod_check *pc, const struct place *container)
{
    struct place mounts = place_list(container, "volumeMounts"), devices = place_list(container, "volumeDevices");
    struct name_map paths = { 0 };

    PLACE_FOREACH(mount, &mounts) {
        struct place at = place_member(&mount, "mountPath");
        struct str path = json_text(at.node, STR(""));

        check_mount(pc, &mount, container->node);
        if (path.n && !name_map_add(pc->c->arena, &paths, path, 0, NULL))
            check_of(pc->c, PROBLEM_DUPLICATE, &at, "must be unique: \"%.*s\" is mounted already", STR_ARG(path));
    }
    PLACE_FOREACH(device, &devices) {
        struct place at = place_member(&device, "devicePath");
        struct str path = json_text(at.node, STR(""));

        check_volume_name(pc, &device);
        check_no_dotdot(pc->c, &at);
        if (path.n && !name_map_add(pc->c->arena, &paths, path, 0, NULL))
            check_of(pc->c, PROBLEM_DUPLICATE, &at, "must be unique: \"%.*s\" is used already", STR_ARG(path));
    }
}
