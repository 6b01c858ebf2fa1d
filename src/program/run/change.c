/* change.c - --set, --replicas, --env and --env-file: Jobs as the user wants them this time
 *
 * Changes are made before admission, so that defaults follow from them and what is wrong with them is reported like
 * anything else that is wrong with the file.
 */
#include "program/run/documents.h"

#include "api/pod/container.h"
#include "api/meta.h"
#include "api/name.h"
#include "base/util.h"
#include "cli/read.h"
#include "program/run/options.h"
#include "yaml/yaml.h"

enum { REPLICAS_MAX = 1000000 };

static bool is_job(const struct loaded *doc)
{
    return doc->type && str_is(object_kind(doc->root), JOB_KIND) &&
           str_is(object_api_version(doc->root), JOB_API_VERSION);
}

static int need_a_job(const struct load *l, struct err *e)
{
    for (size_t i = 0; i < l->docs.n; i++)
        if (is_job(l->docs.v[i]))
            return 0;
    return err_set(e, ERR_NOT_FOUND, "no Volcano Job to change");
}

/* "name" or "namespace/name". */
static bool change_is_named(const struct loaded *doc, struct str name)
{
    ptrdiff_t slash = str_find_char(name, '/');

    if (slash < 0)
        return str_eq(object_name(doc->root), name);
    return str_eq(object_namespace(doc->root), str_sub(name, 0, (size_t)slash)) &&
           str_eq(object_name(doc->root), str_from(name, (size_t)slash + 1));
}

static int no_such_job(const struct load *l, struct str name, struct err *e)
{
    autobuf names = { 0 };

    for (size_t i = 0; i < l->docs.n; i++)
        if (is_job(l->docs.v[i]))
            buf_fmt(&names, "%s%.*s", names.n ? ", " : "", STR_ARG(object_name(l->docs.v[i]->root)));
    return err_set(e, ERR_NOT_FOUND, "no Job \"%.*s\" (jobs: %s)", STR_ARG(name), names.n ? names.p : "none");
}

static int split_at_equals(struct str text, const char *form, struct str *ret_name, struct str *ret_value,
                           struct err *e)
{
    ptrdiff_t eq = str_find_char(text, '=');

    if (eq <= 0)
        return err_set(e, ERR_INVALID, "must be %s", form);
    *ret_name = str_sub(text, 0, (size_t)eq);
    *ret_value = str_from(text, (size_t)eq + 1);
    return 0;
}

/* ---- --replicas ---- */

static int64_t total(const struct json *tasks)
{
    int64_t n = 0;

    JSON_FOREACH(task, tasks)
        n += json_i64(json_get(task, "replicas"), 1);
    return n;
}

/* A minimum that equalled the old number of pods equals the new one; no minimum exceeds it. */
static void change_follow(struct arena *a, struct json *parent, int64_t before, int64_t now)
{
    const struct json *min = json_get(parent, "minAvailable");
    int64_t n;

    if (min && json_to_i64(min, &n) == 0 && n > 0 && ((n == before && now > 0) || n > now))
        json_set(parent, "minAvailable", json_int(a, now));
}

static void set_replicas(struct arena *a, struct json *job, struct json *task, int64_t n)
{
    struct json *spec = json_get(job, "spec");
    int64_t before = json_i64(json_get(task, "replicas"), 1), all = total(json_get(spec, "tasks"));

    json_set(task, "replicas", json_int(a, n));
    change_follow(a, task, before, n);
    change_follow(a, spec, all, all - before + n);
}

static struct json *change_task_of(const struct json *job, struct str name)
{
    JSON_FOREACH(task, json_find(job, "spec", "tasks", NULL))
        if (str_eq(json_member_text(task, "name"), name))
            return task;
    return NULL;
}

static int no_such_task(const struct load *l, struct str name, struct err *e)
{
    autobuf names = { 0 };

    for (size_t i = 0; i < l->docs.n; i++)
        if (is_job(l->docs.v[i]))
            JSON_FOREACH(task, json_find(l->docs.v[i]->root, "spec", "tasks", NULL))
                buf_fmt(&names, "%s%.*s/%.*s", names.n ? ", " : "", STR_ARG(object_name(l->docs.v[i]->root)),
                        STR_ARG(json_member_text(task, "name")));
    return err_set(e, ERR_NOT_FOUND, "no task \"%.*s\" (tasks: %s)", STR_ARG(name), names.n ? names.p : "none");
}

