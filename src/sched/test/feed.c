/* feed.c - tests of decoding: each kind, what must not change anything, and any order of news */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "api/pod/gate.h"
#include "base/rand.h"
#include "base/util.h"
#include "sched/fit/class.h"
#include "sched/model/feed.h"
#include "sched/fit/fit.h"
#include "sched/queue/share.h"
#include "sched/test/check.h"

static struct arena arena;
static struct sched_model m;

static void start(struct sched_model *model)
{
    struct sched_config config;

    sched_config_default(&config);
    model_init(model, &config, 1);
}

static int setup(void **state)
{
    start(&m);
    return 0;
}

static int teardown(void **state)
{
    model_check(&m);
    model_done(&m);
    arena_done(&arena);
    return 0;
}

static struct json *tree(struct str copy)
{
    struct json *j;
    struct err e;

    for (size_t i = 0; i < copy.n; i++)
        if (copy.p[i] == '\'')
            ((char *)copy.p)[i] = '"';
    if (json_parse(&arena, copy, NULL, &j, &e) < 0)
        fail_msg("%.*s: %s", STR_ARG(copy), e.text);
    return j;
}

/* Parsed, told, and the text destroyed: the model must not look at it again. */
__attribute__((format(printf, 1, 2))) static void put(const char *fmt, ...)
{
    struct str text;
    va_list ap;

    va_start(ap, fmt);
    text = arena_vfmt(&arena, fmt, ap);
    va_end(ap);
    feed_put(&m, tree(text));
    memset((char *)text.p, '#', text.n);
    model_check(&m);
}

static void gone(const char *kind, const char *namespace, const char *name, const char *uid)
{
    feed_gone(&m, str_of(kind), str_of(namespace), str_of(name), str_of(uid));
    model_check(&m);
}

#define NODE  "{'apiVersion':'v1','kind':'Node','metadata':{'name':'%s','resourceVersion':'%d'"
#define GROUP "{'apiVersion':'scheduling.volcano.sh/v1beta1','kind':'PodGroup','metadata':{'namespace':'ns','name':'%s'"
#define QUEUE "{'apiVersion':'scheduling.volcano.sh/v1beta1','kind':'Queue','metadata':{'name':'%s'}"
#define CLASS "{'apiVersion':'scheduling.k8s.io/v1','kind':'PriorityClass','metadata':{'name':'%s'},'value':%d"

/* A pod of ours: name, uid, rev, more metadata, annotations, spec, status. */
static void put_pod(const char *name, const char *uid, int rev, const char *meta, const char *notes, const char *spec,
                    const char *status)
{
    put("{'apiVersion':'v1','kind':'Pod','metadata':{'namespace':'ns','name':'%s','uid':'%s','resourceVersion':'%d'%s,"
        "'annotations':{'scheduling.k8s.io/group-name':'g'%s}},'spec':{'schedulerName':'volcano','containers':"
        "[{'name':'c','resources':{'requests':{'cpu':'1'}}}]%s},'status':{%s}}",
        name, uid, rev, meta, notes, spec, status);
}

static struct sched_pod *pod(const char *uid)
{
    return map_get(&m.pods, str_of(uid));
}

static struct sched_node *node(const char *name)
{
    return model_node(&m, str_of(name));
}

static struct sched_group *group(const char *name)
{
    return model_group(&m, STR("ns"), str_of(name));
}

/* As after a round: nothing is left to look at. */
static void settle(void)
{
    LIST_FOREACH(struct sched_group, g, &m.dirty, in_dirty) {
        list_remove(&g->in_dirty);
        g->is_dirty = false;
    }
    m.shares_changed = m.queues_changed = false;
    model_order(&m);
}

struct marks {
    uint64_t room, shape, version;
};

static struct marks marks(void)
{
    uint64_t version = 0;

    settle();
    MAP_FOREACH(struct sched_node *, n, &m.nodes)
        version += n->version;
    return (struct marks){ m.room_gen, m.node_gen, version };
}

static void assert_untouched(struct marks old)
{
    bool is_dirty = !list_is_empty(&m.dirty), is_changed = m.shares_changed || m.queues_changed || m.is_unordered;
    struct marks new = marks();

    assert_false(is_dirty);
    assert_false(is_changed);
    assert_int_equal(new.room, old.room);
    assert_int_equal(new.shape, old.shape);
    assert_int_equal(new.version, old.version);
}

/* ---- kinds ---- */

