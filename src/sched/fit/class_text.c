/* class_text.c - what the choice of a node looks at in a pod, as text with one spelling for one meaning; see class.c */
#include "sched/fit/class_text.h"

#include "base/util.h"
#include "sched/fit/fit_internal.h"

/* ---- label keys ---- */

static void watch_key(struct fit *f, struct str key)
{
    if (map_add(&f->label_keys, &f->arena, key))
        f->must_relabel = true;
}

static void watch_selector(struct fit *f, const struct json *selector)
{
    JSON_FOREACH(l, json_get(selector, "matchLabels"))
        watch_key(f, json_key(l));
    JSON_FOREACH(e, json_get(selector, "matchExpressions"))
        watch_key(f, json_member_text(e, "key"));
}

/* ---- the text ---- */

enum { NEEDS_MAX = 10000 }; /* parts of all required affinities of a pod together: 100 of them with as many keys */

struct class_text_writer {
    struct sched_model *m;
    struct arena *a;
    struct buf *out;
    struct str namespace;
    const struct json *labels;
};

static void put_key(struct class_text_writer *w, const char *key)
{
    if (w->out->n > 1)
        buf_char(w->out, ',');
    buf_char(w->out, '"');
    buf_str(w->out, str_of(key));
    buf_str(w->out, STR("\":"));
}

static struct json *class_text_sorted(struct arena *a, const struct json *j)
{
    struct json *copy = json_copy(a, j);

    json_sort_keys(copy, true);
    return copy;
}

static void put_json(struct class_text_writer *w, const char *key, const struct json *j, enum json_type type)
{
    if (!json_is(j, type) || !json_count(j))
        return;
    put_key(w, key);
    json_print(w->out, class_text_sorted(w->a, j));
}

static void put_requests(struct class_text_writer *w, const struct json *spec)
{
    struct resources list;
    struct amounts ask = { 0 };
    bool is_lost = false;

    pod_requests(w->a, spec, &list);
    amounts_from_resources(&w->m->dims, &list, &ask, &is_lost);
    put_key(w, "a");
    for (int d = 0; d < w->m->dims.n; d++)
        if (ask.v[d] > 0 && d != DIM_PODS)
            buf_fmt(w->out, "%c%d,%lld", w->out->p[w->out->n - 1] == ':' ? '[' : ',', d, (long long)ask.v[d]);
    buf_str(w->out, w->out->p[w->out->n - 1] == ':' ? STR("[]") : STR("]"));
    if (is_lost) {
        put_key(w, "x");
        buf_str(w->out, STR("true"));
    }
}

struct class_text_names {
    struct str *v;
    size_t n, cap;
};

static int class_text_by(const void *x, const void *y)
{
    return str_cmp(*(const struct str *)x, *(const struct str *)y);
}

static void put_names(struct class_text_writer *w, const char *key, struct class_text_names *names)
{
    if (!names->n)
        return;
    qsort(names->v, names->n, sizeof(names->v[0]), class_text_by);
    put_key(w, key);
    for (size_t i = 0; i < names->n; i++) {
        if (i && str_eq(names->v[i], names->v[i - 1]))
            continue;
        buf_char(w->out, i ? ',' : '[');
        json_print_str(w->out, names->v[i]);
    }
    buf_char(w->out, ']');
}

static void add_images(struct class_text_writer *w, struct class_text_names *names, const struct json *containers)
{
    JSON_FOREACH(c, containers) {
        struct str image = json_member_text(c, "image");

        if (!str_empty(image))
            *vec_push(w->a, names) = image;
    }
}

