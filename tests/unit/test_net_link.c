/* SPDX-License-Identifier: ISC */
/* test_net_link.c - which routes are networks that the host is in, and that changes are told. */
#include "sessiond/monitor/net_link.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/cleanup.h"
#include "tests/unit/netrules_lab.h"

#include "common/banned.h"

#define ROOM 32

/* All of them, with a blank behind each; sorted as text. */
static void assert_links(const char *want)
{
    struct prefix links[ROOM];
    char texts[ROOM][PREFIX_TEXT_SIZE], all[ROOM * PREFIX_TEXT_SIZE] = "";
    int n = net_link_list(links, ROOM);
    size_t used = 0;

    assert_true(n >= 0);
    for (int i = 0; i < n; i++)
        prefix_text(&links[i], texts[i]);
    qsort(texts, (size_t)n, sizeof(texts[0]), (int (*)(const void *, const void *))strcmp);
    for (int i = 0; i < n; i++)
        used += (size_t)snprintf(all + used, sizeof(all) - used, "%s ", texts[i]);
    assert_string_equal(all, want);
}

#define LAB "198.51.100.0/24 2001:db8:1::/64 "

static void what_has_no_gateway_is_a_network_of_the_host(void **state)
{
    static const struct {
        const char *route, *links; /* with that of the lab's addresses */
    } rows[] = {
        {"192.0.2.0/24 dev h0", "192.0.2.0/24 " LAB},
        {"192.0.2.0/24 dev h0 table 100", "192.0.2.0/24 " LAB},
        {"192.0.2.7/32 dev h0", "192.0.2.7 " LAB},
        {"198.51.100.128/25 dev h0", LAB},
        {"198.51.0.0/16 dev h0", "198.51.0.0/16 2001:db8:1::/64 "},
        {"192.0.2.0/24 nexthop via 198.51.100.2 nexthop dev h0", "192.0.2.0/24 " LAB},
        {"192.0.2.0/24 via 198.51.100.2", LAB},
        {"192.0.2.0/24 nexthop via 198.51.100.2 nexthop via 198.51.100.3", LAB},
        {"192.0.2.0/24 via inet6 2001:db8:1::2 dev h0", LAB},
        {"blackhole 192.0.2.0/24", LAB},
        {"unreachable 192.0.2.0/24", LAB},
        {"0.0.0.0/1 dev h0", LAB},
        {"10.0.0.0/8 dev h0", LAB},
        {"172.20.0.0/16 dev h0", LAB},
    };
    static const struct {
        const char *route, *links;
    } rows6[] = {
        {"2001:db8:7::/48 dev h0", "198.51.100.0/24 2001:db8:1::/64 2001:db8:7::/48 "},
        {"2001:db8:7::/48 via 2001:db8:1::2", LAB},
        {"2000::/3 dev h0", LAB},
        {"fd00:7::/48 dev h0", LAB},
        {"2001:db8::/32 dev h0", "198.51.100.0/24 2001:db8::/32 "},
    };

    lab_make(state);
    assert_links(LAB);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        tool("ip route add %s", rows[i].route);
        assert_links(rows[i].links);
        tool("ip route del %s", rows[i].route);
        assert_links(LAB);
    }
    for (size_t i = 0; i < sizeof(rows6) / sizeof(rows6[0]); i++) {
        tool("ip -6 route add %s", rows6[i].route);
        assert_links(rows6[i].links);
        tool("ip -6 route del %s", rows6[i].route);
    }
    assert_links(LAB);
}

static void more_than_there_is_room_for_are_counted_up_to_it(void **state)
{
    struct prefix links[ROOM];

    lab_make(state);
    for (int i = 0; i < 40; i++)
        tool("ip route add 192.0.%d.0/24 dev h0", 2 + i * 2);
    assert_int_equal(net_link_list(links, ROOM), ROOM);
    assert_int_equal(net_link_list(links, 1), 1);
}

static bool has_news(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};

    return poll(&p, 1, 1000) == 1;
}

