/* volume_dir.c - emptyDir and claims: directories that a pod may write to */
#include "node/volume/volume_internal.h"

#include "api/meta.h"
#include "api/name.h"
#include "api/quantity.h"

#include <errno.h>
#include <limits.h>
#include <sys/stat.h>

/* ---- emptyDir ---- */

/* Bytes of a quantity given as string or number; 0: unset. */
static int read_bytes(const struct json *j, int64_t *ret, struct err *e)
{
    struct quantity q;

    *ret = 0;
    if (!j || j->type == JSON_NULL)
        return 0;
    if (j->type != JSON_STRING && j->type != JSON_NUMBER)
        return err_set(e, ERR_INVALID, "must be a quantity, not a %s", json_type_name(j->type));
    if (quantity_parse((struct str){ j->text, j->n }, &q, e) < 0)
        return -1;
    *ret = MAX_OF(quantity_units(q), 0);
    return 0;
}

/* The memory limit of the pod: the sum of its containers' limits, if each has one; else 0. A tmpfs counts against it,
 * so a larger one could never be filled. */
static int64_t pod_memory_limit(const struct json *pod)
{
    int64_t sum = 0, bytes;

    JSON_FOREACH(c, json_find(pod, "spec", "containers", NULL)) {
        if (read_bytes(json_find(c, "resources", "limits", "memory", NULL), &bytes, NULL) < 0 || bytes == 0)
            return 0;
        sum = bytes > INT64_MAX - sum ? INT64_MAX : sum + bytes;
    }
    return sum;
}

/* The number of the pod's memory volumes without a sizeLimit. */
static int64_t count_unbounded(const struct json *pod)
{
    int64_t n = 0, bytes;

    JSON_FOREACH(v, json_find(pod, "spec", "volumes", NULL)) {
        const struct json *empty = json_get(v, "emptyDir");

        n += str_is(json_member_text(empty, "medium"), "Memory") &&
             read_bytes(json_get(empty, "sizeLimit"), &bytes, NULL) == 0 && bytes == 0;
    }
    return n;
}

/* Size of a tmpfs: its sizeLimit, at most the memory of pod and node. Without a sizeLimit in a pod without limits,
 * all such volumes of the pod share half of the node's memory, since the kernel cannot reclaim it by killing a
 * process. 0: the node's memory is unknown, the kernel decides. */
static int memory_size(const struct volume_call *c, const struct json *spec, int64_t *ret, struct err *e)
{
    int64_t pod = pod_memory_limit(c->pod), node = 0;

    if (read_bytes(json_get(spec, "sizeLimit"), ret, e) < 0)
        return err_wrap(e, "sizeLimit");
    (void)read_bytes(json_get(c->source->allocatable, "memory"), &node, NULL); /* written by us: a quantity, or unset */
    if (*ret == 0 && pod == 0)
        *ret = node / 2 / MAX_OF(count_unbounded(c->pod), 1);
    else if (*ret == 0 || (pod && pod < *ret))
        *ret = pod;
    if (node && *ret > node)
        *ret = node;
    return 0;
}

static int make_in_memory(struct volume_call *c, struct volume *v, int parent, const struct json *spec, struct err *e)
{
    autoclose int dir = -1;
    int64_t size;

    if (memory_size(c, spec, &size, e) < 0 || make_dir_at(parent, v->name.p, 0777, &dir, e) < 0)
        return -1;
    if (volume_is_mount(dir)) { /* reused from an earlier run */
        v->fd = dir;
        dir = -1;
        return 0;
    }
    return volume_mount_tmpfs(dir, 01777, size, &v->fd, e); /* the default mode of a tmpfs, as with a kubelet */
}

int volume_make_empty(struct volume_call *c, struct volume *v, const struct json *spec, struct err *e)
{
    struct str medium = json_member_text(spec, "medium");
    int parent;

    if (medium.n && !str_is(medium, "Memory"))
        return err_set(e, ERR_INVALID, "emptyDir medium \"%.*s\" is not supported on this node", STR_ARG(medium));
    if (volume_data_root(c->set, &parent, e) < 0)
        return -1;
    if (medium.n && c->set->may_mount)
        return make_in_memory(c, v, parent, spec, e);
    return make_dir_at(parent, v->name.p, 0777, &v->fd, e);
}

