/* name.h - what Kubernetes allows as a name, a label, an environment variable …
 *
 * Each check returns NULL when the text is fine, else a sentence that says what is wrong and what is allowed, e.g.
 * "must be a DNS label: lower-case letters, digits and '-', beginning and ending with a letter or digit (got
 * "My_Job")". The sentence lives in 'a'.
 */
#ifndef API_NAME_H
#define API_NAME_H

#include "base/arena.h"

const char *name_check_dns_label(struct arena *a, struct str s);     /* RFC 1123 label, ≤ 63 */
const char *name_check_dns_subdomain(struct arena *a, struct str s); /* labels joined by dots, ≤ 253 */
const char *name_check_dns1035_label(struct arena *a, struct str s); /* as a label, and begins with a letter */
const char *name_check_qualified(struct arena *a, struct str s);     /* [prefix/]name: label keys, finalizers */
const char *name_check_label_value(struct arena *a, struct str s);   /* ≤ 63, may be empty */
const char *name_check_env(struct arena *a, struct str s);           /* environment variable */
const char *name_check_config_key(struct arena *a, struct str s);    /* ConfigMap and Secret keys */
const char *name_check_port(struct arena *a, struct str s);          /* IANA service name, ≤ 15 */
const char *name_check_path_segment(struct arena *a, struct str s);  /* any object name: no '/', '%', ".", ".." */

#endif
