/* server_store.c - `pumice server backup|restore|check`: looking after the store of a server */
#include "cli/server_store.h"

#include "base/util.h"
#include "report/term.h"
#include "store/backup.h"

static const struct action {
    const char *name, *arguments;
    size_t min, max; /* of arguments */
    int (*run)(const struct server_store_options *o, const struct text_list *arguments);
} actions[] = {
    { "backup", "FILE", 1, 1, cmd_server_backup },
    { "restore", "FILE", 1, 1, cmd_server_restore },
    { "check", "[FILE]", 0, 1, cmd_server_check },
};

static int fail(const char *name, const struct err *e, int status)
{
    char command[32];

    (void)snprintf(command, sizeof(command), "server %s", name);
    return command_fail(command, e, status);
}

static int say(struct buf *text)
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
        return fail("backup", &e, EXIT_FAILED);
    buf_fmt(&text, "%s: ", file);
    print_facts(&text, &facts);
    buf_char(&text, '\n');
    return say(&text);
}

int cmd_server_restore(const struct server_store_options *o, const struct text_list *arguments)
{
    const char *file = arguments->list.v[0];
    struct store_facts facts;
    autobuf text = { 0 };
    struct err e = { 0 };

    if (store_restore_file(file, o->dir, &facts, &e) < 0)
        return fail("restore", &e, EXIT_FAILED);
    buf_fmt(&text, "%s: ", o->dir);
    print_facts(&text, &facts);
    buf_fmt(&text, "\nWhat was there is kept as %s/store.db.old.\n", o->dir);
    return say(&text);
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
        (void)say(&text); /* the sentence below is the answer */
        return fail("check", &e, EXIT_FAILED);
    }
    buf_fmt(&text, "%s: ", path);
    print_facts(&text, &facts);
    buf_str(&text, STR(", no problems\n"));
    return say(&text);
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
        return fail(actions[i].name, &e, EXIT_USAGE);
    }
    (void)err_set(&e, ERR_INVALID, "\"%s\": there are backup FILE, restore FILE and check [FILE]",
                  arguments->list.v[0]);
    return command_fail("server", &e, EXIT_USAGE);
}
