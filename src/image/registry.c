/* registry.c - a registry and its mirrors; manifests */
#include "image/registry_internal.h"

#include "base/span.h"
#include "base/util.h"
#include "json/json.h"
#include "image/manifest.h"

#include <poll.h>

enum { MANIFEST_MS = 60000, MANIFEST_TRIES = 3 };

static const char manifest_types[] = "application/vnd.oci.image.index.v1+json, "
                                     "application/vnd.docker.distribution.manifest.list.v2+json, "
                                     "application/vnd.oci.image.manifest.v1+json, "
                                     "application/vnd.docker.distribution.manifest.v2+json";

int registry_open(const struct registry_options *o, const struct reference *ref, struct registry **ret, struct err *e)
{
    struct registry *r = xcalloc(1, sizeof(*r));

    r->options = o;
    r->reference = ref;
    if (registry_find_places(r, e) < 0) {
        registry_free(r);
        return -1;
    }
    *ret = r;
    return 0;
}

static void forget_origins(struct registry *r)
{
    for (size_t i = 0; i < r->n_origins; i++)
        http_client_free(r->origins[i].client);
    r->n_origins = 0;
}

void registry_free(struct registry *r)
{
    if (!r)
        return;
    forget_origins(r);
    arena_done(&r->arena);
    free(r);
}

int registry_next(struct registry *r)
{
    forget_origins(r);
    r->authorization = STR_NULL;
    r->is_unreached = false;
    if (r->next == r->n_places)
        return -1;
    r->place = &r->places[r->next++];
    return 0;
}

bool registry_is_unreached(const struct registry *r)
{
    return r->is_unreached;
}

struct str place_url(struct registry *r, struct arena *a, const char *kind, struct str name)
{
    const struct registry_place *p = r->place;

    return arena_fmt(a, "%s://%.*s/v2%.*s/%.*s/%s/%.*s", p->is_plain ? "http" : "https", STR_ARG(p->host),
                     STR_ARG(p->prefix), STR_ARG(r->reference->path), kind, STR_ARG(name));
}

/* ---- what went wrong ---- */

/* {"errors": [{"code": "MANIFEST_UNKNOWN", "message": "…"}]} */
static void put_message(struct buf *out, struct str text)
{
    autoarena a = { 0 };
    struct json *j;
    struct str said;

    if (json_parse(&a, text, NULL, &j, NULL) < 0)
        return;
    said = json_member_text(json_at(json_get(j, "errors"), 0), "message");
    if (!said.n)
        said = json_member_text(json_at(json_get(j, "errors"), 0), "code");
    if (!said.n)
        said = json_member_text(j, "details");
    if (said.n)
        buf_str(out, STR(": "));
    if (said.n)
        buf_quote(out, said, 160);
}

static int registry_refused(struct registry *r, const struct fetch *f, const char *said, struct err *e)
{
    const struct login *l = &r->place->login;
    struct str host = r->place->known;

    if (l->user.n || l->identity.n)
        return err_set(e, ERR_FORBIDDEN, "%.*s denied access (%d%s); the login %s%.*s has no access or has expired",
                       STR_ARG(host), f->status, said, l->from.n ? "of " : "", STR_ARG(l->from));
    if (l->helper.n)
        return err_set(
            e, ERR_FORBIDDEN,
            "%.*s denied access (%d%s); credential helper %.*s failed: %s; fix it, or create a login file with podman "
            "login --authfile FILE %.*s and give it with --auth-file",
            STR_ARG(host), f->status, said, STR_ARG(l->helper), r->place->helper_err.text, STR_ARG(host));
    return err_set(e, ERR_FORBIDDEN,
                   "%.*s denied access (%d%s): the image does not exist or is private; for a private image use docker "
                   "login %.*s, podman login %.*s, --auth-file or imagePullSecrets",
                   STR_ARG(host), f->status, said, STR_ARG(host), STR_ARG(host));
}

static int registry_too_many(struct registry *r, const struct fetch *f, const char *said, struct err *e)
{
    autobuf wait = { 0 };

    if (f->retry_after_s)
        buf_str(&wait, STR(", retry after "));
    if (f->retry_after_s)
        span_print(&wait, MIN_OF(f->retry_after_s, INT32_MAX) * 1000);
    return err_set(e, ERR_IO, "%.*s: too many requests%.*s (429%s); log in or use a mirror (--mirror)",
                   STR_ARG(r->place->known), STR_ARG(buf_view(&wait)), said);
}

