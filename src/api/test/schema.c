/* schema.c - the tables: sound, complete, and every field of them refuses what it must */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "api/fields.h"
#include "api/job.h"
#include "api/schema/schemas.h"
#include "api/types.h"
#include "base/util.h"
#include "yaml/yaml.h"

#include <inttypes.h>

static struct arena arena;

static int forget(void **state)
{
    (void)state;
    arena_done(&arena);
    return 0;
}

/* ---- walking all fields below a schema ---- */

#define DEPTH_MAX 32

struct walk { /* the way to a field: chain[n - 1] is the field itself */
    const struct field *chain[DEPTH_MAX];
    size_t n;
    size_t n_fields, n_tries;
    void (*visit)(struct walk *w, const struct schema *s, const struct field *f);
};

static void walk_schema(struct walk *w, const struct schema *s)
{
    for (size_t i = 0; i < s->n_fields; i++) {
        assert_true(w->n < DEPTH_MAX);
        w->chain[w->n++] = &s->fields[i];
        w->n_fields++;
        w->visit(w, s, &s->fields[i]);
        if (s->fields[i].sub)
            walk_schema(w, s->fields[i].sub);
        w->n--;
    }
}

static const char *path_of(const struct walk *w)
{
    autobuf out = { 0 };

    for (size_t i = 0; i < w->n; i++) {
        buf_fmt(&out, "%s%s", i ? "." : "", w->chain[i]->name);
        if (i + 1 < w->n && w->chain[i]->shape != SHAPE_ONE)
            buf_fmt(&out, "%s", w->chain[i]->shape == SHAPE_LIST ? "[0]" : ".key");
    }
    return arena_cstr(&arena, buf_view(&out));
}

/* ---- soundness of the rows ---- */

static bool is_scalar(const struct field *f)
{
    return f->kind == FIELD_STR || f->kind == FIELD_INT32 || f->kind == FIELD_INT64;
}

static void visit_sound(struct walk *w, const struct schema *s, const struct field *f)
{
    const char *path = path_of(w);

    for (const struct field *g = s->fields; g < f; g++)
        if (strcmp(g->name, f->name) == 0)
            fail_msg("%s: twice in %s", path, s->name);
    if (f->kind >= FIELD_KIND_MAX || f->shape > SHAPE_MAP)
        fail_msg("%s: no such kind or shape", path);
    if (f->sub && f->kind != FIELD_OBJECT)
        fail_msg("%s: only an object has fields", path);
    if (f->values && f->kind != FIELD_STR)
        fail_msg("%s: only text has values", path);
    if (f->min > f->max)
        fail_msg("%s: empty range", path);
    if (f->merge_key && (f->shape != SHAPE_LIST || f->kind != FIELD_OBJECT))
        fail_msg("%s: merge key without a list of objects", path);
    if (f->merge_key && f->sub && !schema_field(f->sub, str_of(f->merge_key)))
        fail_msg("%s: items have no %s to merge by", path, f->merge_key);
    if (f->flags & FIELD_MERGE && (f->shape != SHAPE_LIST || !is_scalar(f)))
        fail_msg("%s: merged as a set, but no list of scalars", path);
    if (f->offset != FIELD_NO_OFFSET && f->offset + sizeof(void *) > s->size && f->offset + sizeof(int32_t) > s->size)
        fail_msg("%s: decodes beyond its struct", path);
}

static void rows_are_sound(void **state)
{
    (void)state;
    for (size_t i = 0; i < n_resource_types; i++) {
        struct walk w = { .visit = visit_sound };

        if (resource_types[i].schema)
            walk_schema(&w, resource_types[i].schema);
    }
}

static void visit_doc(struct walk *w, const struct schema *s, const struct field *f)
{
    (void)s;
    for (size_t i = 0; i < w->n; i++) /* the pod and the claim have books of their own */
        if (strcmp(w->chain[i]->name, "template") == 0 || strcmp(w->chain[i]->name, "volumeClaim") == 0)
            return;
    if (!f->doc)
        fail_msg("%s: not described", path_of(w));
}

