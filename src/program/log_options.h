/* log_options.h - --log-level and --log-format, for commands that run for long */
#ifndef PROGRAM_LOG_OPTIONS_H
#define PROGRAM_LOG_OPTIONS_H

#include "cli/options.h"

extern const char *const log_level_values[], *const log_format_values[];

void log_options_apply(const char *level, const char *format); /* NULL: info, text. To standard error */

/* Rows of an option table. */
#define LOG_OPTIONS(field)                                                                                             \
    OPTION_ROW(0, "log-level", OPTION_TEXT, field(log_level), "LEVEL", log_level_values,                               \
               "debug, info (default), warn or error"),                                                                \
        OPTION_ROW(0, "log-format", OPTION_TEXT, field(log_format), "FORM", log_format_values,                         \
                   "text (default) or json")

#endif
