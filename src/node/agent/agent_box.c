/* agent_box.c - a container of the API as a box: image, command, variables, mounts, identity, limits
 *
 * Done for each start, from the objects as they are then: a key that was missing may be there the next time. The order
 * is that of what needs what: devices bring variables, variables are expanded in the command and in subPaths, and
 * mounts, which are descriptors, come last, so that a failure before them has nothing to close. The reason of a failure
 * is Kubernetes' word for the part that failed.
 */
#include "node/agent/agent_internal.h"

#include "api/pod/container.h"
#include "api/meta.h"
#include "api/pod/resources.h"
#include "node/env/vars.h"
#include "node/container/host_layer.h"
#include "os/path.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#define PATH_DEFAULT "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

enum { PIDS_MAX = 4096, MOUNTS_EXTRA = 8 };

struct building {
    struct agent_pod *p;
    struct arena *arena;
    const struct life_action *action;
    const struct json *container, *pod; /* 'pod' with the status as it is now */
    const struct image *image;
    struct device_grant grant;
    struct vars env;
    struct box_build *ret;
};

/* ---- paths of the container on the host ---- */

struct str agent_termination_path(struct agent_pod *p, struct arena *a, struct str container, int attempt)
{
    return arena_fmt(a, "%s/%.*s.%d.termination-log", p->small.p, STR_ARG(container), attempt);
}

struct str agent_log_path(struct agent_pod *p, struct arena *a, struct str container, int attempt)
{
    return arena_fmt(a, "%s/logs/%.*s/%.*s.%d.log", p->agent->run.dir.p, STR_ARG(p->object->uid), STR_ARG(container),
                     attempt);
}

/* ---- what to run ---- */

static int add_word(struct building *b, const char *list, size_t i, struct str word, struct err *e)
{
    if (vars_take(&b->env, word, arena_fmt(b->arena, "%s[%zu]", list, i).p, e) < 0)
        return -1;
    *vec_push(b->arena, &b->ret->spec.argv) = word;
    return 0;
}

static int agent_box_add_list(struct building *b, const char *list, struct err *e)
{
    size_t i = 0;

    JSON_FOREACH(item, json_get(b->container, list)) {
        struct str word;

        if (vars_expand(&b->env, json_text(item, STR_NULL), &word, NULL, e) < 0)
            return err_wrap(e, "%s[%zu]", list, i);
        if (add_word(b, list, i++, word, e) < 0)
            return -1;
    }
    return 0;
}

static int add_of_image(struct building *b, const char *list, const struct str *words, size_t n, struct err *e)
{
    for (size_t i = 0; i < n; i++)
        if (add_word(b, list, i, words[i], e) < 0)
            return -1;
    return 0;
}

/* command replaces the image's entrypoint and its cmd; args replaces its cmd. */
static int collect_argv(struct building *b, struct err *e)
{
    bool has_command = json_count(json_get(b->container, "command")),
         has_args = json_count(json_get(b->container, "args"));
    const struct image *image = b->image;

    if ((has_command ? agent_box_add_list(b, "command", e)
                     : add_of_image(b, "the image's entrypoint", image->entrypoint.v, image->entrypoint.n, e)) < 0)
        return -1;
    if (has_args && agent_box_add_list(b, "args", e) < 0)
        return -1;
    if (!has_args && !has_command && add_of_image(b, "the image's command", image->cmd.v, image->cmd.n, e) < 0)
        return -1;
    return 0;
}

static int build_argv(struct building *b, struct err *e)
{
    if (collect_argv(b, e) < 0)
        return err_wrap(e, "container \"%.*s\"", STR_ARG(b->action->name));
    if (b->ret->spec.argv.n)
        return 0;
    return err_set(
        e, ERR_INVALID,
        "container \"%.*s\" has no command, and neither has its image (%.*s); set \"command\", or give the image with "
        "--image %.*s=DIR|archive.tar",
        STR_ARG(b->action->name), STR_ARG(b->image->said), STR_ARG(b->image->name));
}

static int env_default(struct vars *env, struct str name, struct str value, struct err *e)
{
    struct str old;

    return vars_get(env, name, &old) ? 0 : vars_put(env, name, value, e);
}

