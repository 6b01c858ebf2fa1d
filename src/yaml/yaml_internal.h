/* yaml_internal.h - what the files of this folder share: the meaning of a plain word, characters, the open reader */
#ifndef YAML_YAML_INTERNAL_H
#define YAML_YAML_INTERNAL_H

#include "yaml/yaml.h"

/* ---- plain words: scalar.c ---- */

enum yaml_kind {
    YAML_TEXT,
    YAML_NULL,
    YAML_BOOL,
    YAML_INT,
    YAML_FLOAT,
    YAML_NOT_FINITE, /* .inf, .nan: a number for YAML, nothing JSON can hold */
    YAML_KIND_MAX,
};

struct yaml_scalar {
    enum yaml_kind kind;
    bool truth; /* YAML_BOOL */
    /* YAML_INT, YAML_FLOAT: looks like a number but none a float64 or (written in hex, octal, binary) 64 bits can
     * hold. Kubernetes' reader takes it as text; the printer must quote it, because others do not. */
    bool is_extreme;
};

/* What the plain word 'text' means in YAML 1.1 as Kubernetes reads it. Allocates nothing. */
struct yaml_scalar yaml_resolve(struct str text);

/* JSON number text of a word that resolves to YAML_INT or YAML_FLOAT and is not extreme. The value is exact, however
 * many digits it has; the form is the shortest: 1e3 is 1000, 0x1F is 31, 1.50 is 1.5. */
struct str yaml_number(struct arena *a, struct str text);

/* The text Kubernetes' reader makes of a floating point key: rounded to float32, as "%g". 'number' is JSON text. */
struct str yaml_float_key(struct arena *a, struct str number);

/* Is it number text as JSON has it? */
bool yaml_is_json_number(struct str text);

/* Would some reader, of YAML 1.1 or 1.2, take the plain word 'text' for something else than text? */
bool yaml_is_ambiguous(struct str text);

/* Bytes of the character that 's' begins with, its code in '*ret_code'; 0 if it is not well-formed UTF-8. */
size_t yaml_char(struct str s, uint32_t *ret_code);

/* ---- the reader: parse.c; mapping.c for the end of a mapping; syntax.c for what cannot be read ---- */

struct yaml_parser_s; /* libyaml's */

/* A key or anchor name. Equal texts are one word, so that keys compare by address however long they are. */
struct yaml_word {
    struct str text;
    uint64_t hash;
    /* As an anchor: the node it names, in which document; open while the node is being read. */
    struct json *node;
    size_t doc;
    bool is_open, is_float;
};

struct yaml_frame { /* a list or mapping being read */
    struct json *node;
    struct yaml_word *anchor;
    struct str key; /* mapping: the key read last; p is NULL when a key comes next */
    uint32_t key_line;
    uint16_t key_col;
};

struct yaml_reader {
    struct arena *arena;
    struct str text;
    const struct yaml_options *opt;
    struct err *e;
    size_t max_depth, max_nodes, max_copied;
    size_t nodes;  /* made so far, copies included */
    size_t copied; /* bytes of text reached through aliases */
    size_t doc;    /* number of the document, from 1 */
    VEC(struct yaml_frame) stack;
    struct yaml_docs docs;
    struct yaml_word **words; /* hash table, open addressing, 'word_slots' is a power of two */
    size_t word_count, word_slots;
};

/* The key of a '<<' that merges; compare by address. A quoted "<<" is an ordinary word. */
extern const char yaml_merge_key[];

struct yaml_place {
    size_t line, col; /* from 1; line 0: the file as a whole */
};

/* "file: line 3, column 7: sentence". Returns -1. */
int yaml_fail(struct yaml_reader *r, enum err_code code, struct yaml_place at, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* One more node; -1 when that is one too many. */
int yaml_count_node(struct yaml_reader *r, size_t line, size_t col);

/* Size, encoding and what libyaml would take too long for. Steps over a byte order mark. */
int yaml_check_input(struct yaml_reader *r, size_t max_bytes);

/* Say what libyaml's parser stumbled over. Returns -1. */
int yaml_fail_syntax(struct yaml_reader *r, const struct yaml_parser_s *p);

/* All members of 'object' are read: put merged members in, deal with keys that are there twice. */
int yaml_mapping_end(struct yaml_reader *r, struct json *object);

#endif
