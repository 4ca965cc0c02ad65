/* SPDX-License-Identifier: ISC */
/* test_ctl_su.c - atelier su: the call of ssh, its secrets, and words that survive a shell. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/fd.h"
#include "ctl/cmd.h"
#include "ctl/exit.h"
#include "ctl/su_args.h"
#include "tests/unit/ctl_scene.h"

#include "common/banned.h"

#define CODE "0123-4567-89P9"

static int parse(const char *const *words, struct su_args *ret_args)
{
    static char *argv[16];
    static struct options opt;
    int argc = 1;

    argv[0] = (char *)(uintptr_t) "atelier su";
    for (; *words; words++)
        argv[argc++] = (char *)(uintptr_t)*words;
    argv[argc] = NULL;
    return su_args_parse(&opt, argc, argv, ARGP_SILENT, ret_args);
}

static bool has(char *const *vector, const char *word)
{
    for (; *vector; vector++) {
        if (strcmp(*vector, word) == 0)
            return true;
    }
    return false;
}

static size_t length(char *const *vector)
{
    size_t n = 0;

    while (vector[n])
        n++;
    return n;
}

static void all_after_the_name_is_the_command(void **state)
{
    struct su_args args;

    (void)state;
    assert_int_equal(parse(WORDS("maria"), &args), 0);
    assert_string_equal(args.name, "maria");
    assert_string_equal(args.port, "2222");
    assert_null(args.command);
    assert_int_equal(parse(WORDS("maria", "--"), &args), 0);
    assert_null(args.command);
    assert_int_equal(parse(WORDS("maria", "--", "ls", "-l", "--", "--port"), &args), 0);
    assert_int_equal(length(args.command), 4);
    assert_string_equal(args.command[0], "ls");
    assert_string_equal(args.command[3], "--port");
    assert_int_equal(parse(WORDS("maria", "ls", "--help"), &args), 0);
    assert_int_equal(length(args.command), 2);
    assert_int_equal(parse(WORDS("--port", "22022", "maria", "--", "-x"), &args), 0);
    assert_string_equal(args.port, "22022");
    assert_string_equal(args.command[0], "-x");
    assert_int_equal(parse(WORDS("maria", "--port=22022", "ls"), &args), 0);
    assert_string_equal(args.command[0], "ls");
}

static void what_is_no_name_or_port_is_refused(void **state)
{
    struct su_args args;

    (void)state;
    assert_int_equal(parse(WORDS(NULL), &args), -EINVAL);
    assert_int_equal(parse(WORDS("Maria"), &args), -EINVAL);
    assert_int_equal(parse(WORDS("--", "-oProxyCommand=x"), &args), -EINVAL);
    assert_int_equal(parse(WORDS("maria", "--port=0"), &args), -EINVAL);
    assert_int_equal(parse(WORDS("maria", "--port=65536"), &args), -EINVAL);
    assert_int_equal(parse(WORDS("maria", "--port=ssh"), &args), -EINVAL);
}

static void the_code_is_in_the_environment_of_ssh_and_nowhere_else(void **state)
{
    char *const ours[] = {
        (char *)(uintptr_t) "TERM=xterm",          (char *)(uintptr_t) "SSH_AUTH_SOCK=/x",
        (char *)(uintptr_t) "LC_ALL=C.UTF-8",      (char *)(uintptr_t) "LD_PRELOAD=x",
        (char *)(uintptr_t) "ATELIER_ASKPASS=old", NULL};
    struct su_args args;
    struct su_exec x;

    (void)state;
    assert_int_equal(parse(WORDS("maria", "--port", "22022"), &args), 0);
    su_exec_make(&args, CODE, true, ours, &x);
    assert_string_equal(x.argv[0], "/usr/bin/ssh");
    assert_string_equal(x.argv[1], "-F/dev/null");
    assert_string_equal(x.argv[2], "-p22022");
    assert_true(has(x.argv, "-oPreferredAuthentications=keyboard-interactive"));
    assert_true(has(x.argv, "-oStrictHostKeyChecking=yes"));
    assert_true(has(x.argv, "-lmaria"));
    assert_string_equal(x.argv[length(x.argv) - 2], "--");
    assert_string_equal(x.argv[length(x.argv) - 1], "127.0.0.1");
    for (char **word = x.argv; *word; word++)
        assert_null(strstr(*word, "0123"));
    assert_true(has(x.envp, "ATELIER_ASKPASS=" CODE));
    assert_true(has(x.envp, "SSH_ASKPASS=" ATELIER_PROGRAMS_DIR "/askpass"));
    assert_true(has(x.envp, "SSH_ASKPASS_REQUIRE=force"));
    assert_true(has(x.envp, "TERM=xterm"));
    assert_true(has(x.envp, "LC_ALL=C.UTF-8"));
    assert_int_equal(length(x.envp), 6); /* PATH, three above, TERM, LC_ALL */
    su_exec_done(&x);
}

