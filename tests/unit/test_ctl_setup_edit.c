/* SPDX-License-Identifier: ISC */
/* test_ctl_setup_edit.c - texts of the host's files, as setup edits them and takes its edits back.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ctl/setup/keys.h"
#include "ctl/setup/nsswitch.h"
#include "ctl/setup/resolvers.h"
#include "ctl/setup/whole.h"

#include "common/banned.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct text text(const char *s)
{
    return text_of(s, strlen(s));
}

static void assert_text(const struct text *t, const char *wanted)
{
    assert_non_null(t->bytes);
    assert_string_equal(t->bytes, wanted);
    assert_int_equal(t->size, strlen(wanted));
}

/* --- nsswitch.conf ------------------------------------------------------------------------- */

static const char *const nsswitch_pairs[][2] = {
    /* Debian 12 and 13 */
    {"# c\npasswd:         files systemd\ngroup:          files systemd\nshadow:  files\n",
     "# c\npasswd:         files systemd atelier\ngroup:          files systemd atelier\n"
     "shadow:  files\n"},
    {"passwd: files\ngroup: files\ninitgroups: files sss\n",
     "passwd: files atelier\ngroup: files atelier\ninitgroups: files sss atelier\n"},
    {"passwd:compat\ngroup :\tcompat", "passwd:compat atelier\ngroup :\tcompat atelier"},
    {"passwd: files # local\n\n group: files [SUCCESS=merge] systemd \n",
     "passwd: files atelier # local\n\n group: files [SUCCESS=merge] systemd atelier \n"},
    {"passwd: files [!NOTFOUND=return] sss\ngroup: files [ UNAVAIL = continue ]\n",
     "passwd: files [!NOTFOUND=return] sss atelier\n"
     "group: files [ UNAVAIL = continue ] atelier\n"},
    /* half of it was there */
    {"passwd: files atelier\ngroup: files\n", "passwd: files atelier\ngroup: files atelier\n"},
    {"passwd: files\r\ngroup: files\r\n", "passwd: files atelier\r\ngroup: files atelier\r\n"},
};

static void the_word_goes_last_and_nothing_else_changes(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(nsswitch_pairs); i++) {
        cleanup_text struct text old = text(nsswitch_pairs[i][0]);
        cleanup_text struct text new = {0};
        cleanup_text struct text again = {0};
        struct complaint why;

        assert_int_equal(nsswitch_edit(&old, &new, &why), 0);
        assert_text(&new, nsswitch_pairs[i][1]);
        assert_int_equal(nsswitch_edit(&new, &again, &why), 0);
        assert_true(text_is_same(&new, &again));
    }
}

static void the_word_comes_out_again(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(nsswitch_pairs); i++) {
        cleanup_text struct text new = text(nsswitch_pairs[i][1]);
        cleanup_text struct text back = {0};

        if (strstr(nsswitch_pairs[i][0], "atelier"))
            continue;
        nsswitch_unedit(&new, &back);
        assert_text(&back, nsswitch_pairs[i][0]);
    }
}

static void what_others_added_to_the_lines_stays(void **state)
{
    cleanup_text struct text now = text("passwd: files systemd atelier sss # mine\n"
                                        "group: files atelier [NOTFOUND=return] sss\n"
                                        "hosts: atelier\n# passwd: atelier\n");
    cleanup_text struct text back = {0};

    (void)state;
    nsswitch_unedit(&now, &back);
    /* The action was ours: it would fall to "files". */
    assert_text(&back, "passwd: files systemd sss # mine\ngroup: files sss\n"
                       "hosts: atelier\n# passwd: atelier\n");
}

