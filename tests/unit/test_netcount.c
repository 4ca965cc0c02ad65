/* SPDX-License-Identifier: ISC */
/* test_netcount.c - the table that counts, as text, and what nft prints of it, as rows. */
#include "policy/netcount.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "policy/netcount_seen.h"
#include "policy/netreason.h"
#include "policy/netrules.h"

#include "common/banned.h"

#define UID 10077u

/* --- text ---------------------------------------------------------------------------------- */

static char *rules_of(enum netrules_family family)
{
    struct in_addr four = {.s_addr = htonl(0x0a090002)};
    struct in6_addr six;
    struct netrules_spec spec = {
        .resolvers4 = &four, .resolver4_count = 1, .resolvers6 = &six, .resolver6_count = 1};
    char *text;

    assert_int_equal(inet_pton(AF_INET6, "fd00:9::2", &six), 1);
    assert_int_equal(netrules_text(family, &spec, &text), 0);
    return text;
}

static char *table_of(const char *rules4, const char *rules6, uint32_t size, bool want_whole)
{
    struct netcount_spec spec = {
        .rules4 = rules4, .rules6 = rules6, .connections = 2048, .table_size = size};
    bool is_whole;
    char *text;

    assert_int_equal(netcount_text(&spec, &text, &is_whole), 0);
    assert_int_equal(is_whole, want_whole);
    return text;
}

static void assert_has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("\"%s\" is not in the text", part);
}

static void every_rule_is_translated_in_its_order(void **state)
{
    static const char *const in_order[] = {
        "chain try4 {\nct direction reply goto no4-reply\n"
        "meta l4proto tcp tcp flags & (syn|ack) == (syn|ack) goto no4-reply\n"
        "ip daddr 10.9.0.2/32 meta l4proto udp th dport 53 return\n"
        "ip daddr 10.9.0.2/32 meta l4proto tcp th dport 53 return\n"
        "fib daddr type vmap { local : goto no4-local, broadcast : goto no4-broadcast, "
        "multicast : goto no4-multicast }\n"
        "ip daddr 0.0.0.0/8 goto no4-this-network\n",
        "ip daddr 10.0.0.0/8 goto no4-rfc1918\n",
        "ip daddr 224.0.0.0/3 goto no4-reserved\n"
        "meta l4proto tcp th dport 25 goto no4-port-25\n"
        "meta l4proto tcp return\nmeta l4proto udp return\ngoto no4-protocol\n}\n",
        "chain try6 {\nexthdr rt exists goto no6-source-route\n",
        "ip6 daddr fd00:9::2/128 meta l4proto udp th dport 53 return\n",
        "ip6 daddr != 2000::/3 goto no6-not-global\n",
    };
    cleanup_free char *rules4 = rules_of(NETRULES_V4), *rules6 = rules_of(NETRULES_V6);
    cleanup_free char *text = table_of(rules4, rules6, 262144, true);
    const char *at = text;

    (void)state;
    for (size_t i = 0; i < sizeof(in_order) / sizeof(in_order[0]); i++) {
        at = strstr(at, in_order[i]);
        if (!at)
            fail_msg("\"%s\" is not there, or too early", in_order[i]);
    }
    assert_has(text, "add table inet atelier\ndelete table inet atelier\ntable inet atelier {\n");
    assert_has(text, "ct count over 2048 }");
    assert_has(text, "limit rate over 128/second burst 2048 packets");
    assert_has(text, "limit rate over 546/second burst 65536 packets goto crowded");
    assert_has(text, "add @spare { meta skuid limit rate over 512/minute burst 1024 packets }");
    /* First the set that bounds all others; its entries end after an hour, tried again or not. */
    assert_has(text, "add @known4 { meta skuid . meta l4proto . th dport . ip daddr } "
                     "update @no4-local { ");
    assert_has(text, "size 8192; flags dynamic,timeout; timeout 3600s; }");
    assert_has(text, "hook output priority -1;");
    assert_has(text, "hook output priority 1;");
}