static void a_terminal_is_asked_for_by_a_shell_on_a_terminal_alone(void **state)
{
    char *const none[] = {NULL};
    struct su_args args;
    struct su_exec x;

    (void)state;
    assert_int_equal(parse(WORDS("maria"), &args), 0);
    su_exec_make(&args, CODE, true, none, &x);
    assert_true(has(x.argv, "-t"));
    su_exec_done(&x);
    su_exec_make(&args, CODE, false, none, &x);
    assert_false(has(x.argv, "-t"));
    su_exec_done(&x);
    assert_int_equal(parse(WORDS("maria", "id"), &args), 0);
    su_exec_make(&args, CODE, true, none, &x);
    assert_false(has(x.argv, "-t"));
    assert_string_equal(x.argv[length(x.argv) - 1], "'id'");
    su_exec_done(&x);
}

/* ssh knows every option; -G prints what they come to, and connects to nobody. */
static void ssh_understands_the_options(void **state)
{
    char *const none[] = {NULL};
    static char text[65536];
    struct su_args args;
    struct su_exec x;
    int out[2], status;
    size_t n = 0;
    pid_t pid;

    (void)state;
    if (access(SU_SSH, X_OK) < 0) {
        print_message("SKIP: there is no " SU_SSH "\n");
        skip();
    }
    assert_int_equal(parse(WORDS("maria", "--port", "22022", "id"), &args), 0);
    su_exec_make(&args, CODE, false, none, &x);
    assert_int_equal(pipe(out), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        char *argv[64] = {x.argv[0], (char *)(uintptr_t) "-G"};

        for (size_t i = 1; x.argv[i]; i++)
            argv[i + 1] = x.argv[i];
        (void)dup2(out[1], STDOUT_FILENO);
        (void)close(out[0]);
        (void)close(out[1]);
        (void)execve(argv[0], argv, x.envp);
        _exit(127);
    }
    (void)close(out[1]);
    assert_int_equal(fd_read_full(out[0], text, sizeof(text) - 1, &n), 0);
    (void)close(out[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_non_null(strstr(text, "user maria\n"));
    assert_non_null(strstr(text, "hostname 127.0.0.1\n"));
    assert_non_null(strstr(text, "port 22022\n"));
    assert_non_null(strstr(text, "hostkeyalias [127.0.0.1]:2222\n"));
    assert_non_null(strstr(text, "numberofpasswordprompts 1\n"));
    assert_non_null(strstr(text, "preferredauthentications keyboard-interactive\n"));
    assert_non_null(strstr(text, "userknownhostsfile " SU_KNOWN_HOSTS "\n"));
    assert_non_null(strstr(text, "stricthostkeychecking true\n"));
    su_exec_done(&x);
}

/* What a program writes, run without an environment but @variable. */
static void output_of(char *const *argv, const char *variable, char *ret_text, size_t size)
{
    char *const envp[] = {(char *)(uintptr_t)variable, NULL};
    int out[2], status;
    size_t n = 0;
    pid_t pid;

    assert_int_equal(pipe(out), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)dup2(out[1], STDOUT_FILENO);
        (void)close(out[0]);
        (void)close(out[1]);
        (void)execve(argv[0], argv, envp);
        _exit(127);
    }
    (void)close(out[1]);
    assert_int_equal(fd_read_full(out[0], ret_text, size - 1, &n), 0);
    ret_text[n] = '\0';
    (void)close(out[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void words_come_out_of_a_shell_as_they_went_in(void **state)
{
    char *const words[] = {(char *)(uintptr_t) "/usr/bin/printf",
                           (char *)(uintptr_t) "<%s>",
                           (char *)(uintptr_t) "",
                           (char *)(uintptr_t) "a b",
                           (char *)(uintptr_t) "it's '' \"quoted\"",
                           (char *)(uintptr_t) "$HOME `id` $(id) \\ \\n ! * ? ~ # & ; | > <",
                           (char *)(uintptr_t) "two\nlines\t",
                           (char *)(uintptr_t) "-n",
                           (char *)(uintptr_t) "\xc3\xa4\xff",
                           NULL};
    char *line = words_quote(words), text[512];
    char *const argv[] = {(char *)(uintptr_t) "/bin/sh", (char *)(uintptr_t) "-c", line, NULL};

    (void)state;
    output_of(argv, "A=b", text, sizeof(text));
    assert_string_equal(text, "<><a b><it's '' \"quoted\"><$HOME `id` $(id) \\ \\n ! * ? ~ # & ; | "
                              "> <><two\nlines\t><-n><\xc3\xa4\xff>");
    free(line);
}

static void askpass_prints_the_code_and_nothing_else(void **state)
{
    char *const argv[] = {(char *)(uintptr_t) "/bin/sh", (char *)(uintptr_t)ASKPASS,
                          (char *)(uintptr_t) "Code or link: ", NULL};
    char text[64];

    (void)state;
    assert_int_equal(access(ASKPASS, X_OK), 0);
    output_of(argv, "ATELIER_ASKPASS=" CODE, text, sizeof(text));
    assert_string_equal(text, CODE "\n");
}

static void a_user_who_gets_no_link_is_not_logged_in(void **state)
{
    struct scene *s = *state;

    if (geteuid() != 0) {
        assert_int_equal(command(s, cmd_su, false, WORDS("maria")), CTL_NOPERM);
        assert_non_null(strstr(s->err, "only root"));
        print_message("SKIP: the rest needs root\n");
        skip();
    }
    assert_int_equal(answered(s,
                              HEAD("403 Forbidden") "{\"status\":\"locked\",\"message\":\"the user "
                                                    "is locked\"}",
                              cmd_su, true, WORDS("maria", "id")),
                     CTL_NO);
    assert_string_equal(s->out, ""); /* not even with --json */
    assert_string_equal(s->err, "atelier: the user is locked\n");
    assert_memory_equal(s->request, "POST /v1/links HTTP/1.1\r\n", 25);
    assert_non_null(strstr(s->request, "{\"user\":\"maria\",\"purpose\":\"ssh\",\"valid_s\":60}"));
    assert_int_equal(command(s, cmd_su, false, WORDS("maria")), CTL_UNAVAILABLE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_after_the_name_is_the_command),
        cmocka_unit_test(what_is_no_name_or_port_is_refused),
        cmocka_unit_test(the_code_is_in_the_environment_of_ssh_and_nowhere_else),
        cmocka_unit_test(a_terminal_is_asked_for_by_a_shell_on_a_terminal_alone),
        cmocka_unit_test(ssh_understands_the_options),
        cmocka_unit_test(words_come_out_of_a_shell_as_they_went_in),
        cmocka_unit_test(askpass_prints_the_code_and_nothing_else),
        TEST(a_user_who_gets_no_link_is_not_logged_in),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
