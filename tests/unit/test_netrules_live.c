/* SPDX-License-Identifier: ISC */
/*
 * test_netrules_live.c - the network rules in the kernel, with both backends of iptables.
 *
 * Needs root; else every test is skipped. Each test makes two network namespaces of its own
 * (netrules_lab.h). Every "refused" has its "reached": by the same UID before the rules, and by
 * root with them.
 */
#include "policy/netrules.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/netrules_lab.h"

#include "common/cleanup.h"
#include "common/fd.h"
#include "common/ids.h"

#include "common/banned.h"

#define UID  ID_TEST_MIN
#define PORT 7777
#define JUMP "-A OUTPUT -m owner --uid-owner 10000-59999 -j ATELIER\n"
#define DROP                                                                                       \
    "-A OUTPUT -p tcp -m tcp --tcp-flags SYN,ACK SYN,ACK -m owner ! --socket-exists -j DROP\n"
#define SILENT_MS 700

static const char *const own[] = {
    "127.0.0.1",       "127.8.9.10",   "0.0.0.0",  "::1",           "::",
    "203.0.113.5",     "198.51.100.1", "10.9.0.1", "2001:db8:1::1", "fd00:9::1",
    "::ffff:127.0.0.1"};

static void own_addresses_are_refused_to_the_range_and_open_to_others(void **state)
{
    static const uid_t inside[] = {ID_NET_MIN, UID, ID_CANARY, ID_NET_MAX};
    static const uid_t outside[] = {0, 1000, ID_NET_MIN - 1, ID_NET_MAX + 1};
    struct netrules_spec spec = {0};

    lab_make(state);
    cleanup_close int listener = listener_make(PORT);

    assert_true(listener >= 0);
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
        assert_tcp(UID, own[i], PORT, 0);
    rules_load(&spec);
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
        for (size_t k = 0; k < sizeof(inside) / sizeof(inside[0]); k++)
            assert_tcp(inside[k], own[i], PORT, ECONNREFUSED);
        for (size_t k = 0; k < sizeof(outside) / sizeof(outside[0]); k++)
            assert_tcp(outside[k], own[i], PORT, 0);
        assert_udp(UID, own[i], PORT + 1, EPERM);
    }
}

static const char *const closed[] = {
    "10.9.0.2",    "172.16.9.2",     "192.168.9.2",     "169.254.169.254", "100.64.0.1",
    "192.0.0.192", "198.18.0.1",     "224.0.0.251",     "255.255.255.255", "198.51.100.255",
    "fd00:9::2",   "64:ff9b::a09:2", "2002:a09:2::1",   "2001:0:1::1",     "fe80::1",
    "ff02::1",     "ff05::1",        "::ffff:10.9.0.2", "100::1",          "fec0::1"};

/* The documentation networks are the lab's Internet. */
static const char *const open_to_all[] = {"198.51.100.2", "192.0.2.1", "203.0.113.9",
                                          "2001:db8:1::2", "2001:db8:ffff::1"};

static void only_the_internet_is_open(void **state)
{
    struct netrules_spec spec = {0};

    lab_make(state);
    for (size_t i = 0; i < sizeof(closed) / sizeof(closed[0]); i++)
        assert_udp(UID, closed[i], 9, 0);
    rules_load(&spec);
    for (size_t i = 0; i < sizeof(closed) / sizeof(closed[0]); i++) {
        assert_udp(UID, closed[i], 9, EPERM);
        assert_udp(0, closed[i], 9, 0);
    }
    for (size_t i = 0; i < sizeof(open_to_all) / sizeof(open_to_all[0]); i++)
        assert_udp(UID, open_to_all[i], 9, 0);
}

static void tcp_reaches_the_internet_except_port_25(void **state)
{
    static const char *const world[] = {"198.51.100.2", "2001:db8:1::2"};
    static const char *const inner[] = {"10.9.0.2", "fd00:9::2"};
    struct netrules_spec spec = {0};

    lab_make(state);
    cleanup_close int web = listener_make_in_world(PORT);
    cleanup_close int mail = listener_make_in_world(25);

    assert_true(web >= 0 && mail >= 0);
    assert_tcp(UID, world[0], 25, 0);
    rules_load(&spec);
    for (size_t i = 0; i < 2; i++) {
        assert_tcp(UID, world[i], PORT, 0);
        assert_tcp(UID, world[i], 25, ECONNREFUSED);
        assert_tcp(0, world[i], 25, 0);
        assert_tcp(UID, inner[i], PORT, ECONNREFUSED);
        assert_tcp(0, inner[i], PORT, 0);
    }
}

