/* log_options.c - the log of a command that runs for long */
#include "program/log_options.h"

#include "base/log.h"

#include <unistd.h>

const char *const log_level_values[] = { "debug", "info", "warn", "error", NULL }; /* as log_level_name() has them */
const char *const log_format_values[] = { "text", "json", NULL };

void log_options_apply(const char *level, const char *format)
{
    struct log_config log = { .fd = STDERR_FILENO, .level = LOG_LEVEL_INFO };

    for (int i = 0; level && i < LOG_LEVEL_MAX; i++)
        if (strcmp(level, log_level_name((enum log_level)i)) == 0)
            log.level = (enum log_level)i;
    if (format && strcmp(format, "json") == 0)
        log.format = LOG_FORMAT_JSON;
    (void)log_setup(log); /* the one before was the default */
}
