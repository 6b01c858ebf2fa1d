/* names_static.c - who users are, in the program without shared libraries
 *
 * Linked into that program alone. There the C library can look into /etc/passwd, /etc/group and /etc/hosts, and ask the
 * DNS, by itself; whatever else nsswitch.conf names it would load, and a program that can load nothing crashes there.
 */
#include <nss.h>
#include <stddef.h>

__attribute__((constructor)) static void ask_files(void)
{
    static const char *const how[][2] = { { "passwd", "files" }, { "group", "files" }, { "hosts", "files dns" } };

    for (size_t i = 0; i < sizeof(how) / sizeof(how[0]); i++)
        (void)__nss_configure_lookup(how[i][0], how[i][1]);
}
