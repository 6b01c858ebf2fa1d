/* model.h - the cluster as the scheduler sees it: nodes, pods by class, gangs, queues
 *
 * The model is kept, not rebuilt: an event changes the counters it concerns, and nothing else. Three rules hold between
 * any two calls (test/check.h tests them):
 *   - node.used is the sum over the pods on it, node.held over the places kept on it (hold.h);
 *   - a group's counters are those of its pods; a queue's those of its groups, and of the queues below it;
 *   - nothing depends on the order in which objects came, nor on the order of a hash table.
 */
#ifndef SCHED_MODEL_MODEL_H
#define SCHED_MODEL_MODEL_H

#include "base/heap.h"
#include "base/list.h"
#include "base/map.h"
#include "sched/model/amount.h"
#include "sched/model/config.h"
#include "sched/model/why.h"

struct pod_class;  /* class.h: what the node choice looks at; pods of one template share one */
struct hold_parts; /* hold.h */
struct domain;     /* topology.h */
struct gang_class; /* gang_class.h: groups that wait and are alike */
struct gang_classes;
struct parked_list; /* parked.h */
struct node_facts;  /* fit_internal.h */

/* ---- nodes ---- */

struct sched_node {
    struct str name;
    uint32_t index;              /* its place in model.order: by domain, then by name */
    bool exists;                 /* false: known only from a pod; nothing is placed on it */
    bool is_unschedulable;       /* spec.unschedulable */
    bool takes_pods;             /* exists, is not unschedulable, has no NoSchedule or NoExecute taint */
    struct arena arena;          /* of labels … has: replaced when the Node changes */
    struct json *labels;         /* object or NULL */
    struct json *taints;         /* list or NULL */
    struct json *images;         /* status.images or NULL */
    struct json *has;            /* status.allocatable: a new dimension looks here */
    struct amounts total;        /* allocatable */
    struct amounts used;         /* by every pod on it that has not finished */
    struct amounts going;        /* part of 'used': pods that are being deleted */
    struct amounts moving;       /* part of 'used': pods of groups; they end one day. The rest (daemons …) stays */
    struct amounts held;         /* by places kept for groups; none of them is in 'used' */
    struct amounts idle;         /* total less 'used', not below 0: its part of model.idle … */
    struct amounts open;         /* … and less 'held': of model.open */
    struct list pods;            /* sched_pod.on_node */
    VEC(struct host_port) ports; /* taken, by port, protocol and address; in 'port_arena' */
    struct arena port_arena;
    struct node_volumes *volumes; /* volume.c's own; NULL: no pod with claims is here, and nothing limits them */
    uint32_t n_nominated;         /* pods that are promised a place here: model_nominate() */
    uint64_t rev;                 /* of the Node; older news are ignored */
    struct domain *domain;        /* smallest one it belongs to; NULL: none */
    uint32_t part_at;             /* hold.c's own … */
    uint64_t part_turn;           /* … as is this */
    uint32_t seats;               /* of holds: the node stays while there are any, though nothing is placed on it */
    uint64_t version;             /* goes up with every change of anything above */
    struct node_facts *facts;     /* fit.c's own; NULL at first; fit_node_gone() ends it */
};

struct host_port {
    struct str ip; /* empty: all */
    uint16_t port;
    uint8_t protocol; /* 'T', 'U', 'S' */
    uint16_t uses;
};

/* ---- pods ---- */

enum pod_state {
    POD_PENDING, /* waits for a node */
    POD_BINDING, /* we chose one; the news of it has not come back */
    POD_BOUND,   /* has a node, does not run yet */
    POD_RUNNING,
    POD_GOING, /* is being deleted and not finished: on a node or not */
    POD_SUCCEEDED,
    POD_FAILED,
    POD_UNKNOWN,
    POD_STATE_MAX,
};

/* Of a pod that opted in (api/pod/gate.h) */
enum queue_gate {
    QUEUE_GATE_NONE,    /* it did not, or gates of others are still there */
    QUEUE_GATE_CLOSED,  /* its last gate: ours to open when its queue has room */
    QUEUE_GATE_OPENING, /* we decided so; the news of it has not come back */
    QUEUE_GATE_OPEN,    /* it holds room in its queue until it has a node */
};

