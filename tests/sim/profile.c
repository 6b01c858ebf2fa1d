/* profile.c - how bad the weather is: fault rates of a run, drawn by its seed */
#include "world.h"

#define MILD                                                                                                           \
    {                                                                                                                  \
        .latency_ms = 20, .late = 200, .doubled = 200, .broken = 30, .late_ms = 2000, .gap_ms = 5000, .slow = 100,     \
        .conflict = 100, .refused = 100, .request_lost = 50, .answer_lost = 50, .answer_lost_too_soon = 10,            \
        .quota = 50, .slow_ms = 2000, .timeout_ms = 5000                                                               \
    }

const struct profile profiles[] = {
    { .name = "none", .controllers = 1, .is_exact = true },
    { .name = "quiet", .controllers = 1, .faults = { .latency_ms = 30 }, .evict = 10, .node_death = 2 },
    { .name = "mild",
      .controllers = 1,
      .faults = MILD,
      .crash = 2,
      .outage = 1,
      .jump = 1,
      .evict = 20,
      .node_death = 5 },
    { .name = "two", .controllers = 2, .faults = MILD, .crash = 3, .outage = 1, .evict = 20, .node_death = 5 },
    { .name = "crashes", .controllers = 1, .faults = { .latency_ms = 50 }, .crash = 25, .evict = 15 },
    { .name = "late",
      .controllers = 1,
      .evict = 20,
      .node_death = 5,
      .crash = 3,
      .faults = { .latency_ms = 200,
                  .late = 2000,
                  .late_ms = 90000,
                  .doubled = 1000,
                  .broken = 300,
                  .gap_ms = 120000 } },
    { .name = "timeouts",
      .controllers = 1,
      .evict = 20,
      .crash = 3,
      .faults = { .latency_ms = 20,
                  .slow = 1000,
                  .slow_ms = 60000,
                  .timeout_ms = 10000,
                  .request_lost = 800,
                  .answer_lost = 800,
                  .answer_lost_too_soon = 500,
                  .conflict = 800,
                  .refused = 500,
                  .quota = 500 } },
    { .name = "outages",
      .controllers = 2,
      .faults = MILD,
      .crash = 3,
      .outage = 8,
      .jump = 5,
      .evict = 20,
      .node_death = 5 },
    { .name = "extreme",
      .controllers = 2,
      .crash = 10,
      .outage = 4,
      .jump = 5,
      .evict = 30,
      .node_death = 10,
      .faults = { .latency_ms = 500,
                  .late = 2500,
                  .late_ms = 120000,
                  .doubled = 2000,
                  .broken = 1000,
                  .gap_ms = 60000,
                  .slow = 2000,
                  .slow_ms = 90000,
                  .timeout_ms = 30000,
                  .conflict = 2000,
                  .refused = 1500,
                  .request_lost = 1000,
                  .answer_lost = 1500,
                  .answer_lost_too_soon = 1000,
                  .quota = 1000 } },
    { .name = "large",
      .controllers = 1,
      .faults = { .latency_ms = 20,
                  .late = 20,
                  .late_ms = 2000,
                  .conflict = 20,
                  .request_lost = 10,
                  .answer_lost = 10,
                  .timeout_ms = 5000 },
      .crash = 5,
      .evict = 10,
      .node_death = 30,
      .min_nodes = 1000,
      .max_nodes = 10000,
      .is_large = true },
};

const size_t n_profiles = ARRAY_LEN(profiles);

static const struct profile *find(struct str name)
{
    for (size_t i = 0; i < n_profiles; i++)
        if (str_is(name, profiles[i].name))
            return &profiles[i];
    return NULL;
}

static const struct str placer = STR_INIT("placer/"), flows = STR_INIT("flows"), gates = STR_INIT("gates");

/* "two", "placer/two", "flows/two", "gates/two"; "flows" or "gates" alone leaves the rest to the seed. */
static struct str profile_base(struct str name)
{
    if (str_starts(name, flows) || str_starts(name, gates))
        return str_from(name, MIN_OF(flows.n + 1, name.n));
    return str_starts(name, placer) ? str_from(name, placer.n) : name;
}
_Static_assert(sizeof("flows") == sizeof("gates"), "profile_base() cuts both alike");

bool profile_exists(const char *name)
{
    struct str base = profile_base(str_of(name));

    return str_eq(str_of(name), flows) || str_eq(str_of(name), gates) || find(base);
}

/* Large worlds take seconds, so they come only when asked for. One seed in eight meets the placer. */
struct profile profile_pick(uint64_t seed, const char *name)
{
    struct str wanted = name ? str_of(name) : STR_NULL, base = profile_base(wanted);
    bool has_placer = str_starts(wanted, placer), has_makers = str_starts(wanted, flows);
    const struct profile *p = base.n ? find(base) : NULL;
    struct profile ret;
    struct rand r;

    rand_seed(&r, seed * 31 + 7);
    if (!p) {
        p = &profiles[rand_below(&r, n_profiles - 1)];
        has_placer |= rand_below(&r, 8) == 0;
    }
    ret = *p;
    ret.has_placer = has_placer || (has_makers && seed % 2);
    ret.has_makers = has_makers;
    ret.has_gates = str_starts(wanted, gates);
    if (ret.has_gates) /* only the scheduler opens them */
        ret.has_placer = false;
    return ret;
}
