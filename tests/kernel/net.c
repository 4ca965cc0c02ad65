/* SPDX-License-Identifier: ISC */
/* net.c - how a refusal is felt, and where a packet to oneself comes in. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/kernel/prove.h"

#include "common/banned.h"

#define REACHED_MS 2000
/* A refusal is made on this host, in less than a millisecond. */
#define AT_ONCE_MS 500
/* Without one the client tries again after a second. */
#define NEVER_MS 300
#define MPTCP    262 /* IPPROTO_MPTCP, Linux 5.6 */

#define TCP_ALL "-p tcp -m tcp --tcp-flags SYN,ACK SYN -j "

static uint16_t port;

static int connect_by(int family, int protocol, int ms)
{
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, protocol);
    int err = fd < 0 ? errno : connect_fd(fd, family, port, ms);

    if (fd >= 0)
        (void)close(fd);
    return err;
}

static void rule_replace(int family, const char *words)
{
    SETUP(tool("%s -w 5 -F OUTPUT", tables_of(family)) == 0 && rule_add(family, words));
}

static void listen_here(int family)
{
    lo_up();
    SETUP(listener(family, 8, &port) >= 0);
}

/* --- refusals ------------------------------------------------------------------------------- */

static void tcp_reset_refuses_at_once(void)
{
    listen_here(AF_INET);
    CONTROL(connect_by(AF_INET, 0, REACHED_MS) == 0);
    rule_replace(AF_INET, TCP_ALL "DROP");
    CONTROL(connect_by(AF_INET, 0, NEVER_MS) == ETIMEDOUT);
    rule_replace(AF_INET, TCP_ALL "REJECT --reject-with tcp-reset");
    MUST(connect_by(AF_INET, 0, AT_ONCE_MS) == ECONNREFUSED);
}

static void tcp_reset_refuses_at_once_by_ipv6(void)
{
    listen_here(AF_INET6);
    CONTROL(connect_by(AF_INET6, 0, REACHED_MS) == 0);
    rule_replace(AF_INET6, TCP_ALL "REJECT"); /* by ICMP: the client goes on trying */
    CONTROL(connect_by(AF_INET6, 0, NEVER_MS) == ETIMEDOUT);
    rule_replace(AF_INET6, TCP_ALL "REJECT --reject-with tcp-reset");
    MUST(connect_by(AF_INET6, 0, AT_ONCE_MS) == ECONNREFUSED);
}

static void tcp_reset_refuses_mptcp_at_once(void)
{
    int err;

    listen_here(AF_INET);
    err = connect_by(AF_INET, MPTCP, REACHED_MS);
    prove_fact("mptcp", err == 0 ? "yes" : "no");
    NEED(err == 0, "this kernel has no MPTCP, or it is switched off");
    rule_replace(AF_INET, TCP_ALL "REJECT"); /* as above, though plain TCP fails at once by it */
    CONTROL(connect_by(AF_INET, 0, AT_ONCE_MS) == ECONNREFUSED);
    CONTROL(connect_by(AF_INET, MPTCP, NEVER_MS) == ETIMEDOUT);
    rule_replace(AF_INET, TCP_ALL "REJECT --reject-with tcp-reset");
    MUST(connect_by(AF_INET, MPTCP, AT_ONCE_MS) == ECONNREFUSED);
}

static void a_refused_datagram_fails_in_the_sender(void)
{
    struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons(7), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    lo_up();
    CONTROL(sendto(fd, "x", 1, 0, (struct sockaddr *)&to, sizeof(to)) == 1);
    (void)close(fd);
    fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    SETUP(rule_add(AF_INET, "-p udp -j REJECT --reject-with icmp-admin-prohibited"));
    MUST(sendto(fd, "x", 1, 0, (struct sockaddr *)&to, sizeof(to)) < 0 && errno == EPERM);
}

