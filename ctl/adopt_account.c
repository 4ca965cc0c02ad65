/* SPDX-License-Identifier: ISC */
/* adopt_account.c - the local account that is to become a user. */
#include "ctl/adopt_account.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/ids.h"
#include "common/str.h"
#include "ctl/say.h"
#include "ctl/setup/accounts.h"

#include "common/banned.h"

/* Below is the system's: UID_MIN of Debian's login.defs(5). */
#define UID_ORDINARY_MIN 1000u

enum {
    FIELD_NAME,
    FIELD_PASSWORD,
    FIELD_UID,
    FIELD_GID,
    FIELD_GECOS,
    FIELD_HOME,
    FIELD_SHELL,
};

void account_done(struct account *a)
{
    free(a->name);
    free(a->gecos);
    free(a->home);
    free(a->shell);
    *a = (struct account){0};
}

/* Heap; "" where the line has no such field. */
static char *field_dup(const struct line *line, size_t n)
{
    const char *start = "";
    size_t size = 0;
    char *copy;

    (void)account_field(line, n, &start, &size);
    copy = strndup(start, size);
    if (!copy)
        say_no_memory();
    return copy;
}

static int number_field(const struct line *line, size_t n, uint32_t *ret)
{
    char *text = field_dup(line, n);
    int r = str_to_u32(text, UINT32_MAX, ret);

    free(text);
    return r;
}

static bool field_is(const struct line *line, size_t n, const char *text)
{
    const char *start;
    size_t size;

    return account_field(line, n, &start, &size) && size == strlen(text) &&
           memcmp(start, text, size) == 0;
}

int account_get(const struct text *passwd, const char *name, struct account *ret)
{
    struct line line = {0};
    struct account a = {0};

    while (line_next(passwd, &line)) {
        if (!field_is(&line, FIELD_NAME, name))
            continue;
        if (number_field(&line, FIELD_UID, &a.uid) < 0 ||
            number_field(&line, FIELD_GID, &a.gid) < 0)
            return -EINVAL;
        a.name = field_dup(&line, FIELD_NAME);
        a.gecos = field_dup(&line, FIELD_GECOS);
        a.home = field_dup(&line, FIELD_HOME);
        a.shell = field_dup(&line, FIELD_SHELL);
        *ret = a;
        return 0;
    }
    return -ENOENT;
}

/* Another account with the same uid, or one for which this group is the first one. */
static char *others_judge(const struct account *a, const struct text *passwd)
{
    struct line line = {0};

    while (line_next(passwd, &line)) {
        uint32_t uid = 0;
        char *other, *why = NULL;

        if (field_is(&line, FIELD_NAME, a->name))
            continue;
        other = field_dup(&line, FIELD_NAME);
        if (number_field(&line, FIELD_UID, &uid) == 0 && uid == a->uid)
            why = text_format(
                "the account '%s' has the same UID %u: its files would be taken from it; "
                "'userdel %s', or 'usermod -u' first",
                other, uid, other);
        free(other);
        if (why)
            return why;
    }
    return NULL;
}

char *account_judge(const struct account *a, const struct text *passwd, const struct text *group)
{
    struct line line = {0};

    if (a->uid == 0)
        return text_format("'%s' is root", a->name);
    if (a->uid < UID_ORDINARY_MIN)
        return text_format("'%s' is an account of the system (UID %u, below %u)", a->name, a->uid,
                           UID_ORDINARY_MIN);
    if (a->uid == 65534 || a->uid > ID_ALLOC_MAX)
        return text_format("UID %u of '%s' is none of a person (%u to %u)", a->uid, a->name,
                           UID_ORDINARY_MIN, ID_ALLOC_MAX);
    if (!name_is_valid(a->name))
        return text_format("'%s' cannot be the name of a user: a lower-case letter, then letters, "
                           "digits and '-', at most %d in all; 'usermod -l NEW %s' first",
                           a->name, NAME_MAX_LEN, a->name);
    /* userdel would leave the group, and it would stand before the user's own one. */
    while (line_next(group, &line)) {
        const char *start = "";
        size_t size = 0;

        if (!field_is(&line, FIELD_NAME, a->name))
            continue;
        (void)account_field(&line, 3, &start, &size);
        if (size > 0 && !(size == strlen(a->name) && memcmp(start, a->name, size) == 0))
            return text_format(
                "the group '%s' of /etc/group has members (%.*s); 'gpasswd -M \"\" %s' "
                "first",
                a->name, (int)size, start, a->name);
    }
    return others_judge(a, passwd);
}

bool shell_is_chosen(const struct text *shells, const char *shell)
{
    static const char *const usual[] = {"", "/bin/sh", "/bin/bash", "/usr/bin/sh", "/usr/bin/bash"};
    struct line line = {0};

    for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++) {
        if (strcmp(shell, usual[i]) == 0)
            return false;
    }
    while (line_next(shells, &line)) {
        if (line.size == strlen(shell) && memcmp(line.start, shell, line.size) == 0)
            return true;
    }
    return false;
}
