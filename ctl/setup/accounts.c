/* SPDX-License-Identifier: ISC */
/* accounts.c - lines of passwd(5), group(5) and subuid(5): who has which id. */
#include "ctl/setup/accounts.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "common/str.h"

#include "common/banned.h"

bool account_field(const struct line *line, size_t n, const char **ret_start, size_t *ret_size)
{
    const char *start = line->start, *end = line->start + line->size;

    for (;;) {
        const char *colon = memchr(start, ':', (size_t)(end - start));

        if (n-- == 0) {
            *ret_start = start;
            *ret_size = (size_t)((colon ? colon : end) - start);
            return true;
        }
        if (!colon)
            return false;
        start = colon + 1;
    }
}

static bool field_number(const struct line *line, size_t n, uint32_t *ret)
{
    char text[16];
    const char *start;
    size_t size;

    if (!account_field(line, n, &start, &size) || size >= sizeof(text))
        return false;
    memcpy(text, start, size);
    text[size] = '\0';
    return str_to_u32(text, UINT32_MAX, ret) == 0;
}

static bool number_in_range(const struct line *line, size_t field, uint32_t first, uint32_t last,
                            uint32_t *ret)
{
    return field_number(line, field, ret) && *ret >= first && *ret <= last;
}

/* The first id of the line in the range. */
static bool line_in_range(const struct line *line, enum accounts_file kind, uint32_t first,
                          uint32_t last, uint32_t *ret)
{
    uint32_t id, count;

    switch (kind) {
    case ACCOUNTS_PASSWD:
        return number_in_range(line, 2, first, last, ret) ||
               number_in_range(line, 3, first, last, ret);
    case ACCOUNTS_GROUP:
        return number_in_range(line, 2, first, last, ret);
    case ACCOUNTS_SUBIDS:
        if (!field_number(line, 1, &id) || !field_number(line, 2, &count) || count == 0 ||
            id > last || (id < first && first - id >= count))
            return false;
        *ret = id > first ? id : first;
        return true;
    }
    return false;
}

bool accounts_in_range(const struct text *file, enum accounts_file kind, uint32_t first,
                       uint32_t last, struct line *line, struct complaint *ret_why)
{
    static const char *const what[] = {"account", "group", "range of sub-ids of"};

    while (line_next(file, line)) {
        const char *name;
        uint32_t id;
        size_t size;

        if (!line_in_range(line, kind, first, last, &id) || !account_field(line, 0, &name, &size))
            continue;
        ret_why->line = line->number;
        (void)snprintf(ret_why->what, sizeof(ret_why->what), "the %s %.*s has the id %" PRIu32,
                       what[kind], (int)(size < 64 ? size : 64), name, id);
        return true;
    }
    return false;
}

int account_find(const struct text *file, const char *name, uint32_t *ret_id, struct line *ret_line)
{
    struct line line = {0};

    while (line_next(file, &line)) {
        const char *start;
        size_t size;

        if (!account_field(&line, 0, &start, &size) || size != strlen(name) ||
            memcmp(start, name, size) != 0)
            continue;
        if (!field_number(&line, 2, ret_id))
            return -EINVAL;
        if (ret_line)
            *ret_line = line;
        return 0;
    }
    return -ENOENT;
}

static bool is_of(const struct line *line, const char *const *names)
{
    const char *start;
    size_t size;

    for (; account_field(line, 0, &start, &size) && *names; names++) {
        if (strlen(*names) == size && memcmp(*names, start, size) == 0)
            return true;
    }
    return false;
}

bool accounts_only_added(const struct text *before, const struct text *after,
                         const char *const *names)
{
    struct line old = {0}, new = {0};
    bool has_old = line_next(before, &old);

    while (line_next(after, &new)) {
        if (has_old && line_is_same(&old, &new))
            has_old = line_next(before, &old);
        else if (!is_of(&new, names))
            return false;
    }
    return !has_old;
}
