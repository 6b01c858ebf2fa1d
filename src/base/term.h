/* term.h - how things look: colour on a terminal, tables, plurals */
#ifndef BASE_TERM_H
#define BASE_TERM_H

#include "base/buf.h"
#include "base/vec.h"

#include <stdio.h>

enum style { STYLE_PLAIN, STYLE_BOLD, STYLE_DIM, STYLE_RED, STYLE_YELLOW, STYLE_GREEN, STYLE_CYAN };

/* Does this stream want colour? As the environment says, the first that is set and not empty: NO_COLOR: no;
 * CLICOLOR_FORCE, if not 0: yes; CLICOLOR=0, TERM=dumb: no. Else a terminal does. */
bool term_has_colour(FILE *f);
/* "always" or "never", whatever there is; anything else, and NULL: as above. */
void term_set_colour(const char *when);

/* Write it all; -1 and errno if that failed. Much of it was written by others (names, messages, logs): to a terminal go
 * text, lines, tabs and colours; every other control character is written \xNN, whatever was done about it before. */
int term_write(FILE *f, const struct buf *text);
/* The same as it is: for who moves the cursor, or has used term_stream(). */
int term_draw(FILE *f, const struct buf *text);

/* Write it to standard output and say on standard error why not; -1 then. */
int term_print(const struct buf *text);

/* Text from a file or a command line, made harmless for a terminal: control characters, and bytes that are not UTF-8,
 * are written \n, \t, \xNN. */
void term_text(struct buf *out, struct str text);

/* A line of a program, for a terminal: the same, but tabs stay, and so do colours (SGR sequences, nothing else), or are
 * left out without 'colour'. Of a line that is written over with carriage returns only the last writing shows. Nothing
 * that was switched on is on behind it; 'on' has it for the next line of the same program. */
struct term_colours {
    char text[64];
    size_t n;
};
void term_line(struct buf *out, struct str text, bool colour, struct term_colours *on);

/* What a program writes, piece by piece, for a terminal that is not its own: lines, tabs, carriage returns and colours
 * pass, or are left out without 'colour'; the rest is as above. What may be the beginning of a character or a colour
 * waits in 'held' for the next piece. At the end nothing that was switched on stays on. */
struct term_stream {
    bool colour, has_no_returns; /* the second: carriage returns do not pass */
    struct term_colours on;
    char held[32];
    size_t n_held;
};
void term_stream(struct buf *out, struct str bytes, struct term_stream *s);
void term_stream_end(struct buf *out, struct term_stream *s);

/* Text in a style, or as it is when 'colour' is false. */
void term_style(struct buf *out, bool colour, enum style style, struct str text);

/* Rows of cells in columns as wide as their widest cell; the last column is not padded. */
struct table {
    struct arena *arena;
    VEC(struct str) cells;
    size_t columns;
};
void table_cell(struct table *t, struct str text);
void table_print(struct buf *out, const struct table *t, const char *indent);

/* "1 pod", "3 pods". */
struct str plural(struct arena *a, int64_t n, const char *noun);

#endif
