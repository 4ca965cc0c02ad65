/* SPDX-License-Identifier: ISC */
/* cgroup_internal.h - what the lifecycle of control groups and its two backends share. */
#ifndef ATELIER_CGROUP_INTERNAL_H
#define ATELIER_CGROUP_INTERNAL_H

#include "policy/plan.h"
#include "sessiond/monitor/cgroup.h"

#define CGROUP_NAME_SIZE 48 /* "session-" and 32 digits */

/* Version 1 has a tree for each controller; version 2 has one, the first, or beside version 1 the
 * last. */
enum cgroup_tree {
    CGROUP_MEMORY,
    CGROUP_PIDS,
    CGROUP_CPU,
    CGROUP_CPUACCT, /* counts, limits nothing; only where it is a tree of its own */
    CGROUP_UNIFIED, /* of V2_LITE */
};

/* One directory in each tree; -1 where a tree is not used. */
struct cgroup_node {
    int dirs[CGROUP_TREES_MAX];
};

/* How a backend does it. All take descriptors of directories; 0 or -errno, @ret_what static. */
struct cgroup_ops {
    enum wire_cgroup_mode mode;
    /* Is it a tree of this kind, with what is needed? */
    int (*check)(const struct cgroup_node *root, const char **ret_what);
    int (*limit_user)(const struct cgroup_node *user, const struct plan_cgroup *plan,
                      const char **ret_what);
    int (*limit_leaf)(const struct cgroup_node *leaf, const struct plan_cgroup *plan,
                      const char **ret_what);
    /* The file or directory that a new init needs, one for each tree. Return: descriptor. */
    int (*entrance)(enum cgroup_tree tree, int dir);
    /* Limits of the leaf, as the kernel has them. */
    int (*read)(const struct cgroup_node *leaf, struct wire_receipt *r);
    bool (*matches)(const struct cgroup_node *leaf, const struct plan_cgroup *plan,
                    const struct wire_receipt *r);
    void (*usage)(const struct cgroup_node *leaf, struct wire_usage *u);
    void (*kill)(const struct cgroup_node *leaf);
    /* Limit of the group that holds ours and that of its owner; UINT64_MAX: there is none. */
    int (*memory_of_all)(const struct cgroup_node *root, uint64_t *ret_bytes);
    /* What is charged to a group and to all that were ever below it; 0 where that is not counted.
     */
    int (*memory)(const struct cgroup_node *user, uint64_t *ret_bytes);
    /* Name of a tree in /proc/PID/cgroup, between its colons. */
    const char *(*tree_name)(enum cgroup_tree tree);
};

extern const struct cgroup_ops cgroup_v1_ops;
extern const struct cgroup_ops cgroup_lite_ops;
extern const struct cgroup_ops cgroup_v2_ops;

/* --- cgroup_io.c; of version 2, and of the group of a user */

/* Return: 0 (the controller may be missing), or a negative errno with @ret_what. */
int cgroup_io_limit(const struct cgroup_node *user, const struct plan_cgroup *plan,
                    const char **ret_what);
void cgroup_io_read(const struct cgroup_node *user, struct wire_receipt *ret_r);
/* Does @r have what the plan says, as far as there is a controller? */
bool cgroup_io_matches(const struct cgroup_node *user, const struct plan_cgroup *plan,
                       const struct wire_receipt *r);

/* The group of a user, open while there is a leaf in it, and for a while after. */
struct cgroup_user {
    struct cgroup_user *next;
    uint32_t uid;
    unsigned leaves;
    bool is_stale;    /* its directory is gone: nothing new in it */
    int64_t empty_ms; /* since when it has no leaf */
    bool has_plan;
    struct plan_cgroup plan; /* what was asked for; less where all have less */
    struct cgroup_node node;
};

struct cgroup_leaf {
    struct cgroup_leaf *next; /* of all that are open, or of the dropped */
    struct cgroup *cg;
    struct cgroup_user *user;
    enum cgroup_kind kind;
    struct plan_cgroup plan; /* of one that was made here */
    int64_t dropped_ms;
    bool is_late; /* said already that it does not go away */
    char name[CGROUP_NAME_SIZE];
    struct cgroup_node node;
};

struct cgroup {
    const struct cgroup_config *config;
    const struct cgroup_ops *ops; /* NULL: none */
    struct cgroup_node root;
    struct cgroup_user *users;
    struct cgroup_leaf *leaves;  /* open */
    struct cgroup_leaf *dropped; /* to be removed */
    int64_t look_ms;             /* when to look at groups that were kept; 0: there are none */
    struct event *timer;
};

/* Open the directories of the options again. Return: 0 or a negative errno, and the old stay. */
int cgroup_root_open(struct cgroup *cg, const char **ret_what);

/**
 * cgroup_user_get() - The group of a user, made if need be
 * @plan:     Its limits; NULL: whatever they are. Lower ones than it has have to wait until nothing
 *            is in it: who lives keeps what it was given
 * @ret_user: Borrowed
 */
int cgroup_user_get(struct cgroup *cg, uint32_t uid, const struct plan_cgroup *plan,
                    struct cgroup_user **ret_user, const char **ret_what);

/* Close and release; nothing is removed. */
void cgroup_user_free(struct cgroup *cg, struct cgroup_user *user);
void cgroup_leaf_free(struct cgroup_leaf *leaf);

/* Remove what can be removed, and come back if something is left. */
void cgroup_clean(struct cgroup *cg);

void cgroup_node_init(struct cgroup_node *node);
void cgroup_node_close(struct cgroup_node *node);
int cgroup_node_open(const struct cgroup_node *parent, const char *name,
                     struct cgroup_node *ret_node);
/* Return: 0; -EEXIST if one was there; or a negative errno. */
int cgroup_node_make(const struct cgroup_node *parent, const char *name);
/* Fine if it is gone. Return: 0 or a negative errno (-EBUSY: somebody is in it). */
int cgroup_node_remove(const struct cgroup_node *parent, const char *name);

/* Is it a directory of a version 2 tree? Return: 0, -ENODEV or another negative errno. */
int cgroup_v2_check_dir(int dir);

/* Files. "max" reads as UINT64_MAX. */
int cgroup_write(int dir, const char *file, const char *text);
int cgroup_write_u64(int dir, const char *file, uint64_t v);
int cgroup_read_u64(int dir, const char *file, uint64_t *ret_v);
/* Number behind "KEY " at the start of a line. Return: 0, -ENOENT, or a negative errno. */
int cgroup_read_key(int dir, const char *file, const char *key, uint64_t *ret_v);
/* Is the process in cgroup.procs? */
bool cgroup_procs_has(int dir, pid_t pid);

#endif
