/* forms.c - what is wrong with manifests, for programs: JSON, and SARIF for code scanners and editors */
#include "cli/validate/validate.h"

#include "base/codec.h"
#include "base/util.h"

struct forms_finding {
    const char *file;
    const struct problem *problem;
    bool is_error;
};

struct findings {
    VEC(struct forms_finding) list;
    size_t n_errors, n_warnings; /* those that were not kept too */
};

static void forms_add(struct arena *a, struct findings *f, const char *file, const struct problem *p, bool is_error)
{
    *vec_push(a, &f->list) = (struct forms_finding){ file, p, is_error };
    f->n_errors += is_error;
    f->n_warnings += !is_error;
}

static struct findings forms_collect(struct arena *a, const struct load *l)
{
    struct findings all = { 0 };

    VEC_FOREACH(f, &l->failures)
        forms_add(a, &all, f->file, &f->what, true);
    VEC_FOREACH(doc, &l->docs) {
        VEC_FOREACH(p, &(*doc)->problems.list)
            forms_add(a, &all, (*doc)->file, p, p->level == PROBLEM_ERROR || l->is_strict);
        all.n_errors += (*doc)->problems.n_errors > PROBLEMS_MAX ? (*doc)->problems.n_errors - PROBLEMS_MAX : 0;
    }
    return all;
}

static void forms_set_text(struct json *to, struct arena *a, const char *key, struct str text)
{
    json_set(to, key, json_str(a, text));
}

static void set_place(struct json *to, struct arena *a, const char *line, const char *column, const struct problem *p)
{
    if (!p->line)
        return;
    json_set(to, line, json_int(a, p->line));
    json_set(to, column, json_int(a, p->col));
}

/* ---- JSON ---- */

static struct json *as_json(struct arena *a, const struct findings *all)
{
    struct json *out = json_object(a), *list = json_set(out, "problems", json_array(a));

    VEC_FOREACH(f, &all->list) {
        struct json *item = json_push(list, json_object(a));

        forms_set_text(item, a, "file", load_file_name(f->file));
        set_place(item, a, "line", "column", f->problem);
        forms_set_text(item, a, "level", f->is_error ? STR("error") : STR("warning"));
        forms_set_text(item, a, "field", f->problem->path);
        forms_set_text(item, a, "message", f->problem->text);
    }
    json_set(out, "errors", json_int(a, (int64_t)all->n_errors));
    json_set(out, "warnings", json_int(a, (int64_t)all->n_warnings));
    return out;
}

/* ---- SARIF 2.1.0 ---- */

/* One rule for each field, whatever its place in a list: "spec.tasks[].replicas". */
static struct str rule_of(struct arena *a, struct str path)
{
    autobuf out = { 0 };
    bool is_inside = false;

    for (size_t i = 0; i < path.n; i++) {
        is_inside &= path.p[i] != ']';
        if (!is_inside)
            buf_char(&out, path.p[i]);
        is_inside |= path.p[i] == '[';
    }
    return out.n ? arena_str(a, buf_view(&out)) : STR("file");
}

/* A path as a reference: what is not plain is escaped; standard input has no name. */
static struct str uri_of(struct arena *a, const char *file)
{
    autobuf out = { 0 };

    if (strcmp(file, "-") == 0)
        return STR("stdin");
    percent_print(&out, str_of(file), "/");
    return arena_str(a, buf_view(&out));
}

static void add_location(struct arena *a, struct json *result, const struct forms_finding *f)
{
    struct json *place = json_push(json_set(result, "locations", json_array(a)), json_object(a));
    struct json *physical = json_set(place, "physicalLocation", json_object(a));

    forms_set_text(json_set(physical, "artifactLocation", json_object(a)), a, "uri", uri_of(a, f->file));
    if (f->problem->line)
        set_place(json_set(physical, "region", json_object(a)), a, "startLine", "startColumn", f->problem);
}

static struct json *as_sarif(struct arena *a, const struct findings *all)
{
    struct json *out = json_object(a), *run, *driver, *results;

    forms_set_text(out, a, "$schema",
                   STR("https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"));
    forms_set_text(out, a, "version", STR("2.1.0"));
    run = json_push(json_set(out, "runs", json_array(a)), json_object(a));
    driver = json_set(json_set(run, "tool", json_object(a)), "driver", json_object(a));
    forms_set_text(driver, a, "name", STR("pumice"));
    forms_set_text(driver, a, "version", STR(PUMICE_VERSION));
    results = json_set(run, "results", json_array(a));
    VEC_FOREACH(f, &all->list) {
        struct json *result = json_push(results, json_object(a));
        struct str path = f->problem->path;

        forms_set_text(result, a, "ruleId", rule_of(a, path));
        forms_set_text(result, a, "level", f->is_error ? STR("error") : STR("warning"));
        forms_set_text(json_set(result, "message", json_object(a)), a, "text",
                       path.n ? arena_fmt(a, "%.*s: %.*s", STR_ARG(path), STR_ARG(f->problem->text))
                              : f->problem->text);
        add_location(a, result, f);
    }
    return out;
}

size_t validate_print(struct arena *a, struct buf *out, const struct load *l, const char *form)
{
    struct findings all = forms_collect(a, l);

    json_print_pretty(out, strcmp(form, "sarif") == 0 ? as_sarif(a, &all) : as_json(a, &all), 2);
    buf_char(out, '\n');
    return all.n_errors;
}
