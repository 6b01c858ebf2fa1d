/* version.h - the release of Kubernetes whose API this is, and the platform of this build: for clients that ask */
#ifndef API_VERSION_H
#define API_VERSION_H

#define KUBERNETES_MAJOR   "1"
#define KUBERNETES_MINOR   "36"
#define KUBERNETES_VERSION KUBERNETES_MAJOR "." KUBERNETES_MINOR

/* As Kubernetes and Go name it. */
#if defined(__x86_64__)
#define BUILD_ARCH "amd64"
#elif defined(__aarch64__)
#define BUILD_ARCH "arm64"
#else
#define BUILD_ARCH "unknown"
#endif

#endif
