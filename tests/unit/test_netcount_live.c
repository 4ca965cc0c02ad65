/* SPDX-License-Identifier: ISC */
/*
 * test_netcount_live.c - what the table counts is what the rules did.
 *
 * Every try is made by a process of its own, which learns from the kernel whether it was refused;
 * that is what the counts are compared with. With rules of iptables-nft and of iptables-legacy.
 */
#include "policy/netcount.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/fd.h"
#include "common/ids.h"
#include "policy/netcount_seen.h"
#include "tests/unit/netrules_lab.h"

#include "common/banned.h"

#define ALICE   ID_TEST_MIN
#define BOB     (ID_TEST_MIN + 1)
#define PORT    7777
#define TIME_MS 200

static struct netcount_result counts;

/* --- the table ----------------------------------------------------------------------------- */

static void lab_make_for(void **state, uint32_t connections, uint32_t table_size)
{
    struct netrules_spec rules = {0};
    cleanup_free char *rules4 = NULL, *rules6 = NULL, *text = NULL;
    struct netcount_spec spec = {.connections = connections, .table_size = table_size};
    char output[OUTPUT_SIZE];
    bool is_whole;

    lab_make(state);
    if (tool_run("nft --version", "", output) != 0) {
        print_message("skipped: needs nft\n");
        skip();
    }
    rules_load(&rules);
    assert_int_equal(netrules_text(NETRULES_V4, &rules, &rules4), 0);
    assert_int_equal(netrules_text(NETRULES_V6, &rules, &rules6), 0);
    spec.rules4 = rules4;
    spec.rules6 = rules6;
    assert_int_equal(netcount_text(&spec, &text, &is_whole), 0);
    assert_true(is_whole);
    if (tool_run("nft -f -", text, output) != 0)
        fail_msg("nft: %s", output);
}

static void lab_make_with(void **state, uint32_t connections)
{
    lab_make_for(state, connections, 65536);
}

static void counts_read(uint32_t uid)
{
    cleanup_netcount_seen struct netcount_seen *seen = NULL;
    cleanup_free char *line = NULL;
    size_t size = 0;
    int fds[2], status;
    FILE *lines;
    pid_t pid;

    assert_int_equal(netcount_seen_new(&seen), 0);
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (dup2(fds[1], 1) >= 0)
            (void)execlp("nft", "nft", "-n", "list", "table", "inet", "atelier", NULL);
        _exit(127);
    }
    (void)close(fds[1]);
    lines = fdopen(fds[0], "r");
    assert_non_null(lines);
    while (getline(&line, &size, lines) > 0)
        netcount_see_table(seen, line);
    (void)fclose(lines);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    netcount_tell(seen, uid, &counts);
    assert_false(counts.sum.is_cut);
}

/* Of no more than one user. */
static const struct wire_net_user *user_counts(uint32_t uid)
{
    static const struct wire_net_user none;

    counts_read(uid);
    assert_true(counts.user_count <= 1);
    return counts.user_count == 1 ? &counts.users[0] : &none;
}

static const struct wire_net_refused *refused_find(const char *host, uint8_t protocol,
                                                   uint16_t port)
{
    uint8_t addr[16] = {0};
    int af = strchr(host, ':') ? AF_INET6 : AF_INET;

    assert_int_equal(inet_pton(af, host, addr), 1);
    for (uint32_t i = 0; i < counts.refused_count; i++) {
        const struct wire_net_refused *r = &counts.refused[i];

        if (memcmp(r->addr, addr, sizeof(addr)) == 0 && r->protocol == protocol && r->port == port)
            return r;
    }
    return NULL;
}

static void assert_refused(const char *host, uint8_t protocol, uint16_t port,
                           enum wire_net_reason reason, uint64_t tries)
{
    const struct wire_net_refused *r = refused_find(host, protocol, port);

    if (!r)
        fail_msg("%s: no row for %s port %u", lab_backend, host, port);
    else if (r->tries != tries || r->reason != reason || r->passed != 0)
        fail_msg("%s: %s port %u: tries %llu, reason %u, passed %llu", lab_backend, host, port,
                 (unsigned long long)r->tries, r->reason, (unsigned long long)r->passed);
}