struct sched_pod { /* made and freed by model_new_pod(), model_drop_pod(); its text is behind it */
    struct str uid, namespace, name;
    struct str key;            /* "namespace/name" */
    struct sched_group *group; /* NULL: a pod of another scheduler; it only takes room */
    struct sched_role *role;   /* in 'group'; NULL without group */
    const struct pod_class *class;
    struct sched_node *node;  /* POD_BINDING and later, if known; finished pods have none */
    struct list_link on_node; /* sched_node.pods */
    struct list_link in_role; /* sched_role.pods[state], no order */
    int32_t priority;         /* task priority */
    int32_t api_priority;     /* spec.priority, which task priority may differ from; INT32_MIN: none */
    uint32_t index;           /* in its task; UINT32_MAX: no number in its name */
    uint32_t out_by;          /* evict.c: the bundle that takes it away in the trial; 0 between trials */
    enum pod_state state : 8;
    enum pod_state told : 8; /* its state by the last news, whatever we decided since */
    enum queue_gate queue_gate : 8;
    bool has_own_priority;          /* the pod says a number; else it follows 'priority_class' … */
    bool has_own_policy;            /* … and so does never_preempts */
    bool is_gated;                  /* it has scheduling gates: not ours to place */
    bool is_preemptable;            /* volcano.sh/preemptable, default true */
    bool is_critical;               /* kube-system or system-*-critical: never a victim */
    bool never_preempts;            /* preemptionPolicy: Never */
    bool is_victim;                 /* we asked for its deletion */
    bool has_told_node;             /* the news named its node; else 'node' is where we bound it to */
    int64_t created_ms, started_ms; /* started: bound or started, whichever is known best; 0: not */
    int64_t bound_ms;               /* when this scheduler bound it; 0: it did not */
    int64_t cooldown_ms;            /* volcano.sh/cooldown-time */
    struct sched_node *nominated;   /* as the pod says, or as we said last: model_nominate() */
    struct sched_node *seat;        /* round.c: where the last trial of this round had it; not valid between rounds */
    uint64_t written;               /* hash_of_condition() of its PodScheduled condition; 0: it has none */
    struct str labels;              /* "key=value" lines sorted by key, for finding its class again (class.h) */
    struct str priority_class;
    char *text;    /* labels and priority_class, once they changed; NULL: behind it */
    uint64_t hash; /* hash of what its class is made of */
    uint64_t rev;  /* of the object; older news are ignored */
};

/* ---- groups ---- */

struct sched_role { /* pods of one volcano.sh/task-spec; "" where there is none */
    struct sched_group *group;
    struct str name;
    int64_t min;                     /* what counts of told_min, see group_settle_minima() */
    int64_t told_min;                /* minTaskMember; 0: none */
    struct list pods[POD_STATE_MAX]; /* sched_pod.in_role */
    uint32_t n[POD_STATE_MAX];       /* … counted */
    uint32_t n_gated;                /* of the pending */
    struct buf done; /* indices whose pods Succeeded, there or not, as its Job remembers them: "0-3,7" */
    int64_t n_done;  /* … counted */
    /* The template, from the Job that owns the group; class NULL: not known. For pods that do not exist yet. */
    const struct pod_class *class;
    struct str labels; /* as sched_pod.labels */
    int64_t replicas;
    int32_t priority;
    bool has_dependencies;     /* its pods come after those of other roles: see role_to_come() */
    bool has_own_priority;     /* the template says a number; else it follows 'priority_class' */
    struct str priority_class; /* of the template */
    char *text;                /* of labels and priority_class */
};

enum group_phase { GROUP_PENDING, GROUP_INQUEUE, GROUP_RUNNING, GROUP_UNKNOWN, GROUP_COMPLETED, GROUP_PHASE_MAX };
extern const char *const group_phase_names[GROUP_PHASE_MAX];