static void a_rule_that_is_not_understood_takes_the_reasons_away_and_nothing_else(void **state)
{
    static const char *const strange[] = {
        "-A ATELIER -m nosuch -j ATELIER-NO\n",
        "-A ATELIER -p tcp -j ACCEPT\n",
        "-A ATELIER -p tcp --sport 5 -j RETURN\n",
        "-A ATELIER ! -p tcp -j RETURN\n",
        "-A ATELIER -m addrtype --dst-type ANYCAST -j ATELIER-NO\n",
        "-A ATELIER -p tcp -j\n",
        "-A ATELIER -d\n",
        "-A ATELIER -p tcp -j RETURN and more\n",
        "-A ATELIER -p tcp -m tcp --tcp-flags SYN SYN -j ATELIER-NO\n",
    };
    cleanup_free char *rules6 = rules_of(NETRULES_V6);

    (void)state;
    for (size_t i = 0; i < sizeof(strange) / sizeof(strange[0]); i++) {
        cleanup_free char *text = table_of(strange[i], rules6, 0, false);

        assert_has(text, "chain try4 {\n}\n");
        assert_has(text, "ct count over 2048 }");
        assert_has(text, "chain try6 {\nexthdr rt exists goto no6-source-route\n");
        /* The size of the kernel's table is not known: no limit of all together. */
        assert_null(strstr(text, "\nlimit rate over"));
    }
}

/* Names of sets and chains, which must not depend on the rules. */
static void names_of(const char *text, char *ret, size_t size)
{
    ret[0] = '\0';
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1) {
        size_t used = strlen(ret), length = strcspn(line, "{\n");

        if (strncmp(line, "set ", 4) == 0 || strncmp(line, "chain ", 6) == 0)
            assert_true((size_t)snprintf(ret + used, size - used, "%.*s", (int)length, line) <
                        size - used);
    }
}

static void what_is_counted_can_be_kept_whatever_the_rules_are(void **state)
{
    static char names[2][16384];
    cleanup_free char *rules4 = rules_of(NETRULES_V4), *rules6 = rules_of(NETRULES_V6);
    struct netcount_spec spec = {.rules4 = rules4, .rules6 = rules6, .connections = 2048};
    cleanup_free char *text = table_of(rules4, rules6, 0, true), *kept = NULL;
    bool is_whole;

    (void)state;
    names_of(text, names[0], sizeof(names[0]));
    spec.keeps_counts = true;
    spec.rules4 = "-A ATELIER -d 192.0.2.0/24 -j ATELIER-NO\n";
    assert_int_equal(netcount_text(&spec, &kept, &is_whole), 0);
    names_of(kept, names[1], sizeof(names[1]));
    assert_string_equal(names[0], names[1]);
    assert_true(strlen(names[0]) > 1000);
    assert_int_equal(strncmp(kept, "flush table inet atelier\n", 25), 0);
    assert_null(strstr(kept, "delete"));
}

static void every_refusing_rule_has_a_name(void **state)
{
    cleanup_free char *rules4 = rules_of(NETRULES_V4), *rules6 = rules_of(NETRULES_V6);
    const char *const texts[] = {rules4, rules6};
    enum wire_net_reason reason;
    unsigned found = 0;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        for (const char *line = texts[i]; *line; line += strcspn(line, "\n") + 1) {
            if (!netreason_of(line, &reason))
                continue;
            found++;
            if (reason == WIRE_NET_REASON_OTHER || reason == WIRE_NET_REASON_DENY)
                fail_msg("no name: %.*s", (int)strcspn(line, "\n"), line);
        }
    }
    assert_int_equal(found, 17 + 10);
    assert_true(netreason_of("-A ATELIER -d 203.0.113.0/24 -j ATELIER-NO", &reason));
    assert_int_equal(reason, WIRE_NET_REASON_DENY);
    assert_true(netreason_of(
        "-A ATELIER -d 203.0.113.0/24 -m comment --comment on-link -j ATELIER-NO", &reason));
    assert_int_equal(reason, WIRE_NET_REASON_ON_LINK);
    assert_false(netreason_of("-A ATELIER -p tcp -j RETURN", &reason));
    assert_false(netreason_of("-A ATELIER-NO -j REJECT", &reason));
    assert_false(netreason_of("-A OUTPUT -d 10.0.0.0/8 -j ATELIER-NO", &reason));
}

/* --- rows ---------------------------------------------------------------------------------- */

