/* SPDX-License-Identifier: ISC */
/* skill.c - names of skills. */
#include "common/skill.h"

#include <string.h>

#include "common/banned.h"

static size_t name_length(const char *text)
{
    return strcspn(text, "@");
}

bool skill_is_valid(const char *text)
{
    char name[NAME_SIZE] = {0};
    size_t n = name_length(text);

    if (n >= sizeof(name))
        return false;
    memcpy(name, text, n);
    if (!name_is_valid(name))
        return false;
    return text[n] == '\0' || (strlen(text + n + 1) == SKILL_HASH_HEX &&
                               strspn(text + n + 1, "0123456789abcdef") == SKILL_HASH_HEX);
}

bool skill_is_pinned(const char *text)
{
    return skill_is_valid(text) && text[name_length(text)] == '@';
}

void skill_name(const char *text, char ret_name[NAME_SIZE])
{
    size_t n = name_length(text);

    memset(ret_name, 0, NAME_SIZE);
    memcpy(ret_name, text, n < NAME_SIZE ? n : NAME_SIZE - 1);
}

bool skill_name_is_same(const char *a, const char *b)
{
    size_t n = name_length(a);

    return n == name_length(b) && memcmp(a, b, n) == 0;
}
