/* load.c - from files to documents, and from documents to admitted objects */
#include "cli/load.h"

#include "admission/admission.h"
#include "api/meta.h"
#include "api/name.h"
#include "base/map.h"
#include "base/util.h"
#include "cli/read.h"
#include "convert/convert.h"
#include "base/term.h"
#include "yaml/yaml.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <sys/stat.h>

/* ---- one file ---- */

struct load_reading {
    struct load *load;
    struct problems duplicates; /* keys that stood twice, until the documents are known */
    struct json_spot spot;      /* of what cannot be read */
};

static void on_duplicate(void *ctx, struct json_duplicate dup)
{
    struct load_reading *r = ctx;
    struct json node = { .line = dup.line, .col = (uint16_t)MIN_OF(dup.col, UINT16_MAX) };
    struct place at = { .node = &node };

    problem_warn(&r->duplicates, &at, "the key \"%.*s\" stands twice in one mapping; the last one counts",
                 STR_ARG(dup.key));
}

static struct loaded *add_document(struct load *l, const char *file, struct json *root)
{
    struct loaded *doc = arena_new(l->arena, struct loaded);

    doc->file = file;
    doc->root = root;
    doc->problems.arena = l->arena;
    doc->type = type_by_kind(object_api_version(root), object_kind(root));
    *vec_push(l->arena, &l->docs) = doc;
    return doc;
}

/* In a JobList, unlike in a List, the items do not say what they are. */
static void fill_kind(struct load *l, struct json *item, const struct json *list)
{
    struct str kind = object_kind(list);

    kind.n -= strlen("List");
    if (!json_is(item, JSON_OBJECT) || str_empty(kind) || json_get(item, "kind") || json_get(item, "apiVersion"))
        return;
    json_set(item, "apiVersion", json_str(l->arena, object_api_version(list)));
    json_set(item, "kind", json_str(l->arena, kind));
}

/* `kubectl get -o yaml` wraps several objects in a List; so does our own -o json. */
static void add_documents(struct load *l, const char *file, struct json *root)
{
    if (str_ends(object_kind(root), STR("List")) && json_is(json_get(root, "items"), JSON_ARRAY)) {
        JSON_FOREACH(item, json_get(root, "items")) {
            fill_kind(l, item, root);
            add_document(l, file, item);
        }
        return;
    }
    add_document(l, file, root);
}

/* A *.json file must be JSON. Everything else is YAML, which JSON is too. */
static int load_parse(struct load_reading *r, const char *file, struct str text, struct yaml_docs *docs, struct err *e)
{
    struct json_parse_options json_opt = { .on_duplicate = on_duplicate, .ctx = r, .ret_spot = &r->spot };
    struct yaml_options yaml_opt = { .on_duplicate = on_duplicate, .ctx = r, .ret_spot = &r->spot };
    struct json *root;

    if (!str_ends(str_of(file), STR(".json")))
        return yaml_parse(r->load->arena, text, &yaml_opt, docs, e);
    if (str_empty(str_trim(text)))
        return 0;
    if (json_parse(r->load->arena, text, &json_opt, &root, e) < 0)
        return -1;
    *vec_push(r->load->arena, docs) = root;
    return 0;
}

/* A duplicate key belongs to the last document that began before it. */
static void hand_out_duplicates(struct load *l, size_t first_doc, const struct problems *duplicates)
{
    VEC_FOREACH(d, &duplicates->list) {
        struct loaded *owner = l->docs.v[first_doc];

        for (size_t i = first_doc; i < l->docs.n && l->docs.v[i]->root->line <= d->line; i++)
            owner = l->docs.v[i];
        *vec_push(l->arena, &owner->problems.list) = *d;
    }
}

struct str load_file_name(const char *file)
{
    return strcmp(file, "-") == 0 ? STR("standard input") : str_of(file);
}

static void load_fail(struct load *l, const char *file, struct json_spot spot, const char *what)
{
    struct problem p = { .level = PROBLEM_ERROR, .kind = PROBLEM_INVALID, .line = spot.line, .col = spot.col };

    p.text = arena_str(l->arena, str_of(what));
    *vec_push(l->arena, &l->failures) = (struct load_failure){ file, p };
}

