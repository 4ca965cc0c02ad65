/* SPDX-License-Identifier: ISC */
/*
 * prove.h - what the programs of tests/kernel share: a behaviour, its control, its verdict.
 *
 * A behaviour is a function. It runs as root in a process of its own, below a PID 1 of its own, in
 * mount, PID, network, IPC and UTS namespaces of its own; /tmp (the working directory) and /run are
 * an empty tmpfs. All that it starts dies with it, and nothing of it is seen outside: control
 * groups are the one thing that has to be removed, see prove_main().
 *
 * Lines: "ok PROGRAM.BEHAVIOUR", "not ok PROGRAM.BEHAVIOUR: WHY", "SKIP PROGRAM.BEHAVIOUR: REASON",
 * "fact NAME VALUE" for what may differ between kernels, and at the end "N passed, N failed,
 * N skipped". A behaviour that reached no CONTROL or no MUST has failed, whatever else it did.
 */
#ifndef ATELIER_PROVE_H
#define ATELIER_PROVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Of one row of doc/kernel.md. */
struct behaviour {
    const char *name;
    void (*prove)(void);
};

#define BEHAVIOUR(function)                                                                        \
    {                                                                                              \
#function, function                                                                        \
    }

/*
 * In a behaviour or any process that it forked: the first that fails is the verdict, and ends the
 * process. MUST is what the kernel is relied upon to do; CONTROL shows that the same act succeeds
 * without what is to prevent it; SETUP is what both need.
 */
#define MUST(claim)    prove_check(PROVE_MUST, (claim), #claim, __FILE__, __LINE__)
#define CONTROL(claim) prove_check(PROVE_CONTROL, (claim), #claim, __FILE__, __LINE__)
#define SETUP(claim)   prove_check(PROVE_SETUP, (claim), #claim, __FILE__, __LINE__)
#define NEED(claim, reason)                                                                        \
    do {                                                                                           \
        if (!(claim))                                                                              \
            prove_skip(reason);                                                                    \
    } while (0)

enum prove_kind { PROVE_SETUP, PROVE_CONTROL, PROVE_MUST };

void prove_check(enum prove_kind kind, bool holds, const char *claim, const char *file, int line);
_Noreturn void prove_skip(const char *reason);

/* Something of this kernel that may be otherwise on another one. */
void prove_fact(const char *name, const char *value);

/* Two users whom nobody else has: their number is made from the pid of the program. */
extern uid_t uid_a, uid_b;
/* The host is made for this test and thrown away after it (--disposable): its settings may change.
 */
extern bool host_is_disposable;
/* Of this program, as the machine sees it: for names that nobody else uses. */
extern pid_t program_pid;

/**
 * prove_main() - Carry out the behaviours that are named, or all
 * @clean: NULL, or removes what this program leaves outside of namespaces. Called after each
 *         behaviour, and when this process has been killed
 *
 * Return: the exit code.
 */
int prove_main(int argc, char **argv, const char *program, const struct behaviour *list,
               size_t count, void (*clean)(void));

/* --- processes ------------------------------------------------------------------------------ */

/* Fork @function. It ends with 0 if it returns. */
pid_t child_start(void (*function)(void *arg), void *arg);
/* Wait. Return: its exit code, or 128 and the number of its signal. */
int child_end(pid_t pid);
/* Both. */
int child_run(void (*function)(void *arg), void *arg);
/* Give up root for a user and their group, for good; no supplementary groups. */
void become(uid_t uid);
/* Words, without quoting, as a program. Return: its exit code; its output is lost. */
int tool(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* pidfd_open(2). */
int pidfd_of(pid_t pid);

/* Acts of a copy of this program: argv[1], and what they exit with. */
#define ACT_IDS     "--act-ids"     /* 10 if it is root's by euid, 20 if by egid, 30 both, else 0 */
#define ACT_CAPS    "--act-caps"    /* 10 if it has an effective capability, else 0 */
#define ACT_CONNECT "--act-connect" /* PORT: 0 if 127.0.0.1 answers there, else the errno */
#define ACT_NOTHING "--act-nothing" /* 0 */
#define ACT_SPIN    "--act-spin"    /* 0, when it has used so much processor time: */
#define ACT_SPIN_US 300000u

/* This program as @path, with owner and mode. */
void self_copy(const char *path, uid_t uid, gid_t gid, mode_t mode);
/* As @uid: execute @path with an act. Return: as child_end(). */
int act_as(uid_t uid, bool no_new_privs, const char *path, const char *act, const char *arg);

/* --- small things --------------------------------------------------------------------------- */

void pause_ms(unsigned ms);
/* Is there something to read, or an end of file, within this time? */
bool is_readable(int fd, int ms);
/* A file's text. Return: false if it cannot be read. */
bool file_read(const char *path, char *ret_text, size_t size);
/* Write to a file, which is made if need be. Return: 0 or the errno. */
int file_write(const char *path, const char *text);
/* The number behind "NAME:" in /proc/PID/status, in this base; -1 if it is not there. */
long status_number(pid_t pid, const char *name, int base);
/* Inode number of /proc/PID/ns/NAME; 0 if it cannot be read. */
ino_t ns_of(const char *pid, const char *name);
/* The loopback device of this network namespace. */
void lo_up(void);
/* A listener of the caller's on 127.0.0.1, or ::1. */
int listener(int family, int backlog, uint16_t *ret_port);
/* Connect a new socket of the caller's to the loopback address. Return: 0, errno; ETIMEDOUT when
 * there is no answer within @ms. */
int connect_to(int family, uint16_t port, int ms);
/* The same with a socket that is there. */
int connect_fd(int fd, int family, uint16_t port, int ms);

/* iptables of a family, in a back end that works in this network namespace; else the behaviour is
 * skipped. */
const char *tables_of(int family);
/* A rule at the end of OUTPUT; the words behind -A OUTPUT. */
bool rule_add(int family, const char *words);

#endif
