/* SPDX-License-Identifier: ISC */
/* local_groups.c - groups of /etc/group that name somebody. */
#include "ctl/local_groups.h"

#include <stdbool.h>
#include <string.h>

#include "ctl/say.h"
#include "ctl/setup/accounts.h"

#include "common/banned.h"

#define FIELD_NAME    0
#define FIELD_MEMBERS 3

static bool has_member(const char *list, size_t size, const char *name)
{
    const char *end = list + size;

    while (list < end) {
        const char *comma = memchr(list, ',', (size_t)(end - list));
        size_t n = (size_t)((comma ? comma : end) - list);

        if (n == strlen(name) && memcmp(list, name, n) == 0)
            return true;
        list += n + 1;
    }
    return false;
}

json_t *local_groups_of(const struct text *group, const char *name)
{
    json_t *found = json_array();
    struct line line = {0};

    if (!found)
        say_no_memory();
    while (line_next(group, &line)) {
        const char *start, *members;
        size_t size, members_size;

        if (!account_field(&line, FIELD_NAME, &start, &size) ||
            !account_field(&line, FIELD_MEMBERS, &members, &members_size) ||
            !has_member(members, members_size, name))
            continue;
        /* A name that is not UTF-8 cannot be told, and is none that our tools would take. */
        (void)json_array_append_new(found, json_stringn(start, size));
    }
    return found;
}
