/* SPDX-License-Identifier: ISC */
/* test_ctl_adopt.c - which local account can become a user, and the record of an adoption. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ctl/adopt.h"
#include "ctl/local_groups.h"

#include "common/banned.h"

#define PASSWD                                                                                     \
    "root:x:0:0:root:/root:/bin/bash\n"                                                            \
    "toor:x:0:0::/root:/bin/sh\n"                                                                  \
    "daemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin\n"                                            \
    "ada:x:1000:1000:Ada L,,,:/home/ada:/bin/bash\n"                                               \
    "twin:x:1001:1001::/home/twin:/bin/bash\n"                                                     \
    "twin2:x:1001:1001::/home/twin:/bin/bash\n"                                                    \
    "Big:x:1002:1002::/home/Big:/bin/bash\n"                                                       \
    "shared:x:1003:1003::/home/shared:/bin/bash\n"                                                 \
    "own:x:1004:1004::/home/own:/bin/bash\n"                                                       \
    "kept:x:12000:100::/home/kept:/bin/bash\n"                                                     \
    "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"                                 \
    "dyn:x:61184:61184::/:/bin/sh\n"                                                               \
    "torn:x:10\n"                                                                                  \
    "bad:x:-1:0::/:/bin/sh\n"
#define GROUP                                                                                      \
    "root:x:0:\n"                                                                                  \
    "adm:x:4:syslog,ada\n"                                                                         \
    "users:x:100:ada2,xada\n"                                                                      \
    "ada:x:1000:\n"                                                                                \
    "shared:x:1003:ada\n"                                                                          \
    "own:x:1004:own\n"                                                                             \
    "torn\n"

static void accounts_are_judged_with_what_to_do(void **state)
{
    static const struct {
        const char *name, *why; /* NULL: it can be adopted */
    } rows[] = {
        {"ada", NULL},
        {"own", NULL},
        {"kept", NULL},
        {"root", "'root' is root"},
        {"toor", "'toor' is root"},
        {"daemon", "'daemon' is an account of the system (UID 1, below 1000)"},
        {"twin", "the account 'twin2' has the same UID 1001"},
        {"Big", "'Big' cannot be the name of a user"},
        {"shared", "the group 'shared' of /etc/group has members (ada); 'gpasswd -M \"\" shared'"},
        {"nobody", "UID 65534 of 'nobody' is none of a person"},
        {"dyn", "UID 61184 of 'dyn' is none of a person"},
    };
    const struct text passwd = {.bytes = (char *)(uintptr_t)PASSWD, .size = strlen(PASSWD)};
    const struct text group = {.bytes = (char *)(uintptr_t)GROUP, .size = strlen(GROUP)};

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct account a = {0};
        char *why;

        assert_int_equal(account_get(&passwd, rows[i].name, &a), 0);
        why = account_judge(&a, &passwd, &group);
        if (rows[i].why) {
            assert_non_null(why);
            assert_memory_equal(why, rows[i].why, strlen(rows[i].why));
        } else {
            assert_null(why);
        }
        free(why);
        account_done(&a);
    }
}

static void an_account_is_read_field_by_field(void **state)
{
    const struct text passwd = {.bytes = (char *)(uintptr_t)PASSWD, .size = strlen(PASSWD)};
    struct account a = {0};

    (void)state;
    assert_int_equal(account_get(&passwd, "ada", &a), 0);
    assert_int_equal(a.uid, 1000);
    assert_string_equal(a.gecos, "Ada L,,,");
    assert_string_equal(a.home, "/home/ada");
    assert_string_equal(a.shell, "/bin/bash");
    account_done(&a);
    assert_int_equal(account_get(&passwd, "ad", &a), -ENOENT);
    assert_int_equal(account_get(&passwd, "torn", &a), -EINVAL);
    assert_int_equal(account_get(&passwd, "bad", &a), -EINVAL);
}

static void local_groups_are_found_by_whole_names(void **state)
{
    const struct text group = {.bytes = (char *)(uintptr_t)GROUP, .size = strlen(GROUP)};
    static const struct {
        const char *name, *groups;
    } rows[] = {{"ada", "[\"adm\",\"shared\"]"}, {"syslog", "[\"adm\"]"}, {"ad", "[]"}, {"", "[]"}};

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        json_t *groups = local_groups_of(&group, rows[i].name);
        char *text = json_dumps(groups, JSON_COMPACT);

        assert_string_equal(text, rows[i].groups);
        free(text);
        json_decref(groups);
    }
}

