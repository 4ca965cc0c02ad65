/* SPDX-License-Identifier: ISC */
/* value.c - what a request gave, in a sentence about it. */
#include "sessiond/api/value.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "sessiond/api/text.h"

#include "common/banned.h"

#define ESCAPE_MAX 6u              /* "\u009b" */
#define TAIL       sizeof("...\"") /* with the NUL */

static bool is_word(const char *s)
{
    static const char others[] = "@._+-/:";

    for (const char *p = s; *p; p++) {
        bool is_alnum =
            (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9');

        if (!is_alnum && !strchr(others, *p))
            return false;
    }
    return *s && strlen(s) < VALUE_SIZE;
}

/* Bytes of the character at @s; 0: it is none. */
static size_t char_length(const char *s)
{
    size_t left = strnlen(s, 4);

    for (size_t n = 1; n <= left; n++) {
        if (text_is_plain(s, n))
            return n;
    }
    return 0;
}

static uint32_t char_decode(const char *s, size_t n)
{
    const uint8_t *p = (const uint8_t *)s;
    uint32_t c = n == 1 ? p[0] : p[0] & (0x7fu >> n);

    for (size_t i = 1; i < n; i++)
        c = c << 6 | (p[i] & 0x3fu);
    return c;
}

/* Controls of ASCII and Latin-1, and what has no width or turns the direction (Unicode, Cf, Zl). */
static bool does_something(uint32_t c)
{
    return c < 0x20 || (c >= 0x7f && c <= 0x9f) || (c >= 0x200b && c <= 0x200f) ||
           (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) || c == 0xfeff;
}

/* One character, at most ESCAPE_MAX bytes. Return: where the next one goes. */
static char *char_put(char *to, const char *s, size_t n)
{
    uint32_t c = n ? char_decode(s, n) : 0;

    if (n == 0) {
        *to++ = '?';
    } else if (does_something(c)) {
        to += snprintf(to, ESCAPE_MAX + 1, "\\u%04x", (unsigned)(c & 0xffff));
    } else {
        if (c == '"' || c == '\\')
            *to++ = '\\';
        memcpy(to, s, n);
        to += n;
    }
    return to;
}

const char *value_text(const char *s, char ret_text[VALUE_SIZE])
{
    char *to = ret_text, *const end = ret_text + VALUE_SIZE - TAIL - ESCAPE_MAX;
    const char *from = s ? s : "";

    if (is_word(from)) {
        memcpy(ret_text, from, strlen(from) + 1);
        return ret_text;
    }
    *to++ = '"';
    while (*from && to <= end) {
        size_t n = char_length(from);

        to = char_put(to, from, n);
        from += n ? n : 1;
    }
    memcpy(to, *from ? "...\"" : "\"", *from ? TAIL : 2);
    return ret_text;
}

const char *value_text_json(const json_t *v, char ret_text[VALUE_SIZE])
{
    const char *text = "null";

    if (json_is_string(v))
        return value_text(json_string_value(v), ret_text);
    if (json_is_integer(v)) {
        (void)snprintf(ret_text, VALUE_SIZE, "%" JSON_INTEGER_FORMAT, json_integer_value(v));
        return ret_text;
    }
    if (json_is_real(v)) {
        (void)snprintf(ret_text, VALUE_SIZE, "%g", json_real_value(v));
        return ret_text;
    }
    if (json_is_object(v))
        text = "an object";
    else if (json_is_array(v))
        text = "an array";
    else if (json_is_boolean(v))
        text = json_is_true(v) ? "true" : "false";
    memcpy(ret_text, text, strlen(text) + 1);
    return ret_text;
}
