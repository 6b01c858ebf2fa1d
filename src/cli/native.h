/* native.h - what a cluster needs for --native-podgroups, in words for people */
#ifndef CLI_NATIVE_H
#define CLI_NATIVE_H

#include "api/types.h"

#define NATIVE_SETTINGS                                                                                                \
    "Kubernetes 1.36, with --feature-gates=GenericWorkload=true,GangScheduling=true for kube-apiserver, "              \
    "kube-scheduler and kube-controller-manager, and --runtime-config=" NATIVE_API_VERSION "=true for the first"
#define NATIVE_ADVICE NATIVE_SETTINGS "; or leave --native-podgroups out"

#endif
