/* ui.h - the page at /ui: its files, inside the program
 *
 * page/ has the files as a browser loads them: there is no build step, and no file comes from another host. The page uses
 * only the Kubernetes API, with the user's token, so it has the same rights as kubectl; see docs/design/ui.md. embed.py puts
 * the files into the program.
 */
#ifndef UI_UI_H
#define UI_UI_H

#include "base/str.h"

struct ui_file {
    const char *name; /* "app.js" */
    const char *type; /* of its content */
    const char *etag; /* with its quotes */
    const unsigned char *bytes;
    size_t n;
};

extern const struct ui_file ui_files[];
extern const size_t ui_n_files;

/* The file of that name; "": the page itself. NULL: there is none. */
const struct ui_file *ui_find(struct str name);

#endif
