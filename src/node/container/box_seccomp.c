/* box_seccomp.c - the seccomp filter
 *
 * The list of allowed calls (box_calls.c) compiled to a BPF program. For each architecture that the processor runs,
 * the call numbers are sorted, neighbours with the same answer are merged into ranges, and the ranges are searched by
 * bisection. The kernel runs the filter for every number when it is loaded, to cache the calls that are always
 * allowed, so the number of steps counts.
 *
 *     load arch; not ours ──▶ ENOSYS
 *     load nr; those of x32 have bit 30 and are beyond the last ──▶ ENOSYS
 *     nr >= middle ? right half : left half … ──▶ allow, EPERM, ENOSYS, or check an argument
 *
 * Arguments are checked where a call has several uses. The kernel reads the lower half of each register for these
 * arguments, and so does the filter. clone3() is absent, since a filter cannot read its flags in memory: libc then
 * uses clone(). socketcall() cannot create sockets for the same reason.
 *
 * Building a filter takes 0.2 ms, so the default one is kept: see box_prepare().
 */
#include "node/container/box_internal.h"

#include <endian.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>

enum {
    CALLS_MAX = 1024,
    NEW_NAMESPACES = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID |
                     CLONE_NEWNET,
    SOCKETCALL_SOCKET = 1,
};

/* The processor's architecture, and that of 32-bit programs. libseccomp names them as the kernel does. */
static const uint32_t call_sets[] = {
#if defined(__x86_64__)
    SCMP_ARCH_X86_64,
    SCMP_ARCH_X86,
#elif defined(__aarch64__)
    SCMP_ARCH_AARCH64,
    SCMP_ARCH_ARM,
#else
    SCMP_ARCH_NATIVE,
#endif
};

/* ---- numbers ---- */

struct seccomp_call {
    uint32_t nr;
    enum box_call_rule rule;
};

struct call_list {
    uint32_t arch;
    bool has_fixed_groups;
    struct seccomp_call v[CALLS_MAX];
    size_t n;
};

static void list_call(void *ctx, struct str name, enum box_call_rule rule)
{
    struct call_list *l = ctx;
    int nr = box_call_number(name, l->arch);

    /* Where setgroups() is impossible, pretend that it works: programs that drop rights they do not have (sshd,
     * before each login) would give up. The groups they keep are the user's own and grant nothing else. */
    if (l->has_fixed_groups && str_starts(name, STR("setgroups")))
        rule = BOX_CALL_PRETENDED;
    if (nr >= 0 && l->n < CALLS_MAX)
        l->v[l->n++] = (struct seccomp_call){ (uint32_t)nr, rule };
}

static int seccomp_by_number(const void *x, const void *y)
{
    const struct seccomp_call *a = x, *b = y;

    return a->nr < b->nr ? -1 : a->nr > b->nr;
}

/* Each range starts at its number and ends before the next one. */
static size_t find_ranges(struct call_list *l, struct seccomp_call *ranges)
{
    size_t n = 0;
    uint32_t next = 0;

    qsort(l->v, l->n, sizeof(*l->v), seccomp_by_number);
    for (size_t i = 0; i < l->n; i++) {
        if (l->v[i].nr > next || n == 0)
            ranges[n++] = (struct seccomp_call){ next, BOX_CALL_ABSENT };
        if (ranges[n - 1].rule != l->v[i].rule)
            ranges[n++] = l->v[i];
        next = l->v[i].nr + 1;
    }
    ranges[n++] = (struct seccomp_call){ next, BOX_CALL_ABSENT };
    return n;
}

/* ---- instructions ---- */

struct code {
    struct sock_filter v[BPF_MAXINSNS];
    size_t n;
};

static size_t seccomp_put(struct code *c, uint16_t op, uint32_t k, uint8_t jt, uint8_t jf)
{
    if (c->n < BPF_MAXINSNS)
        c->v[c->n] = (struct sock_filter){ op, jt, jf, k };
    return c->n++;
}

