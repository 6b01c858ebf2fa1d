/* pod.h - the ways plugins change a pod; each stamps what it adds with call->mark */
#ifndef PLUGIN_POD_H
#define PLUGIN_POD_H

#include "plugin/plugin.h"

/* Containers to walk: main ones, init ones, or all (init first, as they run). */
enum pod_containers { POD_MAIN = 1, POD_INIT = 2, POD_ALL = 3 };

#define POD_FOREACH_CONTAINER(c, pod, which)                                                                           \
    for (struct json *c = pod_container_next((pod), (which), NULL); c; c = pod_container_next((pod), (which), c))
struct json *pod_container_next(const struct pod_draft *pod, enum pod_containers which, const struct json *after);

/* A variable of that name is replaced where it stands, so the plugin's value wins without a double
 * entry; 'keep_user' leaves it alone instead. Returns false when it was left alone. */
bool container_set_env(struct plugin_call *call, struct json *container, const char *name, struct str value,
                       bool keep_user);

/* Append { name, containerPort } unless some entry has that number. */
void container_open_port(struct plugin_call *call, struct json *container, const char *name, int64_t port);

/* Append a mount; 'sub_path' may be NULL. An existing mount of that path is left alone (the user's wins). */
void container_mount(struct plugin_call *call, struct json *container, struct str volume, struct str path,
                     const char *sub_path);

/* Give it what another container has there, if it has anything. */
void container_copy_member(struct plugin_call *call, struct json *to, const struct json *from, const char *key);

/* Replace the command by [ "sh", "-c", script ]. */
void container_set_shell(struct plugin_call *call, struct json *container, struct str script);

/* Append a volume unless one of that name is there; returns it (or NULL) for the caller to fill. */
struct json *pod_add_volume(struct plugin_call *call, struct pod_draft *pod, struct str name);

/* Append an init container; NULL if one of that name is there. */
struct json *pod_add_init_container(struct plugin_call *call, struct pod_draft *pod, struct str name);

/* Set a text member of spec if it is missing or empty. */
void pod_default_text(struct plugin_call *call, struct pod_draft *pod, const char *field, struct str value);

void pod_set_annotation(struct plugin_call *call, struct pod_draft *pod, const char *key, struct str value);

bool pod_is_host_network(const struct pod_draft *pod);

/* Open 'port' in one container of the pod, unless it has that number. With hostNetwork container ports are node ports,
 * and an API server lets only one main container declare a number; init containers are looked at one by one. */
void pod_open_port_in(struct plugin_call *call, struct pod_draft *pod, struct json *container, const char *name,
                      int64_t port);

/* The same in all containers of 'which'. */
void pod_open_port(struct plugin_call *call, struct pod_draft *pod, enum pod_containers which, const char *name,
                   int64_t port);

/* Whole accelerators in the limits of the task's first container, at least 1 (nproc-per-node=auto). */
int64_t task_accelerators(const struct job_task *task);

/* The member of an object as a list or an object, made if it is missing or null; NULL if it is something else. */
struct json *need_member(struct plugin_call *call, struct json *j, const char *key, enum json_type type);

/* A path without slashes at the end. */
struct str path_clean(struct str path);

/* New nodes with the mark on them. */
struct json *mk_str(struct plugin_call *call, struct str text);
struct json *mk_int(struct plugin_call *call, int64_t v);
struct json *mk_bool(struct plugin_call *call, bool v);
struct json *mk_object(struct plugin_call *call);
struct json *mk_array(struct plugin_call *call);

/* An object of the job's namespace that the job owns: metadata with the labels volcano.sh/job-name and
 * volcano.sh/job-namespace (1.8), and the ownerReference. */
struct json *mk_owned(struct plugin_call *call, const char *api_version, const char *kind, struct str name);

/* { volcano.sh/job-name, volcano.sh/job-namespace }: selects the pods of the job. */
struct json *mk_job_selector(struct plugin_call *call);

#endif
