/* agent_layer.c - the directories that hold what containers change of their roots
 *
 * Each start of a container has a new one, which is removed with its pod. An overlay lives as long as any process holds
 * a descriptor of it, wherever that was passed to: if a directory were used again, that process could reach it.
 *
 * Two of them in each shard: to place a directory right below "layers" ext4 looks at all parts of the disk (see
 * agent_run.c), and begins where its name says. So each run has names of its own. Of more than two in one part each
 * would pass over what the others deleted.
 */
#include "node/agent/agent_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

enum { SHARDS = 64, SHARD_LAYERS = 2 };

static int agent_layer_make_dir(struct agent *g, const char *layer, const char *shard, struct err *e)
{
    int rc = mkdirat(g->run.dir_fd, layer, 0700);

    if (rc < 0 && errno == ENOENT && (mkdirat(g->run.dir_fd, shard, 0700) == 0 || errno == EEXIST))
        rc = mkdirat(g->run.dir_fd, layer, 0700);
    return rc < 0 && errno != EEXIST ? err_errno(e, "create %s", layer) : 0;
}

int agent_layer_make(struct agent_pod *p, struct str container, int attempt, struct err *e)
{
    struct agent *g = p->agent;
    autoarena a = { 0 };
    struct str shard = arena_fmt(&a, "layers/" AGENT_SHARD "%s-%u", g->run.id, g->n_layers++ / SHARD_LAYERS % SHARDS),
               dir = arena_fmt(&p->arena, "%.*s/%.*s.%.*s.%d", STR_ARG(shard), STR_ARG(p->object->uid),
                               STR_ARG(container), attempt);

    if (agent_layer_make_dir(g, dir.p, shard.p, e) < 0)
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
    VEC_FOREACH(layer, &p->layers)
        layer->is_gone = box_layer_remove(run, layer->dir.p);
}