static void test_wants(void **state)
{
    static const struct {
        const char *api, *kind;
        bool wants;
    } cases[] = {
        { "v1", "Pod", true },
        { "v1", "Node", true },
        { "v1", "Namespace", true },
        { "v1", "PersistentVolume", true },
        { "v1", "PersistentVolumeClaim", true },
        { "batch.volcano.sh/v1alpha1", "Job", true },
        { "batch/v1", "Job", false },
        { "scheduling.volcano.sh/v1beta1", "PodGroup", true },
        { "scheduling.volcano.sh/v1beta1", "Queue", true },
        { "scheduling.k8s.io/v1", "PriorityClass", true },
        { "policy/v1", "PodDisruptionBudget", true },
        { "topology.volcano.sh/v1alpha1", "HyperNode", true },
        { "v1", "ConfigMap", false },
        { "apps/v1", "Pod", false },
        { "", "", false },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (feed_wants(str_of(cases[i].api), str_of(cases[i].kind)) != cases[i].wants)
            fail_msg("%s %s", cases[i].api, cases[i].kind);
    put("{'apiVersion':'batch/v1','kind':'Job','metadata':{'namespace':'ns','name':'j','uid':'u'}}");
    assert_int_equal(map_count(&m.groups), 0);
}

static void test_node(void **state)
{
    put(NODE ",'labels':{'zone':'a'}},'status':{'allocatable':{'cpu':'4','memory':'8Gi','pods':'110'}}}", "n1", 1);
    assert_int_equal(m.total.v[DIM_CPU], 4000);
    assert_true(node("n1")->takes_pods);
    assert_true(str_is(json_member_text(node("n1")->labels, "zone"), "a"));
    assert_true(m.is_unordered);

    struct marks old = marks();
    put(NODE ",'labels':{'zone':'a'}},'status':{'conditions':[{'type':'Ready','lastHeartbeatTime':'x'}],"
             "'allocatable':{'memory':'8Gi','cpu':'4','pods':'110'}}}",
        "n1", 2);
    assert_untouched(old);
    put(NODE "},'status':{}}", "n1", 1); /* older */
    assert_untouched(old);
    put(NODE ",'labels':{'zone':'a'}},'status':{'images':[{'names':['x']}],"
             "'allocatable':{'memory':'8Gi','cpu':'4','pods':'110'}}}",
        "n1", 3);
    assert_int_equal(m.room_gen, old.room); /* an image makes no room */
    assert_true(node("n1")->version > old.version);

    put(NODE "},'spec':{'unschedulable':true},'status':{'allocatable':{'cpu':'5'}}}", "n1", 4);
    assert_int_equal(m.total.v[DIM_CPU], 5000);
    assert_false(node("n1")->takes_pods);
    assert_true(m.room_gen > old.room && m.node_gen > old.shape && m.shares_changed);
    put(NODE "},'spec':{'taints':[{'key':'k','effect':'PreferNoSchedule'}]},'status':{'allocatable':{'cpu':'5'}}}",
        "n1", 5);
    assert_true(node("n1")->takes_pods);
    put(NODE "},'spec':{'taints':[{'key':'k','effect':'NoExecute'}]},'status':{'allocatable':{'cpu':'5'}}}", "n1", 6);
    assert_false(node("n1")->takes_pods);
    gone("Node", "", "n1", "");
    assert_null(node("n1"));
    assert_int_equal(m.total.v[DIM_CPU], 0);
}

static void test_pod_states(void **state)
{
    static const struct {
        const char *phase;
        bool is_deleting, has_node;
        enum pod_state state;
        bool on_node;
    } cases[] = {
        { "Pending", false, false, POD_PENDING, false },   { "", false, false, POD_PENDING, false },
        { "Pending", false, true, POD_BOUND, true },       { "Running", false, true, POD_RUNNING, true },
        { "Running", true, true, POD_GOING, true },        { "Pending", true, false, POD_GOING, false },
        { "Pending", true, true, POD_GOING, true },        { "Succeeded", false, true, POD_SUCCEEDED, false },
        { "Succeeded", true, true, POD_SUCCEEDED, false }, { "Failed", true, false, POD_FAILED, false },
        { "Unknown", false, true, POD_UNKNOWN, true },     { "Whatever", true, false, POD_UNKNOWN, false },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct str status = arena_fmt(&arena, "'phase':'%s'", cases[i].phase);

        put_pod("p", "u", 0, cases[i].is_deleting ? ",'deletionTimestamp':'2026-01-01T00:00:00Z'" : "", "",
                cases[i].has_node ? ",'nodeName':'n1'" : "", status.p);
        if (pod("u")->state != cases[i].state || !pod("u")->node == cases[i].on_node ||
            pod("u")->told != pod("u")->state)
            fail_msg("case %zu", i);
        gone("Pod", "ns", "p", "u");
        assert_int_equal(map_count(&m.nodes) + map_count(&m.groups) + map_count(&m.pods), 0);
    }
}

static void test_pod_traits(void **state)
{
    struct sched_pod *p;

    put(CLASS ",'preemptionPolicy':'Never'}", "high", 900);
    put_pod("job-worker-12", "u", 1,
            ",'creationTimestamp':'2026-01-01T00:00:01Z','labels':{'volcano.sh/task-spec':'worker','b':'2','a':'1'}",
            "", "", "'startTime':'2026-01-01T00:00:02Z'");
    p = pod("u");
    assert_true(str_is(p->namespace, "ns") && str_is(p->name, "job-worker-12") && str_is(p->key, "ns/job-worker-12"));
    assert_true(str_is(p->role->name, "worker"));
    assert_int_equal(p->index, 12);
    assert_int_equal(p->started_ms - p->created_ms, 1000);
    assert_int_equal(p->priority, 1);
    assert_true(p->is_preemptable && !p->is_critical && !p->is_gated && !p->never_preempts);
    assert_true(str_is(p->labels, "a=1\nb=2\nvolcano.sh/task-spec=worker\n"));
    assert_int_equal(p->class->ask.v[DIM_CPU], 1000);
    assert_int_equal(p->class->ask.v[DIM_PODS], 1);
    assert_int_equal(p->written, 0);

    put_pod(
        "job-worker-12", "u", 2, ",'labels':{'volcano.sh/task-spec':'worker','b':'3','volcano.sh/cooldown-time':'90s'}",
        ",'volcano.sh/task-spec':'boss','volcano.sh/task-priority':'-7','volcano.sh/preemptable':'maybe'",
        ",'priority':5,'priorityClassName':'high','schedulingGates':[{'name':'x'}]",
        "'nominatedNodeName':'n9','conditions':[{'type':'PodScheduled','status':'False','reason':'r','message':'m'}]");
    assert_ptr_equal(pod("u"), p);
    assert_true(str_is(p->role->name, "boss"));
    assert_int_equal(p->priority, -7);
    assert_true(!p->is_preemptable && p->is_gated);
    assert_int_equal(p->group->counts.n_gated, 1);
    assert_int_equal(p->cooldown_ms, 90000);
    assert_true(p->written == hash_of_condition(STR("False"), STR("r"), STR("m")));
    assert_ptr_equal(p->nominated, node("n9"));
    assert_true(str_is(p->labels, "b=3\nvolcano.sh/cooldown-time=90s\nvolcano.sh/task-spec=worker\n"));
    put_pod("job-worker-12", "u", 3, "", "", ",'priorityClassName':'system-node-critical','priority':5", "");
    assert_true(p->is_critical);
    assert_int_equal(p->priority, 5);
    assert_null(node("n9"));
}

/* No number in the pod: nobody resolved its PriorityClass, so we do. */
static void test_pod_priority_class(void **state)
{
    put_pod("p", "u", 1, "", "", ",'priorityClassName':'high'", "");
    assert_int_equal(pod("u")->priority, 1);
    settle();
    put(CLASS ",'preemptionPolicy':'Never'}", "high", 900);
    assert_int_equal(pod("u")->priority, 900);
    assert_true(pod("u")->never_preempts);
    assert_true(group("g")->is_dirty);
    gone("PriorityClass", "", "high", "");
    assert_int_equal(pod("u")->priority, 1);
    assert_false(pod("u")->never_preempts);
}

static void test_foreign_pods(void **state)
{
    static const char foreign[] =
        "{'apiVersion':'v1','kind':'Pod','metadata':{'namespace':'ns','name':'f','uid':'f'%s},'spec':{'schedulerName':"
        "'%s'%s,'containers':[{'resources':{'requests':{'cpu':'2'}}}]},'status':{'phase':'%s'}}";
    static const char grouped[] = ",'annotations':{'scheduling.k8s.io/group-name':'g'}";

    put(foreign, "", "default-scheduler", "", "Pending");
    assert_null(pod("f")); /* somebody else's, and it takes nothing */
    put(foreign, grouped, "default-scheduler", ",'nodeName':'n1'", "Running");
    assert_int_equal(node("n1")->used.v[DIM_CPU], 2000);
    assert_int_equal(node("n1")->moving.v[DIM_CPU], 0);
    assert_null(pod("f")->group);
    put(foreign, "", "volcano", "", "Pending"); /* no group yet */
    assert_null(pod("f"));
    put(foreign, grouped, "volcano", "", "Pending");
    assert_ptr_equal(pod("f")->group, group("g"));
    put(foreign, "", "volcano", ",'nodeName':'n1'", "Running");
    assert_null(pod("f")->group);
    assert_null(group("g"));
    put(foreign, "", "volcano", ",'nodeName':'n1'", "Succeeded");
    assert_null(pod("f"));
}

static void test_pod_news(void **state)
{
    struct marks old;

    put_pod("p", "u", 5, "", "", "", "'phase':'Pending'");
    put_pod("p", "u", 4, "", "", ",'nodeName':'n1'", "'phase':'Running'"); /* older */
    assert_int_equal(pod("u")->state, POD_PENDING);
    old = marks();
    put_pod("p", "u", 6, "", "", "", "'phase':'Pending','qosClass':'Burstable'");
    assert_untouched(old);
    assert_int_equal(pod("u")->rev, 6);
    put_pod("p", "v", 7, "", "", "", ""); /* another one of that name */
    assert_null(pod("u"));
    assert_non_null(pod("v"));
    put_pod("p", "u", 6, "", "", "", "");
    assert_null(pod("u"));
    gone("Pod", "ns", "p", "u");
    assert_non_null(pod("v"));
    gone("Pod", "ns", "p", "");
    assert_null(pod("v"));
}

static void test_our_decisions_hold(void **state)
{
    struct sched_pod *p;

    put(NODE "},'status':{'allocatable':{'cpu':'4'}}}", "n1", 1);
    put_pod("p", "u", 1, "", "", "", "'phase':'Pending'");
    p = pod("u");
    model_set_pod(&m, p, POD_BINDING, node("n1"));
    put_pod("p", "u", 2, "", "", "", "'phase':'Pending','nominatedNodeName':'n2'");
    assert_int_equal(p->state, POD_BINDING);
    assert_ptr_equal(p->node, node("n1"));
    assert_int_equal(p->told, POD_PENDING);
    put_pod("p", "u", 3, "", "", ",'nodeName':'n2'", "'phase':'Pending'"); /* somebody was faster */
    assert_int_equal(p->state, POD_BOUND);
    assert_ptr_equal(p->node, node("n2"));
    p->is_victim = true;
    model_set_pod(&m, p, POD_GOING, p->node);
    put_pod("p", "u", 4, "", "", ",'nodeName':'n2'", "'phase':'Running'");
    assert_int_equal(p->state, POD_GOING);
    assert_int_equal(p->told, POD_RUNNING);
    put_pod("p", "u", 5, "", "", ",'nodeName':'n2'", "'phase':'Failed'");
    assert_int_equal(p->state, POD_FAILED);
    assert_null(node("n2"));
}

static void test_resize(void **state)
{
    put_pod("p", "u", 1, "", "", ",'nodeName':'n1'", "'phase':'Running'");
    assert_int_equal(node("n1")->used.v[DIM_CPU], 1000);
    put_pod("p", "u", 2, "", "", ",'nodeName':'n1','overhead':{'cpu':'500m'}", "'phase':'Running'");
    assert_int_equal(node("n1")->used.v[DIM_CPU], 1500);
    assert_int_equal(group("g")->counts.allocated.v[DIM_CPU], 1500);
}

static void test_group(void **state)
{
    struct sched_group *g;
    struct marks old;

    put(GROUP
        ",'uid':'u','creationTimestamp':'2026-01-01T00:00:00Z','annotations':{'sla-waiting-time':'1h',"
        "'pumice.dev/runtime':'10m','volcano.sh/preemptable':'false'},'ownerReferences':[{'apiVersion':"
        "'batch.volcano.sh/v1alpha1','kind':'Job','name':'j'}]},'spec':{'minMember':3,'minTaskMember':{'b':2,'a':4},"
        "'queue':'q','priorityClassName':'high','minResources':{'cpu':'6','count/pods':'3','requests.cpu':'6'},"
        "'networkTopology':{'mode':'hard'},'subGroupPolicy':[{'name':'s'}]},'status':{'phase':'Inqueue'}}",
        "g");
    g = group("g");
    assert_true(g->podgroup.exists && g->status.has_phase && g->status.phase == GROUP_INQUEUE);
    assert_true(str_is(g->uid, "u") && str_is(g->spec.owner_job, "j") && str_is(g->queue->name, "q"));
    assert_int_equal(g->spec.min_member, 3);
    assert_int_equal(group_min(g), 6);
    assert_true(str_is(g->roles.v[0]->name, "a") && g->roles.v[0]->min == 4);
    assert_true(g->spec.has_min_resources && g->spec.min_resources.v[DIM_CPU] == 6000);
    assert_int_equal(m.dims.n, DIM_OTHERS);
    assert_int_equal(g->spec.sla_ms, 3600000);
    assert_int_equal(g->spec.runtime_ms, 600000);
    assert_false(g->spec.is_preemptable);
    assert_non_null(g->spec.topology);
    assert_non_null(g->spec.subgroups);
    assert_int_equal(g->spec.priority, 0);

    put(CLASS "}", "low", 3); /* says nothing about it */
    put(CLASS ",'globalDefault':true}", "usual", 40);
    assert_int_equal(g->spec.priority, 40);
    put(CLASS "}", "high", 900);
    assert_int_equal(g->spec.priority, 900);
    old = marks();
    put(CLASS "}", "high", 900);
    assert_untouched(old);
    gone("PriorityClass", "", "high", "");
    assert_int_equal(g->spec.priority, 40);
    assert_true(g->is_dirty);

    put(GROUP ",'uid':'u'},'spec':{'minTaskMember':{'b':1}}}", "g");
    assert_true(str_is(g->queue->name, "default") && g->spec.min_member == 0 && group_min(g) == 1 &&
                !g->status.has_phase);
    assert_true(g->spec.is_preemptable && !g->spec.topology && !g->spec.has_min_resources &&
                str_empty(g->spec.owner_job));
    gone("PodGroup", "ns", "g", "other");
    assert_non_null(group("g"));
    gone("PodGroup", "ns", "g", "u");
    assert_null(group("g"));
}

static void test_group_status(void **state)
{
    static const char told[] = GROUP ",'uid':'u','resourceVersion':'%d'},'spec':{'minMember':1},'status':{'phase':'%s',"
                                     "'running':%d,'conditions':[{'type':'Scheduled','lastTransitionTime':'%d'}]}}";
    struct marks old;

    put(told, "g", 1, "Pending", 0, 1);
    assert_true(group("g")->is_dirty);
    old = marks();
    put(told, "g", 2, "Pending", 0, 2); /* only a time changed */
    assert_untouched(old);
    put(told, "g", 3, "Pending", 1, 2);
    assert_true(group("g")->is_dirty);
    settle();
    /* The echo of what we said. */
    group("g")->status.phase = GROUP_RUNNING;
    group("g")->status.written = hash_of_status(tree(arena_str(
        &arena, STR("{'running':2,'phase':'Running','conditions':[{'lastTransitionTime':'7','type':'Scheduled'}]}"))));
    old = marks();
    put(told, "g", 4, "Running", 2, 3);
    assert_untouched(old);
}

/* What another scheduler has left says the same in other words: it is not written again. */
static void test_status_of_another(void **state)
{
    static const struct {
        const char *ours, *theirs;
        bool is_same;
    } rows[] = {
        { "{'phase':'Running','running':2,'succeeded':0,'failed':0,'conditions':[{'type':'Scheduled','status':'True',"
          "'reason':'r','message':'','transitionID':'1','lastTransitionTime':'1'}]}",
          "{'phase':'Running','running':2,'conditions':[{'lastTransitionTime':'2','reason':'r','status':'True',"
          "'transitionID':'2','type':'Scheduled'}]}",
          true },
        { "{'cpu':'1','pods':'3'}", "{'cpu':'1','memory':'0','pods':'3'}", true },
        { "{'conditions':[]}", "{}", true },
        { "{'running':0}", "{'running':1}", false },
        { "{'running':0}", "{'running':10}", false },
        { "{'phase':'Running','conditions':[{'message':'x'}]}", "{'phase':'Running','conditions':[{}]}", false },
        { "{'conditions':[{'type':'A'},{}]}", "{'conditions':[{'type':'A'}]}", false },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        uint64_t ours = hash_of_status(tree(arena_str(&arena, str_of(rows[i].ours))));
        uint64_t theirs = hash_of_status(tree(arena_str(&arena, str_of(rows[i].theirs))));

        assert_true(ours && theirs);
        assert_int_equal(ours == theirs, rows[i].is_same);
    }
}

static void test_group_reborn(void **state)
{
    struct amounts some = { { 1, 2, 3 } };

    put(GROUP ",'uid':'u','resourceVersion':'9'},'spec':{'minMember':1}}", "g");
    model_set_demand(&m, group("g"), &some);
    group("g")->since.ready_ms = 77;
    put(GROUP ",'uid':'v','resourceVersion':'10'},'spec':{'minMember':1}}", "g");
    assert_true(str_is(group("g")->uid, "v"));
    assert_int_equal(group("g")->since.ready_ms, 0);
    assert_int_equal(m.root->demand.v[0], 0);
    put(GROUP ",'uid':'u','resourceVersion':'9'},'spec':{'minMember':2}}", "g");
    assert_int_equal(group("g")->spec.min_member, 1);
}

#define JOB                                                                                                            \
    "{'apiVersion':'batch.volcano.sh/v1alpha1','kind':'Job','metadata':{'namespace':'ns','name':'j','uid':'u',"        \
    "'resourceVersion':'%d','annotations':{'pumice.dev/"                                                               \
    "runtime':'5m'}},'spec':{'minAvailable':%d,'queue':'q','tasks':["

static void test_job(void **state)
{
    static const char template[] = "'template':{'metadata':{'labels':{'x':'y'}},'spec':{'priorityClassName':'high',"
                                   "'containers':[{'resources':{'requests':{'cpu':'2','x.com/x':1}}}]}}";
    struct sched_role *r;
    struct sched_group *g;
    struct marks old;

    put(NODE "},'status':{'allocatable':{'cpu':'4','x.com/x':7}}}", "n1", 1);
    put(JOB "{'name':'w','replicas':5,%s},{'replicas':1}]}}", 1, 3, template);
    g = group("j-u");
    assert_true(!g->podgroup.exists && g->job.exists && g->spec.job_min == 3 && group_min(g) == 3);
    assert_true(str_is(g->spec.owner_job, "j") && str_is(g->queue->name, "q"));
    assert_int_equal(g->spec.runtime_ms, 300000);
    r = group_role(g, STR("w"));
    assert_int_equal(r->replicas, 5);
    assert_int_equal(r->class->ask.v[DIM_CPU], 2000);
    assert_int_equal(r->priority, 1);
    assert_true(str_starts(r->labels, STR("volcano.sh/job-name=j\nvolcano.sh/job-namespace=ns\n")));
    assert_true(str_ends(r->labels, STR("\nx=y\n")));
    assert_non_null(group_role(g, STR("default"))->class);
    assert_int_equal(node("n1")->total.v[dim_find(&m.dims, STR("x.com/x"))], 7);
    put(CLASS "}", "high", 900);
    assert_int_equal(r->priority, 900);

    old = marks();
    put(JOB "{'name':'w','replicas':5,%s},{'replicas':1}]},'status':{'running':3}}", 2, 3, template);
    assert_untouched(old);
    put(GROUP ",'uid':'p'},'spec':{'minMember':3,'minTaskMember':{'w':5,'default':1},'queue':'other'}}", "j-u");
    assert_true(str_is(g->queue->name, "other"));
    assert_int_equal(group_min(g), 3); /* minAvailable 3 of 6: it means to run with less */
    put(JOB "{'name':'w','replicas':5,%s}]}}", 3, 4, template);
    assert_null(group_role(g, STR("default"))->class);
    assert_int_equal(group_min(g), 4);
    gone("PodGroup", "ns", "j-u", "p");
    assert_true(str_is(g->queue->name, "q"));
    gone("Job", "ns", "j", "other");
    assert_non_null(group("j-u"));
    gone("Job", "ns", "j", "u");
    assert_null(group("j-u"));
}

/* A pod of a task and its template are the same to the choice of a node, as far as labels go that all its pods have. */
static void test_template_class(void **state)
{
    static const char spec[] =
        "'affinity':{'podAntiAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':[{'topologyKey':'zone',"
        "'labelSelector':{'matchLabels':{'volcano.sh/task-spec':'w'}}}]}},'containers':[{'name':'c'}]";

    put(JOB "{'name':'w','replicas':1,'template':{'spec':{%s}}}]}}", 1, 1, spec);
    put("{'apiVersion':'v1','kind':'Pod','metadata':{'namespace':'ns','name':'j-w-0','uid':'p','labels':{"
        "'volcano.sh/task-spec':'w','volcano.sh/task-index':'0'},'annotations':{'scheduling.k8s.io/group-name':'j-u'}},"
        "'spec':{'schedulerName':'volcano',%s}}",
        spec);
    class_relabel(&m);
    assert_ptr_equal(pod("p")->role, group_role(group("j-u"), STR("w")));
    assert_ptr_equal(pod("p")->class, pod("p")->role->class);
}

static void test_queue(void **state)
{
    struct sched_queue *q;
    struct marks old;

    put(QUEUE
        ",'spec':{'weight':4,'priority':7,'reclaimable':false,'dequeueStrategy':'fifo','parent':'top','capability':"
        "{'cpu':'8'},'guarantee':{'resource':{'cpu':'2'}},'deserved':{'cpu':'3'},'affinity':{'nodeGroupAffinity':{}}},"
        "'status':{'state':'Closed','allocated':{'cpu':'1'}}}",
        "q");
    q = model_queue(&m, STR("q"));
    assert_true(q->exists && !q->is_open && q->is_fifo && !q->is_reclaimable && q->has_deserved && q->affinity);
    assert_true(q->weight == 4 && q->priority == 7 && str_is(q->parent_name, "top"));
    assert_int_equal(q->capability.v[DIM_CPU], 8000);
    assert_int_equal(q->capability.v[DIM_MEMORY], AMOUNT_UNLIMITED);
    assert_int_equal(q->guarantee.v[DIM_CPU], 2000);
    assert_int_equal(q->deserved.v[DIM_CPU], 3000);
    assert_int_equal(q->deserved.v[AMOUNT_DIMS - 1], -1);
    assert_true(q->written == hash_of_status(tree(arena_str(&arena, STR("{'cpu':'1'}")))));
    assert_true(m.queues_changed);

    put(QUEUE "}", "q2");
    put(GROUP ",'uid':'u'},'spec':{'queue':'q2'}}", "g");
    old = marks();
    model_queue(&m, STR("q2"))->written = hash_of_status(tree(arena_str(&arena, STR("{'cpu':'1'}"))));
    put(QUEUE ",'status':{'allocated':{'cpu':'1'}}}", "q2"); /* our own writing */
    assert_untouched(old);
    put(QUEUE ",'status':{'allocated':{'cpu':'2'}}}", "q2"); /* somebody else's, or an old one of ours that came late */
    assert_true(m.shares_changed);
    put(QUEUE ",'spec':{'weight':0},'status':{'state':'Open'}}", "q2");
    assert_true(group("g")->is_dirty && m.shares_changed && !m.queues_changed);
    q = model_queue(&m, STR("q2"));
    assert_true(q->is_open && !q->is_fifo && q->is_reclaimable && !q->has_deserved && q->weight == 1);
    gone("Queue", "", "q2", "");
    assert_ptr_equal(model_queue(&m, STR("q2")), q); /* a group names it */
    assert_false(q->exists);
    gone("Queue", "", "q", "");
    assert_null(model_queue(&m, STR("q")));
    gone("Queue", "", "root", "");
    assert_non_null(m.root);
}

static void test_budget(void **state)
{
    static const struct {
        const char *spec;
        int64_t min, max;
        bool is_percent, has_selector;
    } cases[] = {
        { "'minAvailable':2,'selector':{'matchLabels':{'a':'b'}}", 2, -1, false, true },
        { "'maxUnavailable':'25%','selector':{}", -1, 25, true, true },
        { "'minAvailable':'50%'", 50, -1, true, false },
        { "'minAvailable':'x','selector':{'matchExpressions':[{'key':'a','operator':'Sometimes'}]}", -1, -1, false,
          false },
    };
    struct sched_budget *b;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        put("{'apiVersion':'policy/"
            "v1','kind':'PodDisruptionBudget','metadata':{'namespace':'ns','name':'b'},'spec':{%s}}",
            cases[i].spec);
        b = map_get(&m.budgets, STR("ns/b"));
        if (b->min_available != cases[i].min || b->max_unavailable != cases[i].max ||
            b->is_percent != cases[i].is_percent || !b->selector == cases[i].has_selector || b->has_status)
            fail_msg("case %zu", i);
    }
    b->taken = 3;
    put("{'apiVersion':'policy/v1','kind':'PodDisruptionBudget','metadata':{'namespace':'ns','name':'b'},'spec':{},"
        "'status':{'disruptionsAllowed':4}}");
    assert_true(b->has_status && b->allowed == 4 && b->taken == 0);
    gone("PodDisruptionBudget", "ns", "b", "");
    assert_int_equal(map_count(&m.budgets), 0);
}

