/* SPDX-License-Identifier: ISC */
/* test_shell.c - the login shell: what it takes for a session, what it starts, and what it says. */
#include "shell/shell.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/banned.h"

#define UID  10001u
#define MARK "mark"
#define GOOD "10001 /bin/bash\n"

static char directory[] = "/tmp/atelier-shell-XXXXXX";

static int parse(const char *text, size_t size, char *path)
{
    /* Not one byte more than there is: a sanitizer sees who reads on. */
    char *copy = malloc(size ? size : 1);
    int r;

    assert_non_null(copy);
    memcpy(copy, text, size);
    r = shell_mark_parse(copy, size, UID, path);
    free(copy);
    return r;
}

static void mark_is_parsed(void **state)
{
    char path[SHELL_PATH_SIZE] = "";

    (void)state;
    assert_int_equal(parse(GOOD, strlen(GOOD), path), 0);
    assert_string_equal(path, "/bin/bash");
    assert_int_equal(parse("10001 /a b\n", 11, path), 0);
    assert_string_equal(path, "/a b");
}

static void mark_of_another_form_is_refused(void **state)
{
    static const char *const bad[] = {
        "",
        "\n",
        "10001",
        "10001\n",
        "10001 \n",
        "10001 /",
        "10001 bash\n",
        " 10001 /bin/sh\n",
        "10001  /bin/sh\n",
        "010001 /bin/sh\n",
        "+10001 /bin/sh\n",
        "10001 /bin/sh",
        "10001 /bin/sh\n\n",
        "10001 /bin/sh\nx\n",
        "10001\t/bin/sh\n",
        "99999999999 /bin/sh\n",
        "/bin/sh\n",
        "0 /bin/sh\n",
    };
    char path[SHELL_PATH_SIZE] = "untouched", huge[2 * SHELL_PATH_SIZE];

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(parse(bad[i], strlen(bad[i]), path), -EINVAL);
    assert_int_equal(parse("10001 /bin\0sh\n", 14, path), -EINVAL);
    assert_int_equal(parse("10002 /bin/sh\n", 14, path), -EPERM);
    assert_int_equal(parse("4294977297 /bin/sh\n", 19, path), -EPERM); /* 2^32 + 10001 */
    memset(huge, 'x', sizeof(huge));
    memcpy(huge, "10001 /", 7);
    huge[6 + SHELL_PATH_SIZE] = '\n'; /* a path of SHELL_PATH_SIZE bytes */
    assert_int_equal(parse(huge, 7 + SHELL_PATH_SIZE, path), -EINVAL);
    assert_string_equal(path, "untouched");
    huge[5 + SHELL_PATH_SIZE] = '\n';
    assert_int_equal(parse(huge, 6 + SHELL_PATH_SIZE, path), 0);
    assert_int_equal(strlen(path), SHELL_PATH_SIZE - 1);
}

