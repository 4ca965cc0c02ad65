/* SPDX-License-Identifier: ISC */
/*
 * change.c - transactions, and the one way in which a change reaches NSS.
 *
 * The index is written and fsynced before COMMIT: afterwards nothing is left that can run out of
 * space, only a rename. It is renamed after COMMIT: before, NSS could show a user whose id the
 * registry gives to somebody else after a crash. The generation is in both, so that
 * a crash between the two is seen at the next open.
 */
#include "registry/change.h"

#include <errno.h>
#include <stdbool.h>

#include "registry/index_rows.h"
#include "registry/index_write.h"
#include "registry/registry_internal.h"

#include "common/banned.h"

int change_begin(struct registry *reg)
{
    cleanup_stmt struct stmt st = {0};
    int r = run_commit(reg);

    if (r < 0)
        return r;
    st = stmt_get(reg, STMT_BEGIN);
    return stmt_run(&st, "begin");
}

void change_abort(struct registry *reg)
{
    cleanup_stmt struct stmt st = stmt_get(reg, STMT_ROLLBACK);

    ledger_forget(reg);
    /* After a full disk or an I/O error SQLite has rolled back by itself. */
    if (st.s && sqlite3_get_autocommit(reg->db) == 0)
        (void)sqlite3_step(st.s);
}

int change_commit(struct registry *reg)
{
    int r;

    {
        cleanup_stmt struct stmt st = stmt_get(reg, STMT_COMMIT);

        r = stmt_run(&st, "commit");
    }
    if (r < 0)
        change_abort(reg);
    return r;
}

static int generation_next(struct registry *reg)
{
    cleanup_stmt struct stmt st = stmt_get(reg, STMT_META_GENERATION_NEXT);

    return stmt_run(&st, "count the generation");
}

void change_touch(struct registry *reg, uint32_t id)
{
    /* Every publication reads all rows. */
    (void)reg;
    (void)id;
}

/* The rows as this connection sees them now, into the temporary file. */
static int index_prepare(struct registry *reg)
{
    struct index_rows rows = {0};
    int r = index_rows_load(reg, &rows);

    if (r == 0) {
        r = index_write(reg->nss_fd, &rows);
        if (r < 0)
            (void)registry_fail(reg, r, "write the new index " INDEX_DIR_NAME "/" INDEX_TMP_NAME);
    }
    index_rows_done(&rows);
    return r;
}

static int index_swap(struct registry *reg)
{
    int r = ledger_append(reg);

    if (r < 0) {
        reg->index_behind = true;
        (void)index_sweep(reg->nss_fd);
        return r;
    }
    r = index_rename(reg->nss_fd);
    reg->index_behind = r < 0;
    if (r < 0) {
        (void)index_sweep(reg->nss_fd);
        return registry_fail(reg, r,
                             "stored, but cannot put the new index in place as " INDEX_DIR_NAME
                             "/" INDEX_FILE_NAME);
    }
    if (reg->published)
        reg->published(reg->published_arg);
    return 0;
}

void registry_on_publish(struct registry *reg, void (*fn)(void *arg), void *arg)
{
    reg->published = fn;
    reg->published_arg = arg;
}

/*
 * Names and ids were asked for before the index was written, and an fsync can outlast the lock
 * that made the answers hold.
 */
static int entitled_still(struct registry *reg, registry_taken_fn taken, void *arg)
{
    int r = taken(arg, NULL, 0);

    if (r == 0)
        return 0;
    return registry_fail(reg, r < 0 ? r : -EBUSY, "not stored: the right to give out ids is over");
}

int change_publish(struct registry *reg, registry_taken_fn taken, void *arg)
{
    int r = generation_next(reg);

    if (r == 0)
        r = index_prepare(reg);
    if (r < 0) {
        change_abort(reg);
        return r;
    }
    r = entitled_still(reg, taken, arg);
    if (r < 0)
        change_abort(reg);
    else
        r = change_commit(reg);
    if (r < 0) {
        (void)index_sweep(reg->nss_fd);
        return r;
    }
    return index_swap(reg);
}

static int index_rebuild(struct registry *reg)
{
    int r = index_prepare(reg);

    return r < 0 ? r : index_swap(reg);
}

int index_catch_up(struct registry *reg)
{
    return reg->index_behind ? index_rebuild(reg) : 0;
}

int index_agree(struct registry *reg)
{
    struct registry_counts counts;
    int r;

    r = index_sweep(reg->nss_fd);
    if (r < 0)
        return registry_fail(reg, r, "remove " INDEX_DIR_NAME "/" INDEX_TMP_NAME);
    r = registry_count(reg, &counts);
    if (r < 0)
        return r;
    if (index_is_current(reg->nss_fd, counts.generation))
        return 0;
    return index_rebuild(reg);
}

int registry_rebuild_index(struct registry *reg)
{
    int r = change_begin(reg);

    if (r == 0)
        r = generation_next(reg);
    if (r == 0)
        r = change_commit(reg);
    if (r < 0) {
        change_abort(reg);
        return r;
    }
    return index_rebuild(reg);
}
