/* shim_text.c - options, limits and events as they go over the wire */
#include "node/shim/shim_internal.h"

#include "base/util.h"

bool shim_name_is_good(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!(s.p[i] >= 'a' && s.p[i] <= 'z') && !(s.p[i] >= '0' && s.p[i] <= '9') && s.p[i] != '-')
            return false;
    return s.n > 0 && s.n <= 63; /* a DNS label, as Kubernetes has it */
}

/* ---- options ---- */

static void put_fd(struct wire_msg *m, int fd)
{
    m->fds[m->n_fds++] = fd;
}

void spawner_put_begin(struct buf *out, const struct spawner_begin *b, struct wire_msg *m)
{
    const struct spawner_options *o = &b->opt;

    wire_put_str(out, b->group);
    wire_put_str(out, b->place);
    wire_put_i64(out, b->now_us);
    wire_put_i64(out, b->mono_us);
    wire_put_i64(out, b->is_ordinary);
    wire_put_i64(out, b->log_level);
    wire_put_i64(out, b->log_format);
    wire_put_str(out, str_of(o->oci ? o->oci : ""));
    wire_put_str(out, str_of(o->oci_dir ? o->oci_dir : ""));
    wire_put_i64(out, o->outlives);
    wire_put_i64(out, o->files != NULL);
    wire_put_str(out, (struct str){ (const char *)&b->files, sizeof(b->files) });
    put_fd(m, o->program_fd);
    if (o->outlives) {
        put_fd(m, o->socket_dir);
        put_fd(m, o->words_fd);
    }
    for (const int *fd = o->held_fds; fd && *fd >= 0; fd++)
        put_fd(m, *fd);
}

/* 'held_fds' are not closed, so they stay open. */
int spawner_get_begin(struct arena *a, struct wire_msg *m, struct spawner_begin *ret, struct err *e)
{
    struct wire_read r = { .rest = m->payload };
    struct spawner_begin b = { .opt = { .socket_dir = -1, .words_fd = -1 } };
    struct str files;
    bool has_files;

    b.group = arena_str(a, wire_get_str(&r));
    b.place = arena_str(a, wire_get_str(&r));
    b.now_us = wire_get_i64(&r);
    b.mono_us = wire_get_i64(&r);
    b.is_ordinary = wire_get_i64(&r);
    b.log_level = (enum log_level)wire_get_i64(&r);
    b.log_format = (enum log_format)wire_get_i64(&r);
    b.opt.oci = arena_str(a, wire_get_str(&r)).p;
    b.opt.oci_dir = arena_str(a, wire_get_str(&r)).p;
    b.opt.outlives = wire_get_i64(&r);
    has_files = wire_get_i64(&r);
    files = wire_get_str(&r);
    if (!wire_is_read(&r) || files.n != sizeof(b.files) || m->n_fds < (b.opt.outlives ? 3 : 1))
        return err_set(e, ERR_INVALID, "malformed spawner options");
    memcpy(&b.files, files.p, sizeof(b.files));
    b.opt.program_fd = m->fds[0];
    if (b.opt.outlives) {
        b.opt.socket_dir = m->fds[1];
        b.opt.words_fd = m->fds[2];
    }
    m->n_fds = 0;
    if (!*b.opt.oci)
        b.opt.oci = NULL;
    *ret = b;
    ret->opt.files = has_files ? &ret->files : NULL;
    return 0;
}

void shim_put_limits(struct buf *out, const struct cgroup_limits *l)
{
    wire_put_i64(out, l->cpu_milli);
    wire_put_i64(out, l->cpu_shares_milli);
    wire_put_i64(out, l->memory_bytes);
    wire_put_i64(out, l->pids);
}

void shim_get_limits(struct wire_read *r, struct cgroup_limits *ret)
{
    ret->cpu_milli = wire_get_i64(r);
    ret->cpu_shares_milli = wire_get_i64(r);
    ret->memory_bytes = wire_get_i64(r);
    ret->pids = wire_get_i64(r);
    ret->dies_whole = false;
}

