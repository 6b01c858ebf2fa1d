/* qos.h - how much a pod asked for: its class of service */
#ifndef API_POD_QOS_H
#define API_POD_QOS_H

#include "json/json.h"

/* "Guaranteed", "Burstable" or "BestEffort": by the requests and limits of CPU and memory of all containers. */
const char *pod_qos(const struct json *pod_spec);

#endif
