/* sshkey.c - key pairs, checked by reading them back and by ssh-keygen where there is one */
#include "jobtest.h"

#include "plugin/sshkey.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <sys/stat.h>

static const char *const types[] = { "rsa", "ed25519", "ecdsa" };

static struct ssh_keys make(struct arena *a, const char *type)
{
    struct ssh_keys keys;
    struct err e;

    if (ssh_keys_generate(a, type, &keys, &e) < 0)
        fail_msg("%s: %s", type, e.text);
    return keys;
}

/* "ssh-keygen -y" on the key: its public line, empty if there is no such program. */
static struct str keygen_public(struct arena *a, struct str pem)
{
    char dir[] = P_tmpdir "/pumice-sshkey-XXXXXX", line[4096] = "";
    struct str path, command;
    FILE *f;

    if (system("command -v ssh-keygen > /dev/null 2>&1") != 0 || !mkdtemp(dir))
        return STR_NULL;
    path = arena_fmt(a, "%s/key", dir);
    f = fopen(path.p, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(pem.p, 1, pem.n, f), pem.n);
    fclose(f);
    assert_int_equal(chmod(path.p, 0600), 0);
    command = arena_fmt(a, "ssh-keygen -y -P '' -f %s/key 2>&1", dir);
    f = popen(command.p, "r");
    assert_non_null(f);
    if (!fgets(line, sizeof(line), f))
        line[0] = '\0';
    pclose(f);
    (void)unlink(path.p);
    (void)rmdir(dir);
    return arena_str(a, str_of(line));
}

static void test_forms(void **state)
{
    static const struct {
        const char *type, *begin, *end, *public_line;
        size_t width;
    } want[] = {
        { "rsa", "-----BEGIN RSA PRIVATE KEY-----\n", "\n-----END RSA PRIVATE KEY-----\n",
          "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQ", 64 },
        { "ed25519", "-----BEGIN OPENSSH PRIVATE KEY-----\n", "\n-----END OPENSSH PRIVATE KEY-----\n",
          "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI", 70 },
        { "ecdsa", "-----BEGIN EC PRIVATE KEY-----\n", "\n-----END EC PRIVATE KEY-----\n",
          "ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBB", 64 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        autoarena a = { 0 };
        struct ssh_keys keys = make(&a, want[i].type);
        struct str rest = keys.private_pem, line;

        assert_true(str_starts(keys.private_pem, str_of(want[i].begin)));
        assert_true(str_ends(keys.private_pem, str_of(want[i].end)));
        assert_true(str_starts(keys.public_line, str_of(want[i].public_line)));
        assert_true(str_ends(keys.public_line, STR("\n")));
        for (size_t k = 0; str_split(&rest, '\n', &line); k++)
            if (k && !str_has(line, STR("-----END")) && !str_starts(rest, STR("-----END")) && rest.n)
                assert_int_equal(line.n, want[i].width); /* all lines but the last of the body */
        assert_int_equal(str_find_char(str_from(keys.public_line, strlen(want[i].type)), '\n'),
                         (ptrdiff_t)(keys.public_line.n - strlen(want[i].type) - 1));                  /* one line, */
        assert_int_equal(str_find_char(keys.public_line, ' '), str_rfind_char(keys.public_line, ' ')); /* no comment */
    }
}

static void test_rsa_numbers(void **state)
{
    autoarena a = { 0 };
    struct ssh_keys keys = make(&a, "rsa");
    BIO *bio = BIO_new_mem_buf(keys.private_pem.p, (int)keys.private_pem.n);
    EVP_PKEY *key = PEM_read_bio_PrivateKey(bio, NULL, NULL, NULL);
    BIGNUM *e = NULL;

    (void)state;
    assert_non_null(key);
    assert_int_equal(EVP_PKEY_get_bits(key), 2048);
    assert_int_equal(EVP_PKEY_get_bn_param(key, "e", &e), 1);
    assert_true(BN_is_word(e, 65537));
    BN_free(e);
    EVP_PKEY_free(key);
    BIO_free(bio);
}

static void test_public_from_private(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        for (int round = 0; round < (i ? 20 : 2); round++) { /* leading zeros and padding come up now and then */
            autoarena a = { 0 };
            struct ssh_keys keys = make(&a, types[i]);
            struct str line;
            struct err e;

            if (ssh_public_from_private(&a, keys.private_pem, &line, &e) < 0)
                fail_msg("%s: %s", types[i], e.text);
            assert_true(str_eq(line, keys.public_line));
        }
}

static void test_ssh_keygen_agrees(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        autoarena a = { 0 };
        struct ssh_keys keys = make(&a, types[i]);
        struct str theirs = keygen_public(&a, keys.private_pem);

        if (str_empty(theirs))
            skip();
        if (!str_eq(theirs, keys.public_line))
            fail_msg("%s\n ours   %.*s theirs %.*s", types[i], STR_ARG(keys.public_line), STR_ARG(theirs));
    }
}