static void old_connections_meet_new_rules(void)
{
    int server, client, fd;
    char text[4];

    lo_up();
    server = listener(AF_INET, 8, &port);
    client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    SETUP(connect_fd(client, AF_INET, port, REACHED_MS) == 0);
    fd = accept4(server, NULL, NULL, SOCK_CLOEXEC);
    SETUP(fd >= 0);
    CONTROL(send(client, "a", 1, 0) == 1 && is_readable(fd, REACHED_MS));
    SETUP(recv(fd, text, sizeof(text), 0) == 1);
    SETUP(rule_add(AF_INET, "-p tcp -m owner --uid-owner 0 -j DROP"));
    SETUP(send(client, "b", 1, 0) == 1);
    MUST(!is_readable(fd, NEVER_MS));
}

/* --- addresses ------------------------------------------------------------------------------ */

static int connect_mapped(void)
{
    struct sockaddr_in6 to = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0), err = 0;

    SETUP(fd >= 0 && inet_pton(AF_INET6, "::ffff:127.0.0.1", &to.sin6_addr) == 1);
    if (connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0)
        err = errno;
    (void)close(fd);
    return err;
}

static void mapped_addresses_travel_as_ipv4(void)
{
    listen_here(AF_INET);
    CONTROL(connect_mapped() == 0);
    SETUP(rule_add(AF_INET6, TCP_ALL "DROP"));
    MUST(connect_mapped() == 0);
    SETUP(rule_add(AF_INET, TCP_ALL "REJECT --reject-with tcp-reset"));
    MUST(connect_mapped() == ECONNREFUSED);
}

static int connect_at(const char *address, int ms)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), err = 0;
    struct timeval limit = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};

    SETUP(fd >= 0 && inet_pton(AF_INET, address, &to.sin_addr) == 1);
    SETUP(setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) == 0);
    if (connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0)
        err = errno;
    (void)close(fd);
    return err;
}

static void the_null_address_is_the_host_itself(void)
{
    listen_here(AF_INET);
    MUST(connect_at("0.0.0.0", NEVER_MS) == 0);
    SETUP(rule_add(AF_INET, "-d 127.0.0.0/8 " TCP_ALL "REJECT --reject-with tcp-reset"));
    MUST(connect_at("0.0.0.0", NEVER_MS) == ECONNREFUSED); /* as what it stands for */
    CONTROL(connect_at("127.0.0.1", NEVER_MS) == ECONNREFUSED);
}

static int listen_on_all(const char *device)
{
    struct sockaddr_in any = {.sin_family = AF_INET};
    socklen_t len = sizeof(any);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (device)
        SETUP(setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, device, (socklen_t)strlen(device)) == 0);
    SETUP(bind(fd, (struct sockaddr *)&any, sizeof(any)) == 0 && listen(fd, 8) == 0);
    SETUP(getsockname(fd, (struct sockaddr *)&any, &len) == 0);
    port = ntohs(any.sin_port);
    return fd;
}

static void own_address_make(void)
{
    lo_up();
    SETUP(tool("ip link add v0 type veth peer name v1") == 0);
    SETUP(tool("ip addr add 198.51.100.1/24 dev v0") == 0);
    SETUP(tool("ip link set v0 up") == 0 && tool("ip link set v1 up") == 0);
}

/* Though its packets go through lo. */
static void a_packet_to_an_own_address_is_not_booked_under_lo(void)
{
    own_address_make();
    (void)listen_on_all(NULL);
    CONTROL(connect_at("198.51.100.1", REACHED_MS) == 0);
    (void)listen_on_all("lo");
    CONTROL(connect_at("127.0.0.1", REACHED_MS) == 0);
    MUST(connect_at("198.51.100.1", NEVER_MS) != 0);
}

static void addrtype_local_knows_every_own_address(void)
{
    own_address_make();
    (void)listen_on_all(NULL);
    CONTROL(connect_at("198.51.100.1", REACHED_MS) == 0);
    CONTROL(connect_at("127.8.9.10", REACHED_MS) == 0);
    SETUP(rule_add(AF_INET, "-m addrtype --dst-type LOCAL -p tcp -m tcp --tcp-flags SYN,ACK SYN "
                            "-j REJECT --reject-with tcp-reset"));
    MUST(connect_at("198.51.100.1", AT_ONCE_MS) == ECONNREFUSED);
    MUST(connect_at("127.8.9.10", AT_ONCE_MS) == ECONNREFUSED);
}

