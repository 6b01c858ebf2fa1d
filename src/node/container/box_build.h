/* box_build.h - the root of a container, built step by step
 *
 * For the two callers that run a program in it: box.c, and oci.h, which leaves running it to an OCI runtime. All
 * steps run in the container's own mount namespace. Until the root is entered, the host is still at "/" and the new
 * root is reached by descriptor.
 */
#ifndef NODE_BOX_BUILD_H
#define NODE_BOX_BUILD_H

#include "node/container/box.h"

#include <sys/mount.h>

struct box_who {
    uid_t uid;
    gid_t gid;
    VEC(gid_t) groups;
    struct str name, home; /* of /etc/passwd; empty: no entry */
};

struct box { /* descriptors are -1 until opened */
    const struct box_spec *spec;
    struct arena arena;
    bool is_inner;      /* root of a user namespace, not of the machine */
    int state;          /* directory for changes: spec->upper, or a tmpfs mounted over it */
    bool has_tmp_state; /* 'state' is the tmpfs */
    unsigned n_state;   /* names used in it so far */
    int over;           /* spec->over, O_PATH; -1: none */
    int root;           /* the new root's mount, attached */
    VEC(int) parts;     /* the mounts that make up the root; made read-only together */
    bool is_overlay;    /* the root is one overlay, with 'over' in it */
    bool has_bare;      /* a part is the host's own mount that 'over' could not be put on */
    int proc, sys;      /* its /proc and /sys, attached; -1: not a new mount of the kernel's */
    int dev;            /* its /dev, attached; filled by box_fill_dev() */
    int empty;          /* an attached empty read-only directory, for masks; -1: not created yet */
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
int box_ids_fit(struct box *b, struct err *e);  /* called by box_find_who(): maps the ids to those of the machine */
int box_find_caps(struct box *b, struct err *e);
int box_find_cwd(struct box *b, struct err *e);
int box_root_protect(struct box *b, struct err *e); /* read-only where asked */

/* ---- mounts by descriptor ---- -1 and errno ---- */

int box_mount_clone(int dir, const char *path, bool is_recursive); /* path "": 'dir' itself */
int box_mount_set(int mount, uint64_t attr, bool is_recursive);
int box_mount_attach(int mount, int target);

/* ---- system calls ---- */

enum box_call_rule {
    BOX_CALL_ABSENT, /* ENOSYS; so are all calls that are not listed */
    BOX_CALL_ALLOWED,
    BOX_CALL_DENIED,      /* EPERM */
    BOX_CALL_PRETENDED,   /* does nothing and reports success */
    BOX_CALL_CLONE,       /* without new namespaces */
    BOX_CALL_PERSONALITY, /* box_call_personalities only */
    BOX_CALL_SOCKET,      /* all but box_call_families */
    BOX_CALL_SOCKETCALL,  /* all but socket() */
    BOX_CALL_IOCTL,       /* all but those that inject input into a terminal */
};
enum { BOX_CALL_FAMILIES = 2, BOX_CALL_PERSONALITIES = 5 };
extern const uint32_t box_call_families[BOX_CALL_FAMILIES], box_call_personalities[BOX_CALL_PERSONALITIES];

typedef void box_call_f(void *ctx, struct str name, enum box_call_rule rule);
/* Report every known call and the rule for a container with these capabilities. */
void box_calls_each(uint64_t caps, box_call_f *take, void *ctx);

/* ---- the state of this process ---- */

/* Reasons, as they appear in a container's status. */
extern const char box_start_error[], box_create_error[], box_config_error[];

bool box_in_user_namespace(void);
bool box_groups_are_fixed(void); /* in a user namespace with one id setgroups() is not allowed */
void box_block_signals(void);    /* block all; receive SIGCHLD with sigwait() */
void box_set_oom_score(int adj); /* of this process; ignored where not permitted */

#endif
