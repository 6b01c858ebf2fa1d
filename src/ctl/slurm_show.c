/* slurm_show.c - squeue, sacct and sinfo */
#include "api/meta.h"
#include "api/quantity.h"
#include "api/pod/status.h"
#include "base/clock.h"
#include "base/util.h"
#include "ctl/job_cells.h"
#include "ctl/pod.h"
#include "ctl/slurm.h"

struct str slurm_id(const struct json *job)
{
    struct str id = object_label(job, SLURM_LABEL_ID);

    return id.n ? id : object_name(job);
}

int slurm_find(struct ctl_verb *v, const char *id, struct json **ret, struct err *e)
{
    struct ctl_select which = { .namespace = verb_namespace(v),
                                .labels = arena_fmt(v->arena, SLURM_LABEL_ID "=%s", id) };
    struct ctl_objects found = { 0 };
    uint64_t n;

    if (str_to_u64(str_of(id), &n) == 0) {
        if (ctl_list(&v->ctl, ctl_type("Job"), &which, &found, e) < 0)
            return -1;
        if (found.v.n) {
            *ret = found.v.v[0];
            return 0;
        }
    }
    if (ctl_get(&v->ctl, ctl_name("Job", verb_namespace(v), str_of(id)), ret, e) == 0)
        return 0;
    if (e->code != ERR_NOT_FOUND)
        return -1;
    v->ctl.said = NULL;
    return err_set(e, ERR_NOT_FOUND, "Invalid job id specified: %s", id);
}

struct str slurm_phase(const struct json *job)
{
    struct str phase = job_phase_word(job);
    bool is_held = str_is(object_annotation(job, SLURM_ANNOTATION_HELD), "true") &&
                   (str_is(phase, "Aborted") || str_is(phase, "Aborting"));

    return is_held ? STR("Pending") : phase;
}

struct str slurm_reason(const struct reasons *r, const struct json *job)
{
    return str_eq(slurm_phase(job), job_phase_word(job)) ? reason_of(r, job) : STR("JobHeldUser");
}

/* ---- which ---- */

static bool show_is_in(const char *list, struct str word)
{
    struct str rest = str_of(list), part;

    while (str_split(&rest, ',', &part))
        if (str_eq_nocase(part, word))
            return true;
    return false;
}

static struct str user_of(const struct json *job)
{
    return object_annotation(job, SLURM_ANNOTATION_USER);
}

static struct str queue_name(const struct json *job)
{
    return json_text(json_find(job, "spec", "queue", NULL), STR("default"));
}

static bool show_is_wanted(const struct ctl_verb *v, const struct json *job)
{
    const struct slurm_options *o = v->o->slurm;
    struct str phase = slurm_phase(job);
    const char *me = getenv("USER");

    if ((o->jobs && !show_is_in(o->jobs, slurm_id(job)) && !show_is_in(o->jobs, object_name(job))) ||
        (o->names && !show_is_in(o->names, object_name(job))) ||
        (o->partition && !show_is_in(o->partition, queue_name(job))) ||
        (o->user && !show_is_in(o->user, user_of(job))) || (o->me && !str_eq(user_of(job), str_of(me ? me : ""))))
        return false;
    if (o->states)
        return show_is_in(o->states, str_of(slurm_state(phase))) ||
               show_is_in(o->states, str_of(slurm_state_long(phase))) || show_is_in(o->states, STR("all"));
    return true;
}

static int read_jobs(struct ctl_verb *v, struct ctl_objects *ret, struct err *e)
{
    struct ctl_select which = { .namespace = verb_namespace(v) };
    struct ctl_objects all = { 0 };

    if (ctl_list(&v->ctl, ctl_type("Job"), &which, &all, e) < 0)
        return -1;
    VEC_FOREACH(job, &all.v)
        if (show_is_wanted(v, *job))
            *vec_push(v->arena, &ret->v) = *job;
    return 0;
}

/* ---- fields ---- */

static int64_t show_time_of(struct str text)
{
    int64_t ms;

    return text.n && clock_parse(text, &ms, NULL) == 0 ? ms : 0;
}

