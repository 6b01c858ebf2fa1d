/* curl.c - libcurl, loaded when the first client is made */
#include "http/curl.h"

#include "base/err.h"
#include "base/util.h"

#include <dlfcn.h>
#include <pthread.h>

#define LIBRARY "libcurl.so.4"

static struct err problem;

#ifdef HTTP_LINKS_CURL

struct curl_library curl = {
#define X(name) .name = curl_##name,
    CURL_FUNCTIONS(X)
#undef X
};

static int find(struct err *e)
{
    (void)e;
    return 0;
}

#else

struct curl_library curl;

static int find(struct err *e)
{
    void *handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL); /* stays */

    if (!handle)
        return err_set(e, ERR_NOT_FOUND,
                       "speaking to a server needs " LIBRARY "; install it (Debian: apt-get install libcurl4)");
#define X(name)                                                                                                        \
    curl.name = (__typeof__(curl_##name) *)dlsym(handle, "curl_" #name);                                               \
    if (!curl.name)                                                                                                    \
        return err_set(e, ERR_NOT_FOUND, LIBRARY " has no curl_" #name "; 7.88 or newer is needed");
    CURL_FUNCTIONS(X)
#undef X
    return 0;
}

#endif

static void load(void)
{
    if (find(&problem) == 0)
        (void)curl.global_init(CURL_GLOBAL_DEFAULT); /* fails for lack of memory; the first handle then says so */
}

int curl_load(struct err *e)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    (void)pthread_once(&once, load);
    if (problem.code == ERR_OK)
        return 0;
    if (e)
        *e = problem;
    return -1;
}
