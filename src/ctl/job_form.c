/* job_form.c - a Job of one task */
#include "ctl/job_form.h"

#include "api/job.h"
#include "api/quantity.h"
#include "base/buf.h"
#include "base/util.h"

/* ---- resources ---- */

static int bad_quantity(struct str text, struct err *e)
{
    size_t i = text.n && (text.p[0] == '-' || text.p[0] == '+'), digits = 0;

    for (; i < text.n && ((text.p[i] >= '0' && text.p[i] <= '9') || text.p[i] == '.'); i++)
        digits++;
    for (; digits && i < text.n && strchr("eEinumkKMGTP", text.p[i]); i++)
        ;
    if (digits && i == text.n)
        return err_set(e, ERR_INVALID, "unable to parse quantity's suffix");
    return err_set(e, ERR_INVALID,
                   "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
}

int job_amounts(struct arena *a, struct str text, struct json **ret, struct err *e)
{
    struct str part;
    struct json *list = json_object(a);

    *ret = NULL;
    if (!text.n)
        return 0;
    while (str_split(&text, ',', &part)) {
        autobuf printed = { 0 };
        struct quantity q;
        struct str name, rest = part;

        (void)str_split(&rest, '=', &name);
        if (!rest.p || str_has_char(rest, '='))
            return err_set(e, ERR_INVALID, "invalid argument syntax %.*s, expected <resource>=<value>", STR_ARG(part));
        if (quantity_parse(rest, &q, NULL) < 0)
            return bad_quantity(rest, e);
        quantity_print(&printed, q);
        json_set_key(list, arena_str(a, name), json_str(a, arena_str(a, buf_view(&printed))));
    }
    *ret = list;
    return 0;
}

/* ---- words ---- */

enum { PLAIN, SINGLE, DOUBLE };

int job_words(struct arena *a, struct str line, struct json **ret, struct err *e)
{
    struct json *list = json_array(a);
    autobuf word = { 0 };
    bool is_inside = false;
    int quote = PLAIN;

    for (size_t i = 0; i < line.n; i++) {
        char c = line.p[i];

        if (quote == PLAIN && strchr(" \t\r\n", c)) {
            if (is_inside)
                json_push(list, json_str(a, arena_str(a, buf_view(&word))));
            buf_reset(&word);
            is_inside = false;
        } else if (quote == PLAIN && c == '#' && !is_inside) {
            while (i < line.n && line.p[i] != '\n')
                i++;
        } else if ((quote == PLAIN && (c == '\'' || c == '"')) || (quote == SINGLE && c == '\'') ||
                   (quote == DOUBLE && c == '"')) {
            quote = quote != PLAIN ? PLAIN : c == '"' ? DOUBLE : SINGLE;
            is_inside = true;
        } else if (c == '\\' && quote != SINGLE) {
            if (++i == line.n)
                return err_set(e, ERR_INVALID, "EOF found after escape character");
            buf_char(&word, line.p[i]);
            is_inside = true;
        } else {
            buf_char(&word, c);
            is_inside = true;
        }
    }
    if (quote != PLAIN)
        return err_set(e, ERR_INVALID, "EOF found when expecting closing quote");
    if (is_inside)
        json_push(list, json_str(a, arena_str(a, buf_view(&word))));
    *ret = list;
    return 0;
}

/* ---- the object ---- */

static void job_form_add(struct json *to, struct arena *a, const char *key, struct str text)
{
    if (text.n)
        json_add(to, str_of(key), json_str(a, text));
}

static void add_tree(struct json *to, struct arena *a, const char *key, const struct json *tree)
{
    if (json_count(tree))
        json_add(to, str_of(key), json_copy(a, tree));
}

static struct json *make_container(struct arena *a, const struct job_form *f)
{
    struct json *c = json_object(a), *resources = json_object(a);

    job_form_add(c, a, "name", f->name);
    job_form_add(c, a, "image", f->image);
    json_add(c, STR("imagePullPolicy"), json_str(a, STR("IfNotPresent")));
    add_tree(c, a, "command", f->command);
    add_tree(c, a, "args", f->args);
    job_form_add(c, a, "workingDir", f->working_dir);
    add_tree(c, a, "env", f->env);
    add_tree(resources, a, "limits", f->limits);
    add_tree(resources, a, "requests", f->requests);
    add_tree(c, a, "resources", resources);
    add_tree(c, a, "volumeMounts", f->mounts);
    return c;
}

static struct json *make_template(struct arena *a, const struct job_form *f)
{
    struct json *t = json_object(a), *meta = json_add(t, STR("metadata"), json_object(a));
    struct json *spec = json_add(t, STR("spec"), json_object(a));

    job_form_add(meta, a, "name", f->name);
    json_add(json_add(meta, STR("labels"), json_object(a)), STR("job.volcano.sh"), json_str(a, f->name));
    json_add(spec, STR("restartPolicy"), json_str(a, STR("Never")));
    if (f->deadline_s)
        json_add(spec, STR("activeDeadlineSeconds"), json_int(a, f->deadline_s));
    add_tree(spec, a, "nodeSelector", f->node_selector);
    json_push(json_add(spec, STR("containers"), json_array(a)), make_container(a, f));
    add_tree(spec, a, "volumes", f->volumes);
    return t;
}

struct json *job_form_make(struct arena *a, const struct job_form *f)
{
    struct json *job = json_object(a), *meta, *spec, *task;

    json_add(job, STR("apiVersion"), json_str(a, STR("batch.volcano.sh/v1alpha1")));
    json_add(job, STR("kind"), json_str(a, STR(JOB_KIND)));
    meta = json_add(job, STR("metadata"), json_object(a));
    job_form_add(meta, a, "name", f->name);
    job_form_add(meta, a, "namespace", f->namespace);
    add_tree(meta, a, "labels", f->labels);
    add_tree(meta, a, "annotations", f->annotations);
    spec = json_add(job, STR("spec"), json_object(a));
    json_add(spec, STR("minAvailable"), json_int(a, f->min_available));
    job_form_add(spec, a, "schedulerName", f->scheduler);
    job_form_add(spec, a, "queue", f->queue);
    job_form_add(spec, a, "priorityClassName", f->priority_class);
    if (f->max_retry >= 0)
        json_add(spec, STR("maxRetry"), json_int(a, f->max_retry));
    add_tree(spec, a, "plugins", f->plugins);
    add_tree(spec, a, "policies", f->policies);
    task = json_push(json_add(spec, STR("tasks"), json_array(a)), json_object(a));
    job_form_add(task, a, "name", f->task);
    json_add(task, STR("replicas"), json_int(a, f->replicas));
    json_add(task, STR("template"), make_template(a, f));
    return job;
}
