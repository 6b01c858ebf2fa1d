/* files.c - the manifests as files: CRDs, a kustomize base around them, a Helm chart
 *
 *     crds/KIND.yaml
 *     kustomization.yaml  manifests/PART.yaml
 *     webhook/            a kustomize component: what --webhook adds
 *     native-podgroups/   another: what --native-podgroups adds
 *     helm/Chart.yaml  helm/values.yaml  helm/crds → ../crds  helm/templates/{PART,checks}.yaml
 *
 * The base is the directory itself, because kustomize reads nothing beside or above one.
 */
#include "cli/install/install.h"

#include "api/crd.h"
#include "api/types.h"
#include "base/util.h"
#include "os/io.h"
#include "yaml/yaml.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static int make_dir(int at, const char *name, struct err *e)
{
    return mkdirat(at, name, 0777) < 0 && errno != EEXIST ? err_errno(e, "make %s", name) : 0;
}

static int write_file(int at, const char *name, const struct buf *text, struct err *e)
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
        if (write_file(at, name.p, &text, e) < 0)
            return -1;
    }
    return 0;
}

/* Each part as a file of that form; the CRDs have files of their own, and a chart does not make its namespace. */
static int write_parts(int at, const char *dir, const struct install *in, struct buf *list, struct err *e)
{
    for (size_t i = 0; i < n_install_parts; i++) {
        const struct install_part *part = &install_parts[i];
        autoarena a = { 0 };
        autobuf text = { 0 };
        struct str name = arena_fmt(&a, "%s/%s.yaml", dir, part->name);

        if (strcmp(part->name, "crds") == 0 || (in->is_chart && strcmp(part->name, "namespace") == 0))
            continue;
        install_print(&text, part, in);
        if (text.n && write_file(at, name.p, &text, e) < 0)
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
    return write_file(at, "webhook/kustomization.yaml", &text, e) < 0 ||
                   write_file(at, "webhook/roles.yaml", &roles, e) < 0 ||
                   write_file(at, "webhook/webhook.yaml", &hooks, e) < 0
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
    return write_file(at, "native-podgroups/kustomization.yaml", &text, e) < 0 ||
                   write_file(at, "native-podgroups/roles.yaml", &roles, e) < 0
               ? -1
               : 0;
}

static int write_base(int at, const struct install *in, struct err *e)
{
    autobuf list = { 0 };

    buf_fmt(&list, "# Made by 'pumice install --output'; do not edit: build on it with an overlay.\n"
                   "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n");
    if (write_crds(at, &list, e) < 0 || write_parts(at, "manifests", in, &list, e) < 0)
        return -1;
    return write_file(at, "kustomization.yaml", &list, e);
}

static int write_chart(int at, const struct install *in, struct err *e)
{
    struct install chart = { .is_chart = true };
    autobuf about = { 0 };
    autobuf values = { 0 };
    autobuf checks = { 0 }; /* what the program itself would refuse */

    buf_fmt(
        &about,
        "# Made by 'pumice install --output'; do not edit.\n"
        "apiVersion: v2\nname: pumice\ndescription: Controller and gang scheduler for Volcano Jobs\ntype: application\n"
        "version: %s\nappVersion: \"%s\"\n",
        PUMICE_VERSION, PUMICE_VERSION);
    buf_fmt(
        &values,
        "# Image of the controller.\nimage: %s\n"
        "# Controllers, of which one leads.\nreplicas: %s\n"
        "# Schedule pods too, and the rights for it.\nscheduler: %s\n"
        "# Gangs as PodGroups of scheduling.k8s.io, for kube-scheduler; not together with scheduler.\n"
        "nativePodGroups: %s\n"
        "# Refuse bad objects when they are written, by a webhook, and the rights for it.\nwebhook:\n  enabled: %s\n",
        in->value[INSTALL_IMAGE], in->value[INSTALL_REPLICAS], in->value[INSTALL_SCHEDULER][0] ? "true" : "false",
        in->value[INSTALL_NATIVE][0] ? "true" : "false", in->value[INSTALL_WEBHOOK][0] ? "true" : "false");
    buf_fmt(&checks,
            "{{- /* Made by 'pumice install --output'; do not edit. */}}\n"
            "{{- if and .Values.scheduler .Values.nativePodGroups }}\n"
            "{{- fail \"nativePodGroups: leave scheduler out: kube-scheduler places the pods of such gangs\" }}\n"
            "{{- end }}\n");
    if (write_file(at, "helm/Chart.yaml", &about, e) < 0 || write_file(at, "helm/values.yaml", &values, e) < 0 ||
        write_file(at, "helm/templates/checks.yaml", &checks, e) < 0)
        return -1;
    if (symlinkat("../crds", at, "helm/crds") < 0 && errno != EEXIST)
        return err_errno(e, "make helm/crds");
    return write_parts(at, "helm/templates", &chart, NULL, e);
}

int install_write(const char *dir, const struct install *in, struct err *e)
{
    static const char *const below[] = { "crds", "manifests", "webhook", "native-podgroups", "helm", "helm/templates" };
    autoclose int at = -1;

    if (make_dir(AT_FDCWD, dir, e) < 0)
        return -1;
    at = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (at < 0)
        return err_errno(e, "open %s", dir);
    for (size_t i = 0; i < ARRAY_LEN(below); i++)
        if (make_dir(at, below[i], e) < 0)
            return err_wrap(e, "%s", dir);
    if (write_base(at, in, e) < 0 || write_webhook(at, in, e) < 0 || write_native(at, in, e) < 0 ||
        write_chart(at, in, e) < 0)
        return err_wrap(e, "%s", dir);
    return 0;
}
