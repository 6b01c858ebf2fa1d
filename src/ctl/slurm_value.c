/* slurm_value.c - times, sizes, lists and states as Slurm writes them */
#include "base/util.h"
#include "ctl/slurm.h"

/* ---- numbers ---- */

int slurm_time(struct str text, int64_t *ret_s, struct err *e)
{
    int64_t days = 0, part[3] = { 0 }, n = 0;
    ptrdiff_t dash = str_find_char(text, '-');
    struct str rest = text, word;

    if (str_eq_nocase(text, STR("UNLIMITED")) || str_eq_nocase(text, STR("INFINITE"))) {
        *ret_s = 0;
        return 0;
    }
    if (dash >= 0) {
        if (str_to_i64(str_sub(text, 0, (size_t)dash), &days) < 0 || days < 0)
            goto bad;
        rest = str_from(text, (size_t)dash + 1);
    }
    while (str_split(&rest, ':', &word))
        if (n == 3 || str_to_i64(word, &part[n++]) < 0 || part[n - 1] < 0 || part[n - 1] > 1000000)
            goto bad;
    if (dash >= 0) /* days-hours[:minutes[:seconds]] */
        *ret_s = days * 86400 + part[0] * 3600 + part[1] * 60 + part[2];
    else if (n == 3)
        *ret_s = part[0] * 3600 + part[1] * 60 + part[2];
    else
        *ret_s = part[0] * 60 + part[1]; /* minutes[:seconds] */
    return 0;
bad:
    return err_set(e, ERR_SYNTAX, "--time: \"%.*s\" is not a time; write minutes, hours:minutes:seconds or days-hours",
                   STR_ARG(text));
}

int slurm_memory(struct str text, int64_t *ret_bytes, struct err *e)
{
    static const char units[] = "KMGT";
    const char *unit = text.n ? strchr(units, text.p[text.n - 1] & ~0x20) : NULL;
    struct str digits = text;
    int64_t n;

    if (text.n > 1 && (text.p[text.n - 1] & ~0x20) == 'B') {
        digits = str_sub(text, 0, text.n - 1);
        unit = strchr(units, digits.p[digits.n - 1] & ~0x20);
    }
    if (unit && *unit)
        digits = str_sub(digits, 0, digits.n - 1);
    else
        unit = units + 1; /* megabytes */
    if (str_to_i64(digits, &n) < 0 || n < 0 || n > 1 << 30)
        return err_set(e, ERR_SYNTAX, "\"%.*s\" is not a size; write 500M or 4G", STR_ARG(text));
    *ret_bytes = n << (10 * (unit - units + 1));
    return 0;
}

int slurm_gres(struct str text, int64_t *ret_gpus, struct str *ret_kind, struct err *e)
{
    struct str rest = text, part[3];
    size_t n = 0;

    while (n < 3 && str_split(&rest, ':', &part[n]))
        n++;
    *ret_gpus = 1;
    *ret_kind = STR_NULL;
    if (!n || rest.n || !str_is(part[0], "gpu"))
        return err_set(e, ERR_SYNTAX, "--gres: \"%.*s\" is not supported; only gpu, gpu:N and gpu:TYPE:N are",
                       STR_ARG(text));
    if (n == 1 || (n == 2 && str_to_i64(part[1], ret_gpus) == 0))
        return 0;
    *ret_kind = part[1];
    if (n == 3 && (str_to_i64(part[2], ret_gpus) < 0 || *ret_gpus < 0))
        return err_set(e, ERR_SYNTAX, "--gres: \"%.*s\" is not a number", STR_ARG(part[2]));
    return 0;
}

/* ---- lists ---- */

enum { ARRAY_MAX = 10000 };