static void a_file_in_which_it_would_not_work_is_refused(void **state)
{
    static const struct {
        const char *file;
        size_t line;
    } bad[] = {
        {"group: files\n", 0},
        {"passwd: files\n#group: files\n", 0},
        {"", 0},
        {"passwd: files\ngroup: sss\n", 2},
        {"passwd: atelier files\ngroup: files\n", 1},
        {"passwd: files [NOTFOUND=return] sss\ngroup: files\n", 1},
        {"passwd: files\ngroup: files [ notfound = return ]\n", 2},
        {"passwd: files\n\ngroup: files [UNAVAIL=continue !SUCCESS=return] sss\n", 3},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++) {
        cleanup_text struct text old = text(bad[i].file);
        struct text new = {0};
        struct complaint why = {.line = 99};

        assert_int_equal(nsswitch_edit(&old, &new, &why), -EINVAL);
        assert_int_equal(why.line, bad[i].line);
        assert_true(why.what[0] != '\0');
        assert_null(new.bytes);
    }
}

static void other_sources_are_named(void **state)
{
    cleanup_text struct text file =
        text("passwd: files systemd sss atelier\ngroup: compat ldap[x]\n");
    cleanup_text struct text passwd = {0};
    cleanup_text struct text group = {0};

    (void)state;
    nsswitch_services(&file, "passwd", &passwd);
    assert_int_equal(passwd.size, sizeof("sss"));
    assert_string_equal(passwd.bytes, "sss");
    nsswitch_services(&file, "group", &group);
    assert_string_equal(group.bytes, "ldap");
}

/* --- single settings ----------------------------------------------------------------------- */

static const struct key_rule login_rules[] = {{"UID_MAX", 0, 9999, 9999},
                                              {"GID_MAX", 0, 9999, 9999}};
static const char *const login_keys[] = {"UID_MAX", "GID_MAX"};
static const struct key_rule last_rule[] = {{"LAST_UID", 0, 9999, 9999}};
static const char *const last_keys[] = {"LAST_UID"};
static const struct key_rule port_rule[] = {{"Port", 2200, 2200, 2200}};
static const char *const port_keys[] = {"Port"};

static const struct {
    enum keys_format format;
    const struct key_rule *rules;
    const char *const *keys;
    size_t count;
    const char *old, *new;
} key_pairs[] = {
    {KEYS_BLANK, login_rules, login_keys, 2,
     "UID_MIN\t\t\t 1000\nUID_MAX\t\t\t60000\n# UID_MAX 7\nSUB_UID_MAX 600100000\nGID_MAX 500 \n",
     "UID_MIN\t\t\t 1000\nUID_MAX\t\t\t9999\n# UID_MAX 7\nSUB_UID_MAX 600100000\nGID_MAX 500 \n"},
    {KEYS_BLANK, login_rules, login_keys, 2, "# nothing",
     "# nothing\nUID_MAX 9999\nGID_MAX 9999\n"},
    {KEYS_BLANK, login_rules, login_keys, 2, "UID_MAX 9999\nGID_MAX 9999\n",
     "UID_MAX 9999\nGID_MAX 9999\n"},
    /* as adduser 3.134 ships it: below its example */
    {KEYS_ASSIGN, last_rule, last_keys, 1, "#FIRST_UID=1000\n#LAST_UID=59999\n\n# more\n",
     "#FIRST_UID=1000\n#LAST_UID=59999\nLAST_UID=9999\n\n# more\n"},
    {KEYS_ASSIGN, last_rule, last_keys, 1, "LAST_UID=\"29999\"\n", "LAST_UID=\"9999\"\n"},
    {KEYS_ASSIGN, last_rule, last_keys, 1, "LAST_UID = 5000\n", "LAST_UID = 5000\n"},
    {KEYS_SSHD, port_rule, port_keys, 1, "Include x\nport 2222\nMatch User x\n",
     "Include x\nport 2200\nMatch User x\n"},
    {KEYS_SSHD, port_rule, port_keys, 1, "Port=22\nPortable 1\n", "Port=2200\nPortable 1\n"},
    {KEYS_SSHD, port_rule, port_keys, 1, "Match User x\n", "Port 2200\nMatch User x\n"},
};

