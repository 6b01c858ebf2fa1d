/* timeline.c - fuzz: any history of objects, in any order, makes a page, a trace, an exit status and a plan
 *
 * The input is YAML, one document for each change: an object, with "at" (milliseconds) and "gone" beside its members;
 * or a line that a container wrote ({output: …, uid, container}), or what a pod uses ({usage: …, uid}).
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "api/types.h"
#include "history/history.h"
#include "history/timeline.h"
#include "report/report.h"
#include "yaml/yaml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BEGIN_MS (1772355600 * INT64_C(1000))

struct story {
    struct history *run, *cluster;
    uint64_t rev;
    int64_t now_ms;
};

static int64_t number(const struct json *doc, const char *name, int64_t most)
{
    int64_t v = 0;
    const struct json *j = json_get(doc, name);

    if (!j || j->type != JSON_NUMBER || str_to_i64((struct str){ j->text, j->n }, &v) < 0)
        return 0;
    return v < 0 ? 0 : v > most ? most : v;
}

static void tell(struct story *h, const struct json *doc)
{
    struct str uid = json_member_text(doc, "uid");
    const struct resource_type *type;
    struct object *o;

    h->now_ms += number(doc, "at", 10000000);
    if (json_get(doc, "output")) {
        history_output(h->run, uid, json_member_text(doc, "container"), json_member_text(doc, "output"), false);
        return;
    }
    if (json_get(doc, "usage")) {
        int64_t used = number(doc, "usage", INT64_MAX);

        history_usage(h->run, uid, (struct history_sample){ h->now_ms, used, used }, used);
        return;
    }
    type = type_by_kind(json_member_text(doc, "apiVersion"), json_member_text(doc, "kind"));
    if (!type)
        return;
    o = object_make(type, doc, ++h->rev);
    history_changed(h->run, o, json_bool(json_get(doc, "gone"), false), h->now_ms);
    history_changed(h->cluster, o, json_bool(json_get(doc, "gone"), false), h->now_ms);
    object_unref(o);
}

/* The page's own. */
static bool has_one_script(struct str page)
{
    const char *first = memmem(page.p, page.n, "<script", 7);

    return first && !memmem(first + 1, (size_t)(page.p + page.n - first - 1), "<script", 7);
}

static void check(const struct story *h)
{
    autoarena a = { 0 };
    autobuf page = { 0 }, trace = { 0 }, why = { 0 };
    struct history_failure failure;
    struct json *tree;

    report_html(&page, h->run, STR("<t>"));
    assert(str_is_utf8(buf_view(&page)) && has_one_script(buf_view(&page)));
    report_trace(&trace, h->run);
    assert(json_parse(&a, buf_view(&trace), NULL, &tree, NULL) == 0);
    for (size_t i = 0; i < 100 && history_failed(h->run, i, &failure); i++)
        ;
    assert(history_status(h->run, true) >= 0 && history_status(h->run, true) < 256);
    assert(!history_is_stuck(h->run, &why) || !history_is_over(h->run));
    VEC_FOREACH(job, &h->run->jobs)
        VEC_FOREACH(task, &(*job)->tasks)
            for (int i = 0; i < HISTORY_STATE_MAX; i++)
                assert((*task)->n[i] <= h->run->pods.n && (*task)->n_restarting <= (*task)->n[HISTORY_RUNNING]);
    VEC_FOREACH(job, &h->cluster->jobs) {
        assert(job_wait_ms(h->cluster, *job) >= -1 && job_run_ms(h->cluster, *job) >= -1);
        assert((*job)->running >= 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct story h = { .run = history_new(&(struct history_options){ .begin_ms = BEGIN_MS }),
                       .cluster = history_new(&(struct history_options){ .begin_ms = BEGIN_MS, .is_cluster = true }),
                       .now_ms = BEGIN_MS };
    struct yaml_docs docs = { 0 };
    autoarena a = { 0 };

    if (yaml_parse(&a, (struct str){ (const char *)data, size }, NULL, &docs, NULL) == 0)
        for (size_t i = 0; i < docs.n; i++)
            if (docs.v[i]->type == JSON_OBJECT)
                tell(&h, docs.v[i]);
    history_finish(h.run, h.now_ms);
    history_finish(h.cluster, h.now_ms);
    check(&h);
    history_free(h.run);
    history_free(h.cluster);
    return 0;
}
