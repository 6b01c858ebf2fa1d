/* conlog.c - fuzz: what a container writes is read back from its log, byte by byte, however it came and wherever the
 * log was turned over; any file is read as a log, to its end */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "base/util.h"
#include "node/shim/conlog.h"

#include <fcntl.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char dir[64], path[80];

static void clean(void)
{
    char turned[100];

    (void)unlink(path);
    for (int i = 1; i < CONLOG_KEPT; i++) {
        (void)snprintf(turned, sizeof(turned), "%s.%d", path, i);
        (void)unlink(turned);
    }
}

static void leave(void)
{
    clean();
    (void)rmdir(dir);
}

static void begin(void)
{
    const char *where = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";

    if (!dir[0]) {
        (void)snprintf(dir, sizeof(dir), "%s/pumice-fuzz-%d", where, (int)getpid());
        (void)snprintf(path, sizeof(path), "%s/log", dir);
        (void)mkdir(dir, 0700);
        (void)atexit(leave);
    }
    clean();
}

/* ---- any file ---- */

static void try_file(struct str bytes)
{
    struct conlog_reader *r;
    struct conlog_line line;
    autobuf tail = { 0 };
    size_t total = 0;
    int fd;

    begin();
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert(fd >= 0 && write(fd, bytes.p, bytes.n) == (ssize_t)bytes.n);
    close(fd);
    r = conlog_reader_new(path);
    while (conlog_next(r, &line)) {
        assert(line.stream < CONLOG_STREAM_MAX && !str_has_char(line.text, '\n'));
        total += line.text.n + 1; /* at least its newline was there */
    }
    assert(total <= bytes.n + 1);
    conlog_reader_free(r);
    conlog_tail(path, 100, 3, &tail);
    assert(tail.n <= 200);
}

/* ---- there and back ---- */

static void read_back(struct buf out[CONLOG_STREAM_MAX])
{
    struct conlog_reader *r = conlog_reader_new(path);
    struct conlog_line line;

    while (conlog_next(r, &line)) {
        buf_str(&out[line.stream], line.text);
        if (!line.is_partial)
            buf_char(&out[line.stream], '\n');
    }
    conlog_reader_free(r);
}

static void try_output(struct str input)
{
    struct buf put[CONLOG_STREAM_MAX] = { 0 }, got[CONLOG_STREAM_MAX] = { 0 };
    struct conlog *l;
    int64_t now_ns = 1772355600 * INT64_C(1000000000);

    begin();
    assert(conlog_open(path, 1 << 20, &l, NULL) == 0);
    while (input.n >= 2) { /* a byte: which stream, and again how often; a byte: how much */
        enum conlog_stream stream = input.p[0] & 1;
        struct str piece = str_sub(input, 2, MIN_OF((size_t)(uint8_t)input.p[1], input.n - 2));

        for (int again = (input.p[0] >> 1 & 7) * (input.p[0] >> 1 & 7); again >= 0;
             again--) { /* also beyond a line's length */
            conlog_put(l, stream, piece, now_ns++);
            buf_str(&put[stream], piece);
        }
        input = str_from(input, 2 + piece.n);
    }
    for (int i = 0; i < CONLOG_STREAM_MAX; i++) {
        conlog_end(l, (enum conlog_stream)i, now_ns);
        if (put[i].n && put[i].p[put[i].n - 1] != '\n')
            buf_char(&put[i], '\n');
    }
    conlog_flush(l);
    conlog_close(l);
    read_back(got);
    for (int i = 0; i < CONLOG_STREAM_MAX; i++) {
        assert(str_eq(buf_view(&put[i]), buf_view(&got[i])));
        buf_done(&put[i]);
        buf_done(&got[i]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str input = { (const char *)data, size };
    struct conlog_line line;

    (void)conlog_parse(input, &line);
    try_file(input);
    try_output(input);
    return 0;
}
