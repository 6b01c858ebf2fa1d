/* lsf.c - the #BSUB lines of a script as options of sbatch
 *
 * LSF's options have one dash, also the long ones, and some of their values are small languages. What has a counterpart
 * becomes it here; what is left is refused with its own name.
 */
#include "ctl/slurm.h"

#include "base/util.h"

typedef VEC(char *) words_t;

static ptrdiff_t lsf_find(struct str text, struct str part)
{
    const char *at = text.n ? memmem(text.p, text.n, part.p, part.n) : NULL;

    return at ? at - text.p : -1;
}

static void lsf_add(struct arena *a, words_t *to, const char *option, struct str value)
{
    *vec_push(a, to) = (char *)arena_fmt(a, "--%s=%.*s", option, STR_ARG(value)).p;
}

/* "name[1-10]%4" is an array of that name. */
static int lsf_add_name(struct arena *a, words_t *to, struct str value, struct err *e)
{
    ptrdiff_t open = str_find_char(value, '['), close = str_find_char(value, ']');

    if (open < 0) {
        lsf_add(a, to, "job-name", value);
        return 0;
    }
    if (close < open)
        return err_set(e, ERR_SYNTAX, "-J: \"%.*s\" is not NAME[INDICES]", STR_ARG(value));
    if (open)
        lsf_add(a, to, "job-name", str_sub(value, 0, (size_t)open));
    lsf_add(a, to, "array",
            arena_fmt(a, "%.*s%.*s", (int)(close - open - 1), value.p + open + 1,
                      STR_ARG(str_from(value, (size_t)close + 1))));
    return 0;
}

/* "4" or "2,8": at least, at most. A gang is as large as it must be. */
static int add_tasks(struct arena *a, words_t *to, struct str value, struct err *e)
{
    struct str min = value;

    (void)e;
    (void)str_split(&value, ',', &min);
    lsf_add(a, to, "ntasks", min);
    return 0;
}

/* Hours and minutes, or minutes; a host to compare with may follow. */
static int lsf_add_time(struct arena *a, words_t *to, struct str value, struct err *e)
{
    struct str time = value, hours, minutes;

    (void)e;
    (void)str_split(&value, '/', &time);
    minutes = time;
    if (str_find_char(time, ':') >= 0 && str_split(&minutes, ':', &hours))
        lsf_add(a, to, "time", arena_fmt(a, "%.*s:%.*s:00", STR_ARG(hours), STR_ARG(minutes)));
    else
        lsf_add(a, to, "time", time);
    return 0;
}

/* "name[key=value…]": the value; empty: it is not there. */
static struct str value_in(struct str text, struct str section, struct str key)
{
    ptrdiff_t at = lsf_find(text, section), end;
    struct str inside, part;

    if (at < 0)
        return STR_NULL;
    inside = str_from(text, (size_t)at + section.n);
    end = str_find_char(inside, ']');
    inside = end < 0 ? STR_NULL : str_sub(inside, 0, (size_t)end);
    while (str_split(&inside, ',', &part)) {
        part = str_trim(part);
        if (str_starts(part, key))
            return str_from(part, key.n);
    }
    return STR_NULL;
}

/* rusage[mem=4096] span[ptile=4]; nothing else of that language. */
static int add_requirement(struct arena *a, words_t *to, struct str value, struct err *e)
{
    struct str mem = value_in(value, STR("rusage["), STR("mem="));
    struct str tile = value_in(value, STR("span["), STR("ptile="));
    bool is_one = str_has(value, STR("span[hosts=1]"));

    if (mem.n)
        lsf_add(a, to, "mem-per-cpu", mem);
    if (tile.n)
        lsf_add(a, to, "ntasks-per-node", tile);
    if (mem.n || tile.n || is_one)
        return 0;
    return err_set(e, ERR_SYNTAX, "-R: \"%.*s\" is not supported; only rusage[mem=N] and span[ptile=N] are",
                   STR_ARG(value));
}

/* "num=2:mode=shared" */
static int add_gpus(struct arena *a, words_t *to, struct str value, struct err *e)
{
    struct str part, rest = value;

    while (str_split(&rest, ':', &part))
        if (str_starts(part, STR("num="))) {
            lsf_add(a, to, "gpus-per-node", str_from(part, 4));
            return 0;
        }
    return err_set(e, ERR_SYNTAX, "-gpu: \"%.*s\" has no num=N", STR_ARG(value));
}

static const struct {
    const char *condition, *after;
} conditions[] = {
    { "done", "afterok" },
    { "ended", "afterany" },
    { "exit", "afternotok" },
    { "started", "after" },
};

