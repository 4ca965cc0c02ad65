/* SPDX-License-Identifier: ISC */
/* test_net_news.c - which changes of a firewall the kernel tells, and which of them are ours. */
#include "sessiond/monitor/net_news.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "common/cleanup.h"
#include "tests/unit/netrules_lab.h"

#include "common/banned.h"

static int news_make(void **state)
{
    int fd;

    lab_make(state);
    tool("iptables-%s -w 5 -A OUTPUT -j RETURN", lab_backend);
    tool("ip6tables-%s -w 5 -A OUTPUT -j RETURN", lab_backend);
    fd = net_news_open();
    assert_true(fd >= 0);
    return fd;
}

static bool has_news(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};

    return poll(&p, 1, 0) == 1;
}

static void a_change_of_our_tables_is_news(void **state)
{
    static const char *const words[] = {"iptables-nft -w 5 -I OUTPUT 1 -j ACCEPT",
                                        "iptables-nft -w 5 -D OUTPUT 1",
                                        "ip6tables-nft -w 5 -N OTHER",
                                        "ip6tables-nft -w 5 -X OTHER",
                                        "iptables-nft -w 5 -P OUTPUT DROP",
                                        "ip6tables-nft -w 5 -F",
                                        "nft add table inet atelier",
                                        "nft add set inet atelier tried { type uid; }",
                                        "nft delete table inet atelier"};
    cleanup_close int fd = news_make(state);

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        assert_false(has_news(fd));
        tool("%s", words[i]);
        assert_true(has_news(fd));
        if (!net_news_read(fd))
            fail_msg("no news: %s", words[i]);
    }
    assert_false(net_news_read(fd));
}

static void a_change_of_other_tables_is_none(void **state)
{
    static const char *const words[] = {"iptables-nft -w 5 -t nat -A OUTPUT -j RETURN",
                                        "ip6tables-nft -w 5 -t mangle -A OUTPUT -j RETURN",
                                        "iptables-nft -w 5 -t raw -N OTHER",
                                        "nft add table inet filter",
                                        "nft add table inet atelier2",
                                        "nft add table ip atelier"};
    cleanup_close int fd = news_make(state);

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        tool("%s", words[i]);
        assert_true(has_news(fd)); /* there is something to take for news */
        if (net_news_read(fd))
            fail_msg("news: %s", words[i]);
        assert_false(has_news(fd));
    }
    tool("iptables-nft -w 5 -F OUTPUT"); /* and it still listens */
    assert_true(net_news_read(fd));
}

static void what_was_lost_is_news(void **state)
{
    char text[OUTPUT_SIZE] = "*nat\n", output[OUTPUT_SIZE];
    cleanup_close int fd = news_make(state);

    for (int i = 0; strlen(text) + 128 < sizeof(text); i++)
        (void)snprintf(text + strlen(text), sizeof(text) - strlen(text),
                       "-A OUTPUT -d 10.0.0.%d -j RETURN\n", i % 256);
    (void)snprintf(text + strlen(text), sizeof(text) - strlen(text), "COMMIT\n");
    assert_int_equal(tool_run("iptables-nft-restore -w 5 --noflush", text, output), 0);
    assert_false(net_news_read(fd)); /* it was much, but all of it came */
    while (net_news_read(fd))
        continue;
    for (int i = 0; i < 16; i++)
        assert_int_equal(tool_run("iptables-nft-restore -w 5 --noflush", text, output), 0);
    assert_true(net_news_read(fd));
}

/* So it has to be looked at. */
static void a_legacy_table_changes_without_a_word(void **state)
{
    cleanup_close int fd = news_make(state);

    tool("iptables-legacy -w 5 -F OUTPUT");
    assert_false(has_news(fd));
    tool("iptables-nft -w 5 -A OUTPUT -j RETURN");
    assert_true(has_news(fd));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        {"a_change_of_our_tables_is_news", a_change_of_our_tables_is_news, NULL, NULL,
         (char[]){"nft"}},
        {"a_change_of_other_tables_is_none", a_change_of_other_tables_is_none, NULL, NULL,
         (char[]){"nft"}},
        {"what_was_lost_is_news", what_was_lost_is_news, NULL, NULL, (char[]){"nft"}},
        {"a_legacy_table_changes_without_a_word", a_legacy_table_changes_without_a_word, NULL, NULL,
         (char[]){"legacy"}},
    };

    return cmocka_run_group_tests_name("net_news", tests, NULL, NULL);
}
