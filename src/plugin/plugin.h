/* plugin.h - job plugins, which set up pods and objects for distributed frameworks
 *
 * A plugin is one file with one table (struct job_plugin) and one row in the registry (plugin_list.h). It is pure: from
 * the Job and its arguments it makes the objects that the job needs (ConfigMap, Service, Secret …) and additions to its
 * pods. It writes nothing itself; the controller compares the result with the existing objects and writes the
 * difference. So every hook is idempotent, and `pumice render` can show its result.
 *
 * Plugins run in the order of the registry. In each container their additions come after the user's own entries.
 *
 * Life of a plugin set, per job:
 *
 *     plugin_default(a, job_json)            add forced plugins to spec.plugins (admission, create)
 *     plugin_set_new(a, job, world, ps)      parse arguments, check them, prepare what pods share
 *     plugin_set_objects(set, …)             the wanted objects
 *     plugin_set_pod(set, …)                 once for each pod
 */
#ifndef PLUGIN_PLUGIN_H
#define PLUGIN_PLUGIN_H

#include "api/job.h"
#include "base/vec.h"
#include "json/json.h"
#include "json/problem.h"

/* Of the host files' ConfigMap (svc): metadata.generation of the Job whose hosts they are. */
#define PLUGIN_GENERATION_ANNOTATION "pumice.dev/generation"
/* The same as a file, in ConfigMaps that an earlier version made. */
#define PLUGIN_GENERATION_FILE "generation"

/* ---- the world, as far as plugins need it ---- */

struct ssh_keys {
    struct str private_pem; /* PKCS#1 PEM for rsa; OpenSSH PEM for ed25519; SEC1 PEM for ecdsa */
    struct str public_line; /* "ssh-rsa AAAA…\n", no comment */
};

struct plugin_world {
    void *ctx;
    /* An object of the job's namespace as it is now, or NULL. NULL callback: an empty cluster. */
    const struct json *(*find)(void *ctx, const char *kind, struct str name);
    /* A new key pair of type "rsa", "ed25519" or "ecdsa". Empty texts: it is being made, ask again later. NULL
     * callback: ssh_keys_generate() of sshkey.h. */
    int (*make_keys)(void *ctx, struct arena *a, const char *type, struct ssh_keys *ret, struct err *e);
    struct str cluster_domain; /* empty: "cluster.local" */
};

/* ---- arguments ---- */

enum plugin_arg_kind {
    ARG_BOOL, /* bool */
    ARG_INT,  /* int64_t */
    ARG_PORT, /* int64_t, 1…65535 */
    ARG_STR,  /* struct str */
    ARG_LIST, /* struct str, comma-separated names; repeating the flag appends */
    ARG_RAW,  /* struct str, byte for byte as given (keys); the others are trimmed */
};

struct plugin_arg {
    const char *name; /* as documented; '-' '_' and letter case do not count when matching */
    enum plugin_arg_kind kind;
    uint32_t offset;           /* into the plugin's args struct */
    const char *fallback;      /* default as text, parsed by the same code; NULL: zero value */
    const char *alias;         /* another name, or NULL */
    const char *const *values; /* allowed texts, NULL-terminated; NULL: any */
    const char *doc;
    bool is_lenient; /* a port out of range: warning and the fallback, not an error */
};

/* ---- one plugin ---- */

struct plugin_set;

struct plugin_call {
    struct arena *arena; /* where new nodes and text go: the job's arena, or the pod's in on_pod */
    const struct job *job;
    const struct plugin_set *set;
    const struct plugin_world *world;
    const void *args; /* the plugin's parsed arguments */
    void *state;      /* what prepare() left, in the job's arena */
    uint8_t mark;     /* stamped on every node the plugin makes; the helpers in pod.h do it */
};

struct pod_draft { /* a pod being built; see pod.h for the ways to change it */
    struct json *root, *meta, *spec;
    const struct job_task *task;
    size_t task_pos;
    uint32_t index;
    struct str name;
};

struct plugin_objects {
    struct arena *arena;
    VEC(struct json *) list; /* in order of creation */
    bool is_waiting;         /* more will follow: something that they need is not ready yet, such as keys */
};

struct plugin_file { /* one file below /etc/volcano, a key of the svc ConfigMap */
    struct str name, text;
    bool is_executable;
};
struct plugin_files {
    VEC(struct plugin_file) list;
};