/* --- tests --------------------------------------------------------------------------------- */

static void tries_are_counted_for_who_made_them(void **state)
{
    const struct wire_net_user *u;

    lab_make_with(state, 2048);
    cleanup_close int here = listener_make(PORT), there = listener_make_in_world(PORT);

    assert_true(here >= 0 && there >= 0);
    for (int i = 0; i < 3; i++)
        assert_tcp(ALICE, "10.9.0.2", PORT, ECONNREFUSED);
    assert_tcp(ALICE, "127.0.0.1", PORT, ECONNREFUSED);
    assert_tcp(ALICE, "::1", PORT, ECONNREFUSED);
    assert_tcp(ALICE, "198.51.100.2", 25, ECONNREFUSED);
    assert_udp(ALICE, "fd00:9::2", 53, EPERM);
    assert_tcp(ALICE, "198.51.100.2", PORT, 0);
    assert_tcp(ALICE, "2001:db8:1::2", PORT, 0);
    assert_tcp(0, "10.9.0.2", PORT, 0);
    u = user_counts(ALICE);
    assert_int_equal(u->opened, 2);
    assert_int_equal(u->refused, 7);
    assert_int_equal(u->listed, 7);
    assert_int_equal(u->limited, 0);
    assert_true(u->packets >= 4 && u->bytes >= 4 * 40);
    assert_int_equal(counts.refused_count, 5);
    assert_refused("10.9.0.2", IPPROTO_TCP, PORT, WIRE_NET_REASON_RFC1918, 3);
    assert_refused("127.0.0.1", IPPROTO_TCP, PORT, WIRE_NET_REASON_LOCAL, 1);
    assert_refused("::1", IPPROTO_TCP, PORT, WIRE_NET_REASON_LOCAL, 1);
    assert_refused("198.51.100.2", IPPROTO_TCP, 25, WIRE_NET_REASON_PORT_25, 1);
    assert_refused("fd00:9::2", IPPROTO_UDP, 53, WIRE_NET_REASON_NOT_GLOBAL, 1);
    assert_null(refused_find("198.51.100.2", IPPROTO_TCP, PORT));
    assert_int_equal(user_counts(BOB)->opened, 0);
    assert_int_equal(counts.refused_count, 0);
    counts_read(0);
    assert_int_equal(counts.user_count, 1);
    assert_tcp(BOB, "10.9.0.2", PORT, ECONNREFUSED);
    assert_int_equal(user_counts(BOB)->refused, 1);
    assert_int_equal(user_counts(ALICE)->refused, 7);
}

/* Both ends of each network that some rule names, and what lies beside them. */
static const char *const edges[] = {
    "0.0.0.1",         "1.0.0.0",         "9.255.255.255",   "10.0.0.0",        "10.255.255.255",
    "11.0.0.0",        "100.63.255.255",  "100.64.0.0",      "100.127.255.255", "100.128.0.0",
    "126.255.255.255", "127.0.0.1",       "128.0.0.0",       "169.253.255.255", "169.254.0.0",
    "169.255.0.0",     "172.15.255.255",  "172.16.0.0",      "172.31.255.255",  "172.32.0.0",
    "191.255.255.255", "192.0.0.0",       "192.0.0.255",     "192.0.1.0",       "192.167.255.255",
    "192.168.0.0",     "192.168.255.255", "192.169.0.0",     "198.17.255.255",  "198.18.0.0",
    "198.19.255.255",  "198.20.0.0",      "198.51.100.1",    "198.51.100.2",    "198.51.100.255",
    "203.0.113.5",     "203.0.113.9",     "223.255.255.255", "224.0.0.251",     "239.1.1.1",
    "240.0.0.1",       "255.255.255.255", "10.9.0.1",        "10.9.0.255",      "::1",
    "1fff:ffff::1",    "2000::",          "2001::1",         "2001:0:ffff::1",  "2001:1::1",
    "2001:db8:1::1",   "2001:db8:1::2",   "2002::1",         "2003::1",         "3fff:ffff::1",
    "4000::1",         "fc00::1",         "fd00:9::1",       "fd00:9::2",       "fe80::1",
    "ff02::1",         "ff0e::1",         "64:ff9b::a09:2"};

