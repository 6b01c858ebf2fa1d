/* options.h - command lines by table: what is parsed, what --help shows and what the manual page says are one thing
 *
 * Wrong use is not an error of the program: options_parse() prints what is wrong and how to see the help, and the
 * command ends with EXIT_USAGE.
 */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"

struct ctl_verb;

enum { EXIT_FINE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

enum option_kind {
    OPTION_FLAG,   /* bool */
    OPTION_TEXT,   /* const char *; the last one wins */
    OPTION_LIST,   /* struct text_list; each use appends */
    OPTION_SWITCH, /* const char *: "true" (also without a value) or "false"; NULL: not given */
};

struct text_list {
    VEC(const char *) list;
};

struct option {
    char letter;      /* 0: none */
    const char *name; /* without dashes */
    enum option_kind kind;
    uint32_t offset;           /* into the command's options struct */
    const char *value;         /* what --help calls the value; NULL for flags */
    const char *const *values; /* allowed, NULL-terminated; NULL: any */
    const char *doc;
    bool
        is_document; /* the name of a file; in options_file() also what would be in it: the value is JSON then, "{…}" */
};

/* For macros of rows that several tables share. */
#define OPTION_ROW(...)                                                                                                \
    {                                                                                                                  \
        __VA_ARGS__                                                                                                    \
    }

/* An option of another program that does the same work, for those who bring its command line along: taken with a word
 * about why it is not needed here, refused with one about what to do instead, or taken as one of ours. Programs written in
 * Go take '_' for '-' in names; so does a command that has such options. */
struct foreign_option {
    const char *name;
    bool has_value, is_refused;
    const char *why;
    const char *same_as; /* the name of ours; NULL: there is none */
};

/* What every command takes. */
struct common_options {
    const char *color;
};
extern const struct option common_options[];
extern const size_t n_common_options;

struct command {
    const char *name;
    const char *arguments; /* "FILE…"; "[FILE…]": none is fine too */
    const char *summary;   /* one line */
    const char *about;     /* paragraphs for --help */
    const struct option *options;
    size_t n_options;
    size_t options_size;
    const struct foreign_option *foreign; /* ended by a row without name; NULL: none */
    const char *const *examples;          /* pairs: command line, what it does; NULL-terminated */
    bool is_group;   /* only a first word: its commands are those of two words that begin with it */
    size_t stops_at; /* what stands behind so many arguments is their business, options too; 0: never */
    int (*run)(struct arena *a, const void *options, const struct text_list *arguments);
    /* Instead, of one that speaks to an API; its options are a struct api_options (api.h). */
    int (*verb)(struct ctl_verb *v, struct err *e);
};

/* Its options, then the common ones; NULL after the last. */
const struct option *command_option(const struct command *c, size_t i);

extern const struct command *const commands[];
extern const size_t n_commands;

/* Those of two words ("server user"), which are looked for first. */
extern const struct command *const subcommands[];
extern const size_t n_subcommands;

/* The words of a command line, into '*options' and 'arguments'. EXIT_USAGE: what is wrong was printed. */
int options_parse(struct arena *a, const struct command *c, char **words, void *options, struct text_list *arguments);

/* Is 'sub' one of the commands of 'group'? */
bool command_is_of(const struct command *sub, const struct command *group);

/* Parse and run: argv[0] is the program, argv[1] the command (argv[2] its second word). Returns the exit status. */
int cli_main(int argc, char **argv);

/* Settings of a command from a YAML file: its options by name. Values set in 'options' already stay: the command line
 * wins. ERR_INVALID names the file, the line and the setting; 'options' must not be used then. */
int options_file(struct arena *a, const struct command *c, const char *path, void *options, struct err *e);
/* For messages about the value of an option that was found wrong later: "server.yaml: line 3: capacity" if it is that
 * of the file, else "--capacity". 'path': NULL: there is no file. */
struct str option_said(struct arena *a, const struct command *c, const char *path, const char *name,
                       const void *options);
bool option_is_same(const struct option *o, const void *x, const void *y); /* in both of these */

/* "pumice run: TEXT" on standard error; returns 'status'. */
int command_fail(const char *command, const struct err *e, int status);

/* Help for one command, or for the program when 'c' is NULL. */
void help_print(struct buf *out, const struct command *c);

/* The manual page in roff, made from the same tables. */
void manual_print(struct buf *out);

#endif
