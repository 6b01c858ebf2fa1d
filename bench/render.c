/* render.c - what rendering a job costs for each pod, at 100, 1,000 and 10,000 pods
 *
 * Each size runs in a process of its own: admission, plugins, every object and every pod built and printed as YAML into
 * a buffer that is thrown away. The key pair is made once for each job and timed apart, because at 100 pods it would
 * hide everything else. Prints CPU time and memory, and the growth per pod from one size to the next.
 */
#include "job/admit.h"
#include "job/pod.h"
#include "job/wanted.h"
#include "plugin/sshkey.h"
#include "yaml/yaml.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char job_text[] =
    "apiVersion: batch.volcano.sh/v1alpha1\n"
    "kind: Job\n"
    "metadata: {name: big}\n"
    "spec:\n"
    "  plugins: {env: [], mpi: [], pytorch: []}\n"
    "  tasks:\n"
    "  - name: master\n"
    "    replicas: 1\n"
    "    template: &pod\n"
    "      spec:\n"
    "        restartPolicy: OnFailure\n"
    "        initContainers:\n"
    "        - {name: fetch, image: registry.example/fetch:1, command: [sh, -c, 'fetch /data']}\n"
    "        containers:\n"
    "        - name: main\n"
    "          image: registry.example/train:1\n"
    "          command: [python, train.py, --epochs, '10']\n"
    "          resources: {requests: {cpu: 2, memory: 4Gi}, limits: {nvidia.com/gpu: 1}}\n"
    "          volumeMounts: [{name: scratch, mountPath: /scratch}]\n"
    "        volumes: [{name: scratch, emptyDir: {}}]\n"
    "  - name: worker\n"
    "    replicas: %d\n"
    "    template: *pod\n";

struct result {
    double cpu_s, keys_s;
    size_t bytes;
    long rss_kib;
};

static double cpu_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double keys_s;

static int make_keys(void *ctx, struct arena *a, const char *type, struct ssh_keys *ret, struct err *e)
{
    double start = cpu_now();
    int rc = ssh_keys_generate(a, type, ret, e);

    (void)ctx;
    keys_s += cpu_now() - start;
    return rc;
}

static size_t print_and_drop(struct buf *out, const struct json *j)
{
    size_t n;

    yaml_print(out, j, NULL);
    n = out->n;
    buf_reset(out);
    return n;
}

static void render(int pods, struct result *ret)
{
    struct arena a = { 0 }, scratch = { 0 };
    struct admit_env env = { 0 };
    struct plugin_world world = { .make_keys = make_keys };
    struct problems ps = { .arena = &a };
    struct plugin_objects objects = { .arena = &a };
    struct yaml_docs docs = { 0 };
    struct plugin_set *set;
    struct buf out = { 0 };
    struct job job;
    struct err e = { 0 };
    double start = cpu_now();

    if (yaml_parse(&a, arena_fmt(&a, job_text, pods - 1), NULL, &docs, &e) < 0)
        goto failed;
    set = job_admit(&a, docs.v[0], &(struct job_admit_env){ .env = &env, .world = &world }, &job, &ps);
    if (ps.n_errors) {
        err_set(&e, ERR_INVALID, "%.*s", STR_ARG(problems_join(&a, &ps)));
        goto failed;
    }
    if (job_wanted(&job, set, &objects, &e) < 0)
        goto failed;
    job_wanted_group(&job, NULL, false, &objects);
    VEC_FOREACH(o, &objects.list)
        ret->bytes += print_and_drop(&out, *o);
    for (size_t t = 0; t < job.spec.tasks.n; t++)
        for (int32_t i = 0; i < job.spec.tasks.v[t].replicas; i++) {
            struct pod_draft pod = { .task_pos = t, .index = (uint32_t)i };

            if (job_pod_new(&scratch, &job, set, &pod, &e) < 0)
                goto failed;
            ret->bytes += print_and_drop(&out, pod.root);
            arena_reset(&scratch);
        }
    ret->cpu_s = cpu_now() - start - keys_s;
    ret->keys_s = keys_s;
    buf_done(&out);
    arena_done(&scratch);
    arena_done(&a);
    return;
failed:
    fprintf(stderr, "bench_render: %s\n", e.text);
    exit(1);
}

static struct result measure(int pods)
{
    struct result *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0), r;
    struct rusage usage;
    int status;
    pid_t pid = (fflush(stdout), fork()); /* what is still in the buffer would be written twice */

    if (pid == 0) {
        render(pods, shared);
        exit(0);
    }
    if (pid < 0 || wait4(pid, &status, 0, &usage) < 0 || status != 0)
        exit(1);
    r = *shared;
    r.rss_kib = usage.ru_maxrss;
    munmap(shared, sizeof(*shared));
    return r;
}

int main(void)
{
    static const int sizes[] = { 100, 1000, 10000 };
    double before = 0;

    printf("%8s %12s %12s %10s %12s %12s\n", "pods", "CPU/pod us", "growth", "keys ms", "YAML MiB", "peak RSS MiB");
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct result best = { .cpu_s = 1e9 };
        double per_pod;

        for (int round = 0; round < 5; round++) { /* the fastest of five: what the machine adds is never negative */
            struct result r = measure(sizes[i]);

            if (r.cpu_s < best.cpu_s)
                best = r;
        }
        per_pod = best.cpu_s * 1e6 / sizes[i];
        printf("%8d %12.2f ", sizes[i], per_pod);
        if (before > 0)
            printf("%11.2fx ", per_pod / before);
        else
            printf("%12s ", "-");
        printf("%10.1f %12.1f %12.1f\n", best.keys_s * 1e3, (double)best.bytes / 1048576, (double)best.rss_kib / 1024);
        before = per_pod;
    }
    return 0;
}
