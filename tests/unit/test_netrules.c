/* SPDX-License-Identifier: ISC */
/* test_netrules.c - the network rules as text, line by line. */
#include "policy/netrules.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/ids.h"

#include "common/banned.h"

#define JUMP "-m owner --uid-owner 10000-59999 -j ATELIER"
#define DROP "-p tcp -m tcp --tcp-flags SYN,ACK SYN,ACK -m owner ! --socket-exists -j DROP"

#define HEAD(no_source_routes)                                                                     \
    "*filter\n"                                                                                    \
    ":ATELIER - [0:0]\n"                                                                           \
    ":ATELIER-NO - [0:0]\n" no_source_routes                                                       \
    "-A ATELIER -m conntrack --ctdir REPLY -j ATELIER-NO\n"                                        \
    "-A ATELIER -p tcp -m tcp --tcp-flags SYN,ACK SYN,ACK -j ATELIER-NO\n"

static const char head4[] = HEAD("");
static const char head6[] = HEAD("-A ATELIER -m rt -j ATELIER-NO\n");

static const char resolvers4[] = "-A ATELIER -d 127.0.0.53/32 -p udp -m udp --dport 53 -j RETURN\n"
                                 "-A ATELIER -d 127.0.0.53/32 -p tcp -m tcp --dport 53 -j RETURN\n"
                                 "-A ATELIER -d 10.1.2.3/32 -p udp -m udp --dport 53 -j RETURN\n"
                                 "-A ATELIER -d 10.1.2.3/32 -p tcp -m tcp --dport 53 -j RETURN\n";

static const char resolvers6[] = "-A ATELIER -d fd00::53/128 -p udp -m udp --dport 53 -j RETURN\n"
                                 "-A ATELIER -d fd00::53/128 -p tcp -m tcp --dport 53 -j RETURN\n";

static const char body4[] = "-A ATELIER -m addrtype --dst-type LOCAL -j ATELIER-NO\n"
                            "-A ATELIER -m addrtype --dst-type BROADCAST -j ATELIER-NO\n"
                            "-A ATELIER -m addrtype --dst-type MULTICAST -j ATELIER-NO\n"
                            "-A ATELIER -d 0.0.0.0/8 -j ATELIER-NO\n"
                            "-A ATELIER -d 10.0.0.0/8 -j ATELIER-NO\n"
                            "-A ATELIER -d 100.64.0.0/10 -j ATELIER-NO\n"
                            "-A ATELIER -d 127.0.0.0/8 -j ATELIER-NO\n"
                            "-A ATELIER -d 169.254.0.0/16 -j ATELIER-NO\n"
                            "-A ATELIER -d 172.16.0.0/12 -j ATELIER-NO\n"
                            "-A ATELIER -d 192.0.0.0/24 -j ATELIER-NO\n"
                            "-A ATELIER -d 192.168.0.0/16 -j ATELIER-NO\n"
                            "-A ATELIER -d 198.18.0.0/15 -j ATELIER-NO\n"
                            "-A ATELIER -d 224.0.0.0/3 -j ATELIER-NO\n";

static const char body6[] = "-A ATELIER -m addrtype --dst-type LOCAL -j ATELIER-NO\n"
                            "-A ATELIER -m addrtype --dst-type MULTICAST -j ATELIER-NO\n"
                            "-A ATELIER ! -d 2000::/3 -j ATELIER-NO\n"
                            "-A ATELIER -d 2001::/32 -j ATELIER-NO\n"
                            "-A ATELIER -d 2002::/16 -j ATELIER-NO\n";

static const char tail[] = "-A ATELIER -p tcp -m tcp --dport 25 -j ATELIER-NO\n"
                           "-A ATELIER -p tcp -j RETURN\n"
                           "-A ATELIER -p udp -j RETURN\n"
                           "-A ATELIER -j ATELIER-NO\n"
                           "-A ATELIER-NO -p tcp -j REJECT --reject-with tcp-reset\n";

static const char reject4[] = "-A ATELIER-NO -j REJECT --reject-with icmp-admin-prohibited\n";
static const char reject6[] = "-A ATELIER-NO -j REJECT --reject-with icmp6-adm-prohibited\n";
static const char closed[] = "-A ATELIER -p tcp -j ATELIER-NO\n"
                             "-A ATELIER -p udp -j ATELIER-NO\n"
                             "-A ATELIER -j ATELIER-NO\n"
                             "-A ATELIER-NO -p tcp -j REJECT --reject-with tcp-reset\n";
