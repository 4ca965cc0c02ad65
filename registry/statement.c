/* SPDX-License-Identifier: ISC */
/* statement.c - prepared statements: cache, parameters, rows. */
#include "registry/statement.h"

#include <errno.h>
#include <string.h>

#include "common/ids.h"
#include "registry/registry_internal.h"
#include "registry/sabotage.h"

#include "common/banned.h"

static const char *const stmt_sql[STMT__COUNT] = {
#define STMT(id, sql) [STMT_##id] = sql,
#include "registry/statements.def"
#undef STMT
};

struct stmt stmt_get(struct registry *reg, enum stmt_id id)
{
    struct stmt st = {.reg = reg, .rc = SQLITE_OK};

    if (!reg->stmts[id])
        st.rc = sqlite3_prepare_v3(reg->db, SABOTAGED_SQL(id, stmt_sql[id]), -1,
                                   SQLITE_PREPARE_PERSISTENT, &reg->stmts[id], NULL);
    st.s = reg->stmts[id];
    return st;
}

void stmt_done(struct stmt *st)
{
    if (!st->s)
        return;
    /* Both repeat the result of the last step, which stmt_step() has reported. */
    (void)sqlite3_reset(st->s);
    (void)sqlite3_clear_bindings(st->s);
}

void stmt_text(struct stmt *st, int i, const char *text)
{
    if (st->rc == SQLITE_OK)
        st->rc = sqlite3_bind_text(st->s, i, text, -1, SQLITE_STATIC);
}

void stmt_int(struct stmt *st, int i, int64_t v)
{
    if (st->rc == SQLITE_OK)
        st->rc = sqlite3_bind_int64(st->s, i, v);
}

void stmt_blob(struct stmt *st, int i, const void *data, size_t size)
{
    if (st->rc == SQLITE_OK)
        st->rc = sqlite3_bind_blob64(st->s, i, data, size, SQLITE_STATIC);
}

int stmt_step(struct stmt *st, const char *what)
{
    int rc = st->rc;

    if (rc == SQLITE_OK)
        rc = sqlite3_step(st->s);
    if (rc == SQLITE_ROW)
        return 1;
    if (rc == SQLITE_DONE)
        return 0;
    return registry_fail_sql(st->reg, rc, what);
}

int stmt_run(struct stmt *st, const char *what)
{
    int r = stmt_step(st, what);

    return r > 0 ? registry_fail(st->reg, -EPROTO, "%s: unexpected row", what) : r;
}

int64_t stmt_col_int(struct stmt *st, int col)
{
    return sqlite3_column_int64(st->s, col);
}

int stmt_col_text(struct stmt *st, int col, char *dst, size_t size)
{
    const unsigned char *text = sqlite3_column_text(st->s, col);
    size_t len = (size_t)sqlite3_column_bytes(st->s, col);

    memset(dst, 0, size);
    if (!text)
        return sqlite3_column_type(st->s, col) == SQLITE_NULL
                   ? 0
                   : registry_fail(st->reg, -ENOMEM, "read column %s",
                                   sqlite3_column_name(st->s, col));
    if (len >= size || memchr(text, '\0', len))
        return registry_fail(st->reg, -EBADMSG, "column %s holds %zu bytes, at most %zu fit",
                             sqlite3_column_name(st->s, col), len, size - 1);
    memcpy(dst, text, len);
    return 0;
}

int stmt_col_id(struct stmt *st, int col, uint32_t *ret_id)
{
    int64_t id = sqlite3_column_int64(st->s, col);

    if (id < (int64_t)ID_OUTER_MIN || id > (int64_t)ID_OUTER_MAX)
        return registry_fail(st->reg, -EBADMSG, "column %s holds %lld, which is no id of ours",
                             sqlite3_column_name(st->s, col), (long long)id);
    *ret_id = (uint32_t)id;
    return 0;
}

void stmt_finalize_all(struct registry *reg)
{
    for (size_t i = 0; i < STMT__COUNT; i++) {
        (void)sqlite3_finalize(reg->stmts[i]);
        reg->stmts[i] = NULL;
    }
}
