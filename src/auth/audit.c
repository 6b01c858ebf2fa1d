/* audit.c - the audit log */
#include "auth/audit.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "os/io.h"

#include <errno.h>
#include <sys/stat.h>

enum { KEEPS = 4, BODY_MAX = 64 << 10, TEXT_MAX = 4096, KEEPS_MAX = 100 };
#define MAX_BYTES ((size_t)100 << 20)

struct audit {
    char *path;
    int fd; /* -1: it could not be opened, and is tried again */
    size_t size, max_bytes;
    unsigned keeps;
    bool has_bodies;
    struct clock *clock;
    struct audit_stats stats;
    uint64_t lost_since; /* something was written */
};

/* ---- files ---- */

static int audit_open_file(struct audit *a, struct err *e)
{
    struct stat st;

    a->fd = open(a->path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK | O_CLOEXEC, 0600);
    if (a->fd < 0)
        return err_errno(e, "audit log %s", a->path);
    if (fstat(a->fd, &st) < 0 || !S_ISREG(st.st_mode) || fchmod(a->fd, 0600) < 0) {
        close(a->fd);
        a->fd = -1;
        return err_set(e, ERR_INVALID, "audit log %s: must be a regular file owned by the user of the server", a->path);
    }
    a->size = (size_t)st.st_size;
    return 0;
}

int audit_open(const struct audit_options *opt, struct audit **ret, struct err *e)
{
    struct audit *a = xcalloc(1, sizeof(*a));

    a->path = strdup(opt->path);
    a->max_bytes = opt->max_bytes ? opt->max_bytes : MAX_BYTES;
    a->keeps = opt->keeps ? MIN_OF(opt->keeps, (unsigned)KEEPS_MAX) : KEEPS;
    a->has_bodies = opt->has_bodies;
    a->clock = opt->clock ? opt->clock : &clock_real;
    if (audit_open_file(a, e) < 0) {
        audit_free(a);
        return -1;
    }
    *ret = a;
    return 0;
}

void audit_free(struct audit *a)
{
    if (!a)
        return;
    if (a->fd >= 0)
        close(a->fd);
    free(a->path);
    free(a);
}

void audit_reopen(struct audit *a)
{
    struct err e;

    if (a->fd >= 0)
        close(a->fd);
    if (audit_open_file(a, &e) < 0)
        log_error("Failed to reopen audit log", LOG_TEXT("file", a->path),
                  LOG_TEXT("error", e.text)); /* tried with the next line */
}

bool audit_has_bodies(const struct audit *a)
{
    return a->has_bodies;
}

/* The oldest first, so that nothing is overwritten that was not meant to. */
static void move_aside(struct audit *a)
{
    for (unsigned i = a->keeps; i > 0; i--) {
        autobuf from = { 0 }, to = { 0 };

        buf_fmt(&to, "%s.%u", a->path, i);
        buf_fmt(&from, "%s", a->path);
        if (i > 1)
            buf_fmt(&from, ".%u", i - 1);
        (void)rename(from.p, to.p); /* one that is not there is fine */
    }
    close(a->fd);
    a->fd = -1;
    a->stats.rotations++;
}

/* ---- lines ---- */

static void lose(struct audit *a, const char *why)
{
    a->stats.lost++;
    if (a->lost_since++ == 0)
        log_error("Failed to write audit log; its events are lost", LOG_TEXT("file", a->path), LOG_TEXT("error", why));
}

/* Whole lines only: what a full disk has cut is taken back. */
static bool audit_append(struct audit *a, struct str line)
{
    struct err e;

    if (a->fd >= 0 && a->size && a->size + line.n > a->max_bytes)
        move_aside(a);
    if (a->fd < 0 && audit_open_file(a, &e) < 0) {
        lose(a, e.text);
        return false;
    }
    if (write_all(a->fd, line) < 0) {
        int why = errno;

        (void)!ftruncate(a->fd, (off_t)a->size); /* else the next line begins behind a half one */
        lose(a, strerror(why));
        return false;
    }
    a->size += line.n;
    a->stats.written++;
    return true;
}

static void say_what_was_lost(struct audit *a)
{
    autobuf line = { 0 }, now = { 0 };
    uint64_t lost = a->lost_since;

    if (!lost)
        return;
    clock_print_us(&now, clock_now_us(a->clock));
    buf_fmt(
        &line,
        "{\"kind\":\"Event\",\"apiVersion\":\"audit.k8s.io/v1\",\"level\":\"Metadata\",\"stage\":\"Panic\","
        "\"verb\":\"lost\",\"requestReceivedTimestamp\":\"%s\",\"annotations\":{\"pumice/lost-events\":\"%llu\"}}\n",
        now.p, (unsigned long long)lost);
    a->lost_since = 0;
    if (audit_append(a, buf_view(&line)))
        log_warn("Audit log is writable again", LOG_U64("lost", lost));
    else
        a->lost_since = lost + 1;
}

/* ---- events ---- */

static const char *const write_verbs[] = { "create", "update", "patch", "delete", "deletecollection" };

static bool is_write(struct str verb)
{
    for (size_t i = 0; i < ARRAY_LEN(write_verbs); i++)
        if (str_is(verb, write_verbs[i]))
            return true;
    return false;
}

/* Bodies that are secret themselves, or often hold what is. */
static bool audit_is_secret(const struct rbac_question *q)
{
    static const char *const resources[] = { "secrets", "configmaps", "tokenreviews", "tokenrequests" };

    for (size_t i = 0; i < ARRAY_LEN(resources); i++)
        if (str_is(q->resource, resources[i]))
            return true;
    return str_is(q->subresource, "token");
}

