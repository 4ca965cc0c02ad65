/* SPDX-License-Identifier: ISC */
/* test_ctl_setup_host.c - what setup reads out of the host's files and programs, and its arguments.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "ctl/cmd.h"
#include "ctl/setup/accounts.h"
#include "ctl/setup/diff.h"
#include "ctl/setup/host.h"
#include "ctl/setup/nftables.h"
#include "ctl/setup/pam.h"
#include "ctl/setup/program.h"
#include "ctl/setup/sshd.h"
#include "ctl/setup/step.h"
#include "ctl/setup/units.h"

#include "common/banned.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct text text(const char *s)
{
    return text_of(s, strlen(s));
}

static void two_releases_are_known(void **state)
{
    cleanup_text struct text bookworm = text("PRETTY_NAME=\"x\"\nVERSION_ID=\"12\"\nID=debian\n");
    cleanup_text struct text ubuntu = text("ID=ubuntu\nID_LIKE=debian\nVERSION_ID=\"24.04\"\n");
    cleanup_text struct text sid = text("ID=debian\n");
    cleanup_text struct text eleven = text("ID=debian\nVERSION_ID=\"11\"\n");
    struct complaint why = {0};

    (void)state;
    assert_int_equal(release_is_known(&bookworm, &why), 0);
    assert_int_equal(release_is_known(&eleven, &why), -EINVAL);
    assert_int_equal(release_is_known(&sid, &why), -EINVAL);
    assert_int_equal(release_is_known(&ubuntu, &why), -EINVAL);
    assert_non_null(strstr(why.what, "ubuntu"));
    assert_true(kernel_is_known("6.1.0-49-cloud-amd64"));
    assert_true(kernel_is_known("5.14"));
    assert_false(kernel_is_known("5.13.9"));
    assert_false(kernel_is_known("4.19.0"));
    assert_false(kernel_is_known("x"));
    assert_true(has_word("cpuset cpu io memory pids\n", "cpu"));
    assert_false(has_word("cpuset io memory\n", "cpu"));
}

static void ids_of_participants_are_found_in_every_file(void **state)
{
    cleanup_text struct text passwd =
        text("root:x:0:0::/:/bin/sh\n+::::::\nnobody:x:65534:65534::/:/x\nlv:x:64055:106::/:/x\n"
             "eve:x:1001:10000::/:/x\nmax:x:59999:1::/:/x\nodd:x:99999999999:1::/:/x\n");
    cleanup_text struct text group = text("a:x:9999:\nb:x:10000:m\nc:x:60000:\n");
    cleanup_text struct text subs =
        text("a:100000:65536\nb:5000:5000\nc:5000:5001\nd:60000:1\ne:0:4294967295\nf:20000:0\n");
    struct line line = {0};
    struct complaint why;
    uint32_t id;

    (void)state;
    assert_true(accounts_in_range(&passwd, ACCOUNTS_PASSWD, 10000, 59999, &line, &why));
    assert_int_equal(why.line, 5);
    assert_non_null(strstr(why.what, "eve has the id 10000"));
    assert_true(accounts_in_range(&passwd, ACCOUNTS_PASSWD, 10000, 59999, &line, &why));
    assert_int_equal(why.line, 6);
    assert_false(accounts_in_range(&passwd, ACCOUNTS_PASSWD, 10000, 59999, &line, &why));
    line = (struct line){0};
    assert_true(accounts_in_range(&group, ACCOUNTS_GROUP, 10000, 59999, &line, &why));
    assert_int_equal(why.line, 2);
    assert_false(accounts_in_range(&group, ACCOUNTS_GROUP, 10000, 59999, &line, &why));
    line = (struct line){0};
    assert_true(accounts_in_range(&subs, ACCOUNTS_SUBIDS, 10000, 59999, &line, &why));
    assert_int_equal(why.line, 3);
    assert_true(accounts_in_range(&subs, ACCOUNTS_SUBIDS, 10000, 59999, &line, &why));
    assert_int_equal(why.line, 5);
    assert_false(accounts_in_range(&subs, ACCOUNTS_SUBIDS, 10000, 59999, &line, &why));
    assert_int_equal(account_find(&passwd, "lv", &id, &line), 0);
    assert_int_equal(id, 64055);
    assert_int_equal(line.number, 4);
    assert_int_equal(account_find(&passwd, "l", &id, NULL), -ENOENT);
    assert_int_equal(account_find(&passwd, "odd", &id, NULL), -EINVAL);
}

static void accounts_of_others_are_not_taken_for_ours(void **state)
{
    static const struct {
        const char *after;
        bool is_ours;
    } texts[] = {
        {"root:x:0:\natelier-api:x:9:\nbin:x:2:\natelier:x:8:\n", true},
        {"root:x:0:\nbin:x:2:\n", true},
        {"root:x:0:\nbin:x:2:\nbob:x:3:\natelier:x:8:\n", false},
        {"root:x:0:\natelier:x:8:\n", false},
        {"root:x:0:\nbin:x:2:\natelier-two:x:8:\n", false},
        {"root:x:0:bob\nbin:x:2:\natelier:x:8:\n", false},
    };
    cleanup_text struct text before = text("root:x:0:\nbin:x:2:\n");

    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++) {
        cleanup_text struct text after = text(texts[i].after);

        assert_int_equal(accounts_only_added(&before, &after, ARGV("atelier", "atelier-api")),
                         texts[i].is_ours);
    }
}

static void drop_ins_of_sshd_have_to_be_read_by_everybody(void **state)
{
    static const char *const good[] = {
        "# c\n\nInclude /etc/ssh/sshd_config.d/*.conf\nMatch User x\n",
        "port 22\ninclude sshd_config.d/*.conf\n",
        "Include /etc/other.conf \"/etc/ssh/sshd_config.d/*.conf\"\n",
    };
    static const char *const bad[] = {
        "Port 22\n",
        "#Include /etc/ssh/sshd_config.d/*.conf\n",
        "Match User x\nInclude /etc/ssh/sshd_config.d/*.conf\n",
        "Include /etc/ssh/sshd_config.d/10-*.conf\n",
        "Include /etc/ssh/*.conf\n",
    };
    struct complaint why = {0};

    (void)state;
    for (size_t i = 0; i < COUNT(good); i++) {
        cleanup_text struct text t = text(good[i]);

        assert_int_equal(sshd_include_check(&t, SSHD_DROP_IN, &why), 0);
    }
    for (size_t i = 0; i < COUNT(bad); i++) {
        cleanup_text struct text t = text(bad[i]);

        assert_int_equal(sshd_include_check(&t, SSHD_DROP_IN, &why), -EINVAL);
    }
}

static void another_configuration_of_sshd_is_noticed(void **state)
{
    cleanup_text struct text plain = text("# SSHD_OPTS=-f x\nSSHD_OPTS=\n");
    cleanup_text struct text quiet = text("SSHD_OPTS=\"-o UseDNS=no\"\n");
    cleanup_text struct text other = text("\nSSHD_OPTS=\"-q -f /etc/own\"\n");
    struct complaint why = {0};

    (void)state;
    assert_int_equal(sshd_options_check(&plain, &why), 0);
    assert_int_equal(sshd_options_check(&quiet, &why), 0);
    assert_int_equal(sshd_options_check(&other, &why), -EINVAL);
    assert_int_equal(why.line, 2);
}

static void who_was_refused_has_to_stay_refused(void **state)
{
    cleanup_text struct text before =
        text("port 22\nusepam yes\ndenygroups guests\ndenyusers bob\n");
    cleanup_text struct text both =
        text("port 22\ndenyusers bob\ndenygroups guests\ndenygroups atelier-users\n");
    cleanup_text struct text ours = text("port 22\ndenyusers bob\ndenygroups atelier-users\n");
    cleanup_text struct text no = text("port 22\nusepam no\n");
    cleanup_free char *missing = sshd_denied_missing(&before, &ours);

    (void)state;
    assert_true(sshd_denies(&both, "atelier-users"));
    assert_false(sshd_denies(&before, "atelier-users"));
    assert_false(sshd_denies(&both, "atelier"));
    assert_null(sshd_denied_missing(&before, &both));
    assert_string_equal(missing, "denygroups guests");
    assert_true(sshd_uses_pam(&before));
    assert_false(sshd_uses_pam(&both));
    assert_false(sshd_uses_pam(&no));
}

static const char profile_text[] =
    "Name: x\nDefault: no\nAccount-Type: Additional\nAccount:\n"
    "\t[success=ignore default=1]\tpam_succeed_if.so quiet uid >= 1\n"
    "\trequisite\t\t\tpam_deny.so\n";

static void the_account_profile_is_found_where_it_is_whole(void **state)
{
    static const char head[] = "# c\naccount [success=1 default=ignore] pam_unix.so \n"
                               "account requisite pam_deny.so\naccount required pam_permit.so\n";
    static const struct {
        const char *tail;
        bool is_there;
    } tails[] = {
        {"account [success=ignore default=1]\tpam_succeed_if.so quiet uid >= 1\n"
         "account requisite pam_deny.so\n# end\n",
         true},
        {"", false},
        {"#account [success=ignore default=1] pam_succeed_if.so quiet uid >= 1\n"
         "account requisite pam_deny.so\n",
         false},
        {"account [success=ignore default=1] pam_succeed_if.so quiet uid >= 1\n", false},
        {"account [success=ignore default=1] pam_succeed_if.so quiet uid >= 2\n"
         "account requisite pam_deny.so\n",
         false},
        {"auth [success=ignore default=1] pam_succeed_if.so quiet uid >= 1\n"
         "auth requisite pam_deny.so\n",
         false},
    };
    cleanup_text struct text profile = text(profile_text);

    (void)state;
    for (size_t i = 0; i < COUNT(tails); i++) {
        cleanup_text struct text account = {0};
        FILE *out = text_begin(&account);

        (void)fprintf(out, "%s%s", head, tails[i].tail);
        text_end(&account, out);
        assert_int_equal(pam_has_profile(&account, &profile), tails[i].is_there);
    }
}

static void a_profile_that_is_enabled_is_known_without_its_file(void **state)
{
    cleanup_text struct text ours = text("Module: unix\n[x=1]\tpam_unix.so\nModule: atelier\nx\n");
    cleanup_text struct text others = text("Module: unix\natelier\n# Module: atelier\n");

    (void)state;
    assert_true(pam_is_enabled(&ours));
    assert_false(pam_is_enabled(&others));
}

static void a_used_table_is_never_taken_for_an_empty_one(void **state)
{
    static const char empty[] =
        "# x\n*filter\n:INPUT ACCEPT [0:0]\n:FORWARD ACCEPT [0:0]\n:OUTPUT ACCEPT [5:9]\nCOMMIT\n";
    static const char *const used[] = {
        "*filter\n:INPUT DROP [0:0]\nCOMMIT\n",
        "*filter\n:INPUT ACCEPT [0:0]\n:OWN - [0:0]\nCOMMIT\n",
        "*filter\n:INPUT ACCEPT [0:0]\n-A INPUT -j ACCEPT\nCOMMIT\n",
        "*nat\n:INPUT ACCEPT [0:0]\nCOMMIT\n*filter\n:OUTPUT ACCEPT [0:0]\n-A OUTPUT\nCOMMIT\n",
    };
    cleanup_text struct text t = text(empty);
    cleanup_text struct text none = text("");
    cleanup_text struct text nat = text("*nat\n:INPUT ACCEPT [0:0]\n-A INPUT -j ACCEPT\nCOMMIT\n");

    (void)state;
    assert_int_equal(filter_table_of(&t), FILTER_EMPTY);
    assert_int_equal(filter_table_of(&none), FILTER_ABSENT);
    assert_int_equal(filter_table_of(&nat), FILTER_ABSENT);
    for (size_t i = 0; i < COUNT(used); i++) {
        cleanup_text struct text u = text(used[i]);

        assert_int_equal(filter_table_of(&u), FILTER_USED);
    }
}

static void our_rule_is_first_or_it_does_not_count(void **state)
{
    static const char *const bad[] = {
        "",
        "*filter\n-A OUTPUT -j ACCEPT\n-A OUTPUT -m owner --uid-owner 1-2 -j ATELIER\nCOMMIT\n",
        "*nat\n-A OUTPUT -m owner --uid-owner 1-2 -j ATELIER\nCOMMIT\n",
        "*filter\n-A INPUT -m owner --uid-owner 1-2 -j ATELIER\n",
    };
    cleanup_text struct text good =
        text("*nat\n-A OUTPUT -j X\n*filter\n:OUTPUT ACCEPT [0:0]\n-A FORWARD -j X\n"
             "-A OUTPUT -m owner --uid-owner 10000-59999 -j ATELIER\n-A OUTPUT -j ACCEPT\n");

    (void)state;
    assert_true(rules_are_first(&good));
    for (size_t i = 0; i < COUNT(bad); i++) {
        cleanup_text struct text t = text(bad[i]);

        assert_false(rules_are_first(&t));
    }
}

static void rules_that_stayed_are_seen(void **state)
{
    static const char *const left[] = {
        "*filter\n:OUTPUT ACCEPT [0:0]\n:ATELIER-NO - [0:0]\nCOMMIT\n",
        "*filter\n:ATELIER - [0:0]\n",
        "*filter\n-A OUTPUT -m owner --uid-owner 1-2 -j ATELIER\n",
    };
    cleanup_text struct text gone =
        text("# ATELIE\n*filter\n:OUTPUT ACCEPT [0:0]\n-A OUTPUT -j OTHER\nCOMMIT\n");

    (void)state;
    assert_false(rules_are_left(&gone));
    for (size_t i = 0; i < COUNT(left); i++) {
        cleanup_text struct text t = text(left[i]);

        assert_true(rules_are_left(&t));
    }
}

static void units_are_told_apart(void **state)
{
    static const char *const units[] = {"a.service", "b.socket", "c.target", "d.service", NULL};
    cleanup_text struct text output =
        text("Id=b.socket\nActiveState=inactive\nUnitFileState=enabled\n\n"
             "UnitFileState=static\nId=a.service\nActiveState=active\n\n"
             "Id=c.target\nActiveState=activating\nUnitFileState=disabled\n");
    struct unit_state states[4] = {{0}};

    (void)state;
    /* Nothing was said of the last one: it has not ended for all we know. */
    assert_int_equal(units_parse(&output, units, states), -ENODATA);
    assert_true(states[1].has_links && !states[0].has_links && !states[2].has_links);
    assert_true(states[1].is_ended && !states[0].is_ended && !states[2].is_ended);
    assert_true(!states[3].is_ended);
    assert_int_equal(units_parse(&output, ARGV("b.socket"), states + 3), 0);
    assert_true(states[3].is_ended);
    assert_int_equal(units_parse(&output, units, states), -ENODATA);
    assert_true(states[0].is_enabled && states[0].is_active);
    assert_true(states[1].is_enabled && !states[1].is_active);
    assert_true(!states[2].is_enabled && !states[2].is_active);
    assert_true(!states[3].is_enabled && !states[3].is_active);
}

