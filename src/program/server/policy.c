/* policy.c - --access-config, a file or a part of --config: as whom pods of people run, and how much one client may ask
 *
 *     jobs:                        # auth/runas.h
 *     - users: [ann]
 *       runAs: own
 *     limits:                      # auth/throttle.h
 *       requestsPerSecond: 500
 *     exec: strict                 # server/server.h, enters_all
 *     tokens:                      # auth/account.h
 *       maxLife: 24h
 *
 * It is read at the start, where a mistake is the end, and again on SIGHUP, where a mistake leaves all as it was.
 */
#include "api/duration.h"
#include "auth/auth.h"
#include "auth/runas.h"
#include "base/util.h"
#include "cli/read.h"
#include "program/server/server.h"
#include "json/problem.h"
#include "server/server.h"
#include "yaml/yaml.h"

enum { LIMIT_MAX = 1000000 };
#define NS_PER_S INT64_C(1000000000)

static const char *const members[] = { "jobs", "limits", "exec", "tokens" };

static const struct {
    const char *name;
    size_t offset;
} limit_rows[] = {
    { "requestsPerSecond", offsetof(struct throttle_limits, rate) },
    { "burst", offsetof(struct throttle_limits, burst) },
    { "requests", offsetof(struct throttle_limits, per_client) },
    { "watches", offsetof(struct throttle_limits, streams) },
    { "wrongCredentialsPerMinute", offsetof(struct throttle_limits, failures) },
};

static void read_limit(const struct place *at, struct throttle_limits *ret, struct problems *ps)
{
    int64_t n;

    for (size_t i = 0; i < ARRAY_LEN(limit_rows); i++) {
        if (!str_is(at->key, limit_rows[i].name))
            continue;
        if (json_to_i64(at->node, &n) < 0 || n < 1 || n > LIMIT_MAX)
            problem_error(ps, at, "must be a number from 1 to %d", LIMIT_MAX);
        else
            *(unsigned *)((char *)ret + limit_rows[i].offset) = (unsigned)n;
        return;
    }
    problem_error(ps, at,
                  "is not known; there are requestsPerSecond, burst, requests, watches and "
                  "wrongCredentialsPerMinute");
}

/* exec: strict, or namespace. */
static bool read_exec(const struct place *at, struct problems *ps)
{
    struct str word = json_text(at->node, STR("strict"));

    if ((at->node && !json_is(at->node, JSON_STRING)) || (!str_is(word, "strict") && !str_is(word, "namespace")))
        problem_error(ps, at, "must be strict (pods that one could create) or namespace (all that RBAC allows)");
    return str_is(word, "namespace");
}

/* tokens: {maxLife: 24h} */
static int64_t read_tokens(const struct place *tokens, struct problems *ps)
{
    struct place at = place_member(tokens, "maxLife");
    int64_t ns = 0;

    if (tokens->node && !json_is(tokens->node, JSON_OBJECT))
        problem_error(ps, tokens, "must be an object");
    JSON_FOREACH(j, tokens->node)
        if (!str_is(json_key(j), "maxLife"))
            problem_error(ps, &((struct place){ tokens, j, json_key(j), 0 }), "is not known; there is maxLife");
    if (at.node && (duration_parse(json_text(at.node, STR_NULL), &ns, NULL) < 0 || ns < TOKEN_LIFE_MIN_S * NS_PER_S ||
                    ns > TOKEN_LIFE_MAX_S * NS_PER_S))
        problem_error(ps, &at, "must be a duration from 10m to 876000h, such as 24h");
    return ns / NS_PER_S;
}

static void read_limits(const struct place *limits, struct throttle_limits *ret, struct problems *ps)
{
    if (limits->node && !json_is(limits->node, JSON_OBJECT))
        problem_error(ps, limits, "must be an object");
    else
        JSON_FOREACH(j, limits->node)
            read_limit(&(struct place){ limits, j, json_key(j), 0 }, ret, ps);
}

/* With the line of each: what is said is of a file that people wrote. */
static int policy_tell(struct arena *a, const struct problems *ps, bool has_lines, struct err *e)
{
    autobuf out = { 0 };

    VEC_FOREACH(p, &ps->list) {
        buf_str(&out, out.n ? STR("; ") : STR_NULL);
        if (has_lines && p->line)
            buf_fmt(&out, "line %u: ", p->line);
        buf_fmt(&out, "%.*s%s%.*s", STR_ARG(p->path), p->path.n ? ": " : "", STR_ARG(p->text));
    }
    return err_set(e, ERR_INVALID, "%.*s", STR_ARG(arena_str(a, buf_view(&out))));
}

static int policy_parse(const struct serve *s, struct str text, bool is_file, struct serve_policy *ret, struct err *e)
{
    struct arena *a = &ret->arena;
    struct problems ps = { .arena = a };
    struct yaml_docs docs = { 0 };
    struct place root = { 0 }, jobs, limits, exec, tokens;

    if (yaml_parse(a, text, NULL, &docs, e) < 0)
        return -1;
    if (docs.n > 1 || (docs.n && !json_is(docs.v[0], JSON_OBJECT)))
        return err_set(e, ERR_INVALID, "must be one YAML object, of jobs, limits, exec and tokens");
    root.node = docs.n ? docs.v[0] : NULL;
    JSON_FOREACH(j, root.node) {
        bool is_known = false;

        for (size_t i = 0; i < ARRAY_LEN(members); i++)
            is_known |= str_is(json_key(j), members[i]);
        if (!is_known)
            problem_error(&ps, &((struct place){ &root, j, json_key(j), 0 }),
                          "is not known; there are jobs, limits, exec and tokens");
    }
    jobs = place_member(&root, "jobs");
    limits = place_member(&root, "limits");
    exec = place_member(&root, "exec");
    tokens = place_member(&root, "tokens");
    ret->runas = runas_parse(a, &jobs, &ps);
    ret->enters_all = read_exec(&exec, &ps);
    ret->token_life_s = read_tokens(&tokens, &ps);
    read_limits(&limits, &ret->limits, &ps);
    if (!s->is_root && runas_needs_root(ret->runas))
        problem_error(&ps, &jobs,
                      "only a server of root can run pods as other UNIX users; use restricted, any or nobody");
    return ps.n_errors ? policy_tell(a, &ps, is_file, e) : 0;
}

int serve_policy_read(const struct serve *s, const struct server_command_options *o, struct serve_policy *ret,
                      struct err *e)
{
    struct serve_policy fresh = { 0 };
    const char *given = o->access_config;
    bool is_file = given && given[0] != '{';
    struct str text = given ? str_of(given) : STR_NULL;

    *ret = fresh;
    if (!given)
        return 0;
    if ((is_file && read_file(&fresh.arena, given, &text, e) < 0) || policy_parse(s, text, is_file, &fresh, e) < 0) {
        arena_done(&fresh.arena);
        return is_file ? err_wrap(e, "%s", given) : -1;
    }
    *ret = fresh;
    return 0;
}

void serve_policy_take(struct serve *s, const struct serve_policy *take)
{
    arena_done(&s->policy.arena);
    s->policy = *take;
    auth_set_limits(s->auth, &s->policy.limits);
    auth_set_token_life(s->auth, s->policy.token_life_s);
    server_set_runas(s->server, s->policy.runas, s->policy.enters_all);
}
