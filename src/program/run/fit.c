/* fit.c - --fit: Jobs that were written for a larger machine ask for what this one has
 *
 * Each Job by itself, so that all its pods fit at once: Jobs that do not fit beside each other wait as ever.
 * Divisible resources (cpu, memory, storage) are scaled, the same for all of its pods; limits stay. Devices are not
 * scaled, nor huge pages, whose limit is their request. Resources that the machine does not have are left out.
 */
#include "program/run/documents.h"

#include "api/meta.h"
#include "api/pod/resources.h"
#include "base/util.h"

static const char *const parts[] = { "initContainers", "containers" };

/* 'q' * 'part' / 'all', rounded down to the unit of the resource. */
static struct quantity scaled(struct str resource, struct quantity q, struct quantity part, struct quantity all)
{
    __int128 grain = str_is(resource, "cpu") ? 1000000 : (__int128)1000000000 * 1024;
    double left = (double)q.nano * ((double)part.nano / (double)all.nano);

    q.nano = (__int128)(left / (double)grain) * grain;
    return q;
}

static struct str fit_text_of(struct arena *a, struct quantity q)
{
    autobuf text = { 0 };

    quantity_print(&text, q);
    return arena_str(a, buf_view(&text));
}

struct fit_fit {
    struct arena *arena;
    struct str resource;
    struct quantity have, want; /* of all pods of the job */
    struct quantity use;        /* the part of 'have' that the pods may request */
};

static void fit_forget(struct json *amounts, struct str resource)
{
    struct json *amount = json_get_str(amounts, resource);

    if (amount)
        json_unlink(amounts, amount);
}

/* A limit stands in for a request that is not there. NULL: neither is. */
static const struct quantity *fit_amount_of(const struct fit_fit *f, const struct json *resources)
{
    static const char *const kinds[] = { "requests", "limits" };
    const struct quantity *q = NULL;

    for (size_t i = 0; i < ARRAY_LEN(kinds) && !q; i++) {
        struct resources list = { 0 };

        resources_from_json(f->arena, json_get(resources, kinds[i]), &list);
        q = resources_get(&list, f->resource);
    }
    return q;
}

static void fit_amount(const struct fit_fit *f, struct json *holder)
{
    struct json *resources = json_get(holder, "resources"), *requests;
    const struct quantity *asked = fit_amount_of(f, resources);

    if (f->have.nano == 0) {
        fit_forget(json_get(resources, "requests"), f->resource);
        fit_forget(json_get(resources, "limits"), f->resource);
        return;
    }
    requests = asked ? json_need_object(f->arena, resources, "requests") : NULL;
    if (requests)
        json_set_key(requests, f->resource,
                     json_str(f->arena, fit_text_of(f->arena, scaled(f->resource, *asked, f->use, f->want))));
}

static void fit_pod(const struct fit_fit *f, struct json *spec)
{
    fit_amount(f, spec);
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        JSON_FOREACH(c, json_get(spec, parts[i]))
            fit_amount(f, c);
}

static struct json *tasks_of(const struct loaded *doc)
{
    return json_find(doc->root, "spec", "tasks", NULL);
}

static void add_up(struct arena *a, const struct loaded *doc, struct resources *ret)
{
    *ret = (struct resources){ 0 };
    JSON_FOREACH(task, tasks_of(doc)) {
        struct resources pod = { 0 };

        pod_requests(a, json_find(task, "template", "spec", NULL), &pod);
        resources_add_times(a, ret, &pod, json_i64(json_get(task, "replicas"), 0));
    }
}

static void fit_resource(const struct fit_fit *f, const struct loaded *doc, const struct run_listener *say)
{
    struct arena *a = f->arena;
    struct str job = object_name(doc->root), want = fit_text_of(a, f->want), have = fit_text_of(a, f->have);
    bool is_whole = str_has_char(f->resource, '/') || str_starts(f->resource, STR("hugepages-"));

    if (is_whole && f->have.nano > 0) {
        say->say(say->ctx, arena_fmt(a,
                                     "--fit: job %.*s asks for %.*s %.*s, and the machine has %.*s: that stays as it "
                                     "is (fewer pods: --replicas)",
                                     STR_ARG(job), STR_ARG(want), STR_ARG(f->resource), STR_ARG(have)));
        return;
    }
    JSON_FOREACH(task, tasks_of(doc))
        fit_pod(f, json_find(task, "template", "spec", NULL));
    if (f->have.nano == 0)
        say->say(say->ctx, arena_fmt(a, "--fit: job %.*s asks for %.*s %.*s, and the machine has none: left out",
                                     STR_ARG(job), STR_ARG(want), STR_ARG(f->resource)));
    else
        say->say(say->ctx, arena_fmt(a,
                                     "--fit: job %.*s asks for %.*s %.*s in all, and the machine has %.*s: every "
                                     "request is %.3g times as large",
                                     STR_ARG(job), STR_ARG(f->resource), STR_ARG(want), STR_ARG(have),
                                     (double)f->use.nano / (double)f->want.nano));
}

void run_fit(struct load *l, const struct json *capacity, const struct run_listener *say)
{
    struct resources have = { 0 };

    resources_from_json(l->arena, capacity, &have);
    VEC_FOREACH(at, &l->docs) {
        struct resources want;

        if (!(*at)->set) /* not a Job */
            continue;
        add_up(l->arena, *at, &want);
        VEC_FOREACH(r, &want.list) {
            const struct quantity *some = resources_get(&have, r->name);
            struct fit_fit f = { l->arena, r->name, some ? *some : (struct quantity){ 0 }, r->q };

            f.use = f.have;
            if (str_is(f.resource, "ephemeral-storage")) /* others write to the disk too, until the pods are placed */
                f.use.nano = f.use.nano / 10 * 9;
            if (quantity_cmp(f.have, f.want) < 0)
                fit_resource(&f, *at, say);
        }
    }
}
