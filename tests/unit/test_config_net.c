/* SPDX-License-Identifier: ISC */
/* test_config_net.c - section network of the policy: prefixes, destinations, messages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "policy/policy.h"

#include "common/banned.h"

static char dir[] = "/tmp/atelier-config-net-XXXXXX";
static char file[sizeof(dir) + 16], part[sizeof(dir) + 32];
static struct policy policy, other;
static struct config_error error;

static int setup(void **state)
{
    (void)state;
    if (!mkdtemp(dir) || chmod(dir, 0755) < 0)
        return -1;
    (void)snprintf(file, sizeof(file), "%s/atelier.conf", dir);
    (void)snprintf(part, sizeof(part), "%s/conf.d", dir);
    return mkdir(part, 0755) == 0 && snprintf(part, sizeof(part), "%s/conf.d/a.conf", dir) > 0 ? 0
                                                                                               : -1;
}

static int teardown(void **state)
{
    (void)state;
    (void)unlink(file);
    (void)unlink(part);
    *strrchr(part, '/') = '\0';
    return rmdir(part) == 0 ? rmdir(dir) : -1;
}

static void put(const char *path, const char *text)
{
    FILE *f = fopen(path, "we");

    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, strlen(text), f), strlen(text));
    assert_int_equal(fclose(f), 0);
    assert_int_equal(chmod(path, 0644), 0);
}

static int read_text(const char *text, struct policy *ret_policy)
{
    put(file, text);
    return config_read_file(file, geteuid(), ret_policy, &error);
}

/* --- prefixes ------------------------------------------------------------------------------ */

static struct prefix prefix_of(const char *text)
{
    char fault[PREFIX_FAULT_SIZE] = "";
    struct prefix p = {0};

    if (prefix_parse(text, &p, fault) < 0)
        fail_msg("%s: %s", text, fault);
    return p;
}

static void a_prefix_is_read_and_written(void **state)
{
    static const char *const rows[][2] = {
        {"198.51.100.2", "198.51.100.2"},
        {"198.51.100.2/32", "198.51.100.2"},
        {"198.51.100.0/24", NULL},
        {"0.0.0.0/0", NULL},
        {"128.0.0.0/1", NULL},
        {"198.51.100.128/25", NULL},
        {"2001:db8::", NULL},
        {"2001:DB8:0:0::1/128", "2001:db8::1"},
        {"2001:db8:5::/48", NULL},
        {"::/0", NULL},
        {"2001:db8:0:0:8000::/65", NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct prefix p = prefix_of(rows[i][0]);
        char text[PREFIX_TEXT_SIZE];

        prefix_text(&p, text);
        assert_string_equal(text, rows[i][1] ? rows[i][1] : rows[i][0]);
    }
}

static void what_is_no_prefix_is_named(void **state)
{
    static const char *const rows[][2] = {
        {"", "'' is no address and no network"},
        {"198.51.100", "'198.51.100' is no address and no network"},
        {"198.51.100.256", "'198.51.100.256' is no address and no network"},
        {"198.51.100.02", "'198.51.100.02' is no address and no network"},
        {"0xc6336402", "'0xc6336402' is no address and no network"},
        {" 198.51.100.2", "' 198.51.100.2' is no address and no network"},
        {"fe80::1%eth0", "'fe80::1%eth0' is no address and no network"},
        {"2001:db8:::1", "'2001:db8:::1' is no address and no network"},
        {"example.com", "'example.com' is no address and no network"},
        {"198.51.100.0/", "'198.51.100.0/': behind the / is a number from 0 to 32"},
        {"198.51.100.0/33", "'198.51.100.0/33': behind the / is a number from 0 to 32"},
        {"198.51.100.0/024", "'198.51.100.0/024': behind the / is a number from 0 to 32"},
        {"198.51.100.0/255.255.255.0",
         "'198.51.100.0/255.255.255.0': behind the / is a number from 0 to 32"},
        {"2001:db8::/129", "'2001:db8::/129': behind the / is a number from 0 to 128"},
        {"198.51.100.2/24",
         "'198.51.100.2/24' has bits behind the prefix; the network is 198.51.100.0/24"},
        {"1.2.3.4/0", "'1.2.3.4/0' has bits behind the prefix; the network is 0.0.0.0/0"},
        {"2001:db8::1/64",
         "'2001:db8::1/64' has bits behind the prefix; the network is 2001:db8::/64"},
        {"::ffff:198.51.100.2", "'::ffff:198.51.100.2' travels as IPv4: write it as that"},
        {"::ffff:0.0.0.0/96", "'::ffff:0.0.0.0/96' travels as IPv4: write it as that"},
    };
    struct prefix p = {.bits = 7}, before = p;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char fault[PREFIX_FAULT_SIZE] = "";

        if (prefix_parse(rows[i][0], &p, fault) != -EINVAL)
            fail_msg("this is taken: %s", rows[i][0]);
        assert_string_equal(fault, rows[i][1]);
        assert_memory_equal(&p, &before, sizeof(p));
    }
}