static void put_load(struct code *c, size_t offset)
{
    (void)seccomp_put(c, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

static void put_answer(struct code *c, uint32_t answer)
{
    (void)seccomp_put(c, BPF_RET | BPF_K, answer, 0, 0);
}

static uint32_t answer_errno(int no)
{
    return SECCOMP_RET_ERRNO | (uint32_t)no;
}

static void put_argument(struct code *c, size_t i)
{
    put_load(c, offsetof(struct seccomp_data, args) + i * sizeof(uint64_t) + (BYTE_ORDER == BIG_ENDIAN ? 4 : 0));
}

/* Allow exactly these values of an argument, or all others. */
static void put_values(struct code *c, size_t argument, const uint32_t *values, size_t n, bool are_allowed)
{
    put_argument(c, argument);
    for (size_t i = 0; i < n; i++)
        (void)seccomp_put(c, BPF_JMP | BPF_JEQ | BPF_K, values[i], (uint8_t)(n - i), 0);
    put_answer(c, are_allowed ? answer_errno(EPERM) : SECCOMP_RET_ALLOW);
    put_answer(c, are_allowed ? SECCOMP_RET_ALLOW : answer_errno(EPERM));
}

static void put_rule(struct code *c, enum box_call_rule rule)
{
    static const uint32_t calls[] = { SOCKETCALL_SOCKET }, injections[] = { TIOCSTI, TIOCLINUX };

    switch (rule) {
    case BOX_CALL_CLONE:
        put_argument(c, 0);
        (void)seccomp_put(c, BPF_JMP | BPF_JSET | BPF_K, NEW_NAMESPACES, 1, 0);
        put_answer(c, SECCOMP_RET_ALLOW);
        put_answer(c, answer_errno(EPERM));
        break;
    case BOX_CALL_PERSONALITY:
        put_values(c, 0, box_call_personalities, BOX_CALL_PERSONALITIES, true);
        break;
    case BOX_CALL_SOCKET:
        put_values(c, 0, box_call_families, BOX_CALL_FAMILIES, false);
        break;
    case BOX_CALL_SOCKETCALL:
        put_values(c, 0, calls, ARRAY_LEN(calls), false);
        break;
    case BOX_CALL_IOCTL:
        put_values(c, 1, injections, ARRAY_LEN(injections), false);
        break;
    default:
        put_answer(c, rule == BOX_CALL_ALLOWED     ? SECCOMP_RET_ALLOW
                      : rule == BOX_CALL_DENIED    ? answer_errno(EPERM)
                      : rule == BOX_CALL_PRETENDED ? answer_errno(0)
                                                   : answer_errno(ENOSYS));
    }
}

/* A conditional jump reaches at most 255 instructions; the right half may be further away. */
static void put_search(struct code *c, const struct seccomp_call *ranges, size_t n)
{
    size_t half = n / 2, far;

    if (n == 1) {
        put_rule(c, ranges->rule);
        return;
    }
    (void)seccomp_put(c, BPF_JMP | BPF_JGE | BPF_K, ranges[half].nr, 0, 1);
    far = seccomp_put(c, BPF_JMP | BPF_JA, 0, 0, 0);
    put_search(c, ranges, half);
    if (far < BPF_MAXINSNS)
        c->v[far].k = (uint32_t)(c->n - far - 1);
    put_search(c, ranges + half, n - half);
}

/* ---- the filter ---- */

struct filter_work {
    struct code code;
    struct call_list list;
    struct seccomp_call ranges[2 * CALLS_MAX + 1];
};

static void put_set(struct filter_work *w, uint64_t caps, uint32_t arch, bool has_fixed_groups)
{
    w->list.arch = arch;
    w->list.has_fixed_groups = has_fixed_groups;
    w->list.n = 0;
    box_calls_each(caps, list_call, &w->list);
    put_load(&w->code, offsetof(struct seccomp_data, nr));
    put_search(&w->code, w->ranges, find_ranges(&w->list, w->ranges));
}

static void put_sets(struct filter_work *w, uint64_t caps)
{
    struct code *c = &w->code;
    bool has_fixed_groups = box_groups_are_fixed();

    for (size_t i = 0; i < ARRAY_LEN(call_sets); i++) {
        uint32_t arch = call_sets[i] == SCMP_ARCH_NATIVE ? seccomp_arch_native() : call_sets[i];
        size_t other;

        put_load(c, offsetof(struct seccomp_data, arch));
        (void)seccomp_put(c, BPF_JMP | BPF_JEQ | BPF_K, arch, 1, 0);
        other = seccomp_put(c, BPF_JMP | BPF_JA, 0, 0, 0);
        put_set(w, caps, arch, has_fixed_groups);
        if (other < BPF_MAXINSNS)
            c->v[other].k = (uint32_t)(c->n - other - 1);
    }
    put_answer(c, answer_errno(ENOSYS));
}

/* Work in memory that is unmapped afterwards: every page that stays is copied for each shim and container. */
int box_seccomp_make(uint64_t caps, struct box_filter *ret)
{
    struct filter_work *w = mmap(NULL, sizeof(*w), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (w == MAP_FAILED)
        return -1;
    put_sets(w, caps);
    ret->code = NULL;
    if (w->code.n <= BPF_MAXINSNS) {
        ret->n = (unsigned short)w->code.n;
        ret->code = xmalloc(w->code.n * sizeof(*w->code.v));
        memcpy(ret->code, w->code.v, w->code.n * sizeof(*w->code.v));
    }
    (void)munmap(w, sizeof(*w));
    return ret->code ? 0 : -1;
}

/* ---- the default filter ---- */

static struct box_filter usual; /* for the default capabilities; built once, inherited by forks */
static uint64_t usual_caps;

void box_seccomp_prepare(void)
{
    if (usual.code)
        return;
    usual_caps = box_caps_default() & box_calls_caps();
    (void)box_seccomp_make(usual_caps, &usual); /* on failure box_run() tries again and reports the error */
}

int box_seccomp_load(uint64_t caps, struct err *e)
{
    struct box_filter own = { 0 };
    const struct box_filter *f = &usual;
    struct sock_fprog program;

    caps &= box_calls_caps();
    if (!usual.code || caps != usual_caps) {
        if (box_seccomp_make(caps, &own) < 0)
            return err_set(e, ERR_INTERNAL, "the seccomp filter is too long");
        f = &own;
    }
    program = (struct sock_fprog){ f->n, f->code };
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0)
        (void)err_errno(e, "load the seccomp filter");
    else
        e = NULL;
    free(own.code);
    return e ? -1 : 0;
}