/* One decision, made once by the rules and once by their translation. */
static void no_destination_is_judged_otherwise(void **state)
{
    static const uint16_t ports[] = {25, 53, 9};
    const size_t edge_count = sizeof(edges) / sizeof(edges[0]);
    int got[sizeof(edges) / sizeof(edges[0])][3];
    uint64_t refused = 0, opened = 0, listed = 0;
    const struct wire_net_user *u;

    lab_make_with(state, 2048);
    for (size_t i = 0; i < edge_count; i++) {
        for (size_t k = 0; k < 3; k++) {
            got[i][k] = probe(ALICE, SOCK_DGRAM, 0, edges[i], ports[k], 0);
            refused += got[i][k] == EPERM;
            opened += got[i][k] == 0;
            if (got[i][k] != 0 && got[i][k] != EPERM)
                fail_msg("%s: %s: %s", lab_backend, edges[i], strerror(got[i][k]));
        }
    }
    u = user_counts(ALICE);
    assert_int_equal(u->opened, opened);
    assert_int_equal(u->refused, refused);
    assert_int_equal(u->listed, refused);
    for (uint32_t i = 0; i < counts.refused_count; i++)
        listed += counts.refused[i].tries;
    assert_int_equal(listed, refused);
    for (size_t i = 0; i < edge_count; i++) {
        for (size_t k = 0; k < 3; k++) {
            if ((refused_find(edges[i], IPPROTO_UDP, ports[k]) != NULL) != (got[i][k] == EPERM))
                fail_msg("%s: %s port %u: %s, and the table says otherwise", lab_backend, edges[i],
                         ports[k], strerror(got[i][k]));
        }
    }
    assert_true(refused > 90 && opened > 60);
}

static void other_transports_are_counted_without_ports(void **state)
{
    static const char all[] = "0 2147483647";

    lab_make_with(state, 2048);
    cleanup_close int range = open("/proc/sys/net/ipv4/ping_group_range", O_WRONLY | O_CLOEXEC);

    assert_int_equal(fd_write_full(range, all, sizeof(all) - 1), 0);
    assert_int_equal(probe(ALICE, SOCK_DGRAM, IPPROTO_ICMP, "198.51.100.2", 0, 0), EPERM);
    assert_int_equal(user_counts(ALICE)->refused, 1);
    assert_refused("198.51.100.2", IPPROTO_ICMP, 0, WIRE_NET_REASON_PROTOCOL, 1);
}

/* What others' rules do is not hidden, and what ours no longer do is not claimed. */
static void what_the_rules_did_counts_and_not_what_they_should(void **state)
{
    const struct wire_net_refused *r;
    const struct wire_net_user *u;

    lab_make_with(state, 2048);
    cleanup_close int there = listener_make_in_world(PORT);

    assert_true(there >= 0);
    tool("iptables-%s -w 5 -A OUTPUT -d 198.51.100.2 -p udp --dport 99 -j DROP", lab_backend);
    assert_udp(ALICE, "198.51.100.2", 99, EPERM);
    u = user_counts(ALICE);
    assert_int_equal(u->refused, 1);
    assert_int_equal(u->listed, 0);
    assert_int_equal(counts.refused_count, 0);

    assert_tcp(ALICE, "10.9.0.2", PORT, ECONNREFUSED);
    tool("iptables-%s -w 5 -D ATELIER -d 10.0.0.0/8 -j ATELIER-NO", lab_backend);
    assert_tcp(ALICE, "10.9.0.2", PORT, 0);
    assert_tcp(ALICE, "10.9.0.2", PORT, 0);
    u = user_counts(ALICE);
    assert_int_equal(u->refused, 2);
    assert_int_equal(u->opened, 2);
    r = refused_find("10.9.0.2", IPPROTO_TCP, PORT);
    assert_non_null(r);
    assert_int_equal(r->tries, 1);
    assert_int_equal(r->passed, 2);
}

