/* SPDX-License-Identifier: ISC */
/* table.h - aligned columns of foreign text. */
#ifndef ATELIER_CTL_TABLE_H
#define ATELIER_CTL_TABLE_H

#include <stddef.h>
#include <stdio.h>

struct table;

/**
 * table_new() - An empty table
 * @columns: Number of columns, 1 or more
 *
 * Return: owned by the caller, table_free(). Out of memory ends the program, here and below.
 */
struct table *table_new(size_t columns);

void table_free(struct table *t);

/* Append the next cell, row by row; the text is copied and escaped (text_escape()). */
void table_add(struct table *t, const char *text);

/* The same, from a printf(3) format. */
void table_addf(struct table *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

/**
 * table_fit() - Make lines no longer than that, if it can be done
 * @width: Columns of a line
 * @cut:   Bits: which columns of the table may lose what is behind, the widest of them first, and
 *         as much as is needed, but for TABLE_LEAST; it ends in "..." then
 */
#define TABLE_LEAST 8u
void table_fit(struct table *t, size_t width, unsigned cut);

/**
 * table_print() - Write all rows, each column as wide as its widest cell
 *
 * Columns are two blanks apart; no line ends in blanks. A row that is not full is not printed.
 */
void table_print(const struct table *t, FILE *out);

static inline void table_free_p(struct table **t)
{
    table_free(*t);
}
#define cleanup_table __attribute__((cleanup(table_free_p)))

#endif