static void a_difference_shows_each_changed_line(void **state)
{
    cleanup_text struct text old = text("1\n2\n3\n4\n5\n6\n7\n8\n");
    cleanup_text struct text new = text("1\n2\nx\n4\n5\n6\n7\ny\033\n8\n");
    cleanup_text struct text shown = {0};
    FILE *out = text_begin(&shown);

    (void)state;
    diff_print(out, " ", "/f", &old, &new);
    text_end(&shown, out);
    assert_string_equal(shown.bytes, " --- /f\n +++ /f\n @@ line 3 @@\n  2\n -3\n +x\n  4\n  ...\n"
                                     "  7\n +y\\x1b\n  8\n");
}

static void a_program_is_run_without_a_shell_and_in_time(void **state)
{
    static const struct {
        int result;
        bool has_output;
        const char *why;
    } rows[] = {
        {3, true, "two (exit code 3)"},
        {3, false, "(exit code 3)"},
        {128 + 11, true, "two; it was killed by signal 11 (Segmentation fault)"},
        {128 + 9, false, "it was killed by signal 9 (Killed)"},
        {-ETIMEDOUT, true, "two; it did not end in time, and was killed"},
        {-ENOENT, true, "No such file or directory"},
    };
    cleanup_text struct text output = {0};
    cleanup_free char *last = NULL;

    (void)state;
    assert_int_equal(program_run(ARGV("/bin/echo", "$HOME; a"), 10, &output), 0);
    assert_string_equal(output.bytes, "$HOME; a\n");
    assert_int_equal(program_run(ARGV("/bin/false"), 10, NULL), 1);
    assert_int_equal(program_run(ARGV("/nonexistent/x"), 10, NULL), -ENOENT);
    assert_int_equal(program_run(ARGV("/bin/sleep", "20"), 1, NULL), -ETIMEDOUT);
    assert_int_equal(program_run(ARGV("/bin/sh", "-c", "kill -9 $$"), 10, NULL), 128 + 9);
    text_done(&output);
    assert_int_equal(program_run(ARGV("/usr/bin/env"), 10, &output), 0);
    assert_null(strstr(output.bytes, "LD_"));
    assert_non_null(strstr(output.bytes, "LC_ALL=C\n"));
    text_done(&output);
    output = text("one\ntwo\n \n");
    last = output_last_line(&output);
    assert_string_equal(last, "two");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        cleanup_free char *why = program_why(rows[i].result, rows[i].has_output ? &output : NULL);

        assert_string_equal(why, rows[i].why);
    }
}