static void load_one(struct load *l, const char *file)
{
    struct load_reading r = { .load = l, .duplicates.arena = l->arena };
    struct yaml_docs docs = { 0 };
    size_t first_doc = l->docs.n;
    struct str text;
    struct err e;

    if (read_file(l->arena, file, &text, &e) < 0 || load_parse(&r, file, text, &docs, &e) < 0) {
        load_fail(l, file, r.spot, e.text);
        return;
    }
    for (size_t i = 0; i < docs.n; i++)
        add_documents(l, file, docs.v[i]);
    if (l->docs.n == first_doc)
        load_fail(l, file, r.spot, str_empty(str_trim(text)) ? "the file is empty" : "the file holds no object");
    else
        hand_out_duplicates(l, first_doc, &r.duplicates);
}

static int is_manifest(const struct dirent *entry)
{
    static const char *const ends[] = { ".yaml", ".yml", ".json" };

    for (size_t i = 0; i < ARRAY_LEN(ends); i++)
        if (entry->d_name[0] != '.' && str_ends(str_of(entry->d_name), str_of(ends[i])))
            return 1;
    return 0;
}

/* As kubectl does it: what is in the directory, not what is below it. */
static void load_directory(struct load *l, const char *dir)
{
    struct dirent **entries = NULL;
    int n = scandir(dir, &entries, is_manifest, alphasort);

    if (n < 0)
        load_fail(l, dir, (struct json_spot){ 0 },
                  arena_cstr(l->arena, arena_fmt(l->arena, "cannot list: %s", strerror(errno))));
    else if (n == 0)
        load_fail(l, dir, (struct json_spot){ 0 }, "no .yaml, .yml or .json file in this directory");
    for (int i = 0; i < n; i++) {
        load_one(l, arena_cstr(l->arena, arena_fmt(l->arena, "%s/%s", dir, entries[i]->d_name)));
        free(entries[i]);
    }
    free(entries);
}

void load_read(struct load *l, const struct text_list *files)
{
    struct stat st;

    VEC_FOREACH(file, &files->list)
        if (strcmp(*file, "-") != 0 && stat(*file, &st) == 0 && S_ISDIR(st.st_mode))
            load_directory(l, *file);
        else
            load_one(l, *file);
}

/* ---- by name ---- */

static struct str default_namespace(const struct load *l)
{
    return l->namespace && l->namespace[0] ? str_of(l->namespace) : STR("default");
}

/* "Pod/default/x". Objects that name no namespace are in that of --namespace, unless their kind has none. */
static struct str index_key(struct arena *a, const struct load *l, const struct resource_type *type, struct str space,
                            struct str name)
{
    if (type->scope != SCOPE_NAMESPACED)
        space = STR_NULL;
    else if (str_empty(space))
        space = default_namespace(l);
    return arena_fmt(a, "%s/%.*s/%.*s", type->kind, STR_ARG(space), STR_ARG(name));
}

/* Two objects of one name in the files: the second would be refused, or overwrite the first. */
static void index_documents(struct load *l)
{
    for (size_t i = 0; i < l->docs.n; i++) {
        struct loaded *doc = l->docs.v[i], *first;
        struct place root = { .node = doc->root }, meta = place_member(&root, "metadata"),
                     name = place_member(&meta, "name");
        struct str key;

        if (!doc->type || str_empty(object_name(doc->root)))
            continue;
        key = index_key(l->arena, l, doc->type, object_namespace(doc->root), object_name(doc->root));
        first = map_get(&l->index, key);
        if (!first)
            map_put(&l->index, key, doc);
        else if (first->type == doc->type)
            problem_error(&doc->problems, &name, "a %s named \"%.*s\" is already at %.*s:%u; names must be unique",
                          doc->type->kind, STR_ARG(object_name(doc->root)), STR_ARG(load_file_name(first->file)),
                          first->root->line);
    }
}

struct json *load_find(const struct load *l, const char *kind, struct str namespace, struct str name)
{
    const struct resource_type *type = type_by_name(str_of(kind));
    autoarena scratch = { 0 };
    struct loaded *doc;

    if (!l || !type)
        return NULL;
    doc = map_get(&l->index, index_key(&scratch, l, type, namespace, name));
    return doc ? doc->root : NULL;
}

void load_done(struct load *l)
{
    map_done(&l->index);
}

/* ---- admission ---- */

/* A uid that is the same each time for one name, so that two renderings can be compared. The API server gives the real
 * one. Form: version 8 of RFC 9562, "made by the program". */