static void answers_of_a_listener_are_counted(void **state)
{
    lab_make_with(state, 2048);
    cleanup_close int of_user = -1;

    assert_int_equal(seteuid(ALICE), 0);
    of_user = listener_make(PORT);
    assert_int_equal(seteuid(0), 0);
    ns_enter(lab_world_ns);
    assert_int_equal(probe(0, SOCK_STREAM, 0, "198.51.100.1", PORT, TIME_MS), ETIMEDOUT);
    ns_enter(lab_host_ns);
    assert_true(user_counts(ALICE)->refused > 0);
    assert_int_equal(counts.refused_count, 1);
    assert_int_equal(counts.refused[0].reason, WIRE_NET_REASON_REPLY);
    assert_int_equal(counts.users[0].opened, 0);
}

/* How many of @n new connections of one kind are let through; each from a port of its own. */
static unsigned flood(uid_t uid, unsigned n, uint16_t port)
{
    unsigned ok = 0;
    int fd;

    assert_int_equal(seteuid(uid), 0);
    fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_int_equal(seteuid(0), 0);
    for (unsigned i = 0; i < n; i++) {
        struct sockaddr_in to = {.sin_family = AF_INET,
                                 .sin_port = htons((uint16_t)(port + i)),
                                 .sin_addr.s_addr = htonl(0xc6336402)};

        if (sendto(fd, "x", 1, 0, (struct sockaddr *)&to, sizeof(to)) == 1)
            ok++;
        else
            assert_int_equal(errno, EPERM);
    }
    (void)close(fd);
    return ok;
}

static unsigned tracked(void)
{
    cleanup_close int fd = open("/proc/sys/net/netfilter/nf_conntrack_count", O_RDONLY | O_CLOEXEC);
    char text[32] = "";
    size_t n;

    assert_true(fd >= 0);
    assert_int_equal(fd_read_full(fd, text, sizeof(text) - 1, &n), 0);
    return (unsigned)strtoul(text, NULL, 10);
}

static void one_user_has_so_many_connections_and_no_more(void **state)
{
    const struct wire_net_user *u;

    lab_make_with(state, 100);
    cleanup_close int there = listener_make_in_world(PORT);
    unsigned before = tracked();

    assert_true(there >= 0);
    assert_int_equal(flood(ALICE, 5000, 1000), 100);
    assert_int_equal(flood(ALICE, 50, 20000), 0);
    assert_in_range(tracked(), before, before + 100 + 10);
    assert_tcp(ALICE, "198.51.100.2", PORT, ECONNREFUSED);
    /* The connections that she has go on. */
    assert_int_equal(flood(BOB, 10, 1000), 10);
    assert_tcp(BOB, "198.51.100.2", PORT, 0);
    assert_tcp(0, "198.51.100.2", PORT, 0);
    u = user_counts(ALICE);
    assert_int_equal(u->opened, 100);
    assert_int_equal(u->refused, 4951);
    assert_int_equal(u->limited, 4951);
    assert_int_equal(u->listed, 0);
    /* What is refused by the rules is no connection, and does not count as one. */
    assert_int_equal(user_counts(BOB)->limited, 0);
    /* Positive control. */
    tool("nft delete table inet atelier");
    assert_int_equal(flood(ALICE, 5000, 30000), 5000);
    assert_true(tracked() > before + 5000);
}

static void refused_tries_are_no_connections(void **state)
{
    lab_make_with(state, 20);
    for (int i = 0; i < 60; i++)
        assert_udp(ALICE, "10.9.0.2", (uint16_t)(1000 + i), EPERM);
    assert_int_equal(flood(ALICE, 30, 1000), 20);
    assert_int_equal(user_counts(ALICE)->refused, 70);
    assert_int_equal(counts.users[0].limited, 10);
}

/* Closed TCP connections are no more in the user's list, but for two minutes in the kernel's. */
static void connections_that_are_closed_at_once_are_limited_too(void **state)
{
    unsigned ok = 0;

    lab_make_with(state, 32);
    cleanup_close int there = listener_make_in_world(PORT);

    assert_true(there >= 0);
    for (int i = 0; i < 64; i++)
        ok += probe(ALICE, SOCK_STREAM, 0, "198.51.100.2", PORT, 1000) == 0;
    /* 32 in a row, and two a second. */
    assert_in_range(ok, 32, 32 + 20);
    assert_tcp(BOB, "198.51.100.2", PORT, 0);
}