static void mark_write(const char *text, mode_t mode)
{
    int fd;

    (void)unlink(MARK);
    fd = open(MARK, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    assert_int_equal(fchmod(fd, mode), 0);
    (void)close(fd);
}

static void mark_is_a_file_of_roots(void **state)
{
    char path[SHELL_PATH_SIZE] = "";

    (void)state;
    if (geteuid() != 0) {
        print_message("SKIP: a file of root's needs root\n");
        skip();
    }
    mark_write(GOOD, 0644);
    assert_int_equal(shell_mark_read(MARK, UID, path), 0);
    assert_string_equal(path, "/bin/bash");
    assert_int_equal(shell_mark_read(MARK, UID + 1, path), -EPERM);
    mark_write(GOOD, 0664);
    assert_int_equal(shell_mark_read(MARK, UID, path), -EACCES);
    mark_write(GOOD, 0646);
    assert_int_equal(shell_mark_read(MARK, UID, path), -EACCES);
    mark_write(GOOD, 0644);
    assert_int_equal(chown(MARK, UID, 0), 0);
    assert_int_equal(shell_mark_read(MARK, UID, path), -EACCES);
    assert_int_equal(rename(MARK, "real"), 0);
    assert_int_equal(chown("real", 0, 0), 0);
    assert_int_equal(shell_mark_read("real", UID, path), 0);
    assert_int_equal(symlink("real", MARK), 0);
    assert_int_equal(shell_mark_read(MARK, UID, path), -ELOOP);
    assert_int_equal(unlink(MARK), 0);
    assert_int_equal(mkfifo(MARK, 0600), 0);
    assert_int_equal(shell_mark_read(MARK, UID, path), -EACCES);
    assert_int_equal(unlink(MARK), 0);
    assert_int_equal(unlink("real"), 0);
    assert_int_equal(shell_mark_read(MARK, UID, path), -ENOENT);
}

static void shell_is_picked(void **state)
{
    (void)state;
    assert_string_equal(shell_pick("/bin/bash", "/nowhere"), "/bin/bash");
    assert_string_equal(shell_pick("/bin/bash", "/bin/bash"), "/bin/sh");
    assert_string_equal(shell_pick("/no/such/shell", "/nowhere"), "/bin/sh");
    assert_string_equal(shell_pick("bin/bash", "/nowhere"), "/bin/sh");
    assert_string_equal(shell_pick("/tmp", "/nowhere"), "/bin/sh");
    assert_string_equal(shell_pick("/etc/passwd", "/nowhere"), "/bin/sh");
}

static void login_shell_stays_one(void **state)
{
    char name[SHELL_PATH_SIZE + 1];

    (void)state;
    shell_argv0("-shell", "/bin/bash", name);
    assert_string_equal(name, "-bash");
    shell_argv0("shell", "/bin/bash", name);
    assert_string_equal(name, "bash");
    shell_argv0(NULL, "/usr/bin/fish", name);
    assert_string_equal(name, "fish");
}

/* In a child: the three conditions one by one. Return: bit n is what n of them made of it. */
static int confinement_by_steps(void)
{
    struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog prog = {.len = 1, .filter = &allow};
    uint32_t uid = 0;
    int seen = shell_is_confined(&uid);

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return 255;
    seen |= shell_is_confined(&uid) << 1;
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0u, &prog) < 0)
        return 255;
    seen |= shell_is_confined(&uid) << 2;
    if (setresuid(UID, UID, UID) < 0)
        return 255;
    seen |= shell_is_confined(&uid) << 3;
    return uid == UID ? seen : 254;
}

static void confinement_takes_all_three(void **state)
{
    int status;
    pid_t pid;

    (void)state;
    if (geteuid() != 0) {
        print_message("SKIP: another uid needs root\n");
        skip();
    }
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(confinement_by_steps());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 1 << 3);
}

/* The built program, on a host: one sentence on standard error, nothing on standard output. */
static void outside_it_refuses(void **state)
{
    char out[512] = "";
    size_t n;
    FILE *p;
    int fds[2], status;
    pid_t pid;

    (void)state;
    assert_int_equal(pipe(fds), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)dup2(fds[1], STDERR_FILENO);
        (void)dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDOUT_FILENO);
        (void)execl(SHELL_UNDER_TEST, "-shell", "-c", "echo inside >&2", (char *)NULL);
        _exit(99);
    }
    (void)close(fds[1]);
    p = fdopen(fds[0], "r");
    assert_non_null(p);
    n = fread(out, 1, sizeof(out) - 1, p);
    (void)fclose(p);
    assert_true(n > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 1);
    assert_non_null(strstr(out, "only in a session"));
    assert_null(strstr(out, "inside"));
    assert_ptr_equal(strchr(out, '\n'), out + n - 1);
}

static int prepare(void **state)
{
    (void)state;
    return mkdtemp(directory) && chdir(directory) == 0 ? 0 : -1;
}

static int release(void **state)
{
    (void)state;
    return chdir("/") == 0 && rmdir(directory) == 0 ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mark_is_parsed),
        cmocka_unit_test(mark_of_another_form_is_refused),
        cmocka_unit_test(mark_is_a_file_of_roots),
        cmocka_unit_test(shell_is_picked),
        cmocka_unit_test(login_shell_stays_one),
        cmocka_unit_test(confinement_takes_all_three),
        cmocka_unit_test(outside_it_refuses),
    };

    return cmocka_run_group_tests(tests, prepare, release);
}
