/* admission_endpoints.c - addresses that a user may put behind a Service: none that stand for another machine
 * everywhere */
#include "server/server_internal.h"

#include <arpa/inet.h>

static const struct {
    uint32_t network, mask;
    const char *what;
} unfit[] = {
    { 0x00000000, 0xffffffff, "may not be unspecified (0.0.0.0 or ::)" },
    { 0x7f000000, 0xff000000, "may not be in the loopback range (127.0.0.0/8, ::1/128)" },
    { 0xa9fe0000, 0xffff0000, "may not be in the link-local range (169.254.0.0/16, fe80::/10)" },
    { 0xe0000000, 0xffffff00, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)" },
};

static void check_address(const struct place *at, struct problems *ps)
{
    struct str text = json_text(at->node, STR_NULL);
    char z[INET6_ADDRSTRLEN] = "";
    struct in6_addr other;
    struct in_addr a;

    if (text.n && text.n < sizeof(z))
        memcpy(z, text.p, text.n);
    if (inet_pton(AF_INET, z, &a) == 1) {
        for (size_t i = 0; i < ARRAY_LEN(unfit); i++)
            if ((ntohl(a.s_addr) & unfit[i].mask) == unfit[i].network)
                problem_error(ps, at, "\"%s\": %s", z, unfit[i].what);
    } else if (inet_pton(AF_INET6, z, &other) != 1) {
        problem_error(ps, at, "\"%.*s\": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
                      STR_ARG(str_sub(text, 0, 60)));
    }
}

void admit_endpoints_write(struct server_request *rq, struct json *object, const struct object *old,
                           struct problems *ps)
{
    static const char *const lists[] = { "addresses", "notReadyAddresses" };
    struct place root = { .node = object }, subsets = place_member(&root, "subsets");
    size_t i = 0;

    (void)old;
    check_plain(rq, object, NULL, ps);
    JSON_FOREACH(subset, subsets.node) {
        struct place at = place_item(&subsets, subset, i++);

        for (size_t k = 0; k < ARRAY_LEN(lists); k++) {
            struct place list = place_member(&at, lists[k]);
            size_t j = 0;

            JSON_FOREACH(address, list.node) {
                struct place one = place_item(&list, address, j++), ip = place_member(&one, "ip");

                check_address(&ip, ps);
            }
        }
    }
}

void admit_slice_write(struct server_request *rq, struct json *object, const struct object *old, struct problems *ps)
{
    struct place root = { .node = object }, endpoints = place_member(&root, "endpoints");
    bool has_names = str_is(json_member_text(object, "addressType"), "FQDN");
    size_t i = 0;

    (void)old;
    check_plain(rq, object, NULL, ps);
    JSON_FOREACH(endpoint, endpoints.node) {
        struct place at = place_item(&endpoints, endpoint, i++), list = place_member(&at, "addresses");
        size_t j = 0;

        JSON_FOREACH(address, list.node) {
            struct place one = place_item(&list, address, j++);

            if (!has_names)
                check_address(&one, ps);
        }
    }
}
