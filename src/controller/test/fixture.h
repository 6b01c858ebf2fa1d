/* fixture.h - a plan as text, one write a line, so that tests are tables of text */
#ifndef CONTROLLER_TEST_FIXTURE_H
#define CONTROLLER_TEST_FIXTURE_H

#include "api/meta.h"
#include "api/types.h"
#include "base/util.h"
#include "controller/controller.h"

static inline struct json *parse(struct arena *a, const char *text)
{
    struct json *tree = NULL;
    struct err e = { 0 };

    if (json_parse(a, str_of(text), NULL, &tree, &e) < 0)
        fail_msg("the test's own JSON: %s: %s", e.text, text);
    return tree;
}

static inline void op_print(struct buf *out, const struct op *op)
{
    static const char *const kinds[OP_KIND_MAX] = { "create", "update",      "status", "patch",
                                                    "delete", "statuspatch", "bind" };
    static const char *const propagations[] = { "background", "foreground", "orphan" };

    if (op->kind == OP_CREATE && str_is(object_kind(op->body), "Event")) {
        buf_fmt(out, "event %.*s %.*s: %.*s\n", STR_ARG(json_member_text(op->body, "type")),
                STR_ARG(json_member_text(op->body, "reason")), STR_ARG(json_member_text(op->body, "message")));
        return;
    }
    buf_fmt(out, "%s %s ", kinds[op->kind], op->type->kind);
    if (op->namespace.n)
        buf_fmt(out, "%.*s/", STR_ARG(op->namespace));
    buf_str(out, op->name);
    if (op->uid.n)
        buf_fmt(out, " uid %.*s", STR_ARG(op->uid));
    if (op->rev)
        buf_fmt(out, " rev %llu", (unsigned long long)op->rev);
    if (op->kind == OP_DELETE)
        buf_fmt(out, " %s", propagations[op->propagation]);
    if (op->body) {
        buf_char(out, ' ');
        json_print(out, op->kind == OP_UPDATE_STATUS || op->kind == OP_PATCH_STATUS ? json_get(op->body, "status")
                                                                                    : op->body);
    }
    buf_char(out, '\n');
}

#define assert_plan(label, plan, want)                                                                                 \
    do {                                                                                                               \
        struct buf got_ = { 0 };                                                                                       \
        buf_str(&got_, STR(""));                                                                                       \
        VEC_FOREACH(op_, &(plan)->ops)                                                                                 \
            op_print(&got_, op_);                                                                                      \
        if ((plan)->wake_ms)                                                                                           \
            buf_fmt(&got_, "wake %lld\n", (long long)(plan)->wake_ms);                                                 \
        if (!str_is(buf_view(&got_), (want)))                                                                          \
            fail_msg("%s\nwant: %sgot:  %s", (label), (want), got_.p);                                                 \
        buf_done(&got_);                                                                                               \
    } while (0)

#endif
