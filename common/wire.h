/* SPDX-License-Identifier: ISC */
/*
 * wire.h - what sessiond-api (client) and sessiond (server) say to each other on core.sock.
 *
 * AF_UNIX SOCK_SEQPACKET: one message is one struct, descriptors travel with it by SCM_RIGHTS.
 * Host byte order: both ends are one build on one host, which HELLO checks. sessiond re-checks
 * every field; a message of the wrong size, type or state closes the connection, and with it ends
 * every run that was started through it.
 *
 *   api -> sessiond            sessiond -> api
 *   HELLO                      WELCOME
 *   RUN_START + fds            RUN_STARTED (receipt), then RUN_ENDED; or RUN_FAILED alone
 *   RUN_KILL                   (nothing of its own: RUN_ENDED follows)
 *   LOCK_TAKE                  LOCK_TAKEN or LOCK_BUSY; LOCK_LOST when held longer than a second
 *   LOCK_DROP                  (nothing)
 *   STATUS_GET                 STATUS
 *   SESSION_ANSWER             SESSION_ASK before it, SESSION_STARTED or SESSION_FAILED after it
 *   SESSION_KILL, USER_KILL    (nothing of their own: SESSION_ENDED, RUN_ENDED follow)
 *   NSS_CHANGED                (nothing)
 *   NET_GET                    NET_PAGE, several (wire_net.h)
 *                              SESSION_ENDED
 *
 * Sessions outlive a connection: after WELCOME sessiond sends SESSION_STARTED for each one that
 * lives, then SESSION_SYNCED. A question that the api does not answer within
 * WIRE_SESSION_ASK_MS, or that is open when the connection ends, is denied by sessiond.
 */
#ifndef ATELIER_WIRE_H
#define ATELIER_WIRE_H

#include <stdint.h>

#include "common/skill.h"
#include "common/str.h"

#define WIRE_VERSION 6u
/* Kernel: NGROUPS_MAX is 65536; a participant has a course group or three. */
#define WIRE_GROUPS_MAX 32u
#define WIRE_PATH_SIZE  128u
#define WIRE_RUNS_MAX   256u

#define WIRE_SESSIONS_MAX          512u
#define WIRE_SESSIONS_PER_USER_MAX 16u
#define WIRE_SESSION_ASK_MS        2000
#define WIRE_SESSION_ID_SIZE       36u /* 32 lower-case hex digits and NULs */
#define WIRE_SERVICE_SIZE          32u
#define WIRE_TTY_SIZE              32u
#define WIRE_RHOST_SIZE            64u /* an address; a longer name is cut */

enum wire_type {
    WIRE_HELLO = 1,
    WIRE_RUN_START,
    WIRE_RUN_KILL,
    WIRE_LOCK_TAKE,
    WIRE_LOCK_DROP,
    WIRE_STATUS_GET,
    WIRE_SESSION_ANSWER,
    WIRE_SESSION_KILL,
    WIRE_USER_KILL,
    WIRE_NSS_CHANGED, /* the index is another one: who keeps answers of NSS is told to forget */
    WIRE_NET_GET,     /* wire_net.h */

    WIRE_WELCOME = 64,
    WIRE_RUN_STARTED,
    WIRE_RUN_FAILED,
    WIRE_RUN_ENDED,
    WIRE_LOCK_TAKEN,
    WIRE_LOCK_BUSY,
    WIRE_LOCK_LOST,
    WIRE_STATUS,
    WIRE_SESSION_ASK,
    WIRE_SESSION_STARTED,
    WIRE_SESSION_FAILED,
    WIRE_SESSION_ENDED,
    WIRE_SESSION_SYNCED,
    WIRE_NET_PAGE, /* wire_net.h */
};

/* First part of every message. HELLO, WELCOME, LOCK_*, STATUS_GET, NSS_CHANGED and SESSION_SYNCED
 * are a head alone. */
struct wire_head {
    uint32_t version;    /* WIRE_VERSION */
    uint32_t type;       /* enum wire_type */
    uint32_t size_bytes; /* of the whole struct that this heads */
    uint32_t tag;        /* RUN_*: chosen by the api, unique among its live runs. SESSION_ASK,
                          * _ANSWER, _FAILED: chosen by sessiond, above 0. Else 0 */
};