static const char no_mail[] = "-A ATELIER -p tcp -m tcp --dport 25 -j ATELIER-NO\n";
#define OUTPUT_RULES "-I OUTPUT 1 " JUMP "\n-I OUTPUT 2 " DROP "\nCOMMIT\n"
static const char jump_first[] = OUTPUT_RULES;
static const char jump_again[] = "-D OUTPUT " JUMP "\n-D OUTPUT " DROP "\n" OUTPUT_RULES;

static void assert_text(enum netrules_family family, const struct netrules_spec *spec,
                        const char *const parts[])
{
    cleanup_free char *text = NULL;
    const char *at;

    assert_int_equal(netrules_text(family, spec, &text), 0);
    at = text;
    for (size_t i = 0; parts[i]; i++) {
        size_t len = strlen(parts[i]);

        if (strncmp(at, parts[i], len) != 0)
            fail_msg("part %zu: expected\n%sgot\n%s", i, parts[i], at);
        at += len;
    }
    assert_string_equal(at, "");
}

static struct in_addr two4[2];
static struct in6_addr one6[1];

static struct netrules_spec spec_with_resolvers(void)
{
    assert_int_equal(inet_pton(AF_INET, "127.0.0.53", &two4[0]), 1);
    assert_int_equal(inet_pton(AF_INET, "10.1.2.3", &two4[1]), 1);
    assert_int_equal(inet_pton(AF_INET6, "fd00::53", &one6[0]), 1);
    return (struct netrules_spec){
        .resolvers4 = two4, .resolver4_count = 2, .resolvers6 = one6, .resolver6_count = 1};
}

static void the_first_load_adds_the_jump(void **state)
{
    struct netrules_spec spec = {0};

    (void)state;
    assert_text(NETRULES_V4, &spec,
                (const char *const[]){head4, body4, tail, reject4, jump_first, NULL});
    assert_text(NETRULES_V6, &spec,
                (const char *const[]){head6, body6, tail, reject6, jump_first, NULL});
}

static void a_later_load_moves_the_jump_to_line_1(void **state)
{
    struct netrules_spec spec = {.jump_present = true, .drop_present = true};

    (void)state;
    assert_text(NETRULES_V4, &spec,
                (const char *const[]){head4, body4, tail, reject4, jump_again, NULL});
    assert_text(NETRULES_V6, &spec,
                (const char *const[]){head6, body6, tail, reject6, jump_again, NULL});
}

static void resolvers_are_open_on_port_53_after_replies_and_before_addresses(void **state)
{
    struct netrules_spec spec = spec_with_resolvers();

    (void)state;
    assert_text(NETRULES_V4, &spec,
                (const char *const[]){head4, resolvers4, body4, tail, reject4, jump_first, NULL});
    assert_text(NETRULES_V6, &spec,
                (const char *const[]){head6, resolvers6, body6, tail, reject6, jump_first, NULL});
}

static struct prefix prefix_of(const char *text)
{
    char fault[PREFIX_FAULT_SIZE];
    struct prefix p = {0};

    assert_int_equal(prefix_parse(text, &p, fault), 0);
    return p;
}

static void what_the_policy_denies_is_refused_before_anything_returns(void **state)
{
    const struct prefix denied[] = {prefix_of("168.63.129.16"), prefix_of("2001:db8:5::/48"),
                                    prefix_of("203.0.113.0/24"), prefix_of("2001:db8:1::9")};
    struct netrules_spec spec = spec_with_resolvers();

    (void)state;
    spec.denied = denied;
    spec.denied_count = 4;
    assert_text(NETRULES_V4, &spec,
                (const char *const[]){head4, resolvers4, body4,
                                      "-A ATELIER -d 168.63.129.16/32 -j ATELIER-NO\n"
                                      "-A ATELIER -d 203.0.113.0/24 -j ATELIER-NO\n",
                                      tail, reject4, jump_first, NULL});
    assert_text(NETRULES_V6, &spec,
                (const char *const[]){head6, resolvers6, body6,
                                      "-A ATELIER -d 2001:db8:5::/48 -j ATELIER-NO\n"
                                      "-A ATELIER -d 2001:db8:1::9/128 -j ATELIER-NO\n",
                                      tail, reject6, jump_first, NULL});
}