static int env_put_list(struct vars *env, const struct str *list, size_t n, struct err *e)
{
    for (size_t i = 0; i < n; i++) {
        ptrdiff_t at = str_find_char(list[i], '=');

        if (at > 0 && vars_put(env, str_sub(list[i], 0, (size_t)at), str_from(list[i], (size_t)at + 1), e) < 0)
            return -1;
    }
    return 0;
}

/* An image does not know where the driver's libraries are on this host. */
static int env_libraries(struct building *b, struct err *e)
{
    struct str path = b->grant.library_path, old;

    if (b->image->root.n == 0 || path.n == 0)
        return 0;
    if (vars_get(&b->env, STR("LD_LIBRARY_PATH"), &old) && old.n)
        path = arena_fmt(b->arena, "%.*s:%.*s", STR_ARG(old), STR_ARG(path));
    return vars_put(&b->env, STR("LD_LIBRARY_PATH"), path, e);
}

static int collect_env(struct building *b, struct err *e)
{
    struct vars *env = &b->env;

    if (env_put_list(env, b->image->env.v, b->image->env.n, e) < 0 ||
        env_put_list(env, b->grant.env.v, b->grant.env.n, e) < 0 ||
        env_default(env, STR("PATH"), STR(PATH_DEFAULT), e) < 0 ||
        agent_env(&(struct agent_env_of){ b->p, b->arena, b->pod, b->container }, env, e) < 0)
        return -1;
    if (b->ret->spec.uid <= 0 && b->image->user.n == 0 && env_default(env, STR("HOME"), STR("/root"), e) < 0)
        return -1;
    return env_libraries(b, e);
}

/* A runtime of NVIDIA's gives a container what this variable says, and all GPUs if an image for CUDA says nothing. With
 * our own boxes it is a word for programs, and theirs to change. */
static int env_granted(struct building *b, struct err *e)
{
    static const struct str name = STR_INIT("NVIDIA_VISIBLE_DEVICES");
    struct str value = STR("void");

    if (!b->p->agent->opt.oci_runtime || b->ret->spec.is_privileged)
        return 0;
    VEC_FOREACH(var, &b->grant.env)
        if (str_starts(*var, name) && var->p[name.n] == '=')
            value = str_from(*var, name.n + 1);
    return vars_put(&b->env, name, value, e);
}

/* Variables say which other nodes of the driver are wanted. */
static void build_asked_nodes(struct building *b)
{
    size_t known = b->grant.nodes.n;
    struct str asked;

    if (!b->p->agent->opt.devices || !vars_get(&b->env, STR("NVIDIA_DRIVER_CAPABILITIES"), &asked))
        return;
    devices_ask(b->p->agent->opt.devices, b->arena, asked, &b->grant);
    for (size_t i = known; i < b->grant.nodes.n; i++)
        vec_push(b->arena, &b->ret->spec.devices)->host = b->grant.nodes.v[i];
}

static int build_env(struct building *b, struct err *e)
{
    if (collect_env(b, e) < 0 || env_granted(b, e) < 0)
        return err_wrap(e, "container \"%.*s\"", STR_ARG(b->action->name));
    VEC_FOREACH(entry, &b->env.list)
        *vec_push(b->arena, &b->ret->spec.env) = *entry;
    build_asked_nodes(b);
    return 0;
}

/* ---- user, groups and capabilities ---- */

static const struct json *security(const struct building *b, const char *key)
{
    const struct json *own = json_find(b->container, "securityContext", key, NULL);

    return own ? own : json_find(b->p->object->root, "spec", "securityContext", key, NULL);
}

static void build_caps(struct building *b, const char *key, struct box_spec *s, bool is_add)
{
    JSON_FOREACH(cap, json_find(b->container, "securityContext", "capabilities", key, NULL)) {
        if (is_add)
            *vec_push(b->arena, &s->add_caps) = json_text(cap, STR_NULL);
        else
            *vec_push(b->arena, &s->drop_caps) = json_text(cap, STR_NULL);
    }
}