enum wire_net {
    WIRE_NET_NONE = 0,   /* empty network namespace */
    WIRE_NET_PUBLIC = 1, /* host's network under the owner rules */
};

enum wire_profile {
    WIRE_PROFILE_RUN = 0,
    WIRE_PROFILE_LOGIN = 1,
};

/*
 * What a receipt reports of control groups, the stronger the higher. V2_LITE: a version 2 tree that
 * limits nothing, for what only version 2 has (born in the group, the kill at one stroke, the path
 * that network rules match), beside version 1 trees, which limit.
 */
enum wire_cgroup_mode {
    WIRE_CGROUP_NONE = 0, /* rlimits only */
    WIRE_CGROUP_V1 = 1,
    WIRE_CGROUP_V2_LITE = 2,
    WIRE_CGROUP_V2 = 3,
};

/* What holds a user to the limits of the disk. */
enum wire_disk {
    WIRE_DISK_NONE = 0,  /* nothing: the whole file system is there to be filled */
    WIRE_DISK_QUOTA = 1, /* the file system's user quota */
    WIRE_DISK_IMAGE = 2, /* the home is a file system of its own, in one file */
    WIRE_DISK__COUNT,
};

/* What is limited where the host can. One table: enum, key in the API and in the policy. */
#define WIRE_LIMITS(X)                                                                             \
    X(MEMORY, "memory")                                                                            \
    X(PIDS, "pids")                                                                                \
    X(CPU, "cpu")

enum wire_limit_bit {
#define WIRE_LIMIT_BIT(id, key) WIRE_LIMIT_BIT_##id,
    WIRE_LIMITS(WIRE_LIMIT_BIT)
#undef WIRE_LIMIT_BIT
        WIRE_LIMIT__COUNT,
};

/* The same as bits of a number. */
enum wire_limit {
#define WIRE_LIMIT_ENUM(id, key) WIRE_LIMIT_##id = 1 << WIRE_LIMIT_BIT_##id,
    WIRE_LIMITS(WIRE_LIMIT_ENUM)
#undef WIRE_LIMIT_ENUM
        WIRE_LIMIT_ALL = (1 << WIRE_LIMIT__COUNT) - 1,
};

struct wire_group {
    uint32_t gid;
    char name[NAME_SIZE];
};

/* Descriptors of RUN_START, in this order, all four always there. */
enum wire_run_fd {
    WIRE_RUN_FD_PAYLOAD = 0, /* sealed memfd, common/payload.h */
    WIRE_RUN_FD_STDIN = 1,   /* sealed memfd, may be empty */
    WIRE_RUN_FD_STDOUT = 2,  /* write end of a pipe */
    WIRE_RUN_FD_STDERR = 3,  /* write end of a pipe */
    WIRE_RUN_FD_COUNT = 4,
};

struct wire_run_start {
    struct wire_head head;
    uint32_t uid;         /* ID_ALLOC_MIN..ID_ALLOC_MAX */
    uint32_t gid;         /* likewise */
    uint32_t profile;     /* enum wire_profile */
    uint32_t net;         /* enum wire_net */
    uint32_t cgroup_mode; /* enum wire_cgroup_mode: the least that must be enforced */
    uint32_t wall_ms;     /* 1..WIRE_WALL_MS_MAX */
    uint32_t cpu_ms;      /* 0: what the policy says; else up to WIRE_WALL_MS_MAX */
    uint32_t group_count; /* supplementary groups, without gid */
    struct wire_group groups[WIRE_GROUPS_MAX];
    char name[NAME_SIZE]; /* user name; its private group has the same name and gid */
    char run_id[36];      /* 32 lower-case hex digits and NULs: the leaf's and the host's name */
    uint32_t limits_required; /* bits of enum wire_limit: refused if no control group keeps one */
};

#define WIRE_WALL_MS_MAX 3600000u

struct wire_run_kill {
    struct wire_head head;
};

