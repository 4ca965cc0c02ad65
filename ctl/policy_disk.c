/* SPDX-License-Identifier: ISC */
/* policy_disk.c - what the policy says of a user: sessiond is the program that knows it. */
#include "ctl/policy_disk.h"

#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/ids.h"
#include "ctl/say.h"
#include "ctl/setup/program.h"

#include "common/banned.h"

#define GROUPS_MAX    64
#define PASSWD_BUFFER 4096
#define WITHIN_S      30

char *policy_who(const struct passwd *user)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    gid_t gids[GROUPS_MAX];
    int n = GROUPS_MAX;
    char mark = ':';

    if (!f)
        return NULL;
    if (getgrouplist(user->pw_name, user->pw_gid, gids, &n) < 0)
        n = GROUPS_MAX;
    (void)fprintf(f, "%u", user->pw_uid);
    for (int i = 0; i < n; i++) {
        if (gids[i] == user->pw_gid)
            continue;
        (void)fprintf(f, "%c%u", mark, gids[i]);
        mark = ',';
    }
    return fclose(f) == 0 ? text : NULL;
}

/* "131072", "64M". Return: false if it is something else, or 0. */
static bool value_read(const struct word *word, uint64_t *ret_value)
{
    static const char units[] = "KMGT";
    unsigned long long v;
    const char *unit;
    char *end;

    errno = 0;
    v = strtoull(word->start, &end, 10);
    if (errno != 0 || end == word->start || *word->start == '-' || v == 0)
        return false;
    if (end < word->end) {
        unit = strchr(units, *end++);
        if (!unit)
            return false;
        for (const char *u = units; u <= unit; u++) {
            if (v > UINT64_MAX / 1024)
                return false;
            v *= 1024;
        }
    }
    *ret_value = v;
    return end == word->end;
}

int policy_disk_read(const struct text *explained, struct policy_disk *ret)
{
    struct policy_disk disk = {0};
    struct line line = {0};

    while (line_next(explained, &line)) {
        const char *limit = line.start + line.size;
        struct word word = {.end = line.start};
        uint64_t *value;

        if (!word_next(&word, limit) || !word_is(&word, "user") || !word_next(&word, limit))
            continue;
        value = word_is(&word, "disk")         ? &disk.bytes
                : word_is(&word, "disk_files") ? &disk.files
                                               : NULL;
        if (value && (!word_next(&word, limit) || !value_read(&word, value)))
            return -EBADMSG;
    }
    if (disk.bytes == 0 || disk.files == 0)
        return -EBADMSG;
    *ret = disk;
    return 0;
}

int policy_disk_of(const char *name, struct policy_disk *ret, char **ret_why)
{
    cleanup_text struct text said = {0};
    struct passwd user, *found = NULL;
    cleanup_free char *who = NULL;
    char buf[PASSWD_BUFFER];
    int r = getpwnam_r(name, &user, buf, sizeof(buf), &found);

    if (!found || !id_is_allocatable(found->pw_uid)) {
        *ret_why = text_format("the host's database does not have the user%s%s", r != 0 ? ": " : "",
                               r != 0 ? strerror(r) : "");
        return -ENOENT;
    }
    who = policy_who(&user);
    if (!who)
        say_no_memory();
    r = program_run(ARGV(POLICY_PROGRAM, "--explain-policy", who, POLICY_IN_FORCE), WITHIN_S,
                    &said);
    if (r != 0) {
        cleanup_free char *why = program_why(r, &said);

        *ret_why = text_format("the policy: %s", why);
        return -EIO;
    }
    r = policy_disk_read(&said, ret);
    if (r < 0)
        *ret_why = text_format("the policy in force says nothing of the disk");
    return r;
}