static void test_namespace(void **state)
{
    struct sched_namespace *n;

    put("{'apiVersion':'v1','kind':'Namespace','metadata':{'name':'ns','labels':{'a':'b'},'annotations':{"
        "'scheduling.volcano.sh/queue-name':'q'}}}");
    n = map_get(&m.namespaces, STR("ns"));
    assert_true(str_is(n->queue, "q") && str_is(json_member_text(n->labels, "a"), "b"));
    put("{'apiVersion':'v1','kind':'Namespace','metadata':{'name':'ns','labels':[]}}");
    n = map_get(&m.namespaces, STR("ns"));
    assert_true(str_empty(n->queue) && !n->labels);
    put(GROUP ",'uid':'u'},'spec':{'queue':'default'}}", "g"); /* admission's business, not ours */
    assert_true(str_is(group("g")->queue->name, "default"));
    gone("Namespace", "", "ns", "");
    assert_int_equal(map_count(&m.namespaces), 0);
}

static void test_pod_is_small(void **state)
{
    /* 320: labels, names and uid of a pod as the job controller makes it. */
    assert_true(sizeof(struct sched_pod) + 320 < 600);
}

/* ---- any order ---- */

struct object {
    char kind[24], namespace[8], name[24], uid[32];
    struct str text; /* what was told last; empty: it is gone */
};

