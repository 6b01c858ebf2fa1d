/* scrub.c - texts without secrets */
#include "history/scrub.h"

#include "base/util.h"

#include <ctype.h>

static const char hidden[] = "(hidden)";

void scrub_done(struct scrub *s)
{
    map_done(&s->known);
    arena_done(&s->arena);
}

static int by_length(const void *x, const void *y)
{
    const struct str *a = x, *b = y;

    return a->n == b->n ? str_cmp(*a, *b) : a->n < b->n ? 1 : -1;
}

static void add_word(struct scrub *s, struct str word)
{
    word = str_trim(word);
    if (word.n < SCRUB_MIN || map_get(&s->known, word))
        return;
    word = arena_str(&s->arena, word);
    map_put(&s->known, word, s);
    *vec_push(&s->arena, &s->words) = word;
    qsort(s->words.v, s->words.n, sizeof(*s->words.v), by_length); /* a part of one must not be cut out of it */
}

void scrub_add(struct scrub *s, struct str secret)
{
    struct str line;

    while (str_split(&secret, '\n', &line))
        add_word(s, line);
}

void scrub_add_secret(struct scrub *s, const struct json *object)
{
    JSON_FOREACH(m, json_get(object, "stringData"))
        scrub_add(s, json_text(m, STR_NULL));
    JSON_FOREACH(m, json_get(object, "data")) {
        struct str coded = json_text(m, STR_NULL);
        autobuf plain = { 0 };

        scrub_add(s, coded);
        if (buf_unbase64(&plain, coded) == 0)
            scrub_add(s, buf_view(&plain));
    }
}

bool scrub_is_private(struct str variable)
{
    static const char *const parts[] = { "TOKEN",  "SECRET",     "PASSW",     "PASSPHRASE",  "CREDENTIAL", "API_KEY",
                                         "APIKEY", "ACCESS_KEY", "ACCESSKEY", "PRIVATE_KEY", "PRIVKEY",    "AUTH_KEY" };
    autobuf upper = { 0 };

    for (size_t i = 0; i < variable.n; i++)
        buf_char(&upper, variable.p[i] == '-' ? '_' : (char)toupper((unsigned char)variable.p[i]));
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        if (upper.n && strstr(upper.p, parts[i]))
            return true;
    return false;
}

/* The first secret in 'text', and where; NULL: none. */
static const struct str *scrub_find(const struct scrub *s, struct str text, size_t *ret_at)
{
    const struct str *first = NULL;

    VEC_FOREACH(w, &s->words) {
        const char *p = text.n < w->n ? NULL : memmem(text.p, text.n, w->p, w->n);

        if (p && (!first || (size_t)(p - text.p) < *ret_at)) {
            first = w;
            *ret_at = (size_t)(p - text.p);
        }
    }
    return first;
}

void scrub_text(const struct scrub *s, struct buf *out, struct str text)
{
    const struct str *word;
    size_t at;

    while ((word = scrub_find(s, text, &at))) {
        buf_append(out, text.p, at);
        buf_str(out, str_of(hidden));
        text = str_from(text, at + word->n);
    }
    buf_str(out, text);
}

void scrub_tree(const struct scrub *s, struct arena *a, struct json *j)
{
    struct json *next;
    size_t at;

    for (struct json *m = json_first(j); m && s->words.n; m = next) {
        next = m->next;
        if (json_is(m, JSON_OBJECT) || json_is(m, JSON_ARRAY)) {
            scrub_tree(s, a, m);
        } else if (json_is(m, JSON_STRING) && scrub_find(s, json_text(m, STR_NULL), &at)) {
            autobuf text = { 0 };

            scrub_text(s, &text, json_text(m, STR_NULL));
            json_replace(j, m, json_str(a, arena_str(a, buf_view(&text))));
        }
    }
}