static void a_network_holds_what_is_in_it(void **state)
{
    static const struct {
        const char *inner, *outer;
        bool is_within;
    } rows[] = {
        {"10.1.2.3", "10.0.0.0/8", true},
        {"10.0.0.0/8", "10.0.0.0/8", true},
        {"10.0.0.0/7", "10.0.0.0/8", false},
        {"11.0.0.0/8", "10.0.0.0/8", false},
        {"9.255.255.255", "10.0.0.0/8", false},
        {"1.2.3.4", "0.0.0.0/0", true},
        {"2001:db8::1", "0.0.0.0/0", false},
        {"2001:db8::1", "2001:db8::/127", true},
        {"2001:db8::2", "2001:db8::/127", false},
        {"::1", "::/0", true},
        {"198.51.100.129", "198.51.100.128/25", true},
        {"198.51.100.127", "198.51.100.128/25", false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct prefix inner = prefix_of(rows[i].inner), outer = prefix_of(rows[i].outer);

        assert_int_equal(prefix_is_within(&inner, &outer), rows[i].is_within);
    }
}

static void what_is_never_the_internet_is_known(void **state)
{
    static const char *const refused[] = {
        "0.0.0.0",         "10.9.0.2",        "10.0.0.0/8", "100.64.0.1",
        "127.0.0.1",       "169.254.169.254", "172.16.9.2", "172.31.255.255",
        "192.0.0.192",     "192.168.9.2",     "198.18.0.1", "224.0.0.1",
        "255.255.255.255", "240.0.0.0/4",     "::1",        "::",
        "fd00:9::2",       "fe80::1",         "ff02::1",    "64:ff9b::a09:2",
        "2001::1",         "2002:a09:2::1",   "4000::/3",
    };
    static const char *const open[] = {
        "198.51.100.2",  "203.0.113.9", "168.63.129.16", "8.0.0.0/7",  "172.32.0.0",
        "0.0.0.0/0",     "192.0.1.0",   "100.128.0.0",   "198.20.0.0", "2001:db8::1",
        "2001:db8::/32", "2000::/3",    "::/0",          "2003::1",    "2001::/16",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        struct prefix p = prefix_of(refused[i]);

        if (!prefix_refused(&p))
            fail_msg("this is open: %s", refused[i]);
    }
    for (size_t i = 0; i < sizeof(open) / sizeof(open[0]); i++) {
        struct prefix p = prefix_of(open[i]);

        if (prefix_refused(&p))
            fail_msg("this is refused: %s (%s)", open[i], prefix_refused(&p));
    }
}

/* --- destinations -------------------------------------------------------------------------- */

static void a_destination_is_read_and_written(void **state)
{
    static const struct {
        const char *text, *shown; /* NULL: the same */
        bool is_name;
        uint16_t port;
    } rows[] = {
        {"198.51.100.2", NULL, false, 0},
        {"198.51.100.2:443", NULL, false, 443},
        {"198.51.100.0/24", NULL, false, 0},
        {"198.51.100.0/24:65535", NULL, false, 65535},
        {"198.51.100.2/32:1", "198.51.100.2:1", false, 1},
        {"2001:db8:1::2", NULL, false, 0},
        {"[2001:db8:1::2]", "2001:db8:1::2", false, 0},
        {"[2001:db8:1::2]:443", NULL, false, 443},
        {"[2001:db8:1::/48]:443", NULL, false, 443},
        {"data.example", NULL, true, 0},
        {"Data.Example:443", "data.example:443", true, 443},
        {"xn--mller-kva.example", NULL, true, 0},
        {"1.2.3.4a", NULL, true, 0},
        {"3com.example:80", NULL, true, 80},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char fault[PREFIX_FAULT_SIZE] = "", text[POLICY_ALLOW_TEXT_SIZE];
        struct policy_allow allow;

        if (policy_allow_parse(rows[i].text, &allow, fault) < 0)
            fail_msg("%s: %s", rows[i].text, fault);
        policy_allow_text(&allow, text);
        assert_string_equal(text, rows[i].shown ? rows[i].shown : rows[i].text);
        assert_int_equal(allow.host[0] != '\0', rows[i].is_name);
        assert_int_equal(allow.port, rows[i].port);
    }
}

static void a_name_has_a_longest(void **state)
{
    char name[POLICY_HOST_SIZE + 8], fault[PREFIX_FAULT_SIZE];
    struct policy_allow allow;

    (void)state;
    memset(name, 'a', sizeof(name));
    for (size_t i = 49; i < sizeof(name); i += 50)
        name[i] = '.';
    name[POLICY_HOST_SIZE - 1] = '\0';
    assert_int_equal(policy_allow_parse(name, &allow, fault), 0);
    assert_string_equal(allow.host, name);
    name[POLICY_HOST_SIZE - 1] = 'a';
    name[POLICY_HOST_SIZE] = '\0';
    assert_int_equal(policy_allow_parse(name, &allow, fault), -EINVAL);
    memset(name, 'a', 63);
    assert_non_null(memcpy(name + 63, ".org", 5));
    assert_int_equal(policy_allow_parse(name, &allow, fault), 0);
    memset(name, 'a', 64);
    assert_non_null(memcpy(name + 64, ".org", 5));
    assert_int_equal(policy_allow_parse(name, &allow, fault), -EINVAL);
}

/* --- messages ------------------------------------------------------------------------------ */

static void what_is_wrong_is_named_with_its_line(void **state)
{
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"network {\n deny = {\"198.51.100.2/24\"}\n}",
         ":2: network: deny: '198.51.100.2/24' has bits behind the prefix; the network is "
         "198.51.100.0/24"},
        {"network {\n deny = {\"203.0.113.1\",\n \"example.com\"}\n}",
         ":3: network: deny: 'example.com' is no address and no network"},
        {"network {\n deny = {\"203.0.113.1\",\n \"203.0.113.1/32\"}\n}",
         ":3: network: deny: '203.0.113.1/32' is there twice"},
        {"network {\n deny = {\"203.0.113.1:80\"}\n}",
         ":2: network: deny: '203.0.113.1:80' is no address and no network"},
        {"network {\n deny_on_link = yes\n}",
         ":2: network: deny_on_link: 'yes' is neither false nor true"},
        {"network {\n egress = none\n}",
         ":2: network: egress: 'none' is neither public nor listed"},
        {"network {\n connections = 15\n}",
         ":2: network: connections: less than 16 is not possible"},
        {"network {\n connections = 65537\n}",
         ":2: network: connections: more than 65536 is not possible"},
        {"network {\n connections = 2K\n}", ":2: network: connections: '2K' is not a whole number"},
        {"network {\n allowed = {}\n}",
         ":2: network: there is no key 'allowed'; did you mean allow?"},
        {"network {\n deny = \"203.0.113.1\n}\n", ":2: a quote that is not closed"},
        {"profile network {\n base = run\n deny = {}\n}",
         ":3: profile network: there is no key 'deny'; it is a key of network"},
        {"network {\n egress = listed\n allow = {\"data.example:0\"}\n}",
         ":3: network: allow: 'data.example:0': a port is a number from 1 to 65535"},
        {"network {\n egress = listed\n allow = {\"data.example:65536\"}\n}",
         ":3: network: allow: 'data.example:65536': a port is a number from 1 to 65535"},
        {"network {\n egress = listed\n allow = {\"data.example:\"}\n}",
         ":3: network: allow: 'data.example:': a port is a number from 1 to 65535"},
        {"network {\n egress = listed\n allow = {\"data.example:https\"}\n}",
         ":3: network: allow: 'data.example:https': a port is a number from 1 to 65535"},
        {"network {\n egress = listed\n allow = {\"smtp.example:25\"}\n}",
         ":3: network: allow: 'smtp.example:25': port 25 is refused for everybody"},
        {"network {\n egress = listed\n allow = {\"198.51.100.2:25\"}\n}",
         ":3: network: allow: '198.51.100.2:25': port 25 is refused for everybody"},
        {"network {\n egress = listed\n allow = {\"*.example.com\"}\n}",
         ":3: network: allow: '*.example.com': a * cannot be looked up; list the names"},
        {"network {\n egress = listed\n allow = {\"m\xc3\xbcller.example\"}\n}",
         ":3: network: allow: 'm\xc3\xbcller.example' is not ASCII: write its form that begins "
         "with xn--"},
        {"network {\n egress = listed\n allow = {\"localhost\"}\n}",
         ":3: network: allow: 'localhost': a name needs its domain"},
        {"network {\n egress = listed\n allow = {\"data.example.\"}\n}",
         ":3: network: allow: 'data.example.' is no address and no name of a host"},
        {"network {\n egress = listed\n allow = {\"-a.example\"}\n}",
         ":3: network: allow: '-a.example' is no address and no name of a host"},
        {"network {\n egress = listed\n allow = {\"a_b.example\"}\n}",
         ":3: network: allow: 'a_b.example' is no address and no name of a host"},
        {"network {\n egress = listed\n allow = {\"a..example\"}\n}",
         ":3: network: allow: 'a..example' is no address and no name of a host"},
        {"network {\n egress = listed\n allow = {\"http://data.example\"}\n}",
         ":3: network: allow: 'http://data.example' is a URL: write the name of its host"},
        {"network {\n egress = listed\n allow = {\"data.example/24\"}\n}",
         ":3: network: allow: 'data.example/24' is no address and no name of a host"},
        {"network {\n egress = listed\n allow = {\"1.2.3\"}\n}",
         ":3: network: allow: '1.2.3' is no address and no network"},
        {"network {\n egress = listed\n allow = {\"a.1\"}\n}",
         ":3: network: allow: 'a.1' is no address and no name of a host"},
        {"network {\n egress = listed\n allow = {\"[198.51.100.2]:80\"}\n}",
         ":3: network: allow: '[198.51.100.2]:80': in [] are addresses of IPv6"},
        {"network {\n egress = listed\n allow = {\"[2001:db8::1\"}\n}",
         ":3: network: allow: '[2001:db8::1' is not [address]:port"},
        {"network {\n egress = listed\n allow = {\"[2001:db8::1]443\"}\n}",
         ":3: network: allow: '[2001:db8::1]443' is not [address]:port"},
        {"network {\n egress = listed\n allow = {\"198.51.100.2/24:80\"}\n}",
         ":3: network: allow: '198.51.100.2/24' has bits behind the prefix; the network is "
         "198.51.100.0/24"},
        {"network {\n egress = listed\n allow = {\"10.9.0.2:80\"}\n}",
         ":3: network: allow: '10.9.0.2:80' is refused for everybody (private, RFC 1918)"},
        {"network {\n egress = listed\n allow = {\"::1\"}\n}",
         ":3: network: allow: '::1' is refused for everybody (outside of 2000::/3, which is all of "
         "the Internet)"},
        {"network {\n egress = listed\n allow = {\"[fd00:9::2]:80\"}\n}",
         ":3: network: allow: '[fd00:9::2]:80' is refused for everybody (outside of 2000::/3, "
         "which "
         "is all of the Internet)"},
        {"network {\n egress = listed\n allow = {\"a.org\",\n\"A.org\"}\n}",
         ":4: network: allow: 'A.org' is there twice"},
        {"network {\n egress = listed\n allow = {\"203.0.113.0/25:80\"}\n deny = "
         "{\"198.51.100.2\", \"203.0.113.0/24\"}\n}",
         ":3: network: allow: '203.0.113.0/25:80' is refused by deny, which has 203.0.113.0/24"},
        {"network {\n allow = {\"data.example\"}\n}",
         ":2: network: allow: it counts with egress = listed only"},
    };

    (void)state;
    policy_defaults(&other);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        policy = other;
        if (read_text(rows[i].text, &policy) != -EINVAL)
            fail_msg("this is taken: %s", rows[i].text);
        assert_memory_equal(error.text, file, strlen(file));
        assert_string_equal(error.text + strlen(file), rows[i].message);
        assert_memory_equal(&policy, &other, sizeof(policy));
    }
}