enum {
    NODES = 3,
    PODS = 8,
    GROUPS = 3,
    QUEUES = 4,
    JOBS = 2,
    CLASSES = 2,
    OBJECTS = NODES + PODS + GROUPS + QUEUES + JOBS + CLASSES
};

static struct object objects[OBJECTS];

static const char *pick(struct rand *r, const char *const *list, size_t n)
{
    return list[rand_below(r, n)];
}
#define PICK(r, ...) pick(r, (const char *const[]){ __VA_ARGS__ }, ARRAY_LEN(((const char *const[]){ __VA_ARGS__ })))

static struct str random_node(struct rand *r, const char *name, int rev)
{
    return arena_fmt(
        &arena, NODE ",'labels':{'zone':'%s'}},'spec':{%s},'status':{'allocatable':{'cpu':%s,'x.com/x':'%s'}}}", name,
        rev, PICK(r, "a", "b"), PICK(r, "", "'unschedulable':true", "'taints':[{'effect':'NoSchedule'}]"),
        PICK(r, "4", "8", "null"), PICK(r, "1", "2"));
}

static struct str random_pod(struct rand *r, const char *name, const char *uid, int rev)
{
    return arena_fmt(
        &arena,
        "{'apiVersion':'v1','kind':'Pod','metadata':{'namespace':'ns','name':'%s','uid':'%s','resourceVersion':'%d',"
        "'labels':{'app':'%s'},'annotations':{'scheduling.k8s.io/group-name':'%s','volcano.sh/task-spec':'%s'%s}%s},"
        "'spec':{'schedulerName':'%s'%s%s%s,'containers':[{'ports':[%s],'resources':{'requests':{%s}}}]%s},"
        "'status':{'phase':'%s'%s}}",
        name, uid, rev, PICK(r, "x", "y"), PICK(r, "g0", "g1", "j0-uj0", "j1-uj1", ""), PICK(r, "a", "b"),
        PICK(r, "", "", ",'" QUEUE_GATE "':'true'"), PICK(r, "", "", ",'deletionTimestamp':'x'"),
        PICK(r, "volcano", "volcano", "volcano", "else"),
        PICK(r, "", ",'nodeName':'n0'", ",'nodeName':'n1'", ",'nodeName':'n2'"),
        PICK(r, "", "", ",'schedulingGates':[{'name':'z'}]", ",'schedulingGates':[{'name':'" QUEUE_GATE "'}]"),
        PICK(r, "", ",'priorityClassName':'c0'", ",'priority':3"),
        PICK(r, "", "", "{'hostPort':80}", "{'hostPort':80,'hostIP':'1.2.3.4'}"),
        PICK(r, "", "'cpu':1", "'cpu':2,'memory':'1Gi'", "'x.com/x':1", "'y.com/y':1"),
        PICK(r, "", "",
             ",'affinity':{'podAntiAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':[{'topologyKey':"
             "'zone','labelSelector':{'matchLabels':{'app':'x'}}}]}}"),
        PICK(r, "Pending", "Running", "Succeeded", "Failed", "Odd", ""), PICK(r, "", "", ",'nominatedNodeName':'n2'"));
}

