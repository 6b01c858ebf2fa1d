/* user.c - the commands `pumice server user` and `pumice server token`: the people of a server
 *
 * They work on the server's directory, not through its API: its owner may do all of this anyway, and the server need
 * not run. A server that runs takes in what has changed before its next answer.
 */
#include "api/duration.h"
#include "pki/authority.h"
#include "auth/kubeconfig.h"
#include "pki/secret_file.h"
#include "auth/users.h"
#include "base/clock.h"
#include "base/util.h"
#include "cli/commands.h"
#include "node/doctor/host.h"
#include "os/io.h"
#include "os/path.h"
#include "base/term.h"
#include "yaml/yaml.h"

#include <errno.h>

#define SERVER_URL "https://127.0.0.1:6443" /* where a server listens by default */

struct server_user_options {
    const char *data_dir, *server, *output, *expires, *unix_uid;
    bool admin, edit, view, token;
    struct text_list namespaces, groups;
};

struct people { /* opened for one command */
    struct arena *arena;
    const struct server_user_options *o;
    struct str data_dir;
    bool makes_dir;
    int dir;
    struct users *users;
    struct authority *authority;
    int64_t now_ms, life_ms;
};

/* ---- opening ---- */

static int find_dir(struct people *p, struct err *e)
{
    const char *pki;

    p->data_dir = p->o->data_dir ? str_of(p->o->data_dir) : host_state_dir(p->arena);
    if (!p->data_dir.n)
        return err_set(e, ERR_INVALID, "no home directory; use --data-dir DIR");
    if (!p->o->data_dir)
        p->data_dir = arena_cat(p->arena, p->data_dir, STR("/server"));
    pki = arena_fmt(p->arena, "%.*s/pki", STR_ARG(p->data_dir)).p;
    if (!p->makes_dir && access(pki, F_OK) < 0)
        return err_set(e, ERR_NOT_FOUND,
                       "--data-dir: no server data in %.*s; start one with 'pumice server --data-dir %.*s'",
                       STR_ARG(p->data_dir), STR_ARG(p->data_dir));
    if (make_dirs(arena_cstr(p->arena, p->data_dir), 0700, e) < 0 || secret_dir_open(pki, &p->dir, e) < 0)
        return err_wrap(e, "--data-dir");
    return 0;
}

static int read_life(struct people *p, const char *fallback, struct err *e)
{
    int64_t ns;

    if (duration_parse(str_of(p->o->expires ? p->o->expires : fallback), &ns, e) < 0)
        return err_wrap(e, "--expires");
    if (ns < 60LL * 1000000000)
        return err_set(e, ERR_INVALID, "--expires: must be at least 1m");
    p->life_ms = ns / 1000000;
    return 0;
}

static int people_open(struct people *p, const char *life, struct err *e)
{
    p->dir = -1;
    p->now_ms = clock_now_ms(&clock_real);
    if (read_life(p, life, e) < 0 || find_dir(p, e) < 0 || users_open(p->dir, &p->users, e) < 0)
        return -1;
    return authority_open(&(struct authority_options){ .dir = p->dir, .now_ms = p->now_ms }, &p->authority, e);
}

static void people_close(struct people *p)
{
    authority_free(p->authority);
    users_free(p->users);
    if (p->dir >= 0)
        close(p->dir);
}

/* ---- add ---- */

/* Where the server says it is; it writes its administrator's kubeconfig at every start. */
static struct str server_url(struct people *p)
{
    const char *path = arena_fmt(p->arena, "%.*s/admin.kubeconfig", STR_ARG(p->data_dir)).p;
    struct yaml_docs docs = { 0 };
    struct str url;

    if (p->o->server)
        return str_of(p->o->server);
    if (yaml_parse(p->arena, file_text(p->arena, AT_FDCWD, path, 1 << 20), NULL, &docs, NULL) < 0 || !docs.n)
        return STR(SERVER_URL);
    url = json_text(json_find(json_at(json_get(docs.v[0], "clusters"), 0), "cluster", "server", NULL), STR_NULL);
    return url.n ? url : STR(SERVER_URL);
}

static const struct str *user_texts(struct arena *a, const struct text_list *list, size_t *ret_n)
{
    struct str *v = arena_array(a, struct str, list->list.n);

    for (size_t i = 0; i < list->list.n; i++)
        v[i] = str_of(list->list.v[i]);
    *ret_n = list->list.n;
    return v;
}

