/* admit_job_depends.c - dependsOn: known tasks, no cycles
 *
 * The walk is depth first with its own stack, so that a chain of a hundred thousand tasks is as good as one of three.
 */
#include "api/admit/admit_internal.h"

#include "base/util.h"

#define HINTS_MAX  16 /* the search for a similar name is slow */
#define CYCLES_MAX 8
#define SHOWN_MAX  16 /* names of one cycle */

enum colour { WHITE, GREY, BLACK }; /* not seen, on the stack, done */

struct depends_graph {
    struct check *c;
    const struct place *tasks;
    const struct json **task; /* by position */
    const char **name;        /* the same; "" for a task without */
    size_t n;
    struct name_map by_name;
    enum colour *colour;
    size_t n_cycles, n_hints;
    bool has_unreadable_names; /* then a name that is not found may only be misread */
};

struct depends_visit { /* a task on the stack, and the dependency to look at next */
    size_t task;
    const struct json *next;
};

static void graph_init(struct depends_graph *g)
{
    struct arena *a = g->c->arena;
    size_t i = 0;

    g->n = json_count(g->tasks->node);
    g->task = arena_array(a, const struct json *, g->n);
    g->name = arena_array(a, const char *, g->n);
    g->colour = arena_array(a, enum colour, g->n);
    JSON_FOREACH(task, g->tasks->node) {
        struct str name = json_member_text(task, "name");

        g->task[i] = task;
        g->name[i] = arena_cstr(a, name);
        if (name.n)
            (void)name_map_add(a, &g->by_name, name, i, NULL); /* doubles are reported elsewhere */
        g->has_unreadable_names |= !json_is(json_get(task, "name"), JSON_STRING);
        i++;
    }
}

static const struct json *first_dependency(const struct depends_graph *g, size_t task)
{
    const struct json *names = json_find(g->task[task], "dependsOn", "name", NULL);

    return json_is(names, JSON_ARRAY) ? names->first : NULL;
}

/* ---- unknown names, iteration ---- */

static void check_dependency(struct depends_graph *g, const struct place *at)
{
    struct str name = json_text(at->node, STR("")), hint = STR("");

    if (!json_is(at->node, JSON_STRING) || name_map_find(&g->by_name, name, NULL) || g->has_unreadable_names)
        return;
    if (g->n <= 1000 && g->n_hints++ < HINTS_MAX)
        hint = check_hint(g->c->arena, name, g->name, g->n);
    check_error(g->c, at,
                "job has dependencies between tasks, but doesn't form a directed acyclic graph(DAG): task \"%.*s\" "
                "does not exist%.*s",
                STR_ARG(name), STR_ARG(hint));
}

static void check_iteration(struct depends_graph *g, const struct place *depends)
{
    static const char *const known[] = { "any", "all" };
    struct place at = place_member(depends, "iteration");
    struct str text = json_text(at.node, STR(""));

    if (str_empty(text) || str_is(text, known[0]) || str_is(text, known[1]))
        return;
    check_error(g->c, &at, "must be \"any\" or \"all\" (got \"%.*s\")%.*s", STR_ARG(text),
                STR_ARG(check_hint(g->c->arena, text, known, ARRAY_LEN(known))));
}

static void depends_check_names(struct depends_graph *g)
{
    PLACE_FOREACH(task, g->tasks) {
        struct place depends = place_object(&task, "dependsOn"), names = place_list(&depends, "name");

        check_iteration(g, &depends);
        PLACE_FOREACH(name, &names)
            check_dependency(g, &name);
    }
}

/* ---- cycles ---- */

static void report_cycle(struct depends_graph *g, const struct depends_visit *stack, size_t depth, size_t back_to)
{
    struct place task = place_item(g->tasks, g->task[stack[depth - 1].task], stack[depth - 1].task);
    struct place at = place_member(&task, "dependsOn");
    size_t from = depth, shown;
    struct str path = STR("");

    if (g->n_cycles++ >= CYCLES_MAX)
        return;
    while (from > 0 && stack[from - 1].task != back_to)
        from--;
    from = from ? from - 1 : 0;
    shown = MIN_OF(depth - from, SHOWN_MAX);
    for (size_t i = 0; i < shown; i++)
        path = arena_fmt(g->c->arena, "%.*s%s -> ", STR_ARG(path), g->name[stack[from + i].task]);
    check_error(g->c, &at,
                "job has dependencies between tasks, but doesn't form a directed acyclic graph(DAG): %.*s%s%s",
                STR_ARG(path), shown < depth - from ? "... -> " : "", g->name[back_to]);
}

/* Look at one more dependency of the task on top; true if that put another task on the stack. */
static bool visit_next(struct depends_graph *g, struct depends_visit *stack, size_t depth)
{
    struct depends_visit *top = &stack[depth - 1];
    size_t to;

    while (top->next) {
        struct str name = json_text(top->next, STR(""));

        top->next = top->next->next;
        if (str_empty(name) || !name_map_find(&g->by_name, name, &to))
            continue;
        if (g->colour[to] == GREY)
            report_cycle(g, stack, depth, to);
        if (g->colour[to] != WHITE)
            continue;
        g->colour[to] = GREY;
        stack[depth] = (struct depends_visit){ to, first_dependency(g, to) };
        return true;
    }
    return false;
}

static void check_cycles(struct depends_graph *g)
{
    struct depends_visit *stack = arena_array(g->c->arena, struct depends_visit, g->n + 1);

    for (size_t i = 0; i < g->n; i++) {
        size_t depth = 1;

        if (g->colour[i] != WHITE)
            continue;
        g->colour[i] = GREY;
        stack[0] = (struct depends_visit){ i, first_dependency(g, i) };
        while (depth > 0) {
            if (visit_next(g, stack, depth))
                depth++;
            else
                g->colour[stack[--depth].task] = BLACK;
        }
    }
}

void depends_rules(struct check *c, const struct place *tasks)
{
    struct depends_graph g = { .c = c, .tasks = tasks };

    graph_init(&g);
    depends_check_names(&g);
    check_cycles(&g);
}