/* Its pods, counted over roles. */
struct group_counts {
    uint32_t n[POD_STATE_MAX];
    uint32_t n_gated;
    uint32_t n_closed, n_opening; /* of the gated: queue_gate */
    int64_t n_gone;               /* Succeeded and are no longer there */
    struct amounts allocated;     /* Binding, Bound, Running */
    struct amounts going;         /* being deleted, on a node */
    struct amounts pending;       /* Pending, not gated */
    struct amounts opened;        /* Pending behind a queue gate that is open, or opening */
};

/* The status a PodGroup has, as told or as we wrote it last (status.c). */
struct group_status {
    enum group_phase phase;
    bool has_phase;
    uint64_t written;       /* hash_of_status() of all of it */
    uint64_t condition;     /* hash_of_status() of its conditions alone … */
    int64_t condition_ms;   /* … and since when they are so */
    enum why_kind why;      /* the gist of them when they were last looked at; WHY_NOT: look again … */
    int64_t why_ms;         /* … and when that was */
    int64_t pods_ms;        /* when the conditions of its pods were last written … */
    enum why_kind pods_why; /* … and the gist of them */
    uint64_t pods_said;     /* hash_of_condition() of their condition, as written or to be written when it is due */
};

/* What earlier rounds found out about it, so that the next need not ask again. */
struct group_findings {
    uint64_t never_key;    /* what never_fits was found out from */
    bool never_fits;       /* not even on empty nodes */
    bool is_tight;         /* its pods fit on empty nodes in some order only (pack.c) */
    bool is_stuck;         /* entitled, refused for want of room, nothing kept for it: others must not spread */
    bool is_blocked;       /* it was not let in because others were */
    uint64_t futile;       /* model.node_gen when its pods could not use places that were free; 0: not so */
    uint64_t tried;        /* model.room_gen when it last found no place; 0: not tried … */
    uint64_t tried_yields; /* … and model.yields */
    uint64_t hunted;       /* model.room_gen when no victims were found for it; 0: not looked for … */
    int64_t hunt_ms;       /* … and when a pod is old enough to be one; 0: time does not help */
};

/* Since when something is so; 0: it is not. */
struct group_times {
    int64_t unknown_ms; /* the last round before its object came */
    int64_t admitted_ms, waiting_ms;
    int64_t lacking_ms; /* there are fewer pods than its minimum needs */
    int64_t grown_ms;   /* the youngest of its pods was made, by the clock of its maker; 0: it has had none */
    int64_t half_ms;    /* some members are bound and the rest is not, and none has started */
    int64_t ready_ms;   /* its minimum was last all placed; stays when that is no longer so */
};

/* Its place among groups that wait and are alike (gang_class.h). */
struct gang_member {
    struct gang_class *alike; /* NULL: it is asked for itself */
    struct gang_class *kin;   /* the class it would be in, but for the places kept for it; pinned; NULL: none */
    struct heap_node in_class, by_runtime, by_admission;
    struct list_link in_alone, in_behind;
};

/* Valid within one round only. */
struct group_round {
    bool is_refused;
    bool is_told;          /* its status was looked at */
    bool has_seats;        /* some of its pods have a 'seat' */
    struct heap_node link; /* sched_queue.waiting */
};

/* One of the two objects a group comes from, its PodGroup or its Job. Either may be there first, or alone. */
struct group_source {
    bool exists; /* its object came */
    uint64_t rev;
    uint64_t hash; /* of all but its status */
    char *text;    /* of the strings below, and of the PodGroup's uid and priority class */
    struct str job_name;
    struct str queue;
    int64_t created_ms;
    int64_t runtime_ms; /* 0: it does not say */
    bool is_ending;     /* a Job: its phase is one in which its pods are deleted, or no longer created */
};

