/* ui.c - a file of the page by its name */
#include "ui/ui.h"

const struct ui_file *ui_find(struct str name)
{
    if (!name.n)
        name = STR("index.html");
    for (size_t i = 0; i < ui_n_files; i++)
        if (str_is(name, ui_files[i].name))
            return &ui_files[i];
    return NULL;
}