static void settings_come_into_their_range(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(key_pairs); i++) {
        cleanup_text struct text old = text(key_pairs[i].old);
        cleanup_text struct text new = {0};
        cleanup_text struct text again = {0};
        struct complaint why;

        assert_int_equal(keys_edit(&old, key_pairs[i].format, key_pairs[i].rules,
                                   key_pairs[i].count, &new, &why),
                         0);
        assert_text(&new, key_pairs[i].new);
        assert_int_equal(keys_edit(&new, key_pairs[i].format, key_pairs[i].rules,
                                   key_pairs[i].count, &again, &why),
                         0);
        assert_true(text_is_same(&new, &again));
    }
}

static void settings_go_back_with_what_others_wrote(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(key_pairs); i++) {
        cleanup_text struct text old = text(key_pairs[i].old);
        cleanup_text struct text new = text(key_pairs[i].new);
        cleanup_text struct text now = {0};
        cleanup_text struct text back = {0};
        cleanup_text struct text wanted = {0};
        const char *left = "";
        FILE *out;

        if (key_pairs[i].old[strlen(key_pairs[i].old) - 1] != '\n')
            continue; /* the line's end that was added stays */
        out = text_begin(&now);
        (void)fprintf(out, "# theirs\n%sOTHER 1\n", key_pairs[i].new);
        text_end(&now, out);
        out = text_begin(&wanted);
        (void)fprintf(out, "# theirs\n%sOTHER 1\n", key_pairs[i].old);
        text_end(&wanted, out);
        keys_unedit(&now, &old, &new, key_pairs[i].format, key_pairs[i].keys, key_pairs[i].count,
                    &back, &left);
        assert_null(left);
        assert_true(text_is_same(&back, &wanted));
    }
}

static void a_setting_that_others_changed_stays_and_is_named(void **state)
{
    cleanup_text struct text old = text("UID_MAX 60000\nGID_MAX 60000\n");
    cleanup_text struct text new = text("UID_MAX 9999\nGID_MAX 9999\n");
    cleanup_text struct text now = text("UID_MAX 5000\nGID_MAX 9999\n");
    cleanup_text struct text back = {0};
    const char *left = NULL;

    (void)state;
    keys_unedit(&now, &old, &new, KEYS_BLANK, login_keys, 2, &back, &left);
    assert_text(&back, "UID_MAX 5000\nGID_MAX 60000\n");
    assert_string_equal(left, "UID_MAX");
}

static void a_setting_that_is_no_number_is_refused(void **state)
{
    static const char *const bad[] = {"UID_MAX many\n", "UID_MAX\n", "UID_MAX -1\n",
                                      "UID_MAX 0x100\n"};
    static const struct key_rule least[] = {{"UID_MIN", 1, 9999, 0}};
    cleanup_text struct text high = text("# c\nUID_MIN 20000\n");
    cleanup_text struct text fine = text("UID_MIN 1000\n");
    struct text new = {0};
    struct complaint why = {0};

    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++) {
        cleanup_text struct text old = text(bad[i]);

        assert_int_equal(keys_edit(&old, KEYS_BLANK, login_rules, 2, &new, &why), -EINVAL);
        assert_int_equal(why.line, 1);
        assert_null(new.bytes);
    }
    assert_int_equal(keys_check(&high, KEYS_BLANK, least, 1, &why), -EINVAL);
    assert_int_equal(why.line, 2);
    assert_non_null(strstr(why.what, "20000"));
    assert_int_equal(keys_check(&fine, KEYS_BLANK, least, 1, &why), 0);
}

/* --- drop-ins and options ------------------------------------------------------------------ */

