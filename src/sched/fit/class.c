/* class.c - interning of pods by what the choice of a node looks at
 *
 * The text of a class is JSON, made from the pod with one spelling for one meaning:
 *
 *     {"n": namespace, "a": [dimension, amount, …], "x": a name got no dimension, "y": too many terms,
 *      "s": nodeSelector, "f": nodeAffinity, "t": tolerations, "i": [image, …], "p": ["T:80:ip", …], "c": [claim, …],
 *      "N": [term, …], "A": [term, …], "L": [{"w": weight, "t": term}, …],
 *      "S": [{"t": term, "k": maxSkew, "d": minDomains, "h": hard, "f": honors affinity, "x": honors taints}, …],
 *      "l": labels}
 *
 * and a class is decoded from its text, never from a pod. Labels come last: to find the class of a pod again when more
 * labels matter, its old text up to there and its labels are enough. A term is {"m": [part, …], "k": topologyKey}, a
 * part {"ns": [namespace, …], "nss": namespaceSelector, "sel": labelSelector}; keys of objects are sorted.
 */
#include "sched/fit/class.h"

#include "base/util.h"
#include "sched/fit/class_text.h"
#include "sched/fit/fit_internal.h"
#include "sched/fit/nodematch.h"

#include <assert.h>

static const char required[] = "requiredDuringSchedulingIgnoredDuringExecution",
                  preferred[] = "preferredDuringSchedulingIgnoredDuringExecution";

/* ---- from text to class ---- */

static void read_requests(struct pod_class *c, const struct json *j)
{
    const struct json *list = json_get(j, "a");

    for (const struct json *d = json_first(list); d && d->next; d = d->next->next) {
        int64_t dim = json_i64(d, 0);

        assert(dim >= 0 && dim < AMOUNT_DIMS);
        c->ask.v[dim] = json_i64(d->next, 0);
        c->ask_dims |= 1U << dim;
    }
    c->is_best_effort = c->ask_dims == 0;
    c->ask.v[DIM_PODS] = 1;
    c->ask_dims |= 1U << DIM_PODS;
    c->has_lost_name = json_bool(json_get(j, "x"), false) || json_bool(json_get(j, "y"), false);
}

static void read_ports(struct pod_class *c, const struct json *list)
{
    JSON_FOREACH(p, list) {
        struct str text = json_text(p, STR("")), protocol, port;
        int64_t number = 0;

        if (!str_split(&text, ':', &protocol) || !str_split(&text, ':', &port) || str_to_i64(port, &number) < 0)
            continue;
        *vec_push(&c->arena, &c->ports) =
            (struct host_port){ .ip = text, .port = (uint16_t)number, .protocol = (uint8_t)protocol.p[0], .uses = 1 };
    }
}

static void read_node_rules(struct sched_model *m, struct pod_class *c, const struct json *j)
{
    struct node_rule *must;

    c->node_selector = json_get(j, "s");
    c->node_affinity = json_get(j, "f");
    must = node_rule_new(&c->arena, c->node_selector, json_get(c->node_affinity, required));
    node_rule_bind(m, must);
    c->must = must;
    JSON_FOREACH(p, json_get(c->node_affinity, preferred)) {
        int64_t weight = json_i64(json_get(p, "weight"), 0);
        struct node_rule *rule = node_rule_term(&c->arena, json_get(p, "preference"));

        node_rule_bind(m, rule);
        if (rule && weight >= 1 && weight <= 100)
            *vec_push(&c->arena, &c->prefers) = (struct node_preference){ rule, (int)weight };
    }
}

static void read_terms(struct sched_model *m, struct pod_class *c, const struct json *j)
{
    JSON_FOREACH(t, json_get(j, "N"))
        *vec_push(&c->arena, &c->need) = term_ref(m, t, TERM_NEED);
    JSON_FOREACH(t, json_get(j, "A"))
        *vec_push(&c->arena, &c->avoid) = term_ref(m, t, TERM_AVOID);
    JSON_FOREACH(l, json_get(j, "L"))
        *vec_push(&c->arena, &c->like) = (struct preference){ term_ref(m, json_get(l, "t"), TERM_LIKE),
                                                              (int)json_i64(json_get(l, "w"), 0) };
    JSON_FOREACH(s, json_get(j, "S"))
        *vec_push(&c->arena, &c->spread) = (struct spread_rule){
            .term = term_ref(m, json_get(s, "t"), TERM_SPREAD),
            .max_skew = json_i64(json_get(s, "k"), 1),
            .min_domains = json_i64(json_get(s, "d"), 1),
            .is_hard = json_bool(json_get(s, "h"), true),
            .honors_affinity = json_bool(json_get(s, "f"), true),
            .honors_taints = json_bool(json_get(s, "x"), false),
        };
}

