/* SPDX-License-Identifier: ISC */
/*
 * list.h - lists for a person at a terminal, and for whatever else reads them.
 *
 * At a terminal a list is short: the columns that are asked for most, dates without what is behind
 * them, ids by their first digits, and what would not fit into a line is cut. With --long, and
 * where standard output is no terminal, it has everything, and nothing is cut: what a program reads
 * does not hang on the width of a window.
 */
#ifndef ATELIER_CTL_LIST_H
#define ATELIER_CTL_LIST_H

#include "ctl/args.h"
#include "ctl/table.h"

/* The width of the terminal that standard output is; 0 if it is none. */
size_t terminal_columns(void);

/**
 * list_parse() - Parse a command that lists, with -l, and without operands
 * @ret_is_short: As above; untouched on failure
 *
 * Return: 0 or -EINVAL.
 */
int list_parse(struct options *opt, int argc, char **argv, const char *doc, bool *ret_is_short);

/* A bit of list_print()'s @cut. */
#define LIST_CUT(column) (1u << (column))

/**
 * list_print() - Write all rows on standard output
 * @cut: Columns, from 0, that may lose their ends in a short list
 */
void list_print(struct table *t, bool is_short, unsigned cut);

#define LIST_TIME_SIZE 32

/* "2026-03-01T09:30:00Z" to "2026-03-01"; of a time that is none, as null, "-". */
const char *list_day(const char *time, char buf[static LIST_TIME_SIZE]);

/* The same to "2026-03-01 09:30", UTC as well. */
const char *list_minute(const char *time, char buf[static LIST_TIME_SIZE]);

#endif