/* From when its phase became Running until it ended, or now. */
static int64_t elapsed_s(const struct ctl_verb *v, const struct json *job)
{
    int64_t began = 0, end = v->ctl.now_ms;

    JSON_FOREACH(c, json_find(job, "status", "conditions", NULL))
        if (str_is(json_member_text(c, "status"), "Running"))
            began = show_time_of(json_member_text(c, "lastTransitionTime"));
    if (job_has_ended(job_phase_word(job)))
        end = show_time_of(json_text(json_find(job, "status", "state", "lastTransitionTime", NULL), STR_NULL));
    return began && end > began ? (end - began) / 1000 : 0;
}

struct show_seen { /* of all jobs that are shown */
    struct reasons reasons;
    struct pod_rows pods;
};

/* The nodes of its pods, each once; the count in '*ret_n'. */
static struct str nodes_of(struct ctl_verb *v, const struct show_seen *s, const struct json *job, size_t *ret_n)
{
    VEC(struct str) names = { 0 };
    autobuf text = { 0 };

    VEC_FOREACH(row, &s->pods.v) {
        struct str node = json_text(json_find(row->object, "spec", "nodeName", NULL), STR_NULL);
        bool is_known = !node.n || !str_eq(object_label(row->object, "volcano.sh/job-name"), object_name(job)) ||
                        !str_eq(object_namespace(row->object), object_namespace(job));

        VEC_FOREACH(name, &names)
            is_known = is_known || str_eq(*name, node);
        if (is_known)
            continue;
        *vec_push(v->arena, &names) = node;
        buf_fmt(&text, "%s%.*s", text.n ? "," : "", STR_ARG(node));
    }
    *ret_n = names.n;
    return arena_str(v->arena, buf_view(&text));
}

static struct str show_where(struct ctl_verb *v, const struct show_seen *s, const struct json *job)
{
    struct str reason;
    size_t n;

    if (!str_is(slurm_phase(job), "Pending"))
        return nodes_of(v, s, job, &n);
    reason = slurm_reason(&s->reasons, job);
    return arena_fmt(v->arena, "(%.*s)", STR_ARG(reason.n ? reason : STR("None")));
}

static struct str job_field(struct ctl_verb *v, const struct show_seen *s, const struct json *job, char letter)
{
    size_t n = 0;

    switch (letter) {
    case 'i':
    case 'A':
        return slurm_id(job);
    case 'j':
        return object_name(job);
    case 'P':
        return queue_name(job);
    case 'u':
        return user_of(job);
    case 't':
        return str_of(slurm_state(slurm_phase(job)));
    case 'T':
        return str_of(slurm_state_long(slurm_phase(job)));
    case 'M':
        return slurm_elapsed(v->arena, elapsed_s(v, job));
    case 'D':
        (void)nodes_of(v, s, job, &n);
        return arena_fmt(v->arena, "%zu", n ? n : (size_t)job_replicas(job));
    case 'C':
        return arena_fmt(v->arena, "%lld", (long long)job_replicas(job));
    case 'N':
        return nodes_of(v, s, job, &n);
    case 'r':
        return slurm_reason(&s->reasons, job);
    case 'R':
        return show_where(v, s, job);
    case 'V':
    case 'S':
        return json_text(json_find(job, "metadata", "creationTimestamp", NULL), STR_NULL);
    default:
        return STR_NULL;
    }
}

static const char *field_head(char letter)
{
    static const char *const heads[128] = {
        ['i'] = "JOBID",
        ['A'] = "JOBID",
        ['j'] = "NAME",
        ['P'] = "PARTITION",
        ['u'] = "USER",
        ['t'] = "ST",
        ['T'] = "STATE",
        ['M'] = "TIME",
        ['D'] = "NODES",
        ['C'] = "CPUS",
        ['N'] = "NODELIST",
        ['r'] = "REASON",
        ['R'] = "NODELIST(REASON)",
        ['V'] = "SUBMIT_TIME",
        ['S'] = "START_TIME",
    };

    return letter > 0 && heads[(unsigned char)letter] ? heads[(unsigned char)letter] : "";
}

