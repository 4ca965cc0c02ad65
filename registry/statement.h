/* SPDX-License-Identifier: ISC */
/*
 * statement.h - the prepared statements of the registry.
 *
 * All SQL on rows is constant text in statements.def. A statement is prepared at its first use and
 * kept; between uses it is reset, so that it holds no read lock, and its parameters are cleared.
 * Binding keeps the first failure, and stmt_step() reports it: so a row of binds needs one check.
 */
#ifndef ATELIER_STATEMENT_H
#define ATELIER_STATEMENT_H

#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>

struct registry;

enum stmt_id {
#define STMT(id, sql) STMT_##id,
#include "registry/statements.def"
#undef STMT
    STMT__COUNT,
};

struct stmt {
    struct registry *reg;
    sqlite3_stmt *s; /* NULL if it could not be prepared; rc says why */
    int rc;          /* first failure of prepare or bind, else SQLITE_OK */
};

/* Borrow a statement; the same one must not be in use already. Released by cleanup_stmt. */
struct stmt stmt_get(struct registry *reg, enum stmt_id id);
void stmt_done(struct stmt *st);
#define cleanup_stmt __attribute__((cleanup(stmt_done)))

/* Bind parameter @i, from 1. @text is borrowed until stmt_done(); NULL is SQL's NULL. */
void stmt_text(struct stmt *st, int i, const char *text);
void stmt_int(struct stmt *st, int i, int64_t v);
/* @data, of @size bytes, is borrowed until stmt_done(). */
void stmt_blob(struct stmt *st, int i, const void *data, size_t size);

/**
 * stmt_step() - Go to the next row
 * @what: What is being done, for registry_error()
 *
 * Return: 1 at a row, 0 at the end, or a negative errno.
 */
int stmt_step(struct stmt *st, const char *what);

/* stmt_step() for a statement without rows. Return: 0 or a negative errno. */
int stmt_run(struct stmt *st, const char *what);

/* Columns of the current row, from 0. */
int64_t stmt_col_int(struct stmt *st, int col);

/**
 * stmt_col_text() - Copy a text column into a fixed field
 *
 * SQL's NULL is "". Return: 0, or -EBADMSG if it does not fit or holds a NUL.
 */
int stmt_col_text(struct stmt *st, int col, char *dst, size_t size);

/* An id column. Return: 0, or -EBADMSG outside ID_OUTER_MIN..ID_OUTER_MAX. */
int stmt_col_id(struct stmt *st, int col, uint32_t *ret_id);

void stmt_finalize_all(struct registry *reg);

#endif
