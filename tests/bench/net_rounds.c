/* SPDX-License-Identifier: ISC */
/*
 * net_rounds.c - what a TCP connection costs beside our rules and our table, in rotation.
 *
 * A scene is a pair of network namespaces of its own, "host" with what is loaded there and "world"
 * with a listener, joined by a veth pair; nothing leaves them. Each round connects once in each
 * scene as root and once as a participant, and closes by a reset, so that nothing piles up.
 *
 * usage: net_rounds ROUNDS
 * Output: a line each scene: its name, and for root and the participant the median in nanoseconds,
 *         and how many times that of the scene without rules it is.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/ids.h"
#include "common/str.h"
#include "policy/netcount.h"
#include "policy/netrules.h"

#include "common/banned.h"

#define ROUNDS_MAX 100000u
#define TURN       32u
#define PORT       7777
#define HOST       "198.51.100.1"
#define WORLD      "198.51.100.2"

enum who {
    ROOT,
    PARTICIPANT,
    WHO__COUNT,
};

struct scene {
    const char *name;
    bool has_conntrack, has_rules, has_table;
    int host_ns;
    int64_t *ns[WHO__COUNT]; /* one for each round */
};

static struct scene scenes[] = {
    {.name = "nothing"},
    {.name = "conntrack", .has_conntrack = true},
    {.name = "rules", .has_rules = true},
    {.name = "rules-and-table", .has_rules = true, .has_table = true},
};
#define SCENES (sizeof(scenes) / sizeof(scenes[0]))

static _Noreturn void die(const char *what)
{
    (void)fprintf(stderr, "net_rounds: %s: %s\n", what, strerror(errno));
    exit(1);
}

/* @words: one blank between. */
static void tool(const char *words, const char *input)
{
    int fd = memfd_create("input", MFD_CLOEXEC), status;
    char line[256], *argv[32], *save = NULL;
    size_t n = 0;
    pid_t pid;

    str_cut(line, sizeof(line), words);
    for (char *w = strtok_r(line, " ", &save); w && n < 31; w = strtok_r(NULL, " ", &save))
        argv[n++] = w;
    argv[n] = NULL;
    if (fd < 0 || write(fd, input, strlen(input)) < 0 || lseek(fd, 0, SEEK_SET) < 0)
        die("input");
    pid = fork();
    if (pid == 0) {
        if (dup2(fd, 0) == 0)
            (void)execvp(argv[0], argv);
        _exit(127);
    }
    (void)close(fd);
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
        die(words);
}

static int ns_new(void)
{
    int fd = unshare(CLONE_NEWNET) < 0 ? -1 : open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        die("network namespace");
    return fd;
}

static void ns_enter(int fd)
{
    if (setns(fd, CLONE_NEWNET) < 0)
        die("setns");
}

static void address(struct sockaddr_in *ret)
{
    *ret = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(PORT)};
    if (inet_pton(AF_INET, WORLD, &ret->sin_addr) != 1)
        die("address");
}

/* A process that takes what comes, as long as we live. */
static void listener_start(void)
{
    struct sockaddr_in at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    pid_t pid;

    address(&at);
    if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 || listen(fd, 64) < 0)
        die("listener");
    pid = fork();
    if (pid < 0)
        die("fork");
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;) {
            int connection = accept(fd, NULL, NULL);

            if (connection >= 0)
                (void)close(connection);
        }
    }
    (void)close(fd);
}

static void rules_load(const struct scene *s)
{
    struct netrules_spec rules = {0};
    struct netcount_spec table = {.connections = 65536, .table_size = 262144};
    char *text4, *text6, *text;
    bool is_whole;

    if (netrules_text(NETRULES_V4, &rules, &text4) < 0 ||
        netrules_text(NETRULES_V6, &rules, &text6) < 0)
        die("rules");
    table.rules4 = text4;
    table.rules6 = text6;
    if (netcount_text(&table, &text, &is_whole) < 0 || !is_whole)
        die("table");
    if (s->has_conntrack)
        tool("iptables-restore --noflush",
             "*filter\n-A INPUT -m conntrack --ctstate INVALID -j DROP\nCOMMIT\n");
    if (s->has_rules) {
        tool("iptables-restore --noflush", text4);
        tool("ip6tables-restore --noflush", text6);
    }
    if (s->has_table)
        tool("nft -f -", text);
    free(text);
    free(text4);
    free(text6);
}

