/* SPDX-License-Identifier: ISC */
/* user_text.c - what may be a user's comment and login shell. */
#include "registry/user_text.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "registry/registry.h"

#include "common/banned.h"

/* Unicode's separators of lines, and what overrides the direction of text (UAX #9). */
static bool is_shown(uint32_t c)
{
    if (c < 0x20 || (c >= 0x7f && c <= 0x9f))
        return false;
    return !(c >= 0x2028 && c <= 0x202e) && !(c >= 0x2066 && c <= 0x2069) && c != 0x200e &&
           c != 0x200f && c != 0xfeff;
}

/* RFC 3629: the shortest form, no surrogates. Return: bytes of the character, 0 if it is none. */
static size_t utf8_decode(const unsigned char *s, uint32_t *ret_c)
{
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t n = s[0] < 0x80 ? 1 : s[0] >> 5 == 6 ? 2 : s[0] >> 4 == 14 ? 3 : s[0] >> 3 == 30 ? 4 : 0;
    uint32_t c = n == 1 ? s[0] : s[0] & (0x7fu >> n);

    for (size_t i = 1; i < n; i++) {
        if (s[i] >> 6 != 2)
            return 0;
        c = c << 6 | (s[i] & 0x3f);
    }
    if (n == 0 || c < smallest[n] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
        return 0;
    *ret_c = c;
    return n;
}

bool comment_is_valid(const char *comment)
{
    if (strnlen(comment, COMMENT_SIZE) == COMMENT_SIZE)
        return false;
    for (const unsigned char *s = (const unsigned char *)comment; *s;) {
        uint32_t c = 0;
        size_t n = utf8_decode(s, &c);

        if (n == 0 || !is_shown(c) || c == ':')
            return false;
        s += n;
    }
    return true;
}

bool shell_is_valid(const char *shell)
{
    if (shell[0] == '\0')
        return true;
    if (shell[0] != '/' || strnlen(shell, SHELL_SIZE) == SHELL_SIZE)
        return false;
    for (const char *s = shell; *s; s++) {
        if (*s <= ' ' || *s > '~' || *s == ':')
            return false;
    }
    return true;
}
