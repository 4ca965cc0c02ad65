/* SPDX-License-Identifier: ISC */
/*
 * step_ids.c - nobody on the host has an id or a name that is to be a participant's. Looks only.
 *
 * 60000 and up is no obstacle, although the NSS module answers up to 65000: nothing of ours is ever
 * allocated there, the network rules end at 59999, and Debian's static ids (libvirt-qemu, 64055)
 * and systemd's dynamic ones live there.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "common/ids.h"
#include "ctl/setup/accounts.h"
#include "ctl/setup/nsswitch.h"
#include "ctl/setup/program.h"
#include "ctl/setup/step.h"

#include "common/banned.h"

#define TIMEOUT_S 60

static const struct {
    const char *path;
    enum accounts_file kind;
} files[] = {
    {"/etc/passwd", ACCOUNTS_PASSWD},
    {"/etc/group", ACCOUNTS_GROUP},
    {"/etc/subuid", ACCOUNTS_SUBIDS},
    {"/etc/subgid", ACCOUNTS_SUBIDS},
};

static void file_check(struct setup *s, const char *path, enum accounts_file kind)
{
    cleanup_file struct file f = {0};
    struct line line = {0};
    struct complaint why;
    int r = file_read(path, &f);

    if (r < 0) {
        refuse(s, "%s cannot be read: %s", path, strerror(-r));
        return;
    }
    while (accounts_in_range(&f.text, kind, ID_NET_MIN, ID_NET_MAX, &line, &why))
        refuse(s, "%s:%zu: %s: %u to %u are participants'; give it another one", path, why.line,
               why.what, ID_NET_MIN, ID_NET_MAX);
}

/* What another source of nsswitch.conf lists. */
static void source_check(struct setup *s, const char *database, enum accounts_file kind,
                         const char *source)
{
    cleanup_text struct text list = {0};
    struct line line = {0};
    struct complaint why;
    int r = program_run(ARGV("/usr/bin/getent", "-s", source, database), TIMEOUT_S, &list);

    if (r != 0) {
        note_say(s,
                 "the %s database of \"%s\" cannot be listed: that nobody there has an id from "
                 "%u to %u is not known",
                 database, source, ID_NET_MIN, ID_NET_MAX);
        return;
    }
    while (accounts_in_range(&list, kind, ID_NET_MIN, ID_NET_MAX, &line, &why))
        refuse(s, "%s of \"%s\" (nsswitch.conf): %s: %u to %u are participants'", database, source,
               why.what, ID_NET_MIN, ID_NET_MAX);
}

static void sources_check(struct setup *s, const char *database, enum accounts_file kind)
{
    cleanup_file struct file nsswitch = {0};
    cleanup_text struct text sources = {0};

    if (file_read("/etc/nsswitch.conf", &nsswitch) < 0)
        return; /* the step nsswitch says so */
    nsswitch_services(&nsswitch.text, database, &sources);
    for (size_t i = 0; i < sources.size; i += strlen(sources.bytes + i) + 1)
        source_check(s, database, kind, sources.bytes + i);
}

/* Accounts of our names that are of another kind than ours. */
static void names_check(struct setup *s)
{
    static const char *const groups[] = {"atelier", "atelier-api"};
    cleanup_file struct file passwd = {0};
    cleanup_file struct file group = {0};
    struct line line = {0};
    uint32_t id = 0;

    if (file_read("/etc/passwd", &passwd) < 0 || file_read("/etc/group", &group) < 0)
        return; /* said above */
    if (account_find(&group.text, GROUP_ALL_USERS, &id, &line) != -ENOENT)
        refuse(s, "/etc/group:%zu: the group " GROUP_ALL_USERS " is the registry's; remove it",
               line.number);
    if (account_find(&passwd.text, GROUP_ALL_USERS, &id, &line) != -ENOENT)
        refuse(s, "/etc/passwd:%zu: the name " GROUP_ALL_USERS " is the registry's; remove it",
               line.number);
    /* Debian's system users are below 1000, and useradd's range begins there. */
    if (account_find(&passwd.text, "atelier", &id, &line) == 0 && (id == 0 || id >= 1000))
        refuse(s,
               "/etc/passwd:%zu: the account atelier (%" PRIu32 ") is not a system user, as "
               "sessiond-api needs it; rename it",
               line.number, id);
    for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
        if (account_find(&group.text, groups[i], &id, &line) == 0 && (id == 0 || id >= 1000))
            refuse(s,
                   "/etc/group:%zu: the group %s (%" PRIu32 ") is not a system group, as "
                   "sessiond-api needs it; rename it",
                   line.number, groups[i], id);
    }
}

static void ids_plan(struct setup *s)
{
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        file_check(s, files[i].path, files[i].kind);
    sources_check(s, "passwd", ACCOUNTS_PASSWD);
    sources_check(s, "group", ACCOUNTS_GROUP);
    names_check(s);
}

const struct step step_ids = {"ids", ids_plan, NULL, NULL};
