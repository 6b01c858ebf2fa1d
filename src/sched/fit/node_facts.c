/* node_facts.c - what was worked out about a node: values of topology keys, and its images */
#include "base/util.h"
#include "sched/fit/fit_internal.h"

/* ---- images ---- */

struct sched_image *image_ref(struct fit *f, struct str name)
{
    static const char latest[] = ":latest";
    struct str last = str_from(name, (size_t)(str_rfind_char(name, '/') + 1));
    bool has_tag = str_has_char(last, ':') || str_has_char(last, '@');
    size_t extra = has_tag ? 0 : sizeof(latest) - 1;
    struct sched_image *new = xcalloc(1, sizeof(*new) + name.n + extra + 1), *old;
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

void image_unref(struct fit *f, struct sched_image *image)
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

int64_t node_facts_image_bytes(const struct node_facts *facts, const struct sched_image *image)
{
    struct node_image key = { (struct sched_image *)image, 0 };
    const struct node_image *found =
        facts->n_images ? bsearch(&key, facts->images, facts->n_images, sizeof(facts->images[0]), by_address) : NULL;

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

static void node_facts_read_images(struct fit *f, struct node_facts *facts, const struct sched_node *n)
{
    struct node_image *old = facts->images;
    uint32_t n_old = facts->n_images, count = 0;

    JSON_FOREACH(i, n->exists ? n->images : NULL)
        count += (uint32_t)json_count(json_get(i, "names"));
    count = MIN_OF(count, (uint32_t)IMAGES_MAX);
    facts->images = count ? xcalloc(count, sizeof(*facts->images)) : NULL;
    facts->n_images = 0;
    JSON_FOREACH(i, n->exists ? n->images : NULL)
        JSON_FOREACH(name, json_get(i, "names")) {
            int64_t bytes = json_i64(json_get(i, "sizeBytes"), 0);

            if (facts->n_images < count) {
                struct sched_image *image = image_ref(f, json_text(name, STR("")));

                image->nodes++;
                facts->images[facts->n_images++] = (struct node_image){ image, MIN_OF(MAX_OF(bytes, 0),
                                                                                      AMOUNT_UNLIMITED / IMAGES_MAX) };
            }
        }
    if (facts->n_images)
        qsort(facts->images, facts->n_images, sizeof(facts->images[0]), by_address);
    drop_images(f, old, n_old);
}

/* ---- notes ---- */

void node_note_read(struct sched_model *m, struct node_facts *facts, const struct sched_node *n)
{
    terms_facts_read(m, facts, n);
    node_facts_read_images(m->fit, facts, n);
}

void node_note_free(struct sched_model *m, struct node_facts *facts)
{
    drop_images(m->fit, facts->images, facts->n_images);
    terms_facts_gone(m, facts);
    m->fit->notes[facts->slot] = NULL;
    m->fit->n_free_notes++;
    free(facts);
}

struct node_facts *node_facts_of(struct sched_model *m, struct sched_node *n)
{
    struct fit *f = m->fit;
    struct node_facts *facts;

    if (n->facts)
        return n->facts;
    n->facts = facts = xcalloc(1, sizeof(*facts));
    if (!f->n_free_notes)
        facts->slot = f->n_notes;
    else
        for (f->n_free_notes--; f->notes[facts->slot];)
            facts->slot++;
    if (facts->slot == f->cap_notes) {
        f->cap_notes = f->cap_notes ? 2 * f->cap_notes : 64;
        f->notes = xrealloc(f->notes, f->cap_notes * sizeof(struct node_facts *));
    }
    if (facts->slot == f->n_notes)
        f->n_notes++;
    f->notes[facts->slot] = facts;
    node_note_read(m, facts, n);
    return facts;
}
