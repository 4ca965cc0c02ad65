/* SPDX-License-Identifier: ISC */
/* test_ctl_args.c - from arguments to the JSON that is sent. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "ctl/cmd.h"
#include "ctl/del_args.h"
#include "ctl/run_args.h"
#include "ctl/when.h"

#include "common/banned.h"

/* argp reorders its vector: each parse gets a copy. */
#define ARGS_MAX 16
struct vector {
    char *argv[ARGS_MAX + 1];
    int argc;
};

static struct vector vector_of(const char *const *words)
{
    struct vector v = {.argv = {(char *)(uintptr_t) "atelier test"}, .argc = 1};

    for (; *words; words++) {
        assert_true(v.argc < ARGS_MAX);
        v.argv[v.argc++] = (char *)(uintptr_t)*words;
    }
    return v;
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

typedef int (*parse_fn)(struct options *opt, int argc, char **argv, unsigned flags, json_t **ret);

static void gives(parse_fn parse, const char *const *words, const char *wanted)
{
    struct options opt = {.socket = "default"};
    struct vector v = vector_of(words);
    json_t *body = NULL;
    char *text;

    assert_int_equal(parse(&opt, v.argc, v.argv, ARGP_SILENT, &body), 0);
    text = json_dumps(body, JSON_COMPACT);
    assert_string_equal(text, wanted);
    free(text);
    json_decref(body);
}

static void refuses(parse_fn parse, const char *const *words, int error)
{
    struct options opt = {.socket = "default"};
    struct vector v = vector_of(words);
    json_t *body = NULL;

    assert_int_equal(parse(&opt, v.argc, v.argv, ARGP_SILENT, &body), error);
    assert_null(body);
}

static void user_add_sends_what_was_given_and_nothing_else(void **state)
{
    (void)state;
    gives(user_add_parse, WORDS("a@b"), "{\"email\":\"a@b\"}");
    gives(user_add_parse, WORDS("--name", "bob"), "{\"name\":\"bob\"}");
    gives(user_add_parse, WORDS("--external-id=7 x"), "{\"external_id\":\"7 x\"}");
    gives(user_add_parse, WORDS("--group", "kurs", "a@b", "--name=bob", "--external-id", "7"),
          "{\"email\":\"a@b\",\"name\":\"bob\",\"group\":\"kurs\",\"external_id\":\"7\"}");
    gives(user_add_parse, WORDS("--", "-a@b"), "{\"email\":\"-a@b\"}");
}

static void user_add_takes_the_letters_of_useradd(void **state)
{
    (void)state;
    gives(user_add_parse,
          WORDS("-G", "a,b", "-c", "B\xc3\xb6rse", "-s", "/bin/zsh", "-u", "10123", "-e",
                "2026-11-30", "a@b"),
          "{\"email\":\"a@b\",\"groups\":[\"a\",\"b\"],\"comment\":\"B\xc3\xb6rse\",\"expires_at\":"
          "\"2026-11-30T23:59:59Z\",\"shell\":\"/bin/zsh\",\"uid\":10123}");
    gives(user_add_parse, WORDS("--expiredate=never", "--groups=", "a@b"),
          "{\"email\":\"a@b\",\"groups\":[],\"expires_at\":null}");
    refuses(user_add_parse, WORDS("a@b", "-u", "0"), -EINVAL);
    refuses(user_add_parse, WORDS("a@b", "-u", "9999"), -EINVAL);
    refuses(user_add_parse, WORDS("a@b", "-u", "59900"), -EINVAL);
    refuses(user_add_parse, WORDS("a@b", "-u", "alice"), -EINVAL);
    refuses(user_add_parse, WORDS("a@b", "-e", "tomorrow"), -EINVAL);
    refuses(user_add_parse, WORDS("a@b", "-G", "a,B"), -EINVAL);
    refuses(user_add_parse, WORDS("a@b", "-G", "a,"), -EINVAL);
    refuses(user_add_parse, WORDS("a@b", "-G", "a", "--group", "b"), -EINVAL);
}

static const char *mod_name;

static int user_mod_body(struct options *opt, int argc, char **argv, unsigned flags, json_t **ret)
{
    return user_mod_parse(opt, argc, argv, flags, &mod_name, ret);
}

static int group_mod_body(struct options *opt, int argc, char **argv, unsigned flags, json_t **ret)
{
    return group_mod_parse(opt, argc, argv, flags, &mod_name, ret);
}

static void user_mod_sends_what_is_to_change(void **state)
{
    (void)state;
    gives(user_mod_body, WORDS("-c", "", "bob"), "{\"comment\":\"\"}");
    assert_string_equal(mod_name, "bob");
    gives(user_mod_body, WORDS("bob", "-G", "a,b"), "{\"groups\":[\"a\",\"b\"]}");
    gives(user_mod_body, WORDS("bob", "-aG", "a"), "{\"groups_add\":[\"a\"]}");
    gives(user_mod_body, WORDS("bob", "-rG", "a"), "{\"groups_remove\":[\"a\"]}");
    gives(user_mod_body, WORDS("bob", "-G", ""), "{\"groups\":[]}");
    gives(user_mod_body, WORDS("bob", "-L", "-s", "", "-e", "never", "--email", "none"),
          "{\"shell\":\"\",\"expires_at\":null,\"email\":null,\"locked\":true}");
    gives(user_mod_body, WORDS("bob", "--email=b@c", "-U"), "{\"email\":\"b@c\",\"locked\":false}");
}

static void user_mod_refuses_what_contradicts_itself(void **state)
{
    (void)state;
    refuses(user_mod_body, WORDS("bob"), -EINVAL);
    refuses(user_mod_body, WORDS("-c", "x"), -EINVAL);
    refuses(user_mod_body, WORDS("-c", "x", "bob", "ben"), -EINVAL);
    refuses(user_mod_body, WORDS("-L", "-U", "bob"), -EINVAL);
    refuses(user_mod_body, WORDS("-a", "-L", "bob"), -EINVAL);
    refuses(user_mod_body, WORDS("-a", "-r", "-G", "a", "bob"), -EINVAL);
    refuses(user_mod_body, WORDS("-c", "\xff", "bob"), -EINVAL);
    refuses(user_mod_body, WORDS("--email", "\xff@b", "bob"), -EINVAL);
}

static void group_mod_renames_and_fills(void **state)
{
    (void)state;
    gives(group_mod_body, WORDS("-n", "new", "old"), "{\"name\":\"new\"}");
    assert_string_equal(mod_name, "old");
    gives(group_mod_body, WORDS("-U", "a,b", "g"), "{\"members\":[\"a\",\"b\"]}");
    gives(group_mod_body, WORDS("-aU", "a", "g"), "{\"members_add\":[\"a\"]}");
    gives(group_mod_body, WORDS("-rU", "a", "-n", "h", "g"),
          "{\"name\":\"h\",\"members_remove\":[\"a\"]}");
    refuses(group_mod_body, WORDS("g"), -EINVAL);
    refuses(group_mod_body, WORDS("-n", "h"), -EINVAL);
    refuses(group_mod_body, WORDS("-a", "-n", "h", "g"), -EINVAL);
    refuses(group_mod_body, WORDS("-U", "a b", "g"), -EINVAL);
    refuses(group_mod_body, WORDS("-a", "-r", "-U", "a", "g"), -EINVAL);
}

static void user_del_takes_one_way_for_the_home(void **state)
{
    const struct {
        const char *const *words;
        int home;
        const char *archive;
    } good[] = {
        {WORDS("bob"), DEL_HOME_KEEP, NULL},
        {WORDS("-r", "bob", "ben"), DEL_HOME_REMOVE, NULL},
        {WORDS("--archive", "bob", "ben"), DEL_HOME_ARCHIVE, NULL},
        {WORDS("--archive=/x", "bob"), DEL_HOME_ARCHIVE, "/x"},
    };
    const char *const *const bad[] = {WORDS("-r"), WORDS("-r", "--archive", "bob"),
                                      WORDS("--archive=/x", "bob", "ben"), WORDS("--no-scan")};

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        struct options opt = {.socket = "default"};
        struct vector v = vector_of(good[i].words);
        struct del_args args;

        assert_int_equal(del_args_parse(&opt, v.argc, v.argv, ARGP_SILENT, &args), 0);
        assert_int_equal(args.home, good[i].home);
        assert_true((args.archive == NULL) == (good[i].archive == NULL));
        assert_string_equal(args.names[0], "bob");
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct options opt = {.socket = "default"};
        struct vector v = vector_of(bad[i]);
        struct del_args args;

        assert_int_equal(del_args_parse(&opt, v.argc, v.argv, ARGP_SILENT, &args), -EINVAL);
    }
}

