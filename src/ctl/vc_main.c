/* vc_main.c - which of Volcano's tools, which command; how it ends */
#include "api/meta.h"
#include "api/version.h"
#include "base/clock.h"
#include "base/util.h"
#include "ctl/vc.h"
#include "base/term.h"

enum { VC_FAILED = 255, VC_USAGE = 1 };

/* ---- what the commands share ---- */

struct str vc_namespace(const struct vc *v)
{
    return v->values->all_namespaces ? STR_NULL : str_of(v->values->namespace);
}

int vc_none(struct vc *v)
{
    buf_str(&v->out, STR("No resources found\n"));
    return 0;
}

struct str vc_number(struct vc *v, const struct json *j)
{
    int64_t n = 0;

    (void)json_to_i64(j, &n); /* none is 0 */
    return arena_fmt(v->arena, "%lld", (long long)n);
}

struct str vc_time(struct vc *v, struct str rfc3339)
{
    char text[64];
    struct tm tm;
    int64_t ms;
    time_t s;

    if (!rfc3339.n || clock_parse(rfc3339, &ms, NULL) < 0)
        return STR("0001-01-01 00:00:00 +0000 UTC");
    s = ms / 1000;
    if (!localtime_r(&s, &tm) || !strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S %z %Z", &tm))
        return rfc3339;
    return arena_str(v->arena, str_of(text));
}

void vc_table(struct vc *v, const struct vc_column *columns, size_t n, const struct str *cells, size_t n_cells)
{
    size_t *width = arena_array(v->arena, size_t, n);

    for (size_t i = 0; i < n; i++)
        width[i] = MAX_OF(columns[i].width, columns[i].head_gap ? strlen(columns[i].head) + columns[i].head_gap : 0);
    for (size_t i = 0; i < n_cells; i++)
        if (columns[i % n].cell_gap)
            width[i % n] = MAX_OF(width[i % n], cells[i].n + columns[i % n].cell_gap);
    for (size_t i = 0; i < n; i++)
        buf_fmt(&v->out, "%-*s%s", (int)width[i], columns[i].head, i + 1 == n ? "\n" : "");
    for (size_t i = 0; i < n_cells; i++) {
        buf_str(&v->out, cells[i]);
        buf_repeat(&v->out, ' ', width[i % n] > cells[i].n ? width[i % n] - cells[i].n : 0);
        if (i % n == n - 1)
            buf_char(&v->out, '\n');
    }
}

int vc_version(struct vc *v, struct err *e)
{
    (void)e;
    buf_fmt(&v->out,
            "API Version: v1alpha1\nVersion: %s (pumice)\nGit SHA: Not provided.\nBuilt At: Not provided.\n"
            "Go Version: none, %s\nGo OS/Arch: linux/%s\n",
            PUMICE_VERSION, __VERSION__, BUILD_ARCH);
    return 0;
}

/* ---- errors ---- */

/* The path without our paging: Volcano's tools request a list in one piece. */
static struct str asked_path(const struct ctl *c)
{
    static const char *const ours[] = { "?limit=", "&limit=" };
    struct str path = c->asked.path;

    for (size_t i = 0; i < ARRAY_LEN(ours); i++) {
        const char *at = path.n ? strstr(path.p, ours[i]) : NULL;

        path = at ? str_sub(path, 0, (size_t)(at - path.p)) : path;
    }
    return path;
}

static struct str refused_text(struct vc *v)
{
    struct str server = v->ctl.config.server, host = server;
    const char *method = v->ctl.asked.method, *at = strstr(server.p, "://");