static void a_list_has_an_end(void **state)
{
    char text[8192];

    (void)state;
    for (unsigned is_allow = 0; is_allow < 2; is_allow++) {
        for (unsigned n = 64; n <= 65; n++) {
            size_t used =
                (size_t)snprintf(text, sizeof(text), "network { egress = listed\n%s = {\n",
                                 is_allow ? "allow" : "deny");

            for (unsigned i = 0; i < n; i++)
                used += (size_t)snprintf(text + used, sizeof(text) - used, "%s\"203.0.113.%u\"\n",
                                         i > 0 ? "," : "", i);
            (void)snprintf(text + used, sizeof(text) - used, "}\n}\n");
            assert_int_equal(read_text(text, &policy), n == 64 ? 0 : -EINVAL);
        }
        assert_string_equal(error.text + strlen(file),
                            is_allow ? ":67: network: allow: more than 64 entries"
                                     : ":67: network: deny: more than 64 entries");
    }
}

/* --- all of it ----------------------------------------------------------------------------- */

static const char full[] = "network {\n deny = {\"168.63.129.16\", \"203.0.113.0/24\", "
                           "\"2001:db8:5::/48\"}\n deny_on_link = true\n egress = listed\n"
                           " allow = {\"data.example:443\", \"198.51.100.0/24\", "
                           "\"[2001:db8:1::2]:443\", \"203.0.112.0/23\"}\n connections = 100\n}\n";

