/* advice_how.c - a change as command lines, or as lines of the job's file */
#include "whatif/advice_internal.h"

#include "api/meta.h"
#include "base/util.h"

/* ---- words ---- */

static bool is_plain_word(struct str s)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-/:=@%+,";

    for (size_t i = 0; i < s.n; i++)
        if (!memchr(plain, s.p[i], sizeof(plain) - 1))
            return false;
    return s.n > 0;
}

/* For a shell: as it is, or in single quotes. */
static void advice_how_shell_word(struct buf *out, struct str s)
{
    if (is_plain_word(s)) {
        buf_str(out, s);
        return;
    }
    buf_char(out, '\'');
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] == '\'')
            buf_str(out, STR("'\\''"));
        else
            buf_char(out, s.p[i]);
    buf_char(out, '\'');
}

static void advice_how_say(struct advising *v, struct suggestion *s, struct buf *line)
{
    *vec_push(v->a, &s->how) = arena_str(v->a, buf_view(line));
    buf_reset(line);
}

/* A part of a JSON pointer: "a~1b" is a/b. */
static void plain_part(struct buf *out, struct str part)
{
    for (size_t i = 0; i < part.n; i++)
        if (part.p[i] == '~' && i + 1 < part.n)
            buf_char(out, part.p[++i] == '1' ? '/' : '~');
        else
            buf_char(out, part.p[i]);
}

static const char *part_text(struct arena *a, struct str part)
{
    autobuf out = { 0 };

    plain_part(&out, part);
    return arena_cstr(a, buf_view(&out));
}

/* "spec.tasks[0].replicas" */
static void field_path(struct buf *out, struct str pointer)
{
    struct str rest = str_from(pointer, 1), part;

    for (bool first = true; str_split(&rest, '/', &part); first = false) {
        uint64_t index;

        if (str_to_u64(part, &index) == 0) {
            buf_fmt(out, "[%.*s]", STR_ARG(part));
            continue;
        }
        if (!first)
            buf_char(out, '.');
        plain_part(out, part);
    }
}

/* ---- patches ---- */

static bool is_same_object(const struct advice_edit *a, const struct advice_edit *b)
{
    return strcmp(a->kind, b->kind) == 0 && str_eq(a->name, b->name) && str_eq(a->namespace, b->namespace);
}

static bool is_field(const struct advice_edit *e)
{
    return e->op == EDIT_SET || e->op == EDIT_UNSET;
}

static bool has_index(struct str pointer)
{
    struct str rest = str_from(pointer, 1), part;
    uint64_t index;

    while (str_split(&rest, '/', &part))
        if (str_to_u64(part, &index) == 0)
            return true;
    return false;
}

static struct json *merge_patch(struct arena *a, const struct suggestion *s, const struct advice_edit *of)
{
    struct json *root = json_object(a);

    VEC_FOREACH(e, &s->edits) {
        struct str rest = str_from(e->path, 1), part;
        struct json *at = root;

        if (!is_field(e) || !is_same_object(e, of))
            continue;
        while (str_split(&rest, '/', &part) && rest.n)
            at = json_need_object(a, at, part_text(a, part));
        json_set(at, part_text(a, part), e->value ? json_copy(a, e->value) : json_null(a));
    }
    return root;
}

static struct json *operations(struct arena *a, const struct suggestion *s, const struct advice_edit *of)
{
    struct json *list = json_array(a);

    VEC_FOREACH(e, &s->edits) {
        struct json *op;

        if (!is_field(e) || !is_same_object(e, of))
            continue;
        op = json_push(list, json_object(a));
        json_add(op, STR("op"), json_str(a, e->op == EDIT_SET ? STR("add") : STR("remove")));
        json_add(op, STR("path"), json_str(a, e->path));
        if (e->value)
            json_add(op, STR("value"), json_copy(a, e->value));
    }
    return list;
}

static const char *kubectl_name(const char *kind)
{
    return strcmp(kind, JOB_KIND) == 0     ? "vcjob"
           : strcmp(kind, "PodGroup") == 0 ? "pg" /* a cluster may have PodGroups of its own, too */
           : strcmp(kind, "Queue") == 0    ? "queue"
                                           : "node";
}

static void target_words(struct buf *out, const struct advice_edit *e)
{
    buf_fmt(out, "%s ", kubectl_name(e->kind));
    advice_how_shell_word(out, e->name);
    if (e->namespace.n) {
        buf_str(out, STR(" -n "));
        advice_how_shell_word(out, e->namespace);
    }
}

