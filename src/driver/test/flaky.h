/* flaky.h - a cluster that can be told to fail, for the tests of this folder; once in each, after <cmocka.h> */
#ifndef DRIVER_TEST_FLAKY_H
#define DRIVER_TEST_FLAKY_H

#include "base/buf.h"
#include "base/util.h"
#include "cluster/cluster.h"

struct flaky {
    struct cluster cluster;
    struct cluster *inner;
    enum op_kind fail_op;      /* writes of this sort (creates, unless it is set) … */
    const char *fail_kind;     /* … of this kind … */
    enum err_code code;        /* … are refused with this */
    unsigned fail_left;        /* that many times */
    bool takes_effect;         /* the write is done, but the answer is "unknown" */
    bool drops;                /* there is no answer at all */
    bool holds;                /* answers to such writes wait until this is false again */
    struct cluster_event held; /* the one that waits; holds a reference */
    uint64_t held_token;
    struct {
        uint64_t token;
        bool is_unknown, is_dropped;
        enum err_code code;
    } bad[256];
    size_t n_bad;
    unsigned n_tries; /* of such writes */
    struct buf log;   /* of all writes */
};

static void flaky_free(struct cluster *c)
{
    object_unref(((struct flaky *)c)->held.object);
    buf_done(&((struct flaky *)c)->log);
}

static void flaky_want(struct cluster *c, const struct resource_type *type)
{
    cluster_want(((struct flaky *)c)->inner, type);
}

static uint64_t flaky_write(struct cluster *c, const struct op *op)
{
    static const char *const verbs[OP_KIND_MAX] = { "create", "update",      "status", "patch",
                                                    "delete", "statuspatch", "bind" };
    struct flaky *f = (struct flaky *)c;
    bool is_hit = f->fail_kind && op->kind == f->fail_op && strcmp(op->type->kind, f->fail_kind) == 0;
    uint64_t token;

    if (strcmp(op->type->kind, "Event") != 0)
        buf_fmt(&f->log, "%s %s %.*s\n", verbs[op->kind], op->type->kind, STR_ARG(op->name));
    f->n_tries += is_hit;
    if (!is_hit || !f->fail_left) {
        token = cluster_write(f->inner, op);
        if (is_hit && f->holds)
            f->held_token = token;
        return token;
    }
    f->fail_left--;
    assert_true(f->n_bad < ARRAY_LEN(f->bad));
    token = f->takes_effect ? cluster_write(f->inner, op)
                            : cluster_read(f->inner, op->type, STR("nowhere"), STR("nothing"));
    f->bad[f->n_bad].token = token;
    f->bad[f->n_bad].is_unknown = f->takes_effect;
    f->bad[f->n_bad].is_dropped = f->drops;
    f->bad[f->n_bad++].code = f->code;
    return token;
}

static uint64_t flaky_read(struct cluster *c, const struct resource_type *type, struct str namespace, struct str name)
{
    return cluster_read(((struct flaky *)c)->inner, type, namespace, name);
}

static bool flaky_next(struct cluster *c, struct cluster_event *ret)
{
    struct flaky *f = (struct flaky *)c;

    if (!f->holds && f->held.token) {
        *ret = f->held;
        f->held.token = 0; /* the object lives on until the cluster is freed */
        return true;
    }
again:
    if (!cluster_next(f->inner, ret))
        return false;
    if (f->holds && ret->kind == CLUSTER_RESULT && ret->token == f->held_token) {
        f->held = *ret;
        f->held.object = object_ref(ret->object);
        goto again;
    }
    for (size_t i = 0; ret->kind == CLUSTER_RESULT && i < f->n_bad; i++) {
        if (f->bad[i].token != ret->token)
            continue;
        if (f->bad[i].is_dropped)
            goto again;
        ret->object = NULL;
        ret->is_unknown = f->bad[i].is_unknown;
        (void)err_set(&ret->err, f->bad[i].code, "refused by the test");
    }
    return true;
}

static int64_t flaky_now(struct cluster *c)
{
    return cluster_now_ms(((struct flaky *)c)->inner);
}

static const struct cluster_class flaky_class = {
    flaky_free, flaky_want, flaky_write, flaky_read, flaky_next, flaky_now
};

#endif