static const char printed[] =
    "table inet atelier {\n"
    "\tset tried {\n\t\ttype uid\n\t\tsize 65536\n\t\tflags dynamic\n"
    "\t\telements = { 10077 counter packets 9 bytes 500, 10078 counter packets 2 bytes 90,\n"
    "\t\t\t     59999 counter packets 1 bytes 40 }\n\t}\n\n"
    "\tset opened {\n\t\ttype uid\n"
    "\t\telements = { 10077 counter packets 4 bytes 200, 10078 counter packets 2 bytes 90 }\n"
    "\t}\n"
    "\tset limited {\n\t\telements = { 10077 counter packets 1 bytes 60 }\n\t}\n"
    "\tset sent {\n\t\telements = { 10077 counter packets 44 bytes 2000 }\n\t}\n"
    "\tset open {\n\t\telements = { 10077 ct count over 2048 }\n\t}\n"
    "\tset known4 {\n\t\telements = { 10077 . 17 . 99 . 127.0.0.1 expires 3599s }\n\t}\n"
    "\tset leaked4 {\n\t\telements = { 10077 . 6 . 7777 . 10.9.0.2 counter packets 1 bytes 60 "
    "expires 3599s }\n\t}\n"
    "\tset no4-rfc1918 {\n\t\telements = { 10077 . 6 . 7777 . 10.9.0.2 timeout 1h expires 3599s "
    "counter packets 3 bytes 180 }\n\t}\n"
    "\tset no6-local {\n\t\telements = { 10077 . 6 . 25 . ::1 counter packets 1 bytes 80 expires "
    "1s }\n\t}\n"
    "\tset other4 {\n\t\telements = { 59999 . 1 . 198.51.100.2 counter packets 1 bytes 40 expires "
    "3s }\n\t}\n"
    "\tchain tried {\n\t\ttype filter hook output priority -1; policy accept;\n\t}\n}\n";

static void lines_see(struct netcount_seen *seen, const char *text)
{
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
        netcount_see_table(seen, line);
}

static void counts_become_rows(void **state)
{
    static struct netcount_result ret;
    cleanup_netcount_seen struct netcount_seen *seen = NULL;

    (void)state;
    assert_int_equal(netcount_seen_new(&seen), 0);
    lines_see(seen, printed);
    netcount_see_rule(seen, false, "[12:720] -A ATELIER -d 10.0.0.0/8 -j ATELIER-NO\n");
    netcount_see_rule(seen, true, "[1:80] -A ATELIER ! -d 2000::/3 -j ATELIER-NO");
    netcount_see_rule(seen, false, "[1:80] -A ATELIER -p tcp -j RETURN");
    netcount_see_rule(seen, false, "[1:80] -A OUTPUT -j ATELIER");
    netcount_see_rule(seen, false, ":ATELIER - [0:0]");
    netcount_see_socket(seen, "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when "
                              "retrnsmt   uid  timeout inode\n");
    netcount_see_socket(seen, "   0: 0100007F:1538 016433C6:0050 01 00000000:00000000 00:00000000 "
                              "00000000 10077        0 12345 1 0000000000000000 20 4 30 10 -1\n");
    /* Listens, is closed already, is root's. */
    netcount_see_socket(seen, "   1: 0100007F:1538 00000000:0000 0A 00000000:00000000 00:00000000 "
                              "00000000 10077        0 12345 1 0000000000000000 20 4 30 10 -1\n");
    netcount_see_socket(seen, "   2: 0100007F:1538 00000000:0000 06 00000000:00000000 00:00000000 "
                              "00000000 10077        0 12345 1 0000000000000000 20 4 30 10 -1\n");
    netcount_see_socket(seen, "   3: 0100007F:1538 00000000:0000 01 00000000:00000000 00:00000000 "
                              "00000000     0        0 12345 1 0000000000000000 20 4 30 10 -1\n");
    netcount_tell(seen, 0, &ret);
    assert_false(ret.sum.is_cut);
    assert_int_equal(ret.user_count, 3);
    assert_int_equal(ret.users[0].uid, UID);
    assert_int_equal(ret.users[0].open, 1);
    assert_int_equal(ret.users[0].opened, 4);
    assert_int_equal(ret.users[0].refused, 5);
    assert_int_equal(ret.users[0].limited, 1);
    assert_int_equal(ret.users[0].listed, 3);
    assert_int_equal(ret.users[0].packets, 4 + 44);
    assert_int_equal(ret.users[0].bytes, 200 + 2000);
    assert_int_equal(ret.users[1].uid, 59999);
    assert_int_equal(ret.users[2].refused, 0);

    assert_int_equal(ret.refused_count, 3);
    assert_int_equal(ret.refused[0].reason, WIRE_NET_REASON_RFC1918);
    assert_int_equal(ret.refused[0].tries, 2);
    assert_int_equal(ret.refused[0].passed, 1);
    assert_int_equal(ret.refused[0].port, 7777);
    assert_memory_equal(ret.refused[0].addr, "\x0a\x09\x00\x02", 4);
    assert_int_equal(ret.refused[1].family, 6);
    assert_int_equal(ret.refused[1].reason, WIRE_NET_REASON_LOCAL);
    assert_int_equal(ret.refused[2].uid, 59999);
    assert_int_equal(ret.refused[2].protocol, 1);
    assert_int_equal(ret.refused[2].port, 0);

    assert_int_equal(ret.rule_count, 3);
    assert_int_equal(ret.rules[0].packets, 12);
    assert_int_equal(ret.rules[0].bytes, 720);
    assert_string_equal(ret.rules[0].text, "-d 10.0.0.0/8 -j ATELIER-NO");
    assert_int_equal(ret.rules[1].family, 6);
    assert_int_equal(ret.rules[2].reason, WIRE_NET_REASON_CONNECTIONS);
    assert_int_equal(ret.rules[2].packets, 1);

    netcount_tell(seen, 59999, &ret);
    assert_int_equal(ret.user_count, 1);
    assert_int_equal(ret.refused_count, 1);
    assert_int_equal(ret.refused[0].uid, 59999);
}

