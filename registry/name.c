/* SPDX-License-Identifier: ISC */
/* name.c - names that are made from e-mail addresses, and names that nobody gets. */
#include "registry/name.h"

#include <stdio.h>
#include <string.h>

#include "common/banned.h"

struct reserved {
    const char *text;
    bool is_prefix;
};

static const struct reserved reserved[] = {
#define RESERVED_NAME(text)   {text, false},
#define RESERVED_PREFIX(text) {text, true},
#include "registry/reserved.def"
#undef RESERVED_NAME
#undef RESERVED_PREFIX
};

bool name_is_reserved(const char *name)
{
    for (size_t i = 0; i < sizeof(reserved) / sizeof(reserved[0]); i++) {
        const struct reserved *e = &reserved[i];

        if (e->is_prefix ? strncmp(name, e->text, strlen(e->text)) == 0
                         : strcmp(name, e->text) == 0)
            return true;
    }
    return false;
}

void name_stem(const char *email, char ret_stem[NAME_SIZE])
{
    size_t n = 0;

    memset(ret_stem, 0, NAME_SIZE);
    for (const char *p = email; *p && *p != '@' && *p != '+' && n < NAME_GENERATED_MAX; p++) {
        bool letter = *p >= 'a' && *p <= 'z';

        if (!letter && !(*p >= '0' && *p <= '9') && !(*p == '-' && n > 0))
            continue;
        if (n == 0 && !letter)
            ret_stem[n++] = 'u';
        ret_stem[n++] = *p;
    }
    while (n > 0 && ret_stem[n - 1] == '-')
        ret_stem[--n] = '\0';
    if (n == 0)
        ret_stem[0] = 'u';
}

void name_candidate(const char *stem, unsigned n, char ret_name[NAME_SIZE])
{
    char number[12] = "";
    size_t keep = strnlen(stem, NAME_GENERATED_MAX), digits = 0;

    if (n > 1)
        digits = (size_t)snprintf(number, sizeof(number), "%u", n);
    if (keep + digits > NAME_GENERATED_MAX)
        keep = NAME_GENERATED_MAX - digits;
    memset(ret_name, 0, NAME_SIZE);
    memcpy(ret_name, stem, keep);
    memcpy(ret_name + keep, number, digits);
}