/* What they ask for, both together. */
struct group_spec {
    struct arena arena; /* topology … task_order: a change of the PodGroup replaces them */
    bool is_deleting;
    int64_t min_member; /* as written; see group_min() */
    int64_t job_min;    /* minAvailable of the owning Job, which may be ahead of the PodGroup (D3); else 0 */
    struct str priority_class;
    int32_t priority; /* its value; kept up to date when PriorityClasses change */
    bool has_min_resources;
    struct amounts min_resources;
    struct json *topology;              /* spec.networkTopology or NULL */
    struct json *subgroups;             /* spec.subGroupPolicy or NULL … */
    int64_t subgroups_min;              /* … pods that the minSubGroups of its policies need … */
    int64_t subgroups_more;             /* … and that one more of each would be */
    struct str near, apart, task_order; /* annotations volcano.sh/task-topology-… (task_topology.h) */
    struct str owner_job;               /* name of the owning Volcano Job; empty: none */
    int64_t created_ms;
    int64_t came_ms;     /* its Job's, if that is older: it may have had another PodGroup before */
    int64_t sla_ms;      /* sla-waiting-time; 0: none */
    int64_t runtime_ms;  /* annotation pumice.dev/runtime: how long it says it runs; 0: unknown */
    bool is_preemptable; /* annotation on the group; absent: true for pods, see evict.h */
    bool never_preempts;
};

struct sched_group {
    struct str namespace, name; /* behind the struct, as key is */
    struct str key;             /* "namespace/name" */
    struct str uid;             /* of the PodGroup; empty: there is none yet, only pods or a Job that name it */
    struct sched_queue *queue;  /* of the PodGroup; else of the Job; else "default". Always there, but perhaps without a
                                 * Queue object: model_set_queue() */
    struct list_link in_queue;  /* sched_queue.groups */
    struct heap_node in_placed; /* sched_queue.placed */
    VEC(struct sched_role *) roles; /* by name; they stay as long as the group */
    struct group_source podgroup, job;
    struct group_spec spec;
    struct group_counts counts;
    struct group_status status;

    /* decided, not told (round.c, hold.c) */
    struct group_findings found;
    struct group_times since;
    struct gang_member gang;
    struct group_round now;
    bool is_dirty;               /* something about it changed since it was looked at */
    struct list_link in_dirty;   /* model.dirty */
    struct list_link in_waiting; /* model.waiting */
    bool is_whole;               /* as of the last round that looked at it */
    int64_t share;               /* dominant share, while it is in a heap */
    int64_t retry_ms;            /* look at it again then, though nothing happened; 0: no need */
    uint32_t expired;            /* admissions that led to nothing (D20) */
    uint32_t stops;              /* times it stood and was evicted; also by an earlier PodGroup of its Job */
    struct amounts demand;       /* what it counts for in its queue's request */
    struct amounts admitted;     /* promised when it became Inqueue and not yet allocated */
    struct hold *hold;           /* places kept for it (hold.h); NULL: none */
    const struct why *why;       /* the last answer to "why does it wait?"; group_say() sets it */
};

/* ---- queues ---- a tree below root; see share.h for the amounts ---- */

struct sched_queue {
    struct str name;
    struct arena arena, spec_arena; /* name and children; what a change of the Queue replaces */
    uint64_t rev, hash;             /* of the Queue; hash of its spec and state */
    bool exists;                    /* its object came */
    bool is_open;                   /* status.state Open or empty */
    bool is_fifo, is_reclaimable;
    int64_t weight;
    int32_t priority;
    bool has_deserved;
    struct amounts capability; /* AMOUNT_UNLIMITED where none is set */
    struct amounts deserved,
        guarantee; /* 0 where none is set; deserved -1 where has_deserved and the name is missing */
    struct str parent_name;
    struct sched_queue *parent;         /* NULL: root itself */
    VEC(struct sched_queue *) children; /* by name */
    struct list groups;                 /* sched_group.in_queue */
    struct heap placed;                 /* sched_group.in_placed: those with pods on nodes, the lowest priority first */
    uint32_t n_groups;
    struct json *affinity; /* spec.affinity or NULL */
    int64_t created_ms;

    struct amounts allocated; /* groups of this queue and of all below it */
    struct amounts going;
    struct amounts demand;   /* sum of sched_group.demand, the same */
    struct amounts admitted; /* sum of sched_group.admitted, the same */
    struct amounts opened;   /* sum of group_counts.opened, the same */

