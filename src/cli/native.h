/* native.h - gangs of the cluster's own: does it have them, and what it needs for them, in words for people */
#ifndef CLI_NATIVE_H
#define CLI_NATIVE_H

#include "kube/ask.h"

#define NATIVE_NAMES NATIVE_GROUP "/v1beta1 and v1alpha2"
#define NATIVE_SETTINGS                                                                                                \
    "for kube-apiserver, kube-scheduler and kube-controller-manager of Kubernetes 1.37 "                               \
    "--feature-gates=GenericWorkload=true, of 1.36 --feature-gates=GenericWorkload=true,GangScheduling=true; for "     \
    "kube-apiserver also --runtime-config=" NATIVE_GROUP "/v1beta1=true, of 1.36 --runtime-config=" NATIVE_GROUP       \
    "/v1alpha2=true"
#define NATIVE_ADVICE NATIVE_SETTINGS "; or leave --native-podgroups out"

/* Which version of them does the cluster serve? Chooses it for the whole program (type_native_choose()).
 * ERR_NOT_FOUND: none that is known here. */
int native_find(struct kube_ask *ask, struct err *e);

/* "scheduling.k8s.io/v1beta1": the chosen one. */
struct str native_api_version(struct arena *a);

#endif
