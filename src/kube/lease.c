/* lease.c - sends the requests of an election and feeds it the answers */
#include "kube/lease.h"

#include "api/meta.h"
#include "api/types.h"
#include "base/clock.h"
#include "base/codec.h"
#include "base/util.h"

struct lease {
    struct election election;
    struct cluster *cluster;
    struct clock *clock;
    struct buf namespace, name, identity;
    const struct resource_type *type;
    struct object *seen; /* the Lease as it is; what others put into it stays there */
    uint64_t token;      /* of what is on its way; 0: nothing is, or it has been given up */
    int64_t sent_ms;
    struct err trouble;
};

/* ---- a clock that does not stop when the machine does ---- */

static int64_t boot_us(struct clock *c)
{
    struct timespec t;

    (void)c;
    (void)clock_gettime(CLOCK_BOOTTIME, &t); /* always there */
    return t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static int64_t wall_us(struct clock *c)
{
    (void)c;
    return clock_now_us(&clock_real);
}

static struct clock clock_boot = { wall_us, boot_us };

static int64_t lease_now_of(const struct lease *l)
{
    return clock_mono_ms(l->clock);
}

/* ---- life ---- */

static void lease_identity_make(struct buf *out)
{
    char host[256] = "";
    char room[UUID_CHARS];
    uint8_t r[UUID_BYTES];

    (void)gethostname(host, sizeof(host) - 1); /* the rest is enough */
    rand_os_bytes(r, sizeof(r));
    r[6] = (uint8_t)((r[6] & 0x0f) | 0x40);
    r[8] = (uint8_t)((r[8] & 0x3f) | 0x80);
    buf_fmt(out, "%s_", host);
    buf_str(out, uuid_print(r, room));
}

struct lease *lease_new(const struct lease_options *opt)
{
    struct lease *l = xcalloc(1, sizeof(*l));

    l->cluster = opt->cluster;
    l->clock = opt->clock ? opt->clock : &clock_boot;
    l->type = type_by_kind(STR("coordination.k8s.io/v1"), STR("Lease"));
    buf_str(&l->namespace, opt->namespace);
    buf_str(&l->name, opt->name);
    buf_str(&l->identity, opt->identity);
    if (!l->identity.n)
        lease_identity_make(&l->identity);
    election_init(&l->election, buf_view(&l->identity), &opt->times, opt->seed ? opt->seed : rand_os_u64());
    return l;
}

void lease_free(struct lease *l)
{
    if (!l)
        return;
    object_unref(l->seen);
    election_done(&l->election);
    buf_done(&l->namespace);
    buf_done(&l->name);
    buf_done(&l->identity);
    free(l);
}

/* ---- writing ---- */

static struct json *body_of(struct lease *l, struct arena *a, const struct lease_record *r)
{
    struct json *body, *spec;

    if (l->seen && r->rev)
        body = json_copy(a, l->seen->root);
    else
        body = object_new(a, "coordination.k8s.io/v1", "Lease", buf_view(&l->namespace), buf_view(&l->name));
    spec = json_need_object(a, body, "spec");
    if (!spec)
        spec = json_set(body, "spec", json_object(a));
    json_set(spec, "holderIdentity", json_str(a, r->holder));
    json_set(spec, "leaseDurationSeconds", json_int(a, MAX_OF(r->duration_ms / 1000, 1)));
    json_set(spec, "acquireTime", json_str(a, r->acquired));
    json_set(spec, "renewTime", json_str(a, r->renewed));
    json_set(spec, "leaseTransitions", json_int(a, r->transitions));
    return body;
}

static void send_write(struct lease *l)
{
    autoarena a = { 0 };
    autobuf now = { 0 };
    struct lease_record r;
    struct op op = {
        .kind = OP_UPDATE, .type = l->type, .namespace = buf_view(&l->namespace), .name = buf_view(&l->name)
    };

    clock_print_us(&now, clock_now_us(l->clock));
    r = election_record(&l->election, buf_view(&now));
    if (!r.rev)
        op.kind = OP_CREATE;
    op.body = body_of(l, &a, &r);
    l->token = cluster_write(l->cluster, &op);
}

static void send_due(struct lease *l)
{
    enum election_step step;

    while ((step = election_step(&l->election, lease_now_of(l))) != ELECTION_WAITS) {
        l->sent_ms = l->election.sent_ms;
        if (step == ELECTION_READS)
            l->token = cluster_read(l->cluster, l->type, buf_view(&l->namespace), buf_view(&l->name));
        else
            send_write(l);
    }
}

/* ---- answers ---- */

enum { DURATION_MAX_S = 24 * 3600 }; /* a limit for bad values */

static struct lease_record record_of(const struct object *o)
{
    const struct json *spec = json_get(o->root, "spec");
    int64_t seconds = json_i64(json_get(spec, "leaseDurationSeconds"), 0);

    return (struct lease_record){ .holder = json_member_text(spec, "holderIdentity"),
                                  .duration_ms = MAX_OF(MIN_OF(seconds, DURATION_MAX_S), 0) * 1000,
                                  .acquired = json_member_text(spec, "acquireTime"),
                                  .renewed = json_member_text(spec, "renewTime"),
                                  .transitions = json_i64(json_get(spec, "leaseTransitions"), 0),
                                  .rev = o->rev };
}

static void lease_answered(struct lease *l, const struct cluster_event *ev)
{
    bool was_read = l->election.flight == ELECTION_READS;
    struct lease_record r;

    l->token = 0;
    l->trouble = ev->err;
    if (ev->err.code != ERR_OK || (!ev->object && !was_read)) {
        election_failed(&l->election, lease_now_of(l));
        return;
    }
    object_unref(l->seen);
    l->seen = ev->object ? object_ref(ev->object) : NULL;
    if (!l->seen) {
        election_saw(&l->election, NULL, lease_now_of(l));
        return;
    }
    r = record_of(l->seen);
    if (was_read)
        election_saw(&l->election, &r, lease_now_of(l));
    else
        election_wrote(&l->election, &r, lease_now_of(l));
}

/* Half of the time that a leader has, so that there is another try in it. */
static int64_t patience_ms(const struct lease *l)
{
    return l->election.times.deadline_ms / 2;
}

static void give_up_late(struct lease *l)
{
    if (!l->token || lease_now_of(l) < l->sent_ms + patience_ms(l))
        return;
    l->token = 0;
    (void)err_set(&l->trouble, ERR_IO, "no answer within %lld ms", (long long)patience_ms(l));
    election_failed(&l->election, lease_now_of(l));
}

int64_t lease_turn(struct lease *l)
{
    struct cluster_event ev;
    int64_t due_ms;

    (void)election_state(&l->election, lease_now_of(l)); /* before an answer is looked at that came too late */
    while (cluster_next(l->cluster, &ev))
        if (ev.kind == CLUSTER_RESULT && l->token && ev.token == l->token)
            lease_answered(l, &ev);
    give_up_late(l);
    send_due(l);
    due_ms = election_due_ms(&l->election);
    if (l->token)
        due_ms = MIN_OF(due_ms, l->sent_ms + patience_ms(l));
    return due_ms == INT64_MAX ? due_ms : MAX_OF(due_ms - lease_now_of(l), 0);
}

/* ---- asking ---- */

bool lease_is_valid(const struct lease *l)
{
    return election_is_valid(&l->election, lease_now_of(l));
}

int64_t lease_valid_ms(const struct lease *l)
{
    return lease_is_valid(l) ? l->election.valid_ms : INT64_MIN;
}

enum election_state lease_state(struct lease *l)
{
    return election_state(&l->election, lease_now_of(l));
}

void lease_release(struct lease *l)
{
    election_release(&l->election);
}

struct str lease_identity(const struct lease *l)
{
    return buf_view(&l->identity);
}

struct str lease_holder(const struct lease *l)
{
    return l->election.is_absent ? STR_NULL : buf_view(&l->election.holder);
}

int64_t lease_transitions(const struct lease *l)
{
    return l->election.transitions;
}

const struct err *lease_trouble(const struct lease *l)
{
    static const struct err silence = { ERR_IO, "the API server has not answered yet" };

    if (l->token && l->trouble.code == ERR_OK && l->election.state == ELECTION_LOST)
        return &silence;
    return l->trouble.code == ERR_OK ? NULL : &l->trouble;
}
