/* SPDX-License-Identifier: ISC */
/* tty.c - terminals: who may type into one, and how a session gets or loses it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/kernel/prove.h"

#include "common/banned.h"

#define NEVER_MS 200
#define HIGH_BIT (1ul << 32)

static int master = -1;

/* A terminal of a devpts of our own; @flags beside O_RDWR. */
static int terminal_open(int flags)
{
    char path[32];
    int number = -1, zero = 0;

    if (master < 0) {
        SETUP(mkdir("pts", 0755) == 0);
        SETUP(mount("devpts", "pts", "devpts", 0, "newinstance,ptmxmode=0666,mode=0666") == 0);
        master = open("pts/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
        SETUP(master >= 0 && ioctl(master, TIOCSPTLCK, &zero) == 0);
    }
    SETUP(ioctl(master, TIOCGPTN, &number) == 0);
    (void)snprintf(path, sizeof(path), "/tmp/pts/%d", number);
    return open(path, O_RDWR | O_CLOEXEC | flags);
}

/* --- typing into a terminal ------------------------------------------------------------------ */

static int type_into(int fd, unsigned long high)
{
    char key = '\n';

    return syscall(SYS_ioctl, fd, TIOCSTI | high, &key) == 0 ? 0 : errno;
}

static void type_from_new_session(void *fd)
{
    SETUP(setsid() > 0);
    MUST(type_into(*(int *)fd, 0) == EPERM);
    MUST(type_into(*(int *)fd, HIGH_BIT) == EPERM);
}

static void type_as_user(void *fd)
{
    int err;

    become(uid_a);
    err = type_into(*(int *)fd, 0);
    NEED(err != EIO, "this host has TIOCSTI switched off");
    CONTROL(err == 0);
    CONTROL(type_into(*(int *)fd, HIGH_BIT) == 0); /* the kernel looks at 32 bits */
    CONTROL(is_readable(*(int *)fd, NEVER_MS));
    SETUP(child_run(type_from_new_session, fd) == 0);
}

static void at_a_terminal(void *arg)
{
    int fd;

    (void)arg;
    SETUP(setsid() > 0);
    fd = terminal_open(0);
    SETUP(fd >= 0 && child_run(type_as_user, &fd) == 0);
}

static void typing_into_a_terminal_ends_with_a_new_session(void)
{
    prove_fact("tiocsti_switch",
               access("/proc/sys/dev/tty/legacy_tiocsti", F_OK) == 0 ? "yes" : "no");
    SETUP(child_run(at_a_terminal, NULL) == 0);
}

/* --- the terminal of a session --------------------------------------------------------------- */

static bool has_terminal(void)
{
    int fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);

    if (fd >= 0)
        (void)close(fd);
    return fd >= 0;
}

static void leave(void *arg)
{
    (void)arg;
    CONTROL(has_terminal());
    SETUP(setsid() > 0);
    MUST(!has_terminal() && errno == ENXIO);
}

static void enter_and_leave(void *arg)
{
    (void)arg;
    SETUP(setsid() > 0 && terminal_open(0) >= 0);
    SETUP(child_run(leave, NULL) == 0);
}

static void a_new_session_has_no_terminal(void)
{
    SETUP(child_run(enter_and_leave, NULL) == 0);
}

static void open_as_leader(void *flags)
{
    SETUP(setsid() > 0 && terminal_open(*(int *)flags) >= 0);
    _exit(has_terminal() ? 10 : 0);
}

static void noctty_keeps_a_leader_from_getting_one(void)
{
    int none = 0, noctty = O_NOCTTY;

    SETUP(terminal_open(O_NOCTTY) >= 0);
    CONTROL(child_run(open_as_leader, &none) == 10);
    MUST(child_run(open_as_leader, &noctty) == 0);
}

static const struct behaviour behaviours[] = {
    BEHAVIOUR(typing_into_a_terminal_ends_with_a_new_session),
    BEHAVIOUR(a_new_session_has_no_terminal),
    BEHAVIOUR(noctty_keeps_a_leader_from_getting_one),
};

int main(int argc, char **argv)
{
    return prove_main(argc, argv, "tty", behaviours, sizeof(behaviours) / sizeof(behaviours[0]),
                      NULL);
}