static void a_change_is_told(void **state)
{
    static const char *const words[] = {"ip route add 192.0.2.0/24 dev h0",
                                        "ip route del 192.0.2.0/24 dev h0",
                                        "ip addr add 192.0.2.1/24 dev h0",
                                        "ip addr del 192.0.2.1/24 dev h0",
                                        "ip -6 route add 2001:db8:7::/48 dev h0",
                                        "ip link set h0 down",
                                        "ip link set h0 up"};

    lab_make(state);
    cleanup_close int fd = net_link_open();

    assert_true(fd >= 0);
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        (void)net_link_read(fd);
        tool("%s", words[i]);
        if (!has_news(fd) || !net_link_read(fd))
            fail_msg("no news: %s", words[i]);
    }
    /* Down, it took its IPv4 network with it; IPv6's have to be made anew by whoever made them. */
    tool("ip link set h0 down");
    assert_links("");
}

/* --- messages ------------------------------------------------------------------------------ */

struct message {
    struct nlmsghdr head;
    struct rtmsg route;
    unsigned char attrs[128];
};

static struct message message_of(uint8_t bits)
{
    struct message m = {
        .head = {.nlmsg_type = RTM_NEWROUTE, .nlmsg_len = sizeof(m.head) + sizeof(m.route)},
        .route = {.rtm_family = AF_INET, .rtm_type = RTN_UNICAST, .rtm_dst_len = bits}};
    return m;
}

static void attr_add(struct message *m, uint16_t type, const void *data, uint16_t size)
{
    struct rtattr a = {.rta_type = type, .rta_len = (uint16_t)(sizeof(a) + size)};
    size_t at = m->head.nlmsg_len - sizeof(m->head) - sizeof(m->route);

    memcpy(m->attrs + at, &a, sizeof(a));
    memcpy(m->attrs + at + sizeof(a), data, size);
    m->head.nlmsg_len += RTA_ALIGN(a.rta_len);
}

static void a_message_is_read_no_further_than_it_is_long(void **state)
{
    const uint8_t dst[] = {192, 0, 2, 0}, gateway[] = {198, 51, 100, 2};
    struct prefix p, before = {.bits = 99};
    struct message m = message_of(24);

    (void)state;
    attr_add(&m, RTA_DST, dst, sizeof(dst));
    assert_true(net_link_route(&m.head, &p));
    assert_int_equal(p.bits, 24);
    assert_memory_equal(p.bytes, dst, sizeof(dst));
    attr_add(&m, RTA_GATEWAY, gateway, sizeof(gateway));
    p = before;
    assert_false(net_link_route(&m.head, &p));
    assert_memory_equal(&p, &before, sizeof(p));
    /* Attributes that say that they are longer than the message, or shorter than themselves. */
    m = message_of(24);
    attr_add(&m, RTA_DST, dst, sizeof(dst));
    ((struct rtattr *)(void *)m.attrs)->rta_len = 60000;
    assert_false(net_link_route(&m.head, &p));
    ((struct rtattr *)(void *)m.attrs)->rta_len = 1;
    assert_false(net_link_route(&m.head, &p));
    m = message_of(33);
    assert_false(net_link_route(&m.head, &p));
    m = message_of(24);
    m.head.nlmsg_len = sizeof(m.head) + 2;
    assert_false(net_link_route(&m.head, &p));
    m.head.nlmsg_type = RTM_DELROUTE;
    assert_false(net_link_route(&m.head, &p));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        {"what_has_no_gateway_is_a_network_of_the_host",
         what_has_no_gateway_is_a_network_of_the_host, NULL, NULL, (char[]){"nft"}},
        {"more_than_there_is_room_for_are_counted_up_to_it",
         more_than_there_is_room_for_are_counted_up_to_it, NULL, NULL, (char[]){"nft"}},
        {"a_change_is_told", a_change_is_told, NULL, NULL, (char[]){"nft"}},
        cmocka_unit_test(a_message_is_read_no_further_than_it_is_long),
    };

    return cmocka_run_group_tests_name("net_link", tests, NULL, NULL);
}