static struct str uid_of_name(struct arena *a, struct str namespace, struct str name)
{
    struct str key = arena_fmt(a, "%.*s/%.*s", STR_ARG(namespace), STR_ARG(name));
    uint64_t x = str_hash(key, 1), y = str_hash(key, 2);

    return arena_fmt(a, "%08" PRIx64 "-%04" PRIx64 "-8%03" PRIx64 "-%04" PRIx64 "-%012" PRIx64, x >> 32,
                     x >> 16 & 0xffff, x & 0xfff, (y >> 48 & 0x3fff) | 0x8000, y & 0xffffffffffff);
}

struct str load_uid(const struct load *l, const struct json *root)
{
    struct str namespace = object_namespace(root);

    return uid_of_name(l->arena, namespace.n ? namespace : default_namespace(l), object_name(root));
}

static void fill_uid(struct load *l, struct json *root, const struct json *old)
{
    struct json *meta = json_get(root, "metadata");
    struct str namespace = json_member_text(meta, "namespace");
    struct str uid = object_uid(old);

    if (!json_is(meta, JSON_OBJECT) || !str_empty(json_member_text(meta, "uid")))
        return;
    if (str_empty(namespace)) {
        namespace = default_namespace(l);
        json_set(meta, "namespace", json_mark(json_str(l->arena, namespace), MARK_DEFAULT));
    }
    if (str_empty(uid))
        uid = load_uid(l, root);
    json_set(meta, "uid", json_mark(json_str(l->arena, uid), MARK_DEFAULT));
}

static const struct json *find_existing(void *ctx, const char *kind, struct str name)
{
    const struct loaded *doc = ((void **)ctx)[0];
    const struct load *l = ((void **)ctx)[1];

    return load_find(l->state, kind, doc->job.meta.namespace, name);
}

/* ---- queues ---- of the files and of --state. A state without any queue says nothing about them */

static size_t walk_queues(const struct load *l, void (*each)(void *arg, const struct json *queue), void *arg)
{
    size_t n = 0;

    for (size_t i = 0; l && i < l->docs.n; i++) {
        const struct loaded *doc = l->docs.v[i];

        if (!doc->type || strcmp(doc->type->kind, "Queue") != 0)
            continue;
        n++;
        if (each)
            each(arg, doc->root);
    }
    return n;
}

static void load_each_queue(void *ctx, void (*each)(void *arg, const struct json *queue), void *arg)
{
    const struct load *l = ctx;

    (void)walk_queues(l, each, arg);
    (void)walk_queues(l->state, each, arg);
}

static const struct json *load_find_queue(void *ctx, struct str name)
{
    static struct json always_there = { .type = JSON_OBJECT }; /* the scheduler makes it */
    const struct load *l = ctx;
    const struct json *queue = load_find(l, "Queue", STR_NULL, name);

    if (!queue)
        queue = load_find(l->state, "Queue", STR_NULL, name);
    return queue || !str_is(name, "default") ? queue : &always_there;
}

static void load_know_world(struct load *l, struct loaded *doc, struct admission_call *call)
{
    struct plugin_world *world = arena_new(l->arena, struct plugin_world);
    void **ctx = arena_array(l->arena, void *, 2);

    ctx[0] = doc, ctx[1] = l;
    *world = (struct plugin_world){ .ctx = ctx, .find = l->state ? find_existing : NULL };
    if (l->state)
        call->old = load_find(l->state, JOB_KIND, object_namespace(doc->root), object_name(doc->root));
    if (l->fills_uid)
        fill_uid(l, doc->root, call->old);
    call->world = world;
    call->ret_job = &doc->job;
    call->ret_set = &doc->set;
}

/* Volcano's kinds as they are stored; others, Pods too, by their schema. */
static void admit_document(struct load *l, struct loaded *doc, const struct admit_env *env)
{
    struct admission_call call = { .arena = l->arena, .object = doc->root, .env = env, .problems = &doc->problems };
    struct place root = { .node = doc->root };

    if (str_eq(object_kind(doc->root), STR(JOB_KIND)))
        load_know_world(l, doc, &call);
    if (doc->type->group[0] && admission_admit(ADMISSION_WRITE, doc->type->group, doc->type->kind, &call))
        return;
    if (doc->type->schema)
        schema_check(doc->type->schema, &root, &doc->problems);
    meta_check(&root, NULL, false, &doc->problems);
}