/* Namespaces in the order of the receipt. */
enum wire_ns {
    WIRE_NS_MNT,
    WIRE_NS_PID,
    WIRE_NS_IPC,
    WIRE_NS_UTS,
    WIRE_NS_NET,
    WIRE_NS_CGROUP,
    WIRE_NS_USER,
    WIRE_NS__COUNT,
};

/* Limits of a receipt: field, name in /proc/PID/limits, resource. */
#define WIRE_RLIMITS(X)                                                                            \
    X(nproc, "Max processes", RLIMIT_NPROC)                                                        \
    X(nofile, "Max open files", RLIMIT_NOFILE)                                                     \
    X(fsize, "Max file size", RLIMIT_FSIZE)                                                        \
    X(core, "Max core file size", RLIMIT_CORE)                                                     \
    X(memlock, "Max locked memory", RLIMIT_MEMLOCK)                                                \
    X(msgqueue, "Max msgqueue size", RLIMIT_MSGQUEUE)                                              \
    X(rtprio, "Max realtime priority", RLIMIT_RTPRIO)                                              \
    X(nice, "Max nice priority", RLIMIT_NICE)                                                      \
    X(cpu, "Max cpu time", RLIMIT_CPU)

/* How it is known which filter a process has. */
#define WIRE_FILTER_HOWS(X)                                                                        \
    X(UNKNOWN, "unknown") /* a session of an earlier sessiond */                                   \
    X(KERNEL, "kernel")   /* the kernel gave the program back, and it is ours, byte by byte */     \
    X(LOADED, "loaded")   /* one filter more than before; this is the one that was to be loaded.   \
                             This kernel, or what confines sessiond, gives no program back */

enum wire_filter_how {
#define WIRE_FILTER_ENUM(id, key) WIRE_FILTER_##id,
    WIRE_FILTER_HOWS(WIRE_FILTER_ENUM)
#undef WIRE_FILTER_ENUM
        WIRE_FILTER__COUNT,
};

#define WIRE_HASH_SIZE 32u /* SHA-256 */

#define WIRE_SKILLS_MAX 8u

/*
 * What the kernel said of the payload while it stood between filter load and exec. Every field is
 * read from /proc/PID, none is copied from the request.
 */
struct wire_receipt {
    uint32_t pid;    /* on the host */
    uint32_t uid[4]; /* real, effective, saved, file system (proc(5), status) */
    uint32_t gid[4];
    uint32_t group_count;
    uint32_t groups[WIRE_GROUPS_MAX];
    uint64_t cap_inh, cap_prm, cap_eff, cap_bnd, cap_amb;
    uint32_t no_new_privs;
    uint32_t seccomp;         /* mode: 2 is a filter */
    uint32_t seccomp_filters; /* how many are loaded */
    uint64_t ns_inode[WIRE_NS__COUNT];
    uint32_t ns_own; /* bit n: namespace n is not the host's */
    uint32_t cgroup_mode;
    uint64_t cgroup_memory_max; /* bytes, 0: not limited by a cgroup */
    uint64_t cgroup_pids_max;   /* 0: not limited by a cgroup */
    char cgroup_leaf[WIRE_PATH_SIZE];
    uint64_t rlimit_nproc, rlimit_nofile, rlimit_fsize; /* hard; ~0 is unlimited */
    uint32_t mount_count;                               /* lines of mountinfo */
    uint32_t net_revision;  /* of the rules that the last canary round proved */
    uint32_t canary_age_ms; /* how long before this receipt that round ended */
    /* More of the leaf; at the end, because records of sessions grow here (session_store.c). */
    uint64_t cgroup_swap_max;      /* bytes; ~0: not limited by a cgroup */
    uint64_t cgroup_cpu_quota_us;  /* in each period; 0: not limited by a cgroup */
    uint64_t cgroup_cpu_period_us; /* 0 without a quota */
    uint64_t cgroup_oom_group;     /* 1: out of memory ends all of the leaf */
    uint64_t rlimit_core;          /* hard, or 0 if the soft one is; ~0 is unlimited */
    /* From here on: records of version 3. */
    /* Of the home on disk, of all runs and sessions of the user together. */
    uint64_t disk;       /* enum wire_disk */
    uint64_t disk_bytes; /* limits; 0: none */
    uint64_t disk_files;
    uint64_t rlimit_memlock, rlimit_msgqueue, rlimit_rtprio, rlimit_nice; /* hard */
    uint64_t rlimit_cpu; /* seconds; a hard limit one above the soft one counts as that one */
    uint64_t sig_ignored, sig_blocked; /* bit n: signal n + 1 */
    int32_t oom_score_adj;
    uint32_t umask;
    uint32_t mount_nosuid, mount_nodev; /* how many of mount_count have the flag */
    uint32_t mount_loose; /* how many lack nosuid, or, not being /dev or /dev/pts, nodev */
    uint32_t filter_how;  /* enum wire_filter_how */
    uint8_t filter_sha256[WIRE_HASH_SIZE]; /* of its instructions, struct sock_filter each */
    uint32_t net_group; /* 1: the rules match the group of its leaf, too, whatever the UID */
    /* NAME@HASH: what was opened by this name is what the process has there, by its inode. */
    uint32_t skill_count;
    char skills[WIRE_SKILLS_MAX][SKILL_SIZE];
    /* Of the group of the user; 0: no control group says. */
    uint64_t io_weight;
    uint64_t io_read; /* bytes a second */
    uint64_t io_write;
    uint64_t net_limit; /* connections that the user may have at a time; 0: nothing limits them */
};