enum { HOST_NETWORK = 1, HOST_IPC = 2, HOST_PIDS = 4, SHARES_PIDS = 8 };

void shim_put_options(struct buf *out, const struct shim_options *o)
{
    wire_put_str(out, str_of(o->group));
    shim_put_limits(out, &o->limits);
    wire_put_str(out, o->only);
    wire_put_str(out, o->hostname);
    wire_put_i64(out, (o->has_host_network ? HOST_NETWORK : 0) | (o->has_host_ipc ? HOST_IPC : 0) |
                          (o->has_host_pids ? HOST_PIDS : 0) | (o->shares_pids ? SHARES_PIDS : 0));
    wire_put_str(out, str_of(o->log_dir));
    wire_put_i64(out, o->log_bytes);
    wire_put_i64(out, o->log_ahead);
    wire_put_str(out, o->note);
    wire_put_i64(out, (int64_t)o->sysctls.n);
    VEC_FOREACH(s, &o->sysctls) {
        wire_put_str(out, s->name);
        wire_put_str(out, s->value);
    }
    wire_put_i64(out, o->id_base);
}

int shim_get_options(struct arena *a, struct str text, struct shim_options *ret, struct err *e)
{
    struct wire_read r = { .rest = text };
    struct shim_options o = { 0 };
    int64_t flags;
    size_t n;

    o.group = arena_str(a, wire_get_str(&r)).p;
    shim_get_limits(&r, &o.limits);
    o.only = arena_str(a, wire_get_str(&r));
    o.hostname = arena_str(a, wire_get_str(&r));
    flags = wire_get_i64(&r);
    o.has_host_network = flags & HOST_NETWORK;
    o.has_host_ipc = flags & HOST_IPC;
    o.has_host_pids = flags & HOST_PIDS;
    o.shares_pids = flags & SHARES_PIDS;
    o.log_dir = arena_str(a, wire_get_str(&r)).p;
    o.log_bytes = wire_get_i64(&r);
    o.log_ahead = wire_get_i64(&r);
    o.note = arena_str(a, wire_get_str(&r));
    n = wire_get_count(&r, 16);
    for (size_t i = 0; i < n && !r.is_bad; i++) {
        struct shim_sysctl *s = vec_push(a, &o.sysctls);

        s->name = arena_str(a, wire_get_str(&r));
        s->value = arena_str(a, wire_get_str(&r));
    }
    o.id_base = (uint32_t)wire_get_i64(&r);
    if (!wire_is_read(&r) || o.log_bytes < 0 || o.log_ahead < 0)
        return err_set(e, ERR_INVALID, "malformed shim options");
    *ret = o;
    return 0;
}

/* ---- events ---- */

void shim_put_event(struct buf *out, const struct shim_event *ev)
{
    wire_put_str(out, ev->container);
    wire_put_i64(out, ev->attempt);
    wire_put_i64(out, ev->pid);
    wire_put_i64(out, ev->status);
    wire_put_i64(out, (ev->is_oom ? 1 : 0) | (ev->is_ok ? 2 : 0) | (ev->timed_out ? 4 : 0) | (ev->by_itself ? 8 : 0));
    wire_put_i64(out, ev->log_bytes);
    wire_put_i64(out, (int64_t)ev->id);
    wire_put_i64(out, ev->exit_code);
    wire_put_str(out, ev->text);
    wire_put_str(out, (struct str){ (const char *)&ev->stats, sizeof(ev->stats) });
    if (ev->kind != SHIM_FAILED)
        return;
    wire_put_i64(out, ev->report.status);
    wire_put_str(out, str_of(ev->report.reason));
    wire_put_str(out, str_of(ev->report.text));
}

static void get_fixed_text(struct wire_read *r, char *ret, size_t size)
{
    struct str s = wire_get_str(r);
    size_t n = MIN_OF(s.n, size - 1);

    if (n)
        memcpy(ret, s.p, n);
    ret[n] = '\0';
}

