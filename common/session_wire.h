/* SPDX-License-Identifier: ISC */
/*
 * session_wire.h - what a login's process (pam_atelier, root) and sessiond say on session.sock.
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

    SESSION_OPENED = 64,
    SESSION_LEASED,
    SESSION_DENIED,
};

/* First part of every message; LEASED, CLOSE and DENIED are a head alone. */
struct session_head {
    uint32_t version;    /* SESSION_WIRE_VERSION */
    uint32_t type;       /* enum session_type */
    uint32_t size_bytes; /* of the whole struct that this heads */
    uint32_t reserved;   /* 0 */
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

#endif
