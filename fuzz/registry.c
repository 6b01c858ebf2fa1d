/* registry.c - fuzz: what a registry says, what a login file has, what somebody calls an image */
#include "image/challenge.h"
#include "image/login.h"
#include "image/manifest.h"
#include "image/reference.h"

#include "base/util.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct str text = { (const char *)data, n };
    autoarena a = { 0 };
    struct challenge c;
    struct manifest m;
    struct reference ref = { .host = STR("h.io"), .path = STR("team/app") }, named;
    struct login login;
    struct err e;

    challenge_read(&a, text, &c);
    assert(c.is_bearer || (!c.realm.n && !c.service.n && !c.scope.n));
    if (manifest_read(&a, text, &m, &e) == 0)
        assert(m.is_index ? m.chosen.digest.n == 71 : m.config.digest.n == 71);
    if (login_find(&a, text, &ref, &login, &e) > 0)
        assert(login.user.n || login.identity.n);
    if (reference_parse(&a, text, &named, &e) == 0)
        assert(named.host.n && named.path.n && (named.tag.n || named.digest.n));
    return 0;
}