static struct str random_group(struct rand *r, const char *name, int rev)
{
    return arena_fmt(
        &arena,
        GROUP ",'uid':'%s','resourceVersion':'%d'%s},'spec':{'minMember':%s,'minTaskMember':{%s},'queue':'%s',"
              "'priorityClassName':'%s','minResources':%s},'status':{'phase':'%s'}}",
        name, name, rev, PICK(r, "", ",'annotations':{'pumice.dev/runtime':'1m'}"), PICK(r, "1", "3", "'x'"),
        PICK(r, "", "'a':1", "'a':2,'b':2"), PICK(r, "q0", "q1", "q2", "q3", "none", ""), PICK(r, "c0", "c1", "no"),
        PICK(r, "null", "{'cpu':3,'z.com/z':1}"), PICK(r, "Pending", "Inqueue", "Running", "nonsense"));
}

static struct str random_queue(struct rand *r, const char *name, int rev)
{
    return arena_fmt(
        &arena,
        "{'apiVersion':'scheduling.volcano.sh/v1beta1','kind':'Queue','metadata':{'name':'%s',"
        "'resourceVersion':'%d'},'spec':{'parent':'%s','weight':%s,'capability':{%s}},'status':{'state':'%s'}}",
        name, rev, PICK(r, "", "root", "q0", "q1", "q2", "gone"), PICK(r, "1", "9", "null"),
        PICK(r, "", "'cpu':3", "'z.com/z':4"), PICK(r, "Open", "Closed", ""));
}