static struct pod_class *class_new(struct sched_model *m, struct str key, size_t body_n)
{
    struct json_parse_options opt = { .limits = { .max_depth = 4096, .max_bytes = (size_t)1 << 31 } };
    struct pod_class *c = xcalloc(1, sizeof(*c));
    struct fit *f = m->fit;
    struct json *j = NULL;
    int rc;

    c->work = xcalloc(1, sizeof(*c->work));
    c->key = arena_str(&c->arena, key);
    c->body_n = body_n;
    c->id = f->free_ids.n ? f->free_ids.v[--f->free_ids.n] : f->next_id++;
    rc = json_parse(&c->arena, c->key, &opt, &j, NULL);
    assert(rc == 0 && "we printed it");
    c->namespace = json_member_text(j, "n");
    c->labels = json_get(j, "l");
    c->tolerations = json_get(j, "t");
    c->images = json_get(j, "i");
    read_requests(c, j);
    read_ports(c, json_get(j, "p"));
    read_node_rules(m, c, j);
    JSON_FOREACH(i, c->images)
        *vec_push(&c->arena, &c->image_list) = image_ref(f, json_text(i, STR("")));
    JSON_FOREACH(i, json_get(j, "c"))
        *vec_push(&c->arena, &c->claims) = (struct class_claim){
            json_text(i, STR("")),
            arena_fmt(&c->arena, "persistentvolumeclaim \"%.*s\" not found", STR_ARG(json_text(i, STR("")))),
        };
    c->has_device_claims = json_bool(json_get(j, "d"), false);
    read_terms(m, c, j);
    map_put(&f->classes, c->key, c);
    m->tolerant_gen += c->tolerations != NULL;
    terms_class_added(m, c);
    return c;
}

static const struct pod_class *class_intern(struct sched_model *m, struct str key, size_t body_n)
{
    struct pod_class *c = map_get(&m->fit->classes, key);

    if (!c)
        c = class_new(m, key, body_n);
    c->uses++;
    return c;
}

const struct pod_class *class_ref(struct sched_model *m, struct str namespace, const struct json *pod)
{
    size_t body_n = class_text(m, &m->fit->text, namespace, pod);

    return class_intern(m, buf_view(&m->fit->text), body_n);
}

const struct pod_class *class_share(const struct pod_class *c)
{
    ((struct pod_class *)c)->uses++;
    return c;
}

static void class_free(struct sched_model *m, struct pod_class *c)
{
    struct fit *f = m->fit;

    map_remove(&f->classes, c->key);
    m->tolerant_gen += c->tolerations != NULL;
    TALLY_FOREACH(spot, &c->work->spots) /* there should be none */
    terms_count(m, c, f->notes[spot->place - 1], -spot->pods);
    fit_class_gone(m, c);
    terms_class_removed(m, c);
    VEC_FOREACH(i, &c->image_list)
        image_unref(f, *i);
    *vec_push(&f->arena, &f->free_ids) = c->id;
    tallies_done(&c->work->spots);
    free(c->work->matched);
    free(c->work);
    arena_done(&c->arena);
    free(c);
}

void class_unref(struct sched_model *m, const struct pod_class *c)
{
    struct pod_class *own = (struct pod_class *)c;

    if (!c || --own->uses)
        return;
    class_free(m, own);
}

void class_drop_all(struct sched_model *m)
{
    struct pod_class *c;

    do {
        struct map_iter it = map_iter(&m->fit->classes);

        c = map_next(&it);
        if (c)
            class_free(m, c);
    } while (c);
}

/* ---- other labels matter ---- */

static const struct pod_class *class_again(struct sched_model *m, const struct pod_class *old, struct str lines)
{
    class_text_relabel(m, &m->fit->text, str_sub(old->key, 0, old->body_n), lines);
    return class_intern(m, buf_view(&m->fit->text), old->body_n);
}

static void relabel_pod(struct sched_model *m, struct sched_pod *p)
{
    const struct pod_class *old = p->class, *new;

    if (!old)
        return;
    new = class_again(m, old, p->labels);
    if (new != old && p->node) {
        fit_count(m, old, p->node, -1);
        fit_count(m, new, p->node, +1);
    }
    p->class = new;
    class_unref(m, old);
}

static void relabel_role(struct sched_model *m, struct sched_role *r)
{
    const struct pod_class *old = r->class;

    if (!old)
        return;
    r->class = class_again(m, old, r->labels);
    class_unref(m, old);
}

bool class_relabel(struct sched_model *m)
{
    if (!m->fit->must_relabel)
        return false;
    m->fit->must_relabel = false;
    MAP_FOREACH(struct sched_pod *, p, &m->pods)
        relabel_pod(m, p);
    MAP_FOREACH(struct sched_group *, g, &m->groups)
        VEC_FOREACH(r, &g->roles)
            relabel_role(m, *r);
    return true;
}