struct job_plugin {
    const char *name;
    const char *summary; /* one line */
    const struct plugin_arg *args;
    size_t n_args;
    size_t args_size;
    const char *forces[4]; /* plugins it needs; NULL-terminated */
    /* Forced plugins that its arguments switch off, e.g. deepspeed --ssh=false. NULL: all of 'forces'. */
    bool (*needs)(const void *args, const char *forced);
    const char *const *adds; /* what it adds, one line each, for `pumice plugins`; NULL-terminated */

    /* Rules of its own, at admission. 'at' is the place of spec.plugins.<name>. */
    void (*check)(struct plugin_call *call, const struct place *at, struct problems *ps);
    /* Called once for each job before the hooks below: computes what pods share, such as host lists, into
     * call->state. */
    int (*prepare)(struct plugin_call *call, struct err *e);
    bool prepares_last; /* its prepare() uses the files of all other plugins */
    /* Files it wants below /etc/volcano (needs svc). */
    int (*files)(struct plugin_call *call, struct plugin_files *out, struct err *e);
    /* Objects it wants, in order. */
    int (*objects)(struct plugin_call *call, struct plugin_objects *out, struct err *e);
    /* Once for each pod. */
    int (*on_pod)(struct plugin_call *call, struct pod_draft *pod, struct err *e);
};

extern const struct job_plugin *const job_plugins[]; /* the registry, in order of running */
extern const size_t n_job_plugins;

const struct job_plugin *plugin_by_name(struct str name); /* exact; NULL if there is none */

/* ---- marks: who wrote a node, for `render --explain` ---- */

enum {
    MARK_USER,     /* the job's author */
    MARK_DEFAULT,  /* admission filled it in */
    MARK_JOB,      /* the job controller */
    MARK_PLUGIN_0, /* + position in the registry */
};
const char *mark_name(uint8_t mark); /* "default", "job", "svc" …; "" for the user */

/* ---- all plugins of one job ---- */

/* Admission, create: add forced plugins with no arguments where the key is missing. Does nothing when spec.plugins is
 * missing or null. */
void plugin_default(struct arena *a, struct json *job, uint8_t mark);

/* Parse and check the arguments of all plugins of the job, and prepare them. Problems go to 'ps' (unknown plugins,
 * bad values: errors; unknown flags: warnings). Always returns a set; use it only if there was no error. Everything
 * lives in 'a', which must outlive the set. 'job' must be defaulted. */
struct plugin_set *plugin_set_new(struct arena *a, const struct job *job, const struct plugin_world *world,
                                  struct problems *ps);

/* Parsed arguments of a plugin of this job, or NULL if the job does not use it. For plugins that look at others. */
const void *plugin_set_args(const struct plugin_set *set, const char *name);

/* Was the argument given by the user (not a default)? */
bool plugin_set_given(const struct plugin_set *set, const char *plugin, const char *arg);

/* The value of another plugin's argument by its documented name: whole numbers (ARG_INT, ARG_PORT) and text. The
 * fallback when the job does not use the plugin, or it has no such argument of that kind. */
int64_t plugin_set_int(const struct plugin_set *set, const char *plugin, const char *arg, int64_t fallback);
struct str plugin_set_text(const struct plugin_set *set, const char *plugin, const char *arg, struct str fallback);

/* All files wanted below /etc/volcano by plugins other than svc, in plugin order. */
int plugin_set_files(const struct plugin_set *set, struct arena *a, struct plugin_files *out, struct err *e);

/* Wanted objects, in order of creation. Errors name the plugin. */
int plugin_set_objects(const struct plugin_set *set, struct plugin_objects *out, struct err *e);

/* Let every plugin add to the pod; new nodes go to 'a'. Errors name the plugin. */
int plugin_set_pod(const struct plugin_set *set, struct arena *a, struct pod_draft *pod, struct err *e);

/* status.controlledResources: { "plugin-svc": "svc", … } for all plugins that set a marker. */
struct json *plugin_set_markers(const struct plugin_set *set, struct arena *a);

/* ---- for the command `plugins` ---- */

/* Name, type, default and text of each argument, from the tables that parse them. The type is "true|false", "number",
 * "port", "text", "list", or the allowed values "a|b". */
struct str plugin_arg_type(struct arena *a, const struct plugin_arg *arg);

#endif