static int read_spec(struct people *p, const char *name, struct user_spec *ret, struct err *e)
{
    const struct server_user_options *o = p->o;

    *ret = (struct user_spec){ .name = str_of(name), .unix_uid = -1 };
    if (o->admin + o->edit + o->view > 1)
        return err_set(e, ERR_INVALID, "--admin, --edit, --view: use only one");
    ret->role = o->admin ? USER_ADMIN : o->edit ? USER_EDIT : o->view ? USER_VIEW : USER_NO_ROLE;
    ret->namespaces = user_texts(p->arena, &o->namespaces, &ret->n_namespaces);
    ret->groups = user_texts(p->arena, &o->groups, &ret->n_groups);
    if (o->unix_uid && (str_to_i64(str_of(o->unix_uid), &ret->unix_uid) < 0 || ret->unix_uid < 0))
        return err_set(e, ERR_INVALID, "--unix-uid: must be a number, as 'id -u' prints it");
    return 0;
}

static int credentials(struct people *p, struct kubeconfig_spec *config, struct buf *cert, struct buf *key,
                       struct err *e)
{
    struct certificate_spec spec = { .common_name = config->user, .now_ms = p->now_ms, .life_ms = p->life_ms };

    if (p->o->token) {
        if (users_add_token(p->users, &(struct user_term){ config->user, p->now_ms, p->life_ms }, key, e) < 0)
            return -1;
        config->token = buf_view(key);
        return 0;
    }
    if (users_add_certificate(p->users, config->user, p->now_ms + p->life_ms, e) < 0)
        return -1;
    spec.organizations = users_organizations(p->users, p->arena, config->user, &spec.n_organizations);
    if (authority_issue(p->authority, &spec, cert, key, e) < 0)
        return -1;
    config->cert = buf_view(cert);
    config->key = buf_view(key);
    return 0;
}

static int hand_out(struct people *p, const struct buf *text, struct err *e)
{
    const char *path = p->o->output;

    if (!path || strcmp(path, "-") == 0)
        return term_write(stdout, text) < 0 ? io_errno(e, "standard output") : 0;
    if (file_write(AT_FDCWD, path, O_EXCL, 0600, buf_view(text)) == 0)
        return 0;
    return errno == EEXIST ? err_set(e, ERR_EXISTS, "--output: %s already exists; remove it or use another name", path)
                           : err_errno(e, "--output: write %s", path);
}

static void say_added(struct people *p, const struct user_spec *spec)
{
    autobuf end = { 0 };

    clock_print(&end, p->now_ms + p->life_ms);
    (void)fprintf(stderr, "user %.*s: %s", STR_ARG(spec->name), spec->role ? user_role_name(spec->role) : "no role");
    for (size_t i = 0; i < spec->n_namespaces; i++)
        (void)fprintf(stderr, "%s %.*s", i ? "," : " in", STR_ARG(spec->namespaces[i]));
    (void)fprintf(stderr, "; %s valid until %s\n", p->o->token ? "token" : "certificate", end.p);
}

static int user_add(struct people *p, const char *name, struct err *e)
{
    struct kubeconfig_spec config = { .server = server_url(p), .ca = authority_ca(p->authority), .user = str_of(name) };
    struct user_spec spec;
    autobuf cert = { 0 };
    autosecret key = { 0 }, text = { 0 };

    if (read_spec(p, name, &spec, e) < 0 || users_add(p->users, &spec, p->now_ms, NULL, e) < 0)
        return -1;
    if (spec.n_namespaces)
        config.namespace = spec.namespaces[0];
    if (credentials(p, &config, &cert, &key, e) < 0)
        goto undo_user;
    kubeconfig_print(&text, &config);
    if (hand_out(p, &text, e) < 0)
        goto undo_user;
    say_added(p, &spec);
    return 0;

undo_user: /* a user without credentials */
    (void)users_remove(p->users, str_of(name), NULL);
    return -1;
}

/* ---- list, remove ---- */

static struct str user_joined(struct arena *a, const struct str *v, size_t n)
{
    autobuf out = { 0 };

    for (size_t i = 0; i < n; i++)
        buf_fmt(&out, "%s%.*s", i ? "," : "", STR_ARG(v[i]));
    return n ? arena_str(a, buf_view(&out)) : STR("-");
}