static void a_drop_in_that_others_extended_keeps_their_part(void **state)
{
    cleanup_text struct text ours = text("# ours\n[Service]\nExecCondition=x\n");
    cleanup_text struct text extended = text("# ours\n[Service]\nExecCondition=x\nNice=5\n");
    cleanup_text struct text emptied = text("[Service]\n\nExecCondition=x\n");
    cleanup_text struct text back = {0};
    cleanup_text struct text nothing = {0};

    (void)state;
    assert_true(whole_is_there(&extended, &ours));
    whole_unedit(&extended, &ours, &back);
    assert_text(&back, "[Service]\nNice=5\n");
    assert_false(whole_is_there(&back, &ours));
    whole_unedit(&emptied, &ours, &nothing);
    assert_null(nothing.bytes);
}

static const struct option_name link_base = {"SESSIOND_API_OPTIONS", "--link-base", NULL};
static const struct option_name resolver = {"SESSIOND_OPTIONS", "--resolver", "-r"};
static const char *const link[] = {"https://h/"};

static void resolvers_replace_those_that_are_there(void **state)
{
    static const char *const values[] = {"10.0.0.1", "fd00::1"};
    static const char *const pairs[][2] = {
        {"A=1\n", "A=1\nSESSIOND_OPTIONS=\"--resolver 10.0.0.1 --resolver fd00::1\"\n"},
        {"SESSIOND_API_OPTIONS=\"--link-base x\"\n",
         "SESSIOND_API_OPTIONS=\"--link-base x\"\n"
         "SESSIOND_OPTIONS=\"--resolver 10.0.0.1 --resolver fd00::1\"\n"},
        {"SESSIOND_OPTIONS=--x --resolver 9.9.9.9 -y --resolver=1.1.1.1 -r 1.0.0.1 -r8.8.8.8\n",
         "SESSIOND_OPTIONS=\"--x --resolver 10.0.0.1 --resolver fd00::1 -y\"\n"},
        {"SESSIOND_OPTIONS=\"-r9.9.9.9 --resolvers\"\nB=2",
         "SESSIOND_OPTIONS=\"--resolver=10.0.0.1 --resolver=fd00::1 --resolvers\"\nB=2"},
    };
    struct complaint why = {0};

    (void)state;
    for (size_t i = 0; i < COUNT(pairs); i++) {
        cleanup_text struct text old = text(pairs[i][0]);
        cleanup_text struct text new = {0};
        cleanup_text struct text again = {0};

        assert_int_equal(option_edit(&old, &resolver, values, 2, &new, &why), 0);
        assert_text(&new, pairs[i][1]);
        assert_int_equal(option_edit(&new, &resolver, values, 2, &again, &why), 0);
        assert_true(text_is_same(&new, &again));
    }
}

static void resolvers_that_sessiond_refuses_are_not_proposed(void **state)
{
    cleanup_text struct text conf =
        text("# nameserver 9.9.9.9\nnameserver 127.0.0.53\noptions edns0\nnameserver 0.0.0.0\n"
             "nameserver 224.0.0.1\nnameserver\tfe80::1%eth0\nnameserver ff02::1\n"
             "nameserver ::ffff:1.2.3.4\nnameserver 127.0.0.53\nnameserver 2001:db8::53 # x\n"
             "nameserver 1234567890123456789012345678901234567890123456789\n");
    cleanup_text struct text many = {0};
    FILE *out = text_begin(&many);
    struct resolvers found;

    (void)state;
    for (int i = 1; i < 20; i++)
        (void)fprintf(out, "nameserver 10.0.0.%d\n", i);
    text_end(&many, out);
    resolvers_read(&conf, &found);
    assert_int_equal(found.count, 2);
    assert_string_equal(found.address[0], "127.0.0.53");
    assert_string_equal(found.address[1], "2001:db8::53");
    resolvers_read(&many, &found);
    assert_int_equal(found.count, RESOLVERS_MAX);
    assert_string_equal(found.address[RESOLVERS_MAX - 1], "10.0.0.8");
}

