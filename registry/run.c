/* SPDX-License-Identifier: ISC */
/*
 * run.c - the audit of runs.
 *
 * A commit waits for the disk; many runs share one. The first run_put() opens a transaction, the
 * run group, and run_commit() ends it. Other changes commit it first: they must be durable on
 * their own, and a change that is rolled back must not take audit rows with it.
 */
#include <errno.h>
#include <string.h>

#include "registry/registry_internal.h"

#include "common/banned.h"

static int group_open(struct registry *reg)
{
    cleanup_stmt struct stmt st = stmt_get(reg, STMT_BEGIN);
    int r = stmt_run(&st, "begin a group of runs");

    reg->run_group_open = r == 0;
    return r;
}

/* After some errors SQLite rolls back by itself: then the rows of the group are gone. */
static void group_forget(struct registry *reg)
{
    if (sqlite3_get_autocommit(reg->db) != 0)
        reg->run_group_open = false;
}

static int64_t clamp(uint64_t v)
{
    return v > INT64_MAX ? INT64_MAX : (int64_t)v;
}

static bool run_row_is_valid(const struct run_row *row)
{
    return hex_id_is_valid(row->run_id, RUN_ID_SIZE) && memchr(row->net, '\0', sizeof(row->net)) &&
           memchr(row->program, '\0', sizeof(row->program)) &&
           memchr(row->status, '\0', sizeof(row->status));
}

static int run_row_put(struct registry *reg, const struct run_row *row)
{
    cleanup_stmt struct stmt st = stmt_get(reg, STMT_RUN_PUT);

    stmt_text(&st, 1, row->run_id);
    stmt_int(&st, 2, row->uid);
    stmt_int(&st, 3, row->caller_uid);
    stmt_text(&st, 4, row->net);
    stmt_text(&st, 5, row->program);
    stmt_int(&st, 6, row->accepted_us);
    stmt_int(&st, 7, row->started_us);
    stmt_int(&st, 8, row->ended_us);
    stmt_text(&st, 9, row->status);
    stmt_int(&st, 10, row->exit_code);
    stmt_int(&st, 11, row->signal);
    stmt_int(&st, 12, clamp(row->cpu_us));
    stmt_int(&st, 13, clamp(row->out_bytes));
    return stmt_run(&st, "store a run");
}

int run_put(struct registry *reg, const struct run_row *row)
{
    int r;

    if (!run_row_is_valid(row))
        return registry_fail(reg, -EINVAL, "store a run");
    if (!reg->run_group_open) {
        r = group_open(reg);
        if (r < 0)
            return r;
    }
    r = run_row_put(reg, row);
    if (r < 0)
        group_forget(reg);
    return r;
}

int run_commit(struct registry *reg)
{
    int r;

    if (!reg->run_group_open)
        return 0;
    {
        cleanup_stmt struct stmt st = stmt_get(reg, STMT_COMMIT);

        r = stmt_run(&st, "commit a group of runs");
    }
    group_forget(reg);
    return r;
}

int run_close_stale(struct registry *reg)
{
    cleanup_stmt struct stmt st = {0};
    int r = run_commit(reg);

    if (r < 0)
        return r;
    st = stmt_get(reg, STMT_RUN_CLOSE_STALE);
    stmt_int(&st, 1, now_us());
    return stmt_run(&st, "close the runs of a crash");
}