    host = at ? str_from(server, (size_t)(at - server.p) + 3) : server;
    if (str_starts(host, STR("localhost:")))
        host = arena_fmt(v->arena, "127.0.0.1%.*s", STR_ARG(str_from(host, strlen("localhost"))));
    return arena_fmt(v->arena, "%c%.*s \"%.*s%.*s\": dial tcp %.*s: connect: connection refused", method[0],
                     STR_ARG(arena_lower(v->arena, str_of(method + 1))), STR_ARG(server), STR_ARG(asked_path(&v->ctl)),
                     STR_ARG(host));
}

/* A refused connection is described as those tools do; the rest is the server's own sentence. */
static void say_failed(struct vc *v, const struct vc_line *line, const struct err *e)
{
    bool is_refused = v->ctl.asked.method && strstr(e->text, "Connection refused");
    struct str text = v->printed.n ? v->printed : is_refused ? refused_text(v) : ctl_message(&v->ctl, e);

    buf_str(&v->out, STR("Failed to"));
    for (size_t i = line->depth; i-- > 1;)
        buf_fmt(&v->out, " %s", line->path[i]->name);
    buf_fmt(&v->out, ": %.*s\n", STR_ARG(text));
}

/* ---- running ---- */

static int vc_main_connect_to(struct vc *v, struct err *e)
{
    struct ctl_where where = { .kubeconfig = v->values->kubeconfig[0] ? v->values->kubeconfig : NULL,
                               .server = v->values->master[0] ? v->values->master : NULL,
                               .falls_on_localhost = true };

    if (where.kubeconfig && access(where.kubeconfig, F_OK) < 0)
        return err_set(e, ERR_NOT_FOUND, "stat %s: no such file or directory", where.kubeconfig);
    return ctl_open(&v->ctl, v->arena, &where, e);
}

static int vc_main_run(struct arena *a, const struct vc_line *line)
{
    const struct vc_command *c = line->path[line->depth - 1];
    struct vc v = { .arena = a, .values = &line->values };
    struct err e = { 0 };
    int rc = line->values.master ? vc_main_connect_to(&v, &e) : 0;

    if (rc == 0)
        rc = c->run(&v, &e);
    if (rc < 0)
        say_failed(&v, line, &e);
    if (term_print(&v.out) < 0)
        rc = -1;
    ctl_close(&v.ctl);
    buf_done(&v.out);
    return rc < 0 ? VC_FAILED : 0;
}

static int vc_main_print(FILE *f, const struct buf *text, int status)
{
    return term_write(f, text) < 0 && status == 0 ? VC_USAGE : status;
}

/* "vcctl help job list": of the command that the words lead to. */
static int help_about(struct arena *a, const struct vc_command *tool, char **words)
{
    autobuf text = { 0 }, wrong = { 0 };
    struct vc_line line;

    if (vc_parse(a, tool, words, &line, &wrong) == 0) {
        vc_help(&text, &line);
        return vc_main_print(stdout, &text, 0);
    }
    buf_str(&text, STR("Unknown help topic [`"));
    for (size_t i = 0; words[i]; i++)
        buf_fmt(&text, "%s%s", i ? "` `" : "", words[i]);
    buf_str(&text, STR("`]\n"));
    vc_usage_without_help(&text, tool);
    return vc_main_print(stderr, &text, 0);
}

static int wrong_use(const struct vc_line *line, const struct buf *wrong, bool is_flag)
{
    autobuf text = { 0 };

    if (line->depth == 1 && is_flag) { /* of the tool itself: with how it is used */
        vc_usage(&text, line);
        buf_char(&text, '\n');
    }
    buf_fmt(&text, "Error: %s\n", wrong->p);
    return vc_main_print(stderr, &text, VC_USAGE);
}

static int tool_main(const struct vc_command *tool, char **words)
{
    autoarena a = { 0 };
    autobuf wrong = { 0 }, text = { 0 };
    struct vc_line line;

    if (tool->subs && words[0] && strcmp(words[0], "help") == 0)
        return help_about(&a, tool, words + 1);
    if (vc_parse(&a, tool, words, &line, &wrong) < 0)
        return wrong_use(&line, &wrong, strncmp(wrong.p, "unknown command", 15) != 0);
    if (line.values.help || line.path[line.depth - 1]->subs) {
        vc_help(&text, &line);
        return vc_main_print(stdout, &text, 0);
    }
    return vc_main_run(&a, &line);
}

int vc_main(int argc, char **argv)
{
    const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;
    const char *name = argc > 0 ? (slash ? slash + 1 : argv[0]) : "";

    for (const struct vc_command *const *t = vc_tools; *t; t++)
        if (strcmp((*t)->name, name) == 0)
            return tool_main(*t, argv + 1);
    return -1;
}