static void a_list_opens_nothing_but_itself_and_is_behind_all_refusals(void **state)
{
    const struct prefix denied[] = {prefix_of("203.0.113.0/24")};
    const struct netrules_allowed allowed[] = {
        {.prefix = prefix_of("198.51.100.2"), .port = 443},
        {.prefix = prefix_of("2001:db8:1::/64")},
        {.prefix = prefix_of("203.0.112.0/23")},
        {.prefix = prefix_of("10.9.0.2")}, /* whoever filled this in was wrong: it is refused */
    };
    struct netrules_spec spec = spec_with_resolvers();

    (void)state;
    spec.is_listed = true;
    assert_text(NETRULES_V4, &spec,
                (const char *const[]){head4, resolvers4, body4, no_mail, closed, reject4,
                                      jump_first, NULL});
    spec.denied = denied;
    spec.denied_count = 1;
    spec.allowed = allowed;
    spec.allowed_count = 4;
    assert_text(
        NETRULES_V4, &spec,
        (const char *const[]){head4, resolvers4, body4,
                              "-A ATELIER -d 203.0.113.0/24 -j ATELIER-NO\n", no_mail,
                              "-A ATELIER -d 198.51.100.2/32 -p tcp -m tcp --dport 443 -j RETURN\n"
                              "-A ATELIER -d 198.51.100.2/32 -p udp -m udp --dport 443 -j RETURN\n"
                              "-A ATELIER -d 203.0.112.0/23 -p tcp -j RETURN\n"
                              "-A ATELIER -d 203.0.112.0/23 -p udp -j RETURN\n"
                              "-A ATELIER -d 10.9.0.2/32 -p tcp -j RETURN\n"
                              "-A ATELIER -d 10.9.0.2/32 -p udp -j RETURN\n",
                              closed, reject4, jump_first, NULL});
    assert_text(NETRULES_V6, &spec,
                (const char *const[]){head6, resolvers6, body6, no_mail,
                                      "-A ATELIER -d 2001:db8:1::/64 -p tcp -j RETURN\n"
                                      "-A ATELIER -d 2001:db8:1::/64 -p udp -j RETURN\n",
                                      closed, reject6, jump_first, NULL});
    /* Where nothing is listed, a list has no influence. */
    spec.is_listed = false;
    spec.denied_count = 0;
    assert_text(NETRULES_V4, &spec,
                (const char *const[]){head4, resolvers4, body4, tail, reject4, jump_first, NULL});
}

static void the_largest_lists_fit_and_one_more_is_refused(void **state)
{
    static struct prefix denied[NETRULES_DENIED_MAX + 1];
    static struct netrules_allowed allowed[NETRULES_ALLOWED_MAX + 1];
    static struct in6_addr many[NETRULES_RESOLVERS_MAX];
    char path[NETRULES_CGROUP_SIZE] = "";
    struct netrules_spec spec = {.resolvers6 = many,
                                 .resolver6_count = NETRULES_RESOLVERS_MAX,
                                 .denied = denied,
                                 .denied_count = NETRULES_DENIED_MAX,
                                 .is_listed = true,
                                 .allowed = allowed,
                                 .allowed_count = NETRULES_ALLOWED_MAX,
                                 .cgroup = path};
    char *text = NULL;

    (void)state;
    memset(path, 'a', sizeof(path) - 1);
    for (size_t i = 0; i < sizeof(denied) / sizeof(denied[0]); i++)
        denied[i] = prefix_of("2001:db8:1111:2222:3333:4444:5555:6666");
    for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++)
        allowed[i] = (struct netrules_allowed){.prefix = denied[0], .port = 65535};
    for (size_t i = 0; i < NETRULES_RESOLVERS_MAX; i++)
        assert_int_equal(inet_pton(AF_INET6, "2001:db8:1111:2222:3333:4444:5555:6666", &many[i]),
                         1);
    assert_int_equal(netrules_text(NETRULES_V6, &spec, &text), 0);
    assert_non_null(strstr(text, "\nCOMMIT\n"));
    free(text);
    text = NULL;
    spec.denied_count++;
    assert_int_equal(netrules_text(NETRULES_V6, &spec, &text), -E2BIG);
    spec.denied_count--;
    spec.allowed_count++;
    assert_int_equal(netrules_text(NETRULES_V6, &spec, &text), -E2BIG);
    assert_null(text);
}