static void job_spec_is_described(void **state)
{
    struct walk w = { .visit = visit_doc };

    (void)state;
    w.chain[w.n++] = schema_field(&schema_job, STR("spec"));
    walk_schema(&w, &schema_job_spec);
    assert_in_range(w.n_fields, 500, 100000); /* the pod template is part of it */
}

/* ---- every field, every wrong value ---- */

/* The document that has 'value' in the field, and nothing else. */
static struct json *document(const struct walk *w, struct json *value)
{
    for (size_t i = w->n; i-- > 0;) {
        const struct field *f = w->chain[i];
        struct json *obj = json_object(&arena), *shaped = value;

        if (i + 1 < w->n && f->shape == SHAPE_LIST)
            json_push(shaped = json_array(&arena), value);
        else if (i + 1 < w->n && f->shape == SHAPE_MAP)
            json_set(shaped = json_object(&arena), "key", value);
        json_set(obj, f->name, shaped);
        value = obj;
    }
    return value;
}

static const struct schema *root_schema;

/* 'value' in the field must give 'want' errors at path + suffix, and elsewhere none but missing neighbours. */
static void try_value(struct walk *w, struct json *value, const char *suffix, size_t want)
{
    struct place root = { .node = document(w, value) };
    struct problems ps = { .arena = &arena };
    struct str path = arena_fmt(&arena, "%s%s", path_of(w), suffix);
    autobuf shown = { 0 };
    size_t n = 0;

    w->n_tries++;
    schema_check(root_schema, &root, &ps);
    json_print(&shown, value);
    VEC_FOREACH(p, &ps.list) {
        if (str_eq(p->path, path) && p->level == PROBLEM_ERROR)
            n++;
        else if (p->level == PROBLEM_ERROR && p->kind != PROBLEM_REQUIRED)
            fail_msg("%s = %s: also %.*s: %.*s", path.p, shown.p, STR_ARG(p->path), STR_ARG(p->text));
    }
    if (n != want)
        fail_msg("%s = %s: want %zu errors, got %zu (%s)", path.p, shown.p, want, n, problems_join(&arena, &ps).p);
}

static struct json *sample(enum json_type type)
{
    switch (type) {
    case JSON_BOOL:
        return json_bool_new(&arena, true);
    case JSON_NUMBER:
        return json_int(&arena, 1);
    case JSON_STRING:
        return json_str(&arena, STR("1"));
    case JSON_ARRAY:
        return json_array(&arena);
    case JSON_OBJECT:
        return json_object(&arena);
    default:
        return json_null(&arena);
    }
}

/* What the API says, not what the engine's table says. */
static bool is_right_type(const struct field *f, enum json_type type)
{
    switch ((enum field_kind)f->kind) {
    case FIELD_ANY:
        if (f->check == format_quantity)
            return type == JSON_NUMBER || type == JSON_STRING;
        return f->check == format_arguments ? type == JSON_ARRAY : true;
    case FIELD_STR:
        return type == JSON_STRING;
    case FIELD_BOOL:
        return type == JSON_BOOL;
    case FIELD_INT32:
    case FIELD_INT64:
    case FIELD_NUMBER:
        return type == JSON_NUMBER;
    case FIELD_INT_OR_STR:
        return type == JSON_NUMBER || type == JSON_STRING;
    default:
        return type == JSON_OBJECT;
    }
}

/* One value, in the shape of the field. */
static void try_shaped(struct walk *w, struct json *value, size_t want)
{
    const struct field *f = w->chain[w->n - 1];
    struct json *list = json_array(&arena), *map = json_object(&arena);

    if (f->shape == SHAPE_ONE) {
        try_value(w, value, "", want);
    } else if (f->shape == SHAPE_LIST) {
        json_push(list, value);
        try_value(w, list, "[0]", want);
    } else {
        json_set(map, "key", value);
        try_value(w, map, ".key", want);
    }
}