static void icmp_is_refused(void **state)
{
    struct netrules_spec spec = {0};
    static const char all[] = "0 2147483647";

    lab_make(state);
    /* Of this network namespace alone. */
    cleanup_close int range = open("/proc/sys/net/ipv4/ping_group_range", O_WRONLY | O_CLOEXEC);

    assert_int_equal(fd_write_full(range, all, sizeof(all) - 1), 0);
    assert_int_equal(probe(UID, SOCK_DGRAM, IPPROTO_ICMP, "198.51.100.2", 0, 0), 0);
    rules_load(&spec);
    assert_int_equal(probe(UID, SOCK_DGRAM, IPPROTO_ICMP, "198.51.100.2", 0, 0), EPERM);
    assert_int_equal(probe(0, SOCK_DGRAM, IPPROTO_ICMP, "198.51.100.2", 0, 0), 0);
}

static void answers_of_a_listener_in_the_range_are_refused(void **state)
{
    struct netrules_spec spec = {0};

    lab_make(state);
    cleanup_close int of_root = listener_make(PORT);
    cleanup_close int of_user = -1;

    /* The owner of a socket is the file-system uid at its creation. */
    assert_int_equal(seteuid(UID), 0);
    of_user = listener_make(PORT + 1);
    assert_int_equal(seteuid(0), 0);
    assert_true(of_root >= 0);

    ns_enter(lab_world_ns);
    assert_tcp(0, "198.51.100.1", PORT + 1, 0);
    ns_enter(lab_host_ns);
    rules_load(&spec);
    ns_enter(lab_world_ns);
    assert_int_equal(probe(0, SOCK_STREAM, 0, "198.51.100.1", PORT + 1, SILENT_MS), ETIMEDOUT);
    assert_int_equal(probe(0, SOCK_STREAM, 0, "2001:db8:1::1", PORT + 1, SILENT_MS), ETIMEDOUT);
    assert_tcp(0, "198.51.100.1", PORT, 0);
    assert_tcp(0, "2001:db8:1::1", PORT, 0);
    ns_enter(lab_host_ns);
}

/*
 * To conntrack a SYN-ACK without its SYN is INVALID: it has no direction, and the REPLY rule does
 * not see it.
 */
static void an_untracked_answer_of_a_listener_is_refused_too(void **state)
{
    static const char *const hosts[] = {"198.51.100.1", "2001:db8:1::1"};
    static const enum netrules_family both[] = {NETRULES_V4, NETRULES_V6};
    struct netrules_spec spec = {0};

    lab_make(state);
    cleanup_close int of_user = -1;

    assert_int_equal(seteuid(UID), 0);
    of_user = listener_make(PORT);
    assert_int_equal(seteuid(0), 0);
    rules_load(&spec);
    for (size_t i = 0; i < 2; i++) {
        tool("%s-%s -w 5 -t raw -A PREROUTING -p tcp --dport %d -j CT --notrack", tables(both[i]),
             lab_backend, PORT);
        ns_enter(lab_world_ns);
        assert_int_equal(probe(0, SOCK_STREAM, 0, hosts[i], PORT, SILENT_MS), ETIMEDOUT);
        ns_enter(lab_host_ns);
        /* Positive control: it is this rule that refused. */
        tool("%s-%s -w 5 -D ATELIER -p tcp -m tcp --tcp-flags SYN,ACK SYN,ACK -j ATELIER-NO",
             tables(both[i]), lab_backend);
        ns_enter(lab_world_ns);
        assert_tcp(0, hosts[i], PORT, 0);
        ns_enter(lab_host_ns);
    }
}

/* Sends one datagram with a routing header, by socket option: with the message, kernels differ.
 * Return: 0, or the errno of sendto(2). */
