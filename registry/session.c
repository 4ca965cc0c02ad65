/* SPDX-License-Identifier: ISC */
/*
 * session.c - the audit of sessions.
 *
 * Logins are few and long beside runs, so each row is durable at once: a session whose beginning
 * was lost in a crash could not be taken up again. Nothing is closed when the registry opens:
 * sessions outlive the process that writes about them.
 */
#include <errno.h>
#include <string.h>

#include "registry/change.h"
#include "registry/registry_internal.h"

#include "common/banned.h"

static bool session_row_is_valid(const struct session_row *row)
{
    return hex_id_is_valid(row->session_id, SESSION_ID_SIZE) &&
           memchr(row->service, '\0', sizeof(row->service)) &&
           memchr(row->line, '\0', sizeof(row->line)) &&
           memchr(row->rhost, '\0', sizeof(row->rhost)) &&
           memchr(row->end, '\0', sizeof(row->end)) &&
           (!row->receipt || strlen(row->receipt) <= SESSION_RECEIPT_MAX);
}

static int session_row_put(struct registry *reg, const struct session_row *row)
{
    cleanup_stmt struct stmt st = stmt_get(reg, STMT_SESSION_PUT);

    stmt_text(&st, 1, row->session_id);
    stmt_int(&st, 2, row->uid);
    stmt_text(&st, 3, row->service);
    stmt_text(&st, 4, row->line);
    stmt_text(&st, 5, row->rhost);
    stmt_int(&st, 6, row->started_us);
    stmt_int(&st, 7, row->ended_us);
    stmt_text(&st, 8, row->end);
    stmt_text(&st, 9, row->receipt ? row->receipt : "");
    return stmt_run(&st, "store a session");
}

int session_put(struct registry *reg, const struct session_row *row)
{
    int r;

    if (!session_row_is_valid(row))
        return registry_fail(reg, -EINVAL, "store a session");
    r = change_begin(reg);
    if (r < 0)
        return r;
    r = session_row_put(reg, row);
    if (r < 0) {
        change_abort(reg);
        return r;
    }
    return change_commit(reg);
}

static int session_row_read(struct stmt *st, struct session_row *ret_row)
{
    struct session_row row = {0};
    int64_t uid = stmt_col_int(st, 1);
    int r = stmt_col_text(st, 0, row.session_id, sizeof(row.session_id));

    if (r == 0 && (uid < 0 || uid > UINT32_MAX))
        r = registry_fail(st->reg, -EBADMSG, "a session is of %lld, which is no uid",
                          (long long)uid);
    if (r == 0)
        r = stmt_col_text(st, 2, row.service, sizeof(row.service));
    if (r == 0)
        r = stmt_col_text(st, 3, row.line, sizeof(row.line));
    if (r == 0)
        r = stmt_col_text(st, 4, row.rhost, sizeof(row.rhost));
    if (r == 0)
        r = stmt_col_text(st, 7, row.end, sizeof(row.end));
    if (r < 0)
        return r;
    row.uid = (uint32_t)uid;
    row.started_us = stmt_col_int(st, 5);
    row.ended_us = stmt_col_int(st, 6);
    *ret_row = row;
    return 0;
}

/* The next open session, so that no statement is open while the callback runs. 1, 0, -errno. */
static int session_next(struct registry *reg, const char *after, struct session_row *ret_row)
{
    cleanup_stmt struct stmt st = stmt_get(reg, STMT_SESSION_OPEN_AFTER);
    int r;

    stmt_text(&st, 1, after);
    r = stmt_step(&st, "list the open sessions");
    if (r <= 0)
        return r;
    r = session_row_read(&st, ret_row);
    return r < 0 ? r : 1;
}

int session_list_open(struct registry *reg, session_fn fn, void *arg)
{
    struct session_row row;
    char after[SESSION_ID_SIZE] = "";
    int r;

    while ((r = session_next(reg, after, &row)) > 0) {
        r = fn(arg, &row);
        if (r != 0)
            return r;
        memcpy(after, row.session_id, sizeof(after));
    }
    return r;
}