static void add_ports(struct class_text_writer *w, struct class_text_names *names, const struct json *container,
                      bool is_host_network)
{
    JSON_FOREACH(p, json_get(container, "ports")) {
        struct str protocol = json_member_text(p, "protocol"), ip = json_member_text(p, "hostIP");
        int64_t port = json_i64(json_get(p, "hostPort"), 0);

        if (port == 0 && is_host_network)
            port = json_i64(json_get(p, "containerPort"), 0);
        if (port <= 0 || port > UINT16_MAX)
            continue;
        if (str_is(ip, "0.0.0.0"))
            ip = STR("");
        *vec_push(w->a, names) = arena_fmt(w->a, "%c:%d:%.*s",
                                           str_is(protocol, "UDP") || str_is(protocol, "SCTP") ? protocol.p[0] : 'T',
                                           (int)port, STR_ARG(ip));
    }
}

static void put_ports(struct class_text_writer *w, const struct json *spec)
{
    bool is_host_network = json_bool(json_get(spec, "hostNetwork"), false);
    struct class_text_names names = { 0 };

    JSON_FOREACH(c, json_get(spec, "containers"))
        add_ports(w, &names, c, is_host_network);
    JSON_FOREACH(c, json_get(spec, "initContainers"))
        if (str_is(json_member_text(c, "restartPolicy"), "Always")) /* the others end before anything else starts */
            add_ports(w, &names, c, is_host_network);
    put_names(w, "p", &names);
}

static void put_claims(struct class_text_writer *w, const struct json *spec)
{
    struct class_text_names names = { 0 };

    JSON_FOREACH(v, json_get(spec, "volumes")) {
        struct str name = json_member_text(json_get(v, "persistentVolumeClaim"), "claimName");

        if (!str_empty(name))
            *vec_push(w->a, &names) = name;
    }
    put_names(w, "c", &names);
    if (json_count(json_get(spec, "resourceClaims"))) {
        put_key(w, "d");
        buf_str(w->out, STR("true"));
    }
}

/* ---- … terms ---- */

/* Keys whose value on this pod becomes a requirement: "pods of my revision". */
static void merge_keys(struct class_text_writer *w, struct json *selector, const struct json *keys,
                       const char *operator)
{
    JSON_FOREACH(key, keys) {
        const struct json *value = json_get_str(w->labels, json_text(key, STR("")));
        struct json *list = json_need_array(w->a, selector, "matchExpressions"), *e = json_object(w->a);

        if (!json_is(value, JSON_STRING) || !list)
            continue;
        json_add(e, STR("key"), json_str(w->a, json_text(key, STR(""))));
        json_add(e, STR("operator"), json_str(w->a, str_of(operator)));
        json_push(json_add(e, STR("values"), json_array(w->a)), json_str(w->a, json_text(value, STR(""))));
        json_push(list, e);
    }
}

static struct json *part_selector(struct class_text_writer *w, const struct json *term)
{
    const struct json *written = json_get(term, "labelSelector");
    struct json *selector;

    if (!json_is(written, JSON_OBJECT))
        return NULL; /* no selector: no pods */
    selector = json_copy(w->a, written);
    merge_keys(w, selector, json_get(term, "matchLabelKeys"), "In");
    merge_keys(w, selector, json_get(term, "mismatchLabelKeys"), "NotIn");
    json_sort_keys(selector, true);
    watch_selector(w->m->fit, selector);
    return selector;
}

static struct json *part_namespaces(struct class_text_writer *w, const struct json *term, bool has_selector)
{
    struct json *list = json_array(w->a);
    struct class_text_names names = { 0 };

    JSON_FOREACH(n, json_get(term, "namespaces"))
        *vec_push(w->a, &names) = json_text(n, STR(""));
    if (!names.n && !has_selector)
        *vec_push(w->a, &names) = w->namespace;
    if (names.n)
        qsort(names.v, names.n, sizeof(names.v[0]), class_text_by);
    VEC_FOREACH(n, &names)
        json_push(list, json_str(w->a, *n));
    return list;
}

static struct json *class_text_part_of(struct class_text_writer *w, const struct json *term)
{
    struct json *part = json_object(w->a), *selector = part_selector(w, term);
    const struct json *in = json_get(term, "namespaceSelector");
    bool has_in = json_is(in, JSON_OBJECT);

