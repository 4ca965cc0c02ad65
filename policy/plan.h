/* SPDX-License-Identifier: ISC */
/*
 * plan.h - what a run gets, as data: file tree, limits, namespaces.
 *
 * Pure: nothing here touches the system. sessiond carries the plans out, unit tests compare them.
 * The tree is an allow-list: what is not named here does not exist in a run.
 */
#ifndef ATELIER_PLAN_H
#define ATELIER_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/policy.h"

enum plan_op {
    PLAN_DIR,    /* mkdir target, mode */
    PLAN_TMPFS,  /* empty file system of bytes and inodes on target, mode */
    PLAN_BIND,   /* source, recursively read-only, nosuid, nodev, on target */
    PLAN_ROOT,   /* top-level name: copied if the host has a link, bound if it has a directory */
    PLAN_COPY,   /* the regular file source (followed, root reads it), as target */
    PLAN_TEXT,   /* source is the content of the new file target */
    PLAN_SOCKET, /* the socket source (followed), on the new file target */
    PLAN_LINK,   /* symbolic link target -> source */
    PLAN_NODE,   /* character device target; bytes: major, inodes: minor */
    PLAN_SEAL,   /* the mount at target becomes read-only */
};

struct plan_entry {
    enum plan_op op;
    const char *target; /* below the new root, no leading slash */
    const char *source; /* on the host, or text; NULL where the operation has none */
    uint32_t mode;
    bool optional; /* a source that the host does not have is no error */
    uint64_t bytes;
    uint64_t inodes;
};

/* The prepared tree that the spawner lives in; every run starts from a copy of its mounts. */
extern const struct plan_entry plan_base[];
extern const size_t plan_base_count;

/* Root's alone in every tree: the host's log socket for the login's own process. */
#define PLAN_LOG_DIR "run/host"

/* Nobody can open them: they hide what they are mounted on. Beside the log, where nobody comes by.
 */
#define PLAN_NO_FILE PLAN_LOG_DIR "/no-file"
#define PLAN_NO_DIR  PLAN_LOG_DIR "/no-dir"

/* What is in /proc besides processes: policy/proc.def. */
struct plan_proc {
    const char *name;
    bool is_open;     /* else masked, as is what is not in the table */
    const char *what; /* it says */
    const char *why;
};

extern const struct plan_proc plan_proc[];
extern const size_t plan_proc_count;

/*
 * Terminals of a session: an instance of its own, so that nobody takes all of the host's. gid 5 is
 * tty on Debian (base-passwd); sshd gives a terminal to that group.
 * Source: Documentation/filesystems/devpts.rst of the kernel.
 */
#define PLAN_DEVPTS_OPTIONS "newinstance,max=16,ptmxmode=0666,mode=0620,gid=5"

/* In a session's tree: "UID SHELL\n". The login shell looks for it; the host has no such file. */
#define PLAN_SESSION_FILE  "/etc/atelier/session"
#define PLAN_SESSION_SHELL "/bin/bash"

/* One RLIMIT; the hard limit is the same (of RLIMIT_CPU a second more, so that SIGXCPU comes before
 * SIGKILL). A lower one that is inherited stays. */
struct plan_rlimit {
    int resource;  /* RLIMIT_* */
    bool is_exact; /* less would not be stronger: raised, if that is what it takes */
    uint64_t value;
};

#define PLAN_RLIMITS_MAX 9

/* Of a run; a session has what its login's process has, and what sshd and the shell make of it. */
#define PLAN_RUN_UMASK     022
#define PLAN_RUN_OOM_SCORE 500

/*
 * Limits of one control group, where the host has them. 0 bytes of swap: what goes out to swap
 * would be memory beyond the limit.
 */
struct plan_cgroup {
    uint64_t memory_max_bytes;
    uint64_t swap_max_bytes;
    uint64_t pids_max;      /* processes and threads, those of root in it, too */
    uint64_t cpu_quota_us;  /* processor time in each period; 0: no limit, a weight alone */
    uint64_t cpu_period_us; /* 0 if there is no quota */
    uint64_t cpu_weight;    /* 1..10000, among its siblings */
    bool oom_group;         /* out of memory ends all of it, not one process */
    uint64_t io_weight;     /* 1..10000, of a user's group alone */
    uint64_t io_read;       /* bytes a second, likewise; 0: no limit */
    uint64_t io_write;
};

/* The file systems of its own that a run or session has. */
#define PLAN_PLACES(X)                                                                             \
    X(TMP, "tmp", TMP)                                                                             \
    X(VAR_TMP, "var/tmp", VAR_TMP)                                                                 \
    X(SHM, "dev/shm", SHM)                                                                         \
    X(HOME, "home", HOME)

