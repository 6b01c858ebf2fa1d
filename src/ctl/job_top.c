/* job_top.c - `pumice job top`: what the pods of jobs use, where the cluster measures it */
#include "api/meta.h"
#include "api/quantity.h"
#include "base/util.h"
#include "ctl/job_cells.h"
#include "base/term.h"

#define METRICS "/apis/metrics.k8s.io/v1beta1/namespaces/%.*s/pods?labelSelector=volcano.sh%%2Fjob-name%s%.*s"

struct use {
    int64_t cpu_milli, memory_bytes, pods;
};

static int64_t top_amount(const struct json *usage, const char *resource, bool is_milli)
{
    struct quantity q;

    if (quantity_parse(json_member_text(usage, resource), &q, NULL) < 0)
        return 0;
    return is_milli ? quantity_milli(q) : quantity_units(q);
}

static void top_add_pod(struct use *u, const struct json *pod)
{
    u->pods++;
    JSON_FOREACH(c, json_get(pod, "containers")) {
        u->cpu_milli += top_amount(json_get(c, "usage"), "cpu", true);
        u->memory_bytes += top_amount(json_get(c, "usage"), "memory", false);
    }
}

static int read_use(struct ctl_verb *v, const struct json *job, struct use *ret, struct err *e)
{
    struct str path = arena_fmt(v->arena, METRICS, STR_ARG(object_namespace(job)), "%3D", STR_ARG(object_name(job)));
    struct json *list;

    if (kube_ask_get(v->ctl.ask, v->arena, path, &list, e) < 0)
        return -1;
    JSON_FOREACH(pod, json_get(list, "items"))
        top_add_pod(ret, pod);
    return 0;
}

static int top_cannot(struct err *e)
{
    if (e->code != ERR_NOT_FOUND && !strstr(e->text, "could not find the requested resource"))
        return -1;
    return err_set(e, ERR_NOT_FOUND, "the cluster does not serve metrics.k8s.io; install metrics-server");
}

int verb_job_top(struct ctl_verb *v, struct err *e)
{
    static const char *const heads[] = { "NAME", "PODS", "CPU(cores)", "MEMORY(bytes)" };
    struct table t = { .arena = v->arena, .columns = ARRAY_LEN(heads) };
    struct ctl_objects jobs = { 0 };

    if (jobs_read(v, &jobs, e) < 0)
        return -1;
    for (size_t i = 0; i < ARRAY_LEN(heads) && !v->o->no_headers; i++)
        table_cell(&t, str_of(heads[i]));
    VEC_FOREACH(job, &jobs.v) {
        struct use u = { 0 };

        if (!v->args.n && job_has_ended(job_phase_word(*job)))
            continue;
        if (read_use(v, *job, &u, e) < 0)
            return top_cannot(e);
        table_cell(&t, object_name(*job));
        table_cell(&t, arena_fmt(v->arena, "%lld", (long long)u.pods));
        table_cell(&t, arena_fmt(v->arena, "%lldm", (long long)u.cpu_milli));
        table_cell(&t, arena_fmt(v->arena, "%lldMi", (long long)(u.memory_bytes >> 20)));
    }
    table_print(&v->out, &t, "");
    return 0;
}
