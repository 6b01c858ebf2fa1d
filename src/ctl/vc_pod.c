/* vc_pod.c - vcctl pod list */
#include "api/meta.h"
#include "api/name.h"
#include "base/util.h"
#include "ctl/pod.h"
#include "ctl/vc.h"

static const struct vc_column columns[] = {
    { "Namespace", 0, 2, 8 }, { "Name", 0, 2, 8 },    { "Ready", 0, 2, 8 },
    { "Status", 0, 2, 8 },    { "Restart", 0, 2, 8 }, { "Age", 0, 2, 8 },
};

int vc_pod_list(struct vc *v, struct err *e)
{
    static const char *const cells_of[] = { "Ready", "Status", "Restarts", "Age" };
    struct pod_query query = { .namespace = vc_namespace(v),
                               .job = str_of(v->values->job),
                               .queue = str_of(v->values->queue) };
    struct pod_rows rows = { 0 };
    size_t skip = v->values->all_namespaces ? 0 : 1;
    VEC(struct str) cells = { 0 };

    if (query.job.n && name_check_label_value(v->arena, query.job)) {
        v->printed = arena_fmt(
            v->arena,
            "values[0][volcano.sh/job-name]: Invalid value: \"%.*s\": a valid label must be an empty string or consist "
            "of "
            "alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. "
            "'MyValue',  or 'my_value',  or '12345', regex used for validation is "
            "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
            STR_ARG(query.job));
        return err_set(e, ERR_INVALID, "--job");
    }
    if (pod_select(&v->ctl, &query, &rows, e) < 0)
        return -1;
    if (!rows.v.n)
        return vc_none(v);
    VEC_FOREACH(row, &rows.v) {
        if (!skip)
            *vec_push(v->arena, &cells) = object_namespace(row->object);
        *vec_push(v->arena, &cells) = object_name(row->object);
        for (size_t i = 0; i < ARRAY_LEN(cells_of); i++)
            *vec_push(v->arena, &cells) = pod_cell(v->arena, &rows, row, cells_of[i]);
    }
    vc_table(v, columns + skip, ARRAY_LEN(columns) - skip, cells.v, cells.n);
    return 0;
}