static void what_is_not_understood_is_told(void **state)
{
    static const char *const strange[] = {
        "x counter packets 1 bytes 1",
        "10077",
        "10077 counter packets 1",
        "10077 counter packets -1 bytes 1",
        "10077 counter packets 99999999999999999999 bytes 1",
        "9999 counter packets 1 bytes 1",
        "60000 counter packets 1 bytes 1",
        "10077 a b c d e f g h i j k l m n o p q r s t u v w x y z",
    };
    static const char *const strange_key[] = {
        "10077 . 6 . 7777 . 10.9.0 counter packets 1 bytes 1",
        "10077 . 6 . 77777 . 10.9.0.2 counter packets 1 bytes 1",
        "10077 . 256 . 7777 . 10.9.0.2 counter packets 1 bytes 1",
        "10077 . 6 . 10.9.0.2 counter packets 1 bytes 1",
        "10077 - 6 . 7777 . 10.9.0.2 counter packets 1 bytes 1",
        "9999 . 6 . 7777 . 10.9.0.2 counter packets 1 bytes 1",
    };
    static struct netcount_result ret;

    (void)state;
    for (size_t i = 0; i < sizeof(strange) / sizeof(strange[0]) + 6; i++) {
        cleanup_netcount_seen struct netcount_seen *seen = NULL;
        const size_t n = sizeof(strange) / sizeof(strange[0]);
        char text[256];

        assert_int_equal(netcount_seen_new(&seen), 0);
        (void)snprintf(text, sizeof(text), "set %s {\n elements = { %s }\n}\n",
                       i < n ? "tried" : "no4-rfc1918", i < n ? strange[i] : strange_key[i - n]);
        lines_see(seen, text);
        netcount_tell(seen, 0, &ret);
        if (!ret.sum.is_cut || ret.user_count != 0 || ret.refused_count != 0)
            fail_msg("not told: %s", text);
    }
}

static void of_many_users_those_with_the_most_refusals_are_told(void **state)
{
    static struct netcount_result ret;
    cleanup_netcount_seen struct netcount_seen *seen = NULL;
    char line[128];

    (void)state;
    assert_int_equal(netcount_seen_new(&seen), 0);
    netcount_see_table(seen, "set tried {");
    for (unsigned i = 0; i < 5000; i++) {
        (void)snprintf(line, sizeof(line), "%s%u counter packets %u bytes 1,",
                       i == 0 ? "elements = { " : "", 10000 + i, 1 + (i * 7919) % 5000);
        netcount_see_table(seen, line);
    }
    netcount_see_table(seen, "}");
    netcount_tell(seen, 0, &ret);
    assert_true(ret.sum.is_cut);
    assert_int_equal(ret.user_count, WIRE_NET_USERS_MAX);
    for (unsigned i = 0; i < WIRE_NET_USERS_MAX; i++)
        assert_int_equal(ret.users[i].refused, 5000 - i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_rule_is_translated_in_its_order),
        cmocka_unit_test(a_rule_that_is_not_understood_takes_the_reasons_away_and_nothing_else),
        cmocka_unit_test(what_is_counted_can_be_kept_whatever_the_rules_are),
        cmocka_unit_test(every_refusing_rule_has_a_name),
        cmocka_unit_test(counts_become_rows),
        cmocka_unit_test(what_is_not_understood_is_told),
        cmocka_unit_test(of_many_users_those_with_the_most_refusals_are_told),
    };

    return cmocka_run_group_tests_name("netcount", tests, NULL, NULL);
}