static void the_link_base_goes_into_the_options(void **state)
{
    static const char *const pairs[][2] = {
        {"", "SESSIOND_API_OPTIONS=\"--link-base https://h/\"\n"},
        {"SESSIOND_OPTIONS=x",
         "SESSIOND_OPTIONS=x\nSESSIOND_API_OPTIONS=\"--link-base https://h/\"\n"},
        {"SESSIOND_API_OPTIONS=--link-base https://old/ --x\n# c\n",
         "SESSIOND_API_OPTIONS=\"--link-base https://h/ --x\"\n# c\n"},
        {"SESSIOND_API_OPTIONS='--x --link-base=https://old/'\n",
         "SESSIOND_API_OPTIONS=\"--x --link-base=https://h/\"\n"},
        {"SESSIOND_API_OPTIONS=\"--x\"", "SESSIOND_API_OPTIONS=\"--x --link-base https://h/\""},
        {"#SESSIOND_API_OPTIONS=\n",
         "#SESSIOND_API_OPTIONS=\nSESSIOND_API_OPTIONS=\"--link-base https://h/\"\n"},
    };
    const struct text none = {0};
    cleanup_text struct text made = {0};
    struct complaint why;

    (void)state;
    for (size_t i = 0; i < COUNT(pairs); i++) {
        cleanup_text struct text old = text(pairs[i][0]);
        cleanup_text struct text new = {0};
        cleanup_text struct text again = {0};

        assert_int_equal(option_edit(&old, &link_base, link, 1, &new, &why), 0);
        assert_text(&new, pairs[i][1]);
        assert_int_equal(option_edit(&new, &link_base, link, 1, &again, &why), 0);
        assert_true(text_is_same(&new, &again));
    }
    assert_int_equal(option_edit(&none, &link_base, link, 1, &made, &why), 0);
    assert_non_null(strstr(made.bytes, "\nSESSIOND_API_OPTIONS=\"--link-base https://h/\"\n"));
}

static void quoting_that_is_not_understood_is_refused(void **state)
{
    cleanup_text struct text old = text("A=1\nSESSIOND_API_OPTIONS=--x \"a b\"\n");
    struct text new = {0};
    struct complaint why = {0};

    (void)state;
    assert_int_equal(option_edit(&old, &link_base, link, 1, &new, &why), -EINVAL);
    assert_int_equal(why.line, 2);
    assert_null(new.bytes);
}

static void an_address_with_anything_odd_in_it_is_no_link_base(void **state)
{
    static const char *const bad[] = {"",
                                      "h",
                                      "ftp://h/",
                                      "https://h/ x",
                                      "https://h\"",
                                      "https://h/$x",
                                      "https://h\n",
                                      "https://h/%x"};

    (void)state;
    assert_true(link_base_is_valid("https://host.example:8443/way/in"));
    assert_true(link_base_is_valid("http://[::1]/"));
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_false(link_base_is_valid(bad[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_word_goes_last_and_nothing_else_changes),
        cmocka_unit_test(the_word_comes_out_again),
        cmocka_unit_test(what_others_added_to_the_lines_stays),
        cmocka_unit_test(a_file_in_which_it_would_not_work_is_refused),
        cmocka_unit_test(other_sources_are_named),
        cmocka_unit_test(settings_come_into_their_range),
        cmocka_unit_test(settings_go_back_with_what_others_wrote),
        cmocka_unit_test(a_setting_that_others_changed_stays_and_is_named),
        cmocka_unit_test(a_setting_that_is_no_number_is_refused),
        cmocka_unit_test(a_drop_in_that_others_extended_keeps_their_part),
        cmocka_unit_test(the_link_base_goes_into_the_options),
        cmocka_unit_test(resolvers_replace_those_that_are_there),
        cmocka_unit_test(resolvers_that_sessiond_refuses_are_not_proposed),
        cmocka_unit_test(quoting_that_is_not_understood_is_refused),
        cmocka_unit_test(an_address_with_anything_odd_in_it_is_no_link_base),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
