/* cgroup_internal.h - shared by the files behind cgroup.h
 *
 * A hierarchy is one mounted tree. v2 has all controllers in one; v1 has one tree per controller or per few; a hybrid
 * host has both. The same group is made in every hierarchy we use.
 */
#ifndef NODE_CGROUP_INTERNAL_H
#define NODE_CGROUP_INTERNAL_H

#include "base/buf.h"
#include "node/cgroup/cgroup.h"
#include "node/cgroup/cgroup_host.h"

/* Why a hierarchy cannot do what we want. */
enum cgroup_hitch {
    CGROUP_HITCH_NONE,
    CGROUP_HITCH_NOT_MOUNTED,
    CGROUP_HITCH_READONLY,
    CGROUP_HITCH_UNREACHABLE, /* our own group is outside of what is mounted */
    CGROUP_HITCH_DENIED,      /* not our user's */
    CGROUP_HITCH_DENIED_V1,
    CGROUP_HITCH_CROWDED,     /* v2: others' processes in our group, so it cannot pass controllers on */
    CGROUP_HITCH_NOT_OFFERED, /* v2: no such controller from above; v1: not mounted */
    CGROUP_HITCH_MAX,
};

struct cgroup_hier {
    bool is_v2;
    bool freezes;
    unsigned ctrls;   /* what groups of ours have here */
    unsigned offered; /* v2: what the base could pass on */
    unsigned gain;    /* v2: what groups of ours will get of it */
    const char *path; /* of the base, for people */
    int base;         /* the group we make ours in */
    int ours;         /* -1 until made */
    bool moves_self;  /* v2: the base is our own group and has to be emptied first */
    unsigned passed;  /* v2: controllers that are on in the base */
    enum cgroup_hitch hitch;
};

enum { CGROUP_HIER_MAX = 7 }; /* v2 and six controllers */

struct cgroups {
    struct arena arena;
    const char *name;
    struct str place;
    struct cgroup_hier hiers[CGROUP_HIER_MAX]; /* v2 first */
    size_t n;
    unsigned can;
    bool has_kill; /* v2: cgroup.kill, Linux 5.14 */
    const char *why;
};

enum { CGROUP_REMOVE_MS = 5000 }; /* a process in the middle of a slow system call still has to die */

/* ---- cgroup.c ---- */

bool cgroup_name_is_good(struct str s); /* one part of a path */
int cgroup_path_check(const char *path, int *ret_depth, struct err *e);
int cgroup_group_open(const struct cgroup_hier *h, const char *path, struct err *e); /* in one hierarchy */

/* ---- cgroup_kill.c ---- */

/* A group in every hierarchy. -1: it is not there. */
struct cgroup_opened {
    int dir[CGROUP_HIER_MAX];
    size_t n;
};
#define autoopened __attribute__((cleanup(cgroup_opened_done))) struct cgroup_opened
void cgroup_opened_done(struct cgroup_opened *o);

/* 'must': a missing group is an error. */
int cgroup_open_all(const struct cgroups *c, const char *path, bool must, struct cgroup_opened *o, struct err *e);
int cgroup_kill_opened(const struct cgroups *c, const struct cgroup_opened *o, const char *path, int ms, struct err *e);

/* ---- cgroup_tree.c: files and groups below a descriptor; errno says why ---- */

int cgroup_file_write(int dir, const char *file, const char *text);
int cgroup_file_read(int dir, const char *file, struct buf *out); /* 'out' is emptied first */
int64_t cgroup_file_number(int dir, const char *file);            /* -1: not there, or not a number ("max") */
int64_t cgroup_file_count(int dir, const char *file, const char *key);
int cgroup_dir_open(int dir, const char *path); /* O_PATH; fails with ENOTDIR for a file */

typedef void (*cgroup_visit_f)(int dir, void *arg);
void cgroup_tree_walk(int dir, cgroup_visit_f visit, void *arg); /* the group, then all below */
bool cgroup_tree_has_groups(int dir);
bool cgroup_tree_is_empty(int dir, bool is_v2);       /* no process in it or below */
int cgroup_tree_remove(int parent, const char *name); /* with all below; none may hold a process */
void cgroup_tree_signal(int dir, int sig);            /* to every process in it and below */
void cgroup_sleep_us(int64_t us);

/* ---- cgroup_limits.c: pure ---- */

enum {
    CGROUP_SETTING_RESETS = 1, /* what a new group has anyway */
    CGROUP_SETTING_TRIES = 2,  /* may fail */
    CGROUP_SETTING_IF_THERE = 4,
};
struct cgroup_setting {
    enum cgroup_ctrl ctrl;
    const char *file;
    char text[44];
    const char *instead; /* when the kernel calls 'text' invalid; may be NULL */
    unsigned flags;
};
enum { CGROUP_SETTINGS_MAX = 10 };

/* Returns how many. */
size_t cgroup_v1_settings(const struct cgroup_limits *l, struct cgroup_setting ret[CGROUP_SETTINGS_MAX]);
size_t cgroup_v2_settings(const struct cgroup_limits *l, struct cgroup_setting ret[CGROUP_SETTINGS_MAX]);

/* Time on the CPU per period. */
struct cgroup_quota {
    int64_t quota_us, period_us;
};
bool cgroup_quota(int64_t milli, struct cgroup_quota *ret); /* false: no limit */

/* ---- cgroup_v1.c, cgroup_v2.c ---- */

/* Find the base; 'h->hitch' says why there is none (then -1). Changes nothing. */
int cgroup_v1_find(struct arena *a, const struct cgroup_place *place, struct cgroup_hier *h);
int cgroup_v2_find(struct arena *a, const struct cgroup_place *place, const char *name, struct cgroup_hier *h);

void cgroup_v1_inherit(int parent, int dir); /* what a new group needs of the one above */

/* Before and after our group was made in the base; undo what was done for it. */
void cgroup_v2_enter(struct cgroup_hier *h, const char *name);
void cgroup_v2_settle(struct cgroup_hier *h);
void cgroup_v2_leave(struct cgroup_hier *h, const char *name);
int cgroup_v2_pass(int dir, unsigned ctrls, char sign); /* subtree_control; returns the bits that worked */

/* Fill in what is still -1. */
void cgroup_v1_stats(int dir, unsigned ctrls, struct cgroup_stats *s);
void cgroup_v2_stats(int dir, unsigned ctrls, struct cgroup_stats *s);

int cgroup_v1_freeze(int dir, bool on, int ms); /* errno ETIMEDOUT when something would not stop */
int cgroup_v2_freeze(int dir, bool on, int ms);

/* What a group in v2 is like, for finding the base. */
struct cgroup_spot {
    unsigned offered, passed; /* cgroup.controllers, cgroup.subtree_control */
    bool is_top;              /* of the whole hierarchy: may hold processes and pass controllers on */
    bool is_domain;           /* not threaded */
    bool may_make;            /* groups in it, and move processes into them */
    bool may_pass;
    bool has_others; /* processes that are not ours */
};
unsigned cgroup_spot_gain(const struct cgroup_spot *s); /* controllers that groups in it would get */
enum cgroup_hitch cgroup_spot_hitch(const struct cgroup_spot *s, unsigned wanted);

/* ---- cgroup_why.c: pure ---- */

/* What is missing, why, and the command that would help; nothing when all is there. */
void cgroup_why(struct buf *out, unsigned can, enum cgroup_hitch hitch, const char *path, bool is_root);

#endif