static void user_add_refuses_too_little_and_too_much(void **state)
{
    (void)state;
    refuses(user_add_parse, WORDS("--group", "kurs"), -EINVAL);
    refuses(user_add_parse, WORDS("a@b", "c@d"), -EINVAL);
    refuses(user_add_parse, WORDS("--nmae", "bob"), -EINVAL);
    refuses(user_add_parse, WORDS("a@b", "--name"), -EINVAL);
    refuses(user_add_parse, WORDS("\xff@b"), -EINVAL);
}

static void caller_add_has_defaults_that_the_manual_names(void **state)
{
    (void)state;
    gives(caller_add_parse, WORDS("1001"),
          "{\"uid\":1001,\"groups\":[\"atelier-users\"],\"verbs\":[\"users\",\"runs\"]}");
}

static void caller_add_replaces_the_defaults_by_what_is_given(void **state)
{
    (void)state;
    gives(caller_add_parse,
          WORDS("1001", "--group", "a", "--group=b", "--verb=runs", "--verb", "net-public"),
          "{\"uid\":1001,\"groups\":[\"a\",\"b\"],\"verbs\":[\"runs\",\"net-public\"]}");
    gives(caller_add_parse, WORDS("4294967294", "--verb", "runs"),
          "{\"uid\":4294967294,\"groups\":[\"atelier-users\"],\"verbs\":[\"runs\"]}");
}

