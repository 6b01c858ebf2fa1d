/* rotate.c - the command `pumice server rotate`: other keys for a server
 *
 * On the server's directory, as `pumice server user`; one that runs takes them in before its next answer.
 */
#include "auth/account.h"
#include "auth/admin_token.h"
#include "pki/authority.h"
#include "pki/secret_file.h"
#include "auth/users.h"
#include "base/clock.h"
#include "base/util.h"
#include "cli/commands.h"
#include "program/server/server.h"

struct server_rotate_options {
    const char *data_dir;
    bool now;
};

static int rotate_ca(int dir, bool now, struct err *e)
{
    int64_t now_ms = clock_now_ms(&clock_real);
    struct authority *ca = NULL;
    struct users *users = NULL;
    int rc = authority_open(&(struct authority_options){ .dir = dir, .now_ms = now_ms }, &ca, e);

    if (rc == 0)
        rc = authority_rotate(ca, !now, now_ms, e);
    if (rc == 0 && now) /* also on connections that are open */
        rc = users_open(dir, &users, e) < 0 || users_renew_all(users, e) < 0 ? -1 : 0;
    users_free(users);
    authority_free(ca);
    if (rc == 0)
        (void)fprintf(stderr,
                      "rotated the key of the CA: clients need its new certificate, %s\n"
                      "(pumice server user rotate NAME; admin.kubeconfig is written by the server)\n",
                      now ? "and certificates of users are revoked" : "their own certificates stay valid");
    return rc;
}

static int rotate_accounts(int dir, bool now, struct err *e)
{
    struct accounts *accounts;
    int rc = accounts_open(&(struct accounts_options){ .dir = dir }, &accounts, e);

    if (rc < 0)
        return -1;
    rc = accounts_rotate(accounts, !now, e);
    accounts_free(accounts);
    if (rc == 0)
        (void)fprintf(stderr, "rotated the key of service account tokens; %s\n",
                      now ? "old tokens, also those of pods, are revoked" : "old tokens stay valid");
    return rc;
}

static int rotate_admin(int dir, bool now, struct err *e)
{
    (void)now; /* it always is */
    if (admin_token_rotate(dir, e) < 0)
        return -1;
    (void)fprintf(stderr, "rotated the administrator's token; the server writes it into admin.kubeconfig\n");
    return 0;
}

static const struct {
    const char *what;
    int (*rotate)(int dir, bool now, struct err *e);
} keys[] = { { "ca", rotate_ca }, { "account-keys", rotate_accounts }, { "admin-token", rotate_admin } };

static int rotate_open_dir(struct arena *a, const struct server_rotate_options *o, int *ret, struct err *e)
{
    struct str dir;
    const char *pki;

    if (server_dir_find(a, o->data_dir, &dir, e) < 0)
        return -1;
    pki = arena_fmt(a, "%.*s/pki", STR_ARG(dir)).p;
    if (access(pki, F_OK) < 0)
        return err_set(e, ERR_NOT_FOUND, "--data-dir: no server data in %.*s", STR_ARG(dir));
    return secret_dir_open(pki, ret, e);
}

static int server_rotate_run(struct arena *a, const void *options, const struct text_list *arguments)
{
    const struct server_rotate_options *o = options;
    autoclose int dir = -1;
    struct err e;

    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        if (arguments->list.n == 1 && strcmp(arguments->list.v[0], keys[i].what) == 0)
            return rotate_open_dir(a, o, &dir, &e) < 0 || keys[i].rotate(dir, o->now, &e) < 0
                       ? command_fail("server rotate", &e, EXIT_FAILED)
                       : EXIT_FINE;
    (void)fprintf(stderr, "pumice server rotate: missing argument: ca, account-keys or admin-token\n"
                          "Try 'pumice server rotate --help'.\n");
    return EXIT_USAGE;
}

#define FIELD(name) offsetof(struct server_rotate_options, name)

static const struct option server_rotate_table[] = {
    { 0, "now", OPTION_FLAG, FIELD(now), NULL, NULL, "revoke what the old key has signed: the key was lost" },
    { 0, "data-dir", OPTION_TEXT, FIELD(data_dir), "DIR", NULL, "of the server" },
};

static const char *const server_rotate_examples[] = {
    "pumice server rotate ca --now",
    "the CA's key was lost: revoke all certificates",
    "pumice server rotate account-keys",
    "from time to time; pods get new tokens when theirs expire",
    NULL,
};

const struct command command_server_rotate = {
    .name = "server rotate",
    .arguments = "[ca|account-keys|admin-token]",
    .summary = "rotate the keys of the server of this machine",
    .about = "Replaces the key of the CA, the key that signs tokens of service accounts, or the token of the "
             "administrator. A\n"
             "running server uses the new one from its next answer on. Certificates and tokens signed by the old keys "
             "stay valid\n"
             "until they expire, unless --now is given; the administrator's old token is revoked at once.",
    .options = server_rotate_table,
    .n_options = ARRAY_LEN(server_rotate_table),
    .options_size = sizeof(struct server_rotate_options),
    .examples = server_rotate_examples,
    .run = server_rotate_run,
};