static void a_socket_filter_keeps_connections_away(void)
{
    static struct sock_filter none[] = {BPF_STMT(BPF_RET | BPF_K, 0)};
    struct sock_fprog program = {.len = 1, .filter = none};
    int fd;

    lo_up();
    fd = listener(AF_INET, 8, &port);
    CONTROL(connect_to(AF_INET, port, REACHED_MS) == 0);
    SETUP(setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) == 0);
    MUST(connect_to(AF_INET, port, NEVER_MS) == ETIMEDOUT);
}

/* --- ports ---------------------------------------------------------------------------------- */

static int datagram_port(uint16_t at, bool reuses, int *ret_fd)
{
    struct sockaddr_in any = {.sin_family = AF_INET, .sin_port = htons(at)};
    int on = reuses;

    *ret_fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    SETUP(*ret_fd >= 0);
    SETUP(setsockopt(*ret_fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0);
    return bind(*ret_fd, (struct sockaddr *)&any, sizeof(any)) == 0 ? 0 : errno;
}

static void take_the_port(void *arg)
{
    struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons(5353), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int theirs = *(int *)arg, mine, sender = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    become(uid_a);
    MUST(datagram_port(5353, false, &mine) == EADDRINUSE);
    CONTROL(sendto(sender, "x", 1, 0, (struct sockaddr *)&to, sizeof(to)) == 1 &&
            is_readable(theirs, REACHED_MS));
    SETUP(recv(theirs, (char[1]){0}, 1, 0) == 1);
    MUST(datagram_port(5353, true, &mine) == 0);
    SETUP(sendto(sender, "x", 1, 0, (struct sockaddr *)&to, sizeof(to)) == 1);
    MUST(is_readable(mine, REACHED_MS) && !is_readable(theirs, 0));
}

/* So SO_REUSEADDR succeeds in runs and sessions without effect. */
static void a_shared_port_gives_datagrams_to_who_came_last(void)
{
    int theirs;

    lo_up();
    SETUP(datagram_port(5353, true, &theirs) == 0); /* as mDNS does it, as root */
    SETUP(child_run(take_the_port, &theirs) == 0);
}

/* --- source routes -------------------------------------------------------------------------- */

static int source_route_set(void)
{
    /* Loose source route by way of one hop. Source: RFC 791. */
    static const unsigned char route[8] = {131, 7, 4, 127, 0, 0, 1};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int err = setsockopt(fd, IPPROTO_IP, IP_OPTIONS, route, sizeof(route)) == 0 ? 0 : errno;

    (void)close(fd);
    return err;
}

static void source_route_as_user(void *arg)
{
    (void)arg;
    become(uid_a);
    _exit(source_route_set());
}

static void a_source_route_needs_a_right(void)
{
    int err = child_run(source_route_as_user, NULL);

    CONTROL(source_route_set() == 0);
    prove_fact("source_route_needs_right", err == 0 ? "no" : "yes");
    NEED(err != 0, "this kernel takes a source route from anybody: the filter has to refuse it");
    MUST(err == EPERM);
}

static const struct behaviour behaviours[] = {
    BEHAVIOUR(tcp_reset_refuses_at_once),
    BEHAVIOUR(tcp_reset_refuses_at_once_by_ipv6),
    BEHAVIOUR(tcp_reset_refuses_mptcp_at_once),
    BEHAVIOUR(a_refused_datagram_fails_in_the_sender),
    BEHAVIOUR(old_connections_meet_new_rules),
    BEHAVIOUR(mapped_addresses_travel_as_ipv4),
    BEHAVIOUR(the_null_address_is_the_host_itself),
    BEHAVIOUR(a_packet_to_an_own_address_is_not_booked_under_lo),
    BEHAVIOUR(addrtype_local_knows_every_own_address),
    BEHAVIOUR(a_socket_filter_keeps_connections_away),
    BEHAVIOUR(a_shared_port_gives_datagrams_to_who_came_last),
    BEHAVIOUR(a_source_route_needs_a_right),
};

int main(int argc, char **argv)
{
    return prove_main(argc, argv, "net", behaviours, sizeof(behaviours) / sizeof(behaviours[0]),
                      NULL);
}
