/* SPDX-License-Identifier: ISC */
/* netrules_lab.c - two network namespaces with the rules of policy/netrules.c in one of them. */
#include "tests/unit/netrules_lab.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/fd.h"

#include "common/banned.h"

/* A refusal is answered on this host: 0.1 ms measured. Reached: a handshake over a veth pair. */
#define REFUSED_MS 1000
#define REACHED_MS 5000

const char *lab_backend;
int lab_host_ns = -1, lab_world_ns = -1;

/* --- Programs
 * --------------------------------------------------------------------------------------- */
int tool_run(const char *words, const char *input, char output[OUTPUT_SIZE])
{
    char line[256], *argv[32], *save = NULL, *word;
    char *envp[] = {(char[]){"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}, NULL};
    int in[2], out[2], status;
    size_t n = 0, got;
    pid_t pid;

    assert_true(strlen(words) < sizeof(line));
    memcpy(line, words, strlen(words) + 1);
    for (word = strtok_r(line, " ", &save); word && n < 31; word = strtok_r(NULL, " ", &save))
        argv[n++] = word;
    argv[n] = NULL;
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (dup2(in[0], 0) < 0 || dup2(out[1], 1) < 0 || dup2(out[1], 2) < 0)
            _exit(126);
        (void)execvpe(argv[0], argv, envp);
        _exit(127);
    }
    (void)close(in[0]);
    (void)close(out[1]);
    assert_true(fd_write_full(in[1], input, strlen(input)) == 0);
    (void)close(in[1]);
    assert_int_equal(fd_read_full(out[0], output, OUTPUT_SIZE - 1, &got), 0);
    output[got] = '\0';
    (void)close(out[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void tool(const char *format, ...)
{
    char words[256], output[OUTPUT_SIZE];
    va_list args;
    int rc;

    va_start(args, format);
    rc = vsnprintf(words, sizeof(words), format, args);
    va_end(args);
    assert_true(rc > 0 && (size_t)rc < sizeof(words));
    rc = tool_run(words, "", output);
    if (rc != 0)
        fail_msg("%s: exit code %d: %s", words, rc, output);
}

const char *tables(enum netrules_family family)
{
    return family == NETRULES_V4 ? "iptables" : "ip6tables";
}

int rules_restore(enum netrules_family family, const char *text)
{
    char words[128], output[OUTPUT_SIZE];

    (void)snprintf(words, sizeof(words), "%s-%s-restore -w 5 --noflush", tables(family),
                   lab_backend);
    return tool_run(words, text, output);
}

void rules_load(const struct netrules_spec *spec)
{
    static const enum netrules_family both[] = {NETRULES_V4, NETRULES_V6};

    for (size_t i = 0; i < 2; i++) {
        cleanup_free char *text = NULL;

        assert_int_equal(netrules_text(both[i], spec, &text), 0);
        assert_int_equal(rules_restore(both[i], text), 0);
    }
}

void rules_list(enum netrules_family family, const char *chain, char output[OUTPUT_SIZE])
{
    char words[128];

    (void)snprintf(words, sizeof(words), "%s-%s -w 5 -S %s", tables(family), lab_backend, chain);
    assert_int_equal(tool_run(words, "", output), 0);
}

/* --- Namespaces
 * --------------------------------------------------------------------------------------- */
static int ns_make(void)
{
    int fd;

    if (unshare(CLONE_NEWNET) < 0)
        return -errno;
    fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

void ns_enter(int fd)
{
    assert_int_equal(setns(fd, CLONE_NEWNET), 0);
}

static void world_make(void)
{
    ns_enter(lab_world_ns);
    tool("ip link set lo up");
    tool("ip link set w0 up");
    tool("ip addr add 198.51.100.2/24 dev w0");
    tool("ip addr add 10.9.0.2/24 dev w0");
    tool("ip addr add 2001:db8:1::2/64 dev w0 nodad");
    tool("ip addr add fd00:9::2/64 dev w0 nodad");
    ns_enter(lab_host_ns);
}

/*
 * The kernel takes an IPv6 address into its routes when it has noticed that the other end of the
 * pair is up, which it does by itself, in up to a second (linkwatch).
 */
static void addresses_wait(void)
{
    struct sockaddr_storage own;
    socklen_t len = address_make("2001:db8:1::1", 1, &own);
    int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    for (int tries = 0; connect(fd, (struct sockaddr *)&own, len) < 0; tries++) {
        assert_true(tries < 1000);
        (void)usleep(10000);
    }
    (void)close(fd);
}

/* Run once: own mounts, so that /run/xtables.lock is nobody else's. */
static bool mounts_make(void)
{
    static bool done;

    if (!done)
        done = unshare(CLONE_NEWNS) == 0 &&
               mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
               mount("run", "/run", "tmpfs", MS_NOSUID | MS_NODEV, "size=1m") == 0;
    return done;
}

void lab_make(void **state)
{
    char words[64], output[OUTPUT_SIZE];

    lab_backend = *state;
    (void)snprintf(words, sizeof(words), "iptables-%s-restore --version", lab_backend);
    if (geteuid() != 0 || !mounts_make() || tool_run(words, "", output) != 0) {
        print_message("skipped: needs root, namespaces and iptables-%s\n", lab_backend);
        skip();
    }
    if (lab_host_ns >= 0)
        (void)close(lab_host_ns);
    if (lab_world_ns >= 0)
        (void)close(lab_world_ns);
    lab_world_ns = ns_make();
    lab_host_ns = ns_make();
    assert_true(lab_world_ns >= 0 && lab_host_ns >= 0);
    tool("ip link set lo up");
    tool("ip link add h0 type veth peer name w0");
    tool("ip link set w0 netns /proc/%d/fd/%d", getpid(), lab_world_ns);
    tool("ip link set h0 up");
    tool("ip addr add 203.0.113.5/32 dev lo");
    tool("ip addr add 198.51.100.1/24 brd 198.51.100.255 dev h0");
    tool("ip addr add 10.9.0.1/24 dev h0");
    tool("ip addr add 2001:db8:1::1/64 dev h0 nodad");
    tool("ip addr add fd00:9::1/64 dev h0 nodad");
    tool("ip route add default via 198.51.100.2");
    tool("ip -6 route add default via 2001:db8:1::2");
    world_make();
    addresses_wait();
}

/* --- Sockets
 * ------------------------------------------------------------------------------------------ */
socklen_t address_make(const char *host, uint16_t port, struct sockaddr_storage *ret)
{
    struct sockaddr_in *v4 = (struct sockaddr_in *)ret;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)ret;

    memset(ret, 0, sizeof(*ret));
    if (inet_pton(AF_INET, host, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons(port);
        return sizeof(*v4);
    }
    assert_int_equal(inet_pton(AF_INET6, host, &v6->sin6_addr), 1);
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(port);
    if (IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr) || IN6_IS_ADDR_MC_LINKLOCAL(&v6->sin6_addr))
        v6->sin6_scope_id = if_nametoindex("h0");
    return sizeof(*v6);
}

int listener_make(uint16_t port)
{
    struct sockaddr_in6 any = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0), off = 0;

    assert_true(fd >= 0);
    assert_int_equal(setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)), 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&any, sizeof(any)), 0);
    assert_int_equal(listen(fd, 64), 0);
    return fd;
}

