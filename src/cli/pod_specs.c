/* pod_specs.c - the specs of all pods that the files ask for */
#include "cli/pod_specs.h"

#include "api/meta.h"

static void add_job(struct arena *a, struct loaded *doc, struct pod_specs *ret)
{
    const struct job *job = &doc->job;

    for (size_t k = 0; k < job->spec.tasks.n; k++) {
        const struct job_task *t = &job->spec.tasks.v[k];

        *vec_push(a, &ret->list) = (struct pod_spec){
            .doc = doc,
            .namespace = job->meta.namespace,
            .job = job->meta.name,
            .task = t->name,
            .task_index = k,
            .name = job->meta.name,
            .replicas = t->replicas,
            .spec = json_get(t->template, "spec"),
            .path = arena_fmt(a, "spec.tasks[%.*s].template.spec", STR_ARG(t->name)),
        };
    }
}

void pod_specs_of(struct arena *a, const struct load *l, struct pod_specs *ret)
{
    *ret = (struct pod_specs){ 0 };
    VEC_FOREACH(at, &l->docs) {
        struct loaded *doc = *at;

        if (doc->set)
            add_job(a, doc, ret);
        else if (doc->type && strcmp(doc->type->kind, "Pod") == 0)
            *vec_push(a, &ret->list) = (struct pod_spec){
                .doc = doc,
                .namespace = object_namespace(doc->root),
                .name = object_name(doc->root),
                .replicas = 1,
                .spec = json_get(doc->root, "spec"),
                .path = STR("spec"),
            };
    }
}
