/* advice_search.c - how far must a number go until the job starts? */
#include "whatif/advice_internal.h"

static bool search_works(const struct search *q, int64_t n, struct suggestion *ret)
{
    struct suggestion s = { 0 };

    q->build(q->v, q->ctx, n, &s);
    if (!trial_suggestion(q->v, &s, NULL))
        return false;
    *ret = s;
    return true;
}

/* Between 'good', which works, and 'bad', which does not, whichever is larger. */
static int64_t search_narrow(const struct search *q, int64_t good, int64_t bad, struct suggestion *ret)
{
    while (good - bad > 1 || bad - good > 1) {
        int64_t middle = good + (bad - good) / 2;

        if (search_works(q, middle, ret))
            good = middle;
        else
            bad = middle;
    }
    return good;
}

bool search_largest(const struct search *q, int64_t low, int64_t high, struct suggestion *ret, int64_t *ret_n)
{
    int64_t good = low, bad = high + 1, hint = q->hint;

    if (low > high)
        return false;
    if (hint > low && hint <= high && search_works(q, hint, ret))
        good = hint;
    else if (search_works(q, low, ret))
        bad = hint > low && hint <= high ? hint : bad;
    else
        return false;
    if (good == hint && good + 1 < bad && !search_works(q, good + 1, ret)) /* mostly the hint was right */
        bad = good + 1;
    *ret_n = search_narrow(q, good, bad, ret);
    return true;
}

bool search_smallest(const struct search *q, int64_t low, int64_t high, struct suggestion *ret, int64_t *ret_n)
{
    if (low > high || !search_works(q, high, ret))
        return false;
    *ret_n = search_narrow(q, high, low - 1, ret);
    return true;
}

struct str pointer_part(struct arena *a, struct str key)
{
    autobuf out = { 0 };

    for (size_t i = 0; i < key.n; i++)
        if (key.p[i] == '~' || key.p[i] == '/')
            buf_str(&out, key.p[i] == '~' ? STR("~0") : STR("~1"));
        else
            buf_char(&out, key.p[i]);
    return arena_str(a, buf_view(&out));
}

struct str quantity_text(struct arena *a, struct quantity q)
{
    autobuf out = { 0 };

    quantity_print(&out, q);
    return arena_str(a, buf_view(&out));
}

struct str scalar_text(const struct json *j)
{
    return json_is(j, JSON_STRING) || json_is(j, JSON_NUMBER) ? (struct str){ j->text, j->n } : STR_NULL;
}