#define WIRE_NOT_KNOWN UINT64_MAX

/* What a leaf came to over its whole life. WIRE_NOT_KNOWN: the kernel does not tell. */
struct wire_usage {
    uint64_t memory_peak_bytes;
    uint64_t cpu_us;
    uint64_t pids_peak;
    uint64_t oom_kills;    /* processes in it that the kernel killed for want of memory */
    uint64_t oom_own;      /* times that its own limit was the reason, and no other group's */
    uint64_t pids_refused; /* forks that failed at the limit */
};

/* Limits that sessiond itself keeps by looking, where no control group has them; 0: it does not. */
struct wire_watch {
    uint64_t memory_max; /* bytes */
    uint64_t pids_max;
};

struct wire_run_started {
    struct wire_head head;
    struct wire_receipt receipt;
    struct wire_watch watch;
};

/* One step of building a run, as RUN_FAILED names it: enum, key in the API, what was being done. */
#define WIRE_STEPS(X)                                                                              \
    X(REQUEST, "request", "check the request")                                                     \
    X(BUSY, "busy", "find room for another run")                                                   \
    X(CANARY, "canary", "prove that the network rules hold")                                       \
    X(DISK, "disk", "hold the user to the limits of the disk")                                     \
    X(HOME, "home", "open the home")                                                               \
    X(CGROUP, "cgroup", "make the control group")                                                  \
    X(SPAWN, "spawn", "ask the spawner")                                                           \
    X(CLONE, "clone", "make the namespaces")                                                       \
    X(INIT, "init", "bind the init to its parent")                                                 \
    X(MOUNT, "mount", "build the file tree")                                                       \
    X(HOSTNAME, "hostname", "set the host name")                                                   \
    X(STDIO, "stdio", "connect standard input and output")                                         \
    X(RLIMIT, "rlimit", "set the resource limits")                                                 \
    X(GROUPS, "groups", "set the groups")                                                          \
    X(IDS, "ids", "become the user")                                                               \
    X(CAPS, "caps", "give up the capabilities")                                                    \
    X(NNP, "no_new_privs", "set no_new_privs")                                                     \
    X(PAYLOAD, "payload", "read the program from its memfd")                                       \
    X(FILTER, "filter", "load the system call filter")                                             \
    X(RECEIPT, "receipt", "read the receipt from the kernel")                                      \
    X(VERIFY, "verify", "compare the receipt with the plan")                                       \
    X(EXEC, "exec", "start the program")                                                           \
    X(ASK, "ask", "ask the api about the login")                                                   \
    X(LEASE, "lease", "bind the session to the login's process")

