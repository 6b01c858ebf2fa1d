/* config.c - settings of the server: options, --config, and both again on SIGHUP
 *
 * The file has options by name, and the command line wins. On SIGHUP it is read again, and the files that it names; what
 * can change while pods run changes, and of the rest it is said that it needs another start. If anything is wrong nothing
 * changes.
 */
#include "api/duration.h"
#include "auth/auth.h"
#include "base/log.h"
#include "base/util.h"
#include "cli/commands.h"
#include "program/log_options.h"
#include "program/server/server.h"
#include "driver/driver.h"

enum { GRACE_MS = 30000 };

static const char *const live[] = {
    "drain", "shutdown-grace-period", "scheduler-config", "access-config", "log-level", "log-format"
};

/* What is wrong with the value of an option: where it stands, and what is wrong. */
static int config_wrong(struct arena *a, const struct server_command_options *o, const char *name, struct err *e)
{
    return err_wrap(e, "%s", option_said(a, &command_server, o->config, name, o).p);
}

static int read_grace(struct arena *a, const struct server_command_options *o, int64_t *ret_ms, struct err *e)
{
    int64_t ns = (int64_t)GRACE_MS * 1000000;

    if (o->shutdown_grace && duration_parse(str_of(o->shutdown_grace), &ns, e) < 0)
        return config_wrong(a, o, "shutdown-grace-period", e);
    *ret_ms = MAX_OF(ns / 1000000, 0);
    return 0;
}

/* All that is the machine's is below --data-dir too. */
static int find_dirs(struct serve *s, struct err *e)
{
    if (server_dir_find(s->arena, s->o->data_dir, &s->data_dir, e) < 0)
        return -1;
    s->machine_options = s->o->machine;
    s->machine_options.state = arena_fmt(s->arena, "%.*s/node", STR_ARG(s->data_dir)).p;
    if (!s->machine_options.claims)
        s->machine_options.claims = arena_fmt(s->arena, "%.*s/claims", STR_ARG(s->data_dir)).p;
    return 0;
}

/* Pods and PodGroups of this server are its own scheduler's, whatever the file calls it. */
static int open_scheduler(struct serve *s, const char *path, struct err *e)
{
    if (config_watch_open(&s->sched_watch, path, &s->sched, e) < 0)
        return -1;
    s->sched.scheduler_name = STR("volcano");
    return 0;
}

int serve_config_read(struct serve *s, const struct server_command_options *given, struct json **ret_capacity,
                      struct err *e)
{
    s->given = given;
    s->options = *given;
    s->o = &s->options;
    s->is_root = geteuid() == 0;
    if (given->config && options_file(s->arena, &command_server, given->config, &s->options, e) < 0)
        return err_wrap(e, "--config");
    if (read_grace(s->arena, s->o, &s->grace_ms, e) < 0)
        return -1;
    if (s->o->capacity && machine_capacity(s->arena, str_of(s->o->capacity), ret_capacity, e) < 0)
        return config_wrong(s->arena, s->o, "capacity", e);
    if (serve_policy_read(s, s->o, &s->policy, e) < 0)
        return config_wrong(s->arena, s->o, "access-config", e);
    if (open_scheduler(s, s->o->scheduler_config, e) < 0)
        return -1;
    if (machine_node_name(s->arena, s->o->name, &s->node_name, e) < 0 || find_dirs(s, e) < 0)
        return -1;
    serve_announce_find(s);
    return 0;
}

/* ---- again ---- */

static bool is_live(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(live); i++)
        if (strcmp(name, live[i]) == 0)
            return true;
    return false;
}

/* Only those that are live, which are texts and flags. */
static void config_take_over(struct serve *s, const struct option *o, const struct server_command_options *fresh)
{
    void *to = (char *)&s->options + o->offset;
    const void *from = (const char *)fresh + o->offset;
    const char *text;

    if (o->kind == OPTION_FLAG) {
        *(bool *)to = *(const bool *)from;
        return;
    }
    text = *(const char *const *)from;
    *(const char **)to = text ? arena_cstr(s->arena, str_of(text)) : NULL;
}

static int read_again(struct serve *s, struct arena *a, struct err *e)
{
    struct server_command_options fresh = *s->given;
    struct serve_policy policy = { 0 };
    int64_t grace_ms = 0;

    if (fresh.config && options_file(a, &command_server, fresh.config, &fresh, e) < 0)
        return err_wrap(e, "--config");
    if (read_grace(a, &fresh, &grace_ms, e) < 0)
        return -1;
    if (serve_policy_read(s, &fresh, &policy, e) < 0)
        return config_wrong(a, &fresh, "access-config", e);
    if (open_scheduler(s, fresh.scheduler_config ? arena_cstr(s->arena, str_of(fresh.scheduler_config)) : NULL, e) <
        0) {
        arena_done(&policy.arena);
        return -1;
    }
    serve_policy_take(s, &policy);
    s->grace_ms = grace_ms;
    for (size_t i = 0; i < command_server.n_options; i++) {
        const struct option *o = &command_server.options[i];

        if (option_is_same(o, &fresh, &s->options))
            continue;
        if (is_live(o->name))
            config_take_over(s, o, &fresh);
        else
            log_warn("Changed setting takes effect at the next start", LOG_TEXT("setting", o->name));
    }
    return 0;
}

void serve_config_again(struct serve *s)
{
    autoarena a = { 0 };
    struct err e;

    supervisor_tell_reload(&s->supervisor);
    auth_reopen(s->auth); /* the audit log */
    if (read_again(s, &a, &e) < 0) {
        log_error("Failed to reload the settings; keeping the old ones", LOG_TEXT("error", e.text));
    } else {
        log_options_apply(s->o->log_level, s->o->log_format);
        driver_configure(s->driver, &s->sched);
        log_info("Reloaded the settings", LOG_TEXT("file", s->o->config ? s->o->config : "the command line"));
    }
    supervisor_tell(&s->supervisor, "READY=1");
}

int64_t serve_config_turn(struct serve *s)
{
    int64_t due_ms;

    if (config_watch_turn(&s->sched_watch, &s->sched)) {
        s->sched.scheduler_name = STR("volcano");
        driver_configure(s->driver, &s->sched);
    }
    config_watch_tell(&s->sched_watch, s->driver);
    due_ms = config_watch_due_ms(&s->sched_watch);
    return due_ms == INT64_MAX ? due_ms : MAX_OF(due_ms - clock_mono_ms(&clock_real), 0);
}