enum plan_place {
#define PLAN_PLACE_ENUM(id, target, key) PLAN_PLACE_##id,
    PLAN_PLACES(PLAN_PLACE_ENUM)
#undef PLAN_PLACE_ENUM
        PLAN_PLACE__COUNT,
};

struct plan_size {
    uint64_t bytes;
    uint64_t inodes;
};

/*
 * All that the policy says of one run or session: made once, when it begins, and kept for as long
 * as it lives. A policy that is read later changes nothing of it.
 */
struct plan {
    enum policy_kind kind; /* POLICY_RUN or POLICY_LOGIN */
    char profile[NAME_SIZE];
    char user_profile[NAME_SIZE];
    uint32_t wall_ms; /* of a run */
    uint32_t cpu_ms;  /* processor time of all of a run together; 0: no limit */
    /* Bits of enum wire_limit, by the one profile and the other: what no control group keeps
     * refuses the run or session. */
    uint32_t required, user_required;
    struct plan_cgroup leaf;
    struct plan_cgroup user; /* all runs and sessions of the user */
    uint32_t rlimit_count;
    struct plan_rlimit rlimits[PLAN_RLIMITS_MAX];
    struct plan_size sizes[PLAN_PLACE__COUNT];
    struct plan_size disk; /* all that the user has in the home on disk */
    uint32_t tree_count;
    char trees[POLICY_TREES_MAX][POLICY_TREE_SIZE];
    uint32_t skill_count;
    char skills[POLICY_SKILLS_MAX][SKILL_SIZE]; /* NAME@HASH */
};

/* What is mounted of the host: first the trees, then the skills. */
#define PLAN_MOUNTS_MAX (POLICY_TREES_MAX + POLICY_SKILLS_MAX)

static inline uint32_t plan_mount_count(const struct plan *plan)
{
    return plan->tree_count + plan->skill_count;
}

/* Where the skills of a run or session are, each under its name; empty for who has none. */
#define PLAN_SKILLS_DIR "/skills"

/* What a caller asks for. */
struct plan_ask {
    uint32_t wall_ms; /* 0: whatever the profile says */
    uint32_t cpu_ms;  /* likewise */
    /* Somebody counts the time of the run as a whole. If not, each process has the limit alone. */
    bool cpu_is_counted;
};

/**
 * policy_plan() - What somebody gets
 * @kind:      POLICY_RUN or POLICY_LOGIN
 * @gids:      Supplementary groups
 * @ret_field: On failure: which field of @ask, static
 *
 * A run or session never has more memory or processes than all of its user's together, and no file
 * systems that together, with 1 KiB for each file, are larger than seven eighths of its memory:
 * what the policy gives is cut in proportion.
 *
 * RLIMIT_CPU is in whole seconds, rounded up. Where the time of the run is counted it is a second
 * more: it comes after whoever counts, and is there if that fails.
 *
 * Return: 0, or -ERANGE: more than the profile allows.
 */
int policy_plan(const struct policy *policy, enum policy_kind kind, uint32_t uid,
                const uint32_t *gids, size_t count, const struct plan_ask *ask,
                struct plan *ret_plan, const char **ret_field);

#define PLAN_UNMET_SIZE WIRE_PATH_SIZE

/**
 * plan_unmet() - Is a limit required that nothing keeps?
 * @asked:    Bits of enum wire_limit that the caller requires, besides the policy
 * @kept:     Likewise: control groups of this host keep it. A watch does not: what is taken between
 *            two looks is taken
 * @ret_text: If so: which, and who requires it; ASCII
 *
 * Return: true if there is one.
 */
bool plan_unmet(const struct plan *plan, uint32_t asked, uint32_t kept,
                char ret_text[PLAN_UNMET_SIZE]);

#define PLAN_OWN_MAX (PLAN_PLACE__COUNT + 1)

/**
 * plan_own() - The mounts that a run or session makes for itself, before the home
 * @ret_entries: As many as are returned
 */
size_t plan_own(const struct plan *plan, struct plan_entry ret_entries[PLAN_OWN_MAX]);

/**
 * plan_system_lines() - Those lines of a passwd or group file that belong to the system
 * @text:     Content of the host's file, NUL-terminated, borrowed
 * @is_group: group(5) instead of passwd(5)
 * @ret_text: Heap; the lines whose id is below 1000 or 65534, members removed, passwords "x"
 *            replaced by "*"
 *
 * A run sees the system's accounts, itself and its own groups, nobody else.
 *
 * Return: 0 or -ENOMEM.
 */
int plan_system_lines(const char *text, bool is_group, char **ret_text);

/**
 * plan_resolv_conf() - resolv.conf for a run
 * @addresses: Resolvers as text, in order
 * @count:     Their number; 0 gives a file that says why names do not resolve
 * @ret_text:  Heap
 *
 * Return: 0 or -ENOMEM.
 */
int plan_resolv_conf(const char *const addresses[], size_t count, char **ret_text);

#endif
