/* api.h - option tables of the commands that speak to a Kubernetes API: job, queue, pod, jobflow, jobtemplate, slurm */
#ifndef CLI_API_H
#define CLI_API_H

#include "cli/options.h"
#include "ctl/slurm.h"
#include "ctl/verb.h"

struct api_options {
    struct ctl_options o;
    struct text_list env;
    struct slurm_options slurm; /* of Slurm's commands */
};

/* The verb of the command; its exit status. */
int api_run(struct arena *a, const struct command *c, const struct api_options *given,
            const struct text_list *arguments);

#define API_AT(field)                             offsetof(struct api_options, o.field)
#define API_TEXT(letter, name, field, value, doc) OPTION_ROW(letter, name, OPTION_TEXT, API_AT(field), value, NULL, doc)
#define API_FLAG(letter, name, field, doc)        OPTION_ROW(letter, name, OPTION_FLAG, API_AT(field), NULL, NULL, doc)

/* Where the API is. */
#define API_WHERE                                                                                                      \
    API_TEXT(0, "kubeconfig", kubeconfig, "FILE",                                                                      \
             "credentials and address of the cluster (default: as kubectl finds it)"),                                 \
        API_TEXT(0, "context", context, "NAME", "of the kubeconfig (default: its current one)"),                       \
        API_TEXT('s', "server", server, "URL", "an address instead of the one in the kubeconfig")

#define API_NAMESPACE                                                                                                  \
    API_TEXT('n', "namespace", namespace, "NAME", "namespace (default: that of the context, else default)")
#define API_ALL_NAMESPACES API_FLAG('A', "all-namespaces", all_namespaces, "of all namespaces")
#define API_LABELS         API_TEXT('l', "selector", labels, "SELECTOR", "labels they must have: app=a,tier!=b")
#define API_OUTPUT         API_TEXT('o', "output", output, "FORM", "wide, json, yaml, name or custom-columns=NAME:PATH,…")
#define API_HEADERS        API_FLAG(0, "no-headers", no_headers, "tables without their first line")
#define API_SORT           API_TEXT(0, "sort-by", sort_by, "PATH", "order by this: .metadata.creationTimestamp")
#define API_WATCH          API_FLAG('w', "watch", watch, "go on: each again whenever it has changed")
#define API_WAIT           API_FLAG(0, "wait", wait, "until it is done")
#define API_TIMEOUT        API_TEXT(0, "timeout", timeout, "TIME", "how long to wait: 90s, 10m (default: for ever)")
#define API_DRY_RUN                                                                                                    \
    OPTION_ROW(0, "dry-run", OPTION_TEXT, API_AT(dry_run), "WHERE", api_dry_runs,                                      \
               "client: say what would be sent; server: let the server check it")
extern const char *const api_dry_runs[];

#endif
