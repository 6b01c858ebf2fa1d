/* verb.c - how a verb is run, and what verbs share */
#include "ctl/verb.h"

#include "api/duration.h"
#include "base/util.h"
#include "os/io.h"
#include "base/term.h"
#include "yaml/yaml.h"

#include <errno.h>
#include <fcntl.h>

enum { FILE_MAX_BYTES = 64 << 20 };

int verb_flush(struct ctl_verb *v, struct err *e)
{
    int rc = (v->is_harmless ? term_draw : term_write)(stdout, &v->out);

    buf_reset(&v->out);
    return rc < 0 ? err_errno(e, "standard output") : 0;
}

static int verb_fail(const struct ctl_verb *v, const struct err *e)
{
    autobuf text = { 0 };

    buf_fmt(&text, "pumice %s: ", v->command);
    term_text(&text, ctl_message(&v->ctl, e));
    buf_char(&text, '\n');
    (void)term_write(stderr, &text); /* a broken stderr cannot be reported */
    return e->code == ERR_SYNTAX ? CTL_USAGE : ctl_exit(e);
}

static void verb_warn(const struct ctl_verb *v)
{
    VEC_FOREACH(text, &v->ctl.config.warnings) {
        autobuf line = { 0 };

        buf_fmt(&line, "pumice %s: warning: ", v->command);
        term_text(&line, *text);
        buf_char(&line, '\n');
        (void)term_write(stderr, &line); /* a broken stderr cannot be reported */
    }
}

int ctl_run(struct arena *a, const char *command, const struct ctl_options *o, struct ctl_words args, ctl_verb_f verb)
{
    struct ctl_verb v = { .arena = a, .o = o, .args = args, .command = command };
    struct ctl_where where = { .kubeconfig = o->kubeconfig, .context = o->context, .server = o->server };
    struct err e = { 0 }, quiet;
    int rc = ctl_open(&v.ctl, a, &where, &e);

    if (o->dry_run)
        v.ctl.dry = strcmp(o->dry_run, "server") == 0 ? CTL_DRY_SERVER : CTL_DRY_CLIENT;
    if (rc == 0) {
        verb_warn(&v);
        rc = verb(&v, &e);
    }
    if (verb_flush(&v, rc < 0 ? &quiet : &e) < 0)
        rc = -1;
    rc = rc < 0 ? verb_fail(&v, &e) : v.status;
    ctl_close(&v.ctl);
    buf_done(&v.out);
    return rc;
}

/* ---- what verbs share ---- */

struct str verb_namespace(const struct ctl_verb *v)
{
    if (v->o->all_namespaces)
        return STR_NULL;
    return v->o->namespace ? str_of(v->o->namespace) : v->ctl.config.namespace;
}

const char *verb_dry_note(const struct ctl_verb *v)
{
    return v->o->dry_run ? " (dry run)" : "";
}

int verb_needs_names(const struct ctl_verb *v, const char *what, struct err *e)
{
    return v->args.n ? 0 : err_set(e, ERR_SYNTAX, "missing %s; use: pumice %s NAME", what, v->command);
}

int verb_timeout(const struct ctl_verb *v, int64_t *ret_ms, struct err *e)
{
    int64_t ns;

    *ret_ms = -1;
    if (!v->o->timeout)
        return 0;
    if (duration_parse(str_of(v->o->timeout), &ns, e) < 0 || ns < 0)
        return err_set(e, ERR_SYNTAX, "--timeout: \"%s\" is not a duration; write 90s, 10m or 2h", v->o->timeout);
    *ret_ms = ns / 1000000;
    return 0;
}

/* ---- files ---- */

static int read_stdin(struct arena *a, struct str *ret, struct err *e)
{
    autobuf text = { 0 };
    ssize_t n;

    do {
        n = read(STDIN_FILENO, buf_reserve(&text, 64 << 10), 64 << 10);
        text.n += n > 0 ? (size_t)n : 0;
        if (text.n > FILE_MAX_BYTES)
            return err_set(e, ERR_TOO_BIG, "standard input: more than 64 MiB");
    } while (n > 0 || (n < 0 && errno == EINTR));
    if (n < 0)
        return err_errno(e, "standard input");
    *ret = arena_str(a, buf_view(&text));
    return 0;
}

int verb_read(struct ctl_verb *v, const char *path, struct ctl_objects *ret, struct err *e)
{
    struct yaml_docs docs = { 0 };
    struct str text = STR_NULL;

    if (strcmp(path, "-") == 0) {
        if (read_stdin(v->arena, &text, e) < 0)
            return -1;
    } else if (access(path, R_OK) < 0) {
        return err_errno(e, "-f %s", path);
    } else {
        text = file_text(v->arena, AT_FDCWD, path, FILE_MAX_BYTES);
    }
    if (yaml_parse(v->arena, text, &(struct yaml_options){ .file = path }, &docs, e) < 0)
        return -1;
    for (size_t i = 0; i < docs.n; i++) {
        if (docs.v[i]->type != JSON_OBJECT)
            return err_set(e, ERR_INVALID, "%s: line %u: not an object", path, docs.v[i]->line);
        *vec_push(v->arena, &ret->v) = docs.v[i];
    }
    return docs.n ? 0 : err_set(e, ERR_INVALID, "%s: the file is empty", path);
}
