/* SPDX-License-Identifier: ISC */
/*
 * id.c - ids and names that are used once and never again.
 *
 * A recycled id inherits files, sudo rules and crontabs of its last owner. So the counter only
 * grows, and every id and name that was ever given out keeps its row in tombstones (or, a further
 * name of a group, in used_names), and its line in the ledger.
 */
#include "registry/id.h"

#include <errno.h>
#include <string.h>

#include "common/ids.h"
#include "registry/registry_internal.h"

#include "common/banned.h"

static int id_is_used(struct registry *reg, uint32_t id)
{
    cleanup_stmt struct stmt st = stmt_get(reg, STMT_USED_ID);

    stmt_int(&st, 1, id);
    return stmt_step(&st, "look for a used id");
}

/* Where to look for the next id: at the counter, or where the range begins. */
static int next_id_get(struct registry *reg, int64_t *ret_id)
{
    cleanup_stmt struct stmt st = stmt_get(reg, STMT_META_NEXT_ID);
    int r = stmt_step(&st, "read the id counter");
    int64_t next;

    if (r == 0)
        return registry_fail(reg, -EBADMSG, "table meta is empty");
    if (r < 0)
        return r;
    next = stmt_col_int(&st, 0);
    if (next < (int64_t)ID_ALLOC_MIN)
        return registry_fail(reg, -EBADMSG, "the id counter is at %lld", (long long)next);
    *ret_id = next < (int64_t)reg->id_min ? (int64_t)reg->id_min : next;
    return 0;
}

static int next_id_set(struct registry *reg, int64_t id)
{
    cleanup_stmt struct stmt st = stmt_get(reg, STMT_META_NEXT_ID_SET);

    stmt_int(&st, 1, id);
    return stmt_run(&st, "move the id counter");
}

/* 1 taken, 0 free, negative errno. */
static int id_ask(struct registry *reg, uint32_t id, registry_taken_fn taken, void *arg)
{
    int r = id_is_used(reg, id);

    if (r != 0)
        return r;
    r = taken(arg, NULL, id);
    return r < 0 ? registry_fail(reg, r, "ask the host whether id %u is free", id) : r;
}

int id_allocate(struct registry *reg, registry_taken_fn taken, void *arg, uint32_t *ret_id)
{
    int64_t next = 0;
    int r = next_id_get(reg, &next);

    if (r < 0)
        return r;
    for (; next <= (int64_t)reg->id_max; next++) {
        r = id_ask(reg, (uint32_t)next, taken, arg);
        if (r < 0)
            return r;
        if (r > 0)
            continue;
        r = next_id_set(reg, next + 1);
        if (r == 0)
            *ret_id = (uint32_t)next;
        return r;
    }
    *ret_id = 0;
    return 0;
}

int id_is_taken(struct registry *reg, uint32_t id, registry_taken_fn taken, void *arg,
                bool *ret_taken)
{
    int r = id_ask(reg, id, taken, arg);

    if (r < 0)
        return r;
    *ret_taken = r > 0;
    return 0;
}

