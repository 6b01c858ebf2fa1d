/* node_facts.c - what was worked out about a node: values of topology keys, and its images */
#include "base/util.h"
#include "sched/fit_internal.h"

/* ---- images ---- */

static bool has_tag(struct str name)
{
    struct str last = str_from(name, (size_t)(str_rfind_char(name, '/') + 1));

    return str_has_char(last, ':') || str_has_char(last, '@');
}

struct image *image_ref(struct fit *f, struct str name)
{
    static const char latest[] = ":latest";
    size_t extra = has_tag(name) ? 0 : sizeof(latest) - 1;
    struct image *new = xcalloc(1, sizeof(*new) + name.n + extra + 1), *old;
    char *text = (char *)(new + 1);

    if (name.n)
        memcpy(text, name.p, name.n);
    memcpy(text + name.n, latest, extra);
    new->name = (struct str){ text, name.n + extra };
    old = map_get(&f->images, new->name);
    if (old) {
        free(new);
        old->uses++;
        return old;
    }
    new->uses = 1;
    map_put(&f->images, new->name, new);
    return new;
}

void image_unref(struct fit *f, struct image *image)
{
    if (--image->uses)
        return;
    map_remove(&f->images, image->name);
    free(image);
}

static int by_address(const void *x, const void *y)
{
    uintptr_t a = (uintptr_t)((const struct node_image *)x)->image,
              b = (uintptr_t)((const struct node_image *)y)->image;

    return (a > b) - (a < b);
}

int64_t note_image_bytes(const struct node_note *note, const struct image *image)
{
    struct node_image key = { (struct image *)image, 0 };
    const struct node_image *found =
        note->n_images ? bsearch(&key, note->images, note->n_images, sizeof(note->images[0]), by_address) : NULL;

    return found ? found->bytes : 0;
}

static void drop_images(struct fit *f, struct node_image *images, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        images[i].image->nodes--;
        image_unref(f, images[i].image);
    }
    free(images);
}

enum { IMAGES_MAX = 1000 }; /* names per node; what is beyond is not looked at */

static void note_read_images(struct fit *f, struct node_note *note, const struct sched_node *n)
{
    struct node_image *old = note->images;
    uint32_t n_old = note->n_images, count = 0;

    JSON_FOREACH(i, n->exists ? n->images : NULL)
        count += (uint32_t)json_count(json_get(i, "names"));
    count = MIN_OF(count, (uint32_t)IMAGES_MAX);
    note->images = count ? xcalloc(count, sizeof(*note->images)) : NULL;
    note->n_images = 0;
    JSON_FOREACH(i, n->exists ? n->images : NULL)
        JSON_FOREACH(name, json_get(i, "names")) {
            int64_t bytes = json_i64(json_get(i, "sizeBytes"), 0);

            if (note->n_images < count) {
                struct image *image = image_ref(f, json_text(name, STR("")));

                image->nodes++;
                note->images[note->n_images++] = (struct node_image){ image, MIN_OF(MAX_OF(bytes, 0),
                                                                                    AMOUNT_UNLIMITED / IMAGES_MAX) };
            }
        }
    if (note->n_images)
        qsort(note->images, note->n_images, sizeof(note->images[0]), by_address);
    drop_images(f, old, n_old);
}

/* ---- notes ---- */

void node_note_read(struct sched_model *m, struct node_note *note, const struct sched_node *n)
{
    terms_note_read(m, note, n);
    note_read_images(m->fit, note, n);
}

void node_note_free(struct sched_model *m, struct node_note *note)
{
    drop_images(m->fit, note->images, note->n_images);
    terms_note_gone(m, note);
    m->fit->notes[note->slot] = NULL;
    m->fit->n_free_notes++;
    free(note);
}

struct node_note *node_note_of(struct sched_model *m, struct sched_node *n)
{
    struct fit *f = m->fit;
    struct node_note *note;

    if (n->note)
        return n->note;
    n->note = note = xcalloc(1, sizeof(*note));
    if (!f->n_free_notes)
        note->slot = f->n_notes;
    else
        for (f->n_free_notes--; f->notes[note->slot];)
            note->slot++;
    if (note->slot == f->cap_notes) {
        f->cap_notes = f->cap_notes ? 2 * f->cap_notes : 64;
        f->notes = xrealloc(f->notes, f->cap_notes * sizeof(struct node_note *));
    }
    if (note->slot == f->n_notes)
        f->n_notes++;
    f->notes[note->slot] = note;
    node_note_read(m, note, n);
    return note;
}