/* "TASK", where only one Job has it, "JOB/TASK" or "NAMESPACE/JOB/TASK". */
static int change_replicas(struct load *l, struct str text, struct err *e)
{
    struct str name, value, job = STR_NULL;
    struct json *found_job = NULL, *found = NULL;
    ptrdiff_t slash;
    int64_t n;

    if (split_at_equals(text, "TASK=NUMBER or JOB/TASK=NUMBER", &name, &value, e) < 0)
        return -1;
    if (str_to_i64(value, &n) < 0 || n < 0 || n > REPLICAS_MAX)
        return err_set(e, ERR_INVALID, "\"%.*s\" is not a number from 0 to %d", STR_ARG(value), REPLICAS_MAX);
    slash = str_rfind_char(name, '/');
    if (slash >= 0)
        job = str_sub(name, 0, (size_t)slash);
    for (size_t i = 0; i < l->docs.n; i++) {
        struct loaded *doc = l->docs.v[i];
        struct json *task = NULL;

        if (is_job(doc) && (slash < 0 || change_is_named(doc, job)))
            task = change_task_of(doc->root, str_from(name, (size_t)(slash + 1)));
        if (task && found)
            return err_set(e, ERR_INVALID, "Jobs %.*s and %.*s both have this task; use JOB/TASK=%lld",
                           STR_ARG(object_name(found_job)), STR_ARG(object_name(doc->root)), (long long)n);
        if (task)
            found = task, found_job = doc->root;
    }
    if (!found)
        return no_such_task(l, name, e);
    set_replicas(l->arena, found_job, found, n);
    return 0;
}

/* ---- --env ---- */

static struct json *find_env(const struct json *container, struct str name)
{
    JSON_FOREACH(entry, json_get(container, "env"))
        if (str_eq(json_member_text(entry, "name"), name))
            return entry;
    return NULL;
}

static void set_env(struct arena *a, struct json *container, struct str name, struct str value, bool only_missing)
{
    struct json *list = json_is(container, JSON_OBJECT) ? json_need_array(a, container, "env") : NULL,
                *entry = find_env(container, name);

    if (!list || (entry && only_missing)) /* no list: admission says what is wrong there */
        return;
    if (!entry) {
        entry = json_push(list, json_object(a));
        json_set(entry, "name", json_str(a, name));
    }
    json_remove(entry, "valueFrom");
    json_set(entry, "value", json_str(a, value));
}

static void set_env_of_all(struct load *l, struct str name, struct str value, bool only_missing)
{
    for (size_t i = 0; i < l->docs.n; i++) {
        if (!is_job(l->docs.v[i]))
            continue;
        JSON_FOREACH(task, json_find(l->docs.v[i]->root, "spec", "tasks", NULL))
            CONTAINER_FOREACH(c, json_find(task, "template", "spec", NULL))
                set_env(l->arena, c, name, value, only_missing);
    }
}

void run_unbuffer(struct load *l)
{
    set_env_of_all(l, STR("PYTHONUNBUFFERED"), STR("1"), true);
}

/* Said here and not by admission, which knows only the job's file. */
static int check_env(struct arena *a, struct str name, struct str value, struct err *e)
{
    if (name_check_config_key(a, name) || (name.p[0] >= '0' && name.p[0] <= '9'))
        return err_set(
            e, ERR_INVALID,
            "\"%.*s\" is not a variable name: use letters, digits, '_', '-' and '.', with no digit in front%s",
            STR_ARG(name), str_starts(name, STR("export ")) ? " (leave out \"export\")" : "");
    if (!str_is_utf8(value) || str_has_char(value, '\0'))
        return err_set(e, ERR_INVALID, "the value of %.*s is not UTF-8, or has a zero byte", STR_ARG(name));
    return 0;
}

/* "NAME=VALUE", or "NAME": as it is here. In every container of every task. */
static int change_env(struct load *l, struct str text, struct err *e)
{
    struct str name = text, value = STR_NULL;
    ptrdiff_t eq = str_find_char(text, '=');
    const char *own;

    if (eq == 0 || str_empty(text))
        return err_set(e, ERR_INVALID, "must be NAME=VALUE or NAME");
    if (eq > 0) {
        name = str_sub(text, 0, (size_t)eq);
        value = str_from(text, (size_t)eq + 1);
    } else {
        own = getenv(arena_cstr(l->arena, name));
        if (!own)
            return err_set(e, ERR_NOT_FOUND, "not set in this environment; give it a value: %.*s=VALUE", STR_ARG(name));
        value = str_of(own);
    }
    if (check_env(l->arena, name, value, e) < 0)
        return -1;
    set_env_of_all(l, name, value, false);
    return 0;
}

