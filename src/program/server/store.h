/* store.h - `pumice server backup|restore|check`: looking after the store of a server
 *
 * backup and check work while the server runs, restore when it does not.
 */
#ifndef PROGRAM_SERVER_STORE_H
#define PROGRAM_SERVER_STORE_H

#include "cli/options.h"

#define SERVER_STORE_DIR "store" /* below --data-dir */

struct server_store_options {
    const char *dir;                /* of the store */
    const char *const *secret_keys; /* files, the last NULL; NULL: none */
};

/* Each takes what stands behind its word on the command line, and returns the exit status. */
int cmd_server_backup(const struct server_store_options *o, const struct text_list *arguments);
int cmd_server_restore(const struct server_store_options *o, const struct text_list *arguments);
int cmd_server_check(const struct server_store_options *o, const struct text_list *arguments);

/* One of them by its word, arguments[0]. */
int server_store_run(const struct server_store_options *o, const struct text_list *arguments);

#endif
