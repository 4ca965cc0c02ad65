/* SPDX-License-Identifier: ISC */
/*
 * id.c - ids and names that are used once and never again.
 *
 * A recycled id inherits files, sudo rules and crontabs of its last owner. So the counter only
 * grows, and every id and name that was ever given out keeps its row in tombstones.
 */
#include "registry/id.h"

#include <errno.h>

#include "common/ids.h"
#include "registry/registry_internal.h"

#include "common/banned.h"

static int tombstone_has_id(struct registry *reg, uint32_t id)
{
    cleanup_stmt struct stmt st = stmt_get(reg, STMT_TOMBSTONE_BY_ID);

    stmt_int(&st, 1, id);
    return stmt_step(&st, "look for a used id");
}

static int next_id_get(struct registry *reg, int64_t *ret_id)
{
    cleanup_stmt struct stmt st = stmt_get(reg, STMT_META_NEXT_ID);
    int r = stmt_step(&st, "read the id counter");

    if (r == 0)
        return registry_fail(reg, -EBADMSG, "table meta is empty");
    if (r < 0)
        return r;
    *ret_id = stmt_col_int(&st, 0);
    return 0;
}

static int next_id_set(struct registry *reg, int64_t id)
{
    cleanup_stmt struct stmt st = stmt_get(reg, STMT_META_NEXT_ID_SET);

    stmt_int(&st, 1, id);
    return stmt_run(&st, "move the id counter");
}

int id_allocate(struct registry *reg, registry_taken_fn taken, void *arg, uint32_t *ret_id)
{
    int64_t next = 0;
    int r = next_id_get(reg, &next);

    if (r < 0)
        return r;
    if (next < (int64_t)ID_ALLOC_MIN)
        return registry_fail(reg, -EBADMSG, "the id counter is at %lld", (long long)next);
    for (; next <= (int64_t)ID_ALLOC_MAX; next++) {
        uint32_t id = (uint32_t)next;

        r = tombstone_has_id(reg, id);
        if (r == 0) {
            r = taken(arg, NULL, id);
            if (r < 0)
                return registry_fail(reg, r, "ask the host whether id %u is free", id);
        }
        if (r < 0)
            return r;
        if (r > 0)
            continue;
        r = next_id_set(reg, next + 1);
        if (r == 0)
            *ret_id = id;
        return r;
    }
    *ret_id = 0;
    return 0;
}

int name_is_taken(struct registry *reg, const char *name, registry_taken_fn taken, void *arg,
                  bool *ret_taken)
{
    cleanup_stmt struct stmt st = stmt_get(reg, STMT_TOMBSTONE_BY_NAME);
    int r;

    stmt_text(&st, 1, name);
    r = stmt_step(&st, "look for a used name");
    if (r == 0) {
        r = taken(arg, name, 0);
        if (r < 0)
            return registry_fail(reg, r, "ask the host whether name %s is free", name);
    }
    if (r < 0)
        return r;
    *ret_taken = r > 0;
    return 0;
}

int tombstone_insert(struct registry *reg, uint32_t id, const char *kind, const char *name)
{
    cleanup_stmt struct stmt st = stmt_get(reg, STMT_TOMBSTONE_INSERT);

    stmt_int(&st, 1, id);
    stmt_text(&st, 2, kind);
    stmt_text(&st, 3, name);
    return stmt_run(&st, "note the used id and name");
}
