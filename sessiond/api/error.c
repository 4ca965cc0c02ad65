/* SPDX-License-Identifier: ISC */
/* error.c - why a request is refused. */
#include "sessiond/api/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "sessiond/api/text.h"

#include "common/banned.h"

/* Names of fields may be foreign text: printable ASCII only, and a fixed length. */
static void make_printable(char *s)
{
    for (; *s; s++) {
        if (*s < 0x20 || *s > 0x7e)
            *s = '?';
    }
}

/* Values are (value.h): they may be in any language, and may have been cut inside a character. */
static void make_sentence(char *s)
{
    size_t n = strlen(s);

    s[n - utf8_tail(s, n)] = '\0';
    if (!text_is_plain(s, strlen(s)))
        make_printable(s);
    for (; *s; s++) {
        if ((unsigned char)*s < 0x20 || *s == 0x7f)
            *s = '?';
    }
}

int error_set(struct error *e, unsigned http, enum status status, const char *field,
              const char *format, ...)
{
    va_list ap;

    *e = (struct error){.http = http, .status = status};
    if (field) {
        (void)snprintf(e->field, sizeof(e->field), "%s", field);
        make_printable(e->field);
    }
    va_start(ap, format);
    (void)vsnprintf(e->message, sizeof(e->message), format, ap);
    va_end(ap);
    make_sentence(e->message);
    return -EINVAL;
}
