/* SPDX-License-Identifier: ISC */
/* table.c - aligned columns of foreign text. */
#include "ctl/table.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "ctl/say.h"

#include "common/banned.h"

#define GAP 2

struct cell {
    char *text; /* escaped; heap */
    size_t columns;
};

struct table {
    size_t columns;
    size_t *widths; /* one for each column */
    struct cell *cells;
    size_t used, room;
};

struct table *table_new(size_t columns)
{
    struct table *t = calloc(1, sizeof(*t));

    if (!t)
        say_no_memory();
    t->columns = columns;
    t->widths = calloc(columns, sizeof(*t->widths));
    if (!t->widths)
        say_no_memory();
    return t;
}

void table_free(struct table *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->used; i++)
        free(t->cells[i].text);
    free(t->cells);
    free(t->widths);
    free(t);
}

void table_add(struct table *t, const char *text)
{
    size_t column = t->used % t->columns;
    struct cell *cell;

    if (t->used == t->room) {
        size_t room = t->room ? t->room * 2 : 64;
        struct cell *cells = reallocarray(t->cells, room, sizeof(*cells));

        if (!cells)
            say_no_memory();
        t->cells = cells;
        t->room = room;
    }
    cell = &t->cells[t->used++];
    cell->text = text_escape(text, strlen(text), &cell->columns);
    if (cell->columns > t->widths[column])
        t->widths[column] = cell->columns;
}

void table_addf(struct table *t, const char *format, ...)
{
    cleanup_free char *text = NULL;
    va_list args;

    va_start(args, format);
    text = text_vformat(format, args);
    va_end(args);
    table_add(t, text);
}

/* The widest of those that may become narrower, or t->columns. */
static size_t widest_of(const struct table *t, unsigned cut)
{
    size_t found = t->columns;

    for (size_t i = 0; i < t->columns; i++) {
        if ((cut & (1u << i)) != 0 && t->widths[i] > TABLE_LEAST &&
            (found == t->columns || t->widths[i] > t->widths[found]))
            found = i;
    }
    return found;
}

static void cell_cut(struct cell *cell, size_t width)
{
    static const char end[] = "...";
    size_t columns = 0, at = 0;

    if (cell->columns <= width)
        return;
    /* Escaped text is UTF-8, and a character is a column. */
    while (columns < width - (sizeof(end) - 1)) {
        do {
            at++;
        } while (((unsigned char)cell->text[at] & 0xc0) == 0x80);
        columns++;
    }
    /* Behind it there are more characters than @end has bytes. */
    memcpy(cell->text + at, end, sizeof(end));
    cell->columns = width;
}

void table_fit(struct table *t, size_t width, unsigned cut)
{
    size_t total = GAP * (t->columns - 1), i;

    for (i = 0; i < t->columns; i++)
        total += t->widths[i];
    while (total > width && (i = widest_of(t, cut)) < t->columns) {
        t->widths[i]--;
        total--;
    }
    for (i = 0; i < t->used; i++)
        cell_cut(&t->cells[i], t->widths[i % t->columns]);
}

/* Blanks that are owed are written only when more text follows, so that no line ends in them. */
static void row_print(const struct table *t, const struct cell *row, FILE *out)
{
    size_t owed = 0;

    for (size_t i = 0; i < t->columns; i++) {
        if (row[i].columns > 0) {
            for (; owed > 0; owed--)
                (void)fputc(' ', out);
            (void)fputs(row[i].text, out);
        }
        owed += t->widths[i] - row[i].columns + GAP;
    }
    (void)fputc('\n', out);
}

void table_print(const struct table *t, FILE *out)
{
    for (size_t i = 0; i + t->columns <= t->used; i += t->columns)
        row_print(t, t->cells + i, out);
}
