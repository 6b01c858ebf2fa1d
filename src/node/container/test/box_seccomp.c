/* The filter of system calls, asked about every number; and what it allows beside what other runtimes do. */
#include "os/test/testing.h"

#include "node/container/box_internal.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/capability.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

enum { LAST = 600, NAMES = 640, X32 = 0x40000000 };

static const struct {
    uint32_t arch, audit;
} sets[] = {
#ifdef __x86_64__
    { SCMP_ARCH_X86_64, AUDIT_ARCH_X86_64 },
    { SCMP_ARCH_X86, AUDIT_ARCH_I386 },
#else
    { SCMP_ARCH_AARCH64, AUDIT_ARCH_AARCH64 },
    { SCMP_ARCH_ARM, AUDIT_ARCH_ARM },
#endif
};

/* ---- what the kernel does with a filter ---- */

static uint32_t ask(const struct box_filter *f, const struct seccomp_data *d)
{
    uint32_t acc = 0;

    for (size_t at = 0;;) {
        const struct sock_filter *i = &f->code[at++];

        assert_true(at <= f->n);
        switch (i->code) {
        case BPF_LD | BPF_W | BPF_ABS:
            assert_true(i->k % 4 == 0 && i->k + 4 <= sizeof(*d));
            memcpy(&acc, (const char *)d + i->k, 4);
            break;
        case BPF_JMP | BPF_JA:
            at += i->k;
            break;
        case BPF_JMP | BPF_JEQ | BPF_K:
            at += acc == i->k ? i->jt : i->jf;
            break;
        case BPF_JMP | BPF_JGE | BPF_K:
            at += acc >= i->k ? i->jt : i->jf;
            break;
        case BPF_JMP | BPF_JSET | BPF_K:
            at += acc & i->k ? i->jt : i->jf;
            break;
        case BPF_RET | BPF_K:
            return i->k;
        default:
            fail_msg("instruction %zu is 0x%x", at - 1, i->code);
        }
    }
}

static const uint32_t allow = SECCOMP_RET_ALLOW, eperm = SECCOMP_RET_ERRNO | EPERM, enosys = SECCOMP_RET_ERRNO | ENOSYS;

/* ---- the list ---- */

struct list {
    struct {
        char name[40];
        enum box_call_rule rule;
    } v[NAMES];
    size_t n;
};

static void take(void *ctx, struct str name, enum box_call_rule rule)
{
    struct list *l = ctx;

    assert_true(l->n < NAMES && name.n < 40);
    (void)snprintf(l->v[l->n].name, 40, "%.*s", STR_ARG(name));
    l->v[l->n++].rule = rule;
}

static enum box_call_rule rule_of(const struct list *l, uint32_t arch, uint32_t nr)
{
    for (size_t i = 0; i < l->n; i++)
        if (box_call_number(str_of(l->v[i].name), arch) == (int)nr)
            return l->v[i].rule;
    return BOX_CALL_ABSENT;
}

static void check_numbers(uint64_t caps)
{
    struct box_filter f;
    struct list l = { 0 };

    box_calls_each(caps, take, &l);
    assert_int_equal(box_seccomp_make(caps, &f), 0);
    for (size_t s = 0; s < ARRAY_LEN(sets); s++)
        for (uint32_t nr = 0; nr <= LAST; nr++) {
            enum box_call_rule rule = rule_of(&l, sets[s].arch, nr);
            struct seccomp_data d = { .nr = (int)nr, .arch = sets[s].audit };
            uint32_t got = ask(&f, &d);

            if (rule <= BOX_CALL_DENIED && got != (rule == BOX_CALL_ABSENT    ? enosys
                                                   : rule == BOX_CALL_ALLOWED ? allow
                                                                              : eperm))
                fail_msg("set %zu, number %u, capabilities %llx: 0x%x", s, nr, (unsigned long long)caps, got);
            d.nr = (int)(nr | X32);
            assert_int_equal(ask(&f, &d), enosys);
        }
    free(f.code);
}

static void test_every_number(void **state)
{
    (void)state;
    check_numbers(0);
    check_numbers(box_caps_default());
    check_numbers(UINT64_MAX);
    for (int cap = 0; cap <= CAP_LAST_CAP; cap++)
        if (box_calls_caps() & UINT64_C(1) << cap)
            check_numbers(UINT64_C(1) << cap);
}