static struct str random_job(struct rand *r, const char *name, const char *uid, int rev)
{
    return arena_fmt(
        &arena,
        "{'apiVersion':'batch.volcano.sh/v1alpha1','kind':'Job','metadata':{'namespace':'ns','name':'%s',"
        "'uid':'%s','resourceVersion':'%d'},'spec':{'minAvailable':%s,'queue':'%s','tasks':[%s]}}",
        name, uid, rev, PICK(r, "1", "2"), PICK(r, "q0", "q1", ""),
        PICK(
            r, "", "{'name':'a','replicas':2,'template':{'spec':{'priorityClassName':'c1'}}}",
            "{'name':'b','replicas':1,'template':{'spec':{'containers':[{'resources':{'requests':{'v.com/v':1}}}]}}}"));
}

static struct str random_object(struct rand *r, const struct object *o, int rev)
{
    switch (o->kind[0]) {
    case 'N':
        return random_node(r, o->name, rev);
    case 'Q':
        return random_queue(r, o->name, rev);
    case 'J':
        return random_job(r, o->name, o->uid, rev);
    case 'P':
        if (strcmp(o->kind, "Pod") == 0)
            return random_pod(r, o->name, o->uid, rev);
        if (strcmp(o->kind, "PodGroup") == 0)
            return random_group(r, o->name, rev);
        return arena_fmt(&arena, CLASS ",'globalDefault':%s}", o->name, (int)rand_below(r, 5),
                         PICK(r, "true", "false"));
    }
    return STR_NULL;
}