static void caller_add_knows_the_users_of_the_host(void **state)
{
    (void)state;
    gives(caller_add_parse, WORDS("root"),
          "{\"uid\":0,\"groups\":[\"atelier-users\"],\"verbs\":[\"users\",\"runs\"]}");
    refuses(caller_add_parse, WORDS("no-such-user-here"), -ENOENT);
    refuses(caller_add_parse, WORDS("4294967295"), -ENOENT);
    refuses(caller_add_parse, WORDS("--", "-1"), -ENOENT);
    refuses(caller_add_parse, WORDS("007"), -ENOENT);
    refuses(caller_add_parse, WORDS("--verb", "runs"), -EINVAL);
    refuses(caller_add_parse, WORDS("1", "2"), -EINVAL);
}

static int run_body_parse(struct options *opt, int argc, char **argv, unsigned flags, json_t **ret)
{
    struct run_args args;
    int r = run_args_parse(opt, argc, argv, flags, &args);

    if (r < 0)
        return r;
    assert_int_equal(run_args_add_argv(&args, "/PATH"), 0);
    *ret = json_incref(args.body);
    run_args_done(&args);
    return 0;
}

static void run_takes_all_after_the_program_as_its_arguments(void **state)
{
    (void)state;
    gives(run_body_parse, WORDS("--user", "alice", "--", "prog", "--user", "x", "--"),
          "{\"user\":\"alice\",\"argv\":[\"/PATH\",\"--user\",\"x\",\"--\"]}");
    gives(run_body_parse, WORDS("--user", "alice", "prog", "-c", "--help"),
          "{\"user\":\"alice\",\"argv\":[\"/PATH\",\"-c\",\"--help\"]}");
    gives(run_body_parse, WORDS("--user", "alice", "--", "--prog"),
          "{\"user\":\"alice\",\"argv\":[\"/PATH\"]}");
}