/* Other sets of calls, numbers far away, and those of a tracer that skips a call. */
static void test_strangers(void **state)
{
    static const int numbers[] = { -1, INT32_MIN, INT32_MAX, 1000, 100000, X32, X32 | 467 };
    static const uint32_t audits[] = { 0, AUDIT_ARCH_MIPS, AUDIT_ARCH_PPC64, UINT32_MAX };
    struct box_filter f;

    (void)state;
    assert_int_equal(box_seccomp_make(UINT64_MAX, &f), 0);
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        for (size_t s = 0; s < ARRAY_LEN(sets); s++)
            assert_int_equal(ask(&f, &(struct seccomp_data){ .nr = numbers[i], .arch = sets[s].audit }), enosys);
    for (size_t i = 0; i < ARRAY_LEN(audits); i++)
        assert_int_equal(ask(&f, &(struct seccomp_data){ .arch = audits[i] }), enosys);
    free(f.code);
}

static void test_arguments(void **state)
{
    static const uint64_t high = UINT64_C(1) << 32;
    const struct {
        const char *name;
        size_t argument;
        uint64_t value;
        uint32_t want;
    } rows[] = {
        { "clone", 0, 17, allow },
        { "clone", 0, CLONE_VM | CLONE_VFORK | CLONE_PARENT, allow },
        { "clone", 0, CLONE_NEWUSER, eperm },
        { "clone", 0, CLONE_NEWNS, eperm },
        { "clone", 0, CLONE_NEWCGROUP | 17, eperm },
        { "clone", 0, high | CLONE_NEWNET, eperm },
        { "clone3", 0, 0, enosys },
        { "socket", 0, AF_INET, allow },
        { "socket", 0, AF_NETLINK, allow },
        { "socket", 0, AF_VSOCK, eperm },
        { "socket", 0, high | AF_VSOCK, eperm },
        { "socket", 0, AF_ALG, eperm },
        { "socket", 0, UINT64_MAX - UINT32_MAX + AF_ALG, eperm },
        { "socketcall", 0, 1, eperm },
        { "socketcall", 0, 3, allow },
        { "personality", 0, UINT32_MAX, allow },
        { "personality", 0, UINT64_MAX, allow },
        { "personality", 0, 0, allow },
        { "personality", 0, 0x0400000, eperm },
        { "ioctl", 1, TIOCSTI, eperm },
        { "ioctl", 1, high | TIOCSTI, eperm },
        { "ioctl", 1, TIOCLINUX, eperm },
        { "ioctl", 1, TIOCGWINSZ, allow },
    };
    struct box_filter f;

    (void)state;
    assert_int_equal(box_seccomp_make(box_caps_default(), &f), 0);
    for (size_t s = 0; s < ARRAY_LEN(sets); s++)
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
            struct seccomp_data d = { .nr = box_call_number(str_of(rows[i].name), sets[s].arch),
                                      .arch = sets[s].audit };

            d.args[rows[i].argument] = rows[i].value;
            if (d.nr >= 0 && ask(&f, &d) != rows[i].want)
                fail_msg("set %zu: %s 0x%llx: 0x%x", s, rows[i].name, (unsigned long long)rows[i].value, ask(&f, &d));
        }
    free(f.code);
}

/* The kernel tries every number when it loads a filter. */
static void test_length(void **state)
{
    struct box_filter f;

    (void)state;
    assert_int_equal(box_seccomp_make(box_caps_default(), &f), 0);
    print_message("%u instructions\n", f.n);
    assert_true(f.n < 1000);
    free(f.code);
}

/* ---- beside others ---- */

/* "all", "none", or what allows it: in the words of profiles.txt. */
static struct str who_may(struct arena *a, struct list *by_cap, struct str name)
{
    autobuf out = { 0 };

    for (int cap = -1; cap <= CAP_LAST_CAP; cap++)
        for (size_t i = 0; i < by_cap[cap + 1].n; i++) {
            enum box_call_rule rule = by_cap[cap + 1].v[i].rule;
            char *word;

            if (!str_is(name, by_cap[cap + 1].v[i].name) || rule == BOX_CALL_DENIED || rule == BOX_CALL_ABSENT)
                continue;
            if (cap < 0 && rule == BOX_CALL_ALLOWED)
                return STR("all");
            if (cap >= 0 && rule != BOX_CALL_ALLOWED)
                continue;
            word = cap < 0 ? NULL : cap_to_name(cap);
            for (char *c = word; c && *c; c++)
                *c = (char)(*c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c);
            buf_fmt(&out, "%s%s", out.n ? " " : "", word ? word + 4 : "args");
            cap_free(word);
        }
    return out.n ? arena_str(a, buf_view(&out)) : STR("none");
}

