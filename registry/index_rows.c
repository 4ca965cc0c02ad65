/* SPDX-License-Identifier: ISC */
/* index_rows.c - what the index is to say, kept in memory from one publication to the next. */
#include "registry/index_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "registry/registry_internal.h"

#include "common/banned.h"

static int rows_need(struct index_rows *rows)
{
    if (rows->v)
        return 0;
    rows->v = calloc(INDEX_ENTRIES_MAX, sizeof(*rows->v));
    rows->low = rows->high = 0;
    return rows->v ? 0 : -ENOMEM;
}

static void row_clear(struct index_row *row)
{
    free(row->gids);
    *row = (struct index_row){0};
}

/* The row of an id, and a place for it between low and high. */
static struct index_row *row_at(struct index_rows *rows, uint32_t id)
{
    size_t i = id - ID_ALLOC_MIN;

    if (rows->low == rows->high)
        rows->low = rows->high = i;
    if (i < rows->low)
        rows->low = i;
    if (i >= rows->high)
        rows->high = i + 1;
    return &rows->v[i];
}

static int row_set_gids(struct index_row *row, const uint32_t *gids, size_t n)
{
    if (n > INDEX_GROUPS_MAX)
        return -E2BIG;
    for (size_t i = 0; i < n; i++) {
        if (!id_is_allocatable(gids[i]) || (i > 0 && gids[i] <= gids[i - 1]))
            return -EBADMSG;
    }
    if (n == 0)
        return 0;
    row->gids = reallocarray(NULL, n, sizeof(*gids));
    if (!row->gids)
        return -ENOMEM;
    memcpy(row->gids, gids, n * sizeof(*gids));
    row->gid_count = (uint8_t)n;
    return 0;
}

int index_rows_set(struct index_rows *rows, uint32_t id, enum index_kind kind, uint8_t shell,
                   const char *name, const uint32_t *gids, size_t gid_count)
{
    struct index_row *row;
    int r = rows_need(rows);

    if (r < 0)
        return r;
    if (!id_is_allocatable(id) || !name_is_valid(name))
        return -EBADMSG;
    row = row_at(rows, id);
    if (row->kind != INDEX_KIND_NONE)
        return -EBADMSG;
    row->kind = (uint8_t)kind;
    row->shell = shell;
    row->hash = index_hash(name);
    r = str_copy(row->name, sizeof(row->name), name);
    return r < 0 ? r : row_set_gids(row, gids, gid_count);
}

void index_rows_forget(struct index_rows *rows)
{
    for (size_t i = rows->low; rows->v && i < rows->high; i++)
        free(rows->v[i].gids);
    free(rows->v);
    *rows = (struct index_rows){0};
}

/* --- from the database --------------------------------------------------------------------- */

static struct stmt range_get(struct registry *reg, enum stmt_id id, uint32_t first, uint32_t last)
{
    struct stmt st = stmt_get(reg, id);

    stmt_int(&st, 1, first);
    stmt_int(&st, 2, last);
    return st;
}

/* Users and groups have the same columns: id, name, code of the shell. */
static int names_read(struct registry *reg, struct index_rows *rows, enum index_kind kind,
                      uint32_t first, uint32_t last)
{
    enum stmt_id id = kind == INDEX_KIND_USER ? STMT_INDEX_USERS : STMT_INDEX_GROUPS;
    cleanup_stmt struct stmt st = range_get(reg, id, first, last);
    int r;

    while ((r = stmt_step(&st, "read the names")) > 0) {
        char name[NAME_SIZE];
        bool has_shell = stmt_col_int(&st, 2) == INDEX_SHELL_ATELIER;
        uint32_t row_id = 0;

        r = stmt_col_id(&st, 0, &row_id);
        if (r == 0)
            r = stmt_col_text(&st, 1, name, sizeof(name));
        if (r < 0)
            return r;
        r = index_rows_set(rows, row_id, kind,
                           has_shell ? INDEX_SHELL_ATELIER : INDEX_SHELL_NOLOGIN, name, NULL, 0);
        if (r < 0)
            return registry_fail(reg, r, "read the name of %u", row_id);
    }
    return r;
}

/* The gids of one user are complete. */
static int gids_store(struct registry *reg, struct index_rows *rows, uint32_t uid,
                      const uint32_t *gids, size_t n)
{
    int r;

    if (n == 0)
        return 0;
    r = id_is_allocatable(uid) && rows->v[uid - ID_ALLOC_MIN].kind == INDEX_KIND_USER
            ? row_set_gids(&rows->v[uid - ID_ALLOC_MIN], gids, n)
            : -EBADMSG;
    return r < 0 ? registry_fail(reg, r, "read the groups of %u", uid) : 0;
}

static int members_read(struct registry *reg, struct index_rows *rows, uint32_t first,
                        uint32_t last)
{
    cleanup_stmt struct stmt st = range_get(reg, STMT_INDEX_MEMBERS, first, last);
    uint32_t gids[INDEX_GROUPS_MAX + 1], uid = 0;
    size_t n = 0;
    int r;

    while ((r = stmt_step(&st, "read the memberships")) > 0) {
        uint32_t next = 0, gid = 0;

        r = stmt_col_id(&st, 0, &next);
        if (r == 0)
            r = stmt_col_id(&st, 1, &gid);
        if (r == 0 && next != uid) {
            r = gids_store(reg, rows, uid, gids, n);
            uid = next;
            n = 0;
        }
        if (r < 0)
            return r;
        /* One more than there may be is kept, and is too many in the end. */
        if (n <= INDEX_GROUPS_MAX)
            gids[n++] = gid;
    }
    return r < 0 ? r : gids_store(reg, rows, uid, gids, n);
}

int index_rows_read(struct registry *reg, struct index_rows *rows, uint32_t first, uint32_t last)
{
    int r = rows_need(rows);

    if (r < 0)
        return registry_fail(reg, r, "read the users");
    for (size_t i = rows->low; i < rows->high; i++) {
        if (ID_ALLOC_MIN + i >= first && ID_ALLOC_MIN + i <= last)
            row_clear(&rows->v[i]);
    }
    r = names_read(reg, rows, INDEX_KIND_USER, first, last);
    if (r == 0)
        r = names_read(reg, rows, INDEX_KIND_GROUP, first, last);
    if (r == 0)
        r = members_read(reg, rows, first, last);
    return r;
}
