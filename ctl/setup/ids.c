/* SPDX-License-Identifier: ISC */
/* ids.c - who else has an id or a name that is to be a participant's. */
#include "ctl/setup/ids.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/ids.h"
#include "ctl/say.h"
#include "ctl/setup/accounts.h"
#include "ctl/setup/file.h"
#include "ctl/setup/nsswitch.h"
#include "ctl/setup/program.h"

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

static void tell(void (*to)(void *arg, const char *text), void *arg, const char *format,
                 va_list args)
{
    cleanup_free char *text = text_vformat(format, args);

    to(arg, text);
}

static void __attribute__((format(printf, 2, 3)))
found(const struct ids_sink *sink, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    tell(sink->found, sink->arg, format, args);
    va_end(args);
}

static void __attribute__((format(printf, 2, 3)))
unseen(const struct ids_sink *sink, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    tell(sink->unseen, sink->arg, format, args);
    va_end(args);
}

static void file_check(const struct ids_sink *sink, const char *path, enum accounts_file kind)
{
    cleanup_file struct file f = {0};
    struct line line = {0};
    struct complaint why;
    int r = file_read(path, &f);

    if (r < 0) {
        unseen(sink, "%s cannot be read: %s", path, strerror(-r));
        return;
    }
    while (accounts_in_range(&f.text, kind, ID_NET_MIN, ID_NET_MAX, &line, &why))
        found(sink, "%s:%zu: %s: %u to %u are participants'; give it another one", path, why.line,
              why.what, ID_NET_MIN, ID_NET_MAX);
}

/* What another source of nsswitch.conf lists. */
static void source_check(const struct ids_sink *sink, const char *database, enum accounts_file kind,
                         const char *source)
{
    cleanup_text struct text list = {0};
    struct line line = {0};
    struct complaint why;
    int r = program_run(ARGV("/usr/bin/getent", "-s", source, database), TIMEOUT_S, &list);

    if (r != 0) {
        unseen(sink,
               "the %s database of \"%s\" cannot be listed: that nobody there has an id from "
               "%u to %u is not known",
               database, source, ID_NET_MIN, ID_NET_MAX);
        return;
    }
    while (accounts_in_range(&list, kind, ID_NET_MIN, ID_NET_MAX, &line, &why))
        found(sink, "%s of \"%s\" (nsswitch.conf): %s: %u to %u are participants'", database,
              source, why.what, ID_NET_MIN, ID_NET_MAX);
}

static void database_check(const struct ids_sink *sink, const char *database,
                           enum accounts_file kind)
{
    cleanup_file struct file nsswitch = {0};
    cleanup_text struct text sources = {0};

    if (file_read("/etc/nsswitch.conf", &nsswitch) < 0)
        return; /* the step nsswitch says so */
    nsswitch_services(&nsswitch.text, database, &sources);
    for (size_t i = 0; i < sources.size; i += strlen(sources.bytes + i) + 1)
        source_check(sink, database, kind, sources.bytes + i);
}

void ids_names_look(const struct ids_sink *sink)
{
    static const char *const groups[] = {"atelier", "atelier-api"};
    cleanup_file struct file passwd = {0};
    cleanup_file struct file group = {0};
    struct line line = {0};
    uint32_t id = 0;

    if (file_read("/etc/passwd", &passwd) < 0 || file_read("/etc/group", &group) < 0)
        return; /* said above */
    if (account_find(&group.text, GROUP_ALL_USERS, &id, &line) != -ENOENT)
        found(sink, "/etc/group:%zu: the group " GROUP_ALL_USERS " is the registry's; remove it",
              line.number);
    if (account_find(&passwd.text, GROUP_ALL_USERS, &id, &line) != -ENOENT)
        found(sink, "/etc/passwd:%zu: the name " GROUP_ALL_USERS " is the registry's; remove it",
              line.number);
    /* Debian's system users are below 1000, and useradd's range begins there. */
    if (account_find(&passwd.text, "atelier", &id, &line) == 0 && (id == 0 || id >= 1000))
        found(sink,
              "/etc/passwd:%zu: the account atelier (%" PRIu32 ") is not a system user, as "
              "sessiond-api needs it; rename it",
              line.number, id);
    for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
        if (account_find(&group.text, groups[i], &id, &line) == 0 && (id == 0 || id >= 1000))
            found(sink,
                  "/etc/group:%zu: the group %s (%" PRIu32 ") is not a system group, as "
                  "sessiond-api needs it; rename it",
                  line.number, groups[i], id);
    }
}

void ids_files_look(const struct ids_sink *sink)
{
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        if (files[i].kind != ACCOUNTS_SUBIDS)
            file_check(sink, files[i].path, files[i].kind);
    }
}

void ids_sources_look(const struct ids_sink *sink)
{
    database_check(sink, "passwd", ACCOUNTS_PASSWD);
    database_check(sink, "group", ACCOUNTS_GROUP);
}

void ids_sub_look(const struct ids_sink *sink)
{
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        if (files[i].kind == ACCOUNTS_SUBIDS)
            file_check(sink, files[i].path, files[i].kind);
    }
}