static int parse(struct setup_options *ret, const char *const *words)
{
    static char *argv[16];
    int argc = 1;

    argv[0] = (char *)(uintptr_t) "atelier setup";
    for (; *words; words++)
        argv[argc++] = (char *)(uintptr_t)*words;
    argv[argc] = NULL;
    return setup_args_parse(argc, argv, ARGP_SILENT, ret);
}

static void arguments_are_checked(void **state)
{
    const char *const *const bad[] = {
        ARGV("x"),
        ARGV("--undo", "--dry-run"),
        ARGV("--undo", "--port", "2200"),
        ARGV("--purge"),
        ARGV("--port", "0"),
        ARGV("--port", "22"),
        ARGV("--port", "65536"),
        ARGV("--port", "2222x"),
        ARGV("--link-base", "nowhere"),
        ARGV("--link-base"),
        ARGV("--resolver", "host.example"),
        ARGV("--resolver", "0.0.0.0"),
        ARGV("--resolver", "10.0.0.1", "--resolver", "none"),
        ARGV("--resolver", "none", "--resolver", "10.0.0.1"),
        ARGV("--undo", "--resolver", "10.0.0.1"),
        ARGV("-x"),
        ARGV("--resolver=1.1.1.1", "--resolver=1.1.1.2", "--resolver=1.1.1.3", "--resolver=1.1.1.4",
             "--resolver=1.1.1.5", "--resolver=1.1.1.6", "--resolver=1.1.1.7", "--resolver=1.1.1.8",
             "--resolver=1.1.1.9"),
    };
    struct setup_options o = {0};

    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_int_equal(parse(&o, bad[i]), -EINVAL);
    assert_int_equal(parse(&o, ARGV("--dry-run", "--port=2200", "--link-base", "https://h/")), 0);
    assert_true(o.is_dry_run && !o.is_undo && !o.is_yes && o.port == 2200);
    assert_string_equal(o.link_base, "https://h/");
    assert_true(o.resolver_count == 0 && !o.is_resolver_none);
    assert_int_equal(parse(&o, ARGV("--resolver", "127.0.0.53", "--resolver=fd00::1")), 0);
    assert_true(o.resolver_count == 2 && !o.is_resolver_none);
    assert_string_equal(o.resolvers[1], "fd00::1");
    assert_int_equal(parse(&o, ARGV("--resolver", "none")), 0);
    assert_true(o.resolver_count == 0 && o.is_resolver_none);
    assert_int_equal(parse(&o, ARGV("--undo", "--purge", "--yes")), 0);
    assert_true(o.is_undo && o.is_purge && o.is_yes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_releases_are_known),
        cmocka_unit_test(ids_of_participants_are_found_in_every_file),
        cmocka_unit_test(accounts_of_others_are_not_taken_for_ours),
        cmocka_unit_test(drop_ins_of_sshd_have_to_be_read_by_everybody),
        cmocka_unit_test(another_configuration_of_sshd_is_noticed),
        cmocka_unit_test(who_was_refused_has_to_stay_refused),
        cmocka_unit_test(the_account_profile_is_found_where_it_is_whole),
        cmocka_unit_test(a_profile_that_is_enabled_is_known_without_its_file),
        cmocka_unit_test(a_used_table_is_never_taken_for_an_empty_one),
        cmocka_unit_test(our_rule_is_first_or_it_does_not_count),
        cmocka_unit_test(rules_that_stayed_are_seen),
        cmocka_unit_test(units_are_told_apart),
        cmocka_unit_test(a_difference_shows_each_changed_line),
        cmocka_unit_test(a_program_is_run_without_a_shell_and_in_time),
        cmocka_unit_test(arguments_are_checked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
