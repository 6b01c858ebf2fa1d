/* agent_removal.c - trees that pods wrote are deleted in portions
 *
 * A pod can leave millions of files. To delete them at once would block the loop for seconds, so each turn deletes
 * REMOVED_A_TURN of them, of one tree after the other. Names are never used again, so a tree that waits is in no pod's
 * way. A tree that still waits when the program ends is deleted with the run, or by the next program that adopts it.
 */
#include "node/agent/agent_internal.h"

#include "base/log.h"
#include "os/tree.h"

enum { REMOVED_A_TURN = 1000 }; /* some 5 ms on a disk, docs/design/node.md */

struct agent_removal {
    struct list_link link;
    int dir; /* of the run */
    char path[];
};

/* True: there is more. */
static bool remove_some(int dir, const char *path)
{
    struct err e;
    int rc = tree_remove_some(dir, path, REMOVED_A_TURN, &e);

    if (rc < 0)
        log_warn("Failed to remove files of a pod", LOG_TEXT("path", path), LOG_TEXT("error", e.text));
    return rc > 0;
}

void agent_remove_tree(struct agent *g, int dir, const char *path)
{
    struct agent_removal *r;

    if (!remove_some(dir, path))
        return;
    r = xcalloc(1, sizeof(*r) + strlen(path) + 1);
    r->dir = dir;
    memcpy(r->path, path, strlen(path));
    list_push(&g->removals, &r->link);
}

bool agent_removals_turn(struct agent *g)
{
    struct list_link *link = list_pop_front(&g->removals);
    struct agent_removal *r;

    if (!link)
        return false;
    r = LIST_ITEM(link, struct agent_removal, link);
    if (remove_some(r->dir, r->path))
        list_push(&g->removals, &r->link);
    else
        free(r);
    return true;
}

void agent_removals_done(struct agent *g)
{
    for (struct list_link *link; (link = list_pop_front(&g->removals));)
        free(LIST_ITEM(link, struct agent_removal, link));
}
