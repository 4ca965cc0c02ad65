/* SPDX-License-Identifier: ISC */
/* text.c - bytes of a program as JSON text. */
#include "sessiond/api/text.h"

#include <stdint.h>
#include <string.h>

#include "common/banned.h"

/* Length of the character that this byte begins, 0 if it begins none (RFC 3629 section 4). */
static size_t lead_length(uint8_t c)
{
    if (c < 0x80)
        return 1;
    if (c >= 0xc2 && c <= 0xdf)
        return 2;
    if (c >= 0xe0 && c <= 0xef)
        return 3;
    if (c >= 0xf0 && c <= 0xf4)
        return 4;
    return 0;
}

/* The second byte shuts out overlong forms, surrogates and what is above U+10FFFF. */
static bool second_fits(uint8_t lead, uint8_t c)
{
    uint8_t low = 0x80, high = 0xbf;

    if (lead == 0xe0)
        low = 0xa0;
    else if (lead == 0xed)
        high = 0x9f;
    else if (lead == 0xf0)
        low = 0x90;
    else if (lead == 0xf4)
        high = 0x8f;
    return c >= low && c <= high;
}

static bool is_continuation(uint8_t c)
{
    return (c & 0xc0) == 0x80;
}

/* Do @n bytes fit as the first @n of one character? */
static bool prefix_fits(const uint8_t *p, size_t n)
{
    if (n > 1 && !second_fits(p[0], p[1]))
        return false;
    for (size_t i = 2; i < n; i++) {
        if (!is_continuation(p[i]))
            return false;
    }
    return true;
}

size_t utf8_tail(const char *s, size_t n)
{
    const uint8_t *end = (const uint8_t *)s + n;

    for (size_t k = 1; k <= UTF8_TAIL_MAX && k <= n; k++) {
        if (is_continuation(end[-(ptrdiff_t)k]))
            continue;
        return lead_length(end[-(ptrdiff_t)k]) > k && prefix_fits(end - k, k) ? k : 0;
    }
    return 0;
}

bool text_is_plain(const char *s, size_t n)
{
    const uint8_t *p = (const uint8_t *)s, *end = p + n;

    while (p < end) {
        size_t len = lead_length(*p);

        if (*p == 0 || len == 0 || len > (size_t)(end - p) || !prefix_fits(p, len))
            return false;
        p += len;
    }
    return true;
}

/* Letter of the short escape of a control character, or 0. */
static char short_escape(char c)
{
    switch (c) {
    case '"':
    case '\\':
        return c;
    case '\n':
        return 'n';
    case '\r':
        return 'r';
    case '\t':
        return 't';
    case '\b':
        return 'b';
    case '\f':
        return 'f';
    default:
        return 0;
    }
}

size_t json_escaped_size(const char *s, size_t n)
{
    size_t size = n;

    for (size_t i = 0; i < n; i++) {
        if (short_escape(s[i]))
            size += 1;
        else if ((uint8_t)s[i] < 0x20)
            size += 5;
    }
    return size;
}

size_t json_escape(char *dst, const char *s, size_t n)
{
    static const char hex[] = "0123456789abcdef";
    char *d = dst;

    for (size_t i = 0; i < n; i++) {
        char letter = short_escape(s[i]);

        if (letter) {
            *d++ = '\\';
            *d++ = letter;
        } else if ((uint8_t)s[i] < 0x20) {
            memcpy(d, "\\u00", 4);
            d[4] = hex[(uint8_t)s[i] >> 4];
            d[5] = hex[s[i] & 0xf];
            d += 6;
        } else {
            *d++ = s[i];
        }
    }
    return (size_t)(d - dst);
}
