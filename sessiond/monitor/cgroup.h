/* SPDX-License-Identifier: ISC */
/*
 * cgroup.h - control groups: a group for each user, in it a leaf for each run and session.
 *
 *   DIR/uUID/run-ID        memory, processes and processor time of a run
 *   DIR/uUID/session-ID    of a session: init, the login's process, and all that it starts
 *
 * Three backends behind one struct of functions: cgroup_v2.c (a tree that is delegated to us),
 * cgroup_v1.c (one tree for each controller) and cgroup_lite.c (the second, with a version 2 tree
 * that limits nothing beside it). Without any there are no leaves: a leaf is NULL, which every
 * function here takes.
 *
 * Once a directory was given nothing weaker starts: what cannot be made or set refuses the run or
 * session. What is reported of a leaf is read back from it, never from the plan.
 *
 * The end of a leaf is not waited for. It is dropped when its init is reaped; a timer removes it as
 * soon as it is empty, and the group of a user that has had no leaf for a while and holds no
 * memory.
 */
#ifndef ATELIER_CGROUP_H
#define ATELIER_CGROUP_H

#include <event2/event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/wire.h"
#include "policy/plan.h"

/* memory, pids, cpu, cpuacct, and one of version 2: as many trees at most, and descriptors that a
 * new init needs. */
#define CGROUP_TREES_MAX 5
#define CGROUP_V1_MAX    4

struct cgroup;
struct cgroup_leaf;

enum cgroup_kind {
    CGROUP_RUN,
    CGROUP_SESSION,
};

/* Options; all NULL: no control groups. */
struct cgroup_config {
    const char *v2_dir; /* a group of the version 2 tree, as a path below its mount point */
    bool is_lite;       /* which limits nothing; v1_dirs may be beside it */
    const char *v1_dirs[CGROUP_V1_MAX];
};

/**
 * cgroup_config_v1() - Take "CONTROLLER=DIR"
 * @arg: Borrowed for good
 *
 * Return: 0, or -EINVAL: no such controller, named before, or no absolute path.
 */
int cgroup_config_v1(struct cgroup_config *config, const char *arg);

/**
 * cgroup_new() - Open and check the directories
 * @config:   Borrowed for good
 * @ret_what: On failure: what is missing, static
 *
 * Return: 0; -ENODEV (not such a tree); -ENOTSUP (a controller is missing); or a negative errno.
 */
int cgroup_new(const struct cgroup_config *config, struct cgroup **ret_cg, const char **ret_what);

/* From here on leaves can be dropped. Return: 0 or -ENOMEM. */
int cgroup_start(struct cgroup *cg, struct event_base *base);

/**
 * cgroup_sweep() - Remove what an earlier sessiond has left
 *
 * Every leaf that is not open now, with all that is in it. Call when the sessions that live have
 * theirs.
 */
void cgroup_sweep(struct cgroup *cg);

enum wire_cgroup_mode cgroup_mode(const struct cgroup *cg);

/* What leaves limit here: bits of enum wire_limit. */
uint32_t cgroup_limits(const struct cgroup *cg);

/**
 * cgroup_leaf_new() - Make a leaf with its limits
 * @id:       Of the run or session, WIRE_SESSION_ID_SIZE, valid
 * @plan:     Limits of the leaf, and of the user; copied
 * @ret_leaf: NULL without control groups; else to be dropped
 * @ret_what: On failure: which file, static
 *
 * Return: 0 or a negative errno, and nothing is left of it.
 */
int cgroup_leaf_new(struct cgroup *cg, enum cgroup_kind kind, uint32_t uid, const char *id,
                    const struct plan *plan, struct cgroup_leaf **ret_leaf, const char **ret_what);

/* Open the leaf of a session that was made by an earlier sessiond. Return: 0 or a negative errno.
 */
int cgroup_leaf_find(struct cgroup *cg, enum cgroup_kind kind, uint32_t uid, const char *id,
                     struct cgroup_leaf **ret_leaf);

/**
 * cgroup_leaf_fds() - What the spawner needs to put an init into the leaf
 * @ret_fds: CGROUP_TREES_MAX of them, to be closed; v1: files that the init writes itself into;
 *           v2: the directory, for clone3; v2-lite: those, then that
 * @ret_n:   Their number, 0 for no leaf
 *
 * Return: 0 or a negative errno.
 */
int cgroup_leaf_fds(const struct cgroup_leaf *leaf, int ret_fds[CGROUP_TREES_MAX], size_t *ret_n);

/* Move a process into the leaf. Return: 0 or a negative errno. */
int cgroup_leaf_attach(const struct cgroup_leaf *leaf, pid_t pid);

/**
 * cgroup_leaf_read() - The part of a receipt that is about the leaf
 * @members: /proc/PID/cgroup of the process of the receipt
 * @pid:     That process
 * @ret_r:   Its cgroup_ fields are set; to "none" if there is no leaf, or the process is not in it
 *
 * Return: 0 or a negative errno.
 */
int cgroup_leaf_read(const struct cgroup_leaf *leaf, const char *members, pid_t pid,
                     struct wire_receipt *ret_r);

/* Is the process in the leaf? True without one. The kernel is asked; no answer is no. */
bool cgroup_leaf_has(const struct cgroup_leaf *leaf, pid_t pid);

/* Does a receipt show the limits that this leaf was made with? */
bool cgroup_leaf_matches(const struct cgroup_leaf *leaf, const struct wire_receipt *r);

/* What it came to so far. */
void cgroup_leaf_usage(const struct cgroup_leaf *leaf, struct wire_usage *ret_usage);

/* Does a leaf count the processor time of all that is in it? Asked of the directory of all. */
bool cgroup_counts_cpu(const struct cgroup *cg);

/* SIGKILL for everything in it, where the kernel can do that at one stroke. */
void cgroup_leaf_kill(const struct cgroup_leaf *leaf);

/**
 * cgroup_leaf_drop() - Let it be removed, once it is empty
 *
 * Of a run everything that is still in it is killed. The process of a login has a moment to end by
 * itself first: it stands outside of the PID namespace, in the leaf, and has to say goodbye.
 */
void cgroup_leaf_drop(struct cgroup_leaf *leaf);

#endif