    json_add(part, STR("ns"), part_namespaces(w, term, has_in));
    if (has_in)
        json_add(part, STR("nss"), class_text_sorted(w->a, in));
    if (selector)
        json_add(part, STR("sel"), selector);
    return part;
}

static struct json *term_of_parts(struct class_text_writer *w, struct json *parts, struct str topology_key)
{
    struct json *j = json_object(w->a);

    json_add(j, STR("m"), parts);
    json_add(j, STR("k"), json_str(w->a, topology_key));
    return j;
}

static struct json *single_term(struct class_text_writer *w, const struct json *term)
{
    struct json *parts = json_array(w->a);

    json_push(parts, class_text_part_of(w, term));
    return term_of_parts(w, parts, json_member_text(term, "topologyKey"));
}

static const char required[] = "requiredDuringSchedulingIgnoredDuringExecution",
                  preferred[] = "preferredDuringSchedulingIgnoredDuringExecution";

/* 'j' is new to those seen, as text. */
static bool is_new(struct class_text_writer *w, struct map *seen, const struct json *j)
{
    autobuf text = { 0 };

    json_print(&text, j);
    return map_add(seen, w->a, buf_view(&text));
}

/* A pod counts for one required affinity only if it matches all of them (terms.h): each term has all parts. So equal
 * parts are one, terms differ by their topology keys alone, and of more than anybody means the class fits nowhere. */
static void put_needs(struct class_text_writer *w, const struct json *affinity)
{
    const struct json *list = json_find(affinity, "podAffinity", required, NULL);
    struct json *terms = json_array(w->a), *parts = json_array(w->a), *keys = json_array(w->a);
    struct map seen;

    map_init(&seen, map_seed_default());
    JSON_FOREACH(t, list) {
        struct json *part = class_text_part_of(w, t), *key = json_array(w->a);

        json_push(key, json_str(w->a, json_member_text(t, "topologyKey"))); /* a list: no part looks like it */
        if (is_new(w, &seen, part))
            json_push(parts, part);
        if (is_new(w, &seen, key))
            json_push(keys, key);
    }
    map_done(&seen);
    if (json_count(parts) * json_count(keys) > NEEDS_MAX) {
        put_key(w, "y");
        buf_str(w->out, STR("true"));
        return;
    }
    JSON_FOREACH(key, keys)
        json_push(terms, term_of_parts(w, json_copy(w->a, parts), json_text(json_first(key), STR(""))));
    put_json(w, "N", terms, JSON_ARRAY);
}

static void put_avoids(struct class_text_writer *w, const struct json *affinity)
{
    struct json *terms = json_array(w->a);

    JSON_FOREACH(t, json_find(affinity, "podAntiAffinity", required, NULL))
        json_push(terms, single_term(w, t));
    put_json(w, "A", terms, JSON_ARRAY);
}

static void add_likes(struct class_text_writer *w, const struct json *list, int sign, struct json *ret)
{
    JSON_FOREACH(p, list) {
        int64_t weight = json_i64(json_get(p, "weight"), 0);
        struct json *like = json_object(w->a);

        if (weight < 1 || weight > 100)
            continue;
        json_add(like, STR("w"), json_int(w->a, sign * weight));
        json_add(like, STR("t"), single_term(w, json_get(p, "podAffinityTerm")));
        json_push(ret, like);
    }
}

static void put_likes(struct class_text_writer *w, const struct json *affinity)
{
    struct json *likes = json_array(w->a);

    add_likes(w, json_find(affinity, "podAffinity", preferred, NULL), 1, likes);
    add_likes(w, json_find(affinity, "podAntiAffinity", preferred, NULL), -1, likes);
    put_json(w, "L", likes, JSON_ARRAY);
}