static void what_is_shown_is_read_back_as_the_same(void **state)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f;

    (void)state;
    assert_int_equal(read_text(full, &policy), 0);
    assert_true(policy.net.deny_on_link);
    assert_int_equal(policy.net.egress, POLICY_EGRESS_LISTED);
    assert_int_equal(policy.net.connections, 100);
    assert_int_equal(policy.net.deny_count, 3);
    assert_int_equal(policy.net.allow_count, 4);
    assert_string_equal(policy.net.allow[0].host, "data.example");
    assert_int_equal(policy.net.allow[0].port, 443);
    f = open_memstream(&text, &size);
    assert_non_null(f);
    assert_int_equal(policy_show(&policy, f), 0);
    assert_int_equal(fclose(f), 0);
    assert_non_null(strstr(text, "    deny = {\"168.63.129.16\", \"203.0.113.0/24\", "
                                 "\"2001:db8:5::/48\"}\n"));
    assert_int_equal(read_text(text, &other), 0);
    assert_memory_equal(&policy, &other, sizeof(policy));
    free(text);
}

static void of_several_files_the_last_counts_key_by_key(void **state)
{
    (void)state;
    put(file, full);
    put(part, "network { deny = {\"203.0.113.7\"}\n allow = {}\n egress = public }\n");
    assert_int_equal(config_read(dir, geteuid(), &policy, &error), 0);
    assert_int_equal(policy.net.deny_count, 1);
    assert_int_equal(policy.net.allow_count, 0);
    assert_int_equal(policy.net.egress, POLICY_EGRESS_PUBLIC);
    assert_true(policy.net.deny_on_link);
    assert_int_equal(policy.net.connections, 100);
    /* Nothing of the longer list is left behind the shorter one. */
    memset(&other.net.deny, 0, sizeof(other.net.deny));
    assert_memory_equal(policy.net.deny + 1, other.net.deny + 1, 63 * sizeof(other.net.deny[0]));

    /* Across files, too, it is the allowed one that is blamed, where it is said. */
    put(part, "\nnetwork { deny = {\"198.51.0.0/16\"} }\n");
    assert_int_equal(config_read(dir, geteuid(), &policy, &error), -EINVAL);
    assert_string_equal(error.text + strlen(file),
                        ":5: network: allow: '198.51.100.0/24' is refused by deny, which has "
                        "198.51.0.0/16");
    put(part, "network { deny = {} }\n");
    assert_int_equal(config_read(dir, geteuid(), &policy, &error), 0);
    assert_int_equal(policy.net.deny_count, 0);
    assert_int_equal(policy.net.allow_count, 4);
}

