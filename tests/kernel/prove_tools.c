/* SPDX-License-Identifier: ISC */
/* prove_tools.c - what more than one of the programs of tests/kernel does. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/kernel/prove.h"

#include "common/banned.h"

#define WORDS_MAX 40

/* --- processes ------------------------------------------------------------------------------ */

pid_t child_start(void (*function)(void *arg), void *arg)
{
    pid_t pid = fork();

    SETUP(pid >= 0);
    if (pid == 0) {
        function(arg);
        _exit(0);
    }
    return pid;
}

int child_end(pid_t pid)
{
    int status;

    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return 255;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int child_run(void (*function)(void *arg), void *arg)
{
    return child_end(child_start(function, arg));
}

void become(uid_t uid)
{
    SETUP(setgroups(0, NULL) == 0);
    SETUP(setresgid(uid, uid, uid) == 0);
    SETUP(setresuid(uid, uid, uid) == 0);
}

int tool(const char *format, ...)
{
    char line[512], *argv[WORDS_MAX + 1] = {NULL}, *save = NULL, *word;
    char *envp[] = {(char[]){"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}, NULL};
    size_t n = 0;
    va_list args;
    pid_t pid;
    int rc;

    va_start(args, format);
    rc = vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    SETUP(rc > 0 && (size_t)rc < sizeof(line));
    for (word = strtok_r(line, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
        SETUP(n < WORDS_MAX);
        argv[n++] = word;
    }
    pid = fork();
    SETUP(pid >= 0);
    if (pid == 0) {
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);

        if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0)
            _exit(126);
        (void)execvpe(argv[0], argv, envp);
        _exit(127);
    }
    return child_end(pid);
}

int pidfd_of(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

/* --- acts ----------------------------------------------------------------------------------- */

void act_perform(int argc, char **argv);

/* Called first by prove_main(): a copy of the program that is to do one thing does it and ends. */
void act_perform(int argc, char **argv)
{
    const char *act = argc > 1 ? argv[1] : "";

    if (strcmp(act, ACT_IDS) == 0)
        _exit((geteuid() == 0 ? 10 : 0) + (getegid() == 0 ? 20 : 0));
    if (strcmp(act, ACT_CAPS) == 0)
        _exit(status_number(getpid(), "CapEff", 16) != 0 ? 10 : 0);
    if (strcmp(act, ACT_CONNECT) == 0 && argc > 2)
        _exit(connect_to(AF_INET, (uint16_t)strtoul(argv[2], NULL, 10), 1000));
    if (strcmp(act, ACT_NOTHING) == 0)
        _exit(0);
    if (strcmp(act, ACT_SPIN) == 0) {
        while (clock() < (clock_t)ACT_SPIN_US * (CLOCKS_PER_SEC / 1000000)) {
        }
        _exit(0);
    }
}

void self_copy(const char *path, uid_t uid, gid_t gid, mode_t mode)
{
    int in = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    int out = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
    ssize_t n;

    SETUP(in >= 0 && out >= 0);
    while ((n = sendfile(out, in, NULL, 1 << 20)) > 0)
        ;
    SETUP(n == 0);
    SETUP(fchown(out, uid, gid) == 0 && fchmod(out, mode) == 0);
    SETUP(close(out) == 0 && close(in) == 0);
}

int act_as(uid_t uid, bool no_new_privs, const char *path, const char *act, const char *arg)
{
    pid_t pid = fork();

    SETUP(pid >= 0);
    if (pid == 0) {
        become(uid);
        if (no_new_privs)
            SETUP(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
        (void)execl(path, path, act, arg, (char *)NULL);
        _exit(127);
    }
    return child_end(pid);
}

/* --- small things --------------------------------------------------------------------------- */

void pause_ms(unsigned ms)
{
    struct timespec left = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};

    while (nanosleep(&left, &left) < 0 && errno == EINTR)
        ;
}

bool is_readable(int fd, int ms)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};

    return poll(&p, 1, ms) == 1;
}

bool file_read(const char *path, char *ret_text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n;

    if (fd < 0)
        return false;
    n = read(fd, ret_text, size - 1);
    (void)close(fd);
    ret_text[n > 0 ? n : 0] = '\0';
    return n >= 0;
}

int file_write(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    int err = fd < 0 ? errno : 0;

    if (fd >= 0 && write(fd, text, strlen(text)) != (ssize_t)strlen(text))
        err = errno;
    if (fd >= 0 && close(fd) < 0 && err == 0)
        err = errno;
    return err;
}

long status_number(pid_t pid, const char *name, int base)
{
    char path[64], text[8192], label[32];
    const char *at;

    (void)snprintf(path, sizeof(path), "/proc/%d/status", pid);
    (void)snprintf(label, sizeof(label), "\n%s:", name);
    if (!file_read(path, text, sizeof(text)))
        return -1;
    at = strstr(text, label);
    return at ? (long)strtoull(at + strlen(label), NULL, base) : -1;
}

ino_t ns_of(const char *pid, const char *name)
{
    struct stat st;
    char path[64];

    (void)snprintf(path, sizeof(path), "/proc/%s/ns/%s", pid, name);
    return stat(path, &st) == 0 ? st.st_ino : 0;
}

/* --- loopback ------------------------------------------------------------------------------- */

void lo_up(void)
{
    struct ifreq lo = {.ifr_name = "lo", .ifr_flags = IFF_UP};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    SETUP(fd >= 0 && ioctl(fd, SIOCSIFFLAGS, &lo) == 0);
    (void)close(fd);
}

static socklen_t loopback(int family, uint16_t port, struct sockaddr_storage *ret_addr)
{
    memset(ret_addr, 0, sizeof(*ret_addr));
    if (family == AF_INET6) {
        struct sockaddr_in6 in6 = {
            .sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = in6addr_loopback};

        memcpy(ret_addr, &in6, sizeof(in6));
        return sizeof(in6);
    }
    struct sockaddr_in in = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    memcpy(ret_addr, &in, sizeof(in));
    return sizeof(in);
}

int listener(int family, int backlog, uint16_t *ret_port)
{
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_storage addr;
    socklen_t len = loopback(family, 0, &addr);
    in_port_t port;

    SETUP(fd >= 0 && bind(fd, (struct sockaddr *)&addr, len) == 0 && listen(fd, backlog) == 0);
    SETUP(getsockname(fd, (struct sockaddr *)&addr, &len) == 0);
    /* The port is at the same place in both. */
    memcpy(&port, (const char *)&addr + offsetof(struct sockaddr_in, sin_port), sizeof(port));
    *ret_port = ntohs(port);
    return fd;
}

int connect_fd(int fd, int family, uint16_t port, int ms)
{
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    struct sockaddr_storage addr;
    socklen_t len = loopback(family, port, &addr);
    int err = 0;
    socklen_t size = sizeof(err);

    SETUP(fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
    if (connect(fd, (struct sockaddr *)&addr, len) == 0)
        return 0;
    if (errno != EINPROGRESS)
        return errno;
    if (poll(&p, 1, ms) != 1)
        return ETIMEDOUT;
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &size) < 0 ? errno : err;
}

int connect_to(int family, uint16_t port, int ms)
{
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int err = fd < 0 ? errno : connect_fd(fd, family, port, ms);

    if (fd >= 0)
        (void)close(fd);
    return err;
}

const char *tables_of(int family)
{
    static const char *const names[2][2] = {{"iptables-nft", "iptables-legacy"},
                                            {"ip6tables-nft", "ip6tables-legacy"}};
    static const char *works[2];
    int i = family == AF_INET6;

    for (size_t k = 0; k < 2 && !works[i]; k++)
        if (tool("%s -w 5 -A OUTPUT -m owner --uid-owner 1", names[i][k]) == 0) {
            SETUP(tool("%s -w 5 -F OUTPUT", names[i][k]) == 0);
            works[i] = names[i][k];
        }
    NEED(works[i], "no iptables here that knows the owner match");
    return works[i];
}

bool rule_add(int family, const char *words)
{
    return tool("%s -w 5 -A OUTPUT %s", tables_of(family), words) == 0;
}
