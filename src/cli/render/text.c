/* text.c - the forms that are meant to be fed to something else: yaml and json */
#include "api/meta.h"
#include "cli/render/render.h"
#include "yaml/yaml.h"

/* ---- yaml ---- */

static struct str comment(void *ctx, const struct json *j)
{
    (void)ctx;
    return str_of(mark_name(j->mark));
}

static void yaml_document(struct render *r, struct json *object)
{
    struct yaml_print_options opt = { .comment = r->explains ? comment : NULL };

    buf_fmt(&r->out, "---\n");
    if (r->explains) {
        const char *writer = render_writer(object);

        buf_fmt(&r->out, "# %.*s %.*s, made by %s%s\n", STR_ARG(object_kind(object)), STR_ARG(object_name(object)),
                object->mark >= MARK_PLUGIN_0 ? "plugin " : "", writer[0] ? writer : "you");
        render_fold_marks(object);
    }
    yaml_print(&r->out, object, &opt);
}

static void yaml_pod(struct render *r, struct json *pod, const struct job_task *task)
{
    (void)task;
    yaml_document(r, pod);
}

const struct render_form render_yaml = {
    .name = "yaml", .job = yaml_document, .object = yaml_document, .pod = yaml_pod
};

/* ---- json: { "apiVersion": "v1", "kind": "List", "items": […] }, written item by item ---- */

/* { "<pointer>": "<writer>" } for each part, as JSON cannot hold comments. */
static void explain_node(struct buf *out, struct buf *pointer, const struct json *j, bool *is_first)
{
    size_t n = pointer->n, i = 0;

    if (j->mark) {
        buf_fmt(out, "%s\n                ", *is_first ? "" : ",");
        json_print_str(out, buf_view(pointer));
        buf_fmt(out, ": \"%s\"", mark_name(j->mark));
        *is_first = false;
    }
    JSON_FOREACH(c, j) {
        if (c->key) {
            buf_char(pointer, '/');
            for (struct str key = json_key(c); key.n; key = str_from(key, 1)) {
                if (key.p[0] == '~' || key.p[0] == '/')
                    buf_fmt(pointer, "~%c", key.p[0] == '~' ? '0' : '1');
                else
                    buf_char(pointer, key.p[0]);
            }
        } else {
            buf_fmt(pointer, "/%zu", i++);
        }
        explain_node(out, pointer, c, is_first);
        pointer->n = n;
        pointer->p[n] = '\0';
    }
}

static void explain_object(struct render *r, struct json *object, struct buf *out)
{
    autobuf pointer = { 0 };
    bool is_first = true;

    buf_fmt(&pointer, "%s", "");
    buf_fmt(out, "%s\n        {\n            \"kind\": ", out->n ? "," : "");
    json_print_str(out, object_kind(object));
    buf_fmt(out, ",\n            \"name\": ");
    json_print_str(out, object_name(object));
    buf_fmt(out, ",\n            \"madeBy\": \"%s\",\n            \"parts\": {",
            object->mark ? render_writer(object) : "user");
    render_fold_marks(object);
    explain_node(out, &pointer, object, &is_first);
    buf_fmt(out, "%s}\n        }", is_first ? "" : "\n            ");
    (void)r;
}

static void json_begin(struct render *r)
{
    buf_fmt(&r->out,
            "{\n    \"apiVersion\": \"v1\",\n    \"kind\": \"List\",\n    \"metadata\": {},\n    \"items\": [");
}

static void json_item(struct render *r, struct json *object)
{
    autobuf text = { 0 };
    struct str rest, line;

    json_print_pretty(&text, object, 4);
    buf_fmt(&r->out, "%s", r->n_shown ? ",\n" : "\n");
    rest = buf_view(&text);
    for (bool first = true; str_split(&rest, '\n', &line); first = false)
        buf_fmt(&r->out, "%s        %.*s", first ? "" : "\n", STR_ARG(line));
    if (r->explains)
        explain_object(r, object, &r->explanations);
}

static void json_pod(struct render *r, struct json *pod, const struct job_task *task)
{
    (void)task;
    json_item(r, pod);
}

static void json_end(struct render *r)
{
    buf_fmt(&r->out, "%s]", r->n_shown ? "\n    " : "");
    if (r->explains)
        buf_fmt(&r->out, ",\n    \"explain\": [%.*s\n    ]", STR_ARG(buf_view(&r->explanations)));
    buf_fmt(&r->out, "\n}\n");
    buf_done(&r->explanations);
}

const struct render_form render_json = {
    .name = "json",
    .begin = json_begin,
    .job = json_item,
    .object = json_item,
    .pod = json_pod,
    .end = json_end,
};
