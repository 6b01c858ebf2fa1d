/* ui.h - the page at /ui: its files, inside the program
 *
 * page/ holds what a browser loads, as it loads it: there is nothing to build, and nothing comes from elsewhere. The page
 * talks to the Kubernetes API only, with the token of whoever looks at it, so it can do what kubectl can do for them; see
 * docs/design/ui.md. embed.py makes bytes of it.
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
