/* SPDX-License-Identifier: ISC */
/* str.c - names and numbers as text. */
#include "common/str.h"

#include <errno.h>
#include <string.h>

#include "common/banned.h"

static bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool name_is_valid(const char *name)
{
    size_t i;

    if (!name || !is_lower(name[0]))
        return false;
    for (i = 1; name[i]; i++) {
        if (i >= NAME_MAX_LEN || (!is_lower(name[i]) && !is_digit(name[i]) && name[i] != '-'))
            return false;
    }
    return true;
}

bool name_is_valid_n(const char *field, size_t size)
{
    size_t len = strnlen(field, size), i;

    if (len == size)
        return false;
    for (i = len; i < size; i++) {
        if (field[i] != '\0')
            return false;
    }
    return name_is_valid(field);
}

int str_copy(char *dst, size_t size, const char *src)
{
    size_t len = strlen(src);

    memset(dst, 0, size);
    if (len >= size)
        return -ENAMETOOLONG;
    memcpy(dst, src, len);
    return 0;
}

void str_cut(char *dst, size_t size, const char *src)
{
    size_t len = strnlen(src, size - 1);

    memset(dst, 0, size);
    memcpy(dst, src, len);
}

int str_to_u32(const char *s, uint32_t max, uint32_t *ret_v)
{
    uint64_t v = 0;
    size_t i;

    if (!s || !is_digit(s[0]) || (s[0] == '0' && s[1]))
        return -EINVAL;
    for (i = 0; s[i]; i++) {
        if (!is_digit(s[i]))
            return -EINVAL;
        v = v * 10 + (uint64_t)(s[i] - '0');
        if (v > max)
            return -ERANGE;
    }
    *ret_v = (uint32_t)v;
    return 0;
}
