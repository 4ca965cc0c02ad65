/* SPDX-License-Identifier: ISC */
/* facts.h - what several checks need to know of the host, asked once. */
#ifndef ATELIER_CTL_DOCTOR_FACTS_H
#define ATELIER_CTL_DOCTOR_FACTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "ctl/doctor/report.h"

struct doctor_facts;

/* Nothing is asked yet. Out of memory ends the program. */
struct doctor_facts *facts_new(void);
void facts_free(struct doctor_facts *facts);

/* Our daemons: what they are called, and the program of each. */
#define FACTS_DAEMONS(X)                                                                           \
    X(SESSIOND, "sessiond", ATELIER_PROGRAMS_DIR "/sessiond")                                      \
    X(API, "sessiond-api", ATELIER_PROGRAMS_DIR "/sessiond-api")                                   \
    X(SSHD, "atelier-sshd", "/usr/sbin/sshd")                                                      \
    X(HOLDER, "atelier-holder", ATELIER_PROGRAMS_DIR "/atelier-holder")

enum facts_daemon {
#define FACTS_DAEMON_ENUM(id, name, program) FACTS_##id,
    FACTS_DAEMONS(FACTS_DAEMON_ENUM)
#undef FACTS_DAEMON_ENUM
        FACTS_DAEMON_COUNT,
};

struct facts_process {
    pid_t pid;       /* 0: it does not run */
    bool is_removed; /* its program is no longer the one at its path */
};

/* "sessiond" and so on. Static. */
const char *facts_daemon_name(enum facts_daemon which);

/**
 * facts_daemon() - The main process of a daemon, found by the program that it is
 *
 * Whether systemd started it or somebody else. Children of its own program are not meant.
 *
 * Return: 0 (also if it does not run), or a negative errno: /proc cannot be looked at.
 */
int facts_daemon(struct doctor *d, enum facts_daemon which, struct facts_process *ret);

/**
 * facts_argument() - The values of an option that a daemon was started with
 * @option: "--resolver"; as "--resolver VALUE" or "--resolver=VALUE"
 * @short_: "-r", or NULL
 * @one:    Gets each value, borrowed
 *
 * Return: how many there are, or a negative errno.
 */
int facts_argument(pid_t pid, const char *option, const char *short_,
                   void (*one)(void *arg, const char *value), void *arg);

/**
 * facts_health() - GET /v1/healthz of sessiond-api
 * @ret_why: Why there is none; borrowed until facts_free()
 *
 * Return: borrowed object, whatever the service says of itself; NULL if there is no answer.
 */
const json_t *facts_health(struct doctor *d, const char **ret_why);

/* Likewise, if sessiond has answered it. NULL: that nobody says so was said (DOCTOR_UNKNOWN). */
const json_t *facts_sessiond(struct doctor *d, struct doctor_line *l);

/* A member of it: a string, "" if it is none. */
const char *facts_health_text(const json_t *health, const char *key);

/* The number that a file has, of /proc/sys say. Return: 0, -ENOENT, -EINVAL, or another errno. */
int facts_number(const char *path, uint32_t *ret);

/* Whether systemd is the init of this host. */
bool facts_has_systemd(void);

/* Whether the kernel speaks IPv6. */
bool facts_has_ipv6(void);

/* The kernel's Landlock version; 0 if it has none. Source: landlock_create_ruleset(2). */
int facts_landlock_abi(void);

/**
 * facts_participant() - Somebody whom NSS knows as a user of the registry
 * @ret_name: 32 bytes
 *
 * Return: 0, or -ENOENT: nobody has been made yet, or NSS lists nobody.
 */
int facts_participant(struct doctor *d, char ret_name[static 32]);

#endif