int status_error(struct registry *r, const struct fetch *f, const char *what, struct err *e)
{
    autobuf said = { 0 };

    r->is_unreached = f->status == 0 && f->reached == HTTP_UNREACHED;
    if (f->status == 0)
        return err_set(e, f->err.code ? f->err.code : ERR_IO, "%s", f->err.text);
    put_message(&said, buf_view(&f->text));
    if (f->status == 401 || f->status == 403)
        return registry_refused(r, f, said.n ? said.p : "", e);
    if (f->status == 404)
        return err_set(e, ERR_NOT_FOUND, "%.*s does not have %s%s", STR_ARG(r->place->known), what,
                       said.n ? said.p : "");
    if (f->status == 429)
        return registry_too_many(r, f, said.n ? said.p : "", e);
    return err_set(e, ERR_IO, "%.*s failed to serve %s: it answered %d%s", STR_ARG(r->place->known), what, f->status,
                   said.n ? said.p : "");
}

/* ---- manifests ---- */

static void ask_manifest(struct fetch *f, struct str name)
{
    struct registry *r = f->registry;

    f->url = place_url(r, &r->arena, "manifests", name);
    f->authorization = r->authorization;
    fetch_run(f);
}

/* It has too much to do, or hung up, or fell silent: in a moment that may be over. One that cannot be reached, or is not
 * what it should be, is so then too. */
static bool may_pass(const struct fetch *f)
{
    if (f->status)
        return f->status >= 500 || f->status == 429;
    return f->reached == HTTP_REACHED && f->err.code == ERR_IO;
}

static void ask_patiently(struct fetch *f, struct str name)
{
    for (int i = 1; i <= MANIFEST_TRIES; i++) {
        int64_t pause_ms;

        ask_manifest(f, name);
        pause_ms = fetch_pause_ms(f, i * 500);
        if (!may_pass(f) || i == MANIFEST_TRIES || pause_ms < 0)
            return;
        (void)poll(NULL, 0, (int)pause_ms);
    }
}

/* A registry of this machine may speak plain HTTP: https was tried first. A 401 is answered once. */
static int get_manifest(struct fetch *f, struct str name, struct err *e)
{
    struct registry *r = f->registry;
    struct err why = { 0 };

    ask_patiently(f, name);
    if (f->reached == HTTP_NO_TLS && f->status == 0 && r->place->may_be_plain && !r->place->is_plain) {
        r->place->is_plain = true;
        ask_patiently(f, name);
    }
    if (f->status == 401) {
        if (token_get(r, buf_view(&f->challenge), &why) < 0)
            return why.code ? err_set(e, why.code, "%s", why.text) : status_error(r, f, "the image", e);
        ask_patiently(f, name);
    }
    return f->status == 200 ? 0 : status_error(r, f, "the image", e);
}

static int check_digest(struct registry *r, struct str name, const struct fetch *f, const struct image_digest *is,
                        struct err *e)
{
    struct str wanted = image_digest_is_good(name) ? name : buf_view(&f->digest);

    if (!image_digest_is_good(wanted) || str_is(wanted, is->text))
        return 0;
    return err_set(e, ERR_INVALID, "%.*s sent a manifest with a wrong digest: expected %.*s, got %s",
                   STR_ARG(r->place->known), STR_ARG(wanted), is->text);
}

int registry_manifest(struct registry *r, struct str tag_or_digest, struct buf *ret, struct image_digest *ret_digest,
                      struct err *e)
{
    struct fetch f = { .registry = r, .accept = manifest_types, .max_bytes = MANIFEST_BYTES, .total_ms = MANIFEST_MS };
    int rc = get_manifest(&f, tag_or_digest, e);

    if (rc == 0) {
        image_digest_of(buf_view(&f.text), ret_digest);
        rc = check_digest(r, tag_or_digest, &f, ret_digest, e);
    }
    if (rc == 0)
        buf_str(ret, buf_view(&f.text));
    fetch_done(&f);
    return rc;
}
