/* SPDX-License-Identifier: ISC */
/*
 * bait.c - what a participant must not reach: made, served and taken away by the keeper.
 *
 * Order of the keeper:
 *   1. its own process group, no signals of a terminal   (Ctrl-C is the doctor's)
 *   2. all descriptors but the lifeline and the report closed
 *   3. the bait, then the report
 *   4. serve until the lifeline ends; then take everything away
 */
#include "ctl/doctor/bait.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <ifaddrs.h>
#include <mqueue.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "ctl/doctor/bait_socket.h"
#include "ctl/doctor/sweep.h"
#include "ctl/say.h"

#include "common/banned.h"

#define PROGRAM   ATELIER_PROGRAMS_DIR "/attack"
#define VICTIM_MS "60000"
#define REPORT_MS 5000
#define SHM_BYTES 4096u

enum {
    FD_LIFELINE = 3,
    FD_REPORT = 4,
    FD_FREE = 5,
};

_Static_assert(SWEEP_PLACES <= BAIT_FILES_MAX, "a file in all of them");

/* --- files ---------------------------------------------------------------------------------- */

static void file_plant(struct bait *b, const char *place)
{
    cleanup_close int fd = -1;
    char path[BAIT_PATH_SIZE];

    (void)snprintf(path, sizeof(path), "%s/" SWEEP_PREFIX "%s", place, b->word);
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd < 0)
        return;
    /* The umask must not decide what the test shows. */
    if (fchmod(fd, 0644) < 0 || dprintf(fd, "%s\n", b->word) < 0) {
        (void)unlink(path);
        return;
    }
    memcpy(b->files[b->file_count++], path, sizeof(path));
}

/* --- System V, POSIX queue ------------------------------------------------------------------- */

static void ipc_make(struct bait *b)
{
    struct mq_attr attr = {.mq_maxmsg = 1, .mq_msgsize = 16};
    mqd_t queue;

    b->is_ipc_others = sweep_ipc(NULL);
    b->has_shm = shmget(BAIT_SHM_KEY, SHM_BYTES, IPC_CREAT | IPC_EXCL | 0666) >= 0 &&
                 semget(BAIT_SHM_KEY, 1, IPC_CREAT | IPC_EXCL | 0666) >= 0 &&
                 msgget(BAIT_SHM_KEY, IPC_CREAT | IPC_EXCL | 0666) >= 0;
    queue = mq_open(SWEEP_QUEUE, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666, &attr);
    if (queue == (mqd_t)-1)
        return;
    (void)fchmod(queue, 0666);
    (void)mq_close(queue);
    (void)snprintf(b->queue, sizeof(b->queue), "%s", SWEEP_QUEUE);
}

/* --- addresses ---------------------------------------------------------------------------------
 */

static void address_add(char list[BAIT_OWN_MAX][INET6_ADDRSTRLEN], uint32_t *count, int family,
                        const void *addr)
{
    char text[INET6_ADDRSTRLEN];

    if (*count >= BAIT_OWN_MAX || !inet_ntop(family, addr, text, sizeof(text)))
        return;
    for (uint32_t i = 0; i < *count; i++) {
        if (strcmp(list[i], text) == 0)
            return;
    }
    memcpy(list[(*count)++], text, sizeof(text));
}

static void address4_take(struct bait *b, const struct ifaddrs *i)
{
    struct sockaddr_in sin, mask;

    memcpy(&sin, i->ifa_addr, sizeof(sin));
    if ((ntohl(sin.sin_addr.s_addr) >> 24) == 127)
        return;
    address_add(b->own4, &b->own4_count, AF_INET, &sin.sin_addr);
    if ((i->ifa_flags & IFF_BROADCAST) == 0 || !i->ifa_netmask)
        return;
    memcpy(&mask, i->ifa_netmask, sizeof(mask));
    /* The last address of the network: to the kernel a broadcast, whether it was named or not. A
     * network of two has none (RFC 3021). */
    sin.sin_addr.s_addr |= ~mask.sin_addr.s_addr;
    if (~ntohl(mask.sin_addr.s_addr) > 1)
        address_add(b->broadcast, &b->broadcast_count, AF_INET, &sin.sin_addr);
}

static void addresses_find(struct bait *b)
{
    struct ifaddrs *list;

    if (getifaddrs(&list) < 0)
        return;
    for (struct ifaddrs *i = list; i; i = i->ifa_next) {
        struct sockaddr_in6 sin6;

        if (!i->ifa_addr || !(i->ifa_flags & IFF_UP))
            continue;
        if (i->ifa_addr->sa_family == AF_INET)
            address4_take(b, i);
        if (i->ifa_addr->sa_family != AF_INET6)
            continue;
        memcpy(&sin6, i->ifa_addr, sizeof(sin6));
        if (!IN6_IS_ADDR_LOOPBACK(&sin6.sin6_addr) && !IN6_IS_ADDR_LINKLOCAL(&sin6.sin6_addr))
            address_add(b->own6, &b->own6_count, AF_INET6, &sin6.sin6_addr);
    }
    freeifaddrs(list);
}