/* ---- claims ---- */

/* The directory for all claims of a namespace. A container may leave set-uid root programs in its claim, so other
 * users of the host must not get there. */
static int namespace_dir(const char *claims_dir, struct str namespace, int *ret_fd, struct err *e)
{
    char name[NAME_MAX + 1];
    autoclose int root = -1;

    if (mkdir(claims_dir, 0700) < 0 && errno != EEXIST)
        return io_errno(e, "create %s", claims_dir);
    root = open(claims_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root < 0)
        return io_errno(e, "open %s", claims_dir);
    (void)snprintf(name, sizeof(name), "%.*s", STR_ARG(namespace)); /* a DNS name: short */
    return make_dir_at(root, name, 0700, ret_fd, e);
}

static int claim_dir(struct volume_call *c, struct str claim, int *ret_fd, struct err *e)
{
    struct str namespace = object_namespace(c->pod);
    const char *problem = name_check_dns_label(c->arena, namespace.n ? namespace : STR("default"));
    autoclose int parent = -1;

    if (problem)
        return err_set(e, ERR_INVALID, "metadata.namespace: %s", problem);
    if (!c->source->claims_dir)
        return err_set(e, ERR_INVALID, "this node has no directory for claims; start it with --claims DIR");
    if (namespace_dir(c->source->claims_dir, namespace.n ? namespace : STR("default"), &parent, e) < 0)
        return -1;
    return make_dir_at(parent, arena_cstr(c->arena, claim), 0777, ret_fd, e);
}

static int find_claim(struct volume_call *c, struct str name, const struct json **ret, struct err *e)
{
    const char *problem = name_check_dns_subdomain(c->arena, name);
    const struct json *claim;

    if (problem)
        return err_set(e, ERR_INVALID, "claimName: %s", problem);
    claim = c->source->find ? c->source->find(c->source->ctx, "PersistentVolumeClaim", name) : NULL;
    if (!claim)
        return err_set(e, ERR_NOT_FOUND, "persistentvolumeclaim \"%.*s\" not found", STR_ARG(name));
    if (str_is(json_member_text(json_get(claim, "spec"), "volumeMode"), "Block"))
        return err_set(e, ERR_INVALID, "persistentvolumeclaim \"%.*s\": block volumes are not supported on this node",
                       STR_ARG(name));
    *ret = claim;
    return 0;
}

int volume_make_claim(struct volume_call *c, struct volume *v, const struct json *spec, struct err *e)
{
    struct str name = json_member_text(spec, "claimName");
    const struct json *claim;

    if (find_claim(c, name, &claim, e) < 0)
        return -1;
    v->is_read_only = json_bool(json_get(spec, "readOnly"), false);
    if (claim_dir(c, name, &v->fd, e) < 0)
        return err_wrap(e, "persistentvolumeclaim \"%.*s\"", STR_ARG(name));
    return 0;
}

/* The claim is named "<pod>-<volume>" and must be owned by this pod: other pods and volumes can produce the same
 * name, and anyone can create a claim of that name. */
int volume_make_ephemeral(struct volume_call *c, struct volume *v, const struct json *spec, struct err *e)
{
    struct str name = arena_fmt(c->arena, "%.*s-%.*s", STR_ARG(object_name(c->pod)), STR_ARG(v->name));
    struct str uid = object_uid(c->pod);
    const struct json *claim;

    (void)spec; /* the controller that creates the claim uses the template */
    if (find_claim(c, name, &claim, e) < 0)
        return -1;
    if (uid.n == 0 || !str_eq(object_controller_uid(claim), uid))
        return err_set(e, ERR_FORBIDDEN, "persistentvolumeclaim \"%.*s\" was not created for this pod", STR_ARG(name));
    if (claim_dir(c, name, &v->fd, e) < 0)
        return err_wrap(e, "persistentvolumeclaim \"%.*s\"", STR_ARG(name));
    return 0;
}