static int server_user_list(struct people *p, struct err *e)
{
    static const char *const heads[] = { "NAME", "ROLE", "NAMESPACES", "GROUPS", "CERTIFICATE UNTIL", "TOKENS" };
    struct table t = { .arena = p->arena, .columns = ARRAY_LEN(heads) };
    autobuf out = { 0 };

    for (size_t i = 0; i < ARRAY_LEN(heads); i++)
        table_cell(&t, str_of(heads[i]));
    for (size_t i = 0; i < users_count(p->users); i++) {
        const struct user *u = users_at(p->users, i);
        autobuf end = { 0 };

        if (u->certificate_end_ms)
            clock_print(&end, u->certificate_end_ms);
        table_cell(&t, u->name);
        table_cell(&t, u->role ? str_of(user_role_name(u->role)) : STR("-"));
        table_cell(&t, !u->role          ? STR("-")
                       : u->n_namespaces ? user_joined(p->arena, u->namespaces, u->n_namespaces)
                                         : STR("all"));
        table_cell(&t, user_joined(p->arena, u->groups, u->n_groups));
        table_cell(&t, end.n ? arena_str(p->arena, buf_view(&end)) : STR("-"));
        table_cell(&t, arena_fmt(p->arena, "%zu", u->n_tokens));
    }
    table_print(&out, &t, "");
    return term_write(stdout, &out) < 0 ? io_errno(e, "standard output") : 0;
}

/* A new certificate or token; the old ones are revoked. Settings that are not given stay. */
static int rotate(struct people *p, const char *name, struct err *e)
{
    const struct user *user = users_find(p->users, str_of(name));
    struct kubeconfig_spec config = { .server = server_url(p), .ca = authority_ca(p->authority), .user = str_of(name) };
    autobuf cert = { 0 };
    autosecret key = { 0 }, text = { 0 };

    if (p->o->admin || p->o->edit || p->o->view || p->o->groups.list.n || p->o->namespaces.list.n || p->o->unix_uid)
        return err_set(e, ERR_INVALID,
                       "rotate changes credentials only; to change a role, remove the user and add it again");
    if (user && user->n_namespaces)
        config.namespace = arena_str(p->arena, user->namespaces[0]);
    if (users_renew(p->users, str_of(name), e) < 0 || credentials(p, &config, &cert, &key, e) < 0)
        return -1;
    kubeconfig_print(&text, &config);
    if (hand_out(p, &text, e) < 0)
        return err_wrap(e, "user %s has no credentials now; rotate again", name);
    (void)fprintf(stderr, "user %s: revoked the old credentials\n", name);
    return 0;
}

static int remove_user(struct people *p, const char *name, struct err *e)
{
    if (users_remove(p->users, str_of(name), e) < 0)
        return -1;
    (void)fprintf(stderr, "user %s removed; its certificate and tokens are revoked\n", name);
    return 0;
}

static int wrong_use(const char *what)
{
    (void)fprintf(stderr, "pumice server user: %s\nTry 'pumice server user --help'.\n", what);
    return EXIT_USAGE;
}

static int list_users(struct people *p, const char *name, struct err *e)
{
    (void)name;
    return server_user_list(p, e);
}

static const struct {
    const char *verb;
    int (*run)(struct people *p, const char *name, struct err *e);
    bool names_one;
} verbs[] = {
    { "add", user_add, true },
    { "list", list_users, false },
    { "rotate", rotate, true },
    { "remove", remove_user, true },
};

static int server_user_run(struct arena *a, const void *options, const struct text_list *arguments)
{
    const char *verb = arguments->list.n ? arguments->list.v[0] : "",
               *name = arguments->list.n > 1 ? arguments->list.v[1] : NULL;
    struct people p = { .arena = a, .o = options };
    struct err e;
    size_t i = 0;
    int rc;

    while (i < ARRAY_LEN(verbs) && strcmp(verb, verbs[i].verb) != 0)
        i++;
    if (i == ARRAY_LEN(verbs))
        return wrong_use("missing action: add, list, rotate or remove");
    if (arguments->list.n > 2 || (!verbs[i].names_one && name))
        return wrong_use("too many arguments");
    if (verbs[i].names_one && !name)
        return wrong_use("missing NAME of the user");
    p.makes_dir = i == 0;
    rc = people_open(&p, "8760h", &e);
    if (rc == 0)
        rc = verbs[i].run(&p, name, &e);
    people_close(&p);
    return rc < 0 ? command_fail("server user", &e, EXIT_FAILED) : EXIT_FINE;
}

#define FIELD(name) offsetof(struct server_user_options, name)

