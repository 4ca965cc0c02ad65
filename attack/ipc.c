/* SPDX-License-Identifier: ISC */
/* ipc.c - attacks on what processes share without a network: memory, queues, sockets, terminals. */
#include "attack/attack.h"

#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/banned.h"

#define PTYS_MAX 4096

int attack_shm(const char *name, int argc, char *argv[])
{
    for (int i = 0; i < argc; i++) {
        key_t key = (key_t)number(argv[i], 0x7fffffff, 0);
        char target[48];

        (void)snprintf(target, sizeof(target), "memory/%s", argv[i]);
        say(name, target, shmget(key, 0, 0) < 0 ? -errno : 0);
        (void)snprintf(target, sizeof(target), "semaphores/%s", argv[i]);
        say(name, target, semget(key, 0, 0) < 0 ? -errno : 0);
        (void)snprintf(target, sizeof(target), "queue/%s", argv[i]);
        say(name, target, msgget(key, 0) < 0 ? -errno : 0);
    }
    return 0;
}

int attack_mqueue(const char *name, int argc, char *argv[])
{
    for (int i = 0; i < argc; i++) {
        mqd_t queue = mq_open(argv[i], O_RDONLY);

        say(name, argv[i], queue == (mqd_t)-1 ? -errno : 0);
        if (queue != (mqd_t)-1)
            (void)mq_close(queue);
    }
    return 0;
}

/* @skip: 1 for a name without a path. Return: 0 or a negative errno. */
static int unix_connect(const char *word, size_t skip, int type)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    size_t len = strlen(word);
    int fd, r;

    if (skip + len >= sizeof(addr.sun_path))
        return -ENAMETOOLONG;
    memcpy(addr.sun_path + skip, word, len);
    fd = socket(AF_UNIX, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    r = connect(fd, (const struct sockaddr *)&addr,
                (socklen_t)(offsetof(struct sockaddr_un, sun_path) + skip + len));
    r = r < 0 ? -errno : 0;
    (void)close(fd);
    return r;
}

/* Names of other kinds of sockets are other names: whoever is of another kind is there as well. */
static int unix_connect_any(const char *word, size_t skip)
{
    int r = unix_connect(word, skip, SOCK_STREAM);

    if (r == -EPROTOTYPE || r == -ECONNREFUSED)
        r = unix_connect(word, skip, SOCK_SEQPACKET);
    if (r == -EPROTOTYPE || r == -ECONNREFUSED)
        r = unix_connect(word, skip, SOCK_DGRAM);
    return r;
}

int attack_abstract(const char *name, int argc, char *argv[])
{
    for (int i = 0; i < argc; i++)
        say(name, argv[i], unix_connect_any(argv[i], 1));
    return 0;
}

int attack_connect(const char *name, int argc, char *argv[])
{
    for (int i = 0; i < argc; i++)
        say(name, argv[i], unix_connect_any(argv[i], 0));
    return 0;
}

int attack_ptys(const char *name, int argc, char *argv[])
{
    long wanted = argc > 0 ? number(argv[0], PTYS_MAX, 64) : 64, got = 0;
    int fd = 0;

    while (got < wanted && (fd = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)) >= 0)
        got++;
    if (got == wanted)
        say_reached(name, "all", "%ld", got);
    else
        say_refused(name, "all", errno, "after %ld", got);
    return 0;
}

/* Of what is a terminal: standard input, the controlling one, one of our own. */
int attack_type(const char *name, int argc, char *argv[])
{
    int tty = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);

    (void)argc;
    (void)argv;
    if (tty < 0)
        say_refused(name, "tty", errno, "%s", "");
    else
        say(name, "tty", ioctl(tty, TIOCSTI, "") < 0 ? -errno : 0);
    say(name, "stdin", syscall(SYS_ioctl, 0, (unsigned long)TIOCSTI, "") < 0 ? -errno : 0);
    say(name, "high-half",
        syscall(SYS_ioctl, 0, (unsigned long)TIOCSTI | 1ul << 32, "") < 0 ? -errno : 0);
    return 0;
}
