/* device_internal.h - what device.c and the finders of devices share */
#ifndef NODE_DEVICE_INTERNAL_H
#define NODE_DEVICE_INTERNAL_H

#include "base/util.h"
#include "node/device/device.h"

struct device_unit {
    VEC(struct str) nodes; /* its own */
    struct str id;         /* "GPU-…"; empty: not known */
    struct str model;
    int64_t minor; /* GPUs: of /dev/nvidia<minor> */
    char *owner;   /* heap; NULL: free */
};

struct device_kind {
    struct str name;        /* "nvidia.com/gpu" */
    VEC(struct str) common; /* nodes that every holder of a unit gets */
    VEC(struct str) libraries;
    struct str library_path;
    bool is_nvidia;
    VEC(struct device_unit) units; /* in the order they are handed out */
};

struct devices {
    struct arena arena;
    const char *root; /* "" or a directory that stands for "/" */
    VEC(struct device_kind) kinds;
};

/* root + path, a C string. */
const char *device_path(struct devices *d, const char *path);
bool device_is_node(struct devices *d, const char *path); /* with a root of our own a plain file is as good */

/* ---- device_nvidia.c ---- */

/* GPUs by the files of their driver; adds nothing where there are none. */
void device_find_nvidia(struct devices *d);

/* The variables for those units. */
void device_nvidia_env(struct arena *a, const struct device_unit *const *units, size_t n, struct device_grant *grant);

#endif