static void test_two_keys_differ(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        autoarena a = { 0 };

        assert_false(str_eq(make(&a, types[i]).private_pem, make(&a, types[i]).private_pem));
    }
}

/* PKCS#8 and encrypted forms, written by OpenSSL. */
static struct str pem_of(struct arena *a, EVP_PKEY *key, const EVP_CIPHER *cipher)
{
    BIO *bio = BIO_new(BIO_s_mem());
    struct str text;
    char *p;
    long n;

    assert_int_equal(PEM_write_bio_PKCS8PrivateKey(bio, key, cipher, "pass", cipher ? 4 : 0, NULL, NULL), 1);
    n = BIO_get_mem_data(bio, &p);
    text = arena_str(a, (struct str){ p, (size_t)n });
    BIO_free(bio);
    return text;
}

static void test_other_pem_forms(void **state)
{
    static const struct {
        const char *algorithm, *curve, *line;
    } keys[] = { { "ED25519", NULL, "ssh-ed25519 " },
                 { "EC", "P-256", "ecdsa-sha2-nistp256 " },
                 { "EC", "P-384", "ecdsa-sha2-nistp384 " },
                 { "EC", "P-521", "ecdsa-sha2-nistp521 " } };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        autoarena a = { 0 };
        EVP_PKEY *key = keys[i].curve ? EVP_EC_gen(keys[i].curve) : EVP_PKEY_Q_keygen(NULL, NULL, keys[i].algorithm);
        struct str pem = pem_of(&a, key, NULL), line = STR_NULL, theirs;
        struct err e = { 0 };

        assert_int_equal(ssh_public_from_private(&a, pem, &line, &e), 0);
        assert_true(str_starts(line, str_of(keys[i].line)));
        theirs = i == 0 ? STR_NULL : keygen_public(&a, pem); /* ssh-keygen reads no ed25519 in PKCS#8 */
        if (!str_empty(theirs))
            assert_true(str_eq(line, theirs));
        assert_int_equal(ssh_public_from_private(&a, pem_of(&a, key, EVP_aes_128_cbc()), &line, &e), -1);
        assert_int_equal(e.code, ERR_INVALID);
        EVP_PKEY_free(key);
    }
}

static void test_unreadable(void **state)
{
    static const char *const texts[] = {
        "",
        "nonsense",
        "-----BEGIN RSA PRIVATE KEY-----\nbm90LWEtcmVhbC1rZXk=\n-----END RSA PRIVATE KEY-----\n",
        "-----BEGIN OPENSSH PRIVATE KEY-----\n",
        "-----BEGIN OPENSSH PRIVATE KEY-----\n-----END OPENSSH PRIVATE KEY-----\n",
        "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEA\n-----END OPENSSH PRIVATE KEY-----\n",
        "-----BEGIN OPENSSH PRIVATE KEY-----\n!!!!\n-----END OPENSSH PRIVATE KEY-----\n",
        "-----END OPENSSH PRIVATE KEY-----\n-----BEGIN OPENSSH PRIVATE KEY-----\n",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        autoarena a = { 0 };
        struct str line;
        struct err e = { 0 };

        assert_int_equal(ssh_public_from_private(&a, str_of(texts[i]), &line, &e), -1);
        assert_int_equal(e.code, ERR_INVALID);
    }
}

/* Any single byte of the container changed, any cut: no crash, and never more than a wrong answer. */
static void test_damaged(void **state)
{
    autoarena keep = { 0 };
    struct str pem = make(&keep, "ed25519").private_pem;

    (void)state;
    for (size_t i = 0; i < pem.n; i++) {
        autoarena a = { 0 };
        char *copy = (char *)arena_str(&a, pem).p;
        struct str line;

        (void)ssh_public_from_private(&a, str_sub(pem, 0, i), &line, NULL);
        copy[i] = copy[i] == 'A' ? '/' : 'A';
        (void)ssh_public_from_private(&a, (struct str){ copy, pem.n }, &line, NULL);
    }
}

static void test_unknown_type(void **state)
{
    autoarena a = { 0 };
    struct ssh_keys keys;
    struct err e;

    (void)state;
    assert_int_equal(ssh_keys_generate(&a, "dsa", &keys, &e), -1);
    assert_int_equal(e.code, ERR_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_rsa_numbers),
        cmocka_unit_test(test_public_from_private),
        cmocka_unit_test(test_ssh_keygen_agrees),
        cmocka_unit_test(test_two_keys_differ),
        cmocka_unit_test(test_other_pem_forms),
        cmocka_unit_test(test_unreadable),
        cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_unknown_type),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