/* "%.18i %.9P": a dot pads on the left, a number is the width, and longer text is cut. NULL job: the heads. */
static int put_format(struct ctl_verb *v, const struct show_seen *s, const struct json *job, const char *format,
                      struct err *e)
{
    for (const char *p = format; *p; p++) {
        bool is_right;
        size_t width = 0;
        struct str text;

        if (*p != '%') {
            buf_char(&v->out, *p);
            continue;
        }
        p++;
        is_right = *p == '.';
        for (p += is_right; *p >= '0' && *p <= '9' && width < 1000; p++)
            width = width * 10 + (size_t)(*p - '0');
        if (!*p || !field_head(*p)[0])
            return err_set(e, ERR_SYNTAX, "--format: \"%%%c\" is not one of i A j P u t T M D C N r R V S", *p);
        text = job ? job_field(v, s, job, *p) : str_of(field_head(*p));
        text = width ? str_cut(text, width) : text;
        buf_repeat(&v->out, ' ', is_right && width > text.n ? width - text.n : 0);
        buf_str(&v->out, text);
        buf_repeat(&v->out, ' ', !is_right && width > text.n ? width - text.n : 0);
    }
    buf_char(&v->out, '\n');
    return 0;
}

/* Those that have not ended, unless states or jobs are named. */
int verb_squeue(struct ctl_verb *v, struct err *e)
{
    const char *format = v->o->slurm->format ? v->o->slurm->format : "%.18i %.9P %.8j %.8u %.2t %.10M %.6D %R";
    struct pod_query query = { .namespace = verb_namespace(v) };
    struct ctl_objects jobs = { 0 };
    struct show_seen seen = { 0 };

    if (read_jobs(v, &jobs, e) < 0 || pod_select(&v->ctl, &query, &seen.pods, e) < 0)
        return -1;
    reasons_read(&v->ctl, verb_namespace(v), &seen.reasons);
    if (!v->o->slurm->no_header && put_format(v, &seen, NULL, format, e) < 0)
        return -1;
    VEC_FOREACH(job, &jobs.v) {
        struct str phase = job_phase_word(*job);

        if (!v->o->slurm->states && job_has_ended(phase) && !str_is(phase, "Aborted"))
            continue;
        if (put_format(v, &seen, *job, format, e) < 0)
            return -1;
    }
    return 0;
}

/* ---- sacct ---- */

/* The greatest exit status of the pods that are still there. */
static struct str exit_code(struct ctl_verb *v, const struct pod_rows *pods, const struct json *job)
{
    int64_t code, most = 0;

    VEC_FOREACH(row, &pods->v)
        JSON_FOREACH(c, str_eq(object_label(row->object, "volcano.sh/job-name"), object_name(job))
                            ? json_find(row->object, "status", "containerStatuses", NULL)
                            : NULL)
            if (json_to_i64(json_find(c, "state", "terminated", "exitCode", NULL), &code) == 0)
                most = MAX_OF(most, code);
    return arena_fmt(v->arena, "%lld:0", (long long)most);
}

struct account { /* one of the jobs, and what is known of pods */
    struct ctl_verb *v;
    const struct pod_rows *pods;
    const struct json *job;
};

static struct str account_id(const struct account *a)
{
    return slurm_id(a->job);
}

static struct str account_name(const struct account *a)
{
    return object_name(a->job);
}

static struct str account_queue(const struct account *a)
{
    return queue_name(a->job);
}

static struct str account_user(const struct account *a)
{
    return user_of(a->job);
}

static struct str account_tasks(const struct account *a)
{
    return arena_fmt(a->v->arena, "%lld", (long long)job_replicas(a->job));
}

static struct str account_elapsed(const struct account *a)
{
    return slurm_elapsed(a->v->arena, elapsed_s(a->v, a->job));
}

/* One that had a time limit, and a pod of which met it: the node says so, or timeout(1) around its script. */
static bool is_out_of_time(const struct account *a)
{
    const struct json *pod = json_find(json_at(json_find(a->job, "spec", "tasks", NULL), 0), "template", "spec", NULL);
    int64_t code;

    if (!str_is(job_phase_word(a->job), "Failed") || !json_get(pod, "activeDeadlineSeconds"))
        return false;
    VEC_FOREACH(row, &a->pods->v) {
        if (!str_eq(object_label(row->object, "volcano.sh/job-name"), object_name(a->job)))
            continue;
        if (str_is(json_text(json_find(row->object, "status", "reason", NULL), STR_NULL), "DeadlineExceeded"))
            return true;
        JSON_FOREACH(c, json_find(row->object, "status", "containerStatuses", NULL))
            if (json_to_i64(json_find(c, "state", "terminated", "exitCode", NULL), &code) == 0 && code == 124)
                return true;
    }
    return false;
}

