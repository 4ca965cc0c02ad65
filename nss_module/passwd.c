/* SPDX-License-Identifier: ISC */
/* passwd.c - users for glibc: by uid, by name, one after the other. */
#include <errno.h>
#include <stdatomic.h>

#include "common/ids.h"
#include "nss_module/lookup.h"
#include "nss_module/nss_atelier.h"

#include "common/banned.h"

static listing_cursor user_cursor;

static const char *shell_path(uint32_t code)
{
    return code == INDEX_SHELL_ATELIER ? ATELIER_PROGRAMS_DIR "/shell" : "/usr/sbin/nologin";
}

/*
 * The home and the shell come from here, not from the index: no file can name another path. The
 * password is "*", for "x" would send root's su, cron and at to a shadow entry that is not there.
 */
static int passwd_fill(const struct index_user *user, struct passwd *pw, char *buffer, size_t size)
{
    struct room room = {buffer, size};
    struct passwd filled = {.pw_uid = user->uid, .pw_gid = user->gid};

    filled.pw_name = room_string(&room, user->name, "");
    filled.pw_passwd = room_string(&room, "*", "");
    filled.pw_gecos = room_string(&room, "", "");
    filled.pw_dir = room_string(&room, ATELIER_HOMES_DIR "/", user->name);
    filled.pw_shell = room_string(&room, shell_path(user->shell), "");
    if (!filled.pw_name || !filled.pw_passwd || !filled.pw_gecos || !filled.pw_dir ||
        !filled.pw_shell)
        return -ERANGE;
    *pw = filled;
    return 0;
}

enum nss_status _nss_atelier_getpwuid_r(uid_t uid, struct passwd *pw, char *buffer, size_t size,
                                        int *errnop)
{
    struct index_user user;
    struct lookup l;
    int r;

    if (!id_is_outer(uid))
        return NSS_STATUS_NOTFOUND;
    r = lookup_begin(&l);
    if (r == 0)
        r = index_user_by_uid(&l.index, uid, &user);
    if (r == 0)
        r = passwd_fill(&user, pw, buffer, size);
    return lookup_end(&l, r, errnop);
}

enum nss_status _nss_atelier_getpwnam_r(const char *name, struct passwd *pw, char *buffer,
                                        size_t size, int *errnop)
{
    struct index_user user;
    struct lookup l;
    int r;

    if (!name_is_valid(name))
        return NSS_STATUS_NOTFOUND;
    r = lookup_begin(&l);
    if (r == 0)
        r = index_user_by_name(&l.index, name, &user);
    if (r == 0)
        r = passwd_fill(&user, pw, buffer, size);
    return lookup_end(&l, r, errnop);
}

enum nss_status _nss_atelier_setpwent(int stay_open)
{
    (void)stay_open;
    atomic_store(&user_cursor, 0);
    return NSS_STATUS_SUCCESS;
}

enum nss_status _nss_atelier_endpwent(void)
{
    atomic_store(&user_cursor, 0);
    return NSS_STATUS_SUCCESS;
}

enum nss_status _nss_atelier_getpwent_r(struct passwd *pw, char *buffer, size_t size, int *errnop)
{
    uint32_t cursor = atomic_load(&user_cursor);
    struct index_user user;
    struct lookup l;
    int r;

    r = lookup_begin(&l);
    while (r == 0) {
        r = index_user_next(&l.index, cursor, &user);
        if (r == 0)
            r = passwd_fill(&user, pw, buffer, size);
        /* Only what was handed out moves the cursor; if another thread moved it, go on there. */
        if (r < 0 || atomic_compare_exchange_strong(&user_cursor, &cursor, user.uid))
            break;
    }
    return lookup_end(&l, r, errnop);
}