/* A kind of a group that we know, mistyped ("job"), or one of Volcano's that there is not. Others have kinds that we need
 * not know. */
static bool is_wrong_kind(struct str version, struct str kind, const char **ret_near)
{
    const char *kinds[64];
    size_t n = 0;
    bool is_ours = false;

    for (size_t i = 0; i < n_resource_types && n < ARRAY_LEN(kinds); i++) {
        const struct resource_type *t = &resource_types[i];
        struct str group = str_sub(version, 0, (size_t)MAX_OF(str_find_char(version, '/'), 0));

        if (!str_is(group, t->group) || !str_ends(version, str_of(t->version)))
            continue;
        kinds[n++] = t->kind;
        is_ours |= str_ends(group, STR(".volcano.sh"));
    }
    *ret_near = n ? suggest(kind, kinds, n) : NULL;
    return *ret_near || is_ours;
}

static void load_check_kind(struct loaded *doc, const struct place *at, struct str version, struct str kind)
{
    const char *near;

    if (!is_wrong_kind(version, kind, &near))
        problem_warn(&doc->problems, at, "the kind %.*s of %.*s is not known here, so it was not checked",
                     STR_ARG(kind), STR_ARG(version));
    else if (near)
        problem_error(&doc->problems, at, "%.*s has no kind \"%.*s\"; did you mean \"%s\"?", STR_ARG(version),
                      STR_ARG(kind), near);
    else
        problem_error(&doc->problems, at, "%.*s has no kind \"%.*s\"", STR_ARG(version), STR_ARG(kind));
}

static void check_unknown(struct loaded *doc)
{
    struct place root = { .node = doc->root };
    struct place kind = place_member(&root, "kind"), version = place_member(&root, "apiVersion");
    struct str k = object_kind(doc->root), v = object_api_version(doc->root);

    if (!json_is(doc->root, JSON_OBJECT))
        problem_error(&doc->problems, &root,
                      "must be a Kubernetes object (a mapping with apiVersion and kind), not a %s",
                      json_type_name(doc->root->type));
    else if (str_empty(k) || str_empty(v))
        problem_error(&doc->problems, str_empty(v) ? &version : &kind,
                      "missing: a Volcano Job begins with apiVersion: " JOB_API_VERSION " and kind: " JOB_KIND);
    else if (convert_knows(doc->root))
        problem_error(&doc->problems, &kind,
                      "a %.*s of %.*s is not a Volcano Job, which has apiVersion: " JOB_API_VERSION
                      "; to convert it: pumice convert %.*s",
                      STR_ARG(k), STR_ARG(v), STR_ARG(strcmp(doc->file, "-") == 0 ? STR("FILE") : str_of(doc->file)));
    else if (str_is(k, JOB_KIND))
        problem_error(&doc->problems, &version,
                      "%.*s Jobs are not ours: a Volcano Job has apiVersion: " JOB_API_VERSION, STR_ARG(v));
    else
        load_check_kind(doc, &kind, v, k);
}

/* --set with a path that leads nowhere would run the job unchanged. */
static void refuse_unknown_set(struct loaded *doc)
{
    VEC_FOREACH(p, &doc->problems.list)
        if (p->kind == PROBLEM_UNKNOWN && p->line == 0 && p->level == PROBLEM_WARNING) {
            p->level = PROBLEM_ERROR;
            doc->problems.n_errors++;
        }
}

enum { GENERATED_PREFIX = 58 }; /* so much of it the API server keeps: the result is a DNS label */

/* The API server draws five characters; five digits stand for them, so that two renderings can be compared. */
void load_fill_names(struct load *l)
{
    for (size_t i = 0; i < l->docs.n; i++) {
        struct json *meta = json_get(l->docs.v[i]->root, "metadata");
        struct str prefix = str_sub(json_member_text(meta, "generateName"), 0, GENERATED_PREFIX);

        if (prefix.n && !json_member_text(meta, "name").n)
            json_set(meta, "name",
                     json_mark(json_str(l->arena, arena_fmt(l->arena, "%.*s%05zu", STR_ARG(prefix), i)), MARK_DEFAULT));
    }
}

