/* SPDX-License-Identifier: ISC */
/*
 * external_id.c - the callers' own keys for people, one namespace for each caller.
 *
 * Two programs that both count from 1 mean different people by "42". So a key says nothing without
 * the caller that vouches for it, and a caller has at most one key for a user: a second one would
 * be a second person of that caller in the first one's home.
 */
#include "registry/external_id.h"

#include <errno.h>

#include "registry/registry_internal.h"

#include "common/banned.h"

int external_id_find(struct registry *reg, uint32_t owner_uid, const char *external_id,
                     struct user *ret_user)
{
    cleanup_stmt struct stmt st = stmt_get(reg, STMT_EXTERNAL_ID_USER);
    uint32_t uid = 0;
    int r;

    stmt_int(&st, 1, owner_uid);
    stmt_text(&st, 2, external_id);
    r = stmt_step(&st, "look for an external id");
    if (r == 0)
        return -ENOENT;
    if (r > 0)
        r = stmt_col_id(&st, 0, &uid);
    return r < 0 ? r : user_by_uid(reg, uid, ret_user);
}

int external_id_insert(struct registry *reg, uint32_t owner_uid, const char *external_id,
                       uint32_t uid)
{
    cleanup_stmt struct stmt st = stmt_get(reg, STMT_EXTERNAL_ID_INSERT);

    stmt_int(&st, 1, owner_uid);
    stmt_text(&st, 2, external_id);
    stmt_int(&st, 3, uid);
    return stmt_run(&st, "bind an external id");
}

int user_external_id(struct registry *reg, uint32_t owner_uid, uint32_t uid,
                     char ret_external_id[EXTERNAL_ID_SIZE])
{
    cleanup_stmt struct stmt st = stmt_get(reg, STMT_EXTERNAL_ID_OF_USER);
    char id[EXTERNAL_ID_SIZE];
    int r;

    stmt_int(&st, 1, uid);
    stmt_int(&st, 2, owner_uid);
    r = stmt_step(&st, "look for a user's external id");
    if (r == 0)
        return -ENOENT;
    if (r > 0)
        r = stmt_col_text(&st, 0, id, sizeof(id));
    return r < 0 ? r : str_copy(ret_external_id, EXTERNAL_ID_SIZE, id);
}

/* The next row after @after, so that no statement is open while the callback runs. 1, 0, -errno. */
static int external_id_next(struct registry *reg, uint32_t uid, int64_t after,
                            uint32_t *ret_owner_uid, char ret_external_id[EXTERNAL_ID_SIZE])
{
    cleanup_stmt struct stmt st = stmt_get(reg, STMT_EXTERNAL_ID_AFTER);
    int64_t owner;
    int r;

    stmt_int(&st, 1, uid);
    stmt_int(&st, 2, after);
    r = stmt_step(&st, "list the external ids of a user");
    if (r <= 0)
        return r;
    owner = stmt_col_int(&st, 0);
    if (owner < 0 || owner > UINT32_MAX)
        return registry_fail(reg, -EBADMSG, "an external id belongs to %lld, which is no uid",
                             (long long)owner);
    r = stmt_col_text(&st, 1, ret_external_id, EXTERNAL_ID_SIZE);
    if (r < 0)
        return r;
    *ret_owner_uid = (uint32_t)owner;
    return 1;
}

int user_external_id_list(struct registry *reg, uint32_t uid, external_id_fn fn, void *arg)
{
    char id[EXTERNAL_ID_SIZE];
    uint32_t owner_uid = 0;
    int64_t after = -1;
    int r;

    while ((r = external_id_next(reg, uid, after, &owner_uid, id)) > 0) {
        r = fn(arg, owner_uid, id);
        if (r != 0)
            return r;
        after = owner_uid;
    }
    return r;
}