static void a_shell_comes_along_if_it_was_chosen(void **state)
{
    static const char shells[] = "# shells\n/bin/sh\n/bin/bash\n/usr/bin/zsh\n";
    const struct text text = {.bytes = (char *)(uintptr_t)shells, .size = strlen(shells)};

    (void)state;
    assert_true(shell_is_chosen(&text, "/usr/bin/zsh"));
    assert_false(shell_is_chosen(&text, "/bin/sh"));
    assert_false(shell_is_chosen(&text, "/bin/bash"));
    assert_false(shell_is_chosen(&text, "/usr/sbin/nologin"));
    assert_false(shell_is_chosen(&text, "/usr/bin/zs"));
    assert_false(shell_is_chosen(&text, ""));
}

static void a_record_comes_back_as_it_was_written(void **state)
{
    char top[] = "/tmp/atelier-test-XXXXXX", directory[64], home[] = "/home/a da\xc3\xa9";
    const struct adopt_record record = {.old_uid = 1000,
                                        .old_gid = 100,
                                        .uid = 0,
                                        .created_s = 1795996800,
                                        .home = home,
                                        .mark = {.ino = UINT64_MAX - 1, .mode = 02755}};
    struct adopt_record back = {0};
    char path[96];
    int lock;
    FILE *f;

    (void)state;
    assert_non_null(mkdtemp(top));
    (void)snprintf(directory, sizeof(directory), "%s/adopt", top);
    (void)snprintf(path, sizeof(path), "%s/ada.json", directory);
    lock = adopt_record_lock(directory);
    assert_true(lock >= 0);
    assert_int_equal(adopt_record_lock(directory), -EBUSY);
    assert_int_equal(adopt_record_read(directory, "ada", &back), -ENOENT);
    assert_int_equal(adopt_record_write(directory, "ada", &record), 0);
    assert_int_equal(adopt_record_read(directory, "ada", &back), 0);
    assert_int_equal(back.old_uid, 1000);
    assert_int_equal(back.old_gid, 100);
    assert_int_equal(back.uid, 0);
    assert_true(back.created_s == record.created_s);
    assert_string_equal(back.home, home);
    assert_true(back.mark.ino == record.mark.ino);
    assert_int_equal(back.mark.mode, 02755);
    adopt_record_done(&back);
    f = fopen(path, "we");
    assert_non_null(f);
    (void)fputs("{\"old_uid\":0,\"old_gid\":0,\"uid\":1,\"created_s\":1,\"home\":\"/\"}", f);
    (void)fclose(f);
    assert_int_equal(adopt_record_read(directory, "ada", &back), -EBADMSG);
    assert_int_equal(adopt_record_remove(directory, "ada"), 0);
    assert_int_equal(adopt_record_remove(directory, "ada"), 0);
    (void)close(lock);
    assert_int_equal(chmod(directory, 0755), 0);
    assert_int_equal(adopt_record_lock(directory), -EPERM);
    assert_int_equal(rmdir(directory), 0);
    assert_int_equal(rmdir(top), 0);
}

static int parse(const char *const *words, struct adopt_args *ret)
{
    char *argv[10] = {(char *)(uintptr_t) "atelier adopt"};
    struct options opt = {0};
    int argc = 1;

    for (; *words; words++)
        argv[argc++] = (char *)(uintptr_t)*words;
    return adopt_args_parse(&opt, argc, argv, ARGP_SILENT, ret);
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void arguments_are_one_name_and_switches(void **state)
{
    struct adopt_args args;

    (void)state;
    assert_int_equal(parse(WORDS("ada"), &args), 0);
    assert_false(args.is_new_uid || args.is_keep_home || args.is_dry_run || args.is_yes);
    assert_int_equal(
        parse(WORDS("--new-uid", "--keep-home", "--dry-run", "--no-scan", "-y", "ada"), &args), 0);
    assert_true(args.is_new_uid && args.is_keep_home && args.is_dry_run && args.is_no_scan &&
                args.is_yes);
    assert_string_equal(args.name, "ada");
    assert_int_equal(parse(WORDS(NULL), &args), -EINVAL);
    assert_int_equal(parse(WORDS("ada", "ben"), &args), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accounts_are_judged_with_what_to_do),
        cmocka_unit_test(an_account_is_read_field_by_field),
        cmocka_unit_test(local_groups_are_found_by_whole_names),
        cmocka_unit_test(a_shell_comes_along_if_it_was_chosen),
        cmocka_unit_test(a_record_comes_back_as_it_was_written),
        cmocka_unit_test(arguments_are_one_name_and_switches),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