static void try_types(struct walk *w, const struct field *f)
{
    for (enum json_type type = JSON_NULL; type < JSON_TYPE_MAX; type++) {
        enum json_type shape = f->shape == SHAPE_LIST ? JSON_ARRAY : JSON_OBJECT;

        if (type != JSON_NULL && !is_right_type(f, type))
            try_shaped(w, sample(type), 1);
        if (type != JSON_NULL && f->shape != SHAPE_ONE && type != shape)
            try_value(w, sample(type), "", 1);
    }
    try_value(w, json_null(&arena), "", (f->flags & FIELD_REQUIRED) != 0);
    if (f->shape != SHAPE_ONE && f->flags & FIELD_NOT_EMPTY)
        try_value(w, sample(f->shape == SHAPE_LIST ? JSON_ARRAY : JSON_OBJECT), "", 1);
}

static void try_numbers(struct walk *w, const struct field *f)
{
    int64_t most = f->kind == FIELD_INT32 ? INT32_MAX : INT64_MAX;
    bool has_range = f->min || f->max;

    if (f->kind != FIELD_INT32 && f->kind != FIELD_INT64)
        return;
    try_shaped(w, json_copy(&arena, &(struct json){ .type = JSON_NUMBER, .text = "1.5", .n = 3 }), 1);
    try_shaped(w, json_copy(&arena, &(struct json){ .type = JSON_NUMBER, .text = "1e30", .n = 4 }), 1);
    if (f->kind == FIELD_INT32) {
        try_shaped(w, json_int(&arena, (int64_t)INT32_MAX + 1), 1);
        try_shaped(w, json_int(&arena, (int64_t)INT32_MIN - 1), 1);
    }
    if (!has_range)
        return;
    try_shaped(w, json_int(&arena, f->min), 0);
    try_shaped(w, json_int(&arena, f->min - 1), 1);
    try_shaped(w, json_int(&arena, MIN_OF(f->max, most)), 0);
    if (f->max < most)
        try_shaped(w, json_int(&arena, f->max + 1), 1);
}

static void try_texts(struct walk *w, const struct field *f)
{
    autobuf text = { 0 };

    if (f->kind != FIELD_STR)
        return;
    for (size_t i = 0; f->values && f->values[i]; i++)
        try_shaped(w, json_str(&arena, str_of(f->values[i])), 0);
    if (f->values)
        try_shaped(w, json_str(&arena, STR("No Such Value")), 1);
    if (f->shape == SHAPE_ONE && f->flags & FIELD_NOT_EMPTY)
        try_value(w, json_str(&arena, STR("")), "", 1);
    if (f->max && !f->values) {
        buf_repeat(&text, 'x', (size_t)f->max + 1);
        try_shaped(w, json_str(&arena, buf_view(&text)), 1);
    }
}

static void visit_try(struct walk *w, const struct schema *s, const struct field *f)
{
    struct arena outer = arena;

    (void)s;
    arena = (struct arena){ 0 }; /* thousands of documents: drop each field's at once */
    try_types(w, f);
    try_numbers(w, f);
    try_texts(w, f);
    arena_done(&arena);
    arena = outer;
}

/* Jobs hold pods and claims; the other kinds are quick. All of them, from the root down. */
static void every_field_refuses(void **state)
{
    size_t n_tries = 0;

    (void)state;
    for (size_t i = 0; i < n_resource_types; i++) {
        struct walk w = { .visit = visit_try };

        root_schema = resource_types[i].schema;
        if (!root_schema)
            continue;
        walk_schema(&w, root_schema);
        n_tries += w.n_tries;
    }
    assert_in_range(n_tries, 10000, 10000000); /* the walk went somewhere */
}

/* ---- completeness ---- */

static const struct field *field_at(const struct schema *s, const char *path)
{
    struct str rest = str_of(path), part;
    const struct field *f = NULL;

    while (str_split(&rest, '.', &part)) {
        f = s ? schema_field(s, part) : NULL;
        if (!f)
            fail_msg("%s: no such field", path);
        s = f->sub;
        if (!rest.n)
            break;
    }
    return f;
}

