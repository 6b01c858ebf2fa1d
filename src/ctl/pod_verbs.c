/* pod_verbs.c - `pumice pod list` */
#include "api/meta.h"
#include "base/util.h"
#include "ctl/output.h"
#include "ctl/pod.h"
#include "base/term.h"

/* The columns of the server's own table, in capitals; those of lower priority with -o wide. */
static void print_rows(struct ctl_verb *v, const struct pod_rows *rows)
{
    struct table t = { .arena = v->arena, .columns = v->o->all_namespaces };
    VEC(struct str) names = { 0 };

    if (v->o->all_namespaces && !v->o->no_headers)
        table_cell(&t, STR("NAMESPACE"));
    JSON_FOREACH(c, rows->columns) {
        int64_t priority = 0;
        struct str head = arena_str(v->arena, json_member_text(c, "name"));

        (void)json_to_i64(json_get(c, "priority"), &priority); /* none is 0 */
        if (priority && !output_is_wide(v))
            continue;
        *vec_push(v->arena, &names) = json_member_text(c, "name");
        for (size_t i = 0; i < head.n; i++)
            if (head.p[i] >= 'a' && head.p[i] <= 'z')
                ((char *)head.p)[i] = (char)(head.p[i] - 'a' + 'A');
        if (!v->o->no_headers)
            table_cell(&t, head);
    }
    t.columns += names.n;
    VEC_FOREACH(row, &rows->v) {
        if (v->o->all_namespaces)
            table_cell(&t, object_namespace(row->object));
        VEC_FOREACH(name, &names) {
            struct str text = pod_cell(v->arena, rows, row, arena_cstr(v->arena, *name));

            table_cell(&t, text.n ? text : STR("-"));
        }
    }
    output_table(v, &t);
}

static struct pod_query query_of(const struct ctl_verb *v)
{
    return (struct pod_query){ .namespace = verb_namespace(v),
                               .job = str_of(v->o->job),
                               .queue = str_of(v->o->queue),
                               .labels = str_of(v->o->labels) };
}

static int show_objects(struct ctl_verb *v, const struct pod_rows *rows, struct err *e)
{
    static const struct output_column columns[] = { { "NAME", false, cell_name }, { NULL } };
    struct ctl_objects pods = { 0 };

    VEC_FOREACH(row, &rows->v) {
        struct json *pod = json_copy(v->arena, row->object);

        json_set(pod, "apiVersion", json_str(v->arena, STR("v1")));
        json_set(pod, "kind", json_str(v->arena, STR("Pod")));
        *vec_push(v->arena, &pods.v) = pod;
    }
    return output_objects(v, &pods, false, &(struct output_columns){ columns }, e);
}

/* ---- as they become ---- */

static bool wants(const struct ctl_verb *v, const struct json *pod)
{
    return !v->o->queue || v->o->job || pod_is_of_queue(pod, str_of(v->o->queue));
}

/* The server sends no table row for a deleted pod: make one with its name and the status Deleted. */
static void add_gone(struct ctl_verb *v, struct pod_rows *rows, const struct json *pod)
{
    struct json *cells = json_array(v->arena);

    JSON_FOREACH(c, rows->columns) {
        struct str name = json_member_text(c, "name");

        json_push(cells, json_str(v->arena, str_is(name, "Name")     ? object_name(pod)
                                            : str_is(name, "Status") ? STR("Deleted")
                                                                     : STR("-")));
    }
    *vec_push(v->arena, &rows->v) = (struct pod_row){ pod, cells };
}

static int pod_verbs_show(struct ctl_verb *v, const struct ctl_objects *pods, bool is_one, struct err *e)
{
    struct pod_query query = query_of(v);
    struct pod_rows rows = { 0 };

    if (!output_is_table(v))
        return output_objects(v, pods, is_one, NULL, e);
    if (is_one) {
        query.name = object_name(pods->v.v[0]);
        query.namespace = object_namespace(pods->v.v[0]);
    }
    if (pod_select(&v->ctl, &query, &rows, e) < 0)
        return -1;
    if (is_one && !rows.v.n)
        add_gone(v, &rows, pods->v.v[0]);
    if (rows.v.n)
        print_rows(v, &rows);
    return 0;
}

int verb_pod_list(struct ctl_verb *v, struct err *e)
{
    struct pod_query query = query_of(v);
    struct verb_list all = { .type = ctl_type("Pod"),
                             .which = { .namespace = query.namespace, .labels = pod_selector(v->arena, &query) },
                             .wants = wants,
                             .show = pod_verbs_show };
    struct pod_rows rows = { 0 };

    if (v->o->watch)
        return verb_list(v, &all, e);
    if (pod_select(&v->ctl, &query, &rows, e) < 0)
        return -1;
    if (!output_is_table(v) || !rows.v.n || v->o->sort_by)
        return show_objects(v, &rows, e);
    print_rows(v, &rows);
    return 0;
}
