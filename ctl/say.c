/* SPDX-License-Identifier: ISC */
/* say.c - text of others on its way to a terminal, and our own error line. */
#include "ctl/say.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "ctl/exit.h"

#include "common/banned.h"

/**
 * utf8_length() - Length of the valid UTF-8 character that the bytes begin with
 * @ret_code: Its code point
 *
 * Source: RFC 3629 section 4: no overlong form, no surrogate, nothing above U+10FFFF.
 *
 * Return: 1..4, or 0 if the bytes do not begin with one.
 */
static size_t utf8_length(const unsigned char *s, size_t bytes, uint32_t *ret_code)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    uint32_t code;
    size_t n;

    if (s[0] < 0x80) {
        *ret_code = s[0];
        return 1;
    }
    if (s[0] >= 0xf8 || s[0] < 0xc0)
        return 0;
    n = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
    if (n > bytes)
        return 0;
    code = s[0] & (0xffu >> (n + 1));
    for (size_t i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (s[i] & 0x3fu);
    }
    if (code < least[n] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
        return 0;
    *ret_code = code;
    return n;
}

/*
 * Characters that a reader cannot see or that move other text: C1 controls, soft hyphen, and
 * what Unicode calls format characters and separators (category Cf, Zl, Zp).
 */
static bool is_deceptive(uint32_t code)
{
    static const struct {
        uint32_t first, last;
    } ranges[] = {
        {0x80, 0x9f},     {0xad, 0xad},     {0x600, 0x605},     {0x61c, 0x61c},
        {0x6dd, 0x6dd},   {0x70f, 0x70f},   {0x180e, 0x180e},   {0x200b, 0x200f},
        {0x2028, 0x202e}, {0x2060, 0x206f}, {0x3164, 0x3164},   {0xfeff, 0xfeff},
        {0xffa0, 0xffa0}, {0xfff0, 0xfffb}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff},
    };

    for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
        if (code >= ranges[i].first && code <= ranges[i].last)
            return true;
    }
    return false;
}

/* Write one escape; how many columns it took. */
static size_t escape_write(FILE *out, uint32_t code, bool is_byte)
{
    int n;

    switch (code) {
    case '\\':
        n = fprintf(out, "\\\\");
        break;
    case '\n':
        n = fprintf(out, "\\n");
        break;
    case '\r':
        n = fprintf(out, "\\r");
        break;
    case '\t':
        n = fprintf(out, "\\t");
        break;
    default:
        n = is_byte ? fprintf(out, "\\x%02x", code) : fprintf(out, "\\u{%x}", code);
        break;
    }
    return n > 0 ? (size_t)n : 0;
}

char *text_escape(const char *text, size_t bytes, size_t *ret_columns)
{
    const unsigned char *s = (const unsigned char *)text;
    size_t columns = 0, size = 0, i = 0;
    char *escaped = NULL;
    FILE *out = open_memstream(&escaped, &size);

    if (!out)
        say_no_memory();
    while (i < bytes) {
        uint32_t code = s[i];
        size_t n = utf8_length(s + i, bytes - i, &code);

        if (n == 0 || (n == 1 && (code < ' ' || code == 0x7f || code == '\\'))) {
            columns += escape_write(out, code, true);
        } else if (is_deceptive(code)) {
            columns += escape_write(out, code, false);
        } else {
            (void)fwrite(s + i, 1, n, out);
            columns++;
        }
        i += n > 0 ? n : 1;
    }
    if (fclose(out) != 0 || !escaped)
        say_no_memory();
    if (ret_columns)
        *ret_columns = columns;
    return escaped;
}

bool text_is_utf8(const char *text, size_t bytes)
{
    const unsigned char *s = (const unsigned char *)text;
    uint32_t code;
    size_t n;

    for (size_t i = 0; i < bytes; i += n) {
        n = utf8_length(s + i, bytes - i, &code);
        if (n == 0)
            return false;
    }
    return true;
}

char *text_vformat(const char *format, va_list args)
{
    char *text;

    if (vasprintf(&text, format, args) < 0)
        say_no_memory();
    return text;
}

char *text_format(const char *format, ...)
{
    va_list args;
    char *text;

    va_start(args, format);
    text = text_vformat(format, args);
    va_end(args);
    return text;
}

void say_error(const char *format, ...)
{
    cleanup_free char *text = NULL;
    cleanup_free char *escaped = NULL;
    va_list args;

    va_start(args, format);
    text = text_vformat(format, args);
    va_end(args);
    escaped = text_escape(text, strlen(text), NULL);
    (void)fprintf(stderr, "atelier: %s\n", escaped);
}

void say_no_memory(void)
{
    (void)fputs("atelier: out of memory\n", stderr);
    exit(CTL_INTERNAL);
}
