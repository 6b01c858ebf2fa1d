/* problem.c - collecting what is wrong, with the path and the place of each */
#include "json/problem.h"

#include "base/util.h"

/* ---- places ---- */

/* Would the key be torn apart when the path is read again? */
static bool needs_brackets(struct str key)
{
    for (size_t i = 0; i < key.n; i++)
        if (strchr("./[]", key.p[i]))
            return true;
    return key.n == 0;
}

static void path_append(struct buf *out, const struct place *at)
{
    if (!at->up) /* the root has no name */
        return;
    path_append(out, at->up);
    if (!at->key.p || json_is(at->up->node, JSON_ARRAY))
        buf_fmt(out, "[%zu]", at->index);
    else if (needs_brackets(at->key))
        buf_fmt(out, "[%.*s]", STR_ARG(at->key));
    else
        buf_fmt(out, "%s%.*s", out->n ? "." : "", STR_ARG(at->key));
}

struct str place_path(struct arena *a, const struct place *at)
{
    autobuf out = { 0 };

    path_append(&out, at);
    return arena_str(a, buf_view(&out));
}

/* ---- problems ---- */

static bool is_full(const struct problems *ps, enum problem_level level)
{
    size_t n_errors_kept = MIN_OF(ps->n_errors, PROBLEMS_MAX);

    return (level == PROBLEM_ERROR ? n_errors_kept : ps->list.n - n_errors_kept) >= PROBLEMS_MAX;
}

void problem_of(struct problems *ps, enum problem_kind kind, const struct place *at, const char *fmt, ...)
{
    enum problem_level level = kind <= PROBLEM_UNKNOWN ? PROBLEM_WARNING : PROBLEM_ERROR;
    struct problem p = { .level = level, .kind = kind, .seq = (uint32_t)ps->list.n };
    bool is_kept = !is_full(ps, level);
    const struct place *seen = at;
    va_list ap;

    ps->n_errors += level == PROBLEM_ERROR;
    if (kind == PROBLEM_SHAPE ? ps->n_shapes++ >= PROBLEMS_MAX : !is_kept)
        return;
    while (!seen->node && seen->up)
        seen = seen->up;
    if (seen->node)
        p.line = seen->node->line, p.col = seen->node->col;
    p.path = place_path(ps->arena, at);
    va_start(ap, fmt);
    p.text = arena_vfmt(ps->arena, fmt, ap);
    va_end(ap);
    if (is_kept)
        vec_push(ps->arena, &ps->list);
    ps->list.v[ps->list.n - 1] = p;
}

void problem_unknown(struct problems *ps, const struct place *at, const char *near)
{
    size_t n = ps->list.n;
    struct str hint = near ? arena_fmt(ps->arena, ", did you mean \"%s\"?", near) : STR_NULL;

    problem_of(ps, PROBLEM_UNKNOWN, at, "unknown field \"%.*s\"%.*s", STR_ARG(at->key), STR_ARG(hint));
    if (ps->list.n > n && near && !json_get(at->up->node, near)) { /* where both are there, each is its own mistake */
        struct place meant = { at->up, NULL, str_of(near), 0 };

        ps->list.v[n].meant = place_path(ps->arena, &meant);
    }
}

bool problems_misspelt(const struct problems *ps, const struct place *missing)
{
    autoarena scratch = { 0 };
    struct str path = place_path(&scratch, missing);

    VEC_FOREACH(p, &ps->list)
        if (p->meant.n && str_eq(p->meant, path))
            return true;
    return false;
}

/* Is 'path' that of 'above', or below it? */
static bool problem_path_is_below(struct str path, struct str above)
{
    struct str rest = str_from(path, above.n);

    return str_starts(path, above) && (above.n == 0 || rest.n == 0 || rest.p[0] == '.' || rest.p[0] == '[');
}

struct misspellings { /* few, among many problems */
    VEC(struct problem *) list;
};

static struct problem *misspelling_of(const struct misspellings *ms, struct str path)
{
    VEC_FOREACH(p, &ms->list)
        if (problem_path_is_below(path, (*p)->meant))
            return *p;
    return NULL;
}

void problems_merge(struct problems *ps)
{
    struct misspellings all = { 0 };
    size_t kept = 0;

    VEC_FOREACH(p, &ps->list)
        if (p->meant.n)
            *vec_push(ps->arena, &all.list) = p;
    for (size_t i = 0; i < ps->list.n && all.list.n; i++) {
        struct problem *p = &ps->list.v[i],
                       *cause = p->level == PROBLEM_ERROR && !p->meant.n ? misspelling_of(&all, p->path) : NULL;

        if (!cause)
            continue;
        ps->n_errors -= cause->level == PROBLEM_ERROR;
        cause->level = PROBLEM_ERROR;
        p->text = STR_NULL; /* goes below, when all causes have been found */
    }
    for (size_t i = 0; i < ps->list.n; i++)
        if (ps->list.v[i].text.p)
            ps->list.v[kept++] = ps->list.v[i];
    ps->list.n = kept;
}

static int by_position(const void *x, const void *y)
{
    const struct problem *a = x, *b = y;

    if (a->line != b->line)
        return a->line < b->line ? -1 : 1;
    if (a->col != b->col)
        return a->col < b->col ? -1 : 1;
    return a->seq < b->seq ? -1 : a->seq > b->seq;
}

void problems_sort(struct problems *ps)
{
    if (ps->list.n > 1)
        qsort(ps->list.v, ps->list.n, sizeof(*ps->list.v), by_position);
}

struct str problems_join(struct arena *a, const struct problems *ps)
{
    autobuf out = { 0 };

    VEC_FOREACH(p, &ps->list) {
        if (p->level != PROBLEM_ERROR)
            continue;
        buf_fmt(&out, "%s%.*s%s%.*s", out.n ? "; " : "", STR_ARG(p->path), p->path.n ? ": " : "", STR_ARG(p->text));
    }
    if (ps->n_errors > PROBLEMS_MAX)
        buf_fmt(&out, "; and %zu more", ps->n_errors - PROBLEMS_MAX);
    return arena_str(a, buf_view(&out));
}

bool problems_error_below(const struct problems *ps, const struct place *at)
{
    autoarena scratch = { 0 };
    struct str path = ps->n_errors ? place_path(&scratch, at) : STR_NULL;

    VEC_FOREACH(p, &ps->list)
        if (p->level == PROBLEM_ERROR && problem_path_is_below(p->path, path))
            return true;
    return false;
}