static void run_sends_options_only_when_given(void **state)
{
    (void)state;
    gives(run_body_parse, WORDS("--user=10001", "prog"), "{\"user\":10001,\"argv\":[\"/PATH\"]}");
    gives(run_body_parse,
          WORDS("--user=a", "--net=public", "--wall-ms=5", "--cpu-ms=7", "--out-kb", "2",
                "--env=A=b=c", "--env=B=", "--env=A=d", "prog"),
          "{\"user\":\"a\",\"net\":\"public\",\"limits\":{\"wall_ms\":5,\"cpu_ms\":7,\"out_kb\":2},"
          "\"env\":{\"A\":\"d\",\"B\":\"\"},\"argv\":[\"/PATH\"]}");
}

static void run_refuses_what_it_cannot_mean(void **state)
{
    (void)state;
    refuses(run_body_parse, WORDS("prog"), -EINVAL);
    refuses(run_body_parse, WORDS("--user", "alice"), -EINVAL);
    refuses(run_body_parse, WORDS("--user", "alice", "--"), -EINVAL);
    refuses(run_body_parse, WORDS("--user", "Alice", "prog"), -EINVAL);
    refuses(run_body_parse, WORDS("--user", "", "prog"), -EINVAL);
    refuses(run_body_parse, WORDS("--user=a", "--net=private", "prog"), -EINVAL);
    refuses(run_body_parse, WORDS("--user=a", "--wall-ms=-1", "prog"), -EINVAL);
    refuses(run_body_parse, WORDS("--user=a", "--wall-ms=1e3", "prog"), -EINVAL);
    refuses(run_body_parse, WORDS("--user=a", "--out-kb=", "prog"), -EINVAL);
    refuses(run_body_parse, WORDS("--user=a", "--env=A", "prog"), -EINVAL);
    refuses(run_body_parse, WORDS("--user=a", "--env==b", "prog"), -EINVAL);
    refuses(run_body_parse, WORDS("--user=a", "--env=A=\xff", "prog"), -EINVAL);
}

static void run_refuses_text_that_json_cannot_hold(void **state)
{
    struct vector v = vector_of(WORDS("--user=a", "prog", "\xff"));
    struct options opt = {0};
    struct run_args args;

    (void)state;
    assert_int_equal(run_args_parse(&opt, v.argc, v.argv, ARGP_SILENT, &args), 0);
    assert_int_equal(run_args_add_argv(&args, "/PATH"), -EILSEQ);
    assert_int_equal(run_args_add_stdin(&args, "a\0b", 3), -EILSEQ);
    assert_int_equal(run_args_add_stdin(&args, "a\xff", 2), -EILSEQ);
    assert_null(json_object_get(args.body, "stdin"));
    assert_int_equal(run_args_add_stdin(&args, "l\xc3\xa4", 3), 0);
    assert_string_equal(json_string_value(json_object_get(args.body, "stdin")), "l\xc3\xa4");
    run_args_done(&args);
}

static void programs_are_found_by_name_only_in_the_path_of_a_run(void **state)
{
    char *path = NULL;

    (void)state;
    assert_int_equal(program_find("sh", &path), 0);
    assert_int_equal(access(path, X_OK), 0);
    assert_string_equal(strrchr(path, '/'), "/sh");
    free(path);
    assert_int_equal(program_find("/not/there", &path), 0);
    assert_string_equal(path, "/not/there");
    free(path);
    path = NULL;
    assert_int_equal(program_find("no-such-program-here", &path), -ENOENT);
    assert_int_equal(program_find("./sh", &path), -EINVAL);
    assert_int_equal(program_find("bin/sh", &path), -EINVAL);
    assert_int_equal(program_find("", &path), -EINVAL);
    assert_int_equal(program_find(".", &path), -ENOENT); /* a directory is no program */
    assert_null(path);
}