static void build_groups(struct building *b, struct box_spec *s)
{
    const struct json *context = json_find(b->p->object->root, "spec", "securityContext", NULL),
                      *fs_group = json_get(context, "fsGroup");

    if (fs_group)
        *vec_push(b->arena, &s->groups) = (uint32_t)json_i64(fs_group, 0);
    JSON_FOREACH(group, json_get(context, "supplementalGroups"))
        *vec_push(b->arena, &s->groups) = (uint32_t)json_i64(group, 0);
}

static void build_identity(struct building *b)
{
    const struct json *own = json_get(b->container, "securityContext");
    struct tenant tenant = agent_tenant(b->p);
    struct box_spec *s = &b->ret->spec;

    s->user = b->image->user;
    s->uid = json_i64(security(b, "runAsUser"), -1);
    s->gid = json_i64(security(b, "runAsGroup"), -1);
    s->must_not_be_root = json_bool(security(b, "runAsNonRoot"), false);
    s->is_privileged = json_bool(json_get(own, "privileged"), false);
    s->has_new_privileges_off = !json_bool(json_get(own, "allowPrivilegeEscalation"), true);
    s->is_root_read_only = json_bool(json_get(own, "readOnlyRootFilesystem"), false);
    s->has_no_seccomp = s->is_privileged ||
                        str_is(json_member_text(security(b, "seccompProfile"), "type"), "Unconfined");
    s->has_host_pids = json_bool(json_find(b->p->object->root, "spec", "hostPID", NULL), false);
    s->has_stdin = json_bool(json_get(b->container, "stdin"), false);
    s->target = json_member_text(b->container, "targetContainerName");
    s->is_stdin_once = json_bool(json_get(b->container, "stdinOnce"), false);
    s->has_tty = json_bool(json_get(b->container, "tty"), false) && !b->p->agent->opt.oci_runtime;
    s->has_only_groups = str_is(json_text(security(b, "supplementalGroupsPolicy"), STR_NULL), "Strict") ||
                         (tenant.is_tenant && !tenant.has_own_ids);
    s->has_no_root_group = tenant.is_tenant;
    build_caps(b, "add", s, true);
    build_caps(b, "drop", s, false);
    build_groups(b, s);
}

/* ---- limits ---- */

static int64_t agent_box_amount(const struct json *resources, const char *list, const char *name, bool is_milli)
{
    struct quantity q;
    const struct json *j = json_find(resources, list, name, NULL);
    autobuf text = { 0 };

    if (json_is(j, JSON_STRING))
        buf_str(&text, json_text(j, STR_NULL));
    else if (json_is(j, JSON_NUMBER))
        json_print(&text, j);
    if (text.n == 0 || quantity_parse(buf_view(&text), &q, NULL) < 0)
        return 0;
    return is_milli ? quantity_milli(q) : quantity_units(q);
}

void agent_container_limits(const struct json *r, struct cgroup_limits *ret)
{
    *ret = (struct cgroup_limits){
        .cpu_milli = agent_box_amount(r, "limits", "cpu", true),
        .cpu_shares_milli = agent_box_amount(r, "requests", "cpu", true),
        .memory_bytes = agent_box_amount(r, "limits", "memory", false),
    };
    if (!ret->cpu_shares_milli)
        ret->cpu_shares_milli = ret->cpu_milli;
}

static bool all_have(const struct json *containers, const char *name)
{
    JSON_FOREACH(c, containers)
        if (!json_find(c, "resources", "limits", name, NULL))
            return false;
    return json_count(containers) > 0;
}

/* A pod is limited as a whole only where every container is: one without a limit may use what is there. */
void agent_spec_limits(const struct agent_pod *p, const struct json *spec, struct cgroup_limits *ret)
{
    autoarena a = { 0 };
    const struct json *containers = json_get(spec, "containers");
    struct resources limits = { 0 }, requests = { 0 };
    const struct quantity *cpu, *memory, *share;

    pod_limits(&a, spec, &limits);
    pod_requests(&a, spec, &requests);
    cpu = resources_get(&limits, STR("cpu"));
    memory = resources_get(&limits, STR("memory"));
    share = resources_get(&requests, STR("cpu"));
    *ret = (struct cgroup_limits){ .pids = p->agent->opt.pids_limit ? p->agent->opt.pids_limit : PIDS_MAX };
    if (cpu && all_have(containers, "cpu"))
        ret->cpu_milli = quantity_milli(*cpu);
    if (memory && all_have(containers, "memory"))
        ret->memory_bytes = quantity_units(*memory);
    if (share)
        ret->cpu_shares_milli = quantity_milli(*share);
}