/* As Kubernetes' own types say it. */
static void merge_keys(void **state)
{
    static const struct {
        const struct schema *schema;
        const char *field, *key;
    } cases[] = {
        { &schema_pod_spec, "containers", "name" },
        { &schema_pod_spec, "initContainers", "name" },
        { &schema_pod_spec, "ephemeralContainers", "name" },
        { &schema_pod_spec, "imagePullSecrets", "name" },
        { &schema_pod_spec, "schedulingGates", "name" },
        { &schema_pod_spec, "volumes", "name" },
        { &schema_pod_spec, "resourceClaims", "name" },
        { &schema_pod_spec, "hostAliases", "ip" },
        { &schema_pod_spec, "topologySpreadConstraints", "topologyKey" },
        { &schema_pod_spec, "containers.env", "name" },
        { &schema_pod_spec, "containers.ports", "containerPort" },
        { &schema_pod_spec, "initContainers.volumeMounts", "mountPath" },
        { &schema_pod_spec, "ephemeralContainers.volumeDevices", "devicePath" },
        { &schema_pod, "status.conditions", "type" },
        { &schema_pod, "status.podIPs", "ip" },
        { &schema_pod, "status.hostIPs", "ip" },
        { &schema_pod, "status.resourceClaimStatuses", "name" },
        { &schema_pod, "metadata.ownerReferences", "uid" },
        { &schema_service, "spec.ports", "port" },
        { &schema_service, "status.conditions", "type" },
        { &schema_node, "status.conditions", "type" },
        { &schema_node, "status.addresses", "type" },
        { &schema_namespace, "status.conditions", "type" },
        { &schema_pvc, "status.conditions", "type" },
        { &schema_pdb, "status.conditions", "type" },
        { &schema_service_account, "secrets", "name" },
        /* whole-list replace */
        { &schema_pod_spec, "tolerations", NULL },
        { &schema_pod_spec, "containers.envFrom", NULL },
        { &schema_pod, "status.containerStatuses", NULL },
        { &schema_node, "spec.taints", NULL },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *key = field_at(cases[i].schema, cases[i].field)->merge_key;

        if (!key != !cases[i].key || (key && strcmp(key, cases[i].key) != 0))
            fail_msg("%s: merged by %s", cases[i].field, key ? key : "nothing");
    }
    assert_true(field_at(&schema_pod, "metadata.finalizers")->flags & FIELD_MERGE);
    assert_true(field_at(&schema_node, "spec.podCIDRs")->flags & FIELD_MERGE);
    assert_false(field_at(&schema_pod_spec, "containers.command")->flags & FIELD_MERGE);
}

static struct json *parsed(const char *text)
{
    struct yaml_docs docs = { 0 };
    struct err e;

    if (yaml_parse(&arena, str_of(text), NULL, &docs, &e) < 0)
        fail_msg("%s: %s", text, e.text);
    assert_int_equal(docs.n, 1);
    return docs.v[0];
}

/* The first problem of "spec: <text>" (or more), as "path: text". */
static const char *first_problem(const struct schema *s, const char *text)
{
    struct place root = { .node = parsed(text) };
    struct problems ps = { .arena = &arena };

    schema_check(s, &root, &ps);
    problems_sort(&ps);
    if (!ps.list.n)
        return "";
    return arena_fmt(&arena, "%.*s: %.*s", STR_ARG(ps.list.v[0].path), STR_ARG(ps.list.v[0].text)).p;
}