static struct str account_state(const struct account *a)
{
    if (is_out_of_time(a))
        return STR("TIMEOUT");
    return str_of(slurm_state_long(slurm_phase(a->job)));
}

static struct str account_exit(const struct account *a)
{
    return exit_code(a->v, a->pods, a->job);
}

static struct str account_submit(const struct account *a)
{
    return json_text(json_find(a->job, "metadata", "creationTimestamp", NULL), STR_NULL);
}

static struct str account_start(const struct account *a)
{
    JSON_FOREACH(c, json_find(a->job, "status", "conditions", NULL))
        if (str_is(json_member_text(c, "status"), "Running"))
            return json_member_text(c, "lastTransitionTime");
    return STR("Unknown");
}

static struct str account_end(const struct account *a)
{
    if (!job_has_ended(job_phase_word(a->job)))
        return STR("Unknown");
    return json_text(json_find(a->job, "status", "state", "lastTransitionTime", NULL), STR("Unknown"));
}

static const struct account_field {
    const char *name;
    int width;
    struct str (*cell)(const struct account *a);
} account_fields[] = {
    { "JobID", 12, account_id },      { "JobName", 20, account_name },    { "Partition", 10, account_queue },
    { "User", 9, account_user },      { "AllocCPUS", 10, account_tasks }, { "Elapsed", 12, account_elapsed },
    { "State", 10, account_state },   { "ExitCode", 8, account_exit },    { "NTasks", 8, account_tasks },
    { "Submit", 20, account_submit }, { "Start", 20, account_start },     { "End", 20, account_end },
};

struct account_columns {
    VEC(struct account_field) v;
};

/* "JobID,JobName%30,State": a number is the width. */
static int read_columns(struct ctl_verb *v, struct account_columns *ret, struct err *e)
{
    struct str list = str_of(v->o->slurm->format ? v->o->slurm->format
                                                 : "JobID,JobName,Partition,User,AllocCPUS,Elapsed,State,ExitCode");
    struct str part, name;

    while (str_split(&list, ',', &part)) {
        size_t i = 0;
        int64_t width = 0;

        (void)str_split(&part, '%', &name);
        while (i < ARRAY_LEN(account_fields) && !str_eq_nocase(name, str_of(account_fields[i].name)))
            i++;
        if (i == ARRAY_LEN(account_fields))
            return err_set(e, ERR_SYNTAX,
                           "--format: \"%.*s\" is not one of JobID, JobName, Partition, User, AllocCPUS, "
                           "NTasks, Elapsed, State, ExitCode, Submit, Start, End",
                           STR_ARG(name));
        if (part.n && (str_to_i64(part, &width) < 0 || width < -1000 || width > 1000 || !width))
            return err_set(e, ERR_SYNTAX, "--format: \"%%%.*s\" is not a width", STR_ARG(part));
        *vec_push(v->arena, &ret->v) = account_fields[i];
        if (width)
            ret->v.v[ret->v.n - 1].width = (int)width;
    }
    return 0;
}

/* Of a job, of the heads (no job), or the line below them ('line'). */
static void put_account(const struct account_columns *columns, const struct account *a, bool line)
{
    struct ctl_verb *v = a->v;
    bool is_parsable = v->o->slurm->parsable2;

    VEC_FOREACH(c, &columns->v) {
        size_t width = (size_t)(c->width < 0 ? -c->width : c->width);
        struct str text = a->job ? c->cell(a) : str_of(c->name);

        if (line)
            text = arena_fmt(v->arena, "%.*s", (int)MIN_OF(width, 30U), "------------------------------");
        if (is_parsable)
            buf_fmt(&v->out, "%s%.*s", c == columns->v.v ? "" : "|", STR_ARG(text));
        else
            buf_fmt(&v->out, "%*.*s ", c->width, (int)MIN_OF(text.n, width), text.n ? text.p : "");
    }
    buf_char(&v->out, '\n');
}