static int routed_probe(uid_t uid, const char *host, const unsigned char *bytes, socklen_t size)
{
    struct sockaddr_storage to;
    socklen_t len = address_make(host, 9, &to);
    int fd, error = 0;

    assert_int_equal(seteuid(uid), 0);
    fd = socket(to.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_int_equal(seteuid(0), 0);
    assert_true(fd >= 0);
    assert_int_equal(setsockopt(fd, IPPROTO_IPV6, IPV6_RTHDR, bytes, size), 0);
    if (sendto(fd, "x", 1, 0, (struct sockaddr *)&to, len) < 0)
        error = errno;
    (void)close(fd);
    return error;
}

static void source_routes_are_refused(void **state)
{
    /* Segment routing header by 2001:db8:1::2, RFC 8754. */
    static const unsigned char route6[24] = {0, 2, 4, 0, 0, 0, 0, 0, 0x20, 1, 0x0d, 0xb8,
                                             0, 1, 0, 0, 0, 0, 0, 0, 0,    0, 0,    2};
    struct netrules_spec spec = {0};

    lab_make(state);
    assert_int_equal(routed_probe(UID, "fd00:9::2", route6, sizeof(route6)), 0);
    rules_load(&spec);
    assert_int_equal(routed_probe(UID, "fd00:9::2", route6, sizeof(route6)), EPERM);
    assert_int_equal(routed_probe(0, "fd00:9::2", route6, sizeof(route6)), 0);
    /* Positive control: no other rule sees where these packets go. */
    tool("ip6tables-%s -w 5 -D ATELIER -m rt -j ATELIER-NO", lab_backend);
    assert_int_equal(routed_probe(UID, "fd00:9::2", route6, sizeof(route6)), 0);
}

static void a_resolver_is_open_on_port_53_only(void **state)
{
    struct in_addr four[2];
    struct in6_addr six[1];
    struct netrules_spec spec = {
        .resolvers4 = four, .resolver4_count = 2, .resolvers6 = six, .resolver6_count = 1};

    assert_int_equal(inet_pton(AF_INET, "10.9.0.2", &four[0]), 1);
    assert_int_equal(inet_pton(AF_INET, "127.0.0.53", &four[1]), 1);
    assert_int_equal(inet_pton(AF_INET6, "fd00:9::2", &six[0]), 1);
    lab_make(state);
    cleanup_close int there = listener_make_in_world(53);
    cleanup_close int here = listener_make(53);

    assert_true(there >= 0 && here >= 0);
    rules_load(&spec);
    assert_udp(UID, "10.9.0.2", 53, 0);
    assert_udp(UID, "fd00:9::2", 53, 0);
    assert_udp(UID, "127.0.0.53", 53, 0);
    assert_tcp(UID, "10.9.0.2", 53, 0);
    assert_tcp(UID, "fd00:9::2", 53, 0);
    assert_tcp(UID, "127.0.0.53", 53, 0);

    assert_udp(UID, "10.9.0.2", 54, EPERM);
    assert_udp(UID, "10.9.0.3", 53, EPERM);
    assert_udp(UID, "fd00:9::3", 53, EPERM);
    assert_tcp(UID, "127.0.0.1", 53, ECONNREFUSED);
    assert_tcp(UID, "127.0.0.53", 54, ECONNREFUSED);
}

static void every_load_leaves_one_jump_at_line_1(void **state)
{
    static const enum netrules_family both[] = {NETRULES_V4, NETRULES_V6};
    struct netrules_spec spec = {0};
    char output[OUTPUT_SIZE];

    lab_make(state);
    cleanup_close int listener = listener_make(PORT);

    assert_true(listener >= 0);
    rules_load(&spec);
    assert_tcp(UID, "127.0.0.1", PORT, ECONNREFUSED);
    for (size_t i = 0; i < 2; i++)
        tool("%s-%s -w 5 -I OUTPUT 1 -o lo -j ACCEPT", tables(both[i]), lab_backend);
    /* That is what the jump at line 1 is for. */
    assert_tcp(UID, "127.0.0.1", PORT, 0);
    assert_tcp(UID, "::1", PORT, 0);
    spec.jump_present = spec.drop_present = true;
    for (int loads = 0; loads < 2; loads++) {
        rules_load(&spec);
        for (size_t i = 0; i < 2; i++) {
            rules_list(both[i], "OUTPUT", output);
            assert_string_equal(output,
                                "-P OUTPUT ACCEPT\n" JUMP DROP "-A OUTPUT -o lo -j ACCEPT\n");
        }
        assert_tcp(UID, "127.0.0.1", PORT, ECONNREFUSED);
        assert_tcp(UID, "::1", PORT, ECONNREFUSED);
    }
}

static void the_jump_is_found_by_check(void **state)
{
    struct netrules_spec spec = {0};
    char words[256], output[OUTPUT_SIZE];

    lab_make(state);
    (void)snprintf(words, sizeof(words), "iptables-%s -w 5 -C OUTPUT %s", lab_backend,
                   netrules_jump());
    assert_int_not_equal(tool_run(words, "", output), 0);
    rules_load(&spec);
    assert_int_equal(tool_run(words, "", output), 0);
}

static void a_text_that_fails_changes_nothing(void **state)
{
    static const enum netrules_family both[] = {NETRULES_V4, NETRULES_V6};
    struct netrules_spec spec = {0};
    char before[OUTPUT_SIZE], after[OUTPUT_SIZE];

    lab_make(state);
    cleanup_close int listener = listener_make(PORT);

    assert_true(listener >= 0);
    rules_load(&spec);
    for (size_t i = 0; i < 2; i++) {
        /* Empties the chain, then fails: at a match that does not exist, or at the delete. */
        static const char *const bad[] = {
            "*filter\n:ATELIER - [0:0]\n-A ATELIER -m nosuchmatch -j ACCEPT\nCOMMIT\n",
            "*filter\n:ATELIER - [0:0]\n-D OUTPUT -p tcp -j ATELIER\nCOMMIT\n",
            "*filter\n:ATELIER - [0:0]\n-A ATELIER -j NOSUCHCHAIN\nCOMMIT\n",
        };

        rules_list(both[i], "ATELIER", before);
        assert_true(strlen(before) > 200);
        for (size_t k = 0; k < sizeof(bad) / sizeof(bad[0]); k++) {
            assert_int_not_equal(rules_restore(both[i], bad[k]), 0);
            rules_list(both[i], "ATELIER", after);
            assert_string_equal(after, before);
        }
    }
    assert_tcp(UID, "127.0.0.1", PORT, ECONNREFUSED);
    assert_tcp(UID, "::1", PORT, ECONNREFUSED);
}

static void removal_load(enum netrules_family family, bool is_jumped_to)
{
    const struct netrules_spec spec = {.jump_present = is_jumped_to, .drop_present = is_jumped_to};
    cleanup_free char *text = NULL;

    assert_int_equal(netrules_removal(&spec, &text), 0);
    assert_int_equal(rules_restore(family, text), 0);
}

static void a_removal_leaves_what_others_made(void **state)
{
    static const enum netrules_family both[] = {NETRULES_V4, NETRULES_V6};
    struct netrules_spec spec = {0};
    char words[64], output[OUTPUT_SIZE];

    lab_make(state);
    cleanup_close int listener = listener_make(PORT);

    assert_true(listener >= 0);
    rules_load(&spec);
    assert_tcp(UID, "127.0.0.1", PORT, ECONNREFUSED);
    for (size_t i = 0; i < 2; i++) {
        tool("%s-%s -w 5 -A OUTPUT -o lo -j ACCEPT", tables(both[i]), lab_backend);
        /* Twice: somebody restored saved rules on top of ours. */
        tool("%s-%s -w 5 -I OUTPUT %s", tables(both[i]), lab_backend, netrules_jump());
        tool("%s-%s -w 5 -I OUTPUT %s", tables(both[i]), lab_backend, netrules_drop());
        removal_load(both[i], true);
        removal_load(both[i], true);
        removal_load(both[i], false);
        rules_list(both[i], "OUTPUT", output);
        assert_string_equal(output, "-P OUTPUT ACCEPT\n-A OUTPUT -o lo -j ACCEPT\n");
        (void)snprintf(words, sizeof(words), "%s-%s -w 5 -S", tables(both[i]), lab_backend);
        assert_int_equal(tool_run(words, "", output), 0);
        assert_null(strstr(output, "ATELIER"));
    }
    assert_tcp(UID, "127.0.0.1", PORT, 0);
    assert_tcp(UID, "::1", PORT, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(own_addresses_are_refused_to_the_range_and_open_to_others),
        BOTH(only_the_internet_is_open),
        BOTH(tcp_reaches_the_internet_except_port_25),
        BOTH(icmp_is_refused),
        BOTH(answers_of_a_listener_in_the_range_are_refused),
        BOTH(an_untracked_answer_of_a_listener_is_refused_too),
        BOTH(source_routes_are_refused),
        BOTH(a_resolver_is_open_on_port_53_only),
        BOTH(every_load_leaves_one_jump_at_line_1),
        BOTH(the_jump_is_found_by_check),
        BOTH(a_text_that_fails_changes_nothing),
        BOTH(a_removal_leaves_what_others_made),
    };

    return cmocka_run_group_tests_name("netrules_live", tests, NULL, NULL);
}