/* What users get wrong, and what they are told. */
static void slips_in_jobs(void **state)
{
    static const struct {
        const char *in, *want;
    } cases[] = {
        { "spec: {minAvailble: 1}", "spec.minAvailble: unknown field \"minAvailble\", did you mean \"minAvailable\"?" },
        { "spec: {min-available: 1}",
          "spec.min-available: unknown field \"min-available\", did you mean \"minAvailable\"?" },
        { "spec: {schedulername: v}", "spec.schedulername: unknown field \"schedulername\", did you mean "
                                      "\"schedulerName\"?" },
        { "spec: {task: []}", "spec.task: unknown field \"task\", did you mean \"tasks\"?" },
        { "spec: {plugin: {}}", "spec.plugin: unknown field \"plugin\", did you mean \"plugins\"?" },
        { "spec: {tasks: [{replica: 1}]}",
          "spec.tasks[0].replica: unknown field \"replica\", did you mean \"replicas\"?" },
        { "spec: {tasks: [{template: {spec: {containers: [{name: a, imagePullPolcy: Always}]}}}]}",
          "spec.tasks[0].template.spec.containers[0].imagePullPolcy: unknown field \"imagePullPolcy\", did you mean "
          "\"imagePullPolicy\"?" },
        { "spec: {policies: [{event: PodFaild, action: RestartJob}]}",
          "spec.policies[0].event: must be one of *, PodFailed, PodEvicted, PodPending, Unknown, "
          "TaskCompleted, TaskFailed, JobUpdated (got \"PodFaild\"; did you mean "
          "\"PodFailed\"?)" },
        { "spec: {tasks: [{replicas: \"3\"}]}",
          "spec.tasks[0].replicas: must be a whole number, not a string (got \"3\"; leave out the quotes)" },
        { "spec: {tasks: [{replicas: -1}]}", "spec.tasks[0].replicas: must be at least 0 (got -1)" },
        { "spec: {tasks: {name: a}}", "spec.tasks: must be a list, not an object" },
        { "spec: {tasks: [{template: {spec: {containers: []}}}]}",
          "spec.tasks[0].template.spec.containers: must not be empty" },
        { "spec: {minSuccess: 0}", "spec.minSuccess: must be at least 1 (got 0)" },
        { "spec: {plugins: {svc: x}}",
          "spec.plugins.svc: must be a list of arguments such as [\"--port=22\"], or [] for none" },
        { "spec: {volumes: [{volumeClaimName: a}]}", "spec.volumes[0].mountPath: is required" },
        { "spec: {volumes: [{mountPath: \"/a:b\"}]}", "spec.volumes[0].mountPath: must not contain ':'" },
        { "spec: {tasks: [{topologyPolicy: single-numa}]}",
          "spec.tasks[0].topologyPolicy: must be one of none, best-effort, restricted, single-numa-node (got "
          "\"single-numa\"; did you mean \"single-numa-node\"?)" },
        { "spec: {tasks: [{template: {spec: {}}}]}", "spec.tasks[0].template.spec.containers: is required" },
        { "spec: {tasks: [{template: {spec: {containers: [{image: a}]}}}]}",
          "spec.tasks[0].template.spec.containers[0].name: is required" },
        { "spec: {tasks: [{template: {metadata: {creationTimestamp: null}}}]}", "" },
        { "spec: {tasks: [{template: {spec: {containers: [{name: a, resources: {limits: {cpu: 0.5, memory: "
          "1Gi}}}]}}}]}",
          "" },
        { "spec: {tasks: [{template: {spec: {containers: [{name: a, livenessProbe: {httpGet: {port: 70000}}}]}}}]}",
          "spec.tasks[0].template.spec.containers[0].livenessProbe.httpGet.port: must be a port number from 1 to "
          "65535, or the name of a port (got 70000)" },
        { "metadata: {}", "spec: is required" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *got = first_problem(&schema_job, cases[i].in);

        if (strcmp(got, cases[i].want) != 0)
            fail_msg("%s\n  want: %s\n  got:  %s", cases[i].in, cases[i].want, got);
    }
}

/* A field lost one letter: the table must suggest it again, unless another field is as near. */
static void visit_slip(struct walk *w, const struct schema *s, const struct field *f)
{
    struct str name = str_of(f->name);

    (void)w;
    for (size_t at = 0; name.n > 4 && at < name.n; at++) {
        struct json *doc = json_object(&arena);
        struct place root = { .node = doc };
        struct problems ps = { .arena = &arena };
        struct str slip = arena_cat(&arena, str_sub(name, 0, at), str_from(name, at + 1));

        if (schema_field(s, slip)) /* podIPs without its s is podIP */
            continue;
        json_add(doc, slip, json_null(&arena));
        schema_check(s, &root, &ps);
        if (!str_has(ps.list.v[0].text, STR("did you mean")))
            fail_msg("%s in %s: %.*s", slip.p, s->name, STR_ARG(ps.list.v[0].text));
    }
}

static void every_slip_has_a_suggestion(void **state)
{
    struct walk job = { .visit = visit_slip }, queue = { .visit = visit_slip }, pg = { .visit = visit_slip };

    (void)state;
    walk_schema(&job, &schema_job);
    walk_schema(&queue, &schema_queue);
    walk_schema(&pg, &schema_podgroup);
}

/* Misspelt by case only: the answer is always the field itself. */
static void visit_case(struct walk *w, const struct schema *s, const struct field *f)
{
    struct json *doc = json_object(&arena);
    struct place root = { .node = doc };
    struct problems ps = { .arena = &arena };
    autobuf upper = { 0 };

    (void)w;
    for (const char *p = f->name; *p; p++)
        buf_fmt(&upper, "%c", *p >= 'a' && *p <= 'z' ? *p - 32 : *p);
    if (schema_field(s, buf_view(&upper)))
        return;
    json_add(doc, buf_view(&upper), json_null(&arena));
    schema_check(s, &root, &ps);
    if (!str_has(ps.list.v[0].text, arena_fmt(&arena, "did you mean \"%s\"?", f->name)))
        fail_msg("%s in %s: %.*s", f->name, s->name, STR_ARG(ps.list.v[0].text));
}

static void letter_case_does_not_count(void **state)
{
    struct walk w = { .visit = visit_case };

    (void)state;
    walk_schema(&w, &schema_job);
}

/* Random trees over the Job's own words: no crash, and errors never come without text. */
static uint64_t random_next(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 33;
}

static struct json *random_tree(uint64_t *seed, const struct schema *s, int depth)
{
    enum json_type type = (enum json_type)(random_next(seed) % JSON_TYPE_MAX);
    struct json *j = sample(depth > 0 ? type : JSON_STRING);

    if (depth > 0 && random_next(seed) % 2)
        j = json_object(&arena);
    for (size_t n = random_next(seed) % 6; n && j->type >= JSON_ARRAY; n--) {
        const struct field *f = s && s->n_fields ? &s->fields[random_next(seed) % s->n_fields] : NULL;
        struct json *child = random_tree(seed, f && f->sub ? f->sub : s, depth - 1);

        if (j->type == JSON_ARRAY)
            json_push(j, child);
        else
            json_add(j, f ? str_of(f->name) : STR("k"), child);
    }
    return j;
}

static void random_documents(void **state)
{
    uint64_t seed = 20260101;

    (void)state;
    for (int i = 0; i < 5000; i++) {
        struct json *doc = random_tree(&seed, &schema_job, 10);
        struct place root = { .node = doc };
        struct problems ps = { .arena = &arena };
        struct job job;

        schema_check(&schema_job, &root, &ps);
        job_decode(&arena, doc, &job);
        VEC_FOREACH(p, &ps.list)
            assert_true(p->text.n > 0);
        (void)job_total_replicas(&job);
        arena_reset(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_sound),
        cmocka_unit_test(job_spec_is_described),
        cmocka_unit_test(every_field_refuses),
        cmocka_unit_test(merge_keys),
        cmocka_unit_test(slips_in_jobs),
        cmocka_unit_test(every_slip_has_a_suggestion),
        cmocka_unit_test(letter_case_does_not_count),
        cmocka_unit_test(random_documents),
    };

    cmocka_set_message_output(CM_OUTPUT_STDOUT);
    return cmocka_run_group_tests(tests, NULL, forget);
}
