/* SPDX-License-Identifier: ISC */
/*
 * cage.c - a login that got no session must not become anything else.
 *
 * Open stays what sshd needs to say its sentence and to log: forks, pipes, AF_UNIX. A terminal
 * would be one of the host's, so the question for its number is refused, and with it openpty(3).
 * Source: seccomp(2), ioctl_tty(2), proven by test_pam_join and test_login_outages.py.
 */
#include "pam_module/cage.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/banned.h"

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define IF(value, yes, no)                                                                         \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(value), (uint8_t)(yes), (uint8_t)(no))
#define ANSWER(value) BPF_STMT(BPF_RET | BPF_K, (uint32_t)(value))

/* The low halves of the arguments, on a little-endian machine; the kernel looks at no more. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "args[n] begins with the low half");

/* Jumps are counted from the next line; all lead to the three answers. */
static struct sock_filter cage[] = {
    LOAD(nr),
    IF(SYS_execve, 14, 0),
    IF(SYS_execveat, 13, 0),
    IF(SYS_bind, 12, 0),
    IF(SYS_listen, 11, 0),
    IF(SYS_ptrace, 10, 0),
    IF(SYS_setns, 9, 0),
    IF(SYS_unshare, 8, 0),
    IF(SYS_bpf, 7, 0),
    IF(SYS_io_uring_setup, 6, 0),
    IF(SYS_socket, 1, 0),
    IF(SYS_ioctl, 2, 5),
    LOAD(args[0]),
    IF(AF_UNIX, 3, 4),
    LOAD(args[1]),
    IF(TIOCGPTN, 0, 1),
    ANSWER(SECCOMP_RET_ERRNO | EPERM),
    ANSWER(SECCOMP_RET_ALLOW),
    /* As on a kernel without it: libpam takes anything else for a failure of its audit. */
    ANSWER(SECCOMP_RET_ERRNO | EAFNOSUPPORT),
};

void cage_enter(void)
{
    struct sock_fprog prog = {.len = sizeof(cage) / sizeof(cage[0]), .filter = cage};

    (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    (void)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0u, &prog);
}
