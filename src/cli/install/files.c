/* files.c - the manifests as files: CRDs, a kustomize base around them, a Helm chart
 *
 *     crds/KIND.yaml
 *     kustomization.yaml  manifests/PART.yaml
 *     webhook/            a kustomize component: what --webhook adds
 *     scheduler/          another: what --scheduler adds
 *     native-podgroups/   another: what --native-podgroups adds
 *     helm/               chart.c
 *
 * The base is the directory itself, because kustomize reads nothing beside or above one.
 */
#include "cli/install/install.h"

#include "crd/crd.h"
#include "api/types.h"
#include "base/util.h"
#include "os/io.h"
#include "yaml/yaml.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static int files_make_dir(int at, const char *name, struct err *e)
{
    return mkdirat(at, name, 0777) < 0 && errno != EEXIST ? err_errno(e, "make %s", name) : 0;
}

int install_write_file(int at, const char *name, const struct buf *text, struct err *e)
{
    autoclose int fd = openat(at, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

    return fd < 0 || write_all(fd, buf_view(text)) < 0 ? err_errno(e, "write %s", name) : 0;
}

static int write_crds(int at, struct buf *kustomization, struct err *e)
{
    for (size_t i = 0; i < n_resource_types; i++) {
        const struct resource_type *t = &resource_types[i];
        autoarena a = { 0 };
        autobuf text = { 0 };
        struct str name = arena_fmt(&a, "crds/%s.%s.yaml", t->plural, t->group);

        if (!crd_is_needed(t))
            continue;
        buf_fmt(kustomization, "- %s\n", name.p);
        yaml_print(&text, crd_make(&a, t), NULL);
        if (install_write_file(at, name.p, &text, e) < 0)
            return -1;
    }
    return 0;
}

/* Each part as a file of that form; the CRDs have files of their own, and a chart does not make its namespace. */
int install_write_parts(int at, const char *dir, const struct install *in, struct buf *list, struct err *e)
{
    for (size_t i = 0; i < n_install_parts; i++) {
        const struct install_part *part = &install_parts[i];
        autoarena a = { 0 };
        autobuf text = { 0 };
        struct str name = arena_fmt(&a, "%s/%s.yaml", dir, part->name);

        if (part->is_extra || strcmp(part->name, "crds") == 0 || (in->is_chart && strcmp(part->name, "namespace") == 0))
            continue;
        install_print(&text, part, in);
        if (text.n && install_write_file(at, name.p, &text, e) < 0)
            return -1;
        if (list && text.n)
            buf_fmt(list, "- %s\n", name.p);
    }
    return 0;
}

/* What --webhook adds to the base, for overlays that want it. */
static int write_webhook(int at, const struct install *in, struct err *e)
{
    static const char component[] =
        "# Made by 'pumice install --output'; do not edit. In an overlay: components: [../packaging/webhook]\n"
        "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources:\n- roles.yaml\n- webhook.yaml\n"
        "patches:\n- target:\n    kind: Deployment\n    name: pumice-controller\n  patch: |-\n"
        "    - op: add\n      path: /spec/template/spec/containers/0/command/-\n      value: --webhook\n"
        "    - op: add\n      path: /spec/template/spec/containers/0/ports/-\n"
        "      value: {name: webhook, containerPort: 8443}\n"
        "- target:\n    kind: NetworkPolicy\n    name: pumice-controller\n  patch: |-\n"
        "    - op: add\n      path: /spec/ingress/0/ports/-\n      value: {port: webhook, protocol: TCP}\n";
    struct install with = *in;
    autobuf text = { 0 }, roles = { 0 }, hooks = { 0 };

    with.value[INSTALL_WEBHOOK] = "true";
    buf_fmt(&text, "%s", component);
    install_print(&roles, &(struct install_part){ .print = install_print_webhook_roles }, &with);
    for (size_t i = 0; i < n_install_parts; i++)
        if (strcmp(install_parts[i].name, "webhook") == 0)
            install_print(&hooks, &install_parts[i], &with);
    return install_write_file(at, "webhook/kustomization.yaml", &text, e) < 0 ||
                   install_write_file(at, "webhook/roles.yaml", &roles, e) < 0 ||
                   install_write_file(at, "webhook/webhook.yaml", &hooks, e) < 0
               ? -1
               : 0;
}

/* The same of --native-podgroups. */
static int write_native(int at, const struct install *in, struct err *e)
{
    static const char component[] =
        "# Made by 'pumice install --output'; do not edit. In an overlay: components: [../packaging/native-podgroups]\n"
        "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources:\n- roles.yaml\n"
        "patches:\n- target:\n    kind: Deployment\n    name: pumice-controller\n  patch: |-\n"
        "    - op: add\n      path: /spec/template/spec/containers/0/command/-\n      value: --native-podgroups\n";
    autobuf text = { 0 }, roles = { 0 };

    buf_fmt(&text, "%s", component);
    install_print(&roles, &(struct install_part){ .print = install_print_native_roles }, in);
    return install_write_file(at, "native-podgroups/kustomization.yaml", &text, e) < 0 ||
                   install_write_file(at, "native-podgroups/roles.yaml", &roles, e) < 0
               ? -1
               : 0;
}

/* The same of --scheduler, with the ConfigMap of its settings. */
static int write_scheduler(int at, const struct install *in, struct err *e)
{
    static const char component[] =
        "# Made by 'pumice install --output'; do not edit. In an overlay: components: [../packaging/scheduler], and "
        "the\n"
        "# scheduler's settings by a patch of the ConfigMap " SCHEDULER_MAP ".\n"
        "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources:\n- roles.yaml\n- scheduler.yaml\n"
        "patches:\n- target:\n    kind: Deployment\n    name: pumice-controller\n  patch: |-\n"
        "    - op: add\n      path: /spec/template/spec/containers/0/command/-\n      value: --scheduler\n"
        "    - op: add\n      path: /spec/template/spec/containers/0/command/-\n"
        "      value: --scheduler-config=" SCHEDULER_DIR "/" SCHEDULER_FILE "\n"
        "    - op: add\n      path: /spec/template/spec/containers/0/volumeMounts\n"
        "      value: [{name: scheduler-config, mountPath: " SCHEDULER_DIR ", readOnly: true}]\n"
        "    - op: add\n      path: /spec/template/spec/volumes\n"
        "      value: [{name: scheduler-config, configMap: {name: " SCHEDULER_MAP "}}]\n";
    struct install with = *in;
    autobuf text = { 0 }, roles = { 0 }, map = { 0 };

    with.value[INSTALL_SCHEDULER] = "true";
    buf_fmt(&text, "%s", component);
    install_print(&roles, &(struct install_part){ .print = install_print_scheduler_roles }, &with);
    for (size_t i = 0; i < n_install_parts; i++)
        if (strcmp(install_parts[i].name, "scheduler") == 0)
            install_print(&map, &install_parts[i], &with);
    return install_write_file(at, "scheduler/kustomization.yaml", &text, e) < 0 ||
                   install_write_file(at, "scheduler/roles.yaml", &roles, e) < 0 ||
                   install_write_file(at, "scheduler/scheduler.yaml", &map, e) < 0
               ? -1
               : 0;
}

static int write_base(int at, const struct install *in, struct err *e)
{
    autobuf list = { 0 };

    buf_fmt(&list, "# Made by 'pumice install --output'; do not edit: build on it with an overlay.\n"
                   "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n");
    if (write_crds(at, &list, e) < 0 || install_write_parts(at, "manifests", in, &list, e) < 0)
        return -1;
    return install_write_file(at, "kustomization.yaml", &list, e);
}

int install_write(const char *dir, const struct install *in, struct err *e)
{
    static const char *const below[] = { "crds", "manifests",     "webhook", "scheduler", "native-podgroups",
                                         "helm", "helm/templates" };
    autoclose int at = -1;

    if (files_make_dir(AT_FDCWD, dir, e) < 0)
        return -1;
    at = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (at < 0)
        return err_errno(e, "open %s", dir);
    for (size_t i = 0; i < ARRAY_LEN(below); i++)
        if (files_make_dir(at, below[i], e) < 0)
            return err_wrap(e, "%s", dir);
    if (write_base(at, in, e) < 0 || write_webhook(at, in, e) < 0 || write_native(at, in, e) < 0 ||
        write_scheduler(at, in, e) < 0 || install_write_chart(at, in, e) < 0)
        return err_wrap(e, "%s", dir);
    return 0;
}
