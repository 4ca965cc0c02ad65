/* SPDX-License-Identifier: ISC */
/*
 * csv.h - comma-separated values with a header, as spreadsheets write them. Pure: no I/O.
 *
 * Source: RFC 4180; besides, a byte order mark is passed over, lines may end in CR LF, LF or CR,
 * and blank lines are no records. Text outside of quotes loses the blanks around it.
 */
#ifndef ATELIER_CTL_CSV_H
#define ATELIER_CTL_CSV_H

#include <stdbool.h>
#include <stddef.h>

/* What is wrong with one line. */
struct csv_error {
    size_t line;       /* from 1: where the record begins */
    const char *field; /* name of the column, or NULL for the whole line; not owned */
    char *why;         /* a sentence without a full stop; heap */
};

struct csv_errors {
    struct csv_error *all;
    size_t used, room;
};

/* Keep a sentence about a line. */
void csv_error_add(struct csv_errors *errors, size_t line, const char *field, const char *format,
                   ...) __attribute__((format(printf, 4, 5)));

void csv_errors_done(struct csv_errors *errors);

/* In the order of the lines. */
void csv_errors_sort(struct csv_errors *errors);

struct csv_row {
    size_t line; /* where it begins */
    char **
        values; /* one for each of the columns that were asked for; NULL: there is no such column */
};

struct csv {
    struct csv_row *rows;
    size_t count, room;
    size_t columns;
};

/**
 * csv_parse() - Read a whole file
 * @bytes:      Borrowed; any bytes
 * @size:       Their number
 * @columns:    The names that a column may have, in lower case; the first one has to be there
 * @n:          Their number, 1 or more
 * @errors:     Gets what is wrong; with an error in the header no row is read
 * @ret:        csv_done(); the rows that are well
 *
 * Names of columns are compared without regard to case and '-'. A value that has a NUL or is not
 * UTF-8 is an error.
 */
void csv_parse(const char *bytes, size_t size, const char *const *columns, size_t n,
               struct csv_errors *errors, struct csv *ret);

void csv_done(struct csv *csv);

#endif