    struct amounts fair;     /* share.h */
    struct amounts promised; /* its guarantee, or the sum of those below it if that is more */
    struct amounts owed;     /* kept for groups that wait (hold.h); the same */
    struct amounts cleared;  /* the part of 'owed' for which others are evicted */
    struct amounts seated;   /* kept for admitted groups whose pods are being made; a part of 'admitted'; the same */
    uint32_t keeps;          /* dimensions in which one of its children has such a promise */
    struct amounts out;      /* evict.c: what its victims would give back; in 'allocated' no more; 0 between trials */
    struct amounts limit;    /* capability, cut to what guarantees of others leave, and by the queues above */
    uint32_t lacking;        /* bit per dimension: fair is less than it asks for (share.c) */
    bool has_cycle;          /* spec.parent leads back to itself or to nowhere: child of root (D27) */

    struct heap waiting;        /* sched_group.now.link during a round */
    struct parked_list *parked; /* gangs that are passed over while the nodes would refuse them; NULL: none */
    bool is_over;               /* round.c, for a moment */
    uint64_t spared;            /* evict.c: model.round in which none of its pods could be taken … */
    int64_t spared_ms;          /* … and when the first is old enough; 0: that is no matter of time … */
    int64_t spared_asked_ms;    /* … for a group that asked then */
    uint64_t starts_round;      /* evict.c: model.round in which the next two were found … */
    int64_t first_placed_ms;    /* … when the first of its pods was placed … */
    int64_t first_known_due_ms; /* … and when one may be taken for a job that waited when it started */
    uint64_t written;           /* hash_of_status() of status.allocated it has */
    int64_t written_ms;
};

/* ---- disruption budgets ---- */

struct sched_budget {
    struct str key, namespace;
    struct arena arena;
    struct selector *selector; /* NULL: matches nothing */
    int64_t allowed;           /* status.disruptionsAllowed; computed from the pods when there is no status */
    int64_t taken;             /* by evictions we asked for since */
    bool has_status;
    uint64_t hash, status_hash;             /* hashes of spec and status */
    int64_t min_available, max_unavailable; /* -1: not set; percent: see is_percent */
    bool is_percent;
};

/* ---- all of it ---- */

struct sched_model {
    struct sched_config config;
    struct dims dims;
    int n_dims;                /* dimensions that the nodes' totals know of: model_sync_dims() */
    struct map nodes;          /* struct sched_node by name */
    struct sched_node **order; /* those that exist, by domain and name; valid unless is_unordered */
    uint32_t n_order, cap_order;
    bool is_unordered;
    struct amounts total;            /* over nodes that exist */
    struct amounts usable;           /* … less what is free on closed nodes (usable.c) … */
    VEC(struct sched_node *) closed; /* … which no pod of any group may use, as of … */
    struct arena closed_arena;
    uint64_t closed_gen;   /* … this node_gen + tolerant_gen */
    uint64_t tolerant_gen; /* goes up when classes with tolerations come and go */
    struct amounts used;   /* on nodes that exist */
    struct amounts idle;   /* free on nodes that exist: sum of sched_node.idle … */
    struct amounts open;   /* … and not kept */
    struct map pods;       /* struct sched_pod by uid */
    struct map pod_names;  /* … by namespace/name */
    struct map groups;     /* struct sched_group by key */
    struct map queues;     /* struct sched_queue by name */
    struct sched_queue *root;
    struct map priorities; /* struct sched_priority by name */
    int32_t default_priority;
    struct map budgets;                          /* struct sched_budget by key */
    struct map claims, volumes, storage_classes; /* volume.h */
    struct map volume_shelves;                   /* volume_match.c's own */
    bool has_volume_limits;                      /* of any node */
    struct map namespaces;                       /* struct sched_namespace by name: the queue its annotation names */
    struct list dirty;          /* sched_group.in_dirty, in order of the key once sorted by the round */
    struct list waiting;        /* sched_group.in_waiting: those that lack something */
    struct gang_classes *alike; /* gang_class.h: the same, those that are alike together */
    uint64_t n_holds;           /* ever made */
    struct list kept;           /* struct hold.link, oldest first: groups that wait for room */
    struct list seated;         /* … groups that were admitted and wait for their pods */
    struct list lifted;         /* struct hold.in_lifted: let go of, but the nodes do not know yet (hold.h) … */
    struct amounts lifted_sum;  /* … what they keep … */
    uint64_t lifted_key;        /* … and which they are */
    struct hold_parts *parts;   /* HOLD_SETS of them: hold.c's own … */
    uint64_t part_turn;         /* … as is this */
    uint64_t node_gen;          /* goes up when Nodes come, go, or change in what they have or allow */
    uint64_t seen_node_gen;     /* … when the last round began */