/* --- the victim ------------------------------------------------------------------------------- */

static _Noreturn void victim_main(uid_t uid, const char *secret, pid_t parent)
{
    char *const argv[] = {(char[]){"attack"}, (char[]){"nap"}, (char[]){VICTIM_MS},
                          (char *)(uintptr_t)secret, NULL};
    char *const envp[] = {NULL};
    int null = open("/dev/null", O_RDWR);
    gid_t gid = uid;

    for (int i = 0; i < 3; i++) {
        if (dup2(null, i) < 0)
            _exit(1);
    }
    if (syscall(SYS_close_range, 3u, ~0u, 0u) < 0 || setgroups(1, &gid) < 0 ||
        setresgid(gid, gid, gid) < 0 || setresuid(uid, uid, uid) < 0 ||
        prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
        _exit(1);
    (void)execve(PROGRAM, argv, envp);
    _exit(127);
}

static void victim_start(struct bait *b, uid_t uid)
{
    pid_t parent = getpid(), pid = fork();

    if (pid == 0)
        victim_main(uid, b->secret, parent);
    b->victim = pid > 0 ? pid : 0;
}

/* --- the keeper ----------------------------------------------------------------------------------
 */

static int word_make(char word[BAIT_WORD_SIZE])
{
    uint64_t random;

    if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random))
        return -EIO;
    (void)snprintf(word, BAIT_WORD_SIZE, "%016llx", (unsigned long long)random);
    return 0;
}

static void make(struct bait *b, struct bait_sockets *s, uid_t uid)
{
    sweep_files(NULL);
    for (size_t i = 0; i < SWEEP_PLACES; i++)
        file_plant(b, sweep_places[i]);
    addresses_find(b);
    bait_sockets_open(b, s);
    ipc_make(b);
    victim_start(b, uid);
}

static void unmake(const struct bait *b)
{
    if (b->victim > 0) {
        (void)kill(b->victim, SIGKILL);
        (void)waitpid(b->victim, NULL, 0);
    }
    for (uint32_t i = 0; i < b->file_count; i++)
        (void)unlink(b->files[i]);
    if (b->path_socket[0])
        (void)unlink(b->path_socket);
    (void)sweep_ipc(NULL);
}

static _Noreturn void keeper_main(struct bait *b, int lifeline, int report, uid_t uid)
{
    struct bait_sockets sockets;
    int low = fcntl(lifeline, F_DUPFD, 64), high = fcntl(report, F_DUPFD, 64);

    (void)setsid();
    for (int sig = 1; sig < NSIG; sig++)
        (void)signal(sig, sig == SIGCHLD ? SIG_DFL : SIG_IGN);
    (void)prctl(PR_SET_NAME, SWEEP_KEEPER);
    if (low < 0 || high < 0 || dup2(low, FD_LIFELINE) < 0 || dup2(high, FD_REPORT) < 0 ||
        syscall(SYS_close_range, (unsigned)FD_FREE, ~0u, 0u) < 0)
        _exit(1);
    make(b, &sockets, uid);
    if (write(FD_REPORT, b, sizeof(*b)) == (ssize_t)sizeof(*b)) {
        (void)close(FD_REPORT);
        bait_sockets_serve(&sockets, FD_LIFELINE, b->word);
    }
    unmake(b);
    _exit(0);
}

/* The keeper says what it has made. */
static bool report_read(int fd, struct bait *ret_b)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};

    return poll(&p, 1, REPORT_MS) > 0 && read(fd, ret_b, sizeof(*ret_b)) == (ssize_t)sizeof(*ret_b);
}
_Static_assert(sizeof(struct bait) <= 4096, "by one write to a pipe");

struct bait *bait_lay(uid_t uid, const char **ret_why)
{
    struct bait *b = calloc(1, sizeof(*b));
    int lifeline[2], report[2];
    pid_t pid;
    bool is_laid;

    if (!b)
        say_no_memory();
    *ret_why = "no random numbers";
    if (word_make(b->word) < 0 || word_make(b->secret) < 0) {
        free(b);
        return NULL;
    }
    *ret_why = "no process to lay out the bait";
    if (pipe2(lifeline, O_CLOEXEC) < 0) {
        free(b);
        return NULL;
    }
    if (pipe2(report, O_CLOEXEC) < 0) {
        (void)close(lifeline[0]);
        (void)close(lifeline[1]);
        free(b);
        return NULL;
    }
    pid = fork();
    if (pid == 0)
        keeper_main(b, lifeline[0], report[1], uid);
    (void)close(lifeline[0]);
    (void)close(report[1]);
    is_laid = pid > 0 && report_read(report[0], b);
    (void)close(report[0]);
    b->lifeline = lifeline[1];
    b->keeper = pid;
    if (is_laid)
        return b;
    bait_free(b);
    return NULL;
}

void bait_free(struct bait *b)
{
    if (!b)
        return;
    (void)close(b->lifeline);
    if (b->keeper > 0)
        (void)waitpid(b->keeper, NULL, 0);
    free(b);
}