static const struct option server_user_table[] = {
    { 0, "admin", OPTION_FLAG, FIELD(admin), NULL, NULL,
      "may do everything; with --namespace everything in it, roles included" },
    { 0, "edit", OPTION_FLAG, FIELD(edit), NULL, NULL, "may run jobs and change what is theirs: no roles, no nodes" },
    { 0, "view", OPTION_FLAG, FIELD(view), NULL, NULL, "may look, but not at Secrets" },
    { 'n', "namespace", OPTION_LIST, FIELD(namespaces), "NAMESPACE", NULL,
      "where (may be repeated; default: everywhere). It is made if it is not there" },
    { 0, "group", OPTION_LIST, FIELD(groups), "GROUP", NULL, "for bindings of your own (may be repeated)" },
    { 0, "token", OPTION_FLAG, FIELD(token), NULL, NULL, "known by a token, not by a certificate" },
    { 0, "unix-uid", OPTION_TEXT, FIELD(unix_uid), "UID", NULL,
      "UNIX uid that is accepted as this user at the server's socket" },
    { 0, "expires", OPTION_TEXT, FIELD(expires), "TIME", NULL,
      "how long the certificate or token is good (default: 8760h)" },
    { 'o', "output", OPTION_TEXT, FIELD(output), "FILE", NULL,
      "of the kubeconfig, which must not be there yet (default: standard output)" },
    { 0, "server", OPTION_TEXT, FIELD(server), "URL", NULL, "in the kubeconfig (default: where the server listens)" },
    { 0, "data-dir", OPTION_TEXT, FIELD(data_dir), "DIR", NULL, "of the server" },
};

static const char *const server_user_examples[] = {
    "pumice server user add ann --edit --namespace lab -o ann.kubeconfig",
    "ann may run jobs in the namespace lab with this file",
    "pumice server user rotate ann -o ann.kubeconfig.new",
    "ann lost her credentials: revoke them and issue new ones",
    "pumice server user remove ann",
    "revoke ann's access at once",
    NULL,
};

const struct command command_server_user = {
    .name = "server user",
    .arguments = "[add|list|rotate|remove] [NAME]",
    .summary = "manage the users of the server of this machine",
    .about = "'add' creates a user with a role and prints a kubeconfig with a certificate signed by the server's CA, "
             "or with a\n"
             "token; a file is readable by its owner only. 'list' shows all users. 'rotate' replaces the certificate "
             "or token,\n"
             "and 'remove' deletes a user. A running server rejects the old credentials at once and closes the "
             "connections that\n"
             "use them. They do not identify a later user of the same name.\n\n"
             "The ClusterRoles cluster-admin, admin, edit and view say what a role may do. For finer rights, create\n"
             "RoleBindings for the user or a group.",
    .options = server_user_table,
    .n_options = ARRAY_LEN(server_user_table),
    .options_size = sizeof(struct server_user_options),
    .examples = server_user_examples,
    .run = server_user_run,
};

/* ---- tokens ---- */

/* The administrator need not be added first. */
static int need_user(struct people *p, struct str name, struct err *e)
{
    struct str masters = STR(GROUP_MASTERS);
    struct user_spec admin = { .name = name, .groups = &masters, .n_groups = 1, .unix_uid = -1 };

    if (!str_is(name, "admin") || users_find(p->users, name))
        return 0;
    return users_add(p->users, &admin, p->now_ms, NULL, e);
}

static int server_token_run(struct arena *a, const void *options, const struct text_list *arguments)
{
    struct str name = arguments->list.n ? str_of(arguments->list.v[0]) : STR("admin");
    struct people p = { .arena = a, .o = options, .makes_dir = !arguments->list.n };
    autosecret token = { 0 };
    struct err e;
    int rc = people_open(&p, "24h", &e);

    if (rc == 0 && need_user(&p, name, &e) == 0 &&
        users_add_token(p.users, &(struct user_term){ name, p.now_ms, p.life_ms }, &token, &e) == 0) {
        buf_char(&token, '\n');
        rc = term_print(&token) < 0 ? EXIT_FAILED : EXIT_FINE;
    } else {
        rc = command_fail("server token", &e, EXIT_FAILED);
    }
    people_close(&p);
    return rc;
}

static const struct option server_token_table[] = {
    { 0, "expires", OPTION_TEXT, FIELD(expires), "TIME", NULL, "how long it is good (default: 24h)" },
    { 0, "data-dir", OPTION_TEXT, FIELD(data_dir), "DIR", NULL, "of the server" },
};

const struct command command_server_token = {
    .name = "server token",
    .arguments = "[NAME]",
    .summary = "print a new token of a user (default: admin), for the page or a script",
    .about = "Prints a new token. The server keeps only its SHA-256, so it cannot be shown again. The token is valid "
             "until it\n"
             "expires or the user is removed.",
    .options = server_token_table,
    .n_options = ARRAY_LEN(server_token_table),
    .options_size = sizeof(struct server_user_options),
    .run = server_token_run,
};