int verb_sacct(struct ctl_verb *v, struct err *e)
{
    struct pod_query query = { .namespace = verb_namespace(v) };
    struct account_columns columns = { 0 };
    struct pod_rows pods = { 0 };
    struct ctl_objects jobs = { 0 };
    struct account of = { .v = v, .pods = &pods };

    if (read_columns(v, &columns, e) < 0 || read_jobs(v, &jobs, e) < 0 || pod_select(&v->ctl, &query, &pods, e) < 0)
        return -1;
    if (!v->o->slurm->no_header) {
        put_account(&columns, &of, false);
        if (!v->o->slurm->parsable2)
            put_account(&columns, &of, true);
    }
    VEC_FOREACH(job, &jobs.v) {
        of.job = *job;
        put_account(&columns, &of, false);
    }
    return 0;
}

/* ---- sinfo ---- */

static int64_t cpu_of(const struct json *list)
{
    struct quantity q;

    return quantity_parse(json_member_text(list, "cpu"), &q, NULL) == 0 ? quantity_milli(q) : 0;
}

static int64_t cpu_used(const struct pod_rows *pods, struct str node)
{
    int64_t sum = 0;

    VEC_FOREACH(row, &pods->v) {
        if (!str_eq(json_text(json_find(row->object, "spec", "nodeName", NULL), STR_NULL), node) ||
            pod_has_ended(row->object))
            continue;
        JSON_FOREACH(c, json_find(row->object, "spec", "containers", NULL))
            sum += cpu_of(json_find(c, "resources", "requests", NULL));
    }
    return sum;
}

static const char *node_state(const struct pod_rows *pods, const struct json *node)
{
    int64_t all = cpu_of(json_find(node, "status", "allocatable", NULL)), used = cpu_used(pods, object_name(node));
    const struct json *off = json_find(node, "spec", "unschedulable", NULL);

    if (!condition_is_true(json_get(node, "status"), "Ready"))
        return "down";
    if (json_is(off, JSON_BOOL) && off->n)
        return used ? "drng" : "drain";
    return !used ? "idle" : used >= all ? "alloc" : "mix";
}

int verb_sinfo(struct ctl_verb *v, struct err *e)
{
    static const char *const order[] = { "down", "drng", "drain", "alloc", "mix", "idle" };
    struct ctl_objects queues = { 0 }, nodes = { 0 };
    struct pod_rows pods = { 0 };

    if (ctl_list(&v->ctl, ctl_type("Queue"), &(struct ctl_select){ 0 }, &queues, e) < 0 ||
        ctl_list(&v->ctl, ctl_type("Node"), &(struct ctl_select){ 0 }, &nodes, e) < 0 ||
        pod_select(&v->ctl, &(struct pod_query){ 0 }, &pods, e) < 0)
        return -1;
    if (!v->o->slurm->no_header)
        buf_fmt(&v->out, "%-9s %5s %10s %6s %6s %s\n", "PARTITION", "AVAIL", "TIMELIMIT", "NODES", "STATE", "NODELIST");
    VEC_FOREACH(queue, &queues.v) {
        struct str name = object_name(*queue);
        bool is_open = str_is(json_text(json_find(*queue, "status", "state", NULL), STR("Open")), "Open");

        if (str_is(name, "root") || (v->o->slurm->partition && !show_is_in(v->o->slurm->partition, name)))
            continue;
        if (str_is(name, "default"))
            name = STR("default*");
        for (size_t i = 0; i < ARRAY_LEN(order); i++) {
            autobuf list = { 0 };
            size_t n = 0;

            VEC_FOREACH(node, &nodes.v)
                if (strcmp(node_state(&pods, *node), order[i]) == 0)
                    buf_fmt(&list, "%s%.*s", n++ ? "," : "", STR_ARG(object_name(*node)));
            if (n)
                buf_fmt(&v->out, "%-9.*s %5s %10s %6zu %6s %s\n", STR_ARG(name), is_open ? "up" : "down", "infinite", n,
                        order[i], list.p);
        }
    }
    return 0;
}