static void name_objects(void)
{
    static const struct {
        const char *kind, *prefix;
        int n;
        bool has_namespace;
    } all[] = {
        { "Node", "n", NODES, false },   { "Pod", "p", PODS, true }, { "PodGroup", "g", GROUPS, true },
        { "Queue", "q", QUEUES, false }, { "Job", "j", JOBS, true }, { "PriorityClass", "c", CLASSES, false },
    };
    size_t at = 0;

    for (size_t k = 0; k < ARRAY_LEN(all); k++)
        for (int i = 0; i < all[k].n; i++, at++) {
            struct object *o = &objects[at];

            *o = (struct object){ 0 };
            (void)snprintf(o->kind, sizeof(o->kind), "%s", all[k].kind);
            (void)snprintf(o->namespace, sizeof(o->namespace), "%s", all[k].has_namespace ? "ns" : "");
            (void)snprintf(o->name, sizeof(o->name), "%s%d", all[k].prefix, i);
            (void)snprintf(o->uid, sizeof(o->uid), "u%s", o->name);
            if (all[k].kind[3] == 'G')
                (void)snprintf(o->uid, sizeof(o->uid), "%s", o->name);
        }
}

/* ---- the state as text, without what follows from the order of telling ---- */

static int by_name(const void *x, const void *y)
{
    return str_cmp(**(struct str *const *)x, **(struct str *const *)y);
}

/* Values of a map whose first member is their name, by name. */
static void **sorted(const struct map *map, size_t name_offset, size_t *ret_n)
{
    struct str **keys = arena_array(&arena, struct str *, map_count(map) + 1);
    void **values = arena_array(&arena, void *, map_count(map) + 1);
    size_t n = 0;

    MAP_FOREACH(char *, v, map)
        keys[n++] = (struct str *)(v + name_offset);
    qsort(keys, n, sizeof(*keys), by_name);
    for (size_t i = 0; i < n; i++)
        values[i] = (char *)keys[i] - name_offset;
    *ret_n = n;
    return values;
}

static void print_amounts(struct buf *out, const struct sched_model *model, const char *what, const struct amounts *v)
{
    autoarena a = { 0 };

    buf_fmt(out, " %s", what);
    json_print(out, amounts_to_json(&a, &model->dims, v));
}

static void print_node(struct buf *out, const struct sched_model *model, const struct sched_node *n)
{
    buf_fmt(out, "node %.*s %d %d %d", STR_ARG(n->name), n->exists, n->exists && n->takes_pods, (int)n->n_nominated);
    print_amounts(out, model, "total", &n->total);
    print_amounts(out, model, "used", &n->used);
    print_amounts(out, model, "going", &n->going);
    print_amounts(out, model, "moving", &n->moving);
    VEC_FOREACH(p, &n->ports)
        buf_fmt(out, " %.*s:%d*%d", STR_ARG(p->ip), p->port, p->uses);
    buf_char(out, '\n');
}

static void print_pod(struct buf *out, const struct sched_pod *p)
{
    buf_fmt(out, "pod %.*s %d %d %.*s %.*s %.*s %d %d %.*s\n", STR_ARG(p->uid), (int)p->state, (int)p->told,
            STR_ARG(p->node ? p->node->name : STR_NULL), STR_ARG(p->group ? p->group->key : STR_NULL),
            STR_ARG(p->role ? p->role->name : STR_NULL), (int)p->priority, p->is_gated, STR_ARG(p->labels));
}

static void print_group(struct buf *out, const struct sched_model *model, const struct sched_group *g)
{
    buf_fmt(out, "group %.*s %d %d %.*s %lld %d %d %lld %.*s %lld", STR_ARG(g->key), g->podgroup.exists, g->job.exists,
            STR_ARG(g->queue->name), (long long)group_min(g), (int)g->spec.priority,
            g->status.has_phase ? (int)g->status.phase : -1, (long long)g->spec.runtime_ms, STR_ARG(g->spec.owner_job),
            (long long)group_live(g));
    print_amounts(out, model, "min", &g->spec.min_resources);
    print_amounts(out, model, "pending", &g->counts.pending);
    print_amounts(out, model, "allocated", &g->counts.allocated);
    print_amounts(out, model, "going", &g->counts.going);
    VEC_FOREACH(p, &g->roles) {
        const struct sched_role *r = *p;
        uint32_t n = 0;

        for (int i = 0; i < POD_STATE_MAX; i++)
            n += r->n[i];
        if (n || r->told_min || r->class) /* others were named once and stay */
            buf_fmt(out, " %.*s:%lld,%u,%lld,%d", STR_ARG(r->name), (long long)r->min, n, (long long)r->replicas,
                    r->class ? (int)r->priority : 0);
    }
    buf_char(out, '\n');
}

static void print_queue(struct buf *out, const struct sched_model *model, const struct sched_queue *q)
{
    struct amounts capability = q->capability;

    for (int d = 0; d < AMOUNT_DIMS; d++)
        capability.v[d] = capability.v[d] == AMOUNT_UNLIMITED ? 0 : capability.v[d];
    buf_fmt(out, "queue %.*s %d %d %.*s %lld %d %u", STR_ARG(q->name), q->exists, q->is_open,
            STR_ARG(q->parent ? q->parent->name : STR_NULL), (long long)q->weight, q->has_cycle, q->n_groups);
    print_amounts(out, model, "capability", &capability);
    print_amounts(out, model, "allocated", &q->allocated);
    print_amounts(out, model, "going", &q->going);
    buf_char(out, '\n');
}

