/* box_build.h - the root of a container, built step by step
 *
 * For those who run the program in it: box.c itself, and oci.h, which leaves that to a runtime. All of it happens in a
 * mount namespace of the container's own. Until the root is entered the host is still at "/" and the new root is
 * reached by a descriptor.
 */
#ifndef NODE_BOX_BUILD_H
#define NODE_BOX_BUILD_H

#include "node/container/box.h"

#include <sys/mount.h>

struct box_who {
    uid_t uid;
    gid_t gid;
    VEC(gid_t) groups;
    struct str name, home; /* of /etc/passwd; empty: not there */
};

struct box { /* descriptors that are not there yet are -1 */
    const struct box_spec *spec;
    struct arena arena;
    bool is_inner;      /* root of a user namespace, not of the machine */
    int state;          /* directory for what changes: spec->upper, or a tmpfs over it */
    bool has_tmp_state; /* it is the tmpfs */
    unsigned n_state;   /* names used there */
    int over;           /* spec->over, O_PATH; -1: none */
    int root;           /* the new root's mount, attached */
    VEC(int) parts;     /* the mounts the root is made of; made read-only together */
    bool is_overlay;    /* it is one overlay, with 'over' between */
    bool has_bare;      /* one of them is the host's own, not an overlay, and 'over' should lie over it */
    int proc, sys;      /* its /proc and /sys, attached; -1: there is none of the kernel's */
    int dev;            /* its /dev, attached and not filled yet */
    int empty;          /* an attached read-only directory with nothing in it, for masks; -1: not made yet */
    int cwd;            /* O_PATH in the new root */
    struct box_who who;
    uint64_t caps; /* bit n: capability n */
};

/* ---- the steps, in their order ---- */

int box_root_make(struct box *b, struct err *e);
int box_fill(struct box *b, struct err *e);
int box_fill_dev(struct box *b, struct err *e);
int box_add_mounts(struct box *b, struct err *e);
int box_find_who(struct box *b, struct err *e); /* needs b->root only */
int box_ids_fit(struct box *b, struct err *e);  /* a part of it: as which ids of the machine */
int box_find_caps(struct box *b, struct err *e);
int box_find_cwd(struct box *b, struct err *e);
int box_root_protect(struct box *b, struct err *e); /* read-only where asked */

/* ---- mounts by descriptor ---- -1 and errno ---- */

int box_mount_clone(int dir, const char *path, bool is_recursive); /* path "": what 'dir' is */
int box_mount_set(int mount, uint64_t attr, bool is_recursive);
int box_mount_attach(int mount, int target);

/* ---- system calls ---- */

enum box_call_rule {
    BOX_CALL_ABSENT, /* ENOSYS; so are those that are not told */
    BOX_CALL_ALLOWED,
    BOX_CALL_DENIED,      /* EPERM */
    BOX_CALL_PRETENDED,   /* nothing happens, and it seems to have worked */
    BOX_CALL_CLONE,       /* without new namespaces */
    BOX_CALL_PERSONALITY, /* box_call_personalities only */
    BOX_CALL_SOCKET,      /* all but box_call_families */
    BOX_CALL_SOCKETCALL,  /* all but socket() */
    BOX_CALL_IOCTL,       /* all but what writes to a terminal as if its user had */
};
enum { BOX_CALL_FAMILIES = 2, BOX_CALL_PERSONALITIES = 5 };
extern const uint32_t box_call_families[BOX_CALL_FAMILIES], box_call_personalities[BOX_CALL_PERSONALITIES];

typedef void box_call_f(void *ctx, struct str name, enum box_call_rule rule);
/* Tell all calls that are known, and what one with these capabilities may. */
void box_calls_each(uint64_t caps, box_call_f *take, void *ctx);

/* ---- what the process is, before and after ---- */

/* Reasons, as a container's status has them. */
extern const char box_start_error[], box_create_error[], box_config_error[];

bool box_in_user_namespace(void);
bool box_groups_are_fixed(void); /* in a user namespace with one id nobody may change its groups */
void box_block_signals(void);    /* all; SIGCHLD comes to whoever waits for it */
void box_set_oom_score(int adj); /* of this process, as far as it may */

#endif
