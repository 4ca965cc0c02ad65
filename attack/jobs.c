/* SPDX-License-Identifier: ISC */
/*
 * jobs.c - programs by which somebody else runs something of ours, later.
 *
 * What is made is removed at once, and would not run if it stayed: on a day that no year has, and
 * in 2037.
 */
#include "attack/attack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/banned.h"

#define CRONTAB   "/usr/bin/crontab"
#define AT        "/usr/bin/at"
#define TABLE     "0 0 31 2 * true\n"
#define JOB       "true\n"
#define JOB_TIME  "203701010000"
#define TEXT_ROOM 512

/* As the program's standard input and output, both ends of the latter for it alone. */
static _Noreturn void program_main(char *argv[], int in, int out)
{
    char *envp[] = {(char[]){"PATH=/usr/bin:/bin"}, (char[]){"LC_ALL=C"}, NULL};

    if (dup2(in, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 ||
        dup2(out, STDERR_FILENO) < 0 || chdir("/") < 0)
        _exit(126);
    (void)execve(argv[0], argv, envp);
    _exit(127);
}

/**
 * program_run() - Run a program to its end
 * @input:    All of its standard input; shorter than a pipe is deep
 * @ret_text: The beginning of what it wrote to standard output and error, TEXT_ROOM bytes
 *
 * Return: its exit code, or a negative errno.
 */
static int program_run(char *argv[], const char *input, char ret_text[static TEXT_ROOM])
{
    int in[2], out[2], status = 0;
    size_t used = 0;
    ssize_t n;
    pid_t pid;

    ret_text[0] = '\0';
    if (pipe2(in, O_CLOEXEC) < 0)
        return -errno;
    if (pipe2(out, O_CLOEXEC) < 0) {
        (void)close(in[0]);
        (void)close(in[1]);
        return -EMFILE;
    }
    pid = fork();
    if (pid == 0)
        program_main(argv, in[0], out[1]);
    (void)close(in[0]);
    (void)close(out[1]);
    n = write(in[1], input, strlen(input));
    (void)close(in[1]);
    while (used < TEXT_ROOM - 1 && (n = read(out[0], ret_text + used, TEXT_ROOM - 1 - used)) > 0)
        used += (size_t)n;
    ret_text[used] = '\0';
    (void)close(out[0]);
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        return -EAGAIN;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* The last line of what it wrote says why. */
static const char *last_line(char *text)
{
    char *line;

    while (text[0] && text[strlen(text) - 1] == '\n')
        text[strlen(text) - 1] = '\0';
    line = strrchr(text, '\n');
    return line ? line + 1 : text;
}

static void refused_say(const char *name, const char *target, int result, char *text)
{
    say_refused(name, target, result < 0 ? -result : 0, "exit code %d: %s", result < 0 ? 0 : result,
                last_line(text));
}

static void crontab_try(const char *name)
{
    char *make[] = {(char[]){CRONTAB}, (char[]){"-"}, NULL};
    char *drop[] = {(char[]){CRONTAB}, (char[]){"-r"}, NULL};
    char text[TEXT_ROOM];
    int r = program_run(make, TABLE, text);

    if (r != 0)
        refused_say(name, "crontab", r, text);
    else
        say_reached(name, "crontab", "made, %s",
                    program_run(drop, "", text) == 0 ? "removed" : "and it stays");
}

static void at_try(const char *name)
{
    char number_text[16] = "";
    char *make[] = {(char[]){AT}, (char[]){"-t"}, (char[]){JOB_TIME}, NULL};
    char *drop[] = {(char[]){AT}, (char[]){"-r"}, number_text, NULL};
    char text[TEXT_ROOM];
    int r = program_run(make, JOB, text);
    const char *job = strstr(text, "job ");

    /* It says "job 1 at Thu Jan  1 00:00:00 2037", behind a warning. */
    if (r != 0 || !job || sscanf(job, "job %15[0-9] at ", number_text) != 1)
        refused_say(name, "at", r, text);
    else
        say_reached(name, "at", "made, %s",
                    program_run(drop, "", text) == 0 ? "removed" : "and it stays");
}

int attack_jobs(const char *name, int argc, char *argv[])
{
    (void)argc;
    (void)argv;
    if (access(CRONTAB, X_OK) < 0)
        say_refused(name, "crontab", ENOENT, "%s", "there is none");
    else
        crontab_try(name);
    if (access(AT, X_OK) < 0)
        say_refused(name, "at", ENOENT, "%s", "there is none");
    else
        at_try(name);
    return 0;
}
