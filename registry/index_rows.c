/* SPDX-License-Identifier: ISC */
/* index_rows.c - what the index is to say, read from the registry. */
#include "registry/index_rows.h"

#include <errno.h>
#include <stdlib.h>

#include "registry/registry_internal.h"

#include "common/banned.h"

#define ROWS_FIRST 256u

/* Room for one more entry of @size bytes in *@v; doubling keeps it linear. */
static int vector_grow(void **v, size_t *capacity, size_t count, size_t size)
{
    size_t more = *capacity > 0 ? *capacity * 2 : ROWS_FIRST;
    void *bigger;

    if (count < *capacity)
        return 0;
    bigger = reallocarray(*v, more, size);
    if (!bigger)
        return -ENOMEM;
    *v = bigger;
    *capacity = more;
    return 0;
}

static int user_read(struct stmt *st, struct index_user *ret_user)
{
    struct index_user u = {0};
    int64_t shell = stmt_col_int(st, 2);
    int r = stmt_col_id(st, 0, &u.uid);

    if (r == 0)
        r = stmt_col_text(st, 1, u.name, sizeof(u.name));
    if (r < 0)
        return r;
    u.gid = u.uid;
    u.shell = shell == INDEX_SHELL_ATELIER ? INDEX_SHELL_ATELIER : INDEX_SHELL_NOLOGIN;
    *ret_user = u;
    return 0;
}

static int users_load(struct registry *reg, struct index_rows *rows)
{
    cleanup_stmt struct stmt st = stmt_get(reg, STMT_INDEX_USERS);
    void *v = NULL;
    size_t capacity = 0;
    int r;

    while ((r = stmt_step(&st, "read the users")) > 0) {
        r = vector_grow(&v, &capacity, rows->user_count, sizeof(*rows->users));
        if (r < 0)
            return registry_fail(reg, r, "read the users");
        rows->users = v;
        r = user_read(&st, &rows->users[rows->user_count]);
        if (r < 0)
            return r;
        rows->user_count++;
    }
    return r;
}

static int groups_load(struct registry *reg, struct index_rows *rows)
{
    cleanup_stmt struct stmt st = stmt_get(reg, STMT_INDEX_GROUPS);
    void *v = NULL;
    size_t capacity = 0;
    int r;

    while ((r = stmt_step(&st, "read the groups")) > 0) {
        struct index_group g = {0};

        r = vector_grow(&v, &capacity, rows->group_count, sizeof(*rows->groups));
        if (r < 0)
            return registry_fail(reg, r, "read the groups");
        rows->groups = v;
        r = stmt_col_id(&st, 0, &g.gid);
        if (r == 0)
            r = stmt_col_text(&st, 1, g.name, sizeof(g.name));
        if (r < 0)
            return r;
        rows->groups[rows->group_count++] = g;
    }
    return r;
}

static int members_load(struct registry *reg, struct index_rows *rows)
{
    cleanup_stmt struct stmt st = stmt_get(reg, STMT_INDEX_MEMBERS);
    void *v = NULL;
    size_t capacity = 0;
    int r;

    while ((r = stmt_step(&st, "read the memberships")) > 0) {
        struct index_member m = {0};

        r = vector_grow(&v, &capacity, rows->member_count, sizeof(*rows->members));
        if (r < 0)
            return registry_fail(reg, r, "read the memberships");
        rows->members = v;
        r = stmt_col_id(&st, 0, &m.uid);
        if (r == 0)
            r = stmt_col_id(&st, 1, &m.gid);
        if (r < 0)
            return r;
        rows->members[rows->member_count++] = m;
    }
    return r;
}

static int generation_load(struct registry *reg, struct index_rows *rows)
{
    cleanup_stmt struct stmt st = stmt_get(reg, STMT_META_GENERATION);
    int r = stmt_step(&st, "read the generation");

    if (r == 0)
        return registry_fail(reg, -EBADMSG, "table meta is empty");
    if (r < 0)
        return r;
    rows->generation = (uint64_t)stmt_col_int(&st, 0);
    return 0;
}

int index_rows_load(struct registry *reg, struct index_rows *ret_rows)
{
    struct index_rows rows = {0};
    int r = generation_load(reg, &rows);

    if (r == 0)
        r = users_load(reg, &rows);
    if (r == 0)
        r = groups_load(reg, &rows);
    if (r == 0)
        r = members_load(reg, &rows);
    if (r < 0) {
        index_rows_done(&rows);
        return r;
    }
    *ret_rows = rows;
    return 0;
}

void index_rows_done(struct index_rows *rows)
{
    free(rows->users);
    free(rows->groups);
    free(rows->members);
    *rows = (struct index_rows){0};
}