enum wire_step {
#define WIRE_STEP_ENUM(id, key, text) WIRE_STEP_##id,
    WIRE_STEPS(WIRE_STEP_ENUM)
#undef WIRE_STEP_ENUM
        WIRE_STEP__COUNT,
};

/* Nothing of the program ran. error is a positive errno, or 0 if there is none. */
struct wire_run_failed {
    struct wire_head head;
    uint32_t step; /* enum wire_step */
    uint32_t error;
    char what[WIRE_PATH_SIZE]; /* path, field or address it is about; ASCII; may be empty */
};

enum wire_end {
    WIRE_END_EXIT = 0,    /* value: exit code */
    WIRE_END_SIGNAL = 1,  /* value: signal number */
    WIRE_END_TIMEOUT = 2, /* wall time; killed by sessiond */
    WIRE_END_KILLED = 3,  /* RUN_KILL */
    WIRE_END_NO_EXEC = 4, /* execve failed; value: errno; the run's program never started */
    WIRE_END_LOST = 5,    /* the init died without a word: killed from outside */
    WIRE_END_UNSAFE = 6,  /* killed by sessiond: the network rules stopped to hold */
    WIRE_END_CPU = 7,     /* processor time of all of it; killed by sessiond */
    WIRE_END_MEMORY =
        8,             /* killed by sessiond for the memory that it had; usage tells whose limit */
    WIRE_END_PIDS = 9, /* killed by sessiond: more processes than it may have */
    WIRE_END__COUNT,
};

#define WIRE_FULL_WORK (1u << 31)

/* The init is reaped: no process of the run is left. */
struct wire_run_ended {
    struct wire_head head;
    uint32_t end; /* enum wire_end */
    uint32_t value;
    uint32_t cpu_is_used; /* 1: of EXIT and SIGNAL: its processor time was used up, all the same */
    /* Bit n: file system n of PLAN_PLACES was full at a program's failure; WIRE_FULL_WORK: there
     * was no room for the user in ~/work, by the limits or by the disk itself. */
    uint32_t full_places;
    uint64_t wall_us;
    uint64_t cpu_user_us; /* of the whole tree as far as it was reaped: getrusage(2) of the init */
    uint64_t cpu_sys_us;
    uint64_t rss_peak_kib; /* of the largest process */
    struct wire_usage usage;
};

enum wire_canary {
    WIRE_CANARY_UNKNOWN = 0, /* no round yet */
    WIRE_CANARY_HOLDS = 1,
    WIRE_CANARY_LEAK = 2,      /* the probe reached an address it must not reach */
    WIRE_CANARY_NO_PROBE = 3,  /* the probe failed or did not answer */
    WIRE_CANARY_NO_TARGET = 4, /* root could not reach the listener either: nothing is proven */
};

/* What the canary came to since sessiond began. Times are microseconds. */
struct wire_canary_cost {
    uint64_t rounds;    /* that ended, with whatever verdict */
    uint64_t asked;     /* for a verdict: runs, logins, and the look at those that live */
    uint64_t asked_new; /* of those, how many had to wait for a round */
    uint64_t wall_last_us, wall_us;
    /* Of the probe, of the listener, and of sessiond itself. A part that is gone keeps its time. */
    uint64_t cpu_probe_us, cpu_listener_us, cpu_own_us;
    uint64_t cpu_last_us; /* of all three, in the last round */
};

struct wire_status {
    struct wire_head head;
    uint32_t canary; /* enum wire_canary */
    uint32_t canary_age_ms;
    char canary_what[WIRE_PATH_SIZE]; /* address that leaked or could not be reached */
    uint32_t net_revision;
    uint32_t cgroup_mode;
    uint32_t runs;
    uint32_t sessions;
    uint32_t landlock_abi;  /* of the kernel; 0: none. Below 6 abstract sockets are shared */
    uint32_t disk;          /* enum wire_disk */
    uint32_t disk_required; /* 1: nothing starts for somebody whom nothing holds to the limits */
    char disk_what[WIRE_PATH_SIZE]; /* why it is not another one; ASCII, may be empty */
    uint32_t net_connections;       /* the most that one user may have; 0: nobody is held to it */
    uint32_t limits_grouped;        /* bits of enum wire_limit: control groups limit it */
    uint32_t limits_watched;        /* likewise: sessiond looks, and ends what is over */
    struct wire_canary_cost canary_cost;
    uint32_t net_group; /* 1: the rules match by control group, too */
    uint32_t names; /* that the policy lets through; those without an answer at the last look-up */
    uint32_t names_failed;
    uint32_t names_refused; /* that have an address that is refused */
};