    uint64_t round;         /* rounds begun … */
    int64_t round_ms;       /* … the last of them then */
    bool has_placed;        /* this scheduler has bound a pod: what it keeps for others it has found itself */
    bool in_trial;          /* what is taken and given now are seats of a trial (gang.h) */
    uint64_t room_gen;      /* goes up when something happened that may let a waiting group in */
    uint64_t seen_room_gen; /* … when the last round ended */
    uint64_t admissions;    /* goes up when a promise to any group may be another one */
    uint64_t yields;        /* goes up when groups stop holding back for another: for groups that their queue refuses */
    bool shares_changed;    /* a request, a queue or the total changed: share_update() */
    bool queues_changed; /* a Queue came, went or has another parent: share_link(), at the latest in share_update() */
    struct fit *fit;     /* fit.h: views of the nodes by class */
    struct topology *topology; /* topology.h */
    uint64_t seed;
    struct buf scratch;
    struct arena scratch_arena; /* of one event */
};

struct sched_namespace {
    struct str name, queue; /* queue: annotation scheduling.volcano.sh/queue-name */
    struct json *labels;    /* for namespaceSelector of affinity terms */
    struct arena arena;
};

struct sched_priority {
    struct str name; /* behind the struct */
    int32_t value;
    bool is_default, never_preempts;
};

void model_init(struct sched_model *m, const struct sched_config *config, uint64_t seed);
void model_done(struct sched_model *m);

/* ---- finding ---- NULL if it is not known; need: made when it is new ---- */
struct sched_node *model_node(const struct sched_model *m, struct str name);
struct sched_node *model_need_node(struct sched_model *m, struct str name);
struct sched_group *model_group(struct sched_model *m, struct str namespace, struct str name);
struct sched_group *model_need_group(struct sched_model *m, struct str namespace, struct str name);
struct sched_queue *model_queue(const struct sched_model *m, struct str name);
struct sched_queue *model_need_queue(struct sched_model *m, struct str name);
struct sched_role *group_need_role(struct sched_group *g, struct str name);
struct sched_role *group_role(const struct sched_group *g, struct str name);

/* ---- told objects ---- for feed.c ---- */

/* A pod in state Pending, without class, group and node, in no counter; then model_pod_in(). Dropping takes it out.
 * Its group and its node go with it if they have no other pods and no object. */
struct pod_text { /* copied behind the pod */
    struct str uid, namespace, name, labels, priority_class;
};
struct sched_pod *model_new_pod(struct sched_model *m, const struct pod_text *t);
void model_drop_pod(struct sched_model *m, struct sched_pod *p);

/* Out of every counter and list and in again, to change class, group, role or is_gated between. */
void model_pod_out(struct sched_model *m, struct sched_pod *p);
void model_pod_in(struct sched_model *m, struct sched_pod *p);

/* The same for the totals over nodes and for what affinity terms count, to change a node's labels, taints and total. */
void model_node_out(struct sched_model *m, struct sched_node *n);
void model_node_in(struct sched_model *m, struct sched_node *n);

/* Free it unless something holds it: an object, pods, groups, children, seats, a nomination. */
void model_release_node(struct sched_model *m, struct sched_node *n);
void model_release_group(struct sched_model *m, struct sched_group *g);
void model_release_queue(struct sched_model *m, struct sched_queue *q);

/* Its priority is another now. */
void model_priority_changed(struct sched_group *g);

/* Put a group, with its sums, into the queue of that name. */
void model_set_queue(struct sched_model *m, struct sched_group *g, struct str name);