static void scene_make(struct scene *s, uint32_t rounds)
{
    int world = ns_new();
    char words[128];

    s->host_ns = ns_new();
    tool("ip link set lo up", "");
    tool("ip link add h0 type veth peer name w0", "");
    (void)snprintf(words, sizeof(words), "ip link set w0 netns /proc/%d/fd/%d", getpid(), world);
    tool(words, "");
    tool("ip link set h0 up", "");
    tool("ip addr add " HOST "/24 dev h0", "");
    ns_enter(world);
    tool("ip link set lo up", "");
    tool("ip link set w0 up", "");
    tool("ip addr add " WORLD "/24 dev w0", "");
    listener_start();
    ns_enter(s->host_ns);
    rules_load(s);
    for (int w = 0; w < WHO__COUNT; w++) {
        s->ns[w] = calloc(rounds, sizeof(*s->ns[w]));
        if (!s->ns[w])
            die("memory");
    }
}

static int64_t now_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int64_t connect_once(enum who who)
{
    const struct linger reset = {.l_onoff = 1};
    struct sockaddr_in to;
    int64_t began_ns;
    int fd;

    address(&to);
    /* The owner of a socket is the file-system uid at its creation. */
    if (who == PARTICIPANT && seteuid(ID_TEST_MIN) < 0)
        die("seteuid");
    fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (seteuid(0) < 0 || fd < 0 ||
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)) < 0)
        die("socket");
    began_ns = now_ns();
    if (connect(fd, (const struct sockaddr *)&to, sizeof(to)) < 0)
        die("connect");
    began_ns = now_ns() - began_ns;
    (void)close(fd);
    return began_ns;
}

/* Some in a row, since a host has one set of rules, which stays in the processor's caches. */
static void turn(struct scene *s, enum who who, uint32_t from, uint32_t rounds)
{
    (void)connect_once(who);
    for (uint32_t r = from; r < rounds && r < from + TURN; r++)
        s->ns[who][r] = connect_once(who);
}

static int compare(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

static int64_t median(int64_t *ns, uint32_t rounds)
{
    qsort(ns, rounds, sizeof(*ns), compare);
    return ns[rounds / 2];
}

static void tell(uint32_t rounds)
{
    int64_t floor_ns[WHO__COUNT] = {0};

    (void)printf("%-16s %12s %6s %16s %6s\n", "", "root, ns", "x", "participant, ns", "x");
    for (size_t i = 0; i < SCENES; i++) {
        int64_t ns[WHO__COUNT];

        for (int w = 0; w < WHO__COUNT; w++) {
            ns[w] = median(scenes[i].ns[w], rounds);
            if (i == 0)
                floor_ns[w] = ns[w];
        }
        (void)printf("%-16s %12" PRId64 " %6.2f %16" PRId64 " %6.2f\n", scenes[i].name, ns[ROOT],
                     (double)ns[ROOT] / (double)floor_ns[ROOT], ns[PARTICIPANT],
                     (double)ns[PARTICIPANT] / (double)floor_ns[PARTICIPANT]);
    }
}

int main(int argc, char **argv)
{
    cpu_set_t one = {0};
    uint32_t rounds;

    if (argc != 2 || str_to_u32(argv[1], ROUNDS_MAX, &rounds) < 0 || rounds == 0) {
        (void)fprintf(stderr, "usage: net_rounds ROUNDS\n");
        return 2;
    }
    /* Which processor a listener wakes on is worth more than all of what is measured. */
    CPU_SET(0, &one);
    if (sched_setaffinity(0, sizeof(one), &one) < 0)
        die("processor");
    /* Own mounts, so that /run/xtables.lock is nobody else's. */
    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("run", "/run", "tmpfs", MS_NOSUID | MS_NODEV, "size=1m") < 0)
        die("mounts");
    for (size_t i = 0; i < SCENES; i++)
        scene_make(&scenes[i], rounds);
    for (uint32_t r = 0; r < rounds; r += TURN) {
        for (size_t i = 0; i < SCENES; i++) {
            ns_enter(scenes[i].host_ns);
            for (int w = 0; w < WHO__COUNT; w++)
                turn(&scenes[i], (enum who)w, r, rounds);
        }
    }
    tell(rounds);
    return 0;
}