int name_is_taken(struct registry *reg, const char *name, registry_taken_fn taken, void *arg,
                  bool *ret_taken)
{
    cleanup_stmt struct stmt st = stmt_get(reg, STMT_USED_NAME);
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

int ids_free_count(struct registry *reg, uint32_t *ret_n)
{
    cleanup_stmt struct stmt st = stmt_get(reg, STMT_USED_IDS_COUNT);
    int64_t next = 0;
    int r = next_id_get(reg, &next);

    if (r < 0)
        return r;
    if (next > (int64_t)reg->id_max) {
        *ret_n = 0;
        return 0;
    }
    stmt_int(&st, 1, next);
    stmt_int(&st, 2, reg->id_max);
    r = stmt_step(&st, "count the used ids");
    if (r < 0)
        return r;
    *ret_n = (uint32_t)((int64_t)reg->id_max + 1 - next - stmt_col_int(&st, 0));
    return 0;
}

/* --- what is used -------------------------------------------------------------------------- */

static const char *kind_of(bool is_group)
{
    return is_group ? "group" : "user";
}

static int used_note(struct registry *reg, uint32_t id, bool is_group, const char *name)
{
    struct used used = {.id = id, .is_group = is_group};
    int r = str_copy(used.name, sizeof(used.name), name);

    return r < 0 ? registry_fail(reg, r, "note a used name") : ledger_note(reg, &used);
}

static int used_row_insert(struct registry *reg, enum stmt_id stmt, uint32_t id, const char *kind,
                           const char *name)
{
    cleanup_stmt struct stmt st = stmt_get(reg, stmt);

    stmt_int(&st, 1, id);
    stmt_text(&st, 2, kind);
    stmt_text(&st, 3, name);
    return stmt_run(&st, "note the used id and name");
}

int tombstone_insert(struct registry *reg, uint32_t id, const char *kind, const char *name)
{
    int r = used_row_insert(reg, STMT_TOMBSTONE_INSERT, id, kind, name);

    return r < 0 ? r : used_note(reg, id, strcmp(kind, "group") == 0, name);
}

int used_name_add(struct registry *reg, uint32_t gid, const char *name)
{
    int r = used_row_insert(reg, STMT_USED_NAME_INSERT, gid, "group", name);

    return r < 0 ? r : used_note(reg, gid, true, name);
}

int tombstone_find(struct registry *reg, const char *kind, const char *name, uint32_t *ret_id)
{
    cleanup_stmt struct stmt st = stmt_get(reg, STMT_TOMBSTONE_BY_NAME);
    int r;

    stmt_text(&st, 1, name);
    stmt_text(&st, 2, kind);
    r = stmt_step(&st, "look for a used name");
    if (r == 0)
        *ret_id = 0;
    return r > 0 ? stmt_col_id(&st, 0, ret_id) : r;
}

/* Columns kind and name of a row. */
static int used_read(struct stmt *st, int col, struct used *ret_used)
{
    char kind[8];
    int r = stmt_col_text(st, col, kind, sizeof(kind));

    if (r == 0)
        r = stmt_col_text(st, col + 1, ret_used->name, sizeof(ret_used->name));
    if (r == 0)
        ret_used->is_group = strcmp(kind, "group") == 0;
    return r;
}

/* The tombstone of an id. Return: 1, 0 if there is none, or a negative errno. */
static int tombstone_get(struct registry *reg, uint32_t id, struct used *ret_used)
{
    cleanup_stmt struct stmt st = stmt_get(reg, STMT_TOMBSTONE_BY_ID);
    int r;

    stmt_int(&st, 1, id);
    r = stmt_step(&st, "look for a used id");
    if (r <= 0)
        return r;
    ret_used->id = id;
    r = used_read(&st, 0, ret_used);
    return r < 0 ? r : 1;
}

static int used_pair_is_there(struct registry *reg, const struct used *used)
{
    cleanup_stmt struct stmt st = stmt_get(reg, STMT_USED_PAIR);

    stmt_int(&st, 1, used->id);
    stmt_text(&st, 2, kind_of(used->is_group));
    stmt_text(&st, 3, used->name);
    return stmt_step(&st, "look for a used id and name");
}

static int used_name_is_there(struct registry *reg, const char *name)
{
    cleanup_stmt struct stmt st = stmt_get(reg, STMT_USED_NAME);

    stmt_text(&st, 1, name);
    return stmt_step(&st, "look for a used name");
}

/* A pair that is nowhere. */
static int used_add(struct registry *reg, const struct used *used)
{
    int has_name = used_name_is_there(reg, used->name), has_id;

    if (has_name < 0)
        return has_name;
    if (has_name > 0 && strcmp(used->name, GROUP_ALL_USERS) != 0)
        return -EEXIST;
    has_id = id_is_used(reg, used->id);
    if (has_id < 0)
        return has_id;
    return used_row_insert(
        reg, has_name > 0 || has_id > 0 ? STMT_USED_NAME_INSERT : STMT_TOMBSTONE_INSERT, used->id,
        kind_of(used->is_group), used->name);
}

int used_merge(struct registry *reg, const struct used *used, bool is_first, const char **ret_what)
{
    struct used here = {0};
    int found = tombstone_get(reg, used->id, &here), r;

    if (found < 0)
        return found;
    *ret_what = "its id was given to another name";
    if (found > 0 && strcmp(here.name, used->name) == 0)
        return here.is_group == used->is_group ? 0 : -EEXIST;
    r = used_pair_is_there(reg, used);
    if (r != 0)
        return r < 0 ? r : 0;
    if (found > 0 && (is_first || !used->is_group || !here.is_group))
        return -EEXIST;
    *ret_what = "its name was given to another id";
    return used_add(reg, used);
}

int used_list(struct registry *reg, used_fn fn, void *arg)
{
    cleanup_stmt struct stmt st = stmt_get(reg, STMT_USED_ALL);
    int r;

    while ((r = stmt_step(&st, "list the used ids")) > 0) {
        struct used used = {0};

        r = stmt_col_id(&st, 0, &used.id);
        if (r == 0)
            r = used_read(&st, 1, &used);
        if (r == 0)
            r = fn(arg, &used);
        if (r != 0)
            return r;
    }
    return r;
}
