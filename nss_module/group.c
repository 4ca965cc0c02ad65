/* SPDX-License-Identifier: ISC */
/* group.c - groups for glibc: by gid, by name, one after the other; groups of a user. */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "common/ids.h"
#include "nss_module/lookup.h"
#include "nss_module/nss_atelier.h"

#include "common/banned.h"

static listing_cursor group_cursor;

/* No members: a group of all users would need hundreds of kilobytes. initgroups_dyn answers. */
static int group_fill(const struct index_group *group, struct group *gr, char *buffer, size_t size)
{
    struct room room = {buffer, size};
    struct group filled = {.gr_gid = group->gid};

    filled.gr_mem = room_pointers(&room, 1);
    filled.gr_name = room_string(&room, group->name, "");
    filled.gr_passwd = room_string(&room, "*", "");
    if (!filled.gr_mem || !filled.gr_name || !filled.gr_passwd)
        return -ERANGE;
    *gr = filled;
    return 0;
}

enum nss_status _nss_atelier_getgrgid_r(gid_t gid, struct group *gr, char *buffer, size_t size,
                                        int *errnop)
{
    struct index_group group;
    struct lookup l;
    int r;

    if (!id_is_outer(gid))
        return NSS_STATUS_NOTFOUND;
    r = lookup_begin(&l);
    if (r == 0)
        r = index_group_by_gid(&l.index, gid, &group);
    if (r == 0)
        r = group_fill(&group, gr, buffer, size);
    return lookup_end(&l, r, errnop);
}

enum nss_status _nss_atelier_getgrnam_r(const char *name, struct group *gr, char *buffer,
                                        size_t size, int *errnop)
{
    struct index_group group;
    struct lookup l;
    int r;

    if (!name_is_valid(name))
        return NSS_STATUS_NOTFOUND;
    r = lookup_begin(&l);
    if (r == 0)
        r = index_group_by_name(&l.index, name, &group);
    if (r == 0)
        r = group_fill(&group, gr, buffer, size);
    return lookup_end(&l, r, errnop);
}

enum nss_status _nss_atelier_setgrent(int stay_open)
{
    (void)stay_open;
    atomic_store(&group_cursor, 0);
    return NSS_STATUS_SUCCESS;
}

enum nss_status _nss_atelier_endgrent(void)
{
    atomic_store(&group_cursor, 0);
    return NSS_STATUS_SUCCESS;
}

enum nss_status _nss_atelier_getgrent_r(struct group *gr, char *buffer, size_t size, int *errnop)
{
    uint32_t cursor = atomic_load(&group_cursor);
    struct index_group group;
    struct lookup l;
    int r;

    r = lookup_begin(&l);
    while (r == 0) {
        r = index_group_next(&l.index, cursor, &group);
        if (r == 0)
            r = group_fill(&group, gr, buffer, size);
        /* As in getpwent_r. */
        if (r < 0 || atomic_compare_exchange_strong(&group_cursor, &cursor, group.gid))
            break;
    }
    return lookup_end(&l, r, errnop);
}

/* --- initgroups ---------------------------------------------------------------------------- */

static bool groups_have(const gid_t *groups, long n, gid_t gid)
{
    for (long i = 0; i < n; i++) {
        if (groups[i] == gid)
            return true;
    }
    return false;
}

/* One more gid. Return: 0, -ENOSPC if @limit is reached, -ENOMEM. */
static int groups_add(gid_t gid, long *start, long *size, gid_t **groups, long limit)
{
    if (*start >= *size) {
        long grown = *size > 0 ? 2 * *size : (long)INDEX_GROUPS_MAX;
        gid_t *more;

        if (limit > 0 && *size >= limit)
            return -ENOSPC;
        if (limit > 0 && grown > limit)
            grown = limit;
        more = realloc(*groups, (size_t)grown * sizeof(**groups));
        if (!more)
            return -ENOMEM;
        *groups = more;
        *size = grown;
    }
    (*groups)[(*start)++] = gid;
    return 0;
}

enum nss_status _nss_atelier_initgroups_dyn(const char *name, gid_t group, long *start, long *size,
                                            gid_t **groups, long limit, int *errnop)
{
    uint32_t gids[INDEX_GROUPS_MAX];
    struct lookup l;
    size_t n;
    int r;

    /* -1: nscd asks for all groups, and does not know the primary one. */
    if ((group != (gid_t)-1 && !id_is_outer(group)) || !name_is_valid(name))
        return NSS_STATUS_NOTFOUND;
    r = lookup_begin(&l);
    if (r == 0)
        r = index_groups_of(&l.index, name, gids, &n);
    for (size_t i = 0; r == 0 && i < n; i++) {
        if (gids[i] != group && !groups_have(*groups, *start, gids[i]))
            r = groups_add(gids[i], start, size, groups, limit);
    }
    if (r == -ENOSPC)
        r = 0;
    return lookup_end(&l, r, errnop);
}
