/* accept.c - content negotiation by the Accept header */
#include "server/server_internal.h"

#include "proto/proto.h"

struct media { /* one of the list: "application/json;as=Table;v=v1;g=meta.k8s.io" */
    struct str type, as, group, version;
};

static struct media media_read(struct str text)
{
    struct media m = { 0 };
    struct str part;

    for (bool is_first = true; str_split(&text, ';', &part); is_first = false) {
        ptrdiff_t eq = str_find_char(part, '=');
        struct str key = str_trim(eq < 0 ? part : str_sub(part, 0, (size_t)eq));
        struct str value = eq < 0 ? STR_NULL : str_trim(str_from(part, (size_t)eq + 1));

        if (is_first)
            m.type = key;
        else if (str_is(key, "as"))
            m.as = value;
        else if (str_is(key, "g"))
            m.group = value;
        else if (str_is(key, "v"))
            m.version = value;
    }
    return m;
}

static const struct {
    const char *as, *group, *versions[2];
    enum accept_form form;
} forms[] = {
    { "Table", "meta.k8s.io", { "v1", "v1beta1" }, ACCEPT_TABLE },
    { "PartialObjectMetadata", "meta.k8s.io", { "v1", "v1beta1" }, ACCEPT_PARTIAL },
    { "PartialObjectMetadataList", "meta.k8s.io", { "v1", "v1beta1" }, ACCEPT_PARTIAL },
    { "APIGroupDiscoveryList", "apidiscovery.k8s.io", { "v2", "v2beta1" }, ACCEPT_DISCOVERY },
};

static bool find_form(const struct media *m, unsigned allows, struct accept *ret)
{
    for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
        if (!str_is(m->as, forms[i].as) || !str_is(m->group, forms[i].group) ||
            !(allows & (forms[i].form == ACCEPT_DISCOVERY ? ACCEPT_ALLOWS_DISCOVERY : ACCEPT_ALLOWS_TABLE)))
            continue;
        for (size_t k = 0; k < ARRAY_LEN(forms[i].versions); k++)
            if (str_is(m->version, forms[i].versions[k])) {
                ret->form = forms[i].form;
                ret->version = str_of(forms[i].versions[k]);
                return true;
            }
    }
    return false;
}

static bool accept_take(const struct media *m, unsigned allows, struct accept *ret)
{
    static const struct {
        const char *type;
        enum accept_media media;
    } types[] = {
        { "application/json", MEDIA_JSON },
        { "*/*", MEDIA_JSON },
        { "application/*", MEDIA_JSON },
        { "application/yaml", MEDIA_YAML },
    };

    if (str_is(m->type, PROTOBUF_MEDIA)) { /* tables and the like are made in JSON */
        *ret = (struct accept){ .media = MEDIA_PROTOBUF };
        return !m->as.n && allows & ACCEPT_ALLOWS_PROTOBUF;
    }

    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        if (!str_is(m->type, types[i].type))
            continue;
        *ret = (struct accept){ .media = types[i].media };
        return !m->as.n || find_form(m, allows, ret);
    }
    return false;
}

int accept_parse(struct str header, unsigned allows, struct accept *ret)
{
    struct str part;

    *ret = (struct accept){ 0 };
    if (!str_trim(header).n)
        return 0;
    while (str_split(&header, ',', &part)) {
        struct media m = media_read(part);

        if (accept_take(&m, allows, ret))
            return 0;
    }
    return -1;
}
