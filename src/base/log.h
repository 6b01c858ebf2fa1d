/* log.h - one line per thing that happened: a constant sentence, then fields
 *
 *     log_info("job synced", LOG_STR("job", key), LOG_INT("created", n), LOG_MS("took", ms));
 *
 * as text:  time=2026-03-01T09:30:00.000Z level=info msg="job synced" job=default/mnist created=3 took=12ms
 * as JSON:  {"time":"2026-03-01T09:30:00.000Z","level":"info","msg":"job synced","job":"default/mnist",
 *            "created":3,"took_ms":12}      (on one line)
 *
 * error: someone must act; warn: we went on, say how; info: state changes; debug: anything. Only the layer that can do
 * something about an error logs it. Arguments of a line below the level are not evaluated.
 *
 * The log is the one thing every file reaches without being handed it, so there is one per process: log_setup() before
 * threads start, then any thread may log. A line is written with one write(); a line that cannot be written is lost.
 * Whatever a value holds, a line stays one line: see LOG_VALUE_MAX and log_write().
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include "base/str.h"

struct clock;

enum log_level { LOG_LEVEL_DEBUG, LOG_LEVEL_INFO, LOG_LEVEL_WARN, LOG_LEVEL_ERROR, LOG_LEVEL_MAX };
enum log_format { LOG_FORMAT_TEXT, LOG_FORMAT_JSON, LOG_FORMAT_MAX };

/* "debug", "info", "warn", "error". */
const char *log_level_name(enum log_level level);

struct log_config {
    int fd; /* borrowed */
    enum log_level level;
    enum log_format format;
    struct clock *clock; /* borrowed; NULL: the real one */
};

/* Take a new configuration; returns the old one, for putting it back. The first is { 2, LOG_LEVEL_INFO }. */
struct log_config log_setup(struct log_config config);

bool log_enabled(enum log_level level);

/* ---- fields ---- the name is a constant word of letters, digits and '_' ---- */

enum { LOG_VALUE_MAX = 4096 }; /* longer text is cut and ends with "..." */

enum log_kind { LOG_KIND_STR, LOG_KIND_INT, LOG_KIND_U64, LOG_KIND_MS, LOG_KIND_BOOL, LOG_KIND_MAX };

struct log_field {
    const char *name;
    enum log_kind kind;
    union {
        struct str s;
        int64_t i;
        uint64_t u;
        bool b;
    };
};

#define LOG_STR(n, v)  ((struct log_field){ .name = (n), .kind = LOG_KIND_STR, .s = (v) })       /* struct str */
#define LOG_TEXT(n, v) ((struct log_field){ .name = (n), .kind = LOG_KIND_STR, .s = str_of(v) }) /* const char * */
#define LOG_INT(n, v)  ((struct log_field){ .name = (n), .kind = LOG_KIND_INT, .i = (v) })
#define LOG_U64(n, v)  ((struct log_field){ .name = (n), .kind = LOG_KIND_U64, .u = (v) })
#define LOG_MS(n, v)   ((struct log_field){ .name = (n), .kind = LOG_KIND_MS, .i = (v) })
#define LOG_BOOL(n, v) ((struct log_field){ .name = (n), .kind = LOG_KIND_BOOL, .b = (v) })

#define log_debug(sentence, ...) LOG_LINE(LOG_LEVEL_DEBUG, sentence, ##__VA_ARGS__)
#define log_info(sentence, ...)  LOG_LINE(LOG_LEVEL_INFO, sentence, ##__VA_ARGS__)
#define log_warn(sentence, ...)  LOG_LINE(LOG_LEVEL_WARN, sentence, ##__VA_ARGS__)
#define log_error(sentence, ...) LOG_LINE(LOG_LEVEL_ERROR, sentence, ##__VA_ARGS__)

/* The first, unused field lets the list be empty. */
#define LOG_LINE(level, sentence, ...)                                                                                 \
    do {                                                                                                               \
        if (log_enabled(level)) {                                                                                      \
            const struct log_field log_fields_[] = { { 0 }, ##__VA_ARGS__ };                                           \
            log_write(level, "" sentence, log_fields_ + 1, sizeof(log_fields_) / sizeof(log_fields_[0]) - 1);          \
        }                                                                                                              \
    } while (0)

/* Behind the macros. Text form: a value that is empty or holds blanks, quotes, '=', backslashes or control characters
 * stands in quotes, with \" \\ \n \r \t and \xNN inside; bytes that are not UTF-8 become \xNN. JSON form: escapes as
 * JSON has them; bytes that are not UTF-8 become U+FFFD. */
void log_write(enum log_level level, const char *sentence, const struct log_field *fields, size_t n);

#endif
