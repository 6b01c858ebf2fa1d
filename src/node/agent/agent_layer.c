/* agent_layer.c - the directories that hold what containers change of their roots
 *
 * Two of them in each shard: to place a directory right below "layers" ext4 looks at all parts of the disk (see
 * agent_run.c), and begins where its name says. So each run has names of its own. Of more than two in one part each would
 * pass over what the others deleted.
 *
 * One whose container changed nothing is left when the pod ends, and the next container gets it under its own name:
 * for new directories ext4 passes over every inode that was freed in the last seconds. Whether it is as new ones would
 * be is looked at where it is used (box_root.c).
 */
#include "node/agent/agent_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

enum { SHARDS = 64, SHARD_LAYERS = 2 };

/* ---- those that are free ---- */

static char *spare_take(struct agent *g)
{
    return g->n_spare_layers ? g->spare_layers[--g->n_spare_layers] : NULL;
}

/* One of this name is in use from now on. */
static void spare_forget(struct agent *g, const char *layer)
{
    for (size_t i = 0; i < g->n_spare_layers; i++)
        if (strcmp(g->spare_layers[i], layer) == 0) {
            free(g->spare_layers[i]);
            g->spare_layers[i--] = spare_take(g);
        }
}

/* One of ours; one that was counted would go on to be (see project.h). */
static bool spare_add(struct agent_pod *p, const struct agent_layer *layer)
{
    struct agent *g = p->agent;
    char *name;

    if (g->n_spare_layers == ARRAY_LEN(g->spare_layers) || !layer->container.n || agent_storage_is_limited(p))
        return false;
    name = xmalloc(layer->dir.n + 1);
    memcpy(name, layer->dir.p, layer->dir.n + 1);
    g->spare_layers[g->n_spare_layers++] = name;
    return true;
}

void agent_layers_done(struct agent *g)
{
    for (char *spare; (spare = spare_take(g)); free(spare))
        if (!g->leaves && g->run.dir_fd >= 0)
            (void)box_layer_remove(g->run.dir_fd, spare);
}

/* ---- for a container ---- */

static int make_dir(struct agent *g, const char *layer, const char *shard, struct err *e)
{
    int rc = mkdirat(g->run.dir_fd, layer, 0700);

    if (rc < 0 && errno == ENOENT && (mkdirat(g->run.dir_fd, shard, 0700) == 0 || errno == EEXIST))
        rc = mkdirat(g->run.dir_fd, layer, 0700);
    return rc < 0 && errno != EEXIST ? err_errno(e, "make %s", layer) : 0;
}

int agent_layer_make(struct agent_pod *p, struct str container, int attempt, struct err *e)
{
    struct agent *g = p->agent;
    autoarena a = { 0 };
    autofree char *spare = spare_take(g);
    struct str shard = spare ? str_sub(str_of(spare), 0, (size_t)str_rfind_char(str_of(spare), '/'))
                             : arena_fmt(&a, "layers/" AGENT_SHARD "%s-%u", g->run.id,
                                         g->n_layers++ / SHARD_LAYERS % SHARDS),
               dir = arena_fmt(&p->arena, "%.*s/%.*s.%.*s.%d", STR_ARG(shard), STR_ARG(p->object->uid),
                               STR_ARG(container), attempt);

    spare_forget(g, dir.p);
    if ((!spare || renameat(g->run.dir_fd, spare, g->run.dir_fd, dir.p) < 0) &&
        make_dir(g, dir.p, arena_cstr(&a, shard), e) < 0)
        return -1;
    agent_storage_count(p, dir.p); /* before the first file is there */
    *vec_push(&p->arena, &p->layers) =
        (struct agent_layer){ .dir = dir, .container = arena_str(&p->arena, container), .attempt = attempt };
    return 0;
}

void agent_layers_drop_empty(struct agent_pod *p)
{
    int run = p->agent->run.dir_fd;

    if (p->agent->opt.keeps_state)
        return;
    VEC_FOREACH(layer, &p->layers) {
        layer->is_gone = (box_layer_empty(run, layer->dir.p) && spare_add(p, layer)) ||
                         box_layer_remove(run, layer->dir.p);
    }
}
