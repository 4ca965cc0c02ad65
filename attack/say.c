/* SPDX-License-Identifier: ISC */
/* say.c - the lines that an attack prints. */
#include "attack/attack.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/banned.h"

#define DETAIL_SIZE 400

const char *errno_name(int error)
{
    const char *name = error != 0 ? strerrorname_np(error) : "-";

    return name ? name : "?";
}

/* By one write(2): lines of several processes do not mix. */
static void line(const char *name, const char *target, const char *verdict, int error,
                 const char *format, va_list args)
{
    char detail[DETAIL_SIZE];

    (void)vsnprintf(detail, sizeof(detail), format, args);
    for (char *p = detail; *p; p++) {
        if (*p < 0x20 || *p > 0x7e)
            *p = '?';
    }
    (void)dprintf(STDOUT_FILENO, "%s %s %s %s%s%s\n", name, target, verdict, errno_name(error),
                  detail[0] ? " " : "", detail);
}

void say_reached(const char *name, const char *target, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    line(name, target, "reached", 0, format, args);
    va_end(args);
}

void say_refused(const char *name, const char *target, int error, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    line(name, target, "refused", error, format, args);
    va_end(args);
}

void say(const char *name, const char *target, int r)
{
    if (r < 0)
        say_refused(name, target, -r, "%s", "");
    else
        say_reached(name, target, "%s", "");
}

int apart(int (*fn)(void *arg), void *arg)
{
    pid_t pid = fork();
    int status;

    if (pid < 0)
        return -errno;
    if (pid == 0)
        _exit(-fn(arg) & 0xff);
    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR)
            return -errno;
    }
    return WIFEXITED(status) ? -WEXITSTATUS(status) : -ECANCELED;
}

long number(const char *text, long most, long otherwise)
{
    char *end;
    long n;

    if (!text)
        return otherwise;
    errno = 0;
    n = strtol(text, &end, 10);
    return errno != 0 || end == text || *end != '\0' || n < 0 || n > most ? otherwise : n;
}