/* ---- --env-file ---- */

/* As docker has it: all after the first '=' is the value, quotes too; a line of '#' is a comment; what Windows' editors put in
 * front of a file, and at the end of its lines, is not there. */
static int change_env_file(struct load *l, struct str path, struct err *e)
{
    struct str text, line;
    size_t number = 0;

    if (read_file(l->arena, arena_cstr(l->arena, path), &text, e) < 0)
        return -1;
    text = str_starts(text, STR("\xef\xbb\xbf")) ? str_from(text, 3) : text;
    while (str_split(&text, '\n', &line)) {
        struct str words = str_trim(line);

        number++;
        line = str_ends(line, STR("\r")) ? str_sub(line, 0, line.n - 1) : line;
        line = words.n ? str_from(line, (size_t)(words.p - line.p)) : STR_NULL;
        if (line.n && line.p[0] != '#' && change_env(l, line, e) < 0)
            return err_wrap(e, "line %zu", number);
    }
    return 0;
}

/* ---- --set ---- */

struct change_step { /* of a path */
    struct str key;
    bool is_bracket;
};

/* "spec.tasks[0].template.metadata.labels[a.b/c]": the next step; false at the end. -1 in '*ret_bad': not a path. */
static bool change_next_step(struct str *rest, struct change_step *ret, bool *ret_bad)
{
    size_t n = 0;

    *ret_bad = false;
    if (str_empty(*rest))
        return false;
    if (rest->p[0] == '[') {
        ptrdiff_t end = str_find_char(*rest, ']');

        *ret_bad = end < 2;
        if (*ret_bad)
            return false;
        *ret = (struct change_step){ str_sub(*rest, 1, (size_t)end - 1), true };
        *rest = str_from(*rest, (size_t)end + 1);
    } else {
        while (n < rest->n && rest->p[n] != '.' && rest->p[n] != '[')
            n++;
        *ret_bad = n == 0;
        if (*ret_bad)
            return false;
        *ret = (struct change_step){ str_sub(*rest, 0, n), false };
        *rest = str_from(*rest, n);
    }
    if (rest->n && rest->p[0] == '.') {
        *rest = str_from(*rest, 1);
        *ret_bad = str_empty(*rest);
    }
    return !*ret_bad;
}

/* An element of a list: by number, or by its name. One past the end is a new one. */
static struct json *element(struct arena *a, struct json *list, struct str key, struct err *e)
{
    uint64_t at;

    if (str_to_u64(key, &at) < 0) {
        JSON_FOREACH(item, list)
            if (str_eq(json_member_text(item, "name"), key))
                return item;
        err_set(e, ERR_NOT_FOUND, "no element is named \"%.*s\"", STR_ARG(key));
        return NULL;
    }
    if (at > json_count(list)) {
        err_set(e, ERR_NOT_FOUND, "the list has only %zu elements", json_count(list));
        return NULL;
    }
    return at < json_count(list) ? json_at(list, at) : json_push(list, json_null(a));
}

/* What a step leads to; made if it is missing. */
static struct json *descend(struct arena *a, struct json *at, const struct change_step *s, struct err *e)
{
    struct json *member;

    if (json_is(at, JSON_ARRAY))
        return element(a, at, s->key, e);
    if (!json_is(at, JSON_OBJECT)) {
        err_set(e, ERR_INVALID, "\"%.*s\" is looked for in a %s", STR_ARG(s->key), json_type_name(at->type));
        return NULL;
    }
    member = json_get_str(at, s->key);
    return member ? member : json_set_key(at, arena_str(a, s->key), json_null(a));
}

/* A missing node becomes what the next step needs. */
static void change_become(struct json *node, const struct change_step *next)
{
    uint64_t number;
    bool is_list = next->is_bracket && str_to_u64(next->key, &number) == 0;

    if (node->type != JSON_NULL)
        return;
    node->type = is_list ? JSON_ARRAY : JSON_OBJECT;
    node->n = 0;
    node->first = node->last = NULL;
}

static void forget_places(struct json *j)
{
    j->line = 0;
    j->col = 0;
    JSON_FOREACH(c, j)
        forget_places(c);
}