void agent_pod_limits(const struct agent_pod *p, struct cgroup_limits *ret)
{
    autoarena a = { 0 };

    agent_spec_limits(p, life_sized_spec(p->life, &a), ret);
}

struct str agent_only_container(const struct agent_pod *p)
{
    const struct json *spec = json_get(p->object->root, "spec"), *containers = json_get(spec, "containers");
    struct cgroup_limits all, own;

    if (p->agent->opt.oci_runtime || json_count(containers) != 1 || json_count(json_get(spec, "initContainers")) ||
        json_bool(json_get(spec, "hostPID"), false) || json_bool(json_get(spec, "shareProcessNamespace"), false))
        return STR_NULL;
    agent_spec_limits(p, spec, &all);
    agent_container_limits(json_get(json_at(containers, 0), "resources"), &own);
    if (all.cpu_milli != own.cpu_milli || all.cpu_shares_milli != own.cpu_shares_milli ||
        all.memory_bytes != own.memory_bytes)
        return STR_NULL;
    return json_member_text(json_at(containers, 0), "name");
}

/* As the kubelet: who asked for the least is the first to go. */
static int oom_score(const struct agent_pod *p, const struct cgroup_limits *l)
{
    struct str qos = json_member_text(json_get(p->object->root, "status"), "qosClass");

    if (str_is(qos, "Guaranteed"))
        return -997;
    return l->memory_bytes ? 500 : 1000;
}

/* ---- mounts ---- */

/* 'take_copy': of box_clone_mount(); -1: that has failed. */
static int push_mount(struct building *b, int take_copy, struct str target, struct err *e)
{
    struct box_build *r = b->ret;

    if (take_copy < 0)
        return err_wrap(e, "mount %.*s", STR_ARG(target));
    r->mount_fds[r->n_mount_fds++] = take_copy;
    *vec_push(b->arena, &r->spec.mounts) = (struct box_mount){ take_copy, target };
    return 0;
}

static int mount_file(struct building *b, const char *path, struct str target, bool is_read_only, struct err *e)
{
    return push_mount(b, box_clone_mount(-1, path, is_read_only, false, e), target, e);
}

/* Is the path, or something on the way to it, mounted by the user already? */
static bool is_mounted(const struct volume_mount *v, size_t n, const char *target)
{
    for (size_t i = 0; i < n; i++)
        if (str_is(v[i].target, target))
            return true;
    return false;
}

static int add_etc(struct building *b, const struct volume_mount *v, size_t n, struct err *e)
{
    static const char *const names[] = { "hosts", "hostname", "resolv.conf" };

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct str path = arena_fmt(b->arena, "%s/etc/%s", b->p->small.p, names[i]),
                   target = arena_fmt(b->arena, "/etc/%s", names[i]);

        if (b->p->is_host_network && i == 2)
            continue;
        if (!is_mounted(v, n, target.p) && mount_file(b, path.p, target, false, e) < 0)
            return -1;
    }
    return 0;
}

static int add_termination(struct building *b, const struct volume_mount *v, size_t n, struct err *e)
{
    struct str path = agent_termination_path(b->p, b->arena, b->action->name, b->action->attempt),
               target = json_member_text(b->container, "terminationMessagePath");
    int fd = open(path.p, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);

    if (fd < 0)
        return err_errno(e, "create %s", path.p);
    fchmod(fd, 0666);
    close(fd);
    if (target.n == 0)
        target = STR("/dev/termination-log");
    if (b->ret->spec.is_privileged &&
        str_starts(target, STR("/dev/"))) /* its /dev is the host's, where nothing is made */
        return 0;
    target = arena_str(b->arena, target);
    return target.p[0] != '/' || is_mounted(v, n, target.p) ? 0 : mount_file(b, path.p, target, false, e);
}

