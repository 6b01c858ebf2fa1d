/* device.h - GPUs and other devices: counted, handed out one by one, taken back
 *
 * NVIDIA GPUs are found by the driver's own files (/proc/driver/nvidia/gpus, /dev/nvidia*). Others are configured:
 *     "example.com/fpga=/dev/fpga0,/dev/fpga1"     a resource and its units; a unit of several nodes: /dev/a0+/dev/b0
 * A container that asks for n units gets n of them whole: device nodes, variables that tell frameworks which they are,
 * and for images other than the host's the driver's libraries.
 */
#ifndef NODE_DEVICE_H
#define NODE_DEVICE_H

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"
#include "json/json.h"

#include <stdbool.h>

struct devices;

struct device_options {
    const char *root; /* where /dev and /proc are looked for; NULL: "/". For tests */
    bool ignores_gpus;
};

struct devices *devices_new(const struct device_options *opt);
void devices_free(struct devices *d);
int devices_add(struct devices *d, struct str text, struct err *e); /* "NAME=…", see above */

/* Put "nvidia.com/gpu": "2" … into an object (capacity, allocatable). */
void devices_count(const struct devices *d, struct arena *a, struct json *into);

struct device_grant {
    VEC(struct str) nodes;     /* "/dev/nvidia0", "/dev/nvidiactl" … */
    VEC(struct str) env;       /* "NVIDIA_VISIBLE_DEVICES=GPU-…", "CUDA_VISIBLE_DEVICES=0,1", … */
    VEC(struct str) libraries; /* files of the host an image needs: bound read-only at the same path */
    struct str library_path;   /* where those are, for an image's LD_LIBRARY_PATH; not for the host's files */
};

/* Units for one container by its resources.limits, under 'owner' ("<pod uid>/<container>/"); the same owner again
 * gets the same. ERR_TOO_BIG: not enough are free, ERR_INVALID: not a whole number. All or nothing. A container that
 * asks for none, on a machine with GPUs, gets NVIDIA_VISIBLE_DEVICES=void. */
struct device_claim {
    struct str owner;
    const struct json *limits; /* may be NULL */
};
int devices_take(struct devices *d, struct arena *a, const struct device_claim *claim, struct device_grant *ret,
                 struct err *e);
/* Add to it the nodes that a container asks for by its variable NVIDIA_DRIVER_CAPABILITIES: none if it has no GPU. */
void devices_ask(struct devices *d, struct arena *a, struct str capabilities, struct device_grant *grant);
/* An adopted container has these nodes already: mark their units as the owner's. */
void devices_hold(struct devices *d, struct str owner, const struct str *nodes, size_t n);
void devices_give(struct devices *d, struct str owner_prefix); /* all owners that begin with it: "<pod uid>/" */

/* For doctor and people: one line per unit: "nvidia.com/gpu 0: NVIDIA H200, GPU-…, /dev/nvidia0". */
void devices_say(const struct devices *d, struct buf *out);

/* What keeps programs from using GPUs that are there, and the command that would help; false: nothing is wrong, or
 * there are none. */
bool devices_trouble(struct devices *d, struct str *ret_what, struct str *ret_fix);

#endif
