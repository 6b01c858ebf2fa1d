/* pull.c - the command `pumice pull`: images out of registries, before they are needed */
#include "base/clock.h"
#include "base/util.h"
#include "cli/commands.h"
#include "cli/machine.h"
#include "history/history.h"
#include "image/image.h"
#include "image/image_pull.h"
#include "base/term.h"

struct pull_options {
    struct machine_options machine;
    bool quiet;
};

enum { BAR = 24, LINE_MS = 10000 }; /* how often a line is worth reading later */

/* ---- what is seen of it ---- */

enum show { SHOW_NOTHING, SHOW_LINES, SHOW_BAR }; /* quiet; into a file; on a terminal, a line that is written over */

struct pull_shown {
    struct str name;
    enum show how;
    bool is_drawn;          /* BAR */
    enum image_doing doing; /* LINES: what was said last, and when */
    int64_t told_ms;
};

static void draw_bar(struct buf *out, int64_t bytes, int64_t total)
{
    size_t full = total > 0 ? (size_t)(bytes * BAR / total) : 0;

    buf_char(out, '[');
    buf_repeat(out, '#', MIN_OF(full, BAR));
    buf_repeat(out, ' ', BAR - MIN_OF(full, BAR));
    buf_str(out, STR("] "));
    bytes_print(out, bytes);
    buf_str(out, STR(" of "));
    bytes_print(out, total);
}

static void show_bar(struct pull_shown *s, enum image_doing doing, int64_t bytes, int64_t total)
{
    autobuf out = { 0 };

    buf_str(&out, STR("\r\033[K"));
    term_text(&out, s->name);
    buf_str(&out, STR(": "));
    if (doing == IMAGE_FETCHES)
        draw_bar(&out, bytes, total);
    else
        buf_str(&out, doing == IMAGE_ASKS ? STR("asking the registry") : STR("unpacking"));
    s->is_drawn = true;
    (void)term_draw(stderr, &out);
}

static void show_line(struct pull_shown *s, enum image_doing doing, int64_t bytes, int64_t total)
{
    int64_t now_ms = clock_mono_ms(&clock_real);
    bool is_next = doing != s->doing;
    autobuf out = { 0 };

    if (!total || (!is_next && now_ms - s->told_ms < LINE_MS)) /* it asks: that is soon over */
        return;
    s->doing = doing;
    s->told_ms = now_ms;
    term_text(&out, s->name);
    buf_str(&out, doing == IMAGE_UNPACKS ? STR(": unpacking") : is_next ? STR(": fetching ") : STR(": fetched "));
    if (doing == IMAGE_FETCHES && !is_next) {
        bytes_print(&out, bytes);
        buf_str(&out, STR(" of "));
    }
    if (doing == IMAGE_FETCHES)
        bytes_print(&out, total);
    buf_char(&out, '\n');
    (void)term_write(stderr, &out);
}

static void pull_on_progress(void *ctx, enum image_doing doing, int64_t bytes, int64_t total)
{
    static void (*const show[])(struct pull_shown * s, enum image_doing doing, int64_t bytes, int64_t total) = {
        [SHOW_LINES] = show_line,
        [SHOW_BAR] = show_bar,
    };
    struct pull_shown *s = ctx;

    if (s->how != SHOW_NOTHING)
        show[s->how](s, doing, bytes, total);
}

static void pull_hide(struct pull_shown *s)
{
    autobuf out = { 0 };

    if (!s->is_drawn)
        return;
    buf_str(&out, STR("\r\033[K"));
    s->is_drawn = false;
    (void)term_draw(stderr, &out);
}

static void pull_tell(const struct pull_shown *s, const struct image_pulled *pulled, bool is_quiet)
{
    autobuf out = { 0 };

    if (is_quiet) {
        buf_fmt(&out, "%s\n", pulled->id.text);
    } else {
        term_text(&out, s->name);
        buf_fmt(&out, ": %s, %s (", pulled->is_new ? "pulled" : "is up to date", pulled->digest.text);
        bytes_print(&out, pulled->bytes);
        buf_str(&out, STR(")\n"));
    }
    (void)term_print(&out);
}

/* ---- the command ---- */

static int pull_one(const char *store, const struct registry_options *registry, struct pull_shown *s, bool is_quiet)
{
    struct image_pull q = { store, s->name, registry, s, pull_on_progress };
    struct image_pulled pulled;
    struct err e;
    int rc = image_pull(&q, &pulled, &e);

    pull_hide(s);
    if (rc < 0) {
        (void)err_wrap(&e, "%.*s", STR_ARG(s->name));
        return command_fail("pull", &e, EXIT_FAILED);
    }
    pull_tell(s, &pulled, is_quiet);
    return EXIT_FINE;
}

static int pull_run(struct arena *a, const void *options, const struct text_list *names)
{
    const struct pull_options *o = options;
    struct machine m = { .arena = a };
    struct registry_options registry;
    const char *store;
    struct err e;
    int status = EXIT_FINE;

    if (machine_registry(a, &o->machine, &registry, &e) < 0)
        return command_fail("pull", &e, EXIT_USAGE);
    if (machine_find(&m, &o->machine, &e) < 0)
        return command_fail("pull", &e, EXIT_FAILED);
    (void)user_enter(&m.root, NULL); /* where that is not allowed, all files are ours */
    store = machine_image_store(&m, &o->machine);
    (void)images_sweep(store, NULL); /* leftovers of a crash; they do no harm */
    VEC_FOREACH(name, &names->list) {
        struct pull_shown s = { .name = str_of(*name),
                                .how = o->quiet                ? SHOW_NOTHING
                                       : isatty(STDERR_FILENO) ? SHOW_BAR
                                                               : SHOW_LINES };

        if (pull_one(store, &registry, &s, o->quiet) != EXIT_FINE)
            status = EXIT_FAILED;
    }
    return status;
}

#define FIELD(name)         offsetof(struct pull_options, name)
#define MACHINE_FIELD(name) offsetof(struct pull_options, machine.name)

static const struct option pull_table[] = {
    { 'q', "quiet", OPTION_FLAG, FIELD(quiet), NULL, NULL, "only the id of each image" },
    REGISTRY_OPTIONS(MACHINE_FIELD),
    { 0, "image-store", OPTION_TEXT, MACHINE_FIELD(image_store), "DIR", NULL,
      "unpacked images (default: below --state)" },
    { 0, "state", OPTION_TEXT, MACHINE_FIELD(state), "DIR", NULL,
      "where runs keep their files (default: /var/lib/pumice; ~/.local/state/pumice)" },
};

static const char *const pull_examples[] = {
    "pumice pull python:3.12-slim",
    "now, so that a run need not wait for it",
    "pumice pull localhost:5000/team/app:1.2",
    "from a registry of one's own",
    NULL,
};

const struct command command_pull = {
    .name = "pull",
    .arguments = "IMAGE…",
    .summary = "fetch images from registries into the store of this machine",
    .about = "Asks the registry for each image, even if it is here already, and downloads what is missing. Every "
             "download is\n"
             "checked against its digest. An interrupted pull continues where it stopped.\n\n"
             "Runs find the image by its name; 'pumice images' lists all images, and 'pumice image rm' removes one.",
    .options = pull_table,
    .n_options = ARRAY_LEN(pull_table),
    .options_size = sizeof(struct pull_options),
    .examples = pull_examples,
    .run = pull_run,
};