int listener_make_in_world(uint16_t port)
{
    int fd;

    ns_enter(lab_world_ns);
    fd = listener_make(port);
    ns_enter(lab_host_ns);
    return fd;
}

static int connect_try(int fd, const struct sockaddr_storage *to, socklen_t len, int timeout_ms)
{
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    int error = 0;
    socklen_t size = sizeof(error);

    if (connect(fd, (const struct sockaddr *)to, len) == 0)
        return 0;
    if (errno != EINPROGRESS)
        return errno;
    if (poll(&p, 1, timeout_ms) != 1)
        return ETIMEDOUT;
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0 ? errno : error;
}

static int send_try(int fd, const struct sockaddr_storage *to, socklen_t len)
{
    /* An echo request, for ping sockets; any bytes, for UDP. */
    static const unsigned char bytes[8] = {8};
    int on = 1;

    (void)setsockopt(fd, SOL_SOCKET, SO_BROADCAST, &on, sizeof(on));
    return sendto(fd, bytes, sizeof(bytes), 0, (const struct sockaddr *)to, len) < 0 ? errno : 0;
}

int probe(uid_t uid, int type, int protocol, const char *host, uint16_t port, int timeout_ms)
{
    struct sockaddr_storage to;
    socklen_t len = address_make(host, port, &to);
    int status;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        int fd;

        if (uid != 0 && (setgroups(0, NULL) < 0 || setresgid(uid, uid, uid) < 0 ||
                         setresuid(uid, uid, uid) < 0))
            _exit(255);
        fd = socket(to.ss_family, type | SOCK_NONBLOCK, protocol);
        if (fd < 0)
            _exit(254);
        _exit(type == SOCK_STREAM ? connect_try(fd, &to, len, timeout_ms) : send_try(fd, &to, len));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) < 254);
    return WEXITSTATUS(status);
}

void assert_tcp(uid_t uid, const char *host, uint16_t port, int want)
{
    int got = probe(uid, SOCK_STREAM, 0, host, port, want ? REFUSED_MS : REACHED_MS);

    if (got != want)
        fail_msg("%s: uid %u, tcp %s port %u: %s, expected %s", lab_backend, uid, host, port,
                 strerror(got), strerror(want));
}

void assert_udp(uid_t uid, const char *host, uint16_t port, int want)
{
    int got = probe(uid, SOCK_DGRAM, 0, host, port, 0);

    if (got != want)
        fail_msg("%s: uid %u, udp %s port %u: %s, expected %s", lab_backend, uid, host, port,
                 strerror(got), strerror(want));
}