/* --- sessions ------------------------------------------------------------------------------ */

/* A login stands in open_session. All text is printable ASCII and ends with a NUL. */
struct wire_session_ask {
    struct wire_head head;
    uint32_t uid;
    uint32_t holder_pid; /* the login's process, on the host */
    char service[WIRE_SERVICE_SIZE];
    char tty[WIRE_TTY_SIZE];
    char rhost[WIRE_RHOST_SIZE];
};

enum wire_session_verdict {
    WIRE_SESSION_DENY = 0,
    WIRE_SESSION_ALLOW = 1,
};

/* On DENY everything after verdict is 0. */
struct wire_session_answer {
    struct wire_head head;
    uint32_t verdict; /* enum wire_session_verdict */
    uint32_t uid;     /* as asked */
    uint32_t gid;
    uint32_t profile;     /* WIRE_PROFILE_LOGIN */
    uint32_t cgroup_mode; /* enum wire_cgroup_mode: the least that must be enforced */
    uint32_t group_count;
    struct wire_group groups[WIRE_GROUPS_MAX];
    char name[NAME_SIZE];
    char session_id[WIRE_SESSION_ID_SIZE]; /* fresh, random */
    char shell[WIRE_PATH_SIZE]; /* "": the default; else an absolute path for a passwd line */
};

/* Answer to ALLOW: the login goes on, confined. Or, with tag 0: it lives still. */
struct wire_session_started {
    struct wire_head head;
    uint32_t uid;
    uint32_t holder_pid;
    uint32_t init_pid;
    uint32_t is_scoped; /* abstract AF_UNIX names outside are out of reach (Landlock) */
    int64_t started_us; /* Unix microseconds */
    char session_id[WIRE_SESSION_ID_SIZE];
    char service[WIRE_SERVICE_SIZE];
    char line[WIRE_TTY_SIZE]; /* ut_line of its utmp record */
    char rhost[WIRE_RHOST_SIZE];
    struct wire_receipt receipt; /* of the login's process, after it joined */
    struct wire_watch watch;
};

/* Answer to ALLOW: there is no session. */
struct wire_session_failed {
    struct wire_head head;
    uint32_t uid;
    uint32_t step; /* enum wire_step */
    uint32_t error;
    char session_id[WIRE_SESSION_ID_SIZE];
    char what[WIRE_PATH_SIZE];
};

/* One table: enum, key in audit and API. */
#define WIRE_SESSION_ENDS(X)                                                                       \
    X(CLOSED, "closed") /* by close_session */                                                     \
    X(LEFT, "left")     /* the login's process is gone */                                          \
    X(KILLED, "killed") /* SESSION_KILL or USER_KILL */                                            \
    X(UNSAFE, "unsafe") /* the network rules stopped to hold */                                    \
    X(LOST, "lost")     /* its init died, killed from outside */

enum wire_session_end {
#define WIRE_SESSION_END_ENUM(id, key) WIRE_SESSION_END_##id,
    WIRE_SESSION_ENDS(WIRE_SESSION_END_ENUM)
#undef WIRE_SESSION_END_ENUM
        WIRE_SESSION_END__COUNT,
};

/* The init is reaped: no process of the session is left. */
struct wire_session_ended {
    struct wire_head head;
    uint32_t uid;
    uint32_t end; /* enum wire_session_end */
    int64_t ended_us;
    char session_id[WIRE_SESSION_ID_SIZE];
    struct wire_usage usage;
};

struct wire_session_kill {
    struct wire_head head;
    char session_id[WIRE_SESSION_ID_SIZE];
};

/* Every run and every session of this user, and the logins that stand in open_session. */
struct wire_user_kill {
    struct wire_head head;
    uint32_t uid;
};

#endif
