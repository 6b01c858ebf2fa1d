/* image.c - fuzz: any text is a reference or not, and a normal one is its own normal form; any config is read or
 * refused, and what is read can be handed to execve() */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "image/image_internal.h"
#include "image/reference.h"

#include <signal.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_reference(struct str text)
{
    autoarena a = { 0 };
    struct str once, twice;

    if (reference_normal(&a, text, &once, NULL) < 0)
        return;
    assert(reference_normal(&a, once, &twice, NULL) == 0 && str_eq(once, twice));
    assert(str_has_char(once, '/') && !str_has_char(once, '\0'));
}

static bool is_argument(struct str text)
{
    return !str_has_char(text, '\0');
}

static void try_config(struct str text)
{
    autoarena a = { 0 };
    struct image image = { 0 };

    if (image_config_read(&a, text, &image, NULL) < 0)
        return;
    VEC_FOREACH(item, &image.env)
        assert(is_argument(*item) && str_find_char(*item, '=') > 0);
    VEC_FOREACH(item, &image.entrypoint)
        assert(is_argument(*item));
    VEC_FOREACH(item, &image.cmd)
        assert(is_argument(*item));
    assert(is_argument(image.cwd) && is_argument(image.user));
    assert(image.stop_signal >= 0 && image.stop_signal <= SIGRTMAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str input = { (const char *)data, size };

    try_reference(input);
    try_config(input);
    return 0;
}
