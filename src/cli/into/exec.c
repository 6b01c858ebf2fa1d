/* exec.c - the commands `pumice exec` and `pumice attach` */
#include "api/meta.h"
#include "base/util.h"
#include "cli/commands.h"
#include "cli/into/into.h"
#include "ctl/exec.h"
#include "kube/path.h"

static int into_exec_talk(const char *command, const struct into_pod *p, const struct exec_talk *how, int *ret_status,
                          struct err *e)
{
    struct exec_talk all = *how;

    if (how->is_tty && how->has_input && !isatty(STDIN_FILENO))
        fprintf(stderr, "pumice %s: standard input is not a terminal; its size and keys are not passed on\n", command);
    all.ask = p->run->ask;
    return exec_talk(&all, ret_status, e);
}

/* ---- exec ---- */

static int exec_in(struct into *x, const struct text_list *words, int *ret_status, struct err *e)
{
    const struct into_options *o = x->o;
    struct into_pod p;
    autobuf path = { 0 };

    if (words->list.n < 2)
        return err_set(e, ERR_SYNTAX, "usage: pumice exec POD -- COMMAND…");
    if (into_open(x, e) < 0 || into_pick(x, str_of(words->list.v[0]), &p, e) < 0)
        return -1;
    into_path(&path, &p, "exec");
    exec_query(&path, p.container, o->stdin_, o->tty);
    for (size_t i = 1; i < words->list.n; i++)
        path_query(&path, "command", str_of(words->list.v[i]));
    return into_exec_talk("exec", &p,
                          &(struct exec_talk){ .path = buf_view(&path), .has_input = o->stdin_, .is_tty = o->tty },
                          ret_status, e);
}

static int exec_run(struct arena *a, const void *options, const struct text_list *arguments)
{
    autointo x = { .arena = a, .o = options };
    int status = EXIT_FINE;
    struct err e;

    return exec_in(&x, arguments, &status, &e) < 0 ? into_fail("exec", &e) : status;
}

static const struct option exec_options[] = {
    { 'i', "stdin", OPTION_FLAG, INTO_FIELD(stdin_), NULL, NULL, "pass standard input on, to its end" },
    { 't', "tty", OPTION_FLAG, INTO_FIELD(tty), NULL, NULL, "with a terminal" },
    INTO_CONTAINER,
    INTO_POD,
};

static const char *const exec_examples[] = {
    "pumice exec -it worker-0 -- bash",
    "a shell in a pod",
    "pumice exec train-worker-3 -- nvidia-smi",
    "its exit status is that of the program",
    "tar c . | pumice exec -i worker-0 -- tar x -C /data",
    "with standard input",
    NULL,
};

const struct command command_exec = {
    .name = "exec",
    .arguments = "[POD COMMAND…]",
    .summary = "run a program in a pod of a run",
    .about = "Runs a program in a container of a pod of 'pumice run', with its files, variables, network and user. POD "
             "is a name\n"
             "from 'pumice ps' or from the output of the run. The program ends with this command. The exit status is "
             "that of the\n"
             "program, or 126 or 127 if it could not be executed.",
    .options = exec_options,
    .n_options = ARRAY_LEN(exec_options),
    .options_size = sizeof(struct into_options),
    .foreign = into_foreign,
    .examples = exec_examples,
    .stops_at = 2, /* "exec POD ls -l", as with docker */
    .run = exec_run,
};

/* ---- attach ---- */

static const struct json *exec_container_of(const struct into_pod *p)
{
    JSON_FOREACH(c, json_find(p->pod, "spec", "containers", NULL))
        if (str_eq(json_member_text(c, "name"), p->container))
            return c;
    return NULL;
}

static int attach_to(struct into *x, const struct text_list *words, int *ret_status, struct err *e)
{
    struct into_pod p;
    autobuf path = { 0 };
    bool has_input = x->o->stdin_, is_tty;

    if (words->list.n != 1)
        return err_set(e, ERR_SYNTAX, "usage: pumice attach POD");
    if (into_open(x, e) < 0 || into_pick(x, str_of(words->list.v[0]), &p, e) < 0)
        return -1;
    is_tty = x->o->tty && json_bool(json_get(exec_container_of(&p), "tty"), false);
    if (x->o->tty && !is_tty)
        fprintf(stderr, "pumice attach: the container has no terminal (tty: true is not set)\n");
    into_path(&path, &p, "attach");
    exec_query(&path, p.container, has_input, is_tty);
    return into_exec_talk(
        "attach", &p,
        &(struct exec_talk){ .path = buf_view(&path), .has_input = has_input, .is_tty = is_tty, .detaches = true },
        ret_status, e);
}

static int attach_run(struct arena *a, const void *options, const struct text_list *arguments)
{
    autointo x = { .arena = a, .o = options };
    int status = EXIT_FINE;
    struct err e;

    return attach_to(&x, arguments, &status, &e) < 0 ? into_fail("attach", &e) : status;
}

static const struct option attach_options[] = {
    { 'i', "stdin", OPTION_FLAG, INTO_FIELD(stdin_), NULL, NULL,
      "pass standard input on; the container must have stdin: true" },
    { 't', "tty", OPTION_FLAG, INTO_FIELD(tty), NULL, NULL, "with the container's terminal; Ctrl-P Ctrl-Q leaves it" },
    INTO_CONTAINER,
    INTO_POD,
};

static const char *const attach_examples[] = { "pumice attach worker-0", "what it writes from now on",
                                               "pumice attach -it debug-0",
                                               "the terminal of a container with stdin and tty", NULL };

const struct command command_attach = {
    .name = "attach",
    .arguments = "[POD]",
    .summary = "attach to the output and input of a container",
    .about = "Prints the output of a container of a run from now on, its two streams separately, and passes input "
             "where it has\n"
             "one. Leaving does not end the container. The command ends when the container does.",
    .options = attach_options,
    .n_options = ARRAY_LEN(attach_options),
    .options_size = sizeof(struct into_options),
    .foreign = into_foreign,
    .examples = attach_examples,
    .run = attach_run,
};