static void print_model(struct buf *out, struct sched_model *model)
{
    static const char *const names[] = { "v.com/v", "x.com/x", "y.com/y", "z.com/z" };
    void **list;
    size_t n;

    for (size_t i = 0; i < ARRAY_LEN(names); i++) /* a name once heard stays known */
        (void)dim_of(&model->dims, str_of(names[i]));
    model_sync_dims(model);
    share_link(model);
    model_order(model);
    print_amounts(out, model, "total", &model->total);
    print_amounts(out, model, "used", &model->used);
    buf_fmt(out, " default %d\n", (int)model->default_priority);
    list = sorted(&model->nodes, offsetof(struct sched_node, name), &n);
    for (size_t i = 0; i < n; i++)
        print_node(out, model, list[i]);
    list = sorted(&model->pods, offsetof(struct sched_pod, uid), &n);
    for (size_t i = 0; i < n; i++)
        print_pod(out, list[i]);
    list = sorted(&model->groups, offsetof(struct sched_group, key), &n);
    for (size_t i = 0; i < n; i++)
        print_group(out, model, list[i]);
    list = sorted(&model->queues, offsetof(struct sched_queue, name), &n);
    for (size_t i = 0; i < n; i++)
        print_queue(out, model, list[i]);
}

static void told_to(struct sched_model *model, struct str text)
{
    feed_put(model, tree(arena_str(&arena, text)));
}

static void random_history(struct rand *r, int steps)
{
    for (int i = 0; i < steps; i++) {
        struct object *o = &objects[rand_below(r, OBJECTS)];

        if (!rand_chance(r, 1, 4)) {
            o->text = random_object(r, o, i + 1);
            told_to(&m, o->text);
        } else if (o->text.n && rand_chance(r, 1, 2)) {
            told_to(&m, o->text); /* the same again */
        } else {
            o->text = STR_NULL;
            feed_gone(&m, str_of(o->kind), str_of(o->namespace), str_of(o->name), str_of(o->uid));
        }
        if (rand_chance(r, 1, 10))
            model_order(&m);
        if (rand_chance(r, 1, 20))
            share_link(&m);
        if (rand_chance(r, 1, 20))
            class_relabel(&m);
        model_check(&m);
        if (rand_chance(r, 1, 5))
            fit_check(&m);
    }
}

static void compare(uint64_t seed, struct str is, struct str want)
{
    struct str a, b = STR_NULL;

    while (str_split(&is, '\n', &a))
        if (!str_split(&want, '\n', &b) || !str_eq(a, b))
            fail_msg("seed %llu: %.*s | should be: %.*s", (unsigned long long)seed, STR_ARG(a), STR_ARG(b));
}

static void test_any_order(void **state)
{
    struct rand r;

    for (uint64_t seed = 0; seed < 300; seed++) {
        autobuf is = { 0 }, want = { 0 };
        struct sched_model fresh;

        rand_seed(&r, seed);
        name_objects();
        start(&m);
        random_history(&r, 150);
        start(&fresh);
        for (size_t i = 0; i < OBJECTS; i++)
            if (objects[i].text.n)
                told_to(&fresh, objects[i].text);
        print_model(&is, &m);
        print_model(&want, &fresh);
        model_check(&fresh);
        compare(seed, buf_view(&is), buf_view(&want));
        model_done(&fresh);
        for (size_t i = 0; i < OBJECTS; i++) /* and down to nothing */
            feed_gone(&m, str_of(objects[i].kind), str_of(objects[i].namespace), str_of(objects[i].name),
                      str_of(objects[i].uid));
        share_link(&m);
        model_order(&m);
        assert_int_equal(map_count(&m.nodes) + map_count(&m.pods) + map_count(&m.groups), 0);
        assert_int_equal(map_count(&m.queues), 1);
        model_done(&m);
        arena_reset(&arena);
    }
}

/* ---- anything ---- */

static struct json *nonsense(struct rand *r, int depth)
{
    static const char *const texts[] = { "",      "x",    "-1",      "9999999999999999999",
                                         "1e400", "100%", "default", "root",
                                         "Pod",   "n0",   "Running", "Never",
                                         "g0",    "1h" };

    switch (rand_below(r, depth > 3 ? 5 : 7)) {
    case 0:
        return json_null(&arena);
    case 1:
        return json_bool_new(&arena, rand_chance(r, 1, 2));
    case 2:
        return json_int(&arena, (int64_t)(rand_u64(r) >> rand_below(r, 64)) * (rand_chance(r, 1, 2) ? 1 : -1));
    case 3:
    case 4:
        return json_str(&arena, str_of(pick(r, texts, ARRAY_LEN(texts))));
    case 5: {
        struct json *j = json_array(&arena);

        for (size_t i = rand_below(r, 3); i > 0; i--)
            json_push(j, nonsense(r, depth + 1));
        return j;
    }
    default: {
        struct json *j = json_object(&arena);

        for (size_t i = rand_below(r, 3); i > 0; i--)
            json_set_key(j, str_of(pick(r, texts, ARRAY_LEN(texts))), nonsense(r, depth + 1));
        return j;
    }
    }
}

/* Put nonsense somewhere into a good object. */
static void damage(struct rand *r, struct json *j)
{
    size_t at;
    struct json *child;

    while (json_count(j)) {
        at = rand_below(r, json_count(j));
        child = json_first(j);
        while (at-- > 0)
            child = child->next;
        if (rand_chance(r, 1, 4) || !json_count(child)) {
            json_replace(j, child, nonsense(r, 0));
            return;
        }
        j = child;
    }
}

static void test_anything(void **state)
{
    struct rand r;

    rand_seed(&r, 77);
    name_objects();
    for (int i = 0; i < 20000; i++) {
        struct object *o = &objects[rand_below(&r, OBJECTS)];
        struct json *root = tree(arena_str(&arena, random_object(&r, o, i + 1)));

        for (size_t k = rand_below(&r, 4); k > 0; k--)
            damage(&r, root);
        feed_put(&m, root);
        if (rand_chance(&r, 1, 20))
            feed_gone(&m, str_of(o->kind), str_of(o->namespace), str_of(o->name), STR_NULL);
        if (rand_chance(&r, 1, 50)) {
            model_order(&m);
            class_relabel(&m);
            fit_check(&m);
        }
        model_check(&m);
        arena_reset(&arena);
    }
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_wants),
        TEST(test_node),
        TEST(test_pod_states),
        TEST(test_pod_traits),
        TEST(test_pod_priority_class),
        TEST(test_foreign_pods),
        TEST(test_pod_news),
        TEST(test_our_decisions_hold),
        TEST(test_resize),
        TEST(test_group),
        TEST(test_group_status),
        TEST(test_status_of_another),
        TEST(test_group_reborn),
        TEST(test_job),
        TEST(test_template_class),
        TEST(test_queue),
        TEST(test_budget),
        TEST(test_namespace),
        TEST(test_pod_is_small),
        cmocka_unit_test(test_any_order),
        TEST(test_anything),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