int shim_get_event(struct str text, struct shim_event *ret)
{
    struct wire_read r = { .rest = text };
    struct str stats;
    int64_t flags;

    ret->container = wire_get_str(&r);
    ret->attempt = (int)wire_get_i64(&r);
    ret->pid = (pid_t)wire_get_i64(&r);
    ret->status = (int)wire_get_i64(&r);
    flags = wire_get_i64(&r);
    ret->is_oom = flags & 1;
    ret->is_ok = flags & 2;
    ret->timed_out = flags & 4;
    ret->by_itself = flags & 8;
    ret->log_bytes = wire_get_i64(&r);
    ret->id = (uint64_t)wire_get_i64(&r);
    ret->exit_code = (int)wire_get_i64(&r);
    ret->text = wire_get_str(&r);
    stats = wire_get_str(&r);
    if (stats.n == sizeof(ret->stats))
        memcpy(&ret->stats, stats.p, stats.n);
    else
        r.is_bad = true;
    if (ret->kind == SHIM_FAILED) {
        ret->report.kind = BOX_FAILED;
        ret->report.status = (int)wire_get_i64(&r);
        get_fixed_text(&r, ret->report.reason, sizeof(ret->report.reason));
        get_fixed_text(&r, ret->report.text, sizeof(ret->report.text));
    }
    return wire_is_read(&r) ? 0 : -1;
}

/* ---- the state for a new program ---- */

static void put_con(struct buf *out, const struct shim_con *c)
{
    wire_put_str(out, c->name);
    wire_put_i64(out, c->attempt);
    wire_put_i64(out, c->state);
    wire_put_i64(out, c->pid);
    wire_put_i64(out, c->started_ms);
    wire_put_i64(out, c->ended_ms);
    wire_put_i64(out, c->status);
    wire_put_i64(out, (c->is_oom ? 1 : 0) | (c->by_itself ? 2 : 0));
    wire_put_str(out, c->reason);
    wire_put_str(out, c->text);
    wire_put_i64(out, (int64_t)c->devices.n);
    VEC_FOREACH(path, &c->devices)
        wire_put_str(out, *path);
}

static void get_con(struct arena *a, struct wire_read *r, struct shim_con *ret)
{
    int64_t state, flags;
    size_t n;

    ret->name = arena_str(a, wire_get_str(r));
    ret->attempt = (int)wire_get_i64(r);
    state = wire_get_i64(r);
    r->is_bad |= state < 0 || state >= SHIM_CON_STATE_MAX;
    ret->state = r->is_bad ? SHIM_CON_ENDED : (enum shim_con_state)state;
    ret->pid = (pid_t)wire_get_i64(r);
    ret->started_ms = wire_get_i64(r);
    ret->ended_ms = wire_get_i64(r);
    ret->status = (int)wire_get_i64(r);
    flags = wire_get_i64(r);
    ret->is_oom = flags & 1;
    ret->by_itself = flags & 2;
    ret->reason = arena_str(a, wire_get_str(r));
    ret->text = arena_str(a, wire_get_str(r));
    n = wire_get_count(r, 8);
    for (size_t i = 0; i < n && !r->is_bad; i++)
        *vec_push(a, &ret->devices) = arena_str(a, wire_get_str(r));
}

void shim_put_found(struct buf *out, const struct shim_found *f)
{
    wire_put_str(out, f->group);
    wire_put_str(out, f->note);
    wire_put_i64(out, (int64_t)f->cons.n);
    VEC_FOREACH(c, &f->cons)
        put_con(out, c);
}

int shim_get_found(struct arena *a, struct str text, struct shim_found *ret, struct err *e)
{
    struct wire_read r = { .rest = text };
    struct shim_found f = { 0 };
    size_t n;

    f.group = arena_str(a, wire_get_str(&r));
    f.note = arena_str(a, wire_get_str(&r));
    n = wire_get_count(&r, 80);
    for (size_t i = 0; i < n && !r.is_bad; i++)
        get_con(a, &r, vec_push(a, &f.cons));
    if (!wire_is_read(&r))
        return err_set(e, ERR_INVALID, "malformed answer of a shim");
    *ret = f;
    return 0;
}