void load_admit(struct load *l)
{
    struct admit_env env = { .mark = MARK_DEFAULT, .namespace = default_namespace(l) }, jobs = env;

    index_documents(l);
    if (walk_queues(l->state, NULL, NULL)) {
        jobs.ctx = l;
        jobs.find_queue = load_find_queue;
        jobs.each_queue = load_each_queue;
    }
    for (size_t i = 0; i < l->docs.n; i++) {
        struct loaded *doc = l->docs.v[i];

        if (!doc->type)
            check_unknown(doc);
        else if (doc->from && doc->from->problems.n_errors)
            continue; /* what is wrong with it was said there */
        else
            admit_document(l, doc, str_eq(object_kind(doc->root), STR(JOB_KIND)) ? &jobs : &env);
    }
    for (size_t i = 0; i < l->docs.n; i++) {
        if (l->has_set && !l->docs.v[i]->from)
            refuse_unknown_set(l->docs.v[i]);
        problems_merge(&l->docs.v[i]->problems);
        problems_sort(&l->docs.v[i]->problems);
    }
}

static void settle_state(struct load *l)
{
    struct admit_env env = { .namespace = default_namespace(l) };

    for (size_t i = 0; i < l->docs.n; i++) {
        struct loaded *doc = l->docs.v[i];

        if (str_empty(object_kind(doc->root)) || str_empty(object_api_version(doc->root)))
            check_unknown(doc);
        else if (doc->type && str_eq(object_kind(doc->root), STR(JOB_KIND)))
            job_default(l->arena, doc->root, &env);
    }
    index_documents(l);
}

void load_state(struct load *l, const struct text_list *files)
{
    load_read(l, files);
    settle_state(l);
}

void load_objects(struct load *l, const char *origin, struct json *const *objects, size_t n)
{
    for (size_t i = 0; i < n; i++)
        add_document(l, origin, objects[i]);
    settle_state(l);
}

struct loaded *load_add(struct load *l, const char *origin, struct json *object)
{
    return add_document(l, origin, object);
}

bool load_has(const struct load *l, const struct loaded *doc)
{
    autoarena scratch = { 0 };

    return doc->type &&
           map_get(&l->index, index_key(&scratch, l, doc->type, object_namespace(doc->root), object_name(doc->root)));
}

size_t load_count_jobs(const struct load *l)
{
    size_t n = 0;

    for (size_t i = 0; i < l->docs.n; i++)
        n += l->docs.v[i]->set != NULL;
    return n;
}

/* ---- telling ---- */

/* "job.yaml:12:3: error: spec.queue: …" */
static void print_problem(struct buf *out, bool colour, const char *file, const struct problem *p, bool as_error)
{
    autobuf path = { 0 };

    term_text(out, load_file_name(file));
    buf_char(out, ':');
    if (p->line)
        buf_fmt(out, "%u:%u:", p->line, p->col);
    buf_char(out, ' ');
    term_style(out, colour, as_error ? STYLE_RED : STYLE_YELLOW, as_error ? STR("error:") : STR("warning:"));
    buf_char(out, ' ');
    if (!str_empty(p->path)) {
        term_text(&path, p->path);
        term_style(out, colour, STYLE_BOLD, buf_view(&path));
        buf_fmt(out, ": ");
    }
    term_text(out, p->text);
    buf_char(out, '\n');
}

/* Only so many are kept of each document; the others are counted. */
static size_t print_rest(struct buf *out, const struct loaded *doc)
{
    size_t rest = doc->problems.n_errors > PROBLEMS_MAX ? doc->problems.n_errors - PROBLEMS_MAX : 0;

    if (rest) {
        term_text(out, load_file_name(doc->file));
        buf_fmt(out, ": and %zu more error%s\n", rest, rest == 1 ? "" : "s");
    }
    return rest;
}

size_t load_report(const struct load *l)
{
    bool colour = term_has_colour(stderr);
    autobuf out = { 0 };
    size_t errors = l->failures.n;

    VEC_FOREACH(f, &l->failures)
        print_problem(&out, colour, f->file, &f->what, true);
    for (size_t i = 0; i < l->docs.n; i++) {
        struct loaded *doc = l->docs.v[i];

        VEC_FOREACH(p, &doc->problems.list) {
            bool as_error = p->level == PROBLEM_ERROR || l->is_strict;

            print_problem(&out, colour, doc->file, p, as_error);
            errors += as_error;
        }
        errors += print_rest(&out, doc);
    }
    (void)term_write(stderr, &out); /* a broken stderr cannot be reported */
    return errors;
}