static void nothing_said_is_what_is_shipped(void **state)
{
    (void)state;
    assert_int_equal(read_text("network {\n}\n", &policy), 0);
    policy_defaults(&other);
    assert_memory_equal(&policy, &other, sizeof(policy));
    assert_false(policy.net.deny_on_link);
    assert_int_equal(policy.net.egress, POLICY_EGRESS_PUBLIC);
    assert_int_equal(policy.net.deny_count, 0);
    assert_int_equal(policy.net.allow_count, 0);
    assert_int_equal(policy.net.connections, 2048);
}

static void the_manual_has_each_key_and_what_is_shipped(void **state)
{
    static char manual[65536];
    int fd = open(SOURCE_DIR "/man/atelier.conf.5", O_RDONLY | O_CLOEXEC);

    (void)state;
    assert_true(fd >= 0);
    assert_true(read(fd, manual, sizeof(manual) - 1) > 0);
    assert_int_equal(close(fd), 0);
    for (unsigned key = 0; key < POLICY_NET_KEY__COUNT; key++) {
        const struct policy_net_key_info *k = &policy_net_keys[key];
        char row[128], shipped[16] = "Brq";

        if (k->type == POLICY_NET_YES_NO)
            (void)snprintf(shipped, sizeof(shipped), "%s", k->shipped ? "true" : "false");
        if (k->type == POLICY_NET_EGRESS)
            (void)snprintf(shipped, sizeof(shipped), "%s", k->shipped ? "listed" : "public");
        if (k->type == POLICY_NET_COUNT)
            (void)snprintf(shipped, sizeof(shipped), "%u", k->shipped);
        (void)snprintf(row, sizeof(row), "\n.It Cm %s No = %s\n", k->name, shipped);
        if (!strstr(manual, row))
            fail_msg("not in the manual: %s", row);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_prefix_is_read_and_written),
        cmocka_unit_test(what_is_no_prefix_is_named),
        cmocka_unit_test(a_network_holds_what_is_in_it),
        cmocka_unit_test(what_is_never_the_internet_is_known),
        cmocka_unit_test(a_destination_is_read_and_written),
        cmocka_unit_test(a_name_has_a_longest),
        cmocka_unit_test(what_is_wrong_is_named_with_its_line),
        cmocka_unit_test(a_list_has_an_end),
        cmocka_unit_test(what_is_shown_is_read_back_as_the_same),
        cmocka_unit_test(of_several_files_the_last_counts_key_by_key),
        cmocka_unit_test(nothing_said_is_what_is_shipped),
        cmocka_unit_test(the_manual_has_each_key_and_what_is_shipped),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