static int set_path(struct arena *a, struct json *root, struct str path, struct json *value, struct err *e)
{
    struct json *at = root, *parent = NULL;
    struct change_step s;
    bool is_bad;

    while (change_next_step(&path, &s, &is_bad)) {
        change_become(at, &s);
        parent = at;
        at = descend(a, at, &s, e);
        if (!at)
            return -1;
    }
    if (is_bad || !parent)
        return err_set(e, ERR_SYNTAX, "not a path such as spec.tasks[0].replicas");
    if (value->type == JSON_NULL)
        json_unlink(parent, at);
    else
        json_replace(parent, at, value);
    return 0;
}

static int parse_value(struct arena *a, struct str text, struct json **ret, struct err *e)
{
    struct yaml_docs docs = { 0 };

    if (yaml_parse(a, text, NULL, &docs, e) < 0)
        return err_wrap(e, "the value");
    if (docs.n > 1)
        return err_set(e, ERR_INVALID, "the value must be one document");
    *ret = docs.n ? docs.v[0] : json_str(a, STR(""));
    forget_places(*ret);
    return 0;
}

/* "JOB/spec.x" or "NAMESPACE/JOB/spec.x": a slash inside brackets belongs to the path. */
static struct str change_take_job(struct str *path)
{
    ptrdiff_t bracket = str_find_char(*path, '['), slash;
    struct str job;

    slash = str_rfind_char(bracket < 0 ? *path : str_sub(*path, 0, (size_t)bracket), '/');
    if (slash < 0)
        return STR_NULL;
    job = str_sub(*path, 0, (size_t)slash);
    *path = str_from(*path, (size_t)slash + 1);
    return job;
}

/* The '=' that ends the path: keys in brackets may have one. */
static ptrdiff_t find_equals(struct str text)
{
    int depth = 0;

    for (size_t i = 0; i < text.n; i++) {
        depth += (text.p[i] == '[') - (text.p[i] == ']');
        if (text.p[i] == '=' && depth <= 0)
            return (ptrdiff_t)i;
    }
    return -1;
}

static int change_set(struct load *l, struct str text, struct err *e)
{
    ptrdiff_t eq = find_equals(text);
    struct str path, job;
    struct json *value = NULL;
    bool any = false;

    if (eq <= 0)
        return err_set(e, ERR_INVALID, "must be spec.PATH=VALUE or JOB/spec.PATH=VALUE");
    path = str_sub(text, 0, (size_t)eq);
    job = change_take_job(&path);
    if (!str_starts(path, STR("spec.")) && !str_starts(path, STR("metadata.")))
        return err_set(e, ERR_INVALID, "the path must begin with spec. or metadata.");
    for (size_t i = 0; i < l->docs.n; i++) {
        if (!is_job(l->docs.v[i]) || (job.n && !change_is_named(l->docs.v[i], job)))
            continue;
        if (parse_value(l->arena, str_from(text, (size_t)eq + 1), &value, e) < 0 ||
            set_path(l->arena, l->docs.v[i]->root, path, value, e) < 0)
            return -1;
        any = l->has_set = true;
    }
    return any ? 0 : no_such_job(l, job, e);
}

/* ---- all of them ---- */

/* Admission requires the uid of a Command's target. A file cannot know it, so run_create() finds the target by name. */
static void name_targets(struct load *l)
{
    VEC_FOREACH(doc, &l->docs) {
        struct json *target = json_get((*doc)->root, "target");

        if (str_is(object_kind((*doc)->root), "Command") && json_is(target, JSON_OBJECT) && !json_get(target, "uid"))
            json_set(target, "uid", json_str(l->arena, STR("by-name")));
    }
}

int run_change(struct load *l, const struct run_options *o, struct err *e)
{
    const struct {
        const char *flag;
        const struct text_list *values;
        int (*apply)(struct load *l, struct str text, struct err *e);
    } flags[] = {
        { "set", &o->set, change_set },
        { "replicas", &o->replicas, change_replicas },
        { "env-file", &o->env_files, change_env_file },
        { "env", &o->env, change_env },
    };

    name_targets(l);
    for (size_t i = 0; i < ARRAY_LEN(flags); i++)
        VEC_FOREACH(value, &flags[i].values->list)
            if (need_a_job(l, e) < 0 || flags[i].apply(l, str_of(*value), e) < 0)
                return err_wrap(e, "--%s %s", flags[i].flag, *value);
    return 0;
}
