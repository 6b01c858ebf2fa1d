/* images.c - the commands `pumice images` and `pumice image rm|prune`: what is in the store of this machine */
#include "base/clock.h"
#include "base/span.h"
#include "base/util.h"
#include "cli/commands.h"
#include "cli/machine.h"
#include "history/history.h"
#include "json/json.h"
#include "image/image.h"
#include "base/term.h"

struct images_options {
    struct machine_options machine;
    const char *output;
    bool all;
};

enum { ID_SHOWN = 12 };

/* As root of a user namespace: there an ordinary user's images have owners of their own. */
static int find_store(struct arena *a, const struct images_options *o, const char **ret, struct err *e)
{
    struct machine m = { .arena = a };

    if (machine_find(&m, &o->machine, e) < 0)
        return -1;
    (void)user_enter(&m.root, NULL);
    *ret = machine_image_store(&m, &o->machine);
    return 0;
}

/* ---- list ---- */

/* As people write it: "busybox:1.36" for docker.io/library/busybox:1.36. */
static struct str short_name(struct str name)
{
    static const struct str usual[] = { STR_INIT("docker.io/library/"), STR_INIT("docker.io/") };

    for (size_t i = 0; i < ARRAY_LEN(usual); i++)
        if (str_starts(name, usual[i]))
            return str_from(name, usual[i].n);
    return name.n ? name : STR("<none>");
}

static struct str size_text(struct arena *a, int64_t bytes)
{
    autobuf out = { 0 };

    if (bytes < 0)
        return STR("-");
    bytes_print(&out, bytes);
    return arena_str(a, buf_view(&out));
}

static struct str age_text(struct arena *a, int64_t since_ms)
{
    autobuf out = { 0 };

    if (!since_ms)
        return STR("-");
    span_print(&out, clock_now_ms(&clock_real) - since_ms);
    return arena_str(a, buf_view(&out));
}

static void images_print_table(struct arena *a, struct buf *out, const struct image_entries *all)
{
    static const struct str head[] = { STR_INIT("IMAGE"), STR_INIT("ID"), STR_INIT("SIZE"), STR_INIT("AGE"),
                                       STR_INIT("IN USE") };
    struct table t = { .arena = a, .columns = ARRAY_LEN(head) };

    for (size_t i = 0; i < ARRAY_LEN(head); i++)
        table_cell(&t, head[i]);
    VEC_FOREACH(one, &all->list) {
        table_cell(&t, short_name(one->name));
        table_cell(&t, str_sub(one->id, 7, ID_SHOWN));
        table_cell(&t, size_text(a, one->bytes));
        table_cell(&t, age_text(a, one->since_ms));
        table_cell(&t, one->is_used ? STR("yes") : STR("no"));
    }
    table_print(out, &t, "");
}

static void images_print_json(struct arena *a, struct buf *out, const struct image_entries *all)
{
    struct json *list = json_array(a);

    VEC_FOREACH(one, &all->list) {
        struct json *j = json_push(list, json_object(a));

        if (one->name.n)
            json_add(j, STR("name"), json_str(a, one->name));
        json_add(j, STR("id"), json_str(a, one->id));
        if (one->digest.n)
            json_add(j, STR("digest"), json_str(a, one->digest));
        if (one->bytes >= 0)
            json_add(j, STR("size"), json_int(a, one->bytes));
        json_add(j, STR("inUse"), json_bool_new(a, one->is_used));
    }
    json_print_pretty(out, list, 2);
    buf_char(out, '\n');
}

static int images_run(struct arena *a, const void *options, const struct text_list *arguments)
{
    const struct images_options *o = options;
    struct image_entries all;
    autobuf out = { 0 };
    const char *store;
    struct err e;

    if (find_store(a, o, &store, &e) < 0 || images_list(a, store, &all, &e) < 0)
        return command_fail("images", &e, EXIT_FAILED);
    if (o->output && strcmp(o->output, "json") == 0)
        images_print_json(a, &out, &all);
    else
        images_print_table(a, &out, &all);
    return term_print(&out) < 0 ? EXIT_FAILED : EXIT_FINE;
}

/* ---- remove ---- */