static int add_libraries(struct building *b, struct err *e)
{
    if (b->image->root.n == 0) /* the host's files have them */
        return 0;
    VEC_FOREACH(path, &b->grant.libraries)
        if (mount_file(b, path->p, *path, true, e) < 0)
            return -1;
    return 0;
}

static int build_mounts(struct building *b, struct err *e)
{
    struct volume_mounts mounts;

    if (volumes_mounts(b->p->volumes, b->container, &b->env, &mounts, e) < 0)
        return -1;
    b->ret->mount_fds = arena_array(b->arena, int, mounts.n + b->grant.libraries.n + MOUNTS_EXTRA);
    if (add_etc(b, mounts.v, mounts.n, e) < 0 || add_termination(b, mounts.v, mounts.n, e) < 0 ||
        add_libraries(b, e) < 0)
        return -1;
    VEC_FOREACH(m, &mounts)
        if (push_mount(b, box_clone_mount(m->fd, NULL, m->is_read_only, m->is_recursive_host, e), m->target, e) < 0)
            return -1;
    return 0;
}

/* ---- all together ---- */

/* Root of the machine sees what others may: see box_veil.c. They may look into this directory, too. */
static int make_veil(struct agent *g, struct err *e)
{
    autoclose int fd = -1;

    if (!box_veil_is_possible())
        return 0;
    g->veil = arena_fmt(&g->arena, "%s/small/veil", g->run.dir.p);
    return make_dir_at(g->run.small_fd, "veil", 0755, &fd, e);
}