static void put_spreads(struct class_text_writer *w, const struct json *spec)
{
    struct json *rules = json_array(w->a);

    JSON_FOREACH(s, json_get(spec, "topologySpreadConstraints")) {
        struct json *rule = json_object(w->a);
        struct str when = json_member_text(s, "whenUnsatisfiable");

        json_add(rule, STR("t"), single_term(w, s));
        json_add(rule, STR("k"), json_int(w->a, MAX_OF(json_i64(json_get(s, "maxSkew"), 1), 1)));
        json_add(rule, STR("d"), json_int(w->a, MAX_OF(json_i64(json_get(s, "minDomains"), 1), 1)));
        json_add(rule, STR("h"), json_bool_new(w->a, !str_is(when, "ScheduleAnyway")));
        json_add(rule, STR("f"), json_bool_new(w->a, !str_is(json_member_text(s, "nodeAffinityPolicy"), "Ignore")));
        json_add(rule, STR("x"), json_bool_new(w->a, str_is(json_member_text(s, "nodeTaintsPolicy"), "Honor")));
        json_push(rules, rule);
    }
    put_json(w, "S", rules, JSON_ARRAY);
}

/* Everything but the labels. */
static void put_body(struct class_text_writer *w, const struct json *spec)
{
    const struct json *affinity = json_get(spec, "affinity");
    struct class_text_names images = { 0 };

    buf_reset(w->out);
    buf_char(w->out, '{');
    put_key(w, "n");
    json_print_str(w->out, w->namespace);
    put_requests(w, spec);
    put_json(w, "s", json_get(spec, "nodeSelector"), JSON_OBJECT);
    put_json(w, "f", json_get(affinity, "nodeAffinity"), JSON_OBJECT);
    put_json(w, "t", json_get(spec, "tolerations"), JSON_ARRAY);
    add_images(w, &images, json_get(spec, "containers"));
    add_images(w, &images, json_get(spec, "initContainers"));
    put_names(w, "i", &images);
    put_ports(w, spec);
    put_claims(w, spec);
    put_needs(w, affinity);
    put_avoids(w, affinity);
    put_likes(w, affinity);
    put_spreads(w, spec);
}

struct label {
    struct str key, value;
};

static int class_text_by_key(const void *x, const void *y)
{
    return str_cmp(((const struct label *)x)->key, ((const struct label *)y)->key);
}

struct labels {
    VEC(struct label) list;
};

static void take_label(struct fit *f, struct labels *ret, struct str key, struct str value)
{
    if (map_get(&f->label_keys, key))
        *vec_push(&f->decode, &ret->list) = (struct label){ key, value };
}

/* The labels that some term looks at; the rest of the text. The pod's own labels are few, those that terms look at may be
 * many: a tenant can name thousands. */
static void put_labels(struct buf *out, struct labels *labels)
{
    const char *before = "{";

    buf_str(out, STR(",\"l\":"));
    if (labels->list.n)
        qsort(labels->list.v, labels->list.n, sizeof(*labels->list.v), class_text_by_key);
    VEC_FOREACH(l, &labels->list) {
        buf_str(out, str_of(before));
        json_print_str(out, l->key);
        buf_char(out, ':');
        json_print_str(out, l->value);
        before = ",";
    }
    buf_str(out, *before == '{' ? STR("{}}") : STR("}}"));
}

size_t class_text(struct sched_model *m, struct buf *out, struct str namespace, const struct json *pod)
{
    struct class_text_writer w = { m, &m->fit->decode, out, namespace, json_find(pod, "metadata", "labels", NULL) };
    struct labels labels = { 0 };
    size_t body_n;

    arena_reset(w.a);
    put_body(&w, json_get(pod, "spec"));
    body_n = out->n;
    JSON_FOREACH(l, w.labels)
        if (json_is(l, JSON_STRING))
            take_label(m->fit, &labels, json_key(l), json_text(l, STR("")));
    put_labels(out, &labels);
    return body_n;
}

void class_text_relabel(struct sched_model *m, struct buf *out, struct str body, struct str lines)
{
    struct labels labels = { 0 };
    struct str line, key;

    arena_reset(&m->fit->decode);
    buf_reset(out);
    buf_str(out, body);
    while (str_split(&lines, '\n', &line))
        if (str_split(&line, '=', &key))
            take_label(m->fit, &labels, key, line);
    put_labels(out, &labels);
}
