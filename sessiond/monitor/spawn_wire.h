/* SPDX-License-Identifier: ISC */
/*
 * spawn_wire.h - messages inside sessiond: monitor to spawner, and a run's processes to monitor.
 *
 * The monitor sends one struct spawn_request over the spawner's socket. Everything after that goes
 * over the run's own socket pair, whose far end the spawner, the init and the payload hold in
 * turn. The payload loses it at exec; when the init dies, the monitor sees its end. A session has
 * no payload: its init itself says READY, and closes its end after "go".
 */
#ifndef ATELIER_SPAWN_WIRE_H
#define ATELIER_SPAWN_WIRE_H

#include <stdint.h>

#include "common/fd.h"
#include "common/str.h"
#include "common/wire.h"
#include "policy/plan.h"

enum spawn_kind {
    SPAWN_RUN,
    SPAWN_SESSION,
    SPAWN_PROBE, /* the canary: same path, but a loop of ours instead of exec */
    SPAWN_PING,  /* nothing: the answer is that the spawner closes the descriptor that came along */
};

/* Descriptors of a run, in this order; a probe has the first alone. */
enum spawn_fd {
    SPAWN_FD_SOCKET, /* far end of the run's socket pair */
    SPAWN_FD_PAYLOAD,
    SPAWN_FD_STDIN,
    SPAWN_FD_STDOUT,
    SPAWN_FD_STDERR,
    SPAWN_FD_WORK, /* detached mount of the user's work directory */
    SPAWN_FD_COUNT,
};

/* And those of a session. */
enum spawn_session_fd {
    SPAWN_SESSION_FD_SOCKET,
    SPAWN_SESSION_FD_HOME,   /* detached mount of the user's home */
    SPAWN_SESSION_FD_HOLDER, /* pidfd of the login's process: its end is the session's end */
    SPAWN_SESSION_FD_COUNT,
};

/*
 * Behind those: what puts the init into its control groups, as cgroup_leaf_fds() gives it, of which
 * it has none any more when it begins; then trees and skills of the plan, as hosttree_open() gives
 * them.
 */
#define SPAWN_GROUPS_MAX 5u
_Static_assert(SPAWN_FD_COUNT + SPAWN_GROUPS_MAX + PLAN_MOUNTS_MAX <= FD_PASS_MAX, "all fit");

struct spawn_request {
    uint32_t kind;        /* enum spawn_kind */
    uint32_t cgroup_mode; /* enum wire_cgroup_mode */
    uint32_t cgroup_fds;  /* how many; 0 without control groups */
    uint32_t uid;
    uint32_t gid;
    uint32_t net; /* enum wire_net */
    uint32_t group_count;
    struct wire_group groups[WIRE_GROUPS_MAX];
    char name[NAME_SIZE];
    char shell[WIRE_PATH_SIZE]; /* of a session; "": PLAN_SESSION_SHELL */
    struct plan plan;           /* what it gets; plan_mount_count() of it come along */
};

enum report_kind {
    REPORT_SPAWNED, /* from the spawner, with the init's pidfd */
    REPORT_FAILED,  /* from whoever could not go on: step, error, what */
    REPORT_READY,   /* from the payload, filter loaded (session: from the init, all built); waits
                     * for one byte "go" */
    REPORT_NO_EXEC, /* from the payload: error */
    REPORT_EXITED,  /* from the init, last: status and usage */
};

struct report {
    uint32_t kind; /* enum report_kind */
    uint32_t step; /* enum wire_step */
    uint32_t error;
    int32_t status; /* of wait(2) */
    uint64_t cpu_user_us;
    uint64_t cpu_sys_us;
    uint64_t rss_peak_kib;
    uint64_t main_cpu_us; /* of the program's own process, as RLIMIT_CPU counts it */
    uint64_t full_places; /* as in struct wire_run_ended */
    int32_t pid;          /* of SPAWNED: the init, as the spawner and the monitor see it */
    char what[WIRE_PATH_SIZE];
};

/* One round of the canary's probe. */
#define PROBE_TARGETS_MAX 3u
#define PROBE_LIMIT_MS    300

struct probe_target {
    uint32_t family;  /* AF_INET or AF_INET6 */
    uint32_t port;    /* host order */
    uint8_t addr[16]; /* network order; the first four bytes for AF_INET */
};

struct probe_request {
    uint32_t round;
    uint32_t count;
    struct probe_target targets[PROBE_TARGETS_MAX];
};

struct probe_answer {
    uint32_t round;
    uint32_t count;
    uint32_t error[PROBE_TARGETS_MAX]; /* 0: connected, which is a leak; ETIMEDOUT: no answer */
};

#endif
