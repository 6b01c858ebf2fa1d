/* curl.h - libcurl, loaded when the first client is made
 *
 * The library brings thirty others along (LDAP, Kerberos, SSH …), which would cost every start of the program 4 ms, and
 * most runs speak to no server. So curl_easy_init() is curl.easy_init() here, after curl_load(). In a program that is
 * linked statically (HTTP_LINKS_CURL) the functions are there from the beginning.
 */
#ifndef HTTP_CURL_H
#define HTTP_CURL_H

#include <curl/curl.h>

struct err;

#define CURL_FUNCTIONS(X)                                                                                              \
    X(global_init)                                                                                                     \
    X(easy_init)                                                                                                       \
    X(easy_cleanup)                                                                                                    \
    X(easy_reset)                                                                                                      \
    X(easy_setopt)                                                                                                     \
    X(easy_getinfo)                                                                                                    \
    X(easy_strerror)                                                                                                   \
    X(easy_header)                                                                                                     \
    X(multi_init)                                                                                                      \
    X(multi_cleanup)                                                                                                   \
    X(multi_setopt)                                                                                                    \
    X(multi_add_handle)                                                                                                \
    X(multi_remove_handle)                                                                                             \
    X(multi_socket_action)                                                                                             \
    X(multi_info_read)                                                                                                 \
    X(multi_strerror)                                                                                                  \
    X(slist_append)                                                                                                    \
    X(slist_free_all)                                                                                                  \
    X(url)                                                                                                             \
    X(url_cleanup)                                                                                                     \
    X(url_set)                                                                                                         \
    X(url_get)                                                                                                         \
    X(url_strerror)                                                                                                    \
    X(free)

struct curl_library {
#define X(name) __typeof__(curl_##name) *name;
    CURL_FUNCTIONS(X)
#undef X
};
extern struct curl_library curl;

/* ERR_NOT_FOUND says what to install. */
int curl_load(struct err *e);

#endif
