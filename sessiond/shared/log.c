/* SPDX-License-Identifier: ISC */
/* log.c - one line per event on standard error. */
#include "sessiond/shared/log.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/banned.h"

static const char *log_program = "atelier";
static bool log_journal;

void log_init(const char *program)
{
    log_program = program;
    log_journal = secure_getenv("JOURNAL_STREAM") != NULL;
}

void log_line(enum log_level level, const char *format, ...)
{
    char text[1024], line[1200];
    va_list ap;
    int n;

    va_start(ap, format);
    n = vsnprintf(text, sizeof(text), format, ap);
    va_end(ap);
    if (n < 0)
        return;
    /* One event is one line of printable text, whatever was in it. */
    for (char *p = text; *p; p++) {
        if ((unsigned char)*p < 0x20 || (unsigned char)*p >= 0x7f)
            *p = '?';
    }
    if (log_journal)
        n = snprintf(line, sizeof(line), "<%d>%s\n", (int)level, text);
    else
        n = snprintf(line, sizeof(line), "%s: %s\n", log_program, text);
    if (n > 0 && (size_t)n < sizeof(line) && write(STDERR_FILENO, line, (size_t)n) < 0)
        return; /* Nobody to tell. */
}
