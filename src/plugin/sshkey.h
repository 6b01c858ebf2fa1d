/* sshkey.h - key pairs for the ssh plugin, by OpenSSL */
#ifndef PLUGIN_SSHKEY_H
#define PLUGIN_SSHKEY_H

#include "plugin/plugin.h"

/* "rsa" (2048 bits, e = 65537, PKCS#1 PEM), "ed25519" (OpenSSH PEM), "ecdsa" (P-256, SEC1 PEM). */
int ssh_keys_generate(struct arena *a, const char *type, struct ssh_keys *ret, struct err *e);

/* The public line that belongs to a private key in any PEM form OpenSSL reads, or the OpenSSH form. ERR_INVALID if it
 * cannot be read (encrypted, damaged). */
int ssh_public_from_private(struct arena *a, struct str pem, struct str *ret_line, struct err *e);

#endif