static void links_are_asked_for_with_what_was_given(void **state)
{
    (void)state;
    gives(link_mint_parse, WORDS("maria"), "{\"user\":\"maria\"}");
    gives(link_mint_parse, WORDS("--purpose", "web", "maria", "--valid=14d"),
          "{\"user\":\"maria\",\"purpose\":\"web\",\"valid_s\":1209600}");
    refuses(link_mint_parse, WORDS(NULL), -EINVAL);
    refuses(link_mint_parse, WORDS("maria", "ben"), -EINVAL);
    refuses(link_mint_parse, WORDS("Maria"), -EINVAL);
    refuses(link_mint_parse, WORDS("maria", "--purpose=all"), -EINVAL);
    refuses(link_mint_parse, WORDS("maria", "--valid=15d"), -EINVAL);
    refuses(link_mint_parse, WORDS("maria", "--valid=15"), -EINVAL);
}

static void durations_have_a_number_and_a_unit(void **state)
{
    static const struct {
        const char *text;
        int64_t seconds;
    } good[] = {{"1s", 1},        {"15m", 900},    {"2h", 7200},
                {"14d", 1209600}, {"2w", 1209600}, {"36525d", DURATION_MAX_S}};
    static const char *const bad[] = {"",    "s",    "15",    "m15",   "-1m",
                                      "+1m", "1.5h", "1M",    "01m",   "1 m",
                                      "1m ", " 1m",  "1h30m", "1\xff", "99999999999999999999s"};
    static const char *const range[] = {"0s", "0d", "36526d", "4294967295w"};
    int64_t seconds = -1;

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_int_equal(duration_parse(good[i].text, &seconds), 0);
        assert_int_equal(seconds, good[i].seconds);
    }
    seconds = -1;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (duration_parse(bad[i], &seconds) != -EINVAL)
            fail_msg("'%s'", bad[i]);
    }
    for (size_t i = 0; i < sizeof(range) / sizeof(range[0]); i++)
        assert_int_equal(duration_parse(range[i], &seconds), -ERANGE);
    assert_int_equal(seconds, -1);
}

/* Numbers: date -u -d TEXT +%s */
static void moments_are_days_times_and_durations_from_now(void **state)
{
    static const struct {
        const char *text;
        int64_t seconds;
    } good[] = {{"2026-11-30", 1796083199},
                {"2024-02-29", 1709251199},
                {"2026-11-30T18:00:00Z", 1796061600},
                {"2026-11-30T18:00:00+01:00", 1796058000},
                {"2026-11-30T18:00:00-05:30", 1796081400},
                {"1970-01-01", 86399},
                {"+1d", 1000 + 86400}};
    static const char *const bad[] = {"",
                                      "never",
                                      "tomorrow",
                                      "2026-02-29",
                                      "2026-13-01",
                                      "2026-00-10",
                                      "2026-11-31",
                                      "26-11-30",
                                      "2026-11-3",
                                      "2026/11/30",
                                      "2026-11-30 ",
                                      "2026-11-30T18:00:00",
                                      "2026-11-30T24:00:00Z",
                                      "2026-11-30T18:60:00Z",
                                      "2026-11-30T18:00:60Z",
                                      "2026-11-30 18:00:00Z",
                                      "2026-11-30T18:00:00z",
                                      "2026-11-30T18:00:00+1:00",
                                      "2026-11-30T18:00:00+24:00",
                                      "2026-11-30T18:00:00+01:60",
                                      "2026-11-30T18:00:00.5Z",
                                      "2026-11-30T18:00Z",
                                      "1969-12-31",
                                      "+",
                                      "+1",
                                      "-1d"};
    int64_t seconds = -1;

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        if (moment_parse(good[i].text, 1000, &seconds) != 0 || seconds != good[i].seconds)
            fail_msg("'%s': %lld", good[i].text, (long long)seconds);
    }
    seconds = -1;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (moment_parse(bad[i], 1000, &seconds) != -EINVAL)
            fail_msg("'%s'", bad[i]);
    }
    assert_int_equal(moment_parse("+0d", 1000, &seconds), -ERANGE);
    assert_int_equal(seconds, -1);
}

