/* hosts.c - host names of a job's pods, and their ranks
 *
 * The text of a task's hosts is made once, joined by ','; the single names are views into it.
 */
#include "plugin/hosts.h"

#include "base/util.h"
#include "plugin/plugin_internal.h"

static struct str template_text(const struct job_task *task, const char *field)
{
    return json_member_text(job_task_pod_spec(task), field);
}

/* Append "<hostname>.<subdomain>" of pod 'index'; lengths go to host 'index' (pointers follow when the text is whole). */
static void hosts_append(struct buf *text, const struct job *job, const struct job_task *task, struct task_hosts *h,
                         uint32_t index)
{
    size_t start;

    if (index)
        buf_char(text, ',');
    start = text->n;
    if (h->has_own_hostname) {
        buf_str(text, template_text(task, "hostname"));
    } else {
        buf_str(text, job->meta.name);
        buf_char(text, '-');
        buf_str(text, task->name);
        buf_char(text, '-');
        buf_i64(text, index);
    }
    h->short_name[index].n = text->n - start;
    buf_char(text, '.');
    buf_str(text, h->subdomain);
    h->host[index].n = text->n - start;
}

static void hosts_build(struct arena *a, const struct job *job, const struct job_task *task, struct task_hosts *h)
{
    struct str subdomain = template_text(task, "subdomain");
    autobuf text = { 0 };
    size_t at = 0;
    char *lines;

    h->subdomain = str_empty(subdomain) ? job->meta.name : subdomain;
    h->has_own_hostname = !str_empty(template_text(task, "hostname"));
    h->n = h->has_own_hostname ? MIN_OF(task_pods(task), 1u) : task_pods(task);
    if (!h->n)
        return;
    h->host = arena_array(a, struct str, h->n);
    h->short_name = arena_array(a, struct str, h->n);
    for (size_t i = 0; i < h->n; i++)
        hosts_append(&text, job, task, h, (uint32_t)i);

    h->comma = arena_str(a, buf_view(&text));
    lines = (char *)arena_str(a, buf_view(&text)).p;
    h->lines = (struct str){ lines, h->comma.n };
    for (size_t i = 0; i < h->n; i++) {
        h->host[i].p = h->short_name[i].p = h->comma.p + at;
        at += h->host[i].n + 1;
        if (i + 1 < h->n)
            lines[at - 1] = '\n';
    }
}

void plugin_hosts_build(struct plugin_set *set)
{
    const struct job *job = set->job;

    for (size_t i = 0; i < job->spec.tasks.n; i++)
        hosts_build(set->arena, job, &job->spec.tasks.v[i], &set->hosts[i]);
}

const struct task_hosts *plugin_set_hosts(const struct plugin_set *set, size_t task_pos)
{
    static const struct task_hosts none;

    return task_pos < set->job->spec.tasks.n ? &set->hosts[task_pos] : &none;
}

/* ---- subdomains ---- */

struct hosts_seen {
    struct str text;
    size_t pos;
};

static int seen_by_text(const void *x, const void *y)
{
    const struct hosts_seen *a = x, *b = y;
    int c = str_cmp(a->text, b->text);

    return c ? c : (a->pos > b->pos) - (a->pos < b->pos);
}

static int seen_by_pos(const void *x, const void *y)
{
    const struct hosts_seen *a = x, *b = y;

    return (a->pos > b->pos) - (a->pos < b->pos);
}

struct str_list plugin_set_subdomains(const struct plugin_set *set, struct arena *a)
{
    size_t n = set->job->spec.tasks.n, kept = 0;
    struct hosts_seen *v = arena_array(a, struct hosts_seen, n + 1);
    struct str_list list = { arena_array(a, struct str, n + 1), 0 };

    for (size_t i = 0; i < n; i++)
        v[i] = (struct hosts_seen){ set->hosts[i].subdomain, i };
    qsort(v, n, sizeof(*v), seen_by_text);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || !str_eq(v[i].text, v[i - 1].text))
            v[kept++] = v[i];
    qsort(v, kept, sizeof(*v), seen_by_pos);
    for (size_t i = 0; i < kept; i++)
        list.v[list.n++] = v[i].text;
    return list;
}

/* ---- ranks ---- */

static void rank_add(struct rank_order *order, const struct job *job, size_t pos)
{
    order->task_pos[order->n] = pos;
    order->first_rank[order->n++] = order->size;
    order->size += task_pods(&job->spec.tasks.v[pos]);
}

int rank_order_init(struct arena *a, const struct job *job, struct str tasks, struct rank_order *ret, struct err *e)
{
    size_t n = job->spec.tasks.n, pos;
    bool *is_listed = arena_array(a, bool, n + 1);
    struct rank_order order = { arena_array(a, size_t, n + 1), arena_array(a, uint32_t, n + 1), 0, 0 };
    struct str name;

    for (size_t i = 0; str_empty(tasks) && i < n; i++)
        rank_add(&order, job, i);
    while (!str_empty(tasks) && str_split(&tasks, ',', &name)) {
        name = str_trim(name);
        if (!job_task_by_name(job, name, &pos))
            return err_set(e, ERR_INVALID, "task \"%.*s\" does not exist", STR_ARG(name));
        if (is_listed[pos])
            return err_set(e, ERR_INVALID, "task \"%.*s\" is listed twice", STR_ARG(name));
        is_listed[pos] = true;
        rank_add(&order, job, pos);
    }
    *ret = order;
    return 0;
}

struct str rank_order_host0(const struct plugin_set *set, const struct rank_order *order)
{
    for (size_t i = 0; i < order->n; i++) {
        const struct task_hosts *hosts = plugin_set_hosts(set, order->task_pos[i]);

        if (hosts->n)
            return hosts->host[0];
    }
    return STR_NULL;
}

int64_t rank_order_of(const struct rank_order *order, size_t task_pos, uint32_t index)
{
    for (size_t i = 0; i < order->n; i++)
        if (order->task_pos[i] == task_pos)
            return (int64_t)order->first_rank[i] + index;
    return -1;
}
