/* image_access.c - who may use an image of the store
 *
 * All users share the store, but some images are private. Notes say how each blob and image came to be there:
 *
 *     opened/<name and login>       this login has opened this name; the manifest that its registry gave then
 *     served/<repository and blob>  this repository has given this blob, whole
 *     unpacked/<manifest>           its layers make this image, and no other
 *
 * An empty login is the one that all users share: none, or that of this machine. An empty repository means that the
 * blob was fetched with the shared login. Keys are hashes, so file names hold no passwords and are never too long.
 */
#include "image/image_internal.h"

#include "image/login.h"

static struct str access_key(struct arena *a, struct str first, struct str second)
{
    struct image_digest d;

    image_digest_of(arena_fmt(a, "%zu %.*s %.*s", first.n, STR_ARG(first), STR_ARG(second)), &d);
    return arena_str(a, str_of(d.text + strlen("sha256:")));
}

struct str image_login_key(struct arena *a, const struct login *l)
{
    if (!l || (!l->user.n && !l->identity.n))
        return STR_NULL;
    return access_key(a, access_key(a, l->user, l->password), l->identity);
}

int image_opened_put(int store, struct str name, const struct login *l, const struct image_digest *manifest,
                     struct err *e)
{
    autoarena a = { 0 };

    return image_note_put(store, "opened", access_key(&a, name, image_login_key(&a, l)), manifest, e);
}

bool image_opened(int store, struct str name, const struct login *l, const struct image_digest *manifest)
{
    autoarena a = { 0 };
    struct image_digest noted;

    return image_note_get(store, "opened", access_key(&a, name, image_login_key(&a, l)), &noted) &&
           strcmp(noted.text, manifest->text) == 0;
}

int image_served_put(int store, struct str repository, struct str blob, struct err *e)
{
    autoarena a = { 0 };
    struct image_digest d;

    (void)snprintf(d.text, sizeof(d.text), "%.*s", STR_ARG(blob));
    return image_note_put(store, "served", access_key(&a, repository, blob), &d, e);
}

bool image_served(int store, struct str repository, struct str blob)
{
    autoarena a = { 0 };
    struct image_digest d;

    return image_note_get(store, "served", access_key(&a, STR_NULL, blob), &d) ||
           image_note_get(store, "served", access_key(&a, repository, blob), &d);
}