static void say_patch(struct advising *v, struct suggestion *s, const struct advice_edit *of)
{
    autobuf line = { 0 }, patch = { 0 };
    bool needs_operations = false;

    VEC_FOREACH(e, &s->edits)
        needs_operations |= is_field(e) && is_same_object(e, of) && has_index(e->path);
    json_print(&patch, needs_operations ? operations(v->a, s, of) : merge_patch(v->a, s, of));
    buf_str(&line, STR("kubectl patch "));
    target_words(&line, of);
    buf_fmt(&line, " --type %s -p ", needs_operations ? "json" : "merge");
    advice_how_shell_word(&line, buf_view(&patch));
    advice_how_say(v, s, &line);
}

/* ---- the job's own file ---- */

static void say_file(struct advising *v, struct suggestion *s)
{
    autobuf line = { 0 };

    VEC_FOREACH(e, &s->edits) {
        if (!is_field(e) || strcmp(e->kind, JOB_KIND) != 0)
            continue;
        buf_str(&line, line.n ? STR("; ") : STR("in the job's file: "));
        if (e->op == EDIT_UNSET)
            buf_str(&line, STR("remove "));
        field_path(&line, e->path);
        if (e->value) {
            buf_str(&line, STR(": "));
            json_print(&line, e->value);
        }
    }
    advice_how_say(v, s, &line);
    if (s->recreates) { /* an update of these fields is refused */
        buf_str(&line, STR("kubectl replace --force -f FILE"));
        advice_how_say(v, s, &line);
    }
}

/* ---- one edit ---- */

static bool is_own_file(const struct advising *v, const struct suggestion *s, const struct advice_edit *e)
{
    return strcmp(e->kind, JOB_KIND) == 0 && (s->recreates || v->is_new) && str_eq(e->name, v->name);
}

static void say_create(struct advising *v, struct suggestion *s, const struct advice_edit *e)
{
    autobuf line = { 0 }, body = { 0 };

    if (strcmp(e->kind, "PriorityClass") == 0) {
        buf_str(&line, STR("kubectl create priorityclass "));
        advice_how_shell_word(&line, e->name);
        buf_fmt(&line, " --value=%lld", (long long)json_i64(json_get(e->value, "value"), 0));
    } else {
        json_print(&body, e->value);
        buf_str(&line, STR("echo "));
        advice_how_shell_word(&line, buf_view(&body));
        buf_str(&line, STR(" | kubectl apply -f -"));
    }
    advice_how_say(v, s, &line);
}

static void say_field(struct advising *v, struct suggestion *s, const struct advice_edit *e)
{
    autobuf line = { 0 };

    if (str_is(e->path, "/status/state")) { /* the queue controller takes commands, not writes */
        buf_str(&line, STR("vcctl queue operate --action open --name "));
        advice_how_shell_word(&line, e->name);
        advice_how_say(v, s, &line);
    } else if (strcmp(e->kind, "Node") == 0) {
        if (!str_is(e->path, "/spec/unschedulable"))
            return;
        buf_str(&line, STR("kubectl uncordon "));
        advice_how_shell_word(&line, e->name);
        advice_how_say(v, s, &line);
    } else {
        say_patch(v, s, e);
    }
}

/* A PodGroup does not own its pods. */
static void say_pods(struct advising *v, struct suggestion *s, const struct advice_edit *group)
{
    autobuf line = { 0 };

    VEC_FOREACH(o, &v->world.list)
        if (is_pod_of_group(*o, group->namespace, group->name)) {
            buf_str(&line, line.n ? STR(" ") : STR("kubectl delete pod "));
            advice_how_shell_word(&line, object_name(*o));
        }
    if (line.n == 0)
        return;
    buf_str(&line, STR(" -n "));
    advice_how_shell_word(&line, group->namespace);
    advice_how_say(v, s, &line);
}

static bool is_first_of_object(const struct suggestion *s, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (is_field(&s->edits.v[k]) && is_same_object(&s->edits.v[k], &s->edits.v[i]))
            return false;
    return true;
}

void suggestion_how(struct advising *v, struct suggestion *s)
{
    bool has_file = false;

    memset(&s->how, 0, sizeof(s->how));
    for (size_t i = 0; i < s->edits.n; i++) {
        const struct advice_edit *e = &s->edits.v[i];
        autobuf line = { 0 };

        if (is_field(e) && is_own_file(v, s, e)) {
            has_file = true;
        } else if (is_field(e)) {
            if (is_first_of_object(s, i))
                say_field(v, s, e);
        } else if (e->op == EDIT_CREATE) {
            say_create(v, s, e);
        } else if (e->op == EDIT_DELETE) {
            buf_str(&line, STR("kubectl delete "));
            target_words(&line, e);
            advice_how_say(v, s, &line);
            if (strcmp(e->kind, "PodGroup") == 0)
                say_pods(v, s, e);
        }
    }
    if (has_file)
        say_file(v, s);
}
