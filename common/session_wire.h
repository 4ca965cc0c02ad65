/* SPDX-License-Identifier: ISC */
/*
 * session_wire.h - what a login's process (pam_atelier, root) and sessiond say on session.sock.
 * `atelier doctor` comes by the same door: see the end of this file.
 *
 * AF_UNIX SOCK_SEQPACKET, peer UID 0 only: one message is one struct, as on core.sock.
 *
 *   login        sessiond
 *   OPEN         OPENED + pidfd of the session's init [+ Landlock ruleset], or DENIED
 *   LEASE        LEASED, or DENIED
 *   CLOSE        (nothing: the connection is closed)
 *
 * OPENED means that the namespaces stand and wait. The login joins them, confines itself, closes
 * every descriptor but the connection, and says LEASE. sessiond then reads /proc of the peer, and
 * only if the kernel says what the plan says is the session real: LEASED. A session that is not
 * leased within SESSION_LEASE_MS ends.
 *
 * After LEASED the connection is held open as long as the login lives; it carries nothing any more
 * but CLOSE. The participant's own part of sshd has a copy of it: all that it can do with it is to
 * end its own session. The end of the peer's process, seen by pidfd, ends the session too.
 */
#ifndef ATELIER_SESSION_WIRE_H
#define ATELIER_SESSION_WIRE_H

#include <stdint.h>

#include "common/str.h"
#include "common/wire.h"

#define SESSION_WIRE_VERSION 1u
#define SESSION_SOCKET_PATH  ATELIER_RUN_DIR "/session.sock"
#define SESSION_FILTER_MAX   2048u /* instructions; BPF_MAXINSNS is 4096 */
#define SESSION_RLIMITS_MAX  16u
#define SESSION_OPEN_MS      8000 /* the login waits this long for OPENED, and for LEASED */
#define SESSION_LEASE_MS     5000

enum session_type {
    SESSION_OPEN = 1,
    SESSION_LEASE,
    SESSION_CLOSE,
    SESSION_DOCTOR,
    SESSION_PROBE,

    SESSION_OPENED = 64,
    SESSION_LEASED,
    SESSION_DENIED,
    SESSION_DOCTOR_BEGUN,
    SESSION_PROBE_STARTED,
    SESSION_PROBE_ENDED,
};

/* First part of every message; LEASED, CLOSE, DENIED and DOCTOR are a head alone. */
struct session_head {
    uint32_t version;    /* SESSION_WIRE_VERSION */
    uint32_t type;       /* enum session_type */
    uint32_t size_bytes; /* of the whole struct that this heads */
    uint32_t reserved;   /* 0; PROBE_*: the tag of the probe; DENIED: enum session_denied */
};

/* What a login is told of a denial. Which limit it is, and of whom, is in the logs alone. */
enum session_denied {
    SESSION_DENIED_ANY = 0,
    SESSION_DENIED_LIMIT, /* one is required that this host cannot keep */
};

struct session_open {
    struct session_head head;
    uint32_t uid; /* of PAM_USER, by NSS */
    uint32_t reserved;
    char service[WIRE_SERVICE_SIZE]; /* PAM items; "" if not set; what is not ASCII is '?' */
    char tty[WIRE_TTY_SIZE];
    char rhost[WIRE_RHOST_SIZE];
};

struct session_rlimit {
    int32_t resource;  /* RLIMIT_* */
    uint32_t is_exact; /* 1: raised, too */
    uint64_t value;    /* soft and hard; unless exact, a lower limit that is there already stays */
};

enum session_opened_fd {
    SESSION_FD_INIT = 0,     /* pidfd of the session's PID 1 */
    SESSION_FD_LANDLOCK = 1, /* ruleset; only if has_landlock */
};

struct session_opened {
    struct session_head head;
    uint32_t setns_flags; /* CLONE_NEW* to join, all by one setns(2) on the pidfd */
    uint32_t has_landlock;
    uint32_t rlimit_count;
    uint32_t filter_count;
    struct session_rlimit rlimits[SESSION_RLIMITS_MAX];
    char session_id[WIRE_SESSION_ID_SIZE];
    /* Without the leading NUL: abstract name of a listener outside. With Landlock a connect(2) to
     * it must be EPERM after landlock_restrict_self(2), and must have worked before. */
    char probe_name[32];
    /* struct sock_filter of linux/filter.h, filter_count of them; loaded last. */
    struct session_insn {
        uint16_t code;
        uint8_t jt;
        uint8_t jf;
        uint32_t k;
    } filter[SESSION_FILTER_MAX];
};

/* "I have joined": the last word before the login goes on. */
struct session_lease {
    struct session_head head;
    uint32_t is_scoped; /* the probe was refused after the ruleset, and worked before */
    uint32_t reserved;
};

/*
 * The doctor attacks this host as a throw-away participant: uids of ids.h that are in no registry,
 * the path of every run and login, and one program.
 *
 *   doctor               sessiond
 *   DOCTOR               DOCTOR_BEGUN, or DENIED: another doctor is at work
 *   PROBE + pipe         PROBE_STARTED, then PROBE_ENDED; or PROBE_ENDED alone
 *
 * From DOCTOR_BEGUN on, and as long as this connection lives, OPEN of such a uid is answered
 * without asking the api; such a session has no record anywhere. With the connection, or the
 * process that made it, everything ends that came of it.
 */
#define SESSION_PROBES_MAX      8u /* at a time */
#define SESSION_PROBE_WORDS_MAX 160u
#define SESSION_PROBE_TEXT_SIZE 8192u
#define SESSION_PROBE_WALL_MS   20000u

/* What policy/plan.h says of a run or a login of these uids, for comparison. */
struct session_probe_plan {
    char profile[NAME_SIZE];
    uint32_t wall_ms;
    uint32_t reserved;
    uint64_t memory_max_bytes; /* of the control group */
    uint64_t pids_max;
    uint64_t cpu_quota_us, cpu_period_us;
    uint64_t nofile, fsize_bytes; /* rlimits */
    uint64_t tmp_bytes, var_tmp_bytes, shm_bytes, home_bytes;
    uint64_t tmp_inodes;
};

struct session_doctor_begun {
    struct session_head head;
    struct wire_status status; /* its own head is 0 */
    struct session_probe_plan run, login;
};

/* One descriptor: the write end of a pipe, for standard output and error. */
struct session_probe {
    struct session_head head;
    uint32_t uid;     /* ID_DOCTOR_MIN..ID_DOCTOR_MAX */
    uint32_t net;     /* enum wire_net */
    uint32_t wall_ms; /* 1..SESSION_PROBE_WALL_MS; at most what the profile allows */
    uint32_t word_count;
    char words[SESSION_PROBE_TEXT_SIZE]; /* printable ASCII, each with its NUL, and NULs after
                                          * them: the arguments of the program */
};

struct session_probe_started {
    struct session_head head;
    struct wire_receipt receipt;
};

/* Nothing of it is left. */
struct session_probe_ended {
    struct session_head head;
    uint32_t has_failed; /* 1: it never started; failed counts. 0: ended counts */
    uint32_t reserved;
    struct wire_run_failed failed; /* their own heads are 0 */
    struct wire_run_ended ended;
};

#endif
