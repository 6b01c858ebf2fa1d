/* kill9.c - a process that writes is killed at random, on the real file system: what it acknowledged is there
 *
 * Turn t of the writer sets the object "turn" and two others to t, flushes, and only then says "t" to its parent. So
 * the store must be as after the last turn that was said, or as after the one that came then.
 *
 * usage: kill9 [KILLS]
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "store/store.h"

#include "base/rand.h"
#include "base/util.h"
#include "os/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

enum { KILLS_DEFAULT = 60, NAMES = 13 };

static uint64_t kills = KILLS_DEFAULT;
static char dir[] = "/tmp/pumice-kill9-XXXXXX";

static struct store *open_store(void)
{
    struct store_options opt = { .clock = &clock_real, .seed = rand_os_u64(), .history = 50 };
    struct store *s = NULL;
    struct err e = { 0 };

    if (store_open(dir, &opt, &s, &e) < 0) {
        (void)fprintf(stderr, "%s\n", e.text);
        abort();
    }
    return s;
}

/* ---- the writer ---- */

static void set(struct store *s, struct str name, uint64_t t)
{
    autoarena a = { 0 };
    struct json *body = json_object(&a), *meta;

    json_add(body, STR("apiVersion"), json_str(&a, STR("v1")));
    json_add(body, STR("kind"), json_str(&a, STR("ConfigMap")));
    meta = json_add(body, STR("metadata"), json_object(&a));
    json_add(meta, STR("namespace"), json_str(&a, STR("a")));
    json_add(meta, STR("name"), json_str(&a, name));
    json_add(body, STR("turn"), json_int(&a, (int64_t)t));
    if (store_create(s, body, NULL, NULL) < 0 && store_update(s, body, STORE_MAIN, NULL, NULL) < 0)
        abort();
}

static struct str name_of(struct arena *a, uint64_t i)
{
    return arena_fmt(a, "n%llu", (unsigned long long)(i % NAMES));
}

static void write_until_killed(int out, uint64_t t)
{
    struct store *s = open_store();
    autoarena a = { 0 };

    for (;;) {
        t++;
        set(s, STR("turn"), t);
        set(s, name_of(&a, t), t);
        set(s, name_of(&a, t * 7 + 3), t);
        if (store_flush(s, NULL) < 0 || write(out, &t, sizeof(t)) != sizeof(t))
            abort();
        arena_reset(&a);
    }
}

/* ---- the parent ---- */

static uint64_t turn_of(const struct store *s, struct str name)
{
    const struct object *o = store_get(s, type_by_kind(STR("v1"), STR("ConfigMap")), STR("a"), name);

    return o ? (uint64_t)json_i64(json_get(o->root, "turn"), 0) : 0;
}

/* All objects are as turn 't' left them. */
static void check_state(const struct store *s, uint64_t t)
{
    for (uint64_t i = 0; i < NAMES; i++) {
        autoarena a = { 0 };
        uint64_t last = t;

        while (last > 0 && last % NAMES != i && (last * 7 + 3) % NAMES != i)
            last--;
        assert_int_equal(turn_of(s, name_of(&a, i)), last);
    }
}

/* Returns the last turn that was said. */
static uint64_t kill_once(struct rand *rand, uint64_t t)
{
    int ends[2];
    uint64_t said = t, got;
    pid_t pid;

    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        write_until_killed(ends[1], t);
    close(ends[1]);
    for (uint64_t n = rand_below(rand, 5); n > 0 && read(ends[0], &got, sizeof(got)) == sizeof(got); n--)
        said = got;
    (void)usleep((useconds_t)rand_below(rand, 4000)); /* somewhere in a turn, or while it opens */
    assert_int_equal(kill(pid, SIGKILL), 0);
    while (read(ends[0], &got, sizeof(got)) == sizeof(got))
        said = got;
    close(ends[0]);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    return said;
}

static void killed_at_random(void **state)
{
    uint64_t t = 0, rev = 0;
    struct rand rand;

    rand_seed(&rand, rand_os_u64());
    for (uint64_t i = 0; i < kills; i++) {
        uint64_t said = kill_once(&rand, t);
        struct store *s = open_store();

        t = turn_of(s, STR("turn"));
        assert_true(t == said || t == said + 1);
        assert_true(store_revision(s) >= rev);
        rev = store_revision(s);
        check_state(s, t);
        store_free(s);
    }
    assert_true(t > kills / 2);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(killed_at_random) };
    int failed, fd;

    if ((argc > 1 && str_to_u64(str_of(argv[1]), &kills) < 0) || !mkdtemp(dir))
        return 2;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    if ((fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0 || tree_empty(fd, NULL) < 0 || rmdir(dir) < 0)
        return 1;
    close(fd);
    return failed;
}
