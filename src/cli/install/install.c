/* install.c - the command `pumice install` */
#include "cli/install/install.h"

#include "api/name.h"
#include "base/util.h"
#include "cli/commands.h"
#include "cli/config_watch.h"
#include "cli/read.h"
#include "base/term.h"
#include "sched/model/config.h"

struct install_options {
    const char *namespace, *image, *replicas, *output, *scheduler_config;
    struct text_list only;
    bool dry_run, scheduler, native_groups, webhook;
};

static const char *const part_names[] = { "namespace", "crds",    "roles", "scheduler", "controller",
                                          "network",   "webhook", "node",  NULL };

/* ---- what the user said ---- */

/* A reference that needs no quotes in YAML. Whether there is such an image is for the cluster to find. */
static bool is_image(const char *text)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:/@-";

    return text[0] && text[0] != '-' && text[0] != '@' && text[strspn(text, allowed)] == '\0';
}

static int install_check_options(struct arena *a, const struct install_options *o, struct err *e)
{
    const char *why = o->namespace ? name_check_dns_label(a, str_of(o->namespace)) : NULL;
    uint64_t n;

    if (why)
        return err_set(e, ERR_INVALID, "--namespace %s", why);
    if (o->image && !is_image(o->image))
        return err_set(e, ERR_INVALID, "--image must be the name of an image, such as registry.example/pumice:1.0");
    if (o->replicas && (str_to_u64(str_of(o->replicas), &n) < 0 || n < 1 || n > 100))
        return err_set(e, ERR_INVALID, "--replicas must be a number from 1 to 100 (got %s)", o->replicas);
    if (o->scheduler_config && !o->scheduler)
        return err_set(e, ERR_INVALID, "--scheduler-config: add --scheduler, which it is for");
    if (o->native_groups && o->scheduler)
        return err_set(e, ERR_INVALID,
                       "--native-podgroups: leave --scheduler out: kube-scheduler places the pods of such gangs");
    if (!o->webhook && o->only.list.n == 1 && strcmp(o->only.list.v[0], "webhook") == 0)
        return err_set(e, ERR_INVALID, "--only webhook prints nothing without --webhook: add --webhook");
    if (!o->dry_run && !o->output)
        return err_set(e, ERR_INVALID,
                       "it only prints: say --dry-run and pipe it to 'kubectl apply -f -', or --output DIR");
    return 0;
}

/* What the ConfigMap says: the file, or that there is nothing to say. A file that the scheduler cannot use is refused;
 * settings that it ignores are reported. */
static int read_config(struct arena *a, const struct install_options *o, const char **ret, struct err *e)
{
    struct str text = STR("# Settings of the scheduler as Volcano's volcano-scheduler.conf: docs/scheduling.md.\n{}\n"),
               line;
    struct sched_config config;
    autobuf out = { 0 };

    if (scheduler_config(a, o->scheduler_config, &config, e) < 0 ||
        (o->scheduler_config && read_file(a, o->scheduler_config, &text, e) < 0))
        return -1;
    text = str_trim(text);
    while (str_split(&text, '\n', &line))
        buf_fmt(&out, "%s%s%.*s", out.n ? "\n" : "", line.n ? "    " : "", STR_ARG(line));
    *ret = arena_cstr(a, arena_str(a, buf_view(&out)));
    return 0;
}

/* ---- all of it ---- */

static bool install_is_wanted(const struct install_options *o, const struct install_part *part)
{
    VEC_FOREACH(name, &o->only.list)
        if (strcmp(*name, part->name) == 0)
            return true;
    return o->only.list.n == 0 && !part->is_extra;
}

static int print_parts(const struct install_options *o, const struct install *in)
{
    autobuf out = { 0 };

    for (size_t i = 0; i < n_install_parts; i++) {
        autobuf part = { 0 };

        if (install_is_wanted(o, &install_parts[i]))
            install_print(&part, &install_parts[i], in);
        if (out.n && part.n)
            buf_fmt(&out, "---\n");
        buf_str(&out, buf_view(&part));
    }
    return term_print(&out) == 0 ? EXIT_FINE : EXIT_FAILED;
}