/* The table of a small host: 1024 of all in a row, 8 a second; of it 16 are each one's own. */
static void who_uses_up_what_all_have_leaves_others_their_part(void **state)
{
    unsigned ok;

    lab_make_for(state, 4000, 4096);
    ok = flood(ALICE, 3000, 1000);
    assert_in_range(ok, 1024 + 16, 1024 + 16 + 400);
    assert_true(flood(ALICE, 500, 10000) < 400); /* positive control: there is no more for her */
    assert_int_equal(flood(BOB, 16, 1000), 16);
    assert_int_equal(user_counts(BOB)->limited, 0);
}

static void a_scan_does_not_fill_the_list(void **state)
{
    const struct wire_net_user *u;

    lab_make_with(state, 2048);
    for (int i = 0; i < 600; i++)
        assert_udp(ALICE, "10.9.0.2", (uint16_t)(1000 + i), EPERM);
    assert_udp(ALICE, "10.9.0.2", 1000, EPERM);
    u = user_counts(ALICE);
    assert_int_equal(u->refused, 601);
    assert_in_range(counts.refused_count, 128, 136);
    assert_refused("10.9.0.2", IPPROTO_UDP, 1000, WIRE_NET_REASON_RFC1918, 2);
    assert_udp(BOB, "10.9.0.2", 9, EPERM);
    assert_int_equal(user_counts(BOB)->listed, 1);
}

/* Other rules, with the counts and the lists of connections of those before. */
static void rules_can_change_and_counts_stay(void **state)
{
    struct in_addr resolver;
    struct netrules_spec rules = {.resolvers4 = &resolver, .resolver4_count = 1};
    struct netcount_spec spec = {.connections = 20, .table_size = 65536, .keeps_counts = true};
    cleanup_free char *rules4 = NULL, *rules6 = NULL, *text = NULL;
    char output[OUTPUT_SIZE];
    bool is_whole;

    lab_make_with(state, 20);
    assert_int_equal(flood(ALICE, 15, 1000), 15);
    assert_udp(ALICE, "10.9.0.2", 53, EPERM);
    assert_int_equal(inet_pton(AF_INET, "10.9.0.2", &resolver), 1);
    assert_int_equal(netrules_text(NETRULES_V4, &rules, &rules4), 0);
    assert_int_equal(netrules_text(NETRULES_V6, &rules, &rules6), 0);
    spec.rules4 = rules4;
    spec.rules6 = rules6;
    assert_int_equal(netcount_text(&spec, &text, &is_whole), 0);
    if (tool_run("nft -f -", text, output) != 0)
        fail_msg("nft: %s", output);
    assert_int_equal(user_counts(ALICE)->opened, 15);
    assert_int_equal(counts.users[0].refused, 1);
    assert_refused("10.9.0.2", IPPROTO_UDP, 53, WIRE_NET_REASON_RFC1918, 1);
    assert_int_equal(flood(ALICE, 10, 2000), 5);
    assert_int_equal(user_counts(ALICE)->limited, 5);
}

static void a_removal_leaves_nothing_and_may_come_twice(void **state)
{
    char output[OUTPUT_SIZE];

    lab_make_with(state, 2048);
    tool("nft add table inet other");
    assert_int_equal(tool_run("nft -f -", netcount_removal(), output), 0);
    assert_int_equal(tool_run("nft -f -", netcount_removal(), output), 0);
    assert_int_equal(tool_run("nft list tables inet", "", output), 0);
    assert_string_equal(output, "table inet other\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(tries_are_counted_for_who_made_them),
        BOTH(no_destination_is_judged_otherwise),
        BOTH(other_transports_are_counted_without_ports),
        BOTH(what_the_rules_did_counts_and_not_what_they_should),
        BOTH(answers_of_a_listener_are_counted),
        BOTH(one_user_has_so_many_connections_and_no_more),
        BOTH(refused_tries_are_no_connections),
        BOTH(connections_that_are_closed_at_once_are_limited_too),
        BOTH(who_uses_up_what_all_have_leaves_others_their_part),
        BOTH(a_scan_does_not_fill_the_list),
        BOTH(rules_can_change_and_counts_stay),
        BOTH(a_removal_leaves_nothing_and_may_come_twice),
    };

    return cmocka_run_group_tests_name("netcount_live", tests, NULL, NULL);
}
