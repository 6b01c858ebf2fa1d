/* version.h - the release of Kubernetes whose API this is: what clients are told that ask */
#ifndef API_VERSION_H
#define API_VERSION_H

#define KUBERNETES_MAJOR   "1"
#define KUBERNETES_MINOR   "36"
#define KUBERNETES_VERSION KUBERNETES_MAJOR "." KUBERNETES_MINOR

#endif
