/* install.h - what `pumice install` puts into a cluster
 *
 * Manifests are text with a few marks, so that one source gives a plain manifest, a kustomize base and a Helm chart:
 *
 *     @name@                    a parameter by its name
 *     @if flag@ … @end@         lines of their own: only when the flag is set
 *     @chart@ … @end chart@     the same: only in a chart, in Helm's own words
 *     @plain@ … @end plain@     … only elsewhere. None of them within another
 *
 * A plain manifest gets the values; a chart gets the mark's Helm spelling ("{{ .Values.image }}").
 */
#ifndef CLI_INSTALL_INSTALL_H
#define CLI_INSTALL_INSTALL_H

#include "base/buf.h"
#include "base/err.h"

enum install_parameter {
    INSTALL_NAMESPACE,
    INSTALL_IMAGE,
    INSTALL_REPLICAS,
    INSTALL_SCHEDULER, /* a flag: "true" or "" */
    INSTALL_NATIVE,    /* a flag */
    INSTALL_WEBHOOK,   /* a flag */
    INSTALL_CONFIG,    /* volcano-scheduler.conf, each line four columns to the right */
    INSTALL_PARAMETER_MAX,
};

struct install {
    const char *value[INSTALL_PARAMETER_MAX];
    bool is_chart; /* marks become Helm's */
};

/* All of them but the extras, in this order, are the plain manifest. */
struct install_part {
    const char *name; /* "controller" */
    const char *text;
    void (*print)(struct buf *out); /* what is made from tables instead */
    bool is_extra;                  /* only where it is asked for by name */
};

extern const struct install_part install_parts[];
extern const size_t n_install_parts;

/* The part with its marks replaced; documents are separated by "---". */
void install_print(struct buf *out, const struct install_part *part, const struct install *in);

/* Roles of the controller, with why each rule is there: roles.c. */
void install_print_roles(struct buf *out);
void install_print_webhook_roles(struct buf *out);   /* those that only --webhook needs */
void install_print_scheduler_roles(struct buf *out); /* … only --scheduler */
void install_print_node_role(struct buf *out);       /* for machines that run `pumice node` */
void install_print_native_roles(struct buf *out);    /* … only --native-podgroups */

/* Names of the webhook configurations of a kind, one in a line of a list: webhook.c. */
void install_print_hook_names(struct buf *out, bool mutates);

/* Where the scheduler's settings are, in the cluster and in the pod. */
#define SCHEDULER_MAP  "pumice-scheduler-config"
#define SCHEDULER_FILE "volcano-scheduler.conf"
#define SCHEDULER_DIR  "/etc/pumice/scheduler"

/* The Service of the webhook and the configurations that name it: webhook.c. */
void install_print_webhook(struct buf *out);

/* One by one: what the controller, and (with 'schedules') the scheduler, may do. */
struct install_right {
    struct str group, resource, subresource, verb;
    struct str name;       /* only the object of this name; empty: all */
    bool is_own_namespace; /* only in that of the controller; else everywhere */
};
void install_rights(bool schedules, void (*each)(void *ctx, const struct install_right *r), void *ctx);

/* The CRDs, a kustomize base and a Helm chart as files below 'dir', which is made if needed. Files of the same
 * names are overwritten; nothing else is touched. */
int install_write(const char *dir, const struct install *in, struct err *e);

/* ---- for files.c and chart.c ---- names are below 'at' ---- */

int install_write_file(int at, const char *name, const struct buf *text, struct err *e);
/* Each part as a file of that form below 'dir'; 'list' (may be NULL) gets a line for each. */
int install_write_parts(int at, const char *dir, const struct install *in, struct buf *list, struct err *e);
int install_write_chart(int at, const struct install *in, struct err *e);

#endif