static void common_options_are_taken_by_every_command(void **state)
{
    struct vector v = vector_of(WORDS("--json", "a@b", "--socket", "/run/s"));
    struct options opt = {.socket = "default"};
    json_t *body = NULL;

    (void)state;
    assert_int_equal(user_add_parse(&opt, v.argc, v.argv, ARGP_SILENT, &body), 0);
    assert_true(opt.json);
    assert_string_equal(opt.socket, "/run/s");
    json_decref(body);
}

static void a_socket_path_that_does_not_fit_is_refused(void **state)
{
    char path[128], word[160];
    struct options opt = {0};
    struct vector v;

    (void)state;
    memset(path, 'x', sizeof(path));
    path[107] = '\0'; /* unix(7): 108 bytes with the NUL */
    (void)snprintf(word, sizeof(word), "--socket=%s", path);
    v = vector_of(WORDS(word));
    assert_int_equal(args_parse_operand(&opt, v.argc, v.argv, ARGP_SILENT, NULL, "", NULL), 0);
    path[107] = 'x';
    path[108] = '\0';
    (void)snprintf(word, sizeof(word), "--socket=%s", path);
    v = vector_of(WORDS(word));
    assert_int_equal(args_parse_operand(&opt, v.argc, v.argv, ARGP_SILENT, NULL, "", NULL),
                     -EINVAL);
    v = vector_of(WORDS("--socket="));
    assert_int_equal(args_parse_operand(&opt, v.argc, v.argv, ARGP_SILENT, NULL, "", NULL),
                     -EINVAL);
}

static int operands(const char *operand, const char *const *words)
{
    struct vector v = vector_of(words);
    struct options opt = {0};
    const char *found = NULL;
    int r = args_parse_operand(&opt, v.argc, v.argv, ARGP_SILENT, operand, "", &found);

    if (r == 0 && operand)
        assert_string_equal(found, "x");
    return r;
}

static void a_command_takes_as_many_operands_as_it_says(void **state)
{
    (void)state;
    assert_int_equal(operands("NAME", WORDS("x")), 0);
    assert_int_equal(operands("NAME", WORDS("x", "y")), -EINVAL);
    assert_int_equal(operands("NAME", WORDS(NULL)), -EINVAL);
    assert_int_equal(operands(NULL, WORDS(NULL)), 0);
    assert_int_equal(operands(NULL, WORDS("x")), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(user_add_sends_what_was_given_and_nothing_else),
        cmocka_unit_test(user_add_refuses_too_little_and_too_much),
        cmocka_unit_test(user_add_takes_the_letters_of_useradd),
        cmocka_unit_test(user_mod_sends_what_is_to_change),
        cmocka_unit_test(user_mod_refuses_what_contradicts_itself),
        cmocka_unit_test(group_mod_renames_and_fills),
        cmocka_unit_test(user_del_takes_one_way_for_the_home),
        cmocka_unit_test(caller_add_has_defaults_that_the_manual_names),
        cmocka_unit_test(caller_add_replaces_the_defaults_by_what_is_given),
        cmocka_unit_test(caller_add_knows_the_users_of_the_host),
        cmocka_unit_test(run_takes_all_after_the_program_as_its_arguments),
        cmocka_unit_test(run_sends_options_only_when_given),
        cmocka_unit_test(run_refuses_what_it_cannot_mean),
        cmocka_unit_test(run_refuses_text_that_json_cannot_hold),
        cmocka_unit_test(programs_are_found_by_name_only_in_the_path_of_a_run),
        cmocka_unit_test(links_are_asked_for_with_what_was_given),
        cmocka_unit_test(durations_have_a_number_and_a_unit),
        cmocka_unit_test(moments_are_days_times_and_durations_from_now),
        cmocka_unit_test(common_options_are_taken_by_every_command),
        cmocka_unit_test(a_socket_path_that_does_not_fit_is_refused),
        cmocka_unit_test(a_command_takes_as_many_operands_as_it_says),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