/* The same words in another order. */
static bool same_words(struct str x, struct str y)
{
    struct str rest = x, word;
    size_t n = 0, m = 0;

    while (str_split(&rest, ' ', &word)) {
        struct str others = y, other;
        bool found = false;

        while (str_split(&others, ' ', &other))
            found |= str_eq(word, other);
        if (!found)
            return false;
        n++;
    }
    while (str_split(&y, ' ', &word))
        m++;
    return n == m;
}

static struct str cell(struct str line, size_t column)
{
    struct str part = STR_NULL;

    for (size_t i = 0; i <= column + 1; i++)
        if (!str_split(&line, '|', &part))
            return STR_NULL;
    part = str_trim(part);
    return part.n > 1 && part.p[0] == '`' ? str_sub(part, 1, part.n - 2) : part;
}

static struct str find_row(struct str doc, struct str name)
{
    for (struct str line; str_split(&doc, '\n', &line);)
        if (str_starts(line, STR("| `")) && str_eq(cell(line, 0), name))
            return line;
    return STR_NULL;
}

struct compared {
    struct arena arena;
    struct list by_cap[CAP_LAST_CAP + 2];
    struct str doc, profiles;
    size_t differences;
};

static struct str with_spaces(struct arena *a, struct str s)
{
    char *p = (char *)arena_cstr(a, s);

    for (char *c = p; *c; c++)
        *c = *c == '|' ? ' ' : *c;
    return str_of(p);
}

static void compare(struct compared *c, struct str name, struct str docker, struct str podman)
{
    struct str ours = who_may(&c->arena, c->by_cap, name), row;

    docker = with_spaces(&c->arena, docker);
    podman = with_spaces(&c->arena, podman);
    if (same_words(ours, docker) && same_words(ours, podman))
        return;
    c->differences++;
    row = find_row(c->doc, name);
    if (!same_words(cell(row, 1), ours) || !same_words(cell(row, 2), docker) || !same_words(cell(row, 3), podman) ||
        !cell(row, 4).n)
        fail_msg("system-calls.md has no row for | `%.*s` | %.*s | %.*s | %.*s | why |", STR_ARG(name), STR_ARG(ours),
                 STR_ARG(docker), STR_ARG(podman));
}

static struct str read_source(struct arena *a, const char *path)
{
    return file_text(a, AT_FDCWD, arena_fmt(a, "%s/%s", SOURCE_ROOT, path).p, 1 << 20);
}

static bool is_profiled(struct str profiles, struct str name)
{
    for (struct str line, word; str_split(&profiles, '\n', &line);)
        if (str_split(&line, ' ', &word) && str_eq(word, name))
            return true;
    return false;
}

/* Every difference has a row with a reason, and every row is a difference. */
static void test_beside_others(void **state)
{
    struct compared *c = xcalloc(1, sizeof(*c));
    size_t rows = 0;

    (void)state;
    for (int cap = -1; cap <= CAP_LAST_CAP; cap++)
        box_calls_each(cap < 0 ? 0 : UINT64_C(1) << cap, take, &c->by_cap[cap + 1]);
    c->profiles = read_source(&c->arena, "tests/seccomp/profiles.txt");
    c->doc = read_source(&c->arena, "docs/design/system-calls.md");
    for (struct str rest = c->profiles, line; str_split(&rest, '\n', &line);) {
        struct str part[3] = { STR_NULL, STR_NULL, STR_NULL };

        for (size_t i = 0; i < 3; i++)
            (void)str_split(&line, ' ', &part[i]);
        if (part[2].n && part[0].p[0] != '#')
            compare(c, part[0], part[1], part[2]);
    }
    assert_true(c->differences > 10);
    for (size_t i = 0; i < c->by_cap[0].n; i++)
        if (!is_profiled(c->profiles, str_of(c->by_cap[0].v[i].name)))
            compare(c, str_of(c->by_cap[0].v[i].name), STR("none"), STR("none"));
    for (struct str rest = c->doc, line; str_split(&rest, '\n', &line);)
        rows += str_starts(line, STR("| `"));
    assert_int_equal(rows, c->differences);
    arena_done(&c->arena);
    free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_number), cmocka_unit_test(test_strangers),     cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_length),       cmocka_unit_test(test_beside_others),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
