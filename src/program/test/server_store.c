/* server_store.c - `pumice server backup|restore|check`: what they say and how they end */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "program/server/store.h"

#include "base/clock.h"
#include "base/util.h"
#include "os/io.h"
#include "os/tree.h"
#include "store/store.h"

static char top[] = "/tmp/pumice-server-store-XXXXXX", dir[64], copy[64];

static int set_up(void **state)
{
    static const char text[] = "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"n\"}}";
    struct store_options opt = { .clock = &clock_real, .seed = 1 };
    autoarena a = { 0 };
    struct json *body;
    struct store *s;

    if (!mkdtemp(top))
        return -1;
    (void)snprintf(dir, sizeof(dir), "%s/" SERVER_STORE_DIR, top);
    (void)snprintf(copy, sizeof(copy), "%s/copy", top);
    assert_int_equal(store_open(dir, &opt, &s, NULL), 0);
    assert_int_equal(json_parse(&a, str_of(text), NULL, &body, NULL), 0);
    assert_int_equal(store_create(s, body, NULL, NULL), 0);
    assert_int_equal(store_flush(s, NULL), 0);
    store_free(s);
    return 0;
}

static int tear_down(void **state)
{
    autoclose int fd = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    return tree_empty(fd, NULL) < 0 ? -1 : rmdir(top);
}

/* Both outputs of one command line, blanks between its words. */
static int run(struct buf *out, const char *line)
{
    autoclose int file = memory_file("out", STR_NULL), saved_out = dup(1), saved_err = dup(2);
    struct server_store_options o = { .dir = dir };
    struct text_list words = { 0 };
    autoarena a = { 0 };
    struct str rest = arena_str(&a, str_of(line)), word;
    int status;

    while (str_split(&rest, ' ', &word))
        *vec_push(&a, &words.list) = str_is(word, "COPY") ? copy : arena_cstr(&a, word);
    assert_true(dup2(file, 1) == 1 && dup2(file, 2) == 2);
    status = server_store_run(&o, &words);
    assert_true(dup2(saved_out, 1) == 1 && dup2(saved_err, 2) == 2);
    assert_int_equal(lseek(file, 0, SEEK_SET), 0);
    assert_int_equal(read_all(file, 4096, out), 0);
    return status;
}

static const struct {
    const char *line;
    int status;
    const char *says;
} cases[] = {
    { "backup COPY", EXIT_FINE, "copy: 1 objects at revision 1 (1 records, format 2)\n" },
    { "check", EXIT_FINE, "/store: 1 objects at revision 1 (1 records, format 2), no problems\n" },
    { "check COPY", EXIT_FINE, "copy: 1 objects at revision 1" },
    { "restore COPY", EXIT_FINE,
      "/store: 1 objects at revision 1000000001 (1 records, format 2)\nThe old store is kept" },
    { "check", EXIT_FINE, "1 objects at revision 1000000001" },
    { "restore /no/such/file", EXIT_FAILED, "pumice server restore: open /no/such/file" },
    { "check /etc/passwd", EXIT_FAILED, "pumice server check: /etc/passwd: not a store, or its first page is damaged" },
    { "backup", EXIT_USAGE, "usage: pumice server backup FILE" },
    { "backup a b", EXIT_USAGE, "usage: pumice server backup FILE" },
    { "eat", EXIT_USAGE, "\"eat\": there are backup FILE, restore FILE and check [FILE]" },
};

static void command_lines(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autobuf out = { 0 };
        int status = run(&out, cases[i].line);

        if (status != cases[i].status || !out.p || !strstr(out.p, cases[i].says))
            fail_msg("%s: status %d, \"%s\"", cases[i].line, status, out.p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(command_lines) };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