#define GROUP "-m cgroup --path atelier.slice/users -j ATELIER"

static void the_jump_by_control_group_is_line_2(void **state)
{
    char stale[256] = "";
    struct netrules_spec spec = {.cgroup = "atelier.slice/users"};

    (void)state;
    assert_text(NETRULES_V4, &spec,
                (const char *const[]){head4, body4, tail, reject4,
                                      "-I OUTPUT 1 " JUMP "\n-I OUTPUT 2 " GROUP
                                      "\n-I OUTPUT 3 " DROP "\nCOMMIT\n",
                                      NULL});
    /* What an earlier one has left goes, whatever its path, and though there is none now. */
    assert_true(netrules_stale("-A OUTPUT " GROUP "\n", stale, sizeof(stale)));
    assert_true(netrules_stale("-A OUTPUT -m cgroup --path old -j ATELIER", stale, sizeof(stale)));
    spec.jump_present = spec.drop_present = true;
    spec.cgroup_stale = stale;
    assert_text(NETRULES_V6, &spec,
                (const char *const[]){head6, body6, tail, reject6,
                                      "-D OUTPUT " JUMP "\n-D OUTPUT " GROUP
                                      "\n-D OUTPUT -m cgroup --path old -j ATELIER\n-D OUTPUT " DROP
                                      "\n-I OUTPUT 1 " JUMP "\n-I OUTPUT 2 " GROUP
                                      "\n-I OUTPUT 3 " DROP "\nCOMMIT\n",
                                      NULL});
    spec.cgroup = NULL;
    assert_text(NETRULES_V6, &spec,
                (const char *const[]){head6, body6, tail, reject6,
                                      "-D OUTPUT " JUMP "\n-D OUTPUT " GROUP
                                      "\n-D OUTPUT -m cgroup --path old -j ATELIER\n-D OUTPUT " DROP
                                      "\n" OUTPUT_RULES,
                                      NULL});
}

static void rules_of_others_are_not_taken_for_stale(void **state)
{
    static const char *const others[] = {
        "-A OUTPUT -m cgroup --path old -j ACCEPT",
        "-A OUTPUT -m cgroup --path old -j ATELIER-NO",
        "-A INPUT -m cgroup --path old -j ATELIER",
        "-A OUTPUT " JUMP,
        "-A OUTPUT -m cgroup --cgroup 7 -j ATELIER",
        ":OUTPUT ACCEPT [0:0]",
        "",
    };
    char stale[16] = "";

    (void)state;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        assert_false(netrules_stale(others[i], stale, sizeof(stale)));
    /* Without room it is one all the same, and half of it is not taken. */
    assert_true(netrules_stale("-A OUTPUT -m cgroup --path old -j ATELIER", stale, sizeof(stale)));
    assert_string_equal(stale, "");
}

static void a_path_that_needs_quotes_is_no_group_of_a_rule(void **state)
{
    static const char *const bad[] = {"",        "/",    "a b", "a\"b",    "a'b",
                                      "a\\x2db", "a\nb", "a;b", "\xc3\xa9"};
    struct netrules_spec spec = {0};
    char *text = NULL;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        spec.cgroup = bad[i];
        assert_non_null(netrules_cgroup_fault(bad[i]));
        assert_int_equal(netrules_text(NETRULES_V4, &spec, &text), -EINVAL);
    }
    assert_null(netrules_cgroup_fault("atelier.slice/atelier-users@1.service:x_y-z"));
    assert_null(text);
}

static void the_jump_covers_the_range_of_ids_h(void **state)
{
    char expected[128];

    (void)state;
    (void)snprintf(expected, sizeof(expected), "-m owner --uid-owner %u-%u -j %s", ID_NET_MIN,
                   ID_NET_MAX, NETRULES_CHAIN);
    assert_string_equal(netrules_jump(), expected);
    assert_string_equal(netrules_drop(), DROP);
}

