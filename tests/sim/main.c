/* main.c - pumice-sim: replay seeds, say what broke
 *
 *     pumice-sim --seed N --steps M [--seeds COUNT] [--profile NAME] [--verbose] [--twice]
 *     pumice-sim --crash-every [--life NAME] [--verbose]
 */
#include "world.h"

#include <getopt.h>
#include <inttypes.h>

struct totals {
    uint64_t seeds, steps, faults, crashes, jobs, pods, writes, turns;
};

struct options {
    uint64_t seed, seeds;
    unsigned steps;
    const char *profile, *life;
    bool is_verbose, is_twice, is_crash_every;
};

static void add(struct totals *t, const struct world *w)
{
    t->seeds++;
    t->steps += w->steps;
    t->faults += w->n_faults;
    t->crashes += w->crashes;
    t->jobs += w->n_jobs;
    t->pods += w->n_pods;
    t->writes += w->writes;
    t->turns += w->turns;
}

static void complain(const struct world *w, const struct options *opt)
{
    if (!opt->is_verbose)
        world_print_history(w);
    printf("\nseed %" PRIu64 " (profile %s%s): %s\n", w->seed, w->profile.has_placer ? "placer/" : "", w->profile.name,
           w->broken);
    printf("replay: pumice-sim --seed %" PRIu64 " --steps %u%s%s --verbose\n", w->seed, opt->steps,
           opt->profile ? " --profile " : "", opt->profile ? opt->profile : "");
}

/* One seed; with --twice again, and the histories must be the same. */
static int one(uint64_t seed, const struct options *opt, struct totals *t)
{
    struct world w;
    uint64_t hash;
    int rc = run_seed(&w, seed, opt->steps, opt->profile, opt->is_verbose);

    add(t, &w);
    if (rc < 0)
        complain(&w, opt);
    hash = w.hash;
    world_done(&w);
    if (rc < 0 || !opt->is_twice)
        return rc;
    rc = run_seed(&w, seed, opt->steps, opt->profile, false);
    if (rc == 0 && w.hash != hash) {
        printf("seed %" PRIu64 " gave two histories\n", seed);
        rc = -1;
    }
    world_done(&w);
    return rc;
}

static int run_range(const struct options *opt)
{
    struct totals t = { 0 };
    int64_t start_us = clock_mono_us(&clock_real);
    double s;
    int rc = 0;

    for (uint64_t i = 0; i < opt->seeds && rc == 0; i++)
        rc = one(opt->seed + i, opt, &t);
    s = (double)(clock_mono_us(&clock_real) - start_us) / 1e6;
    printf("%" PRIu64 " seeds, %" PRIu64 " steps, %" PRIu64 " faults, %" PRIu64 " crashes, %" PRIu64 " jobs, %" PRIu64
           " pods, %" PRIu64 " writes, %" PRIu64 " turns, %.1f seeds/s\n",
           t.seeds, t.steps, t.faults, t.crashes, t.jobs, t.pods, t.writes, t.turns, (double)t.seeds / (s > 0 ? s : 1));
    return rc < 0 ? 1 : 0;
}

static uint64_t number(const char *text, const char *option)
{
    uint64_t v;

    if (str_to_u64(str_of(text), &v) < 0) {
        fprintf(stderr, "pumice-sim: %s wants a number, not \"%s\"\n", option, text);
        exit(2);
    }
    return v;
}

static void usage(void)
{
    fprintf(stderr, "usage: pumice-sim --seed N --steps M [--seeds COUNT] [--profile NAME] [--twice] [--verbose]\n"
                    "       pumice-sim --crash-every [--life NAME] [--verbose]\n");
    exit(2);
}

static void parse(int argc, char **argv, struct options *opt)
{
    static const struct option table[] = {
        { "seed", required_argument, NULL, 's' },
        { "steps", required_argument, NULL, 'n' },
        { "seeds", required_argument, NULL, 'c' },
        { "profile", required_argument, NULL, 'p' },
        { "life", required_argument, NULL, 'l' },
        { "verbose", no_argument, NULL, 'v' },
        { "twice", no_argument, NULL, 't' },
        { "crash-every", no_argument, NULL, 'e' },
        { NULL, 0, NULL, 0 },
    };
    int c;

    while ((c = getopt_long(argc, argv, "", table, NULL)) != -1)
        switch (c) {
        case 's':
            opt->seed = number(optarg, "--seed");
            break;
        case 'n':
            opt->steps = (unsigned)number(optarg, "--steps");
            break;
        case 'c':
            opt->seeds = number(optarg, "--seeds");
            break;
        case 'p':
            opt->profile = optarg;
            break;
        case 'l':
            opt->life = optarg;
            break;
        case 'v':
            opt->is_verbose = true;
            break;
        case 't':
            opt->is_twice = true;
            break;
        case 'e':
            opt->is_crash_every = true;
            break;
        default:
            usage();
        }
    if (optind < argc)
        usage();
    if (opt->profile && !profile_exists(opt->profile)) {
        fprintf(stderr, "pumice-sim: --profile %s: no such profile\n", opt->profile);
        usage();
    }
}

int main(int argc, char **argv)
{
    struct options opt = { .seed = 1, .seeds = 1, .steps = 100 };

    parse(argc, argv, &opt);
    sim_types_init();
    if (opt.is_crash_every)
        return lives_run(opt.is_verbose, opt.life) ? 1 : 0;
    return run_range(&opt);
}
