/* store.c - `pumice server backup|restore|check`: looking after the store of a server */
#include "program/server/store.h"

#include "base/util.h"
#include "cli/commands.h"
#include "program/server/server.h"
#include "base/term.h"
#include "store/backup.h"

static const struct store_action {
    const char *name, *arguments;
    size_t min, max; /* of arguments */
    int (*run)(const struct server_store_options *o, const struct text_list *arguments);
} actions[] = {
    { "backup", "FILE", 1, 1, cmd_server_backup },
    { "restore", "FILE", 1, 1, cmd_server_restore },
    { "check", "[FILE]", 0, 1, cmd_server_check },
};

static int store_fail(const char *name, const struct err *e, int status)
{
    char command[32];

    (void)snprintf(command, sizeof(command), "server %s", name);
    return command_fail(command, e, status);
}

static int store_say(struct buf *text)
{
    return term_print(text) == 0 ? EXIT_FINE : EXIT_FAILED;
}

static void print_facts(struct buf *out, const struct store_facts *f)
{
    buf_fmt(out, "%llu objects at revision %llu (%llu records, format %lld)", (unsigned long long)f->objects,
            (unsigned long long)f->rev, (unsigned long long)f->records, (long long)f->format);
}

int cmd_server_backup(const struct server_store_options *o, const struct text_list *arguments)
{
    const char *file = arguments->list.v[0];
    struct store_facts facts;
    autobuf text = { 0 };
    struct err e = { 0 };

    if (store_backup(o->dir, file, &facts, &e) < 0)
        return store_fail("backup", &e, EXIT_FAILED);
    buf_fmt(&text, "%s: ", file);
    print_facts(&text, &facts);
    buf_char(&text, '\n');
    return store_say(&text);
}

int cmd_server_restore(const struct server_store_options *o, const struct text_list *arguments)
{
    const char *file = arguments->list.v[0];
    struct store_facts facts;
    autobuf text = { 0 };
    struct err e = { 0 };

    if (store_restore_file(file, o->dir, &facts, &e) < 0)
        return store_fail("restore", &e, EXIT_FAILED);
    buf_fmt(&text, "%s: ", o->dir);
    print_facts(&text, &facts);
    buf_fmt(&text, "\nThe old store is kept as %s/store.db.old.\n", o->dir);
    return store_say(&text);
}

static void print_problem(void *ctx, struct str what)
{
    struct buf *out = ctx;

    buf_str(out, what);
    buf_char(out, '\n');
}

int cmd_server_check(const struct server_store_options *o, const struct text_list *arguments)
{
    const char *path = arguments->list.n ? arguments->list.v[0] : o->dir;
    autobuf text = { 0 };
    struct store_check_options opt = { .secret_keys = o->secret_keys, .problem = print_problem, .ctx = &text };
    struct store_facts facts;
    struct err e = { 0 };

    if (store_check(path, &opt, &facts, &e) < 0) {
        (void)store_say(&text); /* the sentence below is the answer */
        return store_fail("check", &e, EXIT_FAILED);
    }
    buf_fmt(&text, "%s: ", path);
    print_facts(&text, &facts);
    buf_str(&text, STR(", no problems\n"));
    return store_say(&text);
}

int server_store_run(const struct server_store_options *o, const struct text_list *arguments)
{
    struct text_list rest = *arguments;
    struct err e = { 0 };

    for (size_t i = 0; i < ARRAY_LEN(actions); i++) {
        if (strcmp(arguments->list.v[0], actions[i].name) != 0)
            continue;
        rest.list.v++;
        rest.list.n--;
        if (rest.list.n >= actions[i].min && rest.list.n <= actions[i].max)
            return actions[i].run(o, &rest);
        (void)err_set(&e, ERR_INVALID, "usage: pumice server %s %s", actions[i].name, actions[i].arguments);
        return store_fail(actions[i].name, &e, EXIT_USAGE);
    }
    (void)err_set(&e, ERR_INVALID, "\"%s\": there are backup FILE, restore FILE and check [FILE]",
                  arguments->list.v[0]);
    return command_fail("server", &e, EXIT_USAGE);
}