static int make_over(struct agent *g, struct str *ret, struct err *e)
{
    struct str path = arena_fmt(&g->arena, "%s/small/%s", g->run.dir.p, g->over_name);
    /* What pods leave behind, of any run; and logins. */
    const struct str own[] = { g->run.state_dir, str_of(g->opt.claims_dir), str_of(g->opt.auth_file) };
    struct hide_options hide = { .own = own, .n_own = ARRAY_LEN(own), .has_homes = !g->opt.remote };
    autoclose int dir = -1;

    if (make_veil(g, e) < 0)
        return -1;
    hide.has_veil = g->veil.n > 0;
    if (mkdirat(g->run.small_fd, g->over_name, 0755) < 0 && errno != EEXIST)
        return err_errno(e, "create %s", path.p);
    dir = openat(g->run.small_fd, g->over_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return err_errno(e, "open %s", path.p);
    if (host_layer_make(dir, e) < 0 || hide_secrets(&g->arena, dir, &hide, &g->hidden, e) < 0)
        return -1;
    host_layer_add_own(dir);
    *ret = g->over = path;
    return 0;
}

static bool has_host_files(const struct agent_pod *p)
{
    CONTAINER_FOREACH(c, json_get(p->object->root, "spec"))
        if (images_find(p->agent->opt.images, json_member_text(c, "image"))->root.n == 0)
            return true;
    return false;
}

void agent_box_prepare(const struct agent_pod *p)
{
    struct str path;

    if (!p->agent->over.n && has_host_files(p))
        (void)make_over(p->agent, &path, &(struct err){ 0 }); /* the first start tries again, and tells */
}

static int build_root(struct building *b, struct err *e)
{
    struct agent_pod *p = b->p;
    struct box_spec *s = &b->ret->spec;

    if (agent_layer_make(p, b->action->name, b->action->attempt, e) < 0)
        return -1;
    s->upper = arena_fmt(b->arena, "%s/%s", p->agent->run.dir.p, p->layers.v[p->layers.n - 1].dir.p);
    s->root = b->image->root;
    if (s->root.n)
        return 0;
    if (agent_tenant(p).is_tenant && !agent_tenant(p).has_host_files) /* agent_image.c has refused it before */
        return err_set(e, ERR_FORBIDDEN, "this pod may not use the host's files");
    if (!p->agent->over.n && make_over(p->agent, &s->over, e) < 0)
        return -1;
    s->over = p->agent->over;
    s->veil = p->agent->veil;
    VEC_FOREACH(path, &p->agent->hidden)
        *vec_push(b->arena, &s->hidden) = *path;
    VEC_FOREACH(path, &p->agent->hidden.homes)
        *vec_push(b->arena, &s->homes) = *path;
    return 0;
}

struct str agent_device_owner(const struct agent_pod *p, struct arena *a, struct str container)
{
    return arena_fmt(a, "%.*s/%.*s/", STR_ARG(p->object->uid), STR_ARG(container));
}

static bool is_plain_init(const struct agent_pod *p, struct str container)
{
    JSON_FOREACH(c, json_find(p->object->root, "spec", "initContainers", NULL))
        if (str_eq(json_member_text(c, "name"), container))
            return !str_is(json_member_text(c, "restartPolicy"), "Always");
    return false;
}

/* A pod is counted with the most that it needs at a time, so an init container hands on what it had. The others keep
 * theirs: started again they are to find the same. */
void agent_box_ended(struct agent_pod *p, struct str container)
{
    autoarena a = { 0 };

    if (p->agent->opt.devices && is_plain_init(p, container))
        devices_give(p->agent->opt.devices, agent_device_owner(p, &a, container));
}

static int build_devices(struct building *b, struct err *e)
{
    struct devices *d = b->p->agent->opt.devices;
    struct device_claim claim = { agent_device_owner(b->p, b->arena, b->action->name),
                                  json_find(b->container, "resources", "limits", NULL) };

    if (!d)
        return 0;
    if (devices_take(d, b->arena, &claim, &b->grant, e) < 0)
        return -1;
    VEC_FOREACH(node, &b->grant.nodes)
        vec_push(b->arena, &b->ret->spec.devices)->host = *node;
    return 0;
}

/* Said once for each image: what was asked for, and what it got. */
static void tell_image(struct building *b)
{
    struct agent *g = b->p->agent;
    autobuf said = { 0 };
    struct str name;

    if (map_get(&g->told_image, b->image->name))
        return;
    name = arena_str(&g->arena, b->image->name);
    map_put(&g->told_image, name, g);
    buf_fmt(&said, "image \"%.*s\": %.*s", STR_ARG(name), STR_ARG(b->image->said));
    if (g->opt.hooks.notice)
        g->opt.hooks.notice(g->opt.hooks.ctx, buf_view(&said));
}

static struct json *pod_with_status(struct agent_pod *p, struct arena *a)
{
    struct json *pod = json_copy(a, p->object->root);

    json_set(pod, "status", life_status(p->life, a));
    return pod;
}

int agent_box_build(struct agent_pod *p, struct arena *a, const struct life_action *action, struct box_build *ret,
                    struct err *e)
{
    struct building b = { .p = p, .arena = a, .action = action, .container = action->container, .ret = ret };
    int rc = -1;

    *ret = (struct box_build){ .spec = { .name = action->name, .uid = -1, .gid = -1 } };
    b.pod = pod_with_status(p, a);
    b.image = images_find(p->agent->opt.images, json_member_text(b.container, "image"));
    tell_image(&b);
    life_image(p->life, action->name, b.image->id);
    agent_container_limits(action->resources, &ret->limits);
    ret->spec.oom_score_adj = oom_score(p, &ret->limits);
    ret->spec.cwd = json_member_text(b.container, "workingDir");
    if (ret->spec.cwd.n == 0)
        ret->spec.cwd = b.image->cwd;
    build_identity(&b);
    vars_init(&b.env, a);
    ret->reason = "CreateContainerConfigError";
    if (build_devices(&b, e) == 0 && build_env(&b, e) == 0) {
        ret->reason = "CreateContainerError";
        if (build_argv(&b, e) == 0 && build_root(&b, e) == 0) {
            ret->reason =
                "CreateContainerConfigError"; /* as the kubelet has it: mounts are made before the runtime is asked */
            if (build_mounts(&b, e) == 0) {
                agent_layer_mounts(p, &ret->spec);
                rc = 0;
            }
        }
    }
    vars_done(&b.env);
    if (rc < 0)
        agent_box_done(ret);
    return rc;
}

void agent_box_done(struct box_build *b)
{
    for (size_t i = 0; i < b->n_mount_fds; i++)
        close(b->mount_fds[i]);
    b->n_mount_fds = 0;
}
