/* filter_internal.h - what the parts of filter_text() share */
#ifndef NODE_FILTER_INTERNAL_H
#define NODE_FILTER_INTERNAL_H

#include "node/filter/filter.h"

/* ---- ranges of numbers: addresses (in the machine's byte order) and ports ---- */

struct range {
    uint32_t low, high; /* both included */
};
struct ranges {
    VEC(struct range) list;
};

void ranges_add(struct arena *a, struct ranges *r, uint32_t low, uint32_t high);
void ranges_cut(struct arena *a, struct ranges *r, uint32_t low, uint32_t high); /* take out what lies between */
void ranges_join(struct ranges *r); /* sorted, without overlaps; neighbours become one */

/* "{ 10.88.0.2-10.88.0.9, 10.88.1.1 }" or "{ 80, 8000-8010 }"; joins first. One single number stands without braces. */
void ranges_print(struct buf *out, struct ranges *r, bool is_address);

/* ---- the pods, sorted ---- */

struct filter_ns { /* a namespace with pods */
    struct str name;
    struct json *labels;
    VEC(size_t) pods; /* into filter_world.pods */
};

struct filter_at {
    const struct filter_pod *pod;
    uint32_t address; /* in the machine's byte order */
};

struct filter_world {
    struct arena *arena;
    const struct filter_input *in;
    VEC(struct filter_at) pods; /* by address, each address once */
    VEC(struct filter_ns) spaces;
    bool has_itself; /* there is a set of that name: some Service has endpoints */
};

void filter_world_init(struct filter_world *w, struct arena *a, const struct filter_input *in);
const struct filter_ns *filter_ns_find(const struct filter_world *w, struct str name); /* NULL: has no pods */

/* ---- the parts of the table ---- 'sets' come first in the text, then 'chains' ---- */

void filter_services(struct filter_world *w, struct buf *sets, struct buf *chains);
void filter_policies(struct filter_world *w, struct buf *sets, struct buf *chains); /* after the services */

void filter_address(struct buf *out, uint32_t address); /* "10.88.0.2" */
/* "\t\t# default/web" and a line end; any bytes. */
void filter_note(struct buf *out, struct str namespace, struct str name);

/* The lines between are the elements of a set or map; filter_element() puts the commas. */
void filter_set_begin(struct buf *out, const char *kind, const char *name, const char *type);
void filter_element(struct buf *out, size_t index);
void filter_set_end(struct buf *out);

#endif