/* ---- the commands ---- */

struct store_command_options {
    const char *data_dir;
    struct text_list secret_keys;
};

const char *const *server_secret_keys(struct arena *a, const struct text_list *files)
{
    const char **list = arena_array(a, const char *, files->list.n + 1);

    for (size_t i = 0; i < files->list.n; i++)
        list[i] = files->list.v[i];
    list[files->list.n] = NULL;
    return list;
}

static int run_word(const char *word, struct arena *a, const void *options, const struct text_list *arguments)
{
    const struct store_command_options *o = options;
    struct server_store_options opt = { .secret_keys = server_secret_keys(a, &o->secret_keys) };
    struct text_list words = { 0 };
    struct str dir;
    struct err e;

    if (server_dir_find(a, o->data_dir, &dir, &e) < 0)
        return store_fail(word, &e, EXIT_USAGE);
    opt.dir = arena_fmt(a, "%.*s/" SERVER_STORE_DIR, STR_ARG(dir)).p;
    *vec_push(a, &words.list) = word;
    VEC_FOREACH(argument, &arguments->list)
        *vec_push(a, &words.list) = *argument;
    return server_store_run(&opt, &words);
}

static int backup_run(struct arena *a, const void *options, const struct text_list *arguments)
{
    return run_word("backup", a, options, arguments);
}

static int restore_run(struct arena *a, const void *options, const struct text_list *arguments)
{
    return run_word("restore", a, options, arguments);
}

static int check_run(struct arena *a, const void *options, const struct text_list *arguments)
{
    return run_word("check", a, options, arguments);
}

#define FIELD(name) offsetof(struct store_command_options, name)
#define DATA_DIR    OPTION_ROW(0, "data-dir", OPTION_TEXT, FIELD(data_dir), "DIR", NULL, "of the server")

static const struct option copy_table[] = { DATA_DIR };

static const struct option check_table[] = {
    DATA_DIR,
    { 0, "secret-key", OPTION_LIST, FIELD(secret_keys), "FILE", NULL,
      "look also into Secrets that were sealed with it (may be repeated)" },
};

static const char *const backup_examples[] = {
    "pumice server backup pumice.backup",
    "a copy of all objects at one moment; the server may run",
    NULL,
};

const struct command command_server_backup = {
    .name = "server backup",
    .arguments = "FILE",
    .summary = "copy all objects of a server into a file",
    .about =
        "The copy is of one moment, checked and synced before it takes the place of an older FILE. A server that\n"
        "runs is not disturbed. Secrets that are sealed on the disk (--secret-key of `pumice server`) are sealed in\n"
        "the copy. Users, keys and PersistentVolumeClaims are files below --data-dir and not in it.",
    .options = copy_table,
    .n_options = ARRAY_LEN(copy_table),
    .options_size = sizeof(struct store_command_options),
    .examples = backup_examples,
    .run = backup_run,
};

const struct command command_server_restore = {
    .name = "server restore",
    .arguments = "FILE",
    .summary = "replace all objects of a server by those of a backup",
    .about =
        "The server must not run. The copy is checked first; what was there is kept as store/store.db.old. Revisions\n"
        "go on far beyond both, so that clients which saw later ones list again.",
    .options = copy_table,
    .n_options = ARRAY_LEN(copy_table),
    .options_size = sizeof(struct store_command_options),
    .run = restore_run,
};

const struct command command_server_check = {
    .name = "server check",
    .arguments = "[FILE]",
    .summary = "check all objects of a server or a backup for damage",
    .about =
        "Reads everything: the structure of the file, the checksum of each record, whether it is an object and the\n"
        "one it says it is. A server may run meanwhile. Status 1 if anything is wrong, with a line for each.",
    .options = check_table,
    .n_options = ARRAY_LEN(check_table),
    .options_size = sizeof(struct store_command_options),
    .run = check_run,
};