static void an_address_that_is_no_resolver_is_refused(void **state)
{
    static const char *const bad4[] = {"0.0.0.0", "0.1.2.3", "224.0.0.1", "255.255.255.255"};
    static const char *const bad6[] = {"::", "ff02::1", "::ffff:10.0.0.1"};
    struct netrules_spec spec = {.resolvers4 = two4, .resolver4_count = 1};
    char *text = NULL;

    (void)state;
    for (size_t i = 0; i < sizeof(bad4) / sizeof(bad4[0]); i++) {
        assert_int_equal(inet_pton(AF_INET, bad4[i], &two4[0]), 1);
        assert_int_equal(netrules_text(NETRULES_V4, &spec, &text), -EINVAL);
    }
    spec = (struct netrules_spec){.resolvers6 = one6, .resolver6_count = 1};
    for (size_t i = 0; i < sizeof(bad6) / sizeof(bad6[0]); i++) {
        assert_int_equal(inet_pton(AF_INET6, bad6[i], &one6[0]), 1);
        assert_int_equal(netrules_text(NETRULES_V6, &spec, &text), -EINVAL);
    }
    assert_null(text);
}

static void the_largest_number_of_resolvers_fits_and_one_more_is_refused(void **state)
{
    struct in6_addr many[NETRULES_RESOLVERS_MAX + 1];
    struct netrules_spec spec = {.resolvers6 = many, .resolver6_count = NETRULES_RESOLVERS_MAX};
    char *text = NULL;

    (void)state;
    for (size_t i = 0; i <= NETRULES_RESOLVERS_MAX; i++)
        assert_int_equal(inet_pton(AF_INET6, "2001:db8:1111:2222:3333:4444:5555:6666", &many[i]),
                         1);
    assert_int_equal(netrules_text(NETRULES_V6, &spec, &text), 0);
    free(text);
    text = NULL;
    spec.resolver6_count++;
    assert_int_equal(netrules_text(NETRULES_V6, &spec, &text), -EINVAL);
    assert_null(text);
}

static void the_revision_follows_the_rules_and_not_the_way_they_are_loaded(void **state)
{
    struct netrules_spec plain = {0}, again = {.jump_present = true, .drop_present = true};
    struct netrules_spec with = spec_with_resolvers(), only4 = with;
    uint32_t a = 0, b = 0, c = 0, d = 0;

    (void)state;
    only4.resolver6_count = 0;
    assert_int_equal(netrules_revision(&plain, &a), 0);
    assert_int_equal(netrules_revision(&again, &b), 0);
    assert_int_equal(netrules_revision(&with, &c), 0);
    assert_int_equal(netrules_revision(&only4, &d), 0);
    assert_int_not_equal(a, 0);
    assert_int_equal(a, b);
    assert_int_not_equal(a, c);
    assert_int_not_equal(a, d);
    assert_int_not_equal(c, d);

    /* And what the policy says. */
    plain.is_listed = true;
    assert_int_equal(netrules_revision(&plain, &b), 0);
    assert_int_not_equal(a, b);
    plain.cgroup = "users";
    assert_int_equal(netrules_revision(&plain, &c), 0);
    assert_int_not_equal(b, c);
    plain.cgroup_stale = "-D OUTPUT -m cgroup --path users -j ATELIER\n";
    assert_int_equal(netrules_revision(&plain, &d), 0);
    assert_int_equal(c, d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_load_adds_the_jump),
        cmocka_unit_test(a_later_load_moves_the_jump_to_line_1),
        cmocka_unit_test(resolvers_are_open_on_port_53_after_replies_and_before_addresses),
        cmocka_unit_test(what_the_policy_denies_is_refused_before_anything_returns),
        cmocka_unit_test(a_list_opens_nothing_but_itself_and_is_behind_all_refusals),
        cmocka_unit_test(the_largest_lists_fit_and_one_more_is_refused),
        cmocka_unit_test(the_jump_by_control_group_is_line_2),
        cmocka_unit_test(rules_of_others_are_not_taken_for_stale),
        cmocka_unit_test(a_path_that_needs_quotes_is_no_group_of_a_rule),
        cmocka_unit_test(the_jump_covers_the_range_of_ids_h),
        cmocka_unit_test(an_address_that_is_no_resolver_is_refused),
        cmocka_unit_test(the_largest_number_of_resolvers_fits_and_one_more_is_refused),
        cmocka_unit_test(the_revision_follows_the_rules_and_not_the_way_they_are_loaded),
    };

    return cmocka_run_group_tests_name("netrules", tests, NULL, NULL);
}
