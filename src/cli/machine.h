/* machine.h - this machine as the node of a run or of a cluster: files, users, images, devices
 *
 *     machine_find()      can it do what is asked? Nothing is changed
 *     machine_prepare()   the user namespace, the state directory, images and devices
 *     machine_agent()     the options of its agent
 *     machine_done()      all but the agent, which its opener closes
 */
#ifndef CLI_MACHINE_H
#define CLI_MACHINE_H

#include "cli/options.h"
#include "node/agent/agent.h"
#include "node/userns/user.h"
#include "image/registry.h"

struct machine_options {
    const char *state, *image_store, *network, *runtime, *claims;
    const char *pull, *auth_file, *registry_timeout;
    struct text_list image, device, mirror, insecure_registry;
    bool allow_unfiltered;
};

struct machine {
    struct arena *arena;
    struct str state; /* where it keeps its files */
    struct user_root root;
    struct images *images;
    struct puller *puller; /* NULL: no image is pulled */
    struct devices *devices;
};

/* Of --image-store and --state. */
const char *machine_image_store(const struct machine *m, const struct machine_options *o);
/* Of --auth-file, --mirror, --insecure-registry and --registry-timeout. */
int machine_registry(struct arena *a, const struct machine_options *o, struct registry_options *ret, struct err *e);

extern const char *const machine_network_names[]; /* values of --network */
extern const char *const machine_pull_names[];    /* … of --pull */

/* Of its Node: 'given' by --name, or the host's (NULL). */
int machine_node_name(struct arena *a, const char *given, struct str *ret, struct err *e);

/* The IPv4 address from which this machine reaches 'host'. Nothing is sent. */
int machine_address(struct arena *a, struct str host, struct str port, struct str *ret, struct err *e);

/* "cpu=8,memory=16Gi": an object of quantities, of --node or --capacity. */
int machine_capacity(struct arena *a, struct str text, struct json **ret, struct err *e);

int machine_find(struct machine *m, const struct machine_options *o, struct err *e);
/* 'found' (may be NULL): a run that this one goes on with, in its namespaces. */
int machine_prepare(struct machine *m, const struct machine_options *o, const struct agent_found *found, struct err *e);
/* Fills in what the options decide; the rest of 'ret' stays as it is. */
int machine_agent(const struct machine *m, const struct machine_options *o, struct agent_options *ret, struct err *e);
void machine_done(struct machine *m);

/* Rows of an option table: how registries are reached. */
#define REGISTRY_OPTIONS(field)                                                                                        \
    OPTION_ROW(0, "auth-file", OPTION_TEXT, field(auth_file), "FILE", NULL,                                            \
               "logins of registries (default: those of docker login and podman login)"),                              \
        OPTION_ROW(0, "mirror", OPTION_LIST, field(mirror), "HOST=MIRROR", NULL,                                       \
                   "ask this registry first for images of HOST, as docker.io=mirror.example.com (may be repeated)"),   \
        OPTION_ROW(0, "registry-timeout", OPTION_TEXT, field(registry_timeout), "TIME", NULL,                          \
                   "try again when a registry has sent nothing for so long (default: 30s)"),                           \
        OPTION_ROW(0, "insecure-registry", OPTION_LIST, field(insecure_registry), "HOST", NULL,                        \
                   "accept any certificate of this registry, or plain HTTP (may be repeated)")

/* Rows of an option table: these options are the same wherever a machine is used. */
#define MACHINE_OPTIONS(field)                                                                                         \
    OPTION_ROW(0, "image", OPTION_LIST, field(image), "NAME=WHERE", NULL,                                              \
               "files of an image: a directory, an archive, or host: this machine's own (may be repeated; '*': all)"), \
        OPTION_ROW(0, "image-store", OPTION_TEXT, field(image_store), "DIR", NULL,                                     \
                   "unpacked images (default: below --state)"),                                                        \
        OPTION_ROW(                                                                                                    \
            0, "pull", OPTION_TEXT, field(pull), "WHEN", machine_pull_names,                                           \
            "ask registries for images: never, missing, always (default: $PUMICE_PULL, or as imagePullPolicy says)"),  \
        REGISTRY_OPTIONS(field),                                                                                       \
        OPTION_ROW(0, "device", OPTION_LIST, field(device), "NAME=PATH,…", NULL,                                       \
                   "a resource and its devices, as example.com/fpga=/dev/fpga0 (may be repeated)"),                    \
        OPTION_ROW(                                                                                                    \
            0, "network", OPTION_TEXT, field(network), "KIND", machine_network_names,                                  \
            "auto (default): a way out of the pods' network where there can be one; private: none; open: also a way "  \
            "in"),                                                                                                     \
        OPTION_ROW(0, "allow-unfiltered", OPTION_FLAG, field(allow_unfiltered), NULL, NULL,                            \
                   "start pods also where their NetworkPolicies cannot be enforced (no nftables in the kernel)"),      \
        OPTION_ROW(0, "runtime", OPTION_TEXT, field(runtime), "PROGRAM", NULL,                                         \
                   "run containers with runc, crun or another OCI runtime")

#endif