/* "done(a)": one of those that && joins. */
static int lsf_add_condition(struct buf *list, struct str text, struct err *e)
{
    struct str inside = str_trim(text), word = STR("done");
    size_t i = 0;

    if (inside.n && inside.p[inside.n - 1] == ')') {
        inside = str_sub(inside, 0, inside.n - 1);
        (void)str_split(&inside, '(', &word);
    }
    while (i < ARRAY_LEN(conditions) && !str_is(str_trim(word), conditions[i].condition))
        i++;
    inside = str_trim(inside);
    if (inside.n > 1 && inside.p[0] == '"')
        inside = str_sub(inside, 1, inside.n - 2);
    if (i == ARRAY_LEN(conditions) || !inside.n)
        return err_set(
            e, ERR_SYNTAX,
            "-w: \"%.*s\" is not supported; only done(), ended(), exit() and started() of jobs are, joined by &&",
            STR_ARG(text));
    buf_fmt(list, "%s%s:%.*s", list->n ? "," : "", conditions[i].after, STR_ARG(inside));
    return 0;
}

static int add_dependency(struct arena *a, words_t *to, struct str value, struct err *e)
{
    autobuf list = { 0 };
    ptrdiff_t at;

    if (str_has(value, STR("||")) || str_has(value, STR("!")))
        return err_set(e, ERR_SYNTAX, "-w: \"%.*s\" is not supported; only && is", STR_ARG(value));
    while ((at = lsf_find(value, STR("&&"))) >= 0) {
        if (lsf_add_condition(&list, str_sub(value, 0, (size_t)at), e) < 0)
            return -1;
        value = str_from(value, (size_t)at + 2);
    }
    if (lsf_add_condition(&list, value, e) < 0)
        return -1;
    lsf_add(a, to, "dependency", arena_str(a, buf_view(&list)));
    return 0;
}

/* "out.%J.%I": Slurm's are %j and %a. */
static struct str lsf_file_name(struct arena *a, struct str value)
{
    struct str text = arena_str(a, value);
    char *p = (char *)text.p;

    for (size_t i = 1; i < text.n; i++)
        if (p[i - 1] == '%')
            p[i] = p[i] == 'J' ? 'j' : p[i] == 'I' ? 'a' : p[i];
    return text;
}

static int add_output(struct arena *a, words_t *to, struct str value, struct err *e)
{
    (void)e;
    lsf_add(a, to, "output", lsf_file_name(a, value));
    return 0;
}

static int add_error(struct arena *a, words_t *to, struct str value, struct err *e)
{
    (void)e;
    lsf_add(a, to, "error", lsf_file_name(a, value));
    return 0;
}

static const struct bsub_option {
    const char *name, *option; /* of sbatch; NULL: 'carry' makes it */
    int (*carry)(struct arena *a, words_t *to, struct str value, struct err *e);
    bool has_value;
} options[] = {
    { "-J", NULL, lsf_add_name, true },
    { "-q", "partition", NULL, true },
    { "-n", NULL, add_tasks, true },
    { "-M", "mem-per-cpu", NULL, true },
    { "-R", NULL, add_requirement, true },
    { "-W", NULL, lsf_add_time, true },
    { "-gpu", NULL, add_gpus, true },
    { "-o", NULL, add_output, true },
    { "-oo", NULL, add_output, true },
    { "-e", NULL, add_error, true },
    { "-eo", NULL, add_error, true },
    { "-cwd", "chdir", NULL, true },
    { "-env", "export", NULL, true },
    { "-w", NULL, add_dependency, true },
    { "-K", "wait", NULL, false },
    { "-r", "requeue", NULL, false },
    { "-rn", "no-requeue", NULL, false },
    { "-H", "hold", NULL, false },
    { "-x", "exclusive", NULL, false },
    { "-b", "begin", NULL, true },
    { "-sp", "priority", NULL, true },
    { "-P", "account", NULL, true },
    { "-G", "qos", NULL, true },
    { "-u", "mail-user", NULL, true },
    { "-B", "mail-type=BEGIN", NULL, false },
    { "-N", "mail-type=END", NULL, false },
};

int lsf_options(struct arena *a, char *const *from, char ***ret, struct err *e)
{
    words_t to = { 0 };

    for (; *from; from++) {
        const struct bsub_option *o = options;

        while (o < options + ARRAY_LEN(options) && strcmp(o->name, *from) != 0)
            o++;
        if (o == options + ARRAY_LEN(options))
            return err_set(e, ERR_SYNTAX, "#BSUB: \"%s\" is not supported", *from);
        if (o->has_value && !from[1])
            return err_set(e, ERR_SYNTAX, "#BSUB: %s needs a value", *from);
        from += o->has_value;
        if (o->carry && o->carry(a, &to, str_of(*from), e) < 0)
            return err_wrap(e, "#BSUB");
        if (o->option && o->has_value)
            lsf_add(a, &to, o->option, str_of(*from));
        else if (o->option)
            *vec_push(a, &to) = (char *)arena_fmt(a, "--%s", o->option).p;
    }
    *vec_push(a, &to) = NULL;
    *ret = to.v;
    return 0;
}