static void tell_freed(struct buf *out, int64_t bytes)
{
    bytes_print(out, bytes);
    buf_str(out, STR(" freed\n"));
}

static int rm_run(struct arena *a, const void *options, const struct text_list *names)
{
    const char *store;
    int status = EXIT_FINE;
    struct err e;

    if (find_store(a, options, &store, &e) < 0)
        return command_fail("image rm", &e, EXIT_FAILED);
    VEC_FOREACH(name, &names->list) {
        autobuf out = { 0 };
        int64_t bytes;

        if (images_remove(store, str_of(*name), &bytes, &e) < 0) {
            status = command_fail("image rm", &e, EXIT_FAILED);
            continue;
        }
        term_text(&out, str_of(*name));
        buf_str(&out, STR(": removed, "));
        tell_freed(&out, bytes);
        (void)term_print(&out);
    }
    return status;
}

static int prune_run(struct arena *a, const void *options, const struct text_list *arguments)
{
    const struct images_options *o = options;
    autobuf out = { 0 };
    const char *store;
    size_t n;
    int64_t bytes;
    struct err e;

    if (find_store(a, o, &store, &e) < 0 || images_prune(store, o->all, &n, &bytes, &e) < 0)
        return command_fail("image prune", &e, EXIT_FAILED);
    buf_str(&out, plural(a, (int64_t)n, "image"));
    buf_str(&out, STR(" removed, "));
    tell_freed(&out, bytes);
    return term_print(&out) < 0 ? EXIT_FAILED : EXIT_FINE;
}

/* ---- the commands ---- */

#define FIELD(name) offsetof(struct images_options, name)
#define STORE_OPTIONS                                                                                                  \
    OPTION_ROW(0, "image-store", OPTION_TEXT, FIELD(machine.image_store), "DIR", NULL,                                 \
               "unpacked images (default: below --state)"),                                                            \
        OPTION_ROW(0, "state", OPTION_TEXT, FIELD(machine.state), "DIR", NULL,                                         \
                   "where runs keep their files (default: /var/lib/pumice; ~/.local/state/pumice)")

static const char *const output_names[] = { "text", "json", NULL };

static const struct option images_table[] = {
    { 'o', "output", OPTION_TEXT, FIELD(output), "FORM", output_names, "text (default), or json" },
    STORE_OPTIONS,
};

static const struct option rm_table[] = { STORE_OPTIONS };

static const struct option prune_table[] = {
    { 'a', "all", OPTION_FLAG, FIELD(all), NULL, NULL, "all images that nothing runs with, also those with names" },
    STORE_OPTIONS,
};

const struct command command_images = {
    .name = "images",
    .arguments = "",
    .summary = "list the images on this machine",
    .about =
        "Lists the images that were pulled, and those that --image gave as an archive. SIZE is their unpacked size.",
    .options = images_table,
    .n_options = ARRAY_LEN(images_table),
    .options_size = sizeof(struct images_options),
    .run = images_run,
};

static const char *const image_examples[] = {
    "pumice image rm busybox:1.36",
    "a name, and the image if it has no other",
    "pumice image prune --all",
    "everything that nothing runs with",
    NULL,
};

const struct command command_image = {
    .name = "image",
    .arguments = "[COMMAND]",
    .summary = "remove images from this machine",
    .about = "'pumice images' lists all.",
    .examples = image_examples,
    .is_group = true,
};

const struct command command_image_rm = {
    .name = "image rm",
    .arguments = "IMAGE…",
    .summary = "remove images, by name or id",
    .about = "Removes the name. An image without another name is deleted, with the layers that only it has. An id (its "
             "first\n"
             "digits) removes all names of the image. An image in use by a job is refused.",
    .options = rm_table,
    .n_options = ARRAY_LEN(rm_table),
    .options_size = sizeof(struct images_options),
    .run = rm_run,
};

const struct command command_image_prune = {
    .name = "image prune",
    .arguments = "",
    .summary = "remove what no image needs",
    .about = "Removes images whose name moved to a newer one, layers without an image, and interrupted pulls. Images "
             "in use by a\n"
             "job stay.",
    .options = prune_table,
    .n_options = ARRAY_LEN(prune_table),
    .options_size = sizeof(struct images_options),
    .run = prune_run,
};