/* The PodGroup went, or another one has its name: what was decided for it is void. */
void model_forget_group(struct sched_model *m, struct sched_group *g);

/* As if its object had never come. */
void queue_reset(struct sched_queue *q);

/* Names of new resources came up: what do the nodes have of them? Cheap when there are none. */
void model_sync_dims(struct sched_model *m);

/* Sums of all queues from their groups: after queues got other parents. */
void model_resum_queues(struct sched_model *m);

/* Which of the minima per role count. Without a Job all do (D5). Volcano fills in replicas where a task of a Job says
 * no minimum, so in a Job whose minAvailable is below the sum of its tasks' minima those that equal the replicas say
 * nothing: such a job means to run with less. */
void group_settle_minima(struct sched_group *g);

/* ---- changing ---- these keep every counter right ---- */

/* These of its pods have Succeeded, whether they are still there or not: "0-3,7". Marks its group if that is news. */
void model_set_done(struct sched_model *m, struct sched_role *r, struct str indices);

/* Give a pod another state and node (NULL: none). Marks its group. Room is made when a node gets something back. */
void model_set_pod(struct sched_model *m, struct sched_pod *p, enum pod_state state, struct sched_node *node);
void model_set_demand(struct sched_model *m, struct sched_group *g, const struct amounts *demand);
void model_set_admitted(struct sched_model *m, struct sched_group *g, const struct amounts *admitted);
void model_touch(struct sched_model *m, struct sched_group *g); /* look at it in the next round */
void model_nominate(struct sched_model *m, struct sched_pod *p, struct sched_node *node); /* NULL: none */
void model_set_gate(struct sched_model *m, struct sched_pod *p, enum queue_gate gate);

/* What one pod of a class takes on a node: amounts, ports, and the counters of affinity terms; and gives back. For
 * pods use model_set_pod(); these are for places tried out (gang.c), which are undone in the same round or turned into
 * model_set_pod(). */
void node_take(struct sched_model *m, struct sched_node *n, const struct pod_class *class);
void node_give(struct sched_model *m, struct sched_node *n, const struct pod_class *class);

/* Keep, or stop keeping, this amount on a node. */
void node_hold(struct sched_model *m, struct sched_node *n, const struct amounts *amount);
void node_unhold(struct sched_model *m, struct sched_node *n, const struct amounts *amount);

/* A node changed: views that show it look again. */
void model_node_changed(struct sched_model *m, struct sched_node *n);

/* Put model.order right (after nodes or domains changed). Cheap when nothing changed. */
void model_order(struct sched_model *m);

/* ---- what was said ---- for comparing a status with the one an object has; never 0 ---- */
uint64_t hash_of_condition(struct str status, struct str reason, struct str message);
/* Times and ids of transitions do not count, nor does what is zero or empty; NULL gives 0. */
uint64_t hash_of_status(const struct json *status);

/* ---- counting ---- */

/* max(minMember, sum of the roles' minima, of those of sub-groups, what its Job says): the pods that must have places
 * together (D5). */
int64_t group_min(const struct sched_group *g);
/* Why it waits. An answer is large, and most groups do not wait: it is kept only while there is one. */
void group_say(struct sched_group *g, const struct why *why);
/* Pods with a place: Binding, Bound, Running, Succeeded. */
int64_t group_placed(const struct sched_group *g);
/* … and those that Succeeded and were deleted: they are not made again, so no group must wait for them. */
int64_t group_ready(const struct sched_group *g);
int64_t role_ready(const struct sched_role *r);
int64_t role_gone(const struct sched_role *r); /* the latter */
/* Pods of its template that are still to be made. One that depends on others has none before it is its turn, which the
 * PodGroup knows: until then it is left out of the minima. */
int64_t role_to_come(const struct sched_role *r);
/* Ready, and so is each role (and sub-group): the gang stands. */
bool group_is_whole(const struct sched_group *g);
/* Enough live pods for its minimum, and for that of each role. */
bool group_has_its_pods(const struct sched_group *g);
/* Pods that count for a gang: with a place, or Pending and not gated. */
int64_t group_live(const struct sched_group *g);

#endif