static int install_run(struct arena *a, const void *options, const struct text_list *arguments)
{
    const struct install_options *o = options;
    struct install in = { .value = {
                              [INSTALL_NAMESPACE] = o->namespace ? o->namespace : "pumice-system",
                              [INSTALL_IMAGE] = o->image ? o->image : "pumice:" PUMICE_VERSION,
                              [INSTALL_REPLICAS] = o->replicas ? o->replicas : "2",
                              [INSTALL_SCHEDULER] = o->scheduler ? "true" : "",
                              [INSTALL_NATIVE] = o->native_groups ? "true" : "",
                              [INSTALL_WEBHOOK] = o->webhook ? "true" : "",
                          } };
    struct err e;

    (void)arguments;
    if (install_check_options(a, o, &e) < 0 || read_config(a, o, &in.value[INSTALL_CONFIG], &e) < 0) {
        fprintf(stderr, "pumice install: %s\n", e.text);
        return EXIT_USAGE;
    }
    if (!o->output)
        return print_parts(o, &in);
    if (install_write(o->output, &in, &e) < 0) {
        fprintf(stderr, "pumice install: %s\n", e.text);
        return EXIT_FAILED;
    }
    return EXIT_FINE;
}

static const struct option install_option_table[] = {
    { 0, "dry-run", OPTION_FLAG, offsetof(struct install_options, dry_run), NULL, NULL,
      "print the manifests and change nothing" },
    { 0, "only", OPTION_LIST, offsetof(struct install_options, only), "PART", part_names,
      "only this: namespace, crds, roles, scheduler, controller, network or webhook; node: the role of machines that "
      "run `pumice node` (may be repeated)" },
    { 'n', "namespace", OPTION_TEXT, offsetof(struct install_options, namespace), "NAME", NULL,
      "namespace of the controller (default: pumice-system)" },
    { 0, "image", OPTION_TEXT, offsetof(struct install_options, image), "IMAGE", NULL,
      "image of the controller (default: pumice with the version of this program)" },
    { 0, "replicas", OPTION_TEXT, offsetof(struct install_options, replicas), "N", NULL,
      "controllers, of which one leads (default: 2)" },
    { 0, "scheduler", OPTION_FLAG, offsetof(struct install_options, scheduler), NULL, NULL,
      "schedule pods too, and the rights for it" },
    { 0, "scheduler-config", OPTION_TEXT, offsetof(struct install_options, scheduler_config), "FILE", NULL,
      "volcano-scheduler.conf for the ConfigMap " SCHEDULER_MAP ", which the scheduler reads (default: its defaults)" },
    { 0, "native-podgroups", OPTION_FLAG, offsetof(struct install_options, native_groups), NULL, NULL,
      "gangs as PodGroups of scheduling.k8s.io, for kube-scheduler, and the rights for it" },
    { 0, "webhook", OPTION_FLAG, offsetof(struct install_options, webhook), NULL, NULL,
      "refuse bad objects when they are written, by a webhook, and the rights for it" },
    { 'o', "output", OPTION_TEXT, offsetof(struct install_options, output), "DIR", NULL,
      "write the CRDs, a kustomize base and a Helm chart into this directory" },
};

static const char *const install_examples[] = {
    "pumice install --dry-run | kubectl apply -f -",
    "install the controller",
    "pumice install --dry-run --only crds | kubectl apply -f -",
    "only the kinds, for a cluster that runs something else",
    "pumice install --output packaging",
    "files to keep and change",
    NULL,
};

const struct command command_install = {
    .name = "install",
    .arguments = "",
    .summary = "print the manifests that let a Kubernetes cluster run Jobs",
    .about = "Prints the manifests that let a Kubernetes cluster run Jobs: the kinds of batch.volcano.sh and its "
             "neighbours with\n"
             "schemas, defaults and rules (a bad Job is refused without a webhook), a namespace under Pod Security "
             "\"restricted\",\n"
             "and the controller with minimal rights, its metrics, disruption budget and network policy.\n\n"
             "The kinds are Volcano's. In a cluster that has them, their schemas are replaced and no object is lost. "
             "Leave them\n"
             "out with --only to keep those of the cluster.",
    .options = install_option_table,
    .n_options = ARRAY_LEN(install_option_table),
    .options_size = sizeof(struct install_options),
    .examples = install_examples,
    .run = install_run,
};