static struct json *audit_text(struct arena *a, struct str s)
{
    return json_str(a, arena_str(a, str_cut(s, TEXT_MAX)));
}

static void audit_set_text(struct arena *a, struct json *j, const char *key, struct str s)
{
    if (s.n)
        json_set(j, key, audit_text(a, s));
}

static void audit_set_time(struct arena *a, struct json *j, const char *key, int64_t us)
{
    autobuf b = { 0 };

    clock_print_us(&b, us);
    json_set(j, key, audit_text(a, buf_view(&b)));
}

/* A token in the query, which no client of ours sends, stays out of the file too. */
static struct str uri_of(struct arena *a, struct str uri)
{
    ptrdiff_t query = str_find_char(uri, '?');
    struct str rest = query < 0 ? STR_NULL : str_from(uri, (size_t)query + 1), part;
    autobuf out = { 0 };

    if (query < 0)
        return uri;
    buf_str(&out, str_sub(uri, 0, (size_t)query + 1));
    for (bool is_first = true; str_split(&rest, '&', &part); is_first = false) {
        struct str name = part, value = part;

        (void)str_split(&value, '=', &name);
        if (str_has(arena_lower(a, name), STR("token")) && !str_is(name, "continue"))
            part = arena_fmt(a, "%.*s=-", STR_ARG(name));
        buf_fmt(&out, "%s%.*s", is_first ? "" : "&", STR_ARG(part));
    }
    return arena_str(a, buf_view(&out));
}

static void set_object(struct arena *a, struct json *j, const struct audit_event *ev)
{
    const struct rbac_question *q = ev->question;
    struct json *ref;

    if (!q || q->path.n || !q->resource.n)
        return;
    ref = json_set(j, "objectRef", json_object(a));
    audit_set_text(a, ref, "resource", q->resource);
    audit_set_text(a, ref, "namespace", q->namespace);
    audit_set_text(a, ref, "name", q->name);
    audit_set_text(a, ref, "apiGroup", q->group);
    audit_set_text(a, ref, "apiVersion", ev->version);
    audit_set_text(a, ref, "subresource", q->subresource);
}

static void set_status(struct arena *a, struct json *j, const struct audit_event *ev)
{
    struct json *status = json_set(j, "responseStatus", json_object(a));

    json_set(status, "metadata", json_object(a));
    if (ev->status >= 400)
        json_set(status, "status", json_str(a, STR("Failure")));
    audit_set_text(a, status, "reason", ev->reason);
    json_set(status, "code", json_int(a, ev->status));
}

static void set_body(struct arena *a, struct json *j, const struct audit_event *ev)
{
    autobuf size = { 0 };

    if (!ev->body)
        return;
    json_print(&size, ev->body);
    if (size.n <= BODY_MAX)
        json_set(j, "requestObject", json_copy(a, ev->body));
    else
        json_set(json_need_object(a, j, "annotations"), "pumice/request-object",
                 json_fmt(a, "left out: %zu bytes", size.n));
}

static struct json *event_of(const struct audit *audit, struct arena *a, const struct audit_event *ev)
{
    struct json *j = json_object(a), *notes;
    bool has_body = audit->has_bodies && ev->question && is_write(ev->question->verb) && !audit_is_secret(ev->question);

    json_set(j, "kind", json_str(a, STR("Event")));
    json_set(j, "apiVersion", json_str(a, STR("audit.k8s.io/v1")));
    json_set(j, "level", json_str(a, has_body ? STR("Request") : STR("Metadata")));
    json_set(j, "auditID", ev->id.n ? audit_text(a, ev->id) : json_str(a, uuid_make(a)));
    json_set(j, "stage", json_str(a, ev->is_started ? STR("ResponseStarted") : STR("ResponseComplete")));
    json_set(j, "requestURI", audit_text(a, uri_of(a, ev->uri)));
    audit_set_text(a, j, "verb", ev->question ? ev->question->verb : STR_NULL);
    json_set(j, "user", ev->who ? identity_to_json(a, ev->who) : json_object(a));
    if (ev->impersonated)
        json_set(j, "impersonatedUser", identity_to_json(a, ev->impersonated));
    if (ev->address.n)
        json_push(json_set(j, "sourceIPs", json_array(a)), audit_text(a, ev->address));
    audit_set_text(a, j, "userAgent", ev->agent);
    set_object(a, j, ev);
    set_status(a, j, ev);
    notes = json_set(j, "annotations", json_object(a));
    if (ev->who) {
        json_set(notes, "authorization.k8s.io/decision", json_str(a, ev->is_allowed ? STR("allow") : STR("forbid")));
        json_set(notes, "authorization.k8s.io/reason", audit_text(a, ev->why));
    }
    if (has_body)
        set_body(a, j, ev);
    audit_set_time(a, j, "requestReceivedTimestamp", ev->received_us);
    audit_set_time(a, j, "stageTimestamp", clock_now_us(audit->clock));
    return j;
}

void audit_write(struct audit *audit, const struct audit_event *ev)
{
    autoarena a = { 0 };
    autobuf line = { 0 };

    json_print(&line, event_of(audit, &a, ev));
    buf_char(&line, '\n');
    if (audit_append(audit, buf_view(&line))) /* what is lost is counted */
        say_what_was_lost(audit);
}

struct audit_stats audit_stats(const struct audit *a)
{
    return a->stats;
}
