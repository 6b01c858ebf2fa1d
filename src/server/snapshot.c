/* snapshot.c - lists that are read page by page: the objects as they were when the first page was given
 *
 * Objects are shared and never change, so a snapshot is a list of references. The newest few are kept; a client whose
 * own is gone, or is older than five minutes, is told so.
 */
#include "server/server_internal.h"

static struct str key_of(struct arena *a, const struct request *rq, const struct selection *sel)
{
    return arena_fmt(a, "%.*s|%.*s|%.*s", STR_ARG(rq->target.namespace), STR_ARG(sel->labels_text),
                     STR_ARG(sel->fields_text));
}

static void snapshot_free(struct server *s, struct snapshot *k)
{
    for (size_t i = 0; i < k->n; i++)
        object_unref(k->objects[i]);
    free(k->objects);
    list_remove(&k->link);
    s->n_snapshots--;
    free(k);
}

struct snapshot *snapshot_find(struct server *s, const struct request *rq, const struct selection *sel, uint64_t rev)
{
    struct str key = key_of(rq->arena, rq, sel);

    LIST_FOREACH(struct snapshot, k, &s->snapshots, link)
        if (k->type == rq->type && k->rev == rev && str_eq(k->key, key))
            return k;
    return NULL;
}

struct snapshot *snapshot_keep(struct server *s, const struct request *rq, const struct selection *sel,
                               struct object **objects, size_t n, uint64_t rev)
{
    struct str key = key_of(rq->arena, rq, sel);
    struct snapshot *k = snapshot_find(s, rq, sel, rev);

    if (k)
        return k;
    if (s->n_snapshots == SNAPSHOTS_MAX)
        snapshot_free(s, LIST_FIRST(&s->snapshots, struct snapshot, link));
    k = xcalloc(1, sizeof(*k) + key.n);
    memcpy(k->text, key.p, key.n);
    k->key = (struct str){ k->text, key.n };
    k->type = rq->type;
    k->rev = rev;
    k->made_ms = clock_mono_ms(s->opt.clock);
    k->n = n;
    k->objects = xmalloc(MAX_OF(n, 1u) * sizeof(struct object *));
    for (size_t i = 0; i < n; i++)
        k->objects[i] = object_ref(objects[i]);
    list_push(&s->snapshots, &k->link);
    s->n_snapshots++;
    return k;
}

void snapshots_expire(struct server *s)
{
    int64_t now_ms = clock_mono_ms(s->opt.clock);

    LIST_FOREACH(struct snapshot, k, &s->snapshots, link)
        if (now_ms >= k->made_ms + SNAPSHOT_MS)
            snapshot_free(s, k);
}

void snapshots_done(struct server *s)
{
    LIST_FOREACH(struct snapshot, k, &s->snapshots, link)
        snapshot_free(s, k);
}