/* "7", "1-10", "1-10:2" */
static int add_range(struct arena *a, struct str part, struct slurm_array *ret)
{
    struct str range, last, step = part;
    int64_t from, to, by = 1;

    (void)str_split(&step, ':', &range);
    last = range;
    (void)str_split(&last, '-', &range);
    if (str_to_i64(range, &from) < 0 || from < 0)
        return -1;
    to = from;
    if ((last.p && str_to_i64(last, &to) < 0) || (step.p && str_to_i64(step, &by) < 0) || to < from || by < 1)
        return -1;
    for (; from <= to; from += by) {
        if (ret->index.n == ARRAY_MAX)
            return -1;
        *vec_push(a, &ret->index) = from;
    }
    return 0;
}

int slurm_array(struct arena *a, struct str text, struct slurm_array *ret, struct err *e)
{
    ptrdiff_t percent = str_find_char(text, '%');
    struct str rest = percent >= 0 ? str_sub(text, 0, (size_t)percent) : text, part;

    *ret = (struct slurm_array){ 0 };
    if (percent >= 0 && (str_to_i64(str_from(text, (size_t)percent + 1), &ret->at_a_time) < 0 || ret->at_a_time < 1))
        return err_set(e, ERR_SYNTAX, "--array: \"%.*s\" has no number after the %%", STR_ARG(text));
    while (str_split(&rest, ',', &part))
        if (add_range(a, part, ret) < 0)
            return err_set(e, ERR_SYNTAX, "--array: \"%.*s\" is not a list of at most %d indices, such as 1-10:2,15%%4",
                           STR_ARG(text), ARRAY_MAX);
    return 0;
}

int slurm_dependencies(struct arena *a, struct str text, struct slurm_dependencies *ret, struct err *e)
{
    static const char *const names[] = {
        [AFTER_BEGIN] = "after", [AFTER_ANY] = "afterany", [AFTER_OK] = "afterok", [AFTER_NOT_OK] = "afternotok"
    };
    struct str part, word;

    while (str_split(&text, ',', &part)) {
        size_t i = 0;

        (void)str_split(&part, ':', &word);
        while (i < ARRAY_LEN(names) && !str_is(word, names[i]))
            i++;
        if (i == ARRAY_LEN(names) || !part.n)
            return err_set(e, ERR_SYNTAX,
                           "--dependency: \"%.*s\" is not supported; only after:, afterany:, afterok: and afternotok: "
                           "with jobs are",
                           STR_ARG(word));
        while (str_split(&part, ':', &word))
            *vec_push(a, &ret->v) = (struct slurm_dependency){ (enum slurm_after)i, word };
    }
    return 0;
}

/* ---- text ---- */

struct str slurm_elapsed(struct arena *a, int64_t s)
{
    long long d = s / 86400, h = s / 3600 % 24, m = s / 60 % 60, r = s % 60;

    if (d)
        return arena_fmt(a, "%lld-%02lld:%02lld:%02lld", d, h, m, r);
    return h ? arena_fmt(a, "%lld:%02lld:%02lld", h, m, r) : arena_fmt(a, "%lld:%02lld", m, r);
}

static const struct {
    const char *phase, *code, *state;
} states[] = {
    { "Pending", "PD", "PENDING" },        { "Running", "R", "RUNNING" },       { "Restarting", "RQ", "REQUEUED" },
    { "Completing", "CG", "COMPLETING" },  { "Completed", "CD", "COMPLETED" },  { "Failed", "F", "FAILED" },
    { "Terminating", "CG", "COMPLETING" }, { "Terminated", "CA", "CANCELLED" }, { "Aborting", "CG", "COMPLETING" },
    { "Aborted", "S", "SUSPENDED" },
};

const char *slurm_state(struct str phase)
{
    for (size_t i = 0; i < ARRAY_LEN(states); i++)
        if (str_is(phase, states[i].phase))
            return states[i].code;
    return "PD";
}

const char *slurm_state_long(struct str phase)
{
    for (size_t i = 0; i < ARRAY_LEN(states); i++)
        if (str_is(phase, states[i].phase))
            return states[i].state;
    return "PENDING";
}
