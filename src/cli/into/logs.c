/* logs.c - the command `pumice logs` */
#include "api/meta.h"
#include "base/util.h"
#include "cli/commands.h"
#include "cli/into/into.h"
#include "ctl/logs.h"

/* Of one run: each has a conversation of its own. */
static int print_of(struct into *x, struct into_run *run, const struct into_pods *pods, bool has_several, struct err *e)
{
    const struct into_options *o = x->o;
    const struct ctl_options like = { .follow = o->follow,
                                      .previous = o->previous,
                                      .timestamps = o->timestamps,
                                      .prefix = o->prefix || has_several,
                                      .tail = o->tail,
                                      .since = o->since };
    struct ctl_verb v = { .arena = x->arena, .o = &like, .command = "logs", .ctl = { .ask = run->ask } };
    VEC(struct logs_of) list = { 0 };
    int rc;

    VEC_FOREACH(p, &pods->v) {
        if (p->run != run)
            continue;
        if (!o->all_containers)
            *vec_push(x->arena, &list) = (struct logs_of){ p->pod, p->container };
        else
            JSON_FOREACH(c, json_find(p->pod, "spec", "containers", NULL))
                *vec_push(x->arena, &list) = (struct logs_of){ p->pod, json_member_text(c, "name") };
    }
    rc = list.n ? logs_print(&v, list.v, list.n, e) : 0;
    if (verb_flush(&v, rc < 0 ? NULL : e) < 0)
        rc = -1;
    buf_done(&v.out);
    return rc;
}

static int print_all(struct into *x, const struct text_list *names, struct err *e)
{
    struct into_pods pods = { 0 };
    int rc = 0;

    if (into_open(x, e) < 0)
        return -1;
    if (!names->list.n && into_pick_all(x, STR_NULL, &pods, e) < 0)
        return -1;
    VEC_FOREACH(name, &names->list) {
        struct into_pods some = { 0 };

        if (into_pick_all(x, str_of(*name), &some, e) < 0)
            return -1;
        VEC_FOREACH(p, &some.v)
            *vec_push(x->arena, &pods.v) = *p;
    }
    VEC_FOREACH(r, &x->runs)
        if (rc == 0)
            rc = print_of(x, *r, &pods, pods.v.n > 1, e);
    return rc;
}

static int logs_run(struct arena *a, const void *options, const struct text_list *arguments)
{
    autointo x = { .arena = a, .o = options };
    struct err e = { 0 };

    return print_all(&x, arguments, &e) < 0 ? into_fail("logs", &e) : EXIT_FINE;
}

static const struct option logs_options[] = {
    { 'f', "follow", OPTION_FLAG, INTO_FIELD(follow), NULL, NULL, "go on until all have ended" },
    { 'p', "previous", OPTION_FLAG, INTO_FIELD(previous), NULL, NULL, "of the container before it was restarted" },
    { 0, "tail", OPTION_TEXT, INTO_FIELD(tail), "N", NULL, "only the last lines" },
    { 0, "since", OPTION_TEXT, INTO_FIELD(since), "TIME", NULL, "only what is younger: 10m" },
    { 0, "timestamps", OPTION_FLAG, INTO_FIELD(timestamps), NULL, NULL, "each line with its time" },
    { 0, "prefix", OPTION_FLAG, INTO_FIELD(prefix), NULL, NULL,
      "the pod's name in front of each line, also if there is only one" },
    { 0, "all-containers", OPTION_FLAG, INTO_FIELD(all_containers), NULL, NULL, "of all containers of the pods" },
    INTO_CONTAINER,
    INTO_POD,
};

static const char *const logs_examples[] = { "pumice logs -f worker-0", "one pod, as it writes",
                                             "pumice logs --tail 5 train", "the last words of all pods of a job",
                                             NULL };

const struct command command_logs = {
    .name = "logs",
    .arguments = "[POD…]",
    .summary = "print or follow the logs of pods of a run",
    .about = "POD may also be the name of a Job: all its pods; without one, all pods of all runs. Lines of several "
             "pods have\n"
             "the pod's name in front.",
    .options = logs_options,
    .n_options = ARRAY_LEN(logs_options),
    .options_size = sizeof(struct into_options),
    .foreign = into_foreign,
    .examples = logs_examples,
    .run = logs_run,
};
